/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parts.h - how the parts of path/ share a trace. Only they include it.
 *
 * The events of the range are kept in short records, in order of time. Records of one ring are in
 * the order in which they were written, which needs no clock. A guest's record and one of another
 * ring have an order only if their bounds leave one. What is not proven so is a hole or a guess.
 */
#ifndef XVT_PATH_PARTS_H
#define XVT_PATH_PARTS_H

#include "path/path.h"

#define NONE UINT32_MAX /* no record */

/* -- records -------------------------------------------------------------------------- */

enum rec_kind {
	REC_OTHER,
	REC_SWITCH,	/* a: the task that leaves; b: the one that comes; c: 0: it could go on */
	REC_WAKING,	/* a: the task */
	REC_WAKEUP,	/* sched_wakeup: also by an interrupt that the waker sends */
	REC_WAKEUP_NEW, /* of a new task, by the one that made it */
	REC_IRQ_ENTRY,	/* a: number */
	REC_IRQ_EXIT,
	REC_SOFTIRQ_ENTRY, /* a: number */
	REC_SOFTIRQ_EXIT,
	REC_SOFTIRQ_RAISE,
	REC_TIMER_ENTRY,
	REC_TIMER_EXIT,
	REC_INJECT, /* a: vector; by the vCPU's thread */
	REC_ACCEPT, /* a: APIC id; b: vector */
	REC_SENT,   /* key */
	REC_RECEIVED,
	REC_LOST,
};

struct rec {
	uint64_t ns;
	uint64_t bound_ns; /* XVTRACE_NO_BOUND: none */
	uint64_t key;	   /* of a message */
	uint64_t number;   /* xvtrace_event.number */
	uint32_t ring;
	uint32_t before; /* the record before it in its ring, or NONE */
	uint32_t text;	 /* SWITCH: name of the task that comes; IRQ_ENTRY: its name */
	uint32_t out;	 /* SWITCH: when the task that comes left a CPU, or NONE */
	uint32_t woken;	 /* SWITCH: its last wake-up; WAKING: the task's one before; or NONE */
	int32_t pid;	 /* in whose context; -1: not known */
	int32_t a, b, c;
	uint8_t kind;
	uint8_t context; /* irq_flags */
	bool doubt;	 /* its time is flagged, or has no bound */
};

#define CONTEXT_HARDIRQ 0x08u
#define CONTEXT_SOFTIRQ 0x10u

#define PATH_FIELDS	4

struct path_type {
	bool known;
	enum rec_kind kind;
	const struct xvtrace_field *field[PATH_FIELDS];
};

/* What was seen of a machine. */
struct seen {
	bool switches, wakings, raises, injections;
	uint64_t bound_most_ns;
};

struct path_ring {
	const struct xvtrace_ring *ring;
	uint32_t last;	  /* its last record */
	uint32_t reached; /* the walk is there in this ring, or NONE */
	bool pending;	  /* no record of it came behind the end of the path */
};

/* Where the walk is: a task on a CPU at a time, and the record up to which its ring is read. */
struct point {
	uint32_t ring;
	uint32_t at; /* record of the ring, or NONE */
	int pid;
	uint64_t ns, bound_ns;
};

/* A message that was received, up to the time at which it was sent. */
struct pending {
	bool open;
	uint32_t sent;
	uint64_t key;
	/* The first edge since its receipt that may be wrong. */
	bool risky;
	struct point point;
	size_t steps;
};

/* The switches of a thread of the host. */
struct switches {
	int tid;
	struct switch_at {
		uint64_t ns;
		uint32_t at; /* record */
	} * v;
	size_t count, room;
};

struct xvt_path {
	struct xvt_path_options options;
	struct xvtrace *trace;
	struct xvtrace_reader *reader;
	const struct xvtrace_info *info;
	const struct xvtrace_machine *host; /* NULL: the trace has none */
	struct path_type *types;
	size_t type_room;
	struct rec *recs;
	size_t rec_count, rec_room;
	struct path_ring *rings; /* by number */
	unsigned int pending_rings;
	struct seen *seen; /* by number of the machine */
	char (*texts)[32];
	size_t text_count, text_room;
	uint32_t *text_slots;
	size_t text_slot_count;
	struct xvtrace_holes *holes;
	struct switches *switches; /* of threads of vCPUs */
	size_t switch_count, switch_room;
	uint32_t *marks; /* records of messages */
	size_t mark_count, mark_room;
	/* The walk. */
	struct point at;
	enum {
		NEXT_TASK,    /* of `at` */
		NEXT_CONTEXT, /* what made next_rec: a task, or an interrupt */
		NEXT_HANDLER, /* that next_rec begins */
		NEXT_RAISED,  /* what raised the interrupt whose handler next_rec begins */
	} next;
	uint32_t next_rec;
	struct pending message;
	struct xvt_path_step *steps;
	size_t step_count, step_room;
	uint64_t end_bound_ns; /* of the path's end */
	bool ended;
	int err; /* -ENOMEM */
	enum xvt_path_end end;
	char why[160];
	const char *needs;
	char error[256];
};

