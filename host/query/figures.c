// SPDX-License-Identifier: GPL-2.0
/* figures.c - the figures of `xvtrace analyze`, a table for each analysis, under the names that its
 * JSON has for them. */
#include "query/parts.h"

#include "analyze/analyze.h"

#define FIGURE_COLUMNS(before)                                                       \
	INTEGER_COLUMN(before "n"), INTEGER_COLUMN(before "sum_ns"),                 \
		INTEGER_COLUMN(before "min_ns"), INTEGER_COLUMN(before "p50_ns"),    \
		INTEGER_COLUMN(before "p99_ns"), INTEGER_COLUMN(before "p99_9_ns"),  \
		INTEGER_COLUMN(before "max_ns"), INTEGER_COLUMN(before "max_at_ns"), \
		INTEGER_COLUMN(before "max_cpu"), INTEGER_COLUMN(before "exact")
#define FIGURE_NULLS 9u /* without `n`, which is 0 then */

static void add_nulls(struct memory *m, unsigned int n)
{
	while (n--)
		memory_null(m);
}

static void add_figure(struct catalog *c, struct memory *m, struct xvt_figure *f)
{
	const struct xvtrace_ring *ring = xvtrace_ring(c->trace, f->max_ring);

	memory_uint(m, f->n);
	if (!f->n) {
		add_nulls(m, FIGURE_NULLS);
		return;
	}
	memory_uint(m, f->sum_ns);
	memory_uint(m, f->min_ns);
	memory_uint(m, xvt_figure_quantile(f, 500));
	memory_uint(m, xvt_figure_quantile(f, 990));
	memory_uint(m, xvt_figure_quantile(f, 999));
	memory_uint(m, f->max_ns);
	memory_uint(m, f->max_at_ns);
	if (ring)
		memory_int(m, ring->cpu);
	else
		memory_null(m);
	memory_int(m, xvt_figure_is_exact(f));
}

static void add_place(struct memory *m, const struct xvtrace_machine *machine,
		      const struct xvtrace_ring *ring)
{
	memory_str(m, machine->name);
	if (ring)
		memory_int(m, ring->cpu);
	else
		memory_null(m);
}

/* -- lines ------------------------------------------------------------------------------ */

static const struct column line_columns[] = {
	TEXT_COLUMN("vm"),
	INTEGER_COLUMN("cpu"),
	INTEGER_COLUMN("shared_thread"),
	TEXT_COLUMN("kind"),
	TEXT_COLUMN("what"),
	INTEGER_COLUMN("tid"),
	INTEGER_COLUMN("recorder"),
	TEXT_COLUMN("to_vm"),
	FIGURE_COLUMNS(""),
	INTEGER_COLUMN("bound_ns_median"),
	INTEGER_COLUMN("bound_ns_max"),
	INTEGER_COLUMN("unbounded"),
	FIGURE_COLUMNS("own_least_"),
	FIGURE_COLUMNS("own_most_"),
	INTEGER_COLUMN("own_unknown"),
	INTEGER_COLUMN("untold"),
	INTEGER_COLUMN("untold_ns"),
	INTEGER_COLUMN("no_end"),
	INTEGER_COLUMN("no_begin"),
	INTEGER_COLUMN("repeated"),
	TEXT_COLUMN("verdict"),
	TEXT_COLUMN("needs"),
};

static void add_wall(struct catalog *c, struct memory *m, struct xvt_figure *f)
{
	add_figure(c, m, f);
	if (!f->n) {
		add_nulls(m, 3);
		return;
	}
	memory_uint(m, f->bounds ? xvt_figure_bound_median(f) : UINT64_MAX);
	memory_uint(m, f->bounds ? f->bound_most_ns : UINT64_MAX);
	memory_uint(m, f->unbounded);
}

static void add_own(struct catalog *c, struct memory *m, struct xvt_line *l)
{
	if (!xvt_line_has_own(l)) {
		add_nulls(m, 2 * (1 + FIGURE_NULLS) + 1);
		return;
	}
	add_figure(c, m, l->shares ? &(struct xvt_figure){ 0 } : &l->own_least);
	add_figure(c, m, &l->own_most);
	memory_uint(m, l->own_unknown);
}

static void add_line(struct catalog *c, struct memory *m, struct xvt_line *l)
{
	add_place(m, l->machine, l->ring);
	memory_int(m, l->shares);
	memory_str(m, l->kind);
	memory_str(m, l->what);
	if (l->thread) {
		memory_int(m, l->thread->tid);
		memory_int(m, l->thread->recorder);
	} else {
		add_nulls(m, 2);
	}
	memory_str(m, l->to ? l->to->name : NULL);
	add_wall(c, m, &l->wall);
	add_own(c, m, l);
	memory_uint(m, l->untold);
	memory_uint(m, l->untold_ns);
	if (xvt_line_has_pairs(l)) {
		memory_uint(m, l->no_end);
		memory_uint(m, l->no_begin);
		memory_uint(m, l->repeated);
	} else {
		add_nulls(m, 3);
	}
	memory_str(m, xvt_verdict_name(l->verdict));
	memory_str(m, l->needs);
}

static int make_lines(struct catalog *c, struct memory *m, enum xvt_analysis analysis)
{
	const struct xvt_analyze_options o = { .analyses = analysis };
	struct pass p = { .catalog = c, .memory = m };
	struct xvt_line *const *lines;
	int err = pass_run(&p, &o);
	size_t n = err ? 0 : xvt_analyze_lines(p.analyze, &lines);

	for (size_t i = 0; i < n && !memory_error(m); i++)
		add_line(c, m, lines[i]);
	pass_end(&p);
	return err;
}

