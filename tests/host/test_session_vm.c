// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_vm.c - machines that come into a recording: wholly, or not at all; and what the
 * trace says of their rings.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "recording.h"

#define MANY_RINGS 2048u

static struct recording rec;
static struct xvt_session *s;

static void setup(void)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .memory_bytes = 8 << 20,
					   .join_timeout_ns = 60 * SECOND_NS,
					   .stall_timeout_ns = 60 * SECOND_NS };

	recording_begin(&rec, 1, &opt);
	s = rec.s;
}

static void teardown(void)
{
	if (rec.s)
		rec.vm->rings[0]->phase = XVT_PHASE_DONE; /* nobody answers */
	recording_end(&rec);
}

/* A formatted region with so many rings. */
static const char *region_of(uint32_t rings)
{
	const char *path = scratch_path("many");
	struct xvt_layout layout = { .region_size = xvt_region_min_size(rings, XVT_ALIGN_MIN),
				     .ring_count = rings,
				     .subbuf_size = XVT_SUBBUF_SIZE_MIN,
				     .clock_id = XVT_CLOCK_NATIVE };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct xvt_geometry g;
	void *map;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)layout.region_size), 0);
	map = mmap(NULL, layout.region_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(xvt_region_format(map, &layout, &g), 0);
	munmap(map, layout.region_size);
	return path;
}

/* The sanitizers have memory of their own, and end where there is none. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* From here on the process gets so many bytes more. */
static void limit_memory(uint64_t bytes)
{
	struct rlimit limit;
	unsigned long pages;
	FILE *statm = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(statm);
	ck_assert_int_eq(fscanf(statm, "%lu", &pages), 1);
	fclose(statm);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = bytes == UINT64_MAX ? limit.rlim_max
					     : pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

START_TEST(one_whose_rings_find_no_memory_leaves_nothing)
{
	const char *path = region_of(MANY_RINGS);
	const uint64_t region = xvt_region_min_size(MANY_RINGS, XVT_ALIGN_MIN);
	const size_t vms = s->nr_vms, rings = s->nr_rings;
	const int descriptors = open_descriptors();
	char why[256] = "";

	/* The region, and half of its rings. */
	limit_memory(region + MANY_RINGS / 2 * sizeof(struct xvt_ring));
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, why, sizeof(why)), -ENOMEM);
	limit_memory(UINT64_MAX);
	ck_assert_str_eq(why, strerror(ENOMEM));
	ck_assert_uint_eq(s->nr_vms, vms);
	ck_assert_uint_eq(s->nr_rings, rings);
	ck_assert_int_eq(open_descriptors(), descriptors);
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, why, sizeof(why)), 0);
	ck_assert_uint_eq(s->nr_vms, vms + 1);
	ck_assert_uint_eq(s->nr_rings, rings + MANY_RINGS);
}
END_TEST
#endif

START_TEST(one_that_is_no_region_leaves_nothing)
{
	const char *path = region_of(1);
	const int descriptors = open_descriptors();
	int fd = open(path, O_RDWR);
	char why[256] = "";

	ck_assert_int_eq(pwrite(fd, "nonsense", 8, 0), 8);
	close(fd);
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, why, sizeof(why)), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(why, "not an xvtrace region"));
	ck_assert_uint_eq(s->nr_vms, 1);
	ck_assert_int_eq(open_descriptors(), descriptors);
}
END_TEST

/* The bits behind them are flags. */
START_TEST(rings_have_the_numbers_that_an_event_can_name)
{
	const char *path = region_of(3);
	const size_t rings = s->nr_rings;
	struct xvt_vm *g3;
	char why[256] = "";
	int fd;

	s->nr_rings = XVT_EVENT_RING_MASK - 1;
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, why, sizeof(why)), -EOVERFLOW);
	ck_assert_ptr_nonnull(strstr(why, "3 rings are too many"));
	ck_assert_uint_eq(s->nr_rings, XVT_EVENT_RING_MASK - 1);
	ck_assert_uint_eq(s->nr_vms, 1);
	/* One that was there before its guest formatted it. */
	fd = open(path, O_RDWR);
	ck_assert_int_eq(pwrite(fd, "\0\0\0\0\0\0\0", 8, 0), 8);
	ck_assert_int_eq(xvt_session_add(s, "g3", path, NULL, true, why, sizeof(why)), 0);
	g3 = xvt_session_find(s, "g3");
	ck_assert_uint_eq(g3->phase, XVT_VM_WAITING);
	ck_assert_int_eq(pwrite(fd, &(uint64_t){ XVT_MAGIC }, 8, 0), 8);
	close(fd);
	ck_assert_int_eq(xvt_vm_try_attach(s, g3, why, sizeof(why)), -EOVERFLOW);
	s->nr_rings = rings;
	ck_assert_int_eq(xvt_vm_try_attach(s, g3, why, sizeof(why)), 0);
	ck_assert_uint_eq(s->nr_rings, rings + 3);
}
END_TEST