/* types.c: what an event is. NULL without memory. */
const struct path_type *path_type_of(struct xvt_path *p, const struct xvtrace_type *type);

/* recs.c */
int recs_add(struct xvt_path *p, const struct xvtrace_event *ev);
/* After the last event: order of time, and links between records. Returns 0 or -ENOMEM. */
int recs_link(struct xvt_path *p);
/* Number of records before that time. */
size_t recs_before(const struct xvt_path *p, uint64_t ns);
/* Whether events of the machine may be missing in between, also where the LOST record is behind. */
bool recs_lost(const struct xvt_path *p, const struct xvtrace_machine *m, uint64_t from_ns,
	       uint64_t to_ns);
/* The same of a ring, since a record of it. */
bool recs_lost_since(const struct xvt_path *p, uint32_t at, uint64_t to_ns);
const struct xvtrace_machine *rec_machine(const struct xvt_path *p, const struct rec *r);
const char *rec_text(const struct xvt_path *p, const struct rec *r);
uint64_t rec_earliest(const struct rec *r);
uint64_t rec_latest(const struct rec *r);

/* threads.c: threads of the host. */
struct path_thread {
	const struct xvtrace_machine *machine; /* of whose VMM it is; NULL: of none */
	bool vcpu;
	unsigned int hw_id; /* or XVTRACE_ALL_VCPUS */
};
struct path_thread thread_at(struct xvt_path *p, int tid, uint64_t ns);
/* The thread of a vCPU, of those that switched around record `at` of the host. 0: none is known. */
int thread_of_vcpu(struct xvt_path *p, const struct xvtrace_ring *ring, uint64_t ns, bool *shares);
/* "g1:vcpu0", "bash-12"; r: a record with the task's name, or NULL. */
void task_name(struct xvt_path *p, const struct xvtrace_machine *m, int pid, const struct rec *r,
	       char *to, size_t size);

/* taken.c: what the host took of a part of the path of a vCPU. */
void taken_by_host(struct xvt_path *p, struct xvt_path_step *s, uint64_t begin_bound_ns,
		   uint64_t end_bound_ns);

/* step.c: one step back at a time. */
/* Add a part from `begin` to where the walk is, and go to its begin. false: the walk has ended, or
 * goes on elsewhere. */
bool step_back(struct xvt_path *p, struct xvt_path_step s, const struct rec *begin);
void walk_stop(struct xvt_path *p, enum xvt_path_end end, const char *needs, const char *why, ...)
	__attribute__((format(printf, 4, 5)));
/* The next edge is a guess, because of `why`. Returns whether the walk goes on. */
bool walk_guesses(struct xvt_path *p, const char *needs, const char *why, ...)
	__attribute__((format(printf, 3, 4)));
/* The next edge is proven, but what it leads to may not be what counts. */
void walk_risks(struct xvt_path *p);
/* Whether the record is no ground to stand on: its time is flagged, or it is a loss. Then the walk
 * has stopped. */
bool walk_doubts(struct xvt_path *p, const struct rec *r);
/* Whether events of the machine of `from` may be missing in between. Then the walk has stopped. */
bool walk_lost(struct xvt_path *p, const struct rec *from, const struct rec *to);
/* Go on with a task of the ring at record `at`, or with what the record says. */
static inline void walk_task_next(struct xvt_path *p, uint32_t ring, uint32_t at, int pid)
{
	p->next = NEXT_TASK;
	p->at.ring = ring;
	p->at.at = at;
	p->at.pid = pid;
}
static inline void walk_next(struct xvt_path *p, int next, uint32_t rec)
{
	p->next = next;
	p->next_rec = rec;
}

/* message.c: a message that the path came by. */
void message_received(struct xvt_path *p, uint32_t received);

/* waking.c: the wake-up that ended the task's sleep before the switch `in`. NONE: none is recorded
 * (*left is 0), or it is one of *left. It is proven where nothing is lost between the two. */
uint32_t waking_of(const struct xvt_path *p, uint32_t in, unsigned int *left);
/* task.c: the task of `at`, back to what made it come to its CPU. */
void walk_task(struct xvt_path *p);

/* irq.c: an interrupt, back from record `i`, which its handler made. */
void walk_interrupt(struct xvt_path *p, uint32_t i);
void walk_handler(struct xvt_path *p, uint32_t entry);
/* The handler in which the CPU was at record `i`, that record included, or NONE: it was in a task.
 * *end: the record at which the search ended. false: a loss, or no switch, is before. kinds: bits
 * of HANDLER_...; others are passed over. */
#define HANDLER_HARD 1u
#define HANDLER_SOFT 2u
bool open_handler(const struct xvt_path *p, uint32_t i, unsigned int kinds, uint32_t *entry,
		  uint32_t *end);

/* raised.c: what raised an interrupt of a guest whose handler begins with record `i`. */
void walk_raised(struct xvt_path *p, uint32_t i);

/* guest.c: go on with the guest that ran on the thread of a vCPU, which made record `i`. */
void walk_into_guest(struct xvt_path *p, const struct path_thread *t, uint32_t i);

/* walk.c: all of it. */
void walk(struct xvt_path *p);

#endif /* XVT_PATH_PARTS_H */
