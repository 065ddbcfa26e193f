/* SPDX-License-Identifier: GPL-2.0 */
/* inject.h - interrupt one event at every instruction, and the interrupt at every one of its. */
#ifndef BARE_INJECT_H
#define BARE_INJECT_H

#include <stdio.h>

#include "scenario.h"

#define INJECT_SPAN (XVT_BARE_RAM_SIZE - XVT_BARE_IMAGE)

/* All that was done, for the report; and where, one byte for each address of the image. */
struct inject_counts {
	uint64_t runs; /* each ended in a check of the whole ring */
	uint64_t irqs;
	uint64_t nmis;	 /* into the task */
	uint64_t pairs;	 /* NMI into the interrupt's event */
	uint64_t host;	 /* times that the host changed something between two instructions */
	uint64_t closed; /* boundaries at which the CPU takes no interrupt */
	uint64_t exact;	 /* events whose stamp is the very one that their writer read */
	uint64_t events; /* events that were found and compared */
	uint64_t looks;	 /* of a host between two instructions */
	uint64_t wrong;
	uint8_t irq_at[INJECT_SPAN];
	uint8_t nmi_at[INJECT_SPAN];
	uint8_t pair_at[INJECT_SPAN];
};

struct inject_options {
	const void *image;
	size_t image_size;
	void *region;
	/* One byte for each address of the image: interrupt only where it is not 0. */
	const uint8_t *wanted;
	/*
	 * all: an NMI at every boundary of the task, and of every interrupt. Otherwise NMIs only
	 * where none came yet at that instruction; ways on are followed, and interrupts walked
	 * through, at every `stride`th boundary of the task (thorough scenarios: see there).
	 */
	bool all;
	uint64_t stride;
	FILE *story; /* where failures are told */
};

/* Returns false when something was wrong; it has been told then. */
bool inject_scenario(const struct scenario *s, const struct inject_options *options,
		     struct inject_counts *n);

/*
 * At each instruction where it makes the task's reservation begin anew: an interrupt (or what
 * s->host says), again and again, until the writer gives up. Returns false when something was
 * wrong; *gave_up says whether it came to that.
 */
bool inject_storm(const struct scenario *s, const struct inject_options *options,
		  struct inject_counts *n, bool *gave_up);

#endif /* BARE_INJECT_H */
