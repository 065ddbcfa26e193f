// SPDX-License-Identifier: GPL-2.0
/*
 * test_clock_host.c - the host's clock in a world that this test makes: a counter, a
 * CLOCK_MONOTONIC that NTP slews, sleep, interruptions, years. The world knows the true time
 * at every reading, so what the map says is compared with the truth.
 */
#include "suites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "clock/map.h"

typedef unsigned __int128 u128;

#define HZ     2500000000ull
#define S      HZ /* a second of the counter */
#define YEAR_S (365ull * 86400)

struct world {
	uint64_t clock;
	u128 monotonic; /* ns times 2^64 */
	u128 raw;	/* likewise, which is not slewed */
	u128 rate;	/* ns a tick times 2^64 */
	uint64_t hz;
	uint64_t read_ticks; /* what half a reading takes */
	uint64_t realtime_off;
	uint64_t boottime_off;
	uint64_t seed;
	/* Every reading may be interrupted for up to so many ticks. */
	uint64_t noise;
	uint64_t clock_noise;	 /* before each reading of the counter, so many */
	uint64_t boottime_noise; /* and of CLOCK_BOOTTIME */
	/* Once, before the reading with that number from now on. */
	unsigned int pause_at;
	uint64_t pause;
	/* How far the map was ahead of CLOCK_MONOTONIC at each reading of it in the last look. */
	int64_t errors[64];
	unsigned int error_count;
};

static struct world w;
static struct xvt_host_clock hc;

static uint64_t next_random(void)
{
	w.seed ^= w.seed << 13;
	w.seed ^= w.seed >> 7;
	w.seed ^= w.seed << 17;
	return w.seed;
}

static uint64_t now_ns(void)
{
	return (uint64_t)(w.monotonic >> 64);
}

static void pass(uint64_t ticks)
{
	w.clock += ticks;
	w.monotonic += (u128)ticks * w.rate;
	w.raw += (u128)ticks * (((u128)1 << 64) * SECOND_NS / w.hz);
}

static void pass_s(double s)
{
	pass((uint64_t)(s * (double)S));
}

/* The map against the truth now: positive, it is ahead. */
static int64_t error_now(void)
{
	return (int64_t)(xvt_host_clock_ns(&hc, w.clock) - now_ns()) - hc.apart_ns;
}

static uint64_t distance(void)
{
	return (uint64_t)llabs(error_now());
}

static void take_time(void)
{
	if (w.pause_at && !--w.pause_at)
		pass(w.pause);
	if (w.noise)
		pass(next_random() % w.noise);
	pass(w.read_ticks);
}

static uint64_t world_clock(void *arg)
{
	uint64_t v;

	(void)arg;
	pass(w.clock_noise);
	take_time();
	v = w.clock;
	pass(w.read_ticks);
	return v;
}

static uint64_t world_ns(void *arg, int clk_id)
{
	uint64_t v;

	(void)arg;
	if (clk_id == CLOCK_BOOTTIME)
		pass(w.boottime_noise);
	take_time();
	v = now_ns();
	if (clk_id == CLOCK_MONOTONIC_RAW)
		v = (uint64_t)(w.raw >> 64);
	if (clk_id == CLOCK_REALTIME)
		v += w.realtime_off;
	if (clk_id == CLOCK_BOOTTIME)
		v += w.boottime_off;
	if (clk_id == CLOCK_MONOTONIC && w.error_count < 64)
		w.errors[w.error_count++] = error_now() + hc.apart_ns;
	pass(w.read_ticks);
	return v;
}

static void world_sleep(void *arg, uint64_t ns)
{
	(void)arg;
	pass((uint64_t)((u128)ns * w.hz / SECOND_NS));
}

static const struct xvt_host_clock_parts parts = {
	.clock = world_clock,
	.ns = world_ns,
	.sleep = world_sleep,
};

/* How fast CLOCK_MONOTONIC goes, against a counter of exactly its hz. */
static void set_ppb(int64_t ppb)
{
	u128 one = ((u128)1 << 64) * SECOND_NS / w.hz;

	w.rate = one / 1000000000 * (u128)(1000000000 + ppb);
}

static void setup(void)
{
	memset(&w, 0, sizeof(w));
	memset(&hc, 0, sizeof(hc));
	w.seed = 88172645463325252ull;
	w.hz = HZ;
	w.read_ticks = 30;
	w.clock = 777 * S;
	w.monotonic = (u128)500 * SECOND_NS << 64;
	w.realtime_off = 1700000000 * SECOND_NS;
	w.boottime_off = 3 * SECOND_NS;
	set_ppb(0);
}

