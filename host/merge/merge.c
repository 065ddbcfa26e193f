// SPDX-License-Identifier: GPL-2.0
/*
 * merge.c - the watermark merge. perf's rounds (flush in pass n + 2 what pass n had seen) assume
 * that a writer publishes within a pass. A vCPU can be descheduled between its clock read and its
 * commit for seconds, so each ring here has a proven bound instead.
 *
 * Records below the bounds are emitted in windows of time, short enough that their keys stay in the
 * cache. Each ring in turn adds its records of the window, as keys of one word, and a stable radix
 * sort orders the keys by time. Rings are visited by VM and number, and each adds its records in
 * its own order, so a stable sort orders records of equal time correctly. An event takes part only
 * with its time and the number of its run.
 */
#include "merge/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"

#define TARGET	      8192u /* keys of a window: two arrays of 64 KiB */
#define MOST	      (4u * TARGET)
#define MANY_RINGS    64u
#define WINDOW_NS     (1u << 17)
#define WINDOW_NS_MAX (1u << 22)
#define WINDOW_NS_MIN 64u
/* A slice of the loose lane: what a reader holds at a time. */
#define SLICE_BYTES   (4u << 20)
#define SLICE_NS      (1u << 20)
#define SLICE_NS_MAX  (1u << 30)
#define RADIX_BITS    11u
/* Time from the first to the last record of a window: a key holds no more. */
#define SPAN_NS	      (1ull << (63 - XVT_WINDOW_BITS))
#define FEW	      48u /* with at most so many keys an insertion sort is quicker */
#define RUNS_MAX      (1u << XVT_WINDOW_BITS)
/* most runs of a window, plus two for each ring: a guest can make each record a run */
#define RUNS	      16384u

void xvt_merge_init(struct xvt_merge *m, const struct xvt_merge_ops *ops, void *arg)
{
	memset(m, 0, sizeof(*m));
	m->ops = ops;
	m->arg = arg;
	m->limit_ns = m->rest_ns = UINT64_MAX;
	m->window_ns = WINDOW_NS;
	m->slice_ns = SLICE_NS;
	m->target = TARGET;
	m->most = MOST;
}

void xvt_merge_fini(struct xvt_merge *m)
{
	free(m->order);
	free(m->next);
	free(m->keys);
	free(m->spare);
	free(m->runs);
	free(m->run_order);
	memset(m, 0, sizeof(*m));
}

/* ------------------------------------------------------------------ the rings */

/* The order of records of one time. */
static uint64_t place_of(const struct xvt_ring *r)
{
	return (uint64_t)r->vm << 32 | r->id;
}

static int by_vm_and_ring(const void *a, const void *b)
{
	const uint64_t x = place_of(*(struct xvt_ring *const *)a),
		       y = place_of(*(struct xvt_ring *const *)b);

	return x < y ? -1 : x > y;
}

static int make_room(struct xvt_merge *m, size_t count)
{
	struct xvt_ring **order;
	uint64_t *next;
	size_t room = 2;

	if (count <= m->room)
		return 0;
	while (room < count)
		room *= 2;
	order = realloc(m->order, room * sizeof(*order));
	m->order = order ? order : m->order;
	next = realloc(m->next, room * sizeof(*next));
	m->next = next ? next : m->next;
	if (!order || !next)
		return -ENOMEM;
	m->room = room;
	return 0;
}

/* Sets the pass's rings, sorted by VM and ring; the caller's array usually is. */
static int know_all(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count)
{
	bool sorted = true;
	size_t i;

	if (make_room(m, count))
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		m->order[i] = rings[i];
		sorted &= !i || by_vm_and_ring(&rings[i - 1], &rings[i]) < 0;
	}
	m->nr_order = count;
	if (!sorted)
		qsort(m->order, count, sizeof(*m->order), by_vm_and_ring);
	return 0;
}

static void hold_back(struct xvt_merge *m, uint64_t bound_ns)
{
	if (bound_ns < m->bound_ns)
		m->bound_ns = bound_ns;
}

/*
 * Puts the run's bytes into the trace, before any of its records is emitted. False: the pass ends.
 */
