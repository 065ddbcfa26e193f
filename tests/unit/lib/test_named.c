// SPDX-License-Identifier: GPL-2.0
/*
 * test_named.c - what a trace says of a guest's kernel (XVT_META_KERNEL), where a file's sender may
 * have written anything there: names come from the cache only where the chunk is whole, of a
 * machine that can have one, and fits; else the reason is said in a line.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/cache.h"
#include "lib/xvtrace.h"
#include "synth.h"
#include "trace/set.h"
#include "view/kernels.h"
#include "view/verify.h"

#define BUILD_A "00112233445566778899aabbccddeeff01234567"
#define BUILD_B "ff112233445566778899aabbccddeeff01234567"
#define TICK	300u
#define LENGTH	16u /* of its records */
#define PASSIVE 0u
#define MODULE	1u
#define LENGTHS (1u << 20) /* that a reader keeps: EVENTS_MOST of named.c */

static char folder[64];
static struct synth_sink sink;
static struct xvt_trace_writer *writer;
static struct xvtrace *trace;
static struct xvtrace_names names;

/* A kernel whose only event has records of LENGTH bytes. */
static void store_kernel(const char *build_id, const char *release)
{
	static const char text[] = "name: tick\nID: 300\nformat:\n"
				   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;"
				   "\tsigned:0;\n\n"
				   "\tfield:unsigned long serial;\toffset:8;\tsize:8;\tsigned:0;"
				   "\n\nprint fmt: \"\"\n";
	char kernel[128];
	struct xvt_error why = { "" };
	struct xvt_formats f;
	const char *reason;

	snprintf(kernel, sizeof(kernel), "Linux %s #1 SMP x86_64", release);
	ck_assert_int_eq(xvt_formats_begin(&f, build_id, kernel, "import", &reason), 0);
	ck_assert_int_eq(xvt_formats_add(&f, "test", "tick", text, strlen(text), &reason), 0);
	ck_assert_msg(!xvt_formats_cache_store(&f, &why), "%s", why.text);
	xvt_formats_free(&f);
}

static void begin_trace(void)
{
	static const struct xvt_file_info info = {
		.host_clock_id = XVT_CLOCK_TSC, .mult = 1717986918, .shift = 32, .host_name = "host"
	};
	static const struct xvt_vm_info vms[] = {
		{ .vm = PASSIVE, .region_kind = XVT_REGION_FTRACE, .name = "passive" },
		{ .vm = MODULE, .region_kind = XVT_KIND_LINUX, .name = "module" },
	};

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&writer, &sink.sink, &info), 0);
	for (size_t i = 0; i < sizeof(vms) / sizeof(vms[0]); i++)
		ck_assert_int_eq(
			xvt_trace_put(writer, XVT_CHUNK_VM, &vms[i], sizeof(vms[i]), NULL, 0), 0);
}

static void setup(void)
{
	snprintf(folder, sizeof(folder), "/tmp/xvt-named-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XVT_FORMATS_DIR", folder, 1);
	store_kernel(BUILD_A, "6.12.1-a");
	store_kernel(BUILD_B, "6.12.1-b");
	begin_trace();
}

static void teardown(void)
{
	xvtrace_close(trace);
	trace = NULL;
	synth_sink_fini(&sink);
	unlink(scratch_path("named.xvt"));
	for (const char *const *id = (const char *const[]){ BUILD_A, BUILD_B, NULL }; *id; id++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s.formats", folder, *id);
		unlink(path);
	}
	rmdir(folder);
	unsetenv("XVT_FORMATS_DIR");
}

static void put_meta(uint32_t vm, uint32_t type, const void *payload, size_t len)
{
	const struct xvt_meta_info info = { vm, type, 0, 0 };

	ck_assert_int_eq(xvt_trace_put(writer, XVT_CHUNK_META, &info, sizeof(info), payload, len),
			 0);
}

struct said {
	struct xvt_meta_kernel kernel;
	struct xvt_kernel_event events[4];
};

static struct said said_of(uint32_t state, const char *build_id)
{
	struct said m = { .kernel = { .state = state }, .events = { { TICK, LENGTH, LENGTH, 0 } } };

