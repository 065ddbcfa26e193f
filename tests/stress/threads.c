// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * threads.c - writer and reader as two threads of one process, built with ThreadSanitizer: is
 * every access that the two sides share ordered by what xvt_port.h names? In stop mode the
 * reader copies with plain loads, so a missing release or acquire shows as a race. In overwrite
 * mode a copy may race by design and is judged afterwards; there the kernel copies, as in the
 * real host, which also proves the judgement: a torn copy that passes is a torn payload.
 *
 *	threads stop|overwrite EVENTS
 */
#define _GNU_SOURCE
#include "load.h"
#include "tally.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SUBBUF_SIZE  4096
#define SUBBUF_COUNT (overwrite ? 64u : 8u)

static bool overwrite;
static uint64_t events;
static int fd;
static uint8_t *region;
static struct xvt_geometry g;
static struct stress_truth truth;
static struct tally tally;
static uint64_t overtaken;
static bool writer_done;

static void fail(const char *why, uint64_t pos)
{
	printf("wrong: after %llu events, at %llu: %s\n", (unsigned long long)tally_seen(&tally),
	       (unsigned long long)pos, why);
	exit(1);
}

static void *write_all(void *arg)
{
	struct load load = { .truth = &truth };

	(void)arg;
	load_pin(1);
	xvt_writer_init(&load.w, region, &g, 0);
	load_run(&load, events);
	__atomic_store_n(&writer_done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void copy_piece(uint8_t *to, uint64_t pos, uint64_t len)
{
	uint64_t at = xvt_data_off(&g, 0) + xvt_pos_off(&g, pos);

	if (!overwrite)
		memcpy(to, region + at, len);
	else if (pread(fd, to, len, (off_t)at) != (ssize_t)len)
		fail("pread", pos);
}

static void take_piece(struct xvt_reader *r, const uint8_t *copy, uint64_t len)
{
	struct xvt_record rec;
	int ret;

	xvt_reader_feed(r, copy, len);
	while ((ret = xvt_reader_next(r, &rec)) == 1) {
		const char *why = NULL;

		if (rec.kind == XVT_REC_RECORD)
			why = tally_take(&tally, &rec, false);
		if (why)
			fail(why, rec.pos);
	}
	if (ret)
		fail(r->fault.why, r->pos);
}

/* The host's pass, by the rules of xvt_check.h and xvt_reader.h. Returns false when idle. */
static bool pass(struct xvt_reader *r)
{
	struct xvt_ring_ctl *c = (void *)(region + xvt_ctl_off(&g, 0));
	struct xvt_ring_host *h = (void *)(region + xvt_ring_host_off(&g, 0));
	uint8_t copy[SUBBUF_SIZE];
	struct xvt_ring_words s;
	struct xvt_fault fault;

	xvt_ring_words(c, &g, &s);
	if (xvt_check_words(&g, &s, r->pos, overwrite, &fault))
		fail(fault.why, r->pos);
	if (r->pos == s.commit)
		return s.nest != 0 || s.commit != s.resv;
	while (r->pos != s.commit) {
		uint64_t border = xvt_pos_next_subbuf(&g, r->pos), len;

		len = (xvt_pos_before(border, s.commit) ? border : s.commit) - r->pos;
		copy_piece(copy, r->pos, len);
		if (overwrite) {
			struct xvt_ring_words now;

			xvt_rmb(); /* pairs with the writer's xvt_wmb() before it reuses bytes */
			xvt_ring_words(c, &g, &now);
			if (now.resv - xvt_pos_trunc(&g, r->pos) > g.ring_size) {
				overtaken++;
				r->pos = xvt_pos_trunc(&g, now.commit) - g.ring_size / 2;
				return true;
			}
		}
		take_piece(r, copy, len);
		if (!overwrite && r->pos == border) {
			memset(region + xvt_data_off(&g, 0) + xvt_pos_off(&g, border - SUBBUF_SIZE),
			       0, SUBBUF_SIZE);
			xvt_store_release(&h->cons, border); /* pairs with xvt_writer_may_open() */
		}
	}
	return true;
}

static void check(void)
{
	struct xvt_ring_ctl *c = (void *)(region + xvt_ctl_off(&g, 0));
	uint64_t lost = 0, missing = tally_missing(&tally, &truth), refused = tally_refused(&truth);
	struct xvt_ring_words s;
	uint64_t overwritten;
	uint32_t i;

	xvt_ring_words(c, &g, &s);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		lost += s.lost[i];
	overwritten = s.attempted - s.discarded - lost - tally_seen(&tally);
	printf("%llu events of %llu attempted, %llu lost, %llu discarded, %llu overwritten, "
	       "%llu copies overtaken; %llu missing, %llu of them refused\n",
	       (unsigned long long)tally_seen(&tally), (unsigned long long)s.attempted,
	       (unsigned long long)lost, (unsigned long long)s.discarded,
	       (unsigned long long)overwritten, (unsigned long long)overtaken,
	       (unsigned long long)missing, (unsigned long long)refused);
	if ((!overwrite && overwritten) || missing != refused + overwritten)
		fail("events are missing and are not counted", 0);
}

int main(int argc, char **argv)
{
	struct xvt_layout layout = { .ring_count = 1,
				     .align = XVT_ALIGN_MIN,
				     .meta_size = XVT_ALIGN_MIN,
				     .subbuf_size = SUBBUF_SIZE,
				     .clock_id = XVT_CLOCK_NATIVE };
	struct xvt_reader r;
	pthread_t writer;

	if (argc != 3) {
		fprintf(stderr, "usage: threads stop|overwrite EVENTS\n");
		return 2;
	}
	overwrite = !strcmp(argv[1], "overwrite");
	events = strtoull(argv[2], NULL, 0);
	layout.enable = overwrite ? XVT_ENABLE_OVERWRITE : XVT_ENABLE_STOP;
	layout.region_size = 5 * XVT_ALIGN_MIN + SUBBUF_SIZE * SUBBUF_COUNT;
	fd = memfd_create("stress", 0);
	if (fd < 0 || ftruncate(fd, (off_t)layout.region_size)) {
		perror("memfd");
		return 1;
	}
	region = mmap(NULL, layout.region_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (region == MAP_FAILED || xvt_region_format(region, &layout, &g)) {
		fprintf(stderr, "threads: no region\n");
		return 1;
	}
	load_pin(0);
	xvt_reader_init(&r, &g, 0);
	if (pthread_create(&writer, NULL, write_all, NULL))
		return 1;
	while (!__atomic_load_n(&writer_done, __ATOMIC_ACQUIRE))
		pass(&r);
	while (pass(&r))
		;
	pthread_join(writer, NULL);
	check();
	return 0;
}
