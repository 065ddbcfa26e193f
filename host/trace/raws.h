/* SPDX-License-Identifier: GPL-2.0 */
/* raws.h - the RAW chunks of a trace that events are read from at present, in a cache. */
#ifndef XVT_RAWS_H
#define XVT_RAWS_H

#include "trace/read.h"

/* RAW chunks of a trace: `base` is for xvt_events_begin(). Memory: 32 MiB, and one chunk. */
#define XVT_RAWS_SLOTS	256u
#define XVT_RAWS_SEEN	1u /* the chunk was loaded, and passed its checks */
#define XVT_RAWS_PACKED 2u /* the chunk is compressed */
#define XVT_RAWS_LEN	4u /* bytes of payload, as a multiple of this */
struct xvt_trace_raws {
	struct xvt_raws base; /* first */
	struct xvt_trace *t;
	uint32_t count;
	uint64_t uses;
	size_t held;
	uint64_t budget; /* bytes that may still be loaded, beside what `base.events` allow */
	uint64_t spent;
	uint64_t named;	    /* bytes of records that events were said to have */
	uint64_t nameable;  /* bytes of the RAW chunks of `seen` */
	uint32_t *seen;	    /* XVT_RAWS_* of each chunk of the trace; 0: not loaded */
	size_t seen_chunks; /* of them */
	bool noted;
	bool reported_missing;
	bool reported_named;
	/* By the low bits of a chunk's number: the slot in which it was found last. */
	uint8_t slot_of[XVT_RAWS_SLOTS];
	struct xvt_raws_slot {
		struct xvt_raw raw;
		struct xvt_chunk_buf buf;
		uint64_t used;
	} slots[XVT_RAWS_SLOTS];
};

void xvt_trace_raws_init(struct xvt_trace_raws *r, struct xvt_trace *t);
void xvt_trace_raws_fini(struct xvt_trace_raws *r);
/*
 * Copies the piece whose bytes begin at `at` in the payload of a RAW chunk, of which `count`
 * records will be taken, to *bytes, which has *room and grows. A caller that needs pieces of many
 * chunks in turn has each of them loaded once, and later reads of the piece alone. Returns its
 * length; -EBADMSG: it cannot be read, which was noted; or another -errno.
 */
int64_t xvt_trace_raws_piece(struct xvt_trace_raws *r, uint64_t seq, uint32_t at, uint32_t count,
			     uint8_t **bytes, size_t *room);
/* All of it may be read again. */
void xvt_trace_raws_again(struct xvt_trace_raws *r);
/*
 * Several readers of copies of a trace have read a part of its events each: the first one those of
 * its begin, the next one those behind, and so on. Returns whether one reader of them all surely
 * stays within its limits. None of the parts has gone beyond them.
 */
bool xvt_trace_raws_fit_in_one(const struct xvt_trace_raws *const *parts, size_t count);

#endif /* XVT_RAWS_H */
