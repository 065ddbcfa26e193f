// SPDX-License-Identifier: GPL-2.0
/* set_found.c - the traces that lie in a folder which is none itself. */
#include "trace/set.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/file_snapshot.h"
#include "trace/set_name.h"

#define LOOKED_MOST 4096 /* entries of a folder */

static int is_shown(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static bool is_set(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir)))
		found = xvt_set_number(e->d_name);
	if (dir)
		closedir(dir);
	return found;
}

/* A set of files, or a file of that name. */
static bool is_trace(const char *path)
{
	const char *dot = strrchr(path, '.');
	struct stat st;

	if (stat(path, &st))
		return false;
	if (S_ISREG(st.st_mode))
		return dot && strcmp(dot, ".xvt") == 0;
	return S_ISDIR(st.st_mode) && is_set(path);
}

size_t xvt_set_found(const char *folder, char found[][PATH_MAX], size_t most)
{
	const size_t len = strlen(folder);
	const char *slash = len && folder[len - 1] == '/' ? "" : "/";
	struct dirent **entries;
	size_t n = 0;
	int i, count = scandir(folder, &entries, is_shown, alphasort);

	if (count < 0)
		return 0;
	for (i = count; i--;) {
		const bool looks = n < most && count - i <= LOOKED_MOST;
		int size = looks ? snprintf(found[n], PATH_MAX, "%s%s%s", folder, slash,
					    entries[i]->d_name)
				 : PATH_MAX;

		n += size < PATH_MAX && is_trace(found[n]);
		free(entries[i]);
	}
	free(entries);
	return n;
}

void xvt_set_why_none(const char *folder, struct xvt_error *why)
{
	char found[XVT_SET_FOUND_SHOWN + 1][PATH_MAX];
	char snapshots[PATH_MAX];
	size_t n = xvt_set_found(folder, found, XVT_SET_FOUND_SHOWN + 1), used, i;

	if (!n && (size_t)snprintf(snapshots, sizeof(snapshots), "%s/" XVT_SNAPSHOT_FOLDER,
				   folder) < sizeof(snapshots))
		n = xvt_set_found(snapshots, found, XVT_SET_FOUND_SHOWN + 1);
	xvt_fail(why, 0,
		 "is a directory without files of a trace, like 00000001.xvt; give "
		 "%s",
		 n == 0	  ? "a .xvt file, or the folder of record -o DIR/"
		 : n == 1 ? "the trace in it: "
			  : "one of the traces in it: ");
	used = strlen(why->text);
	for (i = 0; i < n && used < sizeof(why->text); i++)
		used += (size_t)snprintf(why->text + used, sizeof(why->text) - used, "%s%s",
					 i ? ", " : "", i < XVT_SET_FOUND_SHOWN ? found[i] : "...");
}
