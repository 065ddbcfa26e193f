/* SPDX-License-Identifier: GPL-2.0 */
/* interactive.h - `xvtrace top` on a terminal. */
#ifndef XVT_TOP_SCREEN_H
#define XVT_TOP_SCREEN_H

#include "base/error.h"
#include "top/top.h"

/*
 * Takes the terminal, shows the machines and asks again each `delay_ns`, until the user ends it,
 * the last recorder has ended, or after `count` answers (0: no limit). A signal that ends it ends
 * the program. Returns 0, or -errno of xvt_top_refresh(), or what xvt_screen_open() returns, with a
 * text in `why`: nothing was shown then.
 */
int xvt_top_screen(struct xvt_top *t, const char *control, uint64_t delay_ns, uint64_t count,
		   bool colour, struct xvt_error *why);

#endif /* XVT_TOP_SCREEN_H */
