// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_unused.c - rings that no writer has used: what they take of the recorder's memory,
 * and how they come into use.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "faults.h"
#include "recording.h"
#include "xvt_writer.h"

#define RINGS	   8u
#define MANY_RINGS 2048u
#define REST_MOST  512u /* bytes of a ring at rest */
#define LIST_BYTES 25u	/* of a ring in the session's lists */

static struct recording rec;
static struct xvt_session *s;
static struct xvt_vm *vm;

static void begin(enum xvt_session_kind kind)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .kind = kind,
					   .memory_bytes = 64 << 20,
					   .join_timeout_ns = 60 * SECOND_NS,
					   .stall_timeout_ns = 60 * SECOND_NS };

	recording_begin_unused(&rec, RINGS, &opt);
	s = rec.s;
	vm = rec.vm;
}

static void setup(void)
{
	begin(XVT_SESSION_RECORD);
}

static void teardown(void)
{
	memset(&faults, 0, sizeof(faults));
	recording_end(&rec);
}

/* A pass that reads the rings. */
static void pass(void)
{
	uint64_t sleep_ns;

	s->passes.next_clock = 0;
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
}

static void end(void)
{
	ck_assert_int_eq(xvt_session_end(s), 0);
}

/* What the tests look at is there until here. */
static void free_session(void)
{
	xvt_session_free(s);
	rec.s = NULL;
}

static uint64_t sum_of_events(void)
{
	uint64_t events, lost, late;

	xvt_session_sums(s, &events, &lost, &late);
	return events;
}

static uint32_t nr_made(const struct xvt_vm *of)
{
	uint32_t i, n = 0;

	for (i = 0; i < of->region.g.ring_count; i++)
		n += of->rings[i] != NULL;
	return n;
}

/* The ring gets a writer that begins by itself, and writes n events. */
static void use(uint32_t ring, uint64_t n)
{
	struct xvt_writer w;
	uint64_t i;

	xvt_writer_init(&w, rec.map, &rec.g, ring);
	xvt_store(&w.ctl->type, (uint32_t)XVT_RING_VCPU);
	xvt_store(&w.host->enable, (uint32_t)XVT_ENABLE_STOP);
	xvt_store_release(&w.ctl->state, (uint32_t)XVT_RING_ONLINE);
	for (i = 0; i < n; i++)
		ck_assert_int_eq(xvt_write(&w, XVT_ID_U64, &i, sizeof(i)), 0);
}

static struct xvt_ring_ctl *ctl_of(uint32_t ring)
{
	return (void *)(rec.map + xvt_ctl_off(&rec.g, ring));
}

/* ------------------------------------------------------------------ memory */

START_TEST(they_have_no_ring)
{
	ck_assert_uint_eq(s->nr_rings, 0);
	ck_assert_uint_eq(s->table.nr_places, RINGS);
	pass();
	ck_assert_uint_eq(nr_made(vm), 0);
	ck_assert_uint_eq(s->scan.nr_active, 0);
	ck_assert_uint_eq(xvt_pool_used(&vm->pool), RINGS * XVT_REST_BYTES);
}
END_TEST

/* The sanitizers have memory of their own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static struct xvt_vm *add_many(void)
{
	const uint64_t size = xvt_region_min_size(MANY_RINGS, XVT_ALIGN_MIN);
	struct xvt_layout layout = { .region_size = size,
				     .ring_count = MANY_RINGS,
				     .subbuf_size = XVT_SUBBUF_SIZE_MIN,
				     .clock_id = XVT_CLOCK_NATIVE };
	const char *path = scratch_path("many");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct xvt_geometry g;
	struct xvt_error why;
	void *map;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(xvt_region_format(map, &layout, &g), 0);
	munmap(map, size);
	ck_assert_int_eq(xvt_session_add_rings(s, "g2", path, NULL, true, MANY_RINGS, &why), 0);
	return xvt_session_find(s, "g2");
}

/* Of the machine and the lists that double, for each ring. */
#define BESIDE (sizeof(struct xvt_vm) / MANY_RINGS + 2 * LIST_BYTES + 64)

