// SPDX-License-Identifier: GPL-2.0
/*
 * enums.c - see enums.h. BTF is a header, types and names (Documentation/bpf/btf.rst). The file of
 * a module goes on where that of the kernel, `vmlinux`, ends: offsets of names count on from there.
 */
#define _GNU_SOURCE
#include "vmm/enums.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"

#define BTF_DIR	    "/sys/kernel/btf"
#define BTF_BASE    "vmlinux"
#define BTF_MAGIC   0xeb9fu
#define BTF_MOST    (64u << 20) /* bytes of a file */
#define KIND_ENUM   6u
#define KIND_LAST   19u
#define KIND_ENUM64 KIND_LAST

struct constant {
	const char *name;
	int64_t value;
	bool many; /* has several values */
};

struct names {
	const char *text;
	uint32_t len;
};

struct xvt_enums {
	char *dir;
	bool loaded;
	struct names base;
	char **files; /* the names are in these */
	size_t nr_files, file_room;
	struct constant *v; /* by name */
	size_t count, room;
};

struct xvt_enums *xvt_enums_new(const char *dir)
{
	struct xvt_enums *e = calloc(1, sizeof(*e));

	if (e)
		e->dir = strdup(dir ? dir : BTF_DIR);
	if (e && !e->dir) {
		free(e);
		return NULL;
	}
	return e;
}

void xvt_enums_free(struct xvt_enums *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->nr_files; i++)
		free(e->files[i]);
	free(e->files);
	free(e->v);
	free(e->dir);
	free(e);
}

/* -- BTF ------------------------------------------------------------------------------- */

struct header {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint32_t hdr_len;
	uint32_t type_off;
	uint32_t type_len;
	uint32_t str_off;
	uint32_t str_len;
};

struct type {
	uint32_t name;
	uint32_t info; /* 16 bits: members; 5 from bit 24: kind; bit 31: a signed enumeration */
	uint32_t size;
};

/* Bytes behind a type: of it, and of each of its members. */
static const struct {
	uint8_t own;
	uint8_t member;
} behind[KIND_LAST + 1] = {
	[1] = { 4, 0 },		[3] = { 12, 0 },	   [4] = { 0, 12 }, [5] = { 0, 12 },
	[KIND_ENUM] = { 0, 8 }, [13] = { 0, 8 },	   [14] = { 4, 0 }, [15] = { 0, 12 },
	[17] = { 4, 0 },	[KIND_ENUM64] = { 0, 12 },
};

static const char *name_at(const struct names *base, const struct names *own, uint32_t offset)
{
	if (offset < base->len)
		return base->text + offset;
	offset -= base->len;
	return offset < own->len ? own->text + offset : "";
}

static int add_constant(struct xvt_enums *e, const char *name, int64_t value)
{
	int err = xvt_grow(&e->v, &e->room, e->count + 1, sizeof(*e->v));

	if (!err)
		e->v[e->count++] = (struct constant){ .name = name, .value = value };
	return err;
}

/* A member of an enumeration: name, and a value of 4 or 8 bytes. */
static int64_t member_value(const uint8_t *member, uint32_t kind, bool is_signed)
{
	uint32_t low, high = 0;

	memcpy(&low, member + 4, sizeof(low));
	if (kind == KIND_ENUM64)
		memcpy(&high, member + 8, sizeof(high));
	else if (is_signed)
		return (int32_t)low;
	return (int64_t)((uint64_t)high << 32 | low);
}

static int take_members(struct xvt_enums *e, const struct names *own, const struct type *t,
			const uint8_t *members)
{
	const uint32_t kind = t->info >> 24 & 31;
	int err = 0;

	for (uint32_t i = 0; i < (t->info & 0xffff) && !err; i++) {
		const uint8_t *member = members + i * behind[kind].member;
		uint32_t name;

		memcpy(&name, member, sizeof(name));
		err = add_constant(e, name_at(&e->base, own, name),
				   member_value(member, kind, t->info >> 31));
	}
	return err;
}

/* Take the enumerations among the types, up to one that is not known. */
static void take_types(struct xvt_enums *e, const struct names *own, const uint8_t *p, size_t len)
{
	while (len >= sizeof(struct type)) {
		struct type t;
		uint32_t kind;
		size_t size;

		memcpy(&t, p, sizeof(t));
		kind = t.info >> 24 & 31;
		if (kind > KIND_LAST)
			return;
		size = behind[kind].own + (size_t)behind[kind].member * (t.info & 0xffff);
		p += sizeof(t);
		len -= sizeof(t);
		if (size > len)
			return;
		if ((kind == KIND_ENUM || kind == KIND_ENUM64) && take_members(e, own, &t, p))
			return;
		p += size;
		len -= size;
	}
}

/* Returns whether the parts of a file lie in it and its names end with a zero byte. */
static bool is_sound(const struct header *h, const char *bytes, size_t size)
{
	const uint64_t types = (uint64_t)h->hdr_len + h->type_off,
		       names = (uint64_t)h->hdr_len + h->str_off;

	return h->magic == BTF_MAGIC && types + h->type_len <= size && names + h->str_len <= size &&
	       h->str_len && !bytes[names + h->str_len - 1];
}

