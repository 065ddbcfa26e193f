// SPDX-License-Identifier: GPL-2.0
/*
 * test_page.c - the clock page in one thread: a world with a true time, a guest clock that creeps,
 * pauses and jumps, and samples that are as wrong as they may be. What two versions of the page
 * say is compared value by value, and whole updates run at every access that a reader makes, and
 * whole reads at every access that the writer makes. tests/proof/page runs this suite over mutants.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <stdint.h>
#include <stdlib.h>

/* Runs at every access to shared memory in this file: the reader's, and end() of the writer's. */
static void (*at_point)(void);
#define XVT_POINT(tag)              \
	do {                        \
		if (at_point)       \
			at_point(); \
	} while (0)

#include "clock/page.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS 1000000ull
#define must(cond)                                                                            \
	do {                                                                                  \
		if (!(cond))                                                                  \
			ck_abort_msg("%s (step %llu, seed %llu)", #cond,                      \
				     (unsigned long long)w.step, (unsigned long long)w.seed); \
	} while (0)

static struct world {
	uint64_t seed;
	uint64_t random;
	uint64_t step;
	uint64_t t; /* true time, and the host's clock: 1 ns a tick */
	/* The guest's clock: g0 at t0, from there rate 2^-32 ticks a ns. */
	uint64_t g0;
	uint64_t t0;
	uint64_t rate;
	bool stands;	 /* while paused: software emulation */
	uint64_t active; /* until active_t */
	uint64_t active_t;
	bool runs;
	bool jumped;	   /* the guest's clock lost time, and no node came since */
	bool went_back;	   /* and stands before the last node */
	uint64_t creep_t0; /* the rate has changed since this node; 0 = it never does */
	uint32_t epoch;
	struct xvt_clock_page region;
	struct xvt_clock_pages pages;
	struct xvt_clock_now last; /* that a guest has read */
	uint64_t last_host_active;
	uint64_t deferred;
	uint64_t nodes;
} w;

/* A file's pages without the file. */
static struct xvt_clock_page host_page;
static const struct xvt_host_clock host_clock = {
	.clock_id = XVT_CLOCK_NATIVE, .mult = 1u << 31, .shift = 31, .hz = 1000000000
};

