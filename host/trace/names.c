// SPDX-License-Identifier: GPL-2.0
/* names.c - see names.h. */
#include "trace/names.h"

#include <stdio.h>

#include "base/json.h"
#include "trace/format.h"

const char *xvt_lost_name(unsigned int cause)
{
	static const char *const names[XVT_LOST_CAUSES] = {
		[XVT_LOST_FULL] = "full", [XVT_LOST_WRAP] = "wrap",   [XVT_LOST_BIG] = "big",
		[XVT_LOST_NEST] = "nest", [XVT_LOST_RETRY] = "retry",
	};

	return cause < XVT_LOST_CAUSES ? names[cause] : "?";
}

const char *xvt_clock_source_name(uint32_t source)
{
	static const char *const names[] = {
		[XVT_SOURCE_NONE] = "none",	   [XVT_SOURCE_HANDSHAKE] = "handshake",
		[XVT_SOURCE_KVM] = "kvm",	   [XVT_SOURCE_VMM] = "vmm",
		[XVT_SOURCE_HOST] = "host",	   [XVT_SOURCE_DRAIN] = "drain",
		[XVT_SOURCE_GUEST] = "guest-word",
	};

	return source < sizeof(names) / sizeof(names[0]) ? names[source] : "none";
}

const char *xvt_ring_kind(uint32_t type)
{
	return type == XVT_RING_THREAD ? "thread" : "vcpu";
}

void xvt_uuid_text(const uint8_t uuid[16], char text[XVT_UUID_TEXT])
{
	int at = 0, i;

	for (i = 0; i < 16; i++)
		at += snprintf(text + at, XVT_UUID_TEXT - (unsigned int)at,
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

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
	xvt_json_add_u64(clock, "bound_ns_max", bound_ns_max);
	names = xvt_json_add_array(clock, "rejected");
	for (i = 1; i < XVT_CLOCK_SOURCES; i++) {
		if (rejected >> i & 1)
			xvt_json_add_text(names, NULL, xvt_clock_source_name(i));
	}
	return clock;
}
