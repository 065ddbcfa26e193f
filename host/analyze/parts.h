/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parts.h - how the parts of analyze/ share a pass. Only they include it.
 *
 * A vCPU's thread is on a CPU of the host, or off it. The times of its switches are the host's own.
 * While it is off, the guest does nothing on that vCPU, so none of the vCPU's events is inside such
 * an interval. An event of the time T +-B is before an interval [C, D] if T + B < D, and behind it
 * if T - B > C. Neither holds where the interval is within B of T: then the order is open. Both
 * hold for an event that is impossible. So events wait until the reader is beyond T + B, and then
 * find their places between the intervals. What an interval interrupted is the state before it.
 */
#ifndef XVT_ANALYZE_PARTS_H
#define XVT_ANALYZE_PARTS_H

#include "analyze/analyze.h"

/* -- events --------------------------------------------------------------------------- */

enum part_kind {
	PART_OTHER,
	PART_SWITCH,
	PART_WAKING, /* sched_waking, sched_wakeup, sched_wakeup_new */
	PART_MIGRATE,
	PART_IRQ_ENTRY,
	PART_IRQ_EXIT,
	PART_SOFTIRQ_ENTRY,
	PART_SOFTIRQ_EXIT,
	PART_VECTOR, /* irq_vectors: a vector's handler begins */
	PART_TIMER_START,
	PART_TIMER_CANCEL,
	PART_TIMER, /* hrtimer_expire_entry */
	/* KVM, of the host: an interrupt is pending for a vCPU; is given to it; the hardware gives
	 * it, which no event tells */
	PART_ACCEPT,
	PART_INJECT,
	PART_POSTED,
	/* No events of a ring: */
	PART_LOST,
	PART_RESET, /* the machine begins anew, or is another one */
	PART_WOKEN, /* a task was put on the queue of this vCPU by any vCPU of the machine */
};

#define PART_FIELDS 6

struct part_type {
	bool known;
	enum part_kind kind;
	bool queued; /* PART_WAKING: its target_cpu is the CPU on whose queue the task is */
	/* The pair that was asked for: it begins with this event, and ends with it. */
	const struct xvtrace_field *first_key, *then_key;
	const struct xvtrace_field *field[PART_FIELDS];
};

enum { SWITCH_PREV, SWITCH_NEXT, SWITCH_STATE, SWITCH_NEXT_COMM };
enum { WAKING_PID, WAKING_CPU };
enum { IRQ_NUMBER, IRQ_NAME, IRQ_VECTOR };
enum { TIMER_ADDRESS, TIMER_NS, TIMER_FUNCTION };
enum { ACCEPT_APIC, ACCEPT_VECTOR };
enum { INJECT_VECTOR, INJECT_AGAIN };

/* -- threads of the host -------------------------------------------------------------- */

#define HOST_THREAD_NONE    0u /* the CPU is idle */
#define HOST_THREAD_MISSING 1u /* not recorded */
#define HOST_THREAD_OTHERS  2u /* those that have no room */

struct host_threads {
	struct xvt_host_thread **v; /* do not move */
	size_t count, room;
	uint32_t *slots; /* hash table of numbers in v, plus 1 */
	size_t slot_count;
	/* Those that were looked for last, by the low bits of their numbers. */
	struct host_thread_found {
		int tid;
		uint32_t thread;
		char comm[40]; /* as the trace has it */
	} found[256];
};

/* How a thread left its CPU: by the state in which its switch has it. */
enum xvt_off { OFF_PREEMPTED, OFF_ASLEEP, OFF_BLOCKED, OFF_STOPPED };

#define OCCUPANTS 64u

struct occupant {
	int tid;
	uint32_t thread;
	uint64_t ns;
};

/* What the guest was at in an interval, in all orders of its events and the interval that their
 * bounds leave. */
struct wanting {
	bool wanted, idle, unknown; /* in some of them; unknown: that was not recorded */
	uint64_t begin_ns;	    /* since when it wanted to run, in the latest of them */
	const char *guest;	    /* "task", "softirq", "irq", "woken"; "busy": several */
	int pid; /* of the task that wanted to, else of the idle one; -1: not known, or several */
	char comm[32];
};

