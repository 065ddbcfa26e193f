// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-many.c - makes regions with a writer that gives no event, as a user does who wants a large
 * share of the recorder.
 *   xvt-many FOLDER NAME COUNT [answer | write]
 * Files FOLDER/xvtrace-NAME0, ... of 512 KiB with two rings. answer: each ring answers questions
 * for its clock. write: each has an event a second, too. Says "made", and goes on until it is
 * killed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "xvt_region.h"
#include "xvt_writer.h"

#define SIZE  (512u << 10)
#define RINGS 2u

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void make(const char *folder, const char *name, unsigned int number,
		 struct xvt_writer writers[RINGS])
{
	struct xvt_layout layout = { .region_size = SIZE,
				     .ring_count = RINGS,
				     .align = 4096,
				     .kind = XVT_KIND_USER,
				     .clock_id = XVT_CLOCK_TSC,
				     .vm_name = "many" };
	struct xvt_geometry g;
	char path[4096], uuid[17];
	unsigned int r;
	uint8_t *p;
	int fd;

	snprintf(path, sizeof(path), "%s/xvtrace-%s%u", folder, name, number);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
	must(fd >= 0 && !ftruncate(fd, SIZE), path);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(p != MAP_FAILED && !xvt_region_format(p, &layout, &g), path);
	close(fd); /* the mapping is the writer */
	snprintf(uuid, sizeof(uuid), "%016u", number);
	xvt_region_new_generation(p, &g, &layout, (const uint8_t *)uuid);
	for (r = 0; r < RINGS; r++) {
		xvt_writer_init(&writers[r], p, &g, r);
		xvt_store(&writers[r].ctl->type, XVT_RING_VCPU);
		xvt_store(&writers[r].ctl->state, XVT_RING_ONLINE);
	}
}

int main(int argc, char **argv)
{
	const unsigned int n = argc > 3 ? (unsigned int)atoi(argv[3]) : 0;
	const bool answers = argc > 4, writes = answers && !strcmp(argv[4], "write");
	struct xvt_writer *w = calloc((size_t)n * RINGS + 1, sizeof(*w));
	const uint64_t value = 1;
	time_t second = 0;
	unsigned int i;

	must(n && w, "xvt-many FOLDER NAME COUNT");
	umask(0);
	for (i = 0; i < n; i++)
		make(argv[1], argv[2], i, &w[i * RINGS]);
	puts("made");
	fflush(stdout);
	for (;;) {
		const bool now = writes && time(NULL) != second;

		second = time(NULL);
		for (i = 0; answers && i < n * RINGS; i++) {
			xvt_writer_answer(&w[i]);
			if (now)
				xvt_write(&w[i], XVT_ID_FIRST_EVENT, &value, sizeof(value));
		}
		usleep(answers ? 1000 : 1000000);
	}
}
