// SPDX-License-Identifier: GPL-2.0
/*
 * test_vm_libvirt.c - libvirt's events in our loop, told by libvirt's own "test" hypervisor: no
 * daemon, no QEMU. It is per process, so what a test does to its domain ends with the test.
 */
#include "suites.h"

#include <libvirt/libvirt.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "vmm/libvirt.h"

#define URI "test:///default"

static struct xvt_loop *loop;
static struct xvt_vmm *vmm;
static virConnectPtr conn;
static virDomainPtr dom;
static unsigned char uuid[VIR_UUID_BUFLEN];
static struct xvt_vmm_report reports[16];
static unsigned int nr_reports;

static void on_report(void *arg, const struct xvt_vmm_report *r)
{
	ck_assert_ptr_eq(arg, &reports);
	ck_assert_uint_lt(nr_reports, 16);
	reports[nr_reports++] = *r;
}

static void setup(void)
{
	nr_reports = 0;
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	conn = virConnectOpen(URI);
	ck_assert_ptr_nonnull(conn);
	dom = virDomainLookupByName(conn, "test");
	ck_assert_ptr_nonnull(dom);
	ck_assert_int_eq(virDomainGetUUID(dom, uuid), 0);
}

static void teardown(void)
{
	virDomainFree(dom);
	virConnectClose(conn);
	xvt_loop_free(loop);
}

static int begin(struct xvt_vmm **out)
{
	struct xvt_error why;

	return xvt_libvirt_listen(out, loop, URI, uuid, on_report, &reports, &why);
}

static void ck_next(unsigned int i, enum xvt_vmm_event event, const char *why)
{
	while (nr_reports <= i)
		ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 0);
	ck_assert_uint_eq(reports[i].event, event);
	ck_assert_uint_eq(reports[i].realtime_ns, 0);
	ck_assert_msg(strstr(reports[i].why, why), "\"%s\" is not \"%s\"", reports[i].why, why);
}

START_TEST(a_domain_has_a_device_for_panics_or_none)
{
	static const char xml[] =
		"<domain type='test'><name>panics</name><memory>8192</memory><os><type>hvm</type>"
		"</os><devices><panic model='isa'/></devices></domain>";
	virDomainPtr with = virDomainCreateXML(conn, xml, 0);
	struct xvt_domain domain;
	struct xvt_error why;

	ck_assert_ptr_nonnull(with);
	ck_assert_int_eq(xvt_libvirt_find(URI, "panics", &domain, &why), -ENODEV);
	ck_assert(domain.panics);
	ck_assert_int_eq(xvt_libvirt_find(URI, "test", &domain, &why), -ENODEV);
	ck_assert(!domain.panics);
	virDomainDestroy(with);
	virDomainFree(with);
}
END_TEST

START_TEST(pauses_and_the_end)
{
	ck_assert_int_eq(begin(&vmm), 0);
	ck_assert_uint_eq(nr_reports, 1); /* by then */
	ck_next(0, XVT_VMM_RUNNING, "");
	ck_assert_int_eq(virDomainSuspend(dom), 0);
	ck_next(1, XVT_VMM_STOPPED, "paused");
	ck_assert_int_eq(virDomainResume(dom), 0);
	ck_next(2, XVT_VMM_RUNNING, "");
	/* Several at once, in order. */
	ck_assert_int_eq(virDomainSuspend(dom), 0);
	ck_assert_int_eq(virDomainResume(dom), 0);
	ck_assert_int_eq(virDomainDestroy(dom), 0);
	ck_next(3, XVT_VMM_STOPPED, "paused");
	ck_next(4, XVT_VMM_RUNNING, "");
	ck_next(5, XVT_VMM_GONE, "destroyed");
	ck_assert_int_eq(reports[5].err, 0);
	vmm->ops->close(vmm);
	ck_assert_uint_eq(nr_reports, 6);
}
END_TEST