/* A time in which a thread was not on a CPU. */
struct interval {
	uint64_t begin_ns, end_ns;
	uint64_t woken_ns; /* 0: it was not, or did not sleep; may be before begin_ns */
	enum xvt_off off;
	bool lost; /* events of the host are missing: the thread may have been on a CPU */
	bool open;
	bool waker_irq;
	uint32_t inside; /* events of guests that seem to be in it */
	uint32_t waker;	 /* HOST_THREAD_MISSING: not recorded */
	uint32_t first, last;
	struct wanting wanting;
	uint32_t count; /* of occupants */
	struct occupant occupants[OCCUPANTS];
};

enum thread_state { THREAD_UNKNOWN, THREAD_ON, THREAD_OFF };

struct thread {
	int tid;
	const struct xvtrace_machine *machine;
	unsigned int vcpu; /* hw_id, or XVTRACE_ALL_VCPUS */
	enum thread_state state;
	unsigned int cpu; /* ON: its CPU; OFF: the CPU on whose queue it waits */
	bool waits;	  /* OFF: it is runnable, or `early` may make it so */
	/* ON: it was woken since it came to the CPU. OFF: and not again since it left it to sleep.
	 */
	bool early;
	uint64_t since_ns; /* OFF: since when its occupants are counted */
	uint64_t known_ns; /* since when its state is known; 0: it is not */
	uint64_t on_since_ns;
	uint64_t on_ns; /* how long it was on a CPU so far, as far as that is known */
	struct wake_up {
		uint64_t ns;
		uint32_t waker; /* HOST_THREAD_MISSING: not recorded */
		bool irq;
	} early_wake;
	/* ON, OFF: the ring of the CPU to which it came, or that it left. */
	const struct xvtrace_ring *ring;
	/* UNKNOWN: since when, because events were lost; 0: nothing was known before either. */
	uint64_t lost_ns;
	struct interval off;
};

struct host_cpu {
	bool known;
	int tid; /* the thread that has it */
	uint64_t since_ns;
};

struct host {
	const struct xvtrace_machine *machine; /* NULL: the trace has no host */
	struct thread **threads;
	size_t thread_count, thread_room;
	struct host_cpu *cpus;
	size_t cpu_room;
	bool breaks;	  /* a CPU switched from a thread that had not come by a switch */
	bool has_others;  /* switches between two threads that are no VMM's are there */
	bool filtered;	  /* such switches are not recorded */
	bool switches;	  /* there are any */
	uint64_t missing; /* switches between two that are there, without a loss */
	uint64_t bound_ns;
};

/* -- vCPUs ---------------------------------------------------------------------------- */

enum guest_state { GUEST_UNKNOWN, GUEST_IDLE, GUEST_TASK, GUEST_SOFTIRQ, GUEST_IRQ };

/* An event that waits for its place between the intervals. */
struct guest_event {
	enum part_kind kind;
	bool doubt;	/* its time is flagged, or has no bound */
	bool preempted; /* SWITCH: the task that leaves could go on */
	uint64_t ns, bound_ns;
	int pid;	 /* SWITCH: the task that comes */
	uint64_t number; /* of an interrupt */
	/* SWITCH: when the task that comes was woken; 0: that was not recorded. TIMER: when it was
	 * due */
	uint64_t woken_ns, woken_bound_ns;
	bool woken_untold; /* SWITCH: it was, and when is not known */
	int prev;
	char text[32]; /* name of the task or of the interrupt, any bytes */
};

/* A handler that has not returned, or a task that runs. */
struct open_pair {
	enum part_kind kind; /* of its begin */
	uint64_t number;
	uint64_t ns, bound_ns;
	uint64_t off_least, off_most; /* how long the thread had been off before it */
	uint64_t lost_count;
	bool doubt;
	char text[32];
};

#define NEST	8u

/* When the thread was off, of the last intervals. */
#define HISTORY 512u
struct past {
	uint64_t begin_ns, end_ns;
	bool lost;
};

