// SPDX-License-Identifier: GPL-2.0
/*
 * format.c - see format.h. A format is text of this shape, with the fields that all events of the
 * kernel have before those of this one:
 *
 *	name: EVENT
 *	ID: N
 *	format:
 *	[TAB]field:DECLARATION;	offset:N;	size:N;	signed:N;
 *
 *	[TAB]field:DECLARATION;	offset:N;	size:N;	signed:N;
 *
 *	print fmt: "TEXT", ARGUMENTS
 *
 * The lines of fields are copied and cut into texts in place. Then the class is made of them.
 */
#include "decode/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/limits.h"
#include "decode/print.h"

/* -- the text ----------------------------------------------------------------------- */

/* A line of a field. The declaration is "TYPE NAME", "TYPE NAME[N]", "TYPE[] NAME", or of a probe's
 * list of texts "TYPE[][N] NAME". */
struct line {
	const char *type; /* without brackets */
	const char *name;
	bool is_array;
	bool is_signed;
	uint32_t elements; /* of an array; 0: N is empty or an expression */
	uint32_t places;   /* of a list of texts: N places, one behind the other; else 0 */
	uint32_t offset;
	uint32_t size;
};

struct format {
	const char *name;
	struct line lines[XVT_LIMIT_FORMAT_FIELDS];
	uint32_t common; /* number of lines before the first empty one */
	uint32_t count;
};

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Returns whether a text has only letters, digits, '_' and `others`. */
static bool consists_of(const char *text, const char *others)
{
	while (*text && (is_word_char(*text) || strchr(others, *text)))
		text++;
	return !*text;
}

static bool is_name(const char *text)
{
	return is_word_char(*text) && strlen(text) <= XVT_LIMIT_NAME_BYTES &&
	       consists_of(text, ".");
}

static bool is_dynamic(const char *type)
{
	return strncmp(type, "__data_loc ", 11) == 0 || strncmp(type, "__rel_loc ", 10) == 0;
}

/* Consume `text` if it comes next. */
static bool take(char **p, const char *text)
{
	if (strncmp(*p, text, strlen(text)) != 0)
		return false;
	*p += strlen(text);
	return true;
}

/* Consume a number of at most six digits. */
static bool take_number(char **p, uint32_t *value)
{
	size_t digits = strspn(*p, "0123456789");

	if (!digits || digits > 6)
		return false;
	*value = (uint32_t)strtoul(*p, p, 10);
	return true;
}

/* Consume "KEY:N;" after any blanks. */
static bool take_value(char **p, const char *key, uint32_t *value)
{
	*p += strspn(*p, " \t");
	return take(p, key) && take_number(p, value) && take(p, ";");
}

/* Consume a text and the character that ends it. Returns the text, or NULL: there is no `end` in
 * this line. */
static char *cut(char **p, char end)
{
	char *text = *p, *at = text + strcspn(text, end == '\n' ? "\n" : (char[]){ end, '\n', 0 });

	if (*at != end)
		return NULL;
	*at = '\0';
	*p = at + 1;
	return text;
}

/* Parse what stands between brackets: nothing, a number, or an expression of the kernel's source,
 * which is not evaluated. */
static bool parse_count(char *text, uint32_t *elements)
{
	char *p = text;

	if (!take_number(&p, elements) || *p)
		*elements = 0;
	return consists_of(text, " +-*/()");
}

/* Parse what is behind "TYPE[]". Returns the name, or NULL. */
static char *parse_dynamic(char *p, struct line *l)
{
	if (take(&p, "[") && (!take_number(&p, &l->places) || !l->places || !take(&p, "]")))
		return NULL;
	return p + strspn(p, " ");
}

