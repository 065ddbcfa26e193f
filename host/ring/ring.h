/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - one ring on the host's side: copied pieces that wait, the next record, its place on the
 * host's time line, the ring's clock and its sums. drain.c fills a ring, merge/merge.c empties it.
 * All of this is private memory; positions and geometry are the host's own.
 */
#ifndef XVT_RING_HOST_SIDE_H
#define XVT_RING_HOST_SIDE_H

#include "clock/exact.h"
#include "clock/page.h"
#include "clock/rate.h"
#include "clock/source.h"
#include "base/loop.h"
#include "base/pool.h"
#include "base/region.h"
#include "ring/run.h"
#include "xvt_reader.h"

struct xvt_ring;

/* Payload of XVT_ID_LOST in a ring that the recorder itself writes, or of `lost` alone. */
struct xvt_own_lost {
	struct xvt_lost lost;
	uint64_t another_clock; /* from this record on its stamps are those of another clock */
};

/*
 * A rollback: the region's memory was replaced by an older copy of itself (loadvm, migration). The
 * copy holds records that were delivered before the rollback was noticed, and a newer copy may
 * follow. A record after a rollback is therefore delivered only if something proves that it is new.
 */
struct xvt_past {
	uint64_t skip_until;   /* records below it were delivered already */
	uint64_t proven_until; /* records below it are new: the ring was idle when copied */
	uint64_t counted_from; /* the restored counters include all records below it */
	uint64_t seen_until;   /* and none above this, the commit when it was noticed */
	uint64_t newest;       /* guest clock: largest stamp delivered before */
	uint32_t epoch;	       /* requested when it was noticed: its records are new */
	uint64_t reported_lost[XVT_LOST_CAUSES];
};

/* A private copy of part of one sub-buffer. */
struct xvt_piece {
	struct xvt_op op;
	struct xvt_piece *next;
	struct xvt_ring *ring;
	uint64_t pos;
	uint32_t len;
	int res;		/* result of the read */
	uint64_t ceiling_clock; /* host clock after commit was loaded: upper bound of its records */
	uint64_t ceiling_ns;
	uint64_t floor_ns;    /* proven idle then: lower bound of its records; or 0 */
	bool salvage;	      /* beyond commit, of a writer that is gone */
	bool after_skip;      /* positions were skipped before it */
	bool after_roll_back; /* the region was rolled back before it, */
	struct xvt_past past; /* as this says */
	uint8_t *bytes;
};

/*
 * The phase of a ring. xvt_ring_set_phase() alone changes it, and allows these transitions:
 *
 *        its first node              its writer ended
 *   NEW ---------------> LIVE <--------------------------> DONE
 *    |                   |  ^       its writer is back
 *    |   silent or stuck |  | answers, or leaves its event
 *    |                   v  |
 *    '------------------> ASIDE
 *     a snapshot cannot
 *     measure its clock              each of them ----> BROKEN
 */
enum xvt_ring_phase {
	XVT_PHASE_NEW,	  /* no clock yet; `enable` is not set by this recorder */
	XVT_PHASE_LIVE,	  /* mapped and recording */
	XVT_PHASE_ASIDE,  /* silent too long: the merge does not wait for it; it may return */
	XVT_PHASE_DONE,	  /* the writer ended in order, or the trace ends: no record follows */
	XVT_PHASE_BROKEN, /* invalid control words, or its machine is gone: it is not read again */
};

/* The epoch word was set to `epoch` after before_ns, and every CPU had it by after_ns. */
struct xvt_epoch_bump {
	uint32_t epoch;
	uint64_t before_ns;
	uint64_t after_ns;
};

#define XVT_EXACT_SOURCES 2
#define XVT_TAIL_WORDS	  8

/* The last answer of an exact source for the ring's vCPU. */
struct xvt_exact_reading {
	struct xvt_clock_formula formula;
	uint64_t clock; /* the host's, before which it answered so; no other answer came since */
	bool read;	/* false: the source did not know */
	bool contradicted;
	struct xvt_clock_formula contradicting; /* the answer that was contradicted */
};

