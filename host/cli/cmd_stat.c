// SPDX-License-Identifier: GPL-2.0
/* cmd_stat.c - `xvtrace stat`: counts of a trace, for each machine and ring. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "base/json.h"
#include "base/log.h"
#include "select/beside.h"
#include "cli/cmd.h"
#include "select/select.h"
#include "select/threads.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "rights/confine.h"

struct stat {
	struct xvtrace *trace;
	const struct xvtrace_info *info;
	struct xvtrace_stat *stat;
	bool reclocked; /* the bounds of machines are those of the new times */
};

static bool ring_of(const struct stat *s, unsigned int ring, unsigned int machine)
{
	const struct xvtrace_ring *r = xvtrace_ring(s->trace, ring);

	return r && r->machine->number == machine;
}

/* Whether what was lost is not counted of a machine. */
static bool has_least(const struct stat *s)
{
	bool least = false;

	for (unsigned int i = 0; i < s->info->machines; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(s->trace, i);

		least |= m && m->ftrace;
	}
	return least;
}

/* -- JSON --------------------------------------------------------------------------- */

static void json_flags(struct xvt_json *j, const struct xvtrace_counts *c)
{
	xvt_json_add_u64(j, "discarded", c->discarded);
	xvt_json_add_u64(j, "late", c->late);
	xvt_json_add_u64(j, "backlog", c->backlog);
	xvt_json_add_u64(j, "unconfirmed", c->unconfirmed);
	xvt_json_add_u64(j, "recovered", c->recovered);
	xvt_json_add_u64(j, "in_flight", c->in_flight);
	xvt_json_add_u64(j, "overwritten_doubt", c->overwritten_doubt);
}

/* least: what was lost of the machine is not counted by its guest. */
static void json_counts(struct xvt_json *j, const struct xvtrace_counts *c, bool least)
{
	xvt_json_add_u64(j, "attempted", c->attempted);
	xvt_json_add_u64(j, "events", c->events);
	xvt_json_add_u64(j, "lost", c->lost);
	xvt_json_add_bool(j, "lost_at_least", least);
}

static void json_clock(struct xvt_json *to, const struct xvtrace_ring_stat *r)
{
	struct xvt_json *clock = xvt_json_add_object(to, "clock"), *names;
	const char *name;

	xvt_json_add_text(clock, "source", r->source);
	xvt_json_add_u64(clock, "bound_ns_max", r->bound_ns_max);
	names = xvt_json_add_array(clock, "rejected");
	for (unsigned int i = 1; (name = xvtrace_source_name(i)); i++)
		if (r->rejected >> i & 1)
			xvt_json_add_text(names, NULL, name);
	xvt_json_add_u64(clock, "unconfirmed_bound_ns_max", r->unconfirmed_bound_ns_max);
}

static void json_ring(struct xvt_json *j, const struct stat *s, unsigned int ring)
{
	const struct xvtrace_ring_stat *r = xvtrace_stat_ring(s->stat, ring);
	const struct xvtrace_ring *info = xvtrace_ring(s->trace, ring);
	struct xvt_json *by;
	const char *name;

	xvt_json_add_u64(j, "cpu", info->cpu);
	xvt_json_add_text(j, "kind", info->thread ? "thread" : "vcpu");
	json_counts(j, &r->counts, info->machine->ftrace);
	by = xvt_json_add_object(j, "lost_by");
	for (unsigned int i = 0; (name = xvtrace_cause_name(i)); i++)
		xvt_json_add_u64(by, name, r->counts.lost_by[i]);
	json_flags(j, &r->counts);
	xvt_json_add_u64(j, "epochs", r->epochs);
	xvt_json_add_u64(j, "first_ns", r->counts.first_ns);
	xvt_json_add_u64(j, "last_ns", r->counts.last_ns);
	json_clock(j, r);
	xvt_json_add_u64(j, "clock_violations", r->clock_violations);
	xvt_json_add_u64(j, "bad_bytes", r->bad_bytes);
}

/* Of events that the trace has no names of: "cache", the cache has formats of the kernel that its
 * memory named; "stated", of the one that the user stated. */
