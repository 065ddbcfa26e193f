/* SPDX-License-Identifier: GPL-2.0 */
/*
 * journal.h - log entries with fields, in systemd's journal. An entry is one datagram, as described
 * in systemd's JOURNAL_NATIVE_PROTOCOL. libsystemd would do it too, but it makes its socket with
 * the first entry, and a recorder in its sandbox can make none.
 */
#ifndef XVT_JOURNAL_H
#define XVT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

/* syslog(3)'s priorities, which the journal uses. */
enum xvt_journal_priority {
	XVT_JOURNAL_ERROR = 3,
	XVT_JOURNAL_WARNING = 4,
	XVT_JOURNAL_INFO = 6,
};

#define XVT_JOURNAL_ENTRY_MAX 4096

/*
 * Connects this process to the journal if standard error goes there, as $JOURNAL_STREAM says
 * (systemd.exec(5)). A sandbox that is entered later does not matter. Before this call, and in a
 * child process that has not made it, xvt_journal_send() sends nothing.
 */
void xvt_journal_prepare(void);

/*
 * Sends an entry: `text` as MESSAGE, one line of printable text, and its PRIORITY; `machine` as
 * XVTRACE_MACHINE, unless it is NULL. Does not wait. Returns whether it was sent; what was not
 * belongs on standard error.
 */
bool xvt_journal_send(enum xvt_journal_priority priority, const char *text, const char *machine);

/* The entry itself, in to[XVT_JOURNAL_ENTRY_MAX]. Returns its length; 0: it does not fit. */
size_t xvt_journal_entry(char *to, enum xvt_journal_priority priority, const char *text,
			 const char *machine);

#endif /* XVT_JOURNAL_H */
