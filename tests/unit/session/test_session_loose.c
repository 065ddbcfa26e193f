// SPDX-License-Identifier: GPL-2.0
/* test_session_loose.c - when the order of a machine's events is left to the readers. */
#include "suites.h"

#include <string.h>

#include "recording.h"

#define RINGS 3

static struct recording rec;
static struct xvt_session *s;
static unsigned int notes;

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)level;
	ck_assert_str_eq(name, "g1");
	notes += strstr(text, "whatever reads the trace puts them in order") != NULL;
}

static void begin(enum xvt_order_when order)
{
	const struct xvt_session_options opt = { .note = on_note,
						 .mode = XVT_ENABLE_STOP,
						 .order = order,
						 .join_timeout_ns = 60 * SECOND_NS,
						 .stall_timeout_ns = 60 * SECOND_NS,
						 .memory_bytes = 8 << 20 };

	notes = 0;
	recording_begin(&rec, RINGS, &opt);
	s = rec.s;
}

/* Without an end in order: no guest answers. */
static void end(void)
{
	xvt_session_free(s);
	rec.s = NULL;
	recording_end(&rec);
}

static bool is_loose(void)
{
	uint32_t i;

	for (i = 0; i < RINGS; i++)
		ck_assert_int_eq(s->rings[i]->guest.loose, rec.vm->loose);
	return rec.vm->loose;
}

/* A ring is written until nothing more fits, and the recorder looks once. */
static void fill_ring(void)
{
	struct xvt_writer w;
	uint64_t n = 0, sleep_ns;

	xvt_store(&s->rings[1]->host->enable, (uint32_t)XVT_ENABLE_STOP);
	xvt_writer_init(&w, rec.map, &rec.g, 1);
	while (!xvt_write(&w, XVT_ID_U64, &n, sizeof(n)))
		n++;
	s->next_pass_clock = 0;
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
}

static void pass(void)
{
	uint64_t sleep_ns;

	s->next_pass_clock = 0;
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
}

START_TEST(a_full_ring_makes_its_machine_loose_for_a_pass)
{
	begin(XVT_ORDER_AUTO);
	pass();
	ck_assert(!is_loose());
	fill_ring();
	ck_assert(is_loose());
	pass();
	ck_assert(!is_loose());
	ck_assert_uint_eq(notes, 1);
	end();
}
END_TEST

START_TEST(half_of_the_memory_makes_its_machine_loose)
{
	const uint64_t most = 64 << 10;
	uint8_t *pieces[256];
	uint32_t n = 0;

	begin(XVT_ORDER_AUTO);
	while (xvt_pool_used(&rec.vm->pool) + most <= xvt_pool_most(&rec.vm->pool) / 2) {
		ck_assert_uint_lt(n, 256);
		pieces[n] = xvt_pool_get(&rec.vm->pool, most, true);
		ck_assert_ptr_nonnull(pieces[n++]);
	}
	xvt_session_loosen(s);
	ck_assert(!is_loose());
	pieces[n] = xvt_pool_get(&rec.vm->pool, most, true);
	ck_assert_ptr_nonnull(pieces[n++]);
	xvt_session_loosen(s);
	ck_assert(is_loose());
	while (n)
		xvt_pool_put(&rec.vm->pool, pieces[--n], most);
	xvt_session_loosen(s);
	ck_assert(!is_loose());
	/* The state comes and goes: one note says it. */
	rec.vm->ring_full = true;
	xvt_session_loosen(s);
	ck_assert(is_loose());
	ck_assert_uint_eq(notes, 1);
	end();
}
END_TEST

START_TEST(the_user_can_decide)
{
	begin(XVT_ORDER_NOW);
	fill_ring();
	ck_assert(!is_loose());
	ck_assert_uint_eq(notes, 0);
	end();
	begin(XVT_ORDER_LATER);
	pass();
	ck_assert(is_loose());
	fill_ring();
	ck_assert(is_loose());
	ck_assert_uint_eq(notes, 0);
	end();
}
END_TEST

Suite *session_loose_suite(void)
{
	Suite *suite = suite_create("session_loose");
	TCase *tc = tcase_create("loose");

	tcase_add_test(tc, a_full_ring_makes_its_machine_loose_for_a_pass);
	tcase_add_test(tc, half_of_the_memory_makes_its_machine_loose);
	tcase_add_test(tc, the_user_can_decide);
	suite_add_tcase(suite, tc);
	return suite;
}
