// SPDX-License-Identifier: GPL-2.0
/*
 * test_clock_formula.c - guest = ((host * ratio) >> frac) + offset and its way back, against
 * numbers made elsewhere and against an oracle that multiplies and divides bit by bit. Then the
 * defects that were found in another tracer's code for the same job (trace-cmd 3.4), each as
 * a case of its own:
 *
 *   a  scaled in the wrong direction, before the offset, in 64 bits
 *   b  one sample: not scaled at all
 *   c  two samples: a change of the offset in the middle ignored
 *   d  an offset of zero is no sample
 *   e  the first failed exchange ends it all
 *   f  every CPU's list written with the last CPU's count
 *   g  the directory vcpuN taken for guest CPU N: it is the APIC id. There is nothing to mistake
 *      here: struct xvt_clock_exact_ops asks by hw_id only. Sparse ids belong to the sources'
 *      own tests.
 */
#include "suites.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock/exact.h"
#include "clock/source.h"
#include "xvt_region.h"

#define TEN_YEARS_S (3653ull * 86400)
#define HZ_2596M    2596124000ull

/* -- an oracle without any wide arithmetic ------------------------------------------- */

#define BITS	    192

/* sum += value << at */
static void add_shifted(uint8_t sum[BITS], uint64_t value, unsigned int at)
{
	uint8_t carry = 0;

	for (unsigned int i = at; i < BITS; i++) {
		uint8_t s = sum[i] + carry + (i - at < 64 ? value >> (i - at) & 1 : 0);

		sum[i] = s & 1;
		carry = s >> 1;
	}
}

static uint64_t bits_from(const uint8_t *bits, unsigned int at)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < 64; i++)
		v |= (uint64_t)bits[at + i] << i;
	return v;
}

static uint64_t oracle_guest(const struct xvt_clock_formula *f, uint64_t host)
{
	uint8_t product[BITS] = { 0 };

	for (unsigned int i = 0; i < 64; i++)
		if (f->ratio >> i & 1)
			add_shifted(product, host, i);
	return bits_from(product, f->frac) + (uint64_t)f->offset;
}

/* Long division, one bit of the quotient at a time, rounded up. */
static int oracle_host(const struct xvt_clock_formula *f, uint64_t guest, uint64_t *host)
{
	uint8_t dividend[BITS] = { 0 }, quotient[BITS] = { 0 };
	uint64_t rest = 0;

	add_shifted(dividend, guest - (uint64_t)f->offset, f->frac);
	for (int i = BITS - 1; i >= 0; i--) {
		bool over = rest >> 63; /* rest * 2 has a 65th bit */

		rest = rest << 1 | dividend[i];
		if (over || rest >= f->ratio) {
			rest -= f->ratio;
			quotient[i] = 1;
		}
	}
	if (rest)
		add_shifted(quotient, 1, 0);
	for (unsigned int i = 64; i < BITS; i++)
		if (quotient[i])
			return -ERANGE;
	*host = bits_from(quotient, 0);
	return 0;
}

/* -- single values ------------------------------------------------------------------- */

