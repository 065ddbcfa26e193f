// SPDX-License-Identifier: GPL-2.0
/* reader.c - the chosen events of a trace in order of time; see xvtrace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine_name.h"
#include "base/vec.h"
#include "lib/parts.h"

/* -- what to read ------------------------------------------------------------------- */

/* A reader of several traces has one of each. Returns 0 or -ENOMEM. */
static int add_members(struct xvtrace_reader *r)
{
	int err = 0;

	if (!r->trace->members)
		return 0;
	r->several.members = calloc(r->trace->member_count, sizeof(struct xvtrace_reader *));
	if (!r->several.members)
		return -ENOMEM;
	while (r->several.count < r->trace->member_count && !err) {
		struct xvtrace_reader **m = &r->several.members[r->several.count];

		err = xvtrace_reader_new(m, r->trace->members[r->several.count]);
		if (!err) {
			(*m)->several.whole = r;
			r->several.count++;
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
	r->shown.text = calloc(1, sizeof(*r->shown.text));
	if (!r->shown.text) {
		free(r);
		*out = NULL;
		return -ENOMEM;
	}
	r->shown.text->fd = -1;
	r->event.reader = r;
	r->last = 1;
	r->event.pub.bound_ns = XVTRACE_NO_BOUND;
	r->trace = trace;
	xvt_choice_init(r);
	if (add_members(r)) {
		xvtrace_reader_free(r);
		*out = NULL;
		return -ENOMEM;
	}
	return 0;
}

void xvtrace_reader_free(struct xvtrace_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->several.count; i++)
		xvtrace_reader_free(r->several.members[i]);
	free(r->several.members);
	xvt_bounds_free(r->count.bounds);
	free(r->count.rings);
	xvt_reader_fetch_fini(r);
	xvt_decoders_fini(&r->ds);
	xvt_states_fini(&r->made.states);
	xvt_gaps_fini(&r->made.gaps);
	while (r->types) {
		struct xvt_lib_type *type = r->types;

		r->types = type->next;
		free(type->places);
		free(type);
	}
	if (!r->several.whole)
		xvt_choice_free(&r->choice);
	free(r->shown.text);
	free(r->shown.format);
	free(r->count.tally);
	free(r->sources);
	if (r->several.part_of)
		xvt_lib_join(r->several.part_of, r->trace);
	free(r);
}

/* -- the begin ---------------------------------------------------------------------- */

static bool machine_wanted(void *arg, uint32_t vm)
{
	const struct xvtrace_reader *r = arg;

	return !r->choice.machines || r->choice.machines[xvt_lib_machine(r->trace, vm)->number];
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
	struct xvt_states *s = &r->made.states;
	int err = 0;

	if (r->choice.flags & XVTRACE_STATES)
		err = xvt_states_read(s, r->trace->t, r->trace->machine_count);
	/* Without states there is nothing to learn for. */
	if (!err && r->choice.flags & XVTRACE_GAPS && s->count)
		err = xvt_gaps_init(&r->made.gaps, r->trace->ring_count);
	return err;
}

/* Go to the first state and the first record in the range that are not before ns. */
static int begin_at(struct xvtrace_reader *r, uint64_t ns)
{
	struct xvt_states *s = &r->made.states;
	uint64_t from_ns;
	int err = xvt_reader_fetch_from(r, ns, &from_ns);

	for (s->at = 0; s->at < s->count && s->v[s->at].ns < from_ns;)
		s->at++;
	return err;
}

/* Number of machines of the whole. */
static uint32_t machines_of(const struct xvtrace_reader *r)
{
	return (r->several.whole ? r->several.whole->trace : r->trace)->machine_count;
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
			.tally = &r->count.tally[ring ? ring->machine->number : machines_of(r) + 1],
		};
	}
}

