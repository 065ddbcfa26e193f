/* SPDX-License-Identifier: GPL-2.0 */
/* error.h - why a call failed, as text for a user. Its number is what the call returns. */
#ifndef XVT_ERROR_H
#define XVT_ERROR_H

struct xvt_error {
	char text[512];
};

/* Write the text, unless `why` is NULL; what is too long is cut off. Returns `err`. */
int xvt_fail(struct xvt_error *why, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* XVT_ERROR_H */
