// SPDX-License-Identifier: GPL-2.0
/* event.c - what an event says: fields, values, text; see xvtrace.h. */
#include <string.h>

#include "decode/limits.h"
#include "lib/parts.h"
#include "view/exchange.h"

XVT_ASSERT(XVT_LIMIT_TEXT == XVTRACE_TEXT_MAX, "the text of an event");

static const struct xvt_lib_type *type_of(const struct xvtrace_type *type)
{
	return (const struct xvt_lib_type *)type;
}

const struct xvtrace_field *xvtrace_field(const struct xvtrace_type *type, unsigned int number)
{
	return number < type->fields ? &type_of(type)->fields[number] : NULL;
}

const struct xvtrace_field *xvtrace_field_named(const struct xvtrace_type *type, const char *name)
{
	for (unsigned int i = 0; i < type->fields; i++)
		if (strcmp(type_of(type)->fields[i].name, name) == 0)
			return &type_of(type)->fields[i];
	return NULL;
}

/* The decoder's field of one of the event's type. */
static const struct xvt_field *field_of(const struct xvt_lib_type *type,
					const struct xvtrace_field *field)
{
	return &type->c->fields[field - type->fields];
}

void xvtrace_value(const struct xvtrace_event *event, const struct xvtrace_field *field,
		   struct xvtrace_value *value)
{
	const struct xvt_lib_event *e = xvt_lib_event(event);
	const struct xvt_field *f = field_of(e->type, field);
	struct xvt_value v;

	value->field = field;
	/* Most are numbers. */
	if (f->kind == XVT_FIELD_UINT || f->kind == XVT_FIELD_INT) {
		value->u = xvt_field_number(f, &e->ev);
		value->data = e->ev.payload + f->offset;
		value->count = 0;
		return;
	}
	xvt_field_get(f, &e->ev, &v);
	value->u = v.u;
	value->data = v.data;
	value->count = v.count;
}

uint64_t xvtrace_element(const struct xvtrace_value *value, size_t number)
{
	return xvt_number(value->data + number * value->field->size, value->field->size,
			  value->field->kind == XVTRACE_INTS);
}

/* Counts of a LOST record: the causes always, the others if they are not zero. */
static void put_lost(struct xvt_out *o, const struct xvt_lib_event *e)
{
	const struct xvt_event_class *c = e->type->c;
	struct xvt_value v;

	for (uint32_t i = 0; i < c->field_count; i++) {
		xvt_field_get(&c->fields[i], &e->ev, &v);
		if (i > XVT_LOST_CAUSES && !v.u)
			continue;
		if (i)
			xvt_out_char(o, ' ');
		xvt_out_str(o, c->fields[i].name);
		xvt_out_char(o, '=');
		xvt_out_u64(o, v.u);
	}
}

const char *xvtrace_event_text(const struct xvtrace_event *event, unsigned int flags, size_t *len)
{
	const struct xvt_lib_event *e = xvt_lib_event(event);
	const bool has_text = e->kept && e->kept->text && !(flags & XVTRACE_RAW);
	struct xvt_out *o = e->kept ? e->kept->out : e->reader->shown.text;

	if (has_text) {
		*len = e->kept->text_len;
		return e->kept->text;
	}
	o->used = 0;
	xvt_out_begin(o, XVT_LIMIT_TEXT);
	if (event->kind == XVTRACE_LOST)
		put_lost(o, e);
	else if (event->kind == XVTRACE_STATE && !(flags & XVTRACE_RAW))
		xvt_state_text(o, e->state, e->reader->made.states.texts + e->state->why);
	else
		xvt_print_fields(o, e->decoder, e->type->c, &e->ev, flags & XVTRACE_RAW);
	if (xvt_out_end(o))
		xvt_out_str(o, "...[cut]");
	o->buf[o->used] = '\0';
	*len = o->used;
	return o->buf;
}

const char *xvtrace_event_comm(const struct xvtrace_event *event)
{
	const struct xvt_lib_event *e = xvt_lib_event(event);

	return e->kept ? e->kept->comm : xvt_comm(e->decoder, event->pid);
}

const char *xvtrace_event_symbol(const struct xvtrace_event *event, uint64_t address)
{
	const struct xvt_lib_event *e = xvt_lib_event(event);
	const char *module;
	uint64_t base;

	return e->kept ? NULL : xvt_ksym(e->decoder, e->ev.chunk_seq, address, &base, &module);
}

bool xvtrace_event_message(const struct xvtrace_event *event, struct xvtrace_message *message)
{
	const struct xvt_lib_event *e = xvt_lib_event(event);
	const struct xvt_event_class *c = e->type->c;
	struct xvt_exchange x;
	struct xvt_value v;

	if (!c->marker)
		return false;
	xvt_field_get(&c->fields[c->text], &e->ev, &v);
	if (!xvt_exchange_parse((const char *)v.data, v.count, &x))
		return false;
	message->number = x.number;
	message->sent = x.sent;
	return true;
}

void xvtrace_flag_letters(unsigned int flags, char letters[XVTRACE_FLAG_LETTERS + 1])
{
	static const char all[] = "LBURC";

	memcpy(letters, ".....", XVTRACE_FLAG_LETTERS + 1);
	for (unsigned int i = 0; flags && i < XVTRACE_FLAG_LETTERS; i++)
		if (flags & 1u << i)
			letters[i] = all[i];
}

/* Bits of common_flags in Linux. */
#define TRACE_IRQS_OFF	      0x01
#define TRACE_NEED_RESCHED    0x04
#define TRACE_HARDIRQ	      0x08
#define TRACE_SOFTIRQ	      0x10
#define TRACE_PREEMPT_RESCHED 0x20
#define TRACE_NMI	      0x40
#define TRACE_BH_OFF	      0x80

/* The latency format of the kernel's own "trace" file. */
void xvtrace_context_letters(const struct xvtrace_event *event,
			     char letters[XVTRACE_CONTEXT_LETTERS + 1])
{
	static const char resched[4] = { '.', 'n', 'p', 'N' };
	uint8_t f = event->irq_flags, depth = event->preempt_count & 0xf;
	bool hard = f & TRACE_HARDIRQ, soft = f & TRACE_SOFTIRQ, off = f & TRACE_IRQS_OFF;

	letters[0] = off ? (f & TRACE_BH_OFF ? 'D' : 'd') : f & TRACE_BH_OFF ? 'b' : '.';
	letters[1] =
		resched[(f & TRACE_NEED_RESCHED ? 1 : 0) | (f & TRACE_PREEMPT_RESCHED ? 2 : 0)];
	if (f & TRACE_NMI)
		letters[2] = hard ? 'Z' : 'z';
	else
		letters[2] = hard ? (soft ? 'H' : 'h') : soft ? 's' : '.';
	letters[3] = depth ? "0123456789abcdef"[depth] : '.';
	letters[4] = '\0';
}
