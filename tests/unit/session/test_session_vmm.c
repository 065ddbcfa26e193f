// SPDX-License-Identifier: GPL-2.0
/* test_session_vmm.c - what a recording makes of a VMM's reports: pauses, epochs, bursts. */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "recording.h"

#define ROUNDING_NS 16 /* 8 s by a rate of whole Hz, and of the host clock's line: 2 ppb */

#define RINGS	    3
#define MS	    1000000ull
/* Two readings of two clocks are that near, however busy the machine is. */
#define NEAR_NS	    (20 * MS)

static struct recording rec;
static struct xvt_session *s;
static struct xvt_vm *vm;
static unsigned int notes[3];

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	if (!name) { /* of the recorder itself, which had been away: setup() */
		ck_assert_ptr_nonnull(strstr(text, "held up"));
		return;
	}
	ck_assert_str_eq(name, "g1");
	if (strstr(text, "further notes about it are left out"))
		return; /* each_stop_asks_for_an_epoch() makes many */
	if (strstr(text, "joined") || strstr(text, "no event has come"))
		return; /* the recorder's own, see waits.c */
	ck_assert(strstr(text, ", at ") || strstr(text, "nothing is known"));
	notes[level]++;
}

static void setup(void)
{
	struct xvt_session_options opt = { .note = on_note,
					   .mode = XVT_ENABLE_STOP,
					   .memory_bytes = 1 << 20 };

	memset(notes, 0, sizeof(notes));
	recording_begin(&rec, RINGS, &opt);
	s = rec.s;
	vm = rec.vm;
	/* It has been recording for a while, and was away for most of it. No longer than a host has
	 * been up that runs this. */
	s->start_clock -= ticks(s, 18 * SECOND_NS);
	vm->span.begin_clock = s->start_clock;
	s->passes.last_clock = xvt_clock_read() - ticks(s, 14 * SECOND_NS);
}

static void teardown(void)
{
	recording_end(&rec);
}

static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static void report(enum xvt_vmm_event event, uint64_t stamp)
{
	struct xvt_vmm_report r = { .event = event, .realtime_ns = stamp };

	xvt_session_vmm_report(vm, &r);
}

static void ck_paused(uint64_t least, uint64_t most)
{
	uint64_t ns = xvt_vm_paused_ns(s, vm);

	ck_assert_uint_ge(ns, least);
	ck_assert_uint_le(ns, most);
}

static void report_why(enum xvt_vmm_event event, int err, const char *why)
{
	struct xvt_vmm_report r = { .event = event, .err = err };

	snprintf(r.why, sizeof(r.why), "%s", why);
	xvt_session_vmm_report(vm, &r);
}

/* For how long the condition `still` sees no event, where the last one was 8 s ago. */
static uint64_t still_ns(void)
{
	struct xvt_vm_changes c;

	xvt_session_vm_changes(vm, &c);
	return c.still_ns;
}

static void last_event_was_long_ago(void)
{
	vm->since.begun = true;
	vm->since.moved_clock = xvt_clock_read() - ticks(s, 8 * SECOND_NS);
}

START_TEST(a_machine_at_rest_is_not_still)
{
	static const struct {
		enum xvt_vmm_event event;
		int err;
		const char *why;
		bool rests;
	} reports[] = {
		{ XVT_VMM_STOPPED, 0, "paused", true },
		{ XVT_VMM_STOPPED, 0, "", true },
		{ XVT_VMM_STOPPED, 0, "being saved", true },
		{ XVT_VMM_STOPPED, 0, "I/O error", false },
		{ XVT_VMM_STOPPED, 0, "io-error", false },
		{ XVT_VMM_STOPPED, 0, "watchdog", false },
		{ XVT_VMM_STOPPED, 0, "its kernel panicked", false },
		{ XVT_VMM_SUSPENDED, 0, "", true },
		{ XVT_VMM_SHUTTING_DOWN, 0, "by its guest", true },
		{ XVT_VMM_PANICKED, 0, "pause", false },
		{ XVT_VMM_GONE, 0, "shut down", true },
		{ XVT_VMM_GONE, -EPIPE, "QEMU crashed", false },
		{ XVT_VMM_GONE, -ENOTCONN, "", false },
	};
	size_t i;

	for (i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		report_why(XVT_VMM_RUNNING, 0, "");
		last_event_was_long_ago();
		ck_assert_uint_ge(still_ns(), 8 * SECOND_NS - ROUNDING_NS);
		report_why(reports[i].event, reports[i].err, reports[i].why);
		if (reports[i].rests)
			ck_assert_uint_eq(still_ns(), 0);
		else
			ck_assert_uint_ge(still_ns(), 8 * SECOND_NS - ROUNDING_NS);
		/* When it runs again, its rest does not count. */
		report_why(XVT_VMM_RUNNING, 0, "");
		if (reports[i].rests)
			ck_assert_uint_lt(still_ns(), 4 * SECOND_NS);
	}
}
END_TEST

