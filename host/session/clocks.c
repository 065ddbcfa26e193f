// SPDX-License-Identifier: GPL-2.0
/*
 * clocks.c - measures the rings' clocks when they are due (pace.c), and applies the results.
 *
 * A guest polls its mailbox every few milliseconds and then stays a little for follow-up requests
 * (clock/handshake.c). To service it there, the host has to poll every open measurement many times
 * within that little, however many rings there are. Only a limited number of measurements is
 * open at a time (`asked`); the others wait for their turn.
 */
#include "session/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "clock/seen.h"

#define BEGIN_PART	 2	    /* XVT_CLOCKS_PART before all machines have joined */
#define LEFT_MOST_NS	 8000000ull /* most unused share that is kept */
#define LOOK_MOST_NS	 2000000ull /* most charged for one service: the exchanges of one */
#define WIDE_PATIENCE_NS 5000000000ull
#define CLOCKS_NS	 8000000ull /* longest time that clocks may take of a pass */
#define MEET_NS		 50000ull   /* between two polls for answers during a pass */
#define MEET_PART	 2	    /* and at least this many times as long as a poll */
#define MARK_RESTS	 4	    /* measurements of a resting ring for each of its marks */
#define SCAN_RING_NS	 50ull	    /* for each ring: between two scans for due rings */
#define COARSE_NS	 50ull	    /* a clock with longer steps shows that in its measurements */

/* Leave the newest node in the region, for salvage when recorder and guest are both gone. */
static void leave_hint(struct xvt_ring *r, const struct xvt_clock_node *n)
{
	struct xvt_ring_host *h = r->mail_host;

	r->words.hint_seq |= 1; /* odd: being written */
	xvt_store(&h->hint_seq, r->words.hint_seq);
	xvt_wmb();
	xvt_store(&h->hint_guest, n->guest);
	xvt_store(&h->hint_host_ns, n->host_ns);
	xvt_store(&h->hint_bound_ns, n->bound_ns);
	xvt_store(&h->hint_hz, r->clock.map.hz);
	xvt_store_release(&h->hint_seq, ++r->words.hint_seq);
}

/* Write the gathered samples and nodes into the trace. A node follows its samples and precedes the
 * events that it places. */
void xvt_session_put_measured(struct xvt_session *s)
{
	struct xvt_measured *m = &s->clocks.measured;

	if (m->nr_samples)
		xvt_trace_put(s->trace, XVT_CHUNK_SAMPLES, m->samples,
			      m->nr_samples * sizeof(m->samples[0]), NULL, 0);
	if (m->nr_nodes)
		xvt_trace_put(s->trace, XVT_CHUNK_NODE, m->nodes, m->nr_nodes * sizeof(m->nodes[0]),
			      NULL, 0);
	m->nr_samples = m->nr_nodes = 0;
}

static void keep_measured(struct xvt_session *s, const struct xvt_clock_measure *from)
{
	struct xvt_measured *m = &s->clocks.measured;

	if (m->nr_nodes == XVT_MEASURED_MAX)
		xvt_session_put_measured(s);
	memcpy(m->samples + m->nr_samples, from->samples, from->nr_samples * sizeof(m->samples[0]));
	m->nr_samples += from->nr_samples;
	m->nodes[m->nr_nodes++] = from->node;
}

void xvt_session_put_inferred_node(struct xvt_session *s, struct xvt_ring *r)
{
	if (!r->clock.inferred_new || r->measure.inferred_put)
		return;
	xvt_session_put_measured(s);
	xvt_trace_put(s->trace, XVT_CHUNK_NODE, &r->clock.inferred, sizeof(r->clock.inferred), NULL,
		      0);
	r->measure.inferred_put = true;
}

void xvt_session_put_inferred(struct xvt_session *s, struct xvt_ring *r)
{
	if (!r->clock.inferred_new)
		return;
	xvt_session_put_inferred_node(s, r);
	r->clock.inferred_new = r->measure.inferred_put = false;
	r->measure.inferred_clock = xvt_clock_read();
}

