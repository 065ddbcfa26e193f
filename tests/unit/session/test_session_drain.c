// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_drain.c - parked rings: which may be parked, what wakes them, and that none waits
 * for them; and whose clock is asked for when there are more rings than questions. The clock source
 * is a script: it answers when the test wants it to.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <stdlib.h>

#include "faults.h"
#include "base/json.h"
#include "base/u64.h"
#include "recording.h"
#include "view/verify.h"
#include "xvt_writer.h"

#define RINGS  4u
#define PASSES 20000u /* more than anything here takes */

static struct recording rec;
static struct xvt_session *s;
static struct xvt_writer writers[RINGS];

/* --- a source that answers at once --- */

/* What its answers show of the clock's step. */
static uint32_t step_most;
static bool step_known;

static void at_once_start(struct xvt_clock_source *source)
{
	(void)source;
}

static int at_once_poll(struct xvt_clock_source *source, struct xvt_clock_measure *m)
{
	struct xvt_ring *r = (struct xvt_ring *)source;
	uint64_t host = xvt_clock_read_ordered(), half = ticks(s, 20);

	if (r->measure.answered)
		return 0;
	memset(m, 0, sizeof(*m));
	m->samples[0].ring = m->node.ring = r->id;
	m->samples[0].source = m->node.source = XVT_SOURCE_HANDSHAKE;
	m->samples[0].guest = m->node.guest = host;
	m->samples[0].host_clock_lo = m->host_clock_lo = host - half;
	m->samples[0].host_clock_hi = m->host_clock_hi = host + half;
	m->nr_samples = 1;
	m->node.host_ns = xvt_host_clock_ns(&s->clock, host);
	m->node.bound_ns = 20;
	m->clock_step_most = step_most;
	m->clock_step_known = step_known;
	return 1;
}

static bool at_once_busy(const struct xvt_clock_source *source)
{
	(void)source;
	return false;
}

static void no_close(struct xvt_clock_source *source)
{
	(void)source;
}

static const struct xvt_clock_source_ops at_once = {
	.name = "at once",
	.id = XVT_SOURCE_HANDSHAKE,
	.start = at_once_start,
	.poll = at_once_poll,
	.busy = at_once_busy,
	.close = no_close,
};

/* --- a machine whose rings rest --- */

static void pass(void)
{
	uint64_t sleep_ns;

	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
	ck_assert_int_ge(xvt_loop_run(rec.loop, sleep_ns), 0);
}

static bool rests(uint32_t i)
{
	return rec.vm->parked[i].ctl != NULL;
}

static bool all_rest(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < RINGS; i++)
		n += rests(i);
	return n == RINGS;
}

static void until_all_rest(void)
{
	unsigned int n;

	for (n = 0; n < PASSES && !all_rest(); n++)
		pass();
	ck_assert(all_rest());
}

/* No request of its clock is open, and none is due. */
static void leave_in_peace(uint32_t i)
{
	s->rings[i]->clock.next_burst_clock = s->clocks.due[i] =
		xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	s->scan.unpark_clock = s->clocks.due[i];
}

static void setup_mode(uint32_t mode)
{
	struct xvt_session_options opt = { .mode = mode,
					   .join_timeout_ns = 60 * SECOND_NS,
					   .stall_timeout_ns = 60 * SECOND_NS,
					   .memory_bytes = 1 << 20 };
	uint32_t i;

	recording_begin(&rec, RINGS, &opt);
	s = rec.s;
	for (i = 0; i < RINGS; i++) {
		struct xvt_ring *r = s->rings[i];

		xvt_writer_init(&writers[i], rec.map, &rec.g, i);
		xvt_store(&writers[i].ctl->type, XVT_RING_VCPU);
		xvt_store_release(&writers[i].ctl->state, XVT_RING_ONLINE);
		r->measure.source = (struct xvt_clock_source *)r;
		r->measure.source_ops = &at_once;
	}
	until_all_rest();
	for (i = 0; i < RINGS; i++)
		leave_in_peace(i);
}

static void setup(void)
{
	setup_mode(XVT_ENABLE_STOP);
}

static void setup_overwrite(void)
{
	setup_mode(XVT_ENABLE_OVERWRITE);
}

static void teardown(void)
{
	recording_end(&rec);
}

static void write_one(uint32_t i)
{
	uint64_t word = i;

	ck_assert_int_eq(xvt_write(&writers[i], XVT_ID_U64, &word, sizeof(word)), 0);
}

START_TEST(an_event_does_not_wait_for_rings_at_rest)
{
	uint64_t before = s->merge.emitted;
	unsigned int n;

	write_one(1);
	for (n = 0; n < PASSES && s->merge.emitted == before; n++) {
		pass();
		ck_assert(rests(0) && rests(2) && rests(3));
	}
	ck_assert_uint_gt(s->merge.emitted, before);
	ck_assert_uint_eq(s->merge.late, 0);
	ck_assert_uint_eq(s->rings[1]->account.stats.events, 1);
}
END_TEST

static uint64_t in_the_file;

static uint64_t written(const struct xvt_sink *sink)
{
	(void)sink;
	return in_the_file;
}

/* The write takes a while, and the ring is awake all the time. */
START_TEST(a_checkpoint_ends_whatever_is_active_meanwhile)
{
	const struct xvt_ring_host *h = s->rings[1]->host;
	unsigned int n;

	in_the_file = 0;
	rec.sink.sink.written = written;
	write_one(1);
	for (n = 0; n < PASSES && !s->checkpoint.in_flight; n++) {
		xvt_session_unpark(s, s->rings[1]);
		pass();
	}
	ck_assert(s->checkpoint.in_flight);
	for (n = 0; n < 20; n++) {
		xvt_session_unpark(s, s->rings[1]);
		pass();
		ck_assert_uint_eq(xvt_load(&h->acc_delivered), 0);
	}
	in_the_file = UINT64_MAX;
	pass();
	ck_assert_uint_eq(xvt_load(&h->acc_delivered), 1);
}
END_TEST

/* What the writer ran over is in the file like what was delivered: if we die now, the next recorder
 * need not tell it again. */
START_TEST(laps_are_paid_for_as_well)
{
	const struct xvt_ring_host *h = s->rings[1]->host;
	const uint64_t events = 4 * rec.g.ring_size / 16;
	uint64_t i;
	unsigned int n;

	for (i = 0; i < events; i++)
		write_one(1);
	/* Counted in the header of the next sub-buffer, and told when that has come. */
	for (n = 0;
	     n < PASSES && xvt_load(&h->acc_delivered) + xvt_load(&h->acc_overwritten) < events;
	     n++)
		pass();
	ck_assert_uint_eq(xvt_load(&h->acc_delivered) + xvt_load(&h->acc_overwritten), events);
	ck_assert_uint_eq(xvt_load(&h->acc_delivered), s->rings[1]->account.stats.events);
	ck_assert_uint_gt(xvt_load(&h->acc_overwritten), events / 2);
	ck_assert_uint_eq(s->rings[1]->account.stats.overwritten, xvt_load(&h->acc_overwritten));
	ck_assert_uint_eq(s->rings[1]->account.stats.in_flight, 0);
}
END_TEST

/* Losses are told in their place, long before STATS have them: so is the region. */
START_TEST(losses_are_paid_for_before_the_second_is_over)
{
	const struct xvt_ring_host *h = s->rings[1]->host;
	uint64_t word = 0, lost = 0;
	unsigned int n, i;

	s->passes.next_second_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	for (n = 0; n < 10000; n++)
		lost += xvt_write(&writers[1], XVT_ID_U64, &word, sizeof(word)) != 0;
	ck_assert_uint_gt(lost, 0);
	for (n = 0; n < PASSES && (xvt_load(&h->acc_lost[XVT_LOST_FULL]) < lost ||
				   xvt_load(&h->acc_delivered) < s->rings[1]->account.stats.events);
	     n++) {
		pass();
		for (i = 0; i < rec.g.subbuf_size / 16 && n == 20; i++)
			write_one(1); /* the next sub-buffer says it */
	}
	ck_assert_uint_eq(xvt_load(&h->acc_lost[XVT_LOST_FULL]), lost);
	ck_assert_uint_eq(xvt_load(&h->acc_delivered), s->rings[1]->account.stats.events);
}
END_TEST

static void say_violation(void *arg, const char *text)
{
	(void)arg;
	ck_abort_msg("%s", text);
}

/* What an earlier recorder told, and was killed before its file had the events around it. The
 * header of the first sub-buffer does not count them yet, and no record of this file tells them. */
