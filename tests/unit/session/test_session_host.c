// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_host.c - the host as a machine of a recording. What the kernel gives is made here,
 * page by page; the rest is the recorder's own way from a page to the trace.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>

#include "ftrace_pages.h"
#include "lib/xvtrace.h"
#include "recording.h"

#define CPUS	   2
#define PAGES_MAX  256
#define ENTRY	   24u /* bytes of an event */
#define MANY_PAGES 100 /* more than a ring holds */
#define PER_PAGE   100
#define PASSES_MAX 20000

static struct recording rec;
static struct xvt_session *s;
static struct xvt_vm *host;

/* The kernel: pages that were not read, for each CPU. */
static struct ftrace_page pages[CPUS][PAGES_MAX];
static unsigned int made[CPUS], taken[CPUS];
static uint64_t kernel_lost[CPUS];
static uint16_t number[CPUS]; /* of the newest event */
static bool on;
static bool traces_reads; /* each read is two events of the kernel */
static int read_err;

static void make_page(unsigned int cpu, uint64_t clock, unsigned int n, uint64_t flags);

static ssize_t page_of(void *arg, size_t cpu, void *to, size_t size)
{
	ck_assert_ptr_null(arg);
	ck_assert_uint_eq(size, FTRACE_PAGE);
	if (read_err)
		return read_err;
	if (taken[cpu] == made[cpu])
		return 0;
	memcpy(to, pages[cpu][taken[cpu]++].words, FTRACE_PAGE);
	if (traces_reads && made[cpu] < PAGES_MAX)
		make_page((unsigned int)cpu, xvt_clock_read(), 2, 0);
	return FTRACE_PAGE;
}

static int lost_of(void *arg, size_t cpu, uint64_t *lost)
{
	ck_assert_ptr_null(arg);
	*lost = kernel_lost[cpu];
	return 0;
}

static int record(void *arg, bool begin)
{
	ck_assert_ptr_null(arg);
	on = begin;
	return 0;
}

static void setup(void)
{
	static const uint32_t cpus[CPUS] = { 0, 3 };
	const struct xvt_host_source source = { .nr_cpus = CPUS,
						.cpus = cpus,
						.page_size = FTRACE_PAGE,
						.page = page_of,
						.lost = lost_of,
						.record = record };
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .memory_bytes = 64 << 20,
					   .join_timeout_ns = 1,
					   .stall_timeout_ns = 60 * SECOND_NS };
	struct xvt_error why;

	memset(made, 0, sizeof(made));
	memset(taken, 0, sizeof(taken));
	memset(kernel_lost, 0, sizeof(kernel_lost));
	memset(number, 0, sizeof(number));
	on = traces_reads = false;
	read_err = 0;
	recording_begin(&rec, 1, &opt);
	s = rec.s;
	ck_assert_int_eq(xvt_session_host_attach(s, &source, &why), 0);
	host = xvt_session_host_vm(s);
	ck_assert_ptr_nonnull(host);
}

static void teardown(void)
{
	recording_end(&rec);
}

static void pass(void)
{
	uint64_t sleep_ns;

	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
	xvt_loop_run(rec.loop, sleep_ns);
}

/* Until the kernel was told to trace: each ring has a clock then. */
static void until_on(void)
{
	for (int i = 0; !on && i < PASSES_MAX; i++)
		pass();
	ck_assert(on);
}

static uint64_t host_events(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < CPUS; i++)
		n += host->rings[i]->account.stats.events;
	return n;
}

static void until_events(uint64_t n)
{
	for (int i = 0; host_events() < n && i < PASSES_MAX; i++)
		pass();
	ck_assert_uint_eq(host_events(), n);
}

/* The kernel writes a page of n events, a tick apart, the first one at `clock`. */
static void make_page(unsigned int cpu, uint64_t clock, unsigned int n, uint64_t flags)
{
	struct ftrace_page *p = &pages[cpu][made[cpu]];

	ck_assert_uint_lt(made[cpu], PAGES_MAX);
	ftrace_page_begin(p, clock);
	for (unsigned int i = 0; i < n; i++)
		ftrace_page_event(p, i != 0, ++number[cpu], 0, ENTRY);
	ftrace_page_end(p, flags);
	made[cpu]++;
}

/* The trace's events of the host in order: their numbers must be those of each CPU in a row, and
 * their clocks the kernel's. Returns their number, and the sum of what was lost. */
