// SPDX-License-Identifier: GPL-2.0
/* number.c - numbers as users write them. */
#include "base/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int xvt_parse_u64(const char *text, const char **end, uint64_t *value)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &stop, text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10);
	if (errno)
		return -ERANGE;
	*end = stop;
	return 0;
}

int xvt_parse_bytes(const char *text, const char **end, uint64_t *bytes)
{
	static const char units[] = "KkMmGg";
	const char *unit;
	unsigned int shift;
	int err = xvt_parse_u64(text, end, bytes);

	if (err)
		return err;
	unit = **end ? strchr(units, **end) : NULL;
	if (!unit)
		return 0;
	shift = 10 * (1 + (unsigned int)(unit - units) / 2);
	if (*bytes > UINT64_MAX >> shift)
		return -ERANGE;
	*bytes <<= shift;
	++*end;
	return 0;
}
