// SPDX-License-Identifier: GPL-2.0
/* test_vmm_qmp.c - the QMP listener against a server that says what the test wants it to say. */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/loop.h"
#include "vmm/qmp.h"

#define GREETING \
	"{\"QMP\": {\"version\": {\"qemu\": {\"major\": 7}}, \"capabilities\": [\"oob\"]}}\r\n"
#define HELLO	 "{\"return\": {}, \"id\": \"xvtrace-hello\"}\r\n"
#define STAMP	 "{\"timestamp\": {\"seconds\": 1795275677, \"microseconds\": 837331}, "
#define STAMP_NS 1795275677837331000ull

static struct xvt_loop *loop;
static struct xvt_vmm *vmm;
static struct xvt_vmm_report reports[64];
static unsigned int nr_reports;
static int listener, server;

static void on_report(void *arg, const struct xvt_vmm_report *r)
{
	ck_assert_ptr_eq(arg, &reports);
	ck_assert_uint_lt(nr_reports, 64);
	reports[nr_reports++] = *r;
}

static const char *make_socket(const char *name)
{
	const char *path = scratch_path(name);
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	unlink(path);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(listener, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	return path;
}

static void setup(void)
{
	struct xvt_error why;

	nr_reports = 0;
	xvt_qmp_greeting_ms = 60000;
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_qmp_listen(&vmm, loop, make_socket("qmp"), on_report, &reports, &why),
			 0);
	server = accept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
}

static void teardown(void)
{
	vmm->ops->close(vmm);
	xvt_loop_free(loop);
	close(server);
	close(listener);
}

