// SPDX-License-Identifier: GPL-2.0
/*
 * scan.c - one look at all machines: who has something to do, and copies of it.
 *
 * Most rings of many are at rest: nothing was written since the last look, everything before is
 * out, no question is open. What such a ring looks like is kept in one small place (struct
 * xvt_rest), next to those of its machine's others, and a look that finds it unchanged is three
 * loads. That is also all that a proof of idleness takes, so its bound goes on. Everybody else is
 * awake: drained, decoded, looked after. All that changes a ring's lot wakes it.
 */
#include "session/parts.h"

#include <stdlib.h>

/* Most that one machine may hand over in a pass, so that it cannot starve the others. */
#define VM_PASS_BYTES (16u << 20)
#define VM_CUT_BYTES  (4u << 20) /* and of a snapshot in a turn of its copying */
/* Whoever is at rest is looked after once in this time all the same: what the guest may have done
 * to the host's words, counters of events that left no record, a file that shrank. */
#define TURN_NS	      5000000000ull
#define AHEAD	      8u /* rings that are fetched before they are looked at */

/* ------------------------------------------------------------------ at rest */

int xvt_session_rest_room(struct xvt_session *s, struct xvt_vm *vm)
{
	size_t n = vm->region.g.ring_count, all = s->nr_rings + n;
	struct xvt_ring **awake = realloc(s->awake, all * sizeof(*awake));
	uint8_t *stirred = realloc(s->stirred, all);

	s->awake = awake ? awake : s->awake;
	s->stirred = stirred ? stirred : s->stirred;
	vm->rest = calloc(n, sizeof(*vm->rest));
	if (!awake || !stirred || !vm->rest)
		return -ENOMEM;
	memset(stirred + s->nr_rings, XVT_STIRRED, n);
	return 0;
}

/* What was proven while it was not looked at. */
static void materialize(const struct xvt_session *s, struct xvt_ring *r)
{
	if (!s->rest_clock || (int64_t)(s->rest_clock - r->look_clock) <= 0)
		return;
	r->look_clock = r->idle_clock = r->passed_clock = s->rest_clock;
}

void xvt_session_wake(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_vm *vm = s->vms[r->vm];

	if (!vm->rest || !vm->rest[r->index].ctl)
		return;
	vm->rest[r->index].ctl = NULL;
	materialize(s, r);
}

void xvt_session_wake_vm(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i;

	/* Those that are awake stay so in this pass. */
	vm->woken = true;
	for (i = 0; vm->rest && i < vm->region.g.ring_count; i++) {
		if (vm->rings[i]) /* there was memory for all */
			xvt_session_wake(s, vm->rings[i]);
	}
}

/* All of it is out, nobody waits for it, nothing is known that would change its lot with time. */
static bool can_rest(const struct xvt_ring *r)
{
	if (r->have || r->first || xvt_ring_ready(r) || r->asked || r->orphaned || r->still ||
	    r->went_back || r->witness_new || r->stashed || r->fault_new || !r->idle ||
	    !r->next_burst_clock || r->read_pos != r->last.commit ||
	    r->generation != r->last.generation ||
	    (int64_t)(r->last_node_clock - r->idle_clock) > 0)
		return false;
	switch (r->phase) {
	case XVT_PHASE_LIVE:
		return r->answered && r->map.count && !r->quiet && !r->wide && !r->map.closed &&
		       r->last.state == XVT_RING_ONLINE;
	case XVT_PHASE_NEW:
	case XVT_PHASE_DONE: /* they hold nobody back */
		return r->last.state != XVT_RING_ONLINE;
	default:
		return false;
	}
}

static void lie_down(struct xvt_rest *rest, const struct xvt_ring *r)
{
	const struct xvt_clock_node *node = xvt_clock_map_last(&r->map);

	*rest = (struct xvt_rest){
		.ctl = r->ctl,
		.resv = r->last.resv_word,
		.commit = r->last.commit,
		.generation = r->last.generation,
		.state = r->last.state,
		.floor_ns = UINT64_MAX,
	};
	if (r->phase != XVT_PHASE_LIVE)
		return;
	rest->floor_ns = r->proven_node_ns > r->last_ns ? r->proven_node_ns : r->last_ns;
	rest->node_ns = node->host_ns;
	rest->slack_ns = r->map.slack_ns;
}

void xvt_session_rest(struct xvt_session *s)
{
	size_t i;

	if (!s->joined || s->opt.cut || s->off_clock || s->ending)
		return;
	for (i = 0; i < s->nr_awake; i++) {
		struct xvt_ring *r = s->awake[i];
		struct xvt_vm *vm = s->vms[r->vm];

		if (vm->looked && !vm->woken && can_rest(r))
			lie_down(&vm->rest[r->index], r);
	}
}

