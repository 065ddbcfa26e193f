// SPDX-License-Identifier: GPL-2.0
/*
 * test_path.c - the critical path in traces in which it is known by construction. Times in the
 * stories are microseconds; guests' clocks are right to 2 us unless a story says otherwise.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "path/path.h"
#include "story.h"

#define MACHINES(g2_bound)          \
	"host 2\n"                  \
	"guest g1 2 2000 4\n"       \
	"guest g2 1 " g2_bound "\n" \
	"thread 501 g1:vcpu4\n"     \
	"thread 502 g1:vcpu5\n"     \
	"thread 503 g1:qemu\n"      \
	"thread 504 g1:io\n"        \
	"thread 601 g2:vcpu0\n"     \
	"thread 603 g2:qemu\n"
#define HEAD MACHINES("2000")
#define THREADS_OF_ALL          \
	"host 2\n"              \
	"guest g1 2 2000\n"     \
	"thread 501 g1:vcpus\n" \
	"thread 503 g1:qemu\n"
#define US 1000ull

static struct xvtrace *trace;
static struct xvtrace_reader *reader;
static struct xvt_path *p;
static const struct xvt_path_step *steps;
static size_t step_count, checked;
static const char *why, *needs;
static enum xvt_path_end end;

static void fini(void)
{
	xvt_path_free(p);
	xvtrace_reader_free(reader);
	xvtrace_close(trace);
	p = NULL;
	reader = NULL;
	trace = NULL;
}

/* Returns what xvt_path_find() does. */
static int try_to_find(const char *story, const char *vm, const char *task, unsigned int at_us,
		       unsigned int from_us, bool guess)
{
	const struct xvt_path_options o = {
		.vm = vm,
		.task = task,
		.at_ns = STORY_BEGIN_NS + at_us * US,
		.from_ns = from_us ? STORY_BEGIN_NS + from_us * US : 0,
		.guess = guess,
	};
	const char *path = scratch_path("story.xvt");
	const struct xvtrace_event *ev;
	struct xvtrace_error error;
	int err;

	fini();
	checked = 0;
	story_make(story, path);
	ck_assert_msg(!xvtrace_open(&trace, path, 0, &error), "%s", error.text);
	ck_assert_int_eq(xvtrace_reader_new(&reader, trace), 0);
	ck_assert_int_eq(xvtrace_reader_flags(reader, XVTRACE_BOUND), 0);
	ck_assert_int_eq(xvt_path_new(&p, &o, trace, reader), 0);
	while (xvtrace_next(reader, &ev) > 0 && xvt_path_wants(p, ev))
		ck_assert_int_eq(xvt_path_feed(p, ev), 0);
	err = xvt_path_find(p);
	step_count = xvt_path_steps(p, &steps);
	end = xvt_path_ended(p, &why, &needs);
	return err;
}

/* Of g1's task cli. */
static void find(const char *story, unsigned int at_us, unsigned int from_us, bool guess)
{
	ck_assert_int_eq(try_to_find(story, "g1", "cli", at_us, from_us, guess), 0);
}

/* The next step, from the end back. */
static void step(enum xvt_path_kind kind, enum xvt_path_edge edge, const char *task, const char *by,
		 unsigned int begin_us, unsigned int end_us)
{
	const struct xvt_path_step *s = &steps[checked];

	ck_assert_msg(checked < step_count, "step %zu of %zu: %s %s", checked, step_count, why,
		      task);
	checked++;
	ck_assert_str_eq(s->task, task);
	ck_assert_int_eq(s->kind, kind);
	ck_assert_int_eq(s->edge, edge);
	ck_assert_str_eq(s->by, by);
	ck_assert_uint_eq(s->begin_ns, STORY_BEGIN_NS + begin_us * US);
	ck_assert_uint_eq(s->end_ns, STORY_BEGIN_NS + end_us * US);
	ck_assert_int_eq(s->grade, edge >= XVT_PATH_LAST_IRQ);
}

static void ends(enum xvt_path_end how, const char *words)
{
	ck_assert_uint_eq(checked, step_count);
	ck_assert_msg(strstr(why, words) != NULL, "%s", why);
	ck_assert_int_eq(end, how);
}

#define RUNS(task, begin, end)	    step(XVT_PATH_RUNS, XVT_PATH_SAME, task, "", begin, end)
#define WOKEN(task, by, begin, end) step(XVT_PATH_WAITS, XVT_PATH_WAKER, task, by, begin, end)
#define HANDLER(name, begin, end)   step(XVT_PATH_HANDLER, XVT_PATH_SAME, name, "", begin, end)

/* -- tasks of one guest --------------------------------------------------------------- */

/* A client asks a server on another vCPU, and waits for its answer. */
#define ON_CPUS                            \
	"0 h:0 switch swapper-0 R x-501\n" \
	"0 h:1 switch swapper-0 R x-502\n"
#define ASKS                                   \
	"10 g1:0 switch swapper-0 R cli-10\n"  \
	"20 g1:1 switch srv-20 S swapper-0\n"  \
	"100 g1:0 waking srv-20 1 cli-10\n"    \
	"110 g1:1 switch swapper-0 R srv-20\n" \
	"120 g1:0 switch cli-10 S swapper-0\n"
#define ANSWER                                 \
	"200 g1:1 waking cli-10 0 srv-20\n"    \
	"215 g1:0 switch swapper-0 R cli-10\n" \
	"300 g1:0 switch cli-10 S swapper-0\n"

START_TEST(a_client_waits_for_its_server)
{
	find(HEAD ON_CPUS ASKS ANSWER, 290, 50, false);
	RUNS("cli-10", 215, 290);
	WOKEN("cli-10", "srv-20", 200, 215);
	RUNS("srv-20", 110, 200);
	ck_assert_uint_eq(steps[2].ring->cpu, 1);
	ck_assert_uint_eq(steps[2].bound_ns, 4 * US);
	WOKEN("srv-20", "cli-10", 100, 110);
	RUNS("cli-10", 50, 100);
	ends(XVT_PATH_END_BEGIN, "");
}
END_TEST

/* 50 us of the server's 90 were the host's; the switches are far from the ends of it. */
START_TEST(what_the_host_took_of_a_part_is_told)
{
	find(HEAD ON_CPUS ASKS "130 h:1 switch x-502 R noisy-900\n"
			       "180 h:1 switch noisy-900 S x-502\n" ANSWER,
	     290, 50, false);
	ck_assert_uint_eq(step_count, 5);
	ck_assert(steps[2].taken_known && !steps[2].shares);
	ck_assert_uint_eq(steps[2].taken_least_ns, 50 * US);
	ck_assert_uint_eq(steps[2].taken_most_ns, 50 * US);
	ck_assert(steps[0].taken_known);
	ck_assert_uint_eq(steps[0].taken_most_ns, 0);
}
END_TEST