START_TEST(a_pause_is_as_long_as_the_stamps_say)
{
	uint64_t now = realtime();

	ck_assert(!xvt_vm_is_paused(vm));
	report(XVT_VMM_RUNNING, 0);
	report(XVT_VMM_STOPPED, now - 2500 * MS);
	ck_assert(xvt_vm_is_paused(vm));
	/* It lasts. */
	ck_paused(2500 * MS - NEAR_NS, UINT64_MAX);
	report(XVT_VMM_RUNNING, now - 2200 * MS);
	ck_assert(!xvt_vm_is_paused(vm));
	ck_paused(300 * MS - NEAR_NS, 300 * MS + NEAR_NS);
	report(XVT_VMM_STOPPED, now - 1000 * MS);
	report(XVT_VMM_STOPPED, now - 500 * MS); /* is said twice, was once */
	report(XVT_VMM_RUNNING, now - 400 * MS);
	report(XVT_VMM_RUNNING, now - 300 * MS);
	ck_paused(900 * MS - 2 * NEAR_NS, 900 * MS + 2 * NEAR_NS);
	ck_assert_uint_eq(notes[0], 7);
	ck_assert_uint_eq(notes[1] + notes[2], 0);
}
END_TEST

/* Both stamps of the table relative to now, in ms: what cannot be is not believed. */
static const struct {
	int64_t stop_ms, run_ms;
} absurd[] = {
	{ 5000, 9000 },	  /* the future: the clock was set back */
	{ -3600000, -1 }, /* an hour ago, when we looked and it ran */
	{ -16000, 0 },	  /* before the last look */
	{ 0, 3600000 },
};

START_TEST(a_stamp_that_cannot_be_is_not_believed)
{
	uint64_t before, now = realtime(), most;

	report(XVT_VMM_RUNNING, 0);
	before = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	report(XVT_VMM_STOPPED,
	       absurd[_i].stop_ms ? now + (uint64_t)(absurd[_i].stop_ms * (int64_t)MS) : 0);
	report(XVT_VMM_RUNNING,
	       absurd[_i].run_ms ? now + (uint64_t)(absurd[_i].run_ms * (int64_t)MS) : 0);
	/* So it was as long as it took us to hear of it. */
	most = xvt_host_clock_ns(&s->clock, xvt_clock_read()) - before;
	ck_paused(0, most);
}
END_TEST

START_TEST(stamps_never_go_back)
{
	uint64_t now = realtime();

	report(XVT_VMM_STOPPED, now - 1000 * MS);
	report(XVT_VMM_RUNNING, now - 2000 * MS);
	ck_paused(0, 0);
	report(XVT_VMM_STOPPED, now - 2000 * MS);
	report(XVT_VMM_RUNNING, now - 800 * MS);
	ck_paused(200 * MS - NEAR_NS, 200 * MS + NEAR_NS);
}
END_TEST

START_TEST(a_machine_found_stopped_was_so_from_the_start)
{
	uint64_t now = realtime();

	report(XVT_VMM_STOPPED, 0);
	ck_paused(18 * SECOND_NS, UINT64_MAX);
	report(XVT_VMM_RUNNING, now - 10 * SECOND_NS);
	ck_paused(8 * SECOND_NS - NEAR_NS, 9 * SECOND_NS);
}
END_TEST

START_TEST(a_pause_ends_with_the_recording)
{
	uint64_t now = realtime();

	report(XVT_VMM_RUNNING, 0);
	report(XVT_VMM_STOPPED, now - 3000 * MS);
	s->off.clock = xvt_clock_read() - ticks(s, 1000 * MS);
	ck_paused(2000 * MS - NEAR_NS, 2000 * MS + NEAR_NS);
	report(XVT_VMM_RUNNING, now - 500 * MS);
	ck_paused(2000 * MS - NEAR_NS, 2000 * MS + NEAR_NS);
	/* And one after it counts nothing. */
	report(XVT_VMM_STOPPED, now - 400 * MS);
	report(XVT_VMM_RUNNING, now - 100 * MS);
	ck_paused(2000 * MS - NEAR_NS, 2000 * MS + NEAR_NS);
	s->off.clock = 0;
}
END_TEST

