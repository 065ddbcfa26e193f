/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * stress.h - what the two sides of the stress agree on: numbered events in a few streams, one
 * for each nesting level, and shared counters that survive the writer.
 *
 * The number alone says how long an event is, what its payload holds and whether it is discarded.
 * A stream's numbers appear in the ring in order, so a gap is a loss and must be counted
 * somewhere.
 */
#ifndef STRESS_H
#define STRESS_H

#include "xvt_abi.h"

enum stress_stream {
	STRESS_TASK = 0,   /* the loop */
	STRESS_INNER = 1,  /* written between reserve and commit of a task event */
	STRESS_SIGNAL = 2, /* written by the handler of a timer's signal */
	STRESS_STREAMS = 3,
};

#define STRESS_DISCARD_EVERY 7
#define STRESS_LEN_MAX	     240
#define STRESS_STREAM_SHIFT  56

/* In a file of its own, mapped by both; each word has one writer. */
struct stress_truth {
	uint64_t begun[STRESS_STREAMS]; /* numbers given out; stored before the attempt */
	uint64_t
		refused[STRESS_STREAMS]; /* of these lost, of those that were not to be discarded */
	uint64_t generation;		 /* of the writer that runs */
};

static inline bool stress_is_discard(uint64_t number)
{
	return number % STRESS_DISCARD_EVERY == 0;
}

static inline uint64_t stress_mix(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ v >> 27) * 0x94d049bb133111ebull;
	return v ^ v >> 31;
}

static inline uint32_t stress_len(uint64_t id)
{
	return 16 + (uint32_t)(stress_mix(id) % (STRESS_LEN_MAX - 16));
}

/* The payload of event `number` of a stream. Returns its length. */
static inline uint32_t stress_payload(uint64_t *payload, uint32_t stream, uint64_t number)
{
	uint64_t id = number | (uint64_t)stream << STRESS_STREAM_SHIFT;
	uint32_t len = stress_len(id), i;

	payload[0] = id;
	for (i = 1; i < (len + 7) / 8; i++)
		payload[i] = stress_mix(id + i);
	return len;
}

#endif /* STRESS_H */
