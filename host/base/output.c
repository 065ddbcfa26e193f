// SPDX-License-Identifier: GPL-2.0
/*
 * output.c - see output.h. A path is walked part by part: each is opened beneath the descriptor of
 * the one before, without following links, and links are taken apart here. What was looked at is
 * therefore what is used, whatever others rename meanwhile.
 */
#define _GNU_SOURCE
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/user.h"

#define LINKS_MOST 40 /* as the kernel */
#define TRIES	   16 /* where others change what is there */

struct walk {
	struct xvt_output *o;
	unsigned int links;
	char rest[PATH_MAX]; /* of the path, from o->folder on */
};

static bool is_trusted(uid_t user)
{
	return !user || user == xvt_user();
}

/* Whether others may make files in a folder; `modes`: the bits that count as that. */
static bool is_open_to_others(const struct stat *folder, mode_t modes)
{
	return !is_trusted(folder->st_uid) || folder->st_mode & modes;
}

/* Whether another user may have put this there: the file, or a hard link to it. */
static bool is_foreign(const struct stat *folder, const struct stat *file)
{
	if (S_ISDIR(file->st_mode))
		return false;
	if (!is_trusted(file->st_uid))
		return file->st_uid != folder->st_uid &&
		       is_open_to_others(folder, S_IWGRP | S_IWOTH);
	return S_ISREG(file->st_mode) && file->st_nlink > 1 && is_open_to_others(folder, S_IWOTH);
}

static int go_to(struct walk *w, int folder)
{
	if (folder < 0)
		return -errno;
	if (w->o->folder >= 0)
		close(w->o->folder);
	w->o->folder = folder;
	return 0;
}

