// SPDX-License-Identifier: GPL-2.0
/* test_output.c - which trace a command reads, and where one may be written. */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/bell_server.h"
#include "record/recording.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "said.h"
#include "trace/format.h"

static char before[4096];

static void setup(void)
{
	said_setup();
	ck_assert_ptr_nonnull(getcwd(before, sizeof(before)));
	mkdir(scratch_path("output"), 0700);
	ck_assert_int_eq(chdir(scratch_path("output")), 0);
}

static void teardown(void)
{
	unlink("t.xvt");
	unlink("plain");
	unlink(XVT_TRACE_DEFAULT);
	unlink("set/00000001.xvt");
	rmdir("set");
	rmdir("folder");
	ck_assert_int_eq(chdir(before), 0);
	rmdir(scratch_path("output"));
}

static void write_file(const char *path, uint32_t magic)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(&magic, sizeof(magic), 1, f), 1);
	fclose(f);
}

/* ------------------------------------------------------------------ read */

START_TEST(a_command_reads_what_it_is_given)
{
	char *args[] = { (char *)"a", (char *)"b" };
	const char *const *paths;

	ck_assert_str_eq(xvt_trace_path("stat", 1, args), "a");
	ck_assert_ptr_null(xvt_trace_path("stat", 2, args));
	said_has("stat: give one trace; 'xvtrace stat --help'");
	ck_assert_uint_eq(xvt_trace_paths("report", 2, args, &paths), 2);
	ck_assert_str_eq(paths[1], "b");
	ck_assert_uint_eq(xvt_trace_paths("report", 1, args, &paths), 1);
	ck_assert_str_eq(paths[0], "a");
	ck_assert_uint_eq(xvt_trace_paths("report", 0, args, &paths), 0);
	said_has("report: give one trace: this folder has no xvtrace.xvt");
	write_file(XVT_TRACE_DEFAULT, 0);
	ck_assert_uint_eq(xvt_trace_paths("report", 0, args, &paths), 1);
	ck_assert_str_eq(paths[0], "xvtrace.xvt");
}
END_TEST

START_TEST(a_trace_is_known_by_its_begin)
{
	write_file("plain", XVT_CHUNK_MAGIC + 1);
	ck_assert(!xvt_is_trace_path("plain"));
	write_file("plain", XVT_CHUNK_MAGIC);
	ck_assert(xvt_is_trace_path("plain"));
	ck_assert_int_eq(truncate("plain", 3), 0);
	ck_assert(!xvt_is_trace_path("plain"));
	ck_assert(!xvt_is_trace_path("none"));
	mkdir("folder", 0700);
	ck_assert(!xvt_is_trace_path("folder") && !xvt_is_trace_path("folder/"));
	mkdir("set", 0700);
	write_file("set/00000001.xvt", XVT_CHUNK_MAGIC);
	ck_assert(xvt_is_trace_path("set/"));
	/* Standard output, whatever a file of that name has. */
	ck_assert(!xvt_is_trace_path("-"));
	/* To open a FIFO would wait for its writer. */
	unlink("plain");
	ck_assert_int_eq(mkfifo("plain", 0600), 0);
	ck_assert(!xvt_is_trace_path("plain"));
}
END_TEST

/* What standard input has is in a file of its own then: it can be read twice. */
static void input_is(const char *expected)
{
	char text[64];

	for (int i = 0; i < 2; i++) {
		int fd = open("/dev/stdin", O_RDONLY);
		ssize_t n = pread(fd, text, sizeof(text), 0);

		ck_assert_int_eq(n, (ssize_t)strlen(expected));
		ck_assert_mem_eq(text, expected, strlen(expected));
		close(fd);
	}
}

