// SPDX-License-Identifier: GPL-2.0
/* text.c - events as lines of text: `report`, and `export --format text`. */
#include "export/labels.h"

int xvt_export_next(struct xvt_export *x, const struct xvtrace_event **event)
{
	int got = xvtrace_next(x->reader, event);

	x->given += got == 1;
	return got;
}

/* "  +-0.31us", rounded up, in ten places. */
static void put_bound(struct xvt_out *o, uint64_t ns)
{
	static const char prefixes[] = "um"; /* of seconds */
	uint64_t hundredths = ns / 10 + (ns % 10 != 0);
	char text[32];
	size_t at = sizeof(text), unit = 0;

	if (ns == XVTRACE_NO_BOUND) {
		xvt_out_str(o, "       +-? ");
		return;
	}
	for (; hundredths > 99999 && unit < 2; unit++)
		hundredths = hundredths / 1000 + (hundredths % 1000 != 0);
	text[--at] = ' ';
	text[--at] = 's';
	if (unit < 2)
		text[--at] = prefixes[unit];
	for (int digit = 0; digit < 3 || hundredths; digit++, hundredths /= 10) {
		if (digit == 2)
			text[--at] = '.';
		text[--at] = (char)('0' + hundredths % 10);
	}
	text[--at] = '-';
	text[--at] = '+';
	while (sizeof(text) - at < 11)
		text[--at] = ' ';
	xvt_out_bytes(o, text + at, sizeof(text) - at);
}

/* "+0.000012345": from one time to another. */
static void put_since(struct xvt_out *o, uint64_t from_ns, uint64_t ns)
{
	xvt_out_char(o, ns < from_ns ? '-' : '+');
	xvt_out_time(o, ns < from_ns ? from_ns - ns : ns - from_ns);
}

/* ">" the event of --around; "~" an event that may have been before or after it. In one ring the
 * order is known. */
static char mark_of(struct xvt_export *x, const struct xvtrace_event *ev)
{
	const struct xvt_around *a = &x->around;
	uint64_t ns = a->clock == XVTRACE_WALL ? xvtrace_wall_ns(x->trace, ev->ns) : ev->ns;
	uint64_t apart = ns > a->ns ? ns - a->ns : a->ns - ns;

	if (a->ring && ev->ring == a->ring)
		return ns == a->ns && ev->guest_clock == a->guest_clock ? '>' : ' ';
	if (ev->kind != XVTRACE_EVENT ||
	    (apart > a->bound_ns && apart - a->bound_ns > ev->bound_ns))
		return ' ';
	x->unordered++;
	return '~';
}

/* What only some options ask for. */
static void put_more(struct xvt_out *o, struct xvt_export *x, const struct xvtrace_event *ev,
		     uint64_t ns)
{
	if (x->delta) {
		xvt_out_char(o, '(');
		put_since(o, x->before_ns ? x->before_ns : ns, ns);
		xvt_out_bytes(o, ") ", 2);
		x->before_ns = ns;
	}
	if (x->bound)
		put_bound(o, ev->bound_ns);
	if (x->marks) {
		xvt_out_char(o, mark_of(x, ev));
		xvt_out_char(o, ' ');
	}
}

static void put_place(struct xvt_out *o, struct xvt_export *x, const struct xvtrace_event *ev)
{
	const uint64_t ns = x->wall ? xvtrace_wall_ns(x->trace, ev->ns) : ev->ns;

	if (x->relative)
		put_since(o, x->first_ns, ns);
	else
		xvt_out_time(o, ns);
	xvt_out_char(o, ' ');
	put_more(o, x, ev, ns);
	if (ev->ring) {
		xvt_out_str(o, ev->ring->machine->name);
		xvt_out_char(o, ':');
		xvt_out_u64(o, ev->ring->cpu);
	} else {
		xvt_out_str(o, "?:?");
	}
	xvt_out_char(o, ' ');
}

static void put_task(struct xvt_out *o, const struct xvtrace_event *ev)
{
	const char *comm = xvtrace_event_comm(ev);

	if (ev->pid < 0) {
		xvt_out_str(o, "- ");
		return;
	}
	if (!comm)
		comm = "<...>";
	xvt_out_text(o, comm, strlen(comm));
	xvt_out_char(o, '-');
	xvt_out_i64(o, ev->pid);
	xvt_out_char(o, ' ');
}

static void put_name(struct xvt_out *o, const struct xvt_export *x, const struct xvtrace_type *type)
{
	if (x->system) {
		xvt_out_text(o, type->system, strlen(type->system));
		xvt_out_char(o, ':');
	}
	xvt_out_text(o, type->name, strlen(type->name));
	xvt_out_bytes(o, ": ", 2);
}

static int put_event(struct xvt_out *o, struct xvt_labels *names, struct xvt_export *x,
		     const struct xvtrace_event *ev)
{
	char flags[XVTRACE_FLAG_LETTERS + 1], context[XVTRACE_CONTEXT_LETTERS + 1];
	const char *text;
	size_t len;

	put_place(o, x, ev);
	if (ev->kind == XVTRACE_LOST) {
		xvt_out_str(o, "LOST ");
	} else {
		xvtrace_flag_letters(ev->flags, flags);
		xvtrace_context_letters(ev, context);
		xvt_out_bytes(o, flags, XVTRACE_FLAG_LETTERS);
		xvt_out_bytes(o, context, XVTRACE_CONTEXT_LETTERS);
		xvt_out_char(o, ' ');
		if (x->task)
			put_task(o, ev);
		if (xvt_labels_put(names, o, x, ev->type))
			return -ENOMEM;
	}
	text = xvtrace_event_text(ev, x->raw ? XVTRACE_RAW : 0, &len);
	xvt_out_bytes(o, text, len);
	xvt_out_char(o, '\n');
	return 0;
}

int xvt_export_text(struct xvt_export *x, struct xvt_out *o)
{
	struct xvt_labels names = { .make = put_name };
	const struct xvtrace_event *ev;
	int got, err = 0;

	while (!err && (got = xvt_export_next(x, &ev)) != 0 && !o->err)
		err = got < 0 ? got : put_event(o, &names, x, ev);
	xvt_labels_fini(&names);
	return err;
}
