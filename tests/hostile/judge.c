// SPDX-License-Identifier: GPL-2.0
/*
 * judge.c - xvt-hostile-judge: what became of one machine in a trace, as shell assignments. The
 * machine's events are xvt-emit's: {u64 thread, u64 number}.
 *
 *   xvt-hostile-judge FILE.xvt NAME
 *
 * events, late, unconfirmed, attempted, lost, bound_ns   of that machine
 * wrong      events that are there twice, or out of order
 * lag_ms     how old at most its oldest event was that was not in the file yet: time of a watermark
 *            less the watermark before it, from its first event to its last
 * notes      warnings and errors in the trace that name it; they are printed to stderr
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read.h"
#include "trace/note.h"
#include "trace/raws.h"

#define THREADS 64u

static struct {
	struct xvt_trace *t;
	uint32_t vm;
	struct xvt_ring_stats *stats; /* of each ring, the last */
	uint64_t events, late, unconfirmed, wrong, notes;
	uint64_t next_number[THREADS]; /* main lane */
	uint64_t first_ns, last_ns;
	uint64_t watermark_ns, lag_ns;
} j;

static void look_at_event(const struct xvt_event *ev, bool late)
{
	uint64_t words[2];

	if (xvt_ring_vm(j.t, xvt_event_ring(ev)) != j.vm || !xvt_is_event(ev->hdr))
		return;
	j.events++;
	j.late += late && !(ev->hdr->ring_flags & XVT_EVENT_F_BACKLOG);
	j.unconfirmed += !!(ev->hdr->ring_flags & XVT_EVENT_F_UNCONFIRMED);
	if (!j.first_ns)
		j.first_ns = j.watermark_ns = ev->hdr->host_ns;
	if (ev->hdr->host_ns > j.last_ns)
		j.last_ns = ev->hdr->host_ns;
	if (late || ev->hdr->len < sizeof(words))
		return;
	memcpy(words, ev->payload, sizeof(words));
	if (words[0] >= THREADS || words[1] < j.next_number[words[0]])
		j.wrong++;
	else
		j.next_number[words[0]] = words[1] + 1;
}

static struct xvt_trace_raws raws;
static struct xvt_events_iter it;

static void look_at_events(const struct xvt_chunk_buf *b, uint64_t seq, bool late)
{
	struct xvt_event ev;

	if (!raws.t)
		xvt_trace_raws_init(&raws, j.t);
	if (xvt_events_begin(&it, &raws.base, b, seq))
		return;
	while (xvt_events_next(&it, &ev) == 1)
		look_at_event(&ev, late);
}

static void look_at_round(const struct xvt_chunk_buf *b)
{
	struct xvt_round r;

	if (b->len < sizeof(r))
		return;
	memcpy(&r, b->payload, sizeof(r));
	if (j.first_ns && j.watermark_ns < j.last_ns && r.written_ns > j.watermark_ns &&
	    r.written_ns - j.watermark_ns > j.lag_ns)
		j.lag_ns = r.written_ns - j.watermark_ns;
	if (r.watermark_ns > j.watermark_ns)
		j.watermark_ns = r.watermark_ns;
}

static void look_at_stats(const struct xvt_chunk_buf *b)
{
	struct xvt_ring_stats s = { 0 };

	memcpy(&s, b->payload, b->len < sizeof(s) ? b->len : sizeof(s));
	if (s.ring < j.t->ring_count)
		j.stats[s.ring] = s;
}

static void look_at_note(const struct xvt_chunk_buf *b)
{
	struct xvt_note_parts p;

	if (!xvt_note_get(b, &p) || p.note.vm != j.vm || !p.note.level)
		return;
	j.notes++;
	fprintf(stderr, "note: %.*s\n", (int)p.len, (const char *)p.text);
}

static int look_at_chunk(size_t i, struct xvt_chunk_buf *b)
{
	const struct xvt_chunk_ref *ref = &j.t->chunks[i];

	if (ref->type == XVT_CHUNK_META || ref->type == XVT_CHUNK_SAMPLES)
		return 0;
	if (xvt_trace_load(j.t, i, b))
		return -1;
	if (xvt_chunk_of_events(ref->type))
		look_at_events(b, ref->seq, ref->type == XVT_CHUNK_LATE);
	else if (ref->type == XVT_CHUNK_ROUND)
		look_at_round(b);
	else if (ref->type == XVT_CHUNK_STATS)
		look_at_stats(b);
	else if (ref->type == XVT_CHUNK_NOTE)
		look_at_note(b);
	return 0;
}

static uint64_t lost_of(const struct xvt_ring_stats *s)
{
	uint64_t lost = s->overwritten;
	int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		lost += s->lost[i];
	return lost;
}

static void print_result(void)
{
	uint64_t attempted = 0, lost = 0, bound = 0;
	uint32_t i;

	for (i = 0; i < j.t->ring_count; i++) {
		if (xvt_ring_vm(j.t, i) != j.vm)
			continue;
		attempted += j.stats[i].attempted;
		lost += lost_of(&j.stats[i]);
		if (j.stats[i].bound_ns_max > bound)
			bound = j.stats[i].bound_ns_max;
	}
	printf("events=%" PRIu64 " late=%" PRIu64 " unconfirmed=%" PRIu64 " attempted=%" PRIu64
	       " lost=%" PRIu64 " wrong=%" PRIu64 " lag_ms=%" PRIu64 " bound_ns=%" PRIu64
	       " notes=%" PRIu64 "\n",
	       j.events, j.late, j.unconfirmed, attempted, lost, j.wrong, j.lag_ns / 1000000, bound,
	       j.notes);
}

int main(int argc, char **argv)
{
	struct xvt_chunk_buf b = { 0 };
	struct xvt_error why;
	size_t i;
	int err = 0;

	if (argc != 3) {
		fputs("usage: xvt-hostile-judge FILE.xvt NAME\n", stderr);
		return 2;
	}
	if (xvt_trace_open(&j.t, argv[1], &why)) {
		fprintf(stderr, "xvt-hostile-judge: %s: %s\n", argv[1], why.text);
		return 1;
	}
	for (j.vm = 0; j.vm < j.t->vm_count && strcmp(xvt_vm_name(j.t, j.vm), argv[2]); j.vm++)
		;
	j.stats = calloc(j.t->ring_count + 1, sizeof(*j.stats));
	if (!j.stats || j.vm == j.t->vm_count) {
		fprintf(stderr, "xvt-hostile-judge: no machine %s\n", argv[2]);
		return 1;
	}
	for (i = 0; i < j.t->chunk_count && !err; i++)
		err = look_at_chunk(i, &b);
	if (err)
		fprintf(stderr, "xvt-hostile-judge: chunk %zu is damaged\n", i - 1);
	else
		print_result();
	free(j.stats);
	xvt_chunk_buf_free(&b);
	xvt_trace_close(j.t);
	return err ? 1 : 0;
}
