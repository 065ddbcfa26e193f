// SPDX-License-Identifier: GPL-2.0
/*
 * scan.c - scans all machines once per pass: finds the rings with work and copies their records.
 * The scan of a parked ring (park.c) whose words are unchanged costs three loads. These loads also
 * suffice for a proof of idleness, so the ring's bound advances.
 */
#include "session/parts.h"
#include "trace/note.h"

/* Most bytes from one machine in a pass, so that it cannot starve the others; and from all machines
 * of one user, while others are read (share.c). */
#define VM_PASS_BYTES (16u << 20)
#define VM_COPY_BYTES (4u << 20) /* the same for one copy pass of a snapshot */
/* Each parked ring is made active once in this time, to find what the compared words do not show:
 * host words changed by the guest, counters of events without a record, a truncated file. */
#define UNPARK_NS     5000000000ull
#define READS_AT_ONCE 128u /* submitted together by a drain by reads, if rings have so many */

/* ------------------------------------------------------------------ parked rings */

/* Loads in the order that a proof of idleness needs: nest, resv, commit (ring/drain.c). */
static bool unchanged(const struct xvt_parked *parked)
{
	const struct xvt_ring_ctl *ctl = parked->ctl;

	return xvt_load_acquire(&ctl->nest) == 0 && xvt_load_acquire(&ctl->resv) == parked->resv &&
	       xvt_load_acquire(&ctl->commit) == parked->commit &&
	       xvt_load(&ctl->generation) == parked->generation &&
	       xvt_load(&ctl->state) == parked->state;
}

/* Apply a parked ring's bound, as xvt_ring_proven() computes it for a ring without
 * waiting records. */
static void apply_parked_bound(struct xvt_session *s, const struct xvt_parked *parked)
{
	uint64_t passed = s->scan.parked_proof_ns, bound;

	if (parked->floor_ns == UINT64_MAX)
		return;
	bound = xvt_ring_past(parked->floor_ns, passed,
			      xvt_ring_margin_ns(passed, parked->node_ns, parked->slack_ns,
						 xvt_session_free_wait_ns(s)));
	if (bound < s->scan.parked_ns)
		s->scan.parked_ns = bound;
}

/* ------------------------------------------------------------------ one machine */

/* The machine's memory, or pages of it, were rolled back: resynchronise its rings. */
static void resync_vm(struct xvt_session *s, struct xvt_vm *vm, bool all)
{
	bool back = false, any = all;
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		struct xvt_ring *r = vm->rings[i];

		if (!r)
			continue;
		if (all && r->relayed)
			xvt_relayed_went_back(r);
		any |= r->drain.went_back;
		if (all || r->drain.went_back)
			back |= xvt_drain_resync(r);
	}
	if (!any)
		return;
	if (back)
		xvt_vm_revived(s, vm);
	xvt_session_note(s, back, vm, UINT32_MAX,
			 back ? XVT_NOTE_WENT_BACK : "the host's words in its memory went back");
	xvt_vm_tell_attached(s, vm);
}

/* The bytes that a pass may read of a machine. A sub-buffer must fit. A snapshot copies small
 * amounts, see ring/drain.c. */
static uint64_t turn_bytes(const struct xvt_session *s, const struct xvt_vm *vm)
{
	const uint64_t least = 4ull * vm->region.g.subbuf_size;

	if (!is_snapshot(s))
		return xvt_session_turn(s, vm, VM_PASS_BYTES, least);
	return least > VM_COPY_BYTES ? least : VM_COPY_BYTES;
}

/* Scan one ring: copy what is new, unless it is parked and unchanged. */
static void scan_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t i)
{
	struct xvt_ring *r = vm->rings[i];
	struct xvt_parked *parked = &vm->parked[i];

	if (parked->ctl && unchanged(parked)) {
		if (!vm->stall.barred)
			apply_parked_bound(s, parked);
		return;
	}
	/* A snapshot has the rings that were in use at its moment. */
	if (!r && !is_snapshot(s))
		r = xvt_vm_wake_ring(s, vm, i);
	if (!r)
		return;
	xvt_session_unpark(s, r);
	if (!xvt_session_takes_part(s, r))
		return;
	xvt_drain_look(r, s->loop,
		       r->guest.behind ? 0
		       : r->relayed    ? xvt_relayed_proof(s, r)
				       : s->scan.proof);
	r->session.looked_at = s->scan.drains;
}

