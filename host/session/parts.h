/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parts.h - what a session and its machines are made of, and the interfaces between the files of
 * session/. Each group of members names the file that writes it; the others read it. Tests include
 * this header, no other folder of host/ does.
 */
#ifndef XVT_SESSION_PARTS_H
#define XVT_SESSION_PARTS_H

#include <sys/types.h>
#include <time.h>

#include "base/cpu.h"
#include "base/container.h"
#include "base/error.h"
#include "base/time.h"
#include "merge/merge.h"
#include "session/machine_state.h"
#include "session/session.h"
#include "trace/write.h"
#include "vmm/doorbell.h"

/* A source of exact clocks, as far as one machine uses it. */
struct xvt_exact_use {
	struct xvt_clock_exact *source; /* NULL: not found yet */
	uint64_t next_look_clock;
	uint64_t gap_ns;
	bool reported;	      /* the note that it cannot be read, or needs trust, is written */
	unsigned int missing; /* consecutive reads of vCPUs that the source does not know */
};

/* Control words of a parked ring, or of one that no writer has used yet (unused.c). While the
 * region holds the same values, the ring has no work. See scan.c. */
struct xvt_parked {
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

/* Measurements that are not in the trace yet. */
#define XVT_MEASURED_MAX 64u
struct xvt_measured {
	size_t nr_samples;
	size_t nr_nodes;
	struct xvt_clock_sample samples[2 * XVT_MEASURED_MAX];
	struct xvt_clock_node nodes[XVT_MEASURED_MAX];
};

/* Looks that are not in the trace yet. A chunk of them ends the chunk of the order that is being
 * gathered, so with many rings it holds what a few of those are about. */
#define XVT_LOOKS_MAX 2048
struct xvt_looks {
	size_t count;
	struct xvt_clock_look of[XVT_LOOKS_MAX];
};

/* Heads of sub-buffers that are not in the trace yet. */
#define XVT_HEADS_MAX 256
struct xvt_heads {
	size_t count;
	struct xvt_subbuf_head of[XVT_HEADS_MAX];
};

/* Dirty flags of a ring: work left since its last active pass. */
#define XVT_DIRTY_ACCOUNT 1u /* the region's account of what the trace holds is out of date */
#define XVT_DIRTY_STATS	  2u /* the STATS chunk is out of date */
#define XVT_DIRTY_STAGED  4u /* a checkpoint of it is in flight */
#define XVT_DIRTY_HELD	  8u /* the region may hold records that go to the file */
#define XVT_DIRTY	  (XVT_DIRTY_ACCOUNT | XVT_DIRTY_STATS | XVT_DIRTY_HELD)

/* Doorbell by which a machine's guest can wake the recorder, see sleep.c. */
struct xvt_vm_bell {
	struct xvt_doorbell *doorbell; /* NULL: the machine has none */
	char server[XVT_BELL_PATH];    /* socket that its VMM names; "": unknown */
	bool sought;		       /* no need to look for its doorbell again */
	uint64_t word;		       /* value last written to the host page's doorbell word */
	bool asked;		       /* test ring requested */
	bool proven;		       /* test ring received */
	bool reported;		       /* failure reported */
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
	/* written by sleep.c way.c */
	size_t bells;
	bool asleep;
	bool dozing;		 /* short sleep that ends when a guest answers a clock request */
	size_t open;		 /* unanswered clock requests at the last look */
	unsigned int dozes;	 /* since they last changed */
	struct xvt_cpu_away cpu; /* that a guest needs for its answer; also way.c */
	uint64_t until_clock;
	uint64_t filled;      /* sub-buffers filled so far, all rings */
	uint64_t quiet_clock; /* when `filled` last changed */
	uint64_t sleeps;
	uint64_t early; /* sleeps that a doorbell ended within `second` */
	uint64_t second;
};

/* How the recorder makes way for guests that need its CPU, see way.c. */
struct xvt_session_way {
	/* written by way.c clocks.c */
	struct xvt_clock_way ops;
	/* private to way.c */
	uint64_t next_clock; /* earliest next move to another CPU */
	uint64_t gap_ns;     /* between two moves */
};

/* Counters of a recording. */
struct xvt_sums {
	uint64_t machines;
	uint64_t events;
	uint64_t lost;
	uint64_t late;
};

/* Token bucket for notes of one kind, see notes.c. */
struct xvt_note_limit {
	bool begun;
	uint32_t left;
	uint64_t clock; /* last refill */
};

/* Clock measurements of one machine's rings, see pace.c. */
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
	bool hz_known;	     /* clocks.c: guest_hz was measured */
	bool rate_shared;    /* clocks.c: it holds for all rings of the host's kind */
	uint64_t guest_hz; /* machine.c: nominal; clocks.c, snapshot.c: as its first ring has it */
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

/* A machine's recording that is stopped by request. */
struct xvt_vm_halt {
	enum xvt_halt_step step; /* set by machine_state.c */
	uint32_t uid;		 /* who asked */
	uint64_t off_clock;
	uint64_t patience_clock; /* what its rings take from then on counts */
	uint64_t finished_clock; /* when its rings were finished; 0: not yet */
	bool names_due;		 /* before the next pass, its guest is still to name functions */
	uint64_t bytes;		 /* size of the trace that has all of it */
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
	uint64_t disk_used; /* of what the disk had left when it was nearly full */
	bool writes;	    /* the machine has given an event */
	bool file_over;	    /* the share of max_bytes is used up */
	bool refused;	    /* an event of it was dropped since the last pass */
	uint64_t told_second;
};

/* The state that changes.c compares with. */
struct xvt_vm_since {
	bool begun;
	bool crashed; /* set by vmm_events.c */
	bool rests;   /* the same: it has no events because somebody wants that */
	uint64_t lost;
	uint64_t attempted;
	uint64_t moved_clock; /* when `attempted` was seen to change; 0: never */
	uint64_t still_ns;
};

/* The guest's words about panics, see panics.c. */
struct xvt_vm_panic {
	struct xvt_panic_told told;
	bool dead;	     /* the kernel panicked, and none has booted since */
	uint32_t generation; /* of that kernel */
	uint32_t met;	     /* records */
	uint32_t base;	     /* the header's word when its recording began, or what makes up for
				records that were lost */
	uint32_t waits;	     /* seconds since a record is missing */
	uint64_t begun_pass; /* number of the pass that read `base` */
};

/* What it lacks to give events, see waits.c. */
struct xvt_vm_lack {
	bool expected;		/* record/machines.c: it was named */
	bool joined;		/* the user was told */
	bool failed;		/* machine.c: an error said why it is gone */
	enum xvt_vm_waits last; /* by the newest look */
	enum xvt_vm_waits told; /* by the newest note */
};

/* A user whose files are machines, see share.c. */
struct xvt_owner {
	uint32_t uid;
	size_t machines;	   /* that are not gone */
	struct xvt_pool_lent lent; /* of the common memory */
	int64_t clocks_left;	   /* clocks.c: ticks that its machines' measurements may take */
	size_t nr_asked;	   /* clocks.c: measurements in progress */
	size_t writing;		   /* space.c: machines that have given an event */
	size_t accounts;	   /* space.c: machines with an account of the space */
	uint64_t disk_wanted;	   /* space.c: of disk_space, by what its machines have used */
	uint64_t disk_part;	   /* space.c: of disk_space, of each of its machines */
	size_t reading;		   /* share.c: machines of which the pass before read something */
};

/* Which ftrace events have a format, to count those that have none. */
struct xvt_vm_types {
	uint32_t count[XVT_TYPES]; /* UINT32_MAX: that or more */
	uint8_t known[XVT_TYPES];  /* the trace has a format */
};

/* The guest's generation, as xvt_vm_generation() loaded it. */
struct xvt_machine_generation {
	/* written by vmm_events.c */
	bool known;
	/* private to parts.h */
	uint32_t number;
	uint64_t pass; /* number of the pass that loaded it */
};

/* What a guest is asked for, see request.c. */
struct xvt_machine_request {
	/* written by request.c */
	uint32_t seq; /* sequence number of the open request; 0: none */
	bool refused; /* the guest's owner does not allow the request, or not yet */
	bool silent;  /* the guest did not answer in time */
	char *lines;  /* that it is asked; NULL: opt.request */
	/* private to request.c */
	bool again;	     /* the newest look found another generation */
	bool told;	     /* that it is refused is noted */
	bool allowed;	     /* the header said that it is allowed, when it was sent */
	uint64_t clock;	     /* when it was sent */
	size_t at;	     /* offset of its line */
	uint32_t generation; /* of the guest when the first line was sent */
	uint32_t notes;	     /* about answers, so far */
	char why[256];	     /* which were refused, of those that a user added; "": none */
};

/* What was copied of a guest's metadata, see metadata.c. */
struct xvt_machine_metadata {
	/* written by metadata.c */
	uint64_t pos;		    /* in the area, of the next entry */
	struct xvt_meta_seen *seen; /* formats in the trace; NULL: none yet */
	/* written by machine.c session.c */
	bool more; /* some may be left to copy */
	/* written by machine.c */
	struct xvt_vm_types *types; /* types.c; NULL: not counted */
	/* private to metadata.c */
	bool too_long;	    /* an entry was too long; the note is written */
	bool unnamed;	    /* the guest refuses names of functions; the note is written */
	uint64_t bytes;	    /* copied so far; UINT64_MAX: no more is taken */
	uint64_t written;   /* bytes of them in the trace, chunk overhead included */
	uint64_t looked_ns; /* when all of it was read last; 0: not yet */
};

/* What a machine's VMM reports, see vmm_events.c. */
struct xvt_machine_vmm {
	/* written by vmm_events.c */
	struct xvt_vmm *listener; /* NULL: none; closed with the session */
	bool paused;		  /* the vCPUs are paused */
	bool vcpus_off;		  /* no vCPU runs here: paused, ended or moved away */
	bool ended;		  /* the VMM has ended, and a start will be reported */
	bool arrived;		  /* the machine came from another VMM */
	const char *departed;	  /* "ended", "moved": the newest report; NULL: it is here */
	char departed_why[64];
	uint64_t paused_at_ns; /* host time of the pause, not before the machine's recording */
	/* written by vmm_events.c status.c */
	uint32_t departed_seconds; /* since that report */
	/* private to vmm_events.c */
	bool lost;		 /* the connection of the listener has ended */
	bool any_report;	 /* a report has been received */
	uint64_t stamp_ns;	 /* host time of the newest VMM timestamp */
	uint64_t pause_stamp_ns; /* of the pause, by the timestamp; 0: no usable timestamp */
	uint64_t paused_ns;	 /* sum of finished pauses */
};

/* The ends of a machine's recording. */
struct xvt_machine_span {
	/* written by machine.c */
	uint64_t begin_clock;
	uint64_t found_attach_id; /* the region's value at attach; a snapshot restores it */
	/* private to copied.c */
	unsigned int copy_looks; /* at its original, before it is attached */
	/* written by halt.c replaced.c */
	uint64_t end_clock; /* by request, or with its file; 0: it was not ended */
};

/* Whether the order of a machine's events is left to the readers, see loose.c. */
struct xvt_machine_loose {
	/* written by loose.c */
	bool on;
	/* written by loose.c session.c */
	bool ring_full; /* the newest look at one of its rings took most of a ring */
	/* private to loose.c */
	uint64_t second; /* s->passes.seconds + 1 when it was last under pressure; 0: never */
};

/* A machine's state as status.c shows it. */
struct xvt_machine_status {
	/* private to status.c */
	bool memory_full;	     /* the memory was used up within the last second */
	uint32_t away_seconds;	     /* since it is gone, or has ended or moved */
	uint64_t full_second;	     /* s->passes.seconds when memory_full was last set */
	uint64_t departed_attempted; /* the writers' counters since vmm.departed */
};

/* Limits on the notes about a machine, see notes.c. */
struct xvt_machine_notes {
	/* written by notes.c */
	uint64_t left_out;
	/* private to notes.c */
	struct xvt_note_limit limits[3]; /* for each level */
	uint64_t told;			 /* notes left out that have been reported */
	uint64_t told_clock;
};

/* A machine in the scans of its session, see scan.c. */
struct xvt_machine_scan {
	/* written by scan.c */
	uint64_t nonce; /* in the recorder's page of the region: a rollback restores another one */
	bool unseen;	/* `unseen` is set in its rings */
	/* written by scan.c halt.c */
	bool looked; /* the rings were looked at in this pass */
	/* written by scan.c park.c */
	bool unparked; /* an event woke its rings since the newest look at them */
	/* private to scan.c */
	uint32_t first_ring; /* ring that is drained first; it rotates with each pass */
	/* written by scan.c left.c */
	size_t first_active; /* first of its rings in s->scan.active, by the last pass */
	size_t nr_active;
};

/* Machines that followed each other at one path, see replaced.c. */
struct xvt_machine_chain {
	/* written by replaced.c machine.c */
	char first_name[XVT_NAME_LEN]; /* name of the first machine with this path */
	uint32_t space_of; /* id of the machine whose `space` it uses: itself, or the first one */
	/* written by replaced.c */
	uint32_t earlier; /* number of earlier machines with this path */
	/* written by replaced.c left.c */
	struct xvt_vm *next; /* the machine that replaced this one, or NULL */
	/* written by replaced.c halt.c */
	bool deleted; /* no file has this path; the note about it is written */
	struct xvt_vm_refusal refused;
};

/* Words of the region's header, as session.c saw them at the newest look. */
struct xvt_machine_header {
	/* written by session.c */
	uint32_t claim; /* as told where it says "refused" */
	/* private to session.c */
	uint32_t displaced;	  /* machines that gave way to this one, as told */
	uint32_t ringless;	  /* CPUs without a ring, as told */
	uint64_t next_look_clock; /* WAITING: for a format */
};

/* A machine in the files of its recording. */
struct xvt_machine_files {
	/* written by announce.c */
	bool announced; /* a file has its VM chunk */
	/* written by rotate.c */
	bool left_out; /* it is gone, and later files are without it */
	/* private to left.c */
	bool freed; /* it is about to be freed */
};

/* Numbers and limits of a machine's rings. */
struct xvt_machine_table {
	/* written by machine.c passive.c */
	uint32_t rings_max;  /* limit: further rings of the region are not recorded */
	uint32_t rings_more; /* rings of the region that are not recorded */
	/* written by machine.c */
	uint32_t first_id; /* number in the trace of its ring 0 */
	/* private to machine.c */
	uint64_t more_attempted; /* events attempted in unrecorded rings before the recording */
	/* written by unused.c */
	bool no_memory; /* a ring in use could not be made */
};

/* The recorder's own rings for a machine whose events come over a relay. */
struct xvt_machine_relay {
	/* written by relayed.c */
	struct xvt_relayed *of; /* NULL: another machine */
	struct xvt_host_region region;
};

/* Sources of exact clocks, see exact.c. */
struct xvt_machine_exact {
	/* written by machine.c replaced.c */
	bool trusts_guest; /* the guest-writable clock formulas of its region are used, see
			      clock/vmm.h */
	/* private to exact.c */
	struct xvt_exact_use use[XVT_EXACT_SOURCES];
};

/*
 * A machine: what its files have in common, and a struct for each file that has a state. As in a
 * session, the groups of members in struct xvt_machine_... name the files that write them
 * (tests/check-layers.sh).
 */
struct xvt_vm {
	/* Set by machine.c when it is added. */
	struct xvt_session *session;
	char name[XVT_NAME_LEN];
	char path[4096];
	uint8_t uuid[16];
	uint32_t id;
	bool named; /* given at start: no event is written before it has a clock map */
	bool own;   /* this recorder writes its rings, see own.c: the host, or passive */
	struct xvt_passive *passive; /* private to passive.c; NULL: another machine */
	struct xvt_machine_relay relay;
	struct xvt_file_id file; /* the region's file */
	struct xvt_owner *owner; /* the user whose file it is, see share.c */

