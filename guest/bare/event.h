/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* event.h - the guest's one ring, and writing into it from task, interrupt and NMI. */
#ifndef XVT_BARE_EVENT_H
#define XVT_BARE_EVENT_H

#include "xvt_bare.h"
#include "xvt_region.h"

#define BARE_PAGE ((struct xvt_bare_page *)XVT_BARE_PAGE)

/* Bind the writer to ring 0; format the region if it is not formatted. Returns 0 or -errno. */
int event_start(void);

/* The ring's writer, for measuring loops and the mailbox. */
extern struct xvt_writer event_writer;

/* An event as page->op[context] wants it, logged. Returns as xvt_reserve(). */
int event_write(enum xvt_bare_context context, uint64_t rip);

/* The same in two steps, for records that stay open meanwhile. Last opened is first closed. */
int event_open(void);
int event_close(void);

void bare_signal(enum xvt_bare_signal signal, uint64_t value);

#endif /* XVT_BARE_EVENT_H */
