// SPDX-License-Identifier: GPL-2.0
/*
 * drain.c - copies new data from the region into private pieces. A pass: load the control words,
 * copy what is new, and keep the copies when all are complete. Later, clear what the trace has and
 * advance cons.
 *
 * The order within a pass carries the proof that the merge rests on. The host clock value
 * `proof_clock` is at least XVT_PROOF_DELTA_NS old when the control words are loaded, nest first,
 * then resv, then commit. A writer that read its clock before proof_clock has made nest or its
 * record visible by then. Therefore nest == 0 and commit == resv prove that everything older than
 * proof_clock lies below commit.
 */
#include "ring/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The most bytes of one ring in a pass, so that one guest cannot starve the others. */
#define PASS_BYTES     (8u << 20)
/* The same for a snapshot, whose writers go on and overwrite the oldest data. It is smaller because
 * a copy counts as safe only after the check for an overrun that ends the pass. */
#define SNAPSHOT_BYTES (256u << 10)

#define READ_WAIT_NS   1000000000u /* of one wait; they go on until all reads are complete */
/* Copied records are held in this part of a ring at most: the rest is for the writer. */
#define HELD_PART      8u
/* Of what the recorder found in the ring when it began, more may be held: it was in the ring
 * before, and a recorder that is killed soon after its start would lose it. */
#define HELD_PART_OLD  2u

static void read_done(struct xvt_op *op, int res)
{
	struct xvt_piece *p = (struct xvt_piece *)op;

	p->res = res;
	if (p->ring)
		p->ring->drain.reads--;
}

/* The control words are invalid. The ring is BROKEN by xvt_drain_take(), unless the machine was
 * rolled back during the look. */
static void broken(struct xvt_ring *r, const struct xvt_fault *fault)
{
	xvt_fault_text(fault, r->fault.text, sizeof(r->fault.text));
	r->fault.is_new = true;
	r->drain.bad_words = true;
	r->drain.idle = false;
}

/*
 * Gets the piece's bytes: copied at once from the mapping, or by a read of the file that the caller
 * waits for (`record --drain io_uring`, salvage). A copy costs less: a third of the CPU time for
 * 64 KiB, a twentieth for 1 KiB (docs/engine.md; bench/bench_move.c measures it). In both cases the
 * guest may write the bytes meanwhile; they are used only after they are private. A file that
 * shrinks under the copy gives zeros and sets `gone` (base/region.c), and the piece counts as a
 * short read. Salvage reads the file, because a load through the mapping would allocate memory for
 * a hole of a sparse file.
 */
static int fetch(struct xvt_ring *r, struct xvt_piece *p, struct xvt_loop *loop)
{
	const struct xvt_geometry *g = &r->region->g;
	uint64_t off = xvt_data_off(g, r->index) + xvt_pos_off(g, p->pos);
	int err;

	if (!r->by_read) {
		memcpy(p->bytes, r->region->map + off, p->len);
		p->res = xvt_host_region_gone(r->region) ? -EIO : (int)p->len;
		return 0;
	}
	err = xvt_loop_read(loop, &p->op, r->region->fd, p->bytes, p->len, off);
	if (!err)
		r->drain.reads++;
	return err;
}

/* Fetches [r->read_pos, to), one piece a sub-buffer. Returns false if the budget ended before `to`;
 * the pieces fetched until then count. */
