/* SPDX-License-Identifier: GPL-2.0 */
/* digits.h - numbers for people: sizes with a unit, and how many events have no format. */
#ifndef XVT_DIGITS_H
#define XVT_DIGITS_H

#include <stdint.h>

#include "base/out.h"

/* "12.4 MB", in powers of 1000. */
const char *xvt_size_text(char text[XVT_DIGITS_LEN], uint64_t bytes);

/* "9,803 of 28,483 events have no format: ..." and why. NULL: the machine's guest has a module or a
 * program that can be asked for formats. */
#define XVT_NAMELESS_TEXT 640
const char *xvt_nameless_text(char text[XVT_NAMELESS_TEXT], uint64_t nameless, uint64_t events,
			      const char *why);

#endif /* XVT_DIGITS_H */
