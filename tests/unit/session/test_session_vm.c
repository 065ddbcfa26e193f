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
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "recording.h"
#include "xvt_writer.h"
#include "trace/cursor.h"

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
		phase_anew(rec.vm->rings[0], XVT_PHASE_DONE); /* no guest answers */
	recording_end(&rec);
}

/* A formatted region with so many rings. */
static const char *region_at(const char *name, uint32_t rings)
{
	const char *path = scratch_path(name);
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

static const char *region_of(uint32_t rings)
{
	return region_at("many", rings);
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

/* A region with a writer for each ring. */
static const char *region_in_use(uint32_t rings)
{
	const char *path = region_of(rings);
	struct xvt_host_region region;
	uint32_t i;

	ck_assert_int_eq(xvt_host_region_open(&region, path, true), 0);
	ck_assert_int_eq(xvt_host_region_check(&region), 0);
	for (i = 0; i < rings; i++)
		xvt_store(&xvt_host_ring_ctl(&region, i)->state, (uint32_t)XVT_RING_ONLINE);
	xvt_host_region_close(&region);
	return path;
}

START_TEST(one_whose_rings_find_no_memory_leaves_nothing)
{
	const char *path = region_in_use(MANY_RINGS);
	const uint64_t region = xvt_region_min_size(MANY_RINGS, XVT_ALIGN_MIN);
	const size_t vms = s->nr_vms, rings = s->nr_rings;
	const int descriptors = open_descriptors();
	struct xvt_error why = { "" };

	/* The region, and half of its rings. */
	limit_memory(region + MANY_RINGS / 2 * sizeof(struct xvt_ring));
	ck_assert_int_eq(xvt_session_add_rings(s, "g2", path, NULL, true, MANY_RINGS, &why),
			 -ENOMEM);
	limit_memory(UINT64_MAX);
	ck_assert_str_eq(why.text, strerror(ENOMEM));
	ck_assert_uint_eq(s->nr_vms, vms);
	ck_assert_uint_eq(s->nr_rings, rings);
	ck_assert_int_eq(open_descriptors(), descriptors);
	ck_assert_int_eq(xvt_session_add_rings(s, "g2", path, NULL, true, MANY_RINGS, &why), 0);
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
	struct xvt_error why = { "" };

	ck_assert_int_eq(pwrite(fd, "nonsense", 8, 0), 8);
	close(fd);
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, &why), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(why.text, "not an xvtrace region"));
	ck_assert_uint_eq(s->nr_vms, 1);
	ck_assert_int_eq(open_descriptors(), descriptors);
}
END_TEST

/* The bits behind them are flags. */
START_TEST(rings_have_the_numbers_that_an_event_can_name)
{
	const char *path = region_of(3);
	const size_t rings = s->table.nr_places;
	const uint32_t next = s->table.next_ring;
	struct xvt_vm *g3;
	struct xvt_error why = { "" };
	int fd;

	s->table.next_ring = XVT_EVENT_RING_MASK - 1;
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, &why), -EOVERFLOW);
	ck_assert_ptr_nonnull(strstr(why.text, "3 rings are too many"));
	ck_assert_uint_eq(s->table.next_ring, XVT_EVENT_RING_MASK - 1);
	ck_assert_uint_eq(s->nr_vms, 1);
	/* One that was there before its guest formatted it. */
	fd = open(path, O_RDWR);
	ck_assert_int_eq(pwrite(fd, "\0\0\0\0\0\0\0", 8, 0), 8);
	ck_assert_int_eq(xvt_session_add(s, "g3", path, NULL, true, &why), 0);
	g3 = xvt_session_find(s, "g3");
	ck_assert_uint_eq(g3->phase, XVT_VM_WAITING);
	ck_assert_int_eq(pwrite(fd, &(uint64_t){ XVT_MAGIC }, 8, 0), 8);
	close(fd);
	ck_assert_int_eq(xvt_vm_try_attach(s, g3, &why), -EOVERFLOW);
	s->table.next_ring = next;
	ck_assert_int_eq(xvt_vm_try_attach(s, g3, &why), 0);
	ck_assert_uint_eq(s->table.nr_places, rings + 3);
}
END_TEST

/* How many notes in the trace contain that? */
static unsigned int times_noted(const char *text)
{
	const struct xvt_chunk_hdr *h;
	unsigned int n = 0;
	size_t at = 0;

	xvt_session_flush(s);
	while ((h = recording_chunk(&rec, &at))) {
		const char *from = (const char *)(h + 1) + sizeof(struct xvt_note);

		n += h->type == XVT_CHUNK_NOTE &&
		     memmem(from, h->len - sizeof(struct xvt_note), text, strlen(text));
	}
	return n;
}

static bool is_noted(const char *text)
{
	return times_noted(text) > 0;
}

/* What the machine is asked now, as its guest reads it; NULL: nothing that it has not answered. */
static const char *asked_of(const struct xvt_vm *vm)
{
	const struct xvt_region_hdr *h = (const struct xvt_region_hdr *)vm->region.map;
	struct xvt_host_page *page = xvt_host_region_page(&vm->region);
	static char text[XVT_REQUEST_LEN + 1];
	uint32_t len = xvt_load(&page->request_len);

	if (xvt_load(&page->request_seq) == xvt_load(&h->request_ack))
		return NULL;
	ck_assert_uint_le(len, XVT_REQUEST_LEN);
	memcpy(text, page->request, len);
	text[len] = 0;
	return text;
}

