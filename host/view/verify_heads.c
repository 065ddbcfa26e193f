// SPDX-License-Identifier: GPL-2.0
/*
 * verify_heads.c - see verify_parts.h. The counters in the headers of a ring's sub-buffers, as
 * HEADS chunks have them, against the events whose records lie between these.
 *
 * A header at position P counts what was attempted when the sub-buffer was opened. Of that, all is
 * an event before P, or given back, or lost, but what was inside the writer: the event that opens
 * the sub-buffer, and those that it interrupted. These are 0 (the ring's own record opens it) to
 * XVT_MAXNEST events. Attempted less discarded, lost and the events before P, which is `rest` here,
 * therefore differs between two headers by XVT_MAXNEST at most.
 *
 * The counters of a header are loaded one after the other, attempted first. An interrupt between
 * two of these loads may lose or give back events, which the header then counts there and not as
 * attempted. (Events that take a place make the writer begin again, and where the ring is full it
 * does not get there.) They are no more than what was lost by other causes than a full ring, and
 * given back, since the header before: `early`. The rest is larger than it looks by 0 to `early`.
 */
#include "view/verify_parts.h"

#include <errno.h>
#include <inttypes.h>

#include "base/vec.h"
#include "trace/names.h"

/* An end of the range of `rest` in a row of heads: its least value, where that may be larger by
 * `early`, or its largest. */
struct end {
	__int128 rest; /* sums of what guests wrote: any number */
	size_t at;
};

int xvt_verify_add_heads(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_subbuf_head head;

	for (uint32_t at = 0; xvt_chunk_take(b, &at, &head, sizeof(head));) {
		struct xvt_verify_ring *r;

		if (!xvt_verify_head_kind(v, &head))
			continue;
		r = &v->rings[head.ring];
		if (xvt_grow(&r->heads.of, &r->heads.room, r->heads.count + 1,
			     sizeof(*r->heads.of)))
			return -ENOMEM;
		r->heads.of[r->heads.count++] = (struct xvt_verify_head){ .head = head };
	}
	return 0;
}

static uint64_t all_lost(const struct xvt_subbuf_head *from, const struct xvt_subbuf_head *to)
{
	uint64_t sum = 0;

	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		sum += (uint32_t)(to->lost[i] - from->lost[i]);
	return sum;
}

/* Events that a header may count as lost or given back before it counts it as attempted. */
static uint64_t early_of(const struct xvt_subbuf_head *from, const struct xvt_subbuf_head *to)
{
	static const struct xvt_subbuf_head none;

	if (!from)
		from = &none;
	return all_lost(from, to) -
	       (uint32_t)(to->lost[XVT_LOST_FULL] - from->lost[XVT_LOST_FULL]) -
	       (uint32_t)(to->lost[XVT_LOST_WRAP] - from->lost[XVT_LOST_WRAP]) +
	       (uint32_t)(to->discarded - from->discarded);
}

/* How the rest changes from a head to the next one. */
static int64_t change(const struct xvt_verify_head *from, const struct xvt_verify_head *to)
{
	const struct xvt_subbuf_head *a = &from->head, *b = &to->head;

	return (int64_t)(b->attempted - a->attempted - from->named - all_lost(a, b) -
			 (uint32_t)(b->discarded - a->discarded));
}

static void disagree(struct xvt_verify_state *v, uint32_t ring, size_t i, size_t k)
{
	const struct xvt_verify_head *h = v->rings[ring].heads.of;
	const size_t from = i < k ? i : k, to = i < k ? k : i;
	char text[XVT_VERIFY_RING_TEXT];
	uint64_t named = 0;

	for (size_t at = from; at < to; at++)
		named += h[at].named;
	xvt_verify_violation(v, XVT_VERIFY_COUNT, xvt_ring_vm(v->t, ring),
			     "%s: between positions %" PRIu64 " and %" PRIu64
			     " its writer counted %" PRIu64 " attempted, %" PRIu64
			     " lost and %" PRIu32 " discarded, the file has %" PRIu64 " events",
			     xvt_verify_ring_text(v, ring, text), h[from].head.pos, h[to].head.pos,
			     h[to].head.attempted - h[from].head.attempted,
			     all_lost(&h[from].head, &h[to].head),
			     h[to].head.discarded - h[from].head.discarded, named);
}

/* Compares the heads of a row, [first, end), each with each. */
static void check_row(struct xvt_verify_state *v, uint32_t ring, size_t first, size_t end)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	/* Dropped events are in no place of the ring. */
	const __int128 most = (__int128)XVT_MAXNEST + r->told.stats.dropped;
	struct end low, high;
	__int128 rest = 0;

	low = high = (struct end){ 0, first };
	low.rest += early_of(NULL, &r->heads.of[first].head);
	for (size_t i = first + 1; i < end; i++) {
		const struct xvt_subbuf_head *last = &r->heads.of[i - 1].head,
					     *head = &r->heads.of[i].head;
		__int128 upper;

		rest += change(&r->heads.of[i - 1], &r->heads.of[i]);
		upper = rest + early_of(last, head);
		if (upper < low.rest)
			low = (struct end){ upper, i };
		if (rest > high.rest)
			high = (struct end){ rest, i };
		if (high.rest <= low.rest + most)
			continue;
		disagree(v, ring, low.at, high.at);
		low = (struct end){ upper, i };
		high = (struct end){ rest, i };
	}
}

/* The LOST records have no fewer of each cause than the heads. */
static void check_losses(struct xvt_verify_state *v, uint32_t ring)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	char text[XVT_VERIFY_RING_TEXT];

	for (int cause = 0; cause < XVT_LOST_CAUSES; cause++) {
		uint64_t sum = 0;

		for (size_t i = 1; i < r->heads.count; i++) {
			if (!(r->heads.of[i].head.flags & XVT_HEAD_F_FIRST))
				sum += (uint32_t)(r->heads.of[i].head.lost[cause] -
						  r->heads.of[i - 1].head.lost[cause]);
		}
		if (sum > r->seen.recorded.lost[cause])
			xvt_verify_violation(
				v, XVT_VERIFY_LOSS, xvt_ring_vm(v->t, ring),
				"%s: its writer counted %" PRIu64
				" lost (%s) between sub-buffers, its records tell of %" PRIu64,
				xvt_verify_ring_text(v, ring, text), sum, xvt_lost_name(cause),
				r->seen.recorded.lost[cause]);
	}
}

void xvt_verify_heads(struct xvt_verify_state *v, uint32_t ring)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	size_t first = 0;

	/* Missing chunks may be damaged, or not written. Where the ring's contents were replaced,
	 * positions and counters are of two pasts. */
	if (!v->t->ended || v->t->damage_count || r->order.nr_rollbacks || !r->heads.count)
		return;
	for (size_t i = 1; i <= r->heads.count; i++) {
		if (i < r->heads.count && !(r->heads.of[i].head.flags & XVT_HEAD_F_FIRST))
			continue;
		check_row(v, ring, first, i);
		first = i;
	}
	check_losses(v, ring);
}
