// SPDX-License-Identifier: GPL-2.0 OR MIT
/* world.c - see world.h. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct world world;
struct xvt_geometry world_geometry;
char world_where[160];

static target_fn *const targets[TARGET_HOWS] = {
	[TARGET_WRITE16] = target_write16,
	[TARGET_COMMIT] = target_commit,
	[TARGET_DISCARD] = target_discard,
};

void world_fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	printf("wrong: %s: ", world_where);
	vprintf(format, ap);
	printf("\n");
	va_end(ap);
	exit(1);
}

/* One instruction takes the value, so that each value is given once. */
static uint64_t counting_clock(void *arg)
{
	struct world *w = arg;
	struct truth *t = &w->ev[w->current];
	uint64_t ts = __atomic_add_fetch(&w->clock, 1, __ATOMIC_RELAXED);

	t->ts = ts;
	return ts;
}

static void count_kick(void *arg)
{
	((struct world *)arg)->kicks++;
}

uint64_t world_now(void)
{
	return world.real_clock ? xvt_clock_read_ordered() : world.clock;
}

void world_init(uint32_t mode, bool real_clock)
{
	struct xvt_layout layout = { .region_size = WORLD_REGION,
				     .ring_count = 1,
				     .align = XVT_ALIGN_MIN,
				     .meta_size = XVT_ALIGN_MIN,
				     .subbuf_size = WORLD_SUBBUF,
				     .kind = XVT_KIND_USER,
				     .clock_id = real_clock ? XVT_CLOCK_TSC : XVT_CLOCK_CALLER,
				     .enable = mode };

	memset(&world, 0, sizeof(world));
	if (xvt_region_format(world.region, &layout, &world_geometry))
		world_fail("no region");
	xvt_writer_init(&world.w, world.region, &world_geometry, 0);
	world.mode = mode;
	world.real_clock = real_clock;
	world.clock = 1000;
	if (!real_clock)
		world.w.clock = counting_clock;
	world.w.clock_arg = &world;
	world.w.kick = count_kick;
	world.w.kick_arg = &world;
	world.w.host->need_wake = 1;
	world.w.host->epoch = 1;
	xvt_reader_init(&world.reader, &world_geometry, 0);
}

/*
 * Each word but the first is what the header of a finished record of the first or the second lap
 * looks like: a reader that takes a hole for a place where records begin delivers one.
 */
void world_payload(uint64_t *payload, uint32_t number, uint32_t len)
{
	const uint32_t shift = world_geometry.ring_shift;
	uint64_t i;

	payload[0] = number;
	for (i = 1; i < (len + 7) / 8; i++)
		payload[i] =
			xvt_header(shift, (~i & 1) << shift, XVT_ID_U64, 16, 1000 + i, XVT_H_DONE);
}

bool world_payload_is(const struct xvt_record *rec, uint32_t number)
{
	uint64_t expected[WORLD_LEN / 8 + 1] = { 0 };
	uint32_t len = world.ev[number].len;

	world_payload(expected, number, len);
	/* What the length leaves of the last word reads as zero. */
	memset((uint8_t *)expected + len, 0, sizeof(expected) - len);
	return rec->len == ((len + 7) & ~7u) && !memcmp(rec->payload, expected, rec->len);
}

static uint32_t begin(const struct shape *s)
{
	struct truth *t;
	uint32_t number = ++world.events;

	if (number >= WORLD_EVENTS)
		world_fail("more than %u events", WORLD_EVENTS);
	if (s->new_epoch)
		world.w.host->epoch++;
	t = &world.ev[number];
	memset(t, 0, sizeof(*t));
	t->len = s->how == TARGET_WRITE16 ? 16 : s->len;
	t->discard = s->how == TARGET_DISCARD;
	t->epoch_min = world.w.host->epoch;
	t->ts_min = world_now();
	return number;
}