static int begin(struct xvtrace_reader *r)
{
	struct xvt_trace *t = r->trace->t;
	int err;

	r->begun = true;
	r->count.tally = calloc((size_t)machines_of(r) + 2, sizeof(*r->count.tally));
	r->sources = calloc((size_t)r->trace->ring_count + 1, sizeof(*r->sources));
	if (!r->count.tally || !r->sources)
		return -ENOMEM;
	r->picky = r->choice.machines || r->choice.cpus || xvt_reader_by_wall(r);
	err = xvt_decoders_new_for(&r->ds, t, machine_wanted, r);
	if (!err)
		err = xvt_named_lend(r->trace->named, &r->ds);
	if (!err)
		find_sources(r);
	if (!err)
		err = begin_states(r);
	if (!err && r->choice.flags & XVTRACE_COUNTS) {
		r->count.rings = calloc((size_t)r->trace->ring_count + 1, sizeof(*r->count.rings));
		err = r->count.rings ? 0 : -ENOMEM;
	}
	if (!err)
		err = xvt_reader_fetch_prepare(r);
	r->learns = r->count.rings || r->made.states.count;
	r->is_plain = !r->picky && !r->learns && !r->choice.by_event && !r->choice.limit;
	return err ? err : begin_at(r, 0);
}

/* Forget what belongs to the place in time where the reader was. Returns 0 or -ENOMEM. */
static int forget_place(struct xvtrace_reader *r)
{
	struct xvt_states *s = &r->made.states;
	int err = 0;

	r->last = 1;
	r->given = 0;
	r->several.current = NULL;
	r->made.has_ahead = r->made.main_done = r->read_all = r->several.stopped = false;
	if (s->last_ns)
		memset(s->last_ns, 0, ((size_t)s->machines + 1) * sizeof(*s->last_ns));
	if (r->made.gaps.rings) {
		xvt_gaps_fini(&r->made.gaps);
		r->made.gaps = (struct xvt_gaps){ 0 };
		err = xvt_gaps_init(&r->made.gaps, r->trace->ring_count);
	}
	return err;
}

