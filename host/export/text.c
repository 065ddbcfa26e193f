// SPDX-License-Identifier: GPL-2.0
/* text.c - events as lines of text: `report`, and `export --format text`. */
#include <stdlib.h>

#include "base/vec.h"
#include "export/labels.h"
#include "export/lines.h"

/* "   +-310ns", rounded up, in ten places. */
static void put_bound(struct xvt_out *o, uint64_t ns)
{
	static struct xvt_out made;

	if (ns == XVTRACE_NO_BOUND) {
		xvt_out_str(o, "       +-? ");
		return;
	}
	made.fd = -1;
	made.used = 0;
	xvt_out_bound(&made, ns, "");
	for (size_t n = made.used + 2; n < 10; n++)
		xvt_out_char(o, ' ');
	xvt_out_bytes(o, "+-", 2);
	xvt_out_bytes(o, made.buf, made.used);
	xvt_out_char(o, ' ');
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

	if (a->state_of && ev->kind == XVTRACE_STATE && ev->machine == a->state_of && ns == a->ns)
		return '>';
	if (a->ring && ev->ring == a->ring)
		return ns == a->ns && ev->guest_clock == a->guest_clock ? '>' : ' ';
	if (ev->kind != XVTRACE_EVENT ||
	    (apart > a->bound_ns && apart - a->bound_ns > ev->bound_ns))
		return ' ';
	x->unordered++;
	return '~';
}

/* Parts that only some options ask for. */
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

static unsigned int digits_of(uint64_t ns)
{
	unsigned int digits = 1;

	for (ns /= 1000000000; ns >= 10; ns /= 10)
		digits++;
	return digits;
}

/* Blanks for the digits that the seconds of the last event have more. */
static void pad_time(struct xvt_out *o, const struct xvt_export *x, uint64_t ns)
{
	const uint64_t from_ns = x->relative ? x->first_ns : 0;
	const uint64_t last_ns = xvtrace_info(x->trace)->last_ns;

	for (unsigned int n = digits_of(ns > from_ns ? ns - from_ns : 0);
	     n < digits_of(last_ns - from_ns); n++)
		xvt_out_char(o, ' ');
}

/* Writes a time by the clock of the lines, and returns it. */
static uint64_t put_ns(struct xvt_out *o, const struct xvt_export *x, uint64_t ns)
{
	if (x->wall)
		ns = xvtrace_wall_ns(x->trace, ns);
	if (x->people && !x->wall)
		pad_time(o, x, ns);
	if (x->relative)
		put_since(o, x->first_ns, ns);
	else if (x->wall)
		xvt_out_date(o, ns, 'T', 9);
	else
		xvt_out_time(o, ns);
	return ns;
}

static void put_time(struct xvt_out *o, struct xvt_export *x, const struct xvtrace_event *ev)
{
	const uint64_t ns = put_ns(o, x, ev->ns);

	xvt_out_char(o, ' ');
	put_more(o, x, ev, ns);
}

/* -- columns ------------------------------------------------------------------------ */

#define PLACE_MOST 24 /* a longer machine's name pushes its line to the right */
#define TASK_WIDTH 20
/* Columns that do not change from line to line are made once. */
struct text {
	struct xvt_export *x;
	struct xvt_out *o;
	struct xvt_labels names;
	struct xvt_label *places; /* by number of the ring */
	size_t place_room;
	size_t place_width;
	struct xvt_out made; /* where they are made */
};

static size_t letters_of(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((uint8_t)text[i] & 0xc0) != 0x80;
	return n;
}

static void pad(struct xvt_out *o, size_t letters, size_t width)
{
	static const char blanks[] = "                        ";

	if (letters < width)
		xvt_out_bytes(o, blanks, width - letters);
}
_Static_assert(PLACE_MOST <= 24 && TASK_WIDTH <= 24, "blanks for the widest column");

const char *xvt_machine_colour(const struct xvtrace_machine *machine)
{
	static const char *const colours[] = { "36", "33", "32", "35", "34", "96", "93", "92" };

	return colours[machine->number % (sizeof(colours) / sizeof(colours[0]))];
}

