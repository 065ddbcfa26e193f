/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guests.h - machines that are not there: regions of any number with the project's own writer in
 * them, for measuring what the recorder costs. One thread is all of their vCPUs: each looks into
 * its mailbox every 10 ms and stays there for 200 us when it has answered; and the thread writes
 * when it gets an order, and sleeps when there is nothing to do. The recorder sees no difference.
 */
#ifndef XVT_BENCH_GUESTS_H
#define XVT_BENCH_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "session/parts.h"

struct guests;

enum guests_order {
	GUESTS_INTERLEAVED, /* each event in a ring drawn at random */
	GUESTS_BURSTS,	    /* 1 to 63 events in a ring, then in another one */
	GUESTS_SKEWED,	    /* the ring of rank i has about 1/i of what the first one has */
	GUESTS_FEW,	    /* one ring in a hundred writes, the others are idle */
	GUESTS_ORDERS
};

struct guests_layout {
	uint32_t vms;
	uint32_t rings; /* of each */
	/* What is written at once: each ring holds its part of it, whenever the host looks. */
	enum guests_order order;
	uint64_t events;
	uint32_t payload;
};

/* Returns 0 or -errno. The thread answers from here on. */
int guests_new(struct guests **out, const struct guests_layout *layout);
void guests_free(struct guests *g);

/* All of them become machines of the recording. Returns 0 or -errno, with a message on stderr. */
int guests_join(struct guests *g, struct xvt_session *s);

/*
 * Write the layout's events, stamped by the real clock. Returns when they are written; *lost: how
 * many found their ring full, or not recording.
 */
void guests_write(struct guests *g, uint64_t *lost);

/* CPU time that the thread has used. */
uint64_t guests_cpu_ns(const struct guests *g);

#endif /* XVT_BENCH_GUESTS_H */
