// SPDX-License-Identifier: GPL-2.0
/*
 * test_ahead.c - a reader whose records another thread fetches: what it gives, and what it and the
 * trace tell afterwards, is what a reader alone gives and tells.
 */
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/workers.h"
#include "lib/ahead.h"
#include "lib/parts.h"
#include "made_trace.h"

static struct xvt_workers *workers;
static struct xvtrace_background background;
static const size_t batches[] = { 1, 700, 256u << 10 };

static void setup(void)
{
	made_setup();
	ck_assert_int_eq(xvt_workers_start(&workers, 2), 0);
	background = (struct xvtrace_background){ .slots = XVT_WORKERS_JOBS,
						  .begin = xvt_workers_begin,
						  .wait = xvt_workers_wait,
						  .run_arg = workers };
}

static void teardown(void)
{
	xvt_workers_end(workers);
	xvt_ahead_batch_bytes = 256u << 10;
	made_teardown();
}

static void tell_event(FILE *out, const struct xvtrace_event *e)
{
	const char *comm = xvtrace_event_comm(e);
	size_t len;

	fprintf(out, "%llu %llu %u %u %d %llx %llu %u %d %s:%s %llu %s %s\n",
		(unsigned long long)e->ns, (unsigned long long)e->guest_clock, e->kind, e->flags,
		e->ring ? (int)e->ring->number : -1, (unsigned long long)e->number,
		(unsigned long long)e->bound_ns, e->machine ? e->machine->number : 99, e->pid,
		e->type->system, e->type->name, (unsigned long long)e->lost, comm ? comm : "-",
		xvtrace_event_text(e, 0, &len));
}

/* What the trace and the reader tell after the last event. */
static void tell_end(FILE *out, struct xvtrace_reader *r, int end)
{
	const struct xvtrace_counts *c;
	struct xvtrace_damage d;
	uint64_t events, nameless = xvtrace_reader_nameless(r, 0, &events);
	const size_t met = xvtrace_damage_count(trace); /* by reading: check finds the rest */

	fprintf(out, "end %d met %zu check %d hidden %llu nameless %llu of %llu\n", end, met,
		xvtrace_check(trace), (unsigned long long)xvtrace_reader_lost_hidden(r),
		(unsigned long long)nameless, (unsigned long long)events);
	for (unsigned int i = 0; (c = xvtrace_reader_counts(r, i)); i++)
		fprintf(out, "ring %u: %llu of %llu\n", i, (unsigned long long)c->events,
			(unsigned long long)c->attempted);
	for (size_t i = 0; !xvtrace_damage(trace, i, &d); i++)
		fprintf(out, "%llu %llu %s\n", (unsigned long long)d.offset,
			(unsigned long long)d.len, d.why);
}

struct choice {
	unsigned int flags;
	uint64_t limit;
	const char *comm;
	bool again; /* read half, and then all from a time on */
};

/* Read the trace, which is opened for it, as text for free(). */
static char *tell(const struct choice *c, bool ahead)
{
	const struct xvtrace_event *e;
	struct xvtrace_reader *r;
	uint64_t half_ns;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int got;

	ck_assert_ptr_nonnull(out);
	open_trace(0);
	half_ns = (xvtrace_info(trace)->first_ns + xvtrace_info(trace)->last_ns) / 2;
	r = reader_of(c->flags);
	ck_assert_int_eq(xvtrace_reader_limit(r, c->limit), 0);
	if (c->comm)
		ck_assert_int_eq(xvtrace_reader_comm(r, c->comm), 0);
	if (ahead)
		ck_assert_int_eq(xvtrace_reader_ahead(r, &background), 0);
	for (int i = 0; c->again && i < EVENTS / 2; i++) {
		ck_assert_int_eq(xvtrace_next(r, &e), 1);
		tell_event(out, e);
	}
	if (c->again)
		ck_assert_int_eq(xvtrace_reader_seek(r, half_ns), 0);
	while ((got = xvtrace_next(r, &e)) > 0)
		tell_event(out, e);
	tell_end(out, r, got);
	xvtrace_reader_free(r);
	fclose(out);
	return text;
}

static void compare(const struct choice *c)
{
	char *alone = tell(c, false), *by_thread = tell(c, true);

	ck_assert_str_eq(by_thread, alone);
	free(alone);
	free(by_thread);
}

START_TEST(a_thread_that_fetches_changes_nothing)
{
	static const struct choice choices[] = {
		{ 0 },
		{ .flags = XVTRACE_ALL | XVTRACE_BOUND },
		{ .flags = XVTRACE_RECLOCK },
		{ .flags = XVTRACE_RECLOCK | XVTRACE_BOUND | XVTRACE_STATES | XVTRACE_GAPS |
			   XVTRACE_COUNTS },
		{ .flags = XVTRACE_RECLOCK | XVTRACE_BOUND, .limit = 321 },
		{ .flags = XVTRACE_STATES, .comm = "*" },
		{ .flags = XVTRACE_BOUND | XVTRACE_STATES, .again = true },
		{ .flags = XVTRACE_RECLOCK | XVTRACE_BOUND, .again = true },
	};

	xvt_ahead_batch_bytes = batches[_i];
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		compare(&choices[i]);
}
END_TEST

