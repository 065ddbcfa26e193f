// SPDX-License-Identifier: GPL-2.0
/* names.c - see names.h. */
#include "trace/names.h"

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
		[XVT_SOURCE_GUEST] = "guest-word", [XVT_SOURCE_SEEN] = "seen",
	};

	return source < sizeof(names) / sizeof(names[0]) ? names[source] : "none";
}

const char *xvt_ring_kind(uint32_t type)
{
	return type == XVT_RING_THREAD ? "thread" : "vcpu";
}
