// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-ftrace-pages.c - the kernel events of an xvt-bigtrace as ftrace's ring buffer holds them, a
 * file of pages for each ring, from which `trace-cmd restore` makes a trace.dat: so that trace-cmd
 * reads the same events.
 *   xvt-ftrace-pages IN.xvt PREFIX SWITCH WAKING IRQ_ENTRY IRQ_EXIT SOFTIRQ
 * The five are the numbers that this machine's kernel has for these events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read.h"
#include "trace/cursor.h"

#define PAGE	  4096u
#define PAGE_DATA (PAGE - 16u)
#define RINGS_MAX 1024u
/* 27 bits of ns between two events of a page, by Linux's ring_buffer_event. */
#define DELTA_MAX ((1u << 27) - 1)

static const uint16_t ours[5] = { 314, 317, 140, 139, 138 };
static uint16_t theirs[5];

struct cpu {
	FILE *f;
	uint8_t page[PAGE]; /* u64 time of its first event, u64 bytes of data, data */
	size_t used;
	uint64_t last_ns;
};

static struct cpu cpus[RINGS_MAX];

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "xvt-ftrace-pages: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void end_page(struct cpu *c)
{
	uint64_t used = c->used;

	memcpy(c->page + 8, &used, sizeof(used));
	memset(c->page + 16 + used, 0, PAGE_DATA - used);
	must(fwrite(c->page, PAGE, 1, c->f) == 1, "write");
	c->used = 0;
}

static void put_event(struct cpu *c, const struct xvt_event *ev)
{
	uint32_t words = ((uint32_t)ev->hdr->len + 3) / 4, header;
	uint64_t ns = ev->hdr->host_ns;
	uint8_t *to;
	uint16_t type;

	must(words >= 1 && words <= 28, "an event that is too long");
	if (c->used && (c->used + 4 + 4 * words > PAGE_DATA || ns - c->last_ns > DELTA_MAX))
		end_page(c);
	if (!c->used) {
		memcpy(c->page, &ns, sizeof(ns));
		c->last_ns = ns;
	}
	header = words | (uint32_t)(ns - c->last_ns) << 5;
	to = c->page + 16 + c->used;
	memcpy(to, &header, 4);
	memset(to + 4, 0, 4 * words);
	memcpy(to + 4, ev->payload, ev->hdr->len);
	memcpy(&type, to + 4, 2);
	for (int i = 0; i < 5; i++)
		if (ours[i] == type)
			memcpy(to + 4, &theirs[i], 2);
	c->used += 4 + 4 * words;
	c->last_ns = ns;
}

int main(int argc, char **argv)
{
	struct xvt_cursor cursor;
	struct xvt_event ev;
	struct xvt_trace *t;
	char path[4096];
	struct xvt_error why;

	if (argc != 8) {
		fprintf(stderr, "usage: xvt-ftrace-pages IN.xvt PREFIX SWITCH WAKING IRQ_ENTRY "
				"IRQ_EXIT SOFTIRQ\n");
		return 2;
	}
	for (int i = 0; i < 5; i++)
		theirs[i] = (uint16_t)strtoul(argv[3 + i], NULL, 10);
	if (xvt_trace_open(&t, argv[1], &why))
		must(false, why.text);
	must(t->ring_count <= RINGS_MAX, "too many rings");
	for (uint32_t i = 0; i < t->ring_count; i++) {
		snprintf(path, sizeof(path), "%s%u", argv[2], i);
		cpus[i].f = fopen(path, "wb");
		must(cpus[i].f, path);
	}
	must(!xvt_cursor_init(&cursor, t, 0, UINT64_MAX), "read");
	while (xvt_cursor_next(&cursor, &ev) > 0)
		if (ev.hdr->id == XVT_ID_FTRACE && xvt_event_ring(&ev) < t->ring_count)
			put_event(&cpus[xvt_event_ring(&ev)], &ev);
	xvt_cursor_fini(&cursor);
	for (uint32_t i = 0; i < t->ring_count; i++) {
		if (cpus[i].used)
			end_page(&cpus[i]);
		must(!fclose(cpus[i].f), "close");
	}
	xvt_trace_close(t);
	return 0;
}
