// SPDX-License-Identifier: GPL-2.0
/*
 * regions.c - see regions.h. A look at a file is a system call that the opener answers, which takes
 * some 30 us. A file of another user is looked at once: its name and inode number are kept.
 */
#define _GNU_SOURCE
#include "record/regions.h"

#include <dirent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/region.h"
#include "base/time.h"
#include "base/vec.h"
#include "options/opt.h"
#include "record/find.h"
#include "vmm/processes.h"

#define SEARCH_NS     5000000000ull /* between two searches for VMMs */
#define KNOWN	      8192u	    /* files of others that are looked at once; a power of two */
#define TRUSTED	      4u
#define USERS	      8u   /* others that are named */
#define MAYBE	      256u /* files of others that a VMM may map, */
#define MAYBE_OF_USER 16u  /* and of each user */

struct file {
	char *path;
	char name[XVT_NAME_LEN]; /* of the machine */
};

struct files {
	struct file *v;
	size_t n, room;
};

struct known {
	uint64_t name; /* hash; 0: none */
	ino_t ino;
	uid_t uid;
};

struct owned {
	struct xvt_mapped_file file;
	uid_t uid;
};

struct owned_list {
	struct owned v[MAYBE];
	size_t n;
};

struct strangers {
	struct {
		uid_t uid;
		uint64_t files;
	} users[USERS];
	size_t n;
	uint64_t files; /* of all */
};

static struct {
	DIR *dir; /* of a scan that has begun */
	dev_t dev;
	uid_t trusted[TRUSTED];
	size_t nr_trusted;
	struct files found, next;
	struct strangers strangers, counted;
	struct strangers search_of;   /* users of the search for VMMs that goes on */
	struct strangers searched_of; /* the same of the last one that has ended */
	bool stale;		      /* that one found the VMM of one of `strangers` */
	struct known *known;
	uid_t told[USERS];
	size_t nr_told;

	struct owned_list maybe;
	struct xvt_process_search *search;
	struct owned_list searched; /* the files of `search` */
	struct owned_list mapped, mapped_next;
	uint64_t next_search_ns;
} all;

/* ------------------------------------------------------------------ users */

void xvt_regions_begin(void)
{
	const struct passwd *user;
	FILE *users;

	if (all.nr_trusted)
		return;
	all.trusted[all.nr_trusted++] = 0;
	all.trusted[all.nr_trusted++] = geteuid();
	/* getpwnam() would load the libraries of all name services into the recorder. */
	users = fopen("/etc/passwd", "re");
	while (users && all.nr_trusted < TRUSTED && (user = fgetpwent(users))) {
		if (!strcmp(user->pw_name, "libvirt-qemu") || !strcmp(user->pw_name, "qemu"))
			all.trusted[all.nr_trusted++] = user->pw_uid;
	}
	if (users)
		fclose(users);
}

bool xvt_regions_trusts(uint32_t uid)
{
	size_t i;

	for (i = 0; i < all.nr_trusted; i++) {
		if (all.trusted[i] == uid)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ files of others */

static uint64_t hash(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	while (*name)
		h = (h ^ (unsigned char)*name++) * 0x100000001b3ull;
	return h | 1;
}

/* The place of a file of that name; NULL: none was looked at. */
static struct known *place_of(uint64_t name)
{
	return all.known ? &all.known[name / 2 % KNOWN] : NULL;
}

/* Without memory it is looked at again. */
static void take_as_known(const struct known *k)
{
	if (!all.known)
		all.known = calloc(KNOWN, sizeof(*all.known));
	if (all.known)
		*place_of(k->name) = *k;
}

void xvt_regions_changed(const char *name)
{
	struct known *k = name ? place_of(hash(name)) : NULL;

	if (k)
		k->name = 0;
	if (name)
		return;
	free(all.known);
	all.known = NULL;
}

static void count(struct strangers *s, uid_t uid)
{
	size_t i = 0;

	s->files++;
	while (i < s->n && s->users[i].uid != uid)
		i++;
	if (i == USERS)
		return;
	if (i == s->n)
		s->users[s->n++].uid = uid;
	s->users[i].files++;
}

static bool has(const struct owned_list *l, const struct xvt_mapped_file *file)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		if (l->v[i].file.ino == file->ino && l->v[i].file.dev == file->dev)
			return true;
	}
	return false;
}

