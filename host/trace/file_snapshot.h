/* SPDX-License-Identifier: GPL-2.0 */
/*
 * file_snapshot.h - files of a set that are kept when the set goes on without them: hard links in
 * FOLDER/snapshots/NAME/. A name begins with its time, so that names sort by time:
 * 20261124T083015.250Z-crash-web3. Such a folder is a set itself (trace/set.h).
 */
#ifndef XVT_FILE_SNAPSHOT_H
#define XVT_FILE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XVT_SNAPSHOT_NAME_MAX 128u
/* A trace of its own in the folder of a snapshot, no file of the set. */
#define XVT_SNAPSHOT_FOLDER   "snapshots" /* in that of the set */
#define XVT_SNAPSHOT_FLIGHT   "flight.xvt"

/* Makes the folder of a snapshot, and stores its path. `what` follows the time in its name; other
 * characters than letters, digits, "." and "-" become "_". Returns 0 or -errno. */
int xvt_file_snapshot_new(const char *folder, const char *what, char *path, size_t size);

/* Adds a file of the set. Returns 0, also if it is in there already, or -errno. */
int xvt_file_snapshot_add(const char *folder, uint32_t number, const char *path);

/* Returns the number of snapshots. */
uint32_t xvt_file_snapshot_count(const char *folder);

/* Returns the bytes of files that the set does not have, or does not have any more. */
uint64_t xvt_file_snapshot_bytes(const char *folder);

/* Removes the oldest snapshot of those with the same words behind their time (a machine's, of one
 * kind) that are the most, or the oldest of all where none has two; never the newest of all. Other
 * files in its folder stay, and so does the folder then. Returns false if nothing was removed. */
bool xvt_file_snapshot_drop(const char *folder);
/* Removes the oldest file of the newest snapshot, unless it is the only one. Returns false if
 * nothing was removed. */
bool xvt_file_snapshot_trim(const char *folder);

#endif /* XVT_FILE_SNAPSHOT_H */
