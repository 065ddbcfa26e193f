// SPDX-License-Identifier: GPL-2.0
/*
 * vmm_events.c - processes reports of a machine's VMM: pauses, and events after which clocks have
 * to be measured again. Reports come late, and correct times do not need them: clock samples decide
 * where an epoch ends.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include "base/u64.h"
#include "trace/note.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define CLOCK_TRIES 5u
/* A VMM sends an event as soon as it is stamped; longer if the VMM has to wait for a CPU. */
#define SEND_NS	    SECOND_NS
#define RESUME_NS   2000000u
#define WALL_NS	    1000000 /* more than NTP slews in a second */

static uint64_t host_ns(const struct xvt_session *s, uint64_t clock)
{
	return xvt_host_clock_ns(&s->clock, clock);
}

/* Read the host's clock and CLOCK_REALTIME at one moment: of a few tries, the fastest one. */
static void read_clocks(const struct xvt_session *s, uint64_t *now_ns, uint64_t *realtime_ns)
{
	uint64_t best = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < CLOCK_TRIES; i++) {
		uint64_t before = xvt_clock_read_ordered(), took;
		struct timespec t;

		clock_gettime(CLOCK_REALTIME, &t);
		took = xvt_clock_read_ordered() - before;
		if (took >= best)
			continue;
		best = took;
		*now_ns = host_ns(s, before + took / 2);
		*realtime_ns = xvt_timespec_ns(&t);
	}
}

/* Returns true if the wall clock was not set or slewed fast since its newest check; otherwise a
 * stamp denotes another moment. */
static bool wall_held(const struct xvt_session *s, uint64_t now_ns, uint64_t realtime_ns)
{
	const struct xvt_host_clock *c = &s->clock;
	int64_t moved =
		(int64_t)(realtime_ns - (now_ns - (uint64_t)c->apart_ns) - c->last.realtime_off);

	return moved < WALL_NS && moved > -WALL_NS;
}

/*
 * Returns the host time of an event. The VMM's timestamp is more precise than the time of the
 * report, which waits for the loop. But the timestamp is CLOCK_REALTIME, which may have been set
 * since: the result must lie between the last pass, which had not seen the event, and now.
 * Otherwise it is now.
 */
static uint64_t moment(const struct xvt_session *s, struct xvt_vm *vm, uint64_t stamp, bool *exact)
{
	uint64_t looked = host_ns(s, s->passes.last_clock ? s->passes.last_clock : s->start_clock);
	uint64_t now_ns = 0, realtime_ns = 0, ago;

	*exact = false;
	read_clocks(s, &now_ns, &realtime_ns);
	ago = realtime_ns - stamp;
	if (!stamp || stamp > realtime_ns || ago > since(now_ns, looked) + SEND_NS)
		return now_ns;
	/* Timestamps have microseconds: two within one must keep their order. */
	if (now_ns - ago > vm->vmm.stamp_ns)
		vm->vmm.stamp_ns = now_ns - ago;
	*exact = wall_held(s, now_ns, realtime_ns);
	return vm->vmm.stamp_ns;
}

/* The earlier one of a time and an end of the recording; clock 0: it has not ended. */
static uint64_t not_behind(const struct xvt_session *s, uint64_t ns, uint64_t clock)
{
	const uint64_t end_ns = host_ns(s, clock);

	return clock && ns > end_ns ? end_ns : ns;
}

/* Length of the current pause up to `ns`, as far as it lies in the machine's recording. */
static uint64_t pause_until(const struct xvt_session *s, const struct xvt_vm *vm, uint64_t ns)
{
	if (!vm->vmm.paused)
		return 0;
	ns = not_behind(s, not_behind(s, ns, s->off.clock), vm->span.end_clock);
	return since(ns, vm->vmm.paused_at_ns);
}

uint64_t xvt_vm_paused_ns(const struct xvt_session *s, const struct xvt_vm *vm)
{
	return vm->vmm.paused_ns + pause_until(s, vm, host_ns(s, xvt_clock_read()));
}

/* found: the pause was found when the machine's recording began, so it began before. */
static void pause_begins(const struct xvt_session *s, struct xvt_vm *vm, uint64_t at_ns, bool found)
{
	const uint64_t begin_ns = host_ns(s, vm->span.begin_clock);

	vm->vmm.paused = true;
	vm->vmm.paused_at_ns = !found && at_ns > begin_ns ? at_ns : begin_ns;
}

static void pause_ends(const struct xvt_session *s, struct xvt_vm *vm, uint64_t at_ns)
{
	vm->vmm.paused_ns += pause_until(s, vm, at_ns);
	vm->vmm.paused = false;
}

