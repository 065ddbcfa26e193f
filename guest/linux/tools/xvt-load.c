// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-load.c - a workload whose events come from all contexts and nest: processes that come
 * and go, timers (hard interrupts), UDP over loopback (soft interrupts), markers.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "marker.h"

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "xvt-load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long load_fork(double until, int marker)
{
	long n = 0;

	(void)marker;
	for (; now_s() < until; n++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return n;
}

static long load_timer(double until, int marker)
{
	struct itimerspec every = { { 0, 500000 }, { 0, 500000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	long n = 0;

	if (fd < 0 || timerfd_settime(fd, 0, &every, NULL))
		die("timerfd");
	for (; now_s() < until; n++) {
		struct timespec nap = { 0, 100000 };
		uint64_t expired;

		if (read(fd, &expired, sizeof(expired)) < 0)
			die("timerfd");
		nanosleep(&nap, NULL);
		if (n % 16 == 0)
			marker_write(marker, "xvt-load timer %ld", n);
	}
	return n;
}

static long load_net(double until, int marker)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	char data[256] = "xvt-load";
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	long n = 0;

	/* To itself: the receipt is done by a soft interrupt during the send. */
	if (sock < 0 || bind(sock, (struct sockaddr *)&addr, len) ||
	    getsockname(sock, (struct sockaddr *)&addr, &len) ||
	    connect(sock, (struct sockaddr *)&addr, len))
		die("loopback socket");
	for (; now_s() < until; n++) {
		if (send(sock, data, sizeof(data), 0) < 0)
			die("send over loopback (is lo up?)");
		if (recv(sock, data, sizeof(data), 0) < 0)
			die("recv");
		if (n % 64 == 0)
			marker_write(marker, "xvt-load net %ld", n);
	}
	return n;
}

static const struct {
	const char *name;
	long (*run)(double until, int marker);
} loads[] = { { "fork", load_fork }, { "timer", load_timer }, { "net", load_net } };

#define LOADS ((int)(sizeof(loads) / sizeof(loads[0])))

int main(int argc, char **argv)
{
	int marker, failed = 0;
	double until;
	pid_t pids[LOADS];

	open_standard();
	if (argc != 2 || !strcmp(argv[1], "--help")) {
		fputs("usage: xvt-load SECONDS\n"
		      "  processes, timers, loopback network and trace markers for so long\n",
		      argc == 2 ? stdout : stderr);
		return argc == 2 ? 0 : 2;
	}
	until = now_s() + number_arg("xvt-load", "SECONDS", argv[1], 0, 1000000);
	marker = marker_open("xvt-load");
	for (int i = 0; i < LOADS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork");
		if (!pids[i]) {
			/* A single write, so that the lines of the three do not mix. */
			dprintf(1, "%s=%ld\n", loads[i].name, loads[i].run(until, marker));
			_exit(0);
		}
	}
	for (int i = 0; i < LOADS; i++) {
		int status;

		if (waitpid(pids[i], &status, 0) < 0 || status)
			failed = 1;
	}
	return failed;
}
