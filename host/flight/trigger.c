// SPDX-License-Identifier: GPL-2.0
/*
 * trigger.c - see trigger.h. Traces overlap: a snapshot has all that the rings held, and a file
 * that grows is read again from somewhat before its last end. The newest event of each ring for
 * which a condition held is therefore remembered, by the guest's clock, which never goes back
 * within a boot. The memory is shared with the process that reads the next trace.
 */
#define _GNU_SOURCE
#include "flight/trigger.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "lib/xvtrace.h"
#include "rights/confine.h"
#include "rights/own_user.h"
#include "xvt_abi.h"

#define SEEN_MOST   4096u /* rings with such events */
#define CPU_SECONDS 60u	  /* for one look */
#define NOT_SEEN    UINT32_MAX

/* The newest event of a ring for which a condition held. */
struct seen {
	char machine[XVT_NAME_LEN];
	uint32_t cpu; /* or the number of the thread */
	bool thread;
	uint32_t condition;
	uint64_t clock; /* of the guest */
	uint64_t same;	/* events of that time */
};

/* Shared with the process that reads. */
struct shared {
	struct xvt_trigger_look look;
	bool done;
	char why[512];			    /* the error; "": none */
	bool noted[XVT_TRIGGER_CONDITIONS]; /* there was a note on it */
	size_t nr_seen;
	struct seen seen[SEEN_MOST];
};

struct xvt_trigger {
	struct shared *shared;
	const struct xvt_condition *condition[XVT_TRIGGER_CONDITIONS];
	uint32_t nr_conditions;
	uint64_t from_ns;
};

