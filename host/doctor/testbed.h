/* SPDX-License-Identifier: GPL-2.0 */
/*
 * testbed.h - a writer of our own with its region, to measure with: at user level of a micro-VM,
 * or in this process. The same source of writer, loops and answers runs in both.
 */
#ifndef XVT_PLACE_H
#define XVT_PLACE_H

#include "clock/source.h"
#include "doctor/microvm.h"

struct xvt_place;

/*
 * in_vm: needs KVM. hz: rate of the host's clock. Returns 0 or -errno (as xvt_microvm_new(); -EIO:
 * the guest died), with a reason in `why` where there is more to say than the errno.
 */
int xvt_place_new(struct xvt_place **out, bool in_vm, uint64_t hz, char *why, size_t why_size);
void xvt_place_free(struct xvt_place *p);

/* Ticks that `turns` turns of a loop of xvt_cost.h took: events, or clock reads. 0: failed. */
uint64_t xvt_place_ticks(struct xvt_place *p, bool events, uint32_t turns);

/* Answer the mailbox from a thread (which is the vCPU's, then) until stopped. 0 or -errno. */
int xvt_place_answer(struct xvt_place *p);
void xvt_place_stop(struct xvt_place *p);

/* What a clock source needs to know of it. */
void xvt_place_target(struct xvt_place *p, const struct xvt_host_clock *host_clock,
		      struct xvt_clock_target *target);

/* The region's file, open while the place is there. */
int xvt_place_region_fd(const struct xvt_place *p);

/* NULL in a process. Not to be touched while it answers. */
struct xvt_microvm *xvt_place_vm(struct xvt_place *p);
/* One command of shared/xvt_bare.h. Returns its result, or -EIO when the guest died. */
int64_t xvt_place_command(struct xvt_place *p, uint32_t command, uint32_t count);

#endif /* XVT_PLACE_H */
