// SPDX-License-Identifier: GPL-2.0
/* kinds_ring.c - guests that spoil the control words and the records of their rings. */
#include "guest.h"

static uint64_t commit_of(const struct ring *r)
{
	return xvt_load(&r->w.ctl->commit);
}

/* Inside what the host reads. */
static uint8_t *bytes_at(struct ring *r, uint64_t pos)
{
	return r->w.data + (pos & r->w.ring_mask & ~7ull);
}

/* A record with right magic, lap and length, and any time, id and flags. Published. */
static void back_and_forth(struct hostile *h, struct ring *r, uint64_t *s)
{
	uint64_t flags = (next(s) % 4 ? XVT_H_FULL : 0) | (next(s) % 8 ? 0 : XVT_H_SAME);
	uint64_t ts = wild(s, xvt_clock_read());
	uint32_t id = next(s) % 2 ? XVT_ID_U64 : (uint32_t)(next(s) % 32768), len;
	struct xvt_slot slot;

	if (!spend(h, 48) || xvt_reserve(&r->w, XVT_ID_U64, 24, &slot))
		return;
	len = (uint32_t)(slot.end - slot.pos);
	slot.rec[1] = ts >> 32 | next(s) << 32;
	slot.header = xvt_header(r->w.ring_shift, slot.pos, id, len, ts, flags);
	xvt_commit(&r->w, &slot);
}

static void behind(struct hostile *h, struct ring *r, uint64_t *s)
{
	struct xvt_ring_ctl *c = r->w.ctl;
	uint64_t commit = xvt_writer_pos(&r->w, xvt_load(&c->resv));

	(void)h;
	xvt_store(&c->nest, 1);
	honest(r, s);
	xvt_store_release(&c->commit, commit);
	xvt_store(&c->nest, 0);
}

static void flicker(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	xvt_store(&r->w.ctl->nest, (uint32_t)(next(s) % 2));
}

static void silent(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	xvt_store(&r->w.ctl->nest, 1 + (uint32_t)(next(s) % 2));
}

static bool no_answer(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)h, (void)r, (void)seq, (void)clock;
	return false;
}

/* Is it the silent part of a wave? Two seconds and a half of silence hold others back as long as
 * the recorder lets them, a quarter of a second of good conduct follows. */
static bool wave_is_silent(const struct hostile *h)
{
	return age_ns(h) % (2750 * MS) < 2500 * MS;
}

static void waves(struct hostile *h, struct ring *r, uint64_t *s)
{
	if (wave_is_silent(h)) {
		xvt_store(&r->w.ctl->nest, 1 + (uint32_t)(next(s) % 2));
		return;
	}
	xvt_store(&r->w.ctl->nest, 0);
	honest(r, s);
}

static bool waves_answer(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)r, (void)seq, (void)clock;
	return !wave_is_silent(h);
}

/* The rings take turns: at any moment one holds the others back, none for long. */
static void relay(struct hostile *h, struct ring *r, uint64_t *s)
{
	bool mine = age_ns(h) / (1500 * MS) % h->g.ring_count == r->number;

	xvt_store(&r->w.ctl->nest, mine ? 1 + (uint32_t)(next(s) % 2) : 0);
	if (!mine)
		honest(r, s);
}

static bool relay_answer(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)seq, (void)clock;
	return age_ns(h) / (1500 * MS) % h->g.ring_count != r->number;
}

static void far_generation(struct hostile *h, struct ring *r, uint64_t *s)
{
	struct xvt_ring_ctl *c = r->w.ctl;
	uint32_t number = xvt_load(&c->generation) + (next(s) % 8 ? 1 : (uint32_t)(next(s) % 9));
	struct xvt_ring_gen *gen = &c->gen[number % XVT_GEN_SLOTS];
	uint64_t start;

	honest(r, s);
	if (next(s) % 512)
		return;
	start = (xvt_load(&c->resv) + (1ull << (40 + next(s) % 24))) &
		~(uint64_t)(h->g.subbuf_size - 1);
	gen->prev_resv = start - (next(s) % h->g.subbuf_size & ~7ull);
	gen->prev_commit = wild(s, gen->prev_resv) & ~7ull; /* or the ring is refused at once */
	gen->start = start;
	xvt_store_release(&gen->generation, number);
	xvt_store_release(&c->generation, number);
	xvt_store_release(&c->resv, start);
	xvt_store_release(&c->commit, start);
}

