// SPDX-License-Identifier: GPL-2.0
/*
 * test_schedules.c - the output is a function of what lies in the rings and of the nodes that were
 * measured, and of nothing else: docs/merge.md. XVT_SEED=n plays one schedule again.
 */
#include "history.h"
#include "suites.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define SCHEDULES	 10400u
#define OF_A_HISTORY	 52u /* of them play the same history */
#define UNTOLD_SCHEDULES 2080u

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void print_event(const char *which, const struct played *p, size_t i)
{
	const struct engine_event *ev = &p->out[i];

	if (i >= p->nr_out)
		return;
	printf("%s %zu: %" PRIu64 " ns ring %u guest %" PRIu64 " id %u number %" PRIu64
	       " true %" PRIu64 " flags 0x%x\n",
	       which, i, ev->ns, ev->ring, ev->guest, ev->id, ev->number, ev->second, ev->flags);
}

static bool equal(const struct engine_event *a, const struct engine_event *b)
{
	return !memcmp(a, b, offsetof(struct engine_event, beside_ns));
}

static void print_difference(const struct played *a, const struct played *b)
{
	size_t i = 0, from, end;

	while (i < a->nr_out && i < b->nr_out && equal(&a->out[i], &b->out[i]))
		i++;
	from = i < 3 ? 0 : i - 3;
	for (end = i + 4, i = from; i < end; i++) {
		print_event("without a look", a, i);
		print_event("   this order", b, i);
	}
}

static bool same(const struct played *a, const struct played *b)
{
	size_t i = 0;

	while (i < a->nr_out && i < b->nr_out && equal(&a->out[i], &b->out[i]))
		i++;
	return i == a->nr_out && i == b->nr_out;
}

/* By (host time, VM, ring); a ring's own by position, which is how they are numbered. */
static bool in_order(const struct history *h, const struct played *p)
{
	uint64_t number[ENGINE_RINGS_MAX] = { 0 };
	size_t i;

	for (i = 0; i < p->nr_out; i++) {
		const struct engine_event *a = i ? &p->out[i - 1] : NULL, *b = &p->out[i];
		const uint32_t vm = h->vm[b->ring];

		if (a && (a->ns > b->ns ||
			  (a->ns == b->ns &&
			   (h->vm[a->ring] > vm || (h->vm[a->ring] == vm && a->ring > b->ring)))))
			return false;
		if (b->id == XVT_ID_U64 && b->number <= number[b->ring])
			return false;
		if (b->id == XVT_ID_U64)
			number[b->ring] = b->number;
	}
	return true;
}

/* Each event says itself when it was stamped. */
static size_t wrong_times(const struct played *p)
{
	size_t i, wrong = 0;

	for (i = 0; i < p->nr_out; i++)
		wrong += p->out[i].id == XVT_ID_U64 && p->out[i].ns != p->out[i].second;
	return wrong;
}

static size_t flagged(const struct played *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->nr_out; i++) {
		if (!(p->out[i].flags & ~XVT_EVENT_F_RECOVERED))
			continue;
		if (!n++)
			print_event("flagged", p, i);
	}
	return n;
}

/*
 * In some of 100,000 histories a clock value fits both sides of a border for a host that looked too
 * seldom to know: it was set back by 100 ms at a stop, and the record is from less than that before
 * it. The trace calls that a guess, and a host that looked more often knows; so what comes of it
 * does depend on the looks, which what_depends_on_looking_is_flagged is about. Nothing else may be
 * flagged, and the earlier of the two is told, with a bound that has both.
 */
static bool in_doubt(const struct history *h, const struct played *p)
{
	size_t i, n = flagged(p);

	for (i = 0; n && i < p->nr_out; i++) {
		const struct engine_event *e = &p->out[i];

		if (!(e->flags & ~XVT_EVENT_F_RECOVERED))
			continue;
		ck_assert_msg((e->flags & ~XVT_EVENT_F_RECOVERED) == XVT_EVENT_F_UNCONFIRMED &&
				      (e->id != XVT_ID_U64 ||
				       (e->ns <= e->second && e->second - e->ns <= p->bound_ns)),
			      "history %" PRIu64 ": a wrong time", h->seed);
	}
	return n != 0;
}

