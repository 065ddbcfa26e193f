// SPDX-License-Identifier: GPL-2.0
/*
 * snapshots.c - see snapshots.h. A file may be linked while it is written. The files up to the
 * present one are linked at once, before the set may remove one, and each that follows when it
 * begins. The snapshot is whole when the file has ended that has the last event of it: the border
 * is asked for when the merge has passed that event.
 */
#define _GNU_SOURCE
#include "flight/snapshots.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/log.h"
#include "base/time.h"
#include "flight/condition.h"
#include "flight/flight.h"
#include "flight/flight_look.h"
#include "flight/lookout.h"
#include "session/session.h"
#include "trace/file_keep.h"
#include "trace/file_snapshot.h"
#include "trace/set_name.h"

#define LOOK_NS		(SECOND_NS / 4)	 /* between two looks at the conditions */
#define MERGE_NS	(10 * SECOND_NS) /* the border does not wait longer for the merge */
#define BORDER_NS	(60 * SECOND_NS) /* nor the snapshot for the border */
#define TOLD_NS		(60 * SECOND_NS) /* between two notes about moments that are not kept */
#define LOOK_PART	4		 /* and this many times the CPU time of one for events */
#define ANSWER_NS	(SECOND_NS / 50) /* between two looks for an answer */
#define AGAIN_NS	SECOND_NS	 /* of a file that grows is read again: events come late */
#define FAILED_NS	(30 * SECOND_NS) /* looks that fail for that long are told */
#define CONDITIONS_MOST XVT_TRIGGER_CONDITIONS
#define BEGINS		256u /* files whose begin is remembered */
#define WHAT_LEN	192u
#define RESULTS		8u /* snapshots whose result is kept */
#define TURNS_MOST	(4 * XVT_SNAPSHOTS_MINUTE_MOST)
#define MACHINES_MOST	4u /* that have the snapshots of a minute each */

/* A file of the set. */
struct begin {
	uint32_t number;
	uint64_t ns; /* not before it began */
};

/* One that is whole or has failed. */
struct result {
	uint64_t number;
	int err;
	char path[PATH_MAX];
};

/* A snapshot that a condition made. */
struct turn {
	uint64_t ns; /* when it began */
	char machine[XVT_NAME_LEN];
};

/* A search for events. */
struct search {
	struct xvt_trigger *trigger; /* NULL: no condition is about them */
	struct xvt_lookout *lookout; /* NULL: the same */
	uint64_t next_ns;	     /* when to look again */
	uint64_t failed_ns;	     /* since when looks have failed; 0: the last one did not */
	bool told;
};

/* In the files of the set, one by one. */
struct events {
	struct search search;
	uint32_t number;  /* of the file; 0: none yet */
	uint64_t read_ns; /* events up to that time were looked at */
};

/* In machines that are kept armed. */
struct armed_events {
	struct search search;
	struct xvt_flight_look *look;
	uint64_t asked_ns;
	uint64_t since_ns; /* later events were not looked at */
};

struct xvt_snapshots {
	struct xvt_recording *rec;
	char *folder;
	const struct xvt_snapshots_options *opt;
	struct xvt_flight *flight; /* NULL: there are none */
	struct xvt_armed *armed;
	struct xvt_condition condition[CONDITIONS_MOST];
	size_t nr_conditions;
	struct xvt_timer timer; /* due after each pass */
	uint64_t next_look_ns;
	struct events events;
	struct armed_events armed_events;

	struct begin begins[BEGINS]; /* a ring */
	uint64_t nr_begins;

	/* The one that is being made. */
	bool open;
	char path[PATH_MAX];
	char what[WHAT_LEN];
	char crashed[XVT_NAME_LEN]; /* of which machine, if it is a crash; else empty */
	uint64_t due_ns;	    /* host time of the last event that is wanted */
	uint32_t linked;	    /* number of the newest file in it */
	uint32_t last;		    /* the file that is to end, 0: not asked for yet */
	uint64_t asked_ns;
	bool to_read;	  /* the flight recorders, when they are not being looked at */
	size_t reading;	  /* flight recorders that are read into it */
	uint32_t removed; /* files that the set had not any more */
	int err;

