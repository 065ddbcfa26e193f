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
#include "cli/unfinished.h"

#define TRIES 16

static int write_all(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct xvt_whole_file *f = (struct xvt_whole_file *)sink;
	int err = f->old ? xvt_output_empty(f->fd) : 0;

	f->old = false;
	return err ? err : xvt_write_all(f->fd, bytes, len);
}

/* Make the file `beside`. Before it is noted, no signal is to end the command. Returns 0 or -errno.
 */
static int make_noted(struct xvt_whole_file *f)
{
	sigset_t before;
	int err;

	xvt_unfinished_hold(&before);
	f->fd = openat(f->to.folder, f->beside,
		       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = f->fd < 0 ? -errno : 0;
	if (!err)
		xvt_unfinished_begin(f->to.folder, f->beside);
	xvt_unfinished_release(&before);
	return err;
}

/* Make a file beside the one that was found. Returns 0 or -errno. */
static int make_beside(struct xvt_whole_file *f)
{
	int tries = TRIES, err;
	uint64_t number;

	do {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			err = -errno;
		else if (snprintf(f->beside, sizeof(f->beside), "%s.%016" PRIx64, f->to.name,
				  number) >= (int)sizeof(f->beside))
			err = -ENAMETOOLONG;
		else
			err = make_noted(f);
	} while (err == -EEXIST && --tries);
	if (err)
		f->beside[0] = '\0';
	return err;
}

static int open_file(struct xvt_whole_file *f)
{
	const struct xvt_output *to = &f->to;

	if (!to->magic && (!to->there || S_ISREG(to->st.st_mode)))
		return make_beside(f);
	/* A pipe, or a device: nothing takes its place. */
	f->fd = xvt_output_open_at(to, O_WRONLY, 0600, NULL);
	f->old = f->fd >= 0;
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
	xvt_unfinished_end();
	xvt_output_close(&f->to);
	return err;
}
