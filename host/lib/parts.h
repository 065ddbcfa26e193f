/* SPDX-License-Identifier: GPL-2.0 */
/* parts.h - private to lib/: what a trace and a reader consist of. */
#ifndef XVT_LIB_PARTS_H
#define XVT_LIB_PARTS_H

#include "base/error.h"
#include "decode/decode.h"
#include "lib/ahead.h"
#include "lib/gaps.h"
#include "lib/named.h"
#include "lib/states.h"
#include "lib/xvtrace.h"
#include "trace/cursor.h"
#include "view/bound.h"
#include "view/reclock.h"
#include "view/spread.h"

#define XVT_LABEL_LEN 128u /* what precedes a name that two traces have, with its zero byte */

struct xvt_lib_machine {
	struct xvtrace_machine pub;
	char name[XVT_NAME_LEN];		  /* as recorded */
	char shown[XVT_LABEL_LEN + XVT_NAME_LEN]; /* of several traces */
	size_t member;				  /* of several traces: the first one that has it */
	bool known;
};

struct xvt_lib_ring {
	struct xvtrace_ring pub;
	bool known;
};

/*
 * Machines and rings are copies, made once: a damaged index makes the trace read its own again.
 *
 * Several traces that are read as one have a struct xvtrace each, and one more for the whole, which
 * has their machines with numbers of its own. Rings are those of the members, whose numbers count
 * on. In a member, numbers of the file are used to find things, and what is given to the caller has
 * the numbers of the whole.
 */
struct xvtrace {
	struct xvt_trace *t; /* NULL: it is the whole of several */
	struct xvtrace **members;
	size_t member_count;
	struct xvtrace *whole;	 /* of a member, else NULL */
	uint32_t *in_whole;	 /* of a member: numbers of its machines, and of the unknown one */
	uint32_t first_ring;	 /* of a member: number of its ring 0 */
	char path[512];		 /* of the whole, for messages */
	struct xvt_named *named; /* names that the trace does not have; NULL: none */
	bool named_is_lent;	 /* by the trace that this is a copy of */
	bool part;
	bool growing;
	struct xvtrace_info info;
	char host_name[XVT_NAME_LEN + 1];
	struct xvt_lib_machine *machines;
	struct xvt_lib_ring *rings;
	uint32_t machine_count;
	uint32_t ring_count;
};

/* As xvtrace_ring(). */
static inline const struct xvtrace_ring *xvt_lib_ring(const struct xvtrace *trace, uint32_t number)
{
	if (xvt_unlikely(number >= trace->ring_count) || !trace->rings[number].known)
		return NULL;
	return &trace->rings[number].pub;
}

/* A machine by its number in the file; the one named "?" for a number that the file does not have.
 */
static inline const struct xvtrace_machine *xvt_lib_machine(const struct xvtrace *trace,
							    uint32_t vm)
{
	vm = vm < trace->machine_count ? vm : trace->machine_count;
	if (trace->whole)
		return &trace->whole->machines[trace->in_whole[vm]].pub;
	return &trace->machines[vm].pub;
}

/* Make the machines and rings of a trace that has none. Returns 0 or -ENOMEM. */
int xvt_lib_tables(struct xvtrace *trace);

/* -- a trace again, for another thread, copy.c ---------------------------------------- */

/* Returns 0 or -ENOMEM. The reader takes no descriptor. */
int xvt_lib_copy(struct xvtrace **out, const struct xvtrace *of);
/* Close the copy. What it found damaged is damage of the trace. */
void xvt_lib_join(struct xvtrace *of, struct xvtrace *copy);

/* -- several traces as one, several.c ------------------------------------------------ */

/* Returns whether b can be read beside a. why: what forbids it. */
bool xvt_several_fit(const struct xvt_trace *a, const struct xvt_trace *b, struct xvt_error *why);
/* Number the machines and rings of the members. Returns 0 or -ENOMEM. */
int xvt_several_number(struct xvtrace *whole);
/* The member that has that ring of the whole; NULL: none has. */
struct xvtrace *xvt_several_of_ring(const struct xvtrace *whole, uint32_t ring);

/* -- selection by name, match.c ------------------------------------------------------ */

#define XVT_NEAR_MAX 3	/* nearest names that are kept for one without a match */
#define XVT_NEAR_LEN 96 /* bytes of such a name */

