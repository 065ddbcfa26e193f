// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_verify.c - xvtrace verify: does a trace keep what it promises? Everything is computed
 * again from the raw values in the file, with code of its own: this must not agree with the
 * recorder because it is the recorder.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "decode/decode.h"
#include "view/exchange.h"
#include "view/marks.h"
#include "trace/names.h"
#include "view/spans.h"
#include "base/u64.h"

/* Lines for each machine and each kind of violation; the rest is counted. So what is wrong with one
 * machine hides neither what is wrong with another nor what else is wrong with it. */
#define VIOLATIONS_SHOWN 5u
/* What a clock may creep where no two nodes tie it: what the recorder does not call a jump. */
#define CREEP_NS	 20000000u
#define CREEP_PER_1024	 8u
/* The recorder lets its clock be off CLOCK_MONOTONIC by so much without a word. */
#define TIMEBASE_NS	 1000u
/* A wall clock that was set is told by one of the lines after it: two begin at each look. */
#define LINES_UNTIL_TOLD 3u
/* A clock pair is from just before its record. */
#define NODES_BACK	 8u
/* A ring may be silent over many epochs; a lying file must not cost their product. */
#define EPOCHS_AHEAD	 4096

typedef __int128 s128;

enum kind {
	OF_DAMAGE,
	OF_CHUNK,
	OF_INDEX,
	OF_END,
	OF_HOST_CLOCK,
	OF_RING,
	OF_CLOCK,
	OF_TIME,
	OF_SAMPLE,
	OF_ORDER,
	OF_MARK,
	OF_PAIR,
	OF_RAN,
	OF_COUNT,
	OF_LOSS,
	OF_CAUSE,
	KINDS,
};

static const char *const kind_names[KINDS] = {
	[OF_DAMAGE] = "damage",
	[OF_CHUNK] = "chunk",
	[OF_INDEX] = "index",
	[OF_END] = "end",
	[OF_HOST_CLOCK] = "host's clock",
	[OF_RING] = "ring",
	[OF_CLOCK] = "clock node",
	[OF_TIME] = "time",
	[OF_SAMPLE] = "clock sample",
	[OF_ORDER] = "order",
	[OF_MARK] = "mark",
	[OF_PAIR] = "clock pair",
	[OF_RAN] = "run span",
	[OF_COUNT] = "count",
	[OF_LOSS] = "loss",
	[OF_CAUSE] = "cause",
};

/* Violations of one machine, or of none. */
struct tally {
	uint64_t of[KINDS];
};

/* Where one lane (main or late) of a ring stands: its guest clock, epoch and segment. */
struct place {
	bool any;
	uint64_t guest;
	size_t epoch; /* number in ring->epochs */
	size_t node;  /* last one at or before guest, if there is one */
};

struct epoch {
	size_t first; /* nodes [first, end) */
	size_t end;
};

struct ring {
	struct xvt_clock_node *nodes;
	size_t node_count;
	size_t node_room;
	struct epoch *epochs;
	size_t epoch_count;
	struct place lane[2];
	struct xvt_ring_stats stats;
	bool has_stats;
	bool tells_all;	       /* its LOST records tell all that stats say was overwritten */
	struct xvt_lost told;  /* sums of its LOST records */
	uint64_t hz;	       /* of the map beyond its nodes */
	uint64_t bound_ns_max; /* of its segments */
	uint64_t events;
	uint64_t late;
	uint64_t backlog;
	uint64_t unconfirmed;
	uint64_t recovered;
};

struct verify {
	struct xvt_trace *t;
	struct ring *rings;
	struct xvt_timebase *lines; /* of the host's clock, by base_clock */
	size_t line_count;
	size_t line_room;
	struct xvt_decoders ds;
	struct xvt_exchanges exchanges;
	struct xvt_marks marks;
	uint64_t marks_checked;
	uint64_t pairs_checked;
	uint64_t pair_off_ns_max;
	struct xvt_spans spans;
	uint64_t ran; /* events inside spans */
	uint64_t violations;
	struct tally *tally; /* by machine; the last one is for what is about none */
	uint64_t nodes;
	uint64_t samples;
	uint64_t events[2]; /* records of the main and the late lane */
	uint64_t shown_events;
	uint64_t exempt;   /* flagged by the recorder: its clock contradicts the map */
	uint64_t unplaced; /* of rings without any node */
	uint64_t watermark_ns;
	size_t index_from; /* the last INDEX, or the first chunk */
	uint64_t last_ns;
	uint32_t last_vm;
	uint32_t last_ring;
	bool notes;
	struct xvt_events_iter it;
	struct xvt_trace_raws raws;
};

/* Each place that is damaged has its line: nothing else in the file says where it is. */
static uint64_t shown_of(int kind)
{
	return kind == OF_DAMAGE ? XVT_DAMAGE_MAX : VIOLATIONS_SHOWN;
}

/* The machine's tally; vm may be any number. */
static struct tally *tally_of(const struct verify *v, uint32_t vm)
{
	return &v->tally[vm < v->t->vm_count ? vm : v->t->vm_count];
}

/* vm: XVT_VM_NONE if it is about no machine. */
__attribute__((format(printf, 4, 5))) static void violation(struct verify *v, enum kind kind,
							    uint32_t vm, const char *format, ...)
{
	char text[1024], clean[2048];
	va_list args;

	v->violations++;
	if (tally_of(v, vm)->of[kind]++ >= shown_of(kind))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	xvt_text_clean(clean, sizeof(clean), text, strlen(text));
	printf("violation: %s\n", clean);
}

/* What was not shown: "more of g1: 1080 cause, 12 time" */
static void say_more(const struct verify *v)
{
	for (uint32_t vm = 0; vm <= v->t->vm_count; vm++) {
		const struct tally *tally = tally_of(v, vm);
		bool begun = false;

		for (int kind = 0; kind < KINDS; kind++) {
			if (tally->of[kind] <= shown_of(kind))
				continue;
			if (begun)
				printf(", ");
			else
				printf("more of %s: ",
				       vm < v->t->vm_count ? xvt_vm_name(v->t, vm) : "no machine");
			printf("%" PRIu64 " %s", tally->of[kind] - shown_of(kind),
			       kind_names[kind]);
			begun = true;
		}
		if (begun)
			printf("\n");
	}
}

/* "g1:0 (ring 3)" */
static const char *ring_text(const struct verify *v, uint32_t ring, char text[XVT_NAME_LEN + 40])
{
	uint32_t vm = xvt_ring_vm(v->t, ring);

	if (vm == XVT_VM_NONE)
		snprintf(text, XVT_NAME_LEN + 40, "ring %u", ring);
	else
		snprintf(text, XVT_NAME_LEN + 40, "%s:%u (ring %u)", xvt_vm_name(v->t, vm),
			 v->t->rings[ring].info.cpu, ring);
	return text;
}

/* -- the clock ---------------------------------------------------------------------- */

