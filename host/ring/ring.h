/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - one ring as the host sees it: what has been copied out of the region and waits,
 * decoded one record at a time, placed on the host's time line. drain.c fills it, merge/merge.c
 * empties it. All of this is private memory; positions and geometry are the host's own.
 */
#ifndef XVT_RING_HOST_SIDE_H
#define XVT_RING_HOST_SIDE_H

#include "clock/exact.h"
#include "clock/page.h"
#include "clock/source.h"
#include "base/loop.h"
#include "base/pool.h"
#include "base/region.h"
#include "ring/run.h"
#include "xvt_reader.h"

struct xvt_ring;

/*
 * An older past of the ring, from the moment when we noticed that its memory had become one. What
 * had been delivered by then can be found again, also later: a copy that is written over the
 * region may still be followed by a newer one. So a record of it has to prove that it is new.
 */
struct xvt_past {
	uint64_t skip_until;   /* records below it are not wanted */
	uint64_t proven_until; /* those below it are new: the copy was made of a ring at rest */
	uint64_t counted_from; /* the counters that we go on from hold all records below it, */
	uint64_t seen_until;   /* and none beyond this one, committed when we noticed */
	uint64_t newest;       /* guest clock: no record delivered before is younger */
	uint32_t epoch;	       /* asked for when we noticed: records of it are new */
	uint64_t reported_lost[XVT_LOST_CAUSES];
};

/* A private copy of part of one sub-buffer. */
struct xvt_piece {
	struct xvt_op op;
	struct xvt_piece *next;
	struct xvt_ring *ring;
	uint64_t pos;
	uint32_t len;
	int res;		/* of the read */
	uint64_t ceiling_clock; /* host clock after commit was loaded: no record is younger */
	uint64_t ceiling_ns;
	uint64_t floor_ns;    /* the ring was proven idle then: no record is older; or 0 */
	bool salvage;	      /* past commit of a writer that is gone */
	bool after_skip;      /* positions were skipped before it */
	bool after_roll_back; /* the region's contents were replaced before it: */
	struct xvt_past past; /* by these */
	uint8_t *bytes;
};

/* How far the search for the newest record that waits has come; it is never done twice. */
struct xvt_ring_scan {
	bool begun; /* since the head came */
	bool ended; /* what follows is of another epoch */
	struct xvt_reader reader;
	const struct xvt_piece *piece; /* that the reader is in */
	struct xvt_record newest;
	const struct xvt_piece *found; /* that it lies in */
	uint64_t looked_at;	       /* records, ever */
};

enum xvt_ring_phase {
	XVT_PHASE_NEW,	  /* no clock yet; not recording unless it did so by itself */
	XVT_PHASE_LIVE,	  /* mapped and recording */
	XVT_PHASE_ASIDE,  /* silent too long: holds nobody back, may return */
	XVT_PHASE_DONE,	  /* its owner left in order, or the trace ends: nothing follows */
	XVT_PHASE_BROKEN, /* its control words are nonsense: never read again */
};

/* The epoch word was set to `epoch` after before_ns, and every CPU had it by after_ns. */
struct xvt_epoch_bump {
	uint32_t epoch;
	uint64_t before_ns;
	uint64_t after_ns;
};

/* What trace files account for, up to some moment: struct xvt_ring_host has the same words. */
struct xvt_ring_account {
	uint64_t delivered;
	uint64_t discarded;
	uint64_t lost[XVT_LOST_CAUSES];
	uint64_t overwritten;
};

#define XVT_EXACT_SOURCES 2
#define XVT_TAIL_WORDS	  8

/* What an exact source said of the ring's vCPU when it was last asked. */
struct xvt_exact_reading {
	struct xvt_clock_formula formula;
	uint64_t clock; /* the host's, by which it had said so; and nothing else since then */
	bool read;	/* else it did not know */
	bool contradicted;
	struct xvt_clock_formula contradicting; /* what it said then */
};

