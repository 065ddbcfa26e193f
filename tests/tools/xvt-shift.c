// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-shift.c - falsifies a trace so that only causality can tell: one machine's time is
 * moved by some nanoseconds everywhere it appears (nodes, samples, events, counters), the
 * events are sorted again, and all checksums are right.
 *
 *   xvt-shift VM NS IN.xvt OUT.xvt
 *
 * Rounds are left out: their watermarks were promises about the true times.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/host_clock.h"
#include "trace/read.h"
#include "trace/write.h"
#include "trace/raws.h"

struct file_sink {
	struct xvt_sink sink;
	FILE *f;
};

struct moved {
	struct xvt_event_hdr hdr;
	const uint8_t *payload;
	size_t order;
};

static struct xvt_trace *trace;
static uint32_t vm;
static int64_t shift_ns;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "xvt-shift: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int sink_write(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct file_sink *s = (struct file_sink *)sink;

	return fwrite(bytes, 1, len, s->f) == len ? 0 : -EIO;
}

static bool is_moved(uint32_t ring)
{
	return xvt_ring_vm(trace, ring) == vm;
}

/* The host's counter `shift_ns` later: on the line where it is, and back on the one it moves to. */
static uint64_t moved_clock(uint64_t clock)
{
	const struct xvt_timebase *l = trace->timebase + trace->timebase_count - 1;
	uint64_t ns;

	while (l > trace->timebase && l->base_clock > clock)
		l--;
	ns = xvt_timebase_ns(l, clock) + (uint64_t)shift_ns;
	l = trace->timebase + trace->timebase_count - 1;
	while (l > trace->timebase && l->base_ns > ns)
		l--;
	return l->base_clock +
	       (uint64_t)((((__int128)ns - (__int128)l->base_ns) << l->shift) / l->mult);
}

