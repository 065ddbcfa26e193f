// SPDX-License-Identifier: GPL-2.0
/*
 * boot.c - see boot.h. What QEMU reads and writes besides the kernel has no name in a file system:
 * it gets descriptors.
 */
#define _GNU_SOURCE
#include "formats/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "formats/apart.h"
#include "xvt_init.h"

#if defined(__x86_64__)
#define QEMU "qemu-system-x86_64"
#else
#define QEMU ""
#endif

#define MEMORY_BYTES (64u << 20)
#define LOG_MAX	     (1u << 20)
#define MS_NS	     1000000u

extern const uint8_t xvt_formats_init[], xvt_formats_init_end[];

struct boot {
	int disk, memory, log; /* descriptors; -1: none */
	struct xvt_import_result *result;
	void (*confine)(void);
};

static int fail(struct boot *b, int err, const char *what)
{
	return xvt_fail(&b->result->why, err, "%s: %s", what, strerror(-err));
}

/* --- the initial RAM disk: cpio, "newc" --- */

static int write_padded(int fd, const void *bytes, size_t len)
{
	static const uint8_t zeros[4];
	int err = xvt_write_all(fd, bytes, len);

	return err || len % 4 == 0 ? err : xvt_write_all(fd, zeros, 4 - len % 4);
}

static int put_file(int fd, const char *name, unsigned int mode, const void *bytes, size_t len)
{
	char head[256];
	const int n = snprintf(head, sizeof(head),
			       "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s", 0,
			       mode, 0, 0, 1, 0, (unsigned int)len, 0, 0, 0, 0,
			       (unsigned int)strlen(name) + 1, 0, name);
	int err = write_padded(fd, head, (size_t)n + 1);

	return err || !len ? err : write_padded(fd, bytes, len);
}

static int write_disk(int fd)
{
	int err = put_file(fd, "init", 0100755, xvt_formats_init,
			   (size_t)(xvt_formats_init_end - xvt_formats_init));

	return err ? err : put_file(fd, "TRAILER!!!", 0, NULL, 0);
}

static int open_all(struct boot *b)
{
	int err = 0;

	b->disk = memfd_create("xvtrace-disk", 0);
	b->memory = memfd_create("xvtrace-memory", 0);
	b->log = memfd_create("xvtrace-log", 0);
	if (b->disk < 0 || b->memory < 0 || b->log < 0 || ftruncate(b->memory, MEMORY_BYTES))
		err = -errno;
	return err ? err : write_disk(b->disk);
}

