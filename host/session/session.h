/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session.h - one recording: its machines, their rings and their clocks, from attach to the last
 * record. It does not depend on a command line, libvirt or a terminal.
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
	bool told;	      /* the note that it cannot be read, or needs trust, is written */
	unsigned int missing; /* consecutive reads of vCPUs that the source does not know */
};

/* Control words of a parked ring. While the region holds the same values, the ring has no work. See
 * scan.c. */
struct xvt_rest {
	const struct xvt_ring_ctl *ctl; /* NULL: the ring is active, not parked */
	uint64_t resv;			/* the raw word */
	uint64_t commit;
	uint32_t generation;
	uint32_t state;
	/* Lower bound of any future record, host ns; UINT64_MAX: the ring holds nothing back. */
	uint64_t floor_ns;
	/* Host time of the newest clock node. A later proof of idleness raises the bound to the
	 * proof's time, less the margin that xvt_ring_margin_ns() makes of node_ns and slack_ns. */
	uint64_t node_ns;
	uint64_t slack_ns;
};

/* A ring with a clock measurement in progress. */
struct xvt_asked {
	struct xvt_ring *ring;
	bool silent; /* the guest did not answer the previous request */
	/* Nothing to do before wait.until, unless the awaited word changes. */
	struct xvt_clock_wait wait;
};
/*
 * Limits of concurrent clock measurements. A guest polls its mailbox every 10 ms and then stays for
 * 200 us; one exchange costs the recorder 10 us. With more measurements open, the recorder could
 * not service within a millisecond every guest that is present.
 */
#define XVT_ASKED_LEAST	 64u
#define XVT_ASKED_MAX	 256u
#define XVT_ASKED_PART	 8u /* divisor of the number of rings, clamped to the two limits */

/* Default limit of recorded rings of one machine. The guest chooses how many rings its region has,
 * and each one costs the recorder memory and time. */
#define XVT_RINGS_USUAL	 256u

/* Measurements that are not in the trace yet. */
#define XVT_MEASURED_MAX 64u
struct xvt_measured {
	size_t nr_samples;
	size_t nr_nodes;
	struct xvt_clock_sample samples[2 * XVT_MEASURED_MAX];
	struct xvt_clock_node nodes[XVT_MEASURED_MAX];
};

/* Dirty flags of a ring: work left since its last active pass. */
#define XVT_DIRTY_ACCOUNT 1u /* the region's account of what the trace holds is out of date */
#define XVT_DIRTY_STATS	  2u /* its STATS chunk is out of date */
#define XVT_DIRTY_STAGED  4u /* a checkpoint of it is in flight, see s->owing */
#define XVT_DIRTY	  (XVT_DIRTY_ACCOUNT | XVT_DIRTY_STATS)

/* Doorbell by which a machine's guest can wake the recorder, see sleep.c. */
struct xvt_vm_bell {
	struct xvt_doorbell *doorbell; /* NULL: the machine has none */
	uint64_t word;		       /* value last written to the host page's doorbell word */
	bool asked;		       /* test ring requested */
	bool proven;		       /* test ring received */
	bool told;		       /* failure reported */
	uint32_t generation;	       /* guest generation that was asked */
	/* First unanswered request. The clock stands while no ring of the guest answers. */
	uint64_t first_clock;
	uint64_t asked_clock; /* newest request */
	bool crossed; /* a sub-buffer was filled during the sleep, and no doorbell was received */
	uint32_t missed; /* consecutive sleeps with `crossed` */
	uint64_t rings;
	uint64_t wakes; /* sleeps that it ended because of a full sub-buffer */
};

/* State of a sleep that doorbells can end. */
struct xvt_session_wake {
	size_t bells;
	bool asleep;
	bool dozing; /* short sleep that ends when a guest answers a clock request */
	size_t open; /* unanswered clock requests at the start of the last doze */
	uint64_t until_clock;
	uint64_t filled;      /* sub-buffers filled so far, all rings */
	uint64_t quiet_clock; /* when `filled` last changed */
	uint64_t sleeps;
	uint64_t early; /* sleeps that a doorbell ended within `second` */
	uint64_t second;
};

