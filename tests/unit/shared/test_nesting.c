// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * test_nesting.c - events inside events. T1 to T10 are the smallest schedules that broke one
 * or another published version of the before_stamp/write_stamp algorithm; then every
 * schedule of a bounded size. The oracle never asks which path was taken: the decoded time
 * must be the clock value that the event was given (ut_time_is_right() has the one exception),
 * and times never decrease.
 */
#include <setjmp.h>
#include <stdio.h>

#include "ut_nest.h"

static struct ut_ring ring;
static struct ut_nest nest;
static struct ut_recs recs;

static void setup(void)
{
	ut_ring_init(&ring, &(struct ut_conf){ 0 });
	ut_nest_init(&nest, &ring);
}

static void setup_16_bits(void)
{
	ut_ring_init(&ring, &(struct ut_conf){ .ts_bits = 16 });
	ut_nest_init(&nest, &ring);
}

static void teardown(void)
{
	ut_ring_fini(&ring);
}

/* Start a nested event the first time that event `in` stands at `at`. */
struct interrupt {
	uint32_t in;
	enum ut_label at;
	uint32_t len;
	bool discard;
	bool used;
};

struct plan {
	struct interrupt irq[4];
};

static void follow_plan(struct ut_nest *n, enum ut_label label)
{
	struct plan *p = n->arg;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		struct interrupt *irq = &p->irq[i];

		if (irq->len && !irq->used && irq->at == label && irq->in == ut_current(n)) {
			irq->used = true;
			ut_event(n, irq->len, irq->discard);
		}
	}
}

static void use_plan(struct plan *p)
{
	nest.hook = follow_plan;
	nest.arg = p;
}

static void check_plan_was_used(const struct plan *p)
{
	uint32_t i;

	for (i = 0; i < 4; i++)
		ck_assert(p->irq[i].used || !p->irq[i].len);
}

/*
 * Drain and compare with what happened: every event that was not lost or discarded is there
 * once, with its own clock value and epoch; buffer order is time order inside an epoch
 * (unless the test moved the clock back); the counters add up.
 */
static void check_all(bool clock_may_go_back)
{
	static bool seen[UT_NEST_EVENTS];
	uint64_t last_ts = 0, lost = 0, discarded = 0, delivered = 0;
	uint32_t i, last_epoch = 0;

	recs.count = 0;
	memset(seen, 0, sizeof(seen));
	ck_assert_uint_eq(ring.w.ctl->nest, 0);
	ck_assert_uint_eq(ring.w.ctl->commit, ut_resv(&ring));
	ut_drain(&ring, &recs);
	for (i = 0; i < recs.count; i++) {
		const struct ut_rec *r = &recs.rec[i];
		const struct ut_truth *ev;

		if (!clock_may_go_back && r->epoch == last_epoch)
			ck_assert_uint_ge(r->ts, last_ts);
		last_ts = r->ts;
		last_epoch = r->epoch;
		if (r->kind != XVT_REC_RECORD)
			continue;
		ck_assert_uint_lt(r->number, nest.count);
		ev = &nest.ev[r->number];
		ck_assert(!seen[r->number]);
		seen[r->number] = true;
		ck_assert(ut_time_is_right(&nest, ev, r));
		ck_assert_uint_eq(r->pos, ev->pos);
		ck_assert(ev->done);
		delivered++;
	}
	for (i = 0; i < nest.count; i++) {
		lost += nest.ev[i].err == -ENOSPC;
		discarded += nest.ev[i].discarding;
		ck_assert(seen[i] || nest.ev[i].err || nest.ev[i].discarding);
	}
	ck_assert_uint_eq(ring.w.ctl->attempted, nest.count);
	ck_assert_uint_eq(ring.w.ctl->discarded, discarded);
	ck_assert_uint_eq(ut_lost(&ring), lost);
	ck_assert_uint_eq(delivered + discarded + lost, nest.count);
}

/* The labels are found by counting accesses; this holds them against the ring's words. */
static uint32_t labels_seen[UT_LABELS];
static uint64_t resv_at_c;

