/* SPDX-License-Identifier: GPL-2.0 */
/* file_keep.h - the oldest files of a set are removed, so that a recording takes bounded space. */
#ifndef XVT_FILE_KEEP_H
#define XVT_FILE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

/* Limits of a set; 0: none. */
struct xvt_file_keep {
	uint64_t bytes;	     /* of the disk, most of all files, with the next one */
	uint64_t ns;	     /* since a file was written last */
	uint64_t free_bytes; /* of the file system, for others, beside the next file */
	uint64_t next_bytes; /* expected size of the next file */
	bool copies;	     /* keep room for a copy of the largest file, too */
};

/*
 * Removes files of the folder, the oldest first, until the limits hold: files with a number below
 * `from` that are of this user and begin as a trace. Snapshots (file_snapshot.h) count, and the
 * oldest of them go when they have more than half of `bytes`. Returns how many files were removed.
 */
uint32_t xvt_file_keep(const char *folder, uint32_t from, const struct xvt_file_keep *keep);

/* Returns true if the limits hold, and go on to hold when the file `now`, which is written, has its
 * size, while there is a copy of `bytes` beside the files. */
bool xvt_file_keep_has_room(const char *folder, uint32_t now, const struct xvt_file_keep *keep,
			    uint64_t bytes);

#endif /* XVT_FILE_KEEP_H */
