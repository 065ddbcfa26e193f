// SPDX-License-Identifier: GPL-2.0
/* plug.c - see plug.h. */
#include "cli/plug.h"

#include <poll.h>
#include <stddef.h>
#include <time.h>

#define LOOK_MS 50 /* between two looks; nothing tells when a guest has formatted its region */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool xvt_plug_wait(bool (*done)(void *arg), void *arg, uint64_t timeout_ns)
{
	const uint64_t start = now_ns();

	while (!done(arg)) {
		if (now_ns() - start >= timeout_ns)
			return false;
		poll(NULL, 0, LOOK_MS);
	}
	return true;
}
