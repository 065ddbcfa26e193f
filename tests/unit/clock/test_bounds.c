// SPDX-License-Identifier: GPL-2.0
/*
 * test_bounds.c - clocks that do whatever a hypervisor lets them do, and a recorder that says how
 * wrong its times may be. Each event carries its true time; none without a flag may lie further
 * from it than the trace says, as recorded and re-clocked.
 *
 * The clocks: set forward now and then because they tick too slowly (KVM's catch-up); fast or slow,
 * and set back to the host's; moved by a step of any size; moved, and moved back before it
 * could be measured. What KVM reports of them (the tracepoint kvm_write_tsc_offset) is reported
 * here before the next measurement, as session/kvm.c does.
 */
#define _GNU_SOURCE
#include "engine.h"
#include "history.h"
#include "view/bound.h"
#include "view/reclock.h"
#include "suites.h"
#include "trace/write.h"
#include "trace/nodes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS	  1000000ull
#define US	  1000ull
#define START	  (2000 * MS)
#define OFFSET	  (1ull << 42)
#define HISTORIES 10000
#define BENDS_MAX 40000
#define NODES_MAX 1000
/* As docs/xvt-format.5.md has it: what is allowed beside a border. */
#define BESIDE_NS (20 * MS)

enum kind {
	CATCH_UP, /* ticks as the host's, set forward to a faster rate */
	SAW,	  /* fast or slow, set back to the host's time: reported */
	STEP,	  /* one step between two measurements at most, reported or not */
	MOVED,	  /* steps that are undone: reported */
	KINDS,
};

/* From `ns` on the clock is guest + (t - ns) * (1 + rate / 2^40). */
struct bend {
	uint64_t ns;
	uint64_t guest;
	int64_t rate;
};

struct report {
	uint64_t ns;
	uint64_t ticks;
};

struct world {
	uint64_t random;
	uint64_t seed;
	enum kind kind;
	struct engine e;
	struct xvt_ring *r;
	struct bend *bends;
	size_t nr_bends;
	struct report *reports;
	size_t nr_reports, reported;
	uint64_t end, width;
	uint64_t node_ns[NODES_MAX]; /* when it is measured */
	size_t nr_moments, measured;
	struct xvt_clock_node nodes[4 * NODES_MAX];
	size_t nr_nodes;
	struct xvt_clock_sample samples[NODES_MAX];
	size_t nr_samples;
	uint64_t proof;
};

struct judged {
	uint64_t events, flagged, beside, beyond, changed;
	uint64_t worst_ns, worst_bound_ns, worst_seed;
	double used; /* the largest part of its bound that an error was */
};

static uint64_t below(struct world *w, uint64_t n)
{
	return history_random(&w->random) % n;
}

/* Each magnitude as often. */
static uint64_t magnitude(struct world *w, double least, double most)
{
	return (uint64_t)(least * pow(most / least, (double)below(w, 1 << 20) / (1 << 20)));
}

/* ------------------------------------------------------------------ the clock */

static uint64_t on_bend(const struct bend *b, uint64_t ns)
{
	const uint64_t t = ns - b->ns;

	return b->guest + t + (uint64_t)((__int128)t * b->rate >> 40);
}

static uint64_t guest_at(const struct world *w, uint64_t ns)
{
	size_t lo = 0, hi = w->nr_bends;

	while (lo + 1 < hi) {
		size_t mid = (lo + hi) / 2;

		if (w->bends[mid].ns <= ns)
			lo = mid;
		else
			hi = mid;
	}
	return on_bend(&w->bends[lo], ns);
}

static void bend(struct world *w, uint64_t ns, uint64_t guest, int64_t rate, bool report)
{
	const uint64_t was = w->nr_bends ? on_bend(&w->bends[w->nr_bends - 1], ns) : guest;

	if (w->nr_bends == BENDS_MAX)
		return;
	w->bends[w->nr_bends++] = (struct bend){ ns, guest, rate };
	if (report && guest != was)
		w->reports[w->nr_reports++] =
			(struct report){ ns, guest > was ? guest - was : was - guest };
}

