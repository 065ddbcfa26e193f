/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ftrace_ring.h - a guest's kernel that writes ftrace's ring buffer into mapped memory: after
 * kernel/trace/ring_buffer.c, store by store, so that a reader can be run between any two stores.
 * Nothing of it is shared with the reader.
 *
 * Each event has the number of those before it on its CPU as its data, so a reader's events show
 * what is missing and what came twice.
 */
#ifndef XVT_TEST_FTRACE_RING_H
#define XVT_TEST_FTRACE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FTRACE_RING_CPUS   4u
#define FTRACE_RING_EVENTS 4096u /* whose stamps are known */
#define FTRACE_RING_TYPE   300u

struct ftrace_ring_cpu {
	uint8_t *part;	/* the CPU's words begin here */
	uint8_t *words; /* address of sub-buffer 0, head, commit */
	int32_t *places;
	uint8_t *data;
	uint64_t first;	     /* address of sub-buffer 0 in the guest */
	uint32_t tail, head; /* slots of the ring: 1 to n - 1 */
	uint32_t write;	     /* bytes in the tail's sub-buffer, of events not yet committed, too */
	uint32_t pending;    /* events to come before the next commit */
	unsigned int stage;
	uint32_t len; /* of the event that is written */
	uint64_t delta;
	uint64_t clock;
	uint64_t shown;			      /* the stamp that a reader makes of it */
	bool back;			      /* the clock is lower than that of the event before */
	uint64_t serial;		      /* of the next event */
	uint64_t pages;			      /* that were overwritten */
	uint64_t committed;		      /* events */
	uint64_t stamps[FTRACE_RING_EVENTS];  /* by serial number, modulo */
	uint64_t clocks[FTRACE_RING_EVENTS];  /* its clock then, likewise */
	uint32_t subbufs[FTRACE_RING_EVENTS]; /* pages begun when it was written */
	uint32_t begun;
};

struct ftrace_ring {
	uint8_t *mem;
	size_t size;
	int layout;
	uint32_t n; /* sub-buffers of a CPU */
	unsigned int nr_cpus;
	uint64_t address; /* of the memory, in the guest */
	unsigned int seed;
	uint64_t (*now)(void); /* the guest's clock; NULL: it goes on by chance */
	/* An event before which the clock went back begins a page, as may be by chance; else the
	 * kernel gives it the stamp of the event before. */
	bool back_begins;
	struct ftrace_ring_cpu cpus[FTRACE_RING_CPUS];
};

/* Bytes that nr_cpus rings of n sub-buffers take. */
size_t ftrace_ring_size(int layout, uint32_t n, unsigned int nr_cpus);
/* A kernel boots, and finds nothing of use in the memory. */
void ftrace_ring_boot(struct ftrace_ring *g, uint64_t address);
/* A kernel boots, and goes on in the sub-buffer in which the one before stopped: from its begin, as
 * 6.12 does, or behind the contents. */
void ftrace_ring_boot_behind(struct ftrace_ring *g, uint64_t address, bool append);
/* One store. */
void ftrace_ring_step(struct ftrace_ring *g, unsigned int cpu);
/* Whole events, all committed. */
void ftrace_ring_write(struct ftrace_ring *g, unsigned int cpu, unsigned int events);
/* `echo >trace`, and a change of the clock. */
void ftrace_ring_clear(struct ftrace_ring *g, unsigned int cpu);
/* A reader in the guest takes the oldest sub-buffer. */
void ftrace_ring_take(struct ftrace_ring *g, unsigned int cpu);

#endif /* XVT_TEST_FTRACE_RING_H */
