// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_stat.c - `xvtrace stat`: counts of a trace. Events and flags are counted in the events.
 * Attempted, lost and clocks come from the last STATS of the recorder. A trace without an end has
 * old STATS, so newer values are derived from the events, and the output says so.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/map.h"
#include "cli/cmd.h"
#include "trace/names.h"
#include "base/json.h"
#include "trace/read.h"
#include "base/u64.h"
#include "trace/raws.h"
#include "trace/nodes.h"

struct counts {
	uint64_t attempted;
	uint64_t events;
	uint64_t lost;
	uint64_t lost_by[XVT_LOST_CAUSES];
	uint64_t overwritten;
	uint64_t doubt; /* the most by which `lost` may be too high */
	uint64_t dropped;
	uint64_t discarded;
	uint64_t late;
	uint64_t backlog;
	uint64_t unconfirmed;
	uint64_t recovered;
	uint64_t in_flight;
	uint64_t first_ns;
	uint64_t last_ns;
};

struct ring_stat {
	struct counts c;
	struct xvt_ring_stats last; /* STATS, zeros if there are none */
	struct xvt_lost recorded;   /* sums of the LOST records */
	bool has_stats;
	uint32_t epochs; /* from NODEs */
	uint32_t source;
	struct xvt_clock_node *nodes;
	size_t node_count;
	size_t node_room;
	uint64_t from_ns, until_ns; /* cached segment between two nodes of one epoch */
	uint64_t bound_ns_max;
	uint64_t beside_ns_max; /* added to bound_ns_max for events outside of all segments */
	uint64_t guess_ns_max;	/* error bound of unconfirmed events */
};

struct stat {
	struct xvt_trace *t;
	struct ring_stat *rings; /* by ring; the last is for events of unknown rings */
	uint64_t order_violations;
	uint64_t last_main_ns;
	uint64_t notes[3];
	struct counts all;
	bool clocked; /* at least one ring with events has a clock */
	struct xvt_events_iter it;
	struct xvt_trace_raws raws;
};

