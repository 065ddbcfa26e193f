// SPDX-License-Identifier: GPL-2.0
/* cache.c - see cache.h. */
#define _GNU_SOURCE
#include "formats/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/user.h"

#define SUFFIX	  ".formats"
#define NAME_SIZE (XVT_BUILD_ID_TEXT + sizeof(SUFFIX))

bool xvt_formats_cache_folder(char *to, size_t size)
{
	const char *dir = getenv("XVT_FORMATS_DIR"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int len;

	if (dir && dir[0] == '/')
		len = snprintf(to, size, "%s", dir);
	else if (!xvt_user())
		len = snprintf(to, size, "/var/cache/xvtrace/formats");
	else if (cache && cache[0] == '/')
		len = snprintf(to, size, "%s/xvtrace/formats", cache);
	else if (home && home[0] == '/')
		len = snprintf(to, size, "%s/.cache/xvtrace/formats", home);
	else
		return false;
	return (size_t)len < size;
}

/* Whether only the caller and root can have written it. */
static bool is_own(const struct stat *st)
{
	return (st->st_uid == xvt_user() || !st->st_uid) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int open_folder(const char *folder, struct xvt_error *why)
{
	const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int err = -errno;
	struct stat st;

	if (fd < 0)
		return xvt_fail(why, err, "%s: %s", folder, strerror(-err));
	if (!fstat(fd, &st) && is_own(&st))
		return fd;
	close(fd);
	return xvt_fail(why, -EPERM, "%s: another user owns it, or others may write it", folder);
}

/* --- reading --- */

/* Read an open file. Returns 0, or -errno with *why. */
static int read_open(struct xvt_formats *f, int fd, const char **why)
{
	struct stat st;
	uint8_t *bytes;
	int err;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_own(&st)) {
		*why = "another user owns it, or others may write it";
		return -EPERM;
	}
	if (st.st_size > XVT_FORMATS_FILE_MAX) {
		*why = "it is longer than the formats of any kernel";
		return -EBADMSG;
	}
	bytes = malloc((size_t)st.st_size + 1);
	*why = strerror(ENOMEM);
	if (!bytes)
		return -ENOMEM;
	err = xvt_read_all_at(fd, bytes, (size_t)st.st_size, 0);
	if (err)
		*why = strerror(-err);
	else
		err = xvt_formats_parse(f, bytes, (size_t)st.st_size, why);
	free(bytes);
	return err;
}

/* Read a file of the folder, which is called after its build id. */
static int read_one(struct xvt_formats *f, int folder, const char *name, const char **why)
{
	const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char own[NAME_SIZE];
	int err;

	if (fd < 0) {
		*why = strerror(errno);
		return -errno;
	}
	err = read_open(f, fd, why);
	close(fd);
	if (err)
		return err;
	snprintf(own, sizeof(own), "%s" SUFFIX, f->build_id);
	if (!strcmp(own, name))
		return 0;
	xvt_formats_free(f);
	*why = "it is called after another kernel's build id";
	return -EBADMSG;
}

static bool is_ours(const char *name)
{
	const size_t len = strlen(name), end = strlen(SUFFIX);
	char id[XVT_BUILD_ID_TEXT];

	if (len <= end || len - end >= sizeof(id) || strcmp(name + len - end, SUFFIX) != 0)
		return false;
	snprintf(id, sizeof(id), "%.*s", (int)(len - end), name);
	return xvt_build_id_is(id);
}

static int by_release(const void *pa, const void *pb)
{
	const struct xvt_formats *a = pa, *b = pb;
	const int order = strverscmp(a->release, b->release);

	return order ? order : strcmp(a->build_id, b->build_id);
}

static void read_all(struct xvt_formats_cache *c, DIR *dir)
{
	const struct dirent *e;
	const char *why;

	while ((e = readdir(dir))) {
		if (!is_ours(e->d_name))
			continue;
		why = "there are more kernels than are read; remove some";
		if (c->count < XVT_FORMATS_KERNELS_MAX &&
		    !read_one(&c->v[c->count], dirfd(dir), e->d_name, &why))
			c->count++;
		else
			snprintf(c->left_out, sizeof(c->left_out), "%.100s: %s", e->d_name, why);
	}
	qsort(c->v, c->count, sizeof(*c->v), by_release);
}

int xvt_formats_cache_read(struct xvt_formats_cache *c, struct xvt_error *why)
{
	DIR *dir;
	int fd;

	memset(c, 0, sizeof(*c));
	if (!xvt_formats_cache_folder(c->folder, sizeof(c->folder)))
		return 0;
	fd = open_folder(c->folder, why);
	if (fd == -ENOENT) {
		why->text[0] = '\0';
		return 0;
	}
	if (fd < 0)
		return fd;
	c->v = calloc(XVT_FORMATS_KERNELS_MAX, sizeof(*c->v));
	dir = c->v ? fdopendir(fd) : NULL;
	if (!dir) {
		xvt_fail(why, 0, "%s: %s", c->folder, strerror(ENOMEM));
		close(fd);
		xvt_formats_cache_free(c);
		return -ENOMEM;
	}
	read_all(c, dir);
	closedir(dir);
	return 0;
}

int xvt_formats_cache_load(struct xvt_formats *f, const char *build_id, struct xvt_error *why)
{
	char folder[4096], name[NAME_SIZE];
	const char *reason;
	int fd, err;

	memset(f, 0, sizeof(*f));
	if (!xvt_build_id_is(build_id) || !xvt_formats_cache_folder(folder, sizeof(folder)))
		return xvt_fail(why, -ENOENT, "%s", strerror(ENOENT));
	fd = open_folder(folder, why);
	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "%s" SUFFIX, build_id);
	err = read_one(f, fd, name, &reason);
	close(fd);
	return err ? xvt_fail(why, err, "%.400s/%s: %s", folder, name, reason) : 0;
}

