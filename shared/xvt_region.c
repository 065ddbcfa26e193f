// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * xvt_region.c - lay out a region, begin a generation, append metadata. Runs on the side
 * that writes: a guest, or `xvtrace region create`. Trusts its caller, not the memory.
 */
#include "xvt_region.h"

#define SUBBUF_DEFAULT 65536u
#define HEADER_PAGES   2u /* region header, host page */

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) & ~(to - 1);
}

static uint64_t ctl_size(uint32_t ring_count, uint32_t align)
{
	return (uint64_t)ring_count * 2 * align;
}

uint64_t xvt_region_min_size(uint32_t ring_count, uint32_t align)
{
	if (!align)
		align = XVT_ALIGN_MIN;
	return (uint64_t)(HEADER_PAGES + 1) * align + ctl_size(ring_count, align) +
	       (uint64_t)ring_count * XVT_SUBBUF_COUNT_MIN * XVT_SUBBUF_SIZE_MIN;
}

static uint32_t shift_of(uint32_t power_of_two)
{
	return (uint32_t)__builtin_ctz(power_of_two);
}

int xvt_region_plan(const struct xvt_layout *layout, struct xvt_geometry *g)
{
	uint32_t align = layout->align ? layout->align : XVT_ALIGN_MIN;
	uint32_t rings = layout->ring_count;
	uint64_t size = layout->region_size;
	uint64_t meta = layout->meta_size, fixed, per_ring;
	uint32_t subbuf = layout->subbuf_size;

	memset(g, 0, sizeof(*g));
	if (!rings || rings > XVT_RING_COUNT_MAX || align < XVT_ALIGN_MIN ||
	    align > XVT_ALIGN_MAX || align & (align - 1) || size & (XVT_ALIGN_MIN - 1))
		return -EINVAL;
	if (layout->ts_bits && (layout->ts_bits < 3 || layout->ts_bits > 32))
		return -EINVAL;
	if (subbuf &&
	    (subbuf & (subbuf - 1) || subbuf < XVT_SUBBUF_SIZE_MIN || subbuf > XVT_SUBBUF_SIZE_MAX))
		return -EINVAL;
	if (size < xvt_region_min_size(rings, align) || meta > size - align)
		return -ENOSPC;
	if (!meta) {
		/* An eighth: event formats are about 1 KiB each. */
		meta = size / 8;
		if (meta > 4u << 20)
			meta = 4u << 20;
	}
	meta = round_up(meta, align);
	fixed = HEADER_PAGES * align + ctl_size(rings, align);
	if (!layout->meta_size) {
		uint64_t least =
			size - (uint64_t)rings * XVT_SUBBUF_COUNT_MIN * XVT_SUBBUF_SIZE_MIN;

		if (fixed + meta > least)
			meta = align;
	}
	if (fixed + meta >= size)
		return -ENOSPC;
	per_ring = (size - fixed - meta) / rings;
	if (!subbuf) {
		subbuf = SUBBUF_DEFAULT;
		while (subbuf > XVT_SUBBUF_SIZE_MIN && per_ring / subbuf < 8)
			subbuf /= 2;
	}
	if (per_ring / subbuf < XVT_SUBBUF_COUNT_MIN)
		return -ENOSPC;

	g->subbuf_size = subbuf;
	g->subbuf_shift = shift_of(subbuf);
	g->subbuf_count = XVT_SUBBUF_COUNT_MIN;
	while (g->subbuf_count < XVT_SUBBUF_COUNT_MAX && per_ring / subbuf >= g->subbuf_count * 2)
		g->subbuf_count *= 2;
	g->region_size = size;
	g->align = align;
	g->ctl_stride = 2 * align;
	g->ring_count = rings;
	g->ring_size = (uint64_t)subbuf * g->subbuf_count;
	g->ring_shift = g->subbuf_shift + shift_of(g->subbuf_count);
	g->ts_bits = layout->ts_bits ? layout->ts_bits : 32;
	g->host_off = align;
	g->meta_off = HEADER_PAGES * align;
	g->meta_size = meta;
	g->ctl_off = g->meta_off + meta;
	g->data_off = g->ctl_off + ctl_size(rings, align);
	return 0;
}

static void ring_init(uint8_t *base, const struct xvt_geometry *g, uint32_t ring,
		      const struct xvt_layout *layout)
{
	struct xvt_ring_ctl *c = (void *)(base + xvt_ctl_off(g, ring));
	struct xvt_ring_host *h = (void *)(base + xvt_ring_host_off(g, ring));

	memset(c, 0, sizeof(*c));
	memset(h, 0, sizeof(*h));
	c->magic = XVT_RING_MAGIC;
	c->cpu = ring;
	c->subbuf_size = g->subbuf_size;
	c->subbuf_count = g->subbuf_count;
	c->clock_id = layout->clock_id;
	c->ts_bits = g->ts_bits;
	c->backend = XVT_RING_BACKEND;
	h->enable = layout->enable;
}

