// SPDX-License-Identifier: GPL-2.0
/*
 * test_stat.c - the keys that others rely on, and that the sums fit at each level. Runs the
 * command itself.
 */
#include "suites.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/cmd.h"
#include "trace/crc32c.h"
#include "synth.h"

static struct synth made;

/* Ring 2 never had a clock: its events have the guest's own times, which begin at 0. */
static void without_a_clock(struct synth_sink *sink)
{
	for (size_t at = 0; at < sink->len;) {
		struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)(sink->bytes + at);
		uint8_t *p = (uint8_t *)(h + 1), *end = p + h->len;

		if (h->type == XVT_CHUNK_NODE && ((struct xvt_clock_node *)p)->ring == 2)
			h->type = 998;
		if (h->type == XVT_CHUNK_STATS && ((struct xvt_ring_stats *)p)->ring == 2)
			((struct xvt_ring_stats *)p)->source = XVT_SOURCE_NONE;
		if (h->type == XVT_CHUNK_ORDER || h->type == XVT_CHUNK_LATE) {
			p += sizeof(struct xvt_order_hdr);
			while (p < end) {
				struct xvt_event_hdr *e = (struct xvt_event_hdr *)p;

				if ((e->ring_flags & XVT_EVENT_RING_MASK) == 2)
					e->host_ns = 0;
				p += sizeof(*e) + ((e->len + 7) & ~7u);
			}
		}
		h->crc = 0;
		h->crc = xvt_crc32c(0, h, sizeof(*h) + h->len);
		at += sizeof(*h) + ((h->len + 7) & ~7u);
	}
}

static json_t *stat_of_sink(struct synth_sink *sink)
{
	char path[256], out_path[256];
	char *argv[] = { "stat", "--json", "-q", path, NULL };
	json_error_t error;
	json_t *j;
	int keep;

	snprintf(path, sizeof(path), "%s", scratch_path("stat.xvt"));
	snprintf(out_path, sizeof(out_path), "%s", scratch_path("stat.json"));
	synth_sink_save(sink, path);
	synth_sink_fini(sink);
	/* The command writes to descriptor 1 and closes it. */
	fflush(stdout);
	keep = dup(STDOUT_FILENO);
	ck_assert_ptr_nonnull(freopen(out_path, "w", stdout));
	ck_assert_int_eq(xvt_cmd_stat.run(&xvt_cmd_stat, 4, argv), 0);
	dup2(keep, STDOUT_FILENO);
	close(keep);
	j = json_load_file(out_path, JSON_REJECT_DUPLICATES, &error);
	ck_assert_msg(j, "%s", error.text);
	return j;
}

static json_t *stat_of(unsigned int flags)
{
	struct synth_sink sink;

	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, 240, flags);
	return stat_of_sink(&sink);
}

static uint64_t number(json_t *j, const char *key)
{
	json_t *v = json_object_get(j, key);

	ck_assert_msg(json_is_integer(v), "no integer %s", key);
	return (uint64_t)json_integer_value(v);
}

static const char *const counts[] = { "attempted", "events",	"lost",	       "discarded", "late",
				      "backlog",   "recovered", "unconfirmed", "in_flight" };

#define COUNTS (sizeof(counts) / sizeof(counts[0]))

/* Each count is the sum of the same count one level below. */
static void check_sums(json_t *j, json_t *below)
{
	for (size_t i = 0; i < COUNTS; i++) {
		uint64_t sum = 0;
		json_t *part;
		size_t k;

		json_array_foreach(below, k, part) sum += number(part, counts[i]);
		ck_assert_msg(number(j, counts[i]) == sum, "%s", counts[i]);
	}
	ck_assert_uint_eq(number(j, "attempted"), number(j, "events") + number(j, "discarded") +
							  number(j, "lost") +
							  number(j, "in_flight"));
}

static void check_ring(json_t *ring)
{
	static const char *const causes[] = { "full",  "wrap",	      "big",	"nest",
					      "retry", "overwritten", "dropped" };
	json_t *by = json_object_get(ring, "lost_by"), *clock = json_object_get(ring, "clock");
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		sum += number(by, causes[i]);
	ck_assert_uint_eq(sum, number(ring, "lost"));
	ck_assert_uint_eq(number(ring, "attempted"), number(ring, "events") +
							     number(ring, "discarded") + sum +
							     number(ring, "in_flight"));
	ck_assert_str_eq(json_string_value(json_object_get(ring, "kind")), "vcpu");
	number(ring, "cpu");
	ck_assert_uint_gt(number(ring, "epochs"), 0);
	ck_assert_uint_le(number(ring, "first_ns"), number(ring, "last_ns"));
	ck_assert_str_eq(json_string_value(json_object_get(clock, "source")), "handshake");
	ck_assert_uint_eq(number(clock, "bound_ns_max"), 60);
	ck_assert(json_is_array(json_object_get(clock, "rejected")));
}

