/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xvtrace.h - libxvtrace, the reader of xvtrace's trace files (.xvt).
 *
 *	xvtrace_open(&trace, path, 0, &error);
 *	xvtrace_reader_new(&reader, trace);
 *	while (xvtrace_next(reader, &event) > 0)
 *		use(event);
 *	xvtrace_reader_free(reader);
 *	xvtrace_close(trace);
 *
 * A trace file is untrusted input: any bytes are legal. Damaged parts are skipped and listed, see
 * xvtrace_damage(). Names and texts that a guest wrote may hold any bytes but zero;
 * xvtrace_event_text() and the machines' names are escaped and safe to print.
 *
 * Functions return 0 or -errno, unless they say otherwise. The library prints nothing. A trace and
 * all that was made from it belong to one thread at a time. Times are nanoseconds of the host's
 * CLOCK_MONOTONIC, unless a name says wall.
 *
 * Structs to which a function returns a pointer grow at their end in later versions, so a program
 * must not depend on their sizes. Structs that a program provides do not change.
 */
#ifndef XVTRACE_H
#define XVTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- a trace ------------------------------------------------------------------------ */

struct xvtrace;

/* The error and what to do, in one line without a newline. */
struct xvtrace_error {
	char text[512];
};

/* Only a part will be read: take the file's own index, which needs a few reads for a file of any
 * size. Then xvtrace_check() and xvtrace_stat_new() return -EINVAL. */
#define XVTRACE_PART	1u
/* The file is being written: it is opened without its events, which xvtrace_grow() takes. Not for a
 * folder, nor for several traces, which then are -EINVAL. */
#define XVTRACE_GROWING 2u

/*
 * Open a trace. error may be NULL. Errors:
 *   -ENOENT, -EACCES, ...  from the system
 *   -EBADMSG               not a trace, or its first chunk cannot be read
 *   -EPROTO                written in a newer format
 */
int xvtrace_open(struct xvtrace **trace, const char *path, unsigned int flags,
		 struct xvtrace_error *error);
/*
 * The same of several traces of one host, which are read as one: their events come in one order of
 * time, each with the time that its own trace gives it. A machine that two of them have is one if
 * one trace ends before the other begins, or if both are files of one set. Else it is two machines,
 * which are named by their traces: "a:g1" and "b:g1". -EINVAL: two of them are the same trace, or
 * of different hosts, or of different boots of the host.
 */
int xvtrace_open_several(struct xvtrace **trace, const char *const *paths, size_t count,
			 unsigned int flags, struct xvtrace_error *error);
/*
 * Take what was written since the last call. Readers that are made then give the events of this
 * alone; late ones come when they were written. Readers that there were must have been freed, and
 * machines and rings may have other addresses. Returns 1; 0: nothing came; -EINVAL without
 * XVTRACE_GROWING; or a read error. After the end of the trace, which xvtrace_info() says, nothing
 * comes.
 */
int xvtrace_grow(struct xvtrace *trace);
/* After all readers and statistics of the trace were freed. NULL is allowed. */
void xvtrace_close(struct xvtrace *trace);

struct xvtrace_info {
	const char *path;
	const char *host_name; /* of the host that recorded; may be empty */
	uint8_t uuid[16];
	uint64_t first_ns; /* of all events; both 0 if there are none */
	uint64_t last_ns;
	uint64_t begin_ns;	     /* begin of the recording, and the wall clock then */
	uint64_t begin_wall_ns;	     /* CLOCK_REALTIME */
	uint64_t size;		     /* of the file, bytes */
	uint64_t tail;		     /* bytes at the end of the file that are no whole chunk */
	uint64_t unordered;	     /* bytes of records at the end that have no order; not read */
	bool ended;		     /* false: the recorder was killed, or still runs */
	unsigned int machines;	     /* numbers of machines are below this */
	unsigned int rings;	     /* numbers of rings are below this */
	size_t clock_lines;	     /* lines of the host's clock, 1 or more */
	uint64_t clock_error_ns_max; /* largest measured error against CLOCK_MONOTONIC */
	size_t traces;		     /* number of them, see xvtrace_open_several() */
};

/* Never NULL. The pointer holds until xvtrace_close(); damage that is found later may change what
 * it says.
 */
const struct xvtrace_info *xvtrace_info(struct xvtrace *trace);

struct xvtrace_machine {
	unsigned int number;
	const char *name;	   /* printable, never empty */
	bool host;		   /* the host itself, not a guest */
	uint8_t uuid[16];	   /* of the libvirt domain; zeros if unknown */
	const char *recorded_name; /* without the name of its trace, see xvtrace_open_several() */
	/* The machine was read out of its kernel's own ring buffer, from outside. What that
	 * overwrote is not counted: its losses are lower bounds. */
	bool ftrace;
};

/* A ring: the events of one vCPU, one CPU of the host, or one thread. */
struct xvtrace_ring {
	unsigned int number;
	const struct xvtrace_machine *machine; /* never NULL; named "?" where it is not known */
	unsigned int cpu;
	bool thread; /* `cpu` is the number of a thread */
	/* The hardware's number of the vCPU, as the guest told it: x86 APIC id, arm64 MPIDR
	 * affinity. This is the number that the VMM and KVM's events have, and may differ from cpu.
	 * Of the host: cpu. */
	unsigned int hw_id;
};

/* Return NULL for a number that the trace does not have; damaged traces have gaps. */
const struct xvtrace_machine *xvtrace_machine(const struct xvtrace *trace, unsigned int number);
const struct xvtrace_ring *xvtrace_ring(const struct xvtrace *trace, unsigned int number);