/* The domain's region is recorded on, so its pauses count again. */
START_TEST(a_domain_that_is_started_again_is_listened_to)
{
	unsigned int i;

	ck_assert_int_eq(begin(&vmm), 0);
	ck_next(0, XVT_VMM_RUNNING, "");
	for (i = 1; i < 9; i += 4) {
		ck_assert_int_eq(virDomainDestroy(dom), 0);
		ck_next(i, XVT_VMM_GONE, "destroyed");
		ck_assert_int_eq(virDomainCreate(dom), 0);
		ck_next(i + 1, XVT_VMM_RUNNING, "");
		ck_assert_int_eq(virDomainSuspend(dom), 0);
		ck_next(i + 2, XVT_VMM_STOPPED, "paused");
		ck_assert_int_eq(virDomainResume(dom), 0);
		ck_next(i + 3, XVT_VMM_RUNNING, "");
	}
	vmm->ops->close(vmm);
	ck_assert_uint_eq(nr_reports, 9);
}
END_TEST

START_TEST(found_paused)
{
	ck_assert_int_eq(virDomainSuspend(dom), 0);
	ck_assert_int_eq(begin(&vmm), 0);
	ck_next(0, XVT_VMM_STOPPED, "paused");
	vmm->ops->close(vmm);
}
END_TEST

START_TEST(found_shut_off)
{
	ck_assert_int_eq(virDomainDestroy(dom), 0);
	ck_assert_int_eq(begin(&vmm), 0);
	ck_next(0, XVT_VMM_GONE, "does not run");
	vmm->ops->close(vmm);
}
END_TEST

START_TEST(two_listeners_end_one_by_one)
{
	struct xvt_vmm *other;
	int turn;

	/* And begin again: the loop is free each time. */
	for (turn = 0; turn < 3; turn++) {
		nr_reports = 0;
		ck_assert_int_eq(begin(&vmm), 0);
		ck_assert_int_eq(begin(&other), 0);
		ck_assert_int_eq(virDomainSuspend(dom), 0);
		ck_next(2, XVT_VMM_STOPPED, "paused");
		ck_next(3, XVT_VMM_STOPPED, "paused");
		vmm->ops->close(vmm);
		ck_assert_int_eq(virDomainResume(dom), 0);
		ck_next(4, XVT_VMM_RUNNING, "");
		/* What it was not told yet, it is not told any more. */
		ck_assert_int_eq(virDomainSuspend(dom), 0);
		other->ops->close(other);
		ck_assert_int_eq(virDomainResume(dom), 0);
		ck_assert_uint_eq(nr_reports, 5);
	}
}
END_TEST

/* What libvirt may do with a handler, done by us; and its own rule that a handler's memory is not
 * given back from within the call that removes it. */
static int calls, frees, handle, pair[2];

static void freed(void *opaque)
{
	ck_assert_ptr_eq(opaque, &calls);
	frees++;
}

static void on_timeout(int timer, void *opaque)
{
	ck_assert_ptr_eq(opaque, &calls);
	if (++calls == 3) {
		ck_assert_int_eq(virEventRemoveTimeout(timer), 0);
		ck_assert_int_eq(frees, 0);
	}
}

static void on_handle(int watch, int fd, int mask, void *opaque)
{
	char byte;

	ck_assert_ptr_eq(opaque, &calls);
	ck_assert_int_eq(watch, handle);
	ck_assert_int_eq(fd, pair[0]);
	switch (++calls) {
	case 1:
		ck_assert_int_eq(mask, VIR_EVENT_HANDLE_WRITABLE);
		virEventUpdateHandle(watch, VIR_EVENT_HANDLE_READABLE);
		break;
	case 2:
		ck_assert_int_eq(mask, VIR_EVENT_HANDLE_READABLE);
		ck_assert_int_eq(read(fd, &byte, 1), 1);
		virEventUpdateHandle(watch, 0);
		break;
	default:
		ck_assert_int_eq(mask, VIR_EVENT_HANDLE_READABLE);
		ck_assert_int_eq(virEventRemoveHandle(watch), 0);
		ck_assert_int_eq(frees, 0);
	}
}

