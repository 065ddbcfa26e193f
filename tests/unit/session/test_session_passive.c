// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_passive.c - a guest of which only the ring of its own kernel is read. The kernel is
 * the tests' writer of such rings (ftrace_ring.h), in a file as a VMM would share it, with a clock
 * of its own. The rest is the recorder's way from that file to the trace.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/u64.h"
#include "formats/cache.h"
#include "ftrace_ring.h"
#include "lib/xvtrace.h"
#include "recording.h"
#include "session/passive.h"

#define ADDRESS	   0xffffc90000100000ull
#define CPUS	   2u
#define SUBBUFS	   16u
#define OFFSET	   8192u /* of the ring in the file */
#define PASSES_MAX 20000
#define SEARCH_MAX 1000000	    /* passes of searches of the memory, one in a second */
#define AHEAD_NS   3600000000000ull /* the guest's clock is so far ahead, but in one test */

static struct recording rec;
static struct xvt_session *s;
static struct ftrace_ring g, other;
static struct xvt_vm *vm;

/* The guest's clock counts from boot_ns of the host's, in ns, or from the stamp tsc_from on in
 * ticks of the host's counter. */
static uint64_t boot_ns, tsc_from, tsc_hz;

#define MS_NS  (SECOND_NS / 1000)
#define TRUTHS FTRACE_RING_EVENTS
/* Of a guest whose clock goes back: host times of the newest events of a CPU, by serial number. */
static uint64_t truth[CPUS][TRUTHS], late_ns[CPUS];
static bool truths;
/* Its next stamp, whenever that is taken; 0: any. */
static uint64_t next_guest;

static uint64_t guest_ns(void)
{
	const uint64_t now_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());

	if (next_guest)
		boot_ns = now_ns - next_guest;
	next_guest = 0;
	return now_ns - boot_ns;
}

static uint64_t guest_now(void)
{
	return tsc_from ? xvt_u64_scale(guest_ns(), tsc_hz, SECOND_NS) : guest_ns();
}

static uint64_t true_ns(uint64_t guest)
{
	const bool ticks = tsc_from && guest >= tsc_from;

	return boot_ns + (ticks ? xvt_u64_scale(guest, SECOND_NS, tsc_hz) : guest);
}

static void share(struct ftrace_ring *ring, const char *file, int layout)
{
	const int fd = open(scratch_path(file), O_RDWR | O_CREAT | O_TRUNC, 0600);
	uint8_t *map;

	memset(ring, 0, sizeof(*ring));
	ring->layout = layout;
	ring->n = SUBBUFS;
	ring->nr_cpus = CPUS;
	ring->seed = 1;
	ring->size = ftrace_ring_size(layout, SUBBUFS, CPUS);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)(OFFSET + ring->size)), 0);
	map = mmap(NULL, OFFSET + ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	ring->mem = map + OFFSET;
	ring->now = guest_now;
	truths = false;
	memset(late_ns, 0, sizeof(late_ns));
	boot_ns = -AHEAD_NS;
	tsc_from = 0;
}

static void unmap(struct ftrace_ring *ring)
{
	if (ring->mem)
		munmap(ring->mem - OFFSET, OFFSET + ring->size);
	ring->mem = NULL;
}

static struct xvt_vm *add_claim(const char *name, const char *file, bool offset, const char *claim)
{
	char path[4096];
	struct xvt_error why = { "" };

	snprintf(path, sizeof(path), "ftrace:%s%s%s", scratch_path(file), offset ? "@8192" : "",
		 claim);
	ck_assert_msg(!xvt_session_add(s, name, path, NULL, true, &why), "%s", why.text);
	return xvt_session_find(s, name);
}

static struct xvt_vm *add(const char *name, const char *file, bool offset)
{
	return add_claim(name, file, offset, "");
}

/* Without a machine. */
static void begin_recording(uint64_t join_timeout_ns)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .memory_bytes = 64 << 20,
					   .join_timeout_ns = join_timeout_ns,
					   .stall_timeout_ns = SECOND_NS / 5 };

	recording_begin(&rec, 1, &opt);
	s = rec.s;
	share(&g, "ring", 1);
}

static void begin_session(uint64_t join_timeout_ns)
{
	begin_recording(join_timeout_ns);
	vm = add("g", "ring", true);
}

/* The cache of formats is read when a recording begins. */
static void begin_again(void)
{
	recording_end(&rec);
	unmap(&g);
	begin_session(1);
}

/* The formats that this host knows are none of theirs. */
static void setup(void)
{
	setenv("XVT_FORMATS_DIR", "/nowhere", 1);
	begin_session(1);
}

/* Nothing is emitted before the machine has a clock. */
static void setup_waiting(void)
{
	setenv("XVT_FORMATS_DIR", "/nowhere", 1);
	begin_session(3600 * SECOND_NS);
}

static void teardown(void)
{
	recording_end(&rec);
	unmap(&g);
	unmap(&other);
}

static void pass_within(uint64_t most_ns)
{
	uint64_t sleep_ns;

	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
	xvt_loop_run(rec.loop, sleep_ns < most_ns ? sleep_ns : most_ns);
}

static void pass(void)
{
	pass_within(UINT64_MAX);
}

static uint64_t events_of(const struct xvt_vm *m)
{
	uint64_t n = 0;

	for (uint32_t i = 0; m->rings && i < m->region.g.ring_count; i++)
		n += m->rings[i]->account.stats.events;
	return n;
}

static bool is_live(const struct xvt_vm *m)
{
	for (uint32_t i = 0; m->rings && i < m->region.g.ring_count; i++) {
		if (m->rings[i]->phase == XVT_PHASE_NEW)
			return false;
	}
	return m->rings;
}

/* The guest's kernel makes its ring, and writes an event a pass until the clocks are known. */
static void begin(struct ftrace_ring *ring, const struct xvt_vm *m)
{
	ftrace_ring_boot(ring, ADDRESS);
	for (int i = 0; !is_live(m) && i < PASSES_MAX; i++) {
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			ftrace_ring_write(ring, cpu, 1);
		pass();
	}
	ck_assert(is_live(m));
}

static void until_events(const struct xvt_vm *m, uint64_t n)
{
	for (int i = 0; events_of(m) < n && i < PASSES_MAX; i++)
		pass();
	ck_assert_uint_eq(events_of(m), n);
}

struct got {
	uint64_t events, lost, losses;
	uint64_t bounded;   /* events that are not flagged */
	uint64_t boundless; /* of those, without a bound */
	uint64_t outside;   /* of those, whose time is further off */
	uint64_t next[CPUS];
	bool gap[CPUS];
};