static bool locate(struct xvt_merge *m, struct xvt_run *run)
{
	int got = run->located || !m->ops->locate ? 0 : m->ops->locate(m->arg, run);

	if (got < 0)
		m->err = got;
	m->held |= got > 0;
	return !got;
}

/* Returns a ring's next run, or NULL. */
static struct xvt_run *refill(struct xvt_merge *m, struct xvt_ring *r)
{
	struct xvt_run *run = xvt_ring_refill(r);

	if (xvt_unlikely(r->clock.inferred_new) && m->ops->inferred)
		m->ops->inferred(m->arg, r);
	if (!run && r->head.have && r->head.placed)
		m->err = -ENOMEM;
	return run && locate(m, run) ? run : NULL;
}

/* Finds each ring's next record, or its bound when it has none. */
static void look_at_rings(struct xvt_merge *m)
{
	size_t i;

	for (i = 0; i < m->nr_order && !m->err && !m->held; i++) {
		struct xvt_ring *r = m->order[i];

		/* The last pass may have ended before this run was located. */
		if (r->runs.first && !locate(m, r->runs.last))
			return;
		r->runs.gathered = r->runs.first ? r->runs.first : refill(m, r);
		m->next[i] = UINT64_MAX;
		if (r->runs.gathered)
			m->next[i] = xvt_run_next_ns(r->runs.gathered);
		else
			hold_back(m, xvt_ring_bound(r));
	}
}

/* First time that may not be emitted: the smallest bound, or later than limit_ns. */
static uint64_t end_of(const struct xvt_merge *m)
{
	return m->limit_ns < m->bound_ns ? m->limit_ns + 1 : m->bound_ns;
}

/* ------------------------------------------------------------------ a window */

static int grow_keys(struct xvt_merge *m, uint32_t need)
{
	uint32_t room = m->keys_room ? m->keys_room : MOST + XVT_RUN_MAX;
	uint64_t *grown;

	while (room < need)
		room *= 2;
	grown = realloc(m->keys, room * sizeof(*grown));
	m->keys = grown ? grown : m->keys;
	if (!grown)
		return -ENOMEM;
	free(m->spare);
	m->spare = malloc(room * sizeof(*m->spare));
	m->keys_room = m->spare ? room : 0;
	return m->spare ? 0 : -ENOMEM;
}

/* Gives the run a number in the window. */
static int number_run(struct xvt_merge *m, struct xvt_run *run, size_t order)
{
	const uint32_t room = m->runs_room ? 2 * m->runs_room : 256;
	struct xvt_run **runs;
	uint32_t *run_order;

	if (m->nr_runs == m->runs_room) {
		runs = realloc(m->runs, room * sizeof(*runs));
		m->runs = runs ? runs : m->runs;
		run_order = realloc(m->run_order, room * sizeof(*run_order));
		m->run_order = run_order ? run_order : m->run_order;
		if (!runs || !run_order)
			return -ENOMEM;
		m->runs_room = room;
	}
	run->window = m->nr_windows;
	run->number = m->nr_runs;
	m->runs[m->nr_runs] = run;
	m->run_order[m->nr_runs++] = (uint32_t)order;
	return 0;
}

/* Adds the keys of a run that lie in the window. */
static void take_run(struct xvt_merge *m, struct xvt_run *run, uint32_t number)
{
	const uint64_t base = m->base_ns, end = m->end_ns;
	const uint64_t *ns = run->ns;
	uint64_t *to = m->keys + m->nr_keys;
	uint32_t i = run->taken;
	const uint32_t count = run->count;

	m->sorted &= !m->nr_keys || to[-1] >> XVT_WINDOW_BITS <= ns[i] - base;
	for (; i < count && ns[i] < end; i++)
		*to++ = (ns[i] - base) << XVT_WINDOW_BITS | number;
	m->nr_keys += i - run->taken;
	run->taken = i;
}

/*
 * The ring has no more records: the window ends at its bound. If its last record has the time of
 * the bound, records of that time may be emitted up to this ring's; otherwise none of that time.
 */
