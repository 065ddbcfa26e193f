// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-escape.c - xvtrace with an attacker inside the parser: a checksum of the trace, once it is
 * taken in the sandbox of that stage, does what a hostile file would like to do.
 *
 *   XVT_ESCAPE=HOW XVT_ESCAPE_STAGE=1|2 xvt-escape COMMAND...
 *
 * XVT_ESCAPE_SKIP=N: not by the first N checksums of the stage.
 * XVT_ESCAPE_GO=FILE: not before FILE, which is a byte long, is another than 0.
 * Stage 1: while the trace is opened; 2: when it is open. Says "escaped" if it could, "held" if
 * not. look: at a file. exe: at another process's program. raise: have more than FILES open. setup:
 * make an io_uring. ring: open a file by that of the event loop.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "rights/sandbox.h"
#include "trace/crc32c.h"

uint32_t __real_xvt_crc32c(uint32_t crc, const void *bytes, size_t len);
uint32_t __wrap_xvt_crc32c(uint32_t crc, const void *bytes, size_t len);
int __real_xvt_sandbox_enter(unsigned int need);
int __wrap_xvt_sandbox_enter(unsigned int need);
int __real_io_uring_queue_init_params(unsigned int entries, struct io_uring *r,
				      struct io_uring_params *p);
int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *r,
				      struct io_uring_params *p);

#define FILES 300

static int stage;
static struct io_uring *ring; /* of the event loop */

int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *r,
				      struct io_uring_params *p)
{
	ring = r;
	return __real_io_uring_queue_init_params(entries, r, p);
}

static const _Atomic char *go;

/* Map the file that says when: in the sandbox it could not be opened. */
__attribute__((constructor)) static void map_go(void)
{
	const char *path = getenv("XVT_ESCAPE_GO");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

	if (path && p == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	if (path) {
		close(fd);
		go = p;
	}
}

int __wrap_xvt_sandbox_enter(unsigned int need)
{
	stage++;
	return __real_xvt_sandbox_enter(need);
}

/* Ends the process, since it takes the completions that the loop waits for. */
static int open_by_ring(void)
{
	struct io_uring_sqe *sqe = ring ? io_uring_get_sqe(ring) : NULL;
	struct io_uring_cqe *cqe;
	int got = -1;

	if (!sqe)
		_exit(3);
	io_uring_prep_openat(sqe, AT_FDCWD, "/etc/hostname", O_RDONLY, 0);
	io_uring_sqe_set_data(sqe, &got);
	io_uring_submit(ring);
	while (!io_uring_wait_cqe(ring, &cqe)) {
		bool mine = io_uring_cqe_get_data(cqe) == &got;

		got = cqe->res;
		io_uring_cqe_seen(ring, cqe);
		if (mine)
			break;
	}
	dprintf(STDERR_FILENO, "%s\n", got < 0 ? "held" : "escaped");
	_exit(0);
}

/* Maps memory with `prot`. Returns 0 or -1. */
static int map(int prot)
{
	void *at = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? -1 : 0;
}

/* Connects to a socket. */
static int connect_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return connect(fd, (struct sockaddr *)&to, sizeof(to));
}

/* What a recorder may do with its own files, with others. */
static int escape_by_name(const char *how, const char *path)
{
	char from_output[4096], private[4096];
	struct stat st;

	snprintf(from_output, sizeof(from_output), "%s/../secret", getenv("XVT_ESCAPE_FOLDER"));
	if (strcmp(how, "secret") == 0)
		return open(path, O_RDONLY);
	if (strcmp(how, "beside") == 0)
		return open(from_output, O_RDONLY);
	snprintf(private, sizeof(private), "%s/private", getenv("XVT_ESCAPE_FOLDER"));
	if (strcmp(how, "look") == 0)
		return stat(private, &st);
	if (strcmp(how, "change") == 0)
		return open(path, O_RDWR);
	if (strcmp(how, "create") == 0)
		return creat(path, 0600);
	if (strcmp(how, "memory") == 0)
		return open("/proc/self/mem", O_RDWR);
	if (strcmp(how, "remove") == 0)
		return unlink(path);
	if (strcmp(how, "rename") == 0)
		return rename(path, "renamed");
	if (strcmp(how, "connect") == 0)
		return connect_to(path);
	if (strcmp(how, "mode") == 0)
		return chmod(path, 0777);
	if (strcmp(how, "symlink") == 0)
		return symlink(path, "link");
	if (strcmp(how, "link") == 0)
		return link(path, "link");
	_exit(3);
}