/* Where the path begins: the root or the present folder. */
static int go_to_begin(struct walk *w, const char *path)
{
	if (*path != '/' && w->o->folder >= 0)
		return 0; /* the text of a link */
	return go_to(w, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Take the next part of the path into `name`. Returns 0 or -errno. */
static int next_part(struct walk *w, char name[NAME_MAX + 1], bool *last)
{
	const char *at = w->rest + strspn(w->rest, "/");
	const size_t len = strcspn(at, "/");

	if (!len)
		return *w->rest ? -EISDIR : -ENOENT;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, at, len);
	name[len] = '\0';
	*last = !at[len];
	memmove(w->rest, at + len, strlen(at + len) + 1);
	return 0;
}

/* Put what the link says before the rest of the path. Returns 0 or -errno. */
static int take_link(struct walk *w, int link)
{
	char to[PATH_MAX], whole[PATH_MAX];
	const ssize_t len = readlinkat(link, "", to, sizeof(to) - 1);

	if (len < 0)
		return -errno;
	if (++w->links > LINKS_MOST)
		return -ELOOP;
	to[len] = '\0';
	if (!len || snprintf(whole, sizeof(whole), "%s%s", to, w->rest) >= (int)sizeof(whole))
		return len ? -ENAMETOOLONG : -ENOENT;
	memcpy(w->rest, whole, sizeof(whole));
	return go_to_begin(w, w->rest);
}

/* Returns 0 to go on, 1 at the end, or an error. */
static int follow(struct walk *w, int link, bool last)
{
	struct xvt_output *o = w->o;
	struct statfs fs;

	if (!is_trusted(o->st.st_uid))
		return XVT_OUTPUT_LINK;
	o->linked = true;
	if (fstatfs(link, &fs))
		return -errno;
	if (fs.f_type != PROC_SUPER_MAGIC)
		return take_link(w, link);
	o->magic = true;
	return last ? 1 : go_to(w, openat(o->folder, o->name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Returns 0 to go on, 1 at the end, or an error. */
static int step(struct walk *w)
{
	struct xvt_output *o = w->o;
	bool last;
	int err = next_part(w, o->name, &last), fd;

	if (err)
		return err;
	o->magic = false;
	fd = openat(o->folder, o->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	o->there = fd >= 0;
	if (fd < 0)
		return errno == ENOENT && last ? 1 : -errno;
	if (fstat(fd, &o->st))
		err = -errno;
	else if (S_ISLNK(o->st.st_mode))
		err = follow(w, fd, last);
	else if (last)
		err = 1;
	else
		return go_to(w, fd);
	close(fd);
	return err;
}

int xvt_output_find(struct xvt_output *o, const char *path)
{
	struct walk w = { .o = o };
	int err;

	*o = (struct xvt_output){ .folder = -1 };
	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= (int)sizeof(w.rest))
		return -ENAMETOOLONG;
	err = go_to_begin(&w, path);
	while (!err)
		err = step(&w);
	if (err > 0)
		return 0;
	xvt_output_close(o);
	return err;
}

void xvt_output_close(struct xvt_output *o)
{
	if (o->folder >= 0)
		close(o->folder);
	o->folder = -1;
}

/* Opens the file that was found, and no other: only then it may be emptied. */
static int open_there(const struct xvt_output *o, int flags)
{
	struct stat folder, st;
	int fd, err = 0;

	if (fstat(o->folder, &folder))
		return -errno;
	if (is_foreign(&folder, &o->st))
		return XVT_OUTPUT_FILE;
	fd = openat(o->folder, o->name, (flags & ~O_TRUNC) | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? -EAGAIN : -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (st.st_dev != o->st.st_dev || st.st_ino != o->st.st_ino)
		err = -EAGAIN;
	else if (flags & O_TRUNC && S_ISREG(st.st_mode) && ftruncate(fd, 0))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int xvt_output_open_at(const struct xvt_output *o, int flags, mode_t mode, bool *made)
{
	int fd;

	if (made)
		*made = false;
	flags |= O_CLOEXEC;
	if (o->there && !o->magic)
		return open_there(o, flags);
	if (o->magic)
		fd = openat(o->folder, o->name, flags);
	else
		fd = openat(o->folder, o->name, flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	if (fd < 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	if (made)
		*made = !o->magic;
	return fd;
}

/* Ends a search: the caller gets where it led if something was made there. */
static void give_made(struct xvt_output *o, bool is_made, struct xvt_made *made)
{
	if (made && is_made) {
		made->folder = o->folder;
		memcpy(made->name, o->name, sizeof(made->name));
	} else {
		xvt_output_close(o);
	}
}

int xvt_output_open(const char *path, int flags, mode_t mode, struct xvt_made *made)
{
	struct xvt_output o;
	int fd, tries = TRIES;
	bool is_made;

	if (made)
		made->folder = -1;
	do {
		fd = xvt_output_find(&o, path);
		if (fd)
			break;
		fd = xvt_output_open_at(&o, flags, mode, &is_made);
		give_made(&o, is_made, made);
	} while (fd == -EAGAIN && --tries);
	return fd;
}

/* Makes the folder that was found missing. Returns 0 or -errno. */
static int make_folder(const struct xvt_output *o, mode_t mode, bool *made)
{
	*made = !mkdirat(o->folder, o->name, mode);
	return *made || errno == EEXIST ? 0 : -errno;
}

int xvt_output_folder(const char *path, mode_t mode, struct xvt_made *made)
{
	char bare[PATH_MAX];
	struct xvt_output o;
	size_t len = strlen(path);
	bool is_made = false;
	int fd, err;

	if (made)
		made->folder = -1;
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len >= sizeof(bare))
		return -ENAMETOOLONG;
	if (len == 1 && *path == '/')
		return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memcpy(bare, path, len);
	bare[len] = '\0';
	err = xvt_output_find(&o, bare);
	if (err)
		return err;
	if (!o.there)
		err = make_folder(&o, mode, &is_made);
	fd = err ? err
		 : openat(o.folder, o.name,
			  O_RDONLY | O_DIRECTORY | O_CLOEXEC | (o.magic ? 0 : O_NOFOLLOW));
	if (fd < 0 && !err)
		fd = -errno;
	if (fd < 0 && is_made)
		unlinkat(o.folder, o.name, AT_REMOVEDIR);
	give_made(&o, is_made && fd >= 0, made);
	return fd;
}

void xvt_made_remove(const struct xvt_made *made, int fd)
{
	struct stat own, there;

	if (fstat(fd, &own) || fstatat(made->folder, made->name, &there, AT_SYMLINK_NOFOLLOW) ||
	    own.st_dev != there.st_dev || own.st_ino != there.st_ino)
		return;
	unlinkat(made->folder, made->name, S_ISDIR(own.st_mode) ? AT_REMOVEDIR : 0);
}

void xvt_made_close(struct xvt_made *made)
{
	if (made->folder >= 0)
		close(made->folder);
	made->folder = -1;
}

int xvt_output_empty(int fd)
{
	return ftruncate(fd, 0) && errno != EINVAL ? -errno : 0;
}

const char *xvt_output_why(int err)
{
	if (err == XVT_OUTPUT_LINK)
		return "it is, or lies behind, a symbolic link of another user; name what the link "
		       "leads to";
	if (err == XVT_OUTPUT_FILE)
		return "another user has put a file there, in a folder where others may write; "
		       "remove it, or give another name";
	return strerror(-err);
}