static void json_names(struct xvt_json *j, const struct stat *s, const struct xvtrace_machine *m)
{
	struct xvtrace_names names;

	if (!xvtrace_names(s->trace, m->number, &names)) {
		xvt_json_add_null(j, "names_by");
		return;
	}
	xvt_json_add_text(j, "names_by", names.claimed ? "stated" : "cache");
	xvt_json_add_text(j, "names_build", names.build_id);
	xvt_json_add_text(j, "names_release", names.release);
}

/* Write one ring at a time, since a trace may have a million rings. */
static void put_machine_json(struct xvt_out *o, const struct stat *s,
			     const struct xvtrace_machine *m)
{
	const struct xvtrace_machine_stat *sum = xvtrace_stat_machine(s->stat, m->number);
	struct xvt_json *j = xvt_json_new();
	char uuid[XVT_UUID_TEXT];
	bool any = false;

	xvt_uuid_text(m->uuid, uuid);
	xvt_json_add_text(j, "name", m->name);
	xvt_json_add_text(j, "kind", m->host ? "host" : "guest");
	xvt_json_add_text(j, "uuid", uuid);
	xvt_json_add_u64(j, "paused_ns", sum->paused_ns);
	xvt_json_add_u64(j, "pauses", sum->pauses);
	xvt_json_add_u64(j, "ended_ns", sum->ended_ns);
	xvt_json_add_bool(j, "panicked", sum->panicked);
	xvt_json_add_u64(j, "nameless", sum->nameless);
	json_names(j, s, m);
	xvt_json_add_u64(j, "bound_ns_median", sum->bound_ns_median);
	xvt_json_add_u64(j, "bound_ns_max", sum->bound_ns_max);
	xvt_json_add_u64(j, "unbounded", sum->unbounded);
	json_counts(j, &sum->counts, m->ftrace);
	json_flags(j, &sum->counts);
	xvt_json_begin(j, o, "rings", true);
	for (unsigned int i = 0; i < s->info->rings && !o->err; i++) {
		if (!ring_of(s, i, m->number))
			continue;
		if (any)
			xvt_json_next(o);
		any = true;
		j = xvt_json_new();
		json_ring(j, s, i);
		xvt_json_item(j, o);
	}
	xvt_json_end(o);
}

static int print_json(const struct stat *s, struct xvt_out *o)
{
	const struct xvtrace_counts *all = &s->stat->counts;
	struct xvt_json *doc = xvt_json_new();
	bool any = false;

	xvt_json_add_text(doc, "format", "xvtrace-stat/1");
	json_counts(doc, all, has_least(s));
	json_flags(doc, all);
	xvt_json_add_u64(doc, "nameless", s->stat->nameless);
	xvt_json_add_u64(doc, "order_violations", s->stat->order_violations);
	xvt_json_add_u64(doc, "duration_ns", all->last_ns - all->first_ns);
	xvt_json_add_u64(doc, "timebase_error_ns_max", s->info->clock_error_ns_max);
	xvt_json_add_bool(doc, "cleanly_ended", s->info->ended);
	xvt_json_add_bool(doc, "reclocked", s->reclocked);
	xvt_json_add_u64(doc, "unordered_bytes", s->info->unordered);
	xvt_json_add_u64(doc, "damaged", xvtrace_damage_count(s->trace));
	xvt_json_begin(doc, o, "vms", false);
	for (unsigned int i = 0; i < s->info->machines && !o->err; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(s->trace, i);

		if (!m)
			continue;
		if (any)
			xvt_json_next(o);
		any = true;
		put_machine_json(o, s, m);
	}
	xvt_json_end(o);
	xvt_out_char(o, '\n');
	return o->err;
}

/* -- text --------------------------------------------------------------------------- */

static void put_cause(struct xvt_out *o, const char *name, uint64_t n, const char **before)
{
	if (!n)
		return;
	xvt_out_printf(o, "%s%s %llu", *before, name, (unsigned long long)n);
	*before = ", ";
}

