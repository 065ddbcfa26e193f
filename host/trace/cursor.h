/* SPDX-License-Identifier: GPL-2.0 */
/* cursor.h - the events of a trace, all lanes together, in order of time. */
#ifndef XVT_CURSOR_H
#define XVT_CURSOR_H

#include "trace/loose.h"

struct xvt_late {
	struct xvt_event_key key;
	size_t at; /* in late_bytes */
	uint32_t left;
};

/*
 * All events with from_ns <= host_ns <= to_ns, all lanes together, in order of (host_ns, VM, ring,
 * place in the ring), see event_key.h. Damaged chunks are skipped and noted in the trace.
 */
struct xvt_cursor {
	struct xvt_trace *t;
	uint64_t from_ns;
	uint64_t to_ns;
	struct xvt_chunk_buf buf;
	struct xvt_events_iter it;
	struct xvt_trace_raws
		*raws;		/* of main and late: an event of one stays beside the other's */
	uint64_t walks;		/* of the trace: the list of chunks that `chunk` is for */
	size_t chunk;		/* next to load */
	uint64_t read_to;	/* behind the offset of the last one that was */
	struct xvt_event ahead; /* of the main lane; hdr == NULL: fetch the next */
	struct xvt_event_key ahead_key;
	bool main_done;
	struct xvt_loose loose;
	struct xvt_event loose_ahead; /* of the loose lane; hdr == NULL: fetch the next */
	struct xvt_event_key loose_key;
	bool loose_done;
	/* The late lane: events behind late_done in order, up to late_cut if there are more. */
	struct xvt_late *late;
	size_t late_count;
	size_t late_room;
	size_t late_at;
	uint8_t *late_bytes; /* headers and payloads */
	size_t late_used;
	size_t late_bytes_room;
	struct xvt_chunk_buf late_buf;
	struct xvt_events_iter late_it;
	struct xvt_event_key late_done;
	struct xvt_event_key late_cut;
	bool late_begun; /* late_done holds */
	bool late_more;	 /* late_cut holds */
	/* The iterator of the event given last; NULL: it is of the late lane. */
	const struct xvt_events_iter *given;
};

/* Returns 0, -ENOMEM or a read error. */
int xvt_cursor_init(struct xvt_cursor *c, struct xvt_trace *t, uint64_t from_ns, uint64_t to_ns);
void xvt_cursor_fini(struct xvt_cursor *c);

/* 1: ev is filled. 0: no more. Else -errno. */
int xvt_cursor_next(struct xvt_cursor *c, struct xvt_event *ev);

/* Returns whether the next event is decoded, and none of another lane can come before it. ev is
 * filled then, if its time is not before ns. xvt_cursor_pass() goes behind it. */
static inline bool xvt_cursor_decoded(const struct xvt_cursor *c, uint64_t ns, struct xvt_event *ev)
{
	const struct xvt_events_iter *it = &c->it;

	if (it->at_decoded == it->nr_decoded || c->late_at != c->late_count || c->late_more ||
	    c->ahead.hdr || !c->loose_done)
		return false;
	xvt_events_give(it, &it->decoded[it->at_decoded], ev);
	return ev->hdr->host_ns >= ns && ev->hdr->host_ns >= c->from_ns &&
	       ev->hdr->host_ns <= c->to_ns;
}

static inline void xvt_cursor_pass(struct xvt_cursor *c)
{
	c->it.at_decoded++;
}

#endif /* XVT_CURSOR_H */
