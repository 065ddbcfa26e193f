// SPDX-License-Identifier: GPL-2.0
/*
 * world.c - one schedule: the task's events one after the other, and at each access whatever
 * the explorer chooses.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "rules.h"
#include "story.h"

struct world world __attribute__((aligned(64)));
struct xvt_geometry world_geometry;
const struct nest_config *world_config;
uint64_t world_start;

/*
 * Where a schedule may go on instead of beginning anew: the world between two events of the task.
 * The first is how it is after the undisturbed events.
 */
#define BORDERS_MAX 8u
static struct border {
	uint32_t event;
	struct ex_mark mark;
	struct world world __attribute__((aligned(64)));
} border[BORDERS_MAX];
static uint32_t border_count;

uint64_t world_depths[WORLD_DEPTH_MAX];
/* A run is never longer than this many accesses, or it does not end at all. */
#define POINTS_MAX 3000u

const char *world_context(uint32_t depth)
{
	static const char *const names[] = { "task", "softirq", "hardirq", "NMI" };

	return names[depth];
}

static struct event *running(void)
{
	return world.current[world.depth - 1];
}

/* An event of a context at world.depth, from entry to end. */
static void run_event(void)
{
	struct world *w = &world;
	struct event *ev;

	if (w->event_count == WORLD_EVENTS_MAX) {
		fprintf(stderr, "world: more than %u events in a schedule\n", WORLD_EVENTS_MAX);
		abort();
	}
	ev = &w->event[w->event_count];
	memset(ev, 0, sizeof(*ev));
	ev->number = (uint8_t)w->event_count++;
	ev->depth = (uint8_t)w->depth;
	ev->entry = w->clock;
	ev->entry_span = (uint8_t)w->span;
	ev->entry_epoch = w->host.epoch;
	ev->saw_off = w->host.enable == XVT_ENABLE_OFF;
	ev->lost_before = w->lost;
	ev->attempted_before = (uint32_t)w->ctl.attempted;
	ev->cons_before = w->host.cons;
	ev->commit_before = w->ctl.commit;
	if (w->depth > w->deepest)
		w->deepest = w->depth;
	w->current[w->depth++] = ev;
	story_begin(ev);
	writer_event(ev);
	story_end(ev);
	w->depth--;
	if (w->depth && running()->state == EV_RUNNING)
		running()->disturbed++;
}

/* A jump: times of one span are not compared with those of another. */
static void clock_jumps(int64_t by)
{
	uint32_t i;

	world.clock += (uint64_t)by;
	world.span++;
	for (i = 0; i < world.depth; i++)
		world.current[i]->disturbed++;
}

/* What may happen at a point, as a set of actions. */
static uint32_t possible(void)
{
	const struct world *w = &world;
	uint32_t set = 0;

	if (w->nested && w->depth <= world_config->depth)
		set |= ACT_BIT(ACT_NEST);
	if (w->epochs)
		set |= ACT_BIT(ACT_EPOCH);
	if (w->backs)
		set |= ACT_BIT(ACT_BACK);
	if (w->delays)
		set |= ACT_BIT(ACT_DELAY);
	/* A step of the host that finds nothing would be the same schedule again. */
	if (w->consumes && (w->cons_behind || w->reader.pos != w->ctl.commit))
		set |= ACT_BIT(ACT_CONSUME);
	if (w->switches)
		set |= ACT_BIT(ACT_SWITCH);
	if (w->wrecks)
		set |= ACT_BIT(ACT_WRECK);
	if (w->copies && (w->copier.len || w->reader.pos != w->ctl.commit))
		set |= ACT_BIT(ACT_COPY);
	return set;
}

static void act(enum action action)
{
	struct world *w = &world;

	w->left--;
	switch (action) {
	case ACT_NEST:
		w->nested--;
		run_event();
		break;
	case ACT_EPOCH:
		w->epochs--;
		w->host.epoch++;
		clock_jumps(world_config->jump);
		break;
	case ACT_BACK:
		w->backs--;
		clock_jumps(world_config->jump);
		break;
	case ACT_DELAY:
		w->delays--;
		w->clock +=
			world_config->delay ? world_config->delay : 1ull << world_config->ts_bits;
		break;
	case ACT_CONSUME:
		w->consumes--;
		host_step();
		break;
	case ACT_SWITCH:
		w->switches--;
		host_switch();
		break;
	case ACT_WRECK:
		w->wrecks--;
		w->wrecked = true;
		writer_wreck();
		break;
	case ACT_COPY:
		w->copies--;
		host_copy_step();
		break;
	default:
		break;
	}
}

