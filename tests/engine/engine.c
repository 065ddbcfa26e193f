// SPDX-License-Identifier: GPL-2.0
/* engine.c - see engine.h. */
#define _GNU_SOURCE
#include "engine.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define REGION_SIZE (256u << 10)

static uint64_t engine_clock(void *arg)
{
	return ((struct engine *)arg)->now;
}

void engine_bind(struct engine *e, uint32_t ring)
{
	xvt_writer_init(&e->writers[ring], e->region.map, &e->region.g, ring);
	e->writers[ring].clock = engine_clock;
	e->writers[ring].clock_arg = e;
}

void engine_init_shape(struct engine *e, const struct engine_shape *shape)
{
	const uint32_t rings = shape->rings, ring_size = shape->subbuf_size * shape->subbuf_count;
	struct xvt_layout layout = { .region_size = REGION_SIZE,
				     .ring_count = rings,
				     .subbuf_size = shape->subbuf_size,
				     .ts_bits = shape->ts_bits,
				     .enable = shape->mode,
				     .clock_id = XVT_CLOCK_CALLER };
	struct xvt_geometry g;
	char path[64];
	uint32_t i;
	void *map;
	int fd;

	memset(e, 0, sizeof(*e));
	e->loop = shape->loop;
	e->lent = shape->loop;
	if (!e->loop)
		ck_assert_int_eq(xvt_loop_new(&e->loop), 0);
	e->clock = (struct xvt_host_clock){ .mult = 1, .hz = 1000000000 };
	fd = memfd_create("engine", 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, REGION_SIZE), 0);
	map = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	layout.meta_size = REGION_SIZE - 2 * 4096 - rings * 8192 - rings * ring_size;
	ck_assert_int_eq(xvt_region_format(map, &layout, &g), 0);
	munmap(map, REGION_SIZE);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_eq(xvt_host_region_open(&e->region, path, true), 0);
	close(fd);
	ck_assert_int_eq(xvt_host_region_check(&e->region), 0);
	ck_assert_uint_eq(e->region.g.subbuf_count, shape->subbuf_count);
	xvt_pool_init(&e->pool, 64u << 20);
	xvt_merge_init(&e->merge);
	e->nr_rings = rings;
	for (i = 0; i < rings; i++) {
		struct xvt_ring *r = calloc(1, sizeof(*r));

		engine_bind(e, i);
		r->id = i;
		r->vm = i;
		r->index = i;
		r->phase = XVT_PHASE_LIVE;
		r->region = &e->region;
		r->ctl = xvt_host_ring_ctl(&e->region, i);
		r->host = xvt_host_ring_host(&e->region, i);
		r->pool = &e->pool;
		r->host_clock = &e->clock;
		r->mode = shape->mode;
		xvt_clock_map_init(&r->map, 1000000000);
		r->margin_most_ns = UINT64_MAX;
		xvt_ring_attach(r);
		e->rings[i] = r;
	}
}

void engine_init(struct engine *e, uint32_t rings, uint32_t mode)
{
	engine_init_shape(
		e, &(struct engine_shape){
			   .rings = rings, .mode = mode, .subbuf_size = 1024, .subbuf_count = 4 });
}

void engine_fini(struct engine *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++) {
		xvt_ring_fini(e->rings[i]);
		free(e->rings[i]);
	}
	ck_assert_uint_eq(e->pool.used, 0);
	xvt_merge_fini(&e->merge);
	xvt_pool_fini(&e->pool);
	xvt_host_region_close(&e->region);
	if (!e->lent)
		xvt_loop_free(e->loop);
	free(e->out);
}

int engine_write(struct engine *e, uint32_t ring, uint64_t time)
{
	uint64_t number = ++e->numbers[ring];

	e->now = time;
	return xvt_write(&e->writers[ring], XVT_ID_U64, &number, sizeof(number));
}

void engine_at(struct engine *e, uint32_t ring, uint64_t guest, uint64_t host_ns)
{
	struct xvt_clock_node node = { .ring = ring, .guest = guest, .host_ns = host_ns };

	ck_assert_int_eq(xvt_clock_map_add(&e->rings[ring]->map, &node), 0);
	e->rings[ring]->last_node_clock = host_ns;
}

void engine_node(struct engine *e, uint32_t ring, uint64_t time)
{
	engine_at(e, ring, time, time);
}

void engine_drain(struct engine *e, uint64_t proof)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++) {
		if (e->rings[i]->went_back)
			xvt_drain_resync(e->rings[i]);
		xvt_drain_look(e->rings[i], e->loop, proof);
	}
	for (i = 0; i < e->nr_rings; i++) {
		while (e->rings[i]->reads)
			ck_assert_int_ge(xvt_loop_run(e->loop, 1000000000u), 0);
		xvt_drain_take(e->rings[i], false);
	}
}

static void keep(struct engine *e, const struct xvt_event_hdr *h, const void *payload,
		 struct xvt_ring *r)
{
	struct engine_event *ev;

	if (e->nr_out == e->room) {
		e->room = e->room ? e->room * 2 : 64;
		e->out = realloc(e->out, e->room * sizeof(*e->out));
	}
	ev = &e->out[e->nr_out++];
	memset(ev, 0, sizeof(*ev));
	ev->ns = h->host_ns;
	ev->ring = r->id;
	ev->flags = h->ring_flags & ~XVT_EVENT_RING_MASK;
	ev->id = h->id;
	ev->len = h->len;
	ev->guest = h->guest_clock;
	if (h->id == XVT_ID_LOST && r->cut.on)
		xvt_ring_cut_told(r, payload);
	if (h->id == XVT_ID_LOST)
		memcpy(&ev->lost, payload, sizeof(ev->lost));
	else
		memcpy(&ev->number, payload, sizeof(ev->number));
	if (h->id != XVT_ID_LOST && h->len >= 2 * sizeof(uint64_t))
		memcpy(&ev->second, (const uint8_t *)payload + sizeof(uint64_t),
		       sizeof(ev->second));
	if (h->id >= XVT_ID_FIRST_EVENT)
		r->stats.events++;
}

static int keep_all(void *arg, struct xvt_placed *const *out, size_t n)
{
	struct engine *e = arg;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct xvt_event_hdr *h = &out[i]->hdr;

		keep(e, h, out[i]->payload, e->rings[h->ring_flags & XVT_EVENT_RING_MASK]);
	}
	return 0;
}

void engine_merge(struct engine *e)
{
	if (xvt_merge_pass(&e->merge, e->rings, e->nr_rings, keep_all, e) < 0)
		ck_abort_msg("the merge failed"); /* an assertion that holds costs a write */
}

void engine_end(struct engine *e)
{
	uint32_t i;

	engine_drain(e, 0);
	for (i = 0; i < e->nr_rings; i++)
		e->rings[i]->map.closed = true;
	engine_merge(e);
}

size_t engine_count_below(const struct engine *e, uint64_t ns)
{
	size_t i, n = 0;

	for (i = 0; i < e->nr_out; i++)
		n += e->out[i].id != XVT_ID_LOST && e->out[i].ns < ns;
	return n;
}

bool engine_in_order(const struct engine *e)
{
	uint64_t last = 0;
	size_t i;

	for (i = 0; i < e->nr_out; i++) {
		if (e->out[i].flags & XVT_EVENT_F_LATE)
			continue;
		if (e->out[i].ns < last)
			return false;
		last = e->out[i].ns;
	}
	return true;
}
