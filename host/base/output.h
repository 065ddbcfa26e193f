/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - open what a command writes to. Others may have put something in its place: a symbolic
 * link to a file that only the caller may write, or a file of their own that they read afterwards.
 * Symbolic links are therefore followed, on the way as well as at the end, only if they belong to
 * the caller or to root. And in a folder where others may make files, a file that is there has to
 * belong to the caller, to root or to the folder's owner.
 */
#ifndef XVT_OUTPUT_H
#define XVT_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/made.h"

/* Errors beside -errno. */
#define XVT_OUTPUT_LINK (-4094) /* a link on its way is another user's */
#define XVT_OUTPUT_FILE (-4093) /* another user's file is there, in a folder open to others */

/* Where an output lies, without links. */
struct xvt_output {
	int folder; /* O_PATH */
	char name[NAME_MAX + 1];
	bool linked; /* the path led here by a link */
	bool magic;  /* a link of /proc, which the kernel alone can follow */
	bool there;
	struct stat st; /* of the file, if it is there and not `magic` */
};

/*
 * Find where `path` leads. Returns 0, -errno or an error above; after 0 xvt_output_close() closes
 * the folder.
 */
int xvt_output_find(struct xvt_output *o, const char *path);
void xvt_output_close(struct xvt_output *o);

/*
 * Open what xvt_output_find() found, or make it with `mode`. flags: as for open(), without O_CREAT;
 * O_TRUNC empties a regular file. *made, if not NULL: whether it was made. Returns a descriptor,
 * -errno (-EAGAIN: what is there has changed) or XVT_OUTPUT_FILE.
 */
int xvt_output_open_at(const struct xvt_output *o, int flags, mode_t mode, bool *made);

/*
 * Find it and open it. *made, if not NULL: where it was made, for xvt_made_close(); its folder is
 * -1 if it was there. Returns a descriptor, -errno or an error above.
 */
int xvt_output_open(const char *path, int flags, mode_t mode, struct xvt_made *made);

/* Open the folder `path` for reading, and make it with `mode` if it is not there; *made: as above.
 * Returns a descriptor, -errno or XVT_OUTPUT_LINK. */
int xvt_output_folder(const char *path, mode_t mode, struct xvt_made *made);

/* Remove what was made, and is open as `fd`: a file, or a folder that is empty. A file that
 * others have put there in its place stays. All files may be open (rights/confine.h). */
void xvt_made_remove(const struct xvt_made *made, int fd);
void xvt_made_close(struct xvt_made *made);

/* Take away what a file held. Of what holds nothing, as a pipe, that is no error. Returns 0 or
 * -errno. */
int xvt_output_empty(int fd);

/* Returns the text of an error of these functions. */
const char *xvt_output_why(int err);

#endif /* XVT_OUTPUT_H */
