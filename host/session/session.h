/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session.h - one recording: its machines, their rings and their clocks, from attach to the last
 * record. A session does not depend on a command line, libvirt or a terminal. The parts of a
 * session and a machine are private (parts.h).
 */
#ifndef XVT_SESSION_H
#define XVT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "vmm/vmm.h"

struct xvt_json;
struct xvt_loop;
struct xvt_session;
struct xvt_sink;
struct xvt_vm; /* a machine of a session, which owns it */

/* Default limit of recorded rings of one machine. The guest chooses how many rings its region has,
 * and each one costs the recorder memory and time. */
#define XVT_RINGS_USUAL	    256u

#define XVT_MAX_BYTES_LEAST (1u << 20)

enum xvt_session_kind {
	XVT_SESSION_RECORD,
	/*
	 * Take a snapshot of a flight recorder: the contents of the rings at one moment, chosen
	 * when every machine has a clock. The rings are not changed, and no events are requested.
	 * Passes follow until xvt_session_snapshot_done(). No machine delays the snapshot by more
	 * than stall_timeout_ns.
	 */
	XVT_SESSION_SNAPSHOT,
	XVT_SESSION_SALVAGE, /* xvt_session_salvage() once; no passes */
};

#define XVT_SNAPSHOT_ALL UINT64_MAX
#define XVT_MEMORY_ALL	 (UINT64_MAX / 4) /* memory_bytes: no limit but the size of the regions */

/* When the events of different rings are merged. */
enum xvt_order_when {
	XVT_ORDER_AUTO,	 /* as they are recorded; a machine under pressure as XVT_ORDER_LATER */
	XVT_ORDER_NOW,	 /* as they are recorded, even if rings run full meanwhile */
	XVT_ORDER_LATER, /* by the readers of the trace */
};

struct xvt_session_options {
	enum xvt_session_kind kind;
	/*
	 * Of a snapshot: it has at least what is younger than this before its moment, or before
	 * snapshot_since_ns (host ns; 0: its moment) if that is older. Older sub-buffers are left
	 * out. XVT_SNAPSHOT_ALL: none is.
	 */
	uint64_t snapshot_before_ns;
	uint64_t snapshot_since_ns;
	/* Of a snapshot: of each ring no more than its newest bytes, but at least a sub-buffer; 0:
	 * all. */
	uint64_t snapshot_ring_bytes;
	uint32_t mode;	       /* enum xvt_enable */
	unsigned int compress; /* compression level; 0: none */
	uint64_t join_timeout_ns;
	uint64_t stall_timeout_ns;
	uint64_t memory_bytes; /* for drained, not yet written records */
	uint64_t max_bytes;    /* of the trace, 0: no limit; at least XVT_MAX_BYTES_LEAST */
	/* Of a sink with several files: the number of the first one in the set, and when the next
	 * one begins, by its size and time; 0: never. `folder` holds metadata for the next files,
	 * in a file without a name; NULL: in memory. */
	uint32_t set_number;
	uint64_t rotate_bytes;
	uint64_t rotate_ns;
	const char *folder;
	/* Events to request from every guest: lines "+SYSTEM:EVENT\n", or NULL. A refusal is an
	 * error note; the guest keeps recording the events that it has switched on itself. */
	const char *request;
	/* Read the rings' data from their files through the loop, into registered memory, instead
	 * of copying it from the mapping. A region whose file cannot be read is refused. */
	bool drain_reads;
	enum xvt_order_when order;
	/* Machines come and go: one whose region's file was deleted is let go when it is silent,
	 * and its memory is freed. The machine's counters stay. */
	bool follow;
	/* Whether a file of that user may take the place of another user's; NULL: each may. */
	bool (*trusts)(uint32_t uid);
	bool run_spans; /* also record when each vCPU of a KVM machine ran: RUNS chunks */
	/* Returns true if thread tid runs vCPUs of the machine. NULL: use /proc and
	 * KVM's debugfs. */
	bool (*kvm_thread)(const struct xvt_vm *vm, int32_t tid);
	const char *host_root;	    /* root of the host's proc and sys; NULL: / */
	const char *clock_page_dir; /* directory for a file NAME.RING of each ring; NULL: none */
	/* Shows a line of text to the user. vm may be NULL; level as in struct xvt_note. May be
	 * NULL. */
	void (*note)(void *arg, uint32_t level, const char *vm, const char *text);
	/* The same for users who follow what becomes of the machines: each change of one's state
	 * that is told as a note of level 0, after that. May be NULL. */
	void (*state)(void *arg, const char *vm, const char *text);
	void *note_arg;
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
		    const uint8_t uuid[16], bool named, struct xvt_error *why);

