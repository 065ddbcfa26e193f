// SPDX-License-Identifier: GPL-2.0
/*
 * losses.c - what each ring lost, why and when: by its LOST records, which lie where the events
 * would, and by the counters of its writer, which must say the same.
 */
#include "analyze/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char of_part[] = "a part of the trace was read: the counters are of all of it";
static const char not_ended[] = "the trace is damaged or was not ended: its counters are older";
static const char not_equal[] = "attempted is not delivered, discarded, lost and in flight";
static const char at_least[] = "its kernel does not count what it overwrote: lost is at least this";
static const char not_recorded[] = "the LOST records and the counters differ";

const char *xvt_loss_help(unsigned int cause, bool host)
{
	static const char *const helps[XVTRACE_CAUSES_MAX] = {
		[XVTRACE_LOST_FULL] = "its rings ran full: a larger region, or fewer events",
		[XVTRACE_LOST_WRAP] =
			"its rings were too small for an unfinished event: a larger region",
		[XVTRACE_LOST_BIG] = ("events were longer than a sub-buffer: a larger region "
				      "(subbuf_size of the module)"),
		[XVTRACE_LOST_NEST] = "interrupts nested too deeply",
		[XVTRACE_LOST_RETRY] = "interrupts disturbed too often",
		[XVTRACE_LOST_OVERWRITTEN] =
			"its rings were overwritten before they were read: a larger region",
		[XVTRACE_LOST_DROPPED] = "there was no space for them: a larger --max-size or disk",
	};

	if (host && cause == XVTRACE_LOST_OVERWRITTEN)
		return "the kernel overwrote them before they were read: a larger --host-buffer";
	return cause < XVTRACE_CAUSES_MAX && helps[cause] ? helps[cause] : "";
}

int losses_begin(struct xvt_analyze *a)
{
	const unsigned int rings = a->info->rings;

	a->loss_count = (size_t)rings + a->info->machines;
	a->losses = calloc(a->loss_count + 1, sizeof(*a->losses));
	if (!a->losses)
		return -ENOMEM;
	for (unsigned int i = 0; i < rings; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(a->trace, i);

		if (!ring || ring->machine->number >= a->info->machines ||
		    (a->options.wants && !a->options.wants(a->options.arg, ring)))
			continue;
		a->losses[i].ring = ring;
		a->losses[i].machine = ring->machine;
		a->losses[rings + ring->machine->number].machine = ring->machine;
	}
	for (size_t i = 0; i < a->loss_count; i++)
		a->losses[i].holes.rough = a->options.rough;
	return 0;
}

/* -- the pass -------------------------------------------------------------------------- */

static void add_cause(struct xvt_loss_cause *c, uint64_t n, uint64_t ns)
{
	if (!c->n)
		c->first_ns = ns;
	c->last_ns = ns;
	if (n > c->most) {
		c->most = n;
		c->most_at_ns = ns;
	}
	c->n += n;
}

/* Of the ring and of its machine. */
static int add_loss(struct xvt_analyze *a, struct xvt_losses *ring, const struct xvtrace_event *ev)
{
	struct xvt_losses *machine = &a->losses[a->info->rings + ring->machine->number];
	const uint64_t begin_ns = ring->last_ns;
	int err;

	for (unsigned int i = 0; i < XVTRACE_CAUSES_MAX && xvtrace_cause_name(i); i++) {
		const struct xvtrace_field *f =
			xvtrace_field_named(ev->type, xvtrace_cause_name(i));
		struct xvtrace_value v = { 0 };

		if (f)
			xvtrace_value(ev, f, &v);
		if (!v.u)
			continue;
		add_cause(&ring->by[i], v.u, ev->ns);
		add_cause(&machine->by[i], v.u, ev->ns);
	}
	if (!ev->lost)
		return 0;
	if (!begin_ns) {
		ring->holes_open++;
		machine->holes_open++;
		return 0;
	}
	err = xvt_figure_add(&ring->holes, ev->ns - begin_ns, begin_ns, ring->ring->number,
			     ev->bound_ns);
	return err ? err
		   : xvt_figure_add(&machine->holes, ev->ns - begin_ns, begin_ns,
				    ring->ring->number, ev->bound_ns);
}

