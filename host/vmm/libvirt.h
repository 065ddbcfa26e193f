/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libvirt.h - find libvirt's domains and listen to their events. Only libvirt.c includes libvirt.
 *
 * The first call of any function loads libvirt. Where it is not installed, or is too old, each of
 * them returns -ENOPKG, and `why` says what to install.
 *
 * A daemon of this host that accepts connections and does not answer (it is stopped, or hangs) is
 * -ETIMEDOUT after ten seconds. A daemon that stops while its events are listened to is found out
 * after six seconds, by the loop or by the call that waits.
 */
#ifndef XVT_VM_LIBVIRT_H
#define XVT_VM_LIBVIRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "vmm/vmm.h"

struct xvt_domain {
	char name[64];
	uint8_t uuid[16];
	char region[4096]; /* path of the region's file */
	uint32_t vcpus;	   /* maximum number; 0: unknown */
	bool doorbell;	   /* the device of the region is an ivshmem-doorbell */
	bool panics;	   /* a device is there by which the kernel reports a panic */
	/* socket of its ivshmem server; "": no doorbell */
	char server[XVT_BELL_PATH];
	uid_t user; /* of its QEMU; (uid_t)-1: unknown */
};

/*
 * Look a running domain up by name or UUID and find its region: the <shmem> device of its XML whose
 * name begins with "xvtrace-". Returns 0; or, with the reason in `why`, -ENOENT: no such domain,
 * -ESRCH: the domain does not run, -ENODEV: no such device, -ECONNREFUSED: no connection to
 * libvirt, -EIO: its XML cannot be read, -ENOPKG.
 */
int xvt_libvirt_find(const char *uri, const char *name, struct xvt_domain *domain,
		     struct xvt_error *why);

/*
 * Call fn for each running domain, by a connection that cannot change it. `region` of a domain
 * without such a device is empty. Returns 0; or, with the reason in `why`, -ECONNREFUSED, -EIO:
 * libvirt cannot list them, or -ENOPKG.
 */
int xvt_libvirt_domains(const char *uri, void (*fn)(void *arg, const struct xvt_domain *domain),
			void *arg, struct xvt_error *why);

/*
 * Ask whether libvirt answers, without waiting for it: a daemon that starts accepts connections
 * seconds before it answers. A child process asks, for at most ten seconds. Returns 1: it answers;
 * 0: ask again later; -ECONNREFUSED: it does not answer, or the child was stopped; -ENOPKG; or
 * -errno of fork().
 */
int xvt_libvirt_answers(const char *uri);

/* Load libvirt, before a sandbox in which no library can be. Returns 0 or -ENOPKG. */
int xvt_libvirt_prepare(void);

/* A process that may start no other asks whether libvirt answers over this socket of messages;
 * *asked is true while an answer is due. fd -1: no more. The process at its other end calls the
 * second function, which returns when the socket is closed; it asks this URI only. Call
 * xvt_libvirt_prepare() before both. */
void xvt_libvirt_ask_by(int fd, bool *asked);
void xvt_libvirt_serve(int fd, void *uri);

/* Write the version of the library, such as "9.0.0". Returns 0 or -ENOPKG. */
int xvt_libvirt_version(char *text, size_t size);

/* Try to connect to the daemon. Returns 0; -ECONNREFUSED with libvirt's message in `why`;
 * or -ENOPKG. */
int xvt_libvirt_reach(const char *uri, struct xvt_error *why);

/*
 * Listen to a running domain. Reports the domain's state before the call returns, then each
 * change, also after the domain has ended and was started again. Reports have no time, since
 * libvirt's events have none. All listeners of a process must use the same loop, because libvirt
 * has one set of event handlers for a process. Returns 0 or -errno with the reason in `why`
 * (-ECONNREFUSED; -ENOENT; -EBUSY: another loop is in use; -ENOTSUP: this hypervisor reports no
 * events; -ENOPKG).
 */
int xvt_libvirt_listen(struct xvt_vmm **out, struct xvt_loop *loop, const char *uri,
		       const uint8_t uuid[16], xvt_vmm_fn fn, void *arg, struct xvt_error *why);

/*
 * Watch libvirt for domains to record. Returns 0 or -errno with the reason in `why`, as
 * xvt_libvirt_listen().
 */
struct xvt_libvirt_watch;
int xvt_libvirt_watch(struct xvt_libvirt_watch **out, struct xvt_loop *loop, const char *uri,
		      struct xvt_error *why);
/*
 * Describe the next running domain: at first each one that runs, then each one that has started,
 * has arrived from another host, or got a device. The domain may be the same one again; `region` is
 * empty if it has none. Asks libvirt, which takes about a millisecond. Returns 1; 0: there is none
 * now, a completion of the loop tells when to ask again; -EPIPE: the connection is lost, or
 * -ETIMEDOUT: the daemon does not answer, and only xvt_libvirt_unwatch() may follow.
 */
int xvt_libvirt_watch_next(struct xvt_libvirt_watch *w, struct xvt_domain *domain);
/*
 * The process is about to end: connections that are closed from here on are left to its end. A
 * daemon that stopped just now, which nothing has noticed, could hold up the close of each for
 * ever.
 */
void xvt_libvirt_leave(void);
/* Runs the loop: must not be called from a callback of it. NULL: no effect. */
void xvt_libvirt_unwatch(struct xvt_libvirt_watch *w);

/*
 * Plug a device "xvtrace-NAME" into a domain by name or UUID: into the running one, with `config`
 * also into its definition, which a domain that does not run needs. `server` NULL: an ivshmem-plain
 * device of `mib` MiB, and the file of the region must not exist, since QEMU would take it, unless
 * it is the machine's own and unused (xvt_file_is_left()). Else: an ivshmem-doorbell device, and an
 * ivshmem server that has the region listens at this path. *domain is filled as by
 * xvt_libvirt_find(). Returns 0; or, with the reason in `why`, -EEXIST: it has a region, or the
 * file is there; -EIO: libvirt refuses; or an error of xvt_libvirt_find().
 */
int xvt_libvirt_attach(const char *uri, const char *name, uint64_t mib, const char *server,
		       bool config, struct xvt_domain *domain, struct xvt_error *why);

/*
 * Take the device of the region out of a domain, running and defined. The guest of a running one
 * has to agree: xvt_libvirt_has_region() tells when it has. Returns 0 or an error as
 * xvt_libvirt_attach(), -ENODEV: it has none, -EBUSY: the domain runs and its device is an
 * ivshmem-doorbell (XVT_DOORBELL_STAYS).
 */
int xvt_libvirt_detach(const char *uri, const char *name, struct xvt_domain *domain,
		       struct xvt_error *why);

/* Returns 1 if the running domain has a device of a region, 0 if not or if it does not run, or an
 * error as xvt_libvirt_find(). */
int xvt_libvirt_has_region(const char *uri, const char *name, struct xvt_error *why);

#endif /* XVT_VM_LIBVIRT_H */
