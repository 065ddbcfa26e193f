// SPDX-License-Identifier: GPL-2.0
/* reclock_map.c - see reclock_map.h. The file is untrusted: nodes and samples may be any numbers.
 */
#include "view/reclock_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"
#include "trace/lines.h"
#include "trace/nodes.h"
#include "view/fit.h"
#include "view/looks.h"

typedef __int128 s128;

/* Passes over an epoch to bring all new bounds below the recorded ones. */
#define TRIES	     8
/* An epoch with fewer measurements keeps the recorded map. */
#define BURSTS_LEAST 2
/* Samples within that part of a second are of one burst. */
#define BURST_PART   1000
/* A rate is that of at least so many slopes between samples, which are at least that part of a
 * second apart and whose doubt is at most that part of the distance. */
#define SLOPES_LEAST 8
#define SLOPE_PART   50
#define SLOPE_FINE   20
#define RATE_NEAR    64	      /* a rate of an epoch is that of its ring within this part */
#define TICK_PART    50000000 /* of a second: a usual tick is shorter */
/* Rounding error in ns of two conversions. */
#define ROUNDING     2
/* Limit of nanoseconds, so that sums and differences do not overflow. */
#define NS_MAX	     (INT64_MAX / 4)

/* -- all samples and nodes of the trace --------------------------------------------- */

struct sample {
	uint64_t guest;
	uint64_t lo; /* limits of the host's clock, in ticks */
	uint64_t hi;
	uint32_t epoch;
};

struct loading {
	struct xvt_trace *t;
	struct xvt_reclock_ring *rings;
	struct sample **samples;     /* of each ring */
	struct xvt_look_list *looks; /* of each ring, at events on its map */
	size_t *sample_room;
	size_t *node_room;
};

static int take_node(struct loading *l, const struct xvt_clock_node *n)
{
	struct xvt_reclock_ring *r;
	int err;

	if (n->ring >= l->t->ring_count)
		return 0;
	r = &l->rings[n->ring];
	err = xvt_grow(&r->nodes, &l->node_room[n->ring], r->node_count + 1, sizeof(*n));
	if (!err)
		r->nodes[r->node_count++] = *n;
	return err;
}

static int take_sample(struct loading *l, const struct xvt_clock_sample *s)
{
	struct xvt_reclock_ring *r;
	int err;

	if (s->ring >= l->t->ring_count)
		return 0;
	r = &l->rings[s->ring];
	err = xvt_grow(&l->samples[s->ring], &l->sample_room[s->ring], r->samples + 1,
		       sizeof(struct sample));
	if (!err)
		l->samples[s->ring][r->samples++] =
			(struct sample){ s->guest, s->host_clock_lo, s->host_clock_hi, s->epoch };
	return err;
}

static int take_chunk(struct loading *l, size_t chunk, const struct xvt_chunk_buf *b)
{
	struct xvt_clock_sample s;
	struct xvt_clock_look k;
	struct xvt_clock_node n;
	uint32_t at = 0;
	int err = 0;

	switch (l->t->chunks[chunk].type) {
	case XVT_CHUNK_NODE:
		while (!err && xvt_chunk_take(b, &at, &n, sizeof(n)))
			err = take_node(l, &n);
		break;
	case XVT_CHUNK_SAMPLES:
		while (!err && xvt_chunk_take(b, &at, &s, sizeof(s)))
			err = take_sample(l, &s);
		break;
	case XVT_CHUNK_LOOKS:
		while (!err && xvt_chunk_take(b, &at, &k, sizeof(k))) {
			if (k.ring < l->t->ring_count &&
			    !(k.flags & (XVT_LOOK_F_BESIDE | XVT_LOOK_F_GUESS)))
				err = xvt_look_list_add(&l->looks[k.ring], &k);
		}
		break;
	}
	return err;
}

static int split_epochs(struct xvt_reclock_ring *r)
{
	r->epochs = calloc(r->node_count + 1, sizeof(*r->epochs));
	if (!r->epochs)
		return -ENOMEM;
	if (xvt_nodes_settle(r->nodes, r->node_count))
		return -ENOMEM;
	for (size_t i = 0; i < r->node_count; i++) {
		if (!i || r->nodes[i].epoch != r->nodes[i - 1].epoch)
			r->epochs[r->epoch_count++] = (struct xvt_reclock_epoch){ .first = i };
		r->epochs[r->epoch_count - 1].end = i + 1;
	}
	return 0;
}

/* -- maps --------------------------------------------------------------------------- */

static uint64_t nominal(const struct xvt_reclock_ring *r, uint64_t guest0, uint64_t ns0,
			uint64_t guest)
{
	bool after = guest >= guest0;
	uint64_t ns = after ? xvt_ticks_ns(guest - guest0, r->hz)
			    : xvt_ticks_up_ns(guest0 - guest, r->hz);

	if (ns > INT64_MAX)
		ns = INT64_MAX; /* 292 years, the recorder's limit too */
	if (after)
		return ns0 + ns;
	return ns < ns0 ? ns0 - ns : 0;
}

uint64_t xvt_reclock_extrapolate(const struct xvt_reclock_ring *r, const struct xvt_clock_node *n,
				 uint64_t guest)
{
	return nominal(r, n->guest, n->host_ns, guest);
}

