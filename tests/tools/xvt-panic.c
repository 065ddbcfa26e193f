// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-panic.c - a guest of one ring whose kernel panics when a test says so. It does what each line
 * of its input says, and answers with that line:
 *
 *   boot         begins another generation, and answers the host's questions from then on
 *   events N     records N numbers
 *   panic TEXT   records the panic and counts it in the region's header, as xvt_panic.c does
 *   lost         only counts it, as where its ring had no room
 *   die          answers no question any more
 *
 *   xvt-panic REGION
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "join.h"
#include "xvt_writer.h"

static struct {
	struct xvt_writer w;
	struct xvt_region_hdr *h;
	bool dead;
} s;

static int boot(const char *path)
{
	const struct xvt_layout layout = { .kind = XVT_KIND_LINUX, .clock_id = XVT_CLOCK_NATIVE };
	const int fd = open(path, O_RDWR);
	struct xvt_geometry g;

	if (s.h)
		munmap(s.h, (size_t)s.h->region_size);
	s.h = (struct xvt_region_hdr *)join_region(&s.w, &g, fd, &layout, NULL);
	s.dead = false;
	if (fd >= 0)
		close(fd);
	return s.h ? 0 : -1;
}

static void count(void)
{
	xvt_store_release(&s.h->panics, xvt_load(&s.h->panics) + 1);
}

static int act(const char *path, const char *line)
{
	uint64_t n, i;

	if (!strcmp(line, "boot"))
		return boot(path);
	if (!strncmp(line, "events ", 7)) {
		n = strtoull(line + 7, NULL, 0);
		for (i = 0; i < n; i++)
			xvt_write(&s.w, XVT_ID_U64, &i, sizeof(i));
	} else if (!strncmp(line, "panic ", 6)) {
		xvt_write(&s.w, XVT_ID_PANIC, line + 6, (uint32_t)strlen(line + 6));
		count();
	} else if (!strcmp(line, "lost")) {
		count();
	} else if (!strcmp(line, "die")) {
		s.dead = true;
	} else {
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct pollfd in = { .events = POLLIN };
	char line[1024];

	if (argc != 2 || boot(argv[1])) {
		fprintf(stderr, "usage: xvt-panic REGION\n");
		return 2;
	}
	setvbuf(stdin, NULL, _IONBF, 0);
	for (;;) {
		while (!s.dead && xvt_writer_answer(&s.w) > 0)
			;
		if (!poll(&in, 1, 1))
			continue;
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		line[strcspn(line, "\n")] = '\0';
		if (act(argv[1], line))
			return 1;
		puts(line);
		fflush(stdout);
	}
}
