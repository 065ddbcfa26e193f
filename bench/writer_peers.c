// SPDX-License-Identifier: GPL-2.0
/*
 * writer_peers.c - what the writer's cost is held against, in the same program.
 *
 * The sketch is the least that takes nested events' places and times: Rostedt's stamps around an
 * addition, a header, 16 bytes, a commit by the outermost. It has no sub-buffers, no full
 * stamps, no losses, no discard, no salvage, no second look at whether an event came after,
 * and no host that may switch it off. It is a floor, not a design.
 */
#include "writer_loops.h"

struct sketch {
	uint64_t before_stamp;
	uint64_t write_stamp;
	uint64_t resv;
	uint64_t nest;
	uint64_t commit;
};

static struct sketch sketch __attribute__((aligned(64)));
static __thread uint64_t counter;

void peer_clock(uint8_t *ring, uint64_t size, uint64_t n)
{
	uint64_t i;

	(void)size;
	for (i = 0; i < n; i++)
		xvt_store((uint64_t *)ring, xvt_clock_read());
}

void peer_clock_store(uint8_t *ring, uint64_t size, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		uint64_t *at = (uint64_t *)(ring + (i * 16 & (size - 1)));

		xvt_store(at, xvt_clock_read());
		xvt_store(at + 1, i);
	}
}

static inline __attribute__((always_inline)) void sketch_event(uint8_t *ring, uint64_t size,
							       uint64_t value, bool counted)
{
	struct sketch *s = &sketch;
	uint64_t before, after, seen, ts, old, delta = 0;
	uint64_t *rec;

	xvt_store(&s->nest, xvt_load(&s->nest) + 1);
	before = xvt_load(&s->before_stamp);
	after = xvt_load(&s->write_stamp);
	if (counted) {
		ts = xvt_load(&counter) + 25;
		xvt_store(&counter, ts);
	} else {
		ts = xvt_clock_read();
	}
	seen = xvt_load(&s->resv);
	xvt_store(&s->before_stamp, ts);
	xvt_barrier();
	old = xvt_local_fetch_add(&s->resv, 24);
	xvt_barrier();
	if (xvt_likely(old == seen)) {
		xvt_store(&s->write_stamp, ts);
		delta = before == after ? ts - after : 0;
	}
	if (xvt_unlikely(delta >> 27))
		delta = 0;
	rec = (uint64_t *)(ring + (old & (size - 1)));
	xvt_store((uint32_t *)rec, (uint32_t)(3 | delta << 5));
	xvt_store((uint32_t *)rec + 1, 7u);
	xvt_store(rec + 1, value);
	rec = (uint64_t *)(ring + ((old + 16) & (size - 1)));
	xvt_store(rec, value);
	if (xvt_load(&s->nest) == 1)
		xvt_store_release(&s->commit, old + 24);
	xvt_store(&s->nest, xvt_load(&s->nest) - 1);
}

void peer_sketch_tsc(uint8_t *ring, uint64_t size, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		sketch_event(ring, size, i, false);
}

void peer_sketch_counter(uint8_t *ring, uint64_t size, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		sketch_event(ring, size, i, true);
}