START_TEST(losses_of_an_earlier_trace_are_not_missed_in_this_one)
{
	const struct xvt_verify_opts opts = { .line = say_violation };
	struct xvt_ring_account *a = &s->rings[1]->account;
	struct xvt_verify_result result;
	struct xvt_trace *t;
	uint64_t word = 0, lost = 0;
	unsigned int n, i;

	for (n = 0; n < 10000; n++)
		lost += xvt_write(&writers[1], XVT_ID_U64, &word, sizeof(word)) != 0;
	ck_assert_uint_gt(lost, 0);
	a->base_lost[XVT_LOST_FULL] += lost;
	a->reported_lost[XVT_LOST_FULL] += lost;
	a->due.lost[XVT_LOST_FULL] += lost;
	a->base_attempted += lost;
	for (n = 0; n < 200; n++) {
		pass();
		for (i = 0; i < rec.g.subbuf_size / 16 && n < 3; i++)
			xvt_write(&writers[1], XVT_ID_U64, &word, sizeof(word));
	}
	ck_assert_int_eq(xvt_session_finish(s), 0);
	rec.s = NULL;
	t = recording_open(&rec);
	ck_assert_int_eq(xvt_verify(t, &opts, &result), 0);
	ck_assert_uint_eq(result.violations, 0);
	xvt_verify_result_fini(&result);
	xvt_trace_close(t);
}
END_TEST

/* A recorder that cannot wait for the rings has not taken all: the next one must learn that. */
START_TEST(a_loop_that_fails_at_the_end_is_no_end_in_order)
{
	const struct xvt_host_page *page = xvt_host_region_page(&rec.vm->region);

	write_one(1);
	faults.loop_err = -EIO;
	ck_assert_int_eq(xvt_session_end(s), -EIO);
	faults.loop_err = 0;
	ck_assert_uint_eq(xvt_load(&page->attach_id), s->attach_id);
	xvt_session_free(s);
	rec.s = NULL;
}
END_TEST

START_TEST(a_recording_that_cannot_begin_leaves_nothing_behind)
{
	const struct xvt_session_options opt = { .memory_bytes = 1 << 20, .compress = 1 };
	struct xvt_session *none;
	struct synth_sink sink;
	size_t before;

	synth_sink_init(&sink);
	faults.packer_err = -ENOMEM;
	/* The first one makes room in the sink. */
	ck_assert_int_eq(xvt_session_new(&none, rec.loop, &sink.sink, &opt), -ENOMEM);
	before = memory_in_use();
	ck_assert_int_eq(xvt_session_new(&none, rec.loop, &sink.sink, &opt), -ENOMEM);
	ck_assert_uint_eq(memory_in_use(), before);
	faults.packer_err = 0;
	synth_sink_fini(&sink);
}
END_TEST

/* A ring that a second finds before its first look: it has counters, and the file has none of it.
 */
START_TEST(nothing_is_claimed_of_a_ring_that_is_in_no_file)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_OVERWRITE,
					   .join_timeout_ns = 60 * SECOND_NS,
					   .stall_timeout_ns = 60 * SECOND_NS,
					   .memory_bytes = 1 << 20 };
	unsigned int n;

	recording_begin(&rec, RINGS, &opt);
	s = rec.s;
	s->rings[1]->drain.last.attempted = 50; /* as its guest had counted when we attached */
	for (n = 0; n < 3; n++) {
		s->passes.next_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
		s->passes.next_second_clock = xvt_clock_read();
		pass();
	}
	ck_assert(!s->rings[1]->session.announced);
	ck_assert_uint_eq(xvt_load(&s->rings[1]->host->acc_delivered), 0);
	recording_end(&rec);
}
END_TEST

/* The memory has become an older one: so has what its counters said, and what is due of them. */
START_TEST(what_is_due_goes_back_with_the_counters)
{
	struct xvt_ring *r = s->rings[1];
	struct xvt_ring_settled from = { .attempted = 60, .discarded = 3 };
	struct xvt_past past = { 0 };

	r->drain.last.attempted = 200;
	r->drain.last.discarded = r->account.due.discarded = 10;
	r->drain.last.lost[XVT_LOST_FULL] = r->account.due.lost[XVT_LOST_FULL] = 100;
	from.lost[XVT_LOST_FULL] = 40;
	xvt_ring_rebase(r, &from, &past);
	ck_assert_uint_eq(r->account.due.lost[XVT_LOST_FULL], 40);
	ck_assert_uint_eq(r->account.due.discarded, 3);
}
END_TEST

static uint64_t told_bytes;
static bool told_ending;

/* A client asks while the last of it is being written. */
static int ask_at_the_end(struct xvt_sink *sink)
{
	struct xvt_json *j = xvt_json_new();
	struct xvt_json_value *v;
	uint32_t vm = 0, ring = 0;
	char *line;
	struct xvt_error why;
	size_t len;

	(void)sink;
	xvt_session_status(s, j);
	while (xvt_session_status_vm(s, &vm, &ring, j))
		;
	line = xvt_json_line(j, &len);
	ck_assert_ptr_nonnull(line);
	v = xvt_json_parse(line, len, &why);
	ck_assert_msg(v != NULL, "%s", why.text);
	ck_assert(xvt_json_u64(xvt_json_get(v, "bytes"), &told_bytes));
	ck_assert(xvt_json_bool(xvt_json_get(v, "ending"), &told_ending));
	xvt_json_forget(v);
	free(line);
	return 0;
}

START_TEST(a_recording_can_be_asked_until_it_is_freed)
{
	told_bytes = 0;
	rec.sink.sink.settle = ask_at_the_end;
	write_one(1);
	ck_assert_int_eq(xvt_session_end(s), 0);
	ck_assert(told_ending);
	ck_assert_uint_gt(told_bytes, 0);
	ck_assert_uint_eq(told_bytes, rec.sink.len);
	xvt_session_free(s);
	rec.s = NULL;
}
END_TEST

/* The undrained bytes of ring 0 as the status has them. */
static uint64_t undrained_of_first(void)
{
	struct xvt_json *j = xvt_json_new();
	const struct xvt_json_value *of;
	struct xvt_json_value *v;
	uint32_t vm = 0, ring = 0;
	char *line;
	struct xvt_error why;
	uint64_t bytes;
	size_t len;

	ck_assert(xvt_session_status_vm(s, &vm, &ring, j));
	line = xvt_json_line(j, &len);
	ck_assert_ptr_nonnull(line);
	v = xvt_json_parse(line, len, &why);
	ck_assert_msg(v != NULL, "%s", why.text);
	of = xvt_json_at(xvt_json_get(v, "rings"), 0);
	ck_assert(xvt_json_u64(xvt_json_get(of, "undrained_bytes"), &bytes));
	xvt_json_forget(v);
	free(line);
	return bytes;
}

/* The writer is laps ahead of the last pass: the ring is full, and no more than that. */
START_TEST(a_ring_that_is_overrun_is_full)
{
	unsigned int n;
	uint64_t i;

	ck_assert_uint_eq(undrained_of_first(), 0);
	for (i = 0; i < 3 * rec.g.ring_size / 16; i++)
		write_one(0);
	ck_assert_uint_eq(undrained_of_first(), rec.g.ring_size);
	for (n = 0; n < PASSES && undrained_of_first(); n++)
		pass();
	ck_assert_uint_eq(undrained_of_first(), 0);
}
END_TEST

/* A clock may creep, but a silent one is waited for no longer than any other. */
START_TEST(a_ring_silent_for_long_holds_back_no_longer)
{
	struct xvt_ring *r = s->rings[1];
	struct xvt_parked rest = rec.vm->parked[1];
	struct xvt_clock_node *last;
	uint64_t passed_ns;

	ck_assert_uint_eq(r->margin_most_ns, xvt_session_free_wait_ns(s));
	/* Its last node was long ago, and it has just been seen idle. */
	last = (struct xvt_clock_node *)(uintptr_t)xvt_clock_map_last(&r->clock.map);
	last->host_ns = r->head.last_ns = r->drain.proven_node_ns = 0;
	r->drain.passed_clock = xvt_clock_read();
	passed_ns = xvt_host_clock_ns(&s->clock, r->drain.passed_clock);
	ck_assert_uint_lt(xvt_ring_proven(r) + SECOND_NS / 100, passed_ns);
	r->margin_most_ns = 1000;
	ck_assert_uint_ge(xvt_ring_proven(r) + r->clock.map.slack_ns + 1000, passed_ns);
	/* At rest it is the same. */
	ck_assert_ptr_nonnull(rest.ctl);
	rec.vm->parked[1].floor_ns = rec.vm->parked[1].node_ns = 0;
	s->opt.stall_timeout_ns = 1000;
	s->scan.proof_candidate = xvt_clock_read() - 2 * ticks(s, XVT_PROOF_DELTA_NS);
	xvt_session_drain(s, xvt_clock_read());
	ck_assert(rests(1));
	ck_assert_uint_ge(s->scan.parked_ns + r->clock.map.slack_ns + 1000,
			  s->scan.parked_proof_ns);
}
END_TEST

