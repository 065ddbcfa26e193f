// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_relayed.c - a guest whose ftrace is relayed: its region's rings hold pages. The
 * pages are made here, with stamps older than their records as a relay's are; a thread answers for
 * the clock, as a relay does. The rest is the recorder's way from a page to the trace.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/u64.h"
#include "ftrace_pages.h"
#include "lib/xvtrace.h"
#include "recording.h"
#include "xvt_relay.h"

#define CPUS	   2u
#define SIZE	   (512u << 10)
#define ENTRY	   24u
#define PER_PAGE   100u
#define PASSES_MAX 20000
#define MS_NS	   1000000u
#define OFFSET	   (1ull << 40) /* the guest's clock is so far behind the host's */

static struct recording rec;
static struct xvt_session *s;
static struct xvt_vm *vm;
static struct xvt_geometry g;
static uint8_t *map;
static struct xvt_relay relay[CPUS];
static uint16_t number[CPUS]; /* of the newest event */
static pthread_t thread;
static bool thread_stop, at_once; /* at_once: nothing older comes, so all is complete at once */
static bool mute;		  /* no answer for ring 1 */
static struct xvt_host_clock host_clock; /* copy of the session's, with lines of its own */
/* Guest clock, of each ring: what is stamped after it is placed between two measurements. Before it
 * the ring had no clock, or not the rate that it has now, or this machine did not run the thread:
 * the ring was quiet, or its answers were too wide. The trace says so of its events. */
static uint64_t doubted_to[CPUS];
static uint64_t trusted_ns[CPUS];

static uint64_t guest_clock(void *arg)
{
	(void)arg;
	return xvt_clock_read_ordered() - OFFSET;
}

static uint64_t ago(uint64_t ns)
{
	return guest_clock(NULL) - xvt_host_clock_ticks(&s->clock, ns);
}

static void *answer(void *arg)
{
	while (!xvt_load_acquire(&thread_stop)) {
		for (unsigned int i = 0; i < CPUS; i++) {
			if (!i || !xvt_load_acquire(&mute))
				xvt_writer_answer(&relay[i].w);
			if (xvt_load_acquire(&at_once))
				xvt_relay_is_complete(&relay[i], guest_clock(NULL));
		}
		sched_yield();
	}
	return arg;
}

static void start_relay(void)
{
	for (unsigned int i = 0; i < CPUS; i++) {
		memset(&relay[i], 0, sizeof(relay[i]));
		xvt_writer_init(&relay[i].w, map, &g, i);
		xvt_writer_distrust(&relay[i].w);
		relay[i].w.clock = guest_clock;
		relay[i].w.ctl->type = XVT_RING_VCPU;
		relay[i].w.ctl->cpu = relay[i].w.ctl->hw_id = i;
		xvt_store_release(&relay[i].w.ctl->state, (uint32_t)XVT_RING_ONLINE);
	}
	thread_stop = at_once = false;
	ck_assert_int_eq(pthread_create(&thread, NULL, answer, NULL), 0);
}

/* As if it were killed: its rings stay ONLINE. */
static void stop_relay(void)
{
	xvt_store_release(&thread_stop, true);
	pthread_join(thread, NULL);
}

static const struct xvt_layout *layout(void)
{
	static const struct xvt_layout l = { .region_size = SIZE,
					     .ring_count = CPUS,
					     .subbuf_size = XVT_RELAYED_SUBBUF,
					     .kind = XVT_KIND_LINUX,
					     .incompat = XVT_INCOMPAT_RELAYED,
					     .clock_id = XVT_CLOCK_NATIVE };

	return &l;
}

static void note_doubt(void)
{
	for (unsigned int i = 0; vm && vm->rings && i < CPUS; i++) {
		const struct xvt_ring *r = vm->rings[i];

		/* Nothing waits there when a relay has ended. */
		if (!r || r->drain.last.state == XVT_RING_OFFLINE ||
		    (r->phase == XVT_PHASE_LIVE && !r->guest.quiet && !r->guest.wide &&
		     r->clock.trusted_ns == trusted_ns[i]))
			continue;
		trusted_ns[i] = r->clock.trusted_ns;
		doubted_to[i] = guest_clock(NULL);
	}
}

static void pass(void)
{
	uint64_t sleep_ns;

	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
	note_doubt();
	xvt_loop_run(rec.loop, sleep_ns);
}

static bool is_on(void)
{
	for (unsigned int i = 0; i < CPUS; i++) {
		if (xvt_load(&relay[i].w.host->enable) == XVT_ENABLE_OFF)
			return false;
	}
	return true;
}

