// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-lie.c - tells one lie in a valid trace and makes everything else fit it again: checksums, the
 * chunks' numbers, the places of RAW chunks, INDEX and END. What finds it then is not the damage.
 *
 *   xvt-lie               lists the lies
 *   xvt-lie FILE.xvt LIE  tells it in the file; exit 3: the file has nothing to tell it of
 *
 * Most lies change a number of an element: the first one, the last one or one in the middle of all
 * that are in the file and suit the lie. For traces that are not compressed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/crc32c.h"
#include "trace/read.h"
#include "xvt_ring.h"

#define MS 1000000ull

struct chunk {
	struct xvt_chunk_hdr h;
	uint8_t *payload; /* in the file as it was, or from malloc() */
	uint64_t old_seq;
	uint64_t at;
};

struct trace {
	struct chunk *v;
	size_t n;
};

/* ------------------------------------------------------------------ the file */

static uint64_t pad8(uint64_t len)
{
	return (len + 7) & ~7ull;
}

static bool read_trace(struct trace *t, uint8_t *map, size_t size)
{
	for (size_t at = 0; at + sizeof(struct xvt_chunk_hdr) <= size;) {
		struct chunk c = { .payload = map + at + sizeof(c.h) };

		memcpy(&c.h, map + at, sizeof(c.h));
		c.old_seq = c.h.seq;
		if (c.h.magic != XVT_CHUNK_MAGIC || c.h.flags & XVT_CHUNK_F_ZSTD ||
		    pad8(c.h.len) > size - at - sizeof(c.h))
			return false;
		t->v = reallocarray(t->v, t->n + 2, sizeof(c));
		t->v[t->n++] = c;
		at += sizeof(c.h) + pad8(c.h.len);
	}
	return t->n > 0;
}

/* The tables of a chunk of events. */
struct tables {
	struct xvt_order_hdr *hdr;
	uint8_t *own;
	uint64_t *raws;
	struct xvt_order_line *lines;
	struct xvt_order_source *sources;
};

static struct tables tables_of(const struct chunk *c)
{
	struct tables t = { .hdr = (struct xvt_order_hdr *)c->payload };

	t.own = (uint8_t *)(t.hdr + 1);
	t.raws = (uint64_t *)(t.own + t.hdr->own_len);
	t.lines = (struct xvt_order_line *)(t.raws + t.hdr->nr_raws);
	t.sources = (struct xvt_order_source *)(t.lines + t.hdr->nr_lines);
	return t;
}

/* A chunk of events names RAW chunks by their numbers. */
static void rename_raws(const struct trace *t, const struct chunk *c)
{
	const struct tables tables = tables_of(c);

	for (uint32_t i = 0; i < tables.hdr->nr_raws; i++) {
		for (size_t k = t->n; k--;) {
			if (t->v[k].h.type == XVT_CHUNK_RAW && t->v[k].old_seq == tables.raws[i]) {
				tables.raws[i] = t->v[k].h.seq;
				break;
			}
		}
	}
}

static void make_index(const struct trace *t, size_t from, struct chunk *index)
{
	const size_t n = (size_t)(index - t->v) - from;
	struct xvt_index_entry *e = calloc(n + 1, sizeof(*e));

	for (size_t i = 0; i < n; i++) {
		const struct chunk *c = &t->v[from + i];

		e[i] = (struct xvt_index_entry){ .offset = c->at, .type = c->h.type };
		if (xvt_chunk_of_events(c->h.type) && c->h.len >= sizeof(struct xvt_order_hdr)) {
			const struct xvt_order_hdr *o = (struct xvt_order_hdr *)c->payload;

			e[i].first_ns = o->first_ns;
			e[i].last_ns = o->last_ns;
			e[i].count = o->count;
		}
	}
	index->payload = (uint8_t *)e;
	index->h.len = (uint32_t)(n * sizeof(*e));
}

static size_t chunks_from(const struct trace *t, size_t i)
{
	while (i && t->v[i - 1].h.type != XVT_CHUNK_INDEX)
		i--;
	return i ? i - 1 : 0;
}

/* Numbers and places of all chunks, and what says them. */
static void settle(struct trace *t)
{
	uint64_t at = 0, events[2] = { 0 }, index_at = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct chunk *c = &t->v[i];

		c->h.seq = i;
		c->at = at;
		if (c->h.type == XVT_CHUNK_INDEX)
			make_index(t, chunks_from(t, i), c);
		at += sizeof(c->h) + pad8(c->h.len);
	}
	for (size_t i = 0; i < t->n; i++) {
		const struct chunk *c = &t->v[i];

		if (c->h.type == XVT_CHUNK_INDEX)
			index_at = c->at;
		if (!xvt_chunk_of_events(c->h.type))
			continue;
		events[c->h.type == XVT_CHUNK_LATE] += ((struct xvt_order_hdr *)c->payload)->count;
		rename_raws(t, c);
	}
	if (t->v[t->n - 1].h.type == XVT_CHUNK_END)
		*(struct xvt_end *)t->v[t->n - 1].payload =
			(struct xvt_end){ t->n - 1, events[0], events[1], index_at };
}

static bool write_trace(const struct trace *t, const char *path)
{
	FILE *f = fopen(path, "w");
	bool good = f != NULL;

	for (size_t i = 0; i < t->n && good; i++) {
		struct chunk *c = &t->v[i];
		const uint64_t zero = 0, fill = pad8(c->h.len) - c->h.len;

		c->h.crc = 0;
		c->h.crc = xvt_crc32c(xvt_crc32c(0, &c->h, sizeof(c->h)), c->payload, c->h.len);
		good = fwrite(&c->h, sizeof(c->h), 1, f) == 1 &&
		       fwrite(c->payload, 1, c->h.len, f) == c->h.len &&
		       fwrite(&zero, 1, fill, f) == fill;
	}
	return f && !fclose(f) && good;
}

/* ------------------------------------------------------------------ what is in it */

enum part {
	ARRAY, /* chunks of a type, each an array of elements */
	LINE,
	SOURCE,
	OWN,  /* events of the host's own */
	LOST, /* what such an event tells of a loss */
	PIECE,
	RECORD, /* of a piece, its header */
};

struct elements {
	uint8_t **v;
	size_t n;
};

static void add(struct elements *all, void *p)
{
	if (!(all->n & (all->n - 1)))
		all->v = reallocarray(all->v, all->n ? 2 * all->n : 1, sizeof(*all->v));
	all->v[all->n++] = p;
}

static void add_array(struct elements *all, const struct chunk *c, size_t size)
{
	for (size_t at = 0; c->h.len - at >= size; at += size)
		add(all, c->payload + at);
}

