/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parts.h - what session.c (passes, the end), machine.c (machines), vmm_events.c
 * (what their VMMs tell), clocks.c (clocks of rings), phase.c (their phases),
 * scan.c (who has something to do), marks.c,
 * kvm.c, status.c and notes.c know of each other. Nobody else includes it.
 */
#ifndef XVT_SESSION_PARTS_H
#define XVT_SESSION_PARTS_H

#include "session/session.h"

#define SECOND_NS	   1000000000ull
#define XVT_WAIT_FORMAT_NS 50000000ull /* between two looks at a region without format */

/* Host clock values are read at different moments of a pass; a later one is "not yet". */
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

/* --- notes.c --- */

/* A note goes to the person who watches and into the file. vm may be NULL, ring UINT32_MAX. */
void xvt_session_note(struct xvt_session *s, uint32_t level, struct xvt_vm *vm, uint32_t ring,
		      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* How many were left out since that was last said: once a minute, and at the end. */
void xvt_session_notes_left_out(struct xvt_session *s, struct xvt_vm *vm, uint64_t now, bool final);
/* --- space.c --- */

/* For the merge: true while the file cannot take more events, which a later pass emits. */
bool xvt_session_hold(void *session);
/* There is no space on the disk. */
bool xvt_session_disk_full(const struct xvt_session *s);
/* Before a batch of events: is each to be asked for by xvt_session_may_write(), and are the drops
 * of its ring to be put before it? */
bool xvt_session_space_limited(struct xvt_session *s);
/* Has the machine so many bytes left of its part of the space? Then they are used. */
bool xvt_session_may_write(struct xvt_session *s, struct xvt_vm *vm, uint64_t bytes);
/* What it said yes to was not written after all. */
void xvt_session_not_written(struct xvt_session *s, const struct xvt_vm *vm, uint64_t bytes);
/* These are not written: the events of a run in the window, or a LOST. Counted, until a LOST record
 * says so. */
void xvt_session_drop_run(struct xvt_session *s, const struct xvt_run *run);
void xvt_session_drop_lost(struct xvt_session *s, struct xvt_ring *r, const struct xvt_lost *lost,
			   uint64_t guest_clock);
/* That record; of one ring, of all. Returns 0 or -errno of the trace. */
int xvt_session_put_drops(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_put_all_drops(struct xvt_session *s);
/* At the end of a pass, and once a second. */
void xvt_session_look_at_space(struct xvt_session *s);
void xvt_session_space_second(struct xvt_session *s);

/* --- status.c --- */

/* A second is over, and its counters stand in the file: how did it go? */
void xvt_session_status_second(struct xvt_session *s, uint64_t now);
/* For the disk, ever. */
uint64_t xvt_session_waited_ns(const struct xvt_session *s);
/* r->stats are about to be r->told_stats; `second_over`: because a second is over. */
void xvt_session_status_count(const struct xvt_session *s, struct xvt_ring *r, bool second_over);

/* --- machine.c --- */

/* Nothing is read from this machine any more; its rings hold nobody back. */
void xvt_vm_gone(struct xvt_session *s, struct xvt_vm *vm, const char *why);
/* Look whether the guest has formatted its region by now, and attach. Returns 0 (attached or
 * still waiting) or -errno with the reason in `why`. */
int xvt_vm_try_attach(struct xvt_session *s, struct xvt_vm *vm, char *why, size_t why_size);
/* At the end: what was attempted in rings that are not recorded. */
void xvt_vm_tell_unrecorded(struct xvt_session *s, struct xvt_vm *vm);
/* What may keep a machine's region from being formatted: "; ...", or "". */
const char *xvt_vm_absent_hint(const struct xvt_vm *vm);
/* All but its rings, which the session has. */
void xvt_vm_free(struct xvt_vm *vm);
/* The region says that a host is there. */
void xvt_vm_tell_attached(const struct xvt_session *s, struct xvt_vm *vm);
/* VM and RING chunks; written again when something in them changes. What a guest changes in its
 * ring's, at most once a second. */
void xvt_vm_announce(struct xvt_session *s, const struct xvt_vm *vm);
void xvt_ring_announce(struct xvt_session *s, struct xvt_ring *r);
/* Those RING chunks that came too soon after the ones before, if a second has passed since then; at
 * the end all of them. Reads no word of a region. */
void xvt_session_announce_late(struct xvt_session *s, bool final);
/* Copy new metadata into the trace, at most about a MiB at a time. */
void xvt_vm_read_metadata(struct xvt_session *s, struct xvt_vm *vm);
/* Has the guest answered our request for events? */
void xvt_vm_look_for_answer(struct xvt_session *s, struct xvt_vm *vm, uint64_t now);

/* The recording ends: errors for what was asked for and is not known to be switched on. */
void xvt_vm_end_request(struct xvt_session *s, struct xvt_vm *vm);

/* Each machine that is there has the same part of it. */
void xvt_session_share_memory(struct xvt_session *s);

/* --- replaced.c --- */

/* A machine's file is looked at once a second; of very many, each once in eight. */
static inline bool xvt_session_files_turn(const struct xvt_session *s, size_t vm)
{
	size_t turns = s->nr_vms / 64;

	turns = turns < 1 ? 1 : turns > 8 ? 8 : turns;
	return vm % turns == s->seconds % turns;
}

/* About once a second: has the file of a region gone, or has another one come in its place? */
void xvt_session_look_for_files(struct xvt_session *s, uint64_t now);

/* --- stall.c --- */

/* What a machine may hold the others back by at any time: a part of the stall time-out. */
uint64_t xvt_session_free_wait_ns(const struct xvt_session *s);
/* The machine has its rings: it begins with the whole budget. */
void xvt_session_stall_attach(const struct xvt_session *s, struct xvt_vm *vm);
/* Once a pass, after the look at all machines: which of them has used its budget up? held: nothing
 * could go out in this pass, for the disk holds all of them up. */
void xvt_session_stall(struct xvt_session *s, uint64_t now, bool held);

/* --- vmm_events.c --- */

/* Its VMM told something. */
void xvt_session_vm_event(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_vmm_report *r);
/* As far as its VMM has told: its vCPUs stand still, so its silence means nothing. */
bool xvt_vm_stopped(const struct xvt_vm *vm);
/* How long it stood still within the recording, the pause that lasts included. */
uint64_t xvt_vm_paused_ns(const struct xvt_session *s, const struct xvt_vm *vm);
/* End all listeners: the loop runs, so the session must still be whole. */
void xvt_session_stop_listening(struct xvt_session *s);

/* --- exact.c --- */

/* A measurement begins: what do the exact sources say now? */
void xvt_session_exact_begin(struct xvt_session *s, struct xvt_ring *r);
/* It has ended: if a source said the same before and after it and agrees, its node is exact. */
void xvt_session_exact_refine(struct xvt_session *s, struct xvt_ring *r,
			      struct xvt_clock_measure *m);
/* The map has that node; it may be an exact one. */
void xvt_session_exact_added(struct xvt_ring *r, const struct xvt_clock_node *node);
/* Does the source of the ring's last exact node still say the same, and is that node of the newest
 * epoch? */
bool xvt_session_exact_holds(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_exact_close(struct xvt_vm *vm);
/* Is its VMM one of KVM's? */
bool xvt_session_exact_kvm(const struct xvt_vm *vm);
/* And is that thread one of the VMM's? */
bool xvt_session_exact_thread(const struct xvt_vm *vm, int32_t tid);

/* --- kvm.c --- */

struct xvt_ftrace_event;

/* Once a pass: what has the host's kernel told of KVM since the last time? */
void xvt_session_kvm_look(struct xvt_session *s, uint64_t now);
/* The ring's guest has answered: every change of its clock until then is known after this. */
void xvt_session_kvm_hear(struct xvt_session *s, const struct xvt_ring *r);
/* One thing that it tells, each CPU's in order; and all told until then have their place. */
void xvt_session_kvm_take(struct xvt_session *s, const struct xvt_ftrace_event *e);
void xvt_session_kvm_settle(struct xvt_session *s, uint64_t until_clock);
/* The last of it, into the trace. */
void xvt_session_kvm_end(struct xvt_session *s);

/* --- page.c --- */

/* Begin a ring's clock pages, and its file if one was asked for; a failure is a note. */
void xvt_session_page_open(struct xvt_session *s, struct xvt_ring *r);
/* What the VMM tells, to all pages of the machine. */
void xvt_session_page_event(struct xvt_vm *vm, enum xvt_vmm_event event, uint64_t at_ns);

/* --- sleep.c --- */

/* No recorder sleeps: what a dead one left in the region is cleared. */
void xvt_session_wake_attach(const struct xvt_vm *vm);
/* A pass begins. */
void xvt_session_got_up(struct xvt_session *s, uint64_t now);
/* And ends, with a sleep of gap_ns due; `asking`: that is short, for a guest is asked for its
 * clock. Returns how long it may be, and has asked the guests to end it if that is longer. */
uint64_t xvt_session_sleep(struct xvt_session *s, uint64_t gap_ns, bool asking);
/* The loop runs, so the session must still be whole. */
void xvt_session_wake_end(struct xvt_session *s);

/* --- marks.c --- */

/* The ring's writer is there: ask it for a mark when it is time. */
void xvt_session_mark(struct xvt_ring *r);
/* Has it written the mark that is open? */
void xvt_session_mark_look(struct xvt_ring *r);
/* What was seen since the last call goes into the trace. */
void xvt_session_put_marks(struct xvt_session *s);

/* --- snapshot.c --- */

/*
 * Of a snapshot, before the cut is made: make it now, or wait (false) for the machines' clocks.
 */
bool xvt_session_cut(struct xvt_session *s, uint64_t now);
/* After a turn of copying: is another one due at once, before anything else is done? */
bool xvt_session_cut_copying(struct xvt_session *s);
/* Is all there that belongs to it, or is the time up? */
bool xvt_session_cut_over(struct xvt_session *s, uint64_t now);

/* --- scan.c --- */

/*
 * Who is awake: all rings that something has happened to since the last pass, or may have; in
 * order of (VM, ring). A look at the others costs three loads. Fills s->awake, s->rest_ns.
 */
void xvt_session_drain(struct xvt_session *s, uint64_t now);
/* Room for what is kept of a machine's rings, before they are there. Returns 0 or -ENOMEM. */
int xvt_session_rest_room(struct xvt_session *s, struct xvt_vm *vm);
/* Of a snapshot: rings that hold nothing and have no clock do not. */
bool xvt_session_takes_part(const struct xvt_session *s, const struct xvt_ring *r);
/* It takes part in the next pass, whatever its words say. */
void xvt_session_wake(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_wake_vm(struct xvt_session *s, struct xvt_vm *vm);
/* The end of a pass: who has nothing to do any more? */
void xvt_session_rest(struct xvt_session *s);

/* --- clocks.c --- */

#define XVT_BURST_EVERY_NS 100000000ull /* clock measurement of a ring, if nothing else is said */
/* No answer for so long: what waits is placed by what the drain saw of it. */
#define XVT_QUIET_NS	   (4 * XVT_BURST_EVERY_NS)

/* Look after all clocks whose turn it is. Returns true if that should go on within 100 us. */
bool xvt_session_clocks(struct xvt_session *s, uint64_t now);
/* How often is a ring measured that needs it, in ns: where that is most often. */
uint64_t xvt_session_least_pace_ns(const struct xvt_session *s);
/* When do they have to be looked after next, if nothing happens? */
static inline uint64_t xvt_session_clocks_due(const struct xvt_session *s)
{
	return (int64_t)(s->next_scan_clock - s->clocks_due) > 0 ? s->next_scan_clock
								 : s->clocks_due;
}
/*
 * Long work goes on: has somebody answered meanwhile? A guest stays 200 us for the questions that
 * follow, and those are asked here; what they say is looked at in the next pass, so no map changes.
 * To be called every few microseconds.
 */
void xvt_session_meet(struct xvt_session *s);
/* The machine's region is about to go: no word of it is looked at any more. */
void xvt_session_clock_forget(struct xvt_session *s, const struct xvt_vm *vm);
/* How many rings' clocks are measured at a time, at most. */
static inline size_t xvt_session_asked_most(const struct xvt_session *s)
{
	size_t part = s->nr_rings / XVT_ASKED_PART;

	return part < XVT_ASKED_LEAST ? XVT_ASKED_LEAST
	       : part > XVT_ASKED_MAX ? XVT_ASKED_MAX
				      : part;
}
/* One ring's: measured when it is time; a ring with a clock goes live. */
void xvt_session_ring_clock(struct xvt_session *s, struct xvt_ring *r, uint64_t now);
/* Something has happened to the ring: when is it its turn, at the latest? */
void xvt_session_clock_soon(struct xvt_session *s, const struct xvt_ring *r, uint64_t now);
/* There will be so many rings. Returns 0 or -ENOMEM. */
int xvt_session_clock_room(struct xvt_session *s, size_t rings);
/* About once a second: how often are clocks measured from now on? */
void xvt_session_pace(struct xvt_session *s, uint64_t elapsed);
/* The node that the ring made of its own records goes into the trace: before the first event that
 * it places, for the file may end anywhere; at the latest at the end of a pass. */
void xvt_session_ring_witness_first(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_ring_witness(struct xvt_session *s, struct xvt_ring *r);

/* --- phase.c --- */

/* It has a clock: it takes part. */
void xvt_session_ring_live(struct xvt_session *s, struct xvt_ring *r);
/* For how many ticks has it owed us an answer? */
uint64_t xvt_session_silence(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now);
/*
 * At the end, before maps are closed: a ring that never got a clock. Its newest record has the time
 * at which it had been copied, those before it by their own ticks, at the machine's rate. They
 * may be older by anything since the host was booted, and nothing confirms them.
 */
void xvt_session_ring_clockless(struct xvt_session *s, struct xvt_ring *r);
/* Who is silent or stuck is set aside, who left in order is done, who returns is live. */
void xvt_session_ring_phase(struct xvt_session *s, struct xvt_ring *r, uint64_t now);

#endif /* XVT_SESSION_PARTS_H */
