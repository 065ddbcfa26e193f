// SPDX-License-Identifier: GPL-2.0
/* beside.c - see beside.h. */
#include "select/beside.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "options/opt.h"
#include "trace/file_snapshot.h"
#include "trace/set.h"
#include "trace/set_name.h"
#include "vmm/processes.h"

static void find_flight(const char *folder, struct xvt_beside *b)
{
	struct stat st;

	if ((size_t)snprintf(b->flight, sizeof(b->flight), "%s/" XVT_SNAPSHOT_FLIGHT, folder) >=
		    sizeof(b->flight) ||
	    stat(b->flight, &st) || !S_ISREG(st.st_mode))
		b->flight[0] = '\0';
}

/* Names of snapshots begin with their times. */
static void find_snapshot(const char *folder, struct xvt_beside *b)
{
	char path[PATH_MAX], found[1][PATH_MAX];
	int len = (int)strlen(folder);

	len -= len > 1 && folder[len - 1] == '/';
	if (xvt_set_is_folder(folder) &&
	    (size_t)snprintf(path, sizeof(path), "%.*s/" XVT_SNAPSHOT_FOLDER, len, folder) <
		    sizeof(path) &&
	    xvt_set_found(path, found, 1))
		snprintf(b->snapshot, sizeof(b->snapshot), "%s", found[0]);
}

/* Stores the path of the newest file of a set. */
static bool newest_of(const char *folder, char *path, size_t size)
{
	struct xvt_set_list files;
	bool found;

	if (xvt_set_list(folder, &files))
		return false;
	found = xvt_set_path(folder, files.numbers[files.count - 1], path, size);
	xvt_set_list_free(&files);
	return found;
}

static pid_t locker_of(const char *path, mode_t type)
{
	struct xvt_mapped_file file;
	struct stat st;

	if (stat(path, &st) || (st.st_mode & S_IFMT) != type)
		return 0;
	file = (struct xvt_mapped_file){ st.st_dev, st.st_ino };
	return xvt_file_locker(&file);
}

/* A recorder locks the file that it writes (trace/file_sink.h). */
pid_t xvt_beside_writer(const char *path)
{
	char newest[PATH_MAX];

	if (xvt_set_is_folder(path)) {
		if (!newest_of(path, newest, sizeof(newest)))
			return 0;
		path = newest;
	}
	return locker_of(path, S_IFREG);
}

/* The recorder locks the folder, too, as long as it is at work (trace/file_set.h). */
pid_t xvt_beside_recorder(const char *folder)
{
	return locker_of(folder, S_IFDIR);
}

pid_t xvt_beside_writer_of(const char *const *paths, size_t count)
{
	pid_t writer = 0;

	for (size_t i = 0; i < count && !writer; i++)
		writer = xvt_beside_writer(paths[i]);
	return writer;
}

static bool is_given(const char *file, const char *const *paths, size_t count)
{
	struct stat of, st;

	for (size_t i = 0; i < count; i++)
		if (!stat(file, &of) && !stat(paths[i], &st) && of.st_ino == st.st_ino &&
		    of.st_dev == st.st_dev)
			return true;
	return false;
}

void xvt_beside_look(const char *const *paths, size_t count, struct xvt_beside *b)
{
	*b = (struct xvt_beside){ .flight = "" };
	for (size_t i = 0; i < count && !b->snapshot[0]; i++)
		find_snapshot(paths[i], b);
	for (size_t i = 0; i < count && !b->flight[0]; i++) {
		if (xvt_set_is_folder(paths[i]))
			find_flight(paths[i], b);
		if (b->flight[0] && is_given(b->flight, paths, count))
			b->flight[0] = '\0';
	}
}

void xvt_beside_say(const struct xvt_beside *b, const char *what)
{
	if (b->flight[0])
		xvt_note("the flight recorders of this snapshot are a trace of their own, which is "
			 "not included: 'xvtrace %s %s'; given together they are read as one",
			 what, b->flight);
	if (b->snapshot[0])
		xvt_note("this set has snapshots, which are traces of their own, the newest: "
			 "'xvtrace %s %s'",
			 what, b->snapshot);
}
