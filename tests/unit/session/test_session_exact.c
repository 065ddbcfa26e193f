// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_exact.c - an exact source beside the handshake: when its node is taken, what a
 * change of its formula begins, what it takes to be refused. The handshake is a script, the guest's
 * clock is a formula, what the region says of it is another, and KVM's files are a third.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "clock/kvm.h"
#include "recording.h"
#include "xvt_vmm_clock.h"
#include "xvt_writer.h"

#define MS 1000000ull

static struct recording rec;
static struct xvt_session *s;
static struct xvt_ring *r;
static int64_t truth; /* guest clock = host clock + truth */
static int64_t said;  /* by the region */

/* What happens within the next burst, after its questions and before its end. */
static int64_t jump, says_more;
static uint64_t asked_at; /* 0: in the burst */
static uint64_t bound_ns;
static uint64_t wide_ns; /* half of what the handshake knows */
static uint64_t answers;
static bool quiet;
static unsigned int refusals, hints;

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)level;
	(void)name;
	refusals += strstr(text, "is refused") != NULL;
	hints += strstr(text, "--trust-guest-clock g1") != NULL;
}

static void say(int64_t offset)
{
	said = offset;
	xvt_vmm_clock_put(&r->host->vmm_clock, offset, 1, 0);
}

static void source_start(struct xvt_clock_source *source)
{
	(void)source;
}

/* Answers at once, within wide_ns, which holds whatever the machine is busy with. */
static int source_poll(struct xvt_clock_source *source, struct xvt_clock_measure *m)
{
	uint64_t host = asked_at ? asked_at : xvt_clock_read_ordered(), half = ticks(s, wide_ns);

	(void)source;
	if (quiet)
		return 0;
	truth += jump;
	if (says_more)
		say(said + says_more);
	jump = says_more = 0;
	memset(m, 0, sizeof(*m));
	m->samples[0].source = XVT_SOURCE_HANDSHAKE;
	m->samples[0].guest = host + (uint64_t)truth;
	m->samples[0].host_clock_lo = host - half;
	m->samples[0].host_clock_hi = host + half;
	m->nr_samples = 1;
	m->node.source = XVT_SOURCE_HANDSHAKE;
	m->node.guest = host + (uint64_t)truth;
	m->node.host_ns = xvt_host_clock_ns(&s->clock, host);
	m->node.bound_ns = bound_ns;
	m->host_clock_lo = host - ticks(s, 20); /* later than the formulas were read */
	m->host_clock_hi = host + half;
	answers++;
	return 1;
}

static bool source_busy(const struct xvt_clock_source *source)
{
	(void)source;
	return false;
}

static void source_close(struct xvt_clock_source *source)
{
	(void)source;
}

static const struct xvt_clock_source_ops script = {
	.name = "script",
	.id = XVT_SOURCE_HANDSHAKE,
	.start = source_start,
	.poll = source_poll,
	.busy = source_busy,
	.close = source_close,
};

static void setup(void)
{
	struct xvt_session_options opt = { .note = on_note,
					   .mode = XVT_ENABLE_STOP,
					   .memory_bytes = 1 << 20 };

	recording_begin(&rec, 1, &opt);
	s = rec.s;
	r = s->rings[0];
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
	r->measure.source = (struct xvt_clock_source *)&rec; /* not used */
	r->measure.source_ops = &script;
	r->clock.map.hz = rec.vm->clocks.guest_hz = s->clock.hz;
	rec.vm->exact.trusts_guest = true;
	rec.vm->exact.use[0].next_look_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	truth = -123456789;
	jump = says_more = 0;
	asked_at = answers = 0;
	bound_ns = wide_ns = 20;
	quiet = false;
	refusals = hints = 0;
	say(truth);
}

static void teardown(void)
{
	phase_anew(r, XVT_PHASE_DONE);
	quiet = true;
	recording_end(&rec);
}

/* The newest node after one more burst; wanted at once, or because it was time. */
static const struct xvt_clock_node *burst(bool at_once)
{
	uint64_t before = answers;

	r->measure.burst_clock = 0;
	r->clock.next_burst_clock = !at_once;
	xvt_session_ring_clock(s, r, xvt_clock_read());
	ck_assert_uint_eq(answers, before + 1);
	return xvt_clock_map_last(&r->clock.map);
}

static int64_t ms(int64_t n)
{
	return n * (int64_t)ticks(s, MS);
}

