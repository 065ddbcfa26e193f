// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_region.c - any bytes as a region, and any guest that changes them while the host reads.
 *
 * The host's part is the real one: base/region.c, session/, ring/, clock/, merge/,
 * trace_write.c, salvage, region show; only io_uring and the clock are made up. The guest is
 * the input, a list of deeds, each done a number of the host's accesses after the one before:
 * bytes put anywhere, wild values in known words, and between them what an honest guest does
 * (by the real writer), so that the lies meet a recording that is under way. The input:
 *
 *   what      mode, and kind of region: enum and bits below
 *   shape     rings, sub-buffers, size
 *   passes    how long the host records, how slow it is, and whether it reads by the loop
 *   clock     rate of the guest's clock
 *   deeds     kind, distance (16 bits), then by kind: see act()
 *
 * fuzz_relayed.c is the same with a region whose guest relays pages of its ftrace
 * (session/relayed.c).
 *
 * What a finding is, beside a crash, a hang or a sanitizer's word: a plain access to shared
 * memory, a second fetch of the same byte (guest_memory.h), and a trace written by us that is
 * damaged or out of order.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ftrace_pages.h"
#include "loop_memory.h"
#include "session/parts.h"
#include "xvt_region.h"
#include "xvt_relay.h"

#ifdef FUZZ_RELAYED
static const bool relayed = true;
#else
static const bool relayed = false;
#endif

#define WHAT_MODE   0x03u
#define WHAT_FORMAT 0x04u /* formatted by a real guest; else zeros */
#define WHAT_ANSWER 0x08u /* the guest answers clock requests */
#define WHAT_FULL   0x10u /* the disk fills up */
#define WHAT_OTHER  0x20u /* --json; a name for salvage */
#define WHAT_LATE   0x40u /* nothing happens before the host opened it */
#define WHAT_DEAD   0x80u /* a recorder was there before, and died */

enum mode {
	MODE_RECORD,
	MODE_OVERWRITE,
	MODE_SALVAGE,
	MODE_SHOW,
};

#define SHAPE_CUT 0x40u /* of a recording in overwrite mode: a snapshot instead */

#define PAGE	  4096u
#define PAGES_MAX 48u
#define RINGS_MAX 3u
#define DEEDS_MAX 400u
#define TURNS_MAX 200000u /* accesses after which the guest rests, so that every run ends */

enum deed {
	DEED_BYTES,   /* any bytes anywhere */
	DEED_WORD,    /* a wild value in a known word */
	DEED_EVENT,   /* honest events */
	DEED_RESERVE, /* one that is never finished: its writer died */
	DEED_DISCARD,
	DEED_ANSWER, /* one clock answer */
	DEED_CLOCK,  /* the guest's clock jumps */
	DEED_META,   /* metadata, appended honestly */
	DEED_GENERATION,
	DEED_CUT,  /* the file gets shorter */
	DEED_READ, /* the host's next read comes short, or fails */
	DEEDS,
	/* Of a relay. The numbers of the others stay for the inputs of the corpus. */
	DEED_PAGE = DEEDS, /* a page, by the real relay, of any bytes or of valid events */
	DEED_COMPLETE,	   /* relayed_to, as a relay stores it */
	DEED_LOST,	   /* ftrace lost some more */
	DEED_END,	   /* the relay ends in order, or is killed */
	DEED_ON,	   /* another one takes the rings of that generation */
	RELAYED_DEEDS,
};

struct word {
	enum { IN_HEADER, IN_HOST_PAGE, IN_META, IN_CTL, IN_RING_HOST, IN_DATA } area;
	uint16_t off;
	uint8_t size;
};

#define WORD(area, type, field)                                                       \
	{                                                                             \
		area, offsetof(struct type, field), sizeof(((struct type *)0)->field) \
	}
