/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fit.h - whether records can be of a kernel's formats, by their lengths. The formats of another
 * kernel are found out by it soon, since the numbers of events differ by the first one that one of
 * the two kernels does not have. That records fit is no proof.
 */
#ifndef XVT_FORMATS_FIT_H
#define XVT_FORMATS_FIT_H

#include "base/error.h"
#include "formats/formats.h"

#define XVT_FIT_IDS 65536u /* numbers of events, which are u16 */

struct xvt_fit; /* the numbers and lengths of records that were seen */

struct xvt_fit *xvt_fit_new(void); /* NULL: no memory */
void xvt_fit_free(struct xvt_fit *fit);

/* Take a record: `len` bytes, which begin with its u16 type. */
void xvt_fit_record(struct xvt_fit *fit, const uint8_t *record, uint32_t len);

/* Returns a number that grows with each record that xvt_fit_check() may decide by: of an event that
 * was not seen before, or of another length. */
uint64_t xvt_fit_changes(const struct xvt_fit *fit);

/* The lengths of an event's records, in bytes. */
struct xvt_fit_lengths {
	uint16_t id;
	uint16_t least;
	uint16_t most;
};

/* Get the next event, from *at == 0 on, whose lengths have changed since it was got last. Returns
 * false at the end. */
bool xvt_fit_take(struct xvt_fit *fit, uint32_t *at, struct xvt_fit_lengths *lengths);
/* All of them are got again. */
void xvt_fit_take_again(struct xvt_fit *fit);
/* Take what xvt_fit_take() gave elsewhere. Nothing, where it is no length of a record. */
void xvt_fit_add(struct xvt_fit *fit, const struct xvt_fit_lengths *lengths);

/* Returns whether a record of that event was seen. */
bool xvt_fit_has(const struct xvt_fit *fit, uint16_t id);

/* Compare all records with the formats. Returns true, and *unknown is the number of events that
 * the kernel's formats do not have: of modules, probes; or false with a reason. */
bool xvt_fit_check(const struct xvt_fit *fit, const struct xvt_formats *f, uint32_t *unknown,
		   struct xvt_error *why);

#endif /* XVT_FORMATS_FIT_H */
