// SPDX-License-Identifier: GPL-2.0
/*
 * qmp.c - see qmp.h. A line of JSON is a message. At most one command is in flight, so a command
 * always fits into the socket's buffer.
 */
#define _GNU_SOURCE
#include "vmm/qmp.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/container.h"
#include "base/loop.h"
#include "base/json.h"
#include "base/socket.h"

/* Longest message. Most take 200 bytes; query-cpus-fast gives 250 for each vCPU. */
#define LINE_BYTES  (1u << 20)
#define TURN_BYTES  (256u << 10) /* read at most this much in one callback of the loop */
#define MIGRATE_MS  100u	 /* query-status interval while a migration finishes */
#define LOOK_MS	    50u		 /* first interval between attempts to connect */
#define LOOK_MAX_MS 2000u	 /* longest interval between attempts to connect */

#define GREETING                                                                           \
	"no greeting from QEMU within %u ms; it serves one QMP client at a time, so this " \
	"socket is in use: give xvtrace one of its own"

unsigned int xvt_qmp_greeting_ms = 5000;
bool xvt_qmp_asks_vcpus;

enum qmp_state {
	QMP_CONNECTED, /* waits for the greeting */
	QMP_GREETED,   /* waits for the answer to qmp_capabilities */
	QMP_TALKS,
	QMP_AWAY, /* not connected; the timer starts the next attempt */
	QMP_DEAD,
};

/* The state that was reported last. */
enum reported {
	REPORTED_NOTHING,
	REPORTED_RUNNING,
	REPORTED_STOPPED,
	REPORTED_SUSPENDED,
};

struct qmp {
	struct xvt_vmm base;
	struct xvt_loop *loop;
	xvt_vmm_fn fn;
	void *arg;
	char *path;
	bool patient; /* retry while no QEMU listens at the path */
	unsigned int look_ms;
	int fd, timer_fd;
	struct xvt_op on_data, on_time;
	enum qmp_state state;
	enum reported reported;
	bool wants_vcpus;    /* query-cpus-fast follows the first status of this connection */
	bool asked_vcpus;    /* query-cpus-fast is in flight */
	bool asked;	     /* query-status is in flight */
	bool ask_again;	     /* send another query-status after its answer */
	bool incoming;	     /* an incoming migration is running */
	bool finishing;	     /* an outgoing migration is finishing */
	bool moved;	     /* an outgoing migration is complete */
	const char *trouble; /* why the STOP comes that follows; "": a user wants it */
	char shutdown[64];   /* reason of SHUTDOWN, empty before it */
	size_t used;
	char line[LINE_BYTES];
};

static struct qmp *of_vmm(struct xvt_vmm *v)
{
	return container_of(v, struct qmp, base);
}

static void report(struct qmp *q, enum xvt_vmm_event event, uint64_t realtime_ns, const char *why)
{
	xvt_vmm_report(q->fn, q->arg, event, realtime_ns, 0, "%s", why);
}

static bool connected(const struct qmp *q)
{
	return q->state < QMP_AWAY;
}

static void set_timer(struct qmp *q, unsigned int ms)
{
	struct itimerspec t = {
		.it_value = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l },
	};

	timerfd_settime(q->timer_fd, 0, &t, NULL);
}

static void drop_socket(struct qmp *q)
{
	xvt_loop_cancel(q->loop, &q->on_data);
	if (q->fd >= 0) {
		/* The loop may keep the socket open for a while: end the connection for QEMU now.
		 */
		shutdown(q->fd, SHUT_RDWR);
		close(q->fd);
	}
	q->fd = -1;
}

/* Close the descriptors. q itself stays until the loop has returned its operations. */
static void hang_up(struct qmp *q)
{
	q->state = QMP_DEAD;
	drop_socket(q);
	xvt_loop_cancel(q->loop, &q->on_time);
	if (q->timer_fd >= 0)
		close(q->timer_fd);
	q->timer_fd = -1;
}

/* Schedule the next attempt to connect; the interval doubles up to LOOK_MAX_MS. */
static void look_later(struct qmp *q)
{
	q->state = QMP_AWAY;
	set_timer(q, q->look_ms);
	q->look_ms = q->look_ms < LOOK_MAX_MS / 2 ? q->look_ms * 2 : LOOK_MAX_MS;
}