static void add_own(struct elements *all, const struct chunk *c, bool losses)
{
	const struct tables t = tables_of(c);
	const uint8_t *end = t.own + t.hdr->own_len;

	for (uint8_t *p = t.own; p < end;) {
		struct xvt_event_hdr *h = (struct xvt_event_hdr *)p;

		if (!losses || h->id == XVT_ID_LOST)
			add(all, losses ? (void *)(h + 1) : h);
		p += sizeof(*h) + pad8(h->len);
	}
}

static void add_records(struct elements *all, uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		const uint64_t header = *(uint64_t *)p;
		const uint32_t id = xvt_header_id(header);

		if (!header || id == XVT_ID_PAD_END || !xvt_header_len(header)) {
			p += sizeof(header);
			continue;
		}
		if (id >= XVT_ID_FIRST_EVENT)
			add(all, p);
		p += xvt_header_len(header);
	}
}

static void add_pieces(struct elements *all, const struct chunk *c, bool records)
{
	for (size_t at = 0; at < c->h.len;) {
		struct xvt_raw_piece *p = (struct xvt_raw_piece *)(c->payload + at);

		at += sizeof(*p) + p->len;
		if (records)
			add_records(all, (uint8_t *)(p + 1), c->payload + at);
		else
			add(all, p);
	}
}

static struct elements elements_of(const struct trace *t, enum part part, uint16_t type,
				   size_t size)
{
	struct elements all = { 0 };

	for (size_t i = 0; i < t->n; i++) {
		const struct chunk *c = &t->v[i];

		if (part == ARRAY && c->h.type == type)
			add_array(&all, c, size);
		else if ((part == PIECE || part == RECORD) && c->h.type == XVT_CHUNK_RAW)
			add_pieces(&all, c, part == RECORD);
		if (!xvt_chunk_of_events(c->h.type))
			continue;
		if (part == OWN || part == LOST)
			add_own(&all, c, part == LOST);
		for (uint32_t k = 0; part == LINE && k < tables_of(c).hdr->nr_lines; k++)
			add(&all, &tables_of(c).lines[k]);
		for (uint32_t k = 0; part == SOURCE && k < tables_of(c).hdr->nr_sources; k++)
			add(&all, &tables_of(c).sources[k]);
	}
	return all;
}

/* ------------------------------------------------------------------ which of them */

static bool measured(const void *p)
{
	const struct xvt_clock_node *n = p;

	return n->source == XVT_SOURCE_HANDSHAKE && n->bound_ns >= 16;
}

static bool inside(const void *p)
{
	return measured(p) && !(((const struct xvt_clock_node *)p)->flags & XVT_NODE_F_FIRST);
}

static bool of_handshake(const void *p)
{
	return ((const struct xvt_clock_sample *)p)->source == XVT_SOURCE_HANDSHAKE;
}

static bool of_epoch(const void *p)
{
	return ((const struct xvt_ring_stats *)p)->epochs > 0;
}

static bool of_events(const void *p)
{
	return ((const struct xvt_ring_stats *)p)->events > 4;
}

static bool of_samples(const void *p)
{
	return ((const struct xvt_ring_stats *)p)->samples > 2;
}

static bool in_flight(const void *p)
{
	return ((const struct xvt_ring_stats *)p)->in_flight > 0;
}

static bool is_format(const void *p)
{
	return ((const struct xvt_meta_info *)p)->type == XVT_META_FORMAT;
}

static bool is_plain(const void *p)
{
	return !(((const struct xvt_order_source *)p)->ring_flags & ~XVT_EVENT_RING_MASK);
}

static bool is_many(const void *p)
{
	return is_plain(p) && ((const struct xvt_order_source *)p)->count > 2;
}

static bool rises(const void *p)
{
	const struct xvt_order_line *l = p;

	return l->run && l->rise > 1000;
}

static bool is_long(const void *p)
{
	return ((const struct xvt_raw_piece *)p)->len > 64;
}

static bool is_loss(const void *p)
{
	return ((const struct xvt_event_hdr *)p)->id == XVT_ID_LOST;
}

static bool tells_full(const void *p)
{
	return ((const struct xvt_lost *)p)->lost[XVT_LOST_FULL] > 0;
}

static bool is_second(const void *p)
{
	return ((const struct xvt_ring_info *)p)->index > 0;
}

static bool is_guest(const void *p)
{
	return ((const struct xvt_vm_info *)p)->kind == XVT_VM_GUEST;
}

/* ------------------------------------------------------------------ lies of one number */

enum pick { FIRST, MIDDLE, LAST };
enum op { NONE, ADD, SET, HALVE, DOUBLE, OR, CLEAR };

struct edit {
	enum op op;
	size_t offset;
	size_t width;
	uint64_t by;
};

struct lie {
	const char *name;
	enum part part;
	uint16_t type;
	size_t size;
	enum pick pick;
	bool (*only)(const void *element);
	struct edit edits[3];
	bool (*tell)(struct trace *t); /* instead of all these */
	bool last;		       /* after INDEX and END were made to fit */
};

#define F(s, m)	     offsetof(struct s, m), sizeof(((struct s *)0)->m)
/* The first `n` bytes of a longer one. */
#define B(s, m, n)   offsetof(struct s, m), n
#define IN(type_, s) .type = type_, .size = sizeof(struct s)
#define FILE_IN	     IN(XVT_CHUNK_FILE, xvt_file_info)
#define VM_IN	     IN(XVT_CHUNK_VM, xvt_vm_info), .only = is_guest
#define RING_IN	     IN(XVT_CHUNK_RING, xvt_ring_info), .pick = LAST
#define META_IN	     IN(XVT_CHUNK_META, xvt_meta_info), .only = is_format
#define SAMPLE_IN    IN(XVT_CHUNK_SAMPLES, xvt_clock_sample), .pick = MIDDLE, .only = of_handshake
#define NODE_IN	     IN(XVT_CHUNK_NODE, xvt_clock_node), .only = measured
#define INSIDE_IN    IN(XVT_CHUNK_NODE, xvt_clock_node), .only = inside
#define TIMEBASE_IN  IN(XVT_CHUNK_TIMEBASE, xvt_timebase)
#define LOOK_IN	     IN(XVT_CHUNK_LOOKS, xvt_clock_look), .pick = MIDDLE
#define MARK_IN	     IN(XVT_CHUNK_MARKS, xvt_mark_seen), .pick = MIDDLE
#define HEAD_IN	     IN(XVT_CHUNK_HEADS, xvt_subbuf_head), .pick = MIDDLE
#define RUN_IN	     IN(XVT_CHUNK_RUNS, xvt_run_span), .pick = MIDDLE
#define ROUND_IN     IN(XVT_CHUNK_ROUND, xvt_round), .pick = MIDDLE
#define STATS_IN     IN(XVT_CHUNK_STATS, xvt_ring_stats), .pick = LAST
#define NOTE_IN	     IN(XVT_CHUNK_NOTE, xvt_note)
#define INDEX_IN     IN(XVT_CHUNK_INDEX, xvt_index_entry), .pick = MIDDLE, .last = true
#define END_IN	     IN(XVT_CHUNK_END, xvt_end), .last = true
#define ORDER_IN     IN(XVT_CHUNK_ORDER, xvt_order_hdr)
#define LINE_IN	     .part = LINE, .pick = MIDDLE, .only = rises
#define SOURCE_IN    .part = SOURCE, .pick = MIDDLE, .only = is_many
#define LOST_IN	     .part = LOST, .only = tells_full
#define LOSS_IN	     .part = OWN, .only = is_loss
#define PIECE_IN     .part = PIECE, .pick = MIDDLE, .only = is_long
#define RECORD_IN    .part = RECORD, .pick = MIDDLE