/* guest_a <= guest < guest_b. Unsigned, since nodes of a hostile file may be any numbers. */
static uint64_t on_line(uint64_t guest, uint64_t guest_a, uint64_t ns_a, uint64_t guest_b,
			uint64_t ns_b)
{
	return ns_a + xvt_u64_share(guest - guest_a, ns_b - ns_a, guest_b - guest_a);
}

/* Number of elements, of `size` bytes and sorted, whose key is at most `limit`; keys: that of the
 * first one. *last is the result of the last call, which is mostly the one of this call, too. */
static size_t count_near(const uint64_t *keys, size_t count, size_t size, uint64_t limit,
			 size_t *last)
{
	const uint8_t *at = (const uint8_t *)keys + *last * size;

	if ((*last && *(const uint64_t *)(at - size) > limit) ||
	    (*last < count && *(const uint64_t *)at <= limit))
		*last = xvt_count_to(keys, count, size, 0, limit);
	return *last;
}

uint64_t xvt_reclock_recorded_at(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e,
				 uint64_t guest)
{
	const struct xvt_clock_node *first = &r->nodes[e->first], *a;
	const size_t n =
		count_near(&first->guest, e->end - e->first, sizeof(*first), guest, &e->nodes_to);

	a = &first[n ? n - 1 : 0];
	if (guest <= a->guest || n == e->end - e->first)
		return xvt_reclock_extrapolate(r, a, guest);
	return on_line(guest, a->guest, a->host_ns, a[1].guest, a[1].host_ns);
}

uint64_t xvt_reclock_new_at(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e,
			    uint64_t guest)
{
	const struct xvt_reclock_knot *first = &r->knots[e->knot_first], *a;
	const size_t n = count_near(&first->guest, e->knot_end - e->knot_first, sizeof(*first),
				    guest, &e->knots_to);

	a = &first[n ? n - 1 : 0];
	if (guest <= a->guest || n == e->knot_end - e->knot_first)
		return nominal(r, a->guest, a->host_ns, guest);
	return on_line(guest, a->guest, a->host_ns, a[1].guest, a[1].host_ns);
}

/* Whether on_line() gives `ns`, without a division. */
static bool is_on_line(uint64_t guest, uint64_t ns, const struct xvt_clock_node *a)
{
	const uint64_t above = ns - a->host_ns, rise = a[1].host_ns - a->host_ns;
	const uint64_t length = a[1].guest - a->guest;
	unsigned __int128 product;

	if (ns < a->host_ns || a[1].host_ns < a->host_ns)
		return false;
	product = (unsigned __int128)(guest - a->guest) * rise;
	return (unsigned __int128)above * length <= product &&
	       ((unsigned __int128)above + 1) * length > product;
}

bool xvt_reclock_move(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e, uint64_t guest,
		      uint64_t rec_ns, uint64_t *ns)
{
	const struct xvt_clock_node *node = &r->nodes[e->first];
	const struct xvt_reclock_knot *knot = &r->knots[e->knot_first];
	const size_t nodes = e->end - e->first, knots = e->knot_end - e->knot_first;
	size_t n = count_near(&node->guest, nodes, sizeof(*node), guest, &e->nodes_to);

	if (!n || n == nodes || !is_on_line(guest, rec_ns, &node[n - 1]))
		return false;
	n = count_near(&knot->guest, knots, sizeof(*knot), guest, &e->knots_to);
	if (!n || n == knots)
		return false;
	knot += n - 1;
	*ns = on_line(guest, knot->guest, knot->host_ns, knot[1].guest, knot[1].host_ns);
	return true;
}

/* Make the line between two points. Returns false where it goes back, or is longer than any real
 * one: the rest of its division would not fit. */
static bool make_line(struct xvt_clock_segment *s, uint64_t guest_a, uint64_t ns_a,
		      uint64_t guest_b, uint64_t ns_b)
{
	*s = (struct xvt_clock_segment){ .guest = guest_a,
					 .guest_end = guest_b,
					 .host_ns = ns_a,
					 .rise = ns_b - ns_a,
					 .run = guest_b - guest_a };
	if (guest_b <= guest_a || ns_b < ns_a || (s->rise | s->run) >> 62)
		return false;
	xvt_clock_segment_make(s);
	return true;
}

bool xvt_reclock_lines_at(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e,
			  uint64_t guest, struct xvt_reclock_lines *lines)
{
	const struct xvt_clock_node *node = &r->nodes[e->first];
	const struct xvt_reclock_knot *knot = &r->knots[e->knot_first];
	const size_t nodes = e->end - e->first, knots = e->knot_end - e->knot_first;
	const size_t n = count_near(&node->guest, nodes, sizeof(*node), guest, &e->nodes_to);
	const size_t k = count_near(&knot->guest, knots, sizeof(*knot), guest, &e->knots_to);

	if (!n || n == nodes || !k || k == knots)
		return false;
	node += n;
	knot += k;
	lines->after = xvt_u64_larger(node[-1].guest, knot[-1].guest);
	lines->before = node->guest < knot->guest ? node->guest : knot->guest;
	lines->bound_ns = knot->bound_ns;
	return make_line(&lines->recorded, node[-1].guest, node[-1].host_ns, node->guest,
			 node->host_ns) &&
	       make_line(&lines->now, knot[-1].guest, knot[-1].host_ns, knot->guest, knot->host_ns);
}