/* Number of the ring's nodes at or before ns. */
static size_t nodes_until(const struct ring_stat *r, uint64_t ns)
{
	size_t lo = 0, hi = r->node_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->nodes[mid].host_ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The error in ns to add to a segment's bound for a moment between no two nodes of an epoch: the
 * creep of a clock from the nearest node to that moment. */
static uint64_t beyond_nodes(struct ring_stat *r, uint64_t ns)
{
	const struct xvt_clock_node *b;
	uint64_t nearest = UINT64_MAX;
	size_t n;

	if ((ns >= r->from_ns && ns <= r->until_ns) || !r->node_count)
		return 0;
	n = nodes_until(r, ns);
	b = &r->nodes[n];
	if (n && n < r->node_count && b->epoch == b[-1].epoch) {
		r->from_ns = b[-1].host_ns;
		r->until_ns = b->host_ns;
		return 0;
	}
	if (n)
		nearest = ns - b[-1].host_ns;
	if (n < r->node_count && b->host_ns - ns < nearest)
		nearest = b->host_ns - ns;
	return nearest ? xvt_clock_creep_ns(nearest) : 0;
}

/*
 * The error in ns of an unconfirmed time, which was extrapolated from an older node. If later nodes
 * enclose its clock value, the error is known; else it is the creep from the nearest node.
 */
static uint64_t guess_ns(struct ring_stat *r, const struct xvt_event_hdr *h)
{
	const size_t n = nodes_until(r, h->host_ns);
	const struct xvt_clock_node *b = &r->nodes[n];
	uint64_t nearest = UINT64_MAX;

	if (n && n < r->node_count && b->epoch == b[-1].epoch && h->guest_clock >= b[-1].guest &&
	    h->guest_clock <= b->guest && b[-1].guest < b->guest)
		return xvt_u64_apart(xvt_clock_line(b - 1, b, h->guest_clock), h->host_ns);
	if (n)
		nearest = h->host_ns - b[-1].host_ns;
	if (n < r->node_count && b->host_ns - h->host_ns < nearest)
		nearest = b->host_ns - h->host_ns;
	return xvt_clock_creep_ns(nearest);
}

static void add_time(struct ring_stat *r, const struct xvt_event_hdr *h)
{
	uint64_t ns;

	/* A time that contradicts its clock has no bound. */
	if (!r->node_count || h->ring_flags & XVT_EVENT_F_CLOCK)
		return;
	if (h->ring_flags & XVT_EVENT_F_UNCONFIRMED) {
		ns = guess_ns(r, h);
		r->guess_ns_max = ns > r->guess_ns_max ? ns : r->guess_ns_max;
		return;
	}
	ns = beyond_nodes(r, h->host_ns);
	r->beside_ns_max = ns > r->beside_ns_max ? ns : r->beside_ns_max;
}

static void add_event(struct stat *s, const struct xvt_event_hdr *h, const uint8_t *payload)
{
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	struct ring_stat *r = &s->rings[ring < s->t->ring_count ? ring : s->t->ring_count];
	struct counts *c = &r->c;
	uint32_t f = h->ring_flags;

	if (!(f & XVT_EVENT_F_LATE)) {
		s->order_violations += h->host_ns < s->last_main_ns;
		s->last_main_ns = h->host_ns;
	}
	if (!xvt_is_event(h)) {
		struct xvt_lost lost;

		if (h->id != XVT_ID_LOST || !xvt_lost_get(h, payload, &lost))
			return;
		for (int i = 0; i < XVT_LOST_CAUSES; i++)
			r->recorded.lost[i] += lost.lost[i];
		r->recorded.overwritten += lost.overwritten;
		r->recorded.dropped += lost.dropped;
		return;
	}
	if (!c->events || h->host_ns < c->first_ns)
		c->first_ns = h->host_ns;
	if (h->host_ns > c->last_ns)
		c->last_ns = h->host_ns;
	c->events++;
	add_time(r, h);
	if (xvt_likely(!(f & ~XVT_EVENT_RING_MASK)))
		return;
	/* Events from before the attach may be out of order: do not count them as late. */
	if (f & XVT_EVENT_F_BACKLOG)
		c->backlog++;
	else if (f & XVT_EVENT_F_LATE)
		c->late++;
	c->unconfirmed += !!(f & XVT_EVENT_F_UNCONFIRMED);
	c->recovered += !!(f & XVT_EVENT_F_RECOVERED);
}

static int add_events(struct stat *s, const struct xvt_chunk_buf *b, uint64_t seq)
{
	struct xvt_event ev;
	int got = xvt_events_begin(&s->it, &s->raws.base, b, seq);

	if (got)
		return got;
	while ((got = xvt_events_next(&s->it, &ev)) > 0)
		add_event(s, ev.hdr, ev.payload);
	return got;
}

static int add_node(struct ring_stat *r, const struct xvt_clock_node *n)
{
	if (r->node_count == r->node_room) {
		size_t room = r->node_room ? r->node_room * 2 : 64;
		void *grown = realloc(r->nodes, room * sizeof(*r->nodes));

		if (!grown)
			return -ENOMEM;
		r->nodes = grown;
		r->node_room = room;
	}
	r->nodes[r->node_count++] = *n;
	if (n->epoch >= r->epochs)
		r->epochs = n->epoch < UINT32_MAX ? n->epoch + 1 : n->epoch;
	if (n->source != XVT_SOURCE_DRAIN)
		r->source = n->source;
	return 0;
}

static int add_nodes(struct stat *s, const struct xvt_chunk_buf *b)
{
	int err = 0;

	for (uint32_t at = 0; !err && b->len - at >= sizeof(struct xvt_clock_node);
	     at += sizeof(struct xvt_clock_node)) {
		struct xvt_clock_node n;

		memcpy(&n, b->payload + at, sizeof(n));
		if (n.ring < s->t->ring_count)
			err = add_node(&s->rings[n.ring], &n);
	}
	return err;
}

static int settle(struct ring_stat *r)
{
	int err = xvt_nodes_settle(r->nodes, r->node_count);

	for (size_t i = 0; i < r->node_count; i++) {
		if (r->nodes[i].segment_bound_ns > r->bound_ns_max)
			r->bound_ns_max = r->nodes[i].segment_bound_ns;
	}
	return err;
}

/* Load all clock nodes, before the events that they place. */
static int load_nodes(struct stat *s)
{
	struct xvt_chunk_buf b = { 0 };
	int err = 0;

	for (size_t i = 0; i < s->t->chunk_count && !err; i++) {
		if (s->t->chunks[i].type != XVT_CHUNK_NODE)
			continue;
		err = xvt_trace_load(s->t, i, &b);
		if (!err)
			err = add_nodes(s, &b);
		else if (err == -EBADMSG)
			err = 0;
	}
	xvt_chunk_buf_free(&b);
	for (uint32_t i = 0; i < s->t->ring_count && !err; i++)
		err = settle(&s->rings[i]);
	return err;
}

static void add_stats(struct stat *s, const struct xvt_chunk_buf *b)
{
	struct xvt_ring_stats st;

	if (!xvt_stats_get(b, &st))
		return;
	if (st.ring >= s->t->ring_count)
		return;
	s->rings[st.ring].last = st;
	s->rings[st.ring].has_stats = true;
}

static void add_note(struct stat *s, const struct xvt_chunk_buf *b)
{
	struct xvt_note n;

	if (b->len < sizeof(n))
		return;
	memcpy(&n, b->payload, sizeof(n));
	s->notes[n.level < 3 ? n.level : 2]++;
}

static int walk(struct stat *s)
{
	struct xvt_chunk_buf b = { 0 };
	int err = load_nodes(s);

	xvt_trace_raws_init(&s->raws, s->t);
	for (size_t i = 0; i < s->t->chunk_count && !err; i++) {
		struct xvt_chunk_ref *ref = &s->t->chunks[i];

		if (ref->type <= XVT_CHUNK_NODE || ref->type > XVT_CHUNK_NOTE)
			continue;
		err = xvt_trace_load(s->t, i, &b);
		if (err == -EBADMSG)
			err = 0;
		else if (err)
			break;
		else if (ref->type == XVT_CHUNK_ORDER || ref->type == XVT_CHUNK_LATE) {
			err = add_events(s, &b, ref->seq);
			if (err == -EBADMSG) {
				err = 0;
				xvt_trace_note_damage(s->t, ref->offset, ref->len,
						      "an event reaches past its chunk");
			}
		} else if (ref->type == XVT_CHUNK_NODE)
			add_nodes(s, &b);
		else if (ref->type == XVT_CHUNK_STATS)
			add_stats(s, &b);
		else if (ref->type == XVT_CHUNK_NOTE)
			add_note(s, &b);
	}
	xvt_events_end(&s->it);
	xvt_trace_raws_fini(&s->raws);
	xvt_chunk_buf_free(&b);
	return err;
}

/* Take the counts from STATS. If these are old, take the events' and LOST records' counts where
 * those are higher. */
static void conclude_ring(struct ring_stat *r, bool ended)
{
	struct counts *c = &r->c;
	uint64_t known;

	c->discarded = r->last.discarded;
	c->overwritten = r->last.overwritten;
	c->doubt = r->last.overwritten_doubt;
	if (!ended && r->recorded.overwritten > c->overwritten)
		c->overwritten = r->recorded.overwritten;
	c->dropped = r->last.dropped;
	if (!ended && r->recorded.dropped > c->dropped)
		c->dropped = r->recorded.dropped;
	c->lost = c->overwritten + c->dropped;
	for (int i = 0; i < XVT_LOST_CAUSES; i++) {
		c->lost_by[i] = r->last.lost[i];
		if (!ended && r->recorded.lost[i] > c->lost_by[i])
			c->lost_by[i] = r->recorded.lost[i];
		c->lost += c->lost_by[i];
	}
	known = c->events + c->discarded + c->lost;
	if (ended && r->has_stats) {
		c->attempted = r->last.attempted;
		c->in_flight = r->last.in_flight;
	} else {
		c->attempted = r->last.attempted > known ? r->last.attempted : known;
		c->in_flight = c->attempted - known;
	}
	if (r->has_stats && r->last.epochs > r->epochs)
		r->epochs = r->last.epochs;
	if (r->last.source)
		r->source = r->last.source;
	/* The bound by the nodes; the recorder may have measured a larger one. */
	r->guess_ns_max = r->guess_ns_max ? xvt_u64_sum(r->bound_ns_max, r->guess_ns_max) : 0;
	r->bound_ns_max = xvt_u64_sum(r->bound_ns_max, r->beside_ns_max);
	if (r->last.bound_ns_max > r->bound_ns_max)
		r->bound_ns_max = r->last.bound_ns_max;
	if (c->unconfirmed && r->guess_ns_max < r->bound_ns_max)
		r->guess_ns_max = r->bound_ns_max;
	/* Without a clock the times are the guest's own, with no bound to the host's clock. */
	if (r->source == XVT_SOURCE_NONE)
		r->bound_ns_max = XVT_NO_BOUND;
}

/* Extend the trace's range of time. Rings without a clock are left out, since they have no host
 * time. */
static void add_times(struct counts *to, const struct counts *c)
{
	if (!c->events)
		return;
	if (!to->last_ns || c->first_ns < to->first_ns)
		to->first_ns = c->first_ns;
	if (c->last_ns > to->last_ns)
		to->last_ns = c->last_ns;
}

static void add_counts(struct counts *to, const struct counts *c)
{
	to->attempted += c->attempted;
	to->events += c->events;
	to->lost += c->lost;
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		to->lost_by[i] += c->lost_by[i];
	to->overwritten += c->overwritten;
	to->doubt += c->doubt;
	to->dropped += c->dropped;
	to->discarded += c->discarded;
	to->late += c->late;
	to->backlog += c->backlog;
	to->unconfirmed += c->unconfirmed;
	to->recovered += c->recovered;
	to->in_flight += c->in_flight;
}

static bool ring_of(const struct stat *s, uint32_t ring, uint32_t vm)
{
	return s->t->rings[ring].known && s->t->rings[ring].info.vm == vm;
}

/* The largest measured error of the host's clock against CLOCK_MONOTONIC, in ns. */
static uint64_t timebase_error_ns(const struct xvt_trace *t)
{
	uint64_t most = 0;

	for (size_t i = 0; i < t->timebase_count; i++)
		if (t->timebase[i].error_ns > most)
			most = t->timebase[i].error_ns;
	return most;
}

/* -- JSON --------------------------------------------------------------------------- */

static void json_flags(struct xvt_json *j, const struct counts *c)
{
	xvt_json_add_u64(j, "discarded", c->discarded);
	xvt_json_add_u64(j, "late", c->late);
	xvt_json_add_u64(j, "backlog", c->backlog);
	xvt_json_add_u64(j, "unconfirmed", c->unconfirmed);
	xvt_json_add_u64(j, "recovered", c->recovered);
	xvt_json_add_u64(j, "in_flight", c->in_flight);
	xvt_json_add_u64(j, "overwritten_doubt", c->doubt);
}

static void json_counts(struct xvt_json *j, const struct counts *c)
{
	xvt_json_add_u64(j, "attempted", c->attempted);
	xvt_json_add_u64(j, "events", c->events);
	xvt_json_add_u64(j, "lost", c->lost);
}

static void json_ring(struct xvt_json *j, const struct stat *s, uint32_t ring)
{
	const struct ring_stat *r = &s->rings[ring];
	struct xvt_json *clock;
	struct xvt_json *by;

	xvt_json_add_u64(j, "cpu", s->t->rings[ring].info.cpu);
	xvt_json_add_text(j, "kind", xvt_ring_kind(s->t->rings[ring].info.type));
	json_counts(j, &r->c);
	by = xvt_lost_to_json(j, r->c.lost_by);
	xvt_json_add_u64(by, "overwritten", r->c.overwritten);
	xvt_json_add_u64(by, "dropped", r->c.dropped);
	json_flags(j, &r->c);
	xvt_json_add_u64(j, "epochs", r->epochs);
	xvt_json_add_u64(j, "first_ns", r->c.first_ns);
	xvt_json_add_u64(j, "last_ns", r->c.last_ns);
	clock = xvt_clock_to_json(j, r->source, r->bound_ns_max, r->last.rejected);
	xvt_json_add_u64(clock, "unconfirmed_bound_ns_max", r->guess_ns_max);
	xvt_json_add_u64(j, "clock_violations", r->last.clock_violations);
	xvt_json_add_u64(j, "bad_bytes", r->last.bad_bytes);
}

static uint64_t paused_ns(const struct stat *s, uint32_t vm)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < s->t->ring_count; i++)
		if (ring_of(s, i, vm) && s->rings[i].last.paused_ns > most)
			most = s->rings[i].last.paused_ns;
	return most;
}

