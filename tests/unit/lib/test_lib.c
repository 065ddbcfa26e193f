// SPDX-License-Identifier: GPL-2.0
/*
 * test_lib.c - libxvtrace by its header alone: choices, their errors, counts and bounds of a
 * synthetic trace. That texts and values are right is in test_export.c, which goes through it.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "lib/made_trace.h"

START_TEST(what_is_not_a_trace_is_an_error_with_a_text)
{
	struct xvtrace_error error = { "" };
	struct xvtrace *none = trace;

	ck_assert_int_eq(xvtrace_open(&none, scratch_path("nothing"), 0, &error), -ENOENT);
	ck_assert_ptr_null(none);
	ck_assert_str_ne(error.text, "");
	error.text[0] = '\0';
	sink.bytes[0] ^= 1;
	synth_sink_save(&sink, made_path());
	ck_assert_int_eq(xvtrace_open(&none, made_path(), 0, &error), -EBADMSG);
	ck_assert_str_ne(error.text, "");
	ck_assert_int_eq(xvtrace_open(&none, made_path(), 0, NULL), -EBADMSG);
	xvtrace_close(NULL);
	xvtrace_reader_free(NULL);
	xvtrace_stat_free(NULL);
}
END_TEST

START_TEST(machines_and_rings_are_those_of_the_trace)
{
	const struct xvtrace_info *info = xvtrace_info(trace);

	ck_assert_uint_eq(info->machines, 2);
	ck_assert_uint_eq(info->rings, 3);
	ck_assert(info->ended);
	ck_assert_uint_eq(info->tail, 0);
	ck_assert_uint_eq(info->first_ns, made.events[0].host_ns);
	ck_assert_uint_eq(info->last_ns, made.events[made.count - 1].host_ns);
	ck_assert_uint_eq(info->clock_error_ns_max, SYNTH_CLOCK_ERROR_NS);
	ck_assert_str_eq(xvtrace_machine(trace, 0)->name, "g1");
	ck_assert_str_eq(xvtrace_ring(trace, 2)->machine->name, "g2");
	ck_assert(!xvtrace_machine(trace, 1)->host);
	ck_assert_ptr_null(xvtrace_machine(trace, 2));
	ck_assert_ptr_null(xvtrace_ring(trace, 3));
	ck_assert_uint_eq(xvtrace_damage_count(trace), 0);
	ck_assert_uint_eq(xvtrace_wall_ns(trace, SYNTH_WALL_BASE_NS), SYNTH_WALL_NS);
}
END_TEST

START_TEST(choices_are_made_before_the_first_event)
{
	struct xvtrace_reader *r = reader_of(0);
	const struct xvtrace_event *ev;

	ck_assert_int_eq(xvtrace_reader_machine(r, "g3"), -ENOENT);
	ck_assert_int_eq(xvtrace_reader_flags(r, 1u << 31), -EINVAL);
	ck_assert_int_eq(xvtrace_next(r, &ev), 1);
	ck_assert_int_eq(xvtrace_reader_machine(r, "g1"), -EBUSY);
	ck_assert_int_eq(xvtrace_reader_cpu(r, 0), -EBUSY);
	ck_assert_int_eq(xvtrace_reader_event(r, "*"), -EBUSY);
	ck_assert_int_eq(xvtrace_reader_from(r, 0, XVTRACE_MONOTONIC), -EBUSY);
	ck_assert_int_eq(xvtrace_reader_to(r, 0, XVTRACE_WALL), -EBUSY);
	ck_assert_int_eq(xvtrace_reader_limit(r, 1), -EBUSY);
	ck_assert_int_eq(xvtrace_reader_flags(r, 0), -EBUSY);
	xvtrace_reader_free(r);
}
END_TEST

START_TEST(an_end_and_an_error_are_final)
{
	struct xvtrace_reader *r = reader_of(0);
	const struct xvtrace_event *ev;

	while (xvtrace_next(r, &ev) > 0)
		;
	ck_assert_int_eq(xvtrace_next(r, &ev), 0);
	ck_assert_ptr_null(ev);
	xvtrace_reader_free(r);
	r = reader_of(0);
	faults.memory_max = 4096; /* less than a cursor needs */
	ck_assert_int_eq(xvtrace_next(r, &ev), -ENOMEM);
	faults.memory_max = 0;
	ck_assert_int_eq(xvtrace_next(r, &ev), -ENOMEM);
	ck_assert_ptr_null(ev);
	xvtrace_reader_free(r);
}
END_TEST

/* How often the watch was called, and when it ends the reading. */
struct watched {
	volatile int flag;
	unsigned int calls, most;
	uint64_t ns;
};

static bool watch(void *arg, uint64_t ns)
{
	struct watched *w = arg;

	ck_assert(w->flag);
	ck_assert_uint_ge(ns, w->ns);
	w->ns = ns;
	return ++w->calls < w->most;
}

START_TEST(a_watch_is_called_while_its_flag_is_set_and_ends_the_reading)
{
	struct xvtrace_reader *r = reader_of(0);
	const struct xvtrace_event *ev;
	struct xvtrace_unmatched unmatched;
	struct watched w = { .most = 10 };
	uint64_t last_ns = 0;

	ck_assert_int_eq(xvtrace_reader_watch(r, &w.flag, watch, &w), 0);
	ck_assert_int_eq(xvtrace_reader_event(r, "no such event"), 0);
	ck_assert_int_eq(xvtrace_reader_event(r, "*"), 0);
	ck_assert_int_eq(xvtrace_next(r, &ev), 1);
	ck_assert_int_eq(xvtrace_reader_watch(r, &w.flag, watch, &w), -EBUSY);
	ck_assert_uint_eq(w.calls, 0);
	w.flag = 1;
	for (int got = 1; got; got = xvtrace_next(r, &ev)) {
		ck_assert_int_eq(got, 1);
		last_ns = ev->ns;
	}
	ck_assert_uint_eq(w.calls, w.most);
	ck_assert_uint_le(last_ns, w.ns);
	ck_assert_int_eq(xvtrace_next(r, &ev), 0);
	ck_assert_uint_eq(w.calls, w.most);
	/* The rest is not known, so nothing is said of it. */
	ck_assert_int_eq(xvtrace_reader_unmatched(r, 0, &unmatched), -ENOENT);
	xvtrace_reader_free(r);
}
END_TEST

