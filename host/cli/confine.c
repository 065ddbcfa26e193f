// SPDX-License-Identifier: GPL-2.0
/* confine.c - see confine.h. */
#include "cli/confine.h"

#include <time.h>

#include "base/json.h"
#include "base/sandbox.h"

/* Makes the libraries open the files of their first use: the time zone, and random numbers. */
static void prepare(void)
{
	tzset();
	xvt_json_prepare();
}

void xvt_confine(bool makes)
{
	prepare();
	xvt_sandbox_enter(XVT_SANDBOX_READS | (makes ? XVT_SANDBOX_MAKES : 0));
}

void xvt_confine_loop(void)
{
	prepare();
	xvt_sandbox_enter(XVT_SANDBOX_READS | XVT_SANDBOX_RENAMES | XVT_SANDBOX_LOOPS);
}

void xvt_confine_opened(void)
{
	xvt_sandbox_enter(0);
}

void xvt_confine_opened_output(void)
{
	xvt_sandbox_enter(XVT_SANDBOX_RENAMES);
}
