// SPDX-License-Identifier: GPL-2.0
/*
 * test_reclock.c - made-up clocks whose truth is known, measured and recorded by the recorder's
 * own map. After the fact the true time must lie within every new bound, and no bound may be
 * larger than the recorded one, whatever the clocks did.
 */
#include "suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/map.h"
#include "view/bound.h"
#include "view/reclock.h"
#include "synth.h"

typedef __int128 s128;

#define HOST_HZ	   2500000000.0
#define TICKS_MS   2500000ull
#define CLOCK0	   (1ull << 40)
#define STEPS_MAX  20000
#define BURSTS_MAX 400
#define EVENTS	   1200
#define RINGS	   2
#define LINES	   13
#define TRACES	   6 /* of each kind */

static const struct xvt_file_info info = {
	.host_clock_id = XVT_CLOCK_TSC,
	.mult = 1717986918, /* 0.4 ns a tick */
	.shift = 32,
	.base_clock = 1000000,
	.base_ns = 5000000000,
	.host_name = "testhost",
};

static uint64_t seed;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t below(uint64_t n)
{
	return next_random() % n;
}

/* From least to most, each magnitude as often. */
static uint64_t magnitude(double least, double most)
{
	double share = (double)below(1u << 20) / (1u << 20);

	return (uint64_t)(least * pow(most / least, share));
}

/* The host's clock: a new line each second or so, steered by up to 500 ppm. */
static struct xvt_timebase lines[LINES];
static size_t line_count;

static uint64_t on_line(const struct xvt_timebase *l, uint64_t clock)
{
	s128 delta = (s128)clock - (s128)l->base_clock;

	return l->base_ns + (uint64_t)(delta * l->mult >> l->shift);
}

static uint64_t true_ns(uint64_t clock)
{
	size_t at = line_count - 1;

	while (at && lines[at].base_clock > clock)
		at--;
	return on_line(&lines[at], clock);
}

static void make_lines(bool steered)
{
	lines[0] = (struct xvt_timebase){ .base_clock = info.base_clock,
					  .base_ns = info.base_ns,
					  .mult = info.mult,
					  .shift = info.shift };
	line_count = 1;
	while (steered && line_count < LINES) {
		uint64_t clock = CLOCK0 + line_count * 1250000000 + below(1250000000);
		uint64_t ppm = below(1001);

		lines[line_count] = (struct xvt_timebase){
			.base_clock = clock,
			.base_ns = on_line(&lines[line_count - 1], clock),
			.mult = (uint32_t)(info.mult - info.mult / 2000 +
					   info.mult / 1000000 * ppm),
			.shift = info.shift,
		};
		line_count++;
	}
}

/* -- a clock ------------------------------------------------------------------------ */

enum behaviour {
	CONSTANT,   /* the host's rate */
	RATE_ERROR, /* nearly that */
	SCALED,	    /* another one */
	CREEPS,	    /* gains now and then */
	RUNS,	    /* gains all the time, and much */
	BEHAVIOURS,
};

enum measuring {
	NARROW,
	MIXED,
	WIDE,
	SPARSE, /* and wide */
	MEASURINGS,
};

struct step {
	uint64_t clock;
	int64_t gain;
};

struct guest {
	double ratio;
	uint64_t hz; /* nominal */
	uint64_t off;
	struct step steps[STEPS_MAX]; /* sums: all that was gained until then */
	size_t step_count;
	/* Nodes: when they were true, and their epoch. */
	uint64_t moment[BURSTS_MAX];
	uint32_t epoch[BURSTS_MAX];
	size_t bursts;
	struct xvt_clock_map map;
};

