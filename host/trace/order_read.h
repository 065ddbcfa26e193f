/* SPDX-License-Identifier: GPL-2.0 */
/*
 * order_read.h - the events of one ORDER or LATE chunk, each with its record out of the RAW chunk
 * that holds it. All of it is untrusted: every place and every length is checked before it is used.
 */
#ifndef XVT_ORDER_READ_H
#define XVT_ORDER_READ_H

#include "trace/payload.h"
#include "trace/lines.h"

/* Payload of one chunk, CRC checked; a buffer that is used again and again. */
struct xvt_chunk_buf {
	uint8_t *bytes;
	size_t room;
	uint8_t *unpacked; /* of a compressed chunk */
	size_t unpacked_room;
	uint8_t *payload;
	uint32_t len;
};

void xvt_chunk_buf_free(struct xvt_chunk_buf *b);

/* One event. Points into a buffer: good until the next call of what gave it. */
struct xvt_event {
	const struct xvt_event_hdr *hdr; /* 8-byte aligned */
	const uint8_t *payload;
	uint64_t chunk_seq;
};

/* A RAW chunk that is held. */
struct xvt_raw {
	uint64_t offset; /* in the file */
	const uint8_t *payload;
	uint32_t len;
};

/* Gives RAW chunks by their offset. What it gave stays until the next get(), and longer as long as
 * its offset stands in it. */
struct xvt_raws {
	/* `count`: so many more records will be taken from it. Returns 0; -EBADMSG: it cannot be
	 * read, which was noted; or another error. */
	int (*get)(struct xvt_raws *raws, uint64_t offset, uint32_t count,
		   const struct xvt_raw **raw);
	/* Bytes that were gone through without an event: what a file may cost is limited. Returns
	 * false where it has cost too much. */
	bool (*spend)(struct xvt_raws *raws, uint64_t bytes);
	/* May be NULL. True: these RAW chunks cannot all be held at the same time. */
	bool (*crowded)(struct xvt_raws *raws, const uint8_t *offsets, uint32_t count);
	uint64_t events; /* that have been read with it, but for those of the newest chunk */
};

/* A source that is being read. */
struct xvt_events_source {
	const struct xvt_raw *raw; /* NULL: not begun */
	uint64_t offset;	   /* of its RAW chunk */
	uint32_t at;		   /* of the next record, in its payload */
	uint32_t left;
	uint32_t ring_flags;
	uint32_t line;
	uint16_t skip;
	uint16_t ts_bits;
	bool unreadable;
	uint64_t ts;
};

struct xvt_events_iter {
	struct xvt_raws *raws;
	uint64_t chunk_seq;
	uint32_t left; /* events */
	/* The host's own. */
	const uint8_t *at;
	const uint8_t *end;
	/* Those of sources. */
	uint32_t nr_sources;
	uint32_t nr_lines;
	struct xvt_events_source *sources;
	struct xvt_clock_segment *lines; /* run is 0 or as in the file, see line_of() */
	uint32_t sources_room;
	uint32_t lines_room;
	/* Where their RAW chunks cannot all be held: what is needed of them, for each source. */
	struct xvt_raw *kept;
	uint8_t *kept_bytes;
	const uint8_t *numbers;
	uint64_t number; /* of the next one */
	uint32_t width;
	const uint8_t *runs; /* NULL: one number an event */
	uint32_t nr_runs;
	uint32_t run_left;
	uint32_t current;
	uint32_t given;		  /* events of this chunk */
	struct xvt_event_hdr hdr; /* of the event that was given last */
	uint64_t missing;	  /* events that lie in RAW chunks that cannot be read, ever */
};

/*
 * Begin with a chunk whose payload is in b, which stays as long. `raws` may be NULL where there are
 * no sources. All zero before the first one. Returns 0, -ENOMEM, or -EBADMSG if its tables do not
 * fit it.
 */
int xvt_events_begin(struct xvt_events_iter *it, struct xvt_raws *raws,
		     const struct xvt_chunk_buf *b, uint64_t chunk_seq);
void xvt_events_end(struct xvt_events_iter *it);

/*
 * 1: ev is filled. 0: no more. -EBADMSG: something in it reaches past its chunk; no more of it can
 * be read. Else -errno. Events of RAW chunks that cannot be read are left out.
 */
int xvt_events_next(struct xvt_events_iter *it, struct xvt_event *ev);

#endif /* XVT_ORDER_READ_H */
