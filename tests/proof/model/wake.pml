/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wake.pml - need_wake: the host asks to be woken and sleeps, the writer rings at its next
 * sub-buffer. Each stores one word and loads the other's (Dekker), so both need a full fence.
 *
 *   guest()  the end of xvt_writer_leave() in shared/xvt_writer.h
 *   host()   what struct xvt_ring_host says of need_wake in shared/xvt_abi.h: the host's fence
 *            between setting need_wake and its last look at commit
 *
 * The property: when the writer is done, the host has everything. A host that sleeps for ever
 * is an end state that spin calls invalid. With -DLIVE the same as a formula: it always
 * comes to have everything.
 *
 * Fences: WRITER_MB and HOST_MB; and LAST_LOOK, and SECOND_LOOK of xvt_writer_leave().
 * (That crossed is cleared before need_wake is read, not after, makes no difference here: an
 * interrupt that crosses in between is outermost itself and looks for itself.)
 */
#define CPUS  2
#ifndef EVENTS
#define EVENTS 3 /* in all, */
#endif
#ifndef IRQ_EVENTS
#define IRQ_EVENTS 1 /* of them in interrupts */
#endif
#define LOCS	  2
#define COMMIT	  0
#define NEED_WAKE 1
#ifdef TSO
#ifndef DEPTH
#define DEPTH 3
#endif
#else
#define DEPTH (4 * EVENTS + 4)
#endif
#define GUEST 0
#define HOST  1
#include "memory.pml"

byte doorbell; /* rings that are not taken yet, as an eventfd counts them */
byte taken;

#ifdef NO_WRITER_MB
#define WRITER_MB() skip
#else
#define WRITER_MB() MB(GUEST)
#endif
#ifdef NO_HOST_MB
#define HOST_MB() skip
#else
#define HOST_MB() MB(HOST)
#endif

/* Of the guest's CPU alone, so as it stands: an interrupt runs to its end wherever it comes. */
byte nest;
byte made;    /* resv; each event opens a sub-buffer */
bool crossed; /* w->crossed: a sub-buffer was opened since the last look at need_wake */
bool in_irq;

inline event()
{
	nest++;
	atomic { made++; crossed = true }
	do
	:: nest > 1 -> nest--; break
	:: else ->
		resv = made;
		STORE_RELEASE(GUEST, COMMIT, resv);
		nest = 0;
		if
#ifdef NO_SECOND_LOOK
		:: true -> goto outermost
#endif
		:: made == resv -> goto outermost
		:: else -> nest = 1
		fi
	od;
	goto out;
outermost:
	if
	:: crossed ->
		crossed = false;
		WRITER_MB();
		LOAD(GUEST, NEED_WAKE, asked);
		if
		:: asked -> doorbell++
		:: else -> skip
		fi
	:: else -> skip
	fi;
out:
	atomic { asked = 0; resv = 0 }
}

active proctype task() provided (!in_irq)
{
	byte asked, resv, n;

	do
	:: n < EVENTS - IRQ_EVENTS -> event(); n++
	:: else -> break
	od
}

active proctype irq()
{
	byte asked, resv, n;

	do
	:: n < IRQ_EVENTS -> in_irq = true; event(); n++; in_irq = false
	:: else -> break
	od
}

active proctype host()
{
	byte commit;

	do
	:: taken < EVENTS ->
		LOAD_ACQUIRE(HOST, COMMIT, commit);
		if
		:: commit > taken -> taken = commit
		:: else ->
			STORE(HOST, NEED_WAKE, 1);
			HOST_MB();
#ifndef NO_LAST_LOOK
			LOAD_ACQUIRE(HOST, COMMIT, commit);
#endif
			if
			:: commit > taken -> taken = commit
			:: else -> atomic { doorbell > 0 -> doorbell = 0 } /* sleeps until then */
			fi;
			STORE(HOST, NEED_WAKE, 0)
		fi;
		commit = 0
	:: else -> break
	od
}

#ifdef LIVE
ltl everything { <> (taken == EVENTS) }
#endif