START_TEST(what_is_not_known_is_no_pause)
{
	static const enum xvt_vmm_event ends[] = { XVT_VMM_GONE, XVT_VMM_MIGRATED_AWAY };
	uint64_t now = realtime();

	report(XVT_VMM_RUNNING, 0);
	report(XVT_VMM_STOPPED, now - 3000 * MS);
	report(ends[_i], now - 2000 * MS);
	ck_assert(!xvt_vm_is_paused(vm));
	ck_paused(1000 * MS - NEAR_NS, 1000 * MS + NEAR_NS);
}
END_TEST

START_TEST(sleeping_is_no_pause)
{
	report(XVT_VMM_SUSPENDED, realtime() - 3000 * MS);
	ck_assert(!xvt_vm_is_paused(vm));
	report(XVT_VMM_WOKEN, realtime());
	ck_paused(0, 0);
}
END_TEST

START_TEST(each_stop_asks_for_an_epoch)
{
	uint32_t first[RINGS], i, turn;

	for (i = 0; i < RINGS; i++)
		first[i] = xvt_load(&vm->rings[i]->host->epoch);
	for (turn = 1; turn <= 300; turn++) {
		report(XVT_VMM_STOPPED, 0);
		report(XVT_VMM_STOPPED, 0);
		for (i = 0; i < RINGS; i++) {
			ck_assert_uint_eq(xvt_load(&vm->rings[i]->host->epoch), first[i] + turn);
			/* The guest, or an old snapshot, puts an old number there. */
			xvt_store(&vm->rings[i]->host->epoch, 7u);
		}
		report(XVT_VMM_RUNNING, 0);
		report(XVT_VMM_RESET, 0);
		for (i = 0; i < RINGS; i++)
			ck_assert_uint_eq(xvt_load(&vm->rings[i]->host->epoch), 7u);
	}
}
END_TEST

static void drain(void)
{
	uint64_t sleep_ns;

	s->passes.next_clock = 0;
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
}

static int copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_RDWR | O_CREAT, 0600);
	ssize_t n = copy_file_range(in, NULL, out, NULL, RECORDING_REGION_SIZE, 0);

	close(in);
	close(out);
	return n == RECORDING_REGION_SIZE ? 0 : -1;
}

START_TEST(memory_that_is_being_restored_is_not_read_until_the_machine_runs)
{
	struct xvt_host_page *page = xvt_host_region_page(&vm->region);
	const uint64_t old = 7;

	s->opt.note = NULL; /* a pass has more to say than what a VMM tells */
	drain();
	report(XVT_VMM_STOPPED, 0);
	drain();
	/* Its VMM has put back the host's page. What it points at comes later. */
	xvt_store(&page->nonce, old);
	drain();
	ck_assert_uint_eq(xvt_load(&page->nonce), old);
	report(XVT_VMM_RUNNING, 0);
	drain();
	ck_assert_uint_ne(xvt_load(&page->nonce), old);
}
END_TEST

static const struct xvt_vmm_ops that_sees_starts = { .sees_starts = true };
static const struct xvt_vmm_ops that_sees_none = { .name = "qmp" };

/* libvirt ends a VMM, and starts another one that loads a snapshot into the same region. A listener
 * that would not tell of the start is not waited for. */
START_TEST(memory_that_another_vmm_loads_is_not_read_until_that_runs)
{
	const bool sees = !_i;
	struct xvt_vmm listener = { sees ? &that_sees_starts : &that_sees_none };
	struct xvt_host_page *page = xvt_host_region_page(&vm->region);
	const uint64_t old = 7;

	s->opt.note = NULL;
	vm->vmm.listener = &listener;
	drain();
	report(XVT_VMM_GONE, 0);
	drain();
	xvt_store(&page->nonce, old);
	report(XVT_VMM_RENAMED, 0);
	drain();
	ck_assert((xvt_load(&page->nonce) == old) == sees);
	report(XVT_VMM_RUNNING, 0);
	drain();
	ck_assert_uint_ne(xvt_load(&page->nonce), old);
	vm->vmm.listener = NULL;
}
END_TEST

START_TEST(only_a_stamp_proves_when_it_ran_again)
{
	struct xvt_epoch_bump *b;
	uint64_t before, now_ns;
	uint32_t turn;
	/* Unknown, ahead of us, and older than can be. */
	const uint64_t no_proof[] = { 0, realtime() + 60 * SECOND_NS, realtime() - 60 * SECOND_NS };

	for (turn = 0; turn < 4; turn++) {
		report(XVT_VMM_STOPPED, 0);
		b = &vm->rings[RINGS - 1]
			     ->words.bumps[(vm->rings[RINGS - 1]->words.nr_bumps - 1) % XVT_BUMPS];
		b->before_ns -= SECOND_NS; /* that long ago */
		before = b->before_ns;
		report(XVT_VMM_RUNNING, turn < 3 ? no_proof[turn] : realtime());
		now_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());
		if (turn < 3) {
			ck_assert_uint_eq(b->before_ns, before);
		} else {
			ck_assert_uint_ge(b->before_ns, before + SECOND_NS - NEAR_NS);
			ck_assert_uint_le(b->before_ns, now_ns);
		}
	}
}
END_TEST

