// SPDX-License-Identifier: GPL-2.0
/* verify_counts.c - see verify_parts.h. The counters of each ring against what is in the file. */
#include "view/verify_parts.h"

#include <inttypes.h>

#include "base/u64.h"
#include "trace/names.h"

#define SOURCES_ALL ((2u << XVT_SOURCE_SEEN) - 1)

void xvt_verify_take_stats(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_ring_stats st;

	if (!xvt_stats_get(b, &st))
		return;
	if (st.ring >= v->t->ring_count) {
		xvt_verify_violation(v, XVT_VERIFY_COUNT, XVT_VM_NONE,
				     "counters of ring %u, which the trace does not have", st.ring);
		return;
	}
	v->rings[st.ring].told.stats = st;
	v->rings[st.ring].told.has_stats = true;
	v->rings[st.ring].told.tells_all =
		b->len >=
		offsetof(struct xvt_ring_stats, overwritten_doubt) + sizeof(st.overwritten_doubt);
}

static void differs(struct xvt_verify_state *v, uint32_t ring, const char *what, uint64_t counted,
		    uint64_t said)
{
	char text[XVT_VERIFY_RING_TEXT];

	if (counted != said)
		xvt_verify_violation(v, XVT_VERIFY_COUNT, xvt_ring_vm(v->t, ring),
				     "%s: %s: the file has %" PRIu64 ", the counters say %" PRIu64,
				     xvt_verify_ring_text(v, ring, text), what, counted, said);
}

/* The last node that was measured; NULL: there is none. */
static const struct xvt_clock_node *last_measured(const struct xvt_verify_ring *r)
{
	size_t i = r->map.node_count;

	while (i && r->map.nodes[i - 1].source == XVT_SOURCE_DRAIN)
		i--;
	return i ? r->map.nodes + i - 1 : NULL;
}

/* The greatest bound that the counters claim is no less than any that a reader computes. */
static void check_bound(struct xvt_verify_state *v, uint32_t ring, uint64_t bound_ns,
			const char *what)
{
	const uint64_t most_ns = v->rings[ring].told.stats.bound_ns_max;
	char text[XVT_VERIFY_RING_TEXT];

	if (most_ns < bound_ns)
		xvt_verify_violation(v, XVT_VERIFY_COUNT, xvt_ring_vm(v->t, ring),
				     "%s: the counters say a bound of %" PRIu64
				     " ns at most, %s has %" PRIu64 " ns",
				     xvt_verify_ring_text(v, ring, text), most_ns, what, bound_ns);
}

/* The ring's clock, by its counters. */
static void check_clock(struct xvt_verify_state *v, uint32_t ring)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	const struct xvt_clock_node *last = last_measured(r);
	const struct xvt_ring_stats *s = &r->told.stats;
	char text[XVT_VERIFY_RING_TEXT];

	differs(v, ring, "clock samples", r->map.samples, s->samples);
	if (r->map.node_count)
		differs(v, ring, "clock epochs", r->map.nodes[r->map.node_count - 1].epoch + 1ull,
			s->epochs);
	if (last)
		differs(v, ring, "source of the clock", last->source, s->source);
	check_bound(v, ring, r->map.bound_ns_max, "one of its clock's segments");
	check_bound(v, ring, r->looked.beside_ns_max, "an event beside them");
	if (s->source > XVT_SOURCE_SEEN || s->rejected & ~SOURCES_ALL)
		xvt_verify_violation(v, XVT_VERIFY_COUNT, xvt_ring_vm(v->t, ring),
				     "%s: the counters name a source of clocks that is unknown",
				     xvt_verify_ring_text(v, ring, text));
}

/* Sums and limits that only a whole recording has in one file. */
static void check_whole(struct xvt_verify_state *v, uint32_t ring)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	const struct xvt_ring_stats *s = &r->told.stats;
	char text[XVT_VERIFY_RING_TEXT];

	differs(v, ring, "bad bytes, by its LOST records", r->seen.recorded.bad_bytes,
		s->bad_bytes);
	/* Records that were given back are placed, too. */
	if (r->seen.astray > s->clock_violations ||
	    s->clock_violations - r->seen.astray > xvt_u64_sum(s->discarded, s->dropped))
		xvt_verify_violation(
			v, XVT_VERIFY_COUNT, xvt_ring_vm(v->t, ring),
			"%s: %" PRIu64 " records contradict their clock, the counters say %" PRIu64,
			xvt_verify_ring_text(v, ring, text), r->seen.astray, s->clock_violations);
}

/*
 * Check the overwritten records of the LOST records against the counters. Losses that are known
 * only at the end are in a LOST record at the end. A writer that is interrupted by the one that
 * opens a sub-buffer has counted its record, which may lie after the border: overwritten_doubt is
 * the most by which the sums may differ for that. Older recorders wrote fewer of the losses, and no
 * overwritten_doubt: for those, records in flight by the counters may have been overwritten, too.
 */
