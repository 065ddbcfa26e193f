// SPDX-License-Identifier: GPL-2.0
/* end.c - the end of a recording: switch off, take what is left, say what was not taken, close. */
#include "session/parts.h"

#include <inttypes.h>
#include <stdlib.h>

#define END_PATIENCE 3u	     /* waits in a row, even if records still come out */
#define MUCH_RECORDS 100000u /* inferred nodes place fewer: one in a pass */

/* Returns true if a guest is still to name functions, of the machines that answer. */
static bool names_due(const struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		const struct xvt_vm *vm = s->vms[i];

		if (!vm->own && vm->phase == XVT_VM_ATTACHED && !vm->vmm.paused &&
		    xvt_vm_names_due(vm))
			return true;
	}
	return false;
}

/* *first is the ring to begin with, and becomes the first one that is not finished: the next call
 * does not look at all rings again. */
static bool all_finished(const struct xvt_session *s, size_t *first)
{
	size_t n;

	for (n = 0; n < s->nr_rings; n++) {
		if (*first >= s->nr_rings)
			*first = 0;
		if (!xvt_ring_is_finished(s->rings[*first], s->off.clock))
			return false;
		++*first;
	}
	return true;
}

void xvt_session_free(struct xvt_session *s)
{
	size_t i;

	s->sink->before = NULL;
	for (i = 0; i < s->nr_rings; i++) {
		xvt_ring_fini(s->rings[i]);
		free(s->rings[i]);
	}
	for (i = 0; i < s->nr_vms; i++) {
		xvt_vm_free(s->vms[i]);
	}
	xvt_pool_fini(&s->pool);
	if (s->arena.base)
		xvt_loop_unregister(s->loop, &(struct iovec){ s->arena.base, s->arena.size });
	xvt_arena_fini(&s->arena);
	xvt_session_formats_free(s);
	xvt_session_kernel_free(s);
	xvt_session_host_free(s);
	xvt_session_carry_free(s);
	xvt_trace_writer_free(s->trace);
	free(s->rings);
	free(s->clocks.due);
	free(s->scan.active);
	free(s->checkpoint.dirty);
	free(s->vms);
	xvt_session_share_free(s);
	xvt_merge_fini(&s->merge);
	xvt_host_clock_fini(&s->clock);
	free(s);
}

static uint64_t attach_id_after(const struct xvt_session *s, const struct xvt_vm *vm)
{
	return is_snapshot(s) && vm->span.found_attach_id != XVT_ATTACH_LOOKS
		       ? vm->span.found_attach_id
		       : 0;
}

/*
 * All events are in the file: the regions say so, and are free for the next recorder. If this is
 * not called, they say what the last checkpoint held, as after a crash. A snapshot leaves them as
 * it found them.
 */
static void leave(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_rings && is_recording(s); i++) {
		if (xvt_vm_of_ring(s->rings[i])->phase != XVT_VM_ATTACHED)
			continue;
		xvt_ring_commit_account(s->rings[i]);
		xvt_drain_release(s->rings[i], true);
	}
	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->phase == XVT_VM_ATTACHED)
			xvt_store_release(&xvt_host_region_page(&s->vms[i]->region)->attach_id,
					  attach_id_after(s, s->vms[i]));
	}
}

/* Upper bound of the records that wait in memory and, by the last look, in the rings. */
static uint64_t most_waiting(const struct xvt_session *s)
{
	uint64_t bytes = 0, left;
	size_t i;

	for (i = 0; i < s->nr_vms; i++)
		bytes += xvt_pool_used(&s->vms[i]->pool);
	for (i = 0; i < s->nr_rings; i++) {
		const struct xvt_ring *r = s->rings[i];

		left = since(r->drain.last.resv, r->drain.read_pos);
		bytes += left < r->region->g.ring_size ? left : r->region->g.ring_size;
	}
	return bytes / sizeof(uint64_t);
}

/* Returns true if all rings are finished, and for XVT_NAMES_NS at most only if no name was due
 * before the pass that has just ended: this pass took the names. *clock is when the rings were. */
static bool all_taken(const struct xvt_session *s, size_t *first, bool due, uint64_t *clock)
{
	const uint64_t now = xvt_clock_read();

	if (!all_finished(s, first))
		return false;
	if (!*clock)
		*clock = now;
	return !due || since(now, *clock) >= ticks(s, XVT_NAMES_NS);
}

/*
 * Runs passes until all rings are finished, or until few records came out for stall_timeout_ns and
 * a second. Waiting for the disk does not count. A guest that goes on writing cannot prolong the
 * end: at most `most_records` records and END_PATIENCE such waits. Returns 0 or -errno.
 */