static void begin(void)
{
	const struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
						 .memory_bytes = 64 << 20,
						 .join_timeout_ns = 1,
						 .stall_timeout_ns = 60 * SECOND_NS };
	const char *path = scratch_path("relayed");
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct xvt_error why;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(xvt_region_format(map, layout(), &g), 0);
	xvt_region_new_generation(map, &g, layout(), (const uint8_t *)"a boot's number.");
	memset(number, 0, sizeof(number));
	memset(trusted_ns, 0, sizeof(trusted_ns));
	vm = NULL;
	start_relay();
	recording_begin_unused(&rec, 1, &opt);
	s = rec.s;
	ck_assert_int_eq(xvt_session_add(s, "r", scratch_path("relayed"), NULL, true, &why), 0);
	vm = xvt_session_find(s, "r");
}

static void setup(void)
{
	mute = false;
	begin();
	for (int i = 0; !is_on() && i < PASSES_MAX; i++)
		pass();
	ck_assert(is_on());
}

static void setup_mute(void)
{
	mute = true;
	begin();
	for (int i = 0; !(vm->rings && vm->rings[0] && vm->rings[0]->phase == XVT_PHASE_LIVE) &&
			i < PASSES_MAX;
	     i++)
		pass();
	ck_assert_uint_eq(vm->rings[0]->phase, XVT_PHASE_LIVE);
	ck_assert_uint_eq(vm->rings[1]->phase, XVT_PHASE_NEW);
}

static void teardown(void)
{
	xvt_store_release(&at_once, true);
	recording_end(&rec);
	stop_relay();
	munmap(map, SIZE);
}

static uint64_t events(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < CPUS; i++)
		n += vm->rings[i] ? vm->rings[i]->account.stats.events : 0;
	return n;
}

static void complete(unsigned int cpu)
{
	xvt_relay_is_complete(&relay[cpu], guest_clock(NULL));
}

/* The relays have nothing older than now, in each pass. */
static void until_events(uint64_t n)
{
	for (int i = 0; events() < n && i < PASSES_MAX; i++) {
		for (unsigned int k = 0; k < CPUS; k++)
			complete(k);
		pass();
	}
	ck_assert_uint_eq(events(), n);
}

static void make(struct ftrace_page *p, unsigned int cpu, uint64_t clock, unsigned int n)
{
	ftrace_page_begin(p, clock);
	for (unsigned int i = 0; i < n; i++)
		ftrace_page_event(p, i != 0, ++number[cpu], 0, ENTRY);
}

/* A relay reads no page from ftrace before there is room for it. */
static void wait_for_room(unsigned int cpu)
{
	const bool full = relay[cpu].full;

	for (int i = 0; !xvt_relay_has_room(&relay[cpu]) && i < PASSES_MAX; i++)
		pass();
	ck_assert(xvt_relay_has_room(&relay[cpu]));
	relay[cpu].full = full;
}

static void put(unsigned int cpu, struct ftrace_page *p, uint64_t flags, uint64_t missed)
{
	uint32_t len = 16 + p->len;

	ftrace_page_end(p, flags);
	if (flags & FTRACE_PAGE_STORED) {
		memcpy((uint8_t *)p->words + len, &missed, sizeof(missed));
		len += sizeof(missed);
	}
	ck_assert_int_eq(xvt_relay_put(&relay[cpu], p->words, len), 0);
}

/* A page of n events, a tick apart. */
static void page(unsigned int cpu, uint64_t clock, unsigned int n)
{
	struct ftrace_page p;

	wait_for_room(cpu);
	make(&p, cpu, clock, n);
	put(cpu, &p, 0, 0);
}

struct got {
	uint64_t events, unconfirmed, wrong_clock, outside, back, lost, losses;
	uint64_t bad_order; /* a number that is not the next one of its CPU, without a loss */
};

/* The session's lines are freed with it. Lines that its end adds begin behind all events. */
static void copy_host_clock(void)
{
	const size_t size = s->clock.count * sizeof(*s->clock.lines);

	host_clock = s->clock;
	host_clock.lines = malloc(size + 1);
	ck_assert_ptr_nonnull(host_clock.lines);
	if (size)
		memcpy(host_clock.lines, s->clock.lines, size);
}

