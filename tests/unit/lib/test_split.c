// SPDX-License-Identifier: GPL-2.0
/*
 * test_split.c - a reader in parts: what they give one after the other is what one reader gives,
 * also where an event's new time depends on events of the part before.
 */
#include "suites.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/xvtrace.h"
#include "synth.h"
#include "trace/lines.h"

#define EVENTS	  6000
#define PARTS_MAX 7
#define MS	  1000000ull
#define T0	  (1000 * MS)

static struct synth_sink sink;
static struct synth made;
static struct xvtrace *trace;

static void open_trace(const char *name)
{
	struct xvtrace_error error;

	xvtrace_close(trace);
	ck_assert_msg(!xvtrace_open(&trace, scratch_path(name), 0, &error), "%s", error.text);
}

static void setup(void)
{
	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, EVENTS, 0);
	synth_sink_save(&sink, scratch_path("split.xvt"));
	open_trace("split.xvt");
}

static void teardown(void)
{
	xvtrace_close(trace);
	trace = NULL;
	synth_fini(&made);
	synth_sink_fini(&sink);
}

static struct xvtrace_reader *reader_of(unsigned int flags)
{
	struct xvtrace_reader *r;

	ck_assert_int_eq(xvtrace_reader_new(&r, trace), 0);
	ck_assert_int_eq(xvtrace_reader_flags(r, flags), 0);
	return r;
}

/* -- what a reader gives, as text ----------------------------------------------------- */

struct told {
	struct xvtrace_reader *reader;
	pthread_t thread;
	char *text;
	size_t len;
	size_t events;
	int end;
};

static void *tell(void *arg)
{
	struct told *t = arg;
	FILE *out = open_memstream(&t->text, &t->len);
	const struct xvtrace_event *e;

	while (out && (t->end = xvtrace_next(t->reader, &e)) > 0) {
		t->events++;
		fprintf(out, "%llu %llu %u %u %d %llx %llu %u %s:%s %llu",
			(unsigned long long)e->ns, (unsigned long long)e->guest_clock, e->kind,
			e->flags, e->ring ? (int)e->ring->number : -1,
			(unsigned long long)e->number, (unsigned long long)e->bound_ns,
			e->machine ? e->machine->number : 99, e->type->system, e->type->name,
			(unsigned long long)e->lost);
		for (size_t i = 0; i < e->data_len; i++)
			fprintf(out, "%s%02x", i ? "" : " ", e->data[i]);
		fputc('\n', out);
	}
	if (out)
		fclose(out);
	return NULL;
}

/* The parts of the reader one after the other, each read in a thread, beside one reader. Returns
 * how many parts had events. */
static size_t compare(struct xvtrace_reader *whole, unsigned int count)
{
	struct xvtrace_reader *readers[PARTS_MAX];
	struct told one = { .reader = whole }, parts[PARTS_MAX] = { 0 };
	size_t at = 0, used = 0;

	ck_assert_int_eq(xvtrace_reader_split(whole, count, readers), 0);
	for (unsigned int i = 0; i < count; i++) {
		parts[i].reader = readers[i];
		ck_assert_int_eq(pthread_create(&parts[i].thread, NULL, tell, &parts[i]), 0);
	}
	tell(&one);
	ck_assert_int_eq(one.end, 0);
	for (unsigned int i = 0; i < count; i++) {
		const struct told *p = &parts[i];

		ck_assert_int_eq(pthread_join(p->thread, NULL), 0);
		ck_assert_int_eq(p->end, 0);
		ck_assert_uint_le(at + p->len, one.len);
		ck_assert_mem_eq(p->text, one.text + at, p->len);
		at += p->len;
		used += p->events > 0;
		xvtrace_reader_free(readers[i]);
		free(p->text);
	}
	ck_assert_uint_eq(at, one.len);
	ck_assert_uint_gt(one.events, 0);
	xvtrace_reader_free(whole);
	free(one.text);
	return used;
}

/* -- tests ---------------------------------------------------------------------------- */

static const unsigned int counts[] = { 1, 2, 3, 7 };

