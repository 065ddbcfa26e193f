/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verify_parts.h - what the files of the check share; see verify.h. verify.c reads the file and
 * checks its chunks, verify_kinds.c what it says of machines and rings, verify_events.c the events,
 * verify_raw.c the pieces of rings, verify_places.c the events' places in them, verify_clock.c each
 * time against the clocks that the file holds, verify_proof.c their bounds, verify_away.c against
 * the host's switches, verify_counts.c the counters, verify_heads.c those of sub-buffers;
 * verify_report.c words and counts what is wrong.
 */
#ifndef XVT_VERIFY_PARTS_H
#define XVT_VERIFY_PARTS_H

#include "decode/decode.h"
#include "trace/raws.h"
#include "view/looks.h"
#include "view/marks.h"
#include "view/reclock.h"
#include "view/spans.h"
#include "view/verify.h"
#include "xvt_ring.h"

enum xvt_verify_kind {
	XVT_VERIFY_DAMAGE,
	XVT_VERIFY_CHUNK,
	XVT_VERIFY_INDEX,
	XVT_VERIFY_END,
	XVT_VERIFY_HOST_CLOCK,
	XVT_VERIFY_RING,
	XVT_VERIFY_CLOCK,
	XVT_VERIFY_TIME,
	XVT_VERIFY_SAMPLE,
	XVT_VERIFY_ORDER,
	XVT_VERIFY_LOOK,
	XVT_VERIFY_MARK,
	XVT_VERIFY_PAIR,
	XVT_VERIFY_RAN,
	XVT_VERIFY_COUNT,
	XVT_VERIFY_LOSS,
	XVT_VERIFY_CAUSE,
	XVT_VERIFY_KINDS,
};

/* Violations of one machine, or of none. */
struct xvt_verify_tally {
	uint64_t of[XVT_VERIFY_KINDS];
};

/* State of one lane (main or late) of a ring, at its last record. */
struct xvt_verify_place {
	bool any;
	uint64_t guest; /* guest's clock */
	size_t epoch;	/* index in ring->epochs */
	size_t node;	/* the last node at or before guest, if there is one */
	bool beside;	/* no segment bounds it, but the looks at its ring do: */
	uint64_t beside_bound_ns;
};

/* The newest event in one lane of a ring. */
struct xvt_verify_written {
	uint64_t ns;
	uint64_t pos; /* of the newest record in the ring */
	bool any;     /* pos holds */
};

/* The piece of a source. */
struct xvt_verify_piece {
	uint64_t shift; /* from a place in the payload of its RAW chunk to the position in the ring
			 */
	uint32_t end;	/* of it in that payload; 0: unknown */
};

struct xvt_verify_source;
struct xvt_verify_step;
struct xvt_verify_rollback;

struct xvt_verify_epoch {
	size_t first; /* nodes [first, end) */
	size_t end;
};

/* A nominal rate of a ring, from its node number `nodes` on; 0: the machine's. */
struct xvt_verify_rate {
	uint64_t nodes;
	uint64_t hz;
};

/* An interval of host time. */
struct xvt_verify_gap {
	uint64_t lo_ns;
	uint64_t hi_ns;
};

/* A piece, and what its ring had at its end. */
struct xvt_verify_tail {
	uint64_t end;
	uint64_t live;
};

/* Between which moments a node's clock was read, by all exchanges of its burst. */
struct xvt_verify_proof {
	uint64_t lo_ns;
	uint64_t hi_ns;
	uint32_t samples;
};

/* A sub-buffer's header, and the events in the file between it and the next one that is there. */
struct xvt_verify_head {
	struct xvt_subbuf_head head;
	uint64_t named;
};

/* The clock that the file gives a ring. */
struct xvt_verify_ring_map {
	/* written by verify_clock.c */
	struct xvt_clock_node *nodes;
	size_t node_count;
	struct xvt_verify_epoch *epochs;
	size_t epoch_count;
	uint64_t hz;		       /* nominal rate, beyond the nodes */
	struct xvt_verify_rate *rates; /* that RING chunks said, by nodes */
	size_t nr_rates;
	uint64_t bound_ns_max; /* largest bound of a segment */
	size_t carried;	       /* nodes from the file before, which has their samples */
	uint64_t samples;
	/* written by verify_clock.c verify_looks.c */
	struct xvt_verify_place lane[2];
	/* private to verify_clock.c */
	size_t node_room;
	size_t rates_room;
};

/* The looks at a ring. */
struct xvt_verify_ring_looked {
	/* private to verify_looks.c */
	struct xvt_bounding_looks bounding; /* looks that bound events */
	struct xvt_look_list looks;	    /* looks that check the map */
	/* written by verify_looks.c */
	uint64_t beside_ns_max; /* largest bound of an event beside segments that has no flag U */
};

