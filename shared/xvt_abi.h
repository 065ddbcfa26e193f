/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_abi.h - what lies in a region, byte for byte.
 *
 * A region is one shared memory object (QEMU ivshmem BAR2, or any mapped file). A region belongs to
 * one VM. The guest writes events into rings, one ring for each writer context (a vCPU, a thread);
 * the host reads them. Little-endian, fixed widths, no pointers, no padding that is not named.
 *
 *   0          +--------------------------+
 *              | region header     [once] |  geometry, clock, its writer; magic last
 *   host_off   +--------------------------+
 *              | host page         [host] |  nonce, attach state, requests to the guest
 *   meta_off   +--------------------------+
 *              | metadata         [guest] |  append-only TLVs: event formats, comms, ...
 *   ctl_off    +--------------------------+
 *              | ring 0 writer    [guest] |  positions, stamps, counters       (align bytes)
 *              | ring 0 host       [host] |  cons, enable, epoch, mailbox      (align bytes)
 *              | ring 1 ...               |
 *   data_off   +--------------------------+
 *              | ring 0: N sub-buffers    |  subbuf_count x subbuf_size
 *              | ring 1 ...               |
 *              +--------------------------+
 *
 * Trust. All of it is writable by the guest, the host's words included. So
 * the host copies the header once, checks the copy, and from then on uses its own geometry
 * and its own positions; what it reads back from "[host]" words is a hint. The guest trusts
 * its host. [once] marks words written at format time and constant for a generation.
 *
 * Positions are bytes counted from the ring's first use, 64 bits, and only ever compared by
 * difference. Position p lies at data offset p mod (S * N), in sub-buffer p / S.
 *
 * A sub-buffer starts with struct xvt_subbuf_hdr, which holds everything needed to decode
 * it alone. Records follow, each a multiple of 8 bytes and aligned to 8:
 *
 *   63..62  61    60    59    58....44  43....32  31............0
 *   lap     DONE  FULL  SAME  id        len8      ts_lo
 *   [ FULL: one more word: epoch in 63..32, time bits 63..32 in 31..0 ]
 *   payload
 *
 *   ts_lo   low bits of the writer's clock; ts_bits of them count. The time of a record is
 *           the smallest t >= the time of the record before it (or the sub-buffer's ts_base)
 *           with these low bits. FULL: all 32 bits count and the next word has the rest.
 *           SAME: the time of the record before it, whatever ts_lo says.
 *   len8    the whole record in 8-byte words, header included, 1..4095.
 *   DONE    the payload is complete. Stored with release after the payload.
 *   lap     (p / (S * N)) mod 4: tells a record from what an earlier lap left behind.
 *
 * A record has no length in bytes: its payload is a multiple of 8, filled up with zeros. PAD_END
 * has DONE and lap as any record, and a len8 that a reader ignores: it reaches to the border.
 * docs/writing-a-writer.md says the rest as an order of steps, fences included.
 *
 * Versions. A reader must refuse a region whose `oldest` is above the major version that it
 * knows, or with an `incompat` bit that it does not know. `minor` and `compat` bits may be
 * ignored. A change of layout changes `major` and adds a frozen image to tests/abi/.
 */
#ifndef XVT_ABI_H
#define XVT_ABI_H

#include "xvt_port.h"

#define XVT_MAGIC	     0x3145434152545658ull /* "XVTRACE1" */
#define XVT_RING_MAGIC	     0x52545658u	   /* "XVTR" */
#define XVT_SUBBUF_MAGIC     0x53545658u	   /* "XVTS" */

#define XVT_MAJOR	     1
#define XVT_MINOR	     1 /* 1.1: clock pages */
#define XVT_OLDEST	     1

/*
 * Bits of `incompat`. RELAYED: the rings hold no events but pages of the guest's own ftrace, which
 * a program in the guest copies there (XVT_ID_FTRACE_PAGE). The stamps of their events are older
 * than the records, and a ring's `relayed_to` says how complete it is.
 */
#define XVT_INCOMPAT_RELAYED 1u
#define XVT_INCOMPAT_KNOWN   XVT_INCOMPAT_RELAYED

#define XVT_ALIGN_MIN	     4096u
#define XVT_ALIGN_MAX	     65536u
#define XVT_SUBBUF_SIZE_MIN  1024u
#define XVT_SUBBUF_SIZE_MAX  (1u << 24)
#define XVT_SUBBUF_COUNT_MIN 4u
#define XVT_SUBBUF_COUNT_MAX 65536u
#define XVT_RING_COUNT_MAX   65536u
#define XVT_NAME_LEN	     64

/* Which counter stamps the records of a ring. */
enum xvt_clock_id {
	XVT_CLOCK_NONE = 0,
	XVT_CLOCK_TSC = 1,     /* x86 rdtsc */
	XVT_CLOCK_CNTVCT = 2,  /* arm64 virtual counter */
	XVT_CLOCK_CALLER = 3,  /* a function that the writer's owner gave */
	XVT_CLOCK_COUNTER = 4, /* a plain counter: order without time */
};

/*
 * Traits of a ring's clock, in its control block. ORDERED: the writer reads it ordered (lfence;
 * rdtsc; lfence), so that no stamp is earlier than what comes before it in the program. The bounds
 * of such a ring have no slack for that.
 */
#define XVT_CLOCK_T_ORDERED 1u

enum xvt_region_kind {
	XVT_KIND_BLANK = 0, /* formatted by the host, no writer yet */
	XVT_KIND_LINUX = 1, /* Linux guest, kernel module */
	XVT_KIND_USER = 2,  /* user-space library */
	XVT_KIND_BARE = 3,  /* bare metal */
};

/* struct xvt_region_hdr: page 0 of the region. */
struct xvt_region_hdr {
	uint64_t magic; /* [once] written last, with release; 0 while being set up */
	uint16_t major;
	uint16_t minor;
	uint16_t oldest;   /* a reader that knows this major can read it */
	uint16_t hdr_size; /* sizeof(struct xvt_region_hdr) of the writer */
	uint32_t compat;   /* feature bits that a reader may ignore */
	uint32_t incompat; /* feature bits that a reader must know */
	uint64_t region_size;
	uint64_t host_off; /* the four areas: multiples of align, in this order, apart */
	uint64_t meta_off;
	uint64_t meta_size;
	uint64_t ctl_off;
	uint64_t data_off;
	uint32_t align;	     /* of control blocks, bytes: one ring can be mapped alone */
	uint32_t ctl_stride; /* from one ring's control block to the next: 2 * align */
	uint32_t ring_count;
	uint32_t subbuf_size;	/* S, power of two */
	uint32_t subbuf_count;	/* N, power of two */
	uint32_t kind;		/* enum xvt_region_kind */
	uint32_t clock_id;	/* enum xvt_clock_id, the default of all rings */
	uint32_t ts_bits;	/* width of ts_lo that the writer uses, 3..32 */
	uint64_t clock_hz;	/* ticks a second as the guest believes, 0 = unknown */
	uint8_t boot_uuid[16];	/* new at each boot of the guest */
	uint32_t generation;	/* [guest] counts inits: boot, kexec, module load */
	uint32_t request_ack;	/* [guest] last xvt_host_page.request_seq carried out */
	int32_t request_result; /* [guest] 0 or -errno of that request */
	/* [guest] addresses of functions in records, and types of events whose formats the guest
	 * sends when it meets them; and how many of both are in the metadata, or never will be;
	 * release. Both 0 where the guest names none. */
	uint32_t symbols_wanted;
	uint32_t symbols_done;
	/* [guest] machines that wrote here until this generation began, and found it begun by
	 * another one: each adds 1 and writes no more. 0 at the begin of a generation. */
	uint32_t displaced;
	uint32_t ringless; /* [guest] CPUs of this generation that came when no ring was left */
	/* [guest] panics of its kernel, in all generations, each after its PANIC record: a host
	 * that reads no rings sees them, and one for whose record no ring had room. */
	uint32_t panics;
	/* [guest] Not 0: another machine with this memory asks whether a machine writes here; with
	 * REFUSED it was refused, in this generation. xvt_region.h has the rule. */
	uint32_t claim;
#define XVT_CLAIM_REFUSED 1u
	uint32_t host_events; /* [guest] enum xvt_host_events; 0 at the begin of a generation */
	char vm_name[XVT_NAME_LEN]; /* as the guest calls itself; the host's name wins */
};
XVT_ASSERT(sizeof(struct xvt_region_hdr) == 232, "region header layout");
XVT_ASSERT(offsetof(struct xvt_region_hdr, region_size) == 24, "region header layout");
XVT_ASSERT(offsetof(struct xvt_region_hdr, align) == 72, "region header layout");
XVT_ASSERT(offsetof(struct xvt_region_hdr, boot_uuid) == 112, "region header layout");
XVT_ASSERT(offsetof(struct xvt_region_hdr, claim) == 160, "region header layout");
XVT_ASSERT(offsetof(struct xvt_region_hdr, host_events) == 164, "region header layout");
XVT_ASSERT(offsetof(struct xvt_region_hdr, vm_name) == 168, "region header layout");

/* May the host choose this guest's events? A hint: the answer to a request counts. */
enum xvt_host_events {
	XVT_HOST_EVENTS_UNKNOWN = 0, /* the owner has not said yet; or an older guest */
	XVT_HOST_EVENTS_REFUSED = 1,
	XVT_HOST_EVENTS_ALLOWED = 2,
};

#define XVT_REQUEST_LEN 2048

/* struct xvt_host_page: everything the host tells the whole VM. All [host]. */
struct xvt_host_page {
	uint64_t nonce;	    /* fresh at every pass: shows a roll-back of the memory */
	uint64_t attach_id; /* of the daemon that drains this region, 0 = none, or: */
#define XVT_ATTACH_LOOKS 1  /* a snapshot, which takes nothing */
	/* How to ring where need_wake says so, 0 = not at all: the low half is what a guest writes
	 * to the Doorbell register of its own device (peer << 16 | vector), VALID is set, and the
	 * rest tells one such word from the next. Since version 1.1; zero where the host is older.
	 */
	uint64_t doorbell;
#define XVT_DOORBELL_VALID     (1ull << 32)
#define XVT_DOORBELL_SEQ_SHIFT 33
	uint64_t reserved0[5];
	uint32_t request_seq; /* [host] release; pairs with the guest's acquire */
	uint32_t request_len;
	uint64_t reserved1[7];
	char request[XVT_REQUEST_LEN]; /* lines "+SYSTEM:EVENT" or "-SYSTEM:EVENT" */
};
XVT_ASSERT(sizeof(struct xvt_host_page) == 128 + XVT_REQUEST_LEN, "host page layout");
XVT_ASSERT(offsetof(struct xvt_host_page, doorbell) == 16, "host page layout");
XVT_ASSERT(offsetof(struct xvt_host_page, request_seq) == 64, "own line for requests");

/* Start of the metadata area. TLVs follow at once, each padded to 8 bytes. */
struct xvt_meta_hdr {
	uint64_t committed; /* [guest] bytes of TLVs that are complete; release */
	uint64_t refused;   /* [guest] TLVs that did not fit */
	uint64_t reserved[6];
};
XVT_ASSERT(sizeof(struct xvt_meta_hdr) == 64, "metadata header layout");

enum xvt_meta_type {
	XVT_META_FORMAT = 1, /* system '\0' event '\0' text of tracefs "format" */
	XVT_META_COMM = 2,   /* id = pid, payload = name, no final zero needed */
	XVT_META_KSYMS = 3,  /* lines of /proc/kallsyms, and perhaps sizes; empty: refused */
	XVT_META_PRINTK_FORMATS = 4, /* text of tracefs printk_formats */
	XVT_META_CLOCK = 5,	     /* struct xvt_clock_sync */
	XVT_META_HEADER_PAGE = 6,    /* text of tracefs events/header_page */
	XVT_META_TEXT = 7,	     /* free text: kernel version and so on */
	XVT_META_THREAD = 8,	     /* as COMM, but what a thread is: events do not change it */
	XVT_META_SINCE = 9,    /* only in files: u64 host_ns, from which the next FORMAT holds */
	XVT_META_PROCESS = 10, /* only in files: id = tid, the process of a host's thread */
	XVT_META_KERNEL = 11,  /* only in files: which kernel wrote a machine's events */
};

struct xvt_meta_tlv {
	uint32_t type; /* enum xvt_meta_type; unknown types are skipped */
	uint32_t len;  /* of the payload in bytes, without padding */
	uint32_t generation;
	uint32_t id;
};
XVT_ASSERT(sizeof(struct xvt_meta_tlv) == 16, "TLV header layout");

enum xvt_ring_type {
	XVT_RING_UNUSED = 0,
	XVT_RING_VCPU = 1,
	XVT_RING_THREAD = 2,
	XVT_RING_BARE = 3,
};

/* How the ring's writer takes its place, and so what ctl->resv holds. */
enum xvt_backend {
	XVT_BACKEND_CAS = 0,	/* resv is a position */
	XVT_BACKEND_XADD = 1,	/* resv is a sub-buffer and an offset: see xvt_resv_pos() */
	XVT_BACKEND_NONE = ~0u, /* a new generation is just changing resv from one to the other */
};

enum xvt_ring_state {
	XVT_RING_IDLE = 0,    /* initialised, without an owner (CPU never came up) */
	XVT_RING_ONLINE = 1,  /* the owner runs and answers the mailbox */
	XVT_RING_OFFLINE = 2, /* the owner is gone in an orderly way */
};

/*
 * Why an attempt left no record. FULL and WRAP close the open sub-buffer, so the gap lies at its
 * end; the others show in the header of the next one, whenever that is opened.
 */
enum xvt_loss {
	XVT_LOST_FULL = 0,  /* stop mode: the host has not read the oldest sub-buffer */
	XVT_LOST_WRAP = 1,  /* the ring would wrap onto bytes of an unfinished writer */
	XVT_LOST_BIG = 2,   /* does not fit an empty sub-buffer */
	XVT_LOST_NEST = 3,  /* deeper than XVT_MAXNEST */
	XVT_LOST_RETRY = 4, /* interrupted more than XVT_MAXRETRY times in one reserve */
	XVT_LOST_CAUSES = 5,
};

/* enable: whether, and how, the writer records. Set by the host, or by the guest at load. */
enum xvt_enable {
	XVT_ENABLE_OFF = 0,
	XVT_ENABLE_STOP = 1,	  /* a full ring drops what is new */
	XVT_ENABLE_OVERWRITE = 2, /* a full ring overwrites what is old: flight recorder */
};

/* Where a generation began, so that undrained data of the one before stays readable. */
struct xvt_ring_gen {
	uint64_t start;	      /* position of its first sub-buffer */
	uint64_t prev_commit; /* commit and resv of the generation before, */
	uint64_t prev_resv;   /* as this one found them */
	uint32_t generation;
	uint32_t prev_nest;
};
XVT_ASSERT(sizeof(struct xvt_ring_gen) == 32, "generation entry layout");

#define XVT_GEN_SLOTS 4

/*
 * struct xvt_ring_ctl: the writer's half of a ring's control block. All [guest].
 * The second line is written by the owner's CPU at every event and read by the host once a
 * pass; commit has a line of its own because it is the one that the host polls.
 */
struct xvt_ring_ctl {
	uint32_t magic;
	uint32_t type;	/* enum xvt_ring_type */
	uint32_t cpu;	/* the guest's CPU number, or the CPU that a thread last ran on */
	uint32_t hw_id; /* x86 APIC id, arm64 MPIDR affinity: what the VMM calls this vCPU */
	uint32_t pid;
	uint32_t tid;
	uint32_t claims; /* how often this ring changed its owner */
	uint32_t state;	 /* enum xvt_ring_state */
	uint32_t subbuf_size;
	uint32_t subbuf_count;
	uint32_t clock_id;
	uint32_t ts_bits;
	uint32_t generation;
	uint32_t backend;      /* enum xvt_backend of this generation: says how to read resv */
	uint32_t clock_traits; /* XVT_CLOCK_T_*; 0 in older writers */
	uint32_t clock_step;   /* ticks by which its values differ, if it steps; 0: unknown */

	uint64_t resv;	       /* end of what is reserved; moves forward, back only by discard */
	uint64_t before_stamp; /* time of the event that last tried to reserve; 0 = none */
	uint64_t write_stamp;  /* time of the event that last reserved; ~0 = none */
	uint32_t nest;	       /* writers now between entry and end */
	uint32_t nest_max;     /* deepest that events ever nested; 0 = never */
	uint32_t epoch_seen;   /* epoch of the last reserved event */
	uint32_t reserved1;
	uint64_t reserved2[3];

	uint64_t attempted; /* counters: each updated by one instruction; events, ids from 16 on */
	uint64_t discarded;
	uint64_t lost[XVT_LOST_CAUSES];
	uint64_t retries; /* diagnostic: reservations begun again */

	uint64_t commit; /* everything below is complete; release, pairs with the drain */
	/* With XVT_INCOMPAT_RELAYED, else 0. Events stamped before relayed_to are below a commit
	 * that was stored before it; release. XVT_RELAYED_ALL: no event of this generation follows.
	 * relayed_lost: what ftrace has lost of this CPU since the region was formatted, by its own
	 * counters; stored before the page that tells of it.
	 * relayed_base: the same when ftrace's instance was made, for the next relay. */
	uint64_t relayed_to;
	uint64_t relayed_lost;
	uint64_t relayed_base;
	uint64_t reserved3[4];

	uint64_t answer_seq;   /* mailbox: = request_seq once answered; release */
	uint64_t answer_clock; /* ordered clock read between seeing and answering */
	uint64_t mark_ack;     /* = mark_seq once that mark is written, or lost; release */
	uint64_t reserved4[5];

	struct xvt_ring_gen gen[XVT_GEN_SLOTS]; /* entry generation % XVT_GEN_SLOTS */
};
XVT_ASSERT(sizeof(struct xvt_ring_ctl) == 448, "ring control layout");
XVT_ASSERT(offsetof(struct xvt_ring_ctl, resv) == 64, "hot words share one line");
XVT_ASSERT(offsetof(struct xvt_ring_ctl, attempted) == 128, "counters share one line");
XVT_ASSERT(offsetof(struct xvt_ring_ctl, commit) == 192, "own line: no false sharing");
XVT_ASSERT(offsetof(struct xvt_ring_ctl, relayed_to) == 200, "relayed words");
XVT_ASSERT(offsetof(struct xvt_ring_ctl, answer_seq) == 256, "own line: handshake");
XVT_ASSERT(offsetof(struct xvt_ring_ctl, gen) == 320, "generation table");

/* From `clock` on, until the next line's: ns + (clock - line.clock) * mult 2^-40, rounded down. */
struct xvt_clock_line {
	uint64_t clock;
	uint64_t ns;
	uint64_t mult; /* nanoseconds a tick, in 2^-40 */
};
XVT_ASSERT(sizeof(struct xvt_clock_line) == 24, "clock line layout");

#define XVT_CLOCK_SHIFT		40
#define XVT_CLOCK_LINES		4u

#define XVT_CLOCK_F_VALID	1u /* there is a map */
#define XVT_CLOCK_F_ACTIVE	2u /* the VM is not paused: its active time goes on */
#define XVT_CLOCK_F_UNCONFIRMED 4u /* the clocks may have come apart since the last sample */
#define XVT_CLOCK_F_CLOSED	8u /* this page is no longer kept up to date */

/*
 * struct xvt_clock_page: host time and guest-active time for readers of the ring's clock. Since
 * version 1.1; all zeros where the region or the host is older. Read and written by
 * xvt_clock_page.h, which has the rules. 64-bit words only.
 */
struct xvt_clock_page {
	uint64_t seq;	     /* odd while written */
	uint64_t flags;	     /* XVT_CLOCK_F_* */
	uint64_t session;    /* the recorder that writes; a random number */
	uint64_t epoch;	     /* of its clock map: values of two epochs do not compare */
	uint64_t node_clock; /* the newest sample of the clock, and its host time */
	uint64_t node_ns;
	uint64_t bound_ns; /* at the sample; grows with the distance from it, */
	uint64_t drift;	   /* by this much a nanosecond, in 2^-40 */
	uint64_t active_ns;
	uint64_t active_since_ns; /* if ACTIVE: host time from which active_ns is to be added to */
	uint64_t nr_lines;
	struct xvt_clock_line line[XVT_CLOCK_LINES]; /* by clock, ascending; continuous */
	uint64_t reserved[9];
};
XVT_ASSERT(sizeof(struct xvt_clock_page) == 256, "clock page layout");
XVT_ASSERT(offsetof(struct xvt_clock_page, line) == 88, "clock page layout");

/*
 * The ring as the host last proved it to be at rest: no event open, everything below cons
 * drained, and the counters as they stood then. A snapshot of the machine takes it along, so
 * when that is restored it says how far the snapshot's past had been delivered. All [host], and
 * only a hint: `sum` tells it from memory that never held it.
 */
struct xvt_ring_settled {
	uint64_t cons;
	uint64_t attempted;
	uint64_t discarded;
	uint64_t lost[XVT_LOST_CAUSES];
	uint64_t still; /* 1: the machine stood still then, so nothing was written after it */
	uint64_t sum;	/* of all words above, and XVT_MAGIC */
	uint64_t reserved[6];
};
XVT_ASSERT(sizeof(struct xvt_ring_settled) == 128, "settled layout");

/* The parts of a vCPU's clock, by the VMM that owns it: see xvt_vmm_clock.h. All [vmm]. */
struct xvt_vmm_clock {
	uint64_t seq; /* odd while written, 0: never */
	uint64_t offset;
	uint64_t ratio;
	uint64_t frac;
	uint64_t check;
	uint64_t reserved[3];
};
XVT_ASSERT(sizeof(struct xvt_vmm_clock) == 64, "vmm clock layout");

/* struct xvt_ring_host: the host's half. All [host]; the writer only reads it. */
struct xvt_ring_host {
	uint64_t cons; /* next byte that the host wants; release after it cleared */
	union {
		struct {
			uint32_t enable; /* enum xvt_enable */
			uint32_t epoch;	 /* bumped when guest and host time may have come apart */
		};
		uint64_t state; /* both, as the writer loads them: epoch is the upper half */
	};
	/* The host sleeps: ring the doorbell at the next sub-buffer, and when you answer the first
	 * request of several. It looks at commit, and for the answer, once more between setting
	 * this (and a full fence) and its sleep; pairs with xvt_writer_publish(). It does so only
	 * where a guest rang once because the host page's doorbell had changed: one that never
	 * rings is polled. */
	uint32_t need_wake;
	uint32_t reserved0;
	uint64_t reserved1[5];

	uint64_t request_seq;  /* mailbox: answer me; release, pairs with the guest's acquire */
	uint64_t request_more; /* > 0: stay (200 us), that many more requests follow at once */
	/* Write a MARK with this number; release, pairs with the writer's acquire. A guest that
	 * knows no marks never acknowledges, and a host that knows none never asks: all zeros. */
	uint64_t mark_seq;
	uint64_t reserved2[5];

	uint64_t hint_seq; /* last clock node, odd while written: for salvage, never trusted */
	uint64_t hint_guest;
	uint64_t hint_host_ns;
	uint64_t hint_bound_ns;
	uint64_t hint_hz;
	uint64_t reserved3[3];

	/* Counts that trace files already account for, up to cons: a later daemon's base. */
	uint64_t acc_delivered;
	uint64_t acc_discarded;
	uint64_t acc_lost[XVT_LOST_CAUSES];
	uint64_t acc_overwritten;

	struct xvt_clock_page
		clock_page; /* lines of its own: guests' programs read it all the time */

	struct xvt_ring_settled settled; /* since version 1.1, like what follows */
	struct xvt_vmm_clock vmm_clock;	 /* [vmm] */
};
XVT_ASSERT(sizeof(struct xvt_ring_host) == 704, "ring host layout");
XVT_ASSERT(offsetof(struct xvt_ring_host, enable) == 8, "state's lower half");
XVT_ASSERT(offsetof(struct xvt_ring_host, epoch) == 12, "state's upper half");
XVT_ASSERT(offsetof(struct xvt_ring_host, settled) == 512, "settled state");
XVT_ASSERT(offsetof(struct xvt_ring_host, clock_page) == 256, "clock page");
XVT_ASSERT(offsetof(struct xvt_ring_host, request_seq) == 64, "own line: handshake");
XVT_ASSERT(offsetof(struct xvt_ring_host, hint_seq) == 128, "clock hint");

/* Does a region, by a copy of its header, have clock pages? Else what lies there is not defined. */
xvt_inline bool xvt_has_clock_pages(const struct xvt_region_hdr *h)
{
	return h->major > 1 || h->minor >= 1;
}

#define XVT_SUBBUF_F_OVERWRITE 1u /* opened in overwrite mode: not cleared before */

/*
 * First bytes of every sub-buffer. The counters are the ring's, as they stood when the
 * sub-buffer was opened, so the differences between two headers say what was lost between
 * them. The event that opens it is in `attempted` already. 32-bit ones hold the low half.
 */
struct xvt_subbuf_hdr {
	uint32_t magic;
	uint16_t hdr_len;
	uint16_t flags;
	uint64_t seq;	  /* position / subbuf_size */
	uint64_t ts_base; /* full time of its first record */
	uint32_t epoch;	  /* of its first record */
	uint32_t generation;
	uint64_t attempted;
	uint32_t lost[XVT_LOST_CAUSES];
	uint32_t discarded;
};
XVT_ASSERT(sizeof(struct xvt_subbuf_hdr) == 64, "sub-buffer header layout");

/* Record header word. */
#define XVT_H_LEN8_SHIFT 32
#define XVT_H_LEN8_MASK	 0xfffu
#define XVT_H_ID_SHIFT	 44
#define XVT_H_ID_MASK	 0x7fffu
#define XVT_H_SAME	 (1ull << 59)
#define XVT_H_FULL	 (1ull << 60)
#define XVT_H_DONE	 (1ull << 61)
#define XVT_H_LAP_SHIFT	 62
#define XVT_LEN8_MAX	 4095u

/* Record ids. Below XVT_ID_FIRST_EVENT the ring speaks about itself. */
enum xvt_id {
	XVT_ID_INVALID = 0,    /* cleared memory: nothing was written here */
	XVT_ID_PAD_END = 1,    /* unused to the end of the sub-buffer */
	XVT_ID_DISCARDED = 2,  /* given back too late; its time still counts */
	XVT_ID_CLOCK_SYNC = 3, /* struct xvt_clock_sync */
	XVT_ID_LOST = 4,       /* made by the host, in trace files only */
	XVT_ID_MARK = 5,       /* struct xvt_mark: the host asked for it */
	/* struct xvt_relayed_page and the page: where the region is XVT_INCOMPAT_RELAYED, only. */
	XVT_ID_FTRACE_PAGE = 6,
	XVT_ID_FIRST_EVENT = 16,
	XVT_ID_FTRACE = 16, /* payload is an ftrace entry: u16 type first; see META_FORMAT */
	XVT_ID_TEXT = 17,   /* payload is text, no final zero needed */
	XVT_ID_U64 = 18,    /* payload is numbers: how the tests count */
	XVT_ID_PANIC = 19,  /* the guest's kernel panicked; payload is the begin of its text */
	XVT_ID_USER = 1024, /* from here on the program's own */
};

enum xvt_sync_reason {
	XVT_SYNC_ATTACH = 1,
	XVT_SYNC_RESUME = 2,	/* the guest kernel came back from suspend */
	XVT_SYNC_FREQUENCY = 3, /* the clock's rate changed */
	XVT_SYNC_STOPPED = 4,	/* the hypervisor says that the guest was stopped */
	XVT_SYNC_PERIODIC = 5,
	XVT_SYNC_PAIR = 6, /* from the hypervisor: see below, and xvt_clock_pair.h */
};

/*
 * Payload of XVT_ID_CLOCK_SYNC: enough to turn raw ticks into time after the fact. XVT_SYNC_PAIR:
 * `clock` and `realtime_ns` are one moment's, and the latter is the host's CLOCK_REALTIME; the
 * other times are 0.
 */
struct xvt_clock_sync {
	uint64_t clock;	       /* full clock value, ordered read */
	uint64_t hz;	       /* ticks a second, 0 = unknown */
	uint64_t monotonic_ns; /* the guest's CLOCK_MONOTONIC at that moment */
	uint64_t boottime_ns;
	uint64_t realtime_ns;
	uint32_t reason; /* enum xvt_sync_reason */
	uint32_t epoch;
};
XVT_ASSERT(sizeof(struct xvt_clock_sync) == 48, "clock sync layout");

/*
 * Payload of XVT_ID_MARK. The host noted its clock before it asked for this number and after it
 * saw the acknowledgement, so it knows two moments between which the record was stamped.
 */
struct xvt_mark {
	uint64_t number; /* = mark_seq */
	uint64_t clock;	 /* ordered read between seeing the request and reserving the record */
};
XVT_ASSERT(sizeof(struct xvt_mark) == 16, "mark layout");

/*
 * Payload of XVT_ID_FTRACE_PAGE: this, and `len` bytes of a page as trace_pipe_raw of the ring's
 * CPU gives it: u64 stamp, u64 commit word, the events, and 8 bytes more where bit 30 of the commit
 * word says that the number of missed events follows. Pages come in the order in which ftrace gives
 * them. An event is in one page.
 */
struct xvt_relayed_page {
	uint32_t len;	/* 16..XVT_RELAYED_PAGE_MAX */
	uint32_t flags; /* XVT_RELAYED_F_* */
};
XVT_ASSERT(sizeof(struct xvt_relayed_page) == 8, "relayed page layout");

/* What ftrace has lost before this page, it lost while the ring had no room: the host read too
 * slowly, and not the program in the guest. */
#define XVT_RELAYED_F_FULL   1u
#define XVT_RELAYED_PAGE_MAX 4096u	/* larger pages are not relayed */
#define XVT_RELAYED_ALL	     UINT64_MAX /* relayed_to */
#define XVT_RELAYED_SUBBUF   16384u	/* smallest sub-buffers of a relayed ring */

/* The length of a panic's text that is recorded, and shown. */
#define XVT_PANIC_TEXT	     128u

#define XVT_MAXNEST	     16u /* writers on one ring: task, softirq, irq, NMI and then some */
#define XVT_MAXRETRY	     64u /* reservations begun again in one call */

#endif /* XVT_ABI_H */