START_TEST(parts_give_what_one_reader_gives)
{
	const unsigned int count = counts[_i];

	ck_assert_uint_eq(compare(reader_of(0), count), count);
	ck_assert_uint_eq(compare(reader_of(XVTRACE_ALL | XVTRACE_BOUND), count), count);
	ck_assert_uint_eq(compare(reader_of(XVTRACE_RECLOCK | XVTRACE_BOUND), count), count);
}
END_TEST

START_TEST(parts_have_the_choices_of_the_reader)
{
	const struct xvtrace_info *info = xvtrace_info(trace);
	const uint64_t step = (info->last_ns - info->first_ns) / 8;
	struct xvtrace_reader *r = reader_of(XVTRACE_RECLOCK);

	ck_assert_int_eq(xvtrace_reader_event(r, "!irq*"), 0);
	ck_assert_int_eq(xvtrace_reader_cpu(r, xvtrace_ring(trace, 0)->cpu), 0);
	ck_assert_int_eq(xvtrace_reader_cpu(r, xvtrace_ring(trace, 1)->cpu), 0);
	ck_assert_int_eq(xvtrace_reader_filter(r, "cpu < 100 || common_pid > 3", NULL), 0);
	ck_assert_int_eq(xvtrace_reader_machine(r, xvtrace_machine(trace, 0)->name), 0);
	ck_assert_int_eq(xvtrace_reader_from(r, info->first_ns + step, XVTRACE_MONOTONIC), 0);
	ck_assert_int_eq(xvtrace_reader_to(r, info->last_ns - step, XVTRACE_MONOTONIC), 0);
	ck_assert_uint_ge(compare(r, 3), 2);
}
END_TEST

/* A part may be empty: a trace has fewer chunks than there are parts, and times end at 0. */
START_TEST(a_range_without_events_is_read_in_parts)
{
	struct xvtrace_reader *r = reader_of(0), *parts[2];
	const struct xvtrace_event *e;

	ck_assert_int_eq(xvtrace_reader_to(r, 0, XVTRACE_MONOTONIC), 0);
	ck_assert_int_eq(xvtrace_reader_split(r, 2, parts), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(xvtrace_next(parts[i], &e), 0);
		xvtrace_reader_free(parts[i]);
	}
	xvtrace_reader_free(r);
}
END_TEST

START_TEST(what_depends_on_all_before_is_not_split)
{
	static const unsigned int flags[] = { XVTRACE_STATES, XVTRACE_STATES | XVTRACE_GAPS,
					      XVTRACE_COUNTS };
	struct xvtrace_reader *r, *parts[2], *more[2];
	const struct xvtrace_event *e;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		r = reader_of(flags[i]);
		ck_assert_int_eq(xvtrace_reader_split(r, 2, parts), -EINVAL);
		xvtrace_reader_free(r);
	}
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_reader_split(r, 0, parts), -EINVAL);
	ck_assert_int_eq(xvtrace_reader_filter(r, "common_pid == 1 || comm == \"x\"", NULL), 0);
	ck_assert_int_eq(xvtrace_reader_split(r, 2, parts), -EINVAL);
	ck_assert_int_eq(xvtrace_reader_filter(r, "common_pid == 1", NULL), 0);
	ck_assert_int_eq(xvtrace_reader_split(r, 2, parts), 0);
	ck_assert_int_eq(xvtrace_reader_split(parts[0], 2, more), -EINVAL);
	xvtrace_reader_free(parts[1]);
	xvtrace_reader_free(parts[0]);
	ck_assert_int_eq(xvtrace_reader_limit(r, 5), 0);
	ck_assert_int_eq(xvtrace_reader_split(r, 2, parts), -EINVAL);
	ck_assert_int_eq(xvtrace_reader_limit(r, 0), 0);
	ck_assert_int_eq(xvtrace_reader_comm(r, "x"), 0);
	ck_assert_int_eq(xvtrace_reader_split(r, 2, parts), -EINVAL);
	xvtrace_reader_free(r);
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_next(r, &e), 1);
	ck_assert_int_eq(xvtrace_reader_split(r, 2, parts), -EBUSY);
	xvtrace_reader_free(r);
}
END_TEST