static const struct word words[] = {
	WORD(IN_CTL, xvt_ring_ctl, resv),
	WORD(IN_CTL, xvt_ring_ctl, commit),
	WORD(IN_CTL, xvt_ring_ctl, nest),
	WORD(IN_CTL, xvt_ring_ctl, generation),
	WORD(IN_CTL, xvt_ring_ctl, state),
	WORD(IN_CTL, xvt_ring_ctl, attempted),
	WORD(IN_CTL, xvt_ring_ctl, discarded),
	WORD(IN_CTL, xvt_ring_ctl, lost[0]),
	WORD(IN_CTL, xvt_ring_ctl, lost[4]),
	WORD(IN_CTL, xvt_ring_ctl, before_stamp),
	WORD(IN_CTL, xvt_ring_ctl, write_stamp),
	WORD(IN_CTL, xvt_ring_ctl, epoch_seen),
	WORD(IN_CTL, xvt_ring_ctl, answer_seq),
	WORD(IN_CTL, xvt_ring_ctl, answer_clock),
	WORD(IN_CTL, xvt_ring_ctl, type),
	WORD(IN_CTL, xvt_ring_ctl, cpu),
	WORD(IN_CTL, xvt_ring_ctl, clock_id),
	WORD(IN_CTL, xvt_ring_ctl, gen[0].start),
	WORD(IN_CTL, xvt_ring_ctl, gen[0].prev_commit),
	WORD(IN_CTL, xvt_ring_ctl, gen[0].prev_resv),
	WORD(IN_CTL, xvt_ring_ctl, gen[0].generation),
	WORD(IN_CTL, xvt_ring_ctl, gen[0].prev_nest),
	WORD(IN_CTL, xvt_ring_ctl, gen[1].start),
	WORD(IN_CTL, xvt_ring_ctl, gen[1].prev_commit),
	WORD(IN_CTL, xvt_ring_ctl, gen[1].prev_resv),
	WORD(IN_CTL, xvt_ring_ctl, gen[1].generation),
	WORD(IN_CTL, xvt_ring_ctl, gen[2].start),
	WORD(IN_CTL, xvt_ring_ctl, gen[2].generation),
	WORD(IN_CTL, xvt_ring_ctl, gen[3].start),
	WORD(IN_CTL, xvt_ring_ctl, gen[3].generation),
	WORD(IN_RING_HOST, xvt_ring_host, cons),
	WORD(IN_RING_HOST, xvt_ring_host, enable),
	WORD(IN_RING_HOST, xvt_ring_host, epoch),
	WORD(IN_RING_HOST, xvt_ring_host, hint_seq),
	WORD(IN_RING_HOST, xvt_ring_host, hint_guest),
	WORD(IN_RING_HOST, xvt_ring_host, hint_host_ns),
	WORD(IN_RING_HOST, xvt_ring_host, hint_hz),
	WORD(IN_RING_HOST, xvt_ring_host, acc_delivered),
	WORD(IN_RING_HOST, xvt_ring_host, acc_lost[0]),
	WORD(IN_HOST_PAGE, xvt_host_page, nonce),
	WORD(IN_HOST_PAGE, xvt_host_page, request_seq),
	WORD(IN_META, xvt_meta_hdr, committed),
	WORD(IN_HEADER, xvt_region_hdr, magic),
	WORD(IN_HEADER, xvt_region_hdr, region_size),
	WORD(IN_HEADER, xvt_region_hdr, meta_off),
	WORD(IN_HEADER, xvt_region_hdr, meta_size),
	WORD(IN_HEADER, xvt_region_hdr, ctl_off),
	WORD(IN_HEADER, xvt_region_hdr, data_off),
	WORD(IN_HEADER, xvt_region_hdr, ring_count),
	WORD(IN_HEADER, xvt_region_hdr, subbuf_size),
	WORD(IN_HEADER, xvt_region_hdr, subbuf_count),
	WORD(IN_HEADER, xvt_region_hdr, ts_bits),
	WORD(IN_HEADER, xvt_region_hdr, clock_hz),
	WORD(IN_HEADER, xvt_region_hdr, generation),
	WORD(IN_HEADER, xvt_region_hdr, request_ack),
	WORD(IN_HEADER, xvt_region_hdr, request_result),
	{ IN_DATA, 0, 4 },  /* sub-buffer header: magic */
	{ IN_DATA, 8, 8 },  /* seq */
	{ IN_DATA, 16, 8 }, /* ts_base */
	{ IN_DATA, 32, 8 }, /* attempted */
	{ IN_DATA, 64, 8 }, /* first record */
	{ IN_DATA, 72, 8 },
	/* At the end, so that inputs of the corpus keep their words. */
	WORD(IN_HEADER, xvt_region_hdr, symbols_wanted),
	WORD(IN_HEADER, xvt_region_hdr, symbols_done),
	WORD(IN_HEADER, xvt_region_hdr, displaced),
	WORD(IN_HEADER, xvt_region_hdr, ringless),
	WORD(IN_HEADER, xvt_region_hdr, host_events),
	WORD(IN_HEADER, xvt_region_hdr, panics),
	WORD(IN_HEADER, xvt_region_hdr, claim),
	/* With `relayed` only. */
	WORD(IN_CTL, xvt_ring_ctl, relayed_to),
	WORD(IN_CTL, xvt_ring_ctl, relayed_lost),
	WORD(IN_HEADER, xvt_region_hdr, incompat),
	{ IN_DATA, 80, 4 }, /* of a page that is the first record: its length */
	{ IN_DATA, 96, 8 }, /* its commit word */
};
#define RELAYED_WORDS 5u