static int add_node(struct verify *v, const struct xvt_clock_node *n)
{
	char text[XVT_NAME_LEN + 40];
	const struct xvt_clock_node *last;
	struct ring *r;

	if (n->ring >= v->t->ring_count) {
		violation(v, OF_CLOCK, xvt_ring_vm(v->t, n->ring),
			  "a clock node of ring %u, which the trace does not have", n->ring);
		return 0;
	}
	r = &v->rings[n->ring];
	last = r->node_count ? &r->nodes[r->node_count - 1] : NULL;
	v->nodes++;
	if (last && n->epoch < last->epoch)
		violation(v, OF_CLOCK, xvt_ring_vm(v->t, n->ring),
			  "%s: clock node of epoch %u after one of epoch %u",
			  ring_text(v, n->ring, text), n->epoch, last->epoch);
	else if (last && n->epoch == last->epoch &&
		 (n->guest <= last->guest || n->host_ns < last->host_ns))
		violation(v, OF_CLOCK, xvt_ring_vm(v->t, n->ring),
			  "%s: clock of epoch %u goes back: (%" PRIu64 ", %" PRIu64
			  ") after (%" PRIu64 ", %" PRIu64 ")",
			  ring_text(v, n->ring, text), n->epoch, n->guest, n->host_ns, last->guest,
			  last->host_ns);
	if (!!(n->flags & XVT_NODE_F_FIRST) != (!last || n->epoch != last->epoch))
		violation(v, OF_CLOCK, xvt_ring_vm(v->t, n->ring),
			  "%s: clock node at %" PRIu64 " ns: epoch %u begins without saying so, "
			  "or says so inside",
			  ring_text(v, n->ring, text), n->host_ns, n->epoch);
	if (r->node_count == r->node_room) {
		size_t room = r->node_room ? r->node_room * 2 : 64;
		void *grown = realloc(r->nodes, room * sizeof(*r->nodes));

		if (!grown)
			return -ENOMEM;
		r->nodes = grown;
		r->node_room = room;
	}
	r->nodes[r->node_count++] = *n;
	return 0;
}

/*
 * A node that speaks for the drain's before it says that they lie on the line from the last
 * measured one to it, but for its bound. What is held against the map later is held against that
 * bound.
 */
static void check_seen(struct verify *v, uint32_t ring, size_t i)
{
	const struct ring *r = &v->rings[ring];
	const struct xvt_clock_node *b = &r->nodes[i], *a, *n;
	size_t seen = xvt_nodes_seen(r->nodes, i);
	char text[XVT_NAME_LEN + 40];
	uint64_t ns, off;

	/* With damage it may have been another line. */
	if (!seen || seen == i || v->t->damage_count || b[-seen - 1].epoch != b->epoch)
		return;
	a = b - seen - 1;
	for (n = a + 1; n < b; n++) {
		if (n->guest <= a->guest || b->guest <= n->guest || b->host_ns < a->host_ns)
			return; /* told already */
		ns = a->host_ns + (uint64_t)((unsigned __int128)(n->guest - a->guest) *
					     (b->host_ns - a->host_ns) / (b->guest - a->guest));
		off = ns > n->host_ns ? ns - n->host_ns : n->host_ns - ns;
		if (off > b->segment_bound_ns)
			violation(v, OF_CLOCK, xvt_ring_vm(v->t, ring),
				  "%s: clock node at %" PRIu64 " ns lies %" PRIu64
				  " ns off the line that confirms it within %" PRIu64 " ns",
				  ring_text(v, ring, text), n->host_ns, off, b->segment_bound_ns);
	}
}

static int settle_bounds(struct verify *v, uint32_t ring)
{
	struct ring *r = &v->rings[ring];
	int err;

	for (size_t i = 0; i < r->node_count; i++)
		check_seen(v, ring, i);
	err = xvt_nodes_settle(r->nodes, r->node_count);
	for (size_t i = 0; i < r->node_count; i++) {
		if (r->nodes[i].segment_bound_ns > r->bound_ns_max)
			r->bound_ns_max = r->nodes[i].segment_bound_ns;
	}
	return err;
}

static int split_epochs(struct ring *r)
{
	r->epochs = calloc(r->node_count + 1, sizeof(*r->epochs));
	if (!r->epochs)
		return -ENOMEM;
	for (size_t i = 0; i < r->node_count; i++) {
		if (i && r->nodes[i].epoch == r->nodes[i - 1].epoch) {
			r->epochs[r->epoch_count - 1].end = i + 1;
			continue;
		}
		r->epochs[r->epoch_count++] = (struct epoch){ i, i + 1 };
	}
	return 0;
}

static uint64_t extrapolate(const struct ring *r, const struct xvt_clock_node *n, uint64_t guest)
{
	bool after = guest >= n->guest;
	unsigned __int128 ns = (unsigned __int128)(after ? guest - n->guest : n->guest - guest) *
			       1000000000u / r->hz;

	if (ns > INT64_MAX)
		ns = INT64_MAX; /* 292 years, as the recorder has it */
	if (after)
		return n->host_ns + (uint64_t)ns;
	return ns < n->host_ns ? n->host_ns - (uint64_t)ns : 0;
}

/* The map of one epoch at `guest`; *node: where to begin to look, and where it was found. */
static uint64_t map_at(const struct ring *r, const struct epoch *e, uint64_t guest, size_t *node)
{
	const struct xvt_clock_node *a, *b;
	size_t at = *node >= e->first && *node < e->end && r->nodes[*node].guest <= guest
			    ? *node
			    : e->first;

	while (at + 1 < e->end && r->nodes[at + 1].guest <= guest)
		at++;
	*node = at;
	a = &r->nodes[at];
	if (guest < a->guest || at + 1 == e->end)
		return extrapolate(r, a, guest);
	b = a + 1;
	/* Unsigned: nodes of a lying file may be any numbers, and their product still fits. */
	return a->host_ns + (uint64_t)((unsigned __int128)(guest - a->guest) *
				       (b->host_ns - a->host_ns) / (b->guest - a->guest));
}

/*
 * Does some epoch that may follow give this event's host time? Epochs only go forward, and
 * a guest clock that went back is in a later one.
 */
static bool time_is_right(struct ring *r, struct place *p, const struct xvt_event_hdr *h,
			  uint64_t *expected)
{
	size_t e = p->epoch + (p->any && h->guest_clock < p->guest);
	bool first = true;

	*expected = 0;
	for (; e < r->epoch_count && e - p->epoch < EPOCHS_AHEAD; e++) {
		size_t node = p->node;
		uint64_t ns = map_at(r, &r->epochs[e], h->guest_clock, &node);

		/*
		 * The ring was silent: the recorder went on from the last node that it had, and
		 * nodes between that one and the event may have come later.
		 */
		if (h->ring_flags & XVT_EVENT_F_UNCONFIRMED) {
			for (size_t n = node + 1; ns != h->host_ns && n-- > r->epochs[e].first;)
				ns = extrapolate(r, &r->nodes[n], h->guest_clock);
		}
		/* Between two epochs: no later than the border. */
		if (ns != h->host_ns && e + 1 < r->epoch_count &&
		    ns > r->nodes[r->epochs[e + 1].first].host_ns)
			ns = r->nodes[r->epochs[e + 1].first].host_ns;
		if (first)
			*expected = ns;
		first = false;
		if (ns == h->host_ns) {
			p->epoch = e;
			p->node = node;
			return true;
		}
	}
	return false;
}

