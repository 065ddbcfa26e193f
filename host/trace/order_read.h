/* SPDX-License-Identifier: GPL-2.0 */
/*
 * order_read.h - reads the events of one ORDER or LATE chunk, each with its record from the RAW
 * chunk that holds it. All of it is untrusted: every offset and every length is checked before use.
 */
#ifndef XVT_ORDER_READ_H
#define XVT_ORDER_READ_H

#include "trace/order_write.h"
#include "trace/payload.h"

/* Payload of one chunk, CRC checked; the buffer is reused for the next chunk. */
struct xvt_chunk_buf {
	uint8_t *bytes;
	size_t room;
	uint8_t *unpacked; /* the payload of a compressed chunk */
	size_t unpacked_room;
	uint8_t *payload;
	uint32_t len;
};

void xvt_chunk_buf_free(struct xvt_chunk_buf *b);

/* An event. The event's pointers lead into a buffer that is valid until the next call of the
 * function that gave it. */
struct xvt_event {
	const struct xvt_event_hdr *hdr; /* 8-byte aligned */
	const uint8_t *payload;
	uint64_t chunk_seq;
	/* How many events its chunk has behind it, readable or not: the same for each reader. */
	uint32_t left;
};

/* A RAW chunk held in memory. */
struct xvt_raw {
	uint64_t seq; /* of its header */
	const uint8_t *payload;
	uint32_t len;
};

/* Loads RAW chunks by their sequence number. A chunk stays valid until the next get(), and after
 * that as long as its `seq` is unchanged. */
struct xvt_raws {
	/* `count`: how many more records will be taken from the chunk. Returns 0; -EBADMSG: it
	 * cannot be read, which was noted; or another error. */
	int (*get)(struct xvt_raws *raws, uint64_t seq, uint32_t count, const struct xvt_raw **raw);
	/* Accounts for bytes that were read without an event, because the cost of a file is
	 * limited. Returns false beyond the limit. */
	bool (*spend)(struct xvt_raws *raws, uint64_t bytes);
	/* Returns true if these RAW chunks cannot all be held at the same time. May be NULL. */
	bool (*crowded)(struct xvt_raws *raws, const uint8_t *names, uint32_t count);
	uint64_t events; /* events read, without those of the newest chunk */
};

/* A source while it is read. */
struct xvt_events_source {
	const struct xvt_raw *raw; /* NULL: not begun */
	uint64_t raw_seq;	   /* of its RAW chunk */
	uint32_t at;		   /* offset of the next record in `raw` */
	uint32_t base;		   /* of `raw` in the payload: it may be a copy of a part */
	uint32_t left;
	uint32_t ring_flags;
	uint32_t line;
	uint16_t skip;
	uint16_t ts_bits;
	bool unreadable;
	uint64_t ts;
};

/* Events that are decoded together, and where the record of each is. */
#define XVT_EVENTS_RUN 32u

struct xvt_events_decoded {
	struct xvt_event_hdr hdr;
	const uint8_t *payload;
	uint32_t source; /* its source, and where its record begins in the payload */
	uint32_t at;
	uint32_t left; /* as in struct xvt_event */
};

struct xvt_events_iter {
	struct xvt_raws *raws;
	uint64_t chunk_seq;
	uint32_t left; /* events left in the chunk */
	/* The host's own events. */
	const uint8_t *at;
	const uint8_t *end;
	/* Events of sources. */
	uint32_t nr_sources;
	uint32_t nr_lines;
	struct xvt_events_source *sources;
	struct xvt_clock_segment *lines; /* run is 0 or as in the file, see line_of() */
	uint32_t sources_room;
	uint32_t lines_room;
	/* Copies of each source's records, if their RAW chunks cannot all be held. */
	struct xvt_raw *kept;
	uint8_t *kept_bytes;
	const uint8_t *numbers;
	uint64_t number; /* index of the next number */
	uint32_t width;
	const uint8_t *runs; /* NULL: one number an event */
	uint32_t nr_runs;
	uint32_t run_left;
	uint32_t current;
	uint32_t given;	  /* events of this chunk */
	uint64_t missing; /* all events so far whose RAW chunk cannot be read */
	/* The events that xvt_events_next() gives before it decodes more, or the one given last. */
	uint32_t at_decoded;
	uint32_t nr_decoded;
	struct xvt_events_decoded decoded[XVT_EVENTS_RUN];
};