	uint64_t begun;			/* snapshots: the newest one's number */
	uint64_t made;			/* the same, of those that are whole or have failed */
	struct result results[RESULTS]; /* of the newest ones, by number; a ring */
	uint64_t good;			/* of them, whole */
	uint64_t held;			/* times that a condition held */
	uint64_t not_kept;		/* of them, beyond per_minute */
	uint64_t told_not_kept;
	uint64_t told_ns;
	struct turn turns[TURNS_MOST]; /* the newest ones; a ring */
	uint64_t nr_turns;
};

/* Returns whether there is a condition on events: of this machine; NULL: of any. */
static bool has_event_condition(const struct xvt_snapshots *sn, const char *machine)
{
	size_t i;

	for (i = 0; i < sn->nr_conditions; i++) {
		const struct xvt_condition *c = &sn->condition[i];

		if (c->kind == XVT_CONDITION_EVENT &&
		    (!machine || xvt_condition_is_for(c, machine)))
			return true;
	}
	return false;
}

bool xvt_snapshots_wants_crash(const struct xvt_snapshots *sn, const char *machine)
{
	size_t i;

	for (i = 0; sn && i < sn->nr_conditions; i++) {
		const struct xvt_condition *c = &sn->condition[i];

		if (c->kind == XVT_CONDITION_CRASH && xvt_condition_is_for(c, machine))
			return true;
	}
	return false;
}

/* For events from now on. does: of its messages. Returns 0, or -errno after an error
 * message. */
static int begin_search(struct xvt_snapshots *sn, struct search *search,
			const struct xvt_lookout_source *source, const char *does)
{
	int err = xvt_trigger_new(&search->trigger, sn->condition, sn->nr_conditions,
				  xvt_session_now_ns(sn->rec->session));

	if (!err)
		err = xvt_lookout_new(&search->lookout, search->trigger, source, does);
	if (err)
		xvt_error("--snapshot-when", "cannot look for events: %s", strerror(-err));
	else
		xvt_recording_needs_helper(sn->rec, xvt_lookout_helper(search->lookout));
	return err;
}

static void end_search(struct search *search)
{
	xvt_lookout_free(search->lookout);
	xvt_trigger_free(search->trigger);
}

/* Condition number `i`. Returns 0, or -errno after an error message. */
static int parse(struct xvt_condition *c, const struct xvt_opt_list *when, size_t i)
{
	const struct xvt_opt_value value = { "snapshot-when", i, when->v[i], NULL };

	if (i < CONDITIONS_MOST)
		return xvt_condition_parse(c, &value);
	xvt_opt_error_of(&value, "there are more than %u conditions", CONDITIONS_MOST);
	return -EINVAL;
}

int xvt_snapshots_check(const struct xvt_snapshots_options *opt)
{
	struct xvt_condition c;
	size_t i;
	int err = 0;

	for (i = 0; i < opt->when.n && !err; i++) {
		err = parse(&c, &opt->when, i);
		if (!err)
			xvt_condition_free(&c);
	}
	return err == -ENOMEM || !err ? err : -EINVAL;
}

static void on_time(struct xvt_timer *timer, uint64_t now_ns);

