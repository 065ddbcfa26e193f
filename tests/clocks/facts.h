/* SPDX-License-Identifier: GPL-2.0 */
/*
 * facts.h - what a trace states about clocks, out of the bytes of its files: the lines of the
 * host's clock, the samples, nodes and looks of each ring. Of the program it shares the structs of
 * trace/format.h, and no code. Traces of the tests are whole, so damage ends the program.
 */
#ifndef CLOCKS_FACTS_H
#define CLOCKS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

/* At some moment from lo to hi, ns of the host, the ring's clock was `guest`. */
struct sample {
	uint32_t epoch;
	double hz; /* the ring's nominal rate when the sample was written */
	uint64_t guest;
	int64_t lo;
	int64_t hi;
};

struct ring_facts {
	bool seen;
	uint32_t vm;
	uint32_t clock_id;
	uint64_t clock_hz; /* the last one; 0: the machine's */
	struct xvt_clock_sample *raw;
	double *raw_hz;		/* of each */
	struct sample *samples; /* in order of lo */
	size_t nr_samples;
	struct xvt_clock_node *nodes; /* those that were measured */
	size_t nr_nodes;
	struct xvt_clock_look *looks;
	size_t nr_looks;
};

struct facts {
	struct xvt_timebase *lines; /* in order of base_clock */
	size_t nr_lines;
	struct ring_facts *rings; /* by number */
	size_t nr_rings;
	uint64_t *vm_hz; /* by number */
	size_t nr_vms;
};

/* Of a file, or of all *.xvt of a folder. facts_free() ends it. */
struct facts *facts_load(const char *path);
void facts_free(struct facts *facts);
/* Time of a value of the host's counter, ns. */
int64_t facts_host_ns(const struct facts *facts, uint64_t clock);
/* Rate of the host's counter. */
double facts_host_hz(const struct facts *facts);

#endif /* CLOCKS_FACTS_H */
