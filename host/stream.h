/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stream.h - a few dozen rings as one sorted stream of records. Many rings are merged in two
 * steps: each group of them here, by whoever has time for it (crew.c), and the groups in merge.c.
 * What a group works on fits in a core's cache, and what it hands on lies in one place.
 */
#ifndef XVT_STREAM_H
#define XVT_STREAM_H

#include "crew.h"
#include "ring.h"
#include "tree.h"

/* A ring or a stream that has records to go out. */
struct xvt_merge_leaf {
	struct xvt_placed *at;
	struct xvt_placed *end;
	uint64_t after; /* key of at[1], if it has one: loaded long before anybody waits for it */
	struct xvt_ring *ring;	   /* one of them is */
	struct xvt_stream *stream; /* NULL */
};

/* A tree of those of the leaves that have records counts its times from the earliest. */
static inline uint64_t xvt_leaves_base_ns(const struct xvt_merge_leaf *leaves, uint32_t count)
{
	uint64_t base_ns = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (leaves[i].at != leaves[i].end && leaves[i].at->hdr.host_ns < base_ns)
			base_ns = leaves[i].at->hdr.host_ns;
	}
	return base_ns;
}

/* Records ready to go out, with what they point to. */
struct xvt_half {
	struct xvt_placed *records;
	uint8_t *payloads;
	size_t room; /* of payloads */
	size_t used;
	uint32_t at; /* next that goes out */
	uint32_t count;
};

struct xvt_stream {
	struct xvt_task task; /* first: fills `target` */
	/* For a pass, by the merge, while nobody works on it. */
	struct xvt_ring **rings; /* those that take part, in order */
	uint32_t nr_rings;
	uint32_t room;
	uint32_t half_records;
	uint64_t limit_ns;
	uint64_t kept_ns; /* newest record that is left from before */
	uint32_t current; /* the half whose records go out */
	bool given;	  /* to a crew */
	struct xvt_half half[2];
	struct xvt_half *target; /* NULL: neither is free */
	/* By the task. */
	bool begun;	   /* in this pass */
	bool dry;	   /* nothing more goes out in it */
	uint64_t bound_ns; /* of rings that have no record: what is earlier goes out */
	struct xvt_ring **strays;
	uint32_t nr_strays; /* rings with records older than what is left: not in here */
	struct xvt_ring **witnesses;
	uint32_t nr_witnesses; /* rings that made a clock node of what waited */
	struct xvt_tree tree;
	struct xvt_merge_leaf *leaves;
	uint32_t nr_leaves;
	uint64_t key; /* who is next */
	int err;
};

void xvt_stream_init(struct xvt_stream *g, uint32_t half_records);
void xvt_stream_fini(struct xvt_stream *g);

/* Fills `target`; the first time in a pass also finds out who has something. */
void xvt_stream_fill(struct xvt_task *task);

/* A pass begins; no ring takes part yet. */
void xvt_stream_begin(struct xvt_stream *g, uint64_t limit_ns);
/* This one does. In order of (VM, ring). Returns 0 or -ENOMEM. */
int xvt_stream_add(struct xvt_stream *g, struct xvt_ring *r);
/* Choose which half is filled next. */
void xvt_stream_aim(struct xvt_stream *g);
/* The half whose records go out; its successor if it is used up. */
struct xvt_half *xvt_stream_half(struct xvt_stream *g);

/* Records that are left. */
static inline bool xvt_stream_has(const struct xvt_stream *g)
{
	return g->half[0].at < g->half[0].count || g->half[1].at < g->half[1].count;
}

#endif /* XVT_STREAM_H */