/* In a pass of its own. */
static void look_for_answer(struct xvt_vm *vm, uint64_t now)
{
	s->passes.number++;
	xvt_vm_look_for_answer(s, vm, now);
}

static void answer_of(struct xvt_vm *vm, int32_t result)
{
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)vm->region.map;

	xvt_store(&h->request_result, result);
	xvt_store_release(&h->request_ack,
			  xvt_load(&xvt_host_region_page(&vm->region)->request_seq));
	look_for_answer(vm, xvt_clock_read());
}

static struct xvt_vm *asked_machine(const char *request)
{
	struct xvt_error why = { "" };

	s->opt.request = request;
	ck_assert_int_eq(xvt_session_add(s, "g2", region_of(1), NULL, true, &why), 0);
	return xvt_session_find(s, "g2");
}

static void consent(struct xvt_vm *vm, uint32_t host_events)
{
	xvt_store(&((struct xvt_region_hdr *)vm->region.map)->host_events, host_events);
}

/* A look, `ns` after the newest request. */
static void look_after(struct xvt_vm *vm, uint64_t ns)
{
	look_for_answer(vm, vm->request.clock + ticks(s, ns));
}

START_TEST(a_refused_event_is_named)
{
	struct xvt_vm *g2 = asked_machine("+sched:sched_switch\n+irq:nonsense\n+timer:*\n");

	consent(g2, XVT_HOST_EVENTS_REFUSED);
	ck_assert_str_eq(asked_of(g2), "+sched:sched_switch\n");
	answer_of(g2, 0);
	ck_assert_str_eq(asked_of(g2), "+irq:nonsense\n");
	answer_of(g2, -ENOENT);
	ck_assert(is_noted("cannot switch on irq:nonsense: its kernel has no such event"));
	ck_assert_str_eq(asked_of(g2), "+timer:*\n");
	answer_of(g2, -EPERM);
	ck_assert(is_noted("cannot switch on timer:*: its owner does not allow"));
	ck_assert(!is_noted("cannot switch on sched:sched_switch"));
	ck_assert_ptr_null(asked_of(g2));
}
END_TEST

/* The module is there before its owner's configuration was read. */
START_TEST(a_refusal_waits_for_the_owner)
{
	struct xvt_vm *g2 = asked_machine("+sched:sched_switch\n+irq:*\n");

	consent(g2, XVT_HOST_EVENTS_UNKNOWN);
	answer_of(g2, -EPERM);
	look_after(g2, 59 * SECOND_NS);
	ck_assert(!is_noted("cannot switch on"));
	ck_assert_ptr_null(asked_of(g2));
	consent(g2, XVT_HOST_EVENTS_ALLOWED);
	/* At most once a second, however often it is taken back. */
	look_after(g2, SECOND_NS / 2);
	ck_assert_ptr_null(asked_of(g2));
	look_after(g2, 2 * SECOND_NS);
	ck_assert_str_eq(asked_of(g2), "+sched:sched_switch\n");
	answer_of(g2, 0);
	ck_assert_str_eq(asked_of(g2), "+irq:*\n");
	/* Taken back, and allowed again. */
	consent(g2, XVT_HOST_EVENTS_REFUSED);
	answer_of(g2, -EPERM);
	ck_assert(is_noted("cannot switch on irq:*: its owner does not allow"));
	consent(g2, XVT_HOST_EVENTS_ALLOWED);
	look_after(g2, 2 * SECOND_NS);
	ck_assert_str_eq(asked_of(g2), "+irq:*\n");
	/* It says yes and means no. */
	answer_of(g2, -EPERM);
	look_after(g2, 100 * SECOND_NS);
	ck_assert_ptr_null(asked_of(g2));
}
END_TEST

/* An older guest never says more than that it refuses. */
START_TEST(a_refusal_without_a_reason_is_told_in_the_end)
{
	struct xvt_vm *g2 = asked_machine("+irq:*\n");

	answer_of(g2, -EPERM);
	if (_i) {
		look_after(g2, 61 * SECOND_NS);
		ck_assert_uint_eq(times_noted("cannot switch on irq:*: its owner"), 1);
	}
	xvt_vm_end_request(s, g2);
	ck_assert_uint_eq(times_noted("cannot switch on irq:*: its owner"), 1);
}
END_TEST

