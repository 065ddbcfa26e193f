// SPDX-License-Identifier: GPL-2.0
/*
 * trigger.c - see trigger.h. Snapshots overlap: each has all that the rings held. So the newest
 * event of each ring for which a condition held is remembered, by the guest's clock, which never
 * goes back within a boot. The memory is shared with the process that reads the next snapshot.
 */
#define _GNU_SOURCE
#include "cli/trigger.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/condition.h"
#include "cli/confine.h"
#include "lib/xvtrace.h"
#include "xvt_abi.h"

#define CONDITIONS_MOST 16u
#define SEEN_MOST	4096u /* rings with such events */
#define CPU_SECONDS	60u   /* for one snapshot */
#define NOT_SEEN	UINT32_MAX

/* The newest event of a ring for which a condition held. */
struct seen {
	char machine[XVT_NAME_LEN];
	uint32_t ring; /* of the machine, from 0 */
	uint32_t condition;
	uint64_t clock; /* of the guest */
	uint64_t same;	/* events of that time */
};

/* Shared with the process that reads. */
struct shared {
	struct xvt_trigger_look look;
	bool done;
	char why[512]; /* what failed; "": nothing */
	size_t nr_seen;
	struct seen seen[SEEN_MOST];
};

struct xvt_trigger {
	struct shared *shared;
	struct xvt_condition condition[CONDITIONS_MOST];
	uint32_t nr_conditions;
	uint64_t from_ns;
};

/* ------------------------------------------------------------------ conditions */

static int add_condition(struct xvt_trigger *t, const char *text)
{
	struct xvt_condition *c = &t->condition[t->nr_conditions];
	int err;

	if (t->nr_conditions == CONDITIONS_MOST) {
		xvt_error(text, "there are more than %u conditions", CONDITIONS_MOST);
		return -EINVAL;
	}
	err = xvt_condition_parse(c, text);
	if (err)
		return err;
	t->nr_conditions++;
	if (c->kind == XVT_CONDITION_EVENT)
		return 0;
	xvt_error(text, "only a recorder sees that (xvtrace record, xvtrace daemon: "
			"--snapshot-when); here a condition is event GLOB [FILTER]");
	return -EINVAL;
}

int xvt_trigger_new(struct xvt_trigger **out, const struct xvt_opt_list *conditions,
		    uint64_t from_ns)
{
	struct xvt_trigger *t = calloc(1, sizeof(*t));
	int err = t ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; !err && i < conditions->n; i++)
		err = add_condition(t, conditions->v[i]);
	if (!err) {
		t->shared = mmap(NULL, sizeof(*t->shared), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		err = t->shared == MAP_FAILED ? -ENOMEM : 0;
	}
	*out = t;
	if (!err) {
		t->from_ns = from_ns;
		return 0;
	}
	if (err == -ENOMEM)
		xvt_error("--when", "out of memory");
	if (t)
		t->shared = NULL;
	xvt_trigger_free(t);
	return err;
}

void xvt_trigger_free(struct xvt_trigger *t)
{
	if (!t)
		return;
	while (t->nr_conditions)
		xvt_condition_free(&t->condition[--t->nr_conditions]);
	if (t->shared)
		munmap(t->shared, sizeof(*t->shared));
	free(t);
}

/* ------------------------------------------------------------------ the process that reads */

/* A ring of the snapshot: events for which the condition holds. */
struct counts {
	uint32_t in_machine; /* number of the ring in its machine */
	uint32_t seen;	     /* index, or NOT_SEEN */
	uint64_t older, same, newer;
	uint64_t clock; /* of the newest one */
	uint64_t at_clock;
	uint64_t all_ns, newer_ns; /* the first of all, and of those that are newer */
};

static struct seen *find_seen(struct shared *s, const char *machine, uint32_t ring,
			      uint32_t condition)
{
	size_t i;

	for (i = 0; i < s->nr_seen; i++) {
		struct seen *seen = &s->seen[i];

		if (seen->ring == ring && seen->condition == condition &&
		    !strncmp(seen->machine, machine, sizeof(seen->machine) - 1))
			return seen;
	}
	return NULL;
}

/* Returns the counts of all rings of the trace, for free(), or NULL. */
static struct counts *new_counts(struct shared *s, struct xvtrace *trace, uint32_t condition)
{
	const unsigned int rings = xvtrace_info(trace)->rings;
	struct counts *counts = calloc(rings + 1, sizeof(*counts));
	uint32_t *next = calloc(xvtrace_info(trace)->machines + 1, sizeof(*next));
	unsigned int i;

	for (i = 0; counts && next && i < rings; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(trace, i);
		const struct seen *seen;

		if (!ring || ring->machine->number >= xvtrace_info(trace)->machines)
			continue;
		counts[i].in_machine = next[ring->machine->number]++;
		seen = find_seen(s, ring->machine->name, counts[i].in_machine, condition);
		counts[i].seen = seen ? (uint32_t)(seen - s->seen) : NOT_SEEN;
	}
	if (!next) {
		free(counts);
		counts = NULL;
	}
	free(next);
	return counts;
}

