/* SPDX-License-Identifier: GPL-2.0 */
/* tar.h - reads the regular files of a tar archive in memory: ustar, and long names of GNU tar. */
#ifndef XVT_TAR_H
#define XVT_TAR_H

#include <stddef.h>
#include <stdint.h>

#define XVT_TAR_PATH 1024u

/* Takes a file. Returns 0, or -errno, which ends the walk. */
typedef int (*xvt_tar_fn)(void *arg, const char *path, const uint8_t *bytes, size_t len);

/* Call fn for each regular file; all bytes of the archive may be anybody's. Returns 0; -EBADMSG,
 * with *why: it is no tar archive, or it is cut off; or what fn returned. */
int xvt_tar_each(const uint8_t *tar, size_t len, xvt_tar_fn fn, void *arg, const char **why);

#endif /* XVT_TAR_H */