/* Its clock is measured as long as it is there, and nothing is looked up. */
START_TEST(an_idle_ring_needs_few_nodes)
{
	struct xvt_ring *r = s->rings[1];
	size_t most = 0, n, added = r->clock.map.changes;

	for (n = 0; n < 1000; n++) {
		xvt_session_unpark(s, r);
		r->clock.next_burst_clock = 0;
		r->measure.burst_clock = xvt_clock_read() - ticks(s, SECOND_NS);
		xvt_session_ring_clock(s, r, xvt_clock_read());
		if (n % 4 == 0)
			pass();
		most = r->clock.map.count > most ? r->clock.map.count : most;
	}
	ck_assert_uint_ge(r->clock.map.changes - added, 900);
	ck_assert_uint_lt(most, 200);
	write_one(1);
	until_all_rest();
	ck_assert_uint_eq(r->account.stats.events, 1);
	ck_assert_uint_eq(r->account.stats.unconfirmed, 0);
	leave_in_peace(1);
}
END_TEST

/* The nodes of a ring that is never idle are its machine's memory: with that used up, no more pile
 * up, and the newest is there all the same. */
START_TEST(nodes_of_a_ring_that_is_never_idle_are_counted)
{
	struct xvt_ring *r = s->rings[1];
	uint64_t used = xvt_pool_used(r->pool), changes = r->clock.map.changes;
	size_t n;

	ck_assert_uint_ge(used, RINGS * sizeof(*r));
	used -= r->clock.map.room * sizeof(*r->clock.map.nodes);
	xvt_pool_resize(r->pool, 0); /* the machine's memory is used up */
	for (n = 0; n < 1000; n++) {
		r->drain.idle = false;
		r->clock.next_burst_clock = 0;
		r->measure.burst_clock = xvt_clock_read() - ticks(s, SECOND_NS);
		xvt_session_ring_clock(s, r, xvt_clock_read());
		ck_assert_uint_le(r->clock.map.count, 128);
	}
	ck_assert_uint_ge(r->clock.map.changes - changes, 900);
	ck_assert_uint_eq(xvt_pool_used(r->pool),
			  used + r->clock.map.room * sizeof(*r->clock.map.nodes));
	leave_in_peace(1);
}
END_TEST

/* Set aside, it still says what cannot come from it; but not without a look since. */
START_TEST(restored_memory_is_not_waited_for)
{
	struct xvt_ring *r = s->rings[1];

	pass();
	pass();
	xvt_ring_set_phase(r, XVT_PHASE_ASIDE);
	r->drain.passed_clock = r->drain.look_clock;
	ck_assert_uint_lt(xvt_ring_bound(r), UINT64_MAX);
	/* Older pages, and its VMM says that it stands still. */
	rec.vm->vmm.paused = true;
	xvt_store(&xvt_host_region_page(&rec.vm->region)->nonce, 77);
	xvt_session_drain(s, xvt_clock_read());
	ck_assert_uint_eq(xvt_ring_bound(r), UINT64_MAX);
	rec.vm->vmm.paused = false;
	xvt_session_drain(s, xvt_clock_read());
	ck_assert(!r->guest.unseen);
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
}
END_TEST

static void until_events(uint32_t i, uint64_t n)
{
	unsigned int k;

	for (k = 0; k < PASSES && s->rings[i]->account.stats.events < n; k++)
		pass();
	ck_assert_uint_eq(s->rings[i]->account.stats.events, n);
}

/* Only these go back, and its records go on: it is read on, from the next sub-buffer at the latest.
 */
START_TEST(counters_that_go_back_do_not_end_a_ring)
{
	uint64_t *words[] = { &writers[1].ctl->discarded, &writers[1].ctl->lost[XVT_LOST_NEST] };
	uint64_t *word = words[_i];
	unsigned int k;

	xvt_store(word, 5u);
	write_one(1);
	until_events(1, 1);
	xvt_store(word, 3u);
	for (k = 0; k < PASSES && !s->rings[1]->account.roll_backs; k++)
		pass();
	ck_assert_uint_eq(s->rings[1]->account.roll_backs, 1);
	write_one(1);
	until_events(1, 2);
	ck_assert_uint_eq(s->rings[1]->account.roll_backs, 1);
}
END_TEST

/* Nor does a ring that was set aside hold others back when it cannot be looked at any more. */
START_TEST(a_ring_that_goes_back_all_the_time_holds_none_back)
{
	struct xvt_ring *r = s->rings[1];
	unsigned int k, back = 0;

	pass();
	pass();
	xvt_ring_set_phase(r, XVT_PHASE_ASIDE);
	r->drain.passed_clock = r->drain.look_clock;
	ck_assert_uint_lt(xvt_ring_bound(r), UINT64_MAX);
	r->drain.last.discarded = 100;
	for (k = 100; k > 90; k--) {
		xvt_store(&writers[1].ctl->discarded, k - 1u);
		xvt_session_unpark(s, r);
		xvt_session_drain(s, xvt_clock_read());
		back += r->drain.went_back;
		ck_assert(!r->drain.went_back || xvt_ring_bound(r) == UINT64_MAX);
	}
	ck_assert_uint_gt(back, 0);
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
}
END_TEST

/* What a pass with everybody awake would say of them. */
START_TEST(the_bound_of_rings_at_rest_is_theirs)
{
	uint64_t least = UINT64_MAX, rest_ns;
	uint32_t i;

	s->scan.proof_candidate = xvt_clock_read() - 2 * ticks(s, XVT_PROOF_DELTA_NS);
	xvt_session_drain(s, xvt_clock_read());
	rest_ns = s->scan.parked_ns;
	ck_assert_uint_eq(s->scan.nr_active, 0);
	xvt_session_unpark_vm(s, rec.vm);
	for (i = 0; i < RINGS; i++) {
		uint64_t bound = xvt_ring_bound(s->rings[i]);

		ck_assert(!rests(i));
		least = bound < least ? bound : least;
	}
	ck_assert_uint_eq(rest_ns, least);
	ck_assert_uint_ne(rest_ns, 0);
}
END_TEST

/* A machine's file can be replaced again and again: what is gone may not pile up. */
START_TEST(a_ring_that_is_gone_keeps_one_node)
{
	struct xvt_ring *r = s->rings[1];
	struct xvt_clock_node last;
	size_t before, n;

	for (n = 0; n < 300; n++) {
		r->clock.next_burst_clock = 0;
		r->measure.burst_clock = xvt_clock_read() - ticks(s, SECOND_NS);
		phase_anew(r, XVT_PHASE_NEW); /* no node is dropped meanwhile */
		rec.vm->clocks.rate_shared = rec.vm->clocks.hz_known = false;
		r->clock.map.moved = true;
		xvt_session_ring_clock(s, r, xvt_clock_read());
	}
	phase_anew(r, XVT_PHASE_DONE);
	ck_assert_uint_gt(r->clock.map.count, 10);
	last = *xvt_clock_map_last(&r->clock.map);
	xvt_ring_account(r, false);
	n = r->account.stats.epochs;
	before = memory_in_use();
	xvt_ring_retire(r);
	ck_assert_uint_eq(r->clock.map.count, 1);
	/* A sanitizer has memory of its own. */
	ck_assert(!before || memory_in_use() + 9 * sizeof(last) < before);
	ck_assert_mem_eq(xvt_clock_map_last(&r->clock.map), &last, sizeof(last));
	xvt_ring_account(r, true);
	ck_assert_uint_eq(r->account.stats.epochs, n);
}
END_TEST

static void write_it(uint32_t i)
{
	write_one(i);
}

static void enter(uint32_t i)
{
	xvt_store(&writers[i].ctl->nest, 1u);
}

static void reserve(uint32_t i)
{
	xvt_store(&writers[i].ctl->resv, xvt_load(&writers[i].ctl->resv) + 16);
}

static void begin_again(uint32_t i)
{
	xvt_store(&writers[i].ctl->generation, xvt_load(&writers[i].ctl->generation) + 1);
}

static void leave(uint32_t i)
{
	xvt_store(&writers[i].ctl->state, XVT_RING_OFFLINE);
}

static void (*const changes[])(uint32_t i) = { write_it, enter, reserve, begin_again, leave };

START_TEST(whatever_its_words_say_anew_wakes_it)
{
	changes[_i](2);
	xvt_session_drain(s, xvt_clock_read());
	ck_assert(!rests(2));
	ck_assert(rests(0) && rests(1) && rests(3));
	ck_assert_uint_eq(s->scan.nr_active, 1);
	ck_assert_ptr_eq(s->scan.active[0], s->rings[2]);
	/* Those that are no guest's would do. */
	xvt_ring_set_phase(s->rings[2], XVT_PHASE_BROKEN);
	s->rings[2]->clock.map.closed = true;
}
END_TEST