static struct {
	struct fuzz_file region;
	struct fuzz_file trace;
	uint8_t *base; /* the guest's own mapping, PAGES_MAX pages; never faults as long as
			  only the first `size` bytes are touched */
	uint64_t size;
	bool formatted;
	struct xvt_geometry g;
	struct xvt_layout layout;
	struct xvt_relay relay[RINGS_MAX];
	struct fuzz_input in;
	bool answers;
	bool acting;
	uint32_t wait; /* accesses until the next deed */
	uint32_t deeds, turns;
	uint64_t clock_offset;
	uint8_t clock_rate;
} guest;

static uint64_t guest_clock(void *arg)
{
	uint64_t ticks = fuzz_clock();

	(void)arg;
	return (ticks + ticks / 64 * guest.clock_rate + guest.clock_offset) | 1;
}

/* ------------------------------------------------------------------ deeds */

/* Small, huge, near what is there, or anything: what breaks arithmetic. */
static uint64_t wild(uint8_t how, uint64_t now, uint16_t arg)
{
	switch (how % 10) {
	case 0:
		return arg;
	case 1:
		return ~0ull - arg;
	case 2:
		return 1ull << arg % 64;
	case 3:
		return now + arg;
	case 4:
		return now - arg;
	case 5:
		return now + 8ull * arg;
	case 6:
		return now - 8ull * arg;
	case 7:
		return now + (1ull << arg % 64);
	case 8:
		return now ^ 1ull << arg % 64;
	default:
		return (uint64_t)arg * 0x9e3779b97f4a7c15ull;
	}
}

static uint64_t area_of(const struct word *w, uint8_t ring)
{
	ring %= guest.g.ring_count;
	switch (w->area) {
	case IN_HEADER:
		return 0;
	case IN_HOST_PAGE:
		return guest.g.host_off;
	case IN_META:
		return guest.g.meta_off;
	case IN_CTL:
		return xvt_ctl_off(&guest.g, ring);
	case IN_RING_HOST:
		return xvt_ring_host_off(&guest.g, ring);
	default:
		return xvt_data_off(&guest.g, ring);
	}
}

static void put_word(void)
{
	const size_t count = sizeof(words) / sizeof(words[0]) - (relayed ? 0 : RELAYED_WORDS);
	const struct word *w = &words[fuzz_u8(&guest.in) % count];
	uint8_t ring = fuzz_u8(&guest.in), how = fuzz_u8(&guest.in);
	uint64_t at = area_of(w, ring) + w->off, v = 0;

	if (w->area == IN_DATA) /* of any sub-buffer */
		at += (uint64_t)(ring >> 4) % guest.g.subbuf_count * guest.g.subbuf_size;
	memcpy(&v, guest.base + at, w->size);
	v = wild(how, v, fuzz_u16(&guest.in));
	memcpy(guest.base + at, &v, w->size);
}

static void put_bytes(void)
{
	uint32_t off = fuzz_u32(&guest.in) & 0xffffffu;
	size_t len, want = fuzz_u8(&guest.in);
	const uint8_t *bytes = fuzz_bytes(&guest.in, want, &len);

	off %= (uint32_t)guest.size;
	if (len > guest.size - off)
		len = guest.size - off;
	memcpy(guest.base + off, bytes, len);
}

/* The guest's own position is its own affair: the writer needs it to be one. */
static struct xvt_writer *honest(uint8_t ring)
{
	struct xvt_writer *w = &guest.relay[ring % guest.g.ring_count].w;

	return w->ctl->resv & 7 ? NULL : w;
}

