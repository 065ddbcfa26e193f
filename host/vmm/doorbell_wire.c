// SPDX-License-Identifier: GPL-2.0
/* doorbell_wire.c - see doorbell_wire.h. */
#define _GNU_SOURCE
#include "vmm/doorbell_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for two descriptors: because of alignment, two fit into the space of one anyway. */
union control {
	struct cmsghdr first;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

int xvt_wire_send(int sock, int64_t number, int fd)
{
	struct iovec iov = { &number, sizeof(number) };
	union control control = { .bytes = { 0 } };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int));
		control.first.cmsg_level = SOL_SOCKET;
		control.first.cmsg_type = SCM_RIGHTS;
		control.first.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.first), &fd, sizeof(fd));
	}
	n = sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return -errno;
	return n == sizeof(number) ? 0 : -EAGAIN;
}

/* Keep the first received descriptor in w->fd and close all others. Returns 0 or -EPROTO. */
static int take_descriptors(struct msghdr *m, struct xvt_wire *w)
{
	int err = m->msg_flags & MSG_CTRUNC ? -EPROTO : 0;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t i, n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (w->fd < 0) {
				w->fd = fd;
				continue;
			}
			close(fd);
			err = -EPROTO;
		}
	}
	return err;
}

static void drop(struct xvt_wire *w)
{
	if (w->fd >= 0)
		close(w->fd);
	*w = (struct xvt_wire){ .fd = -1 };
}

int xvt_wire_receive(int sock, struct xvt_wire *w, int64_t *number, int *fd)
{
	while (w->got < sizeof(w->bytes)) {
		struct iovec iov = { w->bytes + w->got, sizeof(w->bytes) - w->got };
		union control control;
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control.bytes,
				    .msg_controllen = sizeof(control.bytes) };
		ssize_t n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		int err;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		err = n < 0 ? -errno : take_descriptors(&m, w);
		if (!err && !n)
			err = -EPIPE;
		if (err) {
			drop(w);
			return err;
		}
		w->got += (size_t)n;
	}
	memcpy(number, w->bytes, sizeof(*number));
	*fd = w->fd;
	*w = (struct xvt_wire){ .fd = -1 };
	return 1;
}