static void start(void)
{
	ck_assert_int_eq(xvt_host_clock_init_parts(&hc, &parts), 0);
}

static void teardown(void)
{
	xvt_host_clock_fini(&hc);
}

/* Every new line begins on the one before it, later, and tells no smaller error than there was;
 * and the wall clock as well as it says. */
static void check_new_lines(int n)
{
	uint64_t nearest = UINT64_MAX;

	for (unsigned int i = 0; i < w.error_count; i++) {
		uint64_t e = (uint64_t)llabs(w.errors[i] - hc.apart_ns);

		if (e < nearest)
			nearest = e;
	}
	for (size_t i = hc.count - (size_t)n; i < hc.count; i++) {
		const struct xvt_timebase *line = &hc.lines[i];
		uint64_t before, wall;

		must_hold(line->base_clock > (i ? line[-1].base_clock : hc.base_clock));
		before = i ? xvt_timebase_ns(&line[-1], line->base_clock)
			   : hc.base_ns + (uint64_t)((u128)(line->base_clock - hc.base_clock) *
							     hc.mult >>
						     hc.shift);
		must_hold(line->base_ns == before);
		must_hold(xvt_host_clock_ns(&hc, line->base_clock) == line->base_ns);
		must_hold(xvt_host_clock_ns(&hc, line->base_clock - 1) <= line->base_ns);
		must_hold(xvt_host_clock_ns(&hc, line->base_clock + 100) > line->base_ns);
		must_hold(line->mult != 0);
		must_hold(line->error_ns >= nearest);
		wall = line->realtime_ns - (line->base_ns - (uint64_t)line->apart_ns);
		must_hold((uint64_t)llabs((int64_t)(wall - w.realtime_off)) <= line->wall_error_ns);
	}
	/* The first of two steers, at most so much beside the rate that the second one has. */
	if (n == 2) {
		const struct xvt_timebase *line = &hc.lines[hc.count - 2];
		uint64_t steered = (uint64_t)((u128)line[0].mult * HZ >> line[0].shift);
		uint64_t rate = (uint64_t)((u128)line[1].mult * HZ >> line[1].shift);

		must_hold((uint64_t)llabs((int64_t)(steered - rate)) <=
			  XVT_TIMEBASE_STEER_PPM * 1010);
	}
}

static int tend(void)
{
	int n;

	w.error_count = 0;
	n = xvt_host_clock_follow(&hc, w.clock);
	if (n > 0)
		check_new_lines(n);
	return n;
}

/* Seconds of a recording; returns the largest error seen. */
static uint64_t run(unsigned int seconds)
{
	uint64_t worst = 0;

	for (unsigned int i = 0; i < seconds; i++) {
		must_hold(tend() >= 0);
		for (unsigned int k = 0; k < 4; k++) {
			pass_s(0.2525);
			if (distance() > worst)
				worst = distance();
		}
	}
	return worst;
}

START_TEST(a_steady_clock_is_followed_within_200_ns)
{
	set_ppb(17345);
	start();
	run(60);
	ck_assert_uint_le(run(600), 200);
	/* Every ten seconds, not every second: at most two lines each. */
	ck_assert_uint_le(hc.count, 2 * 80);
	ck_assert_uint_ge(hc.count, 60);
}
END_TEST

START_TEST(the_first_50_ms_may_be_wrong)
{
	/* 50 us lost between the first counter and the first time: 1000 ppm. */
	static const unsigned int at[] = { 2, 1, 3 };

	w.noise = 250000;
	w.pause_at = at[_i];
	w.pause = 125000;
	start();
	w.noise = 0;
	ck_assert(hc.mult && hc.hz);
	run(10);
	ck_assert_uint_le(run(1000), 200);
}
END_TEST

START_TEST(ntp_slewing_is_followed)
{
	static const int64_t ppb[] = { 500000, -500000 };
	uint64_t worst, second = (uint64_t)(ppb[_i] < 0 ? -ppb[_i] : ppb[_i]);

	start();
	run(30);
	set_ppb(ppb[_i]);
	/* Found after at most a second. */
	worst = run(8);
	ck_assert_uint_le(worst, 3 * second);
	ck_assert_uint_le(run(1), 1000);
	run(20);
	set_ppb(0);
	run(8);
	ck_assert_uint_le(run(600), 500);
	ck_assert_int_eq(hc.apart_ns, 0);
}
END_TEST