static void events(enum deed kind)
{
	uint8_t ring = fuzz_u8(&guest.in), n = fuzz_u8(&guest.in);
	uint16_t id = fuzz_u16(&guest.in);
	uint8_t len = fuzz_u8(&guest.in);
	struct xvt_writer *w = honest(ring);
	uint8_t payload[1024];
	struct xvt_slot slot;
	size_t part, i;
	const uint8_t *bytes = fuzz_bytes(&guest.in, kind == DEED_EVENT ? len & 31 : 0, &part);

	memset(payload, ring, sizeof(payload));
	memcpy(payload, bytes, part);
	id &= XVT_H_ID_MASK;
	for (i = 0; w && i <= (n & 31u); i++) {
		uint32_t size = len < 250 ? len : 4u * len;

		if (xvt_reserve(w, id, size, &slot))
			continue;
		memcpy(slot.payload, payload, size);
		if (kind == DEED_EVENT)
			xvt_commit(w, &slot);
		else if (kind == DEED_DISCARD)
			xvt_discard(w, &slot);
		else
			return;
	}
}

static void append_meta(void)
{
	uint8_t type = fuzz_u8(&guest.in), id = fuzz_u8(&guest.in), want = fuzz_u8(&guest.in);
	size_t len;
	const uint8_t *bytes = fuzz_bytes(&guest.in, want, &len);
	const struct xvt_meta_hdr *h = (const void *)(guest.base + guest.g.meta_off);

	/* An honest append needs an honest length. */
	if (!(h->committed & 7))
		xvt_meta_append(guest.base, &guest.g, type, id, bytes, (uint32_t)len, NULL, 0);
}

static void begin_generation(void)
{
	static const uint8_t uuid[16] = "another boot";
	uint32_t i;

	xvt_region_new_generation(guest.base, &guest.g, &guest.layout, uuid);
	for (i = 0; i < guest.g.ring_count; i++) {
		guest.relay[i].w.generation = guest.relay[i].w.ctl->generation;
		guest.relay[i].w.ctl->state = XVT_RING_ONLINE;
	}
}

/* Where a page has room for `size` bytes more of events. */
static bool fits(const struct ftrace_page *p, uint32_t size)
{
	return p->len + size <= XVT_RELAYED_PAGE_MAX - 16;
}

/* Events of all lengths, with words of all types of the kernel's between them. */
static void make_page(struct ftrace_page *p, uint8_t n)
{
	ftrace_page_begin(p, guest_clock(NULL) - ((uint64_t)fuzz_u16(&guest.in) << 10));
	for (; n; n--) {
		const uint8_t word = fuzz_u8(&guest.in);
		const uint32_t len = 4u + 4u * (word >> 2);

		if (!fits(p, len + 8))
			break;
		if (word & 1)
			ftrace_page_event(p, word, (uint16_t)(16 + word), word, len);
		else if (word & 2)
			ftrace_page_word(p, 29u + word % 3, fuzz_u16(&guest.in));
		else
			ftrace_page_put(p, fuzz_u32(&guest.in));
	}
}

/* HOW EVENTS AGE, events, then what is changed in the page: where, and the bytes. */
#define PAGE_MISSED  0x01u
#define PAGE_STORED  0x02u /* the number of missed events behind the events */
#define PAGE_FULL    0x04u /* the ring had no room */
#define PAGE_CHANGED 0x08u
#define PAGE_RAW     0x10u /* not by the relay: its length is one of the bytes */
#define PAGE_SHORT   0x20u

static void put_page(void)
{
	const uint8_t ring = fuzz_u8(&guest.in), how = fuzz_u8(&guest.in);
	struct xvt_relay *relay = &guest.relay[ring % guest.g.ring_count];
	static struct {
		struct xvt_relayed_page head;
		struct ftrace_page page;
	} put;
	uint32_t len;

	make_page(&put.page, fuzz_u8(&guest.in) & 63);
	len = 16 + put.page.len;
	ftrace_page_end(&put.page, (how & PAGE_MISSED ? FTRACE_PAGE_MISSED : 0) |
					   (how & PAGE_STORED ? FTRACE_PAGE_STORED : 0));
	if (how & PAGE_STORED && fits(&put.page, 8)) {
		const uint64_t missed = fuzz_u16(&guest.in);

		memcpy((uint8_t *)&put.page + len, &missed, sizeof(missed));
		len += sizeof(missed);
	}
	put.head = (struct xvt_relayed_page){ .len = len, .flags = how & PAGE_FULL ? 1 : 0 };
	if (how & PAGE_CHANGED) {
		const uint32_t at = fuzz_u16(&guest.in) % (sizeof(put) - 256);
		size_t n;
		const uint8_t *bytes = fuzz_bytes(&guest.in, fuzz_u8(&guest.in), &n);

		memcpy((uint8_t *)&put + at, bytes, n);
	}
	if (how & PAGE_SHORT)
		len = fuzz_u16(&guest.in) % (XVT_RELAYED_PAGE_MAX + 8);
	if (!honest(ring))
		return;
	relay->full = how & PAGE_FULL;
	if (how & PAGE_RAW)
		xvt_write(&relay->w, XVT_ID_FTRACE_PAGE, &put, (uint32_t)sizeof(put.head) + len);
	else
		xvt_relay_put(relay, &put.page, len);
}

