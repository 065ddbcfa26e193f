// SPDX-License-Identifier: GPL-2.0
/* engine.c - see engine.h. */
#define _GNU_SOURCE
#include "engine.h"
#include "base/u64.h"

bool engine_by_read;

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
	e->begun_clock = xvt_clock_read();
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
	xvt_merge_init(&e->merge, &engine_ops, e);
	e->nr_rings = rings;
	for (i = 0; i < rings; i++) {
		struct xvt_ring *r = calloc(1, sizeof(*r));

		engine_bind(e, i);
		r->id = i;
		r->vm = i;
		r->index = i;
		xvt_ring_set_phase(r, XVT_PHASE_LIVE);
		r->region = &e->region;
		r->ctl = xvt_host_ring_ctl(&e->region, i);
		r->host = xvt_host_ring_host(&e->region, i);
		r->pool = &e->pool;
		r->host_clock = &e->clock;
		r->mode = shape->mode;
		r->by_read = engine_by_read;
		xvt_clock_map_init(&r->clock.map, 1000000000);
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
	xvt_pool_trim(&e->pool);
	ck_assert_uint_eq(e->pool.counted, 0);
	xvt_merge_fini(&e->merge);
	xvt_pool_fini(&e->pool);
	xvt_host_region_close(&e->region);
	if (!e->lent)
		xvt_loop_free(e->loop);
	while (e->nr_pieces)
		free(e->pieces[--e->nr_pieces]);
	free(e->pieces);
	free(e->out);
	free(e->written);
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

	ck_assert_int_eq(xvt_clock_map_add(&e->rings[ring]->clock.map, &node), 0);
	e->rings[ring]->clock.last_node_clock = host_ns;
}

void engine_node(struct engine *e, uint32_t ring, uint64_t time)
{
	engine_at(e, ring, time, time);
}

/* The engine's time is made up: what a look copied was there at the time of the newest write. */
static void make_up_ceilings(const struct engine *e, uint64_t proof)
{
	struct xvt_piece *p;
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++) {
		for (p = e->rings[i]->drain.first; p; p = p->next) {
			if (p->ceiling_ns == p->ceiling_clock && p->ceiling_clock >= e->begun_clock)
				p->ceiling_ns = e->now > proof ? e->now : proof;
		}
	}
}

void engine_copied_by(struct engine *e, uint64_t ns)
{
	struct xvt_piece *p;
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++) {
		for (p = e->rings[i]->drain.first; p; p = p->next)
			p->ceiling_ns = ns;
	}
}

void engine_drain(struct engine *e, uint64_t proof)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++) {
		if (e->rings[i]->drain.went_back)
			xvt_drain_resync(e->rings[i]);
		xvt_drain_look(e->rings[i], e->loop, proof);
	}
	for (i = 0; i < e->nr_rings; i++) {
		while (e->rings[i]->drain.reads)
			ck_assert_int_ge(xvt_loop_run(e->loop, 1000000000u), 0);
		xvt_drain_take(e->rings[i], false);
	}
	make_up_ceilings(e, proof);
}

static struct engine_event *new_event(struct engine *e)
{
	if (e->nr_out == e->room) {
		e->room = e->room ? e->room * 2 : 64;
		e->out = realloc(e->out, e->room * sizeof(*e->out));
		e->written = realloc(e->written, e->room * sizeof(*e->written));
	}
	memset(&e->written[e->nr_out], 0, sizeof(*e->written));
	return memset(&e->out[e->nr_out++], 0, sizeof(*e->out));
}

/* A copy of its bytes stands for the trace. */
static int locate(void *arg, struct xvt_run *run)
{
	struct engine *e = arg;

	if (e->nr_pieces == e->pieces_room) {
		e->pieces_room = e->pieces_room ? e->pieces_room * 2 : 64;
		e->pieces = realloc(e->pieces, e->pieces_room * sizeof(*e->pieces));
	}
	run->place.chunk = e->nr_pieces;
	run->place.at = 0;
	run->located = true;
	e->pieces[e->nr_pieces] = malloc(run->len + 1);
	memcpy(e->pieces[e->nr_pieces++], run->bytes, run->len);
	return 0;
}

