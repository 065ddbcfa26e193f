/* SPDX-License-Identifier: GPL-2.0 */
/* libvirt.h - which machines libvirt knows, and what it tells of them. libvirt.c alone
 * includes libvirt. */
#ifndef XVT_VM_LIBVIRT_H
#define XVT_VM_LIBVIRT_H

#include <stddef.h>
#include <stdint.h>

#include "vmm/vmm.h"

struct xvt_domain {
	char name[64];
	uint8_t uuid[16];
	char region[4096]; /* path of its region */
	uint32_t vcpus;	   /* that it may have; 0: unknown */
};

/*
 * Look a running domain up by name and find its region: the <shmem> device of its XML whose
 * name begins with "xvtrace-". Returns 0; -ENOENT no such domain, -ESRCH not running,
 * -ENODEV no such device, -ECONNREFUSED no libvirt; `why` says it in words.
 */
int xvt_libvirt_find(const char *uri, const char *name, struct xvt_domain *domain, char *why,
		     size_t why_size);

/* Version of the library, "9.0.0". Returns 0 or -ENOENT. */
int xvt_libvirt_version(char *text, size_t size);

/* Does the daemon let us in? Returns 0, or -ECONNREFUSED and in `why` its words. */
int xvt_libvirt_reach(const char *uri, char *why, size_t why_size);

/*
 * Listen to a running domain. Reports the state that it is in, from this call, and then each
 * change, also of a domain that ends and is started again. libvirt stamps nothing. All listeners of
 * a process use the same loop: libvirt's event handlers are the process's. Returns 0 or -errno with
 * the reason in `why` (-ECONNREFUSED, -ENOENT; -ENOTSUP: this hypervisor tells libvirt nothing).
 */
int xvt_libvirt_listen(struct xvt_vmm **out, struct xvt_loop *loop, const char *uri,
		       const uint8_t uuid[16], xvt_vmm_fn fn, void *arg, char *why,
		       size_t why_size);

#endif /* XVT_VM_LIBVIRT_H */
