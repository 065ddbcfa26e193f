// SPDX-License-Identifier: GPL-2.0
/*
 * dat_types.c - see dat.h. Numbers and formats of the types in a machine's file. A type with a
 * format of its guest keeps it, and its number if that is free: two boots may use one number for
 * two formats. Other types get a format that is made here from their fields.
 */
#include "export/dat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Numbers of types are below this: libkshark takes those above for its own entries. */
#define IDS	   32768u
#define COMMON_LEN 8u

/* -- numbers ------------------------------------------------------------------------ */

static bool take_id(struct dat_types *t, uint16_t id)
{
	const uint64_t bit = 1ull << (id & 63);

	if (!id || id >= IDS || t->ids[id >> 6] & bit)
		return false;
	t->ids[id >> 6] |= bit;
	return true;
}

/* Returns 0 if none is free. */
static uint16_t free_id(struct dat_types *t)
{
	while (t->next) {
		const uint16_t id = (uint16_t)t->next--;

		if (take_id(t, id))
			return id;
	}
	return 0;
}

static int add_used(struct dat_types *t, const struct xvtrace_type *type, uint16_t id, bool copy)
{
	if (xvt_grow(&t->used, &t->used_room, t->used_count + 1, sizeof(*t->used)))
		return -ENOMEM;
	t->used[t->used_count++] = (struct dat_used){ .type = type, .id = id, .copy = copy };
	return 0;
}

static int begin(struct dat_types *t)
{
	if (t->ids)
		return 0;
	t->ids = calloc(IDS / 64, sizeof(*t->ids));
	t->next = IDS - 1;
	return t->ids ? 0 : -ENOMEM;
}

int dat_rest(struct dat_types *t, uint16_t *id)
{
	int err = begin(t);

	if (!err && !t->rest) {
		t->rest = free_id(t);
		err = add_used(t, NULL, t->rest, false);
	}
	*id = t->rest;
	return err;
}

/* -- types ----------------------------------------------------------------------------- */

int dat_type_new(struct dat_types *t, struct xvtrace_reader *reader, const struct xvtrace_event *ev,
		 struct dat_type *type)
{
	const bool copy = xvtrace_type_format(reader, ev->type) != NULL;
	int err = begin(t);
	uint16_t id = 0;

	if (!err && copy)
		err = dat_twin(t, reader, ev->type, type);
	if (err || type->known)
		return err;
	if (copy)
		memcpy(&id, ev->data, sizeof(id));
	/* The last number is for the type of all the rest. */
	if (t->used_count < IDS - 3) {
		if (!take_id(t, id))
			id = free_id(t);
		type->how = copy ? DAT_COPY : DAT_BUILD;
		err = add_used(t, ev->type, id, copy);
	} else {
		type->how = DAT_REST;
		err = dat_rest(t, &id);
	}
	type->id = id;
	type->known = !err;
	return err;
}

/* -- records ------------------------------------------------------------------------ */

struct record {
	uint8_t *to;
	size_t fixed; /* where the next field goes */
	size_t used;  /* bytes, with those of texts and lists */
	bool cut;
};

static void begin_record(struct record *r, const struct xvtrace_event *ev, uint16_t id)
{
	const int32_t pid32 = dat_pid(ev);

	memcpy(r->to, &id, sizeof(id));
	r->to[2] = ev->irq_flags;
	r->to[3] = ev->preempt_count;
	memcpy(r->to + 4, &pid32, sizeof(pid32));
	r->fixed = COMMON_LEN;
}

/* Append bytes, as far as they fit, and write where they are. text: with a zero byte. */
static void put_bytes(struct record *r, const void *p, size_t len, size_t element, bool text)
{
	size_t room = DAT_RECORD_MAX - r->used;
	uint32_t loc;

	room = room > text ? room - text : 0;
	if (len > room) {
		len = room / element * element;
		r->cut = true;
	}
	loc = (uint32_t)r->used | (uint32_t)(len + text) << 16;
	memcpy(r->to + r->fixed, &loc, sizeof(loc));
	r->fixed += sizeof(loc);
	if (len)
		memcpy(r->to + r->used, p, len);
	r->used += len;
	if (text && r->used < DAT_RECORD_MAX)
		r->to[r->used++] = 0;
}

static bool is_number(const struct xvtrace_field *f)
{
	return f->kind == XVTRACE_UINT || f->kind == XVTRACE_INT;
}