/* A guest whose clock is the host's counter, measured twice a second. */
static void run_with_guest(struct xvt_clock_map *m, unsigned int seconds)
{
	for (unsigned int i = 0; i < 2 * seconds; i++) {
		struct xvt_clock_node n = { .source = XVT_SOURCE_HANDSHAKE, .bound_ns = 100 };

		pass_s(0.5005);
		must_hold(tend() >= 0);
		n.guest = w.clock;
		n.host_ns = xvt_host_clock_ns(&hc, w.clock);
		must_hold(!xvt_clock_map_add(m, &n));
		must_hold(n.epoch == 0);
		/* Its segment has no more than what followed and steered lines bend by. */
		must_hold(n.segment_bound_ns < 1500000);
	}
}

static int64_t ahead_of_raw(void)
{
	return (int64_t)(xvt_host_clock_ns(&hc, w.clock) - (uint64_t)(w.raw >> 64));
}

/* By as much as chrony slews, which is 83,333 ppm. Times go on with the counter. */
START_TEST(a_fast_slew_is_kept_apart)
{
	static const int64_t ppm[] = { 700,   -700,  1000,   -1000, 5000,
				       -5000, 20000, -20000, 83333, -83333 };
	struct xvt_clock_map m;
	int64_t before, slewed, begun;

	w.raw = w.monotonic - ((u128)123456 << 64);
	start();
	xvt_clock_map_init(&m, HZ);
	m.host_clock = &hc;
	run_with_guest(&m, 10);
	before = ahead_of_raw();
	/* At any moment between two looks. */
	pass_s((double)(next_random() % 1000) / 1000);
	for (unsigned int k = 0; k < 3; k++) {
		begun = (int64_t)now_ns() - (int64_t)(uint64_t)(w.raw >> 64);
		set_ppb(ppm[_i] * 1000);
		run_with_guest(&m, 12);
		/* No time but that of the last second is off what the lines say. */
		ck_assert_uint_le(distance(), (uint64_t)llabs(ppm[_i]) * 1100 + 2000000);
		set_ppb(0);
		slewed = (int64_t)now_ns() - (int64_t)(uint64_t)(w.raw >> 64) - begun;
		run_with_guest(&m, 10);
		ck_assert_uint_le(distance(), 1000);
		/* 600 ppm of the second in which it began may have been followed and steered back,
		 * and 100 ppm of the rest. */
		ck_assert_int_le(llabs(ahead_of_raw() - before), 2700000 * (int64_t)(k + 1));
		ck_assert_int_le(llabs(hc.apart_ns + slewed * (int64_t)(k + 1)),
				 2700000 * (int64_t)(k + 1));
	}
	run_with_guest(&m, 100);
	ck_assert_uint_le(distance(), 200);
	ck_assert(!hc.slewing);
	xvt_clock_map_fini(&m);
}
END_TEST

/* It began before the recording: the first rate is the counter's all the same. */
START_TEST(a_recording_may_begin_within_a_fast_slew)
{
	static const int64_t ppm[] = { 83333, -83333 };
	uint64_t worst = 0;

	set_ppb(ppm[_i] * 1000);
	start();
	ck_assert_uint_le((uint64_t)llabs((long long)(hc.hz - HZ)), HZ / 10000);
	run(10);
	set_ppb(0);
	run(2);
	for (unsigned int i = 0; i < 60; i++) {
		uint64_t off = run(1);

		worst = off > worst ? off : worst;
	}
	ck_assert_uint_le(worst, 1000);
}
END_TEST

/* It was not read meanwhile, so it was slewed by little on average. */
START_TEST(a_large_error_is_kept_apart)
{
	start();
	run(30);
	w.monotonic -= (u128)1000000000 << 64;
	pass_s(3600);
	ck_assert_int_ge(tend(), 1);
	ck_assert_int_ge(hc.apart_ns, 999000000);
	ck_assert_uint_le(run(10), 1000);
	ck_assert_uint_le(run(100), 200);
}
END_TEST