static void run_calls(int n)
{
	while (calls < n)
		ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 0);
}

START_TEST(times_come_again_until_they_are_removed)
{
	int timer;

	ck_assert_int_eq(begin(&vmm), 0);
	timer = virEventAddTimeout(-1, on_timeout, &calls, freed);
	ck_assert_int_ge(timer, 0);
	virEventUpdateTimeout(timer, 1);
	run_calls(3);
	while (!frees)
		ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 0);
	ck_assert_int_eq(virEventRemoveTimeout(timer), -1);
	vmm->ops->close(vmm);
	ck_assert_int_eq(calls, 3);
	ck_assert_int_eq(frees, 1);
}
END_TEST

START_TEST(handles_can_change_while_they_are_waited_for)
{
	ck_assert_int_eq(begin(&vmm), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	handle = virEventAddHandle(pair[0], VIR_EVENT_HANDLE_READABLE, on_handle, &calls, freed);
	ck_assert_int_ge(handle, 0);
	/* From outside, while the loop waits for something else. */
	ck_assert_int_ge(xvt_loop_run(loop, 1000000u), 0);
	virEventUpdateHandle(handle, VIR_EVENT_HANDLE_WRITABLE);
	run_calls(1);
	ck_assert_int_eq(write(pair[1], "x", 1), 1);
	run_calls(2);
	/* Nothing is wanted: nothing comes, though there is something. */
	ck_assert_int_eq(write(pair[1], "x", 1), 1);
	ck_assert_int_ge(xvt_loop_run(loop, 1000000u), 0);
	ck_assert_int_eq(calls, 2);
	virEventUpdateHandle(handle, VIR_EVENT_HANDLE_READABLE);
	run_calls(3);
	/* One that waits in the loop when everything ends. */
	handle = virEventAddHandle(pair[1], VIR_EVENT_HANDLE_READABLE, on_handle, &calls, freed);
	vmm->ops->close(vmm);
	ck_assert_int_eq(calls, 3);
	ck_assert_int_eq(frees, 2);
	/* There is no listener and no loop: libvirt is refused. */
	ck_assert_int_eq(virEventAddHandle(pair[1], 1, on_handle, &calls, freed), -1);
	ck_assert_int_eq(virEventAddTimeout(1, on_timeout, &calls, freed), -1);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

START_TEST(no_such_domain_and_no_libvirt)
{
	struct xvt_loop *another;
	struct xvt_error why;

	uuid[0] ^= 1;
	ck_assert_int_eq(begin(&vmm), -ENOENT);
	uuid[0] ^= 1;
	ck_assert_int_eq(xvt_libvirt_listen(&vmm, loop, "test:///no/such/file", uuid, on_report,
					    &reports, &why),
			 -ECONNREFUSED);
	ck_assert_ptr_nonnull(strstr(why.text, "no/such/file"));
	/* One that failed leaves nothing behind: the next may use another loop, two at a time not.
	 */
	ck_assert_int_eq(xvt_loop_new(&another), 0);
	ck_assert_int_eq(xvt_libvirt_listen(&vmm, another, URI, uuid, on_report, &reports, &why),
			 0);
	ck_assert_int_eq(begin(&vmm), -EBUSY);
	vmm->ops->close(vmm);
	xvt_loop_free(another);
}
END_TEST

Suite *vm_libvirt_suite(void)
{
	Suite *s = suite_create("vm_libvirt");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_domain_has_a_device_for_panics_or_none);
	tcase_add_test(t, pauses_and_the_end);
	tcase_add_test(t, a_domain_that_is_started_again_is_listened_to);
	tcase_add_test(t, found_paused);
	tcase_add_test(t, found_shut_off);
	tcase_add_test(t, two_listeners_end_one_by_one);
	tcase_add_test(t, times_come_again_until_they_are_removed);
	tcase_add_test(t, handles_can_change_while_they_are_waited_for);
	tcase_add_test(t, no_such_domain_and_no_libvirt);
	suite_add_tcase(s, t);
	return s;
}