/* The same, but the thread is away over the end of the part: the bounds leave 4 us open. */
START_TEST(what_the_host_took_has_bounds)
{
	find(HEAD ON_CPUS ASKS ANSWER "230 h:1 switch noisy-900 S x-502\n"
				      "240 h:0 switch x-501 R noisy-900\n"
				      "310 h:0 switch noisy-900 R x-501\n",
	     290, 50, false);
	ck_assert(steps[0].taken_known);
	ck_assert_uint_eq(steps[0].taken_least_ns, 48 * US);
	ck_assert_uint_eq(steps[0].taken_most_ns, 52 * US);
	/* x-502 came to its CPU twice: where it was in between is not known. */
	ck_assert(!steps[2].taken_known);
}
END_TEST

/* The same over the begin of a part. */
START_TEST(what_the_host_took_at_the_begin_has_bounds)
{
	find(HEAD ON_CPUS ASKS "195 h:0 switch x-501 R noisy-900\n"
			       "200 g1:1 waking cli-10 0 srv-20\n"
			       "215 g1:0 switch swapper-0 R cli-10\n"
			       "220 h:0 switch noisy-900 S x-501\n"
			       "300 g1:0 switch cli-10 S swapper-0\n",
	     290, 50, false);
	ck_assert(steps[0].taken_known);
	ck_assert_uint_eq(steps[0].taken_least_ns, 3 * US);
	ck_assert_uint_eq(steps[0].taken_most_ns, 7 * US);
}
END_TEST

START_TEST(a_task_that_is_preempted_was_there_before)
{
	find(HEAD ON_CPUS "10 g1:0 switch swapper-0 R cli-10\n"
			  "100 g1:0 switch cli-10 R other-11\n"
			  "150 g1:0 waking cli-10 0 irq\n"
			  "180 g1:1 switch swapper-0 R cli-10\n"
			  "200 g1:1 switch cli-10 S swapper-0\n",
	     190, 50, false);
	RUNS("cli-10", 180, 190);
	step(XVT_PATH_PREEMPTED, XVT_PATH_SAME, "cli-10", "other-11", 100, 180);
	RUNS("cli-10", 50, 100);
	ends(XVT_PATH_END_BEGIN, "");
}
END_TEST

/* -- what is missing ------------------------------------------------------------------ */

START_TEST(a_wake_up_that_is_not_recorded_is_a_hole)
{
	find(HEAD ON_CPUS ASKS "215 g1:0 switch swapper-0 R cli-10\n", 290, 50, false);
	RUNS("cli-10", 215, 290);
	ends(XVT_PATH_END_HOLE, "what woke cli-10 is not recorded");
	ck_assert_str_eq(needs, "sched_waking in the guest: record -e sched:sched_waking");
	/* No guess goes on there. */
	find(HEAD ON_CPUS ASKS "215 g1:0 switch swapper-0 R cli-10\n", 290, 50, true);
	ck_assert_uint_eq(step_count, 1);
}
END_TEST

/* sched_wakeup is on the woken task's CPU: its context is the waker's only if it is a task's. */
START_TEST(sched_wakeup_tells_the_waker_only_in_a_task)
{
	static const char *const by[] = { "irq:srv-20", "srv-20", "swapper-0" };
	char story[2048];

	snprintf(story, sizeof(story),
		 "%s%s10 g1:0 switch swapper-0 R cli-10\n120 g1:0 switch cli-10 S swapper-0\n"
		 "130 g1:1 switch swapper-0 R srv-20\n200 g1:1 wakeup cli-10 0 %s\n"
		 "215 g1:0 switch swapper-0 R cli-10\n",
		 HEAD, ON_CPUS, by[_i]);
	find(story, 290, 150, false);
	RUNS("cli-10", 215, 290);
	if (_i == 1) {
		WOKEN("cli-10", "srv-20", 200, 215);
		RUNS("srv-20", 150, 200);
		ends(XVT_PATH_END_BEGIN, "");
	} else {
		ends(XVT_PATH_END_HOLE, "who sent it is not told");
	}
}
END_TEST

/* Beside sched_waking, it tells nothing. */
START_TEST(sched_waking_is_the_wake_up)
{
	find(HEAD ON_CPUS ASKS "200 g1:1 waking cli-10 0 srv-20\n"
			       "205 g1:0 wakeup cli-10 0 irq\n"
			       "215 g1:0 switch swapper-0 R cli-10\n",
	     290, 50, false);
	ck_assert_uint_eq(step_count, 5);
}
END_TEST

/* The wake-up that is seen may not be the last one; the loss may be told after the path's end. */
START_TEST(a_loss_is_a_hole)
{
	static const char *const losses[] = { "205 g1:1 lost 3\n", "250 g1:1 lost 3\n",
					      "295 g1:1 lost 3\n" };
	char story[2048], *at;

	snprintf(story, sizeof(story), "%s%s%s%s", HEAD, ON_CPUS, ASKS, ANSWER);
	at = strstr(story, _i == 0 ? "215 g1:0" : "300 g1:0");
	memmove(at + strlen(losses[_i]), at, strlen(at) + 1);
	memcpy(at, losses[_i], strlen(losses[_i]));
	find(story, 290, 50, false);
	RUNS("cli-10", 215, 290);
	ends(XVT_PATH_END_HOLE, "events of g1 were lost");
}
END_TEST

/* Lost within the bound of the wake-up's time, or of the time at which the task came. */
START_TEST(a_loss_has_bounds)
{
	static const char *const around[] = { "197 g1:0 lost 3\n", "" };
	static const char *const behind[] = { "", "218 g1:1 switch srv-20 S swapper-0\n"
						  "250 g1:1 lost 3\n" };
	char story[2048];

	snprintf(story, sizeof(story),
		 HEAD ON_CPUS ASKS "%s200 g1:1 waking cli-10 0 srv-20\n"
				   "215 g1:0 switch swapper-0 R cli-10\n%s",
		 around[_i], behind[_i]);
	find(story, 290, 50, false);
	RUNS("cli-10", 215, 290);
	ends(XVT_PATH_END_HOLE, "events of g1 were lost");
}
END_TEST

START_TEST(a_time_in_doubt_is_a_hole)
{
	static const char *const wakings[] = { "200U", "200C" };
	char story[2048];

	snprintf(story, sizeof(story),
		 HEAD ON_CPUS ASKS "%s g1:1 waking cli-10 0 srv-20\n"
				   "215 g1:0 switch swapper-0 R cli-10\n",
		 wakings[_i]);
	find(story, 290, 50, false);
	RUNS("cli-10", 215, 290);
	ends(XVT_PATH_END_HOLE, "the time of an event of g1:1 is flagged");
}
END_TEST

/* Of two wake-ups near the time at which the task slept, the bounds do not say which one ended it.
 * A single one is it, although its time is before: a task that sleeps is woken. */
