// SPDX-License-Identifier: GPL-2.0
/*
 * test_reclock_map.c - the new map of nodes and samples that are written here: what limits it, and
 * where the recorded one must stay; and the bounds of events that it moves. The host's counter is
 * in ns.
 */
#include "suites.h"

#include <string.h>

#include "synth.h"
#include "view/reclock.h"

#define MS     1000000ll
#define US     1000ll
#define T0     (1000 * MS)
#define MANY   16
/* Of a clock between two samples that are 100 ms apart. */
#define WANDER ((int64_t)xvt_clock_wander(100 * MS))

static struct xvt_clock_node nodes[MANY];
static struct xvt_clock_sample samples[2 * MANY];
static struct xvt_clock_look looks[2];
static size_t nr_nodes, nr_samples, nr_looks;
static uint16_t minor; /* of the format; 0: this one */
static struct xvt_trace *trace;
static struct xvt_reclock *rc;
static struct xvt_reclock_ring *rings;
static const struct xvt_reclock_ring *r;

static void setup(void)
{
	nr_nodes = nr_samples = nr_looks = minor = 0;
	rings = NULL;
	rc = NULL;
}

static void teardown(void)
{
	xvt_reclock_free(rc);
	xvt_reclock_maps_free(rings, trace->ring_count);
	xvt_trace_close(trace);
}

static void sample(int64_t guest, int64_t lo_ns, int64_t hi_ns)
{
	samples[nr_samples++] =
		(struct xvt_clock_sample){ .source = XVT_SOURCE_HANDSHAKE,
					   .guest = (uint64_t)(T0 + guest),
					   .host_clock_lo = (uint64_t)(T0 + lo_ns),
					   .host_clock_hi = (uint64_t)(T0 + hi_ns) };
}

static void node(int64_t guest, int64_t host_ns, int64_t segment_bound_ns, uint32_t flags)
{
	struct xvt_clock_node *n = &nodes[nr_nodes];

	*n = (struct xvt_clock_node){
		.source = XVT_SOURCE_HANDSHAKE,
		.flags = nr_nodes ? flags : XVT_NODE_F_FIRST,
		.guest = (uint64_t)(T0 + guest),
		.host_ns = (uint64_t)(T0 + host_ns),
		.segment_bound_ns = (uint64_t)segment_bound_ns + XVT_STAMP_SLACK_NS,
	};
	nr_nodes++;
}

static void look(uint32_t flags, int64_t ns, int64_t lo_ns, int64_t hi_ns)
{
	looks[nr_looks++] = (struct xvt_clock_look){ .flags = flags,
						     .first_ns = (uint64_t)(T0 + ns),
						     .last_ns = (uint64_t)(T0 + ns),
						     .lo_ns = (uint64_t)(T0 + lo_ns),
						     .hi_ns = (uint64_t)(T0 + hi_ns) };
}

/* A measurement: the guest's clock was read from `off` to `off` and `width` after that host time.
 */
static void measure(int64_t guest, int64_t off, int64_t width, int64_t segment_bound_ns)
{
	sample(guest, guest + off, guest + off + width);
	node(guest, guest + off + width / 2, segment_bound_ns, 0);
}

static void put(struct xvt_trace_writer *w, uint16_t type, const void *of, size_t len)
{
	ck_assert_int_eq(xvt_trace_put(w, type, of, len, NULL, 0), 0);
}

