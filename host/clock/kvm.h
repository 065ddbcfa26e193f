/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvm.h - KVM's own knowledge of a vCPU's clock: offset and ratio, from debugfs. Exact, but
 * not always true: software-backed KVMs and guests with a protected TSC (SEV-SNP, TDX) run by
 * another clock than these files tell, so whoever uses it holds it against the handshake.
 *
 * Whose files. <debugfs>/kvm has a directory PID-FD for each VM: who created it, and its
 * descriptor there. A VM may be the region's if that process (start time compared, so that a
 * reused pid is noticed) holds a VM at that descriptor and maps the region's file. Several may:
 * a VMM with two VMs, source and destination of a migration on one host. Then those count whose
 * vCPU of that number has ever run; if they do not all have the same formula, none is told
 * (-EAGAIN), because nothing here says which of them the guest's answers come from.
 *
 * Sources: arch/x86/kvm/debugfs.c (the files; tsc-offset is the running level's, so it is a nested
 * guest's while guest_mode is 1), virt/kvm/kvm_main.c (the directory's name), and trace-cmd's
 * lib/trace-cmd/trace-timesync-kvm.c for what goes wrong when vcpuN is taken for CPU N: it is
 * the APIC id.
 */
#ifndef XVT_CLOCK_KVM_H
#define XVT_CLOCK_KVM_H

#include <stdbool.h>
#include <stddef.h>

#include "clock/exact.h"

/* The argument of open(); NULL is the same as all zero. */
struct xvt_kvm_paths {
	const char *debugfs; /* NULL: where PROC/mounts says that it is */
	const char *proc;    /* NULL: /proc */
	char *why;	     /* gets a reason for the user when open() fails; may be NULL */
	size_t why_size;
};

/*
 * open(): 0; -ENODEV: no debugfs, no KVM, or none of its VMs has the region; -EACCES: only root
 * may look; or another -errno.
 * read(): as in exact.h; -EBADMSG: a file that says no number.
 */
extern const struct xvt_clock_exact_ops xvt_clock_kvm;

/* Does that thread belong to a process one of whose VMs may be the region's? `s` is a source that
 * xvt_clock_kvm opened. */
bool xvt_clock_kvm_thread(const struct xvt_clock_exact *s, int tid);

/*
 * Path of KVM's directory. Returns 0; -ENODEV: debugfs is not mounted; -ENOENT: it has no KVM in
 * it; -EACCES: only root may look; or another -errno. The reason goes to paths->why.
 */
int xvt_kvm_find(const struct xvt_kvm_paths *paths, char *path, size_t size);

#endif /* XVT_CLOCK_KVM_H */