static void ck_node(const struct xvt_clock_node *n, uint32_t source, uint32_t epoch)
{
	ck_assert_uint_eq(n->source, source);
	ck_assert_uint_eq(n->epoch, epoch);
}

START_TEST(what_agrees_makes_the_node_exact)
{
	const struct xvt_clock_node *n = burst(false);

	ck_node(n, XVT_SOURCE_GUEST, 0);
	ck_assert_uint_le(n->bound_ns, 3);
	ck_node(burst(false), XVT_SOURCE_GUEST, 0);
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	ck_assert_uint_eq(r->account.stats.rejected, 0);
}
END_TEST

/* A guest can write what its region says, so without the option it counts for nothing. */
START_TEST(the_guests_word_needs_an_option)
{
	rec.vm->exact.trusts_guest = false;
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 0);
	rec.vm->exact.use[1].next_look_clock = xvt_clock_read();
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 0);
	ck_assert_uint_eq(hints, 1);
	ck_assert_uint_eq(r->account.stats.rejected, 0);
}
END_TEST

/* Files as KVM has them, of a machine that maps the region. */
static void kvm_says(int64_t offset)
{
	static unsigned int trees;
	char root[256], debugfs[300], proc[300], command[2400];
	struct xvt_kvm_paths paths = { .debugfs = debugfs, .proc = proc };
	struct xvt_clock_exact **source = &rec.vm->exact.use[0].source;
	struct stat st;

	snprintf(root, sizeof(root), "%s/exact-%d-%u", scratch(), (int)getpid(), trees++);
	snprintf(debugfs, sizeof(debugfs), "%s/debugfs", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	ck_assert_int_eq(fstat(rec.vm->region.fd, &st), 0);
	snprintf(command, sizeof(command),
		 "v=%s/kvm/500-12/vcpu%u p=%s/500; mkdir -p $v $p/fd && "
		 "ln -s anon_inode:kvm-vm $p/fd/12 && "
		 "echo '500 (q) S 1 2 3 0 -1 4 5 6 7 8 9 10 11 12 20 0 4 0 1000 1 2' >$p/stat && "
		 "echo '7f1000000000-7f1000400000 rw-s 00000000 %02x:%02x %ju /r' >$p/maps && "
		 "echo 100 >$v/pid && echo 0 >$v/guest_mode && echo %jd >$v/tsc-offset",
		 debugfs, xvt_load(&r->ctl->hw_id), proc, major(st.st_dev), minor(st.st_dev),
		 (uintmax_t)st.st_ino, (intmax_t)offset);
	ck_assert_int_eq(system(command), 0);
	if (*source)
		xvt_clock_kvm.close(*source);
	*source = NULL;
	ck_assert_int_eq(xvt_clock_kvm.open(source, rec.vm->region.fd, &paths), 0);
}

START_TEST(what_kvm_says_outranks_the_guests_word)
{
	kvm_says(truth);
	ck_node(burst(true), XVT_SOURCE_KVM, 0);
	ck_node(burst(true), XVT_SOURCE_KVM, 0);
	ck_assert_uint_eq(r->account.stats.rejected, 0);
	/* Still within what the handshake can see, so only KVM can tell. */
	wide_ns = 40000;
	say(truth + (int64_t)ticks(s, 20000));
	ck_node(burst(true), XVT_SOURCE_KVM, 0);
	ck_node(burst(true), XVT_SOURCE_KVM, 0);
	ck_assert_uint_eq(refusals, 1);
	ck_assert_uint_eq(r->account.stats.rejected, 1u << XVT_SOURCE_GUEST);
}
END_TEST

/* A guest that answers by 870 us wrongly, and has its region say the same. KVM's offset cannot be
 * proven against that, but nothing gets an exact bound by it. */
START_TEST(a_lie_that_is_told_twice_is_not_exact)
{
	kvm_says(truth);
	truth += (int64_t)ticks(s, 870000);
	say(truth);
	for (int i = 0; i < 4; i++)
		ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 0);
	ck_assert_uint_eq(refusals, 2);
	ck_assert_uint_eq(r->account.stats.rejected, 1u << XVT_SOURCE_KVM | 1u << XVT_SOURCE_GUEST);
}
END_TEST

/* While a nested guest runs KVM does not say the vCPU's offset. That is no reason to ask the
 * guest. */
START_TEST(a_kvm_that_says_nothing_for_now_is_not_replaced)
{
	kvm_says(truth);
	xvt_store(&r->ctl->hw_id, 7u);
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 0);
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 0);
}
END_TEST

