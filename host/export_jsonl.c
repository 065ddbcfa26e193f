// SPDX-License-Identifier: GPL-2.0
/*
 * export_jsonl.c - one JSON object a line. Written by hand, not through a JSON library: no
 * allocation for an event. Integers are exact up to 64 bits.
 */
#include "export.h"

#include <string.h>

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

static void put_event(struct xvt_out *o, const struct xvt_trace *t, const struct xvt_event *ev,
		      const struct xvt_event_class *c, const struct xvt_decoder *d)
{
	uint32_t ring = xvt_event_ring(ev), vm = xvt_ring_vm(t, ring);
	char letters[XVT_EVENT_LETTERS + 1];
	const char *name = xvt_vm_name(t, vm);

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
	for (uint32_t i = 0; i < c->field_count; i++) {
		if (i)
			xvt_out_char(o, ',');
		put_key(o, c->fields[i].name);
		xvt_field_put(o, &c->fields[i], ev);
	}
	xvt_out_str(o, "}}\n");
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
	return got < 0 ? got : 0; /* an error of the output is told when it is closed */
}