int xvtrace_reader_seek(struct xvtrace_reader *r, uint64_t ns)
{
	int err = r->choice.flags & XVTRACE_COUNTS ? -EINVAL : xvt_reader_begin(r);

	if (err)
		return err;
	err = forget_place(r);
	for (size_t i = 0; i < r->several.count && !err; i++)
		err = xvtrace_reader_seek(r->several.members[i], ns);
	if (!err && !r->several.members)
		err = begin_at(r, ns);
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
	type->pub.number = (r->several.whole ? r->several.whole : r)->type_count++;
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
	const bool wanted = !r->choice.globs || xvt_globs_match(r->choice.globs, c->system, c->name,
								is_event && !c->nameless);

	if (r->choice.filter && wanted) {
		type->places = xvt_filter_places(r->choice.filter, c, is_event);
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
	for (size_t i = 0; i < r->choice.cpu_count; i++)
		if (cpu >= r->choice.cpus[i].from && cpu <= r->choice.cpus[i].to)
			return true;
	return false;
}

static bool wall_wanted(const struct xvtrace_reader *r, uint64_t host_ns)
{
	uint64_t ns;

	if (!xvt_reader_by_wall(r))
		return true;
	ns = xvt_trace_wall_ns(r->trace->t, host_ns);
	return ns >= r->choice.wall_from_ns && ns <= r->choice.wall_to_ns;
}

/* Whether the machine, the CPU and the time of the record are among those that were chosen. */
static bool picked(const struct xvtrace_reader *r, const struct xvt_event_hdr *h,
		   const struct xvtrace_ring *ring)
{
	if (r->choice.machines && !(ring && r->choice.machines[ring->machine->number]))
		return false;
	if (r->choice.cpus && !(ring && cpu_wanted(r, ring->cpu)))
		return false;
	return wall_wanted(r, h->host_ns);
}

/* Whether the record is wanted, as far as its type does not decide. */
static inline bool wanted(const struct xvtrace_reader *r, const struct xvt_event_hdr *h,
			  const struct xvtrace_ring *ring)
{
	if (xvt_unlikely(!xvt_is_event(h)) && !(r->choice.flags & XVTRACE_ALL) &&
	    h->id != XVT_ID_LOST)
		return false;
	return xvt_likely(!r->picky) || picked(r, h, ring);
}

static bool pid_wanted(const struct xvtrace_reader *r, int pid)
{
	for (size_t i = 0; i < r->choice.pid_count; i++)
		if (r->choice.pids[i] == pid)
			return true;
	return false;
}

/* Whether what the event itself says is wanted. */
static bool content_wanted(const struct xvtrace_reader *r, const struct xvt_lib_event *e)
{
	const char *comm;

	if (r->choice.pids && !pid_wanted(r, e->pub.pid))
		return false;
	if (r->choice.comms) {
		if (e->pub.pid < 0)
			return false;
		comm = xvtrace_event_comm(&e->pub);
		if (!xvt_comms_match(r->choice.comms, comm ? comm : XVT_COMM_UNKNOWN))
			return false;
	}
	return !r->choice.filter || xvt_filter_holds(r->choice.filter, e);
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
	if (r->fetch.bounds)
		e->pub.bound_ns = xvt_bound_ns(r->fetch.bounds, h);
	else if (r->fetch.bound_ns)
		e->pub.bound_ns = *r->fetch.bound_ns;
	/* What was measured after an event may have made its bound larger. */
	if (xvt_unlikely(e->pub.bound_ns > XVT_SURE_NS && e->pub.bound_ns < XVT_NO_BOUND))
		e->pub.flags |= XVTRACE_UNCONFIRMED;
}

/* A record that the choice leaves out: count the events whose loss it tells. */
static void note_hidden(struct xvtrace_reader *r, const struct xvt_lib_event *e)
{
	if (xvt_unlikely(e->ev.hdr->id == XVT_ID_LOST) && e->type->c->min_len >= XVT_LOST_LEN_LEAST)
		r->count.lost_hidden += lost_count(&e->ev);
}

/* -- states among them -------------------------------------------------------------- */

/* Whether the next state comes before what happens at that time, and is in the range. */
static bool state_is_next(const struct xvtrace_reader *r, uint64_t ns)
{
	const struct xvt_states *s = &r->made.states;

	return s->at < s->count && s->v[s->at].ns <= ns && s->v[s->at].ns <= r->fetch.to_ns;
}

/* 1: it is the event. 0: it is not wanted. Else -errno. */
static int give_state(struct xvtrace_reader *r)
{
	struct xvt_lib_event *e = &r->event;
	struct xvt_event_class *c = xvt_states_next(&r->made.states, &e->ev, &e->state);
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
	       (!r->choice.by_event || content_wanted(r, e));
}

static inline int next_record(struct xvtrace_reader *r)
{
	struct xvt_lib_event *e = &r->event;
	int got;

	if (r->made.has_ahead) {
		r->made.has_ahead = false;
		e->ev = r->made.ahead;
		return 1;
	}
	got = r->made.main_done ? 0 : xvt_reader_fetch(r, &e->ev);
	r->made.main_done = got == 0;
	return got;
}

/* The machine's last event so far, for what is said of its end. */
static void pass(struct xvtrace_reader *r, const struct xvtrace_ring *ring)
{
	if (xvt_unlikely(r->made.states.at < r->made.states.count) && ring &&
	    xvt_is_event(r->event.ev.hdr))
		r->made.states.last_ns[machine_of(r, &r->event.ev)] = r->event.ev.hdr->host_ns;
}

/* As give_state(), of a switch that is made. */
static int give_gap(struct xvtrace_reader *r)
{
	struct xvt_lib_event *e = &r->event;
	struct xvt_event_class *c = xvt_gaps_next(&r->made.gaps, r->trace->t, &e->ev);
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
	return !r->choice.by_event || content_wanted(r, e);
}

/* Gives the states, and what is made of them, that come before the record that was fetched; `got`
 * is what fetching it returned. 1: one is the event. 0: there are no more. Else -errno. */
static int states_before(struct xvtrace_reader *r, int got)
{
	const uint64_t ns = got ? r->event.ev.hdr->host_ns : UINT64_MAX;
	const struct xvt_event ahead = r->event.ev;
	int given = 0;

	while (!given && (r->made.gaps.active || state_is_next(r, ns))) {
		if (r->made.gaps.active) {
			given = give_gap(r);
			continue;
		}
		given = give_state(r);
		xvt_gaps_state(&r->made.gaps, r->event.state);
	}
	if (!got)
		return given;
	if (given > 0) {
		r->made.ahead = ahead;
		r->made.has_ahead = true;
	} else {
		r->event.ev = ahead;
	}
	return given;
}

static void count(struct xvtrace_reader *r, const struct xvt_event *ev)
{
	const uint32_t ring = xvt_event_ring(ev), rings = r->trace->ring_count;
	struct xvt_counted *c = &r->count.rings[ring < rings ? ring : rings];

	xvt_count_record(&c->counts, &c->recorded, ev->hdr, ev->payload);
}

/* Take what a record says of others, whether it is wanted or not. Returns 0 or -ENOMEM. */
static int learn(struct xvtrace_reader *r, const struct xvtrace_ring *ring,
		 struct xvt_event_class *c)
{
	const struct xvt_event *ev = &r->event.ev;

	pass(r, ring);
	if (r->count.rings)
		count(r, ev);
	return r->made.gaps.rings ? xvt_gaps_learn(&r->made.gaps, xvt_event_ring(ev), c, ev) : 0;
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
	if (!is_plain && r->choice.by_event && !content_wanted(r, e)) {
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
		if (xvt_unlikely(got < 0 || (r->choice.limit && r->given == r->choice.limit)))
			return got < 0 ? got : 0;
		if (xvt_unlikely(r->made.states.at < r->made.states.count || r->made.gaps.active)) {
			given = states_before(r, got);
			if (given)
				return given;
		}
		if (xvt_unlikely(!got || (*r->watch.flag &&
					  !r->watch.call(r->watch.arg, r->event.ev.hdr->host_ns))))
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
		got = xvt_reader_fetch(r, &r->event.ev);
		r->read_all = got == 0;
		if (xvt_unlikely(got <= 0))
			return got;
		if (xvt_unlikely(*r->watch.flag &&
				 !r->watch.call(r->watch.arg, r->event.ev.hdr->host_ns)))
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

	whole->several.stopped = whole->several.stopped || !whole->watch.call(whole->watch.arg, ns);
	return !whole->several.stopped;
}

/* The choices are those of the whole, which also knows what nothing matched. */
static void share(struct xvtrace_reader *r, struct xvtrace_reader *m, unsigned int slot)
{
	m->choice = r->choice;
	m->watch = (struct xvt_reader_watch){ r->watch.flag, watch_member, r };
	xvt_reader_fetch_share(m, r, slot);
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
	if (!r->several.members)
		err = begin(r);
	r->begun = true;
	for (size_t i = 0; i < r->several.count && !err; i++) {
		share(r, r->several.members[i], (unsigned int)i);
		err = xvt_reader_begin(r->several.members[i]);
	}
	if (err)
		r->last = err;
	return err;
}

static int begin_several(struct xvtrace_reader *r)
{
	int err = xvt_reader_begin(r);

	for (size_t i = 0; i < r->several.count && !err; i++)
		err = advance(r->several.members[i]);
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
	int err = r->several.current ? advance(r->several.current) : begin_several(r);

	if (err)
		return err;
	r->read_all = true;
	for (size_t i = 0; i < r->several.count; i++) {
		struct xvtrace_reader *m = r->several.members[i];

		r->read_all = r->read_all && m->last == 0 && m->read_all;
		if (m->last == 1 && (!first || is_before(&m->event.pub, &first->event.pub)))
			first = m;
	}
	if (!first || r->several.stopped || (r->choice.limit && r->given == r->choice.limit))
		return 0;
	r->given += first->event.pub.kind == XVTRACE_EVENT;
	r->several.current = first;
	return 1;
}

int xvtrace_next(struct xvtrace_reader *r, const struct xvtrace_event **event)
{
	*event = NULL;
	if (xvt_likely(r->last == 1))
		r->last = xvt_likely(!r->several.members) ? next(r) : next_of_several(r);
	if (xvt_likely(r->last == 1))
		*event = xvt_likely(!r->several.members) ? &r->event.pub
							 : &r->several.current->event.pub;
	return r->last;
}
