// SPDX-License-Identifier: GPL-2.0
/*
 * history_play.c - guests that do what a history says, and a host that looks whenever it likes:
 * between any two operations, and while a writer holds its time stamp.
 */
#include "history.h"

#include <check.h>
#include <stdlib.h>

#define OPEN_MAX   2
#define BIG	   4096u
#define NODES_LATE 256 /* measured, and not known yet */

/* Check writes a line to a file for each assertion that holds, which is most of the time here. */
#define DEMAND(what)                               \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

struct play;

struct guest {
	struct play *play;
	uint32_t ring;
	size_t held_until; /* operation; the writer holds its stamp until then */
	uint64_t stamp_ns; /* host time of its newest clock read */
	uint32_t holds;	   /* writers that hold a stamp, nested */
	uint64_t hold_ns;  /* the outermost's */
	uint64_t open_ns[OPEN_MAX];
	struct xvt_slot slot[OPEN_MAX];
	uint32_t open;
	bool joined;
	bool looked; /* in the pass that is under way */
	uint64_t marks;
	struct xvt_clock_node node[NODES_LATE];
	uint32_t first, end; /* of those */
};

struct play {
	const struct history *h;
	const struct schedule *s;
	struct engine e;
	struct guest guest[ENGINE_RINGS_MAX];
	uint64_t offset[ENGINE_RINGS_MAX];
	uint64_t random;
	uint64_t now;
	size_t at; /* next operation */
	bool looking;
	uint64_t proof; /* newest that was given */
	uint64_t pass_proof;
	history_pass_fn pass;
	void *pass_arg;
};

const struct schedule schedule_none;

struct schedule schedule_make(uint64_t seed)
{
	static const uint32_t often[] = { 4, 16, 64, 160, 256 };
	uint64_t random = seed;
	struct schedule s = { .seed = seed };
	uint32_t *const may[] = { &s.look,  &s.more,  &s.take,	&s.merge, &s.learn,
				  &s.prove, &s.early, &s.tight, &s.hide };
	size_t i;

	for (i = 0; i < sizeof(may) / sizeof(may[0]); i++)
		*may[i] = often[history_random(&random) % 5];
	return s;
}

static bool chance(struct play *p, uint32_t of_256)
{
	return of_256 && history_random(&p->random) % 256 < of_256;
}

static uint64_t up_to(struct play *p, uint64_t n)
{
	return n ? history_random(&p->random) % (n + 1) : 0;
}

static uint64_t guest_clock(const struct play *p, uint32_t ring)
{
	return p->now + p->now / 1024 * p->h->creep + p->offset[p->h->vm[ring]];
}

/* ------------------------------------------------------------------ the host */

static void learn(struct play *p, struct guest *g)
{
	struct xvt_ring *r = p->e.rings[g->ring];
	struct xvt_clock_node *n = &g->node[g->first++ % NODES_LATE];
	int err = xvt_clock_map_add(&r->clock.map, n);

	if (err) { /* of the same moment as the one before */
		DEMAND(err == -EALREADY);
		return;
	}
	r->clock.node_before_clock = r->clock.last_node_clock;
	r->clock.last_node_clock = n->host_ns + n->bound_ns;
}

static void learn_some(struct play *p)
{
	uint32_t i;

	for (i = 0; i < p->e.nr_rings; i++) {
		struct guest *g = &p->guest[i];

		while (g->first != g->end && chance(p, p->s->learn))
			learn(p, g);
	}
}

/*
 * Two moments in which nest reads 0 although an event is open, and must be no proof: when an
 * inner record is finished and the outer's end is interrupted, it is not published yet; and what a
 * writer stored since it read its clock may take until the proof's delta to be seen.
 */
static bool may_hide(const struct guest *g, const struct xvt_ring_ctl *c, uint64_t proof)
{
	if (g->open && !g->holds)
		return true;
	return !g->open && g->holds == 1 && xvt_load(&c->nest) == 1 && g->hold_ns >= proof;
}

static void look(struct play *p, uint32_t ring, uint64_t proof)
{
	struct xvt_ring *r = p->e.rings[ring];
	struct xvt_piece *piece, *tail = r->drain.tail;
	const uint32_t nest = xvt_load(&r->ctl->nest);
	const bool hide = may_hide(&p->guest[ring], r->ctl, proof) && chance(p, p->s->hide);

	if (hide)
		xvt_store(&r->ctl->nest, 0u);
	xvt_drain_look(r, p->e.loop, proof);
	if (hide)
		xvt_store(&r->ctl->nest, nest);
	for (piece = tail ? tail->next : r->drain.first; piece; piece = piece->next) {
		piece->ceiling_clock = p->now;
		piece->ceiling_ns = p->now;
	}
	p->guest[ring].looked = true;
}

