// SPDX-License-Identifier: GPL-2.0
/* test_session_rotate.c - a recording that goes on in a next file, and what that begins with. */
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "faults.h"
#include "recording.h"

static struct recording rec;
static struct xvt_session *s;
static unsigned int notes, prepared;
static size_t border; /* where the newest file begins */
static int answer;    /* of prepare() */

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)level;
	(void)name;
	notes += strstr(text, "the next file cannot be made") != NULL;
}

static int prepare(struct xvt_sink *sink)
{
	(void)sink;
	prepared++;
	return answer;
}

static void next(struct xvt_sink *sink)
{
	border = ((struct synth_sink *)sink)->len;
}

static void begin(void)
{
	const struct xvt_session_options opt = { .note = on_note,
						 .mode = XVT_ENABLE_STOP,
						 .set_number = 7,
						 .join_timeout_ns = 60 * SECOND_NS,
						 .stall_timeout_ns = 60 * SECOND_NS,
						 .memory_bytes = 8 << 20 };

	border = notes = prepared = 0;
	answer = 0;
	recording_begin(&rec, 2, &opt);
	s = rec.s;
	rec.sink.sink.prepare = prepare;
	rec.sink.sink.next = next;
	s->rotate.number = opt.set_number;
}

/* Without an end in order: no guest answers. */
static void end(void)
{
	xvt_session_free(s);
	rec.s = NULL;
	recording_end(&rec);
}

/* A pass reads the rings, whatever else it does. */
static void pass(void)
{
	const uint64_t drains = s->scan.drains;
	uint64_t sleep_ns;

	s->passes.next_clock = 0;
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
	ck_assert_uint_eq(s->scan.drains, drains + 1);
}

static void say_formats(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		ck_assert_int_eq(xvt_meta_append(rec.map, &rec.g, XVT_META_FORMAT, 300 + i, NULL, 0,
						 "a format", 8),
				 0);
	xvt_vm_read_metadata(s, rec.vm);
}

/* Number of chunks of that type in the newest file. */
static unsigned int chunks(uint16_t type)
{
	const struct xvt_chunk_hdr *h;
	size_t at = border;
	unsigned int n = 0;

	xvt_session_flush(s);
	while ((h = recording_chunk(&rec, &at)))
		n += h->type == type;
	return n;
}

static struct xvt_file_info info_at(size_t at)
{
	struct xvt_file_info info;

	memcpy(&info, rec.sink.bytes + at + sizeof(struct xvt_chunk_hdr), sizeof(info));
	return info;
}

START_TEST(a_next_file_begins_with_all_that_was_said)
{
	struct xvt_file_info first, second;

	begin();
	say_formats(10);
	xvt_session_rotate(s);
	ck_assert_uint_eq(border, 0);
	pass();
	ck_assert_uint_gt(border, 0);
	ck_assert_uint_eq(chunks(XVT_CHUNK_FILE), 1);
	ck_assert_uint_eq(chunks(XVT_CHUNK_VM), 1);
	ck_assert_uint_eq(chunks(XVT_CHUNK_META), 10);
	ck_assert_uint_eq(chunks(XVT_CHUNK_ROUND), 1);
	first = info_at(0);
	second = info_at(border);
	ck_assert_uint_eq(second.set_number, 8);
	ck_assert_mem_ne(first.uuid, second.uuid, sizeof(first.uuid));
	/* What comes later is in the file after that, too, and all once. */
	say_formats(10);
	say_formats(5);
	xvt_session_rotate(s);
	pass();
	ck_assert_uint_eq(info_at(border).set_number, 9);
	ck_assert_uint_eq(chunks(XVT_CHUNK_META), 10);
	end();
}
END_TEST

START_TEST(a_machine_that_is_gone_is_not_in_the_next_file)
{
	begin();
	say_formats(3);
	ck_assert_uint_gt(s->carry.used, 0);
	xvt_vm_gone(s, rec.vm, "it is away");
	xvt_session_rotate(s);
	pass();
	ck_assert_uint_eq(chunks(XVT_CHUNK_FILE), 1);
	ck_assert_uint_eq(chunks(XVT_CHUNK_VM), 0);
	ck_assert_uint_eq(chunks(XVT_CHUNK_META), 0);
	ck_assert_uint_eq(s->carry.used, 0);
	end();
}
END_TEST

/* The sanitizers have memory of their own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CYCLES 40u

/* A region with a ring that was in use, and a format. */
static void make_region(const char *path)
{
	const struct xvt_layout layout = { .region_size = RECORDING_REGION_SIZE,
					   .ring_count = 4,
					   .subbuf_size = XVT_SUBBUF_SIZE_MIN,
					   .clock_id = XVT_CLOCK_NATIVE };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct xvt_ring_ctl *ctl;
	struct xvt_geometry g;
	uint8_t *map;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)layout.region_size), 0);
	map = mmap(NULL, layout.region_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(xvt_region_format(map, &layout, &g), 0);
	ck_assert_int_eq(xvt_meta_append(map, &g, XVT_META_FORMAT, 300, NULL, 0, "a format", 8), 0);
	ctl = (void *)(map + xvt_ctl_off(&g, 0));
	xvt_store(&ctl->state, (uint32_t)XVT_RING_OFFLINE);
	munmap(map, layout.region_size);
}