START_TEST(what_its_vmm_tells_wakes_a_machine)
{
	struct xvt_vmm_report stopped = { .event = XVT_VMM_STOPPED };
	struct xvt_vmm_report runs = { .event = XVT_VMM_RUNNING };
	unsigned int n;

	xvt_session_vm_event(s, rec.vm, &stopped);
	ck_assert(!rests(0) && !rests(1) && !rests(2) && !rests(3));
	/* It is looked after as long as it stands still: its silence means nothing. */
	for (n = 0; n < 20; n++) {
		pass();
		ck_assert(!rests(0) && !rests(1) && !rests(2) && !rests(3));
	}
	xvt_session_vm_event(s, rec.vm, &runs);
	until_all_rest();
}
END_TEST

/* What is told between the look at a machine and the end of the pass (a push that waits for the
 * disk runs the loop) counts as well. */
START_TEST(a_ring_woken_meanwhile_is_not_parked)
{
	uint32_t i;

	xvt_session_unpark_vm(s, rec.vm);
	s->scan.proof_candidate = xvt_clock_read() - 2 * ticks(s, XVT_PROOF_DELTA_NS);
	xvt_session_drain(s, xvt_clock_read());
	xvt_session_unpark_vm(s, rec.vm);
	xvt_session_park(s);
	for (i = 0; i < RINGS; i++)
		ck_assert(!rests(i));
	s->scan.proof_candidate = xvt_clock_read() - 2 * ticks(s, XVT_PROOF_DELTA_NS);
	xvt_session_drain(s, xvt_clock_read());
	s->rings[3]->clock.next_burst_clock = 0; /* its map is wrong: it is asked first */
	xvt_session_park(s);
	ck_assert(rests(0) && rests(1) && rests(2) && !rests(3));
}
END_TEST

START_TEST(memory_that_went_back_wakes_a_machine)
{
	xvt_store(&xvt_host_region_page(&rec.vm->region)->nonce, 4711u);
	xvt_session_drain(s, xvt_clock_read());
	ck_assert_uint_eq(s->scan.nr_active, RINGS);
}
END_TEST

START_TEST(everybody_has_a_turn)
{
	uint32_t epoch = s->rings[3]->words.epoch;

	/* A guest that scribbles on what is the host's: it is put right, if not at once. */
	xvt_store(&s->rings[3]->host->enable, XVT_ENABLE_OFF);
	xvt_session_drain(s, xvt_clock_read());
	ck_assert_uint_eq(xvt_load(&s->rings[3]->host->enable), XVT_ENABLE_OFF);
	s->scan.unpark_clock = 0;
	xvt_session_drain(s, xvt_clock_read());
	ck_assert_uint_eq(s->scan.nr_active, RINGS);
	ck_assert_uint_eq(xvt_load(&s->rings[3]->host->enable), XVT_ENABLE_STOP);
	ck_assert_uint_eq(s->rings[3]->words.epoch, epoch);
}
END_TEST

/* --- more rings than questions --- */

#define MANY	 1000u
#define PATIENCE 6u /* turns for an answer, at least two */

static struct asked_for {
	bool open;
	uint32_t since; /* turn */
	uint32_t answers;
	bool silent;
} askings[MANY];
static struct xvt_ring *many[MANY];
static uint32_t nr_turns;

static void question(struct xvt_clock_source *source)
{
	struct asked_for *a = (struct asked_for *)source;

	a->open = true;
	a->since = nr_turns;
}

static int look(struct xvt_clock_source *source, struct xvt_clock_measure *m)
{
	struct asked_for *a = (struct asked_for *)source;
	struct xvt_ring *r = many[a - askings];

	if (!a->open || a->silent || nr_turns < a->since + 2)
		return 0;
	a->open = false;
	a->answers++;
	r->measure.answered = false;
	return at_once_poll((struct xvt_clock_source *)r, m);
}

static bool is_open(const struct xvt_clock_source *source)
{
	const struct asked_for *a = (const struct asked_for *)source;

	return a->open && nr_turns < a->since + PATIENCE;
}

/* A millisecond each. */
static uint64_t next_turn(uint64_t now)
{
	nr_turns++;
	xvt_session_clocks(s, now + ticks(s, 1000000));
	return now + ticks(s, 1000000);
}

static const struct xvt_clock_source_ops scripted = {
	.name = "scripted",
	.id = XVT_SOURCE_HANDSHAKE,
	.start = question,
	.poll = look,
	.busy = is_open,
	.close = no_close,
};

/* All of them in one machine, and all with the memory of its first ring. */
static void many_begin(void)
{
	uint32_t i;

	ck_assert_int_eq(xvt_session_clock_room(s, MANY), 0);
	memset(askings, 0, sizeof(askings));
	for (i = 0; i < MANY; i++) {
		many[i] = calloc(1, sizeof(*many[i]));
		*many[i] = *s->rings[0];
		many[i]->id = many[i]->session.slot = i;
		many[i]->index = 0;
		many[i]->measure.source = (struct xvt_clock_source *)&askings[i];
		many[i]->measure.source_ops = &scripted;
		many[i]->measure.answered = true;
		many[i]->measure.burst_clock = many[i]->clock.next_burst_clock = 0;
		memset(&many[i]->measure.pages, 0, sizeof(many[i]->measure.pages));
		xvt_clock_map_init(&many[i]->clock.map, s->clock.hz);
		many[i]->clock.map.host_clock = &s->clock;
		s->clocks.due[i] = 0;
	}
	s->rings = many;
	s->nr_rings = MANY;
	s->clocks.first_due = 0;
}

static void many_end(struct xvt_ring **rings)
{
	uint32_t i;

	for (i = 0; i < MANY; i++) {
		xvt_clock_map_fini(&many[i]->clock.map);
		free(many[i]);
	}
	s->rings = rings;
	s->nr_rings = RINGS;
	s->clocks.nr_asked = s->clocks.nr_silent = 0;
	memset(&rec.vm->clocks, 0, sizeof(rec.vm->clocks));
	for (i = 0; i < RINGS; i++)
		s->clocks.due[i] = 0;
}

/* Its machine stands still or is gone: to look for its answer all the time would cost a CPU. */
START_TEST(a_guest_that_does_not_answer_makes_no_quick_passes)
{
	struct xvt_ring **rings = s->rings;
	uint64_t now = xvt_clock_read();
	uint32_t n, quick = 0, slow = 0;

	many_begin();
	s->nr_rings = 1;
	askings[0].silent = true;
	for (n = 0; n < 100; n++) {
		nr_turns++;
		now += ticks(s, 10000000);
		if (xvt_session_clocks(s, now))
			quick++;
		else
			slow += s->clocks.nr_asked == 1;
	}
	/* The first question might have been answered at once. */
	ck_assert_uint_le(quick, PATIENCE + 1);
	ck_assert_uint_gt(slow, 30);
	s->nr_rings = MANY;
	many_end(rings);
}
END_TEST

START_TEST(so_many_questions_are_open_and_everybody_is_asked)
{
	struct xvt_ring **rings = s->rings;
	uint64_t now = xvt_clock_read();
	uint32_t i, n, least = 0;
	size_t most = 0;

	many_begin();
	for (n = 0; n < PASSES && least < 3; n++) {
		now = next_turn(now);
		most = s->clocks.nr_asked > most ? s->clocks.nr_asked : most;
		for (i = 0, least = UINT32_MAX; i < MANY; i++)
			least = askings[i].answers < least ? askings[i].answers : least;
	}
	ck_assert_uint_ge(least, 3);
	ck_assert_uint_eq(most, MANY / XVT_ASKED_PART);
	many_end(rings);
	ck_assert_uint_eq(xvt_session_asked_most(s), XVT_ASKED_LEAST);
	s->nr_rings = 65536;
	ck_assert_uint_eq(xvt_session_asked_most(s), XVT_ASKED_MAX);
	s->nr_rings = RINGS;
}
END_TEST

START_TEST(silent_rings_leave_room_for_the_others)
{
	struct xvt_ring **rings = s->rings;
	uint64_t now = xvt_clock_read();
	uint32_t i, n, least = 0, silent = 0;

	many_begin();
	/* They all want to be asked as often as that can be: something of theirs waits. */
	rec.vm->clocks.pace = 1;
	for (i = 0; i < MANY; i++) {
		askings[i].silent = i % 10 != 0;
		many[i]->head.have = askings[i].silent;
	}
	for (n = 0; n < PASSES && least < 20; n++) {
		now = next_turn(now);
		if (s->clocks.nr_silent > silent)
			silent = (uint32_t)s->clocks.nr_silent;
		for (i = 0, least = UINT32_MAX; i < MANY; i += 10)
			least = askings[i].answers < least ? askings[i].answers : least;
	}
	ck_assert_uint_ge(least, 20);
	ck_assert_uint_le(silent, xvt_session_asked_most(s) / 4);
	ck_assert_uint_gt(silent, 0);
	many_end(rings);
}
END_TEST

