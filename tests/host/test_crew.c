// SPDX-License-Identifier: GPL-2.0
/*
 * test_crew.c - each task that was given is done once, by whoever comes first; who needs one gets
 * it done, whether or not there is a thread for it; and nothing is done after a recall.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "crew.h"

#define TASKS 64
#define TURNS 2000

struct counted {
	struct xvt_task task;
	uint64_t done; /* plain: the crew's lock orders it */
	pthread_t by;
};

static void count(struct xvt_task *task)
{
	struct counted *c = (struct counted *)task;

	c->done++;
	c->by = pthread_self();
}

static struct xvt_crew *crew_of(unsigned int threads)
{
	struct xvt_crew *c;

	ck_assert_int_eq(xvt_crew_new(&c, threads), 0);
	return c;
}

START_TEST(each_task_is_done_once_for_each_time_it_was_given)
{
	struct xvt_crew *crew = crew_of((unsigned int)_i);
	struct counted t[TASKS] = { 0 };
	unsigned int seed = 1, turn, i;
	uint64_t given[TASKS] = { 0 };

	for (i = 0; i < TASKS; i++)
		t[i].task.run = count;
	for (turn = 0; turn < TURNS; turn++) {
		unsigned int some = 1 + (unsigned int)rand_r(&seed) % TASKS;

		for (i = 0; i < some; i++) {
			xvt_crew_give(crew, &t[i].task);
			given[i]++;
		}
		/* Not in the order in which they were given. */
		for (i = some; i-- > 0;) {
			xvt_crew_need(crew, &t[i].task);
			if (t[i].done != given[i])
				ck_abort_msg("task %u of turn %u", i, turn);
		}
	}
	xvt_crew_free(crew);
}
END_TEST

START_TEST(nothing_is_done_after_a_recall)
{
	struct xvt_crew *crew = crew_of(2);
	struct counted t[TASKS] = { 0 };
	uint64_t done[TASKS];
	unsigned int turn, i;

	for (i = 0; i < TASKS; i++)
		t[i].task.run = count;
	for (turn = 0; turn < TURNS; turn++) {
		for (i = 0; i < TASKS; i++)
			xvt_crew_give(crew, &t[i].task);
		for (i = 0; i < TASKS; i++) {
			xvt_crew_recall(crew, &t[i].task);
			done[i] = t[i].done;
		}
		for (i = 0; i < TASKS; i++)
			must_hold(t[i].done == done[i]);
	}
	xvt_crew_free(crew);
	for (i = 0; i < TASKS; i++)
		ck_assert_uint_le(t[i].done, TURNS);
}
END_TEST

/* One that waits for another one that only a second thread can do. */
struct waiting {
	struct xvt_task task;
	atomic_bool begun;
	atomic_bool *wait_for;
	atomic_bool *then_set;
};

static void wait_and_set(struct xvt_task *task)
{
	struct waiting *w = (struct waiting *)task;

	atomic_store(&w->begun, true);
	while (w->wait_for && !atomic_load(w->wait_for))
		sched_yield();
	if (w->then_set)
		atomic_store(w->then_set, true);
}

START_TEST(a_crew_works_while_its_owner_does_something_else)
{
	struct xvt_crew *crew = crew_of(2);
	atomic_bool first = false, second = false;
	struct waiting a = { .task.run = wait_and_set, .wait_for = &second, .then_set = &first };
	struct waiting b = { .task.run = wait_and_set, .then_set = &second };

	xvt_crew_give(crew, &a.task);
	xvt_crew_give(crew, &b.task);
	while (!atomic_load(&first)) /* and needs nothing */
		sched_yield();
	xvt_crew_need(crew, &a.task);
	xvt_crew_need(crew, &b.task);
	xvt_crew_free(crew);
}
END_TEST

/* The first waits for the second, which the owner does while it waits for the first. */
START_TEST(who_waits_does_what_nobody_has_begun)
{
	struct xvt_crew *crew = crew_of(1);
	atomic_bool second = false;
	struct waiting a = { .task.run = wait_and_set, .wait_for = &second };
	struct waiting b = { .task.run = wait_and_set, .then_set = &second };

	xvt_crew_give(crew, &a.task);
	while (!atomic_load(&a.begun))
		sched_yield();
	xvt_crew_give(crew, &b.task);
	xvt_crew_need(crew, &a.task);
	xvt_crew_need(crew, &b.task);
	ck_assert(atomic_load(&second));
	xvt_crew_free(crew);
}
END_TEST

struct signals {
	struct xvt_task task;
	atomic_bool done;
	sigset_t set;
};

static void take_signals(struct xvt_task *task)
{
	struct signals *s = (struct signals *)task;

	pthread_sigmask(SIG_SETMASK, NULL, &s->set);
	atomic_store(&s->done, true);
}

START_TEST(its_threads_take_no_signals_but_those_of_their_own_accesses)
{
	struct xvt_crew *crew = crew_of(1);
	struct signals s = { .task.run = take_signals };
	sigset_t before;

	xvt_crew_give(crew, &s.task);
	while (!atomic_load(&s.done)) /* not by us */
		sched_yield();
	xvt_crew_need(crew, &s.task);
	ck_assert(sigismember(&s.set, SIGTERM) && sigismember(&s.set, SIGINT));
	ck_assert(!sigismember(&s.set, SIGBUS));
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	ck_assert(!sigismember(&before, SIGTERM)); /* and ours are as they were */
	xvt_crew_free(crew);
}
END_TEST

Suite *crew_suite(void)
{
	Suite *s = suite_create("crew");
	TCase *t = tcase_create("crew");

	tcase_add_loop_test(t, each_task_is_done_once_for_each_time_it_was_given, 1, 5);
	tcase_add_test(t, nothing_is_done_after_a_recall);
	tcase_add_test(t, a_crew_works_while_its_owner_does_something_else);
	tcase_add_test(t, who_waits_does_what_nobody_has_begun);
	tcase_add_test(t, its_threads_take_no_signals_but_those_of_their_own_accesses);
	suite_add_tcase(s, t);
	return s;
}
