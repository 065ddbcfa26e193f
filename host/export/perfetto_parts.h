/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perfetto_parts.h - private to the Perfetto export: what it knows of rings, machines and tasks,
 * and how its parts write packets. An event's way: perfetto.c finds its ring, machine and type, and
 * makes a message of it in the bundle of its ring, or a packet.
 */
#ifndef XVT_EXPORT_PERFETTO_PARTS_H
#define XVT_EXPORT_PERFETTO_PARTS_H

#include "export/perfetto.h"

#define XVT_PF_NAME_MAX	  256u
#define XVT_PF_CPUS_MAX	  1024u /* trace_processor refuses a trace with more */
#define XVT_PF_MESSAGES	  1024u /* without their other end, in each direction */
#define XVT_PF_KTHREADD	  2	/* the parent of the kernel's threads */
#define XVT_PF_NO_MACHINE UINT32_MAX
#define XVT_PF_SEQUENCE	  1u /* of packets about all machines; the next ones are those of rings */

/* Tracks of a ring, and of a machine. */
enum xvt_pf_track {
	TRACK_MACHINE,
	TRACK_EVENTS,
	TRACK_LOST,
	TRACK_BOUND,
	TRACK_MESSAGES,
	TRACK_EPOCHS,
	TRACK_PAUSES, /* of a machine */
	TRACK_VCPU,   /* of a vCPU, by its place among the threads */
	TRACK_SLICES, /* of none: what a program made of events */
};

#define XVT_PF_COMM_MAX 32u /* bytes of a task's name here; Linux has 15 */
#define XVT_PF_NAMES	16u

struct xvt_pf_running {
	int32_t pid;
	uint32_t len;
	char comm[XVT_PF_COMM_MAX];
};

/* A sched_waking, which has its context in CompactSched alone. */
struct xvt_pf_waking {
	uint64_t ns;
	int32_t pid;
	int32_t prio;
	int32_t cpu;
	uint32_t name;
	uint32_t flags;
};

/* Events since the begin. */
struct xvt_pf_counts {
	uint64_t events;
	uint64_t overwritten;
	uint64_t dropped; /* lost in other ways */
};

struct xvt_pf_ring {
	struct xvt_proto events;       /* FtraceEventBundle.event of the next packet */
	struct xvt_pf_waking *wakings; /* CompactSched of it */
	size_t waking_count;
	size_t waking_room;
	struct xvt_proto names; /* the intern_table */
	int32_t name_count;
	struct xvt_pf_running names_of[XVT_PF_NAMES]; /* by hash; pid: the name's place + 1 */
	struct xvt_pf_running running;		      /* by the last switch */
	struct xvt_pf_running stood; /* the same, when its machine began to stand still */
	uint64_t seen_ns;	     /* when an event said so last */
	const char *switch_system;   /* and pid of that switch */
	int32_t switch_prev;
	uint64_t *told;	    /* addresses of functions whose names are in the sequence; 0: free */
	uint32_t told_room; /* a power of 2 */
	uint32_t told_count;
	struct xvt_pf_counts counts;
	bool twin;   /* another ring of its machine has its number */
	bool runs;   /* there was a switch */
	bool gaps;   /* the CPU's task "not traced" has its name */
	bool pauses; /* and its task "paused" */
	uint64_t last_ns;
	uint64_t bound_ns; /* as last told; 0: not yet */
	uint32_t machine;
	uint32_t cpu;
	int32_t pid;	/* whose name was told last */
	uint8_t tracks; /* bits of enum xvt_pf_track: described */
	bool known;
	bool begun; /* its first packet is written */
	bool ftrace;
	bool host; /* of the host's CPU */
	bool lost; /* events before the next bundle */
};

/* A task: what was told of it, and its process where that is known. */
struct xvt_pf_task {
	int32_t pid;
	uint32_t hash; /* of the name that was told, an odd number; 0: free */
	int32_t tgid;  /* 0: not known */
	bool kernel;   /* kthreadd made it */
};

struct xvt_pf_machine {
	uint32_t cpus; /* that have rings */
	struct xvt_pf_task *tasks;
	uint32_t room; /* a power of 2 */
	uint32_t count;
	uint64_t seen[XVT_PERFETTO_EVENTS_MAX / 64]; /* bits of events with messages of their own */
	bool begun;				     /* its first packet is written */
	bool paused;				     /* its track of pauses is described */
};

