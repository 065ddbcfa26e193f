// SPDX-License-Identifier: GPL-2.0
/* whole_file.c - see whole_file.h. */
#define _GNU_SOURCE
#include "cli/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(struct xvt_sink *sink, const void *bytes, size_t len)
{
	const struct xvt_whole_file *f = (const struct xvt_whole_file *)sink;
	const char *at = bytes;

	while (len) {
		ssize_t n = write(f->fd, at, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int xvt_whole_file_new(struct xvt_whole_file *f, const char *name, int like)
{
	struct stat st;
	int err;

	f->sink.write = write_all;
	f->path = NULL;
	if (like >= 0 && fstat(like, &st))
		return -errno;
	if (asprintf(&f->path, "%s.XXXXXX", name) < 0) {
		f->path = NULL;
		return -ENOMEM;
	}
	f->fd = mkostemp(f->path, O_CLOEXEC);
	if (f->fd < 0) {
		err = -errno;
		free(f->path);
		f->path = NULL;
		return err;
	}
	return like >= 0 && fchmod(f->fd, st.st_mode & 0777) ? -errno : 0;
}

int xvt_whole_file_end(struct xvt_whole_file *f, const char *name, int err)
{
	if (!f->path)
		return err;
	if (!err && fsync(f->fd))
		err = -errno;
	if (close(f->fd) && !err)
		err = -errno;
	if (!err && rename(f->path, name))
		err = -errno;
	if (err)
		unlink(f->path);
	free(f->path);
	return err;
}