static bool parse_declaration(char *text, struct line *l)
{
	char *open = strchr(text, '['), *close = strchr(text, ']');
	char *name = text + strlen(text);

	l->type = text;
	l->is_array = open != NULL;
	if (open) {
		if (!close || close < open)
			return false;
		name = open;
		*open = *close = '\0';
		if (!parse_count(open + 1, &l->elements))
			return false;
	}
	if (open && close[1]) { /* TYPE[] NAME */
		if (open[1] || !is_dynamic(text))
			return false;
		name = parse_dynamic(close + 1, l);
		if (!name)
			return false;
	} else {
		while (name > text && (is_word_char(name[-1]) || name[-1] == '.'))
			name--;
		if (name == text || (name[-1] != ' ' && name[-1] != '*'))
			return false;
		name[-1] = '\0'; /* a pointer is a number as others */
	}
	l->name = name;
	return is_word_char(*text) && consists_of(text, " *") && is_name(name);
}

static bool parse_line(char **p, struct line *l)
{
	char *declaration = cut(p, ';');
	uint32_t is_signed = 0;

	if (!declaration || !parse_declaration(declaration, l) ||
	    !take_value(p, "offset:", &l->offset) || !take_value(p, "size:", &l->size) ||
	    !take_value(p, "signed:", &is_signed) || !take(p, "\n"))
		return false;
	l->is_signed = is_signed != 0;
	return l->offset <= UINT16_MAX && l->size <= UINT16_MAX;
}

/* Parse lines of fields. */
static bool parse_lines(char **p, struct format *f)
{
	while (take(p, "\tfield:"))
		if (f->count == XVT_LIMIT_FORMAT_FIELDS || !parse_line(p, &f->lines[f->count++]))
			return false;
	return true;
}

/* Parse the text before print fmt. */
static bool parse(char *p, struct format *f)
{
	uint32_t id;

	if (!take(&p, "name: "))
		return false;
	f->name = cut(&p, '\n');
	if (!f->name || !is_name(f->name) || !take(&p, "ID: ") || !take_number(&p, &id) ||
	    !take(&p, "\nformat:\n") || !parse_lines(&p, f) || !take(&p, "\n"))
		return false;
	f->common = f->count;
	if (!parse_lines(&p, f))
		return false;
	take(&p, "\n");
	return !*p;
}

/* -- fields ------------------------------------------------------------------------- */