	/* What each pass reads of a machine stands together from here on. */
	enum xvt_vm_phase phase; /* set by machine_state.c */
	struct xvt_machine_scan scan;
	struct xvt_ring **rings;   /* region.g.ring_count; NULL: unused so far, see unused.c */
	struct xvt_parked *parked; /* park.c and unused.c: parked state, one entry for each ring */
	struct xvt_machine_metadata metadata;
	struct xvt_machine_generation generation;
	struct xvt_machine_request request;

	/* machine.c: region, rings and memory. replaced.c and halt.c also set `why`. */
	char why[256];
	struct xvt_host_region region;
	struct xvt_machine_table table;
	/* Memory for its records: a share of its own, and more from the session's pool while that
	 * has some left. No machine can use up another machine's share. */
	struct xvt_pool pool;

	struct xvt_machine_chain chain;
	struct xvt_vm_halt halt;   /* halt.c */
	struct xvt_vm_panic panic; /* panics.c */
	struct xvt_machine_header header;

	struct xvt_machine_vmm vmm;
	struct xvt_machine_span span;

	struct xvt_machine_files files;
	struct xvt_vm_clocks clocks; /* pace.c and clocks.c; space.c resets the paces */
	struct xvt_machine_exact exact;
	struct xvt_vm_bell bell; /* sleep.c */
	struct xvt_vm_stall stall;
	struct xvt_vm_space space;

	struct xvt_machine_loose loose;
	struct xvt_machine_status status;

	struct xvt_vm_since since; /* changes.c */
	struct xvt_vm_lack waits;  /* waits.c */