/* Whatever may happen at a point may happen several times. */
static void happen(const struct nest_site *site)
{
	uint32_t set;

	while ((set = possible())) {
		enum action action = ex_choose(set);

		if (!action)
			return;
		story_action(site, action);
		act(action);
		oracle_look();
	}
}

/*
 * Does the oracle care about what is stored there? About records and about five words of the
 * control block; not about counters. What it does not care about it need not look at again.
 */
static bool watched(const void *addr)
{
	const uint8_t *at = addr;
	const struct world *w = &world;

	return (at >= (const uint8_t *)w->data && at < (const uint8_t *)(w + 1)) ||
	       (at >= (const uint8_t *)&w->ctl.resv && at <= (const uint8_t *)&w->ctl.nest) ||
	       at == (const uint8_t *)&w->ctl.commit;
}

void nest_point(const struct nest_site *site, const void *addr)
{
	struct world *w = &world;
	struct event *ev;

	if (w->quiet)
		return;
	if (++w->points > POINTS_MAX)
		ex_fail(RULE_ENDLESS, "the run does not end");
	ev = running();
	/* The second access of xvt_commit(): the first was DONE. */
	if (ev->state == EV_COMMITTING && ev->points++)
		ev->state = EV_DONE;
	if (w->touched)
		oracle_look();
	story_point(site);
	if (w->left)
		happen(site);
	if (site->kind != SITE_LOAD && w->wrecked)
		oracle_store(addr);
	if (site->kind != SITE_LOAD && watched(addr)) {
		w->touched = true;
		w->dirty |= (const uint64_t *)addr >= w->data;
	}
}

void *nest_copy(const struct nest_site *site, void *dst, const void *src, size_t n)
{
	const uint64_t *from = src;
	uint64_t *to = dst;

	/* An interrupt changes nothing between these words; the host may look at each. */
	nest_point(site, dst);
	for (; n >= 8; n -= 8) {
		if (!world.quiet)
			oracle_look();
		*to++ = *from++;
		world.dirty = world.touched = true;
	}
	return dst;
}

void *nest_fill(const struct nest_site *site, void *dst, int c, size_t n)
{
	uint64_t *to = dst;

	nest_point(site, dst);
	for (; n >= 8; n -= 8) {
		if (!world.quiet)
			oracle_look();
		*to++ = 0x0101010101010101ull * (uint8_t)c;
		world.dirty = world.touched = true;
	}
	return dst;
}

uint64_t world_clock(void *arg)
{
	static const struct nest_site site = { SITE_LOAD, "read the clock", "xvt_writer_clock",
					       NULL, 0 };
	struct event *ev;

	(void)arg;
	nest_point(&site, NULL);
	ev = running();
	world.touched = true;
	/* Odd values are the host's. A coarse clock gives several events the same time. */
	if (!world_config->coarse || ++world.reads % world_config->coarse == 0)
		world.clock += 2;
	ev->ts = world.clock;
	ev->epoch = world.host.epoch;
	ev->span = (uint8_t)world.span;
	ev->clock_reads++;
	story_clock(ev);
	return ev->ts;
}

void world_payload(const struct event *ev, uint64_t words[WORLD_PAYLOAD_MAX / 8])
{
	uint32_t i, len = world_config->payload[ev->depth];

	for (i = 0; i < (len + 7) / 8; i++) {
		uint64_t pos = ev->pos + 8 * i + (i % 2 ? world_geometry.ring_size : 0);

		words[i] =
			xvt_header(world_geometry.ring_shift, pos,
				   XVT_ID_USER + WORLD_EVENTS_MAX + ev->number, 8, i, XVT_H_DONE);
	}
}

bool world_payload_point(struct event *ev)
{
	static const struct nest_site site = { SITE_OTHER, "go on with the payload written",
					       "the caller", NULL, 0 };

	if (world.quiet)
		return false;
	nest_point(&site, NULL);
	if (!world.discards || !ex_choose(ACT_BIT(ACT_DISCARD)))
		return false;
	world.discards--;
	world.left--;
	ex_tell("%*s%s event %u: discards\n", (int)ev->depth * 4, "", world_context(ev->depth),
		ev->number);
	return true;
}

