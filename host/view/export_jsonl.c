// SPDX-License-Identifier: GPL-2.0
/*
 * export_jsonl.c - one JSON object a line. It uses no JSON library, so that an event needs no
 * allocation and integers are exact up to 64 bits.
 */
#include "view/export.h"

#include <string.h>

#include "decode/limits.h"

static void put_key(struct xvt_out *o, const char *key)
{
	xvt_out_quoted(o, key, strlen(key));
	xvt_out_char(o, ':');
}

static void put_task(struct xvt_out *o, const struct xvt_decoder *d,
		     const struct xvt_event_class *c, const struct xvt_event *ev)
{
	char context[XVT_CONTEXT_LETTERS + 1];
	struct xvt_common common;
	const char *comm;

	xvt_common_get(c, ev, &common);
	if (common.pid < 0)
		return;
	xvt_out_str(o, ",\"pid\":");
	xvt_out_i64(o, common.pid);
	comm = xvt_comm(d, common.pid);
	if (comm) {
		xvt_out_str(o, ",\"comm\":");
		xvt_out_quoted(o, comm, strlen(comm));
	}
	xvt_context_letters(&common, context);
	xvt_out_str(o, ",\"context\":");
	xvt_out_quoted(o, context, XVT_CONTEXT_LETTERS);
}

#define PART_LEAST 64u

static bool is_number(const struct xvt_field *f)
{
	return f->kind == XVT_FIELD_UINT || f->kind == XVT_FIELD_INT;
}

/* Write the begin of a text in `room` bytes. An escape takes up to six bytes, but most texts have
 * few. */
static void put_text_part(struct xvt_out *o, const struct xvt_value *v, size_t room)
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
static void put_part(struct xvt_out *o, const struct xvt_field *f, const struct xvt_event *ev,
		     size_t room)
{
	struct xvt_value v;

	xvt_field_get(f, ev, &v);
	if (f->kind == XVT_FIELD_STRING) {
		put_text_part(o, &v, room);
		return;
	}
	xvt_out_char(o, '[');
	for (uint32_t i = 0; i < v.count && i < room / 24; i++) {
		uint64_t e = xvt_field_element(f, &v, i);

		if (i)
			xvt_out_char(o, ',');
		if (f->kind == XVT_FIELD_INTS)
			xvt_out_i64(o, (int64_t)e);
		else
			xvt_out_u64(o, e);
	}
	xvt_out_char(o, ']');
}

/* Write all fields. Returns false if some were cut or left out. */
static bool put_fields(struct xvt_out *o, const struct xvt_event_class *c,
		       const struct xvt_event *ev)
{
	size_t from, begin;
	bool cut = false;

	xvt_out_begin(o, XVT_LIMIT_TEXT);
	begin = o->used;
	for (uint32_t i = 0; i < c->field_count && !o->cut; i++) {
		size_t value, room;

		from = o->used;
		if (i)
			xvt_out_char(o, ',');
		put_key(o, c->fields[i].name);
		value = o->used;
		xvt_field_put(o, &c->fields[i], ev);
		if (!o->cut)
			continue;
		cut = true;
		o->cut = false;
		o->used = value;
		room = begin + XVT_LIMIT_TEXT > value ? begin + XVT_LIMIT_TEXT - value : 0;
		if (room < PART_LEAST || is_number(&c->fields[i]))
			o->cut = true;
		else
			put_part(o, &c->fields[i], ev, room - room / 8);
		if (o->cut)
			o->used = from;
	}
	xvt_out_end(o);
	return !cut;
}

/* The text of a trace_printk() or a stack, whose fields are addresses. */
static void put_said(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event_class *c,
		     const struct xvt_event *ev)
{
	static struct xvt_out words = { .fd = -1 };

	words.used = 0;
	xvt_out_begin(&words, XVT_LIMIT_TEXT);
	xvt_print_fields(&words, d, c, ev, false);
	if (xvt_out_end(&words))
		xvt_out_str(&words, "...[cut]");
	xvt_out_str(o, ",\"text\":");
	xvt_out_quoted(o, words.buf, words.used);
}

static void put_event(struct xvt_out *o, const struct xvt_trace *t, const struct xvt_event *ev,
		      const struct xvt_event_class *c, struct xvt_decoder *d)
{
	uint32_t ring = xvt_event_ring(ev), vm = xvt_ring_vm(t, ring);
	char letters[XVT_EVENT_LETTERS + 1];
	const char *name = xvt_vm_name(t, vm);
	bool cut;

	xvt_out_str(o, "{\"ts_ns\":");
	xvt_out_u64(o, ev->hdr->host_ns);
	xvt_out_str(o, ",\"vm\":");
	xvt_out_quoted(o, name, strlen(name));
	xvt_out_str(o, ",\"cpu\":");
	if (vm == XVT_VM_NONE)
		xvt_out_str(o, "null");
	else
		xvt_out_u64(o, t->rings[ring].info.cpu);
	xvt_event_letters(ev->hdr->ring_flags, letters);
	xvt_out_str(o, ",\"flags\":\"");
	for (int i = 0; i < XVT_EVENT_LETTERS; i++)
		if (letters[i] != '.')
			xvt_out_char(o, letters[i]);
	xvt_out_str(o, "\",\"event\":");
	xvt_out_quoted(o, c->name, strlen(c->name));
	xvt_out_str(o, ",\"system\":");
	xvt_out_quoted(o, c->system, strlen(c->system));
	put_task(o, d, c, ev);
	xvt_out_str(o, ",\"fields\":{");
	cut = !put_fields(o, c, ev);
	xvt_out_char(o, '}');
	if (c->special)
		put_said(o, d, c, ev);
	xvt_out_str(o, cut ? ",\"cut\":true}\n" : "}\n");
}

int xvt_export_jsonl(struct xvt_view *v, struct xvt_out *o)
{
	struct xvt_event ev;
	struct xvt_event_class *c;
	struct xvt_decoder *d;
	int got;

	while ((got = xvt_view_next(v, &ev, &c, &d)) > 0 && !o->err)
		if (v->opts.all || xvt_is_event(ev.hdr))
			put_event(o, v->t, &ev, c, d);
	return got < 0 ? got : 0; /* closing the output reports its errors */
}