static int make_cpu(struct catalog *c, struct memory *m)
{
	return make_lines(c, m, XVT_ANALYZE_CPU);
}

static int make_stalls(struct catalog *c, struct memory *m)
{
	return make_lines(c, m, XVT_ANALYZE_STALLS);
}

static int make_sched(struct catalog *c, struct memory *m)
{
	return make_lines(c, m, XVT_ANALYZE_SCHED);
}

static int make_irq(struct catalog *c, struct memory *m)
{
	return make_lines(c, m, XVT_ANALYZE_IRQ);
}

static int make_timer(struct catalog *c, struct memory *m)
{
	return make_lines(c, m, XVT_ANALYZE_TIMER);
}

static int make_latency(struct catalog *c, struct memory *m)
{
	return make_lines(c, m, XVT_ANALYZE_LATENCY);
}

/* -- losses ----------------------------------------------------------------------------- */

static const struct column losses_columns[] = {
	TEXT_COLUMN("vm"),	     INTEGER_COLUMN("cpu"),	  INTEGER_COLUMN("attempted"),
	INTEGER_COLUMN("delivered"), INTEGER_COLUMN("discarded"), INTEGER_COLUMN("lost"),
	INTEGER_COLUMN("in_flight"), FIGURE_COLUMNS("holes_"),	  INTEGER_COLUMN("holes_open"),
	INTEGER_COLUMN("span_ns"),   TEXT_COLUMN("verdict"),	  TEXT_COLUMN("why"),
};

static const struct column cause_columns[] = {
	TEXT_COLUMN("vm"),	   INTEGER_COLUMN("cpu"),  TEXT_COLUMN("cause"),
	INTEGER_COLUMN("counted"), INTEGER_COLUMN("n"),	   INTEGER_COLUMN("first_ns"),
	INTEGER_COLUMN("last_ns"), INTEGER_COLUMN("most"), INTEGER_COLUMN("most_at_ns"),
	TEXT_COLUMN("helps"),
};

static void add_losses(struct catalog *c, struct memory *m, const struct xvt_losses *l)
{
	struct xvt_figure holes = l->holes;

	add_place(m, l->machine, l->ring);
	if (c->options.whole) {
		memory_uint(m, l->counts.attempted);
		memory_uint(m, l->counts.events);
		memory_uint(m, l->counts.discarded);
		memory_uint(m, l->counts.lost);
		memory_uint(m, l->counts.in_flight);
	} else {
		add_nulls(m, 5);
	}
	add_figure(c, m, &holes);
	memory_uint(m, l->holes_open);
	memory_uint(m, l->span_ns);
	memory_str(m, xvt_verdict_name(l->verdict));
	memory_str(m, l->why);
}

static void add_causes(struct catalog *c, struct memory *m, const struct xvt_losses *l)
{
	for (unsigned int i = 0; i < XVTRACE_CAUSES_MAX; i++) {
		const struct xvt_loss_cause *cause = &l->by[i];
		const char *helps = xvt_loss_help(i, l->machine->host);

		if (!cause->n && !l->counts.lost_by[i])
			continue;
		add_place(m, l->machine, l->ring);
		memory_str(m, xvtrace_cause_name(i));
		memory_uint(m, c->options.whole ? l->counts.lost_by[i] : UINT64_MAX);
		memory_uint(m, cause->n);
		memory_uint(m, cause->first_ns);
		memory_uint(m, cause->last_ns);
		memory_uint(m, cause->most);
		memory_uint(m, cause->most_at_ns);
		memory_str(m, helps[0] ? helps : NULL);
	}
}

static int make_each_loss(struct catalog *c, struct memory *m,
			  void (*add)(struct catalog *c, struct memory *m,
				      const struct xvt_losses *l))
{
	const struct xvt_analyze_options o = { .analyses = XVT_ANALYZE_LOSSES,
					       .whole = c->options.whole };
	struct pass p = { .catalog = c, .memory = m, .counts = c->options.whole };
	const struct xvt_losses *losses;
	int err = pass_run(&p, &o);
	size_t n = err ? 0 : xvt_analyze_losses(p.analyze, &losses);

	for (size_t i = 0; i < n && !memory_error(m); i++)
		add(c, m, &losses[i]);
	pass_end(&p);
	return err;
}

static int make_losses(struct catalog *c, struct memory *m)
{
	return make_each_loss(c, m, add_losses);
}

static int make_causes(struct catalog *c, struct memory *m)
{
	return make_each_loss(c, m, add_causes);
}

const struct facts facts_of_figures[] = {
	FACTS("analyze_cpu", line_columns, 100, make_cpu),
	FACTS("analyze_stalls", line_columns, 10, make_stalls),
	FACTS("analyze_sched", line_columns, 1000, make_sched),
	FACTS("analyze_irq", line_columns, 100, make_irq),
	FACTS("analyze_timer", line_columns, 100, make_timer),
	FACTS("analyze_latency", line_columns, 100, make_latency),
	FACTS("analyze_losses", losses_columns, 16, make_losses),
	FACTS("analyze_loss_causes", cause_columns, 16, make_causes),
	{ .name = NULL },
};