/* A machine comes, says something, and leaves; its file is deleted. The next file is without it. */
static void comes_and_leaves(const char *path)
{
	struct xvt_error why;
	struct xvt_vm *vm;

	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, &why), 0);
	vm = xvt_session_find(s, "g2");
	pass();
	ck_assert_ptr_nonnull(vm->rings[0]);
	vm->chain.deleted = true;
	xvt_vm_gone(s, vm, "it is away");
	xvt_session_rotate(s);
	pass();
}

START_TEST(a_machine_that_has_left_keeps_no_memory)
{
	const char *path = scratch_path("leaves");
	size_t before = 0, now, most = 0;

	make_region(path);
	begin();
	s->opt.follow = true;
	for (unsigned int i = 1; i <= CYCLES; i++) {
		comes_and_leaves(path);
		ck_assert_uint_eq(s->left.machines, i);
		now = memory_in_use() - rec.sink.room;
		if (i <= CYCLES / 2)
			before = now > before ? now : before;
		else
			most = now > most ? now : most;
	}
	ck_assert_uint_le(most, before);
	end();
}
END_TEST
#endif

/* A record that waits goes into the next file, and the clock's nodes around it must, too. */
START_TEST(nodes_that_a_waiting_record_needs_are_kept)
{
	const uint64_t waits_ns = SECOND_NS + 50000007;
	struct xvt_run *run = calloc(1, sizeof(*run) + sizeof(run->ns[0]));
	struct xvt_clock_segment seg = { 0 };
	struct xvt_ring *r;
	uint64_t i;

	ck_assert_ptr_nonnull(run);
	begin();
	r = s->rings[0];
	r->clock.map.hz = SECOND_NS;
	run->count = 1;
	run->ns[0] = waits_ns;
	r->runs.first = run;
	for (i = 0; i < 300; i++) {
		const uint64_t ns = SECOND_NS + i * 1000000;
		struct xvt_clock_node n = { .guest = ns, .host_ns = ns, .bound_ns = 10 };

		ck_assert_int_eq(xvt_ring_add_node(r, &n), 0);
		/* Later records are placed meanwhile. */
		xvt_clock_map_segment(&r->clock.map, ns - 5, &seg);
	}
	ck_assert_uint_le(r->clock.map.nodes[0].host_ns, waits_ns);
	r->runs.first = NULL;
	free(run);
	end();
}
END_TEST

START_TEST(without_a_next_file_the_first_goes_on)
{
	begin();
	xvt_session_rotate(s);
	answer = -EAGAIN;
	pass();
	pass();
	ck_assert_uint_eq(prepared, 2);
	ck_assert_uint_eq(notes, 0);
	answer = -ENOSPC;
	pass();
	ck_assert_uint_eq(notes, 1);
	/* Not again in each pass, and said once. */
	pass();
	ck_assert_uint_eq(prepared, 3);
	ck_assert_uint_eq(border, 0);
	s->passes.seconds += 60;
	pass();
	ck_assert_uint_eq(prepared, 4);
	ck_assert_uint_eq(notes, 1);
	answer = 0;
	s->passes.seconds += 60;
	pass();
	ck_assert_uint_gt(border, 0);
	end();
}
END_TEST

START_TEST(a_file_ends_at_its_size_and_at_its_time)
{
	begin();
	s->opt.rotate_bytes = 1 << 20;
	pass();
	ck_assert_uint_eq(prepared, 0);
	s->opt.rotate_bytes = 2000; /* half of it beyond the begin */
	say_formats(100);
	pass();
	ck_assert_uint_eq(prepared, 1);
	/* The begin of the next file has that size already: it needs events. */
	pass();
	ck_assert_uint_eq(prepared, 1);
	s->opt.rotate_bytes = 0;
	s->opt.rotate_ns = 1;
	pass();
	ck_assert_uint_eq(prepared, 1);
	s->passes.joined = true;
	pass();
	ck_assert_uint_eq(prepared, 2);
	end();
}
END_TEST

Suite *session_rotate_suite(void)
{
	Suite *suite = suite_create("session_rotate");
	TCase *t = tcase_create("files");

	tcase_add_test(t, a_next_file_begins_with_all_that_was_said);
	tcase_add_test(t, a_machine_that_is_gone_is_not_in_the_next_file);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_test(t, a_machine_that_has_left_keeps_no_memory);
#endif
	tcase_add_test(t, nodes_that_a_waiting_record_needs_are_kept);
	tcase_add_test(t, without_a_next_file_the_first_goes_on);
	tcase_add_test(t, a_file_ends_at_its_size_and_at_its_time);
	suite_add_tcase(suite, t);
	return suite;
}
