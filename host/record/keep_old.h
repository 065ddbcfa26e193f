/* SPDX-License-Identifier: GPL-2.0 */
/* keep_old.h - keep the file that a command would replace: it moves to PATH.old. */
#ifndef XVT_KEEP_OLD_H
#define XVT_KEEP_OLD_H

enum xvt_kept_old {
	XVT_KEPT_NONE,	  /* there was no file */
	XVT_KEPT_MOVED,	  /* the file is PATH.old */
	XVT_KEPT_SWAPPED, /* the same, and the PATH.old before is at PATH, to be overwritten */
};

/* Move a regular file or a symbolic link at `path` to "PATH.old". Returns enum xvt_kept_old, or
 * -errno. */
int xvt_keep_old(const char *path);

/* Undo xvt_keep_old(), which returned `kept`; the new file at `path` is removed already if it was
 * made. Both files are as they were. */
void xvt_keep_old_undo(const char *path, int kept);

#endif /* XVT_KEEP_OLD_H */