/* -- pauses and epochs --------------------------------------------------------------- */

struct told {
	unsigned int pauses, epochs, most;
	struct xvtrace_span last[2]; /* of each kind */
};

static int tell(void *arg, const struct xvtrace_span *span)
{
	struct told *t = arg;

	t->last[span->kind] = *span;
	t->pauses += span->kind == XVTRACE_PAUSE;
	t->epochs += span->kind == XVTRACE_EPOCH;
	return t->pauses + t->epochs == t->most ? -ECANCELED : 0;
}

/* A note of a machine's state; times in ns. */
struct state {
	enum xvt_note_kind kind;
	uint64_t at_ns;
	uint64_t since_ns;
	const char *why;
};

static void put_state(struct xvt_trace_writer *w, uint32_t vm, const struct state *of)
{
	const char before[] = "its state: ";
	struct {
		struct xvt_note note;
		struct xvt_note_state state;
	} n = { .note = { .vm = vm, .ring = UINT32_MAX, .kind = of->kind, .host_ns = 1 },
		.state = { .at_ns = of->at_ns,
			   .since_ns = of->since_ns,
			   .why_at = sizeof(before) - 1 } };
	char text[128];
	int len;

	n.state.why_len = of->why ? (uint32_t)strlen(of->why) : 0;
	len = snprintf(text, sizeof(text), "%s%s, at", before, of->why ? of->why : "");
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NOTE, &n, sizeof(n), text, (size_t)len), 0);
}

/* A trace of these notes, with two machines of one ring. The first one has an event at 100 s, the
 * other one at 1.5 s. */
static void make_notes(const struct state *notes, uint32_t vm)
{
	const struct xvt_file_info info = { .mult = 1u << 30, .shift = 30 };
	const struct xvt_event_hdr h[2] = {
		{ .id = XVT_ID_USER, .host_ns = 1500000000, .ring_flags = 1 },
		{ .id = XVT_ID_USER, .host_ns = 100000000000 },
	};
	struct xvt_trace_writer *w;
	struct synth_sink s;

	synth_sink_init(&s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s.sink, &info), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_vm_info machine = { .vm = i,
						     .name = { 'm', '0' + (char)i },
						     .clock_hz = 1 };
		const struct xvt_ring_info ring = { .ring = i, .vm = i, .cpu = i };

		xvt_trace_put(w, XVT_CHUNK_VM, &machine, sizeof(machine), NULL, 0);
		xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0);
	}
	for (; notes->kind != XVT_NOTE_TEXT; notes++)
		put_state(w, vm, notes);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_int_eq(xvt_trace_event(w, &h[i], NULL), 0);
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&s, made_path());
	synth_sink_fini(&s);
	open_trace(0);
}

START_TEST(pauses_are_what_the_notes_say)
{
	static const struct state one[] = { { XVT_NOTE_RUNS, 1000000000, 0, NULL },
					    { XVT_NOTE_PAUSED, 2500000000, 0, NULL },
					    { XVT_NOTE_RUNS, 5750000001, 2500000001, NULL },
					    { 0 } };
	static const struct state open_end[] = { { XVT_NOTE_PAUSED, 99000000000, 0, "paused" },
						 { 0 } };
	static const struct state gone[] = { { XVT_NOTE_PAUSED, 2000000000, 0, NULL },
					     { XVT_NOTE_PAUSED, 3000000000, 0, NULL },
					     { XVT_NOTE_ENDED, 4000000000, 0, NULL },
					     { 0 } };
	static const struct state unseen[] = { { XVT_NOTE_PAUSED, 2000000000, 0, NULL },
					       { XVT_NOTE_UNKNOWN, 3000000000, 0, NULL },
					       { 0 } };
	static const struct state odd[] = { { XVT_NOTE_RUNS, 3000000000, 0, NULL },
					    { XVT_NOTE_RUNS, 3000000000, 9000000000, NULL },
					    { XVT_NOTE_ENDED, 4000000000, 0, NULL },
					    { XVT_NOTE_LAST + 1, 5000000000, 1, NULL },
					    { 0 } };
	struct told t = { 0 };

	make_notes(one, 1);
	ck_assert_int_eq(xvtrace_spans(trace, tell, &t), 0);
	ck_assert_uint_eq(t.pauses, 1);
	ck_assert_uint_eq(t.last[XVTRACE_PAUSE].machine->number, 1);
	ck_assert_ptr_null(t.last[XVTRACE_PAUSE].ring);
	ck_assert_uint_eq(t.last[XVTRACE_PAUSE].begin_ns, 2500000001);
	ck_assert_uint_eq(t.last[XVTRACE_PAUSE].end_ns, 5750000001);
	make_notes(open_end, 0);
	ck_assert_int_eq(xvtrace_spans(trace, tell, &t), 0);
	ck_assert_uint_eq(t.pauses, 2);
	ck_assert_uint_eq(t.last[XVTRACE_PAUSE].begin_ns, 99000000000);
	ck_assert_uint_eq(t.last[XVTRACE_PAUSE].end_ns, 100000000000);
	make_notes(gone, 0);
	ck_assert_int_eq(xvtrace_spans(trace, tell, &t), 0);
	ck_assert_uint_eq(t.pauses, 3);
	ck_assert_uint_eq(t.last[XVTRACE_PAUSE].end_ns, 4000000000);
	make_notes(unseen, 1);
	ck_assert_int_eq(xvtrace_spans(trace, tell, &t), 0);
	ck_assert_uint_eq(t.pauses, 4);
	ck_assert_uint_eq(t.last[XVTRACE_PAUSE].end_ns, 3000000000);
	make_notes(one, 7); /* no such machine */
	ck_assert_int_eq(xvtrace_spans(trace, tell, &t), 0);
	make_notes(odd, 0);
	ck_assert_int_eq(xvtrace_spans(trace, tell, &t), 0);
	ck_assert_uint_eq(t.pauses, 4);
}
END_TEST

