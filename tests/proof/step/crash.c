// SPDX-License-Identifier: GPL-2.0 OR MIT
/* crash.c - see crash.h. */
#include "crash.h"

#include <errno.h>
#include <stdlib.h>

#define NOWHERE UINT64_MAX

/* What one look at a dead ring remembers. */
struct remains {
	const struct world *dead;
	const struct world *later;
	struct crash_counts *n;
	uint64_t commit;
	uint64_t resv;
	uint64_t found[WORLD_EVENTS];	  /* where; 0 = not found */
	uint64_t stopped_at[WORLD_COUNT]; /* in each sub-buffer past commit, or NOWHERE */
};

static const uint8_t *data_of(const struct world *w)
{
	return w->region + xvt_data_off(&world_geometry, 0);
}

static uint64_t word_of(const struct world *w, uint64_t pos)
{
	uint64_t word;

	memcpy(&word, data_of(w) + xvt_pos_off(&world_geometry, pos), sizeof(word));
	return word;
}

/* Was the record complete when the writer stopped? Asks the record's own place only. */
static bool finished(const struct world *dead, const struct world *later, uint32_t number)
{
	const struct truth *t = &dead->ev[number];
	uint64_t pos = later->ev[number].pos, header;

	if (t->discard || t->delivered)
		return false;
	if (t->ended)
		return !t->err;
	if (!later->ev[number].delivered)
		return false;
	header = word_of(dead, pos);
	return header & XVT_H_DONE && xvt_header_id(header) == XVT_ID_U64 &&
	       word_of(dead, pos + (header & XVT_H_FULL ? 16 : 8)) == number;
}

static void take(struct remains *m, const struct xvt_record *rec, uint64_t header,
		 uint64_t previous)
{
	const bool exact = m->dead->mode == XVT_ENABLE_STOP || xvt_pos_before(rec->pos, m->commit);
	const struct truth *t;
	uint64_t number = 0;
	const char *why = NULL;

	if (rec->len >= 8)
		memcpy(&number, rec->payload, sizeof(number));
	if (!number || number > m->dead->events || rec->id != XVT_ID_U64) {
		why = "no event wrote that";
		number = 0;
	}
	t = &m->dead->ev[number];
	if (!why && !finished(m->dead, m->later, (uint32_t)number))
		why = t->delivered ? "the host had it before" : "it was not finished";
	if (!why && m->found[number])
		why = "it is there twice";
	if (!why && !world_payload_is(rec, (uint32_t)number))
		why = "its payload is wrong";
	if (!why && !world_time_is(m->dead, t, rec, header, previous))
		why = "its time is wrong";
	if (why && !exact) {
		m->n->stale++;
		return;
	}
	if (why)
		world_fail("salvaged event %llu at %llu (commit %llu, resv %llu), time %llu: %s",
			   (unsigned long long)number, (unsigned long long)rec->pos,
			   (unsigned long long)m->commit, (unsigned long long)m->resv,
			   (unsigned long long)rec->ts, why);
	m->found[number] = rec->pos;
	m->n->records += !xvt_pos_before(rec->pos, m->commit);
}

/* [r->pos, to), as the host does: one piece a sub-buffer; where one ends early, on to the next. */
static void read_to(struct remains *m, struct xvt_reader *r, uint64_t to)
{
	const struct xvt_geometry *g = &world_geometry;

	while (r->pos != to) {
		uint64_t border = xvt_pos_next_subbuf(g, r->pos);
		uint64_t end = xvt_pos_before(border, to) ? border : to, previous, header;
		uint8_t copy[WORLD_SUBBUF];
		struct xvt_record rec;
		int ret;

		memcpy(copy, data_of(m->dead) + xvt_pos_off(g, r->pos), end - r->pos);
		xvt_reader_feed(r, copy, end - r->pos);
		while (previous = r->ts, (ret = xvt_reader_next(r, &rec)) == 1) {
			memcpy(&header, copy + (rec.pos - r->copy_pos), sizeof(header));
			if (rec.kind == XVT_REC_RECORD)
				take(m, &rec, header, previous);
			m->n->inflight += rec.kind == XVT_REC_INFLIGHT;
		}
		if (ret && (!r->salvage || m->dead->mode == XVT_ENABLE_STOP))
			world_fail("salvage at %llu: %s = %llx: %s", (unsigned long long)r->pos,
				   r->fault.field, (unsigned long long)r->fault.value,
				   r->fault.why);
		if (r->pos != end)
			m->stopped_at[r->pos >> g->subbuf_shift & (WORLD_COUNT - 1)] = r->pos;
		r->pos = end;
		r->copy = NULL;
	}
}

/*
 * May the walk have ended at `pos`? In overwrite mode where a writer stopped before it had stored
 * its header; in stop mode nowhere.
 */
static bool is_hole(const struct remains *m, uint64_t pos)
{
	uint32_t i;

	if (m->dead->mode == XVT_ENABLE_STOP)
		return false;
	for (i = 1; i <= m->dead->events; i++) {
		const struct truth *t = &m->dead->ev[i];
		uint64_t at = m->later->ev[i].pos;

		if (t->ended)
			continue;
		/* A record that is being given back has no header either. */
		if (t->reserved && !t->discard)
			continue;
		if (t->discard || at == pos || at == pos + sizeof(struct xvt_subbuf_hdr))
			return true;
	}
	return false;
}