static uint64_t guest_clock(const struct guest *g, uint64_t clock)
{
	size_t lo = 0, hi = g->step_count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (g->steps[mid].clock <= clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	return g->off + (uint64_t)((double)(clock - CLOCK0) * g->ratio) +
	       (uint64_t)(lo ? g->steps[lo - 1].gain : 0);
}

static void add_step(struct guest *g, uint64_t clock, int64_t gain)
{
	int64_t sum = g->step_count ? g->steps[g->step_count - 1].gain : 0;

	ck_assert_uint_lt(g->step_count, STEPS_MAX);
	g->steps[g->step_count++] = (struct step){ clock, sum + gain };
}

static void make_guest(struct guest *g, enum behaviour how, bool jumps, uint64_t length)
{
	double error = (below(2) ? 1 : -1) * (double)magnitude(1, 100000) / 1e9;
	uint64_t jump = jumps ? CLOCK0 + length / 4 : UINT64_MAX, at = CLOCK0;

	memset(g, 0, sizeof(*g));
	g->ratio = how == RATE_ERROR ? 1 + error
		   : how == SCALED   ? 0.5 + (double)below(2000) / 1e3
				     : 1;
	g->hz = (uint64_t)(HOST_HZ * (how == SCALED ? g->ratio * (1 + error) : 1));
	if (how == SCALED && fabs(g->ratio - 1) < 0.05)
		g->ratio = 1.2;
	if (how == SCALED)
		g->hz = (uint64_t)(HOST_HZ * g->ratio * (1 + error));
	g->off = below(1ull << 50) + (1ull << 41);
	while (at < CLOCK0 + length) {
		at += how == RUNS ? magnitude(1e4, 1e7) : magnitude(1e6, 5e8);
		while (at >= jump) {
			int64_t seconds = (int64_t)((1 + below(100)) * 2500000000u);

			add_step(g, jump, below(2) ? seconds : -seconds);
			jump += length / 4 + below(length / 4);
		}
		if (how == RUNS || how == CREEPS)
			add_step(g, at, (int64_t)magnitude(1, how == RUNS ? 1e5 : 1e6));
	}
}

/* -- how it is measured and recorded ------------------------------------------------ */

static uint64_t width(enum measuring m)
{
	static const double least[] = { 250, 250, 1e5, 1e5 }, most[] = { 1e3, 2e6, 2e6, 8e6 };

	return magnitude(least[m], most[m]);
}

static struct xvt_clock_sample exchange(const struct guest *g, uint32_t ring, uint64_t *clock,
					enum measuring m, uint64_t *moment)
{
	struct xvt_clock_sample s = { .ring = ring, .source = XVT_SOURCE_HANDSHAKE };

	s.host_clock_lo = *clock;
	s.host_clock_hi = *clock + width(m);
	*moment = *clock + below(s.host_clock_hi - *clock + 1);
	s.guest = guest_clock(g, *moment);
	*clock = s.host_clock_hi + magnitude(100, 1e4);
	return s;
}

/* A bound of the map's knows nothing of a host's clock that is steered between two nodes. */
static uint64_t steered(uint64_t from_ns, uint64_t to_ns)
{
	return line_count > 1 ? (to_ns - from_ns) / 1000 : 0;
}

/* The tightest makes the node; another one is in the file as well. lie: and one that is none. */
static void burst(struct guest *g, struct xvt_trace_writer *w, uint32_t ring, uint64_t clock,
		  enum measuring m, bool lie)
{
	struct xvt_clock_sample best, s[2];
	struct xvt_clock_node n = { .ring = ring, .source = XVT_SOURCE_HANDSHAKE };
	uint64_t moment, best_moment, lo, hi, last_ns;

	best = s[1] = exchange(g, ring, &clock, m, &best_moment);
	for (int i = 0; i < 3; i++) {
		s[0] = exchange(g, ring, &clock, m, &moment);
		if (s[0].host_clock_hi - s[0].host_clock_lo >=
		    best.host_clock_hi - best.host_clock_lo)
			continue;
		s[1] = best;
		best = s[0];
		best_moment = moment;
	}
	s[0] = best;
	if (lie)
		s[below(2)].guest += below(2) ? below(1000000) : next_random();
	lo = true_ns(best.host_clock_lo);
	hi = true_ns(best.host_clock_hi);
	n.guest = s[0].guest;
	n.host_ns = lo + (hi - lo) / 2;
	n.bound_ns = (hi - lo + 1) / 2 + 1;
	last_ns = g->map.count ? xvt_clock_map_last(&g->map)->host_ns : 0;
	if (g->bursts == BURSTS_MAX || xvt_clock_map_add(&g->map, &n))
		return;
	n.segment_bound_ns += steered(last_ns, n.host_ns);
	s[0].epoch = s[1].epoch = n.epoch;
	g->moment[g->bursts] = best_moment;
	g->epoch[g->bursts++] = n.epoch;
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_SAMPLES, s, sizeof(s), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NODE, &n, sizeof(n), NULL, 0), 0);
}

