// SPDX-License-Identifier: GPL-2.0
/* host_main.c - runs the suites of host/. CK_FORK=no CK_RUN_SUITE=decode gdb host-check */
#define _GNU_SOURCE
#include "suites.h"

#include "rights/sandbox.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char scratch_dir[] = "/tmp/xvt-host-check-XXXXXX";

const char *scratch(void)
{
	return scratch_dir;
}

const char *scratch_path(const char *name)
{
	static char paths[4][256];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", scratch_dir, name);
	return path;
}

int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

void stop_child(pid_t child)
{
	siginfo_t info;

	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WSTOPPED), 0);
	ck_assert_int_eq(info.si_code, CLD_STOPPED);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* These use the event loop; they are short. XVT_ONLY_LOOP=1 XVTRACE_LOOP=epoll tries its other
 * kind. */
static void add_loop_suites(SRunner *runner)
{
	srunner_add_suite(runner, loop_suite());
	srunner_add_suite(runner, sink_suite());
	srunner_add_suite(runner, cut_suite());
	srunner_add_suite(runner, repack_suite());
	srunner_add_suite(runner, file_keep_suite());
	srunner_add_suite(runner, doorbell_suite());
	srunner_add_suite(runner, processes_suite());
	srunner_add_suite(runner, enums_suite());
	srunner_add_suite(runner, vm_libvirt_suite());
	srunner_add_suite(runner, vmm_qmp_suite());
	srunner_add_suite(runner, rounds_suite());
	srunner_add_suite(runner, control_suite());
	srunner_add_suite(runner, server_suite());
	srunner_add_suite(runner, snapshot_suite());
	srunner_add_suite(runner, drain_reads_suite());
	srunner_add_suite(runner, session_vmm_suite());
	srunner_add_suite(runner, session_wake_suite());
	srunner_add_suite(runner, session_way_suite());
	srunner_add_suite(runner, session_halt_suite());
	srunner_add_suite(runner, machine_state_suite());
}

