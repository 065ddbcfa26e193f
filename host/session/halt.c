// SPDX-License-Identifier: GPL-2.0
/*
 * halt.c - stops the recording of one machine, by request, while that of the others goes on; and
 * starts it again. A stop has the steps of a recording's end (finish.c), one after the other, each
 * at the end of a pass:
 *
 *   SWITCHED_OFF  in the machine's rings, which are drained until they are finished
 *   CLOSED        the rings are not read any more; what was copied goes out in its order
 *   WRITTEN       all of it is in the trace, with the counters, and on its way into the file
 *   STOPPED       the region says what the file has, and is free for another recorder
 *
 * A machine that is started again is another one in the trace, NAME.2, as one whose file was
 * replaced (replaced.c): its clock and its counters begin anew.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/machine_name.h"
#include "base/out.h"

/* ------------------------------------------------------------------ stop */

/* The machine has a ring of that number, which has state; NULL: none. */
static struct xvt_ring *ring_of(const struct xvt_vm *vm, uint32_t i)
{
	return vm->rings ? vm->rings[i] : NULL;
}

static uint32_t rings_of(const struct xvt_vm *vm)
{
	return vm->rings ? vm->region.g.ring_count : 0;
}

static void finish_stop(struct xvt_session *s, struct xvt_vm *vm)
{
	if (vm->phase != XVT_VM_GONE)
		xvt_vm_close(s, vm, XVT_STATE_STOPPED);
	else
		xvt_vm_set_state(vm, XVT_STATE_STOPPED);
	snprintf(vm->why, sizeof(vm->why), "by request of uid %u", vm->halt.uid);
}

static void tell_stop(struct xvt_session *s, struct xvt_vm *vm, uint32_t uid)
{
	char text[XVT_NAME_LEN + 64];

	snprintf(text, sizeof(text), "the recording of %s is stopped, by request of uid %u",
		 vm->name, uid);
	if (vm->files.left_out)
		xvt_session_note(s, 1, NULL, UINT32_MAX, "%s", text);
	else
		xvt_vm_unseen(s, vm, text);
}

void xvt_session_vm_stop(struct xvt_vm *vm, uint32_t uid)
{
	struct xvt_session *s = vm->session;
	struct xvt_vm_halt *h = &vm->halt;

	if (vm->phase == XVT_VM_ATTACHED && xvt_vm_set_state(vm, XVT_STATE_SWITCHED_OFF))
		return;
	h->uid = uid;
	vm->span.end_clock = xvt_clock_read_ordered();
	tell_stop(s, vm, uid);
	if (vm->phase != XVT_VM_ATTACHED) {
		finish_stop(s, vm);
		return;
	}
	xvt_vm_switch_off(s, vm);
	xvt_mb();
	h->off_clock = h->patience_clock = xvt_clock_read_ordered();
	xvt_vm_measure_last(s, vm, h->off_clock);
	h->names_due = true;
	xvt_session_pass_at(s, h->off_clock);
	s->nr_halting++;
}

static bool all_finished(const struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; i < rings_of(vm); i++) {
		struct xvt_ring *r = ring_of(vm, i);

		if (r && !xvt_ring_is_finished(r, vm->halt.off_clock))
			return false;
	}
	return true;
}

/* Returns true if all of the machine is taken, or waiting for it takes too long. Time during which
 * the recorder was absent, the disk was slow, or nothing was emitted yet, does not count. */
static bool is_taken(const struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	struct xvt_vm_halt *h = &vm->halt;
	const bool due = h->names_due; /* before this pass, which took the names */

	h->names_due = !xvt_vm_is_paused(vm) && xvt_vm_names_due(vm);
	if (!s->passes.joined)
		h->patience_clock = now;
	else if (earlier(h->patience_clock, s->passes.grace_clock))
		h->patience_clock = s->passes.grace_clock;
	if (!s->passes.joined || !all_finished(vm))
		return since(now, h->patience_clock) >=
		       ticks(s, s->opt.stall_timeout_ns + SECOND_NS);
	if (!h->finished_clock)
		h->finished_clock = now;
	return !due || since(now, h->finished_clock) >= ticks(s, XVT_NAMES_NS);
}

/* From here on no word of a ring is read. The machine holds no other one back. */
static void close_rings(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i;

	xvt_relayed_leave(vm);
	xvt_vm_report_undrained(s, vm);
	for (i = 0; i < rings_of(vm); i++) {
		if (ring_of(vm, i))
			xvt_session_ring_clockless(s, ring_of(vm, i));
	}
	xvt_session_clock_forget(s, vm);
	for (i = 0; i < rings_of(vm); i++) {
		struct xvt_ring *r = ring_of(vm, i);

		if (!r)
			continue;
		xvt_ring_set_phase(r, XVT_PHASE_BROKEN);
		r->clock.map.closed = true;
		r->mark.open = false;
	}
	vm->scan.looked = false;
	xvt_vm_set_state(vm, XVT_STATE_CLOSED);
}

static bool is_emitted(const struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; i < rings_of(vm); i++) {
		const struct xvt_ring *r = ring_of(vm, i);

		if (r && (xvt_ring_ready(r) || r->head.have || r->drain.first))
			return false;
	}
	return true;
}