START_TEST(the_bounds_may_leave_the_waker_open)
{
	find(HEAD ON_CPUS ASKS "119 g1:1 waking cli-10 0 srv-20\n"
			       "121 g1:1 switch srv-20 R oth-21\n"
			       "122 g1:1 waking cli-10 0 oth-21\n"
			       "215 g1:0 switch swapper-0 R cli-10\n",
	     290, 50, false);
	RUNS("cli-10", 215, 290);
	ends(XVT_PATH_END_HOLE, "which of 2 wake-ups of cli-10");
	find(HEAD ON_CPUS "10 g1:0 switch swapper-0 R cli-10\n"
			  "110 g1:1 switch swapper-0 R srv-20\n"
			  "119 g1:1 waking cli-10 0 srv-20\n"
			  "120 g1:0 switch cli-10 S swapper-0\n"
			  "215 g1:0 switch swapper-0 R cli-10\n",
	     290, 115, false);
	RUNS("cli-10", 215, 290);
	WOKEN("cli-10", "srv-20", 119, 215);
	RUNS("srv-20", 115, 119);
	ends(XVT_PATH_END_BEGIN, "");
}
END_TEST

/* The wake-up of the sleep before is near the task's leaving, and that of this one near its coming.
 */
#define SHORT_RUN                                           \
	HEAD ON_CPUS "10 g1:0 switch swapper-0 R cli-10\n"  \
		     "20 g1:1 switch swapper-0 R srv-20\n"  \
		     "120 g1:0 switch cli-10 S swapper-0\n" \
		     "214 g1:1 waking cli-10 0 srv-20\n"    \
		     "215 g1:0 switch swapper-0 R cli-10\n" \
		     "216 g1:0 switch cli-10 S swapper-0\n"
#define SECOND_ANSWER                          \
	"300 g1:1 waking cli-10 0 srv-20\n"    \
	"301 g1:0 switch swapper-0 R cli-10\n" \
	"310 g1:0 switch cli-10 R oth-11\n"

START_TEST(the_wake_up_of_the_sleep_before_is_not_it)
{
	find(SHORT_RUN SECOND_ANSWER, 305, 220, false);
	RUNS("cli-10", 301, 305);
	WOKEN("cli-10", "srv-20", 300, 301);
	RUNS("srv-20", 220, 300);
	ends(XVT_PATH_END_BEGIN, "");
	/* What was lost may have been another one of that sleep. */
	find(SHORT_RUN "230 g1:1 lost 1\n" SECOND_ANSWER, 305, 100, false);
	RUNS("cli-10", 301, 305);
	ends(XVT_PATH_END_HOLE, "which of 2 wake-ups of cli-10");
	/* A pre-emption is no sleep. */
	find(HEAD ON_CPUS "10 g1:0 switch swapper-0 R cli-10\n"
			  "20 g1:1 switch swapper-0 R srv-20\n"
			  "120 g1:0 switch cli-10 S swapper-0\n"
			  "213 g1:1 waking cli-10 0 srv-20\n"
			  "214 g1:0 switch swapper-0 R cli-10\n"
			  "214.5 g1:0 switch cli-10 R oth-11\n"
			  "215 g1:0 switch oth-11 R cli-10\n"
			  "216 g1:0 switch cli-10 S swapper-0\n" SECOND_ANSWER,
	     305, 220, false);
	RUNS("cli-10", 301, 305);
	WOKEN("cli-10", "srv-20", 300, 301);
	RUNS("srv-20", 220, 300);
	ends(XVT_PATH_END_BEGIN, "");
}
END_TEST

/* A task is woken in the moment in which it leaves its CPU: analyze/host.c. */
START_TEST(a_wake_up_before_the_switch_away_is_it_if_there_is_no_other)
{
	find(HEAD ON_CPUS "10 g1:0 switch swapper-0 R cli-10\n"
			  "20 g1:1 switch swapper-0 R srv-20\n"
			  "110 g1:1 waking cli-10 0 srv-20\n"
			  "120 g1:0 switch cli-10 S oth-11\n"
			  "215 g1:0 switch oth-11 S cli-10\n",
	     290, 100, false);
	RUNS("cli-10", 215, 290);
	WOKEN("cli-10", "srv-20", 110, 215);
	RUNS("srv-20", 100, 110);
	ends(XVT_PATH_END_BEGIN, "");
	/* It had gone on, and slept for another reason. */
	find(HEAD ON_CPUS "10 g1:0 switch swapper-0 R cli-10\n"
			  "20 g1:1 switch swapper-0 R srv-20\n"
			  "110 g1:1 waking cli-10 0 srv-20\n"
			  "112 g1:1 switch srv-20 R oth-21\n"
			  "120 g1:0 switch cli-10 S oth-11\n"
			  "180 g1:1 waking cli-10 0 oth-21\n"
			  "215 g1:0 switch oth-11 S cli-10\n",
	     290, 150, false);
	RUNS("cli-10", 215, 290);
	WOKEN("cli-10", "oth-21", 180, 215);
	RUNS("oth-21", 150, 180);
	ends(XVT_PATH_END_BEGIN, "");
	/* The other one may be behind the switch to the task. */
	find(HEAD ON_CPUS "10 g1:0 switch swapper-0 R cli-10\n"
			  "20 g1:1 switch swapper-0 R srv-20\n"
			  "110 g1:1 waking cli-10 0 srv-20\n"
			  "120 g1:0 switch cli-10 S oth-11\n"
			  "215 g1:0 switch oth-11 S cli-10\n"
			  "216 g1:1 waking cli-10 0 srv-20\n",
	     290, 100, false);
	RUNS("cli-10", 215, 290);
	ends(XVT_PATH_END_HOLE, "which of 2 wake-ups of cli-10");
	/* It ended the sleep before. */
	find(HEAD ON_CPUS "10 g1:0 switch cli-10 S swapper-0\n"
			  "20 g1:1 switch swapper-0 R srv-20\n"
			  "40 g1:1 waking cli-10 0 srv-20\n"
			  "50 g1:0 switch swapper-0 R cli-10\n"
			  "120 g1:0 switch cli-10 S oth-11\n"
			  "215 g1:0 switch oth-11 S cli-10\n",
	     290, 30, false);
	RUNS("cli-10", 215, 290);
	ends(XVT_PATH_END_HOLE, "what woke cli-10 is not recorded");
}
END_TEST

/* Both wake each other, and the bounds allow it. */
START_TEST(a_circle_ends)
{
	find(HEAD ON_CPUS "100 g1:0 switch swapper-0 R cli-10\n"
			  "100 g1:1 switch swapper-0 R srv-20\n"
			  "101 g1:0 waking srv-20 1 cli-10\n"
			  "101 g1:1 waking cli-10 0 srv-20\n",
	     200, 50, true);
	ck_assert_uint_eq(step_count, 4);
	checked = 4;
	ends(XVT_PATH_END_HOLE, "in a circle");
}
END_TEST

/* The host's filter of threads leaves out switches: a thread that runs came by none. */
START_TEST(a_switch_that_is_missing_is_a_hole)
{
	find(HEAD ON_CPUS ASKS "205 g1:0 switch other-11 S cli-10\n", 290, 50, false);
	RUNS("cli-10", 205, 290);
	ends(XVT_PATH_END_HOLE, "not recorded");
	ck_assert_int_eq(try_to_find(HEAD "0 h:0 switch swapper-0 R q-503\n"
					  "10 h:1 switch swapper-0 R b-900\n"
					  "20 h:1 waking x-501 0 q-503\n"
					  "30 h:0 switch q-503 S x-501\n",
				     "h", "501", 40, 5, false),
			 0);
	RUNS("g1:vcpu4-501", 30, 40);
	WOKEN("g1:vcpu4-501", "g1:qemu-503", 20, 30);
	ends(XVT_PATH_END_HOLE, "a task switch of h:1 is missing");
}
END_TEST

