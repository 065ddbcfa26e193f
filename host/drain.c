// SPDX-License-Identifier: GPL-2.0
/*
 * drain.c - from the region into private pieces. One pass: look at the control words, queue
 * reads of what is new, and, when all of them are there, clear what was taken and move cons.
 *
 * The order within a pass carries the proof that the merge rests on: the host clock value
 * `proof_clock` is at least XVT_PROOF_DELTA_NS old when the control words are loaded, nest
 * first, then resv, then commit. If then nest == 0 and commit == resv, a writer that read its
 * clock before proof_clock has long made nest or its record visible, so everything older
 * than proof_clock is below commit.
 */
#include "ring.h"

#include <inttypes.h>
#include <stdio.h>

/* Most that one ring may hand over in a pass, so that one guest cannot starve the others. */
#define PASS_BYTES (8u << 20)

static void read_done(struct xvt_op *op, int res)
{
	struct xvt_piece *p = (struct xvt_piece *)op;

	p->res = res;
	p->ring->reads--;
}

static void broken(struct xvt_ring *r, const struct xvt_fault *fault)
{
	xvt_fault_text(fault, r->fault, sizeof(r->fault));
	r->fault_new = true;
	r->phase = XVT_PHASE_BROKEN;
	r->idle = false;
}

/*
 * Queue reads of [r->read_pos, to), one piece a sub-buffer. Returns false when the budget
 * ended before `to`; what is queued until then counts.
 */
static bool queue(struct xvt_ring *r, struct xvt_loop *loop, uint64_t to, bool salvage,
		  uint64_t ceiling, uint32_t *room)
{
	const struct xvt_geometry *g = &r->region->g;

	/* Behind us, or further than a ring holds: in overwrite mode and at the border of a
	 * generation only the guest's word says where `to` lies. */
	if (to - xvt_pos_trunc(g, r->read_pos) > g->ring_size)
		return false;
	while (r->read_pos != to) {
		uint64_t end = xvt_pos_next_subbuf(g, r->read_pos);
		struct xvt_piece *p;
		uint32_t len;

		if (xvt_pos_before(to, end))
			end = to;
		len = (uint32_t)(end - r->read_pos);
		if (len > *room)
			return false;
		p = xvt_pool_get(r->pool, sizeof(*p) + len);
		/* A ring that holds nothing always gets one piece. If the others' records used the
		 * budget up while they wait for this ring's bound, nobody would move again. */
		if (!p && !r->first)
			p = xvt_pool_get_over(r->pool, sizeof(*p) + len);
		if (!p)
			return false;
		*room -= len;
		memset(p, 0, sizeof(*p));
		p->op.done = read_done;
		p->ring = r;
		p->pos = r->read_pos;
		p->len = len;
		p->ceiling_clock = ceiling;
		p->floor_clock = r->idle ? r->idle_clock : 0;
		p->salvage = salvage;
		p->after_skip = r->skipped;
		p->after_roll_back = r->rolled_back;
		r->skipped = r->rolled_back = false;
		p->bytes = (uint8_t *)(p + 1);
		if (xvt_loop_read(loop, &p->op, r->region->fd, p->bytes, len,
				  xvt_data_off(g, r->index) + xvt_pos_off(g, p->pos))) {
			xvt_pool_put(r->pool, p, sizeof(*p) + len);
			return false;
		}
		r->reads++;
		if (r->tail)
			r->tail->next = p;
		else
			r->first = p;
		r->tail = p;
		r->read_pos = end;
	}
	return true;
}

/*
 * The writer began again (boot, kexec, module load). Finish every generation that we have not
 * read to its end: up to its commit as usual, from there to its resv by salvage.
 */