enum xvt_vm_phase {
	XVT_VM_WAITING, /* the region is not formatted: the guest is still booting */
	XVT_VM_ATTACHED,
	XVT_VM_GONE, /* the region is unusable from here on; vm->why says why */
};

/* Token bucket for notes of one kind, see notes.c. */
struct xvt_note_limit {
	bool begun;
	uint32_t left;
	uint64_t clock; /* last refill */
};

/* Clock measurements of one machine's rings, see clocks.c. */
struct xvt_vm_clocks {
	uint64_t pace;	     /* ticks between two measurements of a ring with unconfirmed records */
	uint64_t idle_pace;  /* ticks between two measurements of any other ring */
	uint64_t mark_pace;  /* ticks between two marks of a ring, if more than the default */
	uint32_t exchanges;  /* exchanges in a measurement; 0: as many as improve it */
	uint64_t took;	     /* ticks spent on measurements since the pace was set */
	uint64_t bursts;     /* measurements finished since the pace was set */
	uint64_t burst_cost; /* ticks per measurement, smoothed */
	int64_t left;	     /* ticks of the machine's own share that measurements may still take */
	size_t nr_asked;     /* rings of the machine with a measurement in progress */
	size_t nr_silent;    /* the machine's entries of asked[] with `silent` */
};

/* Limit on how long a machine may hold the others back, see stall.c. */
struct xvt_vm_stall {
	uint64_t left_ns;     /* rest of its budget */
	bool barred;	      /* the merge does not wait for this machine */
	uint64_t until_clock; /* end of the bar */
	uint32_t bars;	      /* bars, less those forgiven for time without a fault */
	uint32_t total_bars;  /* bars so far */
	uint64_t good_clock;  /* start of the time without a fault */
};

struct xvt_file_id {
	dev_t dev;
	ino_t ino;
};

/* The last file under the machine's path that could not be recorded, see replaced.c. */
struct xvt_vm_refusal {
	struct xvt_file_id file;
	struct timespec ctime; /* the file's ctime at the refusal */
	bool final;	       /* do not retry while the file's ctime is the same */
	int err;	       /* -errno of the refusal; 0: no refusal */
};

/* A machine's use of the space for the trace, in bytes before compression; see space.c. */
struct xvt_vm_space {
	uint64_t used;
	uint64_t disk_most; /* limit of `used` while the disk is nearly full */
	bool file_over;	    /* its share of max_bytes is used up */
	bool refused;	    /* an event of it was dropped since the last pass */
	uint64_t told_second;
};

struct xvt_session;
struct xvt_json;

struct xvt_vm {
	struct xvt_session *session;
	char name[XVT_NAME_LEN];
	char base_name[XVT_NAME_LEN]; /* `name` of the first machine with this path */
	uint32_t turn;		      /* number of earlier machines with this path */
	struct xvt_vm *next;	      /* the machine that replaced this one at this path, or NULL */
	bool deleted;		      /* no file has this path; the note about it is written */
	struct xvt_file_id file;      /* the region's file */
	struct xvt_vm_refusal refused;
	char path[4096];
	uint8_t uuid[16];
	uint32_t id;
	enum xvt_vm_phase phase;
	bool named; /* given at start: no event is written before it has a clock map */
	bool announced;
	struct xvt_host_region region;
	uint64_t guest_hz; /* nominal */
	bool rate_measured;
	struct xvt_ring **rings; /* region.g.ring_count of them */
	uint32_t rings_max;	 /* limit: further rings of the region are not recorded */
	uint32_t rings_more;	 /* rings of the region that are not recorded */
	uint64_t more_attempted; /* events attempted in unrecorded rings before the recording */
	uint64_t meta_pos;
	uint32_t meta_generation;
	uint64_t next_look_clock;
	uint64_t found_attach_id; /* the region's value at attach; a snapshot restores it */
	uint32_t request_seq;	  /* sequence number of the open request; 0: none */
	uint64_t request_clock;
	size_t request_at;	     /* offset of its line in opt.request */
	uint32_t request_generation; /* guest generation when the first line was sent */
	bool request_again;	     /* the newest look found another generation */
	uint32_t request_notes;
	uint64_t nonce;
	/* Memory for its records: a share of its own, and more from the session's pool while that
	 * has some left. No machine can use up another machine's share. */
	struct xvt_pool pool;
	uint64_t full_second; /* s->seconds when memory_full was last set */
	bool memory_full;     /* its memory was used up within the last second */
	uint32_t first_ring;  /* ring that is drained first; it rotates with each pass */
	bool unseen;	      /* `unseen` is set in its rings */
	bool woken;	      /* an event woke its rings since the newest look at them */
	bool meta_long;	      /* a metadata entry was too long; the note is written */
	bool meta_more;	      /* metadata may be left to copy */
	bool looked;	      /* its rings were looked at in this pass */
	struct xvt_vm_clocks clocks;
	struct xvt_rest *rest; /* parked state, one entry for each ring */
	size_t first_awake;    /* first of its rings in s->awake, by the last pass */
	size_t nr_awake;
	uint64_t meta_bytes;   /* copied so far */
	uint64_t meta_written; /* bytes of them in the trace, chunk overhead included */
	struct xvt_meta_seen *meta_seen;
	struct xvt_note_limit notes[3]; /* for each level */
	uint64_t notes_left_out;
	uint64_t notes_told; /* notes left out that have been reported */
	uint64_t notes_told_clock;
	char why[256];

