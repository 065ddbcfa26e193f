// SPDX-License-Identifier: GPL-2.0
/* import.c - see import.h. */
#define _GNU_SOURCE
#include "formats/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "formats/tar.h"

#define NAME_SIZE   128u
#define PART_MAX    (32u << 20) /* bytes of a file */
#define SYMBOL	    "__traceiter_"
#define SYMBOLS_MAX 65536u

struct event {
	char system[NAME_SIZE];
	char name[NAME_SIZE];
	char *text;
	size_t len;
	uint16_t id;
};

/* A function of a tracepoint. */
struct symbol {
	char name[NAME_SIZE];
	bool of_module;
};

struct import {
	struct event *events;
	size_t nr_events, event_room;
	struct symbol *symbols; /* by name */
	size_t nr_symbols, symbol_room;
	char build_id[XVT_BUILD_ID_TEXT];
	char kernel[XVT_KERNEL_TEXT];
	bool has_notes, has_symbols, has_empty;
	uint32_t unreadable;
};

/* --- files --- */

static int take_event(struct import *im, const char *system, const char *name, const char *bytes,
		      size_t len)
{
	struct event *e;

	if (!len)
		im->has_empty = true;
	if (!len || len > XVT_FORMATS_TEXT_MAX || im->nr_events >= 2 * XVT_FORMATS_COUNT_MAX) {
		im->unreadable++;
		return 0;
	}
	if (xvt_grow(&im->events, &im->event_room, im->nr_events + 1, sizeof(*e)))
		return -ENOMEM;
	e = &im->events[im->nr_events];
	*e = (struct event){ .text = strndup(bytes, len) };
	if (!e->text)
		return -ENOMEM;
	im->nr_events++;
	e->len = strlen(e->text);
	e->id = xvt_formats_id(e->text);
	snprintf(e->system, sizeof(e->system), "%s", system);
	snprintf(e->name, sizeof(e->name), "%s", name);
	return 0;
}

/* "ffffffff81000000 T __traceiter_NAME", and "\t[MODULE]" behind a module's. */
static int take_symbol(struct import *im, const char *line, size_t len)
{
	const char *name = memmem(line, len, " " SYMBOL, strlen(" " SYMBOL));
	struct symbol *s;
	size_t name_len;

	if (!name || im->nr_symbols == SYMBOLS_MAX)
		return 0;
	name += strlen(" " SYMBOL);
	len -= (size_t)(name - line);
	for (name_len = 0; name_len < len && !strchr(" \t", name[name_len]); name_len++)
		;
	if (xvt_grow(&im->symbols, &im->symbol_room, im->nr_symbols + 1, sizeof(*s)))
		return -ENOMEM;
	s = &im->symbols[im->nr_symbols++];
	s->of_module = memchr(name, '[', len);
	snprintf(s->name, sizeof(s->name), "%.*s", (int)name_len, name);
	return 0;
}

static int take_symbols(struct import *im, const char *bytes, size_t len)
{
	int err = 0;

	im->has_symbols = true;
	while (len && !err) {
		const char *end = memchr(bytes, '\n', len);
		const size_t line = end ? (size_t)(end - bytes) : len;

		err = take_symbol(im, bytes, line);
		bytes += line + (end != NULL);
		len -= line + (end != NULL);
	}
	return err;
}

static void take_uname(struct import *im, const char *bytes, size_t len)
{
	snprintf(im->kernel, sizeof(im->kernel), "%.*s", (int)strnlen(bytes, len), bytes);
	im->kernel[strcspn(im->kernel, "\n")] = 0;
}

/* The last parts of a path: parts[0] is its name. Returns how many there are, four at most. */
static size_t split_path(char *path, const char *parts[4])
{
	size_t n = 0;

	while (n < 4) {
		char *slash = strrchr(path, '/');

		parts[n++] = slash ? slash + 1 : path;
		if (!slash)
			break;
		*slash = 0;
	}
	return n;
}

