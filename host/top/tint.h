/* SPDX-License-Identifier: GPL-2.0 */
/* tint.h - which parts of a machine's line of `xvtrace top` are in colour. */
#ifndef XVT_TOP_TINT_H
#define XVT_TOP_TINT_H

#include <stddef.h>

#include "top/screen.h"
#include "top/top.h"

/* Where the head of a table has its columns. All are 0 before the first head. */
struct xvt_top_heads {
	size_t state_at, lost_at;
};

struct xvt_top_tint {
	size_t at, letters; /* in letters of the line */
	enum xvt_screen_colour colour;
};

#define XVT_TOP_TINTS 2u

void xvt_top_heads(struct xvt_top_heads *h, const char *text, size_t len);

/* The coloured parts of a line of `m`, from left to right. Returns their number. */
size_t xvt_top_tints(struct xvt_top_tint tints[XVT_TOP_TINTS], const struct xvt_top_heads *h,
		     const struct xvt_top_machine *m, const char *text, size_t len);

/* The text behind so many letters. */
const char *xvt_top_letters_behind(const char *text, size_t len, size_t letters);

#endif /* XVT_TOP_TINT_H */