	struct xvt_machine_notes notes;
};

/* The last whole second, see status.c. */
struct xvt_session_second {
	/* private to status.c */
	uint64_t number;    /* value of s->seconds; the trace has its counters */
	uint64_t clock;	    /* end of the second */
	uint64_t ns;	    /* the length */
	uint64_t waited_ns; /* time waited for the disk since the start */
	bool disk_told;	    /* the note about a slow disk is written */
};

/* Files of a set, see rotate.c. */
struct xvt_session_rotate {
	/* written by rotate.c */
	bool pending;			/* the border is due: runs that are put are kept (emit.c) */
	bool wanted;			/* xvt_session_rotate() was called */
	uint32_t number;		/* of the file in its set */
	uint64_t begin_clock;		/* when the file began */
	uint64_t begin_bytes;		/* size of the part before its events */
	uint64_t failed_second;		/* when a next file could not be made; 0: it could */
	int err;			/* -errno of that; 0: since the last request all was well */
	struct xvt_file_info file_info; /* what FILE says */
	uint64_t reported_watermark;
	/* private to rotate.c */
	uint64_t rounds;
};

/* Metadata for the next files, see carry.c. */
struct xvt_session_carry {
	/* private to carry.c */
	bool open;
	int fd;
	uint64_t used;
	bool told; /* the note that some is missing is written */
};

/* Of the machines whose rings the recorder writes: one is the host. */
static inline bool xvt_vm_is_host(const struct xvt_vm *vm)
{
	return vm->own && !vm->passive;
}

/* share.c: the users whose machines are read. */
struct xvt_session_share {
	/* written by share.c */
	struct xvt_owner **owners;
	size_t nr_owners;
	size_t nr_sharing; /* of them, with a machine that is not gone */
	/* private to share.c */
	size_t nr_reading; /* of them, with a machine that the pass before read */
};

/* Numbers of machines and rings in the trace, and room for rings. */
struct xvt_session_table {
	/* written by machine.c left.c */
	size_t nr_places; /* rings, with those that no writer has used yet */
	/* written by machine.c host.c */
	uint32_t next_vm; /* numbers in the trace, which are not reused */
	/* written by machine.c */
	uint32_t next_ring;
	/* private to unused.c */
	size_t rings_room;
};

struct xvt_session_passes {
	/* written by session.c snapshot.c */
	bool joined;	      /* events are emitted */
	uint64_t grace_clock; /* end of the recorder's last absence: silence before it is not
				 charged to a guest */
	/* written by session.c sleep.c */
	uint64_t last_clock;
	/* written by session.c */
	uint64_t next_clock; /* earliest next pass; see xvt_session_pass_at() */
	/* written by session.c */
	uint64_t number;
	uint64_t next_second_clock;
	uint64_t seconds; /* whole seconds so far */
	/* private to session.c */
	uint64_t next_format_clock;
	uint64_t gap_ns;
	uint64_t pace_clock; /* when the paces of clock measurements were set */
	bool clock_unsound;  /* the warning about the counter is written */
};

struct xvt_session_off {
	/* written by end.c */
	uint64_t clock; /* when recording was switched off; 0: not yet */
	bool ending;
};

struct xvt_session_snapshot {
	/* written by snapshot.c */
	uint64_t ns; /* the last moment that it holds, host ns; 0: not chosen yet */
	/* private to snapshot.c */
	uint64_t clock;
	/* written by session.c */
	bool done;
};

struct xvt_session_told {
	/* private to host_clock.c */
	bool went_back; /* the error note is written */
	bool slewing;	/* CLOCK_MONOTONIC is slewing, by the newest note about it */
};

/* Clock measurements. */
struct xvt_session_clocks {
	/* written by clocks.c pace.c */
	uint64_t took; /* ticks spent on measurements since the paces were set */
	/* written by clocks.c pace.c */
	uint64_t *due;	    /* host clock at which each ring's clock needs service again */
	uint64_t first_due; /* earliest value in due[] */
	/* written by clocks.c */
	uint64_t next_scan_clock; /* earliest next scan of due[] */
	size_t nr_asked;
	/* written by clocks.c sleep.c */
	uint64_t looked_clock; /* when all open measurements were last polled */
	/* private to pace.c */
	size_t room; /* entries of due[] that have room */
	/* private to clocks.c */
	int64_t left; /* ticks that measurements of any machine may take: not used by users */
	uint64_t refill_clock;
	struct xvt_asked asked[XVT_ASKED_MAX];
	size_t nr_silent;	  /* entries of asked[] with `silent` */
	size_t first_asked;	  /* index in asked[] of the first one to poll */
	size_t next_ring;	  /* ring at which that scan begins */
	uint64_t next_meet_clock; /* earliest next xvt_session_service_clocks() */
	struct xvt_measured measured;
};

struct xvt_session_scan {
	/* written by scan.c park.c */
	struct xvt_ring **active; /* active rings of the current pass, by machine and ring */
	/* written by scan.c */
	int err;	       /* the loop failed while data was read; the recording ends */
	uint64_t parked_clock; /* everything older in parked rings is copied */
	uint64_t parked_ns;    /* bound that parked rings put on the merge, host ns */
	uint64_t proof;	       /* proof clock that the current scan may give; 0: none */
	/* written by scan.c left.c */
	size_t nr_active;
	/* private to park.c */
	size_t active_room;
	/* private to scan.c */
	uint64_t parked_proof_ns; /* parked_clock for the current scan, in host ns */
	uint64_t drains;	  /* scans of all machines so far */
	uint64_t proof_candidate; /* host clock of a pass, not yet old enough for a proof of
				     idleness */
	uint64_t unpark_clock;	  /* up to here, parked rings have had their periodic wake-ups */
	size_t next_unpark;	  /* ring that is unparked next */
};

struct xvt_session_checkpoint {
	/* written by checkpoint.c park.c */
	uint8_t *dirty; /* XVT_DIRTY_ flags of each ring */
	/* private to park.c */
	size_t dirty_room;
	/* written by checkpoint.c */
	bool in_flight;	 /* trace data is on its way into the file, after which the regions are
			    updated */
	uint64_t bytes;	 /* size of the trace that the checkpoint needs in the file */
	uint64_t events; /* value of merge.emitted at the newest checkpoint */
	/* written by checkpoint.c rotate.c */
	bool stats_wait; /* counters were updated for status only: the disk was full */
	/* private to checkpoint.c */
	uint64_t clock;	    /* start of the newest checkpoint */
	bool counters_late; /* a second ended while a checkpoint was in flight: its counters wait
			       for the next one */
};

struct xvt_session_emit {
	/* private to emit.c */
	bool limited;	    /* by the last check, there may not be space for every event */
	uint64_t put_bytes; /* bytes of events since the last check */
	/* written by emit.c space.c */
	uint64_t emitted_ns; /* host time of the newest event emitted in order */
	/* written by emit.c */
	uint64_t newest_ns; /* the same of all lanes */
};

/* When the machines' budgets of silence are charged. */
struct xvt_session_budgets {
	/* private to stall.c */
	uint64_t charged_clock; /* the last time */
	uint64_t grace;		/* no budget is charged before */
	uint64_t away;		/* length of the recorder's absence that caused `grace` */
};

/* Space for the trace. */
struct xvt_session_disk {
	/* written by space.c */
	bool size_reached; /* max_bytes is reached: the recording should end */
	bool full;	   /* state of the disk by the newest pass */
	/* private to space.c */
	bool dropping; /* no further event is written */
	bool full_told;
	uint64_t full_second;
	bool split;	/* the disk is nearly full: disk_bytes are divided */
	uint64_t bytes; /* of the file: what was left, with what was used of it since */
	uint64_t space; /* the same of events, before compression */
	uint64_t looked_bytes;
	bool drops_wait;     /* some ring has drops_wait */
	uint64_t file_space; /* of max_bytes for events, before compression */
	uint64_t space_used; /* of all machines */
	size_t writing;	     /* users with a machine that has given an event */
	bool any_idle;	     /* a machine has not */
};

/* Sources besides the regions. */
struct xvt_session_sources {
	/* private to kvm.c */
	struct xvt_session_kvm *kvm; /* NULL: no KVM events read */
	/* private to host.c */
	struct xvt_session_host *host; /* NULL: the host is not recorded */
	/* private to host_kernel.c */
	struct xvt_session_kernel *kernel; /* likewise */
	/* written by host_kernel.c */
	bool kernel_searches; /* a search for VMMs is under way */
	/* written by passive_kernel.c */
	struct xvt_session_formats *formats; /* NULL: not read */
	/* private to host_symbols.c */
	struct xvt_session_symbols *symbols; /* NULL: none is wanted */
};

/*
 * A session: what its files have in common, and a struct for each file that has a state. The groups
 * of members there name the files that write them, besides the functions of this header, or the one
 * file that uses them (tests/check-layers.sh).
 */
struct xvt_session {
	/* Set by session.c at the start. */
	struct xvt_session_options opt;
	struct xvt_loop *loop;
	struct xvt_sink *sink;
	struct xvt_trace_writer *trace;
	struct xvt_merge merge;
	struct xvt_pool pool;	/* memory shared by all machines */
	struct xvt_arena arena; /* registered with the loop, if opt.drain_reads */
	uint64_t attach_id;
	uint64_t start_clock;
	struct xvt_host_clock clock;

