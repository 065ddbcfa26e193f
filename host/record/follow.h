/* SPDX-License-Identifier: GPL-2.0 */
/*
 * follow.h - machines that come while a session records: files of regions that appear, and domains
 * of libvirt that start. A machine leaves when its region's file is removed; the session does that
 * itself (xvt_session_options.follow).
 */
#ifndef XVT_FOLLOW_H
#define XVT_FOLLOW_H

#include "record/machines.h"

struct xvt_follow;
struct xvt_timers;

/*
 * Add to `s` what `opt` selects, now and later, by a timer on `timers`, which run before each pass
 * of the session, by xvt_session_now_ns(). `joined` is called for each machine after it was added.
 * `timers`, `s` and `opt` must outlive the result. A file that cannot be recorded is a warning,
 * given once for each reason. libvirt may be absent, and may come and go; logs: of a service, whose
 * log has that, too. Returns 0 or -ENOMEM.
 */
int xvt_follow_begin(struct xvt_follow **out, struct xvt_loop *loop, struct xvt_timers *timers,
		     struct xvt_session *s, const struct xvt_machine_options *opt, bool logs,
		     void (*joined)(void *arg, struct xvt_vm *vm), void *arg);

/* Why libvirt is not connected; "": it is, or is not wanted. NULL: "". */
const char *xvt_follow_libvirt(const struct xvt_follow *f);

/* Runs the loop: must not be called from a callback of it. NULL: no effect. */
void xvt_follow_end(struct xvt_follow *f);

#endif /* XVT_FOLLOW_H */