static void check_time(struct verify *v, struct ring *r, const struct xvt_event_hdr *h)
{
	struct place *p = &r->lane[!!(h->ring_flags & XVT_EVENT_F_LATE)];
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	char text[XVT_NAME_LEN + 40];
	uint64_t expected;

	if (h->ring_flags & XVT_EVENT_F_CLOCK) {
		v->exempt++;
	} else if (!r->epoch_count) {
		v->unplaced++;
	} else if (p->any && h->guest_clock < p->guest && p->epoch + 1 >= r->epoch_count) {
		violation(v, OF_TIME, xvt_ring_vm(v->t, ring),
			  "%s: guest clock goes back inside an epoch: %" PRIu64 " after %" PRIu64
			  ", at %" PRIu64 " ns",
			  ring_text(v, ring, text), h->guest_clock, p->guest, h->host_ns);
	} else if (!time_is_right(r, p, h, &expected)) {
		violation(v, OF_TIME, xvt_ring_vm(v->t, ring),
			  "%s: guest clock %" PRIu64 " is %" PRIu64 " ns by the clock nodes, "
			  "but the event says %" PRIu64 " ns",
			  ring_text(v, ring, text), h->guest_clock, expected, h->host_ns);
	}
	p->any = true;
	p->guest = h->guest_clock;
}

