// SPDX-License-Identifier: GPL-2.0
/*
 * read.c - see read.h. Knows chunks and events, nothing of what is inside an event. The files
 * below it: open.c, index.c, take.c, chunk.c; see parts.h.
 */
#include "trace/read.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/vec.h"
#include "trace/parts.h"

#define BAD_SIZE "its length is not one that its type can have"

static bool is_known_type(uint16_t type)
{
	return type >= XVT_CHUNK_FILE && type <= XVT_CHUNK_LAST;
}

/* Can a chunk of that type have a payload of that length? */
static bool length_fits(uint16_t type, uint32_t len)
{
	static const struct {
		uint32_t least;
		uint32_t each; /* an array of these; 0: none */
	} known[] = {
		[XVT_CHUNK_FILE] = { sizeof(struct xvt_file_info), 0 },
		[XVT_CHUNK_VM] = { sizeof(struct xvt_vm_info), 0 },
		[XVT_CHUNK_RING] = { sizeof(struct xvt_ring_info), 0 },
		[XVT_CHUNK_META] = { sizeof(struct xvt_meta_info), 0 },
		[XVT_CHUNK_SAMPLES] = { 0, sizeof(struct xvt_clock_sample) },
		[XVT_CHUNK_NODE] = { 0, sizeof(struct xvt_clock_node) },
		[XVT_CHUNK_ORDER] = { sizeof(struct xvt_order_hdr), 0 },
		[XVT_CHUNK_LATE] = { sizeof(struct xvt_order_hdr), 0 },
		[XVT_CHUNK_LOOSE] = { sizeof(struct xvt_order_hdr), 0 },
		[XVT_CHUNK_ROUND] = { offsetof(struct xvt_round, written_ns), 0 },
		[XVT_CHUNK_STATS] = { XVT_RING_STATS_LEN_LEAST, 0 },
		[XVT_CHUNK_NOTE] = { sizeof(struct xvt_note), 0 },
		[XVT_CHUNK_INDEX] = { 0, 0 },
		[XVT_CHUNK_END] = { sizeof(struct xvt_end), 0 },
		[XVT_CHUNK_TIMEBASE] = { 0, sizeof(struct xvt_timebase) },
		[XVT_CHUNK_MARKS] = { 0, sizeof(struct xvt_mark_seen) },
		[XVT_CHUNK_RUNS] = { 0, sizeof(struct xvt_run_span) },
		[XVT_CHUNK_RAW] = { 0, sizeof(uint64_t) },
		[XVT_CHUNK_LOOKS] = { 0, sizeof(struct xvt_clock_look) },
		[XVT_CHUNK_HEADS] = { 0, sizeof(struct xvt_subbuf_head) },
	};

	if (!is_known_type(type))
		return true;
	return len >= known[type].least && (!known[type].each || len % known[type].each == 0);
}

/* Is what was loaded what the index said? */
static bool as_indexed(const struct xvt_trace *t, const struct xvt_chunk_ref *ref,
		       const struct xvt_chunk_buf *b)
{
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)b->bytes;
	struct xvt_order_hdr events;

	if (h->type != ref->type || h->seq != ref->seq || h->trace_id != t->trace_id)
		return false;
	if (!xvt_chunk_of_events(ref->type) || b->len < sizeof(events))
		return true;
	memcpy(&events, b->payload, sizeof(events));
	return events.first_ns == ref->first_ns && events.last_ns == ref->last_ns &&
	       events.count == ref->count;
}

/* The checksum is right. Returns 0, or -EBADMSG and *why; NULL: that is nothing to speak of. */
static int take_loaded(const struct xvt_chunk_ref *ref, const struct xvt_chunk_buf *b,
		       const char **why)
{
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)b->bytes;

	/* What is skipped of a type that we know is missing from what we say; else nothing is. */
	*why = is_known_type(ref->type) ? XVT_NEW_FLAGS : NULL;
	if (h->flags & ~XVT_CHUNK_F_ZSTD)
		return -EBADMSG;
	*why = BAD_SIZE;
	return length_fits(ref->type, b->len) ? 0 : -EBADMSG;
}