/*
 * Returns true for a node that is too wide to use. A clock jump could hide inside a wide node: an
 * exchange that began before a pause and ended after it spans all of it. Wait for a better node; on
 * a machine that never gives one, use a wide one after WIDE_PATIENCE_NS. A wide answer still counts
 * as an answer: the guest is not silent. But it confirms nothing, so meanwhile the waiting records
 * are placed by inferred nodes, as if there had been no answer.
 *
 * Where events are only seen, a node is as wide as the recorder looks seldom. Until the ring has a
 * clock nothing is placed by it, and its rate takes wide nodes that are far enough from each other.
 */
static bool too_wide(const struct xvt_session *s, struct xvt_ring *r,
		     const struct xvt_clock_node *n)
{
	uint64_t now = xvt_clock_read();

	if (n->bound_ns <= XVT_WIDE_NS || !r->clock.map.count ||
	    (r->phase == XVT_PHASE_NEW && xvt_vm_of_ring(r)->passive)) {
		r->measure.wide_clock = 0;
		return false;
	}
	if (!r->measure.wide_clock)
		r->measure.wide_clock = now;
	if (since(now, r->measure.wide_clock) > ticks(s, WIDE_PATIENCE_NS))
		return false;
	r->clock.next_burst_clock = 0;
	return true;
}

/*
 * Drop old nodes of a ring without records that was proven idle: its next record is later than that
 * proof. In a ring with records, nodes are dropped as records are placed. In phase NEW all nodes
 * are kept, because the rate needs the first one.
 */
static void forget_nodes(const struct xvt_session *s, struct xvt_ring *r)
{
	uint64_t idle_ns;

	if (is_snapshot(s) || r->phase == XVT_PHASE_NEW || !r->drain.idle || r->head.have ||
	    r->drain.first || xvt_ring_ready(r))
		return;
	idle_ns = xvt_host_clock_ns(&s->clock, r->drain.idle_clock);
	if (idle_ns > r->clock.map.slack_ns)
		xvt_clock_map_forget(&r->clock.map, idle_ns - r->clock.map.slack_ns);
}

/* While the machine's memory is used up, a ring without waiting records keeps only its
 * newest node. */
static int add_node(struct xvt_ring *r, struct xvt_clock_node *node)
{
	int err = xvt_ring_add_node(r, node);

	if (err != -ENOMEM || r->head.have || r->drain.first || xvt_ring_ready(r))
		return err;
	xvt_clock_map_forget(&r->clock.map, UINT64_MAX);
	return xvt_clock_map_add(&r->clock.map, node);
}

/* The ring has a clock. The ring's next measurement follows the idle pace. */
static void begin_ring(struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	r->clock.next_burst_clock = xvt_session_next_idle_burst(s, r, now);
	xvt_session_unpark(s, r);
	xvt_session_ring_live(s, r);
}

static void use_rate(struct xvt_session *s, struct xvt_ring *r, uint64_t hz, uint64_t doubt_ppb,
		     bool open)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->clock.map);

	if (r->clock.map.hz != hz && last) {
		memset(r->clock.map.gains, 0, sizeof(r->clock.map.gains));
		r->clock.trusted_ns = last->host_ns;
		/* In the trace, the nodes of the rate before stand before the other one. */
		xvt_session_put_inferred_node(s, r);
		xvt_session_put_measured(s);
	}
	r->clock.map.hz = hz;
	r->clock.rate_open = false;
	r->clock.map.hz_doubt_ppb = doubt_ppb;
	r->clock.map.hz_open = open;
	r->clock.map.slack_ns = 0; /* of segments at another rate */
	if (r->session.announced)
		xvt_ring_announce(s, r);
}

/* Rings whose counter is of the host's kind tick alike: the first one that has a rate gives it to
 * the others. Any other clock is the ring's own. */
static bool is_shared(const struct xvt_session *s, const struct xvt_ring *r)
{
	return xvt_load(&r->ctl->clock_id) == s->clock.clock_id;
}