static void ran_dry(struct xvt_merge *m, size_t order, uint64_t last_ns)
{
	const uint64_t bound = xvt_ring_bound(m->order[order]);
	const size_t behind = bound == last_ns ? order + 1 : 0;

	if (bound < m->trim_ns || (bound == m->trim_ns && behind < m->trim_order)) {
		m->trim_ns = bound;
		m->trim_order = behind;
	}
	hold_back(m, bound);
}

/* True if the window has more keys, or more runs, than the arrays shall hold. */
static bool is_full(const struct xvt_merge *m)
{
	/* With many rings any window has many records. */
	const uint64_t many = m->nr_order >= MANY_RINGS ? 4 * m->nr_order : 0;

	return (m->nr_keys > m->most && m->nr_keys > many) || m->nr_runs > RUNS + 2 * m->nr_order;
}

/* Adds the ring's records that lie in the window. */
static void gather(struct xvt_merge *m, size_t order)
{
	struct xvt_ring *r = m->order[order];
	struct xvt_run *run = r->runs.gathered;
	uint64_t last_ns = 0;

	while (run) {
		if (run->ns[run->taken] >= m->end_ns) {
			m->next[order] = run->ns[run->taken];
			return;
		}
		if (m->keys_room - m->nr_keys < XVT_RUN_MAX)
			m->err = grow_keys(m, m->nr_keys + XVT_RUN_MAX);
		if (!m->err && run->window != m->nr_windows)
			m->err = number_run(m, run, order);
		if (m->err)
			return;
		take_run(m, run, run->number);
		if (run->taken < run->count)
			continue;
		last_ns = run->ns[run->count - 1];
		run = run->next ? run->next : refill(m, r);
		r->runs.gathered = run;
		if (m->err || m->held || is_full(m))
			return;
	}
	m->next[order] = UINT64_MAX;
	ran_dry(m, order, last_ns);
}

/* Index of the first record of the run at or after end_ns; shorten() treats equal times. */
static uint32_t first_behind(const struct xvt_run *run, uint64_t end_ns)
{
	uint32_t i = run->taken;

	while (i > run->at && run->ns[i - 1] >= end_ns)
		i--;
	return i;
}

/* Takes the records from `taken` on out of the window again. */
static void give_back(struct xvt_merge *m, uint32_t number, uint32_t taken)
{
	struct xvt_run *run = m->runs[number];
	struct xvt_ring *r = run->ring;

	if (taken == run->taken)
		return;
	run->taken = taken;
	r->runs.gathered = run;
	m->next[m->run_order[number]] = run->ns[taken];
}

/* Removes runs without a record in the window, and renumbers the others. The keys still hold the
 * old numbers and are changed as well. */
static void renumber(struct xvt_merge *m)
{
	uint32_t i, n = 0;

	for (i = 0; i < m->nr_runs; i++) {
		struct xvt_run *run = m->runs[i];

		run->number = n;
		n += run->taken != run->at;
	}
	for (i = 0; i < m->nr_keys; i++) {
		const uint32_t number = m->keys[i] & (RUNS_MAX - 1);

		m->keys[i] += m->runs[number]->number - (uint64_t)number;
	}
	for (i = n = 0; i < m->nr_runs; i++) {
		struct xvt_run *run = m->runs[i];

		if (run->taken == run->at) {
			run->window = 0;
			continue;
		}
		m->runs[n] = run;
		m->run_order[n++] = m->run_order[i];
	}
	m->nr_runs = n;
}

/*
 * Ends the window at end_ns. Records at end_ns itself stay if their ring's place is before `order`.
 */
static void shorten(struct xvt_merge *m, uint64_t end_ns, size_t order)
{
	uint32_t i, n = 0;

	/* Backwards, so that `gathered` ends at a ring's first run that was shortened. */
	for (i = m->nr_runs; i-- > 0;)
		give_back(m, i, first_behind(m->runs[i], end_ns + (m->run_order[i] < order)));
	for (i = 0; i < m->nr_keys; i++) {
		const uint64_t ns = m->base_ns + (m->keys[i] >> XVT_WINDOW_BITS);
		const uint32_t number = m->keys[i] & (RUNS_MAX - 1);

		m->keys[n] = m->keys[i];
		n += ns < end_ns || (ns == end_ns && m->run_order[number] < order);
	}
	m->nr_keys = n;
	m->end_ns = end_ns;
	renumber(m);
}