static uint64_t rnd(uint64_t below)
{
	uint64_t z = (w.random += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % below;
}

static uint64_t host_now(void *arg)
{
	(void)arg;
	return w.t;
}

static uint64_t guest_now(void *arg)
{
	(void)arg;
	return w.g0 + (uint64_t)((unsigned __int128)(w.t - w.t0) * w.rate >> 32);
}

static void guest_rate(uint64_t rate)
{
	w.g0 = guest_now(NULL);
	w.t0 = w.t;
	w.rate = rate;
}

/* Nominal rate, 2.5 ticks a ns; up to `ppm` more or less. */
#define HZ 2500000000ull
static uint64_t some_rate(uint64_t ppm)
{
	uint64_t nominal = 5ull << 31;

	return nominal - nominal / 1000000 * ppm + nominal / 1000000 * rnd(2 * ppm + 1);
}

static void begin_world(uint64_t seed)
{
	at_point = NULL;
	memset(&w, 0, sizeof(w));
	memset(&host_page, 0, sizeof(host_page));
	w.seed = w.random = seed;
	w.t = 1000000 * MS;
	w.t0 = w.t;
	w.g0 = rnd(1ull << 50);
	w.rate = some_rate(100);
	w.runs = true;
	w.active_t = w.t;
	xvt_clock_pages_init(&w.pages, &w.region, &host_clock, seed | 1, host_now, NULL);
	w.pages.file_host.page = &host_page;
	xvt_clock_pages_doubt(&w.pages); /* publishes */
}

static uint64_t true_active(void)
{
	return w.active + (w.runs ? w.t - w.active_t : 0);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* A read that succeeded may not go back, nor be further from the truth than it says. */
static void judge(const struct xvt_clock_now *now)
{
	must(now->clock == guest_now(NULL) || at_point);
	if (now->epoch == w.last.epoch) {
		must(now->host_ns >= w.last.host_ns);
		must(now->active_ns >= w.last.active_ns);
	}
	/* Nor across epochs, as long as only a pause lay between. */
	if (w.last.session)
		must(now->host_ns >= w.last.host_ns || w.last.bound_ns > 20 * MS);
	/* A rate that changes after the last node is nothing that the bound could know. */
	if (now->bound_ns != XVT_CLOCK_UNBOUNDED && !w.jumped)
		must(apart(now->host_ns, w.t) <=
		     now->bound_ns + (w.creep_t0 ? (w.t - w.creep_t0) / 200 : 0));
	w.last = *now;
}

static void guest_reads(void)
{
	struct xvt_clock_now now;
	int err = xvt_clock_page_read(&w.region, guest_now, NULL, &now);

	if (!w.nodes) {
		must(err == -ENODATA);
		return;
	}
	if (w.went_back) {
		must(err == -ESTALE);
		return;
	}
	must(err == 0);
	judge(&now);
	if (!(now.flags & XVT_CLOCK_F_ACTIVE) || now.flags & XVT_CLOCK_F_UNCONFIRMED || w.jumped)
		return;
	/* As right as host time; or it stands until the truth has come. */
	if (now.host_ns > w.pages.guest.active_since_ns)
		must(now.active_ns - true_active() == now.host_ns - w.t);
	else
		must(now.active_ns + now.bound_ns >= true_active());
}

static void host_reads(void)
{
	struct xvt_clock_now now;

	must(xvt_clock_page_read(&host_page, host_now, NULL, &now) == 0);
	must(now.host_ns == w.t && now.bound_ns <= now.age_ns >> 19);
	must(now.active_ns >= w.last_host_active);
	must(now.active_ns >= true_active() || !(now.flags & XVT_CLOCK_F_ACTIVE));
	w.last_host_active = now.active_ns;
}

static void pass_time(uint64_t ns, unsigned int reads)
{
	uint64_t end = w.t + ns;

	while (reads--) {
		w.t += (end - w.t) / (reads + 1);
		if (w.runs)
			guest_reads();
		host_reads();
	}
	w.t = end;
}

static struct xvt_clock_node sample(uint64_t bound_ns)
{
	struct xvt_clock_node n = { .epoch = w.epoch,
				    .guest = guest_now(NULL),
				    .host_ns = w.t - bound_ns + rnd(2 * bound_ns + 1),
				    .bound_ns = bound_ns };

	return n;
}

/* Host times of a version as a reader would get them. */
static uint64_t by(const struct xvt_clock_page *v, uint64_t clock)
{
	return xvt_clock_lines_ns(v, clock);
}

static void judge_versions(const struct xvt_clock_page *old, const struct xvt_clock_page *new_,
			   uint64_t from, uint64_t to)
{
	uint64_t i;

	must(by(old, from) == by(new_, from));
	must(by(old, to) == by(new_, to));
	for (i = 0; i < 20; i++) {
		uint64_t clock = from + rnd(to - from + 1);

		must(by(old, clock) == by(new_, clock));
	}
}

static void judge_lines(const struct xvt_clock_page *v)
{
	uint64_t i;

	must(v->nr_lines >= 1 && v->nr_lines <= XVT_CLOCK_LINES);
	for (i = v->nr_lines; i < XVT_CLOCK_LINES; i++)
		must(!v->line[i].clock && !v->line[i].ns && !v->line[i].mult);
	for (i = 1; i < v->nr_lines; i++) {
		const struct xvt_clock_line *a = &v->line[i - 1], *b = &v->line[i];
		struct xvt_clock_line bent = xvt_clock_line_bend(a, b->clock, b->mult);

		must(memcmp(&bent, b, sizeof(bent)) == 0);
		must((int64_t)(b->clock - a->clock) > 0);
		must((int64_t)b->mult > 0 && (int64_t)a->mult >= 0);
	}
}

/* The node comes `delay` after its moment. */
static void node(uint64_t bound_ns, uint64_t delay_ns)
{
	struct xvt_clock_node n = sample(bound_ns);
	struct xvt_clock_page old = w.pages.guest;
	int err;

	pass_time(delay_ns, 2);
	err = xvt_clock_pages_node(&w.pages, &n, HZ);
	/* Two wide samples at nearly the same moment may seem to come in the wrong order. */
	if (err == -EINVAL)
		must(n.epoch == old.epoch && n.host_ns <= old.node_ns);
	else
		must(err == 0 || err == -EAGAIN);
	judge_lines(&w.pages.guest);
	if (err) {
		w.deferred++;
		must(memcmp(&old, &w.pages.guest, sizeof(old)) == 0);
		return;
	}
	if (w.nodes++ && old.epoch == n.epoch)
		judge_versions(&old, &w.pages.guest, n.guest, guest_now(NULL));
	w.jumped = w.went_back = false;
	if (w.creep_t0)
		w.creep_t0 = w.t - delay_ns;
}

static void pause_and_resume(void)
{
	uint64_t at = w.t, was = w.rate;
	bool stands = rnd(2);

	w.active = true_active();
	w.runs = false;
	if (stands)
		guest_rate(0);
	pass_time(rnd(3 * MS), 2); /* until we hear of it */
	xvt_clock_pages_pause(&w.pages, at);
	pass_time(rnd(3000 * MS), 3);
	at = w.t;
	w.active_t = at;
	w.runs = true;
	w.jumped = stands;
	if (stands) {
		guest_rate(was);
		w.epoch++;
	}
	pass_time(rnd(5 * MS), 3); /* until we hear of it */
	xvt_clock_pages_resume(&w.pages, at);
	pass_time(rnd(40 * MS), 3);
}

START_TEST(no_reader_goes_back_whatever_the_samples_say)
{
	begin_world((uint64_t)_i + 1);
	w.creep_t0 = _i & 1; /* half of the worlds have a guest clock of a constant rate */
	guest_reads();
	for (w.step = 0; w.step < 2000; w.step++) {
		uint64_t bound = 1ull << rnd(16);

		if (w.creep_t0 && rnd(8) == 0)
			guest_rate(some_rate(2000));
		node(bound, rnd(3 * MS));
		pass_time(rnd(4) ? 60 * MS + rnd(80 * MS) : rnd(30 * MS), 6);
		if (rnd(16) == 0)
			pause_and_resume();
	}
	ck_assert_uint_lt(w.deferred, 600);
	ck_assert_uint_gt(w.nodes, 1000);
}
END_TEST

START_TEST(good_samples_give_a_good_clock)
{
	struct xvt_clock_now now;
	int i;

	begin_world(7);
	guest_rate(some_rate(0));
	for (i = 0; i < 200; i++) {
		node(100, MS);
		pass_time(99 * MS, 4);
	}
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert_uint_lt(now.bound_ns, 1000);
	ck_assert_uint_eq((now.age_ns + MS / 2) / MS, 100);
	/* It is no longer kept up to date: the bound grows. */
	w.t += 100000 * MS;
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert_uint_gt(now.bound_ns, 50000);
	ck_assert_uint_lt(now.bound_ns, 10 * MS);
	ck_assert(apart(now.host_ns, w.t) <= now.bound_ns);
	ck_assert_uint_eq(now.age_ns / (1000 * MS), 100);
	xvt_clock_pages_fini(&w.pages);
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert(now.flags & XVT_CLOCK_F_CLOSED);
}
END_TEST

/* The recorder was away, or stopped; an epoch allows 1/16. Both ways, and no line may fall. */
START_TEST(a_large_correction_takes_its_time)
{
	struct xvt_clock_now now;
	int i;

	begin_world(8);
	for (i = 0; i < 20; i++) {
		node(1000, MS);
		pass_time(200 * MS, 4);
		guest_rate((5ull << 31) + (5ull << 31) / 20 * (uint64_t)(1 - 2 * (i & 1)));
		w.creep_t0 = 0;
		w.jumped = true; /* nothing is said of the bound until the next node */
		pass_time(10000 * MS, 4);
	}
	node(1000, MS);
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert(now.bound_ns > 100 * MS && now.bound_ns < 2000 * MS);
}
END_TEST

START_TEST(a_wrong_nominal_rate_is_found_out)
{
	struct xvt_clock_now now;
	int i;

	begin_world(9);
	guest_rate((5ull << 31) + (5ull << 31) / 50); /* 2 % */
	for (i = 0; i < 100; i++) {
		node(1000, MS);
		pass_time(99 * MS, 4);
	}
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert_uint_lt(now.bound_ns, 5000);
}
END_TEST

/*
 * Active time, number by number: 10 s active, paused at 10 s and told 2 ms later, runs again at
 * 13 s and told 5 ms later.
 */
START_TEST(active_time_stands_while_paused_and_counts_nothing_twice)
{
	struct xvt_clock_now now;
	uint64_t start;

	begin_world(3);
	start = w.t;
#define HOST_ACTIVE()                                                                       \
	({                                                                                  \
		ck_assert_int_eq(xvt_clock_page_read(&host_page, host_now, NULL, &now), 0); \
		now.active_ns;                                                              \
	})
	w.t = start + 10002 * MS;
	ck_assert_uint_eq(HOST_ACTIVE(), 10002 * MS);
	xvt_clock_pages_pause(&w.pages, start + 10000 * MS);
	ck_assert(HOST_ACTIVE() == 10002 * MS && !(now.flags & XVT_CLOCK_F_ACTIVE));
	xvt_clock_pages_pause(&w.pages, start + 10001 * MS);
	w.t = start + 13005 * MS;
	ck_assert_uint_eq(HOST_ACTIVE(), 10002 * MS);
	xvt_clock_pages_resume(&w.pages, start + 13000 * MS);
	/* 5 ms since the real resume, once; the 2 ms too much are taken back without going back. */
	ck_assert(HOST_ACTIVE() == 10005 * MS && now.flags & XVT_CLOCK_F_ACTIVE);
	xvt_clock_pages_resume(&w.pages, start + 13004 * MS);
	ck_assert_uint_eq(HOST_ACTIVE(), 10005 * MS);
	/* Told late of the pause and soon of the resume: it stands until the truth has come. */
	w.t = start + 14010 * MS;
	ck_assert_uint_eq(HOST_ACTIVE(), 11010 * MS);
	xvt_clock_pages_pause(&w.pages, start + 14000 * MS);
	w.t = start + 15001 * MS;
	xvt_clock_pages_resume(&w.pages, start + 15000 * MS);
	ck_assert_uint_eq(HOST_ACTIVE(), 11010 * MS);
	w.t = start + 15010 * MS;
	ck_assert_uint_eq(HOST_ACTIVE(), 11010 * MS);
	w.t = start + 15011 * MS;
	ck_assert_uint_eq(HOST_ACTIVE(), 11011 * MS);
	/* Nonsense from outside: a moment to come, one before the resume. */
	xvt_clock_pages_pause(&w.pages, start + 20000 * MS);
	xvt_clock_pages_resume(&w.pages, 0);
	w.t = start + 15012 * MS;
	ck_assert_uint_eq(HOST_ACTIVE(), 11012 * MS);
}
END_TEST

START_TEST(a_pause_leaves_the_map_unconfirmed_until_a_node_of_after_it)
{
	struct xvt_clock_now now;
	struct xvt_clock_node before;

	begin_world(5);
	node(100, 0);
	pass_time(50 * MS, 1);
	before = sample(100);
	pass_time(MS, 1);
	w.active = true_active();
	w.runs = false;
	xvt_clock_pages_pause(&w.pages, w.t);
	ck_assert_int_eq(xvt_clock_pages_node(&w.pages, &before, HZ), 0);
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert_uint_eq(now.bound_ns, XVT_CLOCK_UNBOUNDED);
	before.epoch = ++w.epoch;
	ck_assert_int_eq(xvt_clock_pages_node(&w.pages, &before, HZ), 0);
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert(now.epoch == w.epoch && now.bound_ns == XVT_CLOCK_UNBOUNDED);
	w.t += 100 * MS;
	w.active_t = w.t;
	w.runs = true;
	xvt_clock_pages_resume(&w.pages, w.t);
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert(now.flags & XVT_CLOCK_F_UNCONFIRMED && now.flags & XVT_CLOCK_F_ACTIVE);
	w.t += 100 * MS;
	node(100, 0);
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert(!(now.flags & XVT_CLOCK_F_UNCONFIRMED) && now.bound_ns < 100 * MS);
}
END_TEST

START_TEST(a_clock_that_jumps_back_is_noticed_by_the_reader)
{
	struct xvt_clock_now now, then;
	struct xvt_clock_node n;

	begin_world(11);
	node(1000, MS);
	pass_time(100 * MS, 5);
	node(1000, MS);
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &then), 0);
	w.g0 = 12345; /* reset */
	w.t0 = w.t;
	w.went_back = true;
	guest_reads();
	/* The new epoch's first sample lies before what the old one has shown. */
	w.t += 1000;
	w.epoch++;
	n = sample(0);
	n.bound_ns = MS;
	n.host_ns -= 900000;
	ck_assert_int_eq(xvt_clock_pages_node(&w.pages, &n, HZ), 0);
	judge_lines(&w.pages.guest);
	w.went_back = false;
	ck_assert_int_eq(xvt_clock_page_read(&w.region, guest_now, NULL, &now), 0);
	ck_assert(now.epoch == then.epoch + 1 && now.host_ns >= then.host_ns);
	ck_assert(apart(now.host_ns, w.t) <= now.bound_ns && now.bound_ns < 10 * MS);
	/* A stamp of now, looked up later, is where it was. */
	w.t += 10 * MS;
	ck_assert_int_eq(xvt_clock_page_at(&w.region, now.clock, &then), 0);
	ck_assert_uint_eq(then.host_ns, now.host_ns);
}
END_TEST

