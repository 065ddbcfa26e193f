// SPDX-License-Identifier: GPL-2.0
/*
 * index.c - finds the chunks of a trace by its INDEX chunks instead of by every chunk's header. An
 * index is as untrusted as the rest: it must list chunks that fill the file up to the INDEX itself,
 * and each entry is checked against its chunk when that is loaded (xvt_trace_load()).
 */
#include "trace/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define SCAN_BYTES (256u << 10)

/* An INDEX chunk's header and its first entry. */
struct first {
	struct xvt_chunk_hdr h;
	struct xvt_index_entry entry;
};

/* Returns 1 if there is an INDEX at `offset`, by its header; 0 if not; else -errno. */
static int read_first(struct xvt_trace *t, uint64_t offset, struct first *first)
{
	ssize_t n;

	memset(first, 0, sizeof(*first));
	if (offset % 8 || offset > t->size || t->size - offset < sizeof(*first))
		return 0;
	n = xvt_trace_read_at(t, first, sizeof(*first), offset);
	if (n < 0)
		return (int)n;
	return n == sizeof(*first) && first->h.magic == XVT_CHUNK_MAGIC &&
	       first->h.type == XVT_CHUNK_INDEX && !first->h.flags &&
	       first->h.trace_id == t->trace_id && first->h.len >= sizeof(first->entry) &&
	       first->h.len <= XVT_CHUNK_LEN_MAX && first->h.len % sizeof(first->entry) == 0 &&
	       first->h.len <= t->size - offset - sizeof(first->h);
}

/* Finds the last INDEX of a cleanly ended file by its END chunk. Returns like read_first(). */
static int find_by_end(struct xvt_trace *t, struct xvt_chunk_buf *b, uint64_t *offset)
{
	uint64_t at = t->size - sizeof(struct xvt_chunk_hdr) - sizeof(struct xvt_end);
	struct xvt_chunk_head head;
	struct xvt_end end;
	int is, err;

	if (t->size % 8 || t->size < sizeof(struct xvt_chunk_hdr) + sizeof(end))
		return 0;
	is = xvt_trace_read_head(t, at, &head);
	if (is <= 0 || head.h.type != XVT_CHUNK_END || head.h.flags || head.h.len != sizeof(end))
		return is < 0 ? is : 0;
	err = xvt_trace_load_at(t, at, sizeof(end), b);
	if (err)
		return err == -EBADMSG ? 0 : err;
	memcpy(&end, b->payload, sizeof(end));
	*offset = end.index_offset;
	return 1;
}

/* Finds the last INDEX header of this trace in `scan`. Returns its offset in `scan`, or -1. */
static ssize_t last_in(const struct xvt_trace *t, const uint8_t *scan, size_t len)
{
	struct xvt_chunk_hdr h;

	for (size_t i = len & ~7ull; i >= 8; i -= 8) {
		const uint8_t *p = scan + i - 8;
		uint32_t magic;

		memcpy(&magic, p, sizeof(magic));
		if (xvt_likely(magic != XVT_CHUNK_MAGIC) || len - (i - 8) < sizeof(h))
			continue;
		memcpy(&h, p, sizeof(h));
		if (h.type == XVT_CHUNK_INDEX && !h.flags && h.trace_id == t->trace_id)
			return (ssize_t)(i - 8);
	}
	return -1;
}

/*
 * Finds the last INDEX of a file that was not cleanly ended by a search from its end; it is not far
 * from there, if the file has any. An INDEX header that is cut by a block of the search is found
 * with the next block, which overlaps.
 */
static int find_by_search(struct xvt_trace *t, struct xvt_chunk_buf *b, uint64_t *offset)
{
	const uint64_t reach = XVT_INDEX_BYTES + XVT_CHUNK_LEN_MAX;
	uint64_t end = t->size & ~7ull, stop = end > reach ? end - reach : 0;
	uint8_t *scan = malloc(SCAN_BYTES + sizeof(struct xvt_chunk_hdr));
	int found = 0;

	if (!scan)
		return -ENOMEM;
	while (end > stop && !found) {
		uint64_t from = end - stop > SCAN_BYTES ? end - SCAN_BYTES : stop;
		uint64_t want = end - from + sizeof(struct xvt_chunk_hdr);
		ssize_t n = xvt_trace_read_at(t, scan,
					      want < t->size - from ? want : t->size - from, from);

		found = n < 0 ? (int)n : 0;
		while (n > 0 && !found) {
			struct first first;

			n = last_in(t, scan, (size_t)n);
			if (n < 0)
				break;
			*offset = from + (uint64_t)n;
			found = read_first(t, *offset, &first);
			if (found > 0 && t->scan_budget < first.h.len)
				found = 0;
			if (found > 0) {
				t->scan_budget -= first.h.len;
				found = xvt_trace_load_at(t, *offset, first.h.len, b);
				found = found == -EBADMSG ? 0 : found ? found : 1;
			}
		}
		end = from;
	}
	free(scan);
	return found;
}