/* A VMM of its owner may map it. The files of a user leave room for those of others. */
static void take_as_maybe(const struct xvt_mapped_file *file, uid_t uid)
{
	size_t i, same = 0;

	for (i = 0; i < all.maybe.n; i++)
		same += all.maybe.v[i].uid == uid;
	if (all.maybe.n < MAYBE && same < MAYBE_OF_USER)
		all.maybe.v[all.maybe.n++] = (struct owned){ *file, uid };
}

static void take_stranger(const struct xvt_mapped_file *file, uid_t uid)
{
	count(&all.counted, uid);
	take_as_maybe(file, uid);
}

/* ------------------------------------------------------------------ the scan */

static void forget(struct files *f)
{
	while (f->n)
		free(f->v[--f->n].path);
}

/* A machine of another user cannot take the name of one that is trusted. */
static void take_machine(const char *path, uid_t uid)
{
	struct files *f = &all.next;
	struct file *file;
	size_t len;

	if (xvt_grow(&f->v, &f->room, f->n + 1, sizeof(*f->v)))
		return;
	file = &f->v[f->n];
	file->path = strdup(path);
	if (!file->path)
		return;
	xvt_region_machine(path, file->name);
	if (!xvt_regions_trusts(uid)) {
		char user[16];

		snprintf(user, sizeof(user), "@%u", (unsigned int)uid);
		len = strnlen(file->name, XVT_NAME_LEN - 1 - strlen(user));
		snprintf(file->name + len, XVT_NAME_LEN - len, "%s", user);
	}
	f->n++;
}

static void look_at(const struct dirent *e)
{
	struct xvt_mapped_file file = { all.dev, e->d_ino };
	const uint64_t name = hash(e->d_name);
	const struct known *k = place_of(name);
	char path[4096];
	struct stat st;

	if ((e->d_type != DT_REG && e->d_type != DT_UNKNOWN) ||
	    strncmp(e->d_name, XVT_REGION_PREFIX, strlen(XVT_REGION_PREFIX)) != 0)
		return;
	if (k && k->name == name && k->ino == e->d_ino && !has(&all.mapped, &file)) {
		take_stranger(&file, k->uid);
		return;
	}
	if (snprintf(path, sizeof(path), "%s/%s", xvt_host_region_dir(), e->d_name) >=
		    (int)sizeof(path) ||
	    lstat(path, &st) || !S_ISREG(st.st_mode))
		return;
	file = (struct xvt_mapped_file){ st.st_dev, st.st_ino };
	if (xvt_regions_trusts(st.st_uid) || has(&all.mapped, &file)) {
		take_machine(path, st.st_uid);
		if (!xvt_regions_trusts(st.st_uid))
			take_as_maybe(&file, st.st_uid);
		return;
	}
	take_as_known(&(struct known){ name, e->d_ino, st.st_uid });
	take_stranger(&file, st.st_uid);
}