START_TEST(a_guest_that_lies_gets_a_wrong_clock_and_nothing_else)
{
	static const uint64_t words[] = { 0,	      1,	  UINT64_MAX,
					  INT64_MAX,  1ull << 63, (1ull << 63) + 1,
					  1ull << 32, 12345 };
	uint64_t i;

	begin_world(13);
	for (i = 0; i < 20000; i++) {
		struct xvt_clock_node n = sample(rnd(1000));
		struct xvt_clock_now now;
		int err;

		n.guest = rnd(3) ? words[rnd(8)] + rnd(100000) : (rnd(1ull << 63) << 1 | rnd(2));
		n.epoch = w.epoch += rnd(4) == 0;
		if (rnd(4) == 0)
			n.bound_ns = words[rnd(8)] >> 1;
		/* What a lying guest writes into its page is not read. */
		((uint64_t *)&w.region)[rnd(sizeof(w.region) / 8)] = words[rnd(8)];
		err = xvt_clock_pages_node(&w.pages, &n, rnd(3) ? HZ : words[rnd(8)]);
		must(err == 0 || err == -EAGAIN || err == -EINVAL);
		if (rnd(5) == 0)
			xvt_clock_pages_pause(&w.pages, words[rnd(8)]);
		if (rnd(5) == 0)
			xvt_clock_pages_resume(&w.pages, words[rnd(8)]);
		must(xvt_clock_page_read(&host_page, host_now, NULL, &now) == 0);
		must(now.host_ns == w.t);
		xvt_clock_page_read(&w.region, guest_now, NULL, &now);
		w.t += rnd(200 * MS);
	}
}
END_TEST