/* How many RING chunks there are of ring 0, and what the last one of them says. */
static size_t ring_chunks(struct xvt_ring_info *last)
{
	const struct xvt_chunk_hdr *h;
	size_t at = 0, n = 0;

	xvt_session_flush(s);
	while ((h = recording_chunk(&rec, &at))) {
		if (h->type != XVT_CHUNK_RING)
			continue;
		memcpy(last, h + 1, sizeof(*last));
		n++;
	}
	return n;
}

START_TEST(a_ring_that_comes_and_goes_is_announced_once)
{
	struct xvt_ring *r = s->rings[0];
	struct xvt_ring_info last;
	unsigned int i;

	xvt_ring_announce(s, r);
	ck_assert_uint_eq(ring_chunks(&last), 1);
	r->phase = XVT_PHASE_DONE;
	for (i = 0; i < 1000; i++) {
		r->last.state = i & 1 ? XVT_RING_OFFLINE : XVT_RING_ONLINE;
		r->last.nest = 0;
		r->idle = true;
		xvt_session_ring_phase(s, r, xvt_clock_read());
	}
	ck_assert_uint_eq(ring_chunks(&last), 1);
}
END_TEST

START_TEST(what_a_guest_changes_is_announced_once_a_second)
{
	struct xvt_ring *r = s->rings[0];
	struct xvt_ring_info last;
	unsigned int i;

	xvt_ring_announce(s, r);
	/* The test may be held up between any two lines: this ring was announced just now. */
	for (i = 1; i <= 1000; i++) {
		xvt_store(&r->ctl->cpu, i);
		r->told_info_clock = xvt_clock_read();
		xvt_ring_announce(s, r);
		xvt_session_announce_late(s, false);
	}
	ck_assert_uint_eq(ring_chunks(&last), 1);
	ck_assert_uint_eq(last.cpu, 0);
	/* A second later the newest one is there, once. */
	r->told_info_clock = xvt_clock_read() - ticks(s, 2 * SECOND_NS);
	xvt_session_announce_late(s, false);
	xvt_session_announce_late(s, false);
	xvt_session_announce_late(s, true);
	ck_assert_uint_eq(ring_chunks(&last), 2);
	ck_assert_uint_eq(last.cpu, 1000);
	/* One that comes after a long time is not kept waiting. */
	r->told_info_clock = xvt_clock_read() - ticks(s, 2 * SECOND_NS);
	xvt_store(&r->ctl->cpu, 7);
	xvt_ring_announce(s, r);
	ck_assert_uint_eq(ring_chunks(&last), 3);
	ck_assert_uint_eq(last.cpu, 7);
}
END_TEST

START_TEST(what_was_announced_too_soon_is_there_at_the_end)
{
	struct xvt_ring *r = s->rings[0];
	struct xvt_ring_info last;

	xvt_ring_announce(s, r);
	r->told_info_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	xvt_store(&r->ctl->cpu, 5);
	xvt_ring_announce(s, r);
	/* Back again, and the same once more: nothing is left to say; then something is. */
	xvt_store(&r->ctl->cpu, 0);
	xvt_ring_announce(s, r);
	xvt_session_announce_late(s, true);
	ck_assert_uint_eq(ring_chunks(&last), 1);
	xvt_store(&r->ctl->cpu, 5);
	xvt_ring_announce(s, r);
	r->phase = XVT_PHASE_DONE;
	ck_assert_int_eq(xvt_session_end(s), 0);
	ck_assert_uint_eq(ring_chunks(&last), 2);
	ck_assert_uint_eq(last.cpu, 5);
	xvt_session_free(s);
	rec.s = NULL;
}
END_TEST

START_TEST(what_its_events_need_is_announced_at_once)
{
	struct xvt_ring *r = s->rings[0];
	struct xvt_ring_info last;

	xvt_ring_announce(s, r);
	r->told_info_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	r->map.hz++;
	xvt_ring_announce(s, r);
	ck_assert_uint_eq(ring_chunks(&last), 2);
	ck_assert_uint_eq(last.clock_hz, r->map.hz);
	r->told_info_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	r->start_ns++;
	xvt_ring_announce(s, r);
	ck_assert_uint_eq(ring_chunks(&last), 3);
	ck_assert_uint_eq(last.start_ns, r->start_ns);
}
END_TEST

Suite *session_vm_suite(void)
{
	Suite *suite = suite_create("session_vm");
	TCase *t = tcase_create("session_vm");

	tcase_add_checked_fixture(t, setup, teardown);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_test(t, one_whose_rings_find_no_memory_leaves_nothing);
#endif
	tcase_add_test(t, one_that_is_no_region_leaves_nothing);
	tcase_add_test(t, rings_have_the_numbers_that_an_event_can_name);
	tcase_add_test(t, a_ring_that_comes_and_goes_is_announced_once);
	tcase_add_test(t, what_a_guest_changes_is_announced_once_a_second);
	tcase_add_test(t, what_was_announced_too_soon_is_there_at_the_end);
	tcase_add_test(t, what_its_events_need_is_announced_at_once);
	suite_add_tcase(suite, t);
	return suite;
}