/* The trace's events of a machine: in order of each CPU, none twice, none missing but at a loss. */
static void read_as(const char *name, unsigned int flags, struct got *got)
{
	struct xvtrace_error error;
	struct xvtrace_reader *reader;
	const struct xvtrace_event *event;
	struct xvtrace *trace;

	memset(got, 0, sizeof(*got));
	ck_assert_int_eq(xvtrace_open(&trace, scratch_path("recording.xvt"), 0, &error), 0);
	ck_assert_int_eq(xvtrace_reader_new(&reader, trace), 0);
	ck_assert_int_eq(xvtrace_reader_flags(reader, flags), 0);
	ck_assert_int_eq(xvtrace_reader_machine(reader, name), 0);
	while (xvtrace_next(reader, &event) == 1) {
		const uint32_t cpu = event->ring->cpu;
		uint64_t serial, true_at;

		ck_assert(!event->ring->machine->host);
		if (event->kind == XVTRACE_LOST) {
			got->losses++;
			got->lost += event->lost;
			got->gap[cpu] = true;
		}
		if (event->kind != XVTRACE_EVENT)
			continue;
		memcpy(&serial, event->data + 8, sizeof(serial));
		ck_assert_uint_ge(serial, got->next[cpu]);
		/* What the ring had lost before it was read is not missing. */
		if (serial != got->next[cpu] && got->next[cpu])
			ck_assert(got->gap[cpu]);
		got->gap[cpu] = false;
		got->next[cpu] = serial + 1;
		got->events++;
		if (event->flags & (XVTRACE_UNCONFIRMED | XVTRACE_CLOCK))
			continue;
		got->bounded++;
		got->boundless += event->bound_ns >= XVTRACE_NO_BOUND;
		true_at = truths ? truth[cpu][serial % TRUTHS] : true_ns(event->guest_clock);
		got->outside += xvt_u64_apart(event->ns, true_at) > event->bound_ns;
	}
	xvtrace_reader_free(reader);
	xvtrace_close(trace);
}

static void read_events(const char *name, struct got *got)
{
	struct got again;

	if (rec.s) {
		ck_assert_int_eq(xvt_session_finish(s), 0);
		rec.s = NULL;
		xvt_trace_close(recording_open(&rec));
	}
	read_as(name, XVTRACE_BOUND, got);
	read_as(name, XVTRACE_BOUND | XVTRACE_RECLOCK, &again);
	got->outside += again.outside;
	got->boundless += again.boundless;
}

/* Returns whether the trace has a note with that text. If not, those that it has are printed. */
static bool has_note(const char *text)
{
	const struct xvt_chunk_hdr *h;
	size_t at = 0;

	while ((h = recording_chunk(&rec, &at))) {
		if (h->type == XVT_CHUNK_NOTE && memmem(h + 1, h->len, text, strlen(text)))
			return true;
	}
	for (at = 0; (h = recording_chunk(&rec, &at));) {
		if (h->type == XVT_CHUNK_NOTE)
			fprintf(stderr, "note: %.*s\n", (int)(h->len - sizeof(struct xvt_note)),
				(const char *)(h + 1) + sizeof(struct xvt_note));
	}
	return false;
}

static void write_some(struct ftrace_ring *ring, const struct xvt_vm *m, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		ftrace_ring_write(ring, i % CPUS, 1 + i % 7);
		pass();
	}
	until_events(m, ring->cpus[0].serial + ring->cpus[1].serial);
}

static bool has_nodes(const struct xvt_vm *m)
{
	for (uint32_t i = 0; i < m->region.g.ring_count; i++) {
		if (!m->rings[i]->clock.map.count)
			return false;
	}
	return true;
}

static void write_more(struct ftrace_ring *ring, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		ftrace_ring_write(ring, i % CPUS, 1);
		pass();
	}
}

START_TEST(all_events_are_in_the_trace)
{
	struct got got;

	if (_i) {
		recording_end(&rec);
		unmap(&g);
		begin_recording(1);
		vm = add("found", "ring", false);
	}
	begin(&g, vm);
	write_some(&g, vm, 300);
	for (uint32_t i = 0; i < CPUS; i++) {
		const struct xvt_ring_stats *st = &vm->rings[i]->account.stats;

		ck_assert_uint_eq(st->overwritten, 0);
		ck_assert_uint_eq(st->clock_violations, 0);
		ck_assert_uint_eq(st->source, XVT_SOURCE_SEEN);
	}
	read_events(_i ? "found" : "g", &got);
	ck_assert_uint_eq(got.events, g.cpus[0].serial + g.cpus[1].serial);
	ck_assert_uint_eq(got.losses, 0);
	ck_assert_uint_gt(got.bounded, 0);
	ck_assert_uint_eq(got.outside, 0);
}
END_TEST

/* The writer came around before the recorder looked: what is told as lost is a lower bound. */
START_TEST(what_was_overwritten_is_lost_at_least)
{
	const struct xvt_ring_stats *st;
	struct got got;
	uint64_t missing;

	begin(&g, vm);
	write_some(&g, vm, 20);
	ftrace_ring_write(&g, 0, 5000);
	for (int i = 0; i < 50; i++)
		pass();
	ftrace_ring_write(&g, 0, 3);
	st = &vm->rings[0]->account.stats;
	for (int i = 0; !st->overwritten && i < PASSES_MAX; i++)
		pass();
	ck_assert_uint_gt(st->overwritten, 0);
	ck_assert_uint_eq(vm->rings[1]->account.stats.overwritten, 0);
	read_events("g", &got);
	ck_assert_uint_eq(got.next[0], g.cpus[0].serial);
	missing = g.cpus[0].serial + g.cpus[1].serial - got.events;
	ck_assert_uint_gt(missing, 0);
	ck_assert_uint_gt(got.losses, 0);
	ck_assert_uint_gt(got.lost, 0);
	ck_assert_uint_le(got.lost, missing);
	ck_assert(has_note("its kernel overwrote events before they were read"));
}
END_TEST

/* Soon after its boot the kernel takes another clock, and overwrites what tells that it did. */
START_TEST(a_clock_that_changes_while_it_overwrites_is_another_one)
{
	struct got got;

	boot_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	begin(&g, vm);
	write_some(&g, vm, 10);
	tsc_hz = s->clock.hz;
	tsc_from = guest_ns() + 1;
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		ftrace_ring_clear(&g, cpu);
		ftrace_ring_write(&g, cpu, 5000);
	}
	for (int i = 0; i < 2000; i++) {
		ftrace_ring_write(&g, i % CPUS, 1);
		pass();
	}
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		ck_assert_uint_eq(xvt_load(&vm->rings[cpu]->ctl->clock_id), XVT_CLOCK_TSC);
	read_events("g", &got);
	ck_assert_uint_gt(got.bounded, 1000);
	ck_assert_uint_eq(got.outside, 0);
}
END_TEST

/* The clock of each CPU may be late by its own. Of this one it goes back so far that the next stamp
 * is lower than the one before by back_ns; 0: it goes on. */