static void check_all(json_t *j)
{
	json_t *vms = json_object_get(j, "vms"), *vm, *ring;
	size_t i, k;

	ck_assert_str_eq(json_string_value(json_object_get(j, "format")), "xvtrace-stat/1");
	ck_assert_uint_eq(number(j, "order_violations"), 0);
	ck_assert_uint_eq(number(j, "timebase_error_ns_max"), SYNTH_CLOCK_ERROR_NS);
	ck_assert_uint_eq(number(j, "events"), made.count);
	ck_assert_uint_eq(number(j, "duration_ns"),
			  made.events[made.count - 1].host_ns - made.events[0].host_ns);
	ck_assert_uint_eq(json_array_size(vms), 2);
	check_sums(j, vms);
	json_array_foreach(vms, i, vm)
	{
		check_sums(vm, json_object_get(vm, "rings"));
		ck_assert_str_eq(json_string_value(json_object_get(vm, "name")), i ? "g2" : "g1");
		ck_assert_str_eq(json_string_value(json_object_get(vm, "kind")), "guest");
		ck_assert_uint_eq(number(vm, "paused_ns"), 0);
		json_array_foreach(json_object_get(vm, "rings"), k, ring) check_ring(ring);
	}
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(vms, 0), "uuid")),
			 "01020304-0506-0708-090a-0b0c0d0e0f10");
}

START_TEST(a_ring_without_a_clock_makes_no_trace_long)
{
	json_t *j, *ring, *clock;
	uint64_t first = UINT64_MAX, last = 0;
	struct synth_sink sink;

	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, 240, 0);
	without_a_clock(&sink);
	j = stat_of_sink(&sink);
	for (size_t i = 0; i < made.count; i++) {
		if (!strcmp(made.events[i].vm, "g2"))
			continue;
		first = made.events[i].host_ns < first ? made.events[i].host_ns : first;
		last = made.events[i].host_ns > last ? made.events[i].host_ns : last;
	}
	ck_assert_uint_eq(number(j, "duration_ns"), last - first);
	ck_assert_uint_eq(number(j, "events"), made.count);
	ring = json_array_get(
		json_object_get(json_array_get(json_object_get(j, "vms"), 1), "rings"), 0);
	clock = json_object_get(ring, "clock");
	ck_assert_str_eq(json_string_value(json_object_get(clock, "source")), "none");
	ck_assert_uint_eq(number(clock, "bound_ns_max"), XVT_NO_BOUND);
	json_decref(j);
	synth_fini(&made);
}
END_TEST

START_TEST(the_contracts_keys_and_sums)
{
	json_t *j = stat_of(0);
	uint64_t late = 0, backlog = 0, unconfirmed = 0, recovered = 0;
	json_t *rejected;

	check_all(j);
	for (size_t i = 0; i < made.count; i++) {
		uint32_t f = made.events[i].flags;

		backlog += !!(f & XVT_EVENT_F_BACKLOG);
		late += f & XVT_EVENT_F_LATE && !(f & XVT_EVENT_F_BACKLOG);
		unconfirmed += !!(f & XVT_EVENT_F_UNCONFIRMED);
		recovered += !!(f & XVT_EVENT_F_RECOVERED);
	}
	ck_assert(late && backlog && unconfirmed && recovered);
	ck_assert_uint_eq(number(j, "late"), late);
	ck_assert_uint_eq(number(j, "backlog"), backlog);
	ck_assert_uint_eq(number(j, "unconfirmed"), unconfirmed);
	ck_assert_uint_eq(number(j, "recovered"), recovered);
	ck_assert_uint_eq(number(j, "lost"), 15);
	ck_assert_uint_eq(number(j, "in_flight"), 1);
	ck_assert(json_is_true(json_object_get(j, "cleanly_ended")));
	rejected = json_object_get(
		json_array_get(
			json_object_get(json_array_get(json_object_get(j, "vms"), 1), "rings"), 0),
		"clock");
	rejected = json_array_get(json_object_get(rejected, "rejected"), 0);
	ck_assert_str_eq(json_string_value(rejected), "kvm");
	json_decref(j);
	synth_fini(&made);
}
END_TEST