/* What a snapshot takes of a ring: from one sub-buffer to one moment. See snapshot.c. */
struct xvt_ring_cut {
	bool on;
	bool frozen;	/* no clock of its own: what follows `look` may be later than the cut */
	bool begun;	/* a look at or after the cut was taken: */
	uint64_t until; /* what was there then. It is copied first. */
	uint64_t tried; /* read_pos at the last turn of that */
	bool hole;	/* the writer came round before a part of it was copied */
	bool whole;	/* all that belongs to it is there */
	uint64_t look_clock; /* just before the cut: */
	struct xvt_ring_snapshot look;
	uint64_t base_attempted; /* counters as the first sub-buffer's header has them */
	uint64_t base_discarded;
	uint64_t base_lost[XVT_LOST_CAUSES];
	struct xvt_lost told; /* sums of the LOST pseudo-events that are in the trace */
};

#define XVT_BUMPS 4 /* the newest are remembered: records wait for seconds at most */

/* What came of it within one second, of those that the session counts. */
struct xvt_ring_rate {
	uint64_t second;
	uint64_t events;
	uint64_t lost;
};

struct xvt_ring {
	uint32_t id; /* in the trace */
	uint32_t vm;
	uint32_t index; /* in the region */
	enum xvt_ring_phase phase;
	struct xvt_host_region *region;
	struct xvt_ring_ctl *ctl;
	struct xvt_ring_host *host;
	struct xvt_pool *pool;
	const struct xvt_host_clock *host_clock;
	uint32_t mode;	     /* enum xvt_enable that we ask for */
	bool salvage;	     /* nobody writes any more: read past commit, change nothing */
	uint32_t epoch;	     /* last one asked of the writer; the region's word is only a copy */
	uint64_t hint_seq;   /* of the clock hint; the region has a copy, likewise */
	uint32_t generation; /* that read_pos belongs to */
	uint32_t entered;    /* last one whose positions were seen to be set up */

	/* Draining. */
	uint64_t read_pos;	       /* copied up to here */
	uint64_t taken;		       /* bytes, by the newest look, */
	uint64_t looked_at;	       /* which was the session's look of this number */
	uint64_t clear_pos;	       /* stop mode: cleared up to here, a sub-buffer's start */
	uint64_t skip_until;	       /* records below it were delivered by an earlier daemon */
	struct xvt_past restored;      /* goes with the next piece, when rolled_back */
	struct xvt_ring_snapshot last; /* newest look */
	struct xvt_ring_snapshot
		last_before; /* the one before: if the newest was at another past */
	enum xvt_ring_phase phase_before;
	uint64_t changed_clock;	 /* when resv or nest last changed: a stuck writer shows */
	uint64_t aside_clock;	 /* when it was last set aside */
	uint64_t idle_clock;	 /* everything stamped before this host clock is copied */
	bool idle;		 /* proven at idle_clock */
	uint64_t passed_clock;	 /* only what is in flight now can be older than that */
	uint64_t look_clock;	 /* proof that the newest look was given */
	bool unseen;		 /* nobody looks at present: its memory is being restored */
	bool unread;		 /* the newest look ended before it had seen what is new */
	bool barred;		 /* no other machine waits for its machine */
	uint64_t margin_most_ns; /* at rest it holds no other ring back by more */
	struct xvt_piece *first, *tail;
	struct xvt_piece *kept; /* the last one before the newest look; only until its take */
	unsigned int reads;	/* under way */
	uint32_t enable;	/* what the region's word shall say */
	bool still;		/* the VMM says that the machine stands still */
	uint64_t still_clock;	/* since when we know that */
	bool back_while_still;	/* and its memory has gone back since */
	struct xvt_ring_settled settled; /* as written last */
	uint64_t before[XVT_TAIL_WORDS]; /* what lay before read_pos when it was copied */
	uint32_t nr_before;
	uint32_t roll_backs;
	bool went_back;	  /* its words did, as the newest look found: xvt_drain_resync() is due */
	bool skipped;	  /* not yet told: goes with the next piece */
	bool rolled_back; /* likewise */