static void write_late(unsigned int cpu, uint64_t back_ns)
{
	const struct ftrace_ring_cpu *c = &g.cpus[cpu];
	const uint64_t before_ns = boot_ns;
	uint64_t i = c->serial;

	boot_ns += late_ns[cpu];
	next_guest = back_ns ? c->clock - back_ns : 0;
	ftrace_ring_write(&g, cpu, 1);
	for (; i < c->serial; i++)
		truth[cpu][i % TRUTHS] = boot_ns + c->clocks[i % FTRACE_RING_EVENTS];
	late_ns[cpu] = boot_ns - before_ns;
	boot_ns = before_ns;
}

static void spin(uint64_t ns)
{
	const uint64_t to_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read()) + ns;

	while (xvt_host_clock_ns(&s->clock, xvt_clock_read()) < to_ns)
		;
}

/* As `local` of a CPU may while its kernel boots. A recorder that comes by seldom knows the line to
 * no less than the step, so that no look contradicts it. */
START_TEST(a_clock_that_goes_back_ends_its_line)
{
	struct got got;

	g.back_begins = _i % 2;
	boot_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read()) - 20 * SECOND_NS;
	begin(&g, vm);
	truths = true;
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		for (uint64_t i = 0; i < TRUTHS; i++)
			truth[cpu][i] = true_ns(g.cpus[cpu].stamps[i]);
	for (unsigned int i = 0; i < 100; i++) {
		write_late(0, 0);
		write_late(1, 0);
		spin(MS_NS * 7 / 2);
		write_late(0, i == 50 ? MS_NS * (uint64_t)_i / 4 : 0);
		spin(MS_NS / 2);
		pass();
	}
	read_events("g", &got);
	ck_assert_uint_eq(got.boundless, 0);
	ck_assert_uint_eq(got.outside, 0);
}
END_TEST

/* `echo mono >trace_clock`: the other clock is ahead by less than what contradicts the line. A
 * guest that only empties its ring keeps its clock and its rate (0). */
START_TEST(a_clock_that_goes_ahead_as_its_ring_is_emptied)
{
	const uint64_t ahead_ns[] = { 0, MS_NS / 2, 5 * MS_NS, 9 * MS_NS };
	struct got got;

	boot_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read()) - 20 * SECOND_NS;
	begin(&g, vm);
	truths = true;
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		for (uint64_t i = 0; i < TRUTHS; i++)
			truth[cpu][i] = true_ns(g.cpus[cpu].stamps[i]);
	for (unsigned int i = 0; i < 600; i++) {
		if (i == 300) {
			for (unsigned int cpu = 0; cpu < CPUS; cpu++)
				ftrace_ring_clear(&g, cpu);
			boot_ns -= ahead_ns[_i];
		}
		write_late(i % CPUS, 0);
		pass_within(MS_NS / 4);
	}
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		ck_assert(!vm->passive->cpus[cpu].trial);
	read_events("g", &got);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		ck_assert_uint_eq(got.next[cpu], g.cpus[cpu].serial);
	ck_assert_uint_gt(got.bounded, 500);
	ck_assert_uint_eq(got.boundless, 0);
	ck_assert_uint_eq(got.outside, 0);
	ck_assert(has_note("its ring was emptied"));
}
END_TEST

/* The kernel takes another clock while the one before is still measured. */
START_TEST(a_clock_that_changes_before_it_is_known_is_another_one)
{
	const uint64_t most_ns = SECOND_NS / 5; /* longer than it takes to see which clock it is */
	struct got got;
	uint64_t begin_ns;

	boot_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read()) - 20 * SECOND_NS;
	ftrace_ring_boot(&g, ADDRESS);
	begin_ns = guest_ns();
	while (guest_ns() < begin_ns + most_ns) {
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			ftrace_ring_write(&g, cpu, 1);
		pass();
	}
	tsc_hz = s->clock.hz;
	tsc_from = xvt_u64_scale(guest_ns(), tsc_hz, SECOND_NS);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		ftrace_ring_clear(&g, cpu);
	for (int i = 0; (i < 1000 || !is_live(vm)) && i < PASSES_MAX; i++) {
		ftrace_ring_write(&g, i % CPUS, 1);
		pass();
	}
	ck_assert(is_live(vm));
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		ck_assert_uint_eq(xvt_load(&vm->rings[cpu]->ctl->clock_id), XVT_CLOCK_TSC);
	write_more(&g, 500);
	read_events("g", &got);
	ck_assert_uint_gt(got.bounded, 400);
	ck_assert_uint_eq(got.outside, 0);
	ck_assert(has_note("its ring was emptied"));
}
END_TEST

/* The clock goes back whenever a moment of it was measured, and no rate yet. That makes nothing
 * begin anew but its line: a guest that boots quickly is recorded in time. */
START_TEST(a_clock_that_goes_back_before_it_is_known_is_known_soon)
{
	size_t measured = 0, count;
	unsigned int steps = 0;
	struct got got;

	boot_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read()) - 20 * SECOND_NS;
	g.back_begins = _i;
	ftrace_ring_boot(&g, ADDRESS);
	truths = true;
	for (int i = 0; !is_live(vm) && i < PASSES_MAX; i++) {
		bool back;

		count = vm->rings && has_nodes(vm) ? vm->rings[0]->clock.map.count : 0;
		back = count > measured && steps < 8;
		measured = count;
		steps += back;
		for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
			ck_assert(!measured || !vm->passive->cpus[cpu].trial);
			write_late(cpu, back ? 5 * MS_NS : 0);
		}
		pass_within(MS_NS / 4);
	}
	ck_assert_uint_gt(steps, 0);
	ck_assert(is_live(vm));
	for (int i = 0; i < 100; i++) {
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			write_late(cpu, 0);
		pass_within(MS_NS);
	}
	read_events("g", &got);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		ck_assert_uint_eq(got.next[cpu], g.cpus[cpu].serial);
	ck_assert_uint_gt(got.bounded, 100);
	ck_assert_uint_eq(got.outside, 0);
}
END_TEST

/* A recorder that comes by too seldom knows each moment badly, and after a while the rate well. */
START_TEST(rare_looks_are_measurements_too)
{
	const struct xvt_clock_map *map;
	int i;

	ftrace_ring_boot(&g, ADDRESS);
	for (i = 0; i < 300 && !(vm->rings && vm->rings[0]->clock.map.count > 2); i++) {
		const uint64_t until_ns = guest_ns() + 6000000;

		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			ftrace_ring_write(&g, cpu, 1);
		while (guest_ns() < until_ns)
			;
		pass();
	}
	map = &vm->rings[0]->clock.map;
	ck_assert_uint_gt(map->count, 2);
	ck_assert_uint_gt(map->measured.bound_ns, 2000000);
}
END_TEST

/*
 * The recording ends before any clock is known. 0: some events were seen; 1: the guest had died; 2:
 * one moment of each clock was measured.
 */