/* End this connection and report GONE. An invalid message costs only its own machine's events. */
static void __attribute__((format(printf, 3, 4)))
gone(struct qmp *q, int err, const char *format, ...)
{
	char why[160];
	va_list ap;

	if (!connected(q))
		return;
	if (q->patient) {
		drop_socket(q);
		look_later(q);
	} else {
		hang_up(q);
	}
	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	xvt_vmm_report(q->fn, q->arg, XVT_VMM_GONE, 0, err, "%s", why);
}

static void send_line(struct qmp *q, const char *line)
{
	size_t len = strlen(line);
	ssize_t n = send(q->fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n != (ssize_t)len)
		gone(q, n < 0 ? -errno : -EPIPE, "cannot send to QEMU: %s",
		     n < 0 ? strerror(errno) : "it reads nothing");
}

static void ask_status(struct qmp *q)
{
	q->ask_again = q->asked;
	if (q->asked)
		return;
	q->asked = true;
	send_line(q, "{\"execute\": \"query-status\", \"id\": \"xvtrace-status\"}\n");
}

/* ------------------------------------------------------------------ what QEMU says */

static void arrived(struct qmp *q, uint64_t stamp)
{
	if (!q->incoming)
		return;
	q->incoming = false;
	report(q, XVT_VMM_ARRIVED, stamp, "");
}

static void moved_away(struct qmp *q, uint64_t stamp)
{
	q->finishing = false;
	if (q->moved)
		return;
	q->moved = true;
	report(q, XVT_VMM_MIGRATED_AWAY, stamp, "");
}

static void stopped(struct qmp *q, uint64_t stamp, const char *why)
{
	if (q->reported == REPORTED_STOPPED)
		return;
	q->reported = REPORTED_STOPPED;
	report(q, XVT_VMM_STOPPED, stamp, why);
}

static void running(struct qmp *q, uint64_t stamp)
{
	arrived(q, stamp);
	q->finishing = q->moved = false;
	if (q->reported == REPORTED_RUNNING)
		return;
	q->reported = REPORTED_RUNNING;
	report(q, XVT_VMM_RUNNING, stamp, "");
}

static void suspended(struct qmp *q, uint64_t stamp)
{
	if (q->reported == REPORTED_SUSPENDED)
		return;
	q->reported = REPORTED_SUSPENDED;
	report(q, XVT_VMM_SUSPENDED, stamp, "");
}

/*
 * Handle the answer to query-status. A state that an event has reported is not reported again.
 * Three states cause no event and come only from here: the state at the start, that after a reset
 * of a sleeping machine, and the end of a migration.
 */
static void take_status(struct qmp *q, const struct xvt_json_value *v)
{
	const char *status = xvt_json_text(xvt_json_get(v, "status"));
	bool runs;

	q->asked = false;
	if (!status || !xvt_json_bool(xvt_json_get(v, "running"), &runs)) {
		gone(q, -EPROTO, "QEMU's answer to query-status has no status");
		return;
	}
	if (q->ask_again) {
		/* An event arrived after this query was sent: only the next answer is current. */
		ask_status(q);
		return;
	}
	q->finishing = !strcmp(status, "finish-migrate");
	if (runs)
		running(q, 0);
	else if (!strcmp(status, "suspended"))
		suspended(q, 0);
	else
		stopped(q, 0, status);
	q->incoming = !strcmp(status, "inmigrate");
	if (!strcmp(status, "postmigrate"))
		moved_away(q, 0);
	if (q->finishing)
		set_timer(q, MIGRATE_MS);
}

static void take_migration(struct qmp *q, uint64_t stamp, const struct xvt_json_value *data)
{
	const char *status = xvt_json_text(xvt_json_get(data, "status"));

	if (!status || strcmp(status, "completed"))
		return;
	if (q->incoming)
		arrived(q, stamp);
	else
		moved_away(q, stamp);
}

static void take_panic(struct qmp *q, uint64_t stamp, const struct xvt_json_value *data)
{
	const char *action = xvt_json_text(xvt_json_get(data, "action"));

	report(q, XVT_VMM_PANICKED, stamp, action ? action : "");
	if (action && !strcmp(action, "pause"))
		q->trouble = "its kernel panicked";
}

static void take_shutdown(struct qmp *q, const struct xvt_json_value *data)
{
	const char *reason = xvt_json_text(xvt_json_get(data, "reason"));

	snprintf(q->shutdown, sizeof(q->shutdown), "%s", reason && *reason ? reason : "no reason");
}