START_TEST(a_small_error_is_steered_back_at_500_ppm)
{
	unsigned int i;

	start();
	run(30);
	for (i = 0; i < 5; i++) { /* 2.5 ms in ten seconds without a reading */
		w.monotonic -= (u128)500000 << 64;
		pass_s(2);
	}
	/* 400 us each time (check_new_lines() looks at that), and what the rate was wrong. */
	for (i = 0; i < 40 && distance() > 1000; i++)
		run(1);
	ck_assert_uint_ge(i, 5);
	ck_assert_uint_lt(i, 40);
	ck_assert_int_eq(hc.apart_ns, 0);
	ck_assert_uint_le(run(100), 1000);
}
END_TEST

START_TEST(a_recorder_that_was_stopped_steers_nowhere)
{
	start();
	run(30);
	set_ppb(400000);
	pass_s(1.01);
	set_ppb(0);
	ck_assert_int_eq(tend(), 2); /* 400 us to be steered back, at the limit */
	/* The next second finds the rate again; then nothing for an hour. */
	pass_s(1.01);
	ck_assert_int_ge(tend(), 1);
	pass_s(3600);
	ck_assert_uint_le(distance(), 400000);
	ck_assert_int_ge(tend(), 1);
	run(10);
	ck_assert_uint_le(run(100), 500);
}
END_TEST

START_TEST(a_conversion_never_changes_and_never_goes_back)
{
	static struct {
		uint64_t clock, ns;
	} asked[20000];
	size_t n = 0;

	start();
	for (unsigned int i = 0; i < 2000; i++) {
		set_ppb((int64_t)(next_random() % 1000001) - 500000);
		w.noise = next_random() % 4 ? 0 : next_random() % 10000000;
		must_hold(tend() >= 0);
		w.noise = 0;
		for (unsigned int k = 0; k < 10; k++) {
			asked[n].clock = w.clock;
			asked[n++].ns = xvt_host_clock_ns(&hc, w.clock);
			pass(next_random() % (S / 4));
		}
	}
	must_hold(hc.count > 500);
	for (size_t i = 0; i < n; i++) {
		must_hold(xvt_host_clock_ns(&hc, asked[i].clock) == asked[i].ns);
		must_hold(!i || asked[i].ns >= asked[i - 1].ns);
	}
}
END_TEST

START_TEST(a_knee_lies_after_all_that_was_read_before)
{
	start();
	for (unsigned int i = 0; i < 1000; i++) {
		uint64_t read, ns;
		int begun;

		/* Interrupted for up to two seconds, somewhere in there; often behind the pairs. */
		w.pause_at = 1 + (unsigned int)(next_random() % 80);
		if (next_random() % 2)
			w.pause_at = 73;
		w.pause = next_random() % (2 * S);
		set_ppb((int64_t)(next_random() % 1000001) - 500000);
		begun = tend();
		must_hold(begun >= 0);
		read = w.clock;
		ns = xvt_host_clock_ns(&hc, read);
		if (begun)
			must_hold(read < hc.lines[hc.count - (size_t)begun].base_clock);
		pass(next_random() % S);
		must_hold(tend() >= 0);
		must_hold(xvt_host_clock_ns(&hc, read) == ns);
		pass(next_random() % S);
	}
}
END_TEST

START_TEST(noise_moves_nothing)
{
	set_ppb(-23456);
	start();
	run(60);
	/* An hour in which no pair is read in less than some milliseconds. */
	for (unsigned int i = 0; i < 3600; i++) {
		w.noise = 10000000;
		ck_assert_int_ge(tend(), 0);
		w.noise = 0;
		ck_assert_uint_le(distance(), 20000);
		pass_s(1);
	}
	run(20);
	ck_assert_uint_le(run(60), 200);
}
END_TEST