/* A machine's part is less than there are questions, and its first rings could use it up. */
START_TEST(each_ring_of_a_machine_has_its_turn)
{
	struct xvt_ring **rings = s->rings;
	uint64_t now = xvt_clock_read();
	uint32_t i, n, least = 0;

	many_begin();
	rec.vm->owner->machines = 16;
	rec.vm->clocks.pace = 1;
	for (i = 0; i < MANY; i++)
		many[i]->head.have = true;
	for (n = 0; n < PASSES && least < 3; n++) {
		rec.vm->clocks.left = INT64_MAX / 2; /* not its time is scarce here */
		now = next_turn(now);
		ck_assert_uint_le(s->clocks.nr_asked, xvt_session_asked_most(s) / 16);
		for (i = 0, least = UINT32_MAX; i < MANY; i++)
			least = askings[i].answers < least ? askings[i].answers : least;
	}
	ck_assert_uint_ge(least, 3);
	rec.vm->owner->machines = 1;
	many_end(rings);
}
END_TEST

#define FEW 4u

/* The first FEW rings are those of another machine. */
static void other_machine(struct xvt_vm *other, struct xvt_vm *vms[2])
{
	uint32_t i;

	*other = *rec.vm;
	other->id = 1;
	vms[0] = rec.vm;
	vms[1] = other;
	s->vms = vms;
	s->nr_vms = rec.vm->owner->machines = 2;
	for (i = 0; i < FEW; i++) {
		many[i]->vm = 1;
		many[i]->region = &other->region;
	}
}

static uint32_t least_answers(uint32_t from, uint32_t to)
{
	uint32_t i, least = UINT32_MAX;

	for (i = from; i < to; i++)
		least = askings[i].answers < least ? askings[i].answers : least;
	return least;
}

/* A machine that answers again after a moment does not wait for all silent rings of another one. */
START_TEST(silent_rings_of_one_machine_do_not_keep_another_from_being_asked)
{
	struct xvt_ring **rings = s->rings;
	struct xvt_vm **vms = s->vms, *two[2], other;
	uint64_t now = xvt_clock_read();
	uint32_t i, n;

	many_begin();
	other_machine(&other, two);
	rec.vm->clocks.left = other.clocks.left = INT64_MAX / 2;
	rec.vm->clocks.pace = other.clocks.pace = 1;
	for (i = 0; i < MANY; i++)
		askings[i].silent = many[i]->head.have = true;
	for (n = 0; n < 1000; n++)
		now = next_turn(now);
	for (i = 0; i < FEW; i++)
		askings[i].silent = false;
	/* Those of the first machine alone take ten times as long for a round. */
	for (n = 0; n < 10 * PATIENCE && !least_answers(0, FEW); n++)
		now = next_turn(now);
	ck_assert_uint_ge(least_answers(0, FEW), 1);
	s->vms = vms;
	s->nr_vms = rec.vm->owner->machines = 1;
	many_end(rings);
}
END_TEST

/* Each look at one of its rings takes as long as a machine may have at all. */
static uint32_t long_looks;

static int look_long(struct xvt_clock_source *source, struct xvt_clock_measure *m)
{
	const struct asked_for *a = (const struct asked_for *)source;
	const uint64_t end = xvt_clock_read() + ticks(s, 2000000);

	long_looks += a->open;
	while (a->open && (int64_t)(xvt_clock_read() - end) < 0)
		xvt_relax();
	return look(source, m);
}

START_TEST(a_machine_that_answers_slowly_uses_up_its_own_time)
{
	struct xvt_clock_source_ops slow = scripted;
	struct xvt_ring **rings = s->rings;
	struct xvt_vm **vms = s->vms, *two[2], other;
	uint64_t now = xvt_clock_read();
	uint32_t i, n;

	slow.poll = look_long;
	many_begin();
	other_machine(&other, two);
	s->clocks.refill_clock = now;
	for (i = FEW; i < MANY; i++)
		many[i]->measure.source_ops = &slow;
	long_looks = 0;
	for (n = 0; n < 1000; n++)
		now = next_turn(now);
	/* Of a second: a twentieth, and what was left at the beginning; two milliseconds each. */
	ck_assert_uint_gt(long_looks, 10);
	ck_assert_uint_lt(long_looks, 100);
	ck_assert_uint_ge(least_answers(0, FEW), 5);
	s->vms = vms;
	s->nr_vms = rec.vm->owner->machines = 1;
	many_end(rings);
}
END_TEST

/* --- the bytes of a pass, by owner --- */

#define FLOODS	   40u
#define TURN_BYTES ((uint64_t)16 << 20)
#define PIECE	   65536u

static struct xvt_vm floods[FLOODS + 1];
static struct xvt_vm *flood_list[FLOODS + 1];

/* Has each of the first `n` machines take what a pass leaves to it. Returns the bytes of them all.
 */
static uint64_t flood(size_t n)
{
	uint64_t sum = 0;
	size_t i;

	xvt_session_share_pass(s);
	for (i = 0; i <= FLOODS; i++) {
		struct xvt_pool *pool = &floods[i].pool;
		void *got;

		xvt_pool_turn(pool, xvt_session_turn(s, &floods[i], TURN_BYTES, 4 * PIECE));
		while (i < n && (got = xvt_pool_get(pool, PIECE, false)) != NULL)
			xvt_pool_put(pool, got, PIECE);
		sum += i < n ? xvt_pool_turned(pool) : 0;
	}
	return sum;
}

/* Has the last machine, which is another user's, take one piece. */
static void one_piece(void)
{
	struct xvt_pool *pool = &floods[FLOODS].pool;

	xvt_pool_put(pool, xvt_pool_get(pool, PIECE, false), PIECE);
}

START_TEST(a_pass_reads_as_much_of_many_machines_as_of_one)
{
	struct xvt_owner many_owner = { .uid = 1 }, other = { .uid = 2 };
	struct xvt_owner *two[] = { &many_owner, &other }, **owners = s->share.owners;
	struct xvt_vm **vms = s->vms;
	const size_t nr_owners = s->share.nr_owners, nr_vms = s->nr_vms;
	size_t i;

	s->share.owners = two;
	s->share.nr_owners = 2;
	s->vms = flood_list;
	s->nr_vms = FLOODS + 1;
	for (i = 0; i <= FLOODS; i++) {
		flood_list[i] = &floods[i];
		floods[i] = (struct xvt_vm){ .owner = i < FLOODS ? &many_owner : &other };
		ck_assert_int_eq(xvt_vm_set_state(&floods[i], XVT_STATE_RECORDED), 0);
		xvt_pool_init(&floods[i].pool, 2 * TURN_BYTES);
	}
	/* No other user waits: each has a turn of its own. */
	ck_assert_uint_gt(flood(FLOODS), FLOODS * (TURN_BYTES - 2 * PIECE));
	ck_assert_uint_gt(flood(FLOODS), FLOODS * (TURN_BYTES - 2 * PIECE));
	/* From the pass after one that has read something of another user. */
	one_piece();
	ck_assert_uint_le(flood(FLOODS), TURN_BYTES);
	ck_assert_uint_eq(many_owner.reading, FLOODS);
	one_piece();
	ck_assert_uint_gt(flood(FLOODS), TURN_BYTES / 2);
	/* Machines of which nothing is read lend their parts, and the other user's is whole. */
	one_piece();
	flood(4);
	one_piece();
	ck_assert_uint_gt(flood(4), TURN_BYTES - 8 * PIECE);
	ck_assert_uint_eq(many_owner.reading, 4);
	ck_assert_uint_eq(xvt_session_turn(s, &floods[FLOODS], TURN_BYTES, 4 * PIECE), TURN_BYTES);
	/* A ring needs room for its sub-buffers, and a turn is never more than one machine's. */
	ck_assert_uint_eq(xvt_session_turn(s, &floods[0], TURN_BYTES, TURN_BYTES / 2),
			  TURN_BYTES / 2);
	ck_assert_uint_eq(xvt_session_turn(s, &floods[0], TURN_BYTES, 4 * TURN_BYTES), TURN_BYTES);
	for (i = 0; i <= FLOODS; i++)
		xvt_pool_fini(&floods[i].pool);
	s->share.owners = owners;
	s->share.nr_owners = nr_owners;
	s->vms = vms;
	s->nr_vms = nr_vms;
}
END_TEST

