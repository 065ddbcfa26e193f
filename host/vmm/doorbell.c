// SPDX-License-Identifier: GPL-2.0
/* doorbell.c - see doorbell.h. */
#define _GNU_SOURCE
#include "vmm/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/container.h"
#include "vmm/doorbell_wire.h"
#include "base/loop.h"
#include "base/socket.h"

#define TURN	      64u /* messages in one callback of the loop, at most */
/* In a second, at most: a server tells of the vectors of a peer that comes or goes, of 16 at most.
 */
#define MESSAGES_MOST 8192u

/* The message that is expected next. */
enum bell_state {
	BELL_VERSION,
	BELL_NUMBER,
	BELL_MEMORY,
	BELL_PEERS,
	BELL_ALONE, /* none: the connection has ended */
};

struct xvt_doorbell {
	struct xvt_loop *loop;
	struct xvt_op on_data, on_ring;
	int sock;
	int bell; /* eventfd of our first vector, or -1 */
	enum bell_state state;
	int64_t number;	   /* our peer number */
	uint32_t messages; /* in `second` */
	time_t second;
	dev_t dev; /* of the region's file */
	ino_t ino;
	struct xvt_wire wire;
	xvt_doorbell_note note;
	void *arg;
};

static void drop_socket(struct xvt_doorbell *d)
{
	xvt_loop_cancel(d->loop, &d->on_data);
	if (d->sock >= 0)
		close(d->sock);
	if (d->wire.fd >= 0)
		close(d->wire.fd);
	d->wire.fd = d->sock = -1;
	d->state = BELL_ALONE;
}

static void drop_bell(struct xvt_doorbell *d)
{
	xvt_loop_cancel(d->loop, &d->on_ring);
	if (d->bell >= 0)
		close(d->bell);
	d->bell = -1;
}

static void notify(struct xvt_doorbell *d, const char *text)
{
	if (d->note)
		d->note(d->arg, text);
}

/* The server sent an invalid message: close the connection and the bell. */
static void nonsense(struct xvt_doorbell *d, const char *text)
{
	drop_socket(d);
	drop_bell(d);
	notify(d, text);
}

/* Check the type, since a read of another file could block or have effects; make it non-blocking.
 */
static bool is_eventfd(int fd)
{
	char path[32], name[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof(name) - 1) > 0 &&
	       !strncmp(name, "anon_inode:[eventfd", 19) &&
	       !fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static bool is_region(const struct xvt_doorbell *d, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == d->dev && st.st_ino == d->ino;
}

/* Keep our own first doorbell. Our other vectors and other peers' doorbells are not needed. */
static void take_peer(struct xvt_doorbell *d, int64_t number, int *fd)
{
	if (number < 0 || number > XVT_WIRE_PEER_MAX || (number == d->number && *fd < 0)) {
		nonsense(d, "the doorbell's server speaks of a peer that cannot be");
	} else if (number == d->number && d->bell < 0) {
		if (!is_eventfd(*fd)) {
			nonsense(d, "what the doorbell's server gave for a bell is none");
			return;
		}
		d->bell = *fd;
		*fd = -1;
	}
}

static void take_message(struct xvt_doorbell *d, int64_t number, int *fd)
{
	switch (d->state) {
	case BELL_VERSION:
		if (number != XVT_WIRE_VERSION || *fd >= 0)
			nonsense(d, "the doorbell's server speaks another protocol than version 0 "
				    "of ivshmem's");
		else
			d->state = BELL_NUMBER;
		break;
	case BELL_NUMBER:
		d->number = number;
		if (number < 0 || number > XVT_WIRE_PEER_MAX || *fd >= 0)
			nonsense(d, "the doorbell's server gave us a number that no peer has");
		else
			d->state = BELL_MEMORY;
		break;
	case BELL_MEMORY:
		if (number != XVT_WIRE_MEMORY || *fd < 0)
			nonsense(d, "the doorbell's server gave no memory");
		else if (!is_region(d, *fd))
			nonsense(d, "the doorbell's server serves another file than this region");
		else
			d->state = BELL_PEERS;
		break;
	case BELL_PEERS:
		take_peer(d, number, fd);
		break;
	case BELL_ALONE:
		break;
	}
}

static void arm_data(struct xvt_doorbell *d)
{
	if (xvt_loop_poll(d->loop, &d->on_data, d->sock, POLLIN))
		nonsense(d, "cannot listen to the doorbell's server");
}

static void gone(struct xvt_doorbell *d, int err)
{
	char text[160];

	if (err == -EPIPE && d->bell >= 0) {
		drop_socket(d);
		notify(d,
		       "the doorbell's server has ended; a machine that is started anew will have "
		       "no doorbell");
		return;
	}
	snprintf(text, sizeof(text), "the doorbell's server: %s",
		 err == -EPIPE ? "it closed before it gave us a bell" : strerror(-err));
	nonsense(d, text);
}

/* Counts a message. Returns true if there are too many in this second. */
static bool is_flood(struct xvt_doorbell *d)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != d->second)
		d->messages = 0;
	d->second = now.tv_sec;
	return ++d->messages > MESSAGES_MOST;
}

