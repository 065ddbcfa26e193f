// SPDX-License-Identifier: GPL-2.0
/* test_session_kvm.c - what a recording makes of what the kernel tells of KVM. */
#define _GNU_SOURCE
#include "suites.h"

#include <stdio.h>

#include "vmm/kvm_events.h"
#include "recording.h"

#define RINGS	  2
#define OURS	  1000 /* threads from here on are the machine's */
#define OTHER	  77
#define SPANS_MAX 16

static struct recording rec;
static struct xvt_session *s;
static struct xvt_vm *vm;
static char told[512];
static struct xvt_run_span spans[SPANS_MAX];

static bool owns(const struct xvt_vm *of, int32_t tid)
{
	ck_assert_ptr_eq(of, vm);
	return tid >= OURS;
}

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	if (level != 1) /* "no run spans", where a test has none */
		snprintf(told, sizeof(told), "%s", text);
}

static void setup(void)
{
	struct xvt_session_options opt = { .note = on_note,
					   .mode = XVT_ENABLE_STOP,
					   .run_spans = true,
					   .kvm_thread = owns,
					   .memory_bytes = 1 << 20 };

	told[0] = 0;
	recording_begin(&rec, RINGS, &opt);
	s = rec.s;
	vm = rec.vm;
	for (uint32_t i = 0; i < RINGS; i++) {
		xvt_store(&vm->rings[i]->ctl->type, XVT_RING_VCPU);
		xvt_store(&vm->rings[i]->ctl->cpu, i);
		xvt_store(&vm->rings[i]->ctl->hw_id, 4 * i); /* sparse */
		vm->rings[i]->clock.next_burst_clock = UINT64_MAX;
	}
}

static void teardown(void)
{
	recording_end(&rec);
}

static void tell(enum xvt_ftrace_kind kind, uint64_t clock, uint32_t cpu, int32_t pid,
		 uint32_t vcpu)
{
	struct xvt_ftrace_event e = {
		.host_clock = clock, .host_cpu = cpu, .pid = pid, .kind = kind, .vcpu_id = vcpu
	};

	xvt_session_kvm_take(s, &e);
}

static void enter(uint64_t clock, uint32_t cpu, int32_t pid, uint32_t vcpu)
{
	tell(XVT_FTRACE_ENTRY, clock, cpu, pid, vcpu);
}

static void leave(uint64_t clock, uint32_t cpu, int32_t pid, uint32_t vcpu)
{
	tell(XVT_FTRACE_EXIT, clock, cpu, pid, vcpu);
}

/* What is in the trace by now. */
static uint32_t all_spans(void)
{
	const struct xvt_chunk_hdr *h;
	size_t at = 0;
	uint32_t n = 0;

	xvt_session_kvm_end(s);
	while ((h = recording_chunk(&rec, &at))) {
		if (h->type != XVT_CHUNK_RUNS)
			continue;
		ck_assert_uint_le(n + h->len / sizeof(spans[0]), SPANS_MAX);
		memcpy(spans + n, h + 1, h->len);
		n += h->len / (uint32_t)sizeof(spans[0]);
	}
	return n;
}

static void ck_span(uint32_t i, uint32_t vcpu, uint64_t from, uint64_t to)
{
	ck_assert_uint_eq(spans[i].vm, vm->id);
	ck_assert_uint_eq(spans[i].vcpu, vcpu);
	ck_assert_uint_eq(spans[i].flags, 0);
	ck_assert_uint_eq(spans[i].enter_clock, from);
	ck_assert_uint_eq(spans[i].exit_clock, to);
}

START_TEST(an_entry_and_an_exit_are_a_span)
{
	enter(100, 0, OURS, 0);
	leave(150, 0, OURS, 0);
	enter(130, 1, OURS + 1, 4);
	leave(170, 1, OURS + 1, 4);
	enter(110, 2, OTHER, 0); /* another machine's */
	leave(120, 2, OTHER, 0);
	enter(200, 0, OURS, 0); /* and never seen again: nothing is said */
	ck_assert_uint_eq(all_spans(), 2);
	ck_span(0, 0, 100, 150);
	ck_span(1, 4, 130, 170);
	ck_assert_uint_eq(spans[1].host_cpu, 1);
}
END_TEST

/* The kernel's rings are read CPU after CPU; a thread moves from one to the other. */
START_TEST(a_vcpu_that_moves_is_followed_in_time)
{
	leave(350, 0, OURS, 0);
	enter(400, 0, OURS, 0);
	enter(100, 1, OURS, 0);
	leave(150, 1, OURS, 0);
	enter(300, 1, OURS, 0); /* in here, out there */
	leave(450, 0, OURS, 0);
	ck_assert_uint_eq(all_spans(), 3);
	ck_span(0, 0, 100, 150);
	ck_span(1, 0, 300, 350);
	ck_span(2, 0, 400, 450);
}
END_TEST

