// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-hostile.c - a guest that lies. Joins a region as an honest writer would, answers the
 * clock until its rings are switched on, and then does to each ring what would hurt a host
 * that believes it: one plan a ring, so that a ring which the host gives up does not spare it
 * the others. Everything comes from one seed. Shows nothing itself; the recorder must live.
 *
 *   xvt-hostile REGION SEED SECONDS [PLAN]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "xvt_region.h"

enum plan {
	PLAN_BACK_AND_FORTH, /* right records, times that jump both ways */
	PLAN_BEHIND,	     /* nest 0, commit for ever behind resv: never idle, never stuck */
	PLAN_FLICKER,	     /* nest changes all the time */
	PLAN_SILENT,	     /* the same, never 0, and no answer */
	PLAN_FAR_GENERATION, /* a generation that begins 2^60 bytes further on, or before */
	PLAN_LYING_CLOCK,    /* clock answers far in the future and in the past */
	PLAN_FLOOD,	     /* records that no clock answer ever reaches, as many as fit */
	PLAN_STATE,	     /* online, offline, online */
	PLAN_GARBLED,	     /* an honest writer's bytes with some changed */
	PLAN_GOES_BACK,	     /* commit and attempted go back, as if an older copy were restored */
	PLAN_COUNTERS,	     /* wild counters and owner words around honest records */
	PLAN_WORDS,	     /* any word of both control halves */
	PLANS,
};

struct ring {
	struct xvt_writer w;
	enum plan plan;
	uint64_t answers;
};

static struct {
	uint8_t *base;
	struct xvt_geometry g;
	struct ring *ring;
	uint32_t stop;
	uint32_t hostile;
	uint64_t seed;
} h;

static uint64_t next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ull;
}

/* Small, huge, near a border, or anything: what breaks arithmetic. */
static uint64_t wild(uint64_t *s, uint64_t near)
{
	switch (next(s) % 8) {
	case 0:
		return next(s);
	case 1:
		return ~0ull - next(s) % 16;
	case 2:
		return 1ull << next(s) % 64;
	case 3:
		return next(s) % 16;
	case 4:
		return near + (next(s) % 65536 & ~7ull);
	case 5:
		return near - (next(s) % 65536 & ~7ull);
	case 6:
		return near + (1ull << next(s) % 64);
	default:
		return near - (1ull << next(s) % 64);
	}
}

/* Another thread than the writer's: only mailbox words. */
static void *answer(void *arg)
{
	uint64_t s = h.seed ^ 0x9e3779b97f4a7c15ull;

	(void)arg;
	while (!xvt_load(&h.stop)) {
		bool lies = xvt_load(&h.hostile), stay = false;
		uint32_t i;

		for (i = 0; i < h.g.ring_count; i++) {
			struct ring *r = &h.ring[i];
			struct xvt_ring_ctl *c = r->w.ctl;
			uint64_t seq = xvt_load_acquire(&r->w.host->request_seq);
			uint64_t clock = xvt_clock_read_ordered();

			if (seq == xvt_load(&c->answer_seq) || (lies && r->plan == PLAN_SILENT))
				continue;
			r->answers++;
			if (lies && r->plan == PLAN_LYING_CLOCK)
				clock = wild(&s, clock);
			if (lies && r->plan == PLAN_WORDS && next(&s) % 64 == 0)
				seq += next(&s) % 4;
			xvt_store(&c->answer_clock, clock);
			xvt_store_release(&c->answer_seq, seq);
			stay |= xvt_load(&r->w.host->request_more) != 0;
		}
		if (!stay)
			usleep(500);
	}
	return NULL;
}

static void honest(struct ring *r, uint64_t *s)
{
	uint64_t payload[4] = { 77, next(s), 0, 0 };

	xvt_write(&r->w, XVT_ID_U64, payload, 8 + (uint32_t)(next(s) % 25));
}

/* Where the newest record begins to be free to be written over: inside what the host reads. */
static uint8_t *bytes_at(struct ring *r, uint64_t pos)
{
	return r->w.data + (pos & (r->w.ring_size - 1) & ~7ull);
}

/* A record with right magic, lap and length, and any time, id and flags. Published. */
static void forge(struct ring *r, uint64_t *s)
{
	struct xvt_slot slot;
	uint64_t flags =
		XVT_H_DONE | (next(s) % 4 ? XVT_H_FULL : 0) | (next(s) % 8 ? 0 : XVT_H_SAME);
	uint64_t ts = wild(s, xvt_clock_read());
	uint32_t id = next(s) % 2 ? XVT_ID_U64 : (uint32_t)(next(s) % 32768), len;

	if (xvt_reserve(&r->w, XVT_ID_U64, 24, &slot))
		return;
	len = (uint32_t)(slot.end - slot.pos);
	slot.rec[1] = ts >> 32 | next(s) << 32;
	slot.header = xvt_header(r->w.ring_shift, slot.pos, id, len, ts, flags);
	xvt_commit(&r->w, &slot);
}