static int drain_rest(struct xvt_session *s, uint64_t most_records)
{
	uint64_t moved = s->merge.emitted, moved_clock = s->off.clock, sleep_ns;
	uint64_t waited_ns = xvt_session_waited_ns(s);
	const uint64_t patience_ns = s->opt.stall_timeout_ns + SECOND_NS, begin_ns = waited_ns;
	uint64_t finished_clock = 0;
	size_t i = 0;

	for (;;) {
		const bool due = names_due(s);
		int err = xvt_session_pass(s, &sleep_ns);
		uint64_t now = xvt_clock_read(), disk_ns = xvt_session_waited_ns(s) - waited_ns;
		uint64_t most_ns = END_PATIENCE * patience_ns + xvt_session_waited_ns(s) - begin_ns;

		if (err || all_taken(s, &i, due, &finished_clock))
			return err;
		if (s->merge.emitted - moved >= MUCH_RECORDS && s->merge.emitted <= most_records &&
		    since(now, s->off.clock) < ticks(s, most_ns)) {
			moved = s->merge.emitted;
			moved_clock = now;
			waited_ns += disk_ns;
		} else if (since(now, moved_clock) >= ticks(s, patience_ns + disk_ns)) {
			return 0;
		}
		err = xvt_loop_run(s->loop, sleep_ns);
		if (err < 0)
			return err;
	}
}

/* Switches recording off, then waits until each writer inside an event has left it: a writer tests
 * `enable` again after it has made itself visible in `nest`. Returns 0 or -errno. */
static int wind_down(struct xvt_session *s)
{
	const uint64_t most = s->merge.emitted + most_waiting(s);
	uint64_t off;
	size_t i;
	int err;

	xvt_session_join(s, xvt_clock_read());
	xvt_session_host_stop(s);
	for (i = 0; i < s->nr_vms; i++)
		xvt_vm_switch_off(s, s->vms[i]);
	xvt_mb();
	off = xvt_clock_read_ordered();
	s->off.clock = off;
	for (i = 0; i < s->nr_vms; i++)
		xvt_vm_measure_last(s, s->vms[i], off);
	err = drain_rest(s, most);
	for (i = 0; i < s->nr_vms; i++) {
		xvt_relayed_leave(s->vms[i]);
		xvt_vm_report_undrained(s, s->vms[i]);
	}
	return err;
}

void xvt_session_call_off(struct xvt_session *s)
{
	s->opt.kind = XVT_SESSION_SNAPSHOT; /* a snapshot that took nothing */
}

int xvt_session_end(struct xvt_session *s)
{
	int err = is_recording(s) ? wind_down(s) : 0;
	size_t i;

	s->off.ending = true;
	for (i = 0; i < s->nr_rings; i++) {
		if (!is_snapshot(s))
			xvt_session_ring_clockless(s, s->rings[i]);
		s->rings[i]->clock.map.closed = true;
	}
	s->merge.limit_ns = is_snapshot(s) ? s->snapshot.ns : UINT64_MAX;
	s->merge.rest_ns = UINT64_MAX;
	if (!err) {
		int64_t moved = xvt_session_merge(s, s->rings, s->nr_rings);

		if (moved < 0)
			err = (int)moved;
	}
	xvt_session_stop_listening(s);
	for (i = 0; i < s->nr_vms; i++)
		xvt_vm_tell_unrecorded(s, s->vms[i]);
	for (i = 0; i < s->nr_vms; i++)
		xvt_vm_end_request(s, s->vms[i]);
	if (!is_salvage(s))
		xvt_session_look_for_waits(s, true);
	for (i = 0; i < s->nr_vms; i++)
		xvt_session_notes_left_out(s, s->vms[i], xvt_clock_read(), true);
	xvt_session_put_all_drops(s);
	for (i = 0; i < s->nr_rings; i++)
		xvt_ring_put_tail_loss(s, s->rings[i]);
	if (!is_salvage(s)) /* the records' times are older than this clock */
		xvt_session_put_lines(s, xvt_host_clock_end(&s->clock));
	xvt_session_put_marks(s);
	xvt_session_put_looks(s);
	xvt_session_put_last_heads(s);
	xvt_session_announce_late(s, true);
	xvt_session_kvm_end(s);
	xvt_session_kernel_end(s);
	if (is_recording(s))
		xvt_session_passive_names(s, true);
	xvt_session_put_stats(s, false, true);
	xvt_session_stage_checkpoint(s, true);
	i = (size_t)xvt_trace_writer_end(s->trace);
	if (!err)
		err = (int)i;
	if (!err && s->sink->settle)
		err = s->sink->settle(s->sink);
	if (!err || is_snapshot(s))
		leave(s);
	return err;
}

int xvt_session_finish(struct xvt_session *s)
{
	int err = xvt_session_end(s);

	xvt_session_free(s);
	return err;
}