/*
 * The kernel of a machine whose events have no names in the trace, because its guest sends none:
 * they were read out of the ring of its kernel. Where the trace says that the guest's memory proved
 * which build that was, and this host's cache has the formats of that build (`xvtrace formats`),
 * all readers name the events by them.
 */
struct xvtrace_names {
	const char *release; /* the kernel whose formats name them; NULL: none do */
	const char *build_id;
	bool claimed;	 /* by xvtrace_claim_kernel(): no proof says so */
	const char *why; /* why some have no names, in a line; NULL: nothing is known */
};

/* Returns 1 if formats of the cache name events of the machine, else 0. The texts hold until the
 * trace is closed. Of a trace with XVTRACE_GROWING: 0. */
int xvtrace_names(const struct xvtrace *trace, unsigned int machine, struct xvtrace_names *names);

/*
 * State which kernel a machine had whose events have no names, by its name: a build id, eight or
 * more of its first digits, or a release. Not against what its memory proved, and not where records
 * have other lengths: xvtrace_names() says so then. Before there are readers. error may be NULL.
 * -ENOENT: no such machine, or no such kernel in the cache; -EEXIST: its events have names;
 * -EINVAL: its guest sends names.
 */
int xvtrace_claim_kernel(struct xvtrace *trace, const char *machine, const char *kernel,
			 struct xvtrace_error *error);

/* CLOCK_REALTIME of the host at a time of the trace, as the host had it then: the clock may have
 * been set between two events. */
uint64_t xvtrace_wall_ns(const struct xvtrace *trace, uint64_t ns);

struct xvtrace_damage {
	uint64_t offset; /* in the file, bytes */
	uint64_t len;
	const char *why;
	const char *file; /* name of the file in the folder; NULL: the trace is one file */
};

/* Number of places that were found damaged so far: more may follow while events are read. */
size_t xvtrace_damage_count(const struct xvtrace *trace);
/* Returns -ENOENT for a place that does not exist or is not kept: the first 64 are. */
int xvtrace_damage(const struct xvtrace *trace, size_t number, struct xvtrace_damage *damage);

/* Read all parts that nothing has read yet, for their checksums. Not after XVTRACE_PART. */
int xvtrace_check(struct xvtrace *trace);

enum xvtrace_span_kind {
	XVTRACE_PAUSE, /* the VMM reported that the machine stood still */
	XVTRACE_EPOCH, /* of a ring's clock: one map, from its first measurement to its last */
};

struct xvtrace_span {
	enum xvtrace_span_kind kind;
	const struct xvtrace_machine *machine;
	const struct xvtrace_ring *ring; /* EPOCH; NULL in PAUSE */
	uint64_t begin_ns;
	uint64_t end_ns;    /* not before begin_ns */
	unsigned int epoch; /* EPOCH: its number */
	const char *source; /* EPOCH: of its clock */
};

/*
 * Call span() for each pause and each epoch, which are not in order of time. A pause without an end
 * lasts to the last event. Returns 0, what span() returned if that is not 0, or a read error.
 */
int xvtrace_spans(struct xvtrace *trace, int (*span)(void *arg, const struct xvtrace_span *span),
		  void *arg);

/* -- events ------------------------------------------------------------------------- */

enum xvtrace_kind {
	XVTRACE_EVENT,	/* of a guest or the host */
	XVTRACE_LOST,	/* events of this ring were lost before this time */
	XVTRACE_RECORD, /* of the recorder or about the ring; see XVTRACE_ALL */
	XVTRACE_STATE,	/* a machine's state changes; see XVTRACE_STATES */
};

/* A change of a machine's state, as its VMM reported it. The type of such an event is xvt:NAME with
 * the name in lower case: xvt:paused. Fields: `why`, the reason, may be empty; before it, where
 * since_ns has a meaning, `paused_ns` or `last_event_ns`. Later versions may have more. */
enum xvtrace_state {
	XVTRACE_PAUSED = 1, /* the machine stands still */
	XVTRACE_RUNS = 2,   /* it runs; since_ns: it had stood still since then, `paused_ns` long */
	XVTRACE_RESET = 3,
	XVTRACE_ASLEEP = 4, /* its guest suspended it (ACPI S3) */
	XVTRACE_AWAKE = 5,
	XVTRACE_CRASHED = 6,  /* its kernel panicked; since_ns, `last_event_ns`: its last event */
	XVTRACE_SHUTDOWN = 7, /* one begins; since_ns likewise, and so below */
	XVTRACE_MOVED = 8,    /* to another VMM */
	XVTRACE_ARRIVED = 9,
	XVTRACE_ENDED = 10,   /* the VMM has ended */
	XVTRACE_UNKNOWN = 11, /* nothing is known of its state from here on */
	XVTRACE_WAITS = 12,   /* it has given no event so far; its text says what it lacks */
};

/* Flags of an event. */
#define XVTRACE_LATE	    1u /* came after events of later times had been written */
#define XVTRACE_BACKLOG	    2u /* older than the begin of the recording */
/* No later clock sample confirmed its time, or that may be off by more than a second. */
#define XVTRACE_UNCONFIRMED 4u
#define XVTRACE_RECOVERED   8u	/* the writer died before it finished */
#define XVTRACE_CLOCK	    16u /* its clock contradicts the map; the time is clamped */
#define XVTRACE_MADE	    32u /* made by the reader, see XVTRACE_GAPS */

enum xvtrace_field_kind {
	XVTRACE_UINT,
	XVTRACE_INT,
	XVTRACE_STRING,
	XVTRACE_UINTS, /* arrays */
	XVTRACE_INTS,
};