/* ------------------------------------------------------------------ the sort */

static void insert(uint64_t *keys, uint32_t n)
{
	uint32_t i, k;

	for (i = 1; i < n; i++) {
		const uint64_t key = keys[i];

		for (k = i; k && keys[k - 1] >> XVT_WINDOW_BITS > key >> XVT_WINDOW_BITS; k--)
			keys[k] = keys[k - 1];
		keys[k] = key;
	}
}

/* Sorts by one digit, from m->keys to m->spare, and swaps the two arrays. */
static void sort_digit(struct xvt_merge *m, uint32_t shift, uint32_t bits)
{
	uint32_t count[1u << RADIX_BITS] = { 0 };
	const uint32_t mask = (1u << bits) - 1;
	uint64_t *from = m->keys, *to = m->spare;
	uint32_t i, sum = 0;

	for (i = 0; i < m->nr_keys; i++)
		count[from[i] >> shift & mask]++;
	for (i = 0; i <= mask; i++) {
		const uint32_t n = count[i];

		count[i] = sum;
		sum += n;
	}
	for (i = 0; i < m->nr_keys; i++)
		to[count[from[i] >> shift & mask]++] = from[i];
	m->keys = to;
	m->spare = from;
}

/* Sorts by time; records of equal time keep their order. */
static void sort(struct xvt_merge *m)
{
	const uint64_t last = m->end_ns - m->base_ns;
	uint32_t bits = 64 - (uint32_t)__builtin_clzll(last | 1), shift = XVT_WINDOW_BITS;

	if (m->sorted)
		return;
	if (m->nr_keys <= FEW) {
		insert(m->keys, m->nr_keys);
		return;
	}
	while (bits) {
		const uint32_t digits = (bits + RADIX_BITS - 1) / RADIX_BITS,
			       d = (bits + digits - 1) / digits;

		sort_digit(m, shift, d);
		shift += d;
		bits -= d;
	}
}

/* ------------------------------------------------------------------ out */

static void begin_window(struct xvt_merge *m)
{
	m->nr_windows++;
	m->nr_runs = m->nr_keys = 0;
	m->sorted = true;
}

/* Removes the emitted records from their rings. */
static void settle(struct xvt_merge *m)
{
	uint32_t i;

	for (i = 0; i < m->nr_runs; i++) {
		struct xvt_run *run = m->runs[i];
		const uint32_t n = run->taken - run->at;

		if (n)
			xvt_ring_emitted(run->ring, n);
	}
	begin_window(m);
}

/* Emits the window. None of its records is older than one already emitted. */
static void put_window(struct xvt_merge *m)
{
	struct xvt_window w = {
		m->keys, m->nr_keys, m->runs, m->nr_runs, m->base_ns, XVT_LANE_MAIN
	};

	if (!m->nr_keys)
		return;
	sort(m);
	w.keys = m->keys;
	m->err = m->ops->emit(m->arg, &w);
	if (m->err)
		return;
	m->emitted += m->nr_keys;
	m->last_ns = xvt_window_ns(&w, m->nr_keys - 1);
	m->last_place = place_of(xvt_window_run(&w, m->nr_keys - 1)->ring);
	settle(m);
}

/* Fills a window with the run's records before end_ns. */
static void take_part(struct xvt_merge *m, struct xvt_run *run, uint64_t end_ns,
		      struct xvt_window *w)
{
	const uint64_t span_end = xvt_u64_sum(w->base_ns, SPAN_NS);

	if (span_end < end_ns)
		end_ns = span_end;
	while (run->taken < run->count && run->ns[run->taken] < end_ns)
		m->keys[w->count++] = (run->ns[run->taken++] - w->base_ns) << XVT_WINDOW_BITS;
	w->keys = m->keys;
}

