/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guest.h - a guest that means harm, for tests: what all kinds of it share. It formats a region,
 * joins it as an honest writer would, answers the host's clock until its rings are switched on,
 * and then does what its kind does, until it gets SIGTERM. Everything random comes from one seed.
 */
#ifndef XVT_HOSTILE_GUEST_H
#define XVT_HOSTILE_GUEST_H

#include <pthread.h>
#include <setjmp.h>

#include "xvt_region.h"

#define MS 1000000ull /* nanoseconds */

struct ring {
	struct xvt_writer w;
	uint32_t number;
	uint64_t asked_seq; /* the question that is open, and when it was seen */
	uint64_t asked_ns;
	uint64_t asked_clock;
};

struct hostile;

/* One act on one ring. `s` is the random state. */
typedef void (*ring_act)(struct hostile *h, struct ring *r, uint64_t *s);
/* One act on the region as a whole, or on its file. */
typedef void (*region_act)(struct hostile *h, uint64_t *s);
/* What to answer to question *seq; may change both. Returns false to leave it open. Runs in a
 * thread of its own. */
typedef bool (*answer_act)(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock);

#define KIND_EARLY 1u /* hostile before its rings are switched on */
#define KIND_TEXT  2u /* text of this guest reaches a reader: run.sh looks at what report prints */
#define KIND_BELL  4u /* needs an ivshmem server; BELL in the environment is its socket */
#define KIND_FILE  8u /* what only the owner of the region's file can do, and no guest */

struct kind {
	const char *name;
	const char *text;
	uint32_t flags;
	uint32_t rings; /* 0: 4 */
	uint32_t subbuf_size;
	uint32_t incompat;		  /* of the region's header */
	uint64_t size;			  /* of the region, bytes; 0: 4 MiB */
	uint32_t batch;			  /* ring acts between two rests; 0: 64 */
	uint32_t rest_us;		  /* 0: 200 */
	uint64_t (*clock)(void *hostile); /* of its events; NULL: the CPU's */
	ring_act ring;
	region_act region;
	answer_act answer;
};

struct hostile {
	const char *path;
	const struct kind *kind;
	const struct kind *kinds; /* all of them */
	uint8_t *base;
	uint64_t size;
	struct xvt_geometry g;
	struct ring *ring;
	pthread_mutex_t lock; /* the mapping, while it is replaced */
	uint64_t seed;
	uint32_t stop;
	uint32_t hostile; /* it has begun */
	uint64_t begin_ns;
	uint64_t spent; /* bytes of events, for spend() */
	uint64_t turns; /* region acts so far */
	int64_t offset; /* ticks that its clock is off */
	uint64_t hz;
};

uint64_t next(uint64_t *state);
/* Small, huge, near a border, or anything: what breaks arithmetic. */
uint64_t wild(uint64_t *s, uint64_t near);
uint64_t now_ns(void);
/* Since it became hostile. */
uint64_t age_ns(const struct hostile *h);
/* Ticks of the ring's clock in so many nanoseconds. */
uint64_t ticks_of(const struct hostile *h, uint64_t ns);

/* Map the file and start a generation in it. Returns 0 or -1. */
int join(struct hostile *h, int fd, bool format);
/* A header that can be opened again: what is salvaged is the rest. */
void mend_header(struct hostile *h);
void leave(struct hostile *h);

/* One honest event of 8 to 32 bytes. */
void honest(struct ring *r, uint64_t *s);
/* Another value in one word, or half a word, of the area. */
void any_word(uint64_t *s, void *area, size_t words, uint64_t near);
/* May so many more bytes of events be written? Keeps a flood at a rate that a disk can take. */
bool spend(struct hostile *h, uint64_t bytes);
/* The writer's own loops are bounded by what it believes; keep it from stopping. */
void keep_writing(struct ring *r);

/* The kinds, by what they spoil. Each table ends with a kind without name. */
extern const struct kind ring_kinds[], clock_kinds[], meta_kinds[], size_kinds[], file_kinds[],
	bell_kinds[], relayed_kinds[], mixed_kinds[];

#endif /* XVT_HOSTILE_GUEST_H */
