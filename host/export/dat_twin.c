// SPDX-License-Identifier: GPL-2.0
/*
 * dat_twin.c - see dat.h. One event of the kernel by two names: both ftrace and the guest's module
 * may have recorded it, each for a while. Viewers find a type by its name, and take the first. Both
 * have one number and one format: that of the one that came first. Where their records are not
 * alike, those of the other are made anew.
 */
#define _GNU_SOURCE /* memmem() */
#include "export/dat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMON_LEN 8u /* of all records: type, flags, preempt_count, pid */

/* A field of a record, and the field of the event that has its value. */
struct place {
	unsigned int offset;
	unsigned int size;
	bool loc;
	const struct xvtrace_field *from;
};

struct dat_layout {
	unsigned int fixed; /* bytes of the record, less what __data_loc leads to */
	size_t count;
	struct place places[];
};

/* A field's line in a format. */
struct line {
	const char *name; /* with what stands behind it, such as "[16]" */
	size_t len;
	unsigned int offset;
	unsigned int size;
	bool loc; /* a text or list behind the fields: length and place are here */
};

/* Get the next field of a format, and move on. Returns false behind the last one. */
static bool next_line(const char **text, struct line *line)
{
	const char *at = strstr(*text, "\tfield:"), *end = at ? strchr(at, ';') : NULL;

	if (!end || sscanf(end, ";\toffset:%u;\tsize:%u;", &line->offset, &line->size) != 2)
		return false;
	line->name = end;
	while (line->name > at && line->name[-1] != ' ' && line->name[-1] != '\t')
		line->name--;
	line->len = (size_t)(end - line->name);
	line->loc = memmem(at, (size_t)(end - at), "__data_loc ", 11) != NULL;
	*text = end;
	return true;
}

/* Whether the records of both formats are alike, so that either describes both. */
static bool same_layout(const char *a, const char *b)
{
	struct line la, lb;

	for (;;) {
		const bool more = next_line(&a, &la), more_b = next_line(&b, &lb);

		if (!more || !more_b)
			return more == more_b;
		if (la.offset != lb.offset || la.size != lb.size || la.len != lb.len ||
		    memcmp(la.name, lb.name, la.len) != 0)
			return false;
	}
}

/* ------------------------------------------------------------------ records made anew */

static bool is_common(const struct line *l)
{
	return l->len > 7 && memcmp(l->name, "common_", 7) == 0;
}

/* "name[16]" is field "name". */
static const struct xvtrace_field *field_of(const struct xvtrace_type *type, const struct line *l)
{
	const size_t len = strcspn(l->name, "[;");

	for (unsigned int i = 0; i < type->fields; i++) {
		const struct xvtrace_field *f = xvtrace_field(type, i);

		if (strlen(f->name) == len && memcmp(f->name, l->name, len) == 0)
			return f;
	}
	return NULL;
}

static bool is_number(const struct xvtrace_field *f)
{
	return f->kind == XVTRACE_UINT || f->kind == XVTRACE_INT;
}

/* Whether the line's part of a record can hold the field. */
static bool fits(const struct line *l, const struct xvtrace_field *f)
{
	const bool array = memchr(l->name, '[', l->len) != NULL;

	if (is_number(f))
		return !l->loc && !array && l->size <= sizeof(uint64_t);
	return f->kind == XVTRACE_STRING && (l->loc ? l->size == sizeof(uint32_t) : array);
}

/* Fields without a place in that format that may be left out: an interrupt's vector, which only the
 * guest's module records. */
static size_t own_fields(const struct xvtrace_type *type, const char *format)
{
	return xvtrace_field_named(type, "vector") && !strstr(format, " vector;");
}

/*
 * The places of a type's fields in records of another format. NULL: not all of them have one, or
 * there is no memory.
 */
static struct dat_layout *layout_of(const struct xvtrace_type *type, const char *format)
{
	struct dat_layout *to = calloc(1, sizeof(*to) + type->fields * sizeof(to->places[0]));
	const size_t own = own_fields(type, format);
	struct line l;