/* Write one ring at a time, since a trace may have a million rings. */
static void put_vm_json(struct xvt_out *o, const struct stat *s, uint32_t vm)
{
	struct xvt_json *j = xvt_json_new();
	const struct xvt_trace_vm *v = &s->t->vms[vm];
	struct counts sum = { 0 };
	char uuid[XVT_UUID_TEXT];
	bool any = false;

	xvt_uuid_text(v->info.uuid, uuid);
	xvt_json_add_text(j, "name", v->name);
	xvt_json_add_text(j, "kind", v->info.kind == XVT_VM_HOST ? "host" : "guest");
	xvt_json_add_text(j, "uuid", uuid);
	xvt_json_add_u64(j, "paused_ns", paused_ns(s, vm));
	for (uint32_t i = 0; i < s->t->ring_count; i++)
		if (ring_of(s, i, vm))
			add_counts(&sum, &s->rings[i].c);
	json_counts(j, &sum);
	json_flags(j, &sum);
	xvt_json_begin(j, o, "rings", true);
	for (uint32_t i = 0; i < s->t->ring_count && !o->err; i++) {
		if (!ring_of(s, i, vm))
			continue;
		if (any)
			xvt_json_next(o);
		any = true;
		j = xvt_json_new();
		json_ring(j, s, i);
		xvt_json_item(j, o);
	}
	xvt_json_end(o);
}