START_TEST(a_task_on_no_cpu_has_no_path)
{
	ck_assert_int_eq(try_to_find(HEAD ON_CPUS ASKS ANSWER, "g1", "cli", 150, 0, false), -ESRCH);
	ck_assert_ptr_nonnull(strstr(xvt_path_error(p), "it comes to one at 1.000215000"));
	ck_assert_int_eq(try_to_find(HEAD ON_CPUS ASKS ANSWER, "g2", "cli", 150, 0, false), -ESRCH);
}
END_TEST

/* -- interrupts ----------------------------------------------------------------------- */

/* The client sleeps, and a softirq of vCPU 0 wakes it. %s: before it. */
#define SOFTIRQ                           \
	"455 g1:0 soft 3\n"               \
	"460 g1:0 waking cli-10 0 soft\n" \
	"465 g1:0 softx 3\n"              \
	"470 g1:0 switch swapper-0 R cli-10\n"
#define INTERRUPT                   \
	"450 g1:0 irq 25 virtio0\n" \
	"452 g1:0 raise 3 irq\n"    \
	"453 g1:0 irqx 25\n"
#define SLEEPS "170 g1:0 switch cli-10 S swapper-0\n"

static void is_softirq(void)
{
	RUNS("cli-10", 470, 500);
	WOKEN("cli-10", "an interrupt", 460, 470);
	HANDLER("softirq NET_RX", 455, 460);
}

static void is_interrupt(void)
{
	is_softirq();
	step(XVT_PATH_RAISED, XVT_PATH_RAISE, "softirq NET_RX", "", 452, 455);
	HANDLER("interrupt 25 virtio0", 450, 452);
}

START_TEST(a_softirq_is_raised)
{
	find(HEAD ON_CPUS SLEEPS INTERRUPT SOFTIRQ, 500, 50, false);
	is_interrupt();
	ends(XVT_PATH_END_HOLE, "what raised interrupt 25 virtio0 is not recorded");
	/* Without its raise, the interrupt before is a guess. */
	find(HEAD ON_CPUS SLEEPS "450 g1:0 irq 25 virtio0\n453 g1:0 irqx 25\n" SOFTIRQ, 500, 50,
	     false);
	is_softirq();
	ends(XVT_PATH_END_GUESS, "what raised softirq NET_RX is not recorded");
	ck_assert_ptr_nonnull(strstr(needs, "softirq_raise"));
	find(HEAD ON_CPUS SLEEPS "450 g1:0 irq 25 virtio0\n453 g1:0 irqx 25\n" SOFTIRQ, 500, 50,
	     true);
	is_softirq();
	step(XVT_PATH_RAISED, XVT_PATH_LAST_IRQ, "softirq NET_RX", "", 450, 455);
	ends(XVT_PATH_END_HOLE, "what raised interrupt 25");
	/* A raise before the softirq began the last time is over. */
	find(HEAD ON_CPUS SLEEPS "440 g1:0 raise 3 irq\n"
				 "442 g1:0 soft 3\n"
				 "444 g1:0 softx 3\n" INTERRUPT SOFTIRQ,
	     500, 50, false);
	is_interrupt();
	/* Raised twice: which of both counts is not told. */
	find(HEAD ON_CPUS SLEEPS "440 g1:0 raise 3 irq\n" INTERRUPT SOFTIRQ, 500, 50, false);
	is_softirq();
	ends(XVT_PATH_END_GUESS, "raised 2 times");
}
END_TEST

START_TEST(a_timer_is_an_origin)
{
	find(HEAD ON_CPUS SLEEPS "450 g1:0 irq 25 virtio0\n"
				 "453 g1:0 irqx 25\n"
				 "455 g1:0 expire 1 0 irq\n"
				 "460 g1:0 waking cli-10 0 irq\n"
				 "462 g1:0 expirex 1 irq\n"
				 "470 g1:0 switch swapper-0 R cli-10\n",
	     500, 50, false);
	RUNS("cli-10", 470, 500);
	WOKEN("cli-10", "an interrupt", 460, 470);
	HANDLER("timer", 455, 460);
	ends(XVT_PATH_END_ORIGIN, "a timer of g1");
	/* The handler before has returned: this one is not recorded. */
	find(HEAD ON_CPUS SLEEPS "450 g1:0 irq 25 virtio0\n"
				 "453 g1:0 irqx 25\n"
				 "460 g1:0 waking cli-10 0 irq\n"
				 "470 g1:0 switch swapper-0 R cli-10\n",
	     500, 50, false);
	RUNS("cli-10", 470, 500);
	WOKEN("cli-10", "an interrupt", 460, 470);
	ends(XVT_PATH_END_HOLE, "whose handler is not recorded");
}
END_TEST

/* KVM: accepted for APIC id 4 by a thread of the VMM, which g2's guest has woken. */
#define VHOST                                  \
	"180 h:1 switch swapper-0 R x-601\n"   \
	"200 g2:0 switch swapper-0 R srv-20\n" \
	"380 h:1 waking v-504 1 x-601\n"       \
	"390 h:1 switch x-601 R v-504\n"
#define ACCEPTED                      \
	"400 h:1 accept 4 35 v-504\n" \
	"401 h:1 accept 0 35 v-504\n" \
	"402 h:1 accept 4 36 v-504\n"
#define INJECTED "410 h:0 inject 35 x-501\n"

START_TEST(an_injection_leads_to_what_raised_it)
{
	find(HEAD
	     "0 h:0 switch swapper-0 R x-501\n" SLEEPS VHOST ACCEPTED INJECTED INTERRUPT SOFTIRQ,
	     500, 300, false);
	is_interrupt();
	step(XVT_PATH_RAISED, XVT_PATH_INJECTED, "interrupt 25 virtio0", "g1:io-504", 400, 450);
	RUNS("g1:io-504", 390, 400);
	step(XVT_PATH_WAITS, XVT_PATH_VCPU_THREAD, "g1:io-504", "g2:vcpu0-601", 380, 390);
	RUNS("srv-20", 300, 380);
	ck_assert_str_eq(steps[checked - 1].ring->machine->name, "g2");
	ends(XVT_PATH_END_BEGIN, "");
}
END_TEST

/* The module's record has the vector. */
#define INTERRUPT_OF(vector)                   \
	"450 g1:0 irq 25 virtio0 " vector "\n" \
	"452 g1:0 raise 3 irq\n"               \
	"453 g1:0 irqx 25\n"

START_TEST(an_injection_is_of_the_vector_that_is_handled)
{
	find(HEAD
	     "0 h:0 switch swapper-0 R x-501\n" SLEEPS VHOST ACCEPTED INJECTED INTERRUPT_OF("35")
		     SOFTIRQ,
	     500, 300, false);
	is_interrupt();
	step(XVT_PATH_RAISED, XVT_PATH_INJECTED, "interrupt 25 virtio0", "g1:io-504", 400, 450);
	find(HEAD
	     "0 h:0 switch swapper-0 R x-501\n" SLEEPS VHOST ACCEPTED INJECTED INTERRUPT_OF("36")
		     SOFTIRQ,
	     500, 300, false);
	is_interrupt();
	ends(XVT_PATH_END_HOLE, "interrupt 25 virtio0 has vector 36, and vector 35 was injected");
}
END_TEST