/* Notes are not quite in order of time. Of machine 1. */
static const struct state states[] = {
	{ XVT_NOTE_RUNS, 5750000001, 2500000001, "from a saved state" },
	{ XVT_NOTE_PAUSED, 2500000001, 0, "paused" },
	{ XVT_NOTE_PAUSED, 1000000000, 0, NULL },
	{ XVT_NOTE_RUNS, 1000000700, 1000000000, NULL },
	{ XVT_NOTE_RESET, 6000000000, 0, NULL },
	{ XVT_NOTE_CRASHED, 100000000000, 1400000000, NULL },
	{ XVT_NOTE_ENDED, 120000000000, 1600000000, "guest panicked" },
	{ 0 },
};

/* All that a reader gives, one on a line: seconds, machine, name, text. */
static void list(struct xvtrace_reader *r, char *text, size_t size)
{
	const struct xvtrace_event *ev;
	size_t used = 0, len;
	int got;

	text[0] = '\0';
	while ((got = xvtrace_next(r, &ev)) > 0) {
		ck_assert_int_eq(ev->kind == XVTRACE_STATE, ev->state != 0);
		ck_assert(ev->kind != XVTRACE_STATE || (!ev->ring && ev->pid == -1));
		used += (size_t)snprintf(
			text + used, size - used, "%.9f %s %s:%s %s\n", (double)ev->ns / 1e9,
			ev->machine->name, ev->type->system, ev->type->name,
			ev->kind == XVTRACE_STATE ? xvtrace_event_text(ev, 0, &len) : "");
	}
	ck_assert_int_eq(got, 0);
	xvtrace_reader_free(r);
}

START_TEST(states_are_events_in_order_of_time)
{
	struct xvtrace_reader *r;
	char text[2048];

	make_notes(states, 1);
	list(reader_of(0), text, sizeof(text));
	ck_assert_str_eq(text, "1.500000000 m1 xvt:user1024 \n"
			       "100.000000000 m0 xvt:user1024 \n");
	list(reader_of(XVTRACE_STATES), text, sizeof(text));
	ck_assert_str_eq(text, "1.000000000 m1 xvt:paused \n"
			       "1.000000700 m1 xvt:runs after 700 ns\n"
			       "1.500000000 m1 xvt:user1024 \n"
			       "2.500000001 m1 xvt:paused paused\n"
			       "5.750000001 m1 xvt:runs after 3.250 s: from a saved state\n"
			       "6.000000000 m1 xvt:reset \n"
			       /* the recorder had not seen that event yet, the reader has */
			       "100.000000000 m1 xvt:crashed last event at 1.500000000\n"
			       "100.000000000 m0 xvt:user1024 \n"
			       "120.000000000 m1 xvt:ended guest panicked; last event at "
			       "1.500000000\n");
	/* Without that event: what the recorder said. */
	r = reader_of(XVTRACE_STATES);
	ck_assert_int_eq(xvtrace_reader_from(r, 110000000000, XVTRACE_MONOTONIC), 0);
	list(r, text, sizeof(text));
	ck_assert_str_eq(text, "120.000000000 m1 xvt:ended guest panicked; last event at "
			       "1.600000000\n");
	make_notes(states, 7); /* no such machine */
	list(reader_of(XVTRACE_STATES), text, sizeof(text));
	ck_assert_str_eq(text, "1.500000000 m1 xvt:user1024 \n"
			       "100.000000000 m0 xvt:user1024 \n");
}
END_TEST

START_TEST(states_are_chosen_as_events)
{
	struct xvtrace_reader *r;
	char text[2048];

	make_notes(states, 1);
	r = reader_of(XVTRACE_STATES);
	ck_assert_int_eq(xvtrace_reader_machine(r, "m0"), 0);
	list(r, text, sizeof(text));
	ck_assert_str_eq(text, "100.000000000 m0 xvt:user1024 \n");
	r = reader_of(XVTRACE_STATES);
	ck_assert_int_eq(xvtrace_reader_event(r, "xvt:r*"), 0);
	ck_assert_int_eq(xvtrace_reader_from(r, 5750000001, XVTRACE_MONOTONIC), 0);
	ck_assert_int_eq(xvtrace_reader_to(r, 6000000000, XVTRACE_MONOTONIC), 0);
	list(r, text, sizeof(text));
	ck_assert_str_eq(text, "5.750000001 m1 xvt:runs after 3.250 s: from a saved state\n"
			       "6.000000000 m1 xvt:reset \n");
	r = reader_of(XVTRACE_STATES);
	ck_assert_int_eq(xvtrace_reader_filter(r, "paused_ns > 1000 || why ~ \"*panic*\"", NULL),
			 0);
	list(r, text, sizeof(text));
	ck_assert_str_eq(text, "5.750000001 m1 xvt:runs after 3.250 s: from a saved state\n"
			       "120.000000000 m1 xvt:ended guest panicked; last event at "
			       "1.500000000\n");
	/* A state is of all CPUs and of no task, and none of the events that are limited. */
	r = reader_of(XVTRACE_STATES);
	ck_assert_int_eq(xvtrace_reader_cpu(r, 1), 0);
	ck_assert_int_eq(xvtrace_reader_limit(r, 1), 0);
	list(r, text, sizeof(text));
	ck_assert_str_eq(text, "1.000000000 m1 xvt:paused \n"
			       "1.000000700 m1 xvt:runs after 700 ns\n"
			       "1.500000000 m1 xvt:user1024 \n");
	r = reader_of(XVTRACE_STATES);
	ck_assert_int_eq(xvtrace_reader_pid(r, 1), 0);
	list(r, text, sizeof(text));
	ck_assert_str_eq(text, "");
}
END_TEST

