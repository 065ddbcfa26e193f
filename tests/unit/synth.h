/* SPDX-License-Identifier: GPL-2.0 */
/*
 * synth.h - a made-up trace, and what it must read as. Payloads are put together byte by byte
 * here and the expected values are kept beside them, so the decoder and the exports are
 * compared with something that shares no code with them.
 *
 * Machines: g1 (rings 0 and 1) and g2 (ring 2). Ring 1's clock has two epochs. Events are in
 * the main and the late lane, with all flags, of every field type; some have no format.
 */
#ifndef SYNTH_H
#define SYNTH_H

#include "trace/write.h"

/* Bytes in memory; the first `fail_after` of them, then -ENOSPC. */
struct synth_sink {
	struct xvt_sink sink;
	uint8_t *bytes;
	size_t len;
	size_t room;
	size_t fail_after;
	unsigned int calls;
	unsigned int torn; /* calls that were not whole chunks */
};

void synth_sink_init(struct synth_sink *s);
void synth_sink_fini(struct synth_sink *s);
/* Write it all to a file; aborts on failure. */
void synth_sink_save(const struct synth_sink *s, const char *path);
/* Returns the offset of the chunk of a type that `which` others of it precede; aborts if there is
 * none. */
size_t synth_find_chunk(const struct synth_sink *s, uint16_t type, int which);
/* Sets the CRC of a chunk, header and payload, after a change to it. */
void synth_sign_chunk(uint8_t *chunk);

/* So many records of a ring, 1 ns apart from ns on, as one piece and one source; at most
 * SYNTH_RECORDS_MAX. Each is of the type U64 and holds its number. */
#define SYNTH_RECORDS_MAX 20
void synth_put_records(struct xvt_trace_writer *w, uint32_t ring, uint64_t ns, uint32_t count,
		       enum xvt_lane lane);

enum synth_kind {
	SYNTH_INT,
	SYNTH_UINT,
	SYNTH_TEXT,
	SYNTH_INTS,
	SYNTH_UINTS,
};

#define SYNTH_LIST_MAX 40

struct synth_field {
	char name[24];
	enum synth_kind kind;
	int64_t i;
	uint64_t u;
	char text[400]; /* valid UTF-8, as all exports must show it */
	uint32_t count;
	uint64_t list[SYNTH_LIST_MAX];
	bool has_length; /* its number of elements is in the record */
};

struct synth_event {
	uint64_t host_ns;
	const char *vm;
	uint32_t cpu;
	uint32_t flags; /* XVT_EVENT_F_* */
	const char *system;
	const char *name;
	bool ftrace;
	int32_t pid;
	uint8_t common_flags;
	uint8_t preempt_count;
	uint32_t field_count;
	struct synth_field fields[24];
};

#define SYNTH_NO_END	     1u /* as a killed recorder leaves it */
#define SYNTH_NO_FORMATS     2u
#define SYNTH_SAME_UUID	     4u	   /* the same bytes at each run */
#define SYNTH_NEWER	     8u	   /* says that only a newer program can read it */
#define SYNTH_MARKS	     16u   /* the host saw each to 400 ns */
#define SYNTH_RUNS	     32u   /* a vCPU runs from 500 ns before an event to as long after it */
#define SYNTH_SEEN	     64u   /* the drain saw a node of ring 0, to 5 ms */
#define SYNTH_CONFIRMED	     128u  /* and the next one confirms it */
#define SYNTH_PAIRS	     256u  /* clock pairs, as from a hypervisor, all true */
#define SYNTH_FTRACE	     2048u /* g1 was read out of its kernel's own ring */
#define SYNTH_DROPS	     4096u /* the recorder dropped 4 of ring 0 */
#define SYNTH_WIDE	     16384u /* segments of ring 0 to a second, and to a ns more */
#define SYNTH_OLD_LOSSES     8192u  /* LOST and STATS as before there was `dropped` */

/* The host's clock has two knees, at these times; at the first one its wall clock is set. */
#define SYNTH_KNEE_NS	     6014999999ull
#define SYNTH_KNEE_WALL_NS   1700000002138456788ull
#define SYNTH_WALL_NS	     1700000000123456789ull /* when host_ns is ... */
#define SYNTH_WALL_BASE_NS   5000000000ull
#define SYNTH_CLOCK_ERROR_NS 123
#define SYNTH_WALL_ERROR_NS  40

struct synth {
	struct synth_event *events; /* in true order of time */
	size_t count;
	size_t room;
	uint64_t seed;
};

/* Make a trace with about `n` events. Aborts when it cannot. */
void synth_make(struct synth *s, struct xvt_sink *sink, size_t n, unsigned int flags);
void synth_fini(struct synth *s);

#endif /* SYNTH_H */