static void say(const char *text)
{
	size_t len = strlen(text);

	ck_assert_int_eq(send(server, text, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* Until `n` reports have come; what must not come is looked for in the round after them. */
static void run_until(unsigned int n)
{
	while (nr_reports < n)
		ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 0);
}

/* The listener's next command, which must hold `word`. */
static void expect(const char *word)
{
	char text[512];
	ssize_t n;

	while ((n = recv(server, text, sizeof(text) - 1, MSG_DONTWAIT)) < 0) {
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 0);
	}
	text[n] = 0;
	ck_assert_msg(strstr(text, word), "\"%s\" is not \"%s\"", text, word);
	ck_assert_ptr_eq(strchr(text, '\n'), text + n - 1);
}

static void answer(const char *status, const char *running)
{
	char text[256];

	expect("\"query-status\"");
	snprintf(text, sizeof(text),
		 "{\"return\": {\"status\": \"%s\", \"singlestep\": false, \"running\": %s}, "
		 "\"id\": \"xvtrace-status\"}\r\n",
		 status, running);
	say(text);
}

static void begin(const char *status, const char *running)
{
	say(GREETING);
	expect("\"qmp_capabilities\"");
	say(HELLO);
	answer(status, running);
}

static void ck_report(unsigned int i, enum xvt_vmm_event event, uint64_t stamp, const char *why)
{
	ck_assert_uint_lt(i, nr_reports);
	ck_assert_uint_eq(reports[i].event, event);
	ck_assert_uint_eq(reports[i].realtime_ns, stamp);
	ck_assert_msg(strstr(reports[i].why, why), "\"%s\" is not \"%s\"", reports[i].why, why);
}

START_TEST(a_paused_machine_is_told_at_once)
{
	begin("paused", "false");
	run_until(1);
	ck_report(0, XVT_VMM_STOPPED, 0, "paused");
}
END_TEST

START_TEST(stop_and_resume_have_qemus_stamps)
{
	begin("running", "true");
	run_until(1);
	ck_report(0, XVT_VMM_RUNNING, 0, "");
	say(STAMP "\"event\": \"STOP\"}\r\n");
	run_until(2);
	ck_report(1, XVT_VMM_STOPPED, STAMP_NS, "");
	answer("paused", "false");
	say(STAMP "\"event\": \"RESUME\"}\r\n");
	run_until(3);
	ck_report(2, XVT_VMM_RUNNING, STAMP_NS, "");
	answer("running", "true");
	say(STAMP "\"event\": \"STOP\"}\r\n");
	run_until(4);
	ck_assert_uint_eq(nr_reports, 4);
}
END_TEST

START_TEST(every_event_that_counts)
{
	begin("running", "true");
	/* In one read, with others between that mean nothing here. */
	say(STAMP "\"event\": \"RESET\", \"data\": {\"guest\": false}}\r\n" STAMP
		  "\"event\": \"RTC_CHANGE\", \"data\": {\"offset\": 0}}\r\n\r\n" STAMP
		  "\"event\": \"SUSPEND\"}\n" STAMP "\"event\": \"WAKEUP\"}\r\n" STAMP
		  "\"event\": \"GUEST_PANICKED\", \"data\": {\"action\": \"pause\"}}\r\n" STAMP
		  "\"event\": \"STOP\"}\r\n");
	run_until(6);
	ck_report(1, XVT_VMM_RESET, STAMP_NS, "");
	ck_report(2, XVT_VMM_SUSPENDED, STAMP_NS, "");
	ck_report(3, XVT_VMM_WOKEN, STAMP_NS, "");
	ck_report(4, XVT_VMM_PANICKED, STAMP_NS, "pause");
	ck_report(5, XVT_VMM_STOPPED, STAMP_NS, "");
	/* The question that was asked after RESET is too old to be believed. */
	answer("running", "true");
	answer("guest-panicked", "false");
	say(STAMP "\"event\": \"SHUTDOWN\", \"data\": {\"reason\": \"host-qmp-quit\"}}\r\n");
	close(server);
	server = -1;
	run_until(7);
	ck_report(6, XVT_VMM_GONE, 0, "host-qmp-quit");
	ck_assert_int_eq(reports[6].err, 0);
}
END_TEST

/* QEMU ends because its guest panicked (-action panic=shutdown). */
START_TEST(an_end_by_a_panic_says_so)
{
	begin("running", "true");
	run_until(1);
	say(STAMP "\"event\": \"GUEST_PANICKED\", \"data\": {\"action\": \"poweroff\"}}\r\n");
	run_until(2);
	say(STAMP "\"event\": \"SHUTDOWN\", \"data\": {\"reason\": \"guest-panic\"}}\r\n");
	close(server);
	server = -1;
	run_until(3);
	ck_report(1, XVT_VMM_PANICKED, STAMP_NS, "poweroff");
	ck_report(2, XVT_VMM_GONE, 0, "guest panicked");
	ck_assert_int_eq(reports[2].err, 0);
}
END_TEST

START_TEST(a_read_ends_anywhere)
{
	static const char text[] =
		STAMP "\"event\": \"STOP\"}\r\n" STAMP "\"event\": \"RESUME\"}\r\n";
	unsigned int told = 1;
	size_t cut;

	begin("running", "true");
	run_until(told);
	for (cut = 1; cut < sizeof(text) - 1; cut += 7) {
		char first[sizeof(text)];

		memcpy(first, text, cut);
		first[cut] = 0;
		say(first);
		ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 0);
		say(text + cut);
		run_until(told + 2);
		ck_report(told++, XVT_VMM_STOPPED, STAMP_NS, "");
		ck_report(told++, XVT_VMM_RUNNING, STAMP_NS, "");
	}
}
END_TEST

START_TEST(a_reset_can_leave_a_sleeper_stopped)
{
	begin("suspended", "false");
	run_until(1);
	ck_report(0, XVT_VMM_SUSPENDED, 0, "");
	say(STAMP "\"event\": \"RESET\"}\r\n");
	answer("prelaunch", "false");
	run_until(3);
	ck_report(1, XVT_VMM_RESET, STAMP_NS, "");
	ck_report(2, XVT_VMM_STOPPED, 0, "prelaunch");
}
END_TEST

START_TEST(migration_out_shows_in_the_status)
{
	begin("running", "true");
	say(STAMP "\"event\": \"STOP\"}\r\n");
	answer("finish-migrate", "false");
	answer("finish-migrate", "false"); /* asked again after a while */
	answer("postmigrate", "false");
	run_until(3);
	ck_report(1, XVT_VMM_STOPPED, STAMP_NS, "");
	ck_report(2, XVT_VMM_MIGRATED_AWAY, 0, "");
	/* No query any more; what is said twice is reported once. */
	say(STAMP "\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}\r\n");
	answer("postmigrate", "false");
	say(STAMP "\"event\": \"RESUME\"}\r\n");
	run_until(4);
	ck_report(3, XVT_VMM_RUNNING, STAMP_NS, "");
}
END_TEST

