// SPDX-License-Identifier: GPL-2.0
/*
 * snapshot.c - takes a snapshot: the contents of a flight recorder's rings up to one host time T,
 * the same for all of them. T is read when every machine has a clock, just after the counters of
 * all rings. Then the rings are copied, before any other work, because writers overwrite their
 * oldest end. An event belongs to the snapshot if its host time is not later than T. At T an event
 * may have been inside its writer, so passes go on until each ring is proven to have delivered all
 * events up to T.
 */
#include "session/parts.h"

#include <inttypes.h>

/* Returns true if every machine has a clock. Rings without a writer never get one. */
static bool clocks_are_there(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		uint32_t k;

		if (vm->phase == XVT_VM_WAITING)
			return false;
		for (k = 0; vm->phase == XVT_VM_ATTACHED && k < vm->region.g.ring_count; k++) {
			const struct xvt_ring_ctl *ctl = xvt_host_ring_ctl(&vm->region, k);
			const bool online = xvt_load(&ctl->state) == XVT_RING_ONLINE;
			const struct xvt_ring *r = vm->rings[k];

			if (!r && online)
				r = xvt_vm_wake_ring(s, vm, k);
			if (r && r->phase == XVT_PHASE_NEW && !xvt_vm_is_paused(vm) && online)
				return false;
		}
	}
	return true;
}

/* Returns any measured ring of the machine, or NULL. */
static const struct xvt_ring *measured(const struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (vm->rings[i] && vm->rings[i]->phase == XVT_PHASE_LIVE)
			return vm->rings[i];
	}
	return NULL;
}

/*
 * Place a ring whose clock cannot be measured: its thread has ended, or the machine is dead, paused
 * or too slow. The ring's records are placed by what was measured so far, else by the clock of
 * another ring of the machine, else by the node that a recorder left in the region, else by their
 * own ticks; nothing confirms that. Records behind the look just before T may be later than T, so
 * they are not taken.
 */
static void place_unmeasured(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_vm *vm = xvt_vm_of_ring(r);
	const struct xvt_ring *other = measured(vm);
	const bool begun = r->clock.map.count; /* the rate is not known yet */
	struct xvt_clock_node node;
	uint64_t hz;

	r->clock.map.hz = vm->clocks.guest_hz;
	if (begun) {
		node = *xvt_clock_map_last(&r->clock.map);
	} else if (other) {
		node = *xvt_clock_map_last(&other->clock.map);
		node.ring = r->id;
		node.flags = XVT_NODE_F_TAKEN;
	} else if (xvt_ring_hint(r, &node, &hz)) {
		r->clock.map.hz = hz;
	} else {
		node = (struct xvt_clock_node){ .ring = r->id, .source = XVT_SOURCE_NONE };
	}
	r->snapshot.frozen = true;
	r->snapshot.whole = !r->snapshot.look.nest;
	xvt_ring_set_phase(r, XVT_PHASE_ASIDE);
	if (begun)
		r->clock.map.closed = true;
	else
		xvt_ring_place_by(s, r, &node);
	xvt_session_note(s, xvt_load(&r->ctl->state) == XVT_RING_ONLINE, vm, r->id,
			 "ring %u: its clock cannot be measured; what it holds is placed by %s",
			 r->index,
			 begun		? "what was measured so far"
			 : other	? "the clock of another ring of its machine"
			 : node.host_ns ? "what a recorder left in the region"
					: "its own ticks");
}

/* Host time from which on the rings' contents are wanted; 0: all of them. */
static uint64_t wanted_from_ns(const struct xvt_session *s)
{
	uint64_t from_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());

	if (s->opt.snapshot_before_ns == XVT_SNAPSHOT_ALL)
		return 0;
	if (s->opt.snapshot_since_ns && s->opt.snapshot_since_ns < from_ns)
		from_ns = s->opt.snapshot_since_ns;
	return from_ns > s->opt.snapshot_before_ns ? from_ns - s->opt.snapshot_before_ns : 0;
}

static void snapshot_vm(struct xvt_session *s, struct xvt_vm *vm, uint64_t from_ns)
{
	bool records = false;
	uint32_t i;

	if (vm->phase == XVT_VM_WAITING)
		xvt_session_note(s, 2, vm, UINT32_MAX, "not there in time; going on without it%s",
				 xvt_vm_absent_hint(vm));
	for (i = 0; vm->phase == XVT_VM_ATTACHED && i < vm->region.g.ring_count; i++) {
		const struct xvt_ring_host *host = xvt_host_ring_host(&vm->region, i);
		struct xvt_ring *r = vm->rings[i];

		records |= xvt_load(&host->enable) == XVT_ENABLE_OVERWRITE;
		if (r && !xvt_ring_snapshot_begin(r, from_ns, s->opt.snapshot_ring_bytes) &&
		    r->phase == XVT_PHASE_NEW)
			r->snapshot.on = false;
	}
	if (vm->phase == XVT_VM_ATTACHED && !records)
		xvt_session_note(s, 2, vm, UINT32_MAX,
				 "none of its rings records in overwrite mode: this is no flight "
				 "recorder (guests: module parameter mode=overwrite)");
}

void xvt_vm_read_all_metadata(struct xvt_session *s, struct xvt_vm *vm)
{
	uint64_t before;

	do {
		before = vm->metadata.pos;
		xvt_vm_read_metadata(s, vm);
	} while (vm->metadata.pos != before);
}

/*
 * Use each ring's own measured rate. A flight recorder's rings hold records from long before the
 * measurement, which are placed by a rate. Until here, a rate within a few per cent of the host's
 * was taken for the host's.
 */
