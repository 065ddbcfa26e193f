// SPDX-License-Identifier: GPL-2.0
/*
 * oracle.c - the rules. It never asks which path the writer took: it compares what a reader
 * decodes with what each event was given. Looked at before every access, so that "at any time"
 * means at any time; what cannot have changed since the last look is not looked at again.
 */
#include "world.h"

#include "rules.h"

bool oracle_no_crash;

void oracle_reset(void)
{
	struct world *w = &world;

	w->seen.resv = w->seen.commit = world_start;
	xvt_reader_init(&w->committed, &world_geometry, world_start);
}

void oracle_fault(const struct xvt_reader *r, const char *whose)
{
	ex_fail(strstr(r->fault.why, "unfinished") ? RULE_UNFINISHED : RULE_DECODE,
		"%s at position %#llx: %s = %#llx (%s)", whose, (unsigned long long)r->pos,
		r->fault.field, (unsigned long long)r->fault.value, r->fault.why);
}

/* Whose record is it? By position: a discarded record no longer says. */
static const struct event *find_discarded(const struct xvt_record *rec, bool same)
{
	const struct world *w = &world;
	uint32_t i;

	for (i = 0; i < w->event_count; i++) {
		const struct event *ev = &w->event[i];

		if (ev->state >= EV_DISCARDING && ev->pos == rec->pos &&
		    (same || ev->ts == rec->ts))
			return ev;
	}
	return NULL;
}

static const struct event *find_event(const struct xvt_record *rec, bool same, bool salvage)
{
	const struct event *ev;

	if (rec->kind == XVT_REC_DISCARDED) {
		ev = find_discarded(rec, same);
		if (!ev)
			ex_fail(salvage ? RULE_SALVAGE : RULE_TIME,
				"the DISCARDED record at %#llx has time %llu: no discarded event's",
				(unsigned long long)rec->pos, (unsigned long long)rec->ts);
		return ev;
	}
	if (rec->id < XVT_ID_USER || rec->id - XVT_ID_USER >= world.event_count)
		ex_fail(salvage ? RULE_SALVAGE : RULE_DECODE, "record id %u at %#llx is no event's",
			rec->id, (unsigned long long)rec->pos);
	ev = &world.event[rec->id - XVT_ID_USER];
	if (rec->kind != XVT_REC_RECORD)
		return ev;
	if (ev->state != EV_COMMITTING && ev->state != EV_DONE)
		ex_fail(salvage ? RULE_SALVAGE : RULE_UNFINISHED, "event %u is visible, but %s",
			ev->number, ev->state >= EV_DISCARDING ? "discarded" : "not finished");
	if (ev->pos != rec->pos)
		ex_fail(salvage ? RULE_SALVAGE : RULE_DECODE,
			"event %u found at %#llx, but it was given %#llx", ev->number,
			(unsigned long long)rec->pos, (unsigned long long)ev->pos);
	return ev;
}

/* SAME says "the time of the record before": exact is then within the event's own reserve. */
static bool time_is_right(const struct event *ev, const struct xvt_record *rec, bool same)
{
	if (!same)
		return rec->ts == ev->ts && rec->epoch == ev->epoch;
	if (rec->epoch < ev->entry_epoch || rec->epoch > ev->exit_epoch)
		return false;
	return ev->entry_span != ev->exit_span || (rec->ts >= ev->entry && rec->ts <= ev->exit);
}

static void check_payload(const struct event *ev, const struct xvt_record *rec, bool salvage)
{
	uint32_t len = world_config->payload[ev->depth], i;
	uint64_t want[WORLD_PAYLOAD_MAX / 8];

	if (rec->len != ((len + 7) & ~7u))
		ex_fail(salvage ? RULE_SALVAGE : RULE_PAYLOAD,
			"event %u has %u bytes instead of %u", ev->number, rec->len, len);
	world_payload(ev, want);
	for (i = 0; i < rec->len; i++)
		if (rec->payload[i] != (i < len ? ((uint8_t *)want)[i] : 0))
			ex_fail(salvage ? RULE_SALVAGE : RULE_PAYLOAD,
				"payload of event %u: byte %u is %#x", ev->number, i,
				rec->payload[i]);
}

void oracle_record(const struct xvt_record *rec, bool same, bool salvage, uint64_t *last_ts,
		   uint32_t *last_span)
{
	const struct event *ev = find_event(rec, same, salvage);

	if (rec->kind == XVT_REC_INFLIGHT)
		return;
	if (!time_is_right(ev, rec, same))
		ex_fail(salvage ? RULE_SALVAGE : RULE_TIME,
			"event %u decoded as time %llu epoch %u%s, but its clock said %llu epoch "
			"%u",
			ev->number, (unsigned long long)rec->ts, rec->epoch, same ? " (SAME)" : "",
			(unsigned long long)ev->ts, ev->epoch);
	if (!same && *last_span == ev->span && rec->ts < *last_ts)
		ex_fail(salvage ? RULE_SALVAGE : RULE_ORDER,
			"event %u has time %llu, the record before it %llu", ev->number,
			(unsigned long long)rec->ts, (unsigned long long)*last_ts);
	*last_ts = rec->ts;
	if (!same)
		*last_span = ev->span;
	if (rec->kind == XVT_REC_RECORD)
		check_payload(ev, rec, salvage);
}

