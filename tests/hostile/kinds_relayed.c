// SPDX-License-Identifier: GPL-2.0
/* kinds_relayed.c - guests whose rings hold pages of ftrace that a relay copies there. */
#include "guest.h"

#define PAGE_HEAD 16u
#define TYPE_DATA 28u /* the largest length of an entry in its first word, in words of 4 bytes */

/* A page of entries, as a kernel writes it, and some of its words changed as `lies` says. */
static void put_page(struct hostile *h, struct ring *r, uint64_t *s, bool lies)
{
	uint64_t page[(XVT_RELAYED_PAGE_MAX + sizeof(struct xvt_relayed_page)) / 8] = { 0 };
	struct xvt_relayed_page *head = (void *)page;
	uint32_t *data = (uint32_t *)&page[3], words = 0, len;
	const uint32_t most = (XVT_RELAYED_PAGE_MAX - PAGE_HEAD) / 4 - TYPE_DATA;
	struct xvt_slot slot;

	while (words < most && next(s) % 32) {
		const uint32_t type = 2 + (uint32_t)(next(s) % 6);

		data[words] = type | (uint32_t)(next(s) % 1000) << 5;
		data[words + 1] = 77;
		words += 1 + type;
	}
	len = PAGE_HEAD + 4 * words;
	head->len = len;
	page[1] = xvt_clock_read_ordered() - ticks_of(h, MS);
	page[2] = 4 * words;
	if (lies && next(s) % 2)
		any_word(s, page, next(s) % 2 ? 3 : 3 + (words + 1) / 2, len);
	if (lies && !(next(s) % 8))
		xvt_store(&r->w.ctl->relayed_lost, wild(s, 0));
	if (!spend(h, len) || xvt_reserve(&r->w, XVT_ID_FTRACE_PAGE, sizeof(*head) + len, &slot))
		return;
	memcpy(slot.payload, page, sizeof(*head) + len);
	xvt_commit(&r->w, &slot);
}

static void complete(struct ring *r, uint64_t clock)
{
	xvt_store_release(&r->w.ctl->relayed_to, clock);
}

static void pages(struct hostile *h, struct ring *r, uint64_t *s)
{
	put_page(h, r, s, true);
	complete(r, xvt_clock_read_ordered() - ticks_of(h, 2 * MS));
	keep_writing(r);
}

/* Ring 0 never says what is complete, the others anything: now, long ago, in an hour, all. */
static void relayed_to(struct hostile *h, struct ring *r, uint64_t *s)
{
	const uint64_t now = xvt_clock_read_ordered();

	put_page(h, r, s, false);
	if (!r->number)
		return;
	switch (next(s) % 5) {
	case 0:
		complete(r, now - ticks_of(h, next(s) % (4000 * MS)));
		break;
	case 1:
		complete(r, now + ticks_of(h, next(s) % (3600000 * MS)));
		break;
	case 2:
		complete(r, XVT_RELAYED_ALL);
		break;
	case 3:
		complete(r, wild(s, now));
		break;
	default:
		complete(r, now);
	}
}

/* Rings end without end, in order and by a kill, and other generations take their place. */
static void relayed_states(struct hostile *h, struct ring *r, uint64_t *s)
{
	put_page(h, r, s, false);
	if (next(s) % 64)
		return;
	complete(r, next(s) % 2 ? XVT_RELAYED_ALL : xvt_clock_read_ordered());
	xvt_store_release(&r->w.ctl->state, (uint32_t)(next(s) % 4));
	if (!(next(s) % 8))
		xvt_ring_new_generation(r->w.ctl, &h->g, xvt_load(&r->w.ctl->generation) + 1,
					XVT_CLOCK_NATIVE);
}

const struct kind relayed_kinds[] = {
	{ .name = "relayed-pages",
	  .text = "pages of ftrace whose lengths, stamps and losses are wild",
	  .incompat = XVT_INCOMPAT_RELAYED,
	  .subbuf_size = XVT_RELAYED_SUBBUF,
	  .batch = 4,
	  .ring = pages },
	{ .name = "relayed-to",
	  .text = "a relay that never says what is complete, or says anything",
	  .incompat = XVT_INCOMPAT_RELAYED,
	  .subbuf_size = XVT_RELAYED_SUBBUF,
	  .batch = 4,
	  .ring = relayed_to },
	{ .name = "relayed-states",
	  .text = "relays that are killed and followed by others all the time",
	  .incompat = XVT_INCOMPAT_RELAYED,
	  .subbuf_size = XVT_RELAYED_SUBBUF,
	  .batch = 4,
	  .ring = relayed_states },
	{ 0 },
};
