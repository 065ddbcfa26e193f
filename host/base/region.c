// SPDX-License-Identifier: GPL-2.0
/* region.c - open, map and check a region; survive a file that shrinks under its mapping. This file
 * has no knowledge of virtual machines or of the rings' readers. */
#define _GNU_SOURCE
#include "base/region.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"

/* Addresses, sizes and flags of the mapped regions, for the SIGBUS handler. */
#define MAPPED_MAX 4096
static struct mapped {
	uintptr_t start;
	size_t size;
	uint32_t *gone;
} mapped[MAPPED_MAX];

static struct sigaction old_action;

/* Handles an access past the end of a truncated file: maps anonymous zeros over the whole mapping
 * and sets `gone`. The interrupted access then reads 0, which no check accepts as valid data. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr;
	size_t i;

	(void)context;
	/* A signal sent by a process (si_code <= 0) has no address. */
	for (i = 0; info->si_code > 0 && i < MAPPED_MAX; i++) {
		struct mapped *m = &mapped[i];

		if (!m->size || addr < m->start || addr - m->start >= m->size)
			continue;
		if (mmap((void *)m->start, m->size, PROT_READ | PROT_WRITE,
			 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
		__atomic_store_n(m->gone, 1, __ATOMIC_RELEASE);
		return;
	}
	/* The address is in no region: restore the default action and raise the signal again. */
	sigaction(SIGBUS, &old_action, NULL);
	raise(sig);
}

static int watch_mapping(struct xvt_host_region *r)
{
	static bool installed;
	size_t i;

	if (!installed) {
		struct sigaction sa = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

		sigemptyset(&sa.sa_mask);
		if (sigaction(SIGBUS, &sa, &old_action))
			return -errno;
		installed = true;
	}
	for (i = 0; i < MAPPED_MAX; i++) {
		if (mapped[i].size)
			continue;
		mapped[i].start = (uintptr_t)r->map;
		mapped[i].gone = &r->gone;
		__atomic_signal_fence(__ATOMIC_RELEASE); /* size last: the handler tests it */
		mapped[i].size = r->size;
		return 0;
	}
	return -EMFILE;
}

static void forget_mapping(const struct xvt_host_region *r)
{
	size_t i;

	for (i = 0; i < MAPPED_MAX; i++) {
		if (mapped[i].start == (uintptr_t)r->map)
			mapped[i].size = 0;
	}
}

static int open_as(struct xvt_host_region *r, const char *path, bool writable, int share)
{
	struct stat st;
	int err;

	memset(r, 0, sizeof(*r));
	/* Without O_NONBLOCK, open() of a FIFO would wait for a writer. */
	r->fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0)
		return errno == ENXIO ? -EMEDIUMTYPE : -errno; /* a socket */
	if (fstat(r->fd, &st)) {
		err = -errno;
		goto err_close;
	}
	err = -EISDIR;
	if (S_ISDIR(st.st_mode))
		goto err_close;
	err = -EMEDIUMTYPE;
	if (!S_ISREG(st.st_mode))
		goto err_close;
	err = -ENODATA;
	if (st.st_size < (off_t)XVT_ALIGN_MIN)
		goto err_close;
	r->size = (uint64_t)st.st_size;
	r->map = mmap(NULL, r->size, PROT_READ | (writable ? PROT_WRITE : 0), share, r->fd, 0);
	if (r->map == MAP_FAILED) {
		err = -errno;
		goto err_close;
	}
	err = watch_mapping(r);
	if (err)
		goto err_unmap;
	return 0;

err_unmap:
	munmap(r->map, r->size);
err_close:
	close(r->fd);
	r->fd = -1;
	r->map = NULL;
	return err;
}

int xvt_host_region_open(struct xvt_host_region *r, const char *path, bool writable)
{
	/* Private when read-only: no write of salvage may reach the file. */
	return open_as(r, path, writable, writable ? MAP_SHARED : MAP_PRIVATE);
}

int xvt_host_region_watch(struct xvt_host_region *r, const char *path)
{
	return open_as(r, path, false, MAP_SHARED);
}

int xvt_host_region_own(struct xvt_host_region *r, uint64_t size)
{
	int err = 0;

	memset(r, 0, sizeof(*r));
	r->fd = memfd_create("xvtrace-own", MFD_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	r->size = size;
	if (ftruncate(r->fd, (off_t)size))
		err = -errno;
	r->map = err ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->map != MAP_FAILED)
		return 0;
	err = err ? err : -errno;
	close(r->fd);
	r->fd = -1;
	r->map = NULL;
	return err;
}

