/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rounds.h - perf's rule, for comparison, over the records that the engine copied: queue by time;
 * when a pass over all rings has ended, deliver what is not younger than the newest that was
 * queued by the end of the pass before. tools/perf/util/ordered-events.c (OE_FLUSH__ROUND), called
 * by tools/perf/util/session.c for each PERF_RECORD_FINISHED_ROUND.
 */
#ifndef XVT_TEST_ROUNDS_H
#define XVT_TEST_ROUNDS_H

#include "engine.h"

struct rounds_event {
	uint64_t ns;
	uint64_t number;
	uint32_t ring;
};

struct rounds {
	struct rounds_event *queue; /* by time; of one time in the order in which they came */
	size_t nr_queue;
	size_t room;
	struct rounds_event *out;
	size_t nr_out;
	size_t room_out;
	uint64_t max_ns;     /* "max_timestamp" */
	uint64_t next_flush; /* what the pass before had seen */
	uint64_t last_flush; /* time of the last one delivered */
	uint64_t unordered;  /* "nr_unordered_events": came below last_flush */
	struct xvt_reader reader[ENGINE_RINGS_MAX];
};

void rounds_init(struct rounds *o, const struct engine *e);
void rounds_fini(struct rounds *o);

/* What this pass has copied, before the merge takes it away. */
void rounds_copy(struct rounds *o, struct engine *e);
/* A pass over all rings has ended. */
void rounds_finished(struct rounds *o);
/* The end of the file. */
void rounds_final(struct rounds *o);

/* Times of what was delivered never decrease. */
bool rounds_in_order(const struct rounds *o);

#endif /* XVT_TEST_ROUNDS_H */