/* By the control socket. */
START_TEST(a_user_adds_events)
{
	struct xvt_vm *g2 = asked_machine("+sched:sched_switch\n");
	struct xvt_error why;

	/* Behind what is asked now. */
	ck_assert_int_eq(xvt_session_vm_ask(g2, "+irq:*\n+a:b\n+c:d\n"), 0);
	ck_assert_str_eq(asked_of(g2), "+sched:sched_switch\n");
	answer_of(g2, 0);
	ck_assert_str_eq(asked_of(g2), "+irq:*\n");
	answer_of(g2, 0);
	answer_of(g2, -EINVAL);
	ck_assert_int_eq(xvt_session_vm_asked(g2, &why), -EAGAIN);
	answer_of(g2, -ENOENT);
	ck_assert_int_eq(xvt_session_vm_asked(g2, &why), -ENOENT);
	ck_assert_str_eq(why.text,
			 "cannot switch on a:b: its kernel has no such event; cannot switch "
			 "on c:d: its kernel has no such event");
	/* When nothing is asked; and after a refusal, what was refused first. */
	ck_assert_int_eq(xvt_session_vm_ask(g2, "+timer:*\n"), 0);
	ck_assert_str_eq(asked_of(g2), "+timer:*\n");
	consent(g2, XVT_HOST_EVENTS_REFUSED);
	answer_of(g2, -EPERM);
	ck_assert_int_eq(xvt_session_vm_asked(g2, &why), -EPERM);
	ck_assert_int_eq(xvt_session_vm_ask(g2, "+task:*\n"), 0);
	ck_assert_str_eq(asked_of(g2), "+timer:*\n");
	answer_of(g2, 0);
	ck_assert_str_eq(asked_of(g2), "+task:*\n");
	look_after(g2, 61 * SECOND_NS);
	ck_assert_int_eq(xvt_session_vm_asked(g2, &why), -ETIMEDOUT);
	ck_assert_int_eq(xvt_session_vm_ask(g2, "+x:y\n"), 0);
	ck_assert_str_eq(asked_of(g2), "+task:*\n");
	answer_of(g2, 0);
	answer_of(g2, 0);
	ck_assert_int_eq(xvt_session_vm_asked(g2, &why), 0);
	/* All of them again, for a new generation. */
	((struct xvt_region_hdr *)g2->region.map)->generation++;
	look_for_answer(g2, g2->request.clock + ticks(s, 2 * SECOND_NS));
	ck_assert_str_eq(asked_of(g2), "+sched:sched_switch\n");
	answer_of(g2, 0);
	ck_assert_str_eq(asked_of(g2), "+irq:*\n");
	ck_assert_int_eq(xvt_session_vm_asked(g2, &why), -EAGAIN);
}
END_TEST

START_TEST(a_guest_that_begins_again_is_asked_again)
{
	struct xvt_vm *g2 = asked_machine("+sched:sched_switch\n+irq:*\n");
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)g2->region.map;
	unsigned int boot;

	for (boot = 0; boot < 3; boot++) {
		ck_assert_str_eq(asked_of(g2), "+sched:sched_switch\n");
		answer_of(g2, 0);
		ck_assert_str_eq(asked_of(g2), "+irq:*\n");
		answer_of(g2, 0);
		ck_assert_ptr_null(asked_of(g2));
		look_for_answer(g2, xvt_clock_read() + ticks(s, 2 * SECOND_NS));
		ck_assert_ptr_null(asked_of(g2));
		xvt_store(&h->generation, xvt_load(&h->generation) + 1);
		/* At most once a second, however often it begins. */
		g2->request.clock = xvt_clock_read();
		look_for_answer(g2, g2->request.clock);
		ck_assert_ptr_null(asked_of(g2));
		look_for_answer(g2, g2->request.clock + ticks(s, 2 * SECOND_NS));
	}
	ck_assert_ptr_nonnull(asked_of(g2));
	/* One that never answers. */
	look_for_answer(g2, xvt_clock_read() + ticks(s, 61 * SECOND_NS));
	ck_assert(is_noted("no answer to the request for events, from sched:sched_switch on"));
}
END_TEST

/* A guest that boots slowly, or that was paused. */
START_TEST(an_answer_that_comes_late_counts)
{
	struct xvt_vm *g2 = asked_machine("+sched:sched_switch\n+irq:*\n");
	const char text[] = "no answer to the request for events, from sched:sched_switch on";
	const char late[] = "has answered the request for events, from sched:sched_switch on";
	struct xvt_error why;

	ck_assert_str_eq(asked_of(g2), "+sched:sched_switch\n");
	look_after(g2, 61 * SECOND_NS);
	look_after(g2, 100 * SECOND_NS);
	xvt_vm_end_request(s, g2);
	ck_assert_uint_eq(times_noted(text), 1);
	ck_assert(!is_noted("the recording ended before the guest answered"));
	ck_assert_int_eq(xvt_session_vm_asked(g2, &why), -ETIMEDOUT);
	if (_i) {
		/* It has begun again, on memory that is new. */
		((struct xvt_region_hdr *)g2->region.map)->generation++;
		look_after(g2, 200 * SECOND_NS);
		ck_assert_str_eq(asked_of(g2), "+sched:sched_switch\n");
	}
	ck_assert(!is_noted(late));
	answer_of(g2, 0);
	ck_assert_str_eq(asked_of(g2), "+irq:*\n");
	/* One that has begun again has answered the new request in time. */
	ck_assert_uint_eq(times_noted(late), _i ? 0 : 1);
	ck_assert_int_eq(xvt_session_vm_asked(g2, &why), -EAGAIN);
	answer_of(g2, 0);
	ck_assert_int_eq(xvt_session_vm_asked(g2, &why), 0);
	ck_assert_uint_eq(times_noted(text), 1);
	ck_assert_uint_eq(times_noted(late), _i ? 0 : 1);
}
END_TEST

/* How long the recording waits for clocks is no matter. */
START_TEST(an_answer_may_take_five_seconds)
{
	const char text[] = "no answer to the request for events, from irq:* on";
	struct xvt_vm *g2;

	s->opt.join_timeout_ns = 0;
	g2 = asked_machine("+irq:*\n");
	look_after(g2, 0);
	look_after(g2, 4 * SECOND_NS);
	ck_assert(!is_noted(text));
	look_after(g2, 6 * SECOND_NS);
	ck_assert_uint_eq(times_noted(text), 1);
}
END_TEST

