// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_wake.c - when a recorder sleeps, what it asks of the guests before, and what it
 * makes of their rings. The guest is the test, the server of doorbells is ours.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "vmm/doorbell_server.h"
#include "vmm/doorbell_wire.h"
#include "recording.h"
#include "base/socket.h"
#include "xvt_writer.h"

#define GAP 10000000ull

static struct recording rec;
static struct xvt_session *s;
static struct xvt_vm *vm;
static struct xvt_ring *r;
static struct xvt_writer w;
static struct xvt_doorbell_server *server;
static int guest, bell; /* the guest's socket, and what it rings */
static char told[256];
static unsigned int nr_told;

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	if (!level)
		return;
	snprintf(told, sizeof(told), "%s", text);
	nr_told++;
}

/* The guest's QEMU is the server's first peer, the recorder its second. */
static void connect_both(void)
{
	struct xvt_wire wire = { .fd = -1 };
	int64_t number = -1;
	uint32_t target;
	struct xvt_error why;
	int fd;

	unlink(scratch_path("wake"));
	ck_assert_int_eq(xvt_doorbell_server_open(&server, rec.loop, scratch_path("wake"),
						  vm->region.fd, 1, &why),
			 0);
	guest = xvt_socket_connect(scratch_path("wake"), &why);
	ck_assert_int_ge(guest, 0);
	ck_assert_int_eq(xvt_session_wake_add(vm, scratch_path("wake"), &why), 0);
	for (bell = -1; bell < 0;) {
		int got = xvt_wire_receive(guest, &wire, &number, &fd);

		ck_assert_int_ge(got, 0);
		if (!got)
			ck_assert_int_ge(xvt_loop_run(rec.loop, SECOND_NS), 0);
		else if (number == 1)
			bell = fd;
		else if (fd >= 0)
			close(fd);
	}
	while (!xvt_doorbell_ready(vm->bell.doorbell, &target))
		ck_assert_int_ge(xvt_loop_run(rec.loop, SECOND_NS), 0);
	ck_assert_uint_eq(target, 1u << 16);
}

/* As the drain left it long ago: all is there, and no event is open. */
static void drained(void)
{
	phase_anew(r, XVT_PHASE_LIVE);
	xvt_ring_words(r->ctl, &r->region->g, &r->drain.last);
	r->drain.idle = r->measure.answered = true;
	s->wake.filled = r->drain.last.commit >> rec.g.subbuf_shift;
	s->wake.quiet_clock = xvt_clock_read() - ticks(s, 10 * SECOND_NS);
}

static void setup(void)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .memory_bytes = 8 << 20,
					   .join_timeout_ns = 60 * SECOND_NS,
					   .stall_timeout_ns = 60 * SECOND_NS,
					   .note = on_note };

	nr_told = 0;
	recording_begin_unused(&rec, 2, &opt);
	xvt_writer_init(&w, rec.map, &rec.g, 0);
	s = rec.s;
	vm = rec.vm;
	r = recording_use(&rec, 0);
	drained();
	s->passes.joined = true;
	connect_both();
}

static void teardown(void)
{
	xvt_ring_set_phase(
		r, XVT_PHASE_BROKEN); /* no guest answers, and what was never written is not read */
	xvt_doorbell_server_close(server);
	recording_end(&rec);
	close(guest);
	close(bell);
}

static uint64_t word(void)
{
	return xvt_load(&xvt_host_region_page(&vm->region)->doorbell);
}

/* The end of a pass, with enough of the second left. */
static uint64_t sleeps(void)
{
	s->passes.next_second_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	return xvt_session_sleep(s, GAP, false);
}

static bool asleep(void)
{
	bool is = sleeps() > 100 * SECOND_NS;

	ck_assert_uint_eq(xvt_load(&r->host->need_wake), is);
	ck_assert_uint_eq(s->wake.asleep, is);
	return is;
}

static void ring(void)
{
	ck_assert_int_eq(eventfd_write(bell, 1), 0);
}

static void prove(void)
{
	ck_assert(!asleep());
	ring();
	ck_assert(asleep());
	xvt_session_got_up(s, xvt_clock_read());
}

