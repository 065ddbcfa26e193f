/* SPDX-License-Identifier: GPL-2.0 */
/*
 * overwrite.pml - the flight recorder: the writer goes round whether or not the host has read.
 * The host copies and then looks whether it was overtaken.
 *
 *   guest()  the crossing of a sub-buffer's border in xvt_reserve(), xvt_writer_leave() in
 *            shared/xvt_writer.h
 *   host()   xvt_drain_look(), the copies, overtaken() and xvt_drain_take() in host/ring/drain.c
 *
 * The ring has SLOTS sub-buffers of two words, so that a copy can be a mixture. Both words of
 * the sub-buffer at position n are n + 1. Positions count sub-buffers: resv is behind the one
 * that was opened last.
 *
 * Fences:  WMB and RMB                         resv moves before new bytes; copies before the look
 *          COMMIT_RELEASE and COMMIT_ACQUIRE   payload before commit
 * and the look itself: RECHECK, COPY_BEFORE_RECHECK.
 */
#define CPUS  2
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef EVENTS
#define EVENTS 4
#endif
#define LOCS   (2 + 2 * SLOTS)
#define COMMIT 0
#define RESV   1
#define DATA   2
#ifdef TSO
#ifndef DEPTH
#define DEPTH 4
#endif
#else
#define DEPTH (EVENTS + 2)
#endif
#define GUEST 0
#define HOST  1
#include "memory.pml"

#ifdef NO_WMB
#define OPENED() skip
#else
#define OPENED() WMB(GUEST)
#endif
#ifdef NO_RMB
#define COPIED() skip
#else
#define COPIED() RMB(HOST)
#endif
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

active proctype guest()
{
	byte n;

	do
	:: n < EVENTS ->
		STORE(GUEST, RESV, n + 1);
		OPENED();
		STORE(GUEST, DATA + 2 * (n % SLOTS), n + 1);
		STORE(GUEST, DATA + 2 * (n % SLOTS) + 1, n + 1);
		STORE_COMMIT(n + 1);
		n++
	:: else -> break
	od
}

/* Sub-buffer `read` lies where the one at read + SLOTS goes. */
#define OVERTAKEN (resv - read > SLOTS)

active proctype host()
{
	byte commit, resv, read, one, two;

	do
	:: read < EVENTS ->
		LOAD_COMMIT(commit);
		if
		:: commit > read + SLOTS -> read = commit - SLOTS / 2 /* half way */
		:: else -> skip
		fi;
		if
		:: read < commit ->
#ifdef NO_COPY_BEFORE_RECHECK
			LOAD(HOST, RESV, resv);
#endif
			LOAD(HOST, DATA + 2 * (read % SLOTS), one);
			LOAD(HOST, DATA + 2 * (read % SLOTS) + 1, two);
			COPIED();
#ifndef NO_COPY_BEFORE_RECHECK
			LOAD(HOST, RESV, resv);
#endif
#ifdef NO_RECHECK
			resv = 0;
#endif
			if
			:: resv > read && OVERTAKEN -> skip /* dropped, read again further on */
			:: else ->
				assert(one == read + 1 && two == read + 1);
				read++
			fi
		:: else -> skip
		fi;
		atomic { commit = 0; resv = 0; one = 0; two = 0 }
	:: else -> break
	od
}
