// SPDX-License-Identifier: GPL-2.0
/* test_workers.c - threads that wait for work do each call once, at the same time as others. */
#include "suites.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/workers.h"

#define CALLS 1000u

struct work {
	atomic_uint done[CALLS];
	pthread_barrier_t together;
};

static void once(void *arg, unsigned int i)
{
	struct work *w = arg;

	atomic_fetch_add(&w->done[i], 1);
}

START_TEST(each_call_is_made_once)
{
	static struct work w;
	struct xvt_workers *workers;

	ck_assert_int_eq(xvt_workers_start(&workers, (unsigned int)_i + 1), 0);
	for (unsigned int round = 1; round <= 20; round++) {
		xvt_workers_run(workers, CALLS, once, &w);
		for (unsigned int i = 0; i < CALLS; i++)
			ck_assert_uint_eq(atomic_load(&w.done[i]), round);
	}
	xvt_workers_run(workers, 0, once, &w);
	xvt_workers_end(workers);
}
END_TEST

/* No call returns before all of them are made. */
static void meet(void *arg, unsigned int i)
{
	struct work *w = arg;
	sigset_t blocked;

	pthread_barrier_wait(&w->together);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	atomic_fetch_add(&w->done[i], sigismember(&blocked, SIGINT) ? 1 : 100);
}

START_TEST(calls_are_made_at_the_same_time_and_without_signals)
{
	const unsigned int count = (unsigned int)_i + 2;
	static struct work w;
	struct xvt_workers *workers;
	unsigned int sum = 0;

	ck_assert_int_eq(pthread_barrier_init(&w.together, NULL, count), 0);
	ck_assert_int_eq(xvt_workers_start(&workers, count), 0);
	xvt_workers_run(workers, count, meet, &w);
	for (unsigned int i = 0; i < count; i++)
		sum += atomic_load(&w.done[i]);
	ck_assert_uint_eq(sum, 100 + count - 1); /* the caller's own has them */
	xvt_workers_end(workers);
	pthread_barrier_destroy(&w.together);
}
END_TEST

/* A call of a job, which the caller does not wait for at once. */
static void job(void *arg)
{
	struct work *w = arg;

	pthread_barrier_wait(&w->together);
	atomic_fetch_add(&w->done[0], 1);
}

static void job_alone(void *arg)
{
	struct work *w = arg;

	atomic_fetch_add(&w->done[1], 1);
}

START_TEST(a_job_runs_while_the_caller_goes_on)
{
	static struct work w;
	struct xvt_workers *workers;

	ck_assert_int_eq(pthread_barrier_init(&w.together, NULL, 2), 0);
	ck_assert_int_eq(xvt_workers_start(&workers, (unsigned int)_i + 2), 0);
	for (unsigned int round = 1; round <= 50; round++) {
		xvt_workers_begin(workers, 5, job, &w);
		pthread_barrier_wait(&w.together); /* it waits for the caller */
		xvt_workers_begin(workers, 6, job_alone, &w);
		xvt_workers_run(workers, 10, once, &w);
		xvt_workers_wait(workers, 6);
		xvt_workers_wait(workers, 5);
		xvt_workers_wait(workers, 5); /* it has none any more */
		ck_assert_uint_eq(atomic_load(&w.done[0]), 2 * round);
		ck_assert_uint_eq(atomic_load(&w.done[1]), 2 * round);
	}
	xvt_workers_end(workers);
	pthread_barrier_destroy(&w.together);
}
END_TEST

/* Without another thread the caller makes the call. */
START_TEST(a_job_that_no_thread_took_is_the_callers)
{
	static struct work w;
	struct xvt_workers *workers;

	ck_assert_int_eq(xvt_workers_start(&workers, 1), 0);
	xvt_workers_begin(workers, 0, job_alone, &w);
	ck_assert_uint_eq(atomic_load(&w.done[1]), 0);
	xvt_workers_wait(workers, 0);
	ck_assert_uint_eq(atomic_load(&w.done[1]), 1);
	xvt_workers_end(workers);
}
END_TEST

START_TEST(there_are_as_many_cpus_as_the_caller_may_use)
{
	ck_assert_uint_ge(xvt_workers_cpus(), 1);
	xvt_workers_end(NULL);
}
END_TEST

Suite *workers_suite(void)
{
	Suite *s = suite_create("workers");
	TCase *t = tcase_create("workers");

	tcase_add_loop_test(t, each_call_is_made_once, 0, 5);
	tcase_add_loop_test(t, calls_are_made_at_the_same_time_and_without_signals, 0, 5);
	tcase_add_loop_test(t, a_job_runs_while_the_caller_goes_on, 0, 3);
	tcase_add_test(t, a_job_that_no_thread_took_is_the_callers);
	tcase_add_test(t, there_are_as_many_cpus_as_the_caller_may_use);
	suite_add_tcase(s, t);
	return s;
}
