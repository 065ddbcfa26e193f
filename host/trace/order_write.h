/* SPDX-License-Identifier: GPL-2.0 */
/*
 * order_write.h - gathers one lane of the merged order, and encodes the payload of an ORDER or LATE
 * chunk. An event is a record in a RAW chunk, for which only its place is kept, or one of the
 * host's own, which is kept whole.
 */
#ifndef XVT_ORDER_WRITE_H
#define XVT_ORDER_WRITE_H

#include "trace/lines.h"

/* The place of a record. */
struct xvt_raw_place {
	uint64_t chunk;	  /* sequence number of its RAW chunk */
	uint32_t at;	  /* offset in that chunk's payload */
	uint16_t skip;	  /* number of records from there to this one */
	uint16_t ts_bits; /* of the ring's short stamps */
	uint64_t ts;	  /* clock value of the record at `at` */
};

/* State of a ring in the chunk that is gathered. */
struct xvt_order_open {
	uint64_t gathering; /* number of the chunk in which the other fields are valid */
	uint32_t source;
	uint32_t line;
	uint32_t raw;
};

/* Where events go; each lane is gathered in chunks of its own type, see trace/format.h. */
enum xvt_lane {
	XVT_LANE_MAIN,	/* ORDER: in order of time */
	XVT_LANE_LATE,	/* LATE */
	XVT_LANE_LOOSE, /* LOOSE: in order of each ring */
	XVT_LANES,
};

#define XVT_ORDER_OWN UINT32_MAX

struct xvt_order {
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t count;
	/* number of the chunk that is gathered: unique over all lanes, never 0 */
	uint64_t gathering;
	uint32_t *sequence; /* source of each event; XVT_ORDER_OWN: the host's own */
	size_t sequence_room;
	uint32_t nr_own;
	uint32_t nr_changes; /* events with another source than the event before */
	uint8_t *own;
	size_t own_len;
	size_t own_room;
	uint64_t *raws;
	uint32_t nr_raws;
	size_t raws_room;
	struct xvt_order_line *lines;
	uint32_t nr_lines;
	size_t lines_room;
	struct xvt_order_source *sources;
	uint32_t nr_sources;
	size_t sources_room;
	struct xvt_order_open *rings; /* by ring number */
	uint32_t nr_rings;
	uint32_t *of_runs; /* for the caller: the source of each run of a window */
	size_t of_runs_room;
};

void xvt_order_init(struct xvt_order *o, enum xvt_lane lane);
void xvt_order_fini(struct xvt_order *o);

/* True if it should be written as a chunk before the next event is added. */
bool xvt_order_full(const struct xvt_order *o);

/* Adds an event of the host's own. Returns 0 or -ENOMEM. */
int xvt_order_own(struct xvt_order *o, const struct xvt_event_hdr *hdr, const void *payload);

/* Make room for n more events; for n runs in of_runs. Return 0 or -ENOMEM. */
int xvt_order_reserve(struct xvt_order *o, uint32_t n);
int xvt_order_reserve_runs(struct xvt_order *o, uint32_t n);

/* Adds a source for the ring's records from this one on that lie one behind the other in a piece
 * and on one line. `line` leads from the record's clock value to its time; NULL: no line does, or
 * it is unknown. Returns 0 or -ENOMEM. */
int xvt_order_source(struct xvt_order *o, uint32_t ring_flags, const struct xvt_raw_place *place,
		     const struct xvt_clock_segment *line, uint64_t host_ns, uint32_t *source);

/* Adds the next record of that source. The caller has reserved room, adds to the source's count,
 * and notes the times of the chunk's first and last event by xvt_order_time(). */
static inline void xvt_order_next(struct xvt_order *o, uint32_t source)
{
	o->nr_changes += !o->count || o->sequence[o->count - 1] != source;
	o->sequence[o->count++] = source;
}

/* Notes that the chunk has an event at that time: before its first event is added, or after one. */
void xvt_order_time(struct xvt_order *o, uint64_t host_ns);

/* The most bytes that the payload takes. */
size_t xvt_order_room(const struct xvt_order *o);
/* Encodes the payload into `to`, which has room for it and is aligned to 8, and starts the next
 * chunk. Returns the payload's length. */
size_t xvt_order_encode(struct xvt_order *o, uint8_t *to);

#endif /* XVT_ORDER_WRITE_H */
