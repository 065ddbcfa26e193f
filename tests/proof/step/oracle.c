// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * oracle.c - what the host finds, held against the truth: every event once, with its own
 * payload, its own time and epoch, in the order of time; and counters that add up.
 */
#include "world.h"

bool world_time_is(const struct world *w, const struct truth *t, const struct xvt_record *rec,
		   uint64_t header, uint64_t previous)
{
	if (header & XVT_H_SAME) /* "the time of the record before me": then, but also its own */
		return rec->ts == previous && rec->ts >= t->ts_min &&
		       (!t->ended || rec->ts <= t->ts_max);
	if (!w->real_clock && rec->ts != t->ts)
		return false;
	return rec->ts >= t->ts_min && (!t->ended || rec->ts <= t->ts_max) &&
	       rec->epoch >= t->epoch_min && (!t->ended || rec->epoch <= t->epoch_max);
}

static void take(const struct xvt_record *rec, uint64_t header, uint64_t previous)
{
	struct truth *t;
	uint64_t number;

	if (rec->id != XVT_ID_U64 || rec->len < 8)
		world_fail("record %u of %u bytes at %llu: no event wrote that", rec->id, rec->len,
			   (unsigned long long)rec->pos);
	memcpy(&number, rec->payload, sizeof(number));
	if (!number || number > world.events)
		world_fail("number %llu at %llu: no event wrote that", (unsigned long long)number,
			   (unsigned long long)rec->pos);
	t = &world.ev[number];
	if (!t->ended || t->err || t->discard)
		world_fail("event %llu was delivered, but %s", (unsigned long long)number,
			   !t->ended ? "has not ended"
			   : t->err  ? "was refused"
				     : "was discarded");
	if (t->delivered)
		world_fail("event %llu was delivered twice", (unsigned long long)number);
	if (!world_payload_is(rec, (uint32_t)number))
		world_fail("event %llu has a wrong payload", (unsigned long long)number);
	if (!world_time_is(&world, t, rec, header, previous))
		world_fail("event %llu has time %llu epoch %u; it was given %llu, in [%llu, %llu], "
			   "epoch %u to %u",
			   (unsigned long long)number, (unsigned long long)rec->ts, rec->epoch,
			   (unsigned long long)t->ts, (unsigned long long)t->ts_min,
			   (unsigned long long)t->ts_max, t->epoch_min, t->epoch_max);
	if (rec->ts < world.last_ts ||
	    (rec->ts == world.last_ts && !world.real_clock && !(header & XVT_H_SAME)))
		world_fail("event %llu has time %llu, the one before it %llu",
			   (unsigned long long)number, (unsigned long long)rec->ts,
			   (unsigned long long)world.last_ts);
	world.last_ts = rec->ts;
	t->pos = rec->pos;
	t->delivered = true;
	world.delivered++;
}

/* One piece inside one sub-buffer, from a private copy. */
static void read_piece(uint64_t len)
{
	struct xvt_reader *r = &world.reader;
	uint8_t copy[WORLD_SUBBUF];
	struct xvt_record rec;
	int ret;

	memcpy(copy, world.w.data + xvt_pos_off(&world_geometry, r->pos), len);
	xvt_reader_feed(r, copy, len);
	for (;;) {
		uint64_t header, previous = r->ts;

		ret = xvt_reader_next(r, &rec);
		if (ret != 1)
			break;
		memcpy(&header, copy + (rec.pos - r->copy_pos), sizeof(header));
		if (rec.kind == XVT_REC_RECORD)
			take(&rec, header, previous);
	}
	if (ret)
		world_fail("at %llu: %s = %llx: %s", (unsigned long long)r->pos, r->fault.field,
			   (unsigned long long)r->fault.value, r->fault.why);
	r->copy = NULL;
}

void world_drain(void)
{
	const struct xvt_geometry *g = &world_geometry;
	const bool overwrite = world.mode == XVT_ENABLE_OVERWRITE;
	struct xvt_ring_words s;
	struct xvt_fault fault;

	world_look(&world, &s);
	if (xvt_check_words(g, &s, world.reader.pos, overwrite, &fault))
		world_fail("%s = %llu: %s", fault.field, (unsigned long long)fault.value,
			   fault.why);
	/* The oldest sub-buffer that the writer has not come back to. */
	if (overwrite && s.resv - xvt_pos_trunc(g, world.reader.pos) > g->ring_size)
		world.reader.pos = xvt_pos_roundup(g, s.resv) - g->ring_size;
	while (world.reader.pos != s.commit) {
		uint64_t border = xvt_pos_next_subbuf(g, world.reader.pos);

		read_piece((xvt_pos_before(border, s.commit) ? border : s.commit) -
			   world.reader.pos);
	}
	while (!overwrite && world.cleared != xvt_pos_trunc(g, world.reader.pos)) {
		memset(world.w.data + xvt_pos_off(g, world.cleared), 0, g->subbuf_size);
		world.cleared += g->subbuf_size;
	}
	/* Release: pairs with the writer's look at cons before it opens a sub-buffer. */
	if (!overwrite)
		xvt_store_release(&world.w.host->cons, world.reader.pos);
}

/* Overwrite mode: what is missing must be older than everything that is there. */
static bool may_be_overwritten(const struct truth *t)
{
	uint32_t i;

	if (world.mode != XVT_ENABLE_OVERWRITE)
		return false;
	for (i = 1; i <= world.events; i++)
		if (world.ev[i].delivered &&
		    world.ev[i].ts_max < (world.real_clock ? t->ts_min : t->ts))
			return false;
	return true;
}

static void check_counters(const struct xvt_ring_words *s, uint32_t attempted, uint32_t discarded,
			   uint32_t refused)
{
	uint64_t lost = 0;
	uint32_t i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		lost += s->lost[i];
	if (s->attempted != attempted || s->discarded != discarded || lost != refused)
		world_fail("attempted %llu of %u, discarded %llu of %u, lost %llu of %u",
			   (unsigned long long)s->attempted, attempted,
			   (unsigned long long)s->discarded, discarded, (unsigned long long)lost,
			   refused);
}

void world_check(void)
{
	uint32_t i, off = 0, discarded = 0, refused = 0;
	struct xvt_ring_words s;
	uint64_t opened;

	if (!world_idle())
		world_fail("everything has ended and the ring is not idle");
	world_drain();
	for (i = 1; i <= world.events; i++) {
		const struct truth *t = &world.ev[i];

		if (!t->ended)
			world_fail("event %u has no end", i);
		if (t->err && t->err != -ENOSPC && t->err != -EAGAIN)
			world_fail("event %u: error %d", i, t->err);
		off += t->err == -EAGAIN;
		refused += t->err == -ENOSPC;
		discarded += !t->err && t->discard;
		if (!t->err && !t->discard && !t->delivered && !may_be_overwritten(t))
			world_fail("event %u was not delivered", i);
	}
	world_look(&world, &s);
	check_counters(&s, world.events - off, discarded, refused);
	opened = xvt_pos_roundup(&world_geometry, s.resv) -
		 xvt_pos_roundup(&world_geometry, world.opened_at);
	if (opened && !world.kicks)
		world_fail("a sub-buffer was opened, and the host was not woken");
}