static void begin_pass(struct play *p)
{
	p->looking = true;
	p->pass_proof = 0;
	if (chance(p, p->s->prove)) {
		if (chance(p, p->s->early))
			p->proof = p->now;
		else
			p->proof += up_to(p, p->now - p->proof);
		p->pass_proof = p->proof;
	}
	p->e.pool.budget = chance(p, p->s->tight) ? 1 + up_to(p, 5) * 8192 : 64u << 20;
}

/* Some of the rings that this pass has not looked at, from a random one on. */
static void look_at_some(struct play *p)
{
	const uint32_t n = p->e.nr_rings, from = (uint32_t)up_to(p, n - 1);
	uint32_t i;

	for (i = 0; i < n; i++) {
		const uint32_t ring = (from + i) % n;

		if (!p->guest[ring].looked && chance(p, p->s->more))
			look(p, ring, p->pass_proof);
	}
}

static void end_pass(struct play *p)
{
	bool whole = true;
	uint32_t i;

	for (i = 0; i < p->e.nr_rings; i++) {
		struct xvt_ring *r = p->e.rings[i];

		while (r->drain.reads)
			DEMAND(xvt_loop_run(p->e.loop, 1000000000u) >= 0);
		if (p->guest[i].looked)
			xvt_drain_take(r, false);
		whole &= p->guest[i].looked;
		p->guest[i].looked = false;
		DEMAND(r->phase != XVT_PHASE_BROKEN);
	}
	p->looking = false;
	if (p->pass)
		p->pass(p->pass_arg, &p->e, whole);
}

/* Half of the schedules have windows that hold a few events, or many and must be made smaller. */
static void small_windows(struct play *p)
{
	struct xvt_merge *m = &p->e.merge;

	if (!(p->s->seed & 1))
		return;
	m->most = 1 + (uint32_t)up_to(p, 7);
	m->target = 1 + (uint32_t)up_to(p, 4);
	m->window_ns = chance(p, 128) ? 1 + up_to(p, 100) : 1u << 17;
}

/* In a quarter of the schedules any ring may be loose in any pass. */
static void loosen(struct play *p)
{
	uint32_t i;

	if ((p->s->seed & 6) != 6)
		return;
	for (i = 0; i < p->e.nr_rings; i++)
		p->e.rings[i]->guest.loose = chance(p, 64);
}

static void merge(struct play *p)
{
	loosen(p);
	p->e.merge.limit_ns = p->now;
	small_windows(p);
	engine_merge(&p->e);
}

/* What the host does in a moment. */
static void host(struct play *p)
{
	learn_some(p);
	if (!p->looking && chance(p, p->s->look))
		begin_pass(p);
	if (p->looking) {
		look_at_some(p);
		if (chance(p, p->s->take))
			end_pass(p);
	}
	if (!p->looking && chance(p, p->s->merge))
		merge(p);
}

/* All of a ring, in all schedules. */
static void drain_fully(struct play *p, uint32_t ring, uint64_t proof)
{
	struct xvt_ring *r = p->e.rings[ring];

	if (p->looking)
		end_pass(p);
	p->e.pool.budget = 64u << 20;
	do {
		look(p, ring, proof);
		end_pass(p);
	} while (r->drain.read_pos != xvt_load(&r->ctl->commit));
}

/* ------------------------------------------------------------------ the guests */

static void operation(struct play *p);

static uint64_t read_clock(void *arg)
{
	struct guest *g = arg;
	struct play *p = g->play;
	const uint64_t stamp = guest_clock(p, g->ring), stamp_ns = p->now;
	const size_t until = g->held_until;

	g->held_until = 0;
	if (until > p->at) {
		if (!g->holds++)
			g->hold_ns = stamp_ns;
		host(p);
		while (p->at < until)
			operation(p);
		host(p);
		g->holds--;
	}
	g->stamp_ns = stamp_ns;
	return stamp;
}

static void bind(struct play *p, uint32_t ring)
{
	struct xvt_writer *w = &p->e.writers[ring];

	engine_bind(&p->e, ring);
	w->clock = read_clock;
	w->clock_arg = &p->guest[ring];
}

static int reserve(struct play *p, const struct op *op, struct xvt_slot *slot)
{
	struct guest *g = &p->guest[op->ring];
	int err;

	g->held_until = p->at + op->hold;
	err = xvt_reserve(&p->e.writers[op->ring], XVT_ID_U64, op->size * 8, slot);
	DEMAND(g->held_until == 0);
	if (!err) {
		uint64_t *words = slot->payload;

		memset(words, 0x5a, op->size * 8);
		words[0] = ++p->e.numbers[op->ring];
		words[1] = g->stamp_ns;
	}
	return err;
}