static void close_all(struct boot *b)
{
	const int fds[] = { b->disk, b->memory, b->log };

	for (size_t i = 0; i < 3; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

/* --- QEMU --- */

static void run_qemu(const struct boot *b, const char *kernel)
{
	char disk[64], memory[160], serial[64];
	const int null = open("/dev/null", O_RDWR);

	snprintf(disk, sizeof(disk), "/proc/self/fd/%d", b->disk);
	snprintf(serial, sizeof(serial), "file:/proc/self/fd/%d", b->log);
	snprintf(memory, sizeof(memory),
		 "memory-backend-file,id=out,size=%uM,mem-path=/proc/self/fd/%d,share=on",
		 MEMORY_BYTES >> 20, b->memory);
	dup2(null, 0);
	dup2(null, 1);
	dup2(b->log, 2);
	execlp(QEMU, QEMU, "-nodefaults", "-no-user-config", "-accel", "tcg", "-cpu", "max", "-m",
	       "512M", "-display", "none", "-no-reboot", "-kernel", kernel, "-initrd", disk,
	       "-append", "console=ttyS0 panic=-1 quiet tsc=reliable", "-serial", serial, "-object",
	       memory, "-device", "ivshmem-plain,memdev=out", NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

/* Wait until QEMU has ended, or end it. Returns its status, or -ETIMEDOUT. */
static int wait_for(pid_t pid, uint64_t timeout_ns)
{
	const uint64_t ms = timeout_ns / MS_NS;
	int status = 0, err;

	err = xvt_child_finish(pid, &status, ms < UINT32_MAX ? (unsigned int)ms : UINT32_MAX,
			       false);
	return err ? err : status;
}

static int start(struct boot *b, const char *kernel, uint64_t timeout_ns)
{
	const pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		run_qemu(b, kernel);
	}
	return pid < 0 ? -errno : wait_for(pid, timeout_ns);
}

/* --- what it said --- */

/* The last line that is no blank one, of the console or of QEMU itself. */
static void last_line(const struct boot *b, char *to, size_t size)
{
	char *log = malloc(LOG_MAX + 1), *end;
	const off_t whole = lseek(b->log, 0, SEEK_END);
	const off_t from = whole > LOG_MAX ? whole - LOG_MAX : 0;
	ssize_t n = log ? pread(b->log, log, LOG_MAX, from) : -1;

	to[0] = 0;
	if (n > 0) {
		while (n && (log[n - 1] == '\n' || log[n - 1] == '\r'))
			n--;
		log[n] = 0;
		end = memrchr(log, '\n', (size_t)n);
		snprintf(to, size, "%s", end ? end + 1 : log);
	}
	free(log);
	for (; *to; to++) {
		if (*to < ' ' || *to > '~')
			*to = '?';
	}
}

struct tar {
	const uint8_t *bytes;
	size_t len;
};

static int import_tar(struct xvt_formats *f, const void *arg, struct xvt_import_result *result)
{
	const struct tar *tar = arg;

	return xvt_formats_import_tar(f, tar->bytes, tar->len, true, result);
}

static int take_memory(struct xvt_formats *f, struct boot *b, const uint8_t *memory)
{
	struct xvt_init_head head;
	struct tar tar;

	memcpy(&head, memory, sizeof(head));
	if (head.how != XVT_INIT_DONE && head.how != XVT_INIT_FAILED)
		return -ENODATA;
	if (head.len > MEMORY_BYTES - XVT_INIT_DATA)
		return -ENODATA;
	memory += XVT_INIT_DATA;
	tar = (struct tar){ memory, head.len };
	if (head.how == XVT_INIT_DONE)
		return xvt_formats_apart(f, b->confine, import_tar, &tar, b->result);
	return xvt_fail(&b->result->why, -EOPNOTSUPP, "its guest says: %.*s",
			(int)(head.len < 256 ? head.len : 256), (const char *)memory);
}

/* Returns 0, or -errno with a reason. */
static int take(struct xvt_formats *f, struct boot *b, int status)
{
	char line[160];
	void *memory;
	int err;

	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return xvt_fail(&b->result->why, -ENOENT,
				"%s is not found; install QEMU (Debian package qemu-system-x86)",
				QEMU);
	memory = mmap(NULL, MEMORY_BYTES, PROT_READ, MAP_PRIVATE, b->memory, 0);
	if (memory == MAP_FAILED)
		return fail(b, -errno, "memory of the guest");
	err = take_memory(f, b, memory);
	munmap(memory, MEMORY_BYTES);
	if (err != -ENODATA || b->result->why.text[0])
		return err;
	last_line(b, line, sizeof(line));
	return xvt_fail(&b->result->why, -EIO,
			status == -ETIMEDOUT
				? "the kernel has not come to its end in time (--timeout); "
				  "its console: %s"
				: "the kernel did not come so far; QEMU or its console: %s",
			line[0] ? line : "nothing");
}

/* QEMU takes what is no kernel for a very old one. */
static int check_kernel(struct boot *b, const char *kernel)
{
	static const char elf[] = "\177ELF", bzimage[] = "HdrS";
	char head[0x206];
	FILE *file = fopen(kernel, "re");
	size_t len;

	if (!file)
		return fail(b, -errno, "cannot read it");
	len = fread(head, 1, sizeof(head), file);
	if (ferror(file)) {
		fail(b, -errno, "cannot read it");
		fclose(file);
		return -EIO;
	}
	fclose(file);
	if (len == sizeof(head) && (!memcmp(head + 0x202, bzimage, 4) || !memcmp(head, elf, 4)))
		return 0;
	return xvt_fail(&b->result->why, -ENOEXEC,
			"it is no Linux kernel of x86; give the file that the guest boots, like "
			"/boot/vmlinuz-RELEASE");
}

int xvt_formats_boot(struct xvt_formats *f, const char *kernel, uint64_t timeout_ns,
		     void (*confine)(void), struct xvt_import_result *result)
{
	struct boot b = {
		.disk = -1, .memory = -1, .log = -1, .confine = confine, .result = result
	};
	int status, err;

	memset(result, 0, sizeof(*result));
	if (!QEMU[0])
		return xvt_fail(&result->why, -EOPNOTSUPP,
				"kernels are booted on x86-64 hosts alone; take --import");
	err = check_kernel(&b, kernel);
	if (err)
		return err;
	err = open_all(&b);
	if (err) {
		fail(&b, err, "memory for a guest");
	} else {
		status = start(&b, kernel, timeout_ns);
		err = take(f, &b, status);
	}
	close_all(&b);
	return err;
}
