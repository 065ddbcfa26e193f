// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_stat.c - xvtrace stat: what a trace holds. Events and flags are counted in the events
 * themselves; attempted, lost and clocks are what the recorder wrote down last (STATS). A
 * trace without an end has old STATS, so what they cannot know is derived, and said.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "names.h"
#include "out_json.h"
#include "trace_read.h"

struct counts {
	uint64_t attempted;
	uint64_t events;
	uint64_t lost;
	uint64_t lost_by[XVT_LOST_CAUSES];
	uint64_t overwritten;
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
	struct xvt_lost told;	    /* sums of the LOST records */
	bool has_stats;
	uint32_t epochs; /* from NODEs */
	uint32_t source;
	uint64_t bound_ns_max;
	uint64_t seen_bound_ns; /* of the drain's nodes, until a measured one says better */
};

struct stat {
	struct xvt_trace *t;
	struct ring_stat *rings; /* one more than there are: events of unknown rings */
	uint64_t order_violations;
	uint64_t last_main_ns;
	uint64_t notes[3];
	struct counts all;
};

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

		if (h->id != XVT_ID_LOST || h->len < sizeof(lost))
			return;
		memcpy(&lost, payload, sizeof(lost));
		for (int i = 0; i < XVT_LOST_CAUSES; i++)
			r->told.lost[i] += lost.lost[i];
		r->told.overwritten += lost.overwritten;
		return;
	}
	if (!c->events || h->host_ns < c->first_ns)
		c->first_ns = h->host_ns;
	if (h->host_ns > c->last_ns)
		c->last_ns = h->host_ns;
	c->events++;
	if (xvt_likely(!(f & ~XVT_EVENT_RING_MASK)))
		return;
	/* Older than the attach was never promised to be in order: not late. */
	if (f & XVT_EVENT_F_BACKLOG)
		c->backlog++;
	else if (f & XVT_EVENT_F_LATE)
		c->late++;
	c->unconfirmed += !!(f & XVT_EVENT_F_UNCONFIRMED);
	c->recovered += !!(f & XVT_EVENT_F_RECOVERED);
}

static int add_events(struct stat *s, const struct xvt_chunk_buf *b, uint64_t seq)
{
	struct xvt_events_iter it;
	struct xvt_event ev;
	int got = xvt_events_begin(&it, b, seq);

	if (got)
		return got;
	while ((got = xvt_events_next(&it, &ev)) > 0)
		add_event(s, ev.hdr, ev.payload);
	return got;
}

static void add_bound(struct ring_stat *r, const struct xvt_clock_node *n)
{
	if (n->source == XVT_SOURCE_DRAIN) {
		if (n->segment_bound_ns > r->seen_bound_ns)
			r->seen_bound_ns = n->segment_bound_ns;
		return;
	}
	if (!(n->flags & XVT_NODE_F_SINCE) && r->seen_bound_ns > r->bound_ns_max)
		r->bound_ns_max = r->seen_bound_ns;
	r->seen_bound_ns = 0;
	if (n->segment_bound_ns > r->bound_ns_max)
		r->bound_ns_max = n->segment_bound_ns;
}

static void add_nodes(struct stat *s, const struct xvt_chunk_buf *b)
{
	for (uint32_t at = 0; b->len - at >= sizeof(struct xvt_clock_node);
	     at += sizeof(struct xvt_clock_node)) {
		struct xvt_clock_node n;
		struct ring_stat *r;

		memcpy(&n, b->payload + at, sizeof(n));
		if (n.ring >= s->t->ring_count)
			continue;
		r = &s->rings[n.ring];
		if (n.epoch >= r->epochs)
			r->epochs = n.epoch < UINT32_MAX ? n.epoch + 1 : n.epoch;
		if (n.source != XVT_SOURCE_DRAIN)
			r->source = n.source;
		add_bound(r, &n);
	}
}

static void add_stats(struct stat *s, const struct xvt_chunk_buf *b)
{
	struct xvt_ring_stats st;

	if (b->len < sizeof(st))
		return;
	memcpy(&st, b->payload, sizeof(st));
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
	int err = 0;

	for (size_t i = 0; i < s->t->chunk_count && !err; i++) {
		struct xvt_chunk_ref *ref = &s->t->chunks[i];

		if (ref->type < XVT_CHUNK_NODE || ref->type > XVT_CHUNK_NOTE)
			continue;
		err = xvt_trace_load(s->t, i, &b);
		if (err == -EBADMSG)
			err = 0;
		else if (err)
			break;
		else if (ref->type == XVT_CHUNK_EVENTS || ref->type == XVT_CHUNK_LATE) {
			if (add_events(s, &b, ref->seq))
				xvt_trace_note_damage(s->t, ref->offset, ref->len,
						      "an event reaches past its chunk");
		} else if (ref->type == XVT_CHUNK_NODE)
			add_nodes(s, &b);
		else if (ref->type == XVT_CHUNK_STATS)
			add_stats(s, &b);
		else if (ref->type == XVT_CHUNK_NOTE)
			add_note(s, &b);
	}
	xvt_chunk_buf_free(&b);
	return err;
}