START_TEST(migration_in_ends_with_resume)
{
	begin("inmigrate", "false");
	run_until(1);
	ck_report(0, XVT_VMM_STOPPED, 0, "inmigrate");
	say(STAMP "\"event\": \"RESUME\"}\r\n");
	run_until(3);
	ck_report(1, XVT_VMM_ARRIVED, STAMP_NS, "");
	ck_report(2, XVT_VMM_RUNNING, STAMP_NS, "");
	answer("running", "true");
	say(STAMP "\"event\": \"STOP\"}\r\n");
	run_until(4);
	ck_report(3, XVT_VMM_STOPPED, STAMP_NS, "");
}
END_TEST

static void ck_gone(unsigned int i, int err, const char *why)
{
	run_until(i + 1);
	ck_report(i, XVT_VMM_GONE, 0, why);
	ck_assert_int_eq(reports[i].err, err);
}

static const struct {
	const char *what;
	bool greeted;
	const char *says;
	int err;
	const char *why;
} nonsense[] = {
	{ "no JSON", false, "SSH-2.0-OpenSSH_9.2\r\n", -EPROTO, "not QMP" },
	{ "no greeting", false, "{\"return\": {}}\r\n", -EPROTO, "no greeting" },
	{ "no object", false, "[1, 2]\r\n", -EPROTO, "no greeting" },
	{ "a number", false, "12\r\n", -EPROTO, "not QMP" },
	{ "half a message", true, "{\"event\": \"STOP\"\r\n", -EPROTO, "not QMP" },
	{ "bytes", true, "{\"event\": \"\xff\xfe\"}\r\n", -EPROTO, "not QMP" },
	{ "two in a line", true, "{\"event\": \"STOP\"} {}\r\n", -EPROTO, "not QMP" },
	{ "a strange answer", true, "{\"return\": {}, \"id\": 7}\r\n", -EPROTO, "not asked" },
	{ "a refusal", true,
	  "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no \x1b[2J\"}, \"id\": \"x\"}\r\n",
	  -EPROTO, "not QMP" },
	{ "an error", true, "{\"error\": {\"desc\": \"too\\u001b bad\"}, \"id\": \"x\"}\r\n",
	  -EPROTO, "refuses x: too? bad" },
	{ "no status", true, "{\"return\": {}, \"id\": \"xvtrace-status\"}\r\n", -EPROTO,
	  "no status" },
};

/* The threads of vCPUs are asked for only where they are wanted. */
START_TEST(threads_of_vcpus_are_told_on_request)
{
	xvt_qmp_asks_vcpus = true;
	say(GREETING);
	expect("\"qmp_capabilities\"");
	say(HELLO);
	answer("running", "true");
	run_until(1);
	xvt_qmp_asks_vcpus = false;
	expect("\"query-cpus-fast\"");
	say("{\"return\": [{\"cpu-index\": 0, \"thread-id\": 77}, {\"cpu-index\": 1, "
	    "\"thread-id\": 0}, {\"cpu-index\": -1, \"thread-id\": 5}, {\"thread-id\": 6}, 8, "
	    "{\"cpu-index\": 2, \"thread-id\": 4294967296}, "
	    "{\"cpu-index\": 3, \"thread-id\": 79}], \"id\": \"xvtrace-vcpus\"}\r\n");
	run_until(3);
	ck_report(0, XVT_VMM_RUNNING, 0, "");
	ck_report(1, XVT_VMM_VCPU, 0, "");
	ck_assert_uint_eq(reports[1].vcpu, 0);
	ck_assert_int_eq(reports[1].tid, 77);
	ck_assert_uint_eq(reports[2].vcpu, 3);
	ck_assert_int_eq(reports[2].tid, 79);
	/* A second answer was not asked for. */
	say("{\"return\": [], \"id\": \"xvtrace-vcpus\"}\r\n");
	ck_gone(3, -EPROTO, "not asked");
}
END_TEST