static uint64_t line_ns(const struct xvt_timebase *l, uint64_t clock)
{
	s128 ns = (s128)l->base_ns +
		  (((s128)clock - (s128)l->base_clock) * l->mult >> (l->shift & 63));

	if (ns < 0)
		return 0;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* Lines must follow each other, and each begin where the one before it ends. */
static int add_line(struct verify *v, const struct xvt_timebase *l)
{
	const struct xvt_timebase *last = v->line_count ? &v->lines[v->line_count - 1] : NULL;
	uint64_t end = last ? line_ns(last, l->base_clock) : 0;

	if (last && l->base_clock <= last->base_clock) {
		violation(v, OF_HOST_CLOCK, XVT_VM_NONE,
			  "the host's clock: a line from counter %" PRIu64
			  " on after one from %" PRIu64 " on",
			  l->base_clock, last->base_clock);
		return 0;
	}
	if (last && !l->mult)
		violation(v, OF_HOST_CLOCK, XVT_VM_NONE,
			  "the host's clock stands still from counter %" PRIu64 " on",
			  l->base_clock);
	/* With damage the line between them may be missing, and that has its own line. */
	if (last && l->base_ns != end && !v->t->damage_count)
		violation(v, OF_HOST_CLOCK, XVT_VM_NONE,
			  "the host's clock steps at counter %" PRIu64 ": from %" PRIu64
			  " to %" PRIu64 " ns",
			  l->base_clock, end, l->base_ns);
	if (v->line_count == v->line_room) {
		size_t room = v->line_room ? v->line_room * 2 : 64;
		void *grown = realloc(v->lines, room * sizeof(*v->lines));

		if (!grown)
			return -ENOMEM;
		v->lines = grown;
		v->line_room = room;
	}
	v->lines[v->line_count++] = *l;
	return 0;
}

/* The last line that begins at or before that value; the first one for what is before all. */
static uint64_t host_clock_ns(const struct verify *v, uint64_t clock)
{
	size_t at = 0, step = 1;

	while (step < v->line_count)
		step *= 2;
	for (; step; step /= 2)
		if (at + step < v->line_count && v->lines[at + step].base_clock <= clock)
			at += step;
	return line_ns(&v->lines[at], clock);
}

/* The sample's interval and the map with its bound must meet. */
static void check_sample(struct verify *v, const struct xvt_clock_sample *s)
{
	uint64_t lo = host_clock_ns(v, s->host_clock_lo);
	uint64_t hi = host_clock_ns(v, s->host_clock_hi);
	char text[XVT_NAME_LEN + 40];
	struct ring *r;

	v->samples++;
	if (s->ring >= v->t->ring_count) {
		violation(v, OF_SAMPLE, xvt_ring_vm(v->t, s->ring),
			  "a clock sample of ring %u, which the trace does not have", s->ring);
		return;
	}
	r = &v->rings[s->ring];
	if (s->host_clock_hi < s->host_clock_lo)
		violation(v, OF_SAMPLE, xvt_ring_vm(v->t, s->ring),
			  "%s: a clock sample whose host times are the wrong way round",
			  ring_text(v, s->ring, text));
	for (size_t e = 0; e < r->epoch_count; e++) {
		const struct epoch *epoch = &r->epochs[e];
		size_t node = 0;
		uint64_t ns, bound;

		if (r->nodes[epoch->first].epoch != s->epoch)
			continue;
		ns = map_at(r, epoch, s->guest, &node);
		/* The node that was made of it is not in the file any more. */
		if (!v->t->ended && node + 1 == r->node_count && s->guest > r->nodes[node].guest)
			return;
		bound = r->nodes[node].segment_bound_ns;
		if (node + 1 < epoch->end && r->nodes[node + 1].segment_bound_ns > bound)
			bound = r->nodes[node + 1].segment_bound_ns;
		bound += 2; /* rounding of two conversions */
		if (ns + bound < lo || (ns > bound && ns - bound > hi))
			violation(v, OF_SAMPLE, xvt_ring_vm(v->t, s->ring),
				  "%s: clock sample at guest %" PRIu64 " was between %" PRIu64
				  " and %" PRIu64 " ns, but the map says %" PRIu64
				  " ns within %" PRIu64 " ns",
				  ring_text(v, s->ring, text), s->guest, lo, hi, ns, bound);
		return;
	}
	if (!v->t->ended && (!r->node_count || s->epoch > r->nodes[r->node_count - 1].epoch))
		return;
	violation(v, OF_SAMPLE, xvt_ring_vm(v->t, s->ring),
		  "%s: clock sample of epoch %u, which has no node", ring_text(v, s->ring, text),
		  s->epoch);
}

/*
 * By how much the map may be wrong about an event whose time was found right, and that has no
 * flag. Between two nodes they say it; beside a border it is the recorder's evidence that placed
 * it, with what the clock may have crept.
 */
static uint64_t bound_of(const struct ring *r, const struct place *p)
{
	const struct epoch *e = &r->epochs[p->epoch];
	const struct xvt_clock_node *a = &r->nodes[p->node], *b = a + 1;
	uint64_t apart;

	if (p->node + 1 < e->end && p->guest > a->guest)
		return b->segment_bound_ns;
	apart = p->guest > a->guest ? p->guest - a->guest : a->guest - p->guest;
	if (!apart)
		return r->bound_ns_max;
	apart = (uint64_t)((unsigned __int128)apart * 1000000000u / r->hz / 1024);
	return r->bound_ns_max + CREEP_NS + apart * CREEP_PER_1024;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * The host had this record written, and saw that it was: two moments of its own clock, which
 * know nothing of the map. A record whose time is flagged claims none.
 */
static void check_mark(struct verify *v, const struct ring *r, const struct xvt_event *ev)
{
	const struct xvt_event_hdr *h = ev->hdr;
	const struct place *p = &r->lane[!!(h->ring_flags & XVT_EVENT_F_LATE)];
	uint32_t ring = xvt_event_ring(ev);
	const struct xvt_mark_seen *seen;
	char text[XVT_NAME_LEN + 40];
	uint64_t before, after, bound;
	struct xvt_mark mark;

	if (h->len < sizeof(mark))
		return;
	memcpy(&mark, ev->payload, sizeof(mark));
	seen = xvt_marks_take(&v->marks, ring, mark.number);
	if (!seen || !r->epoch_count ||
	    h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED))
		return;
	v->marks_checked++;
	before = host_clock_ns(v, seen->host_clock_before);
	after = host_clock_ns(v, seen->host_clock_after);
	bound = xvt_u64_sum(bound_of(r, p), 2); /* rounding of two conversions */
	if (xvt_u64_sum(h->host_ns, bound) < before || minus(h->host_ns, bound) > after)
		violation(v, OF_MARK, xvt_ring_vm(v->t, ring),
			  "%s: mark %" PRIu64 " was written between %" PRIu64 " and %" PRIu64
			  " ns by the host's clock, but its stamp says %" PRIu64
			  " ns within %" PRIu64 " ns",
			  ring_text(v, ring, text), mark.number, before, after, h->host_ns, bound);
}

/* Where the map puts a clock value from just before the record at *p, if two nodes tie it. */
static bool place_before(const struct ring *r, const struct place *p, uint64_t guest,
			 struct place *before)
{
	const struct epoch *e = &r->epochs[p->epoch];
	unsigned int back;

	*before = *p;
	before->guest = guest;
	for (back = 0;
	     back < NODES_BACK && before->node > e->first && r->nodes[before->node].guest > guest;
	     back++)
		before->node--;
	return guest <= p->guest && r->nodes[before->node].guest <= guest &&
	       before->node + 1 < e->end;
}

/* The number of the line on which a time lies that no later line is about; SIZE_MAX: none. */
static size_t line_at_ns(const struct verify *v, uint64_t ns)
{
	size_t lo = 0, hi = v->line_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v->lines[mid].base_ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

/*
 * The wall clock at that time as the lines have it, and how wrong that may be. It is a constant
 * ahead of CLOCK_MONOTONIC until it is set, which one of the next lines tells, so of those that may
 * be right the one nearest to `wall_ns` is. false: the lines do not say.
 */
static bool wall_clock(const struct verify *v, uint64_t ns, uint64_t wall_ns, uint64_t *says_ns,
		       uint64_t *error_ns)
{
	size_t at = line_at_ns(v, ns), i;
	uint64_t nearest = UINT64_MAX, error;

	*says_ns = *error_ns = 0;
	/* How far a line was off is in the one after it. */
	if (at >= v->line_count || at + 1 == v->line_count)
		return false;
	error = xvt_u64_sum(xvt_u64_sum(v->lines[at].error_ns, v->lines[at + 1].error_ns),
			    TIMEBASE_NS);
	for (i = at; i < v->line_count && i <= at + LINES_UNTIL_TOLD; i++) {
		const struct xvt_timebase *l = &v->lines[i];
		uint64_t says = l->realtime_ns + (ns - l->base_ns);

		/* Its recorder did not look when the wall clock is set. */
		if (!l->wall_error_ns)
			return false;
		if (xvt_u64_apart(says, wall_ns) > nearest)
			continue;
		nearest = xvt_u64_apart(says, wall_ns);
		*says_ns = says;
		*error_ns = xvt_u64_sum(error, l->wall_error_ns);
	}
	return true;
}

/*
 * The hypervisor told the guest its clock and the host's wall clock of one moment. The map and the
 * host's lines, which know nothing of it, must say the same.
 */
static void check_pair(struct verify *v, const struct ring *r, const struct xvt_event *ev)
{
	const struct xvt_event_hdr *h = ev->hdr;
	const struct place *p = &r->lane[!!(h->ring_flags & XVT_EVENT_F_LATE)];
	uint64_t ns, says, error, off;
	struct xvt_clock_sync sync;
	char text[XVT_NAME_LEN + 40];
	struct place before;

	if (h->len < sizeof(sync))
		return;
	memcpy(&sync, ev->payload, sizeof(sync));
	if (sync.reason != XVT_SYNC_PAIR || !r->epoch_count ||
	    h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED) ||
	    !place_before(r, p, sync.clock, &before))
		return;
	ns = map_at(r, &r->epochs[before.epoch], before.guest, &before.node);
	if (!wall_clock(v, ns, sync.realtime_ns, &says, &error))
		return;
	v->pairs_checked++;
	error = xvt_u64_sum(error,
			    xvt_u64_sum(bound_of(r, &before), 2)); /* rounding of two conversions */
	off = xvt_u64_apart(says, sync.realtime_ns);
	if (off > v->pair_off_ns_max)
		v->pair_off_ns_max = off;
	if (off > error)
		violation(v, OF_PAIR, xvt_ring_vm(v->t, xvt_event_ring(ev)),
			  "%s: at guest clock %" PRIu64 " the wall clock was %" PRIu64
			  " ns, says its hypervisor, but map and host's clock say %" PRIu64
			  " ns within %" PRIu64 " ns",
			  ring_text(v, xvt_event_ring(ev), text), sync.clock, sync.realtime_ns,
			  says, error);
}

/*
 * The host's kernel said when the vCPU was in its guest; only then can it have stamped an event.
 * Nothing is claimed of a flagged time.
 */
static void check_ran(struct verify *v, const struct ring *r, const struct xvt_event_hdr *h)
{
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	const struct xvt_ring_info *info = &v->t->rings[ring].info;
	const struct xvt_run_span *before, *after;
	char text[XVT_NAME_LEN + 40];
	uint64_t bound;

	if (!v->spans.count || !r->epoch_count ||
	    (info->type != XVT_RING_VCPU && info->type != XVT_RING_BARE) ||
	    h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED))
		return;
	bound = xvt_u64_sum(bound_of(r, &r->lane[!!(h->ring_flags & XVT_EVENT_F_LATE)]), 2);
	switch (xvt_spans_ran(&v->spans, info->vm, info->hw_id, minus(h->host_ns, bound),
			      xvt_u64_sum(h->host_ns, bound), &before, &after)) {
	case XVT_RAN_UNKNOWN:
		break;
	case XVT_RAN_INSIDE:
		v->ran++;
		break;
	case XVT_RAN_NOT:
		violation(v, OF_RAN, xvt_ring_vm(v->t, ring),
			  "%s: an event at %" PRIu64 " ns within %" PRIu64
			  " ns, but its vCPU was out of its guest from %" PRIu64 " to %" PRIu64
			  " ns by the host's kernel",
			  ring_text(v, ring, text), h->host_ns, bound, before->exit_clock,
			  after->enter_clock);
	}
}

/* -- events ------------------------------------------------------------------------- */

