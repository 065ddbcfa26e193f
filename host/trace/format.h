/* SPDX-License-Identifier: GPL-2.0 */
/*
 * format.h - the bytes of a .xvt file: structs that are written and read as they are,
 * little-endian, 8-byte aligned, every pad byte named. No code, no memory.
 *
 * A file is a sequence of chunks. The CRC32C of a chunk covers its header (crc taken as 0) and its
 * payload. After any crash a file is therefore readable up to the last whole chunk, and a damaged
 * chunk is skipped alone. Unknown chunk types are skipped. `seq` counts from 0 without gaps;
 * `trace_id` distinguishes a chunk of this file from the bytes of another file. Chunks start at
 * multiples of 8.
 *
 *   FILE                       first: version, UUID, the host's clock
 *   VM, RING, META             before the first event that needs them, at any time
 *   TIMEBASE                   the host's clock from here on
 *   SAMPLES, NODE              the clock: raw measurements, and the map made of them
 *   LOOKS                      between which host times records were written, by the drain
 *   MARKS                      what the host saw of records that it had asked for
 *   RUNS                       when vCPUs were in their guests, as the host's kernel reports
 *   HEADS                      counters of the writers, from the headers of their sub-buffers
 *   RAW                        pieces of rings, as they were copied out of the region
 *   ORDER                      merged: host_ns never decreases over all ORDER chunks; which record
 *                              of which RAW chunk comes next, and the lines that give its time
 *   LATE                       the other lane, of the same layout: events below a watermark
 *                              already passed
 *   ROUND                      watermark: every later ORDER event has host_ns >= this
 *   STATS, NOTE                counters of a ring (cumulative, the last one counts), text
 *   INDEX                      at intervals, and before the end: the chunks before it
 *   END                        last: the file is complete
 *
 * Sets. A recording may go on from one file to the next (set, set_number in FILE). Each file is
 * whole and read alone: it begins with VM, RING, META, TIMEBASE and NODE chunks for all that goes
 * on from the file before, up to its first ROUND. The counters of each file are of its own events,
 * so they add up in each file, and over the files. The main lane of a file begins at or after the
 * end of that of the file before it.
 *
 * Time. host_ns is nanoseconds of the host's CLOCK_MONOTONIC. FILE has the first line from the
 * host's counter to it; each TIMEBASE continues it with another line. A NODE ties one guest clock
 * value to one host_ns with a bound. Between two nodes of one ring and epoch the map is the
 * straight line through them; after the last node, and before the first, it continues at the ring's
 * nominal rate. The raw guest clock of every record is kept, so all of this can be computed again.
 */
#ifndef XVT_TRACE_FORMAT_H
#define XVT_TRACE_FORMAT_H

#include "xvt_abi.h"

#define XVT_CHUNK_MAGIC	    0x43545658u		  /* "XVTC" */
#define XVT_FILE_MAGIC	    0x31454c4946545658ull /* "XVTFILE1" */
#define XVT_FILE_MAJOR	    2			  /* 2: RAW and ORDER; 1 was never released */
#define XVT_FILE_MINOR	    3
#define XVT_FILE_MINOR_RAWS 2 /* from here on, `raws` has sequence numbers: readers refuse less */
#define XVT_FILE_MINOR_OPEN 3 /* from here on, nodes have XVT_NODE_F_OPEN */
#define XVT_FILE_OLDEST	    2

/* Longest payload that a reader accepts; a writer ends a chunk far below. */
#define XVT_CHUNK_LEN_MAX   (64u << 20)