START_TEST(answers_without_end_do_not_fill_the_trace)
{
	struct xvt_vm *g2 = asked_machine("+sched:sched_switch\n");
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)g2->region.map;
	const struct xvt_chunk_hdr *chunk;
	size_t at = 0, notes = 0;
	unsigned int i;

	consent(g2, XVT_HOST_EVENTS_REFUSED);
	for (i = 0; i < 1000; i++) {
		answer_of(g2, -EPERM);
		xvt_store(&h->generation, i + 10);
		look_for_answer(g2, xvt_clock_read() + ticks(s, 2 * SECOND_NS));
	}
	xvt_session_flush(s);
	while ((chunk = recording_chunk(&rec, &at)))
		notes += chunk->type == XVT_CHUNK_NOTE;
	ck_assert_uint_ge(notes, 1);
	ck_assert_uint_lt(notes, 100);
}
END_TEST

/* Its guest says how many there are, and each costs the recorder memory and time. */
START_TEST(a_machine_has_no_more_rings_than_it_may_have)
{
	const char *path = region_of(XVT_RINGS_USUAL + 44);
	const size_t rings = s->table.nr_places;
	struct xvt_vm *g2, *g3;
	struct xvt_ring_ctl *beyond;
	struct xvt_error why = { "" };

	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, &why), 0);
	ck_assert_uint_eq(s->table.nr_places, rings + XVT_RINGS_USUAL);
	g2 = xvt_session_find(s, "g2");
	ck_assert_uint_eq(g2->table.rings_more, 44);
	ck_assert(is_noted("its region has 300 rings; the first 256 are recorded, 44 are not"));
	/* What the guest counts in the others is not lost silently. */
	beyond = xvt_host_ring_ctl(&g2->region, XVT_RINGS_USUAL + 43);
	xvt_store(&beyond->attempted, xvt_load(&beyond->attempted) + 77);
	xvt_vm_tell_unrecorded(s, g2);
	ck_assert(is_noted("77 events were attempted in the 44 rings"));
	/* The host may allow more. */
	ck_assert_int_eq(
		xvt_session_add_rings(s, "g3", region_at("more", 300), NULL, true, 300, &why), 0);
	g3 = xvt_session_find(s, "g3");
	ck_assert_uint_eq(g3->table.rings_more, 0);
	ck_assert_uint_eq(s->table.nr_places, rings + XVT_RINGS_USUAL + 300);
}
END_TEST

static size_t nr_notes(void)
{
	const struct xvt_chunk_hdr *h;
	size_t at = 0, n = 0;

	xvt_session_flush(s);
	while ((h = recording_chunk(&rec, &at)))
		n += h->type == XVT_CHUNK_NOTE;
	return n;
}

/* What a guest can cause at will: so much at once, then little, and how much was left out. */
START_TEST(notes_about_a_machine_have_a_limit)
{
	const size_t before = nr_notes();
	unsigned int i;

	for (i = 0; i < 10000; i++)
		xvt_session_note(s, 1, rec.vm, 0, "flood");
	ck_assert_uint_ge(nr_notes(), before + 32);
	ck_assert_uint_lt(nr_notes(), before + 32 + 60); /* four minutes for this loop */
	/* An error is told all the same, and so is what has no machine. */
	xvt_session_note(s, 2, rec.vm, 0, "an error of its own");
	ck_assert(is_noted("an error of its own"));
	xvt_session_note_of_file(s, 1, rec.vm, "once in a file");
	ck_assert(is_noted("once in a file"));
	for (i = 0; i < 1000; i++)
		xvt_session_note(s, 1, NULL, UINT32_MAX, "the recorder's");
	ck_assert_uint_gt(nr_notes(), before + 1000);
	ck_assert(!is_noted("are left out"));
	i = (unsigned int)rec.vm->notes.left_out;
	ck_assert_uint_gt(i, 9900);
	xvt_session_notes_left_out(s, rec.vm, xvt_clock_read(), false);
	ck_assert(is_noted("further notes about it are left out"));
	ck_assert_uint_eq(rec.vm->notes.told, i);
	/* Not for each one. */
	rec.vm->notes.left_out++;
	xvt_session_notes_left_out(s, rec.vm, rec.vm->notes.told_clock, false);
	ck_assert_uint_eq(rec.vm->notes.told, i);
	xvt_session_notes_left_out(s, rec.vm, rec.vm->notes.told_clock, true);
	ck_assert_uint_eq(rec.vm->notes.told, i + 1);
}
END_TEST