const char *xvt_host_region_open_why(int err)
{
	if (err == -EACCES)
		return "Permission denied; be root, or the user or group of its QEMU (ls -l)";
	if (err == -ENODATA)
		return "the file is empty or far too small";
	if (err == -EMEDIUMTYPE)
		return "is not a regular file; a region is one, like those in /dev/shm";
	return strerror(-err);
}

int xvt_host_region_check(struct xvt_host_region *r)
{
	struct xvt_region_hdr copy;
	const uint64_t *from = (const uint64_t *)r->map;
	uint64_t words[sizeof(copy) / 8];
	size_t i;

	/* Magic first, with acquire: pairs with the release that ends xvt_region_format(). */
	words[0] = xvt_load_acquire(&from[0]);
	for (i = 1; i < sizeof(copy) / 8; i++)
		words[i] = xvt_load(&from[i]);
	memcpy(&copy, words, sizeof(copy));
	r->hdr = copy;
	r->hdr.vm_name[sizeof(r->hdr.vm_name) - 1] = 0; /* for printing */
	if (xvt_host_region_gone(r)) {
		r->fault = (struct xvt_fault){ "size", "the file was truncated", 0 };
		return -ENODATA;
	}
	return xvt_check_header(&copy, r->size, &r->g, &r->fault);
}

const char *xvt_host_region_way(uint32_t kind)
{
	switch (kind) {
	case XVT_KIND_LINUX:
		return "module";
	case XVT_KIND_USER:
		return "libxvt";
	case XVT_KIND_BARE:
		return "bare";
	default:
		return NULL;
	}
}

const char *xvt_host_region_dir(void)
{
	const char *dir = getenv("XVTRACE_SHM_DIR");

	return dir && *dir ? dir : "/dev/shm";
}

int xvt_host_region_claim(struct xvt_host_region *r, unsigned int wait_ms)
{
	/* A file system without locks does not prevent a recording. (Owners of rings in user space
	 * lock bytes by fcntl(); flock() does not interact with those locks.) */
	return xvt_lock_take(r->fd, wait_ms) == -EBUSY ? -EBUSY : 0;
}

uint32_t xvt_host_region_ask(struct xvt_host_region *r, const char *line, size_t len)
{
	struct xvt_host_page *page = xvt_host_region_page(r);
	uint32_t seq = xvt_load(&page->request_seq) + 1;

	if (!seq)
		seq = 1;
	memcpy(page->request, line, len);
	xvt_store(&page->request_len, (uint32_t)len);
	xvt_store_release(&page->request_seq, seq); /* pairs with the guest's poll */
	return seq;
}

const char *xvt_host_region_refusal(int32_t result)
{
	if (result == -EPERM)
		return "its owner does not allow the host to choose events: host_events=yes in "
		       "/etc/xvtrace/guest.conf of the guest, or modprobe xvtrace host_control=1";
	if (result == -ENOENT || result == -EINVAL)
		return "its kernel has no such event";
	return result < 0 && result > -4096 ? strerror(-result) : "unknown error";
}

int xvt_host_region_readable(const struct xvt_host_region *r)
{
	uint64_t word;
	const ssize_t n = pread(r->fd, &word, sizeof(word), 0);

	return n == sizeof(word) ? 0 : n < 0 ? -errno : -ENODATA;
}

bool xvt_host_region_shrank(struct xvt_host_region *r)
{
	struct stat st;

	if (!fstat(r->fd, &st) && (uint64_t)st.st_size < r->size)
		__atomic_store_n(&r->gone, 1, __ATOMIC_RELEASE);
	return xvt_host_region_gone(r);
}

void xvt_host_region_close(struct xvt_host_region *r)
{
	if (!r->map)
		return;
	forget_mapping(r);
	munmap(r->map, r->size);
	close(r->fd);
	r->map = NULL;
	r->fd = -1;
}

void xvt_fault_text(const struct xvt_fault *fault, char *text, size_t size)
{
	/* What another program has there is no number to a user. */
	if (!strcmp(fault->field, "magic") && fault->value) {
		snprintf(text, size,
			 "%s: it begins with 0x%016" PRIx64 ", and is another program's",
			 fault->why, fault->value);
		return;
	}
	snprintf(text, size, "%s = %" PRIu64 " (0x%" PRIx64 "): %s", fault->field, fault->value,
		 fault->value, fault->why);
}