START_TEST(what_may_still_be_overtaken_waits)
{
	enter(100, 0, OURS, 0);
	leave(500, 0, OURS, 0);
	xvt_session_kvm_settle(s, 400);
	/* Read a little later, from another CPU, and happened before. */
	leave(200, 1, OURS, 0);
	enter(300, 1, OURS, 0);
	ck_assert_uint_eq(all_spans(), 2);
	ck_span(0, 0, 100, 200);
	ck_span(1, 0, 300, 500);
}
END_TEST

/* What is missing makes it longer, never shorter. */
START_TEST(a_missing_half_makes_a_span_longer)
{
	leave(50, 0, OURS, 0); /* the first: it began before we came */
	leave(100, 0, OURS, 0);
	enter(200, 0, OURS, 0);
	enter(300, 0, OURS, 0);
	leave(400, 0, OURS, 0);
	ck_assert_uint_eq(all_spans(), 2);
	ck_span(0, 0, 50, 100);
	ck_span(1, 0, 200, 400);
}
END_TEST

START_TEST(what_the_kernel_lost_is_said)
{
	struct xvt_ftrace_event e = {
		.kind = XVT_FTRACE_LOST, .host_cpu = 1, .host_clock = 900, .lost = 7
	};

	enter(100, 1, OURS, 0);
	leave(150, 1, OURS, 0);
	leave(2000, 0, OURS + 1, 4); /* of another CPU: not where the gap begins */
	xvt_session_kvm_take(s, &e);
	enter(900, 1, OURS, 0);
	leave(950, 1, OURS, 0);
	ck_assert_uint_eq(all_spans(), 3);
	ck_assert_uint_eq(spans[0].flags, XVT_RUN_F_LOST);
	ck_assert_uint_eq(spans[0].vm, UINT32_MAX);
	ck_assert_uint_eq(spans[0].vcpu, 7);
	ck_assert_uint_eq(spans[0].host_cpu, 1);
	ck_assert_uint_eq(spans[0].enter_clock, 150);
	ck_assert_uint_eq(spans[0].exit_clock, 900);
	ck_span(1, 0, 100, 150);
	ck_span(2, 0, 900, 950);
}
END_TEST

/* A CPU whose ring could not be read to its end at once. */
START_TEST(what_comes_too_late_is_as_good_as_lost)
{
	enter(500, 0, OURS, 0);
	leave(600, 0, OURS, 0);
	xvt_session_kvm_settle(s, 1000);
	enter(300, 1, OURS, 0);
	ck_assert_uint_eq(all_spans(), 2);
	ck_span(0, 0, 500, 600);
	ck_assert_uint_eq(spans[1].flags, XVT_RUN_F_LOST);
	ck_assert_uint_eq(spans[1].enter_clock, 300);
	ck_assert_uint_eq(spans[1].exit_clock, 600);
}
END_TEST

static void change(int32_t pid, uint32_t vcpu, int64_t previous, int64_t next)
{
	struct xvt_ftrace_event e = { .kind = XVT_FTRACE_TSC_OFFSET,
				      .pid = pid,
				      .vcpu_id = vcpu,
				      .host_clock = xvt_clock_read(),
				      .previous = previous,
				      .next = next };

	xvt_session_kvm_take(s, &e);
}

START_TEST(a_changed_offset_begins_an_epoch_and_is_measured)
{
	struct xvt_ring *r = vm->rings[1];
	uint32_t epoch = r->words.epoch, other = vm->rings[0]->words.epoch;

	change(OTHER, 4, -5, -6);
	change(OURS, 3, -5, -6); /* no ring is that vCPU's */
	change(OURS, 4, -5, -5);
	ck_assert_uint_eq(r->words.epoch, epoch);
	ck_assert_str_eq(told, "");
	change(OURS, 4, -5, 6000);
	ck_assert_uint_eq(r->words.epoch, epoch + 1);
	ck_assert_uint_eq(xvt_load(&r->host->epoch), epoch + 1);
	ck_assert_uint_eq(r->clock.next_burst_clock, 0);
	ck_assert_uint_eq(vm->rings[0]->words.epoch, other);
	ck_assert_uint_eq(vm->rings[0]->clock.next_burst_clock, UINT64_MAX);
	ck_assert_str_eq(told, "cpu 1: its TSC offset was changed from -5 to 6000");
}
END_TEST