struct vcpu {
	const struct xvtrace_ring *ring;
	struct thread *thread; /* NULL: none is known */
	bool shares;
	bool wanted; /* lines of it are */
	uint64_t first_ns, last_ns;
	uint64_t last_bound_ns; /* of its last event that was read */
	/* Events and intervals that wait, in order of time. */
	struct guest_event *events;
	size_t event_at, event_count, event_room;
	struct interval *intervals;
	size_t interval_at, interval_count, interval_room;
	/* The state behind the last event that was taken. */
	enum guest_state state;
	int pid;
	char comm[32];
	/* States since the last event whose time is sure, before the newest: bits of guest_state.
	 */
	unsigned int maybe;
	bool inside;	     /* the thread seemed to be off at its last event */
	uint64_t pending_ns; /* a task waits on its queue since then; 0: none does */
	struct open_pair stack[NEST];
	unsigned int depth;
	struct open_pair run; /* of the task, where it is known */
	uint64_t on_begin_ns; /* when its thread was on a CPU first; 0: that is not known */
	bool off_told;	      /* its thread was off the CPUs for certain, in some interval */
	bool off_untold;      /* ... and in some it may have been on one */
	uint64_t unknown_ns;  /* the longest interval of which what the guest was at is not known */
	uint64_t off_ns;      /* how long the thread was off, in intervals before that event */
	uint64_t lost_count;  /* those of them in which it may have been on a CPU */
	struct past history[HISTORY];
	uint64_t history_count;
};

/* -- analyses ------------------------------------------------------------------------- */

/* What records it, as `needs` of a line says it. */
#define NEEDS_HOST     "record --host sched"
#define NEEDS_SWITCHES "the guest's task switches (record -e sched:sched_switch)"
#define NEEDS_WAKE_UPS                                       \
	"the guest's wake-ups and task switches (record -e " \
	"sched:sched_waking,sched:sched_switch)"

/* What tells a line from others that an analysis makes, before it is put in words. */
struct line_key {
	const struct xvtrace_machine *machine;
	const char *kind;
	uint64_t number;
	char text[32]; /* zeros behind its end */
};

struct lines {
	struct xvt_line **v; /* do not move */
	size_t count, room;
	struct xvt_line **slots; /* a hash table of them */
	size_t slot_count;
	struct line_found {
		struct line_key key;
		struct xvt_line *line;
	} * found; /* those that were used last */
};

/* A duration of the guest, with what the host took of it. */
struct part_span {
	uint64_t begin_ns, end_ns, bound_ns;
	bool own_known;
	uint64_t own_least_ns, own_most_ns;
};

/* An analysis: the events that it takes, and what it makes of them. NULL: nothing. Returns of the
 * functions: 0 or -ENOMEM. */
struct analysis {
	unsigned int bit; /* or several: with any of them */
	const char *name;
	int (*begin)(struct xvt_analyze *a);
	/* Any event, in the order of the trace; host.c and vcpu.c know it already. */
	int (*event)(struct xvt_analyze *a, const struct part_type *t,
		     const struct xvtrace_event *ev);
	/* The thread of the vCPU was on a CPU of the host. */
	int (*running)(struct xvt_analyze *a, struct vcpu *v, uint64_t begin_ns, uint64_t end_ns,
		       bool open);
	/* An interval, after all events before it. */
	int (*interval)(struct xvt_analyze *a, struct vcpu *v, const struct interval *i);
	/* A handler that returned; `begin` is its entry. */
	int (*handler)(struct xvt_analyze *a, struct vcpu *v, const struct open_pair *begin,
		       const struct part_span *span);
	/* A task that left a vCPU. */
	int (*run)(struct xvt_analyze *a, struct vcpu *v, const struct open_pair *begin,
		   const struct part_span *span);
	/* A task that was woken and came to a vCPU. span NULL: when it was woken is not known. */
	int (*wait)(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		    const struct part_span *span);
	/* A timer whose function is called; the span begins when it was due. */
	int (*timer)(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		     const struct part_span *span);
	int (*end)(struct xvt_analyze *a);
	void (*fini)(struct xvt_analyze *a);
};

extern const struct analysis analysis_cpu, analysis_stalls, analysis_sched, analysis_irq;
extern const struct analysis analysis_timer, analysis_latency, analysis_pairs, analysis_spans;
extern const struct analysis analysis_states;

/* stalls.c: the thread with the most of the time in which that of the vCPU waited for a CPU; NULL:
 * it did not wait. untold: others, which had no room, may have had more. */
