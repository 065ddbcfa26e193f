/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stock_guest.h - what a guest with nothing of xvtrace in it is started with, so that the ring
 * buffer of its kernel lies in memory that the host reads (vmm/ftrace_map.h): a device of its VMM,
 * and words of its kernel's command line. Nothing is looked at or changed here.
 */
#ifndef XVT_STOCK_GUEST_H
#define XVT_STOCK_GUEST_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of the ring. In the order of XVT_STOCK_DEVICES. */
enum xvt_stock_device {
	XVT_STOCK_AUTO,	       /* by the kernel's version */
	XVT_STOCK_RAM,	       /* a part of the guest's RAM that is a file of its own */
	XVT_STOCK_RESERVE,     /* the kernel chooses a part of its RAM, which is one file */
	XVT_STOCK_VIRTIO_PMEM, /* memory beside the RAM, at an address that the host chooses */
	XVT_STOCK_IVSHMEM,     /* refused */
};

#define XVT_STOCK_DEVICES "auto|ram|reserve|virtio-pmem|ivshmem"

struct xvt_stock_request {
	const char *kernel;  /* as `uname -r` prints it in the guest */
	const char *events;  /* SYSTEM:EVENT or SYSTEM, with commas; NULL: sched and irq */
	const char *name;    /* of the machine in the trace */
	const char *file;    /* that the memory is; NULL: made of the name */
	uint64_t ram_bytes;  /* of the guest */
	uint64_t ring_bytes; /* of all CPUs together; 0: 8 MiB for each, as far as there is room */
	uint64_t cpus;
	bool libvirt;
	enum xvt_stock_device device;
};

#define XVT_STOCK_PATH	256
#define XVT_STOCK_TEXT	512
#define XVT_STOCK_LINES 24

struct xvt_stock_text {
	char text[XVT_STOCK_TEXT];
};

struct xvt_stock_plan {
	unsigned int major, minor; /* of the kernel */
	enum xvt_stock_device device;
	uint64_t ring_bytes;
	char file[XVT_STOCK_PATH];	  /* as a shell takes it; of libvirt's RAM, with commands */
	char prepare[2 * XVT_STOCK_TEXT]; /* a command of the host, before the start; "": none */
	/* QEMU's arguments, each a word; or lines of XML that a domain's has, too. */
	struct xvt_stock_text vmm[XVT_STOCK_LINES];
	size_t nr_vmm;
	char kernel_words[2 * XVT_STOCK_TEXT]; /* behind those that its command line has */
	char formats[2 * XVT_STOCK_TEXT];      /* a command of the host, once for the kernel */
	char record[2 * XVT_STOCK_TEXT];       /* a command of the host, once the VMM runs */
	struct xvt_stock_text notes[XVT_STOCK_LINES];
	size_t nr_notes;
};

/*
 * Make a plan. Returns 0; -EINVAL: a value of the request is wrong; -EOPNOTSUPP: no plan is
 * possible for this kernel, or on this device. `why` then has the reason, and for -EINVAL *what the
 * option of xvtrace-doctor(1) that has the value.
 */
int xvt_stock_plan(const struct xvt_stock_request *request, struct xvt_stock_plan *plan,
		   const char **what, struct xvt_error *why);

/* A word of XVT_STOCK_DEVICES. */
const char *xvt_stock_device_name(enum xvt_stock_device device);

#endif /* XVT_STOCK_GUEST_H */