#define XVT_BUMPS 4 /* kept: records wait for seconds at most */

/*
 * The parts of a ring. Each part belongs to one module, and the comment above it names the files
 * that write it. Fields below "private to" are used by that file alone (tests/check-layers.sh). The
 * part's hot fields come first.
 */

/* Placed runs that wait for the merge, in the ring's order. Written by run.c; `gathered` by
 * merge/merge.c. */
struct xvt_ring_runs {
	struct xvt_run *first; /* the last run may lie in the first piece */
	struct xvt_run *last;
	struct xvt_run *gathered; /* the first one that is not wholly in the window */
	/* private to run.c */
	struct xvt_clock_segment segment; /* of the newest run */
};

/* The head: the next record to go out. Written by place.c, `last_*` by run.c as well. */
struct xvt_ring_head {
	bool have;   /* decode.rec is valid */
	bool placed; /* `ns` and `flags` are valid */
	uint32_t flags;
	uint64_t ns;
	struct xvt_written written;
	uint64_t last_guest; /* of the last record placed */
	uint64_t last_ns;
	/* private to place.c */
	bool next_epoch; /* the head belongs to the next clock epoch */
	/* Own ring: its stamps went back from there, and no epoch has begun; 0: they did not. */
	uint64_t back_guest;
};

/* From pieces to records. Written by decode.c; run.c moves the reader over plain records; ring.c
 * and snapshot.c set the begin. */
struct xvt_ring_decode {
	struct xvt_record rec; /* the head */
	bool stashed;	       /* `stash` follows the head */
	bool is_lost;	       /* the head is a LOST record, with `lost` */
	bool in_past;	       /* `past` holds */
	bool epoch_known;      /* no full stamp is missing before the head */
	/* An earlier recorder had the ring and died, and no record was decoded yet: events that it
	 * took are in no file. */
	bool unaccounted_before;
	uint64_t since_subbuf; /* records decoded since `seen` */
	uint64_t newest;       /* guest clock: the largest stamp of all records so far */
	uint64_t skip_until;   /* records below it were delivered by an earlier recorder */
	struct xvt_reader reader;
	struct xvt_lost lost;
	struct xvt_subbuf_hdr seen; /* header of the sub-buffer before: losses are the difference */
	bool seen_valid;
	uint64_t gap_bad_bytes; /* for the next LOST record */
	uint64_t unaccounted;	/* number of such events before the next record */
	uint64_t unfinished;	/* records that salvage found without DONE */
	/* A sub-buffer header was decoded, and no run was made of the records behind it yet. run.c
	 * takes it. */
	bool opened;
	struct xvt_subbuf_head opened_head;
	bool another_clock; /* own ring: the head is of another clock than the record before */
	/* private to decode.c */
	bool gap_skipped; /* for the next LOST record: the counters say how many are overwritten */
	bool gap_rolled_back;
	bool row_ends; /* the next sub-buffer header is the first of a row: XVT_HEAD_F_FIRST */
	bool unaccounted_opened; /* a sub-buffer header was decoded, and no record after it */
	bool unaccounted_known;	 /* `unaccounted` holds */
	struct xvt_record stash;
	struct xvt_past past; /* of the present piece */
};

/* Words that the host writes in the region. Written by ring.c; `enable` and `hint_seq` by
 * session/. */
struct xvt_ring_host_words {
	uint32_t nr_bumps;
	uint32_t epoch;	   /* the last one requested of the writer; the region holds a copy */
	uint32_t enable;   /* value for the region's word */
	uint64_t hint_seq; /* of the clock hint; the region holds a copy */
	struct xvt_epoch_bump bumps[XVT_BUMPS];
};

/* From the region to pieces. Written by drain.c; ring.c and snapshot.c set the begin; decode.c
 * takes pieces from `first`. */