static int escape_by_socket(const char *how)
{
	if (strcmp(how, "socket") == 0)
		return socket(AF_UNIX, SOCK_STREAM, 0);
	if (strcmp(how, "inet") == 0)
		return socket(AF_INET, SOCK_STREAM, 0);
	if (strcmp(how, "inet6") == 0)
		return socket(AF_INET6, SOCK_DGRAM, 0);
	if (strcmp(how, "vsock") == 0)
		return socket(AF_VSOCK, SOCK_STREAM, 0);
	return escape_by_name(how, getenv("XVT_ESCAPE_PATH"));
}

static int escape_kernel(const char *how)
{
	struct io_uring_params p = { 0 };
	char link[64];

	if (strcmp(how, "trace") == 0)
		return (int)ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
	if (strcmp(how, "exe") == 0)
		return (int)readlink("/proc/1/exe", link, sizeof(link));
	if (strcmp(how, "mount") == 0)
		return mount("none", getenv("XVT_ESCAPE_PATH"), "tmpfs", 0, NULL);
	if (strcmp(how, "setup") == 0)
		return (int)syscall(SYS_io_uring_setup, 4, &p);
	if (strcmp(how, "ring") == 0)
		return open_by_ring();
	if (strcmp(how, "exec") == 0)
		return map(PROT_READ | PROT_EXEC);
	if (strcmp(how, "suid") == 0)
		return fchmod(STDERR_FILENO, S_ISUID | S_IRUSR | S_IWUSR);
	if (strcmp(how, "wx") == 0)
		return map(PROT_READ | PROT_WRITE | PROT_EXEC);
	return escape_by_socket(how);
}

/* Whether the limits of the process let it have more than it needs. */
static int escape_limits(const char *how)
{
	const struct timespec minute = { .tv_sec = 60 };
	struct rlimit l;
	int i, fd = 0;

	if (strcmp(how, "wait") == 0)
		return nanosleep(&minute, NULL);
	if (strcmp(how, "memory more") == 0) {
		void *at = mmap(NULL, 64ull << 30, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		return at == MAP_FAILED ? -1 : 0;
	}
	if (strcmp(how, "raise") == 0 && !getrlimit(RLIMIT_NOFILE, &l)) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	for (i = 0; i < FILES && fd >= 0; i++)
		fd = dup(STDERR_FILENO);
	return fd;
}

static int escape(const char *how)
{
	if (strcmp(how, "wait") == 0 || strcmp(how, "memory more") == 0 ||
	    strcmp(how, "raise") == 0 || strcmp(how, "files") == 0)
		return escape_limits(how);
	if (strcmp(how, "read") == 0)
		return open("/etc/hostname", O_RDONLY);
	if (strcmp(how, "write") == 0)
		return open("/dev/null", O_WRONLY);
	if (strcmp(how, "make") == 0)
		return mkdir(getenv("XVT_ESCAPE_PATH"), 0700);
	if (strcmp(how, "run") == 0)
		return execl("/bin/true", "true", NULL);
	if (strcmp(how, "fork") == 0)
		return fork();
	return escape_kernel(how);
}

uint32_t __wrap_xvt_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	const char *how = getenv("XVT_ESCAPE"), *at = getenv("XVT_ESCAPE_STAGE"),
		   *skip = getenv("XVT_ESCAPE_SKIP");
	static const char escaped[] = "escaped\n", held[] = "held\n";
	static int done, skipped;

	if (how && at && stage == atoi(at) && skip && skipped < atoi(skip)) {
		skipped++;
	} else if (go && !*go) {
		/* not yet */
	} else if (how && at && stage == atoi(at) && !done++) {
		if (escape(how) < 0)
			(void)!write(STDERR_FILENO, held, strlen(held));
		else
			(void)!write(STDERR_FILENO, escaped, strlen(escaped));
	}
	return __real_xvt_crc32c(crc, bytes, len);
}