/* The first rate of a machine's ring is also what the trace says of the machine. */
static void share_rate(struct xvt_session *s, struct xvt_ring *from, uint64_t now)
{
	struct xvt_vm *vm = xvt_vm_of_ring(from);
	const bool shared = is_shared(s, from);
	uint32_t i;

	if (!vm->clocks.hz_known || (shared && !vm->clocks.rate_shared)) {
		vm->clocks.guest_hz = from->clock.map.hz;
		vm->clocks.hz_known = true;
		xvt_vm_announce(s, vm);
	}
	if (!shared || vm->clocks.rate_shared)
		return;
	vm->clocks.rate_shared = true;
	for (i = 0; i < vm->region.g.ring_count; i++) {
		struct xvt_ring *r = vm->rings[i];

		if (!r || r == from || r->clock.rate.hz || !is_shared(s, r))
			continue;
		use_rate(s, r, from->clock.map.hz, from->clock.map.hz_doubt_ppb,
			 from->clock.map.hz_open);
		if (r->phase == XVT_PHASE_NEW && r->clock.map.count)
			begin_ring(s, r, now);
	}
}

/* Returns true if the ring's clock has a rate. A shared one is the machine's until the ring's own
 * measurements give it. */
static bool rate_known(const struct xvt_session *s, const struct xvt_ring *r)
{
	return r->clock.rate.hz ||
	       (xvt_vm_of_ring(r)->clocks.rate_shared && is_shared(s, r) && r->clock.map.count);
}

/* True if a stop or a change is known since the last measurement, so that the gap is no rate. */
static bool is_broken(const struct xvt_ring *r, const struct xvt_clock_node *before,
		      const struct xvt_clock_node *node)
{
	return node->flags & XVT_NODE_F_CHANGED ||
	       (r->clock.map.stop_ns && r->clock.map.stop_ns + before->bound_ns >= before->host_ns);
}

static void learn_rate(struct xvt_session *s, struct xvt_ring *r,
		       const struct xvt_clock_node *before, const struct xvt_clock_measure *m,
		       uint64_t now)
{
	const struct xvt_clock_node *node = &m->node;
	const uint64_t old_hz = r->clock.rate.hz ? r->clock.rate.hz : r->clock.map.hz;

	const bool other =
		xvt_clock_rate_add(&r->clock.rate, node, &m->within, is_broken(r, before, node));

	/* Until then it may have another ring's rate, with that ring's doubt. */
	if (r->clock.rate.hz) {
		r->clock.rate_open = false;
		r->clock.map.hz_doubt_ppb = r->clock.rate.doubt_ppb;
		r->clock.map.hz_open = r->clock.rate.open;
	}
	if (!other)
		return;
	use_rate(s, r, r->clock.rate.hz, r->clock.rate.doubt_ppb, r->clock.rate.open);
	share_rate(s, r, now);
	if (r->phase != XVT_PHASE_NEW &&
	    xvt_u64_apart(old_hz, r->clock.rate.hz) > r->clock.rate.hz / 1000)
		xvt_session_note(s, 1, xvt_vm_of_ring(r), r->id,
				 "cpu %u: its clock counts at %" PRIu64 " Hz, not at %" PRIu64
				 " Hz as it seemed before",
				 xvt_load(&r->ctl->cpu), r->clock.rate.hz, old_hz);
}

/* By how much the answer of a clock that steps may be older than the moment at which it was read;
 * 0: no more than a counter's usual tick. */
static uint64_t coarse_ns(const struct xvt_ring *r)
{
	const uint32_t step = r->clock.map.clock_step;
	const uint64_t ns = xvt_ticks_ns(step > 1 ? step : 1, r->clock.map.hz);

	return ns > COARSE_NS ? ns : 0;
}

/*
 * The step of the ring's clock, as far as its answers show it. It is no larger than what they have
 * in common, and that stands for it until there were enough of them; a counter of the host's kind
 * has none that matters.
 */
static uint32_t step_shown(const struct xvt_session *s, const struct xvt_ring *r,
			   const struct xvt_clock_measure *m)
{
	return m->clock_step_known || !is_shared(s, r) ? m->clock_step_most : 0;
}