/* By its own stamps the maps know the pause. Not where the wall clock, which the stamps are of, has
 * been set since it was last looked at. */
START_TEST(stamps_of_both_ends_make_a_pause_exact)
{
	struct timespec t = { .tv_nsec = 20 * (long)MS };
	uint64_t stop_ns, run_ns;
	uint32_t i;

	if (_i)
		s->clock.last.realtime_off += SECOND_NS / 10;
	stop_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read_ordered());
	report(XVT_VMM_STOPPED, realtime());
	nanosleep(&t, NULL);
	report(XVT_VMM_RUNNING, realtime());
	run_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read_ordered());
	for (i = 0; i < RINGS; i++) {
		const struct xvt_clock_map *m = &vm->rings[i]->clock.map;

		ck_assert_int_eq(m->run_ns != 0, !_i);
		if (_i)
			continue;
		ck_assert_uint_ge(m->stop_ns, stop_ns);
		ck_assert_uint_ge(m->run_ns, m->stop_ns + 18 * MS);
		ck_assert_uint_le(m->run_ns, run_ns + 10000);
	}
}
END_TEST

START_TEST(clocks_are_measured_after)
{
	static const struct {
		enum xvt_vmm_event event;
		bool measures;
	} rows[] = {
		{ XVT_VMM_STOPPED, false }, { XVT_VMM_RUNNING, true },
		{ XVT_VMM_RESET, true },    { XVT_VMM_SUSPENDED, false },
		{ XVT_VMM_WOKEN, true },    { XVT_VMM_PANICKED, false },
		{ XVT_VMM_ARRIVED, true },  { XVT_VMM_MIGRATED_AWAY, false },
		{ XVT_VMM_GONE, false },
	};
	uint32_t i, k;

	for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		for (i = 0; i < RINGS; i++)
			vm->rings[i]->clock.next_burst_clock = UINT64_MAX;
		report(rows[k].event, 0);
		for (i = 0; i < RINGS; i++)
			ck_assert_int_eq(vm->rings[i]->clock.next_burst_clock == 0,
					 rows[k].measures);
	}
}
END_TEST

START_TEST(what_went_wrong_is_told_as_such)
{
	struct xvt_vmm_report r = { .event = XVT_VMM_GONE };

	xvt_session_vmm_report(vm, &r);
	ck_assert_uint_eq(notes[0], 1);
	r.err = -EPIPE;
	xvt_session_vmm_report(vm, &r);
	ck_assert_uint_eq(notes[1], 1);
	r.err = -ETIMEDOUT;
	xvt_session_vmm_report(vm, &r);
	ck_assert_uint_eq(notes[2], 1);
	report(XVT_VMM_PANICKED, 0);
	ck_assert_uint_eq(notes[1], 2);
}
END_TEST

/* What status says of the machine and its first ring. */
static void ck_phase(const char *phase, const char *ring_phase)
{
	struct xvt_json *j = xvt_json_new();
	uint32_t id = vm->id, ring = 0;
	struct xvt_json_value *v;
	char *line;
	struct xvt_error why;
	size_t len;

	ck_assert(xvt_session_status_vm(s, &id, &ring, j));
	line = xvt_json_line(j, &len);
	ck_assert_ptr_nonnull(line);
	v = xvt_json_parse(line, len, &why);
	ck_assert_msg(v != NULL, "%s", why.text);
	ck_assert_str_eq(xvt_json_text(xvt_json_get(v, "phase")), phase);
	ck_assert_str_eq(
		xvt_json_text(xvt_json_get(xvt_json_at(xvt_json_get(v, "rings"), 0), "phase")),
		ring_phase);
	xvt_json_forget(v);
	free(line);
}

static bool is_shown(void)
{
	struct xvt_json *j = xvt_json_new();
	uint32_t id = vm->id, ring = 0;
	const bool shown = xvt_session_status_vm(s, &id, &ring, j);
	size_t len;

	free(xvt_json_line(j, &len));
	return shown;
}

