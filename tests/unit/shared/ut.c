// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ut.c - a ring to test with, and the host's part of the protocol on it.
 */
#include "ut.h"

static struct xvt_layout layout_of(const struct ut_conf *conf)
{
	struct xvt_layout l = { 0 };

	l.ring_count = 1;
	l.align = XVT_ALIGN_MIN;
	l.meta_size = XVT_ALIGN_MIN;
	l.subbuf_size = conf->subbuf_size ? conf->subbuf_size : 1024;
	l.ts_bits = conf->ts_bits;
	l.kind = XVT_KIND_USER;
	l.clock_id = XVT_CLOCK_CALLER;
	l.enable = conf->enable ? conf->enable : XVT_ENABLE_STOP;
	l.region_size = 5 * XVT_ALIGN_MIN +
			(uint64_t)l.subbuf_size * (conf->subbuf_count ? conf->subbuf_count : 4);
	return l;
}

void ut_ring_init(struct ut_ring *u, const struct ut_conf *conf)
{
	struct xvt_layout l = layout_of(conf);

	memset(u, 0, sizeof(*u));
	/* Exactly the region, so that ASan sees the first byte outside. */
	u->base = aligned_alloc(XVT_ALIGN_MIN, l.region_size);
	ck_assert_ptr_nonnull(u->base);
	memset(u->base, 0, l.region_size);
	ut_assert(xvt_region_format(u->base, &l, &u->g) == 0);
	ut_assert(xvt_data_off(&u->g, 1) == l.region_size);
	xvt_writer_init(&u->w, u->base, &u->g, 0);
	u->w.clock = ut_clock;
	u->w.clock_arg = u;
	u->w.kick_arg = u;
	ut_ring_reset(u, conf->start, l.enable);
}

void ut_ring_fini(struct ut_ring *u)
{
	free(u->base);
}

void ut_ring_reset(struct ut_ring *u, uint64_t start, uint32_t enable)
{
	struct xvt_ring_ctl *c = u->w.ctl;

	memset(u->w.data, 0, u->g.ring_size);
	memset(&c->resv, 0,
	       offsetof(struct xvt_ring_ctl, gen) - offsetof(struct xvt_ring_ctl, resv));
	/* So that no event stores a new maximum: every run then makes the same accesses. */
	c->nest_max = XVT_MAXNEST + 1;
	ut_set_resv(u, start);
	c->commit = start;
	memset(u->w.host, 0, sizeof(*u->w.host));
	u->w.host->cons = start;
	u->w.host->enable = enable;
	u->w.host->epoch = 1;
	u->w.state = ~0ull; /* as after xvt_writer_init(): epochs begin anew */
	xvt_reader_init(&u->reader, &u->g, start);
	u->clock = 1000;
	u->clock_step = 1;
	u->kicks = 0;
}

uint64_t ut_clock(void *arg)
{
	struct ut_ring *u = arg;

	return u->clock += u->clock_step;
}

void ut_kick(void *arg)
{
	struct ut_ring *u = arg;

	u->kicks++;
}

int ut_write_at(struct ut_ring *u, uint64_t ts, uint64_t number, uint32_t len)
{
	uint64_t payload[XVT_LEN8_MAX] = { number };

	u->clock = ts - u->clock_step;
	return xvt_write(&u->w, XVT_ID_U64, payload, len);
}

static void take(const struct xvt_reader *r, const struct xvt_record *rec, struct ut_recs *out)
{
	struct ut_rec *o = &out->rec[out->count++];

	ut_assert(out->count < UT_RECS_MAX);
	memset(o, 0, sizeof(*o));
	o->kind = rec->kind;
	o->full = rec->full;
	o->id = rec->id;
	o->epoch = rec->epoch;
	o->len = rec->len;
	o->pos = rec->pos;
	o->ts = rec->ts;
	if (rec->kind == XVT_REC_SUBBUF) {
		o->subbuf = r->subbuf;
		return;
	}
	memcpy(&o->raw, r->copy + (rec->pos - r->copy_pos), 8);
	if (rec->len >= 8)
		memcpy(&o->number, rec->payload, 8);
}

/* Every record of [r->pos, r->pos + len), which lies in one sub-buffer. Returns used up? */
static bool read_piece(const struct ut_ring *u, struct xvt_reader *r, uint64_t len,
		       struct ut_recs *out)
{
	uint8_t *copy = malloc(len); /* exact, for ASan */
	struct xvt_record rec;
	bool used_up;
	int ret;

	memcpy(copy, u->w.data + xvt_pos_off(&u->g, r->pos), len);
	xvt_reader_feed(r, copy, len);
	while ((ret = xvt_reader_next(r, &rec)) == 1)
		take(r, &rec, out);
	if (ret)
		ck_abort_msg("pos %llx: %s = %llx: %s", (unsigned long long)r->pos, r->fault.field,
			     (unsigned long long)r->fault.value, r->fault.why);
	used_up = r->pos == r->end;
	r->copy = NULL;
	free(copy);
	return used_up;
}

static uint64_t piece_len(const struct ut_ring *u, uint64_t pos, uint64_t to)
{
	uint64_t border = xvt_pos_next_subbuf(&u->g, pos);

	return xvt_pos_before(border, to) ? border - pos : to - pos;
}

void ut_drain(struct ut_ring *u, struct ut_recs *out)
{
	struct xvt_ring_words s;
	struct xvt_fault fault;
	uint64_t cleared = xvt_load(&u->w.host->cons);

	xvt_ring_words(u->w.ctl, &u->g, &s);
	ut_assert(xvt_check_words(&u->g, &s, u->reader.pos, false, &fault) == 0);
	while (u->reader.pos != s.commit) {
		uint64_t len = piece_len(u, u->reader.pos, s.commit);

		ut_assert(read_piece(u, &u->reader, len, out));
		while (xvt_pos_trunc(&u->g, u->reader.pos) != cleared) {
			memset(u->w.data + xvt_pos_off(&u->g, cleared), 0, u->g.subbuf_size);
			cleared += u->g.subbuf_size;
			xvt_store_release(&u->w.host->cons, cleared); /* pairs with may_open */
		}
	}
}

void ut_peek(const struct ut_ring *u, struct xvt_reader *reader, uint64_t to, struct ut_recs *out)
{
	while (reader->pos != to)
		ut_assert(read_piece(u, reader, piece_len(u, reader->pos, to), out));
}

uint64_t ut_salvage(const struct ut_ring *u, struct xvt_reader reader, uint64_t resv,
		    struct ut_recs *out)
{
	reader.salvage = XVT_SALVAGE_CLEARED;
	while (reader.pos != resv)
		if (!read_piece(u, &reader, piece_len(u, reader.pos, resv), out))
			break;
	return reader.pos;
}

uint64_t ut_lost(const struct ut_ring *u)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		sum += u->w.ctl->lost[i];
	return sum;
}

uint32_t ut_events(const struct ut_recs *recs, const struct ut_rec **events, uint32_t max)
{
	uint32_t i, n = 0;

	for (i = 0; i < recs->count; i++) {
		if (recs->rec[i].kind != XVT_REC_RECORD)
			continue;
		ut_assert(n < max);
		events[n++] = &recs->rec[i];
	}
	return n;
}
