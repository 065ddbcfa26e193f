/* SPDX-License-Identifier: GPL-2.0 */
/* rearm.h - applies changed --flight-recorder patterns: which machines are kept armed
 * (flight/armed.h), and which are recorded.
 */
#ifndef XVT_REARM_H
#define XVT_REARM_H

#include "flight/armed.h"

/*
 * Use other patterns for `a`: stop the recording of machines that match now. Those that do
 * not match any more are left to xvt_rearm_pass(). Returns 0 or -ENOMEM.
 */
int xvt_rearm(struct xvt_armed *a, const struct xvt_opt_list *patterns, struct xvt_session *s);

/*
 * Record the machines of `a` that match no pattern, as soon as each can be: not while its
 * recording is still being stopped. To be called once a second, but not while the machines are
 * being read. `joined` as of xvt_follow_begin().
 */
void xvt_rearm_pass(struct xvt_armed *a, const struct xvt_machine_options *opt,
		    struct xvt_session *s, void (*joined)(void *arg, struct xvt_vm *vm), void *arg);

#endif /* XVT_REARM_H */
