/* SPDX-License-Identifier: GPL-2.0 */
/*
 * site.h - a place in the source of the code under test, and the hook that runs there.
 */
#ifndef NEST_SITE_H
#define NEST_SITE_H

#include <stddef.h>
#include <stdint.h>

enum nest_site_kind {
	SITE_LOAD,
	SITE_STORE, /* or read-modify-write */
	SITE_OTHER,
};

struct nest_site {
	enum nest_site_kind kind;
	const char *text; /* the access, as the source has it */
	const char *function;
	const char *file;
	int line;
};

/* Runs just before the access to addr. */
void nest_point(const struct nest_site *site, const void *addr);

/* memcpy() and memset() of 8-byte words, with the hook before each. */
void *nest_copy(const struct nest_site *site, void *dst, const void *src, size_t n);
void *nest_fill(const struct nest_site *site, void *dst, int c, size_t n);

#endif /* NEST_SITE_H */
