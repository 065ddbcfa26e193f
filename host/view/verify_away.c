// SPDX-License-Identifier: GPL-2.0
/*
 * verify_away.c - see verify_parts.h. Where the trace has the host's switches of a machine's
 * threads, they are a judge of its times: a vCPU whose thread is not on a CPU of the host stamps
 * nothing, and neither does a program's thread. The host's clock needs no map, so this finds a map
 * that is wrong as a whole.
 *
 * A thread is away from a switch that takes it off its CPU to the next switch of it, if that one
 * puts it on a CPU again. An interval in which the host lost events proves nothing, because the
 * thread may have been back. Nor does anything where it is open which thread runs a ring's vCPU.
 */
#include "view/verify_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"

#define NO_TID	      (-1)
#define COMPARED_MOST (1u << 27) /* threads with rings */
#define ROUND_NS      2u	 /* of a conversion */

/* The thread that runs a ring. */
struct watched {
	int32_t tid;
	uint32_t ring;
};

struct switched {
	uint64_t ns;
	int32_t tid;
	uint32_t host_ring;
	bool on; /* the thread goes on a CPU */
};

struct lost {
	uint64_t ns;
	uint32_t host_ring;
};

struct xvt_verify_away {
	struct watched *watched; /* by thread */
	size_t nr_watched;
	struct switched *switched;
	size_t nr_switched;
	size_t switched_room;
	struct lost *lost; /* where the host lost events; then the intervals */
	size_t nr_lost;
	size_t lost_room;
	struct xvt_verify_gap *gaps; /* of `lost`, by begin */
	size_t nr_gaps;
};

/* ------------------------------------------------------------------ whose thread is it? */

static bool is_host(const struct xvt_trace *t, uint32_t vm)
{
	return vm < t->vm_count && t->vms[vm].known && t->vms[vm].info.kind == XVT_VM_HOST;
}

/* The part of a thread's name behind "MACHINE:"; NULL: it is not the machine's. */
static const char *of_machine(const struct xvt_trace *t, uint32_t vm, const char *name)
{
	const char *machine = xvt_vm_name(t, vm);
	const size_t len = strlen(machine);

	return !strncmp(name, machine, len) && name[len] == ':' ? name + len + 1 : NULL;
}

/* True if the machine's name is its own. */
static bool is_alone(const struct xvt_trace *t, uint32_t vm)
{
	for (uint32_t i = 0; i < t->vm_count; i++) {
		if (i != vm && t->vms[i].known && !strcmp(xvt_vm_name(t, i), xvt_vm_name(t, vm)))
			return false;
	}
	return true;
}

/* The thread of that name of the machine; NO_TID: none, or it is open which. */
static int32_t thread_of(const struct xvt_decoder *d, const struct xvt_trace *t, uint32_t vm,
			 const char *wanted)
{
	int32_t found = NO_TID, tid;
	const char *name, *rest;
	size_t at = 0;

	while (xvt_thread_next(d, &at, &tid, &name)) {
		rest = of_machine(t, vm, name);
		if (!rest || strcmp(rest, wanted) != 0)
			continue;
		if (found != NO_TID)
			return NO_TID;
		found = tid;
	}
	return found;
}

/* True for a thread of that machine. */
static bool has_thread(const struct xvt_decoder *d, const struct xvt_trace *t, uint32_t vm,
		       uint32_t wanted)
{
	const char *name;
	size_t at = 0;
	int32_t tid;

	while (xvt_thread_next(d, &at, &tid, &name)) {
		if ((uint32_t)tid == wanted && of_machine(t, vm, name))
			return true;
	}
	return false;
}

static int32_t thread_of_ring(const struct xvt_decoder *d, const struct xvt_trace *t, uint32_t ring)
{
	const struct xvt_ring_info *info = &t->rings[ring].info;
	char wanted[24];

	if (info->type == XVT_RING_THREAD)
		return info->tid && has_thread(d, t, info->vm, info->tid) &&
				       has_thread(d, t, info->vm, info->pid)
			       ? (int32_t)info->tid
			       : NO_TID;
	if (info->type != XVT_RING_VCPU && info->type != XVT_RING_BARE)
		return NO_TID;
	snprintf(wanted, sizeof(wanted), "vcpu%" PRIu32, info->hw_id);
	return thread_of(d, t, info->vm, wanted);
}

static size_t threads_of(const struct xvt_decoder *d)
{
	const char *name;
	size_t at = 0, n = 0;
	int32_t tid;

	while (xvt_thread_next(d, &at, &tid, &name))
		n++;
	return n;
}

/*
 * A VMM counts its vCPUs, a guest has their numbers of the hardware. Where these are others, a
 * vCPU's number is another one's: so a machine is judged if each of its vCPUs has a thread by its
 * number. Gives that of each machine. tids: of all rings.
 */
