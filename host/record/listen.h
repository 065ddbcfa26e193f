/* SPDX-License-Identifier: GPL-2.0 */
/* listen.h - the VMMs of machines, as options name them: recorded ones and those kept armed. */
#ifndef XVT_LISTEN_H
#define XVT_LISTEN_H

#include "options/opt.h"
#include "vmm/vmm.h"

struct xvt_loop;

/*
 * Listen to the QEMU of the machine `name` by the sockets that NAME=SOCKET in `qmp` gives, as one
 * machine if there are several. *path is the first of them; NULL: there is none. Returns 0, with
 * *out NULL if there is none; or -errno with the reason in `why`.
 */
int xvt_listen_by_qmp(struct xvt_vmm **out, struct xvt_loop *loop, const struct xvt_opt_list *qmp,
		      const char *name, xvt_vmm_fn fn, void *arg, const char **path, char *why,
		      size_t why_size);

#endif /* XVT_LISTEN_H */
