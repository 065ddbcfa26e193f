// SPDX-License-Identifier: GPL-2.0
/*
 * test_ftrace_map.c - a guest's ftrace ring read from outside, with the guest's stores between any
 * two of the reader's loads. The reader's source is compiled here a second time: its loads and
 * copies call the guest.
 */
#include "suites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace_ring.h"
#include "xvt_port.h"

static void (*between)(void);

static void *hooked_copy(void *to, const void *from, size_t len);
#define xvt_ftrace_map_find   hooked_map_find
#define xvt_ftrace_map_search hooked_map_search
#define xvt_ftrace_map_holds  hooked_map_holds
#define xvt_ftrace_map_clock  hooked_map_clock
#define xvt_ftrace_map_text   hooked_map_text
#define xvt_ftrace_ring_init  hooked_ring_init
#define xvt_ftrace_ring_look  hooked_ring_look
#define memcpy(to, from, len) hooked_copy(to, from, len)
#undef xvt_load_acquire
#define xvt_load_acquire(p)                             \
	({                                              \
		if (between)                            \
			between();                      \
		__atomic_load_n((p), __ATOMIC_ACQUIRE); \
	})
#include "../../../host/vmm/ftrace_map.c"
#undef memcpy

static void *hooked_copy(void *to, const void *from, size_t len)
{
	const size_t half = len / 8 * 4;

	memcpy(to, from, half);
	if (between)
		between();
	memcpy((uint8_t *)to + half, (const uint8_t *)from + half, len - half);
	return to;
}

#define ADDRESS 0xffffc90000100000ull

static struct ftrace_ring g;
static struct xvt_ftrace_map m;
static struct xvt_ftrace_ring ring;

/* What was read of CPU 0. */
static struct {
	uint64_t events;
	uint64_t next; /* serial number */
	uint64_t missing;
	uint32_t happened; /* ever */
	uint64_t missed;   /* sub-buffers that are said to be missing */
	uint64_t back;	   /* events before which the clock is said to have gone back */
} got;

static void boot(int layout, uint32_t n, unsigned int nr_cpus)
{
	free(g.mem);
	memset(&g, 0, sizeof(g));
	memset(&got, 0, sizeof(got));
	between = NULL;
	g.layout = layout;
	g.n = n;
	g.nr_cpus = nr_cpus;
	g.seed = 1;
	g.size = ftrace_ring_size(layout, n, nr_cpus);
	ck_assert_int_eq(posix_memalign((void **)&g.mem, 4096, g.size), 0);
	ftrace_ring_boot(&g, ADDRESS);
}

static void find(unsigned int cpu)
{
	ck_assert_int_eq(xvt_ftrace_map_find(&m, g.mem, g.size, 0), 0);
	ck_assert(xvt_ftrace_ring_init(&ring, &m, cpu));
}

/* An event is one that the guest wrote, with its stamp; later than all before it; and none is
 * missing before it unless that was said. */
static void take_event(const struct ftrace_ring_cpu *c, const struct xvt_ftrace_entry *e)
{
	uint64_t serial;
	uint16_t type;

	must_hold(e->len >= 16);
	memcpy(&type, e->data, sizeof(type));
	memcpy(&serial, e->data + 8, sizeof(serial));
	must_hold(type == FTRACE_RING_TYPE);
	must_hold(serial < c->serial);
	must_hold(serial >= got.next);
	must_hold(e->clock == c->stamps[serial % FTRACE_RING_EVENTS]);
	if (serial != got.next && got.events) /* what was before the first look is not missing */
		must_hold(ring.happened & XVT_FTRACE_MISSING);
	/* Whole sub-buffers that are missing were begun between the two events. */
	if (ring.missed && got.events)
		must_hold(ring.missed < c->subbufs[serial % FTRACE_RING_EVENTS] -
						c->subbufs[(got.next - 1) % FTRACE_RING_EVENTS] +
						1);
	got.missing += serial - got.next;
	got.missed += ring.missed;
	got.back += e->back;
	got.happened |= ring.happened;
	ring.happened = 0;
	ring.missed = 0;
	got.next = serial + 1;
	got.events++;
}