static bool queue(struct xvt_ring *r, struct xvt_loop *loop, uint64_t to, bool salvage,
		  uint64_t ceiling, uint32_t *room)
{
	struct xvt_ring_drain *d = &r->drain;
	const struct xvt_geometry *g = &r->region->g;

	/* `to` lies before read_pos, or further on than a ring holds. In overwrite mode and at the
	 * border of a generation `to` is unchecked input from the guest. */
	if (to - xvt_pos_trunc(g, d->read_pos) > g->ring_size)
		return false;
	while (d->read_pos != to) {
		uint64_t end = xvt_pos_next_subbuf(g, d->read_pos);
		struct xvt_piece *p;
		uint32_t len;

		if (xvt_pos_before(to, end))
			end = to;
		len = (uint32_t)(end - d->read_pos);
		if (len > *room)
			return false;
		/* A ring without a clock may never get one, and would keep borrowed memory for
		 * ever. */
		p = xvt_pool_get(r->pool, sizeof(*p) + len, r->phase != XVT_PHASE_NEW);
		/*
		 * A ring that holds nothing always gets one piece. Otherwise the merge could stop
		 * for good: records of other rings use the budget up while they wait for this
		 * ring's bound. The merge does not wait for a ring that never had a clock.
		 */
		if (!p && !d->first && (r->phase != XVT_PHASE_NEW || r->salvage))
			p = xvt_pool_get_over(r->pool, sizeof(*p) + len);
		if (!p)
			return false;
		*room -= len;
		memset(p, 0, sizeof(*p));
		p->op.done = read_done;
		p->ring = r;
		p->pos = d->read_pos;
		p->len = len;
		p->ceiling_clock = ceiling;
		p->ceiling_ns = xvt_host_clock_ns(r->host_clock, ceiling);
		p->floor_ns = d->floor_clock ? xvt_host_clock_ns(r->host_clock, d->floor_clock) : 0;
		p->salvage = salvage;
		p->after_skip = d->skipped;
		p->after_roll_back = d->rolled_back;
		p->past = d->restored;
		d->skipped = d->rolled_back = false;
		p->bytes = (uint8_t *)(p + 1);
		if (fetch(r, p, loop)) {
			xvt_pool_put(r->pool, p, sizeof(*p) + len);
			return false;
		}
		if (d->tail)
			d->tail->next = p;
		else
			d->first = p;
		d->tail = p;
		d->read_pos = end;
	}
	return true;
}

static bool is_broken(struct xvt_ring *r, const char *field, uint64_t value, const char *why)
{
	const struct xvt_fault fault = { field, why, value };

	broken(r, &fault);
	return true;
}

/* Returns true, with the fault noted, if this copy of the table's entry for generation `next` holds
 * values that no writer stores. */
static bool is_bad_entry(struct xvt_ring *r, const struct xvt_ring_gen *gen, uint32_t next)
{
	const uint64_t size = r->region->g.subbuf_size;

	if (gen->generation != next)
		return is_broken(r, "gen.generation", gen->generation, "not the one that began");
	if (gen->prev_commit & 7)
		return is_broken(r, "gen.prev_commit", gen->prev_commit, "not a multiple of 8");
	if (gen->prev_resv & 7)
		return is_broken(r, "gen.prev_resv", gen->prev_resv, "not a multiple of 8");
	if (gen->start & (size - 1))
		return is_broken(r, "gen.start", gen->start, "not where a sub-buffer begins");
	if (gen->start - gen->prev_resv >= size)
		return is_broken(r, "gen.start", gen->start, "not the border after prev_resv");
	return false;
}

/* The writer began again (boot, kexec, module load). Finish every generation that was not read to
 * its end: up to its commit as usual, from there to its resv as salvage. */
static bool follow_generations(struct xvt_ring *r, struct xvt_loop *loop, uint32_t now,
			       uint64_t ceiling, uint32_t *room)
{
	struct xvt_ring_drain *d = &r->drain;
	const struct xvt_geometry *g = &r->region->g;

	while (d->generation != now) {
		uint32_t next = d->generation + 1;
		const struct xvt_ring_gen *shared;
		struct xvt_ring_gen gen;

		if (now - d->generation > XVT_GEN_SLOTS) {
			/* More restarts than the table holds: the generations between are lost. */
			next = now;
			d->skipped = true;
		}
		shared = &r->ctl->gen[next % XVT_GEN_SLOTS];
		gen.generation = xvt_load_acquire(&shared->generation);
		gen.start = xvt_load(&shared->start);
		gen.prev_commit = xvt_load(&shared->prev_commit);
		gen.prev_resv = xvt_load(&shared->prev_resv);
		gen.prev_nest = xvt_load(&shared->prev_nest);
		if (is_bad_entry(r, &gen, next))
			return false;
		/* The distance from the sub-buffer's begin, which an overrun overwrites first;
		 * queue() measures the same. */
		if (gen.prev_resv - xvt_pos_trunc(g, d->read_pos) <= g->ring_size &&
		    gen.prev_resv - gen.prev_commit <= g->ring_size) {
			/* An earlier pass may have ended anywhere in between, by its budget. */
			if (xvt_pos_before(d->read_pos, gen.prev_commit) &&
			    !queue(r, loop, gen.prev_commit, false, ceiling, room))
				return false;
			if (!queue(r, loop, gen.prev_resv, true, ceiling, room))
				return false;
		} else {
			d->skipped = true;
		}
		d->left_behind += gen.prev_nest <= XVT_MAXNEST + 1 ? gen.prev_nest : 0;
		d->read_pos = gen.start;
		d->generation = next;
	}
	return true;
}

