/* SPDX-License-Identifier: GPL-2.0 */
/* made.h - where a file or a folder was made, to remove it again: see base/output.h. */
#ifndef XVT_MADE_H
#define XVT_MADE_H

#include <limits.h>

struct xvt_made {
	int folder; /* O_PATH; -1: nothing was made */
	char name[NAME_MAX + 1];
};

#endif /* XVT_MADE_H */