struct xvtrace_field {
	const char *name;
	enum xvtrace_field_kind kind;
	bool dynamic;	       /* STRING, UINTS, INTS: each event has a length of its own */
	unsigned int size;     /* bytes; of one element in UINTS and INTS */
	unsigned int elements; /* UINTS and INTS that are not dynamic */
};

/* The part that events of one kind of one boot of one machine have in common. */
struct xvtrace_type {
	unsigned int number; /* counts from 0 in each reader */
	const char *system;
	const char *name;
	unsigned int fields;
	bool addresses; /* fields are addresses (functions, trace_printk, stacks):
			 * xvtrace_event_text() has the text that they stand for */
	/* `system`; for an event that the guest's module probes itself (xvt:sched_switch), the
	 * system of the kernel's event of that name (sched) */
	const char *kernel_system;
};

struct xvtrace_event {
	uint64_t ns;
	uint64_t guest_clock; /* raw, as the guest wrote it */
	enum xvtrace_kind kind;
	unsigned int flags;
	const struct xvtrace_ring *ring; /* NULL: the trace has lost what ring it is */
	const struct xvtrace_type *type;
	int pid;	   /* -1: not known */
	uint8_t irq_flags; /* common_flags of ftrace; see xvtrace_context_letters() */
	uint8_t preempt_count;
	uint64_t lost;	     /* LOST: number of events */
	uint64_t bound_ns;   /* with XVTRACE_BOUND: the time is right within this, in ns */
	const uint8_t *data; /* the record as the guest wrote it; STATE: not more than fields */
	size_t data_len;
	const struct xvtrace_machine *machine; /* of the ring or the state; NULL: not known */
	enum xvtrace_state state;	       /* STATE: which one */
	uint64_t since_ns; /* STATE: see there; 0: not known, or it has no meaning */
	/* Of this event alone in its file or folder, and the same however that is read; in no
	 * order. Two traces may have the same one: the ring says of which it is. 0: the reader made
	 * the event. */
	uint64_t number;
};

/* -- what a trace has besides events -------------------------------------------------- */

/* Kinds of items; bits. */
enum xvtrace_item_kind {
	XVTRACE_NOTE = 1, /* a note of the recorder */
	XVTRACE_RUN = 2,  /* a vCPU was in its guest, as the host's kernel reported it */
	XVTRACE_NODE = 4, /* of a ring's clock: a measurement, or the drain's evidence */
};

struct xvtrace_item {
	enum xvtrace_item_kind kind;
	const struct xvtrace_machine *machine; /* NULL: about the whole trace, or not known */
	const struct xvtrace_ring *ring;       /* of a NODE, and of a NOTE about a ring; or NULL */
	/* NOTE: when it was written. RUN: when the vCPU entered. NODE: of the host, when the ring's
	 * clock had the value guest_clock. */
	uint64_t ns;
	/* NOTE: */
	const char *text; /* any bytes, without a zero byte at the end */
	size_t text_len;
	unsigned int level;	  /* 0 an information, 1 a warning, 2 an error */
	enum xvtrace_state state; /* 0: it tells no state */
	uint64_t at_ns;		  /* of the state: since when, as its VMM reported it */
	uint64_t since_ns;	  /* as in an event; the recorder had not read all events then */
	/* RUN: */
	uint64_t end_ns;       /* when it left */
	unsigned int vcpu;     /* the VMM's number: hw_id of its ring */
	unsigned int host_cpu; /* where it ran */
	/* The host's kernel lost events of host_cpu from ns to end_ns: there the state of every
	 * vCPU is unknown. machine is NULL. */
	bool is_gap;
	uint64_t lost; /* their number; 0: unknown */
	/* NODE: */
	uint64_t guest_clock; /* raw */
	uint64_t bound_ns;    /* how far ns may be off */
	/* The same of the times of the events between the ring's node before it and this one. */
	uint64_t segment_bound_ns;
	unsigned int epoch; /* the map goes straight from a node to the next of its epoch */
	const char *source;
};

struct xvtrace_items;

/*
 * Go through the items of these kinds, in the order of the file; those of several traces one trace
 * after the other. Between its first and its last RUN, a vCPU was not in its guest where it has
 * none; RUNs are only roughly in order of time. Of a trace with XVTRACE_GROWING: what came last.
 * -EINVAL: there is no such kind.
 */
int xvtrace_items_new(struct xvtrace_items **items, struct xvtrace *trace, unsigned int kinds);
/* Get the next item. The pointer holds until the next call. Returns 1; 0: there are no more; or
 * -errno. */
int xvtrace_items_next(struct xvtrace_items *items, const struct xvtrace_item **item);
/* NULL is allowed. */
void xvtrace_items_free(struct xvtrace_items *items);

/* In bound_ns: not known, or the ring has no clock. */
#define XVTRACE_NO_BOUND ((uint64_t)INT64_MAX)

struct xvtrace_reader;

/* A reader gives the events of a trace in order of time. A trace may have several readers. */
int xvtrace_reader_new(struct xvtrace_reader **reader, struct xvtrace *trace);
/* Events, types and texts of the reader end with it. NULL is allowed. */
void xvtrace_reader_free(struct xvtrace_reader *reader);

/*
 * The events to read. To be called before the first xvtrace_next(), else they return -EBUSY. Each
 * sort widens its own choice (two machines: the events of both), and the sorts narrow each other (a
 * machine and a CPU: the events of that CPU of it); none of one sort chooses all of it. Events
 * without a task, as of programs with libxvt, are left out where tasks are chosen.
 */

/* All machines of that name, or of that recorded name: earlier boots may be machines of their own.
 * -ENOENT: there is none. */