static bool tail_is_there(const struct xvt_ring *r)
{
	const struct xvt_ring_drain *d = &r->drain;
	const struct xvt_geometry *g = &r->region->g;
	const uint64_t *at;
	uint32_t i;

	/* In stop mode a sub-buffer that was taken to its end is cleared, so its bytes prove
	 * nothing. */
	if (!(d->read_pos & (g->subbuf_size - 1)))
		return true;
	at = (const uint64_t *)(r->region->map + xvt_data_off(g, r->index) +
				xvt_pos_off(g, d->read_pos - d->nr_before * sizeof(uint64_t)));
	for (i = 0; i < d->nr_before; i++) {
		if (xvt_load(&at[i]) != d->before[i])
			return false;
	}
	return true;
}

/* True if a word that only grows has become smaller. resv is not compared: a discarded record takes
 * its space back. */
static bool smaller(const struct xvt_ring_words *now, const struct xvt_ring_words *last)
{
	bool back = xvt_pos_before(now->commit, last->commit) ||
		    xvt_pos_before(now->attempted, last->attempted) ||
		    xvt_pos_before(now->discarded, last->discarded);
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		back |= xvt_pos_before(now->lost[i], last->lost[i]);
	return back;
}

/*
 * True if the region's contents are older than those read before (a roll-back). A live migration to
 * a QEMU that maps the same file writes older copies over it, page by page. The ring's words, or
 * its data, can go back while the host's nonce stays. Words that went back may have grown again by
 * now, past the positions that were read.
 */
static bool went_back(const struct xvt_ring *r, const struct xvt_ring_words *now)
{
	const struct xvt_ring_drain *d = &r->drain;
	const struct xvt_ring_words *last = &d->last;

	if ((int32_t)(now->generation - d->generation) < 0)
		return true;
	if (now->generation != last->generation || now->backend != last->backend)
		return false;
	/* The data is compared in stop mode only: in overwrite mode the writer may overwrite it at
	 * any time. */
	return smaller(now, last) || (r->mode == XVT_ENABLE_STOP && now->commit != last->commit &&
				      now->generation == d->generation && !tail_is_there(r));
}

static uint32_t room_of(const struct xvt_ring *r)
{
	const uint32_t bytes = r->snapshot.on ? SNAPSHOT_BYTES : PASS_BYTES,
		       least = r->region->g.subbuf_size;

	return r->salvage ? UINT32_MAX : bytes > least ? bytes : least;
}

/* True, with the fault noted, if the words hold values that no writer stores. */
static bool is_bad_look(struct xvt_ring *r, const struct xvt_ring_words *s)
{
	struct xvt_fault fault;

	if (xvt_check_words(&r->region->g, s, r->drain.read_pos, r->mode == XVT_ENABLE_OVERWRITE,
			    &fault)) {
		broken(r, &fault);
		return true;
	}
	/* Salvage ignores a bad resv: records committed below it can still be saved. */
	return !r->salvage && s->backend != XVT_BACKEND_NONE && s->resv_word & 7 &&
	       is_broken(r, "resv", s->resv_word, "not a multiple of 8");
}

/*
 * Overrun. Goes on in the middle of the ring, because its oldest end is about to be overwritten as
 * well. Salvage goes on at the oldest end, which is stable when the writer is gone; a snapshot does
 * so too, because it wants as much as possible.
 */