const struct occupant *interval_most(const struct interval *i, bool *untold);

/* irq.c: "irq 9 eth0", "softirq RCU" */
void irq_describe(const struct open_pair *begin, char *to, size_t size);

struct woken {
	int pid;
	enum {
		WOKEN_NOT,    /* on a vCPU, pre-empted, or not known */
		WOKEN_ASLEEP, /* off its vCPU, to sleep */
		WOKEN_NOTED,
	} state;
	uint32_t doubts; /* NOTED: those of the guest then */
	bool open;	 /* NOTED: it may be of the sleep before, or its time is in doubt */
	uint64_t ns, bound_ns;
	unsigned int ring; /* NOTED: that says so */
	/* When it left a vCPU, at the latest; 0: not known. And the ring that says so. */
	uint64_t left_ns;
	unsigned int left_ring;
};

struct guest {
	const struct xvtrace_machine *machine;
	struct woken *woken; /* a hash table by pid; pid 0: free */
	size_t woken_room, woken_count;
	uint32_t doubts; /* how often its events were lost, or it began anew */
	struct xvt_pause_list {
		uint64_t begin_ns, end_ns;
	} * pauses;
	size_t pause_count, pause_room;
	bool switches, wakings; /* such events were there */
	bool queues;		/* ... that say on which vCPU's queue a task is */
	unsigned int handlers;	/* bits of their kinds: entries, exits */
};

struct xvt_analyze {
	struct xvt_analyze_options options;
	struct xvtrace *trace;
	struct xvtrace_reader *reader;
	struct xvtrace_holes *holes;
	const struct xvtrace_info *info;
	const struct analysis *analyses[11];
	struct part_type *types; /* by number */
	size_t type_room;
	struct host_threads host_threads;
	struct host host;
	struct guest *guests; /* by number of the machine */
	struct vcpu **vcpus;  /* by number of the ring; NULL: none */
	struct vcpu **list;   /* those that there are */
	size_t vcpu_count;
	uint64_t due_ns; /* no event that waits is due before */
	uint64_t first_ns, last_ns;
	uint64_t impossible;
	struct lines lines;
	struct xvt_stall *stalls;
	size_t stall_count, stall_room;
	uint64_t stalls_left_out;    /* short ones that had no room */
	struct xvt_vcpu_state *held; /* states.c: their verdicts take the guest's first switch */
	size_t held_count, held_room;
	struct xvt_losses *losses; /* by ring, then by machine; sorted at the end */
	size_t loss_count;
	struct timers *timers; /* by machine; NULL: without XVT_ANALYZE_TIMER */
	struct latency *latency;
	struct pairs *pairs;
	bool pair_seen[2]; /* an event that begins the pair that was asked for, one that ends it */
};

/* types.c: what an event is. NULL without memory. */
const struct part_type *part_type_of(struct xvt_analyze *a, const struct xvtrace_type *type);
uint64_t part_value(const struct xvtrace_event *ev, const struct xvtrace_field *field);
uint64_t part_number(const struct xvtrace_event *ev, const struct part_type *t, unsigned int field);
void part_text(const struct xvtrace_event *ev, const struct part_type *t, unsigned int field,
	       char *to, size_t size);

/* holes.c: whether events of the machine may be missing between two of its records. */
bool lost_between(const struct xvt_analyze *a, const struct xvtrace_machine *machine,
		  struct xvtrace_point from, struct xvtrace_point to);
/* The same of the host, between two times of a guest. */
bool lost_on_host(const struct xvt_analyze *a, uint64_t from_ns, uint64_t from_bound_ns,
		  uint64_t to_ns, uint64_t to_bound_ns);
/* The first hole of a ring between two points; NULL: there is none. */
const struct xvtrace_hole *hole_of_ring(const struct xvt_analyze *a,
					const struct xvtrace_ring *ring, struct xvtrace_point from,
					struct xvtrace_point to);

/* host_threads.c */
int host_threads_init(struct host_threads *w);
void host_threads_fini(struct host_threads *w);
/* The thread as it is called now. Returns its number; HOST_THREAD_OTHERS without memory. */
uint32_t host_threads_of(struct xvt_analyze *a, int tid);