static void change(uint8_t *p, const struct edit *e)
{
	uint64_t v = 0;

	memcpy(&v, p + e->offset, e->width);
	switch (e->op) {
	case NONE:
		return;
	case ADD:
		v += e->by;
		break;
	case SET:
		v = e->by;
		break;
	case HALVE:
		v /= 2;
		break;
	case DOUBLE:
		v *= 2;
		break;
	case OR:
		v |= e->by;
		break;
	case CLEAR:
		v &= ~e->by;
		break;
	}
	memcpy(p + e->offset, &v, e->width);
}

static bool tell_number(const struct trace *t, const struct lie *lie)
{
	const struct elements all = elements_of(t, lie->part, lie->type, lie->size);
	size_t n = 0, wanted;

	for (size_t i = 0; i < all.n; i++) {
		if (!lie->only || lie->only(all.v[i]))
			all.v[n++] = all.v[i];
	}
	if (!n)
		return false;
	wanted = lie->pick == FIRST ? 0 : lie->pick == LAST ? n - 1 : n / 2;
	for (size_t i = 0; i < 3; i++)
		change(all.v[wanted], &lie->edits[i]);
	return true;
}

/* ------------------------------------------------------------------ lies of whole chunks */

/* The middle one of the chunks of a type; t->n: there is none. */
static size_t middle(const struct trace *t, uint16_t type)
{
	size_t n = 0, at = t->n;

	for (size_t i = 0; i < t->n; i++)
		n += t->v[i].h.type == type;
	n = n ? n / 2 + 1 : 0;
	for (size_t i = 0; i < t->n && n; i++) {
		if (t->v[i].h.type == type && !--n)
			at = i;
	}
	return at;
}

static bool cut(struct trace *t, uint16_t type)
{
	const size_t at = middle(t, type);

	if (at == t->n)
		return false;
	memmove(t->v + at, t->v + at + 1, (--t->n - at) * sizeof(*t->v));
	return true;
}

static bool repeat(struct trace *t, uint16_t type)
{
	const size_t at = middle(t, type);
	uint8_t *copy;

	if (at == t->n)
		return false;
	copy = malloc(pad8(t->v[at].h.len) + 8);
	memcpy(copy, t->v[at].payload, t->v[at].h.len);
	memmove(t->v + at + 1, t->v + at, (t->n++ - at) * sizeof(*t->v));
	t->v[at + 1].payload = copy;
	return true;
}

/* The middle one changes places with the next one of its type. */
static bool swap(struct trace *t, uint16_t type)
{
	const size_t a = middle(t, type);
	size_t b = a + 1;
	struct chunk c;

	while (b < t->n && t->v[b].h.type != type)
		b++;
	if (b >= t->n)
		return false;
	c = t->v[a];
	t->v[a] = t->v[b];
	t->v[b] = c;
	return true;
}

#define OF_CHUNKS(name, type)                      \
	static bool cut_##name(struct trace *t)    \
	{                                          \
		return cut(t, type);               \
	}                                          \
	static bool repeat_##name(struct trace *t) \
	{                                          \
		return repeat(t, type);            \
	}

OF_CHUNKS(order, XVT_CHUNK_ORDER)
OF_CHUNKS(raw, XVT_CHUNK_RAW)
OF_CHUNKS(node, XVT_CHUNK_NODE)
OF_CHUNKS(samples, XVT_CHUNK_SAMPLES)
OF_CHUNKS(timebase, XVT_CHUNK_TIMEBASE)
OF_CHUNKS(marks, XVT_CHUNK_MARKS)

static bool swap_order(struct trace *t)
{
	return swap(t, XVT_CHUNK_ORDER);
}

static bool swap_node(struct trace *t)
{
	return swap(t, XVT_CHUNK_NODE);
}

static bool cut_stats(struct trace *t)
{
	bool any = false;

	while (cut(t, XVT_CHUNK_STATS))
		any = true;
	return any;
}

static bool cut_end(struct trace *t)
{
	return cut(t, XVT_CHUNK_END);
}

static bool retype_order(struct trace *t)
{
	const size_t at = middle(t, XVT_CHUNK_ORDER);

	if (at == t->n)
		return false;
	t->v[at].h.type = XVT_CHUNK_LATE;
	return true;
}

/* Number of the first chunk of the order that has records, if others follow; t->n: there is none.
 */
static size_t with_records(const struct trace *t)
{
	size_t first = t->n;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].h.type != XVT_CHUNK_ORDER || !tables_of(&t->v[i]).hdr->nr_sources)
			continue;
		if (first < t->n)
			return first;
		first = i;
	}
	return t->n;
}

/* The events of a source are in no counter. */
static void forget(const struct elements *stats, const struct xvt_order_source *s)
{
	for (size_t k = 0; k < stats->n; k++) {
		struct xvt_ring_stats *st = (struct xvt_ring_stats *)stats->v[k];

		if (st->ring != (s->ring_flags & XVT_EVENT_RING_MASK) || st->events < s->count)
			continue;
		st->events -= s->count;
		st->attempted -= s->count;
	}
}

/* The chunk's events are nowhere, and no counter has them. */
static bool forget_order(struct trace *t)
{
	const struct elements stats =
		elements_of(t, ARRAY, XVT_CHUNK_STATS, sizeof(struct xvt_ring_stats));
	const size_t at = with_records(t);
	struct tables tables;

	if (at == t->n)
		return false;
	tables = tables_of(&t->v[at]);
	for (uint32_t i = 0; i < tables.hdr->nr_sources; i++)
		forget(&stats, &tables.sources[i]);
	memmove(t->v + at, t->v + at + 1, (--t->n - at) * sizeof(*t->v));
	return true;
}