/* What no order of looks can excuse. */
static void check_reference(const struct history *h, const struct played *p)
{
	ck_assert_uint_gt(p->nr_out, 0);
	if (p->before_end != p->nr_out)
		print_event("not out before the end", p, p->before_end);
	ck_assert_msg(p->before_end == p->nr_out, "history %" PRIu64 ": some only at the end",
		      h->seed);
	ck_assert_msg(in_order(h, p), "history %" PRIu64 ": out of order", h->seed);
	if (history_is_exact(h))
		ck_assert_msg(!wrong_times(p), "history %" PRIu64 ": wrong times", h->seed);
}

/* Losses are told by the header of the next sub-buffer, so where that begins moves them. */
static size_t without_losses(struct engine_event *out, size_t n)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++) {
		if (out[i].id != XVT_ID_LOST)
			out[kept++] = out[i];
	}
	return kept;
}

/* The same history in rings of another size, in the other mode. */
static void check_other_shape(struct history *h)
{
	const struct engine_shape shape = h->shape;
	struct played a, b;
	size_t i;

	for (i = 0; i < h->nr_ops; i++) {
		if (h->ops[i].kind == OP_FILL)
			return; /* what is lost depends on the size */
	}
	history_play(h, &schedule_none, &a, NULL, NULL);
	h->shape.subbuf_size *= 2;
	h->shape.ts_bits = 0;
	h->shape.mode ^= XVT_ENABLE_STOP ^ XVT_ENABLE_OVERWRITE;
	history_play(h, &schedule_none, &b, NULL, NULL);
	h->shape = shape;
	a.nr_out = without_losses(a.out, a.nr_out);
	b.nr_out = without_losses(b.out, b.nr_out);
	if (!same(&a, &b)) {
		print_difference(&a, &b);
		ck_abort_msg("another trace in other rings: history %" PRIu64, h->seed);
	}
	played_free(&a);
	played_free(&b);
}

static void check_schedules(uint64_t first, uint64_t end, uint64_t *while_on, uint64_t *loose,
			    uint64_t *all)
{
	struct played reference = { 0 }, p;
	struct history h = { 0 };
	struct xvt_loop *loop;
	uint64_t seed, histories = 0, doubtful = 0;
	bool skip = false;

	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	for (seed = first; seed < end; seed++) {
		struct schedule s = schedule_make(~seed);

		if (seed == first || seed % OF_A_HISTORY == 0) {
			history_free(&h);
			played_free(&reference);
			history_make(&h, seed / OF_A_HISTORY);
			h.shape.loop = loop; /* half of a schedule's time would be to make one */
			history_play(&h, &schedule_none, &reference, NULL, NULL);
			if (getenv("XVT_SEED"))
				printf("history %" PRIu64
				       ": %u rings, %zu operations, %zu events\n",
				       h.seed, h.shape.rings, h.nr_ops, reference.nr_out);
			check_reference(&h, &reference);
			skip = in_doubt(&h, &reference);
			histories++;
			doubtful += skip;
			if (!skip)
				check_other_shape(&h);
		}
		if (skip)
			continue;
		history_play(&h, &s, &p, NULL, NULL);
		if (!same(&reference, &p) || p.late || p.before_end != p.nr_out) {
			print_difference(&reference, &p);
			ck_abort_msg("another trace (late %" PRIu64
				     ", out before the end %zu of %zu): XVT_SEED=%" PRIu64
				     " CK_RUN_SUITE=schedules build/tests/host-check",
				     p.late, p.before_end, p.nr_out, seed);
		}
		*while_on += p.while_on;
		*loose += p.loose;
		*all += p.nr_out;
		played_free(&p);
	}
	/* Most of them for a pause of more than a second in which the ring was not looked at. */
	ck_assert_msg(doubtful <= 1 + histories / 10, "%" PRIu64 " of %" PRIu64 " are in doubt",
		      doubtful, histories);
	xvt_loop_free(loop);
	history_free(&h);
	played_free(&reference);
}

START_TEST(the_trace_does_not_depend_on_when_rings_are_looked_at)
{
	uint64_t base = number_of("XVT_SEED_BASE", 0),
		 count = number_of("XVT_SCHEDULES", SCHEDULES);
	uint64_t while_on = 0, loose = 0, all = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);

	if (getenv("XVT_SEED")) {
		base = number_of("XVT_SEED", 0);
		count = 1;
	}
	check_schedules(base, base + count, &while_on, &loose, &all);
	printf("schedules %" PRIu64 " to %" PRIu64 ": %" PRIu64 " of %" PRIu64
	       " events were out while the guests still wrote, %" PRIu64 " in the loose lane\n",
	       base, base + count - 1, while_on, all, loose);
	/* A recorder that emits nothing before the end is always right. */
	if (count >= SCHEDULES) {
		ck_assert_uint_gt(while_on, all / 8);
		ck_assert_uint_gt(loose, all / 64);
	}
}
END_TEST