struct xvt_ring_drain {
	struct xvt_piece *first, *tail;
	uint64_t read_pos;	 /* copied up to here */
	uint32_t generation;	 /* of read_pos */
	uint32_t entered;	 /* the last one whose positions were seen initialised */
	unsigned int reads;	 /* in flight */
	bool idle;		 /* proven, at idle_clock */
	bool unread;		 /* the newest look ended before it saw what is new */
	bool went_back;		 /* the newest look found a rollback: xvt_drain_resync() is due */
	bool skipped;		 /* positions were skipped: the next piece says so */
	uint64_t idle_clock;	 /* all records stamped before this host clock are copied */
	uint64_t floor_clock;	 /* newest idle_clock that no later look undid; 0: none */
	uint64_t passed_clock;	 /* only records in flight now can be older than that */
	uint64_t look_clock;	 /* proof_clock of the newest look */
	uint64_t proven_node_ns; /* of the last node before the last proof of idleness */
	uint64_t changed_clock;	 /* when resv or nest last changed: shows a stuck writer */
	uint64_t taken;		 /* bytes, in the newest look */
	struct xvt_ring_words last; /* words of the newest look */
	uint64_t clear_pos;	    /* stop mode: cleared up to here, the start of a sub-buffer */
	uint64_t held_pos;	    /* older bytes are not needed in the region */
	uint64_t found_pos;	    /* end of what was in the ring when the recorder began, */
	uint64_t found_clock;	    /* and a host clock by which all of that was written */
	uint64_t left_behind;	    /* writers that died inside an event, counted at a generation's
				     * end */
	struct xvt_past restored;   /* for the next piece, if rolled_back */
	/* private to drain.c */
	bool rolled_back;      /* the region was rolled back: the next piece says so */
	bool read_failed;      /* the newest read of its file failed */
	bool bad_words;	       /* the newest look found invalid words */
	bool back_while_still; /* a rollback was found since the machine was paused */
	uint32_t nr_before;
	struct xvt_piece *kept; /* the last one before the newest look, until xvt_drain_take() */
	uint64_t passed_before; /* passed_clock before the newest look */
	uint64_t proven_node_before;
	uint64_t before[XVT_TAIL_WORDS];   /* the words before read_pos when it was copied */
	struct xvt_ring_words last_before; /* of the look before the newest one */
	struct xvt_ring_settled settled;   /* as written to the region last */
};

/* The findings of session/ about the guest. Written by session/; ring/ only reads it. */
struct xvt_ring_guest {
	bool still;	    /* the VMM reports that the machine is paused */
	bool unseen;	    /* not looked at, because its memory is being restored */
	bool barred;	    /* the machine is barred: the merge does not wait for it */
	bool loose;	    /* placed records are emitted in the loose lane, see merge/merge.h */
	bool quiet;	    /* paused or silent: no answer will confirm records that wait */
	bool wide;	    /* the guest answers, but no answer has confirmed them for long */
	bool patience_over; /* records waited long: any inferred node may place them */
	bool behind;	    /* own ring: the kernel may have older events than its newest */
};

/* Progress of the search for the newest record that waits: no record is looked at twice. Written
 * by place.c. */
struct xvt_ring_scan {
	bool begun; /* for the present head */
	bool ended; /* the next record is of another epoch */
	struct xvt_reader reader;
	const struct xvt_piece *piece; /* the reader's */
	struct xvt_record newest;
	const struct xvt_piece *found; /* the piece that holds `newest` */
	uint64_t looked_at;	       /* records in all */
};

/* State of the placing of records. Written by session/clocks.c and session/exact.c, which measure;
 * place.c adds an inferred node and asks for a measurement (next_burst_clock = 0). */
struct xvt_ring_clock {
	struct xvt_clock_map map;
	struct xvt_clock_rate rate;
	uint32_t step_said;  /* by the writer: clock_step of the ring's control block */
	uint64_t trusted_ns; /* earlier times are by a rate, or a step, that was none */
	bool rate_open;	     /* no rate is known yet: the map has what the guest claims */
	uint64_t next_burst_clock;
	uint64_t rest_ns;	    /* between two measurements while nothing waits, see pace.c */
	uint64_t rest_commit;	    /* commit when it was last measured */
	uint64_t last_node_clock;   /* host clock after the last node's moment */
	uint64_t node_before_clock; /* last_node_clock of the node before it */
	bool inferred_new;	    /* `inferred` is not used yet */
	bool exact_holds;	    /* the ring is quiet, and the source reports no change */
	uint32_t exact_used;	    /* source of `exact`; 0: none yet */
	struct xvt_clock_formula exact; /* of the last exact node that a burst gave */
	struct xvt_clock_node inferred; /* from records that wait, while quiet */
};

