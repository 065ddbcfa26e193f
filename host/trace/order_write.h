/* SPDX-License-Identifier: GPL-2.0 */
/*
 * order_write.h - gathers one lane of the merged order, and makes the payload of an ORDER or LATE
 * chunk of it. An event is a record of a RAW chunk, of which only its place is noted, or one of the
 * host's own, which is kept whole.
 */
#ifndef XVT_ORDER_WRITE_H
#define XVT_ORDER_WRITE_H

#include "trace/lines.h"

/* Where a record lies. */
struct xvt_raw_place {
	uint64_t chunk;	  /* offset of its RAW chunk in the file */
	uint32_t at;	  /* in the payload of that */
	uint32_t stretch; /* of the ring: the same as of the record before it, if that one is the
			     record right before it in the same piece */
	uint16_t skip;	  /* records from there to this one */
	uint16_t ts_bits; /* of the ring's short stamps */
	uint64_t ts;	  /* clock value of the record at `at` */
};

/* What is known of a ring in the chunk that is gathered. */
struct xvt_order_open {
	uint64_t gathering; /* the chunk that the rest is of */
	uint32_t source;
	uint32_t stretch;
	uint32_t ring_flags;
	uint32_t line;
	uint32_t raw;
};

#define XVT_ORDER_OWN UINT32_MAX

struct xvt_order {
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t count;
	uint64_t gathering; /* number of the chunk that is gathered: of both lanes none has the
			       same, and none is 0 */
	uint32_t *sequence; /* source of each event, XVT_ORDER_OWN: the host's own */
	uint32_t sequence_room;
	uint32_t nr_own;
	uint32_t nr_changes; /* events whose source is not that of the one before */
	uint8_t *own;
	size_t own_len;
	size_t own_room;
	uint64_t *raws;
	uint32_t nr_raws;
	uint32_t raws_room;
	struct xvt_order_line *lines;
	uint32_t nr_lines;
	uint32_t lines_room;
	struct xvt_order_source *sources;
	uint32_t nr_sources;
	uint32_t sources_room;
	struct xvt_order_open *rings; /* by their number */
	uint32_t nr_rings;
	uint32_t *of_runs; /* for the caller: a source for each run of a window */
	uint32_t of_runs_room;
};

void xvt_order_init(struct xvt_order *o, bool late);
void xvt_order_fini(struct xvt_order *o);

/* Should it leave as a chunk before the next event is added? */
bool xvt_order_full(const struct xvt_order *o);

/* One of the host's own. Returns 0 or -ENOMEM. */
int xvt_order_own(struct xvt_order *o, const struct xvt_event_hdr *hdr, const void *payload);

/* Room for n more events; for n runs in of_runs. Returns 0 or -ENOMEM. */
int xvt_order_reserve(struct xvt_order *o, uint32_t n);
int xvt_order_reserve_runs(struct xvt_order *o, uint32_t n);

/*
 * The source that a record of the ring is of. `line` leads from its clock value to its time; NULL:
 * none does, or it is not known. Returns 0 or -ENOMEM.
 */
int xvt_order_source(struct xvt_order *o, uint32_t ring_flags, const struct xvt_raw_place *place,
		     const struct xvt_clock_segment *line, uint64_t host_ns, uint32_t *source);

/* The next event is the next record of that source. There is room for it; the caller adds to the
 * source's count, and notes the times of the chunk's first and last event by xvt_order_time(). */
static inline void xvt_order_next(struct xvt_order *o, uint32_t source)
{
	o->nr_changes += !o->count || o->sequence[o->count - 1] != source;
	o->sequence[o->count++] = source;
}

/* The chunk has an event of that time: before its first one is added, or behind one. */
void xvt_order_time(struct xvt_order *o, uint64_t host_ns);

/* All of it for one record. Returns 0 or -ENOMEM. */
int xvt_order_record(struct xvt_order *o, const struct xvt_event_hdr *hdr,
		     const struct xvt_raw_place *place, const struct xvt_clock_segment *line);

/* The ring's next record does not follow its last one here, whatever its stretch is. Returns
 * whether there was one since the last such call. */
bool xvt_order_break(struct xvt_order *o, uint32_t ring);

/* Bytes that the payload takes at most. */
size_t xvt_order_room(const struct xvt_order *o);
/* Makes the payload in `to`, which has room for it and is aligned to 8, and begins anew. Returns
 * its length. */
size_t xvt_order_encode(struct xvt_order *o, uint8_t *to);

#endif /* XVT_ORDER_WRITE_H */
