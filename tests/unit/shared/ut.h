/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * ut.h - what the unit tests share: a region in private memory with one ring, and the host's
 * part of the stop-mode protocol (copy, decode, clear, advance cons). No hooks in here: the
 * hooked writer is in ut_nest.h.
 */
#ifndef UT_H
#define UT_H

#include <check.h>
#include <stdlib.h>

#include "xvt_reader.h"
#include "xvt_region.h"

/*
 * ck_assert() tells the parent process about every success, which is too slow where a test
 * asks millions of times.
 */
#define ut_assert(cond)                            \
	do {                                       \
		if (xvt_unlikely(!(cond)))         \
			ck_abort_msg("%s", #cond); \
	} while (0)

/* 0 means the default: 1024-byte sub-buffers, 4 of them, 32 bits, stop mode, position 0. */
struct ut_conf {
	uint32_t subbuf_size;
	uint32_t subbuf_count;
	uint32_t ts_bits;
	uint32_t enable;
	uint64_t start; /* first position; a multiple of subbuf_size */
};

/* A decoded record, free of the copy that it came from. */
struct ut_rec {
	enum xvt_record_kind kind;
	bool full;
	uint32_t id;
	uint32_t epoch;
	uint32_t len;
	uint64_t pos;
	uint64_t ts;
	uint64_t number;	      /* first payload word, when there is one */
	uint64_t raw;		      /* the header word */
	struct xvt_subbuf_hdr subbuf; /* XVT_REC_SUBBUF only */
};

#define UT_RECS_MAX 4096u

struct ut_recs {
	uint32_t count;
	struct ut_rec rec[UT_RECS_MAX];
};

struct ut_ring {
	uint8_t *base;
	struct xvt_geometry g;
	struct xvt_writer w;
	struct xvt_reader reader; /* the host's */
	uint64_t clock;		  /* last value that ut_clock() returned */
	uint64_t clock_step;
	uint32_t kicks;
};

void ut_ring_init(struct ut_ring *u, const struct ut_conf *conf);
void ut_ring_fini(struct ut_ring *u);
/* Back to the state after ut_ring_init(), much cheaper. */
void ut_ring_reset(struct ut_ring *u, uint64_t start, uint32_t enable);
/* The ring's clock: counts by clock_step. `arg` is the ut_ring. */
uint64_t ut_clock(void *arg);
void ut_kick(void *arg);

/* One event whose clock value is `ts`; payload is `number` and zeros up to `len` bytes. */
int ut_write_at(struct ut_ring *u, uint64_t ts, uint64_t number, uint32_t len);

/*
 * The host's pass: decode [reader.pos, commit), clear what is used up, advance cons. Any
 * fault fails the test. Appends to `out`.
 */
void ut_drain(struct ut_ring *u, struct ut_recs *out);
/* Decode without consuming, from `reader` as it stands to `to`. */
void ut_peek(const struct ut_ring *u, struct xvt_reader *reader, uint64_t to, struct ut_recs *out);
/* Past commit, by the rules of salvage. Returns the position where it stopped. */
uint64_t ut_salvage(const struct ut_ring *u, struct xvt_reader reader, uint64_t resv,
		    struct ut_recs *out);

/* ctl->resv as a position, and set from one. */
static inline uint64_t ut_resv(const struct ut_ring *u)
{
	return xvt_writer_pos(&u->w, u->w.ctl->resv);
}

static inline void ut_set_resv(struct ut_ring *u, uint64_t pos)
{
	u->w.ctl->resv = xvt_resv_word(XVT_RING_BACKEND, u->g.subbuf_shift, pos);
}

uint64_t ut_lost(const struct ut_ring *u); /* all causes */

/* n finished events (XVT_REC_RECORD) only, in order. */
uint32_t ut_events(const struct ut_recs *recs, const struct ut_rec **events, uint32_t max);

/* A small generator with a fixed seed: the same bytes on every machine. */
static inline uint64_t ut_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

Suite *suite_ring(void);
Suite *suite_region(void);
Suite *suite_check(void);
Suite *suite_reader(void);
Suite *suite_writer(void);
Suite *suite_nesting(void);
Suite *suite_crash(void);
Suite *suite_user(void);

#endif /* UT_H */
