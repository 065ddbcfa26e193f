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

#include "cmd.h"
#include "synth.h"

static struct synth made;

static json_t *stat_of(unsigned int flags)
{
	char path[256], out_path[256];
	char *argv[] = { "stat", "--json", "-q", path, NULL };
	struct synth_sink sink;
	json_error_t error;
	json_t *j;
	int keep;

	snprintf(path, sizeof(path), "%s", scratch_path("stat.xvt"));
	snprintf(out_path, sizeof(out_path), "%s", scratch_path("stat.json"));
	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, 240, flags);
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
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
	static const char *const causes[] = {
		"full", "wrap", "big", "nest", "retry", "overwritten"
	};
	json_t *by = json_object_get(ring, "lost_by"), *clock = json_object_get(ring, "clock");
	uint64_t sum = 0;

	for (size_t i = 0; i < 6; i++)
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

Suite *stat_suite(void)
{
	Suite *s = suite_create("stat");
	TCase *t = tcase_create("stat");

	tcase_add_test(t, the_contracts_keys_and_sums);
	tcase_add_test(t, a_killed_recorders_trace_still_adds_up);
	tcase_add_test(t, a_bound_that_a_later_node_confirms_is_told_as_that);
	suite_add_tcase(s, t);
	return s;
}
