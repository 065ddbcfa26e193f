// SPDX-License-Identifier: GPL-2.0
/* machine_name.c - see machine_name.h. */
#include "base/machine_name.h"

#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

#define SHOWN_MOST 256u /* a pattern may be longer than a name */

static char shown(char c)
{
	const uint8_t byte = (uint8_t)c;

	return byte <= ' ' || byte == ':' || byte >= 0x7f ? '_' : c;
}

void xvt_machine_shown(char *to, size_t size, const char *name)
{
	size_t n = 0;

	for (; n < size - 1 && name[n]; n++)
		to[n] = shown(name[n]);
	to[n] = '\0';
}

bool xvt_machine_same(const char *a, const char *b)
{
	while (*a && *b && shown(*a) == shown(*b)) {
		a++;
		b++;
	}
	return !*a && !*b;
}

bool xvt_machine_matches(const char *glob, const char *name)
{
	char pattern[SHOWN_MOST], text[SHOWN_MOST];

	if (!fnmatch(glob, name, 0))
		return true;
	if (strlen(glob) >= sizeof(pattern) || strlen(name) >= sizeof(text))
		return false;
	xvt_machine_shown(pattern, sizeof(pattern), glob);
	xvt_machine_shown(text, sizeof(text), name);
	return !fnmatch(pattern, text, 0);
}