static uint32_t nr_rings(const struct xvt_vm *vm)
{
	return vm->phase == XVT_VM_ATTACHED ? vm->region.g.ring_count : 0;
}

/* Ask every writer for a full stamp with its next record, which separates records
 * before and after. */
static void ask_epoch(struct xvt_vm *vm)
{
	uint32_t i;

	/* Also of those that came into use since the newest scan. */
	xvt_vm_wake_used(vm->session, vm);
	for (i = 0; i < nr_rings(vm); i++) {
		if (vm->rings[i])
			xvt_ring_paused(vm->rings[i]);
	}
}

/*
 * Exclude records from within the pause. QEMU stamps RESUME before its vCPUs run; other VMMs may do
 * so a little after. until_ns 0: the end of the pause is unknown. The time of the report would be
 * no proof: it may be much later, and events recorded meanwhile would be placed too late.
 */
static void stood_still(struct xvt_vm *vm, uint64_t until_ns)
{
	uint64_t now = xvt_clock_read();
	uint32_t i;

	for (i = 0; i < nr_rings(vm); i++) {
		if (!vm->rings[i])
			continue;
		if (vm->vmm.pause_stamp_ns && until_ns)
			xvt_clock_map_paused(&vm->rings[i]->clock.map, vm->vmm.pause_stamp_ns,
					     until_ns);
		xvt_ring_stood_still(vm->rings[i], until_ns > RESUME_NS ? until_ns - RESUME_NS : 0);
		vm->rings[i]->measure.answer_clock = now; /* silence begins anew */
		vm->rings[i]->guest.still = false;
	}
}

/* The old clock state is void: measure now, without waiting for the ring's turn. */
static void measure_at_once(struct xvt_vm *vm)
{
	uint64_t now = xvt_clock_read();
	uint32_t i;

	for (i = 0; i < nr_rings(vm); i++) {
		if (!vm->rings[i])
			continue;
		vm->rings[i]->clock.next_burst_clock = 0;
		xvt_session_clock_soon(vm->session, vm->rings[i], now);
	}
}

static const struct {
	uint32_t level;
	enum xvt_note_kind kind;
	const char *text;
} words[] = {
	[XVT_VMM_STOPPED] = { 0, XVT_NOTE_PAUSED, "stopped" },
	[XVT_VMM_RUNNING] = { 0, XVT_NOTE_RUNS, "runs" },
	[XVT_VMM_RESET] = { 0, XVT_NOTE_RESET, "was reset" },
	[XVT_VMM_SUSPENDED] = { 0, XVT_NOTE_ASLEEP, "went to sleep (S3)" },
	[XVT_VMM_WOKEN] = { 0, XVT_NOTE_AWAKE, "woke up" },
	[XVT_VMM_PANICKED] = { 1, XVT_NOTE_CRASHED, "its kernel panicked" },
	[XVT_VMM_SHUTTING_DOWN] = { 0, XVT_NOTE_SHUTDOWN, "is shutting down" },
	[XVT_VMM_RENAMED] = { 0, XVT_NOTE_TEXT, "was renamed" },
	[XVT_VMM_MIGRATED_AWAY] = { 1, XVT_NOTE_MOVED, "moved to another VMM" },
	[XVT_VMM_ARRIVED] = { 0, XVT_NOTE_ARRIVED, "arrived from elsewhere" },
	[XVT_VMM_GONE] = { 0, XVT_NOTE_ENDED, "its VMM has ended" },
};

static uint32_t level_of(const struct xvt_vmm_report *r)
{
	/*
	 * A killed VMM (-EPIPE) or libvirtd (-ENOTCONN) does not fail the recording. If it was
	 * never heard, or sent nonsense, the trace lacks what the user asked for, and the exit
	 * status has to show that.
	 */
	if (r->err)
		return r->err == -EPIPE || r->err == -ENOTCONN ? 1 : 2;
	return words[r->event].level;
}

#define SECONDS_LEN 32

static const char *seconds(char text[SECONDS_LEN], uint64_t ns)
{
	snprintf(text, SECONDS_LEN, "%" PRIu64 ".%09" PRIu64, ns / (uint64_t)SECOND_NS,
		 ns % (uint64_t)SECOND_NS);
	return text;
}

uint64_t xvt_session_vm_last_ns(const struct xvt_vm *vm)
{
	uint64_t last_ns = 0;
	uint32_t i;

	/* The counters begin anew in each file of a set. */
	for (i = 0; i < nr_rings(vm); i++) {
		if (vm->rings[i])
			last_ns = xvt_u64_larger(last_ns, vm->rings[i]->head.last_ns);
	}
	return last_ns;
}