static void write_event(struct play *p, const struct op *op)
{
	struct xvt_slot slot;

	DEMAND(reserve(p, op, &slot) == 0);
	xvt_commit(&p->e.writers[op->ring], &slot);
}

static void open_event(struct play *p, const struct op *op)
{
	struct guest *g = &p->guest[op->ring];
	struct xvt_slot slot;

	DEMAND(reserve(p, op, &slot) == 0);
	DEMAND(g->open < OPEN_MAX);
	g->slot[g->open++] = slot;
}

static void close_event(struct play *p, const struct op *op)
{
	struct guest *g = &p->guest[op->ring];

	DEMAND(g->open > 0);
	if (op->kind == OP_COMMIT)
		xvt_commit(&p->e.writers[op->ring], &g->slot[--g->open]);
	else
		xvt_discard(&p->e.writers[op->ring], &g->slot[--g->open]);
}

static void mark(struct play *p, const struct op *op)
{
	xvt_store_release(&p->e.rings[op->ring]->host->mark_seq, ++p->guest[op->ring].marks);
	xvt_writer_mark(&p->e.writers[op->ring]);
}

static void big(struct play *p, const struct op *op)
{
	static uint8_t payload[BIG];

	DEMAND(xvt_write(&p->e.writers[op->ring], XVT_ID_U64, payload, BIG) == -ENOSPC);
}

static void fill(struct play *p, const struct op *op)
{
	const struct op one = { .kind = OP_WRITE, .ring = op->ring, .size = 2 };
	uint32_t lost = 0;

	drain_fully(p, op->ring, 0);
	while (lost < op->size) {
		struct xvt_slot slot;

		if (reserve(p, &one, &slot))
			lost++;
		else
			xvt_commit(&p->e.writers[op->ring], &slot);
	}
	drain_fully(p, op->ring, 0);
}

static void restart(struct play *p, const struct op *op)
{
	struct xvt_ring_ctl *c = p->e.rings[op->ring]->ctl;

	p->guest[op->ring].open = 0;
	xvt_ring_new_generation(c, &p->e.region.g, c->generation + 1, XVT_CLOCK_CALLER);
	bind(p, op->ring);
}

static void measure(struct play *p, const struct op *op)
{
	struct guest *g = &p->guest[op->ring];

	DEMAND(g->end - g->first < NODES_LATE);
	/* Off by less than its bound, and never in the future. */
	g->node[g->end++ % NODES_LATE] =
		(struct xvt_clock_node){ .ring = op->ring,
					 .guest = guest_clock(p, op->ring),
					 .host_ns = p->now - op->bound_ns / 2,
					 .bound_ns = op->bound_ns };
}

/* The harness has its own clock: a bump shall show that. */
static void stop(struct play *p, const struct op *op)
{
	uint32_t i;

	for (i = 0; p->h->reported && i < p->e.nr_rings; i++) {
		struct xvt_ring *r = p->e.rings[i];
		struct xvt_epoch_bump *b;

		if (p->h->vm[i] != op->ring)
			continue;
		xvt_ring_paused(r);
		b = &r->words.bumps[(r->words.nr_bumps - 1) % XVT_BUMPS];
		b->before_ns = b->after_ns = p->now;
		r->clock.map.suspect_ns = r->clock.map.stop_ns = p->now;
	}
}

static void resume(struct play *p, const struct op *op)
{
	uint32_t i;

	p->offset[op->ring] += (uint64_t)op->jump;
	for (i = 0; p->h->reported && i < p->e.nr_rings; i++) {
		if (p->h->vm[i] == op->ring)
			xvt_ring_stood_still(p->e.rings[i], p->now);
	}
}

static void join(struct play *p, const struct op *op)
{
	struct xvt_ring *r = p->e.rings[op->ring];

	p->guest[op->ring].joined = true;
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
	r->start_ns = r->session.live_ns = p->now;
}

/* Nodes and drains are the host's; all else is a guest's. */
static void operation(struct play *p)
{
	static void (*const does[])(struct play *, const struct op *) = {
		[OP_WRITE] = write_event,   [OP_OPEN] = open_event, [OP_COMMIT] = close_event,
		[OP_DISCARD] = close_event, [OP_MARK] = mark,	    [OP_BIG] = big,
		[OP_FILL] = fill,	    [OP_RESTART] = restart, [OP_NODE] = measure,
		[OP_STOP] = stop,	    [OP_RESUME] = resume,   [OP_JOIN] = join,
	};
	const struct op *op = &p->h->ops[p->at++];

	DEMAND(op->ns >= p->now);
	p->now = op->ns;
	if (op->kind == OP_DRAIN)
		drain_fully(p, op->ring, 0);
	else
		does[op->kind](p, op);
	host(p);
}