int xvt_snapshots_new(struct xvt_snapshots **out, struct xvt_recording *rec, const char *folder,
		      const struct xvt_snapshots_options *opt)
{
	struct xvt_snapshots *sn = calloc(1, sizeof(*sn));
	int err = 0;
	size_t i;

	if (!sn)
		return -ENOMEM;
	sn->rec = rec;
	sn->folder = strdup(folder);
	if (!sn->folder) {
		free(sn);
		return -ENOMEM;
	}
	for (i = strlen(folder); i > 1 && folder[i - 1] == '/'; i--)
		sn->folder[i - 1] = '\0';
	sn->opt = opt;
	for (i = 0; i < opt->when.n && !err; i++) {
		err = parse(&sn->condition[i], &opt->when, i);
		sn->nr_conditions += !err;
	}
	if (!err && has_event_condition(sn, NULL))
		err = begin_search(sn, &sn->events.search, NULL, "looks for events");
	if (err) {
		xvt_snapshots_free(sn);
		return err;
	}
	xvt_timer_add(&rec->after_pass, &sn->timer, on_time);
	xvt_timer_arm(&sn->timer, 0, 0);
	*out = sn;
	return 0;
}

/* ------------------------------------------------------------------ files */

/* Note when the present file was first seen. */
static void note_begin(struct xvt_snapshots *sn, uint64_t now_ns)
{
	const uint32_t number = xvt_file_set_at(sn->rec->sink);

	if (sn->nr_begins && sn->begins[(sn->nr_begins - 1) % BEGINS].number == number)
		return;
	sn->begins[sn->nr_begins++ % BEGINS] = (struct begin){ number, now_ns };
}

/* The file that was present at a host time, as far back as is known. An event of that time was
 * written into it or into a later one. */
static uint32_t file_at(const struct xvt_snapshots *sn, uint64_t ns)
{
	const uint64_t least = sn->nr_begins > BEGINS ? sn->nr_begins - BEGINS : 0;
	uint64_t i = sn->nr_begins - 1;

	while (i > least && sn->begins[i % BEGINS].ns > ns)
		i--;
	return sn->begins[i % BEGINS].number;
}

/* Link the files up to `to`. The first error counts: the snapshot lacks a file. A file that the
 * limits of the set have removed is told. */
static void link_up_to(struct xvt_snapshots *sn, uint32_t to)
{
	while (sn->linked < to) {
		int err = xvt_file_snapshot_add(sn->folder, ++sn->linked, sn->path);

		if (err == -ENOENT && sn->linked < xvt_file_set_at(sn->rec->sink)) {
			sn->removed++;
			err = 0;
		}
		sn->err = sn->err ? sn->err : err;
	}
}

/* ------------------------------------------------------------------ messages */

/* Into the trace, and not into the log: the caller prints it. */
static void note(struct xvt_snapshots *sn, const char *text)
{
	sn->rec->own_words = true;
	xvt_session_say(sn->rec->session, 0, NULL, text);
	sn->rec->own_words = false;
	xvt_recording_end_line(sn->rec);
}

static void say(struct xvt_snapshots *sn, const char *text)
{
	note(sn, text);
	xvt_note("snapshot: %s", text);
}

static void warn(struct xvt_snapshots *sn, const char *text)
{
	note(sn, text);
	xvt_warn("snapshot", "%s", text);
}

/* ------------------------------------------------------------------ its flight recorders */

int xvt_snapshots_read(struct xvt_snapshots *sn, struct xvt_flight *flight,
		       struct xvt_armed *machines, const struct xvt_flight_options *opt)
{
	struct armed_events *e = &sn->armed_events;
	struct xvt_lookout_source source;
	int err;

	sn->flight = flight;
	sn->armed = machines;
	if (!flight || !has_event_condition(sn, NULL))
		return 0;
	e->since_ns = xvt_session_now_ns(sn->rec->session);
	err = xvt_flight_look_new(&e->look, opt);
	if (err)
		return err;
	source = xvt_flight_look_source(e->look);
	xvt_armed_look_each(machines, LOOK_NS);
	return begin_search(sn, &e->search, &source, "looks for events of flight recorders");
}

static void flight_failed(struct xvt_snapshots *sn, const char *why)
{
	char text[PATH_MAX + 128];

	snprintf(text, sizeof(text), "%s/" XVT_SNAPSHOT_FLIGHT " is not whole: %s", sn->path, why);
	warn(sn, text);
}