int losses_event(struct xvt_analyze *a, const struct xvtrace_event *ev)
{
	struct xvt_losses *l;
	int err = 0;

	if (ev->kind != XVTRACE_EVENT && ev->kind != XVTRACE_LOST)
		return 0;
	l = &a->losses[ev->ring->number];
	if (!l->ring)
		return 0;
	if (ev->kind == XVTRACE_LOST)
		err = add_loss(a, l, ev);
	if (!l->first_ns)
		l->first_ns = ev->ns;
	l->last_ns = ev->ns;
	return err;
}

/* -- conclusions ----------------------------------------------------------------------- */

static bool is_sum(const struct xvtrace_counts *c)
{
	return c->attempted == c->events + c->discarded + c->lost + c->in_flight;
}

/* Events that are damaged in the file have no LOST record. */
static bool is_recorded(const struct xvt_losses *l)
{
	for (unsigned int i = 0; i < XVTRACE_CAUSES_MAX; i++) {
		const uint64_t said = l->counts.lost_by[i], n = l->by[i].n;
		const uint64_t doubt =
			i == XVTRACE_LOST_OVERWRITTEN ? l->counts.overwritten_doubt : 0;

		if (i != XVTRACE_LOST_DAMAGED && (n < said || n - said > doubt))
			return false;
	}
	return true;
}

static void judge(const struct xvt_analyze *a, struct xvt_losses *l)
{
	if (!a->options.whole)
		l->why = of_part;
	else if (!a->info->ended || xvtrace_damage_count(a->trace))
		l->why = not_ended;
	else if (l->machine->ftrace && l->counts.lost_by[XVTRACE_LOST_OVERWRITTEN])
		l->why = at_least;
	else if (!is_sum(&l->counts))
		l->why = not_equal;
	else if (!is_recorded(l))
		l->why = not_recorded;
	l->verdict = l->why ? XVT_UNTOLD : XVT_PROVEN;
}

static void add_counts(struct xvtrace_counts *to, const struct xvtrace_counts *c)
{
	to->attempted += c->attempted;
	to->events += c->events;
	to->discarded += c->discarded;
	to->lost += c->lost;
	to->in_flight += c->in_flight;
	to->overwritten_doubt += c->overwritten_doubt;
	for (unsigned int i = 0; i < XVTRACE_CAUSES_MAX; i++)
		to->lost_by[i] += c->lost_by[i];
}

static uint64_t lost_of(const struct xvt_losses *l)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < XVTRACE_CAUSES_MAX; i++)
		n += l->by[i].n;
	return n > l->counts.lost ? n : l->counts.lost;
}

static int compare(const void *a, const void *b)
{
	const struct xvt_losses *l = a, *r = b;

	if (l->machine != r->machine)
		return l->machine->number < r->machine->number ? -1 : 1;
	if (!l->ring != !r->ring)
		return l->ring ? 1 : -1;
	if (lost_of(l) != lost_of(r))
		return lost_of(l) > lost_of(r) ? -1 : 1;
	return l->ring->number < r->ring->number ? -1 : 1;
}

int losses_end(struct xvt_analyze *a)
{
	size_t n = 0;

	for (unsigned int i = 0; i < a->info->rings; i++) {
		struct xvt_losses *l = &a->losses[i], *m;
		const struct xvtrace_counts *c;

		if (!l->ring)
			continue;
		c = a->options.whole ? xvtrace_reader_counts(a->reader, i) : NULL;
		if (a->options.whole && !c)
			return -ENOMEM;
		if (c)
			l->counts = *c;
		l->span_ns = l->last_ns - l->first_ns;
		judge(a, l);
		m = &a->losses[a->info->rings + l->machine->number];
		add_counts(&m->counts, &l->counts);
		m->span_ns += l->span_ns;
		if (!m->why)
			m->why = l->why;
		m->verdict = m->why ? XVT_UNTOLD : XVT_PROVEN;
	}
	for (size_t i = 0; i < a->loss_count; i++) {
		if (a->losses[i].machine)
			a->losses[n++] = a->losses[i];
		else
			xvt_figure_fini(&a->losses[i].holes);
	}
	a->loss_count = n;
	if (n)
		qsort(a->losses, n, sizeof(*a->losses), compare);
	return 0;
}

size_t xvt_analyze_losses(const struct xvt_analyze *a, const struct xvt_losses **losses)
{
	*losses = a->losses;
	return a->losses ? a->loss_count : 0;
}

void losses_fini(struct xvt_analyze *a)
{
	for (size_t i = 0; a->losses && i < a->loss_count; i++)
		xvt_figure_fini(&a->losses[i].holes);
	free(a->losses);
}