/* An event that says what QEMU does then. */
static bool is_action(const char *event, const struct xvt_json_value *data, const char *name,
		      const char *action)
{
	const char *text = strcmp(event, name) ? NULL : xvt_json_text(xvt_json_get(data, "action"));

	return text && !strcmp(text, action);
}

static uint64_t stamp_of(const struct xvt_json_value *message)
{
	const struct xvt_json_value *t = xvt_json_get(message, "timestamp");
	uint64_t seconds, microseconds;

	/* Both are -1 when QEMU's clock fails. */
	if (!xvt_json_u64(xvt_json_get(t, "seconds"), &seconds) ||
	    !xvt_json_u64(xvt_json_get(t, "microseconds"), &microseconds) ||
	    seconds > UINT32_MAX * 2ull || microseconds > 999999)
		return 0;
	return seconds * 1000000000u + microseconds * 1000u;
}

static void take_event(struct qmp *q, const char *event, const struct xvt_json_value *message)
{
	const struct xvt_json_value *data = xvt_json_get(message, "data");
	uint64_t stamp = stamp_of(message);

	if (!strcmp(event, "STOP")) {
		stopped(q, stamp, q->trouble ? q->trouble : "");
		q->trouble = NULL;
	} else if (!strcmp(event, "RESUME")) {
		running(q, stamp);
	} else if (!strcmp(event, "RESET")) {
		report(q, XVT_VMM_RESET, stamp, "");
	} else if (!strcmp(event, "SUSPEND")) {
		suspended(q, stamp);
	} else if (!strcmp(event, "WAKEUP")) {
		q->reported = REPORTED_RUNNING;
		report(q, XVT_VMM_WOKEN, stamp, "");
	} else if (!strcmp(event, "GUEST_PANICKED")) {
		take_panic(q, stamp, data);
	} else if (!strcmp(event, "MIGRATION")) {
		take_migration(q, stamp, data);
	} else if (!strcmp(event, "SHUTDOWN")) {
		take_shutdown(q, data);
		return;
	} else if (is_action(event, data, "BLOCK_IO_ERROR", "stop")) {
		q->trouble = "I/O error";
		return;
	} else if (is_action(event, data, "WATCHDOG", "pause")) {
		q->trouble = "watchdog";
		return;
	} else {
		return;
	}
	ask_status(q);
}

static void ask_vcpus(struct qmp *q)
{
	if (!q->wants_vcpus || !connected(q))
		return;
	q->wants_vcpus = false;
	q->asked_vcpus = true;
	send_line(q, "{\"execute\": \"query-cpus-fast\", \"id\": \"xvtrace-vcpus\"}\n");
}

static void take_vcpus(struct qmp *q, const struct xvt_json_value *list)
{
	size_t i;

	q->asked_vcpus = false;
	for (i = 0; i < xvt_json_count(list) && connected(q); i++) {
		const struct xvt_json_value *v = xvt_json_at(list, i);
		struct xvt_vmm_report r = { .event = XVT_VMM_VCPU };
		uint64_t vcpu, tid;

		if (!q->fn || !xvt_json_u64(xvt_json_get(v, "cpu-index"), &vcpu) ||
		    !xvt_json_u64(xvt_json_get(v, "thread-id"), &tid) || vcpu > UINT32_MAX ||
		    !tid || tid > INT32_MAX)
			continue;
		r.vcpu = (uint32_t)vcpu;
		r.tid = (int32_t)tid;
		q->fn(q->arg, &r);
	}
}

static void take_answer(struct qmp *q, const struct xvt_json_value *message)
{
	const char *id = xvt_json_text(xvt_json_get(message, "id"));
	const struct xvt_json_value *error = xvt_json_get(message, "error");
	const char *text = xvt_json_text(xvt_json_get(error, "desc"));

	if (q->asked_vcpus && id && !strcmp(id, "xvtrace-vcpus")) {
		/* An error is an empty list: threads keep their own names. */
		take_vcpus(q, xvt_json_get(message, "return"));
	} else if (error) {
		gone(q, -EPROTO, "QEMU refuses %s: %s", id ? id : "a command", text ? text : "?");
	} else if (q->state == QMP_GREETED && id && !strcmp(id, "xvtrace-hello")) {
		q->state = QMP_TALKS;
		q->look_ms = LOOK_MS;
		set_timer(q, 0);
		q->wants_vcpus = xvt_qmp_asks_vcpus;
		q->asked_vcpus = false;
		ask_status(q);
	} else if (q->asked && id && !strcmp(id, "xvtrace-status")) {
		take_status(q, xvt_json_get(message, "return"));
		ask_vcpus(q);
	} else {
		gone(q, -EPROTO, "QEMU answers what was not asked");
	}
}