/* What status says of the machines that have left. */
static void ck_left(uint64_t machines, uint64_t events, uint64_t shown)
{
	struct xvt_json *j = xvt_json_new();
	const struct xvt_json_value *left;
	struct xvt_json_value *v;
	uint64_t number;
	size_t len;
	char *line;
	struct xvt_error why;

	xvt_session_status(s, j);
	line = xvt_json_line(j, &len);
	v = xvt_json_parse(line, len, &why);
	ck_assert_msg(v != NULL, "%s", why.text);
	left = xvt_json_get(v, "left");
	ck_assert(xvt_json_u64(xvt_json_get(left, "machines"), &number) && number == machines);
	ck_assert(xvt_json_u64(xvt_json_get(left, "events"), &number) && number == events);
	ck_assert(xvt_json_u64(xvt_json_get(v, "machines"), &number) && number == shown);
	xvt_json_forget(v);
	free(line);
}

START_TEST(a_machine_that_has_ended_leaves_status_after_a_minute)
{
	unsigned int i;

	s->opt.note = NULL;
	vm->rings[0]->account.stats.events = 7;
	report(XVT_VMM_GONE, 0);
	for (i = 0; i < 60; i++) {
		xvt_session_status_second(s, xvt_clock_read());
		ck_assert(is_shown());
	}
	ck_left(0, 0, 1);
	xvt_session_status_second(s, xvt_clock_read());
	ck_assert(!is_shown());
	ck_left(1, 7, 0);
	/* It starts again. */
	report(XVT_VMM_RUNNING, 0);
	xvt_session_status_second(s, xvt_clock_read());
	ck_assert(is_shown());
	ck_left(0, 0, 1);
}
END_TEST

START_TEST(status_knows_that_a_vmm_has_ended)
{
	const uint64_t now = xvt_clock_read();

	s->opt.note = NULL;
	xvt_ring_set_phase(vm->rings[0], XVT_PHASE_LIVE);
	ck_phase("attached", "live");
	report(XVT_VMM_GONE, 0);
	ck_phase("ended", "ended");
	report(XVT_VMM_RUNNING, 0);
	ck_phase("attached", "live");
	report(XVT_VMM_MIGRATED_AWAY, 0);
	report(XVT_VMM_GONE, 0);
	ck_phase("moved", "moved");
	/* The last events are read after the report. */
	vm->rings[0]->drain.last.attempted++;
	xvt_session_status_second(s, now);
	vm->rings[0]->drain.last.attempted++;
	xvt_session_status_second(s, now);
	xvt_session_status_second(s, now);
	ck_phase("moved", "moved");
	/* But a writer that goes on has a VMM, if none that is known. */
	vm->rings[0]->drain.last.attempted++;
	xvt_session_status_second(s, now);
	ck_phase("attached", "live");
}
END_TEST

/* -- panics that the guest tells of --------------------------------------------------- */

/* A record of a panic goes out of a ring. */
/* In a pass of its own. */
static void look_for_panic(void)
{
	s->passes.number++;
	xvt_session_look_for_panic(s, vm);
}

static void put_panic(uint32_t generation, const char *text, uint32_t flags)
{
	struct xvt_run *run = calloc(1, sizeof(*run) + sizeof(run->ns[0]));
	struct xvt_ring_panic *p = &vm->rings[0]->panic;

	run->ring = vm->rings[0];
	run->id = XVT_ID_PANIC;
	run->ring_flags = flags;
	run->ns[0] = 5 * SECOND_NS;
	p->generation = generation;
	p->len = (uint32_t)strnlen(text, sizeof(p->text));
	memcpy(p->text, text, p->len);
	xvt_session_note_panic(s, run);
	free(run);
}

/* Since the call before. */
static bool crashed(void)
{
	struct xvt_vm_changes c;

	xvt_session_vm_changes(vm, &c);
	return c.crashed;
}

static void ck_told(unsigned int crashes, bool crash)
{
	ck_assert_uint_eq(notes[1], crashes);
	ck_assert_int_eq(crashed(), crash);
}

static struct xvt_region_hdr *header(void)
{
	return (struct xvt_region_hdr *)rec.map;
}

static void ck_outcome(const char *departed, const char *why)
{
	struct xvt_vm_outcome o;

	xvt_session_vm_outcome(vm, &o);
	if (!departed) {
		ck_assert_ptr_null(o.departed);
		return;
	}
	ck_assert_ptr_nonnull(o.departed);
	ck_assert_str_eq(o.departed, departed);
	ck_assert_str_eq(o.why, why);
}