static const struct {
	const char *name;
	struct xvt_clock_formula f;
	uint64_t host;
	uint64_t guest;
	uint64_t back; /* host again, or the first of equal ones */
} cases[] = {
	{ "nothing at all", { 0, 1, 0 }, 123456789, 123456789, 123456789 },
	{ "SVM, not scaled",
	  { -50048753310, 1ull << 32, 32 },
	  1000000000000000,
	  999949951246690,
	  1000000000000000 },
	{ "VMX, not scaled",
	  { -50048753310, 1ull << 48, 48 },
	  1000000000000000,
	  999949951246690,
	  1000000000000000 },
	{ "SVM, faster guest, ten years",
	  { -7, 6442450944, 32 },
	  HZ_2596M *TEN_YEARS_S,
	  1229079869971199993,
	  HZ_2596M *TEN_YEARS_S },
	{ "SVM, slower guest, ten years",
	  { 12345, 2863311530, 32 },
	  HZ_2596M *TEN_YEARS_S,
	  546257719860026808,
	  HZ_2596M *TEN_YEARS_S },
	{ "VMX, four times as fast, ten years at 5 GHz, offset -2^62",
	  { -(1ll << 62), 1125899906842623, 48 },
	  5000000000 * TEN_YEARS_S,
	  1700697981572606489,
	  5000000000 * TEN_YEARS_S },
	{ "VMX, a seventh, offset 2^62: seven host ticks are one guest tick",
	  { 1ll << 62, 40210710958665, 48 },
	  5000000000 * TEN_YEARS_S,
	  4837128304141672817,
	  5000000000 * TEN_YEARS_S - 2 },
	{ "host next to 2^63", { 0, 1ull << 48, 48 }, INT64_MAX, INT64_MAX, INT64_MAX },
	{ "guest next to 2^63",
	  { 9222372036854775807, 1ull << 48, 48 },
	  1000000000000000,
	  INT64_MAX,
	  1000000000000000 },
	{ "guest next to 2^64",
	  { -1000000000000001, 1ull << 48, 48 },
	  1000000000000000,
	  UINT64_MAX,
	  1000000000000000 },
	{ "guest wrapped to 0",
	  { -1000000000000000, 1ull << 48, 48 },
	  1000000000000000,
	  0,
	  1000000000000000 },
	{ "host 2^64 - 1", { 0, 1ull << 63, 63 }, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	{ "smallest offset", { INT64_MIN, 1ull << 32, 32 }, 5, (1ull << 63) + 5, 5 },
	{ "smallest ratio", { -1, 1, 63 }, 1ull << 63, 0, 1ull << 63 },
	{ "largest ratio", { 3, UINT64_MAX, 63 }, INT64_MAX, 0, INT64_MAX },
};

START_TEST(known_values)
{
	uint64_t guest = 1, host = 1;

	ck_assert_int_eq(xvt_formula_guest(&cases[_i].f, cases[_i].host, &guest), 0);
	ck_assert_msg(guest == cases[_i].guest, "%s: guest %llu", cases[_i].name,
		      (unsigned long long)guest);
	ck_assert_int_eq(xvt_formula_host(&cases[_i].f, cases[_i].guest, &host), 0);
	ck_assert_msg(host == cases[_i].back, "%s: host %llu", cases[_i].name,
		      (unsigned long long)host);
	ck_assert_uint_eq(oracle_guest(&cases[_i].f, cases[_i].host), guest);
	ck_assert_int_eq(oracle_host(&cases[_i].f, guest, &host), 0);
	ck_assert_uint_eq(host, cases[_i].back);
}
END_TEST

START_TEST(what_is_no_formula_is_refused)
{
	static const struct xvt_clock_formula bad[] = {
		{ 0, 0, 0 }, { 5, 0, 32 }, { 0, 1, 64 }, { 0, 1ull << 48, UINT32_MAX }
	};
	uint64_t v = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(xvt_formula_guest(&bad[i], 1000, &v), -EINVAL);
		ck_assert_int_eq(xvt_formula_host(&bad[i], 1000, &v), -EINVAL);
	}
	ck_assert_uint_eq(v, 77);
}
END_TEST

START_TEST(a_guest_clock_that_no_host_clock_makes_is_out_of_range)
{
	struct xvt_clock_formula slow = { 0, 1ull << 31, 32 }; /* half as fast */
	uint64_t host = 77;

	ck_assert_int_eq(xvt_formula_host(&slow, INT64_MAX, &host), 0);
	ck_assert_uint_eq(host, UINT64_MAX - 1);
	host = 77;
	ck_assert_int_eq(xvt_formula_host(&slow, 1ull << 63, &host), -ERANGE);
	slow.offset = 1; /* guest 0 is 2^64 - 1 before its offset */
	ck_assert_int_eq(xvt_formula_host(&slow, 0, &host), -ERANGE);
	ck_assert_uint_eq(host, 77);
}
END_TEST

