// SPDX-License-Identifier: GPL-2.0
/*
 * place.c - the host time of the ring's next record, by its clock map and by what the drain proves
 * of the moment at which it was written. run.c places plain records behind it without these checks.
 */
#include "ring/parts.h"

#include "base/u64.h"

struct xvt_clock_evidence xvt_ring_evidence(const struct xvt_ring *r, uint32_t epoch,
					    const struct xvt_piece *p)
{
	struct xvt_clock_evidence e = { .ceiling_ns = UINT64_MAX };
	uint32_t i, known = r->words.nr_bumps < XVT_BUMPS ? r->words.nr_bumps : XVT_BUMPS;

	if (r->salvage)
		return e;
	/* The epoch of a relayed record is that of its copy, which is younger than its stamp. */
	if (!r->decode.epoch_known || r->relayed)
		known = 0;
	e.ceiling_ns = p->ceiling_ns;
	/* The kernel may hand an event over late, but with its true stamp: the record is late then,
	 * and not clamped. */
	e.floor_ns = r->own ? 0 : p->floor_ns;
	for (i = 0; i < known; i++) {
		const struct xvt_epoch_bump *b = &r->words.bumps[i];

		if ((int32_t)(epoch - b->epoch) >= 0) {
			e.floor_ns = b->before_ns > e.floor_ns ? b->before_ns : e.floor_ns;
		} else {
			e.ceiling_ns = b->after_ns < e.ceiling_ns ? b->after_ns : e.ceiling_ns;
		}
	}
	return e;
}

/* True if a measurement that is not made yet will come. */
static bool is_measured_again(const struct xvt_ring *r)
{
	return xvt_ring_is_asked(r) && !r->salvage && !r->snapshot.on && !r->guest.quiet &&
	       !r->guest.wide && !r->clock.map.closed && r->phase == XVT_PHASE_LIVE;
}

/* A measurement at or after this is awaited before a record of piece p is placed; 0: none is. */
static uint64_t confirm_ns(const struct xvt_ring *r, const struct xvt_piece *p)
{
	return is_measured_again(r) ? p->ceiling_ns : 0;
}

/* Bounds of the time at which `rec`, out of piece p, was written, whatever its stamp says. */
static struct xvt_clock_evidence evidence(const struct xvt_ring *r, const struct xvt_record *rec,
					  const struct xvt_piece *p)
{
	struct xvt_clock_evidence e = xvt_ring_evidence(r, rec->epoch, p);

	e.confirm_ns = confirm_ns(r, p);
	return e;
}

static void scan_record(struct xvt_ring_scan *s, const struct xvt_record *rec)
{
	s->looked_at++;
	if (rec->kind != XVT_REC_RECORD)
		return;
	s->ended = rec->ts < s->newest.ts || rec->epoch != s->newest.epoch;
	if (s->ended)
		return;
	s->newest = *rec;
	s->found = s->piece;
}

/*
 * The newest record that waits in the same epoch as the head, and the piece that it lies in. As
 * long as the node inferred from it is refused this is asked in each pass, and pieces are only
 * added behind those that were looked through: it goes on where it ended. With another head it
 * begins anew.
 */
static void find_newest(struct xvt_ring *r)
{
	struct xvt_ring_scan *s = &r->scan;

	if (!s->begun) {
		s->begun = true;
		s->ended = false;
		s->reader = r->decode.reader;
		s->piece = s->found = r->drain.first;
		s->newest = r->decode.rec;
	}
	while (!s->ended) {
		const struct xvt_piece *next = s->piece->next;
		struct xvt_record rec;
		int got = xvt_reader_next(&s->reader, &rec);

		if (got == 1) {
			scan_record(s, &rec);
			continue;
		}
		if (!got && !next)
			return; /* until now */
		s->ended = got < 0 || next->salvage || next->pos != s->reader.pos;
		if (s->ended)
			return;
		s->piece = next;
		xvt_reader_feed(&s->reader, next->bytes, next->len);
	}
}

/* By the formula of a source that was right until now and says that nothing has changed. */
static bool exact_node(const struct xvt_ring *r, uint64_t guest, const struct xvt_clock_evidence *e,
		       struct xvt_clock_node *n)
{
	uint64_t host;

