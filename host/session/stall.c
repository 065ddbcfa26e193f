// SPDX-License-Identifier: GPL-2.0
/*
 * stall.c - limits how long a machine may hold the others back.
 *
 * A record is emitted when no ring can deliver an older one. A ring that is never proven idle, owes
 * an answer, or has a record without a time keeps the others waiting until it is set aside
 * (phase.c), after the stall time-out; and it may return. A guest can repeat that with one ring
 * after the other. Each machine therefore has one budget for all of its rings: most of the stall
 * time-out once, and a small part of the time from then on. A machine that has used it up is
 * barred: it is recorded as before, but no other machine waits for it, so its events may be late.
 * Each bar lasts twice as long as the one before. Only time without a fault shortens the next one;
 * nothing that the guest writes does.
 */
#include "session/parts.h"
#include "base/u64.h"

#include <inttypes.h>

#define MARGIN_PART   4 /* of the stall time-out: see xvt_session_free_wait_ns() */
#define FREE_PART     2 /* of the stall time-out: a wait that is not charged */
/* A machine's budget, as a part of the stall time-out. With the uncharged wait, it is a little more
 * than the time-out. */
#define BUDGET_NUM    5
#define BUDGET_DEN    8
#define REFILL_PART   32	       /* of the time without a fault is refunded */
#define BAR_DOUBLINGS 6		       /* of the stall time-out, at most */
#define GOOD_NS	      (60 * SECOND_NS) /* without a fault: one bar is forgiven */
#define AWAY_NS	      (SECOND_NS / 5) /* longest gap between two passes that is charged to guests */
#define STEP_NS	      (SECOND_NS / 10) /* most that one pass charges */

uint64_t xvt_session_free_wait_ns(const struct xvt_session *s)
{
	return s->opt.stall_timeout_ns / MARGIN_PART;
}

/*
 * The wait that is not charged: half of the time-out, because an honest guest takes most of a
 * second to answer where many guests share few CPUs. Longer where measurements are seldom for all
 * machines.
 */
static uint64_t free_wait_ns(const struct xvt_session *s)
{
	uint64_t wait = s->opt.stall_timeout_ns / FREE_PART, pace = xvt_session_least_pace_ns(s);

	return wait > 2 * pace ? wait : 2 * pace;
}

static uint64_t budget_ns(const struct xvt_session *s)
{
	return s->opt.stall_timeout_ns / BUDGET_DEN * BUDGET_NUM;
}

/*
 * Time for which the ring has held the others back, in ns; 0: it does not. The time is counted from
 * what the merge has emitted, not from when this ring went live: otherwise rings that hold in turns
 * would each begin with an uncharged wait. A ring that goes live while another one holds is charged
 * with the other ring's time only until it has a proof of its own, which takes an honest ring
 * milliseconds.
 */
static uint64_t hold_ns(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now_ns)
{
	uint64_t passed;

	/* Before all machines have joined nothing is decoded, so the bound says nothing. */
	if (!s->passes.joined || xvt_ring_ready(r) || (r->head.have && r->head.placed) ||
	    xvt_ring_bound(r) == UINT64_MAX)
		return 0;
	passed = xvt_u64_larger(xvt_ring_proven(r), s->merge.watermark);
	/* A record waits for its clock since it was copied, not since its own time. */
	if (r->head.have)
		passed = xvt_u64_larger(passed, r->drain.first->ceiling_ns);
	return now_ns > passed ? now_ns - passed : 0;
}

void xvt_session_stall_attach(const struct xvt_session *s, struct xvt_vm *vm)
{
	vm->stall.left_ns = budget_ns(s);
	vm->stall.good_clock = xvt_clock_read();
}

static void set_barred(struct xvt_vm *vm, bool barred)
{
	uint32_t i;

	vm->stall.barred = barred;
	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (vm->rings[i])
			vm->rings[i]->guest.barred = barred;
	}
}

