// SPDX-License-Identifier: GPL-2.0
/* region.c - the region of a relay: see relay.h. */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ASK_LOOKS 200u /* of 1 ms: a writer answers a claim within some periods of its timer */

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "xvt-guest: relay: %s: %s\n", what, why);
	return -1;
}

char *relay_read_file(const char *path, size_t *len)
{
	size_t size = 64u << 10, at = 0;
	char *text = malloc(size + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (text && fd >= 0 && (n = read(fd, text + at, size - at)) > 0) {
		at += (size_t)n;
		if (at == size) {
			char *more = realloc(text, (size *= 2) + 1);

			if (!more)
				break;
			text = more;
		}
	}
	if (fd >= 0)
		close(fd);
	if (n) {
		free(text);
		return NULL;
	}
	text[at] = 0;
	if (len)
		*len = at;
	return text;
}

static bool is_number(const char *path, const char *text)
{
	char *is = relay_read_file(path, NULL);
	const bool same = is && !strcmp(is, text);

	free(is);
	return same;
}

/* The memory of the first ivshmem device. Its decoding is switched on: a driver would do that. */
static int find_device(char *path, size_t size)
{
	char file[300];
	glob_t found;
	int err = -1;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &found))
		return -1;
	for (size_t i = 0; i < found.gl_pathc && err; i++) {
		const char *dir = found.gl_pathv[i];
		int fd;

		snprintf(file, sizeof(file), "%s/vendor", dir);
		if (!is_number(file, "0x1af4\n"))
			continue;
		snprintf(file, sizeof(file), "%s/device", dir);
		if (!is_number(file, "0x1110\n"))
			continue;
		snprintf(path, size, "%s/resource2", dir);
		snprintf(file, sizeof(file), "%s/driver", dir);
		if (access(file, F_OK)) {
			snprintf(file, sizeof(file), "%s/enable", dir);
			fd = open(file, O_WRONLY | O_CLOEXEC);
			if (fd >= 0 && write(fd, "1", 1) == 1)
				err = 0;
			if (fd >= 0)
				close(fd);
		}
		/* Else the error is the mapping's, which knows why. */
		err = 0;
	}
	globfree(&found);
	return err;
}

static void read_boot_id(uint8_t uuid[16])
{
	char *text = relay_read_file("/proc/sys/kernel/random/boot_id", NULL), *p = text;
	unsigned int byte, n;

	memset(uuid, 0, 16);
	for (n = 0; p && n < 16 && sscanf(p, "%2x", &byte) == 1; p += 2 + (p[2] == '-'))
		uuid[n++] = (uint8_t)byte;
	free(text);
}

/* Another machine, or a boot before this one's, may write there: a claim tells. */
static bool has_rival(uint8_t *base, uint64_t size, const uint8_t uuid[16])
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint32_t claim = 0, i;

	if (!xvt_region_in_use(base, size, uuid))
		return false;
	if (getrandom(&claim, sizeof(claim), GRND_NONBLOCK) != sizeof(claim))
		claim = (uint32_t)xvt_clock_read();
	claim = xvt_claim_put(base, claim);
	for (i = 0; i < ASK_LOOKS && xvt_claim_stands(base, claim); i++)
		nanosleep(&nap, NULL);
	return !xvt_claim_stands(base, claim);
}

/* Is it a region of a relay with the same rings? Then its rings go on. */
static bool goes_on(struct relay_region *r, uint64_t size, uint32_t rings)
{
	struct xvt_region_hdr copy;
	struct xvt_fault fault;

	memcpy(&copy, r->base, sizeof(copy));
	return !xvt_check_header(&copy, size, &r->g, &fault) &&
	       copy.incompat == XVT_INCOMPAT_RELAYED && copy.ring_count == rings &&
	       copy.subbuf_size >= XVT_RELAYED_SUBBUF;
}

