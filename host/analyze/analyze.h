/* SPDX-License-Identifier: GPL-2.0 */
/*
 * analyze.h - what became of the guests' time. One pass over the events of a trace feeds all
 * analyses that were asked for. The package sees a trace through lib/xvtrace.h alone.
 *
 *	xvt_analyze_new(&a, &options, trace, reader);
 *	while (xvtrace_next(reader, &event) > 0)
 *		xvt_analyze_feed(a, event);
 *	xvt_analyze_end(a);
 *	xvt_analyze_text(a, &look, &out);
 *
 * The reader has XVTRACE_BOUND and XVTRACE_STATES, and no choice of machines, CPUs, events or tasks
 * that leaves out what an analysis needs. An event that a ring has twice is fed once.
 */
#ifndef XVT_ANALYZE_H
#define XVT_ANALYZE_H

#include <stdbool.h>

#include "analyze/figure.h"
#include "base/out.h"
#include "lib/xvtrace.h"

enum xvt_analysis {
	XVT_ANALYZE_CPU = 1u,
	XVT_ANALYZE_STALLS = 2u,
	XVT_ANALYZE_SCHED = 4u,
	XVT_ANALYZE_IRQ = 8u,
	XVT_ANALYZE_LOSSES = 16u,
	XVT_ANALYZE_LATENCY = 32u,
	XVT_ANALYZE_TIMER = 64u,
	XVT_ANALYZE_MESSAGES = 128u, /* of LATENCY the messages and the pair alone */
	XVT_ANALYZE_SPANS = 256u,    /* no lines: `span` of the options gets each duration */
	XVT_ANALYZE_STATES = 512u,   /* no lines: `state` of the options gets each of a vCPU */
};

/* What the events of the trace prove of a line. */
enum xvt_verdict {
	XVT_PROVEN,
	XVT_UNTOLD,	  /* the bounds of the times, or losses, leave it open */
	XVT_NOT_RECORDED, /* events are missing that would tell */
	XVT_NOT_IN_RANGE, /* the same of a range of time: others of the trace may have them */
};

/* "proven", "cannot be told", "not recorded", "none in this range" */
const char *xvt_verdict_name(enum xvt_verdict v);

/* A thread of the host; with another name it is another one. */
struct xvt_host_thread {
	int tid;       /* 0: none, the CPU was idle; -1: not recorded; -2: several others */
	bool recorder; /* of a process named xvtrace */
	char name[64]; /* printable; with the number where it is a task's */
};

/* A duration of a guest: a task that ran, a handler, or a task that was woken and waited. */
struct xvt_span {
	const char *kind; /* "task", "irq", "softirq", "wait" */
	const struct xvtrace_ring *ring;
	uint64_t begin_ns, end_ns;
	uint64_t bound_ns; /* of both ends together */
	bool own_known;
	uint64_t own_least_ns, own_most_ns;
	char name[96];	    /* printable: the task, or the handler */
	int pid;	    /* of the task, or of the one that was interrupted */
	unsigned int depth; /* handlers: how many there are with this one; else 0 */
};

/* A time of a vCPU, by its thread in the host. */
struct xvt_vcpu_state {
	/* "running": the thread is on a CPU. Off it: "idle", the guest wanted nothing; "preempted",
	 * "waits", "asleep", "blocked", "stopped": it did; "paused"; "off": what it wanted is open
	 */
	const char *state;
	const struct xvtrace_ring *ring;
	bool shares; /* one thread runs all vCPUs of the machine */
	bool open;   /* it had not ended when the trace did */
	uint64_t begin_ns, end_ns;
	uint64_t bound_ns; /* of these times: of the host's, and a guest's wake-up */
	const char *guest; /* what it was at, where it wanted to run; else NULL */
	int pid;	   /* of its task; -1: not known */
	char task[64];	   /* printable */
	const struct xvt_host_thread *most; /* preempted, waits: who had the CPU most; else NULL */
	uint64_t most_ns;
	const struct xvt_host_thread *waker; /* waits: who woke the thread; NULL: not recorded */
	enum xvt_verdict verdict;
};

/* An end of a message. */
struct xvt_message_end {
	const struct xvtrace_ring *ring; /* NULL: there is none */
	uint64_t ns;			 /* 0: which one of several it is cannot be told */
};

