/* SPDX-License-Identifier: GPL-2.0 */
/* digits.h - numbers for people: in groups of three digits, and sizes with a unit. */
#ifndef XVT_DIGITS_H
#define XVT_DIGITS_H

#include <stdint.h>

#define XVT_DIGITS_LEN 32

/* "615,360". Returns the text, which is in the caller's buffer. */
const char *xvt_digits(char text[XVT_DIGITS_LEN], uint64_t n);
/* "12.4 MB", in powers of 1000. */
const char *xvt_size_text(char text[XVT_DIGITS_LEN], uint64_t bytes);

/* "9,803 of 28,483 events have no format: ..." and what helps. */
#define XVT_NAMELESS_TEXT 192
const char *xvt_nameless_text(char text[XVT_NAMELESS_TEXT], uint64_t nameless, uint64_t events);

#endif /* XVT_DIGITS_H */
