/* SPDX-License-Identifier: GPL-2.0 */
/*
 * notify.h - tells a service manager how a service goes, as described in sd_notify(3). Done here,
 * because the protocol is one datagram, and libsystemd would be one more library to load.
 */
#ifndef XVT_NOTIFY_H
#define XVT_NOTIFY_H

/* Send assignments such as "READY=1", one a line, of at most 512 bytes in all. Does nothing without
 * a service manager that asks for it (NOTIFY_SOCKET). A manager that does not take it is ignored.
 */
void xvt_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Open the socket, for a process that cannot make one later. */
void xvt_notify_prepare(void);

#endif /* XVT_NOTIFY_H */
