// SPDX-License-Identifier: GPL-2.0
/*
 * test_analyze.c - what host/analyze/ says of traces in which it is known by construction what
 * happened. Times in the stories are microseconds; g1's clock is right to 2 us unless a story says
 * otherwise.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "export/once.h"
#include "story.h"

#define HEAD                    \
	"host 4\n"              \
	"guest g1 2 2000\n"     \
	"thread 501 g1:vcpu0\n" \
	"thread 502 g1:vcpu1\n"
/* vCPU 0 runs a task of its guest from 10 us on. */
#define BUSY                                    \
	HEAD "0 h:0 switch swapper-0 R x-501\n" \
	     "10 g1:0 switch swapper-0 R work-10\n"
#define US 1000ull

static struct xvtrace *trace;
static struct xvtrace_reader *reader;
static struct xvt_once *once;
static struct xvt_analyze *a;
static const struct xvt_stall *stalls;
static size_t stall_count;
static struct xvt_pair_event pair_first, pair_then;
static uint64_t to_us;	  /* 0: all of the story is read */
static uint64_t range_us; /* what ends before is left out */

static void fini(void)
{
	xvt_analyze_free(a);
	xvt_once_free(once);
	xvtrace_reader_free(reader);
	xvtrace_close(trace);
	a = NULL;
	once = NULL;
	reader = NULL;
	trace = NULL;
}

static void analyze(const char *story)
{
	const struct xvt_analyze_options o = { .analyses = XVT_ANALYZE_CPU | XVT_ANALYZE_STALLS |
							   XVT_ANALYZE_SCHED | XVT_ANALYZE_IRQ |
							   XVT_ANALYZE_LOSSES |
							   XVT_ANALYZE_LATENCY | XVT_ANALYZE_TIMER,
					       .first = pair_first,
					       .then = pair_then,
					       .whole = !to_us,
					       .is_range = to_us,
					       .range_ns = range_us ? STORY_BEGIN_NS + range_us * US
								    : 0,
					       .stall_min_ns = 500 * US };
	const char *path = scratch_path("story.xvt");
	const struct xvtrace_event *ev;
	struct xvtrace_error error;

	fini();
	story_make(story, path);
	ck_assert_msg(!xvtrace_open(&trace, path, 0, &error), "%s", error.text);
	ck_assert_int_eq(xvtrace_reader_new(&reader, trace), 0);
	ck_assert_int_eq(
		xvtrace_reader_flags(reader, XVTRACE_BOUND | XVTRACE_STATES | XVTRACE_COUNTS), 0);
	if (to_us)
		ck_assert_int_eq(
			xvtrace_reader_to(reader, STORY_BEGIN_NS + to_us * US, XVTRACE_MONOTONIC),
			0);
	ck_assert_int_eq(xvt_once_new(&once, trace), 0);
	ck_assert_int_eq(xvt_analyze_new(&a, &o, trace, reader), 0);
	while (xvtrace_next(reader, &ev) > 0)
		if (!xvt_once_again(once, ev))
			ck_assert_int_eq(xvt_analyze_feed(a, ev), 0);
	ck_assert_int_eq(xvtrace_check(trace), 0);
	ck_assert_int_eq(xvt_analyze_end(a), 0);
	stall_count = xvt_analyze_stalls(a, &stalls);
}

/* The line of a kind; what: its begin. cpu -1: of the machine. NULL: there is none. */
static struct xvt_line *line(const char *kind, int cpu, const char *what)
{
	struct xvt_line *const *lines;
	const size_t n = xvt_analyze_lines(a, &lines);

	for (size_t i = 0; i < n; i++) {
		struct xvt_line *l = lines[i];

		if (strcmp(l->kind, kind) == 0 && strcmp(l->machine->name, "g1") == 0 &&
		    (cpu < 0 ? !l->ring : l->ring && l->ring->cpu == (unsigned int)cpu) &&
		    strncmp(l->what, what, strlen(what)) == 0)
			return l;
	}
	return NULL;
}

static uint64_t sum(const char *kind, int cpu, const char *what)
{
	struct xvt_line *l = line(kind, cpu, what);

	return l ? l->wall.sum_ns : 0;
}

static void is_stall(uint64_t begin_us, uint64_t end_us, enum xvt_cause cause, const char *most,
		     uint64_t most_us)
{
	ck_assert_uint_eq(stall_count, 1);
	ck_assert_uint_eq(stalls[0].begin_ns, STORY_BEGIN_NS + begin_us * US);
	ck_assert_uint_eq(stalls[0].end_ns, STORY_BEGIN_NS + end_us * US);
	ck_assert_int_eq(stalls[0].cause, cause);
	ck_assert(!most == !stalls[0].most);
	if (!most)
		return;
	ck_assert_str_eq(stalls[0].most->name, most);
	ck_assert_uint_eq(stalls[0].most_ns, most_us * US);
}

/* -- who took a vCPU ------------------------------------------------------------------- */

/* 1 of the reference's scenarios. */
START_TEST(one_thread_takes_a_vcpu)
{
	analyze(BUSY "100 h:0 switch x-501 R noisy-900\n"
		     "3100 h:0 switch noisy-900 S x-501\n"
		     "3200 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3100, XVT_CAUSE_PREEMPTED, "noisy-900", 3000);
	ck_assert_int_eq(stalls[0].verdict, XVT_PROVEN);
	ck_assert_str_eq(stalls[0].guest, "task");
	ck_assert_str_eq(stalls[0].task, "work");
	ck_assert_int_eq(stalls[0].pid, 10);
	ck_assert(!stalls[0].open && !stalls[0].shares);
	ck_assert_uint_eq(sum("taken", 0, ""), 3000 * US);
	ck_assert_uint_eq(sum("taken_by", 0, "noisy-900"), 3000 * US);
	ck_assert_uint_eq(sum("on_cpu", 0, ""), 200 * US);
	ck_assert_uint_eq(xvt_analyze_impossible(a), 0);
}
END_TEST

#define CHAIN                                        \
	BUSY "100 h:0 switch x-501 R bash-900\n"     \
	     "200 h:0 switch bash-900 R noisy-901\n" \
	     "3000 h:0 switch noisy-901 S kw-902\n"  \
	     "3100 h:0 switch kw-902 S x-501\n"      \
	     "3200 g1:0 switch work-10 S swapper-0\n"

/* 2: neither the first nor the last one is it. */
START_TEST(of_a_chain_the_one_with_the_most_time_counts)
{
	analyze(CHAIN);
	is_stall(100, 3100, XVT_CAUSE_PREEMPTED, "noisy-901", 2800);
	ck_assert_str_eq(stalls[0].first->name, "bash-900");
	ck_assert_str_eq(stalls[0].last->name, "kw-902");
	ck_assert_uint_eq(sum("taken_by", 0, "bash-900"), 100 * US);
	ck_assert_uint_eq(sum("taken_by", 0, "noisy-901"), 2800 * US);
	ck_assert_uint_eq(sum("taken_by", 0, "kw-902"), 100 * US);
}
END_TEST

/* 3: with the switches of VMM threads alone, nobody is named. */
START_TEST(an_occupant_that_was_not_recorded_is_not_guessed)
{
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "3100 h:0 switch kw-902 S x-501\n"
		     "3200 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3100, XVT_CAUSE_PREEMPTED, "(not recorded)", 3000);
	ck_assert_int_eq(stalls[0].verdict, XVT_NOT_RECORDED);
	ck_assert_uint_eq(sum("taken", 0, ""), 3000 * US);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_PROVEN);
	ck_assert_int_eq(line("taken_by", 0, "(not")->verdict, XVT_NOT_RECORDED);
	ck_assert_ptr_null(line("taken_by", 0, "bash"));
	ck_assert_ptr_null(line("taken_by", 0, "kw"));
}
END_TEST

/* Even where one thread seems to have had the CPU all the time: another switch shows that those of
 * threads that are no VMM's are missing. Those of VMMs are all there. */
START_TEST(without_all_switches_only_threads_of_vmms_are_named)
{
	analyze(HEAD "guest g2 1 2000\n"
		     "thread 610 g2:vcpu0\n"
		     "thread 611 g2:qemu\n"
		     "0 h:0 switch swapper-0 R x-501\n"
		     "1 h:1 switch swapper-0 R x-610\n"
		     "10 g1:0 switch swapper-0 R work-10\n"
		     "100 h:0 switch x-501 R bash-900\n"
		     "3100 h:0 switch bash-900 R x-501\n"
		     "4000 h:0 switch x-501 R qemu-611\n"
		     "5100 h:0 switch qemu-611 R x-501\n"
		     "5200 h:0 switch x-501 R bash-900\n"
		     "5300 h:0 switch kw-902 S x-501\n"
		     "5400 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(stall_count, 2);
	ck_assert_str_eq(stalls[0].most->name, "(not recorded)");
	ck_assert_int_eq(stalls[0].verdict, XVT_NOT_RECORDED);
	ck_assert_str_eq(stalls[1].most->name, "g2:qemu-611");
	ck_assert_int_eq(stalls[1].verdict, XVT_PROVEN);
	ck_assert_uint_eq(sum("taken_by", 0, "(not recorded)"), 3100 * US);
}
END_TEST

/* Of 70 occupants some have no room: which of these had most is not known. */
START_TEST(occupants_without_room_may_have_had_more)
{
	char story[8192] = BUSY "100 h:0 switch x-501 R t-1000\n";
	size_t at = strlen(story);

	for (int i = 1; i < 70; i++)
		at += (size_t)snprintf(story + at, sizeof(story) - at,
				       "%d h:0 switch t-%d S t-%d\n", 100 + 10 * i, 999 + i,
				       1000 + i);
	snprintf(story + at, sizeof(story) - at, "800 h:0 switch t-1069 S x-501\n");
	analyze(story);
	is_stall(100, 800, XVT_CAUSE_PREEMPTED, "t-1000", 10);
	ck_assert_int_eq(stalls[0].verdict, XVT_UNTOLD);
}
END_TEST

/* It goes on at the end of the trace. */
START_TEST(a_stall_may_have_no_end)
{
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:1 switch swapper-0 R kw-902\n");
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900);
	ck_assert(stalls[0].open);
}
END_TEST

/* Switches of other threads are recorded, and one is missing on this CPU. */
START_TEST(who_did_not_come_by_a_switch_is_not_an_occupant)
{
	analyze(BUSY "20 h:1 switch swapper-0 R kw-902\n"
		     "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:0 switch noisy-901 S x-501\n");
	ck_assert_uint_eq(stall_count, 1);
	ck_assert_int_eq(stalls[0].most->tid, -1);
	ck_assert_int_eq(stalls[0].verdict, XVT_NOT_RECORDED);
}
END_TEST

/* 4 */
START_TEST(silence_of_an_idle_vcpu_is_no_stall)
{
	analyze(HEAD "0 h:0 switch swapper-0 R x-501\n"
		     "10 g1:0 switch work-10 S swapper-0\n"
		     "20 h:0 switch x-501 S swapper-0\n"
		     "100020 h:0 waking x-501 0 irq\n"
		     "100030 h:0 switch swapper-0 R x-501\n"
		     "100040 g1:0 switch swapper-0 R work-10\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(sum("taken", 0, ""), 0);
	ck_assert_uint_eq(sum("idle", 0, ""), 100010 * US);
}
END_TEST

/* 5: an event of the guest within its bound of both ends may be before or behind the interval. */
START_TEST(what_the_bounds_leave_open_is_not_told)
{
	static const uint64_t at_ns[] = { 99500, 100500, 101500 };
	const uint64_t wall = at_ns[_i] - 10000;
	char story[1024];

	snprintf(story, sizeof(story),
		 BUSY "100 h:0 switch x-501 R bash-900\n"
		      "101 h:0 switch bash-900 R x-501\n"
		      "%.1f g1:0 switch work-10 S swapper-0\n"
		      "200 h:0 switch x-501 S swapper-0\n",
		 (double)at_ns[_i] / 1000);
	analyze(story);
	ck_assert_uint_eq(line("taken", 0, "")->wall.n, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold, 1);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 1 * US);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_UNTOLD);
	ck_assert_int_eq(line("stalls", 0, "")->verdict, XVT_UNTOLD);
	/* A task that ran over it, or not: own is a range. */
	ck_assert_uint_eq(line("run", -1, "")->wall.sum_ns, wall);
	ck_assert_uint_eq(line("run", -1, "")->own_most.sum_ns, wall);
	ck_assert_uint_eq(line("run", -1, "")->own_least.sum_ns, wall - 1 * US);
	ck_assert_uint_eq(xvt_analyze_impossible(a), 0);
}
END_TEST

#define WIDE                                   \
	"host 4\n"                             \
	"guest g1 2 800000\n"                  \
	"thread 501 g1:vcpu0\n"                \
	"0 h:0 switch swapper-0 R x-501\n"     \
	"10 g1:0 switch swapper-0 R work-10\n" \
	"2000 h:0 switch x-501 R bash-900\n"   \
	"2600 h:0 switch bash-900 R x-501\n"