	/* Decoding. */
	struct xvt_reader reader;
	struct xvt_record rec;	 /* next to go out, when have */
	struct xvt_record stash; /* comes after it, when stashed */
	bool stashed;
	bool have;
	bool placed;
	bool is_lost; /* the head is a LOST pseudo-event */
	struct xvt_lost lost;
	uint64_t head_ns;
	uint32_t head_flags;
	uint64_t last_guest; /* of the record placed before */
	uint64_t last_ns;
	bool next_epoch;	    /* the head belongs to the next clock epoch */
	struct xvt_subbuf_hdr seen; /* header of the sub-buffer before, for losses */
	bool seen_valid;
	uint64_t gap_bad_bytes; /* to be told with the next LOST */
	bool gap_skipped;	/* told with it too: how much was overwritten, the counters know */
	bool gap_rolled_back;
	uint64_t since_subbuf;	 /* records decoded since `seen` */
	bool unaccounted_before; /* an earlier recorder died, and nothing of ours was decoded yet:
				  */
	bool unaccounted_opened; /* a sub-buffer header was, and no record behind it; */
	bool unaccounted_known;	 /* how many events there were before the next record: */
	uint64_t unaccounted;	 /* those that no trace file accounts for */
	bool took_over;		 /* it was so once */
	uint64_t unaccounted_reported; /* of them: once the LOST record that says so is in the trace
					*/
	uint64_t unaccounted_most;     /* of them: that were written when we came; 0: not an heir */
	uint64_t overwritten_reported; /* by all LOST records in the trace */
	uint64_t laps_reported;	       /* likewise: overwritten while we were there; */
	uint64_t lost_reported[XVT_LOST_CAUSES]; /* and dropped by the guest, since the base */
	struct xvt_past past; /* that the piece in hand belongs to, when in_past */
	bool in_past;
	uint64_t newest;  /* guest clock: the largest stamp of all records so far */
	bool epoch_known; /* no full stamp is missing before the record in hand */

	/* Placed ahead of time, see run.c. */
	struct xvt_run *runs; /* in the ring's order; the last one may lie in the first piece */
	struct xvt_run *last_run;
	struct xvt_run *gathered; /* the first one that is not all in the window */
	struct xvt_clock_segment segment;

	/* Clock. */
	struct xvt_clock_map map;
	const struct xvt_clock_source_ops *source_ops;
	struct xvt_clock_source *source;
	struct xvt_exact_reading formula[XVT_EXACT_SOURCES];
	struct xvt_clock_formula exact; /* of the last exact node that a burst gave */
	uint32_t exact_used;		/* its source, 0 = none yet */
	uint32_t exact_epoch;		/* and the epoch that it lies in */
	bool exact_doubt;		/* a burst contradicted it, and none agreed since */
	bool exact_holds;		/* quiet, and the source says that nothing has changed */
	struct xvt_clock_pages pages;	/* begun with the source */
	uint64_t next_burst_clock;
	uint64_t burst_clock;	    /* when the last burst was begun */
	uint64_t answer_clock;	    /* when the guest last answered, or was asked since: */
	bool answered;		    /* nothing is asked that it has not answered */
	bool asked;		    /* it is one of those whose clock is being measured */
	uint64_t wide_clock;	    /* since when measurements give wide nodes only, or 0 */
	uint64_t last_node_clock;   /* host clock that the last node's moment lies before */
	uint64_t node_before_clock; /* last_node_clock of the node before it */
	uint64_t proven_node_ns;    /* last node older than the last idle proof */
	bool quiet;		    /* stopped or silent: no answer will confirm what waits */
	bool wide;		    /* it answers, but for long no answer did */
	bool patience_over;	    /* it has waited long: any witness is better than none */
	bool quiet_reported;
	struct xvt_ring_scan scan;
	struct xvt_clock_node inferred; /* made of what waits, when quiet; not yet in the trace */
	bool inferred_new;
	bool inferred_put;	 /* now it is */
	uint64_t inferred_clock; /* when the last one was written */
	struct xvt_epoch_bump bumps[XVT_BUMPS];
	uint32_t nr_bumps;

	/* The mark that the writer was last asked for; see session/marks.c. */
	struct xvt_mark_seen mark;
	bool mark_open; /* not acknowledged yet */
	bool mark_seen; /* acknowledged, and not in the trace yet */
	uint64_t next_mark_clock;
	uint64_t mark_pace; /* ticks between two of them, if that is more than usual */