	/* machine.c, left.c: without what was freed, in the order of numbers in the trace */
	struct xvt_vm **vms;
	size_t nr_vms;
	struct xvt_ring **rings; /* all machines' rings, in the order in which they were made */
	size_t nr_rings;
	struct xvt_sums left; /* of the machines that were freed */
	struct xvt_session_table table;

	size_t nr_halting; /* halt.c: machines that are being stopped */
	bool infos_wait;   /* announce.c: some RING chunks are delayed, see
			      xvt_session_announce_late() */

	struct xvt_session_passes passes;	  /* session.c */
	struct xvt_session_share share;		  /* share.c */
	struct xvt_session_off off;		  /* end.c */
	struct xvt_session_snapshot snapshot;	  /* snapshot.c */
	struct xvt_session_told told;		  /* host_clock.c */
	struct xvt_session_clocks clocks;	  /* clocks.c, pace.c */
	struct xvt_looks looks;			  /* looks.c */
	struct xvt_heads heads;			  /* heads.c */
	struct xvt_session_scan scan;		  /* scan.c, park.c */
	struct xvt_session_checkpoint checkpoint; /* checkpoint.c */
	struct xvt_session_emit emit;		  /* emit.c */
	struct xvt_session_budgets budgets;	  /* stall.c */
	struct xvt_session_disk disk;		  /* space.c */
	struct xvt_session_rotate rotate;	  /* rotate.c */
	struct xvt_session_carry carry;		  /* carry.c */
	struct xvt_session_second second;	  /* status.c */
	struct xvt_session_wake wake;		  /* sleep.c */
	struct xvt_session_way way;		  /* way.c */
	struct xvt_note_limit notes;		  /* notes.c, of all machines */
	struct xvt_session_sources sources;
};

#define XVT_WAIT_FORMAT_NS 50000000ull /* between two checks of an unformatted region */

/* Returns whether a is before b. Clock values may wrap. */
static inline bool earlier(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/* Returns now - then, or 0 if `then` is later: a pass compares clock values read at different
 * moments. */
static inline uint64_t since(uint64_t now, uint64_t then)
{
	return earlier(then, now) ? now - then : 0;
}

static inline uint64_t sooner(uint64_t a, uint64_t b)
{
	return earlier(a, b) ? a : b;
}

static inline uint64_t ticks(const struct xvt_session *s, uint64_t ns)
{
	return xvt_host_clock_ticks(&s->clock, ns);
}

/* The next pass is not before `clock`. */
static inline void xvt_session_pass_at(struct xvt_session *s, uint64_t clock)
{
	s->passes.next_clock = clock;
}

/* All of the ring's counters are to go into the file. */
static inline void xvt_session_set_dirty(struct xvt_session *s, const struct xvt_ring *r)
{
	s->checkpoint.dirty[r->session.slot] |= XVT_DIRTY;
}

/* A ring was made, for a place in the arrays that have one for each ring. */
static inline void xvt_session_begin_slot(struct xvt_session *s, size_t slot)
{
	s->checkpoint.dirty[slot] = XVT_DIRTY;
	s->clocks.due[slot] = 0;
	s->clocks.first_due = 0;
}

/* A ring moves there, since rings before it were freed. */
static inline void xvt_session_move_slot(struct xvt_session *s, size_t to, size_t from)
{
	s->checkpoint.dirty[to] = s->checkpoint.dirty[from];
	s->clocks.due[to] = s->clocks.due[from];
}

/* The machine of a ring, whose region is a part of it. */
static inline struct xvt_vm *xvt_vm_of_ring(const struct xvt_ring *r)
{
	return r->relayed ? container_of(r->region, struct xvt_vm, relay.region)
			  : container_of(r->region, struct xvt_vm, region);
}

/* Returns the machine with that number in the trace; NULL: it was freed. */
static inline struct xvt_vm *xvt_session_vm_by_id(const struct xvt_session *s, uint32_t id)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->id == id)
			return s->vms[i];
	}
	return NULL;
}

static inline bool is_recording(const struct xvt_session *s)
{
	return s->opt.kind == XVT_SESSION_RECORD;
}

static inline bool is_snapshot(const struct xvt_session *s)
{
	return s->opt.kind == XVT_SESSION_SNAPSHOT;
}

static inline bool is_salvage(const struct xvt_session *s)
{
	return s->opt.kind == XVT_SESSION_SALVAGE;
}

/* Returns true if the ring is processed. In a snapshot, rings without records and without a clock
 * are not. */
static inline bool xvt_session_takes_part(const struct xvt_session *s, const struct xvt_ring *r)
{
	return !is_snapshot(s) || r->snapshot.on;
}

/* Returns true if a user stopped the machine's recording, and has not started it again. */
static inline bool xvt_vm_stop_wanted(const struct xvt_vm *vm)
{
	return vm->halt.step != XVT_HALT_NONE;
}

/* Returns true if the recorder reads the machine's rings. */
static inline bool xvt_vm_is_read(const struct xvt_vm *vm)
{
	return vm->phase == XVT_VM_ATTACHED && vm->halt.step < XVT_HALT_CLOSED;
}

/* Returns true if the machine's vCPUs are paused, by its VMM's reports. Silence of a paused
 * machine is no fault. */
static inline bool xvt_vm_is_paused(const struct xvt_vm *vm)
{
	return vm->vmm.paused;
}

/* Returns true if its VMM has ended, or the machine has moved away, by its VMM's reports, and none
 * will report that it starts again (a snapshot that is put back): none of its clocks will be
 * measured again, unless a guest answers all the same. */
static inline bool xvt_vm_ended_or_moved(const struct xvt_vm *vm)
{
	return vm->vmm.vcpus_off && !vm->vmm.paused && !vm->vmm.ended;
}

/* --- copied.c --- */

/* Returns the machine of whose region that of `vm` is a copy, since it was migrated within this
 * host: the region says that this session records it already. NULL: it is no copy. */
const struct xvt_vm *xvt_vm_original(const struct xvt_session *s, const struct xvt_vm *vm);
/* Returns true if the machine cannot be attached yet, since events of its original (NULL: none) are
 * still to be written. */
bool xvt_vm_copy_waits(struct xvt_vm *vm, const struct xvt_vm *original);
/* Before the rings are attached: have them begin where those of the original ended. Returns false
 * if there is none, if it runs on, or if not all of it was written in time. */
bool xvt_vm_take_copy(struct xvt_vm *vm, const struct xvt_vm *original);

/* --- session.c --- */

/* Start to emit events, if they are not emitted yet: the session waits no longer for clocks. */
void xvt_session_join(struct xvt_session *s, uint64_t now);

/* --- emit.c --- */

void xvt_session_init_merge(struct xvt_session *s);
/* Emit what the merge can put in order now, of these rings. Returns the number of records, or
 * -errno. */
int64_t xvt_session_merge(struct xvt_session *s, struct xvt_ring *const *rings, size_t count);

/* --- loose.c --- */

/* Decides for each machine whether the next merge leaves the order of its events to the readers. */
void xvt_session_loosen(struct xvt_session *s);

/* --- rotate.c --- */

void xvt_session_init_rotation(struct xvt_session *s, const struct xvt_file_info *info);
/* Write the watermark. */
void xvt_session_put_round(struct xvt_session *s);
/* At the end of a pass: go on in the next file if that is due. Returns 0 or -errno of the trace. */
int xvt_session_look_at_rotation(struct xvt_session *s, uint64_t now);

/* --- left.c --- */

/* At the end of a pass, when a file has begun: free the machines that have left, and that no file
 * to come mentions. This runs the loop, where they have listeners. */
void xvt_session_free_left(struct xvt_session *s);

/* --- carry.c --- */

/* Write a META chunk, and keep it for the next files. */
void xvt_session_put_meta(struct xvt_session *s, const struct xvt_meta_info *info,
			  const void *bytes, size_t len);
/* Write all of it again. */
void xvt_session_put_carried(struct xvt_session *s);
void xvt_session_carry_free(struct xvt_session *s);

/* --- checkpoint.c --- */

/* Releases the records in the regions whose order is written; the sink calls it (trace/write.h). */
void xvt_session_release(void *arg);

/* Write the STATS of rings whose counters changed; with `final` of all. While the disk is full they
 * are only shown. second_over: rates per second are due. */
void xvt_session_put_stats(struct xvt_session *s, bool second_over, bool final);
/*
 * Hand all emitted events to the file. When they are there, a commit puts their sums into the
 * regions. counters: STATS of the same moment are in the trace, so that all counters go into the
 * regions; else only the events and the losses that LOST records report.
 */
void xvt_session_stage_checkpoint(struct xvt_session *s, bool counters);
/* If the staged bytes are in the file for good: regions hold their sums, for a later recorder. */
void xvt_session_commit_checkpoint(struct xvt_session *s);
/* Commit, then stage the next checkpoint. Only one is in flight; otherwise, on a slow disk, none
 * would complete. */
void xvt_session_checkpoint(struct xvt_session *s, bool counters);
/* The same, but no more often than every 20 ms and 10 us for each ring: the cost is about ten
 * nanoseconds a ring. at_once: nothing else keeps the recorder from a sleep. */
