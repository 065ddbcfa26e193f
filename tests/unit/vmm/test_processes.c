// SPDX-License-Identifier: GPL-2.0
/* test_processes.c - the search for a process that maps a file, in steps. */
#define _GNU_SOURCE
#include "suites.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "synth.h"
#include "vmm/processes.h"

#define PARTS 300u /* mappings in front of the file's */

struct finds {
	pid_t wanted;
	unsigned int of_wanted, of_others;
	size_t file;
};

static void on_mapping(void *arg, int32_t pid, size_t file)
{
	struct finds *f = arg;

	if (pid == f->wanted)
		f->of_wanted++;
	else
		f->of_others++;
	f->file = file;
}

static void on_vhost(void *arg, int32_t tid, const char *name, int32_t pid)
{
	(void)arg;
	(void)tid;
	(void)name;
	(void)pid;
}

/* A process that maps the file, with many mappings in front of it. */
static pid_t begin_process(int fd)
{
	pid_t test = getpid(), pid;
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != test ||
		    mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			_exit(1);
		for (unsigned int i = 0; i < PARTS; i++)
			mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* Search in the shortest steps. Returns how many. */
static unsigned int search(struct finds *f, const struct xvt_mapped_file *files, size_t count)
{
	const struct xvt_process_finder finder = { on_mapping, on_vhost, f };
	struct xvt_process_search *s;
	unsigned int steps = 1;

	f->of_wanted = f->of_others = 0;
	ck_assert_int_eq(xvt_process_search_begin(&s, &finder, files, count), 0);
	while (!xvt_process_search_step(s, 0))
		steps++;
	xvt_process_search_end(s);
	return steps;
}

START_TEST(a_process_is_found_by_the_file_that_it_maps)
{
	const char *path = scratch_path("mapped");
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct xvt_mapped_file files[2] = { { 0 } };
	struct finds f = { 0 };
	struct stat st;

	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	files[1] = (struct xvt_mapped_file){ st.st_dev, st.st_ino };
	f.wanted = begin_process(fd);
	ck_assert_uint_gt(search(&f, files, 2), PARTS / 64);
	ck_assert_uint_eq(f.of_wanted, 1);
	ck_assert_uint_eq(f.of_others, 0);
	ck_assert_uint_eq(f.file, 1);
	kill(f.wanted, SIGKILL);
	ck_assert_int_eq(waitpid(f.wanted, NULL, 0), f.wanted);
	search(&f, files, 2);
	ck_assert_uint_eq(f.of_wanted + f.of_others, 0);
	close(fd);
}
END_TEST

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

START_TEST(a_thread_has_the_time_of_its_start)
{
	const uint64_t before = monotonic_ns();
	const pid_t child = fork();
	uint64_t start, after;

	if (!child) {
		pause();
		_exit(0);
	}
	after = monotonic_ns();
	ck_assert_int_gt(child, 0);
	start = xvt_thread_start_ns(child);
	ck_assert_uint_ge(start + 20000000,
			  before); /* a tick, and what two clocks are read apart */
	ck_assert_uint_le(start, after + 1000000);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_uint_eq(xvt_thread_start_ns(child), 0);
}
END_TEST

/* A search that is ended in the middle of a process's mappings leaves nothing. */
START_TEST(a_search_may_end_at_any_step)
{
	const struct xvt_mapped_file file = { 1, 2 };
	struct finds f = { 0 };
	const struct xvt_process_finder finder = { on_mapping, on_vhost, &f };

	for (unsigned int steps = 0; steps < 8; steps++) {
		struct xvt_process_search *s;

		ck_assert_int_eq(xvt_process_search_begin(&s, &finder, &file, 1), 0);
		for (unsigned int i = 0; i < steps; i++)
			xvt_process_search_step(s, 0);
		xvt_process_search_end(s);
	}
	xvt_process_search_end(NULL);
}
END_TEST

Suite *processes_suite(void)
{
	Suite *suite = suite_create("processes");
	TCase *t = tcase_create("search");

	tcase_add_test(t, a_process_is_found_by_the_file_that_it_maps);
	tcase_add_test(t, a_search_may_end_at_any_step);
	tcase_add_test(t, a_thread_has_the_time_of_its_start);
	suite_add_tcase(suite, t);
	return suite;
}