/* The parts of a sum that are not zero: " (full 3, overwritten 12)" */
static void put_lost_by(struct xvt_out *o, const struct xvtrace_counts *c, bool least)
{
	const char *before = "  lost by: ", *name;

	for (unsigned int i = 0; (name = xvtrace_cause_name(i)); i++) {
		/* Some of them may be in an earlier file: "overwritten at most 12". */
		if (i == XVTRACE_LOST_OVERWRITTEN && c->overwritten_doubt)
			name = "overwritten at most";
		/* Events that a guest's kernel overwrote were not counted. */
		if (i == XVTRACE_LOST_OVERWRITTEN && least)
			name = "overwritten at least";
		put_cause(o, name, c->lost_by[i], &before);
	}
}

static void put_flags(struct xvt_out *o, const struct xvtrace_counts *c)
{
	const struct {
		const char *name;
		uint64_t v;
	} flags[] = {
		{ "discarded", c->discarded },	   { "backlog", c->backlog },
		{ "unconfirmed", c->unconfirmed }, { "recovered", c->recovered },
		{ "in flight", c->in_flight },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].v)
			xvt_out_printf(o, "  %s %llu", flags[i].name,
				       (unsigned long long)flags[i].v);
}

static void put_row(struct xvt_out *o, const char *name, const char *cpu,
		    const struct xvtrace_counts *c)
{
	xvt_out_printf(o, "%-16s %6s %12llu %12llu %10llu %8llu", name, cpu,
		       (unsigned long long)c->attempted, (unsigned long long)c->events,
		       (unsigned long long)c->lost, (unsigned long long)c->late);
}

static void put_clock(struct xvt_out *o, const struct xvtrace_ring_stat *r)
{
	const uint64_t guesses = r->counts.unconfirmed;
	uint64_t least_ns = r->bound_ns_max;

	if (!r->clocked) { /* no host time, so no bound */
		xvt_out_str(o, "  no clock");
		return;
	}
	xvt_out_printf(o, "  %s, %u epoch%s", r->source, r->epochs, r->epochs == 1 ? "" : "s");
	if (!strcmp(r->source, "seen"))
		xvt_out_str(o, ", no later than seen");
	/* The bound of the others says nothing where all are guesses. */
	if (!guesses || guesses < r->counts.events || r->bound_ns_max == XVTRACE_NO_BOUND) {
		xvt_out_str(o, ", ");
		xvt_out_within(o, r->bound_ns_max);
	} else {
		least_ns = 0;
	}
	if (guesses && r->unconfirmed_bound_ns_max > least_ns) {
		xvt_out_str(o, ", unconfirmed ");
		if (r->unconfirmed_bound_ns_max == XVTRACE_NO_BOUND)
			xvt_out_str(o, "without a bound");
		else
			xvt_out_within(o, r->unconfirmed_bound_ns_max);
	}
}

static void put_ring(struct xvt_out *o, const struct stat *s, unsigned int ring)
{
	const struct xvtrace_ring_stat *r = xvtrace_stat_ring(s->stat, ring);
	const struct xvtrace_ring *info = xvtrace_ring(s->trace, ring);
	char cpu[16];

	snprintf(cpu, sizeof(cpu), "%s%u", info->thread ? "t" : "", info->cpu);
	put_row(o, info->machine->name, cpu, &r->counts);
	put_clock(o, r);
	put_lost_by(o, &r->counts, info->machine->ftrace);
	put_flags(o, &r->counts);
	xvt_out_char(o, '\n');
}

/* How well the times of a machine's events are known. */
static void put_bound(struct xvt_out *o, const struct stat *s, const struct xvtrace_machine *m)
{
	const struct xvtrace_machine_stat *sum = xvtrace_stat_machine(s->stat, m->number);
	uint64_t bounded = sum->counts.events - sum->unbounded;

	if (!sum->counts.events)
		return;
	xvt_out_printf(o, "times of %s: ", m->name);
	if (bounded) {
		xvt_out_str(o, "half of them within ");
		xvt_out_bound(o, sum->bound_ns_median, " ");
		xvt_out_str(o, ", all within ");
		xvt_out_bound(o, sum->bound_ns_max, " ");
	}
	if (sum->unbounded)
		xvt_out_printf(o, "%s%llu without a bound", bounded ? "; " : "",
			       (unsigned long long)sum->unbounded);
	xvt_out_char(o, '\n');
}