static const struct xvtrace_machine_stat *machine_stat(const struct state *of,
						       struct xvtrace_stat **stat)
{
	xvtrace_stat_free(*stat);
	make_notes(of, 1);
	ck_assert_int_eq(xvtrace_stat_new(stat, trace, 0), 0);
	ck_assert_uint_eq(xvtrace_stat_machine(*stat, 0)->pauses, 0);
	return xvtrace_stat_machine(*stat, 1);
}

START_TEST(states_are_counted)
{
	static const struct state twice[] = {
		{ XVT_NOTE_PAUSED, 1000, 0, NULL }, { XVT_NOTE_PAUSED, 2000, 0, NULL },
		{ XVT_NOTE_ENDED, 3000, 0, NULL },  { XVT_NOTE_RUNS, 4000, 0, NULL },
		{ XVT_NOTE_PAUSED, 5000, 0, NULL }, { 0 }
	};
	static const struct state left_out[] = { { XVT_NOTE_RUNS, 2000, 1000, NULL },
						 { XVT_NOTE_ENDED, 3000, 0, NULL },
						 { 0 } };
	const struct xvtrace_machine_stat *m;
	struct xvtrace_stat *stat = NULL;

	m = machine_stat(twice, &stat);
	ck_assert_uint_eq(m->pauses, 2);
	ck_assert_uint_eq(m->ended_ns, 0);
	m = machine_stat(left_out, &stat);
	ck_assert_uint_eq(m->pauses, 1);
	ck_assert_uint_eq(m->ended_ns, 3000);
	xvtrace_stat_free(stat);
}
END_TEST

START_TEST(epochs_are_those_of_the_clocks)
{
	struct told t = { 0 };

	ck_assert_int_eq(xvtrace_spans(trace, tell, &t), 0);
	ck_assert_uint_eq(t.epochs, 4); /* ring 1 has two */
	ck_assert_uint_eq(t.pauses, 0);
	ck_assert_uint_eq(t.last[XVTRACE_EPOCH].ring->number, 2);
	ck_assert_uint_lt(t.last[XVTRACE_EPOCH].begin_ns, t.last[XVTRACE_EPOCH].end_ns);
	t = (struct told){ .most = 2 };
	ck_assert_int_eq(xvtrace_spans(trace, tell, &t), -ECANCELED);
	ck_assert_uint_eq(t.epochs, 2);
	open_trace(XVTRACE_PART);
	t = (struct told){ 0 };
	ck_assert_int_eq(xvtrace_spans(trace, tell, &t), 0);
	ck_assert_uint_eq(t.epochs, 4);
}
END_TEST

START_TEST(marks_of_messages_are_found)
{
	struct xvtrace_reader *r = reader_of(0);
	const struct xvtrace_event *ev;
	struct xvtrace_message m;
	size_t found = 0, len;

	while (xvtrace_next(r, &ev) > 0) {
		const char *text = xvtrace_event_text(ev, 0, &len);
		char want[64];

		if (!xvtrace_event_message(ev, &m)) {
			ck_assert_msg(!strstr(text, "xvt-ping send ") || ev->type->fields > 2, "%s",
				      text);
			continue;
		}
		snprintf(want, sizeof(want), " %s %llu", m.sent ? "send" : "recv",
			 (unsigned long long)m.number);
		ck_assert_msg(strstr(text, want), "%s: %s", text, want);
		found++;
	}
	ck_assert_uint_gt(found, 20);
	xvtrace_reader_free(r);
}
END_TEST

/* Number of events, and a check of each. */
static size_t count(struct xvtrace_reader *r, const char *machine, int cpu, uint64_t from_ns,
		    uint64_t to_ns)
{
	const struct xvtrace_event *ev;
	size_t n = 0;
	int got;

	while ((got = xvtrace_next(r, &ev)) > 0) {
		n += ev->kind == XVTRACE_EVENT;
		ck_assert(!machine || !strcmp(ev->ring->machine->name, machine));
		ck_assert(cpu < 0 || ev->ring->cpu == (unsigned int)cpu);
		ck_assert(ev->ns >= from_ns && ev->ns <= to_ns);
	}
	ck_assert_int_eq(got, 0);
	xvtrace_reader_free(r);
	return n;
}

START_TEST(a_reader_gives_what_was_chosen)
{
	const uint64_t from = made.events[made.count / 3].host_ns;
	const uint64_t to = made.events[made.count / 2].host_ns;
	size_t want_cpu = 0, want_range = 0;
	struct xvtrace_reader *r;

	for (size_t i = 0; i < made.count; i++) {
		want_cpu += made.events[i].cpu == 1;
		want_range += made.events[i].host_ns >= from && made.events[i].host_ns <= to;
	}
	ck_assert_uint_gt(want_cpu, 0);
	ck_assert_uint_lt(want_cpu, made.count);
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_reader_cpu(r, 1), 0);
	ck_assert_uint_eq(count(r, NULL, 1, 0, UINT64_MAX), want_cpu);
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_reader_from(r, from, XVTRACE_MONOTONIC), 0);
	ck_assert_int_eq(xvtrace_reader_to(r, to, XVTRACE_MONOTONIC), 0);
	ck_assert_uint_eq(count(r, NULL, -1, from, to), want_range);
	/* The wall clock was set at the knee: what is before it is an hour away. */
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_reader_from(r, SYNTH_KNEE_WALL_NS, XVTRACE_WALL), 0);
	ck_assert_uint_gt(count(r, NULL, -1, SYNTH_KNEE_NS, UINT64_MAX), 0);
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_reader_limit(r, 5), 0);
	ck_assert_uint_eq(count(r, NULL, -1, 0, UINT64_MAX), 5);
}
END_TEST

