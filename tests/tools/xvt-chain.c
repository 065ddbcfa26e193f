// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-chain.c - traces that recorders made of the same regions one after another, each but the
 * last killed. Their events are xvt-emit's, numbered, one thread a ring. Says what became of the
 * numbers:
 *
 *   ring VM INDEX files=N events=N twice=N holes=N missing=N gaps=N told=N in_files=N wrong=N
 *                 claimed=N full=N
 *   all events=N twice=N holes=N missing=N gaps=N told=N in_files=N wrong=N claimed=N full=N
 *
 * holes: numbers missing between two of one file, where nothing but a full ring may take them.
 * missing: between the last of a file and the first of the next; gaps: how often.
 * told: of them, as the next file counts them. in_files: that it counts too many, because the
 * file before holds more than its region said when its recorder was killed: never less than 0.
 * wrong: gaps of which told - in_files is not what is missing. Events for which a ring was full
 * are missing, too, and are told by another count, so a gap beside such a file is not judged.
 * claimed: files of which the region said more than they hold. That must never be.
 * full: events for which a ring was full, as the last counters of each file tell. A later file may
 * tell those again that its region did not know of yet.
 *
 *   xvt-chain FILE.xvt...      in the order of recording
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read.h"
#include "trace/raws.h"

#define RINGS_MAX 256

struct ring {
	char name[XVT_NAME_LEN];
	uint32_t index;
	uint64_t *seen; /* thread and number of each event, in the order of files */
	size_t count, room;
	uint64_t files, holes, missing, gaps, told, in_files, wrong, claimed, full;

	/* Of the file before, and of the one in hand. */
	bool any;
	uint64_t last;
	uint64_t end;	     /* delivered or given up at its end, as it lies in the file */
	uint64_t events_end; /* the same of the last that has events */
	size_t begin;	     /* its first in seen */
	uint64_t before, unaccounted;
	uint64_t full_here, full_before; /* the counters of a file */
	bool here;
};

static struct ring rings[RINGS_MAX];
static size_t nr_rings;

static struct ring *ring_of(const struct xvt_trace *t, uint32_t ring)
{
	const char *name = xvt_vm_name(t, xvt_ring_vm(t, ring));
	uint32_t index = t->rings[ring].info.index;
	size_t i;

	for (i = 0; i < nr_rings; i++) {
		if (rings[i].index == index && !strcmp(rings[i].name, name))
			return &rings[i];
	}
	if (nr_rings == RINGS_MAX)
		exit(2);
	snprintf(rings[i].name, sizeof(rings[i].name), "%s", name);
	rings[i].index = index;
	return &rings[nr_rings++];
}

static void take_event(const struct xvt_trace *t, const struct xvt_event *ev)
{
	struct ring *r = ring_of(t, xvt_event_ring(ev));
	struct xvt_lost lost;
	uint64_t words[2];

	if (ev->hdr->id == XVT_ID_LOST && xvt_lost_get(ev->hdr, ev->payload, &lost)) {
		r->unaccounted += lost.overwritten;
		return;
	}
	if (ev->hdr->id != XVT_ID_U64 || ev->hdr->len < sizeof(words))
		return;
	memcpy(words, ev->payload, sizeof(words));
	if (r->count == r->room) {
		r->room = r->room ? r->room * 2 : 1024;
		r->seen = realloc(r->seen, r->room * sizeof(*r->seen));
		if (!r->seen)
			exit(2);
	}
	r->seen[r->count++] = words[0] << 48 | words[1];
}

