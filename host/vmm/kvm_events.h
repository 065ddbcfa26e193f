/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvm_events.h - what the host's own kernel tells of KVM while it happens: each change of a vCPU's
 * TSC offset, and each time that a vCPU's thread enters and leaves its guest. From an ftrace
 * instance of our own, stamped with the raw TSC, so its times are those of the handshake.
 * kvm_events.c alone knows libtracefs.
 *
 * Only a witness: KVM traces what it was asked for, and not every KVM does it
 * (clock/kvm.h). The events name a thread and a vCPU; whose VM that is, /proc/TID says.
 */
#ifndef XVT_FTRACE_H
#define XVT_FTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xvt_ftrace_kind {
	XVT_FTRACE_TSC_OFFSET, /* kvm_write_tsc_offset */
	XVT_FTRACE_ENTRY,      /* kvm_entry */
	XVT_FTRACE_EXIT,       /* kvm_exit */
	XVT_FTRACE_LOST,       /* the kernel's ring was overrun here */
};

struct xvt_ftrace_event {
	uint64_t host_clock; /* raw TSC; LOST: of what follows the gap */
	uint32_t host_cpu;
	int32_t pid; /* the thread; LOST: 0 */
	enum xvt_ftrace_kind kind;
	uint32_t vcpu_id; /* as in debugfs: the APIC id */
	int64_t previous; /* TSC_OFFSET: offsets, guest - host */
	int64_t next;
	uint32_t exit_reason; /* EXIT: the CPU's own number */
	uint64_t lost;	      /* LOST: so many events; 0: the kernel does not know */
};

struct xvt_ftrace_options {
	bool run_spans;	     /* entries and exits too: many */
	uint32_t buffer_kib; /* of each CPU; 0: enough for what is asked */
	char *why;	     /* gets a reason for the user when open() fails; may be NULL */
	size_t why_size;
};

struct xvt_ftrace;

/*
 * Make an instance xvtrace-PID and switch the events on; instances whose process is dead are
 * removed. One for each process. Returns 0; -ENODEV: no tracefs; -EACCES: only root may;
 * -ENOENT: no such events (no KVM); -EOPNOTSUPP: no such clock or field; -EBUSY: this process
 * has one; or another -errno.
 */
int xvt_ftrace_open(struct xvt_ftrace **out, const struct xvt_ftrace_options *options);

/*
 * Hand over what there is now, without waiting: each CPU's events in order, CPU after CPU. A CPU
 * with more than a few hundred pages is left for the next call. Returns the number of
 * events (LOST not counted) or -errno.
 */
int64_t xvt_ftrace_read(struct xvt_ftrace *t,
			void (*take)(void *arg, const struct xvt_ftrace_event *e), void *arg);

/* Remove the instance. NULL is allowed. */
void xvt_ftrace_close(struct xvt_ftrace *t);

#endif /* XVT_FTRACE_H */