static void far_generation(struct ring *r, uint64_t *s)
{
	struct xvt_ring_ctl *c = r->w.ctl;
	uint32_t number = xvt_load(&c->generation) + (next(s) % 8 ? 1 : (uint32_t)(next(s) % 9));
	struct xvt_ring_gen *gen = &c->gen[number % XVT_GEN_SLOTS];
	uint64_t start = (xvt_load(&c->resv) + (1ull << (40 + next(s) % 24))) &
			 ~(uint64_t)(h.g.subbuf_size - 1);

	gen->prev_resv = start - next(s) % h.g.subbuf_size;
	gen->prev_commit = wild(s, gen->prev_resv);
	gen->start = start;
	xvt_store_release(&gen->generation, number);
	xvt_store_release(&c->generation, number);
	xvt_store_release(&c->resv, start);
	xvt_store_release(&c->commit, start);
}

static void any_word(uint64_t *s, void *area, size_t words, uint64_t near)
{
	uint64_t *w = area;
	uint64_t *at = &w[next(s) % words];

	if (next(s) % 2)
		xvt_store(at, wild(s, near));
	else
		xvt_store((uint32_t *)at + next(s) % 2, (uint32_t)wild(s, near));
}

static void hurt_ring(struct ring *r, uint64_t *s)
{
	struct xvt_ring_ctl *c = r->w.ctl;
	uint64_t commit = xvt_load(&c->commit);
	uint32_t i;

	switch (r->plan) {
	case PLAN_BACK_AND_FORTH:
		forge(r, s);
		break;
	case PLAN_BEHIND:
		/* One record behind what is reserved, always, and in right order for the rest. */
		commit = xvt_load(&c->resv);
		xvt_store(&c->nest, 1);
		honest(r, s);
		xvt_store_release(&c->commit, commit);
		xvt_store(&c->nest, 0);
		break;
	case PLAN_FLICKER:
		xvt_store(&c->nest, (uint32_t)(next(s) % 2));
		break;
	case PLAN_SILENT:
		xvt_store(&c->nest, 1 + (uint32_t)(next(s) % 2));
		break;
	case PLAN_FAR_GENERATION:
		honest(r, s);
		if (next(s) % 512 == 0)
			far_generation(r, s);
		break;
	case PLAN_LYING_CLOCK:
		honest(r, s);
		break;
	case PLAN_FLOOD:
		for (i = 0; i < 64; i++) {
			struct xvt_slot slot;

			if (xvt_reserve(&r->w, XVT_ID_U64, 512, &slot))
				break;
			slot.rec[1] = 0x7fffffff; /* the far future */
			slot.header |= XVT_H_FULL;
			xvt_commit(&r->w, &slot);
		}
		break;
	case PLAN_STATE:
		honest(r, s);
		xvt_store(&c->state, next(s) % 2 ? XVT_RING_ONLINE : XVT_RING_OFFLINE);
		break;
	case PLAN_GARBLED:
		honest(r, s);
		if (next(s) % 16 == 0)
			bytes_at(r, commit - next(s) % 4096)[next(s) % 8] = (uint8_t)next(s);
		break;
	case PLAN_GOES_BACK:
		honest(r, s);
		if (next(s) % 4)
			break;
		commit -= next(s) % 2048 & ~7ull;
		xvt_store(&c->attempted, xvt_load(&c->attempted) - next(s) % 64);
		xvt_store(&c->resv, commit);
		xvt_store_release(&c->commit, commit);
		break;
	case PLAN_COUNTERS:
		honest(r, s);
		any_word(s, &c->attempted, 8, 0);
		any_word(s, &c->type, 3, 0);
		any_word(s, r->w.host, 2, commit);
		break;
	default:
		honest(r, s);
		if (next(s) % 256 == 0)
			any_word(s, c, sizeof(*c) / 8, commit);
		if (next(s) % 64 == 0)
			any_word(s, r->w.host, sizeof(*r->w.host) / 8, commit);
		break;
	}
	if (r->plan == PLAN_FLOOD || r->plan == PLAN_BEHIND || r->plan == PLAN_SILENT ||
	    r->plan == PLAN_BACK_AND_FORTH)
		return; /* these want to stay believable */
	if (!xvt_load(&r->w.host->enable) || next(s) % 1024 == 0)
		xvt_store(&r->w.host->enable, (uint32_t)(next(s) % 3));
	if (next(s) % 64 == 0)
		xvt_store(&r->w.host->cons, wild(s, commit));
	/* The writer's own loops are bounded by what it believes; keep it from stopping. */
	if (r->plan != PLAN_FLICKER && xvt_load(&c->nest) > XVT_MAXNEST)
		xvt_store(&c->nest, 0);
}