/* The one end of a message that was seen, not written yet: the other one decides on its flow. */
struct xvt_pf_message {
	uint64_t number;
	uint64_t ns;
	struct xvt_pf_ring *ring; /* NULL: free */
};

/* A thread of the host that runs a vCPU. */
struct xvt_pf_vcpu {
	int32_t tid;
	uint32_t machine;
	uint32_t vcpu;
	uint32_t track; /* place of the vCPU's first thread, which has the track */
	bool described; /* the track is */
	bool off;	/* on no CPU of the host, as far as is known: since then */
	bool sleeps;	/* the thread was not preempted */
	/* It was woken since it came to its CPU, and not again since it left it: analyze/host.c. */
	bool early;
	uint64_t since_ns;
	uint64_t woken_ns; /* 0: not yet */
};

struct xvt_pf_type;

struct xvt_pf {
	struct xvt_export *x;
	struct xvt_out *o;
	const struct xvtrace_info *info;
	struct xvt_pf_ring *rings;	 /* the last is for unknown rings */
	struct xvt_pf_machine *machines; /* the last is for unknown machines */
	uint32_t ring_count;
	uint32_t machine_count;
	struct xvt_pf_type **types; /* by number */
	size_t type_room;
	const struct xvtrace_ring **places; /* all rings by machine, sort and number */
	size_t place_count;
	struct xvt_pf_vcpu *vcpus; /* by tid */
	size_t vcpu_count;
	size_t vcpu_room;
	bool vcpus_known;
	struct xvtrace_holes *holes;	    /* with vCPUs */
	const struct xvtrace_machine *host; /* likewise */
	size_t open_bytes;
	struct xvt_proto packet;
	struct xvt_proto compact; /* CompactSched of the bundle that is written */
	struct xvt_out list;	  /* text of a list */
	uint64_t uuid;		  /* from which those of tracks are made */
	uint32_t sequence;	  /* of packets about all machines */
	bool alone;		  /* there is one machine, and no host */
	bool common_begun;
	bool messages; /* the tracks of messages have their parent */
	uint64_t first_ns;
	uint64_t last_ns;  /* of events */
	uint64_t until_ns; /* and of states of machines */
	uint64_t flows;
	struct xvt_pf_message sent[XVT_PF_MESSAGES]; /* and not received yet, by number */
	struct xvt_pf_message received[XVT_PF_MESSAGES];
};

static inline uint64_t xvt_pf_track_uuid(const struct xvt_pf *p, enum xvt_pf_track track,
					 uint32_t number)
{
	return p->uuid ^ ((uint64_t)track << 32 | number);
}

/* -- packets, perfetto_packet.c ------------------------------------------------------- */

/* machine_id: 0 is the host, or the only machine. */
uint32_t xvt_pf_machine_id(const struct xvt_pf *p, uint32_t machine);
const char *xvt_pf_machine_name(const struct xvt_pf *p, uint32_t machine);

/* Begin a packet with room for `more` bytes. Returns 0 or -ENOMEM. */
int xvt_pf_begin_packet(struct xvt_pf *p, uint32_t sequence, bool *begun, uint32_t machine_id,
			size_t more);
/* A packet about a machine, on a sequence of its own; XVT_PF_NO_MACHINE: about all of them. */
int xvt_pf_begin_machine_packet(struct xvt_pf *p, uint32_t machine, size_t more);
int xvt_pf_begin_ring_packet(struct xvt_pf *p, struct xvt_pf_ring *r, size_t more);
/* Write the packet; more_len: bytes of it that the caller writes behind. */
void xvt_pf_end_packet(struct xvt_pf *p, size_t more_len);

static inline bool xvt_pf_has_bundle(const struct xvt_pf_ring *r)
{
	return r->events.used || r->waking_count;
}

int xvt_pf_write_bundle(struct xvt_pf *p, struct xvt_pf_ring *r);
void xvt_pf_free_bundle(struct xvt_pf_ring *r);
/* Write and free all bundles, so that many rings do not hold the memory of one each. */
int xvt_pf_write_bundles(struct xvt_pf *p);