/* What an event carries, to be judged by. */
struct truth {
	uint64_t ns;
	uint64_t rec_ns;
	uint64_t number; /* in its ring */
	uint32_t epoch;
	bool measured; /* it lies between two nodes of that epoch */
};

struct event {
	struct xvt_event_hdr hdr;
	struct truth truth;
	struct xvt_clock_placed placed;
};

static void judge_by(const struct guest *g, uint64_t clock, struct truth *truth)
{
	for (size_t i = 0; i + 1 < g->bursts; i++) {
		if (g->moment[i] > clock || g->moment[i + 1] < clock ||
		    g->epoch[i] != g->epoch[i + 1])
			continue;
		truth->epoch = g->epoch[i];
		truth->measured = true;
	}
}

/* As the recorder does it. */
static void record(struct guest *g, uint32_t ring, uint64_t clock, uint64_t number,
		   uint64_t *last_guest, uint64_t *last_ns, struct event *e)
{
	const bool last_late = number && e[-1].hdr.ring_flags & XVT_EVENT_F_LATE;
	uint64_t ns = true_ns(clock), guest = guest_clock(g, clock);
	struct xvt_clock_evidence evidence = { ns - 100000000, ns + 100000000, 0 };
	struct xvt_clock_placed placed;
	enum xvt_map_result result;

	memset(e, 0, sizeof(*e));
	e->truth.ns = ns;
	e->truth.number = number;
	judge_by(g, clock, &e->truth);
	e->hdr.guest_clock = guest;
	e->hdr.ring_flags = ring;
	e->hdr.id = XVT_ID_FIRST_EVENT;
	e->hdr.len = sizeof(e->truth);
	if (guest < *last_guest && !xvt_clock_map_next_epoch(&g->map))
		e->hdr.ring_flags |= XVT_EVENT_F_CLOCK;
	result = xvt_clock_map_place(&g->map, guest, &evidence, &placed);
	ns = placed.host_ns;
	e->placed = placed;
	if (result == XVT_MAP_GUESS)
		e->hdr.ring_flags |= XVT_EVENT_F_UNCONFIRMED;
	if (result == XVT_MAP_DOUBT || ns < *last_ns) {
		e->hdr.ring_flags |= XVT_EVENT_F_CLOCK;
		ns = *last_ns;
	}
	if (e->hdr.ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED))
		e->truth.measured = false;
	e->hdr.host_ns = e->truth.rec_ns = ns;
	/* Behind a late record those of its time are late, too. */
	if (!below(50) || (last_late && ns == *last_ns))
		e->hdr.ring_flags |= XVT_EVENT_F_LATE;
	*last_guest = guest;
	*last_ns = ns;
}

/* What the recorder writes of an event that no segment bounds. */
static void put_look(struct xvt_trace_writer *w, const struct event *e)
{
	const struct xvt_clock_look look = {
		.ring = e->hdr.ring_flags & XVT_EVENT_RING_MASK,
		.flags = XVT_LOOK_F_BESIDE |
			 (e->hdr.ring_flags & XVT_EVENT_F_UNCONFIRMED ? XVT_LOOK_F_GUESS : 0),
		.first_ns = e->hdr.host_ns,
		.last_ns = e->hdr.host_ns,
		.lo_ns = e->placed.lo_ns,
		.hi_ns = e->placed.hi_ns,
	};

	if (!e->placed.on_line && !(e->hdr.ring_flags & XVT_EVENT_F_CLOCK))
		ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_LOOKS, &look, sizeof(look), NULL, 0),
				 0);
}

static int by_time(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;
	uint32_t ra = a->hdr.ring_flags & XVT_EVENT_RING_MASK;
	uint32_t rb = b->hdr.ring_flags & XVT_EVENT_RING_MASK;

	if (a->hdr.host_ns != b->hdr.host_ns)
		return a->hdr.host_ns < b->hdr.host_ns ? -1 : 1;
	if (ra != rb)
		return ra < rb ? -1 : 1;
	return a->truth.number < b->truth.number ? -1 : 1;
}