void xvt_formats_cache_free(struct xvt_formats_cache *c)
{
	for (size_t i = 0; i < c->count; i++)
		xvt_formats_free(&c->v[i]);
	free(c->v);
	memset(c, 0, sizeof(*c));
}

const struct xvt_formats *xvt_formats_cache_find(const struct xvt_formats_cache *c,
						 const char *kernel, struct xvt_error *why)
{
	const struct xvt_formats *found = NULL;
	const size_t len = strlen(kernel);

	for (size_t i = 0; i < c->count; i++) {
		const struct xvt_formats *f = &c->v[i];

		if (strcmp(f->release, kernel) != 0 &&
		    (len < 8 || strncmp(f->build_id, kernel, len) != 0))
			continue;
		if (found) {
			xvt_fail(why, 0,
				 "'%s' is more than one kernel of `xvtrace formats`; give a build "
				 "id: %s or %s",
				 kernel, found->build_id, f->build_id);
			return NULL;
		}
		found = f;
	}
	if (!found)
		xvt_fail(why, 0,
			 "no formats of a kernel '%s' are known: `xvtrace formats` lists those "
			 "that are, and xvtrace-formats(1) says how to add one",
			 kernel);
	return found;
}

/* --- writing --- */

/* Make the folder, and those on its way that are not there. */
static int make_folder(const char *folder)
{
	char path[4096];
	char *slash = path;

	snprintf(path, sizeof(path), "%s", folder);
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

static int write_file(int folder, const struct xvt_formats *f, const char *name)
{
	char draft[NAME_SIZE + 32];
	int fd, err;

	snprintf(draft, sizeof(draft), ".%s.%ld", name, (long)getpid());
	unlinkat(folder, draft, 0);
	fd = openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0644) ? -errno : xvt_write_all(fd, f->bytes, f->len);
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	if (!err && renameat(folder, draft, folder, name))
		err = -errno;
	if (err)
		unlinkat(folder, draft, 0);
	return err;
}

/* Open the folder of the cache, made if need be. Returns a descriptor, or -errno with a reason. */
static int open_cache(char *folder, size_t size, struct xvt_error *why)
{
	int err;

	if (!xvt_formats_cache_folder(folder, size))
		return xvt_fail(why, -ENOENT,
				"this user has no folder for a cache: set XDG_CACHE_HOME");
	err = make_folder(folder);
	if (err)
		return xvt_fail(why, err, "%s: %s", folder, strerror(-err));
	return open_folder(folder, why);
}

static int remove_file(int folder, const struct xvt_formats *f, const char *name)
{
	(void)f;
	return unlinkat(folder, name, 0) ? -errno : 0;
}

static int change(const struct xvt_formats *f,
		  int (*fn)(int folder, const struct xvt_formats *f, const char *name),
		  struct xvt_error *why)
{
	char folder[4096], name[NAME_SIZE];
	const int fd = open_cache(folder, sizeof(folder), why);
	int err;

	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "%s" SUFFIX, f->build_id);
	err = fn(fd, f, name);
	close(fd);
	if (err)
		xvt_fail(why, 0, "%s/%s: %s", folder, name, strerror(-err));
	return err;
}

int xvt_formats_cache_store(const struct xvt_formats *f, struct xvt_error *why)
{
	return change(f, write_file, why);
}

int xvt_formats_cache_remove(const struct xvt_formats *f, struct xvt_error *why)
{
	return change(f, remove_file, why);
}