/* ------------------------------------------------------------------ a run of events */

#define FORGOTTEN 2 * XVT_MAXNEST /* events at least: fewer may have been inside their writer */

static uint32_t bits_at(const uint8_t *p, uint64_t bit, uint32_t width)
{
	uint32_t v = 0;

	for (uint32_t i = 0; i < width; i++, bit++)
		v |= (uint32_t)(p[bit / 8] >> bit % 8 & 1) << i;
	return v;
}

/* The numbers of the sequence, one for each event. */
static uint32_t *sequence_of(const struct chunk *c)
{
	const struct tables t = tables_of(c);
	const uint8_t *p = (const uint8_t *)(t.sources + t.hdr->nr_sources);
	const uint32_t n = t.hdr->nr_runs ? t.hdr->nr_runs : t.hdr->count;
	const uint8_t *lengths = p + pad8(((uint64_t)n * t.hdr->width + 7) / 8);
	uint32_t *all = calloc(t.hdr->count + 1ul, sizeof(*all)), at = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t times = t.hdr->nr_runs ? lengths[i] + 1u : 1;

		while (times-- && at < t.hdr->count)
			all[at++] = bits_at(p, (uint64_t)i * t.hdr->width, t.hdr->width);
	}
	return all;
}

/* The chunk gets another sequence, of which each event has one number. */
static void put_sequence(struct chunk *c, const uint32_t *all, uint32_t count)
{
	struct tables t = tables_of(c);
	const size_t before = (size_t)((uint8_t *)(t.sources + t.hdr->nr_sources) - c->payload);
	const uint64_t bits = (uint64_t)count * t.hdr->width;
	const size_t len = before + pad8((bits + 7) / 8) + sizeof(uint64_t);
	uint8_t *payload = calloc(1, len);

	memcpy(payload, c->payload, before);
	for (uint64_t i = 0; i < bits; i++)
		payload[before + i / 8] |=
			(uint8_t)((all[i / t.hdr->width] >> i % t.hdr->width & 1) << i % 8);
	c->payload = payload;
	c->h.len = (uint32_t)len;
	t = tables_of(c);
	t.hdr->count = count;
	t.hdr->nr_runs = 0;
}

static bool is_shared(const struct elements *all, const struct tables *t,
		      const struct xvt_order_source *s)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct xvt_order_source *other = (struct xvt_order_source *)all->v[i];

		if (other != s && other->at == s->at && other->count &&
		    other->ring_flags == s->ring_flags)
			return true;
	}
	return s->skip || s->raw >= t->hdr->nr_raws;
}

/* The source's records are such as were given back, which belong to nothing. */
static void give_back(const struct trace *t, const struct tables *tables,
		      const struct xvt_order_source *s)
{
	uint32_t left = s->count;
	uint8_t *p = NULL;

	for (size_t i = 0; i < t->n && !p; i++) {
		if (t->v[i].h.type == XVT_CHUNK_RAW && t->v[i].old_seq == tables->raws[s->raw])
			p = t->v[i].payload + s->at;
	}
	while (p && left) {
		uint64_t *header = (uint64_t *)p;

		p += xvt_header_len(*header) ? xvt_header_len(*header) : sizeof(*header);
		if (!(*header & XVT_H_DONE) || xvt_header_id(*header) == XVT_ID_DISCARDED)
			continue;
		*header &= ~((uint64_t)XVT_H_ID_MASK << XVT_H_ID_SHIFT);
		*header |= (uint64_t)XVT_ID_DISCARDED << XVT_H_ID_SHIFT;
		left--;
	}
}

/* Takes the events of a source out of its chunk. Returns false if that would show in its times. */
static bool take_out(struct chunk *c, uint32_t source)
{
	uint32_t *all = sequence_of(c), count = tables_of(c).hdr->count, n = 0;

	if (all[0] == source || all[count - 1] == source)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (all[i] != source)
			all[n++] = all[i];
	}
	put_sequence(c, all, n);
	tables_of(c).sources[source].count = 0;
	return true;
}

/* A run of events is nowhere, not even in the ring, and no counter of the ring has it. */
static bool forget_events(struct trace *t)
{
	const struct elements all = elements_of(t, SOURCE, 0, 0);
	const struct elements stats =
		elements_of(t, ARRAY, XVT_CHUNK_STATS, sizeof(struct xvt_ring_stats));

	for (size_t i = 0; i < t->n; i++) {
		const struct tables tables = tables_of(&t->v[i]);

		if (t->v[i].h.type != XVT_CHUNK_ORDER && t->v[i].h.type != XVT_CHUNK_LOOSE)
			continue;
		for (uint32_t k = 0; k < tables.hdr->nr_sources; k++) {
			const struct xvt_order_source s = tables.sources[k];

			if (s.count < FORGOTTEN || is_shared(&all, &tables, &tables.sources[k]) ||
			    !take_out(&t->v[i], k))
				continue;
			give_back(t, &tables, &s);
			forget(&stats, &s);
			return true;
		}
	}
	return false;
}

static bool mark_twice(struct trace *t)
{
	const struct elements all =
		elements_of(t, ARRAY, XVT_CHUNK_MARKS, sizeof(struct xvt_mark_seen));

	if (all.n < 2)
		return false;
	memcpy(all.v[all.n - 1], all.v[0], sizeof(struct xvt_mark_seen));
	return true;
}

/* A source of records takes the records of the one before it of the same ring. */
static bool name_twice(struct trace *t)
{
	const struct elements all = elements_of(t, SOURCE, 0, 0);

	for (size_t i = all.n / 2; i + 1 < all.n; i++) {
		const struct xvt_order_source *a = (struct xvt_order_source *)all.v[i];
		struct xvt_order_source *b = (struct xvt_order_source *)all.v[i + 1];

		if (a->ring_flags != b->ring_flags || a->count < b->count || a->raw != b->raw)
			continue;
		b->at = a->at;
		b->skip = a->skip;
		b->ts = a->ts;
		b->line = a->line;
		return true;
	}
	return false;
}