static void skip_overrun(struct xvt_ring *r, const struct xvt_ring_words *s)
{
	const struct xvt_geometry *g = &r->region->g;
	struct xvt_ring_drain *d = &r->drain;

	r->snapshot.hole |= !r->snapshot.begun || xvt_pos_before(d->read_pos, r->snapshot.until);
	d->read_pos = r->salvage || r->snapshot.on ? xvt_pos_roundup(g, s->resv) - g->ring_size
						   : xvt_pos_trunc(g, s->commit) - g->ring_size / 2;
	if (r->snapshot.frozen && xvt_pos_before(s->commit, d->read_pos))
		d->read_pos = s->commit;
	d->skipped = true;
}

/* Proofs of a complete look. all: all data up to commit was fetched; frozen: the words of a ring
 * set aside have not changed. */
static void prove(struct xvt_ring *r, uint64_t proof_clock, bool all, bool frozen)
{
	struct xvt_ring_drain *d = &r->drain;
	const struct xvt_ring_words *s = &d->last;

	d->idle = d->unread = false;
	/* Older pages can look idle, and newer ones may follow until the machine runs again. */
	if (!r->guest.still)
		d->back_while_still = false;
	if (!proof_clock)
		return;
	d->look_clock = proof_clock;
	if (all && frozen)
		d->passed_clock = proof_clock;
	if (all && s->nest == 0 && s->commit == s->resv && !d->back_while_still) {
		d->idle = true;
		d->idle_clock = proof_clock;
		d->passed_clock = proof_clock;
		if (r->clock.last_node_clock && r->clock.last_node_clock <= proof_clock)
			d->proven_node_ns = xvt_clock_map_last(&r->clock.map)->host_ns;
	}
}

/* Fetches what a snapshot found in the ring before it measured its clock. */
static bool queue_found(struct xvt_ring *r, struct xvt_loop *loop, uint64_t commit, uint32_t *room)
{
	const struct xvt_ring_snapshot *c = &r->snapshot;

	if (!c->found_clock || xvt_pos_before(commit, c->found_pos) ||
	    !xvt_pos_before(r->drain.read_pos, c->found_pos))
		return true;
	return queue(r, loop, c->found_pos, false, c->found_clock, room);
}

void xvt_drain_look(struct xvt_ring *r, struct xvt_loop *loop, uint64_t proof_clock)
{
	struct xvt_ring_drain *d = &r->drain;
	const struct xvt_geometry *g = &r->region->g;
	const bool overwrite = r->mode == XVT_ENABLE_OVERWRITE;
	struct xvt_ring_words s;
	uint64_t ceiling;
	uint32_t room = room_of(r);
	bool all, frozen;

	d->kept = d->tail;
	if (r->phase == XVT_PHASE_BROKEN)
		return;
	/* Whatever the look before found is kept by now, or it left `idle` false. */
	if (d->idle)
		d->floor_clock = d->idle_clock;
	d->last_before = d->last;
	d->passed_before = d->passed_clock;
	d->proven_node_before = d->proven_node_ns;
	d->taken = 0;
	d->bad_words = false;
	d->unread = true; /* cleared at the end of a complete look */
	xvt_ring_words(r->ctl, &r->region->g, &s);
	ceiling = r->snapshot.frozen ? r->snapshot.look_clock : xvt_clock_read_ordered();
	/*
	 * After a roll-back nothing of this look is used; xvt_drain_resync() decides before the
	 * next look where to go on. Salvage skips the check: its writer is gone and adds no data.
	 */
	d->went_back = !r->salvage && went_back(r, &s);
	if (d->went_back) {
		d->idle = false;
		d->floor_clock = 0;
		return;
	}
	if (r->snapshot.frozen)
		s.commit = r->snapshot.look.commit;
	/* A parked ring whose words have not changed: its writer stays inside one event. A later
	 * writer would have moved one of these words. */
	frozen = r->phase == XVT_PHASE_ASIDE && s.nest == d->last.nest && s.resv == d->last.resv &&
		 s.commit == d->last.commit && s.generation == d->last.generation;
	if (s.resv != d->last.resv || s.nest != d->last.nest)
		d->changed_clock = ceiling;
	d->last = s;
	if (s.generation != d->generation &&
	    !follow_generations(r, loop, s.generation, ceiling, &room))
		return;
	if (s.generation != d->entered && xvt_pos_before(s.commit, d->read_pos))
		return; /* the writer is setting up the new generation */
	d->entered = s.generation;
	if (is_bad_look(r, &s))
		return;
	if (overwrite && s.resv - xvt_pos_trunc(g, d->read_pos) > g->ring_size)
		skip_overrun(r, &s);
	d->taken = d->read_pos;
	all = queue_found(r, loop, s.commit, &room) &&
	      queue(r, loop, s.commit, false, ceiling, &room);
	d->taken = d->read_pos - d->taken;
	if (r->salvage && all && s.resv - s.commit <= g->ring_size)
		queue(r, loop, s.resv & ~7ull, true, ceiling, &room);
	prove(r, proof_clock, all, frozen);
}