START_TEST(an_injection_may_have_several_causes)
{
	find(HEAD "0 h:0 switch swapper-0 R x-501\n" SLEEPS VHOST ACCEPTED
		  "405 h:1 accept 4 35 v-504\n" INJECTED INTERRUPT SOFTIRQ,
	     500, 300, false);
	is_interrupt();
	ends(XVT_PATH_END_GUESS, "vector 35 was raised 2 times");
	/* One before the vector's last injection is of another interrupt. */
	find(HEAD "0 h:0 switch swapper-0 R x-501\n" SLEEPS "172 h:1 accept 4 35 v-504\n"
		  "174 h:0 inject 35 x-501\n" VHOST ACCEPTED INJECTED INTERRUPT SOFTIRQ,
	     500, 300, false);
	ck_assert_uint_eq(step_count, 9);
	/* A second injection that may be before the handler, too. */
	find(HEAD "0 h:0 switch swapper-0 R x-501\n" SLEEPS VHOST ACCEPTED INJECTED
		  "450 h:0 inject 36 x-501\n" INTERRUPT SOFTIRQ,
	     500, 300, false);
	is_interrupt();
	ends(XVT_PATH_END_HOLE, "the bounds leave open which injection");
}
END_TEST

/* TCG: nothing tells of the interrupt. An idle vCPU has slept, and handles it when it is woken. */
#define WOKEN_VCPU                             \
	"0 h:0 switch swapper-0 R x-501\n"     \
	"10 g1:0 switch cli-10 S swapper-0\n"  \
	"20 h:0 switch x-501 S swapper-0\n"    \
	"30 h:1 switch swapper-0 R bash-900\n" \
	"40 h:1 waking q-503 1 bash-900\n"     \
	"50 h:1 switch bash-900 S q-503\n"     \
	"60 h:1 waking x-501 0 q-503\n"
#define COMES "70 h:0 switch swapper-0 R x-501\n"
#define HANDLES                         \
	"80 g1:0 irq 25 virtio0\n"      \
	"82 g1:0 waking cli-10 0 irq\n" \
	"84 g1:0 irqx 25\n"             \
	"90 g1:0 switch swapper-0 R cli-10\n"

static void is_handled(void)
{
	RUNS("cli-10", 90, 100);
	WOKEN("cli-10", "an interrupt", 82, 90);
	HANDLER("interrupt 25 virtio0", 80, 82);
}

START_TEST(the_waker_of_an_idle_vcpu_counts)
{
	find(HEAD WOKEN_VCPU COMES HANDLES, 100, 35, false);
	is_handled();
	step(XVT_PATH_RAISED, XVT_PATH_VCPU_WOKEN, "interrupt 25 virtio0", "g1:qemu-503", 60, 80);
	RUNS("g1:qemu-503", 50, 60);
	WOKEN("g1:qemu-503", "bash-900", 40, 50);
	RUNS("bash-900", 35, 40);
	ends(XVT_PATH_END_BEGIN, "");
	/* One thread of all vCPUs was woken for any of them. */
	find(THREADS_OF_ALL WOKEN_VCPU COMES HANDLES, 100, 35, false);
	is_handled();
	ends(XVT_PATH_END_GUESS, "what raised interrupt 25 virtio0");
	/* What is no thread of a VMM has no wake-ups in the trace. */
	find(HEAD WOKEN_VCPU COMES HANDLES, 100, 0, false);
	ck_assert_str_eq(needs, "record --host sched --host-all");
}
END_TEST

/* Another thread of the VMM ran; the guest did something in between; the guest was not idle. */
START_TEST(the_waker_of_a_vcpu_may_be_another_one)
{
	static const char *const stories[] = {
		HEAD WOKEN_VCPU "65 h:1 switch q-503 S io-504\n" COMES HANDLES,
		HEAD WOKEN_VCPU COMES "75 g1:0 raise 1 irq\n" HANDLES,
		HEAD "0 h:0 switch swapper-0 R x-501\n"
		     "10 g1:0 switch swapper-0 R cli-10\n"
		     "15 g1:0 switch cli-10 S job-11\n"
		     "20 h:0 switch x-501 S swapper-0\n"
		     "50 h:1 switch bash-900 S q-503\n"
		     "60 h:1 waking x-501 0 q-503\n" COMES HANDLES,
	};

	find(stories[_i], 100, 35, false);
	is_handled();
	ends(XVT_PATH_END_GUESS, "what raised interrupt 25 virtio0");
	find(stories[_i], 100, 35, true);
	is_handled();
	step(XVT_PATH_RAISED, XVT_PATH_LAST_OF_VMM, "interrupt 25 virtio0",
	     _i ? "g1:qemu-503" : "g1:io-504", 80, 80);
}
END_TEST

/* The thread came to its CPU within the bound of the handler: it may have been before or behind. */
START_TEST(the_bounds_may_leave_a_vcpus_waker_open)
{
	find(HEAD WOKEN_VCPU "79 h:0 switch swapper-0 R x-501\n" HANDLES, 100, 35, false);
	is_handled();
	ends(XVT_PATH_END_GUESS, "what raised interrupt 25 virtio0");
}
END_TEST

/* -- vCPUs that wake threads of the host ---------------------------------------------- */

#define KICK                                  \
	"0 h:0 switch swapper-0 R x-501\n"    \
	"10 g1:0 switch swapper-0 R cli-10\n" \
	"20 g1:1 switch swapper-0 R srv-20\n" \
	"100 h:0 waking q-503 1 x-501\n"      \
	"110 h:1 switch swapper-0 R q-503\n"

static void find_qemu(const char *story, bool guess)
{
	ck_assert_int_eq(try_to_find(story, "h", "503", 120, 50, guess), 0);
	RUNS("g1:qemu-503", 110, 120);
}

START_TEST(a_vcpus_thread_leads_into_its_guest)
{
	static const char *const open[] = { "99 g1:0 switch cli-10 S swapper-0\n",
					    "101 g1:0 switch cli-10 S swapper-0\n" };
	char story[2048], *at;

	snprintf(story, sizeof(story), "%s%s", HEAD, KICK);
	find_qemu(story, false);
	step(XVT_PATH_WAITS, XVT_PATH_VCPU_THREAD, "g1:qemu-503", "g1:vcpu4-501", 100, 110);
	RUNS("cli-10", 50, 100);
	ends(XVT_PATH_END_BEGIN, "");
	/* It may have slept already. */
	at = strstr(story, _i ? "110 h:1" : "100 h:0");
	memmove(at + strlen(open[_i]), at, strlen(at) + 1);
	memcpy(at, open[_i], strlen(open[_i]));
	find_qemu(story, true);
	WOKEN("g1:qemu-503", "g1:vcpu4-501", 100, 110);
	ends(XVT_PATH_END_HOLE, "the bounds leave open what the vCPU of g1 was at");
}
END_TEST

