/* SPDX-License-Identifier: GPL-2.0 */
/* version.h - what this program is. */
#ifndef XVT_VERSION_H
#define XVT_VERSION_H

/* Prints "xvtrace VERSION", and below it the commit that it was built from, if that is known, the
 * compiler and the choices of the build, and the libraries that it was built with or without. */
void xvt_version_print(void);

#endif /* XVT_VERSION_H */