/* The kernel, or a thread of the loop, may still write into pieces whose reads are under way: their
 * memory is not used again, nor unmapped. */
static void give_up_reads(struct xvt_ring *r)
{
	struct xvt_ring_drain *d = &r->drain;
	struct xvt_piece *p = d->kept ? d->kept->next : d->first;

	if (p)
		d->read_pos = p->pos;
	if (p && r->pool->arena)
		r->pool->arena->in_use = true;
	for (; p; p = p->next)
		p->ring = NULL;
	if (d->kept)
		d->kept->next = NULL;
	else
		d->first = NULL;
	d->tail = d->kept;
	d->reads = 0;
	d->idle = false;
}

int xvt_drain_wait(struct xvt_ring *r, struct xvt_loop *loop)
{
	while (r->drain.reads) {
		int err = xvt_loop_run_only(loop, READ_WAIT_NS, read_done);

		if (err < 0) {
			give_up_reads(r);
			return err;
		}
	}
	return 0;
}

/*
 * A read that came short or failed. If the file shrank, nothing more is read from the region. Any
 * other failure is tried again in the next pass: until then the guest's ring keeps the data, and
 * counts what it has no room for.
 */
static void read_failed(struct xvt_ring *r, int res)
{
	struct xvt_ring_drain *d = &r->drain;

	/* Records there are not copied after all. */
	d->passed_clock = d->passed_before;
	d->proven_node_ns = d->proven_node_before;
	d->unread = true;
	if (xvt_host_region_shrank(r->region) || d->read_failed)
		return;
	d->read_failed = true;
	snprintf(r->fault.text, sizeof(r->fault.text), "%s; it is tried again in each pass",
		 res < 0 ? strerror(-res) : "a read of its file came short");
	r->fault.what = "cannot be read";
	r->fault.is_new = true;
}

static void drop_from(struct xvt_ring *r, struct xvt_piece *bad, struct xvt_piece *before)
{
	struct xvt_ring_drain *d = &r->drain;
	struct xvt_piece *p = bad;

	while (p) {
		struct xvt_piece *next = p->next;

		d->skipped |= p->after_skip;
		if (p->after_roll_back) {
			d->rolled_back = true;
			d->restored = p->past;
		}
		xvt_pool_put(r->pool, p, sizeof(*p) + p->len);
		p = next;
	}
	if (before)
		before->next = NULL;
	else
		d->first = NULL;
	d->tail = before;
	d->idle = false;
}

/* True if the writer may have overwritten the piece's sub-buffer before its copy ended (overwrite
 * mode); then the bytes are a mixture of two laps. */
static bool overtaken(const struct xvt_ring *r, const struct xvt_piece *p, uint64_t resv,
		      bool moved)
{
	return r->mode == XVT_ENABLE_OVERWRITE &&
	       (moved || resv - xvt_pos_trunc(&r->region->g, p->pos) > r->region->g.ring_size);
}

/* Drops the oldest copies of this pass, those that were overwritten during the copy. A snapshot
 * keeps the newer ones: the ring holds nothing else to read in their place. */
static void drop_overtaken(struct xvt_ring *r, uint64_t resv)
{
	struct xvt_ring_drain *d = &r->drain;
	struct xvt_piece **at = &d->first, *before = NULL, *p;

	for (; *at && (*at)->res == INT32_MAX; at = &(*at)->next)
		before = *at;
	while ((p = *at) && p->res == (int)p->len && overtaken(r, p, resv, false)) {
		*at = p->next;
		if (d->tail == p)
			d->tail = before;
		if (*at)
			(*at)->after_skip = true;
		else
			d->skipped = true;
		r->snapshot.hole |= !r->snapshot.begun || xvt_pos_before(p->pos, r->snapshot.until);
		xvt_pool_put(r->pool, p, sizeof(*p) + p->len);
		d->idle = false;
	}
}