/* A message that a program of one machine marked as sent, and one of another as received. */
struct xvt_message {
	uint64_t key;
	uint64_t n; /* so many, of which this is the first */
	struct xvt_message_end sent, received;
	uint64_t bound_ns; /* of both ends together; XVTRACE_NO_BOUND: none */
	enum xvt_verdict verdict;
	const char *why; /* of another verdict than proven */
};

/* An event of a pair; see xvtrace_matches(). */
struct xvt_pair_event {
	const char *glob; /* NULL: none was asked for */
	const char *key;  /* a field with a number, which both events of a pair have */
};

struct xvt_analyze_options {
	unsigned int analyses; /* bits of them */
	uint64_t min_ns;       /* handlers, waits and runs: shorter ones are left out */
	uint64_t stall_min_ns; /* the same of stalls */
	size_t stalls_most;    /* so many of the longest are kept at least; 0: 32,768 */
	bool whole;	       /* the reader has XVTRACE_COUNTS, and all of the trace is read */
	bool is_range;	       /* the reader reads a range of time */
	/* What ends before is left out: events from before a range say how things stood when it
	 * began. 0: nothing is. */
	uint64_t range_ns;
	bool rough; /* quantiles are not asked for: the memory does not grow with the events */
	struct xvt_pair_event first, then;
	/* Whether lines about this ring are wanted; NULL: all are. */
	bool (*wants)(void *arg, const struct xvtrace_ring *ring);
	/* The same of what a task of a guest did, or waited for. comm: any bytes, and a zero. */
	bool (*wants_task)(void *arg, int pid, const char *comm);
	/* The same of durations that begin with that event. */
	bool (*wants_event)(void *arg, const char *system, const char *name);
	/* These return 0 or -errno. */
	int (*span)(void *arg, const struct xvt_span *span);
	int (*state)(void *arg, const struct xvt_vcpu_state *state);
	int (*message)(void *arg, const struct xvt_message *message); /* NULL: lines alone */
	void *arg;
};

enum xvt_cause {
	XVT_CAUSE_PREEMPTED, /* another thread was given the CPU */
	XVT_CAUSE_WAITS,     /* the thread was woken, and waited for a CPU */
	XVT_CAUSE_SLEEPS,    /* the VMM's thread slept */
	XVT_CAUSE_PAUSED,    /* the VMM stopped the machine */
	XVT_CAUSE_BLOCKED,   /* it slept uninterruptibly (D): for a disk, a page */
	XVT_CAUSE_STOPPED,   /* it was stopped by a signal or a debugger (T, t) */
};

const char *xvt_cause_name(enum xvt_cause c);

/* A guest wanted to run on a vCPU, and its thread was not on a CPU. */
struct xvt_stall {
	uint64_t begin_ns, end_ns;
	uint64_t bound_ns; /* of the guest's times beside it */
	const struct xvtrace_ring *ring;
	bool shares; /* one thread runs all vCPUs of the machine */
	bool open;   /* it had not ended when the trace did */
	enum xvt_cause cause;
	enum xvt_verdict verdict;
	const char *guest; /* what the guest was at: "task", "softirq", "irq", "woken" */
	int pid;
	char task[64]; /* printable */
	/* Of the time in which the thread waited for a CPU; NULL: it did not. */
	const struct xvt_host_thread *first, *most, *last;
	uint64_t most_ns;
	const struct xvt_host_thread *waker; /* NULL: it was not woken, or that was not recorded */
	bool waker_irq;			     /* from an interrupt's context */
};

/* Events that a ring lost for one reason, by its LOST records. */
struct xvt_loss_cause {
	uint64_t n;
	uint64_t first_ns, last_ns;
	uint64_t most, most_at_ns; /* at once */
};

/* What a ring lost, or all rings of a machine. */
struct xvt_losses {
	const struct xvtrace_machine *machine;
	const struct xvtrace_ring *ring; /* NULL: of the machine */
	struct xvtrace_counts counts;	 /* of the whole trace; zeros where a part of it was read */
	struct xvt_loss_cause by[XVTRACE_CAUSES_MAX];
	/* From the ring's record before a loss to the loss: when it began in between is not known.
	 */
	struct xvt_figure holes;
	uint64_t holes_open;	    /* nothing is known of the ring before them */
	uint64_t first_ns, last_ns; /* of the ring's records; of a machine, ... */
	uint64_t span_ns;	    /* ... the sum over its rings */
	enum xvt_verdict verdict;
	const char *why; /* of another verdict than proven */
};

