// SPDX-License-Identifier: GPL-2.0
/* rules.c - see rules.h. */
#define _GNU_SOURCE
#include "rights/rules.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/vec.h"

#define TRIES 16 /* of an open that another process's renames disturb */
#define OPEN_FLAGS                                                                                \
	(O_ACCMODE | O_APPEND | O_CLOEXEC | O_CREAT | O_DIRECTORY | O_DIRECT | O_DSYNC | O_EXCL | \
	 O_LARGEFILE | O_NOATIME | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK | O_PATH | O_SYNC |         \
	 O_TMPFILE | O_TRUNC)

int xvt_path_join(const char *folder, const char *path, char out[PATH_MAX])
{
	const char *const parts[] = { *path == '/' ? "" : folder, path };
	size_t used = 0, i;

	for (i = 0; i < 2; i++) {
		const char *at = parts[i];

		while (*(at += strspn(at, "/"))) {
			const size_t len = strcspn(at, "/");

			if (used + len + 2 > PATH_MAX)
				return -ENAMETOOLONG;
			if (len != 1 || *at != '.') {
				out[used++] = '/';
				memcpy(out + used, at, len);
				used += len;
			}
			at += len;
		}
	}
	if (!used)
		out[used++] = '/';
	out[used] = '\0';
	return 0;
}

/* Replaces the links in a path, as far as it exists. */
static void without_links(const char *path, size_t len, char real[PATH_MAX])
{
	char way[PATH_MAX];
	size_t end = len;

	for (;;) {
		snprintf(way, sizeof(way), "%.*s", end ? (int)end : 1, end ? path : "/");
		if (realpath(way, real))
			break;
		if (!end) {
			snprintf(real, PATH_MAX, "/");
			break;
		}
		while (end && path[--end] != '/')
			;
	}
	if (end < len) {
		snprintf(way, sizeof(way), "%.*s", (int)(len - end), path + end);
		if (xvt_path_join(real, way + 1, real))
			real[0] = '\0';
	}
}

/* The length of what no wildcard is in: of a pattern, a folder. */
static size_t literal_len(const struct xvt_rule *rule)
{
	size_t len = strlen(rule->path);

	if (rule->kind & XVT_RULE_PATTERN)
		len = strcspn(rule->path, "*?[\\");
	else if (rule->kind == XVT_RULE_TREE || !(rule->rights & XVT_MAY_REMOVE))
		return len;
	while (len && rule->path[len] != '/')
		len--;
	return len;
}

int xvt_rules_add(struct xvt_rules *rules, enum xvt_rule_kind kind, unsigned int rights,
		  const char *path)
{
	struct xvt_rule *rule;
	char here[PATH_MAX];

	if (xvt_grow(&rules->v, &rules->room, rules->count + 1, sizeof(*rules->v)))
		return -ENOMEM;
	rule = &rules->v[rules->count];
	rule->kind = kind;
	rule->rights = rights;
	if (*path == '@')
		snprintf(rule->path, sizeof(rule->path), "%s", path);
	else if (!getcwd(here, sizeof(here)))
		return -errno;
	else if (xvt_path_join(here, path, rule->path))
		return -ENAMETOOLONG;
	if (*path != '@')
		without_links(rule->path, literal_len(rule), rule->real);
	rules->count++;
	return 0;
}

void xvt_rules_free(struct xvt_rules *rules)
{
	free(rules->v);
	*rules = (struct xvt_rules){ 0 };
}

/* Names what lies at `rest` beneath a folder; nothing: the folder itself. */
static void set_place(struct xvt_place *place, const char *folder, const char *rest,
		      uint64_t resolve)
{
	snprintf(place->folder, sizeof(place->folder), "%s", *folder ? folder : "/");
	snprintf(place->rest, sizeof(place->rest), "%s", *rest ? rest : ".");
	place->resolve = resolve | RESOLVE_NO_MAGICLINKS;
}

void xvt_place_beneath(struct xvt_place *place, const char *folder, const char *rest)
{
	snprintf(place->folder, sizeof(place->folder), "%s", folder);
	snprintf(place->rest, sizeof(place->rest), "%s", *rest ? rest : ".");
	place->resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH;
}

/* Whether a path goes up by "..". */
static bool climbs(const char *path)
{
	while (*(path += strspn(path, "/"))) {
		const size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += len;
	}
	return false;
}

static bool match_pattern(const struct xvt_rule *rule, const char *path, struct xvt_place *place)
{
	const int flags = FNM_PATHNAME | (rule->kind & XVT_RULE_TREE ? FNM_LEADING_DIR : 0);
	const size_t len = literal_len(rule);

	if (fnmatch(rule->path, path, flags) || climbs(path + len))
		return false;
	set_place(place, rule->real, path + len + 1, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	return true;
}

/* The file itself: who may replace it by a link gets nothing opened. */
static void match_file(const struct xvt_rule *rule, const char *path, struct xvt_place *place)
{
	const char *slash;
	char folder[PATH_MAX];

	if (rule->rights & XVT_MAY_REMOVE) {
		set_place(place, rule->real, strrchr(path, '/') + 1, RESOLVE_NO_SYMLINKS);
		return;
	}
	slash = strrchr(rule->real, '/');
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - rule->real) : 0, rule->real);
	set_place(place, folder, slash ? slash + 1 : "", RESOLVE_NO_SYMLINKS);
}