/* 16 of the reference: a client asks a server, that asks the VMM's thread of a disk, which answers
 * by an interrupt of the server's idle vCPU; and the same way back. */
START_TEST(a_request_goes_to_the_disk_and_back)
{
	find(HEAD ON_CPUS "10 g1:0 switch swapper-0 R cli-10\n"
			  "20 g1:1 switch srv-20 S swapper-0\n"
			  "100 g1:0 waking srv-20 1 cli-10\n"
			  "110 g1:1 switch swapper-0 R srv-20\n"
			  "120 g1:0 switch cli-10 S swapper-0\n"
			  "130 h:0 switch x-501 S swapper-0\n"
			  "150 h:1 waking q-503 0 x-502\n"
			  "160 h:0 switch swapper-0 R q-503\n"
			  "170 g1:1 switch srv-20 S swapper-0\n"
			  "180 h:1 switch x-502 S swapper-0\n"
			  "300 h:0 waking x-502 1 q-503\n"
			  "310 h:1 switch swapper-0 R x-502\n"
			  "315 h:0 switch q-503 S swapper-0\n"
			  "320 g1:1 irq 30 virtio2\n"
			  "322 g1:1 waking srv-20 1 irq\n"
			  "324 g1:1 irqx 30\n"
			  "330 g1:1 switch swapper-0 R srv-20\n"
			  "400 g1:1 waking cli-10 0 srv-20\n"
			  "402 h:1 waking x-501 0 x-502\n"
			  "405 h:0 switch swapper-0 R x-501\n"
			  "410 g1:0 switch swapper-0 R cli-10\n"
			  "500 g1:0 switch cli-10 S swapper-0\n",
	     490, 50, false);
	RUNS("cli-10", 410, 490);
	WOKEN("cli-10", "srv-20", 400, 410);
	RUNS("srv-20", 330, 400);
	WOKEN("srv-20", "an interrupt", 322, 330);
	HANDLER("interrupt 30 virtio2", 320, 322);
	step(XVT_PATH_RAISED, XVT_PATH_VCPU_WOKEN, "interrupt 30 virtio2", "g1:qemu-503", 300, 320);
	RUNS("g1:qemu-503", 160, 300);
	step(XVT_PATH_WAITS, XVT_PATH_VCPU_THREAD, "g1:qemu-503", "g1:vcpu5-502", 150, 160);
	RUNS("srv-20", 110, 150);
	WOKEN("srv-20", "cli-10", 100, 110);
	RUNS("cli-10", 50, 100);
	ends(XVT_PATH_END_BEGIN, "");
}
END_TEST

START_TEST(one_thread_of_all_vcpus_does_not_tell_which)
{
	find_qemu(THREADS_OF_ALL KICK, false);
	WOKEN("g1:qemu-503", "g1:vcpus-501", 100, 110);
	ends(XVT_PATH_END_GUESS, "one thread runs all vCPUs of g1");
	find_qemu(THREADS_OF_ALL KICK, true);
	step(XVT_PATH_WAITS, XVT_PATH_LAST_OF_VCPU, "g1:qemu-503", "g1:vcpus-501", 100, 110);
	RUNS("srv-20", 50, 100);
	ck_assert(steps[2].taken_known && steps[2].shares);
	ck_assert_uint_eq(steps[2].taken_least_ns, 0);
	ck_assert_uint_eq(steps[2].taken_most_ns, 50 * US);
}
END_TEST

/* -- messages ------------------------------------------------------------------------- */

/* 17 of the reference: g1 sends 7, its VMM transmits that and is done; g2 answers 8. The interrupt
 * of the answer comes after the VMM's thread ran for the transmission alone. A path by that run
 * leads back to g1 itself, and covers all of the time. */
#define TRANSMITTED                           \
	"0 h:0 switch swapper-0 R x-501\n"    \
	"1 h:1 switch swapper-0 R x-601\n"    \
	"10 g1:0 switch swapper-0 R cli-10\n" \
	"12 g2:0 switch swapper-0 R srv-20\n" \
	"100 g1:0 send 7 cli-10\n"            \
	"130 h:0 waking q-503 0 x-501\n"      \
	"132 h:0 switch x-501 R q-503\n"      \
	"160 h:0 switch q-503 S x-501\n" SLEEPS
#define TRANSMITS HEAD TRANSMITTED
#define RECEIVES  "500 g1:0 recv 8 cli-10\n"

static void comes_from_g2(const char *not_told)
{
	is_interrupt();
	step(XVT_PATH_MESSAGE, XVT_PATH_KEY, "message 8", "srv-20", 300, 450);
	ck_assert_msg(strstr(steps[checked - 1].aside, not_told) != NULL, "%s",
		      steps[checked - 1].aside);
	RUNS("srv-20", 100, 300);
	ck_assert_str_eq(steps[checked - 1].ring->machine->name, "g2");
	ends(XVT_PATH_END_BEGIN, "");
}

START_TEST(a_transmission_is_not_taken_for_the_answer)
{
	const char *story = TRANSMITS "300 g2:0 send 8 srv-20\n" INTERRUPT SOFTIRQ RECEIVES;

	find(story, 500, 100, false);
	comes_from_g2("what raised interrupt 25 virtio0");
	find(story, 500, 100, true);
	comes_from_g2("a path that does not come from the sender is refused");
	/* The same without a message: the guess is taken for what it is. */
	find(TRANSMITS INTERRUPT SOFTIRQ, 500, 100, true);
	is_interrupt();
	step(XVT_PATH_RAISED, XVT_PATH_LAST_OF_VMM, "interrupt 25 virtio0", "g1:qemu-503", 160,
	     450);
	RUNS("g1:qemu-503", 132, 160);
	step(XVT_PATH_WAITS, XVT_PATH_VCPU_THREAD, "g1:qemu-503", "g1:vcpu4-501", 130, 132);
	RUNS("cli-10", 100, 130);
	ends(XVT_PATH_END_BEGIN, "");
}
END_TEST

/* The path that is refused went back over all of g2's second vCPU, on which the sender's waker ran:
 * it is free again. */
START_TEST(what_was_refused_may_be_on_the_path)
{
	find("host 2\n"
	     "guest g1 1 2000\n"
	     "guest g2 2 2000\n"
	     "thread 501 g1:vcpu0\n"
	     "thread 503 g1:qemu\n"
	     "thread 601 g2:vcpu0\n"
	     "thread 602 g2:vcpu1\n"
	     "0 h:0 switch swapper-0 R x-501\n"
	     "5 g2:1 switch swapper-0 R oth-21\n"
	     "170 g1:0 switch cli-10 S swapper-0\n"
	     "180 g2:0 switch srv-20 S swapper-0\n"
	     "290 g2:1 waking srv-20 0 oth-21\n"
	     "295 g2:0 switch swapper-0 R srv-20\n"
	     "300 g2:0 send 8 srv-20\n"
	     "310 h:1 switch swapper-0 R x-602\n"
	     "320 h:1 waking q-503 1 x-602\n"
	     "330 h:1 switch x-602 R q-503\n"
	     "340 h:1 switch q-503 R x-602\n" INTERRUPT SOFTIRQ "500 g1:0 recv 8 cli-10\n",
	     500, 100, true);
	is_interrupt();
	step(XVT_PATH_MESSAGE, XVT_PATH_KEY, "message 8", "srv-20", 300, 450);
	ck_assert_ptr_nonnull(strstr(steps[checked - 1].aside, "refused"));
	RUNS("srv-20", 295, 300);
	WOKEN("srv-20", "oth-21", 290, 295);
	RUNS("oth-21", 100, 290);
	ends(XVT_PATH_END_BEGIN, "");
}
END_TEST