static void finish_and_read(struct got *got)
{
	const struct xvtrace_event *event;
	struct xvtrace_reader *reader;
	struct xvtrace_error error;
	struct xvtrace *trace;
	uint16_t next[CPUS] = { 1, 1 };
	bool gap[CPUS] = { false, false };
	uint64_t last_ns = 0;

	memset(got, 0, sizeof(*got));
	copy_host_clock();
	xvt_store_release(&at_once, true);
	ck_assert_int_eq(xvt_session_finish(s), 0);
	rec.s = NULL;
	xvt_trace_close(recording_open(&rec));
	ck_assert_int_eq(xvtrace_open(&trace, scratch_path("recording.xvt"), 0, &error), 0);
	ck_assert_int_eq(xvtrace_reader_new(&reader, trace), 0);
	ck_assert_int_eq(xvtrace_reader_flags(reader, XVTRACE_BOUND), 0);
	while (xvtrace_next(reader, &event) == 1) {
		const uint32_t cpu = event->ring ? event->ring->cpu : 0;
		uint16_t type;
		uint64_t true_ns;

		if (event->kind == XVTRACE_LOST) {
			got->lost += event->lost;
			got->losses++;
			gap[cpu] = true;
		}
		if (event->kind != XVTRACE_EVENT)
			continue;
		got->back += event->ns < last_ns;
		last_ns = event->ns;
		memcpy(&type, event->data, sizeof(type));
		got->bad_order += type != next[cpu] && !gap[cpu];
		gap[cpu] = false;
		next[cpu] = (uint16_t)(type + 1);
		got->events++;
		got->unconfirmed +=
			event->flags & XVTRACE_UNCONFIRMED && event->guest_clock > doubted_to[cpu];
		got->wrong_clock += (event->flags & XVTRACE_CLOCK) != 0;
		true_ns = xvt_host_clock_ns(&host_clock, event->guest_clock + OFFSET);
		got->outside += xvt_u64_apart(event->ns, true_ns) > event->bound_ns;
	}
	ck_assert_uint_eq(got->back, 0);
	xvtrace_reader_free(reader);
	xvtrace_close(trace);
	xvt_host_clock_fini(&host_clock);
}

/* Every time is within its bound, and confirmed where the ring was measured. */
static void check_times(const struct got *got)
{
	ck_assert_uint_eq(got->outside, 0);
	ck_assert_uint_eq(got->wrong_clock, 0);
	ck_assert_uint_eq(got->unconfirmed, 0);
}

static uint64_t sum_of(uint64_t (*of)(const struct xvt_ring_stats *))
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < CPUS; i++) {
		xvt_ring_account(vm->rings[i], false); /* else as of the newest checkpoint */
		sum += of(&vm->rings[i]->account.stats);
	}
	return sum;
}

static uint64_t late_of(const struct xvt_ring_stats *st)
{
	return st->late;
}

static uint64_t violations_of(const struct xvt_ring_stats *st)
{
	return st->clock_violations;
}

static uint64_t overwritten_of(const struct xvt_ring_stats *st)
{
	return st->overwritten;
}

static uint64_t full_of(const struct xvt_ring_stats *st)
{
	return st->lost[XVT_LOST_FULL];
}

static uint64_t bad_of(const struct xvt_ring_stats *st)
{
	return st->bad_bytes;
}

/* Stamps are older than their records by up to a tenth of a second, which a drain would hold
 * against them. */
START_TEST(all_events_have_their_stamps)
{
	struct got got;
	uint64_t n = 0;

	for (int i = 0; (ago(100 * MS_NS) <= doubted_to[0] || ago(50 * MS_NS) <= doubted_to[1]) &&
			i < PASSES_MAX;
	     i++)
		pass();
	for (unsigned int i = 0; i < 200; i++) {
		page(0, ago(100 * MS_NS), PER_PAGE);
		page(1, ago(50 * MS_NS), 1 + i % PER_PAGE);
		n += PER_PAGE + 1 + i % PER_PAGE;
		pass();
	}
	until_events(n);
	ck_assert_uint_eq(sum_of(violations_of), 0);
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, n);
	ck_assert_uint_eq(got.losses, 0);
	ck_assert_uint_eq(got.bad_order, 0);
	check_times(&got);
}
END_TEST

/* The merge waits for what an idle ring's relay has not read yet, and no longer. */
START_TEST(the_merge_waits_on_relayed_to)
{
	const uint64_t then = ago(0);
	struct got got;

	page(1, then + 1000, 10);
	complete(1);
	for (unsigned int i = 0; i < 300; i++) {
		complete(1);
		pass();
	}
	/* Ring 0 could still have older ones, and has. */
	ck_assert_uint_eq(events(), 0);
	page(0, then, 10);
	until_events(20);
	ck_assert_uint_eq(sum_of(late_of), 0);
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, 20);
	check_times(&got);
}
END_TEST