/* Offsets of INDEX chunks, the last one first. */
struct list {
	uint64_t *v;
	size_t count;
	size_t room;
};

static int list_add(struct list *l, uint64_t offset)
{
	if (xvt_grow(&l->v, &l->room, l->count + 1, sizeof(*l->v)))
		return -ENOMEM;
	l->v[l->count++] = offset;
	return 0;
}

static int list_indexes(struct xvt_trace *t, struct list *l, uint64_t *offset)
{
	for (uint64_t at = *offset;;) {
		struct first first;
		int err = read_first(t, at, &first);

		*offset = at;
		if (err <= 0)
			return err < 0 ? err : -EBADMSG;
		err = list_add(l, at);
		if (err || !first.entry.offset)
			return err;
		if (first.entry.type != XVT_CHUNK_INDEX || first.entry.offset >= at)
			return -EBADMSG;
		at = first.entry.offset;
	}
}

static int load_index(struct xvt_trace *t, uint64_t offset, struct xvt_chunk_buf *b)
{
	struct first first;
	int is = read_first(t, offset, &first);

	if (is <= 0)
		return is < 0 ? is : -EBADMSG;
	return xvt_trace_load_at(t, offset, first.h.len, b);
}

/* Adds the chunks of the INDEX at `offset`, which is loaded in `b`; `before` is the offset of the
 * INDEX before it. */
static int take_entries(struct xvt_trace *t, const struct xvt_chunk_buf *b, uint64_t offset,
			uint64_t before)
{
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)b->bytes;
	size_t n = b->len / sizeof(struct xvt_index_entry);
	uint64_t at = before;

	if (h->type != XVT_CHUNK_INDEX || h->trace_id != t->trace_id ||
	    h->seq != t->chunk_count + n)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		struct xvt_chunk_head head;
		struct xvt_index_entry e, next = { .offset = offset };
		uint64_t whole;
		int err;

		memcpy(&e, b->payload + i * sizeof(e), sizeof(e));
		if (i + 1 < n)
			memcpy(&next, b->payload + (i + 1) * sizeof(e), sizeof(next));
		whole = next.offset - e.offset;
		if (e.offset != at || next.offset % 8 || next.offset < e.offset ||
		    whole < sizeof(head.h) || whole - sizeof(head.h) > XVT_CHUNK_LEN_MAX ||
		    next.offset > offset || e.type > UINT16_MAX)
			return -EBADMSG;
		head.h = (struct xvt_chunk_hdr){
			.type = (uint16_t)e.type,
			.len = (uint32_t)(whole - sizeof(head.h)),
			.seq = t->chunk_count,
		};
		head.events = (struct xvt_order_hdr){ .first_ns = e.first_ns,
						      .last_ns = e.last_ns,
						      .count = e.count };
		err = xvt_trace_add_chunk(t, e.offset, &head);
		if (err)
			return err;
		at = next.offset;
	}
	return 0;
}

/*
 * Loads the chunks that every reader needs. FILE was read before; END comes after the last INDEX.
 */
static int load_wanted(struct xvt_trace *t, struct xvt_chunk_buf *b)
{
	for (size_t i = 1; i < t->chunk_count; i++) {
		uint16_t type = t->chunks[i].type;
		const struct xvt_chunk_hdr *h;
		const char *why;
		int err;

		if (!xvt_trace_wants(type))
			continue;
		err = xvt_trace_load_at(t, t->chunks[i].offset, t->chunks[i].len, b);
		h = (const struct xvt_chunk_hdr *)b->bytes;
		if (err == -ENOTSUP)
			err = -EBADMSG;
		if (!err && (h->type != type || h->seq != t->chunks[i].seq ||
			     h->flags & ~XVT_CHUNK_F_ZSTD || h->trace_id != t->trace_id))
			err = -EBADMSG;
		if (!err)
			err = xvt_trace_take(t, type, b, &why);
		if (err)
			return err;
	}
	return 0;
}

int xvt_trace_take_index(struct xvt_trace *t, struct xvt_chunk_buf *b, uint64_t *offset)
{
	struct list l = { 0 };
	uint64_t last, before = 0;
	int err;

	err = find_by_end(t, b, offset);
	if (!err)
		err = find_by_search(t, b, offset);
	if (err <= 0)
		return err;
	last = *offset;
	err = list_indexes(t, &l, offset);
	while (!err && l.count) {
		*offset = l.v[--l.count];
		err = load_index(t, *offset, b);
		if (!err)
			err = take_entries(t, b, *offset, before);
		before = *offset;
	}
	if (!err)
		err = load_wanted(t, b);
	free(l.v);
	*offset = err ? *offset : last;
	return err ? err : 1;
}
