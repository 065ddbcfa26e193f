// SPDX-License-Identifier: GPL-2.0
/*
 * perfetto.c - a trace for ui.perfetto.dev, as perfetto.proto has it. Each machine has a
 * machine_id, each ring a sequence of packets. Events of a vCPU with a task are ftrace events,
 * others are track events on a track of their ring. No packet refers to an earlier one, so each of
 * them can be read alone, and memory is one bundle for each ring.
 *
 * Perfetto takes ftrace's times for CLOCK_BOOTTIME. Times here are of CLOCK_MONOTONIC, so clock
 * snapshots say that both are the same, and which time of day that was.
 */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define BUNDLE_BYTES (32u << 10) /* a bundle of this length is written */
#define WAKING_BYTES 16u	 /* about what a sched_waking takes there */
#define BUNDLES_MAX  (64u << 20) /* bytes of all bundles */
#define TEXT_MAX     4096u	 /* bytes of a list's text, and of text that is kept of a field */
#define EVENT_MAX    (48u << 10) /* bytes of an event, beyond which its fields are left out */

/* A field of a type, ready to be written. */
struct field {
	const struct xvtrace_field *f;
	const struct xvt_perfetto_field *to; /* NULL: by name */
	size_t name;			     /* in the type's names: length and text */
	size_t name_len;
};

struct xvt_pf_type {
	const struct xvt_perfetto_event *to; /* NULL: a generic event */
	unsigned int number;		     /* with `to`: its place in the list of events */
	unsigned int exit;		     /* and that of the event that ends its slice */
	const struct xvtrace_field *of[XVT_PERFETTO_FIELDS]; /* by number in `to` */
	const struct xvtrace_field *function;		     /* with `to`; NULL: none */
	bool marks;					     /* may be marks of messages */
	bool print;		/* with `to`: Perfetto takes its text apart */
	struct xvt_proto names; /* that of the event first */
	size_t name_len;
	struct field fields[];
};
/* -- types ---------------------------------------------------------------------------- */

/* Add a name behind its length. Returns its place, or SIZE_MAX: no memory. */
static size_t add_name(struct xvt_pf_type *t, const char *name, size_t *len)
{
	size_t at = t->names.used, most = strnlen(name, XVT_PF_NAME_MAX), text;

	if (xvt_proto_room(&t->names, xvt_proto_text_room(most)))
		return SIZE_MAX;
	text = xvt_proto_open(&t->names, FIELD_NAME);
	xvt_proto_text(&t->names, name, most);
	xvt_proto_close(&t->names, text);
	/* Messages differ in the name's tag, which is one byte in all of them: without it. */
	*len = t->names.used - at - 1;
	return at + 1;
}

static struct xvt_pf_type *new_type(const struct xvtrace_type *type)
{
	struct xvt_pf_type *t = calloc(1, sizeof(*t) + type->fields * sizeof(t->fields[0]));
	size_t at = t ? add_name(t, type->name, &t->name_len) : SIZE_MAX;

	if (t)
		t->to = xvt_perfetto_event(type);
	if (t && t->to) {
		t->number = xvt_perfetto_number(t->to);
		t->exit = xvt_perfetto_exit(t->to);
		t->print = strcmp(type->name, "print") == 0;
	}
	if (t)
		t->marks = strcmp(type->name, "print") == 0 || strcmp(type->name, "text") == 0;
	for (unsigned int i = 0; i < type->fields && at != SIZE_MAX; i++) {
		struct field *f = &t->fields[i];

		f->f = xvtrace_field(type, i);
		if (t->to) {
			f->to = xvt_perfetto_field(t->to, f->f);
			t->of[f->to->number] = f->f;
			if (xvt_perfetto_is_function(f->to))
				t->function = f->f;
		}
		at = f->name = add_name(t, f->f->name, &f->name_len);
	}
	if (at != SIZE_MAX)
		return t;
	if (t)
		free(t->names.p);
	free(t);
	return NULL;
}