/* On either side of the event the guest wanted to run. */
START_TEST(an_open_order_of_busy_states_is_a_stall)
{
	analyze(WIDE "2300 g1:0 soft 9\n"
		     "5000 g1:0 softx 9\n");
	is_stall(2000, 2600, XVT_CAUSE_PREEMPTED, "bash-900", 600);
	ck_assert_str_eq(stalls[0].guest, "busy");
	ck_assert_int_eq(stalls[0].pid, 10);
	ck_assert_uint_eq(line("taken", 0, "")->untold, 0);
	analyze(WIDE "2300 g1:0 switch work-10 R other-11\n"
		     "5000 g1:0 switch other-11 S swapper-0\n");
	is_stall(2000, 2600, XVT_CAUSE_PREEMPTED, "bash-900", 600);
	ck_assert_str_eq(stalls[0].guest, "task");
	ck_assert_int_eq(stalls[0].pid, -1);
	analyze(WIDE "2300 g1:0 switch work-10 S swapper-0\n"
		     "5000 g1:0 switch swapper-0 R work-10\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 600 * US);
	/* It may have waited since the wake-up only. */
	analyze(WIDE "20 g1:0 switch work-10 S swapper-0\n"
		     "2100 g1:1 wakeup work-10 0\n"
		     "2300 g1:0 switch swapper-0 R work-10\n"
		     "5000 g1:0 switch work-10 S swapper-0\n");
	is_stall(2100, 2600, XVT_CAUSE_PREEMPTED, "bash-900", 500);
	/* Two events, and the guest was idle between them. */
	analyze(WIDE "2300 g1:0 switch work-10 S swapper-0\n"
		     "2400 g1:0 switch swapper-0 R work-10\n"
		     "5000 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 600 * US);
}
END_TEST

/* Its time is anywhere between the events around it whose times are not flagged. */
START_TEST(a_flagged_event_may_be_before_an_interval)
{
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3200C g1:0 switch work-10 S swapper-0\n"
		     "3300 g1:0 switch swapper-0 R work-10\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 2900 * US);
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3200C g1:0 soft 9\n"
		     "3300 g1:0 softx 9\n");
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900);
	ck_assert_str_eq(stalls[0].guest, "busy");
	ck_assert_int_eq(stalls[0].pid, -1);
}
END_TEST

/* An interval of 1 us is told where no event is near it. */
START_TEST(a_short_interval_without_events_near_it_is_told)
{
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "101 h:0 switch bash-900 R x-501\n"
		     "103.5 g1:0 switch work-10 S swapper-0\n"
		     "200 h:0 switch x-501 S swapper-0\n");
	ck_assert_uint_eq(sum("taken", 0, ""), 1 * US);
	ck_assert_uint_eq(line("taken", 0, "")->untold, 0);
	ck_assert_uint_eq(line("run", -1, "")->own_most.sum_ns, 92500);
	ck_assert_uint_eq(line("run", -1, "")->own_least.sum_ns, 92500);
}
END_TEST

/* 7 */
/* 15: the host's clock, or the guest's, goes on by another line while the vCPU is taken. What is
 * told of the times behind it has the bound there. */
START_TEST(a_clock_changes_its_line_in_a_stall)
{
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "1500 h line 50000\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "4000 g1:0 switch work-10 S swapper-0\n"
		     "4010 h:0 switch x-501 R bash-900\n"
		     "4030 h:0 switch bash-900 R x-501\n"
		     "4100 g1:0 switch swapper-0 R work-10\n");
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900);
	ck_assert_uint_ge(line("taken", 0, "")->wall.bound_most_ns, 50000);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 20 * US);
	ck_assert_ptr_null(line("idle", 0, ""));
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "1500 g1 line 50000\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3010 g1:0 switch work-10 S swapper-0\n"
		     "3400 h:0 switch x-501 S swapper-0\n"
		     "4000 h:0 switch swapper-0 R x-501\n"
		     "4040 g1:0 switch swapper-0 R work-10\n");
	/* The switch may be before the whole of it, or behind it. */
	ck_assert_uint_eq(stall_count, 1);
	ck_assert_uint_ge(stalls[0].bound_ns, 50000);
	ck_assert_uint_eq(sum("idle", 0, ""), 600 * US);
}
END_TEST

#define WAITS                                      \
	HEAD "0 h:0 switch swapper-0 R x-501\n"    \
	     "0 h:1 switch swapper-0 R x-502\n"    \
	     "5 g1:0 switch swapper-0 R work-10\n" \
	     "10 g1:0 switch work-10 S swapper-0\n"
#define COMES_AT_3000                            \
	"3000 g1:0 switch swapper-0 R work-10\n" \
	"3100 g1:0 switch work-10 S swapper-0\n"

/* The wait of work, and of how many the begin is not known. */
static void waits(uint64_t n, uint64_t us, uint64_t no_begin)
{
	static const char *const kinds[] = { "wait", "task_wait", "task_wake" };

	for (size_t i = 0; i < 3; i++) {
		const struct xvt_line *l =
			line(kinds[i], i == 2 ? 0 : -1, i == 1 ? "wait work" : "");

		ck_assert_ptr_nonnull(l);
		ck_assert_uint_eq(l->wall.n, n);
		ck_assert_uint_eq(l->wall.sum_ns, us * US);
		ck_assert_uint_eq(l->no_begin, no_begin);
		ck_assert_int_eq(l->verdict, n ? XVT_PROVEN : XVT_UNTOLD);
	}
}

START_TEST(a_wait_begins_with_the_wake_up_of_its_sleep)
{
	analyze(WAITS "2900 g1:1 waking work-10 0 oth-11\n" COMES_AT_3000);
	waits(1, 100, 0);
	/* waking, then wakeup */
	analyze(WAITS "2900 g1:1 waking work-10 0 oth-11\n"
		      "2902 g1:0 wakeup work-10 0 oth-11\n" COMES_AT_3000);
	waits(1, 100, 0);
	/* Of the sleep before, by its bound. */
	analyze(WAITS "12 g1:1 waking work-10 0 oth-11\n"
		      "2900 g1:1 waking work-10 0 oth-11\n" COMES_AT_3000);
	waits(1, 100, 0);
	/* On the CPU that the task left the order is known. */
	analyze(WAITS "12 g1:0 waking work-10 0 oth-11\n" COMES_AT_3000);
	waits(1, 2988, 0);
}
END_TEST

START_TEST(a_wait_without_a_begin_is_counted)
{
	/* The wake-up is missing; its time is behind the switch to the task; or before the one
	 * away; it may be of the sleep before; it is flagged. */
	static const char *const wakings[] = { "", "3001 g1:1 waking work-10 0 oth-11\n",
					       "9 g1:1 waking work-10 0 oth-11\n",
					       "12 g1:1 waking work-10 0 oth-11\n",
					       "2900C g1:1 waking work-10 0 oth-11\n" };
	const bool late = _i == 1, early = _i == 2;
	char story[2048];

	snprintf(story, sizeof(story),
		 HEAD "0 h:0 switch swapper-0 R x-501\n"
		      "1 g1:1 waking oth-12 0 oth-11\n"
		      "5 g1:0 switch swapper-0 R work-10\n%s"
		      "10 g1:0 switch work-10 S swapper-0\n%s"
		      "3000 g1:0 switch swapper-0 R work-10\n%s"
		      "3100 g1:0 switch work-10 S swapper-0\n",
		 early ? wakings[_i] : "", !early && !late ? wakings[_i] : "",
		 late ? wakings[_i] : "");
	analyze(story);
	waits(0, 0, 1);
}
END_TEST

START_TEST(a_task_that_was_pre_empted_waits_for_no_wake_up)
{
	analyze(HEAD "0 h:0 switch swapper-0 R x-501\n"
		     "1 g1:1 waking oth-12 0 oth-11\n"
		     "5 g1:0 switch swapper-0 R work-10\n"
		     "10 g1:0 switch work-10 R oth-11\n"
		     "3000 g1:0 switch oth-11 R work-10\n"
		     "3100 g1:0 switch work-10 S swapper-0\n");
	ck_assert_ptr_null(line("wait", -1, ""));
	ck_assert_ptr_null(line("task_wake", 0, ""));
}
END_TEST

/* It may be of another sleep, which was lost. */
START_TEST(a_wake_up_before_a_loss_begins_no_wait)
{
	analyze(WAITS "20 g1:1 waking work-10 0 oth-11\n"
		      "500 g1:0 lost 5\n" COMES_AT_3000);
	waits(0, 0, 1);
	analyze(WAITS "20 g1:1 waking work-10 0 oth-11\n"
		      "500 g1:0 lost 5\n"
		      "2900 g1:1 waking work-10 0 oth-11\n" COMES_AT_3000);
	waits(1, 100, 0);
	analyze(WAITS "20 g1:1 waking work-10 0 oth-11\n"
		      "500 g1 reset\n" COMES_AT_3000);
	waits(0, 0, 1);
}
END_TEST

/* Its wake-up was recorded before the switch away from it, which says that it sleeps. */
#define EARLY                                        \
	BUSY "99 h:1 waking x-501 0 qemu-600\n"      \
	     "100 h:0 switch x-501 S bash-900\n"     \
	     "400 h:0 switch bash-900 R noisy-901\n" \
	     "3400 h:0 switch noisy-901 S x-501\n"

