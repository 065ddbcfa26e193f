// SPDX-License-Identifier: GPL-2.0
/* test_stream.c - a stream that gets no memory. What it does with records: tests/engine. */
#include "suites.h"

#include <errno.h>

#include "faults.h"
#include "stream.h"

/* One allocation of two fails; both are tried again in the next pass. */
START_TEST(half_of_a_half_is_not_lost)
{
	const size_t before = memory_in_use();
	struct xvt_stream g;
	int i;

	xvt_stream_init(&g, 10000);
	faults.memory_max = 8192; /* enough for the payloads */
	for (i = 0; i < 3; i++) {
		xvt_stream_begin(&g, UINT64_MAX);
		xvt_stream_aim(&g);
		g.begun = true; /* with rings that have something */
		xvt_stream_fill(&g.task);
		ck_assert_int_eq(g.err, -ENOMEM);
	}
	faults.memory_max = 0;
	xvt_stream_fini(&g);
	ck_assert_uint_eq(memory_in_use(), before);
}
END_TEST

Suite *stream_suite(void)
{
	Suite *s = suite_create("stream");
	TCase *t = tcase_create("stream");

	tcase_add_test(t, half_of_a_half_is_not_lost);
	suite_add_tcase(s, t);
	return s;
}
