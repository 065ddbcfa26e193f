/* SPDX-License-Identifier: GPL-2.0 */
/*
 * engine.h - the real ring, drain and merge over real shared memory, with time in the test's
 * hands: the writers stamp what the test says, and clock nodes appear when it says. Host time
 * equals guest time equals a small number, so expectations can be read.
 */
#ifndef XVT_TEST_ENGINE_H
#define XVT_TEST_ENGINE_H

#include "phase.h"
#include "merge/merge.h"
#include "xvt_region.h"

#define ENGINE_RINGS_MAX 8

/* Rings that are made from here on read their data by the loop, instead of copying it. */
extern bool engine_by_read;

struct engine_event {
	uint64_t ns;
	uint64_t guest;
	uint64_t number; /* payload */
	uint64_t second; /* and its second word, if there is one */
	uint32_t ring;
	uint32_t flags;
	uint16_t id;
	uint16_t len;
	uint32_t loose; /* emitted in the loose lane */
	struct xvt_lost lost;
	/* Last: how far the drain alone bounds it, if no segment does; else 0. That depends on when
	 * it was drained. */
	uint64_t beside_ns;
};

struct engine {
	struct xvt_loop *loop;
	bool lent; /* the loop is the caller's */
	struct xvt_host_clock clock;
	uint64_t begun_clock; /* of the host: real ones are later, and made-up ones are not */
	struct xvt_host_region region;
	struct xvt_pool pool;
	struct xvt_merge merge;
	struct xvt_writer writers[ENGINE_RINGS_MAX];
	struct xvt_ring *rings[ENGINE_RINGS_MAX];
	uint32_t nr_rings;
	uint64_t now;	/* what the writers' clock returns */
	bool no_memory; /* the next window cannot be emitted */
	uint64_t numbers[ENGINE_RINGS_MAX];
	uint8_t **pieces; /* copies of those whose records went out */
	size_t nr_pieces;
	size_t pieces_room;
	struct engine_event *out;
	struct xvt_written *written; /* of each event in `out`; depends on when it was drained */
	size_t nr_out;
	size_t room;
};

struct engine_shape {
	uint32_t rings;
	uint32_t mode; /* enum xvt_enable */
	uint32_t subbuf_size;
	uint32_t subbuf_count;
	uint32_t ts_bits;      /* 0: as usual */
	struct xvt_loop *loop; /* the caller's; NULL: one of its own */
};

void engine_init_shape(struct engine *e, const struct engine_shape *shape);
/* Sub-buffers of 1 KiB, 4 to a ring, so that borders and laps come soon. */
void engine_init(struct engine *e, uint32_t rings, uint32_t mode);
void engine_fini(struct engine *e);

/* A new writer on a ring, as after a reboot of the guest. */
void engine_bind(struct engine *e, uint32_t ring);

/* Ring writes one numbered event at `time`. Returns what xvt_write() did. */
int engine_write(struct engine *e, uint32_t ring, uint64_t time);
/* The host measures ring's clock at `time`. */
void engine_node(struct engine *e, uint32_t ring, uint64_t time);
/* The same where guest and host time have come apart. */
void engine_at(struct engine *e, uint32_t ring, uint64_t guest, uint64_t host_ns);
/* Drain everything; the control words are looked at with `proof` as proven-old host time. */
void engine_drain(struct engine *e, uint64_t proof);
/* What is drained and waits was copied by then, and not at the time of the newest write. */
void engine_copied_by(struct engine *e, uint64_t ns);
void engine_merge(struct engine *e);
/* What the merge does with what it puts in order: it is kept in e->out. */
extern const struct xvt_merge_ops engine_ops;
/* Both, and no more to come: maps closed, everything goes out. */
void engine_end(struct engine *e);

/* Events (not LOST) that are out with a time below `ns`; all of them with UINT64_MAX. */
size_t engine_count_below(const struct engine *e, uint64_t ns);
/* Times of the main lane never decrease. */
bool engine_in_order(const struct engine *e);

#endif /* XVT_TEST_ENGINE_H */
