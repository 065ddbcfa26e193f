// SPDX-License-Identifier: GPL-2.0
/* workers.c - see workers.h. */
#define _GNU_SOURCE
#include "base/workers.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum job_state {
	JOB_NONE,
	JOB_WAITS,
	JOB_RUNS,
};

/* A call that the caller does not wait for at once. */
struct job {
	enum job_state state;
	void (*call)(void *arg);
	void *arg;
};

struct xvt_workers {
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	pthread_t threads[XVT_WORKERS_MOST];
	unsigned int thread_count;
	unsigned int ready; /* threads that wait for the first work */
	bool ends;
	void (*call)(void *arg, unsigned int i);
	void *arg;
	unsigned int next; /* the next number to call with, up to `count` */
	unsigned int count;
	unsigned int running; /* calls that have not returned */
	struct job jobs[XVT_WORKERS_JOBS];
	unsigned int jobs_waiting;
};

unsigned int xvt_workers_cpus(void)
{
	unsigned long may[8192 / 8 / sizeof(unsigned long)];

	if (sched_getaffinity(0, sizeof(may), (cpu_set_t *)may))
		return 1;
	return (unsigned int)CPU_COUNT_S(sizeof(may), (cpu_set_t *)may);
}

/* With the lock held: calls with each number that is left. */
static void take_calls(struct xvt_workers *w)
{
	while (w->next < w->count) {
		const unsigned int i = w->next++;

		w->running++;
		pthread_mutex_unlock(&w->lock);
		w->call(w->arg, i);
		pthread_mutex_lock(&w->lock);
		w->running--;
	}
	if (!w->running)
		pthread_cond_broadcast(&w->changed);
}

/* With the lock held: makes the job's call. */
static void do_job(struct xvt_workers *w, struct job *job)
{
	job->state = JOB_RUNS;
	w->jobs_waiting--;
	pthread_mutex_unlock(&w->lock);
	job->call(job->arg);
	pthread_mutex_lock(&w->lock);
	job->state = JOB_NONE;
	pthread_cond_broadcast(&w->changed);
}

/* With the lock held: one of the jobs that wait. */
static struct job *waiting_job(struct xvt_workers *w)
{
	struct job *job = w->jobs;

	while (job->state != JOB_WAITS)
		job++;
	return job;
}

static void *work(void *arg)
{
	struct xvt_workers *w = arg;

	pthread_mutex_lock(&w->lock);
	w->ready++;
	pthread_cond_broadcast(&w->changed);
	while (!w->ends) {
		if (w->jobs_waiting)
			do_job(w, waiting_job(w));
		else if (w->next < w->count)
			take_calls(w);
		else
			pthread_cond_wait(&w->changed, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Signals are for the thread that had them before. */
static int add_thread(struct xvt_workers *w)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&w->threads[w->thread_count], NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->thread_count += !err;
	return -err;
}

int xvt_workers_start(struct xvt_workers **out, unsigned int count)
{
	struct xvt_workers *w = calloc(1, sizeof(*w));
	int err = 0;

	*out = NULL;
	if (!w)
		return -ENOMEM;
#ifdef M_ARENA_MAX
	/* For memory of another thread than the first, the C library reads files of /proc and /sys
	 * when it gives some back, which may be forbidden by then. */
	mallopt(M_ARENA_MAX, 1);
#endif
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	count = count < XVT_WORKERS_MOST ? count : XVT_WORKERS_MOST;
	while (w->thread_count + 1 < count && !err)
		err = add_thread(w);
	if (err) {
		xvt_workers_end(w);
		return err;
	}
	/* System calls of a thread's start may be forbidden later. */
	pthread_mutex_lock(&w->lock);
	while (w->ready < w->thread_count)
		pthread_cond_wait(&w->changed, &w->lock);
	pthread_mutex_unlock(&w->lock);
	*out = w;
	return 0;
}

void xvt_workers_run(void *workers, unsigned int count, void (*call)(void *arg, unsigned int i),
		     void *arg)
{
	struct xvt_workers *w = workers;

	pthread_mutex_lock(&w->lock);
	w->call = call;
	w->arg = arg;
	w->next = 0;
	w->count = count;
	pthread_cond_broadcast(&w->changed);
	take_calls(w);
	while (w->running)
		pthread_cond_wait(&w->changed, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

void xvt_workers_begin(void *workers, unsigned int number, void (*call)(void *arg), void *arg)
{
	struct xvt_workers *w = workers;

	pthread_mutex_lock(&w->lock);
	w->jobs[number] = (struct job){ JOB_WAITS, call, arg };
	w->jobs_waiting++;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void xvt_workers_wait(void *workers, unsigned int number)
{
	struct xvt_workers *w = workers;
	struct job *job = &w->jobs[number];

	pthread_mutex_lock(&w->lock);
	if (job->state == JOB_WAITS)
		do_job(w, job);
	while (job->state == JOB_RUNS)
		pthread_cond_wait(&w->changed, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

void xvt_workers_end(struct xvt_workers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	for (unsigned int i = 0; i < w->thread_count; i++)
		pthread_join(w->threads[i], NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
