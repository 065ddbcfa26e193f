/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session.h - one recording: the machines in it, their rings, their clocks, from the first
 * look to the last record. Knows no command line, no libvirt and no terminal.
 */
#ifndef XVT_SESSION_H
#define XVT_SESSION_H

#include <sys/types.h>
#include <time.h>

#include "vmm/doorbell.h"
#include "merge/merge.h"
#include "trace/write.h"
#include "vmm/vmm.h"

/* A source of exact clocks, as far as one machine uses it. */
struct xvt_exact_use {
	struct xvt_clock_exact *source; /* NULL: not found yet */
	uint64_t next_look_clock;
	uint64_t gap_ns;
	bool told;	      /* why it cannot be read */
	unsigned int missing; /* vCPUs that it did not know, in a row */
};

/*
 * What a ring at rest looks like: as long as its words say the same, nothing has happened.
 * See scan.c.
 */
struct xvt_rest {
	const struct xvt_ring_ctl *ctl; /* NULL: it is awake */
	uint64_t resv;			/* as the word is */
	uint64_t commit;
	uint32_t generation;
	uint32_t state;
	uint64_t floor_ns; /* nothing older can come, UINT64_MAX: nothing at all, */
	uint64_t node_ns;  /* nor, once a proof lies behind this node, what is older than that */
	uint64_t slack_ns; /* less this, and what the clock may creep */
};

/* A ring whose clock is being measured. */
struct xvt_asked {
	struct xvt_ring *ring;
	bool silent; /* it had not answered the last time */
	/* Until then, or until it answers, there is nothing to do. */
	struct xvt_clock_wait wait;
};
/*
 * So many at a time, of few rings and of many: a guest looks into its mailbox every 10 ms and then
 * stays for 200 us, and a measurement takes us 10 us. With more of them we could not meet all who
 * come in a millisecond.
 */
#define XVT_ASKED_LEAST	 64u
#define XVT_ASKED_MAX	 256u
#define XVT_ASKED_PART	 8u /* of all rings, between the two */

/*
 * The guest says how many rings its region has, and each one costs the recorder memory and time.
 * So many of a machine are recorded if nothing else is said.
 */
#define XVT_RINGS_USUAL	 256u

/* Measurements that are not in the file yet. */
#define XVT_MEASURED_MAX 64u
struct xvt_measured {
	size_t nr_samples;
	size_t nr_nodes;
	struct xvt_clock_sample samples[2 * XVT_MEASURED_MAX];
	struct xvt_clock_node nodes[XVT_MEASURED_MAX];
};

/* Since a ring was last awake: what is to be done for it yet? */
#define XVT_STIRRED_OWES  1u /* the region is to be told what the trace holds of it */
#define XVT_STIRRED_STATS 2u /* and the file how its counters stand */
#define XVT_STIRRED_DUE	  4u /* what it owes is on its way */
#define XVT_STIRRED	  (XVT_STIRRED_OWES | XVT_STIRRED_STATS)

/* How a machine's guest can wake us, see sleep.c. */
struct xvt_vm_bell {
	struct xvt_doorbell *doorbell; /* NULL: it cannot */
	uint64_t word;		       /* what its host page says of it, as far as we know */
	bool asked;		       /* to ring once, for a proof: */
	bool proven;		       /* it did */
	bool told;		       /* that it does not */
	uint32_t generation;	       /* whom we asked */
	uint64_t first_clock;	       /* since when in vain, */
	uint64_t asked_clock;	       /* and when last */
	bool crossed;		       /* a sub-buffer was filled while we slept, and no ring yet */
	uint32_t missed;	       /* how often in a row */
	uint64_t rings;
	uint64_t wakes; /* sleeps that it ended because a sub-buffer was full */
};

/* The sleep of a recorder that the guests wake. */
struct xvt_session_wake {
	size_t bells;
	bool asleep;
	bool dozing; /* only until a guest answers */
	size_t open; /* how many had not when we last dozed */
	uint64_t until_clock;
	uint64_t filled;      /* sub-buffers, of all rings ever, */
	uint64_t quiet_clock; /* and when that last changed */
	uint64_t sleeps;
	uint64_t early; /* those that rings ended, in this */
	uint64_t second;
};

