/* SPDX-License-Identifier: GPL-2.0 */
/* whole_file.h - a trace that a command writes beside its name, and that takes it when it is whole.
 * A pipe or a device gets it at once. */
#ifndef XVT_WHOLE_FILE_H
#define XVT_WHOLE_FILE_H

#include "base/output.h"
#include "trace/write.h"

struct xvt_whole_file {
	struct xvt_sink sink; /* first member */
	int fd;
	bool old; /* it has none beside its name, and what it held is there still */
	struct xvt_output to;
	char beside[NAME_MAX + 1]; /* its name in the folder of `to` until then; "": it has none */
};

/* Makes the file, with the mode of the file that is open as `like`; -1: for its user only. Returns
 * 0, -errno or an error of base/output.h; xvt_whole_file_end() follows in any case. */
int xvt_whole_file_new(struct xvt_whole_file *f, const char *name, int like);
/* Gives the file its name if `err` is 0, and removes it otherwise. Returns the first error. */
int xvt_whole_file_end(struct xvt_whole_file *f, int err);

#endif /* XVT_WHOLE_FILE_H */