START_TEST(a_panic_is_told_once_whoever_tells_first)
{
	xvt_store(&header()->generation, 7u);
	look_for_panic();
	put_panic(7, "first", XVT_EVENT_F_BACKLOG);
	ck_told(0, false);
	put_panic(7, "Fatal \033[2J", 0);
	ck_told(1, true);
	put_panic(7, "again", 0);
	ck_told(1, false);
	report(XVT_VMM_PANICKED, 0);
	ck_told(1, false);
	ck_outcome("ended", "guest panicked");
	/* It is stopped, and ends. */
	report(XVT_VMM_STOPPED, 0);
	report_why(XVT_VMM_GONE, 0, "destroyed");
	ck_outcome("ended", "guest panicked");
	/* Another kernel, of which the VMM tells first; and one before its module was loaded. */
	report(XVT_VMM_RUNNING, 0);
	ck_outcome(NULL, NULL);
	xvt_store(&header()->generation, 8u);
	report(XVT_VMM_PANICKED, 0);
	ck_told(2, true);
	put_panic(8, "late", 0);
	ck_told(2, false);
	ck_outcome("ended", "guest panicked");
	report(XVT_VMM_RESET, 0);
	ck_outcome(NULL, NULL);
	report(XVT_VMM_PANICKED, 0);
	ck_told(3, true);
}
END_TEST

START_TEST(a_panic_whose_record_is_lost_is_told_by_the_header)
{
	unsigned int i;

	xvt_store(&header()->panics, 41u); /* of earlier kernels */
	xvt_vm_panics_begin(s, vm);
	xvt_store(&header()->panics, 42u);
	for (i = 0; i < 5; i++) {
		look_for_panic();
		ck_told(0, false);
	}
	look_for_panic();
	ck_told(1, true);
	/* Another kernel has booted; of its panic both come. */
	xvt_store(&header()->generation, 2u);
	look_for_panic();
	ck_outcome(NULL, NULL);
	xvt_store(&header()->panics, 43u);
	put_panic(2, "", 0);
	ck_told(2, true);
	for (i = 0; i < 8; i++)
		look_for_panic();
	ck_told(2, false);
	ck_outcome("ended", "guest panicked");
	/* Its memory goes back to before that. */
	xvt_store(&header()->panics, 42u);
	xvt_vm_revived(s, vm);
	ck_outcome(NULL, NULL);
	xvt_store(&header()->panics, 43u);
	look_for_panic();
	put_panic(2, "", 0);
	ck_told(3, true);
}
END_TEST

static void look_again(struct xvt_vm *at)
{
	s->passes.next_format_clock = at->header.next_look_clock = xvt_clock_read();
	drain();
}

START_TEST(a_region_that_is_not_formatted)
{
	const char *path = scratch_path("empty");
	struct xvt_vm *g2;
	struct xvt_vmm_report r = { .event = XVT_VMM_STOPPED };
	struct xvt_error why;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_eq(ftruncate(fd, RECORDING_REGION_SIZE), 0);
	close(fd);
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, &why), 0);
	g2 = xvt_session_find(s, "g2");
	ck_assert_ptr_ne(g2, vm);
	s->opt.note = NULL;
	xvt_session_vmm_report(g2, &r);
	ck_assert(xvt_vm_is_paused(g2));
	ck_assert(!xvt_vm_is_paused(vm));
	/* Its VMM loads its state: the region is taken when that is complete. */
	ck_assert_int_eq(copy_file(scratch_path("region"), path), 0);
	xvt_store(&((struct xvt_host_page *)(g2->region.map + vm->region.g.host_off))->attach_id,
		  0);
	look_again(g2);
	ck_assert_int_eq(g2->phase, XVT_VM_WAITING);
	r.event = XVT_VMM_RUNNING;
	xvt_session_vmm_report(g2, &r);
	/* It was added a moment ago: what was before is not in its recording. */
	ck_assert_uint_gt(xvt_vm_paused_ns(s, g2), 0);
	ck_assert_uint_lt(xvt_vm_paused_ns(s, g2), 30 * SECOND_NS);
	ck_assert_ptr_null(xvt_session_find(s, "g3"));
	look_again(g2);
	ck_assert_int_eq(g2->phase, XVT_VM_ATTACHED);
}
END_TEST

/* A machine that was migrated to a VMM with another file: what was read from the old one is not
 * read from the new one. */