enum xvt_vm_phase {
	XVT_VM_WAITING, /* the region has no format yet: the guest is still booting */
	XVT_VM_ATTACHED,
	XVT_VM_GONE, /* the region is unusable from here on; vm->why */
};

/* How many more notes of a kind there may be now, see notes.c. */
struct xvt_note_limit {
	bool begun;
	uint32_t left;
	uint64_t clock; /* when that was last added to */
};

/* How the clocks of one machine's rings are measured, see clocks.c. */
struct xvt_vm_clocks {
	uint64_t pace;	     /* ticks between two measurements of a ring that needs them */
	uint64_t idle_pace;  /* the same where nothing waits for it */
	uint64_t mark_pace;  /* and between two marks of a ring, if it is more than usual */
	uint32_t exchanges;  /* in a measurement, 0: as many as make it better */
	uint64_t took;	     /* ticks, since the pace was set */
	uint64_t bursts;     /* that came to an end since then */
	uint64_t burst_cost; /* ticks that one takes */
	int64_t left;	     /* ticks that measurements may take now */
	size_t nr_asked;     /* of its rings, whose clock is being measured */
	size_t nr_silent;    /* of them */
};

/* How long a machine may hold the others back, see stall.c. */
struct xvt_vm_stall {
	uint64_t left_ns;     /* of its budget */
	bool barred;	      /* no other machine waits for it, */
	uint64_t until_clock; /* until then */
	uint32_t bars;	      /* less those that time without a fault has taken back, */
	uint32_t total_bars;  /* and ever */
	uint64_t good_clock;  /* no fault since then */
};

struct xvt_file_id {
	dev_t dev;
	ino_t ino;
};

/* The last file of a machine's name that could not be taken up, see replaced.c. */
struct xvt_vm_refusal {
	struct xvt_file_id file;
	struct timespec ctime; /* the file's, then */
	bool final;	       /* as long as that is so, it never will be */
	int err;	       /* 0: there is none */
};

/* What a machine has of the space for the trace, see space.c. Before compression. */
struct xvt_vm_space {
	uint64_t used;
	uint64_t disk_most; /* while the disk is nearly full: `used` may become so much */
	bool file_over;	    /* it has had its part of max_bytes */
	bool refused;	    /* something of it was dropped, since the last pass */
	uint64_t told_second;
};

struct xvt_session;
struct xvt_json;

struct xvt_vm {
	struct xvt_session *session;
	char name[XVT_NAME_LEN];
	char base_name[XVT_NAME_LEN]; /* `name` of the first that had this path */
	uint32_t turn;		      /* of those that had it: how many were before */
	struct xvt_vm *next;	      /* who has it now, or NULL */
	bool deleted;		      /* nobody has, and that has been said */
	struct xvt_file_id file;      /* its region's */
	struct xvt_vm_refusal refused;
	char path[4096];
	uint8_t uuid[16];
	uint32_t id;
	enum xvt_vm_phase phase;
	bool named; /* given at start: nothing is emitted before it has a map */
	bool announced;
	struct xvt_host_region region;
	uint64_t guest_hz; /* nominal */
	bool rate_measured;
	struct xvt_ring **rings; /* as many as region.g.ring_count says */
	uint32_t rings_max;	 /* more of its region's are not recorded */
	uint32_t rings_more;	 /* how many are not */
	uint64_t more_attempted; /* events in those before the recording */
	uint64_t meta_pos;
	uint32_t meta_generation;
	uint64_t next_look_clock;
	uint64_t found_attach_id; /* a snapshot leaves what it found */
	uint32_t request_seq;	  /* of our request, 0 = none open */
	uint64_t request_clock;
	size_t request_at;	     /* where its line begins in the session's request */
	uint32_t request_generation; /* of the guest, when the first line was sent */
	bool request_again;	     /* it was another one at the last look */
	uint32_t request_notes;
	uint64_t nonce;
	struct xvt_pool pool; /* its share: no machine's records use up another's; and more of the
				 session's where there is some left */
	uint64_t full_second; /* when it last was, of those that the session counts */
	bool memory_full;     /* it was used up in the last second */
	uint32_t first_ring;  /* who drains first: another one each pass */
	bool unseen;	      /* its rings know that nobody looks at them */
	bool woken;	      /* something was told since the newest look at its rings */
	bool meta_long;	      /* a part of it was too long, and that has been said */
	bool meta_more;	      /* there may be more metadata than was copied */
	bool looked;	      /* at its rings, in this pass */
	struct xvt_vm_clocks clocks;
	struct xvt_rest *rest; /* of each ring */
	size_t first_awake;    /* in the session's list, and how many, since the last pass */
	size_t nr_awake;
	uint64_t meta_bytes;   /* copied so far */
	uint64_t meta_written; /* of these in the file, with what a chunk takes */
	struct xvt_meta_seen *meta_seen;
	struct xvt_note_limit notes[3]; /* by level */
	uint64_t notes_left_out;
	uint64_t notes_told; /* of them, */
	uint64_t notes_told_clock;
	char why[256];