static int by_clock(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

struct setting {
	enum behaviour how;
	enum measuring measuring;
	bool jumps; /* of the guest, and the host's clock is steered */
	bool lies;
};

static struct guest guests[RINGS];
static struct event events[RINGS * EVENTS];

static void make_ring(struct xvt_trace_writer *w, uint32_t ring, const struct setting *s)
{
	struct guest *g = &guests[ring];
	uint64_t length = (1 + below(60)) * 100 * TICKS_MS, clocks[EVENTS];
	uint64_t last_guest = 0, last_ns = 0;
	/* This one is not set forward, so a faster rate than the host's is its own. */
	struct xvt_ring_info r = { .ring = ring,
				   .clock_id =
					   s->how == SCALED ? XVT_CLOCK_CNTVCT : XVT_CLOCK_TSC };

	make_guest(g, s->how, s->jumps, length);
	xvt_clock_map_init(&g->map, g->hz);
	r.clock_hz = g->hz;
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &r, sizeof(r), NULL, 0), 0);
	for (uint64_t at = CLOCK0; at < CLOCK0 + length;) {
		burst(g, w, ring, at, s->measuring, s->lies && !below(10));
		at += (80 + below(40)) * TICKS_MS * (s->measuring == SPARSE ? 1 + below(20) : 1);
	}
	for (size_t i = 0; i < EVENTS; i++)
		clocks[i] = CLOCK0 + below(length + length / 20);
	qsort(clocks, EVENTS, sizeof(clocks[0]), by_clock);
	g->map.closed = true;
	for (size_t i = 0; i < EVENTS; i++)
		record(g, ring, clocks[i], i, &last_guest, &last_ns, &events[ring * EVENTS + i]);
	xvt_clock_map_fini(&g->map);
}

/* The trace that a recorder would have made. */
static struct xvt_trace *make_trace(const struct setting *s)
{
	struct xvt_vm_info vm = { .name = "g1" };
	const char *path = scratch_path("reclock.xvt");
	struct xvt_trace_writer *w;
	struct synth_sink sink;
	struct xvt_trace *t;
	struct xvt_error why;

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &info), 0);
	make_lines(s->jumps);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_TIMEBASE, lines + 1,
				       (line_count - 1) * sizeof(lines[0]), NULL, 0),
			 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	for (uint32_t i = 0; i < RINGS; i++)
		make_ring(w, i, s);
	qsort(events, RINGS * EVENTS, sizeof(events[0]), by_time);
	for (size_t i = 0; i < RINGS * EVENTS; i++)
		put_look(w, &events[i]);
	for (size_t i = 0; i < RINGS * EVENTS; i++)
		ck_assert_int_eq(xvt_trace_event(w, &events[i].hdr, &events[i].truth), 0);
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
	ck_assert_int_eq(xvt_trace_open(&t, path, &why), 0);
	return t;
}

/* -- the judge ---------------------------------------------------------------------- */

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void check_map(const struct xvt_reclock_ring *r)
{
	for (size_t e = 0; e < r->epoch_count; e++) {
		for (size_t k = r->epochs[e].knot_first; k < r->epochs[e].knot_end; k++) {
			const struct xvt_reclock_knot *n = &r->knots[k];

			ck_assert_uint_le(n->bound_ns, n->rec_bound_ns);
			if (k == r->epochs[e].knot_first)
				continue;
			ck_assert_uint_gt(n->guest, n[-1].guest);
			ck_assert_uint_ge(n->host_ns, n[-1].host_ns);
		}
	}
}