bool oracle_is_same(const struct xvt_reader *r, const struct xvt_record *rec)
{
	uint64_t header;

	memcpy(&header, r->copy + (rec->pos - r->copy_pos), sizeof(header));
	return header & XVT_H_SAME;
}

/* Give a reader its next piece: up to `to`, but not beyond its sub-buffer. */
static void feed(struct xvt_reader *r, uint64_t to)
{
	uint64_t end = xvt_pos_next_subbuf(r->g, r->pos);

	if (xvt_pos_before(to, end))
		end = to;
	/* A sub-buffer must be readable alone. */
	if (r->pos == xvt_pos_trunc(r->g, r->pos))
		r->ts = r->epoch = 0;
	xvt_reader_feed(r, world_data(r->pos), end - r->pos);
}

/* N8. The opener is the event whose record is, or was, the first in the sub-buffer. */
static void check_subbuf(const struct xvt_subbuf_hdr *h, uint64_t pos)
{
	const struct xvt_subbuf_hdr *last = &world.last_hdr;
	const struct event *opener = NULL;
	uint32_t i, lost = 0;

	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		lost += h->lost[i];
		if (h->lost[i] < last->lost[i] || h->lost[i] > world.ctl.lost[i])
			ex_fail(RULE_SUBBUF, "sub-buffer at %#llx: lost[%u] = %u after %u",
				(unsigned long long)pos, i, h->lost[i], last->lost[i]);
	}
	if (h->attempted < last->attempted || h->discarded < last->discarded)
		ex_fail(RULE_SUBBUF, "sub-buffer at %#llx: a counter went back",
			(unsigned long long)pos);
	/* An opener that was discarded may have left its place, and its time, to another. */
	for (i = 0; i < world.event_count; i++) {
		const struct event *ev = &world.event[i];

		if (ev->pos == pos + sizeof(*h) && ev->ts == h->ts_base &&
		    (!opener || ev->attempted_before < opener->attempted_before))
			opener = ev;
	}
	if (!opener)
		ex_fail(RULE_SUBBUF, "sub-buffer at %#llx: ts_base %llu is not its opener's time",
			(unsigned long long)pos, (unsigned long long)h->ts_base);
	if (lost < opener->lost_before || h->attempted <= opener->attempted_before)
		ex_fail(RULE_SUBBUF,
			"sub-buffer at %#llx: %u lost of %llu, but %u of %u when its opener began",
			(unsigned long long)pos, lost, (unsigned long long)h->attempted,
			opener->lost_before, opener->attempted_before);
	world.last_hdr = *h;
}

static void check_late(const struct xvt_record *rec)
{
	uint64_t bound = world.bound[world.committed_span % WORLD_CLOCKS_MAX];

	if (rec->kind == XVT_REC_RECORD && rec->ts < bound)
		ex_fail(RULE_LATE,
			"event %u of time %llu is committed after the host proved that nothing "
			"below %llu can come",
			rec->id - XVT_ID_USER, (unsigned long long)rec->ts,
			(unsigned long long)bound);
}

/* commit has moved: what is below it now is final. */
static void read_committed(void)
{
	struct xvt_reader *r = &world.committed;
	struct xvt_record rec;
	int ret;

	while (r->pos != world.ctl.commit) {
		feed(r, world.ctl.commit);
		while ((ret = xvt_reader_next(r, &rec)) == 1) {
			if (rec.kind == XVT_REC_SUBBUF) {
				check_subbuf(&r->subbuf, rec.pos);
				continue;
			}
			oracle_record(&rec, oracle_is_same(r, &rec), false, &world.committed_ts,
				      &world.committed_span);
			check_late(&rec);
		}
		if (ret)
			oracle_fault(r, "committed data");
	}
}

