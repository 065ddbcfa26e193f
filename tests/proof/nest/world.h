/* SPDX-License-Identifier: GPL-2.0 */
/*
 * world.h - one ring, its clock, its host, and what really happened to each event, kept apart
 * from the ring. A nested context runs to completion before the one it interrupted goes on, so
 * a plain call from the hook models it exactly: no threads, no signals.
 */
#ifndef NEST_WORLD_H
#define NEST_WORLD_H

#include "explore.h"
#include "site.h"
#include "xvt_reader.h"

#define WORLD_DATA_MAX	  4096u
#define WORLD_EVENTS_MAX  32u
#define WORLD_PAYLOAD_MAX 256u
#define WORLD_DEPTH_MAX	  4u /* task, softirq, hardirq, NMI */
#define WORLD_CLOCKS_MAX  8u /* spans between two jumps of the clock */

/* What is enumerated. */
struct nest_config {
	const char *name;
	const char *what;
	/* Events of the task, one after the other; those before `first` run undisturbed. */
	uint32_t outer;
	uint32_t first;
	/* Interrupts: how many events in all, and how deep below the task. */
	uint32_t nested;
	uint32_t depth;
	/* How often each of the others may happen in one schedule. */
	uint32_t discards;
	uint32_t epochs;
	uint32_t backs;
	uint32_t delays;
	int32_t jump;	   /* of the clock, in an epoch or back; odd: never onto an old time */
	uint32_t delay;	   /* how long a delay is; 0 = what the low bits can say */
	uint32_t consumes; /* half steps: take, move cons */
	uint32_t switches; /* recording off and on */
	uint32_t wrecks;   /* of ctl->resv, */
	uint32_t wreck;	   /* so many bytes before the end of its sub-buffer */
	uint32_t copies;   /* of the overwrite reader: look, each chunk, look again */
	/* The ring. */
	uint32_t subbuf_size;
	uint32_t subbuf_count;
	uint32_t payload[WORLD_DEPTH_MAX]; /* bytes, by depth */
	uint32_t ts_bits;
	bool overwrite;
	bool taken;	      /* the host has taken the first events, and has not moved cons */
	uint32_t coarse;      /* clock reads to a tick; 0 = each read ticks */
	uint32_t copy_chunks; /* the overwrite reader's copy is so many steps; 0 = each word */
	uint32_t slots;	      /* the task's records in a sub-buffer: a check of the table */
	const char *lists;    /* to which it belongs: short, proof */
	uint64_t least;	      /* schedules: it must not get smaller unseen */
};

enum event_state {
	EV_RUNNING = 0,
	EV_RESERVED,
	EV_COMMITTING, /* xvt_commit() was called */
	EV_DONE,       /* and DONE is stored */
	EV_DISCARDING,
	EV_DISCARDED,
	EV_LOST,
	EV_OFF, /* recording was off: it did not happen */
};

struct event {
	uint8_t number;
	uint8_t depth;
	uint8_t state; /* enum event_state */
	uint8_t clock_reads;
	uint8_t disturbed; /* events that completed inside its reserve, and jumps */
	uint8_t span;	   /* of the clock, at its last clock read */
	uint8_t entry_span, exit_span;
	uint8_t points; /* passed in xvt_commit() */
	bool delivered; /* to the host, once */
	bool saw_off;	/* recording was off for a moment of it */
	bool skipped;	/* by an overtaken host, knowingly */
	uint32_t epoch;
	uint32_t entry_epoch, exit_epoch;
	uint32_t lost_before; /* attempts and losses that were counted when it began */
	uint32_t attempted_before;
	uint64_t entry; /* clock before reserve and after */
	uint64_t exit;
	uint64_t ts; /* the last clock value that it was given */
	uint64_t cons_before, commit_before;
	uint64_t pos, end;
};

/* A look of the host at nest, resv and commit that is under way. */
struct attempt {
	uint64_t clock; /* the host's, before the first load */
	uint64_t resv, commit;
	uint8_t stage; /* loads done */
	uint8_t span;
};

#define ATTEMPTS_MAX 64u

/* The overwriting ring's reader, between two of its steps. */
struct copier {
	uint64_t piece; /* position and length of what it copies; 0 = nothing */
	uint32_t len;
	uint32_t copied;
	uint64_t words[WORLD_DATA_MAX / 8];
};

struct world {
	struct xvt_ring_ctl ctl;
	struct xvt_ring_host host;
	uint64_t private[32]; /* writer.c's struct xvt_writer */
	uint64_t clock;
	uint32_t span;	/* of the clock: jumps so far */
	uint32_t reads; /* of a coarse clock */
	uint32_t points;
	uint32_t deepest; /* context that was reached */
	uint32_t depth;	  /* contexts that are inside the writer */
	uint32_t event_count;
	uint32_t lost, discarded, off;
	/* What is left of the budgets, and of all together. */
	uint32_t nested, discards, epochs, backs, delays, consumes, copies, switches, wrecks;
	uint32_t left;
	bool quiet;   /* no hook */
	bool wrecked; /* by a wrong position: of the rules only N15 holds, and that a run ends */
	bool touched; /* the last access may have changed something that the oracle looks at */
	bool dirty;   /* and it may be a record */
	struct event *current[WORLD_DEPTH_MAX + 1];

