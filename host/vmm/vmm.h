/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vmm.h - events of a machine that its VMM reports: qmp.c reads them from QEMU, libvirt.c from
 * libvirt. A listener changes nothing about the machine.
 *
 * Reports are late: the vCPUs stood still before STOPPED was sent, and they run by the time that
 * RUNNING is read. A report gives the duration of an inactivity and a reason to sample the clocks;
 * the end of a clock's epoch comes from the samples.
 */
#ifndef XVT_VMM_H
#define XVT_VMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_loop;

enum xvt_vmm_event {
	XVT_VMM_STOPPED,       /* all vCPUs stand still: paused, saved, an I/O error, being moved */
	XVT_VMM_RUNNING,       /* the vCPUs run */
	XVT_VMM_RESET,	       /* may be reported twice for one reset */
	XVT_VMM_SUSPENDED,     /* the guest suspended itself (ACPI S3) */
	XVT_VMM_WOKEN,	       /* resumed from S3 */
	XVT_VMM_PANICKED,      /* the guest's kernel reported a panic (pvpanic) */
	XVT_VMM_SHUTTING_DOWN, /* the guest or its owner began a shutdown; GONE follows */
	XVT_VMM_RENAMED,       /* the VMM calls it by another name, in `why` */
	XVT_VMM_MIGRATED_AWAY,
	XVT_VMM_ARRIVED, /* an incoming migration, or a saved state, has been loaded */
	XVT_VMM_VCPU, /* a thread runs a vCPU: `vcpu` and `tid`; only if the listener asks for them
		       */
	XVT_VMM_GONE, /* the VMM has ended, or the connection to it is lost. The last report,
			 unless the listener sees the machine start again (RUNNING) */
};

struct xvt_vmm_report {
	enum xvt_vmm_event event;
	uint64_t realtime_ns; /* CLOCK_REALTIME of the event by the VMM; 0: unknown */
	int err;	      /* GONE: 0; -EPIPE: the VMM did not end in order; -ENOTCONN: it may
				 still run, but who reports about it does not; or -errno */
	uint32_t vcpu;	      /* VCPU: its number */
	int32_t tid;	      /* VCPU: its thread, as the VMM knows it */
	char why[160];	      /* reason as text, may be empty; printable ASCII */
};

/* Called from xvt_loop_run() or from the call that opens a listener; must not close the listener.
 */
typedef void (*xvt_vmm_fn)(void *arg, const struct xvt_vmm_report *r);

struct xvt_vmm;

struct xvt_vmm_ops {
	const char *name;
	/* Free the listener; it reports nothing more. Runs the loop until the listener's operations
	 * have ended, so it must not be called from a callback of the loop. */
	void (*close)(struct xvt_vmm *v);
	/* After GONE it reports that the machine starts again, wherever that comes from. */
	bool sees_starts;
};

/* A listener to one machine: the first member of the implementation's struct. */
struct xvt_vmm {
	const struct xvt_vmm_ops *ops;
};

/* Report an event with a formatted `why`. Bytes that are not printable ASCII become '?', because a
 * guest chooses part of the text in its VMM's messages. No fn: no report. */
void xvt_vmm_report(xvt_vmm_fn fn, void *arg, enum xvt_vmm_event event, uint64_t realtime_ns,
		    int err, const char *why_format, ...) __attribute__((format(printf, 6, 7)));

/*
 * Whether a machine rests because its user wants it to, so that it has no events: it is paused,
 * saved, moved or shut down. An I/O error, a watchdog and a panic stop one that is to run. before:
 * what it did before this report.
 */
bool xvt_vmm_rests(const struct xvt_vmm_report *r, bool before);

/*
 * A panic that both the guest's ring and its VMM tell of, in whichever order, is one. generation:
 * the guest's, which has one panic at most. Each returns whether this is news. A reset is told,
 * too: what the VMM reports behind it is another panic.
 */
struct xvt_panic_told {
	bool known;
	uint32_t generation; /* of the newest one */
	bool awaited;	     /* the guest told of it, and its VMM may */
};

bool xvt_panic_by_guest(struct xvt_panic_told *p, uint32_t generation);
bool xvt_panic_by_vmm(struct xvt_panic_told *p, uint32_t generation);
void xvt_panic_reset(struct xvt_panic_told *p);

/* Bytes of the path of an ivshmem server's socket; sockaddr_un has no room for more. */
#define XVT_BELL_PATH 108

/*
 * Why an ivshmem-doorbell device is not taken out of a running machine. When QEMU removes one, it
 * closes the descriptor of the memory twice and leaves handlers of closed eventfds, so that it
 * crashes or closes another file: hw/misc/ivshmem-pci.c, ivshmem_exit(). Seen with 7.2.
 */
#define XVT_DOORBELL_STAYS                                                                       \
	"its device is an ivshmem-doorbell, and QEMU can crash when one is taken out; shut the " \
	"machine down, then detach"

#endif /* XVT_VMM_H */