static void take_message(struct qmp *q, const struct xvt_json_value *message)
{
	const char *event = xvt_json_text(xvt_json_get(message, "event"));

	if (q->state == QMP_CONNECTED) {
		if (!xvt_json_get(message, "QMP")) {
			gone(q, -EPROTO, "what answers there is not QEMU's QMP (no greeting)");
			return;
		}
		q->state = QMP_GREETED;
		send_line(q, "{\"execute\": \"qmp_capabilities\", \"id\": \"xvtrace-hello\"}\n");
	} else if (event) {
		take_event(q, event, message);
	} else if (xvt_json_get(message, "return") || xvt_json_get(message, "error")) {
		take_answer(q, message);
	}
	/* Other kinds of messages, of a later QEMU, are ignored. */
}

static void take_line(struct qmp *q, const char *line, size_t len)
{
	struct xvt_json_value *message;
	struct xvt_error why;

	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	if (!len)
		return;
	message = xvt_json_parse(line, len, &why);
	if (!message) {
		gone(q, -EPROTO, "what came from QEMU's socket is not QMP: %s", why.text);
		return;
	}
	take_message(q, message);
	xvt_json_forget(message);
}

/* Handle the complete lines in the buffer. `fresh`: bytes added since the last call. */
static void take_lines(struct qmp *q, size_t fresh)
{
	char *begin = q->line, *scan = q->line + q->used - fresh, *end = q->line + q->used, *nl;

	while (connected(q) && (nl = memchr(scan, '\n', (size_t)(end - scan)))) {
		take_line(q, begin, (size_t)(nl - begin));
		begin = scan = nl + 1;
	}
	q->used = (size_t)(end - begin);
	memmove(q->line, begin, q->used);
}

static void read_socket(struct qmp *q)
{
	size_t turn = 0;

	while (connected(q) && turn < TURN_BYTES) {
		ssize_t n;

		if (q->used == sizeof(q->line)) {
			gone(q, -EMSGSIZE, "a message of QEMU's is longer than %u KiB",
			     LINE_BYTES >> 10);
			return;
		}
		n = recv(q->fd, q->line + q->used, sizeof(q->line) - q->used, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0 && errno == ECONNRESET)
			n = 0; /* QEMU ended before it read the last command */
		if (n < 0)
			gone(q, -errno, "reading QEMU's socket failed: %s", strerror(errno));
		else if (n == 0 && !strcmp(q->shutdown, "guest-panic"))
			gone(q, 0, "guest panicked");
		else if (n == 0 && q->shutdown[0])
			gone(q, 0, "shut down (%s)", q->shutdown);
		else if (n == 0)
			gone(q, -EPIPE,
			     "QEMU closed its QMP socket without a shutdown; was it killed?");
		if (n <= 0)
			return;
		q->used += (size_t)n;
		turn += (size_t)n;
		take_lines(q, (size_t)n);
	}
}

/* ------------------------------------------------------------------ the loop */

static void wait_data(struct qmp *q)
{
	int err;

	if (!connected(q))
		return;
	err = xvt_loop_poll(q->loop, &q->on_data, q->fd, POLLIN);
	if (err)
		gone(q, err, "the event loop takes no more");
}

static void wait_time(struct qmp *q)
{
	if (q->state != QMP_DEAD)
		xvt_loop_poll(q->loop, &q->on_time, q->timer_fd, POLLIN);
}

static void on_data(struct xvt_op *op, int res)
{
	struct qmp *q = container_of(op, struct qmp, on_data);

	(void)res; /* recv() reports an error, too */
	read_socket(q);
	wait_data(q);
}

static int connect_to(const char *path, struct xvt_error *why)
{
	struct xvt_error reason;
	int fd = xvt_socket_connect(path, &reason);

	if (fd == -EAGAIN) {
		fd = -EBUSY;
		xvt_fail(why, 0,
			 "others wait for this QMP socket already; QEMU serves one "
			 "client at a time: give xvtrace one of its own");
	} else if (fd == -ENOENT || fd == -ECONNREFUSED) {
		xvt_fail(why, 0,
			 "QEMU's QMP socket: %s; start QEMU with -qmp unix:%s,server=on,wait=off",
			 reason.text, path);
	} else if (fd < 0) {
		xvt_fail(why, 0, "QEMU's QMP socket: %s", reason.text);
	}
	return fd;
}