START_TEST(equal_means_every_field)
{
	struct xvt_clock_formula a = { -5, 1ull << 48, 48 }, b;

	memset(&b, 0xff, sizeof(b)); /* padding too */
	b.offset = a.offset;
	b.ratio = a.ratio;
	b.frac = a.frac;
	ck_assert(xvt_formula_equal(&a, &b));
	b.offset++;
	ck_assert(!xvt_formula_equal(&a, &b));
	b.offset = a.offset;
	b.ratio++;
	ck_assert(!xvt_formula_equal(&a, &b));
	b.ratio = a.ratio;
	b.frac--;
	ck_assert(!xvt_formula_equal(&a, &b));
}
END_TEST

/* -- many values --------------------------------------------------------------------- */

static uint64_t seed;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Of any size: as many small numbers as large ones, and their neighbours 2^k - 1 and 2^k. */
static uint64_t random_of_any_size(void)
{
	unsigned int bits = next_random() % 65;
	uint64_t v = bits ? next_random() >> (64 - bits) : 0;

	if (next_random() % 8)
		return v;
	return (bits < 64 ? 1ull << bits : 0) - next_random() % 3 + 1;
}

START_TEST(any_formula_agrees_with_the_oracle)
{
	unsigned int ranged = 0, exact = 0;

	seed = 88172645463325252ull;
	for (unsigned int i = 0; i < 40000; i++) {
		struct xvt_clock_formula f = { (int64_t)random_of_any_size(), random_of_any_size(),
					       next_random() % 64 };
		uint64_t value = random_of_any_size(), got = 0, want = 0;
		int err, expected;

		if (!f.ratio)
			continue;
		must_hold(xvt_formula_guest(&f, value, &got) == 0);
		must_hold(got == oracle_guest(&f, value));
		err = xvt_formula_host(&f, value, &got);
		expected = oracle_host(&f, value, &want);
		must_hold(err == expected);
		if (err) {
			ranged++;
			continue;
		}
		exact++;
		must_hold(got == want);
	}
	/* Both outcomes were really there. */
	ck_assert_uint_gt(ranged, 1000);
	ck_assert_uint_gt(exact, 1000);
}
END_TEST

/* What hardware and people use: 1/16 to 16 times, 32 or 48 bits, a century at 5 GHz. */
START_TEST(there_and_back_gives_the_same_tick)
{
	unsigned int faster = 0, slower = 0;

	seed = 2463534242;
	for (unsigned int i = 0; i < 200000; i++) {
		uint32_t frac = i & 1 ? 32 : 48;
		uint64_t one = 1ull << frac;
		struct xvt_clock_formula f = { (int64_t)next_random(),
					       one / 16 + next_random() % (16 * one), frac };
		uint64_t host = next_random() % (1ull << 59), guest, back, again, before;

		must_hold(xvt_formula_guest(&f, host, &guest) == 0);
		must_hold(xvt_formula_host(&f, guest, &back) == 0);
		must_hold(xvt_formula_guest(&f, back, &again) == 0);
		must_hold(again == guest);
		must_hold(back <= host);
		if (f.ratio >= one) {
			must_hold(back == host);
			faster++;
		} else if (back) {
			/* The first tick that shows it. */
			must_hold(xvt_formula_guest(&f, back - 1, &before) == 0);
			must_hold(before != guest);
			slower++;
		}
	}
	ck_assert_uint_gt(faster, 1000);
	ck_assert_uint_gt(slower, 1000);
}
END_TEST

/* -- the defects --------------------------------------------------------------------- */

/* 1.1 times as fast, an offset of half the host's clock: 1e15 on the host is 6e14 in the guest. */
static const struct xvt_clock_formula scaled = { -500000000000000, 309622474381721, 48 };

