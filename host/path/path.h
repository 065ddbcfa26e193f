/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path.h - the critical path backwards from an event: what a task waited for, and what that waited
 * for, across tasks, vCPUs, machines and the host. The package sees a trace through lib/xvtrace.h
 * alone.
 *
 *	xvt_path_new(&p, &options, trace, reader);
 *	while (xvtrace_next(reader, &event) > 0 && xvt_path_wants(p, event))
 *		xvt_path_feed(p, event);
 *	xvt_path_find(p);
 *	xvt_path_text(p, &out);
 *
 * The reader has XVTRACE_BOUND, begins before the time to which the path may go back, and makes no
 * choice of machines, CPUs, events or tasks. An event that a ring has twice is fed once.
 */
#ifndef XVT_PATH_H
#define XVT_PATH_H

#include <stdbool.h>

#include "base/out.h"
#include "lib/xvtrace.h"

struct xvt_path_options {
	const char *vm;	  /* the machine; NULL: that of `ring` */
	const char *task; /* a number or a name; NULL: the task of the event `number` */
	uint64_t at_ns;	  /* the path's end */
	/* The event at which the path ends, of this ring; 0: whatever the task did at at_ns. */
	uint64_t number;
	const struct xvtrace_ring *ring;
	int pid;	  /* the event's task */
	uint64_t from_ns; /* the path goes back to here; 0: as far as it can */
	bool guess;	  /* go on beyond guesses */
};

enum xvt_path_grade {
	XVT_PATH_PROVEN,
	XVT_PATH_GUESS,
};

/* What a part of the path is. */
enum xvt_path_kind {
	XVT_PATH_RUNS,
	XVT_PATH_WAITS,	    /* woken, and not yet on a CPU */
	XVT_PATH_PREEMPTED, /* could run, and another had the CPU */
	XVT_PATH_HANDLER,   /* of an interrupt, a softirq or a timer */
	XVT_PATH_RAISED,  /* an interrupt or a softirq was raised, and its handler not yet begun */
	XVT_PATH_MESSAGE, /* a message was sent and not yet received; what it met is not told */
};

/* How the begin of a part follows from what is before it. */
enum xvt_path_edge {
	XVT_PATH_BEGIN,	       /* nothing is before it */
	XVT_PATH_SAME,	       /* the same task or handler, on the same CPU */
	XVT_PATH_WAKER,	       /* woken by it */
	XVT_PATH_RAISE,	       /* raised by it: softirq_raise */
	XVT_PATH_INJECTED,     /* KVM: accepted for this APIC id, and injected with its vector */
	XVT_PATH_VCPU_WOKEN,   /* it woke the sleeping thread of the vCPU, which began with this */
	XVT_PATH_VCPU_THREAD,  /* the vCPU's thread did it, and the guest ran this on it */
	XVT_PATH_KEY,	       /* the message has the same key */
	XVT_PATH_LAST_IRQ,     /* guess: the interrupt before the softirq */
	XVT_PATH_LAST_OF_VMM,  /* guess: the VMM's thread that ran last before */
	XVT_PATH_LAST_OF_VCPU, /* guess: one thread runs all vCPUs, and this one was the last */
	XVT_PATH_ONE_OF_MANY,  /* guess: the last of several that raised it */
};

/* Why the path has no more parts. */
enum xvt_path_end {
	XVT_PATH_END_BEGIN,  /* it came to from_ns */
	XVT_PATH_END_ORIGIN, /* a timer or an interrupt of the host: its cause lies outside */
	XVT_PATH_END_HOLE,   /* what would tell is missing, or the bounds leave it open */
	XVT_PATH_END_GUESS,  /* the next edge would be a guess */
};

struct xvt_path_step {
	enum xvt_path_kind kind;
	enum xvt_path_edge edge;
	enum xvt_path_grade grade; /* of the edge */
	uint64_t begin_ns, end_ns; /* end_ns: not before begin_ns */
	uint64_t bound_ns;	   /* the sum of the bounds of both */
	const struct xvtrace_ring *ring;
	int pid;	/* -1: of no task */
	char task[64];	/* printable; of a handler its name, of a message its key */
	char by[64];	/* printable: the waker, or what the edge leads to; may be empty */
	char aside[96]; /* MESSAGE: why its way is not told; else empty */
	/* What the host took of it; of a guest's vCPU, where the host's switches tell. */
	bool taken_known;
	bool shares; /* one thread runs all vCPUs of the machine */
	uint64_t taken_least_ns, taken_most_ns;
};

struct xvt_path;

int xvt_path_new(struct xvt_path **p, const struct xvt_path_options *options, struct xvtrace *trace,
		 struct xvtrace_reader *reader);
/* Whether the event, or one behind it, may matter; else the reader has gone far enough. */
bool xvt_path_wants(struct xvt_path *p, const struct xvtrace_event *ev);
/* Returns 0, -ENOMEM, or -E2BIG: there are more events than are kept. */
int xvt_path_feed(struct xvt_path *p, const struct xvtrace_event *ev);
/* After the last event. Returns 0; -ENOMEM; or -ESRCH: the task is on no CPU at that time, and
 * xvt_path_error() says what is known. */
int xvt_path_find(struct xvt_path *p);
const char *xvt_path_error(const struct xvt_path *p);
void xvt_path_free(struct xvt_path *p);

/* After xvt_path_find(): the parts, from the end of the path to its begin. */
size_t xvt_path_steps(const struct xvt_path *p, const struct xvt_path_step **steps);
/* *why: in words; *needs: what would fill the hole, or NULL. */
enum xvt_path_end xvt_path_ended(const struct xvt_path *p, const char **why, const char **needs);

/* What JSON calls them. */
const char *xvt_path_kind_name(enum xvt_path_kind kind);
const char *xvt_path_edge_name(enum xvt_path_edge edge);
const char *xvt_path_grade_name(enum xvt_path_grade grade);
/* What the text says of a part: "waits for a CPU". */
const char *xvt_path_words(const struct xvt_path_step *s);

void xvt_path_text(struct xvt_path *p, struct xvt_out *o);
void xvt_path_json(struct xvt_path *p, struct xvt_out *o);

#endif /* XVT_PATH_H */