START_TEST(a_copied_region_goes_on_where_the_other_one_ended)
{
	const char *path = scratch_path("copy");
	const uint64_t delivered = 41;
	struct xvt_ring_host *from = xvt_host_ring_host(&vm->region, 1), *to;
	struct xvt_vm *g2;
	struct xvt_error why;

	s->opt.note = NULL;
	drain();
	ck_assert_int_eq(copy_file(scratch_path("region"), path), 0);
	/* What happens to the old one after the pages of the host's words were copied. */
	xvt_store(&vm->rings[1]->ctl->attempted, delivered);
	vm->rings[1]->drain.last.attempted = delivered;
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, &why), 0);
	g2 = xvt_session_find(s, "g2");
	ck_assert_int_eq(g2->phase, XVT_VM_WAITING);
	report(XVT_VMM_STOPPED, 0);
	look_again(g2);
	ck_assert_int_eq(g2->phase, XVT_VM_WAITING); /* not all is accounted for */
	xvt_store(&from->acc_delivered, delivered);
	look_again(g2);
	ck_assert_int_eq(g2->phase, XVT_VM_ATTACHED);
	to = xvt_host_ring_host(&g2->region, 1);
	ck_assert_uint_eq(xvt_load(&to->acc_delivered), delivered);
	ck_assert(!g2->rings[1] || !g2->rings[1]->account.took_over);
}
END_TEST

static bool copy_was_reported;

static void on_copy_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	copy_was_reported |= level == 1 && strstr(text, "is a copy of that of g1") &&
			     strstr(text, "may be in the trace for both");
}

/* A copy is not waited for without end, and then the trace says what it may have twice. */
START_TEST(a_copied_region_whose_original_runs_on_is_recorded_with_a_warning)
{
	const char *path = scratch_path("copy");
	struct xvt_vm *g2;
	struct xvt_error why;
	unsigned int i;

	copy_was_reported = false;
	s->opt.note = on_copy_note;
	drain();
	ck_assert_int_eq(copy_file(scratch_path("region"), path), 0);
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, &why), 0);
	g2 = xvt_session_find(s, "g2");
	for (i = 0; i < 1000 && g2->phase == XVT_VM_WAITING; i++)
		look_again(g2);
	ck_assert_int_eq(g2->phase, XVT_VM_ATTACHED);
	ck_assert_uint_gt(i, 1);
	ck_assert(copy_was_reported);
	s->opt.note = NULL;
}
END_TEST

/* An answer that is too wide to become a node is an answer: its guest is neither paused nor
 * dead, and only slow because the host is. */
START_TEST(a_guest_that_answers_is_not_silent_although_no_node_comes_of_it)
{
	struct xvt_ring *r = vm->rings[0];
	uint64_t now = xvt_clock_read();

	s->opt.stall_timeout_ns = 2 * SECOND_NS;
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
	r->drain.last.state = XVT_RING_ONLINE;
	r->drain.idle = true;
	r->clock.last_node_clock = now - ticks(s, 20 * SECOND_NS);
	r->measure.answer_clock = now;
	xvt_session_ring_phase(s, r, now);
	ck_assert(!r->guest.quiet);
	ck_assert(!r->measure.quiet_reported);
	ck_assert_int_eq(r->phase, XVT_PHASE_LIVE);
	r->measure.answer_clock = now - ticks(s, SECOND_NS);
	xvt_session_ring_phase(s, r, now);
	ck_assert(r->guest.quiet);
	ck_assert_int_eq(r->phase, XVT_PHASE_LIVE);
	phase_anew(r, XVT_PHASE_NEW);
}
END_TEST

/* Live, with a record in `piece` that has no time yet; last answered at answer_clock. */
static void let_wait(struct xvt_ring *r, struct xvt_piece *piece, uint64_t answer_clock)
{
	s->opt.note = NULL;
	s->opt.stall_timeout_ns = 2 * SECOND_NS;
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
	r->drain.last.state = XVT_RING_ONLINE;
	r->measure.answer_clock = answer_clock;
	r->drain.first = piece;
	r->head.have = true;
}

static void wait_no_more(struct xvt_ring *r)
{
	r->drain.first = NULL;
	r->head.have = false;
	phase_anew(r, XVT_PHASE_NEW);
}

/* It waited for a measurement when the machine was stopped: from then on it may bear witness. */
START_TEST(what_waited_before_a_stop_is_given_time_to_bear_witness)
{
	struct xvt_ring *r = vm->rings[0];
	uint64_t now = xvt_clock_read(), old = now - ticks(s, SECOND_NS);
	struct xvt_piece piece = { .ceiling_clock = old };

	let_wait(r, &piece, now);
	vm->vmm.paused = true;
	xvt_session_ring_phase(s, r, now);
	ck_assert_int_eq(r->phase, XVT_PHASE_LIVE);
	r->session.still_clock = old;
	xvt_session_ring_phase(s, r, now);
	ck_assert_int_eq(r->phase, XVT_PHASE_ASIDE);
	vm->vmm.paused = false;
	wait_no_more(r);
}
END_TEST

/* A machine that has moved away is not measured any more: what waits for that goes out without it,
 * although the stall time-out is a minute. A guest that answers all the same is waited for. */
