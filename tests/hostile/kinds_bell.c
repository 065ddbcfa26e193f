// SPDX-License-Identifier: GPL-2.0
/* kinds_bell.c - peers that spoil an ivshmem server, or ring its recorder all the time. */
#define _GNU_SOURCE
#include "guest.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "vmm/doorbell_wire.h"
#include "base/socket.h"

static void write_one(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
}

static int to_server(void)
{
	const char *path = getenv("BELL");
	struct xvt_error why;

	return path ? xvt_socket_connect(path, &why) : -1;
}

/* Connects, and goes: some at once, some after a while, none of them reads. */
static void connects(struct hostile *h, uint64_t *s)
{
	static int open_ones[64];
	int *one = &open_ones[next(s) % 64];

	(void)h;
	if (*one > 0)
		close(*one);
	*one = to_server();
}

/* All doorbells that the server gives away, the recorder's among them. */
static void ring_all(struct hostile *h, uint64_t *s)
{
	static struct xvt_wire wire = { .fd = -1 };
	static int sock = -1, bells[64];
	static unsigned int n;
	unsigned int i;
	int64_t number;
	int fd;

	(void)h, (void)s;
	if (sock < 0)
		sock = to_server();
	while (sock >= 0 && xvt_wire_receive(sock, &wire, &number, &fd) == 1) {
		if (fd >= 0 && number >= 0 && n < 64)
			bells[n++] = fd;
		else if (fd >= 0)
			close(fd);
	}
	for (i = 0; i < n; i++)
		eventfd_write(bells[i], 1);
}

/* Rings where it should, when it should, and fills no sub-buffer: the recorder wakes for nothing.
 */
static void need_wake(struct hostile *h, uint64_t *s)
{
	uint32_t i;

	ring_all(h, s);
	for (i = 0; i < h->g.ring_count; i++)
		xvt_store(&h->ring[i].w.host->need_wake, (uint32_t)next(s) % 2);
	xvt_store(&((struct xvt_host_page *)(h->base + h->g.host_off))->doorbell, next(s));
}

const struct kind bell_kinds[] = {
	{ .name = "bell-connects",
	  .text = "connects to the doorbell server and goes, without end",
	  .flags = KIND_BELL,
	  .ring = write_one,
	  .region = connects,
	  .batch = 1 },
	{ .name = "bell-rings",
	  .text = "rings the recorder without end",
	  .flags = KIND_BELL,
	  .ring = write_one,
	  .region = ring_all,
	  .batch = 1,
	  .rest_us = 20 },
	{ .name = "bell-words",
	  .text = "rings, and spoils the words that say when to ring",
	  .flags = KIND_BELL,
	  .ring = write_one,
	  .region = need_wake,
	  .batch = 1 },
	{ 0 },
};