	if (!r->clock.exact_holds || xvt_formula_host(&r->clock.exact, guest, &host))
		return false;
	*n = (struct xvt_clock_node){ .ring = r->id,
				      .source = r->clock.exact_used,
				      .guest = guest,
				      .host_ns = xvt_host_clock_ns(r->host_clock, host),
				      .bound_ns = xvt_exact_bound_ns(r->host_clock) };
	return n->host_ns + XVT_STAMP_SLACK_NS >= e->floor_ns &&
	       n->host_ns <= e->ceiling_ns + XVT_STAMP_SLACK_NS;
}

/*
 * Makes a node from what the drain proves of a record, if the last node's line, which gives `ns`,
 * agrees with that. Returns false if it does not, or if the two looks around the record are so far
 * apart that the machine may have been paused between them unreported: the record waits for a
 * measurement as long as one may come.
 */
static bool seen_node(const struct xvt_ring *r, uint64_t guest, uint64_t ns,
		      const struct xvt_clock_evidence *e, struct xvt_clock_node *n)
{
	uint64_t since_ns = ns - xvt_clock_map_last(&r->clock.map)->host_ns;
	uint64_t slack = r->clock.map.slack_ns + xvt_clock_creep_ns(since_ns);

	if (e->ceiling_ns < e->floor_ns || ns + slack < e->floor_ns || ns > e->ceiling_ns + slack)
		return false;
	ns = ns < e->floor_ns ? e->floor_ns : ns > e->ceiling_ns ? e->ceiling_ns : ns;
	*n = (struct xvt_clock_node){ .ring = r->id,
				      .source = XVT_SOURCE_DRAIN,
				      .guest = guest,
				      .host_ns = ns,
				      .bound_ns = ns - e->floor_ns > e->ceiling_ns - ns
							  ? ns - e->floor_ns
							  : e->ceiling_ns - ns };
	return r->guest.patience_over || n->bound_ns <= xvt_clock_creep_ns(0);
}

/*
 * Returns true if the record may have been written after a stop since which no clock was measured.
 * Its clock stood still for an unknown time then, and the drain's interval may be too wide to
 * exclude the old line.
 */
static bool beyond_stop(const struct xvt_ring *r, const struct xvt_clock_evidence *e)
{
	return r->clock.map.measured.host_ns <= r->clock.map.stop_ns &&
	       e->ceiling_ns > r->clock.map.stop_ns;
}

int xvt_ring_add_node(struct xvt_ring *r, struct xvt_clock_node *node)
{
	const struct xvt_run *oldest = r->runs.first;

	r->clock.map.waits_ns = oldest ? xvt_run_next_ns(oldest) : 0;
	return xvt_clock_map_add(&r->clock.map, node);
}

/*
 * The guest does not answer, or no node comes of its answers, so no sample will confirm what waits;
 * but its ring was looked at before and after the newest waiting record was written. That is a
 * sample as well: not tight, but proven. This sample becomes a node on the last one's line, unless
 * it contradicts that.
 */
static bool infer_node(struct xvt_ring *r)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->clock.map);
	struct xvt_clock_placed placed;
	struct xvt_clock_evidence e;
	struct xvt_clock_node n;
	uint64_t newest;

	if (!(r->guest.quiet || r->guest.wide) || r->clock.inferred_new || !last)
		return false;
	find_newest(r);
	newest = r->scan.newest.ts;
	e = evidence(r, &r->scan.newest, r->scan.found);
	if (e.floor_ns < last->host_ns)
		e.floor_ns = last->host_ns; /* stamped after the node's moment */
	if (xvt_clock_map_place(&r->clock.map, newest, &e, &placed) != XVT_MAP_WAIT)
		return false;
	if (!exact_node(r, newest, &e, &n) &&
	    (beyond_stop(r, &e) || !seen_node(r, newest, placed.host_ns, &e, &n)))
		return false;
	if (n.host_ns <= last->host_ns)
		return false;
	if (xvt_ring_add_node(r, &n))
		return false;
	r->clock.inferred = n;
	r->clock.inferred_new = true;
	return true;
}