/* What STATS say; where they are old, no less than the events show. */
static void conclude_ring(struct ring_stat *r, bool ended)
{
	struct counts *c = &r->c;
	uint64_t known;

	c->discarded = r->last.discarded;
	c->overwritten = r->last.overwritten;
	if (!ended && r->told.overwritten > c->overwritten)
		c->overwritten = r->told.overwritten;
	c->lost = c->overwritten;
	for (int i = 0; i < XVT_LOST_CAUSES; i++) {
		c->lost_by[i] = r->last.lost[i];
		if (!ended && r->told.lost[i] > c->lost_by[i])
			c->lost_by[i] = r->told.lost[i];
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
	if (r->seen_bound_ns > r->bound_ns_max)
		r->bound_ns_max = r->seen_bound_ns;
	if (r->last.bound_ns_max > r->bound_ns_max)
		r->bound_ns_max = r->last.bound_ns_max;
}

static void add_counts(struct counts *to, const struct counts *c)
{
	if (c->events && (!to->events || c->first_ns < to->first_ns))
		to->first_ns = c->first_ns;
	if (c->last_ns > to->last_ns)
		to->last_ns = c->last_ns;
	to->attempted += c->attempted;
	to->events += c->events;
	to->lost += c->lost;
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		to->lost_by[i] += c->lost_by[i];
	to->overwritten += c->overwritten;
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

/* How far the host's clock was found off CLOCK_MONOTONIC, at most. */
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

	xvt_json_add_u64(j, "cpu", s->t->rings[ring].info.cpu);
	xvt_json_add_text(j, "kind", xvt_ring_kind(s->t->rings[ring].info.type));
	json_counts(j, &r->c);
	xvt_json_add_u64(xvt_lost_to_json(j, r->c.lost_by), "overwritten", r->c.overwritten);
	json_flags(j, &r->c);
	xvt_json_add_u64(j, "epochs", r->epochs);
	xvt_json_add_u64(j, "first_ns", r->c.first_ns);
	xvt_json_add_u64(j, "last_ns", r->c.last_ns);
	xvt_clock_to_json(j, r->source, r->bound_ns_max, r->last.rejected);
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

static void json_vm(struct xvt_json *j, const struct stat *s, uint32_t vm)
{
	const struct xvt_trace_vm *v = &s->t->vms[vm];
	struct counts sum = { 0 };
	struct xvt_json *rings;
	char uuid[XVT_UUID_TEXT];

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
	rings = xvt_json_add_array(j, "rings");
	for (uint32_t i = 0; i < s->t->ring_count; i++)
		if (ring_of(s, i, vm))
			json_ring(xvt_json_add_object(rings, NULL), s, i);
}

static int print_json(const struct stat *s, struct xvt_out *o)
{
	struct xvt_json *doc = xvt_json_new(), *vms;

	xvt_json_add_text(doc, "format", "xvtrace-stat/1");
	json_counts(doc, &s->all);
	json_flags(doc, &s->all);
	xvt_json_add_u64(doc, "order_violations", s->order_violations);
	xvt_json_add_u64(doc, "duration_ns", s->all.last_ns - s->all.first_ns);
	xvt_json_add_u64(doc, "timebase_error_ns_max", timebase_error_ns(s->t));
	xvt_json_add_bool(doc, "cleanly_ended", s->t->ended);
	xvt_json_add_u64(doc, "damaged", s->t->damage_count);
	vms = xvt_json_add_array(doc, "vms");
	for (uint32_t i = 0; i < s->t->vm_count; i++)
		if (s->t->vms[i].known)
			json_vm(xvt_json_add_object(vms, NULL), s, i);
	return xvt_json_write(doc, o);
}

/* -- text --------------------------------------------------------------------------- */

/* The parts of a sum that are not zero: " (full 3, overwritten 12)" */
static void put_lost_by(struct xvt_out *o, const struct counts *c)
{
	const char *before = "  lost by: ";

	for (int i = 0; i <= XVT_LOST_CAUSES; i++) {
		uint64_t v = i < XVT_LOST_CAUSES ? c->lost_by[i] : c->overwritten;

		if (!v)
			continue;
		xvt_out_printf(o, "%s%s %llu", before,
			       i < XVT_LOST_CAUSES ? xvt_lost_name((unsigned int)i) : "overwritten",
			       (unsigned long long)v);
		before = ", ";
	}
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
	if (r->source == XVT_SOURCE_NONE) { /* its bound says nothing of host time */
		xvt_out_str(o, "  no clock");
	} else {
		xvt_out_printf(o, "  %s, %u epoch%s, within ", xvt_clock_source_name(r->source),
			       r->epochs, r->epochs == 1 ? "" : "s");
		xvt_out_duration(o, r->bound_ns_max);
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
	if (err)
		return err;
	for (uint32_t i = 0; i <= s->t->ring_count; i++) {
		conclude_ring(&s->rings[i], s->t->ended);
		add_counts(&s->all, &s->rings[i].c);
	}
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