static void reboot(struct hostile *h, uint64_t *s)
{
	const struct xvt_layout layout = { .kind = XVT_KIND_USER,
					   .clock_id = XVT_CLOCK_NATIVE,
					   .vm_name = "hostile" };
	uint64_t uuid[2] = { next(s), next(s) };
	uint32_t i;

	xvt_region_new_generation(h->base, &h->g, &layout, (const uint8_t *)uuid);
	for (i = 0; i < h->g.ring_count; i++) {
		xvt_writer_init(&h->ring[i].w, h->base, &h->g, i);
		xvt_store_release(&h->ring[i].w.ctl->state, XVT_RING_ONLINE);
		honest(&h->ring[i], s);
	}
}

/* Full stamps in the far future: no measurement ever reaches them, so they wait. */
static void future(struct hostile *h, struct ring *r, uint64_t *s)
{
	struct xvt_slot slot;

	(void)h, (void)s;
	if (xvt_reserve(&r->w, XVT_ID_U64, 512, &slot))
		return;
	slot.rec[1] = 0x7fffffff;
	slot.header |= XVT_H_FULL;
	xvt_commit(&r->w, &slot);
}

/* Full stamps a little ahead of now: each holds back what is behind it. */
static void ahead(struct hostile *h, struct ring *r, uint64_t *s)
{
	uint64_t ts = xvt_clock_read() + ticks_of(h, next(s) % 3000 * MS);
	struct xvt_slot slot;

	if (!spend(h, 48) || xvt_reserve(&r->w, XVT_ID_U64, 24, &slot))
		return;
	slot.rec[1] = ts >> 32;
	slot.header = xvt_header(r->w.ring_shift, slot.pos, XVT_ID_U64,
				 (uint32_t)(slot.end - slot.pos), ts, XVT_H_FULL);
	xvt_commit(&r->w, &slot);
}

static void state(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
	xvt_store(&r->w.ctl->state, next(s) % 2 ? XVT_RING_ONLINE : XVT_RING_OFFLINE);
}

static void garbled(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
	if (next(s) % 16 == 0)
		bytes_at(r, commit_of(r) - next(s) % 4096)[next(s) % 8] = (uint8_t)next(s);
}

static void goes_back(struct hostile *h, struct ring *r, uint64_t *s)
{
	struct xvt_ring_ctl *c = r->w.ctl;
	uint64_t commit = commit_of(r) - (next(s) % 2048 & ~7ull);

	(void)h;
	honest(r, s);
	if (next(s) % 4)
		return;
	xvt_store(&c->attempted, xvt_load(&c->attempted) - next(s) % 64);
	xvt_store(&c->resv, commit);
	xvt_store_release(&c->commit, commit);
}

static void counters(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
	any_word(s, &r->w.ctl->attempted, 8, 0);
}

/* Losses and discards without end, up and down, some of them told by sub-buffer headers. */
static void losses(struct hostile *h, struct ring *r, uint64_t *s)
{
	struct xvt_ring_ctl *c = r->w.ctl;
	uint64_t *lost = &c->lost[next(s) % XVT_LOST_CAUSES];

	if (spend(h, 40))
		honest(r, s);
	xvt_store(lost, xvt_load(lost) + 1 - next(s) % 4 / 3 * 2);
	xvt_store(&c->discarded, xvt_load(&c->discarded) + next(s) % 3 - 1);
}

static void identity(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
	any_word(s, &r->w.ctl->type, 3, 0);
	xvt_store(&r->w.ctl->hw_id, (uint32_t)next(s) % 4);
}

static void words(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
	if (next(s) % 256 == 0)
		any_word(s, r->w.ctl, sizeof(*r->w.ctl) / 8, commit_of(r));
	if (next(s) % 64 == 0)
		any_word(s, r->w.host, sizeof(*r->w.host) / 8, commit_of(r));
	keep_writing(r);
}

static void host_words(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
	xvt_store(&r->w.host->enable, (uint32_t)(next(s) % 3));
	if (next(s) % 8 == 0)
		xvt_store(&r->w.host->cons, wild(s, commit_of(r)));
	if (next(s) % 8 == 0)
		any_word(s, &r->w.host->acc_delivered, 8, 0);
	if (next(s) % 8 == 0)
		any_word(s, &r->w.host->settled, sizeof(r->w.host->settled) / 8, commit_of(r));
}

/* The nonce shows a roll-back of the memory: every change of it looks like one. */
static void nonce(struct hostile *h, uint64_t *s)
{
	struct xvt_host_page *page = (void *)(h->base + h->g.host_off);

	if (next(s) % 2)
		xvt_store(&page->nonce, next(s));
	else
		any_word(s, page, sizeof(*page) / 8, 0);
}

static void honest_ring(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
}