/*
 * Every node says that this record's stamp is impossible. Has one been measured since it came?
 * Then it is the record that is wrong. Else its epoch may still have to be measured: at once.
 */
static bool lies(struct xvt_ring *r)
{
	/* Asked for after another one had come, after this record had. */
	if (r->clock.map.closed ||
	    (r->clock.node_before_clock &&
	     (int64_t)(r->clock.node_before_clock - r->drain.first->ceiling_clock) > 0))
		return true;
	r->clock.next_burst_clock = 0;
	return false;
}

/* True if the record may belong to the present epoch, or to the next one that has a node. Else its
 * epoch is measured at once. *flags: set if no epoch is to be waited for. */
static bool epoch_is_known(struct xvt_ring *r, uint32_t *flags)
{
	if ((r->decode.rec.ts >= r->head.last_guest && !r->decode.another_clock) ||
	    r->head.next_epoch) {
		if (r->decode.rec.ts < r->head.back_guest)
			*flags |= XVT_EVENT_F_CLOCK;
		return true;
	}
	/* The guest's clock went back: what was measured before says nothing here. */
	if (xvt_clock_map_next_epoch(&r->clock.map)) {
		r->head.back_guest = 0;
	} else {
		if (!lies(r))
			return false;
		*flags |= XVT_EVENT_F_CLOCK;
		/* The clock of an own ring is not measured: no node says that its record is wrong,
		 * and nothing of the others that have the stamps of older ones. */
		if (!xvt_ring_is_asked(r))
			r->head.back_guest = xvt_u64_larger(r->head.back_guest, r->head.last_guest);
	}
	r->head.next_epoch = true;
	r->decode.another_clock = false;
	return true;
}

/*
 * The records of a ring are in order of time, so a time is not before that of the record before it.
 * Only the choice moves, and never a limit of the set: that would make a guess a proof.
 */
static void keep_order(const struct xvt_ring *r, const struct xvt_clock_evidence *e,
		       struct xvt_clock_placed *p, uint32_t *flags)
{
	if (r->snapshot.frozen && p->host_ns > e->ceiling_ns) {
		p->host_ns = p->hi_ns = e->ceiling_ns;
		p->on_line = false;
		*flags |= XVT_EVENT_F_CLOCK;
	}
	if (p->host_ns >= r->head.last_ns)
		return;
	p->host_ns = r->head.last_ns;
	p->on_line = false;
	if (p->host_ns > p->hi_ns)
		*flags |= XVT_EVENT_F_CLOCK;
}

/* True if the time is by segments that were made with a rate, or a step, that was none. What they
 * leave of the drain's interval is no evidence. */
static bool is_mistaken(const struct xvt_ring *r, const struct xvt_clock_placed *p)
{
	return p->host_ns < r->clock.trusted_ns && !r->salvage;
}

/*
 * True if nothing bounds the time, or nothing useful, whatever it is by: a border of which one side
 * is possible may be as wide as one of which both are. Where the drain bounds it, that bound says
 * more than a flag.
 */
static bool is_guess(const struct xvt_clock_placed *p)
{
	if (p->on_line)
		return false;
	if (!p->lo_ns || p->hi_ns == UINT64_MAX)
		return true;
	if (p->host_ns > p->hi_ns)
		return false; /* it contradicts its clock, which another flag says */
	return xvt_clock_placed_bound_ns(p) > XVT_SURE_NS - XVT_STAMP_SLACK_NS;
}

/*
 * A reader gives a time on a line the bound of its segment. Of a guess it takes what it was seen
 * between, which leaves no more than that.
 */
static void leave_wide_line(struct xvt_clock_placed *p, uint32_t *flags)
{
	if (!p->on_line || p->segment_bound_ns <= XVT_SURE_NS)
		return;
	p->on_line = false;
	*flags |= XVT_EVENT_F_UNCONFIRMED;
}

