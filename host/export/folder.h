/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folder.h - private to export/: an export that is a folder with something for each machine. A
 * machine's name is text of a file, and must not lead out of the folder.
 */
#ifndef XVT_EXPORT_FOLDER_H
#define XVT_EXPORT_FOLDER_H

#include "base/made.h"
#include "export/export.h"

#define XVT_FOLDER_NAME_LEN 128u

struct xvt_folder {
	struct xvt_export *x;
	const char *path;
	int fd;
	struct xvt_made made;		    /* the folder, if it was not there */
	bool removed;			    /* something by xvt_folder_remove() */
	uint32_t machines;		    /* of the trace; one more is for unknown rings */
	char (*names)[XVT_FOLDER_NAME_LEN]; /* by machine; empty: not named yet */
};

/* Make the folder, which must be empty if it exists. Returns 0 or -errno; then, too,
 * xvt_folder_close() is due. */
int xvt_folder_open(struct xvt_folder *f, struct xvt_export *x, const char *path);
/* A folder that was made, and into which nothing was written, is removed. */
void xvt_folder_close(struct xvt_folder *f);

/* The name of what belongs to machine `at`: the machine's name without '/' and without a dot at its
 * begin; with its number if another machine took that name. */
const char *xvt_folder_name(struct xvt_folder *f, uint32_t at);

/* Note the file that could not be written; sub and name may be NULL. Returns err. */
int xvt_folder_fail(struct xvt_folder *f, int err, const char *sub, const char *name);

/* Remove a file of the export, or a directory of it if nothing else is in it. For an export that
 * failed: readers take no part of one. */
void xvt_folder_remove(struct xvt_folder *f, const char *path, bool is_dir);

/* Write the text of an error; `many` is that for -EMLINK. Returns err. */
int xvt_folder_explain(struct xvt_folder *f, int err, const char *many);

#endif /* XVT_EXPORT_FOLDER_H */