/* The header of record `n` of those of the run that count, and its clock value: one that does not
 * count leads to those behind it, too. */
static const uint64_t *record(struct engine *e, const struct xvt_run *run, uint32_t n, uint64_t *ts)
{
	const uint8_t *at = e->pieces[run->place.chunk] + run->place.at;

	for (*ts = run->guest;;) {
		const uint64_t *h = (const uint64_t *)at;

		if (xvt_header_id(*h) == XVT_ID_INVALID) {
			at += sizeof(*h);
			continue;
		}
		if (!(*h & (XVT_H_SAME | XVT_H_FULL)))
			*ts = xvt_time_extend(*ts, *h, run->place.ts_bits);
		if (*h & XVT_H_DONE && xvt_header_id(*h) != XVT_ID_DISCARDED && !n--)
			return h;
		at += xvt_header_len(*h);
	}
}

static void keep(struct engine *e, const struct xvt_window *w, uint32_t i, uint32_t n)
{
	const struct xvt_run *run = xvt_window_run(w, i);
	struct xvt_ring *r = run->ring;
	struct engine_event *ev = new_event(e);
	const uint64_t *h;
	uint32_t head;

	e->written[e->nr_out - 1] = run->written;
	ck_assert(run->in_parts ==
		  (run->written.beside || run->ring_flags & XVT_EVENT_F_UNCONFIRMED));
	if (run->written.beside)
		ev->beside_ns = xvt_u64_larger(xvt_u64_apart(run->ns[n], run->written.lo_ns),
					       xvt_u64_apart(run->ns[n], run->written.hi_ns));
	ev->ns = xvt_window_ns(w, i);
	ck_assert_uint_eq(ev->ns, run->ns[n]);
	ev->ring = r->id;
	ev->flags = (run->ring_flags | xvt_window_flags(w)) & ~XVT_EVENT_RING_MASK;
	ev->guest = run->guest;
	ev->loose = w->lane == XVT_LANE_LOOSE;
	if (run->id == XVT_ID_LOST) {
		ev->id = XVT_ID_LOST;
		ev->len = sizeof(run->lost);
		ev->lost = run->lost;
		if (r->snapshot.on)
			xvt_ring_snapshot_reported(r, &run->lost);
		return;
	}
	h = record(e, run, n, &ev->guest);
	head = *h & XVT_H_FULL ? 2 : 1;
	if (run->on_line)
		ck_assert_uint_eq(xvt_clock_segment_ns(&run->line, ev->guest), ev->ns);
	ev->id = (uint16_t)xvt_header_id(*h);
	ev->len = (uint16_t)(xvt_header_len(*h) - head * sizeof(*h));
	if (ev->len >= sizeof(ev->number))
		memcpy(&ev->number, h + head, sizeof(ev->number));
	if (ev->len >= 2 * sizeof(uint64_t))
		memcpy(&ev->second, h + head + 1, sizeof(ev->second));
	if (ev->id >= XVT_ID_FIRST_EVENT)
		r->account.stats.events++;
}

static int keep_all(void *arg, const struct xvt_window *w)
{
	struct engine *e = arg;
	uint32_t *n, i;

	if (e->no_memory) {
		e->no_memory = false;
		return -ENOMEM;
	}
	n = calloc(w->nr_runs + 1, sizeof(*n));
	for (i = 0; i < w->count; i++) {
		const uint32_t number = w->keys[i] & ((1u << XVT_WINDOW_BITS) - 1);

		keep(e, w, i, w->runs[number]->at + n[number]++);
	}
	for (i = 0; i < w->nr_runs; i++)
		ck_assert_uint_eq(n[i], w->runs[i]->taken - w->runs[i]->at);
	free(n);
	return 0;
}

const struct xvt_merge_ops engine_ops = { .emit = keep_all, .locate = locate };

void engine_merge(struct engine *e)
{
	if (xvt_merge_pass(&e->merge, e->rings, e->nr_rings) < 0)
		ck_abort_msg("the merge failed"); /* an assertion that holds costs a write */
}

void engine_end(struct engine *e)
{
	uint32_t i;

	engine_drain(e, 0);
	for (i = 0; i < e->nr_rings; i++)
		e->rings[i]->clock.map.closed = true;
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