/* A process that has given up to open files can still divide its reading. */
START_TEST(parts_take_no_descriptors)
{
	struct rlimit before, none;
	struct xvtrace_reader *r = reader_of(0), *parts[3];
	const struct xvtrace_event *e;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(xvtrace_reader_split(r, 3, parts), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(xvtrace_next(parts[i], &e), 1);
		xvtrace_reader_free(parts[i]);
	}
	ck_assert_int_eq(xvtrace_next(r, &e), 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	xvtrace_reader_free(r);
}
END_TEST

/* -- a ring whose events move with the one before them --------------------------------- */

static void put_node(struct xvt_trace_writer *w, uint32_t ring, uint64_t guest, uint64_t host_ns,
		     bool first)
{
	const struct xvt_clock_node n = { .ring = ring,
					  .source = XVT_SOURCE_HANDSHAKE,
					  .flags = first ? XVT_NODE_F_FIRST : 0,
					  .guest = T0 + guest,
					  .host_ns = T0 + host_ns,
					  .segment_bound_ns = 9 * MS };
	const struct xvt_clock_sample s = { .ring = ring,
					    .source = XVT_SOURCE_HANDSHAKE,
					    .guest = T0 + guest,
					    .host_clock_lo = T0 + guest,
					    .host_clock_hi = T0 + guest + 100 };

	xvt_trace_put(w, XVT_CHUNK_NODE, &n, sizeof(n), NULL, 0);
	xvt_trace_put(w, XVT_CHUNK_SAMPLES, &s, sizeof(s), NULL, 0);
}

/* The recorded map is up to 5 ms late at 1 s. An event whose clock contradicts the map, `beside`,
 * moves as far as the one before it. */
static void put_event(struct xvt_trace_writer *w, uint32_t ring, uint64_t at, bool beside)
{
	const bool first = at < 1000 * MS;
	const struct xvt_event_hdr h = {
		.host_ns = T0 + (first ? at + at / 200 : at + (2000 * MS - at) / 200),
		.guest_clock = T0 + at,
		.ring_flags = ring | (beside ? XVT_EVENT_F_CLOCK : 0),
		.id = XVT_ID_USER,
	};

	ck_assert_int_eq(xvt_trace_event(w, &h, NULL), 0);
}

static void begin_moving(struct xvt_trace_writer *w)
{
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = 1000000000 };

	xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_ring_info ring = {
			.ring = i, .cpu = i, .clock_id = XVT_CLOCK_TSC, .clock_hz = 1000000000
		};

		xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0);
		put_node(w, i, 0, 0, true);
		put_node(w, i, 1000 * MS, 1005 * MS, false);
		put_node(w, i, 2000 * MS, 2000 * MS, false);
		put_node(w, i, 3000 * MS, 3000 * MS, false);
	}
}

/* Ring 0 has an event each 100 us, beside the map between two times. Ring 1 has one each 150 ms,
 * and from 700 ms on all beside the map. */
static void make_moving(uint64_t till, uint64_t all_from, uint64_t all_to)
{
	const struct xvt_file_info info = { .host_clock_id = XVT_CLOCK_TSC, .mult = 1 };
	struct xvt_trace_writer *w;
	struct synth_sink s;

	synth_sink_init(&s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s.sink, &info), 0);
	begin_moving(w);
	for (uint64_t i = 0; i * MS / 10 < till; i++) {
		const uint64_t at = i * MS / 10;

		put_event(w, 0, at, at >= all_from && at < all_to);
		if (i % 1500 == 1499)
			put_event(w, 1, at, at >= 700 * MS);
		if (i % 500 == 499)
			ck_assert_int_eq(xvt_trace_flush(w), 0);
	}
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&s, scratch_path("moving.xvt"));
	synth_sink_fini(&s);
	open_trace("moving.xvt");
}