/* In the order that a proof needs: nest, then resv, then commit (ring/drain.c). */
static bool unchanged(const struct xvt_rest *rest)
{
	const struct xvt_ring_ctl *ctl = rest->ctl;

	return xvt_load_acquire(&ctl->nest) == 0 && xvt_load_acquire(&ctl->resv) == rest->resv &&
	       xvt_load_acquire(&ctl->commit) == rest->commit &&
	       xvt_load(&ctl->generation) == rest->generation &&
	       xvt_load(&ctl->state) == rest->state;
}

/* As xvt_ring_proven() says of a ring of which nothing waits. */
static void hold_back(struct xvt_session *s, const struct xvt_rest *rest)
{
	uint64_t passed = s->rest_proof_ns, bound;

	if (rest->floor_ns == UINT64_MAX)
		return;
	bound = xvt_ring_past(rest->floor_ns, passed,
			      xvt_ring_margin_ns(passed, rest->node_ns, rest->slack_ns,
						 xvt_session_free_wait_ns(s)));
	if (bound < s->rest_ns)
		s->rest_ns = bound;
}

/* ------------------------------------------------------------------ one machine */

/* All of the machine's memory, or pages of it, have become what they were before. */
static void vm_went_back(struct xvt_session *s, struct xvt_vm *vm, bool all)
{
	bool back = false, any = all;
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		struct xvt_ring *r = vm->rings[i];

		any |= r->went_back;
		if (all || r->went_back)
			back |= xvt_drain_resync(r);
	}
	if (!any)
		return;
	xvt_session_note(s, back, vm, UINT32_MAX,
			 back ? "its memory went back to an earlier state"
			      : "the host's words in its memory went back");
	xvt_vm_tell_attached(s, vm);
}

bool xvt_session_takes_part(const struct xvt_session *s, const struct xvt_ring *r)
{
	return !s->opt.cut || r->cut.on;
}

/* Small turns, see ring/drain.c; but one sub-buffer must fit. */
static uint64_t cut_turn(const struct xvt_vm *vm)
{
	uint64_t least = 4ull * vm->region.g.subbuf_size;

	return least > VM_CUT_BYTES ? least : VM_CUT_BYTES;
}

/* Look at one ring: what is new is copied, or nothing has happened. */
static void look(struct xvt_session *s, struct xvt_vm *vm, uint32_t i)
{
	struct xvt_ring *r = vm->rings[i];
	struct xvt_rest *rest = &vm->rest[i];

	if (rest->ctl && unchanged(rest)) {
		if (!vm->stall.barred)
			hold_back(s, rest);
		return;
	}
	xvt_session_wake(s, r);
	if (!xvt_session_takes_part(s, r))
		return;
	xvt_drain_look(r, s->loop, s->drain_proof);
	r->looked_at = s->drains;
}

/* Whoever comes next is fetched while this one is looked at. */
static void fetch_ahead(const struct xvt_vm *vm, uint32_t i)
{
	const struct xvt_ring_ctl *ctl = i < vm->region.g.ring_count ? vm->rest[i].ctl : NULL;

	if (!ctl)
		return;
	__builtin_prefetch(&ctl->state);
	__builtin_prefetch(&ctl->resv);
	__builtin_prefetch(&ctl->commit);
}

/* Are its contents those that we know? Then its rings are looked at. */
static void vm_begin(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_host_page *page = xvt_host_region_page(&vm->region);
	const bool back = vm->nonce && xvt_load(&page->nonce) != vm->nonce;
	uint32_t i;

	/* A VMM restores page by page, and the words come before what they point at. It has done
	 * so when the machine runs again, and says that. */
	vm->looked = !(back && xvt_vm_stopped(vm));
	vm->woken = false;
	if (vm->unseen == vm->looked) {
		vm->unseen = !vm->looked;
		for (i = 0; i < vm->region.g.ring_count; i++)
			vm->rings[i]->unseen = vm->unseen;
	}
	if (back)
		xvt_session_wake_vm(s, vm);
	if (!vm->looked)
		return;
	vm_went_back(s, vm, back);
	vm->nonce += xvt_clock_read() | 1;
	xvt_store(&page->nonce, vm->nonce);
	/* The budget of a pass is the machine's; with another ring first each time, each gets
	 * its part of it. */
	xvt_pool_turn(&vm->pool, s->opt.cut ? cut_turn(vm) : VM_PASS_BYTES);
	vm->first_ring = (vm->first_ring + 1) % vm->region.g.ring_count;
}