struct xvt_near {
	unsigned int count;
	struct {
		unsigned int apart;
		char shown[XVT_NEAR_LEN];
	} name[XVT_NEAR_MAX];
};

/* Keep the name if it is nearer to the wanted one than one that is kept; shown: as it is shown. */
void xvt_near_add(struct xvt_near *near, const char *wanted, const char *name, const char *shown);

struct xvt_glob {
	struct xvt_glob *next;
	bool matched;
	bool leaves_out; /* what it matches */
	struct xvt_near near;
	char text[];
};

/* Returns 0 or -ENOMEM. */
int xvt_glob_add(struct xvt_glob **globs, const char *text, bool leaves_out);
void xvt_globs_free(struct xvt_glob *globs);
/* For an event that the guest's module probes itself: the system of the kernel's event of that
 * name. NULL: it is no such event. */
const char *xvt_probed_system(const char *system, const char *name);

/* Returns whether one of the globs matches, or there are only those that leave out, and none of
 * these matches. near: keep the name for those that do not. */
bool xvt_globs_match(struct xvt_glob *globs, const char *system, const char *name, bool near);
/* Get a glob that nothing matched, by number. Returns false beyond the last. */
bool xvt_globs_unmatched(const struct xvt_glob *globs, size_t number,
			 struct xvtrace_unmatched *unmatched);

#define XVT_COMM_UNKNOWN "<...>" /* for a task whose name the trace has not told */
#define XVT_COMMS_SEEN	 256u

struct xvt_comms {
	struct xvt_glob *globs;
	uint32_t seen[XVT_COMMS_SEEN]; /* hashes of names that were compared */
};

/* Returns whether one of the globs matches the task's name. */
bool xvt_comms_match(struct xvt_comms *comms, const char *name);

/* Whether the text is like the glob: * ? [a-z] [!a-z] and \ before a letter. Takes at most the
 * product of both lengths. */
bool xvt_like(const char *glob, const uint8_t *text, size_t len);

/* -- selection by values, filter.c --------------------------------------------------- */

struct xvt_filter;
struct xvt_lib_event;

/* Where a comparison finds its value in the events of a type. */
struct xvt_filter_place {
	uint64_t number;
	uint16_t field;
	uint8_t what;
	bool is_signed;
};

/* Parse a filter. Returns 0, -ENOMEM, or -EINVAL; the error has a text then. */
int xvt_filter_new(struct xvt_filter **f, const char *text, struct xvtrace_error *error);
void xvt_filter_free(struct xvt_filter *f);
/* The traces that it was made of. */
const char *xvt_filter_text(const struct xvt_filter *f);
/* Returns whether it compares names of tasks. */
bool xvt_filter_has_names(const struct xvt_filter *f);
/* Look up the filter's fields in a class: an array for free(); NULL: out of memory. near: keep the
 * names of fields for those that no class has. */
struct xvt_filter_place *xvt_filter_places(struct xvt_filter *f,
					   const struct xvt_event_class *class, bool near);
/* e->type has the places of this filter. */
bool xvt_filter_holds(const struct xvt_filter *f, const struct xvt_lib_event *e);
/* Get the text about a comparison that no type of event allowed. Returns false beyond the last. */
bool xvt_filter_unmatched(const struct xvt_filter *f, size_t number, struct xvtrace_error *error);

/* -- counts, counting.c and stat.c ----------------------------------------------------- */

/* Count a record of a ring. Returns whether it is an event. recorded: sums of the LOST records. */
bool xvt_count_record(struct xvtrace_counts *c, struct xvt_lost *recorded,
		      const struct xvt_event_hdr *h, const uint8_t *payload);
/* Set what the recorder counted, after all records of the ring. */
void xvt_conclude_counts(const struct xvt_trace *t, struct xvtrace_counts *c,
			 const struct xvt_lost *recorded, const struct xvt_bound_ring *b);

struct xvt_counted {
	struct xvtrace_counts counts;
	struct xvt_lost recorded;
};

/* -- a reader ------------------------------------------------------------------------ */

struct xvt_lib_type {
	struct xvtrace_type pub;
	struct xvtrace_reader *reader;
	struct xvt_event_class *c;
	struct xvt_lib_type *next;	 /* of the reader */
	int8_t wanted;			 /* by the globs: 0, 1 */
#define XVT_TYPE_UNDECIDED (-1)		 /* no event of it was read */
	struct xvt_filter_place *places; /* of the reader's filter; NULL: there is none */
	struct xvtrace_field fields[];
};

