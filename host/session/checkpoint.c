// SPDX-License-Identifier: GPL-2.0
/*
 * checkpoint.c - what a later recorder may rely on. A checkpoint is staged when the trace holds
 * events, and committed to the regions when these bytes are in the file for good. The records
 * themselves are released before these bytes go to the file. A region therefore never accounts for
 * an event that is in no file, and never holds one that is in a file.
 */
#include "session/parts.h"

#include <string.h>

#define CHECKPOINT_NS	   20000000ull /* between two checkpoints */
#define CHECKPOINT_RING_NS 10000ull    /* and that much longer for each ring */

void xvt_session_release(void *arg)
{
	struct xvt_session *s = arg;
	size_t i;

	for (i = 0; i < s->nr_rings && is_recording(s); i++) {
		const struct xvt_vm *vm = xvt_vm_of_ring(s->rings[i]);

		if (!(s->checkpoint.dirty[i] & XVT_DIRTY_HELD) || vm->phase != XVT_VM_ATTACHED)
			continue;
		/* Else its memory was rolled back, which the next pass deals with. */
		if (xvt_load(&xvt_host_region_page(&vm->region)->nonce) != vm->scan.nonce)
			continue;
		s->checkpoint.dirty[i] &= (uint8_t)~XVT_DIRTY_HELD;
		xvt_drain_release(s->rings[i], false);
	}
}

void xvt_session_commit_checkpoint(struct xvt_session *s)
{
	size_t i;

	if (!s->checkpoint.in_flight || xvt_trace_written(s->trace) < s->checkpoint.bytes)
		return;
	s->checkpoint.in_flight = false;
	for (i = 0; i < s->nr_rings; i++) {
		if (!(s->checkpoint.dirty[i] & XVT_DIRTY_STAGED))
			continue;
		s->checkpoint.dirty[i] &= (uint8_t)~XVT_DIRTY_STAGED;
		if (xvt_vm_of_ring(s->rings[i])->phase == XVT_VM_ATTACHED)
			xvt_ring_commit_account(s->rings[i]);
	}
}

void xvt_session_stage_checkpoint(struct xvt_session *s, bool counters)
{
	size_t i;

	/* Only a recording changes what regions say of the files of recorders. */
	if (xvt_trace_flush(s->trace) || !is_recording(s))
		return;
	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		/* A ring whose RING chunk is not written has no counters in the file yet. */
		if (!(s->checkpoint.dirty[i] & XVT_DIRTY_ACCOUNT) || !r->session.announced ||
		    r->session.drops_wait)
			continue;
		if (!counters)
			xvt_ring_account(r, false);
		else
			s->checkpoint.dirty[i] &= (uint8_t)~XVT_DIRTY_ACCOUNT;
		xvt_ring_stage_account(r, counters);
		s->checkpoint.dirty[i] |= XVT_DIRTY_STAGED;
	}
	s->checkpoint.in_flight = true;
	s->checkpoint.bytes = xvt_trace_bytes(s->trace);
	s->checkpoint.events = s->merge.emitted;
	s->checkpoint.clock = xvt_clock_read();
}

void xvt_session_checkpoint(struct xvt_session *s, bool counters)
{
	xvt_session_commit_checkpoint(s);
	s->checkpoint.counters_late = s->checkpoint.in_flight && counters;
	if (!s->checkpoint.in_flight && !s->disk.full)
		xvt_session_stage_checkpoint(s, counters);
}

static void put_ring_stats(struct xvt_session *s, const struct xvt_ring *r)
{
	struct xvt_ring_stats file = r->account.stats;

	if (s->rotate.number > s->opt.set_number)
		xvt_ring_file_stats(r, &file);
	xvt_trace_put(s->trace, XVT_CHUNK_STATS, &file, sizeof(file), NULL, 0);
}

void xvt_session_put_stats(struct xvt_session *s, bool second_over, bool final)
{
	const bool write = final || !xvt_session_disk_full(s);
	const bool all = final || (s->checkpoint.stats_wait && write);
	size_t i;

	s->checkpoint.stats_wait = !write;

	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		if (!final && !(s->checkpoint.dirty[i] & XVT_DIRTY_STATS))
			continue;
		if (!r->session.announced || !xvt_session_takes_part(s, r))
			continue;
		if (write)
			s->checkpoint.dirty[i] &= (uint8_t)~XVT_DIRTY_STATS;
		xvt_ring_account(r, final);
		/* Without a second node, the drift of a salvaged ring's clock is unknown. */
		if (r->salvage)
			r->account.stats.bound_ns_max = XVT_NO_BOUND;
		r->account.stats.paused_ns = xvt_vm_paused_ns(s, xvt_vm_of_ring(r));
		if (!all && !memcmp(&r->account.stats, &r->session.reported_stats,
				    sizeof(r->account.stats)))
			continue;
		if (write)
			put_ring_stats(s, r);
		xvt_session_status_count(s, r, second_over);
		r->session.reported_stats = r->account.stats;
	}
}

static void checkpoint_what_waits(struct xvt_session *s)
{
	if (is_snapshot(s) || s->checkpoint.in_flight || s->disk.full)
		return;
	if (s->checkpoint.counters_late) {
		xvt_session_put_stats(s, false, false);
		xvt_session_checkpoint(s, true);
	} else if (s->merge.emitted != s->checkpoint.events) {
		xvt_session_checkpoint(s, false);
	}
}

void xvt_session_checkpoint_when_due(struct xvt_session *s, uint64_t now, bool at_once)
{
	if (at_once || since(now, s->checkpoint.clock) >=
			       ticks(s, CHECKPOINT_NS + s->nr_rings * CHECKPOINT_RING_NS))
		checkpoint_what_waits(s);
}
