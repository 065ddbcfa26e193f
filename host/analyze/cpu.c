// SPDX-License-Identifier: GPL-2.0
/* cpu.c - where the time of each vCPU went: on a CPU of the host, taken from it while its guest
 * wanted to run and by whom, and not needed. */
#include "analyze/parts.h"

#include <errno.h>
#include <string.h>

/* A duration in the host's time, which is exact. */
static int add(struct xvt_analyze *a, const struct vcpu *v, const char *kind, const char *what,
	       const struct xvt_host_thread *thread, uint64_t begin_ns, uint64_t ns)
{
	struct line_key key = { v->ring->machine, kind, v->ring->number, "" };
	struct xvt_line **line;

	memcpy(key.text, &thread, sizeof(thread)); /* it says what */
	line = line_found(a, &key);
	if (!*line)
		*line = line_of(a, XVT_ANALYZE_CPU, kind, key.machine, v, thread, what);
	return *line ? xvt_figure_add(&(*line)->wall, ns, begin_ns, v->ring->number,
				      a->host.bound_ns)
		     : -ENOMEM;
}

/* The vCPU was taken from its guest: by each that had the CPU, and for what is left by that for
 * which its thread did not want one. */
static int add_causes(struct xvt_analyze *a, const struct vcpu *v, const struct interval *i,
		      uint64_t begin_ns)
{
	static const struct {
		const char *kind, *what;
	} rest[] = {
		[OFF_PREEMPTED] = { "asleep", "asleep in the VMM" },
		[OFF_ASLEEP] = { "asleep", "asleep in the VMM" },
		[OFF_BLOCKED] = { "blocked", "blocked in the host's kernel" },
		[OFF_STOPPED] = { "stopped", "stopped by a signal or a debugger" },
	};
	uint64_t left = i->end_ns - begin_ns;
	int err = 0;

	for (uint32_t k = i->count; k > 0 && !err && left; k--) {
		const struct occupant *o = &i->occupants[k - 1];
		const uint64_t ns = o->ns < left ? o->ns : left;

		err = add(a, v, "taken_by", a->host_threads.v[o->thread]->name,
			  a->host_threads.v[o->thread], begin_ns, ns);
		left -= ns;
	}
	if (err || !left)
		return err;
	return add(a, v, rest[i->off].kind, rest[i->off].what, NULL, begin_ns, left);
}

static int add_untold(struct xvt_analyze *a, const struct vcpu *v, const struct interval *i)
{
	struct xvt_line *line =
		line_of(a, XVT_ANALYZE_CPU, "taken", v->ring->machine, v, NULL, "taken");

	if (!line)
		return -ENOMEM;
	line->untold++;
	line->untold_ns += i->end_ns - i->begin_ns;
	return 0;
}

static int interval(struct xvt_analyze *a, struct vcpu *v, const struct interval *i)
{
	const struct wanting *w = &i->wanting;
	const uint64_t whole = i->end_ns - i->begin_ns, wanted = i->end_ns - w->begin_ns;
	int err;

	told_interval(a, v, i);
	if (!part_wants_interval(a, i))
		return 0;
	if (guest_was_paused(a, v, i->begin_ns, i->end_ns))
		return add(a, v, "paused", "paused by the VMM", NULL, i->begin_ns, whole);
	if (interval_is_untold(i))
		return add_untold(a, v, i);
	if (w->unknown)
		return add(a, v, "unknown", "off, the guest's state unknown", NULL, i->begin_ns,
			   whole);
	if (w->idle)
		return add(a, v, "idle", "off, the guest idle", NULL, i->begin_ns, whole);
	if (w->begin_ns > i->begin_ns) {
		err = add(a, v, "idle", "off, the guest idle", NULL, i->begin_ns, whole - wanted);
		if (err)
			return err;
	}
	err = add(a, v, "taken", "taken", NULL, w->begin_ns, wanted);
	return err ? err : add_causes(a, v, i, w->begin_ns);
}

static int running(struct xvt_analyze *a, struct vcpu *v, uint64_t begin_ns, uint64_t end_ns,
		   bool open)
{
	(void)a;
	(void)end_ns;
	(void)open;
	if (!v->on_begin_ns)
		v->on_begin_ns = begin_ns;
	return 0;
}

/* That is of all tasks. */
static int add_on_cpu(struct xvt_analyze *a, const struct vcpu *v)
{
	const char *what = v->shares ? "thread on a CPU (of all vCPUs)" : "on a CPU";
	struct xvt_line *line;

	if (told_any(v))
		return add(a, v, "on_cpu", what, NULL,
			   v->on_begin_ns ? v->on_begin_ns : a->first_ns, v->thread->on_ns);
	line = line_of(a, XVT_ANALYZE_CPU, "on_cpu", v->ring->machine, v, NULL, what);
	if (!line)
		return -ENOMEM;
	line->verdict = XVT_UNTOLD;
	return 0;
}

static int end_vcpu(struct xvt_analyze *a, struct vcpu *v)
{
	struct xvt_line *line =
		line_of(a, XVT_ANALYZE_CPU, "taken", v->ring->machine, v, NULL, "taken");
	int err = 0;

	if (!line)
		return -ENOMEM;
	line->shares = v->shares;
	if (!told_judge(a, v, line, 0))
		return 0;
	if (!a->options.wants_task)
		err = add_on_cpu(a, v);
	for (size_t i = 0; i < a->lines.count; i++) {
		struct xvt_line *l = a->lines.v[i];

		if (l->ring != v->ring || l->analysis != XVT_ANALYZE_CPU)
			continue;
		l->shares = v->shares;
		if (l->kind[0] == 'u' && a->guests[v->ring->machine->number].switches) {
			/* unknown: before the first of them, or behind a loss */
			l->verdict = XVT_UNTOLD;
		} else if (l->kind[0] == 'u') {
			line_lacks(a, l, NEEDS_SWITCHES);
		} else if (l->thread && l->thread->tid == -1) {
			line_lacks(a, l, NEEDS_HOST);
		}
	}
	return err;
}

static int end(struct xvt_analyze *a)
{
	int err = 0;

	for (size_t i = 0; i < a->vcpu_count && !err; i++)
		if (a->list[i]->wanted)
			err = end_vcpu(a, a->list[i]);
	return err;
}

const struct analysis analysis_cpu = {
	.bit = XVT_ANALYZE_CPU,
	.name = "cpu",
	.running = running,
	.interval = interval,
	.end = end,
};
