/* SPDX-License-Identifier: GPL-2.0 */
/* compress.h - compression by zstd. Optional: built without it, packing and unpacking both fail
 * with -ENOTSUP. */
#ifndef XVT_COMPRESS_H
#define XVT_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define XVT_COMPRESS_LEVEL_MAX 19

struct xvt_packer;

/* Level 1 to XVT_COMPRESS_LEVEL_MAX. Returns 0, -ENOTSUP or -ENOMEM. */
int xvt_packer_new(struct xvt_packer **out, unsigned int level);
void xvt_packer_free(struct xvt_packer *p);

/* Compresses into `to`. Returns the compressed length, or -ENOSPC if it is larger than `room`. */
ssize_t xvt_pack(struct xvt_packer *p, void *to, size_t room, const void *from, size_t len);

/* The `room` that is always enough for `len` bytes; 0 without zstd. */
size_t xvt_pack_bound(size_t len);

/* The version of zstd, as "1.5.4"; "" without it. */
const char *xvt_pack_version(void);

/* Decompresses untrusted input: fills `to` with exactly `len` bytes, or returns -EBADMSG or
 * -ENOMEM. */
int xvt_unpack(void *to, size_t len, const void *from, size_t packed_len);

#endif /* XVT_COMPRESS_H */
