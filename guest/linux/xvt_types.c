// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_types.c - types of events on the event path. Each type has one bit, which says that it was
 * met. An event without it takes the path below, and its format is asked for. So an event costs one
 * test of a bit.
 *
 * A type that is met raises the count of what the metadata has to name (symbols_wanted). The
 * recorder waits for it at its end, as it does for names of functions.
 */
#include <linux/bitmap.h>

#include "xvtrace.h"

unsigned long xvt_types_met[BITS_TO_LONGS(XVT_TYPES)];

/*
 * An event without its bit. The count is raised after the bit is set: a scan of the bits that
 * follows a look at the count finds all types that are counted. Context: any, NMI included;
 * preemption is off.
 */
void xvt_types_meet(u16 type)
{
	struct xvt_region_hdr *h = xvt_guest.base;

	if (READ_ONCE(xvt_open) && !test_and_set_bit(type, xvt_types_met))
		atomic_inc((atomic_t *)&h->symbols_wanted);
}
NOKPROBE_SYMBOL(xvt_types_meet);

/* All types are met again: their formats belong to a generation of the region. */
void xvt_types_forget(void)
{
	bitmap_zero(xvt_types_met, XVT_TYPES);
}
