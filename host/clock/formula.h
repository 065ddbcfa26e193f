/* SPDX-License-Identifier: GPL-2.0 */
/*
 * formula.h - conversion between a vCPU's clock and its host's, as the hardware does it.
 *
 *   guest = ((host * ratio) >> frac) + offset     modulo 2^64, the product in 128 bits
 *
 * KVM programs this (arch/x86/kvm/x86.c, kvm_read_l1_tsc(): first scaled, then offset; Intel SDM 3C
 * "TSC Multiplier", 48 bits of fraction; AMD APM 2 "TSC Ratio", 32 bits). The inverse subtracts the
 * offset first and then divides; the order matters as soon as ratio is not 1. A reading of a
 * formula converts every clock value of its epoch.
 */
#ifndef XVT_CLOCK_FORMULA_H
#define XVT_CLOCK_FORMULA_H

#include "xvt_abi.h"

struct xvt_clock_formula {
	int64_t offset; /* guest ticks; zero is a valid offset */
	uint64_t ratio; /* guest ticks for a host tick, times 2^frac; 1 << frac: not scaled */
	uint32_t frac;	/* 0..63; 32 on SVM, 48 on VMX */
};

#define XVT_FORMULA_FRAC_MAX 63u

/* True if both convert alike; compared by field, because the struct has padding. */
static inline bool xvt_formula_equal(const struct xvt_clock_formula *a,
				     const struct xvt_clock_formula *b)
{
	return a->offset == b->offset && a->ratio == b->ratio && a->frac == b->frac;
}

/* The guest's clock while the host's is `host`. Returns 0, or -EINVAL for an invalid formula (ratio
 * is 0, or frac above 63). */
int xvt_formula_guest(const struct xvt_clock_formula *f, uint64_t host, uint64_t *guest);

/*
 * The host's clock when the guest's became `guest`:
 *
 *   host = ((guest - offset) << frac) / ratio     rounded up
 *
 * Rounded up it is exact: the first host tick at which the guest reads that value. So the host tick
 * of a guest clock made by xvt_formula_guest() is returned where ratio >= 1, and the first of the
 * equal ones where ratio < 1.
 *
 * Returns 0; -EINVAL as above; -ERANGE: no 64-bit host clock gives that value (another formula made
 * the guest's clock). A guest clock that wrapped within host * ratio (2^64 guest ticks take a
 * century; a wrap by the offset does not count) has several answers; the smallest is returned.
 */
int xvt_formula_host(const struct xvt_clock_formula *f, uint64_t guest, uint64_t *host);

#endif /* XVT_CLOCK_FORMULA_H */