/* What the recorder holds to be complete is not beyond what the relay says: the guest's clock value
 * on the host's clock, which the recorder knows within a bound. */
START_TEST(no_proof_is_beyond_relayed_to)
{
	unsigned int proofs = 0;

	for (unsigned int i = 0; i < 2000 && proofs < 200; i++) {
		const uint64_t to = ago(20 * MS_NS);

		for (unsigned int k = 0; k < CPUS; k++)
			xvt_relay_is_complete(&relay[k], to);
		pass();
		for (unsigned int k = 0; k < CPUS; k++) {
			const struct xvt_ring_drain *d = &vm->rings[k]->drain;

			if (!d->idle)
				continue;
			proofs++;
			ck_assert_uint_le(d->idle_clock, to + OFFSET);
		}
	}
	ck_assert_uint_ge(proofs, 200);
}
END_TEST

/* A recording begins for all rings at once: what a relay has of a ring that joined later would be
 * too late. */
START_TEST(rings_wait_for_each_other)
{
	struct got got;

	for (int i = 0; i < 300; i++)
		pass();
	ck_assert_uint_eq(xvt_load(&relay[0].w.host->enable), XVT_ENABLE_OFF);
	xvt_store_release(&mute, false);
	for (int i = 0; !is_on() && i < PASSES_MAX; i++)
		pass();
	ck_assert(is_on());
	page(1, ago(0), 10);
	page(0, ago(0), 10);
	until_events(20);
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, 20);
}
END_TEST

/* ... but not for ever for a ring that no one answers for. */
START_TEST(a_ring_that_never_joins_is_not_waited_for)
{
	for (int i = 0; i < 20; i++)
		pass();
	ck_assert_uint_eq(xvt_load(&relay[0].w.host->enable), XVT_ENABLE_OFF);
	s->opt.stall_timeout_ns = MS_NS;
	for (int i = 0; xvt_load(&relay[0].w.host->enable) == XVT_ENABLE_OFF && i < PASSES_MAX; i++)
		pass();
	ck_assert_uint_ne(xvt_load(&relay[0].w.host->enable), XVT_ENABLE_OFF);
	ck_assert_uint_eq(vm->rings[1]->phase, XVT_PHASE_NEW);
	xvt_store_release(&mute, false);
}
END_TEST

static void set_states(enum xvt_ring_state state)
{
	for (unsigned int i = 0; i < CPUS; i++)
		xvt_store_release(&relay[i].w.ctl->state, (uint32_t)state);
}

/* Ring 1 has events that wait for ring 0, which may have some between `then` and those. */
static uint64_t events_that_wait(void)
{
	const uint64_t then = ago(0);

	for (unsigned int i = 0; i < CPUS; i++)
		complete(i);
	for (int i = 0; ago(0) - then < xvt_host_clock_ticks(&s->clock, MS_NS) && i < PASSES_MAX;
	     i++)
		pass();
	page(1, ago(0), 10);
	for (int i = 0; !xvt_ring_ready(vm->rings[1]) && i < PASSES_MAX; i++) {
		complete(1);
		pass();
	}
	ck_assert(xvt_ring_ready(vm->rings[1]));
	ck_assert_uint_eq(events(), 0);
	return then + 1000;
}

/* A relay is killed that had read one CPU further than the other. What the kernel has of that one
 * comes by the next relay, and in time. */
START_TEST(a_killed_relay_leaves_events_to_the_next)
{
	const uint64_t then = events_that_wait();
	struct got got;

	stop_relay();
	set_states(XVT_RING_OFFLINE);
	for (int i = 0; i < 300; i++)
		pass();
	ck_assert_uint_eq(events(), 0);
	xvt_region_new_generation(map, &g, layout(), (const uint8_t *)"a boot's number.");
	start_relay();
	page(0, then, 10);
	until_events(20);
	ck_assert_uint_eq(sum_of(late_of), 0);
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, 20);
	ck_assert_uint_eq(got.bad_order, 0);
}
END_TEST