/* Sums that trace files account for, up to a moment. struct xvt_ring_host holds the same words. */
struct xvt_ring_sums {
	uint64_t delivered;
	uint64_t discarded;
	uint64_t lost[XVT_LOST_CAUSES];
	uint64_t overwritten;
};

/* Sums. Written by account.c; ring.c sets the base; run.c counts events, decode.c bad bytes and
 * reported losses. */
struct xvt_ring_account {
	struct xvt_ring_stats stats;
	uint64_t base_attempted; /* counters that earlier traces account for */
	uint64_t base_delivered;
	uint64_t base_discarded;
	uint64_t base_lost[XVT_LOST_CAUSES];
	uint64_t base_overwritten;
	uint64_t reported_lost[XVT_LOST_CAUSES]; /* by LOST records, with the base */
	uint32_t roll_backs;
	bool took_over;		   /* unaccounted_before was true once */
	uint64_t unaccounted_most; /* written before the attach; 0 if not took_over */
	struct xvt_ring_sums due;  /* for the region, when the staged checkpoint is in the file */
	/* private to account.c */
	uint64_t unaccounted_reported; /* by the LOST record, once it is in the trace */
	uint64_t overwritten_reported; /* by all LOST records in the trace */
	uint64_t laps_reported;	       /* of them, overwritten while this recorder was attached */
	uint64_t lost_reported[XVT_LOST_CAUSES]; /* dropped by the guest, reported likewise */
	struct xvt_ring_stats files_before;	 /* sums of the files of the set before this one */
	uint64_t unaccounted_before;		 /* unaccounted_reported at their end */
};

/* The part of a ring that a snapshot takes: from a sub-buffer to the moment of the snapshot.
 * Written by snapshot.c and session/snapshot.c; drain.c notes a hole. */
struct xvt_ring_snapshot {
	bool on;
	bool frozen;	     /* without a clock: records after `look` may be later than the cut */
	bool begun;	     /* a look at or after the cut was taken */
	uint64_t until;	     /* the commit at that look: copied first */
	uint64_t tried;	     /* read_pos at the last attempt to copy up to `until` */
	bool hole;	     /* the writer overwrote a part before it was copied */
	bool whole;	     /* the whole part is copied */
	uint64_t look_clock; /* host clock just before the cut, */
	struct xvt_ring_words look; /* and the words then */
	uint64_t found_pos;	    /* what lies before it was written by */
	uint64_t found_clock;	    /* this host clock, before any measurement; 0: unknown */
	uint64_t base_attempted;    /* counters as the first sub-buffer's header has them */
	uint64_t base_discarded;
	uint64_t base_lost[XVT_LOST_CAUSES];
	struct xvt_lost reported; /* sums of the LOST records in the trace */
};

/* Why a ring is BROKEN, or its last unreadable sub-buffer. Written by drain.c, decode.c and
 * phase.c; session/phase.c reports it. */
struct xvt_ring_fault {
	char text[160];
	bool is_new;
	const char *what; /* NULL: a sub-buffer is dropped, or the ring is BROKEN */
};

/* How the guest's clock is measured. Written by session/clocks.c, exact.c and page.c; ring/ only
 * closes the source and the pages. */
struct xvt_ring_measure {
	const struct xvt_clock_source_ops *source_ops;
	struct xvt_clock_source *source;
	uint64_t burst_clock;	 /* begin of the last burst */
	uint64_t answer_clock;	 /* when the guest last answered, or was first asked since then */
	bool answered;		 /* no request is without an answer */
	bool asked;		 /* the clock is being measured */
	bool quiet_reported;	 /* guest.quiet, to the user */
	bool inferred_put;	 /* clock.inferred is in the trace */
	uint64_t wide_clock;	 /* since then measurements gave wide nodes only; or 0 */
	uint64_t inferred_clock; /* when the last inferred node was written */
	uint32_t exact_epoch;	 /* of clock.exact */
	bool exact_doubt;	 /* a burst contradicted it, and none agreed since */
	struct xvt_exact_reading formula[XVT_EXACT_SOURCES];
	struct xvt_clock_pages pages; /* opened with the source */
};

