// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-samples.c - the clock measurements of a trace, and whether they are true.
 *
 *   xvt-samples TRACE              a line for each sample: VM CPU HWID EPOCH SOURCE GUEST LO HI
 *   xvt-samples --count TRACE      how many by handshake; the file may still be growing
 *   xvt-samples --truth FILE TRACE
 *
 * FILE says what the hypervisor knows, a line for each formula that a vCPU ever had:
 *
 *   VM HWID OFFSET RATIO FRAC      guest = ((host * RATIO) >> FRAC) + OFFSET, modulo 2^64
 *
 * (RATIO 1, FRAC 0: not scaled.) A sample says that at some host clock between LO and HI the
 * guest's was GUEST; a node says the same with host_ns and bound_ns. Each must be true by one
 * of its vCPU's formulas. Prints per ring how many were and how wide they are, and exits 1 when
 * one was not, or when there was none.
 *
 * The formula is applied forward and to both ends: it never decreases, so that loses nothing
 * to rounding and shares no arithmetic with the recorder, which goes backward.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read.h"

#define RINGS_MAX    4096
#define FORMULAS_MAX 4096
#define SHOWN	     20

typedef unsigned __int128 u128;
typedef __int128 s128;

struct formula {
	char vm[XVT_NAME_LEN];
	uint32_t hw_id;
	int64_t offset;
	uint64_t ratio;
	uint32_t frac;
};

struct tally {
	unsigned long samples;
	unsigned long nodes;
	unsigned long false_samples;
	unsigned long false_nodes;
	uint64_t narrowest;
	uint64_t widest;
};

static struct xvt_trace *trace;
static struct formula formulas[FORMULAS_MAX];
static size_t formula_count;
static struct tally tallies[RINGS_MAX];
static unsigned long shown;

static int die(const char *what, const char *why)
{
	fprintf(stderr, "xvt-samples: %s: %s\n", what, why);
	exit(2);
}

static void read_truth(const char *path)
{
	FILE *f = fopen(path, "r");
	struct formula *x;
	char line[256];

	if (!f)
		die(path, "cannot be opened");
	while (fgets(line, sizeof(line), f)) {
		if (formula_count == FORMULAS_MAX)
			die(path, "too many lines");
		x = &formulas[formula_count++];
		if (sscanf(line, "%63s %" SCNu32 " %" SCNd64 " %" SCNu64 " %" SCNu32, x->vm,
			   &x->hw_id, &x->offset, &x->ratio, &x->frac) != 5)
			die(path, "a line is not VM HWID OFFSET RATIO FRAC");
		if (!x->ratio || x->frac > 63)
			die(path, "RATIO must not be 0, FRAC not above 63");
	}
	fclose(f);
}

static uint64_t guest_at(const struct formula *x, uint64_t host)
{
	return (uint64_t)((u128)host * x->ratio >> x->frac) + (uint64_t)x->offset;
}

/* Is there a formula by which the guest's clock was `guest` at some host clock in [lo, hi]? */
static bool is_true(uint32_t ring, uint64_t guest, uint64_t lo, uint64_t hi)
{
	const struct xvt_ring_info *info = &trace->rings[ring].info;
	const char *vm = xvt_vm_name(trace, info->vm);
	size_t i;

	for (i = 0; i < formula_count; i++) {
		const struct formula *x = &formulas[i];

		if (x->hw_id == info->hw_id && !strcmp(x->vm, vm) &&
		    (int64_t)(guest - guest_at(x, lo)) >= 0 &&
		    (int64_t)(guest_at(x, hi) - guest) >= 0)
			return true;
	}
	return false;
}

static void complain(uint32_t ring, const char *what, uint64_t guest, uint64_t lo, uint64_t hi)
{
	const struct xvt_ring_info *info = &trace->rings[ring].info;

	if (shown++ < SHOWN)
		printf("false: %s:%u %s guest %" PRIu64 " host %" PRIu64 " to %" PRIu64 "\n",
		       xvt_vm_name(trace, info->vm), info->cpu, what, guest, lo, hi);
}

/* The host's clock at that time, rounded down, by the line of the host's clock that it lies on. */
static uint64_t host_clock(uint64_t ns)
{
	const struct xvt_timebase *l = trace->timebase + trace->timebase_count - 1;

	while (l > trace->timebase && l->base_ns > ns)
		l--;
	return (uint64_t)((s128)l->base_clock +
			  ((s128)ns - (s128)l->base_ns) * ((s128)1 << l->shift) / l->mult);
}