static void judge_machines(const struct xvt_trace *t, const int32_t *tids, bool *judged)
{
	for (uint32_t vm = 0; vm < t->vm_count; vm++)
		judged[vm] = !is_host(t, vm) && is_alone(t, vm);
	for (uint32_t i = 0; i < t->ring_count; i++) {
		const uint32_t vm = xvt_ring_vm(t, i);

		if (vm < t->vm_count && tids[i] == NO_TID && t->rings[i].info.type == XVT_RING_VCPU)
			judged[vm] = false;
	}
}

static int by_thread(const void *pa, const void *pb)
{
	const struct watched *a = pa, *b = pb;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->ring < b->ring ? -1 : a->ring > b->ring;
}

static const struct xvt_decoder *host_decoder(const struct xvt_verify_state *v)
{
	for (uint32_t vm = 0; vm < v->t->vm_count; vm++) {
		if (is_host(v->t, vm))
			return vm < v->ds.count ? v->ds.vm[vm] : NULL;
	}
	return NULL;
}

/* Lists the threads of the rings that can be judged. */
static void list_threads(const struct xvt_trace *t, const struct xvt_decoder *d,
			 struct xvt_verify_away *a, int32_t *tids, bool *judged)
{
	for (uint32_t i = 0; i < t->ring_count; i++)
		tids[i] = xvt_ring_vm(t, i) == XVT_VM_NONE ? NO_TID : thread_of_ring(d, t, i);
	judge_machines(t, tids, judged);
	for (uint32_t i = 0; i < t->ring_count; i++) {
		const uint32_t vm = xvt_ring_vm(t, i);

		if (tids[i] != NO_TID && vm < t->vm_count && judged[vm])
			a->watched[a->nr_watched++] = (struct watched){ tids[i], i };
	}
	qsort(a->watched, a->nr_watched, sizeof(*a->watched), by_thread);
}

/* Finds the threads of all rings. Returns 0 or -ENOMEM. */
static int watch(struct xvt_verify_state *v, struct xvt_verify_away *a)
{
	const struct xvt_decoder *d = host_decoder(v);
	const struct xvt_trace *t = v->t;
	int32_t *tids;
	bool *judged;
	int err;

	/* A hostile file may have any number of both. */
	if (!d || (unsigned __int128)threads_of(d) * t->ring_count > COMPARED_MOST)
		return 0;
	a->watched = calloc((size_t)t->ring_count + 1, sizeof(*a->watched));
	tids = calloc((size_t)t->ring_count + 1, sizeof(*tids));
	judged = calloc((size_t)t->vm_count + 1, sizeof(*judged));
	err = a->watched && tids && judged ? 0 : -ENOMEM;
	if (!err)
		list_threads(t, d, a, tids, judged);
	free(judged);
	free(tids);
	return err;
}

/* ------------------------------------------------------------------ what the host saw */

static bool is_watched(const struct xvt_verify_away *a, int32_t tid)
{
	size_t from = 0, end = a->nr_watched;

	while (from < end) {
		const size_t mid = from + (end - from) / 2;

		if (a->watched[mid].tid == tid)
			return true;
		if (a->watched[mid].tid < tid)
			from = mid + 1;
		else
			end = mid;
	}
	return false;
}

static int add_switched(struct xvt_verify_away *a, const struct xvt_event *ev, int32_t tid, bool on)
{
	if (!is_watched(a, tid))
		return 0;
	if (xvt_grow(&a->switched, &a->switched_room, a->nr_switched + 1, sizeof(*a->switched)))
		return -ENOMEM;
	a->switched[a->nr_switched++] =
		(struct switched){ ev->hdr->host_ns, tid, xvt_event_ring(ev), on };
	return 0;
}

/* Takes an event of the host. Returns 0 or -ENOMEM. */
static int take_event(struct xvt_verify_state *v, struct xvt_verify_away *a,
		      const struct xvt_event *ev)
{
	const struct xvt_event_class *c;
	int err;

	if (ev->hdr->id == XVT_ID_LOST) {
		if (xvt_grow(&a->lost, &a->lost_room, a->nr_lost + 1, sizeof(*a->lost)))
			return -ENOMEM;
		a->lost[a->nr_lost++] = (struct lost){ ev->hdr->host_ns, xvt_event_ring(ev) };
		return 0;
	}
	if (ev->hdr->id != XVT_ID_FTRACE)
		return 0;
	c = xvt_classify(xvt_decoder_of(&v->ds, ev), ev);
	if (!c)
		return -ENOMEM;
	if (c->pid_field[0] < 0 || c->pid_field[1] < 0)
		return 0;
	err = add_switched(a, ev, (int32_t)xvt_field_number(&c->fields[c->pid_field[0]], ev),
			   false);
	return err ? err
		   : add_switched(a, ev, (int32_t)xvt_field_number(&c->fields[c->pid_field[1]], ev),
				  true);
}