	memcpy(m.kernel.build_id, build_id, strnlen(build_id, sizeof(m.kernel.build_id)));
	return m;
}

#define WITH(n) (sizeof(struct xvt_meta_kernel) + (n) * sizeof(struct xvt_kernel_event))

/* The chunk, with its first event alone. */
static void say(uint32_t vm, uint32_t state, const char *build_id)
{
	const struct said m = said_of(state, build_id);

	put_meta(vm, XVT_META_KERNEL, &m, WITH(1));
}

/* Open what was written. Returns what is known of a machine's names. */
static bool look(unsigned int machine)
{
	struct xvtrace_error error = { "" };

	if (writer) {
		ck_assert_int_eq(xvt_trace_writer_finish(writer), 0);
		writer = NULL;
		synth_sink_save(&sink, scratch_path("named.xvt"));
	}
	xvtrace_close(trace);
	ck_assert_msg(!xvtrace_open(&trace, scratch_path("named.xvt"), 0, &error), "%s",
		      error.text);
	return xvtrace_names(trace, machine, &names) > 0;
}

static void has_names_of(const char *build_id)
{
	ck_assert(look(PASSIVE));
	ck_assert_str_eq(names.build_id, build_id);
	ck_assert_ptr_null(names.why);
}

/* No names, and the reason has this text. */
static void has_none(const char *because)
{
	ck_assert(!look(PASSIVE));
	ck_assert_ptr_null(names.build_id);
	ck_assert_ptr_nonnull(names.why);
	ck_assert_msg(strstr(names.why, because), "%s", names.why);
}

static char violation[1024]; /* the first on metadata of a kernel */

static void take_line(void *arg, const char *text)
{
	(void)arg;
	if (!violation[0] && (strstr(text, "kernel") || strstr(text, "records of event") ||
			      strstr(text, "metadata of machine")))
		snprintf(violation, sizeof(violation), "%s", text);
}

/* Verify what look() wrote. refuses: what a violation says; NULL: there is none on a kernel. */
static void verify(const char *refuses)
{
	const struct xvt_verify_opts opts = { .line = take_line };
	struct xvt_verify_result result;
	struct xvt_trace *t;
	struct xvt_error why;

	ck_assert_int_eq(xvt_trace_open(&t, scratch_path("named.xvt"), &why), 0);
	violation[0] = '\0';
	ck_assert_int_eq(xvt_verify(t, &opts, &result), 0);
	xvt_verify_result_fini(&result);
	xvt_trace_close(t);
	if (refuses)
		ck_assert_msg(strstr(violation, refuses), "%s", violation);
	else
		ck_assert_str_eq(violation, "");
}

START_TEST(a_proven_build_has_names)
{
	say(PASSIVE, XVT_KERNEL_PROVEN, BUILD_A);
	has_names_of(BUILD_A);
	verify(NULL);
}
END_TEST

/* What cannot be a build id names no file of the cache. */
START_TEST(what_is_no_build_id_is_not_looked_for)
{
	static const char *const ids[] = {
		"",
		"0011223",
		"001122334",
		"00112233445566778899aabbccddeeff0123456",
		"00112233445566778899AABBCCDDEEFF01234567",
		"../../../../../../../../tmp/somewhere/a0",
		"001122334455667788 9aabbccddeeff01234567",
		"0011223344556677\x01\xff\n9aabbccddeeff01234567",
	};

	say(PASSIVE, XVT_KERNEL_PROVEN, ids[_i]);
	has_none("the trace does not say which kernel wrote them");
	verify("its build id is none");
}
END_TEST

