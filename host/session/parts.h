/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parts.h - interfaces between the files of session/: session.c (passes), end.c, emit.c,
 * checkpoint.c, machine.c
 * (machines), vmm_events.c (reports of their VMMs), clocks.c (ring clocks), phase.c (ring phases),
 * scan.c (which rings have work), marks.c, kvm.c, status.c, notes.c and the others below. No file
 * outside this folder includes it.
 */
#ifndef XVT_SESSION_PARTS_H
#define XVT_SESSION_PARTS_H

#include "session/session.h"

#define SECOND_NS	   1000000000ull
#define XVT_WAIT_FORMAT_NS 50000000ull /* between two checks of an unformatted region */

/* Returns now - then, or 0 if `then` is later: a pass compares clock values read at different
 * moments. */
static inline uint64_t since(uint64_t now, uint64_t then)
{
	return (int64_t)(now - then) > 0 ? now - then : 0;
}

static inline uint64_t sooner(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0 ? a : b;
}

static inline uint64_t ticks(const struct xvt_session *s, uint64_t ns)
{
	return xvt_host_clock_ticks(&s->clock, ns);
}

/* --- session.c --- */

/* Start to emit events, if they are not emitted yet: the session waits no longer for clocks. */
void xvt_session_join(struct xvt_session *s, uint64_t now);

/* --- emit.c --- */

void xvt_session_init_merge(struct xvt_session *s);
/* Emit what the merge can put in order now, of these rings. Returns the number of records, or
 * -errno. */
int64_t xvt_session_merge(struct xvt_session *s, struct xvt_ring *const *rings, size_t count);

/* --- checkpoint.c --- */

/* Write the STATS of rings whose counters changed; with `final` of all. While the disk is full they
 * are only shown. second_over: rates per second are due. */
void xvt_session_put_stats(struct xvt_session *s, bool second_over, bool final);
/*
 * Hand all emitted events to the file. When they are there, a commit puts their sums into the
 * regions. counters: STATS of the same moment are in the trace, so that all counters go into the
 * regions; else only the events and the losses that LOST records report.
 */
void xvt_session_stage_checkpoint(struct xvt_session *s, bool counters);
/* If the staged bytes are in the file for good: regions hold their sums, for a later recorder. */
void xvt_session_commit_checkpoint(struct xvt_session *s);
/* Commit, then stage the next checkpoint. Only one is in flight; otherwise, on a slow disk, none
 * would complete. */
void xvt_session_checkpoint(struct xvt_session *s, bool counters);
/* The same, but no more often than every 20 ms and 10 us for each ring: the cost is about ten
 * nanoseconds a ring. */
void xvt_session_checkpoint_when_due(struct xvt_session *s, uint64_t now);

/* --- host_clock.c --- */

/* Write the newest n lines of the host clock. They begin after all clock values read so far. */
void xvt_session_put_lines(struct xvt_session *s, int n);
/* Follow CLOCK_MONOTONIC. A new line is written before a time is computed with it. */
void xvt_session_follow_clock(struct xvt_session *s, uint64_t now);

/* --- notes.c --- */