/* A key that was sent twice; one that overlaps with its receipt; a sender in the same machine. */
START_TEST(a_message_that_is_not_proven_is_no_edge)
{
	static const char *const sends[] = { "250 g2:0 send 8 srv-20\n300 g2:0 send 8 srv-20\n",
					     "300 g1:1 send 8 cli-10\n",
					     "300U g2:0 send 8 srv-20\n", "" };
	char story[2048];

	snprintf(story, sizeof(story), "%s%s%s", TRANSMITS, sends[_i], INTERRUPT SOFTIRQ);
	strcat(story, _i == 3 ? "497 g2:0 send 8 srv-20\n" RECEIVES : RECEIVES);
	find(story, 500, 100, false);
	is_interrupt();
	ends(XVT_PATH_END_GUESS, "what raised interrupt 25 virtio0");
}
END_TEST

/* The sending may have been behind the receipt, as far as the clocks go. */
START_TEST(a_message_within_the_bounds_is_no_edge)
{
	const char *story = "300 g2:0 send 8 srv-20\n" INTERRUPT SOFTIRQ RECEIVES;
	char all[4096];

	snprintf(all, sizeof(all), "%s%s%s", _i ? MACHINES("199000") : MACHINES("190000"),
		 TRANSMITTED, story);
	find(all, 500, 100, false);
	ck_assert_uint_eq(step_count, _i ? 5 : 7);
}
END_TEST

/* A key that was received before is used again: the new sending counts. */
START_TEST(a_key_may_be_used_again)
{
	find(TRANSMITS "105 g2:0 send 8 srv-20\n"
		       "112 g1:0 recv 8 cli-10\n"
		       "300 g2:0 send 8 srv-20\n" INTERRUPT SOFTIRQ RECEIVES,
	     500, 100, false);
	ck_assert_uint_eq(step_count, 7);
}
END_TEST

/* The receiver ran all the time: it did not wait for the message. */
START_TEST(a_receiver_that_did_not_wait_came_by_itself)
{
	find(HEAD "0 h:0 switch swapper-0 R x-501\n"
		  "10 g1:0 switch swapper-0 R cli-10\n"
		  "12 g2:0 switch swapper-0 R srv-20\n"
		  "300 g2:0 send 8 srv-20\n" RECEIVES,
	     500, 100, true);
	RUNS("cli-10", 100, 500);
	ends(XVT_PATH_END_BEGIN, "");
}
END_TEST

/* -- losses that are known late ---------------------------------------------------------- */

/* A LOST record is at the end of its hole, seconds behind the path here. */
#define LATE "2500000 "

START_TEST(a_hole_may_end_far_behind_the_path)
{
	find(HEAD ON_CPUS ASKS ANSWER LATE "g1:1 lost 3\n", 290, 50, false);
	RUNS("cli-10", 215, 290);
	ends(XVT_PATH_END_HOLE, "events of g1 were lost");
	find(HEAD ON_CPUS ASKS ANSWER "320 g1:1 soft 1\n" LATE "g1:1 lost 3\n", 290, 50, false);
	ck_assert_uint_eq(step_count, 5);
}
END_TEST

/* The task may have left its CPU, and come to one. */
START_TEST(a_task_in_a_hole_has_no_path)
{
	const char *story =
		HEAD ON_CPUS ASKS "200 g1:1 waking cli-10 0 srv-20\n"
				  "215 g1:0 switch swapper-0 R cli-10\n" LATE "g1:0 lost 3\n";

	find(story, 290, 50, false);
	ends(XVT_PATH_END_HOLE, "events of g1:0 were lost at that time");
	ck_assert_int_eq(try_to_find(story, "g1", "cli", 150, 0, false), -ESRCH);
	ck_assert_ptr_nonnull(strstr(xvt_path_error(p), "on no CPU at that time"));
	story = HEAD ON_CPUS ASKS LATE "g1:1 lost 3\n";
	ck_assert_int_eq(try_to_find(story, "g1", "cli", 150, 0, false), -ESRCH);
	ck_assert_ptr_nonnull(strstr(xvt_path_error(p), "events were lost at that time"));
}
END_TEST

/* Its first raise may be among what was lost. */
START_TEST(a_raise_behind_a_loss_may_be_another_one)
{
	find(HEAD ON_CPUS SLEEPS "445 g1:0 lost 3\n" INTERRUPT SOFTIRQ, 500, 50, false);
	is_softirq();
	ends(XVT_PATH_END_HOLE, "events were lost before softirq NET_RX");
	find(HEAD ON_CPUS SLEEPS
	     "440 g1:0 lost 3\n442 g1:0 soft 3\n444 g1:0 softx 3\n" INTERRUPT SOFTIRQ,
	     500, 50, false);
	is_interrupt();
}
END_TEST

/* One before the injection, one between the injection and the handler, one that is known late; one
 * before the last injection, and one behind the handler. */
START_TEST(an_injection_in_a_hole_is_not_told)
{
	static const struct {
		const char *before, *between, *behind;
		bool told;
	} cases[] = {
		{ "175 h:1 lost 5\n", "", "", false },
		{ "", "430 h:1 lost 5\n", "", false },
		{ "", "", LATE "h:1 lost 5\n", false },
		{ "172 h:1 lost 5\n174 h:0 inject 35 x-501\n", "", "", true },
		{ "", "", "600 h:1 waking q-503 1 irq\n" LATE "h:1 lost 5\n", true },
	};
	char story[4096];

	snprintf(story, sizeof(story), "%s%s%s%s%s%s",
		 HEAD "0 h:0 switch swapper-0 R x-501\n" SLEEPS, cases[_i].before,
		 VHOST ACCEPTED INJECTED, cases[_i].between, INTERRUPT SOFTIRQ, cases[_i].behind);
	find(story, 500, 300, false);
	is_interrupt();
	if (!cases[_i].told) {
		ends(XVT_PATH_END_HOLE, "events of h were lost in between");
		return;
	}
	step(XVT_PATH_RAISED, XVT_PATH_INJECTED, "interrupt 25 virtio0", "g1:io-504", 400, 450);
}
END_TEST