	bool trust_guest_clock; /* the guest-writable clock formulas of its region are used, see
				   clock/vmm.h */
	struct xvt_exact_use exact[XVT_EXACT_SOURCES];

	/* State reported by its VMM, see vmm_events.c. */
	struct xvt_vmm *vmm; /* listener; NULL: none; closed with the session */
	bool told;	     /* a report has been received */
	uint64_t stamp_ns;   /* host time of the newest VMM timestamp */
	bool stopped;	     /* its vCPUs are stopped */
	uint64_t stopped_ns; /* host time of the stop, not before the start of the recording */
	uint64_t stop_ns;    /* the same by the VMM's timestamp; 0: no usable timestamp */
	uint64_t paused_ns;  /* sum of finished pauses */

	struct xvt_vm_bell bell;
	struct xvt_vm_stall stall;

	struct xvt_vm_space space;
	uint32_t space_of; /* id of the machine whose `space` it uses: itself, or the first one with
			      this path */
};

/* The last whole second, see status.c. */
struct xvt_session_second {
	uint64_t number;    /* value of s->seconds; the trace has its counters */
	uint64_t clock;	    /* end of the second */
	uint64_t ns;	    /* its length */
	uint64_t waited_ns; /* time waited for the disk since the start */
	bool disk_told;	    /* the note about a slow disk is written */
};

#define XVT_MAX_BYTES_LEAST (1u << 20)

struct xvt_session_options {
	uint32_t mode;	       /* enum xvt_enable */
	unsigned int compress; /* compression level; 0: none */
	uint64_t join_timeout_ns;
	uint64_t stall_timeout_ns;
	uint64_t memory_bytes; /* for drained, not yet written records */
	uint64_t max_bytes;    /* of the trace, 0: no limit; at least XVT_MAX_BYTES_LEAST */
	/* Events to request from every guest: lines "+SYSTEM:EVENT\n", or NULL. A refusal is an
	 * error note; the guest keeps recording the events that it has switched on itself. */
	const char *request;
	/*
	 * Take a snapshot of a flight recorder: the contents of the rings at one moment, chosen
	 * when every machine has a clock. The rings are not changed, and no events are requested.
	 * Passes follow until cut_done. No machine delays the snapshot by more than
	 * stall_timeout_ns.
	 */
	bool cut;
	bool run_spans; /* also record when each vCPU of a KVM machine ran: RUNS chunks */
	/* Returns true if thread tid runs vCPUs of the machine. NULL: use /proc and
	 * KVM's debugfs. */
	bool (*kvm_thread)(const struct xvt_vm *vm, int32_t tid);
	const char *host_root;	    /* root of the host's proc and sys; NULL: / */
	const char *clock_page_dir; /* directory for a file NAME.RING of each ring; NULL: none */
	/* Shows a line of text to the user. vm may be NULL; level as in struct xvt_note. May be
	 * NULL. */
	void (*note)(void *arg, uint32_t level, const char *vm, const char *text);
	void *note_arg;
};