void xvt_session_checkpoint_when_due(struct xvt_session *s, uint64_t now, bool at_once);

/* --- host_clock.c --- */

/* Write the newest n lines of the host clock. They begin after all clock values read so far. */
void xvt_session_put_lines(struct xvt_session *s, int n);
/* Follow CLOCK_MONOTONIC. A new line is written before a time is computed with it. */
void xvt_session_follow_clock(struct xvt_session *s, uint64_t now);

/* --- notes.c --- */

/* Write a note into the trace and show it to the user. vm may be NULL; ring may be UINT32_MAX. */
void xvt_session_note(struct xvt_session *s, uint32_t level, struct xvt_vm *vm, uint32_t ring,
		      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same, of what the recorder says at most once in a file: no number of other notes about the
 * machine leaves it out. */
void xvt_session_note_of_file(struct xvt_session *s, uint32_t level, struct xvt_vm *vm,
			      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A change of a machine's state, which readers show among the events. The text is BEFORE: WHY
 * AFTER; together they are shorter than 512 bytes. */
struct xvt_state_note {
	uint32_t level;
	enum xvt_note_kind kind;
	uint64_t at_ns;	   /* host time of the change */
	uint64_t since_ns; /* as in struct xvt_note_state */
	const char *before;
	const char *why;
	const char *after;
};

/* As xvt_session_note(), of a machine's state. */
void xvt_session_note_state(struct xvt_session *s, struct xvt_vm *vm,
			    const struct xvt_state_note *n);

/* Report how many notes of the machine were left out: at most once a minute, and at the end
 * (final). */
void xvt_session_notes_left_out(struct xvt_session *s, struct xvt_vm *vm, uint64_t now, bool final);
/* --- space.c --- */

/* For the merge: returns true while the file cannot take more events. A later pass emits them. */
bool xvt_session_hold(void *session);
/* Returns true if the disk has no space. */
bool xvt_session_disk_full(const struct xvt_session *s);
/* To be called before a batch of events. Returns true if each event needs xvt_session_may_write(),
 * and xvt_session_put_drops() of its ring before it. */
bool xvt_session_space_limited(struct xvt_session *s);
/* Reserve `bytes` of the machine's share of the space. Returns false if the share has less left. */
bool xvt_session_may_write(struct xvt_session *s, struct xvt_vm *vm, uint64_t bytes);
/* Return a reservation that was not written. */
void xvt_session_not_written(struct xvt_session *s, const struct xvt_vm *vm, uint64_t bytes);
/* Count events that are not written: those of a run in the window, or a LOST. A LOST record reports
 * the counts later. */
void xvt_session_drop_run(struct xvt_session *s, const struct xvt_run *run);
void xvt_session_drop_lost(struct xvt_session *s, struct xvt_ring *r, const struct xvt_lost *lost,
			   uint64_t guest_clock);
/*
 * Write a LOST record behind the ring's events, at host_ns or, in the main lane, the time that this
 * has reached; 0: no event has a time. The loose lane takes it where the main lane may not. Returns
 * 0 or -errno of the trace.
 */
int xvt_session_put_loss(struct xvt_session *s, struct xvt_ring *r, uint64_t host_ns,
			 uint64_t guest_clock, const struct xvt_lost *lost);
/* Write the LOST record of dropped events of one ring (returns 0 or -errno of the trace), or of all
 * rings. */
int xvt_session_put_drops(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_put_all_drops(struct xvt_session *s);
/* Checks of the space: at the end of each pass, and once a second. */
void xvt_session_look_at_space(struct xvt_session *s);
void xvt_session_space_second(struct xvt_session *s);

/* --- sums.c --- */

/* Add the ring's counters to the sums. */
void xvt_ring_add_sums(const struct xvt_ring *r, struct xvt_sums *sums);

/* --- status.c --- */

/* Update rates, lags and notes. To be called when a second is over and its counters are in the
 * trace. */
void xvt_session_status_second(struct xvt_session *s, uint64_t now);
/* Returns the time waited for the disk since the start, in ns. */
uint64_t xvt_session_waited_ns(const struct xvt_session *s);
/* Add r->stats minus r->reported_stats to the ring's rates, before the caller sets reported_stats.
 * second_over: the counters are those at the end of a second. */
void xvt_session_status_count(const struct xvt_session *s, struct xvt_ring *r, bool second_over);

/* --- types.c --- */

/* The number that a format gives to its event; without one: id, the entry's own. */
uint32_t xvt_format_number(const uint8_t *bytes, size_t len, uint32_t id);
/* The trace has this entry: note the event whose format it is. */
void xvt_session_note_format(struct xvt_session *s, const struct xvt_meta_info *info,
			     const void *bytes, size_t len);
/* Events of the machine whose format the trace does not have. */
uint64_t xvt_vm_nameless(const struct xvt_vm *vm);

/* --- waits.c --- */

/* A ring of the machine has a clock: tell the user, once. */
void xvt_vm_tell_joined(struct xvt_session *s, struct xvt_vm *vm);
/* Once a second, and at the end: note what machines lack that have given no event. */
void xvt_session_look_for_waits(struct xvt_session *s, bool final);

/* --- announce.c --- */

/* Write VM and RING chunks, again when a field changes. A change by the guest of its ring's fields
 * is written at most once a second. */
void xvt_vm_announce(struct xvt_session *s, struct xvt_vm *vm);
void xvt_ring_announce(struct xvt_session *s, struct xvt_ring *r);
/* Write the RING chunk as it was, into a next file. Reads no word of a region. */
void xvt_ring_announce_again(struct xvt_session *s, struct xvt_ring *r);
/* Place all records of the ring by this node, its only one. */
void xvt_ring_place_by(struct xvt_session *s, struct xvt_ring *r, struct xvt_clock_node *node);
/* Write the RING chunks that were delayed to one a second and are due; with final, all of them.
 * Reads no word of a region. */
void xvt_session_announce_late(struct xvt_session *s, bool final);

/* --- metadata.c --- */

/* Copy new metadata into the trace, at most about a MiB at a time. */
void xvt_vm_read_metadata(struct xvt_session *s, struct xvt_vm *vm);
/* Returns true if the guest is still to name functions whose addresses its records hold. */
bool xvt_vm_names_due(const struct xvt_vm *vm);

/* --- request.c --- */

/* Send the first line to a guest of this generation. */
/* A note, if there is a request for it. */
void xvt_vm_cannot_be_asked(struct xvt_session *s, struct xvt_vm *vm, const char *why);
void xvt_vm_send_request(struct xvt_session *s, struct xvt_vm *vm, uint32_t generation);
/* Check for the guest's answer to the open request for events; send the next one. */
void xvt_vm_look_for_answer(struct xvt_session *s, struct xvt_vm *vm, uint64_t now);

/* At the end: report each requested event that is not known to be switched on, as an error. */
void xvt_vm_end_request(struct xvt_session *s, struct xvt_vm *vm);

/* --- machine.c --- */

/* Stop reading this machine. The machine's rings no longer hold the others back. */
void xvt_vm_gone(struct xvt_session *s, struct xvt_vm *vm, const char *why);
/* Make a machine, with room for it in s->vms. NULL: no memory. */
struct xvt_vm *xvt_vm_new(struct xvt_session *s, const char *name, const char *path);
/* Add it to the session, which owns it from here on. */
void xvt_vm_add(struct xvt_session *s, struct xvt_vm *vm);
/* Allocate all memory for the machine's rings, or none: of a ring that no writer has used the
 * memory at rest alone. Returns 0 or -ENOMEM. */
int xvt_vm_make_rings(struct xvt_session *s, struct xvt_vm *vm);
/* Attach if the guest has formatted its region. Returns 0 (attached or still waiting) or -errno
 * with the reason in `why`. */
int xvt_vm_try_attach(struct xvt_session *s, struct xvt_vm *vm, struct xvt_error *why);
/* At the end: report the events attempted in rings that are not recorded. */
void xvt_vm_tell_unrecorded(struct xvt_session *s, struct xvt_vm *vm);
/* Returns a hint why a machine's region may not be formatted: ". ...", or "". */
const char *xvt_vm_absent_hint(const struct xvt_vm *vm);
/* Free a machine without its rings, which belong to the session. */
void xvt_vm_free(struct xvt_vm *vm);
/* Set the region's attach_id, by which the guest knows that a host is attached. */
void xvt_vm_tell_attached(const struct xvt_session *s, struct xvt_vm *vm);
/* Divide the memory between the machines that are not gone. */
void xvt_session_share_memory(struct xvt_session *s);

/* Number of machines that are not gone, the host included. */
size_t xvt_session_present(const struct xvt_session *s);

/* --- share.c --- */

/* The machine's region is a file of that user. Returns 0 or -ENOMEM. */
int xvt_session_own(struct xvt_session *s, struct xvt_vm *vm, uint32_t uid);
/* The machine's file was opened as `fd`, or was not with `err`: note which file it is, and let the
 * machine share with its owner's others. Returns 0, or -errno with `why`. */
int xvt_vm_opened(struct xvt_session *s, struct xvt_vm *vm, int fd, int err, struct xvt_error *why);
/* Machines have come or gone. */
void xvt_session_share(struct xvt_session *s);
/* By this number all is divided of which the machine has a share. */
size_t xvt_session_sharing(const struct xvt_session *s, const struct xvt_vm *vm);
/* A pass begins: count of whose machines the one before read something. */
void xvt_session_share_pass(struct xvt_session *s);
/* Returns how many bytes of the machine a pass may read, of `most` that it may read of one. What it
 * reads is what it has to decode. least: what a ring needs to go on. */
uint64_t xvt_session_turn(const struct xvt_session *s, const struct xvt_vm *vm, uint64_t most,
			  uint64_t least);
/* Users with a machine that is not gone; at least 1. */
static inline size_t xvt_session_owners(const struct xvt_session *s)
{
	return s->share.nr_sharing ? s->share.nr_sharing : 1;
}
void xvt_session_share_free(struct xvt_session *s);

/* --- host_symbols.c --- */

/* Events of that type print functions: collect their addresses. */
void xvt_session_symbols_want(struct xvt_session *s, uint16_t type);
/* An event of the host, u16 type first. */
void xvt_session_symbols_event(struct xvt_session *s, const uint8_t *data, uint32_t len);
/* Returns lines as of /proc/kallsyms, sorted, with the functions that hold the addresses, for
 * free(); NULL: none. */
char *xvt_session_symbols_text(struct xvt_session *s, size_t *size);
void xvt_session_symbols_free(struct xvt_session *s);

/* --- host.c --- */

/* The host's kernel as a source, CPU by CPU. */
struct xvt_host_source {
	size_t nr_cpus;
	const uint32_t *cpus; /* their numbers */
	size_t page_size;
	/* Copy the next page of ftrace's ring buffer. Returns the number of bytes, 0 if there is no
	 * event now, or -errno. */
	ssize_t (*page)(void *arg, size_t cpu, void *to, size_t size);
	/* The number of the CPU's events that the kernel lost so far. Returns 0 or -errno. */
	int (*lost)(void *arg, size_t cpu, uint64_t *lost);
	/* Begin or stop to trace. Returns 0, -EAGAIN: there is nothing to trace yet, or -errno. */
	int (*record)(void *arg, bool on);
	/* Whether an event is to be recorded; NULL: each one. */
	bool (*keep)(void *arg, const uint8_t *data, uint32_t len);
	void *arg;
};

/* Add machine "host". Returns as xvt_session_host_add(). */
int xvt_session_host_attach(struct xvt_session *s, const struct xvt_host_source *source,
			    struct xvt_error *why);
/* Once a pass, before the rings are looked at: write what the kernel has into the host's rings. A
 * ring of a CPU that was not read to its end is `behind`. */
void xvt_session_host_feed(struct xvt_session *s);
/* Stop to trace; what the kernel has is still to be fed. */
void xvt_session_host_stop(struct xvt_session *s);
void xvt_session_host_free(struct xvt_session *s);
/* Returns whether an event of that thread, or of one whose number has the same low 16 bits, was
 * fed. */
bool xvt_session_host_saw(const struct xvt_session *s, int32_t tid);
/* The machine, or NULL. */
struct xvt_vm *xvt_session_host_vm(const struct xvt_session *s);

/* --- relayed.c --- */

/* A region whose rings hold pages that a program in the guest relays (XVT_INCOMPAT_RELAYED): make
 * what its machine needs. Nothing is done for another region. Returns 0 or -errno. */
int xvt_relayed_attach(struct xvt_vm *vm);
/* The recorder writes this ring, from those pages. */
void xvt_relayed_init_ring(struct xvt_vm *vm, struct xvt_ring *r);
/* Before the rings are looked at: copy new pages' events into them. */
void xvt_session_relayed_feed(struct xvt_session *s);
/* The host clock before which all events were stamped that the ring has; 0: nothing is proven. */
uint64_t xvt_relayed_proof(const struct xvt_session *s, const struct xvt_ring *r);
/* True if nothing follows of this generation: its relay ended in order, or reading did. */
bool xvt_relayed_is_complete(const struct xvt_ring *r);
/* True if the guest has written pages that were not read. */
bool xvt_relayed_moved(const struct xvt_ring *r);
void xvt_relayed_switch_off(struct xvt_ring *r);
/* Nothing more is read of the machine, also where its relay has not said that all is here. */
void xvt_relayed_leave(struct xvt_vm *vm);
/* The machine's memory went back to an earlier state. */
void xvt_relayed_went_back(struct xvt_ring *r);
void xvt_relayed_close(struct xvt_vm *vm); /* its region is unmapped */
void xvt_relayed_free(struct xvt_vm *vm);
/* What cannot read pages: -EPROTO with the reason if the region has them, else 0. */
int xvt_relayed_refused(const struct xvt_host_region *region, struct xvt_error *why);

/* --- passive.c --- */

/* Open the file of a new machine, by its path. Returns 0, or -errno with the reason in `why`. */
int xvt_passive_open(struct xvt_session *s, struct xvt_vm *vm, const char *spec,
		     struct xvt_error *why);
void xvt_passive_close(struct xvt_vm *vm); /* its file */
void xvt_passive_free(struct xvt_vm *vm);
const char *xvt_passive_spec(const struct xvt_vm *vm);
/* Add a machine; as xvt_session_add_rings(). */
int xvt_passive_add(struct xvt_session *s, const char *name, const char *path, bool named,
		    uint32_t rings_max, struct xvt_error *why);
int xvt_vm_add_region(struct xvt_session *s, const char *name, const char *path,
		      const uint8_t uuid[16], bool named, uint32_t rings_max,
		      struct xvt_error *why);
/* xvt_vm_try_attach() of such a machine: if its kernel has made the ring. */
int xvt_passive_attach(struct xvt_session *s, struct xvt_vm *vm, struct xvt_error *why);
/* Once a pass, before the rings are looked at: write what the guests' kernels have into the
 * machines' rings. */
void xvt_session_passive_feed(struct xvt_session *s);
/* Returns whether its stamps may be the vCPU's TSC. */
bool xvt_passive_may_be_tsc(const struct xvt_vm *vm);
/* Returns whether a CPU without a clock had events in the newest look. When they came is what is
 * known of its clock, so the next look should be soon. */
bool xvt_passive_is_measured(const struct xvt_vm *vm);
/* At the end of a file: write the formats of such machines' events into it that it does not have,
 * where it is known which kernel they are of. end: the recording is over. */
void xvt_session_passive_names(struct xvt_session *s, bool end);
/* "names_of": the kernel whose formats name the machine's events; null: they have no names. */
void xvt_passive_names_to_json(struct xvt_json *j, const struct xvt_vm *vm);
/* At the begin of a next file: write those that the file before had. */
void xvt_session_passive_carry(struct xvt_session *s);
void xvt_session_formats_free(struct xvt_session *s);
/* Returns whether the ring of a guest's kernel was read to its end after the recording was ended,
 * or is not there. */
bool xvt_passive_is_read(const struct xvt_ring *r);
/* The file that the machine's VMM has mapped. */
const struct xvt_host_region *xvt_vm_file(const struct xvt_vm *vm);

/* --- host_choice.c --- */

/* Of the events of all threads, those that are recorded. */
struct xvt_host_choice;

/* Returns a choice for free(), or NULL. */
struct xvt_host_choice *xvt_host_choice_new(void);
/* The name of an event of that type, and the text of its format. */
void xvt_host_choice_format(struct xvt_host_choice *c, uint16_t type, const char *system,
			    const char *event, const char *text);
/* The threads of VMMs: none, and one more. */
void xvt_host_choice_none(struct xvt_host_choice *c);
void xvt_host_choice_thread(struct xvt_host_choice *c, int32_t tid);
/* Returns whether an event is recorded. */
bool xvt_host_choice_keeps(struct xvt_host_choice *c, const uint8_t *data, uint32_t len);

/* --- host_role.c --- */

/* Returns the role (enum xvt_thread_role) of a VMM's thread of that name; first: of the VMM's first
 * thread. *vcpu: the vCPU of XVT_ROLE_VCPU. */
uint32_t xvt_host_role(const char *name, bool first, uint32_t *vcpu);

/* --- host_kernel.c --- */

/* Once a second: threads of the machines' VMMs that are new, and names. */
void xvt_session_kernel_second(struct xvt_session *s);
/* In each pass: go on for a millisecond with a search for VMMs. */
void xvt_session_kernel_pass(struct xvt_session *s);
/* The VMM of a machine says which thread runs a vCPU. */
void xvt_session_kernel_vcpu(struct xvt_session *s, const struct xvt_vm *vm, uint32_t vcpu,
			     int32_t tid);
/* The last names go into the trace; at its end, or at that of a file of a set. */
void xvt_session_kernel_end(struct xvt_session *s);
void xvt_session_kernel_names(struct xvt_session *s);
/* Remove the kernel's instance. */
void xvt_session_kernel_free(struct xvt_session *s);

/* --- replaced.c --- */

/* Returns true if the machine's file is to be checked in this second. Each file is checked once a
 * second; with very many machines, once in up to eight seconds. */
static inline bool xvt_session_files_turn(const struct xvt_session *s, size_t vm)
{
	size_t turns = s->nr_vms / 64;

	turns = turns < 1 ? 1 : turns > 8 ? 8 : turns;
	return vm % turns == s->passes.seconds % turns;
}

/* About once a second: detect region files that were deleted or replaced. */
void xvt_session_look_for_files(struct xvt_session *s, uint64_t now);

/* Record the file that the machine's path has now, as another machine, vm->chain.next. Returns 0,
 * or -errno with the reason in `why`. */
int xvt_vm_add_next(struct xvt_session *s, struct xvt_vm *vm, struct xvt_error *why);
/* Read nothing more of the machine, which gets the state `to`, and close its region: the claim of
 * this recorder ends. */
void xvt_vm_close(struct xvt_session *s, struct xvt_vm *vm, enum xvt_vm_state to);

/* --- halt.c --- */

/* At the end of a pass over the rings: go on with the stops that were requested. */
void xvt_session_halt_pass(struct xvt_session *s, uint64_t now);

/* --- finish.c --- */

#define XVT_NAMES_NS 500000000ull /* for a guest that names functions after its last event */

/* Switch recording off in all rings of a machine. The caller reads off_clock behind a full barrier,
 * and calls xvt_vm_measure_last() then: each ring gets one more clock node, after its last record.
 */
void xvt_vm_switch_off(struct xvt_session *s, struct xvt_vm *vm);
void xvt_vm_measure_last(struct xvt_session *s, struct xvt_vm *vm, uint64_t off_clock);
/* Returns true if no record of the ring can still come after it was switched off. */
bool xvt_ring_is_finished(struct xvt_ring *r, uint64_t off_clock);
/* Note the records of the machine that are left in its rings. */
void xvt_vm_report_undrained(struct xvt_session *s, struct xvt_vm *vm);
/* Write the LOST record of losses that no sub-buffer header has reported, behind all events. */
void xvt_ring_put_tail_loss(struct xvt_session *s, struct xvt_ring *r);

/* --- stall.c --- */

/* Time by which a machine may always hold the others back: a part of the stall time-out, in ns. */
uint64_t xvt_session_free_wait_ns(const struct xvt_session *s);
/* A machine is attached: give it the whole budget. */
void xvt_session_stall_attach(const struct xvt_session *s, struct xvt_vm *vm);
/* Once a pass, after the scan: charge the machines' budgets and bar machines whose budget is used
 * up. held: the disk kept every event back in this pass, so no machine is charged. */
void xvt_session_stall(struct xvt_session *s, uint64_t now, bool held);

/* --- vmm_events.c --- */

/* Process a report of the machine's VMM. */
void xvt_session_vm_event(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_vmm_report *r);
/* Time that the machine was paused within the recording, a current pause included, in ns. */
uint64_t xvt_vm_paused_ns(const struct xvt_session *s, const struct xvt_vm *vm);
/* `next` is recorded in place of `vm` from here on: it begins in the state that the VMM last
 * reported. */
void xvt_vm_hand_over(struct xvt_session *s, struct xvt_vm *vm, struct xvt_vm *next);
/* The recording of the machine has ended at its end_clock: readers know no more of its state. */
void xvt_vm_unseen(struct xvt_session *s, struct xvt_vm *vm, const char *why);
/* Close the machine's listener and doorbell. This runs the loop, too. */
void xvt_session_vm_stop_listening(struct xvt_session *s, struct xvt_vm *vm);
/* Close all VMM listeners and doorbells. This runs the loop, so the session must still be whole. */
void xvt_session_stop_listening(struct xvt_session *s);

/* The last report of the machine's VMM, or its guest: `how` it is not here any more. */
void xvt_vm_depart(struct xvt_vm *vm, const char *how, const char *why);
/* Something shows that the machine is here. */
void xvt_vm_is_here(struct xvt_vm *vm);

/* --- panics.c --- */

/* The run went out: note the panic that it begins with, if it does. */
void xvt_session_note_panic(struct xvt_session *s, const struct xvt_run *run);
/* Once a second: look for a panic without a record, and for a kernel that booted after one. */
void xvt_session_look_for_panic(struct xvt_session *s, struct xvt_vm *vm);
/* The machine's memory went back to an earlier state. */
void xvt_vm_revived(struct xvt_session *s, struct xvt_vm *vm);

/* The guest's words, in a region that was checked. */
static inline const struct xvt_region_hdr *xvt_vm_header(const struct xvt_vm *vm)
{
	return (const struct xvt_region_hdr *)vm->region.map;
}

/*
 * Generation of the guest by its region's header; 0: the machine is not attached. A pass loads it
 * once, so all that a pass concludes from it is about one guest.
 */
static inline uint32_t xvt_vm_generation(struct xvt_session *s, struct xvt_vm *vm)
{
	if (vm->phase != XVT_VM_ATTACHED)
		return 0;
	if (!vm->generation.known || vm->generation.pass != s->passes.number)
		vm->generation.number = xvt_load(&xvt_vm_header(vm)->generation);
	vm->generation.known = true;
	vm->generation.pass = s->passes.number;
	return vm->generation.number;
}

/* The machine is attached from here on. */
static inline void xvt_vm_panics_begin(struct xvt_session *s, struct xvt_vm *vm)
{
	vm->panic = (struct xvt_vm_panic){ .base = xvt_load(&xvt_vm_header(vm)->panics),
					   .begun_pass = s->passes.number };
}

/* --- exact.c --- */

/* A measurement begins: read the formulas of the exact sources. */
void xvt_session_exact_begin(struct xvt_session *s, struct xvt_ring *r);
/* A measurement ended: make its node exact, if a source gave the same formula before and after it
 * and the samples agree. */
void xvt_session_exact_refine(struct xvt_session *s, struct xvt_ring *r,
			      struct xvt_clock_measure *m);
/* Note that `node`, which may be an exact one, is in the map. */
void xvt_session_exact_added(struct xvt_ring *r, const struct xvt_clock_node *node);
/* Returns true if the source of the ring's last exact node still gives the same formula, and that
 * node is of the newest epoch. */
bool xvt_session_exact_holds(struct xvt_ring *r);
void xvt_session_exact_close(struct xvt_vm *vm);
/* Returns true if the machine is known to KVM. */
bool xvt_session_exact_kvm(const struct xvt_vm *vm);
/* Returns true if thread tid belongs to the machine's VMM. */
bool xvt_session_exact_thread(const struct xvt_vm *vm, int32_t tid);

/* --- kvm.c --- */

struct xvt_ftrace_event;

/* Once a pass: read the host kernel's KVM events, when due. */
void xvt_session_kvm_look(struct xvt_session *s, uint64_t now);
/* The ring's guest has answered: read all KVM events, so that every earlier change of the ring's
 * clock is known. */
void xvt_session_kvm_hear(struct xvt_session *s, const struct xvt_ring *r);
/* Take one KVM event. Events of one CPU come in order. */
void xvt_session_kvm_take(struct xvt_session *s, const struct xvt_ftrace_event *e);
/* Process, in order of time, the events taken so far that are older than until_clock. */
void xvt_session_kvm_settle(struct xvt_session *s, uint64_t until_clock);
/* Write the remaining spans into the trace, and close. */
void xvt_session_kvm_end(struct xvt_session *s);

/* --- page.c --- */

/* Begin a ring's clock pages, and its file if the user asked for one. A failure is a note. */
void xvt_session_page_open(struct xvt_session *s, struct xvt_ring *r);
/* Apply a VMM event to all clock pages of the machine. */
void xvt_session_page_event(struct xvt_vm *vm, enum xvt_vmm_event event, uint64_t at_ns);

/* --- sleep.c --- */

/* Clear need_wake and the doorbell word, which a dead recorder may have left set. */
void xvt_session_wake_attach(const struct xvt_vm *vm);
/* A pass begins: end the sleep. */
void xvt_session_got_up(struct xvt_session *s, uint64_t now);
/*
 * A pass ends with a wait of gap_ns due. `asking`: the wait is short because a clock request is
 * open. Returns how long the caller may wait, in ns; for a longer wait it has asked the guests to
 * ring.
 */
uint64_t xvt_session_sleep(struct xvt_session *s, uint64_t gap_ns, bool asking);
/* Close the doorbell of a machine, or all. This runs the loop, so the session must still be whole.
 */
void xvt_session_wake_leave(struct xvt_session *s, struct xvt_vm *vm);
void xvt_session_wake_end(struct xvt_session *s);

/* --- way.c --- */

void xvt_session_way_begin(struct xvt_session *s);
/* A pass ends: the thread may run again where it could before. */
void xvt_session_way_end_pass(struct xvt_session *s);

/* --- marks.c --- */

/* The ring's writer is present: request a mark if one is due. */
void xvt_session_mark(struct xvt_ring *r);
/* Check whether the writer has written the requested mark. */
void xvt_session_mark_look(struct xvt_ring *r);
/* Write the marks seen since the last call into the trace. */
void xvt_session_put_marks(struct xvt_session *s);

/* --- looks.c --- */

/* Records `at` to `taken` - 1 of the run went out: notes between which host times they were
 * written, if the file needs that. */
void xvt_session_note_look(struct xvt_session *s, const struct xvt_run *run);
/* Writes what was noted into the trace. */
void xvt_session_put_looks(struct xvt_session *s);

/* --- heads.c --- */

/* The run went out: notes the head of the sub-buffer that it is the first of, if it is. */
void xvt_session_note_head(struct xvt_session *s, const struct xvt_run *run);
/* Writes what was noted into the trace. */
void xvt_session_put_heads(struct xvt_session *s);
/* The same at the end of a file, with the newest head of each ring. */
void xvt_session_put_last_heads(struct xvt_session *s);

/* --- snapshot.c --- */

/* Copy all metadata. */
void xvt_vm_read_all_metadata(struct xvt_session *s, struct xvt_vm *vm);
/* Make the snapshot: choose its moment. Returns false while machines' clocks are still
 * awaited. */
bool xvt_session_snapshot_make(struct xvt_session *s, uint64_t now);
/* Snapshot: returns true if another copy pass is due before any other work. */
bool xvt_session_snapshot_copying(struct xvt_session *s);
/* Snapshot: returns true if it is complete, or the time is up. */
bool xvt_session_snapshot_over(struct xvt_session *s, uint64_t now);

/* --- unused.c --- */

/* State of a ring that no writer has used: its parked words, and its place in vm->rings. */
#define XVT_REST_BYTES (sizeof(struct xvt_parked) + sizeof(struct xvt_ring *))
XVT_ASSERT(XVT_REST_BYTES <= 512, "a region has up to 65,536 rings");

/* Returns true if no writer has used the ring, and then keeps its words in vm->parked. */
bool xvt_vm_ring_rests_unused(struct xvt_vm *vm, uint32_t index);
/* Allocate a ring, and room for it and more - 1 others in the session's lists. Returns 0 or
 * -ENOMEM. */
int xvt_vm_make_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index, size_t more);
/* Set what a ring is made of. */
void xvt_vm_init_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index);
/* The ring is attached: append it to the session's lists, for which it has room. */
void xvt_session_list_ring(struct xvt_session *s, struct xvt_ring *r);
/* Make and attach a ring that has no state so far, if a writer has used it. Returns the ring; NULL:
 * it is unused, or the machine's memory goes back, or there is none left, and
 * vm->table.no_memory is set.
 */
struct xvt_ring *xvt_vm_wake_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index);
/* The same for all rings of the machine. */
void xvt_vm_wake_used(struct xvt_session *s, struct xvt_vm *vm);

