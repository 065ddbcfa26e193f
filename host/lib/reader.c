// SPDX-License-Identifier: GPL-2.0
/* reader.c - the chosen events of a trace in order of time; see xvtrace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine_name.h"
#include "base/vec.h"
#include "lib/parts.h"

/* -- what to read ------------------------------------------------------------------- */

static const volatile int not_watched;

/* A reader of several traces has one of each. Returns 0 or -ENOMEM. */
static int add_members(struct xvtrace_reader *r)
{
	int err = 0;

	if (!r->trace->members)
		return 0;
	r->members = calloc(r->trace->member_count, sizeof(struct xvtrace_reader *));
	if (!r->members)
		return -ENOMEM;
	while (r->member_count < r->trace->member_count && !err) {
		struct xvtrace_reader **m = &r->members[r->member_count];

		err = xvtrace_reader_new(m, r->trace->members[r->member_count]);
		if (!err) {
			(*m)->whole = r;
			r->member_count++;
		}
	}
	return err;
}

int xvtrace_reader_new(struct xvtrace_reader **out, struct xvtrace *trace)
{
	struct xvtrace_reader *r = calloc(1, sizeof(*r));

	*out = r;
	if (!r)
		return -ENOMEM;
	r->text = calloc(1, sizeof(*r->text));
	if (!r->text) {
		free(r);
		*out = NULL;
		return -ENOMEM;
	}
	r->text->fd = -1;
	r->event.reader = r;
	r->last = 1;
	r->event.pub.bound_ns = XVTRACE_NO_BOUND;
	r->trace = trace;
	r->to_ns = r->wall_to_ns = UINT64_MAX;
	r->watch_flag = &not_watched;
	if (add_members(r)) {
		xvtrace_reader_free(r);
		*out = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void free_choices(struct xvtrace_reader *r)
{
	xvt_globs_free(r->globs);
	if (r->comms)
		xvt_globs_free(r->comms->globs);
	free(r->comms);
	xvt_filter_free(r->filter);
	free(r->machines);
	free(r->cpus);
	free(r->pids);
}

void xvtrace_reader_free(struct xvtrace_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->member_count; i++)
		xvtrace_reader_free(r->members[i]);
	free(r->members);
	xvt_ahead_free(r->by_thread);
	xvt_reclock_free(r->reclock);
	xvt_bounds_free(r->bounds);
	xvt_bounds_free(r->stats);
	free(r->counted);
	xvt_cursor_fini(&r->cursor);
	xvt_decoders_fini(&r->ds);
	xvt_states_fini(&r->states);
	xvt_gaps_fini(&r->gaps);
	while (r->types) {
		struct xvt_lib_type *type = r->types;

		r->types = type->next;
		free(type->places);
		free(type);
	}
	if (!r->whole) {
		free_choices(r);
		free(r->background);
	}
	free(r->text);
	free(r->format);
	free(r->tally);
	free(r->sources);
	if (r->part_of)
		xvt_lib_join(r->part_of, r->trace);
	free(r);
}

int xvtrace_reader_machine(struct xvtrace_reader *r, const char *name)
{
	const struct xvtrace *trace = r->trace;
	bool found = false;

	if (r->begun)
		return -EBUSY;
	for (uint32_t i = 0; i < trace->machine_count; i++) {
		const struct xvt_lib_machine *m = &trace->machines[i];

		if (!m->known ||
		    (!xvt_machine_same(m->name, name) && !xvt_machine_same(m->pub.name, name)))
			continue;
		if (!r->machines)
			r->machines = calloc((size_t)trace->machine_count + 1, sizeof(bool));
		if (!r->machines)
			return -ENOMEM;
		found = r->machines[i] = true;
	}
	return found ? 0 : -ENOENT;
}

int xvtrace_reader_cpu(struct xvtrace_reader *r, unsigned int cpu)
{
	if (r->begun)
		return -EBUSY;
	if (r->cpu_count && cpu && r->cpus[r->cpu_count - 1].to == cpu - 1) {
		r->cpus[r->cpu_count - 1].to = cpu;
		return 0;
	}
	if (xvt_grow(&r->cpus, &r->cpu_room, r->cpu_count + 1, sizeof(*r->cpus)))
		return -ENOMEM;
	r->cpus[r->cpu_count++] = (struct xvt_cpus){ cpu, cpu };
	return 0;
}

int xvtrace_reader_pid(struct xvtrace_reader *r, int pid)
{
	if (r->begun)
		return -EBUSY;
	if (xvt_grow(&r->pids, &r->pid_room, r->pid_count + 1, sizeof(*r->pids)))
		return -ENOMEM;
	r->pids[r->pid_count++] = pid;
	r->by_event = true;
	return 0;
}

int xvtrace_reader_comm(struct xvtrace_reader *r, const char *glob)
{
	if (r->begun)
		return -EBUSY;
	if (!r->comms)
		r->comms = calloc(1, sizeof(*r->comms));
	r->by_event = true;
	return r->comms ? xvt_glob_add(&r->comms->globs, glob, false) : -ENOMEM;
}

int xvtrace_reader_event(struct xvtrace_reader *r, const char *glob)
{
	const bool leaves_out = glob[0] == '!';

	return r->begun ? -EBUSY : xvt_glob_add(&r->globs, glob + leaves_out, leaves_out);
}

int xvtrace_reader_filter(struct xvtrace_reader *r, const char *filter, struct xvtrace_error *error)
{
	struct xvtrace_error unused;
	struct xvt_filter *f;
	int err;

	error = error ? error : &unused;
	error->text[0] = '\0';
	if (r->begun)
		return -EBUSY;
	err = xvt_filter_new(&f, filter, error);
	if (err)
		return err;
	xvt_filter_free(r->filter);
	r->filter = f;
	r->by_event = true;
	return 0;
}

int xvtrace_check_filter(const char *filter, struct xvtrace_error *error)
{
	struct xvtrace_error unused;
	struct xvt_filter *f;
	int err;

	error = error ? error : &unused;
	error->text[0] = '\0';
	err = xvt_filter_new(&f, filter, error);
	if (!err)
		xvt_filter_free(f);
	return err;
}

int xvtrace_reader_from(struct xvtrace_reader *r, uint64_t ns, enum xvtrace_clock clock)
{
	if (r->begun)
		return -EBUSY;
	*(clock == XVTRACE_WALL ? &r->wall_from_ns : &r->from_ns) = ns;
	return 0;
}

int xvtrace_reader_to(struct xvtrace_reader *r, uint64_t ns, enum xvtrace_clock clock)
{
	if (r->begun)
		return -EBUSY;
	*(clock == XVTRACE_WALL ? &r->wall_to_ns : &r->to_ns) = ns;
	return 0;
}

int xvtrace_reader_limit(struct xvtrace_reader *r, uint64_t events)
{
	if (r->begun)
		return -EBUSY;
	r->limit = events;
	return 0;
}

int xvtrace_reader_flags(struct xvtrace_reader *r, unsigned int flags)
{
	if (r->begun)
		return -EBUSY;
	if (flags & ~(XVTRACE_ALL | XVTRACE_RECLOCK | XVTRACE_BOUND | XVTRACE_STATES |
		      XVTRACE_GAPS | XVTRACE_COUNTS))
		return -EINVAL;
	r->flags = flags;
	return 0;
}

int xvtrace_reader_watch(struct xvtrace_reader *r, const volatile int *flag,
			 bool (*watch)(void *arg, uint64_t ns), void *arg)
{
	if (r->begun)
		return -EBUSY;
	r->watch_flag = flag;
	r->watch = watch;
	r->watch_arg = arg;
	return 0;
}

int xvtrace_reader_ahead(struct xvtrace_reader *r, const struct xvtrace_background *by)
{
	if (r->begun)
		return -EBUSY;
	if (!by->slots || r->part_of || r->trace->growing)
		return -EINVAL;
	if (!r->background)
		r->background = malloc(sizeof(*r->background));
	if (!r->background)
		return -ENOMEM;
	*r->background = *by;
	return 0;
}

/* -- the begin ---------------------------------------------------------------------- */

static bool wall_given(const struct xvtrace_reader *r)
{
	return r->wall_from_ns || r->wall_to_ns != UINT64_MAX;
}

/*
 * Narrow the range of host times to one that holds all events of a range of wall-clock times. The
 * wall clock may have been set while recording, so the range may hold other events, too.
 */
static void host_range(const struct xvtrace_reader *r, uint64_t *from_ns, uint64_t *to_ns)
{
	const struct xvt_trace *t = r->trace->t;
	uint64_t lo = UINT64_MAX, hi = 0;

	for (size_t i = 0; i < t->timebase_count; i++) {
		const struct xvt_timebase *l = &t->timebase[i];
		uint64_t begin = i ? l->base_ns : 0;
		uint64_t end = i + 1 < t->timebase_count ? l[1].base_ns : UINT64_MAX;
		/* 128 bits: a hostile line may have any times. */
		__int128 ahead = (__int128)l->realtime_ns - l->base_ns;
		__int128 from = r->wall_from_ns - ahead, to = r->wall_to_ns - ahead;

		if (to < begin || from > end)
			continue;
		if (from < begin)
			from = begin;
		if (to > end)
			to = end;
		lo = from < lo ? (uint64_t)from : lo;
		hi = to > hi ? (uint64_t)to : hi;
	}
	*from_ns = lo > *from_ns ? lo : *from_ns;
	*to_ns = hi < *to_ns ? hi : *to_ns;
}

static bool machine_wanted(void *arg, uint32_t vm)
{
	const struct xvtrace_reader *r = arg;

	return !r->machines || r->machines[xvt_lib_machine(r->trace, vm)->number];
}

/* The number in the file of the machine of an event; machine_count: it is not known. */
static uint32_t machine_of(const struct xvtrace_reader *r, const struct xvt_event *ev)
{
	const uint32_t vm = xvt_ring_vm(r->trace->t, xvt_event_ring(ev));

	return vm < r->trace->machine_count ? vm : r->trace->machine_count;
}

/* Read the states. Returns 0, -ENOMEM or a read error. */
static int begin_states(struct xvtrace_reader *r)
{
	struct xvt_states *s = &r->states;
	int err = 0;

	if (r->flags & XVTRACE_STATES)
		err = xvt_states_read(s, r->trace->t, r->trace->machine_count);
	/* Without states there is nothing to learn for. */
	if (!err && r->flags & XVTRACE_GAPS && s->count)
		err = xvt_gaps_init(&r->gaps, r->trace->ring_count);
	return err;
}

/* Make what the reader needs to fetch records alone. */
static int prepare_alone(struct xvtrace_reader *r)
{
	int err = 0;

	if (r->flags & XVTRACE_RECLOCK && !r->reclock)
		err = xvt_reclock_new(&r->reclock, r->trace->t);
	if (!err && r->flags & XVTRACE_BOUND) {
		if (r->reclock)
			r->bound_ns = xvt_reclock_want_bounds(r->reclock);
		else if (!r->bounds)
			err = xvt_bounds_new(&r->bounds, r->trace->t);
	}
	return err;
}

static int begin_alone(struct xvtrace_reader *r)
{
	const uint64_t from_ns = r->range_from_ns, to_ns = r->range_to_ns;

	if (!r->reclock)
		return xvt_cursor_init(&r->cursor, r->trace->t, from_ns, to_ns);
	return r->part_of || (r->whole && r->whole->part_of)
		       ? xvt_reclock_begin_part(r->reclock, from_ns, to_ns)
		       : xvt_reclock_begin(r->reclock, from_ns, to_ns);
}

/* Have the thread fetch no more. */
static int end_by_thread(struct xvtrace_reader *r)
{
	int err;

	xvt_ahead_free(r->by_thread);
	r->by_thread = NULL;
	err = prepare_alone(r);
	return err ? err : begin_alone(r);
}

/* Go to the first state and the first record in the range that are not before ns. */
static int begin_at(struct xvtrace_reader *r, uint64_t ns)
{
	uint64_t from_ns = ns > r->from_ns ? ns : r->from_ns, to_ns = r->to_ns;
	struct xvt_states *s = &r->states;

	if (wall_given(r))
		host_range(r, &from_ns, &to_ns);
	r->range_from_ns = from_ns;
	r->range_to_ns = to_ns;
	for (s->at = 0; s->at < s->count && s->v[s->at].ns < from_ns;)
		s->at++;
	if (!r->by_thread)
		return begin_alone(r);
	return xvt_ahead_begin(r->by_thread, from_ns, to_ns) ? end_by_thread(r) : 0;
}

/* Number of machines of the whole. */
static uint32_t machines_of(const struct xvtrace_reader *r)
{
	return (r->whole ? r->whole->trace : r->trace)->machine_count;
}

static void find_sources(struct xvtrace_reader *r)
{
	const uint32_t rings = r->trace->ring_count;

	r->walks = r->trace->t->walks;
	for (uint32_t i = 0; i <= rings; i++) {
		const struct xvtrace_ring *ring = xvt_lib_ring(r->trace, i);

		r->sources[i] = (struct xvt_lib_source){
			.ring = ring,
			.machine = ring ? ring->machine : NULL,
			.decoder = xvt_decoder_of_ring(&r->ds, i < rings ? i : UINT32_MAX),
			.tally = &r->tally[ring ? ring->machine->number : machines_of(r) + 1],
		};
	}
}

/* Make what fetches the records. */
static int prepare(struct xvtrace_reader *r)
{
	const bool reclock = r->flags & XVTRACE_RECLOCK;
	int err = -EAGAIN;

	if (r->background)
		err = xvt_ahead_new(&r->by_thread, r->trace->t, reclock, r->background, r->slot);
	if (err)
		return err == -EAGAIN ? prepare_alone(r) : err;
	if (r->flags & XVTRACE_BOUND && reclock)
		r->bound_ns = xvt_ahead_want_bounds(r->by_thread);
	else if (r->flags & XVTRACE_BOUND)
		err = xvt_bounds_new(&r->bounds, r->trace->t);
	return err;
}

static int begin(struct xvtrace_reader *r)
{
	struct xvt_trace *t = r->trace->t;
	int err;

	r->begun = true;
	r->tally = calloc((size_t)machines_of(r) + 2, sizeof(*r->tally));
	r->sources = calloc((size_t)r->trace->ring_count + 1, sizeof(*r->sources));
	if (!r->tally || !r->sources)
		return -ENOMEM;
	r->picky = r->machines || r->cpus || wall_given(r);
	err = xvt_decoders_new_for(&r->ds, t, machine_wanted, r);
	if (!err)
		find_sources(r);
	if (!err)
		err = begin_states(r);
	if (!err && r->flags & XVTRACE_COUNTS) {
		r->counted = calloc((size_t)r->trace->ring_count + 1, sizeof(*r->counted));
		err = r->counted ? 0 : -ENOMEM;
	}
	if (!err)
		err = prepare(r);
	r->learns = r->counted || r->states.count;
	r->is_plain = !r->picky && !r->learns && !r->by_event && !r->limit;
	return err ? err : begin_at(r, 0);
}

/* Forget what belongs to the place in time where the reader was. Returns 0 or -ENOMEM. */
static int forget_place(struct xvtrace_reader *r)
{
	struct xvt_states *s = &r->states;
	int err = 0;

	r->last = 1;
	r->given = 0;
	r->current = NULL;
	r->has_ahead = r->main_done = r->read_all = r->stopped = false;
	if (s->last_ns)
		memset(s->last_ns, 0, ((size_t)s->machines + 1) * sizeof(*s->last_ns));
	if (r->gaps.rings) {
		xvt_gaps_fini(&r->gaps);
		r->gaps = (struct xvt_gaps){ 0 };
		err = xvt_gaps_init(&r->gaps, r->trace->ring_count);
	}
	return err;
}

int xvtrace_reader_seek(struct xvtrace_reader *r, uint64_t ns)
{
	int err = r->flags & XVTRACE_COUNTS ? -EINVAL : xvt_reader_begin(r);

	if (err)
		return err;
	err = forget_place(r);
	for (size_t i = 0; i < r->member_count && !err; i++)
		err = xvtrace_reader_seek(r->members[i], ns);
	if (!err && !r->members) {
		xvt_cursor_fini(&r->cursor);
		err = begin_at(r, ns);
	}
	if (err)
		r->last = err;
	return err;
}

/* -- events ------------------------------------------------------------------------- */

static enum xvtrace_field_kind field_kind(const struct xvt_field *f)
{
	static const uint8_t kinds[] = {
		[XVT_FIELD_UINT] = XVTRACE_UINT,     [XVT_FIELD_INT] = XVTRACE_INT,
		[XVT_FIELD_STRING] = XVTRACE_STRING, [XVT_FIELD_UINTS] = XVTRACE_UINTS,
		[XVT_FIELD_INTS] = XVTRACE_INTS,
	};

	return kinds[f->kind];
}

struct xvt_lib_type *xvt_lib_type_new(struct xvtrace_reader *r, struct xvt_event_class *c)
{
	struct xvt_lib_type *type =
		calloc(1, sizeof(*type) + c->field_count * sizeof(type->fields[0]));

	if (!type)
		return NULL;
	type->reader = r;
	type->wanted = XVT_TYPE_UNDECIDED;
	type->pub.number = (r->whole ? r->whole : r)->type_count++;
	type->pub.system = c->system;
	type->pub.name = c->name;
	type->pub.kernel_system = xvt_probed_system(c->system, c->name);
	if (!type->pub.kernel_system)
		type->pub.kernel_system = c->system;
	type->pub.fields = c->field_count;
	type->pub.addresses = c->special != XVT_SPECIAL_NONE || (c->print && c->names);
	for (uint32_t i = 0; i < c->field_count; i++) {
		const struct xvt_field *f = &c->fields[i];
		bool list = xvt_field_is_list(f);

		type->fields[i] = (struct xvtrace_field){
			.name = f->name,
			.kind = field_kind(f),
			.dynamic = f->kind == XVT_FIELD_STRING || f->place != XVT_PLACE_FIXED,
			.size = list ? f->elem_size : f->size,
		};
		if (list && f->place == XVT_PLACE_FIXED)
			type->fields[i].elements = f->size / f->elem_size;
	}
	type->c = c;
	type->next = r->types;
	r->types = type;
	c->user = type;
	return type;
}

/* Look at the choices for the first event of a type: a type without events matches no glob. Returns
 * whether it is wanted, or -ENOMEM. */
static int decide(struct xvtrace_reader *r, struct xvt_lib_type *type, bool is_event)
{
	struct xvt_event_class *c = type->c;
	/* The number of a type is no name that anybody asks for. */
	const bool wanted = !r->globs ||
			    xvt_globs_match(r->globs, c->system, c->name, is_event && !c->nameless);

	if (r->filter && wanted) {
		type->places = xvt_filter_places(r->filter, c, is_event);
		if (!type->places)
			return -ENOMEM;
	}
	type->wanted = wanted;
	return wanted;
}

/* Set the type of the event, which is of that class. Returns whether it is wanted, or -ENOMEM. */
static inline int set_type(struct xvtrace_reader *r, struct xvt_event_class *c, bool is_event)
{
	struct xvt_lib_type *type = c->user ? c->user : xvt_lib_type_new(r, c);

	r->event.type = type;
	if (xvt_likely(type && type->wanted != XVT_TYPE_UNDECIDED))
		return type->wanted;
	return type ? decide(r, type, is_event) : -ENOMEM;
}

static bool cpu_wanted(const struct xvtrace_reader *r, uint32_t cpu)
{
	for (size_t i = 0; i < r->cpu_count; i++)
		if (cpu >= r->cpus[i].from && cpu <= r->cpus[i].to)
			return true;
	return false;
}

static bool wall_wanted(const struct xvtrace_reader *r, uint64_t host_ns)
{
	uint64_t ns;

	if (!wall_given(r))
		return true;
	ns = xvt_trace_wall_ns(r->trace->t, host_ns);
	return ns >= r->wall_from_ns && ns <= r->wall_to_ns;
}

/* Whether the machine, the CPU and the time of the record are among those that were chosen. */
static bool picked(const struct xvtrace_reader *r, const struct xvt_event_hdr *h,
		   const struct xvtrace_ring *ring)
{
	if (r->machines && !(ring && r->machines[ring->machine->number]))
		return false;
	if (r->cpus && !(ring && cpu_wanted(r, ring->cpu)))
		return false;
	return wall_wanted(r, h->host_ns);
}

/* Whether the record is wanted, as far as its type does not decide. */
static inline bool wanted(const struct xvtrace_reader *r, const struct xvt_event_hdr *h,
			  const struct xvtrace_ring *ring)
{
	if (xvt_unlikely(!xvt_is_event(h)) && !(r->flags & XVTRACE_ALL) && h->id != XVT_ID_LOST)
		return false;
	return xvt_likely(!r->picky) || picked(r, h, ring);
}

static bool pid_wanted(const struct xvtrace_reader *r, int pid)
{
	for (size_t i = 0; i < r->pid_count; i++)
		if (r->pids[i] == pid)
			return true;
	return false;
}

/* Whether what the event itself says is wanted. */
static bool content_wanted(const struct xvtrace_reader *r, const struct xvt_lib_event *e)
{
	const char *comm;

	if (r->pids && !pid_wanted(r, e->pub.pid))
		return false;
	if (r->comms) {
		if (e->pub.pid < 0)
			return false;
		comm = xvtrace_event_comm(&e->pub);
		if (!xvt_comms_match(r->comms, comm ? comm : XVT_COMM_UNKNOWN))
			return false;
	}
	return !r->filter || xvt_filter_holds(r->filter, e);
}

static uint64_t lost_count(const struct xvt_event *ev)
{
	struct xvt_lost lost;
	uint64_t sum;

	if (!xvt_lost_get(ev->hdr, ev->payload, &lost))
		return 0;
	sum = lost.overwritten + lost.dropped;
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		sum += lost.lost[i];
	return sum;
}

XVT_ASSERT(XVT_NO_BOUND == XVTRACE_NO_BOUND, "a bound that is none");
XVT_ASSERT(XVT_EVENT_F_LATE >> 20 == XVTRACE_LATE && XVT_EVENT_F_CLOCK >> 20 == XVTRACE_CLOCK,
	   "an event's flags are the file's, shifted");

#define NUMBER_BITS 24u /* of an event in its chunk */
XVT_ASSERT(XVT_ORDER_COUNT_MAX <= 1u << NUMBER_BITS, "the events of a chunk have numbers");

xvt_inline void fill(struct xvtrace_reader *r, const struct xvtrace_ring *ring,
		     const struct xvtrace_machine *machine)
{
	struct xvt_lib_event *e = &r->event;
	const struct xvt_event_hdr *h = e->ev.hdr;
	struct xvt_common common;

	xvt_common_get(e->type->c, &e->ev, &common);
	e->pub.ns = h->host_ns;
	e->pub.guest_clock = h->guest_clock;
	e->pub.kind = XVTRACE_EVENT;
	e->pub.flags = h->ring_flags >> 20 & 0x1f;
	e->pub.ring = ring;
	e->pub.machine = machine;
	e->pub.state = 0;
	e->pub.since_ns = 0;
	e->pub.type = &e->type->pub;
	e->pub.pid = common.pid;
	e->pub.irq_flags = common.flags;
	e->pub.preempt_count = common.preempt_count;
	e->pub.lost = 0;
	e->pub.data = e->ev.payload;
	e->pub.data_len = h->len;
	e->pub.number = e->ev.chunk_seq << NUMBER_BITS | e->ev.left;
	if (xvt_unlikely(!xvt_is_event(h))) {
		bool lost = h->id == XVT_ID_LOST && e->type->c->min_len >= XVT_LOST_LEN_LEAST;

		e->pub.kind = lost ? XVTRACE_LOST : XVTRACE_RECORD;
		e->pub.lost = lost ? lost_count(&e->ev) : 0;
	}
	if (r->bounds)
		e->pub.bound_ns = xvt_bound_ns(r->bounds, h);
	else if (r->bound_ns)
		e->pub.bound_ns = *r->bound_ns;
	/* What was measured after an event may have made its bound larger. */
	if (xvt_unlikely(e->pub.bound_ns > XVT_SURE_NS && e->pub.bound_ns < XVT_NO_BOUND))
		e->pub.flags |= XVTRACE_UNCONFIRMED;
}

/* A record that the choice leaves out: count the events whose loss it tells. */
static void note_hidden(struct xvtrace_reader *r, const struct xvt_lib_event *e)
{
	if (xvt_unlikely(e->ev.hdr->id == XVT_ID_LOST) && e->type->c->min_len >= XVT_LOST_LEN_LEAST)
		r->lost_hidden += lost_count(&e->ev);
}

/* -- states among them -------------------------------------------------------------- */

/* Whether the next state comes before what happens at that time, and is in the range. */
static bool state_is_next(const struct xvtrace_reader *r, uint64_t ns)
{
	const struct xvt_states *s = &r->states;

	return s->at < s->count && s->v[s->at].ns <= ns && s->v[s->at].ns <= r->range_to_ns;
}

/* 1: it is the event. 0: it is not wanted. Else -errno. */
static int give_state(struct xvtrace_reader *r)
{
	struct xvt_lib_event *e = &r->event;
	struct xvt_event_class *c = xvt_states_next(&r->states, &e->ev, &e->state);
	const struct xvt_state *of = e->state;
	int type_wanted;

	if (!c)
		return -ENOMEM;
	e->decoder = xvt_decoder_of(&r->ds, &e->ev);
	type_wanted = set_type(r, c, false);
	if (type_wanted < 0)
		return type_wanted;
	e->pub = (struct xvtrace_event){ .ns = of->ns,
					 .kind = XVTRACE_STATE,
					 .type = &e->type->pub,
					 .pid = -1,
					 .bound_ns = XVTRACE_NO_BOUND,
					 .data = e->ev.payload,
					 .machine = xvt_lib_machine(r->trace, of->machine),
					 .state = (enum xvtrace_state)of->kind,
					 .since_ns = of->since_ns };
	return r->trace->machines[of->machine].known && type_wanted &&
	       machine_wanted(r, of->machine) && wall_wanted(r, of->ns) &&
	       (!r->by_event || content_wanted(r, e));
}

static inline int fetch_alone(struct xvtrace_reader *r, struct xvt_event *ev)
{
	return r->reclock ? xvt_reclock_next(r->reclock, ev) : xvt_cursor_next(&r->cursor, ev);
}

/* The thread gave no further record for which it can answer: go on alone behind those. */
static __attribute__((noinline)) int go_on_alone(struct xvtrace_reader *r, struct xvt_event *ev)
{
	const uint64_t given = xvt_ahead_given(r->by_thread);
	int got = end_by_thread(r);

	if (got)
		return got;
	got = 1;
	for (uint64_t i = 0; i <= given && got > 0; i++)
		got = fetch_alone(r, ev);
	return got;
}

static inline int fetch(struct xvtrace_reader *r, struct xvt_event *ev)
{
	int got;

	if (!r->by_thread)
		return fetch_alone(r, ev);
	got = xvt_ahead_next(r->by_thread, ev);
	return xvt_unlikely(got < 0) ? go_on_alone(r, ev) : got;
}

static inline int next_record(struct xvtrace_reader *r)
{
	struct xvt_lib_event *e = &r->event;
	int got;

	if (r->has_ahead) {
		r->has_ahead = false;
		e->ev = r->ahead;
		return 1;
	}
	got = r->main_done ? 0 : fetch(r, &e->ev);
	r->main_done = got == 0;
	return got;
}

/* The machine's last event so far, for what is said of its end. */
static void pass(struct xvtrace_reader *r, const struct xvtrace_ring *ring)
{
	if (xvt_unlikely(r->states.at < r->states.count) && ring && xvt_is_event(r->event.ev.hdr))
		r->states.last_ns[machine_of(r, &r->event.ev)] = r->event.ev.hdr->host_ns;
}

/* As give_state(), of a switch that is made. */
static int give_gap(struct xvtrace_reader *r)
{
	struct xvt_lib_event *e = &r->event;
	struct xvt_event_class *c = xvt_gaps_next(&r->gaps, r->trace->t, &e->ev);
	const struct xvtrace_ring *ring;
	int type_wanted;

	if (!c)
		return 0;
	e->decoder = xvt_decoder_of(&r->ds, &e->ev);
	ring = xvt_lib_ring(r->trace, xvt_event_ring(&e->ev));
	if (!wanted(r, e->ev.hdr, ring))
		return 0;
	type_wanted = set_type(r, c, true);
	if (type_wanted <= 0)
		return type_wanted;
	fill(r, ring, ring ? ring->machine : NULL);
	e->pub.flags |= XVTRACE_MADE;
	e->pub.bound_ns = XVTRACE_NO_BOUND;
	return !r->by_event || content_wanted(r, e);
}

/* Gives the states, and what is made of them, that come before the record that was fetched; `got`
 * is what fetching it returned. 1: one is the event. 0: there are no more. Else -errno. */
static int states_before(struct xvtrace_reader *r, int got)
{
	const uint64_t ns = got ? r->event.ev.hdr->host_ns : UINT64_MAX;
	const struct xvt_event ahead = r->event.ev;
	int given = 0;

	while (!given && (r->gaps.active || state_is_next(r, ns))) {
		if (r->gaps.active) {
			given = give_gap(r);
			continue;
		}
		given = give_state(r);
		xvt_gaps_state(&r->gaps, r->event.state);
	}
	if (!got)
		return given;
	if (given > 0) {
		r->ahead = ahead;
		r->has_ahead = true;
	} else {
		r->event.ev = ahead;
	}
	return given;
}

static void count(struct xvtrace_reader *r, const struct xvt_event *ev)
{
	const uint32_t ring = xvt_event_ring(ev), rings = r->trace->ring_count;
	struct xvt_counted *c = &r->counted[ring < rings ? ring : rings];

	xvt_count_record(&c->counts, &c->recorded, ev->hdr, ev->payload);
}

/* Take what a record says of others, whether it is wanted or not. Returns 0 or -ENOMEM. */
static int learn(struct xvtrace_reader *r, const struct xvtrace_ring *ring,
		 struct xvt_event_class *c)
{
	const struct xvt_event *ev = &r->event.ev;

	pass(r, ring);
	if (r->counted)
		count(r, ev);
	return r->gaps.rings ? xvt_gaps_learn(&r->gaps, xvt_event_ring(ev), c, ev) : 0;
}

static inline const struct xvt_lib_source *source_of(struct xvtrace_reader *r,
						     const struct xvt_event *ev)
{
	const uint32_t ring = xvt_event_ring(ev), rings = r->trace->ring_count;

	if (xvt_unlikely(r->walks != r->trace->t->walks))
		find_sources(r);
	return &r->sources[ring < rings ? ring : rings];
}

/* 1: the record that was fetched is the event. 0: it is not wanted. Else -errno. is_plain: that of
 * the reader. */
xvt_inline int give_record(struct xvtrace_reader *r, const bool is_plain)
{
	struct xvt_lib_event *e = &r->event;
	const struct xvt_lib_source *of = source_of(r, &e->ev);
	const bool is_event = xvt_is_event(e->ev.hdr);
	struct xvt_event_class *c;
	int type_wanted;

	e->decoder = of->decoder;
	c = xvt_classify(e->decoder, &e->ev);
	if (xvt_unlikely(!c || (!is_plain && r->learns && learn(r, of->ring, c))))
		return -ENOMEM;
	if (!wanted(r, e->ev.hdr, of->ring))
		return 0;
	of->tally->events += is_event;
	if (xvt_unlikely(c->nameless))
		of->tally->nameless += is_event;
	type_wanted = set_type(r, c, is_event);
	if (xvt_unlikely(type_wanted < 0))
		return type_wanted;
	if (!type_wanted) {
		note_hidden(r, e);
		return 0;
	}
	fill(r, of->ring, of->machine);
	if (!is_plain && r->by_event && !content_wanted(r, e)) {
		note_hidden(r, e);
		return 0;
	}
	r->given += is_event;
	return 1;
}

/* As next(), with all choices, and states among the events. */
static __attribute__((noinline)) int next_chosen(struct xvtrace_reader *r)
{
	int got, given;

	do {
		got = next_record(r);
		r->read_all = got == 0;
		if (xvt_unlikely(got < 0 || (r->limit && r->given == r->limit)))
			return got < 0 ? got : 0;
		if (xvt_unlikely(r->states.at < r->states.count || r->gaps.active)) {
			given = states_before(r, got);
			if (given)
				return given;
		}
		if (xvt_unlikely(!got || (*r->watch_flag &&
					  !r->watch(r->watch_arg, r->event.ev.hdr->host_ns))))
			return 0;
		given = give_record(r, false);
	} while (!given);
	return given;
}

/* Fetches the next event. Returns 1; 0: there are no more; or -errno. */
static int next(struct xvtrace_reader *r)
{
	int got, given;

	do {
		if (xvt_unlikely(!r->is_plain)) {
			got = r->begun ? 0 : begin(r);
			if (got || !r->is_plain)
				return got ? got : next_chosen(r);
		}
		got = fetch(r, &r->event.ev);
		r->read_all = got == 0;
		if (xvt_unlikely(got <= 0))
			return got;
		if (xvt_unlikely(*r->watch_flag &&
				 !r->watch(r->watch_arg, r->event.ev.hdr->host_ns)))
			return 0;
		given = give_record(r, true);
	} while (!given);
	return given;
}

/* -- of several traces -------------------------------------------------------------- */

/* For a member: the caller's function may end the reading of all. */
static bool watch_member(void *arg, uint64_t ns)
{
	struct xvtrace_reader *whole = arg;

	whole->stopped = whole->stopped || !whole->watch(whole->watch_arg, ns);
	return !whole->stopped;
}

/* The choices are those of the whole, which also knows what nothing matched. */
static void share_choices(const struct xvtrace_reader *r, struct xvtrace_reader *m,
			  unsigned int slot)
{
	m->flags = r->flags;
	m->machines = r->machines;
	m->cpus = r->cpus;
	m->cpu_count = r->cpu_count;
	m->pids = r->pids;
	m->pid_count = r->pid_count;
	m->globs = r->globs;
	m->comms = r->comms;
	m->filter = r->filter;
	m->by_event = r->by_event;
	m->from_ns = r->from_ns;
	m->to_ns = r->to_ns;
	m->wall_from_ns = r->wall_from_ns;
	m->wall_to_ns = r->wall_to_ns;
	m->limit = r->limit;
	m->watch_flag = r->watch_flag;
	m->watch = watch_member;
	m->watch_arg = (void *)r;
	m->background = slot < (r->background ? r->background->slots : 0) ? r->background : NULL;
	m->slot = slot;
}

/* Fetches the next event of a member. Returns 0 or -errno. */
static int advance(struct xvtrace_reader *m)
{
	if (m->last == 1)
		m->last = next(m);
	return m->last < 0 ? m->last : 0;
}

int xvt_reader_begin(struct xvtrace_reader *r)
{
	int err = r->last < 0 ? r->last : 0;

	if (r->begun || err)
		return err;
	if (!r->members)
		err = begin(r);
	r->begun = true;
	for (size_t i = 0; i < r->member_count && !err; i++) {
		share_choices(r, r->members[i], (unsigned int)i);
		err = xvt_reader_begin(r->members[i]);
	}
	if (err)
		r->last = err;
	return err;
}

static int begin_several(struct xvtrace_reader *r)
{
	int err = xvt_reader_begin(r);

	for (size_t i = 0; i < r->member_count && !err; i++)
		err = advance(r->members[i]);
	return err;
}

/* By time, machine and ring, as in one trace; a state comes before what happens at its time. */
static bool is_before(const struct xvtrace_event *a, const struct xvtrace_event *b)
{
	const bool a_state = a->kind == XVTRACE_STATE, b_state = b->kind == XVTRACE_STATE;

	if (a->ns != b->ns)
		return a->ns < b->ns;
	if (a_state != b_state)
		return a_state;
	if (!a->machine || !b->machine || a->machine->number != b->machine->number)
		return a->machine && (!b->machine || a->machine->number < b->machine->number);
	return a->ring && b->ring && a->ring->number < b->ring->number;
}

static int next_of_several(struct xvtrace_reader *r)
{
	struct xvtrace_reader *first = NULL;
	int err = r->current ? advance(r->current) : begin_several(r);

	if (err)
		return err;
	r->read_all = true;
	for (size_t i = 0; i < r->member_count; i++) {
		struct xvtrace_reader *m = r->members[i];

		r->read_all = r->read_all && m->last == 0 && m->read_all;
		if (m->last == 1 && (!first || is_before(&m->event.pub, &first->event.pub)))
			first = m;
	}
	if (!first || r->stopped || (r->limit && r->given == r->limit))
		return 0;
	r->given += first->event.pub.kind == XVTRACE_EVENT;
	r->current = first;
	return 1;
}

int xvtrace_next(struct xvtrace_reader *r, const struct xvtrace_event **event)
{
	*event = NULL;
	if (xvt_likely(r->last == 1))
		r->last = xvt_likely(!r->members) ? next(r) : next_of_several(r);
	if (xvt_likely(r->last == 1))
		*event = xvt_likely(!r->members) ? &r->event.pub : &r->current->event.pub;
	return r->last;
}

/* -- what was found ----------------------------------------------------------------- */

int xvtrace_reader_unmatched(const struct xvtrace_reader *r, size_t number,
			     struct xvtrace_unmatched *unmatched)
{
	return r->read_all && xvt_globs_unmatched(r->globs, number, unmatched) ? 0 : -ENOENT;
}

int xvtrace_reader_unmatched_comm(const struct xvtrace_reader *r, size_t number,
				  struct xvtrace_unmatched *unmatched)
{
	return r->read_all && r->comms && xvt_globs_unmatched(r->comms->globs, number, unmatched)
		       ? 0
		       : -ENOENT;
}

int xvtrace_reader_unmatched_filter(const struct xvtrace_reader *r, size_t number,
				    struct xvtrace_error *error)
{
	return r->read_all && r->filter && xvt_filter_unmatched(r->filter, number, error) ? 0
											  : -ENOENT;
}

const struct xvtrace_counts *xvtrace_reader_counts(struct xvtrace_reader *r, unsigned int ring)
{
	struct xvt_trace *t = r->trace->t;

	if (!r->counted || !r->read_all || r->trace->part || !xvtrace_ring(r->trace, ring) ||
	    (!r->stats && xvt_bounds_new(&r->stats, t)))
		return NULL;
	r->counts = r->counted[ring].counts;
	xvt_conclude_counts(t, &r->counts, &r->counted[ring].recorded, &r->stats->rings[ring]);
	return &r->counts;
}

uint64_t xvtrace_reader_lost_hidden(const struct xvtrace_reader *r)
{
	uint64_t sum = r->lost_hidden;

	for (size_t i = 0; i < r->member_count; i++)
		sum += r->members[i]->lost_hidden;
	return sum;
}

uint64_t xvtrace_reader_nameless(const struct xvtrace_reader *r, unsigned int machine,
				 uint64_t *events)
{
	uint64_t nameless = 0;

	*events = 0;
	if (machine >= r->trace->machine_count)
		return 0;
	if (r->tally) {
		*events = r->tally[machine].events;
		nameless = r->tally[machine].nameless;
	}
	for (size_t i = 0; i < r->member_count; i++) {
		if (!r->members[i]->tally)
			continue;
		*events += r->members[i]->tally[machine].events;
		nameless += r->members[i]->tally[machine].nameless;
	}
	return nameless;
}

uint64_t xvtrace_reader_left_out(const struct xvtrace_reader *r)
{
	uint64_t sum = r->ds.left_out;

	for (size_t i = 0; i < r->member_count; i++)
		sum += r->members[i]->ds.left_out;
	return sum;
}

int xvtrace_reader_left_format(const struct xvtrace_reader *r, unsigned int number,
			       struct xvtrace_left_format *to)
{
	const struct xvt_left_format *f;

	for (size_t i = 0; i < r->member_count; i++) {
		const uint32_t count = r->members[i]->ds.left_format_count;

		if (number < count)
			return xvtrace_reader_left_format(r->members[i], number, to);
		number -= count;
	}
	if (r->members || number >= r->ds.left_format_count)
		return -ENOENT;
	f = &r->ds.left_formats[number % XVT_LEFT_FORMATS];
	*to = (struct xvtrace_left_format){ .machine = xvt_lib_machine(r->trace, f->vm)->number,
					    .system = f->system,
					    .event = f->event,
					    .why = f->why };
	return 0;
}

int xvtrace_reader_reclocked(struct xvtrace_reader *r, unsigned int ring,
			     struct xvtrace_reclocked *to)
{
	const struct xvt_reclock_ring *of;
	struct xvt_reclock_change c;
	int err = 0;

	if (!(r->flags & XVTRACE_RECLOCK))
		return -EINVAL;
	for (size_t i = 0; i < r->member_count; i++) {
		struct xvtrace_reader *m = r->members[i];

		m->flags = r->flags;
		if (m->trace == xvt_several_of_ring(r->trace, ring))
			return xvtrace_reader_reclocked(m, ring - m->trace->first_ring, to);
	}
	if (r->members || ring >= r->trace->ring_count)
		return -ENOENT;
	if (!r->reclock)
		err = xvt_reclock_new(&r->reclock, r->trace->t);
	if (err)
		return err;
	of = xvt_reclock_ring(r->reclock, ring);
	err = xvt_reclock_change(of, &c);
	if (err)
		return err;
	*to = (struct xvtrace_reclocked){
		.source = xvtrace_source_name(of->nodes[0].source),
		.max_before_ns = c.max_before,
		.max_after_ns = c.max_after,
		.half_before_ns = c.half_before,
		.half_after_ns = c.half_after,
		.samples = of->samples,
		.epochs = of->epoch_count,
	};
	for (size_t e = 0; e < of->epoch_count; e++) {
		to->epochs_constant += of->epochs[e].straight;
		to->epochs_gaining += of->epochs[e].refined && !of->epochs[e].straight;
		to->epochs_as_recorded += !of->epochs[e].refined;
	}
	return 0;
}