/* Passes until ring 0 holds no other back, with the shortest time-out. */
static void until_phase(enum xvt_ring_phase phase)
{
	s->opt.stall_timeout_ns = MS_NS;
	for (int i = 0; vm->rings[0]->phase != phase && i < PASSES_MAX; i++) {
		complete(1);
		pass();
	}
	ck_assert_uint_eq(vm->rings[0]->phase, phase);
	for (int i = 0; events() < 10 && i < PASSES_MAX; i++) {
		complete(1);
		pass();
	}
	ck_assert_uint_eq(events(), 10);
	s->opt.stall_timeout_ns = 60 * SECOND_NS;
}

/* No next relay comes: the others wait for the stall time-out, and what comes then is late. */
START_TEST(a_killed_relay_is_not_waited_for_without_end)
{
	const uint64_t then = events_that_wait();

	stop_relay();
	set_states(XVT_RING_OFFLINE);
	until_phase(XVT_PHASE_DONE);
	xvt_region_new_generation(map, &g, layout(), (const uint8_t *)"a boot's number.");
	start_relay();
	page(0, then, 10);
	until_events(20);
	ck_assert_uint_eq(sum_of(late_of), 10);
}
END_TEST

/* relayed_to stays, goes back, is of a time to come: the others wait no longer than the stall
 * time-out, and the ring is one like the others when its relay tells the truth again. */
START_TEST(a_relay_that_is_never_complete_is_set_aside)
{
	const uint64_t then = events_that_wait();
	const uint64_t values[] = { then, then / 2, 1, ago(0) + 3600ull * s->clock.hz,
				    UINT64_MAX - 1 };

	xvt_relay_is_complete(&relay[0], values[_i]);
	for (int i = 0; i < 300; i++) {
		complete(1);
		pass();
	}
	ck_assert_uint_eq(events(), 0);
	until_phase(XVT_PHASE_ASIDE);
	for (int i = 0; vm->rings[0]->phase != XVT_PHASE_LIVE && i < PASSES_MAX; i++) {
		complete(0);
		pass();
	}
	ck_assert_uint_eq(vm->rings[0]->phase, XVT_PHASE_LIVE);
	page(0, ago(0), 10);
	until_events(20);
	ck_assert_uint_eq(sum_of(late_of), 0);
}
END_TEST

/* Each look at the rings is one. */
static void look(unsigned int n)
{
	for (const uint64_t until = s->scan.drains + n; s->scan.drains < until;)
		pass();
}

/* Both processes of a relay are killed: its rings stay ONLINE, and do not answer. The recording
 * ends without it, and leaves no ring on. */
START_TEST(a_silent_relay_is_set_aside)
{
	struct got got;

	events_that_wait();
	stop_relay();
	until_phase(XVT_PHASE_ASIDE);
	s->opt.stall_timeout_ns = MS_NS;
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, 10);
	for (unsigned int i = 0; i < CPUS; i++)
		ck_assert_uint_eq(xvt_load(&relay[i].w.host->enable), XVT_ENABLE_OFF);
	start_relay();
}
END_TEST

/* A relay that answers no more says for a while what is complete, and then that no more. Its ring
 * was told to be silent before, and holds no other back for ever. */
START_TEST(a_ring_that_was_silent_before_is_set_aside)
{
	const uint64_t stall = SECOND_NS / 2;
	const struct xvt_ring *r = vm->rings[0];

	stop_relay();
	s->opt.stall_timeout_ns = stall;
	for (int i = 0; i < PASSES_MAX; i++) {
		if (r->phase == XVT_PHASE_LIVE && xvt_session_silence(s, r, xvt_clock_read()) >
							  xvt_host_clock_ticks(&s->clock, stall))
			break;
		complete(0);
		complete(1);
		pass();
	}
	ck_assert_uint_eq(r->phase, XVT_PHASE_LIVE);
	for (int i = 0; r->phase != XVT_PHASE_ASIDE && i < PASSES_MAX; i++) {
		complete(1);
		pass();
	}
	ck_assert_uint_eq(r->phase, XVT_PHASE_ASIDE);
	s->opt.stall_timeout_ns = 60 * SECOND_NS;
	start_relay();
}
END_TEST

static void check_off(void)
{
	for (unsigned int i = 0; i < CPUS; i++)
		ck_assert_uint_eq(xvt_load(&relay[i].w.host->enable), XVT_ENABLE_OFF);
}

/* It is killed when the recording ends, which does not wait for it. */
START_TEST(no_ring_stays_on_of_a_relay_that_is_killed_last)
{
	s->opt.stall_timeout_ns = 3600 * SECOND_NS;
	stop_relay();
	xvt_session_vm_stop(vm, 0);
	set_states(XVT_RING_OFFLINE);
	for (int i = 0; is_on() && i < 1000; i++)
		pass();
	check_off();
	s->opt.stall_timeout_ns = 60 * SECOND_NS;
	start_relay();
}
END_TEST