/* Takes the records of a source of the host's. Returns 0 or an error; -EBADMSG: of the chunk. */
static int take_records(struct xvt_verify_state *v, struct xvt_verify_away *a,
			const struct xvt_events_item *item)
{
	struct xvt_events_record rec;
	struct xvt_event ev;
	int err = 0;

	for (uint32_t i = 0; i < item->count && !err; i++) {
		const int got = xvt_events_peek(&v->it, item->source, &rec);

		if (got < 0)
			return got;
		if (!got)
			continue;
		xvt_events_take(&v->it, item->source, &rec, &ev);
		v->it.given++;
		err = take_event(v, a, &ev);
	}
	return err;
}

/* Takes the host's events of a chunk; those of other machines are passed. */
static int take_chunk(struct xvt_verify_state *v, struct xvt_verify_away *a, uint64_t seq,
		      const struct xvt_chunk_buf *b)
{
	struct xvt_events_item item;
	int got = xvt_events_begin(&v->it, &v->raws.base, b, seq);

	while (!got && (got = xvt_events_item(&v->it, &item)) > 0) {
		got = 0;
		if (!is_host(v->t, xvt_ring_vm(v->t, item.ring)))
			continue;
		got = item.own.hdr ? take_event(v, a, &item.own) : take_records(v, a, &item);
	}
	return got == -EBADMSG ? 0 : got; /* that is reported when the events are checked */
}

static int take_all(struct xvt_verify_state *v, struct xvt_verify_away *a, struct xvt_chunk_buf *b)
{
	const uint32_t types = 1u << XVT_CHUNK_ORDER | 1u << XVT_CHUNK_LATE | 1u << XVT_CHUNK_LOOSE;
	int err = 0, more;

	xvt_trace_raws_init(&v->raws, v->t);
	for (size_t i = 0; !err && (more = xvt_trace_next(v->t, types, &i, b)); i++)
		err = more < 0 ? more : take_chunk(v, a, v->t->chunks[i].seq, b);
	xvt_events_end(&v->it);
	xvt_trace_raws_fini(&v->raws);
	return err;
}

/* ------------------------------------------------------------------ intervals */

