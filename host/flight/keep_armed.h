/* SPDX-License-Identifier: GPL-2.0 */
/*
 * keep_armed.h - keeps flight recorders armed beside a recording (flight/armed.h): arms what is not
 * armed, listens to their VMMs, and has those recorded that match no pattern any more. Works by
 * timers after the passes, and changes nothing while the machines are being read.
 */
#ifndef XVT_KEEP_ARMED_H
#define XVT_KEEP_ARMED_H

#include "flight/armed.h"
#include "record/recording.h"

struct xvt_flight;
struct xvt_snapshots;

struct xvt_keep_armed {
	/* Set by the caller, before xvt_keep_armed_begin(). */
	struct xvt_recording *rec;
	struct xvt_armed *armed;
	const struct xvt_flight *flight; /* reads them */
	const struct xvt_machine_options *machines;
	const struct xvt_opt_list *qmp; /* of their VMMs, as of xvt_listen_by_qmp() */
	/* Called for each machine that is recorded from now on. */
	void (*joined)(void *arg, struct xvt_vm *vm);
	void *arg;
	/* Set as soon as there are snapshots: they have the machines searched. NULL: there are none
	 * yet. */
	const struct xvt_snapshots *snapshots;
	/* private to keep_armed.c */
	struct xvt_timer arm;
	struct xvt_timer listen;
	uint64_t next_listen_ns;
	struct xvt_timer release;
};

/* To be called once, before the snapshots are made; `k` must outlive the recording. */
void xvt_keep_armed_begin(struct xvt_keep_armed *k);
/* Listen to the VMMs of the machines that there are. */
void xvt_keep_armed_listen(const struct xvt_keep_armed *k);

#endif /* XVT_KEEP_ARMED_H */
