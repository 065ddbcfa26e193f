// SPDX-License-Identifier: GPL-2.0
/* tar.c - see tar.h. */
#include "formats/tar.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 512u

/* The fields of a header that are used, at their offsets. */
enum { NAME = 0, SIZE = 124, SUM = 148, TYPE = 156, MAGIC = 257, PREFIX = 345 };
enum { NAME_LEN = 100, SIZE_LEN = 12, SUM_LEN = 8, PREFIX_LEN = 155 };

/* An octal number, ended by a blank or a zero. Returns false if it is none. */
static bool read_octal(const uint8_t *p, size_t len, uint64_t *value)
{
	size_t i = 0;

	*value = 0;
	while (i < len && p[i] == ' ')
		i++;
	for (; i < len && p[i] >= '0' && p[i] <= '7'; i++)
		*value = *value << 3 | (uint64_t)(p[i] - '0');
	return i == len || p[i] == ' ' || !p[i];
}

static bool sum_is_right(const uint8_t *h)
{
	uint64_t said, sum = 0;
	size_t i;

	for (i = 0; i < BLOCK; i++)
		sum += i >= SUM && i < SUM + SUM_LEN ? ' ' : h[i];
	return read_octal(h + SUM, SUM_LEN, &said) && said == sum;
}

static void read_path(const uint8_t *h, char path[XVT_TAR_PATH])
{
	const char *name = (const char *)h + NAME, *prefix = (const char *)h + PREFIX;
	const int name_len = (int)strnlen(name, NAME_LEN);
	int prefix_len = (int)strnlen(prefix, PREFIX_LEN);

	/* GNU's own format has other fields there. */
	if (memcmp(h + MAGIC, "ustar", 6) != 0)
		prefix_len = 0;
	snprintf(path, XVT_TAR_PATH, "%.*s%s%.*s", prefix_len, prefix, prefix_len ? "/" : "",
		 name_len, name);
}

static bool is_zero(const uint8_t *h)
{
	size_t i;

	for (i = 0; i < BLOCK; i++) {
		if (h[i])
			return false;
	}
	return true;
}

int xvt_tar_each(const uint8_t *tar, size_t len, xvt_tar_fn fn, void *arg, const char **why)
{
	char path[XVT_TAR_PATH], next[XVT_TAR_PATH] = "";
	size_t at = 0;

	while (len - at >= BLOCK && !is_zero(tar + at)) {
		const uint8_t *h = tar + at, *bytes = h + BLOCK;
		uint64_t size;
		int err = 0;

		if (!sum_is_right(h) || !read_octal(h + SIZE, SIZE_LEN, &size)) {
			*why = at ? "the archive is damaged" : "it is no tar archive";
			return -EBADMSG;
		}
		at += BLOCK;
		if (size > len - at) {
			*why = "the archive is cut off";
			return -EBADMSG;
		}
		if (h[TYPE] == 'L') {
			snprintf(next, sizeof(next), "%.*s", (int)(size < 4096 ? size : 4096),
				 (const char *)bytes);
		} else if (h[TYPE] == '0' || !h[TYPE]) {
			read_path(h, path);
			err = fn(arg, next[0] ? next : path, bytes, (size_t)size);
			next[0] = 0;
		}
		if (err)
			return err;
		size = (size + BLOCK - 1) / BLOCK * BLOCK;
		at = size > len - at ? len : at + (size_t)size;
	}
	if (!at) {
		*why = "it is no tar archive";
		return -EBADMSG;
	}
	return 0;
}