/* knee_ns: a line of the host's clock begins there; 0: none. */
static void make_map(uint32_t clock_id, uint64_t hz, int64_t knee_ns)
{
	const struct xvt_file_info info = { .minor = minor,
					    .host_clock_id = XVT_CLOCK_TSC,
					    .mult = 1 };
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = hz };
	const struct xvt_ring_info ring = { .clock_id = clock_id, .clock_hz = hz };
	const struct xvt_timebase line = { .base_clock = (uint64_t)(T0 + knee_ns),
					   .base_ns = (uint64_t)(T0 + knee_ns),
					   .mult = 1 };
	const char *path = scratch_path("reclock-map.xvt");
	struct xvt_trace_writer *w;
	struct synth_sink sink;
	struct xvt_error why;

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &info), 0);
	if (knee_ns)
		put(w, XVT_CHUNK_TIMEBASE, &line, sizeof(line));
	put(w, XVT_CHUNK_VM, &vm, sizeof(vm));
	put(w, XVT_CHUNK_RING, &ring, sizeof(ring));
	put(w, XVT_CHUNK_NODE, nodes, nr_nodes * sizeof(nodes[0]));
	put(w, XVT_CHUNK_SAMPLES, samples, nr_samples * sizeof(samples[0]));
	if (nr_looks)
		put(w, XVT_CHUNK_LOOKS, looks, nr_looks * sizeof(looks[0]));
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
	ck_assert_int_eq(xvt_trace_open(&trace, path, &why), 0);
	ck_assert_int_eq(xvt_reclock_maps_new(&rings, trace), 0);
	r = &rings[0];
}

static void make_plain(void)
{
	make_map(XVT_CLOCK_TSC, 1000000000, 0);
}

/* The knot at that clock value, or behind it. */
static const struct xvt_reclock_knot *knot(int64_t guest)
{
	size_t k = 0;

	while (k + 1 < r->knot_count && r->knots[k].guest < (uint64_t)(T0 + guest))
		k++;
	return &r->knots[k];
}

/* The new bound of the piece up to that value, without the part for the stamp. */
static int64_t bound(int64_t guest)
{
	ck_assert_uint_ge(knot(guest)->bound_ns, XVT_STAMP_SLACK_NS);
	return (int64_t)(knot(guest)->bound_ns - XVT_STAMP_SLACK_NS);
}

static int64_t recorded_bound(int64_t guest)
{
	return (int64_t)(knot(guest)->rec_bound_ns - XVT_STAMP_SLACK_NS);
}

static int64_t host_ns(int64_t guest)
{
	return (int64_t)knot(guest)->host_ns - T0;
}

/* The samples leave the middle to the straight line, and the drain saw it come 3 ms before. */
START_TEST(what_the_drain_saw_counts_more_than_the_samples)
{
	static const struct {
		uint32_t flags;
		int64_t ns, lo_ns, hi_ns;
		bool kept;
	} cases[] = {
		{ 0, 50 * MS, 40 * MS, 47 * MS, true },
		{ 0, 50 * MS, 53 * MS, 60 * MS, true },
		{ 0, 50 * MS, 40 * MS, 50 * MS + 100, false },
		{ 0, 50 * MS, 50 * MS - 100, 60 * MS, false },
		/* Within the map's bound of it. */
		{ 0, 50 * MS, 40 * MS, 50 * MS - 1000, false },
		/* Of another epoch, or of what the map does not place. */
		{ 0, 250 * MS, 40 * MS, 47 * MS, false },
		{ XVT_LOOK_F_BESIDE, 50 * MS, 40 * MS, 47 * MS, false },
	};

	measure(0, 0, 100, 0);
	measure(100 * MS, 0, 100, 9 * MS);
	measure(200 * MS, 0, 100, 5 * MS);
	look(cases[_i].flags, cases[_i].ns, cases[_i].lo_ns, cases[_i].hi_ns);
	make_plain();
	ck_assert(r->epochs[0].refined == !cases[_i].kept);
	if (cases[_i].kept)
		ck_assert_int_eq(bound(100 * MS), 9 * MS);
}
END_TEST

START_TEST(samples_limit_what_the_recorder_could_not)
{
	measure(0, 0, 100, 0);
	measure(100 * MS, 0, 100, 9 * MS);
	measure(200 * MS, 0, 100, 5 * MS);
	make_plain();
	ck_assert(r->epochs[0].refined && r->epochs[0].straight);
	ck_assert_int_le(bound(100 * MS), 110);
	ck_assert_int_ge(bound(100 * MS), 50);
	ck_assert_int_le(bound(200 * MS), 110);
	/* Each piece has the recorded bound of its own segment. */
	ck_assert_int_eq(recorded_bound(50 * MS), 9 * MS);
	ck_assert_int_eq(recorded_bound(100 * MS), 9 * MS);
	ck_assert_int_eq(recorded_bound(200 * MS), 5 * MS);
}
END_TEST