/* host.c: an event of the host, or a loss there. Intervals that end go to vcpu_interval(). */
int host_event(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev);
/* Before the pass: find whether switches of some threads are not recorded. */
int host_look_ahead(struct xvt_analyze *a);
int host_end(struct xvt_analyze *a);
void host_fini(struct host *h);

/* vcpu.c: whether bounds or losses leave open what the guest wanted in an interval. */
bool interval_is_untold(const struct interval *i);
/* An event of a guest's ring; an interval of its thread that ended. */
struct vcpu *vcpu_of(struct xvt_analyze *a, const struct xvtrace_ring *ring);
int vcpu_event(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev);
int vcpu_interval(struct xvt_analyze *a, struct vcpu *v, const struct interval *i);
/* Take the events whose place is known, now that the reader has come to ns. */
int vcpu_take_due(struct xvt_analyze *a, uint64_t ns);
void vcpu_free(struct vcpu *v);

/* lines.c: whether lines are wanted of what this task of a guest did. */
bool part_wants_task(const struct xvt_analyze *a, int pid, const char *comm);
/* The same of an interval: it is of the task that the guest was at in it. */
bool part_wants_interval(const struct xvt_analyze *a, const struct interval *i);
/* Whether what ends then is of the range that was asked for. */
static inline bool part_wants_end(const struct xvt_analyze *a, uint64_t end_ns)
{
	return end_ns >= a->options.range_ns;
}

/* guest.c: from events of the trace to those of vCPUs. */
int guest_event(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev);
int guest_state(struct xvt_analyze *a, const struct xvtrace_event *ev);
bool guest_was_paused(const struct xvt_analyze *a, const struct vcpu *v, uint64_t begin_ns,
		      uint64_t end_ns);

/* told.c: each analysis that asks what is known gives it all intervals. */
void told_interval(const struct xvt_analyze *a, struct vcpu *v, const struct interval *i);
/* Whether switches of its thread were recorded; other events may have told of the thread. */
bool told_switches(const struct vcpu *v);
/* Whether anything is known of when its thread was on a CPU, and off it. */
bool told_any(const struct vcpu *v);
/*
 * The verdict of a line of times in which the vCPU was taken, after the pass: that there was none
 * is proven only where what its guest was at is known of all intervals of least_ns and more.
 * Returns false if no switch of its thread was recorded.
 */
bool told_judge(const struct xvt_analyze *a, const struct vcpu *v, struct xvt_line *line,
		uint64_t least_ns);

/* timer.c: an event of a timer in a guest, what it makes of `e`. Returns 1: `e` is to be taken; 0;
 * or -ENOMEM. */
int timer_event(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev,
		struct guest_event *e);
/* Events of the machine were lost, or it began anew. */
void timer_forget(struct xvt_analyze *a, const struct xvtrace_machine *machine);

/* losses.c: with XVT_ANALYZE_LOSSES. */
int losses_begin(struct xvt_analyze *a);
int losses_event(struct xvt_analyze *a, const struct xvtrace_event *ev);
int losses_end(struct xvt_analyze *a);
void losses_fini(struct xvt_analyze *a);

/* lines.c: the line of this kind; made where there is none. ring, thread: may be NULL. NULL without
 * memory. */
struct xvt_line *line_of(struct xvt_analyze *a, enum xvt_analysis analysis, const char *kind,
			 const struct xvtrace_machine *machine, const struct vcpu *v,
			 const struct xvt_host_thread *thread, const char *what);
/* The place of a line that was used lately. Who finds none in it makes the line, and puts it there.
 */
struct xvt_line **line_found(struct xvt_analyze *a, const struct line_key *key);
/* Add a span to wall and own. */
int line_add(struct xvt_line *line, const struct vcpu *v, const struct part_span *span);
/* The verdict where no event that would tell was read. */
enum xvt_verdict verdict_of_none(const struct xvt_analyze *a);
/* No such event was read; `needs` records them. */
void line_lacks(const struct xvt_analyze *a, struct xvt_line *line, const char *needs);
/* Take out those whose durations begin with an event that is not wanted. */
void lines_choose(struct xvt_analyze *a);
void lines_sort(struct lines *l);
int lines_init(struct lines *l);
void lines_fini(struct lines *l);

#endif /* XVT_ANALYZE_PARTS_H */
