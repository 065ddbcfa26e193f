// SPDX-License-Identifier: GPL-2.0
/* kinds_size.c - guests that choose a geometry which costs: they format their regions themselves.
 */
#include "guest.h"

#define MANY 5400u

static void write_one(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
}

static bool no_answer(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)h, (void)r, (void)seq, (void)clock;
	return false;
}

static void hold(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	xvt_store(&r->w.ctl->nest, 1 + (uint32_t)(next(s) % 2));
}

static void stir(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	xvt_store(&r->w.ctl->nest, (uint32_t)next(s) % 2);
	xvt_store(&r->w.ctl->attempted, next(s));
	xvt_store(&r->w.ctl->hw_id, (uint32_t)next(s));
}

static void waves(struct hostile *h, struct ring *r, uint64_t *s)
{
	if ((age_ns(h) / (300 * MS) + r->number) % 10) {
		hold(h, r, s);
		return;
	}
	xvt_store(&r->w.ctl->nest, 0);
	honest(r, s);
}

static bool waves_answer(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)seq, (void)clock;
	return (age_ns(h) / (300 * MS) + r->number) % 10 == 0;
}

static void big(struct hostile *h, struct ring *r, uint64_t *s)
{
	static uint64_t payload[4000];

	(void)s;
	if (spend(h, sizeof(payload)))
		xvt_write(&r->w, XVT_ID_U64, payload, sizeof(payload));
}

static void garbage(struct hostile *h, struct ring *r, uint64_t *s)
{
	uint64_t cons = xvt_load_acquire(&r->w.host->cons) & ~(uint64_t)r->w.subbuf_mask;

	*(uint64_t *)(r->w.data + (next(s) & r->w.ring_mask & ~7ull)) = next(s);
	xvt_store(&r->w.ctl->resv, cons + h->g.ring_size);
	xvt_store_release(&r->w.ctl->commit, cons + h->g.ring_size);
}

/* What an honest machine would only do when it is set up. */
static void rewrite_header(struct hostile *h, uint64_t *s)
{
	any_word(s, h->base, sizeof(struct xvt_region_hdr) / 8, h->g.region_size);
}

static void format_again(struct hostile *h, uint64_t *s)
{
	struct xvt_layout layout = { .region_size = h->size,
				     .ring_count = 1 + (uint32_t)next(s) % 64,
				     .kind = XVT_KIND_USER,
				     .clock_id = XVT_CLOCK_NATIVE };
	struct xvt_geometry g;

	if (h->turns % 16 == 0)
		xvt_region_format(h->base, &layout, &g);
}

#define MANY_RINGS .rings = MANY, .subbuf_size = 1024, .size = 64ull << 20, .batch = 512

const struct kind size_kinds[] = {
	{ .name = "rings",
	  .text = "5,400 rings, all of them in use",
	  MANY_RINGS,
	  .ring = write_one },
	{ .name = "rings-silent",
	  .text = "5,400 rings inside an event, that do not answer",
	  MANY_RINGS,
	  .ring = hold,
	  .answer = no_answer },
	{ .name = "rings-stir",
	  .text = "5,400 rings that change and never write",
	  MANY_RINGS,
	  .ring = stir },
	{ .name = "rings-waves",
	  .text = "5,400 rings that are silent in turns",
	  MANY_RINGS,
	  .ring = waves,
	  .answer = waves_answer },
	{ .name = "rings-early",
	  .text = "5,400 rings that never answer",
	  .flags = KIND_EARLY,
	  MANY_RINGS,
	  .ring = write_one,
	  .answer = no_answer },
	{ .name = "subbufs-small",
	  .text = "one ring of 16,384 sub-buffers of 1 KiB, full of garbage",
	  .rings = 1,
	  .subbuf_size = 1024,
	  .size = 32ull << 20,
	  .ring = garbage },
	{ .name = "subbufs-large",
	  .text = "one ring of four sub-buffers of 8 MiB",
	  .rings = 1,
	  .subbuf_size = 8u << 20,
	  .size = 48ull << 20,
	  .ring = big },
	{ .name = "subbufs-large-garbage",
	  .text = "the same, full of garbage",
	  .rings = 1,
	  .subbuf_size = 8u << 20,
	  .size = 48ull << 20,
	  .ring = garbage },
	{ .name = "header",
	  .text = "the header's words change while it is recorded",
	  .ring = write_one,
	  .region = rewrite_header },
	{ .name = "formats-again",
	  .text = "the region is formatted anew, in another geometry each time",
	  .region = format_again },
	{ 0 },
};