/* ------------------------------------------------------------------ interleaving */

static uint64_t points, act_at;
static void (*act)(void);

static void count_point(void)
{
	if (points++ != act_at)
		return;
	at_point = NULL; /* what is done here has no points of its own */
	act();
	at_point = count_point;
}

/* The clock itself is a point too: before it and after it anything can have come. */
static uint64_t guest_now_as_point(void *arg)
{
	uint64_t clock;

	if (at_point)
		at_point();
	clock = guest_now(arg);
	if (at_point)
		at_point();
	return clock;
}

/* Long enough for the knee to be passed, a new version with another slope, and a reader of it. */
static void update_meanwhile(void)
{
	struct xvt_clock_now now;
	uint64_t turns = 1 + rnd(2);

	while (turns--) {
		w.t += 1 + rnd(60 * MS);
		if (rnd(3))
			node(1 + rnd(200000), 0);
		else if (w.runs)
			pause_and_resume();
		w.t += rnd(60 * MS);
	}
	must(xvt_clock_page_read(&w.region, guest_now, NULL, &now) == 0);
	judge(&now);
}

START_TEST(updates_at_any_point_of_a_read)
{
	uint64_t used = 0, most = 0;

	begin_world((uint64_t)_i + 100);
	node(1000, 0);
	for (w.step = 0; w.step < 3000; w.step++) {
		struct xvt_clock_now now, before;

		pass_time(1 + rnd(50 * MS), 2);
		if (w.jumped) /* else its value is of the epoch before */
			node(1000, 0);
		guest_reads();
		before = w.last;
		points = 0;
		act_at = rnd(50);
		act = update_meanwhile;
		at_point = count_point;
		must(xvt_clock_page_read(&w.region, guest_now_as_point, NULL, &now) == 0);
		at_point = NULL;
		used += points > act_at;
		most = points > most ? points : most;
		/* Not before what was read before; and what is read after is not before it. */
		if (now.epoch == before.epoch)
			must(now.host_ns >= before.host_ns && now.active_ns >= before.active_ns);
		if (now.epoch == w.last.epoch && w.last.host_ns < now.host_ns)
			w.last = now;
		if (now.active_ns > w.last.active_ns)
			w.last.active_ns = now.active_ns;
		guest_reads();
	}
	ck_assert_uint_gt(used, 1000);
	ck_assert_uint_ge(most, 2 * XVT_CLOCK_WORDS); /* it began again */
}
END_TEST