START_TEST(a_killed_recorders_trace_still_adds_up)
{
	json_t *j = stat_of(SYNTH_NO_END);

	check_all(j);
	ck_assert(json_is_false(json_object_get(j, "cleanly_ended")));
	ck_assert_uint_eq(number(j, "lost"), 15);
	json_decref(j);
	synth_fini(&made);
}
END_TEST

/* Its counters, or its LOST records alone, say so; those of older recorders cannot. */
START_TEST(what_the_recorder_dropped_is_lost)
{
	const struct {
		unsigned int flags;
		uint64_t lost;
	} cases[] = {
		{ SYNTH_DROPS, 19 },
		{ SYNTH_DROPS | SYNTH_NO_END, 19 },
		{ SYNTH_OLD_LOSSES, 15 },
		{ SYNTH_OLD_LOSSES | SYNTH_NO_END, 15 },
	};
	json_t *j = stat_of(cases[_i].flags), *ring;

	check_all(j);
	ck_assert_uint_eq(number(j, "lost"), cases[_i].lost);
	ring = json_array_get(
		json_object_get(json_array_get(json_object_get(j, "vms"), 0), "rings"), 0);
	ck_assert_uint_eq(number(json_object_get(ring, "lost_by"), "dropped"), cases[_i].lost - 15);
	json_decref(j);
	synth_fini(&made);
}
END_TEST

/* 0: of the machine of which its kernel's own ring was read; 1: of none. */
START_TEST(what_a_kernel_overwrote_is_lost_at_least)
{
	json_t *j = stat_of(_i ? 0 : SYNTH_FTRACE), *vms = json_object_get(j, "vms");
	json_t *parts[] = {
		j,
		json_array_get(vms, 0),
		json_array_get(json_object_get(json_array_get(vms, 0), "rings"), 0),
		json_array_get(vms, 1),
	};

	check_all(j);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		json_t *least = json_object_get(parts[i], "lost_at_least");

		ck_assert(json_is_boolean(least));
		ck_assert_int_eq(json_is_true(least), !_i && i < 3);
	}
	json_decref(j);
	synth_fini(&made);
}
END_TEST

static uint64_t bound_of_ring_0(unsigned int flags)
{
	json_t *j = stat_of(flags), *ring;
	uint64_t ns;

	ring = json_array_get(
		json_object_get(json_array_get(json_object_get(j, "vms"), 0), "rings"), 0);
	ns = number(json_object_get(ring, "clock"), "bound_ns_max");
	json_decref(j);
	synth_fini(&made);
	return ns;
}

/* What the drain saw is wide; a node after it may say that it was on the line all the same. */
START_TEST(a_bound_that_a_later_node_confirms_is_told_as_that)
{
	ck_assert_uint_eq(bound_of_ring_0(SYNTH_SEEN), 5000000);
	ck_assert_uint_eq(bound_of_ring_0(SYNTH_SEEN | SYNTH_NO_END), 5000000);
	ck_assert_uint_eq(bound_of_ring_0(SYNTH_SEEN | SYNTH_CONFIRMED), 60);
	ck_assert_uint_eq(bound_of_ring_0(SYNTH_SEEN | SYNTH_CONFIRMED | SYNTH_NO_END), 60);
}
END_TEST

#define MS 1000000ull

/*
 * Two epochs of a ring whose segments are within 60 ns, from 1 s to 1.1 s and from 5 s on; an event
 * of this time and flags. Outside of the segments a look at the ring bounds it, or nothing does.
 */