/*
 * Makes room for what the flight recorders hold, as for a next file of the set; an event takes
 * more in a trace than in a ring. *most: the bytes that it may have, 0: any number. Returns 0 or
 * -ENOSPC.
 */
static int make_room(struct xvt_snapshots *sn, uint64_t *most)
{
	const struct xvt_file_keep *keep = &sn->rec->keep;
	const uint32_t present = xvt_file_set_at(sn->rec->sink);
	struct xvt_file_keep with = *keep;
	uint64_t rings;

	*most = 0;
	if (!keep->bytes && !keep->free_bytes)
		return 0;
	*most = 4 * xvt_armed_held(sn->armed, &rings) + XVT_MAX_BYTES_LEAST;
	if (keep->bytes && *most > keep->bytes / 2)
		*most = keep->bytes / 2;
	with.ns = 0;
	with.next_bytes += *most;
	xvt_file_set_make_room(sn->rec->sink, &with);
	while (!xvt_file_keep_has_room(sn->folder, present, keep, *most)) {
		if (xvt_file_snapshot_drop(sn->folder)) /* the oldest, never the newest */
			continue;
		*most /= 2;
		if (*most < XVT_MAX_BYTES_LEAST)
			return -ENOSPC;
	}
	return 0;
}

/* Begins to read them; later if they are being looked at, which takes half a second at most. */
static void begin_flight(struct xvt_snapshots *sn)
{
	const uint64_t at_ns = sn->due_ns - sn->opt->after_ns;
	char text[160];
	uint64_t most = 0;
	size_t left_out;
	int err, unused;

	if (xvt_snapshots_look_at_armed(sn))
		return;
	sn->to_read = false;
	if (!sn->flight)
		return;
	err = xvt_armed_count(sn->armed) ? make_room(sn, &most) : 0;
	if (err) {
		flight_failed(sn, "--keep-size or --keep-free leaves no room for it");
		return;
	}
	err = xvt_flight_take(sn->flight, sn->armed, sn->path, at_ns, sn->opt->before_ns, most,
			      &left_out);
	if (left_out) {
		snprintf(text, sizeof(text),
			 "%zu of %zu flight recorders are left out, since they are not armed; "
			 "xvtrace status says why",
			 left_out, xvt_armed_count(sn->armed));
		warn(sn, text);
	}
	if (err && err != -ENODATA)
		flight_failed(sn, err == -EBUSY ? "the one before is still being written"
						: strerror(-err));
	if (!err)
		sn->reading = xvt_flight_under_way(sn->flight, &unused);
}

/* Returns true while they are being read. */
static bool waits_for_flight(struct xvt_snapshots *sn)
{
	char text[PATH_MAX + 64];
	int status;

	if (sn->to_read)
		begin_flight(sn);
	if (sn->to_read)
		return true;
	if (!sn->reading)
		return false;
	if (xvt_flight_under_way(sn->flight, &status))
		return true;
	snprintf(text, sizeof(text),
		 "%s/" XVT_SNAPSHOT_FLIGHT " has what %zu flight recorders held", sn->path,
		 sn->reading);
	sn->reading = 0;
	if (status)
		flight_failed(sn, status < 0 ? "the process that reads flight recorders has died"
					     : "see the messages before");
	else
		say(sn, text);
	return false;
}

/* ------------------------------------------------------------------ one snapshot */