/* -- clocks, machines and tracks, perfetto_tracks.c ------------------------------------ */

/* Values of the host's clocks at one time. */
int xvt_pf_put_snapshot(struct xvt_pf *p, uint64_t ns);
/* Packets that stand before those of a machine. */
int xvt_pf_begin_machine(struct xvt_pf *p, uint32_t machine, uint64_t ns);
/* Describe a track of a machine or of none, or of a ring. parent_uuid: 0 if it has no parent. */
int xvt_pf_put_track(struct xvt_pf *p, uint32_t machine, uint64_t uuid, uint64_t parent_uuid,
		     const char *name, bool counter);
/* Describe a track of the ring, if it is not yet. */
int xvt_pf_need_track(struct xvt_pf *p, struct xvt_pf_ring *r, enum xvt_pf_track track);
/* Begin a packet with a track event, which the caller closes at *at. */
int xvt_pf_begin_track_event(struct xvt_pf *p, struct xvt_pf_ring *r, enum xvt_pf_track track,
			     uint32_t type, uint64_t ns, size_t more, size_t *at);
/* An end of a slice on a track of a machine or of its ring. */
int xvt_pf_put_slice_end(struct xvt_pf *p, uint32_t machine, uint64_t uuid, uint64_t ns,
			 uint32_t type, const char *name);
/*
 * The bound of the ring's times from here on, as a counter. That of unconfirmed events grows with
 * each event: it is told an eighth larger, and again when it is beyond that, or far below.
 */
int xvt_pf_put_bound(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev);

/* -- tasks, perfetto_tasks.c ----------------------------------------------------------- */

/* Tell the name of the event's task, when it is new. */
int xvt_pf_put_task(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev);
/* A task_newtask: take whose thread the new task is. Returns 0 or -ENOMEM. */
int xvt_pf_new_task(struct xvt_pf_machine *m, int32_t parent, int32_t pid, uint64_t clone_flags);

/* -- switches and wake-ups, perfetto_sched.c ------------------------------------------- */

/* Before a sched_switch is put: fill the gap between it and the one before. of: the event's fields
 * by the numbers that they have in its message. Returns 0 or -ENOMEM. */
int xvt_pf_switch(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev,
		  const struct xvtrace_field *const of[XVT_PERFETTO_FIELDS]);
/* The ring's machine begins to stand still; it runs again. Return 0 or -ENOMEM. */
int xvt_pf_stand(struct xvt_pf *p, struct xvt_pf_ring *r, uint64_t ns);
int xvt_pf_go_on(struct xvt_pf_ring *r, uint64_t ns);
/* Take a sched_waking for the compact part of the bundle. Returns 1; 0: it does not fit there; or
 * -ENOMEM. */
int xvt_pf_waking(struct xvt_pf_ring *r, const struct xvtrace_event *ev,
		  const struct xvtrace_field *const of[XVT_PERFETTO_FIELDS]);

/* -- vCPUs, perfetto_vcpus.c ----------------------------------------------------------- */

/* A sched_switch of the host. */
int xvt_pf_vcpu_switch(struct xvt_pf *p, uint32_t host, uint64_t ns, int32_t prev, uint64_t state,
		       int32_t next);
void xvt_pf_vcpu_waking(struct xvt_pf *p, uint64_t ns, int32_t pid);
/* What is known of all of them ends there: at a loss of the host's events, or at the last event. */
int xvt_pf_vcpus_until(struct xvt_pf *p, uint64_t ns);

/* -- rings of CPUs, and losses, perfetto_cpus.c ---------------------------------------- */

/* Before the first event. */
int xvt_pf_place_rings(struct xvt_pf *p);
/* A loss of the ring. */
void xvt_pf_count_lost(struct xvt_pf_ring *r, const struct xvtrace_event *ev);
/* After the last event. */
int xvt_pf_put_stats(struct xvt_pf *p);

/* -- functions, perfetto_symbols.c ----------------------------------------------------- */

/* Tell the name of the event's function, when it is new on the ring. */
int xvt_pf_symbol(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev,
		  uint64_t address);

#endif /* XVT_EXPORT_PERFETTO_PARTS_H */