/* To look for a VMM reads the maps of all processes. How often, a guest must not decide. */
START_TEST(vcpus_that_are_not_there_do_not_make_the_recorder_look_at_once)
{
	struct xvt_exact_use *use = &rec.vm->exact.use[0];
	uint64_t before;
	unsigned int i;

	kvm_says(truth);
	use->gap_ns = 32 * SECOND_NS;
	use->reported = true;
	xvt_store(&r->ctl->hw_id, 4242u);
	before = xvt_clock_read();
	for (i = 0; i < 100 && use->source; i++)
		burst(true);
	ck_assert_ptr_null(use->source);
	ck_assert_uint_eq(use->gap_ns, 32 * SECOND_NS);
	ck_assert(use->reported);
	ck_assert_int_gt((int64_t)(use->next_look_clock - before),
			 (int64_t)ticks(s, 31 * SECOND_NS));
	burst(true);
	ck_assert_ptr_null(use->source);
}
END_TEST

/* The clock jumps within a burst: its node is measured, and begins the epoch; the exact node after
 * it is of another formula than the exact one before, and that is the same jump. */
START_TEST(a_jump_seen_by_the_handshake_first_is_one_epoch)
{
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	jump = says_more = ms(3000);
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 1);
	ck_node(burst(true), XVT_SOURCE_GUEST, 1);
	ck_node(burst(true), XVT_SOURCE_GUEST, 1);
}
END_TEST

START_TEST(a_jump_seen_by_the_formula_first_is_one_epoch)
{
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	truth += ms(3000);
	say(truth);
	ck_node(burst(true), XVT_SOURCE_GUEST, 1);
	ck_node(burst(true), XVT_SOURCE_GUEST, 1);
	/* And back, within a burst. */
	jump = says_more = -ms(3000);
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 2);
	ck_node(burst(true), XVT_SOURCE_GUEST, 2);
}
END_TEST

/* A measured clock may creep so much. A formula does not. */
START_TEST(a_formula_that_changed_a_little_begins_an_epoch)
{
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	truth += ms(5);
	say(truth);
	ck_node(burst(true), XVT_SOURCE_GUEST, 1);
	/* Within a burst, whose node may be of before or after: it begins none. */
	jump = says_more = ms(5);
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 1);
	ck_node(burst(true), XVT_SOURCE_GUEST, 2);
	ck_node(burst(true), XVT_SOURCE_GUEST, 2);
	/* Twice between two exact nodes: that is one border. */
	jump = says_more = ms(5);
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 2);
	truth += ms(5);
	say(truth);
	ck_node(burst(true), XVT_SOURCE_GUEST, 3);
	ck_node(burst(true), XVT_SOURCE_GUEST, 3);
}
END_TEST

/* What is not in the map has begun nothing: the next one has to, if there is something to begin. */
START_TEST(a_formula_of_a_node_that_was_dropped_is_still_new)
{
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	truth += ms(5);
	say(truth);
	r->clock.map.nodes[r->clock.map.count - 1].guest += 2 * (uint64_t)ms(60000);
	r->clock.map.nodes[r->clock.map.count - 1].host_ns += 60000 * MS;
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	ck_assert_uint_eq(r->clock.map.count, 1);
	r->clock.map.nodes[0].guest -= 2 * (uint64_t)ms(60000);
	r->clock.map.nodes[0].host_ns -= 60000 * MS;
	if (_i) {
		/* Or the old one is back. */
		truth -= ms(5);
		says_more = -ms(5);
		ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 0);
	}
	ck_node(burst(true), XVT_SOURCE_GUEST, !_i);
}
END_TEST

/* An epoch that a measurement began is of a clock of which the formula has said nothing yet. */
START_TEST(a_formula_does_not_hold_for_another_epoch)
{
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	ck_assert(xvt_session_exact_holds(r));
	jump = ms(3000);
	says_more = 1;
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 1);
	say(said - 1);
	ck_assert(!xvt_session_exact_holds(r));
}
END_TEST

/* What was read after a burst is not read again before the next: that one is not exact when the
 * formula changed between them, and the one after it is. */
START_TEST(a_formula_is_read_once_a_burst)
{
	ck_node(burst(false), XVT_SOURCE_GUEST, 0);
	truth += ms(3000);
	say(truth);
	ck_node(burst(false), XVT_SOURCE_HANDSHAKE, 1);
	ck_node(burst(false), XVT_SOURCE_GUEST, 1);
	/* A burst that is wanted at once has a reason. */
	truth += ms(3000);
	say(truth);
	ck_node(burst(true), XVT_SOURCE_GUEST, 2);
	ck_assert_uint_eq(refusals, 0);
}
END_TEST