/* Where the events of a ring lie in it. */
struct xvt_verify_ring_order {
	/* written by verify_places.c */
	struct xvt_verify_written written[2]; /* ORDER and LOOSE chunks, LATE chunks */
	/* written by verify_places.c */
	size_t nr_rollbacks;
	/* private to verify_places.c */
	struct xvt_verify_rollback *rollbacks;
	size_t rollbacks_room;
	uint32_t steps; /* of xvt_verify_state.steps */
};

/* The heads of a ring's sub-buffers. */
struct xvt_verify_ring_heads {
	/* written by verify_heads.c */
	struct xvt_verify_head *of;
	size_t count;
	size_t at[2]; /* number of them before the newest event of each lane */
	/* private to verify_heads.c */
	size_t room;
};

/* What the file's counters say of a ring. */
struct xvt_verify_ring_told {
	/* written by verify_counts.c */
	struct xvt_ring_stats stats;
	bool has_stats;
	/* private to verify_counts.c */
	bool tells_all; /* the LOST records have all overwritten records of `stats` */
};

/* When a ring's thread was on no CPU of the host. */
struct xvt_verify_ring_away {
	/* written by verify_away.c */
	struct xvt_verify_gap *gaps;
	size_t count;
	/* private to verify_away.c */
	size_t room;
};

/* What elements of chunks say of a ring. */
struct xvt_verify_ring_kind {
	/* written by verify_kinds.c */
	uint32_t ts_bits; /* of its short stamps */
	uint64_t named;	  /* records that events name */
};

/* The ring's pieces so far. */
struct xvt_verify_ring_raw {
	/* private to verify_raw.c */
	bool any;
	uint64_t end;			/* of the last one */
	uint64_t back;			/* those that lie before it */
	struct xvt_raw_piece last_back; /* the last of them */
	uint64_t live;			/* records that events may name */
	uint32_t tail_at;
	/* written by verify_raw.c */
	struct xvt_verify_tail *tail; /* of its newest pieces, in turn; NULL: it has none */
};

/* What the events of a ring say. */
struct xvt_verify_ring_seen {
	/* written by verify_events.c */
	struct xvt_lost recorded; /* sums of the LOST records */
	uint64_t astray;	  /* events that contradict their clock */
	uint64_t last_ns;
	uint64_t events;
	uint64_t late;
	uint64_t backlog;
	uint64_t unconfirmed;
	uint64_t recovered;
	/* written by verify_events.c verify_clock.c */
	uint64_t first_ns;
};

struct xvt_verify_ring {
	struct xvt_verify_ring_map map;
	struct xvt_verify_ring_looked looked;
	struct xvt_verify_ring_order order;
	struct xvt_verify_ring_heads heads;
	struct xvt_verify_ring_told told;
	struct xvt_verify_ring_away away;
	struct xvt_verify_ring_kind kind;
	struct xvt_verify_ring_raw raw;
	struct xvt_verify_ring_seen seen;
	struct xvt_verify_proof *proofs; /* verify_proof.c: of its nodes; NULL: no sample came yet
					  */
};

struct xvt_verify_state {
	struct xvt_trace *t;
	struct xvt_verify_ring *rings;
	struct xvt_timebase *lines; /* of the host's clock, by base_clock */
	size_t line_count;
	size_t line_room;
	struct xvt_decoders ds;
	bool looks_whole;  /* all looks at the events of the chunk are in the file */
	size_t looks_from; /* number of the last LOOKS chunk, else 0 */
	struct xvt_marks marks;
	struct xvt_reclock *reclock; /* the times that readers show; NULL: the recorded ones */
	struct xvt_spans spans;
	struct xvt_verify_tally *tally; /* by machine; the last concerns no machine */
	uint64_t events[2];		/* records of the main and the late lane */
	uint64_t watermark_ns;
	struct xvt_round round; /* the last one */
	bool round_any;
	size_t index_from; /* number of the last INDEX chunk, else 0 */
	uint64_t last_ns;
	uint32_t last_vm;
	uint32_t last_ring;
	const struct xvt_verify_opts *opts;
	struct xvt_verify_result *result;
	struct xvt_events_iter it;
	struct xvt_trace_raws raws;
	struct xvt_verify_source *sources; /* of the chunk, by place */
	size_t sources_room;
	struct xvt_verify_piece *pieces; /* of its sources */
	size_t pieces_room;
	struct xvt_verify_step *steps; /* back, which a LOST record has yet to explain */
	size_t nr_steps;
	size_t steps_room;
};

#define XVT_VERIFY_RING_TEXT (XVT_NAME_LEN + 40)

/* --- verify_report.c --- */

/* Counts a violation and reports its text, up to a limit for each machine and kind. vm:
 * XVT_VM_NONE if it concerns no machine. */