START_TEST(a_pipe_is_kept_in_a_file)
{
	char *args[] = { (char *)"a", (char *)"-" };
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(write(fds[1], "trace", 5), 5);
	close(fds[1]);
	ck_assert_int_eq(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
	close(fds[0]);
	ck_assert(xvt_standard_inputs(2, args));
	ck_assert_str_eq(args[0], "a");
	ck_assert_str_eq(args[1], "/dev/stdin");
	input_is("trace");
	ck_assert_str_eq(said(), "");
}
END_TEST

START_TEST(a_file_is_read_from_its_begin)
{
	char *arg = (char *)"-";
	struct stat file, in;
	int fd;

	write_file("plain", 0x64636261);
	fd = open("plain", O_RDONLY);
	ck_assert_int_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	close(fd);
	ck_assert(xvt_standard_input(&arg));
	input_is("abcd");
	ck_assert_int_eq(fstat(STDIN_FILENO, &in), 0);
	ck_assert_int_eq(stat("plain", &file), 0);
	ck_assert_uint_eq(in.st_ino, file.st_ino);
	/* Of a file that was read in part, the rest is meant. */
	ck_assert_int_eq(lseek(STDIN_FILENO, 1, SEEK_SET), 1);
	arg = (char *)"-";
	ck_assert(xvt_standard_input(&arg));
	input_is("bcd");
}
END_TEST

START_TEST(standard_input_is_one_trace)
{
	char *args[] = { (char *)"-", (char *)"./-", (char *)"-" };
	int fd = open("/dev/null", O_RDONLY);

	ck_assert_int_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	close(fd);
	ck_assert(!xvt_standard_inputs(3, args));
	said_has("standard input is one trace; it is given twice");
	ck_assert_str_eq(args[1], "./-");
}
END_TEST

/* ------------------------------------------------------------------ written */

START_TEST(a_folder_is_meant_as_one)
{
	mkdir("folder", 0700);
	ck_assert(xvt_output_ok("folder/"));
	ck_assert(xvt_output_ok("none"));
	ck_assert(xvt_output_ok("./-"));
	ck_assert(!xvt_output_ok("folder"));
	said_has("for numbered files in it give -o folder/, for one file -o folder/FILE.xvt");
	ck_assert(!xvt_output_ok("-"));
	said_has("standard output is for what commands print");
	/* It has files of a trace already. */
	mkdir("set", 0700);
	write_file("set/00000001.xvt", XVT_CHUNK_MAGIC);
	ck_assert(xvt_output_ok("set"));
}
END_TEST

START_TEST(a_recording_has_an_output_and_a_machine)
{
	static struct xvt_machine_options machines;

	ck_assert_int_eq(xvt_recording_options("record", NULL, &machines), 2);
	said_has("record: no output given");
	ck_assert_int_eq(xvt_recording_options("record", "t", &machines), 2);
	said_has("record: no machine given");
	machines.all = true;
	ck_assert_int_eq(xvt_recording_options("record", "t", &machines), 0);
	machines.all = false;
	machines.domains.n = 1;
	ck_assert_int_eq(xvt_recording_options("record", "t", &machines), 0);
	machines.domains.n = 0;
	machines.regions.n = 1;
	ck_assert_int_eq(xvt_recording_options("record", "t", &machines), 0);
	ck_assert_str_eq(said(), "");
}
END_TEST

START_TEST(helpers_have_room)
{
	static struct xvt_recording rec;
	pid_t pids[XVT_RECORDING_HELPERS + 1];

	for (size_t i = 0; i <= XVT_RECORDING_HELPERS; i++)
		xvt_recording_needs(&rec, &pids[i], "does");
	ck_assert_uint_eq(rec.helper_count, XVT_RECORDING_HELPERS);
	ck_assert_ptr_eq(rec.helpers[XVT_RECORDING_HELPERS - 1].pid,
			 &pids[XVT_RECORDING_HELPERS - 1]);
}
END_TEST

/* ------------------------------------------------------------------ servers of doorbells */

START_TEST(a_server_is_named_or_beside_its_region)
{
	char path[XVT_BELL_SERVER_PATH];
	struct xvt_error why;

	ck_assert(xvt_bell_server_find("/run/server", "/dev/shm/g1", false, path));
	ck_assert_str_eq(path, "/run/server");
	ck_assert(!xvt_bell_server_find("", "t.xvt", true, path));
	ck_assert_str_eq(path, "t.xvt.doorbell");
	/* Another file there is no socket. */
	write_file("t.xvt", 0);
	write_file("t.xvt.doorbell", 0);
	ck_assert(!xvt_bell_server_find("", "t.xvt", true, path));
	ck_assert(!xvt_bell_server_runs("t.xvt"));
	ck_assert_int_eq(xvt_bell_server_stop("t.xvt", &why), 0);
	ck_assert_int_eq(access("t.xvt.doorbell", F_OK), 0);
	unlink("t.xvt.doorbell");
}
END_TEST

Suite *output_suite(void)
{
	Suite *s = suite_create("output");
	TCase *t = tcase_create("output");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_command_reads_what_it_is_given);
	tcase_add_test(t, a_trace_is_known_by_its_begin);
	tcase_add_test(t, a_pipe_is_kept_in_a_file);
	tcase_add_test(t, a_file_is_read_from_its_begin);
	tcase_add_test(t, standard_input_is_one_trace);
	tcase_add_test(t, a_folder_is_meant_as_one);
	tcase_add_test(t, a_recording_has_an_output_and_a_machine);
	tcase_add_test(t, helpers_have_room);
	tcase_add_test(t, a_server_is_named_or_beside_its_region);
	suite_add_tcase(s, t);
	return s;
}