/* The pass that proves that all is here may be the last one that reads the ring. */
START_TEST(no_ring_stays_on_when_all_is_here)
{
	struct got got;

	page(0, ago(0), 10);
	until_events(10);
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, 10);
	check_off();
}
END_TEST

/* What was stamped before the end is in the trace, however late its relay reads it. */
START_TEST(what_a_relay_has_at_the_end_is_taken)
{
	const uint64_t then = ago(0);

	for (unsigned int i = 0; i < CPUS; i++)
		xvt_relay_is_complete(&relay[i], then);
	xvt_session_vm_stop(vm, 0);
	look(10);
	ck_assert(is_on());
	page(0, then, 10);
	page(1, then, 10);
	until_events(20);
	for (int i = 0; xvt_session_vm_stopping(vm) && i < PASSES_MAX; i++) {
		complete(0);
		complete(1);
		pass();
	}
	ck_assert_int_eq(xvt_session_vm_stopping(vm), 0);
	check_off();
}
END_TEST

/* The newest node of ring 0, and a value of its clock some time after that, which is past. No
 * measurement is made from here on, until start_relay(). */
static struct xvt_clock_node behind_last(uint64_t *guest)
{
	const struct xvt_clock_map *map = &vm->rings[0]->clock.map;
	struct xvt_clock_node last;

	stop_relay();
	do {
		last = *xvt_clock_map_last(map);
		while (xvt_session_now_ns(s) < last.host_ns + 50 * MS_NS)
			pass();
		*guest = last.guest + xvt_host_clock_ticks(&s->clock, 40 * MS_NS);
		xvt_relay_is_complete(&relay[0], *guest);
		look(10);
	} while (xvt_clock_map_last(map)->guest != last.guest);
	return last;
}

static uint64_t ticks_at(uint64_t ns)
{
	const uint64_t now = xvt_clock_read();

	return now - xvt_host_clock_ticks(&s->clock, xvt_host_clock_ns(&s->clock, now) - ns);
}

static void add_node(uint64_t guest, uint64_t host_ns, uint64_t bound_ns)
{
	struct xvt_ring *r = vm->rings[0];
	struct xvt_clock_node n = { .ring = r->id,
				    .source = XVT_SOURCE_HANDSHAKE,
				    .guest = guest,
				    .host_ns = host_ns,
				    .bound_ns = bound_ns };

	ck_assert_int_eq(xvt_ring_add_node(r, &n), 0);
	ck_assert_uint_eq(n.flags & XVT_NODE_F_FIRST, 0);
	r->clock.last_node_clock = ticks_at(host_ns + bound_ns);
}

/* The next measurement may lie as far off the line as no jump of the clock does. Events from
 * relayed_to on are placed by it, and none before what was proven. */
START_TEST(no_proof_is_beyond_the_next_node)
{
	const uint64_t bound_ns = XVT_WIDE_NS;
	struct xvt_ring *r = vm->rings[0];
	struct xvt_clock_node last, next;
	uint64_t to, proven_ns, host_ns;

	last = behind_last(&to);
	proven_ns = xvt_ring_proven(r);
	ck_assert_uint_gt(proven_ns, last.host_ns);
	host_ns = last.host_ns + xvt_ticks_ns(to + 1 - last.guest, r->clock.map.hz);
	add_node(to + 1,
		 host_ns - xvt_clock_creep_ns(10 * MS_NS) - last.bound_ns - bound_ns + MS_NS / 10,
		 bound_ns);
	next = *xvt_clock_map_last(&r->clock.map);
	ck_assert_uint_le(proven_ns, xvt_clock_line(&last, &next, to));
	start_relay();
}
END_TEST

/* By an older line relayed_to is after a newer measurement, which it is before: what is stamped
 * between the two is still to come. */
START_TEST(a_newer_line_takes_a_proof_back)
{
	struct xvt_ring *r = vm->rings[0];
	struct xvt_clock_node last, next;
	uint64_t to, proof_ns;

	last = behind_last(&to);
	ck_assert(r->drain.idle);
	proof_ns = xvt_host_clock_ns(&s->clock, r->drain.idle_clock);
	ck_assert_uint_gt(proof_ns, last.host_ns + 10 * MS_NS);
	add_node(to + xvt_host_clock_ticks(&s->clock, MS_NS), proof_ns - MS_NS, 1000);
	next = *xvt_clock_map_last(&r->clock.map);
	for (int i = 0; i < 10; i++) {
		look(1);
		ck_assert_uint_le(xvt_ring_proven(r), xvt_clock_line(&last, &next, to));
	}
	start_relay();
}
END_TEST