static void say_complete(void)
{
	struct xvt_relay *relay = &guest.relay[fuzz_u8(&guest.in) % guest.g.ring_count];

	xvt_relay_is_complete(relay, guest_clock(NULL) - ((uint64_t)fuzz_u16(&guest.in) << 10));
}

static void lose(void)
{
	struct xvt_relay *relay = &guest.relay[fuzz_u8(&guest.in) % guest.g.ring_count];

	xvt_relay_lost(relay, relay->w.ctl->relayed_lost + fuzz_u8(&guest.in));
}

static void end_relay(void)
{
	const uint8_t how = fuzz_u8(&guest.in);

	for (uint32_t i = 0; i < guest.g.ring_count; i++) {
		if (how & 1)
			xvt_relay_end(&guest.relay[i]);
		guest.relay[i].w.ctl->state = XVT_RING_OFFLINE;
	}
}

static void switch_on(void)
{
	for (uint32_t i = 0; i < guest.g.ring_count; i++)
		guest.relay[i].w.ctl->state = XVT_RING_ONLINE;
}

/* What a relay does beside that. */
static void act_as_relay(enum deed kind)
{
	switch (kind) {
	case DEED_PAGE:
		put_page();
		break;
	case DEED_COMPLETE:
		say_complete();
		break;
	case DEED_LOST:
		lose();
		break;
	case DEED_END:
		end_relay();
		break;
	default:
		switch_on();
	}
}

static void act(enum deed kind)
{
	/* These need to know where things are; on zeros there is nothing to know. */
	if (!guest.formatted && kind != DEED_BYTES && kind != DEED_CUT && kind != DEED_READ)
		kind = DEED_BYTES;
	switch (kind) {
	case DEED_BYTES:
		put_bytes();
		break;
	case DEED_WORD:
		put_word();
		break;
	case DEED_EVENT:
	case DEED_RESERVE:
	case DEED_DISCARD:
		events(kind);
		break;
	case DEED_ANSWER:
		xvt_writer_answer(&guest.relay[fuzz_u8(&guest.in) % guest.g.ring_count].w);
		break;
	case DEED_CLOCK:
		guest.clock_offset += (uint64_t)(int16_t)fuzz_u16(&guest.in)
				      << fuzz_u8(&guest.in) % 48;
		break;
	case DEED_META:
		append_meta();
		break;
	case DEED_GENERATION:
		begin_generation();
		break;
	case DEED_CUT:
		guest.size = PAGE + fuzz_u8(&guest.in) * 512u % (guest.size - PAGE + 1);
		guest.size &= ~511ull;
		if (ftruncate(guest.region.fd, (off_t)guest.size))
			fuzz_finding("ftruncate: %s", strerror(errno));
		fuzz_memory_cut(guest.size);
		/* Its words are gone; what follows are bytes at most. */
		guest.formatted = false;
		guest.answers = false;
		break;
	case DEED_READ:
		fuzz_loop_fail_next((int)fuzz_u16(&guest.in) - 64);
		break;
	default:
		act_as_relay(kind);
		break;
	}
}

static void next_deed(void)
{
	act(fuzz_u8(&guest.in) % (relayed ? RELAYED_DEEDS : DEEDS));
	guest.wait = fuzz_u16(&guest.in) & 0xfff;
}

void fuzz_guest_turn(void)
{
	if (guest.acting || guest.turns++ > TURNS_MAX)
		return;
	guest.acting = true;
	while (guest.in.left && guest.deeds < DEEDS_MAX) {
		if (guest.wait) {
			guest.wait--;
			break;
		}
		guest.deeds++;
		next_deed();
	}
	guest.acting = false;
}

void fuzz_guest_stored(uint64_t off)
{
	uint32_t i;

	for (i = 0; guest.answers && i < guest.g.ring_count; i++) {
		const uint64_t host = xvt_ring_host_off(&guest.g, i);

		if (off == host + offsetof(struct xvt_ring_host, request_seq))
			xvt_writer_answer(&guest.relay[i].w);
		if (off == host + offsetof(struct xvt_ring_host, mark_seq) && honest((uint8_t)i))
			xvt_writer_mark(&guest.relay[i].w);
	}
}

