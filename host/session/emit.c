// SPDX-License-Identifier: GPL-2.0
/*
 * emit.c - what the merge puts out goes into the trace: the bytes of a run, its order, and what was
 * lost or dropped. The session's pass calls xvt_session_merge().
 */
#include "session/parts.h"

#include "base/u64.h"
#include "merge/put.h"
#include "trace/payload.h"

#define HOLD_BYTES (64u << 10) /* of records between two checks of the disk */
#define AHEAD	   4u	       /* runs: with many rings their sums are in no near cache */

/* Called by the merge before it emits records that an inferred node placed. */
static void inferred(void *arg, struct xvt_ring *r)
{
	xvt_session_put_inferred_node(arg, r);
}

/*
 * Called by the merge before the first record of a run goes out. Writes the bytes of the run, or
 * drops it if its machine has used its share of the space. Returns 0, 1 if the merge must wait for
 * the disk, or -errno.
 */
static int locate(void *arg, struct xvt_run *run)
{
	struct xvt_session *s = arg;

	s->emit.put_bytes += run->len;
	if (s->emit.put_bytes >= HOLD_BYTES) {
		if (is_recording(s) && xvt_session_hold(s))
			return 1;
		s->emit.put_bytes = 0;
		s->emit.limited = xvt_session_space_limited(s);
		xvt_session_service_clocks(s);
	}
	if (s->emit.limited &&
	    !xvt_session_may_write(s, xvt_vm_of_ring(run->ring), xvt_run_cost(run))) {
		xvt_run_drop(run);
		return 0;
	}
	if (s->rotate.pending)
		xvt_run_keep(run);
	return xvt_run_put(run, s->trace);
}

/* Writes the LOST record of events that were dropped before event i of the window. */
static int put_drops(void *arg, const struct xvt_window *w, uint32_t i)
{
	struct xvt_session *s = arg;

	if (w->lane == XVT_LANE_MAIN)
		s->emit.emitted_ns = xvt_window_ns(w, i);
	return xvt_session_put_drops(s, xvt_window_run(w, i)->ring);
}

/* Event i is a LOST record, which the host itself writes, or belongs to a dropped run. */
static int put_other(void *arg, const struct xvt_window *w, uint32_t i)
{
	struct xvt_session *s = arg;
	const struct xvt_run *run = xvt_window_run(w, i);
	const struct xvt_lost *lost;
	const struct xvt_event_hdr h = xvt_window_event(w, i, &lost);

	if (run->dropped)
		return 0; /* emit() counts it with its run */
	if (s->emit.limited &&
	    !xvt_session_may_write(s, xvt_vm_of_ring(run->ring), sizeof(h) + sizeof(*lost))) {
		xvt_session_drop_lost(s, run->ring, lost, h.guest_clock);
		return 0;
	}
	put_drops(s, w, i);
	xvt_ring_reported(run->ring, lost);
	return xvt_trace_lane_event(s->trace, w->lane, &h, lost);
}

/* A record about the ring itself is no event. */
static void note_writes(struct xvt_ring *r, const struct xvt_run *run)
{
	if (!run->at && run->id < XVT_ID_FIRST_EVENT && run->taken <= 1)
		return;
	r->session.writes = true;
	xvt_vm_of_ring(r)->space.writes = true;
}

/* Times of a run do not decrease. */
static void note_newest(struct xvt_session *s, const struct xvt_run *run)
{
	struct xvt_ring *r = run->ring;

	if (xvt_unlikely(!r->session.writes))
		note_writes(r, run);
	r->session.newest_ns = xvt_u64_larger(r->session.newest_ns, run->ns[run->taken - 1]);
	s->emit.newest_ns = xvt_u64_larger(s->emit.newest_ns, r->session.newest_ns);
}

/* Writes a sorted window: the order of its events, and the counters of their rings. */
static int emit(void *arg, const struct xvt_window *w)
{
	static const struct xvt_window_ops ops = { put_other, put_drops };
	struct xvt_session *s = arg;
	uint32_t i;
	int err;

	xvt_session_service_clocks(s);
	s->emit.limited = xvt_session_space_limited(s);
	err = xvt_window_put(w, s->trace, &ops, s);
	if (err)
		return err; /* none of them counts: they wait again, or the trace has failed */
	for (i = 0; i < w->nr_runs; i++) {
		const struct xvt_run *run = w->runs[i];

		if (i + AHEAD < w->nr_runs)
			xvt_ring_will_count(w->runs[i + AHEAD]->ring);
		if (run->taken == run->at)
			continue;
		note_newest(s, run);
		if (xvt_unlikely(run->id == XVT_ID_PANIC))
			xvt_session_note_panic(s, run);
		if (run->dropped)
			xvt_session_drop_run(s, run);
		else
			xvt_run_count(run, run->taken, run->ring_flags | xvt_window_flags(w));
		if (!run->dropped)
			xvt_session_note_look(s, run);
		xvt_session_note_head(s, run);
		/* The ring's last STATS may be in the file already: another one is needed. */
		xvt_session_set_dirty(s, run->ring);
	}
	if (w->lane == XVT_LANE_MAIN)
		s->emit.emitted_ns = xvt_window_ns(w, w->count - 1);
	return 0;
}

int64_t xvt_session_merge(struct xvt_session *s, struct xvt_ring *const *rings, size_t count)
{
	s->emit.limited = xvt_session_space_limited(s);
	return xvt_merge_pass(&s->merge, rings, count);
}

void xvt_session_init_merge(struct xvt_session *s)
{
	static const struct xvt_merge_ops ops = { emit, locate, xvt_session_hold, inferred };
	/* A snapshot, or salvage, waits for the disk. */
	static const struct xvt_merge_ops waiting_ops = { emit, locate, NULL, inferred };

	xvt_merge_init(&s->merge, is_recording(s) ? &ops : &waiting_ops, s);
}
