// SPDX-License-Identifier: GPL-2.0
/* plug.c - see plug.h. */
#include "cli/plug.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/region.h"
#include "base/time.h"
#include "options/opt.h"
#include "record/find.h"

#define LOOK_MS 50 /* between two looks; nothing tells when a guest has formatted its region */

bool xvt_plug_wait(bool (*done)(void *arg), void *arg, uint64_t timeout_ns)
{
	const uint64_t start = xvt_monotonic_ns();

	while (!done(arg)) {
		if (xvt_monotonic_ns() - start >= timeout_ns)
			return false;
		poll(NULL, 0, LOOK_MS);
	}
	return true;
}

bool xvt_plug_region(const char *name, char path[XVT_PLUG_PATH])
{
	if (!*name || strchr(name, '/') || strlen(name) >= XVT_NAME_LEN) {
		xvt_error(name, "a machine's name has 1 to %u characters and no '/'",
			  XVT_NAME_LEN - 1);
		return false;
	}
	snprintf(path, XVT_PLUG_PATH, "%s/" XVT_REGION_PREFIX "%s", xvt_host_region_dir(), name);
	return true;
}