START_TEST(the_greatest_error_beyond_the_nodes_is_what_the_drain_saw)
{
	static const struct {
		uint64_t ns;
		uint32_t flags;
		uint64_t lo_ns, hi_ns; /* of a look; 0: none */
		uint64_t bound_ns, unconfirmed_ns;
	} cases[] = {
		{ 1050 * MS, 0, 0, 0, 60, 0 },
		{ 1100 * MS, 0, 0, 0, 60, 0 },
		{ 1101 * MS, 0, 1100 * MS, 1103 * MS, 2 * MS + XVT_STAMP_SLACK_NS, 0 },
		{ 4999 * MS, 0, 4990 * MS, 5000 * MS, 9 * MS + XVT_STAMP_SLACK_NS, 0 },
		{ 1101 * MS, XVT_EVENT_F_UNCONFIRMED, 1100 * MS, 1401 * MS, 60,
		  300 * MS + XVT_STAMP_SLACK_NS },
		/* Beside a segment, although its time lies within one. */
		{ 1050 * MS, 0, 1040 * MS, 1200 * MS, 150 * MS + XVT_STAMP_SLACK_NS, 0 },
		/* Nothing is known, and nothing is claimed. */
		{ 1101 * MS, XVT_EVENT_F_UNCONFIRMED, 0, 0, 60, XVT_NO_BOUND },
		{ 1050 * MS, XVT_EVENT_F_UNCONFIRMED, 0, 0, 60, XVT_NO_BOUND },
		/* One side is not known. */
		{ 1050 * MS, XVT_EVENT_F_UNCONFIRMED, 0, 1060 * MS, 60, XVT_NO_BOUND },
		{ 1050 * MS, XVT_EVENT_F_UNCONFIRMED, 1040 * MS, UINT64_MAX, 60, XVT_NO_BOUND },
		{ 3000 * MS, XVT_EVENT_F_CLOCK, 2900 * MS, 3100 * MS, 60, 0 },
	};
	static const struct xvt_clock_node nodes[] = {
		{ 0, 0, 1, 1, 1000 * MS, 1000 * MS, 60, 60 },
		{ 0, 0, 1, 0, 1100 * MS, 1100 * MS, 60, 60 },
		{ 0, 1, 1, 1, 2000 * MS, 5000 * MS, 60, 60 },
		{ 0, 1, 1, 0, 2100 * MS, 5100 * MS, 60, 60 },
	};
	const struct xvt_clock_look look = {
		.flags = XVT_LOOK_F_BESIDE |
			 (cases[_i].flags & XVT_EVENT_F_UNCONFIRMED ? XVT_LOOK_F_GUESS : 0),
		.first_ns = cases[_i].ns,
		.last_ns = cases[_i].ns,
		.lo_ns = cases[_i].lo_ns,
		.hi_ns = cases[_i].hi_ns,
	};
	const struct xvt_event_hdr h = { cases[_i].ns, cases[_i].ns, cases[_i].flags,
					 XVT_ID_FIRST_EVENT, 0 };
	const struct xvt_file_info info = { .host_clock_id = XVT_CLOCK_TSC, .mult = 1 };
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = 1000000000 };
	const struct xvt_ring_info ring = { .clock_id = XVT_CLOCK_TSC };
	struct xvt_trace_writer *w;
	struct synth_sink sink;
	json_t *j, *clock;

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &info), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NODE, nodes, sizeof(nodes), NULL, 0), 0);
	if (look.hi_ns)
		ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_LOOKS, &look, sizeof(look), NULL, 0),
				 0);
	ck_assert_int_eq(xvt_trace_event(w, &h, NULL), 0);
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	j = stat_of_sink(&sink);
	clock = json_object_get(
		json_array_get(
			json_object_get(json_array_get(json_object_get(j, "vms"), 0), "rings"), 0),
		"clock");
	ck_assert_uint_eq(number(clock, "bound_ns_max"), cases[_i].bound_ns);
	ck_assert_uint_eq(number(clock, "unconfirmed_bound_ns_max"), cases[_i].unconfirmed_ns);
	json_decref(j);
}
END_TEST

Suite *stat_suite(void)
{
	Suite *s = suite_create("stat");
	TCase *t = tcase_create("stat");

	tcase_add_loop_test(t, what_a_kernel_overwrote_is_lost_at_least, 0, 2);
	tcase_add_loop_test(t, the_greatest_error_beyond_the_nodes_is_what_the_drain_saw, 0, 11);
	tcase_add_test(t, a_ring_without_a_clock_makes_no_trace_long);
	tcase_add_test(t, the_contracts_keys_and_sums);
	tcase_add_test(t, a_killed_recorders_trace_still_adds_up);
	tcase_add_loop_test(t, what_the_recorder_dropped_is_lost, 0, 4);
	tcase_add_test(t, a_bound_that_a_later_node_confirms_is_told_as_that);
	suite_add_tcase(s, t);
	return s;
}
