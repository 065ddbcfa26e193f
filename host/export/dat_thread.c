// SPDX-License-Identifier: GPL-2.0
/*
 * dat_thread.c - see dat.h. A thread that packs blocks of pages and writes them to the spool, while
 * the export reads on. It waits until the export has begun, because the export's process may make
 * no thread any more then.
 */
#include "export/dat.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define JOBS 16u

struct job {
	dat_pack *pack;
	struct dat_spool *spool;
	struct dat_cpu *cpu;
	uint8_t *block;
	size_t len;
};

struct xvt_dat_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool runs;
	bool ends;
	struct job jobs[JOBS]; /* from `first` on, around the end */
	unsigned int first;
	unsigned int count; /* with the one that is being done */
	int err;	    /* the first one */
};

static void do_job(struct xvt_dat_thread *t)
{
	const struct job job = t->jobs[t->first];
	int err = t->err;

	pthread_mutex_unlock(&t->lock);
	if (!err)
		err = job.pack(job.spool, job.cpu, job.block, job.len);
	free(job.block);
	pthread_mutex_lock(&t->lock);
	t->err = err;
	t->first = (t->first + 1) % JOBS;
	t->count--;
	pthread_cond_broadcast(&t->changed);
}

static void *run(void *arg)
{
	struct xvt_dat_thread *t = arg;

	pthread_mutex_lock(&t->lock);
	t->runs = true;
	pthread_cond_broadcast(&t->changed);
	while (!t->ends) {
		if (t->count)
			do_job(t);
		else
			pthread_cond_wait(&t->changed, &t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Signals are for the thread that reads. */
static int start(struct xvt_dat_thread *t)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&t->thread, NULL, run, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

int xvt_dat_thread_start(struct xvt_dat_thread **out)
{
	struct xvt_dat_thread *t;
	int err;

	*out = NULL;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return -ENOTSUP;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	err = start(t);
	if (err) {
		pthread_cond_destroy(&t->changed);
		pthread_mutex_destroy(&t->lock);
		free(t);
		return err;
	}
	/* What a thread calls at its start may be forbidden later. */
	pthread_mutex_lock(&t->lock);
	while (!t->runs)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
	*out = t;
	return 0;
}

void xvt_dat_thread_end(struct xvt_dat_thread *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->ends = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

int dat_thread_give(struct xvt_dat_thread *t, dat_pack *pack, struct dat_spool *s,
		    struct dat_cpu *c, size_t len)
{
	int err;

	pthread_mutex_lock(&t->lock);
	while (t->count == JOBS)
		pthread_cond_wait(&t->changed, &t->lock);
	err = t->err;
	if (!err) {
		t->jobs[(t->first + t->count++) % JOBS] = (struct job){
			.pack = pack, .spool = s, .cpu = c, .block = c->block, .len = len
		};
		c->block = NULL;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

int dat_thread_wait(struct xvt_dat_thread *t)
{
	int err;

	pthread_mutex_lock(&t->lock);
	while (t->count)
		pthread_cond_wait(&t->changed, &t->lock);
	err = t->err;
	pthread_mutex_unlock(&t->lock);
	return err;
}