	if (!to)
		return NULL;
	to->fixed = COMMON_LEN;
	while (next_line(&format, &l)) {
		const struct xvtrace_field *f = is_common(&l) ? NULL : field_of(type, &l);

		if (l.offset > DAT_RECORD_MAX / 2 || l.size > DAT_RECORD_MAX / 2)
			break;
		if (l.offset + l.size > to->fixed)
			to->fixed = l.offset + l.size;
		if (!f)
			continue;
		if (!fits(&l, f) || to->count == type->fields)
			break;
		to->places[to->count++] = (struct place){ l.offset, l.size, l.loc, f };
	}
	if (to->count + own == type->fields && !next_line(&format, &l))
		return to;
	free(to);
	return NULL;
}

/* Puts a text at its place, and what __data_loc leads to at `used`. Returns the record's length. */
static size_t put_text(uint8_t *to, size_t used, const struct place *p,
		       const struct xvtrace_value *v, bool *cut)
{
	const size_t room = p->loc ? DAT_RECORD_MAX - used : p->size;
	const size_t len = v->count < room ? v->count : room - 1;
	uint8_t *text = to + (p->loc ? used : p->offset);
	uint32_t loc;

	*cut |= len < v->count;
	if (len)
		memcpy(text, v->data, len);
	text[len] = 0;
	if (!p->loc)
		return used;
	loc = (uint32_t)used | (uint32_t)(len + 1) << 16;
	memcpy(to + p->offset, &loc, sizeof(loc));
	return used + len + 1;
}

size_t dat_build_as(const struct xvtrace_event *ev, const struct dat_type *type,
		    uint8_t to[DAT_RECORD_MAX], bool *cut)
{
	const struct dat_layout *as = type->as;
	const int32_t pid32 = dat_pid(ev);
	size_t used = as->fixed;

	memset(to, 0, as->fixed);
	memcpy(to, &type->id, sizeof(type->id));
	to[2] = ev->irq_flags;
	to[3] = ev->preempt_count;
	memcpy(to + 4, &pid32, sizeof(pid32));
	for (size_t i = 0; i < as->count; i++) {
		const struct place *p = &as->places[i];
		struct xvtrace_value v;

		xvtrace_value(ev, p->from, &v);
		if (is_number(p->from))
			memcpy(to + p->offset, &v.u, p->size);
		else if (!p->loc || used < DAT_RECORD_MAX)
			used = put_text(to, used, p, &v, cut);
	}
	return used;
}

/* ------------------------------------------------------------------ types */

/* The next type at or behind *at of the same event. NULL: there is none. */
static const struct dat_used *next_twin(const struct dat_types *t, const struct xvtrace_type *type,
					size_t *at)
{
	while (*at < t->used_count) {
		const struct dat_used *u = &t->used[(*at)++];

		if (u->copy && strcmp(u->type->system, type->system) != 0 &&
		    strcmp(u->type->kernel_system, type->kernel_system) == 0 &&
		    strcmp(u->type->name, type->name) == 0)
			return u;
	}
	return NULL;
}

int dat_twin(struct dat_types *t, struct xvtrace_reader *reader, const struct xvtrace_type *event,
	     struct dat_type *type)
{
	const struct dat_used *u;
	const char *text;
	char *own = NULL; /* the reader has one format at a time */
	size_t at = 0;

	while (!type->known && (u = next_twin(t, event, &at))) {
		text = own ? own : xvtrace_type_format(reader, event);
		if (!own && !(own = text ? strdup(text) : NULL))
			return -ENOMEM;
		text = xvtrace_type_format(reader, u->type);
		if (!text)
			continue;
		type->how = DAT_COPY;
		type->known = same_layout(own, text);
		if (!type->known) {
			type->how = DAT_AS;
			type->as = layout_of(event, text);
			type->known = type->as != NULL;
		}
		type->id = u->id;
	}
	free(own);
	return 0;
}
