// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-watch.c - a second witness of the times of a guest's events, and what stops the guest. It
 * looks at the rings about once a millisecond, also where the recorder of the same region has no
 * CPU. Times are ns of CLOCK_MONOTONIC:
 *
 *   look CPU AFTER BEFORE STAMP    an event of this ring with a clock of STAMP or less was stamped
 *                                  before BEFORE, one with a larger clock after AFTER (0: unknown)
 *   stopped FROM TO                QEMU said that the machine stood still from FROM to TO
 *
 * STAMP is the largest before_stamp of the ring so far. The first holds because it is a value that
 * the vCPU's clock had had by BEFORE. The second holds because the ring was idle (nest == 0, commit
 * == resv) at some moment after AFTER, and before_stamp was that of its newest event then, or
 * became larger: write_stamp can be of an older event, which others interrupted. Where memory went
 * back, as by loadvm or a migration's copy, it may be smaller, and then AFTER is unknown. Both
 * presume that no vCPU's clock goes back.
 *
 *   xvt-watch REGION QMP MS [GAP:LENGTH]...
 *   xvt-watch REGION - MS
 *
 * GAP ms after its begin, or after the stop before, it stops the machine for LENGTH ms, through the
 * QMP socket. When an event has come after the last stop, it looks for MS more, or until SIGTERM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/region.h"

#define RINGS_MAX 64

static struct xvt_host_region region;
static int qmp;
static FILE *qmp_says;
static volatile sig_atomic_t ended;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "xvt-watch: %s: %s\n", what, why);
	exit(1);
}

static void stop_looking(int sig)
{
	(void)sig;
	ended = 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* -- QMP ---------------------------------------------------------------------------- */

/* Returns when QEMU has done it. */
static void command(const char *name)
{
	char line[4096];

	if (dprintf(qmp, "{\"execute\":\"%s\"}\n", name) < 0)
		die(name, strerror(errno));
	while (fgets(line, sizeof(line), qmp_says)) {
		if (strstr(line, "\"error\""))
			die(name, line);
		if (strstr(line, "\"return\""))
			return;
	}
	die(name, "QEMU has ended");
}

static void connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char greeting[4096];

	if (strlen(path) >= sizeof(addr.sun_path))
		die(path, strerror(ENAMETOOLONG));
	strcpy(addr.sun_path, path);
	qmp = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (qmp < 0 || connect(qmp, (struct sockaddr *)&addr, sizeof(addr)))
		die(path, strerror(errno));
	qmp_says = fdopen(qmp, "r");
	if (!qmp_says || !fgets(greeting, sizeof(greeting), qmp_says))
		die(path, "no QMP");
	command("qmp_capabilities");
}

/* -- the rings ---------------------------------------------------------------------- */

static uint64_t largest[RINGS_MAX]; /* before_stamp */

static void look_at(uint32_t ring)
{
	const struct xvt_ring_ctl *c = xvt_host_ring_ctl(&region, ring);
	struct xvt_ring_words words;
	uint64_t after = now_ns(), stamp;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	xvt_ring_words(c, &region.g, &words);
	stamp = xvt_load_acquire(&c->before_stamp);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (words.state != XVT_RING_ONLINE || !stamp)
		return;
	if (stamp > largest[ring])
		largest[ring] = stamp;
	if (words.nest || words.commit != words.resv || stamp < largest[ring])
		after = 0;
	printf("look %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", xvt_load(&c->cpu), after, now_ns(),
	       largest[ring]);
}

static void look(void)
{
	uint32_t ring;

	for (ring = 0; ring < region.g.ring_count; ring++)
		look_at(ring);
}

static void look_until(uint64_t ns)
{
	const struct timespec rest = { 0, 1000000 };

	look();
	while (!ended && now_ns() < ns) {
		nanosleep(&rest, NULL);
		look();
	}
}

/* The recorder may have switched its rings on after the stop only. */
static void look_until_written(void)
{
	const uint64_t end = now_ns() + 60 * UINT64_C(1000000000);
	uint64_t was[RINGS_MAX];

	memcpy(was, largest, sizeof(was));
	while (!ended && !memcmp(was, largest, sizeof(was))) {
		if (now_ns() > end)
			die("the rings", "no event within a minute");
		look_until(now_ns() + 1000000);
	}
}

/* -- the plan ----------------------------------------------------------------------- */

static void stop_for(uint64_t ms)
{
	uint64_t from, to;

	command("stop");
	from = now_ns();
	look_until(from + ms * 1000000);
	to = now_ns();
	command("cont");
	printf("stopped %" PRIu64 " %" PRIu64 "\n", from, to);
}

int main(int argc, char **argv)
{
	int err, i;

	if (argc < 4) {
		fprintf(stderr, "usage: xvt-watch REGION QMP MS [GAP:LENGTH]...\n");
		return 2;
	}
	err = xvt_host_region_open(&region, argv[1], false);
	if (!err)
		err = xvt_host_region_check(&region);
	if (err)
		die(argv[1], strerror(-err));
	if (region.g.ring_count > RINGS_MAX)
		die(argv[1], "too many rings");
	if (strcmp(argv[2], "-") || argc > 4)
		connect_to(argv[2]);
	signal(SIGTERM, stop_looking);
	for (i = 4; i < argc; i++) {
		unsigned int gap, length;

		if (sscanf(argv[i], "%u:%u", &gap, &length) != 2)
			die(argv[i], "no GAP:LENGTH");
		look_until(now_ns() + gap * UINT64_C(1000000));
		stop_for(length);
	}
	look_until_written();
	look_until(now_ns() + strtoull(argv[3], NULL, 10) * 1000000);
	if (qmp_says)
		fclose(qmp_says);
	xvt_host_region_close(&region);
	return fflush(stdout) ? 1 : 0;
}