/* The mark that the writer was last asked for. Written by session/marks.c. */
struct xvt_ring_mark {
	struct xvt_mark_seen last;
	bool open; /* not acknowledged yet */
	bool seen; /* acknowledged, but not in the trace yet */
	uint64_t next_clock;
	uint64_t pace; /* ticks between two marks; 0: the usual */
};

/* Events and losses of one second of the session. */
struct xvt_ring_rate {
	uint64_t second;
	uint64_t events;
	uint64_t lost;
};

/* For `xvtrace status`. Written by session/status.c. */
struct xvt_ring_status {
	struct xvt_ring_rate rate;
	struct xvt_ring_rate rate_before;
	uint64_t lag_second; /* second of the session for which lag_ns holds */
	uint64_t lag_ns;     /* the ring held other rings back by that */
};

/* The PANIC record that went into a run last, and was the first of its generation. The record
 * begins the run. Written by ring/run.c. */
struct xvt_ring_panic {
	bool any;
	uint32_t generation;
	uint32_t len;
	char text[XVT_PANIC_TEXT]; /* the guest's */
};

/* Notes of a session on a ring. Written by session/; ring/ does not use it. */
struct xvt_ring_session {
	uint32_t slot; /* place in the session's list of rings */
	bool drops_wait;
	bool writes;		 /* an event of it went out: its machine's space.writes is set */
	uint64_t newest_ns;	 /* host time of the newest record, emitted or dropped; these three
				  * are used for each run of a window */
	uint64_t looked_at;	 /* number of the session's look that drain.taken is of */
	uint64_t live_ns;	 /* when its phase last became LIVE, */
	uint64_t live_attempted; /* and how many events it had attempted */
	uint64_t look_pos;	 /* end of the newest run of which a look was noted */
	uint32_t look_at;  /* place of its newest look among those not written, if it is there */
	uint64_t head_pos; /* of the newest head of a sub-buffer that was noted */
	bool head_any;	   /* a head was noted, in this file */
	bool head_waits;   /* newest_head was not */
	struct xvt_subbuf_head newest_head;
	uint64_t aside_clock;	      /* when its phase last became ASIDE */
	uint64_t still_clock;	      /* when guest.still was reported */
	bool announced;		      /* the RING chunk is in the file, with reported_info */
	bool info_waits;	      /* next_info is to be written */
	uint64_t drops_clock;	      /* guest clock of the newest dropped record */
	struct xvt_lost drops;	      /* neither in the trace nor in `stats` yet, if drops_wait */
	uint64_t reported_info_clock; /* when reported_info was written */
	struct xvt_ring_info reported_info;
	struct xvt_ring_info next_info;
	struct xvt_ring_stats reported_stats; /* as in the file */
};

/* Types of ftrace events that are counted: a kernel has some thousands, and gives them the smallest
 * numbers. A guest's memory is not for the guest to choose. */
#define XVT_TYPES 8192u

/*
 * A ring. What decoding and placing a run of records touches comes first, then what a look at an
 * idle ring touches, then the rest.
 */
