// SPDX-License-Identifier: GPL-2.0
/* test_pool.c - memory that is one machine's, and memory that is there for all of them. */
#include "suites.h"

#include <stdlib.h>

#include "base/pool.h"
#include "clock/map.h"

#define PIECE  4096u
#define WHOLE  (PIECE + XVT_POOL_HEAD) /* what one takes of a budget */
#define OWN    8u		       /* pieces */
#define COMMON 6u
#define LENT   3u /* of them to the first that comes: as many as are left then, */
#define NEXT   1u /* and to the second */

static struct xvt_pool common, a, b;

static void setup(void)
{
	xvt_pool_init(&common, COMMON * WHOLE);
	xvt_pool_init(&a, OWN * WHOLE);
	xvt_pool_init(&b, OWN * WHOLE);
	a.common = b.common = &common;
}

static void teardown(void)
{
	ck_assert_uint_eq(xvt_pool_used(&a), 0);
	ck_assert_uint_eq(xvt_pool_used(&b), 0);
	ck_assert_uint_eq(xvt_pool_used(&common), 0);
	xvt_pool_fini(&a);
	xvt_pool_fini(&b);
	xvt_pool_fini(&common);
}

/* As many as it gets. */
static unsigned int take_all(struct xvt_pool *p, void **pieces, unsigned int most)
{
	unsigned int n = 0;

	while (n < most && (pieces[n] = xvt_pool_get(p, PIECE, true)))
		n++;
	return n;
}

static void give(struct xvt_pool *p, void **pieces, unsigned int n)
{
	while (n)
		xvt_pool_put(p, pieces[--n], PIECE);
}

static uint64_t held(void)
{
	return a.used + a.kept + b.used + b.kept + common.used + common.kept;
}

START_TEST(a_busy_ring_gets_what_is_left)
{
	void *of_a[64], *of_b[64];
	unsigned int n = take_all(&a, of_a, 64), m;

	ck_assert_uint_eq(n, OWN + LENT);
	ck_assert_uint_eq(xvt_pool_used(&a), (OWN + LENT) * WHOLE);
	ck_assert_uint_eq(xvt_pool_most(&a), (OWN + LENT) * WHOLE);
	/* But neither what is the other's own, nor all that there is for both. */
	m = take_all(&b, of_b, 64);
	ck_assert_uint_eq(m, OWN + NEXT);
	give(&a, of_a, n);
	ck_assert_uint_eq(take_all(&b, of_b + m, 64 - m), LENT - NEXT);
	ck_assert_uint_le(held(), (2 * OWN + COMMON) * WHOLE);
	give(&b, of_b, OWN + LENT);
}
END_TEST

START_TEST(what_was_borrowed_goes_back_first)
{
	void *of_a[64], *of_b[64];
	unsigned int n = take_all(&a, of_a, 64);

	give(&a, of_a + n - LENT, LENT);
	ck_assert_uint_eq(xvt_pool_used(&common), 0);
	ck_assert_uint_eq(take_all(&b, of_b, 64), OWN + LENT);
	ck_assert_uint_eq(take_all(&a, of_a + n - LENT, 64 - n), NEXT);
	give(&b, of_b, OWN + LENT);
	give(&a, of_a, n - LENT + NEXT);
}
END_TEST

/* Machines of one user, beside those of another. */
START_TEST(several_pools_of_a_user_borrow_as_one)
{
	struct xvt_pool_lent lent = { .shared = true };
	void *of_a[64], *of_b[64];
	unsigned int n_a, n_b;

	a.lent = b.lent = &lent;
	n_a = take_all(&a, of_a, 64);
	ck_assert_uint_eq(n_a, OWN + LENT);
	n_b = take_all(&b, of_b, 64);
	ck_assert_uint_eq(n_b, OWN);
	ck_assert_uint_eq(lent.bytes, LENT * WHOLE);
	give(&b, of_b, n_b);
	lent.shared = false; /* the other one has left */
	n_b = take_all(&b, of_b, 64);
	ck_assert_uint_eq(n_b, OWN + NEXT);
	give(&b, of_b, n_b);
	give(&a, of_a, n_a);
	ck_assert_uint_eq(lent.bytes, 0);
}
END_TEST