/* Two records of a piece that have one length change their contents. */
static bool swap_payloads(struct trace *t)
{
	const struct elements all = elements_of(t, RECORD, 0, 0);

	for (size_t i = all.n / 2; i + 1 < all.n; i++) {
		uint64_t *a = (uint64_t *)all.v[i], *b = (uint64_t *)all.v[i + 1];
		uint64_t keep;

		if (xvt_header_len(*a) != xvt_header_len(*b) || (*a | *b) & XVT_H_FULL)
			continue;
		keep = a[2];
		a[2] = b[2];
		b[2] = keep;
		return true;
	}
	return false;
}

/* All positions of a ring are one sub-buffer later. */
static bool shift_ring(struct trace *t)
{
	const struct elements rings =
		elements_of(t, ARRAY, XVT_CHUNK_RING, sizeof(struct xvt_ring_info));
	const struct elements all = elements_of(t, PIECE, 0, 0);

	for (size_t i = 0; i < all.n; i++) {
		struct xvt_raw_piece *p = (struct xvt_raw_piece *)all.v[i];
		const struct xvt_ring_info *r = (struct xvt_ring_info *)rings.v[0];

		if (p->ring == r->ring)
			p->pos += (uint64_t)r->subbuf_size * r->subbuf_count;
	}
	return all.n && rings.n;
}

/* A loss at the end is said to be before all. */
static bool loss_first(struct trace *t)
{
	struct chunk *found = NULL;
	struct xvt_event_hdr *loss = NULL;
	struct xvt_order_hdr *o;

	for (size_t i = 0; i < t->n; i++) {
		struct elements all = { 0 };

		if (!xvt_chunk_of_events(t->v[i].h.type))
			continue;
		add_own(&all, &t->v[i], false);
		for (size_t k = 0; k < all.n; k++) {
			if (!is_loss(all.v[k]))
				continue;
			found = &t->v[i];
			loss = (struct xvt_event_hdr *)all.v[k];
		}
	}
	if (!found)
		return false;
	o = (struct xvt_order_hdr *)found->payload;
	loss->host_ns = o->first_ns = 1;
	if (o->count == 1)
		o->last_ns = 1;
	return true;
}

/* ------------------------------------------------------------------ all of them */

#define TELL(fn) .tell = fn
#define ONE(...) .edits = { { __VA_ARGS__ } }