int xvtrace_reader_machine(struct xvtrace_reader *reader, const char *name);
int xvtrace_reader_cpu(struct xvtrace_reader *reader, unsigned int cpu);
/* Events like the glob(7), as EVENT or SYSTEM:EVENT, or of a SYSTEM; see xvtrace_matches(). With a
 * "!" before it, events like it are left out. */
int xvtrace_reader_event(struct xvtrace_reader *reader, const char *glob);
/* Events of the task with that number, in any machine. */
int xvtrace_reader_pid(struct xvtrace_reader *reader, int pid);
/* Events of tasks with a name like the glob: * ? [a-z] [!a-z], and \\ before a letter. The name is
 * that of xvtrace_event_comm(); "<...>" where there is none. */
int xvtrace_reader_comm(struct xvtrace_reader *reader, const char *glob);
/*
 * Events for which the filter holds, in the syntax of tracefs's filter files: FIELD OPERATOR VALUE,
 * combined by && || ! and parentheses; see xvtrace-report(1). A second filter replaces the first. A
 * comparison with a field that the event does not have does not hold. -EINVAL: wrong syntax; error,
 * which may be NULL, says what and where.
 */
int xvtrace_reader_filter(struct xvtrace_reader *reader, const char *filter,
			  struct xvtrace_error *error);
/* The same for a filter alone, where there is no trace yet: 0, -EINVAL or -ENOMEM. */
int xvtrace_check_filter(const char *filter, struct xvtrace_error *error);

enum xvtrace_clock {
	XVTRACE_MONOTONIC, /* times of the trace */
	XVTRACE_WALL,	   /* CLOCK_REALTIME of the host */
};

/* The first and the last time to read. */
int xvtrace_reader_from(struct xvtrace_reader *reader, uint64_t ns, enum xvtrace_clock clock);
int xvtrace_reader_to(struct xvtrace_reader *reader, uint64_t ns, enum xvtrace_clock clock);
/* No more than this many events; 0: all. */
int xvtrace_reader_limit(struct xvtrace_reader *reader, uint64_t events);

#define XVTRACE_ALL	1u /* records of the recorder and about rings, too */
#define XVTRACE_RECLOCK 2u /* new times, from all clock samples of the trace together */
#define XVTRACE_BOUND	4u /* set bound_ns of each event */
/* Also the changes of machines' states, in their place in time. They have no ring, CPU or task, and
 * are left out where tasks are chosen; a choice of CPUs does not concern them. They do not count
 * for the limit. */
#define XVTRACE_STATES	8u
/*
 * With XVTRACE_STATES: where a machine stops to run (paused, ended, moved, unknown), each CPU that
 * ran a task gets a sched_switch to a task 0 named "paused", and one back where it runs again. No
 * task seems to run meanwhile, therefore. These events have the flag XVTRACE_MADE, the time of the
 * state, and the fields of the CPU's last switch.
 */
#define XVTRACE_GAPS	16u
/* Count all records that are read, for xvtrace_reader_counts(), whatever is chosen of them. */
#define XVTRACE_COUNTS	32u

int xvtrace_reader_flags(struct xvtrace_reader *reader, unsigned int flags);

/*
 * Call watch(arg, ns) inside xvtrace_next(), between two records, while *flag is not 0; ns is the
 * time that the reader has reached. A signal handler may set the flag, and watch() clears it. When
 * watch() returns false, the reading ends: xvtrace_next() returns 0.
 */
int xvtrace_reader_watch(struct xvtrace_reader *reader, const volatile int *flag,
			 bool (*watch)(void *arg, uint64_t ns), void *arg);

/* A thread of the caller, which makes calls while the caller goes on. */
struct xvtrace_background {
	/* Numbers of calls that can be under way: below this. */
	unsigned int slots;
	/* Have call(arg) made, once; for each slot, wait() comes before the next begin(). What was
	 * written before, the call must see. */
	void (*begin)(void *run_arg, unsigned int slot, void (*call)(void *arg), void *arg);
	/* Return when the slot's call has returned; what it wrote must be seen then. */
	void (*wait)(void *run_arg, unsigned int slot);
	void *run_arg;
};

/*
 * Have a thread fetch records, and give them their times, while the caller uses those before them.
 * The events are the same, and so is all that the reader and the trace tell of them, once
 * xvtrace_next() returned 0 or the reader was freed. A trace that is damaged is read by the caller
 * alone; what was read of it before the damage was found is fetched twice then. Of several traces,
 * each takes a slot, as far as there are. Memory: for each slot 640 KiB, the list of the trace's
 * chunks, and what a reader takes. The other thread uses nothing that is reached by the caller's
 * trace; it is in no call when the reader was freed, which must come before its end. Returns 0;
 * -EBUSY after xvtrace_next(); -ENOMEM; -EINVAL: no slots, a part of xvtrace_reader_split(), or the
 * trace is growing.
 */
int xvtrace_reader_ahead(struct xvtrace_reader *reader, const struct xvtrace_background *by);

/*
 * Get the next event. The pointer holds until the next call. Returns 1; 0: there are no more; or
 * -errno. An end and an error are final: further calls return the same. Losses are XVTRACE_LOST
 * records among the events and do not count as events for the limit.
 */
int xvtrace_next(struct xvtrace_reader *reader, const struct xvtrace_event **event);

/*
 * Go on with the events from that time on, later or earlier ones, in the range that was chosen.
 * This takes a fraction of what another reader takes. An end is no longer final, the limit counts
 * anew, and types stay. The names of tasks stay as they were last seen, which may be later.
 * -EINVAL: with XVTRACE_COUNTS.
 */
int xvtrace_reader_seek(struct xvtrace_reader *reader, uint64_t ns);

