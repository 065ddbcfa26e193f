/* SPDX-License-Identifier: GPL-2.0 */
/*
 * testbed.h - a writer with its region to measure with: at user level of a micro-VM, or in this
 * process. Both run the same source of the writer, the loops and the answers.
 */
#ifndef XVT_PLACE_H
#define XVT_PLACE_H

#include "base/error.h"
#include "clock/source.h"
#include "doctor/microvm.h"

struct xvt_place;

/*
 * in_vm: run in a micro-VM, which needs KVM. hz: rate of the host's clock. Returns 0 or -errno (as
 * xvt_microvm_new(); -EIO: the guest died). `why` gets the micro-VM's reason, if it was created.
 */
int xvt_place_new(struct xvt_place **out, bool in_vm, uint64_t hz, struct xvt_error *why);
void xvt_place_free(struct xvt_place *p);

/* Run `turns` turns of a loop of xvt_cost.h: events, or clock reads. Returns the ticks of all turns
 * together, or 0 on failure. */
uint64_t xvt_place_ticks(struct xvt_place *p, bool events, uint32_t turns);

/* Answer the mailbox in a new thread, which runs the vCPU if there is one, until
 * xvt_place_stop(). Returns 0 or -errno. */
int xvt_place_answer(struct xvt_place *p);
void xvt_place_stop(struct xvt_place *p);

/* Fill in the addresses and rates that a clock source needs. */
void xvt_place_target(struct xvt_place *p, const struct xvt_host_clock *host_clock,
		      struct xvt_clock_target *target);

/* The region's file, open until xvt_place_free(). */
int xvt_place_region_fd(const struct xvt_place *p);

/* The micro-VM; NULL in a process. Not to be used between xvt_place_answer() and _stop(). */
struct xvt_microvm *xvt_place_vm(struct xvt_place *p);
/* Run one command of shared/xvt_bare.h. Returns its result, or -EIO when the guest died. */
int64_t xvt_place_command(struct xvt_place *p, uint32_t command, uint32_t count);

#endif /* XVT_PLACE_H */
