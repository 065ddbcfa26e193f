/* SPDX-License-Identifier: GPL-2.0 */
/* crc32c.h - CRC32C (Castagnoli), as iSCSI, ext4 and btrfs use it. */
#ifndef XVT_CRC32C_H
#define XVT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum over more bytes; begin with crc = 0. xvt_crc32c(xvt_crc32c(0, a), b) is the
 * checksum of a followed by b. Uses the CPU's instruction if there is one. */
uint32_t xvt_crc32c(uint32_t crc, const void *bytes, size_t len);

/* The same by tables only, for tests to compare with. */
uint32_t xvt_crc32c_table(uint32_t crc, const void *bytes, size_t len);

#endif /* XVT_CRC32C_H */