static bool look(unsigned int cpu)
{
	struct xvt_ftrace_entry e;

	if (!xvt_ftrace_ring_look(&ring))
		return false;
	while (xvt_ftrace_page_next(&ring.page, &e))
		take_event(&g.cpus[cpu], &e);
	must_hold(!ring.page.bad);
	return true;
}

static void read_all(unsigned int cpu)
{
	while (look(cpu))
		;
}

static uint64_t guest_clock;

static uint64_t guest_now(void)
{
	return guest_clock;
}

/* In the page no stamp shows it, and the next page begins with a true one. */
START_TEST(a_clock_that_went_back_is_told_twice)
{
	boot(1, 8, 1);
	g.now = guest_now;
	guest_clock = 1000000;
	ftrace_ring_write(&g, 0, 3);
	guest_clock -= 5000;
	ftrace_ring_write(&g, 0, 3);
	guest_clock += 10000;
	find(0);
	read_all(0);
	ck_assert_uint_eq(got.back, 1);
	ftrace_ring_write(&g, 0, 200);
	read_all(0);
	ck_assert_uint_eq(got.events, g.cpus[0].serial);
	ck_assert_uint_eq(got.back, 2);
}
END_TEST

START_TEST(both_layouts_are_found)
{
	uint32_t clock;

	boot(1, 8, 3);
	find(2);
	ck_assert_uint_eq(m.layout, 1);
	ck_assert_uint_eq(m.nr_cpus, 3);
	ck_assert_uint_eq(m.nr_subbufs, 8);
	ck_assert(!xvt_ftrace_map_clock(&m, &clock));
	boot(2, 8, 3);
	find(2);
	ck_assert_uint_eq(m.layout, 2);
	ck_assert_uint_eq(m.nr_cpus, 3);
	ck_assert(xvt_ftrace_map_clock(&m, &clock));
	ck_assert_uint_eq(clock, 9);
	ck_assert(xvt_ftrace_map_holds(&m));
	g.mem[0] ^= 1;
	ck_assert(!xvt_ftrace_map_holds(&m));
}
END_TEST

START_TEST(a_ring_is_searched_at_page_borders)
{
	uint8_t *memory;
	const size_t at = 5 * 4096;
	const uint32_t magic = 0x0badfeed;

	boot(1, 8, 1);
	ck_assert_int_eq(posix_memalign((void **)&memory, 4096, at + g.size), 0);
	memset(memory, 0, at);
	memcpy(memory + 4096, &magic, sizeof(magic)); /* by chance */
	memcpy(memory + at, g.mem, g.size);
	ck_assert_int_eq(xvt_ftrace_map_search(&m, memory, at + g.size, 0, at), -ENODATA);
	ck_assert_int_eq(xvt_ftrace_map_search(&m, memory, at + g.size, 0, at + 1), 0);
	ck_assert_uint_eq(m.base, at);
	ck_assert(xvt_ftrace_ring_init(&ring, &m, 0));
	ck_assert_int_eq(xvt_ftrace_map_find(&m, memory, at + g.size, 8), -ENODATA);
	ck_assert_int_eq(xvt_ftrace_map_find(&m, memory, at + g.size, UINT64_MAX & ~4095ull),
			 -ENODATA);
	free(memory);
}
END_TEST

