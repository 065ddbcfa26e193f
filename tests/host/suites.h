/* SPDX-License-Identifier: GPL-2.0 */
/* suites.h - what this runner runs, and what the suites share. */
#ifndef XVT_HOST_SUITES_H
#define XVT_HOST_SUITES_H

#include <check.h>

#include "../must_hold.h"

Suite *crc32c_suite(void);
Suite *sink_suite(void);
Suite *pool_suite(void);
Suite *opt_suite(void);
Suite *out_suite(void);
Suite *clean_text_suite(void);
Suite *printk_suite(void);
Suite *read_limits_suite(void);
Suite *trace_file_suite(void);
Suite *order_suite(void);
Suite *decode_suite(void);
Suite *export_suite(void);
Suite *exchange_suite(void);
Suite *verify_suite(void);
Suite *stat_suite(void);
Suite *clock_formula_suite(void);
Suite *vmm_qmp_suite(void);
Suite *doorbell_suite(void);
Suite *control_suite(void);
Suite *session_vm_suite(void);
Suite *session_vmm_suite(void);
Suite *clock_kvm_suite(void);
Suite *vm_libvirt_suite(void);
Suite *clock_host_suite(void);
Suite *clock_sound_suite(void);
Suite *session_mark_suite(void);
Suite *session_drain_suite(void);
Suite *session_wake_suite(void);
Suite *session_kvm_suite(void);
Suite *session_exact_suite(void);
Suite *loop_why_suite(void);

Suite *clock_fit_suite(void);
Suite *reclock_suite(void);

/* A directory of this run's own, removed at its end. */
const char *scratch(void);
/* "<scratch>/NAME" in a buffer that the next call but three uses again. */
const char *scratch_path(const char *name);
/* How many this process has. */
int open_descriptors(void);

#endif /* XVT_HOST_SUITES_H */
