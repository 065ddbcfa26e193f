// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_halt.c - a machine that is stopped by request, and started again. Its guest is not
 * there, or the test is its guest; t_control_machines.sh has machines that write.
 */
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "recording.h"

#define UID 1234u

static struct recording rec;
static struct xvt_session *s;
static unsigned int stops, starts;

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)level;
	(void)name;
	stops += !strcmp(text, "the recording of g1 is stopped, by request of uid 1234");
	starts += !strcmp(text, "g1 is started, by request of uid 1234");
}

static void setup(void)
{
	const struct xvt_session_options opt = { .note = on_note,
						 .mode = XVT_ENABLE_STOP,
						 .follow = true,
						 .stall_timeout_ns = 1000000,
						 .memory_bytes = 8 << 20 };

	stops = starts = 0;
	recording_begin(&rec, 2, &opt);
	s = rec.s;
}

static void teardown(void)
{
	recording_end(&rec);
}

/* Passes until the stop is done: without a guest, when the recorder's patience is over. */
static void until_stopped(struct xvt_vm *vm)
{
	uint64_t sleep_ns;

	while (xvt_session_vm_stopping(vm)) {
		ck_assert_int_eq(xvt_session_vm_stopping(vm), -EAGAIN);
		s->passes.next_clock = 0;
		ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
		usleep(1000);
	}
}

/* Another recorder's claim of the region. Returns 0 or -errno. */
static int claim(void)
{
	struct xvt_host_region region;
	int err = xvt_host_region_open(&region, rec.vm->path, true);

	ck_assert_int_eq(err, 0);
	err = xvt_host_region_claim(&region, 0);
	xvt_host_region_close(&region);
	return err;
}

static struct xvt_vm *match(const char *pattern)
{
	size_t at = 0;

	return xvt_session_next_match(s, &at, pattern);
}

START_TEST(its_region_is_free)
{
	const struct xvt_host_page *page = xvt_host_region_page(&rec.vm->region);
	const uint64_t *attach_id =
		(const uint64_t *)(rec.map +
				   ((const uint8_t *)&page->attach_id - rec.vm->region.map));
	int before;

	ck_assert_int_eq(claim(), -EBUSY);
	ck_assert_uint_ne(*attach_id, 0);
	before = open_descriptors();
	xvt_session_vm_stop(rec.vm, UID);
	ck_assert_uint_eq(stops, 1);
	ck_assert(xvt_session_vm_is_stopped(rec.vm));
	ck_assert_int_eq(claim(), -EBUSY);
	until_stopped(rec.vm);
	ck_assert_uint_eq(rec.vm->phase, XVT_VM_GONE);
	ck_assert_str_eq(rec.vm->why, "by request of uid 1234");
	ck_assert_uint_eq(*attach_id, 0);
	ck_assert_int_eq(claim(), 0);
	ck_assert_int_eq(open_descriptors(), before - 1);
	ck_assert_uint_eq(xvt_session_stopped(s), 1);
	ck_assert_uint_eq(xvt_session_alive(s), 0);
}
END_TEST

START_TEST(it_stays_so_until_it_is_started)
{
	struct xvt_vm *as = rec.vm;
	struct xvt_error why = { "" };

	xvt_session_vm_stop(rec.vm, UID);
	until_stopped(rec.vm);
	/* Another file under its path. */
	ck_assert_int_eq(unlink(rec.vm->path), 0);
	xvt_session_look_for_files(s, xvt_clock_read());
	ck_assert_int_eq(xvt_session_vm_start(rec.vm, UID, &as, &why), 0);
	ck_assert_ptr_null(as);
	ck_assert_uint_eq(starts, 1);
	ck_assert(!xvt_session_vm_is_stopped(rec.vm));
	ck_assert_uint_eq(s->nr_vms, 1);
}
END_TEST