static void epochs(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
	xvt_store(&r->w.host->epoch,
		  (uint32_t)next(s) % 3 + (next(s) % 64 ? 0 : (uint32_t)next(s)));
	xvt_store(&r->w.ctl->epoch_seen, (uint32_t)next(s) % 3);
}

static void subbuf_headers(struct hostile *h, struct ring *r, uint64_t *s)
{
	uint64_t pos = commit_of(r) & ~(uint64_t)r->w.subbuf_mask;

	(void)h;
	honest(r, s);
	if (next(s) % 8 == 0)
		any_word(s, bytes_at(r, pos), sizeof(struct xvt_subbuf_hdr) / 8, pos);
}

/* All of the ring is full of garbage, again as soon as the host has taken it. */
static void overtake(struct hostile *h, struct ring *r, uint64_t *s)
{
	uint64_t cons = xvt_load_acquire(&r->w.host->cons) & ~(uint64_t)r->w.subbuf_mask;

	*bytes_at(r, next(s)) = (uint8_t)next(s);
	xvt_store(&r->w.ctl->resv, cons + h->g.ring_size);
	xvt_store_release(&r->w.ctl->commit, cons + h->g.ring_size);
}

static void pad_subbuf(struct ring *r, uint64_t pos)
{
	uint64_t clock = xvt_clock_read(), at;
	struct xvt_subbuf_hdr hdr;

	xvt_writer_sample(&r->w, &hdr, pos, clock, 0, XVT_ENABLE_STOP);
	memcpy(bytes_at(r, pos), &hdr, sizeof(hdr));
	for (at = pos + sizeof(hdr); at < pos + r->w.subbuf_size; at += 8)
		*(uint64_t *)bytes_at(r, at) = xvt_header(r->w.ring_shift, at, XVT_ID_DISCARDED, 8,
							  clock, XVT_H_DONE | XVT_H_SAME);
}

/* The same with right headers everywhere: nothing in it but the least that counts as content. */
static void pads(struct hostile *h, struct ring *r, uint64_t *s)
{
	uint64_t cons = xvt_load_acquire(&r->w.host->cons) & ~(uint64_t)r->w.subbuf_mask;
	uint32_t i;

	(void)s;
	if (commit_of(r) == cons + h->g.ring_size)
		return;
	for (i = 0; i < h->g.subbuf_count; i++)
		pad_subbuf(r, cons + i * r->w.subbuf_size);
	xvt_store(&r->w.ctl->resv, cons + h->g.ring_size);
	xvt_store_release(&r->w.ctl->commit, cons + h->g.ring_size);
}

static void discards(struct hostile *h, struct ring *r, uint64_t *s)
{
	struct xvt_slot slot, inner;

	(void)h, (void)s;
	if (xvt_reserve(&r->w, XVT_ID_U64, 8, &slot))
		return;
	if (!xvt_reserve(&r->w, XVT_ID_U64, 8, &inner))
		xvt_discard(&r->w, &inner);
	xvt_discard(&r->w, &slot);
}

/* The shortest records, all of one time. */
static void same(struct hostile *h, struct ring *r, uint64_t *s)
{
	struct xvt_slot slot;

	(void)s;
	if (!spend(h, 24) || xvt_reserve(&r->w, XVT_ID_U64, 0, &slot))
		return;
	slot.header |= XVT_H_SAME;
	xvt_commit(&r->w, &slot);
}

static void flood(struct hostile *h, struct ring *r, uint64_t *s)
{
	uint64_t payload[512] = { next(s) };

	if (spend(h, sizeof(payload)))
		xvt_write(&r->w, XVT_ID_U64, payload, sizeof(payload));
}