	bool trust_guest_clock; /* its region's word on its clocks is used, see clock/vmm.h */
	struct xvt_exact_use exact[XVT_EXACT_SOURCES];

	/* What its VMM tells, see vmm_events.c. */
	struct xvt_vmm *vmm; /* who tells it, NULL: nobody; closed with the session */
	bool told;	     /* something has been told */
	uint64_t stamp_ns;   /* host time of the newest stamp of its VMM */
	bool stopped;	     /* its vCPUs stand still since then: */
	uint64_t stopped_ns; /* host time, not before the recording */
	uint64_t stop_ns;    /* the same by the VMM's own stamp; 0: it has none that can be used */
	uint64_t paused_ns;  /* pauses that are over */

	struct xvt_vm_bell bell;
	struct xvt_vm_stall stall;

	struct xvt_vm_space space;
	uint32_t space_of; /* the machine whose `space` it uses: its own, or that of its name */
};

/* How the last whole second went, see status.c. */
struct xvt_session_second {
	uint64_t number;    /* of s->seconds; its counters stand in the file */
	uint64_t clock;	    /* its end */
	uint64_t ns;	    /* so long it was */
	uint64_t waited_ns; /* for the disk, ever */
	bool disk_told;	    /* that it was much in this one */
};

#define XVT_MAX_BYTES_LEAST (1u << 20)

struct xvt_session_options {
	uint32_t mode;	       /* enum xvt_enable */
	unsigned int compress; /* level, 0: not */
	uint64_t join_timeout_ns;
	uint64_t stall_timeout_ns;
	uint64_t memory_bytes; /* for drained, not yet written records */
	uint64_t max_bytes;    /* of the trace, 0: no limit; at least XVT_MAX_BYTES_LEAST */
	/* Events to ask of every guest: lines "+SYSTEM:EVENT\n", or NULL. A guest that refuses is
	 * an error note, and goes on recording what it had switched on. */
	const char *request;
	/* A snapshot of a flight recorder: takes what the rings hold at one moment, for which it
	 * waits until every machine has a clock; changes nothing in them; nothing is requested.
	 * Passes follow until cut_done. No machine holds it up for longer than the stall
	 * time-out. */
	bool cut;
	bool run_spans; /* also when each vCPU of a KVM machine ran: RUNS chunks */
	/* Does that thread run vCPUs of the machine? NULL: /proc and KVM's debugfs say. */
	bool (*kvm_thread)(const struct xvt_vm *vm, int32_t tid);
	const char *host_root;	    /* where the host's proc and sys are; NULL: / */
	const char *clock_page_dir; /* NAME.RING is made there for each ring; NULL: nowhere */
	/* A line for a person; vm may be NULL. level as in struct xvt_note. May be NULL. */
	void (*note)(void *arg, uint32_t level, const char *vm, const char *text);
	void *note_arg;
};