START_TEST(a_host_that_slept_with_its_counter_running)
{
	uint64_t before, after;

	start();
	run(30);
	before = xvt_host_clock_ns(&hc, w.clock);
	w.clock += 1234 * S + 567;	    /* CLOCK_MONOTONIC stands */
	w.boottime_off += 1233 * SECOND_NS; /* by a clock of whole seconds */
	pass_s(0.1);
	after = xvt_host_clock_ns(&hc, w.clock);
	ck_assert_uint_ge(after - before, 1234 * SECOND_NS);
	ck_assert_int_ge(tend(), 1);
	ck_assert_int_ge(hc.apart_ns, 1234 * (int64_t)SECOND_NS - 1000);
	ck_assert_int_le(hc.apart_ns, 1234 * (int64_t)SECOND_NS + 1000);
	ck_assert_int_eq(hc.lines[hc.count - 1].apart_ns, hc.apart_ns);
	/* The pair that came with it has the new boot time. */
	ck_assert_uint_ge(hc.lines[hc.count - 1].boottime_ns, hc.lines[hc.count - 1].base_ns -
								      (uint64_t)hc.apart_ns +
								      1236 * SECOND_NS - 1000);
	ck_assert_uint_gt(xvt_host_clock_ns(&hc, w.clock), after);
	ck_assert_uint_le(run(100), 1000);
	/* And once more: they add up. */
	w.clock += 10 * S;
	w.boottime_off += 10 * SECOND_NS;
	pass_s(1.1);
	ck_assert_int_ge(tend(), 1);
	ck_assert_int_ge(hc.apart_ns, 1244 * (int64_t)SECOND_NS - 2000);
	ck_assert_uint_le(run(100), 1000);
}
END_TEST

START_TEST(a_short_sleep_is_a_sleep)
{
	start();
	run(30);
	w.clock += S / 20; /* 50 ms */
	w.boottime_off += SECOND_NS / 20;
	pass_s(1.1);
	ck_assert_int_ge(tend(), 1);
	ck_assert_int_ge(hc.apart_ns, 50000000 - 1000);
	ck_assert_int_le(hc.apart_ns, 50000000 + 1000);
	ck_assert_uint_le(run(30), 1000);
}
END_TEST

START_TEST(an_interrupted_reading_is_no_sleep)
{
	start();
	run(30);
	/* CLOCK_MONOTONIC is slewed by 2 ms, and CLOCK_BOOTTIME read 5 ms too late. */
	set_ppb(-500000);
	pass_s(4.4);
	w.boottime_noise = S / 200;
	ck_assert_int_ge(tend(), 0);
	ck_assert_int_eq(hc.apart_ns, 0);
	w.boottime_noise = 0;
	set_ppb(0);
	run(30);
	ck_assert_int_eq(hc.apart_ns, 0);
	/* The host slept for 3 ms and its counter with it, and no pair is tight. */
	w.boottime_off += 3000000;
	pass_s(1.1);
	w.clock_noise = S / 100;
	ck_assert_int_ge(tend(), 0);
	ck_assert_int_eq(hc.apart_ns, 0);
}
END_TEST

START_TEST(a_host_that_slept_with_its_counter)
{
	start();
	run(30);
	w.boottime_off += 1234 * SECOND_NS; /* neither counter nor CLOCK_MONOTONIC ran */
	ck_assert_uint_le(run(30), 200);
	ck_assert_int_eq(hc.apart_ns, 0);
	ck_assert_uint_eq(hc.lines[hc.count - 1].boottime_ns / SECOND_NS,
			  hc.lines[hc.count - 1].base_ns / SECOND_NS + 1237);
}
END_TEST

START_TEST(a_clock_exchanged_under_the_host)
{
	start();
	run(30);
	/* Moved to another machine: the counter stood for a minute, CLOCK_MONOTONIC did not. */
	w.monotonic += (u128)60 * SECOND_NS << 64;
	pass_s(1.1);
	ck_assert_int_ge(tend(), 1);
	ck_assert_int_le(hc.apart_ns, -59 * (int64_t)SECOND_NS);
	ck_assert_uint_le(run(100), 1000);
}
END_TEST

/* After it no other one is due for ten seconds. */
static void until_a_line(void)
{
	run(60);
	do
		pass_s(1.1);
	while (!tend());
}

START_TEST(a_wall_clock_that_was_set_begins_a_line)
{
	static const int64_t by_ns[] = { 2000, -1000000000, 86400 * (int64_t)SECOND_NS };

	start();
	ck_assert_uint_ge(hc.wall_error_ns, 1);
	ck_assert_uint_le(hc.wall_error_ns, 100);
	until_a_line();
	w.realtime_off += (uint64_t)by_ns[_i];
	pass_s(1.1);
	ck_assert_int_ge(tend(), 1); /* check_new_lines() looks at what it says */
	ck_assert_uint_le(hc.lines[hc.count - 1].wall_error_ns, 500);
	pass_s(1.1);
	ck_assert_int_eq(tend(), 0);
}
END_TEST