static bool overwritten_fits(const struct xvt_verify_state *v, uint32_t ring)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	const struct xvt_ring_stats *s = &r->told.stats;
	const bool laps = v->t->rings[ring].info.mode == XVT_ENABLE_OVERWRITE;
	const uint64_t inside = laps ? XVT_MAXNEST : 0;

	if (r->told.tells_all)
		return r->seen.recorded.overwritten >= s->overwritten &&
		       r->seen.recorded.overwritten <=
			       xvt_u64_sum(s->overwritten, s->overwritten_doubt);
	return r->seen.recorded.overwritten <=
	       xvt_u64_sum(s->overwritten, xvt_u64_sum(s->in_flight, inside));
}

/* Compare the LOST records, which are where the losses were, with the final counters. */
static void check_losses(struct xvt_verify_state *v, uint32_t ring)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	const struct xvt_ring_stats *s = &r->told.stats;
	char text[XVT_VERIFY_RING_TEXT];

	for (unsigned int i = 0; i < XVT_LOST_CAUSES; i++) {
		if (r->seen.recorded.lost[i] != s->lost[i])
			xvt_verify_violation(v, XVT_VERIFY_LOSS, xvt_ring_vm(v->t, ring),
					     "%s: its records tell of %" PRIu64
					     " lost (%s), the counters say %" PRIu64,
					     xvt_verify_ring_text(v, ring, text),
					     r->seen.recorded.lost[i], xvt_lost_name(i),
					     s->lost[i]);
	}
	if (!overwritten_fits(v, ring))
		xvt_verify_violation(v, XVT_VERIFY_LOSS, xvt_ring_vm(v->t, ring),
				     "%s: its records tell of %" PRIu64
				     " overwritten, the counters say %" PRIu64,
				     xvt_verify_ring_text(v, ring, text),
				     r->seen.recorded.overwritten, s->overwritten);
	if (r->seen.recorded.dropped != s->dropped)
		xvt_verify_violation(
			v, XVT_VERIFY_LOSS, xvt_ring_vm(v->t, ring),
			"%s: its records tell of %" PRIu64 " dropped, the counters say %" PRIu64,
			xvt_verify_ring_text(v, ring, text), r->seen.recorded.dropped, s->dropped);
}

void xvt_verify_counts(struct xvt_verify_state *v, uint32_t ring)
{
	struct xvt_verify_ring *r = &v->rings[ring];
	const struct xvt_ring_stats *s = &r->told.stats;
	uint64_t sum = s->events + s->discarded + s->overwritten + s->dropped + s->in_flight;
	char text[XVT_VERIFY_RING_TEXT];

	if (!v->t->ended || v->t->damage_count)
		return;
	if (!r->told.has_stats) {
		if (r->seen.events)
			xvt_verify_violation(v, XVT_VERIFY_COUNT, xvt_ring_vm(v->t, ring),
					     "%s: %" PRIu64 " events but no counters",
					     xvt_verify_ring_text(v, ring, text), r->seen.events);
		return;
	}
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		sum += s->lost[i];
	if (s->attempted != sum)
		xvt_verify_violation(v, XVT_VERIFY_COUNT, xvt_ring_vm(v->t, ring),
				     "%s: attempted %" PRIu64
				     " is not the sum of what became of them, %" PRIu64,
				     xvt_verify_ring_text(v, ring, text), s->attempted, sum);
	if (s->events != r->seen.events || s->late != r->seen.late ||
	    s->backlog != r->seen.backlog || s->unconfirmed != r->seen.unconfirmed ||
	    s->recovered != r->seen.recovered)
		xvt_verify_violation(v, XVT_VERIFY_COUNT, xvt_ring_vm(v->t, ring),
				     "%s: counted %" PRIu64 " events, %" PRIu64 " late, %" PRIu64
				     " backlog, %" PRIu64 " unconfirmed, %" PRIu64
				     " recovered; the counters say %" PRIu64 ", %" PRIu64
				     ", %" PRIu64 ", %" PRIu64 ", %" PRIu64,
				     xvt_verify_ring_text(v, ring, text), r->seen.events,
				     r->seen.late, r->seen.backlog, r->seen.unconfirmed,
				     r->seen.recovered, s->events, s->late, s->backlog,
				     s->unconfirmed, s->recovered);
	check_losses(v, ring);
	if (r->seen.events && (s->first_ns || s->last_ns)) {
		differs(v, ring, "time of its first event", r->seen.first_ns, s->first_ns);
		differs(v, ring, "time of its last event", r->seen.last_ns, s->last_ns);
	}
	check_clock(v, ring);
	if (!v->t->info.set_number)
		check_whole(v, ring);
}