void xvt_verify_violation(struct xvt_verify_state *v, enum xvt_verify_kind kind, uint32_t vm,
			  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* A line with a formatted text for the caller. */
void xvt_verify_line(const struct xvt_verify_state *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* For each machine a line with the number of violations that were counted and not reported. */
void xvt_verify_report_more(const struct xvt_verify_state *v);
/* "g1:0 (ring 3)". Returns text. */
const char *xvt_verify_ring_text(const struct xvt_verify_state *v, uint32_t ring,
				 char text[XVT_VERIFY_RING_TEXT]);

/* --- verify_clock.c --- */

/* Load all clock data that events are compared with: nodes, the host clock's lines, marks, run
 * spans. Returns 0, -ENOMEM or a read error. */
int xvt_verify_load_clocks(struct xvt_verify_state *v, struct xvt_chunk_buf *b);
/* Compares a sample with the host clock's lines and with the node made of it. Returns 0 or
 * -ENOMEM. */
int xvt_verify_sample(struct xvt_verify_state *v, const struct xvt_clock_sample *s);
/* Compares the host time of a record with the map of its ring, and updates the lane's state. */
void xvt_verify_time(struct xvt_verify_state *v, struct xvt_verify_ring *r,
		     const struct xvt_event_hdr *h);
/* Greatest error of the map where the lane's last record lies, in nanoseconds. */
uint64_t xvt_verify_bound_ns(const struct xvt_verify_ring *r, const struct xvt_verify_place *p);
/* The following three compare a record that xvt_verify_time() has just seen with: the moments at
 * which the host asked for it (MARK), the guest's own clock (CLOCK_SYNC), the time its vCPU ran. */
void xvt_verify_mark(struct xvt_verify_state *v, const struct xvt_verify_ring *r,
		     const struct xvt_event *ev);
void xvt_verify_pair(struct xvt_verify_state *v, const struct xvt_verify_ring *r,
		     const struct xvt_event *ev);
void xvt_verify_ran(struct xvt_verify_state *v, const struct xvt_verify_ring *r,
		    const struct xvt_event_hdr *h);

/* --- verify_kinds.c --- */

/* What belongs to nothing, or has a kind or flag that the format does not have: of the file as a
 * whole (0 or -ENOMEM), of a chunk, of elements of chunks. */
int xvt_verify_things(struct xvt_verify_state *v);
void xvt_verify_thing(struct xvt_verify_state *v, uint16_t type, const struct xvt_chunk_buf *b);
void xvt_verify_node_kind(struct xvt_verify_state *v, const struct xvt_clock_node *n);
void xvt_verify_sample_kind(struct xvt_verify_state *v, const struct xvt_clock_sample *s);
void xvt_verify_look_kind(struct xvt_verify_state *v, const struct xvt_clock_look *k);
/* Returns false if the head belongs to no ring. */
bool xvt_verify_head_kind(struct xvt_verify_state *v, const struct xvt_subbuf_head *h);
void xvt_verify_run_kind(struct xvt_verify_state *v, const struct xvt_run_span *span);
/* Counts its records, too. */
void xvt_verify_source(struct xvt_verify_state *v, const struct xvt_events_source *s);
/* last: the line before it; NULL: it is the first. */
void xvt_verify_line_kind(struct xvt_verify_state *v, const struct xvt_timebase *l,
			  const struct xvt_timebase *last);

/* --- verify_proof.c --- */

/* Compares a segment's bound with those of its nodes; last: the ring's node before it, or NULL. */
void xvt_verify_segment(struct xvt_verify_state *v, const struct xvt_clock_node *n,
			const struct xvt_clock_node *last);
/* Takes a sample of the epoch, whose exchange lasted from lo to hi (host_ns). Returns 0 or -ENOMEM.
 */
int xvt_verify_prove(struct xvt_verify_state *v, struct xvt_verify_ring *r,
		     const struct xvt_verify_epoch *e, const struct xvt_clock_sample *s,
		     uint64_t lo, uint64_t hi);
/* The rate with which a node, and the segment that ends there, were made. */
uint64_t xvt_verify_hz_at(const struct xvt_verify_ring *r, size_t node);
/* After all samples: the bounds of the ring's nodes, and its rate. */
void xvt_verify_proofs(struct xvt_verify_state *v, uint32_t ring);

/* --- verify_raw.c --- */

/* Checks a RAW chunk; at the end, a ring's pieces against each other and against its events.
 * Returns 0 or -ENOMEM. */
int xvt_verify_raw(struct xvt_verify_state *v, const struct xvt_chunk_ref *ref,
		   const struct xvt_chunk_buf *b);
void xvt_verify_raw_end(struct xvt_verify_state *v, uint32_t ring);

/* --- verify_counts.c --- */

void xvt_verify_take_stats(struct xvt_verify_state *v, const struct xvt_chunk_buf *b);
/* At the end: a ring's counters against what was counted. */
void xvt_verify_counts(struct xvt_verify_state *v, uint32_t ring);

/* --- verify_heads.c --- */

/* Takes a chunk of HEADS. Returns 0 or -ENOMEM. */
int xvt_verify_add_heads(struct xvt_verify_state *v, const struct xvt_chunk_buf *b);
/* At the end: compares a ring's heads with its events. */
void xvt_verify_heads(struct xvt_verify_state *v, uint32_t ring);
/* Counts an event of which xvt_verify_place() has just found the position. */
static inline void xvt_verify_count_head(struct xvt_verify_ring *r, bool late)
{
	const uint64_t pos = r->order.written[late].pos;
	size_t *at = &r->heads.at[late];

	while (*at < r->heads.count && !xvt_pos_before(pos, r->heads.of[*at].head.pos))
		++*at;
	if (*at)
		r->heads.of[*at - 1].named++;
}

/* --- verify_away.c --- */

/* Finds when the rings' threads were on no CPU of the host, where the trace has its switches. After
 * xvt_verify_load_clocks(). Returns 0, -ENOMEM or a read error. */
int xvt_verify_load_away(struct xvt_verify_state *v, struct xvt_chunk_buf *b);
/* Compares a record that xvt_verify_time() has just seen, of a ring that has such intervals. */
void xvt_verify_away_event(struct xvt_verify_state *v, const struct xvt_verify_ring *r,
			   const struct xvt_event_hdr *h);

/* --- verify_looks.c --- */

/* Takes a chunk of LOOKS; settle: after the last one. Return 0 or -ENOMEM. */
int xvt_verify_add_looks(struct xvt_verify_state *v, const struct xvt_chunk_buf *b);
int xvt_verify_settle_looks(struct xvt_verify_ring *r);
void xvt_verify_looks_fini(struct xvt_verify_ring *r);
/* Returns whether looks alone bound the event; then its time must lie between them. */
bool xvt_verify_beside(struct xvt_verify_state *v, struct xvt_verify_ring *r,
		       const struct xvt_event_hdr *h);
/*
 * Compares the time to which re-clocking moves an event with the host times between which it was
 * written, as `what` knows them. bound_ns: of its recorded time.
 */
void xvt_verify_new_time(struct xvt_verify_state *v, const struct xvt_event_hdr *h,
			 uint64_t bound_ns, struct xvt_look_span span, const char *what);
/* Compares an event that xvt_verify_time() has just seen, and its bound, with the looks at its
 * ring. */
void xvt_verify_look(struct xvt_verify_state *v, struct xvt_verify_ring *r,
		     const struct xvt_event_hdr *h, uint64_t bound_ns);

/* --- verify_events.c --- */

/* Checks the events of an ORDER or LATE chunk. Returns 0, -ENOMEM or a read error. */
int xvt_verify_events(struct xvt_verify_state *v, const struct xvt_chunk_ref *ref,
		      const struct xvt_chunk_buf *b);

/* --- verify_places.c --- */

/* Finds the pieces of the sources of the chunk that v->it has begun. Returns 0, -ENOMEM or a read
 * error. */
int xvt_verify_places(struct xvt_verify_state *v);
/* See xvt_verify_place(). */
int xvt_verify_place_apart(struct xvt_verify_state *v, const struct xvt_event *ev, uint16_t type);
/* Notes that a LOST record tells that the ring's contents were replaced. Returns 0 or -ENOMEM. */
int xvt_verify_rollback(struct xvt_verify_state *v, uint32_t ring, uint64_t ns);
/* At the end: reports the steps back of which no LOST record tells. */
void xvt_verify_steps(struct xvt_verify_state *v);
void xvt_verify_places_fini(struct xvt_verify_state *v);

/* Compares time and position of the event that v->it gave last, of a known ring, with those of the
 * one before it in its lane. `type`: of the chunk. Returns 0 or -ENOMEM. */
static inline int xvt_verify_place(struct xvt_verify_state *v, const struct xvt_event *ev,
				   uint16_t type)
{
	const struct xvt_events_decoded *d = xvt_events_decoded(&v->it, ev);
	const struct xvt_event_hdr *h = ev->hdr;
	struct xvt_verify_written *last =
		&v->rings[xvt_event_ring(ev)].order.written[!!(h->ring_flags & XVT_EVENT_F_LATE)];

	if (xvt_likely(d && last->any && h->host_ns >= last->ns)) {
		const struct xvt_verify_piece *p = &v->pieces[d->source];
		const uint64_t pos = p->shift + d->at;

		if (xvt_likely(d->at < p->end && (int64_t)(pos - last->pos) > 0)) {
			last->pos = pos;
			last->ns = h->host_ns;
			return 0;
		}
	}
	return xvt_verify_place_apart(v, ev, type);
}

#endif /* XVT_VERIFY_PARTS_H */
