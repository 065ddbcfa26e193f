/* SPDX-License-Identifier: GPL-2.0 */
/*
 * listen.h - the VMMs and the doorbells of machines, as options name them or as they are found: of
 * recorded machines, and the VMMs of those kept armed.
 */
#ifndef XVT_LISTEN_H
#define XVT_LISTEN_H

#include "base/error.h"
#include "options/opt.h"
#include "record/recording.h"
#include "vmm/vmm.h"

struct xvt_loop;
struct xvt_rules;

/*
 * Listen to the QEMU of the machine `name` by the sockets that NAME=SOCKET in `qmp` gives, as one
 * machine if there are several. *path is the first of them; NULL: there is none. Returns 0, with
 * *out NULL if there is none; or -errno with the reason in `why`.
 */
int xvt_listen_by_qmp(struct xvt_vmm **out, struct xvt_loop *loop, const struct xvt_opt_list *qmp,
		      const char *name, xvt_vmm_fn fn, void *arg, const char **path,
		      struct xvt_error *why);

/* Of the machines of a recording. */
struct xvt_listen {
	struct xvt_recording *rec;
	const struct xvt_opt_list *qmp;	      /* NAME=SOCKET */
	const struct xvt_opt_list *doorbells; /* NAME=SOCKET */
	const char *libvirt_uri;	      /* NULL: libvirt's own */
	const struct xvt_rules *rules;	      /* of the opener; a count of 0: there is none */
	/* private to listen.c */
	struct xvt_timer timer;
};

/* Listen to the VMM of a machine. A domain that libvirt does not tell of gives a warning. Returns
 * 0, also if it has no VMM to listen to, or -errno after an error message. */
int xvt_listen_to_vmm(struct xvt_listen *l, struct xvt_vm *vm);

/* Use the doorbell that --doorbell names, or one that is found. Returns 0, or -errno of the first
 * after an error message. */
int xvt_listen_to_doorbell(struct xvt_listen *l, struct xvt_vm *vm);

/* From now on, once a second: listen again to the domains whose libvirt was restarted, and look for
 * doorbells. To be called once; `l` must outlive the recording. */
void xvt_listen_begin(struct xvt_listen *l, uint64_t now_ns);

#endif /* XVT_LISTEN_H */
