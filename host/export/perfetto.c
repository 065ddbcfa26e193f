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
#include "export/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define BUNDLE_BYTES	(32u << 10) /* a bundle of this length is written */
#define BUNDLES_MAX	(64u << 20) /* bytes of all bundles */
#define TEXT_MAX	4096u /* bytes of a list's text, and of text that is kept of a field */
#define EVENT_MAX	(48u << 10) /* bytes of an event, beyond which its fields are left out */
#define NAME_MAX_BYTES	256u
#define CPUS_MAX	1024u	   /* trace_processor refuses a trace with more */
#define NAMED_TASKS_MAX (1u << 16) /* of a machine */
#define MESSAGES	1024u	   /* without their other end, in each direction */
#define COMMON_SEQUENCE 1u
#define FIRST_SEQUENCE	2u /* of ring 0 */

/* A field of a type, ready to be written. */
struct field {
	const struct xvtrace_field *f;
	const struct xvt_perfetto_field *to; /* NULL: by name */
	size_t name;			     /* in the type's names: length and text */
	size_t name_len;
};

struct type {
	const struct xvt_perfetto_event *to; /* NULL: a generic event */
	bool marks;			     /* may be marks of messages */
	struct xvt_proto names;		     /* that of the event first */
	size_t name_len;
	struct field fields[];
};

/* Tracks of a ring, and of a machine. */
enum track {
	TRACK_MACHINE,
	TRACK_EVENTS,
	TRACK_LOST,
	TRACK_BOUND,
	TRACK_MESSAGES,
	TRACK_EPOCHS,
	TRACK_PAUSES, /* of a machine */
};

struct ring {
	struct xvt_proto events; /* FtraceEventBundle.event of the next packet */
	uint64_t last_ns;
	uint64_t bound_ns; /* as last told; 0: not yet */
	uint32_t machine;
	uint32_t cpu;
	int32_t pid;	/* whose name was told last */
	uint8_t tracks; /* bits of enum track: described */
	bool known;
	bool begun; /* its first packet is written */
	bool ftrace;
	bool lost; /* events before the next bundle */
};

/* Names of tasks that were told: pid and hash of the name; a hash of 0: free. */
struct named {
	int32_t pid;
	uint32_t hash;
};

struct machine {
	struct named *tasks;
	uint32_t room; /* a power of 2 */
	uint32_t count;
	bool begun;  /* its first packet is written */
	bool paused; /* its track of pauses is described */
};

/* A message of which one end was seen. */
struct message {
	uint64_t number;
	uint64_t flow; /* 0: free */
	uint32_t machine;
};

struct perfetto {
	struct xvt_export *x;
	struct xvt_out *o;
	const struct xvtrace_info *info;
	struct ring *rings;	  /* the last is for unknown rings */
	struct machine *machines; /* the last is for unknown machines */
	uint32_t ring_count;
	uint32_t machine_count;
	struct type **types; /* by number */
	size_t type_room;
	size_t open_bytes;
	struct xvt_proto packet;
	struct xvt_out list; /* text of a list */
	uint64_t uuid;	     /* from which those of tracks are made */
	bool common_begun;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t flows;
	struct message sent[MESSAGES]; /* and not received yet, by number */
	struct message received[MESSAGES];
};

/* -- packets -------------------------------------------------------------------------- */

static uint32_t machine_id(const struct perfetto *p, uint32_t machine)
{
	const struct xvtrace_machine *m = xvtrace_machine(p->x->trace, machine);

	return m && m->host ? 0 : machine + 1;
}

static const char *machine_name(const struct perfetto *p, uint32_t machine)
{
	const struct xvtrace_machine *m = xvtrace_machine(p->x->trace, machine);

	return m ? m->name : "?";
}

static uint64_t track_uuid(const struct perfetto *p, enum track track, uint32_t number)
{
	return p->uuid ^ ((uint64_t)track << 32 | number);
}

