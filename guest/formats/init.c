// SPDX-License-Identifier: GPL-2.0
/*
 * init.c - the only program of a guest that `xvtrace formats --kernel` boots. It writes what the
 * kernel says of its events into the memory of an ivshmem device, as a tar archive, and ends the
 * machine. It loads no module: all events are the kernel's own.
 *
 * The memory begins with a word that says how it ended, and the length of the archive or of a
 * message, which is at XVT_INIT_DATA. host/formats/boot.c reads it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "xvt_init.h"

#define BLOCK	512u
#define TRACING "/sys/kernel/tracing"
#define DEVICES "/sys/bus/pci/devices"

static struct xvt_init_head *head;
static uint8_t *data;
static size_t room, used;

static void end(uint64_t how, size_t len)
{
	if (head) {
		head->len = len;
		__atomic_store_n(&head->how, how, __ATOMIC_RELEASE);
	}
	sync();
	reboot(RB_AUTOBOOT);
	_exit(1);
}

/* The kernel's console shows it, too. */
static void fail(const char *format, ...)
{
	char text[256];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("xvtrace: %s\n", text);
	fflush(stdout);
	len = len < (int)sizeof(text) ? len : (int)sizeof(text) - 1;
	if (head)
		memcpy(data, text, (size_t)len);
	end(XVT_INIT_FAILED, (size_t)len);
}

/* --- the device --- */

static bool says(const char *device, const char *file, const char *expected)
{
	char path[512], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", device, file);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strncmp(text, expected, strlen(expected)) == 0;
}

static void map_device(const char *device)
{
	char path[512];
	struct stat st;
	void *map;
	int fd;

	snprintf(path, sizeof(path), DEVICES "/%s/enable", device);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "1", 1) != 1)
		fail("cannot enable the ivshmem device: %s", strerror(errno));
	close(fd);
	snprintf(path, sizeof(path), DEVICES "/%s/resource2", device);
	fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &st))
		fail("cannot open the memory of the ivshmem device: %s", strerror(errno));
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		fail("cannot map the memory of the ivshmem device: %s", strerror(errno));
	close(fd);
	head = map;
	data = (uint8_t *)map + XVT_INIT_DATA;
	room = (size_t)st.st_size - XVT_INIT_DATA;
}

static void find_device(void)
{
	DIR *dir = opendir(DEVICES);
	struct dirent *e;

	while (dir && !head && (e = readdir(dir))) {
		if (says(e->d_name, "vendor", "0x1af4") && says(e->d_name, "device", "0x1110"))
			map_device(e->d_name);
	}
	if (dir)
		closedir(dir);
	if (!head)
		fail("the kernel does not see the ivshmem device: it needs PCI");
}

/* --- the archive --- */

static void add(const char *path, const uint8_t *bytes, size_t len)
{
	const size_t whole = BLOCK + (len + BLOCK - 1) / BLOCK * BLOCK;
	char *h = (char *)data + used;
	unsigned int sum = 0, i;

	if (room - used < whole + 2 * BLOCK || strlen(path) >= 256)
		fail("%s: there is no room for it", path);
	memset(h, 0, whole);
	if (strlen(path) < 100) {
		memcpy(h, path, strlen(path));
	} else { /* the folders of a long one have a place of their own */
		const char *slash = strchr(path + strlen(path) - 99, '/');

		if (!slash)
			fail("%s: its name is too long", path);
		memcpy(h + 345, path, (size_t)(slash - path));
		memcpy(h, slash + 1, strlen(slash + 1));
	}
	snprintf(h + 100, 8, "0000644");
	snprintf(h + 124, 12, "%011o", (unsigned int)len);
	h[156] = '0';
	memcpy(h + 257, "ustar\00000", 8);
	memset(h + 148, ' ', 8);
	for (i = 0; i < BLOCK; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	memcpy(h + BLOCK, bytes, len);
	used += whole;
}

/* Returns whether there is such a file. */
static bool add_file(const char *from, const char *path)
{
	static uint8_t bytes[1 << 20];
	size_t len = 0;
	ssize_t n = 0;
	const int fd = open(from, O_RDONLY);

	if (fd < 0)
		return false;
	while (len < sizeof(bytes) && (n = read(fd, bytes + len, sizeof(bytes) - len)) > 0)
		len += (size_t)n;
	close(fd);
	if (n < 0)
		return false;
	add(path, bytes, len);
	return true;
}

static void add_system(const char *system)
{
	char path[512], from[1024], to[1024];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), TRACING "/events/%s", system);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		snprintf(from, sizeof(from), "%s/%s/format", path, e->d_name);
		snprintf(to, sizeof(to), "events/%s/%s/format", system, e->d_name);
		if (e->d_name[0] != '.')
			add_file(from, to);
	}
	if (dir)
		closedir(dir);
}

static void add_events(void)
{
	DIR *dir = opendir(TRACING "/events");
	struct dirent *e;

	if (!dir)
		fail("the kernel has no events: %s/events: %s", TRACING, strerror(errno));
	while ((e = readdir(dir))) {
		if (e->d_name[0] != '.')
			add_system(e->d_name);
	}
	closedir(dir);
}

static void add_kernel(void)
{
	char text[sizeof(struct utsname)];
	struct utsname u;

	if (uname(&u))
		fail("uname: %s", strerror(errno));
	snprintf(text, sizeof(text), "%s %s %s %s\n", u.sysname, u.release, u.version, u.machine);
	add("uname", (const uint8_t *)text, strlen(text));
	if (!add_file("/sys/kernel/notes", "notes"))
		fail("/sys/kernel/notes: %s", strerror(errno));
}

int main(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sysfs", "/sys", "sysfs", 0, NULL))
		fail("cannot mount /proc and /sys: %s", strerror(errno));
	find_device();
	if (mount("tracefs", TRACING, "tracefs", 0, NULL))
		fail("the kernel has no tracefs: %s", strerror(errno));
	add_kernel();
	add_events();
	memset(data + used, 0, 2 * (size_t)BLOCK);
	end(XVT_INIT_DONE, used + 2 * (size_t)BLOCK);
	return 1;
}
