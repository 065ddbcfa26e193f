/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ftrace_map.h - reads ftrace's ring buffer of a running Linux guest from outside, in memory that
 * its VMM shares with this host. The guest's kernel was told to map the ring at that memory
 * (trace_instance=NAME@ADDRESS:SIZE,...), and nothing of xvtrace is in the guest. Nothing is
 * written here.
 *
 * The memory has a part for each CPU: some words, the places of its sub-buffers in the ring, and
 * the sub-buffers. Layout 1 (Linux 6.12) begins each part with a magic number. Layout 2 (6.15 and
 * later) has the number once, in a head before all parts.
 *
 * The writer overwrites and never waits. A sub-buffer is therefore copied first, and its stamp and
 * its commit word are loaded again afterwards: only a copy that was not overtaken is parsed. What
 * follows is known to follow directly as long as the sub-buffer before it still has its stamp and
 * length. Otherwise something is missing, and xvt_ftrace_ring_look() says so.
 *
 * Every byte belongs to the guest. A word is loaded once, checked, and used from then on from
 * private memory; places and lengths that lead out of the mapping are refused.
 */
#ifndef XVT_FTRACE_MAP_H
#define XVT_FTRACE_MAP_H

#include "vmm/ftrace_page.h"

#define XVT_FTRACE_SUBBUF   4096u
#define XVT_FTRACE_CPUS_MAX 256u

/* Where the parts are: checked once, private. */
struct xvt_ftrace_map {
	const uint8_t *map;
	uint64_t size; /* bytes of the mapping */
	uint64_t base; /* of the ring buffer in it; the clock's id and magic number are there */
	uint32_t layout;
	uint32_t head;	     /* bytes of a CPU's words before the places of its sub-buffers */
	uint32_t nr_subbufs; /* of each CPU, the reader's included */
	uint32_t nr_cpus;    /* for which the mapping has room */
	uint64_t parts;	     /* offset of CPU 0's part, */
	uint64_t part_1;     /* of CPU 1's, */
	uint64_t stride;     /* and from there to the next one */
};

/*
 * Look for a ring buffer at offset `at`, a multiple of the page size. Returns 0; -ENODATA: there is
 * none, or not yet; -EPROTO: one whose layout or sizes this reader does not know. map: stays mapped
 * for as long as *m is used.
 */
int xvt_ftrace_map_find(struct xvt_ftrace_map *m, const void *map, uint64_t size, uint64_t at);

/* The same at all page borders in [from, to) of a machine's memory, as far as the first one. */
int xvt_ftrace_map_search(struct xvt_ftrace_map *m, const void *map, uint64_t size, uint64_t from,
			  uint64_t to);

/* Returns true if the memory still has this ring buffer. The memory has none for a moment while
 * another kernel boots, and a different one if that kernel was told another size. */
bool xvt_ftrace_map_holds(const struct xvt_ftrace_map *m);

/* The number of the ring buffer's clock in the list of /sys/kernel/tracing/trace_clock. Returns
 * false where the layout does not tell. */
bool xvt_ftrace_map_clock(const struct xvt_ftrace_map *m, uint32_t *clock);

/* An address in the code of the kernel that has the ring buffer. KASLR gives each boot another one,
 * and kernels of two builds seldom have the same. 0: the layout does not tell. */
uint64_t xvt_ftrace_map_text(const struct xvt_ftrace_map *m);

/* Loss between the entries before and those that a look gave. */
#define XVT_FTRACE_OVERTAKEN 0x01u /* the writer overwrote what had not been read */
#define XVT_FTRACE_CLEARED   0x02u /* the ring was emptied: `echo >trace`, or a change of clock */
#define XVT_FTRACE_BOOTED    0x04u /* another kernel has it, at another address */
#define XVT_FTRACE_READ	     0x08u /* a reader in the guest took sub-buffers out of it */
#define XVT_FTRACE_INVALID   0x10u /* a sub-buffer had values that no kernel writes */
/* The writer's sub-buffer was begun anew, as a kernel does that finds the ring of another one. The
 * last events of that one may be missing. */
#define XVT_FTRACE_RESTARTED 0x20u
/* With one of these an unknown number of events is missing, perhaps none. */
#define XVT_FTRACE_MISSING \
	(XVT_FTRACE_OVERTAKEN | XVT_FTRACE_CLEARED | XVT_FTRACE_INVALID | XVT_FTRACE_RESTARTED)

/* A CPU's ring, and how far it has been read. */
struct xvt_ftrace_ring {
	const struct xvt_ftrace_map *map;
	uint64_t words;	 /* offset of its words, */
	uint64_t places; /* of the places of its sub-buffers, */
	uint64_t data;	 /* and of sub-buffer 0 */
	bool begun;
	uint64_t first;	      /* the guest's address of sub-buffer 0 */
	uint32_t reader_page; /* the sub-buffer that the guest's readers have */
	uint32_t slot;	      /* place in the ring of the sub-buffer that is read: 1 to nr - 1 */
	uint32_t subbuf;      /* that sub-buffer */
	uint64_t stamp;	      /* the stamp, once something of it was read */
	uint32_t read;	      /* bytes of its events that were read */
	/* The one before: while it is as it was read, nothing is missing between the two. */
	bool before_known;
	bool follows; /* to be proven, when the first bytes are copied */
	uint32_t before;
	uint32_t before_slot;
	uint64_t before_stamp;
	uint32_t before_read;
	uint32_t happened; /* XVT_FTRACE_*, since the newest entries */
	uint64_t missed;   /* whole sub-buffers that are missing since then, at least */
	uint64_t torn;	   /* copies that were overtaken and thrown away */
	struct xvt_ftrace_page page;
	uint64_t copy[XVT_FTRACE_SUBBUF / 8];
};

/* Returns true if the part of `cpu` is in use: the kernel writes one after the other, and that of a
 * CPU that never was there stays empty. */
bool xvt_ftrace_ring_init(struct xvt_ftrace_ring *r, const struct xvt_ftrace_map *m, uint32_t cpu);

/*
 * Copy what the ring has next, at most to the end of a sub-buffer. Returns 1: r->page has entries,
 * to be taken by xvt_ftrace_page_next() before the next look; r->happened and r->missed tell what
 * lies before them, and the caller clears both. Returns 0 if there is nothing more for now.
 *
 * Where 0 is returned with nothing happened, all that had been committed before the call was read.
 */
int xvt_ftrace_ring_look(struct xvt_ftrace_ring *r);

#endif /* XVT_FTRACE_MAP_H */
