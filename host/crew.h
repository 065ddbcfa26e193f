/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crew.h - threads that lend a hand: somebody gives them tasks and comes back for what they did.
 * Without any thread, or when none has begun with a task by then, it is done where it is needed. So
 * what comes out cannot depend on how many there are.
 */
#ifndef XVT_CREW_H
#define XVT_CREW_H

#include <stddef.h>

struct xvt_crew;

enum xvt_task_state { XVT_TASK_IDLE, XVT_TASK_QUEUED, XVT_TASK_RUNNING };

/* Lies in what it works on. Between give() and need() nobody else touches what it touches. */
struct xvt_task {
	void (*run)(struct xvt_task *task);
	struct xvt_task *next; /* the rest is the crew's */
	struct xvt_task *prev;
	enum xvt_task_state state;
};

/* threads > 0. They take no signal. Returns 0 or -errno. */
int xvt_crew_new(struct xvt_crew **out, unsigned int threads);
/* All that was given is done. */
void xvt_crew_free(struct xvt_crew *c);

/* As soon as somebody has time. Of one owner: all calls for a crew are made by one thread. */
void xvt_crew_give(struct xvt_crew *c, struct xvt_task *task);
/* Back when a task that was given is done, here if nobody has begun with it. */
void xvt_crew_need(struct xvt_crew *c, struct xvt_task *task);
/* Back when nobody works on it. It may not have been done at all. */
void xvt_crew_recall(struct xvt_crew *c, struct xvt_task *task);

#endif /* XVT_CREW_H */
