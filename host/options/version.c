// SPDX-License-Identifier: GPL-2.0
/* version.c - see version.h. The Makefile gives the version, which has the commit, as a word
 * without quotes. */
#include "options/version.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/library.h"

#define VERSION_TEXT XVT_TEXT_OF(XVT_VERSION)

static const struct {
	const char *name;
	bool on;
} features[] = {
#ifdef XVT_ZSTD
	{ "zstd", true },
#else
	{ "zstd", false },
#endif
#ifdef XVT_SECCOMP_SONAME
	{ "seccomp", true },
#else
	{ "seccomp", false },
#endif
#ifdef XVT_NCURSES_SONAME
	{ "ncurses", true },
#else
	{ "ncurses", false },
#endif
#ifdef XVT_SQLITE_SONAME
	{ "sqlite", true },
#else
	{ "sqlite", false },
#endif
#ifdef __SANITIZE_ADDRESS__
	{ "asan", true },
#endif
};

void xvt_version_print(void)
{
	printf("xvtrace %s\n", VERSION_TEXT);
	printf("built: %s %s, for %s\n",
#ifdef __clang__
	       "clang", __clang_version__,
#else
	       "gcc", __VERSION__,
#endif
#ifdef __x86_64__
	       "x86_64"
#elif defined(__aarch64__)
	       "arm64"
#else
	       "another machine"
#endif
	);
	printf("features:");
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		printf(" %c%s", features[i].on ? '+' : '-', features[i].name);
	printf("\n");
}
