// SPDX-License-Identifier: GPL-2.0
/*
 * metrics.c - see metrics.h. Each family of metrics is a row of a table: the format wants all
 * samples of a family in one block. There is no metric of a ring, because a host may have 65,536 of
 * them.
 */
#include "control/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/vec.h"

#define PIECE 100 /* machines: their lines fit into an xvt_out */

enum unit {
	COUNT,
	SECONDS, /* the answer has ns */
	FLAG,
};

enum from {
	MEMBER,	     /* of the recorder, or of the machine */
	ALL_RINGS,   /* the sum */
	WORST_RING,  /* the greatest */
	WORST_CLOCK, /* the greatest, of the rings that have a clock */
};

struct family {
	const char *name;
	const char *help;
	const char *key; /* of the answer */
	enum unit unit;
	enum from from;
	bool counter; /* else a gauge */
};

static const struct family recorder_families[] = {
	{ "xvtrace_recorder_uptime_seconds", "Time since the recording began.", NULL, SECONDS,
	  MEMBER, false },
	{ "xvtrace_recorder_machines", "Machines of the recording.", "machines", COUNT, MEMBER,
	  false },
	{ "xvtrace_recorder_joined", "1: every machine has a clock, or is not waited for.",
	  "joined", FLAG, MEMBER, false },
	{ "xvtrace_recorder_ordered_lag_seconds",
	  "Age of the time up to which all events are in order.", "watermark_lag_ns", SECONDS,
	  MEMBER, false },
	{ "xvtrace_recorder_trace_bytes_total", "Bytes of the trace so far.", "bytes", COUNT,
	  MEMBER, true },
	{ "xvtrace_recorder_unwritten_bytes", "Bytes of the trace not yet in the file for good.",
	  "unwritten_bytes", COUNT, MEMBER, false },
	{ "xvtrace_recorder_disk_wait_seconds_total", "Time for which the disk was waited for.",
	  "disk_waited_ns", SECONDS, MEMBER, true },
	{ "xvtrace_recorder_disk_full", "1: there is no space for more of the trace.", "disk_full",
	  FLAG, MEMBER, false },
	{ "xvtrace_recorder_memory_limit_bytes", "The limit for records, record --memory.",
	  "memory_limit_bytes", COUNT, MEMBER, false },
	{ "xvtrace_recorder_flight_kept", "Machines that are to be kept armed.", "flight_kept",
	  COUNT, MEMBER, false },
	{ "xvtrace_recorder_flight_armed", "Of them, those whose rings all are armed.",
	  "flight_armed", COUNT, MEMBER, false },
	{ "xvtrace_recorder_loose_events_total", "Events whose order is left to readers.",
	  "loose_events", COUNT, MEMBER, true },
};

static const struct family machine_families[] = {
	{ "xvtrace_machine_up", "1: its rings are recorded; 0: it is waited for, or is gone.", NULL,
	  FLAG, MEMBER, false },
	{ "xvtrace_machine_attempted_events_total", "Events that writers began.", "attempted",
	  COUNT, ALL_RINGS, true },
	{ "xvtrace_machine_events_total", "Events in the trace.", "events", COUNT, ALL_RINGS,
	  true },
	{ "xvtrace_machine_lost_events_total", "Events that were lost, of all causes.", "lost",
	  COUNT, ALL_RINGS, true },
	{ "xvtrace_machine_discarded_events_total", "Events that their writers took back.",
	  "discarded", COUNT, ALL_RINGS, true },
	{ "xvtrace_machine_late_events_total", "Events that came too late for their place.", "late",
	  COUNT, ALL_RINGS, true },
	{ "xvtrace_machine_lag_seconds",
	  "For how long a ring has not proven that no older event will come.", "lag_ns", SECONDS,
	  WORST_RING, false },
	{ "xvtrace_machine_clock_bound_seconds", "Greatest error bound of the rings' times.",
	  "bound_ns_max", SECONDS, WORST_CLOCK, false },
	{ "xvtrace_machine_ring_size_bytes", "Size of all its rings.", "size_bytes", COUNT,
	  ALL_RINGS, false },
	{ "xvtrace_machine_undrained_bytes", "Bytes in its rings that are not drained yet.",
	  "undrained_bytes", COUNT, ALL_RINGS, false },
	{ "xvtrace_machine_memory_bytes", "Memory of its records.", "memory_bytes", COUNT, MEMBER,
	  false },
	{ "xvtrace_machine_memory_limit_bytes", "The most memory that it may have.",
	  "memory_limit_bytes", COUNT, MEMBER, false },
	{ "xvtrace_machine_stopped", "1: it stands still, as its VMM reports.", "stopped", FLAG,
	  MEMBER, false },
	{ "xvtrace_machine_paused_seconds_total", "Sum of its pauses.", "paused_ns", SECONDS,
	  MEMBER, true },
	{ "xvtrace_machine_barred", "1: no other machine waits for it.", "barred", FLAG, MEMBER,
	  false },
	{ "xvtrace_machine_bars_total", "How often it was barred.", "bars", COUNT, MEMBER, true },
	{ "xvtrace_machine_notes_left_out_total", "Notes about it that were not written.",
	  "notes_left_out", COUNT, MEMBER, true },
};

