/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* load.h - the writing side of the stress: one ring, three nesting levels. */
#ifndef STRESS_LOAD_H
#define STRESS_LOAD_H

#include "stress.h"
#include "xvt_region.h"

struct load {
	struct xvt_writer w;
	struct stress_truth *truth;
};

/* One event of a stream, committed or discarded as its number says. */
void load_event(struct load *l, uint32_t stream);
/* Task events until number `last`; some hold inner ones. */
void load_run(struct load *l, uint64_t last);
/* Put the calling thread on the index-th CPU that the program was started on. */
void load_pin(unsigned int index);

#endif /* STRESS_LOAD_H */
