// SPDX-License-Identifier: GPL-2.0
/*
 * test_keep.c - copies of events say what the events said when they were made, when the reader has
 * long gone on, and several threads use them.
 */
#include "suites.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_trace.h"

#define PARTS 3

static void tell_value(FILE *out, const struct xvtrace_event *e, const struct xvtrace_field *f)
{
	struct xvtrace_value v;

	xvtrace_value(e, f, &v);
	fprintf(out, " %s %llu %zu", f->name, (unsigned long long)v.u, v.count);
	for (size_t i = 0; i < v.count; i++)
		if (f->kind == XVTRACE_STRING)
			fprintf(out, " %02x", v.data[i]);
		else
			fprintf(out, " %llu", (unsigned long long)xvtrace_element(&v, i));
}

static void tell(FILE *out, const struct xvtrace_event *e)
{
	const char *comm = xvtrace_event_comm(e);
	struct xvtrace_message m;
	size_t len;

	fprintf(out, "%llu %u %u %d %d %llu %llu %d %llx %s:%s comm %s", (unsigned long long)e->ns,
		e->kind, e->flags, e->ring ? (int)e->ring->number : -1,
		e->machine ? (int)e->machine->number : -1, (unsigned long long)e->bound_ns,
		(unsigned long long)e->lost, e->pid, (unsigned long long)e->number, e->type->system,
		e->type->name, comm ? comm : "-");
	for (unsigned int i = 0; i < e->type->fields; i++)
		tell_value(out, e, xvtrace_field(e->type, i));
	for (size_t i = 0; i < e->data_len; i++)
		fprintf(out, "%s%02x", i ? "" : " data ", e->data[i]);
	if (xvtrace_event_message(e, &m))
		fprintf(out, " message %llu", (unsigned long long)m.number);
	fprintf(out, " text %s", xvtrace_event_text(e, 0, &len));
	fprintf(out, " %zu", len);
	fprintf(out, " raw %s", xvtrace_event_text(e, XVTRACE_RAW, &len));
	fprintf(out, " %zu\n", len);
}

struct part {
	struct xvtrace_kept *kept;
	pthread_t thread;
	char *text;
	size_t len;
};

static void *tell_copies(void *arg)
{
	struct part *p = arg;
	FILE *out = open_memstream(&p->text, &p->len);
	const struct xvtrace_event *e;

	while (out && (e = xvtrace_kept_next(p->kept)) != NULL)
		tell(out, e);
	if (out)
		fclose(out);
	return NULL;
}

START_TEST(copies_say_what_the_events_said)
{
	struct xvtrace_reader *r =
		reader_of(XVTRACE_ALL | XVTRACE_BOUND | XVTRACE_STATES | XVTRACE_GAPS);
	struct part parts[PARTS] = { 0 };
	const struct xvtrace_event *e;
	char *text;
	size_t len, at = 0, events = 0;
	FILE *out = open_memstream(&text, &len);

	for (int i = 0; i < PARTS; i++) {
		ck_assert_int_eq(xvtrace_kept_new(&parts[i].kept), 0);
		ck_assert_ptr_null(xvtrace_kept_next(parts[i].kept));
	}
	/* What was kept before and forgotten is not there. */
	ck_assert_int_eq(xvtrace_next(r, &e), 1);
	ck_assert_int_eq(xvtrace_keep(parts[1].kept, e), 0);
	ck_assert_uint_gt(xvtrace_kept_bytes(parts[1].kept), 0);
	xvtrace_kept_clear(parts[1].kept);
	ck_assert_uint_eq(xvtrace_kept_bytes(parts[1].kept), 0);
	do {
		tell(out, e);
		ck_assert_int_eq(xvtrace_keep(parts[events++ * PARTS / (2 * EVENTS)].kept, e), 0);
	} while (xvtrace_next(r, &e) > 0 && events < 2 * EVENTS);
	ck_assert_uint_ge(events, EVENTS);
	fclose(out);
	for (int i = 0; i < PARTS; i++)
		ck_assert_int_eq(pthread_create(&parts[i].thread, NULL, tell_copies, &parts[i]), 0);
	for (int i = 0; i < PARTS; i++) {
		struct part *p = &parts[i];

		ck_assert_int_eq(pthread_join(p->thread, NULL), 0);
		ck_assert_uint_le(at + p->len, len);
		ck_assert_int_eq(strncmp(p->text, text + at, p->len), 0);
		at += p->len;
		free(p->text);
		xvtrace_kept_free(p->kept);
	}
	ck_assert_uint_eq(at, len);
	free(text);
	xvtrace_kept_free(NULL);
	xvtrace_reader_free(r);
}
END_TEST

Suite *keep_suite(void)
{
	Suite *s = suite_create("keep");
	TCase *t = tcase_create("keep");

	tcase_add_checked_fixture(t, made_setup, made_teardown);
	tcase_add_test(t, copies_say_what_the_events_said);
	suite_add_tcase(s, t);
	return s;
}