START_TEST(no_sleep_before_the_guest_has_rung)
{
	uint64_t first;

	ck_assert_uint_eq(word(), 0);
	ring(); /* for nothing: it was not asked */
	ck_assert(!asleep());
	first = word();
	ck_assert_uint_eq(first & (XVT_DOORBELL_VALID | 0xffffffffu),
			  XVT_DOORBELL_VALID | 1u << 16);
	ck_assert(!asleep());
	ck_assert_uint_eq(word(), first); /* asked once, for now */
	vm->bell.asked_clock -= ticks(s, 2 * SECOND_NS);
	ck_assert(!asleep());
	ck_assert_uint_ne(word(), first); /* its QEMU may not have had our bell then */
	ck_assert(!vm->bell.proven);
	ring();
	ck_assert(asleep());
	ck_assert_uint_eq(nr_told, 0);
}
END_TEST

START_TEST(a_guest_that_never_rings_is_reported_once)
{
	unsigned int i;

	ck_assert(!asleep());
	ck_assert_uint_eq(nr_told, 0);
	/* Not of one that is not there. */
	vm->bell.first_clock -= ticks(s, 60 * SECOND_NS);
	r->measure.answered = false;
	ck_assert(!asleep());
	ck_assert_uint_eq(nr_told, 0);
	r->measure.answered = true;
	ck_assert(!asleep());
	ck_assert_uint_eq(nr_told, 0);
	vm->bell.first_clock -= ticks(s, 60 * SECOND_NS);
	for (i = 0; i < 3; i++)
		ck_assert(!asleep());
	ck_assert_uint_eq(nr_told, 1);
	ck_assert_ptr_nonnull(strstr(told, "does not ring"));
	/* It may all the same come to. */
	ring();
	ck_assert(asleep());
}
END_TEST

/* Ring 1 gets a writer, which fills n sub-buffers. */
static void fill_unused(uint64_t n)
{
	xvt_store_release(&xvt_host_ring_ctl(&vm->region, 1)->commit, n * rec.g.subbuf_size);
}

START_TEST(a_ring_that_no_writer_had_used_wakes_as_well)
{
	const struct xvt_ring_host *host = xvt_host_ring_host(&vm->region, 1);

	ck_assert_ptr_null(vm->rings[1]);
	prove();
	ck_assert_uint_eq(xvt_load(&host->need_wake), 0);
	ck_assert(asleep());
	ck_assert_uint_eq(xvt_load(&host->need_wake), 1);
	fill_unused(1);
	xvt_session_got_up(s, xvt_clock_read());
	ck_assert(vm->bell.crossed);
	/* It was written just before the sleep. */
	vm->bell.crossed = false;
	ck_assert(!asleep());
	fill_unused(0);
	ck_assert(asleep());
}
END_TEST

static void open_mark(void)
{
	r->mark.open = true;
	r->mark.last.host_clock_before = xvt_clock_read();
}