/* Every event without a flag has a bound that holds, and that is not larger than it was. */
static void check_event(uint64_t bound, struct xvt_bounds *recorded, const struct xvt_event_hdr *h,
			const struct truth *truth, const struct setting *s, uint64_t at_seed)
{
	struct xvt_event_hdr before = *h;
	uint64_t was;

	before.host_ns = truth->rec_ns;
	was = xvt_bound_ns(recorded, &before);
	if (h->ring_flags & XVT_EVENT_F_CLOCK || was == XVT_NO_BOUND) {
		ck_assert(h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED));
		return;
	}
	/* Here events are stamped at once; 2 for the rounding of both maps. */
	ck_assert_msg(apart(truth->rec_ns, truth->ns) <= was - XVT_STAMP_SLACK_NS + 2,
		      "the recorder itself is wrong: behaviour %d, measuring %d, seed %llu: off by "
		      "%llu ns, bound %llu",
		      s->how, s->measuring, (unsigned long long)at_seed,
		      (unsigned long long)apart(truth->rec_ns, truth->ns), (unsigned long long)was);
	ck_assert_msg(
		apart(h->host_ns, truth->ns) <= bound - XVT_STAMP_SLACK_NS + 2,
		"behaviour %d, measuring %d, seed %llu: off by %llu ns, bound %llu (was %llu)",
		s->how, s->measuring, (unsigned long long)at_seed,
		(unsigned long long)apart(h->host_ns, truth->ns), (unsigned long long)bound,
		(unsigned long long)was);
	ck_assert_msg(bound <= was + 2,
		      "behaviour %d, measuring %d, seed %llu: bound %llu (was %llu)", s->how,
		      s->measuring, (unsigned long long)at_seed, (unsigned long long)bound,
		      (unsigned long long)was);
}

/* How far times are from the truth: sums over all events of a trace that are measured. */
struct errors {
	double before;
	double after;
};

/* Everything there is, in order, and (unless samples lie) within its bound. */
static void judge(const struct setting *s, struct xvt_reclock_change *change, struct errors *errors)
{
	uint64_t at_seed = seed, last_ns = 0;
	uint64_t next[RINGS] = { 0 };
	struct xvt_trace *t = make_trace(s);
	struct xvt_bounds *recorded;
	const uint64_t *bound_ns;
	struct xvt_reclock *rc;
	struct xvt_event ev;
	size_t n = 0;

	ck_assert_int_eq(xvt_bounds_new(&recorded, t), 0);
	ck_assert_int_eq(xvt_reclock_new(&rc, t), 0);
	bound_ns = xvt_reclock_want_bounds(rc);
	for (uint32_t i = 0; i < RINGS; i++)
		check_map(xvt_reclock_ring(rc, i));
	ck_assert_int_eq(xvt_reclock_begin(rc, 0, UINT64_MAX), 0);
	while (xvt_reclock_next(rc, &ev) == 1) {
		uint32_t ring = xvt_event_ring(&ev);
		struct truth truth;

		memcpy(&truth, ev.payload, sizeof(truth));
		ck_assert_uint_ge(ev.hdr->host_ns, last_ns);
		last_ns = ev.hdr->host_ns;
		/* A ring's events stay in their order, whatever lane they are in. */
		ck_assert_msg(truth.number == next[ring]++, "ring %u: %llu, not %llu; seed %llu",
			      ring, (unsigned long long)truth.number,
			      (unsigned long long)next[ring] - 1, (unsigned long long)at_seed);
		if (!s->lies)
			check_event(*bound_ns, recorded, ev.hdr, &truth, s, at_seed);
		if (errors && truth.measured) {
			errors->before += (double)apart(truth.rec_ns, truth.ns);
			errors->after += (double)apart(ev.hdr->host_ns, truth.ns);
		}
		n++;
	}
	ck_assert_uint_eq(n, RINGS * EVENTS);
	if (change && xvt_reclock_change(xvt_reclock_ring(rc, 0), change))
		memset(change, 0, sizeof(*change));
	xvt_bounds_free(recorded);
	xvt_reclock_free(rc);
	xvt_trace_close(t);
}

START_TEST(the_truth_lies_within_every_bound)
{
	struct setting s = { .how = (enum behaviour)(_i % BEHAVIOURS),
			     .measuring = (enum measuring)(_i / BEHAVIOURS % MEASURINGS),
			     .jumps = _i / BEHAVIOURS / MEASURINGS };

	seed = 88172645463325252ull + (uint64_t)_i * 7919;
	for (int i = 0; i < TRACES; i++)
		judge(&s, NULL, NULL);
}
END_TEST

