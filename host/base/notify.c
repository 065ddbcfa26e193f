// SPDX-License-Identifier: GPL-2.0
/* notify.c - see notify.h. */
#include "base/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Writes the manager's address. Returns its length; 0: there is none. */
static socklen_t address(struct sockaddr_un *to)
{
	const char *path = getenv("NOTIFY_SOCKET");
	const size_t len = path ? strlen(path) : 0;

	if (!len || (path[0] != '/' && path[0] != '@') || len >= sizeof(to->sun_path))
		return 0;
	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(to->sun_path, path, len);
	if (path[0] == '@')
		to->sun_path[0] = '\0'; /* an abstract name */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int sock = -1;

/* Returns whether the socket is connected. */
static bool reach(void)
{
	struct sockaddr_un to;
	const socklen_t len = address(&to);

	if (len && sock < 0)
		sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return len && sock >= 0 && !connect(sock, (struct sockaddr *)&to, len);
}

void xvt_notify_prepare(void)
{
	reach();
}

void xvt_notify(const char *format, ...)
{
	char text[512];
	va_list args;

	if (sock < 0 && !reach())
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* The manager may have come later, or begun anew. */
	if (send(sock, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    (errno == ENOTCONN || errno == EDESTADDRREQ || errno == ECONNREFUSED) && reach())
		send(sock, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}