/* Read a file; NULL: none, or too large. */
static char *read_file(const char *dir, const char *file, size_t *size)
{
	char *path = NULL, *bytes = NULL;
	struct stat st;
	int fd;

	if (asprintf(&path, "%s/%s", dir, file) < 0)
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0 && st.st_size <= BTF_MOST)
		bytes = malloc((size_t)st.st_size);
	if (bytes && xvt_read_all_at(fd, bytes, (size_t)st.st_size, 0)) {
		free(bytes);
		bytes = NULL;
	}
	close(fd);
	*size = bytes ? (size_t)st.st_size : 0;
	return bytes;
}

static void load_file(struct xvt_enums *e, const char *file)
{
	size_t size = 0;
	char *bytes = read_file(e->dir, file, &size);
	struct names own;
	struct header h;

	if (size >= sizeof(h))
		memcpy(&h, bytes, sizeof(h));
	if (size < sizeof(h) || !is_sound(&h, bytes, size) ||
	    xvt_grow(&e->files, &e->file_room, e->nr_files + 1, sizeof(*e->files))) {
		free(bytes);
		return;
	}
	e->files[e->nr_files++] = bytes;
	own = (struct names){ bytes + h.hdr_len + h.str_off, h.str_len };
	take_types(e, &own, (uint8_t *)bytes + h.hdr_len + h.type_off, h.type_len);
	if (strcmp(file, BTF_BASE) == 0)
		e->base = own;
}

static int by_name(const void *pa, const void *pb)
{
	const struct constant *a = pa, *b = pb;

	return strcmp(a->name, b->name);
}

/* Sort the constants, each once. */
static void settle(struct xvt_enums *e)
{
	size_t n = 0;

	if (e->count)
		qsort(e->v, e->count, sizeof(*e->v), by_name);
	for (size_t i = 0; i < e->count; i++) {
		if (n && strcmp(e->v[n - 1].name, e->v[i].name) == 0)
			e->v[n - 1].many |= e->v[n - 1].value != e->v[i].value;
		else
			e->v[n++] = e->v[i];
	}
	e->count = n;
}

static void load(struct xvt_enums *e)
{
	struct dirent *entry;
	DIR *dir;

	if (e->loaded)
		return;
	e->loaded = true;
	load_file(e, BTF_BASE);
	dir = e->base.len ? opendir(e->dir) : NULL;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, BTF_BASE) != 0)
			load_file(e, entry->d_name);
	if (dir)
		closedir(dir);
	settle(e);
}

static const struct constant *find(struct xvt_enums *e, const char *name, size_t len)
{
	char word[128];
	const struct constant key = { .name = word }, *c;

	if (len >= sizeof(word))
		return NULL;
	memcpy(word, name, len);
	word[len] = '\0';
	load(e);
	c = e->count ? bsearch(&key, e->v, e->count, sizeof(*e->v), by_name) : NULL;
	return c && !c->many ? c : NULL;
}

/* -- formats ---------------------------------------------------------------------------- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* The end of the literal, name, number or other sign at p. */
static const char *token_end(const char *p)
{
	if (is_word(*p)) {
		while (is_word(*p))
			p++;
		return p;
	}
	if (*p++ != '"')
		return p;
	while (*p && *p != '"')
		p += *p == '\\' && p[1] ? 2 : 1;
	return *p ? p + 1 : p;
}

/* Whether the text before p ends with this. */
static bool follows(const char *begin, const char *p, const char *text)
{
	const size_t len = strlen(text);

	while (p > begin && p[-1] == ' ')
		p--;
	return (size_t)(p - begin) >= len && memcmp(p - len, text, len) == 0;
}

/* Whether p is the name of a field: REC->p, or __get_str(p) and the like. */
static bool is_field(const char *begin, const char *p)
{
	const char *open = p;

	if (follows(begin, p, "->") || follows(begin, p, "."))
		return true;
	if (!follows(begin, p, "("))
		return false;
	while (*--open != '(')
		;
	p = open;
	while (p > begin && is_word(p[-1]))
		p--;
	return open - p > 6 && strncmp(p, "__get_", 6) == 0;
}

/* The constant of this name, if it stands where one can stand. */
static const struct constant *constant_at(struct xvt_enums *e, const char *begin, const char *p,
					  const char *end)
{
	const size_t len = (size_t)(end - p);

	if (*p < 'A' || *p > 'Z' || strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") < len ||
	    (len == 3 && memcmp(p, "REC", 3) == 0) || end[strspn(end, " ")] == '(' ||
	    is_field(begin, p))
		return NULL;
	return find(e, p, len);
}

char *xvt_enums_resolve(struct xvt_enums *e, const char *format, size_t *size)
{
	static const char border[] = "\nprint fmt: ";
	const char *begin = strstr(format, border), *written = format, *end;
	char *text = NULL;
	bool any = false;
	FILE *f;

	f = begin ? open_memstream(&text, size) : NULL;
	if (!f)
		return NULL;
	begin += strlen(border);
	for (const char *p = begin; *p; p = end) {
		const struct constant *c;

		end = token_end(p);
		c = constant_at(e, begin, p, end);
		if (!c)
			continue;
		any = true;
		fwrite(written, 1, (size_t)(p - written), f);
		fprintf(f, c->value < 0 ? "(%" PRId64 ")" : "%" PRId64, c->value);
		written = end;
	}
	fputs(written, f);
	if (fclose(f) || !any) {
		free(text);
		return NULL;
	}
	return text;
}