static void check_label(struct ut_nest *n, enum ut_label label)
{
	const struct xvt_ring_ctl *c = n->ring->w.ctl;
	const struct ut_truth *ev = &n->ev[ut_current(n)];
	uint64_t word;

	labels_seen[label]++;
	switch (label) {
	case UT_B:
		ck_assert_uint_ne(c->before_stamp, ev->ts);
		break;
	case UT_C:
		ck_assert_uint_eq(c->before_stamp, ev->ts);
		resv_at_c = c->resv;
		break;
	case UT_D:
		ck_assert_uint_ne(c->resv, resv_at_c);
		ck_assert_uint_ne(c->write_stamp, ev->ts);
		break;
	case UT_E:
		ck_assert_uint_ne(c->resv, resv_at_c);
		ck_assert_uint_ne(c->write_stamp, ev->ts);
		break;
	case UT_PAYLOAD:
	case UT_F:
		memcpy(&word, n->ring->w.data + xvt_pos_off(&n->ring->g, ev->pos), 8);
		ck_assert_uint_eq(xvt_header_id(word), XVT_ID_U64);
		ck_assert(!(word & XVT_H_DONE));
		break;
	case UT_PUBLISH:
		memcpy(&word, n->ring->w.data + xvt_pos_off(&n->ring->g, ev->pos), 8);
		ck_assert(ev->discarding || word & XVT_H_DONE);
		ck_assert_uint_eq(c->nest, 1);
		ck_assert_uint_ne(c->commit, ut_resv(n->ring));
		break;
	case UT_UNNEST:
		ck_assert_uint_eq(c->nest, 1);
		ck_assert_uint_eq(c->commit, ut_resv(n->ring));
		break;
	case UT_RECHECK:
		ck_assert_uint_eq(c->nest, 0);
		break;
	case UT_GIVE_BACK:
		ck_assert_uint_eq(c->before_stamp, 0);
		break;
	default:
		break;
	}
}