struct tally {
	uint64_t right, guessed_right, guessed_wrong;
	uint64_t bounded;   /* off, by no more than the drain's bound of it */
	uint64_t wrong;	    /* further off, and not flagged as a guess: never */
	uint64_t late;	    /* without being a guess: never */
	uint64_t beyond;    /* further from the truth than the ring's bound says: never */
	uint64_t different; /* from what another schedule made of it */
};

static void tally(struct tally *t, const struct played *p)
{
	const uint32_t guess = XVT_EVENT_F_UNCONFIRMED | XVT_EVENT_F_CLOCK;
	size_t i;

	for (i = 0; i < p->nr_out; i++) {
		const struct engine_event *ev = &p->out[i];
		const uint64_t off =
			ev->ns > ev->second ? ev->ns - ev->second : ev->second - ev->ns;

		if (ev->id != XVT_ID_U64)
			continue;
		t->right += !off && !(ev->flags & guess);
		t->guessed_right += !off && ev->flags & guess;
		t->guessed_wrong += off && ev->flags & guess;
		t->bounded += off && off <= ev->beside_ns && !(ev->flags & guess);
		t->wrong += off > ev->beside_ns && !(ev->flags & guess);
		t->late += ev->flags & XVT_EVENT_F_LATE && !(ev->flags & guess);
		/* Before the attach nothing was measured, so there is no bound. */
		t->beyond += off > p->bound_ns && off > ev->beside_ns &&
			     !(ev->flags & XVT_EVENT_F_BACKLOG);
	}
}

/* What they have in common: each schedule's events of a history, by ring and number. */
static uint64_t count_different(const struct played *a, const struct played *b)
{
	size_t i, k;
	uint64_t n = 0;

	for (i = 0; i < a->nr_out; i++) {
		const struct engine_event *x = &a->out[i];

		for (k = 0; k < b->nr_out && x->id == XVT_ID_U64; k++) {
			const struct engine_event *y = &b->out[k];

			if (y->id != XVT_ID_U64 || x->ring != y->ring || x->number != y->number)
				continue;
			n += x->ns != y->ns || x->flags != y->flags;
			break;
		}
	}
	return n;
}

/*
 * Machines stand still, and some clocks jump, and no VMM says when. On which side of such a border
 * an event lies is known only from what the drain saw of it: when its ring was proven idle before,
 * when it had been copied. Then, and nowhere else, the trace depends on the times of the looks.
 * What cannot be known is flagged; what is not flagged is right, or within what the drain saw.
 */
START_TEST(what_depends_on_looking_is_flagged)
{
	struct tally t = { 0 };
	struct history h = { 0 };
	struct played first = { 0 }, p;
	struct xvt_loop *loop;
	uint64_t seed;

	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	for (seed = 0; seed < UNTOLD_SCHEDULES; seed++) {
		struct schedule s = schedule_make(~seed);

		if (seed % OF_A_HISTORY == 0) {
			history_free(&h);
			history_make_untold(&h, seed / OF_A_HISTORY);
			h.shape.loop = loop;
			played_free(&first);
			history_play(&h, &schedule_none, &first, NULL, NULL);
		}
		history_play(&h, &s, &p, NULL, NULL);
		tally(&t, &p);
		t.different += count_different(&first, &p);
		played_free(&p);
	}
	printf("%" PRIu64 " times known and right; guessed: %" PRIu64 " right, %" PRIu64
	       " not; %" PRIu64 " depend on the looks\n",
	       t.right, t.guessed_right, t.guessed_wrong, t.different);
	ck_assert_uint_eq(t.wrong, 0);
	ck_assert_uint_eq(t.late, 0);
	ck_assert_uint_eq(t.beyond, 0);
	/* Else this test shows nothing. */
	ck_assert_uint_gt(t.guessed_wrong, 0);
	ck_assert_uint_gt(t.different, 0);
	played_free(&first);
	history_free(&h);
	xvt_loop_free(loop);
}
END_TEST

Suite *schedules_suite(void)
{
	Suite *s = suite_create("schedules");
	TCase *tc = tcase_create("order");

	tcase_set_timeout(tc, 600); /* for a hang, not for a slow machine */
	tcase_add_test(tc, the_trace_does_not_depend_on_when_rings_are_looked_at);
	tcase_add_test(tc, what_depends_on_looking_is_flagged);
	suite_add_tcase(s, tc);
	return s;
}
