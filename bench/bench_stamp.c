// SPDX-License-Identifier: GPL-2.0
/*
 * bench_stamp.c - how early is the unordered clock read of an event? The program follows a chain of
 * pointers, each in another page and in no cache, and writes an event. The event's stamp is held
 * against an ordered read behind it: what that took without a chain is subtracted. This is how
 * XVT_STAMP_SLACK_NS was chosen.
 *
 *   bench_stamp JSON
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock/map.h"
#include "cpu.h"
#include "xvt_region.h"
#include "xvt_writer.h"

#define PAGE	 4096u
#define PAGES	 (256u << 8) /* 256 MiB: more than the caches and the TLB reach */
#define EVENTS	 100000u
#define REGION	 (1u << 20)
#define SUBBUF	 (16u << 10)
#define LONGEST	 8u
#define NO_CHAIN 0u

struct bench {
	struct xvt_writer writer;
	void **at; /* where the chain goes on */
	uint64_t stamp;
	uint64_t *early; /* ticks, of each event */
	double ticks_per_ns;
};

/* The stamp is what xvt_write() takes: the same unordered read, kept. */
static uint64_t keep_stamp(void *arg)
{
	struct bench *b = arg;

	b->stamp = xvt_clock_read();
	return b->stamp;
}

static uint64_t next_random(void)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void **in_page(uint8_t *memory, uint32_t page)
{
	return (void **)(memory + (size_t)page * PAGE + page * 64u % PAGE);
}

/* A ring through all pages, in no order. */
static int make_chain(struct bench *b)
{
	uint32_t *order = malloc(PAGES * sizeof(*order)), i;
	uint8_t *memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!order || memory == MAP_FAILED) {
		free(order);
		return -ENOMEM;
	}
	(void)madvise(memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
	for (i = 0; i < PAGES; i++)
		order[i] = i;
	for (i = PAGES - 1; i; i--) {
		uint32_t j = (uint32_t)(next_random() % (i + 1)), other = order[j];

		order[j] = order[i];
		order[i] = other;
	}
	for (i = 0; i < PAGES; i++)
		*in_page(memory, order[i]) = in_page(memory, order[(i + 1) % PAGES]);
	b->at = in_page(memory, order[0]);
	free(order);
	return 0;
}

static int make_writer(struct bench *b)
{
	struct xvt_layout layout = { .region_size = REGION,
				     .ring_count = 1,
				     .subbuf_size = SUBBUF,
				     .clock_id = XVT_CLOCK_NATIVE };
	void *map = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct xvt_geometry g;

	if (map == MAP_FAILED)
		return -ENOMEM;
	if (xvt_region_format(map, &layout, &g))
		return -EINVAL;
	xvt_writer_init(&b->writer, map, &g, 0);
	b->writer.clock = keep_stamp;
	b->writer.clock_arg = b;
	xvt_store(&b->writer.host->enable, (uint32_t)XVT_ENABLE_OVERWRITE);
	return 0;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static __attribute__((noinline)) int events_after(struct bench *b, unsigned int chain)
{
	uint32_t i;

	for (i = 0; i < EVENTS; i++) {
		uint64_t payload = i, after;
		void **at = b->at;
		unsigned int k;

		(void)xvt_clock_read_ordered(); /* nothing of the last turn is under way */
		for (k = 0; k < chain; k++)
			at = *at;
		if (xvt_write(&b->writer, XVT_ID_U64, &payload, sizeof(payload)))
			return -EIO;
		after = xvt_clock_read_ordered();
		b->early[i] = after - b->stamp;
		b->at = at;
	}
	qsort(b->early, EVENTS, sizeof(*b->early), by_size);
	return 0;
}

static double quantile_ns(const struct bench *b, double q, uint64_t base)
{
	uint64_t ticks = b->early[(size_t)(q * (EVENTS - 1))];

	return (double)(ticks > base ? ticks - base : 0) / b->ticks_per_ns;
}

static double share_beyond(const struct bench *b, uint64_t base)
{
	const double most = XVT_STAMP_SLACK_NS * b->ticks_per_ns + (double)base;
	uint32_t i = EVENTS;

	while (i && (double)b->early[i - 1] > most)
		i--;
	return (double)(EVENTS - i) / EVENTS;
}

static int measure(struct bench *b, FILE *json)
{
	unsigned int chain;
	uint64_t base = 0;

	printf("\nstamps: by how much is an event's clock read early, after so many dependent "
	       "loads "
	       "from memory? On %s\n%-6s %9s %9s %9s %9s  beyond %u ns\n",
	       bench_cpu(), "loads", "median", "99 %", "99.9 %", "99.99 %", XVT_STAMP_SLACK_NS);
	fprintf(json,
		"{\"format\":\"xvtrace-bench-stamp/1\",\"cpu\":\"%s\",\"slack_ns\":%u,\"chains\":[",
		bench_cpu(), XVT_STAMP_SLACK_NS);
	for (chain = NO_CHAIN; chain <= LONGEST; chain = chain < 4 ? chain + 1 : chain * 2) {
		int err = events_after(b, chain);
		double q[] = { 0.5, 0.99, 0.999, 0.9999 };
		unsigned int i;

		if (err)
			return err;
		if (chain == NO_CHAIN)
			base = b->early[EVENTS / 2];
		printf("%-6u", chain);
		fprintf(json, "%s{\"loads\":%u,\"early_ns\":[", chain ? "," : "", chain);
		for (i = 0; i < 4; i++) {
			printf(" %6.0f ns", quantile_ns(b, q[i], base));
			fprintf(json, "%s%.1f", i ? "," : "", quantile_ns(b, q[i], base));
		}
		printf("  %.4f %%\n", share_beyond(b, base) * 100);
		fprintf(json, "],\"beyond\":%.6f}", share_beyond(b, base));
	}
	fprintf(json, "]}\n");
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = { .early = calloc(EVENTS, sizeof(uint64_t)) };
	struct xvt_host_clock clock;
	FILE *json;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_stamp JSON\n");
		return 2;
	}
	err = b.early ? xvt_host_clock_init(&clock) : -ENOMEM;
	if (!err)
		err = make_chain(&b);
	if (!err)
		err = make_writer(&b);
	json = err ? NULL : fopen(argv[1], "w");
	if (!err && !json)
		err = -errno;
	if (!err) {
		b.ticks_per_ns = (double)clock.hz / 1e9;
		err = measure(&b, json);
	}
	if (json && fclose(json) && !err)
		err = -errno;
	free(b.early);
	if (err)
		fprintf(stderr, "bench_stamp: %s\n", strerror(-err));
	return err ? 1 : 0;
}