static void check_order(struct verify *v, const struct xvt_event_hdr *h)
{
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	uint32_t vm = xvt_ring_vm(v->t, ring);
	char text[XVT_NAME_LEN + 40];

	if (h->host_ns < v->last_ns)
		violation(v, OF_ORDER, xvt_ring_vm(v->t, ring),
			  "%s: %" PRIu64 " ns after %" PRIu64 " ns: the main lane is out of order",
			  ring_text(v, ring, text), h->host_ns, v->last_ns);
	/* What was lost at the very end is told after all events, whatever its ring. */
	if (h->id != XVT_ID_LOST) {
		if (h->host_ns == v->last_ns &&
		    (vm < v->last_vm || (vm == v->last_vm && ring < v->last_ring)))
			violation(v, OF_ORDER, xvt_ring_vm(v->t, ring),
				  "%s: at %" PRIu64 " ns after ring %u: equal times are not in "
				  "order of machine and ring",
				  ring_text(v, ring, text), h->host_ns, v->last_ring);
		if (h->host_ns < v->watermark_ns)
			violation(v, OF_ORDER, xvt_ring_vm(v->t, ring),
				  "%s: %" PRIu64 " ns is below the watermark %" PRIu64 " ns",
				  ring_text(v, ring, text), h->host_ns, v->watermark_ns);
	}
	/* One that says what was dropped may come between two records of the same time. */
	if (h->id != XVT_ID_LOST || h->host_ns > v->last_ns) {
		v->last_vm = vm;
		v->last_ring = ring;
	}
	if (h->host_ns > v->last_ns)
		v->last_ns = h->host_ns;
}

static void add_lost(struct ring *r, const struct xvt_event *ev)
{
	struct xvt_lost lost;

	if (!xvt_lost_get(ev->hdr, ev->payload, &lost))
		return;
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		r->told.lost[i] += lost.lost[i];
	r->told.overwritten += lost.overwritten;
	r->told.dropped += lost.dropped;
}

static void count(struct verify *v, struct ring *r, const struct xvt_event_hdr *h)
{
	uint32_t f = h->ring_flags;

	if (!xvt_is_event(h))
		return;
	v->shown_events++;
	r->events++;
	if (f & XVT_EVENT_F_BACKLOG)
		r->backlog++;
	else if (f & XVT_EVENT_F_LATE)
		r->late++;
	r->unconfirmed += !!(f & XVT_EVENT_F_UNCONFIRMED);
	r->recovered += !!(f & XVT_EVENT_F_RECOVERED);
}

static uint64_t exchange_bound(const struct verify *v, const struct xvt_event *ev)
{
	const struct ring *r = &v->rings[xvt_event_ring(ev)];
	uint32_t f = ev->hdr->ring_flags;

	if (!r->epoch_count || f & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED))
		return XVT_EXCHANGE_GUESS;
	return xvt_u64_sum(bound_of(r, &r->lane[!!(f & XVT_EVENT_F_LATE)]), 2);
}

/* "xvt-ping send 12" of a marker or a text. */
static int look_for_exchange(struct verify *v, const struct xvt_event *ev)
{
	uint32_t at = ev->hdr->id == XVT_ID_FTRACE ? 16 : 0;
	struct xvt_decoder *d;
	struct xvt_event_class *c;
	struct xvt_value text;

	if (ev->hdr->id != XVT_ID_FTRACE && ev->hdr->id != XVT_ID_TEXT)
		return 0;
	/* Where the text of a marker lies on every 64-bit guest: most events stop here. */
	if (ev->hdr->len < at + 10 || memcmp(ev->payload + at, "xvt-p", 5) != 0)
		return 0;
	d = xvt_decoder_of(&v->ds, ev);
	c = xvt_classify(d, ev);
	if (!c)
		return -ENOMEM;
	if (!c->marker)
		return 0;
	xvt_field_get(&c->fields[c->text], ev, &text);
	return xvt_exchange_add(&v->exchanges, (const char *)text.data, text.count,
				xvt_ring_vm(v->t, xvt_event_ring(ev)), ev->hdr->host_ns,
				exchange_bound(v, ev));
}

static int check_event(struct verify *v, const struct xvt_event *ev, bool late_chunk)
{
	const struct xvt_event_hdr *h = ev->hdr;
	uint32_t ring = xvt_event_ring(ev);
	bool late = h->ring_flags & XVT_EVENT_F_LATE;

	v->events[late_chunk]++;
	if (ring >= v->t->ring_count || !v->t->rings[ring].known) {
		violation(v, OF_RING, xvt_ring_vm(v->t, ring),
			  "an event of ring %u, which the trace does not have", ring);
		return 0;
	}
	if (late != late_chunk)
		violation(v, OF_RING, xvt_ring_vm(v->t, ring), "ring %u: %s at %" PRIu64 " ns",
			  ring,
			  late ? "a late event in the main lane"
			       : "an event in the late lane is not "
				 "flagged late",
			  h->host_ns);
	if (!late_chunk)
		check_order(v, h);
	count(v, &v->rings[ring], h);
	if (h->id == XVT_ID_LOST)
		add_lost(&v->rings[ring], ev);
	else
		check_time(v, &v->rings[ring], h);
	if (h->id == XVT_ID_MARK)
		check_mark(v, &v->rings[ring], ev);
	if (h->id == XVT_ID_CLOCK_SYNC)
		check_pair(v, &v->rings[ring], ev);
	if (h->id != XVT_ID_LOST)
		check_ran(v, &v->rings[ring], h);
	return look_for_exchange(v, ev);
}

static int check_events(struct verify *v, const struct xvt_chunk_ref *ref,
			const struct xvt_chunk_buf *b)
{
	uint64_t first = UINT64_MAX, last = 0;
	struct xvt_events_iter *it = &v->it;
	const uint64_t missing = it->missing;
	struct xvt_event ev;
	uint32_t n = 0;
	int got = xvt_events_begin(it, &v->raws.base, b, ref->seq), err;

	while (!got && (got = xvt_events_next(it, &ev)) > 0) {
		if (ev.hdr->host_ns < first)
			first = ev.hdr->host_ns;
		if (ev.hdr->host_ns > last)
			last = ev.hdr->host_ns;
		n++;
		err = check_event(v, &ev, ref->type == XVT_CHUNK_LATE);
		if (err)
			return err;
		got = 0;
	}
	if (got < 0 && got != -EBADMSG)
		return got;
	if (got < 0)
		violation(v, OF_CHUNK, XVT_VM_NONE,
			  "chunk %" PRIu64 ": an event reaches past its chunk", ref->seq);
	else if (it->missing != missing)
		violation(v, OF_CHUNK, XVT_VM_NONE,
			  "chunk %" PRIu64 ": %" PRIu64 " of its events cannot be read", ref->seq,
			  it->missing - missing);
	else if (n && (first != ref->first_ns || last != ref->last_ns))
		violation(v, OF_CHUNK, XVT_VM_NONE,
			  "chunk %" PRIu64 ": first or last time is not that of its events",
			  ref->seq);
	return 0;
}

/* -- the rest ----------------------------------------------------------------------- */

/* Are the pieces whole? What is in them is checked where an event names it. */
static void check_raw(struct verify *v, const struct xvt_chunk_ref *ref,
		      const struct xvt_chunk_buf *b)
{
	struct xvt_raw_piece p;
	uint32_t at = 0;

	while (b->len - at >= sizeof(p)) {
		memcpy(&p, b->payload + at, sizeof(p));
		at += sizeof(p);
		if (p.len % 8 || p.len > b->len - at)
			break;
		at += p.len;
		if (p.ring >= v->t->ring_count || !v->t->rings[p.ring].known)
			violation(v, OF_RING, XVT_VM_NONE,
				  "a piece of ring %u, which the trace does not have", p.ring);
	}
	if (at != b->len)
		violation(v, OF_CHUNK, XVT_VM_NONE,
			  "chunk %" PRIu64 ": a piece reaches past its chunk", ref->seq);
}

