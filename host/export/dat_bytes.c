// SPDX-License-Identifier: GPL-2.0
/* dat_bytes.c - see dat.h. Bytes that grow. */
#include "export/dat.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"

void dat_put(struct dat_bytes *b, const void *p, size_t len)
{
	if (xvt_grow(&b->p, &b->room, b->used + len, 1)) {
		b->failed = true;
		return;
	}
	if (len)
		memcpy(b->p + b->used, p, len);
	b->used += len;
}

void dat_put_str(struct dat_bytes *b, const char *text)
{
	dat_put(b, text, strlen(text));
}

void dat_printf(struct dat_bytes *b, const char *format, ...)
{
	char text[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		b->failed = true;
	else
		dat_put(b, text, (size_t)n);
}