/* All sizes and places that a guest can write, and none leads out of the mapping. */
START_TEST(wrong_words_are_refused)
{
	static const uint64_t wrong[] = {
		0,	1,	    2,		7,	    4095,	4096,	    4097,
		0xffff, 0x7fffffff, 0xffffffff, 1ull << 40, 1ull << 63, UINT64_MAX, UINT64_MAX - 7
	};
	size_t i, word;

	for (int layout = 1; layout <= 2; layout++) {
		for (word = 0; word < 16; word++) {
			for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
				uint8_t *at;

				boot(layout, 4, 2);
				ftrace_ring_write(&g, 0, 300);
				at = word < 8 || layout == 1 ? g.mem + word * 8
							     : g.cpus[0].part + (word - 8) * 8;
				memcpy(at, &wrong[i], 8);
				if (xvt_ftrace_map_find(&m, g.mem, g.size, 0))
					continue;
				for (uint32_t cpu = 0; cpu < m.nr_cpus; cpu++) {
					struct xvt_ftrace_entry e;

					if (!xvt_ftrace_ring_init(&ring, &m, cpu))
						continue;
					for (int k = 0; k < 20 && xvt_ftrace_ring_look(&ring); k++)
						while (xvt_ftrace_page_next(&ring.page, &e))
							;
				}
			}
		}
	}
}
END_TEST

START_TEST(a_ring_that_outlasts_the_looks_is_exact)
{
	for (int layout = 1; layout <= 2; layout++) {
		boot(layout, 8, 2);
		find(1);
		for (int i = 0; i < 400; i++) {
			ftrace_ring_write(&g, 1, 1 + (unsigned int)i % 150);
			read_all(1);
		}
		ck_assert_uint_eq(got.next, g.cpus[1].committed);
		ck_assert_uint_eq(got.events, got.next);
		ck_assert_uint_eq(got.happened, 0);
		ck_assert_uint_gt(g.cpus[1].pages, 500); /* around and around */
	}
}
END_TEST

START_TEST(an_overtaken_reader_says_so)
{
	boot(1, 8, 1);
	find(0);
	ftrace_ring_write(&g, 0, 100);
	read_all(0);
	ftrace_ring_write(&g, 0, 5000);
	read_all(0);
	ck_assert_uint_eq(got.next, g.cpus[0].committed);
	ck_assert_uint_eq(got.happened, XVT_FTRACE_OVERTAKEN);
	ck_assert_uint_gt(got.missing, 0);
	ck_assert_uint_gt(got.missed, 0);
	ck_assert_uint_eq(got.events + got.missing, got.next);
}
END_TEST

START_TEST(an_overtaken_reader_that_had_read_a_whole_page_says_so)
{
	/* It stands before a page of which it has read nothing, when the writer comes around. */
	for (unsigned int first = 20; first < 150; first++) {
		boot(1, 4, 1);
		find(0);
		ftrace_ring_write(&g, 0, first);
		read_all(0);
		ftrace_ring_write(&g, 0, 1000);
		read_all(0);
		ck_assert_uint_eq(got.happened, XVT_FTRACE_OVERTAKEN);
		ck_assert_uint_eq(got.next, g.cpus[0].committed);
	}
}
END_TEST

START_TEST(a_ring_that_was_emptied_is_read_from_its_begin)
{
	boot(1, 8, 1);
	find(0);
	ftrace_ring_write(&g, 0, 300);
	read_all(0);
	ck_assert_uint_eq(got.happened, 0);
	ftrace_ring_clear(&g, 0);
	read_all(0);
	ftrace_ring_write(&g, 0, 100);
	read_all(0);
	ck_assert_uint_eq(got.happened, XVT_FTRACE_CLEARED);
	ck_assert_uint_eq(got.events, g.cpus[0].committed);
	ck_assert_uint_eq(got.missed, 0);
}
END_TEST

START_TEST(another_kernel_goes_on_behind)
{
	for (int layout = 1; layout <= 2; layout++) {
		boot(layout, 8, 2);
		find(1);
		ftrace_ring_write(&g, 1, 300);
		read_all(1);
		ftrace_ring_boot_behind(&g, ADDRESS + 0x3000000, true);
		ck_assert(xvt_ftrace_map_holds(&m));
		read_all(1);
		ck_assert_uint_eq(got.happened, 0);
		/* Its stamps go on from its own clock: the page has the old one's. */
		g.cpus[1].clock = g.cpus[1].stamps[(g.cpus[1].serial - 1) % FTRACE_RING_EVENTS];
		ftrace_ring_write(&g, 1, 300);
		read_all(1);
		ck_assert_uint_eq(got.happened, XVT_FTRACE_BOOTED);
		ck_assert_uint_eq(got.events, g.cpus[1].committed);
	}
}
END_TEST