struct xvt_session {
	struct xvt_session_options opt;
	struct xvt_loop *loop;
	struct xvt_host_clock clock;
	bool clock_went_back; /* said once */
	bool clock_unsound;   /* likewise */
	bool clock_slewing;   /* CLOCK_MONOTONIC is, as the newest note about it says */
	struct xvt_trace_writer *trace;
	struct xvt_sink *sink;
	struct xvt_merge merge;
	struct xvt_pool pool; /* the part of the memory that is there for all machines */
	struct xvt_vm **vms;
	size_t nr_vms;
	struct xvt_ring **rings; /* of all machines, by trace number */
	size_t nr_rings;
	uint64_t attach_id;
	uint64_t start_clock;
	uint64_t off_clock; /* recording was switched off, 0: not yet */
	bool joined;
	uint64_t cut_ns; /* of a snapshot: the last moment that is in it; 0: not chosen yet */
	uint64_t cut_clock;
	bool cut_done;
	bool ending;
	int emit_error;
	uint64_t grace_clock; /* we ourselves were away until then: nobody is blamed for it */
	uint64_t last_pass_clock;
	uint64_t proof_candidate; /* host clock of a pass that is not yet old enough */
	uint64_t next_pass_clock;
	uint64_t next_second_clock;
	uint64_t next_format_clock;
	uint64_t seconds; /* of them, so far */
	struct xvt_session_second second;
	struct xvt_session_kvm *kvm; /* kvm.c's own; NULL: nothing is told */
	uint64_t pass_gap_ns;
	uint64_t clocks_took;  /* ticks for measurements, since the paces were set */
	uint64_t pace_clock;   /* when that was */
	int64_t clocks_left;   /* ticks that any machine's measurements may take now */
	uint64_t clocks_clock; /* when that was last added to */
	size_t nr_sharing;     /* machines that have each their part of it */
	struct xvt_asked asked[XVT_ASKED_MAX];
	size_t nr_asked;
	size_t nr_silent;	  /* of them */
	size_t first_asked;	  /* who is looked at first */
	uint64_t *clock_due;	  /* when has each ring's clock to be looked after again? */
	uint64_t clocks_due;	  /* the earliest of them */
	uint64_t next_scan_clock; /* it is not looked up more often */
	size_t next_clock;	  /* whose turn it is then */
	uint64_t looked_clock;	  /* when all open questions were last looked at */
	uint64_t next_meet_clock; /* answers are not looked for more often */
	struct xvt_measured measured;
	struct xvt_ring **awake; /* in the pass that is under way, by VM and ring */
	size_t nr_awake;
	uint8_t *stirred;	/* of each ring */
	bool infos_wait;	/* of some rings, see xvt_session_announce_late() */
	uint64_t rest_clock;	/* everything older of who is at rest is copied */
	uint64_t rest_proof_ns; /* the same in the look that is under way */
	uint64_t rest_ns;	/* they hold back who is awake: nothing older comes of them */
	uint64_t drains;	/* looks at all machines so far */
	uint64_t drain_proof;	/* that the one under way may give */
	uint64_t turn_clock;	/* since then turns are due: */
	size_t next_turn;	/* of who is at rest */
	bool owing;		/* what rings owe their regions is on its way into the file: */
	uint64_t owed_bytes;	/* so much of it; */
	uint64_t owe_clock;	/* since then */
	uint64_t owed_events;	/* merged until then */
	bool counters_late;	/* a second was over while something was owed */
	uint64_t rounds;
	uint64_t told_watermark;
	struct xvt_session_wake wake;
	struct xvt_note_limit notes; /* of all machines */
	uint64_t stall_clock;	     /* when the machines' budgets were last charged, */
	uint64_t stall_grace;	     /* and until when none is charged, */
	uint64_t stall_away;	     /* because the recorder was not there for so long */