static void end(uint32_t number, int err)
{
	struct truth *t = &world.ev[number];

	t->err = err;
	t->ts_max = world_now();
	t->epoch_max = world.w.host->epoch;
	t->ended = true;
}

/* Lost for want of room: from there on nothing may enter the open sub-buffer, so that the gap
 * lies at its end. */
static bool lost_for_room(uint64_t *seen)
{
	const struct xvt_ring_ctl *c = world.w.ctl;
	uint64_t before = *seen;

	*seen = xvt_load(&c->lost[XVT_LOST_FULL]) + xvt_load(&c->lost[XVT_LOST_WRAP]);
	return *seen != before;
}

int world_event(const struct shape *s)
{
	uint64_t payload[WORLD_LEN / 8], lost = 0;
	uint32_t before = world.current, number, len;
	int err;

	if (s->how == TARGET_NONE) {
		xvt_store(&world.w.host->enable, XVT_ENABLE_OFF);
		return 0;
	}
	number = begin(s);
	len = world.ev[number].len;
	lost_for_room(&lost);

	if (len <= WORLD_LEN)
		world_payload(payload, number, len);
	world.current = number;
	err = targets[s->how](&world.w, payload, len, &world.ev[number].reserved);
	world.current = before;
	end(number, err);
	if (lost_for_room(&lost) && world_room())
		world_fail("event %u was lost for want of room, and %u bytes stay open", number,
			   world_room());
	world_watch();
	return err;
}

void world_watch(void)
{
	struct xvt_ring_words s;

	world_look(&world, &s);
	if (xvt_pos_before(s.commit, world.commit) || xvt_pos_before(s.resv, s.commit))
		world_fail("commit went from %llu to %llu, resv is %llu",
			   (unsigned long long)world.commit, (unsigned long long)s.commit,
			   (unsigned long long)s.resv);
	world.commit = s.commit;
}

void world_start(uint32_t level, const struct shape *s)
{
	uint32_t number = begin(s), len = world.ev[number].len;

	if (len <= WORLD_LEN)
		world_payload(world.payload[level], number, len);
	world.cpu_event[level] = number;
	world.current = number;
	vcpu_start(&world.cpu[level], (void *)targets[s->how],
		   (uint64_t[]){ (uint64_t)(uintptr_t)&world.w,
				 (uint64_t)(uintptr_t)world.payload[level], len,
				 (uint64_t)(uintptr_t)&world.ev[number].reserved });
}

void world_ended(uint32_t level)
{
	end(world.cpu_event[level], (int)vcpu_result(&world.cpu[level]));
	world.current = level ? world.cpu_event[level - 1] : 0;
}

void world_open(uint32_t len)
{
	const struct shape s = { TARGET_COMMIT, len, false };
	uint64_t payload[WORLD_LEN / 8];
	uint32_t number = begin(&s);

	world_payload(payload, number, len);
	world.current = number;
	world.ev[number].err = target_open(&world.w, payload, len, &world.open[world.opens]);
	if (world.ev[number].err)
		world_fail("an event of the prelude was refused");
	world.ev[number].reserved = true;
	world.current = 0;
	world.open_number[world.opens++] = number;
}

void world_close(void)
{
	while (world.opens) {
		uint32_t number = world.open_number[--world.opens];

		target_close(&world.w, &world.open[world.opens]);
		end(number, 0);
	}
}

void world_look(const struct world *w, struct xvt_ring_words *s)
{
	xvt_ring_words((const void *)(w->region + xvt_ctl_off(&world_geometry, 0)), &world_geometry,
		       s);
}

uint32_t world_room(void)
{
	struct xvt_ring_words s;

	world_look(&world, &s);
	return (uint32_t)(xvt_pos_roundup(&world_geometry, s.resv) - s.resv);
}

bool world_idle(void)
{
	struct xvt_ring_words s;

	world_look(&world, &s);
	return s.nest == 0 && s.commit == s.resv;
}