START_TEST(nonsense_ends_this_listener)
{
	if (nonsense[_i].greeted) {
		say(GREETING);
		expect("\"qmp_capabilities\"");
		say(HELLO);
		expect("\"query-status\"");
	}
	say(nonsense[_i].says);
	ck_gone(0, nonsense[_i].err, nonsense[_i].why);
	/* And the peer sees it leave. */
	for (;;) {
		char byte;
		ssize_t n = recv(server, &byte, 1, MSG_DONTWAIT);

		if (n == 0)
			break;
		ck_assert_msg(n == 1 || errno == EAGAIN, "%s: %s", nonsense[_i].what,
			      strerror(errno));
		ck_assert_int_ge(xvt_loop_run(loop, 1000000u), 0);
	}
	ck_assert_uint_eq(nr_reports, 1);
}
END_TEST

/* say() blocks when the socket is full, so the listener has to read meanwhile. */
static void say_long(size_t len, char with)
{
	char chunk[1024];
	size_t n;

	memset(chunk, with, sizeof(chunk));
	for (; len; len -= n) {
		n = len < sizeof(chunk) ? len : sizeof(chunk);
		if (send(server, chunk, n, MSG_NOSIGNAL) < 0)
			return; /* it has hung up */
		ck_assert_int_ge(xvt_loop_run(loop, 1000000u), 0);
	}
}

START_TEST(a_line_has_a_longest_length)
{
	begin("running", "true");
	run_until(1);
	/* 1 MiB with its end is read, one byte more is not. */
	say_long((1 << 20) - 1, ' ');
	say("\n" STAMP "\"event\": \"STOP\"}\r\n");
	run_until(2);
	ck_report(1, XVT_VMM_STOPPED, STAMP_NS, "");
	say_long((1 << 20) + 1, 'x');
	ck_gone(2, -EMSGSIZE, "longer than 1024 KiB");
}
END_TEST

START_TEST(a_qemu_that_vanishes)
{
	begin("running", "true");
	run_until(1);
	close(server);
	server = -1;
	ck_gone(1, -EPIPE, "without a shutdown");
	ck_assert_int_ge(xvt_loop_run(loop, 1000000u), 0);
	ck_assert_uint_eq(nr_reports, 2);
}
END_TEST

START_TEST(a_busy_socket_is_a_time_out)
{
	struct xvt_vmm *other;
	struct xvt_error why;

	/* The server has its client; the second one waits in the queue without a word. */
	begin("running", "true");
	run_until(1);
	xvt_qmp_greeting_ms = 50;
	ck_assert_int_eq(
		xvt_qmp_listen(&other, loop, scratch_path("qmp"), on_report, &reports, &why), 0);
	ck_gone(1, -ETIMEDOUT, "one QMP client at a time");
	other->ops->close(other);
	/* The first one is not disturbed. */
	say(STAMP "\"event\": \"STOP\"}\r\n");
	run_until(3);
	ck_report(2, XVT_VMM_STOPPED, STAMP_NS, "");
}
END_TEST

START_TEST(a_queue_that_is_full)
{
	struct xvt_vmm *waiting[8], *none;
	unsigned int n = 0, i;
	struct xvt_error why;
	int err;

	for (;;) {
		ck_assert_uint_lt(n, 8);
		err = xvt_qmp_listen(&waiting[n], loop, scratch_path("qmp"), on_report, &reports,
				     &why);
		if (err)
			break;
		n++;
	}
	ck_assert_int_eq(err, -EBUSY);
	ck_assert_ptr_nonnull(strstr(why.text, "one client at a time"));
	for (i = 0; i < n; i++)
		waiting[i]->ops->close(waiting[i]);
	ck_assert_int_eq(
		xvt_qmp_listen(&none, loop, scratch_path("nobody"), on_report, &reports, &why),
		-ENOENT);
	ck_assert_int_eq(xvt_qmp_listen(&none, loop,
					"/a-path-that-is-longer-than-any-address-of-a-socket-can-"
					"be-whatever-one-does-because-there-are-108-bytes-for-it",
					on_report, &reports, &why),
			 -ENAMETOOLONG);
	ck_assert_uint_eq(nr_reports, 0);
}
END_TEST