START_TEST(a_the_offset_comes_off_first_then_the_ratio_divides)
{
	uint64_t guest, host;

	ck_assert_int_eq(xvt_formula_guest(&scaled, 1000000000000000, &guest), 0);
	ck_assert_uint_eq(guest, 599999999999997); /* 1.1 in 48 bits is a little less */
	ck_assert_int_eq(xvt_formula_host(&scaled, guest, &host), 0);
	ck_assert_uint_eq(host, 1000000000000000); /* and not 1.16e15 */
	/* Ten years at 2.6 GHz times 2^48 need 108 bits. */
	ck_assert_int_eq(xvt_formula_guest(&scaled, HZ_2596M * TEN_YEARS_S, &guest), 0);
	ck_assert_int_eq(xvt_formula_host(&scaled, guest, &host), 0);
	ck_assert_uint_eq(host, HZ_2596M * TEN_YEARS_S);
}
END_TEST

START_TEST(b_one_reading_is_enough_to_scale)
{
	/* A single reading, taken at the very start, places two events 1.1e9 guest ticks apart
	 * 1e9 host ticks apart. */
	uint64_t first, second;

	ck_assert_int_eq(xvt_formula_host(&scaled, 600000000000000, &first), 0);
	ck_assert_int_eq(xvt_formula_host(&scaled, 600001100000000, &second), 0);
	ck_assert_uint_eq(second - first, 1000000000);
}
END_TEST

static void add_by(struct xvt_clock_map *m, const struct xvt_clock_formula *f, uint64_t host)
{
	struct xvt_clock_node n = { .host_ns = host };

	ck_assert_int_eq(xvt_formula_guest(f, host, &n.guest), 0);
	ck_assert_int_eq(xvt_clock_map_add(m, &n), 0);
}

static uint64_t placed_by(struct xvt_clock_map *m, const struct xvt_clock_formula *f, uint64_t host)
{
	const struct xvt_clock_evidence none = { 0, UINT64_MAX, 0 };
	struct xvt_clock_placed p;
	uint64_t guest;

	ck_assert_int_eq(xvt_formula_guest(f, host, &guest), 0);
	ck_assert_int_eq(xvt_clock_map_place(m, guest, &none, &p), XVT_MAP_OK);
	return p.host_ns;
}

START_TEST(c_a_change_in_the_middle_is_not_ignored)
{
	/* A host of 1 GHz whose guest's clock is moved by three seconds. */
	struct xvt_clock_formula before = { 1000, 1ull << 48, 48 };
	struct xvt_clock_formula after = { 3000001000, 1ull << 48, 48 };
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add_by(&m, &before, 1000000);
	add_by(&m, &before, 2000000);
	add_by(&m, &after, 3000000);
	add_by(&m, &after, 4000000);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	ck_assert_uint_eq(placed_by(&m, &before, 1500000), 1500000);
	ck_assert_uint_eq(placed_by(&m, &after, 3500000), 3500000);
	xvt_clock_map_fini(&m);
}
END_TEST

START_TEST(d_an_offset_of_zero_is_an_offset)
{
	struct xvt_clock_formula zero = { 0, 1ull << 48, 48 };
	struct xvt_clock_map m;
	uint64_t v = 1;

	ck_assert_int_eq(xvt_formula_host(&zero, 0, &v), 0);
	ck_assert_uint_eq(v, 0);
	ck_assert_int_eq(xvt_formula_host(&zero, 4711, &v), 0);
	ck_assert_uint_eq(v, 4711);
	xvt_clock_map_init(&m, 1000000000);
	add_by(&m, &zero, 0); /* guest 0 at host 0 is a node like any other */
	add_by(&m, &zero, 1000);
	ck_assert_uint_eq(placed_by(&m, &zero, 0), 0);
	ck_assert_uint_eq(placed_by(&m, &zero, 500), 500);
	xvt_clock_map_fini(&m);
}
END_TEST

struct guest {
	struct xvt_writer w;
	struct xvt_ring_ctl ctl;
	struct xvt_ring_host host;
	uint32_t stop;
};

static uint64_t guest_clock(void *arg)
{
	(void)arg;
	return xvt_clock_read_ordered() + 5000;
}

