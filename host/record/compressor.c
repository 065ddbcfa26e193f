// SPDX-License-Identifier: GPL-2.0
/*
 * compressor.c - see compressor.h. The process opens the file and makes the copy, and has a child
 * for each file, which has no more than these two descriptors and reads what guests wrote.
 */
#define _GNU_SOURCE
#include "record/compressor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "rights/capabilities.h"
#include "rights/confine.h"
#include "rights/helper.h"
#include "rights/limits.h"
#include "rights/own_user.h"
#include "trace/repack.h"
#include "trace/set_name.h"

#define NICE		    19
#define MEMORY		    (512ull << 20) /* of the child: several of the largest chunks, and zstd's own */

/* Of ioprio_set(2), for which there is no header. */
#define IOPRIO_THIS_PROCESS 1
#define IOPRIO_IDLE	    (3 << 13)

struct xvt_compressor {
	struct xvt_helper helper;
	const char *folder;
	unsigned int level;
};

/* ------------------------------------------------------------------ the process that reads */

/* CPU time and the disk are for others first. */
static void step_back(void)
{
	const struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_IDLE, &none);
	setpriority(PRIO_PROCESS, 0, NICE);
	syscall(SYS_ioprio_set, IOPRIO_THIS_PROCESS, 0, IOPRIO_IDLE);
}

static void repack(const struct xvt_compressor *c, pid_t parent, int from, int to, uint64_t bytes)
{
	const struct rlimit size = { bytes, bytes };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, "xvtrace-packer");
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &size);
	xvt_limit_memory(MEMORY);
	xvt_own_user_become(); /* or stay the user that it is */
	xvt_capabilities_keep(0);
	step_back();
	xvt_confine(false);
	xvt_confine_opened();
	_exit(-xvt_repack(from, to, c->level));
}

/* Returns what xvt_repack() returns in a child of its own. */
static int repack_apart(const struct xvt_compressor *c, int sock, int from, int to, uint64_t bytes)
{
	const pid_t parent = getpid(), child = fork();
	int status = 0, err;

	if (child < 0)
		return -errno;
	if (!child) {
		close(sock);
		repack(c, parent, from, to, bytes);
	}
	err = xvt_child_finish(child, &status, XVT_CHILD_STILL_MS, true);
	if (err)
		return err;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

/* ------------------------------------------------------------------ the process that opens */

static int open_file(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		err = -errno;
	else if (!S_ISREG(st->st_mode) || st->st_uid != geteuid())
		err = -EPERM;
	else if (st->st_nlink != 1)
		err = -EMLINK;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Makes the copy's file, with mode and group of the file. Returns a descriptor or -errno. */
static int make_copy(const char *copy, const struct stat *st)
{
	int fd;

	unlink(copy);
	fd = open(copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	(void)!fchown(fd, (uid_t)-1, st->st_gid);
	fchmod(fd, st->st_mode & 0777);
	return fd;
}

/* The copy is as old as the file. Returns 0 or -errno. */
static int end_copy(int fd, const struct stat *st, uint64_t *bytes)
{
	const struct timespec times[] = { st->st_atim, st->st_mtim };
	struct stat copy;

	if (futimens(fd, times) || fstat(fd, &copy))
		return -errno;
	*bytes = (uint64_t)copy.st_size;
	return copy.st_size && copy.st_size < st->st_size ? 0 : -EFBIG;
}

static void compress(const struct xvt_compressor *c, int sock, uint32_t number,
		     struct xvt_compressed *done)
{
	char path[PATH_MAX], copy[PATH_MAX];
	int from, to;

	done->err = -ENAMETOOLONG;
	if (!xvt_set_path(c->folder, number, path, sizeof(path)) ||
	    (size_t)snprintf(copy, sizeof(copy), "%s/" XVT_SET_COPY, c->folder) >= sizeof(copy))
		return;
	from = open_file(path, &done->st);
	done->err = from < 0 ? from : 0;
	if (done->err)
		return;
	to = make_copy(copy, &done->st);
	done->err = to < 0 ? to : 0;
	if (!done->err)
		done->err = repack_apart(c, sock, from, to, (uint64_t)done->st.st_size);
	if (!done->err)
		done->err = end_copy(to, &done->st, &done->bytes);
	close(from);
	if (to >= 0)
		close(to);
	if (done->err)
		unlink(copy);
}

static void answer_all(int fd, void *arg)
{
	uint32_t number;

	while (recv(fd, &number, sizeof(number), 0) == sizeof(number)) {
		struct xvt_compressed done = { 0 };

		compress(arg, fd, number, &done);
		if (send(fd, &done, sizeof(done), 0) != sizeof(done))
			return;
	}
}

/* ------------------------------------------------------------------ the recorder */

int xvt_compressor_new(struct xvt_compressor **out, const char *folder, unsigned int level)
{
	static const struct xvt_helper_name name = { "compresses finished files",
						     "finished files stay as they are" };
	struct xvt_compressor *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->folder = folder;
	c->level = level;
	/* The folder may belong to another user. */
	err = xvt_helper_start(&c->helper, &name,
			       1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_DAC_OVERRIDE, answer_all,
			       c);
	if (err)
		free(c);
	else
		*out = c;
	return err;
}

struct xvt_helper *xvt_compressor_helper(struct xvt_compressor *c)
{
	return &c->helper;
}

void xvt_compressor_free(struct xvt_compressor *c)
{
	if (!c)
		return;
	xvt_helper_end(&c->helper);
	free(c);
}

int xvt_compressor_ask(struct xvt_compressor *c, uint32_t number)
{
	return xvt_helper_ask(&c->helper, &number, sizeof(number));
}

int xvt_compressor_answer(struct xvt_compressor *c, struct xvt_compressed *done)
{
	return xvt_helper_answer(&c->helper, done, sizeof(*done));
}