static bool elem_size_ok(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Returns whether an array of this type is text. Arrays of u8 are numbers. */
static bool is_text(const char *type)
{
	return strstr(type, "char") && !strstr(type, "unsigned") && !strstr(type, "u8");
}

/* Bytes of a number of this type, which may have words before it; 0: unknown. */
static uint32_t type_size(const char *type)
{
	static const struct {
		const char *word;
		uint32_t size;
	} sizes[] = {
		{ "u8", 1 },	   { "s8", 1 },	     { "__u8", 1 },	  { "__s8", 1 },
		{ "uint8_t", 1 },  { "int8_t", 1 },  { "char", 1 },	  { "bool", 1 },
		{ "_Bool", 1 },	   { "u16", 2 },     { "s16", 2 },	  { "__u16", 2 },
		{ "__s16", 2 },	   { "__le16", 2 },  { "__be16", 2 },	  { "uint16_t", 2 },
		{ "int16_t", 2 },  { "short", 2 },   { "u32", 4 },	  { "s32", 4 },
		{ "__u32", 4 },	   { "__s32", 4 },   { "__le32", 4 },	  { "__be32", 4 },
		{ "uint32_t", 4 }, { "int32_t", 4 }, { "pid_t", 4 },	  { "unsigned", 4 },
		{ "u64", 8 },	   { "s64", 8 },     { "__u64", 8 },	  { "__s64", 8 },
		{ "__le64", 8 },   { "__be64", 8 },  { "uint64_t", 8 },	  { "int64_t", 8 },
		{ "long", 8 },	   { "size_t", 8 },  { "dma_addr_t", 8 }, { "phys_addr_t", 8 },
	};
	const char *word = strrchr(type, ' ');

	word = word ? word + 1 : type;
	if (strcmp(word, "int") == 0) /* alone, or behind another */
		return strstr(type, "long") ? 8 : strstr(type, "short") ? 2 : 4;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (strcmp(word, sizes[i].word) == 0)
			return sizes[i].size;
	return 0;
}

/* Bytes of an element of an array; 0: unknown. The length of a probe's list stands nowhere. */
static uint32_t element_size(const struct line *l)
{
	const uint32_t size = type_size(l->type);

	if (l->elements && !is_dynamic(l->type))
		return l->size / l->elements;
	return size;
}

/* Make a name of a name and a number; NULL: out of memory. */
static const char *numbered_name(struct xvt_event_class *c, const char *name, const char *format,
				 uint32_t number)
{
	const size_t room = strlen(name) + 16;
	char *made = xvt_class_alloc(c, room);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (made)
		snprintf(made, room, format, name, number);
#pragma GCC diagnostic pop
	return made;
}

static int make_field(const struct line *l, struct xvt_field *f)
{
	bool is_signed = l->is_signed;
	uint32_t elem = l->is_array ? element_size(l) : 0;

	f->name = l->name;
	f->offset = l->offset;
	f->size = l->size;
	if (is_dynamic(l->type)) {
		if (l->size != 4 && l->size != 8) /* 8: of a synthetic event */
			return -EBADMSG;
		f->place = l->type[2] == 'r' ? XVT_PLACE_REL_LOC : XVT_PLACE_DATA_LOC;
	} else if (!l->size) {
		f->place = XVT_PLACE_TAIL;
	} else if (!l->is_array && elem_size_ok(l->size)) {
		f->kind = is_signed ? XVT_FIELD_INT : XVT_FIELD_UINT;
		return 0;
	}
	if (l->is_array && is_text(l->type)) {
		f->kind = XVT_FIELD_STRING;
		f->elem_size = 1;
		return 0;
	}
	/* Show a structure, or an array whose sizes do not match, as bytes. */
	if (!elem_size_ok(elem) || (f->place == XVT_PLACE_FIXED && l->size % elem)) {
		elem = 1;
		is_signed = false;
	}
	f->elem_size = (uint8_t)elem;
	f->kind = is_signed ? XVT_FIELD_INTS : XVT_FIELD_UINTS;
	return 0;
}

static void account_field(struct xvt_event_class *c, const struct xvt_field *f)
{
	if (f->offset + f->size > c->min_len)
		c->min_len = f->offset + f->size;
	if (f->place == XVT_PLACE_DATA_LOC || f->place == XVT_PLACE_REL_LOC)
		c->has_dynamic = true;
}

static bool common_at(const struct format *f, const char *name, uint32_t offset, uint32_t size)
{
	for (uint32_t i = 0; i < f->common; i++)
		if (strcmp(f->lines[i].name, name) == 0)
			return f->lines[i].offset == offset && f->lines[i].size == size;
	return false;
}

/* Take the fields of one line: one, or each place of a list of texts. */
static int take_line(struct xvt_event_class *c, const struct line *l)
{
	const uint32_t places = l->places ? l->places : 1;

	if (l->size % places)
		return -EBADMSG;
	for (uint32_t i = 0; i < places; i++) {
		struct xvt_field *field = &c->fields[c->field_count++];
		struct line one = *l;
		int err;

		one.size = l->size / places;
		one.offset = l->offset + i * one.size;
		err = make_field(&one, field);
		if (err)
			return err;
		account_field(c, field);
		if (l->places && !(field->name = numbered_name(c, l->name, "%s[%u]", i)))
			return -ENOMEM;
	}
	return 0;
}

static uint32_t fields_of(const struct format *f)
{
	uint32_t n = 0;

	for (uint32_t i = f->common; i < f->count; i++)
		n += f->lines[i].places ? f->lines[i].places : 1;
	return n;
}

static bool has_field(const struct xvt_event_class *c, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(c->fields[i].name, name) == 0)
			return true;
	return false;
}

/* Give the second field of a name another one, NAME_2: a reader could not tell the two apart. */
static int part_names(struct xvt_event_class *c)
{
	for (uint32_t i = 1; i < c->field_count; i++) {
		const char *name = c->fields[i].name;

		for (uint32_t n = 2; has_field(c, i, c->fields[i].name); n++)
			if (!(c->fields[i].name = numbered_name(c, name, "%s_%u", n)))
				return -ENOMEM;
	}
	return 0;
}