/*
 * Divide the reading among threads: make `count` readers of the same choices, each for a range of
 * time with about as many events as the others have. What parts[0], parts[1], ... give one after
 * the other is exactly what the reader would give: the same events, with the same times, bounds,
 * bytes and numbers, in the same order. A part may have no events.
 *
 * A part has a trace of its own, with the files that are open already: the machines, rings and
 * types of its events are its own, with the same numbers of machines and rings. So each part may be
 * used by a thread of its own while others are used; that includes its flags and choices before its
 * first xvtrace_next(), and xvtrace_reader_watch(), which it does not take over. All must be made,
 * and freed, while no other thread uses the trace or its reader, and freed before the trace is
 * closed. Freeing a part adds the damage that it found to that of the trace. The reader stays as it
 * was.
 *
 * What an event says may depend on events before the part in one way: xvtrace_event_comm() knows
 * the names that metadata and the part's own events tell. With XVTRACE_RECLOCK, a part reads some
 * events before its range, or all where a clock's map is not sure without them. As in one reader,
 * the order is that of times only where it is in the file (verify).
 *
 * Memory: that of `count` readers; no descriptors. Returns 0; -EBUSY after xvtrace_next(); -ENOMEM;
 * -EINVAL: count is 0, the reader is a part, it has a limit or chooses by names of tasks, the flags
 * XVTRACE_STATES, XVTRACE_GAPS or XVTRACE_COUNTS, or the trace is growing.
 */
int xvtrace_reader_split(struct xvtrace_reader *reader, unsigned int count,
			 struct xvtrace_reader **parts);

/* A time in which events of a ring may have been lost: behind one of its records, and not behind
 * its LOST record. */
struct xvtrace_hole {
	const struct xvtrace_ring *ring;
	/* Of the last record before whose time is known; 0: there is none in the reader's range. */
	uint64_t begin_ns, begin_bound_ns;
	/* Of the LOST record. Where its time is not known, of the next record whose time is;
	 * UINT64_MAX: there is none. */
	uint64_t end_ns, end_bound_ns;
};

/* A time of a ring's record, or of no record (ring is NULL), right within the bound. */
struct xvtrace_point {
	const struct xvtrace_ring *ring;
	uint64_t ns, bound_ns;
};

struct xvtrace_holes;

/*
 * All holes that are open in the reader's range of time, also those that end behind it, and of
 * rings that are not chosen. A LOST record comes at the end of its hole: who waits for it takes
 * what other rings say of the time in it for all there is. The reader must have XVTRACE_BOUND, and
 * begins to read by this, if it has not. Where the recorder's counters say that a trace that ended
 * lost nothing, this takes no time. Else it is a pass over the events of the range, and of those
 * behind it up to the next record of each ring that lost some; the reader's watch() can end it, and
 * the reading. Memory: 40 bytes a hole; of 65,536 of one ring, the last goes on to the end of the
 * next ones. Of places that are damaged in a file nothing is known. Returns 0, -ENOMEM or a read
 * error.
 */
int xvtrace_holes_new(struct xvtrace_holes **holes, struct xvtrace_reader *reader);
/* Before the trace is closed. NULL is allowed. */
void xvtrace_holes_free(struct xvtrace_holes *holes);
/*
 * The hole that begins first of those that may be open somewhere between two points, by the bounds
 * of all four times; in the ring of a point, by the order of its records. ring: of this one; NULL:
 * of the machine's. Returns NULL if there is none, so that no event of them is missing there.
 */
const struct xvtrace_hole *xvtrace_hole_between(const struct xvtrace_holes *holes,
						const struct xvtrace_machine *machine,
						const struct xvtrace_ring *ring,
						const struct xvtrace_point *from,
						const struct xvtrace_point *to);

/* A glob that no event matched, and names of events that are similar. */
struct xvtrace_unmatched {
	const char *glob;
	const char *near[3]; /* the most similar first; NULL: no more */
};

/* After xvtrace_next() returned 0. Returns -ENOENT for a number beyond the last. */
int xvtrace_reader_unmatched(const struct xvtrace_reader *reader, size_t number,
			     struct xvtrace_unmatched *unmatched);

/* The same for xvtrace_reader_comm(). */
int xvtrace_reader_unmatched_comm(const struct xvtrace_reader *reader, size_t number,
				  struct xvtrace_unmatched *unmatched);
/* The same for comparisons of the filter that no event allowed, because none has such a field, or
 * it is of another kind. *error has the text. */
int xvtrace_reader_unmatched_filter(const struct xvtrace_reader *reader, size_t number,
				    struct xvtrace_error *error);

/* Number of events that were lost in the chosen machines, CPUs and times so far, and whose LOST
 * records were left out by the choice of events, tasks or a filter. */
uint64_t xvtrace_reader_lost_hidden(const struct xvtrace_reader *reader);

/* Number of formats, symbols and names that were left out, because a machine has more than the
 * library decodes; see xvtrace-report(1). Their events have their bytes as only field. */
uint64_t xvtrace_reader_left_out(const struct xvtrace_reader *reader);

/* How many events of a machine have no format in the trace, and so neither a name nor fields, of
 * *events: of those read so far in the chosen machines, CPUs and times, whatever their types. */
uint64_t xvtrace_reader_nameless(const struct xvtrace_reader *reader, unsigned int machine,
				 uint64_t *events);

/* A format of a machine that could not be read; its events have their bytes as only field. */
struct xvtrace_left_format {
	unsigned int machine;
	const char *system;
	const char *event;
	const char *why;
};

/* Get the format of this number that was left out so far, from 0 on. Returns 0, or -ENOENT: no
 * more, or beyond the first 32. */
int xvtrace_reader_left_format(const struct xvtrace_reader *reader, unsigned int number,
			       struct xvtrace_left_format *to);

