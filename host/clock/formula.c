// SPDX-License-Identifier: GPL-2.0
/* formula.c - see formula.h. Integers only; only the last division rounds. */
#include "clock/formula.h"

#include <errno.h>

typedef unsigned __int128 u128;

static bool usable(const struct xvt_clock_formula *f)
{
	return f->ratio && f->frac <= XVT_FORMULA_FRAC_MAX;
}

int xvt_formula_guest(const struct xvt_clock_formula *f, uint64_t host, uint64_t *guest)
{
	if (!usable(f))
		return -EINVAL;
	*guest = (uint64_t)((u128)host * f->ratio >> f->frac) + (uint64_t)f->offset;
	return 0;
}

int xvt_formula_host(const struct xvt_clock_formula *f, uint64_t guest, uint64_t *host)
{
	u128 scaled, ticks;

	if (!usable(f))
		return -EINVAL;
	/* Unsigned: an offset wraps like the hardware's addition. 64 + 63 bits fit. */
	scaled = (u128)(guest - (uint64_t)f->offset) << f->frac;
	ticks = scaled / f->ratio + !!(scaled % f->ratio);
	if (ticks > UINT64_MAX)
		return -ERANGE;
	*host = (uint64_t)ticks;
	return 0;
}