static int64_t rate_of(double part)
{
	return (int64_t)(part * 0x1p40);
}

/* Returns the nominal rate. */
static uint64_t catch_up(struct world *w)
{
	const double part = (double)magnitude(w, 1e3, 1e8) / 1e9; /* 1 ppm to 10 % */
	const uint64_t most = magnitude(w, 20e3, 200e6);
	struct bend nominal = { START, OFFSET, rate_of(part) };
	uint64_t ns;

	bend(w, START, OFFSET, 0, false);
	for (ns = START; ns < w->end;) {
		ns += magnitude(w, 10e3, (double)most);
		bend(w, ns, on_bend(&nominal, ns), 0, false);
	}
	/* As the recorder settles a rate (measured_hz()). */
	return part < 1 / 32. ? 1000000000 : (uint64_t)(1e9 * (1 + part));
}

static uint64_t saw(struct world *w)
{
	const double part = (double)magnitude(w, 1e3, 2e7) / 1e9 * (below(w, 2) ? 1 : -1);
	const uint64_t most = magnitude(w, 2e6, 300e6);
	uint64_t ns;

	for (ns = START; ns < w->end; ns += magnitude(w, 1e6, (double)most))
		bend(w, ns, OFFSET + ns - START, rate_of(part), true);
	return 1000000000;
}

static uint64_t step_size(struct world *w)
{
	return magnitude(w, 1e3, 1e9) * (below(w, 2) ? 1 : UINT64_MAX);
}

/* No sample shows one that is smaller than it is wide, and --reclock says so of itself. */
static uint64_t visible_step(struct world *w)
{
	uint64_t by;

	do
		by = step_size(w);
	while (by < 4 * w->width || -by < 4 * w->width);
	return by;
}

/*
 * At random places between two measurements. Not among them: a clock that is set back by so much
 * that an epoch begins, with no report. Its nodes are those of a clock that stood still with its
 * machine, and so are the ring's bytes; that is what the recorder takes it for.
 */
static uint64_t step(struct world *w)
{
	const bool report = below(w, 2);
	uint64_t off = 0;
	size_t i;

	bend(w, START, OFFSET, 0, false);
	for (i = 1; i + 1 < w->nr_moments; i++) {
		const uint64_t from = w->node_ns[i - 1], to = w->node_ns[i];
		uint64_t ns, by;

		if (below(w, 3))
			continue;
		ns = from + 1 + below(w, to - from - 1);
		by = report ? step_size(w) : visible_step(w);
		if (!report && by >> 63 && -by > (to - from) / 8)
			by = -by;
		off += by;
		bend(w, ns, OFFSET + ns - START + off, 0, report);
	}
	return 1000000000;
}

static uint64_t moved(struct world *w)
{
	uint64_t ns = START, off = 0, back;

	bend(w, START, OFFSET, 0, false);
	for (;;) {
		ns += magnitude(w, 1e6, 400e6);
		back = ns + magnitude(w, 1e3, 300e6);
		if (back >= w->end)
			return 1000000000;
		bend(w, ns, OFFSET + ns - START + off + step_size(w), 0, true);
		if (!below(w, 4))
			off += step_size(w); /* and not quite back */
		bend(w, back, OFFSET + back - START + off, 0, true);
		ns = back;
	}
}

/* ------------------------------------------------------------------ the recorder */

static uint64_t stamp(void *arg)
{
	struct world *w = arg;

	return guest_at(w, w->e.now);
}

static void write_event(struct world *w, uint64_t now)
{
	uint64_t words[2] = { ++w->e.numbers[0], now };

	w->e.now = now;
	xvt_write(&w->e.writers[0], XVT_ID_U64, words, sizeof(words));
}

static void merge(struct world *w, uint64_t now)
{
	w->e.merge.limit_ns = now;
	engine_merge(&w->e);
	if (w->r->clock.inferred_new)
		w->nodes[w->nr_nodes++] = w->r->clock.inferred;
	w->r->clock.inferred_new = false;
}

