// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_types.c - types of events on the event path. Each type has one bit, which says "recorded
 * before, and nothing else is to be done". An event without it takes the path below: its format
 * is asked for, or it is left out because a probe of ours records the same event. An event
 * therefore costs one test of a bit.
 *
 * A type that is met raises the count of what the metadata has to name (symbols_wanted). The
 * recorder waits for it at its end, as it does for names of functions.
 */
#include <linux/bitmap.h>

#include "xvtrace.h"

unsigned long xvt_types_plain[BITS_TO_LONGS(XVT_TYPES)];

/* Event types that the probes record; 0: none. A single writer, under the lock of the probes. */
static u16 left_out[XVT_LEFT_OUT_MAX];

static bool is_left_out(u16 type)
{
	int i;

	for (i = 0; type && i < XVT_LEFT_OUT_MAX; i++) {
		if (READ_ONCE(left_out[i]) == type)
			return true;
	}
	return false;
}

/*
 * An event without its bit. False: it is not to be recorded. The count is raised after the bit is
 * set: a scan of the bits that follows a look at the count finds all types that are counted.
 * Context: any, NMI included; preemption is off.
 */
bool xvt_types_meet(u16 type)
{
	struct xvt_region_hdr *h = xvt_guest.base;

	if (!READ_ONCE(xvt_open))
		return true;
	if (is_left_out(type))
		return false;
	if (!test_and_set_bit(type, xvt_types_plain))
		atomic_inc((atomic_t *)&h->symbols_wanted);
	/* xvt_types_leave_out() may have come in between: its store, then its bit; ours are the
	 * other way round. */
	smp_mb();
	if (!is_left_out(type))
		return true;
	clear_bit(type, xvt_types_plain);
	return false;
}
NOKPROBE_SYMBOL(xvt_types_meet);

/* From here on events of this type are left out; 0 ends that. `slot` < XVT_LEFT_OUT_MAX. */
void xvt_types_leave_out(unsigned int slot, u16 type)
{
	WRITE_ONCE(left_out[slot], type);
	smp_mb(); /* pairs with xvt_types_meet() */
	if (type)
		clear_bit(type, xvt_types_plain);
}

/* All types are met again: their formats belong to a generation of the region. */
void xvt_types_forget(void)
{
	bitmap_zero(xvt_types_plain, XVT_TYPES);
}