static int load_chunk(struct xvt_trace *t, size_t chunk, struct xvt_chunk_buf *b)
{
	struct xvt_chunk_ref *ref = &t->chunks[chunk];
	int err = ref->bad ? -EBADMSG : xvt_trace_load_at(t, ref->offset, ref->len, b);
	const char *why = XVT_BAD_SUM;

	if (t->indexed && (err == -EBADMSG || (!err && !as_indexed(t, ref, b)))) {
		uint32_t rings = t->ring_count, vms = t->vm_count;

		err = xvt_trace_walk_again(t, ref->offset);
		/* Callers keep arrays of this size; machines that the index hid stay unknown.
		 */
		if (t->ring_count > rings)
			t->ring_count = rings;
		if (t->vm_count > vms)
			t->vm_count = vms;
		return err ? err : -ESTALE;
	}
	if (!err)
		err = take_loaded(ref, b, &why);
	else if (err == -ENOTSUP)
		why = XVT_NO_ZSTD;
	if ((err == -EBADMSG || err == -ENOTSUP) && !ref->bad && why)
		xvt_trace_note_damage(t, ref->offset, sizeof(struct xvt_chunk_hdr) + ref->len, why);
	ref->bad = err == -EBADMSG || err == -ENOTSUP;
	ref->checked = !err;
	return err == -ENOTSUP ? -EBADMSG : err;
}

int xvt_trace_load(struct xvt_trace *t, size_t chunk, struct xvt_chunk_buf *b)
{
	return t->ops ? t->ops->load(t, chunk, b) : load_chunk(t, chunk, b);
}

int xvt_trace_next(struct xvt_trace *t, uint32_t types, size_t *i, struct xvt_chunk_buf *b)
{
	for (; *i < t->chunk_count; ++*i) {
		const uint16_t type = t->chunks[*i].type;
		int err;

		if (types != XVT_CHUNKS_ALL && (type > 31 || !(types >> type & 1)))
			continue;
		err = xvt_trace_load(t, *i, b);
		if (err != -EBADMSG)
			return err ? err : 1;
	}
	return 0;
}

int xvt_trace_check_rest(struct xvt_trace *t)
{
	struct xvt_chunk_buf b = { 0 };
	int err = 0;

	for (size_t i = 0; i < t->chunk_count && !err; i++) {
		if (t->chunks[i].checked || t->chunks[i].bad)
			continue;
		err = xvt_trace_load(t, i, &b);
		if (err == -EBADMSG)
			err = 0;
	}
	xvt_chunk_buf_free(&b);
	return err;
}

uint64_t xvt_trace_wall_ns(const struct xvt_trace *t, uint64_t host_ns)
{
	const size_t n = XVT_COUNT_TO(t->timebase, t->timebase_count, base_ns, host_ns);
	const struct xvt_timebase *line = &t->timebase[n ? n - 1 : 0];

	return line->realtime_ns + (host_ns - line->base_ns);
}

const char *xvt_vm_name(const struct xvt_trace *t, uint32_t vm)
{
	return vm < t->vm_count && t->vms[vm].known ? t->vms[vm].name : "?";
}

uint64_t xvt_trace_unordered(const struct xvt_trace *t)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = t->chunk_count; i-- > 0 && !t->ended && !xvt_chunk_of_events(t->chunks[i].type);) {
		if (t->chunks[i].type == XVT_CHUNK_RAW)
			bytes += t->chunks[i].len;
	}
	return bytes;
}

size_t xvt_trace_chunk_at(const struct xvt_trace *t, uint64_t offset)
{
	const size_t n = XVT_COUNT_TO(t->chunks, t->chunk_count, offset, offset);

	return n && t->chunks[n - 1].offset == offset ? n - 1 : t->chunk_count;
}

size_t xvt_trace_chunk_of(const struct xvt_trace *t, uint64_t seq)
{
	const size_t n = XVT_COUNT_TO(t->chunks, t->chunk_count, seq, seq);

	return n && t->chunks[n - 1].seq == seq ? n - 1 : t->chunk_count;
}

void xvt_trace_note_chunk(struct xvt_trace *t, uint64_t offset, const char *why)
{
	const size_t chunk = xvt_trace_chunk_at(t, offset);
	struct xvt_chunk_ref *ref = &t->chunks[chunk];

	if (chunk == t->chunk_count || ref->noted)
		return;
	ref->noted = true;
	xvt_trace_note_damage(t, offset, sizeof(struct xvt_chunk_hdr) + ref->len, why);
}