START_TEST(bytes_of_a_ring)
{
	const size_t before = memory_in_use();
	struct xvt_vm *g2 = add_many();
	size_t rest = memory_in_use() - before, used, counted = xvt_pool_used(&g2->pool);
	uint32_t i;

	ck_assert_uint_gt(rest, MANY_RINGS * XVT_REST_BYTES);
	ck_assert_uint_le(rest / MANY_RINGS, REST_MOST);
	ck_assert_uint_eq(counted, MANY_RINGS * XVT_REST_BYTES);
	pass();
	ck_assert_uint_le((memory_in_use() - before) / MANY_RINGS, REST_MOST);
	ck_assert_uint_eq(nr_made(g2), 0);
	/* They come into use, and go out of use: each has its state then. */
	for (i = 0; i < MANY_RINGS; i++)
		xvt_store(&xvt_host_ring_ctl(&g2->region, i)->state, (uint32_t)XVT_RING_OFFLINE);
	pass();
	/* The table of types is of the machine, however many rings it has. */
	used = memory_in_use() - before - sizeof(*g2->metadata.types);
	ck_assert_uint_eq(nr_made(g2), MANY_RINGS);
	ck_assert_uint_gt(used / MANY_RINGS, sizeof(struct xvt_ring));
	ck_assert_uint_le(used / MANY_RINGS, sizeof(struct xvt_ring) + XVT_REST_BYTES + BESIDE);
	ck_assert_uint_eq(xvt_pool_used(&g2->pool), counted + MANY_RINGS * sizeof(struct xvt_ring));
}
END_TEST
#endif

START_TEST(no_memory_for_one_ends_its_machine)
{
	const struct xvt_ring *r;

	use(3, 1);
	faults.memory_max = 1;
	r = xvt_vm_wake_ring(s, vm, 3);
	faults.memory_max = 0;
	ck_assert_ptr_null(r);
	ck_assert_uint_eq(s->nr_rings, 0);
	pass();
	ck_assert_uint_eq(vm->phase, XVT_VM_GONE);
	ck_assert_str_eq(vm->why, "no memory for a ring that came into use");
	pass();
}
END_TEST

/* ------------------------------------------------------------------ into use */

START_TEST(a_writer_gives_its_ring_a_state)
{
	const struct xvt_ring_stats *st;

	pass();
	use(5, 3);
	pass();
	ck_assert_uint_eq(nr_made(vm), 1);
	ck_assert_ptr_nonnull(vm->rings[5]);
	ck_assert_uint_eq(vm->rings[5]->id, vm->table.first_id + 5);
	ck_assert_uint_eq(s->scan.nr_active, 1);
	use(2, 4);
	end(); /* which finds the other one, and may leave its events to the next recorder */
	ck_assert_uint_eq(nr_made(vm), 2);
	ck_assert_uint_eq(vm->rings[2]->id, vm->table.first_id + 2);
	st = &vm->rings[5]->account.stats;
	ck_assert_uint_eq(st->attempted, 3);
	ck_assert_uint_eq(st->events, 3);
	st = &vm->rings[2]->account.stats;
	ck_assert_uint_eq(st->attempted, 4);
	ck_assert_uint_eq(st->events + st->in_flight, 4);
	ck_assert_uint_eq(sum_of_events(), 3 + st->events);
	free_session();
}
END_TEST

/* A CPU may lose events before its ring's state says that it is there. */
START_TEST(counters_alone_are_found_at_the_end)
{
	uint64_t events, lost, late;

	pass();
	xvt_store(&ctl_of(1)->lost[XVT_LOST_BIG], (uint64_t)7);
	xvt_store(&ctl_of(1)->attempted, (uint64_t)7);
	end();
	ck_assert_ptr_nonnull(vm->rings[1]);
	xvt_session_sums(s, &events, &lost, &late);
	ck_assert_uint_eq(lost, 7);
	ck_assert_uint_eq(events, 0);
	free_session();
}
END_TEST

START_TEST(a_new_generation_is_no_use)
{
	const struct xvt_layout layout = { .clock_id = XVT_CLOCK_NATIVE };
	const uint8_t uuid[16] = { 1 };
	uint32_t generation;

	pass();
	generation = xvt_region_new_generation(rec.map, &rec.g, &layout, uuid);
	pass();
	ck_assert_uint_eq(nr_made(vm), 0);
	ck_assert_uint_eq(vm->parked[0].generation, generation);
	use(0, 1);
	pass();
	ck_assert_uint_eq(vm->rings[0]->drain.generation, generation);
}
END_TEST