START_TEST(a_recording_that_is_too_short_for_a_clock_has_the_events)
{
	struct got got;

	ftrace_ring_boot(&g, ADDRESS);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		ftrace_ring_write(&g, cpu, _i == 3 ? 700 : 200);
	for (int i = 0; !vm->rings && i < PASSES_MAX; i++)
		pass();
	ck_assert_ptr_nonnull(vm->rings);
	for (int i = 0; i < 5 || (_i == 2 && !has_nodes(vm)); i++) {
		for (unsigned int cpu = 0; _i != 1 && cpu < CPUS; cpu++)
			ftrace_ring_write(&g, cpu, 1);
		pass();
	}
	ck_assert(!is_live(vm));
	read_events("g", &got);
	ck_assert_uint_eq(got.events, g.cpus[0].serial + g.cpus[1].serial);
}
END_TEST

/* A reader in the guest that goes on leaves room for other notes. */
START_TEST(what_goes_on_hides_nothing_else)
{
	begin(&g, vm);
	write_some(&g, vm, 20);
	for (unsigned int i = 0; i < 100; i++) {
		ftrace_ring_write(&g, 0, 200);
		pass();
		ftrace_ring_take(&g, 0);
		ftrace_ring_write(&g, 0, 1);
		pass();
	}
	ck_assert(has_note("a reader in the guest took events out"));
	write_more(&g, 50); /* what was taken is known by now */
	ftrace_ring_clear(&g, 0);
	ftrace_ring_write(&g, 0, 5);
	for (int i = 0; i < 50; i++)
		pass();
	ck_assert(has_note("its ring was emptied"));
}
END_TEST

START_TEST(what_happens_to_the_ring_is_told)
{
	begin(&g, vm);
	write_some(&g, vm, 20);
	switch (_i) {
	case 0:
		ftrace_ring_clear(&g, 0);
		break;
	case 1:
		for (unsigned int i = 0; i < 5; i++) {
			ftrace_ring_write(&g, 0, 200);
			pass();
		}
		ftrace_ring_take(&g, 0);
		break;
	case 2:
		ftrace_ring_boot_behind(&g, ADDRESS + 0x4000000, true);
		break;
	}
	ftrace_ring_write(&g, 0, 5);
	for (int i = 0; i < 50; i++)
		pass();
	ck_assert(has_note(_i == 0   ? "its ring was emptied"
			   : _i == 1 ? "a reader in the guest took events out"
				     : "another kernel has its ring"));
	ck_assert_int_eq(vm->phase, XVT_VM_ATTACHED);
}
END_TEST

/* A guest that writes anything over its ring harms its own machine, and no other. */
START_TEST(garbage_harms_no_other_machine)
{
	struct xvt_vm *well;
	struct got got;
	unsigned int seed = (unsigned int)_i + 1;

	share(&other, "other", 2);
	well = add("well", "other", true);
	begin(&g, vm);
	begin(&other, well);
	for (unsigned int i = 0; i < 300; i++) {
		for (unsigned int k = 0; k < 40; k++) {
			uint8_t *at = g.mem + (size_t)rand_r(&seed) % (g.size - 8);
			const uint64_t value =
				(uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed);

			memcpy(at, &value, 1 + (size_t)rand_r(&seed) % 8);
		}
		ftrace_ring_write(&other, i % CPUS, 1);
		pass();
	}
	until_events(well, other.cpus[0].serial + other.cpus[1].serial);
	read_events("well", &got);
	ck_assert_uint_eq(got.events, other.cpus[0].serial + other.cpus[1].serial);
	ck_assert_uint_eq(got.losses, 0);
}
END_TEST

#define ROUNDS 1000u

struct scribbler {
	pthread_t thread;
	unsigned int seed;
	uint32_t rounds; /* done */
	bool end;
};

/* A word that a ring could have, or any. */
static uint64_t word(unsigned int *seed)
{
	const uint64_t any = (uint64_t)rand_r(seed) << 33 ^ (uint64_t)rand_r(seed);

	switch (rand_r(seed) % 6) {
	case 0:
		return any % (2 * SUBBUFS);
	case 1:
		return ADDRESS + any % (2 * g.size);
	case 2:
		return 0x0badfeedull | (any & 1 ? 56ull << 32 : (24ull << 16 | 32) << 32);
	case 3:
		return 1ull << (any % 64);
	case 4:
		return 4096ull << 32 | any % 8192;
	}
	return any;
}

/* A guest whose kernel makes its ring, writes it round by round, and writes words over all of it.
 */
