// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * test_crash.c - writers that stop for ever, anywhere: what is left must be readable up to
 * commit, and salvage past it must give finished records with exact times and nothing else.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ut_nest.h"

static struct ut_ring ring;
static struct ut_nest nest;
static struct ut_recs recs;

static jmp_buf died;
static uint64_t die_at;

/* Which nested events there are: (event, label) -> one more, as in test_nesting.c. */
struct irq {
	uint32_t in;
	enum ut_label at;
	uint32_t len;
	bool discard;
};

static const struct scenario {
	const char *name;
	uint32_t outer_len;
	uint32_t ts_bits;
	bool discard_second;
	struct irq irq[3];
} scenarios[] = {
	{ "plain events", 8, 32, false, { { 0 } } },
	{ "full stamps", 8, 3, false, { { 0 } } },
	{ "crossings", 700, 32, false, { { 0 } } },
	{ "a discard", 24, 32, true, { { 0 } } },
	{ "a full stamp inside a discard", 24, 3, true, { { 1, UT_PAYLOAD, 8, false } } },
	{ "an event inside the payload", 24, 32, false, { { 1, UT_PAYLOAD, 8, false } } },
	{ "three deep",
	  24,
	  5,
	  false,
	  { { 1, UT_D, 40, false }, { 2, UT_PAYLOAD, 16, false }, { 3, UT_F, 8, false } } },
	{ "a nested crossing", 600, 32, false, { { 1, UT_PAYLOAD, 600, false } } },
	{ "a nested crossing that is discarded", 600, 32, false, { { 1, UT_D, 600, true } } },
	{ "an event inside a discard",
	  40,
	  32,
	  true,
	  { { 1, UT_GIVE_BACK, 8, false }, { 2, UT_GIVE_BACK, 8, false } } },
};

static bool used[3];

static void interrupt_or_die(struct ut_nest *n, enum ut_label label)
{
	const struct scenario *s = n->arg;
	uint32_t i;

	if (n->points == die_at)
		longjmp(died, 1);
	for (i = 0; i < 3; i++) {
		if (used[i] || !s->irq[i].len || s->irq[i].at != label ||
		    s->irq[i].in != ut_current(n))
			continue;
		used[i] = true;
		ut_event(n, s->irq[i].len, s->irq[i].discard);
	}
}

/* Returns whether it died at point die_at; false means that it has fewer points. */
static bool run(const struct scenario *s)
{
	static uint32_t i;

	ut_ring_reset(&ring, 0ull - 2 * 1024, XVT_ENABLE_STOP);
	ring.clock_step = 5;
	ut_nest_init(&nest, &ring);
	nest.hook = interrupt_or_die;
	nest.arg = (void *)s;
	memset(used, 0, sizeof(used));
	if (setjmp(died))
		return true;
	for (i = 0; i < 3; i++)
		ut_event(&nest, s->outer_len, i == 1 && s->discard_second);
	return false;
}

static void check_remains(void)
{
	const struct xvt_ring_ctl *c = ring.w.ctl;
	struct xvt_reader reader = ring.reader;
	uint32_t i, in_flight = 0, below;
	uint64_t stop, seen = 0;

	recs.count = 0;
	ut_peek(&ring, &reader, c->commit, &recs);
	below = recs.count;
	stop = ut_salvage(&ring, reader, ut_resv(&ring), &recs);
	for (i = 0; i < recs.count; i++) {
		const struct ut_rec *r = &recs.rec[i];
		const struct ut_truth *ev;

		if (r->kind == XVT_REC_INFLIGHT) {
			ut_assert(i >= below);
			in_flight++;
		}
		if (r->kind != XVT_REC_RECORD)
			continue;
		ut_assert(r->number < nest.count);
		ev = &nest.ev[r->number];
		ut_assert(ev->done && !(seen >> r->number & 1));
		ut_assert(r->pos == ev->pos && ut_time_is_right(&nest, ev, r));
		seen |= 1ull << r->number;
	}
	/* Only what was open when it died can be in flight. */
	ut_assert(in_flight <= nest.depth);
	/* What is finished is there, also behind a header that was never stored. */
	for (i = 0; i < nest.count; i++)
		ut_assert(!nest.ev[i].done || seen >> i & 1);
	ut_assert(stop == ut_resv(&ring));
}

START_TEST(death_at_every_point_leaves_exact_finished_records)
{
	const struct scenario *s = &scenarios[_i];

	ut_ring_init(&ring, &(struct ut_conf){ .ts_bits = s->ts_bits });
	for (die_at = 1; run(s); die_at++)
		check_remains();
	ck_assert_uint_gt(die_at, 60);
	ck_assert_uint_eq(nest.depth, 0);
	check_remains();
	ck_assert_uint_eq(ring.w.ctl->commit, ut_resv(&ring));
	ut_ring_fini(&ring);
}
END_TEST