/* Emits a ring's records before end_ns in a lane beside the main one. */
static void put_beside(struct xvt_merge *m, size_t order, uint64_t end_ns, enum xvt_lane lane)
{
	struct xvt_ring *r = m->order[order];

	if (m->keys_room < XVT_RUN_MAX && grow_keys(m, XVT_RUN_MAX))
		m->err = -ENOMEM;
	while (!m->err && !m->held && m->next[order] < end_ns) {
		struct xvt_run *run = r->runs.first;
		struct xvt_window w = { m->keys, 0, &run, 1, m->next[order], lane };

		take_part(m, run, end_ns, &w);
		m->err = m->ops->emit(m->arg, &w);
		if (m->err) {
			run->taken = run->at; /* all its records wait again, as in abandon() */
			return;
		}
		m->emitted += w.count;
		m->slice_bytes += w.count * (uint64_t)(run->len / run->count);
		if (lane == XVT_LANE_LOOSE)
			m->loose += w.count;
		else if (!(run->ring_flags & XVT_EVENT_F_BACKLOG))
			m->late += w.count;
		xvt_ring_emitted(r, w.count);
		r->runs.gathered = r->runs.first ? r->runs.first : refill(m, r);
		m->next[order] = UINT64_MAX;
		if (r->runs.gathered)
			m->next[order] = xvt_run_next_ns(r->runs.gathered);
		else
			hold_back(m, xvt_ring_bound(r));
	}
}

/*
 * The time from which on the ring's records follow what is emitted. At the newest one's own time
 * that is so for its ring and those behind it; a record of a ring before it, which was moved there
 * by the order in its ring, has come too late.
 */
static uint64_t passed(const struct xvt_merge *m, const struct xvt_ring *r)
{
	const uint64_t last = xvt_u64_sum(m->last_ns, place_of(r) < m->last_place);

	return xvt_u64_larger(last, m->watermark);
}

/*
 * Emits the records that are older than one already emitted: the late lane, flagged and counted.
 * Those of a loose ring wait for no bound, as its others: the loose lane has none of this time.
 * Records older than the attach (BACKLOG) are not counted as late; their order is not promised.
 */
static void put_late(struct xvt_merge *m)
{
	const uint64_t most = xvt_u64_larger(xvt_u64_sum(m->last_ns, 1), m->watermark);
	size_t i;

	for (i = 0; i < m->nr_order; i++) {
		uint64_t end, until;

		if (m->next[i] >= most)
			continue; /* there may be many rings, so this one is not looked at */
		end = m->order[i]->guest.loose ? xvt_u64_sum(m->limit_ns, 1) : end_of(m);
		until = passed(m, m->order[i]);
		put_beside(m, i, until < end ? until : end, XVT_LANE_LATE);
	}
}

/* Time of the earliest record of a loose ring; UINT64_MAX: none has one. */
static uint64_t earliest_loose(const struct xvt_merge *m)
{
	uint64_t ns = UINT64_MAX;
	size_t i;

	for (i = 0; i < m->nr_order; i++) {
		if (m->order[i]->guest.loose && m->next[i] < ns)
			ns = m->next[i];
	}
	return ns;
}

/* Adapts the length of the next slice to SLICE_BYTES. `whole`: it was not cut short. */
static void adapt_slice(struct xvt_merge *m, bool whole)
{
	if (m->slice_bytes > SLICE_BYTES + SLICE_BYTES / 2 && m->slice_ns > WINDOW_NS_MIN)
		m->slice_ns /= 2;
	else if (whole && m->slice_bytes < SLICE_BYTES / 2 && m->slice_ns < SLICE_NS_MAX)
		m->slice_ns *= 2;
}

/*
 * Emits the placed records of loose rings up to limit_ns, in slices of time. A reader merges the
 * rings of a slice, and has the records of one slice at a time in memory.
 */
static void put_loose(struct xvt_merge *m)
{
	const uint64_t end_ns = xvt_u64_sum(m->limit_ns, 1);
	uint64_t begin_ns;
	size_t i;

	while (!m->err && !m->held && (begin_ns = earliest_loose(m)) < end_ns) {
		const uint64_t until_ns = xvt_u64_sum(begin_ns, m->slice_ns);

		m->slice_bytes = 0;
		for (i = 0; i < m->nr_order; i++) {
			if (m->order[i]->guest.loose)
				put_beside(m, i, until_ns < end_ns ? until_ns : end_ns,
					   XVT_LANE_LOOSE);
		}
		adapt_slice(m, until_ns < end_ns);
	}
}