/* "g1:0", in the machine's colour; "g1" without a ring. Returns its letters. */
static size_t make_place(struct xvt_out *o, const struct xvtrace_machine *machine,
			 const struct xvtrace_ring *ring, bool colour)
{
	size_t letters;

	if (colour)
		xvt_out_printf(o, "\x1b[%sm", xvt_machine_colour(machine));
	letters = o->used;
	xvt_out_str(o, machine->name);
	if (ring) {
		xvt_out_char(o, ':');
		xvt_out_u64(o, ring->cpu);
	}
	letters = letters_of(o->buf + letters, o->used - letters);
	if (colour)
		xvt_out_str(o, "\x1b[0m");
	return letters;
}

static int add_place(struct text *t, const struct xvtrace_ring *ring)
{
	struct xvt_out *o = &t->made;
	struct xvt_label *label;

	if (xvt_grow_zeroed(&t->places, &t->place_room, ring->number + 1u, sizeof(*t->places)))
		return -ENOMEM;
	o->used = 0;
	pad(o, make_place(o, ring->machine, ring, t->x->colour), t->place_width);
	xvt_out_char(o, ' ');
	label = &t->places[ring->number];
	label->text = malloc(o->used);
	if (!label->text)
		return -ENOMEM;
	memcpy(label->text, o->buf, o->used);
	label->len = o->used;
	return 0;
}

static int put_place(struct text *t, const struct xvtrace_ring *ring)
{
	if (!ring) {
		xvt_out_str(t->o, "?:? ");
		return 0;
	}
	if ((ring->number >= t->place_room || !t->places[ring->number].text) && add_place(t, ring))
		return -ENOMEM;
	xvt_out_bytes(t->o, t->places[ring->number].text, t->places[ring->number].len);
	return 0;
}

/* Whether a name needs no escapes and has a letter in each byte. */
static bool is_plain(const char *text, size_t len)
{
	bool plain = true;

	for (size_t i = 0; i < len; i++)
		plain = plain && text[i] >= ' ' && text[i] < 127;
	return plain;
}

