// SPDX-License-Identifier: GPL-2.0
/* test_verify_away.c - events are held against the host's switches of their threads. */
#include "suites.h"

#include <stdio.h>
#include <string.h>

#include "judged.h"
#include "trace/write.h"

#define MS	 1000000ull
#define TYPE	 314u
#define TID	 100
#define OTHER	 200
#define VCPU	 2u /* its ring; 0 and 1 are of the host's CPUs */
#define BOUND_NS 60u

static const char format[] = "sched\0sched_switch\0"
			     "name: sched_switch\nID: 314\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
			     "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\t"
			     "signed:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
			     "\tfield:pid_t next_pid;\toffset:12;\tsize:4;\tsigned:1;\n\n"
			     "print fmt: \"%d %d\", REC->prev_pid, REC->next_pid\n";

static struct judged judged;

enum what { NOTHING, OFF, ON, LOSS, EVENT, GUESS };

struct step {
	enum what what;
	uint32_t ring;
	uint64_t ns;
};

/* What runs the machine's ring. */
enum thread {
	OF_VCPU,
	OF_TWO,	    /* threads of that name */
	OF_ANOTHER, /* vCPU's number */
	OF_PROGRAM,
	OF_NOBODY, /* a thread of the same number is no thread of the machine */
};

static void put(struct xvt_trace_writer *w, uint16_t type, const void *head, size_t len)
{
	ck_assert_int_eq(xvt_trace_put(w, type, head, len, NULL, 0), 0);
}

static void put_meta(struct xvt_trace_writer *w, uint32_t type, uint32_t id, const char *text,
		     size_t len)
{
	const struct xvt_meta_info info = { .type = type, .id = id, .generation = 1 };

	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), text, len), 0);
}

static void name_thread(struct xvt_trace_writer *w, uint32_t tid, const char *name)
{
	put_meta(w, XVT_META_THREAD, tid, name, strlen(name));
}

/* The host's clock is in ns, and so is the machine's. */
static void put_things(struct xvt_trace_writer *w, enum thread thread)
{
	const struct xvt_vm_info vms[] = {
		{ .vm = 0, .kind = XVT_VM_HOST, .name = "host", .clock_hz = 1000000000 },
		{ .vm = 1, .name = "g1", .clock_hz = 1000000000 },
	};

	for (size_t i = 0; i < 2; i++)
		put(w, XVT_CHUNK_VM, &vms[i], sizeof(vms[i]));
	for (uint32_t i = 0; i < 3; i++) {
		const struct xvt_ring_info ring = {
			.ring = i,
			.vm = i == VCPU,
			.index = i,
			.type = i == VCPU && thread >= OF_PROGRAM ? XVT_RING_THREAD : XVT_RING_VCPU,
			.hw_id = i == VCPU ? thread == OF_ANOTHER : i,
			.pid = TID,
			.tid = TID,
		};
		const struct xvt_clock_node nodes[] = {
			{ i, 0, XVT_SOURCE_GUEST, 1, 500 * MS, 500 * MS, BOUND_NS, BOUND_NS },
			{ i, 0, XVT_SOURCE_GUEST, 0, 2000 * MS, 2000 * MS, BOUND_NS, BOUND_NS },
		};

		put(w, XVT_CHUNK_RING, &ring, sizeof(ring));
		put(w, XVT_CHUNK_NODE, nodes, sizeof(nodes));
	}
	put_meta(w, XVT_META_FORMAT, TYPE, format, sizeof(format));
	name_thread(w, TID,
		    thread == OF_NOBODY	   ? "g2:vcpu0"
		    : thread == OF_PROGRAM ? "g1:program"
					   : "g1:vcpu0");
	if (thread == OF_TWO)
		name_thread(w, OTHER, "g1:vcpu0");
}

static void put_step(struct xvt_trace_writer *w, const struct step *s)
{
	struct {
		uint16_t type;
		uint8_t flags[2];
		int32_t pid, prev, next;
	} record = { .type = TYPE };
	const struct xvt_lost lost = { .overwritten = 1 };
	struct xvt_event_hdr h = { s->ns, s->ns, s->ring, XVT_ID_FTRACE, sizeof(record) };
	const void *payload = &record;

	record.prev = s->what == OFF ? TID : OTHER + 1;
	record.next = s->what == ON ? TID : OTHER + 1;
	if (s->what == LOSS) {
		h.id = XVT_ID_LOST;
		h.len = sizeof(lost);
		payload = &lost;
	} else if (s->what >= EVENT) {
		h.id = XVT_ID_U64;
		h.ring_flags |= s->what == GUESS ? XVT_EVENT_F_UNCONFIRMED : 0;
	}
	ck_assert_int_eq(xvt_trace_event(w, &h, payload), 0);
}

/* Returns whether verify says that the thread was away. */
static bool is_wrong(const struct step *steps, enum thread thread, uint64_t *checked)
{
	judged_begin(&judged);
	put_things(judged.w, thread);
	for (; steps->what; steps++)
		put_step(judged.w, steps);
	judged_end(&judged);
	judged_verify(&judged, "away.xvt");
	*checked = judged.result.away_checked;
	return strstr(judged.lines, "its thread was on no CPU of the host");
}