/* A question was asked, the clock moved, the formula was read; then its answer was found. */
START_TEST(an_answer_to_an_older_question_is_not_held_against_a_formula)
{
	int64_t old = truth;

	ck_node(burst(false), XVT_SOURCE_GUEST, 0);
	asked_at = xvt_clock_read_ordered();
	for (int i = 0; i < 3; i++) {
		say(old + ms(3000));
		burst(true);
		say(old);
		burst(true);
	}
	ck_assert_uint_eq(refusals, 0);
	ck_assert_uint_eq(r->account.stats.rejected, 0);
	asked_at = 0;
	burst(true);
	ck_assert_uint_eq(xvt_clock_map_last(&r->clock.map)->source, XVT_SOURCE_GUEST);
}
END_TEST

START_TEST(two_contradictions_of_one_formula_refuse_its_source)
{
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	/* There and back within a burst: the formula was never wrong. */
	truth += ms(1);
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 0);
	ck_assert_uint_eq(r->clock.next_burst_clock, 0);
	ck_assert(!xvt_session_exact_holds(r));
	truth -= ms(1);
	ck_node(burst(true), XVT_SOURCE_GUEST,
		1); /* what was measured between is another clock's */
	ck_assert(xvt_session_exact_holds(r));
	/* Another formula is as good as new. */
	say(truth + ms(1));
	ck_assert_uint_eq(burst(true)->source, XVT_SOURCE_HANDSHAKE);
	ck_assert_uint_eq(refusals, 0);
	ck_assert_uint_ne(r->clock.next_burst_clock, 0);
	ck_assert_uint_eq(burst(true)->source, XVT_SOURCE_HANDSHAKE);
	ck_assert_uint_eq(refusals, 1);
	ck_assert_uint_eq(r->account.stats.rejected, 1u << XVT_SOURCE_GUEST);
	/* For good. */
	say(truth);
	ck_assert_uint_eq(burst(true)->source, XVT_SOURCE_HANDSHAKE);
	ck_assert_uint_eq(burst(true)->source, XVT_SOURCE_HANDSHAKE);
	ck_assert(!xvt_session_exact_holds(r));
	ck_assert_uint_eq(refusals, 1);
}
END_TEST

/* The whole way of it: the VMM tells of the stop while a burst is under way. */
START_TEST(a_burst_that_began_before_a_stop_does_not_settle_it)
{
	struct xvt_vmm_report stop = { .event = XVT_VMM_STOPPED };

	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	asked_at = xvt_clock_read_ordered();
	xvt_session_vmm_report(rec.vm, &stop);
	burst(true);
	ck_assert_uint_eq(r->clock.map.count, 2);
	ck_assert(r->clock.map.suspect);
	asked_at = 0;
	stop.event = XVT_VMM_RUNNING;
	xvt_session_vmm_report(rec.vm, &stop);
	burst(true);
	ck_assert_uint_eq(r->clock.map.count, 3);
	ck_assert(!r->clock.map.suspect);
}
END_TEST

START_TEST(an_answer_too_wide_for_a_node_is_an_answer_that_confirms_nothing)
{
	uint64_t now;

	r->account.stats.rejected = 1u << XVT_SOURCE_GUEST;
	ck_node(burst(true), XVT_SOURCE_HANDSHAKE, 0);
	bound_ns = 3 * MS;
	burst(true);
	ck_assert_uint_eq(r->clock.map.count, 1);
	ck_assert(!r->guest.wide); /* a better one may come at once */
	r->measure.wide_clock -= ticks(s, SECOND_NS);
	r->measure.answer_clock = 0;
	burst(true);
	ck_assert_uint_eq(r->clock.map.count, 1);
	ck_assert(r->guest.wide);
	now = xvt_clock_read();
	s->opt.stall_timeout_ns = SECOND_NS;
	r->drain.last.state = XVT_RING_ONLINE;
	xvt_session_ring_phase(s, r, now);
	ck_assert(!r->guest.quiet);
	ck_assert_int_eq(r->phase, XVT_PHASE_LIVE);
	bound_ns = 20;
	burst(true);
	ck_assert_uint_eq(r->clock.map.count, 2);
	ck_assert(!r->guest.wide);
	/* Never a better one: then it is taken. */
	bound_ns = 3 * MS;
	burst(true);
	r->measure.wide_clock -= ticks(s, 6 * SECOND_NS);
	burst(true);
	ck_assert_uint_eq(r->clock.map.count, 3);
	ck_assert(!r->guest.wide);
}
END_TEST