enum xvt_chunk_type {
	XVT_CHUNK_FILE = 1,
	XVT_CHUNK_VM = 2,
	XVT_CHUNK_RING = 3,
	XVT_CHUNK_META = 4,
	XVT_CHUNK_SAMPLES = 5,
	XVT_CHUNK_NODE = 6,
	XVT_CHUNK_ORDER = 7,
	XVT_CHUNK_LATE = 8,
	XVT_CHUNK_ROUND = 9,
	XVT_CHUNK_STATS = 10,
	XVT_CHUNK_NOTE = 11,
	XVT_CHUNK_INDEX = 12,
	XVT_CHUNK_END = 13,
	XVT_CHUNK_TIMEBASE = 14,
	XVT_CHUNK_MARKS = 15,
	XVT_CHUNK_RUNS = 16,
	XVT_CHUNK_RAW = 17,
	XVT_CHUNK_LOOSE = 18,
	XVT_CHUNK_LOOKS = 19,
	XVT_CHUNK_HEADS = 20,
};
#define XVT_CHUNK_LAST XVT_CHUNK_HEADS /* the last one known */

/* True for the chunks that begin with struct xvt_order_hdr. */
static inline bool xvt_chunk_of_events(uint16_t type)
{
	return type == XVT_CHUNK_ORDER || type == XVT_CHUNK_LATE || type == XVT_CHUNK_LOOSE;
}

/* XVT_CHUNK_F_ZSTD: the payload is, for ORDER, LATE and LOOSE, first their uncompressed struct
 * xvt_order_hdr; then u64, the uncompressed length of the rest; then the rest as a zstd frame. */
#define XVT_CHUNK_F_ZSTD   1u

/* In `compat` of struct xvt_file_info. The file is a part of a trace, written by `xvtrace trim`:
 * counters are of the part, `discarded` and `in_flight` are 0, and the ring's `before` is that of
 * the whole. */
#define XVT_FILE_C_TRIMMED 1u

struct xvt_chunk_hdr {
	uint32_t magic;
	uint16_t type;
	uint16_t flags; /* XVT_CHUNK_F_*; an unknown bit: skip the chunk */
	uint32_t len;	/* payload bytes; the next chunk starts at the next multiple of 8 */
	uint32_t crc;	/* CRC32C of header (with crc = 0) and payload as it is stored */
	uint64_t seq;
	uint64_t trace_id; /* first 8 bytes of the file's UUID */
};
XVT_ASSERT(sizeof(struct xvt_chunk_hdr) == 32, "chunk header layout");

struct xvt_file_info {
	uint64_t magic;
	uint16_t major;
	uint16_t minor;
	uint16_t oldest;
	uint16_t reserved0;
	uint32_t compat;
	uint32_t incompat;
	uint8_t uuid[16];
	uint32_t host_clock_id; /* enum xvt_clock_id */
	uint32_t mult; /* host_ns = base_ns + ((clock - base_clock) * mult >> shift), 128 bits */
	uint32_t shift;
	uint32_t set_number; /* of the file in its set, from 1; 0: it is not of a set */
	uint64_t base_clock;
	uint64_t base_ns;     /* CLOCK_MONOTONIC at base_clock, plus apart_ns */
	uint64_t realtime_ns; /* CLOCK_REALTIME at base_clock */
	uint64_t boottime_ns;
	uint64_t wall_error_ns; /* as in struct xvt_timebase */
	int64_t apart_ns;	/* as there; 0 in the first file of a set */
	uint8_t set[16]; /* UUID of the recording that the files of a set belong to, or zeros */
	char host_name[64];
};
XVT_ASSERT(sizeof(struct xvt_file_info) == 184, "file info layout");

/*
 * TIMEBASE: an array of these. From base_clock until the next line's base_clock, a value of the
 * host's counter is base_ns + ((clock - base_clock) * mult >> shift), in 128 bits. base_ns is where
 * the line before it ends, so the map is continuous. The chunk precedes everything that was
 * converted by it.
 */
struct xvt_timebase {
	uint64_t base_clock;
	uint64_t base_ns;
	uint32_t mult; /* not 0 */
	uint32_t shift;
	uint64_t realtime_ns; /* CLOCK_REALTIME at base_clock; it may step between two lines */
	uint64_t boottime_ns;
	/*
	 * How far host_ns is permanently ahead of CLOCK_MONOTONIC, usually 0. The host slept, which
	 * stops CLOCK_MONOTONIC, while its counter ran; or CLOCK_MONOTONIC was slewed faster than
	 * by NTP.
	 */
	int64_t apart_ns;
	/* When this line was made, the line before it was off CLOCK_MONOTONIC + apart_ns by at most
	 * this much, by its own apart_ns or by this one's; a sleep in between is not an error. */
	uint64_t error_ns;
	/* realtime_ns - (base_ns - apart_ns) is CLOCK_REALTIME minus CLOCK_MONOTONIC, exact to
	 * this. The offset changes only when the wall clock is set. 0: unknown (an older recorder).
	 */
	uint64_t wall_error_ns;
};
XVT_ASSERT(sizeof(struct xvt_timebase) == 64, "timebase layout");

