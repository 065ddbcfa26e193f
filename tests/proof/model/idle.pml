/* SPDX-License-Identifier: GPL-2.0 */
/*
 * idle.pml - the watermark rule. One CPU writes, in task, interrupt and NMI context; the host
 * concludes from nest, resv and commit that everything stamped before a moment is below commit.
 *
 *   event()          xvt_reserve() and xvt_commit(), xvt_discard() in shared/xvt_writer.h: the
 *                    words that other contexts and the host see, in their order
 *   leave()          xvt_writer_leave()
 *   host()           xvt_ring_words() in shared/xvt_check.c, xvt_drain_look() in
 *                    host/ring/drain.c; a round is a pass of xvt_session_pass()
 *   OFF              instead: xvt_session_finish() switches recording off and concludes that
 *                    no record follows
 *
 * Stamps are the number of the round in which the clock was read. Mutants (-DNO_...): each takes
 * away one thing, and spin must find a record that comes too late, or a ring that never
 * becomes idle again.
 */
#define CPUS  2
#define LOCS  4
#ifndef DEPTH
#ifdef TSO
#define DEPTH 3
#else
#define DEPTH 10
#endif
#endif
#define NEST   0
#define RESV   1
#define COMMIT 2
#define ENABLE 3 /* 0: recording; 1: off. Written by the host */
#define GUEST  0
#define HOST   1
#include "memory.pml"

#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef TASK_EVENTS
#define TASK_EVENTS 1
#endif
#ifndef IRQ_EVENTS
#define IRQ_EVENTS 1
#endif
#ifndef NMI_EVENTS
#define NMI_EVENTS 1
#endif
#define EVENTS 4 /* positions 1 to this one are tracked */

byte round;	/* the host's clock */
byte concluded; /* rounds up to this one were proven idle */
bool off;	/* proven: no record follows */
byte stamp_at[EVENTS + 1]; /* of the record that ends at this position, + 1; 0: none */
byte running;	/* level of the context that has the CPU: an interrupt runs to its end */
byte finished;

#ifdef NO_NEST_RELEASE
#define STORE_NEST_ZERO() STORE(GUEST, NEST, 0)
#else
#define STORE_NEST_ZERO() STORE_RELEASE(GUEST, NEST, 0)
#endif
/* What is published never shrinks. (That it is a release is the business of commit.pml.) */
#define STORE_COMMIT(v) \
	atomic { ROOM(GUEST) -> assert(v >= OWN(GUEST, COMMIT)); STORE_RELEASE(GUEST, COMMIT, v) }

inline leave()
{
	nest = OWN(GUEST, NEST);
	do
	:: nest > 1 ->
		STORE(GUEST, NEST, nest - 1);
		break
	:: else ->
#ifdef NO_COMMIT_BEFORE_NEST
		STORE_NEST_ZERO();
		resv = OWN(GUEST, RESV);
		STORE_COMMIT(resv);
#else
		resv = OWN(GUEST, RESV);
		STORE_COMMIT(resv);
		STORE_NEST_ZERO();
#endif
#ifdef NO_SECOND_LOOK
		break;
#endif
		if
		:: OWN(GUEST, RESV) == resv -> break
		:: else -> nest = 1; STORE(GUEST, NEST, 1)
		fi
	od
}

/* One event. The clock is read between the look at resv and the compare-and-swap of resv. */
inline event()
{
	nest = OWN(GUEST, NEST) + 1;
	STORE(GUEST, NEST, nest);
#ifdef OFF
#ifdef NO_SECOND_ENABLE_TEST
	is_off = 0;
#else
	LOAD(GUEST, ENABLE, is_off);
#endif
#endif
	if
	:: is_off -> skip
	:: else ->
again:
		pos = OWN(GUEST, RESV);
		stamp = round;
		atomic { /* compare-and-swap */
			ROOM(GUEST) ->
			if
			:: OWN(GUEST, RESV) == pos ->
				assert(!off);
				assert(stamp >= concluded); /* else it is late */
				stamp_at[pos + 1] = stamp + 1;
				STORE(GUEST, RESV, pos + 1)
			:: else -> goto again
			fi
		};
		if
		:: skip /* commit */
		:: atomic { /* discard: the space returns when no record was reserved since */
			ROOM(GUEST) ->
			if
			:: OWN(GUEST, RESV) == pos + 1 ->
				stamp_at[pos + 1] = 0;
				STORE(GUEST, RESV, pos)
			:: else -> skip
			fi
		   }
		fi
	fi;
	leave()
}

