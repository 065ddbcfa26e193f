// SPDX-License-Identifier: GPL-2.0
/* cmd_region_serve.c - `xvtrace region serve`: give a region and doorbells to a QEMU and to
 * recorders. */
#define _GNU_SOURCE
#include "base/log.h"
#include "base/container.h"
#include "base/time.h"
#include "cli/cmd.h"
#include "vmm/doorbell_server.h"
#include "base/loop.h"
#include "base/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct ender {
	struct xvt_op op;
	bool signalled;
};

static void on_signal(struct xvt_op *op, int res)
{
	(void)res;
	container_of(op, struct ender, op)->signalled = true;
}

static int open_region(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st)) {
		xvt_error(path, "%s%s", strerror(errno),
			  errno == ENOENT
				  ? "; make it by `xvtrace region create`, or `truncate -s 4M`"
				  : "");
	} else if (!S_ISREG(st.st_mode) || st.st_size < 4096 || st.st_size & (st.st_size - 1)) {
		xvt_error(path, "its size must be a power of two, 4K or more: it is a PCI BAR");
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int signal_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int serve(struct xvt_loop *loop, const char *path, const char *socket_path, int region,
		 unsigned int vectors)
{
	struct ender end = { .op.done = on_signal };
	struct xvt_doorbell_server *server;
	int signals = signal_fd(), err;
	struct xvt_error why;

	err = signals < 0 ? -errno : xvt_loop_poll(loop, &end.op, signals, POLLIN);
	if (err) {
		xvt_error("region serve", "cannot wait for signals: %s", strerror(-err));
		return XVT_EXIT_FAIL;
	}
	err = xvt_doorbell_server_open(&server, loop, socket_path, region, vectors, &why);
	if (err) {
		xvt_error(socket_path, "%s", why.text);
		close(signals);
		return XVT_EXIT_FAIL;
	}
	printf("%s: serving %s\n", socket_path, path);
	xvt_notify("READY=1");
	fflush(stdout); /* a program that waits for this line may connect now */
	while (!end.signalled && err >= 0)
		err = xvt_loop_run(loop, SECOND_NS);
	xvt_doorbell_server_close(server);
	close(signals);
	if (err >= 0)
		return XVT_EXIT_OK;
	xvt_error_io_uring("event loop", err);
	return XVT_EXIT_FAIL;
}

int xvt_region_serve(const char *path, const char *socket_path, uint64_t vectors)
{
	struct xvt_loop *loop;
	int region, err, status;

	if (!socket_path || !vectors || vectors > XVT_SERVER_VECTORS) {
		xvt_error("region serve", "give --socket SOCK, and as --vectors 1 to %u",
			  XVT_SERVER_VECTORS);
		return XVT_EXIT_USAGE;
	}
	region = open_region(path);
	if (region < 0)
		return XVT_EXIT_FAIL;
	err = xvt_loop_new(&loop);
	if (err) {
		xvt_error_io_uring("event loop", err);
		close(region);
		return XVT_EXIT_FAIL;
	}
	xvt_note_loop(loop);
	status = serve(loop, path, socket_path, region, (unsigned int)vectors);
	xvt_loop_free(loop);
	close(region);
	return status;
}
