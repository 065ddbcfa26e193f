// SPDX-License-Identifier: GPL-2.0
/*
 * account.c - the sums of a ring: attempted == delivered + discarded + lost + in flight, in the
 * file and, for the next recorder, in the region.
 */
#include "ring/ring.h"

#include <string.h>

/* Overwritten events that only the counters of the end know. */
static uint64_t tail_overwritten(struct xvt_ring *r, struct xvt_lost *lost)
{
	uint64_t *reported = r->snapshot.on ? &r->snapshot.reported.overwritten
					    : &r->account.overwritten_reported;

	xvt_ring_account(r, true);
	if (r->account.stats.overwritten > *reported) {
		lost->overwritten = r->account.stats.overwritten - *reported;
		*reported = r->account.stats.overwritten;
	}
	return lost->overwritten;
}

bool xvt_ring_tail_loss(struct xvt_ring *r, struct xvt_lost *lost)
{
	uint64_t sum = 0;
	unsigned int i;

	if (r->snapshot.on) {
		xvt_ring_snapshot_tail(r, lost);
		xvt_ring_snapshot_reported(r, lost);
		for (i = 0; i < XVT_LOST_CAUSES; i++)
			sum += lost->lost[i];
		return tail_overwritten(r, lost) + sum != 0;
	}
	memset(lost, 0, sizeof(*lost));
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		uint64_t delta = r->drain.last.lost[i] - r->account.reported_lost[i];

		if (delta >> 63)
			delta = 0;
		lost->lost[i] = delta;
		r->account.reported_lost[i] += delta;
		sum += delta;
	}
	lost->bad_bytes = r->decode.gap_bad_bytes;
	r->decode.gap_bad_bytes = 0;
	sum += tail_overwritten(r, lost) + lost->bad_bytes;
	/* Further files of a set may follow, and take it as reported. */
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		r->account.lost_reported[i] += lost->lost[i];
	r->account.laps_reported += lost->overwritten;
	return sum != 0;
}

void xvt_ring_reported(struct xvt_ring *r, const struct xvt_lost *lost)
{
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		r->account.lost_reported[i] += lost->lost[i];
	if (r->snapshot.on) {
		xvt_ring_snapshot_reported(r, lost);
		return;
	}
	r->account.overwritten_reported += lost->overwritten;
	if (r->account.took_over && !r->account.unaccounted_reported &&
	    lost->overwritten == r->decode.unaccounted)
		r->account.unaccounted_reported = r->decode.unaccounted;
	else if (r->mode == XVT_ENABLE_OVERWRITE || r->own)
		r->account.laps_reported += lost->overwritten;
}

/*
 * Events that were there when the recorder before this one was killed may be in its file. And a
 * header may have known of a record inside a writer, which came after all.
 */
static uint64_t overwritten_doubt(const struct xvt_ring *r)
{
	const struct xvt_ring_stats *s = &r->account.stats;
	const uint64_t most = r->account.unaccounted_most;
	const uint64_t reported =
		r->snapshot.on ? r->snapshot.reported.overwritten : r->account.overwritten_reported;

	return (most < s->overwritten ? most : s->overwritten) +
	       (reported > s->overwritten ? reported - s->overwritten : 0);
}

void xvt_ring_account(struct xvt_ring *r, bool final)
{
	struct xvt_ring_stats *s = &r->account.stats;
	uint64_t known, gone;
	unsigned int i;

	s->ring = r->id;
	s->epochs = r->clock.map.count ? xvt_clock_map_last(&r->clock.map)->epoch + 1 : 0;
	s->bound_ns_max = xvt_clock_map_bound_ns(&r->clock.map);
	/* A node that no clock source made stands for the recorder's own moment of reading. */
	if (s->source == XVT_SOURCE_NONE && s->epochs)
		s->bound_ns_max = XVT_NO_BOUND;
	if (r->snapshot.on) {
		xvt_ring_snapshot_account(r);
		s->overwritten_doubt = overwritten_doubt(r);
		return;
	}
	s->attempted = r->drain.last.attempted - r->account.base_attempted;
	s->discarded = r->drain.last.discarded - r->account.base_discarded;
	known = s->events + s->discarded + s->dropped;
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		s->lost[i] = r->drain.last.lost[i] - r->account.base_lost[i];
		known += s->lost[i];
	}
	/* A copy of the counters that is older than the records beside it knows too few. */
	if (r->account.roll_backs && s->attempted < known)
		s->attempted = known;
	s->nest = (r->drain.last.nest <= XVT_MAXNEST + 1 ? r->drain.last.nest : 0) +
		  r->drain.left_behind;
	/*
	 * What is left of `attempted` is inside a writer, undrained yet, or was overwritten (by the
	 * writer, or by a restored snapshot), or an earlier recorder died with it. At the end
	 * nothing is undrained, and no more can be inside than nest says.
	 */
	s->in_flight = s->attempted > known ? s->attempted - known : 0;
	gone = r->account.unaccounted_reported + r->account.laps_reported;
	s->overwritten = gone < s->in_flight ? gone : s->in_flight;
	s->in_flight -= s->overwritten;
	if (final &&
	    (r->mode == XVT_ENABLE_OVERWRITE || r->account.roll_backs ||
	     (r->account.took_over && !r->drain.first &&
	      !xvt_pos_before(r->drain.read_pos, r->drain.last.commit))) &&
	    s->in_flight > s->nest) {
		s->overwritten += s->in_flight - s->nest;
		s->in_flight = s->nest;
	}
	s->overwritten_doubt = overwritten_doubt(r);
}

