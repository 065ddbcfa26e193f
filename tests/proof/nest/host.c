// SPDX-License-Identifier: GPL-2.0
/*
 * host.c - the other side, honest: it drains, clears and moves cons; it copies sub-buffers of a
 * ring that overwrites; and it draws conclusions from nest, resv and commit.
 */
#include "world.h"

#include "rules.h"

enum host_mutant host_mutant;
const char *const host_mutant_names[HOST_MUTANTS] = {
	[HOST_HONEST] = "honest",	  [HOST_NEST_ALONE] = "nest-alone",
	[HOST_NO_CLEAR] = "no-clear",	  [HOST_CONS_FIRST] = "cons-first",
	[HOST_NO_RECHECK] = "no-recheck", [HOST_TAKES_TWICE] = "takes-twice",
};

/* What a copy of [r->pos, r->pos + len) holds goes to the host's user. */
static void deliver(struct xvt_reader *r, const void *copy, uint64_t len)
{
	uint64_t last_ts = r->ts;
	uint32_t last_span = UINT32_MAX; /* order was checked at commit */
	struct xvt_record rec;
	struct event *ev;
	int ret;

	xvt_reader_feed(r, copy, len);
	while ((ret = xvt_reader_next(r, &rec)) == 1) {
		if (rec.kind == XVT_REC_SUBBUF)
			continue;
		oracle_record(&rec, oracle_is_same(r, &rec), false, &last_ts, &last_span);
		if (rec.kind != XVT_REC_RECORD)
			continue;
		ev = &world.event[rec.id - XVT_ID_USER];
		if (ev->delivered)
			ex_fail(RULE_TWICE, "event %u is delivered twice", ev->number);
		ev->delivered = true;
	}
	if (ret)
		oracle_fault(r, "what the host took");
}

static uint64_t piece_end(const struct xvt_reader *r, uint64_t to)
{
	uint64_t end = xvt_pos_next_subbuf(r->g, r->pos);

	return xvt_pos_before(to, end) ? to : end;
}

/* Drain to commit; clear each sub-buffer that is done, so that salvage finds nothing old. */
static void take(uint64_t to)
{
	struct xvt_reader *r = &world.reader, before = *r;
	uint64_t done;

	while (r->pos != to)
		deliver(r, world_data(r->pos), piece_end(r, to) - r->pos);
	if (host_mutant == HOST_TAKES_TWICE)
		*r = before;
	done = host_mutant == HOST_NO_CLEAR ? world.clear_pos : xvt_pos_trunc(r->g, r->pos);
	for (; world.clear_pos != done; world.clear_pos += r->g->subbuf_size)
		memset(world_data(world.clear_pos), 0, r->g->subbuf_size);
	world.dirty = world.touched = true;
}

/* Taking and moving cons are two moments: the writer may run in between. */
void host_step(void)
{
	struct world *w = &world;
	bool first = !w->cons_behind, takes = first != (host_mutant == HOST_CONS_FIRST);

	if (first)
		w->take_to = w->ctl.commit;
	if (takes)
		take(w->take_to);
	else
		w->host.cons = w->take_to;
	w->cons_behind = first;
	ex_tell("        host: %s %#llx\n",
		takes ? "has taken and cleared up to" : "cons =", (unsigned long long)w->take_to);
}

/* Off, or back to the ring's mode. */
void host_switch(void)
{
	struct world *w = &world;
	uint32_t i;

	if (w->host.enable == XVT_ENABLE_OFF) {
		w->host.enable = world_config->overwrite ? XVT_ENABLE_OVERWRITE : XVT_ENABLE_STOP;
		w->off_and_idle = false;
	} else {
		w->host.enable = XVT_ENABLE_OFF;
		for (i = 0; i < w->depth; i++)
			w->current[i]->saw_off = true;
	}
	ex_tell("        host: recording is %s\n", w->host.enable ? "on" : "off");
}

/* Overtaken: not to the oldest end, which is about to go as well, but half way. */
static void skip(void)
{
	struct xvt_reader *r = &world.reader;
	uint64_t to = xvt_pos_trunc(r->g, world.ctl.commit) - r->g->ring_size / 2;
	uint32_t i;

	for (i = 0; i < world.event_count; i++)
		if (xvt_pos_before(world.event[i].pos, to))
			world.event[i].skipped = true;
	ex_tell("        host: overtaken, goes on at %#llx\n", (unsigned long long)to);
	xvt_reader_init(r, r->g, to);
}

static bool overtaken(uint64_t pos)
{
	return writer_position() - xvt_pos_trunc(&world_geometry, pos) > world_geometry.ring_size;
}

