// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-raw.c - a trace as it stands in the file, one line a thing, for scripts that judge it:
 *
 *   event LANE VM RING HOST_NS GUEST_CLOCK FLAGS ID SUM   lane main or late; SUM of the payload
 *   lost RING HOST_NS GUEST_CLOCK FLAGS ROLLED_BACK
 *   node RING SOURCE EPOCH FLAGS GUEST_CLOCK HOST_NS BOUND_NS SEGMENT_BOUND_NS
 *   round N WATERMARK_NS WRITTEN_NS                       0: its recorder did not say when
 *   note LEVEL RING HOST_NS TEXT
 *   rate VM RING CPU HZ           of the clock, as the file has it at its end; 0: not known
 *
 *   xvt-raw FILE.xvt
 *   xvt-raw FILE.xvt chunks       "chunk TYPE OFFSET" for each
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/crc32c.h"
#include "trace/read.h"
#include "trace/note.h"
#include "trace/raws.h"

static struct xvt_trace *trace;

static void put_event(const struct xvt_event *ev, const char *lane)
{
	const struct xvt_event_hdr *h = ev->hdr;
	uint32_t ring = xvt_event_ring(ev), flags = h->ring_flags & ~XVT_EVENT_RING_MASK;

	if (h->id == XVT_ID_LOST && h->len >= XVT_LOST_LEN_LEAST) {
		struct xvt_lost lost;

		xvt_lost_get(h, ev->payload, &lost);
		printf("lost %u %" PRIu64 " %" PRIu64 " 0x%x %" PRIu64 "\n", ring, h->host_ns,
		       h->guest_clock, flags, lost.rolled_back);
		return;
	}
	printf("event %s %s %u %" PRIu64 " %" PRIu64 " 0x%x %u %08x\n", lane,
	       xvt_vm_name(trace, xvt_ring_vm(trace, ring)), ring, h->host_ns, h->guest_clock,
	       flags, h->id, xvt_crc32c(0, ev->payload, h->len));
}

static struct xvt_trace_raws raws;
static struct xvt_events_iter it;

static void put_events(const struct xvt_chunk_buf *b, uint64_t seq, const char *lane)
{
	struct xvt_event ev;

	if (xvt_events_begin(&it, &raws.base, b, seq))
		return;
	while (xvt_events_next(&it, &ev) == 1)
		put_event(&ev, lane);
}

static void put_nodes(const struct xvt_chunk_buf *b)
{
	struct xvt_clock_node n;
	uint32_t at;

	for (at = 0; b->len - at >= sizeof(n); at += sizeof(n)) {
		memcpy(&n, b->payload + at, sizeof(n));
		printf("node %u %u %u 0x%x %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		       n.ring, n.source, n.epoch, n.flags, n.guest, n.host_ns, n.bound_ns,
		       n.segment_bound_ns);
	}
}

static void put_round(const struct xvt_chunk_buf *b)
{
	uint64_t words[3] = { 0 };

	memcpy(words, b->payload, b->len < sizeof(words) ? b->len : sizeof(words));
	printf("round %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", words[0], words[1], words[2]);
}

static void put_note(const struct xvt_chunk_buf *b)
{
	struct xvt_note_parts p;

	if (!xvt_note_get(b, &p))
		return;
	printf("note %u %d %" PRIu64 " %.*s\n", p.note.level, (int)p.note.ring, p.note.host_ns,
	       (int)p.len, (const char *)p.text);
}

static void put_rates(void)
{
	uint32_t ring;

	for (ring = 0; ring < trace->ring_count; ring++) {
		const struct xvt_trace_ring *r = &trace->rings[ring];
		uint64_t hz = r->info.clock_hz;

		if (!r->known)
			continue;
		if (!hz && r->info.vm < trace->vm_count)
			hz = trace->vms[r->info.vm].info.clock_hz;
		printf("rate %s %u %u %" PRIu64 "\n", xvt_vm_name(trace, r->info.vm), ring,
		       r->info.cpu, hz);
	}
}

int main(int argc, char **argv)
{
	struct xvt_chunk_buf b = { 0 };
	struct xvt_error why;
	size_t i;

	if (argc != 2 && !(argc == 3 && !strcmp(argv[2], "chunks"))) {
		fputs("usage: xvt-raw FILE.xvt [chunks]\n", stderr);
		return 2;
	}
	if (xvt_trace_open(&trace, argv[1], &why)) {
		fprintf(stderr, "xvt-raw: %s: %s\n", argv[1], why.text);
		return 1;
	}
	xvt_trace_raws_init(&raws, trace);
	for (i = 0; i < trace->chunk_count; i++) {
		const struct xvt_chunk_ref *ref = &trace->chunks[i];

		if (argc == 3) {
			printf("chunk %u %" PRIu64 "\n", ref->type, ref->offset);
			continue;
		}
		if (xvt_trace_load(trace, i, &b)) {
			fprintf(stderr, "xvt-raw: %s: chunk %zu is damaged\n", argv[1], i);
			return 1;
		}
		switch (ref->type) {
		case XVT_CHUNK_ORDER:
			put_events(&b, ref->seq, "main");
			break;
		case XVT_CHUNK_LATE:
			put_events(&b, ref->seq, "late");
			break;
		case XVT_CHUNK_LOOSE:
			put_events(&b, ref->seq, "loose");
			break;
		case XVT_CHUNK_NODE:
			put_nodes(&b);
			break;
		case XVT_CHUNK_ROUND:
			put_round(&b);
			break;
		case XVT_CHUNK_NOTE:
			put_note(&b);
			break;
		}
	}
	if (argc == 2)
		put_rates();
	xvt_events_end(&it);
	xvt_trace_raws_fini(&raws);
	xvt_chunk_buf_free(&b);
	xvt_trace_close(trace);
	return 0;
}