static bool begin(void)
{
	struct stat st;

	xvt_regions_begin();
	all.dir = opendir(xvt_host_region_dir());
	if (!all.dir)
		return false;
	all.dev = fstat(dirfd(all.dir), &st) ? 0 : st.st_dev;
	all.maybe.n = 0;
	all.counted = (struct strangers){ .n = 0 };
	forget(&all.next);
	return true;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void finish(void)
{
	const struct files before = all.found;

	closedir(all.dir);
	all.dir = NULL;
	all.found = all.next;
	all.next = before;
	forget(&all.next);
	all.strangers = all.counted;
	all.stale = false;
	if (all.found.n)
		qsort(all.found.v, all.found.n, sizeof(*all.found.v), by_path);
}

bool xvt_regions_scan(uint64_t most_ns)
{
	const uint64_t since = xvt_monotonic_ns();
	const struct dirent *e;

	if (!all.dir && !begin()) {
		forget(&all.found);
		return true;
	}
	do {
		e = readdir(all.dir);
		if (!e) {
			finish();
			return true;
		}
		look_at(e);
	} while (xvt_monotonic_ns() - since < most_ns);
	return false;
}

void xvt_regions_each(void (*fn)(void *arg, const char *path, const char name[XVT_NAME_LEN]),
		      void *arg)
{
	size_t i;

	for (i = 0; i < all.found.n; i++)
		fn(arg, all.found.v[i].path, all.found.v[i].name);
}

/* ------------------------------------------------------------------ VMMs */

static bool is_vmm_of_other(void *arg, int32_t pid)
{
	uid_t uid;

	(void)arg;
	return xvt_process_is_qemu(pid, &uid) && !xvt_regions_trusts(uid);
}

/* A user cannot have the file of another one recorded. */
static void on_mapping(void *arg, int32_t pid, size_t file)
{
	const struct owned *o = &all.searched.v[file];
	uid_t uid;

	(void)arg;
	if (xvt_process_is_qemu(pid, &uid) && uid == o->uid && !has(&all.mapped_next, &o->file))
		all.mapped_next.v[all.mapped_next.n++] = *o;
}

static void begin_search(void)
{
	static const struct xvt_process_finder finder = { .mapping = on_mapping };
	struct xvt_mapped_file files[MAYBE];
	size_t i;

	all.searched = all.maybe;
	all.search_of = all.strangers;
	all.mapped_next.n = 0;
	for (i = 0; i < all.searched.n; i++)
		files[i] = all.searched.v[i].file;
	if (!xvt_process_search_begin(&all.search, &finder, files, all.searched.n))
		xvt_process_search_only(all.search, is_vmm_of_other);
}

bool xvt_regions_search(uint64_t most_ns, uint64_t now)
{
	bool other;
	size_t i;

	if (!all.search && all.maybe.n && now >= all.next_search_ns)
		begin_search();
	if (!all.search || !xvt_process_search_step(all.search, most_ns))
		return false;
	xvt_process_search_end(all.search);
	all.search = NULL;
	all.searched_of = all.search_of;
	all.next_search_ns = now + SEARCH_NS;
	other = all.mapped_next.n != all.mapped.n;
	for (i = 0; i < all.mapped_next.n; i++)
		other |= !has(&all.mapped, &all.mapped_next.v[i].file);
	all.mapped = all.mapped_next;
	all.stale |= other;
	return other;
}

/* ------------------------------------------------------------------ what is told */

static bool has_user(const struct strangers *s, uid_t uid)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->users[i].uid == uid)
			return true;
	}
	return false;
}

static bool is_told(uid_t uid)
{
	size_t i;

	for (i = 0; i < all.nr_told; i++) {
		if (all.told[i] == uid)
			return true;
	}
	return false;
}

void xvt_regions_tell(void)
{
	const struct strangers *s = &all.strangers;
	size_t i;

	/* A VMM of such a user may map the file: that is searched for first. */
	for (i = 0; i < s->n && all.nr_told < USERS && !all.stale; i++) {
		if (is_told(s->users[i].uid) || !has_user(&all.searched_of, s->users[i].uid))
			continue;
		all.told[all.nr_told++] = s->users[i].uid;
		xvt_warn(xvt_host_region_dir(),
			 "files of uid %u are left out, %llu so far: without -r, machines are the "
			 "files of root, of this user and of QEMU's user, and those that a QEMU of "
			 "their owner maps; name one by -r NAME=REGION",
			 (unsigned int)s->users[i].uid, (unsigned long long)s->users[i].files);
	}
}

void xvt_regions_status(struct xvt_json *to)
{
	const struct strangers *s = &all.strangers;
	struct xvt_json *list, *one;
	size_t i;

	if (!s->files)
		return;
	xvt_json_add_u64(to, "left_out_files", s->files);
	list = xvt_json_add_array(to, "left_out_of");
	for (i = 0; i < s->n; i++) {
		one = xvt_json_add_object(list, NULL);
		xvt_json_add_u64(one, "uid", s->users[i].uid);
		xvt_json_add_u64(one, "files", s->users[i].files);
	}
}