/* Many machines together have one, too; none of them can take another's first notes. */
START_TEST(a_flood_about_many_machines_hides_no_other)
{
	struct xvt_vm many[40];
	const size_t before = nr_notes();
	unsigned int i, k;

	memset(many, 0, sizeof(many));
	for (i = 0; i < 40; i++) {
		for (k = 0; k < 100; k++)
			xvt_session_note(s, 1, &many[i], 0, "flood");
	}
	ck_assert_uint_lt(nr_notes(), before + 40 * 32);
	ck_assert_uint_ge(nr_notes(), before + 512);
	xvt_session_note(s, 1, rec.vm, 0, "an honest warning");
	ck_assert(is_noted("an honest warning"));
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
	phase_anew(r, XVT_PHASE_DONE);
	for (i = 0; i < 1000; i++) {
		r->drain.last.state = i & 1 ? XVT_RING_OFFLINE : XVT_RING_ONLINE;
		r->drain.last.nest = 0;
		r->drain.idle = true;
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
		r->session.reported_info_clock = xvt_clock_read();
		xvt_ring_announce(s, r);
		xvt_session_announce_late(s, false);
	}
	ck_assert_uint_eq(ring_chunks(&last), 1);
	ck_assert_uint_eq(last.cpu, 0);
	/* A second later the newest one is there, once. */
	r->session.reported_info_clock = xvt_clock_read() - ticks(s, 2 * SECOND_NS);
	xvt_session_announce_late(s, false);
	xvt_session_announce_late(s, false);
	xvt_session_announce_late(s, true);
	ck_assert_uint_eq(ring_chunks(&last), 2);
	ck_assert_uint_eq(last.cpu, 1000);
	/* One that comes after a long time is not kept waiting. */
	r->session.reported_info_clock = xvt_clock_read() - ticks(s, 2 * SECOND_NS);
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
	r->session.reported_info_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	xvt_store(&r->ctl->cpu, 5);
	xvt_ring_announce(s, r);
	/* Back again, and the same once more: nothing is left to say; then something is. */
	xvt_store(&r->ctl->cpu, 0);
	xvt_ring_announce(s, r);
	xvt_session_announce_late(s, true);
	ck_assert_uint_eq(ring_chunks(&last), 1);
	xvt_store(&r->ctl->cpu, 5);
	xvt_ring_announce(s, r);
	phase_anew(r, XVT_PHASE_DONE);
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
	r->session.reported_info_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	r->clock.map.hz++;
	xvt_ring_announce(s, r);
	ck_assert_uint_eq(ring_chunks(&last), 2);
	ck_assert_uint_eq(last.clock_hz, r->clock.map.hz);
	r->session.reported_info_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	r->start_ns++;
	xvt_ring_announce(s, r);
	ck_assert_uint_eq(ring_chunks(&last), 3);
	ck_assert_uint_eq(last.start_ns, r->start_ns);
}
END_TEST

/* When CLOCK_MONOTONIC is slewed, by the raw clock. */
static uint64_t slew_from, slew_until;

static uint64_t real_ns(int clk_id)
{
	struct timespec t;

	clock_gettime(clk_id, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* The real clocks, all but the raw one slewed by 8 %. */
static uint64_t slewed_ns(void *arg, int clk_id)
{
	uint64_t raw = real_ns(CLOCK_MONOTONIC_RAW), now = raw < slew_until ? raw : slew_until;

	(void)arg;
	if (clk_id == CLOCK_MONOTONIC_RAW || now < slew_from)
		return real_ns(clk_id);
	return real_ns(clk_id) + (now - slew_from) / 100 * 8;
}

static unsigned int never_measured;

static void on_never_measured(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	never_measured += level == 1 && strstr(text, "its clock was never measured") != NULL;
}

/* All events of the trace: how many, their first and last time, and how many are unconfirmed. */
static void all_events(uint64_t *n, uint64_t *first_ns, uint64_t *last_ns, uint64_t *unconfirmed)
{
	struct xvt_trace *t = recording_open(&rec);
	struct xvt_cursor c;
	struct xvt_event ev;

	*n = *first_ns = *last_ns = *unconfirmed = 0;
	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	while (xvt_cursor_next(&c, &ev) > 0) {
		ck_assert_uint_ge(ev.hdr->host_ns, *last_ns);
		*first_ns = *n ? *first_ns : ev.hdr->host_ns;
		*last_ns = ev.hdr->host_ns;
		*unconfirmed += !!(ev.hdr->ring_flags & XVT_EVENT_F_UNCONFIRMED);
		++*n;
	}
	ck_assert_uint_eq(t->damage_count, 0);
	xvt_cursor_fini(&c);
	xvt_trace_close(t);
}

/* The clock of a guest that was not seen yet: it began at 0 a second ago, or long before us. */
static uint64_t clock_from;

static uint64_t own_clock(void *arg)
{
	(void)arg;
	return xvt_clock_read_ordered() - clock_from;
}

START_TEST(a_ring_that_never_got_a_clock_is_off_and_unconfirmed)
{
	uint64_t n, first_ns, last_ns, unconfirmed, begin_ns, end_ns, sleep_ns;
	struct xvt_ring_host *host;
	struct xvt_writer w;

	never_measured = 0;
	s->opt.note = on_never_measured;
	s->opt.stall_timeout_ns = s->opt.join_timeout_ns = 0;
	rec.vm->rings[0]->ctl->state = XVT_RING_ONLINE;
	clock_from = _i ? xvt_clock_read_ordered() - ticks(s, SECOND_NS) : 0;
	xvt_writer_init(&w, rec.map, &rec.g, 0);
	w.clock = own_clock;
	host = w.host;
	xvt_store(&host->enable, (uint32_t)XVT_ENABLE_OVERWRITE);
	begin_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read_ordered());
	for (n = 0; n < 10; n++)
		ck_assert_int_eq(xvt_write(&w, XVT_ID_U64, &n, sizeof(n)), 0);
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
	ck_assert_int_eq(xvt_session_end(s), 0);
	end_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read_ordered());
	all_events(&n, &first_ns, &last_ns, &unconfirmed);
	ck_assert_uint_eq(n, 10);
	ck_assert_uint_eq(unconfirmed, 10);
	ck_assert_uint_ge(first_ns + 10 * 1000000, begin_ns);
	ck_assert_uint_le(last_ns, end_ns);
	ck_assert_uint_eq(rec.vm->rings[0]->account.stats.bound_ns_max, XVT_NO_BOUND);
	ck_assert_uint_eq(rec.vm->rings[0]->account.stats.source, XVT_SOURCE_NONE);
	ck_assert_uint_eq(never_measured, 1);
	ck_assert_uint_eq(xvt_load(&host->enable), XVT_ENABLE_OFF);
	xvt_session_free(s);
	rec.s = NULL;
}
END_TEST

