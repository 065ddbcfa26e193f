// SPDX-License-Identifier: GPL-2.0
/* states.c - see states.h. */
#include "lib/states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* -- reading ------------------------------------------------------------------------ */

static int take(struct xvt_states *s, const struct xvt_chunk_buf *b, uint32_t machines)
{
	struct xvt_note_parts p;
	struct xvt_state *to;

	if (!xvt_note_get(b, &p) || p.note.kind == XVT_NOTE_TEXT || p.note.kind > XVT_NOTE_LAST ||
	    p.note.vm >= machines)
		return 0;
	if (p.why_len > XVT_STATE_WHY)
		p.why_len = XVT_STATE_WHY;
	if (xvt_grow(&s->v, &s->room, s->count + 1, sizeof(*s->v)) ||
	    xvt_grow(&s->texts, &s->text_room, s->text_used + p.why_len + 1, 1))
		return -ENOMEM;
	to = &s->v[s->count];
	*to = (struct xvt_state){ .ns = p.state.at_ns,
				  .since_ns = p.state.since_ns,
				  .number = s->count++,
				  .machine = p.note.vm,
				  .kind = p.note.kind,
				  .why = s->text_used,
				  .why_len = (uint32_t)p.why_len };
	if (p.why_len)
		memcpy(s->texts + s->text_used, p.why, p.why_len);
	s->text_used += p.why_len;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct xvt_state *l = a, *r = b;

	if (l->ns != r->ns)
		return l->ns < r->ns ? -1 : 1;
	return l->number < r->number ? -1 : l->number > r->number;
}

int xvt_states_read(struct xvt_states *s, struct xvt_trace *t, uint32_t machines)
{
	struct xvt_chunk_buf b = { 0 };
	int err = 0, more;

	s->machines = machines;
	s->last_ns = calloc((size_t)machines + 1, sizeof(*s->last_ns));
	s->classes = calloc((size_t)machines + 1, sizeof(*s->classes));
	if (!s->last_ns || !s->classes)
		return -ENOMEM;
	for (size_t i = t->given; !err && (more = xvt_trace_next(t, 1u << XVT_CHUNK_NOTE, &i, &b));
	     i++) {
		if (more == -ESTALE) { /* at most once: the list of chunks is a new one */
			s->count = s->text_used = 0;
			i = SIZE_MAX;
		} else {
			err = more < 0 ? more : take(s, &b, machines);
		}
	}
	xvt_chunk_buf_free(&b);
	if (!err && s->count)
		qsort(s->v, s->count, sizeof(*s->v), compare);
	return err;
}

void xvt_states_fini(struct xvt_states *s)
{
	for (uint32_t i = 0; s->classes && i < s->machines; i++)
		free(s->classes[i]);
	free(s->classes);
	free(s->v);
	free(s->texts);
	free(s->last_ns);
}

/* -- as events ---------------------------------------------------------------------- */

static struct xvt_field length_fields[] = {
	{ .name = "paused_ns", .kind = XVT_FIELD_UINT, .place = XVT_PLACE_FIXED, .size = 8 },
	{ .name = "why",
	  .kind = XVT_FIELD_STRING,
	  .place = XVT_PLACE_TAIL,
	  .elem_size = 1,
	  .offset = 8 },
};
static struct xvt_field last_fields[] = {
	{ .name = "last_event_ns", .kind = XVT_FIELD_UINT, .place = XVT_PLACE_FIXED, .size = 8 },
	{ .name = "why",
	  .kind = XVT_FIELD_STRING,
	  .place = XVT_PLACE_TAIL,
	  .elem_size = 1,
	  .offset = 8 },
};

static const char *const names[XVT_NOTE_LAST + 1] = {
	[XVT_NOTE_TEXT] = "note",	[XVT_NOTE_PAUSED] = "paused",
	[XVT_NOTE_RUNS] = "runs",	[XVT_NOTE_RESET] = "reset",
	[XVT_NOTE_ASLEEP] = "asleep",	[XVT_NOTE_AWAKE] = "awake",
	[XVT_NOTE_CRASHED] = "crashed", [XVT_NOTE_SHUTDOWN] = "shutdown",
	[XVT_NOTE_MOVED] = "moved",	[XVT_NOTE_ARRIVED] = "arrived",
	[XVT_NOTE_ENDED] = "ended",	[XVT_NOTE_UNKNOWN] = "unknown",
	[XVT_NOTE_WAITS] = "waits",
};

/* Whether since_ns is the time of the machine's last event. */
static bool has_last(uint32_t kind)
{
	return kind == XVT_NOTE_CRASHED || kind == XVT_NOTE_SHUTDOWN || xvt_note_is_end(kind);
}

/* The classes of a machine; NULL: out of memory. */
static struct xvt_event_class *classes_of(struct xvt_states *s, uint32_t machine)
{
	struct xvt_event_class *c = s->classes[machine];

	if (c)
		return c;
	c = s->classes[machine] = calloc(XVT_NOTE_LAST + 1, sizeof(*c));
	for (uint32_t kind = 0; c && kind <= XVT_NOTE_LAST; kind++) {
		const bool number = kind == XVT_NOTE_RUNS || has_last(kind);
		struct xvt_field *fields = kind == XVT_NOTE_RUNS ? length_fields : last_fields;

		c[kind] = (struct xvt_event_class){
			.system = "xvt",
			.name = names[kind],
			.fields = number ? fields : fields + 1,
			.field_count = number ? 2 : 1,
			.min_len = 8,
			.comm_field = { -1, -1 },
			.pid_field = { -1, -1 },
		};
	}
	return c;
}

struct xvt_event_class *xvt_states_next(struct xvt_states *s, struct xvt_event *ev,
					const struct xvt_state **state)
{
	struct xvt_state *of = &s->v[s->at++];
	struct xvt_event_class *c = classes_of(s, of->machine);
	uint64_t number = of->since_ns;

	/* The recorder had not read all events when it wrote the note, and the reader may give them
	 * other times. */
	if (has_last(of->kind) && s->last_ns[of->machine])
		number = of->since_ns = s->last_ns[of->machine];
	if (of->kind == XVT_NOTE_RUNS)
		number = number && number < of->ns ? of->ns - number : 0;
	memcpy(s->payload, &number, sizeof(number));
	memcpy(s->payload + sizeof(number), s->texts + of->why, of->why_len);
	s->hdr = (struct xvt_event_hdr){ .host_ns = of->ns,
					 .ring_flags = XVT_EVENT_RING_MASK,
					 .len = (uint16_t)(sizeof(number) + of->why_len) };
	*ev = (struct xvt_event){ .hdr = &s->hdr, .payload = s->payload };
	*state = of;
	return c ? &c[of->kind] : NULL;
}

void xvt_state_text(struct xvt_out *o, const struct xvt_state *state, const uint8_t *why)
{
	const bool last = has_last(state->kind) && state->since_ns;
	const uint64_t length =
		state->kind == XVT_NOTE_RUNS && state->since_ns && state->ns > state->since_ns
			? state->ns - state->since_ns
			: 0;

	if (length >= 1000000)
		xvt_out_printf(o, "after %.3f s", (double)length / 1e9);
	else if (length)
		xvt_out_printf(o, "after %llu ns", (unsigned long long)length);
	if (length && state->why_len)
		xvt_out_bytes(o, ": ", 2);
	xvt_out_text(o, why, state->why_len);
	if (!last)
		return;
	xvt_out_str(o, state->why_len ? "; last event at " : "last event at ");
	xvt_out_time(o, state->since_ns);
}