static void put_task(struct text *t, const struct xvtrace_event *ev)
{
	struct xvt_out *o = &t->made;
	const char *comm = "";
	size_t len;
	bool plain;

	o->used = 0;
	if (ev->pid >= 0) {
		comm = xvtrace_event_comm(ev);
		comm = comm ? comm : "<...>";
	}
	len = strlen(comm);
	plain = is_plain(comm, len);
	if (plain)
		xvt_out_bytes(o, comm, len);
	else
		xvt_out_text(o, comm, len);
	xvt_out_char(o, '-');
	if (ev->pid >= 0)
		xvt_out_i64(o, ev->pid);
	if (t->x->align)
		pad(o, plain ? o->used : letters_of(o->buf, o->used), TASK_WIDTH);
	xvt_out_char(o, ' ');
	xvt_out_bytes(t->o, o->buf, o->used);
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

/* -- lines -------------------------------------------------------------------------- */

/* "after 2.093 s": of a pause that ends. */
static void put_length(struct xvt_out *o, uint64_t ns)
{
	xvt_out_str(o, " after ");
	if (ns < 1000000)
		xvt_out_duration(o, ns);
	else
		xvt_out_printf(o, "%.3f s", (double)ns / 1e9);
}

/* " after 2.093 s: reason", ": guest panicked; last event at 4137.795021442" */
static void put_state_text(struct xvt_out *o, const struct xvt_export *x,
			   const struct xvtrace_event *ev)
{
	const bool runs = ev->state == XVTRACE_RUNS;
	const char *joint = ": ";
	struct xvtrace_value why;

	if (runs && ev->since_ns && ev->since_ns < ev->ns)
		put_length(o, ev->ns - ev->since_ns);
	xvtrace_value(ev, xvtrace_field_named(ev->type, "why"), &why);
	if (why.count) {
		xvt_out_str(o, joint);
		xvt_out_text(o, why.data, why.count);
		joint = "; ";
	}
	if (runs || !ev->since_ns)
		return;
	xvt_out_str(o, joint);
	xvt_out_str(o, "last event at ");
	put_ns(o, x, ev->since_ns);
}

/* Yellow where the machine stands still, green where it runs, red where that is its end. */
static const char *colour_of(enum xvtrace_state state)
{
	switch (state) {
	case XVTRACE_PAUSED:
	case XVTRACE_ASLEEP:
		return "\x1b[1;33m";
	case XVTRACE_RUNS:
	case XVTRACE_AWAKE:
		return "\x1b[1;32m";
	case XVTRACE_CRASHED:
	case XVTRACE_ENDED:
		return "\x1b[1;31m";
	default:
		return "\x1b[1m";
	}
}

/* "g1 RUNS after 2.093 s" */
static void put_state(struct text *t, const struct xvtrace_event *ev)
{
	struct xvt_export *x = t->x;
	struct xvt_out *o = t->o;
	const char *text;
	size_t len;

	pad(o, make_place(o, ev->machine, NULL, x->colour), x->align ? t->place_width : 0);
	xvt_out_char(o, ' ');
	if (x->colour)
		xvt_out_str(o, colour_of(ev->state));
	for (const char *c = ev->type->name; *c; c++)
		xvt_out_char(o, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
	if (x->colour)
		xvt_out_str(o, "\x1b[0m");
	if (x->raw) {
		text = xvtrace_event_text(ev, XVTRACE_RAW, &len);
		xvt_out_char(o, ' ');
		xvt_out_bytes(o, text, len);
	} else {
		put_state_text(o, x, ev);
	}
	xvt_out_char(o, '\n');
}

static int put_event(struct text *t, const struct xvtrace_event *ev)
{
	char flags[XVTRACE_FLAG_LETTERS + 1], context[XVTRACE_CONTEXT_LETTERS + 1];
	struct xvt_export *x = t->x;
	struct xvt_out *o = t->o;
	const char *text;
	size_t len;

	put_time(o, x, ev);
	if (ev->kind == XVTRACE_STATE) {
		put_state(t, ev);
		return 0;
	}
	if (put_place(t, ev->ring))
		return -ENOMEM;
	if (ev->kind == XVTRACE_LOST) {
		xvt_out_str(o, x->colour ? "\x1b[1;31mLOST\x1b[0m " : "LOST ");
		if (ev->ring && ev->ring->machine->ftrace)
			xvt_out_str(o, "at least ");
	} else {
		xvtrace_flag_letters(ev->flags, flags);
		xvtrace_context_letters(ev, context);
		xvt_out_bytes(o, flags, XVTRACE_FLAG_LETTERS);
		xvt_out_bytes(o, context, XVTRACE_CONTEXT_LETTERS);
		xvt_out_char(o, ' ');
		if (x->task)
			put_task(t, ev);
		if (xvt_labels_put(&t->names, o, x, ev->type))
			return -ENOMEM;
	}
	text = xvtrace_event_text(ev, x->raw ? XVTRACE_RAW : 0, &len);
	xvt_out_bytes(o, text, len);
	xvt_out_char(o, '\n');
	return 0;
}

/* The width of the longest place, up to a limit. */
static void measure(struct text *t)
{
	const unsigned int rings = xvtrace_info(t->x->trace)->rings;

	for (unsigned int i = 0; i < rings && t->place_width < PLACE_MOST; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(t->x->trace, i);
		size_t letters;

		if (!ring)
			continue;
		t->made.used = 0;
		letters = make_place(&t->made, ring->machine, ring, false);
		if (letters > t->place_width)
			t->place_width = letters < PLACE_MOST ? letters : PLACE_MOST;
	}
}

/* At most 80 letters. */
static void put_legend(struct xvt_out *o, bool colour)
{
	xvt_out_str(o, colour ? "\x1b[2m" : "");
	xvt_out_str(o, "# FLAGS: Late Backlog Unconfirmed Recovered Clock, "
		       "d irqs off N resched h/s irq");
	xvt_out_str(o, colour ? "\x1b[0m\n" : "\n");
}

static void *begin(struct xvt_export *x)
{
	struct text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->x = x;
	t->names.make = put_name;
	t->made.fd = -1;
	if (x->align)
		measure(t);
	return t;
}

static int put(void *state, struct xvt_out *o, const struct xvtrace_event *ev)
{
	struct text *t = state;

	t->o = o;
	return put_event(t, ev);
}

static void end(void *state)
{
	struct text *t = state;

	if (!t)
		return;
	xvt_labels_fini(&t->names);
	for (size_t i = 0; i < t->place_room; i++)
		free(t->places[i].text);
	free(t->places);
	free(t);
}

int xvt_export_text(struct xvt_export *x, struct xvt_out *o)
{
	static const struct xvt_lines lines = { begin, put, end };

	if (x->people)
		put_legend(o, x->colour);
	/* These depend on the lines before, or have one place for all threads. */
	return xvt_export_lines(x, o, &lines, !(x->delta || x->marks || x->bound || x->people));
}