size_t dat_build(const struct xvtrace_event *ev, const struct dat_type *type,
		 uint8_t to[DAT_RECORD_MAX], bool *cut)
{
	struct record r = { .to = to, .used = COMMON_LEN };

	for (unsigned int i = 0; i < ev->type->fields; i++) {
		const struct xvtrace_field *f = xvtrace_field(ev->type, i);

		r.used += is_number(f) ? f->size : 4;
	}
	begin_record(&r, ev, type->id);
	for (unsigned int i = 0; i < ev->type->fields; i++) {
		const struct xvtrace_field *f = xvtrace_field(ev->type, i);
		struct xvtrace_value v;

		xvtrace_value(ev, f, &v);
		if (is_number(f)) {
			memcpy(to + r.fixed, &v.u, f->size);
			r.fixed += f->size;
		} else if (f->kind == XVTRACE_STRING) {
			put_bytes(&r, v.data, v.count, 1, true);
		} else {
			put_bytes(&r, v.data, v.count * f->size, f->size, false);
		}
	}
	*cut = r.cut;
	return r.used;
}

size_t dat_build_rest(const struct xvtrace_event *ev, uint16_t id, uint8_t to[DAT_RECORD_MAX],
		      bool *cut)
{
	struct record r = { .to = to, .used = COMMON_LEN + 12 };

	begin_record(&r, ev, id);
	put_bytes(&r, ev->type->system, strlen(ev->type->system), 1, true);
	put_bytes(&r, ev->type->name, strlen(ev->type->name), 1, true);
	put_bytes(&r, ev->data, ev->data_len, 1, false);
	*cut = r.cut;
	return r.used;
}

/* -- formats ------------------------------------------------------------------------ */

static const char common_fields[] =
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

static void put_field(struct dat_bytes *b, const struct xvtrace_field *f, unsigned int *offset)
{
	const bool is_signed = f->kind == XVTRACE_INT || f->kind == XVTRACE_INTS;
	const unsigned int size = is_number(f) ? f->size : 4;

	if (f->kind == XVTRACE_STRING)
		dat_printf(b, "\tfield:__data_loc char[] %s;", f->name);
	else
		dat_printf(b, "\tfield:%s%c%u%s %s;", is_number(f) ? "" : "__data_loc ",
			   is_signed ? 's' : 'u', f->size * 8, is_number(f) ? "" : "[]", f->name);
	dat_printf(b, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", *offset, size, is_signed);
	*offset += size;
}

static void put_conversion(struct dat_bytes *b, const struct xvtrace_field *f, bool first)
{
	dat_printf(b, "%s%s=%s", first ? "" : " ", f->name,
		   f->kind == XVTRACE_UINT  ? "%llu"
		   : f->kind == XVTRACE_INT ? "%lld"
					    : "%s");
}

static void put_argument(struct dat_bytes *b, const struct xvtrace_field *f)
{
	if (f->kind == XVTRACE_STRING)
		dat_printf(b, ", __get_str(%s)", f->name);
	else if (is_number(f))
		dat_printf(b, ", REC->%s", f->name);
	else
		dat_printf(b,
			   ", __print_array(__get_dynamic_array(%s), "
			   "__get_dynamic_array_len(%s) / %u, %u)",
			   f->name, f->name, f->size, f->size);
}

static void put_built(struct dat_bytes *b, const struct dat_used *u)
{
	unsigned int offset = COMMON_LEN;

	dat_printf(b, "name: %s\nID: %u\nformat:\n", u->type->name, u->id);
	dat_put_str(b, common_fields);
	for (unsigned int i = 0; i < u->type->fields; i++)
		put_field(b, xvtrace_field(u->type, i), &offset);
	dat_put_str(b, "\nprint fmt: \"");
	for (unsigned int i = 0; i < u->type->fields; i++)
		put_conversion(b, xvtrace_field(u->type, i), !i);
	dat_put_str(b, "\"");
	for (unsigned int i = 0; i < u->type->fields; i++)
		put_argument(b, xvtrace_field(u->type, i));
	dat_put_str(b, "\n");
}

static void put_rest(struct dat_bytes *b, const struct dat_used *u)
{
	dat_printf(b, "name: other\nID: %u\nformat:\n", u->id);
	dat_put_str(b, common_fields);
	dat_put_str(b, "\tfield:__data_loc char[] system;\toffset:8;\tsize:4;\tsigned:1;\n"
		       "\tfield:__data_loc char[] event;\toffset:12;\tsize:4;\tsigned:1;\n"
		       "\tfield:__data_loc u8[] data;\toffset:16;\tsize:4;\tsigned:0;\n\n"
		       "print fmt: \"%s:%s data=%s\", __get_str(system), __get_str(event), "
		       "__print_hex(__get_dynamic_array(data), __get_dynamic_array_len(data))\n");
}

/* Whether what follows a division is a number other than 0, and nothing that could change it. */
static bool is_divisor(const char *p)
{
	char *end;

	p += strspn(p, " ");
	if (strncmp(p, "sizeof(", 7) == 0)
		return true;
	if (*p < '0' || *p > '9' || !strtoull(p, &end, 0))
		return false;
	end += strspn(end, "uUlL ");
	return !strchr("*/%", *end) || !*end;
}

/* Whether a print format divides by constants alone: libtraceevent ends the program that divides by
 * a field of 0. */
static bool is_safe(const char *p)
{
	bool in_text = false;

	for (; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '"')
			in_text = !in_text;
		else if (!in_text && (*p == '/' || *p == '%') && !is_divisor(p + 1))
			return false;
	}
	return true;
}