static unsigned int absent, hints;

static void on_absent(void *arg, uint32_t level, const char *name, const char *text)
{
	const bool hint = strstr(text, "pref64-reserve=SIZE (docs/guest.md)") != NULL;

	(void)arg;
	(void)level;
	if (!strstr(text, "not there in time"))
		return;
	absent++;
	hints += hint;
	ck_assert_int_eq(hint, !strcmp(name, "late"));
}

/* One whose region has no format yet: the reason is in its guest. */
START_TEST(what_is_not_there_in_time_comes_with_a_hint)
{
	char path[300];
	struct xvt_error why;
	uint64_t sleep_ns;
	int fd;

	snprintf(path, sizeof(path), "%s", scratch_path("late"));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	close(fd);
	ck_assert_int_eq(xvt_session_add(s, "late", path, NULL, true, &why), 0);
	absent = hints = 0;
	s->opt.note = on_absent;
	s->opt.join_timeout_ns = 0;
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
	ck_assert_uint_ge(absent, 1);
	ck_assert_uint_eq(hints, 1);
}
END_TEST

static unsigned int slew_notes, slew_ends;

static void on_slew(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)level;
	(void)name;
	slew_notes += strstr(text, "is slewed by more than") != NULL;
	slew_ends += strstr(text, "is slewed fast no more") != NULL;
}

static void next_second(void)
{
	struct timespec t = { .tv_nsec = 20000000 };
	uint64_t sleep_ns;

	nanosleep(&t, NULL);
	s->clock.next_look_clock = 0;
	s->passes.next_second_clock = 0;
	s->passes.next_clock = 0;
	ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
}

START_TEST(a_fast_slew_is_said_once)
{
	slew_notes = slew_ends = 0;
	slew_from = slew_until = UINT64_MAX;
	s->opt.note = on_slew;
	s->clock.parts.ns = slewed_ns;
	next_second();
	ck_assert_uint_eq(slew_notes, 0);
	slew_from = real_ns(CLOCK_MONOTONIC_RAW);
	for (int i = 0; i < 5; i++)
		next_second();
	ck_assert_uint_eq(slew_notes, 1);
	ck_assert_uint_eq(slew_ends, 0);
	/* 8.3 % of 100 ms; when the slew is first seen depends on when the clocks are read. */
	ck_assert_int_lt(s->clock.apart_ns, -5 * 20000000 / 100 * 3);
	slew_until = real_ns(CLOCK_MONOTONIC_RAW);
	for (int i = 0; i < 5; i++)
		next_second();
	ck_assert_uint_eq(slew_notes, 1);
	ck_assert_uint_eq(slew_ends, 1);
}
END_TEST

/* Its metadata as a guest says it after a boot: `n` formats of this text, which may be empty. */
static void boot_with(unsigned int n, const char *text)
{
	struct xvt_meta_hdr *h = (struct xvt_meta_hdr *)(rec.map + rec.g.meta_off);
	unsigned int i;

	xvt_store_release(&h->committed, 0);
	xvt_vm_read_metadata(s, rec.vm);
	for (i = 0; i < n; i++)
		ck_assert_int_eq(xvt_meta_append(rec.map, &rec.g, XVT_META_FORMAT, 300 + i, NULL, 0,
						 text, (uint32_t)strlen(text)),
				 0);
	xvt_vm_read_metadata(s, rec.vm);
}

/* META chunks in the trace, and what they take there. */
static size_t metas(size_t *bytes)
{
	const struct xvt_chunk_hdr *chunk;
	size_t at = 0, n = 0, before = 0;

	xvt_session_flush(s);
	for (*bytes = 0; (chunk = recording_chunk(&rec, &at)); before = at) {
		n += chunk->type == XVT_CHUNK_META;
		*bytes += chunk->type == XVT_CHUNK_META
				  ? at - before + sizeof(struct xvt_index_entry)
				  : 0;
	}
	return n;
}

START_TEST(formats_that_are_said_again_are_written_once)
{
	uint32_t *generation = &((struct xvt_region_hdr *)rec.map)->generation;
	size_t bytes;

	for (unsigned int boot = 0; boot < 20; boot++, ++*generation)
		boot_with(10, "the same");
	ck_assert_uint_eq(metas(&bytes), 10);
	boot_with(10, "another");
	ck_assert_uint_eq(metas(&bytes), 20);
	/* The older text holds again: it has to be said. */
	++*generation;
	boot_with(10, "the same");
	ck_assert_uint_eq(metas(&bytes), 30);
}
END_TEST

static void say_format(const char *text)
{
	ck_assert_int_eq(xvt_meta_append(rec.map, &rec.g, XVT_META_FORMAT, 0, NULL, 0, text,
					 (uint32_t)strlen(text)),
			 0);
	xvt_vm_read_metadata(s, rec.vm);
}

/* The newest META of XVT_META_SINCE; 0: none. */
static uint64_t newest_since(unsigned int *count)
{
	const struct xvt_chunk_hdr *chunk;
	uint64_t since = 0;
	size_t at = 0;

	xvt_session_flush(s);
	for (*count = 0; (chunk = recording_chunk(&rec, &at));) {
		const struct xvt_meta_info *info = (const struct xvt_meta_info *)(chunk + 1);

		if (chunk->type != XVT_CHUNK_META || info->type != XVT_META_SINCE)
			continue;
		memcpy(&since, info + 1, sizeof(since));
		++*count;
	}
	return since;
}