static struct xvt_clock_page image_a, image_b, in_memory;
static uint64_t seen_a, seen_b, seen_none;

static void read_meanwhile(void)
{
	struct xvt_clock_page v;
	uint64_t clock;
	int err = xvt_clock_page_copy_(&in_memory, guest_now, NULL, &v, &clock);

	if (err) {
		must(err == -EAGAIN);
		seen_none++;
		return;
	}
	if (!memcmp(&v.flags, &image_a.flags, (XVT_CLOCK_WORDS - 1) * 8))
		seen_a++;
	else if (!memcmp(&v.flags, &image_b.flags, (XVT_CLOCK_WORDS - 1) * 8))
		seen_b++;
	else
		ck_abort_msg("a torn page");
}

START_TEST(reads_at_any_point_of_a_write)
{
	uint64_t *a = (uint64_t *)&image_a, *b = (uint64_t *)&image_b, seq, i;

	begin_world(1);
	for (act_at = 0; act_at < 40; act_at++) {
		seq = 0;
		for (i = 0; i < sizeof(image_a) / 8; i++) {
			a[i] = rnd(UINT64_MAX);
			b[i] = rnd(UINT64_MAX);
		}
		xvt_clock_page_write(&in_memory, &seq, &image_a);
		ck_assert_uint_eq(seq, act_at ? 2 : 2);
		points = 0;
		act = read_meanwhile;
		at_point = count_point;
		xvt_clock_page_write(&in_memory, &seq, &image_b);
		at_point = NULL;
		if (points <= act_at)
			break;
	}
	ck_assert_uint_ge(act_at, XVT_CLOCK_WORDS);
	read_meanwhile();
	ck_assert(seen_a == 1 && seen_b == 1 && seen_none + 1 == act_at);
	/* Died in mid-write: no hang, and its successor repairs it. */
	xvt_clock_page_begin(&in_memory, &seq);
	seen_none = 0;
	read_meanwhile();
	ck_assert_uint_eq(seen_none, 1);
	seq = xvt_load(&in_memory.seq);
	xvt_clock_page_write(&in_memory, &seq, &image_a);
	seen_a = 0;
	read_meanwhile();
	ck_assert_uint_eq(seen_a, 1);
}
END_TEST