/* What a copy of an event has with it; see keep.c. */
struct xvt_lib_kept {
	struct xvt_out *out; /* for texts */
	const char *comm;    /* NULL: not known */
	const char *text;    /* NULL: it depends on the record alone */
	size_t text_len;
};

struct xvt_lib_event {
	struct xvtrace_event pub;
	struct xvtrace_reader *reader;
	struct xvt_lib_type *type;
	struct xvt_decoder *decoder;
	struct xvt_event ev;
	const struct xvt_state *state;	 /* of a STATE */
	const struct xvt_lib_kept *kept; /* NULL: it is no copy */
};

struct xvt_cpus {
	unsigned int from, to;
};

/* Events of a machine that were read, whatever their types, and those without a format. */
struct xvt_lib_tally {
	uint64_t events;
	uint64_t nameless;
};

/* The part that all events of a ring have in common. */
struct xvt_lib_source {
	const struct xvtrace_ring *ring; /* NULL: the trace has lost what ring it is */
	const struct xvtrace_machine *machine;
	struct xvt_decoder *decoder;
	struct xvt_lib_tally
		*tally; /* of the ring's machine; without a ring one that is not shown */
};

/* Which events are wanted. A member has a copy of that of the whole, which owns what is pointed at.
 */
struct xvt_reader_choice {
	/* written by choose.c split.c */
	uint64_t from_ns; /* by both clocks; an event is in both ranges */
	uint64_t to_ns;
	/* written by choose.c */
	uint64_t wall_from_ns;
	uint64_t wall_to_ns;
	uint64_t limit;
	unsigned int flags;
	bool *machines; /* by number: wanted; NULL: all */
	struct xvt_cpus *cpus;
	size_t cpu_count;
	int *pids;
	size_t pid_count;
	struct xvt_glob *globs;
	struct xvt_comms *comms;
	struct xvt_filter *filter;
	bool by_event; /* pids, comms or a filter decide about each event */
	/* private to choose.c */
	size_t cpu_room;
	size_t pid_room;
};

/* The function that can end the reading. */
struct xvt_reader_watch {
	/* written by choose.c reader.c */
	const volatile int *flag; /* call() is called while it is not 0 */
	bool (*call)(void *arg, uint64_t ns);
	void *arg;
};

/* Where records come from. */
struct xvt_reader_fetch {
	/* written by fetch.c */
	struct xvt_cursor cursor;
	struct xvt_reclock *reclock; /* with XVTRACE_RECLOCK, used instead of the cursor */
	struct xvt_ahead *by_thread; /* used instead of both; NULL: the reader fetches alone */
	const uint64_t *bound_ns;    /* of the reclock's last event; NULL: not wanted */
	struct xvt_bounds *bounds;   /* with XVTRACE_BOUND */
	uint64_t to_ns;		     /* the range of the records that are fetched */
	/* private to fetch.c */
	uint64_t from_ns;
	struct xvtrace_background *background; /* NULL: there is none */
	unsigned int slot;		       /* of it */
};

/* Of several traces: a reader of each, and one of the whole, whose choices the others use. */
struct xvt_reader_several {
	/* written by reader.c */
	struct xvtrace_reader **members;
	size_t count;
	struct xvtrace_reader *whole;	/* of a member, else NULL */
	struct xvtrace_reader *current; /* of the whole: the one that has the last event */
	bool stopped;			/* of the whole: watch.call() has ended the reading */
	/* written by split.c */
	struct xvtrace *part_of; /* of a part: the trace of which `trace` is a copy */
};

/* What is counted on the way. */
struct xvt_reader_count {
	/* written by reader.c */
	struct xvt_counted *rings;   /* with XVTRACE_COUNTS: by ring; the last: unknown rings */
	struct xvt_lib_tally *tally; /* by machine */
	uint64_t lost_hidden;
	/* written by found.c reader.c */
	struct xvt_bounds *bounds; /* for xvtrace_reader_counts() */
	/* private to found.c */
	struct xvtrace_counts shown; /* of the last one */
};

/* What is given among the records of the file. */
struct xvt_reader_made {
	/* written by reader.c */
	struct xvt_states states; /* with XVTRACE_STATES, else there are none */
	/* private to reader.c */
	struct xvt_gaps gaps;	/* with XVTRACE_GAPS */
	struct xvt_event ahead; /* the event behind the states that are given first */
	bool has_ahead;
	bool main_done; /* there are no more events */
};

