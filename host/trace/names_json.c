// SPDX-License-Identifier: GPL-2.0
/* names_json.c - the objects of names.h; readers without JSON link names.c alone. */
#include "base/json.h"
#include "trace/format.h"
#include "trace/names.h"

struct xvt_json *xvt_lost_to_json(struct xvt_json *to, const uint64_t lost[XVT_LOST_CAUSES])
{
	struct xvt_json *by = xvt_json_add_object(to, "lost_by");
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		xvt_json_add_u64(by, xvt_lost_name(i), lost[i]);
	return by;
}

struct xvt_json *xvt_clock_to_json(struct xvt_json *to, uint32_t source, uint64_t bound_ns_max,
				   uint32_t rejected)
{
	struct xvt_json *clock = xvt_json_add_object(to, "clock"), *names;
	uint32_t i;

	xvt_json_add_text(clock, "source", xvt_clock_source_name(source));
	xvt_json_add_u64(clock, "bound_ns_max",
			 source == XVT_SOURCE_NONE ? XVT_NO_BOUND : bound_ns_max);
	names = xvt_json_add_array(clock, "rejected");
	for (i = 1; i < XVT_CLOCK_SOURCES; i++) {
		if (rejected >> i & 1)
			xvt_json_add_text(names, NULL, xvt_clock_source_name(i));
	}
	return clock;
}