START_TEST(new_generation_after_death_keeps_the_old_records_readable)
{
	const struct scenario *s = &scenarios[_i];
	static const uint8_t uuid[16] = { 1 };
	struct xvt_layout layout = { .kind = XVT_KIND_USER, .clock_id = XVT_CLOCK_CALLER };
	struct xvt_region_hdr *h;
	uint32_t before;

	ut_ring_init(&ring, &(struct ut_conf){ .ts_bits = s->ts_bits, .subbuf_count = 8 });
	for (die_at = 1; run(s); die_at++) {
		const struct xvt_ring_ctl *c = ring.w.ctl;
		const struct xvt_ring_gen *gen;
		uint64_t commit = c->commit, resv = ut_resv(&ring);
		struct xvt_writer w;

		check_remains();
		before = recs.count;
		h = (void *)ring.base;
		xvt_region_new_generation(ring.base, &ring.g, &layout, uuid);
		gen = &c->gen[h->generation % XVT_GEN_SLOTS];
		ut_assert(gen->generation == h->generation && c->generation == h->generation);
		ut_assert(gen->prev_commit == commit && gen->prev_resv == resv);
		ut_assert(gen->start == xvt_pos_roundup(&ring.g, resv));
		ut_assert(ut_resv(&ring) == gen->start && c->commit == gen->start && !c->nest);

		/* The new writer goes on there, and what the old one left is untouched. */
		xvt_writer_init(&w, ring.base, &ring.g, 0);
		w.clock = ut_clock;
		w.clock_arg = &ring;
		ut_assert(!xvt_write(&w, XVT_ID_U64, &(uint64_t){ 77 }, 8));
		recs.count = 0;
		{
			struct xvt_reader r = ring.reader;

			ut_peek(&ring, &r, gen->prev_commit, &recs);
			ut_salvage(&ring, r, gen->prev_resv, &recs);
			ut_assert(recs.count == before);
			xvt_reader_init(&r, &ring.g, gen->start);
			recs.count = 0;
			ut_peek(&ring, &r, c->commit, &recs);
			ut_assert(recs.count == 2 && recs.rec[1].number == 77);
			ut_assert(recs.rec[0].subbuf.generation == h->generation);
		}
	}
	ut_ring_fini(&ring);
}
END_TEST

/*
 * A process writes, another one drains through its own mapping, and kills the first when it
 * has had enough. Numbers then run 1..n without a hole or a copy, up to the last DONE.
 */
static void write_for_ever(struct ut_ring *u)
{
	uint64_t number = 1;

	for (;;) {
		uint64_t payload[4] = { number, ~number, number, ~number };
		struct xvt_slot slot;

		if (xvt_reserve(&u->w, XVT_ID_U64, sizeof(payload), &slot)) {
			sched_yield(); /* full: the reader may share our CPU */
			continue;
		}
		if (number % 7 == 0) {
			xvt_discard(&u->w, &slot);
			number++;
			continue;
		}
		memcpy(slot.payload, payload, sizeof(payload));
		xvt_commit(&u->w, &slot);
		number++;
	}
}

static void pin(int index)
{
	cpu_set_t all, one;
	int cpu, n = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || n++ != index % CPU_COUNT(&all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void check_numbers(struct ut_recs *r, uint64_t *next, uint64_t *ts)
{
	uint32_t i;

	for (i = 0; i < r->count; i++) {
		if (r->rec[i].kind != XVT_REC_RECORD)
			continue;
		if (*next % 7 == 0)
			++*next;
		ut_assert(r->rec[i].number == *next && r->rec[i].len == 32);
		ut_assert(r->rec[i].ts >= *ts);
		*ts = r->rec[i].ts;
		++*next;
	}
	r->count = 0;
}

static void move_to_shared_memory(struct ut_ring *u)
{
	uint8_t *shared = mmap(NULL, u->g.region_size, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(shared, MAP_FAILED);
	memcpy(shared, u->base, u->g.region_size);
	free(u->base);
	u->base = shared;
	xvt_writer_init(&u->w, shared, &u->g, 0);
}

START_TEST(killed_writer_leaves_every_number_once)
{
	uint64_t next = 1, ts = 0, stop, lost, counted;
	const struct xvt_ring_ctl *c;
	uint32_t in_flight = 0, i;
	int status;
	pid_t pid;

	ut_ring_init(&ring, &(struct ut_conf){ .start = 0ull - 64 * 1024,
					       .subbuf_count = _i % 2 ? 4 : 32 });
	move_to_shared_memory(&ring);
	c = ring.w.ctl;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		pin(1);
		write_for_ever(&ring);
	}
	recs.count = 0;
	while (next < 100000 + 1000 * (uint64_t)_i) {
		ut_drain(&ring, &recs);
		if (!recs.count)
			sched_yield();
		check_numbers(&recs, &next, &ts);
	}
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

	ut_drain(&ring, &recs);
	check_numbers(&recs, &next, &ts);
	stop = ut_salvage(&ring, ring.reader, ut_resv(&ring), &recs);
	for (i = 0; i < recs.count; i++)
		in_flight += recs.rec[i].kind == XVT_REC_INFLIGHT;
	check_numbers(&recs, &next, &ts);
	ck_assert_uint_le(in_flight, 1);
	in_flight += stop != ut_resv(&ring);
	ck_assert_uint_le(in_flight, 1);
	/* Every attempt is one of these, but for the one that it died in. */
	lost = ut_lost(&ring);
	counted = next - 1 + lost;
	ck_assert_uint_ge(c->attempted, counted);
	ck_assert_uint_le(c->attempted, counted + 2); /* a discard just before, not numbered */
	munmap(ring.base, ring.g.region_size);
}
END_TEST

Suite *suite_crash(void)
{
	Suite *s = suite_create("crash");
	TCase *tc = tcase_create("every-point");
	const int n = (int)(sizeof(scenarios) / sizeof(scenarios[0]));

	tcase_add_loop_test(tc, death_at_every_point_leaves_exact_finished_records, 0, n);
	tcase_add_loop_test(tc, new_generation_after_death_keeps_the_old_records_readable, 0, n);
	suite_add_tcase(s, tc);

	tc = tcase_create("two-processes");
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, killed_writer_leaves_every_number_once, 0, 8);
	suite_add_tcase(s, tc);
	return s;
}