static uint64_t earliest(const struct xvt_merge *m)
{
	uint64_t ns = UINT64_MAX;
	size_t i;

	for (i = 0; i < m->nr_order; i++)
		ns = m->next[i] < ns ? m->next[i] : ns;
	return ns;
}

/* Adapts the length of the next window to the target number of events. */
static void adapt(struct xvt_merge *m, uint32_t count, bool whole)
{
	const uint32_t target = m->target > 2 * m->nr_order ? m->target : 2 * (uint32_t)m->nr_order;

	if (count > target + target / 2 && m->window_ns > WINDOW_NS_MIN)
		m->window_ns -= m->window_ns / 4;
	else if (whole && count < target - target / 4 && m->window_ns < WINDOW_NS_MAX)
		m->window_ns += m->window_ns / 4;
}

/* The window has more events than the arrays shall hold: halves its time. A window of one moment is
 * emitted in parts instead, because its records are in order already. */
static void relieve(struct xvt_merge *m)
{
	if (m->end_ns - m->base_ns > 1)
		shorten(m, m->base_ns + (m->end_ns - m->base_ns) / 2, 0);
	else if (m->trim_ns < m->end_ns)
		shorten(m, m->trim_ns, m->trim_order);
	else
		put_window(m);
}

/* Abandons the window: all its records wait again. */
static void abandon(struct xvt_merge *m)
{
	uint32_t i;

	for (i = m->nr_runs; i-- > 0;)
		m->runs[i]->taken = m->runs[i]->at;
	begin_window(m);
}

/* Fills and emits one window from base_ns on. */
static void window(struct xvt_merge *m, uint64_t end_ns)
{
	uint64_t until = m->base_ns + m->window_ns;
	uint32_t count;
	size_t i;

	m->end_ns = until < m->base_ns || until > end_ns ? end_ns : until;
	until = m->end_ns;
	m->trim_ns = UINT64_MAX;
	m->trim_order = 0;
	begin_window(m);
	for (i = 0; i < m->nr_order; i++) {
		while (m->next[i] < m->end_ns && !m->err && !m->held) {
			gather(m, i);
			if (is_full(m) && !m->err && !m->held)
				relieve(m);
		}
	}
	if (m->err || m->held) {
		abandon(m);
		return;
	}
	if (m->trim_ns < m->end_ns)
		shorten(m, m->trim_ns, m->trim_order);
	count = m->nr_keys;
	put_window(m);
	if (m->err) {
		abandon(m);
		return;
	}
	adapt(m, count, until < end_ns);
}

static void windows(struct xvt_merge *m)
{
	for (;;) {
		const uint64_t end_ns = end_of(m);

		m->base_ns = m->next_ns = earliest(m);
		if (m->err || m->held || m->base_ns >= end_ns || m->base_ns == UINT64_MAX)
			return;
		window(m, end_ns);
		if (!m->err && !m->held && m->ops->hold)
			m->held = m->ops->hold(m->arg);
	}
}

/* Raises the watermark if a bound or limit_ns ended the pass. A held pass leaves records below
 * both. */
static void raise_watermark(struct xvt_merge *m)
{
	uint64_t all_ns = end_of(m);

	if (!m->held && m->bound_ns != UINT64_MAX && all_ns <= m->next_ns && all_ns > m->watermark)
		m->watermark = all_ns;
}

int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count)
{
	const uint64_t emitted = m->emitted;
	int err = know_all(m, rings, count);

	if (err)
		return err;
	m->err = 0;
	m->held = false;
	m->bound_ns = m->rest_ns;
	look_at_rings(m);
	if (!m->held)
		put_late(m);
	put_loose(m);
	windows(m);
	if (m->err)
		return m->err;
	raise_watermark(m);
	if (m->last_ns > m->watermark)
		m->watermark = m->last_ns;
	return (int64_t)(m->emitted - emitted);
}