static const struct {
	const char *name;
	struct step steps[10];
	enum thread thread;
	bool wrong;
} cases[] = {
	{ "while it is away",
	  { { ON, 0, 900 * MS },
	    { OFF, 0, 1000 * MS },
	    { EVENT, VCPU, 1005 * MS },
	    { ON, 1, 1010 * MS } },
	  OF_VCPU,
	  true },
	{ "before and behind",
	  { { ON, 0, 900 * MS },
	    { EVENT, VCPU, 950 * MS },
	    { OFF, 0, 1000 * MS },
	    { ON, 1, 1010 * MS },
	    { EVENT, VCPU, 1011 * MS },
	    { OFF, 1, 1020 * MS } },
	  OF_VCPU,
	  false },
	{ "within the bounds of both",
	  { { OFF, 0, 1000 * MS },
	    { EVENT, VCPU, 1000 * MS + 2 * BOUND_NS },
	    { EVENT, VCPU, 1010 * MS - 2 * BOUND_NS },
	    { ON, 1, 1010 * MS } },
	  OF_VCPU,
	  false },
	{ "just outside",
	  { { OFF, 0, 1000 * MS },
	    { EVENT, VCPU, 1000 * MS + 2 * BOUND_NS + 5 },
	    { ON, 1, 1010 * MS } },
	  OF_VCPU,
	  true },
	{ "before it came for the first time",
	  { { EVENT, VCPU, 850 * MS },
	    { ON, 0, 900 * MS },
	    { OFF, 0, 1000 * MS },
	    { ON, 0, 1010 * MS } },
	  OF_VCPU,
	  false },
	{ "behind its last switch",
	  { { OFF, 0, 900 * MS },
	    { ON, 0, 910 * MS },
	    { OFF, 0, 1000 * MS },
	    { EVENT, VCPU, 1005 * MS } },
	  OF_VCPU,
	  false },
	{ "a switch is missing",
	  { { OFF, 0, 1000 * MS }, { EVENT, VCPU, 1005 * MS }, { OFF, 0, 1010 * MS } },
	  OF_VCPU,
	  false },
	{ "another switch is missing",
	  { { ON, 0, 1000 * MS }, { EVENT, VCPU, 1005 * MS }, { ON, 0, 1010 * MS } },
	  OF_VCPU,
	  false },
	{ "the host lost events of another CPU then",
	  { { ON, 1, 990 * MS },
	    { OFF, 1, 995 * MS },
	    { ON, 0, 997 * MS },
	    { OFF, 0, 1000 * MS },
	    { LOSS, 1, 1003 * MS },
	    { EVENT, VCPU, 1005 * MS },
	    { ON, 0, 1010 * MS },
	    { OFF, 1, 1020 * MS } },
	  OF_VCPU,
	  false },
	{ "the host lost events long before",
	  { { ON, 1, 600 * MS },
	    { LOSS, 1, 610 * MS },
	    { OFF, 1, 620 * MS },
	    { OFF, 0, 1000 * MS },
	    { EVENT, VCPU, 1005 * MS },
	    { ON, 0, 1010 * MS } },
	  OF_VCPU,
	  true },
	{ "the host lost events, and did not say where",
	  { { OFF, 0, 1000 * MS },
	    { EVENT, VCPU, 1005 * MS },
	    { ON, 0, 1010 * MS },
	    { LOSS, 1, 1500 * MS } },
	  OF_VCPU,
	  false },
	{ "a guess",
	  { { OFF, 0, 1000 * MS }, { GUESS, VCPU, 1005 * MS }, { ON, 0, 1010 * MS } },
	  OF_VCPU,
	  false },
	{ "two threads of that name",
	  { { OFF, 0, 1000 * MS }, { EVENT, VCPU, 1005 * MS }, { ON, 0, 1010 * MS } },
	  OF_TWO,
	  false },
	{ "another vCPU's thread",
	  { { OFF, 0, 1000 * MS }, { EVENT, VCPU, 1005 * MS }, { ON, 0, 1010 * MS } },
	  OF_ANOTHER,
	  false },
	{ "a program's thread",
	  { { OFF, 0, 1000 * MS }, { EVENT, VCPU, 1005 * MS }, { ON, 0, 1010 * MS } },
	  OF_PROGRAM,
	  true },
	{ "another machine's thread of that number",
	  { { OFF, 0, 1000 * MS }, { EVENT, VCPU, 1005 * MS }, { ON, 0, 1010 * MS } },
	  OF_NOBODY,
	  false },
};

START_TEST(a_thread_that_is_away_has_no_events)
{
	uint64_t checked;

	ck_assert_msg(is_wrong(cases[_i].steps, cases[_i].thread, &checked) == cases[_i].wrong,
		      "%s: %s", cases[_i].name, judged.lines);
	ck_assert_msg(!cases[_i].wrong || checked, "%s: %s", cases[_i].name, judged.lines);
}
END_TEST

Suite *verify_away_suite(void)
{
	Suite *s = suite_create("verify_away");
	TCase *t = tcase_create("verify_away");

	tcase_add_loop_test(t, a_thread_that_is_away_has_no_events, 0,
			    sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(s, t);
	return s;
}
