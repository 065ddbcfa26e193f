// SPDX-License-Identifier: GPL-2.0
/* when.c - see when.h. */
#include "select/when.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "options/opt.h"

#define S_NS   1000000000ull
#define DAY_NS (86400 * S_NS)

/* ".25" and "", to ns; *end is behind it. */
static bool parse_fraction(const char *text, const char **end, uint64_t *ns)
{
	uint64_t unit = S_NS / 10;

	*ns = 0;
	*end = text;
	if (*text != '.')
		return true;
	for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
		*ns += (uint64_t)(*text - '0') * unit;
	*end = text;
	return text[-1] != '.';
}

static bool in_range(const struct tm *t)
{
	return t->tm_mon >= 0 && t->tm_mon < 12 && t->tm_mday >= 1 && t->tm_mday <= 31 &&
	       t->tm_hour >= 0 && t->tm_hour < 24 && t->tm_min >= 0 && t->tm_min < 60 &&
	       t->tm_sec >= 0 && t->tm_sec < 61;
}

int xvt_parse_date(const char *text, uint64_t day_ns, uint64_t *wall_ns, bool *dated)
{
	const time_t day = (time_t)(day_ns / S_NS);
	uint64_t fraction;
	struct tm t = { 0 };
	const char *end;
	int used = 0;
	time_t s;

	*dated = sscanf(text, "%4d-%2d-%2d%*1[ T]%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &used) ==
			 3 &&
		 used;
	if (*dated) {
		t.tm_year -= 1900;
		t.tm_mon--;
		text += used;
	} else if (!localtime_r(&day, &t)) {
		return -EINVAL;
	}
	used = 0;
	if (sscanf(text, "%2d:%2d:%2d%n", &t.tm_hour, &t.tm_min, &t.tm_sec, &used) != 3 || !used ||
	    !in_range(&t) || !parse_fraction(text + used, &end, &fraction))
		return -EINVAL;
	t.tm_isdst = -1;
	s = *dated && strcmp(end, "Z") == 0 ? timegm(&t) : *end ? -1 : mktime(&t);
	if (s < 0)
		return -EINVAL;
	*wall_ns = (uint64_t)s * S_NS + fraction;
	return 0;
}

int xvt_parse_when(const char *text, struct xvtrace *trace, struct xvt_when *when)
{
	const struct xvtrace_info *info = xvtrace_info(trace);
	uint64_t first = xvtrace_wall_ns(trace, info->first_ns);
	bool relative = text[0] == '+', from_end = text[0] == '-', dated;
	int err;

	when->clock = XVTRACE_WALL;
	if (strchr(text, ':')) {
		err = xvt_parse_date(text, first, &when->ns, &dated);
		/* A trace that goes on over midnight. */
		if (!err && !dated && when->ns < first && first - when->ns > DAY_NS / 2)
			when->ns += DAY_NS;
		return err;
	}
	/* A time that is printed has no unit; a distance may have one. */
	err = relative || from_end ? xvt_parse_span(text + 1, &when->ns)
				   : xvt_parse_seconds(text, &when->ns);
	if (err)
		return err;
	if (!relative && !from_end && when->ns >= XVT_WHEN_WALL_NS)
		return 0;
	when->clock = XVTRACE_MONOTONIC;
	if (from_end) {
		when->ns = info->last_ns > when->ns ? info->last_ns - when->ns : 0;
		return 0;
	}
	if (relative && __builtin_add_overflow(when->ns, info->first_ns, &when->ns))
		return -ERANGE;
	return 0;
}

int xvt_take_when(const char *text, struct xvtrace *trace, struct xvt_when *when)
{
	if (!xvt_parse_when(text, trace, when))
		return 0;
	xvt_error(text, "not a time; give seconds such as 12.5, +0.5 from the start of the trace, "
			"-0.5 from its end, or a time of day such as 17:51:46.5");
	return -EINVAL;
}