	/* Space for the trace, see space.c. */
	bool dropping;	   /* nothing of what comes is written */
	bool size_reached; /* max_bytes: there is no sense in going on */
	bool disk_full;	   /* as last told */
	bool full_told;
	bool disk_split;    /* it is nearly full, and each machine has disk_part left */
	bool drops_wait;    /* of some ring */
	bool limited;	    /* there may not be space for all, as the last look says */
	uint64_t put_bytes; /* of events, since that */
	bool stats_wait;    /* counters were shown, and not written because the disk was full */
	uint64_t disk_part;
	uint64_t full_second;
	uint64_t disk_looked_bytes;
	uint64_t part_bytes; /* each machine's of max_bytes */
	uint64_t space_used; /* of all machines */
	uint64_t emitted_ns; /* time of the newest event of the main lane that came out */
};

/* Starts a recording into `sink`. Returns 0 or -errno. */
int xvt_session_new(struct xvt_session **out, struct xvt_loop *loop, struct xvt_sink *sink,
		    const struct xvt_session_options *opt);

/*
 * Add a machine by its region's path. A region without format is waited for. Returns 0; or
 * -errno with the reason in `why` (-EBADMSG, -EPROTO, -ENOSPC: it can never be used; -EOVERFLOW:
 * not in this recording, which has had too many rings), and then the session is as it was before.
 */
int xvt_session_add(struct xvt_session *s, const char *name, const char *path,
		    const uint8_t uuid[16], bool named, char *why, size_t why_size);

/* The same with another limit than XVT_RINGS_USUAL for the rings of the machine that are recorded:
 * the first ones. That there are more is a note. */
int xvt_session_add_rings(struct xvt_session *s, const char *name, const char *path,
			  const uint8_t uuid[16], bool named, uint32_t rings_max, char *why,
			  size_t why_size);

/* The machine of that name, or NULL. */
struct xvt_vm *xvt_session_find(const struct xvt_session *s, const char *name);

/*
 * The machine's guest can ring a doorbell at this ivshmem server: where all machines' guests do, a
 * recorder with nothing to do sleeps for up to a second. Returns 0, or -errno with the reason in
 * `why`; what goes wrong later is a note, and polling goes on.
 */
int xvt_session_wake_add(struct xvt_vm *vm, const char *path, char *why, size_t why_size);

/* A machine's VMM tells something: what listeners call (xvt_vmm_fn), with struct xvt_vm * as
 * `arg`. The one who opens a listener puts it into vm->vmm. */
void xvt_session_vmm_report(void *arg, const struct xvt_vmm_report *r);

/*
 * One round: measure clocks, drain, merge, write. Returns 0 or -errno of the trace's sink.
 * *sleep_ns: how long the caller may wait for something else before the next call.
 */
int xvt_session_pass(struct xvt_session *s, uint64_t *sleep_ns);

/* All that was emitted goes to the sink. Returns 0 or -errno of it. */
int xvt_session_flush(struct xvt_session *s);

/* How many machines can still deliver. */
size_t xvt_session_alive(const struct xvt_session *s);

/*
 * What it does now, for who asks: the recording; and of machine *vm, from its ring *ring on, so
 * many rings as do not take long. Those move on; false: that was the last machine, and nothing was
 * added. May be called at any time from its own thread, also while that waits for the disk, until
 * xvt_session_free().
 */
void xvt_session_status(const struct xvt_session *s, struct xvt_json *to);
bool xvt_session_status_vm(const struct xvt_session *s, uint32_t *vm, uint32_t *ring,
			   struct xvt_json *to);

/* Sums for the progress line. */
void xvt_session_sums(const struct xvt_session *s, uint64_t *events, uint64_t *lost,
		      uint64_t *late);

/* The end: recording off, everything drained and placed, counters, index. Returns the first error.
 * Nothing follows but xvt_session_free(). */
int xvt_session_end(struct xvt_session *s);
void xvt_session_free(struct xvt_session *s);
/* Both. */
int xvt_session_finish(struct xvt_session *s);

#endif /* XVT_SESSION_H */