static int print_json(const struct stat *s, struct xvt_out *o)
{
	struct xvt_json *doc = xvt_json_new();
	bool any = false;

	xvt_json_add_text(doc, "format", "xvtrace-stat/1");
	json_counts(doc, &s->all);
	json_flags(doc, &s->all);
	xvt_json_add_u64(doc, "order_violations", s->order_violations);
	xvt_json_add_u64(doc, "duration_ns", s->all.last_ns - s->all.first_ns);
	xvt_json_add_u64(doc, "timebase_error_ns_max", timebase_error_ns(s->t));
	xvt_json_add_bool(doc, "cleanly_ended", s->t->ended);
	xvt_json_add_u64(doc, "damaged", s->t->damage_count);
	xvt_json_begin(doc, o, "vms", false);
	for (uint32_t i = 0; i < s->t->vm_count && !o->err; i++) {
		if (!s->t->vms[i].known)
			continue;
		if (any)
			xvt_json_next(o);
		any = true;
		put_vm_json(o, s, i);
	}
	xvt_json_end(o);
	xvt_out_char(o, '\n');
	return o->err;
}

/* -- text --------------------------------------------------------------------------- */

static void put_cause(struct xvt_out *o, const char *name, uint64_t n, const char **before)
{
	if (!n)
		return;
	xvt_out_printf(o, "%s%s %llu", *before, name, (unsigned long long)n);
	*before = ", ";
}