struct xvt_session {
	struct xvt_session_options opt;
	struct xvt_loop *loop;
	struct xvt_host_clock clock;
	bool clock_went_back; /* the error note is written */
	bool clock_unsound;   /* the warning about the counter is written */
	bool clock_slewing;   /* CLOCK_MONOTONIC is slewing, by the newest note about it */
	struct xvt_trace_writer *trace;
	struct xvt_sink *sink;
	struct xvt_merge merge;
	struct xvt_pool pool; /* memory shared by all machines */
	struct xvt_vm **vms;
	size_t nr_vms;
	struct xvt_ring **rings; /* all machines' rings, by number in the trace */
	size_t nr_rings;
	uint64_t attach_id;
	uint64_t start_clock;
	uint64_t off_clock; /* when recording was switched off; 0: not yet */
	bool joined;
	uint64_t cut_ns; /* snapshot: the last moment that it holds, host ns; 0: not chosen yet */
	uint64_t cut_clock;
	bool cut_done;
	bool ending;
	int emit_error;
	uint64_t grace_clock; /* end of the recorder's last absence: silence before it is not
				 charged to a guest */
	uint64_t last_pass_clock;
	uint64_t proof_candidate; /* host clock of a pass, not yet old enough for a proof of
				     idleness */
	uint64_t next_pass_clock;
	uint64_t next_second_clock;
	uint64_t next_format_clock;
	uint64_t seconds; /* whole seconds so far */
	struct xvt_session_second second;
	struct xvt_session_kvm *kvm; /* private to kvm.c; NULL: no KVM events read */
	uint64_t pass_gap_ns;
	uint64_t clocks_took;  /* ticks spent on measurements since the paces were set */
	uint64_t pace_clock;   /* when the paces were set */
	int64_t clocks_left;   /* ticks that measurements of any machine may still take */
	uint64_t clocks_clock; /* last refill */
	size_t nr_sharing;     /* machines between which measuring time and memory are divided */
	struct xvt_asked asked[XVT_ASKED_MAX];
	size_t nr_asked;
	size_t nr_silent;	  /* entries of asked[] with `silent` */
	size_t first_asked;	  /* index in asked[] of the first one to poll */
	uint64_t *clock_due;	  /* host clock at which each ring's clock needs service again */
	uint64_t clocks_due;	  /* earliest value in clock_due[] */
	uint64_t next_scan_clock; /* earliest next scan of clock_due[] */
	size_t next_clock;	  /* ring at which that scan begins */
	uint64_t looked_clock;	  /* when all open measurements were last polled */
	uint64_t next_meet_clock; /* earliest next xvt_session_service_clocks() */
	struct xvt_measured measured;
	struct xvt_ring **awake; /* active rings of the current pass, by machine and ring */
	size_t nr_awake;
	uint8_t *dirty;		/* XVT_DIRTY_ flags of each ring */
	bool infos_wait;	/* some RING chunks are delayed, see xvt_session_announce_late() */
	uint64_t rest_clock;	/* everything older in parked rings is copied */
	uint64_t rest_proof_ns; /* the same for the current scan, in host ns */
	uint64_t rest_ns;	/* bound that parked rings put on the merge, host ns */
	uint64_t drains;	/* scans of all machines so far */
	uint64_t drain_proof;	/* proof clock that the current scan may give; 0: none */
	uint64_t turn_clock;	/* up to here, parked rings have had their periodic wake-ups */
	size_t next_turn;	/* ring that is woken next */
	bool checkpoint_in_flight;  /* a checkpoint is in flight: trace data on its way into the
			file, after which  the regions are updated */
	uint64_t checkpoint_bytes;  /* size of the trace that the checkpoint needs in the file */
	uint64_t checkpoint_clock;  /* start of the newest checkpoint */
	uint64_t checkpoint_events; /* value of merge.emitted at the newest checkpoint */
	bool counters_late; /* a second ended while a checkpoint was in flight: its counters wait
			       for the next one */
	uint64_t rounds;
	uint64_t reported_watermark;
	struct xvt_session_wake wake;
	struct xvt_note_limit notes; /* of all machines */
	uint64_t stall_clock;	     /* when the machines' budgets were last charged */
	uint64_t stall_grace;	     /* no budget is charged before */
	uint64_t stall_away;	     /* length of the recorder's absence that caused stall_grace */