static void *guest_answers(void *arg)
{
	struct guest *g = arg;

	while (!__atomic_load_n(&g->stop, __ATOMIC_RELAXED)) {
		xvt_writer_answer(&g->w);
		xvt_relax();
	}
	return NULL;
}

START_TEST(e_a_question_without_an_answer_does_not_end_it)
{
	struct guest *g = aligned_alloc(64, (sizeof(*g) + 63) / 64 * 64);
	struct xvt_clock_source *source;
	struct xvt_clock_measure m;
	struct xvt_host_clock hc;
	pthread_t thread;

	memset(g, 0, sizeof(*g));
	g->w.ctl = &g->ctl;
	g->w.host = &g->host;
	g->w.clock = guest_clock;
	ck_assert_int_eq(xvt_host_clock_init(&hc), 0);
	{
		struct xvt_clock_target t = {
			.ctl = &g->ctl, .host = &g->host, .host_clock = &hc, .guest_hz = &hc.hz
		};

		ck_assert_int_eq(xvt_clock_handshake.open(&source, &t), 0);
	}
	/* The guest is away (paused, rebooting): asked again and again for nothing. */
	for (int i = 0; i < 1000; i++) {
		xvt_clock_handshake.start(source);
		ck_assert_int_eq(xvt_clock_handshake.poll(source, &m), 0);
	}
	/* It comes back. */
	ck_assert_int_eq(pthread_create(&thread, NULL, guest_answers, g), 0);
	for (int i = 0; i < 2; i++) {
		xvt_clock_handshake.start(source);
		while (xvt_clock_handshake.poll(source, &m) != 1)
			; /* the test case's time-out ends it if no answer comes */
	}
	__atomic_store_n(&g->stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	xvt_clock_handshake.close(source);
	free(g);
}
END_TEST

START_TEST(f_each_vcpu_has_its_own_list)
{
	/* Three vCPUs, each with an own formula and 1, 2 and 3 times 40 nodes. */
	struct xvt_clock_formula f[3] = { { -700, 1ull << 32, 32 },
					  { 123456789, 1ull << 32, 32 },
					  { 0, 1ull << 32, 32 } };
	struct xvt_clock_map m[3];

	for (uint64_t i = 0; i < 3; i++) {
		xvt_clock_map_init(&m[i], 1000000000);
		for (uint64_t n = 1; n <= 40 * (i + 1); n++)
			add_by(&m[i], &f[i], 1000000 * n);
		ck_assert_uint_eq(xvt_clock_map_last(&m[i])->host_ns, 40000000 * (i + 1));
	}
	for (uint64_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(placed_by(&m[i], &f[i], 1500000), 1500000);
		ck_assert_uint_eq(placed_by(&m[i], &f[i], 40000000 * (i + 1) - 1),
				  40000000 * (i + 1) - 1);
		xvt_clock_map_fini(&m[i]);
	}
}
END_TEST

Suite *clock_formula_suite(void)
{
	Suite *s = suite_create("clock_formula");
	TCase *t = tcase_create("formula");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, known_values, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(t, what_is_no_formula_is_refused);
	tcase_add_test(t, a_guest_clock_that_no_host_clock_makes_is_out_of_range);
	tcase_add_test(t, equal_means_every_field);
	tcase_add_test(t, any_formula_agrees_with_the_oracle);
	tcase_add_test(t, there_and_back_gives_the_same_tick);
	suite_add_tcase(s, t);
	t = tcase_create("defects");
	tcase_set_timeout(t, 120);
	tcase_add_test(t, a_the_offset_comes_off_first_then_the_ratio_divides);
	tcase_add_test(t, b_one_reading_is_enough_to_scale);
	tcase_add_test(t, c_a_change_in_the_middle_is_not_ignored);
	tcase_add_test(t, d_an_offset_of_zero_is_an_offset);
	tcase_add_test(t, e_a_question_without_an_answer_does_not_end_it);
	tcase_add_test(t, f_each_vcpu_has_its_own_list);
	suite_add_tcase(s, t);
	return s;
}