static void end(struct play *p, struct played *out)
{
	uint32_t i;

	if (p->looking)
		end_pass(p);
	out->while_on = p->e.nr_out;
	p->now += 1000; /* more than any node's bound */
	for (i = 0; i < p->e.nr_rings; i++) {
		while (p->guest[i].first != p->guest[i].end)
			learn(p, &p->guest[i]);
		drain_fully(p, i, p->now);
	}
	/* A measurement after the last look confirms what it copied. */
	p->now += 1000;
	for (i = 0; i < p->e.nr_rings; i++) {
		struct xvt_clock_node n = { .ring = i,
					    .guest = guest_clock(p, i),
					    .host_ns = p->now };

		if (p->e.rings[i]->clock.map.count)
			(void)xvt_clock_map_add(&p->e.rings[i]->clock.map, &n);
	}
	merge(p);
	out->before_end = p->e.nr_out;
	for (i = 0; i < p->e.nr_rings; i++)
		p->e.rings[i]->clock.map.closed = true;
	p->e.merge.limit_ns = UINT64_MAX;
	small_windows(p);
	engine_merge(&p->e);
}

static void begin(struct play *p)
{
	uint32_t i;

	engine_init_shape(&p->e, &p->h->shape);
	p->random = p->s->seed;
	for (i = 0; i < p->e.nr_rings; i++) {
		struct xvt_ring *r = p->e.rings[i];

		p->guest[i].play = p;
		p->guest[i].ring = i;
		p->offset[p->h->vm[i]] = p->h->offset[p->h->vm[i]];
		r->vm = p->h->vm[i];
		phase_anew(r, XVT_PHASE_NEW);
		bind(p, i);
	}
}

static const struct history *sorted_history;

/* By time, VM and ring; a ring's own as they were emitted. */
static int compare(const void *pa, const void *pb)
{
	const struct engine_event *a = *(const struct engine_event *const *)pa,
				  *b = *(const struct engine_event *const *)pb;
	const uint32_t *vm = sorted_history->vm;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	if (vm[a->ring] != vm[b->ring])
		return vm[a->ring] < vm[b->ring] ? -1 : 1;
	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* What a reader does with the loose lane. The main lane is in order before. */
static void put_in_order(const struct history *h, struct played *p)
{
	const struct engine_event **sorted;
	struct engine_event *out;
	size_t i, loose = 0;
	uint64_t last = 0;

	for (i = 0; i < p->nr_out; i++) {
		loose += p->out[i].loose;
		if (p->out[i].loose || p->out[i].flags & XVT_EVENT_F_LATE)
			continue;
		DEMAND(p->out[i].ns >= last);
		last = p->out[i].ns;
	}
	p->loose = loose;
	if (!loose)
		return;
	sorted = malloc(p->nr_out * sizeof(*sorted));
	out = malloc(p->nr_out * sizeof(*out));
	DEMAND(sorted && out);
	for (i = 0; i < p->nr_out; i++)
		sorted[i] = &p->out[i];
	sorted_history = h;
	qsort(sorted, p->nr_out, sizeof(*sorted), compare);
	for (i = 0; i < p->nr_out; i++) {
		out[i] = *sorted[i];
		out[i].loose = 0;
	}
	free(sorted);
	free(p->out);
	p->out = out;
}

void history_play(const struct history *h, const struct schedule *s, struct played *out,
		  history_pass_fn pass, void *arg)
{
	struct play *p = calloc(1, sizeof(*p));
	uint32_t i;

	DEMAND(p);
	p->h = h;
	p->s = s;
	p->pass = pass;
	p->pass_arg = arg;
	begin(p);
	while (p->at < h->nr_ops)
		operation(p);
	end(p, out);
	out->out = p->e.out;
	out->nr_out = p->e.nr_out;
	out->late = p->e.merge.late;
	out->bound_ns = 0;
	for (i = 0; i < p->e.nr_rings; i++) {
		uint64_t bound = xvt_clock_map_bound_ns(&p->e.rings[i]->clock.map);

		out->bound_ns = bound > out->bound_ns ? bound : out->bound_ns;
	}
	p->e.out = NULL;
	put_in_order(h, out);
	engine_fini(&p->e);
	free(p);
}

void played_free(struct played *p)
{
	free(p->out);
	p->out = NULL;
}
