// SPDX-License-Identifier: GPL-2.0
/* guest.c - see guest.h. */
#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FLOOD_BYTES_S (8ull << 20)

uint64_t next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ull;
}

uint64_t wild(uint64_t *s, uint64_t near)
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

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t age_ns(const struct hostile *h)
{
	return now_ns() - h->begin_ns;
}

uint64_t ticks_of(const struct hostile *h, uint64_t ns)
{
	return (uint64_t)((__uint128_t)ns * h->hz / 1000000000);
}

static int check_layout(struct hostile *h)
{
	struct xvt_region_hdr hdr;
	struct xvt_fault fault;

	memcpy(&hdr, h->base, sizeof(hdr));
	return xvt_check_header(&hdr, h->size, &h->g, &fault) ? -1 : 0;
}

static void bind_rings(struct hostile *h)
{
	uint32_t i;

	for (i = 0; i < h->g.ring_count; i++) {
		struct ring *r = &h->ring[i];

		r->number = i;
		xvt_writer_init(&r->w, h->base, &h->g, i);
		r->w.clock = h->kind->clock;
		r->w.clock_arg = h;
		r->w.ctl->type = XVT_RING_THREAD;
		r->w.ctl->tid = i + 1;
		xvt_store_release(&r->w.ctl->state, XVT_RING_ONLINE);
	}
}

int join(struct hostile *h, int fd, bool format)
{
	const struct kind *k = h->kind;
	struct xvt_layout layout = { .ring_count = k->rings ? k->rings : 4,
				     .subbuf_size = k->subbuf_size,
				     .kind = XVT_KIND_USER,
				     .incompat = k->incompat,
				     .clock_id = XVT_CLOCK_NATIVE,
				     .vm_name = "hostile" };
	const uint8_t uuid[16] = { 1 };
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	h->size = layout.region_size = (uint64_t)st.st_size;
	h->base = mmap(NULL, h->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h->base == MAP_FAILED)
		return -1;
	if (format ? xvt_region_format(h->base, &layout, &h->g) : check_layout(h))
		return -1;
	xvt_region_new_generation(h->base, &h->g, &layout, uuid);
	if (!h->ring)
		h->ring = calloc(h->g.ring_count, sizeof(*h->ring));
	if (!h->ring)
		return -1;
	bind_rings(h);
	return 0;
}

void mend_header(struct hostile *h)
{
	struct xvt_region_hdr *hdr = (void *)h->base;

	hdr->magic = XVT_MAGIC;
	hdr->major = XVT_MAJOR;
	hdr->oldest = XVT_OLDEST;
	hdr->hdr_size = sizeof(*hdr);
	hdr->incompat = h->kind->incompat;
	hdr->region_size = h->g.region_size;
	hdr->host_off = h->g.host_off;
	hdr->meta_off = h->g.meta_off;
	hdr->meta_size = h->g.meta_size;
	hdr->ctl_off = h->g.ctl_off;
	hdr->data_off = h->g.data_off;
	hdr->align = h->g.align;
	hdr->ctl_stride = h->g.ctl_stride;
	hdr->ring_count = h->g.ring_count;
	hdr->subbuf_size = h->g.subbuf_size;
	hdr->subbuf_count = h->g.subbuf_count;
	hdr->ts_bits = h->g.ts_bits;
}

void leave(struct hostile *h)
{
	munmap(h->base, h->size);
}

void honest(struct ring *r, uint64_t *s)
{
	uint64_t payload[4] = { 77, next(s), 0, 0 };

	xvt_write(&r->w, XVT_ID_U64, payload, 8 + (uint32_t)(next(s) % 25));
}

void any_word(uint64_t *s, void *area, size_t words, uint64_t near)
{
	uint64_t *w = area;
	uint64_t *at = &w[next(s) % words];

	if (next(s) % 2)
		xvt_store(at, wild(s, near));
	else
		xvt_store((uint32_t *)at + next(s) % 2, (uint32_t)wild(s, near));
}

bool spend(struct hostile *h, uint64_t bytes)
{
	if (h->spent > (age_ns(h) / MS + 100) * (FLOOD_BYTES_S / 1000))
		return false;
	h->spent += bytes;
	return true;
}

void keep_writing(struct ring *r)
{
	if (xvt_load(&r->w.ctl->nest) > XVT_MAXNEST)
		xvt_store(&r->w.ctl->nest, 0);
	if (!xvt_load(&r->w.host->enable))
		xvt_store(&r->w.host->enable, XVT_ENABLE_STOP);
}