/* Numbers behind the events, pages without room for one, and whose fault it was. */
START_TEST(losses_are_exact_and_have_their_cause)
{
	struct ftrace_page p;
	struct got got;

	page(0, ago(4 * MS_NS), 10);
	number[0] += 7;
	make(&p, 0, ago(3 * MS_NS), 10);
	xvt_relay_lost(&relay[0], 7);
	put(0, &p, FTRACE_PAGE_MISSED | FTRACE_PAGE_STORED, 7);
	/* No number: the word has it, and 3 more that the next page counts. */
	number[0] += 5;
	make(&p, 0, ago(2 * MS_NS), 10);
	xvt_relay_lost(&relay[0], 7 + 5 + 3);
	put(0, &p, FTRACE_PAGE_MISSED, 0);
	until_events(30);
	ck_assert_uint_eq(sum_of(overwritten_of), 15);
	number[0] += 11;
	make(&p, 0, ago(1 * MS_NS), 10);
	xvt_relay_lost(&relay[0], 7 + 5 + 3 + 8);
	relay[0].full = true;
	put(0, &p, FTRACE_PAGE_MISSED | FTRACE_PAGE_STORED, 11);
	until_events(40);
	ck_assert_uint_eq(sum_of(overwritten_of), 15);
	ck_assert_uint_eq(sum_of(full_of), 8);
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, 40);
	ck_assert_uint_eq(got.losses, 3);
	ck_assert_uint_eq(got.lost, 23);
	ck_assert_uint_eq(got.bad_order, 0);
}
END_TEST

/* More pages than the recorder's own ring holds, and than the guest's does. */
START_TEST(a_full_ring_waits)
{
	struct got got;
	uint64_t n = 0;

	for (unsigned int i = 0; i < 500; i++) {
		wait_for_room(0);
		page(0, ago(MS_NS), 140);
		n += 140;
	}
	until_events(n);
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, n);
	ck_assert_uint_eq(got.losses, 0);
	ck_assert_uint_eq(got.bad_order, 0);
}
END_TEST

static void end_in_order(void)
{
	for (unsigned int i = 0; i < CPUS; i++)
		xvt_relay_end(&relay[i]);
	set_states(XVT_RING_OFFLINE);
	for (int i = 0; vm->rings[0]->phase != XVT_PHASE_DONE && i < PASSES_MAX; i++)
		pass();
}

/* The relay is killed. Another one takes the rings, and tells so; what the first had written is
 * read, and its losses are told once. The end of the second is that of the rings. */
START_TEST(another_relay_goes_on)
{
	struct ftrace_page p;
	struct got got;

	xvt_relay_lost(&relay[0], 9);
	make(&p, 0, ago(3 * MS_NS), 10);
	put(0, &p, FTRACE_PAGE_MISSED | FTRACE_PAGE_STORED, 9);
	until_events(10);
	for (unsigned int i = 0; i < 5; i++)
		page(0, ago(2 * MS_NS), 10);
	stop_relay();
	xvt_region_new_generation(map, &g, layout(), (const uint8_t *)"a boot's number.");
	start_relay();
	xvt_relay_lost(&relay[0], 9 + 4);
	make(&p, 0, ago(MS_NS), 10);
	put(0, &p, FTRACE_PAGE_MISSED | FTRACE_PAGE_STORED, 4);
	until_events(70);
	end_in_order();
	ck_assert_uint_eq(vm->rings[0]->phase, XVT_PHASE_DONE);
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, 70);
	ck_assert_uint_eq(got.losses, 2);
	ck_assert_uint_eq(got.lost, 9 + 4);
	ck_assert_uint_eq(got.bad_order, 0);
	check_times(&got);
}
END_TEST

/* Losses that no page tells of are told when the relay has ended. */
START_TEST(the_last_losses_are_told)
{
	struct got got;

	page(0, ago(MS_NS), 10);
	until_events(10);
	xvt_relay_lost(&relay[0], 9);
	end_in_order();
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, 10);
	ck_assert_uint_eq(got.lost, 9);
}
END_TEST

