// SPDX-License-Identifier: GPL-2.0
/* control.c - the recorder's side of control.h. The client's side is control_ask.c. */
#define _GNU_SOURCE
#include "session/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/socket.h"
#include "base/user.h"

bool xvt_control_dir(char *dir, size_t size)
{
	const char *given = getenv("XVTRACE_RUN_DIR"), *own = getenv("XDG_RUNTIME_DIR");

	if (given && *given)
		return (size_t)snprintf(dir, size, "%s", given) < size;
	if (!xvt_user())
		return (size_t)snprintf(dir, size, "/run/xvtrace") < size;
	return own && *own && (size_t)snprintf(dir, size, "%s/xvtrace", own) < size;
}

bool xvt_control_is_name(const char *name)
{
	const char *digits = name + strlen("record-");

	return !strncmp(name, "record-", strlen("record-")) && *digits &&
	       !digits[strspn(digits, "0123456789")];
}

static int own_path(char *path, size_t size, struct xvt_error *why)
{
	char dir[2048];

	if (!xvt_control_dir(dir, sizeof(dir)))
		return xvt_fail(why, -ENOENT, "no XDG_RUNTIME_DIR");
	if (mkdir(dir, 0755) && errno != EEXIST)
		return xvt_fail(why, -errno, "%s: %s", dir, strerror(errno));
	/* Remove the sockets of killed recorders. */
	xvt_socket_tidy(dir, xvt_control_is_name);
	snprintf(path, size, "%s/record-%d", dir, (int)getpid());
	return 0;
}

int xvt_control_open(struct xvt_server **out, struct xvt_loop *loop, const char *path,
		     const struct xvt_server_ops *ops, void *arg, struct xvt_error *why)
{
	static const struct xvt_server_limits limits = {
		.clients = XVT_CONTROL_CLIENTS,
		.guests = XVT_CONTROL_GUESTS,
	};
	struct xvt_listener listener;
	char own[4096];
	int err = path ? 0 : own_path(own, sizeof(own), why);

	if (!err)
		err = xvt_socket_listen(&listener, path ? path : own, 0600, why);
	if (err)
		return err;
	*out = xvt_server_new(loop, &listener, &limits, ops, arg);
	if (*out)
		return 0;
	return xvt_fail(why, -ENOMEM, "%s", strerror(ENOMEM));
}