static const struct lie lies[] = {
	/* the host's clock */
	{ "file-mult", FILE_IN, ONE(ADD, F(xvt_file_info, mult), 1000) },
	{ "file-base-ns", FILE_IN, ONE(ADD, F(xvt_file_info, base_ns), 1000) },
	{ "file-base-clock", FILE_IN, ONE(ADD, F(xvt_file_info, base_clock), 4000) },
	{ "file-clock-id", FILE_IN, ONE(SET, F(xvt_file_info, host_clock_id), 77) },
	{ "file-wall-clock", FILE_IN, ONE(ADD, F(xvt_file_info, realtime_ns), 5 * MS) },
	{ "file-boottime", FILE_IN, ONE(SET, F(xvt_file_info, boottime_ns), 1) },
	{ "file-host-name", FILE_IN, ONE(SET, B(xvt_file_info, host_name, 1), 'x') },
	{ "file-of-a-set", FILE_IN, ONE(ADD, F(xvt_file_info, set_number), 3) },
	{ "file-uuid", FILE_IN, ONE(ADD, B(xvt_file_info, uuid, 1), 1) },
	{ "file-incompat", FILE_IN, ONE(SET, F(xvt_file_info, incompat), 1) },
	{ "timebase-mult", TIMEBASE_IN, .pick = FIRST, ONE(HALVE, F(xvt_timebase, mult), 0) },
	{ "timebase-last-mult", TIMEBASE_IN, .pick = LAST, ONE(HALVE, F(xvt_timebase, mult), 0) },
	{ "timebase-base-ns", TIMEBASE_IN, .pick = LAST, ONE(ADD, F(xvt_timebase, base_ns), 50) },
	{ "timebase-base-clock", TIMEBASE_IN, ONE(ADD, F(xvt_timebase, base_clock), 5000) },
	{ "timebase-shift", TIMEBASE_IN, .pick = LAST, ONE(ADD, F(xvt_timebase, shift), 1) },
	{ "timebase-boottime", TIMEBASE_IN, .pick = LAST,
	  ONE(SET, F(xvt_timebase, boottime_ns), 1) },
	{ "timebase-wall-clock", TIMEBASE_IN, ONE(ADD, F(xvt_timebase, realtime_ns), 5 * MS) },
	{ "timebase-error", TIMEBASE_IN, .pick = LAST, ONE(SET, F(xvt_timebase, error_ns), 0) },
	{ "timebase-apart", TIMEBASE_IN, .pick = LAST,
	  ONE(ADD, F(xvt_timebase, apart_ns), 50 * MS) },
	{ "timebase-cut", TELL(cut_timebase) },
	{ "timebase-twice", TELL(repeat_timebase) },
	/* machines and rings */
	{ "vm-number", VM_IN, ONE(ADD, F(xvt_vm_info, vm), 40) },
	{ "vm-kind", VM_IN, ONE(SET, F(xvt_vm_info, kind), 7) },
	{ "vm-region-kind", VM_IN, ONE(SET, F(xvt_vm_info, region_kind), 77) },
	{ "vm-name", VM_IN, ONE(SET, B(xvt_vm_info, name, 1), 'z') },
	{ "vm-boot", VM_IN, ONE(ADD, B(xvt_vm_info, boot_uuid, 1), 1) },
	{ "ring-vm", RING_IN, ONE(ADD, F(xvt_ring_info, vm), 40) },
	{ "ring-type", RING_IN, ONE(SET, F(xvt_ring_info, type), 77) },
	{ "ring-clock-id", RING_IN, ONE(SET, F(xvt_ring_info, clock_id), 77) },
	{ "ring-mode", RING_IN, ONE(SET, F(xvt_ring_info, mode), 77) },
	{ "ring-traits", RING_IN, ONE(OR, F(xvt_ring_info, clock_traits), 1u << 30) },
	{ "ring-hz", RING_IN, ONE(DOUBLE, F(xvt_ring_info, clock_hz), 0) },
	{ "ring-subbuf-size", RING_IN, ONE(HALVE, F(xvt_ring_info, subbuf_size), 0) },
	{ "ring-subbuf-count", RING_IN, ONE(HALVE, F(xvt_ring_info, subbuf_count), 0) },
	{ "ring-subbuf-odd", RING_IN, ONE(ADD, F(xvt_ring_info, subbuf_size), 24) },
	{ "ring-start", RING_IN, ONE(ADD, F(xvt_ring_info, start_ns), 800 * MS) },
	{ "ring-tid", RING_IN, ONE(ADD, F(xvt_ring_info, tid), 1) },
	{ "ring-before", RING_IN, ONE(ADD, F(xvt_ring_info, before), 5) },
	{ "ring-index", RING_IN, .only = is_second, ONE(SET, F(xvt_ring_info, index), 0) },
	{ "meta-vm", META_IN, ONE(ADD, F(xvt_meta_info, vm), 40) },
	{ "meta-format-id", META_IN, ONE(ADD, F(xvt_meta_info, id), 1) },
	/* the guests' clocks */
	{ "sample-guest", SAMPLE_IN, ONE(ADD, F(xvt_clock_sample, guest), 1000000) },
	{ "sample-ring", SAMPLE_IN, ONE(ADD, F(xvt_clock_sample, ring), 90) },
	{ "sample-epoch", SAMPLE_IN, ONE(ADD, F(xvt_clock_sample, epoch), 1) },
	{ "sample-source", SAMPLE_IN, ONE(SET, F(xvt_clock_sample, source), XVT_SOURCE_KVM) },
	{ "sample-no-source", SAMPLE_IN, ONE(SET, F(xvt_clock_sample, source), 77) },
	{ "sample-flags", SAMPLE_IN, ONE(OR, F(xvt_clock_sample, flags), 1u << 30) },
	{ "sample-ends", SAMPLE_IN, ONE(ADD, F(xvt_clock_sample, host_clock_lo), 1000 * MS) },
	{ "sample-wide", SAMPLE_IN, ONE(ADD, F(xvt_clock_sample, host_clock_lo), -400000ull) },
	{ "samples-cut", TELL(cut_samples) },
	{ "samples-twice", TELL(repeat_samples) },
	{ "node-bound", NODE_IN, .pick = MIDDLE, ONE(HALVE, F(xvt_clock_node, bound_ns), 0) },
	{ "node-no-bound", NODE_IN, .pick = MIDDLE, ONE(SET, F(xvt_clock_node, bound_ns), 0) },
	{ "node-both-bounds", NODE_IN, .pick = MIDDLE,
	  .edits = { { HALVE, F(xvt_clock_node, bound_ns), 0 },
		     { HALVE, F(xvt_clock_node, segment_bound_ns), 0 } } },
	{ "node-segment-bound", INSIDE_IN, .pick = MIDDLE,
	  ONE(HALVE, F(xvt_clock_node, segment_bound_ns), 0) },
	{ "node-no-segment-bound", INSIDE_IN, .pick = MIDDLE,
	  ONE(SET, F(xvt_clock_node, segment_bound_ns), 0) },
	{ "node-larger-bound", INSIDE_IN, .pick = MIDDLE,
	  ONE(ADD, F(xvt_clock_node, segment_bound_ns), 3000 * MS) },
	{ "node-time", NODE_IN, .pick = MIDDLE, ONE(ADD, F(xvt_clock_node, host_ns), 3000) },
	{ "node-guest", NODE_IN, .pick = MIDDLE, ONE(ADD, F(xvt_clock_node, guest), 8000) },
	{ "node-last-time", NODE_IN, .pick = LAST, ONE(ADD, F(xvt_clock_node, host_ns), 9000) },
	{ "node-epoch", NODE_IN, .pick = MIDDLE, ONE(ADD, F(xvt_clock_node, epoch), 1) },
	{ "node-ring", NODE_IN, .pick = MIDDLE, ONE(ADD, F(xvt_clock_node, ring), 90) },
	{ "node-source", NODE_IN, .pick = MIDDLE,
	  ONE(SET, F(xvt_clock_node, source), XVT_SOURCE_KVM) },
	{ "node-no-source", NODE_IN, .pick = MIDDLE, ONE(SET, F(xvt_clock_node, source), 77) },
	{ "node-first", INSIDE_IN, .pick = MIDDLE,
	  ONE(OR, F(xvt_clock_node, flags), XVT_NODE_F_FIRST) },
	{ "node-since", INSIDE_IN, .pick = FIRST,
	  ONE(OR, F(xvt_clock_node, flags), XVT_NODE_F_SINCE) },
	{ "node-flags", NODE_IN, .pick = MIDDLE, ONE(OR, F(xvt_clock_node, flags), 1u << 20) },
	/* the first one goes on from the file before, where there is one */
	{ "node-carried-bound", NODE_IN, .pick = FIRST,
	  .edits = { { ADD, F(xvt_clock_node, bound_ns), 1 },
		     { ADD, F(xvt_clock_node, segment_bound_ns), 1 } } },
	{ "node-carried-time", NODE_IN, .pick = FIRST, ONE(ADD, F(xvt_clock_node, host_ns), 900) },
	{ "node-carried-guest", NODE_IN, .pick = FIRST, ONE(ADD, F(xvt_clock_node, guest), 2000) },
	{ "node-cut", TELL(cut_node) },
	{ "node-twice", TELL(repeat_node) },
	{ "node-order", TELL(swap_node) },
	/* what the host saw */
	{ "look-ring", LOOK_IN, ONE(ADD, F(xvt_clock_look, ring), 90) },
	{ "look-events", LOOK_IN, ONE(SET, F(xvt_clock_look, last_ns), 1) },
	{ "look-ends", LOOK_IN, ONE(SET, F(xvt_clock_look, hi_ns), 1) },
	{ "look-earlier", LOOK_IN,
	  .edits = { { ADD, F(xvt_clock_look, lo_ns), -900 * MS },
		     { ADD, F(xvt_clock_look, hi_ns), -900 * MS } } },
	{ "look-later", LOOK_IN,
	  .edits = { { ADD, F(xvt_clock_look, lo_ns), 900 * MS },
		     { ADD, F(xvt_clock_look, hi_ns), 900 * MS } } },
	{ "look-flags", LOOK_IN, ONE(OR, F(xvt_clock_look, flags), 1u << 20) },
	{ "mark-ring", MARK_IN, ONE(ADD, F(xvt_mark_seen, ring), 90) },
	{ "mark-earlier", MARK_IN,
	  .edits = { { ADD, F(xvt_mark_seen, host_clock_before), -900 * MS },
		     { ADD, F(xvt_mark_seen, host_clock_after), -900 * MS } } },
	{ "mark-ends", MARK_IN, ONE(ADD, F(xvt_mark_seen, host_clock_before), 1000 * MS) },
	{ "mark-twice", TELL(mark_twice) },
	{ "marks-cut", TELL(cut_marks) },
	{ "marks-twice", TELL(repeat_marks) },
	{ "head-ring", HEAD_IN, ONE(ADD, F(xvt_subbuf_head, ring), 90) },
	{ "head-flags", HEAD_IN, ONE(OR, F(xvt_subbuf_head, flags), 1u << 20) },
	{ "head-position", HEAD_IN, ONE(ADD, F(xvt_subbuf_head, pos), 8) },
	{ "head-attempted", HEAD_IN, ONE(ADD, F(xvt_subbuf_head, attempted), 40) },
	{ "head-discarded", HEAD_IN, ONE(ADD, F(xvt_subbuf_head, discarded), 40) },
	{ "head-lost", HEAD_IN, ONE(ADD, B(xvt_subbuf_head, lost, 4), 40) },
	{ "run-vm", RUN_IN, ONE(ADD, F(xvt_run_span, vm), 40) },
	{ "run-ends", RUN_IN, ONE(SET, F(xvt_run_span, exit_clock), 1) },
	{ "run-flags", RUN_IN, ONE(OR, F(xvt_run_span, flags), 1u << 20) },
	{ "run-earlier", RUN_IN,
	  .edits = { { ADD, F(xvt_run_span, enter_clock), -2500 },
		     { ADD, F(xvt_run_span, exit_clock), -2500 } } },
	/* records and their order */
	{ "piece-ring", PIECE_IN, ONE(ADD, F(xvt_raw_piece, ring), 1) },
	{ "piece-position", PIECE_IN, ONE(ADD, F(xvt_raw_piece, pos), 8) },
	{ "piece-lap", PIECE_IN, ONE(ADD, F(xvt_raw_piece, pos), 1 << 20) },
	{ "piece-before", PIECE_IN, ONE(ADD, F(xvt_raw_piece, pos), -64ull) },
	{ "ring-lap", TELL(shift_ring) },
	{ "record-lap", RECORD_IN, ONE(ADD, 0, 8, 1ull << XVT_H_LAP_SHIFT) },
	{ "record-length", RECORD_IN, ONE(ADD, 0, 8, 1ull << XVT_H_LEN8_SHIFT) },
	{ "record-discarded", RECORD_IN,
	  ONE(CLEAR, 0, 8, (uint64_t)XVT_H_ID_MASK << XVT_H_ID_SHIFT) },
	{ "record-not-done", RECORD_IN, ONE(CLEAR, 0, 8, XVT_H_DONE) },
	{ "record-stamp", RECORD_IN, ONE(ADD, 0, 4, 900 * MS) },
	{ "record-payload", TELL(swap_payloads) },
	{ "raw-cut", TELL(cut_raw) },
	{ "raw-twice", TELL(repeat_raw) },
	{ "order-cut", TELL(cut_order) },
	{ "order-forgotten", TELL(forget_order) },
	{ "events-forgotten", TELL(forget_events) },
	{ "order-twice", TELL(repeat_order) },
	{ "order-swapped", TELL(swap_order) },
	{ "order-late", TELL(retype_order) },
	{ "order-first", ORDER_IN, ONE(ADD, F(xvt_order_hdr, first_ns), 1) },
	{ "order-last", ORDER_IN, ONE(ADD, F(xvt_order_hdr, last_ns), 1) },
	{ "line-time", LINE_IN, ONE(ADD, F(xvt_order_line, host_ns), 100) },
	{ "line-guest", LINE_IN, ONE(ADD, F(xvt_order_line, guest), 1000) },
	{ "line-rise", LINE_IN, ONE(HALVE, F(xvt_order_line, rise), 0) },
	{ "source-ring", SOURCE_IN, ONE(ADD, F(xvt_order_source, ring_flags), 1) },
	{ "source-skip", SOURCE_IN, ONE(ADD, F(xvt_order_source, skip), 1) },
	{ "source-stamp", SOURCE_IN, ONE(ADD, F(xvt_order_source, ts), -(1ull << 32)) },
	{ "source-stamp-bits", SOURCE_IN, ONE(SET, F(xvt_order_source, ts_bits), 8) },
	{ "source-twice", TELL(name_twice) },
	{ "source-unconfirmed", SOURCE_IN,
	  ONE(OR, F(xvt_order_source, ring_flags), XVT_EVENT_F_UNCONFIRMED) },
	{ "source-clock", SOURCE_IN, ONE(OR, F(xvt_order_source, ring_flags), XVT_EVENT_F_CLOCK) },
	{ "source-backlog", SOURCE_IN,
	  ONE(OR, F(xvt_order_source, ring_flags), XVT_EVENT_F_BACKLOG) },
	{ "source-late", SOURCE_IN, ONE(OR, F(xvt_order_source, ring_flags), XVT_EVENT_F_LATE) },
	{ "source-flags", SOURCE_IN, ONE(OR, F(xvt_order_source, ring_flags), 1u << 28) },
	/* what was lost, and the counters */
	{ "lost-count", LOST_IN, ONE(ADD, B(xvt_lost, lost, 8), 1) },
	{ "lost-overwritten", LOST_IN, ONE(ADD, F(xvt_lost, overwritten), 9) },
	{ "lost-bad-bytes", LOST_IN, ONE(ADD, F(xvt_lost, bad_bytes), 9) },
	{ "lost-dropped", LOST_IN, ONE(ADD, F(xvt_lost, dropped), 9) },
	{ "lost-rolled-back", LOST_IN, ONE(SET, F(xvt_lost, rolled_back), 9) },
	{ "lost-ring", LOSS_IN, ONE(ADD, F(xvt_event_hdr, ring_flags), 90) },
	{ "lost-first", TELL(loss_first) },
	{ "stats-ring", STATS_IN, .only = of_events, ONE(ADD, F(xvt_ring_stats, ring), 90) },
	{ "stats-source", STATS_IN, .only = of_events,
	  ONE(SET, F(xvt_ring_stats, source), XVT_SOURCE_KVM) },
	{ "stats-no-source", STATS_IN, .only = of_events, ONE(SET, F(xvt_ring_stats, source), 77) },
	{ "stats-rejected", STATS_IN, .only = of_events,
	  ONE(OR, F(xvt_ring_stats, rejected), 1u << 30) },
	{ "stats-epochs", STATS_IN, .only = of_epoch, ONE(ADD, F(xvt_ring_stats, epochs), 1) },
	{ "stats-attempted", STATS_IN, .only = of_events,
	  ONE(ADD, F(xvt_ring_stats, attempted), 1) },
	{ "stats-events", STATS_IN, .only = of_events,
	  .edits = { { ADD, F(xvt_ring_stats, events), -1ull },
		     { ADD, F(xvt_ring_stats, attempted), -1ull } } },
	{ "stats-discarded", STATS_IN, .only = of_events,
	  .edits = { { ADD, F(xvt_ring_stats, discarded), 1 },
		     { ADD, F(xvt_ring_stats, attempted), 1 } } },
	{ "stats-lost", STATS_IN, .only = of_events,
	  .edits = { { ADD, B(xvt_ring_stats, lost, 8), 1 },
		     { ADD, F(xvt_ring_stats, attempted), 1 } } },
	{ "stats-overwritten", STATS_IN, .only = of_events,
	  .edits = { { ADD, F(xvt_ring_stats, overwritten), 1 },
		     { ADD, F(xvt_ring_stats, attempted), 1 } } },
	{ "stats-dropped", STATS_IN, .only = of_events,
	  .edits = { { ADD, F(xvt_ring_stats, dropped), 1 },
		     { ADD, F(xvt_ring_stats, attempted), 1 } } },
	{ "stats-in-flight", STATS_IN, .only = of_events,
	  .edits = { { ADD, F(xvt_ring_stats, in_flight), 1 },
		     { ADD, F(xvt_ring_stats, attempted), 1 } } },
	{ "stats-in-flight-lost", STATS_IN, .only = in_flight,
	  .edits = { { ADD, F(xvt_ring_stats, in_flight), -1ull },
		     { ADD, F(xvt_ring_stats, attempted), -1ull } } },
	{ "stats-late", STATS_IN, .only = of_events, ONE(ADD, F(xvt_ring_stats, late), 1) },
	{ "stats-backlog", STATS_IN, .only = of_events, ONE(ADD, F(xvt_ring_stats, backlog), 1) },
	{ "stats-unconfirmed", STATS_IN, .only = of_events,
	  ONE(ADD, F(xvt_ring_stats, unconfirmed), 1) },
	{ "stats-recovered", STATS_IN, .only = of_events,
	  ONE(ADD, F(xvt_ring_stats, recovered), 1) },
	{ "stats-clock-violations", STATS_IN, .only = of_events,
	  ONE(ADD, F(xvt_ring_stats, clock_violations), 1) },
	{ "stats-bad-bytes", STATS_IN, .only = of_events,
	  ONE(ADD, F(xvt_ring_stats, bad_bytes), 8) },
	{ "stats-first", STATS_IN, .only = of_events, ONE(ADD, F(xvt_ring_stats, first_ns), 1) },
	{ "stats-last", STATS_IN, .only = of_events, ONE(ADD, F(xvt_ring_stats, last_ns), 1) },
	{ "stats-bound", STATS_IN, .only = of_events,
	  ONE(HALVE, F(xvt_ring_stats, bound_ns_max), 0) },
	{ "stats-no-bound", STATS_IN, .only = of_events,
	  ONE(SET, F(xvt_ring_stats, bound_ns_max), 0) },
	{ "stats-paused", STATS_IN, .only = of_events,
	  ONE(ADD, F(xvt_ring_stats, paused_ns), 5 * MS) },
	{ "stats-nest", STATS_IN, .only = of_events, ONE(ADD, F(xvt_ring_stats, nest), 400) },
	{ "stats-samples", STATS_IN, .only = of_samples,
	  ONE(ADD, F(xvt_ring_stats, samples), -1ull) },
	{ "stats-doubt", STATS_IN, .only = of_events,
	  ONE(ADD, F(xvt_ring_stats, overwritten_doubt), 7) },
	{ "stats-cut", TELL(cut_stats) },
	/* rounds, notes, the file's own lists */
	{ "round-number", ROUND_IN, ONE(SET, F(xvt_round, round), 0) },
	{ "round-watermark", ROUND_IN, ONE(ADD, F(xvt_round, watermark_ns), 900 * MS) },
	{ "round-goes-back", ROUND_IN, ONE(SET, F(xvt_round, watermark_ns), 1) },
	{ "round-written", ROUND_IN, ONE(SET, F(xvt_round, written_ns), 1) },
	{ "note-level", NOTE_IN, ONE(SET, F(xvt_note, level), 77) },
	{ "note-vm", NOTE_IN, ONE(SET, F(xvt_note, vm), 4000) },
	{ "note-ring", NOTE_IN, ONE(SET, F(xvt_note, ring), 4000) },
	{ "note-time", NOTE_IN, ONE(ADD, F(xvt_note, host_ns), 5 * MS) },
	{ "end-cut", TELL(cut_end) },
	{ "index-place", INDEX_IN, ONE(ADD, F(xvt_index_entry, offset), 8) },
	{ "index-count", INDEX_IN, ONE(ADD, F(xvt_index_entry, count), 1) },
	{ "index-type", INDEX_IN, ONE(SET, F(xvt_index_entry, type), 77) },
	{ "end-events", END_IN, ONE(ADD, F(xvt_end, events), 1) },
	{ "end-late", END_IN, ONE(ADD, F(xvt_end, late), 1) },
	{ "end-chunks", END_IN, ONE(ADD, F(xvt_end, chunks), 1) },
	{ "end-index", END_IN, ONE(ADD, F(xvt_end, index_offset), 8) },
	/* none: the file is as good as it was */
	{ "none", FILE_IN, ONE(NONE, 0, 0, 0) },
};
#define NR_LIES (sizeof(lies) / sizeof(lies[0]))