/* Adjacent events of a chunk: `count` records of a source, or one event of the host's own. */
struct xvt_events_item {
	struct xvt_event own; /* hdr == NULL: records of `source` */
	uint32_t source;
	uint32_t count;
	uint32_t ring;
	uint32_t left; /* as in an event, of the last one */
};

/* The next record of a source, before it is taken. */
struct xvt_events_record {
	uint64_t host_ns;
	uint64_t header;
	uint32_t head; /* bytes of its header */
};

/*
 * Begins to read a chunk whose payload is in b; b must stay unchanged meanwhile. `raws` may be NULL
 * for a chunk without sources. Before the first call `it` is all zero. Returns 0, -ENOMEM, or
 * -EBADMSG if its tables do not fit into it.
 */
int xvt_events_begin(struct xvt_events_iter *it, struct xvt_raws *raws,
		     const struct xvt_chunk_buf *b, uint64_t chunk_seq);
void xvt_events_end(struct xvt_events_iter *it);

/* Returns 1 and fills ev; 0: no more events; -EBADMSG: a table or record reaches past its chunk,
 * and the rest cannot be read; or another -errno. Events of unreadable RAW chunks are left out. */
static inline int xvt_events_next(struct xvt_events_iter *it, struct xvt_event *ev);

/*
 * The same for a caller that takes the sources' records in an order of its own. First it gets all
 * items of the chunk: 1, 0 or -errno as above. Then it gets an item's records by a peek and a take
 * for each. The function may set a source's `raw` to a copy of its piece before that.
 */
int xvt_events_item(struct xvt_events_iter *it, struct xvt_events_item *item);
/* Returns 1; 0: the record's RAW chunk is unreadable, and the record is passed; or -errno. */
int xvt_events_peek(struct xvt_events_iter *it, uint32_t source, struct xvt_events_record *rec);
/* Takes the record of the source's last peek, whose RAW chunk is still there. */
void xvt_events_take(struct xvt_events_iter *it, uint32_t source,
		     const struct xvt_events_record *rec, struct xvt_event *ev);

/* Where a record is in the file, and what gives its time. */
struct xvt_events_origin {
	struct xvt_raw_place place;
	struct xvt_clock_segment line; /* run is 0: no line gives it */
	uint32_t source;	       /* number in the chunk */
};

/* Gives the origin of the event that the iterator gave last. Returns false for an event of the
 * host's own. */
bool xvt_events_origin(const struct xvt_events_iter *it, const struct xvt_event *ev,
		       struct xvt_events_origin *origin);

/* ------------------------------------------------------------------ inline parts */

/* Where the event is that the iterator gave last; NULL: it is of the host's own. */
static inline const struct xvt_events_decoded *xvt_events_decoded(const struct xvt_events_iter *it,
								  const struct xvt_event *ev)
{
	const struct xvt_events_decoded *d = (const struct xvt_events_decoded *)ev->hdr;

	return d >= it->decoded && d < it->decoded + XVT_EVENTS_RUN ? d : NULL;
}

/* For xvt_events_next(), when all decoded events were given. */
int xvt_events_decode(struct xvt_events_iter *it, struct xvt_event *ev);

xvt_inline void xvt_events_give(const struct xvt_events_iter *it,
				const struct xvt_events_decoded *d, struct xvt_event *ev)
{
	ev->hdr = &d->hdr;
	ev->payload = d->payload;
	ev->chunk_seq = it->chunk_seq;
	ev->left = d->left;
}

static inline int xvt_events_next(struct xvt_events_iter *it, struct xvt_event *ev)
{
	if (xvt_unlikely(it->at_decoded == it->nr_decoded))
		return xvt_events_decode(it, ev);
	xvt_events_give(it, &it->decoded[it->at_decoded++], ev);
	return 1;
}

#endif /* XVT_ORDER_READ_H */