static void check_round(struct verify *v, const struct xvt_chunk_buf *b)
{
	struct xvt_round round;

	if (b->len < offsetof(struct xvt_round, written_ns))
		return;
	memcpy(&round, b->payload, offsetof(struct xvt_round, written_ns));
	if (round.watermark_ns < v->watermark_ns)
		violation(v, OF_ORDER, XVT_VM_NONE,
			  "watermark of round %" PRIu64 " goes back: %" PRIu64 " after %" PRIu64
			  " ns",
			  round.round, round.watermark_ns, v->watermark_ns);
	else
		v->watermark_ns = round.watermark_ns;
}

static void take_stats(struct verify *v, const struct xvt_chunk_buf *b)
{
	struct xvt_ring_stats st;

	if (!xvt_stats_get(b, &st))
		return;
	if (st.ring >= v->t->ring_count) {
		violation(v, OF_COUNT, XVT_VM_NONE,
			  "counters of ring %u, which the trace does not have", st.ring);
		return;
	}
	v->rings[st.ring].stats = st;
	v->rings[st.ring].has_stats = true;
	v->rings[st.ring].tells_all = b->len >= offsetof(struct xvt_ring_stats, overwritten_doubt) +
							sizeof(st.overwritten_doubt);
}

static void show_note(const struct xvt_chunk_buf *b)
{
	static const char *const levels[] = { "info", "warning", "error" };
	char clean[4096]; /* a recorder's notes are shorter than 512 bytes */
	struct xvt_note n;
	size_t len, shown;

	if (b->len < sizeof(n))
		return;
	memcpy(&n, b->payload, sizeof(n));
	len = b->len - sizeof(n);
	shown = xvt_text_clean(clean, sizeof(clean), b->payload + sizeof(n), len);
	printf("note: %s: %s", levels[n.level < 3 ? n.level : 2], clean);
	if (shown < len)
		printf("... [%zu bytes more]", len - shown);
	printf("\n");
}

static bool entry_fits(const struct xvt_index_entry *e, const struct xvt_chunk_ref *ref)
{
	return e->offset == ref->offset && e->type == ref->type && e->count == ref->count &&
	       e->first_ns == ref->first_ns && e->last_ns == ref->last_ns;
}

/* Chunk i is an INDEX: of all chunks from number *from on, which is the INDEX before it. */
static void check_index(struct verify *v, const struct xvt_chunk_buf *b, size_t i, size_t *from)
{
	const struct xvt_trace *t = v->t;
	size_t n = b->len / sizeof(struct xvt_index_entry);

	/* With damage it cannot fit. */
	if (t->damage_count)
		return;
	if (n != i - *from)
		violation(v, OF_INDEX, XVT_VM_NONE,
			  "the index at byte %" PRIu64
			  " has %zu entries, there are %zu chunks since the one before it",
			  t->chunks[i].offset, n, i - *from);
	for (size_t k = 0; k < n && *from + k < i; k++) {
		struct xvt_index_entry e;

		memcpy(&e, b->payload + k * sizeof(e), sizeof(e));
		if (entry_fits(&e, &t->chunks[*from + k]))
			continue;
		violation(v, OF_INDEX, XVT_VM_NONE,
			  "entry %zu of the index at byte %" PRIu64
			  " does not fit the chunk at byte %" PRIu64,
			  k, t->chunks[i].offset, t->chunks[*from + k].offset);
		break;
	}
	*from = i;
}

static void check_end(struct verify *v)
{
	const struct xvt_end *e = &v->t->end;

	/* With damage it cannot fit, and that has its own line. */
	if (!v->t->ended || v->t->damage_count)
		return;
	if (e->events != v->events[0] || e->late != v->events[1])
		violation(v, OF_INDEX, XVT_VM_NONE,
			  "the end says %" PRIu64 " events and %" PRIu64
			  " late ones, there are %" PRIu64 " and %" PRIu64,
			  e->events, e->late, v->events[0], v->events[1]);
	if (e->index_offset != v->t->chunks[v->index_from].offset)
		violation(v, OF_INDEX, XVT_VM_NONE,
			  "the end says that the last index is at byte %" PRIu64
			  ", it is at byte %" PRIu64,
			  e->index_offset, v->t->chunks[v->index_from].offset);
	if (e->chunks + 1 != v->t->chunk_count)
		violation(v, OF_INDEX, XVT_VM_NONE,
			  "the end says %" PRIu64 " chunks before it, there are %zu", e->chunks,
			  v->t->chunk_count - 1);
}

/*
 * What a writer overwrote may be known at the end only: that is told by a LOST record at the end.
 * It may be inside a writer as far as the counters knew; and whoever is interrupted by the writer
 * that opens a sub-buffer has counted itself, but may come behind it: the recorder says how many
 * that may be. An older one told less, and did not say it.
 */
static bool overwritten_fits(const struct verify *v, uint32_t ring)
{
	const struct ring *r = &v->rings[ring];
	const struct xvt_ring_stats *s = &r->stats;
	const bool laps = v->t->rings[ring].info.mode == XVT_ENABLE_OVERWRITE;
	const uint64_t inside = laps ? XVT_MAXNEST : 0;

	if (r->tells_all)
		return r->told.overwritten >= s->overwritten &&
		       r->told.overwritten <= xvt_u64_sum(s->overwritten, s->overwritten_doubt);
	return r->told.overwritten <=
	       xvt_u64_sum(s->overwritten, xvt_u64_sum(s->in_flight, inside));
}

/* What a guest lost is told twice: where it was lost, and as a sum at the end. */
static void check_losses(struct verify *v, uint32_t ring)
{
	const struct ring *r = &v->rings[ring];
	const struct xvt_ring_stats *s = &r->stats;
	char text[XVT_NAME_LEN + 40];

	for (unsigned int i = 0; i < XVT_LOST_CAUSES; i++) {
		if (r->told.lost[i] != s->lost[i])
			violation(v, OF_LOSS, xvt_ring_vm(v->t, ring),
				  "%s: its records tell of %" PRIu64
				  " lost (%s), the counters say %" PRIu64,
				  ring_text(v, ring, text), r->told.lost[i], xvt_lost_name(i),
				  s->lost[i]);
	}
	if (!overwritten_fits(v, ring))
		violation(v, OF_LOSS, xvt_ring_vm(v->t, ring),
			  "%s: its records tell of %" PRIu64
			  " overwritten, the counters say %" PRIu64,
			  ring_text(v, ring, text), r->told.overwritten, s->overwritten);
	if (r->told.dropped != s->dropped)
		violation(v, OF_LOSS, xvt_ring_vm(v->t, ring),
			  "%s: its records tell of %" PRIu64 " dropped, the counters say %" PRIu64,
			  ring_text(v, ring, text), r->told.dropped, s->dropped);
}