uint64_t xvt_reclock_bound_at(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e,
			      uint64_t guest, uint64_t ns)
{
	const struct xvt_reclock_knot *first = &r->knots[e->knot_first], *a;
	const size_t n = count_near(&first->guest, e->knot_end - e->knot_first, sizeof(*first),
				    guest, &e->knots_to);
	uint64_t off;

	if (!n || n == e->knot_end - e->knot_first)
		return UINT64_MAX;
	a = &first[n - 1];
	off = xvt_u64_apart(on_line(guest, a->guest, a->host_ns, a[1].guest, a[1].host_ns), ns);
	return off > 1 ? UINT64_MAX : xvt_u64_sum(a[1].bound_ns, off);
}

/* -- a better map of one epoch ------------------------------------------------------ */

/* The piece between two knots: the limits that the samples prove at its ends, and its bound. */
struct piece {
	struct xvt_fit_span at0;
	struct xvt_fit_span at1;
	int64_t bound; /* recorded bound in ns, without the stamp's slack */
};

/* Working state of one epoch; all arrays have an entry for each knot. */
struct work {
	const struct xvt_trace *t;
	const struct xvt_reclock_ring *r;
	struct xvt_reclock_epoch *e;
	struct xvt_clock_fit fit;
	bool open_unknown; /* the file does not say whether another rate is open */
	uint64_t hz;	   /* nominal rate of the guest's clock, and that of the host's */
	uint64_t host_hz;
	uint64_t guest0;   /* origin of the fit: guest's clock */
	uint64_t clock0;   /* origin of the fit: host's clock */
	size_t knee_first; /* lines of the host's clock that begin in the epoch */
	size_t knee_end;
	size_t count;
	uint64_t *guest;
	int64_t *rec; /* recorded map, ns */
	int64_t *now; /* new map, ns */
	int64_t *bound;
	struct piece *pieces; /* pieces[k] is from knot k to k + 1 */
};

static int64_t limited(s128 ns)
{
	return ns > NS_MAX ? NS_MAX : ns < -NS_MAX ? -NS_MAX : (int64_t)ns;
}

/* The host's clock in ns, rounded down. */
static int64_t clock_ns(const struct xvt_trace *t, s128 clock)
{
	uint64_t c = clock < 0 ? 0 : clock > UINT64_MAX ? UINT64_MAX : (uint64_t)clock;

	return limited(xvt_timebase_ns(xvt_timebase_at(t->timebase, t->timebase_count, c), c));
}

static int64_t fit_ns(const struct work *w, int64_t y)
{
	return clock_ns(w->t, (s128)w->clock0 + y);
}

static struct xvt_fit_span span_ns(const struct work *w, const struct xvt_fit_span *s)
{
	return (struct xvt_fit_span){
		.lo = s->lo == INT64_MIN ? -NS_MAX : fit_ns(w, s->lo),
		.hi = s->hi == INT64_MAX ? NS_MAX : fit_ns(w, s->hi) + 1,
	};
}