static void put_raw(uint32_t id, const void *payload, uint32_t len)
{
	ck_assert_int_eq(xvt_write(&relay[0].w, id, payload, len), 0);
}

/* Lengths that lead out of the record, records that are no pages, pages whose events lead out of
 * them: counted, and what is valid is there. */
START_TEST(what_is_not_valid_is_left_out)
{
	static const uint32_t lens[] = { 0, 15, 17, 4096, 4097, UINT32_MAX, UINT32_MAX - 7 };
	struct {
		struct xvt_relayed_page head;
		uint64_t words[2];
	} raw = { .words = { 1, 0 } };
	struct ftrace_page p;
	struct got got;

	page(0, ago(3 * MS_NS), 10);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		raw.head.len = lens[i];
		put_raw(XVT_ID_FTRACE_PAGE, &raw, sizeof(raw));
	}
	put_raw(XVT_ID_FTRACE_PAGE, &raw, 8);
	put_raw(XVT_ID_LOST, &raw, sizeof(raw));
	put_raw(XVT_ID_TEXT, "text", 4);
	put_raw(XVT_ID_CLOCK_SYNC, &raw, sizeof(raw));
	make(&p, 0, ago(2 * MS_NS), 10);
	ftrace_page_word(&p, 0, 1);
	ftrace_page_put(&p, 4096);
	put(0, &p, 0, 0);
	number[0] += 3;
	make(&p, 0, ago(MS_NS), 10);
	put(0, &p, FTRACE_PAGE_MISSED | FTRACE_PAGE_STORED, UINT64_MAX); /* the word says 0 */
	until_events(30);
	ck_assert_uint_gt(sum_of(bad_of), 0);
	ck_assert_uint_eq(sum_of(overwritten_of), 0);
	finish_and_read(&got);
	ck_assert_uint_eq(got.events, 30);
	ck_assert_uint_eq(got.lost, 0);
}
END_TEST

/* Control words that no writer has stop the ring, and nothing else. */
START_TEST(wrong_words_stop_the_ring)
{
	page(0, ago(MS_NS), 10);
	until_events(10);
	xvt_store(&relay[0].w.ctl->commit, relay[0].w.ctl->commit + (_i ? 4 : 16 * g.ring_size));
	for (int i = 0; i < 100; i++)
		pass();
	ck_assert_uint_eq(vm->rings[0]->phase, XVT_PHASE_BROKEN);
	page(1, ago(MS_NS), 10);
	until_events(20);
}
END_TEST

Suite *session_relayed_suite(void)
{
	Suite *suite = suite_create("session-relayed");
	TCase *tc = tcase_create("relayed");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 300); /* ends a hang; beside load a test takes a minute */
	tcase_add_test(tc, all_events_have_their_stamps);
	tcase_add_test(tc, the_merge_waits_on_relayed_to);
	tcase_add_test(tc, no_proof_is_beyond_relayed_to);
	tcase_add_test(tc, a_killed_relay_leaves_events_to_the_next);
	tcase_add_test(tc, a_killed_relay_is_not_waited_for_without_end);
	tcase_add_loop_test(tc, a_relay_that_is_never_complete_is_set_aside, 0, 5);
	tcase_add_test(tc, a_silent_relay_is_set_aside);
	tcase_add_test(tc, a_ring_that_was_silent_before_is_set_aside);
	tcase_add_test(tc, no_ring_stays_on_of_a_relay_that_is_killed_last);
	tcase_add_loop_test(tc, no_ring_stays_on_when_all_is_here, 0, 5);
	tcase_add_test(tc, what_a_relay_has_at_the_end_is_taken);
	tcase_add_test(tc, no_proof_is_beyond_the_next_node);
	tcase_add_test(tc, a_newer_line_takes_a_proof_back);
	tcase_add_test(tc, losses_are_exact_and_have_their_cause);
	tcase_add_test(tc, a_full_ring_waits);
	tcase_add_test(tc, another_relay_goes_on);
	tcase_add_test(tc, the_last_losses_are_told);
	tcase_add_test(tc, what_is_not_valid_is_left_out);
	tcase_add_loop_test(tc, wrong_words_stop_the_ring, 0, 2);
	suite_add_tcase(suite, tc);
	tc = tcase_create("joining");
	tcase_add_checked_fixture(tc, setup_mute, teardown);
	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, rings_wait_for_each_other);
	tcase_add_test(tc, a_ring_that_never_joins_is_not_waited_for);
	suite_add_tcase(suite, tc);
	return suite;
}