const struct kind ring_kinds[] = {
	{ .name = "back-and-forth", .text = "records whose times jump", .ring = back_and_forth },
	{ .name = "behind",
	  .text = "commit stays behind resv for ever: never idle, never stuck",
	  .ring = behind },
	{ .name = "flicker", .text = "nest changes between 0 and 1", .ring = flicker },
	{ .name = "silent",
	  .text = "nest changes between 1 and 2, and no answer",
	  .ring = silent,
	  .answer = no_answer },
	{ .name = "waves",
	  .text = "silent as long as it holds others back, then good for a moment",
	  .ring = waves,
	  .answer = waves_answer },
	{ .name = "relay",
	  .text = "one ring after the other is silent for 1.5 s",
	  .rings = 8,
	  .ring = relay,
	  .answer = relay_answer },
	{ .name = "far-generation",
	  .text = "generations that begin 2^40 bytes and more further on",
	  .ring = far_generation },
	{ .name = "reboots",
	  .text = "a new generation of all rings each millisecond",
	  .region = reboot,
	  .rest_us = 1000 },
	{ .name = "future", .text = "as many records as fit, of the far future", .ring = future },
	{ .name = "ahead", .text = "records of the next three seconds", .ring = ahead },
	{ .name = "state", .text = "rings go online and offline", .ring = state },
	{ .name = "garbled", .text = "bytes of finished records change", .ring = garbled },
	{ .name = "goes-back", .text = "commit and attempted go back", .ring = goes_back },
	{ .name = "counters", .text = "wild counters", .ring = counters },
	{ .name = "losses", .text = "losses and discards go up and down", .ring = losses },
	{ .name = "identity", .text = "type, cpu, hw_id, pid and tid change", .ring = identity },
	{ .name = "words", .text = "any word of both control halves", .ring = words },
	{ .name = "host-words",
	  .text = "the host's words: enable, cons, accounts, the settled state",
	  .ring = host_words },
	{ .name = "nonce",
	  .text = "the host page: nonce, attach_id, doorbell, requests",
	  .ring = honest_ring,
	  .region = nonce },
	{ .name = "epochs", .text = "the host's epoch and the writer's", .ring = epochs },
	{ .name = "subbuf-headers", .text = "words of sub-buffer headers", .ring = subbuf_headers },
	{ .name = "overtake", .text = "rings full of garbage, at once again", .ring = overtake },
	{ .name = "pads", .text = "rings full of discarded records, at once again", .ring = pads },
	{ .name = "discards", .text = "nothing but discarded events", .ring = discards },
	{ .name = "same", .text = "the shortest records, all of one time", .ring = same },
	{ .name = "flood", .text = "events of 4 KiB", .ring = flood },
	{ 0 },
};

/* ------------------------------------------------------------------ all at once */

static size_t nr_kinds(const struct kind *k)
{
	size_t n = 0;

	while (k[n].name)
		n++;
	return n;
}

/* Each ring is of another kind, so that a ring which the host gives up does not spare it the
 * others. */
static void mixed_ring(struct hostile *h, struct ring *r, uint64_t *s)
{
	const struct kind *k = &h->kinds[r->number % nr_kinds(h->kinds)];

	(k->ring ? k->ring : honest_ring)(h, r, s);
	if (k->ring == behind || k->ring == silent || k->ring == back_and_forth ||
	    k->ring == future)
		return; /* these want to stay believable */
	if (!xvt_load(&r->w.host->enable) || next(s) % 1024 == 0)
		xvt_store(&r->w.host->enable, (uint32_t)(next(s) % 3));
	if (next(s) % 64 == 0)
		xvt_store(&r->w.host->cons, wild(s, commit_of(r)));
	if (k->ring != flicker && xvt_load(&r->w.ctl->nest) > XVT_MAXNEST)
		xvt_store(&r->w.ctl->nest, 0);
}

static bool mixed_answer(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	const struct kind *k = &h->kinds[r->number % nr_kinds(h->kinds)];

	return !k->answer || k->answer(h, r, seq, clock);
}

/* What belongs to no ring: header, host page, metadata. */
static void mixed_region(struct hostile *h, uint64_t *s)
{
	struct xvt_meta_hdr *m = (void *)(h->base + h->g.meta_off);
	uint64_t room = h->g.meta_size - sizeof(*m);

	any_word(s, h->base, sizeof(struct xvt_region_hdr) / 8, h->g.region_size);
	if (next(s) % 4 == 0)
		any_word(s, m + 1, room / 8, room);
	switch (next(s) % 8) {
	case 0:
		xvt_store_release(&m->committed, next(s) % room & ~7ull);
		break;
	case 1:
		xvt_store_release(&m->committed, wild(s, room));
		break;
	case 2:
		if (xvt_load(&m->committed) > room)
			xvt_store_release(&m->committed, 0);
		break;
	default:
		xvt_meta_append(h->base, &h->g, (uint32_t)(next(s) % 9), (uint32_t)next(s), "a\0b",
				4, m, (uint32_t)(next(s) % 64));
		break;
	}
	/* A nonce that changes makes the host go on elsewhere in all rings: spare a while. */
	if (age_ns(h) > 3000 * MS && next(s) % 16 == 0)
		any_word(s, h->base + h->g.host_off, sizeof(struct xvt_host_page) / 8, 0);
}

const struct kind mixed_kinds[] = {
	{ .name = "mixed",
	  .text = "each ring does something else, and so does the region",
	  .rings = 26,
	  .ring = mixed_ring,
	  .region = mixed_region,
	  .answer = mixed_answer },
	{ 0 },
};