static void look(struct world *w, uint64_t now, bool proof)
{
	struct xvt_ring *r = w->r;
	struct xvt_piece *p, *tail = r->drain.tail;

	xvt_drain_look(r, w->e.loop, proof ? w->proof : 0);
	for (p = tail ? tail->next : r->drain.first; p; p = p->next)
		p->ceiling_clock = p->ceiling_ns = now;
	while (r->drain.reads)
		if (xvt_loop_run(w->e.loop, 1000000000u) < 0)
			ck_abort_msg("the loop failed");
	xvt_drain_take(r, false);
	w->proof = now;
	merge(w, now);
}

static void hear(struct world *w, uint64_t now)
{
	for (; w->reported < w->nr_reports && w->reports[w->reported].ns <= now; w->reported++) {
		const struct report *report = &w->reports[w->reported];

		w->r->clock.map.suspect = true;
		w->r->clock.map.suspect_ns = now;
		xvt_clock_map_reported(&w->r->clock.map, report->ns, report->ticks);
	}
}

/* The clock had its value somewhere between lo and hi. */
static void measure(struct world *w, uint64_t moment, uint64_t width)
{
	const uint64_t before = below(w, width + 1);
	struct xvt_clock_sample s = { .source = XVT_SOURCE_HANDSHAKE,
				      .guest = guest_at(w, moment),
				      .host_clock_lo = moment - before,
				      .host_clock_hi = moment - before + width };
	struct xvt_clock_node n = { .source = XVT_SOURCE_HANDSHAKE,
				    .guest = s.guest,
				    .host_ns = s.host_clock_lo + width / 2,
				    .bound_ns = width / 2 + 1 };

	hear(w, s.host_clock_hi);
	if (w->r->clock.inferred_new)
		merge(w, s.host_clock_hi);
	if (xvt_clock_map_add(&w->r->clock.map, &n))
		return;
	s.epoch = n.epoch;
	w->r->clock.node_before_clock = w->r->clock.last_node_clock;
	w->r->clock.last_node_clock = s.host_clock_hi;
	w->nodes[w->nr_nodes++] = n;
	w->samples[w->nr_samples++] = s;
}

static void make_moments(struct world *w, uint64_t width)
{
	const bool seldom = !below(w, 8);
	uint64_t ns = START + width;

	while (ns + width < w->end && w->nr_moments < NODES_MAX) {
		w->node_ns[w->nr_moments++] = ns;
		ns += 2 * width + (below(w, 2) ? magnitude(w, 5e6, 100e6) : 100 * MS);
		if (seldom && !below(w, 6))
			ns += magnitude(w, 100e6, 800e6);
	}
}

static void play(struct world *w)
{
	const struct engine_shape shape = {
		.rings = 1, .mode = XVT_ENABLE_STOP, .subbuf_size = 4096, .subbuf_count = 8
	};
	const uint64_t width = magnitude(w, 100, 200e3), busy = magnitude(w, 4e6, 40e6),
		       pass = magnitude(w, 300e3, 16e6);
	uint64_t next_event, next_look, hz, now;

	w->width = width;
	make_moments(w, width);
	hz = w->kind == CATCH_UP ? catch_up(w)
	     : w->kind == SAW	 ? saw(w)
	     : w->kind == STEP	 ? step(w)
				 : moved(w);
	engine_init_shape(&w->e, &shape);
	w->r = w->e.rings[0];
	w->e.writers[0].clock = stamp;
	w->e.writers[0].clock_arg = w;
	xvt_clock_map_init(&w->r->clock.map, hz);
	w->r->clock.map.host_hz = 1000000000;
	w->r->clock.map.host_ticks = true;
	next_event = w->node_ns[0] + 1 + below(w, busy);
	next_look = next_event;
	while (w->measured < w->nr_moments) {
		const uint64_t moment = w->node_ns[w->measured];

		now = next_event < next_look ? next_event : next_look;
		if (moment <= now) {
			measure(w, moment, width);
			w->measured++;
		} else if (next_event <= next_look) {
			write_event(w, next_event);
			next_event += magnitude(w, 50e3, (double)busy);
		} else {
			/* Between two measurements a guest that is silent is evidence. */
			w->r->guest.quiet =
				w->measured && next_look - w->node_ns[w->measured - 1] > 250 * MS;
			if (!below(w, 4))
				hear(w, next_look);
			look(w, next_look, below(w, 8));
			next_look += 1 + magnitude(w, 200e3, (double)pass);
		}
	}
	look(w, next_look, true);
	w->r->clock.map.closed = true;
	merge(w, next_look);
}