/* Only a change of state within the machine's recording is one for readers. */
static enum xvt_note_kind kind_of(const struct xvt_vm *vm, const struct xvt_vmm_report *r)
{
	const bool first = !vm->vmm.any_report && !vm->vmm.paused && !r->realtime_ns;

	if (vm->span.end_clock || (r->event == XVT_VMM_RUNNING && first))
		return XVT_NOTE_TEXT;
	return r->err && r->err != -EPIPE ? XVT_NOTE_UNKNOWN : words[r->event].kind;
}

static void tell_event(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_vmm_report *r,
		       uint64_t at_ns)
{
	struct xvt_state_note n = { .level = level_of(r),
				    .kind = kind_of(vm, r),
				    .at_ns = at_ns,
				    .before = words[r->event].text,
				    .why = r->why,
				    .after = "" };
	char at[SECONDS_LEN], pause[SECONDS_LEN], text[3 * SECONDS_LEN + 32];
	const bool again = r->event == XVT_VMM_RUNNING && vm->vmm.paused;

	seconds(at, at_ns);
	if (r->err) {
		n.before = "nothing is known of its pauses from here on";
	} else if (again) {
		snprintf(text, sizeof(text), "%s again after %s s, at %s", n.before,
			 seconds(pause, pause_until(s, vm, at_ns)), at);
		n.before = text;
	} else {
		snprintf(text, sizeof(text), ", at %s", at);
		n.after = text;
	}
	if (again)
		n.since_ns = at_ns - pause_until(s, vm, at_ns);
	else if (n.kind == XVT_NOTE_CRASHED || n.kind == XVT_NOTE_SHUTDOWN ||
		 xvt_note_is_end(n.kind))
		n.since_ns = xvt_session_vm_last_ns(vm);
	xvt_session_note_state(s, vm, &n);
}

void xvt_vm_depart(struct xvt_vm *vm, const char *how, const char *why)
{
	vm->vmm.departed = how;
	snprintf(vm->vmm.departed_why, sizeof(vm->vmm.departed_why), "%.63s", why);
	vm->vmm.departed_seconds = 0;
}

void xvt_vm_is_here(struct xvt_vm *vm)
{
	vm->vmm.departed = NULL;
}

/* Returns true for a report that only a machine makes that is here. A machine whose kernel panicked
 * may still be paused, and run without it. */
static bool shows_life(const struct xvt_vm *vm, enum xvt_vmm_event event)
{
	if (vm->panic.dead)
		return event == XVT_VMM_RESET;
	return event != XVT_VMM_GONE && event != XVT_VMM_MIGRATED_AWAY &&
	       event != XVT_VMM_RENAMED && event != XVT_VMM_SHUTTING_DOWN;
}

/* Apply the report to the panic. Returns true if it is one of which the guest has told. */
static bool follow_panic(struct xvt_session *s, struct xvt_vm *vm, enum xvt_vmm_event event)
{
	if (event == XVT_VMM_PANICKED) {
		vm->generation.known = false; /* the report came since the last pass */
		return !xvt_panic_by_vmm(&vm->panic.told, xvt_vm_generation(s, vm));
	}
	if (event == XVT_VMM_RESET)
		xvt_panic_reset(&vm->panic.told);
	if (event == XVT_VMM_RESET || event == XVT_VMM_GONE)
		vm->panic.dead = false;
	return false;
}