static void check_positions(uint64_t resv, uint64_t commit)
{
	const struct xvt_geometry *g = &world_geometry;

	if (xvt_pos_before(commit, world.seen.commit))
		ex_fail(RULE_COMMIT_ORDER, "commit went back from %#llx to %#llx",
			(unsigned long long)world.seen.commit, (unsigned long long)commit);
	if (xvt_pos_before(resv, commit))
		ex_fail(RULE_COMMIT_ORDER, "commit %#llx is ahead of resv %#llx",
			(unsigned long long)commit, (unsigned long long)resv);
	if (resv - xvt_pos_trunc(g, commit) > g->ring_size)
		ex_fail(RULE_OVERRUN, "resv %#llx is more than a ring ahead of commit %#llx",
			(unsigned long long)resv, (unsigned long long)commit);
	if (!world_config->overwrite && resv - xvt_pos_trunc(g, world.host.cons) > g->ring_size)
		ex_fail(RULE_OVERRUN, "resv %#llx is more than a ring ahead of cons %#llx",
			(unsigned long long)resv, (unsigned long long)world.host.cons);
}

/* Salvage steps over what has no header, so every finished record must have been found. */
static void check_salvaged(uint32_t found, uint64_t stop)
{
	uint32_t i;

	for (i = 0; i < world.event_count; i++) {
		const struct event *ev = &world.event[i];

		if (ev->state == EV_DONE && !(found >> i & 1) &&
		    !xvt_pos_before(ev->pos, world.ctl.commit))
			ex_fail(RULE_SALVAGE, "a crash here loses event %u, which is finished", i);
	}
	if (stop != writer_position())
		ex_fail(RULE_SALVAGE, "a crash here leaves nothing readable from %#llx on",
			(unsigned long long)stop);
}

/*
 * N3. Under a coarse clock the stamps may also be equal because two events got the same time.
 * An earlier time then does no harm: it makes the gap longer than it is. A later one would.
 */
static bool is_last_time(uint64_t stamp, uint64_t last_ts)
{
	return world_config->coarse ? stamp <= last_ts : stamp == last_ts;
}

/*
 * N9: if the machine died now, the host would find this. Memory of an earlier lap is cleared in
 * stop mode, so salvage is exact there. Also N3, because it is here that the last record is
 * known.
 */
static void look_as_after_a_crash(uint64_t resv)
{
	const struct xvt_ring_ctl *c = &world.ctl;
	uint64_t last_ts = world.committed_ts;
	uint32_t last_span = world.committed_span, found = 0;
	struct xvt_reader r = world.committed;
	struct xvt_record rec;
	int ret = 0;

	r.salvage = XVT_SALVAGE_CLEARED;
	while (r.pos != resv) {
		feed(&r, resv);
		while ((ret = xvt_reader_next(&r, &rec)) == 1) {
			if (rec.kind == XVT_REC_SUBBUF)
				continue;
			oracle_record(&rec, oracle_is_same(&r, &rec), true, &last_ts, &last_span);
			if (rec.kind == XVT_REC_RECORD)
				found |= 1u << (rec.id - XVT_ID_USER);
		}
		if (ret || r.pos != r.end)
			break;
	}
	if (ret)
		ex_fail(RULE_SALVAGE, "a crash here: %s = %#llx (%s)", r.fault.field,
			(unsigned long long)r.fault.value, r.fault.why);
	check_salvaged(found, r.pos);
	if (r.pos == resv && c->before_stamp && c->before_stamp == c->write_stamp &&
	    !is_last_time(c->write_stamp, r.ts))
		ex_fail(RULE_STAMP, "both stamps are %llu, the last record's time is %llu",
			(unsigned long long)c->write_stamp, (unsigned long long)r.ts);
}

/* N15. Every word of a ring's data that is stored, a writer's own records but for the payload. */
void oracle_store(const void *addr)
{
	uint64_t off = (uint64_t)(uintptr_t)addr - (uint64_t)(uintptr_t)world.data;

	if (off < sizeof(world.data) && (off & 7 || off >= world_geometry.ring_size))
		ex_fail(RULE_MEMORY, "a word is stored at byte %llu of a ring of %llu",
			(unsigned long long)off, (unsigned long long)world_geometry.ring_size);
}

/* N15, the payload. */
static void check_room(const struct event *ev)
{
	const uint64_t from = xvt_pos_off(&world_geometry, ev->pos);

	if (ev->pos & 7 || from + (ev->end - ev->pos) > world_geometry.ring_size)
		ex_fail(RULE_MEMORY, "event %u got [%#llx, %#llx) after a wrong position",
			ev->number, (unsigned long long)ev->pos, (unsigned long long)ev->end);
}