static void *scribble(void *arg)
{
	struct scribbler *x = arg;

	while (!__atomic_load_n(&x->end, __ATOMIC_RELAXED)) {
		const size_t from = rand_r(&x->seed) % 8 ? 64 : 0; /* its magic number stays */

		ftrace_ring_boot(&g, ADDRESS);
		for (unsigned int i = 0; i < 40; i++)
			ftrace_ring_write(&g, i % CPUS, 1 + i % 60);
		for (unsigned int i = 0; i < 2000; i++) {
			const size_t at = from + (size_t)rand_r(&x->seed) % (g.size - 8 - from);
			const uint64_t value = word(&x->seed);

			memcpy(g.mem + (i % 4 ? at & ~7ul : at), &value, sizeof(value));
		}
		__atomic_fetch_add(&x->rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* When an event of it was read last. */
static uint64_t newest_of(const struct xvt_vm *m)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < CPUS; i++)
		newest ^= m->passive->cpus[i].newest_clock;
	return newest;
}

START_TEST(scribbling_while_it_is_read_harms_no_other_machine)
{
	struct scribbler x = { .seed = (unsigned int)_i + 1 };
	struct xvt_vm *well;
	unsigned int i = 0;
	uint64_t read = 0;
	struct got got;

	share(&other, "other", 2 - _i);
	well = add("well", "other", true);
	unmap(&g);
	share(&g, "scribbled", 1 + _i);
	vm = add("scribbled", "scribbled", true);
	begin(&g, vm);
	begin(&other, well);
	g.now = NULL; /* the session's clock is this thread's */
	ck_assert_int_eq(pthread_create(&x.thread, NULL, scribble, &x), 0);
	while (__atomic_load_n(&x.rounds, __ATOMIC_ACQUIRE) < ROUNDS) {
		const uint64_t before = newest_of(vm);

		ftrace_ring_write(&other, i++ % CPUS, 1);
		pass_within(MS_NS / 4);
		read += newest_of(vm) != before;
	}
	__atomic_store_n(&x.end, true, __ATOMIC_RELAXED);
	ck_assert_int_eq(pthread_join(x.thread, NULL), 0);
	ck_assert_int_eq(vm->phase, XVT_VM_ATTACHED);
	ck_assert_uint_gt(read, 10); /* it was read meanwhile */
	until_events(well, other.cpus[0].serial + other.cpus[1].serial);
	read_events("well", &got);
	ck_assert_uint_eq(got.events, other.cpus[0].serial + other.cpus[1].serial);
	ck_assert_uint_eq(got.losses, 0);
}
END_TEST

START_TEST(a_ring_of_another_size_ends_the_machine)
{
	begin(&g, vm);
	write_some(&g, vm, 20);
	g.n = SUBBUFS / 2;
	ftrace_ring_boot(&g, ADDRESS);
	for (int i = 0; vm->phase == XVT_VM_ATTACHED && i < PASSES_MAX; i++)
		pass();
	ck_assert_int_eq(vm->phase, XVT_VM_GONE);
	ck_assert(has_note("its kernel has a ring buffer of another size now"));
}
END_TEST

START_TEST(a_request_does_not_reach_it)
{
	s->opt.request = _i ? "test:tick\n" : NULL;
	begin(&g, vm);
	write_some(&g, vm, 5);
	ck_assert_int_eq(has_note("-e does not reach it"), _i);
}
END_TEST

START_TEST(a_path_that_is_none_is_refused)
{
	static const char *const specs[] = { "ftrace:", "ftrace:/dev/shm/x@5", "ftrace:@4096",
					     "ftrace:/dev/shm/x@4096t" };
	struct xvt_error why = { "" };

	ck_assert_int_eq(xvt_session_add(s, "x", specs[_i], NULL, true, &why), -EINVAL);
	ck_assert_ptr_nonnull(
		strstr(why.text, strchr(specs[_i], 'x') ? "is no offset" : "ftrace:FILE"));
	ck_assert_ptr_null(xvt_session_find(s, "x"));
}
END_TEST

/* Else each of its events would be there twice. */
START_TEST(a_ring_is_of_one_machine)
{
	static const struct {
		const char *at;
		const char *why;
	} same[] = { { "@8192", "its ring is that of g" },
		     { "@8K,kernel=6.12.1-a", "its ring is that of g" },
		     { "", "its ring may be that of g" },
		     { "@12K", NULL } };
	struct xvt_error why = { "" };
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "ftrace:%s%s", scratch_path("ring"), same[_i].at);
	err = xvt_session_add(s, "other", path, NULL, true, &why);
	ck_assert_int_eq(err, same[_i].why ? -EBUSY : 0);
	ck_assert(!same[_i].why || strstr(why.text, same[_i].why));
}
END_TEST

/* --- names of events, of the formats of a kernel --- */

#define BUILD_A "00112233445566778899aabbccddeeff01234567"
#define BUILD_B "99112233445566778899aabbccddeeff01234567"

static char formats_folder[64];
static size_t border; /* of the newest file of the recording */

/* The formats of a kernel whose event has `size` bytes behind its serial number; 0: any number. */
static void store_kernel(const char *build_id, const char *release, const char *event,
			 unsigned int size)
{
	char kernel[128], text[512], rest[16] = "";
	struct xvt_error why = { "" };
	struct xvt_formats f;
	const char *reason;

	if (size)
		snprintf(rest, sizeof(rest), "%u", size);
	snprintf(kernel, sizeof(kernel), "Linux %s #1 SMP x86_64", release);
	snprintf(text, sizeof(text),
		 "name: %s\nID: %u\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		 "\tfield:unsigned long serial;\toffset:8;\tsize:8;\tsigned:0;\n"
		 "\tfield:char rest[%s];\toffset:16;\tsize:%u;\tsigned:0;\n\n"
		 "print fmt: \"serial=%%lu\", REC->serial\n",
		 event, FTRACE_RING_TYPE, rest, size);
	ck_assert_int_eq(xvt_formats_begin(&f, build_id, kernel, "import", &reason), 0);
	ck_assert_int_eq(xvt_formats_add(&f, "test", event, text, strlen(text), &reason), 0);
	ck_assert_msg(!xvt_formats_cache_store(&f, &why), "%s", why.text);
	xvt_formats_free(&f);
}