START_TEST(hook_labels_stand_where_they_say)
{
	static const enum ut_label once[] = { UT_A, UT_A_BEFORE, UT_A_AFTER, UT_CLOCK,
					      UT_B, UT_C,	 UT_D,	     UT_PAYLOAD };
	uint32_t i;

	nest.hook = check_label;
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	for (i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		ck_assert_msg(labels_seen[once[i]] == 3, "label %d", once[i]);
	ck_assert_uint_eq(labels_seen[UT_F], 3);
	ck_assert_uint_eq(labels_seen[UT_PUBLISH], 3);
	ck_assert_uint_eq(labels_seen[UT_UNNEST], 3);
	ck_assert_uint_eq(labels_seen[UT_RECHECK], 3);
}
END_TEST

/* T1 to T8 differ in data only. n outer events, each `len` long; then what interrupts. */
static struct {
	const char *name;
	uint32_t outer;
	uint32_t discard; /* bit per outer event */
	struct plan plan;
} schedules[] = {
	{ "T1 seed 000: e0; e1 [B: e1']; e2", 3, 0, { { { 1, UT_C, 8, 0, 0 } } } },
	{ "T2 a389d86: e0; e1 [after clock: e1']; e2", 3, 0, { { { 1, UT_CLOCK, 8, 0, 0 } } } },
	{ "T3 55ea4cf: e0; e1 [C: e1' [B: e1'']]; e2",
	  3,
	  0,
	  { { { 1, UT_D, 8, 0, 0 }, { 2, UT_C, 8, 0, 0 } } } },
	{ "T4 dd93942: e0; e1; e2 [B: e2' [C: e2'']]",
	  4,
	  0,
	  { { { 2, UT_C, 8, 0, 0 }, { 3, UT_D, 8, 0, 0 } } } },
	{ "T5 put-back: e0; e1 [D: e1' [A: e1'']]; e2",
	  3,
	  0,
	  { { { 1, UT_PAYLOAD, 8, 0, 0 }, { 2, UT_A_BEFORE, 8, 0, 0 } } } },
	/* Three of these fill a sub-buffer: e1'' crosses while e1 and e1' are in the old one. */
	{ "T6 page repair: e0; e1 [A: e1' [C: e1'' crosses]]; e2; e3",
	  4,
	  0,
	  { { { 1, UT_A_BEFORE, 400, 0, 0 }, { 2, UT_D, 800, 0, 0 } } } },
	{ "T7 discard 2020: e0 [A: e0']; e1 discarded; e2",
	  3,
	  2,
	  { { { 0, UT_A_BEFORE, 8, 0, 0 } } } },
	{ "T7 again, the discarded event taking a full stamp", 4, 4, { { { 1, UT_D, 8, 0, 0 } } } },
	{ "T8 padding: e0; e1 [D: e1'] discarded; e2", 3, 2, { { { 1, UT_PAYLOAD, 8, 0, 0 } } } },
};

START_TEST(published_counterexample_decodes_exactly)
{
	struct plan p = schedules[_i].plan;
	uint32_t i;

	use_plan(&p);
	ring.clock_step = 1000; /* T7, T8: with 16 bits a gap of 66 events needs a full stamp */
	for (i = 0; i < schedules[_i].outer; i++)
		ck_assert_int_eq(ut_event(&nest, 8, schedules[_i].discard >> i & 1), 0);
	check_plan_was_used(&p);
	ck_assert_uint_eq(ut_lost(&ring), 0);
	check_all(false);
}
END_TEST

START_TEST(largest_record_after_a_long_gap_crosses_once)
{
	/* T9: a full stamp would make it too large for any sub-buffer. */
	uint32_t len = ring.w.max_record - 8;

	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	ring.clock += 1ull << 40;
	ck_assert_int_eq(ut_event(&nest, len, false), 0);
	ck_assert_uint_eq(ut_resv(&ring), 2 * ring.g.subbuf_size);
	ck_assert_uint_eq(ring.w.ctl->retries, 0);
	check_all(false);
}
END_TEST

START_TEST(closed_subbuf_does_not_shrink_when_a_discard_is_interrupted)
{
	/*
	 * T10: O stands after [A]. X takes the last bytes of the sub-buffer and discards; just
	 * before it gives them back, Y opens the next sub-buffer. X must not take the position
	 * back, and O must not land in the closed sub-buffer after Y.
	 */
	struct plan p = { { { 2, UT_A_BEFORE, 0, true, false },
			    { 3, UT_GIVE_BACK, 8, false, false } } };
	const struct ut_rec *e[8];
	uint32_t left;

	ck_assert_int_eq(ut_event(&nest, 800, false), 0);
	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	left = ring.g.subbuf_size - (uint32_t)ut_resv(&ring);
	p.irq[0].len = left - 8;
	use_plan(&p);
	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	check_plan_was_used(&p);
	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	check_all(false);
	ck_assert_uint_eq(ut_events(&recs, e, 8), 5);
	ck_assert_uint_eq(e[2]->number, 4); /* Y, in the new sub-buffer */
	ck_assert_uint_ge(e[2]->pos, ring.g.subbuf_size);
	ck_assert_uint_eq(e[3]->number, 2); /* O after it */
}
END_TEST

/*
 * All schedules of a bounded size: depth-first over the choices "does an event start here?",
 * "is this one discarded?", "does the clock jump here?", "does the host drain here?".
 */
#define CHOICES_MAX 4096u
#define LOOKS_MAX   1024u

struct explorer {
	uint8_t choice[CHOICES_MAX];
	uint32_t used;	 /* of choice[], by the running schedule */
	uint32_t known;	 /* of choice[], from the last one */
	uint32_t budget; /* events that may still start */
	uint32_t jumps;
	uint32_t drains;
	uint32_t depth_max;
	uint32_t len;
	bool discards;
	bool new_epoch;
	bool observe;
	/* What a host could have loaded, at each point. */
	uint32_t looks;
	struct {
		uint64_t resv;
		uint64_t commit;
		uint64_t clock;
		uint32_t nest;
	} look[LOOKS_MAX];
};

struct bound {
	const char *name;
	uint32_t outer, budget, depth, jumps, drains, len, ts_bits;
	bool discards, new_epoch, observe;
	bool coarse;	/* the clock stands still but for jumps */
	uint64_t least; /* schedules: fewer means that the hooks went missing */
};

static bool pick(struct explorer *x)
{
	ut_assert(x->used < CHOICES_MAX);
	if (x->used == x->known)
		x->choice[x->known++] = 0;
	return x->choice[x->used++];
}

static bool next_schedule(struct explorer *x)
{
	x->known = x->used;
	while (x->known && x->choice[x->known - 1])
		x->known--;
	if (!x->known)
		return false;
	x->choice[x->known - 1] = 1;
	return true;
}

static void look(struct ut_nest *n, struct explorer *x)
{
	const struct xvt_ring_ctl *c = n->ring->w.ctl;

	ut_assert(!xvt_pos_before(ut_resv(n->ring), c->commit));
	ut_assert(x->looks < LOOKS_MAX);
	ut_assert(!x->looks || !xvt_pos_before(c->commit, x->look[x->looks - 1].commit));
	x->look[x->looks].nest = c->nest;
	x->look[x->looks].resv = ut_resv(n->ring);
	x->look[x->looks].commit = c->commit;
	x->look[x->looks++].clock = n->ring->clock;
}

/* What is below commit must decode at any moment; what is above must be salvageable. */
static void observe(struct ut_nest *n)
{
	static struct ut_recs now;
	struct xvt_reader reader = n->ring->reader;
	uint32_t i;

	now.count = 0;
	ut_peek(n->ring, &reader, n->ring->w.ctl->commit, &now);
	ut_salvage(n->ring, reader, ut_resv(n->ring), &now);
	for (i = 0; i < now.count; i++) {
		const struct ut_rec *r = &now.rec[i];
		const struct ut_truth *ev;

		if (r->kind != XVT_REC_RECORD)
			continue;
		ut_assert(r->number < n->count);
		ev = &n->ev[r->number];
		ut_assert(ev->committing);
		ut_assert(ut_time_is_right(n, ev, r));
	}
}

/* Into a new epoch, either way; or back and later forth again, unannounced. */
static void jump(struct ut_nest *n, struct explorer *x)
{
	bool forward = x->new_epoch ? pick(x) : x->jumps == 1;

	x->jumps--;
	if (forward)
		n->ring->clock += 53;
	else
		n->ring->clock -= 53;
	if (x->new_epoch)
		n->ring->w.host->epoch++;
}

static void explore_point(struct ut_nest *n, enum ut_label label)
{
	struct explorer *x = n->arg;

	(void)label;
	look(n, x);
	if (x->observe)
		observe(n);
	if (x->budget && n->depth < x->depth_max && pick(x)) {
		x->budget--;
		ut_event(n, x->len, x->discards && pick(x));
		look(n, x);
	}
	if (x->jumps && pick(x))
		jump(n, x);
	if (x->drains && pick(x)) {
		x->drains--;
		ut_drain(n->ring, &recs);
	}
}

/*
 * The rule of xvt_check.h: a host that took the time, then found nest == 0, then loaded resv,
 * then commit, and commit >= resv, may believe that no record from commit on is older than
 * that time. The three loads may be as far apart as they like.
 */
static void check_idle_rule(const struct explorer *x)
{
	uint32_t i, j, k, n;

	for (i = 0; i < x->looks; i++) {
		if (x->look[i].nest)
			continue;
		for (j = k = i; j < x->looks; j++) {
			if (j > i && x->look[j].resv == x->look[j - 1].resv)
				continue; /* proves no more than the one before */
			for (k = j; k < x->looks; k++)
				if (!xvt_pos_before(x->look[k].commit, x->look[j].resv))
					break;
			for (n = 0; k < x->looks && n < nest.count; n++)
				ut_assert(!nest.ev[n].done ||
					  nest.ev[n].decoded + !ring.clock_step >
						  x->look[i].clock ||
					  xvt_pos_before(nest.ev[n].pos, x->look[k].commit));
		}
	}
}

/* As check_all(), for a ring that was drained at times. */
static void check_schedule(const struct explorer *x, const struct bound *b)
{
	uint64_t seen = 0, lost = 0, discarded = 0, last_ts = 0;
	uint32_t i, last_epoch = 0;

	ut_assert(ring.w.ctl->nest == 0);
	ut_assert(ring.w.ctl->commit == ut_resv(&ring));
	ut_drain(&ring, &recs);
	for (i = 0; i < recs.count; i++) {
		const struct ut_rec *r = &recs.rec[i];

		ut_assert(b->jumps || r->ts >= last_ts);
		ut_assert(r->epoch >= last_epoch);
		last_ts = r->ts;
		last_epoch = r->epoch;
		if (r->kind != XVT_REC_RECORD)
			continue;
		ut_assert(r->number < nest.count);
		ut_assert(!(seen >> r->number & 1));
		seen |= 1ull << r->number;
		ut_assert(ut_time_is_right(&nest, &nest.ev[r->number], r));
		nest.ev[r->number].decoded = r->ts;
	}
	for (i = 0; i < nest.count; i++) {
		lost += nest.ev[i].err != 0;
		discarded += nest.ev[i].discarding;
		ut_assert((seen >> i & 1) == (!nest.ev[i].err && !nest.ev[i].discarding));
	}
	ut_assert(ring.w.ctl->attempted == nest.count);
	ut_assert(ring.w.ctl->discarded == discarded);
	ut_assert(ut_lost(&ring) == lost);
	if (!b->jumps)
		check_idle_rule(x);
}

static uint64_t explore(const struct bound *b)
{
	static struct explorer x;
	uint64_t schedules_run = 0;
	uint32_t i;

	memset(&x, 0, sizeof(x));
	do {
		ut_ring_reset(&ring, 0ull - 1024, XVT_ENABLE_STOP);
		ut_nest_init(&nest, &ring);
		nest.hook = explore_point;
		nest.arg = &x;
		ring.clock_step = !b->coarse;
		recs.count = 0;
		x.used = 0;
		x.budget = b->budget;
		x.jumps = b->jumps;
		x.drains = b->drains;
		x.depth_max = b->depth + 1;
		x.len = b->len;
		x.discards = b->discards;
		x.new_epoch = b->new_epoch;
		x.observe = b->observe;
		x.looks = 0;
		for (i = 0; i < b->outer; i++)
			ut_event(&nest, b->len, b->discards && pick(&x));
		check_schedule(&x, b);
		schedules_run++;
	} while (next_schedule(&x));
	return schedules_run;
}

static const struct bound bounds[] = {
	{ "three events, two nested, two deep", 3, 2, 2, 0, 0, 300, 32, false, false, false, false,
	  500 },
	{ "with a narrow stamp", 3, 2, 2, 0, 0, 300, 3, false, false, false, false, 500 },
	{ "with discards", 3, 2, 2, 0, 0, 300, 32, true, false, false, false, 500 },
	{ "a new epoch", 2, 1, 1, 1, 0, 300, 32, true, true, false, false, 500 },
	{ "a new epoch, two deep", 1, 2, 2, 1, 0, 300, 32, false, true, false, false, 500 },
	{ "a clock that goes back and forth", 2, 1, 1, 2, 0, 16, 3, false, false, false, false,
	  500 },
	{ "a full ring and a host that drains", 6, 1, 1, 0, 1, 800, 32, false, false, false, false,
	  500 },
	{ "three nested, three deep", 1, 3, 3, 0, 0, 300, 32, false, false, false, false, 500 },
	{ "a crossing at every event", 4, 2, 2, 0, 0, 800, 32, false, false, false, false, 500 },
	{ "salvage at every point", 2, 1, 1, 0, 0, 300, 32, true, false, true, false, 450 },
	{ "salvage at every point, two nested", 1, 2, 2, 0, 0, 300, 3, true, false, true, false,
	  500 },
	{ "a clock that stands still", 3, 2, 2, 0, 0, 300, 32, true, false, false, true, 500 },
	{ "a clock that stands still and leaps", 2, 2, 1, 1, 0, 16, 3, true, false, false, true,
	  500 },
};

START_TEST(every_schedule_of_a_bound_decodes_exactly)
{
	const struct bound *b = &bounds[_i];
	uint64_t n;

	ut_ring_init(&ring, &(struct ut_conf){ .ts_bits = b->ts_bits });
	n = explore(b);
	if (getenv("UT_VERBOSE"))
		printf("%-40s %9llu schedules\n", b->name, (unsigned long long)n);
	ck_assert_msg(n >= b->least, "%s: only %llu schedules", b->name, (unsigned long long)n);
	ut_ring_fini(&ring);
}
END_TEST

Suite *suite_nesting(void)
{
	Suite *s = suite_create("nesting");
	TCase *tc = tcase_create("published");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, hook_labels_stand_where_they_say);
	tcase_add_loop_test(tc, published_counterexample_decodes_exactly, 0,
			    (int)(sizeof(schedules) / sizeof(schedules[0])));
	tcase_add_test(tc, largest_record_after_a_long_gap_crosses_once);
	tcase_add_test(tc, closed_subbuf_does_not_shrink_when_a_discard_is_interrupted);
	suite_add_tcase(s, tc);

	tc = tcase_create("published-16-bits");
	tcase_add_checked_fixture(tc, setup_16_bits, teardown);
	tcase_add_loop_test(tc, published_counterexample_decodes_exactly, 0,
			    (int)(sizeof(schedules) / sizeof(schedules[0])));
	suite_add_tcase(s, tc);

	tc = tcase_create("exhaustive");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_schedule_of_a_bound_decodes_exactly, 0,
			    (int)(sizeof(bounds) / sizeof(bounds[0])));
	suite_add_tcase(s, tc);
	return s;
}