/* Begin a packet with room for `more` bytes. Returns 0 or -ENOMEM. */
static int begin_packet(struct perfetto *p, uint32_t sequence, bool *begun, uint32_t machine,
			size_t more)
{
	struct xvt_proto *b = &p->packet;

	b->used = 0;
	if (xvt_proto_room(b, more + 8 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence);
	if (!*begun) {
		xvt_proto_u64(b, TRACE_PACKET_SEQUENCE_FLAGS, SEQ_INCREMENTAL_STATE_CLEARED);
		xvt_proto_u64(b, TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, 1);
		*begun = true;
	}
	if (machine)
		xvt_proto_u64(b, TRACE_PACKET_MACHINE_ID, machine);
	return 0;
}

/* A packet about a machine, on a sequence of its own. */
static int begin_machine_packet(struct perfetto *p, uint32_t machine, size_t more)
{
	return begin_packet(p, FIRST_SEQUENCE + p->ring_count + 1 + machine,
			    &p->machines[machine].begun, machine_id(p, machine), more);
}

static int begin_ring_packet(struct perfetto *p, struct ring *r, size_t more)
{
	return begin_packet(p, FIRST_SEQUENCE + (uint32_t)(r - p->rings), &r->begun,
			    machine_id(p, r->machine), more);
}

/* Write the packet; more_len: bytes of it that the caller writes behind. */
static void end_packet(struct perfetto *p, size_t more_len)
{
	uint8_t head[2 * XVT_PROTO_VARINT];
	struct xvt_proto b = { .p = head };

	xvt_proto_tag(&b, TRACE_PACKET, XVT_PROTO_WIRE_BYTES);
	xvt_proto_varint(&b, p->packet.used + more_len);
	xvt_out_bytes(p->o, head, b.used);
	xvt_out_bytes(p->o, p->packet.p, p->packet.used);
}

static int write_bundle(struct perfetto *p, struct ring *r)
{
	struct xvt_proto *b = &p->packet;
	uint8_t head[3 * XVT_PROTO_NUMBER];
	struct xvt_proto bundle = { .p = head };
	int err = begin_ring_packet(p, r, sizeof(head));

	if (err)
		return err;
	xvt_proto_u64(&bundle, FTRACE_EVENT_BUNDLE_CPU, r->cpu);
	if (r->lost)
		xvt_proto_u64(&bundle, FTRACE_EVENT_BUNDLE_LOST_EVENTS, 1);
	xvt_proto_tag(b, TRACE_PACKET_FTRACE_EVENTS, XVT_PROTO_WIRE_BYTES);
	xvt_proto_varint(b, bundle.used + r->events.used);
	xvt_proto_bytes(b, head, bundle.used);
	end_packet(p, r->events.used);
	xvt_out_bytes(p->o, r->events.p, r->events.used);
	r->events.used = 0;
	r->lost = false;
	return 0;
}

/* Write and free all bundles, so that many rings do not hold the memory of one each. */
static int write_bundles(struct perfetto *p)
{
	for (uint32_t i = 0; i <= p->ring_count; i++) {
		struct ring *r = &p->rings[i];
		int err = r->events.used ? write_bundle(p, r) : 0;

		if (err)
			return err;
		free(r->events.p);
		r->events = (struct xvt_proto){ 0 };
	}
	p->open_bytes = 0;
	return 0;
}

/* -- clocks, machines and tracks ------------------------------------------------------- */

static void put_clock(struct xvt_proto *b, uint32_t id, uint64_t ns)
{
	size_t at = xvt_proto_open(b, CLOCK_SNAPSHOT_CLOCKS);

	xvt_proto_u64(b, CLOCK_CLOCK_ID, id);
	xvt_proto_u64(b, CLOCK_TIMESTAMP, ns);
	xvt_proto_close(b, at);
}

/* What the host's clocks were at one time. */
static int put_snapshot(struct perfetto *p, uint64_t ns)
{
	struct xvt_proto *b = &p->packet;
	size_t at;

	if (begin_packet(p, COMMON_SEQUENCE, &p->common_begun, 0, 16 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ns);
	at = xvt_proto_open(b, TRACE_PACKET_CLOCK_SNAPSHOT);
	put_clock(b, BUILTIN_CLOCK_BOOTTIME, ns);
	put_clock(b, BUILTIN_CLOCK_MONOTONIC, ns);
	put_clock(b, BUILTIN_CLOCK_REALTIME, xvtrace_wall_ns(p->x->trace, ns));
	xvt_proto_close(b, at);
	end_packet(p, 0);
	return 0;
}

static void put_synced(struct xvt_proto *b, uint64_t ns)
{
	static const uint32_t sides[] = { SYNCED_CLOCKS_CLIENT_CLOCKS, SYNCED_CLOCKS_HOST_CLOCKS };
	size_t at = xvt_proto_open(b, REMOTE_CLOCK_SYNC_SYNCED_CLOCKS);

	for (int i = 0; i < 2; i++) {
		size_t side = xvt_proto_open(b, sides[i]);

		put_clock(b, BUILTIN_CLOCK_BOOTTIME, ns);
		put_clock(b, BUILTIN_CLOCK_MONOTONIC, ns);
		xvt_proto_close(b, side);
	}
	xvt_proto_close(b, at);
}

/* A guest's events are on the host's clocks: both sides read the same, twice as a relay does. */
static int put_clock_sync(struct perfetto *p, uint32_t machine, uint64_t ns)
{
	struct xvt_proto *b = &p->packet;
	size_t at;

	if (begin_machine_packet(p, machine, 32 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	at = xvt_proto_open(b, TRACE_PACKET_REMOTE_CLOCK_SYNC);
	put_synced(b, ns);
	put_synced(b, ns + 1);
	xvt_proto_close(b, at);
	end_packet(p, 0);
	return 0;
}

static int put_system(struct perfetto *p, uint32_t machine, const char *name)
{
	struct xvt_proto *b = &p->packet;
	size_t at, uts;

	if (begin_machine_packet(p, machine, xvt_proto_text_room(strlen(name))))
		return -ENOMEM;
	at = xvt_proto_open(b, TRACE_PACKET_SYSTEM_INFO);
	uts = xvt_proto_open(b, SYSTEM_INFO_UTSNAME);
	xvt_proto_string(b, UTSNAME_SYSNAME, name, strlen(name));
	xvt_proto_close(b, uts);
	xvt_proto_close(b, at);
	end_packet(p, 0);
	return 0;
}

/* Describe a track of a machine, parent_uuid 0, or of a ring. */
static int put_track(struct perfetto *p, uint32_t machine, uint64_t uuid, uint64_t parent_uuid,
		     const char *name, bool counter)
{
	struct xvt_proto *b = &p->packet;
	size_t at, unit;

	if (begin_machine_packet(p, machine, xvt_proto_text_room(strlen(name))))
		return -ENOMEM;
	at = xvt_proto_open(b, TRACE_PACKET_TRACK_DESCRIPTOR);
	xvt_proto_u64(b, TRACK_DESCRIPTOR_UUID, uuid);
	xvt_proto_string(b, TRACK_DESCRIPTOR_NAME, name, strlen(name));
	if (parent_uuid)
		xvt_proto_u64(b, TRACK_DESCRIPTOR_PARENT_UUID, parent_uuid);
	if (counter) {
		unit = xvt_proto_open(b, TRACK_DESCRIPTOR_COUNTER);
		xvt_proto_u64(b, COUNTER_DESCRIPTOR_UNIT, UNIT_TIME_NS);
		xvt_proto_close(b, unit);
	}
	xvt_proto_close(b, at);
	end_packet(p, 0);
	return 0;
}

static int begin_machine(struct perfetto *p, uint32_t machine, uint64_t ns)
{
	const char *name = machine_name(p, machine);
	int err = put_system(p, machine, name);

	if (!err && machine_id(p, machine))
		err = put_clock_sync(p, machine, ns);
	if (!err)
		err = put_track(p, machine, track_uuid(p, TRACK_MACHINE, machine), 0, name, false);
	return err;
}

/* Describe a track of the ring, if it is not yet. */
static int need_track(struct perfetto *p, struct ring *r, enum track track)
{
	static const char *const what[] = { [TRACK_EVENTS] = "events",
					    [TRACK_LOST] = "lost",
					    [TRACK_BOUND] = "bound of times",
					    [TRACK_MESSAGES] = "messages",
					    [TRACK_EPOCHS] = "clock" };
	uint32_t number = (uint32_t)(r - p->rings);
	char name[NAME_MAX_BYTES];

	if (r->tracks & 1u << track)
		return 0;
	r->tracks |= (uint8_t)(1u << track);
	snprintf(name, sizeof(name), "%s:%u %s", machine_name(p, r->machine), r->cpu, what[track]);
	return put_track(p, r->machine, track_uuid(p, track, number),
			 track_uuid(p, TRACK_MACHINE, r->machine), name, track == TRACK_BOUND);
}

/* Begin a packet with a track event, which the caller closes at *at. */
static int begin_track_event(struct perfetto *p, struct ring *r, enum track track, uint32_t type,
			     uint64_t ns, size_t more, size_t *at)
{
	struct xvt_proto *b = &p->packet;
	int err = need_track(p, r, track);

	if (!err)
		err = begin_ring_packet(p, r, more + 4 * XVT_PROTO_NUMBER);
	if (err)
		return err;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ns);
	*at = xvt_proto_open(b, TRACE_PACKET_TRACK_EVENT);
	xvt_proto_u64(b, TRACK_EVENT_TYPE, type);
	xvt_proto_u64(b, TRACK_EVENT_TRACK_UUID, track_uuid(p, track, (uint32_t)(r - p->rings)));
	return 0;
}

/*
 * The bound of the ring's times from here on, as a counter. That of unconfirmed events grows with
 * each event: it is told an eighth larger, and again when it is beyond that, or far below.
 */
static int put_bound(struct perfetto *p, struct ring *r, const struct xvtrace_event *ev)
{
	uint64_t ns = ev->bound_ns;
	size_t at;
	int err;

	if (ev->flags & XVTRACE_UNCONFIRMED) {
		if (ns <= r->bound_ns && ns >= r->bound_ns - r->bound_ns / 4)
			return 0;
		ns += ns / 8;
	}
	r->bound_ns = ns;
	err = begin_track_event(p, r, TRACK_BOUND, TYPE_COUNTER, ev->ns, 0, &at);
	if (err)
		return err;
	xvt_proto_u64(&p->packet, TRACK_EVENT_COUNTER_VALUE, ns);
	xvt_proto_close(&p->packet, at);
	end_packet(p, 0);
	return 0;
}

/* -- names of tasks ------------------------------------------------------------------- */

static struct named *find_task(struct machine *m, int32_t pid)
{
	uint32_t at = (uint32_t)pid * 0x9e3779b1u;

	for (;; at++) {
		struct named *n = &m->tasks[(at >> 7) & (m->room - 1)];

		if (!n->hash || n->pid == pid)
			return n;
		at += 127;
	}
}

static int more_tasks(struct machine *m)
{
	struct machine old = *m;

	m->room = old.room ? 2 * old.room : 64;
	m->tasks = calloc(m->room, sizeof(*m->tasks));
	if (!m->tasks) {
		*m = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.room; i++)
		if (old.tasks[i].hash)
			*find_task(m, old.tasks[i].pid) = old.tasks[i];
	free(old.tasks);
	return 0;
}

static int put_process(struct perfetto *p, struct ring *r, const struct xvtrace_event *ev,
		       const char *comm)
{
	struct xvt_proto *b = &p->packet;
	uint64_t pid = (uint64_t)(int64_t)ev->pid;
	size_t len = strlen(comm), at, item;

	if (begin_ring_packet(p, r, 2 * xvt_proto_text_room(len) + 10 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ev->ns);
	at = xvt_proto_open(b, TRACE_PACKET_PROCESS_TREE);
	item = xvt_proto_open(b, PROCESS_TREE_PROCESSES);
	xvt_proto_u64(b, PROCESS_PID, pid);
	xvt_proto_string(b, PROCESS_CMDLINE, comm, len);
	xvt_proto_u64(b, PROCESS_CMDLINE_IS_COMM, 1);
	xvt_proto_close(b, item);
	item = xvt_proto_open(b, PROCESS_TREE_THREADS);
	xvt_proto_u64(b, THREAD_TID, pid);
	xvt_proto_string(b, THREAD_NAME, comm, len);
	xvt_proto_u64(b, THREAD_TGID, pid);
	xvt_proto_close(b, item);
	xvt_proto_close(b, at);
	end_packet(p, 0);
	return 0;
}

/*
 * Tell the name of the event's task, when it is new. A guest does not say which tasks share a
 * process, so each is a process of its own.
 */
static int put_task(struct perfetto *p, struct ring *r, const struct xvtrace_event *ev)
{
	struct machine *m = &p->machines[r->machine];
	const char *comm = xvtrace_event_comm(ev);
	uint32_t hash = 2166136261u;
	struct named *n;

	r->pid = ev->pid;
	if (!comm || !ev->pid)
		return 0;
	for (const char *c = comm; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	hash |= 1;
	if (2 * m->count >= m->room && m->count < NAMED_TASKS_MAX && more_tasks(m))
		return -ENOMEM;
	n = find_task(m, ev->pid);
	if (n->hash == hash || (!n->hash && m->count == NAMED_TASKS_MAX))
		return 0;
	m->count += !n->hash;
	*n = (struct named){ .pid = ev->pid, .hash = hash };
	return put_process(p, r, ev, comm);
}

/* -- types ---------------------------------------------------------------------------- */

/* Add a name behind its length. Returns its place, or SIZE_MAX: no memory. */
static size_t add_name(struct type *t, const char *name, size_t *len)
{
	size_t at = t->names.used, most = strnlen(name, NAME_MAX_BYTES), text;

	if (xvt_proto_room(&t->names, xvt_proto_text_room(most)))
		return SIZE_MAX;
	text = xvt_proto_open(&t->names, FIELD_NAME);
	xvt_proto_text(&t->names, name, most);
	xvt_proto_close(&t->names, text);
	/* Messages differ in the name's tag, which is one byte in all of them: without it. */
	*len = t->names.used - at - 1;
	return at + 1;
}

static struct type *new_type(const struct xvtrace_type *type)
{
	struct type *t = calloc(1, sizeof(*t) + type->fields * sizeof(t->fields[0]));
	size_t at = t ? add_name(t, type->name, &t->name_len) : SIZE_MAX;

	if (t)
		t->to = xvt_perfetto_event(type);
	if (t)
		t->marks = strcmp(type->name, "print") == 0 || strcmp(type->name, "text") == 0;
	for (unsigned int i = 0; i < type->fields && at != SIZE_MAX; i++) {
		struct field *f = &t->fields[i];

		f->f = xvtrace_field(type, i);
		if (t->to)
			f->to = xvt_perfetto_field(t->to, f->f);
		at = f->name = add_name(t, f->f->name, &f->name_len);
	}
	if (at != SIZE_MAX)
		return t;
	if (t)
		free(t->names.p);
	free(t);
	return NULL;
}

static struct type *type_of(struct perfetto *p, const struct xvtrace_type *type)
{
	if (type->number < p->type_room && p->types[type->number])
		return p->types[type->number];
	if (xvt_grow_zeroed(&p->types, &p->type_room, type->number + 1u, sizeof(struct type *)))
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

static void put_name(struct xvt_proto *b, uint32_t number, const struct type *t, size_t at,
		     size_t len)
{
	xvt_proto_tag(b, number, XVT_PROTO_WIRE_BYTES);
	xvt_proto_bytes(b, t->names.p + at, len);
}

/* "[1,2,3]"; "..." for the rest. */
static void put_list(struct perfetto *p, struct xvt_proto *b, uint32_t number,
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
static int put_field(struct perfetto *p, struct xvt_proto *b, const struct style *s,
		     const struct type *t, const struct field *f, const struct xvtrace_event *ev)
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
static int put_fields(struct perfetto *p, struct xvt_proto *b, const struct style *s,
		      const struct type *t, const struct xvtrace_event *ev)
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
static int put_typed(struct xvt_proto *b, const struct type *t, const struct xvtrace_event *ev)
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

static int put_ftrace(struct perfetto *p, struct ring *r, const struct type *t,
		      const struct xvtrace_event *ev)
{
	struct xvt_proto *b = &r->events;
	const size_t had = b->room, before = b->used;
	size_t at, inner;
	int err;

	if (xvt_proto_room(b, t->name_len + 6 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	at = xvt_proto_open(b, FTRACE_EVENT_BUNDLE_EVENT);
	xvt_proto_u64(b, FTRACE_EVENT_TIMESTAMP, ev->ns);
	xvt_proto_u64(b, FTRACE_EVENT_PID, (uint32_t)ev->pid);
	inner = xvt_proto_open(b, t->to ? t->to->number : FTRACE_EVENT_GENERIC);
	if (t->to) {
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
	p->open_bytes += b->room - had;
	if (b->used >= BUNDLE_BYTES)
		err = write_bundle(p, r);
	if (!err && p->open_bytes > BUNDLES_MAX)
		err = write_bundles(p);
	return err;
}

/* An event without a task, or of a thread's ring. */
static int put_instant(struct perfetto *p, struct ring *r, const struct type *t,
		       const struct xvtrace_event *ev)
{
	struct xvt_proto *b = &p->packet;
	size_t at;
	int err = begin_track_event(p, r, TRACK_EVENTS, TYPE_INSTANT, ev->ns, t->name_len, &at);

	if (err)
		return err;
	put_name(b, TRACK_EVENT_NAME, t, 1, t->name_len);
	err = put_fields(p, b, &annotation, t, ev);
	if (!err)
		err = xvt_proto_room(b, XVT_PROTO_NUMBER);
	if (err)
		return err;
	xvt_proto_close(b, at);
	end_packet(p, 0);
	return 0;
}

/* The time between the ring's events before and after the loss, as a slice. */
static int put_loss(struct perfetto *p, struct ring *r, const struct xvtrace_event *ev)
{
	struct xvt_proto *b = &p->packet;
	const char *text;
	size_t at, len;
	int err;

	/* What is before the loss is in a bundle of its own. */
	err = r->events.used ? write_bundle(p, r) : 0;
	r->lost = true;
	if (!err)
		err = begin_track_event(p, r, TRACK_LOST, TYPE_SLICE_BEGIN,
					r->last_ns && r->last_ns < ev->ns ? r->last_ns : ev->ns,
					xvt_proto_text_room(XVTRACE_TEXT_MAX) + NAME_MAX_BYTES,
					&at);
	if (err)
		return err;
	xvt_proto_string(b, TRACK_EVENT_NAME, "lost", 4);
	text = xvtrace_event_text(ev, 0, &len);
	put_number(b, &annotation, "events", ev->lost);
	put_string(b, &annotation, "causes", text, len);
	xvt_proto_close(b, at);
	end_packet(p, 0);
	err = begin_track_event(p, r, TRACK_LOST, TYPE_SLICE_END, ev->ns, 0, &at);
	if (err)
		return err;
	xvt_proto_close(b, at);
	end_packet(p, 0);
	return 0;
}

/* -- messages, pauses and epochs ------------------------------------------------------- */

/*
 * The flow of a message: that of its other end, if another machine has left its mark, else a new
 * one. Times may be off by their bounds, so a receipt may come before its sending.
 */
static uint64_t flow_of(struct perfetto *p, uint32_t machine, const struct xvtrace_message *m)
{
	struct message *own = m->sent ? p->sent : p->received;
	struct message *other = m->sent ? p->received : p->sent;
	uint64_t flow;

	own += m->number % MESSAGES;
	other += m->number % MESSAGES;
	if (other->flow && other->number == m->number && other->machine != machine) {
		flow = other->flow;
		other->flow = 0;
		return flow;
	}
	flow = p->uuid + ++p->flows;
	*own = (struct message){ .number = m->number, .flow = flow, .machine = machine };
	return flow;
}

static int put_message(struct perfetto *p, struct ring *r, const struct xvtrace_event *ev,
		       const struct xvtrace_message *m)
{
	struct xvt_proto *b = &p->packet;
	uint64_t flow = flow_of(p, r->machine, m);
	char name[32];
	size_t at;
	int err, len = snprintf(name, sizeof(name), "%s %llu", m->sent ? "send" : "receive",
				(unsigned long long)m->number);

	err = begin_track_event(p, r, TRACK_MESSAGES, TYPE_INSTANT, ev->ns,
				xvt_proto_text_room(sizeof(name)) + XVT_PROTO_NUMBER, &at);
	if (err)
		return err;
	xvt_proto_string(b, TRACK_EVENT_NAME, name, (size_t)len);
	xvt_proto_fixed64(b, TRACK_EVENT_FLOW_IDS, flow);
	xvt_proto_close(b, at);
	end_packet(p, 0);
	return 0;
}

/* One end of a slice on a track of a machine or of its ring. */
static int put_slice_end(struct perfetto *p, uint32_t machine, uint64_t uuid, uint64_t ns,
			 uint32_t type, const char *name)
{
	struct xvt_proto *b = &p->packet;
	size_t at;

	if (begin_machine_packet(p, machine, xvt_proto_text_room(strlen(name))))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ns);
	at = xvt_proto_open(b, TRACE_PACKET_TRACK_EVENT);
	xvt_proto_u64(b, TRACK_EVENT_TYPE, type);
	xvt_proto_u64(b, TRACK_EVENT_TRACK_UUID, uuid);
	if (type == TYPE_SLICE_BEGIN)
		xvt_proto_string(b, TRACK_EVENT_NAME, name, strlen(name));
	xvt_proto_close(b, at);
	end_packet(p, 0);
	return 0;
}

static int need_pauses(struct perfetto *p, uint32_t machine, uint64_t uuid)
{
	char name[NAME_MAX_BYTES];

	if (p->machines[machine].paused)
		return 0;
	p->machines[machine].paused = true;
	snprintf(name, sizeof(name), "%s paused", machine_name(p, machine));
	return put_track(p, machine, uuid, track_uuid(p, TRACK_MACHINE, machine), name, false);
}

/* A pause or an epoch, as far as events were written of its machine or ring, and of its time. */
static int put_span(void *arg, const struct xvtrace_span *span)
{
	struct perfetto *p = arg;
	uint64_t begin_ns = span->begin_ns > p->first_ns ? span->begin_ns : p->first_ns;
	uint64_t end_ns = span->end_ns < p->last_ns ? span->end_ns : p->last_ns;
	uint32_t machine = span->machine->number;
	char name[NAME_MAX_BYTES] = "paused";
	uint64_t uuid;
	int err;

	if (machine >= p->machine_count || !p->machines[machine].begun || begin_ns > end_ns)
		return 0;
	if (span->kind == XVTRACE_EPOCH) {
		if (!p->rings[span->ring->number].known)
			return 0;
		uuid = track_uuid(p, TRACK_EPOCHS, span->ring->number);
		err = need_track(p, &p->rings[span->ring->number], TRACK_EPOCHS);
		snprintf(name, sizeof(name), "epoch %u: %s", span->epoch, span->source);
	} else {
		uuid = track_uuid(p, TRACK_PAUSES, machine);
		err = need_pauses(p, machine, uuid);
	}
	if (!err)
		err = put_slice_end(p, machine, uuid, begin_ns, TYPE_SLICE_BEGIN, name);
	return err ? err : put_slice_end(p, machine, uuid, end_ns, TYPE_SLICE_END, name);
}

/* -- all of it ------------------------------------------------------------------------ */

static struct ring *ring_of(struct perfetto *p, const struct xvtrace_event *ev)
{
	bool known = ev->ring && ev->ring->machine->number < p->machine_count;
	struct ring *r = &p->rings[known ? ev->ring->number : p->ring_count];

	if (r->known)
		return r;
	r->known = true;
	r->machine = known ? ev->ring->machine->number : p->machine_count;
	r->cpu = known ? ev->ring->cpu : 0;
	r->ftrace = known && !ev->ring->thread && r->cpu < CPUS_MAX;
	r->pid = -1;
	return r;
}

static int put_event(struct perfetto *p, const struct xvtrace_event *ev)
{
	struct ring *r = ring_of(p, ev);
	struct xvtrace_message message;
	struct type *t;
	int err = 0;

	if (!p->common_begun) {
		p->first_ns = ev->ns;
		err = put_snapshot(p, ev->ns);
	}
	if (!err && !p->machines[r->machine].begun)
		err = begin_machine(p, r->machine, ev->ns);
	p->last_ns = ev->ns;
	if (!err && ev->kind == XVTRACE_LOST)
		err = put_loss(p, r, ev);
	if (err || (ev->kind != XVTRACE_EVENT && !p->x->all))
		return err;
	t = type_of(p, ev->type);
	if (!t)
		return -ENOMEM;
	if (ev->bound_ns != r->bound_ns && ev->bound_ns != XVTRACE_NO_BOUND)
		err = put_bound(p, r, ev);
	if (!err && ev->pid >= 0 && ev->pid != r->pid)
		err = put_task(p, r, ev);
	if (err)
		return err;
	r->last_ns = ev->ns;
	if (t->marks && xvtrace_event_message(ev, &message))
		err = put_message(p, r, ev, &message);
	if (err)
		return err;
	return r->ftrace && ev->pid >= 0 ? put_ftrace(p, r, t, ev) : put_instant(p, r, t, ev);
}

static int write_all(struct perfetto *p)
{
	const struct xvtrace_event *ev;
	int got, err = 0;

	while (!err && (got = xvt_export_next(p->x, &ev)) != 0 && !p->o->err)
		err = got < 0 ? got : put_event(p, ev);
	if (!err)
		err = write_bundles(p);
	/* The wall clock may have been set meanwhile. */
	if (!err && p->common_begun)
		err = put_snapshot(p, p->last_ns);
	if (!err && p->common_begun)
		err = xvtrace_spans(p->x->trace, put_span, p);
	return err;
}

int xvt_export_perfetto(struct xvt_export *x, struct xvt_out *o)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return -ENOMEM;
	p->x = x;
	p->o = o;
	p->list.fd = -1;
	p->info = xvtrace_info(x->trace);
	memcpy(&p->uuid, p->info->uuid, sizeof(p->uuid));
	p->ring_count = p->info->rings;
	p->machine_count = p->info->machines;
	p->rings = calloc((size_t)p->ring_count + 1, sizeof(*p->rings));
	p->machines = calloc((size_t)p->machine_count + 1, sizeof(*p->machines));
	if (p->rings && p->machines)
		err = write_all(p);
	for (uint32_t i = 0; p->rings && i <= p->ring_count; i++)
		free(p->rings[i].events.p);
	for (uint32_t i = 0; p->machines && i <= p->machine_count; i++)
		free(p->machines[i].tasks);
	for (size_t i = 0; i < p->type_room; i++)
		if (p->types[i]) {
			free(p->types[i]->names.p);
			free(p->types[i]);
		}
	free(p->types);
	free(p->rings);
	free(p->machines);
	free(p->packet.p);
	free(p);
	return err;
}
