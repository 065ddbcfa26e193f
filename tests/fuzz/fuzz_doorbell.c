// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_doorbell.c - a recorder as the client of a hostile ivshmem server: numbers and descriptors
 * in any order, messages in pieces, several descriptors at once, an end at any time. The input is
 * what the server does. The client must not wait, must keep no descriptor, and must only have a
 * bell that is an eventfd.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* The connection is one end of a pair, and the target itself says when data are there. */
#define xvt_socket_connect(path, why)	    our_end(path, why)
#define xvt_loop_poll(loop, op, fd, events) polled(fd)
struct xvt_error;
static int our_end(const char *path, struct xvt_error *why);
static int polled(int fd);
#include "../../host/vmm/doorbell.c"

#define DEEDS_MAX   2000
#define DESCRIPTORS 64

static int ends[2]; /* ours, and the server's; -1: closed */

static int our_end(const char *path, struct xvt_error *why)
{
	(void)path;
	(void)why;
	return ends[0];
}

static int polled(int fd)
{
	if (fcntl(fd, F_GETFD) < 0)
		fuzz_finding("it waits for a descriptor that is closed");
	return 0;
}

static unsigned int descriptors(void)
{
	unsigned int n = 0;
	int fd;

	for (fd = 0; fd < DESCRIPTORS; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int region(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("region", MFD_CLOEXEC);
	return fd;
}

/* One that the caller closes. */
static int some_descriptor(struct fuzz_input *in)
{
	int pipes[2];

	switch (fuzz_u8(in) % 6) {
	case 0:
		return dup(region());
	case 1:
		return memfd_create("other", MFD_CLOEXEC);
	case 2:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case 3: /* a read() of it would wait */
		if (pipe(pipes))
			return -1;
		close(pipes[1]);
		return pipes[0];
	case 4:
		return eventfd(fuzz_u8(in), EFD_CLOEXEC);
	default:
		return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
}

static int64_t some_number(struct fuzz_input *in, const struct xvt_doorbell *d)
{
	static const int64_t usual[] = { 0, -1, 1, 2, 65535, 65536, -2, INT64_MIN, INT64_MAX };
	const uint8_t which = fuzz_u8(in) % 16;

	if (which < sizeof(usual) / sizeof(usual[0]))
		return usual[which];
	return which < 14 ? d->number : (int64_t)((uint64_t)fuzz_u32(in) << 32 | fuzz_u32(in));
}

static void send_bytes(const void *bytes, size_t len, const int *fds, size_t count)
{
	char room[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec v = { (void *)bytes, len };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (count) {
		h.msg_control = room;
		h.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	sendmsg(ends[1], &h, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* With a whole message mostly, and with none, one or two descriptors. */
static void say(struct fuzz_input *in, const struct xvt_doorbell *d)
{
	const uint8_t how = fuzz_u8(in);
	const int64_t number = some_number(in, d);
	size_t i, count = how % 8 < 4 ? 0 : how % 8 < 7 ? 1 : 2, n = 0;
	int fds[2];

	for (i = 0; i < count; i++) {
		fds[n] = some_descriptor(in);
		n += fds[n] >= 0;
	}
	send_bytes(&number, how & 0xc0 ? sizeof(number) : 1u + how / 8u % 8u, fds, n);
	while (n)
		close(fds[--n]);
}

/* The words that a server begins with, so that the input need not find them. */
static void begin(struct fuzz_input *in)
{
	const uint8_t peer = fuzz_u8(in);
	const int64_t words[] = { XVT_WIRE_VERSION, peer, XVT_WIRE_MEMORY, peer };
	const uint8_t most = fuzz_u8(in) % 5;
	const int fd = region();
	int bell = eventfd(0, EFD_CLOEXEC);
	uint8_t i;

	for (i = 0; i < most; i++)
		send_bytes(&words[i], sizeof(words[i]), i == 2 ? &fd : &bell, i >= 2);
	close(bell);
}

static void check(const struct xvt_doorbell *d)
{
	uint32_t target;

	if (!xvt_doorbell_ready(d, &target))
		return;
	if (d->number < 0 || d->number > XVT_WIRE_PEER_MAX || !is_eventfd(d->bell))
		fuzz_finding("a bell that is none, or of peer %lld", (long long)d->number);
}

static void play(struct fuzz_input *in, struct xvt_doorbell *d)
{
	unsigned int deeds;

	for (deeds = 0; in->left && deeds < DEEDS_MAX; deeds++) {
		switch (fuzz_u8(in) % 8) {
		case 0:
		case 1:
		case 2:
			if (ends[1] >= 0)
				say(in, d);
			break;
		case 3:
			xvt_doorbell_take(d);
			break;
		case 4:
			xvt_doorbell_arm(d);
			break;
		case 5:
			if (ends[1] >= 0 && fuzz_u8(in) % 4 == 0) {
				close(ends[1]);
				ends[1] = -1;
			}
			break;
		default:
			if (d->state != BELL_ALONE)
				on_data(&d->on_data, POLLIN);
		}
		check(d);
	}
}

static void on_text(void *arg, const char *text)
{
	(void)arg;
	if (!text[0] || strlen(text) > 200)
		fuzz_finding("a note without words, or without end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const int kept = region();
	const unsigned int before = descriptors();
	struct xvt_doorbell *d;
	struct xvt_loop *loop;
	struct xvt_error why;

	if (kept < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
	    xvt_loop_new(&loop))
		return 0;
	if (xvt_doorbell_open(&d, loop, "", kept, on_text, NULL, &why))
		fuzz_finding("cannot connect: %s", why.text);
	begin(&in);
	play(&in, d);
	xvt_doorbell_close(d);
	xvt_loop_free(loop);
	if (ends[1] >= 0)
		close(ends[1]);
	if (descriptors() != before)
		fuzz_finding("%u descriptors, then %u", before, descriptors());
	return 0;
}

void fuzz_guest_turn(void)
{
}

void fuzz_guest_stored(uint64_t off)
{
	(void)off;
}
