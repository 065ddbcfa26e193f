// SPDX-License-Identifier: GPL-2.0
/*
 * order_write.c - see order_write.h. A ring's records stay in its newest source while they are
 * adjacent in one piece, have the same flags and lie on one line of the clock. Such an event costs
 * one word here, and some bits in the file.
 */
#include "trace/order_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "trace/payload.h"

/* With few events for many sources the tables would be longer than the sequence. */
#define EVENTS_USUAL  32768u
#define EVENTS_SOURCE 16u
#define EVENTS_MOST   (1u << 20)
/* Most sources and lines of a chunk before another window is added, which may add as many. */
#define TABLES_MOST   (XVT_ORDER_SOURCES_MAX / 8 * 5)
#define OWN_BYTES     (192u << 10)
#define RAWS_LOOK     8u /* number of newest chunks searched for a number */

#define RUN_MOST      256u

void xvt_order_init(struct xvt_order *o, enum xvt_lane lane)
{
	memset(o, 0, sizeof(*o));
	o->gathering = XVT_LANES + (uint64_t)lane;
}

void xvt_order_fini(struct xvt_order *o)
{
	free(o->sequence);
	free(o->own);
	free(o->raws);
	free(o->lines);
	free(o->sources);
	free(o->rings);
	free(o->of_runs);
	memset(o, 0, sizeof(*o));
}

bool xvt_order_full(const struct xvt_order *o)
{
	return (o->count >= EVENTS_USUAL && o->count / EVENTS_SOURCE >= o->nr_sources) ||
	       o->count >= EVENTS_MOST || o->nr_sources + o->nr_lines >= TABLES_MOST ||
	       o->own_len >= OWN_BYTES;
}

void xvt_order_time(struct xvt_order *o, uint64_t host_ns)
{
	if (!o->count || host_ns < o->first_ns)
		o->first_ns = host_ns;
	if (!o->count || host_ns > o->last_ns)
		o->last_ns = host_ns;
}

int xvt_order_own(struct xvt_order *o, const struct xvt_event_hdr *hdr, const void *payload)
{
	const size_t whole = sizeof(*hdr) + xvt_pad8(hdr->len);

	if (xvt_order_reserve(o, 1))
		return -ENOMEM;
	if (xvt_grow(&o->own, &o->own_room, o->own_len + whole, 1))
		return -ENOMEM;
	xvt_order_time(o, hdr->host_ns);
	memcpy(o->own + o->own_len, hdr, sizeof(*hdr));
	xvt_payload_put(o->own + o->own_len + sizeof(*hdr), payload, hdr->len);
	o->own_len += whole;
	o->nr_own++;
	xvt_order_next(o, XVT_ORDER_OWN);
	return 0;
}

/* ------------------------------------------------------------------ sources */

static struct xvt_order_open *open_of(struct xvt_order *o, uint32_t ring)
{
	struct xvt_order_open *grown;
	uint32_t more;

	if (xvt_likely(ring < o->nr_rings))
		return &o->rings[ring];
	more = ring + 1 > 2 * o->nr_rings ? ring + 1 : 2 * o->nr_rings;
	grown = realloc(o->rings, more * sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + o->nr_rings, 0, (more - o->nr_rings) * sizeof(*grown));
	o->rings = grown;
	o->nr_rings = more;
	return &o->rings[ring];
}

/* True if both are the same line. */
static bool is_line(const struct xvt_order_line *l, const struct xvt_clock_segment *s)
{
	return l->guest == s->guest && l->run == s->run && l->host_ns == s->host_ns &&
	       l->rise == s->rise;
}

/* True if the record lies on the line of the ring's newest source. */
static bool goes_on(const struct xvt_order *o, const struct xvt_order_open *open,
		    const struct xvt_clock_segment *line, uint64_t host_ns)
{
	const struct xvt_order_line *l = &o->lines[open->line];

	return line ? is_line(l, line) : !l->run && l->host_ns == host_ns;
}