void xvt_session_vm_event(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_vmm_report *r)
{
	uint64_t at_ns;
	bool exact, known;

	if (r->event == XVT_VMM_VCPU) {
		xvt_session_kernel_vcpu(s, vm, r->vcpu, r->tid);
		return;
	}
	at_ns = moment(s, vm, r->realtime_ns, &exact);
	known = follow_panic(s, vm, r->event);
	if (!known)
		tell_event(s, vm, r, at_ns);
	if (shows_life(vm, r->event))
		xvt_vm_is_here(vm);
	vm->since.rests = xvt_vmm_rests(r, vm->since.rests);
	xvt_session_unpark_vm(s, vm);
	switch (r->event) {
	case XVT_VMM_STOPPED:
		vm->vmm.vcpus_off = true;
		if (!vm->vmm.paused) {
			pause_begins(s, vm, at_ns, !vm->vmm.any_report && !r->realtime_ns);
			vm->vmm.pause_stamp_ns = exact ? at_ns + WALL_NS : 0;
			ask_epoch(vm);
		}
		break;
	case XVT_VMM_RUNNING:
		vm->vmm.vcpus_off = false;
		if (vm->vmm.paused)
			stood_still(vm, exact ? at_ns : 0);
		pause_ends(s, vm, at_ns);
		measure_at_once(vm);
		break;
	case XVT_VMM_ARRIVED:
		vm->vmm.arrived = true;
		measure_at_once(vm);
		break;
	case XVT_VMM_RESET:
	case XVT_VMM_WOKEN:
		vm->vmm.vcpus_off = false;
		measure_at_once(vm);
		break;
	case XVT_VMM_GONE:
		if (!vm->vmm.departed && (!r->err || r->err == -EPIPE))
			xvt_vm_depart(vm, "ended", r->why);
		vm->since.crashed |= r->err == -EPIPE;
		vm->vmm.vcpus_off = r->err != -ENOTCONN;
		pause_ends(s, vm, at_ns);
		break;
	case XVT_VMM_MIGRATED_AWAY:
		/* the machine's later state is not visible to this recorder */
		xvt_vm_depart(vm, "moved", r->why);
		vm->vmm.vcpus_off = true;
		pause_ends(s, vm, at_ns);
		break;
	case XVT_VMM_PANICKED:
		vm->since.crashed |= !known;
		break;
	case XVT_VMM_VCPU:
	case XVT_VMM_SUSPENDED: /* the guest's own doing, no pause */
	case XVT_VMM_SHUTTING_DOWN:
	case XVT_VMM_RENAMED:
		break;
	}
	xvt_session_page_event(vm, r->event, at_ns);
	vm->vmm.any_report = true;
}

static void tell_found_paused(struct xvt_session *s, struct xvt_vm *vm)
{
	char at[SECONDS_LEN], after[SECONDS_LEN + 8];
	const struct xvt_state_note n = { .kind = XVT_NOTE_PAUSED,
					  .at_ns = vm->vmm.paused_at_ns,
					  .before = "stopped",
					  .why = "before its recording began",
					  .after = after };

	snprintf(after, sizeof(after), ", at %s", seconds(at, vm->vmm.paused_at_ns));
	xvt_session_note_state(s, vm, &n);
}

void xvt_vm_unseen(struct xvt_session *s, struct xvt_vm *vm, const char *why)
{
	const struct xvt_state_note n = { .level = 1,
					  .kind = XVT_NOTE_UNKNOWN,
					  .at_ns = host_ns(s, vm->span.end_clock),
					  .since_ns = xvt_session_vm_last_ns(vm),
					  .before = "",
					  .why = why,
					  .after = "" };

	xvt_session_note_state(s, vm, &n);
}

void xvt_vm_hand_over(struct xvt_session *s, struct xvt_vm *vm, struct xvt_vm *next)
{
	if (vm->vmm.paused) {
		pause_begins(s, next, 0, true);
		tell_found_paused(s, next);
	}
	pause_ends(s, vm, host_ns(s, next->span.begin_clock));
	next->vmm.vcpus_off = next->vmm.paused;
	next->vmm.any_report = vm->vmm.any_report;
}

void xvt_session_vmm_report(void *arg, const struct xvt_vmm_report *r)
{
	struct xvt_vm *vm = arg;
	const bool ended = r->event == XVT_VMM_GONE && r->err != -ENOTCONN && vm->vmm.listener &&
			   vm->vmm.listener->ops->sees_starts;

	if (r->event == XVT_VMM_GONE)
		vm->vmm.lost = r->err != 0;
	while (vm->chain.next) /* the file was replaced: the VMM reports about the newest machine */
		vm = vm->chain.next;
	vm->vmm.ended = ended || (vm->vmm.ended && r->event == XVT_VMM_RENAMED);
	xvt_session_vm_event(vm->session, vm, r);
}

void xvt_session_vm_listens(struct xvt_vm *vm, struct xvt_vmm *listener)
{
	if (vm->vmm.listener)
		vm->vmm.listener->ops->close(vm->vmm.listener);
	vm->vmm.listener = listener;
	vm->vmm.lost = false;
}

bool xvt_session_vm_unheard(const struct xvt_vm *vm)
{
	return vm->vmm.listener && vm->vmm.lost;
}

void xvt_session_vm_stop_listening(struct xvt_session *s, struct xvt_vm *vm)
{
	xvt_session_wake_leave(s, vm);
	if (vm->vmm.listener)
		vm->vmm.listener->ops->close(vm->vmm.listener);
	vm->vmm.listener = NULL;
}

void xvt_session_stop_listening(struct xvt_session *s)
{
	size_t i;

	xvt_session_wake_end(s);
	for (i = 0; i < s->nr_vms; i++)
		xvt_session_vm_stop_listening(s, s->vms[i]);
}
