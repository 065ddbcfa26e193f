// SPDX-License-Identifier: GPL-2.0
/* error.c - see error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int xvt_fail(struct xvt_error *why, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (why)
		vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return err;
}