enum xvt_vm_kind {
	XVT_VM_GUEST = 0,
	XVT_VM_HOST = 1,
};

/* A region_kind beside those of enum xvt_region_kind: there is no region. The machine's events were
 * read out of the ring buffer of its guest's kernel, from outside. That counts no losses, so what
 * its rings lost is a lower bound. */
#define XVT_REGION_FTRACE 16u

struct xvt_vm_info {
	uint32_t vm;	      /* number in this file, from 0 */
	uint32_t kind;	      /* enum xvt_vm_kind */
	uint32_t region_kind; /* enum xvt_region_kind, or XVT_REGION_FTRACE */
	uint32_t generation;
	uint8_t uuid[16];      /* the domain's, zeros if unknown */
	uint8_t boot_uuid[16]; /* the guest's boot */
	uint64_t clock_hz;     /* as the guest reports */
	uint64_t reserved[2];
	char name[XVT_NAME_LEN];
};
XVT_ASSERT(sizeof(struct xvt_vm_info) == 136, "vm info layout");

struct xvt_ring_info {
	uint32_t ring; /* number in this file, from 0 */
	uint32_t vm;
	uint32_t index; /* in its region */
	uint32_t type;	/* enum xvt_ring_type */
	uint32_t cpu;
	uint32_t hw_id;
	uint32_t pid;
	uint32_t tid;
	uint32_t clock_id;
	uint32_t mode; /* enum xvt_enable */
	uint32_t subbuf_size;
	uint32_t subbuf_count;
	uint64_t start_ns; /* when the daemon attached to it */
	uint64_t clock_hz; /* rate that its clock map uses; 0: the machine's */
	/*
	 * Number of the ring's events that were delivered or given up before, as far as earlier
	 * recorders, or the files before this one of its set, have them. Events that an earlier
	 * recorder took beyond it count as overwritten here. 0 in a snapshot, which does not
	 * continue another trace.
	 */
	uint64_t before;
	uint32_t clock_traits; /* XVT_CLOCK_T_*, as the writer says */
	/* Ticks by which the values of its clock differ, as the writer says or its answers show. An
	 * event is off by up to one step, which is in the bounds. 0: unknown. */
	uint32_t clock_step;
};
XVT_ASSERT(sizeof(struct xvt_ring_info) == 80, "ring info layout");

/* META: this, then the TLV's payload. */
struct xvt_meta_info {
	uint32_t vm;
	uint32_t type; /* enum xvt_meta_type */
	uint32_t id;
	uint32_t generation;
};

#define XVT_PROCESS_F_KERNEL 1u /* a thread of the kernel */

/* The kinds of the host's threads. */
enum xvt_thread_role {
	XVT_ROLE_NONE = 0, /* no thread of a machine's VMM, or not of one any more */
	XVT_ROLE_VCPU = 1,
	XVT_ROLE_ALL_VCPUS = 2, /* the thread emulates all of the machine's */
	XVT_ROLE_MAIN = 3,	/* the first thread of the VMM */
	XVT_ROLE_IO = 4,	/* of an I/O thread's object */
	XVT_ROLE_VHOST = 5,
	XVT_ROLE_WORKER = 6, /* of a pool, or of KVM */
	XVT_ROLE_OTHER = 7,  /* of the VMM; its name does not say more */
};

/* System and event of a FORMAT that withdraws those of its number: no event has them. */
#define XVT_META_WITHDRAWN	 "xvtrace"
#define XVT_META_WITHDRAWN_EVENT "withdrawn"