START_TEST(a_part_knows_how_far_the_events_before_it_moved)
{
	make_moving(2000 * MS, 0, 0);
	ck_assert_uint_eq(compare(reader_of(XVTRACE_RECLOCK | XVTRACE_BOUND), counts[_i]),
			  counts[_i]);
	make_moving(2000 * MS, 600 * MS, 1900 * MS);
	ck_assert_uint_eq(compare(reader_of(XVTRACE_RECLOCK | XVTRACE_BOUND), counts[_i]),
			  counts[_i]);
}
END_TEST

/* The events that a reader has read do not move those of another place to which it is sent. */
START_TEST(a_reader_forgets_how_far_events_moved_when_it_is_sent_elsewhere)
{
	const struct xvtrace_event *a, *b;
	struct xvtrace_reader *r, *fresh;
	int got;

	make_moving(1000 * MS, 0, 300 * MS);
	r = reader_of(XVTRACE_RECLOCK | XVTRACE_BOUND);
	fresh = reader_of(XVTRACE_RECLOCK | XVTRACE_BOUND);
	while ((got = xvtrace_next(r, &a)) > 0)
		;
	ck_assert_int_eq(got, 0);
	ck_assert_int_eq(xvtrace_reader_seek(r, 0), 0);
	do {
		got = xvtrace_next(fresh, &b);
		ck_assert_int_eq(xvtrace_next(r, &a), got);
		if (got)
			ck_assert(a->ns == b->ns && a->bound_ns == b->bound_ns);
	} while (got > 0);
	xvtrace_reader_free(fresh);
	xvtrace_reader_free(r);
}
END_TEST

/* -- damage --------------------------------------------------------------------------- */

START_TEST(damage_that_parts_find_is_damage_of_the_trace)
{
	struct xvtrace_reader *r, *parts[3];
	struct xvtrace_damage d[2];
	const struct xvtrace_event *e;

	ck_assert_uint_eq(xvtrace_damage_count(trace), 0);
	sink.bytes[sink.len / 3] ^= 1;
	sink.bytes[sink.len / 3 * 2] ^= 1;
	synth_sink_save(&sink, scratch_path("damaged.xvt"));
	open_trace("damaged.xvt");
	r = reader_of(0);
	while (xvtrace_next(r, &e) > 0)
		;
	xvtrace_reader_free(r);
	ck_assert_uint_eq(xvtrace_damage_count(trace), 2);
	ck_assert_int_eq(xvtrace_damage(trace, 0, &d[0]), 0);
	open_trace("damaged.xvt");
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_reader_split(r, 3, parts), 0);
	for (int i = 0; i < 3; i++) {
		while (xvtrace_next(parts[i], &e) > 0)
			;
		xvtrace_reader_free(parts[i]);
	}
	ck_assert_uint_eq(xvtrace_damage_count(trace), 2);
	/* The trace knows it now, and notes it no more. */
	while (xvtrace_next(r, &e) > 0)
		;
	xvtrace_reader_free(r);
	ck_assert_uint_eq(xvtrace_damage_count(trace), 2);
	ck_assert_int_eq(xvtrace_damage(trace, 0, &d[1]), 0);
	ck_assert_uint_eq(d[0].offset, d[1].offset);
	ck_assert_str_eq(d[0].why, d[1].why);
}
END_TEST

Suite *split_suite(void)
{
	Suite *s = suite_create("split");
	TCase *t = tcase_create("split");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, parts_give_what_one_reader_gives, 0, 4);
	tcase_add_test(t, parts_have_the_choices_of_the_reader);
	tcase_add_test(t, a_range_without_events_is_read_in_parts);
	tcase_add_test(t, parts_take_no_descriptors);
	tcase_add_test(t, what_depends_on_all_before_is_not_split);
	tcase_add_loop_test(t, a_part_knows_how_far_the_events_before_it_moved, 0, 4);
	tcase_add_test(t, a_reader_forgets_how_far_events_moved_when_it_is_sent_elsewhere);
	tcase_add_test(t, damage_that_parts_find_is_damage_of_the_trace);
	suite_add_tcase(s, t);
	return s;
}
