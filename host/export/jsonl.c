// SPDX-License-Identifier: GPL-2.0
/*
 * jsonl.c - one JSON object a line. The writer uses no JSON library, so that an event needs no
 * allocation and integers are exact up to 64 bits.
 */
#include <stdlib.h>

#include "export/labels.h"
#include "export/lines.h"

static void put_key(struct xvt_out *o, const char *key)
{
	xvt_out_quoted(o, key, strlen(key));
	xvt_out_char(o, ':');
}

static void put_task(struct xvt_out *o, const struct xvtrace_event *ev)
{
	char context[XVTRACE_CONTEXT_LETTERS + 1];
	const char *comm;

	if (ev->pid < 0)
		return;
	xvt_out_str(o, ",\"pid\":");
	xvt_out_i64(o, ev->pid);
	comm = xvtrace_event_comm(ev);
	if (comm) {
		xvt_out_str(o, ",\"comm\":");
		xvt_out_quoted(o, comm, strlen(comm));
	}
	xvtrace_context_letters(ev, context);
	xvt_out_str(o, ",\"context\":");
	xvt_out_quoted(o, context, XVTRACE_CONTEXT_LETTERS);
}

#define PART_LEAST 64u

static bool is_number(const struct xvtrace_field *f)
{
	return f->kind == XVTRACE_UINT || f->kind == XVTRACE_INT;
}

/* Write a list of numbers, no more than `most` of them. */
static void put_list(struct xvt_out *o, const struct xvtrace_value *v, size_t most)
{
	xvt_out_char(o, '[');
	for (size_t i = 0; i < v->count && i < most && !o->cut; i++) {
		uint64_t e = xvtrace_element(v, i);

		if (i)
			xvt_out_char(o, ',');
		if (v->field->kind == XVTRACE_INTS)
			xvt_out_i64(o, (int64_t)e);
		else
			xvt_out_u64(o, e);
	}
	xvt_out_char(o, ']');
}

static void put_value(struct xvt_out *o, const struct xvtrace_value *v)
{
	if (v->field->kind == XVTRACE_UINT)
		xvt_out_u64(o, v->u);
	else if (v->field->kind == XVTRACE_INT)
		xvt_out_i64(o, (int64_t)v->u);
	else if (v->field->kind == XVTRACE_STRING)
		xvt_out_quoted(o, v->data, v->count);
	else
		put_list(o, v, SIZE_MAX);
}

/* Write the begin of a text in `room` bytes. An escape takes up to six bytes, but most texts have
 * few. */
static void put_text_part(struct xvt_out *o, const struct xvtrace_value *v, size_t room)
{
	static const size_t parts[] = { 1, 2, 6 };
	const size_t from = o->used;

	for (size_t i = 0; i < 3; i++) {
		o->used = from;
		o->cut = false;
		xvt_out_quoted(o, v->data, v->count < room / parts[i] ? v->count : room / parts[i]);
		if (!o->cut)
			return;
	}
}

/* Write the begin of a field that is too long. Even that may not fit. */
static void put_part(struct xvt_out *o, const struct xvtrace_value *v, size_t room)
{
	if (v->field->kind == XVTRACE_STRING)
		put_text_part(o, v, room);
	else
		put_list(o, v, room / 24);
}

/* Write all fields. Returns false if some were cut or left out. */
static bool put_fields(struct xvt_out *o, const struct xvtrace_event *ev)
{
	size_t from, begin;
	bool cut = false;

	xvt_out_begin(o, XVTRACE_TEXT_MAX);
	begin = o->used;
	for (unsigned int i = 0; i < ev->type->fields && !o->cut; i++) {
		const struct xvtrace_field *f = xvtrace_field(ev->type, i);
		struct xvtrace_value v;
		size_t value, room;

		from = o->used;
		if (i)
			xvt_out_char(o, ',');
		put_key(o, f->name);
		value = o->used;
		xvtrace_value(ev, f, &v);
		put_value(o, &v);
		if (!o->cut)
			continue;
		cut = true;
		o->cut = false;
		o->used = value;
		room = begin + XVTRACE_TEXT_MAX > value ? begin + XVTRACE_TEXT_MAX - value : 0;
		if (room < PART_LEAST || is_number(f))
			o->cut = true;
		else
			put_part(o, &v, room - room / 8);
		if (o->cut)
			o->used = from;
	}
	xvt_out_end(o);
	return !cut;
}