START_TEST(a_pool_is_full_only_without_memory_anywhere)
{
	void *of_a[64];
	unsigned int n = take_all(&a, of_a, OWN + LENT);

	ck_assert(!xvt_pool_was_full(&a));
	ck_assert_ptr_null(xvt_pool_get(&a, PIECE, true));
	ck_assert(xvt_pool_was_full(&a));
	ck_assert(!xvt_pool_was_full(&a));
	ck_assert(!xvt_pool_was_full(&b));
	give(&a, of_a, n);
}
END_TEST

/* A pass's part is no lack of memory. */
START_TEST(a_turn_is_of_both)
{
	void *of_a[64];
	unsigned int n;

	xvt_pool_turn(&a, (OWN + 2) * WHOLE);
	n = take_all(&a, of_a, 64);
	ck_assert_uint_eq(n, OWN + 2);
	ck_assert(!xvt_pool_was_full(&a));
	xvt_pool_turn(&a, UINT64_MAX);
	n += take_all(&a, of_a + n, 64 - n);
	ck_assert_uint_eq(n, OWN + LENT);
	/* The one piece without which nothing moves on. */
	of_a[n] = xvt_pool_get_over(&a, PIECE);
	ck_assert_ptr_nonnull(of_a[n]);
	give(&a, of_a, n + 1);
}
END_TEST

/* A guest decides how large a sub-buffer is, and how many rings it has. */
START_TEST(what_is_beyond_the_budget_has_a_limit)
{
	const size_t large = 4u << 20;
	void *of_a[64], *over[64];
	unsigned int i, n = take_all(&a, of_a, 64), m = 0;

	/* One, however large; and then no other. */
	over[0] = xvt_pool_get_over(&a, large);
	ck_assert_ptr_nonnull(over[0]);
	xvt_pool_was_full(&a);
	ck_assert_ptr_null(xvt_pool_get_over(&a, large));
	ck_assert(xvt_pool_was_full(&a));
	ck_assert_ptr_null(xvt_pool_get_over(&a, PIECE));
	xvt_pool_put(&a, over[0], large);
	/* Small ones, as far as a MiB. */
	while (m < 64 && (over[m] = xvt_pool_get_over(&a, 64u << 10)))
		m++;
	ck_assert_uint_ge(m, 8);
	ck_assert_uint_lt(m, 17);
	for (i = 0; i < m; i++)
		xvt_pool_put(&a, over[i], 64u << 10);
	give(&a, of_a, n);
}
END_TEST

/* Free pieces of one size are no memory that another size may have besides. */
START_TEST(no_more_is_held_than_there_is)
{
	void *large[64], *small[64];
	unsigned int i, n = 0, m = 0;

	while (n < 64 && (large[n] = xvt_pool_get(&a, 2 * PIECE, true)))
		n++;
	for (i = 0; i < n; i++)
		xvt_pool_put(&a, large[i], 2 * PIECE);
	ck_assert_uint_le(held(), (OWN + COMMON) * WHOLE);
	m = take_all(&a, small, 64);
	ck_assert_uint_eq(m, OWN + LENT);
	ck_assert_uint_le(held(), (OWN + COMMON) * WHOLE);
	give(&a, small, m);
}
END_TEST

/* Another machine comes, and everybody's own part becomes smaller. */
START_TEST(a_budget_that_shrinks_lets_go)
{
	void *of_a[64];
	unsigned int n = take_all(&a, of_a, OWN);

	give(&a, of_a + 4, n - 4);
	xvt_pool_resize(&a, 4 * WHOLE);
	ck_assert_uint_eq(a.used + a.kept, 4 * WHOLE);
	give(&a, of_a, 4);
	n = take_all(&a, of_a, 64);
	ck_assert_uint_eq(n, 4 + LENT);
	give(&a, of_a, n);
}
END_TEST