/* Begin the scan of a machine: detect a rollback of its memory, and set vm->scan.looked if its
 * rings can be read. */
static void vm_begin(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_host_page *page = xvt_host_region_page(&vm->region);
	const bool back = vm->scan.nonce && xvt_load(&page->nonce) != vm->scan.nonce;
	uint32_t i;

	/* A VMM restores page by page, and the nonce may come before the pages of the rings. The
	 * restore is complete when the VMM, or the one that takes its place, reports that the
	 * machine runs again. */
	vm->scan.looked = !(back && (xvt_vm_is_paused(vm) || vm->vmm.ended));
	vm->scan.unparked = false;
	if (vm->scan.unseen == vm->scan.looked) {
		vm->scan.unseen = !vm->scan.looked;
		for (i = 0; i < vm->region.g.ring_count; i++) {
			if (vm->rings[i])
				vm->rings[i]->guest.unseen = vm->scan.unseen;
		}
	}
	if (back)
		xvt_session_unpark_vm(s, vm);
	if (!vm->scan.looked)
		return;
	resync_vm(s, vm, back);
	vm->scan.nonce += xvt_clock_read() | 1;
	xvt_store(&page->nonce, vm->scan.nonce);
	/* The budget of a pass belongs to the machine. With another ring first in each pass, each
	 * ring gets its share. */
	xvt_pool_turn(&vm->pool, turn_bytes(s, vm));
	vm->scan.first_ring = (vm->scan.first_ring + 1) % vm->region.g.ring_count;
}

static void vm_look(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i, n = vm->region.g.ring_count;

	for (i = vm->scan.first_ring; i < n; i++)
		scan_ring(s, vm, i);
	for (i = 0; i < vm->scan.first_ring; i++)
		scan_ring(s, vm, i);
}

/* Process the copies at once, while the guest's memory that is to be cleared is in the cache. */
static void vm_take(const struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_host_page *page = xvt_host_region_page(&vm->region);
	const bool rolled_back = xvt_load(&page->nonce) != vm->scan.nonce;
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		/* Skip rings that are parked, not processed, or unparked only after the scan. */
		if (!vm->parked[i].ctl && vm->rings[i]->session.looked_at == s->scan.drains)
			xvt_drain_take(vm->rings[i], rolled_back);
	}
}

/* Announce active rings that need it, and detect a truncated region or a lack of memory. */
static void vm_end(struct xvt_session *s, struct xvt_vm *vm)
{
	size_t i;

	for (i = vm->scan.first_active; i < vm->scan.first_active + vm->scan.nr_active; i++) {
		struct xvt_ring *r = s->scan.active[i];

		if (!xvt_session_takes_part(s, r) || r->session.looked_at != s->scan.drains)
			continue;
		/* Announce rings whose writer ended before the recording, or between two scans,
		 * without a clock. Events that older traces account for do not count. */
		if (!r->session.announced && (r->drain.last.commit != r->decode.skip_until ||
					      r->drain.last.attempted != r->account.base_attempted))
			xvt_ring_announce(s, r);
	}
	if (xvt_host_region_gone(&vm->region))
		xvt_vm_gone(s, vm, "the region's file was truncated");
	else if (vm->table.no_memory)
		xvt_vm_gone(s, vm, "no memory for a ring that came into use");
}

/* Append the machine's active rings to s->active. */
static void list_active(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i, n = vm->rings && vm->parked ? vm->region.g.ring_count : 0;

	vm->scan.first_active = s->scan.nr_active;
	for (i = 0; i < n; i++) {
		if (!vm->parked[i].ctl && vm->rings[i]) {
			s->scan.active[s->scan.nr_active++] = vm->rings[i];
			xvt_session_set_dirty(s, vm->rings[i]);
		}
	}
	vm->scan.nr_active = s->scan.nr_active - vm->scan.first_active;
}

/* Returns the clock value by which this pass may prove idleness, or 0: it must be old enough. */
static uint64_t proof_of(struct xvt_session *s, uint64_t now)
{
	uint64_t proof = s->scan.proof_candidate;

	if (proof && since(now, proof) < ticks(s, XVT_PROOF_DELTA_NS))
		return 0;
	s->scan.proof_candidate = now;
	return proof;
}