/* ------------------------------------------------------------------ the region before */

/* A relay's sub-buffers hold a page; a guest that lies may have smaller ones. */
static void shape_relayed(uint8_t shape)
{
	guest.layout.kind = XVT_KIND_LINUX;
	guest.layout.incompat = XVT_INCOMPAT_RELAYED;
	if (shape & 4)
		return;
	guest.layout.subbuf_size = XVT_RELAYED_SUBBUF;
	guest.layout.ring_count = 1 + shape % 2;
}

static void format(uint8_t what, uint8_t shape)
{
	uint32_t i;

	guest.layout = (struct xvt_layout){
		.ring_count = 1 + (shape & 3u) % RINGS_MAX,
		.subbuf_size = shape & 4 ? 2048 : 1024,
		.meta_size = PAGE * (1 + (shape >> 3 & 1u)),
		.ts_bits = shape & 16 ? 12 : 32,
		.kind = XVT_KIND_USER,
		.clock_id = XVT_CLOCK_NATIVE,
		.clock_hz = 1000000000u,
		.vm_name = "guest",
		.enable = (what & WHAT_MODE) == MODE_OVERWRITE || shape & 32 ? XVT_ENABLE_OVERWRITE
			  : (what & WHAT_MODE) == MODE_SALVAGE		     ? XVT_ENABLE_STOP
									     : XVT_ENABLE_OFF,
	};
	if (relayed)
		shape_relayed(shape);
	guest.layout.region_size =
		(2 * PAGE + guest.layout.meta_size +
		 guest.layout.ring_count * (2 * PAGE + 4 * guest.layout.subbuf_size) + PAGE - 1) &
		~(uint64_t)(PAGE - 1);
	guest.size = guest.layout.region_size;
	if (xvt_region_format(guest.base, &guest.layout, &guest.g))
		fuzz_finding("the target's own layout does not fit");
	for (i = 0; i < guest.g.ring_count; i++) {
		struct xvt_writer *w = &guest.relay[i].w;

		xvt_writer_init(w, guest.base, &guest.g, i);
		w->clock = guest_clock;
		w->ctl->type = relayed ? XVT_RING_VCPU : XVT_RING_THREAD;
		w->ctl->cpu = w->ctl->hw_id = relayed ? i : 0;
		w->ctl->state = XVT_RING_ONLINE;
	}
	if (what & WHAT_DEAD)
		((struct xvt_host_page *)(guest.base + guest.g.host_off))->attach_id = ~0ull;
	guest.formatted = true;
}

static void prepare(uint8_t what, uint8_t shape)
{
	memset(guest.base, 0, PAGES_MAX * PAGE);
	guest.formatted = false;
	guest.size = PAGE * (1 + shape % PAGES_MAX);
	guest.wait = guest.deeds = guest.turns = 0;
	guest.clock_offset = 0;
	guest.acting = false;
	if (what & WHAT_FORMAT)
		format(what, shape);
	guest.answers = guest.formatted && what & WHAT_ANSWER;
	if (ftruncate(guest.region.fd, (off_t)guest.size))
		fuzz_finding("ftruncate: %s", strerror(errno));
}

/* What the host's own steps mean for the counting of fetches; the linker puts these around them. */
int __real_xvt_host_region_check(struct xvt_host_region *r);
int __wrap_xvt_host_region_check(struct xvt_host_region *r);
int __wrap_xvt_host_region_check(struct xvt_host_region *r)
{
	int err;

	fuzz_pass(); /* nothing is remembered of a look at a header that failed */
	err = __real_xvt_host_region_check(r);
	/* Not of the recorder's own rings for a relay. */
	if (!err && fuzz_memory_is_guests(r->map))
		fuzz_memory_geometry(&r->g);
	return err;
}

/* So is finding out what a snapshot takes of a ring. */
bool __real_xvt_ring_snapshot_begin(struct xvt_ring *r, uint64_t from_ns, uint64_t most);
bool __wrap_xvt_ring_snapshot_begin(struct xvt_ring *r, uint64_t from_ns, uint64_t most);
bool __wrap_xvt_ring_snapshot_begin(struct xvt_ring *r, uint64_t from_ns, uint64_t most)
{
	bool held;

	fuzz_memory_cutting(true);
	held = __real_xvt_ring_snapshot_begin(r, from_ns, most);
	fuzz_memory_cutting(false);
	fuzz_look_again(r->index);
	return held;
}

/* A snapshot, or salvage, reads all metadata before anything else, and copies in looks one after
 * the other. */
