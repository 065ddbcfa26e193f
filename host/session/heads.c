// SPDX-License-Identifier: GPL-2.0
/*
 * heads.c - counters from the headers of sub-buffers go into the trace: struct xvt_subbuf_head. A
 * reader holds the events of a ring, and what was lost of them, against these.
 *
 * A head is noted when the first record behind it goes out. All records of its ring before it are
 * in this file by then, or in one before it. Between two heads of a file, of which the second is
 * not the first of a row, lies nothing that is in another file.
 */
#include "session/parts.h"

#define EVERY_BYTES 16384u /* of a ring, for each head that is written: 0.3 % of them */

void xvt_session_put_heads(struct xvt_session *s)
{
	struct xvt_heads *h = &s->heads;

	if (h->count)
		xvt_trace_put(s->trace, XVT_CHUNK_HEADS, h->of, h->count * sizeof(h->of[0]), NULL,
			      0);
	h->count = 0;
}

static void add(struct xvt_session *s, const struct xvt_subbuf_head *head)
{
	struct xvt_heads *h = &s->heads;

	if (h->count == XVT_HEADS_MAX)
		xvt_session_put_heads(s);
	h->of[h->count++] = *head;
}

/* Writes the newest head of a ring, of which none is written yet. */
static void add_waiting(struct xvt_session *s, struct xvt_ring *r)
{
	if (r->session.head_waits)
		add(s, &r->session.newest_head);
	r->session.head_waits = false;
}

static __attribute__((noinline)) void note(struct xvt_session *s, const struct xvt_run *run)
{
	struct xvt_ring *r = run->ring;
	struct xvt_subbuf_head head = run->head;

	if (!r->session.head_any)
		head.flags |= XVT_HEAD_F_FIRST;
	if (head.flags & XVT_HEAD_F_FIRST)
		add_waiting(s, r); /* the last one of its row */
	else if (head.pos - r->session.head_pos < EVERY_BYTES) {
		r->session.newest_head = head;
		r->session.head_waits = true;
		return;
	}
	add(s, &head);
	r->session.head_any = true;
	r->session.head_waits = false;
	r->session.head_pos = head.pos;
}

void xvt_session_note_head(struct xvt_session *s, const struct xvt_run *run)
{
	if (run->opens && !run->at)
		note(s, run);
}

void xvt_session_put_last_heads(struct xvt_session *s)
{
	for (size_t i = 0; i < s->nr_rings; i++) {
		add_waiting(s, s->rings[i]);
		s->rings[i]->session.head_any = false;
	}
	xvt_session_put_heads(s);
}