/* What belongs to no ring: header, host page, metadata. */
static void hurt_region(uint64_t *s, bool late)
{
	struct xvt_meta_hdr *m = (void *)(h.base + h.g.meta_off);
	uint64_t room = h.g.meta_size - sizeof(*m), committed = xvt_load(&m->committed);

	any_word(s, h.base, sizeof(struct xvt_region_hdr) / 8, h.g.region_size);
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
		if (committed > room)
			xvt_store_release(&m->committed, 0);
		break;
	default:
		xvt_meta_append(h.base, &h.g, (uint32_t)(next(s) % 9), (uint32_t)next(s), "a\0b", 4,
				m, (uint32_t)(next(s) % 64));
		break;
	}
	/* A nonce that changes makes the host go on elsewhere in all rings: spare the first half.
	 */
	if (late && next(s) % 16 == 0)
		any_word(s, h.base + h.g.host_off, sizeof(struct xvt_host_page) / 8, 0);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int join(const char *path)
{
	struct xvt_layout layout = { .kind = XVT_KIND_USER,
				     .clock_id = XVT_CLOCK_NATIVE,
				     .vm_name = "hostile" };
	const uint8_t uuid[16] = { 1 };
	struct xvt_region_hdr hdr;
	struct xvt_fault fault;
	struct stat st;
	int fd = open(path, O_RDWR);

	if (fd < 0 || fstat(fd, &st))
		return -1;
	h.base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h.base == MAP_FAILED)
		return -1;
	memcpy(&hdr, h.base, sizeof(hdr));
	if (xvt_check_header(&hdr, (uint64_t)st.st_size, &h.g, &fault))
		return -1;
	xvt_region_new_generation(h.base, &h.g, &layout, uuid);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t s, end, begin, patience;
	int only = argc > 4 ? atoi(argv[4]) : -1;
	pthread_t thread;
	uint32_t i, on;

	if (argc < 4 || join(argv[1])) {
		fprintf(stderr, "usage: xvt-hostile REGION SEED SECONDS [PLAN]\n");
		return 2;
	}
	h.seed = s = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15ull + 1;
	h.ring = calloc(h.g.ring_count, sizeof(*h.ring));
	if (!h.ring)
		return 1;
	for (i = 0; i < h.g.ring_count; i++) {
		struct ring *r = &h.ring[i];

		xvt_writer_init(&r->w, h.base, &h.g, i);
		r->plan = only >= 0 ? (enum plan)only : (enum plan)(i % PLANS);
		r->w.ctl->type = XVT_RING_THREAD;
		r->w.ctl->tid = i + 1;
		xvt_store_release(&r->w.ctl->state, XVT_RING_ONLINE);
	}
	if (pthread_create(&thread, NULL, answer, NULL))
		return 1;
	patience = now_ms() + 20000;
	do {
		usleep(1000);
		for (i = on = 0; i < h.g.ring_count; i++)
			on += xvt_load(&h.ring[i].w.host->enable) != 0;
	} while (on < h.g.ring_count && now_ms() < patience);
	printf("hostile seed=%s rings=%u enabled=%u\n", argv[2], h.g.ring_count, on);
	fflush(stdout);

	xvt_store(&h.hostile, 1);
	begin = now_ms();
	end = begin + strtoull(argv[3], NULL, 0) * 1000;
	while (now_ms() < end) {
		for (i = 0; i < 64; i++)
			hurt_ring(&h.ring[next(&s) % h.g.ring_count], &s);
		if (only < 0)
			hurt_region(&s, now_ms() > (begin + end) / 2);
		usleep(200);
	}
	xvt_store(&h.stop, 1);
	pthread_join(thread, NULL);
	/* Leave a header that can be opened: what is salvaged is the rest. */
	if (only < 0) {
		struct xvt_region_hdr *hdr = (void *)h.base;

		hdr->magic = XVT_MAGIC;
		hdr->major = XVT_MAJOR;
		hdr->oldest = XVT_OLDEST;
		hdr->hdr_size = sizeof(*hdr);
		hdr->incompat = 0;
		hdr->region_size = h.g.region_size;
		hdr->host_off = h.g.host_off;
		hdr->meta_off = h.g.meta_off;
		hdr->meta_size = h.g.meta_size;
		hdr->ctl_off = h.g.ctl_off;
		hdr->data_off = h.g.data_off;
		hdr->align = h.g.align;
		hdr->ctl_stride = h.g.ctl_stride;
		hdr->ring_count = h.g.ring_count;
		hdr->subbuf_size = h.g.subbuf_size;
		hdr->subbuf_count = h.g.subbuf_count;
		hdr->ts_bits = h.g.ts_bits;
	}
	return 0;
}
