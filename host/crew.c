// SPDX-License-Identifier: GPL-2.0
/*
 * crew.c - a queue of tasks and the threads that take from its head. Tasks are of tens of
 * microseconds and more, so a lock around all of it is what they need.
 */
#define _GNU_SOURCE
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#define STACK_BYTES (256u << 10)

struct xvt_crew {
	pthread_mutex_t lock; /* for all below, and the state of all tasks */
	pthread_cond_t work;
	pthread_cond_t done;
	struct xvt_task *first;
	struct xvt_task *last;
	unsigned int asleep;
	bool waited_for;
	bool stop;
	unsigned int nr_threads;
	pthread_t threads[];
};

static void unlink_task(struct xvt_crew *c, struct xvt_task *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		c->first = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		c->last = t->prev;
}

static struct xvt_task *wait_for_work(struct xvt_crew *c)
{
	struct xvt_task *t;

	while (!c->first && !c->stop) {
		c->asleep++;
		pthread_cond_wait(&c->work, &c->lock);
		c->asleep--;
	}
	t = c->first;
	if (t) {
		unlink_task(c, t);
		t->state = XVT_TASK_RUNNING;
	}
	return t;
}

static void *member(void *arg)
{
	struct xvt_crew *c = arg;
	struct xvt_task *t;

	pthread_mutex_lock(&c->lock);
	while ((t = wait_for_work(c))) {
		pthread_mutex_unlock(&c->lock);
		t->run(t);
		pthread_mutex_lock(&c->lock);
		t->state = XVT_TASK_IDLE;
		if (c->waited_for)
			pthread_cond_signal(&c->done);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* But for those that an access of its own raises: a region's file may shrink under a thread. */
static void block_signals(sigset_t *before)
{
	static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP };
	sigset_t set;
	size_t i;

	sigfillset(&set);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&set, own[i]);
	pthread_sigmask(SIG_SETMASK, &set, before);
}

int xvt_crew_new(struct xvt_crew **out, unsigned int threads)
{
	struct xvt_crew *c = calloc(1, sizeof(*c) + threads * sizeof(c->threads[0]));
	pthread_attr_t attr;
	sigset_t before;
	int err;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->work, NULL);
	pthread_cond_init(&c->done, NULL);
	err = -pthread_attr_init(&attr);
	if (err)
		goto err_free;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	block_signals(&before);
	while (!err && c->nr_threads < threads) {
		err = -pthread_create(&c->threads[c->nr_threads], &attr, member, c);
		c->nr_threads += !err;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		goto err_free;
	*out = c;
	return 0;

err_free:
	xvt_crew_free(c);
	return err;
}

void xvt_crew_free(struct xvt_crew *c)
{
	unsigned int i;

	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_broadcast(&c->work);
	pthread_mutex_unlock(&c->lock);
	for (i = 0; i < c->nr_threads; i++)
		pthread_join(c->threads[i], NULL);
	pthread_cond_destroy(&c->work);
	pthread_cond_destroy(&c->done);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void xvt_crew_give(struct xvt_crew *c, struct xvt_task *t)
{
	bool wake;

	pthread_mutex_lock(&c->lock);
	t->state = XVT_TASK_QUEUED;
	t->next = NULL;
	t->prev = c->last;
	if (c->last)
		c->last->next = t;
	else
		c->first = t;
	c->last = t;
	wake = c->asleep;
	pthread_mutex_unlock(&c->lock);
	if (wake)
		pthread_cond_signal(&c->work);
}

/* Locked before and after. */
static void run_here(struct xvt_crew *c, struct xvt_task *t)
{
	unlink_task(c, t);
	t->state = XVT_TASK_RUNNING;
	pthread_mutex_unlock(&c->lock);
	t->run(t);
	pthread_mutex_lock(&c->lock);
	t->state = XVT_TASK_IDLE;
}

static void wait_for_one(struct xvt_crew *c)
{
	c->waited_for = true;
	pthread_cond_wait(&c->done, &c->lock);
	c->waited_for = false;
}

void xvt_crew_need(struct xvt_crew *c, struct xvt_task *t)
{
	pthread_mutex_lock(&c->lock);
	if (t->state == XVT_TASK_QUEUED)
		run_here(c, t);
	while (t->state == XVT_TASK_RUNNING) {
		/* Somebody is at it: meanwhile there may be others that nobody has begun with. */
		if (c->first)
			run_here(c, c->first);
		else
			wait_for_one(c);
	}
	pthread_mutex_unlock(&c->lock);
}

void xvt_crew_recall(struct xvt_crew *c, struct xvt_task *t)
{
	pthread_mutex_lock(&c->lock);
	if (t->state == XVT_TASK_QUEUED) {
		unlink_task(c, t);
		t->state = XVT_TASK_IDLE;
	}
	while (t->state == XVT_TASK_RUNNING)
		wait_for_one(c);
	pthread_mutex_unlock(&c->lock);
}