/* Write a note into the trace and show it to the user. vm may be NULL; ring may be UINT32_MAX. */
void xvt_session_note(struct xvt_session *s, uint32_t level, struct xvt_vm *vm, uint32_t ring,
		      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Report how many notes of the machine were left out: at most once a minute, and at the end
 * (final). */
void xvt_session_notes_left_out(struct xvt_session *s, struct xvt_vm *vm, uint64_t now, bool final);
/* --- space.c --- */

/* For the merge: returns true while the file cannot take more events. A later pass emits them. */
bool xvt_session_hold(void *session);
/* Returns true if the disk has no space. */
bool xvt_session_disk_full(const struct xvt_session *s);
/* To be called before a batch of events. Returns true if each event needs xvt_session_may_write(),
 * and xvt_session_put_drops() of its ring before it. */
bool xvt_session_space_limited(struct xvt_session *s);
/* Reserve `bytes` of the machine's share of the space. Returns false if the share has less left. */
bool xvt_session_may_write(struct xvt_session *s, struct xvt_vm *vm, uint64_t bytes);
/* Return a reservation that was not written. */
void xvt_session_not_written(struct xvt_session *s, const struct xvt_vm *vm, uint64_t bytes);
/* Count events that are not written: those of a run in the window, or a LOST. A LOST record reports
 * the counts later. */
void xvt_session_drop_run(struct xvt_session *s, const struct xvt_run *run);
void xvt_session_drop_lost(struct xvt_session *s, struct xvt_ring *r, const struct xvt_lost *lost,
			   uint64_t guest_clock);
/* Write the LOST record of dropped events of one ring (returns 0 or -errno of the trace), or of all
 * rings. */
int xvt_session_put_drops(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_put_all_drops(struct xvt_session *s);
/* Checks of the space: at the end of each pass, and once a second. */
void xvt_session_look_at_space(struct xvt_session *s);
void xvt_session_space_second(struct xvt_session *s);

/* --- status.c --- */

/* Update rates, lags and notes. To be called when a second is over and its counters are in the
 * trace. */
void xvt_session_status_second(struct xvt_session *s, uint64_t now);
/* Returns the time waited for the disk since the start, in ns. */
uint64_t xvt_session_waited_ns(const struct xvt_session *s);
/* Add r->stats minus r->reported_stats to the ring's rates, before the caller sets reported_stats.
 * second_over: the counters are those at the end of a second. */
void xvt_session_status_count(const struct xvt_session *s, struct xvt_ring *r, bool second_over);

/* --- machine.c --- */

/* Stop reading this machine. Its rings no longer hold the others back. */
void xvt_vm_gone(struct xvt_session *s, struct xvt_vm *vm, const char *why);
/* Attach if the guest has formatted its region. Returns 0 (attached or still waiting) or -errno
 * with the reason in `why`. */
int xvt_vm_try_attach(struct xvt_session *s, struct xvt_vm *vm, char *why, size_t why_size);
/* At the end: report the events attempted in rings that are not recorded. */
void xvt_vm_tell_unrecorded(struct xvt_session *s, struct xvt_vm *vm);
/* Returns a hint why a machine's region may not be formatted: ". ...", or "". */
const char *xvt_vm_absent_hint(const struct xvt_vm *vm);
/* Free a machine without its rings, which belong to the session. */
void xvt_vm_free(struct xvt_vm *vm);
/* Set the region's attach_id, by which the guest knows that a host is attached. */
void xvt_vm_tell_attached(const struct xvt_session *s, struct xvt_vm *vm);
/* Write VM and RING chunks, again when a field changes. A change by the guest of its ring's fields
 * is written at most once a second. */
void xvt_vm_announce(struct xvt_session *s, const struct xvt_vm *vm);
void xvt_ring_announce(struct xvt_session *s, struct xvt_ring *r);
/* Write the RING chunks that were delayed to one a second and are due; with final, all of them.
 * Reads no word of a region. */
void xvt_session_announce_late(struct xvt_session *s, bool final);
/* Copy new metadata into the trace, at most about a MiB at a time. */
void xvt_vm_read_metadata(struct xvt_session *s, struct xvt_vm *vm);
/* Check for the guest's answer to the open request for events; send the next one. */
void xvt_vm_look_for_answer(struct xvt_session *s, struct xvt_vm *vm, uint64_t now);

/* At the end: report each requested event that is not known to be switched on, as an error. */
void xvt_vm_end_request(struct xvt_session *s, struct xvt_vm *vm);

/* Divide the memory equally between the machines that are not gone. */
void xvt_session_share_memory(struct xvt_session *s);

/* --- replaced.c --- */

/* Returns true if the machine's file is to be checked in this second. Each file is checked once a
 * second; with very many machines, once in up to eight seconds. */
static inline bool xvt_session_files_turn(const struct xvt_session *s, size_t vm)
{
	size_t turns = s->nr_vms / 64;

	turns = turns < 1 ? 1 : turns > 8 ? 8 : turns;
	return vm % turns == s->seconds % turns;
}

/* About once a second: detect region files that were deleted or replaced. */
void xvt_session_look_for_files(struct xvt_session *s, uint64_t now);

/* --- stall.c --- */

/* Time by which a machine may always hold the others back: a part of the stall time-out, in ns. */
uint64_t xvt_session_free_wait_ns(const struct xvt_session *s);
/* A machine is attached: give it the whole budget. */
void xvt_session_stall_attach(const struct xvt_session *s, struct xvt_vm *vm);
/* Once a pass, after the scan: charge the machines' budgets and bar machines whose budget is used
 * up. held: the disk kept every event back in this pass, so no machine is charged. */
void xvt_session_stall(struct xvt_session *s, uint64_t now, bool held);

/* --- vmm_events.c --- */

/* Process a report of the machine's VMM. */
void xvt_session_vm_event(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_vmm_report *r);
/* Returns true if the machine's vCPUs are stopped, by its VMM's reports. Silence of a stopped
 * machine is no fault. */
bool xvt_vm_stopped(const struct xvt_vm *vm);
/* Time that the machine was stopped within the recording, a current pause included, in ns. */
uint64_t xvt_vm_paused_ns(const struct xvt_session *s, const struct xvt_vm *vm);
/* Close all VMM listeners and doorbells. This runs the loop, so the session must still be whole. */
void xvt_session_stop_listening(struct xvt_session *s);

/* --- exact.c --- */

/* A measurement begins: read the formulas of the exact sources. */
void xvt_session_exact_begin(struct xvt_session *s, struct xvt_ring *r);
/* A measurement ended: make its node exact, if a source gave the same formula before and after it
 * and the samples agree. */
void xvt_session_exact_refine(struct xvt_session *s, struct xvt_ring *r,
			      struct xvt_clock_measure *m);
/* Note that `node`, which may be an exact one, is in the map. */
void xvt_session_exact_added(struct xvt_ring *r, const struct xvt_clock_node *node);
/* Returns true if the source of the ring's last exact node still gives the same formula, and that
 * node is of the newest epoch. */
bool xvt_session_exact_holds(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_exact_close(struct xvt_vm *vm);
/* Returns true if the machine is known to KVM. */
bool xvt_session_exact_kvm(const struct xvt_vm *vm);
/* Returns true if thread tid belongs to the machine's VMM. */
bool xvt_session_exact_thread(const struct xvt_vm *vm, int32_t tid);

/* --- kvm.c --- */

struct xvt_ftrace_event;

/* Once a pass: read the host kernel's KVM events, when due. */
void xvt_session_kvm_look(struct xvt_session *s, uint64_t now);
/* The ring's guest has answered: read all KVM events, so that every earlier change of the ring's
 * clock is known. */
void xvt_session_kvm_hear(struct xvt_session *s, const struct xvt_ring *r);
/* Take one KVM event. Events of one CPU come in order. */
void xvt_session_kvm_take(struct xvt_session *s, const struct xvt_ftrace_event *e);
/* Process, in order of time, the events taken so far that are older than until_clock. */
void xvt_session_kvm_settle(struct xvt_session *s, uint64_t until_clock);
/* Write the remaining spans into the trace, and close. */
void xvt_session_kvm_end(struct xvt_session *s);

/* --- page.c --- */

/* Begin a ring's clock pages, and its file if the user asked for one. A failure is a note. */
void xvt_session_page_open(struct xvt_session *s, struct xvt_ring *r);
/* Apply a VMM event to all clock pages of the machine. */
void xvt_session_page_event(struct xvt_vm *vm, enum xvt_vmm_event event, uint64_t at_ns);

/* --- sleep.c --- */

/* Clear need_wake and the doorbell word, which a dead recorder may have left set. */
void xvt_session_wake_attach(const struct xvt_vm *vm);
/* A pass begins: end the sleep. */
void xvt_session_got_up(struct xvt_session *s, uint64_t now);
/*
 * A pass ends with a wait of gap_ns due. `asking`: the wait is short because a clock request is
 * open. Returns how long the caller may wait, in ns; for a longer wait it has asked the guests to
 * ring.
 */
uint64_t xvt_session_sleep(struct xvt_session *s, uint64_t gap_ns, bool asking);
/* Close the doorbells. This runs the loop, so the session must still be whole. */
void xvt_session_wake_end(struct xvt_session *s);

/* --- marks.c --- */

/* The ring's writer is present: request a mark if one is due. */
void xvt_session_mark(struct xvt_ring *r);
/* Check whether the writer has written the requested mark. */
void xvt_session_mark_look(struct xvt_ring *r);
/* Write the marks seen since the last call into the trace. */
void xvt_session_put_marks(struct xvt_session *s);

/* --- snapshot.c --- */

/* Snapshot, before the cut: make the cut. Returns false while machines' clocks are still
 * awaited. */
bool xvt_session_cut(struct xvt_session *s, uint64_t now);
/* Snapshot: returns true if another copy pass is due before any other work. */
bool xvt_session_cut_copying(struct xvt_session *s);
/* Snapshot: returns true if it is complete, or the time is up. */
bool xvt_session_cut_over(struct xvt_session *s, uint64_t now);

/* --- scan.c --- */

/*
 * Scan and drain all machines. Fills s->awake with the active rings, in order of (VM, ring): those
 * with a change since the last pass, or a possible one. Fills s->rest_ns with the bound of the
 * parked rings. An unchanged parked ring costs three loads.
 */
void xvt_session_drain(struct xvt_session *s, uint64_t now);
/* Allocate the scan's state for a machine's rings, before they are attached. Returns 0
 * or -ENOMEM. */
int xvt_session_rest_room(struct xvt_session *s, struct xvt_vm *vm);
/* Returns true if the ring is processed. In a snapshot, rings without records and without a clock
 * are not. */
bool xvt_session_takes_part(const struct xvt_session *s, const struct xvt_ring *r);
/* Make a ring, or all rings of a machine, active in the next pass, whatever the control
 * words say. */
void xvt_session_wake(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_wake_vm(struct xvt_session *s, struct xvt_vm *vm);
/* The end of a pass: park the active rings that have no work left. */
void xvt_session_rest(struct xvt_session *s);

/* --- clocks.c --- */

#define XVT_BURST_EVERY_NS 100000000ull /* default period of a ring's clock measurements */
/* A guest silent for longer is quiet: its waiting records are placed by what the drain knows of
 * them. */
#define XVT_QUIET_NS	   (4 * XVT_BURST_EVERY_NS)

/* Service all clocks that are due. Returns true if the caller should call again within 100 us. */
bool xvt_session_clocks(struct xvt_session *s, uint64_t now);
/* Shortest period of measurements of a ring with unconfirmed records, over all machines, in ns; 0:
 * none. */
uint64_t xvt_session_least_pace_ns(const struct xvt_session *s);
/* Host clock at which xvt_session_clocks() is next due, if nothing happens before. */
static inline uint64_t xvt_session_clocks_due(const struct xvt_session *s)
{
	return (int64_t)(s->next_scan_clock - s->clocks_due) > 0 ? s->next_scan_clock
								 : s->clocks_due;
}
/*
 * Service answered clock requests during long work. A guest stays 200 us for follow-up requests,
 * which are sent here. Their answers are evaluated in the next pass, so no clock map changes. To be
 * called every few microseconds.
 */
void xvt_session_service_clocks(struct xvt_session *s);
/* Drop all pointers to words of the machine's region, which is about to be unmapped. */
void xvt_session_clock_forget(struct xvt_session *s, const struct xvt_vm *vm);
/* Largest number of rings whose clocks are measured at the same time. */
static inline size_t xvt_session_asked_most(const struct xvt_session *s)
{
	size_t part = s->nr_rings / XVT_ASKED_PART;

	return part < XVT_ASKED_LEAST ? XVT_ASKED_LEAST
	       : part > XVT_ASKED_MAX ? XVT_ASKED_MAX
				      : part;
}
/* Service one ring's clock: measure it if due. A ring whose clock becomes known goes live. */
void xvt_session_ring_clock(struct xvt_session *s, struct xvt_ring *r, uint64_t now);
/* Recompute when the ring's clock is due, after a change of the ring. */
void xvt_session_clock_soon(struct xvt_session *s, const struct xvt_ring *r, uint64_t now);
/* Make room for `rings` rings. Returns 0 or -ENOMEM. */
int xvt_session_clock_room(struct xvt_session *s, size_t rings);
/* About once a second: adapt the periods of clock measurements to the time that they take. */
void xvt_session_pace(struct xvt_session *s, uint64_t elapsed);
/*
 * Write the inferred node, which the ring made of its own records, into the trace. witness_first()
 * runs before the first event that the node places, because the trace may end at any byte.
 * witness() runs at the latest at the end of a pass.
 */
void xvt_session_put_inferred_node(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_put_inferred(struct xvt_session *s, struct xvt_ring *r);

/* --- phase.c --- */

/* The ring has a clock: make it live and enable its writer. */
void xvt_session_ring_live(struct xvt_session *s, struct xvt_ring *r);
/* Ticks since the guest should have answered this ring's clock request; 0: no answer is due. */
uint64_t xvt_session_silence(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now);
/*
 * At the end, before the maps are closed: place the records of a ring that never got a clock. Its
 * newest record gets the host time at which it was copied, the earlier ones follow from their own
 * ticks at the machine's rate. They may be older by any time since the host's boot; nothing
 * confirms their times.
 */
void xvt_session_ring_clockless(struct xvt_session *s, struct xvt_ring *r);
/* Update the ring's phase: a silent or stuck ring is set aside, one that ended in order is done,
 * one that returns is live. */
void xvt_session_ring_phase(struct xvt_session *s, struct xvt_ring *r, uint64_t now);

#endif /* XVT_SESSION_PARTS_H */