static void check_counts(struct verify *v, uint32_t ring)
{
	struct ring *r = &v->rings[ring];
	const struct xvt_ring_stats *s = &r->stats;
	uint64_t sum = s->events + s->discarded + s->overwritten + s->dropped + s->in_flight;
	char text[XVT_NAME_LEN + 40];

	if (!v->t->ended || v->t->damage_count)
		return;
	if (!r->has_stats) {
		if (r->events)
			violation(v, OF_COUNT, xvt_ring_vm(v->t, ring),
				  "%s: %" PRIu64 " events but no counters",
				  ring_text(v, ring, text), r->events);
		return;
	}
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		sum += s->lost[i];
	if (s->attempted != sum)
		violation(v, OF_COUNT, xvt_ring_vm(v->t, ring),
			  "%s: attempted %" PRIu64
			  " is not the sum of what became of them, %" PRIu64,
			  ring_text(v, ring, text), s->attempted, sum);
	if (s->events != r->events || s->late != r->late || s->backlog != r->backlog ||
	    s->unconfirmed != r->unconfirmed || s->recovered != r->recovered)
		violation(v, OF_COUNT, xvt_ring_vm(v->t, ring),
			  "%s: counted %" PRIu64 " events, %" PRIu64 " late, %" PRIu64
			  " backlog, %" PRIu64 " unconfirmed, %" PRIu64
			  " recovered; the counters say %" PRIu64 ", %" PRIu64 ", %" PRIu64
			  ", %" PRIu64 ", %" PRIu64,
			  ring_text(v, ring, text), r->events, r->late, r->backlog, r->unconfirmed,
			  r->recovered, s->events, s->late, s->backlog, s->unconfirmed,
			  s->recovered);
	check_losses(v, ring);
}

static void unanswered(void *arg, const struct xvt_exchange *x)
{
	struct verify *v = arg;

	violation(v, OF_CAUSE, x->recv_vm,
		  "effect before cause: %s %" PRIu64 " was sent by %s at %" PRIu64
		  " ns and received by %s at %" PRIu64 " ns; the two clocks are within %" PRIu64
		  " ns",
		  x->pong ? "xvt-pong" : "xvt-ping", x->number, xvt_vm_name(v->t, x->send_vm),
		  x->send_ns, xvt_vm_name(v->t, x->recv_vm), x->recv_ns, x->bound_ns);
}

static int load_host_clock(struct verify *v, struct xvt_chunk_buf *b)
{
	const struct xvt_file_info *f = &v->t->info;
	struct xvt_timebase l = {
		.base_clock = f->base_clock,
		.base_ns = f->base_ns,
		.mult = f->mult,
		.shift = f->shift,
		.realtime_ns = f->realtime_ns,
		.wall_error_ns = f->wall_error_ns,
	};
	int err = add_line(v, &l);

	for (size_t i = 0; i < v->t->chunk_count && !err; i++) {
		if (v->t->chunks[i].type != XVT_CHUNK_TIMEBASE)
			continue;
		err = xvt_trace_load(v->t, i, b);
		for (uint32_t at = 0; !err && b->len - at >= sizeof(l); at += sizeof(l)) {
			memcpy(&l, b->payload + at, sizeof(l));
			err = add_line(v, &l);
		}
		if (err == -EBADMSG)
			err = 0;
	}
	return err;
}

static int add_marks(struct verify *v, const struct xvt_chunk_buf *b)
{
	uint32_t n = b->len / sizeof(struct xvt_mark_seen);

	for (uint32_t i = 0; i < n; i++) {
		char text[XVT_NAME_LEN + 40];
		struct xvt_mark_seen m;

		memcpy(&m, b->payload + i * sizeof(m), sizeof(m));
		if (m.ring >= v->t->ring_count)
			violation(v, OF_MARK, xvt_ring_vm(v->t, m.ring),
				  "a mark of ring %u, which the trace does not have", m.ring);
		else if ((int64_t)(m.host_clock_after - m.host_clock_before) < 0)
			violation(v, OF_MARK, xvt_ring_vm(v->t, m.ring),
				  "%s: mark %" PRIu64 " was written before it was asked for",
				  ring_text(v, m.ring, text), m.number);
	}
	return xvt_marks_add(&v->marks, b->payload, b->len);
}

static int add_spans(struct verify *v, const struct xvt_chunk_buf *b)
{
	uint32_t n = b->len / sizeof(struct xvt_run_span);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		struct xvt_run_span span;

		memcpy(&span, b->payload + i * sizeof(span), sizeof(span));
		span.enter_clock = host_clock_ns(v, span.enter_clock);
		span.exit_clock = host_clock_ns(v, span.exit_clock);
		err = xvt_spans_add(&v->spans, &span);
	}
	return err;
}

static void sort_spans(struct verify *v)
{
	const struct xvt_run_span *bad = xvt_spans_sort(&v->spans);

	if (bad)
		violation(v, OF_RAN, bad->vm,
			  "vCPU %u of machine %u ran from %" PRIu64 " to %" PRIu64
			  " ns by the host's kernel: backwards, or twice at once",
			  bad->vcpu, bad->vm, bad->enter_clock, bad->exit_clock);
}

/* First all that events are measured by, then everything in the order of the file. */
static int load_clocks(struct verify *v, struct xvt_chunk_buf *b)
{
	const struct xvt_trace *t = v->t;
	uint64_t host_hz =
		t->info.mult ? (uint64_t)(((unsigned __int128)1000000000u << (t->info.shift & 63)) /
					  t->info.mult)
			     : 0;
	int err = load_host_clock(v, b);

	for (size_t i = 0; i < t->chunk_count && !err; i++) {
		struct xvt_clock_node n;

		if (t->chunks[i].type != XVT_CHUNK_NODE && t->chunks[i].type != XVT_CHUNK_MARKS &&
		    t->chunks[i].type != XVT_CHUNK_RUNS)
			continue;
		err = xvt_trace_load(v->t, i, b);
		if (!err && t->chunks[i].type == XVT_CHUNK_MARKS) {
			err = add_marks(v, b);
			continue;
		}
		if (!err && t->chunks[i].type == XVT_CHUNK_RUNS) {
			err = add_spans(v, b);
			continue;
		}
		for (uint32_t at = 0; !err && b->len - at >= sizeof(n); at += sizeof(n)) {
			memcpy(&n, b->payload + at, sizeof(n));
			err = add_node(v, &n);
		}
		if (err == -EBADMSG)
			err = 0;
	}
	xvt_marks_sort(&v->marks);
	sort_spans(v);
	for (uint32_t i = 0; i < t->ring_count && !err; i++) {
		uint32_t vm = xvt_ring_vm(t, i);

		err = settle_bounds(v, i);
		if (!err)
			err = split_epochs(&v->rings[i]);
		if (vm < t->vm_count && t->vms[vm].known)
			v->rings[i].hz = t->vms[vm].info.clock_hz;
		if (t->rings[i].known && t->rings[i].info.clock_hz)
			v->rings[i].hz = t->rings[i].info.clock_hz;
		if (!v->rings[i].hz)
			v->rings[i].hz = host_hz ? host_hz : 1000000000;
	}
	return err;
}

