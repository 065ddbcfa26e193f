// SPDX-License-Identifier: GPL-2.0
/*
 * test_drain_reads.c - `record --drain io_uring`: the data of rings comes by reads of the file into
 * registered memory, and a read that fails costs no event and brings nothing into disorder.
 */
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "recording.h"

#define RINGS  3
#define EVENTS 20u

static struct recording rec;
static struct xvt_session *s;
static struct xvt_writer writers[RINGS];
static char noted[256];
static unsigned int notes;

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	if (!level)
		return;
	notes++;
	snprintf(noted, sizeof(noted), "%s", text);
}

static void begin(bool reads)
{
	const struct xvt_session_options opt = { .note = on_note,
						 .mode = XVT_ENABLE_STOP,
						 .drain_reads = reads,
						 .join_timeout_ns = 60 * SECOND_NS,
						 .stall_timeout_ns = 60 * SECOND_NS,
						 .memory_bytes = 8 << 20 };
	uint32_t i;

	notes = 0;
	recording_begin(&rec, RINGS, &opt);
	s = rec.s;
	for (i = 0; i < RINGS; i++) {
		xvt_store(&s->rings[i]->host->enable, (uint32_t)XVT_ENABLE_STOP);
		xvt_writer_init(&writers[i], rec.map, &rec.g, i);
	}
}

static void setup(void)
{
	begin(true);
}

/* Without an end in order: no guest answers. */
static void teardown(void)
{
	memset(&faults, 0, sizeof(faults));
	xvt_session_free(s);
	rec.s = NULL;
	recording_end(&rec);
}

static void write_all(uint64_t first)
{
	uint64_t n;
	uint32_t i;

	for (i = 0; i < RINGS; i++) {
		for (n = first; n < first + EVENTS; n++)
			ck_assert_int_eq(xvt_write(&writers[i], XVT_ID_U64, &n, sizeof(n)), 0);
	}
}

static void drain(void)
{
	uint32_t i;

	for (i = 0; i < RINGS; i++)
		xvt_session_unpark(s, s->rings[i]);
	xvt_session_drain(s, xvt_clock_read());
	for (i = 0; i < RINGS; i++)
		xvt_session_ring_phase(s, s->rings[i], xvt_clock_read());
}

/* Events 0, 1, 2, ... of a ring are in its pieces, each once. */
static void all_taken(struct xvt_ring *r, uint64_t count)
{
	struct xvt_reader reader;
	const struct xvt_piece *p;
	struct xvt_record record;
	uint64_t next = 0;

	xvt_reader_init(&reader, &rec.g, 0);
	for (p = r->drain.first; p; p = p->next) {
		xvt_reader_feed(&reader, p->bytes, p->len);
		while (xvt_reader_next(&reader, &record) == 1) {
			if (record.kind != XVT_REC_RECORD)
				continue;
			ck_assert_uint_eq(*(const uint64_t *)record.payload, next);
			next++;
		}
	}
	ck_assert_uint_eq(next, count);
}

START_TEST(data_is_read_into_registered_memory)
{
	const struct xvt_piece *p;
	uint32_t i;

	ck_assert_ptr_nonnull(s->arena.base);
	write_all(0);
	drain();
	ck_assert_uint_ge(faults.reads, RINGS);
	for (i = 0; i < RINGS; i++) {
		all_taken(s->rings[i], EVENTS);
		for (p = s->rings[i]->drain.first; p; p = p->next)
			ck_assert_uint_lt((uintptr_t)p->bytes - (uintptr_t)s->arena.base,
					  s->arena.size);
	}
}
END_TEST

START_TEST(by_default_nothing_is_read)
{
	teardown();
	begin(false);
	write_all(0);
	drain();
	all_taken(s->rings[0], EVENTS);
	ck_assert_uint_eq(faults.reads, 0);
	ck_assert_ptr_null(s->arena.base);
}
END_TEST

/* _i: they fail, or come short. */
START_TEST(a_read_that_fails_is_tried_again_and_is_noted_once)
{
	struct xvt_ring *r = s->rings[1];
	uint64_t passed;
	int i;

	write_all(0);
	drain();
	passed = r->drain.passed_clock;
	write_all(EVENTS);
	faults.read_fails = !_i;
	faults.read_short = _i;
	for (i = 0; i < 3; i++) {
		/* A look proves something later. */
		s->scan.proof_candidate = xvt_clock_read() - ticks(s, 2 * XVT_PROOF_DELTA_NS);
		drain();
		ck_assert(!r->drain.idle);
		ck_assert(r->drain.unread);
		ck_assert_uint_eq(r->drain.passed_clock, passed);
		all_taken(r, EVENTS);
	}
	ck_assert_uint_eq(notes, RINGS);
	ck_assert_ptr_nonnull(strstr(noted, "cannot be read: "));
	ck_assert_int_eq(r->phase, XVT_PHASE_NEW);
	faults.read_fails = faults.read_short = false;
	drain();
	all_taken(r, 2 * EVENTS);
	write_all(2 * EVENTS);
	faults.read_fails = true;
	drain();
	ck_assert_uint_eq(notes, 2 * RINGS); /* another failure */
}
END_TEST

START_TEST(a_file_that_shrinks_ends_its_machine)
{
	char path[64];
	int fd;

	write_all(0);
	/* The control words stay, and the data goes. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", rec.vm->region.fd);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(ftruncate(fd, (off_t)xvt_data_off(&rec.g, 0)), 0);
	close(fd);
	drain();
	ck_assert_int_eq(rec.vm->phase, XVT_VM_GONE);
	ck_assert_ptr_nonnull(strstr(noted, "truncated"));
	ck_assert_ptr_null(s->rings[0]->drain.first);
	ck_assert_int_eq(s->rings[0]->phase, XVT_PHASE_BROKEN);
}
END_TEST

START_TEST(a_loop_that_fails_ends_the_recording)
{
	uint64_t sleep_ns;

	write_all(0);
	faults.loop_err = -EFAULT;
	s->passes.next_clock = xvt_clock_read();
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), -EFAULT);
	ck_assert_uint_eq(s->rings[0]->drain.reads, 0);
	ck_assert_ptr_null(s->rings[0]->drain.first);
	/* Their memory is not used again, and a completion that still comes harms nothing. */
	ck_assert(s->arena.in_use);
	faults.loop_err = 0;
	while (xvt_loop_run(rec.loop, 0) > 0)
		;
	ck_assert_uint_eq(s->rings[0]->drain.reads, 0);
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), -EFAULT);
}
END_TEST

START_TEST(a_file_that_can_only_be_mapped_is_refused)
{
	char path[64];
	struct xvt_error why;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", rec.vm->region.fd);
	fd = open(path, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dup2(fd, rec.vm->region.fd), rec.vm->region.fd);
	close(fd);
	ck_assert_int_eq(xvt_vm_try_attach(s, rec.vm, &why), -EBADF);
	ck_assert_ptr_nonnull(strstr(why.text, "--drain mapped"));
}
END_TEST

Suite *drain_reads_suite(void)
{
	Suite *suite = suite_create("drain_reads");
	TCase *tc = tcase_create("reads");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, data_is_read_into_registered_memory);
	tcase_add_test(tc, by_default_nothing_is_read);
	tcase_add_loop_test(tc, a_read_that_fails_is_tried_again_and_is_noted_once, 0, 2);
	tcase_add_test(tc, a_file_that_shrinks_ends_its_machine);
	tcase_add_test(tc, a_loop_that_fails_ends_the_recording);
	tcase_add_test(tc, a_file_that_can_only_be_mapped_is_refused);
	suite_add_tcase(suite, tc);
	return suite;
}