/* The writer's word counts if that is more. */
static void learn_step(struct xvt_session *s, struct xvt_ring *r, uint32_t shown)
{
	const uint32_t step = shown > r->clock.step_said ? shown : r->clock.step_said;
	const bool longer = step > r->clock.map.clock_step;
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->clock.map);

	if (step == r->clock.map.clock_step)
		return;
	r->clock.map.clock_step = step;
	if (!longer)
		r->clock.map.slack_ns = 0; /* of segments with a longer one */
	else if (coarse_ns(r) && last)
		r->clock.trusted_ns = last->host_ns; /* older segments do not have it */
	if (r->session.announced)
		xvt_ring_announce(s, r);
}

static void take_node(struct xvt_session *s, struct xvt_ring *r, struct xvt_clock_measure *m)
{
	const struct xvt_clock_node before = r->clock.map.measured;
	bool wide = too_wide(s, r, &m->node);
	unsigned int i;

	r->guest.wide =
		wide && since(xvt_clock_read(), r->measure.wide_clock) > ticks(s, XVT_QUIET_NS);
	if (wide)
		return;
	r->clock.map.step_open = !m->clock_step_most && !is_shared(s, r);
	learn_step(s, r, step_shown(s, r, m));
	m->node.bound_ns = xvt_u64_sum(m->node.bound_ns, coarse_ns(r));
	xvt_session_put_inferred(s, r); /* in the trace before its successor */
	forget_nodes(s, r);
	if (add_node(r, &m->node))
		return;
	xvt_session_adapt_rest(s, r, &before, &m->node);
	xvt_session_exact_added(r, &m->node);
	for (i = 0; i < m->nr_samples; i++)
		m->samples[i].epoch = m->node.epoch;
	keep_measured(s, m);
	leave_hint(r, &m->node);
	/* A node that comes too soon, or that no page can be made of, is left out: the previous
	 * page still holds. */
	xvt_clock_pages_node(&r->measure.pages, &m->node, r->clock.map.hz);
	r->account.stats.samples += m->nr_samples;
	r->account.stats.source = m->node.source;
	r->clock.node_before_clock = r->clock.last_node_clock;
	r->clock.last_node_clock = m->host_clock_hi;
	learn_rate(s, r, &before, m, xvt_clock_read());
	if (m->node.flags & XVT_NODE_F_FIRST && m->node.epoch)
		xvt_session_note(s, 1, xvt_vm_of_ring(r), r->id,
				 "cpu %u: guest and host time came apart; clock epoch %u begins",
				 xvt_load(&r->ctl->cpu), m->node.epoch);
}

/* ------------------------------------------------------------------ time for a machine */

/* Returns what is beyond `most`. */
static uint64_t add_time(int64_t *left, uint64_t more, uint64_t most)
{
	*left += (int64_t)more;
	if (*left <= (int64_t)most)
		return 0;
	more = (uint64_t)(*left - (int64_t)most);
	*left = (int64_t)most;
	return more;
}

/* Half of the time for measurements is divided between the machines, half between their users, for
 * any of their machines. Ticks that users leave are common to all. */
static void refill_time(struct xvt_session *s, uint64_t now)
{
	const uint64_t elapsed = since(now, s->clocks.refill_clock), most = ticks(s, LEFT_MOST_NS);
	const uint64_t half = elapsed / (s->passes.joined ? XVT_CLOCKS_PART : BEGIN_PART) / 2;
	uint64_t left = 0;
	size_t i;

	if (elapsed < ticks(s, LEFT_MOST_NS) / 8)
		return;
	s->clocks.refill_clock = now;
	for (i = 0; i < s->share.nr_owners; i++)
		left += add_time(&s->share.owners[i]->clocks_left, half / xvt_session_owners(s),
				 most);
	add_time(&s->clocks.left, left, most);
	for (i = 0; i < s->nr_vms; i++)
		add_time(&s->vms[i]->clocks.left, half / xvt_session_sharing(s, s->vms[i]) + 1,
			 most);
}

/* Returns true if the ring's machine has time left. A single machine has no limit: it delays no
 * other one. */
static bool has_time(const struct xvt_session *s, const struct xvt_ring *r)
{
	const struct xvt_vm *vm = xvt_vm_of_ring(r);

	return vm->clocks.left > 0 || vm->owner->clocks_left > 0 || s->clocks.left > 0 ||
	       xvt_session_sharing(s, vm) < 2;
}