#define COUNT_OF(array)	  (sizeof(array) / sizeof((array)[0]))
#define RECORDER_FAMILIES COUNT_OF(recorder_families)
#define MACHINE_FAMILIES  COUNT_OF(machine_families)
/* info, those of recorders, those of machines */
#define FAMILIES	  (1 + RECORDER_FAMILIES + MACHINE_FAMILIES)

struct machine {
	char *name;
	bool has[MACHINE_FAMILIES]; /* false: no sample */
	uint64_t v[MACHINE_FAMILIES];
};

struct recorder {
	uint64_t pid;
	char *path;
	char *mode;
	uint64_t v[RECORDER_FAMILIES];
	struct machine *machines;
	size_t n, room;
};

struct xvt_metrics {
	struct recorder *recorders;
	size_t n, room;
};

static void put_head(struct xvt_out *o, const struct family *f)
{
	xvt_out_printf(o, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name,
		       f->counter ? "counter" : "gauge");
}

/* The value of a label, in quotes. Characters that are unsafe on a terminal are escaped as text. */
static void put_label(struct xvt_out *o, const char *name, const char *value)
{
	char safe[4096];
	const char *p;

	xvt_text_clean(safe, sizeof(safe), value, strlen(value));
	xvt_out_printf(o, "%s=\"", name);
	for (p = safe; *p; p++) {
		if (*p == '\\' || *p == '"')
			xvt_out_char(o, '\\');
		xvt_out_char(o, *p);
	}
	xvt_out_char(o, '"');
}

static void put_value(struct xvt_out *o, enum unit unit, uint64_t v)
{
	if (unit == SECONDS)
		xvt_out_printf(o, " %" PRIu64 ".%09" PRIu64 "\n", v / SECOND_NS, v % SECOND_NS);
	else
		xvt_out_printf(o, " %" PRIu64 "\n", v);
}

/* ------------------------------------------------------------------ from the lines of answers */

static uint64_t member(const struct xvt_json_value *of, const struct family *f)
{
	return f->unit == FLAG ? xvt_answer_true(of, f->key) : xvt_answer_number(of, f->key);
}

static int add_recorder(struct xvt_metrics *m, const struct xvt_json_value *line)
{
	const char *output = xvt_answer_text(line, "output"), *cwd = xvt_answer_text(line, "cwd");
	struct recorder *r;
	char path[4096];
	size_t i;

	if (xvt_grow(&m->recorders, &m->room, m->n + 1, sizeof(*m->recorders)))
		return -ENOMEM;
	if (output[0] == '/')
		cwd = "";
	snprintf(path, sizeof(path), "%s%s%s", cwd, *cwd ? "/" : "", output);
	r = &m->recorders[m->n++];
	*r = (struct recorder){ .pid = xvt_answer_number(line, "pid"),
				.path = strdup(path),
				.mode = strdup(xvt_answer_text(line, "mode")) };
	for (i = 0; i < RECORDER_FAMILIES; i++) {
		const struct family *f = &recorder_families[i];

		r->v[i] = f->key ? member(line, f)
				 : xvt_answer_number(line, "now_ns") -
					   xvt_answer_number(line, "started_ns");
	}
	return r->path && r->mode ? 0 : -ENOMEM;
}

static int add_machine(struct recorder *r, const struct xvt_json_value *line)
{
	struct machine *vm;
	size_t i;

	if (xvt_grow(&r->machines, &r->room, r->n + 1, sizeof(*r->machines)))
		return -ENOMEM;
	vm = &r->machines[r->n++];
	*vm = (struct machine){ .name = strdup(xvt_answer_text(line, "name")) };
	for (i = 0; i < MACHINE_FAMILIES; i++) {
		const struct family *f = &machine_families[i];

		vm->has[i] = f->from != WORST_CLOCK;
		if (!f->key)
			vm->v[i] = strcmp(xvt_answer_text(line, "phase"), "attached") == 0;
		else if (f->from == MEMBER)
			vm->v[i] = member(line, f);
	}
	return vm->name ? 0 : -ENOMEM;
}

/* Add a ring to a value of its machine. */
static void add_ring(struct machine *vm, size_t i, const struct xvt_json_value *ring)
{
	const struct family *f = &machine_families[i];
	const struct xvt_json_value *of = ring;
	uint64_t n;

	if (f->from == WORST_CLOCK) {
		of = xvt_json_get(ring, "clock");
		if (strcmp(xvt_answer_text(of, "source"), "none") == 0 ||
		    member(of, f) >= INT64_MAX)
			return;
		vm->has[i] = true;
	}
	n = member(of, f);
	if (f->from == ALL_RINGS)
		vm->v[i] += n;
	else if (n > vm->v[i])
		vm->v[i] = n;
}