	uint64_t start_ns;	 /* attach */
	uint64_t live_ns;	 /* when it last came to take part */
	uint64_t base_attempted; /* counters that earlier traces account for */
	uint64_t base_delivered;
	uint64_t base_discarded;
	uint64_t base_lost[XVT_LOST_CAUSES];
	uint64_t base_overwritten;
	struct xvt_ring_account due; /* to be left in the region once the file has so much */
	uint64_t reported_lost[XVT_LOST_CAUSES]; /* what LOST pseudo-events have said, base included
						  */
	struct xvt_ring_cut cut;
	uint64_t unfinished;   /* records that salvage found without DONE */
	uint64_t left_behind;  /* writers that died inside an event, by generation's end */
	struct xvt_lost drops; /* not in the trace yet, when drops_wait; nor in `stats` */
	bool drops_wait;
	uint64_t drops_clock; /* guest clock of the newest of them */
	struct xvt_ring_stats stats;
	struct xvt_ring_stats reported_stats; /* as they stand in the file */
	bool announced;			      /* its RING chunk is there, too: */
	struct xvt_ring_info reported_info;   /* this, */
	uint64_t reported_info_clock;	      /* written then; */
	struct xvt_ring_info next_info;	      /* and this is to follow, when info_waits */
	bool info_waits;

	/* For who asks, see session/status.c. */
	struct xvt_ring_rate rate;
	struct xvt_ring_rate rate_before;
	uint64_t lag_second; /* when it was awake: */
	uint64_t lag_ns;     /* by so much did it hold the others back */
	char fault[160];     /* why BROKEN, or the last unreadable sub-buffer */
	bool fault_new;
};

/* --- ring.c --- */

/*
 * First time, before anything is drained. Decides where to start reading. r->orphaned: a recorder
 * had this ring and did not end in order, so what it had taken may be in no file.
 */
void xvt_ring_attach(struct xvt_ring *r);
void xvt_ring_fini(struct xvt_ring *r);
/* Nothing comes from it any more: if nothing waits either, only its counters and its last node are
 * kept. */
void xvt_ring_retire(struct xvt_ring *r);

/*
 * Host time below which nothing can still come from this ring, UINT64_MAX when it holds
 * nobody back. Only meaningful while no placed head exists.
 */
uint64_t xvt_ring_bound(const struct xvt_ring *r);

/* The same without regard to its phase: would it hold the others back? */
uint64_t xvt_ring_proven(const struct xvt_ring *r);
/*
 * By so much the map may be wrong about a record that comes now: by its segments' bound, and by
 * what the clock may have crept since its last node. But a ring that is silent for a day, or whose
 * measurements are as wide as a guest likes, must not hold the others back by seconds: beyond
 * most_ns its record is late.
 */
static inline uint64_t xvt_ring_margin_ns(uint64_t now_ns, uint64_t node_ns, uint64_t slack_ns,
					  uint64_t most_ns)
{
	uint64_t creep = xvt_clock_creep_ns(now_ns > node_ns ? now_ns - node_ns : 0);

	return creep < most_ns && slack_ns < most_ns - creep ? creep + slack_ns : most_ns;
}
/* What is stamped later is placed later, but for what the map may be wrong by. */
static inline uint64_t xvt_ring_past(uint64_t bound_ns, uint64_t passed_ns, uint64_t margin_ns)
{
	return passed_ns > bound_ns && passed_ns - bound_ns > margin_ns ? passed_ns - margin_ns
									: bound_ns;
}

/*
 * Guest and host time may have come apart: the next record shall carry a full stamp, and its
 * epoch number says that it was stamped after this call. Every record of an older number was
 * stamped before it. So the side of a border is proven even for what is in flight.
 */
void xvt_ring_bump_epoch(struct xvt_ring *r);
/* The same because the machine stands still now, as its VMM says. */
void xvt_ring_stopped(struct xvt_ring *r);
/* The machine had stood still from before the last bump until `ns`: so has the ring. */
void xvt_ring_stood_still(struct xvt_ring *r, uint64_t ns);
/* Once a pass: are the host's words still what we wrote? */
void xvt_ring_keep_words(struct xvt_ring *r);
/*
 * The region has become an older one. Its counters begin again at `from`; what was attempted
 * until now stays attempted. `past` goes with the next piece.
 */
void xvt_ring_rebase(struct xvt_ring *r, const struct xvt_ring_settled *from,
		     const struct xvt_past *past);

/* The last clock node that a recorder left in the region, if it makes sense, and its rate. */
bool xvt_ring_hint(const struct xvt_ring *r, struct xvt_clock_node *node, uint64_t *hz);

/* The generation that wrote what lies at `pos`; the current one if the table cannot tell. */
uint32_t xvt_ring_generation_at(const struct xvt_ring *r, uint64_t pos);

/* --- decode.c --- */

/* Do all that follow in this piece belong to the present, whatever came back from another past? */
bool xvt_ring_only_new(const struct xvt_ring *r);