/* A newer kernel gives the number of a removed event to the next one. */
START_TEST(a_number_used_again_says_from_when_on)
{
	const uint64_t forged = 5;
	uint64_t before, after;
	unsigned int n;

	say_format("\nID: 1496\none");
	say_format("\nID: 1497\ntwo");
	ck_assert_uint_eq(newest_since(&n), 0);
	ck_assert_uint_eq(n, 0);
	before = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	xvt_vm_read_metadata(s, rec.vm); /* it is not there yet */
	after = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	say_format("\nID: 1496\nthree");
	ck_assert_uint_ge(newest_since(&n), before);
	ck_assert_uint_le(newest_since(&n), after);
	ck_assert_uint_eq(n, 1);
	/* Only the recorder says so. */
	ck_assert_int_eq(xvt_meta_append(rec.map, &rec.g, XVT_META_SINCE, 0, NULL, 0, &forged,
					 sizeof(forged)),
			 0);
	say_format("\nID: 1498\nfour");
	ck_assert_uint_ge(newest_since(&n), before);
	ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(a_guest_that_names_no_functions_is_noted_once)
{
	size_t bytes;

	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_eq(
			xvt_meta_append(rec.map, &rec.g, XVT_META_KSYMS, 0, NULL, 0, NULL, 0), 0);
	xvt_vm_read_metadata(s, rec.vm);
	ck_assert_uint_eq(metas(&bytes), 0);
	ck_assert_uint_eq(times_noted("names no functions (symbols=0)"), 1);
}
END_TEST

/* Each time that another one gives way, also to a later generation. */
START_TEST(a_machine_that_gave_way_is_noted_once)
{
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)rec.map;
	const struct xvt_layout layout = { .kind = XVT_KIND_LINUX };
	const uint8_t uuid[16] = { 1 };
	const char text[] = "another machine wrote to this region";

	next_second();
	ck_assert_uint_eq(times_noted(text), 0);
	xvt_store(&h->displaced, 1);
	next_second();
	next_second();
	ck_assert_uint_eq(times_noted(text), 1);
	xvt_region_new_generation(rec.map, &rec.g, &layout, uuid);
	ck_assert_uint_eq(xvt_load(&h->displaced), 0);
	next_second();
	ck_assert_uint_eq(times_noted(text), 1);
	xvt_store(&h->displaced, 1);
	next_second();
	ck_assert_uint_eq(times_noted(text), 2);
}
END_TEST

/* Each one once. A claim that has no answer is none. */
START_TEST(a_machine_that_was_refused_is_noted_once)
{
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)rec.map;
	const char text[] = "another machine has this region's memory: it was refused";
	uint32_t claim = xvt_claim_put(rec.map, 100);

	next_second();
	ck_assert_uint_eq(times_noted(text), 0);
	ck_assert(xvt_claim_answer(rec.map));
	next_second();
	next_second();
	ck_assert_uint_eq(times_noted(text), 1);
	xvt_store(&h->claim, claim); /* it asks again */
	next_second();
	xvt_claim_answer(rec.map);
	next_second();
	ck_assert_uint_eq(times_noted(text), 2);
	xvt_claim_put(rec.map, 200);
	xvt_claim_answer(rec.map);
	next_second();
	ck_assert_uint_eq(times_noted(text), 3);
}
END_TEST

/* A guest that writes nonsense there: no more notes than of anything else. */
START_TEST(a_flooded_claim_costs_no_more_than_other_notes)
{
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)rec.map;

	for (uint32_t i = 0; i < 1000; i++) {
		xvt_store(&h->claim, 2 * i + 1);
		next_second();
	}
	ck_assert_uint_le(times_noted("another machine has this region's memory"), 100);
	ck_assert_uint_gt(rec.vm->notes.left_out, 800);
}
END_TEST

START_TEST(cpus_without_a_ring_are_noted_as_they_come)
{
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)rec.map;

	xvt_store(&h->ringless, 1);
	next_second();
	next_second();
	ck_assert_uint_eq(times_noted("1 CPUs that came up in the guest have no ring"), 1);
	xvt_store(&h->ringless, 3);
	next_second();
	ck_assert_uint_eq(times_noted("3 CPUs that came up in the guest have no ring"), 1);
}
END_TEST

static const char late_name[] = "ffffffff81000000 t late 10\n";

/* A guest that names a function only after the recorder has switched its rings off, and has made
 * its first pass since. */
static void name_late(void)
{
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)rec.map;

	if (xvt_load(&rec.vm->rings[0]->host->enable) != XVT_ENABLE_OFF ||
	    xvt_load(&h->symbols_done))
		return;
	xvt_meta_append(rec.map, &rec.g, XVT_META_KSYMS, 0, NULL, 0, late_name,
			sizeof(late_name) - 1);
	xvt_store_release(&h->symbols_done, 1);
}

static void end_with_names_due(uint32_t wanted)
{
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)rec.map;

	xvt_store(&rec.vm->rings[0]->host->enable, (uint32_t)XVT_ENABLE_STOP);
	xvt_store(&h->symbols_wanted, wanted);
	phase_anew(rec.vm->rings[0], XVT_PHASE_DONE);
	ck_assert(xvt_vm_names_due(rec.vm));
}