START_TEST(two_readers_of_a_trace_do_not_disturb_each_other)
{
	struct xvtrace_reader *a = reader_of(0), *b = reader_of(0);
	const struct xvtrace_event *ea, *eb;

	ck_assert_int_eq(xvtrace_next(b, &eb), 1);
	for (size_t i = 0; i < made.count / 2; i++) {
		size_t la, lb;
		const char *ta, *tb;

		ck_assert_int_eq(xvtrace_next(a, &ea), 1);
		ck_assert_uint_eq(ea->ns, eb->ns);
		ck_assert_uint_eq(ea->type->number, eb->type->number);
		ta = xvtrace_event_text(ea, 0, &la);
		tb = xvtrace_event_text(eb, 0, &lb);
		ck_assert_str_eq(ta, tb);
		ck_assert_uint_eq(la, strlen(ta));
		ck_assert_int_eq(xvtrace_next(b, &eb), 1);
	}
	xvtrace_reader_free(a);
	xvtrace_reader_free(b);
}
END_TEST

START_TEST(types_are_numbered_and_fields_are_found)
{
	struct xvtrace_reader *r = reader_of(XVTRACE_ALL);
	const struct xvtrace_event *ev;
	unsigned int types = 0;

	while (xvtrace_next(r, &ev) > 0) {
		ck_assert_uint_le(ev->type->number, types);
		types += ev->type->number == types;
		for (unsigned int i = 0; i < ev->type->fields; i++) {
			const struct xvtrace_field *f = xvtrace_field(ev->type, i);

			ck_assert_ptr_nonnull(f);
			ck_assert_str_eq(xvtrace_field_named(ev->type, f->name)->name, f->name);
		}
		ck_assert_ptr_null(xvtrace_field(ev->type, ev->type->fields));
		ck_assert_ptr_null(xvtrace_field_named(ev->type, "no such field"));
	}
	ck_assert_uint_gt(types, 3);
	xvtrace_reader_free(r);
}
END_TEST

START_TEST(losses_among_the_events_are_those_that_are_counted)
{
	const struct xvtrace_event *ev;
	struct xvtrace_counts sum = { 0 };
	struct xvtrace_reader *r;
	struct xvtrace_stat *s;
	uint64_t lost = 0, by_cause = 0, events = 0;

	r = reader_of(0);
	while (xvtrace_next(r, &ev) > 0) {
		ck_assert(ev->kind != XVTRACE_RECORD);
		ck_assert_uint_eq(ev->lost != 0, ev->kind == XVTRACE_LOST);
		lost += ev->lost;
		events += ev->kind == XVTRACE_EVENT;
	}
	xvtrace_reader_free(r);
	ck_assert_int_eq(xvtrace_stat_new(&s, trace, 0), 0);
	ck_assert_uint_eq(s->counts.events, made.count);
	ck_assert_uint_eq(s->counts.events, events);
	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_eq(s->counts.lost, lost);
	for (unsigned int i = 0; xvtrace_cause_name(i); i++)
		by_cause += s->counts.lost_by[i];
	ck_assert_uint_eq(by_cause, lost);
	for (unsigned int i = 0; i < 3; i++) {
		const struct xvtrace_counts *c = &xvtrace_stat_ring(s, i)->counts;

		ck_assert_uint_eq(c->attempted, c->events + c->lost + c->discarded + c->in_flight);
		sum.events += c->events;
	}
	ck_assert_uint_eq(sum.events, made.count);
	ck_assert_uint_eq(xvtrace_stat_machine(s, 0)->counts.events +
				  xvtrace_stat_machine(s, 1)->counts.events,
			  made.count);
	ck_assert_ptr_null(xvtrace_stat_ring(s, 3));
	ck_assert_ptr_null(xvtrace_stat_machine(s, 2));
	xvtrace_stat_free(s);
}
END_TEST

/* Whatever is chosen: here nothing. */
START_TEST(a_reader_counts_as_the_statistics)
{
	const struct xvtrace_event *ev;
	struct xvtrace_reader *r = reader_of(XVTRACE_COUNTS);
	struct xvtrace_stat *s;

	ck_assert_int_eq(xvtrace_reader_event(r, "no such event"), 0);
	ck_assert_ptr_null(xvtrace_reader_counts(r, 0));
	ck_assert_int_eq(xvtrace_next(r, &ev), 0);
	ck_assert_int_eq(xvtrace_check(trace), 0);
	ck_assert_int_eq(xvtrace_stat_new(&s, trace, 0), 0);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_mem_eq(xvtrace_reader_counts(r, i), &xvtrace_stat_ring(s, i)->counts,
				 sizeof(struct xvtrace_counts));
	ck_assert_ptr_null(xvtrace_reader_counts(r, 3));
	xvtrace_stat_free(s);
	xvtrace_reader_free(r);
	r = reader_of(0);
	while (xvtrace_next(r, &ev) > 0)
		;
	ck_assert_ptr_null(xvtrace_reader_counts(r, 0));
	xvtrace_reader_free(r);
}
END_TEST

