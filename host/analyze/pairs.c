// SPDX-License-Identifier: GPL-2.0
/*
 * pairs.c - how long it takes from one event to another with the same key, of any machines: the
 * messages that programs mark ("xvt-ping send 12", "xvt-ping recv 12"), and the pair that was asked
 * for. A pair is told if its key says which two events belong together, no event of either machine
 * was lost in between, and the bounds of both times prove their order.
 *
 * A key that begins again before it ended may have lost its end, or that may come late. Nothing
 * tells the two apart, so as many ends as began are of either, and are counted and not paired.
 */
#include "analyze/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys that wait at a time. Beyond this, nothing is told of new ones. */
#define OPEN_MOST (1u << 20)

/* One end of a pair. */
struct point {
	uint64_t ns, bound_ns; /* bound: XVTRACE_NO_BOUND where the time is in doubt, too */
	const struct xvtrace_ring *ring;
	bool wanted; /* lines of its ring and its task are */
};

struct entry {
	bool used;
	bool messages;
	uint64_t key;
	uint32_t begins; /* that have no end; 0: an end came first */
	bool again;	 /* its key was used again before it ended */
	struct point at; /* its begin, or that end */
};

struct pairs {
	struct entry *v;
	size_t count, room;
	uint64_t lost_ns[]; /* when events were lost last, by machine */
};

static int begin(struct xvt_analyze *a)
{
	a->pairs = calloc(1, sizeof(*a->pairs) + (a->info->machines + 1) * sizeof(uint64_t));
	return a->pairs ? 0 : -ENOMEM;
}

static void fini(struct xvt_analyze *a)
{
	if (a->pairs)
		free(a->pairs->v);
	free(a->pairs);
}

/* -- keys that wait -------------------------------------------------------------------- */

static size_t home_of(const struct pairs *p, uint64_t key, bool messages)
{
	return ((key * 2 + messages) * 0x9e3779b97f4a7c15ull >> 20) & (p->room - 1);
}

static int grow(struct pairs *p)
{
	struct pairs more = *p;

	if (p->room > 2 * p->count)
		return 0;
	more.room = p->room ? 2 * p->room : 1024;
	more.v = calloc(more.room, sizeof(*more.v));
	if (!more.v)
		return -ENOMEM;
	for (size_t i = 0; i < p->room; i++) {
		size_t at;

		if (!p->v[i].used)
			continue;
		at = home_of(&more, p->v[i].key, p->v[i].messages);
		while (more.v[at].used)
			at = (at + 1) & (more.room - 1);
		more.v[at] = p->v[i];
	}
	free(p->v);
	p->v = more.v;
	p->room = more.room;
	return 0;
}

/* Those behind it move up, so that a search ends at the first that is not used. */
static void take_out(struct pairs *p, struct entry *e)
{
	size_t hole = (size_t)(e - p->v), at = hole;

	for (;;) {
		size_t home;

		at = (at + 1) & (p->room - 1);
		if (!p->v[at].used)
			break;
		home = home_of(p, p->v[at].key, p->v[at].messages);
		if (((at - home) & (p->room - 1)) < ((at - hole) & (p->room - 1)))
			continue;
		p->v[hole] = p->v[at];
		hole = at;
	}
	p->v[hole].used = false;
	p->count--;
}

/* Which entry of a key an event is for. */
struct wanted_entry {
	uint64_t key;
	bool messages;
	bool begun; /* one that waits for its end; else an end that came first */
	/* Messages: of this machine, or of any other one. */
	const struct xvtrace_machine *machine;
	bool others;
};

/* The next one behind `e`; NULL: the first. */
static struct entry *find(struct pairs *p, const struct wanted_entry *w, const struct entry *e)
{
	size_t at;