struct xvt_ring {
	/* Identity: set when the ring is made. `phase` is changed by xvt_ring_set_phase() alone. */
	uint32_t id; /* in the trace */
	uint32_t vm;
	uint32_t index; /* in the region */
	enum xvt_ring_phase phase;
	uint32_t mode; /* enum xvt_enable to ask for */
	bool salvage;  /* there is no writer: read beyond commit, change nothing */
	bool by_read;  /* data is read from the file by the loop, not copied from the mapping */
	/* The recorder itself writes it, from what the host's kernel traces: stamps are the host's
	 * clock, and the writer may put LOST records. */
	bool own;
	/* An own ring that is filled from pages which a program in the guest relays: stamps are the
	 * guest's clock, and older than what the drain sees. */
	bool relayed;
	struct xvt_host_region *region;
	struct xvt_ring_ctl *ctl;
	struct xvt_ring_host *host;
	/* Where the ring's writer is asked for its clock, and told it: the same words, but those of
	 * the guest's own ring where `relayed`. */
	struct xvt_ring_ctl *mail_ctl;
	struct xvt_ring_host *mail_host;
	struct xvt_pool *pool;
	const struct xvt_host_clock *host_clock;
	/* Numbers of ftrace events of each type that went into runs, XVT_TYPES of them, shared by a
	 * machine's rings; NULL: not counted. */
	uint32_t *types;
	struct xvt_ring_runs runs;
	struct xvt_ring_head head;
	uint64_t start_ns; /* attach */
	struct xvt_ring_decode decode;
	struct xvt_ring_host_words words;
	struct xvt_ring_guest guest;
	struct xvt_ring_drain drain;
	struct xvt_ring_clock clock;
	uint64_t margin_most_ns; /* while idle it holds other rings back by at most that */
	struct xvt_ring_account account;
	struct xvt_ring_scan scan;
	struct xvt_ring_snapshot snapshot;
	struct xvt_ring_measure measure;
	struct xvt_ring_mark mark;
	struct xvt_ring_session session;
	struct xvt_ring_status status;
	struct xvt_ring_fault fault;
	struct xvt_ring_panic panic;
};

/* Whether the ring's writer is asked for its clock. An own ring has the host's clock, or a passive
 * guest's, which no writer answers for. */
static inline bool xvt_ring_is_asked(const struct xvt_ring *r)
{
	return !r->own || r->relayed;
}

/* --- ring.c --- */

/*
 * Decides where to start reading. Called once, before anything is drained.
 * r->decode.unaccounted_before: an earlier recorder had this ring and died, so records that it took
 * may be in no file.
 */
void xvt_ring_attach(struct xvt_ring *r);
void xvt_ring_fini(struct xvt_ring *r);
/* No record will come any more. If none waits either, frees all but the counters and the last node.
 */
void xvt_ring_retire(struct xvt_ring *r);

/*
 * Lower bound of the host time of any further record of this ring; UINT64_MAX: the merge does not
 * wait for it. Holds only while the head is not placed.
 */
uint64_t xvt_ring_bound(const struct xvt_ring *r);

/* The same, whatever the ring's phase. */
uint64_t xvt_ring_proven(const struct xvt_ring *r);
/*
 * Greatest error of the map for a record that comes now: the bound of its segments, and the creep
 * of the clock since its last node. At most most_ns: a ring that was silent for a day, or whose
 * guest makes measurements wide, must not hold other rings back by seconds. The record is late
 * then.
 */
static inline uint64_t xvt_ring_margin_ns(uint64_t now_ns, uint64_t node_ns, uint64_t slack_ns,
					  uint64_t most_ns)
{
	uint64_t creep = xvt_clock_creep_ns(now_ns > node_ns ? now_ns - node_ns : 0);

	return creep < most_ns && slack_ns < most_ns - creep ? creep + slack_ns : most_ns;
}
/* What emit() in session/emit.c touches of a ring is fetched into the cache. */
static inline void xvt_ring_will_count(const struct xvt_ring *r)
{
	__builtin_prefetch(&r->session, 1);
	__builtin_prefetch(&r->account.stats.events, 1);
	__builtin_prefetch(&r->account.stats.last_ns, 1);
}

/* Lower bound of records stamped after passed_ns: they are placed later, but for the map's error.
 */
static inline uint64_t xvt_ring_past(uint64_t bound_ns, uint64_t passed_ns, uint64_t margin_ns)
{
	return passed_ns > bound_ns && passed_ns - bound_ns > margin_ns ? passed_ns - margin_ns
									: bound_ns;
}

/*
 * To be called when guest and host time may have come apart. The writer's next record carries a
 * full stamp and a new epoch number, which proves that it was stamped after this call. Records with
 * an older number were stamped before it. The side of a border is known for records in flight, too.
 */