START_TEST(samples_that_lie_make_nothing_worse)
{
	struct setting s = { .how = (enum behaviour)(_i % BEHAVIOURS),
			     .measuring = MIXED,
			     .jumps = _i / BEHAVIOURS,
			     .lies = true };

	seed = 362436069 + (uint64_t)_i * 104729;
	for (int i = 0; i < TRACES; i++)
		judge(&s, NULL, NULL);
}
END_TEST

/* What all of this is for: most bursts are disturbed, a few are not. Bounds do not become much
 * smaller, since nothing but the two samples around an event limits it; times become truer. */
START_TEST(times_become_truer)
{
	static const struct {
		enum behaviour how;
		double part; /* of the errors, at most, over all traces */
	} want[] = { { CONSTANT, 0.6 }, { SCALED, 0.95 }, { CREEPS, 1.0 } };

	seed = 521288629;
	for (size_t w = 0; w < sizeof(want) / sizeof(want[0]); w++) {
		struct setting s = { .how = want[w].how, .measuring = MIXED };
		struct errors errors = { 0 };
		uint64_t before = 0, after = 0;

		for (int i = 0; i < 20; i++) {
			struct xvt_reclock_change c;

			judge(&s, &c, &errors);
			before += c.half_before;
			after += c.half_after;
		}
		ck_assert_msg(errors.after <= want[w].part * errors.before,
			      "behaviour %d: errors %.0f -> %.0f", want[w].how, errors.before,
			      errors.after);
		ck_assert_msg(after < before, "behaviour %d: %llu -> %llu ns", want[w].how,
			      (unsigned long long)before, (unsigned long long)after);
	}
}
END_TEST

START_TEST(a_range_gives_the_events_of_their_new_times)
{
	struct setting s = { .how = CONSTANT, .measuring = MIXED };
	uint64_t from, to, inside = 0, n = 0;
	struct xvt_reclock *rc;
	struct xvt_trace *t;
	struct xvt_event ev;

	seed = 1234567;
	t = make_trace(&s);
	from = t->first_ns + (t->last_ns - t->first_ns) / 3;
	to = t->first_ns + (t->last_ns - t->first_ns) / 2;
	ck_assert_int_eq(xvt_reclock_new(&rc, t), 0);
	ck_assert_int_eq(xvt_reclock_begin(rc, 0, UINT64_MAX), 0);
	while (xvt_reclock_next(rc, &ev) == 1)
		inside += ev.hdr->host_ns >= from && ev.hdr->host_ns <= to;
	xvt_reclock_free(rc);
	ck_assert_uint_gt(inside, 10);
	ck_assert_int_eq(xvt_reclock_new(&rc, t), 0);
	ck_assert_int_eq(xvt_reclock_begin(rc, from, to), 0);
	while (xvt_reclock_next(rc, &ev) == 1) {
		ck_assert(ev.hdr->host_ns >= from && ev.hdr->host_ns <= to);
		n++;
	}
	ck_assert_uint_eq(n, inside);
	xvt_reclock_free(rc);
	xvt_trace_close(t);
}
END_TEST

/* Two callers that take events by their lanes: one places each of them, the other only those that
 * do not go on. Returns how many did. */
static size_t compare_bounds(struct xvt_reclock *all, struct xvt_reclock *some,
			     struct xvt_bounds *bounds[2], const struct xvt_event_hdr *h,
			     uint64_t last[2])
{
	uint64_t recorded = xvt_bound_by_time_ns(bounds[0], h), now = recorded, other, ns;

	ns = xvt_reclock_place_ns(all, h, &now);
	if (xvt_reclock_goes_on(some, h)) {
		ck_assert_uint_eq(last[0], recorded);
		ck_assert_uint_eq(last[1], now);
		return 1;
	}
	last[0] = last[1] = other = xvt_bound_by_time_ns(bounds[1], h);
	ck_assert_uint_eq(other, recorded);
	ck_assert_uint_eq(xvt_reclock_place_ns(some, h, &last[1]), ns);
	ck_assert_uint_eq(last[1], now);
	return 0;
}