/* All 64 bytes are digits: no zero ends them. */
START_TEST(the_longest_build_id_ends)
{
	char id[XVT_KERNEL_BUILD_ID + 1];

	memset(id, 'a', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	say(PASSIVE, XVT_KERNEL_PROVEN, id);
	has_none("whose formats are not known here");
	ck_assert_ptr_nonnull(strstr(names.why, id));
	ck_assert_int_ne(strstr(names.why, id)[strlen(id)], 'a');
	verify(NULL);
}
END_TEST

/* A build that is proven no more than a state says, or by a state that this reader does not know.
 */
START_TEST(other_states_prove_nothing)
{
	static const struct {
		uint32_t state;
		const char *because;
	} states[] = {
		{ XVT_KERNEL_UNKNOWN, "does not say which kernel" },
		{ XVT_KERNEL_UNPROVEN, "a boot before may have left that there" },
		{ XVT_KERNEL_MIXED, "kernels of two builds wrote them" },
		{ XVT_KERNEL_MIXED + 1, "does not say which kernel" },
		{ UINT32_MAX, "does not say which kernel" },
	};

	say(PASSIVE, states[_i].state, BUILD_A);
	has_none(states[_i].because);
	verify(states[_i].state > XVT_KERNEL_MIXED ? "a state or a flag that is unknown" : NULL);
}
END_TEST

START_TEST(of_two_the_last_one_counts)
{
	say(PASSIVE, XVT_KERNEL_PROVEN, BUILD_A);
	say(PASSIVE, XVT_KERNEL_PROVEN, BUILD_B);
	has_names_of(BUILD_B);
}
END_TEST

START_TEST(the_last_one_takes_names_back)
{
	say(PASSIVE, XVT_KERNEL_PROVEN, BUILD_A);
	say(PASSIVE, XVT_KERNEL_MIXED, "");
	has_none("kernels of two builds wrote them");
}
END_TEST

/* The lengths of all of them are compared, also of one that counts no more. */
START_TEST(lengths_of_all_count_together)
{
	struct said m = said_of(XVT_KERNEL_PROVEN, BUILD_A);

	m.events[0] = (struct xvt_kernel_event){ TICK, 400, 400, 0 };
	put_meta(PASSIVE, XVT_META_KERNEL, &m, WITH(1));
	say(PASSIVE, XVT_KERNEL_PROVEN, BUILD_A);
	has_none("they are not of kernel 6.12.1-a");
}
END_TEST

/* Lengths that no record has, of a number that is among the kernel's: they are left out. Those that
 * a record can have, and the kernel's event has not, contradict it. */
START_TEST(lengths_at_their_limits)
{
	static const struct {
		struct xvt_kernel_event e;
		bool wrong, contradicts;
	} of[] = {
		{ { TICK, 0, 0, 0 }, true, false },
		{ { TICK, 1, 1, 0 }, true, false },
		{ { TICK, LENGTH, LENGTH - 1, 0 }, true, false },
		{ { TICK, UINT16_MAX, 0, 0 }, true, false },
		{ { TICK, 2, LENGTH, 0 }, false, true },
		{ { TICK, LENGTH, UINT16_MAX, 0 }, false, true },
		{ { TICK, UINT16_MAX, UINT16_MAX, UINT16_MAX }, false, true },
		{ { 0, LENGTH, LENGTH, 0 }, false, false },
		{ { UINT16_MAX, UINT16_MAX, UINT16_MAX, 0 }, false, false },
	};
	struct said m = said_of(XVT_KERNEL_PROVEN, BUILD_A);

	m.events[1] = of[_i].e;
	put_meta(PASSIVE, XVT_META_KERNEL, &m, WITH(2));
	if (of[_i].contradicts)
		has_none("they are not of kernel 6.12.1-a");
	else
		has_names_of(BUILD_A);
	verify(of[_i].wrong ? "are said to have" : NULL);
}
END_TEST

/* The array is what the chunk has, in whole events. What is no whole structure says nothing. */
START_TEST(a_chunk_that_is_cut_off)
{
	const struct said m = said_of(XVT_KERNEL_PROVEN, BUILD_A);
	const size_t len = (size_t)_i;

	put_meta(PASSIVE, XVT_META_KERNEL, &m, len);
	if (len < WITH(0)) {
		has_none("an older recorder wrote it");
		verify("the chunk is too short");
		return;
	}
	/* Without a number of an event nothing contradicts, and nothing is named. */
	has_names_of(BUILD_A);
	verify(len > WITH(0) ? "no multiple" : NULL);
}
END_TEST

START_TEST(more_lengths_than_are_kept)
{
	const size_t len = sizeof(struct xvt_kernel_event) * (LENGTHS / 2 + _i);
	const struct xvt_meta_info info = { PASSIVE, XVT_META_KERNEL, 0, 0 };
	const struct said m = said_of(XVT_KERNEL_PROVEN, BUILD_A);
	struct {
		struct xvt_meta_info info;
		struct xvt_meta_kernel kernel;
	} head = { info, m.kernel };
	struct xvt_kernel_event *events = malloc(len);

	ck_assert_ptr_nonnull(events);
	for (size_t i = 0; i < len / sizeof(*events); i++)
		events[i] = m.events[0];
	for (unsigned int i = 0; i < 2; i++)
		ck_assert_int_eq(
			xvt_trace_put(writer, XVT_CHUNK_META, &head, sizeof(head), events, len), 0);
	free(events);
	if (_i)
		has_none("more lengths of events than are compared");
	else
		has_names_of(BUILD_A);
}
END_TEST

/* A machine whose guest sends its formats, one that the trace does not have. */
START_TEST(a_machine_that_has_none)
{
	static const uint32_t machines[] = { MODULE, 2, 100, UINT32_MAX };
	struct xvtrace_error error = { "" };

	say(machines[_i], XVT_KERNEL_PROVEN, BUILD_A);
	has_none("an older recorder wrote it");
	verify(machines[_i] == MODULE ? "its guest sends its formats"
				      : "which the trace does not have");
	ck_assert(!look(MODULE));
	ck_assert_ptr_null(names.why);
	ck_assert_int_eq(xvtrace_claim_kernel(trace, "module", BUILD_A, &error), -EINVAL);
	ck_assert_str_ne(error.text, "");
}
END_TEST

/* Metadata of other types, of which this reader knows nothing. */
START_TEST(types_above_the_limit)
{
	static const uint32_t types[] = { XVT_META_KERNEL + 1, 255, 0x10000u + XVT_META_KERNEL,
					  UINT32_MAX };
	const struct said m = said_of(XVT_KERNEL_PROVEN, BUILD_B);

	say(PASSIVE, XVT_KERNEL_PROVEN, BUILD_A);
	put_meta(PASSIVE, types[_i], &m, WITH(1));
	has_names_of(BUILD_A);
	verify(NULL);
}
END_TEST

/* Its bytes are not those of its checksum, or it says that it is compressed, which it never is. */
START_TEST(a_damaged_one_says_nothing)
{
	uint8_t *at;

	say(PASSIVE, XVT_KERNEL_PROVEN, BUILD_A);
	ck_assert_int_eq(xvt_trace_writer_finish(writer), 0);
	writer = NULL;
	at = sink.bytes + synth_find_chunk(&sink, XVT_CHUNK_META, 0);
	if (_i) {
		((struct xvt_chunk_hdr *)at)->flags |= XVT_CHUNK_F_ZSTD;
		synth_sign_chunk(at);
	} else {
		at[sizeof(struct xvt_chunk_hdr) + sizeof(struct xvt_meta_info)] ^= 2;
	}
	synth_sink_save(&sink, scratch_path("named.xvt"));
	has_none("an older recorder wrote it");
}
END_TEST

/* The user's word changes nothing where kernels of two builds wrote the events. */
START_TEST(no_word_helps_where_two_wrote)
{
	struct xvtrace_error error = { "" };

	say(PASSIVE, XVT_KERNEL_MIXED, "");
	has_none("kernels of two builds wrote them");
	xvtrace_claim_kernel(trace, "passive", BUILD_A, &error);
	ck_assert_int_eq(xvtrace_names(trace, PASSIVE, &names), 0);
	ck_assert_ptr_nonnull(strstr(names.why, "kernels of two builds wrote them"));
}
END_TEST

/* A file of a folder, with what it says of the machine's kernel; state UINT32_MAX: nothing. */
static void write_part(const char *path, uint32_t state, const char *build_id, uint32_t flags)
{
	struct said m = said_of(state, build_id);

	m.kernel.flags = flags;
	if (state != UINT32_MAX)
		put_meta(PASSIVE, XVT_META_KERNEL, &m, WITH(1));
	ck_assert_int_eq(xvt_trace_writer_finish(writer), 0);
	writer = NULL;
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
}

#define A XVT_KERNEL_PROVEN, BUILD_A
#define B XVT_KERNEL_PROVEN, BUILD_B

/* What holds for all files of a folder is the least that each of them says. */
START_TEST(a_folder_says_what_all_its_files_do)
{
	static const struct {
		uint32_t first;
		const char *first_id;
		uint32_t second;
		const char *second_id;
		uint32_t state;
		const char *id;
	} of[] = {
		{ A, A, A },
		{ A, B, XVT_KERNEL_MIXED, "" },
		{ A, XVT_KERNEL_UNPROVEN, BUILD_A, XVT_KERNEL_UNPROVEN, BUILD_A },
		{ XVT_KERNEL_UNPROVEN, BUILD_A, A, XVT_KERNEL_UNPROVEN, BUILD_A },
		{ A, XVT_KERNEL_UNPROVEN, BUILD_B, XVT_KERNEL_MIXED, "" },
		{ A, XVT_KERNEL_UNKNOWN, "", XVT_KERNEL_UNKNOWN, "" },
		{ XVT_KERNEL_UNKNOWN, BUILD_A, A, XVT_KERNEL_UNKNOWN, "" },
		{ A, UINT32_MAX, "", XVT_KERNEL_UNKNOWN, "" },
		{ UINT32_MAX, "", A, XVT_KERNEL_UNKNOWN, "" },
		{ XVT_KERNEL_MIXED, "", A, XVT_KERNEL_MIXED, "" },
		{ A, XVT_KERNEL_MIXED, "", XVT_KERNEL_MIXED, "" },
	};
	const uint32_t named = XVT_KERNEL_F_NAMED;
	struct xvt_meta_kernel *sum;
	char set[128], path[160];
	struct xvt_trace *t;
	struct xvt_error why;

	snprintf(set, sizeof(set), "%s/set", folder);
	ck_assert_int_eq(mkdir(set, 0700), 0);
	snprintf(path, sizeof(path), "%s/00000001.xvt", set);
	write_part(path, of[_i].first, of[_i].first_id, named);
	begin_trace();
	snprintf(path, sizeof(path), "%s/00000002.xvt", set);
	write_part(path, of[_i].second, of[_i].second_id, _i ? 0 : named);
	ck_assert_int_eq(xvt_set_open(&t, set, false, &why), 0);
	ck_assert_uint_eq(t->part_count, 2);
	ck_assert_int_eq(xvt_kernels_sum(t, &sum), 0);
	ck_assert_uint_eq(sum[PASSIVE].state, of[_i].state);
	ck_assert_str_eq(sum[PASSIVE].build_id, of[_i].id);
	ck_assert_uint_eq(sum[PASSIVE].flags, _i ? 0 : named);
	ck_assert_uint_eq(sum[MODULE].state, XVT_KERNEL_UNKNOWN);
	free(sum);
	xvt_trace_close(t);
	unlink(path);
	snprintf(path, sizeof(path), "%s/00000001.xvt", set);
	unlink(path);
	rmdir(set);
	synth_sink_init(&sink);
}
END_TEST

Suite *named_suite(void)
{
	Suite *suite = suite_create("named");
	TCase *t = tcase_create("kernel");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, a_proven_build_has_names);
	tcase_add_loop_test(t, what_is_no_build_id_is_not_looked_for, 0, 8);
	tcase_add_test(t, the_longest_build_id_ends);
	tcase_add_loop_test(t, other_states_prove_nothing, 0, 5);
	tcase_add_test(t, of_two_the_last_one_counts);
	tcase_add_test(t, the_last_one_takes_names_back);
	tcase_add_test(t, lengths_of_all_count_together);
	tcase_add_loop_test(t, lengths_at_their_limits, 0, 9);
	tcase_add_loop_test(t, a_chunk_that_is_cut_off, 0, WITH(1));
	tcase_add_loop_test(t, more_lengths_than_are_kept, 0, 2);
	tcase_add_loop_test(t, a_machine_that_has_none, 0, 4);
	tcase_add_loop_test(t, types_above_the_limit, 0, 4);
	tcase_add_loop_test(t, a_damaged_one_says_nothing, 0, 2);
	tcase_add_test(t, no_word_helps_where_two_wrote);
	tcase_add_loop_test(t, a_folder_says_what_all_its_files_do, 0, 11);
	suite_add_tcase(suite, t);
	return suite;
}
