/* SPDX-License-Identifier: GPL-2.0 */
/*
 * armed_vmm.h - the VMM of one machine that is kept armed (flight/armed.h): whether the machine
 * crashed, or rests. libvirt reports on domains, QMP on machines that --qmp names.
 */
#ifndef XVT_ARMED_VMM_H
#define XVT_ARMED_VMM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "options/opt.h"

struct xvt_loop;
struct xvt_armed_vmm;

struct xvt_armed_vmm_how {
	struct xvt_loop *loop;
	const char *libvirt_uri; /* NULL: libvirt's default */
	const struct xvt_opt_list *qmp;
};

/*
 * Listen, unless *v, which is NULL at first, does. A VMM that cannot be reached, and one whose
 * connection was lost, is tried again ten seconds later, by a call that comes then. `uuid` of a
 * domain; zeros: it is none. Returns 0, or, once until it listens again, -errno with the reason in
 * `why`.
 */
int xvt_armed_vmm_listen(struct xvt_armed_vmm **v, const struct xvt_armed_vmm_how *how,
			 const char *name, const uint8_t uuid[16], uint64_t now_ns,
			 struct xvt_error *why);

/* Returns whether its kernel panicked, or its VMM did not end in order, since the call before. */
bool xvt_armed_vmm_crashed(struct xvt_armed_vmm *v); /* NULL: false */

/* Returns whether it has no events because its user wants that, as xvt_vmm_rests(). */
bool xvt_armed_vmm_rests(const struct xvt_armed_vmm *v); /* NULL: false */

/* The machine is another domain now: the next call listens to that. NULL: no effect. */
void xvt_armed_vmm_renew(struct xvt_armed_vmm *v);

/* Runs the loop: must not be called from a callback of it. NULL: no effect. */
void xvt_armed_vmm_close(struct xvt_armed_vmm *v);

#endif /* XVT_ARMED_VMM_H */