static bool follow_generations(struct xvt_ring *r, struct xvt_loop *loop, uint32_t now,
			       uint64_t ceiling, uint32_t *room)
{
	const struct xvt_geometry *g = &r->region->g;

	while (r->generation != now) {
		uint32_t next = r->generation + 1;
		const struct xvt_ring_gen *shared;
		struct xvt_ring_gen gen;

		if (now - r->generation > XVT_GEN_SLOTS) {
			/* More restarts than the table remembers: what lies between is lost. */
			next = now;
			r->skipped = true;
		}
		shared = &r->ctl->gen[next % XVT_GEN_SLOTS];
		gen.generation = xvt_load_acquire(&shared->generation);
		gen.start = xvt_load(&shared->start);
		gen.prev_commit = xvt_load(&shared->prev_commit);
		gen.prev_resv = xvt_load(&shared->prev_resv);
		gen.prev_nest = xvt_load(&shared->prev_nest);
		if (gen.generation != next || gen.start & (g->subbuf_size - 1) ||
		    gen.start - gen.prev_resv >= g->subbuf_size) {
			struct xvt_fault fault = { "generation", "table entry makes no sense",
						   next };

			broken(r, &fault);
			return false;
		}
		if (gen.prev_resv - r->read_pos <= g->ring_size &&
		    gen.prev_resv - gen.prev_commit <= g->ring_size) {
			/* The budget may have ended an earlier pass anywhere in between. */
			if (xvt_pos_before(r->read_pos, gen.prev_commit) &&
			    !queue(r, loop, gen.prev_commit, false, ceiling, room))
				return false;
			if (!queue(r, loop, gen.prev_resv, true, ceiling, room))
				return false;
		} else {
			r->skipped = true;
		}
		r->left_behind += gen.prev_nest <= XVT_MAXNEST + 1 ? gen.prev_nest : 0;
		r->read_pos = gen.start;
		r->generation = next;
	}
	return true;
}

void xvt_drain_look(struct xvt_ring *r, struct xvt_loop *loop, uint64_t proof_clock)
{
	const struct xvt_geometry *g = &r->region->g;
	const bool overwrite = r->mode == XVT_ENABLE_OVERWRITE;
	struct xvt_ring_snapshot s;
	struct xvt_fault fault;
	uint64_t ceiling;
	uint32_t room = r->salvage		      ? UINT32_MAX
			: PASS_BYTES > g->subbuf_size ? PASS_BYTES
						      : g->subbuf_size;
	bool all, frozen;

	if (r->phase == XVT_PHASE_BROKEN)
		return;
	xvt_ring_snapshot(r->ctl, &r->region->g, &s);
	ceiling = xvt_clock_read_ordered();
	/* A writer that stays inside an event; who came after it would have moved these. */
	frozen = r->phase == XVT_PHASE_ASIDE && s.nest == r->last.nest && s.resv == r->last.resv &&
		 s.commit == r->last.commit && s.generation == r->last.generation;
	if (s.resv != r->last.resv || s.nest != r->last.nest)
		r->changed_clock = ceiling;
	r->last = s;
	if (s.generation != r->generation &&
	    !follow_generations(r, loop, s.generation, ceiling, &room))
		return;
	if (s.generation != r->entered && xvt_pos_before(s.commit, r->read_pos))
		return; /* the new generation is just being set up */
	r->entered = s.generation;
	if (xvt_check_snapshot(g, &s, r->read_pos, overwrite, &fault)) {
		broken(r, &fault);
		return;
	}
	if (overwrite && s.resv - xvt_pos_trunc(g, r->read_pos) > g->ring_size) {
		/* Overtaken. Not to the oldest end, which is about to go as well: half way.
		 * From a writer that is gone the oldest end is safe. */
		r->read_pos = r->salvage ? xvt_pos_roundup(g, s.resv) - g->ring_size
					 : xvt_pos_trunc(g, s.commit) - g->ring_size / 2;
		r->skipped = true;
	}
	all = queue(r, loop, s.commit, false, ceiling, &room);
	if (r->salvage && all && s.resv - s.commit <= g->ring_size)
		queue(r, loop, s.resv & ~7ull, true, ceiling, &room);
	r->idle = false;
	if (proof_clock)
		r->look_clock = proof_clock;
	if (proof_clock && all && frozen)
		r->passed_clock = proof_clock;
	if (proof_clock && all && s.nest == 0 && s.commit == s.resv) {
		r->idle = true;
		r->idle_clock = proof_clock;
		r->passed_clock = proof_clock;
		if (r->last_node_clock && r->last_node_clock <= proof_clock)
			r->proven_node_ns = xvt_clock_map_last(&r->map)->host_ns;
	}
}