/* Start a new connection: reset the state of an earlier one. */
static void begin(struct qmp *q, int fd)
{
	q->fd = fd;
	q->state = QMP_CONNECTED;
	q->reported = REPORTED_NOTHING;
	q->asked = q->ask_again = q->incoming = q->finishing = q->moved = false;
	q->shutdown[0] = 0;
	q->used = 0;
	set_timer(q, xvt_qmp_greeting_ms);
	wait_data(q);
}

static void look_again(struct qmp *q)
{
	struct xvt_error why;
	/* The loop may still hold the last connection's operation. */
	int fd = q->on_data.held ? -1 : connect_to(q->path, &why);

	if (fd < 0)
		look_later(q);
	else
		begin(q, fd);
}

static void on_time(struct xvt_op *op, int res)
{
	struct qmp *q = container_of(op, struct qmp, on_time);
	uint64_t expired;

	(void)res;
	if (q->state == QMP_DEAD || read(q->timer_fd, &expired, sizeof(expired)) < 0)
		expired = 0;
	if (expired && q->state == QMP_CONNECTED)
		gone(q, -ETIMEDOUT, GREETING, xvt_qmp_greeting_ms);
	else if (expired && q->state == QMP_GREETED)
		gone(q, -ETIMEDOUT, "QEMU did not answer within %u ms", xvt_qmp_greeting_ms);
	else if (expired && q->state == QMP_AWAY)
		look_again(q);
	else if (expired && q->finishing)
		ask_status(q);
	wait_time(q);
}

static void qmp_close(struct xvt_vmm *v)
{
	struct qmp *q = of_vmm(v);

	q->fn = NULL;
	hang_up(q);
	if (xvt_loop_release(q->loop, &q->on_data) && xvt_loop_release(q->loop, &q->on_time)) {
		free(q->path);
		free(q);
	}
}

static const struct xvt_vmm_ops qmp_ops = {
	.name = "qmp",
	.close = qmp_close,
};

static int listen_to(struct xvt_vmm **out, struct xvt_loop *loop, const char *path, bool patient,
		     xvt_vmm_fn fn, void *arg, struct xvt_error *why)
{
	struct qmp *q = calloc(1, sizeof(*q));
	int fd = -1, err = -ENOMEM;

	if (q)
		q->path = strdup(path);
	if (!q || !q->path)
		goto err_free;
	q->base.ops = &qmp_ops;
	q->loop = loop;
	q->on_data.done = on_data;
	q->on_time.done = on_time;
	q->fn = fn;
	q->arg = arg;
	q->patient = patient;
	q->look_ms = LOOK_MS;
	q->fd = -1;
	q->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (q->timer_fd < 0) {
		err = -errno;
		xvt_fail(why, 0, "no timer: %s", strerror(-err));
		goto err_free;
	}
	fd = connect_to(path, why);
	if (fd < 0 && !patient) {
		err = fd;
		close(q->timer_fd);
		goto err_free;
	}
	if (fd < 0)
		look_later(q);
	else
		begin(q, fd);
	wait_time(q);
	*out = &q->base;
	return fd < 0 ? fd : 0;

err_free:
	if (q)
		free(q->path);
	free(q);
	*out = NULL;
	return err;
}

int xvt_qmp_listen(struct xvt_vmm **out, struct xvt_loop *loop, const char *path, xvt_vmm_fn fn,
		   void *arg, struct xvt_error *why)
{
	return listen_to(out, loop, path, false, fn, arg, why);
}

/* ------------------------------------------------------------------ a machine that moves */

/* One of the QEMUs in which the machine may run. */
struct place {
	struct all *all;
	struct xvt_vmm *vmm;
	bool there;	    /* connected, and its state is known */
	bool runs;	    /* the machine runs, or sleeps, in this QEMU */
	bool reported_gone; /* the machine's end was reported because of this QEMU */
};

struct all {
	struct xvt_vmm base;
	xvt_vmm_fn fn;
	void *arg;
	struct place *in;	    /* QEMU whose reports are passed on; NULL: none */
	struct xvt_vmm_report runs; /* the last RUNNING that was passed on */
	size_t n;
	struct place place[];
};

static void pass(const struct all *a, const struct xvt_vmm_report *r)
{
	if (a->fn)
		a->fn(a->arg, r);
}