/* What keeps it awake. Each is undone by drained() or by hand. */
START_TEST(what_keeps_it_awake)
{
	static struct xvt_piece piece;
	static struct xvt_run run;
	struct xvt_session before;
	struct xvt_ring ring_before;

	prove();
	before = *s;
	ring_before = *r;
#define KEEPS(change)                                    \
	do {                                             \
		change;                                  \
		ck_assert_msg(!asleep(), #change);       \
		*r = ring_before;                        \
		s->passes.joined = before.passes.joined; \
		s->off.ending = before.off.ending;       \
		s->off.clock = before.off.clock;         \
		s->opt = before.opt;                     \
		s->merge = before.merge;                 \
		vm->request.seq = 0;                     \
	} while (0)
	KEEPS(r->drain.idle = false);
	KEEPS(r->measure.answered = false);
	KEEPS(r->head.have = true);
	KEEPS(r->drain.first = &piece);
	KEEPS(r->runs.first = &run);
	KEEPS(open_mark());
	KEEPS(xvt_ring_set_phase(r, XVT_PHASE_ASIDE));
	KEEPS((phase_anew(r, XVT_PHASE_NEW), r->drain.last.state = XVT_RING_ONLINE));
	KEEPS(s->passes.joined = false);
	KEEPS(s->off.ending = true);
	KEEPS(s->off.clock = 1);
	KEEPS(s->opt.kind = XVT_SESSION_SNAPSHOT);
	KEEPS(s->opt.run_spans = true);
	KEEPS(s->merge.emitted++);
	KEEPS(vm->request.seq = 1);
	KEEPS(s->wake.filled++);
#undef KEEPS
	ck_assert(!asleep()); /* a sub-buffer was filled just now */
	s->wake.quiet_clock -= ticks(s, 10 * SECOND_NS);
	ck_assert(asleep());
	xvt_session_got_up(s, xvt_clock_read());
	/* And these do not. What was emitted is on its way to the file. */
	s->merge.emitted++;
	s->checkpoint.in_flight = true;
	ck_assert(asleep());
	s->merge.emitted--;
	s->checkpoint.in_flight = false;
	xvt_session_got_up(s, xvt_clock_read());
	xvt_ring_set_phase(r, XVT_PHASE_DONE);
	ck_assert(asleep());
	xvt_session_got_up(s, xvt_clock_read());
	phase_anew(r, XVT_PHASE_NEW);
	r->drain.last.state = XVT_RING_IDLE;
	ck_assert(asleep());
	xvt_session_got_up(s, xvt_clock_read());
	drained();
	open_mark();
	r->mark.last.host_clock_before -= ticks(s, SECOND_NS); /* it is not written */
	ck_assert(asleep());
}
END_TEST

/* Nothing else is to be done: it does not poll until a checkpoint is due. */
START_TEST(a_checkpoint_comes_at_once_before_a_sleep)
{
	uint64_t ns;

	prove();
	s->merge.emitted++;
	s->checkpoint.clock = xvt_clock_read();
	s->passes.next_clock = xvt_clock_read();
	ck_assert(!s->checkpoint.in_flight);
	ck_assert_int_eq(xvt_session_pass(s, &ns), 0);
	ck_assert(s->checkpoint.in_flight);
	ck_assert_uint_eq(s->checkpoint.events, s->merge.emitted);
	/* With no doorbell there is no sleep, and the next one comes when it is due. */
	s->checkpoint.in_flight = false;
	s->wake.bells = 0;
	s->merge.emitted++;
	s->checkpoint.clock = s->passes.next_clock = xvt_clock_read();
	ck_assert_int_eq(xvt_session_pass(s, &ns), 0);
	ck_assert(!s->checkpoint.in_flight);
	s->wake.bells = 1;
	s->merge.emitted -= 2;
}
END_TEST

START_TEST(the_next_second_ends_it)
{
	uint64_t ns;

	prove();
	s->passes.next_second_clock = xvt_clock_read() + ticks(s, SECOND_NS);
	ns = xvt_session_sleep(s, GAP, false);
	ck_assert(ns <= SECOND_NS && ns >= GAP);
	xvt_session_got_up(s, xvt_clock_read());
	s->passes.next_second_clock = xvt_clock_read() - 1;
	ck_assert_uint_eq(xvt_session_sleep(s, GAP, false), GAP);
	ck_assert(!s->wake.asleep);
}
END_TEST

/* An event was written since the drain has looked: need_wake may have come too late for it. */
START_TEST(a_last_look_keeps_it_awake)
{
	const uint64_t payload[2] = { 0, 1 };

	prove();
	xvt_store(&r->host->enable, XVT_ENABLE_STOP);
	ck_assert_int_eq(xvt_write(&w, XVT_ID_U64, payload, sizeof(payload)), 0);
	ck_assert(!asleep());
	drained();
	ck_assert(asleep()); /* a trickle */
}
END_TEST

/* A sub-buffer is filled in our sleep. */
static void cross(void)
{
	uint64_t commit = xvt_load(&w.ctl->commit) + rec.g.subbuf_size;

	xvt_store(&w.ctl->resv, commit);
	xvt_store(&w.ctl->commit, commit);
}

START_TEST(a_ring_wakes_it)
{
	uint64_t now;

	prove();
	ck_assert(asleep());
	cross();
	ring();
	ck_assert_int_ge(xvt_loop_run(rec.loop, 3600 * SECOND_NS), 1);
	now = xvt_clock_read();
	s->passes.last_clock = 1;
	s->passes.next_clock = now + ticks(s, SECOND_NS);
	xvt_session_got_up(s, now);
	ck_assert_uint_eq(xvt_load(&r->host->need_wake), 0);
	ck_assert_uint_eq(vm->bell.wakes, 1);
	ck_assert_uint_eq(s->passes.next_clock, now);
	ck_assert_uint_eq(s->passes.last_clock, now); /* it was not held up */
	/* It has no listener while active. */
	ring();
	ck_assert_int_eq(xvt_loop_run(rec.loop, 0), 0);
	/* And one for something else, or one that was late, is no wake. */
	drained();
	ck_assert(asleep());
	ring();
	xvt_session_got_up(s, xvt_clock_read());
	ck_assert(asleep());
	cross();
	ring();
	now = s->wake.until_clock + ticks(s, SECOND_NS);
	xvt_session_got_up(s, now);
	ck_assert_uint_eq(vm->bell.wakes, 1);
	ck_assert_uint_eq(s->passes.last_clock, s->wake.until_clock); /* by so much it was */
}
END_TEST

/* The recorder's CPU is not the guest's. */
START_TEST(rings_for_nothing_end_no_more_sleeps)
{
	unsigned int n = 0;

	prove();
	while (asleep() && n++ < 1000) {
		ring();
		xvt_session_got_up(s, xvt_clock_read());
	}
	ck_assert_uint_lt(n, 50);
	ck_assert_uint_eq(xvt_load(&r->host->need_wake), 0);
	s->passes.seconds++; /* and in the next one it may be another's */
	ck_assert(asleep());
}
END_TEST

START_TEST(full_without_a_ring)
{
	uint64_t before;
	unsigned int i;

	prove();
	for (i = 0; i < 3; i++) {
		ck_assert(asleep());
		before = word();
		cross();
		xvt_session_got_up(s, xvt_clock_read());
		ck_assert_uint_eq(vm->bell.crossed, true);
		drained();
		ck_assert(!asleep());
		ck_assert_uint_eq(nr_told, i == 2);
		if (i == 2)
			break;
		ck_assert_uint_ne(word(), before); /* asked again */
		ring();
	}
	ck_assert_ptr_nonnull(strstr(told, "when sub-buffers are full"));
	ring();
	ck_assert(!asleep()); /* it has had its chances, */
	r->drain.generation++;
	ck_assert(!asleep());
	ring();
	ck_assert(asleep()); /* and another life has its own */
}
END_TEST

START_TEST(a_ring_that_comes_late_is_one)
{
	unsigned int i;

	prove();
	for (i = 0; i < 5; i++) {
		ck_assert(asleep());
		cross();
		xvt_session_got_up(s, xvt_clock_read());
		ring();
		drained();
		ck_assert(asleep());
		ring();
		xvt_session_got_up(s, xvt_clock_read());
	}
	ck_assert_uint_eq(nr_told, 0);
	ck_assert_uint_eq(vm->bell.missed, 0);
}
END_TEST

static int nr_cpus(void)
{
	cpu_set_t cpus;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	return CPU_COUNT(&cpus);
}

static bool may_run_on(int cpu)
{
	cpu_set_t cpus;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	return CPU_ISSET((size_t)cpu, &cpus);
}

/* Asked for its clock, it rings when it answers. */
START_TEST(it_dozes_until_an_answer)
{
	const uint64_t look = 1000;
	const int cpus = nr_cpus();
	unsigned int n;
	uint64_t before;

	prove();
	sleeps();
	xvt_session_got_up(s, xvt_clock_read());
	r->measure.answered = false;
	xvt_store(&r->host->request_seq, (uint64_t)77);
	ck_assert_uint_gt(xvt_session_sleep(s, look, true), look);
	ck_assert_uint_eq(xvt_load(&r->host->need_wake), 1);
	ck_assert_int_eq(nr_cpus(), cpus); /* it may be in time */
	ring();
	ck_assert_int_ge(xvt_loop_run(rec.loop, 3600 * SECOND_NS), 1);
	before = xvt_clock_read();
	xvt_session_got_up(s, before);
	ck_assert_uint_eq(xvt_load(&r->host->need_wake), 0);
	ck_assert_uint_eq(vm->bell.wakes, 0); /* that was no sleep */
	/* The guest is in its mailbox now: the next request waits for its answer. */
	ck_assert_uint_ge(s->clocks.looked_clock, before);
	/* Not answered all the same: it dozes until the next tick, but not for ever, and for two
	 * ticks not on the CPU on which it was woken up. */
	for (n = 1; n < 64; n++) {
		const int woken_on = sched_getcpu();

		ck_assert_uint_gt(xvt_session_sleep(s, look, true), look);
		ck_assert(n % 2 == 0 || !may_run_on(woken_on) || cpus == 1);
		ck_assert(nr_cpus() == cpus - (cpus > 1));
		ring();
		xvt_session_got_up(s, xvt_clock_read());
	}
	ck_assert_uint_eq(xvt_session_sleep(s, look, true), look);
	ck_assert_uint_eq(xvt_load(&r->host->need_wake), 0);
	/* Another request. The end of a write ends a doze as well. */
	s->wake.open++;
	for (n = 0; n < 3; n++) {
		ck_assert_uint_gt(xvt_session_sleep(s, look, true), look);
		before = xvt_clock_read();
		xvt_session_got_up(s, before);
		ck_assert_uint_lt(s->clocks.looked_clock, before);
	}
	/* It is polled after a doze that nothing ended. */
	ck_assert_uint_gt(xvt_session_sleep(s, look, true), look);
	xvt_session_got_up(s, s->wake.until_clock);
	ck_assert_uint_eq(xvt_session_sleep(s, look, true), look);
	ck_assert_uint_eq(xvt_load(&r->host->need_wake), 0);
	ck_assert_uint_eq(xvt_session_sleep(s, look, true), look);
	/* The next question is a new one, but its answer is there already. */
	r->measure.answered = true;
	ck_assert(asleep());
	ck_assert_int_eq(nr_cpus(), cpus);
	xvt_session_got_up(s, xvt_clock_read());
	r->measure.answered = false;
	xvt_store(&r->ctl->answer_seq, (uint64_t)77);
	ck_assert_uint_eq(xvt_session_sleep(s, look, true), look);
	ck_assert_uint_eq(xvt_load(&r->host->need_wake), 0);
}
END_TEST

/* Also for one that did not answer the request before: it may ring, so it need not be polled. */
START_TEST(a_pass_dozes_for_a_guest_that_did_not_answer)
{
	uint64_t ns;

	prove();
	s->passes.next_second_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	s->passes.next_clock = s->passes.next_second_clock; /* nothing is drained */
	r->measure.answered = false;
	xvt_store(&r->host->request_seq, (uint64_t)77);
	s->clocks.asked[0] = (struct xvt_asked){ .ring = r,
						 .silent = true,
						 .wait = { .word = &r->ctl->answer_seq,
							   .value = 77,
							   .until = s->passes.next_second_clock } };
	s->clocks.nr_asked = s->clocks.nr_silent = 1;
	ck_assert_int_eq(xvt_session_pass(s, &ns), 0);
	ck_assert(s->wake.dozing);
	ck_assert_uint_eq(xvt_load(&r->host->need_wake), 1);
	s->clocks.nr_asked = s->clocks.nr_silent = 0;
	xvt_session_got_up(s, xvt_clock_read());
}
END_TEST

START_TEST(another_generation_is_asked_again)
{
	uint64_t before;

	prove();
	before = word();
	r->drain.generation++;
	ck_assert(!asleep());
	ck_assert_uint_ne(word(), before);
	ring();
	ck_assert(asleep());
}
END_TEST

START_TEST(nothing_is_left_in_the_region)
{
	prove();
	ck_assert(asleep());
	xvt_session_got_up(s, xvt_clock_read());
	xvt_store(&r->host->need_wake, 1); /* a restored past, say */
	xvt_session_wake_end(s);
	ck_assert_uint_eq(word(), 0);
	ck_assert_uint_eq(xvt_load(&r->host->need_wake), 0);
	ck_assert_uint_eq(sleeps(), GAP);
}
END_TEST

Suite *session_wake_suite(void)
{
	Suite *suite = suite_create("session_wake");
	TCase *tc = tcase_create("one guest");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, no_sleep_before_the_guest_has_rung);
	tcase_add_test(tc, a_guest_that_never_rings_is_reported_once);
	tcase_add_test(tc, a_ring_that_no_writer_had_used_wakes_as_well);
	tcase_add_test(tc, what_keeps_it_awake);
	tcase_add_test(tc, a_checkpoint_comes_at_once_before_a_sleep);
	tcase_add_test(tc, the_next_second_ends_it);
	tcase_add_test(tc, a_last_look_keeps_it_awake);
	tcase_add_test(tc, a_ring_wakes_it);
	tcase_add_test(tc, rings_for_nothing_end_no_more_sleeps);
	tcase_add_test(tc, full_without_a_ring);
	tcase_add_test(tc, a_ring_that_comes_late_is_one);
	tcase_add_test(tc, it_dozes_until_an_answer);
	tcase_add_test(tc, a_pass_dozes_for_a_guest_that_did_not_answer);
	tcase_add_test(tc, another_generation_is_asked_again);
	tcase_add_test(tc, nothing_is_left_in_the_region);
	suite_add_tcase(suite, tc);
	return suite;
}