/* The parts of a sum that are not zero: " (full 3, overwritten 12)" */
static void put_lost_by(struct xvt_out *o, const struct counts *c)
{
	const char *before = "  lost by: ";

	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		put_cause(o, xvt_lost_name((unsigned int)i), c->lost_by[i], &before);
	/* Some of them may be in an earlier file: "overwritten at most 12". */
	put_cause(o, c->doubt ? "overwritten at most" : "overwritten", c->overwritten, &before);
	put_cause(o, "dropped", c->dropped, &before);
}

static void put_flags(struct xvt_out *o, const struct counts *c)
{
	const struct {
		const char *name;
		uint64_t v;
	} flags[] = {
		{ "discarded", c->discarded },	   { "backlog", c->backlog },
		{ "unconfirmed", c->unconfirmed }, { "recovered", c->recovered },
		{ "in flight", c->in_flight },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].v)
			xvt_out_printf(o, "  %s %llu", flags[i].name,
				       (unsigned long long)flags[i].v);
}

static void put_row(struct xvt_out *o, const char *name, const char *cpu, const struct counts *c)
{
	xvt_out_printf(o, "%-16s %6s %12llu %12llu %10llu %8llu", name, cpu,
		       (unsigned long long)c->attempted, (unsigned long long)c->events,
		       (unsigned long long)c->lost, (unsigned long long)c->late);
}