/* xvt_session_add() with another limit than XVT_RINGS_USUAL: the first rings_max rings of the
 * machine are recorded. A note says how many are not. */
int xvt_session_add_rings(struct xvt_session *s, const char *name, const char *path,
			  const uint8_t uuid[16], bool named, uint32_t rings_max,
			  struct xvt_error *why);

/* A path "ftrace:FILE[@OFFSET]" names the ring of its guest's kernel, which is read from outside:
 * at the offset, or where it is found in the file. Returns whether it is one, and then *len is the
 * length of FILE. */
#define XVT_FTRACE_PATH "ftrace:"
bool xvt_session_path_is_ftrace(const char *path, size_t *len);

/* Returns the machine of that name, or NULL. */
struct xvt_vm *xvt_session_find(const struct xvt_session *s, const char *name);
/* Returns machine `i`, counted from 0 in the order of the calls that added them, or NULL. */
struct xvt_vm *xvt_session_vm(const struct xvt_session *s, size_t i);
const char *xvt_session_vm_name(const struct xvt_vm *vm);
/* The name of the first machine with its path. */
const char *xvt_session_vm_first_name(const struct xvt_vm *vm);
/* Returns whether a machine has this path, or reads the file that the path leads to. */
bool xvt_session_has_region(const struct xvt_session *s, const char *path);
bool xvt_session_vm_is_host(const struct xvt_vm *vm);
/* The machine is read out of its kernel's own ring buffer: its losses are lower bounds. */
bool xvt_session_vm_is_ftrace(const struct xvt_vm *vm);
const char *xvt_session_vm_path(const struct xvt_vm *vm);    /* of its region */
const uint8_t *xvt_session_vm_uuid(const struct xvt_vm *vm); /* 16 bytes; zeros: unknown */
uint32_t xvt_session_vm_rings_most(const struct xvt_vm *vm); /* that are recorded of it */

/* Use the guest-writable clock formulas of the machine's region, see clock/vmm.h. */
void xvt_session_vm_trust_clock(struct xvt_vm *vm);

/*
 * Use the doorbell of a machine's guest, at the ivshmem server at `path`. If every machine has a
 * working doorbell, a recorder without work sleeps for up to a second. Returns 0, or -errno with
 * the reason in `why`. Later failures are notes, and polling goes on.
 */
int xvt_session_wake_add(struct xvt_vm *vm, const char *path, struct xvt_error *why);
/* The socket of its ivshmem server, as its VMM names it; "": unknown. Kept for the caller: the
 * session connects to it by xvt_session_wake_add() only. */
void xvt_session_wake_set_server(struct xvt_vm *vm, const char *path);
const char *xvt_session_wake_server(const struct xvt_vm *vm);
/*
 * Returns whether the caller should look for the machine's doorbell now: until it was given one or
 * xvt_session_wake_sought() is called, and for the last time when its guest has formatted its
 * region. A server that starts later than that has no QEMU as a peer.
 */
bool xvt_session_wake_seek(struct xvt_vm *vm);
void xvt_session_wake_sought(struct xvt_vm *vm);

/* Take a report of a machine's VMM. Listeners call it (xvt_vmm_fn) with struct xvt_vm * as `arg`.
 * The session closes the listener that it is given by xvt_session_vm_listens(). */
void xvt_session_vmm_report(void *arg, const struct xvt_vmm_report *r);
void xvt_session_vm_listens(struct xvt_vm *vm, struct xvt_vmm *listener);
/* Returns true if the machine's listener has lost its VMM: it reported XVT_VMM_GONE with an error.
 * A new one may be given by xvt_session_vm_listens(), which closes the old one, and so must not be
 * called from a callback of the loop. */
bool xvt_session_vm_unheard(const struct xvt_vm *vm);

/* Run a pass: measure clocks, drain, merge, write. Returns 0 or -errno of the trace's sink.
 * *sleep_ns: how long the caller may wait before the next call. */
int xvt_session_pass(struct xvt_session *s, uint64_t *sleep_ns);

/* Write everything emitted to the sink. Returns 0 or -errno of the sink. */
int xvt_session_flush(struct xvt_session *s);

/* Go on in the next file as soon as possible: at the end of one of the next passes. No effect where
 * the sink has one file. */
void xvt_session_rotate(struct xvt_session *s);
/* Returns 0: all files that were wanted have begun; -EAGAIN: one will begin soon; or the -errno
 * with which it could not be made. That is tried again. */