/* The effect of XVTRACE_RECLOCK on a ring: error bounds before and after. */
struct xvtrace_reclocked {
	const char *source; /* of its clock */
	uint64_t max_before_ns;
	uint64_t max_after_ns;
	uint64_t half_before_ns; /* held for half of the time */
	uint64_t half_after_ns;
	uint64_t samples;
	size_t epochs;
	size_t epochs_as_recorded; /* the parts of `epochs`, by what explains the samples */
	size_t epochs_gaining;	   /* the guest's clock gains on the host's */
	size_t epochs_constant;	   /* a constant rate */
};

/* Before or after xvtrace_next(). Returns -ENOENT for a ring with less than two clock nodes. */
int xvtrace_reader_reclocked(struct xvtrace_reader *reader, unsigned int ring,
			     struct xvtrace_reclocked *reclocked);

/* -- what an event says ------------------------------------------------------------- */

/* A field of a type by number, from 0. NULL: there is none. */
const struct xvtrace_field *xvtrace_field(const struct xvtrace_type *type, unsigned int number);
/* A field by name. NULL: there is none. */
const struct xvtrace_field *xvtrace_field_named(const struct xvtrace_type *type, const char *name);

struct xvtrace_value {
	const struct xvtrace_field *field;
	uint64_t u;	     /* UINT; INT: sign-extended */
	const uint8_t *data; /* STRING: no zero byte at its end; UINTS, INTS: not aligned */
	size_t count;	     /* STRING: bytes; UINTS, INTS: elements */
};

/* The value that the event has in a field of its type. */
void xvtrace_value(const struct xvtrace_event *event, const struct xvtrace_field *field,
		   struct xvtrace_value *value);
/* An element of UINTS or INTS, sign-extended in INTS. number: less than value->count. */
uint64_t xvtrace_element(const struct xvtrace_value *value, size_t number);

/* Fields as NAME=VALUE, not by the guest's print format. */
#define XVTRACE_RAW	 1u
/* A text is at most this long, and 9 bytes more if it was cut: "...[cut]". */
#define XVTRACE_TEXT_MAX 4096u

/*
 * The fields as one line of printable text, *len bytes and a zero byte. The pointer holds until the
 * next call with an event of this reader. Never NULL.
 */
const char *xvtrace_event_text(const struct xvtrace_event *event, unsigned int flags, size_t *len);
/* Name of the task `event->pid`, as last seen. NULL: not known. */
const char *xvtrace_event_comm(const struct xvtrace_event *event);

/* Name of the function of the event's machine that has the address, from the symbols that hold for
 * the event: text of the guest's, unchecked. NULL: not known. The pointer holds until the next call
 * with an event of this reader. */
const char *xvtrace_event_symbol(const struct xvtrace_event *event, uint64_t address);

struct xvtrace_kept;

/*
 * Copies of events, one after the other. Unlike the event, a copy holds when the reader goes on,
 * and other threads may use it: with xvtrace_value(), xvtrace_event_text(), xvtrace_event_comm(),
 * which gives the name of that time, and xvtrace_event_message(), but not xvtrace_event_symbol(),
 * which gives NULL. Several threads may use copies of one reader at the same time, each a struct
 * xvtrace_kept of its own, while no thread uses the reader or frees it. Memory: 160 bytes for each,
 * and what it says.
 */
int xvtrace_kept_new(struct xvtrace_kept **kept);
/* NULL is allowed. */
void xvtrace_kept_free(struct xvtrace_kept *kept);
/* Copy an event that its reader gave last. Returns 0 or -ENOMEM. Copies move: the one that
 * xvtrace_kept_next() gave does not hold any more. */
int xvtrace_keep(struct xvtrace_kept *kept, const struct xvtrace_event *event);
/* Bytes of the copies. */
size_t xvtrace_kept_bytes(const struct xvtrace_kept *kept);
/* Get the next copy, in the order in which they were made. The pointer holds until the next call.
 * NULL: no more. */
const struct xvtrace_event *xvtrace_kept_next(struct xvtrace_kept *kept);
/* Forget all of them. */
void xvtrace_kept_clear(struct xvtrace_kept *kept);

/* A message between machines, of which programs of both leave marks: "xvt-ping send 12" and
 * "xvt-ping recv 12" in trace_marker or as text. */
struct xvtrace_message {
	uint64_t number;
	bool sent; /* false: received */
};

/* Returns whether the event is such a mark. */
bool xvtrace_event_message(const struct xvtrace_event *event, struct xvtrace_message *message);

/* "LBURC", a dot for each flag that is not set, and a zero byte. */
#define XVTRACE_FLAG_LETTERS 5
void xvtrace_flag_letters(unsigned int flags, char letters[XVTRACE_FLAG_LETTERS + 1]);
/* The context of an event of ftrace, as in the kernel's latency format ("d.h1"), and a zero. */
#define XVTRACE_CONTEXT_LETTERS 4
void xvtrace_context_letters(const struct xvtrace_event *event,
			     char letters[XVTRACE_CONTEXT_LETTERS + 1]);

/* Whether an event of that system and name matches a glob, EVENT or SYSTEM:EVENT, or is of the
 * SYSTEM that it names. Events that the
 * guest's module probes itself (xvt:sched_switch) match as the kernel's, too. */
bool xvtrace_matches(const char *glob, const char *system, const char *name);

/* -- what a machine says of itself -------------------------------------------------- */

/* These know what the reader has read: call them after xvtrace_next(). The pointers that they
 * return hold until the next call with this reader. */