/* Unpark the parked rings whose periodic turn has come. */
static void unpark_some(struct xvt_session *s, uint64_t now)
{
	uint64_t each = ticks(s, UNPARK_NS) / (s->nr_rings ? s->nr_rings : 1) + 1;
	size_t n = since(now, s->scan.unpark_clock) / each;

	if (n > s->nr_rings) /* after an absence, or at the start */
		s->scan.unpark_clock = now - each * s->nr_rings;
	for (n = n < s->nr_rings ? n : s->nr_rings; n; n--) {
		s->scan.next_unpark = s->scan.next_unpark < s->nr_rings ? s->scan.next_unpark : 0;
		xvt_session_unpark(s, s->rings[s->scan.next_unpark++]);
		s->scan.unpark_clock += each;
	}
}

/* ------------------------------------------------------------------ all machines */

static bool can_be_read(const struct xvt_vm *vm)
{
	return vm->phase == XVT_VM_ATTACHED && vm->scan.looked;
}

/* Waits for the reads of machines [from, to), and processes what they brought. */
static int take_read(struct xvt_session *s, size_t from, size_t to)
{
	int err = 0;
	size_t i;
	uint32_t k;

	for (i = from; i < to; i++) {
		struct xvt_vm *vm = s->vms[i];

		for (k = 0; can_be_read(vm) && k < vm->region.g.ring_count; k++) {
			int failed = vm->rings[k] ? xvt_drain_wait(vm->rings[k], s->loop) : 0;

			err = failed ? failed : err;
		}
	}
	for (i = from; !err && i < to; i++) {
		if (can_be_read(s->vms[i]))
			vm_take(s, s->vms[i]);
	}
	return err;
}

static unsigned int reads_of(const struct xvt_vm *vm)
{
	unsigned int reads = 0;
	uint32_t k;

	for (k = 0; k < vm->region.g.ring_count; k++)
		reads += vm->rings[k] ? vm->rings[k]->drain.reads : 0;
	return reads;
}

/*
 * With --drain io_uring: the reads of many rings, of as many machines, are submitted together. No
 * clock is serviced between a look and its end, because that may advance cons.
 */
static void drain_by_reads(struct xvt_session *s)
{
	unsigned int reads = 0;
	size_t from = 0, i;

	for (i = 0; i < s->nr_vms && !s->scan.err; i++) {
		if (can_be_read(s->vms[i])) {
			vm_look(s, s->vms[i]);
			reads += reads_of(s->vms[i]);
		}
		if (reads < READS_AT_ONCE && i + 1 < s->nr_vms)
			continue;
		s->scan.err = take_read(s, from, i + 1);
		from = i + 1;
		reads = 0;
		xvt_session_service_clocks(s);
	}
}

static void drain_all(struct xvt_session *s)
{
	size_t i;

	s->scan.parked_ns = UINT64_MAX;
	if (s->opt.drain_reads) {
		drain_by_reads(s);
		return;
	}
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (can_be_read(vm)) {
			vm_look(s, vm);
			vm_take(s, vm);
		}
		xvt_session_service_clocks(s);
	}
}

void xvt_session_drain(struct xvt_session *s, uint64_t now)
{
	size_t i;

	if (s->scan.err)
		return;
	s->scan.drains++;
	s->scan.proof = proof_of(s, now);
	unpark_some(s, now);
	xvt_session_share_pass(s);
	s->scan.parked_proof_ns =
		xvt_host_clock_ns(&s->clock, s->scan.proof ? s->scan.proof : s->scan.parked_clock);
	for (i = 0; i < s->nr_vms; i++) {
		if (xvt_vm_is_read(s->vms[i]))
			vm_begin(s, s->vms[i]);
		xvt_session_service_clocks(s);
	}
	/* After the begin of the pass, of which a later pass makes a proof. */
	xvt_session_host_feed(s);
	xvt_session_passive_feed(s);
	xvt_session_relayed_feed(s);
	drain_all(s);
	if (s->scan.proof)
		s->scan.parked_clock = s->scan.proof;
	s->scan.nr_active = 0;
	for (i = 0; i < s->nr_vms; i++)
		list_active(s, s->vms[i]);
	for (i = 0; i < s->nr_vms; i++) {
		if (can_be_read(s->vms[i]))
			vm_end(s, s->vms[i]);
		xvt_session_service_clocks(s);
	}
}