/* Without a rate no line is one, and what is known is what the drain saw. */
static void place_without_rate(const struct xvt_ring *r, const struct xvt_clock_evidence *e,
			       struct xvt_clock_placed *p, enum xvt_map_result *result)
{
	if (!r->clock.rate_open || r->salvage ||
	    r->clock.map.measured.source != XVT_SOURCE_HANDSHAKE || e->floor_ns > e->ceiling_ns)
		return;
	*result = XVT_MAP_GUESS;
	p->on_line = false;
	p->lo_ns = e->floor_ns;
	p->hi_ns = e->ceiling_ns;
	if (p->host_ns < p->lo_ns)
		p->host_ns = p->lo_ns;
	if (p->host_ns > p->hi_ns)
		p->host_ns = p->hi_ns;
}

static void note_violation(struct xvt_ring *r)
{
	r->account.stats.clock_violations++;
	r->clock.next_burst_clock = 0; /* the map is wrong: measure at once */
}

/*
 * True if xvt_clock_map_place() would have the head wait for a measurement. Of many rings most wait
 * for one in most passes, and this costs a tenth of it.
 */
static bool is_unconfirmed(const struct xvt_ring *r)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->clock.map);

	return last && !(last->flags & XVT_NODE_F_TAKEN) &&
	       last->host_ns < confirm_ns(r, r->drain.first);
}

/* Finds the head's host time, if the map gives one. */
static void place(struct xvt_ring *r)
{
	struct xvt_clock_evidence e;
	struct xvt_clock_placed p;
	enum xvt_map_result result;
	uint32_t flags = 0;
	bool mistaken;

	if (!epoch_is_known(r, &flags) || is_unconfirmed(r))
		return;
	e = evidence(r, &r->decode.rec, r->drain.first);
	result = xvt_clock_map_place(&r->clock.map, r->decode.rec.ts, &e, &p);
	if (result == XVT_MAP_WAIT && infer_node(r))
		result = xvt_clock_map_place(&r->clock.map, r->decode.rec.ts, &e, &p);
	if (result == XVT_MAP_WAIT)
		return;
	place_without_rate(r, &e, &p, &result);
	if (result == XVT_MAP_DOUBT && !lies(r))
		return;
	if (result == XVT_MAP_DOUBT)
		flags |= XVT_EVENT_F_CLOCK;
	mistaken = is_mistaken(r, &p);
	leave_wide_line(&p, &flags);
	keep_order(r, &e, &p, &flags);
	if (mistaken || is_guess(&p))
		flags |= XVT_EVENT_F_UNCONFIRMED;
	if (flags & XVT_EVENT_F_CLOCK)
		note_violation(r);
	if (p.host_ns < r->start_ns)
		flags |= XVT_EVENT_F_BACKLOG;
	if (r->drain.first->salvage)
		flags |= XVT_EVENT_F_RECOVERED;
	if (!p.on_line && !flags)
		r->clock.map.bound_ns_max = xvt_u64_larger(
			r->clock.map.bound_ns_max,
			xvt_u64_sum(xvt_clock_placed_bound_ns(&p), XVT_STAMP_SLACK_NS));
	r->head.ns = p.host_ns;
	r->head.written = (struct xvt_written){ !p.on_line, p.lo_ns, p.hi_ns };
	/* Not what its line proves, but what can be held against that line. */
	if (p.on_line || mistaken)
		r->head.written = (struct xvt_written){ !p.on_line, e.floor_ns, e.ceiling_ns };
	r->head.flags = flags;
	r->head.placed = true;
}

bool xvt_ring_peek(struct xvt_ring *r)
{
	if (!r->head.have) {
		r->head.have = xvt_ring_decode(r);
		r->head.placed = false;
		r->scan.begun = false;
		r->head.next_epoch = false;
	}
	if (r->head.have && !r->head.placed)
		place(r);
	return r->head.have;
}

bool xvt_ring_newest(struct xvt_ring *r, uint64_t *guest, uint64_t *ceiling_ns)
{
	if (!xvt_ring_peek(r))
		return false;
	find_newest(r);
	*guest = r->scan.newest.ts;
	*ceiling_ns = r->scan.found->ceiling_ns;
	return true;
}

void xvt_ring_pop(struct xvt_ring *r)
{
	r->head.last_guest = r->decode.rec.ts;
	r->head.last_ns = r->head.ns;
	r->head.have = false;
}
