// SPDX-License-Identifier: GPL-2.0
/* next.c - the events of an export, one after the other; see export.h. */
#include "export/export.h"

int xvt_export_next(struct xvt_export *x, const struct xvtrace_event **event)
{
	int got, again;

	while (x->skip) {
		got = xvtrace_next(x->reader, event);
		if (got != 1)
			return got;
		x->skip -= (*event)->kind == XVTRACE_EVENT;
		if (x->once)
			xvt_once_again(x->once, *event);
	}
	do {
		got = xvtrace_next(x->reader, event);
		again = got == 1 && x->once ? xvt_once_again(x->once, *event) : 0;
	} while (again > 0);
	x->given += got == 1;
	x->events += got == 1 && (*event)->kind == XVTRACE_EVENT;
	return again < 0 ? again : got;
}