	if (!p->room)
		return NULL;
	at = e ? (size_t)(e - p->v) + 1 : home_of(p, w->key, w->messages);
	for (at &= p->room - 1; p->v[at].used; at = (at + 1) & (p->room - 1)) {
		struct entry *found = &p->v[at];

		if (found->key == w->key && found->messages == w->messages &&
		    !found->begins == !w->begun &&
		    (!w->messages || (found->at.ring->machine != w->machine) == w->others))
			return found;
	}
	return NULL;
}

/* -- pairs ----------------------------------------------------------------------------- */

/* Of all that begin in the machine. */
static struct xvt_line *line_all(struct xvt_analyze *a, bool messages,
				 const struct xvtrace_ring *ring)
{
	char what[96] = "messages";

	if (!messages)
		snprintf(what, sizeof(what), "%s -> %s", a->options.first.glob,
			 a->options.then.glob);
	return line_of(a, XVT_ANALYZE_LATENCY, messages ? "message" : "pair", ring->machine, NULL,
		       NULL, what);
}

/* Who gives a pair has chosen its events. */
static bool is_wanted(const struct xvt_analyze *a, const struct xvtrace_event *ev, bool is_message)
{
	const char *comm = a->options.wants_task ? xvtrace_event_comm(ev) : NULL;

	if (is_message && a->options.wants_event &&
	    !a->options.wants_event(a->options.arg, ev->type->kernel_system, ev->type->name))
		return false;
	return (!a->options.wants || a->options.wants(a->options.arg, ev->ring)) &&
	       part_wants_task(a, ev->pid, comm ? comm : "<...>");
}

enum count { NO_BEGIN, NO_END, REPEATED, LEFT_OUT };

/* to: of REPEATED, the end. */
static int tell_alone(struct xvt_analyze *a, uint64_t key, const struct point *at,
		      const struct point *to, enum count what, uint64_t n)
{
	static const char *const whys[] = { [NO_BEGIN] = "no sending was found",
					    [NO_END] = "no receipt was found",
					    [REPEATED] = "the key was used again before its end",
					    [LEFT_OUT] = "too many keys wait" };
	struct xvt_message m = { .key = key, .n = n, .bound_ns = XVTRACE_NO_BOUND };

	m.verdict = what == REPEATED || what == LEFT_OUT ? XVT_UNTOLD : XVT_NOT_RECORDED;
	m.why = whys[what];
	if (what == NO_BEGIN)
		m.received = (struct xvt_message_end){ at->ring, at->ns };
	else
		m.sent = (struct xvt_message_end){ at->ring, what == REPEATED ? 0 : at->ns };
	if (to)
		m.received = (struct xvt_message_end){ to->ring, to->ns };
	return a->options.message(a->options.arg, &m);
}

static int count(struct xvt_analyze *a, uint64_t key, bool messages, const struct point *at,
		 const struct point *to, enum count what, uint64_t n)
{
	struct xvt_line *l;

	if (!at->wanted || !part_wants_end(a, to ? to->ns : at->ns))
		return 0;
	l = line_all(a, messages, at->ring);
	if (!l)
		return -ENOMEM;
	l->no_begin += what == NO_BEGIN ? n : 0;
	l->no_end += what == NO_END ? n : 0;
	l->repeated += what == REPEATED ? n : 0;
	l->untold += what == LEFT_OUT ? n : 0;
	return messages && a->options.message ? tell_alone(a, key, at, to, what, n) : 0;
}

static int put(struct xvt_analyze *a, uint64_t key, bool messages, const struct point *at,
	       bool begun)
{
	struct pairs *p = a->pairs;
	size_t i;

	if (p->count == OPEN_MOST)
		return count(a, key, messages, at, NULL, LEFT_OUT, 1);
	if (grow(p))
		return -ENOMEM;
	for (i = home_of(p, key, messages); p->v[i].used; i = (i + 1) & (p->room - 1))
		;
	p->v[i] = (struct entry){
		.used = true, .messages = messages, .key = key, .begins = begun, .at = *at
	};
	p->count++;
	return 0;
}