START_TEST(a_pass_counts_what_the_one_before_has_read)
{
	until_all_rest();
	pass();
	ck_assert_uint_eq(rec.vm->owner->reading, 0);
	write_one(0);
	pass(); /* reads it */
	ck_assert_uint_gt(xvt_pool_turned(&rec.vm->pool), 0);
	pass();
	ck_assert_uint_eq(rec.vm->owner->reading, 1);
	ck_assert_uint_eq(s->share.nr_reading, 1);
	ck_assert_uint_eq(xvt_pool_turned(&rec.vm->pool), 0);
	pass();
	ck_assert_uint_eq(rec.vm->owner->reading, 0);
	ck_assert_uint_eq(s->share.nr_reading, 0);
}
END_TEST

/* --- clocks at rest --- */

/* A measured node `after_ns` behind another one, in a segment bounded by `bound_ns`. */
static void measured_after(struct xvt_ring *r, uint64_t after_ns, uint64_t bound_ns, uint32_t flags)
{
	const struct xvt_clock_node from = { .source = XVT_SOURCE_HANDSHAKE,
					     .host_ns = 10 * SECOND_NS,
					     .bound_ns = 100 };
	struct xvt_clock_node to = from;

	to.host_ns += after_ns;
	to.segment_bound_ns = bound_ns;
	to.flags = flags;
	xvt_session_adapt_rest(s, r, &from, &to);
}

/* Time from `now` to the next measurement of a ring without records. */
static uint64_t rests_ns(const struct xvt_ring *r, uint64_t now)
{
	return xvt_ticks_ns(xvt_session_next_idle_burst(s, r, now) - now, s->clock.hz);
}

START_TEST(a_clock_that_keeps_its_line_is_measured_less_often)
{
	const uint64_t every = XVT_BURST_EVERY_NS, most = 12800000000ull;
	struct xvt_ring *r = s->rings[0];
	uint64_t rest_ns, begin;

	ck_assert_uint_eq(r->clock.rest_ns, 0);
	begin = (xvt_clock_read() / ticks(s, 2 * most)) * ticks(s, 2 * most);
	ck_assert_uint_le(rests_ns(r, begin), every);
	for (rest_ns = every; rest_ns < most; rest_ns *= 2) {
		/* Records had to be confirmed soon: that shows nothing of a longer time. */
		measured_after(r, rest_ns / 2, 2200, 0);
		ck_assert_uint_eq(r->clock.rest_ns, rest_ns == every ? 0 : rest_ns);
		measured_after(r, rest_ns, 2200, 0);
		ck_assert_uint_eq(r->clock.rest_ns, 2 * rest_ns < most ? 2 * rest_ns : most);
	}
	measured_after(r, 2 * most, 2200, 0);
	ck_assert_uint_eq(r->clock.rest_ns, most);
	/* More was written since the last measurement than marks. */
	r->drain.last.commit = r->clock.rest_commit + 256;
	ck_assert_uint_gt(rests_ns(r, begin + 1), SECOND_NS);
	r->drain.last.commit += 8;
	ck_assert_uint_le(rests_ns(r, begin + 1), 800000000);
	ck_assert_uint_gt(rests_ns(r, begin + 1), every);
	r->drain.last.commit = r->clock.rest_commit;
	/* All such rings are measured at the same moments. */
	ck_assert_uint_eq(xvt_session_next_idle_burst(s, r, begin) % ticks(s, most), 0);
	ck_assert_uint_gt(rests_ns(r, begin + 1), every);
	ck_assert_uint_le(rests_ns(r, begin), most);
}
END_TEST

START_TEST(a_clock_that_left_its_line_is_measured_soon)
{
	struct xvt_ring *r = s->rings[0];
	const struct {
		uint64_t bound_ns;
		uint32_t flags;
		bool keeps;
	} all[] = {
		{ 2 * 200 + XVT_STAMP_SLACK_NS + 10000, 0, true },
		{ 2 * 200 + XVT_STAMP_SLACK_NS + 10001, 0, false },
		{ 2200, XVT_NODE_F_FIRST, false },
	};
	uint64_t now = xvt_clock_read();
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		r->clock.rest_ns = SECOND_NS;
		r->clock.next_burst_clock = now + ticks(s, 60 * SECOND_NS);
		measured_after(r, SECOND_NS, all[i].bound_ns, all[i].flags);
		ck_assert_uint_eq(r->clock.rest_ns, all[i].keeps ? 2 * SECOND_NS : 0);
		ck_assert(all[i].keeps == (r->clock.next_burst_clock > now + ticks(s, SECOND_NS)));
	}
	/* Until its machine's rate is known, its measurements have a pace of their own. */
	r->clock.rest_ns = 0;
	phase_anew(r, XVT_PHASE_NEW);
	measured_after(r, SECOND_NS, 2200, 0);
	ck_assert_uint_eq(r->clock.rest_ns, 0);
}
END_TEST

/* --- machines that begin --- */

/* As if they had just come, where clocks of idle rings are measured very seldom. */
static void begin_anew(void)
{
	uint32_t i;

	rec.vm->clocks.rate_shared = rec.vm->clocks.hz_known = false;
	rec.vm->clocks.idle_pace = ticks(s, 30 * SECOND_NS);
	s->clocks.first_due = s->clocks.next_scan_clock = 0;
	for (i = 0; i < RINGS; i++) {
		struct xvt_ring *r = s->rings[i];

		xvt_session_unpark(s, r);
		xvt_clock_map_fini(&r->clock.map);
		xvt_clock_map_init(&r->clock.map, s->clock.hz);
		xvt_clock_rate_init(&r->clock.rate, s->clock.hz, 0);
		r->clock.map.host_clock = &s->clock;
		phase_anew(r, XVT_PHASE_NEW);
		r->clock.last_node_clock = r->measure.burst_clock = r->clock.next_burst_clock =
			s->clocks.due[i] = 0;
	}
}

static uint32_t nr_live(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < RINGS; i++)
		n += s->rings[i]->phase == XVT_PHASE_LIVE;
	return n;
}

/* Its second measurement is due soon, however seldom others are. */
START_TEST(a_beginning_ring_does_not_wait_for_idle_ones)
{
	uint64_t now = xvt_clock_read();
	uint32_t n;

	begin_anew();
	for (n = 0; n < 1000 && nr_live() < RINGS; n++)
		now = next_turn(now);
	ck_assert_uint_eq(nr_live(), RINGS);
	for (n = 0; n < RINGS; n++)
		ck_assert_uint_eq(s->rings[n]->clock.next_burst_clock % rec.vm->clocks.idle_pace,
				  0);
}
END_TEST

/* One ring's second measurement tells the rate for all of its machine that have one. */
START_TEST(all_rings_begin_with_the_rate_of_the_first)
{
	uint64_t now = xvt_clock_read();
	uint32_t i, n;

	begin_anew();
	s->rings[RINGS - 1]->clock.next_burst_clock = s->clocks.due[RINGS - 1] =
		now + ticks(s, 60 * SECOND_NS);
	now = next_turn(now);
	for (i = 1; i < RINGS - 1; i++) {
		ck_assert_uint_eq(s->rings[i]->clock.map.count, 1);
		s->rings[i]->clock.next_burst_clock = s->clocks.due[i] =
			now + ticks(s, 60 * SECOND_NS);
	}
	ck_assert_uint_eq(nr_live(), 0);
	for (n = 0; n < 1000 && !nr_live(); n++)
		now = next_turn(now);
	ck_assert_uint_eq(nr_live(), RINGS - 1);
	ck_assert_uint_eq(s->rings[1]->clock.map.count, 1);
	ck_assert_int_eq(s->rings[RINGS - 1]->phase, XVT_PHASE_NEW); /* not requested yet */
}
END_TEST

static void measure_step(struct xvt_ring *r, uint32_t most, bool known)
{
	const size_t nodes = r->clock.map.count;

	step_most = most;
	step_known = known;
	r->clock.next_burst_clock = 0;
	r->measure.burst_clock = xvt_clock_read() - ticks(s, SECOND_NS);
	xvt_session_ring_clock(s, r, xvt_clock_read());
	ck_assert_uint_eq(r->clock.map.count, nodes + 1);
	step_most = 0;
	step_known = false;
}

/* Few answers have too much in common: that is in the bounds until others say less. */
START_TEST(a_step_that_is_not_known_is_what_it_can_be_at_most)
{
	const bool hosts_kind = _i;
	struct xvt_ring *r = s->rings[0];

	xvt_store(&r->ctl->clock_id, hosts_kind ? s->clock.clock_id : (uint32_t)XVT_CLOCK_CALLER);
	measure_step(r, 1000000, false);
	ck_assert_uint_eq(r->clock.map.clock_step, hosts_kind ? 0 : 1000000);
	r->clock.map.slack_ns = 5000000;
	measure_step(r, 1000, true);
	ck_assert_uint_eq(r->clock.map.clock_step, 1000);
	/* That of the segments with the longer step counts no more. */
	ck_assert(hosts_kind || r->clock.map.slack_ns < 5000000);
	/* The writer's word, if it says more. */
	r->clock.step_said = 2000;
	measure_step(r, 1000, true);
	ck_assert_uint_eq(r->clock.map.clock_step, 2000);
}
END_TEST

