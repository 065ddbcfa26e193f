// SPDX-License-Identifier: GPL-2.0
/* text.c - text of guests as UTF-8, as JSON lines have it. */
#include "query/parts.h"

#include <errno.h>

#include "base/out.h"
#include "base/vec.h"

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((signed char)text[i] <= 0)
			return false;
	return true;
}

int text_clean(const char **text, size_t *len, struct text_room *to)
{
	static const char replacement[] = "\xef\xbf\xbd";
	const uint8_t *p = (const uint8_t *)*text;
	size_t used = 0;

	if (is_ascii(*text, *len))
		return 0;
	if (xvt_grow(&to->v, &to->room, 3 * *len, 1))
		return -ENOMEM;
	for (size_t at = 0; at < *len;) {
		uint32_t code;
		const size_t bytes = xvt_utf8_next(p + at, *len - at, &code);
		const bool bad = code == 0xfffd;

		memcpy(to->v + used, bad ? replacement : (const char *)p + at, bad ? 3 : bytes);
		used += bad ? 3 : bytes;
		at += bytes;
	}
	*text = to->v;
	*len = used;
	return 0;
}