static void count(const struct shared *s, struct counts *c, const struct xvtrace_event *e)
{
	const struct seen *seen = c->seen == NOT_SEEN ? NULL : &s->seen[c->seen];
	const bool newer = !seen || e->guest_clock > seen->clock;

	if (!c->older && !c->same && !c->newer)
		c->all_ns = e->ns;
	if (newer && !c->newer++)
		c->newer_ns = e->ns;
	c->older += !newer && e->guest_clock < seen->clock;
	c->same += !newer && e->guest_clock == seen->clock;
	if (e->guest_clock > c->clock || !c->at_clock) {
		c->clock = e->guest_clock;
		c->at_clock = 0;
	}
	c->at_clock += e->guest_clock == c->clock;
}

static void describe(struct shared *s, const struct xvtrace_event *e)
{
	size_t len;
	const char *text = xvtrace_event_text(e, 0, &len);

	snprintf(s->look.first, sizeof(s->look.first), "%s %s:%s: %s",
		 e->ring ? e->ring->machine->name : "?", e->type->system, e->type->name, text);
}

/*
 * Take the counts of a ring into the look, and remember its newest event. A ring that has older
 * events and not the remembered one, which would be overwritten later than these, has begun anew:
 * all of its events are new.
 */
static bool take_counts(struct shared *s, struct counts *c, const char *machine, uint32_t condition)
{
	struct seen *seen = c->seen == NOT_SEEN ? NULL : &s->seen[c->seen];
	const bool anew = seen && c->older && !c->same;
	const uint64_t again = seen && c->same > seen->same ? c->same - seen->same : 0;
	const uint64_t events = anew ? c->older + c->newer : c->newer + again;
	const uint64_t ns = anew || again ? c->all_ns : c->newer_ns;

	if (!events)
		return true;
	if (!seen) {
		if (s->nr_seen == SEEN_MOST)
			return false;
		seen = &s->seen[s->nr_seen++];
		*seen = (struct seen){ .ring = c->in_machine, .condition = condition };
		snprintf(seen->machine, sizeof(seen->machine), "%s", machine);
	}
	seen->clock = c->clock;
	seen->same = c->at_clock;
	if (!s->look.events || ns < s->look.first_ns)
		s->look.first_ns = ns;
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
	struct shared *s = t->shared;
	const struct xvtrace_event *e;
	int got;

	while ((got = xvtrace_next(r, &e)) > 0) {
		struct counts *c;
		uint64_t before;

		if (!is_wanted(t, condition, e) || e->ring->number >= rings)
			continue;
		c = &counts[e->ring->number];
		before = c->newer;
		count(s, c, e);
		if (c->newer > before && !s->look.first[0])
			describe(s, e);
	}
	return got;
}

static int look_for(struct xvt_trigger *t, struct xvtrace *trace, uint32_t number)
{
	const struct xvt_condition *condition = &t->condition[number];
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
		err = read_events(t, condition, r, counts, rings);
	for (i = 0; !err && i < rings; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(trace, i);

		if (ring && !take_counts(s, &counts[i], ring->machine->name, number))
			err = -E2BIG;
	}
	if (err)
		snprintf(s->why, sizeof(s->why), "%s", error.text[0] ? error.text : strerror(-err));
	xvtrace_reader_free(r);
	free(counts);
	return err;
}

static void read_trace(struct xvt_trigger *t, int fd)
{
	const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
	struct xvtrace_error error = { "" };
	struct xvtrace *trace;
	char path[32];
	uint32_t i;

	setrlimit(RLIMIT_CPU, &cpu);
	xvt_confine(false);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (xvtrace_open(&trace, path, 0, &error)) {
		snprintf(t->shared->why, sizeof(t->shared->why), "%s", error.text);
		return;
	}
	xvt_confine_opened();
	for (i = 0; i < t->nr_conditions; i++) {
		if (look_for(t, trace, i))
			return;
	}
	t->shared->done = true;
}

/* ------------------------------------------------------------------ the command's process */

int xvt_trigger_look(struct xvt_trigger *t, int fd, struct xvt_trigger_look *look)
{
	int status = 0;
	pid_t child;

	t->shared->look = (struct xvt_trigger_look){ .events = 0 };
	t->shared->done = false;
	t->shared->why[0] = '\0';
	fflush(NULL);
	child = fork();
	if (child < 0) {
		xvt_error("--when", "cannot start a process: %s", strerror(errno));
		return -errno;
	}
	if (!child) {
		read_trace(t, fd);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	*look = t->shared->look;
	look->first[sizeof(look->first) - 1] = '\0';
	t->shared->why[sizeof(t->shared->why) - 1] = '\0';
	if (t->shared->done && WIFEXITED(status))
		return 0;
	if (WIFSIGNALED(status))
		snprintf(t->shared->why, sizeof(t->shared->why),
			 "the process that reads a snapshot was ended by signal %d",
			 WTERMSIG(status));
	xvt_error("--when", "%s", t->shared->why);
	return -EIO;
}
