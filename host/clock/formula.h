/* SPDX-License-Identifier: GPL-2.0 */
/*
 * formula.h - how hardware makes a vCPU's clock from its host's, and back.
 *
 *   guest = ((host * ratio) >> frac) + offset     modulo 2^64, the product in 128 bits
 *
 * That is what KVM programs (arch/x86/kvm/x86.c, kvm_read_l1_tsc(): first scaled, then offset;
 * Intel SDM 3C "TSC Multiplier", 48 bits of fraction; AMD APM 2 "TSC Ratio", 32 bits). So the way
 * back takes the offset off first and divides: the order matters as soon as ratio is not 1.
 * A formula is complete by itself: one reading of it converts every clock value of its epoch.
 */
#ifndef XVT_CLOCK_FORMULA_H
#define XVT_CLOCK_FORMULA_H

#include "xvt_abi.h"

struct xvt_clock_formula {
	int64_t offset; /* guest ticks; zero is as good an offset as any */
	uint64_t ratio; /* guest ticks for a host tick, times 2^frac; 1 << frac: not scaled */
	uint32_t frac;	/* 0..63; 32 on SVM, 48 on VMX */
};

#define XVT_FORMULA_FRAC_MAX 63u

/* The same conversion, field by field (the struct has padding). */
static inline bool xvt_formula_equal(const struct xvt_clock_formula *a,
				     const struct xvt_clock_formula *b)
{
	return a->offset == b->offset && a->ratio == b->ratio && a->frac == b->frac;
}

/* What the guest reads while the host's clock is `host`. Returns 0 or -EINVAL: no formula (ratio
 * is 0, or frac above 63). */
int xvt_formula_guest(const struct xvt_clock_formula *f, uint64_t host, uint64_t *guest);

/*
 * The host's clock when the guest's became `guest`:
 *
 *   host = ((guest - offset) << frac) / ratio     rounded up
 *
 * Up, because then it is exact: the first host tick at which the guest reads that value. So a
 * guest clock made by xvt_formula_guest() gives back its own host tick where ratio >= 1, and the
 * first of the equal ones where ratio < 1.
 *
 * Returns 0; -EINVAL as above; -ERANGE: no host clock of 64 bits shows that value (a guest whose
 * clock another than this formula made). A guest clock that wrapped within host * ratio (not by
 * its offset; 2^64 guest ticks take a century) has several answers, and this is the smallest.
 */
int xvt_formula_host(const struct xvt_clock_formula *f, uint64_t guest, uint64_t *host);

#endif /* XVT_CLOCK_FORMULA_H */