static void put_numbers(struct dat_bytes *b, const struct xvtrace_type *type)
{
	bool first = true;

	dat_put_str(b, "\"");
	for (unsigned int i = 0; i < type->fields; i++) {
		const struct xvtrace_field *f = xvtrace_field(type, i);

		if (is_number(f))
			put_conversion(b, f, first);
		first = first && !is_number(f);
	}
	dat_put_str(b, "\"");
	for (unsigned int i = 0; i < type->fields; i++)
		if (is_number(xvtrace_field(type, i)))
			put_argument(b, xvtrace_field(type, i));
	dat_put_str(b, "\n");
}

/* The guest's format with the number that the type has in this file. */
static void put_copied(struct dat_bytes *b, const struct dat_used *u, struct xvtrace_reader *reader)
{
	static const char border[] = "\nprint fmt: ";
	const char *text = xvtrace_type_format(reader, u->type);
	const char *id = text ? strstr(text, "\nID:") : NULL;
	const char *print = id ? strstr(id, border) : NULL;

	if (!print)
		return;
	print += strlen(border);
	dat_put(b, text, (size_t)(id - text));
	dat_printf(b, "\nID: %u", u->id);
	id += 1 + strcspn(id + 1, "\n");
	dat_put(b, id, (size_t)(print - id));
	if (is_safe(print))
		dat_put_str(b, print);
	else
		put_numbers(b, u->type);
}

static void put_sized(struct dat_bytes *b, const struct dat_used *u, struct xvtrace_reader *reader)
{
	const size_t at = b->used;
	uint64_t len = 0;

	dat_put(b, &len, sizeof(len));
	if (!u->type)
		put_rest(b, u);
	else if (u->copy)
		put_copied(b, u, reader);
	else
		put_built(b, u);
	len = b->used - at - sizeof(len);
	if (!b->failed)
		memcpy(b->p + at, &len, sizeof(len));
}

/* -- systems ------------------------------------------------------------------------ */

/*
 * The system of a type in the file. Events that the guest's module probes itself are the kernel's
 * there, because viewers look for them by that name.
 */
static const char *system_of(const struct dat_used *u)
{
	return u->type ? u->type->kernel_system : "xvt";
}

static bool is_ftrace(const struct dat_used *u)
{
	return u->copy && strcmp(system_of(u), "ftrace") == 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct dat_used *a = pa, *b = pb;
	const int by_system = strcmp(system_of(a), system_of(b));

	return by_system ? by_system : (int)a->id - (int)b->id;
}

static void set_count(struct dat_bytes *b, size_t at, uint32_t count)
{
	if (!b->failed)
		memcpy(b->p + at, &count, sizeof(count));
}

void dat_ftrace_formats(struct dat_bytes *b, struct dat_types *t, struct xvtrace_reader *reader)
{
	const size_t at = b->used;
	uint32_t count = 0;

	dat_put(b, &count, sizeof(count));
	for (size_t i = 0; i < t->used_count; i++) {
		if (!is_ftrace(&t->used[i]))
			continue;
		put_sized(b, &t->used[i], reader);
		count++;
	}
	set_count(b, at, count);
}

/* A system's name is any text of the guest. */
static void put_system(struct dat_bytes *b, const char *name)
{
	for (; *name; name++)
		dat_put(b, *name > ' ' && *name < 0x7f && *name != '/' ? name : "_", 1);
	dat_put(b, "", 1);
}

void dat_formats(struct dat_bytes *b, struct dat_types *t, struct xvtrace_reader *reader)
{
	const size_t systems_at = b->used;
	size_t events_at = 0;
	uint32_t systems = 0, events = 0;
	const char *system = NULL;

	if (t->used_count)
		qsort(t->used, t->used_count, sizeof(*t->used), compare);
	dat_put(b, &systems, sizeof(systems));
	for (size_t i = 0; i < t->used_count; i++) {
		const struct dat_used *u = &t->used[i];

		if (is_ftrace(u))
			continue;
		if (!system || strcmp(system, system_of(u)) != 0) {
			if (system)
				set_count(b, events_at, events);
			system = system_of(u);
			put_system(b, system);
			events_at = b->used;
			events = 0;
			dat_put(b, &events, sizeof(events));
			systems++;
		}
		put_sized(b, u, reader);
		events++;
	}
	if (system)
		set_count(b, events_at, events);
	set_count(b, systems_at, systems);
}