/* Clears whole sub-buffers before cons declares them free, so that salvage finds no data of the
 * last lap in them. */
static void clear_taken(struct xvt_ring *r)
{
	struct xvt_ring_drain *d = &r->drain;
	const struct xvt_geometry *g = &r->region->g;
	uint64_t end = xvt_pos_trunc(g, d->held_pos);

	/* A hostile guest's generation may begin 2^63 bytes from here. An honest writer in this
	 * mode is never more than a ring ahead of cons. */
	if (end - d->clear_pos > g->ring_size)
		d->clear_pos = end;
	while (d->clear_pos != end) {
		uint8_t *subbuf =
			r->region->map + xvt_data_off(g, r->index) + xvt_pos_off(g, d->clear_pos);

		/* The first word is cleared first: if the recorder dies before cons is moved, it
		 * marks the sub-buffer as taken. */
		xvt_store_release((uint64_t *)subbuf, (uint64_t)0);
		xvt_barrier();
		memset(subbuf, 0, g->subbuf_size);
		d->clear_pos += g->subbuf_size;
	}
}

/* Keeps the words before read_pos, which tail_is_there() compares. */
static void keep_tail(struct xvt_ring *r, const struct xvt_piece *p)
{
	struct xvt_ring_drain *d = &r->drain;
	uint32_t words = p->len / sizeof(uint64_t);

	d->nr_before = words < XVT_TAIL_WORDS ? words : XVT_TAIL_WORDS;
	memcpy(d->before, p->bytes + p->len - d->nr_before * sizeof(uint64_t),
	       d->nr_before * sizeof(uint64_t));
}

static uint64_t settled_sum(const struct xvt_ring_settled *s)
{
	uint64_t sum = XVT_MAGIC + s->cons + s->attempted + s->discarded + s->still;
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		sum += s->lost[i];
	return sum;
}

/* Writes the position and counters of an idle ring into the region, where a snapshot of the
 * machine includes them. `sum` is 0 while the words are written. */