START_TEST(it_is_as_the_other_rings_of_its_machine)
{
	vm->stall.barred = vm->loose.on = true;
	vm->clocks.guest_hz = 123456789;
	use(4, 1);
	ck_assert_ptr_nonnull(xvt_vm_wake_ring(s, vm, 4));
	ck_assert(vm->rings[4]->guest.barred);
	ck_assert(vm->rings[4]->guest.loose);
	ck_assert_uint_eq(vm->rings[4]->clock.map.hz, 123456789);
	vm->stall.barred = vm->loose.on = false;
}
END_TEST

/* Records from before a stop and from after it have to differ, and a writer may have begun just
 * before. */
START_TEST(a_stop_finds_it)
{
	const struct xvt_vmm_report stopped = { .event = XVT_VMM_STOPPED };
	uint32_t epoch;

	pass();
	use(6, 1);
	epoch = xvt_load(&xvt_host_ring_host(&vm->region, 6)->epoch);
	xvt_session_vm_event(s, vm, &stopped);
	ck_assert_ptr_nonnull(vm->rings[6]);
	ck_assert_uint_eq(vm->rings[6]->words.nr_bumps, 1);
	ck_assert_uint_eq(xvt_load(&vm->rings[6]->host->epoch), epoch + 1);
	ck_assert_uint_eq(nr_made(vm), 1);
}
END_TEST

START_TEST(memory_that_goes_back_is_looked_at_by_a_scan_only)
{
	pass();
	use(6, 2);
	xvt_store(&xvt_host_region_page(&vm->region)->nonce, vm->scan.nonce + 1);
	ck_assert_ptr_null(xvt_vm_wake_ring(s, vm, 6)); /* its TSC offset was changed */
	xvt_vm_wake_used(s, vm);
	ck_assert_uint_eq(nr_made(vm), 0);
	pass();
	ck_assert_uint_eq(nr_made(vm), 1);
	ck_assert_uint_eq(vm->rings[6]->account.roll_backs, 0);
	end();
	ck_assert_uint_eq(sum_of_events(), 2);
	free_session();
}
END_TEST

START_TEST(the_end_switches_it_off)
{
	struct xvt_ring_host *host = xvt_host_ring_host(&vm->region, 3);

	xvt_store(&host->enable, (uint32_t)XVT_ENABLE_OVERWRITE); /* its guest began by itself */
	pass();
	end();
	ck_assert_uint_eq(xvt_load(&host->enable), XVT_ENABLE_OFF);
	ck_assert_uint_eq(nr_made(vm), 0);
	free_session();
}
END_TEST

START_TEST(a_snapshot_waits_for_its_clock)
{
	recording_end(&rec);
	begin(XVT_SESSION_SNAPSHOT);
	use(2, 1);
	ck_assert(!xvt_session_snapshot_make(s, xvt_clock_read()));
	ck_assert_ptr_nonnull(vm->rings[2]);
	/* One whose writer has gone is in it as well, and none that comes later. */
	use(7, 1);
	xvt_store(&ctl_of(7)->state, (uint32_t)XVT_RING_OFFLINE);
	s->opt.stall_timeout_ns = 0;
	ck_assert(xvt_session_snapshot_make(s, xvt_clock_read()));
	ck_assert_ptr_nonnull(vm->rings[7]);
	use(1, 1);
	pass();
	ck_assert_uint_eq(nr_made(vm), 2);
}
END_TEST

Suite *session_unused_suite(void)
{
	Suite *suite = suite_create("session_unused");
	TCase *memory = tcase_create("memory"), *into = tcase_create("into_use");

	tcase_add_checked_fixture(memory, setup, teardown);
	tcase_add_test(memory, they_have_no_ring);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_test(memory, bytes_of_a_ring);
#endif
	tcase_add_test(memory, no_memory_for_one_ends_its_machine);
	suite_add_tcase(suite, memory);
	tcase_add_checked_fixture(into, setup, teardown);
	tcase_add_test(into, a_writer_gives_its_ring_a_state);
	tcase_add_test(into, counters_alone_are_found_at_the_end);
	tcase_add_test(into, a_new_generation_is_no_use);
	tcase_add_test(into, it_is_as_the_other_rings_of_its_machine);
	tcase_add_test(into, a_stop_finds_it);
	tcase_add_test(into, memory_that_goes_back_is_looked_at_by_a_scan_only);
	tcase_add_test(into, the_end_switches_it_off);
	tcase_add_test(into, a_snapshot_waits_for_its_clock);
	suite_add_tcase(suite, into);
	return suite;
}
