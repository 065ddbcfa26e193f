// SPDX-License-Identifier: GPL-2.0
/* standard.c - see standard.h. */
#define _GNU_SOURCE
#include "record/standard.h"

#include "base/file.h"
#include "base/log.h"
#include "options/opt.h"
#include "trace/set.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES (256u << 10)

static char stdin_path[] = "/dev/stdin";

static bool is_dash(const char *name)
{
	return name[0] == '-' && !name[1];
}

/* DIR is a slip for DIR/FILE.xvt as well as for DIR/. */
static bool is_bare_folder(const char *output)
{
	const size_t len = strlen(output);
	struct xvt_set_list list;
	struct stat st;

	if (!len || output[len - 1] == '/' || stat(output, &st) || !S_ISDIR(st.st_mode))
		return false;
	if (xvt_set_list(output, &list))
		return true;
	xvt_set_list_free(&list);
	return false;
}

bool xvt_output_ok(const char *output)
{
	if (is_dash(output))
		xvt_error(output,
			  "standard output is for what commands print; give a file, like -o "
			  "FILE.xvt, or /dev/stdout of a pipe (./- is the file of this name)");
	else if (is_bare_folder(output))
		xvt_error(output,
			  "is a folder; for numbered files in it give -o %s/, for one file -o "
			  "%s/FILE.xvt",
			  output, output);
	else
		return true;
	return false;
}

/* Whether standard input can be opened again by its path, and is wanted from its first byte on. */
static bool is_file(void)
{
	struct stat st;
	int fd;

	if (fstat(STDIN_FILENO, &st) || !S_ISREG(st.st_mode) ||
	    lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
		return false;
	/* The file may belong to another user. */
	fd = open(stdin_path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Returns a descriptor, or -errno. */
static int make_unnamed(void)
{
	const char *folders[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	int err = -ENOENT;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int fd = folders[i] && *folders[i]
				 ? open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
				 : -1;

		if (fd >= 0)
			return fd;
		err = folders[i] ? -errno : err;
	}
	return err;
}

/* Returns 0 or -errno. */
static int copy_to(int to)
{
	static char bytes[COPY_BYTES];
	ssize_t n;
	int err = 0;

	do {
		n = read(STDIN_FILENO, bytes, sizeof(bytes));
		if (n > 0)
			err = xvt_write_all(to, bytes, (size_t)n);
	} while (!err && (n > 0 || (n < 0 && errno == EINTR)));
	return n < 0 ? -errno : err;
}

bool xvt_standard_input(char **arg)
{
	int fd, err;

	if (!is_dash(*arg))
		return true;
	*arg = stdin_path;
	if (isatty(STDIN_FILENO)) {
		xvt_error("standard input", "is a terminal; give a trace, or send one there: < "
					    "FILE.xvt (./- is the file of this name)");
		return false;
	}
	if (is_file())
		return true;
	fd = make_unnamed();
	err = fd < 0 ? fd : copy_to(fd);
	/* From here on it is what a file on standard input would be. */
	if (!err && dup2(fd, STDIN_FILENO) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (!err)
		return true;
	xvt_error("standard input", "cannot be kept in a file, which reading takes: %s%s",
		  strerror(-err), err == -ENOSPC ? "; TMPDIR=FOLDER names one with more room" : "");
	return false;
}

bool xvt_standard_inputs(int count, char **args)
{
	bool taken = false;

	for (int i = 0; i < count; i++) {
		if (!is_dash(args[i]))
			continue;
		if (taken) {
			xvt_error("-", "standard input is one trace; it is given twice");
			return false;
		}
		taken = true;
		if (!xvt_standard_input(&args[i]))
			return false;
	}
	return true;
}