static void take_stats(const struct xvt_trace *t, const struct xvt_chunk_buf *b)
{
	struct xvt_ring_stats st;

	if (xvt_stats_get(b, &st) && st.ring < t->ring_count && t->rings[st.ring].known)
		ring_of(t, st.ring)->full_here = st.lost[XVT_LOST_FULL];
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void begin_file(const struct xvt_trace *t)
{
	uint32_t i;

	for (i = 0; i < t->ring_count; i++) {
		struct ring *r;

		if (!t->rings[i].known)
			continue;
		r = ring_of(t, i);
		r->begin = r->count;
		r->unaccounted = 0;
		r->full_here = 0;
		r->before = t->rings[i].info.before;
		r->here = true;
	}
}

static void end_ring(struct ring *r)
{
	size_t n = r->count - r->begin;
	uint64_t missing;
	int64_t in_file;

	if (!r->here)
		return;
	r->here = false;
	r->files++;
	r->full += r->full_here;
	in_file = (int64_t)(r->end - r->before);
	r->end = r->before + r->unaccounted + n;
	r->told += r->unaccounted;
	r->in_files += r->files > 1 ? (uint64_t)in_file : 0;
	r->claimed += r->files > 1 && in_file < 0;
	if (!n)
		return; /* what it did not say the next one does */
	qsort(r->seen + r->begin, n, sizeof(*r->seen), by_number);
	r->holes += r->seen[r->count - 1] - r->seen[r->begin] + 1 - n;
	missing = r->any ? r->seen[r->begin] - r->last - 1 : r->seen[r->begin] & 0xffffffffffff;
	r->missing += missing;
	r->gaps += missing != 0;
	/* From the last file that has events: one without leaves its part to the next. Before the
	 * first of these nothing is known. */
	r->wrong += r->any && !r->full_here && !r->full_before &&
		    r->before + r->unaccounted - r->events_end != missing;
	r->full_before = r->full_here;
	r->events_end = r->end;
	r->last = r->seen[r->count - 1];
	r->any = true;
}

static void add_file(const char *path)
{
	static struct xvt_trace_raws raws;
	struct xvt_events_iter it = { 0 };
	struct xvt_chunk_buf b = { 0 };
	struct xvt_trace *t;
	struct xvt_error why;
	size_t i;

	if (xvt_trace_open(&t, path, &why)) {
		fprintf(stderr, "xvt-chain: %s: %s\n", path, why.text);
		exit(1);
	}
	begin_file(t);
	xvt_trace_raws_init(&raws, t);
	for (i = 0; i < t->chunk_count; i++) {
		struct xvt_event ev;

		if (t->chunks[i].type == XVT_CHUNK_STATS && !xvt_trace_load(t, i, &b))
			take_stats(t, &b);
		if (!xvt_chunk_of_events(t->chunks[i].type))
			continue;
		if (xvt_trace_load(t, i, &b) ||
		    xvt_events_begin(&it, &raws.base, &b, t->chunks[i].seq))
			exit(1);
		while (xvt_events_next(&it, &ev) == 1)
			take_event(t, &ev);
	}
	xvt_events_end(&it);
	xvt_trace_raws_fini(&raws);
	xvt_chunk_buf_free(&b);
	xvt_trace_close(t);
	for (i = 0; i < nr_rings; i++)
		end_ring(&rings[i]);
}

int main(int argc, char **argv)
{
	uint64_t events = 0, twice = 0, missing = 0, gaps = 0, told = 0, holes = 0, in_files = 0,
		 wrong = 0, claimed = 0, full = 0;
	size_t i, k;

	if (argc < 2) {
		fputs("usage: xvt-chain FILE.xvt...\n", stderr);
		return 2;
	}
	for (i = 1; i < (size_t)argc; i++)
		add_file(argv[i]);
	for (i = 0; i < nr_rings; i++) {
		struct ring *r = &rings[i];
		uint64_t n = 0;

		qsort(r->seen, r->count, sizeof(*r->seen), by_number);
		for (k = 1; k < r->count; k++)
			n += r->seen[k] == r->seen[k - 1];
		printf("ring %s %u files=%" PRIu64 " events=%zu twice=%" PRIu64 " holes=%" PRIu64
		       " missing=%" PRIu64 " gaps=%" PRIu64 " told=%" PRIu64 " in_files=%" PRId64
		       " wrong=%" PRIu64 " claimed=%" PRIu64 " full=%" PRIu64 "\n",
		       r->name, r->index, r->files, r->count, n, r->holes, r->missing, r->gaps,
		       r->told, (int64_t)r->in_files, r->wrong, r->claimed, r->full);
		events += r->count;
		twice += n;
		missing += r->missing;
		holes += r->holes;
		gaps += r->gaps;
		told += r->told;
		in_files += r->in_files;
		wrong += r->wrong;
		claimed += r->claimed;
		full += r->full;
		free(r->seen);
	}
	printf("all events=%" PRIu64 " twice=%" PRIu64 " holes=%" PRIu64 " missing=%" PRIu64
	       " gaps=%" PRIu64 " told=%" PRIu64 " in_files=%" PRId64 " wrong=%" PRIu64
	       " claimed=%" PRIu64 " full=%" PRIu64 "\n",
	       events, twice, holes, missing, gaps, told, (int64_t)in_files, wrong, claimed, full);
	return 0;
}
