// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-setback.c - a writer whose clock is set back, as by a step of NTP that a guest's clock
 * follows. One ring, numbered events as fast as they fit; every EVERY_MS the clock, which is
 * CLOCK_MONOTONIC at first, is BACK_US less than before. The writer gives the region another
 * generation and writes from the recorder's start for MS milliseconds. Then it only answers clock
 * requests, until SIGTERM. Says when all is written, and at the end:
 *
 *   written
 *   recorded=N lost=N
 *
 *   xvt-setback REGION MS EVERY_MS BACK_US
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "join.h"
#include "xvt_region.h"

#define NS_MS	  1000000u
#define PAUSE_US  20
#define NS_SECOND 1000000000u

static struct xvt_writer writer;
static uint64_t back_ns;
static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t read_clock(void *arg)
{
	(void)arg;
	return now_ns() - back_ns;
}

static int join(const char *path)
{
	const struct xvt_layout layout = { .kind = XVT_KIND_USER,
					   .clock_id = XVT_CLOCK_CALLER,
					   .clock_hz = NS_SECOND };
	struct xvt_geometry g;

	return join_region(&writer, &g, open(path, O_RDWR), &layout, read_clock) ? 0 : -1;
}

/* The host's questions, and a moment's rest. */
static void attend(void)
{
	while (xvt_writer_answer(&writer) > 0)
		;
	xvt_writer_mark(&writer);
	usleep(PAUSE_US);
}

int main(int argc, char **argv)
{
	uint64_t begin_ns, end_ns, every_ns, step_ns, now, payload[2] = { 0 }, lost = 0;

	if (argc != 5 || join(argv[1])) {
		fprintf(stderr, "usage: xvt-setback REGION MS EVERY_MS BACK_US\n");
		return 2;
	}
	every_ns = strtoull(argv[3], NULL, 0) * NS_MS;
	step_ns = strtoull(argv[4], NULL, 0) * 1000;
	signal(SIGTERM, end);
	while (!ended && !xvt_load(&writer.host->enable))
		attend();
	begin_ns = now_ns();
	end_ns = begin_ns + strtoull(argv[2], NULL, 0) * NS_MS;
	while (!ended && (now = now_ns()) < end_ns) {
		back_ns = (now - begin_ns) / every_ns * step_ns;
		if (xvt_write(&writer, XVT_ID_U64, payload, sizeof(payload)))
			lost++;
		else
			payload[1]++;
		attend();
	}
	puts("written");
	fflush(stdout);
	while (!ended)
		attend();
	printf("recorded=%" PRIu64 " lost=%" PRIu64 "\n", payload[1], lost);
	return 0;
}
