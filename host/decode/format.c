// SPDX-License-Identifier: GPL-2.0
/* format.c - see format.h. */
#include "decode/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

#include "decode/print.h"
#include "decode/limits.h"

struct xvt_tep {
	struct tep_handle *handle; /* for the class being made */
};

static char *arena_text(struct xvt_event_class *c, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	char *copy = xvt_class_alloc(c, len + 1);

	if (copy && len)
		memcpy(copy, text, len);
	return copy;
}

struct xvt_tep *xvt_tep_new(void)
{
	tep_set_loglevel(TEP_LOG_NONE); /* no messages about a guest's bad format */
	return calloc(1, sizeof(struct xvt_tep));
}

void xvt_tep_free(struct xvt_tep *tep)
{
	free(tep);
}

void xvt_tep_class_fini(struct xvt_event_class *c)
{
	xvt_class_free(c);
	memset(c, 0, sizeof(*c));
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/*
 * Check the declaration in p[0..len): "TYPE NAME", "TYPE NAME[N]" or "__data_loc TYPE[] NAME".
 * libtraceevent 1.7.1 accepts other shapes, too, but leaks memory with some.
 */
static bool declaration_is_tame(const char *p, size_t len)
{
	unsigned int open = 0, closed = 0, words = 0, words_inside = 0, words_behind = 0;
	bool in_word = false;

	if (len < 1 || len > 193)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool word = is_word_char(p[i]);

		if (p[i] == '[' && (open++ || !words))
			return false;
		if (p[i] == ']' && closed++ >= open)
			return false;
		if (open == closed && p[i] != ']' && !word && p[i] != ' ' && p[i] != '*')
			return false;
		if (open > closed && p[i] != '[' && !word && !strchr(" +-*/()", p[i]))
			return false;
		if (word && !in_word) {
			words += !open;
			words_inside += open > closed;
			words_behind += closed != 0;
		}
		in_word = word;
	}
	if (open != closed)
		return false;
	if (!words_behind)
		return words >= 2 && p[len - 1] != '*' && p[len - 1] != ' ';
	return words >= 2 && words_behind == 1 && !words_inside && is_word_char(p[len - 1]) &&
	       (strncmp(p, "__data_loc ", 11) == 0 || strncmp(p, "__rel_loc ", 10) == 0);
}

/* Check that a line is "\tfield:TYPE NAME[N];\toffset:N;\tsize:N;\tsigned:N;". */
static bool field_is_tame(const char *line, size_t len)
{
	static const char *const keys[] = { "offset:", "size:", "signed:" };
	const char *end = line + len, *p = memchr(line, ';', len);

	if (!p || !declaration_is_tame(line + 7, (size_t)(p - line) - 7))
		return false;
	for (size_t i = 0; i < 3; i++) {
		size_t digits = 0, key_len = strlen(keys[i]);

		while (p < end && (*p == ';' || *p == '\t' || *p == ' '))
			p++;
		if ((size_t)(end - p) <= key_len || memcmp(p, keys[i], key_len) != 0)
			return false;
		for (p += key_len; p < end && *p >= '0' && *p <= '9'; p++)
			digits++;
		if (!digits || digits > 6 || p == end || *p != ';')
			return false;
	}
	return true;
}

/*
 * Check the part of a format that goes to libtraceevent: name, ID, and lines of fields in the
 * shape that Linux writes. The library's parser of print fmt crashes on invalid text (1.7.1 with
 * "R[C->bytes[>9]"), so print_compile.c parses that line. Returns the begin of print fmt, or NULL
 * for text that is no format.
 */
