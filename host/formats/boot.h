/* SPDX-License-Identifier: GPL-2.0 */
/* boot.h - asks a kernel for its formats: boots it once, in a QEMU without KVM, with an initial RAM
 * disk that has one program (guest/formats/init.c). */
#ifndef XVT_FORMATS_BOOT_H
#define XVT_FORMATS_BOOT_H

#include "formats/import.h"

/* Boot a kernel's file. It ends within timeout_ns, or is ended. What it says is read in a process
 * of its own (apart.h), behind confine(). Returns 0, or -errno with result->why. */
int xvt_formats_boot(struct xvt_formats *f, const char *kernel, uint64_t timeout_ns,
		     void (*confine)(void), struct xvt_import_result *result);

#endif /* XVT_FORMATS_BOOT_H */