/* The first ring has its rate by one gap, near what its guest claims, and so not well. */
START_TEST(a_shared_rate_is_known_no_better_than_by_its_ring)
{
	struct xvt_ring *r = s->rings[1];
	uint64_t now = xvt_clock_read();
	uint32_t i, n;

	begin_anew();
	for (i = 0; i < RINGS; i++)
		xvt_clock_rate_init(&s->rings[i]->clock.rate, 0, s->clock.hz + s->clock.hz / 100);
	now = next_turn(now);
	for (i = 1; i < RINGS; i++)
		s->rings[i]->clock.next_burst_clock = s->clocks.due[i] =
			now + ticks(s, 60 * SECOND_NS);
	for (n = 0; n < 1000 && !nr_live(); n++)
		now = next_turn(now);
	ck_assert_uint_gt(s->rings[0]->clock.rate.doubt_ppb, 0);
	ck_assert_uint_eq(r->clock.map.hz, s->rings[0]->clock.rate.hz);
	ck_assert_uint_eq(r->clock.map.hz_doubt_ppb, s->rings[0]->clock.rate.doubt_ppb);
	ck_assert(s->rings[0]->clock.map.hz_open == s->rings[0]->clock.rate.open);
	ck_assert(r->clock.map.hz_open == s->rings[0]->clock.rate.open);
	/* A gap with a stop says nothing of this ring's own rate. */
	r->clock.map.stop_ns = xvt_clock_map_last(&r->clock.map)->host_ns + SECOND_NS;
	n = (uint32_t)r->clock.map.count;
	r->clock.next_burst_clock = 0;
	r->measure.burst_clock = xvt_clock_read() - ticks(s, SECOND_NS);
	xvt_session_ring_clock(s, r, xvt_clock_read());
	ck_assert_uint_eq(r->clock.map.count, n + 1);
	ck_assert_uint_eq(r->clock.rate.hz, 0);
	ck_assert_uint_eq(r->clock.map.hz_doubt_ppb, s->rings[0]->clock.rate.doubt_ppb);
}
END_TEST

/* A reader takes a node to be made with the rate that stands before it in the trace. */
START_TEST(the_nodes_of_a_rate_stand_before_the_next_one)
{
	struct xvt_ring *r = s->rings[0];
	const struct xvt_chunk_hdr *h;
	size_t at = 0, nodes = 0, rates = 0;

	begin_anew();
	xvt_clock_rate_init(&r->clock.rate, 0, s->clock.hz + s->clock.hz / 100);
	xvt_ring_announce(s, r);
	xvt_session_flush(s);
	while (recording_chunk(&rec, &at))
		;
	for (uint64_t now = xvt_clock_read(); r->clock.map.hz == s->clock.hz;)
		now = next_turn(now);
	xvt_session_flush(s);
	while ((h = recording_chunk(&rec, &at))) {
		if (h->type == XVT_CHUNK_NODE && !rates) {
			const struct xvt_clock_node *n = (const void *)(h + 1);

			for (uint32_t i = 0; i < h->len / sizeof(*n); i++)
				nodes += n[i].ring == 0;
		} else if (h->type == XVT_CHUNK_RING) {
			struct xvt_ring_info info;

			memcpy(&info, h + 1, sizeof(info));
			rates += info.ring == 0 && info.clock_hz == r->clock.map.hz;
		}
	}
	ck_assert_uint_ge(rates, 1);
	ck_assert_uint_eq(nodes, r->clock.map.count);
}
END_TEST

/* --- answers while a pass goes on --- */

START_TEST(a_guest_that_answers_meanwhile_is_met_and_the_map_is_not_touched)
{
	struct xvt_ring *r = s->rings[0];
	struct xvt_clock_target t = { .ctl = r->ctl,
				      .host = r->host,
				      .host_clock = &s->clock,
				      .guest_hz = &rec.vm->clocks.guest_hz,
				      .exchanges = &rec.vm->clocks.exchanges };
	uint32_t nodes = r->clock.map.count, n;
	uint64_t seq;

	r->measure.source_ops = &xvt_clock_handshake;
	ck_assert_int_eq(r->measure.source_ops->open(&r->measure.source, &t), 0);
	r->clock.next_burst_clock = s->clocks.due[0] = s->clocks.first_due =
		s->clocks.next_scan_clock = 0;
	ck_assert(xvt_session_clocks(s, xvt_clock_read()));
	ck_assert_uint_eq(s->clocks.nr_asked, 1);
	/* Where its region is about to go, its words are not loaded. */
	ck_assert_ptr_nonnull(s->clocks.asked[0].wait.word);
	xvt_session_clock_forget(s, rec.vm);
	ck_assert_ptr_null(s->clocks.asked[0].wait.word);
	xvt_session_clocks(s, xvt_clock_read());
	seq = xvt_load(&r->host->request_seq);
	s->clocks.next_meet_clock = 0;
	xvt_session_service_clocks(s);
	ck_assert_uint_eq(xvt_load(&r->host->request_seq), seq); /* no answer, no question */
	ck_assert_int_gt(xvt_writer_answer(&writers[0]), 0);
	s->clocks.next_meet_clock = 0;
	xvt_session_service_clocks(s);
	ck_assert_uint_eq(xvt_load(&r->host->request_seq), seq + 1);
	ck_assert_uint_eq(r->clock.map.count, nodes);
	/* All that belongs to it: as many questions as were wanted, however it is answered. */
	for (n = 1; r->clock.map.count == nodes && n < PASSES; n++) {
		xvt_writer_answer(&writers[0]);
		s->clocks.next_meet_clock = 0;
		if (n % 2)
			xvt_session_service_clocks(s);
		else
			xvt_session_clocks(s, xvt_clock_read());
	}
	ck_assert_uint_eq(r->clock.map.count, nodes + 1);
	ck_assert_uint_eq(s->clocks.nr_asked, 0);
	r->measure.source_ops->close(r->measure.source);
	r->measure.source = (struct xvt_clock_source *)r;
	r->measure.source_ops = &at_once;
}
END_TEST

/* --- how long a machine may hold the others back --- */

#define STEP (SECOND_NS / 100)

static uint64_t fake_now;

static const bool none_held[2] = { false, false }, one_held[2] = { true, false },
		  other_held[2] = { false, true }, both_held[2] = { true, true };

/* As the merge would: nothing gets past a ring that takes part. */
static void raise_watermark(void)
{
	uint64_t ns = xvt_host_clock_ns(&s->clock, fake_now);
	uint32_t i;

	for (i = 0; i < 2; i++)
		ns = xvt_ring_bound(s->rings[i]) < ns ? xvt_ring_bound(s->rings[i]) : ns;
	if (ns > s->merge.watermark)
		s->merge.watermark = ns;
}

static unsigned int disk_holds; /* so many of four passes */

/* The machine's rings as a pass has left them: each in `held` is never seen idle. */
static void stall_for(uint64_t ns, const bool held[2])
{
	struct xvt_vm *vm = rec.vm;
	uint64_t end = fake_now + ticks(s, ns);
	uint32_t i, pass = 0;

	for (; (int64_t)(fake_now - end) < 0; fake_now += ticks(s, STEP)) {
		vm->scan.first_active = 0;
		vm->scan.nr_active = s->scan.nr_active = 2;
		vm->scan.looked = true;
		for (i = 0; i < 2; i++) {
			s->scan.active[i] = s->rings[i];
			if (!held[i])
				s->rings[i]->drain.passed_clock = fake_now;
		}
		raise_watermark();
		xvt_session_stall(s, fake_now, pass++ % 4 < disk_holds);
	}
}

static uint64_t bar_ns(void)
{
	const uint64_t left = rec.vm->stall.until_clock - fake_now;

	return (uint64_t)((unsigned __int128)left * SECOND_NS / s->clock.hz);
}

static void begin_stalls(void)
{
	fake_now = xvt_clock_read();
	/* Its own passes are over: the recorder was not away. */
	stall_for(60 * SECOND_NS, none_held);
	ck_assert(!rec.vm->stall.barred);
}