static void put_ring(struct xvt_out *o, const struct stat *s, uint32_t ring)
{
	const struct ring_stat *r = &s->rings[ring];
	char cpu[16];

	snprintf(cpu, sizeof(cpu), "%s%u",
		 s->t->rings[ring].info.type == XVT_RING_THREAD ? "t" : "",
		 s->t->rings[ring].info.cpu);
	put_row(o, xvt_vm_name(s->t, s->t->rings[ring].info.vm), cpu, &r->c);
	if (r->source == XVT_SOURCE_NONE) { /* no host time, so no bound */
		xvt_out_str(o, "  no clock");
	} else {
		xvt_out_printf(o, "  %s, %u epoch%s, ", xvt_clock_source_name(r->source), r->epochs,
			       r->epochs == 1 ? "" : "s");
		if (r->bound_ns_max == XVT_NO_BOUND) {
			xvt_out_str(o, "no bound");
		} else {
			xvt_out_str(o, "within ");
			xvt_out_duration(o, r->bound_ns_max);
		}
		if (r->guess_ns_max > r->bound_ns_max) {
			xvt_out_str(o, ", unconfirmed within ");
			xvt_out_duration(o, r->guess_ns_max);
		}
	}
	put_lost_by(o, &r->c);
	put_flags(o, &r->c);
	xvt_out_char(o, '\n');
}