static void setup_named(void)
{
	snprintf(formats_folder, sizeof(formats_folder), "/tmp/xvt-names-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(formats_folder));
	setenv("XVT_FORMATS_DIR", formats_folder, 1);
	store_kernel(BUILD_A, "6.12.1-a", "tick", 0);
	store_kernel(BUILD_B, "6.12.1-b", "tock", 0);
	border = 0;
	begin_session(1);
}

static void teardown_named(void)
{
	char command[128];

	teardown();
	unsetenv("XVT_FORMATS_DIR");
	snprintf(command, sizeof(command), "rm -rf %s", formats_folder);
	ck_assert_int_eq(system(command), 0);
}

#define PLACE 0xffffffff82000000ull

/* A page of the machine's memory before its ring, as a kernel keeps it for crash dumps. */
static void say_kernel_at(unsigned int page, const char *build_id, uint64_t place)
{
	snprintf((char *)g.mem - OFFSET + page * 4096ul, 4096,
		 "OSRELEASE=6.12.1\nBUILD-ID=%s\nPAGESIZE=4096\nSYMBOL(init_uts_ns)=%llx\n",
		 build_id, (unsigned long long)place);
}

static void say_kernel(unsigned int page, const char *build_id)
{
	say_kernel_at(page, build_id, PLACE);
}

/* An address in the code of the kernel that has the ring, of layout 1. */
static void say_code(uint64_t address)
{
	memcpy(g.mem + 8, &address, sizeof(address));
}

/* The name of all events of a machine in the file: "": none has one. Returns their number. */
static uint64_t check_file(const char *machine, const char *name)
{
	struct xvtrace_error error;
	struct xvtrace_reader *reader;
	const struct xvtrace_event *event;
	struct xvtrace *trace;
	uint64_t n = 0;

	ck_assert_int_eq(xvtrace_open(&trace, scratch_path("recording.xvt"), 0, &error), 0);
	ck_assert_int_eq(xvtrace_reader_new(&reader, trace), 0);
	ck_assert_int_eq(xvtrace_reader_machine(reader, machine), 0);
	while (xvtrace_next(reader, &event) == 1) {
		if (event->kind != XVTRACE_EVENT)
			continue;
		if (name[0])
			ck_assert_str_eq(event->type->name, name);
		else
			ck_assert(strcmp(event->type->name, "tick") != 0 &&
				  strcmp(event->type->name, "tock") != 0);
		n++;
	}
	xvtrace_reader_free(reader);
	xvtrace_close(trace);
	return n;
}

static void check_names(const char *machine, const char *name)
{
	struct got got;

	read_events(machine, &got);
	ck_assert_uint_gt(check_file(machine, name), 0);
}

/* The newest file as a recorder leaves it that is killed now. */
static uint64_t check_now(const char *name)
{
	const struct synth_sink all = rec.sink;

	rec.sink.bytes += border;
	rec.sink.len -= border;
	xvt_trace_close(recording_open(&rec));
	rec.sink = all;
	return check_file("g", name);
}

static void until_named(void)
{
	for (int i = 0; !vm->passive->kernel.names.of && i < PASSES_MAX; i++) {
		ftrace_ring_write(&g, i % CPUS, 1);
		pass();
	}
	ck_assert_ptr_nonnull(vm->passive->kernel.names.of);
}

/* A search has seen the code's address. */
static void until_code(void)
{
	for (int i = 0; !vm->passive->kernel.text_now && i < SEARCH_MAX; i++) {
		ftrace_ring_write(&g, i % CPUS, 1);
		pass();
	}
	ck_assert_uint_ne(vm->passive->kernel.text_now, 0);
}

static void reboot(void)
{
	const uint64_t before = vm->passive->kernel.boot_clock;

	ftrace_ring_boot_behind(&g, g.address + 0x4000000, true);
	for (int i = 0; i < PASSES_MAX && vm->passive->kernel.boot_clock == before; i++) {
		ftrace_ring_write(&g, i % CPUS, 1);
		pass();
	}
	ck_assert_uint_ne(vm->passive->kernel.boot_clock, before);
}

static int prepare_next(struct xvt_sink *sink)
{
	(void)sink;
	return 0;
}

static void next_file(struct xvt_sink *sink)
{
	border = ((struct synth_sink *)sink)->len;
}

static void rotate(void)
{
	const size_t before = border;

	rec.sink.sink.prepare = prepare_next;
	rec.sink.sink.next = next_file;
	xvt_session_rotate(s);
	for (int i = 0; border == before && i < PASSES_MAX; i++)
		pass();
	ck_assert_uint_gt(border, before);
}

START_TEST(names_of_the_kernel_that_the_memory_says)
{
	say_kernel(1, BUILD_A);
	if (_i)
		say_kernel(0, BUILD_A); /* left by a boot of the same kernel */
	begin(&g, vm);
	write_some(&g, vm, 30);
	check_names("g", "tick");
	ck_assert(has_note("its memory names"));
}
END_TEST

START_TEST(two_kernels_in_the_memory_are_no_proof)
{
	say_kernel(0, BUILD_B);
	say_kernel(1, BUILD_A);
	begin(&g, vm);
	write_some(&g, vm, 30);
	check_names("g", "");
	ck_assert(has_note("its events have no names"));
}
END_TEST

START_TEST(a_kernel_whose_formats_are_not_known)
{
	const char *const said[] = { "deadbeefdeadbeef", "no build id", "" };

	say_kernel(1, said[_i]);
	begin(&g, vm);
	write_some(&g, vm, 30);
	check_names("g", "");
	ck_assert(has_note(_i ? ",kernel=BUILDID" : "'deadbeefdeadbeef' are known"));
}
END_TEST

START_TEST(another_kernel_after_a_boot)
{
	say_kernel(1, BUILD_A);
	begin(&g, vm);
	write_some(&g, vm, 30);
	say_kernel(1, _i ? BUILD_B : BUILD_A);
	ftrace_ring_boot_behind(&g, ADDRESS + 0x4000000, true);
	for (int i = 0; i < 50; i++) {
		ftrace_ring_write(&g, i % CPUS, 1);
		pass();
	}
	/* The page may be that of the kernel before. */
	check_names("g", "");
	ck_assert(has_note("does not say that one kernel wrote all of them"));
}
END_TEST

/*
 * Both CPUs tell of one boot, and the new kernel's page comes later than the ring. 0: the same
 * build; 1: another one; 2: beside the page of the kernel before; 3: two boots, of the first one no
 * page was seen.
 */
START_TEST(a_boot_is_known_when_its_page_is_there)
{
	const uint32_t n = _i == 3 ? 2 : 1;

	say_kernel(1, BUILD_A);
	begin(&g, vm);
	say_code(PLACE - 0x1000000);
	until_named();
	until_code();
	for (uint32_t i = 0; i < n; i++) {
		reboot();
		say_code(PLACE - 0x2000000 - i);
	}
	/* The page of the kernel before is found again, and says nothing. */
	for (int i = 0; vm->passive->kernel.in_vain < 2 && i < SEARCH_MAX; i++) {
		ftrace_ring_write(&g, i % CPUS, 1);
		pass();
	}
	ck_assert(!vm->passive->kernel.now.build_id[0]);
	ck_assert_ptr_null(vm->passive->kernel.names.of);
	say_kernel_at(_i == 2 ? 0 : 1, _i == 1 ? BUILD_B : BUILD_A, PLACE + 0x600000);
	for (int i = 0; !vm->passive->kernel.now.build_id[0] && i < SEARCH_MAX; i++)
		pass();
	ck_assert_int_eq(vm->passive->kernel.now.unproven, _i == 3);
	check_names("g", _i == 1 || _i == 3 ? "" : "tick");
	ck_assert(has_note(_i == 1 || _i == 3 ? "does not say that one kernel wrote all"
					      : "which its memory names"));
	ck_assert(has_note("the names of its events in this file are withdrawn"));
}
END_TEST

/* Without KASLR the page of the same kernel is the same again: it is taken, and the trace says that
 * it is no proof. */
START_TEST(a_boot_without_kaslr_is_no_proof)
{
	say_kernel(1, BUILD_A);
	begin(&g, vm);
	say_code(PLACE - 0x1000000);
	until_named();
	until_code();
	reboot();
	if (_i) /* another kernel, or its KASLR */
		say_code(PLACE - 0x1000008);
	for (int i = 0;
	     !vm->passive->kernel.in_vain && !vm->passive->kernel.now.build_id[0] && i < SEARCH_MAX;
	     i++)
		pass();
	check_names("g", _i ? "" : "tick");
	ck_assert(has_note(_i ? "does not say that one kernel wrote all" : "so it is no proof"));
}
END_TEST

static void until_a_tick_is_named(void)
{
	write_some(&g, vm, 30);
	for (int i = 0; !check_now("tick") && i < 100; i++)
		write_more(&g, 50);
	ck_assert_uint_gt(check_now("tick"), 0);
}

/* What a killed recorder leaves has the names that were known. 1: another kernel booted since. */
START_TEST(names_are_in_the_file_before_its_end)
{
	say_kernel(1, BUILD_A);
	begin(&g, vm);
	until_named();
	until_a_tick_is_named();
	if (!_i)
		return;
	reboot();
	pass();
	xvt_session_flush(s);
	ck_assert_uint_gt(check_now(""), 0);
}
END_TEST

/* Each file has its own. 1: another kernel boots in the second one, so that this has none; those of
 * the third one are that kernel's. */
START_TEST(each_file_has_names)
{
	say_kernel(1, BUILD_A);
	begin(&g, vm);
	until_named();
	rotate();
	until_a_tick_is_named();
	if (!_i)
		return;
	reboot();
	say_kernel_at(1, BUILD_B, PLACE + 0x600000);
	for (int i = 0; !vm->passive->kernel.now.build_id[0] && i < SEARCH_MAX; i++)
		write_more(&g, 1);
	write_more(&g, 300);
	xvt_session_flush(s);
	ck_assert_uint_gt(check_now(""), 0);
	for (int i = 0;
	     s->merge.watermark <= xvt_host_clock_ns(&s->clock, vm->passive->kernel.boot_clock) &&
	     i < PASSES_MAX;
	     i++)
		write_more(&g, 1);
	rotate();
	until_named();
	for (int i = 0; !check_now("tock") && i < 100; i++)
		write_more(&g, 50);
	ck_assert_uint_gt(check_now("tock"), 0);
}
END_TEST

/* Begin anew, with a machine of which the user says which kernel it runs. The cache of formats is
 * read then. */
static void begin_claimed(const char *claim)
{
	recording_end(&rec);
	unmap(&g);
	begin_recording(1);
	vm = add_claim("claimed", "ring", true, claim);
}

START_TEST(names_of_a_kernel_that_the_user_states)
{
	static const char *const claims[] = { ",kernel=6.12.1-a", ",kernel=" BUILD_A,
					      ",kernel=00112233" };

	begin_claimed(claims[_i]);
	share(&other, "bare", 1);
	begin(&other, add("bare", "bare", true));
	begin(&g, vm);
	write_some(&g, vm, 30);
	check_names("claimed", "tick");
	ck_assert(has_note("was stated by kernel="));
	ck_assert(has_note(",kernel=BUILDID")); /* of the machine without one */
}
END_TEST

START_TEST(a_claim_that_the_memory_denies)
{
	begin_claimed(",kernel=6.12.1-a");
	say_kernel(1, BUILD_B);
	begin(&g, vm);
	write_some(&g, vm, 30);
	/* The recorder gives none; the proof does. */
	check_names("claimed", "tock");
	ck_assert(has_note("but its memory says that it is build " BUILD_B));
}
END_TEST

/* A claim of a kernel whose event of that number has another length. */
START_TEST(a_claim_that_records_deny)
{
	store_kernel(BUILD_A, "6.12.1-a", "tick", 64);
	begin_claimed(",kernel=6.12.1-a");
	begin(&g, vm);
	write_some(&g, vm, 30);
	check_names("claimed", "");
	ck_assert(has_note("test:tick there"));
}
END_TEST

START_TEST(a_claim_of_a_kernel_that_is_not_known)
{
	char path[4096];
	struct xvt_error why = { "" };

	snprintf(path, sizeof(path), "ftrace:%s@8192,kernel=%s", scratch_path("ring"),
		 _i ? "6.12.9" : "");
	ck_assert_int_eq(xvt_session_add(s, "claimed", path, NULL, true, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, _i ? "'6.12.9' are known" : "after ,kernel="));
}
END_TEST

/* --- names that come after the recording --- */

static void remove_kernel(const char *build_id)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s.formats", formats_folder, build_id);
	ck_assert_int_eq(remove(path), 0);
}