/* The file with one byte changed: the thread comes upon it before the reader does. */
START_TEST(damage_is_found_and_told_as_by_a_reader_alone)
{
	static const struct choice choices[] = {
		{ .flags = XVTRACE_BOUND | XVTRACE_STATES },
		{ .flags = XVTRACE_RECLOCK | XVTRACE_BOUND | XVTRACE_STATES | XVTRACE_COUNTS },
		{ .flags = XVTRACE_BOUND, .limit = EVENTS / 8 },
	};
	unsigned int found = 0;

	xvt_ahead_batch_bytes = batches[_i];
	for (size_t at = sink.len / 37; at < sink.len; at += sink.len / 37) {
		sink.bytes[at] ^= 0x55;
		synth_sink_save(&sink, made_path());
		for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
			compare(&choices[i]);
		found += xvtrace_damage_count(trace) > 0;
		sink.bytes[at] ^= 0x55;
	}
	ck_assert_uint_ge(found, 20);
}
END_TEST

/* -- the trace cannot be read while the thread runs ------------------------------------ */

static int unreadable;

static void run_unreadable(void *run_arg, unsigned int slot, void (*call)(void *arg), void *arg)
{
	const int readable = dup(trace->t->fd);

	(void)run_arg;
	(void)slot;
	ck_assert_int_eq(dup2(unreadable, trace->t->fd), trace->t->fd);
	call(arg);
	ck_assert_int_eq(dup2(readable, trace->t->fd), trace->t->fd);
	close(readable);
}

static void wait_for_none(void *run_arg, unsigned int slot)
{
	(void)run_arg;
	(void)slot;
}

START_TEST(what_the_thread_cannot_read_the_reader_reads)
{
	static const struct choice choice = { .flags = XVTRACE_BOUND };

	xvt_ahead_batch_bytes = 700;
	background.begin = run_unreadable;
	background.wait = wait_for_none;
	unreadable = open("/dev/null", O_WRONLY);
	compare(&choice);
	close(unreadable);
}
END_TEST

/* A reader that is freed in the middle, and others of the same trace at the same time. */
START_TEST(readers_end_while_a_thread_fetches)
{
	struct xvtrace_reader *r[3];
	const struct xvtrace_event *e;

	xvt_ahead_batch_bytes = batches[_i];
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 3; i++)
			r[i] = reader_of(XVTRACE_RECLOCK | XVTRACE_BOUND);
		ck_assert_int_eq(xvtrace_reader_ahead(r[0], &background), 0);
		for (int n = 0; n < 10 * round; n++)
			for (int i = 0; i < 3; i++)
				ck_assert_int_eq(xvtrace_next(r[i], &e), 1);
		for (int i = 0; i < 3; i++)
			xvtrace_reader_free(r[(i + round) % 3]);
	}
	ck_assert_uint_eq(xvtrace_damage_count(trace), 0);
}
END_TEST

START_TEST(what_cannot_be_fetched_ahead_is_refused)
{
	struct xvtrace_background none = background;
	struct xvtrace_reader *r = reader_of(0), *parts[2];
	const struct xvtrace_event *e;

	none.slots = 0;
	ck_assert_int_eq(xvtrace_reader_ahead(r, &none), -EINVAL);
	ck_assert_int_eq(xvtrace_reader_split(r, 2, parts), 0);
	ck_assert_int_eq(xvtrace_reader_ahead(parts[1], &background), -EINVAL);
	xvtrace_reader_free(parts[0]);
	xvtrace_reader_free(parts[1]);
	ck_assert_int_eq(xvtrace_next(r, &e), 1);
	ck_assert_int_eq(xvtrace_reader_ahead(r, &background), -EBUSY);
	xvtrace_reader_free(r);
}
END_TEST

Suite *ahead_suite(void)
{
	Suite *s = suite_create("ahead");
	TCase *t = tcase_create("ahead");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_thread_that_fetches_changes_nothing, 0, 3);
	tcase_add_loop_test(t, damage_is_found_and_told_as_by_a_reader_alone, 0, 3);
	tcase_add_test(t, what_the_thread_cannot_read_the_reader_reads);
	tcase_add_loop_test(t, readers_end_while_a_thread_fetches, 0, 3);
	tcase_add_test(t, what_cannot_be_fetched_ahead_is_refused);
	suite_add_tcase(s, t);
	return s;
}