/* On the other CPU a thread of the VMM may have run since the loss. */
START_TEST(a_thread_that_ran_behind_a_loss_may_have_raised_it)
{
	find("host 3\nguest g1 2 2000 4\nthread 501 g1:vcpu4\nthread 503 g1:qemu\n"
	     "1 h:2 switch swapper-0 R bash-901\n"
	     "5 h:2 lost 3\n" WOKEN_VCPU COMES HANDLES,
	     100, 35, false);
	is_handled();
	ends(XVT_PATH_END_GUESS, "what raised interrupt 25 virtio0");
	find("host 3\nguest g1 2 2000 4\nthread 501 g1:vcpu4\nthread 503 g1:qemu\n"
	     "0 h:2 lost 3\n"
	     "1 h:2 switch swapper-0 R bash-901\n" WOKEN_VCPU COMES HANDLES,
	     100, 35, false);
	is_handled();
	step(XVT_PATH_RAISED, XVT_PATH_VCPU_WOKEN, "interrupt 25 virtio0", "g1:qemu-503", 60, 80);
}
END_TEST

/* Another one of that key may have been sent. */
START_TEST(a_message_in_a_hole_is_no_edge)
{
	static const char *const lost[] = { LATE "g2:0 lost 3\n", LATE "g1:1 lost 3\n", "" };
	char story[4096];

	snprintf(story, sizeof(story), "%s%s",
		 TRANSMITS "300 g2:0 send 8 srv-20\n" INTERRUPT SOFTIRQ RECEIVES, lost[_i]);
	find(story, 500, 100, false);
	if (_i == 1) {
		/* The wake-up is in that hole, too. */
		RUNS("cli-10", 470, 500);
		ends(XVT_PATH_END_HOLE, "events of g1 were lost");
		return;
	}
	is_interrupt();
	ck_assert_uint_eq(step_count, _i ? 7 : 5);
}
END_TEST

/* In two holes it may have left its CPU and come again: they need not be in that part. */
START_TEST(what_the_host_took_behind_a_hole_is_not_told)
{
	static const char *const lost[] = { "", "15 h:0 lost 3\n" };
	char story[2048];

	snprintf(story, sizeof(story),
		 HEAD ON_CPUS "5 h:0 waking kw-902 0 irq\n10 g1:0 switch "
			      "swapper-0 R cli-10\n%s%s",
		 lost[_i], strstr(ASKS ANSWER, "20 g1:1"));
	find(story, 290, 50, false);
	ck_assert_uint_eq(step_count, 5);
	ck_assert(steps[0].taken_known == !_i);
}
END_TEST

/* By the bounds, a wake-up may have been recorded before the task came, or in the moment in which
 * it left. */
START_TEST(a_wake_up_near_the_coming_may_be_of_the_leaving)
{
	static const char *const before[] = { "60 g1:1 waking cli-10 0 srv-20\n", "" };
	char story[2048];

	snprintf(story, sizeof(story),
		 HEAD ON_CPUS "10 g1:0 switch cli-10 S swapper-0\n"
			      "20 g1:1 switch swapper-0 R srv-20\n%s"
			      "105 g1:0 switch swapper-0 R cli-10\n"
			      "106 g1:1 waking cli-10 0 srv-20\n"
			      "120 g1:0 switch cli-10 S oth-11\n"
			      "215 g1:0 switch oth-11 S cli-10\n"
			      "216 g1:1 waking cli-10 0 srv-20\n",
		 before[_i]);
	find(story, 290, 100, false);
	RUNS("cli-10", 215, 290);
	if (!_i) {
		ends(XVT_PATH_END_HOLE, "which of 2 wake-ups of cli-10");
		return;
	}
	/* It ended the sleep before. */
	WOKEN("cli-10", "srv-20", 215, 215);
}
END_TEST

Suite *path_suite(void)
{
	Suite *s = suite_create("path");
	TCase *t = tcase_create("path");

	tcase_add_checked_fixture(t, NULL, fini);
	tcase_add_test(t, a_client_waits_for_its_server);
	tcase_add_test(t, what_the_host_took_of_a_part_is_told);
	tcase_add_test(t, what_the_host_took_has_bounds);
	tcase_add_test(t, what_the_host_took_at_the_begin_has_bounds);
	tcase_add_test(t, a_task_that_is_preempted_was_there_before);
	tcase_add_test(t, a_wake_up_that_is_not_recorded_is_a_hole);
	tcase_add_loop_test(t, sched_wakeup_tells_the_waker_only_in_a_task, 0, 3);
	tcase_add_test(t, sched_waking_is_the_wake_up);
	tcase_add_loop_test(t, a_loss_is_a_hole, 0, 3);
	tcase_add_loop_test(t, a_loss_has_bounds, 0, 2);
	tcase_add_loop_test(t, a_time_in_doubt_is_a_hole, 0, 2);
	tcase_add_test(t, the_bounds_may_leave_the_waker_open);
	tcase_add_test(t, the_wake_up_of_the_sleep_before_is_not_it);
	tcase_add_test(t, a_wake_up_before_the_switch_away_is_it_if_there_is_no_other);
	tcase_add_test(t, a_circle_ends);
	tcase_add_test(t, a_switch_that_is_missing_is_a_hole);
	tcase_add_test(t, a_task_on_no_cpu_has_no_path);
	tcase_add_test(t, a_softirq_is_raised);
	tcase_add_test(t, a_timer_is_an_origin);
	tcase_add_test(t, an_injection_leads_to_what_raised_it);
	tcase_add_test(t, an_injection_is_of_the_vector_that_is_handled);
	tcase_add_test(t, an_injection_may_have_several_causes);
	tcase_add_test(t, the_waker_of_an_idle_vcpu_counts);
	tcase_add_loop_test(t, the_waker_of_a_vcpu_may_be_another_one, 0, 3);
	tcase_add_test(t, the_bounds_may_leave_a_vcpus_waker_open);
	tcase_add_loop_test(t, a_vcpus_thread_leads_into_its_guest, 0, 2);
	tcase_add_test(t, a_request_goes_to_the_disk_and_back);
	tcase_add_test(t, one_thread_of_all_vcpus_does_not_tell_which);
	tcase_add_test(t, a_transmission_is_not_taken_for_the_answer);
	tcase_add_test(t, what_was_refused_may_be_on_the_path);
	tcase_add_loop_test(t, a_message_that_is_not_proven_is_no_edge, 0, 4);
	tcase_add_loop_test(t, a_message_within_the_bounds_is_no_edge, 0, 2);
	tcase_add_test(t, a_key_may_be_used_again);
	tcase_add_test(t, a_receiver_that_did_not_wait_came_by_itself);
	tcase_add_test(t, a_hole_may_end_far_behind_the_path);
	tcase_add_test(t, a_task_in_a_hole_has_no_path);
	tcase_add_test(t, a_raise_behind_a_loss_may_be_another_one);
	tcase_add_loop_test(t, an_injection_in_a_hole_is_not_told, 0, 5);
	tcase_add_test(t, a_thread_that_ran_behind_a_loss_may_have_raised_it);
	tcase_add_loop_test(t, a_message_in_a_hole_is_no_edge, 0, 3);
	tcase_add_loop_test(t, what_the_host_took_behind_a_hole_is_not_told, 0, 2);
	tcase_add_loop_test(t, a_wake_up_near_the_coming_may_be_of_the_leaving, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
