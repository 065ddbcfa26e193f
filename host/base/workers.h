/* SPDX-License-Identifier: GPL-2.0 */
/*
 * workers.h - threads that wait for work. They are started before a process gives up to make
 * threads (rights/confine.h), and are under the same filter from then on.
 */
#ifndef XVT_WORKERS_H
#define XVT_WORKERS_H

#define XVT_WORKERS_MOST 64u
#define XVT_WORKERS_JOBS 64u

struct xvt_workers;

/* Returns the number of CPUs on which the calling thread may run; 1 if the kernel does not say. */
unsigned int xvt_workers_cpus(void);

/*
 * Starts `count` - 1 threads, at most XVT_WORKERS_MOST - 1, which with the caller are `count`. They
 * take no signals. Returns 0; -ENOMEM or -EAGAIN: there is no memory or no further thread.
 */
int xvt_workers_start(struct xvt_workers **out, unsigned int count);

/*
 * Calls call(arg, i) once for each i below `count`, in the caller and in the threads, and returns
 * when all calls have returned. What the caller wrote before, the calls see; what they wrote, it
 * sees after. A single call at a time. `workers` is a struct xvt_workers.
 */
void xvt_workers_run(void *workers, unsigned int count, void (*call)(void *arg, unsigned int i),
		     void *arg);

/*
 * Has one of the threads call call(arg), while the caller goes on. number: of the job, below
 * XVT_WORKERS_JOBS; each number has one call at a time, for which xvt_workers_wait() waits before
 * the next. `workers` is a struct xvt_workers.
 */
void xvt_workers_begin(void *workers, unsigned int number, void (*call)(void *arg), void *arg);
/* Returns when the job's call has returned, at once if it has none. The caller makes the call
 * itself if no thread has begun it. What the call wrote, the caller sees. */
void xvt_workers_wait(void *workers, unsigned int number);

/* Ends the threads, when no job is left. NULL is allowed. */
void xvt_workers_end(struct xvt_workers *w);

#endif /* XVT_WORKERS_H */