/* ------------------------------------------------------------------ the judge */

static const uint32_t flags_of_guesses = XVT_EVENT_F_UNCONFIRMED | XVT_EVENT_F_CLOCK;

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* By how much a time may be wrong, as the format says; the nodes have been settled. */
static uint64_t bound_of(const struct world *w, uint64_t guest, uint64_t ns, bool *beside)
{
	uint64_t most = 0, nearest = UINT64_MAX, found = UINT64_MAX;
	size_t i;

	for (i = 0; i < w->nr_nodes; i++) {
		const struct xvt_clock_node *b = &w->nodes[i], *a = b - 1;

		if (b->segment_bound_ns > most)
			most = b->segment_bound_ns;
		if (apart(b->host_ns, ns) < nearest)
			nearest = apart(b->host_ns, ns);
		if (i && b->epoch == a->epoch && guest >= a->guest && guest <= b->guest &&
		    ns == xvt_clock_line(a, b, guest) && found > b->segment_bound_ns)
			found = b->segment_bound_ns;
	}
	*beside = found == UINT64_MAX;
	return *beside ? most + BESIDE_NS + nearest / 1024 * 8 : found;
}

/* Here events are stamped at once; 2 for the roundings. */
static void judge(struct judged *j, const struct world *w, uint64_t off, uint64_t bound)
{
	bound -= XVT_STAMP_SLACK_NS - 2;
	if ((double)off / (double)bound > j->used)
		j->used = (double)off / (double)bound;
	if (off <= bound)
		return;
	j->beyond++;
	if (off - bound > j->worst_ns) {
		j->worst_ns = off;
		j->worst_bound_ns = bound;
		j->worst_seed = w->seed;
	}
}

static void judge_recorded(struct judged *j, struct world *w)
{
	size_t i;

	ck_assert_int_eq(xvt_nodes_settle(w->nodes, w->nr_nodes), 0);
	for (i = 0; i < w->nr_nodes; i++)
		j->changed += !!(w->nodes[i].flags & XVT_NODE_F_CHANGED);
	for (i = 0; i < w->e.nr_out; i++) {
		const struct engine_event *ev = &w->e.out[i];
		bool beside;
		uint64_t bound;

		if (ev->id != XVT_ID_U64)
			continue;
		j->events++;
		j->flagged += !!(ev->flags & flags_of_guesses);
		if (ev->flags & flags_of_guesses)
			continue;
		bound = bound_of(w, ev->guest, ev->ns, &beside);
		j->beside += beside;
		judge(j, w, apart(ev->ns, ev->second), bound);
		/* What status shows while it is recorded is one bound for all of them. */
		if (!(ev->flags & XVT_EVENT_F_LATE))
			judge(j, w, apart(ev->ns, ev->second),
			      xvt_clock_map_bound_ns(&w->r->clock.map));
	}
}

static int to_file(struct xvt_sink *sink, const void *bytes, size_t len);

struct file {
	struct xvt_sink sink;
	int fd;
};

static int to_file(struct xvt_sink *sink, const void *bytes, size_t len)
{
	return write(((struct file *)sink)->fd, bytes, len) == (ssize_t)len ? 0 : -EIO;
}

static void must(bool ok)
{
	if (!ok)
		ck_abort_msg("the trace could not be made");
}