/* It lost 3 ms in the second segment; was it set back? Then events of before and after lie in the
 * segments beside it, where no sample limits them. */
START_TEST(beside_a_clock_that_was_set_back_the_recorded_bound_stays)
{
	measure(0, 0, 100, 0);
	measure(100 * MS, 0, 100, 50);
	measure(200 * MS, 3 * MS, 100, 3 * MS + 50);
	measure(300 * MS, 3 * MS, 100, 50);
	measure(400 * MS, 3 * MS, 100, 50);
	measure(500 * MS, 3 * MS, 100, 9 * MS);
	if (_i)
		nodes[2].flags |= XVT_NODE_F_BACK;
	make_plain();
	if (_i) {
		ck_assert_int_eq(bound(100 * MS), 3 * MS + 50 + 50 + XVT_STAMP_SLACK_NS);
		ck_assert_int_eq(bound(300 * MS), 3 * MS + 50 + 50 + XVT_STAMP_SLACK_NS);
	} else {
		ck_assert_int_eq(bound(100 * MS), 50);
		ck_assert_int_eq(bound(300 * MS), 50);
	}
	ck_assert_int_eq(bound(400 * MS), 50);
	ck_assert_int_le(bound(500 * MS), 110);
}
END_TEST

/* The same within one epoch, and reported: nothing is known of any of its segments. */
START_TEST(an_epoch_with_a_reported_change_stays_as_it_is)
{
	measure(0, 0, 100, 0);
	measure(100 * MS, 0, 100, 9 * MS);
	measure(200 * MS, 0, 100, 3 * MS);
	nodes[2].flags |= XVT_NODE_F_CHANGED;
	measure(900 * MS, 0, 100, 9 * MS);
	make_plain();
	ck_assert(!r->epochs[0].refined);
	ck_assert_uint_eq(r->knot_count, 4);
	ck_assert_int_ge(bound(900 * MS), 9 * MS);
}
END_TEST

/* Its node says 5 ms more than the sample, within 200 ns: one of the two is wrong. */
START_TEST(where_node_and_samples_exclude_each_other_the_node_counts)
{
	measure(0, 0, 100, 0);
	measure(100 * MS, 0, 100, 9 * MS);
	sample(200 * MS, 200 * MS, 200 * MS + 100);
	node(200 * MS, 205 * MS, 200, 0);
	measure(300 * MS, 0, 100, 200);
	measure(400 * MS, 0, 100, 9 * MS);
	make_plain();
	ck_assert_int_eq(host_ns(200 * MS), 205 * MS);
	ck_assert_int_eq(bound(200 * MS), 200);
	ck_assert_int_eq(bound(300 * MS), 200);
	ck_assert_int_le(bound(100 * MS), 110);
	ck_assert_int_le(bound(400 * MS), 110);
}
END_TEST

/*
 * A wide sample, and a tight one by which the clock gained or lost a millisecond: the path begins
 * at the tight one, and the far end of the wide one is further from it than the near end.
 */
START_TEST(the_bound_of_a_piece_is_the_largest_distance_on_each_side)
{
	const int64_t width = 400 * US, step = _i < 2 ? MS : -MS;

	/* Wide before, or behind. */
	measure(_i % 2 ? 100 * MS : 0, _i % 2 ? step : 0, width, _i % 2 ? 3 * MS : 0);
	measure(_i % 2 ? 0 : 100 * MS, _i % 2 ? 0 : step, 20, _i % 2 ? 0 : 3 * MS);
	if (_i % 2) { /* in order */
		const struct xvt_clock_node first = nodes[1];

		nodes[1] = nodes[0];
		nodes[0] = first;
		nodes[0].flags = XVT_NODE_F_FIRST;
		nodes[1].flags = 0;
	}
	make_plain();
	/* Wherever in the wide one the map is, one of both limits is so far from it. */
	for (int end = 0; end < 2; end++) {
		const int64_t at = end ? 100 * MS : 0, off = host_ns(at) - at;
		const int64_t wide = _i % 2 ? step : 0, tight = _i % 2 ? 0 : step;
		const int64_t lo = wide < tight ? wide : tight,
			      hi = wide + width > tight + 20 ? wide + width : tight + 20;

		ck_assert_int_ge(bound(100 * MS) + 4, off - lo);
		ck_assert_int_ge(bound(100 * MS) + 4, hi - off);
	}
	ck_assert_int_le(bound(100 * MS), 2 * MS);
}
END_TEST