static int check_chunks(struct verify *v, struct xvt_chunk_buf *b)
{
	int err = 0;

	xvt_trace_raws_init(&v->raws, v->t);
	for (size_t i = 0; i < v->t->chunk_count && !err; i++) {
		const struct xvt_chunk_ref *ref = &v->t->chunks[i];

		err = xvt_trace_load(v->t, i, b);
		if (err == -EBADMSG) {
			err = 0;
			continue;
		}
		if (err)
			break;
		switch (ref->type) {
		case XVT_CHUNK_ORDER:
		case XVT_CHUNK_LATE:
			err = check_events(v, ref, b);
			break;
		case XVT_CHUNK_RAW:
			check_raw(v, ref, b);
			break;
		case XVT_CHUNK_SAMPLES:
			for (uint32_t at = 0; b->len - at >= sizeof(struct xvt_clock_sample);
			     at += sizeof(struct xvt_clock_sample)) {
				struct xvt_clock_sample s;

				memcpy(&s, b->payload + at, sizeof(s));
				check_sample(v, &s);
			}
			break;
		case XVT_CHUNK_ROUND:
			check_round(v, b);
			break;
		case XVT_CHUNK_STATS:
			take_stats(v, b);
			break;
		case XVT_CHUNK_NOTE:
			if (v->notes)
				show_note(b);
			break;
		case XVT_CHUNK_INDEX:
			check_index(v, b, i, &v->index_from);
			break;
		}
	}
	xvt_events_end(&v->it);
	xvt_trace_raws_fini(&v->raws);
	return err;
}

static int check_all(struct verify *v)
{
	struct xvt_chunk_buf b = { 0 };
	int err;

	v->rings = calloc((size_t)v->t->ring_count + 1, sizeof(*v->rings));
	v->tally = calloc((size_t)v->t->vm_count + 1, sizeof(*v->tally));
	if (!v->rings || !v->tally)
		return -ENOMEM;
	err = xvt_decoders_new(&v->ds, v->t);
	if (!err)
		err = load_clocks(v, &b);
	if (!err)
		err = check_chunks(v, &b);
	xvt_chunk_buf_free(&b);
	if (err)
		return err;
	for (uint32_t i = 0; i < v->t->ring_count; i++)
		check_counts(v, i);
	check_end(v);
	xvt_exchanges_check(&v->exchanges, unanswered, v);
	for (size_t i = 0; i < v->t->damage_count; i++) {
		const struct xvt_damage *d = &v->t->damage[i];

		/* Those that are not kept any more are beyond those that are shown. */
		if (i >= XVT_DAMAGE_MAX)
			d = &v->t->damage[0];
		violation(v, OF_DAMAGE, XVT_VM_NONE, "byte %" PRIu64 ", %" PRIu64 " bytes: %s",
			  d->offset, d->len, d->why);
	}
	return 0;
}

static void say_result(const struct verify *v, const char *path)
{
	uint32_t known = 0;

	say_more(v);
	if (v->violations) {
		printf("%s: %" PRIu64 " violation%s\n", path, v->violations,
		       v->violations == 1 ? "" : "s");
		return;
	}
	for (uint32_t i = 0; i < v->t->ring_count; i++)
		known += v->t->rings[i].known;
	printf("%s: ok: %zu chunks, %" PRIu64 " events of %u rings in order, %" PRIu64
	       " clock nodes, %" PRIu64 " samples, %" PRIu64 " marks; %zu exchanges",
	       path, v->t->chunk_count, v->shown_events, known, v->nodes, v->samples,
	       v->marks_checked, xvt_exchanges_pairs(&v->exchanges));
	for (size_t i = 0; i < v->exchanges.way_count; i++) {
		const struct xvt_way *w = &v->exchanges.ways[i];

		printf("%s%s to %s median %.1f us (%zu)", i ? ", " : ": ",
		       xvt_vm_name(v->t, w->send_vm), xvt_vm_name(v->t, w->recv_vm),
		       (double)xvt_way_median_ns(w) / 1e3, w->count);
	}
	if (v->exchanges.undecided)
		printf("; %zu of them seem to go back in time, by %.1f us at most, which is within "
		       "the bounds of the two clocks",
		       v->exchanges.undecided, (double)v->exchanges.undecided_ns_most / 1e3);
	if (v->exchanges.guesses)
		printf("; %zu more exchanges have a time that is flagged as a guess",
		       v->exchanges.guesses);
	if (v->ran)
		printf("; %" PRIu64 " events inside run spans", v->ran);
	if (v->pairs_checked)
		printf("; %" PRIu64 " clock pairs within %" PRIu64 " ns", v->pairs_checked,
		       v->pair_off_ns_max);
	if (v->exempt)
		printf("; %" PRIu64 " events contradict their clock and are flagged so", v->exempt);
	if (v->unplaced)
		printf("; %" PRIu64 " events of rings without a clock", v->unplaced);
	if (!v->t->ended)
		printf("; not cleanly ended, so final counts were not checked");
	printf("\n");
}

struct verify_opts {
	bool notes;
	bool complete;
	bool quiet;
};

static const struct xvt_opt verify_opts[] = {
	XVT_OPT(struct verify_opts, notes, "notes", 0, XVT_OPT_BOOL, NULL,
		"also show what the recorder noted"),
	XVT_OPT(struct verify_opts, complete, "complete", 0, XVT_OPT_BOOL, NULL,
		"a trace that was not cleanly ended is a violation"),
	XVT_OPT(struct verify_opts, quiet, "quiet", 'q', XVT_OPT_BOOL, NULL,
		"no warnings about an incomplete trace"),
	XVT_OPT_END,
};

static void fini(struct verify *v)
{
	for (uint32_t i = 0; v->rings && i < v->t->ring_count; i++) {
		free(v->rings[i].nodes);
		free(v->rings[i].epochs);
	}
	free(v->lines);
	free(v->tally);
	free(v->rings);
	xvt_exchanges_fini(&v->exchanges);
	xvt_marks_fini(&v->marks);
	xvt_spans_fini(&v->spans);
	xvt_decoders_fini(&v->ds);
	xvt_trace_close(v->t);
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	struct verify_opts opts = { 0 };
	struct verify v = { 0 };
	char why[256];
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL);
	int err;

	if (at < 0)
		return at == -2 ? XVT_EXIT_OK : XVT_EXIT_USAGE;
	if (argc - at != 1) {
		xvt_error("verify", "give one trace; 'xvtrace verify --help' shows how");
		return XVT_EXIT_USAGE;
	}
	if (xvt_trace_open(&v.t, argv[at], why, sizeof(why))) {
		xvt_error(argv[at], "%s", why);
		return XVT_EXIT_FAIL;
	}
	v.notes = opts.notes;
	err = check_all(&v);
	if (err) {
		xvt_error(argv[at], "%s", strerror(-err));
	} else {
		if (opts.complete && !v.t->ended)
			violation(&v, OF_END, XVT_VM_NONE,
				  "not cleanly ended: %" PRIu64 " bytes after the last whole chunk",
				  v.t->size - v.t->tail_offset);
		say_result(&v, argv[at]);
		if (!v.t->damage_count && !opts.complete)
			xvt_trace_complain(v.t, opts.quiet);
	}
	if (fflush(stdout) || ferror(stdout)) {
		xvt_error("standard output", "cannot write");
		err = -EIO;
	}
	err = err || v.violations;
	fini(&v);
	return err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

const struct xvt_command xvt_cmd_verify = {
	.name = "verify",
	.args = "FILE.xvt",
	.brief = "check a trace: checksums, order, counts, clocks, cause before effect",
	.opts = verify_opts,
	.run = run,
};