static void bar(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	struct xvt_vm_stall *st = &vm->stall;
	const uint64_t ns = s->opt.stall_timeout_ns
			    << (st->bars < BAR_DOUBLINGS ? st->bars : BAR_DOUBLINGS);

	st->bars++;
	st->total_bars++;
	st->until_clock = now + ticks(s, ns);
	set_barred(vm, true);
	xvt_session_note(s, 1, vm, UINT32_MAX,
			 "it has held the other machines back too often; for %" PRIu64
			 " ms they do not wait for it, so its events may be late",
			 ns / 1000000);
}

static void lift(const struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	const uint64_t now_ns = xvt_host_clock_ns(&s->clock, now);
	uint32_t i;

	set_barred(vm, false);
	for (i = 0; i < vm->region.g.ring_count; i++) {
		struct xvt_ring *r = vm->rings[i];

		if (r)
			r->session.live_ns = xvt_u64_larger(r->session.live_ns, now_ns);
	}
	vm->stall.good_clock = now;
}

/* *holds: a ring holds the others back for longer than the uncharged wait. *aside: a ring is set
 * aside. */
static void look_at_rings(const struct xvt_session *s, const struct xvt_vm *vm, uint64_t now_ns,
			  bool *holds, bool *aside)
{
	const uint64_t free_ns = free_wait_ns(s);
	size_t i;

	*holds = *aside = false;
	for (i = vm->scan.first_active; i < vm->scan.first_active + vm->scan.nr_active; i++) {
		*aside |= s->scan.active[i]->phase == XVT_PHASE_ASIDE;
		*holds |= hold_ns(s, s->scan.active[i], now_ns) > free_ns;
	}
}

static void charge(struct xvt_session *s, struct xvt_vm *vm, uint64_t now, uint64_t ns)
{
	struct xvt_vm_stall *st = &vm->stall;
	bool holds, aside;

	look_at_rings(s, vm, xvt_host_clock_ns(&s->clock, now), &holds, &aside);
	if (holds || aside)
		st->good_clock = now;
	if (holds) {
		st->left_ns -= ns < st->left_ns ? ns : st->left_ns;
		if (!st->left_ns)
			bar(s, vm, now);
		return;
	}
	if (aside)
		return;
	st->left_ns += ns / REFILL_PART;
	if (st->left_ns > budget_ns(s))
		st->left_ns = budget_ns(s);
	if (st->bars && since(now, st->good_clock) > ticks(s, GOOD_NS)) {
		st->bars--;
		st->good_clock = now;
	}
}

/* The recorder was absent, or waited for the disk: guests are judged only after their clocks are
 * measured again. The grace lasts half of the absence, so that no guest can prolong it. */
static void excuse(struct xvt_session *s, uint64_t now, uint64_t away)
{
	const uint64_t most = ticks(s, free_wait_ns(s));

	s->budgets.away += away;
	s->budgets.grace = now + (s->budgets.away / 2 < most ? s->budgets.away / 2 : most);
}

void xvt_session_stall(struct xvt_session *s, uint64_t now, bool held)
{
	const uint64_t gap = since(now, s->budgets.charged_clock);
	uint64_t ns;
	size_t i;

	s->budgets.charged_clock = now;
	if (is_snapshot(s) || !s->passes.joined)
		return;
	if (held || gap > ticks(s, AWAY_NS)) {
		excuse(s, now, gap);
		return;
	}
	s->budgets.away = 0;
	if (earlier(now, s->budgets.grace))
		return;
	ns = xvt_ticks_ns(gap, s->clock.hz);
	ns = ns < STEP_NS ? ns : STEP_NS;
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (vm->phase != XVT_VM_ATTACHED || !vm->scan.looked || xvt_vm_is_paused(vm))
			continue;
		if (!vm->stall.barred)
			charge(s, vm, now, ns);
		else if (!earlier(now, vm->stall.until_clock))
			lift(s, vm, now);
	}
}
