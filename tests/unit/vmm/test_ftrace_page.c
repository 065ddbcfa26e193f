// SPDX-License-Identifier: GPL-2.0
/* test_ftrace_page.c - pages of ftrace's ring buffer: every kind of event, and damaged pages. */
#include "suites.h"

#include <kbuffer.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace_pages.h"
#include "vmm/ftrace_page.h"

#define CLOCK 1000000ull

static struct ftrace_page page;
static struct xvt_ftrace_page p;
static struct xvt_ftrace_entry e;

static void begin(void)
{
	xvt_ftrace_page_init(&p, page.words, FTRACE_PAGE);
}

static void ck_entry(uint64_t clock, uint16_t type, uint32_t len)
{
	uint16_t got;

	ck_assert(xvt_ftrace_page_next(&p, &e));
	memcpy(&got, e.data, sizeof(got));
	ck_assert_uint_eq(e.clock, clock);
	ck_assert_uint_eq(got, type);
	ck_assert_uint_eq(e.len, len);
}

static void ck_end(bool bad)
{
	ck_assert(!xvt_ftrace_page_next(&p, &e));
	ck_assert(p.bad == bad);
	ck_assert(!xvt_ftrace_page_next(&p, &e));
}

START_TEST(each_event_has_its_time_and_length)
{
	ftrace_page_begin(&page, CLOCK);
	ftrace_page_event(&page, 0, 300, 1, 8);
	ftrace_page_event(&page, 7, 301, 2, 112);
	ftrace_page_event(&page, 5, 302, 3, 116); /* with a word for its length */
	ftrace_page_end(&page, 0);
	begin();
	ck_assert(!p.missed);
	ck_entry(CLOCK, 300, 8);
	ck_entry(CLOCK + 7, 301, 112);
	ck_entry(CLOCK + 12, 302, 116);
	ck_assert_uint_eq(e.data[115], 3);
	ck_end(false);
}
END_TEST

START_TEST(long_gaps_and_absolute_stamps_are_added)
{
	const uint64_t high = 5ull << 59;

	ftrace_page_begin(&page, high | CLOCK);
	ftrace_page_word(&page, 30, 3); /* 2 * 2^27 + 3 ticks */
	ftrace_page_put(&page, 2);
	ftrace_page_event(&page, 1, 300, 0, 8);
	ftrace_page_word(&page, 31, 9); /* 59 bits of a stamp: 4 * 2^27 + 9 */
	ftrace_page_put(&page, 4);
	ftrace_page_event(&page, 0, 301, 0, 8);
	ftrace_page_word(&page, 31, 1); /* smaller: the bits above have gone on */
	ftrace_page_put(&page, 0);
	ftrace_page_event(&page, 0, 302, 0, 8);
	ftrace_page_end(&page, 0);
	begin();
	ck_entry((high | CLOCK) + (2ull << 27) + 4, 300, 8);
	ck_entry(high | 4ull << 27 | 9, 301, 8);
	ck_entry((6ull << 59) | 1, 302, 8);
	ck_end(false);
}
END_TEST

/* As the kernel writes it, and as it writes the first event of a page. */
START_TEST(a_gap_of_no_time_shows_a_clock_that_went_back)
{
	ftrace_page_begin(&page, CLOCK);
	ftrace_page_word(&page, 30, 0);
	ftrace_page_put(&page, 0);
	ftrace_page_event(&page, 0, 300, 0, 8);
	ftrace_page_event(&page, 3, 301, 0, 8);
	ftrace_page_word(&page, 30, 0);
	ftrace_page_put(&page, 0);
	ftrace_page_word(&page, 29, 1); /* given back */
	ftrace_page_put(&page, 4);
	ftrace_page_event(&page, 0, 302, 0, 8);
	ftrace_page_event(&page, 0, 303, 0, 8);
	ftrace_page_end(&page, 0);
	begin();
	ck_entry(CLOCK, 300, 8);
	ck_assert(!e.back);
	ck_entry(CLOCK + 3, 301, 8);
	ck_assert(!e.back);
	ck_entry(CLOCK + 4, 302, 8);
	ck_assert(e.back);
	ck_entry(CLOCK + 4, 303, 8);
	ck_assert(!e.back);
	ck_assert(p.late);
	ck_end(false);
}
END_TEST

START_TEST(padding_is_no_event)
{
	ftrace_page_begin(&page, CLOCK);
	ftrace_page_word(&page, 29, 4); /* given back: the length of its data and of this word */
	ftrace_page_put(&page, 12);
	ftrace_page_put(&page, 0xdeadbeef);
	ftrace_page_put(&page, 0xdeadbeef);
	ftrace_page_event(&page, 1, 300, 0, 8);
	ftrace_page_word(&page, 29, 0); /* to the end of the page */
	ftrace_page_put(&page, 0xffffffff);
	ftrace_page_end(&page, FTRACE_PAGE_MISSED);
	begin();
	ck_assert(p.missed);
	ck_entry(CLOCK + 5, 300, 8);
	ck_end(false);
}
END_TEST

