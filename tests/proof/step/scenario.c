// SPDX-License-Identifier: GPL-2.0 OR MIT
/* scenario.c - see scenario.h. Every state is reached through the writer's own interface. */
#include "scenario.h"

#define RECORD_HEAD 8

static const struct shape filler = { TARGET_COMMIT, 152, false };

/* Fill the open sub-buffer until `room` bytes are left. */
static void fill_to(uint32_t room)
{
	const uint32_t record = RECORD_HEAD + filler.len;

	if (!world_room())
		world_event(&filler);
	while (world_room() > room) {
		struct shape s = filler;
		uint32_t left = world_room() - room;

		/* Never leave less than the smallest record needs. */
		s.len = left >= record + 16 ? filler.len : left - RECORD_HEAD;
		if (left < 16 || world_event(&s))
			world_fail("cannot fill the sub-buffer to %u", room);
	}
}

static void an_open_subbuf(uint32_t room)
{
	world_event(&filler);
	fill_to(room ? room : WORLD_SUBBUF / 2);
}

/* Positions and laps that are not those of a fresh ring; the host has cleared all of it. */
static void second_lap(uint32_t room)
{
	uint32_t i;

	for (i = 0; i < WORLD_COUNT + 1; i++) {
		fill_to(0);
		world_event(&filler);
		world_drain();
	}
	fill_to(room);
}

static void a_gap_in_time(uint32_t room)
{
	an_open_subbuf(room);
	if (world.real_clock)
		xvt_writer_distrust(&world.w);
	else
		world.clock += 1ull << 33;
}

/* The host takes nothing: the last sub-buffer has `room` bytes left. */
static void nearly_full(uint32_t room)
{
	uint32_t i;

	for (i = 0; i < WORLD_COUNT - 1; i++) {
		fill_to(0);
		world_event(&filler);
	}
	fill_to(room);
}

static void more_than_a_lap(uint32_t room)
{
	uint32_t i;

	for (i = 0; i < WORLD_COUNT + 1; i++) {
		fill_to(0);
		world_event(&filler);
	}
	fill_to(room);
}

/* The ring would wrap onto the bytes of a writer that has not finished. */
static void behind_an_open_event(uint32_t room)
{
	world_event(&filler);
	world_open(24);
	nearly_full(room);
}

/* What was given back must not be taken for anything by salvage. */
static void after_a_discard(uint32_t room)
{
	second_lap(room);
	world_event(&(const struct shape){ TARGET_DISCARD, 24, false });
}

static void deep(uint32_t depth)
{
	while (world.opens < depth)
		world_open(16);
}

#define WRITE                             \
	{                                 \
		TARGET_WRITE16, 16, false \
	}
#define COMMIT(n)                       \
	{                               \
		TARGET_COMMIT, n, false \
	}
#define DISCARD(n)                       \
	{                                \
		TARGET_DISCARD, n, false \
	}
#define OFF                           \
	{                             \
		TARGET_NONE, 0, false \
	}
#define EPOCH(n)                       \
	{                              \
		TARGET_COMMIT, n, true \
	}
#define STOP	  XVT_ENABLE_STOP
#define OVERWRITE XVT_ENABLE_OVERWRITE

const struct scenario scenarios[] = {
	{ "commit", STOP, an_open_subbuf, 0, WRITE, WRITE, WRITE },
	{ "commit-any-size", STOP, second_lap, 512, COMMIT(29), DISCARD(24), COMMIT(13) },
	{ "discard", STOP, an_open_subbuf, 0, DISCARD(40), COMMIT(24), WRITE },
	{ "discard-all", STOP, second_lap, 512, DISCARD(24), DISCARD(16), DISCARD(13) },
	{ "after-a-discard", STOP, after_a_discard, 512, COMMIT(8), WRITE, WRITE },
	{ "full-stamp", STOP, a_gap_in_time, 0, COMMIT(24), WRITE, WRITE },
	{ "full-stamp-discard", STOP, a_gap_in_time, 0, DISCARD(40), DISCARD(24), COMMIT(16) },
	{ "new-epoch", STOP, an_open_subbuf, 0, WRITE, EPOCH(16), EPOCH(16) },
	{ "crossing", STOP, an_open_subbuf, 16, WRITE, WRITE, WRITE },
	{ "crossing-discard", STOP, second_lap, 24, DISCARD(40), COMMIT(8), DISCARD(24) },
	{ "crossing-nested", STOP, second_lap, 64, COMMIT(40), COMMIT(600), WRITE },
	{ "crossing-each", STOP, second_lap, 32, COMMIT(600), COMMIT(600), COMMIT(600) },
	{ "exact-fit", STOP, second_lap, 24, WRITE, WRITE, COMMIT(900) },
	{ "full-ring", STOP, nearly_full, 32, COMMIT(64), WRITE, COMMIT(8) },
	{ "full-ring-closed", STOP, nearly_full, 0, WRITE, DISCARD(16), WRITE },
	{ "switched-off", STOP, nearly_full, 32, COMMIT(64), WRITE, OFF },
	{ "overwrite", OVERWRITE, more_than_a_lap, 512, COMMIT(29), DISCARD(24), COMMIT(13) },
	{ "overwrite-crossing", OVERWRITE, more_than_a_lap, 32, COMMIT(40), COMMIT(600), WRITE },
	{ "lost-wrap", OVERWRITE, behind_an_open_event, 32, COMMIT(40), COMMIT(24), WRITE },
	{ "lost-big", STOP, an_open_subbuf, 0, COMMIT(2000), WRITE, COMMIT(2000) },
	{ "lost-nest", STOP, deep, XVT_MAXNEST, WRITE, COMMIT(24), DISCARD(8) },
	{ "nearly-too-deep", STOP, deep, XVT_MAXNEST - 1, WRITE, COMMIT(24), WRITE },
};
const uint32_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

void scenario_begin(const struct scenario *s, bool real_clock)
{
	struct xvt_ring_words now;

	world_init(s->mode, real_clock);
	s->prelude(s->arg);
	world_look(&world, &now);
	world.opened_at = now.resv;
	world.kicks = 0;
}

void scenario_end(const struct scenario *s)
{
	/* A publication gives up after XVT_MAXRETRY turns and leaves the rest to the next event. */
	if (!world.opens && !world_idle() && world.events - world.cpu_event[0] < XVT_MAXRETRY)
		world_fail("the outer event has ended and the ring is not idle");
	xvt_store(&world.w.host->enable, s->mode);
	/* Stamps left wrong by the events before show in the time of the next one. */
	world_event(&(const struct shape)WRITE);
	world_close();
	if (!world_idle())
		world_fail("all events have ended and the ring is not idle");
	world_drain();
	world_event(&(const struct shape)DISCARD(16));
	world_event(&(const struct shape)COMMIT(24));
	world_check();
}