/* What helps against losses of this cause; "" where nothing does. */
const char *xvt_loss_help(unsigned int cause, bool host);

/* Figures of one kind of duration. */
struct xvt_line {
	enum xvt_analysis analysis;
	const struct xvtrace_machine *machine;
	const struct xvtrace_ring *ring;  /* NULL: of the machine */
	const struct xvtrace_machine *to; /* of message_to, pair_to; else NULL */
	bool shares;
	const char *kind; /* a word for programs: "taken", "taken_by", "irq", ... */
	char what[96];	  /* printable */
	const struct xvt_host_thread *thread;
	struct xvt_figure wall;
	/* Wall less what the host took: at least, and at most. Without durations: own is not known.
	 */
	struct xvt_figure own_least, own_most;
	uint64_t own_unknown; /* durations whose own part cannot be told */
	uint64_t untold;      /* durations that the bounds or losses leave open, and their sum */
	uint64_t untold_ns;
	/* Of pairs: begins without an end, ends without a begin, and ends of a key that had been
	 * used again before, so that they may be of either begin. */
	uint64_t no_end, no_begin, repeated;
	enum xvt_verdict verdict;
	const char *needs; /* NOT_RECORDED, NOT_IN_RANGE: the option that records it */
};

/* Whether such a line has own parts at all. */
bool xvt_line_has_own(const struct xvt_line *line);
/* Whether no_end, no_begin and repeated are counted: its durations are pairs of events. */
bool xvt_line_has_pairs(const struct xvt_line *line);

struct xvt_analyze;

int xvt_analyze_new(struct xvt_analyze **a, const struct xvt_analyze_options *options,
		    struct xvtrace *trace, struct xvtrace_reader *reader);
/* Returns 0 or -ENOMEM. */
int xvt_analyze_feed(struct xvt_analyze *a, const struct xvtrace_event *ev);
/* After the last event; of a whole trace also after xvtrace_check(). Returns 0 or -ENOMEM. */
int xvt_analyze_end(struct xvt_analyze *a);
void xvt_analyze_free(struct xvt_analyze *a);

/* After the end: the stalls, the longest first, and the lines, in their order. */
size_t xvt_analyze_stalls(const struct xvt_analyze *a, const struct xvt_stall **stalls);
size_t xvt_analyze_lines(struct xvt_analyze *a, struct xvt_line *const **lines);
/* Each machine, and behind it its rings, those that lost most first. */
size_t xvt_analyze_losses(const struct xvt_analyze *a, const struct xvt_losses **losses);
/* Whether there was an event of options.first or .then that has its key. */
bool xvt_analyze_saw(const struct xvt_analyze *a, bool then);
/* Of all messages the line with the one that took longest; NULL: none was told. */
const struct xvt_line *xvt_analyze_slowest(const struct xvt_analyze *a);
/* Rings of the trace that are vCPUs; 0: there is nothing to analyze. */
size_t xvt_analyze_vcpus(const struct xvt_analyze *a);
/* Events of guests at times at which the thread of their vCPU was not on a CPU, whatever the bounds
 * are: a clock or the map of threads is wrong. */
uint64_t xvt_analyze_impossible(const struct xvt_analyze *a);
/* Switches of the host's CPUs that must have been between two that are there, and that no loss
 * explains: the host's kernel left them out. 0 where those of some threads only were recorded. */
uint64_t xvt_analyze_missing(const struct xvt_analyze *a);

struct xvt_analyze_look {
	size_t top; /* stalls, and lines of each kind, that are shown; 0: all */
	bool hist;
};

void xvt_analyze_text(struct xvt_analyze *a, const struct xvt_analyze_look *look,
		      struct xvt_out *o);
void xvt_analyze_json(struct xvt_analyze *a, const struct xvt_analyze_look *look,
		      struct xvt_out *o);

#endif /* XVT_ANALYZE_H */
