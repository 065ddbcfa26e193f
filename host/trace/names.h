/* SPDX-License-Identifier: GPL-2.0 */
/* names.h - the names of the format's numbers, for all output. */
#ifndef XVT_NAMES_H
#define XVT_NAMES_H

#include <stdint.h>

#include "xvt_abi.h"

struct xvt_json;

/* Name of an enum xvt_lost_cause, also as a JSON key. */
const char *xvt_lost_name(unsigned int cause);
/* Name of an enum xvt_clock_source_id; "none" for an unknown one. */
const char *xvt_clock_source_name(uint32_t source);
/* Number of sources that a ring's clock can have: ids are below this. */
#define XVT_CLOCK_SOURCES 7u
/* Name of an enum xvt_ring_type: "vcpu" or "thread". */
const char *xvt_ring_kind(uint32_t type);

/* Add the objects "lost_by", to which more may be added, and "clock" of a ring. `rejected`: bit per
 * source. */
struct xvt_json *xvt_lost_to_json(struct xvt_json *to, const uint64_t lost[XVT_LOST_CAUSES]);
struct xvt_json *xvt_clock_to_json(struct xvt_json *to, uint32_t source, uint64_t bound_ns_max,
				   uint32_t rejected);

#endif /* XVT_NAMES_H */