START_TEST(it_is_another_machine_then)
{
	struct xvt_vm *as;
	struct xvt_error why = { "" };

	xvt_session_vm_stop(rec.vm, UID);
	until_stopped(rec.vm);
	s->passes.seconds++;
	xvt_session_look_for_files(s, xvt_clock_read());
	ck_assert_uint_eq(s->nr_vms, 1);
	ck_assert_ptr_eq(match("g1"), rec.vm);
	ck_assert_int_eq(xvt_session_vm_start(rec.vm, UID, &as, &why), 0);
	ck_assert_uint_eq(starts, 1);
	ck_assert_str_eq(as->name, "g1.2");
	ck_assert_uint_eq(as->phase, XVT_VM_ATTACHED);
	ck_assert_int_eq(claim(), -EBUSY);
	ck_assert_uint_eq(xvt_session_alive(s), 1);
	/* By its first name, its own, a pattern. */
	ck_assert_ptr_eq(match("g1"), as);
	ck_assert_ptr_eq(match("g1.2"), as);
	ck_assert_ptr_eq(match("g[0-9]*"), as);
	ck_assert_ptr_null(match("g2"));
	ck_assert_ptr_null(match("g"));
	/* And so on. */
	xvt_session_vm_stop(as, UID);
	until_stopped(as);
	ck_assert_int_eq(claim(), 0);
	ck_assert_int_eq(xvt_session_vm_start(as, UID, &as, &why), 0);
	ck_assert_str_eq(as->name, "g1.3");
}
END_TEST

static void report(struct xvt_vm *vm, enum xvt_vmm_event event)
{
	const struct xvt_vmm_report r = { .event = event };

	xvt_session_vmm_report(vm, &r);
}

static void ck_paused(const struct xvt_vm *vm, uint64_t least_ns, uint64_t most_ns)
{
	ck_assert_uint_ge(xvt_vm_paused_ns(s, vm), least_ns);
	ck_assert_uint_le(xvt_vm_paused_ns(s, vm), most_ns);
}

/* Moves what happened so far into the past. */
static void pass_time(struct xvt_vm *vm, uint64_t ns)
{
	vm->span.begin_clock -= ticks(s, ns);
	vm->vmm.paused_at_ns -= ns;
	vm->span.end_clock -= vm->span.end_clock ? ticks(s, ns) : 0;
}

/* A pause of 15 s, of which the first and the last 5 s are recorded, by two machines. */
START_TEST(a_pause_counts_where_it_is_recorded)
{
	struct xvt_vm *vm = rec.vm, *as;
	uint64_t most_ns = 9 * SECOND_NS;
	struct xvt_error why = { "" };

	vm->span.begin_clock -= ticks(s, SECOND_NS);
	report(vm, XVT_VMM_RUNNING);
	report(vm, XVT_VMM_STOPPED);
	pass_time(vm, 5 * SECOND_NS);
	xvt_session_vm_stop(vm, UID);
	until_stopped(vm);
	pass_time(vm, 5 * SECOND_NS);
	ck_paused(vm, 5 * SECOND_NS, most_ns);
	ck_assert_int_eq(xvt_session_vm_start(vm, UID, &as, &why), 0);
	ck_assert(xvt_vm_is_paused(as));
	pass_time(as, 5 * SECOND_NS);
	ck_paused(as, 5 * SECOND_NS, most_ns);
	report(vm, XVT_VMM_RUNNING); /* the VMM knows one machine */
	ck_assert(!xvt_vm_is_paused(as));
	ck_paused(vm, 5 * SECOND_NS, most_ns);
	ck_paused(as, 5 * SECOND_NS, most_ns);
}
END_TEST