/* "g1: paused 2.093 s (1), ended at 4137.808587074"; nothing for a machine that only ran. */
static void put_state(struct xvt_out *o, const struct stat *s, const struct xvtrace_machine *m)
{
	const struct xvtrace_machine_stat *sum = xvtrace_stat_machine(s->stat, m->number);
	const bool paused = sum->paused_ns || sum->pauses;

	if (!paused && !sum->ended_ns)
		return;
	xvt_out_printf(o, "%s: ", m->name);
	if (paused)
		xvt_out_printf(o, "paused %.3f s (%llu)", (double)sum->paused_ns / 1e9,
			       (unsigned long long)sum->pauses);
	if (sum->ended_ns) {
		xvt_out_printf(o, "%sended %sat ", paused ? ", " : "",
			       sum->panicked ? "(guest panicked) " : "");
		xvt_out_time(o, sum->ended_ns);
	}
	xvt_out_char(o, '\n');
}

/* The kernel that names the events of a machine which the trace has no names of. */
static void put_names(struct xvt_out *o, const struct stat *s, const struct xvtrace_machine *m)
{
	struct xvtrace_names names;

	if (xvtrace_names(s->trace, m->number, &names))
		xvt_out_printf(o, "%s: names of kernel %s, build %s, which %s\n", m->name,
			       names.release, names.build_id,
			       names.claimed ? "was stated by --formats; that is no proof"
					     : "its memory named");
}

static void put_nameless(struct xvt_out *o, const struct stat *s, const struct xvtrace_machine *m)
{
	const struct xvtrace_machine_stat *sum = xvtrace_stat_machine(s->stat, m->number);
	char text[XVT_NAMELESS_TEXT];

	if (sum->nameless)
		xvt_out_printf(o, "%s: %s\n", m->name,
			       xvt_nameless_text(text, sum->nameless, sum->counts.events,
						 xvt_nameless_why(s->trace, m)));
}

/* The lines below the table. */
static void put_machines(struct xvt_out *o, const struct stat *s)
{
	for (unsigned int i = 0; i < s->info->machines; i++)
		if (xvtrace_machine(s->trace, i))
			put_bound(o, s, xvtrace_machine(s->trace, i));
	for (unsigned int i = 0; i < s->info->machines; i++)
		if (xvtrace_machine(s->trace, i))
			put_state(o, s, xvtrace_machine(s->trace, i));
	for (unsigned int i = 0; i < s->info->machines; i++)
		if (xvtrace_machine(s->trace, i))
			put_nameless(o, s, xvtrace_machine(s->trace, i));
	for (unsigned int i = 0; i < s->info->machines; i++)
		if (xvtrace_machine(s->trace, i))
			put_names(o, s, xvtrace_machine(s->trace, i));
}

static int print_text(const struct stat *s, struct xvt_out *o)
{
	const struct xvtrace_counts *all = &s->stat->counts;
	const uint64_t *notes = s->stat->notes;
	char uuid[XVT_UUID_TEXT];

	xvt_uuid_text(s->info->uuid, uuid);
	if (s->info->traces > 1)
		xvt_out_printf(o, "%zu traces", s->info->traces);
	else
		xvt_out_printf(o, "trace %s", uuid);
	if (all->events) {
		xvt_out_str(o, ", ");
		xvt_out_duration(o, all->last_ns - all->first_ns);
		xvt_out_str(o, " from ");
		xvt_out_time(o, all->first_ns);
	}
	xvt_out_printf(o, "\n\n%-16s %6s %12s %12s %10s %8s  %s\n", "VM", "CPU", "attempted",
		       "events", "lost", "late", "clock");
	for (unsigned int vm = 0; vm < s->info->machines; vm++)
		for (unsigned int i = 0; i < s->info->rings; i++)
			if (ring_of(s, i, vm))
				put_ring(o, s, i);
	put_row(o, "all", "", all);
	put_lost_by(o, all, has_least(s));
	put_flags(o, all);
	xvt_out_str(o, "\n\n");
	put_machines(o, s);
	xvt_out_printf(o, "order violations: %llu\n",
		       (unsigned long long)s->stat->order_violations);
	if (s->info->clock_lines > 1) {
		xvt_out_str(o, "host clock: within ");
		xvt_out_bound(o, s->info->clock_error_ns_max, " ");
		xvt_out_printf(o, " of CLOCK_MONOTONIC, %zu lines\n", s->info->clock_lines);
	}
	if (notes[1] + notes[2])
		xvt_out_printf(o,
			       "notes of the recorder: %llu warnings, %llu errors "
			       "(xvtrace verify --notes shows them)\n",
			       (unsigned long long)notes[1], (unsigned long long)notes[2]);
	if (!s->info->ended)
		xvt_out_str(o,
			    "not cleanly ended: attempted, lost and in flight are at least this\n");
	return 0;
}