START_TEST(a_length_that_leads_out_of_the_page_ends_it)
{
	ftrace_page_begin(&page, CLOCK);
	ftrace_page_event(&page, 0, 300, 0, 8);
	ftrace_page_word(&page, 28, 0); /* 112 bytes, and 8 are left */
	ftrace_page_put(&page, 0);
	ftrace_page_put(&page, 0);
	ftrace_page_end(&page, 0);
	begin();
	ck_entry(CLOCK, 300, 8);
	ck_end(true);

	/* A word for the length that is not there, is too small, odd, or of 4 GiB. */
	for (uint32_t i = 0; i < 5; i++) {
		static const uint32_t lengths[] = { 0, 3, 9, 4096, 0xfffffffc };

		ftrace_page_begin(&page, CLOCK);
		ftrace_page_word(&page, 0, 1);
		ftrace_page_put(&page, lengths[i]);
		for (uint32_t k = 0; k < 4; k++)
			ftrace_page_put(&page, 0);
		ftrace_page_end(&page, 0);
		begin();
		ck_end(true);
		page.words[1] = 4;
		begin();
		ck_end(true);
	}
}
END_TEST

START_TEST(a_commit_beyond_the_page_makes_it_empty)
{
	ftrace_page_begin(&page, CLOCK);
	ftrace_page_event(&page, 0, 300, 0, 8);
	page.words[1] = FTRACE_PAGE - 15;
	begin();
	ck_end(true);
	xvt_ftrace_page_init(&p, page.words, 15);
	ck_end(true);
}
END_TEST

/* Random bytes, in memory that ends where the page does: a read beyond it is seen by valgrind and
 * AddressSanitizer, an endless loop by the time limit. */
START_TEST(random_pages_stay_inside_the_page)
{
	uint8_t *bytes = malloc(FTRACE_PAGE);
	uint64_t commit;

	ck_assert_ptr_nonnull(bytes);
	srand(1);
	for (int round = 0; round < 20000; round++) {
		const size_t size = 16 + (size_t)rand() % 200;
		uint8_t *at = bytes + FTRACE_PAGE - size;

		for (size_t i = 0; i < size; i++)
			at[i] = (uint8_t)(rand() >> 7) & (round & 1 ? 0xff : 0x1f);
		commit = (uint64_t)(rand() % 220);
		memcpy(at + 8, &commit, 8);
		xvt_ftrace_page_init(&p, at, size);
		while (xvt_ftrace_page_next(&p, &e)) {
			ck_assert(e.data >= at + XVT_FTRACE_PAGE_HEAD);
			ck_assert(e.data + e.len <= at + size);
		}
	}
	free(bytes);
}
END_TEST

/* Valid pages give what libtraceevent reads in them. */
START_TEST(valid_pages_are_as_libtraceevent_has_them)
{
	struct kbuffer *k = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
	unsigned long long clock;
	void *record;

	srand(2);
	for (int round = 0; round < 500; round++) {
		ftrace_page_begin(&page, CLOCK);
		while (page.len < 3500) {
			if (rand() % 8 == 0) {
				ftrace_page_word(&page, 30, (uint32_t)rand() % 1000);
				ftrace_page_put(&page, (uint32_t)rand() % 1000);
			}
			ftrace_page_event(&page, (uint32_t)rand() % 100000, 300, 1,
					  4 + 4 * (uint32_t)(rand() % 60));
		}
		ftrace_page_end(&page, 0);
		begin();
		ck_assert_int_eq(kbuffer_load_subbuffer(k, page.words), 0);
		record = kbuffer_read_event(k, &clock);
		for (; record; record = kbuffer_next_event(k, &clock)) {
			ck_entry(clock, 300, (uint32_t)kbuffer_event_size(k));
			ck_assert_ptr_eq(e.data, record);
		}
		ck_end(false);
	}
	kbuffer_free(k);
}
END_TEST

Suite *ftrace_page_suite(void)
{
	Suite *suite = suite_create("ftrace_page");
	TCase *tc = tcase_create("pages");

	tcase_add_test(tc, each_event_has_its_time_and_length);
	tcase_add_test(tc, long_gaps_and_absolute_stamps_are_added);
	tcase_add_test(tc, a_gap_of_no_time_shows_a_clock_that_went_back);
	tcase_add_test(tc, padding_is_no_event);
	tcase_add_test(tc, a_length_that_leads_out_of_the_page_ends_it);
	tcase_add_test(tc, a_commit_beyond_the_page_makes_it_empty);
	tcase_add_test(tc, random_pages_stay_inside_the_page);
	tcase_add_test(tc, valid_pages_are_as_libtraceevent_has_them);
	suite_add_tcase(suite, tc);
	return suite;
}