/*
 * Wide samples allow 10 ms on each side of a straight line, and the recorded map is further off it
 * at the end of its piece: the new one may go as far towards that line as both leave, and no
 * further.
 */
START_TEST(no_piece_claims_more_than_both_maps_leave)
{
	const int64_t off = _i ? -8 * MS : 8 * MS, recorded = 9 * MS;

	sample(0, -10 * MS, 10 * MS);
	node(0, 0, 0, 0);
	sample(100 * MS, 90 * MS, 110 * MS);
	node(100 * MS, 100 * MS + off, recorded, 0);
	make_plain();
	ck_assert_int_le(bound(100 * MS), recorded);
	for (int64_t at = 0; at <= 100; at++) {
		const int64_t rec = off * at / 100,
			      now = host_ns(0) +
				    (host_ns(100 * MS) - 100 * MS - host_ns(0)) * at / 100;
		const int64_t most = rec + recorded < 10 * MS ? rec + recorded : 10 * MS,
			      least = rec - recorded > -10 * MS ? rec - recorded : -10 * MS;

		ck_assert_int_le(most - now, bound(100 * MS) + 4);
		ck_assert_int_le(now - least, bound(100 * MS) + 4);
	}
}
END_TEST

/* The middle of what the samples allow is 4.5 ms on one side: the map goes there as far as no bound
 * becomes larger, and the recorded one bounds what the samples do not. */
START_TEST(a_knot_moves_as_far_as_its_bound_allows)
{
	const int64_t lo = _i ? -10 * MS : -MS, hi = _i ? MS : 10 * MS, to = _i ? -2 * MS : 2 * MS;

	for (int64_t at = 0; at <= 200 * MS; at += 100 * MS) {
		sample(at, at + lo, at + hi);
		node(at, at, 3 * MS, 0);
	}
	make_plain();
	for (int64_t at = 0; at <= 200 * MS; at += 100 * MS) {
		ck_assert_int_ge(host_ns(at), at + to - (to > 0 ? WANDER : 0) - 2);
		ck_assert_int_le(host_ns(at), at + to + (to < 0 ? WANDER : 0) + 2);
	}
	ck_assert_int_le(bound(200 * MS), 3 * MS);
	ck_assert_int_ge(bound(200 * MS), 3 * MS - 4);
}
END_TEST

/* 50 ms apart, and one is 20 ms wide: a machine could have stood still between them. */
START_TEST(samples_of_two_measurements_do_not_limit_each_other)
{
	sample(0, -10 * MS, 10 * MS);
	node(0, 0, 0, 0);
	measure(50 * MS, 0, 20, 30 * MS);
	measure(100 * MS, 0, 20, 30 * MS);
	make_plain();
	ck_assert_int_ge(bound(50 * MS), 10 * MS);
	ck_assert_int_le(bound(50 * MS), 11 * MS);
	ck_assert_int_le(bound(100 * MS), 30 + WANDER);
}
END_TEST

/* A TSC that cannot be scaled: between two nodes it is behind its rate by what it gained. */
START_TEST(a_clock_that_is_set_forward_keeps_what_it_gained)
{
	for (int64_t i = 0; i < 10; i++) {
		sample(i * 110 * MS, i * 100 * MS, i * 100 * MS + 100);
		node(i * 110 * MS, i * 100 * MS + 50, 11 * MS, 0);
	}
	make_map(_i ? XVT_CLOCK_TSC : XVT_CLOCK_CNTVCT, 1100000000, 0);
	for (int64_t i = 1; i < 10; i++) {
		if (_i)
			ck_assert_int_ge(bound(i * 110 * MS), 10 * MS - 200);
		else
			ck_assert_int_le(bound(i * 110 * MS), MS);
	}
}
END_TEST