static void use_own_rate(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		struct xvt_ring *r = vm->rings[i];

		if (r && r->clock.map.count > 1)
			vm->clocks.guest_hz = xvt_clock_map_own_hz(&r->clock.map);
	}
	for (i = 0; i < vm->region.g.ring_count; i++) {
		struct xvt_ring *r = vm->rings[i];

		if (!r)
			continue;
		r->clock.map.hz = r->clock.map.count > 1 ? xvt_clock_map_own_hz(&r->clock.map)
							 : vm->clocks.guest_hz;
		if (r->session.announced)
			xvt_ring_announce(s, r);
	}
}

static void make_snapshot(struct xvt_session *s)
{
	const uint64_t from_ns = wanted_from_ns(s);
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->phase == XVT_VM_ATTACHED)
			xvt_vm_read_all_metadata(s, s->vms[i]);
		xvt_vm_wake_used(s, s->vms[i]);
	}
	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->phase == XVT_VM_ATTACHED)
			use_own_rate(s, s->vms[i]);
	}
	for (i = 0; i < s->nr_vms; i++)
		snapshot_vm(s, s->vms[i], from_ns);
	s->snapshot.clock = xvt_clock_read_ordered();
	s->snapshot.ns = xvt_host_clock_ns(&s->clock, s->snapshot.clock);
	s->passes.joined = true;
	s->passes.grace_clock = s->snapshot.clock;
	xvt_session_pass_at(s, s->snapshot.clock);
	for (i = 0; i < s->nr_rings; i++) {
		if (s->rings[i]->snapshot.on && s->rings[i]->phase == XVT_PHASE_NEW)
			place_unmeasured(s, s->rings[i]);
	}
	xvt_session_note(
		s, 0, NULL, UINT32_MAX,
		"snapshot: what the rings held at %" PRIu64 ".%09" PRIu64 ", nothing later",
		(uint64_t)(s->snapshot.ns / SECOND_NS), (uint64_t)(s->snapshot.ns % SECOND_NS));
}

bool xvt_session_snapshot_make(struct xvt_session *s, uint64_t now)
{
	if (!clocks_are_there(s) && since(now, s->start_clock) < ticks(s, s->opt.stall_timeout_ns))
		return false;
	make_snapshot(s);
	return true;
}

bool xvt_session_snapshot_copying(struct xvt_session *s)
{
	bool more = false;
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];
		struct xvt_ring_snapshot *c = &r->snapshot;

		if (!c->on || r->phase == XVT_PHASE_BROKEN)
			continue;
		if (!c->begun) {
			c->until = r->drain.last.commit;
			c->begun = true;
		}
		/* A ring without progress has no memory left: first some records must
		 * be emitted. */
		more |= xvt_pos_before(r->drain.read_pos, c->until) &&
			r->drain.read_pos != c->tried;
		c->tried = r->drain.read_pos;
	}
	return more;
}

/*
 * Returns true if every record stamped up to T is delivered: a later one has come, because a ring's
 * times only grow; or the ring was idle after T and none of its records waits.
 */
static bool is_whole(const struct xvt_session *s, struct xvt_ring *r)
{
	if (xvt_pos_before(r->drain.read_pos, r->snapshot.until))
		return false;
	if (xvt_ring_ready(r))
		return xvt_run_next_ns(r->runs.first) > s->snapshot.ns;
	if (xvt_ring_peek(r))
		return r->head.placed && r->head.ns > s->snapshot.ns;
	return r->drain.idle && earlier(s->snapshot.clock, r->drain.idle_clock) && !r->drain.first;
}

/* Returns true if all that the ring held at T was copied, and not only looked at. */
static bool is_copied(const struct xvt_ring *r)
{
	return r->snapshot.begun && !xvt_pos_before(r->drain.read_pos, r->snapshot.until);
}

/* A ring that could not be measured is closed: it waits for no clock, and for no writer. */
static bool is_done(const struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_ring_snapshot *c = &r->snapshot;

	if (c->frozen)
		return is_copied(r);
	c->whole |= is_whole(s, r);
	return c->whole;
}

/* The time is up: what was not copied, for want of memory, counts as overwritten. */
static void give_up(struct xvt_session *s, struct xvt_ring *r)
{
	const bool copied = is_copied(r);

	r->snapshot.hole |= !copied;
	xvt_session_note(
		s, 1, xvt_vm_of_ring(r), r->id, "cpu %u: %s", xvt_load(&r->ctl->cpu),
		copied ? "does not answer, or stays inside an event; what it has published "
			 "is taken"
		       : "not all that it held was copied in time; the rest counts as "
			 "overwritten");
}

/* Measure the ring as soon as possible, if its records wait for a node later than T. */
static void measure_soon(const struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->clock.map);

	if (last && last->host_ns <= s->snapshot.ns)
		r->clock.next_burst_clock = now;
}

bool xvt_session_snapshot_over(struct xvt_session *s, uint64_t now)
{
	bool over = since(now, s->snapshot.clock) >= ticks(s, s->opt.stall_timeout_ns), all = true;
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];
		struct xvt_ring_snapshot *c = &r->snapshot;

		if (!c->on || r->phase == XVT_PHASE_BROKEN)
			continue;
		if (!c->begun)
			return false; /* no pass since T */
		if (is_done(s, r))
			continue;
		measure_soon(s, r, now);
		all = false;
		if (over)
			give_up(s, r);
	}
	return all || over;
}

bool xvt_session_snapshot_done(const struct xvt_session *s, uint64_t *moment_ns)
{
	*moment_ns = s->snapshot.ns;
	return s->snapshot.done;
}
