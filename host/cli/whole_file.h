/* SPDX-License-Identifier: GPL-2.0 */
/* whole_file.h - a trace that a command writes beside its name, and that takes it when it is whole.
 */
#ifndef XVT_WHOLE_FILE_H
#define XVT_WHOLE_FILE_H

#include "trace/write.h"

struct xvt_whole_file {
	struct xvt_sink sink; /* first member */
	int fd;
	char *path; /* beside the name that it takes; NULL: there is none */
};

/* Makes the file, with the mode of the file that is open as `like`; -1: for its user only. Returns
 * 0 or -errno. */
int xvt_whole_file_new(struct xvt_whole_file *f, const char *name, int like);
/* Gives the file its name if `err` is 0, and removes it otherwise. Returns the first error. */
int xvt_whole_file_end(struct xvt_whole_file *f, const char *name, int err);

#endif /* XVT_WHOLE_FILE_H */
