// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-stopped.c - a writer that is stopped in the middle of an event, at exactly the place that a
 * test wants. One ring, an event a millisecond, numbered; event STOP_AT raises SIGSTOP from within:
 *
 *   clock   it has read its clock and reserved nothing yet
 *   commit  it has reserved, and published nothing yet
 *
 * Continued, it finishes that event with the time that it had read, and goes on. When it has
 * written COUNT it only answers clock requests, until SIGTERM. Says at the end between which two
 * moments of CLOCK_MONOTONIC it read the stopped event's clock, and when it had been continued:
 *
 *   before_ns=N after_ns=N continued_ns=N recorded=N
 *
 *   xvt-stopped REGION clock|commit STOP_AT COUNT
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "join.h"
#include "xvt_region.h"

static struct {
	struct xvt_writer w;
	bool in_clock; /* the next clock read is the one to be stopped at */
	uint64_t before_ns, after_ns, continued_ns;
} s;

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
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void be_stopped(void)
{
	printf("before_ns=%" PRIu64 " after_ns=%" PRIu64 "\n", s.before_ns, s.after_ns);
	fflush(stdout);
	raise(SIGSTOP);
	s.continued_ns = now_ns();
}

static uint64_t read_clock(void *arg)
{
	uint64_t clock;

	(void)arg;
	if (!s.in_clock)
		return xvt_clock_read_ordered();
	s.in_clock = false;
	s.before_ns = now_ns();
	clock = xvt_clock_read_ordered();
	s.after_ns = now_ns();
	be_stopped();
	return clock;
}

static int join(const char *path)
{
	const struct xvt_layout layout = { .kind = XVT_KIND_USER, .clock_id = XVT_CLOCK_NATIVE };
	struct xvt_geometry g;

	return join_region(&s.w, &g, open(path, O_RDWR), &layout, read_clock) ? 0 : -1;
}

/* The host's questions, and a millisecond's rest. */
static void attend(void)
{
	while (xvt_writer_answer(&s.w) > 0)
		;
	xvt_writer_mark(&s.w);
	usleep(1000);
}

/* Returns whether it was recorded. */
static bool stopped_event(const char *where, const uint64_t payload[2])
{
	struct xvt_slot slot;

	if (!strcmp(where, "clock")) {
		s.in_clock = true;
		return !xvt_write(&s.w, XVT_ID_U64, payload, 16);
	}
	s.before_ns = now_ns();
	if (xvt_reserve(&s.w, XVT_ID_U64, 16, &slot))
		return false;
	s.after_ns = now_ns();
	memcpy(slot.payload, payload, 16);
	be_stopped();
	xvt_commit(&s.w, &slot);
	return true;
}

int main(int argc, char **argv)
{
	uint64_t stop_at, count, recorded = 0, payload[2] = { 0 };

	if (argc != 5 || join(argv[1])) {
		fprintf(stderr, "usage: xvt-stopped REGION clock|commit STOP_AT COUNT\n");
		return 2;
	}
	stop_at = strtoull(argv[3], NULL, 0);
	count = strtoull(argv[4], NULL, 0);
	signal(SIGTERM, end);
	while (!ended && !xvt_load(&s.w.host->enable))
		attend();
	for (; !ended && payload[1] < count; payload[1]++) {
		if (payload[1] == stop_at)
			recorded += stopped_event(argv[2], payload);
		else
			recorded += !xvt_write(&s.w, XVT_ID_U64, payload, 16);
		attend();
	}
	while (!ended)
		attend();
	printf("continued_ns=%" PRIu64 " recorded=%" PRIu64 "\n", s.continued_ns, recorded);
	return 0;
}