static bool another(const struct place *p)
{
	size_t i;

	for (i = 0; i < p->all->n; i++) {
		if (&p->all->place[i] != p && p->all->place[i].there)
			return true;
	}
	return false;
}

/* The machine stands still and may be migrating: retry the unconnected sockets soon. */
static void look_soon(struct all *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		struct qmp *q = of_vmm(a->place[i].vmm);

		if (q->state != QMP_AWAY)
			continue;
		q->look_ms = LOOK_MS;
		set_timer(q, LOOK_MS);
	}
}

static void place_runs(struct place *p, const struct xvt_vmm_report *r)
{
	p->all->in = p;
	p->runs = true;
	p->all->runs = *r;
	pass(p->all, r);
}

static void place_stopped(struct place *p, const struct xvt_vmm_report *r)
{
	struct all *a = p->all;
	/* A QEMU before or after a migration does not hold the paused machine. */
	const bool elsewhere = !strcmp(r->why, "inmigrate") || !strcmp(r->why, "postmigrate");
	const bool ran = p->runs;

	p->runs = false;
	if (!a->in && !elsewhere)
		a->in = p;
	if (a->in == p) {
		pass(a, r);
		look_soon(a);
	} else if (a->in && ran) {
		/* RUNNING of the new QEMU was read before STOPPED of the old one. */
		pass(a, r);
		pass(a, &a->runs);
	}
}

static void place_gone(struct place *p, const struct xvt_vmm_report *r)
{
	struct all *a = p->all;

	/* The machine did not run in this QEMU, and another QEMU is connected and will report. */
	if (a->in && another(p) && (a->in != p || !p->runs)) {
		p->runs = false;
		return;
	}
	p->runs = false;
	if (!a->in && p->reported_gone)
		return; /* another attempt to connect has failed */
	a->in = NULL;
	p->reported_gone = true;
	pass(a, r);
}

static void on_place(void *arg, const struct xvt_vmm_report *r)
{
	struct place *p = arg;
	struct all *a = p->all;

	p->there = r->event != XVT_VMM_GONE;
	if (p->there)
		p->reported_gone = false;
	switch (r->event) {
	case XVT_VMM_RUNNING:
		place_runs(p, r);
		break;
	case XVT_VMM_STOPPED:
		place_stopped(p, r);
		break;
	case XVT_VMM_ARRIVED:
		a->in = p;
		pass(a, r);
		break;
	case XVT_VMM_MIGRATED_AWAY:
		if (a->in != p || another(p))
			break;
		a->in = NULL;
		p->reported_gone = true; /* the end of this QEMU is no news */
		pass(a, r);
		break;
	case XVT_VMM_GONE:
		place_gone(p, r);
		break;
	case XVT_VMM_VCPU:
		pass(a, r);
		break;
	default: /* a reset, sleep, panic */
		if (!a->in)
			a->in = p;
		p->runs |= a->in == p;
		if (a->in == p)
			pass(a, r);
		break;
	}
}

static void all_close(struct xvt_vmm *v)
{
	struct all *a = container_of(v, struct all, base);
	size_t i;

	a->fn = NULL;
	for (i = 0; i < a->n; i++)
		a->place[i].vmm->ops->close(a->place[i].vmm);
	free(a);
}

static const struct xvt_vmm_ops all_ops = {
	.name = "qmp",
	.close = all_close,
};

int xvt_qmp_listen_all(struct xvt_vmm **out, struct xvt_loop *loop, const char *const paths[],
		       size_t n, xvt_vmm_fn fn, void *arg, struct xvt_error *why)
{
	struct all *a = calloc(1, sizeof(*a) + n * sizeof(a->place[0]));
	struct xvt_error whys;
	int err = 0, first = 0;
	size_t heard = 0;

	if (!a)
		return -ENOMEM;
	a->base.ops = &all_ops;
	a->fn = fn;
	a->arg = arg;
	for (; a->n < n; a->n++) {
		struct place *p = &a->place[a->n];

		p->all = a;
		err = listen_to(&p->vmm, loop, paths[a->n], true, on_place, p, &whys);
		if (!p->vmm)
			break;
		heard += !err;
		if (err && !first) {
			first = err;
			xvt_fail(why, 0, "%s", whys.text);
		}
	}
	if (heard && a->n == n) {
		*out = &a->base;
		return 0;
	}
	all_close(&a->base);
	return first ? first : err;
}