/* The payload of XVT_META_PROCESS. Older recorders end it behind flags. */
struct xvt_meta_process {
	uint32_t tgid; /* the process of the thread */
	uint32_t flags;
	uint64_t since_ns; /* host time from which this holds, up to the thread's next one */
	uint32_t role;	   /* enum xvt_thread_role */
	uint32_t vm;	   /* whose VMM it is; with a role */
	uint32_t vcpu;	   /* the VMM's number; of XVT_ROLE_VCPU */
	uint32_t reserved;
};
#define XVT_META_PROCESS_OLD 8u
XVT_ASSERT(sizeof(struct xvt_meta_process) == 32, "metadata process layout");

/* What the recorder knows of the kernel that wrote a machine's events of this file. */
enum xvt_kernel_state {
	XVT_KERNEL_UNKNOWN = 0,	 /* the memory that it reads does not say which one */
	XVT_KERNEL_PROVEN = 1,	 /* the guest's memory proves that it is this build */
	XVT_KERNEL_UNPROVEN = 2, /* the memory names this build; a boot before may have left that */
	XVT_KERNEL_MIXED = 3,	 /* kernels of two builds wrote them */
};

#define XVT_KERNEL_F_NAMED  1u /* the file has FORMATs of the events, from here on */
#define XVT_KERNEL_BUILD_ID 64u

/*
 * The payload of XVT_META_KERNEL, of a machine of kind XVT_REGION_FTRACE: this, and an array of
 * struct xvt_kernel_event behind it. The last one in a file counts, for all events of the machine
 * in that file. The arrays of all of them together are the events that were read. The chunk is
 * never compressed.
 */
struct xvt_meta_kernel {
	uint32_t state; /* enum xvt_kernel_state */
	uint32_t flags; /* XVT_KERNEL_F_* */
	/* Hex digits, small letters, then zeros; of UNKNOWN and MIXED all zeros. */
	char build_id[XVT_KERNEL_BUILD_ID];
};
XVT_ASSERT(sizeof(struct xvt_meta_kernel) == 72, "metadata kernel layout");

/* Records of an event, as the kernel wrote them: with their u16 type. */
struct xvt_kernel_event {
	uint16_t id;
	uint16_t least; /* bytes of the shortest and of the longest that were read; not 0 */
	uint16_t most;
	uint16_t reserved;
};
XVT_ASSERT(sizeof(struct xvt_kernel_event) == 8, "metadata kernel event layout");

enum xvt_clock_source_id {
	XVT_SOURCE_NONE = 0,
	XVT_SOURCE_HANDSHAKE = 1,
	XVT_SOURCE_KVM = 2,
	XVT_SOURCE_VMM = 3,  /* as 6, in files of older recorders */
	XVT_SOURCE_HOST = 4, /* the ring is stamped with the host's own clock */
	/* a record as its own evidence: written between two looks at its ring */
	XVT_SOURCE_DRAIN = 5,
	XVT_SOURCE_GUEST = 6, /* from memory that the guest can write; trusted like the guest */
	/*
	 * When the ring's events were seen. That an event was stamped before it was seen is a
	 * proof; that it was not stamped before the look that had not seen it is none, because a
	 * guest's CPU may be held between stamp and commit.
	 */
	XVT_SOURCE_SEEN = 7,
};

/* SAMPLES: an array of these. At some moment between the two host clock values the guest's
 * clock had the value `guest`. */
struct xvt_clock_sample {
	uint32_t ring;
	uint32_t epoch; /* the host's epoch of this ring */
	uint32_t source;
	uint32_t flags;
	uint64_t guest;
	uint64_t host_clock_lo;
	uint64_t host_clock_hi;
};
XVT_ASSERT(sizeof(struct xvt_clock_sample) == 40, "clock sample layout");

#define XVT_NODE_F_FIRST   1u /* first of its epoch: nothing is interpolated across */
/* segment_bound_ns holds since the last node that is not the drain's (XVT_SOURCE_DRAIN). So it also
 * replaces larger bounds of the drain's nodes in between: they were seen to lie on the line. */