/* The nodes before and after it are those of a clock that was not changed. */
START_TEST(a_clock_that_was_moved_and_moved_back_has_no_tight_bound)
{
	struct xvt_ring *r = vm->rings[1];
	const uint64_t hz = r->clock.map.hz, from = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	struct xvt_clock_node a = { .guest = hz, .host_ns = from, .bound_ns = 100 };
	struct xvt_clock_node b = { .guest = 3 * hz, .bound_ns = 100 };
	struct xvt_clock_node c = { .guest = 4 * hz, .bound_ns = 100 };

	r->clock.map.host_clock = NULL; /* whose knees would be in the bound as well */
	ck_assert_int_eq(xvt_clock_map_add(&r->clock.map, &a), 0);
	change(OURS, 4, -5, -5 + (int64_t)(hz / 1000));
	change(OURS, 4, -5 + (int64_t)(hz / 1000), -5);
	b.host_ns = from + 2000000000;
	c.host_ns = from + 3000000000;
	ck_assert_int_eq(xvt_clock_map_add(&r->clock.map, &b), 0);
	ck_assert_int_eq(xvt_clock_map_add(&r->clock.map, &c), 0);
	ck_assert_uint_eq(b.flags, XVT_NODE_F_CHANGED);
	ck_assert_uint_ge(b.segment_bound_ns, 1999990 + XVT_STAMP_SLACK_NS);
	ck_assert_uint_le(b.segment_bound_ns,
			  2000102 + xvt_clock_wander(2000000000) + XVT_STAMP_SLACK_NS);
	ck_assert_uint_eq(c.flags, 0);
	ck_assert_uint_le(c.segment_bound_ns,
			  102 + xvt_clock_wander(1000000000) + XVT_STAMP_SLACK_NS);
}
END_TEST

START_TEST(many_spans_come_in_several_chunks)
{
	const struct xvt_chunk_hdr *h;
	uint32_t chunks = 0, n = 0;
	size_t at = 0;

	for (uint64_t i = 1; i <= 10000; i++) {
		enter(i * 10, 0, OURS + (int32_t)(i % 50), i % 50);
		leave(i * 10 + 5, 0, OURS + (int32_t)(i % 50), i % 50);
	}
	xvt_session_kvm_end(s);
	while ((h = recording_chunk(&rec, &at))) {
		if (h->type != XVT_CHUNK_RUNS)
			continue;
		chunks++;
		n += h->len / (uint32_t)sizeof(struct xvt_run_span);
	}
	ck_assert_uint_eq(n, 10000);
	ck_assert_uint_ge(chunks, 3);
}
END_TEST

/* The host's rate was taken for a guest's that is 2 % faster; its history goes back for seconds. */
START_TEST(a_snapshot_places_the_history_by_the_rate_that_was_measured)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_OVERWRITE,
					   .kind = XVT_SESSION_SNAPSHOT,
					   .memory_bytes = 1 << 20 };
	uint64_t hz, from;

	recording_begin(&rec, RINGS, &opt);
	s = rec.s;
	vm = rec.vm;
	hz = s->clock.hz;
	from = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	for (uint64_t i = 0; i < 2; i++) {
		struct xvt_clock_node n = { .source = XVT_SOURCE_HANDSHAKE,
					    .guest = hz + i * (hz + hz / 50) / 10,
					    .host_ns = from + i * 100000000,
					    .bound_ns = 1000 };

		ck_assert_int_eq(xvt_clock_map_add(&vm->rings[0]->clock.map, &n), 0);
	}
	ck_assert_uint_eq(vm->rings[0]->clock.map.hz, hz);
	ck_assert(xvt_session_snapshot_make(s, xvt_clock_read()));
	for (uint32_t i = 0; i < RINGS; i++) {
		ck_assert_uint_ge(vm->rings[i]->clock.map.hz, hz + hz / 50 - 20);
		ck_assert_uint_le(vm->rings[i]->clock.map.hz, hz + hz / 50 + 20);
	}
	recording_end(&rec);
}
END_TEST

Suite *session_kvm_suite(void)
{
	Suite *suite = suite_create("session_kvm");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, an_entry_and_an_exit_are_a_span);
	tcase_add_test(t, a_vcpu_that_moves_is_followed_in_time);
	tcase_add_test(t, what_may_still_be_overtaken_waits);
	tcase_add_test(t, a_missing_half_makes_a_span_longer);
	tcase_add_test(t, what_the_kernel_lost_is_said);
	tcase_add_test(t, what_comes_too_late_is_as_good_as_lost);
	tcase_add_test(t, a_changed_offset_begins_an_epoch_and_is_measured);
	tcase_add_test(t, a_clock_that_was_moved_and_moved_back_has_no_tight_bound);
	tcase_add_test(t, many_spans_come_in_several_chunks);
	suite_add_tcase(suite, t);
	t = tcase_create("snapshot");
	tcase_add_test(t, a_snapshot_places_the_history_by_the_rate_that_was_measured);
	suite_add_tcase(suite, t);
	return suite;
}