/* ------------------------------------------------------------------ the files of a set */

static uint64_t less(uint64_t sum, uint64_t before)
{
	return sum > before ? sum - before : 0;
}

static uint64_t known_of(const struct xvt_ring_stats *s)
{
	uint64_t known = s->events + s->discarded + s->dropped + s->overwritten;
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		known += s->lost[i];
	return known;
}

/* Takes the counters of the files before from those that are sums. */
static void take_before(struct xvt_ring_stats *s, const struct xvt_ring_stats *before)
{
	unsigned int i;

	s->attempted = less(s->attempted, before->attempted);
	s->events = less(s->events, before->events);
	s->discarded = less(s->discarded, before->discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		s->lost[i] = less(s->lost[i], before->lost[i]);
	s->overwritten = less(s->overwritten, before->overwritten);
	s->late = less(s->late, before->late);
	s->backlog = less(s->backlog, before->backlog);
	s->unconfirmed = less(s->unconfirmed, before->unconfirmed);
	s->recovered = less(s->recovered, before->recovered);
	s->clock_violations = less(s->clock_violations, before->clock_violations);
	s->bad_bytes = less(s->bad_bytes, before->bad_bytes);
	s->paused_ns = less(s->paused_ns, before->paused_ns);
	s->samples = less(s->samples, before->samples);
	s->dropped = less(s->dropped, before->dropped);
}

/* LOST records of this file may hold so many more than `overwritten`. */
static uint64_t file_doubt(const struct xvt_ring *r, const struct xvt_ring_stats *file)
{
	const uint64_t reported =
		less(r->account.overwritten_reported, r->account.files_before.overwritten);
	uint64_t most = r->account.unaccounted_before ? 0 : r->account.unaccounted_most;

	most = most < file->overwritten ? most : file->overwritten;
	return most + less(reported, file->overwritten);
}

void xvt_ring_file_stats(const struct xvt_ring *r, struct xvt_ring_stats *file)
{
	uint64_t known;

	*file = r->account.stats;
	take_before(file, &r->account.files_before);
	file->overwritten_doubt = file_doubt(r, file);
	/* A header had told of more losses than the counters do now. */
	known = known_of(file);
	if (file->attempted < known)
		file->attempted = known;
	file->in_flight = file->attempted - known;
}

/* The region's word is lowered first: a recorder that dies here has the losses counted by two files
 * rather than by none. */
static void lower_lost(struct xvt_ring *r, bool attached)
{
	struct xvt_ring_sums *a = &r->account.due;
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		const uint64_t reported = r->account.base_lost[i] + r->account.lost_reported[i];

		if (reported >= a->lost[i])
			continue;
		a->lost[i] = reported;
		if (attached)
			xvt_store(&r->host->acc_lost[i], reported);
	}
}

void xvt_ring_end_file(struct xvt_ring *r, bool attached, struct xvt_ring_stats *file)
{
	struct xvt_ring_stats sums;

	xvt_ring_account(r, false);
	lower_lost(r, attached);
	sums = r->account.stats;
	memcpy(sums.lost, r->account.lost_reported, sizeof(sums.lost));
	sums.overwritten = r->account.overwritten_reported;
	sums.attempted = known_of(&sums);
	*file = sums;
	take_before(file, &r->account.files_before);
	file->in_flight = file->nest = 0;
	file->overwritten_doubt = file_doubt(r, file);
	r->account.files_before = sums;
	r->account.unaccounted_before = r->account.unaccounted_reported;
	r->account.stats.first_ns = r->account.stats.last_ns = 0;
}

uint64_t xvt_ring_events_before(const struct xvt_ring *r)
{
	const struct xvt_ring_stats *f = &r->account.files_before;

	return r->account.base_delivered + r->account.base_overwritten + f->events + f->dropped +
	       f->overwritten;
}

void xvt_ring_stage_account(struct xvt_ring *r, bool counters)
{
	struct xvt_ring_sums *a = &r->account.due;
	unsigned int i;

	/* `delivered` is what the guest's own counters leave, because ours also have what was
	 * delivered before a snapshot was restored. */
	a->overwritten = r->account.base_overwritten + r->account.stats.overwritten;
	a->delivered = r->drain.last.attempted - r->account.stats.in_flight -
		       r->drain.last.discarded - a->overwritten;
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		a->delivered -= r->drain.last.lost[i];
	if (counters) {
		a->discarded = r->drain.last.discarded;
		memcpy(a->lost, r->drain.last.lost, sizeof(a->lost));
		return;
	}
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		uint64_t reported = r->account.base_lost[i] + r->account.lost_reported[i];

		/* A header may say more than the counters did; STATS may have said more than it. */
		if (reported <= r->drain.last.lost[i] && (int64_t)(reported - a->lost[i]) > 0)
			a->lost[i] = reported;
	}
}

void xvt_ring_commit_account(const struct xvt_ring *r)
{
	const struct xvt_ring_sums *a = &r->account.due;
	struct xvt_ring_host *h = r->host;
	unsigned int i;

	/* Only a hint: the guest could scribble on it. We may die between any two of these: each
	 * is a base of its own, and the sum of the first two grows by one store, usually. */
	xvt_store(&h->acc_overwritten, a->overwritten);
	xvt_store(&h->acc_delivered, a->delivered);
	xvt_store(&h->acc_discarded, a->discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		xvt_store(&h->acc_lost[i], a->lost[i]);
}