static int new_line(struct xvt_order *o, const struct xvt_clock_segment *line, uint64_t host_ns)
{
	if (xvt_grow(&o->lines, &o->lines_room, o->nr_lines + 1, sizeof(*o->lines)))
		return -ENOMEM;
	o->lines[o->nr_lines++] =
		line ? (struct xvt_order_line){ line->guest, line->run, line->host_ns, line->rise }
		     : (struct xvt_order_line){ .host_ns = host_ns };
	return 0;
}

/* Number of a RAW chunk in the chunk's table, where it is added if not found. A duplicate is
 * harmless. */
static int find_raw(struct xvt_order *o, uint64_t seq, uint32_t *number)
{
	uint32_t k;

	for (k = 1; k <= RAWS_LOOK && k <= o->nr_raws; k++) {
		if (o->raws[o->nr_raws - k] == seq) {
			*number = o->nr_raws - k;
			return 0;
		}
	}
	if (xvt_grow(&o->raws, &o->raws_room, o->nr_raws + 1, sizeof(*o->raws)))
		return -ENOMEM;
	*number = o->nr_raws;
	o->raws[o->nr_raws++] = seq;
	return 0;
}

static int new_source(struct xvt_order *o, struct xvt_order_open *open, uint32_t ring_flags,
		      const struct xvt_raw_place *place, const struct xvt_clock_segment *line,
		      uint64_t host_ns)
{
	const bool known = open->gathering == o->gathering;
	uint32_t raw = known ? open->raw : 0;

	if (xvt_grow(&o->sources, &o->sources_room, o->nr_sources + 1, sizeof(*o->sources)) ||
	    (!(known && o->raws[raw] == place->chunk) && find_raw(o, place->chunk, &raw)))
		return -ENOMEM;
	if (!known || !goes_on(o, open, line, host_ns)) {
		if (new_line(o, line, host_ns))
			return -ENOMEM;
		open->line = o->nr_lines - 1;
	}
	open->gathering = o->gathering;
	open->source = o->nr_sources;
	open->raw = raw;
	o->sources[o->nr_sources++] = (struct xvt_order_source){
		.ring_flags = ring_flags,
		.raw = raw,
		.at = place->at,
		.line = open->line,
		.skip = place->skip,
		.ts_bits = place->ts_bits,
		.ts = place->ts,
	};
	return 0;
}

int xvt_order_source(struct xvt_order *o, uint32_t ring_flags, const struct xvt_raw_place *place,
		     const struct xvt_clock_segment *line, uint64_t host_ns, uint32_t *source)
{
	struct xvt_order_open *open = open_of(o, ring_flags & XVT_EVENT_RING_MASK);

	if (!open || new_source(o, open, ring_flags, place, line, host_ns))
		return -ENOMEM;
	*source = open->source;
	return 0;
}

int xvt_order_reserve(struct xvt_order *o, uint32_t n)
{
	return xvt_grow(&o->sequence, &o->sequence_room, (size_t)o->count + n,
			sizeof(*o->sequence));
}

int xvt_order_reserve_runs(struct xvt_order *o, uint32_t n)
{
	return xvt_grow(&o->of_runs, &o->of_runs_room, n, sizeof(*o->of_runs));
}

/* ------------------------------------------------------------------ the payload */

static uint32_t bits_of(uint32_t largest)
{
	return largest ? 32 - (uint32_t)__builtin_clz(largest) : 0;
}

static size_t words_of(uint64_t numbers, uint32_t width)
{
	return (size_t)((numbers * width + 63) / 64);
}

size_t xvt_order_room(const struct xvt_order *o)
{
	/* With the full sequence; runs are used only where they are shorter. */
	return sizeof(struct xvt_order_hdr) + o->own_len + o->nr_raws * sizeof(*o->raws) +
	       o->nr_lines * sizeof(*o->lines) + o->nr_sources * sizeof(*o->sources) +
	       (words_of(o->count, bits_of(o->nr_sources)) + 2) * sizeof(uint64_t);
}

/* Packs numbers of `width` bits, one after the other. */
struct packer {
	uint8_t *to;
	uint64_t word;
	uint32_t bits; /* bits used in `word` */
	uint32_t width;
};

