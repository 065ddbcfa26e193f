/* SPDX-License-Identifier: GPL-2.0 */
/*
 * whole.h - one long run in a region that other programs read: every event is interrupted at a
 * later instruction than the one before, and its interrupt by an NMI. Nothing is put back.
 */
#ifndef BARE_WHOLE_H
#define BARE_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct whole_options {
	const void *image;
	size_t image_size;
	const char *region;  /* path; an empty file is formatted by the guest */
	const char *numbers; /* gets a line for each attempt: NUMBER CONTEXT RESULT FLAGS */
	uint64_t count;	     /* events of the task */
	bool live;	     /* a recorder attaches: wait for it, answer it, let it drain */
	bool lie;	     /* and is told nothing of the clock, but KVM a wrong offset */
};

/* Returns 0, or 1 and says why on stdout. */
int whole_run(const struct whole_options *options);

#endif /* BARE_WHOLE_H */