/* Also where the LOST record is behind the end. */
static bool is_lost(const struct xvt_analyze *a, const struct point *from, const struct point *to)
{
	const struct xvtrace_point b = { from->ring, from->ns, from->bound_ns };
	const struct xvtrace_point e = { to->ring, to->ns, to->bound_ns };

	return lost_between(a, from->ring->machine, b, e) ||
	       lost_between(a, to->ring->machine, b, e);
}

/* Why a pair cannot be told; NULL: it can. */
static const char *doubt_of(const struct xvt_analyze *a, const struct point *from,
			    const struct point *to, uint64_t bound_ns)
{
	/* They may have been others of that key. */
	if (a->pairs->lost_ns[from->ring->machine->number] > from->ns ||
	    a->pairs->lost_ns[to->ring->machine->number] > from->ns || is_lost(a, from, to))
		return "events were lost meanwhile";
	/* The order in a ring is that of its events. */
	if (from->ns < to->ns && (from->ring == to->ring || to->ns - from->ns > bound_ns))
		return NULL;
	return "the bounds leave the order open";
}

static int tell_pair(struct xvt_analyze *a, uint64_t key, const struct point *from,
		     const struct point *to, uint64_t bound_ns)
{
	const struct xvt_message m = { .key = key,
				       .n = 1,
				       .sent = { from->ring, from->ns },
				       .received = { to->ring, to->ns },
				       .bound_ns = bound_ns,
				       .why = doubt_of(a, from, to, bound_ns),
				       .verdict = doubt_of(a, from, to, bound_ns) ? XVT_UNTOLD
										  : XVT_PROVEN };

	return a->options.message(a->options.arg, &m);
}

static int add_pair(struct xvt_analyze *a, uint64_t key, bool messages, const struct point *from,
		    const struct point *to)
{
	const uint64_t ns = to->ns > from->ns ? to->ns - from->ns : 0;
	const bool bounded = from->bound_ns < XVTRACE_NO_BOUND && to->bound_ns < XVTRACE_NO_BOUND;
	const uint64_t bound_ns = bounded ? from->bound_ns + to->bound_ns : XVTRACE_NO_BOUND;
	struct xvt_line *lines[2];
	char what[96];
	int err = 0;

	if (ns < a->options.min_ns || (!from->wanted && !to->wanted) || !part_wants_end(a, to->ns))
		return 0;
	snprintf(what, sizeof(what), "  to %s", to->ring->machine->name);
	lines[0] = line_all(a, messages, from->ring);
	lines[1] = line_of(a, XVT_ANALYZE_LATENCY, messages ? "message_to" : "pair_to",
			   from->ring->machine, NULL, NULL, what);
	if (lines[1])
		lines[1]->to = to->ring->machine;
	for (int i = 0; i < 2 && !err; i++) {
		if (!lines[i])
			return -ENOMEM;
		if (!doubt_of(a, from, to, bound_ns)) {
			err = xvt_figure_add(&lines[i]->wall, ns, from->ns, from->ring->number,
					     bound_ns);
			continue;
		}
		lines[i]->untold++;
		lines[i]->untold_ns += ns;
	}
	if (!err && messages && a->options.message)
		err = tell_pair(a, key, from, to, bound_ns);
	return err;
}

static int add_end(struct xvt_analyze *a, uint64_t key, bool messages, const struct point *at)
{
	struct pairs *p = a->pairs;
	struct wanted_entry w = { key, messages, true, at->ring->machine, true };
	struct entry *e = find(p, &w, NULL), *other = e ? find(p, &w, e) : NULL;
	struct point from;
	int err;

	/* Two machines sent it: it is of either. */
	for (; other; other = find(p, &w, other))
		e->again = other->again = true;
	if (!e) {
		w.begun = w.others = false;
		e = find(p, &w, NULL);
		if (!e)
			return put(a, key, messages, at, false);
		err = count(a, key, messages, &e->at, NULL, NO_BEGIN, 1);
		e->at = *at;
		return err;
	}
	if (e->again) {
		err = count(a, key, messages, &e->at, at, REPEATED, 1);
		if (!--e->begins)
			take_out(p, e);
		return err;
	}
	from = e->at;
	take_out(p, e);
	return add_pair(a, key, messages, &from, at);
}