static void begin(struct xvt_snapshots *sn, const char *machine, const char *kind, const char *what,
		  uint64_t at_ns, uint64_t now_ns)
{
	char name[XVT_SNAPSHOT_NAME_MAX], text[WHAT_LEN + 64];
	int err;

	note_begin(sn, now_ns);
	snprintf(name, sizeof(name), "%s%s%s", kind, machine ? "-" : "", machine ? machine : "");
	err = xvt_file_snapshot_new(sn->folder, name, sn->path, sizeof(sn->path));
	sn->begun++;
	sn->err = err;
	sn->removed = 0;
	sn->to_read = false;
	sn->reading = 0;
	sn->open = true;
	sn->last = 0;
	sn->due_ns = at_ns + sn->opt->after_ns;
	snprintf(sn->what, sizeof(sn->what), "%s, at %" PRIu64 ".%09" PRIu64, what,
		 at_ns / SECOND_NS, at_ns % SECOND_NS);
	snprintf(sn->crashed, sizeof(sn->crashed), "%s",
		 machine && !strcmp(kind, "crash") ? machine : "");
	if (!err) {
		sn->linked =
			file_at(sn, at_ns > sn->opt->before_ns ? at_ns - sn->opt->before_ns : 0) -
			1;
		link_up_to(sn, xvt_file_set_at(sn->rec->sink));
		/* Behind the links: it may remove files of the set. */
		sn->to_read = true;
		begin_flight(sn);
	}
	snprintf(text, sizeof(text), "begins: %s", sn->what);
	say(sn, text);
}

/* A crash is known some time after the machine's last event, which is what its reader looks for. */
static void last_event(const struct xvt_snapshots *sn, char *text, size_t size)
{
	const struct xvt_vm *vm =
		sn->crashed[0] ? xvt_session_find(sn->rec->session, sn->crashed) : NULL;
	const uint64_t ns = vm ? xvt_session_vm_last_ns(vm) : 0;

	text[0] = '\0';
	if (ns)
		snprintf(text, size, ", last event at %" PRIu64 ".%09" PRIu64, ns / SECOND_NS,
			 ns % SECOND_NS);
}

/* For a client that asks when the next one has begun, or is over, too. */
static void keep_result(struct xvt_snapshots *sn)
{
	struct result *r = &sn->results[sn->begun % RESULTS];

	sn->made = sn->begun;
	r->number = sn->begun;
	r->err = sn->err;
	memcpy(r->path, sn->path, sizeof(r->path));
}

static void end(struct xvt_snapshots *sn, int err)
{
	char text[PATH_MAX + WHAT_LEN + 128], last[64];

	sn->open = false;
	sn->err = sn->err ? sn->err : err;
	keep_result(sn);
	sn->good += !sn->err;
	if (sn->err) {
		snprintf(text, sizeof(text), "%s is not whole: %s", sn->path,
			 sn->err == -ETIMEDOUT ? "the file that has its end does not end"
					       : strerror(-sn->err));
		warn(sn, text);
	} else {
		last_event(sn, last, sizeof(last));
		snprintf(text, sizeof(text), "%s has it: %s%s", sn->path, sn->what, last);
		say(sn, text);
		if (sn->removed) {
			snprintf(text, sizeof(text),
				 "%s lacks %u files, which --keep-size or --keep-free had removed",
				 sn->path, sn->removed);
			say(sn, text);
		}
	}
	while (xvt_file_snapshot_count(sn->folder) > sn->opt->most &&
	       xvt_file_snapshot_drop(sn->folder))
		;
}

/* The open one: link files that have begun, ask for its border, and end it there. */
static void go_on(struct xvt_snapshots *sn, uint64_t now_ns)
{
	const uint32_t present = xvt_file_set_at(sn->rec->sink);
	const bool passed = xvt_session_watermark(sn->rec->session) >= sn->due_ns ||
			    !xvt_session_alive(sn->rec->session);
	const bool waits = waits_for_flight(sn);

	if (sn->err) {
		end(sn, 0);
	} else if (sn->last && present > sn->last) {
		link_up_to(sn, sn->last);
		if (!waits || now_ns - sn->asked_ns > BORDER_NS)
			end(sn, 0);
	} else if (sn->last) {
		if (now_ns - sn->asked_ns > BORDER_NS)
			end(sn, -ETIMEDOUT);
	} else {
		link_up_to(sn, present);
		if (now_ns < sn->due_ns || (!passed && now_ns - sn->due_ns < MERGE_NS))
			return;
		sn->last = present;
		sn->asked_ns = now_ns;
		xvt_session_rotate(sn->rec->session);
	}
}