void xvt_ring_bump_epoch(struct xvt_ring *r);
/* The same, because the VMM reports that the machine is paused. */
void xvt_ring_paused(struct xvt_ring *r);
/* The machine was paused from before the last bump until `ns`. */
void xvt_ring_stood_still(struct xvt_ring *r, uint64_t ns);
/* Called once a pass: restores host words that the guest or a rollback has changed. */
void xvt_ring_keep_words(struct xvt_ring *r);
/*
 * The region was rolled back. The counters continue from `from`; the attempts counted so far remain
 * counted. The next piece carries `past`.
 */
void xvt_ring_rebase(struct xvt_ring *r, const struct xvt_ring_settled *from,
		     const struct xvt_past *past);

/* The last clock node that a recorder left in the region, and its rate. Returns false if they are
 * not plausible. */
bool xvt_ring_hint(const struct xvt_ring *r, struct xvt_clock_node *node, uint64_t *hz);

/* The generation that wrote at `pos`; the current one if the table does not say. */
uint32_t xvt_ring_generation_at(const struct xvt_ring *r, uint64_t pos);

/* --- phase.c --- */

/*
 * Changes the phase. Returns 0, or -EINVAL if ring.h does not draw this transition: the phase
 * stays, and r->fault says so. Such a call is an error in xvtrace, whatever the guest does; the
 * tests abort on it. BROKEN may follow BROKEN.
 */
int xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to);
/* Returns the name in `xvtrace status`. */
const char *xvt_ring_phase_name(enum xvt_ring_phase phase);

/* --- decode.c --- */

/* Returns true if no record from here on in this piece was delivered before a rollback. */
bool xvt_ring_only_new(const struct xvt_ring *r);

/* --- place.c --- */

/* As xvt_clock_map_add(). The map keeps the segment of the oldest record that has not gone out. */
int xvt_ring_add_node(struct xvt_ring *r, struct xvt_clock_node *node);

/* Decodes the head, the next record to go out, and places it if possible. Returns false if there is
 * none. r->head.placed: its host time is known. */
bool xvt_ring_peek(struct xvt_ring *r);
/* Guest clock of the newest record that waits in the head's epoch, and the host time before which
 * it was copied. Returns false if none waits. */
bool xvt_ring_newest(struct xvt_ring *r, uint64_t *guest, uint64_t *ceiling_ns);
/* Drops the head. */
void xvt_ring_pop(struct xvt_ring *r);

/* The interval that the drain proves of the time of a record in piece p, apart from the ring's
 * order. */
struct xvt_clock_evidence xvt_ring_evidence(const struct xvt_ring *r, uint32_t epoch,
					    const struct xvt_piece *p);

/* --- run.c --- */

/* Returns true if placed records have not gone out yet. */
static inline bool xvt_ring_ready(const struct xvt_ring *r)
{
	return r->runs.first != NULL;
}

/*
 * Places the next run and appends it to r->runs. xvt_run_put() (merge/put.h) fills in where it is
 * in the trace. Returns NULL if no record can be placed now.
 */
struct xvt_run *xvt_ring_refill(struct xvt_ring *r);
/* n records of the first run have gone out. */
void xvt_ring_emitted(struct xvt_ring *r, uint32_t n);
void xvt_ring_run_fini(struct xvt_ring *r);

/* Counts records [at, end) of a run, which go into the trace with these flags. */
void xvt_run_count(const struct xvt_run *run, uint32_t end, uint32_t ring_flags);

/* --- account.c --- */

/* Losses since the last sub-buffer header, for a LOST record. Returns false if there are none. */
bool xvt_ring_tail_loss(struct xvt_ring *r, struct xvt_lost *lost);

/* Counts a LOST record that goes into the trace. To be called only then: the region must never say
 * that a file reports a loss that no file has. */
void xvt_ring_reported(struct xvt_ring *r, const struct xvt_lost *lost);

