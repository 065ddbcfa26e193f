// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-no-memory.c - xvtrace, of which one allocation fails: the XVT_NO_MEMORY'th of its own code,
 * in each of its processes. Libraries get their memory.
 *
 *   XVT_NO_MEMORY=N [XVT_NO_MEMORY_LOG=FILE] xvt-no-memory COMMAND...
 *
 * A line in FILE says that it failed: without one, the command makes fewer allocations. A helper
 * that closed FILE writes none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRAP(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

static uint64_t count;
static uint64_t number; /* of the one that fails */
static int log_fd = -1;

#define LOG_FD 600 /* the least number of that file */

/* Before the sandbox, which opens no file. */
__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("XVT_NO_MEMORY"), *path = getenv("XVT_NO_MEMORY_LOG");
	int fd;

	number = n ? strtoull(n, NULL, 0) : 0;
	fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
	/* A helper that closes all that it has opens no other file with this number. */
	log_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOG_FD);
	if (fd >= 0)
		close(fd);
}

/* Any thread may allocate. */
static bool fails(const char *function, size_t size)
{
	char line[96];
	int len;

	if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) != number)
		return false;
	len = snprintf(line, sizeof(line), "%s of %zu bytes\n", function, size);
	if (log_fd >= 0 && write(log_fd, line, (size_t)len) != len && errno != EBADF)
		abort();
	errno = ENOMEM;
	return true;
}

WRAP(void *, malloc, size_t size)
{
	return fails("malloc", size) ? NULL : __real_malloc(size);
}

WRAP(void *, calloc, size_t n, size_t size)
{
	return fails("calloc", n * size) ? NULL : __real_calloc(n, size);
}

WRAP(void *, realloc, void *old, size_t size)
{
	return fails("realloc", size) ? NULL : __real_realloc(old, size);
}

WRAP(void *, aligned_alloc, size_t alignment, size_t size)
{
	return fails("aligned_alloc", size) ? NULL : __real_aligned_alloc(alignment, size);
}

WRAP(char *, strdup, const char *text)
{
	return fails("strdup", strlen(text)) ? NULL : __real_strdup(text);
}

WRAP(char *, strndup, const char *text, size_t n)
{
	return fails("strndup", n) ? NULL : __real_strndup(text, n);
}

WRAP(FILE *, open_memstream, char **text, size_t *size)
{
	return fails("open_memstream", 0) ? NULL : __real_open_memstream(text, size);
}

int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...)
{
	va_list args;
	int len;

	if (fails("asprintf", 0))
		return -1;
	va_start(args, format);
	len = vasprintf(text, format, args);
	va_end(args);
	return len;
}

WRAP(void *, mmap, void *at, size_t size, int prot, int flags, int fd, off_t off)
{
	return fails("mmap", size) ? (void *)-1 : __real_mmap(at, size, prot, flags, fd, off);
}