START_TEST(what_waits_when_a_machine_has_ended_is_given_up_soon)
{
	static const enum xvt_vmm_event ends[] = { XVT_VMM_MIGRATED_AWAY, XVT_VMM_GONE };
	struct xvt_ring *r = vm->rings[0];
	uint64_t now = xvt_clock_read(), old = now - ticks(s, SECOND_NS);
	struct xvt_piece piece = { .ceiling_clock = old };

	let_wait(r, &piece, now);
	s->opt.stall_timeout_ns = 60 * SECOND_NS;
	if (_i & 2) { /* it was stopped before, and its ring was set aside for that */
		report(XVT_VMM_STOPPED, 0);
		r->session.still_clock = old;
		r->guest.still = true;
		xvt_session_ring_phase(s, r, now);
		ck_assert_int_eq(r->phase, XVT_PHASE_ASIDE);
	}
	report(ends[_i & 1], 0);
	xvt_session_ring_phase(s, r, now);
	ck_assert(!r->clock.map.closed);
	r->measure.answer_clock = old;
	xvt_session_ring_phase(s, r, now);
	ck_assert_int_eq(r->phase, XVT_PHASE_ASIDE);
	ck_assert(r->clock.map.closed);
	r->clock.map.closed = false;
	wait_no_more(r);
}
END_TEST

/* Nothing was decoded before all had joined, so what waits may be old already; it finds its places
 * one witness a pass, and that is no reason to give up. */
START_TEST(a_silent_ring_that_still_bears_witness_is_not_set_aside)
{
	struct xvt_ring *r = vm->rings[0];
	uint64_t now = xvt_clock_read(), old = now - ticks(s, 5 * SECOND_NS);
	struct xvt_piece piece = { .ceiling_clock = old };

	let_wait(r, &piece, old);
	r->clock.inferred_new = true;
	xvt_session_put_inferred(s, r);
	xvt_session_ring_phase(s, r, now);
	ck_assert_int_eq(r->phase, XVT_PHASE_LIVE);
	r->measure.inferred_clock = old;
	xvt_session_ring_phase(s, r, now);
	ck_assert_int_eq(r->phase, XVT_PHASE_ASIDE);
	wait_no_more(r);
}
END_TEST

Suite *session_vmm_suite(void)
{
	Suite *suite = suite_create("session_vmm");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_machine_at_rest_is_not_still);
	tcase_add_test(t, a_machine_that_has_ended_leaves_status_after_a_minute);
	tcase_add_test(t, a_pause_is_as_long_as_the_stamps_say);
	tcase_add_loop_test(t, a_stamp_that_cannot_be_is_not_believed, 0,
			    sizeof(absurd) / sizeof(absurd[0]));
	tcase_add_test(t, stamps_never_go_back);
	tcase_add_test(t, a_machine_found_stopped_was_so_from_the_start);
	tcase_add_test(t, a_pause_ends_with_the_recording);
	tcase_add_loop_test(t, what_is_not_known_is_no_pause, 0, 2);
	tcase_add_test(t, sleeping_is_no_pause);
	tcase_add_test(t, each_stop_asks_for_an_epoch);
	tcase_add_test(t, memory_that_is_being_restored_is_not_read_until_the_machine_runs);
	tcase_add_loop_test(t, memory_that_another_vmm_loads_is_not_read_until_that_runs, 0, 2);
	tcase_add_test(t, only_a_stamp_proves_when_it_ran_again);
	tcase_add_loop_test(t, stamps_of_both_ends_make_a_pause_exact, 0, 2);
	tcase_add_test(t, clocks_are_measured_after);
	tcase_add_test(t, what_waited_before_a_stop_is_given_time_to_bear_witness);
	tcase_add_loop_test(t, what_waits_when_a_machine_has_ended_is_given_up_soon, 0, 4);
	tcase_add_test(t, a_silent_ring_that_still_bears_witness_is_not_set_aside);
	tcase_add_test(t, a_guest_that_answers_is_not_silent_although_no_node_comes_of_it);
	tcase_add_test(t, what_went_wrong_is_told_as_such);
	tcase_add_test(t, status_knows_that_a_vmm_has_ended);
	tcase_add_test(t, a_panic_is_told_once_whoever_tells_first);
	tcase_add_test(t, a_panic_whose_record_is_lost_is_told_by_the_header);
	tcase_add_test(t, a_region_that_is_not_formatted);
	tcase_add_test(t, a_copied_region_goes_on_where_the_other_one_ended);
	tcase_add_test(t, a_copied_region_whose_original_runs_on_is_recorded_with_a_warning);
	suite_add_tcase(suite, t);
	return suite;
}