START_TEST(an_interrupted_reading_sets_no_wall_clock)
{
	size_t count;

	start();
	until_a_line();
	count = hc.count;
	for (unsigned int i = 0; i < 5; i++) {
		pass_s(1.01);
		w.noise = 10000000;
		ck_assert_int_eq(tend(), 0);
		w.noise = 0;
	}
	ck_assert_uint_eq(hc.count, count);
}
END_TEST

START_TEST(the_end_has_a_line)
{
	start();
	until_a_line();
	pass_s(0.1);
	w.error_count = 0;
	ck_assert_int_eq(xvt_host_clock_end(&hc), 1);
	check_new_lines(1);
	ck_assert_uint_gt(hc.lines[hc.count - 1].base_clock, w.clock);
}
END_TEST

START_TEST(a_counter_that_went_back_is_said)
{
	uint64_t old, ns;
	size_t count;

	start();
	run(30);
	old = w.clock;
	ns = xvt_host_clock_ns(&hc, old);
	count = hc.count;
	w.clock = 5 * S;
	for (unsigned int i = 0; i < 5; i++) {
		pass_s(1.1);
		ck_assert_int_eq(tend(), -ESTALE);
	}
	ck_assert_uint_eq(hc.count, count);
	ck_assert_uint_eq(xvt_host_clock_ns(&hc, old), ns);
}
END_TEST

START_TEST(too_early_costs_nothing)
{
	uint64_t clock;

	start();
	run(5);
	ck_assert_int_ge(tend(), 0);
	clock = w.clock;
	for (unsigned int i = 0; i < 1000; i++)
		ck_assert_int_eq(tend(), 0);
	ck_assert_uint_eq(w.clock, clock); /* nothing was read */
	/* And whatever `now` a caller gives: lines stay in order. */
	for (unsigned int i = 0; i < 1000; i++) {
		int n;

		w.error_count = 0;
		n = xvt_host_clock_follow(&hc, UINT64_MAX);
		ck_assert_int_ge(n, 0);
		check_new_lines(n);
	}
}
END_TEST

START_TEST(ten_years_across_2_to_the_63)
{
	uint64_t worst = 0, looks = 0, end, old, ns;

	w.clock = (1ull << 63) - 5 * YEAR_S * S;
	w.monotonic = (u128)10 * YEAR_S * SECOND_NS << 64; /* up for ten years already */
	start();
	old = w.clock;
	ns = xvt_host_clock_ns(&hc, old);
	run(60);
	ck_assert_uint_eq(xvt_host_clock_ns(&hc, old), ns);
	end = w.clock + 10 * YEAR_S * S;
	while (w.clock < end) {
		/* A wander of some ppb, as temperature does it. */
		if (looks++ % 1000 == 0)
			set_ppb((int64_t)(next_random() % 2001) - 1000);
		pass_s(1801);
		if (distance() > worst)
			worst = distance();
		must_hold(tend() >= 0);
	}
	ck_assert_uint_gt(w.clock, 1ull << 63);
	ck_assert_uint_gt(looks, 170000);
	ck_assert_uint_le(worst, 1801 * 2000 + 1000); /* 2 ppm at once, found at the next look */
	ck_assert_uint_le(hc.count, XVT_TIMEBASE_LINES_MAX);
	ck_assert_uint_le(hc.room, 2 * XVT_TIMEBASE_LINES_MAX);
	run(60);
	ck_assert_uint_le(run(60), 200);
	/* What is older than the lines kept is on the oldest of them, and not far off. */
	ck_assert(hc.dropped);
	ck_assert_uint_lt(ns > xvt_host_clock_ns(&hc, old) ? ns - xvt_host_clock_ns(&hc, old)
							   : xvt_host_clock_ns(&hc, old) - ns,
			  3600 * SECOND_NS);
	ck_assert_uint_le(xvt_host_clock_ns(&hc, hc.lines[0].base_clock - 1), hc.lines[0].base_ns);
}
END_TEST