/* Write what follows a machine's last event, and have all of it go to the file. */
static void write_end(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	uint32_t i;

	xvt_session_commit_checkpoint(s);
	if (s->checkpoint.in_flight || s->disk.full)
		return; /* a later pass does it */
	xvt_vm_tell_unrecorded(s, vm);
	xvt_vm_end_request(s, vm);
	xvt_session_notes_left_out(s, vm, now, true);
	for (i = 0; i < rings_of(vm); i++) {
		struct xvt_ring *r = ring_of(vm, i);

		if (!r)
			continue;
		xvt_session_put_drops(s, r);
		xvt_ring_put_tail_loss(s, r);
		xvt_session_set_dirty(s, r);
	}
	xvt_session_put_marks(s);
	xvt_session_announce_late(s, true);
	xvt_session_put_stats(s, false, false);
	xvt_session_stage_checkpoint(s, true);
	vm->halt.bytes = s->checkpoint.bytes;
	xvt_vm_set_state(vm, XVT_STATE_WRITTEN);
}

/* All of the machine is in the file: its region says so. */
static void leave(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i;

	xvt_session_commit_checkpoint(s);
	for (i = 0; i < rings_of(vm); i++) {
		if (ring_of(vm, i))
			xvt_drain_release(ring_of(vm, i), true);
	}
	xvt_store_release(&xvt_host_region_page(&vm->region)->attach_id, 0);
	finish_stop(s, vm);
}

static void go_on(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	if (xvt_vm_state(vm) == XVT_STATE_LOST) /* the file was truncated */
		finish_stop(s, vm);
	if (xvt_vm_state(vm) == XVT_STATE_SWITCHED_OFF && is_taken(s, vm, now))
		close_rings(s, vm);
	if (xvt_vm_state(vm) == XVT_STATE_CLOSED && is_emitted(vm))
		write_end(s, vm, now);
	if (xvt_vm_state(vm) == XVT_STATE_WRITTEN && xvt_trace_written(s->trace) >= vm->halt.bytes)
		leave(s, vm);
}

static bool is_stopping(const struct xvt_vm *vm)
{
	return xvt_vm_stop_wanted(vm) && xvt_vm_state(vm) != XVT_STATE_STOPPED;
}

void xvt_session_halt_pass(struct xvt_session *s, uint64_t now)
{
	size_t i, n = 0;

	/* The end of the recording does the rest. */
	if (s->off.clock)
		return;
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (!is_stopping(vm))
			continue;
		go_on(s, vm, now);
		n += is_stopping(vm);
	}
	s->nr_halting = n;
}

int xvt_session_vm_stopping(const struct xvt_vm *vm)
{
	if (!is_stopping(vm))
		return 0;
	return vm->session->disk.full ? -ENOSPC : -EAGAIN;
}

bool xvt_session_vm_is_stopped(const struct xvt_vm *vm)
{
	return xvt_vm_stop_wanted(vm);
}

size_t xvt_session_stopped(const struct xvt_session *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->nr_vms; i++)
		n += xvt_session_vm_is_stopped(s->vms[i]);
	return n;
}

/* ------------------------------------------------------------------ start */

/* The machine's next file is recorded as soon as replaced.c sees it. */
static void wait_for_file(struct xvt_vm *vm)
{
	vm->chain.deleted = true;
	snprintf(vm->why, sizeof(vm->why), "its file is not there; it is recorded when it comes");
}

int xvt_session_vm_start(struct xvt_vm *vm, uint32_t uid, struct xvt_vm **as, struct xvt_error *why)
{
	struct xvt_session *s = vm->session;
	const int err = xvt_vm_add_next(s, vm, why);

	*as = err ? NULL : vm->chain.next;
	if (err && err != -ENOENT && err != -ENODATA)
		return err;
	xvt_vm_set_state(vm, XVT_STATE_GONE);
	vm->halt = (struct xvt_vm_halt){ 0 };
	vm->chain.refused = (struct xvt_vm_refusal){ 0 };
	if (err)
		wait_for_file(vm);
	else
		snprintf(vm->why, sizeof(vm->why), "started again as %s", vm->chain.next->name);
	xvt_session_note(s, 0, *as, UINT32_MAX, "%s is started, by request of uid %u",
			 vm->chain.first_name, uid);
	return 0;
}

/* ------------------------------------------------------------------ by name */

static bool matches(const struct xvt_vm *vm, const char *pattern)
{
	char uuid[XVT_UUID_TEXT];

	xvt_uuid_text(vm->uuid, uuid);
	return xvt_machine_matches(pattern, vm->name) ||
	       xvt_machine_matches(pattern, vm->chain.first_name) ||
	       !fnmatch(pattern, uuid, FNM_CASEFOLD);
}

struct xvt_vm *xvt_session_next_match(const struct xvt_session *s, size_t *at, const char *pattern)
{
	while (*at < s->nr_vms) {
		struct xvt_vm *vm = s->vms[(*at)++];

		if (!xvt_vm_is_host(vm) && !vm->chain.next && matches(vm, pattern))
			return vm;
	}
	return NULL;
}