int xvt_trigger_new(struct xvt_trigger **out, const struct xvt_condition *conditions, size_t n,
		    uint64_t from_ns)
{
	struct xvt_trigger *t = calloc(1, sizeof(*t));
	size_t i;

	if (!t)
		return -ENOMEM;
	t->from_ns = from_ns;
	for (i = 0; i < n && t->nr_conditions < XVT_TRIGGER_CONDITIONS; i++) {
		if (conditions[i].kind == XVT_CONDITION_EVENT)
			t->condition[t->nr_conditions++] = &conditions[i];
	}
	t->shared = mmap(NULL, sizeof(*t->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->shared == MAP_FAILED) {
		free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void xvt_trigger_free(struct xvt_trigger *t)
{
	if (!t)
		return;
	munmap(t->shared, sizeof(*t->shared));
	free(t);
}

/* ------------------------------------------------------------------ the process that reads */

struct first {
	uint64_t ns; /* host time */
	char *text;  /* machine, event and text; NULL: there is no event, or no memory */
};

/* A ring of the trace: events for which the condition holds. */
struct counts {
	uint32_t seen; /* index, or NOT_SEEN */
	uint64_t older, same, newer;
	uint64_t again; /* of `same`, those beyond the remembered number */
	uint64_t clock; /* of the newest one */
	uint64_t at_clock;
	struct first all;   /* the first of all; only if there is a remembered event */
	struct first fresh; /* the first one behind the remembered event */
};

static struct seen *find_seen(struct shared *s, const struct xvtrace_ring *ring, uint32_t condition)
{
	size_t i;

	for (i = 0; i < s->nr_seen; i++) {
		struct seen *seen = &s->seen[i];

		if (seen->cpu == ring->cpu && seen->thread == ring->thread &&
		    seen->condition == condition &&
		    !strncmp(seen->machine, ring->machine->name, sizeof(seen->machine) - 1))
			return seen;
	}
	return NULL;
}

/* Returns the counts of all rings of the trace, for free(), or NULL. */
static struct counts *new_counts(struct shared *s, struct xvtrace *trace, uint32_t condition)
{
	const unsigned int rings = xvtrace_info(trace)->rings;
	struct counts *counts = calloc(rings + 1, sizeof(*counts));
	unsigned int i;

	for (i = 0; counts && i < rings; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(trace, i);
		const struct seen *seen = ring ? find_seen(s, ring, condition) : NULL;

		counts[i].seen = seen ? (uint32_t)(seen - s->seen) : NOT_SEEN;
	}
	return counts;
}

static void free_counts(struct counts *counts, unsigned int rings)
{
	unsigned int i;

	for (i = 0; counts && i < rings; i++) {
		free(counts[i].all.text);
		free(counts[i].fresh.text);
	}
	free(counts);
}

static struct first describe(const struct xvtrace_event *e)
{
	struct first first = { .ns = e->ns };
	size_t len;
	const char *text = xvtrace_event_text(e, 0, &len);

	if (asprintf(&first.text, "%s %s:%s: %s", e->ring->machine->name, e->type->system,
		     e->type->name, text) < 0)
		first.text = NULL;
	return first;
}

static void count(const struct shared *s, struct counts *c, const struct xvtrace_event *e)
{
	const struct seen *seen = c->seen == NOT_SEEN ? NULL : &s->seen[c->seen];
	const bool newer = !seen || e->guest_clock > seen->clock;
	const bool same = !newer && e->guest_clock == seen->clock;
	bool again;

	if (seen && !c->older && !c->same && !c->newer)
		c->all = describe(e);
	c->older += !newer && !same;
	c->same += same;
	c->newer += newer;
	again = same && c->same > seen->same;
	c->again += again;
	if ((newer || again) && c->newer + c->again == 1)
		c->fresh = describe(e);
	if (e->guest_clock > c->clock || !c->at_clock) {
		c->clock = e->guest_clock;
		c->at_clock = 0;
	}
	c->at_clock += e->guest_clock == c->clock;
}

/* Take the first event of a ring, which is the first of the look so far. */
static void take_first(struct xvt_trigger_look *look, const struct first *first,
		       const struct xvtrace_ring *ring)
{
	look->first_ns = first->ns;
	snprintf(look->machine, sizeof(look->machine), "%s", ring->machine->name);
	snprintf(look->first, sizeof(look->first), "%s", first->text ? first->text : "an event");
}

/*
 * Take the counts of a ring into the look, and remember its newest event. A ring that has older
 * events and not the remembered one, which would be overwritten later than these, has begun anew:
 * all of its events are new.
 */
static bool take_counts(struct shared *s, struct counts *c, const struct xvtrace_ring *ring,
			uint32_t condition)
{
	struct seen *seen = c->seen == NOT_SEEN ? NULL : &s->seen[c->seen];
	const bool anew = seen && c->older && !c->same;
	const uint64_t events = anew ? c->older + c->newer : c->newer + c->again;
	const struct first *first = anew ? &c->all : &c->fresh;

	if (!events)
		return true;
	if (!seen) {
		if (s->nr_seen == SEEN_MOST)
			return false;
		seen = &s->seen[s->nr_seen++];
		*seen = (struct seen){ .cpu = ring->cpu,
				       .thread = ring->thread,
				       .condition = condition };
		snprintf(seen->machine, sizeof(seen->machine), "%s", ring->machine->name);
	}
	seen->clock = c->clock;
	seen->same = c->at_clock;
	if (!s->look.events || first->ns < s->look.first_ns)
		take_first(&s->look, first, ring);
	s->look.events += events;
	return true;
}

static bool is_wanted(const struct xvt_trigger *t, const struct xvt_condition *c,
		      const struct xvtrace_event *e)
{
	return e->kind == XVTRACE_EVENT && e->ring && e->ns >= t->from_ns &&
	       xvt_condition_is_for(c, e->ring->machine->name);
}

static int read_events(struct xvt_trigger *t, const struct xvt_condition *condition,
		       struct xvtrace_reader *r, struct counts *counts, unsigned int rings)
{
	const struct xvtrace_event *e;
	int got;

	while ((got = xvtrace_next(r, &e)) > 0) {
		if (is_wanted(t, condition, e) && e->ring->number < rings)
			count(t->shared, &counts[e->ring->number], e);
	}
	return got;
}

/* An event that a guest has not written yet may have the field: it is a note, and no error. */
static void note_unmatched(struct xvt_trigger *t, const struct xvtrace_reader *r, uint32_t number)
{
	struct xvt_trigger_look *look = &t->shared->look;
	struct xvtrace_error error;

	if (t->shared->noted[number] || look->note[0] ||
	    xvtrace_reader_unmatched_filter(r, 0, &error))
		return;
	snprintf(look->note, sizeof(look->note), "event %.64s %.192s: %s",
		 t->condition[number]->event, t->condition[number]->filter, error.text);
	t->shared->noted[number] = true;
}

static int look_for(struct xvt_trigger *t, struct xvtrace *trace, uint32_t number, uint64_t from_ns)
{
	const struct xvt_condition *condition = t->condition[number];
	const unsigned int rings = xvtrace_info(trace)->rings;
	struct shared *s = t->shared;
	struct counts *counts = new_counts(s, trace, number);
	struct xvtrace_error error = { "" };
	struct xvtrace_reader *r = NULL;
	int err = counts ? xvtrace_reader_new(&r, trace) : -ENOMEM;
	unsigned int i;

	if (!err)
		err = xvtrace_reader_event(r, condition->event);
	if (!err && condition->filter)
		err = xvtrace_reader_filter(r, condition->filter, &error);
	if (!err)
		err = xvtrace_reader_from(r, from_ns, XVTRACE_MONOTONIC);
	if (!err)
		err = read_events(t, condition, r, counts, rings);
	if (!err)
		note_unmatched(t, r, number);
	for (i = 0; !err && i < rings; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(trace, i);

		if (ring && !take_counts(s, &counts[i], ring, number))
			err = -E2BIG;
	}
	if (err)
		snprintf(s->why, sizeof(s->why), "%s", error.text[0] ? error.text : strerror(-err));
	xvtrace_reader_free(r);
	free_counts(counts, rings);
	return err;
}

static void read_trace(struct xvt_trigger *t, const char *path, uint64_t from_ns)
{
	const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
	struct shared *s = t->shared;
	struct xvtrace_error error = { "" };
	struct xvtrace *trace;
	uint32_t i;

	setrlimit(RLIMIT_CPU, &cpu);
	xvt_own_user_become(); /* or stay the user that it is */
	xvt_confine(false);
	if (xvtrace_open(&trace, path, XVTRACE_PART, &error)) {
		snprintf(s->why, sizeof(s->why), "%s", error.text);
		return;
	}
	xvt_confine_opened();
	s->look.last_ns = xvtrace_info(trace)->last_ns;
	s->look.ended = xvtrace_info(trace)->ended;
	for (i = 0; i < t->nr_conditions; i++) {
		if (look_for(t, trace, i, from_ns))
			return;
	}
	s->done = true;
}

/* ------------------------------------------------------------------ the process that asks */

/* Takes what the reading process has left, which a guest's data may have made it write. */
static void take_look(const struct shared *s, struct xvt_trigger_look *look)
{
	*look = s->look;
	look->first[sizeof(look->first) - 1] = '\0';
	look->machine[sizeof(look->machine) - 1] = '\0';
	look->note[sizeof(look->note) - 1] = '\0';
}

int xvt_trigger_look(struct xvt_trigger *t, const char *path, uint64_t from_ns,
		     struct xvt_trigger_look *look, struct xvt_error *why)
{
	struct shared *s = t->shared;
	int status = 0, err;
	pid_t child;

	s->look = (struct xvt_trigger_look){ .events = 0 };
	s->done = false;
	s->why[0] = '\0';
	fflush(NULL);
	child = fork();
	if (child < 0)
		return xvt_fail(why, -errno, "cannot start a process: %s", strerror(errno));
	if (!child) {
		read_trace(t, path, from_ns);
		_exit(0);
	}
	err = xvt_child_finish(child, &status, XVT_CHILD_STILL_MS, true);
	if (err)
		return xvt_fail(why, err,
				"the process that reads a trace did nothing for long, since it was "
				"stopped or a disk does not answer, and was killed");
	take_look(s, look);
	s->why[sizeof(s->why) - 1] = '\0';
	if (s->done && WIFEXITED(status))
		return 0;
	if (WIFSIGNALED(status))
		xvt_fail(why, 0, "the process that reads a trace was ended by signal %d",
			 WTERMSIG(status));
	else
		xvt_fail(why, 0, "%s", s->why);
	return -EIO;
}