#define XVT_NODE_F_SINCE   2u
/* The host's kernel reported changes of the guest's clock since the last measured node. In one
 * epoch their sum is in segment_bound_ns. On the first node of an epoch: the clock may have had
 * other values in between, so every time between the two epochs is unconfirmed. */
#define XVT_NODE_F_CHANGED 4u
/* Since the node before, the guest's clock lost more on the host's than both bounds explain: it may
 * have been set back in between. On the first node of an epoch: it was set back, as reported. */
#define XVT_NODE_F_BACK	   16u
/* No measurement of this ring: another ring of its machine was measured so, or the region said so.
 * The node's line gives times, and nothing is proven by it. The ring has no other nodes. */
#define XVT_NODE_F_TAKEN   32u
/*
 * The ring's rate is an average of many gaps, and a rate that is expected of its clock is open: the
 * clock may have that one, and be stopped or set back all the time by as much as the two differ.
 * What this makes of the segment is in segment_bound_ns. No samples of the segment prove less.
 */
#define XVT_NODE_F_OPEN	   64u

/* NODE: an array of these. guest <-> host_ns, off by at most bound_ns. segment_bound_ns holds
 * for every event between the previous node of the epoch and this one, or for more of them
 * (XVT_NODE_F_SINCE); the slack of an event's unordered clock read is in it. */
struct xvt_clock_node {
	uint32_t ring;
	uint32_t epoch;
	uint32_t source;
	uint32_t flags;
	uint64_t guest;
	uint64_t host_ns;
	uint64_t bound_ns;
	uint64_t segment_bound_ns;
};
XVT_ASSERT(sizeof(struct xvt_clock_node) == 48, "clock node layout");

#define XVT_LOOK_F_BESIDE 1u
#define XVT_LOOK_F_GUESS  2u

/*
 * LOOKS: an array of these. The ring's events that have a recorded time from first_ns to last_ns
 * were written between lo_ns and hi_ns: their ring had been proven idle at lo_ns, and they had been
 * copied at hi_ns. lo_ns 0, hi_ns UINT64_MAX: that side is not known. This does not depend on the
 * guest's clock. Which of the events at these times an entry is of:
 * - XVT_LOOK_F_GUESS: those with XVT_EVENT_F_UNCONFIRMED. Nothing else bounds one of these, and
 *   each has an entry. Without XVT_LOOK_F_BESIDE a line of the map gives their times.
 * - XVT_LOOK_F_BESIDE alone: those of the others that no segment between two nodes bounds. This
 *   alone does, and each of them has an entry, unless nothing is known of it.
 * - neither: the rest. Some have an entry, for checks.
 * Where several entries of one kind hold a time, all of them together apply: from the smallest
 * lo_ns to the largest hi_ns.
 */
struct xvt_clock_look {
	uint32_t ring;
	uint32_t flags;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t lo_ns;
	uint64_t hi_ns;
};
XVT_ASSERT(sizeof(struct xvt_clock_look) == 40, "look layout");

/*
 * MARKS: an array of these. The ring's XVT_ID_MARK record with that number, if it was not lost, was
 * stamped between the two host clock values. The first was read before the writer was asked for the
 * record, the second after the writer had acknowledged it. Marks are not used for the map, so the
 * map can be checked against them.
 */
struct xvt_mark_seen {
	uint32_t ring;
	uint32_t reserved;
	uint64_t number;
	uint64_t host_clock_before;
	uint64_t host_clock_after;
};
XVT_ASSERT(sizeof(struct xvt_mark_seen) == 32, "mark layout");

#define XVT_RUN_F_LOST 1u

/*
 * RUNS: an array of these. The vCPU was in its guest at some moments between the two host clock
 * values, and at none between two of its spans. Before its first span and after its last one its
 * state is unknown. The spans are only roughly in order of exit_clock; a reader sorts them. With
 * XVT_RUN_F_LOST the kernel lost its events of this host CPU between the two values, so the state
 * of every vCPU is unknown there; vm is UINT32_MAX, and vcpu is the number of lost events (0:
 * unknown).
 */