void oracle_look(void)
{
	struct world *w = &world;
	const struct xvt_ring_ctl *c = &w->ctl;
	uint64_t resv = writer_position(), commit = c->commit;
	uint64_t stamp = c->before_stamp == c->write_stamp ? c->write_stamp : 0;
	bool reserved = resv != w->seen.resv;

	if (w->wrecked)
		return;
	if (reserved || commit != w->seen.commit) {
		if (w->off_and_idle)
			ex_fail(RULE_OFF, "recording is off and the ring was idle, but it goes on");
		check_positions(resv, commit);
		if (commit != w->seen.commit)
			read_committed();
	}
	if (reserved || commit != w->seen.commit || c->nest != w->seen.nest ||
	    (w->clock != w->seen.clock && (!c->nest || words_order[0] != LOAD_NEST))) {
		w->seen.resv = resv;
		w->seen.commit = commit;
		w->seen.nest = c->nest;
		w->seen.clock = w->clock;
		host_watch();
	}
	if ((reserved || w->dirty || (stamp && stamp != w->seen.stamp)) && ex_fresh() &&
	    !world_config->overwrite && !oracle_no_crash)
		look_as_after_a_crash(resv);
	if (w->host.enable == XVT_ENABLE_OFF && !c->nest && commit == resv)
		w->off_and_idle = true;
	w->seen.stamp = stamp;
	w->dirty = w->touched = false;
}

/* N6, and the bound on retries. */
void oracle_reserved(struct event *ev)
{
	const struct xvt_geometry *g = &world_geometry;
	uint32_t i;

	if (world.quiet)
		return;
	if (world.wrecked) {
		check_room(ev);
		return;
	}
	if (ev->pos - xvt_pos_trunc(g, ev->pos) < sizeof(struct xvt_subbuf_hdr) ||
	    xvt_pos_trunc(g, ev->pos) != xvt_pos_trunc(g, ev->end - 1))
		ex_fail(RULE_OVERLAP, "event %u got [%#llx, %#llx): crosses a border or a header",
			ev->number, (unsigned long long)ev->pos, (unsigned long long)ev->end);
	for (i = 0; i < world.event_count; i++) {
		const struct event *o = &world.event[i];

		if (o == ev || o->state < EV_RESERVED || o->state >= EV_DISCARDING)
			continue;
		if (xvt_pos_before(ev->pos, o->end) && xvt_pos_before(o->pos, ev->end))
			ex_fail(RULE_OVERLAP, "event %u got [%#llx, %#llx), which is event %u's",
				ev->number, (unsigned long long)ev->pos,
				(unsigned long long)ev->end, i);
	}
	/* The xadd back-end reads the clock again when an event came between. */
	if (ev->clock_reads > 1u + writer_xadd + ev->disturbed)
		ex_fail(RULE_RETRIES, "event %u read its clock %u times, disturbed %u times",
			ev->number, ev->clock_reads, ev->disturbed);
}

/* N7: was there really no room, judged by what the event could have seen first? */
void oracle_lost(struct event *ev, int err)
{
	const struct xvt_geometry *g = &world_geometry;
	uint64_t next = xvt_pos_roundup(g, writer_position()) + g->subbuf_size;

	if (err == -EAGAIN && ev->saw_off) {
		ev->state = EV_OFF;
		world.off++;
		return;
	}
	world.lost++;
	if (world.wrecked)
		return;
	if (err != -ENOSPC)
		ex_fail(RULE_COUNTS, "xvt_reserve() returned %d", err);
	if (next - xvt_pos_trunc(g, ev->commit_before) > g->ring_size)
		return;
	if (!world_config->overwrite && next - xvt_pos_trunc(g, ev->cons_before) > g->ring_size)
		return;
	ex_fail(RULE_DROPPED, "event %u is dropped, but the next sub-buffer is free", ev->number);
}

void oracle_idle(void)
{
	if (world.wrecked)
		return;
	if (world.ctl.nest || world.ctl.commit != writer_position())
		ex_fail(RULE_IDLE, "no event is open, but nest = %u, commit = %#llx, resv = %#llx",
			world.ctl.nest, (unsigned long long)world.ctl.commit,
			(unsigned long long)writer_position());
	if (writer_crossed())
		ex_fail(RULE_WAKE, "no event is under way, but need_wake was not looked at");
}

void oracle_end(void)
{
	const struct xvt_ring_ctl *c = &world.ctl;
	uint32_t i, lost = 0;

	if (world.wrecked)
		return; /* each store was looked at */
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		lost += (uint32_t)c->lost[i];
	if (c->attempted != world.event_count - world.off || lost != world.lost ||
	    c->discarded != world.discarded)
		ex_fail(RULE_COUNTS,
			"counted %llu attempted, %u lost, %llu discarded; true are %u, %u, %u",
			(unsigned long long)c->attempted, lost, (unsigned long long)c->discarded,
			world.event_count - world.off, world.lost, world.discarded);
	for (i = 0; i < world.event_count; i++) {
		const struct event *ev = &world.event[i];

		if (ev->state == EV_DONE && !ev->delivered && !ev->skipped)
			ex_fail(RULE_MISSING, "event %u never arrived", i);
	}
	for (i = 0; i < 64; i++)
		if (world.data[WORLD_DATA_MAX / 8 + i])
			ex_fail(RULE_OVERLAP, "something was written past the ring's end");
}
