// SPDX-License-Identifier: GPL-2.0
/* export_text.c - events as lines of text: `report`, and `export --to text`. */
#include "view/export.h"

#include <string.h>

#include "decode/limits.h"

void xvt_event_letters(uint32_t f, char letters[XVT_EVENT_LETTERS + 1])
{
	memcpy(letters, ".....", XVT_EVENT_LETTERS + 1);
	if (xvt_likely(!(f & ~XVT_EVENT_RING_MASK)))
		return;
	letters[0] = f & XVT_EVENT_F_LATE ? 'L' : '.';
	letters[1] = f & XVT_EVENT_F_BACKLOG ? 'B' : '.';
	letters[2] = f & XVT_EVENT_F_UNCONFIRMED ? 'U' : '.';
	letters[3] = f & XVT_EVENT_F_RECOVERED ? 'R' : '.';
	letters[4] = f & XVT_EVENT_F_CLOCK ? 'C' : '.';
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
void xvt_context_letters(const struct xvt_common *common, char letters[XVT_CONTEXT_LETTERS + 1])
{
	static const char resched[4] = { '.', 'n', 'p', 'N' };
	uint8_t f = common->flags, depth = common->preempt_count & 0xf;
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

static void put_place(struct xvt_out *o, const struct xvt_view *v, const struct xvt_event *ev)
{
	const struct xvt_trace *t = v->t;
	uint32_t ring = xvt_event_ring(ev), vm = xvt_ring_vm(t, ring);
	uint64_t ns = ev->hdr->host_ns;

	xvt_out_time(o, v->opts.wall ? xvt_trace_wall_ns(t, ns) : ns);
	xvt_out_char(o, ' ');
	xvt_out_str(o, xvt_vm_name(t, vm));
	xvt_out_char(o, ':');
	if (vm == XVT_VM_NONE)
		xvt_out_char(o, '?');
	else
		xvt_out_u64(o, t->rings[ring].info.cpu);
	xvt_out_char(o, ' ');
}

static void put_task(struct xvt_out *o, const struct xvt_decoder *d, int32_t pid)
{
	const char *comm = xvt_comm(d, pid);

	if (pid < 0) {
		xvt_out_str(o, "- ");
		return;
	}
	if (!comm)
		comm = "<...>";
	xvt_out_text(o, comm, strlen(comm));
	xvt_out_char(o, '-');
	xvt_out_i64(o, pid);
	xvt_out_char(o, ' ');
}

static void put_lost(struct xvt_out *o, const struct xvt_event_class *c, const struct xvt_event *ev)
{
	struct xvt_value v;

	xvt_out_str(o, "LOST");
	for (uint32_t i = 0; i < c->field_count; i++) {
		xvt_field_get(&c->fields[i], ev, &v);
		/* The causes always, the other counts if they are not zero. */
		if (i > XVT_LOST_CAUSES && !v.u)
			continue;
		xvt_out_char(o, ' ');
		xvt_out_str(o, c->fields[i].name);
		xvt_out_char(o, '=');
		xvt_out_u64(o, v.u);
	}
	xvt_out_char(o, '\n');
}

static void put_event(struct xvt_out *o, const struct xvt_view *v, const struct xvt_event *ev,
		      const struct xvt_event_class *c, struct xvt_decoder *d)
{
	char letters[XVT_EVENT_LETTERS + 1], context[XVT_CONTEXT_LETTERS + 1];
	struct xvt_common common;

	put_place(o, v, ev);
	if (ev->hdr->id == XVT_ID_LOST && c->min_len >= XVT_LOST_LEN_LEAST) {
		put_lost(o, c, ev);
		return;
	}
	xvt_common_get(c, ev, &common);
	xvt_event_letters(ev->hdr->ring_flags, letters);
	xvt_context_letters(&common, context);
	xvt_out_bytes(o, letters, XVT_EVENT_LETTERS);
	xvt_out_bytes(o, context, XVT_CONTEXT_LETTERS);
	xvt_out_char(o, ' ');
	if (v->opts.task)
		put_task(o, d, common.pid);
	if (v->opts.system) {
		xvt_out_text(o, c->system, strlen(c->system));
		xvt_out_char(o, ':');
	}
	xvt_out_text(o, c->name, strlen(c->name));
	xvt_out_bytes(o, ": ", 2);
	xvt_out_begin(o, XVT_LIMIT_TEXT);
	xvt_print_fields(o, d, c, ev, v->opts.raw);
	if (xvt_out_end(o))
		xvt_out_str(o, "...[cut]");
	xvt_out_char(o, '\n');
}

int xvt_export_text(struct xvt_view *v, struct xvt_out *o)
{
	struct xvt_event ev;
	struct xvt_event_class *c;
	struct xvt_decoder *d;
	int got;

	while ((got = xvt_view_next(v, &ev, &c, &d)) > 0 && !o->err)
		put_event(o, v, &ev, c, d);
	return got < 0 ? got : 0; /* closing the output reports its errors */
}