static void take_time(struct xvt_session *s, const struct xvt_ring *r, uint64_t begin)
{
	struct xvt_vm_clocks *c = &xvt_vm_of_ring(r)->clocks;
	const uint64_t most = ticks(s, LOOK_MOST_NS);
	uint64_t took = since(xvt_clock_read(), begin);

	/* The time used is charged, up to LOOK_MOST_NS: a longer time means that the recorder
	 * waited for a CPU. */
	took = took < most ? took : most;
	if (c->left > 0)
		c->left -= (int64_t)took;
	else if (xvt_vm_of_ring(r)->owner->clocks_left > 0)
		xvt_vm_of_ring(r)->owner->clocks_left -= (int64_t)took;
	else
		s->clocks.left -= (int64_t)took;
	c->took += took;
}

static void mark_while_serviced(void *arg)
{
	xvt_session_mark(arg);
}

/* The rates that the ring's clock may have. The ring's writer has begun, and says which clock it
 * is. */
static void expect_rate(const struct xvt_session *s, struct xvt_ring *r)
{
	const struct xvt_vm *vm = xvt_vm_of_ring(r);
	const bool hosts_kind = is_shared(s, r);

	r->clock.map.host_hz = s->clock.clock_id == XVT_CLOCK_TSC ? s->clock.hz : 0;
	r->clock.map.host_ticks = hosts_kind;
	xvt_clock_rate_init(&r->clock.rate, hosts_kind || vm->passive ? s->clock.hz : 0,
			    vm->region.hdr.clock_hz);
	r->clock.map.clock_traits = xvt_load(&r->ctl->clock_traits) & XVT_CLOCK_T_ORDERED;
	r->clock.rate_open = !xvt_vm_is_host(vm);
	r->clock.step_said = xvt_load(&r->ctl->clock_step);
	r->clock.map.clock_step = r->clock.step_said;
}

/* Open the ring's clock source. Returns false while the ring has no writer to ask. */
static bool open_source(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_clock_target t = { .ctl = r->mail_ctl,
				      .host = r->mail_host,
				      .host_clock = &s->clock,
				      .guest_hz = &r->clock.map.hz,
				      .rate_open = &r->clock.rate_open,
				      .rate_doubt_ppb = &r->clock.map.hz_doubt_ppb,
				      .rate = &r->clock.rate,
				      .ring = r->id,
				      .exchanges = &xvt_vm_of_ring(r)->clocks.exchanges,
				      .looked = &s->clocks.looked_clock,
				      .way = &s->way.ops,
				      /* In a snapshot, a mark would add a record to a full ring. */
				      .met = is_snapshot(s) ? NULL : mark_while_serviced,
				      .met_arg = r };

	if (r->measure.source)
		return true;
	if (xvt_load(&r->ctl->state) != XVT_RING_ONLINE)
		return false;
	expect_rate(s, r);
	r->measure.source_ops = xvt_vm_of_ring(r)->passive ? &xvt_clock_seen
				: !xvt_ring_is_asked(r)	   ? &xvt_clock_own
							   : &xvt_clock_handshake;
	if (r->measure.source_ops->open(&r->measure.source, &t))
		return false;
	/* Announce the ring first: the trace may end at any byte, and a reader must know the ring
	 * of each sample and node. */
	xvt_ring_announce(s, r);
	if (!is_snapshot(s) && xvt_ring_is_asked(r))
		xvt_session_page_open(s, r);
	return true;
}

/*
 * Returns true if a measurement is due. Even with "at once" (next_burst_clock 0), XVT_BURST_GAP_NS
 * lie between two: a guest whose every record contradicts its clock must not keep the host
 * measuring.
 */
static bool is_due(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	return !r->measure.source_ops->busy(r->measure.source) &&
	       (int64_t)(now - xvt_session_burst_due(r)) >= 0 &&
	       since(now, r->measure.burst_clock) >= ticks(s, XVT_BURST_GAP_NS);
}