static void on_data(struct xvt_op *op, int res)
{
	struct xvt_doorbell *d = container_of(op, struct xvt_doorbell, on_data);
	unsigned int i;

	(void)res;
	for (i = 0; i < TURN && d->state != BELL_ALONE; i++) {
		int64_t number;
		int fd = -1, got = xvt_wire_receive(d->sock, &d->wire, &number, &fd);

		if (got < 0)
			gone(d, got);
		else if (got && is_flood(d))
			nonsense(d, "the doorbell's server sends without end");
		else if (got)
			take_message(d, number, &fd);
		if (fd >= 0)
			close(fd);
		if (got <= 0)
			break;
	}
	if (d->state != BELL_ALONE)
		arm_data(d);
}

/* The caller reads the bell after xvt_loop_run(). */
static void on_ring(struct xvt_op *op, int res)
{
	(void)op;
	(void)res;
}

static int connect_to(const char *path, struct xvt_error *why)
{
	struct xvt_error reason;
	int fd = xvt_socket_connect(path, &reason);

	if (fd < 0)
		xvt_fail(why, 0, "%s%s", reason.text,
			 fd == -ENOENT || fd == -ECONNREFUSED
				 ? "; start `xvtrace region serve` first"
				 : "");
	return fd;
}

int xvt_doorbell_open(struct xvt_doorbell **out, struct xvt_loop *loop, const char *path,
		      int region_fd, xvt_doorbell_note note, void *arg, struct xvt_error *why)
{
	struct xvt_doorbell *d = calloc(1, sizeof(*d));
	struct stat st;
	int err = -ENOMEM;

	if (!d)
		return xvt_fail(why, err, "%s", strerror(ENOMEM));
	d->loop = loop;
	d->on_data.done = on_data;
	d->on_ring.done = on_ring;
	d->wire.fd = d->bell = -1;
	d->sock = connect_to(path, why);
	if (d->sock < 0) {
		err = d->sock;
		goto err_free;
	}
	if (fstat(region_fd, &st)) {
		err = -errno;
		xvt_fail(why, 0, "%s", strerror(-err));
		goto err_close;
	}
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	err = xvt_loop_poll(loop, &d->on_data, d->sock, POLLIN);
	if (err) {
		xvt_fail(why, 0, "cannot listen to it: %s", strerror(-err));
		goto err_close;
	}
	d->note = note;
	d->arg = arg;
	*out = d;
	return 0;

err_close:
	close(d->sock);
err_free:
	free(d);
	return err;
}

void xvt_doorbell_close(struct xvt_doorbell *d)
{
	d->note = NULL;
	drop_socket(d);
	drop_bell(d);
	if (xvt_loop_release(d->loop, &d->on_data) && xvt_loop_release(d->loop, &d->on_ring))
		free(d);
}

bool xvt_doorbell_ready(const struct xvt_doorbell *d, uint32_t *target)
{
	*target = (uint32_t)d->number << 16;
	return d->bell >= 0;
}

uint64_t xvt_doorbell_take(struct xvt_doorbell *d)
{
	uint64_t n = 0;

	const struct iovec to = { &n, sizeof(n) };
	ssize_t got;

	if (d->bell < 0)
		return 0;
	/* Not read(): the server shares O_NONBLOCK, and may take it back. */
	got = preadv2(d->bell, &to, 1, -1, RWF_NOWAIT);
	if (got < 0 && errno == EOPNOTSUPP)
		got = read(d->bell, &n, sizeof(n)); /* a kernel before 5.8 */
	return got == sizeof(n) ? n : 0;
}

void xvt_doorbell_arm(struct xvt_doorbell *d)
{
	if (d->bell >= 0 && !d->on_ring.held)
		xvt_loop_poll(d->loop, &d->on_ring, d->bell, POLLIN);
}