static const char *tame_part(const char *text, size_t len)
{
	const char *end = text + len, *line = text;
	unsigned int fields = 0;

	if (len > XVT_LIMIT_FORMAT_BYTES || strlen(text) != len || strncmp(text, "name: ", 6) != 0)
		return NULL;
	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((stop ? stop : end) - line);

		if (n >= 11 && memcmp(line, "print fmt: ", 11) == 0)
			return line;
		if (n >= 7 && memcmp(line, "\tfield:", 7) == 0) {
			if (!field_is_tame(line, n) || ++fields > XVT_LIMIT_FORMAT_FIELDS)
				return NULL;
		} else if (n && memcmp(line, "name: ", n < 6 ? n : 6) != 0 &&
			   memcmp(line, "ID: ", n < 4 ? n : 4) != 0 &&
			   (n != 7 || memcmp(line, "format:", 7) != 0)) {
			return NULL;
		}
		if (!stop)
			return NULL;
		line = stop + 1;
	}
	return NULL;
}

/* -- fields ------------------------------------------------------------------------- */

static bool elem_size_ok(unsigned int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Returns whether the type is text. libtraceevent also takes u8 arrays for text. */
static bool is_text(const struct tep_format_field *f)
{
	return strstr(f->type, "char") && !strstr(f->type, "unsigned") && !strstr(f->type, "u8");
}

static int make_field(struct xvt_event_class *c, const struct tep_format_field *f,
		      struct xvt_field *out)
{
	bool is_signed = f->flags & TEP_FIELD_IS_SIGNED;
	unsigned int elem = f->elementsize;

	memset(out, 0, sizeof(*out));
	if (f->offset < 0 || f->offset > UINT16_MAX || f->size < 0 || f->size > UINT16_MAX)
		return -EBADMSG;
	out->name = arena_text(c, f->alias ? f->alias : f->name);
	if (!out->name)
		return -ENOMEM;
	out->offset = (uint32_t)f->offset;
	out->size = (uint32_t)f->size;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		if (f->size != 4)
			return -EBADMSG;
		out->place =
			f->flags & TEP_FIELD_IS_RELATIVE ? XVT_PLACE_REL_LOC : XVT_PLACE_DATA_LOC;
	} else if (f->size == 0) {
		out->place = XVT_PLACE_TAIL;
	} else if (!(f->flags & TEP_FIELD_IS_ARRAY) && elem_size_ok(out->size)) {
		out->kind = is_signed ? XVT_FIELD_INT : XVT_FIELD_UINT;
		return 0;
	}
	if (is_text(f) && (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_STRING))) {
		out->kind = XVT_FIELD_STRING;
		out->elem_size = 1;
		return 0;
	}
	/* Show a structure, or an array whose sizes do not match, as bytes. */
	if (!(f->flags & TEP_FIELD_IS_ARRAY) || !elem_size_ok(elem) ||
	    (out->place == XVT_PLACE_FIXED && out->size % elem)) {
		elem = 1;
		is_signed = false;
	}
	out->elem_size = (uint8_t)elem;
	out->kind = is_signed ? XVT_FIELD_INTS : XVT_FIELD_UINTS;
	return 0;
}

static void account_field(struct xvt_event_class *c, const struct xvt_field *f)
{
	if (f->offset + f->size > c->min_len)
		c->min_len = f->offset + f->size;
	if (f->place == XVT_PLACE_DATA_LOC || f->place == XVT_PLACE_REL_LOC)
		c->has_dynamic = true;
}

static bool common_at(const struct tep_event *e, const char *name, int offset, int size)
{
	for (const struct tep_format_field *f = e->format.common_fields; f; f = f->next)
		if (strcmp(f->name, name) == 0)
			return f->offset == offset && f->size == size;
	return false;
}

static int make_fields(struct xvt_event_class *c, const struct tep_event *e)
{
	const struct tep_format_field *f;
	uint32_t n = 0, tails = 0, sum = 0;
	int err;

	if (!common_at(e, "common_type", 0, 2))
		return -EBADMSG;
	c->ftrace = common_at(e, "common_flags", 2, 1) &&
		    common_at(e, "common_preempt_count", 3, 1) && common_at(e, "common_pid", 4, 4);
	c->min_len = c->ftrace ? 8 : 2;
	for (f = e->format.fields; f; f = f->next)
		n++;
	c->fields = xvt_class_alloc(c, (n + 1) * sizeof(*c->fields));
	if (!c->fields)
		return -ENOMEM;
	for (f = e->format.fields; f; f = f->next) {
		err = make_field(c, f, &c->fields[c->field_count]);
		if (err)
			return err;
		sum += c->fields[c->field_count].size;
		tails += c->fields[c->field_count].place == XVT_PLACE_TAIL;
		account_field(c, &c->fields[c->field_count++]);
	}
	/* Refuse overlapping fields: a record could be shown many times over. Linux has none. */
	return tails > 1 || sum > c->min_len ? -EBADMSG : 0;
}

