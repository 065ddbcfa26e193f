// SPDX-License-Identifier: GPL-2.0
/* vmm.c - see vmm.h. */
#include "vmm/vmm.h"

#include <stdarg.h>
#include <stdio.h>

void xvt_vmm_report(xvt_vmm_fn fn, void *arg, enum xvt_vmm_event event, uint64_t realtime_ns,
		    int err, const char *why_format, ...)
{
	struct xvt_vmm_report r = { .event = event, .realtime_ns = realtime_ns, .err = err };
	va_list ap;
	char *c;

	if (!fn)
		return;
	va_start(ap, why_format);
	vsnprintf(r.why, sizeof(r.why), why_format, ap);
	va_end(ap);
	for (c = r.why; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	fn(arg, &r);
}