static int take_file(void *arg, const char *path, const uint8_t *bytes, size_t len)
{
	char copy[XVT_TAR_PATH];
	struct import *im = arg;
	const char *text = (const char *)bytes, *parts[4];
	size_t n;

	if (len > PART_MAX)
		return 0;
	snprintf(copy, sizeof(copy), "%s", path);
	n = split_path(copy, parts);
	if (n == 4 && !strcmp(parts[0], "format") && !strcmp(parts[3], "events"))
		return take_event(im, parts[2], parts[1], text, len);
	if (!strcmp(parts[0], "kallsyms"))
		return take_symbols(im, text, len);
	if (!strcmp(parts[0], "uname"))
		take_uname(im, text, len);
	else if (!strcmp(parts[0], "notes"))
		im->has_notes = xvt_build_id_of_notes(bytes, len, im->build_id);
	return 0;
}

/* --- events of the kernel itself --- */

static int by_name(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	return strcmp(a->name, b->name);
}

static int by_id(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* Whether the kernel itself has a tracepoint of that name, and no module has one. */
static bool is_of_kernel(const struct import *im, const struct event *e)
{
	struct symbol key, *s;

	if (!strcmp(e->system, "ftrace") || !strcmp(e->system, "syscalls"))
		return true;
	if (!im->nr_symbols)
		return false;
	snprintf(key.name, sizeof(key.name), "%s", e->name);
	s = bsearch(&key, im->symbols, im->nr_symbols, sizeof(*im->symbols), by_name);
	if (!s)
		return false;
	while (s > im->symbols && !by_name(s - 1, &key))
		s--;
	for (; s < im->symbols + im->nr_symbols && !by_name(s, &key); s++) {
		if (s->of_module)
			return false;
	}
	return true;
}

/* Returns 0, or -errno with result->why. */
static int add_events(struct xvt_formats *f, const struct import *im, bool all,
		      struct xvt_import_result *result)
{
	const char *why;
	uint16_t last = 0;
	size_t i;

	for (i = 0; i < im->nr_events; i++) {
		const struct event *e = &im->events[i];
		int err;

		if (!all && !is_of_kernel(im, e)) {
			result->left_out++;
			continue;
		}
		if (e->id && e->id == last)
			return xvt_fail(
				&result->why, -EBADMSG,
				"two events have the number %u: it is no copy of one kernel's",
				e->id);
		last = e->id ? e->id : last;
		err = xvt_formats_add(f, e->system, e->name, e->text, e->len, &why);
		if (err == -ENOMEM)
			return err;
		result->unreadable += err != 0;
	}
	if (f->count)
		return 0;
	return xvt_fail(&result->why, -ENODATA, "it has no format of an event of the kernel's");
}

/* What is missing, or NULL. */
static const char *missing(const struct import *im, bool no_modules)
{
	if (!im->nr_events && im->has_empty)
		return "all formats are empty: tar does not read files whose size is said to be 0. "
		       "Copy the folder by cp first, as xvtrace-formats(1) shows";
	if (!im->nr_events)
		return "it has no file events/SYSTEM/EVENT/format";
	if (!im->has_notes)
		return "it has no build id: a copy of /sys/kernel/notes has to be there, as notes";
	if (!im->kernel[0])
		return "it does not name its kernel: what `uname -srvm` prints has to be there, as "
		       "uname";
	if (!im->has_symbols && !no_modules)
		return "it does not tell which events are modules': the lines of /proc/kallsyms "
		       "with __traceiter_ have to be there, as kallsyms";
	return NULL;
}

static int make(struct xvt_formats *f, struct import *im, bool no_modules,
		struct xvt_import_result *result)
{
	const char *why = missing(im, no_modules);
	int err;

	if (why)
		return xvt_fail(&result->why, -ENODATA, "%s", why);
	result->unreadable = im->unreadable;
	if (im->symbols)
		qsort(im->symbols, im->nr_symbols, sizeof(*im->symbols), by_name);
	qsort(im->events, im->nr_events, sizeof(*im->events), by_id);
	err = xvt_formats_begin(f, im->build_id, im->kernel, no_modules ? "boot" : "import", &why);
	if (err)
		return xvt_fail(&result->why, err, "%s", why);
	err = add_events(f, im, no_modules, result);
	if (err)
		xvt_formats_free(f);
	return err;
}

static void free_import(struct import *im)
{
	for (size_t i = 0; i < im->nr_events; i++)
		free(im->events[i].text);
	free(im->events);
	free(im->symbols);
}

int xvt_formats_import_tar(struct xvt_formats *f, const uint8_t *tar, size_t len, bool no_modules,
			   struct xvt_import_result *result)
{
	struct import im = { 0 };
	const char *why = strerror(ENOMEM);
	int err;

	memset(result, 0, sizeof(*result));
	err = xvt_tar_each(tar, len, take_file, &im, &why);
	xvt_fail(&result->why, 0, "%s", why);
	if (!err)
		err = make(f, &im, no_modules, result);
	free_import(&im);
	return err;
}

/* --- folders and files --- */

/* Read a file, also one whose size is said to be 0. Returns 0 or -errno. */
static int read_file(int at, const char *name, size_t most, uint8_t **bytes, size_t *len)
{
	const int fd = openat(at, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	size_t room = 0;
	ssize_t n = 1;

	*bytes = NULL;
	*len = 0;
	if (fd < 0)
		return -errno;
	while (n > 0 && *len <= most) {
		if (xvt_grow(bytes, &room, *len + 65536, 1)) {
			errno = ENOMEM;
			n = -1;
			break;
		}
		n = read(fd, *bytes + *len, room - *len);
		if (n > 0)
			*len += (size_t)n;
	}
	if (*len > most) {
		errno = EFBIG;
		n = -1;
	}
	close(fd);
	if (!n)
		return 0;
	free(*bytes);
	*bytes = NULL;
	return -errno;
}

/* Take a file of a folder; one that is not there is missing later. */
static int take_from(struct import *im, int dir, const char *path)
{
	uint8_t *bytes;
	size_t len;
	int err = read_file(dir, path, PART_MAX, &bytes, &len);

	if (err)
		return err == -ENOMEM ? err : 0;
	err = take_file(im, path, bytes, len);
	free(bytes);
	return err;
}

static int each_folder(int at, const char *name, int (*fn)(void *arg, int fd, const char *name),
		       void *arg)
{
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int err = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0; /* a file, or not there */
	}
	while (!err && (e = readdir(dir))) {
		if (e->d_name[0] != '.')
			err = fn(arg, fd, e->d_name);
	}
	closedir(dir);
	return err;
}

struct walk {
	struct import *im;
	const char *system;
};

static int walk_event(void *arg, int fd, const char *name)
{
	char path[NAME_SIZE + 16], whole[XVT_TAR_PATH];
	struct walk *w = arg;
	uint8_t *bytes;
	size_t len;
	int err;

	if (snprintf(path, sizeof(path), "%s/format", name) >= (int)sizeof(path))
		return 0;
	err = read_file(fd, path, PART_MAX, &bytes, &len);
	if (err)
		return err == -ENOMEM ? err : 0;
	snprintf(whole, sizeof(whole), "events/%s/%s", w->system, path);
	err = take_file(w->im, whole, bytes, len);
	free(bytes);
	return err;
}

static int walk_system(void *arg, int fd, const char *name)
{
	struct walk w = { arg, name };

	return strlen(name) < NAME_SIZE ? each_folder(fd, name, walk_event, &w) : 0;
}

static int import_folder(struct xvt_formats *f, int dir, struct xvt_import_result *result)
{
	struct import im = { 0 };
	int err = take_from(&im, dir, "notes");

	if (!err)
		err = take_from(&im, dir, "uname");
	if (!err)
		err = take_from(&im, dir, "kallsyms");
	if (!err)
		err = each_folder(dir, "events", walk_system, &im);
	if (!err)
		err = make(f, &im, false, result);
	else
		xvt_fail(&result->why, 0, "%s", strerror(-err));
	free_import(&im);
	return err;
}

int xvt_formats_import(struct xvt_formats *f, const char *path, struct xvt_import_result *result)
{
	const int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint8_t *bytes;
	size_t len;
	int err;

	memset(result, 0, sizeof(*result));
	if (dir >= 0) {
		err = import_folder(f, dir, result);
		close(dir);
		return err;
	}
	err = read_file(AT_FDCWD, path, XVT_IMPORT_TAR_MAX, &bytes, &len);
	if (err)
		return xvt_fail(&result->why, err, "%s", strerror(-err));
	err = xvt_formats_import_tar(f, bytes, len, false, result);
	free(bytes);
	return err;
}