/* -- the class ---------------------------------------------------------------------- */

static int field_index(const struct xvt_event_class *c, const char *name, uint8_t kind)
{
	for (uint32_t i = 0; i < c->field_count; i++)
		if (strcmp(c->fields[i].name, name) == 0 && c->fields[i].kind == kind)
			return (int)i;
	return -1;
}

static int build(struct xvt_event_class *c, struct tep_event *e, const char *system,
		 const char *print_fmt)
{
	int err, buf;

	c->comm_field[0] = c->comm_field[1] = c->pid_field[0] = c->pid_field[1] = -1;
	if (strlen(system) > XVT_LIMIT_NAME_BYTES || strlen(e->name) > XVT_LIMIT_NAME_BYTES)
		return -EBADMSG;
	c->system = arena_text(c, system);
	c->name = arena_text(c, e->name);
	if (!c->system || !c->name)
		return -ENOMEM;
	err = make_fields(c, e);
	if (!err)
		err = xvt_print_compile(c, print_fmt);
	if (err == -ENOMEM || err == -EBADMSG)
		return err;
	if (strcmp(c->name, "sched_switch") == 0) {
		c->comm_field[0] = field_index(c, "prev_comm", XVT_FIELD_STRING);
		c->comm_field[1] = field_index(c, "next_comm", XVT_FIELD_STRING);
		c->pid_field[0] = field_index(c, "prev_pid", XVT_FIELD_INT);
		c->pid_field[1] = field_index(c, "next_pid", XVT_FIELD_INT);
	}
	xvt_make_special(c);
	buf = field_index(c, "buf", XVT_FIELD_STRING);
	if (buf >= 0 && strcmp(system, "ftrace") == 0 && strcmp(c->name, "print") == 0) {
		c->marker = true;
		c->text = (uint32_t)buf;
		c->fields[buf].flags |= XVT_FIELD_F_CHOMP;
	}
	return 0;
}

/* Parse the fields by libtraceevent, with an empty print fmt after them. */
static int parse_fields(struct xvt_tep *tep, const char *system, const char *text, size_t len,
			struct tep_event **e)
{
	static const char no_print[] = "print fmt: \"\"\n";
	char *copy = malloc(len + sizeof(no_print));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	memcpy(copy + len, no_print, sizeof(no_print));
	tep_parse_event(tep->handle, copy, len + sizeof(no_print) - 1, system);
	free(copy);
	*e = tep_get_first_event(tep->handle);
	return *e && (*e)->name ? 0 : -EBADMSG;
}

int xvt_tep_class(struct xvt_tep *tep, const char *system, const char *text, size_t len,
		  struct xvt_event_class *c)
{
	const char *print_fmt = tame_part(text, len);
	struct tep_event *e = NULL;
	int err;

	memset(c, 0, sizeof(*c));
	if (!print_fmt)
		return -EBADMSG;
	/* A new handle for each format: one guest's text cannot affect another, and all memory is
	 * freed at once. */
	tep->handle = tep_alloc();
	if (!tep->handle)
		return -ENOMEM;
	tep_set_long_size(tep->handle, 8);
	tep_set_file_bigendian(tep->handle, TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(tep->handle, TEP_LITTLE_ENDIAN);
	err = parse_fields(tep, system, text, (size_t)(print_fmt - text), &e);
	if (!err)
		err = build(c, e, system, print_fmt + strlen("print fmt: "));
	tep_free(tep->handle);
	tep->handle = NULL;
	if (err)
		xvt_tep_class_fini(c);
	return err;
}
