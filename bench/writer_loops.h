/* SPDX-License-Identifier: GPL-2.0 */
/*
 * writer_loops.h - the loops that bench_writer.c times. The writer's four (each back-end, with
 * the CPU's clock and with a counter in its place) are one source, writer_loops.c, compiled
 * four times, because a back-end and a clock are chosen at compile time.
 */
#ifndef BENCH_WRITER_LOOPS_H
#define BENCH_WRITER_LOOPS_H

#include "xvt_region.h"

struct writer_loops {
	const char *backend;
	const char *clock;
	/* After xvt_writer_init(), which may be of the other back-end. */
	void (*bind)(struct xvt_writer *w);
	/* n events to one ring, of bench_payload[] bytes. */
	void (*write[3])(struct xvt_writer *w, uint64_t n);
	/*
	 * What the other paths cost. n times three events of 16 bytes, by the ring's own clock
	 * function: undisturbed (1a); the first interrupted by the second between [A] and [B], the
	 * third undisturbed (2b in xadd, begun again in cas, and what it costs the next); and all
	 * three after xvt_writer_distrust() (1b).
	 */
	void (*plain)(struct xvt_writer *w, uint64_t n);
	void (*interrupted)(struct xvt_writer *w, uint64_t n);
	void (*distrusted)(struct xvt_writer *w, uint64_t n);
};

static const uint32_t bench_payload[3] = { 8, 16, 64 };

extern const struct writer_loops loops_cas_tsc, loops_cas_counter;
extern const struct writer_loops loops_xadd_tsc, loops_xadd_counter;

/*
 * What the writer is held against. `ring` has `size` bytes, a power of two, and a little more. Only
 * reads the clock; clock and 16 bytes stored; and the sketch: the stamp algorithm and nothing else,
 * see writer_peers.c.
 */
void peer_clock(uint8_t *ring, uint64_t size, uint64_t n);
void peer_clock_store(uint8_t *ring, uint64_t size, uint64_t n);
void peer_sketch_tsc(uint8_t *ring, uint64_t size, uint64_t n);
void peer_sketch_counter(uint8_t *ring, uint64_t size, uint64_t n);

#endif