static void ask(struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	xvt_session_unpark(s, r); /* a ring with an open request is active */
	xvt_session_exact_begin(s, r);
	r->measure.source_ops->start(r->measure.source);
	r->measure.burst_clock = now;
	/* Recording begins when the ring has a clock, which takes two measurements. */
	r->clock.next_burst_clock = r->phase == XVT_PHASE_NEW
					    ? now + ticks(s, XVT_BURST_EVERY_NS)
					    : xvt_session_next_idle_burst(s, r, now);
	r->clock.rest_commit = r->drain.last.commit;
	/* A mark is a record, which needs a measurement of its own. */
	r->mark.pace = xvt_u64_larger(xvt_vm_of_ring(r)->clocks.mark_pace,
				      MARK_RESTS * ticks(s, r->clock.rest_ns));
	if (r->measure.answered)
		r->measure.answer_clock = now; /* silence begins with this request */
	r->measure.answered = !xvt_ring_is_asked(r);
}

static void answered(struct xvt_session *s, struct xvt_ring *r, struct xvt_clock_measure *m,
		     uint64_t now)
{
	xvt_session_unpark(s, r);
	r->measure.answer_clock = now;
	r->measure.answered = true;
	xvt_vm_of_ring(r)->clocks.bursts++;
	xvt_session_kvm_hear(s, r);
	xvt_session_exact_refine(s, r, m);
	take_node(s, r, m);
	if (r->phase == XVT_PHASE_NEW && rate_known(s, r)) {
		begin_ring(s, r, now);
	} else if (r->phase == XVT_PHASE_ASIDE && r->clock.map.closed) {
		xvt_ring_set_phase(r, XVT_PHASE_LIVE);
		r->session.live_ns = xvt_host_clock_ns(&s->clock, now);
		r->clock.map.closed = false;
	}
	if (r->measure.quiet_reported) {
		r->session.live_ns = xvt_host_clock_ns(&s->clock, now);
		xvt_session_note(s, 0, xvt_vm_of_ring(r), r->id, "cpu %u: answers again",
				 xvt_load(&r->ctl->cpu));
	}
	r->measure.quiet_reported = false;
}

void xvt_session_clock_ends(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_clock_measure m;

	if (!r->measure.source)
		return;
	r->measure.source_ops->start(r->measure.source);
	if (r->measure.source_ops->poll(r->measure.source, &m) == 1)
		answered(s, r, &m, xvt_clock_read());
}

void xvt_session_clock_is(struct xvt_session *s, struct xvt_ring *r, uint32_t clock_id, uint64_t hz)
{
	xvt_store(&r->ctl->clock_id, clock_id);
	if (r->measure.source)
		r->measure.source_ops->close(r->measure.source);
	r->measure.source = NULL; /* opened again, and expects the rates of this clock */
	use_rate(s, r, hz, 0, false);
	r->clock.next_burst_clock = 0;
}

/* Service one ring's clock: start a measurement if may_ask and one is due, and poll the
 * open one. */
static void service_clock(struct xvt_session *s, struct xvt_ring *r, bool may_ask, uint64_t now)
{
	struct xvt_clock_measure m;

	if (r->phase == XVT_PHASE_BROKEN || (is_snapshot(s) && r->clock.map.closed))
		return;
	xvt_session_mark_look(r);
	if (!open_source(s, r))
		return;
	if (may_ask && is_due(s, r, now))
		ask(s, r, now);
	if (r->measure.source_ops->poll(r->measure.source, &m) == 1)
		answered(s, r, &m, now);
}

void xvt_session_ring_clock(struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	service_clock(s, r, true, now);
	xvt_session_put_measured(s);
}

/* ------------------------------------------------------------------ scheduling */

static bool is_open(const struct xvt_ring *r)
{
	return r->phase != XVT_PHASE_BROKEN && r->measure.source &&
	       r->measure.source_ops->busy(r->measure.source);
}

static size_t at_least(size_t n, size_t least)
{
	return n > least ? n : least;
}

/*
 * Returns true if the ring's machine may open another measurement. A machine may have its share of
 * the open measurements, or four, and so may a user: machines that answer slowly must not keep the
 * others from being measured. Rings that did not answer their last request have a quarter of the
 * measurements, of which each machine has its share.
 */