struct xvt_run_span {
	uint32_t vm;
	uint32_t vcpu; /* the VMM's number: hw_id of its ring */
	uint32_t host_cpu;
	uint32_t flags;
	uint64_t enter_clock;
	uint64_t exit_clock;
};
XVT_ASSERT(sizeof(struct xvt_run_span) == 32, "run span layout");

#define XVT_HEAD_F_FIRST 1u

/*
 * HEADS: an array of these, in the order of each ring. The counters in the header of the sub-buffer
 * at `pos`, which the ring's writer stored when it opened that. They count what lies before `pos`,
 * and the events that were inside the writer: at most XVT_MAXNEST of them. The differences between
 * two heads are a second account of the records between them. XVT_HEAD_F_FIRST: the file does not
 * have all of what lies between this one and the one before it.
 */
struct xvt_subbuf_head {
	uint32_t ring;
	uint32_t flags;
	uint64_t pos;
	uint64_t attempted;
	uint32_t discarded;
	uint32_t lost[XVT_LOST_CAUSES];
};
XVT_ASSERT(sizeof(struct xvt_subbuf_head) == 48, "sub-buffer head layout");

/* RAW: pieces, each this header and `len` bytes of its ring from position `pos` on. A piece lies in
 * one sub-buffer and ends where a record ends. */
struct xvt_raw_piece {
	uint32_t ring;
	uint32_t len; /* a multiple of 8 */
	uint64_t pos;
};
XVT_ASSERT(sizeof(struct xvt_raw_piece) == 16, "raw piece layout");

/*
 * ORDER, LATE and LOOSE: `count` events. The payload is, in this order:
 *   this header
 *   own_len bytes: the host's own events, each a struct xvt_event_hdr and its payload padded to 8
 *   u64 raws[nr_raws]: `seq` of the RAW chunks that are named below, which come before this one.
 *     Chunks that are inserted or missing elsewhere in the file do not matter.
 *   struct xvt_order_line lines[nr_lines]
 *   struct xvt_order_source sources[nr_sources]
 *   the sequence, if nr_sources is not 0: for each event the number of the source whose next record
 *   it is, or nr_sources for the next of the host's own. Each number has `width` bits, the first
 *   one the lowest of the first byte. With nr_runs there are nr_runs numbers instead, padded to
 *   whole words, and then as many bytes: so many events, less one, have that number in a row.
 *   Zeros up to a whole word, and one word of zeros behind it.
 * Without sources all events are the host's own.
 *
 * The events of ORDER chunks, one after the other, are in order of time: the main lane. Those of
 * LATE chunks are in no order. Those of LOOSE chunks are in order of time for each ring, and a
 * reader merges the rings. A recorder writes LOOSE while it has no time to merge them itself.
 */
struct xvt_order_hdr {
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t count;
	uint32_t own_len;
	uint32_t nr_raws;
	uint32_t nr_lines;
	uint32_t nr_sources;
	uint32_t nr_runs;
	uint32_t width;
	uint32_t reserved;
};
XVT_ASSERT(sizeof(struct xvt_order_hdr) == 48, "order header layout");

/* host_ns = this host_ns + (guest clock - guest) * rise / run, in 128 bits, rounded down. With
 * run == 0: host_ns. run is less than 2^63. */
struct xvt_order_line {
	uint64_t guest;
	uint64_t run; /* of the guest's clock */
	uint64_t host_ns;
	uint64_t rise; /* of host_ns */
};
XVT_ASSERT(sizeof(struct xvt_order_line) == 32, "order line layout");

/*
 * `count` adjacent records of a piece, after `skip` others; the first of all is at byte `at` of the
 * payload of RAW chunk raws[raw]. Not counted: a record that was discarded or never finished, and a
 * word of zeros in the place of a header.
 */