	/* What the oracle saw last, to look again only when something changed. */
	struct {
		uint64_t resv, commit, clock, cons, stamp;
		uint32_t nest;
	} seen;
	struct xvt_reader committed; /* the oracle's, at commit */
	uint64_t committed_ts;	     /* time and span of the last record below commit */
	uint32_t committed_span;
	struct xvt_subbuf_hdr last_hdr;

	/* The host. */
	struct xvt_reader reader;
	uint64_t clear_pos;
	uint64_t take_to;  /* it takes up to here, */
	bool off_and_idle; /* it could see that nothing follows until it switches on */
	bool cons_behind;  /* and has made the first of the two steps */
	uint64_t bound[WORLD_CLOCKS_MAX]; /* N13: proven, in each span of the clock */
	uint32_t attempt_count;

	/* From here on only what is in use is copied when a schedule begins. */
	struct event event[WORLD_EVENTS_MAX];
	struct attempt attempt[ATTEMPTS_MAX];
	struct copier copier;
	uint64_t data[WORLD_DATA_MAX / 8 + 64]; /* the end stays 0, or a record is too long */
};

extern struct world world;
extern struct xvt_geometry world_geometry;
extern const struct nest_config *world_config;
extern uint64_t world_start; /* the ring's first position */

/* Choose a configuration; then every ex_run is one schedule of it. */
void world_use(const struct nest_config *config);
void world_run(void);
/* How many schedules of this configuration went how deep. */
extern uint64_t world_depths[WORLD_DEPTH_MAX];

/* The contexts by their depth. */
const char *world_context(uint32_t depth);

static inline uint8_t *world_data(uint64_t pos)
{
	return (uint8_t *)world.data + xvt_pos_off(&world_geometry, pos);
}

/* writer.c: the code under test. One event from entry to end, in the running context. */
void writer_init(const struct xvt_geometry *g, uint64_t start);
void writer_event(struct event *ev);
uint64_t writer_position(void); /* ctl->resv as a position */
void writer_wreck(void);	/* of config->wreck */
bool writer_crossed(void);	/* a sub-buffer was opened, and need_wake not looked at since */
extern const char *const writer_backend;
extern const bool writer_xadd;

/* What writer.c calls: the clock, and the point before the payload. Discard it? */
uint64_t world_clock(void *arg);
bool world_payload_point(struct event *ev);

/* An event's payload, as long as it may be: each word looks like a finished record,
 * of this lap or of the next. */
void world_payload(const struct event *ev, uint64_t words[WORLD_PAYLOAD_MAX / 8]);

/* words.c: the order in which xvt_ring_words() loads the words of the idle rule. */
enum words_load { LOAD_NEST, LOAD_RESV, LOAD_COMMIT, LOADS };
extern enum words_load words_order[LOADS];
void words_find_order(void);

/* Mutants of the host. */
enum host_mutant {
	HOST_HONEST,
	HOST_NEST_ALONE,  /* believes nest == 0 alone */
	HOST_NO_CLEAR,	  /* does not clear what it has taken */
	HOST_CONS_FIRST,  /* moves cons before it takes */
	HOST_NO_RECHECK,  /* believes each copy of an overwriting ring */
	HOST_TAKES_TWICE, /* does not remember what it has taken */
	HOST_MUTANTS,
};
extern const char *const host_mutant_names[HOST_MUTANTS];
extern enum host_mutant host_mutant;

/* host.c: the honest host, or a mutant of it. */
void host_step(void);	   /* ACT_CONSUME */
void host_copy_step(void); /* ACT_COPY */
void host_switch(void);	   /* ACT_SWITCH */
void host_finish(void);	   /* at the end: everything that is left */
void host_watch(void);	   /* N13: all looks that are possible at this point */

/* oracle.c */
extern bool oracle_no_crash; /* do not ask what a crash would leave: then other rules come first */
void oracle_reset(void);
void oracle_look(void);			     /* at every point */
void oracle_store(const void *addr);	     /* before a word goes there */
void oracle_reserved(struct event *ev);	     /* xvt_reserve() returned 0 */
void oracle_lost(struct event *ev, int err); /* or not */
void oracle_idle(void);			     /* no context is inside */
void oracle_end(void);			     /* of the schedule */
/* Check a record that a reader found; last_ts and last_span carry the order. */
void oracle_record(const struct xvt_record *rec, bool same, bool salvage, uint64_t *last_ts,
		   uint32_t *last_span);
/* Does the record say SAME, "the time of the record before"? */
bool oracle_is_same(const struct xvt_reader *r, const struct xvt_record *rec);
void oracle_fault(const struct xvt_reader *r, const char *whose);

#endif /* NEST_WORLD_H */