static void check_missing(struct remains *m)
{
	uint32_t i, behind = 0;

	for (i = 1; i <= m->dead->events; i++) {
		uint64_t pos = m->later->ev[i].pos, stop;

		/* What never had a place was overwritten; the counters know how much. */
		if (!finished(m->dead, m->later, i) || m->found[i] || !m->later->ev[i].delivered)
			continue;
		stop = m->stopped_at[pos >> world_geometry.subbuf_shift & (WORLD_COUNT - 1)];
		if (stop == NOWHERE || xvt_pos_before(pos, stop) || !is_hole(m, stop))
			world_fail("event %u at %llu was finished and salvage does not find it "
				   "(commit %llu, resv %llu)",
				   i, (unsigned long long)pos, (unsigned long long)m->commit,
				   (unsigned long long)m->resv);
		behind++;
	}
	m->n->behind_holes += behind;
	m->n->holes += behind != 0;
}

void crash_check(const struct world *dead, const struct world *later, struct crash_counts *n,
		 uint64_t found[WORLD_EVENTS])
{
	const struct xvt_geometry *g = &world_geometry;
	struct remains m = { .dead = dead, .later = later, .n = n };
	struct xvt_reader r = dead->reader;
	struct xvt_ring_words s;
	uint32_t i;

	world_look(dead, &s);
	m.commit = s.commit;
	m.resv = s.resv;
	for (i = 0; i < WORLD_COUNT; i++)
		m.stopped_at[i] = NOWHERE;
	if (dead->mode == XVT_ENABLE_OVERWRITE && m.resv - xvt_pos_trunc(g, r.pos) > g->ring_size)
		r.pos = xvt_pos_roundup(g, m.resv) - g->ring_size;
	read_to(&m, &r, m.commit);
	r.salvage = dead->mode == XVT_ENABLE_STOP ? XVT_SALVAGE_CLEARED : XVT_SALVAGE_STOP;
	read_to(&m, &r, m.resv);
	check_missing(&m);
	n->images++;
	if (found)
		memcpy(found, m.found, sizeof(m.found));
}

/* ---- files ---- */

#define IMAGE_SIZE (2 * XVT_ALIGN_MIN + WORLD_SUBBUF * WORLD_COUNT)

int crash_file_new(struct crash_file *f, const char *path)
{
	char name[sizeof(f->path) + 8];

	memset(f, 0, sizeof(*f));
	snprintf(f->path, sizeof(f->path), "%s", path);
	snprintf(name, sizeof(name), "%s.expect", path);
	f->expect = fopen(name, "w");
	return f->expect ? 0 : -errno;
}

void crash_file_add(struct crash_file *f, const struct world *dead, const struct world *later,
		    const uint64_t found[WORLD_EVENTS])
{
	const uint64_t ctl = xvt_ctl_off(&world_geometry, 0);
	struct xvt_ring_words s;
	uint32_t i;

	if (f->rings == f->room) {
		f->room = f->room ? 2 * f->room : 64;
		f->images = realloc(f->images, (size_t)f->room * IMAGE_SIZE);
		if (!f->images)
			world_fail("out of memory");
	}
	memcpy(f->images + (size_t)f->rings * IMAGE_SIZE, dead->region + ctl, IMAGE_SIZE);
	world_look(dead, &s);
	for (i = 1; i <= dead->events; i++) {
		const struct truth *t = &dead->ev[i];

		uint64_t pos = found[i] ? found[i] : later->ev[i].pos;

		if (!finished(dead, later, i) || !pos)
			continue;
		fprintf(f->expect, "%u %u %llu %llu %s %s\n", f->rings, i,
			(unsigned long long)(dead->real_clock ? t->ts_min : t->ts),
			(unsigned long long)(!dead->real_clock ? t->ts
					     : t->ended	       ? t->ts_max
							       : UINT64_MAX),
			xvt_pos_before(pos, s.commit) ? "below" : "past",
			found[i] ? "must" : "may");
	}
	f->rings++;
}

int crash_file_close(struct crash_file *f)
{
	struct xvt_layout layout = { .ring_count = f->rings,
				     .align = XVT_ALIGN_MIN,
				     .meta_size = XVT_ALIGN_MIN,
				     .subbuf_size = WORLD_SUBBUF,
				     .kind = XVT_KIND_USER };
	struct xvt_geometry g;
	uint8_t *base;
	FILE *out;
	uint32_t i;
	int err = 0;

	layout.region_size = 3 * XVT_ALIGN_MIN + (uint64_t)f->rings * IMAGE_SIZE;
	base = calloc(1, layout.region_size);
	if (!base || xvt_region_format(base, &layout, &g) || g.subbuf_count != WORLD_COUNT)
		world_fail("no region of %u rings", f->rings);
	for (i = 0; i < f->rings; i++) {
		const uint8_t *image = f->images + (size_t)i * IMAGE_SIZE;

		memcpy(base + xvt_ctl_off(&g, i), image, 2 * XVT_ALIGN_MIN);
		memcpy(base + xvt_data_off(&g, i), image + 2 * XVT_ALIGN_MIN,
		       WORLD_SUBBUF * WORLD_COUNT);
	}
	out = fopen(f->path, "w");
	if (!out || fwrite(base, layout.region_size, 1, out) != 1 || fclose(out))
		err = -errno;
	if (fclose(f->expect))
		err = -errno;
	free(base);
	free(f->images);
	return err;
}
