// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-pingpong.c - numbered UDP requests and replies between two machines, each with a
 * trace_marker line before the send and after the receipt. A request is a ping, its reply a
 * pong. In a merged trace "xvt-ping send N" (client) must come before "xvt-ping recv N"
 * (server), and "xvt-pong send N" (server) before "xvt-pong recv N" (client): causality shows
 * whether the clocks were put together right.
 */
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "marker.h"

#define TIMEOUT_MS  500
#define FIRST_TRIES 60 /* the other machine may still boot */
#define MAGIC	    0x3170747600000000ull

enum { HELLO, EXCHANGE, BYE };

/* Both machines have the same byte order: xvtrace knows little-endian ones only. */
struct packet {
	uint64_t magic;
	uint64_t number;
	uint64_t kind;
};

static void usage(FILE *to)
{
	fputs("usage: xvt-pingpong server PORT\n"
	      "       xvt-pingpong client ADDR PORT COUNT\n"
	      "  The client asks COUNT times and the server answers; each writes trace_marker "
	      "lines\n"
	      "  \"xvt-ping send N\", \"xvt-ping recv N\", \"xvt-pong send N\", \"xvt-pong recv "
	      "N\".\n"
	      "  Both say exchanges=N lost=N at the end; the server ends with its client.\n",
	      to);
}

static int fail(const char *what)
{
	fprintf(stderr, "xvt-pingpong: %s: %s\n", what, strerror(errno));
	return 1;
}

static int server(int sock, int marker)
{
	uint64_t exchanges = 0, lost = 0, next = 0;

	for (;;) {
		struct sockaddr_in peer;
		socklen_t peer_len = sizeof(peer);
		struct packet p;
		ssize_t n = recvfrom(sock, &p, sizeof(p), 0, (struct sockaddr *)&peer, &peer_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail("recvfrom");
		if (n != sizeof(p) || p.magic != MAGIC)
			continue;
		if (p.kind == EXCHANGE) {
			marker_write(marker, "xvt-ping recv %llu", (unsigned long long)p.number);
			lost += p.number > next ? p.number - next : 0;
			next = p.number + 1;
			exchanges++;
			marker_write(marker, "xvt-pong send %llu", (unsigned long long)p.number);
		}
		if (sendto(sock, &p, sizeof(p), 0, (struct sockaddr *)&peer, peer_len) < 0)
			return fail("sendto");
		if (p.kind == BYE)
			break;
	}
	printf("exchanges=%llu lost=%llu\n", (unsigned long long)exchanges,
	       (unsigned long long)lost);
	return 0;
}

/* 1: the reply came, 0: it did not in time, -errno. Replies to what was given up are skipped. */
static int ask(int sock, uint64_t kind, uint64_t number)
{
	struct packet p = { .magic = MAGIC, .number = number, .kind = kind };

	if (send(sock, &p, sizeof(p), 0) < 0 && errno != ECONNREFUSED)
		return -errno;
	for (;;) {
		ssize_t n = recv(sock, &p, sizeof(p), 0);

		if (n < 0 && errno == EINTR)
			continue;
		/* Refused: no socket listens there (yet). The caller counts it as a time-out. */
		if (n < 0)
			return errno == EAGAIN || errno == ECONNREFUSED ? 0 : -errno;
		if (n == sizeof(p) && p.magic == MAGIC && p.kind == kind && p.number == number)
			return 1;
	}
}

static int client(int sock, int marker, uint64_t count)
{
	struct timeval timeout = { .tv_usec = TIMEOUT_MS * 1000 };
	uint64_t exchanges = 0, lost = 0;
	int got = 0;

	if (setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
		return fail("SO_RCVTIMEO");
	for (int i = 0; i < FIRST_TRIES && got <= 0; i++) {
		got = ask(sock, HELLO, i);
		if (got < 0 && got != -ENETUNREACH && got != -EHOSTUNREACH)
			break;
		if (got < 0)
			usleep(TIMEOUT_MS * 1000);
	}
	if (got <= 0) {
		fprintf(stderr, "xvt-pingpong: no answer from the server%s%s\n", got ? ": " : "",
			got ? strerror(-got) : "");
		return 1;
	}
	for (uint64_t i = 0; i < count; i++) {
		marker_write(marker, "xvt-ping send %llu", (unsigned long long)i);
		got = ask(sock, EXCHANGE, i);
		if (got < 0) {
			errno = -got;
			return fail("exchange");
		}
		if (got) {
			marker_write(marker, "xvt-pong recv %llu", (unsigned long long)i);
			exchanges++;
		} else {
			lost++;
		}
	}
	/* The server's answer to the last one is not needed, but a lost BYE would leave it waiting.
	 */
	for (int i = 0; i < 5 && ask(sock, BYE, i) == 0; i++)
		;
	printf("exchanges=%llu lost=%llu\n", (unsigned long long)exchanges,
	       (unsigned long long)lost);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	bool is_server = argc == 3 && !strcmp(argv[1], "server");
	bool is_client = argc == 5 && !strcmp(argv[1], "client");
	int marker, sock;

	open_standard();
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (!is_server && !is_client) {
		usage(stderr);
		return 2;
	}
	addr.sin_port =
		htons(number_arg("xvt-pingpong", "PORT", argv[is_server ? 2 : 3], 1, 65535));
	if (is_client && inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1) {
		fprintf(stderr, "xvt-pingpong: %s: not an IPv4 address\n", argv[2]);
		return 2;
	}
	marker = marker_open("xvt-pingpong");
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return fail("socket");
	if (is_server) {
		if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)))
			return fail("bind");
		return server(sock, marker);
	}
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		return fail("connect");
	return client(sock, marker, number_arg("xvt-pingpong", "COUNT", argv[4], 0, LLONG_MAX));
}
