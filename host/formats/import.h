/* SPDX-License-Identifier: GPL-2.0 */
/*
 * import.h - makes formats of a copy of what a kernel says, a tar archive or a folder:
 *
 *   events/SYSTEM/EVENT/format   of its tracefs
 *   notes                        /sys/kernel/notes, with its build id
 *   uname                        what `uname -srvm` printed
 *   kallsyms                     the lines of /proc/kallsyms with __traceiter_
 *
 * The numbers of a module's events and of probes differ from boot to boot, so they are no kernel's
 * formats. An event of the kernel itself has a function __traceiter_EVENT which is no module's;
 * those of `ftrace` and `syscalls` are always the kernel's own.
 */
#ifndef XVT_FORMATS_IMPORT_H
#define XVT_FORMATS_IMPORT_H

#include "base/error.h"
#include "formats/formats.h"

#define XVT_IMPORT_TAR_MAX (128u << 20) /* bytes of an archive */

struct xvt_import_result {
	uint32_t left_out; /* events of modules, probes, and what else no kernel has for good */
	uint32_t unreadable;
	struct xvt_error why; /* of an error */
};

/* Read a folder or an archive. Returns 0; or -errno with result->why. */
int xvt_formats_import(struct xvt_formats *f, const char *path, struct xvt_import_result *result);

/* The same of an archive in memory. no_modules: the kernel has loaded none, so that all events are
 * its own, and kallsyms is not needed. */
int xvt_formats_import_tar(struct xvt_formats *f, const uint8_t *tar, size_t len, bool no_modules,
			   struct xvt_import_result *result);

#endif /* XVT_FORMATS_IMPORT_H */
