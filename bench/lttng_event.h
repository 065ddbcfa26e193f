/* SPDX-License-Identifier: GPL-2.0 */
/* lttng_event.h - the same 16-byte event as an LTTng-UST tracepoint. LTTng includes it twice. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER xvtbench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_event.h"

#if !defined(BENCH_LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_EVENT_H

#include <stdint.h>
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(xvtbench, pair, LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a)
						       lttng_ust_field_integer(uint64_t, b, b)))

#endif

#include <lttng/tracepoint-event.h>