static void copy_chunk(struct copier *c)
{
	uint32_t chunk = 8;

	if (world_config->copy_chunks)
		chunk = ((c->len / 8 + world_config->copy_chunks - 1) / world_config->copy_chunks) *
			8;
	if (chunk > c->len - c->copied)
		chunk = c->len - c->copied;
	memcpy((uint8_t *)c->words + c->copied, world_data(c->piece + c->copied), chunk);
	c->copied += chunk;
}

/* Look; copy in pieces; look again whether the writer came round meanwhile; then believe. */
void host_copy_step(void)
{
	struct xvt_reader *r = &world.reader;
	struct copier *c = &world.copier;

	if (!c->len) {
		if (overtaken(r->pos))
			skip();
		c->piece = r->pos;
		c->len = (uint32_t)(piece_end(r, world.ctl.commit) - r->pos);
		c->copied = 0;
		ex_tell("        host: begins to copy [%#llx, +%u)\n", (unsigned long long)c->piece,
			c->len);
	} else if (c->copied < c->len) {
		copy_chunk(c);
		ex_tell("        host: has copied %u of %u bytes\n", c->copied, c->len);
	} else {
		bool good = !overtaken(c->piece) || host_mutant == HOST_NO_RECHECK;
		uint32_t len = c->len;

		ex_tell("        host: looks at resv again: copy %s\n", good ? "good" : "dropped");
		c->len = 0;
		if (good)
			deliver(r, c->words, len);
	}
}

void host_finish(void)
{
	struct xvt_reader *r = &world.reader;

	world.copier.len = 0;
	if (world_config->overwrite && overtaken(r->pos))
		skip();
	while (r->pos != world.ctl.commit)
		deliver(r, world_data(r->pos), piece_end(r, world.ctl.commit) - r->pos);
}

/* A later look is worth as much as an earlier one, or more? Then only that one is kept. */
static bool is_as_good(const struct attempt *a, const struct attempt *b)
{
	return a->stage == b->stage && a->span == b->span && a->commit == b->commit &&
	       a->clock >= b->clock && a->resv <= b->resv;
}

static void keep(const struct attempt *a)
{
	struct world *w = &world;
	uint32_t i;

	for (i = 0; i < w->attempt_count; i++) {
		if (is_as_good(&w->attempt[i], a))
			return;
		if (is_as_good(a, &w->attempt[i])) {
			w->attempt[i] = *a;
			return;
		}
	}
	if (w->attempt_count == ATTEMPTS_MAX)
		ex_fail(RULE_ENDLESS, "too many looks of the host to keep");
	w->attempt[w->attempt_count++] = *a;
}

/* All three words are loaded. Is the ring proven idle, so that a->clock is a bound? */
static void conclude(const struct attempt *a)
{
	uint64_t *bound = &world.bound[a->span % WORLD_CLOCKS_MAX];
	uint32_t i;

	if (host_mutant != HOST_NEST_ALONE && xvt_pos_before(a->commit, a->resv))
		return;
	/* What was committed after this look's own load of commit is not drained by it. */
	for (i = 0; a->commit != world.ctl.commit && i < world.event_count; i++) {
		const struct event *ev = &world.event[i];

		if (ev->state == EV_DONE && ev->span == a->span && ev->ts < a->clock &&
		    !xvt_pos_before(ev->pos, a->commit))
			ex_fail(RULE_LATE,
				"the host proves %llu, but event %u of %llu is not drained",
				(unsigned long long)a->clock, i, (unsigned long long)ev->ts);
	}
	if (a->clock > *bound)
		*bound = a->clock;
}

/* Make the next load of a look, if it leads anywhere. */
static void advance(struct attempt a)
{
	const struct world *w = &world;

	switch (words_order[a.stage]) {
	case LOAD_NEST:
		if (w->ctl.nest)
			return; /* proves nothing, whatever follows */
		break;
	case LOAD_RESV:
		a.resv = writer_position();
		break;
	default:
		a.commit = w->ctl.commit;
		break;
	}
	a.stage++;
	if (a.stage == LOADS)
		conclude(&a);
	else
		keep(&a);
}

/*
 * N13. A host may read its clock and then load nest, resv and commit at any four moments in
 * this order. Instead of a schedule for each, every look that could be under way is kept, and
 * all make all the steps that they can make now. (One that is behind another in everything is
 * not kept.) The order is that of the real xvt_ring_words(), see words.c.
 */
void host_watch(void)
{
	struct world *w = &world;
	uint32_t i;

	/* The host's clock lies between the guest's reads, as far as those differ. */
	advance((struct attempt){ .clock = w->clock + !world_config->coarse,
				  .span = (uint8_t)w->span });
	for (i = 0; i < w->attempt_count; i++)
		advance(w->attempt[i]);
}