static struct xvt_pf_type *type_of(struct xvt_pf *p, const struct xvtrace_type *type)
{
	if (type->number < p->type_room && p->types[type->number])
		return p->types[type->number];
	if (xvt_grow_zeroed(&p->types, &p->type_room, type->number + 1u,
			    sizeof(struct xvt_pf_type *)))
		return NULL;
	return p->types[type->number] = new_type(type);
}

/* -- events --------------------------------------------------------------------------- */

/* How a message names and holds a value. */
struct style {
	uint32_t field; /* of the message above */
	uint32_t name;
	uint32_t str;
	uint32_t i64;
	uint32_t u64;
};

static const struct style generic = { GENERIC_FTRACE_EVENT_FIELD, FIELD_NAME, FIELD_STR_VALUE,
				      FIELD_INT_VALUE, FIELD_UINT_VALUE };
static const struct style annotation = { TRACK_EVENT_DEBUG_ANNOTATIONS, DEBUG_ANNOTATION_NAME,
					 DEBUG_ANNOTATION_STRING_VALUE, DEBUG_ANNOTATION_INT_VALUE,
					 DEBUG_ANNOTATION_UINT_VALUE };

static void put_name(struct xvt_proto *b, uint32_t number, const struct xvt_pf_type *t, size_t at,
		     size_t len)
{
	xvt_proto_tag(b, number, XVT_PROTO_WIRE_BYTES);
	xvt_proto_bytes(b, t->names.p + at, len);
}

/* "[1,2,3]"; "..." for the rest. */
static void put_list(struct xvt_pf *p, struct xvt_proto *b, uint32_t number,
		     const struct xvtrace_value *v)
{
	struct xvt_out *o = &p->list;

	o->used = 0;
	xvt_out_char(o, '[');
	for (size_t i = 0; i < v->count; i++) {
		uint64_t e = xvtrace_element(v, i);

		if (i)
			xvt_out_char(o, ',');
		if (o->used > TEXT_MAX - 32) {
			xvt_out_str(o, "...");
			break;
		}
		if (v->field->kind == XVTRACE_INTS)
			xvt_out_i64(o, (int64_t)e);
		else
			xvt_out_u64(o, e);
	}
	xvt_out_char(o, ']');
	xvt_proto_string(b, number, o->buf, o->used);
}

static void put_number(struct xvt_proto *b, const struct style *s, const char *name, uint64_t v)
{
	size_t at = xvt_proto_open(b, s->field);

	xvt_proto_string(b, s->name, name, strlen(name));
	xvt_proto_u64(b, s->u64, v);
	xvt_proto_close(b, at);
}

static void put_string(struct xvt_proto *b, const struct style *s, const char *name,
		       const char *text, size_t len)
{
	size_t at = xvt_proto_open(b, s->field);

	xvt_proto_string(b, s->name, name, strlen(name));
	xvt_proto_string(b, s->str, text, len);
	xvt_proto_close(b, at);
}

/* Write a field by its name. Returns 0 or -ENOMEM. */
static int put_field(struct xvt_pf *p, struct xvt_proto *b, const struct style *s,
		     const struct xvt_pf_type *t, const struct field *f,
		     const struct xvtrace_event *ev)
{
	struct xvtrace_value v;
	size_t at;

	xvtrace_value(ev, f->f, &v);
	if (f->f->kind == XVTRACE_STRING && v.count > TEXT_MAX)
		v.count = TEXT_MAX;
	if (xvt_proto_room(b, f->name_len + 4 * XVT_PROTO_NUMBER + 3 * TEXT_MAX))
		return -ENOMEM;
	at = xvt_proto_open(b, s->field);
	put_name(b, s->name, t, f->name, f->name_len);
	if (f->f->kind == XVTRACE_UINT)
		xvt_proto_u64(b, s->u64, v.u);
	else if (f->f->kind == XVTRACE_INT)
		xvt_proto_u64(b, s->i64, v.u);
	else if (f->f->kind == XVTRACE_STRING)
		xvt_proto_string(b, s->str, v.data, v.count);
	else
		put_list(p, b, s->str, &v);
	xvt_proto_close(b, at);
	return 0;
}