/* A recorder that was killed and the next one: what this one took is older than the other's end. */
START_TEST(two_recordings_in_a_folder_are_each_in_order)
{
	struct xvtrace_stat *s;
	char folder[512], path[600];
	unsigned int i;

	snprintf(folder, sizeof(folder), "%s", scratch_path("folder"));
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	for (i = 1; i <= 2; i++) {
		snprintf(path, sizeof(path), "%s/%08u.xvt", folder, i);
		synth_sink_save(&sink, path);
	}
	xvtrace_close(trace);
	ck_assert_int_eq(xvtrace_open(&trace, folder, 0, NULL), 0);
	ck_assert_int_eq(xvtrace_stat_new(&s, trace, 0), 0);
	ck_assert_uint_eq(s->counts.events, 2 * made.count);
	ck_assert_uint_eq(s->order_violations, 0);
	xvtrace_stat_free(s);
	while (--i) {
		snprintf(path, sizeof(path), "%s/%08u.xvt", folder, i);
		unlink(path);
	}
	rmdir(folder);
}
END_TEST

/* A chunk of events cannot be read; 0: by its checksum, 1: four of them, 2: it is cut out. */
static void damage(int how)
{
	size_t at = synth_find_chunk(&sink, XVT_CHUNK_ORDER, 0), whole;
	int i;

	for (i = 1; how == 1 && i < 4; i++)
		sink.bytes[synth_find_chunk(&sink, XVT_CHUNK_ORDER, i) + 40] ^= 1;
	if (how < 2) {
		sink.bytes[at + 40] ^= 1;
	} else {
		whole = sizeof(struct xvt_chunk_hdr) +
			((((struct xvt_chunk_hdr *)(sink.bytes + at))->len + 7) & ~7u);
		memmove(sink.bytes + at, sink.bytes + at + whole, sink.len - at - whole);
		sink.len -= whole;
	}
	synth_sink_save(&sink, made_path());
	open_trace(0);
}

START_TEST(what_is_missing_in_a_damaged_file_has_a_cause)
{
	const struct xvtrace_counts *c;
	uint64_t attempted[3], lost[3], damaged = 0;
	struct xvtrace_stat *s;

	ck_assert_int_eq(xvtrace_stat_new(&s, trace, 0), 0);
	for (unsigned int i = 0; i < 3; i++) {
		c = &xvtrace_stat_ring(s, i)->counts;
		ck_assert_uint_eq(c->lost_by[XVTRACE_LOST_DAMAGED], 0);
		attempted[i] = c->attempted;
		lost[i] = c->lost;
	}
	xvtrace_stat_free(s);
	damage(_i);
	ck_assert_int_eq(xvtrace_stat_new(&s, trace, 0), 0);
	ck_assert_uint_lt(s->counts.events, made.count);
	for (unsigned int i = 0; i < 3; i++) {
		c = &xvtrace_stat_ring(s, i)->counts;
		ck_assert_uint_eq(c->attempted, attempted[i]);
		ck_assert_uint_eq(c->attempted, c->events + c->lost + c->discarded + c->in_flight);
		ck_assert_uint_eq(c->lost, lost[i] + c->lost_by[XVTRACE_LOST_DAMAGED]);
		damaged += c->lost_by[XVTRACE_LOST_DAMAGED];
	}
	ck_assert_uint_eq(damaged, made.count - s->counts.events);
	ck_assert_uint_eq(damaged, s->counts.lost_by[XVTRACE_LOST_DAMAGED]);
	xvtrace_stat_free(s);
}
END_TEST

START_TEST(bounds_are_given_on_request)
{
	struct xvtrace_reader *r = reader_of(0);
	const struct xvtrace_event *ev;
	struct xvtrace_stat *s;
	size_t bounded = 0;

	ck_assert_int_eq(xvtrace_next(r, &ev), 1);
	ck_assert_uint_eq(ev->bound_ns, XVTRACE_NO_BOUND);
	xvtrace_reader_free(r);
	ck_assert_int_eq(xvtrace_stat_new(&s, trace, 0), 0);
	r = reader_of(XVTRACE_BOUND);
	while (xvtrace_next(r, &ev) > 0) {
		if (ev->flags & (XVTRACE_CLOCK | XVTRACE_UNCONFIRMED))
			ck_assert_uint_eq(ev->bound_ns, XVTRACE_NO_BOUND); /* no look bounds it */
		bounded += ev->bound_ns != XVTRACE_NO_BOUND;
	}
	ck_assert_uint_gt(bounded, made.count / 2);
	xvtrace_reader_free(r);
	xvtrace_stat_free(s);
}
END_TEST

