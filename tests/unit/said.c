// SPDX-License-Identifier: GPL-2.0
/* said.c - see said.h. */
#include "said.h"

#include <stdio.h>
#include <unistd.h>

#include "suites.h"

void said_setup(void)
{
	ck_assert_ptr_nonnull(freopen(scratch_path("said"), "w+", stderr));
}

const char *said(void)
{
	static char text[8192];
	size_t len;

	fflush(stderr);
	rewind(stderr);
	len = fread(text, 1, sizeof(text) - 1, stderr);
	text[len] = '\0';
	rewind(stderr);
	ck_assert_int_eq(ftruncate(fileno(stderr), 0), 0);
	return text;
}

void said_has(const char *words)
{
	const char *text = said();

	ck_assert_msg(strstr(text, words) != NULL, "'%s' has no '%s'", text, words);
}