static void drop_from(struct xvt_ring *r, struct xvt_piece *bad, struct xvt_piece *before)
{
	struct xvt_piece *p = bad;

	while (p) {
		struct xvt_piece *next = p->next;

		r->skipped |= p->after_skip;
		r->rolled_back |= p->after_roll_back;
		xvt_pool_put(r->pool, p, sizeof(*p) + p->len);
		p = next;
	}
	if (before)
		before->next = NULL;
	else
		r->first = NULL;
	r->tail = before;
	r->idle = false;
}

/* Overwrite mode: bytes copied after the writer came round again are a mixture. */
static bool overtaken(const struct xvt_ring *r, const struct xvt_piece *p, uint64_t resv,
		      bool moved)
{
	return r->mode == XVT_ENABLE_OVERWRITE &&
	       (moved || resv - xvt_pos_trunc(&r->region->g, p->pos) > r->region->g.ring_size);
}

/*
 * Clear whole sub-buffers before cons says that they are free: salvage must find nothing of the
 * last lap in them.
 */
static void clear_taken(struct xvt_ring *r)
{
	const struct xvt_geometry *g = &r->region->g;
	uint64_t end = xvt_pos_trunc(g, r->read_pos);

	/* A generation of the guest's making may begin 2^63 bytes from here. An honest writer
	 * in this mode is never more than a ring ahead of cons. */
	if (end - r->clear_pos > g->ring_size)
		r->clear_pos = end;
	while (r->clear_pos != end) {
		memset(r->region->map + xvt_data_off(g, r->index) + xvt_pos_off(g, r->clear_pos), 0,
		       g->subbuf_size);
		r->clear_pos += g->subbuf_size;
	}
}

void xvt_drain_take(struct xvt_ring *r, bool rolled_back)
{
	const struct xvt_geometry *g = &r->region->g;
	struct xvt_piece *p, *before = NULL;
	uint64_t resv;
	bool moved;

	xvt_rmb(); /* the copies before this look at resv; pairs with the writer's xvt_wmb() */
	resv = xvt_load_acquire(&r->ctl->resv);
	/* Of another generation: then it may be of another back-end, and says nothing here. */
	moved = xvt_load(&r->ctl->generation) != r->last.generation;
	resv = xvt_resv_pos(r->last.backend, g->subbuf_shift, resv);
	for (p = r->first; p; before = p, p = p->next) {
		if (p->res == (int)p->len && !rolled_back && !overtaken(r, p, resv, moved))
			continue;
		if (p->res == INT32_MAX)
			continue; /* kept in an earlier pass */
		/* Short: the file shrank. Rolled back: the bytes belong to another past. */
		r->read_pos = p->pos;
		if (rolled_back)
			r->rolled_back = true;
		drop_from(r, p, before);
		break;
	}
	for (p = r->first; p; p = p->next)
		p->res = INT32_MAX;
	if (r->salvage || rolled_back ||
	    r->phase == XVT_PHASE_BROKEN) /* in this very pass: what it has copied is checked */
		return;
	xvt_ring_keep_epoch(r);
	if (r->mode == XVT_ENABLE_STOP)
		clear_taken(r);
	/* In stop mode pairs with xvt_writer_may_open(). In overwrite mode the writer does not
	 * look: it is where salvage, or the next recorder, goes on. */
	xvt_store_release(&r->host->cons, r->read_pos);
}

void xvt_drain_resync(struct xvt_ring *r)
{
	const struct xvt_geometry *g = &r->region->g;
	struct xvt_ring_snapshot s;

	xvt_ring_snapshot(r->ctl, &r->region->g, &s);
	r->last = s;
	r->generation = s.generation;
	r->skip_until = s.commit & ~7ull;
	r->read_pos = xvt_pos_trunc(g, r->skip_until);
	r->clear_pos = r->read_pos;
	r->rolled_back = true;
	r->idle = false;
	r->changed_clock = xvt_clock_read();
}
