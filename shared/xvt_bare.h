/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_bare.h - what a virtual machine monitor and the bare-metal guest (guest/bare) agree
 * upon: where things lie in the guest's memory, what the guest can be asked to do, and what
 * it says about it. The ring itself is no part of this: it is in the region, as for every
 * other guest.
 *
 * Guest-physical memory, mapped one to one:
 *
 *   0           page tables, made by the VMM
 *   PAGE        struct xvt_bare_page
 *   IMAGE       the guest's image, then its bss and stacks, up to RAM_SIZE
 *   DOORBELL    nothing: an access is an exit to the VMM (enum xvt_bare_signal)
 *   REGION      the region
 */
#ifndef XVT_BARE_H
#define XVT_BARE_H

#include "xvt_abi.h"

#define XVT_BARE_RAM_SIZE   0x20000u
#define XVT_BARE_PAGE	    0x6000u
#define XVT_BARE_IMAGE	    0x10000u
#define XVT_BARE_DOORBELL   0x30000000u
#define XVT_BARE_REGION	    0x40000000u
#define XVT_BARE_REGION_MAX 0x40000000u
#define XVT_BARE_IRQ_VECTOR 0x20u

/* Segment selectors, from the guest's first signal on (start.S has them as numbers). */
#define XVT_BARE_CODE_RING0 0x08u
#define XVT_BARE_DATA_RING0 0x10u
#define XVT_BARE_DATA_RING3 0x1bu
#define XVT_BARE_CODE_RING3 0x23u

/* A store of 8 bytes to DOORBELL + 8 * signal; the value is given behind each. */
enum xvt_bare_signal {
	XVT_BARE_DONE = 0,  /* the command's result, 0 or -errno; the next one is read after it */
	XVT_BARE_IRQ = 1,   /* the interrupt handler begins: address that it interrupted */
	XVT_BARE_NMI = 2,   /* likewise */
	XVT_BARE_KICK = 3,  /* the writer's doorbell: 0 */
	XVT_BARE_LEAVE = 4, /* a handler is about to return: 0. Not when page->quiet */
	XVT_BARE_PANIC = 5, /* an unexpected exception: vector << 56 | address */
};

/* The context that writes an event. */
enum xvt_bare_context {
	XVT_BARE_TASK = 0,
	XVT_BARE_IN_IRQ = 1,
	XVT_BARE_IN_NMI = 2,
	XVT_BARE_CONTEXTS = 3,
};

enum xvt_bare_command {
	XVT_BARE_START = 1,  /* format the region if it is not, begin a generation, bind ring 0 */
	XVT_BARE_EVENT = 2,  /* the task writes `count` events */
	XVT_BARE_OPEN = 3,   /* the task reserves `count` records and leaves them open */
	XVT_BARE_CLOSE = 4,  /* the task finishes the `count` it opened last */
	XVT_BARE_ANSWER = 5, /* look into the mailbox until `count` looks found nothing, or stop */
	XVT_BARE_USER = 6,   /* go on at user level (ring 3): the next command runs there */
	/* Loops of xvt_cost.h; `ticks` says what `count` turns took. Nothing is logged. */
	XVT_BARE_COST_CLOCK = 7, /* clock read and a 16-byte store */
	XVT_BARE_COST_EVENT = 8, /* event of 16 bytes */
	XVT_BARE_PAIR = 9,	 /* write page->pair as a clock pair; nothing is logged */
};

#define XVT_BARE_F_DISCARD  1u /* give the record back instead of committing it */
#define XVT_BARE_F_DISTRUST 2u /* make it carry a full stamp */

/* How a context writes its events. len 0: this context writes none. */
struct xvt_bare_op {
	uint32_t len;
	uint32_t flags;
};

/* An attempt, as its writer knows it: what the ring must say, from another source. */
struct xvt_bare_log {
	uint64_t entry; /* clock before xvt_reserve() */
	uint64_t exit;	/* and after it; 0 = not there yet */
	uint64_t stamp; /* the last value that the ring's clock gave it; 0 = not known */
	uint64_t rip;	/* what the context interrupted; 0 in the task */
	uint32_t context;
	uint32_t len;
	uint32_t flags;
	int32_t result;	      /* of xvt_reserve() */
	uint32_t epoch_entry; /* the host's epoch, as the times */
	uint32_t epoch_exit;
};

#define XVT_BARE_LOG_MAX 512u

/* The page (several, in fact). The VMM writes the first part while the guest waits at DONE. */
struct xvt_bare_page {
	uint32_t command;     /* [vmm] enum xvt_bare_command */
	uint32_t count;	      /* [vmm] */
	uint32_t stop;	      /* [vmm] ends ANSWER; may be set at any time */
	uint32_t subbuf_size; /* [vmm] START: how to format, as in struct xvt_layout */
	uint64_t region_size;
	uint64_t clock_hz;
	uint32_t ts_bits;
	uint32_t enable;
	uint64_t quiet; /* [vmm] 1: a handler's end is no signal, which costs more than its event */
	/* [vmm] 0: the ring's clock is the CPU's counter. Else it is clock_now, which grows by this
	 * at each look: then every run is like the other, and the log knows each stamp. */
	uint64_t clock_step;
	uint64_t clock_now;			  /* [guest] */
	struct xvt_bare_op op[XVT_BARE_CONTEXTS]; /* [vmm] */

	/* [vmm] As KVM's hypercall would answer (xvt_clock_pair.h), which an emulated ring 0 cannot
	 * make: seconds and nanoseconds of the host's CLOCK_REALTIME, and this vCPU's clock. */
	uint64_t pair[3];
	uint64_t first;	    /* [vmm] number of the event that log[0] is about */
	uint64_t log_count; /* [guest] may exceed LOG_MAX: the rest is not logged */
	uint64_t ticks;	    /* [guest] */
	struct xvt_bare_log log[XVT_BARE_LOG_MAX];
};
XVT_ASSERT(XVT_BARE_PAGE + sizeof(struct xvt_bare_page) <= XVT_BARE_IMAGE, "page before image");

/* Word i of event `number`'s payload: word 0 is the number. */
xvt_inline uint64_t xvt_bare_word(uint64_t number, uint32_t i)
{
	return i ? (number + i) * 0x9e3779b97f4a7c15ull : number;
}

#endif /* XVT_BARE_H */