static const struct lie *lie_of(const char *name)
{
	for (size_t i = 0; i < NR_LIES; i++) {
		if (!strcmp(lies[i].name, name))
			return &lies[i];
	}
	return NULL;
}

static bool tell(struct trace *t, const struct lie *lie)
{
	return lie->tell ? lie->tell(t) : tell_number(t, lie);
}

static uint8_t *map_file(const char *path, size_t *size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	*size = (size_t)st.st_size;
	map = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

int main(int argc, char **argv)
{
	const struct lie *lie = argc == 3 ? lie_of(argv[2]) : NULL;
	struct trace t = { 0 };
	size_t size;
	uint8_t *map;

	for (size_t i = 0; argc == 1 && i + 1 < NR_LIES; i++)
		printf("%s\n", lies[i].name);
	if (argc == 1)
		return 0;
	if (!lie) {
		fprintf(stderr, "usage: xvt-lie [FILE.xvt LIE]\n");
		return 2;
	}
	map = map_file(argv[1], &size);
	if (!map || !read_trace(&t, map, size)) {
		fprintf(stderr, "xvt-lie: %s: cannot be read\n", argv[1]);
		return 1;
	}
	if (!lie->last && !tell(&t, lie))
		return 3;
	settle(&t);
	if (lie->last && !tell(&t, lie))
		return 3;
	/* The mapping is of the file's present pages: they stay while another file takes its name.
	 */
	if (unlink(argv[1]) || !write_trace(&t, argv[1])) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
