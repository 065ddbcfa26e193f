/* SPDX-License-Identifier: GPL-2.0 */
/* apart.h - makes formats of what a guest says in a process of its own, which has given up its
 * rights. What that process gives is checked as a file of the cache is. */
#ifndef XVT_FORMATS_APART_H
#define XVT_FORMATS_APART_H

#include "formats/import.h"

/* Makes formats. Returns 0, or -errno with result->why. */
typedef int (*xvt_formats_fn)(struct xvt_formats *f, const void *arg,
			      struct xvt_import_result *result);

/* Call confine() and fn(f, arg, result) in a new process. Returns what fn did, or -errno with
 * result->why if the process did not come to its end. */
int xvt_formats_apart(struct xvt_formats *f, void (*confine)(void), xvt_formats_fn fn,
		      const void *arg, struct xvt_import_result *result);

#endif /* XVT_FORMATS_APART_H */
