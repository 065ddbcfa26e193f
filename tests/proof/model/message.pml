/* SPDX-License-Identifier: GPL-2.0 */
/*
 * message.pml - one side fills in words and then stores a number that says so; the other
 * loads the number and then uses the words. All of these are this:
 *
 *   words                       number            written by                     read by
 *   the region's header         magic             xvt_region_format()            xvt_host_region_check()
 *   metadata TLVs               committed         xvt_meta_append()              xvt_vm_read_metadata()
 *   answer_clock                answer_seq        xvt_writer_answer()            answered(), clock/handshake.c
 *   request_more                request_seq       ask(), clock/handshake.c       xvt_writer_answer()
 *   "the clock is read"         mark_seq          ask(), session/marks.c         xvt_writer_mark()
 *   "the record is stamped"     mark_ack          xvt_writer_mark()              xvt_session_mark_look()
 *   request text and length     request_seq       xvt_host_region_ask()                 the module's xvt_request.c
 *   request_result              request_ack       xvt_request.c                  xvt_vm_look_for_answer()
 *   where a generation began    gen[].generation  ring_new_generation()          follow_generations()
 *   a payload, for salvage      DONE              xvt_commit()                   a reader past commit
 *
 * Modelled as the clock handshake, which is two of them back to back: the host asks (asker), the
 * guest answers (answerer), ROUNDS times. Each asserts that the words are those of the number.
 *
 * With -DGENERATION: ring_new_generation() in shared/xvt_region.c against xvt_ring_words(): the
 * generation is stored before the positions, so that no host takes the new commit for one of
 * the old generation. (Seen the other way round, old positions under the new number, it
 * waits: xvt_drain_look() finds commit before the start of the generation.)
 *
 * Fences: ASK_RELEASE, ASK_ACQUIRE, ANSWER_RELEASE, ANSWER_ACQUIRE; GENERATION_RELEASE (the release
 * of the position behind it), GENERATION_ACQUIRE, GENERATION_AGAIN (the second look).
 */
#define CPUS 2
#ifndef ROUNDS
#define ROUNDS 3
#endif
#define LOCS	   4
#define ASKED	   0
#define MORE	   1
#define ANSWERED   2
#define CLOCK	   3
#define GENERATION_NO 0
#define COMMIT	   1
#define DEPTH	   (ROUNDS + 2)
#define GUEST	   0
#define HOST	   1
#include "memory.pml"

#ifdef NO_ASK_RELEASE
#define STORE_ASKED(v) STORE(HOST, ASKED, v)
#else
#define STORE_ASKED(v) STORE_RELEASE(HOST, ASKED, v)
#endif
#ifdef NO_ASK_ACQUIRE
#define LOAD_ASKED(v) LOAD(GUEST, ASKED, v)
#else
#define LOAD_ASKED(v) LOAD_ACQUIRE(GUEST, ASKED, v)
#endif
#ifdef NO_ANSWER_RELEASE
#define STORE_ANSWERED(v) STORE(GUEST, ANSWERED, v)
#else
#define STORE_ANSWERED(v) STORE_RELEASE(GUEST, ANSWERED, v)
#endif
#ifdef NO_ANSWER_ACQUIRE
#define LOAD_ANSWERED(v) LOAD(HOST, ANSWERED, v)
#else
#define LOAD_ANSWERED(v) LOAD_ACQUIRE(HOST, ANSWERED, v)
#endif

#ifndef GENERATION

active proctype asker()
{
	byte n, seen, clock;

	do
	:: n < ROUNDS ->
		n++;
		STORE(HOST, MORE, n);
		STORE_ASKED(n);
		do
		:: seen == n -> break
		:: else -> LOAD_ANSWERED(seen)
		od;
		skip;
		LOAD(HOST, CLOCK, clock);
		assert(clock == n)
	:: else -> break
	od
}

active proctype answerer()
{
	byte seen, more;

	do
	:: OWN(GUEST, ANSWERED) == ROUNDS -> break
	:: else ->
		LOAD_ASKED(seen);
		if
		:: seen != OWN(GUEST, ANSWERED) ->
			LOAD(GUEST, MORE, more);
			assert(more == seen);
			STORE(GUEST, CLOCK, seen);
			STORE_ANSWERED(seen)
		:: else -> skip
		fi
	od
}

#else /* GENERATION */

#ifdef NO_GENERATION_RELEASE
#define STORE_POSITION(v) STORE(GUEST, COMMIT, v)
#else
#define STORE_POSITION(v) STORE_RELEASE(GUEST, COMMIT, v)
#endif
#ifdef NO_GENERATION_ACQUIRE
#define LOAD_SNAPSHOT(loc, v) LOAD(HOST, loc, v)
#else
#define LOAD_SNAPSHOT(loc, v) LOAD_ACQUIRE(HOST, loc, v)
#endif

/* Generation n has positions from 10 * n. */
active proctype restarts()
{
	byte n;

	do
	:: n < ROUNDS - 1 ->
		n++;
		STORE_RELEASE(GUEST, GENERATION_NO, n);
		STORE_POSITION(10 * n)
	:: else -> break
	od
}

active proctype snapshot()
{
	byte before, commit, after;

	do
	:: before != after || commit == 0 ->
		LOAD_SNAPSHOT(GENERATION_NO, before);
		LOAD_SNAPSHOT(COMMIT, commit);
		LOAD(HOST, GENERATION_NO, after);
#ifdef NO_GENERATION_AGAIN
		after = before;
#endif
		if
		:: before == after -> assert(commit <= 10 * before)
		:: else -> skip
		fi
	:: else -> break
	od
}
#endif