static void check_sample(const struct xvt_clock_sample *s)
{
	struct tally *t = &tallies[s->ring];
	uint64_t width = s->host_clock_hi - s->host_clock_lo;

	if (!t->samples++ || width < t->narrowest)
		t->narrowest = width;
	if (width > t->widest)
		t->widest = width;
	if (is_true(s->ring, s->guest, s->host_clock_lo, s->host_clock_hi))
		return;
	t->false_samples++;
	complain(s->ring, "sample", s->guest, s->host_clock_lo, s->host_clock_hi);
}

static void check_node(const struct xvt_clock_node *n)
{
	struct tally *t = &tallies[n->ring];
	/* A nanosecond for the rounding of each end, in whatever direction. */
	uint64_t lo = host_clock(n->host_ns - n->bound_ns - 1);
	uint64_t hi = host_clock(n->host_ns + n->bound_ns + 1) + 1;

	t->nodes++;
	if (is_true(n->ring, n->guest, lo, hi))
		return;
	t->false_nodes++;
	complain(n->ring, "node", n->guest, lo, hi);
}

static void print_sample(const struct xvt_clock_sample *s)
{
	const struct xvt_ring_info *info = &trace->rings[s->ring].info;

	printf("%s %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", xvt_vm_name(trace, info->vm),
	       info->cpu, info->hw_id, s->epoch, s->source, s->guest, s->host_clock_lo,
	       s->host_clock_hi);
}

static bool known(uint32_t ring)
{
	return ring < RINGS_MAX && ring < trace->ring_count && trace->rings[ring].known;
}

/* Calls back for what the trace holds; either may be NULL. */
static void each(void (*sample)(const struct xvt_clock_sample *),
		 void (*node)(const struct xvt_clock_node *))
{
	struct xvt_chunk_buf b = { 0 };
	size_t i, at;

	for (i = 0; i < trace->chunk_count; i++) {
		uint16_t type = trace->chunks[i].type;

		if ((type != XVT_CHUNK_SAMPLES && type != XVT_CHUNK_NODE) ||
		    xvt_trace_load(trace, i, &b))
			continue;
		if (type == XVT_CHUNK_SAMPLES && sample) {
			for (at = 0; at + sizeof(struct xvt_clock_sample) <= b.len;
			     at += sizeof(struct xvt_clock_sample)) {
				const struct xvt_clock_sample *s = (void *)(b.payload + at);

				if (known(s->ring))
					sample(s);
			}
		}
		if (type == XVT_CHUNK_NODE && node) {
			for (at = 0; at + sizeof(struct xvt_clock_node) <= b.len;
			     at += sizeof(struct xvt_clock_node)) {
				const struct xvt_clock_node *n = (void *)(b.payload + at);

				if (known(n->ring))
					node(n);
			}
		}
	}
	xvt_chunk_buf_free(&b);
}

static unsigned long handshakes;

static void count_sample(const struct xvt_clock_sample *s)
{
	handshakes += s->source == XVT_SOURCE_HANDSHAKE;
}

static int judge(void)
{
	uint64_t hz = ((uint64_t)1000000000u << trace->info.shift) / trace->info.mult;
	unsigned long samples = 0, bad = 0;
	uint32_t i;

	each(check_sample, check_node);
	for (i = 0; i < trace->ring_count && i < RINGS_MAX; i++) {
		const struct tally *t = &tallies[i];

		if (!known(i) || (!t->samples && !t->nodes))
			continue;
		samples += t->samples;
		bad += t->false_samples + t->false_nodes;
		printf("%s:%u samples=%lu false=%lu nodes=%lu false=%lu narrowest_ns=%" PRIu64
		       " widest_ns=%" PRIu64 "\n",
		       xvt_vm_name(trace, trace->rings[i].info.vm), trace->rings[i].info.cpu,
		       t->samples, t->false_samples, t->nodes, t->false_nodes,
		       (uint64_t)((u128)t->narrowest * 1000000000u / hz),
		       (uint64_t)((u128)t->widest * 1000000000u / hz));
	}
	printf("samples=%lu false=%lu\n", samples, bad);
	return bad || !samples;
}

int main(int argc, char **argv)
{
	const char *truth = NULL, *path = argv[argc - 1];
	bool count = false;
	struct xvt_error why;
	int rc = 0;

	if (argc == 4 && !strcmp(argv[1], "--truth"))
		truth = argv[2];
	else if (argc == 3 && !strcmp(argv[1], "--count"))
		count = true;
	else if (argc != 2)
		die("usage", "xvt-samples [--count | --truth FILE] TRACE");
	if (xvt_trace_open(&trace, path, &why))
		die(path, why.text);
	if (truth) {
		read_truth(truth);
		rc = judge();
	} else if (count) {
		each(count_sample, NULL);
		printf("%lu\n", handshakes);
	} else {
		each(print_sample, NULL);
	}
	xvt_trace_close(trace);
	return rc;
}