static int compare(const void *pa, const void *pb)
{
	const struct moved *a = pa, *b = pb;
	uint32_t ring_a = a->hdr.ring_flags & XVT_EVENT_RING_MASK;
	uint32_t ring_b = b->hdr.ring_flags & XVT_EVENT_RING_MASK;
	uint32_t vm_a = xvt_ring_vm(trace, ring_a), vm_b = xvt_ring_vm(trace, ring_b);

	if (a->hdr.host_ns != b->hdr.host_ns)
		return a->hdr.host_ns < b->hdr.host_ns ? -1 : 1;
	if (vm_a != vm_b)
		return vm_a < vm_b ? -1 : 1;
	if (ring_a != ring_b)
		return ring_a < ring_b ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static void *copy(const void *bytes, size_t len)
{
	void *to = malloc(len + 1);

	must(to, "memory");
	return memcpy(to, bytes, len);
}

/* All late events, or all others, kept in memory for ever: this is a test's tool. */
static struct moved *read_lane(bool late, size_t *count)
{
	static struct xvt_trace_raws raws;
	struct moved *v = NULL;
	size_t n = 0, room = 0;

	xvt_trace_raws_init(&raws, trace);
	for (size_t i = 0; i < trace->chunk_count; i++) {
		struct xvt_chunk_buf b = { 0 };
		struct xvt_events_iter it = { 0 };
		struct xvt_event ev;

		if (!xvt_chunk_of_events(trace->chunks[i].type) ||
		    (trace->chunks[i].type == XVT_CHUNK_LATE) != late)
			continue;
		must(!xvt_trace_load(trace, i, &b) && !xvt_events_begin(&it, &raws.base, &b, 0),
		     "bad chunk");
		while (xvt_events_next(&it, &ev) > 0) {
			if (n == room) {
				room = room ? room * 2 : 4096;
				v = realloc(v, room * sizeof(*v));
				must(v, "memory");
			}
			v[n].hdr = *ev.hdr;
			v[n].payload = copy(ev.payload, ev.hdr->len);
			v[n].order = n;
			if (is_moved(xvt_event_ring(&ev)))
				v[n].hdr.host_ns += (uint64_t)shift_ns;
			n++;
		}
		xvt_events_end(&it);
		xvt_chunk_buf_free(&b);
	}
	xvt_trace_raws_fini(&raws);
	if (n)
		qsort(v, n, sizeof(*v), compare);
	*count = n;
	return v;
}

static void move_records(uint16_t type, struct xvt_chunk_buf *b)
{
	if (type == XVT_CHUNK_NODE) {
		struct xvt_clock_node *n = (struct xvt_clock_node *)b->payload;

		for (uint32_t i = 0; i < b->len / sizeof(*n); i++)
			if (is_moved(n[i].ring))
				n[i].host_ns += (uint64_t)shift_ns;
	} else if (type == XVT_CHUNK_SAMPLES) {
		struct xvt_clock_sample *s = (struct xvt_clock_sample *)b->payload;

		for (uint32_t i = 0; i < b->len / sizeof(*s); i++)
			if (is_moved(s[i].ring)) {
				s[i].host_clock_lo = moved_clock(s[i].host_clock_lo);
				s[i].host_clock_hi = moved_clock(s[i].host_clock_hi);
			}
	} else if (type == XVT_CHUNK_STATS) {
		struct xvt_ring_stats *st = (struct xvt_ring_stats *)b->payload;

		if (is_moved(st->ring) && st->events) {
			st->first_ns += (uint64_t)shift_ns;
			st->last_ns += (uint64_t)shift_ns;
		}
	}
}

static void copy_others(struct xvt_trace_writer *w, bool stats)
{
	for (size_t i = 0; i < trace->chunk_count; i++) {
		uint16_t type = trace->chunks[i].type;
		struct xvt_chunk_buf b = { 0 };

		if (type == XVT_CHUNK_FILE || type == XVT_CHUNK_RAW || xvt_chunk_of_events(type) ||
		    type == XVT_CHUNK_ROUND || type == XVT_CHUNK_INDEX || type == XVT_CHUNK_END ||
		    (type == XVT_CHUNK_STATS) != stats)
			continue;
		must(!xvt_trace_load(trace, i, &b), "bad chunk");
		move_records(type, &b);
		must(!xvt_trace_put(w, type, b.payload, b.len, NULL, 0), "write");
		xvt_chunk_buf_free(&b);
	}
}

static void write_lane(struct xvt_trace_writer *w, bool late)
{
	size_t n;
	struct moved *v = read_lane(late, &n);

	for (size_t i = 0; i < n; i++)
		must(!xvt_trace_event(w, &v[i].hdr, v[i].payload), "write");
	free(v);
}

int main(int argc, char **argv)
{
	struct file_sink sink = { .sink.write = sink_write };
	struct xvt_trace_writer *w;
	struct xvt_file_info info;
	struct xvt_error why;

	if (argc != 5) {
		fprintf(stderr, "usage: xvt-shift VM NS IN.xvt OUT.xvt\n");
		return 2;
	}
	if (xvt_trace_open(&trace, argv[3], &why)) {
		fprintf(stderr, "xvt-shift: %s: %s\n", argv[3], why.text);
		return 1;
	}
	shift_ns = strtoll(argv[2], NULL, 0);
	for (vm = 0; vm < trace->vm_count && strcmp(xvt_vm_name(trace, vm), argv[1]) != 0; vm++)
		;
	must(vm < trace->vm_count, "no such VM");
	sink.f = fopen(argv[4], "wb");
	must(sink.f, argv[4]);
	info = trace->info;
	memset(info.uuid, 0, sizeof(info.uuid));
	must(!xvt_trace_writer_new(&w, &sink.sink, &info), "write");
	copy_others(w, false);
	write_lane(w, false);
	write_lane(w, true);
	copy_others(w, true);
	must(!xvt_trace_writer_finish(w) && !fclose(sink.f), argv[4]);
	xvt_trace_close(trace);
	return 0;
}