/*
 * A counter of another kind. It goes at 1.5 GHz, a little faster in every other gap; it stood still
 * once. The rate is the one of most gaps, and known as well as these differ.
 */
START_TEST(the_rate_of_another_clock_is_that_of_most_gaps)
{
	int64_t guest = 0, ns = 0;

	for (int64_t i = 0; i < 12; i++) {
		sample(guest, ns, ns + 100);
		node(guest, ns + 50, 30 * MS, 0);
		guest += 150 * MS + (i % 2 ? 150 * US : 0);
		ns += 100 * MS + (i == 4 ? 20 * MS : 0);
	}
	make_map(XVT_CLOCK_CNTVCT, 1510000000, 0);
	ck_assert(r->epochs[0].refined);
	/* 100 us in 100 ms are what it may be off by, and what it gains in such a gap; three times
	 * that where it may be set forward by as much. */
	ck_assert_int_ge(bound(150 * MS), 100 * US);
	ck_assert_int_le(bound(150 * MS), 510 * US);
	ck_assert_int_ge(bound(300 * MS + 150 * US), 100 * US);
	ck_assert_int_le(bound(300 * MS + 150 * US), 510 * US);
}
END_TEST

/* A measurement of a clock of 1.5 GHz each 100 ms. */
static void measure_even(void)
{
	for (int64_t i = 0; i < 12; i++) {
		sample(i * 150 * MS, i * 100 * MS, i * 100 * MS + 100);
		node(i * 150 * MS, i * 100 * MS + 50, 30 * MS, 0);
	}
}

/* Samples that agree with an average rate prove nothing in a segment in which the clock may have
 * had another one. */
START_TEST(where_an_expected_rate_is_open_the_recorded_bound_stays)
{
	measure_even();
	nodes[4].flags |= XVT_NODE_F_OPEN;
	/* What confirms nodes of the drain has its doubt in their bounds. */
	nodes[7].source = XVT_SOURCE_DRAIN;
	nodes[8].flags |= XVT_NODE_F_OPEN | XVT_NODE_F_SINCE;
	make_map(XVT_CLOCK_CNTVCT, 1500000000, 0);
	ck_assert_int_eq(bound(4 * 150 * MS), 30 * MS);
	ck_assert_int_eq(bound(7 * 150 * MS), 30 * MS);
	ck_assert_int_eq(bound(8 * 150 * MS), 30 * MS);
	ck_assert_int_lt(bound(3 * 150 * MS), 100 * US);
	ck_assert_int_lt(bound(5 * 150 * MS), 100 * US);
	ck_assert_int_lt(bound(6 * 150 * MS), 100 * US);
	ck_assert_int_lt(bound(9 * 150 * MS), 100 * US);
}
END_TEST

/* Files of format 2.2 do not say where one is open. */
START_TEST(a_file_that_does_not_say_what_is_open_keeps_its_bounds)
{
	static const uint32_t exact[] = { XVT_SOURCE_HANDSHAKE, XVT_SOURCE_KVM };

	measure_even();
	for (size_t i = 0; i < nr_nodes; i++)
		nodes[i].source = exact[_i / 2];
	minor = _i % 2 ? XVT_FILE_MINOR_OPEN - 1 : 0;
	make_map(XVT_CLOCK_CNTVCT, 1500000000, 0);
	ck_assert_uint_eq(trace->info.minor, minor ? minor : XVT_FILE_MINOR);
	/* A formula gives the rate. */
	if (_i == 1)
		ck_assert_int_eq(bound(5 * 150 * MS), 30 * MS);
	else
		ck_assert_int_lt(bound(5 * 150 * MS), 100 * US);
}
END_TEST

/* Nor does the host's rate need that, of a counter of its kind. */
START_TEST(the_rate_of_the_host_is_never_open)
{
	measure(0, 0, 100, 0);
	measure(100 * MS, 0, 100, 9 * MS);
	minor = XVT_FILE_MINOR_OPEN - 1;
	make_plain();
	ck_assert_int_le(bound(100 * MS), 110);
}
END_TEST