/* --- place.c --- */

/*
 * The next record to go out, decoded and if possible placed. Returns true when there is one;
 * r->placed tells whether its host time is known yet.
 */
bool xvt_ring_peek(struct xvt_ring *r);
/* Guest clock of the newest record that waits, of the head's epoch, and when it had been copied.
 * Returns false if none waits. */
bool xvt_ring_newest(struct xvt_ring *r, uint64_t *guest, uint64_t *ceiling_ns);
/* Drop it. */
void xvt_ring_pop(struct xvt_ring *r);

/* What the drain knows of a record in piece p, apart from the ring's own order. */
struct xvt_clock_evidence xvt_ring_evidence(const struct xvt_ring *r, uint32_t epoch,
					    const struct xvt_piece *p);

/* --- run.c --- */

/* Are there records that are placed and have not gone out? */
static inline bool xvt_ring_ready(const struct xvt_ring *r)
{
	return r->runs != NULL;
}

/*
 * The next run, behind those that there are. Its place is filled in by xvt_run_put() (merge/put.h).
 * Returns NULL when nothing can be placed now.
 */
struct xvt_run *xvt_ring_refill(struct xvt_ring *r);
/* So many records of its first run have gone out. */
void xvt_ring_emitted(struct xvt_ring *r, uint32_t n);
void xvt_ring_run_fini(struct xvt_ring *r);

/* Records [at, end) of a run go into the trace, with these flags. */
void xvt_run_count(const struct xvt_run *run, uint32_t end, uint32_t ring_flags);

/* --- account.c --- */

/* What the last sub-buffer header does not tell: losses up to now, as a LOST pseudo-event. */
bool xvt_ring_tail_loss(struct xvt_ring *r, struct xvt_lost *lost);

/* A LOST pseudo-event goes into the trace. Not before: the region must never say that a gap is told
 * which is in no file. */
void xvt_ring_reported(struct xvt_ring *r, const struct xvt_lost *lost);

/* Bring r->stats up to date with the newest look at the guest's counters. */
void xvt_ring_account(struct xvt_ring *r, bool final);
/*
 * In two steps, so that whatever becomes of us the region never claims what is in no file: what
 * the trace now holds; and, once all of that is in the file for good, into the region, as the base
 * of a later daemon. Without `counters`, which the file has in STATS only, it is the events, and
 * the losses that LOST records tell.
 */
void xvt_ring_stage_account(struct xvt_ring *r, bool counters);
void xvt_ring_commit_account(const struct xvt_ring *r);

/* --- snapshot.c --- */

/*
 * A snapshot's cut is about to be made: find where the ring's contents begin, note its counters.
 * From here on the drain only copies, and changes nothing. Returns false if it holds nothing.
 */
bool xvt_ring_cut(struct xvt_ring *r);
/* A LOST pseudo-event goes into the trace. */
void xvt_ring_cut_reported(struct xvt_ring *r, const struct xvt_lost *lost);
/* Losses up to the cut that none has told. */
void xvt_ring_cut_tail(const struct xvt_ring *r, struct xvt_lost *lost);
/* Counters of the window into r->stats. */
void xvt_ring_cut_account(struct xvt_ring *r);

/* --- drain.c --- */

/*
 * Look at the control words and queue copies of what is new. proof_clock: a host clock value
 * at least XVT_PROOF_DELTA_NS ago, or 0 for no proof in this pass.
 */
void xvt_drain_look(struct xvt_ring *r, struct xvt_loop *loop, uint64_t proof_clock);
/* All copies of this pass are there (r->reads == 0): keep them, clear, advance cons. */
void xvt_drain_take(struct xvt_ring *r, bool rolled_back);

/* Everything before read_pos is ours; release. */
void xvt_drain_advance_cons(struct xvt_ring *r);

/*
 * The region's contents are not those that we read from: a snapshot was restored, a migration's
 * copy of it was written over it, the file was replaced. Goes on with what is provably new; what
 * lies before that is counted as overwritten. Called before the look of a pass: when the nonce is
 * not ours, or after a look that found r->went_back.
 * Returns false when the ring's own words went on, and only the host's had been taken back.
 */
bool xvt_drain_resync(struct xvt_ring *r);

#define XVT_PROOF_DELTA_NS 1000000u

#endif /* XVT_RING_HOST_SIDE_H */