inline events(level, count)
{
	do
	:: n < count ->
		if
		:: atomic { level == 0 || running < level -> before = running; running = level }
		fi;
#ifdef OFF
		LOAD(GUEST, ENABLE, is_off); /* the first test, at entry, proves nothing */
		if
		:: is_off -> skip
		:: else -> event()
		fi;
#else
		event();
#endif
		atomic { running = before; before = 0; n++; nest = 0; resv = 0; pos = 0; stamp = 0; is_off = 0 }
	:: else -> break
	od;
	finished++
}

/* A context goes on only while none of a higher level runs. */
proctype task() provided (running == 0)
{
	byte nest, resv, pos, stamp, before, n, is_off;
	events(0, TASK_EVENTS)
}

proctype irq() provided (running <= 1)
{
	byte nest, resv, pos, stamp, before, n, is_off;
	events(1, IRQ_EVENTS)
}

proctype nmi()
{
	byte nest, resv, pos, stamp, before, n, is_off;
	events(2, NMI_EVENTS)
}

#ifdef NO_SNAPSHOT_ACQUIRE
#define SNAPSHOT(loc, dst) LOAD(HOST, loc, dst)
#else
#define SNAPSHOT(loc, dst) LOAD_ACQUIRE(HOST, loc, dst)
#endif

byte nest_seen, resv_seen, commit_seen;

inline snapshot()
{
#ifdef NO_SNAPSHOT_ORDER
	SNAPSHOT(COMMIT, commit_seen);
	SNAPSHOT(RESV, resv_seen);
	SNAPSHOT(NEST, nest_seen);
#else
	SNAPSHOT(NEST, nest_seen);
	SNAPSHOT(RESV, resv_seen);
	SNAPSHOT(COMMIT, commit_seen);
#endif
}

#ifdef NO_RESV_TEST
#define IDLE (nest_seen == 0)
#else
#define IDLE (nest_seen == 0 && commit_seen == resv_seen)
#endif

/* Everything stamped before this round is below the commit that was loaded. */
inline conclude()
{
	d_step {
		concluded = round;
		i = 1;
		do
		:: i <= EVENTS ->
			assert(!(stamp_at[i] && stamp_at[i] - 1 < round && i > commit_seen));
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* XVT_PROOF_DELTA_NS: many times as long as a store can stay in a CPU. A look at enable
 * before half of it comes after a store to nest that is known after all of it. */
inline delta()
{
#ifndef NO_DELTA
	REMEMBER_TIME();
	TIME_PASSED();
	REMEMBER_TIME();
	TIME_PASSED()
#else
	skip
#endif
}

proctype host()
{
	byte i;

#ifdef OFF
	STORE_RELEASE(HOST, ENABLE, 1);
	MB(HOST);
	round++;
	delta();
	snapshot();
	if
	:: atomic { IDLE -> conclude(); off = true }
	:: else -> skip
	fi
#else
	do
	:: round < ROUNDS ->
		round++; /* proof_clock */
		delta();
		snapshot();
		if
		:: atomic { IDLE -> conclude() }
		:: else -> skip
		fi;
		atomic { nest_seen = 0; resv_seen = 0; commit_seen = 0 }
	:: else -> break
	od;
	/* A quiet ring does become idle. */
	finished == 3;
	delta();
	snapshot();
	assert(IDLE)
#endif
}

init
{
	atomic {
		run task();
		run irq();
		run nmi();
		run host()
	}
}