/* It begins the sub-buffer anew in which the other one stopped. Nothing of the older ones comes
 * again, wherever the reader stands, and however short the time between two looks is. */
START_TEST(another_kernel_begins_a_page_anew)
{
	for (unsigned int events = 1; events < 600; events++) {
		boot(1 + (int)events % 2, 8, 1);
		find(0);
		for (unsigned int i = 0; i < events; i += 40) {
			ftrace_ring_write(&g, 0, 40);
			read_all(0);
		}
		ftrace_ring_boot_behind(&g, events % 3 ? ADDRESS : ADDRESS + 0x3000000, false);
		for (unsigned int i = 0; i < 20 + events % 900; i++) {
			ftrace_ring_step(&g, 0);
			read_all(0);
		}
		ftrace_ring_write(&g, 0, 1);
		read_all(0);
		ck_assert_uint_eq(got.events, g.cpus[0].committed);
		ck_assert_uint_eq(got.missing, 0);
		/* In the first one nothing tells the two kernels from a ring that was emptied. */
		ck_assert_uint_ne(got.happened & (XVT_FTRACE_RESTARTED | XVT_FTRACE_CLEARED), 0);
	}
}
END_TEST

START_TEST(another_kernel_empties_the_ring)
{
	boot(1, 8, 1);
	find(0);
	ftrace_ring_write(&g, 0, 300);
	read_all(0);
	g.cpus[0].serial = 0;
	got.next = 0;
	ftrace_ring_boot(&g, ADDRESS + 0x3000000);
	read_all(0);
	ftrace_ring_write(&g, 0, 300);
	read_all(0);
	ck_assert_uint_eq(got.happened, XVT_FTRACE_BOOTED | XVT_FTRACE_CLEARED);
	ck_assert_uint_eq(got.next, g.cpus[0].committed);
	ck_assert_uint_ge(got.events, 600);
}
END_TEST

START_TEST(a_reader_in_the_guest_is_told)
{
	boot(1, 8, 1);
	find(0);
	/* It takes what was read here before: nothing is missing. */
	for (int i = 0; i < 50; i++) {
		ftrace_ring_write(&g, 0, 100);
		read_all(0);
		ftrace_ring_take(&g, 0);
	}
	ck_assert_uint_eq(got.happened, XVT_FTRACE_READ);
	ck_assert_uint_eq(got.events, g.cpus[0].committed);
	/* It takes what was not: that is told. */
	for (int i = 0; i < 4; i++)
		ftrace_ring_write(&g, 0, 40), ftrace_ring_take(&g, 0), ftrace_ring_take(&g, 0);
	read_all(0);
	ck_assert_uint_eq(got.events + got.missing, g.cpus[0].committed);
	ck_assert(!got.missing || got.happened & XVT_FTRACE_MISSING);
}
END_TEST

/* --- the guest between any two loads --- */

static unsigned int load_no, at_load, steps;

static void run_at(void)
{
	if (load_no++ == at_load) {
		for (unsigned int i = 0; i < steps; i++)
			ftrace_ring_step(&g, 0);
	}
}

/* For each load of a reader's way through two pages, and for each distance that the guest then
 * goes: between a store and several times around. */