static void settle(struct xvt_ring *r)
{
	struct xvt_ring_drain *d = &r->drain;
	struct xvt_ring_settled *to = &r->host->settled, s = d->settled;
	unsigned int i;

	s.still = 0;
	if (d->idle && d->read_pos == d->last.commit) {
		s.cons = d->read_pos;
		s.attempted = d->last.attempted;
		s.discarded = d->last.discarded;
		memcpy(s.lost, d->last.lost, sizeof(s.lost));
		s.still = r->guest.still;
	}
	s.sum = settled_sum(&s);
	if (s.sum == d->settled.sum && s.cons == d->settled.cons && xvt_load(&to->sum) == s.sum)
		return;
	d->settled = s;
	xvt_store(&to->sum, (uint64_t)0); /* invalid while it is written */
	xvt_wmb();
	xvt_store(&to->cons, s.cons);
	xvt_store(&to->attempted, s.attempted);
	xvt_store(&to->discarded, s.discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		xvt_store(&to->lost[i], s.lost[i]);
	xvt_store(&to->still, s.still);
	/* pairs with the acquire in restored_from(), after a restore */
	xvt_store_release(&to->sum, s.sum);
}

/* Loads the words that settle() wrote, each once. Returns false if they were never written, are
 * those written last (so they did not go back), or contradict the ring's own words. */
static bool restored_from(const struct xvt_ring *r, const struct xvt_ring_words *now,
			  struct xvt_ring_settled *s)
{
	const struct xvt_ring_settled *from = &r->host->settled;
	unsigned int i;

	s->sum = xvt_load_acquire(&from->sum);
	s->cons = xvt_load(&from->cons);
	s->attempted = xvt_load(&from->attempted);
	s->discarded = xvt_load(&from->discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		s->lost[i] = xvt_load(&from->lost[i]);
	s->still = xvt_load(&from->still);
	if (s->sum == r->drain.settled.sum && s->cons == r->drain.settled.cons)
		return false;
	return s->sum == settled_sum(s) && !(s->cons & 7) &&
	       now->commit - xvt_pos_trunc(&r->region->g, s->cons) <= r->region->g.ring_size &&
	       (int64_t)(now->commit - s->cons) >= 0 &&
	       (int64_t)(now->attempted - s->attempted) >= 0;
}

void xvt_drain_advance_cons(struct xvt_ring *r)
{
	/* The recorder starts at the begin of a sub-buffer. Until it has gone on, cons stays at the
	 * position that an earlier recorder had reached in that sub-buffer. */
	const uint64_t held = r->drain.held_pos, skip = r->decode.skip_until;
	const bool behind = skip - held < r->region->g.subbuf_size;

	xvt_store_release(&r->host->cons, behind ? skip : held);
}

/* Frees the region up to held_pos for the writer. */
static void publish(struct xvt_ring *r)
{
	if (r->mode == XVT_ENABLE_STOP)
		clear_taken(r);
	/* In stop mode the release pairs with xvt_writer_may_open(). In overwrite mode the writer
	 * does not read cons: it is where salvage, or the next recorder, goes on. */
	xvt_drain_advance_cons(r);
}

/* Position behind the records that were emitted, or are being emitted. The position may be a little
 * further, because a run is emitted in parts. */
static uint64_t emitted_to(const struct xvt_ring *r)
{
	const struct xvt_run *run = r->runs.first;

	while (run && run->taken == run->count)
		run = run->next;
	if (run)
		return run->taken ? run->pos + run->len : run->pos;
	if (r->head.have || r->decode.stashed) /* a LOST record has the position of the next one */
		return r->decode.rec.pos;
	return r->drain.first ? r->decode.reader.pos : r->drain.read_pos;
}

void xvt_drain_release(struct xvt_ring *r, bool all)
{
	const uint64_t pos = all ? r->drain.read_pos : emitted_to(r);
	struct xvt_ring_words now;

	/* After a rollback hold() holds nothing: positions of the copies may be another past's. */
	if (r->salvage || r->snapshot.on || r->account.roll_backs ||
	    !xvt_pos_before(r->drain.held_pos, pos))
		return;
	xvt_ring_words(r->ctl, &r->region->g, &now);
	if (went_back(r, &now)) /* the next look finds out, too */
		return;
	r->drain.held_pos = pos;
	publish(r);
}

/* Releases what is held beyond its part of the ring, so that the writer does not run out of
 * room. */
static void hold(struct xvt_ring *r)
{
	const struct xvt_geometry *g = &r->region->g;
	const bool old = xvt_pos_before(r->drain.held_pos, r->drain.found_pos);
	const uint64_t most = g->ring_size / (old ? HELD_PART_OLD : HELD_PART);
	const uint64_t least = xvt_pos_trunc(g, r->drain.read_pos) - xvt_pos_trunc(g, most);

	if (r->own || r->account.roll_backs)
		r->drain.held_pos = r->drain.read_pos;
	else if (xvt_pos_before(r->drain.held_pos, least))
		r->drain.held_pos = least;
	publish(r);
}

void xvt_drain_take(struct xvt_ring *r, bool rolled_back)
{
	struct xvt_ring_drain *d = &r->drain;
	const struct xvt_geometry *g = &r->region->g;
	struct xvt_piece *p, *before;
	uint64_t resv;
	bool moved;

	/* orders the copies before this load of resv; pairs with the writer's xvt_wmb() */
	xvt_rmb();
	resv = xvt_load_acquire(&r->ctl->resv);
	/* A resv of another generation may have another back-end's encoding, and cannot be used
	 * here. */
	moved = xvt_load(&r->ctl->generation) != d->last.generation;
	resv = xvt_resv_pos(d->last.backend, g->subbuf_shift, resv);
	if (rolled_back) {
		/* The words of this pass are another past's; so are faults in them. */
		d->last = d->last_before;
		d->bad_words = false;
		r->fault.is_new = false;
	}
	if (r->snapshot.on)
		d->kept = NULL; /* a snapshot drops pieces anywhere in the list */
	if (r->snapshot.on && !rolled_back && !moved)
		drop_overtaken(r, resv);
	/* Only the pieces of this look: very many older ones may wait for the guest's clock. */
	before = d->kept;
	for (p = before ? before->next : d->first; p; before = p, p = p->next) {
		d->read_failed &= p->res != (int)p->len;
		if (p->res == (int)p->len && !rolled_back && !overtaken(r, p, resv, moved))
			continue;
		if (p->res == INT32_MAX)
			continue; /* complete since an earlier pass */
		if (r->by_read && !r->salvage && p->res != (int)p->len)
			read_failed(r, p->res);
		/* A short piece: the file shrank. Rolled back: the bytes belong to another past. */
		d->read_pos = p->pos;
		drop_from(r, p, before);
		break;
	}
	for (p = d->kept ? d->kept->next : d->first; p; p = p->next) {
		if (p->res != INT32_MAX && !p->next)
			keep_tail(r, p);
		p->res = INT32_MAX;
	}
	if (d->bad_words)
		xvt_ring_set_phase(r, XVT_PHASE_BROKEN);
	if (r->salvage || r->snapshot.on || rolled_back || d->went_back ||
	    r->phase == XVT_PHASE_BROKEN)
		return;
	xvt_ring_keep_words(r);
	settle(r);
	hold(r);
}

/*
 * True if the ring itself goes on from read_pos, so that only the host's words had gone back. If
 * one of its counters were smaller, the next look and all later ones would find a roll-back again.
 */
static bool goes_on(const struct xvt_ring *r, const struct xvt_ring_words *s)
{
	const struct xvt_ring_drain *d = &r->drain;

	return s->generation == d->last.generation && s->backend == d->last.backend &&
	       s->commit - xvt_pos_trunc(&r->region->g, d->read_pos) <= r->region->g.ring_size &&
	       (int64_t)(s->commit - d->read_pos) >= 0 && !smaller(s, &d->last) && tail_is_there(r);
}

/* Chooses where to begin if nothing says how far the older past had been delivered. Counters that
 * did not go back go on. */
static void start_anew(const struct xvt_ring *r, const struct xvt_ring_words *now,
		       struct xvt_ring_settled *from, struct xvt_past *past)
{
	const struct xvt_ring_words *at = smaller(now, &r->drain.last) ? now : &r->drain.last;

	from->attempted = at->attempted;
	from->discarded = at->discarded;
	memcpy(from->lost, at->lost, sizeof(from->lost));
	past->counted_from = at->commit;
	past->skip_until = xvt_pos_trunc(&r->region->g, now->commit);
	past->proven_until = past->skip_until;
}

/* Chooses where to begin from the host's own words, which went back with the ring. */
static void start_settled(const struct xvt_ring_words *now, const struct xvt_ring_settled *from,
			  struct xvt_past *past)
{
	past->counted_from = from->cons;
	past->skip_until = from->cons;
	past->proven_until = !from->still			      ? from->cons
			     : xvt_pos_before(now->commit, now->resv) ? now->resv
								      : now->commit;
}

bool xvt_drain_resync(struct xvt_ring *r)
{
	struct xvt_ring_drain *d = &r->drain;
	const struct xvt_geometry *g = &r->region->g;
	struct xvt_ring_settled from;
	struct xvt_ring_words s;
	struct xvt_past past;

	if (r->phase == XVT_PHASE_BROKEN)
		return false;
	/* Before the look: records reserved after it carry the new number. Numbers of earlier
	 * records prove nothing, because the word may have gone back. */
	r->words.nr_bumps = 0;
	xvt_ring_bump_epoch(r);
	xvt_ring_words(r->ctl, &r->region->g, &s);
	d->idle = d->went_back = false;
	d->back_while_still = r->guest.still;
	if (goes_on(r, &s))
		return false;
	past.seen_until = s.commit;
	past.epoch = r->words.epoch;
	if (restored_from(r, &s, &from))
		start_settled(&s, &from, &past);
	else
		start_anew(r, &s, &from, &past);
	xvt_ring_rebase(r, &from, &past);
	d->last = s;
	d->generation = d->entered = s.generation;
	d->read_pos = xvt_pos_trunc(g, past.skip_until);
	d->clear_pos = d->held_pos = d->found_pos = d->read_pos;
	d->rolled_back = true;
	d->changed_clock = xvt_clock_read();
	return true;
}