static void vm_look(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i, n = vm->region.g.ring_count;

	for (i = vm->first_ring; i < n; i++) {
		fetch_ahead(vm, i + AHEAD);
		look(s, vm, i);
	}
	for (i = 0; i < vm->first_ring; i++) {
		fetch_ahead(vm, i + AHEAD);
		look(s, vm, i);
	}
}

/* The copies are there. At once, while the guest's memory that is to be cleared is in the cache. */
static void vm_take(const struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_host_page *page = xvt_host_region_page(&vm->region);
	const bool rolled_back = xvt_load(&page->nonce) != vm->nonce;
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		/* Who is at rest, or takes no part, or is woken only from here on: nothing. */
		if (!vm->rest[i].ctl && vm->rings[i]->looked_at == s->drains)
			xvt_drain_take(vm->rings[i], rolled_back);
	}
}

/* What has to be said of them. */
static void vm_end(struct xvt_session *s, struct xvt_vm *vm)
{
	size_t i;

	for (i = vm->first_awake; i < vm->first_awake + vm->nr_awake; i++) {
		struct xvt_ring *r = s->awake[i];

		if (!xvt_session_takes_part(s, r) || r->looked_at != s->drains)
			continue;
		/* Its writer was gone before we came, or came and went between two looks. What
		 * older traces account for is nothing of this one. */
		if (!r->announced &&
		    (r->last.commit != r->skip_until || r->last.attempted != r->base_attempted))
			xvt_ring_announce(s, r);
	}
	if (xvt_host_region_gone(&vm->region))
		xvt_vm_gone(s, vm, "the region's file was truncated");
}

/* Its rings that are awake, behind those of the machines before it. */
static void list_awake(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i, n = vm->rings && vm->rest ? vm->region.g.ring_count : 0;

	vm->first_awake = s->nr_awake;
	for (i = 0; i < n; i++) {
		if (!vm->rest[i].ctl && vm->rings[i]) {
			s->awake[s->nr_awake++] = vm->rings[i];
			s->stirred[vm->rings[i]->id] |= XVT_STIRRED;
		}
	}
	vm->nr_awake = s->nr_awake - vm->first_awake;
}

/* A proof is by a clock value that is old enough; 0: none in this pass. */
static uint64_t proof_of(struct xvt_session *s, uint64_t now)
{
	uint64_t proof = s->proof_candidate;

	if (proof && since(now, proof) < ticks(s, XVT_PROOF_DELTA_NS))
		return 0;
	s->proof_candidate = now;
	return proof;
}

/* Some of those at rest, so that each has its turn. */
static void wake_some(struct xvt_session *s, uint64_t now)
{
	uint64_t each = ticks(s, TURN_NS) / (s->nr_rings ? s->nr_rings : 1) + 1;
	size_t n = since(now, s->turn_clock) / each;

	if (n > s->nr_rings) /* we were away, or begin */
		s->turn_clock = now - each * s->nr_rings;
	for (n = n < s->nr_rings ? n : s->nr_rings; n; n--) {
		s->next_turn = s->next_turn < s->nr_rings ? s->next_turn : 0;
		xvt_session_wake(s, s->rings[s->next_turn++]);
		s->turn_clock += each;
	}
}

/* ------------------------------------------------------------------ all of them */

static bool is_there(const struct xvt_vm *vm)
{
	return vm->phase == XVT_VM_ATTACHED && vm->looked;
}

static void drain_all(struct xvt_session *s)
{
	size_t i;

	s->rest_ns = UINT64_MAX;
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (is_there(vm)) {
			vm_look(s, vm);
			vm_take(s, vm);
		}
		xvt_session_meet(s);
	}
}

void xvt_session_drain(struct xvt_session *s, uint64_t now)
{
	size_t i;

	s->drains++;
	s->drain_proof = proof_of(s, now);
	wake_some(s, now);
	s->rest_proof_ns =
		xvt_host_clock_ns(&s->clock, s->drain_proof ? s->drain_proof : s->rest_clock);
	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->phase == XVT_VM_ATTACHED)
			vm_begin(s, s->vms[i]);
		xvt_session_meet(s);
	}
	drain_all(s);
	if (s->drain_proof)
		s->rest_clock = s->drain_proof;
	s->nr_awake = 0;
	for (i = 0; i < s->nr_vms; i++)
		list_awake(s, s->vms[i]);
	for (i = 0; i < s->nr_vms; i++) {
		if (is_there(s->vms[i]))
			vm_end(s, s->vms[i]);
		xvt_session_meet(s);
	}
}