/* A clock of another kind that seems to count as the host's: few gaps are no rate of it. */
START_TEST(a_clock_of_another_kind_has_the_hosts_rate_by_its_gaps)
{
	const bool hosts_kind = _i;

	for (int64_t i = 0; i < 3; i++) {
		sample(i * 100 * MS, i * 100 * MS, i * 100 * MS + 100);
		node(i * 100 * MS, i * 100 * MS + 50, 9 * MS, 0);
	}
	make_map(hosts_kind ? XVT_CLOCK_TSC : XVT_CLOCK_CALLER, 1000000000, 0);
	if (hosts_kind)
		ck_assert_int_le(bound(100 * MS), 60 * US);
	else
		ck_assert_int_eq(bound(100 * MS), 9 * MS);
}
END_TEST

/* All gaps of an epoch had a jump of 6 ms, and the ring's rate is known: they show another one, by
 * which the clock would be on one line. */
START_TEST(a_rate_that_is_far_from_the_rings_is_none)
{
	for (int64_t i = 0; i < 10; i++) {
		sample(i * 159 * MS, i * 100 * MS, i * 100 * MS + 100);
		node(i * 159 * MS, i * 100 * MS + 50, 10 * MS, 0);
	}
	make_map(XVT_CLOCK_CNTVCT, 1500000000, 0);
	ck_assert_int_ge(bound(159 * MS), 6 * MS);
}
END_TEST

/* Stops of 3 ms in half of six gaps: a median of so few is no rate. */
START_TEST(a_few_gaps_are_no_rate)
{
	int64_t ns = 0;

	for (int64_t i = 0; i < 7; i++) {
		sample(i * 150 * MS, ns, ns + 100);
		node(i * 150 * MS, ns + 50, 4 * MS, 0);
		ns += i < 3 ? 100 * MS : 103 * MS;
	}
	make_map(XVT_CLOCK_CNTVCT, 1500000000, 0);
	ck_assert_int_ge(bound(150 * MS), 4 * MS - 200);
}
END_TEST

/* A counter of 1 MHz: what its values differ by. */
START_TEST(a_tick_of_a_slow_clock_is_in_the_bound)
{
	for (int64_t i = 0; i < 10; i++) {
		sample(i * 100 * 1000, i * 100 * MS, i * 100 * MS + 100);
		node(i * 100 * 1000, i * 100 * MS + 50, 5 * US, 0);
	}
	make_map(XVT_CLOCK_CNTVCT, 1000000, 0);
	ck_assert_int_ge(bound(100 * 1000), US);
	ck_assert_int_le(bound(100 * 1000), US + 400);
}
END_TEST

/* A line of the host's clock begins in the epoch: not exactly at a knot. */
START_TEST(a_knee_of_the_host_clock_is_in_the_bound)
{
	measure(0, 0, 100 * US, 0);
	measure(100 * MS, 0, 100 * US, 9 * MS);
	measure(200 * MS, 0, 100 * US, 9 * MS);
	make_map(XVT_CLOCK_TSC, 1000000000, _i ? 150 * MS : 0);
	ck_assert_int_ge(bound(100 * MS), 50 * US + (_i ? 50 * US / 512 : 0));
	ck_assert_int_le(bound(100 * MS), 50 * US + WANDER + (_i ? 50 * US / 512 + 10 : 10));
}
END_TEST

/* ------------------------------------------------------------ events */

/* The node at 100 ms is 5 ms late; from 200 ms on the map is right. An epoch begins at 402 ms. */
static void make_moving(void)
{
	measure(0, 0, 100, 0);
	sample(100 * MS, 100 * MS, 100 * MS + 100);
	node(100 * MS, 105 * MS, 9 * MS, 0);
	measure(200 * MS, 0, 100, 9 * MS);
	measure(300 * MS, 0, 100, 9 * MS);
	measure(400 * MS, 0, 100, 9 * MS);
	node(900 * MS, 402 * MS, 9 * MS, XVT_NODE_F_FIRST);
	nodes[5].epoch = 1;
	make_plain();
	ck_assert_int_eq(host_ns(100 * MS), 100 * MS + 50);
	ck_assert_int_eq(xvt_reclock_new(&rc, trace), 0);
}

