/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vmm.h - what a VMM tells about a machine, whoever asks it: qmp.c asks QEMU itself,
 * libvirt.c asks libvirt. A listener only listens: it changes nothing about the machine.
 *
 * What is told is late: the vCPUs stood still before STOPPED was sent, and they run by the time
 * that RUNNING is read. So it says how long a machine was inactive and when to look at its
 * clocks; where a clock's epoch ends, the samples say.
 */
#ifndef XVT_VMM_H
#define XVT_VMM_H

#include <stddef.h>
#include <stdint.h>

struct xvt_loop;

enum xvt_vmm_event {
	XVT_VMM_STOPPED,   /* its vCPUs stand still: paused, saved, an I/O error, being moved */
	XVT_VMM_RUNNING,   /* they run */
	XVT_VMM_RESET,	   /* reset; may come twice for one reset */
	XVT_VMM_SUSPENDED, /* the guest itself went to sleep (ACPI S3) */
	XVT_VMM_WOKEN,	   /* from S3 */
	XVT_VMM_PANICKED,  /* the guest's kernel says so (pvpanic) */
	XVT_VMM_MIGRATED_AWAY,
	XVT_VMM_ARRIVED, /* an incoming migration, or a saved state, has been loaded */
	XVT_VMM_GONE,	 /* the VMM has ended, or the way to it is cut. The last report, unless the
			    listener sees the machine start again (RUNNING) */
};

struct xvt_vmm_report {
	enum xvt_vmm_event event;
	uint64_t realtime_ns; /* CLOCK_REALTIME as the VMM stamped it, 0 = unknown */
	int err;	      /* GONE: 0, or -errno when the VMM did not end in order */
	char why[160];	      /* in words, may be empty; printable ASCII */
};

/* Called from xvt_loop_run() or from the call that opens a listener; must not close it. */
typedef void (*xvt_vmm_fn)(void *arg, const struct xvt_vmm_report *r);

struct xvt_vmm;

struct xvt_vmm_ops {
	const char *name;
	/* Nothing is reported any more. Runs the loop until its operations have ended, so it may
	 * not be called from a callback of the loop. */
	void (*close)(struct xvt_vmm *v);
};

/* A listener to one machine; the first member of what implements it. */
struct xvt_vmm {
	const struct xvt_vmm_ops *ops;
};

/* What listeners share: a report with a formatted `why`, in which nothing but printable ASCII is
 * left, because a guest can choose some of what a VMM says about it. */
void xvt_vmm_report(xvt_vmm_fn fn, void *arg, enum xvt_vmm_event event, uint64_t realtime_ns,
		    int err, const char *why_format, ...) __attribute__((format(printf, 6, 7)));

#endif /* XVT_VMM_H */