static int print_text(const struct stat *s, struct xvt_out *o)
{
	char uuid[XVT_UUID_TEXT];

	xvt_uuid_text(s->t->info.uuid, uuid);
	xvt_out_printf(o, "trace %s", uuid);
	if (s->all.events) {
		xvt_out_str(o, ", ");
		xvt_out_duration(o, s->all.last_ns - s->all.first_ns);
		xvt_out_str(o, " from ");
		xvt_out_time(o, s->all.first_ns);
	}
	xvt_out_printf(o, "\n\n%-16s %6s %12s %12s %10s %8s  %s\n", "VM", "CPU", "attempted",
		       "events", "lost", "late", "clock");
	for (uint32_t vm = 0; vm < s->t->vm_count; vm++)
		for (uint32_t i = 0; i < s->t->ring_count; i++)
			if (ring_of(s, i, vm))
				put_ring(o, s, i);
	put_row(o, "all", "", &s->all);
	put_lost_by(o, &s->all);
	put_flags(o, &s->all);
	xvt_out_str(o, "\n\n");
	xvt_out_printf(o, "order violations: %llu\n", (unsigned long long)s->order_violations);
	if (s->t->timebase_count > 1) {
		xvt_out_str(o, "host clock: within ");
		xvt_out_duration(o, timebase_error_ns(s->t));
		xvt_out_printf(o, " of CLOCK_MONOTONIC, %zu lines\n", s->t->timebase_count);
	}
	if (s->notes[1] + s->notes[2])
		xvt_out_printf(o,
			       "notes of the recorder: %llu warnings, %llu errors "
			       "(xvtrace verify --notes shows them)\n",
			       (unsigned long long)s->notes[1], (unsigned long long)s->notes[2]);
	if (!s->t->ended)
		xvt_out_str(o,
			    "not cleanly ended: attempted, lost and in flight are at least this\n");
	return 0;
}

/* -- the command -------------------------------------------------------------------- */

struct stat_opts {
	bool json;
	bool quiet;
};

static const struct xvt_opt stat_opts[] = {
	XVT_OPT(struct stat_opts, json, "json", 0, XVT_OPT_BOOL, NULL,
		"as JSON, format xvtrace-stat/1"),
	XVT_OPT(struct stat_opts, quiet, "quiet", 'q', XVT_OPT_BOOL, NULL,
		"no warnings about an incomplete trace"),
	XVT_OPT_END,
};

static int gather(struct stat *s)
{
	int err;

	s->rings = calloc((size_t)s->t->ring_count + 1, sizeof(*s->rings));
	if (!s->rings)
		return -ENOMEM;
	err = walk(s);
	if (!err)
		err = xvt_trace_check_rest(s->t);
	if (err)
		return err;
	for (uint32_t i = 0; i <= s->t->ring_count; i++) {
		conclude_ring(&s->rings[i], s->t->ended);
		add_counts(&s->all, &s->rings[i].c);
		if (s->rings[i].source == XVT_SOURCE_NONE)
			continue;
		s->clocked |= s->rings[i].c.events != 0;
		add_times(&s->all, &s->rings[i].c);
	}
	/* Without any clock, as after salvage, use the guest's own times. */
	for (uint32_t i = 0; i <= s->t->ring_count && !s->clocked; i++)
		add_times(&s->all, &s->rings[i].c);
	return 0;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct xvt_out out;
	struct stat_opts opts = { 0 };
	struct stat s = { 0 };
	char why[256];
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL);
	int err, bad;

	if (at < 0)
		return at == -2 ? XVT_EXIT_OK : XVT_EXIT_USAGE;
	if (argc - at != 1) {
		xvt_error("stat", "give one trace; 'xvtrace stat --help' shows how");
		return XVT_EXIT_USAGE;
	}
	if (xvt_trace_open(&s.t, argv[at], why, sizeof(why))) {
		xvt_error(argv[at], "%s", why);
		return XVT_EXIT_FAIL;
	}
	err = gather(&s);
	if (!err) {
		err = xvt_out_open(&out, "-");
		if (!err)
			err = opts.json ? print_json(&s, &out) : print_text(&s, &out);
		if (xvt_out_close(&out) && !err)
			err = out.err;
		if (err)
			xvt_error("standard output", "%s", strerror(-err));
	} else {
		xvt_error(argv[at], "%s", strerror(-err));
	}
	bad = xvt_trace_complain(s.t, opts.quiet || err);
	for (uint32_t i = 0; s.rings && i < s.t->ring_count; i++)
		free(s.rings[i].nodes);
	free(s.rings);
	xvt_trace_close(s.t);
	return err || bad ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

const struct xvt_command xvt_cmd_stat = {
	.name = "stat",
	.args = "FILE.xvt",
	.brief = "count what a trace holds, for each machine and ring",
	.opts = stat_opts,
	.run = run,
};