/* Bytes of all fields in a record, as a multiple of the record's: fields may overlap, but no record
 * is shown many times over. */
#define OVERLAP_MOST 4u

static int make_fields(struct xvt_event_class *c, const struct format *f)
{
	const uint32_t count = fields_of(f);
	uint32_t tails = 0, sum = 0;

	if (!common_at(f, "common_type", 0, 2) || count > XVT_LIMIT_FORMAT_FIELDS)
		return -EBADMSG;
	c->ftrace = common_at(f, "common_flags", 2, 1) &&
		    common_at(f, "common_preempt_count", 3, 1) && common_at(f, "common_pid", 4, 4);
	c->min_len = c->ftrace ? 8 : 2;
	c->fields = xvt_class_alloc(c, (count + 1) * sizeof(*c->fields));
	if (!c->fields)
		return -ENOMEM;
	for (uint32_t i = f->common; i < f->count; i++) {
		int err = take_line(c, &f->lines[i]);

		if (err)
			return err;
	}
	for (uint32_t i = 0; i < c->field_count; i++) {
		sum += c->fields[i].size;
		tails += c->fields[i].place == XVT_PLACE_TAIL;
	}
	if (tails > 1 || sum > OVERLAP_MOST * c->min_len)
		return -EBADMSG;
	return part_names(c);
}

/* -- the class ---------------------------------------------------------------------- */

static int field_index(const struct xvt_event_class *c, const char *name, uint8_t kind)
{
	for (uint32_t i = 0; i < c->field_count; i++)
		if (strcmp(c->fields[i].name, name) == 0 && c->fields[i].kind == kind)
			return (int)i;
	return -1;
}

/* Link each name of a task ("next_comm") with the task's number ("next_pid"). */
static void link_tasks(struct xvt_event_class *c)
{
	for (uint32_t i = 0; i < c->field_count; i++) {
		struct xvt_field *f = &c->fields[i];
		const size_t len = strlen(f->name), end = len < 4 ? 0 : len - 4;

		if (f->kind != XVT_FIELD_STRING || strcmp(f->name + end, "comm") != 0 ||
		    (end && f->name[end - 1] != '_'))
			continue;
		for (uint32_t k = 0; k < c->field_count; k++) {
			const struct xvt_field *pid = &c->fields[k];

			if (pid->kind == XVT_FIELD_INT && strlen(pid->name) == end + 3 &&
			    strncmp(pid->name, f->name, end) == 0 &&
			    strcmp(pid->name + end, "pid") == 0)
				f->pid = pid;
		}
	}
}

static int build(struct xvt_event_class *c, const char *system, const struct format *f,
		 const char *print_fmt)
{
	int err, buf;

	c->system = system;
	c->name = f->name;
	c->comm_field[0] = c->comm_field[1] = c->pid_field[0] = c->pid_field[1] = -1;
	err = make_fields(c, f);
	if (!err) {
		link_tasks(c);
		err = xvt_print_compile(c, print_fmt);
	}
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

static char *arena_text(struct xvt_event_class *c, const char *text, size_t len)
{
	char *copy = xvt_class_alloc(c, len + 1);

	if (copy)
		memcpy(copy, text, len);
	return copy;
}

int xvt_format_class(const char *system, const char *text, struct xvt_event_class *c)
{
	static const char border[] = "\nprint fmt: ";
	const char *print_fmt = strstr(text, border);
	struct format f = { .count = 0 };
	char *name, *head;
	int err = -ENOMEM;

	memset(c, 0, sizeof(*c));
	if (!print_fmt || strlen(text) > XVT_LIMIT_FORMAT_BYTES ||
	    strlen(system) > XVT_LIMIT_NAME_BYTES)
		return -EBADMSG;
	name = arena_text(c, system, strlen(system));
	head = arena_text(c, text, (size_t)(print_fmt - text) + 1);
	if (name && head)
		err = parse(head, &f) ? build(c, name, &f, print_fmt + strlen(border)) : -EBADMSG;
	if (err)
		xvt_class_free(c);
	return err;
}