static bool may_measure(const struct xvt_session *s, const struct xvt_ring *r, bool silent)
{
	const struct xvt_vm *vm = xvt_vm_of_ring(r);
	const struct xvt_vm_clocks *c = &vm->clocks;
	const size_t most = xvt_session_asked_most(s), vms = xvt_session_sharing(s, vm);

	if (r->phase == XVT_PHASE_DONE) /* without a writer */
		return false;
	if (!has_time(s, r) || c->nr_asked >= at_least(most / vms, 4) ||
	    vm->owner->nr_asked >= at_least(most / xvt_session_owners(s), 4))
		return false;
	return !silent ||
	       (c->nr_silent < at_least(most / 4 / vms, 1) && s->clocks.nr_silent < most / 2);
}

static void wait_for_answer(struct xvt_asked *a)
{
	const struct xvt_clock_source_ops *ops = a->ring->measure.source_ops;

	if (!ops->waits || !ops->waits(a->ring->measure.source, &a->wait))
		a->wait.word = NULL;
}

/* Most open measurements only need this test of one word. */
static bool still_waits(const struct xvt_asked *a, uint64_t now)
{
	return a->wait.word && earlier(now, a->wait.until) &&
	       xvt_load(a->wait.word) != a->wait.value;
}

static void enter(struct xvt_session *s, struct xvt_ring *r, bool silent, uint64_t now)
{
	s->clocks.asked[s->clocks.nr_asked] = (struct xvt_asked){ .ring = r, .silent = silent };
	wait_for_answer(&s->clocks.asked[s->clocks.nr_asked++]);
	s->clocks.nr_silent += silent;
	xvt_vm_of_ring(r)->clocks.nr_silent += silent;
	xvt_vm_of_ring(r)->clocks.nr_asked++;
	xvt_vm_of_ring(r)->owner->nr_asked++;
	r->measure.asked = true;
	s->clocks.due[r->session.slot] = now + ticks(s, SECOND_NS); /* until the measurement ends */
}

/* The guest answers again, and stays for the exchanges that follow. */
static void no_more_silent(struct xvt_session *s, struct xvt_asked *a)
{
	s->clocks.nr_silent -= a->silent;
	xvt_vm_of_ring(a->ring)->clocks.nr_silent -= a->silent;
	a->silent = false;
}

static void leave(struct xvt_session *s, struct xvt_asked *a, uint64_t now)
{
	no_more_silent(s, a);
	xvt_vm_of_ring(a->ring)->clocks.nr_asked--;
	xvt_vm_of_ring(a->ring)->owner->nr_asked--;
	a->ring->measure.asked = false;
	s->clocks.due[a->ring->session.slot] = xvt_session_ring_due(s, a->ring, now);
	s->clocks.first_due = sooner(s->clocks.first_due, s->clocks.due[a->ring->session.slot]);
}

void xvt_session_clock_forget(struct xvt_session *s, const struct xvt_vm *vm)
{
	size_t i;

	for (i = 0; i < s->clocks.nr_asked; i++) {
		if (s->clocks.asked[i].ring->vm == vm->id)
			s->clocks.asked[i].wait.word = NULL;
	}
}

/*
 * Poll all open measurements. A ring that was not polled for want of time is the first one in the
 * next call. Returns how many were sent a further request.
 */
static size_t poll_asked(struct xvt_session *s, uint64_t now, uint64_t until)
{
	size_t i = s->clocks.first_asked, left = s->clocks.nr_asked, again = 0;
	uint64_t begin = xvt_clock_read(), at;
	bool any = false;

	for (; left; left--) {
		struct xvt_asked *a = &s->clocks.asked[i = i < s->clocks.nr_asked ? i : 0];

		if (still_waits(a, now) || !has_time(s, a->ring)) {
			i++;
			continue;
		}
		at = xvt_clock_read();
		if (any && !earlier(at, until))
			break;
		any = true;
		if (a->wait.word && xvt_load(a->wait.word) == a->wait.value)
			no_more_silent(s, a);
		/* A new measurement is begun in another service. */
		service_clock(s, a->ring, false, now);
		take_time(s, a->ring, at);
		if (is_open(a->ring)) {
			wait_for_answer(a);
			again++;
			i++;
		} else {
			leave(s, a, now);
			*a = s->clocks.asked[--s->clocks.nr_asked];
		}
	}
	if (!left)
		s->clocks.looked_clock = begin;
	s->clocks.first_asked = i;
	return left ? 0 : again;
}

