// SPDX-License-Identifier: GPL-2.0
/* keep_old.c - see keep_old.h. */
#define _GNU_SOURCE
#include "record/keep_old.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

static bool old_name(const char *path, char old[PATH_MAX])
{
	return snprintf(old, PATH_MAX, "%s.old", path) < PATH_MAX;
}

static int swap(const char *a, const char *b)
{
	return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

int xvt_keep_old(const char *path)
{
	char old[PATH_MAX];
	struct stat st;

	/* A link is kept as well: what it leads to is not written. */
	if (lstat(path, &st) || !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		return XVT_KEPT_NONE;
	if (!old_name(path, old))
		return -ENAMETOOLONG;
	/* An exchange can be undone. A file system without it loses the older file, if any. */
	if (S_ISREG(st.st_mode) && !lstat(old, &st) && S_ISREG(st.st_mode) && !swap(path, old))
		return XVT_KEPT_SWAPPED;
	return rename(path, old) ? -errno : XVT_KEPT_MOVED;
}

void xvt_keep_old_undo(const char *path, int kept)
{
	char old[PATH_MAX];

	if (kept <= XVT_KEPT_NONE || !old_name(path, old))
		return;
	if (kept == XVT_KEPT_MOVED)
		rename(old, path);
	else
		swap(path, old);
}
