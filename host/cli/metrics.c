// SPDX-License-Identifier: GPL-2.0
/*
 * metrics.c - see metrics.h. Each family of metrics is a row of a table: the format wants all
 * samples of a family in one block. There is no metric of a ring, because a host may have 65,536 of
 * them.
 */
#include "cli/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

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
		xvt_out_printf(o, " %" PRIu64 ".%09" PRIu64 "\n", v / 1000000000u, v % 1000000000u);
	else
		xvt_out_printf(o, " %" PRIu64 "\n", v);
}

static uint64_t member(const struct xvt_json_value *of, const struct family *f)
{
	return f->unit == FLAG ? xvt_answer_true(of, f->key) : xvt_answer_number(of, f->key);
}

static void put_recorder(struct xvt_out *o, const struct xvt_json_value *rec,
			 const struct family *f)
{
	xvt_out_printf(o, "%s{recorder=\"%" PRIu64 "\"}", f->name, xvt_answer_number(rec, "pid"));
	put_value(o, f->unit,
		  f->key ? member(rec, f)
			 : xvt_answer_number(rec, "now_ns") - xvt_answer_number(rec, "started_ns"));
}

static void put_info(struct xvt_out *o, const struct xvt_json_value *rec)
{
	const char *output = xvt_answer_text(rec, "output"), *cwd = xvt_answer_text(rec, "cwd");
	char path[4096];

	if (output[0] == '/')
		cwd = "";
	snprintf(path, sizeof(path), "%s%s%s", cwd, *cwd ? "/" : "", output);
	xvt_out_printf(o, "xvtrace_recorder_info{recorder=\"%" PRIu64 "\",",
		       xvt_answer_number(rec, "pid"));
	put_label(o, "output", path);
	xvt_out_char(o, ',');
	put_label(o, "mode", xvt_answer_text(rec, "mode"));
	xvt_out_str(o, "} 1\n");
}

/* Adds a ring to the machine's value. Returns false for a ring without it. */
static bool add_ring(const struct family *f, const struct xvt_json_value *ring, uint64_t *v)
{
	const struct xvt_json_value *of = ring;
	uint64_t n;

	if (f->from == WORST_CLOCK) {
		of = xvt_json_get(ring, "clock");
		if (strcmp(xvt_answer_text(of, "source"), "none") == 0)
			return false;
	}
	n = member(of, f);
	if (f->from == ALL_RINGS)
		*v += n;
	else if (n > *v)
		*v = n;
	return true;
}

/* The value of a machine, whose lines are first to end - 1. Returns false if it has none. */
static bool machine_value(const struct family *f, const struct xvt_answer *a, size_t first,
			  size_t end, uint64_t *v)
{
	bool found = f->from != WORST_CLOCK;
	size_t i, k;

	*v = 0;
	if (!f->key)
		*v = strcmp(xvt_answer_text(a->lines[first], "phase"), "attached") == 0;
	else if (f->from == MEMBER)
		*v = member(a->lines[first], f);
	for (i = first; f->from != MEMBER && i < end; i++) {
		const struct xvt_json_value *rings = xvt_json_get(a->lines[i], "rings");

		for (k = 0; k < xvt_json_count(rings); k++)
			found |= add_ring(f, xvt_json_at(rings, k), v);
	}
	return found;
}

static void put_machines(struct xvt_out *o, const struct xvt_answer *a, const struct family *f)
{
	size_t first, end;
	uint64_t v;

	for (first = 1; first < a->n; first = end) {
		end = xvt_answer_vm_end(a, first);
		if (!machine_value(f, a, first, end, &v))
			continue;
		xvt_out_printf(o, "%s{recorder=\"%" PRIu64 "\",", f->name,
			       xvt_answer_number(a->lines[0], "pid"));
		put_label(o, "machine", xvt_answer_text(a->lines[first], "name"));
		xvt_out_char(o, '}');
		put_value(o, f->unit, v);
	}
}

int xvt_metrics_write(const struct xvt_answers *all, struct xvt_out *o)
{
	size_t f, i;

	xvt_out_str(o, "# HELP xvtrace_recorder_info A recorder: its trace and its mode.\n"
		       "# TYPE xvtrace_recorder_info gauge\n");
	for (i = 0; i < all->n; i++)
		put_info(o, all->v[i].lines[0]);
	for (f = 0; f < COUNT_OF(recorder_families); f++) {
		put_head(o, &recorder_families[f]);
		for (i = 0; i < all->n; i++)
			put_recorder(o, all->v[i].lines[0], &recorder_families[f]);
	}
	for (f = 0; f < COUNT_OF(machine_families); f++) {
		put_head(o, &machine_families[f]);
		for (i = 0; i < all->n; i++)
			put_machines(o, &all->v[i], &machine_families[f]);
	}
	return o->err;
}