/* One that begins while nothing of the machine is recorded belongs to the one that is started. */
START_TEST(a_pause_that_is_not_recorded_counts_nothing)
{
	struct xvt_vm *vm = rec.vm, *as;
	struct xvt_error why = { "" };

	report(vm, XVT_VMM_RUNNING);
	xvt_session_vm_stop(vm, UID);
	until_stopped(vm);
	report(vm, XVT_VMM_STOPPED);
	pass_time(vm, 5 * SECOND_NS);
	ck_paused(vm, 0, 0);
	ck_assert_int_eq(xvt_session_vm_start(vm, UID, &as, &why), 0);
	ck_assert(xvt_vm_is_paused(as));
	pass_time(as, 5 * SECOND_NS);
	report(vm, XVT_VMM_RUNNING);
	ck_paused(vm, 0, 0);
	ck_paused(as, 5 * SECOND_NS, 9 * SECOND_NS);
	report(vm, XVT_VMM_STOPPED);
	xvt_session_vm_stop(as, UID);
	until_stopped(as);
	report(vm, XVT_VMM_RUNNING);
	ck_assert_int_eq(xvt_session_vm_start(as, UID, &as, &why), 0);
	ck_assert(!xvt_vm_is_paused(as));
	ck_paused(as, 0, 0);
}
END_TEST

START_TEST(what_prevents_a_start_leaves_it_stopped)
{
	struct xvt_host_region region;
	struct xvt_vm *as;
	struct xvt_error why = { "" };

	xvt_session_vm_stop(rec.vm, UID);
	until_stopped(rec.vm);
	ck_assert_int_eq(xvt_host_region_open(&region, rec.vm->path, true), 0);
	ck_assert_int_eq(xvt_host_region_claim(&region, 0), 0);
	ck_assert_int_eq(xvt_session_vm_start(rec.vm, UID, &as, &why), -EBUSY);
	ck_assert_ptr_nonnull(strstr(why.text, "another xvtrace"));
	ck_assert(xvt_session_vm_is_stopped(rec.vm));
	ck_assert_uint_eq(s->nr_vms, 1);
	ck_assert_uint_eq(starts, 0);
	xvt_host_region_close(&region);
}
END_TEST

START_TEST(it_is_kept_while_it_is_stopped)
{
	xvt_session_vm_stop(rec.vm, UID);
	until_stopped(rec.vm);
	rec.vm->files.left_out = rec.vm->chain.deleted = true;
	xvt_session_free_left(s);
	ck_assert_uint_eq(s->nr_vms, 1);
	xvt_vm_set_state(rec.vm, XVT_STATE_GONE);
	xvt_session_free_left(s);
	ck_assert_uint_eq(s->nr_vms, 0);
}
END_TEST

START_TEST(one_without_a_guest_is_stopped_at_once)
{
	const char *path = scratch_path("blank");
	const int before = open_descriptors(), fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct xvt_vm *vm;
	struct xvt_error why;

	ck_assert_int_eq(ftruncate(fd, RECORDING_REGION_SIZE), 0);
	close(fd);
	ck_assert_int_eq(xvt_session_add(s, "g2", path, NULL, true, &why), 0);
	vm = match("g2");
	ck_assert_uint_eq(vm->phase, XVT_VM_WAITING);
	xvt_session_vm_stop(vm, UID);
	ck_assert_int_eq(xvt_session_vm_stopping(vm), 0);
	ck_assert_uint_eq(vm->phase, XVT_VM_GONE);
	ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

Suite *session_halt_suite(void)
{
	Suite *suite = suite_create("session_halt");
	TCase *tc = tcase_create("stop and start");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, its_region_is_free);
	tcase_add_test(tc, it_stays_so_until_it_is_started);
	tcase_add_test(tc, it_is_another_machine_then);
	tcase_add_test(tc, a_pause_counts_where_it_is_recorded);
	tcase_add_test(tc, a_pause_that_is_not_recorded_counts_nothing);
	tcase_add_test(tc, what_prevents_a_start_leaves_it_stopped);
	tcase_add_test(tc, it_is_kept_while_it_is_stopped);
	tcase_add_test(tc, one_without_a_guest_is_stopped_at_once);
	suite_add_tcase(suite, tc);
	return suite;
}