struct xvt_order_source {
	uint32_t ring_flags; /* as in struct xvt_event_hdr, for all of them */
	uint32_t count;
	uint32_t raw;
	uint32_t at;
	uint32_t line;
	uint16_t skip;
	uint16_t ts_bits; /* bits of the ring's short stamps */
	uint64_t ts;	  /* clock value that a short stamp at `at` extends */
};
XVT_ASSERT(sizeof(struct xvt_order_source) == 32, "order source layout");

#define XVT_ORDER_SOURCES_MAX	(1u << 20)
#define XVT_ORDER_COUNT_MAX	(1u << 24)

#define XVT_EVENT_RING_MASK	0xfffffu
#define XVT_EVENT_F_LATE	(1u << 20) /* came below a watermark already passed */
#define XVT_EVENT_F_BACKLOG	(1u << 21) /* older than the attach */
/* No later clock sample confirmed its map, or its time may be off by more than XVT_SURE_NS. */
#define XVT_EVENT_F_UNCONFIRMED (1u << 22)
#define XVT_EVENT_F_RECOVERED	(1u << 23) /* read past commit after its writer died */
#define XVT_EVENT_F_CLOCK	(1u << 24) /* its clock contradicts the map; time is clamped */

/* The largest bound of an event without XVT_EVENT_F_UNCONFIRMED. */
#define XVT_SURE_NS		1000000000u

struct xvt_event_hdr {
	uint64_t host_ns;
	uint64_t guest_clock; /* raw */
	uint32_t ring_flags;  /* ring number and XVT_EVENT_F_* */
	uint16_t id;	      /* enum xvt_id */
	uint16_t len;	      /* payload bytes, without padding */
};
XVT_ASSERT(sizeof(struct xvt_event_hdr) == 24, "event header layout");

/*
 * Payload of an event with id XVT_ID_LOST, which the host makes, at its place in the ring's order.
 * The record is not counted as an event. The record holds what was lost between the ring's record
 * before it and the one after it.
 */
struct xvt_lost {
	uint64_t lost[XVT_LOST_CAUSES];
	uint64_t overwritten; /* a lower bound while sub-buffers are skipped */
	uint64_t bad_bytes;   /* bytes that the guest wrote and that are not valid records */
	uint64_t rolled_back; /* 1: the region's contents were replaced here */
	uint64_t dropped;     /* dropped by the recorder, which had no space in the file */
};
XVT_ASSERT(sizeof(struct xvt_lost) == 72, "lost payload layout");
/* Length written by older recorders; the missing fields are 0. */
#define XVT_LOST_LEN_LEAST offsetof(struct xvt_lost, dropped)

/* A reader also accepts only the first two words, which older recorders wrote. */
struct xvt_round {
	uint64_t round;
	uint64_t watermark_ns;
	/*
	 * host_ns at which the recorder reached it; minus the watermark, it is the recorder's lag
	 */
	uint64_t written_ns;
};

/*
 * STATS: cumulative since the attach, or the begin of the file; the last one of a ring counts.
 * attempted == events + discarded + lost[] + overwritten + dropped + in_flight, where attempted,
 * discarded and lost[] are the guest's own counters, events and dropped the host's.
 */
struct xvt_ring_stats {
	uint32_t ring;
	uint32_t source;   /* enum xvt_clock_source_id */
	uint32_t rejected; /* bit per enum xvt_clock_source_id */
	uint32_t epochs;
	uint64_t attempted;
	uint64_t events; /* main lane and late lane */
	uint64_t discarded;
	uint64_t lost[XVT_LOST_CAUSES];
	uint64_t overwritten;
	uint64_t in_flight;
	uint64_t late;
	uint64_t backlog;
	uint64_t unconfirmed;
	uint64_t recovered;
	uint64_t clock_violations;
	uint64_t bad_bytes;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t bound_ns_max; /* or XVT_NO_BOUND */
	uint64_t paused_ns;
	uint64_t nest; /* contexts that were inside the writer at the last look */
	uint64_t samples;
	/* drained and not written: the disk, the file or the machine's budget was full */
	uint64_t dropped;
	/*
	 * The most events of `overwritten` that may be counted twice: they may also be in the file
	 * of an earlier recorder, which was killed. LOST records may hold at most this many more
	 * than `overwritten`. A recorder that writes this field puts all of `overwritten` into LOST
	 * records.
	 */
	uint64_t overwritten_doubt;
};
XVT_ASSERT(sizeof(struct xvt_ring_stats) == 208, "ring stats layout");
/* In bound_ns_max: the ring's times have no bound. */
#define XVT_NO_BOUND		 ((uint64_t)INT64_MAX)
/* Length written by older recorders; the missing fields are 0. */
#define XVT_RING_STATS_LEN_LEAST offsetof(struct xvt_ring_stats, dropped)

