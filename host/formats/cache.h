/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cache.h - the formats of kernels that this host knows: a folder of files BUILDID.formats.
 * $XVT_FORMATS_DIR, or of root /var/cache/xvtrace/formats, or else $XDG_CACHE_HOME/xvtrace/formats.
 * A folder or a file of another user than the caller or root is not read, nor is one that others
 * may write.
 */
#ifndef XVT_FORMATS_CACHE_H
#define XVT_FORMATS_CACHE_H

#include "base/error.h"
#include "formats/formats.h"

#define XVT_FORMATS_KERNELS_MAX 64u /* kernels of a cache that are read */

struct xvt_formats_cache {
	char folder[4096];
	struct xvt_formats *v; /* by release, then by build id */
	size_t count;
	/* A file that was left out, for a warning; "": none. */
	char left_out[512];
};

/* The folder of the cache, whether it is there or not. Returns false if the user has no home. */
bool xvt_formats_cache_folder(char *to, size_t size);

/* Read all kernels. A cache that is not there has none. Returns 0, or -errno with a reason. */
int xvt_formats_cache_read(struct xvt_formats_cache *c, struct xvt_error *why);
/* Read the kernel of that build id alone. Returns 0; or -errno with a reason, -ENOENT if there is
 * none. After an error *f has nothing to free. */
int xvt_formats_cache_load(struct xvt_formats *f, const char *build_id, struct xvt_error *why);
void xvt_formats_cache_free(struct xvt_formats_cache *c);

/*
 * Find a kernel by its build id, by eight or more of the id's first digits, or by its release.
 * Returns NULL, with a reason, if there is none, or more than one.
 */
const struct xvt_formats *xvt_formats_cache_find(const struct xvt_formats_cache *c,
						 const char *kernel, struct xvt_error *why);

/* Store a kernel in place of the one with the same build id. Returns 0, or -errno with a reason. */
int xvt_formats_cache_store(const struct xvt_formats *f, struct xvt_error *why);

/* Remove a kernel. Returns 0, or -errno with a reason. */
int xvt_formats_cache_remove(const struct xvt_formats *f, struct xvt_error *why);

#endif /* XVT_FORMATS_CACHE_H */