/* What was made for the caller, up to the next call. */
struct xvt_reader_shown {
	/* written by reader.c */
	struct xvt_out *text; /* of the last xvtrace_event_text() */
	/* written by describe.c reader.c */
	char *format; /* of the last xvtrace_type_format() */
	/* private to describe.c */
	struct xvtrace_task task; /* of the last xvtrace_reader_task_of() */
};

struct xvtrace_reader {
	struct xvtrace *trace;
	struct xvt_reader_choice choice;
	struct xvt_reader_watch watch;
	struct xvt_reader_fetch fetch;
	struct xvt_reader_several several;
	struct xvt_reader_count count;
	struct xvt_reader_made made;
	struct xvt_reader_shown shown;
	/* reader.c; holes.c also sets `last` */
	struct xvt_lib_event event; /* the last one */
	struct xvt_decoders ds;
	struct xvt_lib_source *sources; /* by ring; the last: unknown rings */
	uint64_t walks;			/* of the trace, when they were made */
	bool begun;
	bool is_plain;	/* begun, and nothing but types decides which events are wanted */
	bool picky;	/* not all events of all rings are wanted */
	bool learns;	/* records say something that is needed whether they are wanted or not */
	int last;	/* what xvtrace_next() returned: an end and an error are final */
	bool read_all;	/* read to the end of the range */
	uint64_t given; /* events so far */
	struct xvt_lib_type *types;
	unsigned int type_count;
};

/* -- choose.c -- */

void xvt_choice_init(struct xvtrace_reader *r);
/* Give a part the choices of the reader: copies, because they also hold what matched them so far.
 * Returns 0 or -errno. */
int xvt_choice_copy(struct xvtrace_reader *to, const struct xvtrace_reader *r);
void xvt_choice_free(struct xvt_reader_choice *c);
/* Returns whether a range by the wall clock was chosen. */
static inline bool xvt_reader_by_wall(const struct xvtrace_reader *r)
{
	return r->choice.wall_from_ns || r->choice.wall_to_ns != UINT64_MAX;
}

/* -- fetch.c -- */

/* Make what fetches the records. Returns 0 or -errno. */
int xvt_reader_fetch_prepare(struct xvtrace_reader *r);
/* Go to the first record of the chosen range that is not before ns. from_ns: the begin of the
 * range, host ns. Returns 0 or -errno. */
int xvt_reader_fetch_from(struct xvtrace_reader *r, uint64_t ns, uint64_t *from_ns);
/* The thread gave no further record for which it can answer: go on alone behind those. Returns as
 * xvt_reader_fetch(). */
int xvt_reader_go_on_alone(struct xvtrace_reader *r, struct xvt_event *ev);
/* m is a member of r: its thread is that slot of r's background. */
void xvt_reader_fetch_share(struct xvtrace_reader *m, const struct xvtrace_reader *r,
			    unsigned int slot);
void xvt_reader_fetch_fini(struct xvtrace_reader *r);

static inline int xvt_reader_fetch_alone(struct xvtrace_reader *r, struct xvt_event *ev)
{
	return r->fetch.reclock ? xvt_reclock_next(r->fetch.reclock, ev)
				: xvt_cursor_next(&r->fetch.cursor, ev);
}

/* Fetch the next record of the range. Returns 1, 0 at its end, or -errno. */
static inline int xvt_reader_fetch(struct xvtrace_reader *r, struct xvt_event *ev)
{
	int got;

	if (!r->fetch.by_thread)
		return xvt_reader_fetch_alone(r, ev);
	got = xvt_ahead_next(r->fetch.by_thread, ev);
	return xvt_unlikely(got < 0) ? xvt_reader_go_on_alone(r, ev) : got;
}

/* -- reader.c -- */

/* Begin to read, as the first xvtrace_next() does. Returns 0 or -errno, which then is final. */
int xvt_reader_begin(struct xvtrace_reader *r);
/* Make the reader's type of a class that has none. NULL: out of memory. */
struct xvt_lib_type *xvt_lib_type_new(struct xvtrace_reader *r, struct xvt_event_class *c);

static inline const struct xvt_lib_event *xvt_lib_event(const struct xvtrace_event *event)
{
	return (const struct xvt_lib_event *)event;
}

#endif /* XVT_LIB_PARTS_H */