/* What a NOTE says of a machine's state, as its VMM reported it, or (WAITS) the recorder saw. */
enum xvt_note_kind {
	XVT_NOTE_TEXT = 0,   /* nothing but its text */
	XVT_NOTE_PAUSED = 1, /* the machine stands still */
	XVT_NOTE_RUNS = 2,   /* it runs; since_ns: it had stood still since then */
	XVT_NOTE_RESET = 3,
	XVT_NOTE_ASLEEP = 4, /* its guest suspended it (ACPI S3) */
	XVT_NOTE_AWAKE = 5,
	XVT_NOTE_CRASHED = 6, /* the kernel panicked */
	XVT_NOTE_SHUTDOWN = 7,
	XVT_NOTE_MOVED = 8, /* to another VMM */
	XVT_NOTE_ARRIVED = 9,
	XVT_NOTE_ENDED = 10,   /* the VMM has ended */
	XVT_NOTE_UNKNOWN = 11, /* nothing is known of its state from here on */
	XVT_NOTE_WAITS = 12,   /* it has given no event so far; the reason is what it lacks */
};
#define XVT_NOTE_LAST XVT_NOTE_WAITS /* the last one known */

/* NOTE: this, then text; of a kind other than TEXT: this, struct xvt_note_state, then text. vm or
 * ring = UINT32_MAX: about the whole trace. */
struct xvt_note {
	uint32_t vm;
	uint32_t ring;
	uint32_t level;	  /* 0 info, 1 warning, 2 error */
	uint32_t kind;	  /* enum xvt_note_kind */
	uint64_t host_ns; /* when it was written */
};
XVT_ASSERT(sizeof(struct xvt_note) == 24, "note layout");

struct xvt_note_state {
	uint64_t at_ns; /* host time of the change, as the VMM or its report has it */
	/* RUNS: see there. CRASHED, SHUTDOWN, MOVED, ENDED, UNKNOWN: time of the machine's last
	 * event that was written by then. 0: not known */
	uint64_t since_ns;
	/* The reason, a part of the text: where it begins, and its length; 0: none. */
	uint32_t why_at;
	uint32_t why_len;
};
XVT_ASSERT(sizeof(struct xvt_note_state) == 24, "note state layout");

/* The most chunks and bytes between two INDEX chunks, which limits a reader's search for the last
 * INDEX of a file without an END. */
#define XVT_INDEX_CHUNKS 1024u
#define XVT_INDEX_BYTES	 (64u << 20)

/*
 * INDEX: an array of these, one for each chunk from the INDEX before it on, which is the first
 * entry (in the first INDEX: FILE). They are in order: each chunk ends where the next one begins,
 * the last one where the INDEX begins. The INDEX chunks are a list backwards; END holds the offset
 * of the last.
 */
struct xvt_index_entry {
	uint64_t offset;   /* of the chunk header in the file */
	uint64_t first_ns; /* ORDER and LATE: as in the chunk; others: 0 */
	uint64_t last_ns;
	uint32_t count;
	uint32_t type;
};
XVT_ASSERT(sizeof(struct xvt_index_entry) == 32, "index entry layout");

struct xvt_end {
	uint64_t chunks; /* before this one */
	uint64_t events; /* events of the main lane */
	uint64_t late;
	uint64_t index_offset; /* offset of the last INDEX, right before END */
};
XVT_ASSERT(sizeof(struct xvt_end) == 32, "end layout");

#endif /* XVT_TRACE_FORMAT_H */
