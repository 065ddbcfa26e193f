// SPDX-License-Identifier: GPL-2.0
/* confine.c - see confine.h. */
#include "cli/confine.h"

#include <time.h>

#include "base/json.h"
#include "base/sandbox.h"

void xvt_confine(bool makes)
{
	/* Files that the libraries open at their first use: the time zone, and random numbers. */
	tzset();
	xvt_json_prepare();
	xvt_sandbox_enter(XVT_SANDBOX_READS | (makes ? XVT_SANDBOX_MAKES : 0));
}

void xvt_confine_opened(void)
{
	xvt_sandbox_enter(0);
}