static int by_guest(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static uint64_t host_hz(const struct xvt_trace *t)
{
	const s128 second = (s128)1000000000 << (t->info.shift & 63);

	return t->info.mult ? (uint64_t)(second / t->info.mult) : 1000000000;
}

/* Ticks of the guest's clock as ticks of the host's, at the nominal rate. */
static int64_t at_nominal(const struct work *w, uint64_t guest)
{
	const int64_t ticks = (int64_t)(guest - w->guest0);

	if (w->host_hz == w->hz)
		return ticks;
	return limited((s128)ticks * w->host_hz / w->hz);
}

/* The guest's clock at about that value of the host's clock, within the epoch. */
static uint64_t guest_at(const struct work *w, uint64_t clock)
{
	int64_t lo = 0;
	int64_t hi = (int64_t)(w->r->nodes[w->e->end - 1].guest - w->guest0);

	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;

		if ((s128)w->clock0 + xvt_clock_fit_middle(
					      &w->fit, at_nominal(w, w->guest0 + (uint64_t)mid)) <
		    (s128)clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	return w->guest0 + (uint64_t)lo;
}

/* The new map may bend at nodes, at samples between them, and where a line of the host's clock
 * begins. */
static void choose_knots(struct work *w, const struct sample *samples, size_t count)
{
	uint64_t first = w->r->nodes[w->e->first].guest, last = w->r->nodes[w->e->end - 1].guest;
	size_t n = 0, kept = 0;

	for (size_t i = w->e->first; i < w->e->end; i++)
		w->guest[n++] = w->r->nodes[i].guest;
	for (size_t i = 0; i < count; i++)
		if (samples[i].guest > first && samples[i].guest < last)
			w->guest[n++] = samples[i].guest;
	for (size_t i = w->knee_first; i < w->knee_end; i++)
		w->guest[n++] = guest_at(w, w->t->timebase[i].base_clock);
	qsort(w->guest, n, sizeof(*w->guest), by_guest);
	for (size_t i = 0; i < n; i++)
		if (!kept || w->guest[i] != w->guest[kept - 1])
			w->guest[kept++] = w->guest[i];
	w->count = kept;
}

/* Returns whether all nodes come from a formula, so that the rate is known. */
static bool is_exact(const struct work *w)
{
	for (size_t i = w->e->first; i < w->e->end; i++) {
		const uint32_t source = w->r->nodes[i].source;

		if (source != XVT_SOURCE_KVM && source != XVT_SOURCE_VMM &&
		    source != XVT_SOURCE_GUEST && source != XVT_SOURCE_HOST)
			return false;
	}
	return true;
}

/* -- the rate of a clock that is not the host's -------------------------------------- */

/* Limits of the rate between two samples, by the samples. */
struct slope {
	uint64_t hz;
	uint64_t doubt_ppb;
};

static int by_hz(const void *pa, const void *pb)
{
	const struct slope *a = pa, *b = pb;

	return a->hz < b->hz ? -1 : a->hz > b->hz;
}

static int by_moment(const void *pa, const void *pb)
{
	const struct sample *a = pa, *b = pb;

	return a->guest < b->guest ? -1 : a->guest > b->guest;
}

/* Slopes between samples that are far enough apart for one. `slopes` has room for `count`. */
static size_t find_slopes(const struct work *w, const struct sample *samples, size_t count,
			  struct slope *slopes)
{
	const uint64_t least = w->host_hz / SLOPE_PART;
	const struct sample *a = samples, *b;
	size_t n = 0;

	for (b = samples + 1; count && b < samples + count; b++) {
		const uint64_t doubt = xvt_u64_sum(a->hi - a->lo, b->hi - b->lo),
			       host = b->lo - a->lo;

		if (b->guest <= a->guest || b->lo <= a->lo || host < least || host >> 62 ||
		    doubt > host / SLOPE_FINE)
			continue;
		slopes[n++] = (struct slope){ xvt_u64_scale(b->guest - a->guest, w->host_hz,
							    host + b->hi / 2 - b->lo / 2 -
								    (a->hi / 2 - a->lo / 2)),
					      xvt_u64_scale(doubt, 1000000000, host) };
		a = b;
	}
	return n;
}

static bool is_near(const struct slope *s, uint64_t hz)
{
	return xvt_u64_apart(s->hz, hz) <=
	       hz / RATE_NEAR + xvt_u64_scale(hz, s->doubt_ppb, 1000000000);
}

/*
 * The median slope: gaps in which the clock stood still or jumped are few, or there is no rate. The
 * middle half of the slopes shows how well it is known. Returns 0, 1 if there is no rate, or
 * -ENOMEM. Sorts the samples.
 */
static int find_rate(struct work *w, struct sample *samples, size_t count,
		     struct xvt_fit_clock *clock)
{
	struct slope *slopes = malloc((count + 1) * sizeof(*slopes)), *median;
	uint64_t below, above;
	size_t n;

	if (!slopes)
		return -ENOMEM;
	qsort(samples, count, sizeof(*samples), by_moment);
	n = find_slopes(w, samples, count, slopes);
	qsort(slopes, n, sizeof(*slopes), by_hz);
	median = &slopes[n / 2];
	/* Most gaps of an epoch may have a jump: that of the whole ring is no such rate. */
	if (n >= SLOPES_LEAST && !is_near(median, w->r->hz))
		n = 0;
	if (n >= SLOPES_LEAST && median->hz) {
		w->hz = median->hz;
		below = w->hz - slopes[n / 4].hz;
		above = slopes[n * 3 / 4].hz - w->hz;
		clock->doubt_ppb = limited(
			(s128)xvt_u64_scale(xvt_u64_larger(below, above), 1000000000, w->hz) +
			median->doubt_ppb);
	}
	free(slopes);
	return n < SLOPES_LEAST;
}

static int fit_samples(struct work *w, struct sample *samples, size_t count)
{
	const uint64_t host = host_hz(w->t), hz = w->r->hz, off = host > hz ? host - hz : hz - host;
	struct xvt_fit_sample *s = malloc((count + 1) * sizeof(*s));
	/* The recorder took the host's rate for the guest's, which the file has to 1e-9. A clock of
	 * another kind was measured, and that rate is known no better than another one, also where
	 * it is the same number. */
	const bool is_hosts = w->r->hosts_kind && off <= host >> 20;
	const bool is_known = is_hosts || is_exact(w);
	struct xvt_fit_clock clock = { 0 };
	int err;

	if (!s)
		return -ENOMEM;
	w->hz = is_hosts ? host : hz;
	w->host_hz = host;
	w->open_unknown = !is_known && w->t->info.minor < XVT_FILE_MINOR_OPEN;
	err = is_known ? 0 : find_rate(w, samples, count, &clock);
	if (err)
		count = 0; /* nothing is known between two samples */
	if (err < 0) {
		free(s);
		return err;
	}
	w->guest0 = w->r->nodes[w->e->first].guest;
	w->clock0 = count ? samples[0].lo : 0;
	for (size_t i = 0; i < count; i++) {
		s[i].x = at_nominal(w, samples[i].guest);
		s[i].lo = (int64_t)(samples[i].lo - w->clock0);
		s[i].hi = (int64_t)(samples[i].hi - w->clock0);
	}
	clock.burst = (int64_t)(host / BURST_PART);
	clock.host_ticks = w->r->host_ticks || is_exact(w);
	clock.step = at_nominal(w, w->guest0 + (w->r->clock_step > 1 ? w->r->clock_step : 1)) + 1;
	if (clock.step < (int64_t)(host / TICK_PART))
		clock.step = 0; /* no more than a counter's usual tick */
	if (w->hz > host && !is_exact(w) &&
	    (w->r->host_ticks || w->hz - host <= host / XVT_FORWARD_PART)) {
		clock.forward = (int64_t)(w->hz - host);
		clock.unit = (int64_t)host;
	}
	return xvt_clock_fit_init(&w->fit, s, count, &clock);
}

/* Returns whether the samples' limits exclude all that the recorded map and its bound allow: then
 * one of the two is wrong. */
static bool contradicts(const struct xvt_fit_span *s, int64_t rec, int64_t bound)
{
	return s->hi + ROUNDING < rec - bound || s->lo - ROUNDING > rec + bound;
}

static void prove_pieces(struct work *w)
{
	const struct xvt_fit_span nothing = { -NS_MAX, NS_MAX };
	size_t node = w->e->first + 1;

	for (size_t k = 0; k + 1 < w->count; k++) {
		struct piece *p = &w->pieces[k];
		struct xvt_fit_span at0, at1;
		uint64_t bound, slack;

		while (w->r->nodes[node].guest <= w->guest[k])
			node++;
		bound = w->r->nodes[node].segment_bound_ns;
		slack = xvt_stamp_slack_ns(w->r->nodes[node].source, w->r->clock_traits);
		bound -= bound < slack ? bound : slack;
		p->bound = bound < NS_MAX ? (int64_t)bound : NS_MAX;
		xvt_clock_fit_between(&w->fit, at_nominal(w, w->guest[k]),
				      at_nominal(w, w->guest[k + 1]), &at0, &at1);
		p->at0 = span_ns(w, &at0);
		p->at1 = span_ns(w, &at1);
		if (w->open_unknown ||
		    w->r->nodes[node].flags &
			    (XVT_NODE_NEAR | XVT_NODE_BESIDE_BACK | XVT_NODE_F_OPEN) ||
		    contradicts(&p->at0, w->rec[k], p->bound) ||
		    contradicts(&p->at1, w->rec[k + 1], p->bound))
			p->at0 = p->at1 = nothing;
	}
}

/* Move *ns so that this end of a piece needs no larger bound than the recorded one. */
static void hold(int64_t *ns, const struct xvt_fit_span *s, int64_t rec, int64_t bound)
{
	int64_t least = s->hi - bound < rec ? s->hi - bound : rec;
	int64_t most = s->lo + bound > rec ? s->lo + bound : rec;

	*ns = *ns < least ? least : *ns > most ? most : *ns;
}

static void choose_map(struct work *w)
{
	for (size_t k = 0; k < w->count; k++) {
		int64_t ns = fit_ns(w, xvt_clock_fit_middle(&w->fit, at_nominal(w, w->guest[k])));

		if (llabs(ns - w->rec[k]) <= ROUNDING)
			ns = w->rec[k];
		if (k)
			hold(&ns, &w->pieces[k - 1].at1, w->rec[k], w->pieces[k - 1].bound);
		if (k + 1 < w->count)
			hold(&ns, &w->pieces[k].at0, w->rec[k], w->pieces[k].bound);
		w->now[k] = k && ns < w->now[k - 1] ? w->now[k - 1] : ns;
	}
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * The largest error of the new map in a piece, in ns. The samples' limits lie within straight lines
 * between the piece's ends, and the map is such a line, so they are furthest apart at an end. The
 * recorded map with its bound is another limit.
 */
static int64_t bound_of(const struct work *w, size_t k)
{
	const struct piece *p = &w->pieces[k];
	const int64_t *now = &w->now[k], *rec = &w->rec[k];
	int64_t above = smaller(larger(p->at0.hi - now[0], p->at1.hi - now[1]),
				larger(rec[0] - now[0], rec[1] - now[1]) + p->bound);
	int64_t below = smaller(larger(now[0] - p->at0.lo, now[1] - p->at1.lo),
				larger(now[0] - rec[0], now[1] - rec[1]) + p->bound);

	return larger(larger(above, below), 0);
}

/* Widen a bound for the bends of the host's clock. A bend is not exactly at a knot, but off it by
 * no more than the bound. It is 1,700 ppm at most: the host's rate is within 600 ppm of the
 * counter's and is steered by 500 ppm. */
static int64_t with_knees(const struct work *w, size_t k, int64_t bound)
{
	if (w->knee_first != w->knee_end)
		bound += bound / 512 + 1;
	return smaller(bound, w->pieces[k].bound);
}

/* Pieces with a larger bound than recorded get the recorded map. Returns whether there are none. */
static bool none_worse(struct work *w)
{
	bool none = true;

	for (size_t k = 0; k + 1 < w->count; k++) {
		w->bound[k] = bound_of(w, k);
		if (w->bound[k] <= w->pieces[k].bound)
			continue;
		w->now[k] = w->rec[k];
		w->now[k + 1] = w->rec[k + 1];
		none = false;
	}
	return none;
}

static bool usable(const struct work *w)
{
	for (size_t k = 0; k < w->count; k++) {
		int64_t moved = w->now[k] - w->rec[k];

		if (k && w->now[k] < w->now[k - 1])
			return false;
		if (moved > (int64_t)XVT_RECLOCK_REACH_NS || -moved > (int64_t)XVT_RECLOCK_REACH_NS)
			return false;
	}
	return true;
}

static void recorded_map(struct work *w)
{
	memcpy(w->now, w->rec, w->count * sizeof(*w->now));
	for (size_t k = 0; k + 1 < w->count; k++)
		w->bound[k] = bound_of(w, k);
}

static void refine(struct work *w)
{
	bool good = false;

	for (size_t k = 0; k < w->count; k++)
		w->rec[k] = limited(xvt_reclock_recorded_at(w->r, w->e, w->guest[k]));
	prove_pieces(w);
	choose_map(w);
	for (int i = 0; i < TRIES && !good; i++)
		good = none_worse(w);
	if (!good || !usable(w))
		recorded_map(w);
}

/* Returns whether the epoch's nodes are in order, as in every undamaged file. */
static bool in_order(const struct xvt_reclock_ring *r, const struct xvt_reclock_epoch *e)
{
	for (size_t i = e->first; i < e->end; i++) {
		if (r->nodes[i].host_ns >= NS_MAX)
			return false;
		if (i > e->first && (r->nodes[i].guest <= r->nodes[i - 1].guest ||
				     r->nodes[i].host_ns < r->nodes[i - 1].host_ns))
			return false;
	}
	return r->nodes[e->end - 1].guest - r->nodes[e->first].guest < XVT_FIT_MAX;
}

/* Number of bursts in which the epoch's samples were taken. */
static size_t measured_count(const struct xvt_reclock_ring *r, const struct xvt_reclock_epoch *e)
{
	size_t n = 0;

	for (size_t i = e->first; i < e->end; i++)
		n += r->nodes[i].source != XVT_SOURCE_DRAIN;
	return n;
}

/* Returns whether the clock was changed within the epoch. Then no explanation holds, although a
 * clock that was moved and moved back contradicts no sample. */
static bool was_changed(const struct xvt_reclock_ring *r, const struct xvt_reclock_epoch *e)
{
	for (size_t i = e->first; i < e->end; i++) {
		if (!(r->nodes[i].flags & XVT_NODE_F_FIRST) &&
		    r->nodes[i].flags & XVT_NODE_F_CHANGED)
			return true;
	}
	return false;
}

static void keep_epoch(struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e)
{
	for (size_t i = e->first; i < e->end; i++)
		r->knots[r->knot_count++] =
			(struct xvt_reclock_knot){ r->nodes[i].guest, r->nodes[i].host_ns,
						   r->nodes[i].segment_bound_ns,
						   r->nodes[i].segment_bound_ns };
}

static void put_knots(struct xvt_reclock_ring *r, const struct work *w)
{
	const uint64_t slack = xvt_stamp_slack_ns(r->nodes[w->e->first].source, r->clock_traits);

	for (size_t k = 0; k < w->count; k++) {
		struct xvt_reclock_knot *n = &r->knots[r->knot_count++];
		uint64_t moved = (uint64_t)llabs(w->now[k] - w->rec[k]);

		n->guest = w->guest[k];
		n->host_ns = (uint64_t)w->now[k];
		n->bound_ns = n->rec_bound_ns = r->nodes[w->e->first].segment_bound_ns;
		if (k) {
			n->bound_ns = (uint64_t)with_knees(w, k - 1, w->bound[k - 1]) + slack;
			n->rec_bound_ns = (uint64_t)w->pieces[k - 1].bound + slack;
		}
		if (moved > r->moved_ns)
			r->moved_ns = moved;
	}
}

/* Returns whether the new map moves a time or has a smaller bound. */
static bool is_better(const struct work *w)
{
	for (size_t k = 0; k < w->count; k++) {
		if (w->now[k] != w->rec[k])
			return true;
		if (k && with_knees(w, k - 1, w->bound[k - 1]) < w->pieces[k - 1].bound)
			return true;
	}
	return false;
}

/* Returns whether an event with the recorded time cannot have been written in a look's span, by the
 * new map. */
static bool is_disproved(const struct work *w, uint64_t ns, const struct xvt_clock_look *look)
{
	const uint64_t slack =
		xvt_stamp_slack_ns(w->r->nodes[w->e->first].source, w->r->clock_traits);
	size_t k = 0, end = w->count - 1;
	s128 now, bound;

	while (end - k > 1) {
		const size_t mid = k + (end - k) / 2;

		if ((uint64_t)w->rec[mid] <= ns)
			k = mid;
		else
			end = mid;
	}
	now = w->now[k];
	if (w->rec[k + 1] > w->rec[k])
		now += (s128)((int64_t)ns - w->rec[k]) * (w->now[k + 1] - w->now[k]) /
		       (w->rec[k + 1] - w->rec[k]);
	bound = with_knees(w, k, w->bound[k]) + (s128)slack + ROUNDING;
	return now + bound < look->lo_ns || now - bound > look->hi_ns;
}

/*
 * Returns whether what the drain saw of the epoch's events contradicts the new map. A clock that
 * was moved and moved back contradicts no sample, and only those that saw its events know. *look:
 * where the search goes on in the next epoch.
 */
static bool looks_disprove(const struct work *w, const struct xvt_look_list *looks, size_t *look)
{
	const uint64_t from = (uint64_t)w->rec[0], until = (uint64_t)w->rec[w->count - 1];

	for (; *look < looks->count && looks->of[*look].first_ns <= until; ++*look) {
		const struct xvt_clock_look *k = &looks->of[*look];

		if (k->first_ns < from || k->last_ns > until)
			continue;
		if (is_disproved(w, k->first_ns, k) || is_disproved(w, k->last_ns, k))
			return true;
	}
	return false;
}

static int alloc_work(struct work *w, size_t room)
{
	w->guest = malloc(room * sizeof(*w->guest));
	w->rec = malloc(room * sizeof(*w->rec));
	w->now = malloc(room * sizeof(*w->now));
	w->bound = malloc(room * sizeof(*w->bound));
	w->pieces = malloc(room * sizeof(*w->pieces));
	return w->guest && w->rec && w->now && w->bound && w->pieces ? 0 : -ENOMEM;
}

static void free_work(struct work *w)
{
	free(w->fit.samples);
	xvt_clock_fit_fini(&w->fit);
	free(w->guest);
	free(w->rec);
	free(w->now);
	free(w->bound);
	free(w->pieces);
}

/* Find the lines that begin in this epoch. *knee: where the search goes on in the next epoch. */
static void find_knees(struct work *w, size_t *knee)
{
	const struct xvt_trace *t = w->t;

	while (*knee < t->timebase_count &&
	       t->timebase[*knee].base_ns <= w->r->nodes[w->e->first].host_ns)
		++*knee;
	w->knee_first = *knee;
	while (*knee < t->timebase_count &&
	       t->timebase[*knee].base_ns < w->r->nodes[w->e->end - 1].host_ns)
		++*knee;
	w->knee_end = *knee;
}

/* Where the search goes on in the next epoch: in the lines of the host's clock, and in the looks.
 */
struct place {
	size_t knee;
	size_t look;
};

/*
 * Make the new map of an epoch from its samples. r->knots has room for one knot for each node,
 * sample and line, which is the most.
 */
static int make_epoch(const struct xvt_trace *t, struct xvt_reclock_ring *r,
		      struct xvt_reclock_epoch *e, struct sample *samples, size_t count,
		      const struct xvt_look_list *looks, struct place *at)
{
	struct work w = { .t = t, .r = r, .e = e };
	int err = 0;

	e->knot_first = r->knot_count;
	/* Times between two measurements are limited by both. */
	if (in_order(r, e) && !was_changed(r, e) && measured_count(r, e) >= BURSTS_LEAST) {
		find_knees(&w, &at->knee);
		err = alloc_work(&w, e->end - e->first + count + w.knee_end - w.knee_first);
		if (!err)
			err = fit_samples(&w, samples, count);
	}
	if (!err && w.fit.any) {
		choose_knots(&w, samples, count);
		refine(&w);
		e->refined = is_better(&w) && !looks_disprove(&w, looks, &at->look);
		e->straight = e->refined && w.fit.straight;
	}
	if (e->refined)
		put_knots(r, &w);
	else if (!err)
		keep_epoch(r, e);
	e->knot_end = r->knot_count;
	free_work(&w);
	return err;
}

static int by_epoch(const void *pa, const void *pb)
{
	const struct sample *a = pa, *b = pb;

	return a->epoch < b->epoch ? -1 : a->epoch > b->epoch;
}

/* A hostile file may use one epoch's number for several epochs: each sample is used once. */
static int make_ring(const struct xvt_trace *t, struct xvt_reclock_ring *r, struct sample *samples,
		     struct xvt_look_list *looks)
{
	struct place place = { .knee = 1 };
	size_t at = 0;
	int err = split_epochs(r);

	if (!err)
		err = xvt_look_list_settle(looks);
	if (err)
		return err;
	r->knots = malloc((r->node_count + r->samples + t->timebase_count) * sizeof(*r->knots));
	if (!r->knots)
		return -ENOMEM;
	if (r->samples)
		qsort(samples, r->samples, sizeof(*samples), by_epoch);
	for (size_t i = 0; i < r->epoch_count && !err; i++) {
		uint32_t epoch = r->nodes[r->epochs[i].first].epoch;
		size_t first;

		while (at < r->samples && samples[at].epoch < epoch)
			at++;
		first = at;
		while (at < r->samples && samples[at].epoch == epoch)
			at++;
		err = make_epoch(t, r, &r->epochs[i], first ? samples + first : samples, at - first,
				 looks, &place);
	}
	return err;
}

static void ring_hz(struct loading *l, uint32_t ring)
{
	const struct xvt_trace *t = l->t;
	uint32_t vm = xvt_ring_vm(t, ring);
	struct xvt_reclock_ring *r = &l->rings[ring];

	if (vm < t->vm_count && t->vms[vm].known)
		r->hz = t->vms[vm].info.clock_hz;
	if (t->rings[ring].known && t->rings[ring].info.clock_hz)
		r->hz = t->rings[ring].info.clock_hz;
	r->hosts_kind =
		t->rings[ring].known && t->rings[ring].info.clock_id == t->info.host_clock_id;
	r->host_ticks = r->hosts_kind && t->info.host_clock_id == XVT_CLOCK_TSC;
	if (t->rings[ring].known) {
		r->clock_traits = t->rings[ring].info.clock_traits;
		r->clock_step = t->rings[ring].info.clock_step;
	}
	if (!r->hz)
		r->hz = host_hz(t);
}

/* Forget what was loaded. The arrays keep their room. */
static void forget(struct loading *l)
{
	for (uint32_t i = 0; i < l->t->ring_count; i++) {
		l->rings[i].node_count = 0;
		l->rings[i].samples = 0;
		xvt_look_list_fini(&l->looks[i]);
	}
}

static int load(struct loading *l)
{
	const uint32_t types =
		1u << XVT_CHUNK_NODE | 1u << XVT_CHUNK_SAMPLES | 1u << XVT_CHUNK_LOOKS;
	struct xvt_chunk_buf b = { 0 };
	int err = 0, more;

	for (size_t i = 0; !err && (more = xvt_trace_next(l->t, types, &i, &b)); i++)
		err = more < 0 ? more : take_chunk(l, i, &b);
	xvt_chunk_buf_free(&b);
	for (uint32_t i = 0; i < l->t->ring_count && !err; i++) {
		ring_hz(l, i);
		err = make_ring(l->t, &l->rings[i], l->samples[i], &l->looks[i]);
		xvt_look_list_fini(&l->looks[i]);
		free(l->samples[i]);
		l->samples[i] = NULL;
	}
	return err;
}

int xvt_reclock_maps_new(struct xvt_reclock_ring **out, struct xvt_trace *t)
{
	size_t n = (size_t)t->ring_count + 1;
	struct loading l = {
		.t = t,
		.rings = calloc(n, sizeof(*l.rings)),
		.samples = calloc(n, sizeof(*l.samples)),
		.looks = calloc(n, sizeof(*l.looks)),
		.sample_room = calloc(n, sizeof(*l.sample_room)),
		.node_room = calloc(n, sizeof(*l.node_room)),
	};
	int err = -ENOMEM;

	*out = NULL;
	if (l.rings && l.samples && l.looks && l.sample_room && l.node_room)
		err = load(&l);
	/* The index was wrong, and the list of chunks is a new one. */
	if (err == -ESTALE) {
		forget(&l);
		err = load(&l);
	}
	for (size_t i = 0; l.samples && i < n; i++)
		free(l.samples[i]);
	for (size_t i = 0; l.looks && i < n; i++)
		xvt_look_list_fini(&l.looks[i]);
	free(l.samples);
	free(l.looks);
	free(l.sample_room);
	free(l.node_room);
	if (err)
		xvt_reclock_maps_free(l.rings, t->ring_count);
	else
		*out = l.rings;
	return err;
}

void xvt_reclock_maps_free(struct xvt_reclock_ring *rings, uint32_t count)
{
	for (uint32_t i = 0; rings && i < count; i++) {
		free(rings[i].nodes);
		free(rings[i].knots);
		free(rings[i].epochs);
	}
	free(rings);
}

/* -- how bounds changed ------------------------------------------------------------- */

struct share {
	uint64_t bound_ns;
	uint64_t guest; /* duration in ticks of the guest's clock */
};

static int by_bound(const void *pa, const void *pb)
{
	const struct share *a = pa, *b = pb;

	return a->bound_ns < b->bound_ns ? -1 : a->bound_ns > b->bound_ns;
}

static uint64_t half(struct share *shares, size_t count, uint64_t *max)
{
	s128 sum = 0, half_sum = 0;
	size_t i = 0;

	qsort(shares, count, sizeof(*shares), by_bound);
	*max = shares[count - 1].bound_ns;
	for (size_t k = 0; k < count; k++)
		sum += shares[k].guest;
	while (i + 1 < count && (half_sum + shares[i].guest) * 2 < sum)
		half_sum += shares[i++].guest;
	return shares[i].bound_ns;
}

int xvt_reclock_change(const struct xvt_reclock_ring *r, struct xvt_reclock_change *c)
{
	struct share *before = malloc((r->knot_count + 1) * sizeof(*before));
	struct share *after = malloc((r->knot_count + 1) * sizeof(*after));
	size_t n = 0;

	for (size_t e = 0; before && after && e < r->epoch_count; e++) {
		for (size_t k = r->epochs[e].knot_first + 1; k < r->epochs[e].knot_end; k++) {
			const struct xvt_reclock_knot *b = &r->knots[k];
			uint64_t guest = b->guest - r->knots[k - 1].guest;

			before[n] = (struct share){ b->rec_bound_ns, guest };
			after[n++] = (struct share){ b->bound_ns, guest };
		}
	}
	if (n) {
		c->half_before = half(before, n, &c->max_before);
		c->half_after = half(after, n, &c->max_after);
	}
	free(before);
	free(after);
	return n ? 0 : before && after ? -ENOENT : -ENOMEM;
}