static void put_names(struct xvt_out *o, const struct xvt_export *x,
		      const struct xvtrace_type *type)
{
	(void)x;
	xvt_out_str(o, "\",\"event\":");
	xvt_out_quoted(o, type->name, strlen(type->name));
	xvt_out_str(o, ",\"system\":");
	xvt_out_quoted(o, type->system, strlen(type->system));
}

static int put_event(struct xvt_out *o, struct xvt_labels *names, const struct xvt_export *x,
		     const struct xvtrace_event *ev)
{
	const char *name = ev->machine ? ev->machine->name : "?";
	char letters[XVTRACE_FLAG_LETTERS + 1];
	bool cut;

	xvt_out_str(o, "{\"ts_ns\":");
	xvt_out_u64(o, ev->ns);
	if (ev->bound_ns == XVTRACE_NO_BOUND) {
		xvt_out_str(o, ",\"bound_ns\":null,\"vm\":");
	} else {
		xvt_out_str(o, ",\"bound_ns\":");
		xvt_out_u64(o, ev->bound_ns);
		xvt_out_str(o, ",\"vm\":");
	}
	xvt_out_quoted(o, name, strlen(name));
	xvt_out_str(o, ",\"cpu\":");
	if (ev->ring)
		xvt_out_u64(o, ev->ring->cpu);
	else
		xvt_out_str(o, "null");
	xvtrace_flag_letters(ev->flags, letters);
	xvt_out_str(o, ",\"flags\":\"");
	for (int i = 0; i < XVTRACE_FLAG_LETTERS; i++)
		if (letters[i] != '.')
			xvt_out_char(o, letters[i]);
	if (xvt_labels_put(names, o, x, ev->type))
		return -ENOMEM;
	put_task(o, ev);
	xvt_out_str(o, ",\"fields\":{");
	cut = !put_fields(o, ev);
	xvt_out_char(o, '}');
	if (ev->type->addresses) {
		size_t len;
		const char *text = xvtrace_event_text(ev, 0, &len);

		xvt_out_str(o, ",\"text\":");
		xvt_out_quoted(o, text, len);
	}
	if (ev->kind == XVTRACE_LOST && ev->machine && ev->machine->ftrace)
		xvt_out_str(o, ",\"lost_at_least\":true");
	xvt_out_str(o, cut ? ",\"cut\":true}\n" : "}\n");
	return 0;
}

struct jsonl {
	const struct xvt_export *x;
	struct xvt_labels names;
};

static void *begin(struct xvt_export *x)
{
	struct jsonl *j = calloc(1, sizeof(*j));

	if (j)
		*j = (struct jsonl){ .x = x, .names = { .make = put_names } };
	return j;
}

static int put(void *state, struct xvt_out *o, const struct xvtrace_event *ev)
{
	struct jsonl *j = state;

	if (!j->x->all && ev->kind != XVTRACE_EVENT && ev->kind != XVTRACE_STATE)
		return 0;
	return put_event(o, &j->names, j->x, ev);
}

static void end(void *state)
{
	struct jsonl *j = state;

	if (j)
		xvt_labels_fini(&j->names);
	free(j);
}

int xvt_export_jsonl(struct xvt_export *x, struct xvt_out *o)
{
	static const struct xvt_lines lines = { begin, put, end };

	return xvt_export_lines(x, o, &lines, true);
}
