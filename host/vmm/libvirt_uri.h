/* SPDX-License-Identifier: GPL-2.0 */
/* libvirt_uri.h - what a connection to libvirt needs of the process. */
#ifndef XVT_VM_LIBVIRT_URI_H
#define XVT_VM_LIBVIRT_URI_H

#include <stdbool.h>

#define XVT_LIBVIRT_URI_LEN 1024

enum xvt_libvirt_way {
	XVT_LIBVIRT_BY_SOCKET,	/* a UNIX socket of this host */
	XVT_LIBVIRT_BY_NETWORK, /* also a network */
	XVT_LIBVIRT_BY_PROGRAM, /* also a program that it runs, as ssh */
};

/* Returns `uri`, or where that is NULL the one of libvirt's environment or configuration, perhaps
 * in `room`; "": there is none, and libvirt tries its daemons. */
const char *xvt_libvirt_uri(const char *uri, char room[XVT_LIBVIRT_URI_LEN]);

/* uri: NULL for the one of libvirt's environment or configuration, as libvirt takes it. */
enum xvt_libvirt_way xvt_libvirt_way(const char *uri);

#endif /* XVT_VM_LIBVIRT_URI_H */
