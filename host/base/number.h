/* SPDX-License-Identifier: GPL-2.0 */
/* number.h - numbers as users write them: decimal or 0x..., and bytes with a unit. */
#ifndef XVT_NUMBER_H
#define XVT_NUMBER_H

#include <stdint.h>

/* Read a number at the beginning of `text`, decimal or with 0x. Returns 0, and *end is behind it;
 * -EINVAL: there is none; -ERANGE: it does not fit. */
int xvt_parse_u64(const char *text, const char **end, uint64_t *value);
/* The same of bytes: K, M or G, also as small letters, may follow the number, and stand for powers
 * of 1024. *end is behind the unit. */
int xvt_parse_bytes(const char *text, const char **end, uint64_t *bytes);

#endif /* XVT_NUMBER_H */