/* A recording of a kernel that this host does not know. */
static void setup_later(void)
{
	setup_named();
	remove_kernel(BUILD_A);
	begin_again();
}

/* What a reader says of the names of "g". */
static struct {
	int from_cache;
	bool claimed;
	char why[512];
} later;

static int look_later(const char *claim)
{
	struct xvtrace_error error = { "" };
	struct xvtrace_names names;
	struct xvtrace *trace;
	int err = 0;

	ck_assert_int_eq(xvtrace_open(&trace, scratch_path("recording.xvt"), 0, &error), 0);
	if (claim)
		err = xvtrace_claim_kernel(trace, "g", claim, &error);
	memset(&later, 0, sizeof(later));
	for (unsigned int i = 0; i < xvtrace_info(trace)->machines; i++) {
		if (strcmp(xvtrace_machine(trace, i)->name, "g") != 0)
			continue;
		later.from_cache = xvtrace_names(trace, i, &names);
		later.claimed = names.claimed;
		snprintf(later.why, sizeof(later.why), "%s",
			 err	     ? error.text
			 : names.why ? names.why
				     : "");
	}
	xvtrace_close(trace);
	return err;
}

static void record_later(const char *build_id)
{
	say_kernel(1, build_id);
	begin(&g, vm);
	write_some(&g, vm, 30);
	check_names("g", "");
}

/* 1: also of what a killed recorder leaves. */
START_TEST(names_come_with_the_formats)
{
	say_kernel(1, BUILD_A);
	begin(&g, vm);
	for (int i = 0; !vm->passive->kernel.now.build_id[0] && i < SEARCH_MAX; i++)
		write_more(&g, 1);
	if (_i) {
		write_more(&g, 300);
		xvt_session_flush(s);
		store_kernel(BUILD_A, "6.12.1-a", "tick", 0);
		ck_assert_uint_gt(check_now("tick"), 0);
		return;
	}
	check_names("g", "");
	look_later(NULL);
	ck_assert_int_eq(later.from_cache, 0);
	ck_assert_ptr_nonnull(strstr(later.why, "build " BUILD_A));
	ck_assert_ptr_nonnull(strstr(later.why, "xvtrace formats --kernel"));
	store_kernel(BUILD_A, "6.12.1-a", "tick", 0);
	ck_assert_uint_gt(check_file("g", "tick"), 0);
	look_later(NULL);
	ck_assert_int_eq(later.from_cache, 1);
	ck_assert(!later.claimed && !later.why[0]);
	/* A user's word does not stand against the proof. */
	ck_assert_int_eq(look_later(BUILD_B), 0);
	ck_assert_int_eq(later.from_cache, 0);
	ck_assert_ptr_nonnull(strstr(later.why, "states build " BUILD_B));
}
END_TEST

/* The kernel's event of that number has another length. */
START_TEST(later_names_that_records_deny)
{
	record_later(BUILD_A);
	store_kernel(BUILD_A, "6.12.1-a", "tick", 64);
	ck_assert_uint_gt(check_file("g", ""), 0);
	look_later(NULL);
	ck_assert_int_eq(later.from_cache, 0);
	ck_assert_ptr_nonnull(strstr(later.why, "test:tick there"));
}
END_TEST

/* 0: nothing says which kernel it was; 1: two pages do; 2: the page may be that of a boot before.
 */