static uint64_t read_events(uint64_t *lost)
{
	struct xvtrace_error error;
	struct xvtrace_reader *reader;
	const struct xvtrace_event *event;
	struct xvtrace *trace;
	uint64_t n = 0, before_ns = 0;
	uint16_t last[4] = { 0 };

	ck_assert_int_eq(xvt_session_finish(s), 0);
	rec.s = NULL;
	xvt_trace_close(recording_open(&rec));
	ck_assert_int_eq(xvtrace_open(&trace, scratch_path("recording.xvt"), 0, &error), 0);
	ck_assert_int_eq(xvtrace_reader_new(&reader, trace), 0);
	ck_assert_int_eq(xvtrace_reader_machine(reader, "host"), 0);
	*lost = 0;
	while (xvtrace_next(reader, &event) == 1) {
		uint16_t type;

		ck_assert(event->ring->machine->host);
		ck_assert_uint_ge(event->ns, before_ns);
		before_ns = event->ns;
		*lost += event->kind == XVTRACE_LOST ? event->lost : 0;
		if (event->kind != XVTRACE_EVENT)
			continue;
		memcpy(&type, event->data, sizeof(type));
		ck_assert_uint_eq(type, last[event->ring->cpu] + 1);
		last[event->ring->cpu]++;
		n++;
	}
	xvtrace_reader_free(reader);
	xvtrace_close(trace);
	return n;
}

static void ck_accounts(uint64_t attempted, uint64_t overwritten)
{
	uint64_t all = 0, gone = 0;

	for (uint32_t i = 0; i < CPUS; i++) {
		const struct xvt_ring_stats *st = &host->rings[i]->account.stats;

		all += st->attempted;
		gone += st->overwritten;
		ck_assert_uint_eq(st->attempted, st->events + st->overwritten + st->in_flight);
		ck_assert_uint_eq(st->late, 0);
		ck_assert_uint_eq(st->clock_violations, 0);
		ck_assert_uint_eq(st->source, XVT_SOURCE_HOST);
	}
	ck_assert_uint_eq(all, attempted);
	ck_assert_uint_eq(gone, overwritten);
}

START_TEST(events_of_all_cpus_are_in_the_trace)
{
	uint64_t lost;

	until_on();
	make_page(0, xvt_clock_read(), 10, 0);
	make_page(1, xvt_clock_read(), 20, 0);
	pass();
	make_page(0, xvt_clock_read(), 5, 0);
	until_events(35);
	xvt_session_put_stats(s, false, false);
	ck_accounts(35, 0);
	ck_assert_uint_eq(read_events(&lost), 35);
	ck_assert_uint_eq(lost, 0);
	ck_assert(!on);
}
END_TEST