/* Updates r->account.stats with the guest's counters of the newest look. */
void xvt_ring_account(struct xvt_ring *r, bool final);
/*
 * Gives the counters of the present file of a set: r->account.stats less what the files before
 * have. At the end of a file that is not the last one, xvt_ring_end_file() gives them: events that
 * wait, and losses that no LOST record has reported, belong to the next file. The region says no
 * more of the losses from there on than the files do; attached: it can be written.
 */
void xvt_ring_file_stats(const struct xvt_ring *r, struct xvt_ring_stats *file);
void xvt_ring_end_file(struct xvt_ring *r, bool attached, struct xvt_ring_stats *file);
/* Number of events that earlier recorders and earlier files of this one have, see struct
 * xvt_ring_info. */
uint64_t xvt_ring_events_before(const struct xvt_ring *r);
/*
 * Sums for the next recorder, in two steps, so that the region never claims what is in no file even
 * if this recorder is killed: `stage` notes what the trace holds now, `commit` writes it into the
 * region once all of that is in the file for good. counters: STATS of the same moment are in the
 * trace; without them only events and the losses in LOST records are staged.
 */
void xvt_ring_stage_account(struct xvt_ring *r, bool counters);
void xvt_ring_commit_account(const struct xvt_ring *r);

/* --- snapshot.c --- */

/*
 * Prepares the cut of a snapshot: finds where the ring's contents begin and notes its counters.
 * From here on the drain only copies, and changes nothing. from_ns: sub-buffers that end before
 * this host time are left out, as far as the ring has a clock; 0: none is. most: of the rest, the
 * newest sub-buffers of so many bytes, but at least one; 0: all. Returns false if the ring is
 * empty.
 */
bool xvt_ring_snapshot_begin(struct xvt_ring *r, uint64_t from_ns, uint64_t most);
/* Counts a LOST record that goes into the trace. */
void xvt_ring_snapshot_reported(struct xvt_ring *r, const struct xvt_lost *lost);
/* Losses up to the cut that no LOST record has reported. */
void xvt_ring_snapshot_tail(const struct xvt_ring *r, struct xvt_lost *lost);
/* Updates r->account.stats with the counters of the part that the snapshot took. */
void xvt_ring_snapshot_account(struct xvt_ring *r);

/* --- drain.c --- */

/*
 * Loads the control words and copies, or queues copies of, new data. proof_clock: a host clock
 * value at least XVT_PROOF_DELTA_NS ago, or 0 for no proof of idleness in this pass.
 */
void xvt_drain_look(struct xvt_ring *r, struct xvt_loop *loop, uint64_t proof_clock);
/* Waits until all reads of the newest look are complete (r->drain.reads == 0). Returns 0, or -errno
 * of a loop that failed: the reads are given up, and the ring is not to be looked at again. */
int xvt_drain_wait(struct xvt_ring *r, struct xvt_loop *loop);
/* When all copies of the pass are complete (r->drain.reads == 0): keeps them. Most of the ring is
 * free for the writer then: cons is advanced if too much is held. */
void xvt_drain_take(struct xvt_ring *r, bool rolled_back);

/*
 * Records that were copied stay in the region, held, until their order is on its way to the trace's
 * file. A recorder that is killed loses little: the next one, or salvage, begins at cons. To be
 * called before bytes with the order of the ring's records go to the file, so that no event is in
 * two traces. all: the ring is not read any more, and what was copied is written without it.
 */
void xvt_drain_release(struct xvt_ring *r, bool all);

/* Stores held_pos in cons, with release: the writer may overwrite what lies before it. */
void xvt_drain_advance_cons(struct xvt_ring *r);

/*
 * Continues after a rollback: a snapshot was restored, a migration's copy was written over the
 * region, or the file was replaced. Records that are provably new are read; what lies before them
 * is counted as overwritten. Called before the look of a pass, if the nonce in the region is not
 * this recorder's or the look before found r->drain.went_back. Returns false if only the host's
 * words were rolled back, and the ring's own words went on.
 */
bool xvt_drain_resync(struct xvt_ring *r);

#define XVT_PROOF_DELTA_NS 1000000u

#endif /* XVT_RING_HOST_SIDE_H */