static void header_describe(struct xvt_region_hdr *h, const struct xvt_layout *layout)
{
	uint32_t i;

	h->kind = layout->kind;
	h->clock_id = layout->clock_id;
	h->clock_hz = layout->clock_hz;
	memset(h->vm_name, 0, sizeof(h->vm_name));
	for (i = 0; layout->vm_name && layout->vm_name[i] && i < XVT_NAME_LEN - 1; i++)
		h->vm_name[i] = layout->vm_name[i];
}

int xvt_region_format(void *base, const struct xvt_layout *layout, struct xvt_geometry *g)
{
	struct xvt_region_hdr *h = base;
	uint64_t clear;
	uint32_t ring;
	int err = xvt_region_plan(layout, g);

	if (err)
		return err;
	/* Used before: the data too, or salvage takes what the earlier use left for records. */
	clear = h->magic ? g->region_size : g->ctl_off;
	xvt_store_release(&h->magic, 0);
	memset((uint8_t *)base + 8, 0, clear - 8);
	h->major = XVT_MAJOR;
	h->minor = XVT_MINOR;
	h->oldest = XVT_OLDEST;
	h->hdr_size = sizeof(*h);
	h->region_size = g->region_size;
	h->host_off = g->host_off;
	h->meta_off = g->meta_off;
	h->meta_size = g->meta_size;
	h->ctl_off = g->ctl_off;
	h->data_off = g->data_off;
	h->align = g->align;
	h->ctl_stride = g->ctl_stride;
	h->ring_count = g->ring_count;
	h->subbuf_size = g->subbuf_size;
	h->subbuf_count = g->subbuf_count;
	h->ts_bits = g->ts_bits;
	h->incompat = layout->incompat;
	header_describe(h, layout);
	for (ring = 0; ring < g->ring_count; ring++)
		ring_init(base, g, ring, layout);
	xvt_store_release(&h->magic, XVT_MAGIC); /* pairs with the host's xvt_check_header() */
	return 0;
}

void xvt_ring_new_generation(struct xvt_ring_ctl *c, const struct xvt_geometry *g,
			     uint32_t generation, uint32_t clock_id)
{
	struct xvt_ring_gen *gen = &c->gen[generation % XVT_GEN_SLOTS];
	uint32_t backend = xvt_load(&c->backend);
	uint64_t resv = xvt_resv_pos(backend, g->subbuf_shift, xvt_load(&c->resv));

	/* The old writer is gone and may have died anywhere; its counters go on. */
	gen->prev_commit = xvt_load(&c->commit);
	gen->prev_resv = backend == XVT_BACKEND_NONE ? gen->prev_commit : resv;
	gen->prev_nest = xvt_load(&c->nest);
	gen->start = xvt_pos_roundup(g, gen->prev_resv);
	xvt_store_release(&gen->generation, generation);
	xvt_store(&c->before_stamp, 0);
	xvt_store(&c->write_stamp, 0);
	xvt_store(&c->epoch_seen, 0);
	xvt_store(&c->nest, 0);
	xvt_store(&c->clock_id, clock_id);
	xvt_store(&c->clock_traits, 0u); /* the owner says so again */
	xvt_store(&c->clock_step, 0u);
	xvt_store(&c->state, XVT_RING_IDLE);
	xvt_store(&c->answer_seq, 0);
	xvt_store(&c->relayed_to, 0);
	/* The generation before the positions, so that no host takes the new commit for one of
	 * the old generation; it waits while commit lies before start. resv before commit:
	 * commit <= resv holds at every moment. Pairs with xvt_ring_words(). */
	xvt_store_release(&c->generation, generation);
	if (backend != XVT_RING_BACKEND)
		xvt_store_release(&c->backend, XVT_BACKEND_NONE);
	xvt_store_release(&c->resv, xvt_resv_word(XVT_RING_BACKEND, g->subbuf_shift, gen->start));
	xvt_store_release(&c->backend, XVT_RING_BACKEND);
	xvt_store_release(&c->commit, gen->start);
}

uint32_t xvt_region_new_generation(void *base, const struct xvt_geometry *g,
				   const struct xvt_layout *layout, const uint8_t uuid[16])
{
	struct xvt_region_hdr *h = base;
	struct xvt_meta_hdr *meta = (void *)((uint8_t *)base + g->meta_off);
	uint32_t generation = h->generation + 1;
	uint32_t ring;

	if (!generation)
		generation = 1;
	/* Formats of the generation before stay as long as there is room for as many again. */
	if (xvt_load(&meta->committed) > (g->meta_size - sizeof(*meta)) / 2)
		xvt_store_release(&meta->committed, 0);
	memcpy(h->boot_uuid, uuid, sizeof(h->boot_uuid));
	xvt_store(&h->displaced, 0);
	xvt_store(&h->ringless, 0);
	xvt_store(&h->host_events, XVT_HOST_EVENTS_UNKNOWN);
	xvt_store(&h->claim, 0); /* of a machine that asks just now: it is refused by that */
	header_describe(h, layout);
	for (ring = 0; ring < g->ring_count; ring++)
		xvt_ring_new_generation((void *)((uint8_t *)base + xvt_ctl_off(g, ring)), g,
					generation, layout->clock_id);
	xvt_store_release(&h->generation, generation);
	return generation;
}