	/* Space for the trace, see space.c. */
	bool dropping;	   /* no further event is written */
	bool size_reached; /* max_bytes is reached: the recording should end */
	bool disk_full;	   /* state of the disk by the newest pass */
	bool full_told;
	bool disk_split;    /* the disk is nearly full: each machine has disk_part left */
	bool drops_wait;    /* some ring has drops_wait */
	bool limited;	    /* by the last check, there may not be space for every event */
	uint64_t put_bytes; /* bytes of events since the last check */
	bool stats_wait;    /* counters were updated for status only: the disk was full */
	uint64_t disk_part;
	uint64_t full_second;
	uint64_t disk_looked_bytes;
	uint64_t part_bytes; /* each machine's share of max_bytes */
	uint64_t space_used; /* of all machines */
	uint64_t emitted_ns; /* host time of the newest event emitted in order */
};

/* Start a recording into `sink`. Returns 0 or -errno. */
int xvt_session_new(struct xvt_session **out, struct xvt_loop *loop, struct xvt_sink *sink,
		    const struct xvt_session_options *opt);

/*
 * Add a machine by the path of its region. An unformatted region is waited for. Returns 0, or
 * -errno with the reason in `why`: -EBADMSG, -EPROTO, -ENOSPC: the region can never be used;
 * -EOVERFLOW: not in this recording, which has had too many rings. After an error the session is
 * unchanged.
 */
int xvt_session_add(struct xvt_session *s, const char *name, const char *path,
		    const uint8_t uuid[16], bool named, char *why, size_t why_size);

/* xvt_session_add() with another limit than XVT_RINGS_USUAL: the first rings_max rings of the
 * machine are recorded. A note says how many are not. */
int xvt_session_add_rings(struct xvt_session *s, const char *name, const char *path,
			  const uint8_t uuid[16], bool named, uint32_t rings_max, char *why,
			  size_t why_size);

/* Returns the machine of that name, or NULL. */
struct xvt_vm *xvt_session_find(const struct xvt_session *s, const char *name);

/*
 * Use the doorbell of a machine's guest, at the ivshmem server at `path`. If every machine has a
 * working doorbell, a recorder without work sleeps for up to a second. Returns 0, or -errno with
 * the reason in `why`. Later failures are notes, and polling goes on.
 */
int xvt_session_wake_add(struct xvt_vm *vm, const char *path, char *why, size_t why_size);

/* Take a report of a machine's VMM. Listeners call it (xvt_vmm_fn) with struct xvt_vm * as `arg`.
 * The caller that opens a listener stores it in vm->vmm. */
void xvt_session_vmm_report(void *arg, const struct xvt_vmm_report *r);

/* One pass: measure clocks, drain, merge, write. Returns 0 or -errno of the trace's sink.
 * *sleep_ns: how long the caller may wait before the next call. */
int xvt_session_pass(struct xvt_session *s, uint64_t *sleep_ns);

/* Write everything emitted to the sink. Returns 0 or -errno of the sink. */
int xvt_session_flush(struct xvt_session *s);

/* Number of machines that can still deliver events. */
size_t xvt_session_alive(const struct xvt_session *s);

/*
 * Add the state of the recording to `to`; or that of machine *vm, from ring *ring on, limited to as
 * many rings as take little time. The call advances *vm and *ring; it returns false, and adds
 * nothing, after the last machine. Callable at any time from the session's thread, also while that
 * thread waits for the disk, until xvt_session_free().
 */
void xvt_session_status(const struct xvt_session *s, struct xvt_json *to);
bool xvt_session_status_vm(const struct xvt_session *s, uint32_t *vm, uint32_t *ring,
			   struct xvt_json *to);

/* Sums for the progress line. */
void xvt_session_sums(const struct xvt_session *s, uint64_t *events, uint64_t *lost,
		      uint64_t *late);

/* End the recording: switch it off, drain and place everything, write counters and index. Returns
 * the first error. Only xvt_session_free() may follow. */
int xvt_session_end(struct xvt_session *s);
void xvt_session_free(struct xvt_session *s);
/* xvt_session_end() and xvt_session_free(). */
int xvt_session_finish(struct xvt_session *s);

#endif /* XVT_SESSION_H */
