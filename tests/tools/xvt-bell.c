// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-bell.c - a guest with a doorbell, as far as a recorder can tell: a peer of an ivshmem server
 * that gets the region from it, writes numbered events into its only ring, and rings. Round after
 * round: when the host has asked to be woken, EVENTS events at once; then until the host has them.
 *
 *   rings   as it should
 *   lies    it rings when it is asked to show that it can, and never when a sub-buffer is full
 *   cannot  it never rings, like an older module; it does not wait to be asked, but rests long
 *           enough between two rounds for a recorder to fall asleep
 *   idle    it rings as it should, and looks into its mailbox as a guest's module does, every ten
 *           milliseconds; a round each second, whether the host sleeps or not
 *
 * Says "round N" after each. Until SIGTERM; then how many events there were, and what the host has
 * left behind:
 *
 *   recorded=N asked=N rings=N need_wake=N doorbell=N      asked: was it ever to wake the host?
 *
 *   xvt-bell SOCKET EVENTS rings|lies|cannot|idle
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "vmm/doorbell_wire.h"
#include "base/socket.h"
#include "join.h"
#include "xvt_region.h"

#define REST	 500	   /* looks of a millisecond, or more */
#define IDLE	 100	   /* looks of ten milliseconds, or more */
#define STAY_NS	 200000ull /* in the mailbox, after the last answer */
#define TOTAL_NS 2000000ull

static struct {
	struct xvt_writer w;
	const struct xvt_host_page *page;
	int sock;
	struct xvt_wire wire;
	int64_t number;
	int bell[XVT_WIRE_PEER_MAX + 1]; /* first vector of each peer, 0: none */
	uint64_t seen;			 /* the last word that was rung for */
	uint64_t rings;
	bool asked;
	bool idle;
} s = { .wire.fd = -1 };

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

/* As QEMU's device does: a word for a peer that is not there does nothing. */
static void ring(uint64_t word)
{
	uint32_t peer = (uint32_t)word >> 16;

	if (!(word & XVT_DOORBELL_VALID) || word & 0xffff || !s.bell[peer])
		return;
	s.rings++;
	eventfd_write(s.bell[peer], 1);
}

static void kick(void *unused)
{
	(void)unused;
	ring(xvt_load(&s.page->doorbell));
}

static void take_peer(int64_t number, int fd)
{
	if (number < 0 || number > XVT_WIRE_PEER_MAX || (fd >= 0 && s.bell[number])) {
		close(fd);
		return;
	}
	if (fd < 0 && s.bell[number])
		close(s.bell[number]);
	s.bell[number] = fd < 0 ? 0 : fd;
}

static void hear_server(void)
{
	int64_t number;
	int fd;

	while (s.sock >= 0) {
		int got = xvt_wire_receive(s.sock, &s.wire, &number, &fd);

		if (!got)
			return;
		if (got > 0) {
			take_peer(number, fd);
			continue;
		}
		close(s.sock); /* what we know we know */
		s.sock = -1;
	}
}

static int64_t expect(int *fd)
{
	struct pollfd p = { .fd = s.sock, .events = POLLIN };
	int64_t number;
	int got;

	while (!(got = xvt_wire_receive(s.sock, &s.wire, &number, fd)))
		poll(&p, 1, -1);
	if (got == 1)
		return number;
	fprintf(stderr, "xvt-bell: the server says nothing\n");
	exit(1);
}

static int join(const char *path)
{
	const struct xvt_layout layout = { .kind = XVT_KIND_USER, .clock_id = XVT_CLOCK_NATIVE };
	struct xvt_geometry g;
	uint8_t *base;
	struct xvt_error why;
	int fd = -1;

	s.sock = xvt_socket_connect(path, &why);
	if (s.sock < 0) {
		fprintf(stderr, "xvt-bell: %s: %s\n", path, why.text);
		return -1;
	}
	if (expect(&fd) != XVT_WIRE_VERSION)
		return -1;
	s.number = expect(&fd);
	if (expect(&fd) != XVT_WIRE_MEMORY)
		return -1;
	base = join_region(&s.w, &g, fd, &layout, NULL);
	if (!base)
		return -1;
	s.page = (const void *)(base + g.host_off);
	return 0;
}

static void wake_host(void)
{
	xvt_mb();
	if (s.w.kick && xvt_load(&s.w.host->need_wake))
		s.w.kick(NULL);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* As the module's timer does: it stays for the requests that follow. */
static void answer_as_a_guest(void)
{
	int64_t more = xvt_writer_answer(&s.w);
	uint64_t start, last, now;

	if (more <= 0)
		return;
	wake_host();
	start = last = now_ns();
	do {
		xvt_relax();
		more = xvt_writer_answer(&s.w);
		xvt_writer_mark(&s.w);
		now = now_ns();
		if (more > 0)
			last = now;
	} while (more && now - last < STAY_NS && now - start < TOTAL_NS);
}

/* The host's questions, and a rest. */
static void attend(bool can_ring)
{
	uint64_t word = xvt_load(&s.page->doorbell);

	hear_server();
	if (s.idle)
		answer_as_a_guest();
	while (!s.idle && xvt_writer_answer(&s.w) > 0)
		wake_host();
	xvt_writer_mark(&s.w);
	if (can_ring && word != s.seen)
		ring(word);
	s.seen = word;
	s.asked |= xvt_load(&s.w.host->need_wake);
	usleep(s.idle ? 10000 : 1000);
}

static bool taken(void)
{
	return xvt_load_acquire(&s.w.host->cons) == xvt_load(&s.w.ctl->commit);
}

int main(int argc, char **argv)
{
	const char *how = argc == 4 ? argv[3] : "";
	const bool can_ring = strcmp(how, "cannot");
	uint64_t events, n = 0, rounds = 0, rest;

	s.idle = !strcmp(how, "idle");
	if (argc != 4 || (strcmp(how, "rings") && strcmp(how, "lies") && can_ring && !s.idle)) {
		fprintf(stderr, "usage: xvt-bell SOCKET EVENTS rings|lies|cannot|idle\n");
		return 2;
	}
	events = strtoull(argv[2], NULL, 0);
	signal(SIGTERM, end);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (join(argv[1]))
		return 1;
	if (!strcmp(how, "rings") || s.idle)
		s.w.kick = kick;
	while (!ended) {
		uint64_t until = n + events;

		for (rest = 0; !ended && s.idle && rest < IDLE; rest++)
			attend(can_ring);
		while (!ended && can_ring && !s.idle && !xvt_load(&s.w.host->need_wake))
			attend(can_ring);
		for (rest = 0; !ended && !can_ring && rest < REST; rest++)
			attend(can_ring);
		while (!ended && n < until) {
			const uint64_t payload[2] = { 0, n };

			if (!xvt_write(&s.w, XVT_ID_U64, payload, sizeof(payload)))
				n++;
			else
				attend(can_ring);
		}
		while (!ended && !taken())
			attend(can_ring);
		if (!ended)
			printf("round %" PRIu64 "\n", ++rounds);
	}
	printf("recorded=%" PRIu64 " asked=%d rings=%" PRIu64 " need_wake=%u doorbell=%" PRIu64
	       "\n",
	       n, s.asked, s.rings, xvt_load(&s.w.host->need_wake), xvt_load(&s.page->doorbell));
	return 0;
}