/* --- park.c --- */

/* Make room for `rings` rings in the scan's lists. Returns 0 or -ENOMEM. */
int xvt_session_park_room(struct xvt_session *s, size_t rings);
/* Make a ring, or all rings of a machine that have state, active in the next pass, whatever the
 * control words say. */
void xvt_session_unpark(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_unpark_vm(struct xvt_session *s, struct xvt_vm *vm);
/* The end of a pass: park the active rings that have no work left. */
void xvt_session_park(struct xvt_session *s);

/* --- scan.c --- */

/*
 * Scan and drain all machines. Fills s->active with the active rings, in order of (VM, ring): those
 * with a change since the last pass, or a possible one. Fills s->parked_ns with the bound of the
 * parked rings. An unchanged parked ring costs three loads.
 */
void xvt_session_drain(struct xvt_session *s, uint64_t now);

/* --- pace.c --- */

#define XVT_BURST_EVERY_NS 100000000ull /* default period of a ring's clock measurements */
/* A guest silent for longer is quiet: its waiting records are placed by what the drain knows of
 * them. */
#define XVT_QUIET_NS	   (4 * XVT_BURST_EVERY_NS)
/* A node that is wider is used only where none better comes for long. */
#define XVT_WIDE_NS	   2000000ull
/* Least time between two measurements of a ring, also if one is due at once. */
#define XVT_BURST_GAP_NS   5000000ull
/*
 * Measuring may take this part of the recorder's time. A ring with waiting records is measured as
 * often as that allows, within bounds: slow or many rings are measured more seldom. Each machine
 * has its share, and uses what other machines leave of theirs. A machine whose guest answers
 * slowly, or that has many rings, delays its own measurements only.
 */
#define XVT_CLOCKS_PART	   20

/* Shortest period of measurements of a ring with unconfirmed records, over all machines, in ns; 0:
 * none. */
uint64_t xvt_session_least_pace_ns(const struct xvt_session *s);
/* Recompute when the ring's clock is due, after a change of the ring. */
void xvt_session_clock_soon(struct xvt_session *s, const struct xvt_ring *r, uint64_t now);
/* Make room for `rings` rings. Returns 0 or -ENOMEM. */
int xvt_session_clock_room(struct xvt_session *s, size_t rings);
/* About once a second: adapt the periods of clock measurements to the time that they take. */
void xvt_session_pace(struct xvt_session *s, uint64_t elapsed);
/* Returns when the ring's clock needs service again. */
uint64_t xvt_session_ring_due(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now);
/* Returns when the ring's next measurement is due. */
uint64_t xvt_session_burst_due(const struct xvt_ring *r);
/* Returns when a ring without waiting records is measured next. */
uint64_t xvt_session_next_idle_burst(const struct xvt_session *s, const struct xvt_ring *r,
				     uint64_t now);
/* The ring's clock was measured: `to` is in its map, `from` is the measured node before it. */
void xvt_session_adapt_rest(struct xvt_session *s, struct xvt_ring *r,
			    const struct xvt_clock_node *from, const struct xvt_clock_node *to);

/* --- clocks.c --- */

/* Service all clocks that are due. Returns true if the caller should call again within 100 us. */
bool xvt_session_clocks(struct xvt_session *s, uint64_t now);
/* Host clock at which xvt_session_clocks() is next due, if nothing happens before. */
static inline uint64_t xvt_session_clocks_due(const struct xvt_session *s)
{
	return earlier(s->clocks.first_due, s->clocks.next_scan_clock) ? s->clocks.next_scan_clock
								       : s->clocks.first_due;
}
/*
 * Service answered clock requests during long work. A guest stays 200 us for follow-up requests,
 * which are sent here. Their answers are evaluated in the next pass, so no clock map changes. To be
 * called every few microseconds.
 */
void xvt_session_service_clocks(struct xvt_session *s);
/* Drop all pointers to words of the machine's region, which is about to be unmapped. */
void xvt_session_clock_forget(struct xvt_session *s, const struct xvt_vm *vm);
/* Largest number of rings whose clocks are measured at the same time. */
static inline size_t xvt_session_asked_most(const struct xvt_session *s)
{
	size_t part = s->nr_rings / XVT_ASKED_PART;

	return part < XVT_ASKED_LEAST ? XVT_ASKED_LEAST
	       : part > XVT_ASKED_MAX ? XVT_ASKED_MAX
				      : part;
}
/* The ring's clock is another one from here on: measure what is known of the one before, at once.
 */
void xvt_session_clock_ends(struct xvt_session *s, struct xvt_ring *r);
/* Another clock, and the rate that it has as far as is known, before any measurement of it. */
void xvt_session_clock_is(struct xvt_session *s, struct xvt_ring *r, uint32_t clock_id,
			  uint64_t hz);
/* Service one ring's clock: measure it if due. A ring whose clock becomes known goes live. */
void xvt_session_ring_clock(struct xvt_session *s, struct xvt_ring *r, uint64_t now);
/*
 * Write the inferred node, which the ring made of its own records, into the trace. witness_first()
 * runs before the first event that the node places, because the trace may end at any byte.
 * witness() runs at the latest at the end of a pass.
 */
void xvt_session_put_measured(struct xvt_session *s);
void xvt_session_put_inferred_node(struct xvt_session *s, struct xvt_ring *r);
void xvt_session_put_inferred(struct xvt_session *s, struct xvt_ring *r);

/* --- phase.c --- */

/* The ring has a clock: make it live and enable its writer. */
void xvt_session_ring_live(struct xvt_session *s, struct xvt_ring *r);
/* Ticks since the guest should have answered this ring's clock request; 0: no answer is due. */
uint64_t xvt_session_silence(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now);
/*
 * At the end, before the maps are closed: place the records of a ring that never got a clock. The
 * ring's newest record gets the host time at which it was copied, the earlier ones follow from
 * their own ticks at the machine's rate. They may be older by any time since the host's boot;
 * nothing confirms their times.
 */
void xvt_session_ring_clockless(struct xvt_session *s, struct xvt_ring *r);
/* Update the ring's phase: a silent or stuck ring is set aside, one that ended in order is done,
 * one that returns is live. */
void xvt_session_ring_phase(struct xvt_session *s, struct xvt_ring *r, uint64_t now);

#endif /* XVT_SESSION_PARTS_H */