START_TEST(a_stamp_that_is_none)
{
	begin("running", "true");
	say("{\"timestamp\": {\"seconds\": -1, \"microseconds\": -1}, \"event\": \"STOP\"}\n"
	    "{\"timestamp\": {\"seconds\": 9223372036854775807, \"microseconds\": 1}, "
	    "\"event\": \"RESUME\"}\n{\"event\": \"STOP\"}\n");
	run_until(4);
	ck_report(1, XVT_VMM_STOPPED, 0, "");
	ck_report(2, XVT_VMM_RUNNING, 0, "");
	ck_report(3, XVT_VMM_STOPPED, 0, "");
}
END_TEST

/* ------------------------------------------------------------ a machine that moves */

#define SOURCE 0
#define TARGET 1

static int listeners[2], servers[2];

/* The machine that is spoken for from here on. */
static void as(int which)
{
	server = servers[which];
}

static void meet(int which)
{
	while ((servers[which] = accept4(listeners[which], NULL, NULL, SOCK_NONBLOCK)) < 0)
		ck_assert_int_ge(xvt_loop_run(loop, 10000000u), 0);
	ck_assert_int_eq(fcntl(servers[which], F_SETFL, 0), 0);
}

static void open_place(int which)
{
	make_socket(which == SOURCE ? "source" : "target");
	listeners[which] = listener;
	ck_assert_int_eq(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
}

static void close_place(int which)
{
	close(servers[which]);
	close(listeners[which]);
	servers[which] = listeners[which] = -1;
	unlink(scratch_path(which == SOURCE ? "source" : "target"));
}

static void setup_all(void)
{
	char source[256], target[256];
	struct xvt_error why;
	const char *const paths[] = { source, target };

	snprintf(source, sizeof(source), "%s", scratch_path("source"));
	snprintf(target, sizeof(target), "%s", scratch_path("target"));
	unlink(source);
	unlink(target);
	nr_reports = 0;
	xvt_qmp_greeting_ms = 60000;
	servers[TARGET] = listeners[TARGET] = -1;
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_qmp_listen_all(&vmm, loop, paths, 2, on_report, &reports, &why),
			 -ENOENT);
	open_place(SOURCE);
	ck_assert_int_eq(xvt_qmp_listen_all(&vmm, loop, paths, 2, on_report, &reports, &why), 0);
	meet(SOURCE);
	as(SOURCE);
	begin("running", "true");
	run_until(1);
	ck_report(0, XVT_VMM_RUNNING, 0, "");
}

static void teardown_all(void)
{
	vmm->ops->close(vmm);
	xvt_loop_free(loop);
	close_place(SOURCE);
	close_place(TARGET);
}

/* QEMU is started to receive the machine, long after we had begun to listen. */
static void target_waits(void)
{
	open_place(TARGET);
	meet(TARGET);
	as(TARGET);
	begin("inmigrate", "false");
	/* Its answer has been read when a question that follows comes. */
	say(STAMP "\"event\": \"RESET\"}\r\n");
	answer("inmigrate", "false");
	say(STAMP "\"event\": \"RESET\"}\r\n");
	answer("inmigrate", "false");
	ck_assert_uint_eq(nr_reports, 1);
}

START_TEST(what_is_said_where_it_runs_counts)
{
	target_waits();
	as(SOURCE);
	say(STAMP "\"event\": \"STOP\"}\r\n");
	answer("finish-migrate", "false");
	run_until(2);
	ck_report(1, XVT_VMM_STOPPED, STAMP_NS, "");
	answer("postmigrate", "false"); /* another one is there: it has not gone anywhere */
	as(TARGET);
	say(STAMP "\"event\": \"RESUME\"}\r\n");
	run_until(4);
	ck_report(2, XVT_VMM_ARRIVED, STAMP_NS, "");
	ck_report(3, XVT_VMM_RUNNING, STAMP_NS, "");
	answer("running", "true");
	as(SOURCE);
	say(STAMP "\"event\": \"SHUTDOWN\", \"data\": {\"reason\": \"host-qmp-quit\"}}\r\n");
	close_place(SOURCE);
	as(TARGET);
	say(STAMP "\"event\": \"STOP\"}\r\n");
	run_until(5);
	ck_report(4, XVT_VMM_STOPPED, STAMP_NS, "");
	answer("paused", "false");
	close_place(TARGET);
	run_until(6);
	ck_report(5, XVT_VMM_GONE, 0, "without a shutdown");
}
END_TEST

