// SPDX-License-Identifier: GPL-2.0
/*
 * marks.c - requests marks, so that a trace can be checked by more than its own clock map. The host
 * reads its clock, requests from a ring's writer a record with a number, sees that it is written,
 * and reads its clock again. Whatever host time stamp, ring and map give that record, it was
 * written between the two readings: xvtrace verify checks that.
 */
#include "session/parts.h"

#include <stdlib.h>

#define EVERY_NS SECOND_NS
#define SPIN_NS	 100000u /* as for an answer within a measurement */

static void ask(struct xvt_ring *r)
{
	/* Never a number that an earlier recorder left in the mailbox or in the ring. */
	r->mark.last.number = r->mark.last.number ? r->mark.last.number + 1 : xvt_clock_read() | 1;
	r->mark.last.ring = r->id;
	r->mark.last.host_clock_before = xvt_clock_read_ordered();
	xvt_store_release(&r->host->mark_seq,
			  r->mark.last.number); /* pairs with xvt_writer_mark() */
	r->mark.open = true;
}

void xvt_session_mark_look(struct xvt_ring *r)
{
	if (!r->mark.open)
		return;
	/* Pairs with xvt_writer_mark(): the record is stamped before mark_ack is stored. */
	if (xvt_load_acquire(&r->ctl->mark_ack) != r->mark.last.number)
		return;
	r->mark.last.host_clock_after = xvt_clock_read_ordered();
	r->mark.open = false;
	r->mark.seen = true;
}

/*
 * Request a mark while the writer is present, when the two readings lie closest. A mark that is not
 * written now may be written later. A new one is requested all the same, because a rollback may
 * have undone the request. The host does not spin for a writer that did not write the previous
 * mark: it may not support marks, or be a helper that only answers.
 */
void xvt_session_mark(struct xvt_ring *r)
{
	uint64_t begin = xvt_clock_read();
	uint64_t spin = xvt_host_clock_ticks(r->host_clock, SPIN_NS);
	bool waits = !r->mark.open;

	/* A relayed ring has no records of the program's own. */
	if (r->relayed || r->phase != XVT_PHASE_LIVE || r->mark.seen ||
	    earlier(begin, r->mark.next_clock))
		return;
	r->mark.next_clock = begin + xvt_host_clock_ticks(r->host_clock, EVERY_NS);
	if (r->mark.pace > r->mark.next_clock - begin)
		r->mark.next_clock = begin + r->mark.pace;
	ask(r);
	for (;;) {
		xvt_session_mark_look(r);
		if (!waits || !r->mark.open || since(xvt_clock_read(), begin) > spin)
			return;
		xvt_relax();
	}
}

void xvt_session_put_marks(struct xvt_session *s)
{
	struct xvt_mark_seen *all = calloc(s->nr_rings + 1, sizeof(*all));
	size_t i, n = 0;

	for (i = 0; all && i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		xvt_session_mark_look(r);
		if (!r->mark.seen)
			continue;
		all[n++] = r->mark.last;
		r->mark.seen = false;
	}
	if (n)
		xvt_trace_put(s->trace, XVT_CHUNK_MARKS, all, n * sizeof(*all), NULL, 0);
	free(all);
}