START_TEST(the_guest_goes_on_at_each_load)
{
	uint64_t torn = 0, overtaken = 0, runs = 0;

	for (steps = 1; steps < 3000; steps = steps * 5 / 4 + 1) {
		for (at_load = 0;; at_load++) {
			boot(1 + (int)(runs++ & 1), 4, 1);
			find(0);
			ftrace_ring_write(&g, 0, 70);
			read_all(0);
			ftrace_ring_write(&g, 0, 90);
			load_no = 0;
			between = run_at;
			read_all(0);
			if (load_no <= at_load)
				break;
			between = NULL;
			ftrace_ring_write(&g, 0, 20);
			read_all(0);
			torn += ring.torn;
			overtaken += (got.happened & XVT_FTRACE_MISSING) != 0;
			ck_assert_uint_eq(got.next, g.cpus[0].committed);
			ck_assert(!got.missing == !(got.happened & XVT_FTRACE_MISSING) ||
				  !got.missing);
		}
	}
	between = NULL;
	ck_assert_uint_gt(torn, 50);
	ck_assert_uint_gt(overtaken, 200);
}
END_TEST

static unsigned int turns;

static void run_by_chance(void)
{
	const int r = rand();

	if (r % 8)
		return;
	if (r / 8 % 500 == 0)
		ftrace_ring_clear(&g, 0);
	else if (r / 8 % 300 == 0)
		ftrace_ring_take(&g, 0);
	for (int i = r / 8 % (turns & 1 ? 20 : 400); i >= 0; i--)
		ftrace_ring_step(&g, 0);
}

START_TEST(the_guest_does_anything_at_any_load)
{
	srand(3);
	for (turns = 0; turns < 1500; turns++) {
		boot(1 + (int)turns % 2, 3 + turns % 11, 1);
		g.seed = turns;
		find(0);
		between = run_by_chance;
		for (int i = 0; i < 300; i++)
			look(0);
		between = NULL;
	}
}
END_TEST

START_TEST(a_guest_that_scribbles_leads_nowhere)
{
	struct xvt_ftrace_entry e;

	srand(4);
	for (int i = 0; i < 1000; i++) {
		boot(1 + i % 2, 4, 2);
		find((unsigned int)i / 2 % 2);
		ftrace_ring_write(&g, (unsigned int)i / 2 % 2, 500);
		for (int k = 0; k < 40; k++) {
			const size_t at = (size_t)rand() % (k % 2 ? g.size : 4096) & ~7ul;
			uint64_t value = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 7;

			if (k % 4 == 1)
				value = (uint64_t)rand() % 4096;
			if (at + 8 <= g.size)
				memcpy(g.mem + at, &value, 8);
			if (!xvt_ftrace_ring_look(&ring))
				continue;
			while (xvt_ftrace_page_next(&ring.page, &e))
				must_hold(e.data >= (uint8_t *)ring.copy &&
					  e.data + e.len <= (uint8_t *)(ring.copy + 512));
		}
	}
}
END_TEST

Suite *ftrace_map_suite(void)
{
	Suite *suite = suite_create("ftrace_map");
	TCase *tc = tcase_create("ring");

	tcase_add_test(tc, a_clock_that_went_back_is_told_twice);
	tcase_add_test(tc, both_layouts_are_found);
	tcase_add_test(tc, a_ring_is_searched_at_page_borders);
	tcase_add_test(tc, wrong_words_are_refused);
	tcase_add_test(tc, a_ring_that_outlasts_the_looks_is_exact);
	tcase_add_test(tc, an_overtaken_reader_says_so);
	tcase_add_test(tc, an_overtaken_reader_that_had_read_a_whole_page_says_so);
	tcase_add_test(tc, a_ring_that_was_emptied_is_read_from_its_begin);
	tcase_add_test(tc, another_kernel_goes_on_behind);
	tcase_add_test(tc, another_kernel_begins_a_page_anew);
	tcase_add_test(tc, another_kernel_empties_the_ring);
	tcase_add_test(tc, a_reader_in_the_guest_is_told);
	tcase_add_test(tc, the_guest_goes_on_at_each_load);
	tcase_add_test(tc, the_guest_does_anything_at_any_load);
	tcase_add_test(tc, a_guest_that_scribbles_leads_nowhere);
	suite_add_tcase(suite, tc);
	return suite;
}