/* A recorder has the layout of another writer: it must end before that is replaced. */
static bool is_recorded(const uint8_t *base, uint64_t size)
{
	struct xvt_region_hdr copy;
	struct xvt_geometry g;
	struct xvt_fault fault;

	memcpy(&copy, base, sizeof(copy));
	return !xvt_check_header(&copy, size, &g, &fault) &&
	       xvt_load(&((const struct xvt_host_page *)(base + g.host_off))->attach_id);
}

static int begin(struct relay_region *r, const char *path, uint64_t size, uint32_t rings)
{
	char name[XVT_NAME_LEN] = "guest";
	struct xvt_layout layout = { .region_size = size & ~(uint64_t)(XVT_ALIGN_MIN - 1),
				     .ring_count = rings,
				     .kind = XVT_KIND_LINUX,
				     .incompat = XVT_INCOMPAT_RELAYED,
				     .clock_id = XVT_CLOCK_NATIVE,
				     .vm_name = name };
	uint8_t uuid[16];
	int err = 0;

	gethostname(name, sizeof(name) - 1);
	read_boot_id(uuid);
	if (has_rival(r->base, size, uuid))
		return complain(path, "another machine writes to it; give each machine a memory of "
				      "its own");
	if (!goes_on(r, size, rings)) {
		if (is_recorded(r->base, size))
			return complain(path, "it has the rings of another writer, and a recorder "
					      "reads them; end the recording, or record it again "
					      "later");
		err = xvt_region_format(r->base, &layout, &r->g);
		r->formatted = true;
	}
	if (!err && r->g.subbuf_size < XVT_RELAYED_SUBBUF) {
		layout.subbuf_size = XVT_RELAYED_SUBBUF;
		err = xvt_region_format(r->base, &layout, &r->g);
	}
	if (err)
		return complain(path, "it is too small: 128 KiB for each CPU, and 64 KiB");
	xvt_region_new_generation(r->base, &r->g, &layout, uuid);
	xvt_store(&((struct xvt_region_hdr *)r->base)->host_events,
		  (uint32_t)XVT_HOST_EVENTS_REFUSED);
	return 0;
}

static const char *why_no_map(const char *path, int err)
{
	const char *slash = strrchr(path, '/');
	char driver[400];

	if (err == EPERM && slash && !strncmp(slash, "/resource", 9))
		return "the kernel is locked down, and lets no program map a device";
	snprintf(driver, sizeof(driver), "%.*s/driver", slash ? (int)(slash - path) : 0, path);
	if (slash && !strncmp(slash, "/resource", 9) && !access(driver, F_OK))
		return "a driver has the device (the module xvtrace?), which then records by "
		       "itself";
	return strerror(err);
}

/*
 * Programs with libxvt lock bytes of the region, a relay all of them until its processes end. Such
 * locks do not meet those of recorders, by flock(). A file system without locks prevents nothing.
 */
static bool is_locked(int fd, uint64_t size)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = (off_t)size };

	return fcntl(fd, F_OFD_SETLK, &all) && (errno == EAGAIN || errno == EACCES);
}

int relay_region_open(struct relay_region *r, const char *spec, uint32_t rings)
{
	char path[300] = "";
	struct stat st;
	uint64_t size;

	if (spec)
		snprintf(path, sizeof(path), "%s", spec);
	else if (find_device(path, sizeof(path)))
		return complain("region", "no ivshmem device; name a file by --region, or have the "
					  "host plug one in: xvtrace attach");
	r->fd = open(path, O_RDWR | O_CLOEXEC);
	if (r->fd < 0 || fstat(r->fd, &st))
		return complain(path, why_no_map(path, errno));
	size = (uint64_t)st.st_size;
	if (size < XVT_ALIGN_MIN)
		return complain(path, "it is too small for a region");
	if (is_locked(r->fd, size))
		return complain(path, "another program writes there: a relay, or one with libxvt");
	r->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->base == MAP_FAILED)
		return complain(path, why_no_map(path, errno));
	return begin(r, path, size, rings);
}
