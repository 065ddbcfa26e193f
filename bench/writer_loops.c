// SPDX-License-Identifier: GPL-2.0
/*
 * writer_loops.c - the writer as a program would call it, in loops. Compiled once for each
 * back-end (XVT_RING_XADD) and clock (LOOPS_COUNTER): see writer_loops.h.
 */
#ifdef LOOPS_COUNTER
/* In memory, as the sketch has it; 25 is what a clock read takes in its own ticks. */
static __thread unsigned long long counter = 1;
#define XVT_CLOCK_READ() (counter += 25)
#define LOOPS_CLOCK	 "counter"
#define LOOPS_NAME(back) loops_##back##_counter
#else
#define LOOPS_CLOCK	 "tsc"
#define LOOPS_NAME(back) loops_##back##_tsc
#endif
#include "writer_loops.h"

static inline __attribute__((always_inline)) void write_n(struct xvt_writer *w, uint64_t n,
							  uint32_t words)
{
	uint64_t i;
	uint32_t k;

	for (i = 0; i < n; i++) {
		struct xvt_slot slot;
		uint64_t *payload;

		if (xvt_reserve(w, XVT_ID_U64, words * 8, &slot))
			continue;
		payload = slot.payload;
		for (k = 0; k < words; k++)
			payload[k] = i + k;
		xvt_commit(w, &slot);
	}
}

static void bind(struct xvt_writer *w)
{
	xvt_writer_bind(w);
}

static __attribute__((noinline)) void write8(struct xvt_writer *w, uint64_t n)
{
	write_n(w, n, 1);
}

static __attribute__((noinline)) void write16(struct xvt_writer *w, uint64_t n)
{
	write_n(w, n, 2);
}

static __attribute__((noinline)) void write64(struct xvt_writer *w, uint64_t n)
{
	write_n(w, n, 8);
}

static __thread bool armed;

/* An interrupt comes between [A] and [B]: right after the clock was read. */
static uint64_t clock_that_interrupts(void *arg)
{
	uint64_t now = XVT_CLOCK_READ();

	if (armed) {
		armed = false;
		write16(arg, 1);
	}
	return now;
}

static inline __attribute__((always_inline)) void write_triples(struct xvt_writer *w, uint64_t n,
								bool interrupt)
{
	uint64_t i;

	w->clock = clock_that_interrupts;
	w->clock_arg = w;
	for (i = 0; i < n; i++) {
		armed = interrupt;
		write16(w, 1);
		if (!interrupt)
			write16(w, 1);
		write16(w, 1);
	}
	w->clock = NULL;
}

static void plain(struct xvt_writer *w, uint64_t n)
{
	write_triples(w, n, false);
}

static void interrupted(struct xvt_writer *w, uint64_t n)
{
	write_triples(w, n, true);
}

static void distrusted(struct xvt_writer *w, uint64_t n)
{
	uint64_t i;

	w->clock = clock_that_interrupts;
	w->clock_arg = w;
	for (i = 0; i < 3 * n; i++) {
		xvt_writer_distrust(w);
		write16(w, 1);
	}
	w->clock = NULL;
}

#ifdef XVT_RING_XADD
#define LOOPS	      LOOPS_NAME(xadd)
#define LOOPS_BACKEND "xadd"
#else
#define LOOPS	      LOOPS_NAME(cas)
#define LOOPS_BACKEND "cas"
#endif

const struct writer_loops LOOPS = {
	.backend = LOOPS_BACKEND,
	.clock = LOOPS_CLOCK,
	.bind = bind,
	.write = { write8, write16, write64 },
	.plain = plain,
	.interrupted = interrupted,
	.distrusted = distrusted,
};