int xvt_session_rotation(const struct xvt_session *s);
/* Sets rotate_bytes and rotate_ns of the options anew. */
void xvt_session_rotate_at(struct xvt_session *s, uint64_t bytes, uint64_t ns);

/* Returns the host's clock now, in ns: the time line of the session's events. */
uint64_t xvt_session_now_ns(const struct xvt_session *s);

/* Returns true if the trace has max_bytes: the recording should end. */
bool xvt_session_size_reached(const struct xvt_session *s);

/* Returns true if the snapshot is complete, or its time is up. *moment_ns: the last moment that it
 * holds, host ns; 0: not chosen yet. */
bool xvt_session_snapshot_done(const struct xvt_session *s, uint64_t *moment_ns);

struct xvt_salvaged {
	uint64_t events;
	uint64_t recovered;  /* of them, past commit */
	uint64_t unfinished; /* records without DONE, which are left out */
	size_t rings;
	bool at_work;  /* a recorder has the region now */
	uint64_t died; /* attach id of the recorder that did not end in order; 0: none */
};

/*
 * Read everything in the region at `path`, whose guest is gone. The region does not change. `name`
 * of the machine: NULL for its own. `opened` is called when the region is open, before its rings
 * are read: no file is opened after that. Returns 0, or -errno with the reason in `why`; -EAGAIN:
 * the region is not formatted.
 */
int xvt_session_salvage(struct xvt_session *s, const char *path, const char *name,
			void (*opened)(void), struct xvt_salvaged *sum, struct xvt_error *why);

/*
 * Machines that are stopped and started by request, while the others are recorded. A stopped
 * machine is not recorded, whatever comes under its path, until it is started. Then it is another
 * machine of the trace, NAME.2.
 */

/*
 * Returns the next machine, from number *at on, whose name, first name or UUID matches the pattern
 * (as in a shell), and advances *at; NULL: none. Of the machines of one path it is the newest one.
 * The host is none of them.
 */
struct xvt_vm *xvt_session_next_match(const struct xvt_session *s, size_t *at, const char *pattern);
/* Stop the recording of a machine that is not stopped; the following passes do it. uid: of the user
 * who asked. */
void xvt_session_vm_stop(struct xvt_vm *vm, uint32_t uid);
/* Returns whether a stop was requested, and no start after it. */
bool xvt_session_vm_is_stopped(const struct xvt_vm *vm);
/* How far a requested stop is. Returns 0: all is in the file, and the region is free; -EAGAIN: it
 * takes some more passes; -ENOSPC: there is no space for it on the disk. */
int xvt_session_vm_stopping(const struct xvt_vm *vm);
/*
 * Have a machine that is recorded ask its guest for more events: lines "+SYSTEM:EVENT", as those of
 * struct xvt_session_options, which go on to be asked for after a reboot. Returns 0, -ENOMEM, or
 * -E2BIG: too many lines.
 */
int xvt_session_vm_ask(struct xvt_vm *vm, const char *lines);
/* What became of that. Returns 0: all are on; -EAGAIN: it is not known yet; else -errno, with the
 * reason in `why`. */
int xvt_session_vm_asked(const struct xvt_vm *vm, struct xvt_error *why);
/*
 * Record a stopped machine again. Returns 0, and *as is the new machine; NULL: its file is not
 * there, and it is recorded when it comes. Returns -errno with the reason in `why`, and the machine
 * stays stopped.
 */
int xvt_session_vm_start(struct xvt_vm *vm, uint32_t uid, struct xvt_vm **as,
			 struct xvt_error *why);
/* Number of machines that are stopped by request. */
size_t xvt_session_stopped(const struct xvt_session *s);

struct xvt_host_options {
	/* Events of the host's kernel, "SYSTEM:EVENT" with wildcards. A pattern that the kernel has
	 * no event for is an error. */
	const char *const *events;
	size_t nr_events;
	const char *const *wanted; /* the same, without that error: a note names what is missing */
	size_t nr_wanted;
	bool all_threads;    /* not only the threads of the machines' VMMs */
	bool all_switches;   /* sched_switch of all threads */
	uint32_t buffer_kib; /* of the kernel, for each CPU; 0: the usual */
};

/*
 * Record the host's kernel as one more machine, "host", with a ring for each CPU. To be called
 * after the other machines are added, before the first pass. Returns 0, or -errno with the reason
 * in `why`, and the session is as before. -ENOENT, -EINVAL: no such event; -EEXIST: a machine has
 * that name; others: this host's kernel cannot be traced.
 */
int xvt_session_host_add(struct xvt_session *s, const struct xvt_host_options *o,
			 struct xvt_error *why);