/* ------------------------------------------------------------------ conditions */

/*
 * Returns true if one more of the machine keeps to the number of snapshots in a minute: that is for
 * each machine, so that one that loses events all the time leaves the others theirs. All together
 * have four times that, but for a first one of each machine.
 */
static bool may_begin(const struct xvt_snapshots *sn, const char *machine, uint64_t now_ns)
{
	const uint64_t most = sn->opt->per_minute;
	uint64_t own = 0, all = 0, i;

	for (i = 0; i < sn->nr_turns && i < TURNS_MOST; i++) {
		const struct turn *t = &sn->turns[i];

		if (now_ns - t->ns >= 60 * SECOND_NS)
			continue;
		all++;
		own += !strcmp(t->machine, machine);
	}
	return own < most && all < (own ? MACHINES_MOST * most : XVT_SNAPSHOTS_MINUTE_MOST);
}

/* A condition holds. A moment of the open snapshot needs none of its own. */
static void holds(struct xvt_snapshots *sn, const char *machine, const char *kind, const char *what,
		  uint64_t at_ns, uint64_t now_ns)
{
	struct turn *turn;

	if (sn->open && at_ns <= sn->due_ns)
		return;
	if (sn->open || !may_begin(sn, machine, now_ns)) {
		sn->not_kept++;
		return;
	}
	turn = &sn->turns[sn->nr_turns++ % TURNS_MOST];
	turn->ns = now_ns;
	snprintf(turn->machine, sizeof(turn->machine), "%s", machine);
	begin(sn, machine, kind, what, at_ns, now_ns);
}

static void look_at(struct xvt_snapshots *sn, const char *name, const struct xvt_vm_changes *c,
		    uint64_t now_ns)
{
	char what[WHAT_LEN];
	uint64_t ago_ns;
	size_t i;

	for (i = 0; i < sn->nr_conditions; i++) {
		const struct xvt_condition *on = &sn->condition[i];

		if (!xvt_condition_holds(on, name, c, what, sizeof(what), &ago_ns))
			continue;
		sn->held++;
		holds(sn, name, xvt_condition_word(on), what, now_ns - ago_ns, now_ns);
	}
}

static void look(struct xvt_snapshots *sn, uint64_t now_ns)
{
	struct xvt_vm_changes c;
	struct xvt_vm *vm;
	size_t i;

	for (i = 0; (vm = xvt_session_vm(sn->rec->session, i)); i++) {
		xvt_session_vm_changes(vm, &c);
		look_at(sn, xvt_session_vm_name(vm), &c, now_ns);
	}
	for (i = 0; i < xvt_armed_count(sn->armed); i++) {
		xvt_armed_changes(sn->armed, i, now_ns, &c);
		look_at(sn, xvt_armed_at(sn->armed, i)->name, &c, now_ns);
	}
	if (sn->not_kept > sn->told_not_kept && (!sn->told_ns || now_ns - sn->told_ns >= TOLD_NS)) {
		xvt_recording_end_line(sn->rec);
		xvt_note("snapshot: conditions held %" PRIu64
			 " more times, which is beyond --snapshot-per-minute; these moments have "
			 "no snapshot of their own",
			 sn->not_kept - sn->told_not_kept);
		sn->told_not_kept = sn->not_kept;
		sn->told_ns = now_ns;
	}
}

/* ------------------------------------------------------------------ events */