void __real_xvt_vm_read_metadata(struct xvt_session *s, struct xvt_vm *vm);
void __wrap_xvt_vm_read_metadata(struct xvt_session *s, struct xvt_vm *vm);
void __wrap_xvt_vm_read_metadata(struct xvt_session *s, struct xvt_vm *vm)
{
	__real_xvt_vm_read_metadata(s, vm);
	if (s->opt.kind != XVT_SESSION_RECORD)
		fuzz_pass();
}

bool __real_xvt_session_snapshot_copying(struct xvt_session *s);
bool __wrap_xvt_session_snapshot_copying(struct xvt_session *s);
bool __wrap_xvt_session_snapshot_copying(struct xvt_session *s)
{
	bool more = __real_xvt_session_snapshot_copying(s);

	if (more)
		fuzz_pass();
	return more;
}

/* Finding out where to start is a look of its own: the first pass trusts nothing of it. */
void __real_xvt_ring_attach(struct xvt_ring *r);
void __wrap_xvt_ring_attach(struct xvt_ring *r);
void __wrap_xvt_ring_attach(struct xvt_ring *r)
{
	fuzz_look_again(r->index); /* whether it is in use was another look */
	__real_xvt_ring_attach(r);
	fuzz_look_again(r->index);
}

/* So is that for a relay. */
void __real_xvt_relayed_init_ring(struct xvt_vm *vm, struct xvt_ring *r);
void __wrap_xvt_relayed_init_ring(struct xvt_vm *vm, struct xvt_ring *r);
void __wrap_xvt_relayed_init_ring(struct xvt_vm *vm, struct xvt_ring *r)
{
	fuzz_look_again(r->index);
	__real_xvt_relayed_init_ring(vm, r);
	fuzz_look_again(r->index);
}

/* Whether rings are in use is a look of its own: all that follows from it is that a ring is made.
 */
struct xvt_ring *__real_xvt_vm_wake_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index);
struct xvt_ring *__wrap_xvt_vm_wake_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index);
struct xvt_ring *__wrap_xvt_vm_wake_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index)
{
	struct xvt_ring *r;

	fuzz_look_again(index);
	r = __real_xvt_vm_wake_ring(s, vm, index);
	fuzz_look_again(index);
	return r;
}

void __real_xvt_vm_wake_used(struct xvt_session *s, struct xvt_vm *vm);
void __wrap_xvt_vm_wake_used(struct xvt_session *s, struct xvt_vm *vm);
void __wrap_xvt_vm_wake_used(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++)
		fuzz_look_again(i);
	__real_xvt_vm_wake_used(s, vm);
	for (i = 0; i < vm->region.g.ring_count; i++)
		fuzz_look_again(i);
}

/* After a roll-back everything that was known is thrown away. */
bool __real_xvt_drain_resync(struct xvt_ring *r);
bool __wrap_xvt_drain_resync(struct xvt_ring *r);
bool __wrap_xvt_drain_resync(struct xvt_ring *r)
{
	bool back = __real_xvt_drain_resync(r);

	fuzz_look_again(r->index);
	return back;
}

/* Releasing what a ring holds is a look of its own: words are compared with those of the last look,
 * and nothing else comes of them. */
void __real_xvt_drain_release(struct xvt_ring *r, bool all);
void __wrap_xvt_drain_release(struct xvt_ring *r, bool all);
void __wrap_xvt_drain_release(struct xvt_ring *r, bool all)
{
	fuzz_look_again(r->index);
	__real_xvt_drain_release(r, all);
	fuzz_look_again(r->index);
}

/* No guest brings about a transition of a ring's phase that is not allowed. */
int __real_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to);
int __wrap_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to);
int __wrap_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to)
{
	int err = __real_xvt_ring_set_phase(r, to);

	if (err)
		fuzz_finding("ring %u: %s", r->index, r->fault.text);
	return err;
}

/* Nor one of its machine's state. */
int __real_xvt_vm_set_state(struct xvt_vm *vm, enum xvt_vm_state to);
int __wrap_xvt_vm_set_state(struct xvt_vm *vm, enum xvt_vm_state to);
int __wrap_xvt_vm_set_state(struct xvt_vm *vm, enum xvt_vm_state to)
{
	const enum xvt_vm_state from = xvt_vm_state(vm);
	int err = __real_xvt_vm_set_state(vm, to);

	if (err)
		fuzz_finding("state %s of the machine cannot follow %s", xvt_vm_state_shown(to),
			     xvt_vm_state_shown(from));
	return err;
}

