/* SPDX-License-Identifier: GPL-2.0 */
/*
 * commit.pml - stop mode: a record is whole when the host finds it below commit, and what the
 * host gives back is empty when the writer uses it again.
 *
 *   guest()  xvt_reserve() with xvt_writer_may_open(), the payload, xvt_writer_leave() in
 *            shared/xvt_writer.h
 *   host()   xvt_ring_words() in shared/xvt_check.c; the copies and xvt_drain_take() in
 *            host/ring/drain.c
 *
 * The ring has SLOTS sub-buffers of one word. The word of the event at position n is n + 1.
 *
 * Fences:  COMMIT_RELEASE and COMMIT_ACQUIRE   payload before commit
 *          CONS_RELEASE and CONS_ACQUIRE       clearing before cons
 * and the two orders themselves: PAYLOAD_BEFORE_COMMIT, CLEAR_BEFORE_CONS.
 */
#define CPUS  2
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef EVENTS
#define EVENTS 4
#endif
#define LOCS   (2 + SLOTS)
#define COMMIT 0
#define CONS   1
#define DATA   2
#ifdef TSO
#ifndef DEPTH
#define DEPTH 3
#endif
#else
#define DEPTH (2 * EVENTS + 1)
#endif
#define GUEST 0
#define HOST  1
#include "memory.pml"

#ifdef NO_COMMIT_RELEASE
#define STORE_COMMIT(v) STORE(GUEST, COMMIT, v)
#else
#define STORE_COMMIT(v) STORE_RELEASE(GUEST, COMMIT, v)
#endif
#ifdef NO_COMMIT_ACQUIRE
#define LOAD_COMMIT(v) LOAD(HOST, COMMIT, v)
#else
#define LOAD_COMMIT(v) LOAD_ACQUIRE(HOST, COMMIT, v)
#endif
#ifdef NO_CONS_RELEASE
#define STORE_CONS(v) STORE(HOST, CONS, v)
#else
#define STORE_CONS(v) STORE_RELEASE(HOST, CONS, v)
#endif
#ifdef NO_CONS_ACQUIRE
#define LOAD_CONS(v) LOAD(GUEST, CONS, v)
#else
#define LOAD_CONS(v) LOAD_ACQUIRE(GUEST, CONS, v)
#endif

active proctype guest()
{
	byte resv, cons, old;

	do
	:: resv < EVENTS ->
		LOAD_CONS(cons);
		if
		:: resv - cons < SLOTS ->
			/* A salvage of this sub-buffer from now on must not find the lap before. */
			LOAD(GUEST, DATA + resv % SLOTS, old);
			assert(old == 0);
#ifdef NO_PAYLOAD_BEFORE_COMMIT
			STORE_COMMIT(resv + 1);
			STORE(GUEST, DATA + resv % SLOTS, resv + 1)
#else
			STORE(GUEST, DATA + resv % SLOTS, resv + 1);
			STORE_COMMIT(resv + 1)
#endif
		:: else -> goto lost /* lost, and counted; the next event tries again */
		fi;
		atomic { resv++; old = 0 }
lost:		cons = 0
	:: else -> break
	od
}

active proctype host()
{
	byte commit, read, word;

	do
	:: read < EVENTS ->
		LOAD_COMMIT(commit);
		do
		:: read < commit ->
			LOAD(HOST, DATA + read % SLOTS, word);
			assert(word == read + 1);
#ifdef NO_CLEAR_BEFORE_CONS
			STORE_CONS(read + 1);
#endif
			STORE(HOST, DATA + read % SLOTS, 0);
			atomic { read++; word = 0 }
		:: else -> break
		od;
		commit = 0;
		if
		:: read > OWN(HOST, CONS) -> STORE_CONS(read)
		:: else -> skip
		fi
	:: else -> break
	od
}