/* Two sockets have no order: the pause is told all the same. */
START_TEST(the_end_of_a_pause_that_is_read_before_its_beginning)
{
	target_waits();
	say(STAMP "\"event\": \"RESUME\"}\r\n");
	run_until(3);
	as(SOURCE);
	say(STAMP "\"event\": \"STOP\"}\r\n");
	run_until(5);
	ck_report(1, XVT_VMM_ARRIVED, STAMP_NS, "");
	ck_report(2, XVT_VMM_RUNNING, STAMP_NS, "");
	ck_report(3, XVT_VMM_STOPPED, STAMP_NS, "");
	ck_report(4, XVT_VMM_RUNNING, STAMP_NS, "");
}
END_TEST

START_TEST(a_migration_that_failed_runs_on_at_its_source)
{
	target_waits();
	as(SOURCE);
	say(STAMP "\"event\": \"STOP\"}\r\n");
	answer("finish-migrate", "false");
	as(TARGET);
	close_place(TARGET);
	as(SOURCE);
	say(STAMP "\"event\": \"RESUME\"}\r\n");
	run_until(3);
	ck_report(1, XVT_VMM_STOPPED, STAMP_NS, "");
	ck_report(2, XVT_VMM_RUNNING, STAMP_NS, "");
}
END_TEST

START_TEST(moved_to_a_socket_without_a_listener)
{
	say(STAMP "\"event\": \"STOP\"}\r\n");
	answer("postmigrate", "false");
	run_until(3);
	ck_report(1, XVT_VMM_STOPPED, STAMP_NS, "");
	ck_report(2, XVT_VMM_MIGRATED_AWAY, 0, "");
	close_place(SOURCE);
	open_place(TARGET);
	meet(TARGET);
	as(TARGET);
	begin("running", "true");
	run_until(4);
	ck_report(3, XVT_VMM_RUNNING, 0, "");
}
END_TEST

START_TEST(killed_while_it_ran_although_another_one_waits)
{
	target_waits();
	close_place(SOURCE);
	run_until(2);
	ck_report(1, XVT_VMM_GONE, 0, "without a shutdown");
	ck_assert_int_eq(reports[1].err, -EPIPE);
}
END_TEST

Suite *vmm_qmp_suite(void)
{
	Suite *s = suite_create("vmm_qmp");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, threads_of_vcpus_are_told_on_request);
	tcase_add_test(t, a_paused_machine_is_told_at_once);
	tcase_add_test(t, stop_and_resume_have_qemus_stamps);
	tcase_add_test(t, every_event_that_counts);
	tcase_add_test(t, an_end_by_a_panic_says_so);
	tcase_add_test(t, a_read_ends_anywhere);
	tcase_add_test(t, a_reset_can_leave_a_sleeper_stopped);
	tcase_add_test(t, migration_out_shows_in_the_status);
	tcase_add_test(t, migration_in_ends_with_resume);
	tcase_add_loop_test(t, nonsense_ends_this_listener, 0,
			    sizeof(nonsense) / sizeof(nonsense[0]));
	tcase_add_test(t, a_line_has_a_longest_length);
	tcase_add_test(t, a_qemu_that_vanishes);
	tcase_add_test(t, a_busy_socket_is_a_time_out);
	tcase_add_test(t, a_queue_that_is_full);
	tcase_add_test(t, a_stamp_that_is_none);
	suite_add_tcase(s, t);
	t = tcase_create("moves");
	tcase_add_checked_fixture(t, setup_all, teardown_all);
	tcase_add_test(t, what_is_said_where_it_runs_counts);
	tcase_add_test(t, the_end_of_a_pause_that_is_read_before_its_beginning);
	tcase_add_test(t, a_migration_that_failed_runs_on_at_its_source);
	tcase_add_test(t, moved_to_a_socket_without_a_listener);
	tcase_add_test(t, killed_while_it_ran_although_another_one_waits);
	suite_add_tcase(s, t);
	return s;
}
