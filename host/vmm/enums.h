/* SPDX-License-Identifier: GPL-2.0 */
/*
 * enums.h - the constants of the running kernel's enumerations, from its BTF. The format of an
 * event has their names where the kernel does not replace them by numbers itself.
 */
#ifndef XVT_ENUMS_H
#define XVT_ENUMS_H

#include <stddef.h>

struct xvt_enums;

/* `dir`: where the files of BTF are; NULL: the kernel's. They are read when a constant is looked
 * for. Returns NULL: out of memory. */
struct xvt_enums *xvt_enums_new(const char *dir);
void xvt_enums_free(struct xvt_enums *e);

/*
 * Replace the names of constants in the "print fmt" of a format by numbers; what is no constant, or
 * has several values in this kernel, stays. Returns the new text for free() and its length in
 * *size, or NULL: there is nothing to replace, or no memory.
 */
char *xvt_enums_resolve(struct xvt_enums *e, const char *format, size_t *size);

#endif /* XVT_ENUMS_H */