static struct xvt_trace *make_trace(const struct world *w, const struct xvt_clock_node *nodes)
{
	const struct xvt_file_info info = { .host_clock_id = XVT_CLOCK_TSC, .mult = 1 };
	const struct xvt_vm_info vm = { .name = "g1" };
	const struct xvt_ring_info ring = { .clock_id = XVT_CLOCK_TSC,
					    .clock_hz = w->r->clock.map.hz };
	struct file file = { .sink.write = to_file, .fd = memfd_create("bounds", 0) };
	struct xvt_clock_look written = { 0 };
	struct xvt_trace_writer *t = NULL;
	struct xvt_trace *trace;
	char path[64];
	struct xvt_error why;
	size_t i;

	must(file.fd >= 0 && !xvt_trace_writer_new(&t, &file.sink, &info));
	must(!xvt_trace_put(t, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0));
	must(!xvt_trace_put(t, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0));
	must(!xvt_trace_put(t, XVT_CHUNK_SAMPLES, w->samples, w->nr_samples * sizeof(w->samples[0]),
			    NULL, 0));
	must(!xvt_trace_put(t, XVT_CHUNK_NODE, nodes, w->nr_nodes * sizeof(*nodes), NULL, 0));
	for (i = 0; i < w->e.nr_out; i++) {
		const struct engine_event *ev = &w->e.out[i];
		const struct xvt_written *wr = &w->e.written[i];
		const uint32_t guess = ev->flags & XVT_EVENT_F_UNCONFIRMED ? XVT_LOOK_F_GUESS : 0;
		const struct xvt_clock_look look = { 0,		XVT_LOOK_F_BESIDE | guess,
						     ev->ns,	ev->ns,
						     wr->lo_ns, wr->hi_ns };

		/* As the recorder does: not once more what the look before says. */
		if (!wr->beside || !wr->lo_ns || wr->hi_ns == UINT64_MAX ||
		    !memcmp(&look, &written, sizeof(look)))
			continue;
		written = look;
		must(!xvt_trace_put(t, XVT_CHUNK_LOOKS, &look, sizeof(look), NULL, 0));
	}
	for (i = 0; i < w->e.nr_out; i++) {
		const struct engine_event *ev = &w->e.out[i];
		const struct xvt_event_hdr h = { ev->ns, ev->guest, ev->flags & ~XVT_EVENT_F_LATE,
						 ev->id, sizeof(ev->second) };

		if (ev->id == XVT_ID_U64)
			must(!xvt_trace_event(t, &h, &ev->second));
	}
	must(!xvt_trace_writer_finish(t));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file.fd);
	must(!xvt_trace_open(&trace, path, &why));
	close(file.fd);
	return trace;
}

static void judge_reclocked(struct judged *j, struct world *w, const struct xvt_clock_node *nodes)
{
	struct xvt_trace *t = make_trace(w, nodes);
	const uint64_t *bound_ns;
	struct xvt_reclock *rc;
	struct xvt_event ev;

	must(!xvt_reclock_new(&rc, t));
	bound_ns = xvt_reclock_want_bounds(rc);
	must(!xvt_reclock_begin(rc, 0, UINT64_MAX));
	while (xvt_reclock_next(rc, &ev) == 1) {
		uint64_t truth, bound = *bound_ns;

		memcpy(&truth, ev.payload, sizeof(truth));
		j->events++;
		j->flagged += !!(ev.hdr->ring_flags & flags_of_guesses);
		if (ev.hdr->ring_flags & flags_of_guesses)
			continue;
		ck_assert_uint_lt(bound, XVT_NO_BOUND);
		judge(j, w, apart(ev.hdr->host_ns, truth), bound);
	}
	xvt_reclock_free(rc);
	xvt_trace_close(t);
}