START_TEST(a_thread_that_was_woken_before_it_left_its_cpu_waits)
{
	struct xvt_line *l;

	analyze(EARLY "3500 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3400, XVT_CAUSE_WAITS, "noisy-901", 3000);
	ck_assert_int_eq(stalls[0].verdict, XVT_PROVEN);
	ck_assert_str_eq(stalls[0].first->name, "bash-900");
	ck_assert_str_eq(stalls[0].waker->name, "<...>-600");
	ck_assert_uint_eq(sum("taken_by", 0, "noisy-901"), 3000 * US);
	ck_assert_ptr_null(line("asleep", 0, ""));
	l = line("vcpu_wake", 0, "");
	ck_assert_uint_eq(l->wall.n, 1);
	ck_assert_uint_eq(l->wall.sum_ns, 3301 * US);
}
END_TEST

/* It went on after that wake-up, and slept for another reason. */
START_TEST(a_wake_up_of_a_thread_that_then_sleeps_is_not_its_end)
{
	analyze(BUSY "50 h:1 waking x-501 0 qemu-600\n"
		     "100 h:0 switch x-501 S bash-900\n"
		     "3000 h:1 waking x-501 0 kw-902\n"
		     "3400 h:0 switch bash-900 S x-501\n"
		     "3500 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3400, XVT_CAUSE_SLEEPS, "bash-900", 400);
	ck_assert_str_eq(stalls[0].waker->name, "<...>-902");
	ck_assert_uint_eq(line("vcpu_wake", 0, "")->wall.sum_ns, 400 * US);
	/* A sleep before that one is over, too. */
	analyze(BUSY "50 h:1 waking x-501 0 qemu-600\n"
		     "60 h:0 switch x-501 R bash-900\n"
		     "70 h:0 switch bash-900 R x-501\n"
		     "100 h:0 switch x-501 S bash-900\n"
		     "3400 h:0 switch bash-900 S x-501\n"
		     "3500 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3400, XVT_CAUSE_SLEEPS, NULL, 0);
	/* A thread that was pre-empted waits, whatever wakes it. */
	analyze(BUSY "50 h:1 waking x-501 0 qemu-600\n"
		     "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:1 waking x-501 0 kw-902\n"
		     "3400 h:0 switch bash-900 S x-501\n"
		     "3500 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3400, XVT_CAUSE_PREEMPTED, "bash-900", 3300);
	/* One whose switch away is missing had slept. */
	analyze(BUSY "50 h:1 waking x-501 0 qemu-600\n"
		     "70 h:0 switch bash-900 R x-501\n"
		     "80 g1:0 soft 9\n"
		     "90 g1:0 softx 9\n"
		     "100 h:0 switch x-501 S bash-900\n"
		     "3400 h:0 switch bash-900 S x-501\n"
		     "3500 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3400, XVT_CAUSE_SLEEPS, NULL, 0);
}
END_TEST

/* Neither its next wake-up nor its next switch is there to tell; nor where events are lost. */
START_TEST(whether_it_was_woken_before_it_left_may_be_open)
{
	analyze(BUSY "99 h:1 waking x-501 0 qemu-600\n"
		     "100 h:0 switch x-501 S bash-900\n"
		     "3400 h:0 switch bash-900 S kw-902\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_int_eq(line("stalls", 0, "")->verdict, XVT_UNTOLD);
	analyze(BUSY "50 h:1 waking x-501 0 qemu-600\n"
		     "60 h:1 lost 3\n"
		     "100 h:0 switch x-501 S bash-900\n"
		     "3400 h:0 switch bash-900 S x-501\n"
		     "3500 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3400, XVT_CAUSE_SLEEPS, NULL, 0);
	ck_assert_ptr_null(stalls[0].waker);
}
END_TEST

START_TEST(a_vmm_that_sleeps_is_a_cause_of_its_own)
{
	analyze(BUSY "100 h:0 switch x-501 S other-900\n"
		     "4000 h:0 waking x-501 0 qemu-500\n"
		     "4200 h:0 switch other-900 R x-501\n"
		     "4300 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 4200, XVT_CAUSE_SLEEPS, "other-900", 200);
	ck_assert_str_eq(stalls[0].waker->name, "<...>-500");
	ck_assert(!stalls[0].waker_irq);
	ck_assert_uint_eq(sum("asleep", 0, ""), 3900 * US);
	ck_assert_uint_eq(sum("taken_by", 0, "other-900"), 200 * US);
}
END_TEST

START_TEST(a_thread_is_blocked_or_stopped)
{
	static const struct {
		const char *state, *kind;
		enum xvt_cause cause;
	} cases[] = { { "D", "blocked", XVT_CAUSE_BLOCKED },
		      { "T", "stopped", XVT_CAUSE_STOPPED },
		      { "t", "stopped", XVT_CAUSE_STOPPED } };
	char story[1024];

	snprintf(story, sizeof(story),
		 BUSY "100 h:0 switch x-501 %s other-900\n"
		      "4000 h:0 waking x-501 0 qemu-500\n"
		      "4200 h:0 switch other-900 R x-501\n"
		      "4300 g1:0 switch work-10 S swapper-0\n",
		 cases[_i].state);
	analyze(story);
	is_stall(100, 4200, cases[_i].cause, "other-900", 200);
	ck_assert_int_eq(stalls[0].verdict, XVT_PROVEN);
	ck_assert_uint_eq(sum(cases[_i].kind, 0, ""), 3900 * US);
	ck_assert_uint_eq(sum("asleep", 0, ""), 0);
}
END_TEST

/* 8: it waits behind two threads on two CPUs. */
START_TEST(a_wait_goes_on_after_a_migration)
{
	analyze(BUSY "20 h:1 switch swapper-0 R bash-901\n"
		     "30 h:0 switch x-501 S other-900\n"
		     "1000 h:0 waking x-501 0 irq\n"
		     "3000 h:1 migrate x-501 1\n"
		     "6000 h:1 switch bash-901 R x-501\n"
		     "6100 g1:0 switch work-10 S swapper-0\n");
	is_stall(30, 6000, XVT_CAUSE_WAITS, "bash-901", 3000);
	ck_assert(stalls[0].waker_irq);
	ck_assert_uint_eq(sum("taken_by", 0, "other-900"), 2000 * US);
	ck_assert_uint_eq(sum("taken_by", 0, "bash-901"), 3000 * US);
	ck_assert_uint_eq(sum("asleep", 0, ""), 970 * US);
}
END_TEST

/* 9 */
START_TEST(a_pause_is_no_preemption)
{
	analyze(BUSY "100 h:0 switch x-501 S swapper-0\n"
		     "110 g1 paused\n"
		     "9000 g1 runs 110\n"
		     "9010 h:0 waking x-501 0 qemu-500\n"
		     "9020 h:0 switch swapper-0 R x-501\n"
		     "9100 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 9020, XVT_CAUSE_PAUSED, "an idle host CPU", 10);
	ck_assert_uint_eq(sum("paused", 0, ""), 8920 * US);
	ck_assert_uint_eq(sum("taken", 0, ""), 0);
}
END_TEST

/* 10: what the guest was at before the interval was in an event that was lost. */
START_TEST(a_loss_leaves_the_interval_before_it_open)
{
	analyze(BUSY "20 g1:0 soft 1\n"
		     "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3100 g1:0 lost 3\n"
		     "3100 g1:0 softx 1\n"
		     "3200 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold, 1);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 2900 * US);
	ck_assert_ptr_null(line("softirq", -1, "")); /* no pair over the loss */
	ck_assert_ptr_null(line("run", -1, ""));
}
END_TEST

START_TEST(a_loss_of_the_host_leaves_the_interval_open)
{
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "2000 h:0 lost 7\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3200 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 2900 * US);
	ck_assert_uint_eq(line("run", -1, "")->own_unknown, 1);
	analyze(BUSY "100 g1:0 soft 9\n"
		     "2000 h:0 lost 7\n" /* the thread was on the CPU, as far as is known */
		     "3000 g1:0 softx 9\n");
	ck_assert_uint_eq(line("softirq", -1, "")->wall.max_ns, 2900 * US);
	ck_assert_uint_eq(line("softirq", -1, "")->own_unknown, 1);
}
END_TEST

/* 12: the VMM's number of a vCPU is not the guest's. */
START_TEST(a_vcpu_is_found_by_its_hardware_number)
{
	analyze("host 2\n"
		"guest g1 2 2000 8\n"
		"thread 501 g1:vcpu0\n"
		"thread 509 g1:vcpu9\n"
		"0 h:0 switch swapper-0 R x-509\n"
		"10 g1:1 switch swapper-0 R work-10\n"
		"100 h:0 switch x-509 R bash-900\n"
		"3000 h:0 switch bash-900 R x-509\n"
		"3100 g1:1 switch work-10 S swapper-0\n");
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900);
	ck_assert_uint_eq(stalls[0].ring->cpu, 1);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_NOT_RECORDED);
}
END_TEST

/* 20 */
START_TEST(a_time_in_doubt_tells_nothing)
{
	static const char *const flags[] = { "U", "C", "" };
	char story[1024];

	snprintf(story, sizeof(story),
		 HEAD "0 h:0 switch swapper-0 R x-501\n"
		      "10%s g1:0 switch swapper-0 R work-10\n"
		      "100 h:0 switch x-501 R bash-900\n"
		      "3000 h:0 switch bash-900 R x-501\n"
		      "3200 g1:0 switch work-10 S swapper-0\n",
		 flags[_i]);
	analyze(story);
	ck_assert_uint_eq(stall_count, flags[_i][0] ? 0 : 1);
	ck_assert_uint_eq(line("taken", 0, "")->untold, flags[_i][0] ? 1 : 0);
	ck_assert_uint_eq(line("run", -1, "")->own_unknown, flags[_i][0] ? 1 : 0);
}
END_TEST

/* 21: while the thread is on a CPU, each of its vCPUs may run or not. */
START_TEST(a_thread_of_all_vcpus_proves_what_it_took_alone)
{
	analyze("host 2\n"
		"guest g1 2 2000\n"
		"thread 501 g1:vcpus\n"
		"0 h:0 switch swapper-0 R x-501\n"
		"10 g1:0 switch swapper-0 R work-10\n"
		"20 g1:1 switch work-11 S swapper-0\n"
		"100 h:0 switch x-501 R bash-900\n"
		"3000 h:0 switch bash-900 R x-501\n"
		"3100 g1:0 switch work-10 S swapper-0\n"
		"3200 g1:1 switch swapper-0 S work-11\n");
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900); /* of one: the other is idle */
	ck_assert_uint_eq(stalls[0].ring->cpu, 0);
	ck_assert(stalls[0].shares);
	ck_assert(line("run", -1, "run, all")->shares);
	ck_assert_uint_eq(line("run", -1, "run, all")->own_most.sum_ns, 190 * US);
	ck_assert_uint_eq(line("run", -1, "run, all")->own_least.sum_ns, 0);
}
END_TEST

/* 24: it came when events of later times had been written. */
START_TEST(a_late_event_is_taken_at_its_time)
{
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3200 g1:0 switch other-11 S swapper-0\n"
		     "50L g1:0 switch work-10 S other-11\n");
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900);
	ck_assert_str_eq(stalls[0].task, "other");
	ck_assert_int_eq(stalls[0].pid, 11);
}
END_TEST

/* 25: its number had the name of its parent before. */
START_TEST(a_thread_has_the_name_that_it_has_at_last)
{
	analyze(BUSY "20 h:1 switch swapper-0 R bash-900\n"
		     "30 h:1 switch bash-900 R swapper-0\n"
		     "100 h:0 switch x-501 R bash-900\n"
		     "600 h:0 switch bash-900 R other-901\n"
		     "700 h:0 switch other-901 R bash-900\n"
		     "3000 h:0 switch noisy-900 R x-501\n"
		     "3200 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "noisy-900", 2800);
	ck_assert_ptr_null(line("taken_by", 0, "bash"));
}
END_TEST

/* 26: another vCPU put a task on its queue at 1000. */
START_TEST(an_idle_vcpu_with_a_task_that_waits_is_stalled)
{
	analyze(HEAD "0 h:0 switch swapper-0 R x-501\n"
		     "5 h:1 switch swapper-0 R x-502\n"
		     "10 g1:0 switch work-10 S swapper-0\n"
		     "12 g1:1 switch swapper-0 R other-11\n"
		     "20 h:0 switch x-501 S bash-900\n"
		     "1000 g1:1 wakeup work-10 0\n"
		     "1010 h:0 waking x-501 0 x-502\n"
		     "4000 h:0 switch bash-900 R x-501\n"
		     "4010 g1:0 switch swapper-0 R work-10\n");
	is_stall(1000, 4000, XVT_CAUSE_WAITS, "bash-900", 2990);
	ck_assert_str_eq(stalls[0].guest, "woken");
	ck_assert_str_eq(stalls[0].waker->name, "g1:vcpu1-502");
	ck_assert_uint_eq(sum("idle", 0, ""), 980 * US);
	ck_assert_uint_eq(sum("taken", 0, ""), 3000 * US);
}
END_TEST

/* sched_waking has the CPU on which it ran before: it may be put on any. */
START_TEST(a_waking_does_not_tell_the_queue)
{
	analyze(HEAD "0 h:0 switch swapper-0 R x-501\n"
		     "5 h:1 switch swapper-0 R x-502\n"
		     "10 g1:0 switch work-10 S swapper-0\n"
		     "12 g1:1 switch swapper-0 R other-11\n"
		     "20 h:0 switch x-501 S bash-900\n"
		     "1000 g1:1 waking work-10 0\n"
		     "1005 g1:1 switch other-11 S work-10\n"
		     "4000 h:0 switch bash-900 R x-501\n"
		     "4010 g1:0 soft 1\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(sum("idle", 0, ""), 3980 * US);
	ck_assert_uint_eq(sum("taken", 0, ""), 0);
	ck_assert_uint_eq(line("task_wait", -1, "wait work-10")->wall.sum_ns, 5 * US);
}
END_TEST

START_TEST(the_recorder_is_named)
{
	analyze(HEAD "comm 900 xvtrace\n"
		     "comm 901 iou-wrk-900\n"
		     "process 901 900\n"
		     "0 h:0 switch swapper-0 R x-501\n"
		     "10 g1:0 switch swapper-0 R work-10\n"
		     "100 h:0 switch x-501 R iou-wrk-901\n"
		     "3000 h:0 switch iou-wrk-901 R x-501\n"
		     "3200 g1:0 switch work-10 S swapper-0\n");
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "iou-wrk-901", 2900);
	ck_assert(stalls[0].most->recorder);
	ck_assert(line("taken_by", 0, "iou")->thread->recorder);
}
END_TEST

/* Wall is told, own is not. */
START_TEST(without_switches_of_the_host_nothing_is_taken)
{
	analyze(HEAD "10 g1:0 switch swapper-0 R work-10\n"
		     "20 g1:0 soft 9\n"
		     "9000 g1:0 softx 9\n"
		     "9100 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_int_eq(line("stalls", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_str_eq(line("stalls", 0, "")->needs, "record --host sched");
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_uint_eq(sum("softirq", -1, ""), 8980 * US);
	ck_assert_uint_eq(line("softirq", -1, "")->own_most.n, 0); /* never wall */
	ck_assert_uint_eq(line("softirq", -1, "")->own_unknown, 1);
}
END_TEST

/* Nothing is told of what the guest was at: that nothing was taken is not known either. */
START_TEST(what_a_guest_was_at_is_not_recorded)
{
	analyze(HEAD "0 h:0 switch swapper-0 R x-501\n"
		     "1 h:1 switch swapper-0 R x-502\n"
		     "10 g1:0 soft 9\n"
		     "20 g1:0 softx 9\n"
		     "100 h:0 switch x-501 R bash-900\n"
		     "3100 h:0 switch bash-900 R x-501\n"
		     "3200 g1:0 soft 9\n");
	ck_assert_uint_eq(sum("unknown", 0, ""), 3000 * US);
	ck_assert_int_eq(line("unknown", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_ptr_nonnull(strstr(line("unknown", 0, "")->needs, "-e sched:sched_switch"));
	ck_assert_uint_eq(line("taken", 0, "")->wall.n, 0);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_ptr_nonnull(strstr(line("taken", 0, "")->needs, "-e sched:sched_switch"));
	ck_assert_int_eq(line("stalls", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_ptr_nonnull(strstr(line("stalls", 0, "")->needs, "-e sched:sched_switch"));
	/* Its thread was never off the CPU: whatever it was at, nothing was taken. */
	ck_assert_int_eq(line("taken", 1, "")->verdict, XVT_PROVEN);
	ck_assert_int_eq(line("stalls", 1, "")->verdict, XVT_PROVEN);
	/* A handler that was taken is proven; others may have been. */
	analyze(HEAD "0 h:0 switch swapper-0 R x-501\n"
		     "10 g1:0 soft 9\n"
		     "100 h:0 switch x-501 R bash-900\n"
		     "3100 h:0 switch bash-900 R x-501\n"
		     "3200 g1:0 softx 9\n");
	ck_assert_uint_eq(sum("taken", 0, ""), 3000 * US);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_PROVEN);
	ck_assert_int_eq(line("stalls", 0, "")->verdict, XVT_NOT_RECORDED);
}
END_TEST

#define LATER_KNOWN                                   \
	HEAD "0 h:0 switch swapper-0 R x-501\n"       \
	     "100 h:0 switch x-501 R bash-900\n"      \
	     "%u h:0 switch bash-900 R x-501\n"       \
	     "3200 g1:0 switch work-10 S swapper-0\n" \
	     "3300 h:0 switch x-501 S swapper-0\n"    \
	     "8000 h:0 switch swapper-0 R x-501\n"    \
	     "8100 g1:0 switch swapper-0 R work-10\n"

/* Until its first switch it may have wanted to run; then it was idle. */
START_TEST(what_a_guest_was_at_is_known_later)
{
	static const unsigned int end_us[] = { 3100, 300 };
	char story[1024];

	snprintf(story, sizeof(story), LATER_KNOWN, end_us[_i]);
	analyze(story);
	ck_assert_uint_eq(sum("unknown", 0, ""), (end_us[_i] - 100) * US);
	ck_assert_int_eq(line("unknown", 0, "")->verdict, XVT_UNTOLD);
	ck_assert_ptr_null(line("unknown", 0, "")->needs);
	ck_assert_uint_eq(sum("idle", 0, ""), 4700 * US);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_UNTOLD);
	ck_assert_ptr_null(line("taken", 0, "")->needs);
	/* No stall is as short as the second one. */
	ck_assert_int_eq(line("stalls", 0, "")->verdict, _i ? XVT_PROVEN : XVT_UNTOLD);
	ck_assert_ptr_null(line("stalls", 0, "")->needs);
}
END_TEST

/* A pause took it, whatever it was at. */
START_TEST(a_pause_of_an_unknown_state_is_known)
{
	analyze(HEAD "0 h:0 switch swapper-0 R x-501\n"
		     "100 h:0 switch x-501 S swapper-0\n"
		     "110 g1 paused\n"
		     "9000 g1 runs 110\n"
		     "9020 h:0 switch swapper-0 R x-501\n"
		     "9100 g1:0 switch swapper-0 R work-10\n");
	ck_assert_uint_eq(sum("paused", 0, ""), 8920 * US);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_PROVEN);
}
END_TEST

/* Of its thread a wake-up alone is there: it may have had a CPU all the time. */
START_TEST(a_thread_without_a_switch_tells_nothing)
{
	analyze(HEAD "10 g1:0 switch swapper-0 R work-10\n"
		     "100 h:1 waking x-501 0 other-7\n"
		     "5000 g1:0 switch work-10 S swapper-0\n");
	ck_assert_ptr_null(line("on_cpu", 0, ""));
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_str_eq(line("taken", 0, "")->needs, "record --host sched");
	ck_assert_int_eq(line("stalls", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_str_eq(line("stalls", 0, "")->needs, "record --host sched");
	ck_assert_int_eq(line("vcpu_wake", 0, "")->verdict, XVT_NOT_RECORDED);
}
END_TEST

/* When it came to its CPU, and when it left it, was lost. */
START_TEST(a_thread_between_losses_is_not_told)
{
	analyze(HEAD "0 h:0 switch swapper-0 R x-501\n"
		     "10 g1:0 switch swapper-0 R work-10\n"
		     "100 h:0 lost 5\n"
		     "5000 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(line("on_cpu", 0, "")->wall.n, 0);
	ck_assert_int_eq(line("on_cpu", 0, "")->verdict, XVT_UNTOLD);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_UNTOLD);
	ck_assert_int_eq(line("stalls", 0, "")->verdict, XVT_UNTOLD);
	/* A loss at the end takes nothing from the begin. */
	analyze(HEAD "50 h:0 switch swapper-0 R x-501\n"
		     "60 g1:0 switch swapper-0 R work-10\n"
		     "150 h:0 switch x-501 R bash-900\n"
		     "200 h:0 lost 5\n"
		     "5000 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(sum("on_cpu", 0, ""), 100 * US);
	ck_assert_uint_eq(line("on_cpu", 0, "")->wall.max_at_ns, STORY_BEGIN_NS + 50 * US);
}
END_TEST

START_TEST(an_impossible_event_is_counted)
{
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "1000 g1:0 switch work-10 S swapper-0\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3200 g1:0 switch swapper-0 R work-10\n");
	ck_assert_uint_eq(xvt_analyze_impossible(a), 1);
}
END_TEST

START_TEST(switches_that_no_loss_explains_are_counted)
{
	analyze(HEAD "20 h:1 switch swapper-0 R bash-900\n"
		     "30 h:1 switch bash-900 R other-902\n"
		     "40 h:1 switch kw-903 S swapper-0\n");
	ck_assert_uint_eq(xvt_analyze_missing(a), 1);
	analyze(HEAD "20 h:1 switch swapper-0 R bash-900\n"
		     "30 h:1 switch bash-900 R other-902\n"
		     "35 h:1 lost 2\n"
		     "40 h:1 switch kw-903 S swapper-0\n");
	ck_assert_uint_eq(xvt_analyze_missing(a), 0);
	/* Switches of VMMs' threads only: the others were not asked for. */
	analyze(HEAD "20 h:1 switch swapper-0 R x-501\n"
		     "40 h:1 switch kw-903 R x-502\n");
	ck_assert_uint_eq(xvt_analyze_missing(a), 0);
}
END_TEST

/* The filter of ftrace leaves out switches from the idle task to a thread. */
START_TEST(a_switch_that_was_not_recorded_leaves_its_time_open)
{
	analyze(BUSY "20 g1:0 soft 9\n"
		     "100 h:0 switch x-501 S swapper-0\n"
		     "1000 g1:0 softx 9\n" /* it came back, and nobody tells when */
		     "1010 g1:0 soft 1\n"
		     "3000 h:0 switch x-501 R bash-900\n"
		     "6000 h:0 switch bash-900 R x-501\n"
		     "6100 g1:0 softx 1\n"
		     "6110 g1:0 soft 7\n"
		     "6120 g1:0 softx 7\n"
		     "6200 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(xvt_analyze_impossible(a), 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 2900 * US);
	/* The next one is recorded as a whole, and the guest was in the second handler. */
	is_stall(3000, 6000, XVT_CAUSE_PREEMPTED, "(not recorded)", 3000);
	ck_assert_str_eq(stalls[0].guest, "softirq");
	ck_assert_uint_eq(line("softirq", -1, "softirq RCU")->wall.max_ns, 980 * US);
	ck_assert_uint_eq(line("softirq", -1, "softirq RCU")->own_unknown, 1);
	ck_assert_uint_eq(line("softirq", -1, "softirq TIMER")->own_unknown, 1);
	ck_assert_uint_eq(line("softirq", -1, "softirq SCHED")->own_most.max_ns, 10 * US);
	ck_assert_uint_eq(line("run", -1, "")->own_unknown, 1);
	analyze(BUSY "3000 h:0 switch bash-900 R x-501\n" /* its switch away is missing */
		     "3100 h:0 switch x-501 R bash-900\n"
		     "5100 h:0 switch bash-900 R x-501\n"
		     "5200 g1:0 switch work-10 S swapper-0\n");
	is_stall(3100, 5100, XVT_CAUSE_PREEMPTED, "(not recorded)", 2000);
	ck_assert_uint_eq(line("taken", 0, "")->untold, 1);
	ck_assert_uint_eq(line("run", -1, "")->own_unknown, 1);
}
END_TEST

/* 11: the file has one meaning of a number, without a time. Where it was another vCPU's before,
 * that one is told nothing of, and the contradiction is counted. */
START_TEST(a_number_that_was_used_twice_proves_nothing)
{
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3050 g1:0 switch work-10 S swapper-0\n"
		     "3100 h:0 switch x-501 S bash-900\n"
		     "3200 g1:1 switch swapper-0 R other-12\n"
		     "thread 501 g1:vcpu1\n"
		     "9000 h:0 switch bash-900 R x-501\n"
		     "9800 g1:1 switch other-12 S swapper-0\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_uint_eq(line("taken", 1, "")->wall.n, 0);
	ck_assert_uint_eq(xvt_analyze_impossible(a), 1);
}
END_TEST

/* -- handlers and tasks ---------------------------------------------------------------- */

/* 6, 23: wall is what lttng-irqstats says, own is without what the host took. */
START_TEST(own_is_wall_less_what_the_host_took)
{
	struct xvt_line *soft, *irq;

	analyze(BUSY "20 g1:0 soft 9\n"
		     "500 h:0 switch x-501 R bash-900\n"
		     "9500 h:0 switch bash-900 R x-501\n"
		     "9700 g1:0 irq 24 virtio0\n"
		     "9710 h:0 switch x-501 R bash-900\n"
		     "9730 h:0 switch bash-900 R x-501\n"
		     "9750 g1:0 irqx 7\n" /* its entry was not recorded */
		     "9800 g1:0 irqx 24\n"
		     "10020 g1:0 softx 9\n"
		     "10040 g1:0 soft 1\n" /* its exit neither */
		     "10100 g1:0 switch work-10 S next-11\n"
		     "10200 h:0 switch x-501 R bash-900\n"
		     "11200 h:0 switch bash-900 R x-501\n"
		     "11300 g1:0 softx 1\n");
	soft = line("softirq", -1, "softirq RCU");
	irq = line("irq", -1, "irq 24 virtio0");
	ck_assert_uint_eq(soft->wall.n, 1);
	ck_assert_uint_eq(soft->wall.max_ns, 10000 * US);
	ck_assert_uint_eq(soft->wall.max_at_ns, STORY_BEGIN_NS + 20 * US);
	ck_assert_uint_eq(soft->own_least.max_ns, 980 * US);
	ck_assert_uint_eq(soft->own_most.max_ns, 980 * US);
	ck_assert_uint_eq(xvt_figure_bound_median(&soft->wall), 4000);
	ck_assert_uint_eq(irq->wall.max_ns, 100 * US);
	ck_assert_uint_eq(irq->own_most.max_ns, 80 * US);
	ck_assert_ptr_null(line("irq", -1, "irq 7"));
	ck_assert_ptr_null(line("softirq", -1, "softirq TIMER"));
	ck_assert_uint_eq(stall_count, 2);
	ck_assert_str_eq(stalls[0].guest, "softirq");
	ck_assert_str_eq(stalls[1].guest, "task");
}
END_TEST

/* The interval may be in the handler, which is shorter. */
START_TEST(own_is_never_below_nothing)
{
	analyze(BUSY "99 g1:0 soft 9\n"
		     "99.5 g1:0 softx 9\n"
		     "100 h:0 switch x-501 R bash-900\n"
		     "101 h:0 switch bash-900 R x-501\n"
		     "200 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(line("softirq", -1, "")->own_most.sum_ns, 500);
	ck_assert_uint_eq(line("softirq", -1, "")->own_least.sum_ns, 0);
	ck_assert_uint_eq(line("softirq", -1, "")->own_least.n, 1);
}
END_TEST

/* Without their exits, how long they took is not known. */
START_TEST(handlers_that_are_not_recorded_are_said_to_be)
{
	static const char *const events[] = { "", "20 g1:0 soft 9\n", "20 g1:0 irq 24 disk\n",
					      "20 g1:0 soft 9\n30 g1:0 irqx 24\n",
					      "20 g1:0 softx 9\n30 g1:0 soft 1\n" };
	char story[1024];

	snprintf(story, sizeof(story), BUSY "%s", events[_i]);
	analyze(story);
	if (_i == 4) {
		ck_assert_ptr_null(line("irq", -1, "handlers"));
		return;
	}
	ck_assert_int_eq(line("irq", -1, "handlers")->verdict, XVT_NOT_RECORDED);
	ck_assert_ptr_nonnull(strstr(line("irq", -1, "handlers")->needs, "record -e irq"));
}
END_TEST

/* Of a range, what ends in it, whole; what was before says how things stood. */
START_TEST(a_range_has_what_ends_in_it)
{
	static const char story[] = "host 1\n"
				    "guest g1 1 2000\n"
				    "thread 501 g1:vcpu0\n"
				    "0    h:0  switch swapper-0 R x-501\n"
				    "10   g1:0 switch swapper-0 R work-10\n"
				    "20   h:0  switch x-501 R bash-900\n"
				    "900  h:0  switch bash-900 R x-501\n"
				    "1000 g1:0 soft 9\n"
				    "1010 g1:0 softx 9\n"
				    "1020 g1:0 timer start 77 1030\n"
				    "1990 g1:0 soft 1\n"
				    "2500 h:0  switch x-501 R bash-900\n"
				    "3500 h:0  switch bash-900 R x-501\n"
				    "3600 g1:0 softx 1\n"
				    "3700 g1:0 switch work-10 S swapper-0\n"
				    "3800 g1:0 soft 9\n";
	range_us = 2000;
	analyze(story);
	is_stall(2500, 3500, XVT_CAUSE_PREEMPTED, "bash-900", 1000);
	ck_assert_uint_eq(sum("taken", 0, ""), 1000 * US);
	ck_assert_uint_eq(sum("softirq", -1, "softirq RCU"), 0);
	ck_assert_uint_eq(sum("softirq", -1, "softirq TIMER"), 1610 * US);
	ck_assert_uint_eq(sum("run", -1, ""), 3690 * US);
	ck_assert_uint_eq(sum("on_cpu", 0, ""), 800 * US);
	range_us = 3000;
	analyze(story);
	is_stall(2500, 3500, XVT_CAUSE_PREEMPTED, "bash-900", 1000);
	range_us = 3750;
	analyze(story);
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(sum("run", -1, ""), 0);
	ck_assert_int_eq(line("stalls", 0, "")->verdict, XVT_PROVEN);
	range_us = 0;
}
END_TEST

START_TEST(what_a_range_lacks_may_have_been_recorded)
{
	to_us = 15;
	analyze(BUSY "20 g1:0 soft 9\n30 g1:0 softx 9\n");
	ck_assert_int_eq(line("irq", -1, "handlers")->verdict, XVT_NOT_IN_RANGE);
	ck_assert_ptr_nonnull(strstr(line("irq", -1, "handlers")->needs, "record -e irq"));
	to_us = 0;
}
END_TEST

START_TEST(a_reset_ends_handlers_and_tasks)
{
	analyze(BUSY "20 g1:0 soft 9\n"
		     "30 g1 reset\n"
		     "40 g1:0 softx 9\n"
		     "50 g1:0 switch work-10 S swapper-0\n"
		     "60 g1:0 switch swapper-0 S work-10\n");
	ck_assert_ptr_null(line("softirq", -1, ""));
	ck_assert_ptr_null(line("run", -1, ""));
}
END_TEST

/* 13 */
START_TEST(a_switch_that_two_recorded_counts_once)
{
	analyze(BUSY "30 g1:0 waking next-11 0 work-10\n"
		     "40 g1:0 switch work-10 S next-11\n"
		     "40.5 g1:0 xswitch work-10 S next-11\n"
		     "60 g1:0 switch next-11 S work-10\n"
		     "60.5 g1:0 xswitch next-11 S work-10\n");
	ck_assert_uint_eq(line("task_run", -1, "run next-11")->wall.n, 1);
	ck_assert_uint_eq(line("task_run", -1, "run next-11")->wall.sum_ns, 20 * US);
	ck_assert_uint_eq(line("task_wait", -1, "wait next-11")->wall.n, 1);
	ck_assert_uint_eq(line("task_wait", -1, "wait next-11")->wall.sum_ns, 10 * US);
}
END_TEST

/* Woken on vCPU 1; its own vCPU was taken for 2 ms of the wait. */
START_TEST(a_wait_has_its_own_part)
{
	struct xvt_line *l;

	analyze(BUSY "5 h:1 switch swapper-0 R x-502\n"
		     "20 g1:1 switch swapper-0 R other-12\n"
		     "100 g1:1 waking next-11 0 other-12\n"
		     "110 g1:1 wakeup next-11 0 other-12\n"
		     "1000 h:0 switch x-501 R bash-900\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3100 g1:0 switch work-10 R next-11\n"
		     "3200 g1:0 waking next-11 0 other-12\n" /* it runs: no wait */
		     "3300 g1:0 switch next-11 S work-10\n"
		     "3400 g1:0 switch work-10 S next-11\n"
		     "3500 g1:0 switch next-11 S swapper-0\n");
	ck_assert_uint_eq(line("timer", -1, "")->wall.n, 0);
	l = line("task_wait", -1, "wait next-11");
	ck_assert_uint_eq(l->wall.n, 1);
	ck_assert_uint_eq(l->wall.sum_ns, 3000 * US);
	ck_assert_uint_eq(l->own_least.sum_ns, 1000 * US);
	ck_assert_uint_eq(l->own_most.sum_ns, 1000 * US);
	ck_assert_uint_eq(l->wall.max_at_ns, STORY_BEGIN_NS + 100 * US);
	ck_assert_uint_eq(line("task_run", -1, "run next-11")->wall.n, 2);
}
END_TEST

/* Woken while its vCPU was taken; what was taken before counts not. */
START_TEST(a_wait_has_a_part_of_an_interval)
{
	struct xvt_line *l;

	analyze(BUSY "5 h:1 switch swapper-0 R x-502\n"
		     "20 g1:1 switch swapper-0 R other-12\n"
		     "500 h:0 switch x-501 R bash-900\n"
		     "600 h:0 switch bash-900 R x-501\n"
		     "1000 h:0 switch x-501 R bash-900\n"
		     "1500 g1:1 waking next-11 0 other-12\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3100 g1:0 switch work-10 R next-11\n"
		     "3500 g1:0 switch next-11 S swapper-0\n");
	l = line("task_wait", -1, "wait next-11");
	ck_assert_uint_eq(l->wall.sum_ns, 1600 * US);
	ck_assert_uint_eq(l->own_least.sum_ns, 98 * US);
	ck_assert_uint_eq(l->own_most.sum_ns, 102 * US);
}
END_TEST

/* -- latency --------------------------------------------------------------------------- */

#define TWO HEAD "guest g2 1 2000\n"

static void is_pairs(const char *kind, uint64_t n, uint64_t sum_us, uint64_t untold)
{
	struct xvt_line *l = line(kind, -1, "");

	ck_assert_ptr_nonnull(l);
	ck_assert_uint_eq(l->wall.n, n);
	ck_assert_uint_eq(l->wall.sum_ns, sum_us * US);
	ck_assert_uint_eq(l->untold, untold);
}

START_TEST(a_message_takes_from_its_send_to_its_receipt)
{
	analyze(TWO "100 g1:0 mark xvt-ping send 5\n"
		    "120 g1:1 mark xvt-ping send 6\n"
		    "150 g2:0 mark xvt-ping recv 5\n"
		    "160 g2:0 mark xvt-pong send 5\n"
		    "180 g2:0 mark xvt-ping recv 6\n"
		    "200 g1:0 mark xvt-pong recv 5\n"
		    "220 g1:0 mark xvt-ping send 5\n"
		    "230 g2:0 mark xvt-ping recv 5\n"
		    "240 g1:0 mark xvt-ping send 7\n"
		    "250 g2:0 mark xvt-ping recv 8\n");
	is_pairs("message", 3, 50 + 60 + 10, 0);
	ck_assert_uint_eq(line("message", -1, "")->wall.max_ns, 60 * US);
	ck_assert_uint_eq(line("message", -1, "")->wall.max_at_ns, STORY_BEGIN_NS + 120 * US);
	ck_assert_uint_eq(line("message", -1, "")->wall.bound_most_ns, 4000);
	ck_assert_uint_eq(line("message", -1, "")->no_end, 1);
	ck_assert_uint_eq(line("message", -1, "")->no_begin, 0);
	ck_assert_int_eq(line("message", -1, "")->verdict, XVT_PROVEN);
	ck_assert_uint_eq(line("message_to", -1, "  to g2")->wall.n, 3);
	ck_assert_ptr_null(line("message_to", -1, "  to g1"));
}
END_TEST

/* 18: an end may be of the first begin or of the second one, until as many ended. */
START_TEST(a_key_that_is_used_again_is_not_paired)
{
	analyze(TWO "100 g1:0 mark xvt-ping send 7\n"
		    "200 g1:0 mark xvt-ping send 7\n"
		    "250 g2:0 mark xvt-ping recv 7\n"
		    "300 g1:0 mark xvt-ping send 7\n"
		    "350 g2:0 mark xvt-ping recv 7\n"
		    "360 g2:0 mark xvt-ping recv 7\n"
		    "400 g1:0 mark xvt-ping send 7\n"
		    "420 g2:0 mark xvt-ping recv 7\n"
		    "500 g1:0 mark xvt-ping send 8\n");
	is_pairs("message", 1, 20, 0);
	ck_assert_uint_eq(line("message", -1, "")->repeated, 3);
	ck_assert_uint_eq(line("message", -1, "")->no_end, 1);
}
END_TEST

START_TEST(a_receipt_of_two_senders_is_of_either)
{
	analyze(TWO "guest g3 1 2000\n"
		    "100 g1:0 mark xvt-ping send 7\n"
		    "110 g3:0 mark xvt-ping send 7\n"
		    "150 g2:0 mark xvt-ping recv 7\n"
		    "160 g2:0 mark xvt-ping recv 7\n");
	ck_assert_ptr_null(line("message_to", -1, ""));
	ck_assert_uint_eq(line("message", -1, "")->wall.n, 0);
	ck_assert_uint_eq(line("message", -1, "")->repeated, 1);
	ck_assert_int_eq(line("message", -1, "")->verdict, XVT_UNTOLD);
}
END_TEST

/* 19: both bounds together are 4 us. */
START_TEST(bounds_leave_the_order_of_a_message_open)
{
	analyze(TWO "100 g2:0 mark xvt-ping recv 1\n"
		    "103 g1:0 mark xvt-ping send 1\n"
		    "200 g2:0 mark xvt-ping recv 2\n" /* of a send that was not recorded */
		    "210 g1:0 mark xvt-ping send 2\n"
		    "230 g2:0 mark xvt-ping recv 2\n"
		    "300 g1:0 mark xvt-ping send 3\n"
		    "303.9 g2:0 mark xvt-ping recv 3\n"
		    "400 g1:0 mark xvt-ping send 4\n"
		    "404.1 g2:0 mark xvt-ping recv 4\n"
		    "500U g1:0 mark xvt-ping send 5\n"
		    "600 g2:0 mark xvt-ping recv 5\n"
		    "700C g1:0 mark xvt-ping send 6\n"
		    "900 g2:0 mark xvt-ping recv 6\n");
	ck_assert_uint_eq(line("message", -1, "")->wall.n, 2);
	ck_assert_uint_eq(line("message", -1, "")->wall.sum_ns, 20 * US + 4100);
	ck_assert_uint_eq(line("message", -1, "")->untold, 4);
	ck_assert_uint_eq(line("message", -1, "")->untold_ns, 3900 + 300 * US);
}
END_TEST

START_TEST(a_loss_may_hide_the_other_end)
{
	analyze(TWO "100 g1:0 mark xvt-ping send 1\n"
		    "120 g2:0 lost 3\n"
		    "150 g2:0 mark xvt-ping recv 1\n"
		    "200 g1:0 mark xvt-ping send 2\n"
		    "220 g1:1 lost 3\n"
		    "250 g2:0 mark xvt-ping recv 2\n"
		    "300 g1:0 mark xvt-ping send 3\n"
		    "340 g2:0 mark xvt-ping recv 3\n");
	is_pairs("message", 1, 40, 2);
}
END_TEST

/* In one ring the order is that of the events, whatever the bounds are. */
START_TEST(a_pair_is_any_two_events_with_a_key)
{
	pair_first = (struct xvt_pair_event){ "irq:softirq_entry", "vec" };
	pair_then = (struct xvt_pair_event){ "softirq_exit", "vec" };
	analyze(TWO "100 g1:0 soft 1\n"
		    "101 g1:0 softx 1\n"
		    "200 g1:0 soft 9\n"
		    "210 g2:0 soft 3\n"
		    "250 g2:0 softx 9\n");
	is_pairs("pair", 2, 1 + 50, 0);
	ck_assert(xvt_analyze_saw(a, false) && xvt_analyze_saw(a, true));
	ck_assert_str_eq(line("pair", -1, "")->what, "irq:softirq_entry -> softirq_exit");
	ck_assert_uint_eq(line("pair_to", -1, "  to g1")->wall.sum_ns, 1 * US);
	pair_then.key = "no_field";
	analyze(TWO "100 g1:0 soft 1\n101 g1:0 softx 1\n");
	ck_assert(xvt_analyze_saw(a, false) && !xvt_analyze_saw(a, true));
	ck_assert_int_eq(line("pair", -1, "")->verdict, XVT_NOT_RECORDED);
	/* The same event on both sides. */
	pair_then = pair_first;
	analyze(TWO "100 g1:0 soft 1\n130 g2:0 soft 1\n200 g1:0 soft 1\n");
	is_pairs("pair", 1, 30, 0);
	ck_assert_uint_eq(line("pair", -1, "")->no_end, 1);
	pair_first = pair_then = (struct xvt_pair_event){ 0 };
}
END_TEST

/* Many keys that wait, and are taken out in another order. */
START_TEST(many_pairs_wait_at_a_time)
{
	const unsigned int n = 3000;
	char *story = malloc(n * 100);
	size_t len = (size_t)sprintf(story, TWO);

	for (unsigned int i = 0; i < n; i++)
		len += (size_t)sprintf(story + len, "%u g1:0 mark xvt-ping send %u\n", 100 + i,
				       i * 64);
	for (unsigned int i = 0; i < n; i++)
		len += (size_t)sprintf(story + len, "%u g2:0 mark xvt-ping recv %u\n",
				       100 + n + 10 * i, i * 1717 % n * 64);
	analyze(story);
	ck_assert_uint_eq(line("message", -1, "")->wall.n, n);
	ck_assert_uint_eq(line("message", -1, "")->no_end, 0);
	free(story);
}
END_TEST

START_TEST(a_vcpu_takes_from_its_wake_up_to_its_guests_event)
{
	analyze(BUSY
		"30 h:0 switch x-501 S other-900\n"
		"1000 h:1 waking x-501 0 other-7\n"
		"1040 h:0 switch other-900 R x-501\n"
		"1100 g1:0 soft 1\n"
		"1110 g1:0 softx 1\n"
		"1130 h:0 switch x-501 R other-900\n" /* pre-empted: no wake-up */
		"1140 h:0 switch other-900 R x-501\n"
		"1150 g1:0 soft 1\n"
		"1200 h:0 switch x-501 S other-900\n"
		"2000 h:1 waking x-501 0 other-7\n"
		"2010 h:0 switch other-900 R x-501\n"
		"2011.5 g1:0 softx 1\n" /* within its bound */
		"2100 h:0 switch x-501 S other-900\n"
		"2150 h:1 waking x-501 0 other-7\n"
		"2159 g1:0 soft 1\n" /* it was behind the switch, and the next is not the first */
		"2160 h:0 switch other-900 R x-501\n"
		"2190 g1:0 softx 1\n");
	ck_assert_uint_eq(line("vcpu_wake", 0, "")->wall.n, 3);
	ck_assert_uint_eq(line("vcpu_wake", 0, "")->wall.sum_ns, (40 + 10 + 10) * US);
	ck_assert_uint_eq(line("vcpu_wake", 0, "")->wall.max_at_ns, STORY_BEGIN_NS + 1000 * US);
	ck_assert_uint_eq(line("vcpu_start", 0, "")->wall.n, 1);
	ck_assert_uint_eq(line("vcpu_start", 0, "")->wall.sum_ns, 60 * US);
	ck_assert_uint_eq(line("vcpu_start", 0, "")->untold, 2);
	ck_assert_int_eq(line("accept_inject", -1, "")->verdict, XVT_NOT_RECORDED);
}
END_TEST

/* 12: KVM has the APIC's numbers. */
START_TEST(an_interrupt_is_found_by_apic_and_vector)
{
	analyze("host 2\n"
		"guest g1 2 2000 8\n"
		"thread 508 g1:vcpu8\n"
		"thread 509 g1:vcpu9\n"
		"0 h:0 switch swapper-0 R x-509\n"
		"10 g1:1 switch swapper-0 R work-10\n"
		"90 h:1 accept 9 48 x-508\n"
		"95 h:1 accept 9 49 x-508\n"
		"100 h:1 accept 9 48 x-508\n" /* pending already */
		"110 h:0 inject 48 x-509\n"
		"115 h:0 inject 48 x-509 again\n"
		"150 g1:1 soft 1\n"
		"155 g1:1 irq 25 other\n" /* as of ftrace: its vector is not known */
		"160 g1:1 irq 24 other 49\n"
		"165 g1:1 irqx 24\n"
		"170 g1:1 irq 23 disk 48\n"
		"175 g1:1 irqx 23\n"
		"200 h:1 accept 9 50 irq-508\n" /* by whom is not known */
		"210 h:0 inject 50 x-509\n"
		"211 g1:1 softx 1\n" /* within its bound */
		"300 h:0 inject 49 x-509\n"
		"330 g1:1 vector 49\n"
		"340 h:0 inject 48 x-509\n" /* its accept was not recorded */
		"345 g1:1 softx 1\n"
		"400 h:1 accept 9 51 x-508\n"
		"410 h:1 lost 5\n"
		"420 h:0 inject 51 x-509\n"
		"430 g1:1 lost 5\n"
		"440 g1:1 softx 1\n");
	ck_assert_uint_eq(line("accept_inject", 1, "")->wall.n, 2);
	ck_assert_uint_eq(line("accept_inject", 1, "")->wall.sum_ns, (20 + 205) * US);
	ck_assert_uint_eq(line("accept_inject", 1, "")->no_begin, 3);
	ck_assert_ptr_null(line("accept_inject", 0, ""));
	ck_assert_uint_eq(line("inject_guest", 1, "")->wall.n, 3);
	ck_assert_uint_eq(line("inject_guest", 1, "")->wall.sum_ns, (40 + 30 + 5) * US);
	ck_assert_uint_eq(line("inject_guest", 1, "")->untold, 1);
	ck_assert_uint_eq(line("inject_handler", 1, "")->wall.n, 2);
	ck_assert_uint_eq(line("inject_handler", 1, "")->wall.sum_ns, (60 + 30) * US);
}
END_TEST

/* 14: another kernel has other fields. */
START_TEST(an_older_kernel_names_the_vector_otherwise)
{
	analyze(BUSY "90 h:1 accept 0 48 x-502\n"
		     "100 h:0 oldinject 48 x-501\n");
	ck_assert_uint_eq(line("accept_inject", 0, "")->wall.sum_ns, 10 * US);
}
END_TEST

/* 22 */
START_TEST(posted_interrupts_are_not_told)
{
	analyze(BUSY "90 h:1 posted 0 48 x-502\n"
		     "150 g1:0 soft 1\n");
	ck_assert_uint_eq(line("posted", 0, "")->wall.n, 0);
	ck_assert_uint_eq(line("posted", 0, "")->untold, 1);
	ck_assert_int_eq(line("posted", 0, "")->verdict, XVT_UNTOLD);
	ck_assert_ptr_null(line("accept_inject", -1, ""));
}
END_TEST

START_TEST(a_reset_drops_interrupts_that_wait)
{
	analyze(BUSY "90 h:1 accept 0 48 x-502\n"
		     "100 g1 reset\n"
		     "900 h:0 inject 48 x-501\n");
	ck_assert_uint_eq(line("accept_inject", 0, "")->wall.n, 0);
	ck_assert_uint_eq(line("accept_inject", 0, "")->no_begin, 1);
}
END_TEST

/* Each has one of the two events. */
START_TEST(an_interrupt_takes_both_of_its_events)
{
	struct xvt_line *l;

	analyze(BUSY "90 h:1 accept 0 48 x-502\n"
		     "150 g1:0 soft 1\n");
	l = line("accept_inject", -1, "");
	ck_assert_int_eq(l->verdict, XVT_NOT_RECORDED);
	ck_assert_ptr_nonnull(strstr(l->needs, "record --host vcpu"));
	analyze(BUSY "110 h:0 inject 48 x-501\n"
		     "150 g1:0 soft 1\n");
	l = line("accept_inject", 0, "");
	ck_assert_uint_eq(l->wall.n, 0);
	ck_assert_uint_eq(l->no_begin, 1);
	ck_assert_int_eq(l->verdict, XVT_NOT_RECORDED);
	ck_assert_ptr_nonnull(strstr(l->needs, "record --host vcpu"));
	/* It is there, and of which machine is not known. */
	analyze(BUSY "90 h:1 accept 0 48 irq-502\n"
		     "110 h:0 inject 48 x-501\n");
	l = line("accept_inject", 0, "");
	ck_assert_uint_eq(l->no_begin, 1);
	ck_assert_int_eq(l->verdict, XVT_UNTOLD);
	ck_assert_ptr_null(l->needs);
}
END_TEST

/* Switches alone do not tell when its thread was woken. */
START_TEST(wake_ups_of_threads_that_are_not_recorded_are_said_to_be)
{
	analyze(BUSY "100 h:0 switch x-501 S swapper-0\n"
		     "3000 h:0 switch swapper-0 R x-501\n");
	ck_assert_int_eq(line("vcpu_wake", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_str_eq(line("vcpu_wake", 0, "")->needs, "record --host sched");
	/* A thread of several is one. */
	analyze("host 1\n"
		"guest g1 2 2000\n"
		"thread 501 g1:vcpus\n"
		"0 h:0 switch swapper-0 R x-501\n"
		"100 h:0 switch x-501 S swapper-0\n");
	ck_assert_int_eq(line("vcpu_wake", 0, "")->verdict, XVT_NOT_RECORDED);
	ck_assert_ptr_null(line("vcpu_wake", 1, ""));
}
END_TEST

/* -- timers ---------------------------------------------------------------------------- */

START_TEST(a_timer_is_late_by_the_guests_clock)
{
	struct xvt_line *l;

	analyze(BUSY "20 g1:1 timer 7 1000\n"
		     "30 g1:0 timer 8 3605\n"
		     "500 h:0 switch x-501 R bash-900\n"
		     "3500 h:0 switch bash-900 R x-501\n"
		     "3600 g1:0 expire 7 3600\n"
		     "3610 g1:0 expire 8 3610\n"
		     "3620 g1:0 expire 9 3620\n" /* its start was not recorded */
		     "3700 g1:0 timer 7 3800\n"
		     "3750 g1:0 cancel 7\n"
		     "4000 g1:0 expire 7 4000\n"
		     "4100 g1:0 timer 7 4150\n"
		     "4110 g1:0 timer 7 4300\n"	 /* set anew */
		     "4200 g1:0 expire 7 4200\n" /* in its slack */
		     "4300 g1:0 expire 7 4300\n");
	l = line("timer", -1, "");
	ck_assert_uint_eq(l->wall.n, 3);
	ck_assert_uint_eq(l->wall.sum_ns, (2600 + 5) * US);
	ck_assert_uint_eq(l->wall.max_at_ns, STORY_BEGIN_NS + 1000 * US);
	ck_assert_uint_eq(l->wall.bound_most_ns, 0);
	/* When it was due, its vCPU was off; that is known to 2 us. */
	ck_assert_uint_eq(l->own_least.sum_ns, (98 + 5) * US);
	ck_assert_uint_eq(l->own_most.sum_ns, (102 + 5) * US);
	ck_assert_uint_eq(l->no_begin, 3);
	ck_assert_uint_eq(line("timer_of", -1, "0xffffffff81000000")->wall.n, 3);
	ck_assert_int_eq(l->verdict, XVT_PROVEN);
}
END_TEST

START_TEST(a_loss_or_a_reset_forgets_timers)
{
	static const char *const what[] = { "g1:1 lost 3", "g1 reset", "g1:1 soft 3" };
	char story[1024];

	snprintf(story, sizeof(story),
		 BUSY "20 g1:0 timer 7 1000\n"
		      "30 %s\n"
		      "3600 g1:0 expire 7 3600\n",
		 what[_i]);
	analyze(story);
	ck_assert_uint_eq(line("timer", -1, "")->wall.n, _i < 2 ? 0 : 1);
	ck_assert_uint_eq(line("timer", -1, "")->no_begin, _i < 2 ? 1 : 0);
}
END_TEST

START_TEST(timers_that_are_not_recorded_are_said_to_be)
{
	static const struct {
		const char *events;
		enum xvt_verdict verdict;
	} cases[] = {
		{ "", XVT_NOT_RECORDED },
		{ "20 g1:0 timer 7 1000\n", XVT_NOT_RECORDED },
		{ "20 g1:0 expire 7 1000\n", XVT_NOT_RECORDED },
		{ "20 g1:0 cancel 7\n", XVT_NOT_RECORDED },
		/* Of another one the start is there. */
		{ "20 g1:0 timer 8 9000\n30 g1:0 expire 7 1000\n", XVT_UNTOLD },
	};
	char story[1024];

	snprintf(story, sizeof(story), BUSY "%s", cases[_i].events);
	analyze(story);
	ck_assert_uint_eq(line("timer", -1, "")->wall.n, 0);
	ck_assert_int_eq(line("timer", -1, "")->verdict, cases[_i].verdict);
	ck_assert_int_eq(!line("timer", -1, "")->needs, cases[_i].verdict == XVT_UNTOLD);
}
END_TEST

/* -- losses ---------------------------------------------------------------------------- */

/* Of a ring; cpu -1: of the machine g1. */
static const struct xvt_losses *losses_of(int cpu)
{
	const struct xvt_losses *l;
	const size_t n = xvt_analyze_losses(a, &l);

	for (size_t i = 0; i < n; i++, l++)
		if (strcmp(l->machine->name, "g1") == 0 &&
		    (cpu < 0 ? !l->ring : l->ring && l->ring->cpu == (unsigned int)cpu))
			return l;
	return NULL;
}

#define LOSSES                       \
	BUSY "20 g1:0 soft 9\n"      \
	     "25 g1:0 lost 3\n"      \
	     "30 g1:0 soft 1\n"      \
	     "130 g1:0 lost 40\n"    \
	     "135 g1:0 lost 1\n"     \
	     "140 g1:0 softx 1\n"    \
	     "150 g1:0 lost 5 big\n" \
	     "1010 g1:0 switch work-10 S swapper-0\n"

START_TEST(a_loss_has_its_cause_and_its_time)
{
	const struct xvt_losses *l;

	analyze(LOSSES "counts 4 7 0\n");
	l = losses_of(0);
	ck_assert_int_eq(l->verdict, XVT_PROVEN);
	ck_assert_uint_eq(l->counts.attempted, 5 + 49 + 7);
	ck_assert_uint_eq(l->counts.events, 5);
	ck_assert_uint_eq(l->counts.discarded, 7);
	ck_assert_uint_eq(l->counts.lost, 49);
	ck_assert_uint_eq(l->by[XVTRACE_LOST_FULL].n, 44);
	ck_assert_uint_eq(l->by[XVTRACE_LOST_FULL].first_ns, STORY_BEGIN_NS + 25 * US);
	ck_assert_uint_eq(l->by[XVTRACE_LOST_FULL].last_ns, STORY_BEGIN_NS + 135 * US);
	ck_assert_uint_eq(l->by[XVTRACE_LOST_FULL].most, 40);
	ck_assert_uint_eq(l->by[XVTRACE_LOST_FULL].most_at_ns, STORY_BEGIN_NS + 130 * US);
	ck_assert_uint_eq(l->by[XVTRACE_LOST_BIG].n, 5);
	ck_assert_uint_eq(l->holes.n, 4);
	ck_assert_uint_eq(l->holes.sum_ns, (5 + 100 + 5 + 10) * US);
	ck_assert_uint_eq(l->holes.max_at_ns, STORY_BEGIN_NS + 30 * US);
	ck_assert_uint_eq(l->span_ns, 1000 * US);
	ck_assert_uint_eq(losses_of(1)->counts.attempted, 0);
	ck_assert_int_eq(losses_of(1)->verdict, XVT_PROVEN);
	ck_assert_uint_eq(losses_of(-1)->counts.lost, 49);
	ck_assert_uint_eq(losses_of(-1)->by[XVTRACE_LOST_FULL].most, 40);
	ck_assert_uint_eq(losses_of(-1)->holes.n, 4);
	ck_assert_uint_eq(losses_of(-1)->span_ns, 1000 * US);
}
END_TEST

START_TEST(counters_that_do_not_add_up_prove_nothing)
{
	analyze(LOSSES "counts 4 7 1\n");
	ck_assert_int_eq(losses_of(0)->verdict, XVT_UNTOLD);
	ck_assert_ptr_nonnull(strstr(losses_of(0)->why, "attempted is not"));
	ck_assert_int_eq(losses_of(-1)->verdict, XVT_UNTOLD);
	ck_assert_int_eq(losses_of(1)->verdict, XVT_PROVEN);
	analyze(LOSSES "counts 4 7 0 1\n");
	ck_assert_int_eq(losses_of(0)->verdict, XVT_UNTOLD);
	ck_assert_ptr_nonnull(strstr(losses_of(0)->why, "LOST records"));
}
END_TEST

START_TEST(a_loss_before_the_first_event_has_no_begin)
{
	analyze(HEAD "25 g1:0 lost 3\n"
		     "30 g1:0 soft 1\n");
	ck_assert_uint_eq(losses_of(0)->holes.n, 0);
	ck_assert_uint_eq(losses_of(0)->holes_open, 1);
	ck_assert_uint_eq(losses_of(0)->by[XVTRACE_LOST_FULL].n, 3);
}
END_TEST

/* The recorder finds out that its ring was overtaken; by how much, the kernel does not say. */
START_TEST(what_a_stock_kernel_overwrote_is_at_least_that_much)
{
	analyze("host 1\n"
		"stock g1 2 2000\n"
		"10 g1:0 soft 9\n"
		"20 g1:0 lost 1 overwritten\n"
		"30 g1:0 soft 9\n"
		"40 g1:1 soft 9\n");
	ck_assert_int_eq(losses_of(0)->verdict, XVT_UNTOLD);
	ck_assert_ptr_nonnull(strstr(losses_of(0)->why, "at least"));
	ck_assert_int_eq(losses_of(1)->verdict, XVT_PROVEN);
	ck_assert_int_eq(losses_of(-1)->verdict, XVT_UNTOLD);
}
END_TEST

/* -- figures --------------------------------------------------------------------------- */

START_TEST(quantiles_are_those_of_the_sorted_numbers)
{
	struct xvt_figure f = { 0 };
	uint64_t counts[XVT_FIGURE_POWERS];

	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_int_eq(xvt_figure_add(&f, (i * 7919) % 1000 + 1, i, 3, 2 * i), 0);
	ck_assert_uint_eq(f.n, 1000);
	ck_assert_uint_eq(f.sum_ns, 500500);
	ck_assert_uint_eq(f.min_ns, 1);
	ck_assert_uint_eq(f.max_ns, 1000);
	ck_assert_uint_eq(f.max_at_ns * 7919 % 1000, 999);
	ck_assert_uint_eq(xvt_figure_quantile(&f, 500), 500);
	ck_assert_uint_eq(xvt_figure_quantile(&f, 990), 990);
	ck_assert_uint_eq(xvt_figure_quantile(&f, 999), 999);
	ck_assert_uint_eq(f.bound_most_ns, 1998);
	ck_assert_uint_ge(xvt_figure_bound_median(&f), 998);
	ck_assert_uint_le(xvt_figure_bound_median(&f), 998 + 998 / 64);
	ck_assert_uint_eq(xvt_figure_powers(&f, counts), 10);
	ck_assert_uint_eq(counts[9], 1000 - 511);
	ck_assert_uint_eq(counts[0], 1);
	xvt_figure_fini(&f);
	for (uint64_t i = 1; i <= 3; i++)
		ck_assert_int_eq(xvt_figure_add(&f, i, i, 3, 0), 0);
	ck_assert_uint_eq(xvt_figure_quantile(&f, 500), 2);
	ck_assert_uint_eq(xvt_figure_quantile(&f, 990), 3);
	xvt_figure_fini(&f);
}
END_TEST

START_TEST(beyond_a_million_quantiles_are_a_64th_off_at_most)
{
	struct xvt_figure f = { 0 };
	const unsigned int n = 1500000;

	for (uint64_t i = 0; i < n; i++)
		ck_assert_int_eq(xvt_figure_add(&f, i * 1000, i, 0, XVT_FIGURE_NO_BOUND), 0);
	ck_assert(!xvt_figure_is_exact(&f));
	for (unsigned int q = 1; q < 1000; q++) {
		const uint64_t exact = (uint64_t)(n / 1000 * q - 1) * 1000;

		ck_assert_uint_ge(xvt_figure_quantile(&f, q), exact);
		ck_assert_uint_le(xvt_figure_quantile(&f, q), exact + exact / 64);
	}
	ck_assert_uint_eq(xvt_figure_quantile(&f, 1000), f.max_ns);
	ck_assert_uint_eq(f.max_ns, (uint64_t)(n - 1) * 1000);
	ck_assert_uint_eq(xvt_figure_bound_median(&f), XVT_FIGURE_NO_BOUND);
	ck_assert_uint_eq(f.unbounded, n);
	xvt_figure_fini(&f);
}
END_TEST

/* -- losses that are known late ---------------------------------------------------------- */

/* A LOST record comes at the end of its hole: behind what other rings say of the time in it. */
#define TAKEN_TO_3000                             \
	BUSY "90 h:2 switch swapper-0 R kw-902\n" \
	     "100 h:0 switch x-501 R bash-900\n"  \
	     "3000 h:0 switch bash-900 R x-501\n" \
	     "3200 g1:0 switch work-10 S swapper-0\n"

START_TEST(a_thread_may_have_run_in_a_hole_of_another_cpu)
{
	static const struct {
		const char *before, *behind;
		bool told;
	} cases[] = {
		{ "", "", true },
		{ "", "5000 h:2 lost 5\n", false }, /* of 90 to 5000 */
		{ "", "5000 h:1 lost 5\n", false }, /* its begin is not known */
		{ "1 h:1 lost 5\n", "", true },	    /* of 0 to 1 */
		{ "",
		  "4000 h:2 waking kw-902 2 irq\n"
		  "5000 h:2 lost 5\n",
		  true }, /* of 4000 to 5000 */
	};
	char story[2048];

	snprintf(story, sizeof(story), HEAD "0 h:0 switch swapper-0 R x-501\n%s%s%s",
		 cases[_i].before, strstr(TAKEN_TO_3000, "10 g1:0"), cases[_i].behind);
	analyze(story);
	if (cases[_i].told) {
		is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900);
		ck_assert_uint_eq(line("taken", 0, "")->untold, 0);
		return;
	}
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 2900 * US);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_UNTOLD);
	ck_assert_int_eq(line("stalls", 0, "")->verdict, XVT_UNTOLD);
}
END_TEST

/* Of a part of the trace, the LOST record may be behind it. */
START_TEST(a_loss_behind_the_range_counts)
{
	to_us = 4000;
	analyze(TAKEN_TO_3000);
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900);
	analyze(TAKEN_TO_3000 "5000 h:2 lost 5\n");
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 2900 * US);
	/* At the end of the range it may have been on another CPU, or off this one. */
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "3900 g1:1 soft 1\n"
		     "5000 h:2 lost 5\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 3800 * US);
	analyze(BUSY "3900 g1:1 soft 1\n"
		     "5000 h:0 lost 5\n");
	ck_assert_uint_eq(sum("on_cpu", 0, ""), 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 3900 * US);
	analyze(BUSY "3900 g1:1 soft 1\n"
		     "5000 h:2 lost 5\n");
	ck_assert_uint_eq(sum("on_cpu", 0, ""), 3900 * US);
	/* What its guest was at. */
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "5000 g1:0 lost 5\n");
	ck_assert_uint_eq(stall_count, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 2900 * US);
	analyze(BUSY "100 h:0 switch x-501 R bash-900\n"
		     "3000 h:0 switch bash-900 R x-501\n"
		     "3500 g1:0 soft 9\n"
		     "5000 g1:0 lost 5\n");
	is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900);
	to_us = 0;
}
END_TEST

/* No counter tells of a rollback; the recorder's note does. */
START_TEST(a_rollback_without_a_loss_is_a_hole)
{
	static const char *const notes[] = { "4900 h rollback\n", "4900 g1 rollback\n" };
	char story[1024];

	snprintf(story, sizeof(story),
		 BUSY "100 h:0 switch x-501 R bash-900\n"
		      "3000 h:0 switch bash-900 R x-501\n"
		      "%s5000 g1:0 lost 1 rolled_back\n",
		 notes[_i]);
	to_us = 4000;
	analyze(story);
	to_us = 0;
	if (_i) {
		ck_assert_uint_eq(stall_count, 0);
		ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 2900 * US);
	} else {
		is_stall(100, 3000, XVT_CAUSE_PREEMPTED, "bash-900", 2900);
	}
}
END_TEST

/* More intervals wait for the guest's next event than are kept. */
START_TEST(a_loss_behind_many_intervals_counts)
{
	const size_t size = 1u << 20;
	char *story = malloc(size);
	size_t at = (size_t)snprintf(story, size, BUSY);

	for (int i = 1; i <= 4200; i++)
		at += (size_t)snprintf(story + at, size - at,
				       "%d h:0 switch x-501 R bash-900\n"
				       "%d h:0 switch bash-900 R x-501\n",
				       10 * i + 20, 10 * i + 25);
	snprintf(story + at, size - at,
		 "50000 g1:0 lost 5\n"
		 "50010 g1:0 switch work-10 S swapper-0\n");
	analyze(story);
	free(story);
	ck_assert_uint_eq(line("taken", 0, "")->wall.n, 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold, 4200);
}
END_TEST

/* The thread had the CPU until the hole: in it, it may have left it and come again. */
START_TEST(a_thread_on_a_cpu_is_told_up_to_the_hole)
{
	analyze(BUSY "1000 h:0 waking kw-902 2 irq\n"
		     "5000 h:0 lost 5\n"
		     "6000 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(sum("on_cpu", 0, ""), 1000 * US);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 5000 * US);
	ck_assert_int_eq(line("taken", 0, "")->verdict, XVT_UNTOLD);
	analyze(BUSY "1000 h:0 waking kw-902 2 irq\n"
		     "5000 h:0 lost 5\n"
		     "5500 h:0 switch x-501 R bash-900\n"
		     "6500 h:0 switch bash-900 R x-501\n"
		     "7000 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(sum("on_cpu", 0, ""), 1500 * US);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 4500 * US);
	ck_assert_uint_eq(sum("taken", 0, ""), 1000 * US);
	analyze(BUSY "1000 h:0 waking kw-902 2 irq\n"
		     "5000 h:0 lost 5\n"
		     "5500 h:1 switch bash-900 S x-501\n"
		     "7000 g1:0 switch work-10 S swapper-0\n");
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, 4500 * US);
}
END_TEST

START_TEST(own_is_not_told_in_a_hole_of_the_host)
{
	static const char *const late[] = { "", "5000 h:0 lost 5\n" };
	char story[1024];

	snprintf(story, sizeof(story),
		 BUSY "11 g1:1 waking work-10 0 oth-11\n"
		      "20 g1:0 soft 9\n"
		      "1000 g1:0 softx 9\n"
		      "1100 g1:0 switch work-10 S oth-11\n"
		      "1110 g1:0 timer 7 1500\n"
		      "1200 g1:1 waking work-10 0 oth-11\n"
		      "1300 g1:0 switch oth-11 S work-10\n"
		      "1600 g1:0 expire 7 1600\n"
		      "1700 g1:0 switch work-10 S swapper-0\n%s",
		 late[_i]);
	analyze(story);
	ck_assert_uint_eq(line("softirq", -1, "")->wall.n, 1);
	ck_assert_uint_eq(line("softirq", -1, "")->own_unknown, (uint64_t)_i);
	ck_assert_uint_eq(line("run", -1, "")->own_unknown, 3u * (uint64_t)_i);
	ck_assert_uint_eq(line("wait", -1, "")->wall.n, 1);
	ck_assert_uint_eq(line("wait", -1, "")->own_unknown, (uint64_t)_i);
	ck_assert_uint_eq(line("timer", -1, "")->own_unknown, (uint64_t)_i);
}
END_TEST

/* Another vCPU may have put a task on the queue of an idle one. */
START_TEST(a_wake_up_of_an_idle_vcpu_may_be_lost)
{
	static const struct {
		const char *early, *before, *in, *late;
		bool told;
	} cases[] = {
		{ "", "", "", "", true },
		{ "", "", "", "4000 g1:1 lost 3\n", false },
		{ "", "", "1000 g1:1 lost 3\n", "", false },
		{ "", "15 g1:1 lost 3\n", "", "", false }, /* the vCPU was idle at 12 */
		{ "8 g1:1 lost 3\n", "", "", "", true },
		{ "", "", "",
		  "3500 g1:1 soft 1\n"
		  "4000 g1:1 lost 3\n",
		  true },
	};
	char story[1024];

	snprintf(story, sizeof(story),
		 HEAD "0 h:0 switch swapper-0 R x-501\n"
		      "2 g1:0 switch swapper-0 R work-10\n"
		      "5 g1:1 wakeup oth-11 1 oth-11\n%s"
		      "12 g1:0 switch work-10 S swapper-0\n%s"
		      "20 h:0 switch x-501 S swapper-0\n%s"
		      "3000 h:0 switch swapper-0 R x-501\n"
		      "3010 g1:0 switch swapper-0 R work-10\n%s",
		 cases[_i].early, cases[_i].before, cases[_i].in, cases[_i].late);
	analyze(story);
	ck_assert_uint_eq(sum("idle", 0, ""), cases[_i].told ? 2980 * US : 0);
	ck_assert_uint_eq(line("taken", 0, "")->untold_ns, cases[_i].told ? 0 : 2980 * US);
}
END_TEST

/* The task may have run and slept again in a hole of a vCPU. */
START_TEST(a_wait_that_ends_in_a_hole_has_no_begin)
{
	analyze(WAITS "2900 g1:1 waking work-10 0 oth-11\n" COMES_AT_3000 "4000 g1:1 lost 5\n");
	waits(0, 0, 1);
	analyze(WAITS "2900 g1:1 waking work-10 0 oth-11\n" COMES_AT_3000
		      "3500 g1:1 soft 1\n4000 g1:1 lost 5\n");
	waits(1, 100, 0);
	/* In the order of its ring, the hole begins behind the switch. */
	analyze(WAITS "2900 g1:1 waking work-10 0 oth-11\n"
		      "2999 g1:1 soft 1\n"
		      "3000 g1:0 switch swapper-0 R work-10\n"
		      "3001 g1:0 lost 5\n"
		      "3010 g1:1 softx 1\n");
	waits(1, 100, 0);
}
END_TEST

START_TEST(a_timer_may_be_set_anew_in_a_hole)
{
	static const char *const late[] = { "", "5000 g1:1 lost 3\n", "15 g1:1 lost 3\n" };
	char story[1024];

	snprintf(story, sizeof(story), BUSY "%s20 g1:0 timer 7 1000\n3600 g1:0 expire 7 3600\n%s",
		 _i == 2 ? late[2] : "", _i == 1 ? late[1] : "");
	analyze(story);
	ck_assert_uint_eq(line("timer", -1, "")->wall.n, _i != 1);
	ck_assert_uint_eq(line("timer", -1, "")->no_begin, _i == 1);
}
END_TEST

#define INTERRUPTS                         \
	"host 4\n"                         \
	"guest g1 2 2000 8\n"              \
	"thread 508 g1:vcpu8\n"            \
	"thread 509 g1:vcpu9\n"            \
	"0 h:0 switch swapper-0 R x-509\n" \
	"1 h:1 switch swapper-0 R x-508\n" \
	"10 g1:1 switch swapper-0 R work-10\n"
#define AN_INTERRUPT                  \
	"100 h:1 accept 9 48 x-508\n" \
	"120 h:0 inject 48 x-509\n"   \
	"150 g1:1 irq 23 disk 48\n"   \
	"155 g1:1 irqx 23\n"

/* In a hole of the host it was raised before, or injected in between. */
START_TEST(an_interrupt_is_not_told_in_a_hole_of_the_host)
{
	static const struct {
		const char *before, *behind;
		bool told;
	} cases[] = {
		{ "", "", true },
		{ "", "1000 h:2 lost 5\n", false },
		/* It may be pending since then, unless it was injected behind it. */
		{ "50 h:1 lost 5\n", "", false },
		{ "50 h:1 lost 5\n60 h:0 inject 48 x-509\n", "", true },
	};
	char story[2048];

	snprintf(story, sizeof(story), INTERRUPTS "%s" AN_INTERRUPT "%s", cases[_i].before,
		 cases[_i].behind);
	analyze(story);
	ck_assert_uint_eq(line("accept_inject", 1, "")->wall.n, cases[_i].told);
	ck_assert_uint_eq(line("accept_inject", 1, "")->untold, !cases[_i].told);
	ck_assert_int_eq(line("accept_inject", 1, "")->verdict,
			 cases[_i].told ? XVT_PROVEN : XVT_UNTOLD);
	ck_assert_uint_eq(line("inject_handler", 1, "")->wall.n, _i != 1);
	ck_assert_uint_eq(line("inject_handler", 1, "")->untold, _i == 1);
	ck_assert_uint_eq(line("inject_guest", 1, "")->untold, _i == 1);
}
END_TEST

START_TEST(a_message_that_ends_in_a_hole_is_not_told)
{
	static const struct {
		const char *late;
		bool told;
	} cases[] = { { "", true },
		      { "500 g1:1 lost 3\n", false },
		      { "500 g2:0 lost 3\n", true }, /* of 210 to 500 */
		      { "500 g2:1 lost 3\n", false },
		      { "500 h:0 lost 3\n", true } };
	char story[1024];

	snprintf(story, sizeof(story),
		 HEAD "guest g2 2 2000\n"
		      "100 g1:0 send 5 work-10\n"
		      "200 g2:0 recv 5 work-20\n"
		      "210 g2:0 soft 1\n%s",
		 cases[_i].late);
	analyze(story);
	ck_assert_uint_eq(line("message", -1, "")->wall.n, cases[_i].told);
	ck_assert_uint_eq(line("message", -1, "")->untold, !cases[_i].told);
}
END_TEST

static enum xvt_verdict off_verdict;
static unsigned int off_count;

static int see_state(void *arg, const struct xvt_vcpu_state *s)
{
	(void)arg;
	if (strcmp(s->state, "off") != 0)
		return 0;
	ck_assert_uint_eq(s->begin_ns, STORY_BEGIN_NS + 20 * US);
	ck_assert_uint_eq(s->end_ns, STORY_BEGIN_NS + 40 * US);
	off_verdict = s->verdict;
	off_count++;
	return 0;
}

/* Before the guest's first switch: as `cpu` says. */
START_TEST(a_state_before_the_first_switch_is_not_one_without_switches)
{
	static const char *const switches[] = { "", "100 g1:0 switch swapper-0 R work-10\n" };
	const struct xvt_analyze_options o = { .analyses = XVT_ANALYZE_STATES, .state = see_state };
	const char *path = scratch_path("story.xvt");
	const struct xvtrace_event *ev;
	struct xvtrace_error error;
	char story[1024];

	snprintf(story, sizeof(story),
		 HEAD "0 h:0 switch swapper-0 R x-501\n"
		      "20 h:0 switch x-501 R bash-900\n"
		      "40 h:0 switch bash-900 R x-501\n"
		      "50 g1:0 raise 9 irq\n"
		      "50 g1:0 softx 9\n"
		      "60 g1:0 softx 9\n%s",
		 switches[_i]);
	off_count = 0;
	story_make(story, path);
	ck_assert_msg(!xvtrace_open(&trace, path, 0, &error), "%s", error.text);
	ck_assert_int_eq(xvtrace_reader_new(&reader, trace), 0);
	ck_assert_int_eq(xvtrace_reader_flags(reader, XVTRACE_BOUND | XVTRACE_STATES), 0);
	ck_assert_int_eq(xvt_analyze_new(&a, &o, trace, reader), 0);
	while (xvtrace_next(reader, &ev) > 0)
		ck_assert_int_eq(xvt_analyze_feed(a, ev), 0);
	ck_assert_int_eq(xvt_analyze_end(a), 0);
	ck_assert_uint_eq(off_count, 1);
	ck_assert_int_eq(off_verdict, _i ? XVT_UNTOLD : XVT_NOT_RECORDED);
}
END_TEST

static int watch_flag;

static bool stop_it(void *arg, uint64_t ns)
{
	*(uint64_t *)arg = ns;
	watch_flag = 0;
	return false;
}

/* The search for holes is ended by whatever ends the reading, and with it that. */
START_TEST(a_search_for_holes_can_be_ended)
{
	static const char *const late[] = { "", "5000 h:2 lost 5\n" };
	const char *path = scratch_path("story.xvt");
	struct xvtrace_holes *holes;
	const struct xvtrace_event *ev;
	struct xvtrace_error error;
	uint64_t reached_ns = 1;
	char story[2048];

	watch_flag = 1;
	snprintf(story, sizeof(story), "%s%s", TAKEN_TO_3000, late[_i]);
	story_make(story, path);
	ck_assert_msg(!xvtrace_open(&trace, path, 0, &error), "%s", error.text);
	ck_assert_int_eq(xvtrace_reader_new(&reader, trace), 0);
	ck_assert_int_eq(xvtrace_reader_flags(reader, XVTRACE_BOUND), 0);
	ck_assert_int_eq(xvtrace_reader_watch(reader, &watch_flag, stop_it, &reached_ns), 0);
	ck_assert_int_eq(xvtrace_holes_new(&holes, reader), 0);
	/* Without a loss nothing is read. */
	ck_assert_uint_eq(reached_ns, !_i);
	ck_assert_int_eq(xvtrace_next(reader, &ev), 0);
	xvtrace_holes_free(holes);
}
END_TEST

static TCase *late_losses(void)
{
	TCase *t = tcase_create("late-losses");

	tcase_add_checked_fixture(t, NULL, fini);
	tcase_add_loop_test(t, a_thread_may_have_run_in_a_hole_of_another_cpu, 0, 5);
	tcase_add_test(t, a_loss_behind_the_range_counts);
	tcase_add_loop_test(t, a_rollback_without_a_loss_is_a_hole, 0, 2);
	tcase_add_test(t, a_loss_behind_many_intervals_counts);
	tcase_add_test(t, a_thread_on_a_cpu_is_told_up_to_the_hole);
	tcase_add_loop_test(t, own_is_not_told_in_a_hole_of_the_host, 0, 2);
	tcase_add_loop_test(t, a_wake_up_of_an_idle_vcpu_may_be_lost, 0, 6);
	tcase_add_test(t, a_wait_that_ends_in_a_hole_has_no_begin);
	tcase_add_loop_test(t, a_timer_may_be_set_anew_in_a_hole, 0, 3);
	tcase_add_loop_test(t, an_interrupt_is_not_told_in_a_hole_of_the_host, 0, 4);
	tcase_add_loop_test(t, a_message_that_ends_in_a_hole_is_not_told, 0, 5);
	tcase_add_loop_test(t, a_state_before_the_first_switch_is_not_one_without_switches, 0, 2);
	tcase_add_loop_test(t, a_search_for_holes_can_be_ended, 0, 2);
	return t;
}

Suite *analyze_suite(void)
{
	Suite *s = suite_create("analyze");
	TCase *t = tcase_create("analyze");

	tcase_add_checked_fixture(t, NULL, fini);
	tcase_add_test(t, one_thread_takes_a_vcpu);
	tcase_add_test(t, of_a_chain_the_one_with_the_most_time_counts);
	tcase_add_test(t, an_occupant_that_was_not_recorded_is_not_guessed);
	tcase_add_test(t, without_all_switches_only_threads_of_vmms_are_named);
	tcase_add_test(t, occupants_without_room_may_have_had_more);
	tcase_add_test(t, a_stall_may_have_no_end);
	tcase_add_test(t, who_did_not_come_by_a_switch_is_not_an_occupant);
	tcase_add_test(t, silence_of_an_idle_vcpu_is_no_stall);
	tcase_add_loop_test(t, what_the_bounds_leave_open_is_not_told, 0, 3);
	tcase_add_test(t, a_short_interval_without_events_near_it_is_told);
	tcase_add_test(t, an_open_order_of_busy_states_is_a_stall);
	tcase_add_test(t, a_flagged_event_may_be_before_an_interval);
	tcase_add_test(t, a_wait_begins_with_the_wake_up_of_its_sleep);
	tcase_add_loop_test(t, a_wait_without_a_begin_is_counted, 0, 5);
	tcase_add_test(t, a_task_that_was_pre_empted_waits_for_no_wake_up);
	tcase_add_test(t, a_wake_up_before_a_loss_begins_no_wait);
	tcase_add_test(t, a_thread_that_was_woken_before_it_left_its_cpu_waits);
	tcase_add_test(t, a_wake_up_of_a_thread_that_then_sleeps_is_not_its_end);
	tcase_add_test(t, whether_it_was_woken_before_it_left_may_be_open);
	tcase_add_test(t, a_vmm_that_sleeps_is_a_cause_of_its_own);
	tcase_add_test(t, a_clock_changes_its_line_in_a_stall);
	tcase_add_loop_test(t, a_thread_is_blocked_or_stopped, 0, 3);
	tcase_add_test(t, a_wait_goes_on_after_a_migration);
	tcase_add_test(t, a_pause_is_no_preemption);
	tcase_add_test(t, a_loss_leaves_the_interval_before_it_open);
	tcase_add_test(t, a_loss_of_the_host_leaves_the_interval_open);
	tcase_add_test(t, a_vcpu_is_found_by_its_hardware_number);
	tcase_add_loop_test(t, a_time_in_doubt_tells_nothing, 0, 3);
	tcase_add_test(t, a_thread_of_all_vcpus_proves_what_it_took_alone);
	tcase_add_test(t, a_late_event_is_taken_at_its_time);
	tcase_add_test(t, a_thread_has_the_name_that_it_has_at_last);
	tcase_add_test(t, an_idle_vcpu_with_a_task_that_waits_is_stalled);
	tcase_add_test(t, a_waking_does_not_tell_the_queue);
	tcase_add_test(t, the_recorder_is_named);
	tcase_add_test(t, without_switches_of_the_host_nothing_is_taken);
	tcase_add_test(t, what_a_guest_was_at_is_not_recorded);
	tcase_add_loop_test(t, what_a_guest_was_at_is_known_later, 0, 2);
	tcase_add_test(t, a_pause_of_an_unknown_state_is_known);
	tcase_add_test(t, a_thread_without_a_switch_tells_nothing);
	tcase_add_test(t, a_thread_between_losses_is_not_told);
	tcase_add_test(t, an_impossible_event_is_counted);
	tcase_add_test(t, switches_that_no_loss_explains_are_counted);
	tcase_add_test(t, a_switch_that_was_not_recorded_leaves_its_time_open);
	tcase_add_test(t, a_number_that_was_used_twice_proves_nothing);
	tcase_add_test(t, own_is_wall_less_what_the_host_took);
	tcase_add_test(t, own_is_never_below_nothing);
	tcase_add_test(t, a_wait_has_a_part_of_an_interval);
	tcase_add_loop_test(t, handlers_that_are_not_recorded_are_said_to_be, 0, 5);
	tcase_add_test(t, a_range_has_what_ends_in_it);
	tcase_add_test(t, what_a_range_lacks_may_have_been_recorded);
	tcase_add_test(t, a_reset_ends_handlers_and_tasks);
	tcase_add_test(t, a_switch_that_two_recorded_counts_once);
	tcase_add_test(t, a_wait_has_its_own_part);
	tcase_add_test(t, a_message_takes_from_its_send_to_its_receipt);
	tcase_add_test(t, a_key_that_is_used_again_is_not_paired);
	tcase_add_test(t, a_receipt_of_two_senders_is_of_either);
	tcase_add_test(t, bounds_leave_the_order_of_a_message_open);
	tcase_add_test(t, a_loss_may_hide_the_other_end);
	tcase_add_test(t, a_pair_is_any_two_events_with_a_key);
	tcase_add_test(t, many_pairs_wait_at_a_time);
	tcase_add_test(t, a_vcpu_takes_from_its_wake_up_to_its_guests_event);
	tcase_add_test(t, an_interrupt_is_found_by_apic_and_vector);
	tcase_add_test(t, an_older_kernel_names_the_vector_otherwise);
	tcase_add_test(t, posted_interrupts_are_not_told);
	tcase_add_test(t, a_reset_drops_interrupts_that_wait);
	tcase_add_test(t, an_interrupt_takes_both_of_its_events);
	tcase_add_test(t, wake_ups_of_threads_that_are_not_recorded_are_said_to_be);
	tcase_add_test(t, a_timer_is_late_by_the_guests_clock);
	tcase_add_loop_test(t, a_loss_or_a_reset_forgets_timers, 0, 3);
	tcase_add_loop_test(t, timers_that_are_not_recorded_are_said_to_be, 0, 5);
	tcase_add_test(t, a_loss_has_its_cause_and_its_time);
	tcase_add_test(t, counters_that_do_not_add_up_prove_nothing);
	tcase_add_test(t, a_loss_before_the_first_event_has_no_begin);
	tcase_add_test(t, what_a_stock_kernel_overwrote_is_at_least_that_much);
	tcase_add_test(t, quantiles_are_those_of_the_sorted_numbers);
	tcase_add_test(t, beyond_a_million_quantiles_are_a_64th_off_at_most);
	suite_add_tcase(s, t);
	suite_add_tcase(s, late_losses());
	return s;
}