static int by_host_ring(const void *pa, const void *pb)
{
	const struct switched *a = pa, *b = pb;

	if (a->host_ring != b->host_ring)
		return a->host_ring < b->host_ring ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static int by_tid(const void *pa, const void *pb)
{
	const struct switched *a = pa, *b = pb;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static int by_begin(const void *pa, const void *pb)
{
	const struct xvt_verify_gap *a = pa, *b = pb;

	return a->lo_ns < b->lo_ns ? -1 : a->lo_ns > b->lo_ns;
}

/* The first of the ring's switches at or behind a time. */
static size_t behind(const struct xvt_verify_away *a, uint32_t ring, uint64_t ns)
{
	const struct switched key = { .host_ring = ring, .ns = ns };
	size_t from = 0, end = a->nr_switched;

	while (from < end) {
		const size_t mid = from + (end - from) / 2;

		if (by_host_ring(&a->switched[mid], &key) < 0)
			from = mid + 1;
		else
			end = mid;
	}
	return from;
}

/* Lost events lie between two records of their CPU, so between the switches around them. Behind the
 * last one it may be what the kernel did not say where it was. */
static struct xvt_verify_gap gap_of(const struct xvt_verify_away *a, const struct lost *l)
{
	size_t at = behind(a, l->host_ring, l->ns);
	struct xvt_verify_gap gap = { 0, UINT64_MAX };

	if (at == a->nr_switched || a->switched[at].host_ring != l->host_ring)
		return gap;
	while (at < a->nr_switched && a->switched[at].host_ring == l->host_ring &&
	       a->switched[at].ns <= l->ns)
		at++;
	if (at < a->nr_switched && a->switched[at].host_ring == l->host_ring)
		gap.hi_ns = a->switched[at].ns;
	at = behind(a, l->host_ring, l->ns);
	if (at && a->switched[at - 1].host_ring == l->host_ring)
		gap.lo_ns = a->switched[at - 1].ns;
	return gap;
}

/* Makes the losses intervals, one behind the other. Returns 0 or -ENOMEM. */
static int make_gaps(struct xvt_verify_away *a)
{
	size_t n = 0;

	a->gaps = calloc(a->nr_lost + 1, sizeof(*a->gaps));
	if (!a->gaps)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_lost; i++)
		a->gaps[i] = gap_of(a, &a->lost[i]);
	qsort(a->gaps, a->nr_lost, sizeof(*a->gaps), by_begin);
	for (size_t i = 0; i < a->nr_lost; i++) {
		if (n && a->gaps[i].lo_ns <= a->gaps[n - 1].hi_ns)
			a->gaps[n - 1].hi_ns =
				xvt_u64_larger(a->gaps[n - 1].hi_ns, a->gaps[i].hi_ns);
		else
			a->gaps[n++] = a->gaps[i];
	}
	a->nr_gaps = n;
	return 0;
}

static bool has_gap(const struct xvt_verify_away *a, uint64_t lo, uint64_t hi)
{
	const size_t n = XVT_COUNT_TO(a->gaps, a->nr_gaps, lo_ns, hi);

	return n && a->gaps[n - 1].hi_ns >= lo;
}

static uint64_t host_bound(const struct xvt_verify_state *v, const struct switched *s)
{
	return xvt_u64_sum(v->rings[s->host_ring].map.bound_ns_max, ROUND_NS);
}

static int add_away(struct xvt_verify_state *v, uint32_t ring, uint64_t lo, uint64_t hi)
{
	struct xvt_verify_ring *r = &v->rings[ring];

	if (xvt_grow(&r->away.gaps, &r->away.room, r->away.count + 1, sizeof(*r->away.gaps)))
		return -ENOMEM;
	r->away.gaps[r->away.count++] = (struct xvt_verify_gap){ lo, hi };
	return 0;
}

/* The intervals of a thread, from its switches [i, end), are those of all its rings. */
static int make_away(struct xvt_verify_state *v, struct xvt_verify_away *a, const struct watched *w)
{
	const struct switched key = { .tid = w->tid };
	const struct switched *s = a->switched;
	size_t i = 0, end = a->nr_switched;
	int err = 0;

	while (i < end) {
		const size_t mid = i + (end - i) / 2;

		if (by_tid(&s[mid], &key) < 0)
			i = mid + 1;
		else
			end = mid;
	}
	for (; i + 1 < a->nr_switched && s[i + 1].tid == w->tid && !err; i++) {
		const uint64_t lo = xvt_u64_sum(s[i].ns, host_bound(v, &s[i]));
		const uint64_t hi = s[i + 1].ns, back = host_bound(v, &s[i + 1]);

		if (!s[i].on && s[i + 1].on && hi > back && lo < hi - back &&
		    !has_gap(a, s[i].ns, hi))
			err = add_away(v, w->ring, lo, hi - back);
	}
	return err;
}

static void fini(struct xvt_verify_away *a)
{
	free(a->watched);
	free(a->switched);
	free(a->lost);
	free(a->gaps);
}

int xvt_verify_load_away(struct xvt_verify_state *v, struct xvt_chunk_buf *b)
{
	struct xvt_verify_away a = { 0 };
	int err = 0;

	/* An event that is missing in other files may be a switch. */
	if (v->t->ended && !v->t->damage_count)
		err = watch(v, &a);
	if (!err && a.nr_watched)
		err = take_all(v, &a, b);
	if (!err && a.nr_switched) {
		qsort(a.switched, a.nr_switched, sizeof(*a.switched), by_host_ring);
		err = make_gaps(&a);
		qsort(a.switched, a.nr_switched, sizeof(*a.switched), by_tid);
		for (size_t i = 0; i < a.nr_watched && !err; i++)
			err = make_away(v, &a, &a.watched[i]);
	}
	fini(&a);
	return err;
}

/* ------------------------------------------------------------------ events */

void xvt_verify_away_event(struct xvt_verify_state *v, const struct xvt_verify_ring *r,
			   const struct xvt_event_hdr *h)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	char text[XVT_VERIFY_RING_TEXT];
	uint64_t bound, lo, hi;
	size_t n;

	if (!r->map.epoch_count || h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED))
		return;
	bound = xvt_u64_sum(
		xvt_verify_bound_ns(r, r->map.lane + !!(h->ring_flags & XVT_EVENT_F_LATE)),
		ROUND_NS);
	lo = h->host_ns > bound ? h->host_ns - bound : 0;
	hi = xvt_u64_sum(h->host_ns, bound);
	v->result->away_checked++;
	n = XVT_COUNT_TO(r->away.gaps, r->away.count, lo_ns, lo);
	if (!n || hi > r->away.gaps[n - 1].hi_ns)
		return;
	xvt_verify_violation(v, XVT_VERIFY_RAN, xvt_ring_vm(v->t, ring),
			     "%s: an event at %" PRIu64 " ns within %" PRIu64
			     " ns, but its thread was on no CPU of the host from %" PRIu64
			     " to %" PRIu64 " ns, by the host's switches",
			     xvt_verify_ring_text(v, ring, text), h->host_ns, bound,
			     r->away.gaps[n - 1].lo_ns, r->away.gaps[n - 1].hi_ns);
}