/*
 * The text from which a type was made, as tracefs has it in "format", with a zero byte behind it.
 * NULL: the type has none, as a writer's own events, or the file cannot be read any more. The
 * library has checked the names of the event and its fields, but the print format is any text.
 */
const char *xvtrace_type_format(struct xvtrace_reader *reader, const struct xvtrace_type *type);

/*
 * Go through the types of events of which a machine gave a format, without reading events: *at is 0
 * before the first call. Events have these very types; those of a machine's earlier boots, and of
 * earlier versions of a format, are among them. Types without a format, as programs' own texts,
 * come with their events alone. May be called before xvtrace_next(); the choices are over then, and
 * choices of events do not count. Each type takes some KB. Returns 1; 0: there are no more; or
 * -errno.
 */
int xvtrace_reader_type(struct xvtrace_reader *reader, unsigned int machine, size_t *at,
			const struct xvtrace_type **type);

enum xvtrace_symbols {
	XVTRACE_KSYMS,	 /* as /proc/kallsyms */
	XVTRACE_PRINTKS, /* as printk_formats of tracefs */
};

/*
 * A piece of the machine's symbols, `*len` bytes of whole lines, by number from 0. They are those
 * of the machine's last boot that gave any. Text of the guest's, unchecked. Returns 0; -ENOENT:
 * there is no such piece; or the error of the file.
 */
int xvtrace_reader_symbols(struct xvtrace_reader *reader, unsigned int machine,
			   enum xvtrace_symbols what, size_t number, const char **text,
			   size_t *len);

/* Go through the names of a machine's tasks: *at is 0 before the first call. Each pid is there
 * once, with the last name that the reader has seen. Returns 1; 0: there are no more. */
int xvtrace_reader_task(const struct xvtrace_reader *reader, unsigned int machine, size_t *at,
			int *pid, const char **comm);

struct xvtrace_task {
	int pid;
	const char *comm; /* as xvtrace_reader_task() has it */
	/* Time of the event that gave it this name; 0: the recorder or the machine told the name
	 * by itself. Earlier events may be of another task of that number. */
	uint64_t since_ns;
};

/* Find a task by its number, without going through them. The pointer holds until the next call.
 * NULL: the trace has not told its name so far. */
const struct xvtrace_task *xvtrace_reader_task_of(struct xvtrace_reader *reader,
						  unsigned int machine, int pid);

/* The process of a machine's thread. *kernel: it is one of the kernel. Returns its number; 0: the
 * machine did not tell, as guests do not. */
int xvtrace_reader_process(const struct xvtrace_reader *reader, unsigned int machine, int tid,
			   bool *kernel);

/* The machine's kernel, as it told it and `uname -srvm` writes it: a guest's text, unchecked. NULL:
 * it told nothing. */
const char *xvtrace_reader_kernel(const struct xvtrace_reader *reader, unsigned int machine);

#define XVTRACE_ALL_VCPUS (~0u)

/* A thread of the host that runs a vCPU. */
struct xvtrace_vcpu {
	int tid;
	unsigned int vcpu; /* the VMM's number, which is hw_id of its ring; XVTRACE_ALL_VCPUS: the
			      thread runs all of the machine's */
	const struct xvtrace_machine *machine;
};

/* Go through the threads that run vCPUs, as the recorder named them ("g1:vcpu0", "g1:vcpus"): *at
 * is 0 before the first call. machine: the host. Returns 1; 0: there are no more. */
int xvtrace_reader_vcpu(const struct xvtrace_reader *reader, unsigned int machine, size_t *at,
			struct xvtrace_vcpu *vcpu);

/* Find what one thread of the host runs, without going through them. Returns 1; 0: it runs no vCPU,
 * or the recorder did not name it. */
int xvtrace_reader_thread(const struct xvtrace_reader *reader, unsigned int machine, int tid,
			  struct xvtrace_vcpu *vcpu);

/* The kinds of the host's threads. Later versions may add some. */
enum xvtrace_role {
	XVTRACE_ROLE_NONE, /* no thread of a machine's VMM, or not of one any more */
	XVTRACE_ROLE_VCPU,
	XVTRACE_ROLE_ALL_VCPUS, /* the thread runs all of the machine's */
	XVTRACE_ROLE_MAIN,	/* the first thread of the VMM */
	XVTRACE_ROLE_IO,	/* an I/O thread */
	XVTRACE_ROLE_VHOST,
	XVTRACE_ROLE_WORKER, /* of a pool, or of KVM */
	XVTRACE_ROLE_OTHER,  /* of the VMM; its name does not say more */
};

struct xvtrace_thread {
	int tid;
	int tgid; /* the process; 0: not known */
	enum xvtrace_role role;
	unsigned int vcpu; /* the VMM's number, of ROLE_VCPU; XVTRACE_ALL_VCPUS of ROLE_ALL_VCPUS */
	const struct xvtrace_machine *machine; /* whose VMM it is; NULL with ROLE_NONE */
	uint64_t from_ns; /* this holds from then on, up to the next one of that tid */
};

/* Find what the host's thread of that number was at time ns. A number may be given again: by a VMM
 * that is started again, or to a vCPU that is plugged in. machine: the host. Returns 1; 0: the
 * recorder did not state it, as recorders before 0.4 do not. */
int xvtrace_reader_role(struct xvtrace_reader *reader, unsigned int machine, int tid, uint64_t ns,
			struct xvtrace_thread *thread);

/* Go through all of that, by number and then in time: *at is 0 before the first call. Returns 1;
 * 0: there are no more. */
int xvtrace_reader_role_next(struct xvtrace_reader *reader, unsigned int machine, size_t *at,
			     struct xvtrace_thread *thread);

/* Name of a role, "vcpu" and so on; NULL: there is no such role. */
const char *xvtrace_role_name(unsigned int role);