/* A ring without a clock. */
START_TEST(a_pool_that_may_keep_it_for_ever_is_lent_nothing)
{
	void *of_a[64];
	unsigned int n = take_all(&a, of_a, OWN);

	ck_assert_ptr_null(xvt_pool_get(&a, PIECE, false));
	ck_assert_uint_eq(common.used, 0);
	give(&a, of_a, n);
}
END_TEST

/* Memory of rings takes budget from the pieces, but half of it is theirs whatever is counted. */
START_TEST(what_is_counted_takes_budget)
{
	void *of_a[64];
	unsigned int n;

	ck_assert(xvt_pool_count(&a, 2 * WHOLE, false));
	ck_assert(!xvt_pool_count(&a, 1, false));
	ck_assert_uint_eq(xvt_pool_used(&a), 2 * WHOLE);
	n = take_all(&a, of_a, 64);
	ck_assert_uint_eq(n, OWN - 2 + LENT);
	give(&a, of_a, n);
	ck_assert(xvt_pool_count(&a, 100 * WHOLE, true));
	n = take_all(&a, of_a, 64);
	ck_assert_uint_eq(n, OWN / 2 + LENT);
	give(&a, of_a, n);
	xvt_pool_uncount(&a, 102 * WHOLE);
}
END_TEST

#define MAPS 256u

/* Rings that get a node ten times a second, and of which nothing is ever looked up. */
START_TEST(maps_of_many_rings_stay_within_the_pool)
{
	static struct xvt_clock_map maps[MAPS];
	const uint64_t budget = 4u << 20;
	unsigned int i, n;

	xvt_pool_resize(&a, budget);
	for (i = 0; i < MAPS; i++) {
		xvt_clock_map_init(&maps[i], 1000000000);
		maps[i].pool = &a;
	}
	for (n = 1; n < 2000; n++) {
		for (i = 0; i < MAPS; i++) {
			struct xvt_clock_node node = { .guest = n * 100000000ull,
						       .host_ns = n * 100000000ull,
						       .bound_ns = 5000000,
						       .source = XVT_SOURCE_HANDSHAKE };
			int err = xvt_clock_map_add(&maps[i], &node);

			if (err == -ENOMEM) {
				xvt_clock_map_forget(&maps[i], UINT64_MAX);
				err = xvt_clock_map_add(&maps[i], &node);
			}
			ck_assert_int_eq(err, 0);
			ck_assert_uint_eq(xvt_clock_map_last(&maps[i])->guest, node.guest);
		}
		ck_assert_uint_le(xvt_pool_used(&a), budget / 4);
	}
	for (n = 0, i = 0; i < MAPS; i++) {
		n += maps[i].room;
		xvt_clock_map_fini(&maps[i]);
	}
	ck_assert_uint_le(n * sizeof(struct xvt_clock_node), budget / 4);
}
END_TEST

Suite *pool_suite(void)
{
	Suite *s = suite_create("pool");
	TCase *tc = tcase_create("common");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_busy_ring_gets_what_is_left);
	tcase_add_test(tc, what_was_borrowed_goes_back_first);
	tcase_add_test(tc, several_pools_of_a_user_borrow_as_one);
	tcase_add_test(tc, a_pool_is_full_only_without_memory_anywhere);
	tcase_add_test(tc, a_turn_is_of_both);
	tcase_add_test(tc, what_is_beyond_the_budget_has_a_limit);
	tcase_add_test(tc, no_more_is_held_than_there_is);
	tcase_add_test(tc, a_budget_that_shrinks_lets_go);
	tcase_add_test(tc, a_pool_that_may_keep_it_for_ever_is_lent_nothing);
	tcase_add_test(tc, what_is_counted_takes_budget);
	tcase_add_test(tc, maps_of_many_rings_stay_within_the_pool);
	suite_add_tcase(s, tc);
	return s;
}
