/* SPDX-License-Identifier: GPL-2.0 */
/*
 * seen.h - the clock of a ring without a writer that answers: what is known of it is when its
 * events were seen. An event that was read at a host time was stamped before that time. That is a
 * proof.
 *
 * The other side is none. The look before had not seen the event, so it was committed after that
 * look; but a guest's CPU may be held between the stamp of an event and its commit, for any time.
 * An event that was held seems to be older than the clock's line says. The line goes by the events
 * that were seen soonest, and only events in a row that all seem to be too old move it.
 */
#ifndef XVT_CLOCK_SEEN_H
#define XVT_CLOCK_SEEN_H

#include "clock/source.h"

extern const struct xvt_clock_source_ops xvt_clock_seen;

/* The ring had no further event in a look that was begun at host_clock_lo, and then one with the
 * stamp `guest`, which was read before host_clock_hi. Later calls have later host clocks.
 * host_clock_lo 0: there was no such look. */
void xvt_clock_seen_event(struct xvt_clock_source *s, uint64_t guest, uint64_t host_clock_lo,
			  uint64_t host_clock_hi);
/* The clock went back: what was seen until now says nothing of later stamps. The rate is kept. */
void xvt_clock_seen_anew(struct xvt_clock_source *s);
/* Returns true if an event with the stamp `guest` that was read before host_clock_hi cannot be of
 * this clock: by the line it is stamped more than `ticks` of the host's clock later. */
bool xvt_clock_seen_denies(const struct xvt_clock_source *s, uint64_t guest, uint64_t host_clock_hi,
			   uint64_t ticks);

#endif /* XVT_CLOCK_SEEN_H */