/* ------------------------------------------------------------------ the host */

static void record(uint8_t what, uint8_t shape, uint8_t passes)
{
	static struct fuzz_sink sink;
	const struct xvt_session_options opt = {
		.mode = (what & WHAT_MODE) == MODE_OVERWRITE ? XVT_ENABLE_OVERWRITE
							     : XVT_ENABLE_STOP,
		.kind = (what & WHAT_MODE) == MODE_OVERWRITE && shape & SHAPE_CUT
				? XVT_SESSION_SNAPSHOT
				: XVT_SESSION_RECORD,
		.join_timeout_ns = what & WHAT_OTHER ? 0 : 20000000,
		.stall_timeout_ns = 200000000,
		.memory_bytes = what & WHAT_OTHER ? 64u << 10 : 1u << 20,
		.request = what & WHAT_OTHER ? "+sched:sched_switch\n" : NULL,
		.drain_reads = passes & 128,
		.order = passes & 64 ? XVT_ORDER_LATER : XVT_ORDER_AUTO,
	};
	struct xvt_session *s;
	struct xvt_loop *loop;
	uint64_t sleep_ns;
	struct xvt_error why;
	unsigned int i;

	fuzz_sink_reset(&sink, what & WHAT_FULL ? 2000u + 64u * passes : 64u << 20);
	if (xvt_loop_new(&loop) || xvt_session_new(&s, loop, &sink.sink, &opt))
		fuzz_finding("no session");
	xvt_session_add(s, "g1", guest.region.path, NULL, true, &why);
	for (i = 0; i < 2u + (passes & 63) && !s->snapshot.done; i++) {
		if (xvt_session_pass(s, &sleep_ns) || xvt_loop_run(loop, sleep_ns) < 0)
			break;
	}
	fuzz_pass(); /* it begins with one */
	xvt_session_finish(s);
	xvt_loop_free(loop);
	fuzz_file_set(&guest.trace, sink.bytes, sink.len);
	if (sink.len)
		fuzz_check_trace(&guest.trace, !(what & WHAT_FULL));
}

static void salvage(uint8_t what)
{
	const char *const plain[] = { "salvage", guest.region.path, "-o", guest.trace.path, NULL };
	const char *const named[] = { "salvage", "-n", "a name",	 guest.region.path,
				      "-q",	 "-o", guest.trace.path, NULL };

	if (fuzz_command(&xvt_cmd_salvage, what & WHAT_OTHER ? named : plain) == XVT_EXIT_OK)
		fuzz_check_trace(&guest.trace, true);
}

static void show(uint8_t what)
{
	const char *const text[] = { "region", "show", guest.region.path, NULL };
	const char *const json[] = { "region", "show", "--json", guest.region.path, NULL };

	fuzz_command(&xvt_cmd_region, what & WHAT_OTHER ? json : text);
}

static void once(void)
{
	if (guest.base)
		return;
	fuzz_quiet();
	fuzz_file_new(&guest.region, "region");
	fuzz_memory_file(guest.region.fd);
	fuzz_file_new(&guest.trace, "trace");
	/* In brackets: not the macro, this mapping is the guest's and is not guarded. */
	guest.base = (mmap)(NULL, PAGES_MAX * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			    guest.region.fd, 0);
	if (guest.base == MAP_FAILED)
		fuzz_finding("mmap: %s", strerror(errno));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t what, shape, passes;

	fuzz_memory_reset();
	once();
	/* The whole file first: it may have been cut in the run before. */
	if (ftruncate(guest.region.fd, PAGES_MAX * PAGE) || ftruncate(guest.trace.fd, 0))
		fuzz_finding("ftruncate: %s", strerror(errno));
	guest.in = (struct fuzz_input){ data, size };
	what = fuzz_u8(&guest.in);
	shape = fuzz_u8(&guest.in);
	passes = fuzz_u8(&guest.in);
	guest.clock_rate = fuzz_u8(&guest.in) % 8;
	prepare(what, shape);
	fuzz_loop_reset(passes & 64 ? 64 : 8);
	if (!(what & WHAT_LATE)) {
		/* Everything up to the first deed that waits is there before the host comes. */
		fuzz_guest_turn();
	}
	switch (what & WHAT_MODE) {
	case MODE_RECORD:
	case MODE_OVERWRITE:
		record(what, shape, passes);
		break;
	case MODE_SALVAGE:
		salvage(what);
		break;
	default:
		show(what);
		break;
	}
	return 0;
}