/* Some events are of the late lane, and some come again, or with a clock that went back. */
START_TEST(bounds_that_go_on_are_those_of_each_event)
{
	const struct setting s = { .how = (enum behaviour)(_i % BEHAVIOURS),
				   .measuring = (enum measuring)(_i / BEHAVIOURS),
				   .jumps = _i % 2 };
	struct xvt_event_hdr before[RINGS] = { 0 };
	struct xvt_bounds *bounds[2];
	uint64_t last[RINGS][2] = { 0 };
	struct xvt_reclock *rc[2];
	struct xvt_trace *t;
	size_t n = 0;

	seed = 2463534242 + (uint64_t)_i * 7907;
	t = make_trace(&s);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(xvt_bounds_new(&bounds[i], t), 0);
		ck_assert_int_eq(xvt_reclock_new(&rc[i], t), 0);
	}
	for (size_t i = 0; i < RINGS * EVENTS; i++) {
		struct xvt_event_hdr h = events[i].hdr;
		const uint32_t ring = h.ring_flags & XVT_EVENT_RING_MASK;

		if (below(8) == 0)
			h.ring_flags |= XVT_EVENT_F_LATE;
		n += compare_bounds(rc[0], rc[1], bounds, &h, last[ring]);
		if (below(16) == 0 && before[ring].host_ns)
			n += compare_bounds(rc[0], rc[1], bounds, &before[ring], last[ring]);
		before[ring] = h;
		h.guest_clock -= 1 + below(3);
		if (below(2))
			n += compare_bounds(rc[0], rc[1], bounds, &h, last[ring]);
	}
	if (s.how == CONSTANT && s.measuring == NARROW)
		ck_assert_uint_gt(n, EVENTS / 2);
	for (int i = 0; i < 2; i++) {
		xvt_bounds_free(bounds[i]);
		xvt_reclock_free(rc[i]);
	}
	xvt_trace_close(t);
}
END_TEST

/* Read a trace. Returns how many events come after a later one, which only another ring may have.
 */
static size_t count_back(const struct setting *s)
{
	uint64_t last_ns = 0, last[RINGS] = { 0 };
	struct xvt_trace *t = make_trace(s);
	size_t n = 0, back = 0;
	struct xvt_reclock *rc;
	struct xvt_event ev;

	ck_assert_int_eq(xvt_reclock_new(&rc, t), 0);
	ck_assert_int_eq(xvt_reclock_begin(rc, 0, UINT64_MAX), 0);
	for (; xvt_reclock_next(rc, &ev) == 1; n++) {
		uint32_t ring = xvt_event_ring(&ev);

		back += ev.hdr->host_ns < last_ns;
		last_ns = ev.hdr->host_ns;
		ck_assert_uint_ge(ev.hdr->host_ns, last[ring]);
		last[ring] = ev.hdr->host_ns;
	}
	ck_assert_uint_eq(n, RINGS * EVENTS);
	xvt_reclock_free(rc);
	xvt_trace_close(t);
	return back;
}

/* Where no event may wait, they come as they were recorded. */
START_TEST(events_wait_in_no_more_memory_than_given)
{
	struct setting s = { .how = CONSTANT, .measuring = WIDE };
	size_t back = 0;

	seed = 7654321;
	for (int i = 0; i < TRACES; i++)
		ck_assert_uint_eq(count_back(&s), 0);
	xvt_reclock_waiting_most = 0;
	for (int i = 0; i < TRACES; i++)
		back += count_back(&s);
	xvt_reclock_waiting_most = 64u << 20;
	ck_assert_uint_gt(back, 0);
}
END_TEST

Suite *reclock_suite(void)
{
	Suite *s = suite_create("reclock");
	TCase *clocks = tcase_create("clocks"), *going = tcase_create("going");

	tcase_add_loop_test(clocks, the_truth_lies_within_every_bound, 0,
			    2 * BEHAVIOURS * MEASURINGS);
	tcase_add_loop_test(clocks, samples_that_lie_make_nothing_worse, 0, 2 * BEHAVIOURS);
	tcase_add_test(clocks, times_become_truer);
	tcase_add_test(clocks, a_range_gives_the_events_of_their_new_times);
	tcase_add_test(clocks, events_wait_in_no_more_memory_than_given);
	tcase_add_loop_test(going, bounds_that_go_on_are_those_of_each_event, 0,
			    BEHAVIOURS * MEASURINGS);
	suite_add_tcase(s, clocks);
	suite_add_tcase(s, going);
	return s;
}