static int add_begin(struct xvt_analyze *a, uint64_t key, bool messages, const struct point *at)
{
	struct pairs *p = a->pairs;
	struct wanted_entry w = { key, messages, true, at->ring->machine, false };
	struct entry *e = find(p, &w, NULL);
	struct point to;
	int err;

	if (e) {
		e->again = true;
		e->begins++;
		return 0;
	}
	w.begun = false;
	w.others = true;
	e = find(p, &w, NULL);
	if (!e)
		return put(a, key, messages, at, true);
	to = e->at;
	take_out(p, e);
	/* By the bounds of both, the end may be behind it. */
	if (to.bound_ns >= XVTRACE_NO_BOUND || at->bound_ns >= XVTRACE_NO_BOUND ||
	    (to.ring != at->ring && at->ns - to.ns <= at->bound_ns + to.bound_ns))
		return add_pair(a, key, messages, at, &to);
	err = count(a, key, messages, &to, NULL, NO_BEGIN, 1);
	return err ? err : put(a, key, messages, at, true);
}

/* An event of the pair that was asked for. It may be both of it. */
static int add_asked(struct xvt_analyze *a, const struct part_type *t,
		     const struct xvtrace_event *ev, const struct point *at)
{
	const uint64_t key = part_value(ev, t->then_key ? t->then_key : t->first_key);
	const struct wanted_entry w = { key, .begun = true };

	a->pair_seen[0] |= t->first_key != NULL;
	a->pair_seen[1] |= t->then_key != NULL;
	if (t->then_key && (!t->first_key || find(a->pairs, &w, NULL)))
		return add_end(a, key, false, at);
	return add_begin(a, part_value(ev, t->first_key), false, at);
}

static int event(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev)
{
	const bool doubt = ev->flags & (XVTRACE_UNCONFIRMED | XVTRACE_CLOCK);
	struct point at = { ev->ns, doubt ? XVTRACE_NO_BOUND : ev->bound_ns, ev->ring, false };
	struct xvtrace_message message;
	bool is_message;

	if (ev->kind == XVTRACE_LOST)
		a->pairs->lost_ns[ev->machine->number] = ev->ns;
	if (ev->kind != XVTRACE_EVENT)
		return 0;
	is_message = xvtrace_event_message(ev, &message);
	if (!is_message && !t->first_key && !t->then_key)
		return 0;
	at.wanted = is_wanted(a, ev, is_message);
	if (!is_message)
		return add_asked(a, t, ev, &at);
	return message.sent ? add_begin(a, message.number, true, &at)
			    : add_end(a, message.number, true, &at);
}

static int end(struct xvt_analyze *a)
{
	const struct pairs *p = a->pairs;
	int err = 0;

	for (size_t i = 0; i < p->room && !err; i++) {
		const struct entry *e = &p->v[i];

		if (e->used && e->begins)
			err = count(a, e->key, e->messages, &e->at, NULL, NO_END, e->begins);
		else if (e->used)
			err = count(a, e->key, e->messages, &e->at, NULL, NO_BEGIN, 1);
	}
	for (size_t i = 0; i < a->lines.count; i++) {
		struct xvt_line *l = a->lines.v[i];

		if (l->wall.n || (strcmp(l->kind, "message") != 0 && strcmp(l->kind, "pair") != 0))
			continue;
		if (l->untold || l->repeated)
			l->verdict = XVT_UNTOLD;
		else
			line_lacks(a, l, "the other end of each, with its key");
	}
	return err;
}

const struct analysis analysis_pairs = {
	.bit = XVT_ANALYZE_LATENCY | XVT_ANALYZE_MESSAGES,
	.name = "pairs",
	.begin = begin,
	.event = event,
	.end = end,
	.fini = fini,
};
