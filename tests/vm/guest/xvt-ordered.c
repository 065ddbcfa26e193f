// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-ordered.c - a writer in a guest that has no module: it maps the memory of the guest's
 * ivshmem device and writes one ring. It reads its clock ordered at each event, and says so
 * (XVT_CLOCK_T_ORDERED), so its bounds have 100 ns for the stamp and not 2 us.
 *
 *   xvt-ordered RESOURCE PAUSE_US     an event, then a look into the mailbox, then a pause; until
 *                                     it is ended
 *
 * RESOURCE is the device's resource2 in sysfs. The payload is the event's number.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "xvt_region.h"

#define STAY_TICKS 500000 /* for the next request of a burst: 200 us or so */

static uint64_t ordered(void *arg)
{
	(void)arg;
	return xvt_clock_read_ordered();
}

static void look(struct xvt_writer *w)
{
	uint64_t begin = xvt_clock_read();

	do {
		xvt_writer_mark(w);
		if (xvt_writer_answer(w) >= 0)
			begin = xvt_clock_read();
	} while (xvt_load(&w->host->request_more) && xvt_clock_read() - begin < STAY_TICKS);
}

static void *map(const char *path, uint64_t *size)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	void *base;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	*size = (uint64_t)st.st_size;
	base = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return base == MAP_FAILED ? NULL : base;
}

static int begin(struct xvt_writer *w, void *base, uint64_t size)
{
	const uint64_t uuid[2] = { xvt_clock_read_ordered(), (uint64_t)getpid() };
	const struct xvt_layout layout = { .region_size = size,
					   .ring_count = 1,
					   .kind = XVT_KIND_USER,
					   .clock_id = XVT_CLOCK_TSC,
					   .enable = XVT_ENABLE_OFF,
					   .vm_name = "ordered" };
	struct xvt_geometry g;
	const int err = xvt_region_format(base, &layout, &g);

	if (err)
		return err;
	xvt_region_new_generation(base, &g, &layout, (const uint8_t *)uuid);
	xvt_writer_init(w, base, &g, 0);
	w->clock = ordered;
	xvt_store(&w->ctl->type, XVT_RING_THREAD);
	xvt_store(&w->ctl->pid, (uint32_t)getpid());
	xvt_store(&w->ctl->tid, (uint32_t)getpid());
	xvt_store(&w->ctl->clock_id, XVT_CLOCK_TSC);
	xvt_store(&w->ctl->clock_traits, XVT_CLOCK_T_ORDERED);
	xvt_store_release(&w->ctl->state, XVT_RING_ONLINE);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t size, number[2] = { 0, 0 };
	struct xvt_writer w;
	void *base;
	int err;

	if (argc != 3)
		return 2;
	base = map(argv[1], &size);
	if (!base) {
		perror(argv[1]);
		return 1;
	}
	err = begin(&w, base, size);
	if (err) {
		fprintf(stderr, "xvt-ordered: %s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	printf("XVT-SAY flowing\n");
	fflush(stdout);
	for (;; number[0]++) {
		(void)xvt_write(&w, XVT_ID_U64, number, sizeof(number));
		look(&w);
		usleep((unsigned int)atoi(argv[2]));
	}
}
