// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-clock.c - what a program on the host does to read a vCPU's time: map the file that the
 * recorder made, look at its version, read. An example, and the tests' eye.
 *
 *	xvt-clock DIR/NAME.RING [COUNT]	reads COUNT times (default 1), prints the last
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xvt_clock_page.h"

static const struct xvt_clock_file *map_file(const char *path)
{
	const struct xvt_clock_file *f;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size < sizeof(*f))
		return NULL;
	f = mmap(NULL, sizeof(*f), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (f == MAP_FAILED)
		return NULL;
	/* Acquire: pairs with the recorder's store of magic, after everything else. */
	if (xvt_load_acquire(&f->magic) != XVT_CLOCK_FILE_MAGIC || f->major != XVT_CLOCK_FILE_MAJOR)
		return NULL;
	return f;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 1, i, back = 0;
	const struct xvt_clock_file *f = argc > 1 ? map_file(argv[1]) : NULL;
	struct xvt_clock_now now = { 0 }, last = { 0 };
	struct xvt_clock_now guest = { 0 };
	int err = -ENODATA;

	if (!f) {
		fprintf(stderr, "usage: xvt-clock FILE [COUNT]; FILE is made by xvtrace record "
				"--clock-page\n");
		return 2;
	}
	for (i = 0; i < count; i++) {
		err = xvt_clock_page_read(&f->host, NULL, NULL, &now);
		if (err)
			continue;
		back += now.session == last.session &&
			(now.host_ns < last.host_ns || now.active_ns < last.active_ns);
		last = now;
	}
	if (err) {
		fprintf(stderr, "xvt-clock: %s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	/* What the ring's own clock shows now, if it is this machine's: a program's, not a VM's. */
	xvt_clock_page_at(&f->guest, now.clock, &guest);
	printf("host_ns=%llu active_ns=%llu active=%d closed=%d back=%llu age_ns=%llu session=%llu "
	       "guest_host_ns=%llu guest_bound_ns=%llu confirmed=%d\n",
	       (unsigned long long)now.host_ns, (unsigned long long)now.active_ns,
	       !!(now.flags & XVT_CLOCK_F_ACTIVE), !!(now.flags & XVT_CLOCK_F_CLOSED),
	       (unsigned long long)back, (unsigned long long)now.age_ns,
	       (unsigned long long)now.session, (unsigned long long)guest.host_ns,
	       (unsigned long long)guest.bound_ns, !(guest.flags & XVT_CLOCK_F_UNCONFIRMED));
	return 0;
}