START_TEST(later_names_without_a_proof_are_a_claim)
{
	say_kernel(1, _i ? BUILD_A : "none");
	if (_i == 1)
		say_kernel(0, BUILD_B);
	begin(&g, vm);
	if (_i == 2) {
		say_code(PLACE - 0x1000000);
		until_code();
		reboot();
		for (int i = 0; !vm->passive->kernel.in_vain &&
				!vm->passive->kernel.now.build_id[0] && i < SEARCH_MAX;
		     i++)
			pass();
		ck_assert(vm->passive->kernel.now.unproven);
	}
	write_some(&g, vm, 30);
	check_names("g", "");
	store_kernel(BUILD_A, "6.12.1-a", "tick", 0);
	ck_assert_uint_gt(check_file("g", ""), 0);
	look_later(NULL);
	ck_assert_int_eq(later.from_cache, 0);
	ck_assert_ptr_nonnull(strstr(later.why, "--formats NAME="));
	ck_assert_int_eq(look_later("6.12.1-a"), 0);
	ck_assert_int_eq(later.from_cache, 1);
	ck_assert(later.claimed);
	ck_assert_int_eq(look_later("6.12.9"), -ENOENT);
	ck_assert_ptr_nonnull(strstr(later.why, "'6.12.9' are known"));
}
END_TEST

/* Kernels of two builds, both known from then on: no word of the user makes them one. */
START_TEST(later_names_of_two_kernels_are_none)
{
	remove_kernel(BUILD_B);
	say_kernel(1, BUILD_A);
	begin(&g, vm);
	say_code(PLACE - 0x1000000);
	until_code();
	reboot();
	say_kernel_at(1, BUILD_B, PLACE + 0x600000);
	for (int i = 0; !vm->passive->kernel.now.build_id[0] && i < SEARCH_MAX; i++)
		write_more(&g, 1);
	write_more(&g, 30);
	check_names("g", "");
	store_kernel(BUILD_A, "6.12.1-a", "tick", 0);
	store_kernel(BUILD_B, "6.12.1-b", "tock", 0);
	ck_assert_uint_gt(check_file("g", ""), 0);
	ck_assert_int_eq(look_later(BUILD_B), 0);
	ck_assert_int_eq(later.from_cache, 0);
	ck_assert_str_eq(later.why, "kernels of two builds wrote them");
}
END_TEST

/* Names that were withdrawn, since another kernel booted, do not come back by the cache. */
START_TEST(withdrawn_names_stay_withdrawn)
{
	store_kernel(BUILD_A, "6.12.1-a", "tick", 0);
	begin_again();
	say_kernel(1, BUILD_A);
	begin(&g, vm);
	say_code(PLACE - 0x1000000);
	until_named();
	until_code();
	reboot();
	say_code(PLACE - 0x2000000);
	pass();
	write_more(&g, 300);
	xvt_session_flush(s);
	ck_assert_uint_gt(check_now(""), 0);
	look_later(NULL);
	ck_assert_int_eq(later.from_cache, 0);
}
END_TEST

/* A trace that has its names asks for none. */
START_TEST(names_of_the_trace_need_no_cache)
{
	store_kernel(BUILD_A, "6.12.1-a", "tick", 0);
	begin_again();
	say_kernel(1, BUILD_A);
	begin(&g, vm);
	write_some(&g, vm, 30);
	check_names("g", "tick");
	remove_kernel(BUILD_A);
	ck_assert_uint_gt(check_file("g", "tick"), 0);
	look_later(NULL);
	ck_assert_int_eq(later.from_cache, 0);
	ck_assert_str_eq(later.why, "");
	ck_assert_int_eq(look_later(BUILD_B), -EEXIST);
}
END_TEST

Suite *session_passive_suite(void)
{
	Suite *suite = suite_create("session_passive");
	TCase *tc = tcase_create("passive");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, all_events_are_in_the_trace, 0, 2);
	tcase_add_test(tc, what_was_overwritten_is_lost_at_least);
	tcase_add_test(tc, a_clock_that_changes_while_it_overwrites_is_another_one);
	tcase_add_loop_test(tc, a_clock_that_goes_back_ends_its_line, 2, 16);
	tcase_add_loop_test(tc, a_clock_that_goes_ahead_as_its_ring_is_emptied, 0, 4);
	tcase_add_test(tc, what_goes_on_hides_nothing_else);
	tcase_add_loop_test(tc, what_happens_to_the_ring_is_told, 0, 3);
	tcase_add_loop_test(tc, garbage_harms_no_other_machine, 0, 4);
	tcase_add_loop_test(tc, scribbling_while_it_is_read_harms_no_other_machine, 0, 2);
	tcase_add_test(tc, a_ring_of_another_size_ends_the_machine);
	tcase_add_loop_test(tc, a_request_does_not_reach_it, 0, 2);
	tcase_add_loop_test(tc, a_path_that_is_none_is_refused, 0, 4);
	suite_add_tcase(suite, tc);
	tc = tcase_create("names");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup_named, teardown_named);
	tcase_add_loop_test(tc, names_of_the_kernel_that_the_memory_says, 0, 2);
	tcase_add_test(tc, two_kernels_in_the_memory_are_no_proof);
	tcase_add_loop_test(tc, a_kernel_whose_formats_are_not_known, 0, 3);
	tcase_add_loop_test(tc, another_kernel_after_a_boot, 0, 2);
	tcase_add_loop_test(tc, a_boot_is_known_when_its_page_is_there, 0, 4);
	tcase_add_loop_test(tc, a_boot_without_kaslr_is_no_proof, 0, 2);
	tcase_add_loop_test(tc, names_are_in_the_file_before_its_end, 0, 2);
	tcase_add_loop_test(tc, each_file_has_names, 0, 2);
	tcase_add_loop_test(tc, names_of_a_kernel_that_the_user_states, 0, 3);
	tcase_add_loop_test(tc, a_ring_is_of_one_machine, 0, 4);
	tcase_add_test(tc, a_claim_that_the_memory_denies);
	tcase_add_test(tc, a_claim_that_records_deny);
	tcase_add_loop_test(tc, a_claim_of_a_kernel_that_is_not_known, 0, 2);
	suite_add_tcase(suite, tc);
	tc = tcase_create("later");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup_later, teardown_named);
	tcase_add_loop_test(tc, names_come_with_the_formats, 0, 2);
	tcase_add_test(tc, later_names_that_records_deny);
	tcase_add_loop_test(tc, later_names_without_a_proof_are_a_claim, 0, 3);
	tcase_add_test(tc, later_names_of_two_kernels_are_none);
	tcase_add_test(tc, withdrawn_names_stay_withdrawn);
	tcase_add_test(tc, names_of_the_trace_need_no_cache);
	suite_add_tcase(suite, tc);
	tc = tcase_create("waiting");
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup_waiting, teardown);
	tcase_add_test(tc, a_clock_that_changes_before_it_is_known_is_another_one);
	tcase_add_loop_test(tc, a_clock_that_goes_back_before_it_is_known_is_known_soon, 0, 2);
	tcase_add_test(tc, rare_looks_are_measurements_too);
	tcase_add_loop_test(tc, a_recording_that_is_too_short_for_a_clock_has_the_events, 0, 4);
	suite_add_tcase(suite, tc);
	return suite;
}