static bool match(const struct xvt_rule *rule, const char *path, struct xvt_place *place)
{
	const size_t len = strlen(rule->path);

	if (rule->kind & XVT_RULE_PATTERN)
		return match_pattern(rule, path, place);
	if (rule->kind == XVT_RULE_FILE) {
		if (!strcmp(rule->path, path)) {
			match_file(rule, path, place);
			return true;
		}
		return false;
	}
	if (strncmp(rule->path, path, len) || (path[len] && path[len] != '/') || climbs(path + len))
		return false;
	set_place(place, rule->real, path[len] ? path + len + 1 : "", RESOLVE_BENEATH);
	return true;
}

bool xvt_rules_find(const struct xvt_rules *rules, const char *path, unsigned int rights,
		    struct xvt_place *place)
{
	size_t i;

	for (i = 0; i < rules->count; i++) {
		const struct xvt_rule *rule = &rules->v[i];

		if ((rule->rights & rights) != rights)
			continue;
		if (*rule->path == '@' ? !strcmp(rule->path, path) : match(rule, path, place))
			return true;
	}
	return false;
}

bool xvt_rules_pass(const struct xvt_rules *rules, const char *path)
{
	const size_t len = strlen(path);
	size_t i;

	for (i = 0; i < rules->count; i++) {
		if (!strncmp(rules->v[i].path, path, len) && rules->v[i].path[len] == '/')
			return true;
	}
	return false;
}

/* --- opening --- */

static int open_at(int folder, const char *rest, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = (unsigned int)(flags & OPEN_FLAGS), .resolve = resolve };
	int tries = TRIES;
	long fd;

	if (flags & O_PATH)
		how.flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW;
	else if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)
		how.mode = mode & 0777; /* no file of ours runs as its owner */
	how.flags |= O_CLOEXEC;
	do
		fd = syscall(SYS_openat2, folder, rest, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && --tries);
	return fd < 0 ? -errno : (int)fd;
}

/* A FIFO, or a file with a lease, could keep this process waiting. */
static int open_at_once(int folder, const char *rest, int flags, mode_t mode, uint64_t resolve)
{
	int fd, now;

	if (flags & O_PATH)
		return open_at(folder, rest, flags, mode, resolve);
	fd = open_at(folder, rest, flags | O_NONBLOCK, mode, resolve);
	if (fd < 0 || flags & O_NONBLOCK)
		return fd;
	now = fcntl(fd, F_GETFL);
	if (now >= 0)
		fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
	return fd;
}

/* A rule's folder has no links on its way. */
static int open_folder(const char *path)
{
	return open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
}

int xvt_place_open(const struct xvt_place *place, int flags, mode_t mode)
{
	int folder = open_folder(place->folder), fd;

	if (folder < 0)
		return folder;
	fd = open_at_once(folder, place->rest, flags, mode, place->resolve);
	close(folder);
	return fd;
}

int xvt_place_parent(const struct xvt_place *place, const char **leaf)
{
	const char *slash = strrchr(place->rest, '/');
	int folder = open_folder(place->folder), fd = folder;
	char way[PATH_MAX];

	*leaf = slash ? slash + 1 : place->rest;
	if (!strcmp(*leaf, ".") || !strcmp(*leaf, "..")) {
		fd = -EINVAL;
	} else if (folder >= 0 && slash) {
		snprintf(way, sizeof(way), "%.*s", (int)(slash - place->rest), place->rest);
		fd = open_at(folder, way, O_PATH | O_DIRECTORY, 0, place->resolve);
	}
	if (fd != folder && folder >= 0)
		close(folder);
	return fd;
}

/* --- what every user may read --- */

/* Returns whether all users may pass all folders of this path. */
static bool is_reachable(const char *path)
{
	char way[PATH_MAX];
	struct stat st;
	size_t i;

	for (i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(way, sizeof(way), "%.*s", (int)i, path);
		if (stat(way, &st) || !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

static bool is_public(int fd, const char *self)
{
	char path[PATH_MAX];
	const ssize_t len = readlink(self, path, sizeof(path) - 1);
	struct statfs fs;
	struct stat st;

	if (len <= 0 || fstat(fd, &st) || fstatfs(fd, &fs))
		return false;
	path[len] = '\0';
	/* Modes in the folders of processes say little. */
	if (fs.f_type == PROC_SUPER_MAGIC &&
	    (strncmp(path, "/proc/", 6) || isdigit((unsigned char)path[6])))
		return false;
	if (S_ISDIR(st.st_mode) ? (st.st_mode & 05) != 05
				: !S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH))
		return false;
	return is_reachable(path);
}

bool xvt_public_place(const char *path)
{
	char way[PATH_MAX], real[PATH_MAX];
	size_t len = strlen(path);

	do {
		while (len && path[--len] != '/')
			;
		snprintf(way, sizeof(way), "%.*s", len ? (int)len : 1, len ? path : "/");
	} while (!realpath(way, real) && len);
	return snprintf(way, sizeof(way), "%s/", real) < (int)sizeof(way) && is_reachable(way);
}

int xvt_public_open(const char *path, int flags)
{
	int seen = open_at(AT_FDCWD, path, O_PATH | (flags & O_NOFOLLOW), 0, RESOLVE_NO_MAGICLINKS);
	char self[64];
	int fd;

	if (seen < 0)
		return xvt_public_place(path) ? seen : XVT_NOT_PUBLIC;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", seen);
	if (!is_public(seen, self))
		fd = XVT_NOT_PUBLIC;
	else
		fd = open_at_once(AT_FDCWD, self, flags & ~O_NOFOLLOW, 0, 0);
	close(seen);
	return fd;
}
