// SPDX-License-Identifier: GPL-2.0
/* test_compress.c - a thread that unpacks leaves no memory behind. */
#include "suites.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "base/compress.h"

#define THREADS	   64
#define LEAVE_MOST (1u << 20) /* of all threads together: each takes 94 KiB while it runs */

static const char text[] = "the same, the same, the same, the same, the same, the same, the same";

struct packed {
	uint8_t bytes[256];
	ssize_t len;
};

static void *unpack(void *arg)
{
	const struct packed *p = arg;
	char to[sizeof(text)];

	ck_assert_int_eq(xvt_unpack(to, sizeof(to), p->bytes, (size_t)p->len), 0);
	ck_assert_mem_eq(to, text, sizeof(to));
	return NULL;
}

static size_t memory_in_use(void)
{
	return mallinfo2().uordblks;
}

START_TEST(a_thread_that_unpacks_leaves_no_memory_behind)
{
	struct packed p;
	struct xvt_packer *packer;
	pthread_t thread;
	size_t before;

	if (xvt_packer_new(&packer, 3))
		return; /* built without zstd */
	p.len = xvt_pack(packer, p.bytes, sizeof(p.bytes), text, sizeof(text));
	xvt_packer_free(packer);
	ck_assert_int_gt(p.len, 0);
	before = memory_in_use();
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, unpack, &p), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	ck_assert_uint_lt(memory_in_use(), before + LEAVE_MOST);
}
END_TEST

Suite *compress_suite(void)
{
	Suite *s = suite_create("compress");
	TCase *t = tcase_create("compress");

	tcase_add_test(t, a_thread_that_unpacks_leaves_no_memory_behind);
	suite_add_tcase(s, t);
	return s;
}