static int smaller_first(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The counts are those of the events, one by one, as they are recorded and with new times. */
START_TEST(half_of_a_machines_events_are_within_the_median)
{
	const struct xvtrace_machine_stat *m;
	const unsigned int machine = _i & 1, flags = _i & 2 ? XVTRACE_RECLOCK : 0;
	struct xvtrace_reader *r = reader_of(XVTRACE_BOUND | flags);
	uint64_t *bounds = calloc(made.count, sizeof(*bounds)), unbounded = 0, median;
	const struct xvtrace_event *ev;
	struct xvtrace_stat *s;
	size_t n = 0;

	ck_assert_ptr_nonnull(bounds);
	while (xvtrace_next(r, &ev) > 0) {
		if (ev->kind != XVTRACE_EVENT || ev->ring->machine->number != machine)
			continue;
		if (ev->bound_ns == XVTRACE_NO_BOUND)
			unbounded++;
		else
			bounds[n++] = ev->bound_ns;
	}
	xvtrace_reader_free(r);
	qsort(bounds, n, sizeof(*bounds), smaller_first);
	median = bounds[(n - 1) / 2];
	ck_assert_int_eq(xvtrace_stat_new(&s, trace, flags), 0);
	m = xvtrace_stat_machine(s, machine);
	ck_assert_uint_ge(m->bound_ns_median, median);
	ck_assert_uint_le(m->bound_ns_median, median + median / 64);
	ck_assert_uint_ge(m->bound_ns_max, bounds[n - 1]);
	if (flags) /* the recorder has not measured these */
		ck_assert_uint_eq(m->bound_ns_max, bounds[n - 1]);
	ck_assert_uint_eq(m->unbounded, unbounded);
	xvtrace_stat_free(s);
	free(bounds);
}
END_TEST

/* The recorder flags what it knows of. What is measured later may make a bound larger. */
START_TEST(an_event_that_may_be_off_by_more_than_a_second_is_flagged)
{
	size_t narrow = 0, wide = 0;
	const struct xvtrace_event *ev;
	struct xvtrace_reader *r;

	synth_fini(&made);
	synth_sink_fini(&sink);
	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, EVENTS, SYNTH_WIDE);
	synth_sink_save(&sink, made_path());
	open_trace(0);
	r = reader_of(XVTRACE_BOUND);
	while (xvtrace_next(r, &ev) > 0) {
		if (ev->kind != XVTRACE_EVENT || ev->bound_ns < 1000000000 ||
		    ev->bound_ns == XVTRACE_NO_BOUND)
			continue;
		narrow += ev->bound_ns == 1000000000;
		wide += ev->bound_ns == 1000000001;
		ck_assert_uint_eq(!!(ev->flags & XVTRACE_UNCONFIRMED), ev->bound_ns > 1000000000);
	}
	ck_assert_uint_gt(narrow, 0);
	ck_assert_uint_gt(wide, 0);
	xvtrace_reader_free(r);
}
END_TEST

/* A time that contradicts its clock has none, nor a guess without a look at its ring. */
START_TEST(new_times_have_new_bounds)
{
	struct xvtrace_reader *r = reader_of(XVTRACE_RECLOCK | XVTRACE_BOUND);
	const struct xvtrace_event *ev;
	size_t n = 0;

	while (xvtrace_next(r, &ev) > 0) {
		n += ev->bound_ns < XVTRACE_NO_BOUND;
		if (ev->flags & (XVTRACE_CLOCK | XVTRACE_UNCONFIRMED))
			ck_assert_uint_eq(ev->bound_ns, XVTRACE_NO_BOUND);
	}
	ck_assert_uint_gt(n, made.count / 2);
	xvtrace_reader_free(r);
}
END_TEST

START_TEST(a_part_is_read_by_the_index_and_not_counted)
{
	struct xvtrace_reader *r;
	struct xvtrace_stat *s;

	open_trace(XVTRACE_PART);
	ck_assert_int_eq(xvtrace_check(trace), -EINVAL);
	ck_assert_int_eq(xvtrace_stat_new(&s, trace, 0), -EINVAL);
	ck_assert_ptr_null(s);
	ck_assert_int_eq(xvtrace_reader_new(&r, trace), 0);
	ck_assert_uint_eq(count(r, NULL, -1, 0, UINT64_MAX), made.count);
	ck_assert_int_eq(xvtrace_reader_new(&r, trace), 0);
	ck_assert_int_eq(xvtrace_reader_flags(r, XVTRACE_RECLOCK), 0);
	ck_assert_uint_eq(count(r, NULL, -1, 0, UINT64_MAX), made.count);
}
END_TEST

START_TEST(damage_is_listed_and_the_rest_is_read)
{
	struct xvtrace_damage d;
	size_t n;

	sink.bytes[sink.len / 2] ^= 0x55;
	synth_sink_save(&sink, made_path());
	open_trace(0);
	n = count(reader_of(0), NULL, -1, 0, UINT64_MAX);
	ck_assert_int_eq(xvtrace_check(trace), 0);
	ck_assert_uint_ge(xvtrace_damage_count(trace), 1);
	ck_assert_uint_lt(n, made.count);
	ck_assert_int_eq(xvtrace_damage(trace, 0, &d), 0);
	ck_assert(sink.len / 2 >= d.offset && sink.len / 2 < d.offset + d.len);
	ck_assert_str_ne(d.why, "");
	ck_assert_int_eq(xvtrace_damage(trace, xvtrace_damage_count(trace), &d), -ENOENT);
}
END_TEST

START_TEST(a_glob_without_a_match_has_similar_names)
{
	struct xvtrace_reader *r = reader_of(0);
	struct xvtrace_unmatched u;

	ck_assert_int_eq(xvtrace_reader_event(r, "sched_swich"), 0);
	ck_assert_int_eq(xvtrace_reader_event(r, "*"), 0);
	ck_assert_int_eq(xvtrace_reader_unmatched(r, 0, &u), -ENOENT);
	for (const struct xvtrace_event *ev; xvtrace_next(r, &ev) > 0;)
		;
	ck_assert_int_eq(xvtrace_reader_unmatched(r, 0, &u), 0);
	ck_assert_str_eq(u.glob, "sched_swich");
	ck_assert_str_eq(u.near[0], "sched:sched_switch");
	ck_assert_int_eq(xvtrace_reader_unmatched(r, 1, &u), -ENOENT);
	xvtrace_reader_free(r);
}
END_TEST