START_TEST(one_line_in_128_bits)
{
	struct xvt_timebase line = { .mult = 1654375000u, .shift = 32 };
	uint64_t ten_years = 5000000000 * 10 * YEAR_S;

	line.base_clock = INT64_MAX;
	line.base_ns = 10 * YEAR_S * SECOND_NS;
	ck_assert_uint_eq(xvt_timebase_ns(&line, INT64_MAX), line.base_ns);
	ck_assert_uint_eq(xvt_timebase_ns(&line, INT64_MAX + ten_years),
			  line.base_ns + (uint64_t)((u128)ten_years * 1654375000u >> 32));
	/* Before its base rounds down too: no tick is in two places. */
	ck_assert_uint_eq(xvt_timebase_ns(&line, INT64_MAX - 1), line.base_ns - 1);
	/* It saturates instead of wrapping. */
	ck_assert_uint_eq(xvt_timebase_ns(&line, 0), 0);
	line.base_ns = UINT64_MAX - 5;
	ck_assert_uint_eq(xvt_timebase_ns(&line, UINT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(any_counter_from_a_watch_crystal_to_20_ghz)
{
	static const uint64_t rates[] = { 32768,    1000000,	19200000,
					  62500000, 1000000000, 20000000000 };
	uint64_t worst = 0, tick_ns = SECOND_NS / rates[_i] + 1;

	w.hz = rates[_i];
	w.read_ticks = w.hz / 100000000 + 1; /* 10 ns, or a whole tick */
	w.clock = 0;
	set_ppb(-40000);
	start();
	ck_assert_uint_le((uint64_t)llabs((long long)(hc.hz - w.hz)), w.hz / 1000 + 100);
	for (unsigned int i = 0; i < 300; i++) {
		pass(w.hz + w.hz / 50);
		if (i > 100 && distance() > worst)
			worst = distance();
		ck_assert_int_ge(tend(), 0);
	}
	/* A pair is four halves wide. */
	ck_assert_uint_le(worst, 200 + 4 * tick_ns);
}
END_TEST

START_TEST(the_real_one)
{
	struct xvt_host_clock real;
	uint64_t last = 0;

	ck_assert_int_eq(xvt_host_clock_init(&real), 0);
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t clock = xvt_clock_read_ordered(), ns = xvt_host_clock_ns(&real, clock);
		struct timespec ts;

		ck_assert_uint_ge(ns, last);
		last = ns;
		/* Looks at once, as if a second had passed. */
		ck_assert_int_ge(xvt_host_clock_follow(&real, real.next_look_clock), 0);
		ts = (struct timespec){ .tv_nsec = 2000000 };
		nanosleep(&ts, NULL);
	}
	ck_assert_uint_eq(xvt_host_clock_ticks(&real, SECOND_NS), real.hz);
	xvt_host_clock_fini(&real);
}
END_TEST

Suite *clock_host_suite(void)
{
	Suite *s = suite_create("clock_host");
	TCase *t = tcase_create("world");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_steady_clock_is_followed_within_200_ns);
	tcase_add_loop_test(t, the_first_50_ms_may_be_wrong, 0, 3);
	tcase_add_loop_test(t, ntp_slewing_is_followed, 0, 2);
	tcase_add_loop_test(t, a_fast_slew_is_kept_apart, 0, 10);
	tcase_add_loop_test(t, a_recording_may_begin_within_a_fast_slew, 0, 2);
	tcase_add_test(t, a_large_error_is_kept_apart);
	tcase_add_test(t, a_small_error_is_steered_back_at_500_ppm);
	tcase_add_test(t, a_recorder_that_was_stopped_steers_nowhere);
	tcase_add_test(t, a_conversion_never_changes_and_never_goes_back);
	tcase_add_test(t, a_knee_lies_after_all_that_was_read_before);
	tcase_add_test(t, noise_moves_nothing);
	tcase_add_test(t, a_host_that_slept_with_its_counter_running);
	tcase_add_test(t, a_short_sleep_is_a_sleep);
	tcase_add_test(t, an_interrupted_reading_is_no_sleep);
	tcase_add_test(t, a_host_that_slept_with_its_counter);
	tcase_add_test(t, a_clock_exchanged_under_the_host);
	tcase_add_loop_test(t, a_wall_clock_that_was_set_begins_a_line, 0, 3);
	tcase_add_test(t, an_interrupted_reading_sets_no_wall_clock);
	tcase_add_test(t, the_end_has_a_line);
	tcase_add_test(t, a_counter_that_went_back_is_said);
	tcase_add_test(t, too_early_costs_nothing);
	tcase_add_test(t, ten_years_across_2_to_the_63);
	tcase_add_loop_test(t, any_counter_from_a_watch_crystal_to_20_ghz, 0, 6);
	suite_add_tcase(s, t);
	t = tcase_create("numbers");
	tcase_add_test(t, one_line_in_128_bits);
	tcase_add_test(t, the_real_one);
	suite_add_tcase(s, t);
	return s;
}
