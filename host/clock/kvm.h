/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvm.h - a vCPU's clock formula, offset and ratio, from KVM's debugfs files. The source is exact,
 * but not always true: guests of software-backed KVMs and guests with a protected TSC (SEV-SNP,
 * TDX) run by another clock than these files report. Callers therefore compare it with the
 * handshake.
 *
 * Choice of the VM. <debugfs>/kvm has a directory PID-FD for each VM: the process that created it,
 * and its descriptor there. A VM may be the region's if that process (its start time is compared,
 * so that a reused pid is noticed) holds a VM at that descriptor and maps the region's file.
 * Several VMs may match: a VMM with two VMs, source and destination of a migration on one host.
 * Then those count whose vCPU of that number has ever run. If their formulas differ, none is
 * returned (-EAGAIN), because nothing shows which of them gives the guest's answers.
 *
 * Sources: arch/x86/kvm/debugfs.c (the files; tsc-offset belongs to the running level, so it is a
 * nested guest's while guest_mode is 1), virt/kvm/kvm_main.c (the directory's name), and
 * trace-cmd's lib/trace-cmd/trace-timesync-kvm.c for the errors of taking vcpuN for CPU N: N is the
 * APIC id.
 */
#ifndef XVT_CLOCK_KVM_H
#define XVT_CLOCK_KVM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "clock/exact.h"

/* The argument of open(); NULL is the same as all zero. */
struct xvt_kvm_paths {
	const char *debugfs;   /* NULL: taken from PROC/mounts */
	const char *proc;      /* NULL: /proc */
	struct xvt_error *why; /* receives a reason for the user when open() fails; may be NULL */
};

/*
 * open() returns 0; -ENODEV: no debugfs, no KVM, or no VM that maps the region; -EACCES: only root
 * may look; or another -errno. read() returns as in exact.h; -EBADMSG: a file that holds no number.
 */
extern const struct xvt_clock_exact_ops xvt_clock_kvm;

/* True if the thread belongs to a process with a VM that may be the region's. `s` is a source that
 * xvt_clock_kvm opened. */
bool xvt_clock_kvm_thread(const struct xvt_clock_exact *s, int tid);

/* Finds KVM's directory in debugfs. Returns 0; -ENODEV: debugfs is not mounted; -ENOENT: it has no
 * KVM directory; -EACCES: only root may look; or another -errno. The reason goes to paths->why. */
int xvt_kvm_find(const struct xvt_kvm_paths *paths, char *path, size_t size);

#endif /* XVT_CLOCK_KVM_H */