/* Returns whether its kernel is still to begin with the tracing. */
bool xvt_session_host_begins(const struct xvt_session *s);

/* What a machine lacks that has given no event so far. */
enum xvt_vm_waits {
	XVT_WAITS_NOT, /* nothing: it gave one, or gives none by request */
	XVT_WAITS_MODULE,
	XVT_WAITS_SIZE,
	XVT_WAITS_FORMAT,
	XVT_WAITS_PAUSED,
	XVT_WAITS_WRITER,
	XVT_WAITS_RING,
	XVT_WAITS_CLOCK,
	XVT_WAITS_EVENT, /* the machine can give some */
};
#define XVT_WAITS_TEXT 64

/* What it lacks now; of one that is gone, or after xvt_session_end(): what it lacked last. */
enum xvt_vm_waits xvt_session_vm_waits(const struct xvt_vm *vm);
/* A word for programs, the text for users ("no module yet"), which may use the caller's buffer, and
 * what a user can do. */
const char *xvt_session_vm_waits_name(enum xvt_vm_waits w);
const char *xvt_session_vm_waits_text(const struct xvt_vm *vm, enum xvt_vm_waits w,
				      char text[XVT_WAITS_TEXT]);
const char *xvt_session_vm_waits_help(const struct xvt_vm *vm, enum xvt_vm_waits w);
/* The user named this machine: it is a failure if no event of it comes. */
void xvt_session_vm_expect(struct xvt_vm *vm);
bool xvt_session_vm_is_expected(const struct xvt_vm *vm);
/* Returns whether nothing more is read of it. */
bool xvt_session_vm_is_gone(const struct xvt_vm *vm);
/* Number of machines, without the host, that can give events. */
size_t xvt_session_ready(const struct xvt_session *s);

/* The outcome of a machine's recording. */
struct xvt_vm_outcome {
	uint64_t events;
	uint64_t lost;
	uint64_t lost_by[5]; /* by the writer's causes, enum xvt_lost_cause */
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t paused_ns;
	const char *departed;  /* "ended", "moved": what its VMM reported last; NULL: it is here */
	const char *why;       /* of that, as the VMM says; "": it says nothing */
	uint64_t nameless;     /* events whose format the trace does not have */
	uint64_t clockless;    /* events of rings that had no clock */
	uint64_t bound_ns_max; /* of the other events that have a bound */
};

void xvt_session_vm_outcome(const struct xvt_vm *vm, struct xvt_vm_outcome *o);
uint64_t xvt_session_bytes(const struct xvt_session *s); /* of all files, so far */
/* Time from the session's start until recording was switched off, or now. */
uint64_t xvt_session_ran_ns(const struct xvt_session *s);

/* Changes of a machine since the call before, or since it joined. */
struct xvt_vm_changes {
	uint64_t lost; /* events of all its rings */
	/* None of its rings has had an event for that long, and the same of the call before; 0: it
	 * had none since it joined, or has left, or rests (xvt_vmm_rests()). */
	uint64_t still_ns;
	uint64_t was_still_ns;
	bool crashed; /* the kernel panicked, or the VMM did not end in order */
};

void xvt_session_vm_changes(struct xvt_vm *vm, struct xvt_vm_changes *c);
/* Host time of the machine's last record that got one; 0: there is none. */
uint64_t xvt_session_vm_last_ns(const struct xvt_vm *vm);

/* Write a note into the trace, and show it to the user as an event of the recording. level: as in
 * struct xvt_note. vm may be NULL. */
void xvt_session_say(struct xvt_session *s, uint32_t level, struct xvt_vm *vm, const char *text);

/* All events up to this host time are in the trace, but for those that will come late. 0: none is
 * yet. */
uint64_t xvt_session_watermark(const struct xvt_session *s);

/* Number of machines that were added, without the host and without those that replaced one. */
size_t xvt_session_machines(const struct xvt_session *s);
/* Number of machines, without the host, that can still deliver events. */
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

/*
 * Take nothing: xvt_session_end() leaves the regions as they are. Only before the first pass. The
 * usual end consumes the records that earlier recordings left in the regions.
 */
void xvt_session_call_off(struct xvt_session *s);

/* End the recording: switch it off, drain and place everything, write counters and index. Returns
 * the first error. Only xvt_session_free() may follow. */
int xvt_session_end(struct xvt_session *s);
void xvt_session_free(struct xvt_session *s);
/* xvt_session_end() and xvt_session_free(). */
int xvt_session_finish(struct xvt_session *s);

#endif /* XVT_SESSION_H */