START_TEST(a_machine_that_holds_back_again_and_again_is_barred_for_longer)
{
	const uint64_t stall = rec.vm->stall.left_ns, least = s->opt.stall_timeout_ns / 2;
	struct xvt_vm_stall *st = &rec.vm->stall;
	uint32_t i;

	begin_stalls();
	stall_for(least + stall / 2, one_held);
	ck_assert(!st->barred);
	stall_for(stall / 2 + 10 * STEP, one_held);
	ck_assert(st->barred);
	ck_assert_uint_eq(xvt_ring_bound(s->rings[0]), UINT64_MAX);
	ck_assert_uint_eq(xvt_ring_bound(s->rings[3]), UINT64_MAX);
	for (i = 1; i < 4; i++) {
		uint64_t before = bar_ns();

		stall_for(bar_ns() + 2 * STEP, one_held);
		ck_assert(!st->barred);
		ck_assert_uint_lt(xvt_ring_bound(s->rings[0]), UINT64_MAX);
		/* Hardly anything is left of its budget: it has what costs nothing. */
		stall_for(least + SECOND_NS, one_held);
		ck_assert(st->barred);
		ck_assert_uint_gt(bar_ns(), before + before / 2);
	}
	ck_assert_uint_eq(st->bars, 4);
	/* What it does in a moment takes nothing back; a minute does. */
	stall_for(bar_ns() + 2 * STEP, none_held);
	stall_for(50 * SECOND_NS, none_held);
	ck_assert_uint_eq(st->bars, 4);
	stall_for(11 * SECOND_NS, none_held);
	ck_assert_uint_eq(st->bars, 3);
}
END_TEST

START_TEST(all_rings_of_a_machine_have_one_budget)
{
	const uint64_t stall = rec.vm->stall.left_ns, least = s->opt.stall_timeout_ns / 2;
	unsigned int i;

	begin_stalls();
	/* Each of them for less than the stall time-out. */
	for (i = 0; i < 4; i++) {
		ck_assert(!rec.vm->stall.barred);
		stall_for(least + stall / 3 - 2 * SECOND_NS, i % 2 ? one_held : other_held);
	}
	ck_assert(rec.vm->stall.barred);
}
END_TEST

/* One comes when the other one goes: nothing gets past the two. */
START_TEST(rings_that_hold_in_turns_wait_for_nothing_once)
{
	const uint64_t least = s->opt.stall_timeout_ns / 2, budget = rec.vm->stall.left_ns;
	unsigned int turn = 0;
	uint64_t ns;

	begin_stalls();
	for (ns = 0; ns < least + budget; ns += least - SECOND_NS) {
		struct xvt_ring *comes = s->rings[turn++ % 2], *goes = s->rings[turn % 2];

		ck_assert(!rec.vm->stall.barred);
		xvt_ring_set_phase(goes, XVT_PHASE_ASIDE);
		goes->clock.map.closed = true;
		phase_anew(comes, XVT_PHASE_LIVE);
		comes->clock.map.closed = false;
		comes->session.live_ns = xvt_host_clock_ns(&s->clock, fake_now);
		stall_for(least - SECOND_NS, both_held);
	}
	ck_assert(rec.vm->stall.barred);
}
END_TEST

/* A short one, as long as it lasts. */
START_TEST(a_short_wait_costs_nothing)
{
	const uint64_t budget = rec.vm->stall.left_ns, least = s->opt.stall_timeout_ns / 2;
	unsigned int i;

	begin_stalls();
	for (i = 0; i < 40; i++) {
		stall_for(least / 2, one_held);
		stall_for(STEP, none_held);
	}
	ck_assert_uint_eq(rec.vm->stall.total_bars, 0);
	ck_assert_uint_eq(rec.vm->stall.left_ns, budget);
}
END_TEST

/* No other ring may be blamed for it. */
START_TEST(a_recorder_that_was_away_charges_no_ring)
{
	const uint64_t budget = rec.vm->stall.left_ns;
	unsigned int i;

	begin_stalls();
	for (i = 0; i < 400; i++) {
		stall_for(10 * STEP, one_held);
		fake_now += ticks(s, SECOND_NS);
	}
	ck_assert_uint_eq(rec.vm->stall.left_ns, budget);
}
END_TEST

START_TEST(a_disk_that_holds_all_machines_excuses_but_not_for_ever)
{
	const uint64_t budget = rec.vm->stall.left_ns, least = s->opt.stall_timeout_ns / 2;

	begin_stalls();
	disk_holds = 4;
	stall_for(10 * (least + budget), one_held);
	ck_assert_uint_eq(rec.vm->stall.left_ns, budget);
	stall_for(SECOND_NS, none_held);
	disk_holds = 2;
	stall_for(least + 8 * budget, one_held);
	disk_holds = 0;
	ck_assert_uint_ge(rec.vm->stall.total_bars, 1);
}
END_TEST

Suite *session_drain_suite(void)
{
	Suite *suite = suite_create("session-drain");
	TCase *tc = tcase_create("rest");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, an_event_does_not_wait_for_rings_at_rest);
	tcase_add_test(tc, a_checkpoint_ends_whatever_is_active_meanwhile);
	tcase_add_test(tc, a_ring_silent_for_long_holds_back_no_longer);
	tcase_add_test(tc, an_idle_ring_needs_few_nodes);
	tcase_add_test(tc, nodes_of_a_ring_that_is_never_idle_are_counted);
	tcase_add_test(tc, a_ring_that_is_gone_keeps_one_node);
	tcase_add_test(tc, restored_memory_is_not_waited_for);
	tcase_add_loop_test(tc, counters_that_go_back_do_not_end_a_ring, 0, 2);
	tcase_add_test(tc, a_ring_that_goes_back_all_the_time_holds_none_back);
	tcase_add_test(tc, what_is_due_goes_back_with_the_counters);
	tcase_add_test(tc, a_recording_can_be_asked_until_it_is_freed);
	tcase_add_test(tc, a_loop_that_fails_at_the_end_is_no_end_in_order);
	tcase_add_test(tc, a_recording_that_cannot_begin_leaves_nothing_behind);
	tcase_add_test(tc, losses_are_paid_for_before_the_second_is_over);
	tcase_add_test(tc, losses_of_an_earlier_trace_are_not_missed_in_this_one);
	tcase_add_test(tc, the_bound_of_rings_at_rest_is_theirs);
	tcase_add_loop_test(tc, whatever_its_words_say_anew_wakes_it, 0,
			    sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(tc, what_its_vmm_tells_wakes_a_machine);
	tcase_add_test(tc, a_ring_woken_meanwhile_is_not_parked);
	tcase_add_test(tc, memory_that_went_back_wakes_a_machine);
	tcase_add_test(tc, everybody_has_a_turn);
	tcase_add_test(tc, a_guest_that_does_not_answer_makes_no_quick_passes);
	tcase_add_test(tc, so_many_questions_are_open_and_everybody_is_asked);
	tcase_add_test(tc, silent_rings_leave_room_for_the_others);
	tcase_add_test(tc, each_ring_of_a_machine_has_its_turn);
	tcase_add_test(tc, silent_rings_of_one_machine_do_not_keep_another_from_being_asked);
	tcase_add_test(tc, a_pass_reads_as_much_of_many_machines_as_of_one);
	tcase_add_test(tc, a_pass_counts_what_the_one_before_has_read);
	tcase_add_test(tc, a_machine_that_answers_slowly_uses_up_its_own_time);
	tcase_add_test(tc, a_clock_that_keeps_its_line_is_measured_less_often);
	tcase_add_test(tc, a_clock_that_left_its_line_is_measured_soon);
	tcase_add_test(tc, a_beginning_ring_does_not_wait_for_idle_ones);
	tcase_add_test(tc, all_rings_begin_with_the_rate_of_the_first);
	tcase_add_test(tc, a_shared_rate_is_known_no_better_than_by_its_ring);
	tcase_add_test(tc, the_nodes_of_a_rate_stand_before_the_next_one);
	tcase_add_loop_test(tc, a_step_that_is_not_known_is_what_it_can_be_at_most, 0, 2);
	tcase_add_test(tc, a_machine_that_holds_back_again_and_again_is_barred_for_longer);
	tcase_add_test(tc, all_rings_of_a_machine_have_one_budget);
	tcase_add_test(tc, rings_that_hold_in_turns_wait_for_nothing_once);
	tcase_add_test(tc, a_short_wait_costs_nothing);
	tcase_add_test(tc, a_recorder_that_was_away_charges_no_ring);
	tcase_add_test(tc, a_disk_that_holds_all_machines_excuses_but_not_for_ever);
	tcase_add_test(tc, a_guest_that_answers_meanwhile_is_met_and_the_map_is_not_touched);
	suite_add_tcase(suite, tc);
	tc = tcase_create("overwrite");
	tcase_add_checked_fixture(tc, setup_overwrite, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, laps_are_paid_for_as_well);
	tcase_add_test(tc, a_ring_that_is_overrun_is_full);
	suite_add_tcase(suite, tc);
	tc = tcase_create("begins");
	tcase_add_test(tc, nothing_is_claimed_of_a_ring_that_is_in_no_file);
	suite_add_tcase(suite, tc);
	return suite;
}