/* What the module probes itself is also found as the kernel's own event. */
START_TEST(a_probe_is_found_by_both_its_names)
{
	ck_assert(xvtrace_matches("sched_switch", "xvt", "sched_switch"));
	ck_assert(xvtrace_matches("xvt:sched_switch", "xvt", "sched_switch"));
	ck_assert(xvtrace_matches("sched:sched_switch", "xvt", "sched_switch"));
	ck_assert(xvtrace_matches("sched:sched_switch", "sched", "sched_switch"));
	ck_assert(xvtrace_matches("sched:*", "xvt", "sched_switch"));
	ck_assert(xvtrace_matches("sched:sched_waking", "xvt", "sched_waking"));
	ck_assert(xvtrace_matches("irq:irq_handler_entry", "xvt", "irq_handler_entry"));
	ck_assert(xvtrace_matches("irq:*", "xvt", "irq_handler_exit"));
	ck_assert(!xvtrace_matches("irq:*", "xvt", "sched_switch"));
	ck_assert(!xvtrace_matches("sched:*", "xvt", "probe"));
	ck_assert(!xvtrace_matches("sched:sched_switch", "other", "sched_switch"));
	ck_assert(!xvtrace_matches("xvt:sched_switch", "sched", "sched_switch"));
}
END_TEST

/* The formats, symbols and names of g1 are those that synth.c put in. */
START_TEST(a_machine_describes_itself)
{
	struct xvtrace_reader *r = reader_of(0);
	const struct xvtrace_event *ev;
	size_t at = 0, len, with = 0, without = 0, pids = 0;
	const char *text, *comm;
	bool from_meta = false;
	int pid;

	ck_assert_int_eq(xvtrace_reader_symbols(r, 0, XVTRACE_KSYMS, 0, &text, &len), -ENOENT);
	ck_assert_int_eq(xvtrace_reader_task(r, 0, &at, &pid, &comm), 0);
	while (xvtrace_next(r, &ev) > 0) {
		const char *format = xvtrace_type_format(r, ev->type);
		char name[64];

		snprintf(name, sizeof(name), "name: %s\nID: ", ev->type->name);
		with += format && strncmp(format, name, strlen(name)) == 0 &&
			strstr(format, "\nprint fmt: ");
		without += !format && strcmp(ev->type->system, "xvt") == 0;
		ck_assert_str_eq(ev->type->kernel_system, ev->type->system);
	}
	ck_assert_uint_gt(with, EVENTS / 2);
	ck_assert_uint_gt(without, 0);
	ck_assert_uint_ge(with + without, made.count);
	ck_assert_int_eq(xvtrace_reader_symbols(r, 0, XVTRACE_KSYMS, 0, &text, &len), 0);
	ck_assert_uint_gt(len, 10);
	ck_assert_mem_eq(text, "ffffffff81000000 T _text\n", 25);
	ck_assert_int_eq(xvtrace_reader_symbols(r, 0, XVTRACE_KSYMS, 1, &text, &len), -ENOENT);
	ck_assert_int_eq(xvtrace_reader_symbols(r, 0, XVTRACE_PRINTKS, 0, &text, &len), -ENOENT);
	ck_assert_int_eq(xvtrace_reader_symbols(r, 99, XVTRACE_KSYMS, 0, &text, &len), -ENOENT);
	for (at = 0; xvtrace_reader_task(r, 0, &at, &pid, &comm) > 0; pids++)
		from_meta |= pid == 400 && strcmp(comm, "from-meta") == 0;
	ck_assert(from_meta);
	ck_assert_uint_gt(pids, 1);
	xvtrace_reader_free(r);
}
END_TEST

Suite *lib_suite(void)
{
	Suite *s = suite_create("lib");
	TCase *t = tcase_create("lib");

	tcase_add_checked_fixture(t, made_setup, made_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, what_is_not_a_trace_is_an_error_with_a_text);
	tcase_add_test(t, machines_and_rings_are_those_of_the_trace);
	tcase_add_test(t, choices_are_made_before_the_first_event);
	tcase_add_test(t, an_end_and_an_error_are_final);
	tcase_add_test(t, pauses_are_what_the_notes_say);
	tcase_add_test(t, states_are_events_in_order_of_time);
	tcase_add_test(t, states_are_chosen_as_events);
	tcase_add_test(t, states_are_counted);
	tcase_add_test(t, epochs_are_those_of_the_clocks);
	tcase_add_test(t, marks_of_messages_are_found);
	tcase_add_test(t, a_watch_is_called_while_its_flag_is_set_and_ends_the_reading);
	tcase_add_test(t, pauses_are_what_the_notes_say);
	tcase_add_test(t, epochs_are_those_of_the_clocks);
	tcase_add_test(t, marks_of_messages_are_found);
	tcase_add_test(t, a_watch_is_called_while_its_flag_is_set_and_ends_the_reading);
	tcase_add_test(t, a_reader_gives_what_was_chosen);
	tcase_add_test(t, two_readers_of_a_trace_do_not_disturb_each_other);
	tcase_add_test(t, types_are_numbered_and_fields_are_found);
	tcase_add_test(t, losses_among_the_events_are_those_that_are_counted);
	tcase_add_test(t, a_reader_counts_as_the_statistics);
	tcase_add_test(t, two_recordings_in_a_folder_are_each_in_order);
	tcase_add_loop_test(t, what_is_missing_in_a_damaged_file_has_a_cause, 0, 3);
	tcase_add_test(t, bounds_are_given_on_request);
	tcase_add_test(t, an_event_that_may_be_off_by_more_than_a_second_is_flagged);
	tcase_add_loop_test(t, half_of_a_machines_events_are_within_the_median, 0, 4);
	tcase_add_test(t, new_times_have_new_bounds);
	tcase_add_test(t, a_part_is_read_by_the_index_and_not_counted);
	tcase_add_test(t, damage_is_listed_and_the_rest_is_read);
	tcase_add_test(t, a_glob_without_a_match_has_similar_names);
	tcase_add_test(t, a_probe_is_found_by_both_its_names);
	tcase_add_test(t, a_machine_describes_itself);
	suite_add_tcase(s, t);
	return s;
}