/* -- the command -------------------------------------------------------------------- */

struct stat_opts {
	bool json;
	bool quiet;
	bool reclock;
	bool no_reclock;
	struct xvt_opt_list formats;
	uint64_t threads;
};

static const struct xvt_opt stat_opts[] = {
	XVT_OPT(struct stat_opts, json, "json", 0, XVT_OPT_BOOL, NULL,
		"as JSON, format xvtrace-stat/1"),
	XVT_QUIET_OPT(struct stat_opts, quiet),
	XVT_RECLOCK_OPTS(struct stat_opts, reclock, no_reclock),
	XVT_FORMATS_OPT(struct stat_opts, formats),
	XVT_THREADS_OPT(struct stat_opts, threads),
	XVT_OPT_END,
};

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct xvt_out out;
	struct stat_opts opts = { 0 };
	struct stat s = { 0 };
	static struct xvt_beside beside;
	struct xvtrace_threads threads;
	struct xvt_workers *workers;
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL);
	const char *const *paths;
	size_t count;
	bool damaged;
	pid_t writer;
	int err;

	if (at < 0)
		return xvt_opt_exit_status(at);
	if (!xvt_standard_inputs(argc - at, argv + at))
		return XVT_EXIT_FAIL;
	count = xvt_trace_paths(cmd->name, argc - at, argv + at, &paths);
	if (!count)
		return XVT_EXIT_USAGE;
	if (opts.reclock && opts.no_reclock) {
		xvt_error("--no-reclock", "--reclock says the opposite; give one of them");
		return XVT_EXIT_USAGE;
	}
	workers = xvt_threads_start(&threads, opts.threads, paths, count);
	xvt_confine(false);
	xvt_beside_look(paths, count, &beside);
	writer = xvt_beside_writer_of(paths, count);
	if (xvt_open_several(&s.trace, paths, count, 0, &opts.formats, opts.quiet))
		return XVT_EXIT_FAIL;
	xvt_confine_opened();
	s.info = xvtrace_info(s.trace);
	s.reclocked = opts.reclock || (s.info->ended && !opts.no_reclock);
	err = xvtrace_stat_new_by(&s.stat, s.trace, s.reclocked ? XVTRACE_RECLOCK : 0, &threads);
	xvt_workers_end(workers);
	if (!err) {
		err = xvt_out_open(&out, "-");
		if (!err)
			err = opts.json ? print_json(&s, &out) : print_text(&s, &out);
		if (xvt_out_close(&out) && !err)
			err = out.err;
		if (err)
			xvt_error("standard output", "%s", strerror(-err));
	} else {
		xvt_error(s.info->path, "%s", strerror(-err));
	}
	damaged = xvt_say_damage(s.trace, writer, opts.quiet || err);
	if (!opts.quiet && !err)
		xvt_beside_say(&beside, cmd->name);
	xvtrace_stat_free(s.stat);
	xvtrace_close(s.trace);
	return err || damaged ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

const struct xvt_command xvt_cmd_stat = {
	.name = "stat",
	.args = "[FILE.xvt|DIR]...",
	.brief = "count what a trace holds, for each machine and ring",
	.opts = stat_opts,
	.run = run,
};
