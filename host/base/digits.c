// SPDX-License-Identifier: GPL-2.0
/* digits.c - see digits.h. */
#include "base/digits.h"

#include <stdio.h>

const char *xvt_size_text(char text[XVT_DIGITS_LEN], uint64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB" };
	double size = (double)bytes / 1e3;
	size_t i = 0;

	for (; size >= 999.95 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		size /= 1e3;
	snprintf(text, XVT_DIGITS_LEN, "%.1f %s", size, units[i]);
	return text;
}

const char *xvt_nameless_text(char text[XVT_NAMELESS_TEXT], uint64_t nameless, uint64_t events,
			      const char *why)
{
	char part[XVT_DIGITS_LEN], all[XVT_DIGITS_LEN];

	snprintf(text, XVT_NAMELESS_TEXT, "%s of %s events have no format: %s",
		 xvt_digits(part, nameless), xvt_digits(all, events),
		 why ? why : "xvt-guest sync in the guest, also while it is recorded");
	return text;
}