START_TEST(a_page_that_is_none_is_refused)
{
	struct xvt_clock_page p = { 0 };
	struct xvt_clock_now now;

	ck_assert_int_eq(xvt_clock_page_read(&p, guest_now, NULL, &now), -ENODATA);
	p.flags = XVT_CLOCK_F_VALID;
	ck_assert_int_eq(xvt_clock_page_read(&p, guest_now, NULL, &now), -EBADMSG);
	p.nr_lines = XVT_CLOCK_LINES + 1;
	ck_assert_int_eq(xvt_clock_page_read(&p, guest_now, NULL, &now), -EBADMSG);
}
END_TEST

/* ------------------------------------------------------------------ the file, and the real clock
 */

static char dir[] = "/tmp/xvt-page-XXXXXX";

static const struct xvt_clock_file *map_file(const char *name)
{
	char path[200];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return NULL;
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static int lowest_descriptor(void)
{
	int fd = dup(0);

	ck_assert_int_ge(fd, 0);
	close(fd);
	return fd;
}

START_TEST(a_program_on_the_host_reads_the_file)
{
	static struct xvt_clock_pages one, two, dead;
	const struct xvt_clock_file *f;
	struct xvt_host_clock hc;
	struct xvt_clock_now now;
	uint64_t before;
	int lowest;

	begin_world(1);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(xvt_host_clock_init(&hc), 0);
	xvt_clock_pages_init(&dead, NULL, &hc, 77, NULL, NULL);
	lowest = lowest_descriptor();
	ck_assert_int_eq(xvt_clock_pages_share(&dead, dir, "a/b", 3, 9), 0);
	/* A guest says how many rings there are, and descriptors are few. */
	ck_assert_int_eq(lowest_descriptor(), lowest);
	f = map_file("a_b.3");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(xvt_load_acquire(&f->magic), XVT_CLOCK_FILE_MAGIC);
	ck_assert(f->ring == 3 && f->hw_id == 9 && !strcmp(f->vm_name, "a/b"));
	before = xvt_host_clock_ns(&hc, xvt_clock_read_ordered());
	ck_assert_int_eq(xvt_clock_page_read(&f->host, NULL, NULL, &now), 0);
	ck_assert(now.host_ns >= before && now.host_ns == xvt_host_clock_ns(&hc, now.clock));
	ck_assert(now.session == 77 && now.active_ns < 60000 * MS);
	ck_assert_int_eq(xvt_clock_page_read(&f->guest, NULL, NULL, &now), -ENODATA);
	/* Only one recorder at a time; one that died leaves its file to the next. */
	xvt_clock_pages_init(&one, NULL, &hc, 78, NULL, NULL);
	ck_assert_int_eq(xvt_clock_pages_share(&one, dir, "a/b", 3, 9), -EBUSY);
	xvt_clock_page_begin(&dead.file->host, &dead.file_host.seq);
	munmap(dead.file, XVT_ALIGN_MIN);
	ck_assert_int_eq(xvt_clock_page_read(&f->host, NULL, NULL, &now), -EAGAIN);
	ck_assert_int_eq(xvt_clock_pages_share(&one, dir, "a/b", 3, 9), 0);
	ck_assert_int_eq(xvt_clock_page_read(&f->host, NULL, NULL, &now), 0);
	ck_assert_uint_eq(now.session, 78);
	xvt_clock_pages_fini(&one);
	ck_assert_ptr_null(map_file("a_b.3"));
	ck_assert_int_eq(xvt_clock_page_read(&f->host, NULL, NULL, &now), 0);
	ck_assert(now.flags & XVT_CLOCK_F_CLOSED);
	/* Without a directory there is no file, and all else works. */
	xvt_clock_pages_init(&two, &w.region, &hc, 79, NULL, NULL);
	ck_assert_int_eq(xvt_clock_pages_share(&two, "/nowhere/at/all", "a", 0, 0), -ENOENT);
	xvt_clock_pages_pause(&two, 0);
	xvt_clock_pages_fini(&two);
	xvt_clock_pages_fini(&two);
	if (!geteuid()) {
		char path[200];

		snprintf(path, sizeof(path), "%s/a.1", dir);
		ck_assert_int_eq(close(open(path, O_CREAT | O_RDWR, 0666)), 0);
		ck_assert_int_eq(chown(path, 12345, 12345), 0);
		xvt_clock_pages_init(&two, NULL, &hc, 80, NULL, NULL);
		ck_assert_int_eq(xvt_clock_pages_share(&two, dir, "a", 1, 0), -EPERM);
		xvt_clock_pages_fini(&two);
		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/*
 * The host clock's lines, told in time or late: in time the page is the host clock, to the
 * nanosecond; late it goes on on the old line, and never back from there.
 */
START_TEST(the_host_page_follows_the_hosts_clock)
{
	static struct xvt_timebase lines[300];
	struct xvt_host_clock hc = host_clock;
	struct xvt_clock_now now, then = { 0 };
	const bool late = _i;
	int i, k;

	begin_world(1 + (uint64_t)_i);
	hc.lines = lines;
	xvt_clock_pages_init(&w.pages, &w.region, &hc, 5, host_now, NULL);
	w.pages.file_host.page = &host_page;
	for (i = 1; i < 100; i++) {
		/* Steers, then goes straight: two lines, the second one 10 ms later. */
		for (k = 0; k < 2; k++) {
			struct xvt_timebase *t = &lines[hc.count];

			t->base_clock = w.t + MS + (uint64_t)k * 10 * MS;
			t->base_ns = xvt_host_clock_ns(&hc, t->base_clock);
			t->shift = 31;
			t->mult = (1u << 31) - 1000000 + (uint32_t)rnd(2000000);
			hc.count++;
		}
		if (late)
			w.t += rnd(15 * MS);
		/* The last one on the old lines, at the very moment. */
		must(xvt_clock_page_read(&host_page, host_now, NULL, &then) == 0);
		xvt_clock_pages_host_clock(&w.pages);
		for (k = 0; k < 200; k++) {
			uint64_t truth = xvt_host_clock_ns(&hc, w.t);

			must(xvt_clock_page_read(&host_page, host_now, NULL, &now) == 0);
			must(now.host_ns >= then.host_ns);
			must(apart(now.host_ns, truth) <= now.bound_ns);
			must(late || now.host_ns == truth);
			must(k < 150 || now.host_ns + 1 >= truth);
			must(k < 150 || apart(now.host_ns, truth) <= 1);
			then = now;
			w.t += rnd(200000);
		}
	}
}
END_TEST

Suite *page_suite(void)
{
	Suite *s = suite_create("page");
	TCase *tc = tcase_create("versions");

	tcase_add_loop_test(tc, no_reader_goes_back_whatever_the_samples_say, 0, 10);
	tcase_add_test(tc, good_samples_give_a_good_clock);
	tcase_add_test(tc, a_large_correction_takes_its_time);
	tcase_add_test(tc, a_wrong_nominal_rate_is_found_out);
	tcase_add_test(tc, active_time_stands_while_paused_and_counts_nothing_twice);
	tcase_add_test(tc, a_pause_leaves_the_map_unconfirmed_until_a_node_of_after_it);
	tcase_add_test(tc, a_clock_that_jumps_back_is_noticed_by_the_reader);
	tcase_add_test(tc, a_guest_that_lies_gets_a_wrong_clock_and_nothing_else);
	tcase_add_loop_test(tc, the_host_page_follows_the_hosts_clock, 0, 2);
	tcase_add_test(tc, a_page_that_is_none_is_refused);
	suite_add_tcase(s, tc);
	tc = tcase_create("interleaving");
	tcase_add_loop_test(tc, updates_at_any_point_of_a_read, 0, 5);
	tcase_add_test(tc, reads_at_any_point_of_a_write);
	suite_add_tcase(s, tc);
	tc = tcase_create("file");
	tcase_add_test(tc, a_program_on_the_host_reads_the_file);
	suite_add_tcase(s, tc);
	return s;
}