/* Take the result of a look. */
static void take_look(struct xvt_snapshots *sn, const struct xvt_trigger_look *look,
		      uint64_t now_ns)
{
	if (look->note[0]) {
		xvt_recording_end_line(sn->rec);
		xvt_warn("--snapshot-when", "%s", look->note);
	}
	if (!look->events)
		return;
	sn->held += look->events;
	holds(sn, look->machine, "event", look->first, look->first_ns, now_ns);
}

enum answered { NOTHING, FOUND, FAILED };

/*
 * Take an answer, if there is one. FAILED: the look could not be made, which is told when it has
 * gone on for FAILED_NS.
 */
static enum answered take_answer(struct xvt_snapshots *sn, struct search *search,
				 const char *failed, struct xvt_lookout_answer *answer,
				 uint64_t now_ns)
{
	/* Another error: it has died, and the recording ends (xvt_recording_needs()). */
	int err = search->lookout ? xvt_lookout_answer(search->lookout, answer) : -EAGAIN;

	if (err)
		return NOTHING;
	search->next_ns =
		now_ns +
		(answer->cpu_ns * LOOK_PART > LOOK_NS ? answer->cpu_ns * LOOK_PART : LOOK_NS);
	if (!answer->err) {
		search->failed_ns = 0;
		search->told = false;
		take_look(sn, &answer->look, now_ns);
		return FOUND;
	}
	/* A look that was given up has taken so long. */
	if (!search->failed_ns)
		search->failed_ns = answer->err == -ETIMEDOUT && now_ns > FAILED_NS
					    ? now_ns - FAILED_NS
					    : now_ns;
	if (!search->told && now_ns - search->failed_ns >= FAILED_NS) {
		xvt_recording_end_line(sn->rec);
		xvt_warn("--snapshot-when", "%s %" PRIu64 " s: %s", failed,
			 (now_ns - search->failed_ns) / SECOND_NS, answer->why.text);
		search->told = true;
	}
	return FAILED;
}

/* A file that has just begun may have nothing to read yet; one whose looks fail for long was
 * removed by the limits of the set. */
static void take_events(struct xvt_snapshots *sn, uint64_t now_ns)
{
	struct events *e = &sn->events;
	struct xvt_lookout_answer answer;
	const enum answered got =
		take_answer(sn, &e->search, "events were not looked for since", &answer, now_ns);
	const bool removed = got == FAILED && answer.err != -ETIMEDOUT &&
			     now_ns - e->search.failed_ns >= FAILED_NS;

	if (got == FOUND)
		e->read_ns = answer.look.last_ns;
	if (!removed && !(got == FOUND && answer.look.ended))
		return;
	if (e->number >= xvt_file_set_at(sn->rec->sink))
		return;
	e->number++;
	e->read_ns = 0;
	if (!removed)
		e->search.next_ns = now_ns;
}

static void look_for_events(struct xvt_snapshots *sn, uint64_t now_ns)
{
	struct events *e = &sn->events;
	char path[PATH_MAX];

	take_events(sn, now_ns);
	if (!e->search.lookout || now_ns < e->search.next_ns)
		return;
	if (!e->number)
		e->number = xvt_file_set_at(sn->rec->sink);
	if (xvt_set_path(sn->folder, e->number, path, sizeof(path)))
		xvt_lookout_ask(e->search.lookout, path,
				e->read_ns > AGAIN_NS ? e->read_ns - AGAIN_NS : 0);
}

/* ------------------------------------------------------------------ events of armed machines */

struct wanted {
	struct xvt_snapshots *sn;
	uint64_t now_ns;
};

/* A machine without an event since the look before is not read. */
static bool is_wanted(void *arg, size_t i)
{
	const struct wanted *w = arg;

	return has_event_condition(w->sn, xvt_armed_at(w->sn->armed, i)->name) &&
	       (xvt_armed_is_fresh(w->sn->armed, i, w->now_ns) ||
		w->sn->armed_events.search.failed_ns);
}