void world_use(const struct nest_config *c)
{
	struct xvt_geometry *g = &world_geometry;
	struct world *w = &world;

	world_config = c;
	memset(g, 0, sizeof(*g));
	g->subbuf_size = c->subbuf_size;
	g->subbuf_count = c->subbuf_count;
	g->ring_size = (uint64_t)c->subbuf_size * c->subbuf_count;
	g->subbuf_shift = (uint32_t)__builtin_ctz(c->subbuf_size);
	g->ring_shift = g->subbuf_shift + (uint32_t)__builtin_ctz(c->subbuf_count);
	g->ts_bits = c->ts_bits;
	/* So that half way every ring goes over 2^64. */
	world_start = 0 - g->ring_size / 2;
	if (g->ring_size > WORLD_DATA_MAX || c->depth + 1 > WORLD_DEPTH_MAX ||
	    (c->subbuf_size - 64) / (8 + ((c->payload[0] + 7) & ~7u)) != c->slots) {
		fprintf(stderr, "world: configuration %s is not what it says\n", c->name);
		abort();
	}
	memset(w, 0, sizeof(*w));
	/* So that no event stores a new maximum: all make the same accesses. */
	w->ctl.nest_max = XVT_MAXNEST + 1;
	w->host.cons = world_start;
	w->host.enable = c->overwrite ? XVT_ENABLE_OVERWRITE : XVT_ENABLE_STOP;
	w->host.epoch = 1;
	w->clock = 1000;
	writer_init(g, world_start);
	xvt_reader_init(&w->reader, g, world_start);
	w->clear_pos = world_start;
	oracle_reset();
	w->nested = c->nested;
	w->discards = c->discards;
	w->epochs = c->epochs;
	w->backs = c->backs;
	w->delays = c->delays;
	w->consumes = c->consumes;
	w->copies = c->copies;
	w->switches = c->switches;
	w->wrecks = c->wrecks;
	w->left = w->nested + w->discards + w->epochs + w->backs + w->delays + w->consumes +
		  w->copies + w->switches + w->wrecks;
	border_count = 0;
	memset(world_depths, 0, sizeof(world_depths));
}

static void copy_world(struct world *to, const struct world *from)
{
	memcpy(to, from, offsetof(struct world, event));
	memcpy(to->event, from->event, from->event_count * sizeof(*from->event));
	memcpy(to->attempt, from->attempt, from->attempt_count * sizeof(*from->attempt));
	if (from->copier.len)
		to->copier = from->copier;
	to->copier.len = from->copier.len;
	/* And what lies behind it, where a store may have gone. */
	memcpy(to->data, from->data, world_geometry.ring_size + 8);
}

/* The first events of the task. They are part of every schedule, so nothing may happen. */
static void run_undisturbed(void)
{
	uint32_t i;

	world.quiet = true;
	for (i = 0; i < world_config->first; i++)
		run_event();
	oracle_look();
	if (world_config->taken)
		host_step();
	world.quiet = false;
	border[0].event = world_config->first;
	border[0].mark = (struct ex_mark){ 0, 0 };
	border[0].world = world;
}

/*
 * Between two events of the task no event is inside the writer, so the whole state is the world
 * itself. Go on from the last such border that this schedule shares with the one before.
 */
static uint32_t begin(void)
{
	uint32_t i = border_count;

	if (!i) {
		run_undisturbed();
		i = 1;
	}
	if (ex.telling)
		i = 1;
	while (!ex_go_on_from(&border[i - 1].mark))
		i--;
	border_count = i;
	copy_world(&world, &border[i - 1].world);
	return border[i - 1].event;
}

static void remember_border(uint32_t event)
{
	struct border *b = &border[border_count];

	/* Only what the next schedule is sure to share. */
	if (!ex_fresh() || border_count == BORDERS_MAX)
		return;
	b->event = event;
	ex_mark(&b->mark);
	copy_world(&b->world, &world);
	border_count++;
}

void world_run(void)
{
	uint32_t i;

	for (i = begin(); i < world_config->outer; i++) {
		if (i > border[border_count - 1].event)
			remember_border(i);
		run_event();
		oracle_look();
		oracle_idle();
	}
	world.quiet = true;
	if (!world.wrecked)
		host_finish();
	oracle_end();
	world_depths[world.deepest]++;
}