START_TEST(the_end_waits_for_names)
{
	size_t bytes;

	end_with_names_due(1);
	faults.at_loop = name_late;
	ck_assert_int_eq(xvt_session_end(s), 0);
	faults.at_loop = NULL;
	ck_assert_uint_eq(metas(&bytes), 1);
	xvt_session_free(s);
	rec.s = NULL;
}
END_TEST

/* The other limits of the end are 60 s here. */
START_TEST(the_end_does_not_wait_long_for_names)
{
	end_with_names_due(7);
	ck_assert_int_eq(xvt_session_end(s), 0);
	ck_assert(xvt_vm_names_due(rec.vm));
	xvt_session_free(s);
	rec.s = NULL;
}
END_TEST

START_TEST(metadata_without_end_does_not_fill_the_trace)
{
	size_t bytes, n;

	/* What a chunk takes is counted, however small it is. */
	boot_with(300, "");
	n = metas(&bytes);
	ck_assert_uint_eq(n, 300);
	ck_assert_uint_ge(rec.vm->metadata.written, bytes);
	rec.vm->metadata.written = 64u << 20;
	boot_with(1, "one more");
	ck_assert_uint_eq(metas(&bytes), n + 1);
	ck_assert(!is_noted("all metadata that one machine may put there"));
	for (unsigned int boot = 0; boot < 5; boot++)
		boot_with(1, boot % 2 ? "a" : "b");
	ck_assert_uint_eq(metas(&bytes), n + 1);
	ck_assert(is_noted("all metadata that one machine may put there"));
}
END_TEST

/* The regions of one user are many, that of another is one. */
START_TEST(users_have_equal_shares_whatever_their_machines)
{
	const uint64_t memory = s->opt.memory_bytes - s->pool.budget;
	struct xvt_vm *vm;
	char name[16];
	struct xvt_error why;
	uint32_t i;

	if (geteuid())
		return;
	for (i = 0; i < 4; i++) {
		const char *path = region_at("owned", 1);

		snprintf(name, sizeof(name), "many%u", i);
		ck_assert_int_eq(chown(path, 65534, 65534), 0);
		ck_assert_int_eq(xvt_session_add(s, name, path, NULL, false, &why), 0);
		ck_assert_int_eq(unlink(path), 0);
		vm = xvt_session_find(s, name);
		ck_assert_uint_eq(rec.vm->pool.budget, memory / 2);
		ck_assert_uint_eq(vm->pool.budget, memory / 2 / (i + 1));
		ck_assert_uint_eq(xvt_session_sharing(s, rec.vm), 2);
		ck_assert_uint_eq(xvt_session_sharing(s, vm), 2 * (i + 1));
		ck_assert_ptr_ne(vm->pool.lent, rec.vm->pool.lent);
		ck_assert(vm->pool.lent->shared);
	}
	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		xvt_vm_close(s, xvt_session_find(s, name), XVT_STATE_GONE);
	}
	ck_assert_uint_eq(rec.vm->pool.budget, memory);
	ck_assert(!rec.vm->pool.lent->shared);
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
	tcase_add_test(t, notes_about_a_machine_have_a_limit);
	tcase_add_test(t, a_flood_about_many_machines_hides_no_other);
	tcase_add_test(t, a_machine_has_no_more_rings_than_it_may_have);
	tcase_add_test(t, a_refused_event_is_named);
	tcase_add_test(t, a_user_adds_events);
	tcase_add_test(t, a_refusal_waits_for_the_owner);
	tcase_add_loop_test(t, a_refusal_without_a_reason_is_told_in_the_end, 0, 2);
	tcase_add_test(t, a_guest_that_begins_again_is_asked_again);
	tcase_add_loop_test(t, an_answer_that_comes_late_counts, 0, 2);
	tcase_add_test(t, an_answer_may_take_five_seconds);
	tcase_add_test(t, answers_without_end_do_not_fill_the_trace);
	tcase_add_test(t, formats_that_are_said_again_are_written_once);
	tcase_add_test(t, a_number_used_again_says_from_when_on);
	tcase_add_test(t, a_guest_that_names_no_functions_is_noted_once);
	tcase_add_test(t, a_machine_that_gave_way_is_noted_once);
	tcase_add_test(t, a_machine_that_was_refused_is_noted_once);
	tcase_add_test(t, a_flooded_claim_costs_no_more_than_other_notes);
	tcase_add_test(t, cpus_without_a_ring_are_noted_as_they_come);
	tcase_add_test(t, the_end_waits_for_names);
	tcase_add_test(t, the_end_does_not_wait_long_for_names);
	tcase_add_test(t, metadata_without_end_does_not_fill_the_trace);
	tcase_add_test(t, rings_have_the_numbers_that_an_event_can_name);
	tcase_add_test(t, a_ring_that_comes_and_goes_is_announced_once);
	tcase_add_test(t, what_a_guest_changes_is_announced_once_a_second);
	tcase_add_test(t, what_was_announced_too_soon_is_there_at_the_end);
	tcase_add_test(t, what_its_events_need_is_announced_at_once);
	tcase_add_loop_test(t, a_ring_that_never_got_a_clock_is_off_and_unconfirmed, 0, 2);
	tcase_add_test(t, what_is_not_there_in_time_comes_with_a_hint);
	tcase_add_test(t, a_fast_slew_is_said_once);
	tcase_add_test(t, users_have_equal_shares_whatever_their_machines);
	suite_add_tcase(suite, t);
	return suite;
}
