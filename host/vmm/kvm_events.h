/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvm_events.h - KVM's trace events of the host's kernel: each change of a vCPU's TSC offset, and
 * each entry of a vCPU's thread into its guest and exit from it. They come from an ftrace instance
 * of xvtrace's own with the raw TSC as its clock, which is also the handshake's clock. Only
 * kvm_events.c includes libtraceevent.
 *
 * An offset event is a hint, not a proof: KVM traces the offset that was requested, and not every
 * KVM applies it (clock/kvm.h). The events name a thread and a vCPU; the VM follows from
 * /proc/TID.
 */
#ifndef XVT_FTRACE_H
#define XVT_FTRACE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xvt_ftrace_kind {
	XVT_FTRACE_TSC_OFFSET, /* kvm_write_tsc_offset */
	XVT_FTRACE_ENTRY,      /* kvm_entry */
	XVT_FTRACE_EXIT,       /* kvm_exit */
	XVT_FTRACE_LOST,       /* the kernel's ring was overrun */
};

struct xvt_ftrace_event {
	uint64_t host_clock; /* raw TSC; LOST: of the first event after the gap */
	uint32_t host_cpu;
	int32_t pid; /* the thread; LOST: 0 */
	enum xvt_ftrace_kind kind;
	uint32_t vcpu_id;     /* as in debugfs: the APIC id */
	int64_t previous;     /* TSC_OFFSET: the old offset, guest TSC - host TSC, in ticks */
	int64_t next;	      /* TSC_OFFSET: the new one */
	uint32_t exit_reason; /* EXIT: the CPU's own number */
	uint64_t lost;	      /* LOST: number of events; 0: unknown */
};

struct xvt_ftrace_options {
	bool run_spans;	       /* entries and exits too, which are many */
	uint32_t buffer_kib;   /* of each CPU; 0: a default that fits run_spans */
	struct xvt_error *why; /* receives the reason when xvt_ftrace_open() fails; may be NULL */
};

struct xvt_ftrace;

/*
 * Make the ftrace instance xvtrace-PID and switch the events on. Removes instances whose process is
 * dead. A process can have one. Returns 0; -ENODEV: no tracefs; -EACCES: only root may; -ENOENT: no
 * such events (no KVM); -EOPNOTSUPP: no such clock or field; -EBUSY: this process has an instance
 * already; or another -errno.
 */
int xvt_ftrace_open(struct xvt_ftrace **out, const struct xvt_ftrace_options *options);

/*
 * Pass the events that are there now to take(), without waiting: CPU after CPU, each CPU's events
 * in order. At most 512 pages of each CPU are read; the next call continues there. Returns the
 * number of events (without LOST) or -errno.
 */
int64_t xvt_ftrace_read(struct xvt_ftrace *t,
			void (*take)(void *arg, const struct xvt_ftrace_event *e), void *arg);

/* Remove the instance. NULL is allowed. */
void xvt_ftrace_close(struct xvt_ftrace *t);

#endif /* XVT_FTRACE_H */
