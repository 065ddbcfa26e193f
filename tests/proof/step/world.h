/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * world.h - one ring, its host, and the truth about every event, in one block of plain memory:
 * a copy of it is a check point from which everything goes on as if nothing had happened.
 *
 * The truth is kept apart from the ring: what was attempted, which clock value each event was
 * given, how it ended. world_check() holds what the real reader finds in the ring against it.
 */
#ifndef STEP_WORLD_H
#define STEP_WORLD_H

#include "target.h"
#include "vcpu.h"
#include "xvt_reader.h"
#include "xvt_region.h"

#define WORLD_EVENTS 256
#define WORLD_OPEN   (XVT_MAXNEST + 1)
#define WORLD_SUBBUF 1024
#define WORLD_COUNT  4
#define WORLD_LEVELS 2 /* that are stepped; a third runs through */
#define WORLD_LEN    1000

/* Layout of the region: header, host page, metadata, two control pages, data. */
#define WORLD_REGION (5 * XVT_ALIGN_MIN + WORLD_SUBBUF * WORLD_COUNT)
#define WORLD_CTL    (3 * XVT_ALIGN_MIN)

struct shape {
	enum target_how how; /* TARGET_NONE: no event, the host switches recording off */
	uint32_t len;	     /* payload bytes, at least 8 */
	bool new_epoch;	     /* the host bumps its epoch just before */
};

struct truth {
	uint64_t ts;	 /* last clock value that it was given, if the clock is ours */
	uint64_t ts_min; /* clock before it began and after it ended */
	uint64_t ts_max;
	uint64_t pos; /* where the reader found it */
	uint32_t epoch_min;
	uint32_t epoch_max;
	uint32_t len;
	int32_t err;
	bool discard;
	bool reserved; /* xvt_reserve() returned 0 */
	bool ended;
	bool delivered;
};

struct world {
	alignas(XVT_ALIGN_MIN) uint8_t region[WORLD_REGION];
	struct xvt_writer w;
	uint32_t mode;
	bool real_clock; /* the CPU's own, inlined, as shipped; else `clock` below */
	uint64_t clock;
	uint32_t kicks;
	uint64_t opened_at; /* resv before the first stepped event */

	struct truth ev[WORLD_EVENTS]; /* event number n is ev[n]; 0 is not used */
	uint32_t events;
	uint32_t current; /* the one whose code runs */
	struct xvt_slot open[WORLD_OPEN];
	uint32_t open_number[WORLD_OPEN];
	uint32_t opens;

	/* The host. */
	struct xvt_reader reader;
	uint64_t cleared;
	uint64_t commit; /* newest that was seen */
	uint64_t last_ts;
	uint32_t delivered;

	struct vcpu cpu[WORLD_LEVELS];
	uint32_t cpu_event[WORLD_LEVELS];
	uint64_t payload[WORLD_LEVELS][WORLD_LEN / 8];
};

/* There is one, so that pointers into it stay good when an old state is put back. */
extern struct world world;

/*
 * From here to the stepped contexts lies everything that an event's code can see besides its
 * registers and its stack: an event run on equal bytes does the same.
 */
#define WORLD_SHARED	  WORLD_CTL
#define WORLD_SHARED_SIZE (offsetof(struct world, cpu) - WORLD_SHARED)

/* Copies leave out what never changes: the region's header and metadata. */
static inline void world_copy(struct world *to, const struct world *from)
{
	memcpy((uint8_t *)to + WORLD_CTL, (const uint8_t *)from + WORLD_CTL,
	       sizeof(*to) - WORLD_CTL);
}
extern struct xvt_geometry world_geometry;

/* What is being done, for messages. world_fail() prints it and exits. */
extern char world_where[160];
void world_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

void world_init(uint32_t mode, bool real_clock);

/* The payload of event `number`: words that look like finished records, to lure salvage. */
void world_payload(uint64_t *payload, uint32_t number, uint32_t len);

/* One event, run through. Returns what the writer returned. */
int world_event(const struct shape *s);
/* An event to be stepped, on level 0 or 1; and its end, after cpu[level].ended. */
void world_start(uint32_t level, const struct shape *s);
void world_ended(uint32_t level);
/* Events that stay open, each nested in the one before; and the end of all of them. */
void world_open(uint32_t len);
void world_close(void);

/* At any instruction: commit never goes back, and never lies ahead of resv. */
void world_watch(void);

uint64_t world_now(void);
bool world_idle(void);
/* Bytes that are left in the sub-buffer that is being written. */
uint32_t world_room(void);
/* The ring's control words as the host sees them. */
void world_look(const struct world *w, struct xvt_ring_words *s);

/* The host's pass: everything up to commit, each record checked; stop mode: clear, move cons. */
void world_drain(void);
/* Everything has ended: all there, nothing else, and the counters say so too. */
void world_check(void);

/* Is the payload of a record that of this event? */
bool world_payload_is(const struct xvt_record *rec, uint32_t number);
/* Is this the time and the epoch that the event was given? */
bool world_time_is(const struct world *w, const struct truth *t, const struct xvt_record *rec,
		   uint64_t header, uint64_t previous);

#endif /* STEP_WORLD_H */