/* -- statistics --------------------------------------------------------------------- */

/* Causes of a loss. */
enum xvtrace_cause {
	XVTRACE_LOST_FULL,	  /* the ring was full */
	XVTRACE_LOST_WRAP,	  /* the ring would wrap onto an unfinished event */
	XVTRACE_LOST_BIG,	  /* an event does not fit a sub-buffer */
	XVTRACE_LOST_NEST,	  /* interrupts nest too deeply */
	XVTRACE_LOST_RETRY,	  /* interrupted too often in one reservation */
	XVTRACE_LOST_OVERWRITTEN, /* overwritten by newer events before they were read */
	XVTRACE_LOST_DROPPED,	  /* by the recorder: the disk or a budget was full */
	XVTRACE_LOST_DAMAGED,	  /* it was in the file, in a part that is damaged or missing */
	XVTRACE_CAUSES_MAX = 12,  /* room for more */
};

/* Name of a cause, as in JSON; NULL: there is no such cause. */
const char *xvtrace_cause_name(unsigned int cause);

/* attempted == events + lost + discarded + in_flight */
struct xvtrace_counts {
	uint64_t attempted;
	uint64_t events;
	uint64_t lost;
	uint64_t lost_by[XVTRACE_CAUSES_MAX];
	uint64_t overwritten_doubt; /* the most by which `lost` may be too high */
	uint64_t discarded;	    /* by the writer itself */
	uint64_t late;
	uint64_t backlog;
	uint64_t unconfirmed;
	uint64_t recovered;
	uint64_t in_flight;
	uint64_t first_ns; /* both 0 without events */
	uint64_t last_ns;
};

/*
 * The counts of a ring that xvtrace_stat_new() has, from a reader with XVTRACE_COUNTS, without a
 * second pass over the trace. To be called after xvtrace_next() returned 0 and xvtrace_check() was
 * called, which finds the rest of the damage. The times are those that the reader gives. The
 * pointer holds until the next call. NULL: there is no such ring, the reader has not read all, or
 * out of memory.
 */
const struct xvtrace_counts *xvtrace_reader_counts(struct xvtrace_reader *reader,
						   unsigned int ring);

struct xvtrace_ring_stat {
	struct xvtrace_counts counts;
	uint64_t paused_ns;
	uint64_t clock_violations;
	uint64_t bad_bytes; /* that the guest wrote and that are no valid records */
	unsigned int epochs;
	const char *source;    /* of its clock */
	bool clocked;	       /* false: the times are the guest's own */
	unsigned int rejected; /* bit per source that contradicted others */
	uint64_t bound_ns_max; /* XVTRACE_NO_BOUND: there is none */
	uint64_t unconfirmed_bound_ns_max;
};

struct xvtrace_machine_stat {
	struct xvtrace_counts counts;
	uint64_t paused_ns; /* how long the machine was paused while its rings were read */
	/* Half of the events, and all of them, are right within this; XVTRACE_NO_BOUND: none has a
	 * bound. Events without one are not among them, but counted. The median is rounded up by
	 * 1/64 at most. With XVTRACE_RECLOCK they are those of the new times. */
	uint64_t bound_ns_median;
	uint64_t bound_ns_max;
	uint64_t unbounded;
	uint64_t pauses;   /* number of them, also of one that has not ended */
	uint64_t nameless; /* events of which the trace has no format, so no name */
	/* When its VMM ended, or its kernel panicked; 0: neither has, or the machine ran again. */
	uint64_t ended_ns;
	bool panicked; /* that is why, if it ended */
};

struct xvtrace_stat {
	struct xvtrace_counts counts; /* of the trace */
	uint64_t nameless;	      /* the sum over its machines */
	uint64_t order_violations;
	uint64_t notes[3]; /* of the recorder: informations, warnings, errors */
};

/* Read the whole trace and count. Not after XVTRACE_PART. Of the flags, XVTRACE_RECLOCK counts. */
int xvtrace_stat_new(struct xvtrace_stat **stat, struct xvtrace *trace, unsigned int flags);
/* Threads of the caller. */
struct xvtrace_threads {
	unsigned int count; /* calls that can be made at the same time */
	/* Call call(arg, i) once for each i below `calls`, each in any thread, at the same time or
	 * not, and return when all have returned. What was written before, the calls must see, and
	 * what they wrote must be seen after. */
	void (*run)(void *run_arg, unsigned int calls, void (*call)(void *arg, unsigned int i),
		    void *arg);
	void *run_arg;
};

/*
 * The same by several threads, in as many parts of the trace at most, and 64. The statistics are
 * those that xvtrace_stat_new() gives, and so are the errors and the damage that is found. A small
 * trace is read by the caller alone; so is one that is damaged, after the threads found that out.
 * Memory: that of a reader for each part. threads may be NULL.
 */
int xvtrace_stat_new_by(struct xvtrace_stat **stat, struct xvtrace *trace, unsigned int flags,
			const struct xvtrace_threads *threads);
void xvtrace_stat_free(struct xvtrace_stat *stat);
/* NULL: the trace has no such ring. */
const struct xvtrace_ring_stat *xvtrace_stat_ring(const struct xvtrace_stat *stat,
						  unsigned int ring);
/* Sum of a machine's rings. NULL: the trace has no such machine. */
const struct xvtrace_machine_stat *xvtrace_stat_machine(const struct xvtrace_stat *stat,
							unsigned int machine);
/* Name of a bit of xvtrace_ring_stat.rejected; NULL: there is no such source. */
const char *xvtrace_source_name(unsigned int source);

#ifdef __cplusplus
}
#endif

#endif /* XVTRACE_H */