static void add_other_suites(SRunner *runner)
{
	srunner_add_suite(runner, opt_suite());
	srunner_add_suite(runner, out_suite());
	srunner_add_suite(runner, pool_suite());
	srunner_add_suite(runner, opener_suite());
	srunner_add_suite(runner, rules_suite());
	srunner_add_suite(runner, number_suite());
	srunner_add_suite(runner, u64_suite());
	srunner_add_suite(runner, lock_suite());
	srunner_add_suite(runner, time_suite());
	srunner_add_suite(runner, machine_name_suite());
	srunner_add_suite(runner, top_tint_suite());
	srunner_add_suite(runner, compress_suite());
	srunner_add_suite(runner, cpu_suite());
	srunner_add_suite(runner, child_suite());
	srunner_add_suite(runner, workers_suite());
	srunner_add_suite(runner, journal_suite());
	srunner_add_suite(runner, timer_suite());
	srunner_add_suite(runner, vec_suite());
	srunner_add_suite(runner, crc32c_suite());
	srunner_add_suite(runner, loose_suite());
	srunner_add_suite(runner, nodes_suite());
	srunner_add_suite(runner, order_suite());
	srunner_add_suite(runner, bounds_suite());
	srunner_add_suite(runner, clock_suite());
	srunner_add_suite(runner, clock_doubt_suite());
	srunner_add_suite(runner, clock_formula_suite());
	srunner_add_suite(runner, clock_host_suite());
	srunner_add_suite(runner, clock_seen_suite());
	srunner_add_suite(runner, formats_suite());
	srunner_add_suite(runner, session_passive_suite());
	srunner_add_suite(runner, session_relayed_suite());
	srunner_add_suite(runner, clock_kvm_suite());
	srunner_add_suite(runner, clock_sets_suite());
	srunner_add_suite(runner, clock_sound_suite());
	srunner_add_suite(runner, page_suite());
	srunner_add_suite(runner, ftrace_page_suite());
	srunner_add_suite(runner, ftrace_map_suite());
	srunner_add_suite(runner, libvirt_uri_suite());
	srunner_add_suite(runner, abi_suite());
	srunner_add_suite(runner, ring_phase_suite());
	srunner_add_suite(runner, ring_place_suite());
	srunner_add_suite(runner, merge_suite());
	srunner_add_suite(runner, schedules_suite());
	srunner_add_suite(runner, session_drain_suite());
	srunner_add_suite(runner, session_exact_suite());
	srunner_add_suite(runner, session_host_suite());
	srunner_add_suite(runner, session_kvm_suite());
	srunner_add_suite(runner, session_looks_suite());
	srunner_add_suite(runner, session_loose_suite());
	srunner_add_suite(runner, session_rotate_suite());
	srunner_add_suite(runner, session_mark_suite());
	srunner_add_suite(runner, session_unused_suite());
	srunner_add_suite(runner, session_vm_suite());
	srunner_add_suite(runner, decode_suite());
	srunner_add_suite(runner, printk_suite());
	srunner_add_suite(runner, read_limits_suite());
	srunner_add_suite(runner, clean_text_suite());
	srunner_add_suite(runner, clock_fit_suite());
	srunner_add_suite(runner, clock_rate_suite());
	srunner_add_suite(runner, look_list_suite());
	srunner_add_suite(runner, exchange_suite());
	srunner_add_suite(runner, summary_suite());
	srunner_add_suite(runner, trim_suite());
	srunner_add_suite(runner, bound_suite());
	srunner_add_suite(runner, verify_heads_suite());
	srunner_add_suite(runner, verify_looks_suite());
	srunner_add_suite(runner, verify_away_suite());
	srunner_add_suite(runner, filter_suite());
	srunner_add_suite(runner, reclock_map_suite());
	srunner_add_suite(runner, lib_suite());
	srunner_add_suite(runner, named_suite());
	srunner_add_suite(runner, analysis_suite());
	srunner_add_suite(runner, split_suite());
	srunner_add_suite(runner, ahead_suite());
	srunner_add_suite(runner, keep_suite());
	srunner_add_suite(runner, counting_suite());
	srunner_add_suite(runner, analyze_suite());
	srunner_add_suite(runner, query_suite());
	srunner_add_suite(runner, path_suite());
	srunner_add_suite(runner, export_suite());
	srunner_add_suite(runner, dat_suite());
	srunner_add_suite(runner, verify_suite());
	srunner_add_suite(runner, serve_suite());
	srunner_add_suite(runner, answers_suite());
	srunner_add_suite(runner, metrics_suite());
	srunner_add_suite(runner, requests_suite());
	srunner_add_suite(runner, http_suite());
	srunner_add_suite(runner, armed_suite());
	srunner_add_suite(runner, keep_armed_suite());
	srunner_add_suite(runner, snapshots_suite());
	srunner_add_suite(runner, condition_suite());
	srunner_add_suite(runner, trigger_suite());
	srunner_add_suite(runner, record_words_suite());
	srunner_add_suite(runner, keep_old_suite());
	srunner_add_suite(runner, outcome_suite());
	srunner_add_suite(runner, found_suite());
	srunner_add_suite(runner, compress_idle_suite());
	srunner_add_suite(runner, output_suite());
	srunner_add_suite(runner, opt_file_suite());
	srunner_add_suite(runner, stat_suite());
	/* make check runs these two beside the others. */
	if (!getenv("XVT_WITHOUT_LONG")) {
		srunner_add_suite(runner, trace_file_suite());
		srunner_add_suite(runner, reclock_suite());
	}
}

int main(void)
{
	SRunner *runner;
	int failed;

	if (!mkdtemp(scratch_dir)) {
		perror(scratch_dir);
		return EXIT_FAILURE;
	}
	/* A sandbox lasts as long as its process, and some suites run a command within a test. */
	setenv(XVT_SANDBOX_ENV, "off", 1);
	/* For a hang, not for a slow machine. Before the first suite is made. */
	setenv("CK_DEFAULT_TIMEOUT", "120", 0);
	runner = srunner_create(loop_why_suite());
	add_loop_suites(runner);
	if (!getenv("XVT_ONLY_LOOP"))
		add_other_suites(runner);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	nftw(scratch_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