/* The bound of the event's new time, from that of the recorded one. */
static int64_t event(int64_t guest, int64_t ns, uint32_t flags, int64_t recorded)
{
	const struct xvt_event_hdr h = { (uint64_t)(T0 + ns), (uint64_t)(T0 + guest), flags,
					 XVT_ID_FIRST_EVENT, 0 };

	uint64_t bound = (uint64_t)recorded;

	xvt_reclock_place_ns(rc, &h, &bound);
	return (int64_t)bound;
}

#define SLACK ((int64_t)XVT_STAMP_SLACK_NS)

START_TEST(an_event_between_two_knots_has_the_bound_of_the_new_map)
{
	make_moving();
	ck_assert_int_le(event(250 * MS, 250 * MS + 50, 0, 9 * MS), SLACK + 110);
	ck_assert_int_ge(event(250 * MS, 250 * MS + 50, 0, 9 * MS), SLACK + 50);
	ck_assert_int_eq(event(350 * MS, 350 * MS + 50, 0, 900 * MS), SLACK + WANDER + 51);
	/* One that has no bound gets none. */
	ck_assert_int_eq(event(370 * MS, 370 * MS + 50, 0, (int64_t)XVT_NO_BOUND),
			 (int64_t)XVT_NO_BOUND);
}
END_TEST

/* An unconfirmed one was placed from the node before it, and moves to the new line: it may be off
 * by as much more. No new bound is that of a guess. */
START_TEST(a_guess_that_moves_is_off_by_the_way_too)
{
	make_moving();
	ck_assert_int_eq(event(150 * MS, 155 * MS, XVT_EVENT_F_UNCONFIRMED, 20 * MS),
			 20 * MS + 5 * MS - 50);
}
END_TEST

/* What only a look bounds stays where it is, with its bound. */
START_TEST(an_event_that_looks_bound_stays)
{
	look(XVT_LOOK_F_BESIDE, 52 * MS + 500 * US + 25, 40 * MS, 60 * MS);
	look(XVT_LOOK_F_BESIDE, 250 * MS + 50, 240 * MS, 270 * MS);
	make_moving();
	ck_assert_int_eq(event(50 * MS, 52 * MS + 500 * US + 25, 0, 13 * MS), 13 * MS);
	ck_assert_int_eq(event(250 * MS, 250 * MS + 50, 0, 20 * MS), 20 * MS);
}
END_TEST

/* Behind one that stays, the next one of its ring moves no further than to that. */
START_TEST(events_of_a_ring_stay_in_their_order)
{
	look(XVT_LOOK_F_BESIDE, 52 * MS + 500 * US + 25, 40 * MS, 60 * MS);
	make_moving();
	ck_assert_int_eq(event(50 * MS, 52 * MS + 500 * US + 25, 0, 13 * MS), 13 * MS);
	/* Recorded at 53.55 ms; the new map says 51. */
	ck_assert_int_eq(event(51 * MS, 53 * MS + 550 * US + 24, 0, 9 * MS),
			 9 * MS + 1050 * US - 1);
}
END_TEST

/* Its value is reached 1 ms after the next epoch begins: it was recorded at the border. */
START_TEST(no_event_moves_over_the_border_behind_its_epoch)
{
	make_moving();
	ck_assert_int_eq(event(403 * MS, 402 * MS, 0, 3 * MS), 3 * MS);
	ck_assert_int_eq(event(404 * MS, 402 * MS, XVT_EVENT_F_UNCONFIRMED, 3 * MS), 3 * MS);
}
END_TEST

/* A new time and its bound depend on the event alone, not on those before it: neither where the map
 * bends between two nodes, nor where a look bounds a time among others. */