static void add_rings(struct machine *vm, const struct xvt_json_value *rings)
{
	size_t i, k;

	for (k = 0; k < xvt_json_count(rings); k++) {
		for (i = 0; i < MACHINE_FAMILIES; i++) {
			if (machine_families[i].from != MEMBER)
				add_ring(vm, i, xvt_json_at(rings, k));
		}
	}
}

struct xvt_metrics *xvt_metrics_new(void)
{
	return calloc(1, sizeof(struct xvt_metrics));
}

int xvt_metrics_add(struct xvt_metrics *m, const struct xvt_json_value *line)
{
	struct recorder *r;
	int err = 0;

	if (xvt_json_get(line, "pid"))
		return add_recorder(m, line);
	if (!m->n)
		return -EBADMSG;
	r = &m->recorders[m->n - 1];
	if (xvt_json_get(line, "name"))
		err = add_machine(r, line);
	if (!err && r->n)
		add_rings(&r->machines[r->n - 1], xvt_json_get(line, "rings"));
	return err;
}

void xvt_metrics_free(struct xvt_metrics *m)
{
	while (m && m->n) {
		struct recorder *r = &m->recorders[--m->n];

		while (r->n)
			free(r->machines[--r->n].name);
		free(r->machines);
		free(r->path);
		free(r->mode);
	}
	if (m)
		free(m->recorders);
	free(m);
}

/* ------------------------------------------------------------------ to text */

static void put_recorder(struct xvt_out *o, const struct recorder *r, size_t family)
{
	const struct family *f = &recorder_families[family];

	xvt_out_printf(o, "%s{recorder=\"%" PRIu64 "\"}", f->name, r->pid);
	put_value(o, f->unit, r->v[family]);
}

static void put_info(struct xvt_out *o, const struct recorder *r)
{
	xvt_out_printf(o, "xvtrace_recorder_info{recorder=\"%" PRIu64 "\",", r->pid);
	put_label(o, "output", r->path);
	xvt_out_char(o, ',');
	put_label(o, "mode", r->mode);
	xvt_out_str(o, "} 1\n");
}

static void put_machine(struct xvt_out *o, const struct recorder *r, const struct machine *vm,
			size_t family)
{
	const struct family *f = &machine_families[family];

	if (!vm->has[family])
		return;
	xvt_out_printf(o, "%s{recorder=\"%" PRIu64 "\",", f->name, r->pid);
	put_label(o, "machine", vm->name);
	xvt_out_char(o, '}');
	put_value(o, f->unit, vm->v[family]);
}

static void put_recorders(const struct xvt_metrics *m, size_t family, struct xvt_out *o)
{
	size_t i;

	if (family)
		put_head(o, &recorder_families[family - 1]);
	else
		xvt_out_str(o, "# HELP xvtrace_recorder_info A recorder: its trace and its mode.\n"
			       "# TYPE xvtrace_recorder_info gauge\n");
	for (i = 0; i < m->n; i++) {
		if (family)
			put_recorder(o, &m->recorders[i], family - 1);
		else
			put_info(o, &m->recorders[i]);
	}
}

/* Machines `first` and up to PIECE more of all recorders. Returns true if there are more. */
static bool put_machines(const struct xvt_metrics *m, size_t family, size_t first,
			 struct xvt_out *o)
{
	size_t i, k, n = 0;

	if (!first)
		put_head(o, &machine_families[family]);
	for (i = 0; i < m->n; i++) {
		const struct recorder *r = &m->recorders[i];

		for (k = 0; k < r->n; k++, n++) {
			if (n >= first + PIECE)
				return true;
			if (n >= first)
				put_machine(o, r, &r->machines[k], family);
		}
	}
	return false;
}

bool xvt_metrics_piece(const struct xvt_metrics *m, struct xvt_metrics_at *at, struct xvt_out *o)
{
	const size_t of_recorders = 1 + RECORDER_FAMILIES;

	if (at->family >= FAMILIES)
		return false;
	if (at->family < of_recorders) {
		put_recorders(m, at->family++, o);
	} else if (put_machines(m, at->family - of_recorders, at->machine, o)) {
		at->machine += PIECE;
	} else {
		at->family++;
		at->machine = 0;
	}
	return true;
}

int xvt_metrics_write(const struct xvt_answers *all, struct xvt_out *o)
{
	struct xvt_metrics *m = xvt_metrics_new();
	struct xvt_metrics_at at = { 0 };
	int err = m ? 0 : -ENOMEM;
	size_t i, k;

	for (i = 0; i < all->n; i++) {
		for (k = 0; !err && k < all->v[i].n; k++)
			err = xvt_metrics_add(m, all->v[i].lines[k]);
	}
	while (!err && xvt_metrics_piece(m, &at, o))
		;
	xvt_metrics_free(m);
	return err ? err : o->err;
}
