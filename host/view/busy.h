/* SPDX-License-Identifier: GPL-2.0 */
/* busy.h - the tasks of a machine that did the most, in bounded memory. */
#ifndef XVT_BUSY_H
#define XVT_BUSY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When this many tasks have a value, the lesser half of them is forgotten. */
#define XVT_BUSY_TASKS 65536u

struct xvt_busy_task {
	int32_t pid; /* 0: none */
	uint64_t value;
};

/* Zeros are an empty one. */
struct xvt_busy {
	struct xvt_busy_task *slots; /* a hash table */
	size_t room;
	size_t count;
	struct xvt_busy_task *last; /* in `slots`; NULL: none */
	uint64_t forgotten_most;    /* what a task's value may be too low by */
};

/* Adds to the value of a task other than 0. Returns 0 or -ENOMEM. */
int xvt_busy_add(struct xvt_busy *b, int32_t pid, uint64_t value);
/* Stores the tasks of the largest values, the largest first. Returns their number. */
size_t xvt_busy_top(const struct xvt_busy *b, struct xvt_busy_task *to, size_t most);
void xvt_busy_clear(struct xvt_busy *b);

/* When a machine stood still: pauses in order of time, which do not overlap. Zeros: never. */
struct xvt_pause {
	uint64_t begin_ns, end_ns;
	uint64_t before_ns; /* sum of those before */
};

struct xvt_pauses {
	struct xvt_pause *v;
	size_t count, room;
};

/* Adds a pause, in any order. Returns 0 or -ENOMEM. */
int xvt_pauses_add(struct xvt_pauses *p, uint64_t begin_ns, uint64_t end_ns);
/* After the last one was added. */
void xvt_pauses_sort(struct xvt_pauses *p);
/* For how long it stood still between two times. */
uint64_t xvt_pauses_between(const struct xvt_pauses *p, uint64_t begin_ns, uint64_t end_ns);
void xvt_pauses_fini(struct xvt_pauses *p);

/* The task that runs on a CPU, by its switches of tasks. Zeros: nothing is known. */
struct xvt_running {
	bool known;
	int32_t pid;
	uint64_t since_ns;
};

/*
 * The CPU switches from one task to another. Returns for how long `prev` ran, without pauses: 0
 * where that is not known, and for the second record of a switch that two probes recorded.
 */
uint64_t xvt_running_switch(struct xvt_running *r, uint64_t ns, int32_t prev, int32_t next,
			    const struct xvt_pauses *pauses);

#endif /* XVT_BUSY_H */