START_TEST(an_event_is_placed_as_if_it_were_the_first)
{
	struct xvt_reclock *first;
	uint64_t bound, alone;

	look(XVT_LOOK_F_BESIDE, 250 * MS, 240 * MS, 270 * MS);
	measure(0, 0, 100, 0);
	sample(40 * MS, 39 * MS, 41 * MS);
	sample(100 * MS, 100 * MS, 100 * MS + 100);
	node(100 * MS, 105 * MS, 9 * MS, 0);
	measure(200 * MS, -50, 100, 9 * MS);
	measure(300 * MS, -50, 100, 9 * MS);
	make_plain();
	ck_assert_uint_eq(r->epoch_count, 1);
	ck_assert_uint_gt(r->knot_count, nr_nodes);
	ck_assert_int_eq(xvt_reclock_new(&rc, trace), 0);
	for (int64_t guest = MS; guest < 300 * MS; guest += MS) {
		const struct xvt_clock_node *from = &nodes[guest / (100 * MS)];
		const uint64_t clock = (uint64_t)(T0 + guest);
		const struct xvt_event_hdr h = { xvt_clock_line(from, from + 1, clock), clock, 0,
						 XVT_ID_FIRST_EVENT, 0 };

		ck_assert_int_eq(xvt_reclock_new(&first, trace), 0);
		bound = alone = from[1].segment_bound_ns;
		ck_assert_uint_eq(xvt_reclock_place_ns(rc, &h, &bound),
				  xvt_reclock_place_ns(first, &h, &alone));
		ck_assert_uint_eq(bound, alone);
		xvt_reclock_free(first);
	}
}
END_TEST

Suite *reclock_map_suite(void)
{
	Suite *s = suite_create("reclock_map");
	TCase *t = tcase_create("map"), *events = tcase_create("events");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, what_the_drain_saw_counts_more_than_the_samples, 0, 7);
	tcase_add_test(t, samples_limit_what_the_recorder_could_not);
	tcase_add_loop_test(t, beside_a_clock_that_was_set_back_the_recorded_bound_stays, 0, 2);
	tcase_add_test(t, an_epoch_with_a_reported_change_stays_as_it_is);
	tcase_add_test(t, where_node_and_samples_exclude_each_other_the_node_counts);
	tcase_add_loop_test(t, the_bound_of_a_piece_is_the_largest_distance_on_each_side, 0, 4);
	tcase_add_loop_test(t, no_piece_claims_more_than_both_maps_leave, 0, 2);
	tcase_add_loop_test(t, a_knot_moves_as_far_as_its_bound_allows, 0, 2);
	tcase_add_test(t, samples_of_two_measurements_do_not_limit_each_other);
	tcase_add_loop_test(t, a_clock_that_is_set_forward_keeps_what_it_gained, 0, 2);
	tcase_add_test(t, the_rate_of_another_clock_is_that_of_most_gaps);
	tcase_add_test(t, where_an_expected_rate_is_open_the_recorded_bound_stays);
	tcase_add_loop_test(t, a_file_that_does_not_say_what_is_open_keeps_its_bounds, 0, 4);
	tcase_add_test(t, the_rate_of_the_host_is_never_open);
	tcase_add_loop_test(t, a_clock_of_another_kind_has_the_hosts_rate_by_its_gaps, 0, 2);
	tcase_add_test(t, a_rate_that_is_far_from_the_rings_is_none);
	tcase_add_test(t, a_few_gaps_are_no_rate);
	tcase_add_test(t, a_tick_of_a_slow_clock_is_in_the_bound);
	tcase_add_loop_test(t, a_knee_of_the_host_clock_is_in_the_bound, 0, 2);
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(events, setup, teardown);
	tcase_add_test(events, an_event_between_two_knots_has_the_bound_of_the_new_map);
	tcase_add_test(events, a_guess_that_moves_is_off_by_the_way_too);
	tcase_add_test(events, an_event_that_looks_bound_stays);
	tcase_add_test(events, events_of_a_ring_stay_in_their_order);
	tcase_add_test(events, an_event_is_placed_as_if_it_were_the_first);
	tcase_add_test(events, no_event_moves_over_the_border_behind_its_epoch);
	suite_add_tcase(s, events);
	return s;
}