/* Start the measurements that are due. Returns true if the time was too short for all of them. */
static bool start_due(struct xvt_session *s, uint64_t now, uint64_t until)
{
	uint64_t earliest = now + ticks(s, SECOND_NS), at;
	size_t left, id = s->clocks.next_ring, next = id;
	bool silent, out_of_time = false;

	for (left = s->nr_rings; left && s->clocks.nr_asked < xvt_session_asked_most(s); left--) {
		struct xvt_ring *r;

		id = id < s->nr_rings ? id : 0;
		if (earlier(now, s->clocks.due[id])) {
			earliest = sooner(earliest, s->clocks.due[id++]);
			continue;
		}
		at = xvt_clock_read();
		out_of_time = !earlier(at, until);
		if (out_of_time)
			break;
		r = s->rings[id++];
		if (r->measure.asked)
			continue;
		xvt_session_service_clocks(s);
		silent = r->measure.burst_clock && !r->measure.answered;
		service_clock(s, r, may_measure(s, r, silent), now);
		take_time(s, r, at);
		if (is_open(r)) {
			enter(s, r, silent, now);
			next = id;
			continue;
		}
		s->clocks.due[r->session.slot] = xvt_session_ring_due(s, r, now);
		earliest = sooner(earliest, s->clocks.due[r->session.slot]);
	}
	/* The next scan begins behind the last ring that started a measurement: some rings may
	 * start one only when others of their machine have ended. */
	s->clocks.next_ring = left ? id : next;
	s->clocks.first_due = left ? now : earliest;
	return out_of_time;
}

void xvt_session_service_clocks(struct xvt_session *s)
{
	uint64_t now = xvt_clock_read(), least = ticks(s, MEET_NS), took, at;
	size_t i;

	/* A snapshot must not be delayed: writers overwrite what it copies. */
	if (!s->clocks.nr_asked || is_snapshot(s) || earlier(now, s->clocks.next_meet_clock))
		return;
	for (i = 0; i < s->clocks.nr_asked; i++) {
		struct xvt_asked *a = &s->clocks.asked[i];

		/* The pass may be working on this ring: only its mailbox is serviced. */
		if (!a->wait.word || still_waits(a, now) || !has_time(s, a->ring))
			continue;
		at = xvt_clock_read();
		if (since(xvt_clock_read(), now) > ticks(s, CLOCKS_NS) / 8)
			break;
		if (xvt_load(a->wait.word) == a->wait.value)
			a->ring->measure.source_ops->exchange(a->ring->measure.source);
		wait_for_answer(a); /* the next pass evaluates the answer */
		take_time(s, a->ring, at);
	}
	if (i == s->clocks.nr_asked)
		s->clocks.looked_clock = now;
	took = since(xvt_clock_read(), now);
	s->clocks.took += took;
	s->clocks.next_meet_clock =
		now + took + (took * MEET_PART > least ? took * MEET_PART : least);
}

bool xvt_session_clocks(struct xvt_session *s, uint64_t now)
{
	uint64_t begin = xvt_clock_read(), until = begin + ticks(s, CLOCKS_NS);
	bool more = false;

	refill_time(s, now);
	/* A guest that was sent a further request and still polls has answered by now. */
	if (poll_asked(s, now, until))
		poll_asked(s, now, until);
	if (!earlier(now, s->clocks.first_due) && !earlier(now, s->clocks.next_scan_clock)) {
		more = start_due(s, now, until);
		s->clocks.next_scan_clock = now + ticks(s, SCAN_RING_NS * s->nr_rings);
	}
	xvt_session_put_measured(s);
	s->clocks.took += since(xvt_clock_read(), begin);
	/* A guest that stands still or is gone answers late or never: it is worth no quick pass. */
	return s->clocks.nr_asked > s->clocks.nr_silent || more;
}