bool xvt_region_in_use(const void *base, uint64_t size, const uint8_t uuid[16])
{
	struct xvt_region_hdr copy;
	struct xvt_geometry g;
	struct xvt_fault fault;
	uint32_t ring;

	memcpy(&copy, base, sizeof(copy));
	if (xvt_check_header(&copy, size, &g, &fault) ||
	    !memcmp(copy.boot_uuid, uuid, sizeof(copy.boot_uuid)))
		return false;
	for (ring = 0; ring < g.ring_count; ring++) {
		const struct xvt_ring_ctl *c =
			(const void *)((const uint8_t *)base + xvt_ctl_off(&g, ring));

		if (xvt_load(&c->state) == XVT_RING_ONLINE)
			return true;
	}
	return false;
}

uint32_t xvt_claim_put(void *base, uint32_t random)
{
	struct xvt_region_hdr *h = base;
	uint32_t claim = random & ~XVT_CLAIM_REFUSED;

	if (!claim)
		claim = 2;
	xvt_store_release(&h->claim, claim);
	return claim;
}

bool xvt_claim_stands(const void *base, uint32_t claim)
{
	const struct xvt_region_hdr *h = base;

	return xvt_load_acquire(&h->claim) == claim;
}

bool xvt_claim_answer(void *base)
{
	struct xvt_region_hdr *h = base;
	uint32_t claim = xvt_load(&h->claim);

	/* Not a plain store: a claim that came since has its own answer. */
	return claim && !(claim & XVT_CLAIM_REFUSED) &&
	       __atomic_compare_exchange_n(&h->claim, &claim, claim | XVT_CLAIM_REFUSED, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void xvt_writer_init(struct xvt_writer *w, void *base, const struct xvt_geometry *g, uint32_t ring)
{
	uint8_t *bytes = base;

	memset(w, 0, sizeof(*w));
	w->ctl = (void *)(bytes + xvt_ctl_off(g, ring));
	w->host = (void *)(bytes + xvt_ring_host_off(g, ring));
	w->data = bytes + xvt_data_off(g, ring);
	w->ring_size = g->ring_size;
	w->ring_mask = g->ring_size - 1;
	w->subbuf_size = g->subbuf_size;
	w->subbuf_mask = g->subbuf_size - 1;
	w->subbuf_shift = g->subbuf_shift;
	w->ring_shift = g->ring_shift;
	w->ts_limit = 1ull << g->ts_bits;
	w->max_record = g->subbuf_size - (uint32_t)sizeof(struct xvt_subbuf_hdr);
	if (w->max_record > (XVT_LEN8_MAX - 1) * 8)
		w->max_record = (XVT_LEN8_MAX - 1) * 8; /* leaves room for a full stamp */
	w->generation = w->ctl->generation;
	/* Nothing is remembered: no host writes this state. There is no room either, and what a
	 * wrong position makes fit lies in the ring. */
	w->state = ~0ull;
	w->first = (uint64_t)(uintptr_t)w->data + sizeof(struct xvt_subbuf_hdr);
	xvt_writer_bind(w);
}

int xvt_meta_append(void *base, const struct xvt_geometry *g, uint32_t type, uint32_t id,
		    const void *head, uint32_t head_len, const void *body, uint32_t body_len)
{
	uint8_t *bytes = base;
	struct xvt_region_hdr *rh = base;
	struct xvt_meta_hdr *h = (void *)(bytes + g->meta_off);
	uint64_t room = g->meta_size - sizeof(*h);
	uint64_t at = xvt_load(&h->committed);
	uint64_t len = (uint64_t)head_len + body_len;
	uint64_t whole = sizeof(struct xvt_meta_tlv) + round_up(len, 8);
	struct xvt_meta_tlv *tlv;
	uint8_t *payload;

	if (at & 7 || at > room || whole > room - at) {
		xvt_store(&h->refused, xvt_load(&h->refused) + 1);
		return -ENOSPC;
	}
	tlv = (void *)((uint8_t *)(h + 1) + at);
	payload = (uint8_t *)(tlv + 1);
	tlv->type = type;
	tlv->len = (uint32_t)len;
	tlv->generation = rh->generation;
	tlv->id = id;
	if (head_len)
		memcpy(payload, head, head_len);
	if (body_len)
		memcpy(payload + head_len, body, body_len);
	memset(payload + len, 0, round_up(len, 8) - len);
	xvt_store_release(&h->committed, at + whole); /* pairs with the host's acquire */
	return 0;
}
