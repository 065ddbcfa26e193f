// SPDX-License-Identifier: GPL-2.0
/* test_session_loose.c - when the order of a machine's events is left to the readers. */
#include "suites.h"

#include <string.h>

#include "recording.h"
#include "trace/cursor.h"

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

static void begin_with(enum xvt_order_when order, uint64_t timeout_ns)
{
	const struct xvt_session_options opt = { .note = on_note,
						 .mode = XVT_ENABLE_STOP,
						 .order = order,
						 .join_timeout_ns = timeout_ns,
						 .stall_timeout_ns = timeout_ns,
						 .memory_bytes = 8 << 20 };

	notes = 0;
	recording_begin(&rec, RINGS, &opt);
	s = rec.s;
}

static void begin(enum xvt_order_when order)
{
	begin_with(order, 60 * SECOND_NS);
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
		ck_assert_int_eq(s->rings[i]->guest.loose, rec.vm->loose.on);
	return rec.vm->loose.on;
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
	s->passes.next_clock = 0;
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
}

static void pass(void)
{
	uint64_t sleep_ns;

	s->passes.next_clock = 0;
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
	rec.vm->loose.ring_full = true;
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

/* Each loss lies behind its ring's events before it, and has a time of theirs or later. */
static uint32_t losses_in_place(void)
{
	struct xvt_trace *t = recording_open(&rec);
	uint64_t newest = 0;
	struct xvt_event ev;
	struct xvt_cursor c;
	uint32_t losses = 0;
	int got;

	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	while ((got = xvt_cursor_next(&c, &ev)) == 1) {
		if (ev.hdr->id != XVT_ID_LOST) {
			newest = ev.hdr->host_ns;
			ck_assert_uint_eq(losses, 0);
			continue;
		}
		losses++;
		ck_assert_uint_gt(newest, 0);
		ck_assert_uint_ge(ev.hdr->host_ns, newest);
	}
	ck_assert_int_eq(got, 0);
	xvt_cursor_fini(&c);
	xvt_trace_close(t);
	return losses;
}

static const enum xvt_order_when orders[] = { XVT_ORDER_AUTO, XVT_ORDER_NOW, XVT_ORDER_LATER };

/* The loss of a ring that was full at the end of the recording, or of its machine. */
START_TEST(a_loss_at_a_rings_end_stands_at_the_end)
{
	begin_with(orders[_i], SECOND_NS / 100);
	fill_ring();
	ck_assert_int_eq(xvt_session_end(s), 0);
	ck_assert_uint_eq(losses_in_place(), 1);
	end();
}
END_TEST

/* The same where the recording goes on, and of what the recorder dropped. */
START_TEST(a_loss_of_a_loose_ring_has_its_time)
{
	const struct xvt_lost lost = { .dropped = 1 };
	struct xvt_event_hdr h = { .host_ns = 7000, .ring_flags = 1, .id = XVT_ID_U64, .len = 8 };
	const uint64_t n = 0;
	struct xvt_ring *r;

	begin(XVT_ORDER_LATER);
	pass();
	r = s->rings[1];
	xvt_ring_announce(s, r);
	h.ring_flags = r->id;
	xvt_trace_lane_event(s->trace, XVT_LANE_LOOSE, &h, &n);
	s->emit.newest_ns = r->session.newest_ns = h.host_ns;
	if (_i) {
		r->drain.last.lost[XVT_LOST_FULL] = r->account.reported_lost[XVT_LOST_FULL] + 3;
		xvt_ring_put_tail_loss(s, r);
	} else {
		r->session.drops = lost;
		r->session.drops_wait = s->disk.drops_wait = true;
		xvt_session_put_all_drops(s);
	}
	/* The main lane, of other machines, may go on from where it was. */
	ck_assert_uint_eq(s->emit.emitted_ns, 0);
	ck_assert_int_eq(xvt_trace_flush(s->trace), 0);
	ck_assert_uint_eq(losses_in_place(), 1);
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
	tcase_add_loop_test(tc, a_loss_at_a_rings_end_stands_at_the_end, 0, 3);
	tcase_add_loop_test(tc, a_loss_of_a_loose_ring_has_its_time, 0, 2);
	suite_add_tcase(suite, tc);
	return suite;
}