static void pack(struct packer *p, uint64_t number)
{
	p->word |= number << p->bits;
	p->bits += p->width;
	if (p->bits < 64)
		return;
	memcpy(p->to, &p->word, sizeof(p->word));
	p->to += sizeof(p->word);
	p->bits -= 64;
	p->word = p->bits ? number >> (p->width - p->bits) : 0;
}

static uint8_t *pack_end(struct packer *p)
{
	if (p->bits) {
		memcpy(p->to, &p->word, sizeof(p->word));
		p->to += sizeof(p->word);
	}
	return p->to;
}

/* Index behind the run of events with the same number that begins at i. */
static uint32_t run_end(const struct xvt_order *o, uint32_t i)
{
	uint32_t k = i + 1;

	while (k < o->count && k - i < RUN_MOST && o->sequence[k] == o->sequence[i])
		k++;
	return k;
}

static uint32_t count_runs(const struct xvt_order *o)
{
	uint32_t i, n = 0;

	for (i = 0; i < o->count; i = run_end(o, i))
		n++;
	return n;
}

static size_t words_of_runs(uint32_t runs, uint32_t width)
{
	return words_of(runs, width) + xvt_pad8(runs) / 8;
}

static uint64_t number_of(const struct xvt_order *o, uint32_t i)
{
	return o->sequence[i] == XVT_ORDER_OWN ? o->nr_sources : o->sequence[i];
}

static uint8_t *put_runs(const struct xvt_order *o, struct packer *p, uint32_t nr_runs)
{
	uint8_t *to;
	uint32_t i;

	for (i = 0; i < o->count; i = run_end(o, i))
		pack(p, number_of(o, i));
	to = pack_end(p);
	for (i = 0; i < o->count; i = run_end(o, i))
		*to++ = (uint8_t)(run_end(o, i) - i - 1);
	memset(to, 0, xvt_pad8(nr_runs) - nr_runs);
	return to + (xvt_pad8(nr_runs) - nr_runs);
}

static uint8_t *put_sequence(const struct xvt_order *o, struct xvt_order_hdr *h, uint8_t *to)
{
	struct packer p = { .to = to };
	uint32_t i, runs;

	/* Without own events the number nr_sources is not needed. */
	h->width = p.width = bits_of(o->nr_own ? o->nr_sources : o->nr_sources - 1);
	/* A lower bound of the number of runs; it usually decides. */
	runs = o->nr_changes;
	if (words_of_runs(runs, p.width) < words_of(o->count, p.width))
		runs = count_runs(o);
	if (words_of_runs(runs, p.width) < words_of(o->count, p.width)) {
		h->nr_runs = runs;
		to = put_runs(o, &p, runs);
	} else {
		for (i = 0; i < o->count; i++)
			pack(&p, number_of(o, i));
		to = pack_end(&p);
	}
	memset(to, 0, sizeof(uint64_t));
	return to + sizeof(uint64_t);
}

static uint8_t *put(uint8_t *to, const void *from, size_t len)
{
	if (len)
		memcpy(to, from, len);
	return to + len;
}

size_t xvt_order_encode(struct xvt_order *o, uint8_t *to)
{
	struct xvt_order_hdr h = { .first_ns = o->first_ns,
				   .last_ns = o->last_ns,
				   .count = o->count,
				   .own_len = (uint32_t)o->own_len,
				   .nr_raws = o->nr_raws,
				   .nr_lines = o->nr_lines,
				   .nr_sources = o->nr_sources };
	uint8_t *at = to + sizeof(h);

	at = put(at, o->own, o->own_len);
	at = put(at, o->raws, o->nr_raws * sizeof(*o->raws));
	at = put(at, o->lines, o->nr_lines * sizeof(*o->lines));
	at = put(at, o->sources, o->nr_sources * sizeof(*o->sources));
	if (o->nr_sources)
		at = put_sequence(o, &h, at);
	memcpy(to, &h, sizeof(h));
	o->count = o->nr_own = o->nr_changes = o->nr_raws = o->nr_lines = o->nr_sources = 0;
	o->own_len = 0;
	o->gathering += XVT_LANES;
	return (size_t)(at - to);
}