/* A ring takes a page only if it has room for all of it; the rest stays with the kernel. */
START_TEST(more_than_a_ring_holds_is_not_lost)
{
	uint64_t lost;

	until_on();
	for (int i = 0; i < MANY_PAGES; i++)
		make_page(1, xvt_clock_read(), PER_PAGE, 0);
	pass();
	ck_assert_uint_lt(taken[1], MANY_PAGES);
	ck_assert(host->rings[1]->guest.behind);
	ck_assert(!host->rings[0]->guest.behind);
	until_events(MANY_PAGES * PER_PAGE);
	ck_assert(!host->rings[1]->guest.behind);
	ck_assert_uint_eq(read_events(&lost), MANY_PAGES * PER_PAGE);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

START_TEST(what_the_kernel_overwrote_is_lost_at_its_place)
{
	uint64_t lost;

	until_on();
	make_page(0, xvt_clock_read(), 10, 0);
	pass();
	kernel_lost[0] = 77;
	make_page(0, xvt_clock_read(), 10, FTRACE_PAGE_MISSED);
	until_events(20);
	xvt_session_put_stats(s, false, false);
	ck_accounts(20 + 77, 77);
	kernel_lost[1] = 5; /* after the last event that was read */
	ck_assert_uint_eq(read_events(&lost), 20);
	ck_assert_uint_eq(lost, 77 + 5);
}
END_TEST

/* What comes while a CPU is read waits for the next pass: the events of the recorder's own reads
 * are never at their end. The pass proves what was there when it began. */
START_TEST(a_pass_does_not_read_what_its_reads_cause)
{
	unsigned int before;
	uint64_t lost;

	until_on();
	make_page(0, xvt_clock_read(), 10, 0);
	traces_reads = true;
	for (before = taken[0]; taken[0] == before;)
		pass();
	ck_assert_uint_le(taken[0] - before, 2);
	ck_assert(!host->rings[0]->guest.behind);
	traces_reads = false;
	ck_assert_uint_eq(read_events(&lost), 10 + 2 * (made[0] - 1));
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* What the kernel still has when the recording ends. */
START_TEST(the_end_takes_what_is_left)
{
	uint64_t lost;

	until_on();
	for (int i = 0; i < MANY_PAGES; i++)
		make_page(0, xvt_clock_read(), PER_PAGE, 0);
	ck_assert_uint_eq(read_events(&lost), MANY_PAGES * PER_PAGE);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* An event that the kernel hands over after later ones of the other CPU is late, at its own time.
 */
START_TEST(a_late_event_keeps_its_time)
{
	const struct xvt_ring_stats *st = &host->rings[0]->account.stats;
	uint64_t clock, ns, lost;

	until_on();
	clock = xvt_clock_read();
	pass();
	make_page(1, xvt_clock_read(), 3, 0);
	until_events(3);
	make_page(0, clock, 4, 0);
	until_events(7);
	ns = xvt_host_clock_ns(&s->clock, clock);
	ck_assert_uint_eq(st->late, 4);
	ck_assert_uint_eq(st->clock_violations, 0);
	ck_assert_uint_le(st->first_ns, ns + 1); /* rounded once more, on the ring's line */
	ck_assert_uint_ge(st->first_ns, ns - 1);
	ck_assert_uint_eq(read_events(&lost), 7);
}
END_TEST

START_TEST(a_damaged_page_ends_at_the_damage)
{
	uint64_t lost;

	until_on();
	make_page(0, xvt_clock_read(), 10, 0);
	pages[0][0].words[2 + (4 + ENTRY) / 8 * 4] |= 28; /* in the middle: a length */
	pages[0][0].words[1] = 16 + 5 * (4 + ENTRY);
	make_page(1, xvt_clock_read(), 3, 0);
	for (int i = 0; i < 300; i++)
		pass();
	ck_assert_uint_le(host->rings[0]->account.stats.events, 10);
	ck_assert_uint_eq(host->rings[1]->account.stats.events, 3);
	made[0] = taken[0] = 0;
	number[0] = (uint16_t)host->rings[0]->account.stats.events;
	make_page(0, xvt_clock_read(), 10, 0);
	until_events(host_events() + 10);
	read_events(&lost);
}
END_TEST

START_TEST(a_failed_read_ends_the_host_and_nothing_else)
{
	uint64_t lost;

	until_on();
	make_page(0, xvt_clock_read(), 10, 0);
	until_events(10);
	read_err = -EIO;
	/* A pass on a busy machine may end before it comes to this ring. */
	for (int i = 0; on && i < PASSES_MAX; i++)
		pass();
	ck_assert(!on);
	ck_assert_uint_eq(read_events(&lost), 10);
}
END_TEST

START_TEST(a_machine_of_the_same_name_is_refused)
{
	const uint32_t cpu = 0;
	const struct xvt_host_source source = { .nr_cpus = 1,
						.cpus = &cpu,
						.page_size = FTRACE_PAGE,
						.page = page_of,
						.lost = lost_of,
						.record = record };
	struct xvt_error why = { "" };

	ck_assert_int_eq(xvt_session_host_attach(s, &source, &why), -EEXIST);
	ck_assert_str_ne(why.text, "");
	ck_assert_uint_eq(xvt_session_alive(s), 1);
	ck_assert_uint_eq(xvt_session_present(s), 2);
}
END_TEST

Suite *session_host_suite(void)
{
	Suite *suite = suite_create("session_host");
	TCase *tc = tcase_create("host");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, events_of_all_cpus_are_in_the_trace);
	tcase_add_test(tc, more_than_a_ring_holds_is_not_lost);
	tcase_add_test(tc, what_the_kernel_overwrote_is_lost_at_its_place);
	tcase_add_test(tc, a_pass_does_not_read_what_its_reads_cause);
	tcase_add_test(tc, the_end_takes_what_is_left);
	tcase_add_test(tc, a_late_event_keeps_its_time);
	tcase_add_test(tc, a_damaged_page_ends_at_the_damage);
	tcase_add_test(tc, a_failed_read_ends_the_host_and_nothing_else);
	tcase_add_test(tc, a_machine_of_the_same_name_is_refused);
	suite_add_tcase(suite, tc);
	return suite;
}
