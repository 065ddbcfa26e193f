// SPDX-License-Identifier: GPL-2.0
/* whole_file.c - see whole_file.h. */
#define _GNU_SOURCE
#include "cli/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/file.h"

#define TRIES 16

static int write_all(struct xvt_sink *sink, const void *bytes, size_t len)
{
	return xvt_write_all(((const struct xvt_whole_file *)sink)->fd, bytes, len);
}

/* Make a file beside the one that was found. Returns 0 or -errno. */
static int make_beside(struct xvt_whole_file *f)
{
	int tries = TRIES;
	uint64_t number;

	do {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -errno;
		if (snprintf(f->beside, sizeof(f->beside), "%s.%016" PRIx64, f->to.name, number) >=
		    (int)sizeof(f->beside))
			return -ENAMETOOLONG;
		f->fd = openat(f->to.folder, f->beside,
			       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	} while (f->fd < 0 && errno == EEXIST && --tries);
	if (f->fd >= 0)
		return 0;
	f->beside[0] = '\0';
	return -errno;
}

static int open_file(struct xvt_whole_file *f)
{
	const struct xvt_output *to = &f->to;

	if (!to->magic && (!to->there || S_ISREG(to->st.st_mode)))
		return make_beside(f);
	/* A pipe, or a device: nothing takes its place. */
	f->fd = xvt_output_open_at(to, O_WRONLY | O_TRUNC, 0600, NULL);
	return f->fd < 0 ? f->fd : 0;
}

int xvt_whole_file_new(struct xvt_whole_file *f, const char *name, int like)
{
	struct stat st;
	int err;

	*f = (struct xvt_whole_file){ .sink.write = write_all, .fd = -1, .to.folder = -1 };
	if (like >= 0 && fstat(like, &st))
		return -errno;
	err = xvt_output_find(&f->to, name);
	if (!err)
		err = open_file(f);
	if (!err && f->beside[0] && like >= 0 && fchmod(f->fd, st.st_mode & 0777))
		err = -errno;
	return err;
}

int xvt_whole_file_end(struct xvt_whole_file *f, int err)
{
	const bool beside = f->beside[0];

	if (!err && beside && fsync(f->fd))
		err = -errno;
	if (f->fd >= 0 && close(f->fd) && !err)
		err = -errno;
	if (!err && beside && renameat(f->to.folder, f->beside, f->to.folder, f->to.name))
		err = -errno;
	if (err && beside)
		unlinkat(f->to.folder, f->beside, 0);
	xvt_output_close(&f->to);
	return err;
}
