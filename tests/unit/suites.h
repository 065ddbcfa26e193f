/* SPDX-License-Identifier: GPL-2.0 */
/* suites.h - what host-check runs, and what its suites share. */
#ifndef XVT_TEST_SUITES_H
#define XVT_TEST_SUITES_H

#include <check.h>
#include <sys/types.h>

#include "must_hold.h"

/* base */
Suite *loop_suite(void);
Suite *loop_why_suite(void);
Suite *opt_suite(void);
Suite *opt_file_suite(void);
Suite *out_suite(void);
Suite *pool_suite(void);
Suite *opener_suite(void);
Suite *rules_suite(void);
Suite *number_suite(void);
Suite *u64_suite(void);
Suite *lock_suite(void);
Suite *time_suite(void);
Suite *timer_suite(void);
Suite *machine_name_suite(void);
Suite *top_tint_suite(void);
Suite *compress_suite(void);
Suite *cpu_suite(void);
Suite *child_suite(void);
Suite *workers_suite(void);
Suite *journal_suite(void);
Suite *vec_suite(void);
/* formats */
Suite *formats_suite(void);
/* trace */
Suite *crc32c_suite(void);
Suite *file_keep_suite(void);
Suite *loose_suite(void);
Suite *nodes_suite(void);
Suite *order_suite(void);
Suite *cut_suite(void);
Suite *repack_suite(void);
Suite *sink_suite(void);
Suite *trace_file_suite(void);
/* clock */
Suite *bounds_suite(void);
Suite *clock_suite(void);
Suite *clock_doubt_suite(void);
Suite *clock_formula_suite(void);
Suite *clock_host_suite(void);
Suite *clock_kvm_suite(void);
Suite *clock_seen_suite(void);
Suite *clock_sets_suite(void);
Suite *clock_sound_suite(void);
Suite *page_suite(void);
/* vmm */
Suite *doorbell_suite(void);
Suite *processes_suite(void);
Suite *enums_suite(void);
Suite *ftrace_page_suite(void);
Suite *ftrace_map_suite(void);
Suite *libvirt_uri_suite(void);
Suite *vm_libvirt_suite(void);
Suite *vmm_qmp_suite(void);
/* ring */
Suite *abi_suite(void);
Suite *ring_phase_suite(void);
Suite *ring_place_suite(void);
/* merge */
Suite *merge_suite(void);
Suite *rounds_suite(void);
Suite *schedules_suite(void);
/* session */
Suite *control_suite(void);
Suite *session_halt_suite(void);
Suite *machine_state_suite(void);
Suite *server_suite(void);
Suite *snapshot_suite(void);
Suite *drain_reads_suite(void);
Suite *session_drain_suite(void);
Suite *session_exact_suite(void);
Suite *session_host_suite(void);
Suite *session_passive_suite(void);
Suite *session_relayed_suite(void);
Suite *session_kvm_suite(void);
Suite *session_looks_suite(void);
Suite *session_loose_suite(void);
Suite *session_rotate_suite(void);
Suite *session_mark_suite(void);
Suite *session_vm_suite(void);
Suite *session_vmm_suite(void);
Suite *session_unused_suite(void);
Suite *session_wake_suite(void);
Suite *session_way_suite(void);
/* decode */
Suite *decode_suite(void);
Suite *printk_suite(void);
Suite *read_limits_suite(void);
/* view */
Suite *clean_text_suite(void);
Suite *clock_fit_suite(void);
Suite *clock_rate_suite(void);
Suite *look_list_suite(void);
Suite *exchange_suite(void);
Suite *summary_suite(void);
Suite *trim_suite(void);
Suite *bound_suite(void);
Suite *verify_heads_suite(void);
Suite *verify_looks_suite(void);
Suite *verify_away_suite(void);
Suite *export_suite(void);
Suite *filter_suite(void);
Suite *dat_suite(void);
Suite *lib_suite(void);
Suite *named_suite(void);
Suite *analysis_suite(void);
Suite *split_suite(void);
Suite *ahead_suite(void);
Suite *keep_suite(void);
Suite *counting_suite(void);
Suite *analyze_suite(void);
Suite *query_suite(void);
Suite *path_suite(void);
Suite *reclock_suite(void);
Suite *reclock_map_suite(void);
Suite *verify_suite(void);
/* flight */
Suite *armed_suite(void);
Suite *keep_armed_suite(void);
Suite *snapshots_suite(void);
Suite *condition_suite(void);
Suite *trigger_suite(void);
/* record */
Suite *record_words_suite(void);
Suite *keep_old_suite(void);
Suite *outcome_suite(void);
Suite *found_suite(void);
Suite *compress_idle_suite(void);
Suite *output_suite(void);
/* control */
Suite *http_suite(void);
Suite *serve_suite(void);
Suite *answers_suite(void);
Suite *metrics_suite(void);
Suite *requests_suite(void);
/* cli */
Suite *stat_suite(void);

/* A directory of this run's own, removed at its end. */
const char *scratch(void);
/* "<scratch>/NAME" in a buffer that the next call but three uses again. */
const char *scratch_path(const char *name);
/* How many this process has. */
int open_descriptors(void);
/* Stops a child. It runs on for a while after kill() has returned: this waits until it stands
 * still. */
void stop_child(pid_t child);

#endif /* XVT_TEST_SUITES_H */