/* All fields by name, then what the trace knows of the event. Returns 0 or -ENOMEM. */
static int put_fields(struct xvt_pf *p, struct xvt_proto *b, const struct style *s,
		      const struct xvt_pf_type *t, const struct xvtrace_event *ev)
{
	const size_t begin = b->used;
	bool cut = false;
	size_t len = 0;
	const char *text = ev->type->addresses ? xvtrace_event_text(ev, 0, &len) : NULL;

	for (unsigned int i = 0; i < ev->type->fields && !cut; i++) {
		cut = b->used - begin > EVENT_MAX;
		if (!cut && put_field(p, b, s, t, &t->fields[i], ev))
			return -ENOMEM;
	}
	if (xvt_proto_room(b, xvt_proto_text_room(len) + 16 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	if (text)
		put_string(b, s, "xvt_text", text, len);
	if (ev->bound_ns != XVTRACE_NO_BOUND)
		put_number(b, s, "bound_ns", ev->bound_ns);
	if (ev->flags)
		put_number(b, s, "xvt_flags", ev->flags);
	if (cut)
		put_number(b, s, "xvt_cut", 1);
	return 0;
}

/* The fields of an event with a message of its own. Returns 0 or -ENOMEM. */
static int put_typed(struct xvt_proto *b, const struct xvt_pf_type *t,
		     const struct xvtrace_event *ev)
{
	for (unsigned int i = 0; i < ev->type->fields; i++) {
		const struct field *f = &t->fields[i];
		struct xvtrace_value v;

		xvtrace_value(ev, f->f, &v);
		if (xvt_proto_room(b, xvt_proto_text_room(v.count * 4) + XVT_PROTO_NUMBER))
			return -ENOMEM;
		if (f->to->kind == STR)
			xvt_proto_string(b, f->to->number, v.data, v.count);
		else if (f->to->kind != U64S)
			xvt_proto_u64(b, f->to->number, v.u);
		else
			for (size_t e = 0; e < v.count; e++)
				xvt_proto_u64(b, f->to->number, xvtrace_element(&v, e));
	}
	return 0;
}

/* Digits, and a sign before them if `sign`; returns what is behind, or NULL. */
static const char *skip_number(const char *s, const char *end, bool sign)
{
	const char *first = s += sign && s < end && *s == '-';

	while (s < end && *s >= '0' && *s <= '9')
		s++;
	return s > first ? s : NULL;
}

/*
 * Whether a text is one of the marks that Perfetto makes slices and counters of; it counts others
 * as errors. E, E|..., [BI]|PID|NAME, N|PID|TRACK|NAME, [CSF]|PID|NAME|NUMBER.
 */
static bool is_atrace(const char *s, size_t len)
{
	const char *end = s + len, *bar, *number;

	if (len && s[0] == 'E')
		return len == 1 || s[1] == '|';
	if (len < 2 || !strchr("BINCSF", s[0]) || !s[0] || s[1] != '|')
		return false;
	bar = skip_number(s + 2, end, false);
	if (!bar || end - bar < 2 || *bar != '|')
		return false;
	if (s[0] == 'B' || s[0] == 'I')
		return true;
	bar = memchr(bar + 1, '|', (size_t)(end - bar - 1));
	if (!bar || s[0] == 'N')
		return bar && end - bar > 1;
	number = skip_number(bar + 1, end, true);
	return number && number == end;
}

/*
 * Whether Perfetto understands the event's own message. It begins a slice for an entry, which would
 * stay open to the end where the exits are not recorded: an entry is told as one when its machine
 * has had an exit.
 */
static bool is_typed(struct xvt_pf_machine *m, const struct xvt_pf_type *t,
		     const struct xvtrace_event *ev)
{
	struct xvtrace_value v;

	if (!t->to)
		return false;
	m->seen[t->number / 64] |= 1ull << t->number % 64;
	if (t->exit < XVT_PERFETTO_EVENTS_MAX && !(m->seen[t->exit / 64] >> t->exit % 64 & 1))
		return false;
	for (unsigned int i = 0; i < ev->type->fields; i++) {
		const struct field *f = &t->fields[i];

		if (f->to->kind != I32 && f->to->kind != U32 && !(t->print && f->to->kind == STR))
			continue;
		xvtrace_value(ev, f->f, &v);
		if (t->print ? f->to->kind == STR && !is_atrace((const char *)v.data, v.count)
			     : !xvt_perfetto_holds(f->to, f->f, v.u))
			return false;
	}
	return true;
}

/* Whether a switch is the last one again: the guest's module and its kernel may both record it. */
static bool is_double(const struct xvt_pf_ring *r, const struct xvt_pf_type *t,
		      const struct xvtrace_event *ev)
{
	struct xvtrace_value prev, next;

	if (!r->runs || !t->of[2] || !t->of[6] || strcmp(r->switch_system, ev->type->system) == 0)
		return false;
	xvtrace_value(ev, t->of[2], &prev);
	xvtrace_value(ev, t->of[6], &next);
	return r->running.pid == (int32_t)next.u && r->switch_prev == (int32_t)prev.u;
}

/* Write the event itself. */
static int put_ftrace_event(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvt_pf_type *t,
			    const struct xvtrace_event *ev, bool typed)
{
	struct xvt_proto *b = &r->events;
	const size_t before = b->used;
	size_t at, inner;
	int err;

	if (xvt_proto_room(b, t->name_len + 8 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	at = xvt_proto_open(b, FTRACE_EVENT_BUNDLE_EVENT);
	xvt_proto_u64(b, FTRACE_EVENT_TIMESTAMP, ev->ns);
	xvt_proto_u64(b, FTRACE_EVENT_PID, (uint32_t)ev->pid);
	if (typed && t->to->number == XVT_PERFETTO_WAKING)
		xvt_proto_u64(b, FTRACE_EVENT_COMMON_FLAGS, ev->irq_flags);
	inner = xvt_proto_open(b, typed ? t->to->number : FTRACE_EVENT_GENERIC);
	if (typed) {
		err = put_typed(b, t, ev);
	} else {
		put_name(b, GENERIC_FTRACE_EVENT_EVENT_NAME, t, 1, t->name_len);
		err = put_fields(p, b, &generic, t, ev);
	}
	/* Lengths that get longer move what is behind them. */
	if (!err)
		err = xvt_proto_room(b, XVT_PROTO_NUMBER);
	if (err) {
		b->used = before;
		return err;
	}
	xvt_proto_close(b, inner);
	xvt_proto_close(b, at);
	return 0;
}

/* States of vCPUs, by the host's switches and wake-ups. */
static int see_vcpus(struct xvt_pf *p, const struct xvt_pf_ring *r, const struct xvt_pf_type *t,
		     const struct xvtrace_event *ev)
{
	const bool is_switch = t->to->number == XVT_PERFETTO_SWITCH;
	struct xvtrace_value prev, state, next;

	if (is_switch && t->of[2] && t->of[4] && t->of[6]) {
		xvtrace_value(ev, t->of[2], &prev);
		xvtrace_value(ev, t->of[4], &state);
		xvtrace_value(ev, t->of[6], &next);
		return xvt_pf_vcpu_switch(p, r->machine, ev->ns, (int32_t)prev.u, state.u,
					  (int32_t)next.u);
	}
	if (!is_switch && t->of[2]) {
		xvtrace_value(ev, t->of[2], &next);
		xvt_pf_vcpu_waking(p, ev->ns, (int32_t)next.u);
	}
	return 0;
}

/* task_newtask says whose thread a task is; sched_process_fork, if it is one of the kernel. */
static int see_new_task(struct xvt_pf_machine *m, const struct xvt_pf_type *t,
			const struct xvtrace_event *ev)
{
	const bool is_fork = t->to->number == XVT_PERFETTO_FORK;
	struct xvtrace_value pid, clone_flags = { .u = 0 };

	if (is_fork ? !t->of[4] || ev->pid != XVT_PF_KTHREADD : !t->of[1] || !t->of[3])
		return 0;
	xvtrace_value(ev, t->of[is_fork ? 4 : 1], &pid);
	if (!is_fork)
		xvtrace_value(ev, t->of[3], &clone_flags);
	return xvt_pf_new_task(m, ev->pid, (int32_t)pid.u, clone_flags.u);
}

static int put_ftrace(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvt_pf_type *t,
		      const struct xvtrace_event *ev)
{
	const size_t had = r->events.room + r->waking_room * sizeof(*r->wakings);
	bool typed = is_typed(&p->machines[r->machine], t, ev);
	struct xvtrace_value function;
	int err = 0, taken = 0;

	r->counts.events++;
	if (typed && t->to->number == XVT_PERFETTO_SWITCH) {
		typed = !is_double(r, t, ev);
		if (typed)
			err = xvt_pf_switch(p, r, ev, t->of);
	} else if (r->running.pid == ev->pid) {
		r->seen_ns = ev->ns;
	}
	if (!err && r->host && typed &&
	    (t->to->number == XVT_PERFETTO_SWITCH || t->to->number == XVT_PERFETTO_WAKING))
		err = see_vcpus(p, r, t, ev);
	if (!err && typed && t->to->number == XVT_PERFETTO_WAKING)
		taken = xvt_pf_waking(r, ev, t->of);
	if (err || taken < 0)
		return err ? err : taken;
	if (typed && (t->to->number == XVT_PERFETTO_NEWTASK || t->to->number == XVT_PERFETTO_FORK))
		err = see_new_task(&p->machines[r->machine], t, ev);
	if (!err && typed && t->function) {
		xvtrace_value(ev, t->function, &function);
		err = xvt_pf_symbol(p, r, ev, function.u);
	}
	if (!err && !taken)
		err = put_ftrace_event(p, r, t, ev, typed);
	p->open_bytes += r->events.room + r->waking_room * sizeof(*r->wakings) - had;
	if (!err && r->events.used + r->waking_count * WAKING_BYTES >= BUNDLE_BYTES)
		err = xvt_pf_write_bundle(p, r);
	if (!err && p->open_bytes > BUNDLES_MAX)
		err = xvt_pf_write_bundles(p);
	return err;
}

/* Ends the track event that was opened at `at`, with the event's name and fields. */
static int end_track_event(struct xvt_pf *p, const struct xvt_pf_type *t,
			   const struct xvtrace_event *ev, size_t at)
{
	struct xvt_proto *b = &p->packet;
	int err;

	put_name(b, TRACK_EVENT_NAME, t, 1, t->name_len);
	err = put_fields(p, b, &annotation, t, ev);
	if (!err)
		err = xvt_proto_room(b, XVT_PROTO_NUMBER);
	if (err)
		return err;
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

/* An event without a task, or of a thread's ring. */
static int put_instant(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvt_pf_type *t,
		       const struct xvtrace_event *ev)
{
	size_t at;
	int err = xvt_pf_begin_track_event(p, r, TRACK_EVENTS, TYPE_INSTANT, ev->ns, t->name_len,
					   &at);

	if (err)
		return err;
	return end_track_event(p, t, ev, at);
}

/* The time between the ring's events before and after the loss, as a slice. */
static int put_loss(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev)
{
	struct xvt_proto *b = &p->packet;
	const char *text;
	size_t at, len;
	int err;

	/* Events before the loss are in a bundle of their own. */
	err = xvt_pf_has_bundle(r) ? xvt_pf_write_bundle(p, r) : 0;
	r->lost = true;
	xvt_pf_count_lost(r, ev);
	if (!err && r->host)
		err = xvt_pf_vcpus_until(p, r->last_ns);
	if (!err)
		err = xvt_pf_begin_track_event(
			p, r, TRACK_LOST, TYPE_SLICE_BEGIN,
			r->last_ns && r->last_ns < ev->ns ? r->last_ns : ev->ns,
			xvt_proto_text_room(XVTRACE_TEXT_MAX) + XVT_PF_NAME_MAX, &at);
	if (err)
		return err;
	xvt_proto_string(b, TRACK_EVENT_NAME, "lost", 4);
	text = xvtrace_event_text(ev, 0, &len);
	put_number(b, &annotation, "events", ev->lost);
	put_string(b, &annotation, "causes", text, len);
	if (ev->machine && ev->machine->ftrace)
		put_string(b, &annotation, "events_are", "at least", 8);
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	err = xvt_pf_begin_track_event(p, r, TRACK_LOST, TYPE_SLICE_END, ev->ns, 0, &at);
	if (err)
		return err;
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

/* -- messages, pauses and epochs ------------------------------------------------------- */

/* flow: 0 if the other end was not seen. */
static int put_message_end(struct xvt_pf *p, struct xvt_pf_message *m, bool sent, uint64_t flow)
{
	struct xvt_proto *b = &p->packet;
	char name[32];
	size_t at;
	int err, len = snprintf(name, sizeof(name), "%s %llu", sent ? "send" : "receive",
				(unsigned long long)m->number);

	err = xvt_pf_begin_track_event(p, m->ring, TRACK_MESSAGES, TYPE_INSTANT, m->ns,
				       xvt_proto_text_room(sizeof(name)) + XVT_PROTO_NUMBER, &at);
	m->ring = NULL;
	if (err)
		return err;
	xvt_proto_string(b, TRACK_EVENT_NAME, name, (size_t)len);
	if (flow)
		xvt_proto_fixed64(b, TRACK_EVENT_FLOW_IDS, flow);
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

/*
 * Write both ends of a message, if another machine has left the mark of the other one. Times may be
 * off by their bounds, so a receipt may come before its sending.
 */
static int put_message(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev,
		       const struct xvtrace_message *m)
{
	struct xvt_pf_message *own = m->sent ? p->sent : p->received;
	struct xvt_pf_message *other = m->sent ? p->received : p->sent;
	struct xvt_pf_message now = { .number = m->number, .ns = ev->ns, .ring = r };
	uint64_t flow;
	int err = 0;

	own += m->number % XVT_PF_MESSAGES;
	other += m->number % XVT_PF_MESSAGES;
	if (other->ring && other->number == m->number && other->ring->machine != r->machine) {
		flow = p->uuid + ++p->flows;
		err = put_message_end(p, other, !m->sent, flow);
		return err ? err : put_message_end(p, &now, m->sent, flow);
	}
	if (own->ring)
		err = put_message_end(p, own, m->sent, 0);
	*own = now;
	return err;
}

/* The ends whose other end never came. */
static int put_messages(struct xvt_pf *p)
{
	int err = 0;

	for (size_t i = 0; i < XVT_PF_MESSAGES && !err; i++) {
		if (p->sent[i].ring)
			err = put_message_end(p, &p->sent[i], true, 0);
		if (!err && p->received[i].ring)
			err = put_message_end(p, &p->received[i], false, 0);
	}
	return err;
}

static int need_pauses(struct xvt_pf *p, uint32_t machine, uint64_t uuid)
{
	char name[XVT_PF_NAME_MAX];

	if (p->machines[machine].paused)
		return 0;
	p->machines[machine].paused = true;
	snprintf(name, sizeof(name), "%s paused", xvt_pf_machine_name(p, machine));
	return xvt_pf_put_track(p, machine, uuid, xvt_pf_track_uuid(p, TRACK_MACHINE, machine),
				name, false);
}

/* Writes what comes before the first packet of a machine. */
static int begin(struct xvt_pf *p, uint32_t machine, uint64_t ns)
{
	int err = 0;

	if (!p->common_begun) {
		p->first_ns = p->last_ns = ns;
		err = xvt_pf_put_snapshot(p, ns);
	}
	if (!err && !p->machines[machine].begun)
		err = xvt_pf_begin_machine(p, machine, ns);
	p->until_ns = ns;
	return err;
}

/* States of a machine, beside its pauses, which are slices. */
static int put_change(struct xvt_pf *p, uint32_t machine, const struct xvtrace_event *ev)
{
	const uint64_t uuid = xvt_pf_track_uuid(p, TRACK_PAUSES, machine);
	const struct xvt_pf_type *t = type_of(p, ev->type);
	struct xvt_proto *b = &p->packet;
	size_t at;
	int err = t ? need_pauses(p, machine, uuid) : -ENOMEM;

	if (err)
		return err;
	if (xvt_pf_begin_machine_packet(p, machine, t->name_len))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ev->ns);
	at = xvt_proto_open(b, TRACE_PACKET_TRACK_EVENT);
	xvt_proto_u64(b, TRACK_EVENT_TYPE, TYPE_INSTANT);
	xvt_proto_u64(b, TRACK_EVENT_TRACK_UUID, uuid);
	return end_track_event(p, t, ev, at);
}

static int put_state(struct xvt_pf *p, const struct xvtrace_event *ev)
{
	const uint32_t machine = ev->machine->number;
	int err;

	if (machine >= p->machine_count)
		return 0;
	err = begin(p, machine, ev->ns);
	if (err || ev->state == XVTRACE_PAUSED || ev->state == XVTRACE_RUNS)
		return err;
	return put_change(p, machine, ev);
}

/* A pause or an epoch, as far as events were written of its machine or ring, and of its time. */
static int put_span(void *arg, const struct xvtrace_span *span)
{
	struct xvt_pf *p = arg;
	uint64_t begin_ns = span->begin_ns > p->first_ns ? span->begin_ns : p->first_ns;
	uint64_t end_ns = span->end_ns < p->until_ns ? span->end_ns : p->until_ns;
	uint32_t machine = span->machine->number;
	char name[XVT_PF_NAME_MAX] = "paused";
	uint64_t uuid;
	int err;

	if (machine >= p->machine_count || !p->machines[machine].begun || begin_ns > end_ns)
		return 0;
	if (span->kind == XVTRACE_EPOCH) {
		if (!p->rings[span->ring->number].known)
			return 0;
		uuid = xvt_pf_track_uuid(p, TRACK_EPOCHS, span->ring->number);
		err = xvt_pf_need_track(p, &p->rings[span->ring->number], TRACK_EPOCHS);
		snprintf(name, sizeof(name), "epoch %u: %s", span->epoch, span->source);
	} else {
		uuid = xvt_pf_track_uuid(p, TRACK_PAUSES, machine);
		err = need_pauses(p, machine, uuid);
	}
	if (!err)
		err = xvt_pf_put_slice_end(p, machine, uuid, begin_ns, TYPE_SLICE_BEGIN, name);
	return err ? err : xvt_pf_put_slice_end(p, machine, uuid, end_ns, TYPE_SLICE_END, name);
}

/* -- all of it ------------------------------------------------------------------------ */

static struct xvt_pf_ring *ring_of(struct xvt_pf *p, const struct xvtrace_event *ev)
{
	bool known = ev->ring && ev->ring->machine->number < p->machine_count;
	struct xvt_pf_ring *r = &p->rings[known ? ev->ring->number : p->ring_count];

	if (r->known)
		return r;
	r->known = true;
	r->machine = known ? ev->ring->machine->number : p->machine_count;
	r->cpu = known ? ev->ring->cpu : 0;
	r->host = known && ev->ring->machine->host;
	r->ftrace = known && !ev->ring->thread && r->cpu < XVT_PF_CPUS_MAX;
	r->pid = -1;
	return r;
}

/* A switch that the reader made where the machine stands still, or runs again. */
static int put_made(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvt_pf_type *t,
		    const struct xvtrace_event *ev)
{
	struct xvtrace_value next;

	if (!t->to || t->to->number != XVT_PERFETTO_SWITCH || !t->of[6])
		return 0;
	xvtrace_value(ev, t->of[6], &next);
	return next.u ? xvt_pf_go_on(r, ev->ns) : xvt_pf_stand(p, r, ev->ns);
}

static int put_event(struct xvt_pf *p, const struct xvtrace_event *ev)
{
	struct xvt_pf_ring *r = ring_of(p, ev);
	struct xvtrace_message message;
	struct xvt_pf_type *t;
	int err;

	err = begin(p, r->machine, ev->ns);
	p->last_ns = ev->ns;
	if (!err && ev->kind == XVTRACE_LOST)
		err = put_loss(p, r, ev);
	if (err || (ev->kind != XVTRACE_EVENT && !p->x->all))
		return err;
	t = type_of(p, ev->type);
	if (!t)
		return -ENOMEM;
	if (ev->flags & XVTRACE_MADE)
		return put_made(p, r, t, ev);
	if (ev->bound_ns != r->bound_ns && ev->bound_ns != XVTRACE_NO_BOUND)
		err = xvt_pf_put_bound(p, r, ev);
	if (!err && ev->pid >= 0 && ev->pid != r->pid)
		err = xvt_pf_put_task(p, r, ev);
	if (err)
		return err;
	r->last_ns = ev->ns;
	if (t->marks && xvtrace_event_message(ev, &message))
		err = put_message(p, r, ev, &message);
	if (err)
		return err;
	return r->ftrace && ev->pid >= 0 ? put_ftrace(p, r, t, ev) : put_instant(p, r, t, ev);
}

static int write_all(struct xvt_pf *p)
{
	const struct xvtrace_event *ev;
	int got, err = 0;

	while (!err && (got = xvt_export_next(p->x, &ev)) != 0 && !p->o->err)
		err = got < 0			  ? got
		      : ev->kind == XVTRACE_STATE ? put_state(p, ev)
						  : put_event(p, ev);
	if (!err)
		err = xvt_pf_write_bundles(p);
	if (!err)
		err = put_messages(p);
	if (!err)
		err = xvt_pf_vcpus_until(p, p->last_ns);
	if (!err)
		err = xvt_pf_put_stats(p);
	/* The wall clock may have been set meanwhile. */
	if (!err && p->common_begun)
		err = xvt_pf_put_snapshot(p, p->until_ns);
	if (!err && p->common_begun)
		err = xvtrace_spans(p->x->trace, put_span, p);
	return err;
}

static void free_ring(struct xvt_pf_ring *r)
{
	xvt_pf_free_bundle(r);
	free(r->told);
}

static bool is_alone(const struct xvt_pf *p)
{
	unsigned int machines = 0;

	for (uint32_t i = 0; i < p->machine_count; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(p->x->trace, i);

		machines += m ? 1 + m->host : 0;
	}
	return machines == 1;
}

int xvt_export_perfetto(struct xvt_export *x, struct xvt_out *o)
{
	struct xvt_pf *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return -ENOMEM;
	p->x = x;
	p->o = o;
	p->list.fd = -1;
	p->sequence = XVT_PF_SEQUENCE;
	p->info = xvtrace_info(x->trace);
	memcpy(&p->uuid, p->info->uuid, sizeof(p->uuid));
	p->ring_count = p->info->rings;
	p->machine_count = p->info->machines;
	p->alone = is_alone(p);
	p->rings = calloc((size_t)p->ring_count + 1, sizeof(*p->rings));
	p->machines = calloc((size_t)p->machine_count + 1, sizeof(*p->machines));
	if (p->rings && p->machines)
		err = xvt_pf_place_rings(p);
	if (!err)
		err = write_all(p);
	for (uint32_t i = 0; p->rings && i <= p->ring_count; i++)
		free_ring(&p->rings[i]);
	for (uint32_t i = 0; p->machines && i <= p->machine_count; i++)
		free(p->machines[i].tasks);
	for (size_t i = 0; i < p->type_room; i++)
		if (p->types[i]) {
			free(p->types[i]->names.p);
			free(p->types[i]);
		}
	free(p->types);
	free(p->vcpus);
	xvtrace_holes_free(p->holes);
	free(p->places);
	free(p->rings);
	free(p->machines);
	free(p->packet.p);
	free(p->compact.p);
	free(p);
	return err;
}