static void take_armed_events(struct xvt_snapshots *sn, uint64_t now_ns)
{
	struct armed_events *e = &sn->armed_events;
	struct xvt_lookout_answer answer;

	if (take_answer(sn, &e->search, "events of flight recorders were not looked for since",
			&answer, now_ns) == FOUND)
		e->since_ns = e->asked_ns > AGAIN_NS ? e->asked_ns - AGAIN_NS : 0;
}

/* Not while they are read into a snapshot: a region is claimed by one reader at a time. */
static void look_for_armed_events(struct xvt_snapshots *sn, uint64_t now_ns)
{
	struct armed_events *e = &sn->armed_events;
	struct wanted wanted = { sn, now_ns };

	if (!e->search.lookout || now_ns < e->search.next_ns || sn->to_read || sn->reading)
		return;
	if (!xvt_flight_look_ask(e->look, e->search.lookout, sn->armed, is_wanted, &wanted,
				 e->since_ns))
		e->asked_ns = now_ns;
}

bool xvt_snapshots_look_at_armed(const struct xvt_snapshots *sn)
{
	return sn && xvt_lookout_is_busy(sn->armed_events.search.lookout);
}

/* The next call that keeps the search of flight recorders on time. */
static uint64_t next_ns(const struct xvt_snapshots *sn, uint64_t now_ns)
{
	if (!sn->armed_events.search.lookout || !xvt_armed_count(sn->armed))
		return XVT_TIMER_NEVER;
	/* Another process is at work, and its answer is waited for. */
	if (xvt_snapshots_look_at_armed(sn) || sn->to_read || sn->reading)
		return now_ns + ANSWER_NS;
	return now_ns + LOOK_NS;
}

static void on_time(struct xvt_timer *timer, uint64_t now_ns)
{
	struct xvt_snapshots *sn = container_of(timer, struct xvt_snapshots, timer);

	note_begin(sn, now_ns);
	take_armed_events(sn, now_ns);
	if (sn->open)
		go_on(sn, now_ns);
	if (sn->nr_conditions && now_ns >= sn->next_look_ns) {
		sn->next_look_ns = now_ns + LOOK_NS;
		look(sn, now_ns);
		look_for_events(sn, now_ns);
		look_for_armed_events(sn, now_ns);
	}
	xvt_timer_arm(timer, 0, next_ns(sn, now_ns));
}

/* ------------------------------------------------------------------ clients */

uint64_t xvt_snapshots_ask(struct xvt_snapshots *sn, uint64_t now_ns)
{
	if (sn->open)
		return 0;
	begin(sn, NULL, "control", "a client asked for it", now_ns, now_ns);
	return sn->begun;
}

int xvt_snapshots_made(const struct xvt_snapshots *sn, uint64_t number)
{
	const struct result *r = &sn->results[number % RESULTS];

	if (sn->made < number)
		return -EAGAIN;
	return r->number == number ? r->err : -ENODATA;
}

const char *xvt_snapshots_path(const struct xvt_snapshots *sn, uint64_t number)
{
	const struct result *r = &sn->results[number % RESULTS];

	if (number == sn->begun)
		return sn->path;
	return r->number == number ? r->path : NULL;
}

uint64_t xvt_snapshots_held(const struct xvt_snapshots *sn)
{
	return sn->held;
}

uint64_t xvt_snapshots_count(const struct xvt_snapshots *sn)
{
	return sn->good;
}

void xvt_snapshots_free(struct xvt_snapshots *sn)
{
	size_t i;

	if (!sn)
		return;
	xvt_timer_remove(&sn->timer);
	if (sn->open)
		xvt_note("snapshot: %s ends with the recording: %s", sn->path, sn->what);
	end_search(&sn->events.search);
	end_search(&sn->armed_events.search);
	xvt_flight_look_free(sn->armed_events.look);
	for (i = 0; i < sn->nr_conditions; i++)
		xvt_condition_free(&sn->condition[i]);
	free(sn->folder);
	free(sn);
}