/* Its first record of all is placed in this very pass, after the phases: by the formula, too. */
START_TEST(a_formula_holds_for_what_a_silent_ring_has_just_delivered)
{
	struct xvt_piece piece = { .ring = r };
	uint64_t now;

	s->opt.stall_timeout_ns = 60 * SECOND_NS;
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	now = xvt_clock_read();
	r->drain.last.state = XVT_RING_ONLINE;
	r->measure.answer_clock = now - ticks(s, SECOND_NS);
	r->measure.answered = false;
	r->drain.idle = true;
	xvt_session_ring_phase(s, r, now);
	ck_assert(r->guest.quiet && !r->clock.exact_holds);
	r->drain.first = &piece;
	xvt_session_ring_phase(s, r, now);
	r->drain.first = NULL;
	ck_assert(r->clock.exact_holds);
}
END_TEST

static uint64_t guest_clock(void *arg)
{
	(void)arg;
	return xvt_clock_read_ordered() + (uint64_t)truth;
}

/* Until nothing is left to be said of it. */
static void passes_until_done(void)
{
	uint64_t sleep_ns;

	do {
		s->passes.next_clock = 0;
		ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
	} while (r->phase != XVT_PHASE_DONE || r->drain.first || r->head.have);
}

/* A CPU that comes writes before its ring says that it is there, and one that goes after. */
START_TEST(what_a_cpu_writes_at_its_ends_has_a_time)
{
	struct xvt_writer w;
	uint64_t n;

	s->opt.stall_timeout_ns = 60 * SECOND_NS;
	s->passes.joined = true;
	xvt_writer_init(&w, rec.map, &rec.g, 0);
	w.clock = guest_clock;
	xvt_store(&r->host->enable, (uint32_t)XVT_ENABLE_STOP);
	r->words.enable = XVT_ENABLE_STOP;
	ck_node(burst(true), XVT_SOURCE_GUEST, 0);
	quiet = true;
	xvt_store(&r->ctl->state, (uint32_t)XVT_RING_OFFLINE);
	passes_until_done();
	for (n = 1; n <= 3; n++) {
		ck_assert_int_eq(xvt_write(&w, XVT_ID_U64, &n, sizeof(n)), 0);
		passes_until_done();
		ck_assert_uint_eq(r->account.stats.events, n);
	}
	ck_assert_uint_eq(r->account.stats.unconfirmed, 0);
	ck_assert_uint_eq(r->account.stats.late, 0);
	ck_node(xvt_clock_map_last(&r->clock.map), XVT_SOURCE_GUEST, 0);
}
END_TEST

Suite *session_exact_suite(void)
{
	Suite *suite = suite_create("session_exact");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, what_agrees_makes_the_node_exact);
	tcase_add_test(t, the_guests_word_needs_an_option);
	tcase_add_test(t, what_kvm_says_outranks_the_guests_word);
	tcase_add_test(t, a_lie_that_is_told_twice_is_not_exact);
	tcase_add_test(t, vcpus_that_are_not_there_do_not_make_the_recorder_look_at_once);
	tcase_add_test(t, a_kvm_that_says_nothing_for_now_is_not_replaced);
	tcase_add_test(t, a_jump_seen_by_the_handshake_first_is_one_epoch);
	tcase_add_test(t, a_jump_seen_by_the_formula_first_is_one_epoch);
	tcase_add_test(t, a_formula_that_changed_a_little_begins_an_epoch);
	tcase_add_loop_test(t, a_formula_of_a_node_that_was_dropped_is_still_new, 0, 2);
	tcase_add_test(t, a_formula_does_not_hold_for_another_epoch);
	tcase_add_test(t, a_formula_is_read_once_a_burst);
	tcase_add_test(t, an_answer_to_an_older_question_is_not_held_against_a_formula);
	tcase_add_test(t, two_contradictions_of_one_formula_refuse_its_source);
	tcase_add_test(t, a_burst_that_began_before_a_stop_does_not_settle_it);
	tcase_add_test(t, an_answer_too_wide_for_a_node_is_an_answer_that_confirms_nothing);
	tcase_add_test(t, a_formula_holds_for_what_a_silent_ring_has_just_delivered);
	tcase_add_test(t, what_a_cpu_writes_at_its_ends_has_a_time);
	suite_add_tcase(suite, t);
	return suite;
}
