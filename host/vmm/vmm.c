// SPDX-License-Identifier: GPL-2.0
/* vmm.c - see vmm.h. */
#include "vmm/vmm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* Of libvirt and of QEMU's query-status. */
static bool is_trouble(const char *why)
{
	static const char *const words[] = { "I/O error",      "io-error",
					     "watchdog",       "internal-error",
					     "guest-panicked", "its kernel panicked",
					     "libvirt failed" };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(why, words[i]))
			return true;
	}
	return false;
}

bool xvt_vmm_rests(const struct xvt_vmm_report *r, bool before)
{
	switch (r->event) {
	case XVT_VMM_STOPPED:
		return !is_trouble(r->why);
	case XVT_VMM_SUSPENDED:
	case XVT_VMM_SHUTTING_DOWN:
	case XVT_VMM_MIGRATED_AWAY:
		return true;
	case XVT_VMM_GONE:
		return r->err == -ENOTCONN ? before : !r->err;
	case XVT_VMM_RUNNING:
	case XVT_VMM_RESET:
	case XVT_VMM_WOKEN:
	case XVT_VMM_PANICKED:
	case XVT_VMM_ARRIVED:
		return false;
	default:
		return before;
	}
}

bool xvt_panic_by_guest(struct xvt_panic_told *p, uint32_t generation)
{
	if (p->known && p->generation == generation)
		return false;
	*p = (struct xvt_panic_told){ .known = true, .generation = generation, .awaited = true };
	return true;
}

bool xvt_panic_by_vmm(struct xvt_panic_told *p, uint32_t generation)
{
	const bool is_new = !p->awaited;

	if (is_new)
		*p = (struct xvt_panic_told){ .known = true, .generation = generation };
	p->awaited = false;
	return is_new;
}

void xvt_panic_reset(struct xvt_panic_told *p)
{
	p->awaited = false;
}