/* As libxvtrace shows it with XVTRACE_BOUND, a bound for each event. */
static void judge_shown(struct judged *j, struct world *w, const struct xvt_clock_node *nodes)
{
	struct xvt_trace *t = make_trace(w, nodes);
	struct xvt_bounds *b;
	struct xvt_cursor c;
	struct xvt_event ev;

	must(!xvt_bounds_new(&b, t) && !xvt_cursor_init(&c, t, 0, UINT64_MAX));
	while (xvt_cursor_next(&c, &ev) == 1) {
		uint64_t truth, bound = xvt_bound_ns(b, ev.hdr);

		memcpy(&truth, ev.payload, sizeof(truth));
		j->events++;
		j->flagged += !!(ev.hdr->ring_flags & flags_of_guesses);
		if (ev.hdr->ring_flags & XVT_EVENT_F_CLOCK)
			ck_assert_uint_eq(bound, XVT_NO_BOUND);
		if (ev.hdr->ring_flags & flags_of_guesses)
			continue;
		ck_assert_uint_lt(bound, XVT_NO_BOUND);
		judge(j, w, apart(ev.hdr->host_ns, truth), bound);
	}
	xvt_cursor_fini(&c);
	xvt_bounds_free(b);
	xvt_trace_close(t);
}

static void one_history(enum kind kind, uint64_t seed, struct judged *recorded,
			struct judged *shown, struct judged *reclocked)
{
	static struct bend bends[BENDS_MAX];
	static struct report reports[BENDS_MAX];
	static struct xvt_clock_node nodes[4 * NODES_MAX];
	static struct world w;

	memset(&w, 0, sizeof(w));
	w.random = w.seed = seed;
	w.kind = kind;
	w.bends = bends;
	w.reports = reports;
	w.end = START + magnitude(&w, 300e6, 1500e6);
	play(&w);
	memcpy(nodes, w.nodes, w.nr_nodes * sizeof(nodes[0]));
	judge_recorded(recorded, &w);
	judge_shown(shown, &w, nodes);
	judge_reclocked(reclocked, &w, nodes);
	engine_fini(&w.e);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void conclude(const char *how, enum kind kind, const struct judged *j)
{
	static const char *const names[] = { "set forward", "a saw", "a step", "moved and back" };

	printf("%s, %s: %" PRIu64 " events, %" PRIu64 " flagged, %" PRIu64
	       " beside a border, %" PRIu64 " beyond their bound\n",
	       names[kind], how, j->events, j->flagged, j->beside, j->beyond);
	ck_assert_msg(!j->beyond,
		      "%s, %s: %" PRIu64 " events beyond their bound, one by %" PRIu64
		      " ns of %" PRIu64 ": XVT_BOUNDS=4 XVT_SEED_BASE=%" PRIu64,
		      names[kind], how, j->beyond, j->worst_ns, j->worst_bound_ns,
		      j->worst_seed - kind);
	/* A trace that flags everything, or says "a second" of everything, is always right. */
	if (j->events > 10000)
		ck_assert_uint_lt(j->flagged, j->events / 2);
}

START_TEST(no_event_without_a_flag_lies_beyond_its_bound)
{
	const uint64_t count = number_of("XVT_BOUNDS", HISTORIES) / KINDS;
	struct judged recorded = { 0 }, shown = { 0 }, reclocked = { 0 };
	uint64_t seed = number_of("XVT_SEED_BASE", 0), i;

	for (i = 0; i < count; i++)
		one_history((enum kind)_i, seed + i * KINDS + (uint64_t)_i, &recorded, &shown,
			    &reclocked);
	conclude("as recorded", (enum kind)_i, &recorded);
	conclude("as shown of each event", (enum kind)_i, &shown);
	conclude("re-clocked", (enum kind)_i, &reclocked);
}
END_TEST

Suite *bounds_suite(void)
{
	Suite *s = suite_create("bounds");
	TCase *tc = tcase_create("histories");

	tcase_set_timeout(tc, 600); /* for a hang, not for a slow machine */
	tcase_add_loop_test(tc, no_event_without_a_flag_lies_beyond_its_bound, 0, KINDS);
	suite_add_tcase(s, tc);
	return s;
}
