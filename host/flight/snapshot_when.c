// SPDX-License-Identifier: GPL-2.0
/*
 * snapshot_when.c - see snapshot_when.h. For conditions on events, snapshots are taken into memory,
 * one after the other, and searched for new events. Nothing in the rings is consumed by that, and
 * other readers may take snapshots in between. A snapshot in which a condition holds is copied to a
 * file. For the other conditions the counters of the rings are looked at, and VMMs listened to; a
 * snapshot is taken when one holds.
 */
#define _GNU_SOURCE
#include "flight/snapshot_when.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/container.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/machine_name.h"
#include "base/output.h"
#include "base/time.h"
#include "flight/armed.h"
#include "flight/trigger.h"
#include "lib/xvtrace.h"

#define LOOK_NS	  (SECOND_NS / 4) /* between two snapshots, at least */
#define LOOK_PART 4		  /* and this many times the CPU time of one */
#define RETRY_NS  (5 * SECOND_NS) /* after one that failed */
#define DOUBT_NS  10000000	  /* by which times of two snapshots may differ */

struct watch {
	const struct xvt_snapshot_when *how;
	struct xvt_condition conditions[XVT_TRIGGER_CONDITIONS];
	size_t nr_conditions;
	bool for_events; /* a condition is about events */
	struct xvt_trigger *trigger;
	struct xvt_armed *machines; /* looked at for the other conditions; NULL: there are none */
	struct xvt_loop *loop;	    /* in which VMMs report crashes; NULL: no condition is on one */
	struct xvt_op on_signal;
	int signal_fd;
	bool stop; /* a signal came that ends the command */
	sigset_t signals;
	int fd;			    /* the newest snapshot, in memory; -1: none */
	bool begun;		    /* the first snapshot was taken */
	bool pending;		    /* a condition held; the file follows at due_ns */
	uint64_t due_ns;	    /* host time of the trace */
	char first[192];	    /* the condition that held */
	char crashed[XVT_NAME_LEN]; /* of which machine, if that was a crash; else empty */
	uint64_t first_ns;	    /* and when */
	uint64_t seen_ns;	    /* the moment of the newest whole look; a later event is new */
	uint64_t held;		    /* times that a condition held: events, for those on events */
	uint64_t files;		    /* written */
	uint64_t number;	    /* of the newest file */
	/* When the newest files were written, CLOCK_MONOTONIC; a ring. */
	uint64_t written_ns[XVT_SNAPSHOT_MINUTE_MOST];
};

/* CPU time of this process and of those that it has started and waited for. */
static uint64_t cpu_ns(void)
{
	return xvt_cpu_ns(RUSAGE_SELF) + xvt_cpu_ns(RUSAGE_CHILDREN);
}

/* ------------------------------------------------------------------ files */

/* Returns true if one more file keeps to the number of files in a minute. */
static bool may_write(const struct watch *w)
{
	const uint64_t n = w->how->per_minute, at = w->files % n;

	return w->files < n || xvt_monotonic_ns() - w->written_ns[at] >= 60 * SECOND_NS;
}

/* FILE.xvt, or FILE-NUMBER.xvt. Returns false if it is too long. */
static bool name_of(const struct watch *w, char *path, size_t size)
{
	const char *output = w->how->output, *end = output + strlen(output);

	if (end - output > 4 && !strcmp(end - 4, ".xvt"))
		end -= 4;
	if (w->how->files == 1)
		return (size_t)snprintf(path, size, "%s", output) < size;
	return (size_t)snprintf(path, size, "%.*s-%" PRIu64 "%s", (int)(end - output), output,
				w->number, end) < size;
}

/* Returns a descriptor, or an error; -EEXIST: something is there. */
static int open_new(const char *path)
{
	struct xvt_output o;
	int fd = xvt_output_find(&o, path);

	if (fd)
		return fd;
	fd = o.there ? -EEXIST : xvt_output_open_at(&o, O_WRONLY, 0600, NULL);
	xvt_output_close(&o);
	return fd == -EAGAIN ? -EEXIST : fd;
}

/* Opens the next file; of numbered ones the next that is not there. Returns a descriptor, or
 * -errno.
 */
static int open_next(struct watch *w, char *path, size_t size)
{
	int fd;

	do {
		w->number++;
		if (!name_of(w, path, size))
			return -ENAMETOOLONG;
		fd = w->how->files == 1 ? xvt_output_open(path, O_WRONLY | O_TRUNC, 0600, NULL)
					: open_new(path);
	} while (fd == -EEXIST && w->number < XVT_SNAPSHOT_FILES_MOST);
	return fd;
}

/* Returns true if files can be made where the output is to be. */
static bool can_write(const char *output)
{
	const char *slash = strrchr(output, '/');
	char folder[PATH_MAX] = ".";

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - output), output);
	if (!access(folder, W_OK | X_OK))
		return true;
	xvt_error(output, "cannot write there: %s", strerror(errno));
	return false;
}

/* Returns 0 or -errno. */
static int copy(int from, int to)
{
	off_t at = 0;
	struct stat st;

	if (fstat(from, &st))
		return -errno;
	while (at < st.st_size) {
		const ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));

		if (n <= 0 && (n == 0 || errno != EINTR))
			return n ? -errno : -EIO;
	}
	return 0;
}

static void path_of(const struct watch *w, char *path, size_t size)
{
	snprintf(path, size, "/proc/self/fd/%d", w->fd);
}

/* The time of the machine's last event in the newest snapshot, as text for a message; empty: it has
 * none. That of the crash itself may be far behind it. */
static void last_event(const struct watch *w, char *text, size_t size)
{
	struct xvtrace *trace = NULL;
	struct xvtrace_stat *stat = NULL;
	char path[32];
	uint64_t ns = 0;
	unsigned int i;

	text[0] = '\0';
	path_of(w, path, sizeof(path));
	if (!w->crashed[0] || xvtrace_open(&trace, path, 0, NULL))
		return;
	if (!xvtrace_stat_new(&stat, trace, XVTRACE_RECLOCK)) {
		for (i = 0; i < xvtrace_info(trace)->machines; i++) {
			const struct xvtrace_machine *m = xvtrace_machine(trace, i);

			if (m && xvt_machine_same(m->name, w->crashed))
				ns = xvtrace_stat_machine(stat, i)->counts.last_ns;
		}
	}
	xvtrace_stat_free(stat);
	xvtrace_close(trace);
	if (ns)
		snprintf(text, size, ", last event at %" PRIu64 ".%09" PRIu64, ns / SECOND_NS,
			 ns % SECOND_NS);
}

/* Keep the newest snapshot. Returns 0, or -errno after an error message. */
static int keep(struct watch *w, const struct xvt_taken *taken)
{
	char path[PATH_MAX] = "", last[64];
	int fd = open_next(w, path, sizeof(path)), err = fd < 0 ? fd : copy(w->fd, fd);

	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (err && fd >= 0)
		unlink(path);
	if (err) {
		xvt_error(path[0] ? path : w->how->output, "cannot write it: %s",
			  xvt_output_why(err));
		return err;
	}
	w->written_ns[w->files % w->how->per_minute] = xvt_monotonic_ns();
	w->files++;
	w->pending = false;
	last_event(w, last, sizeof(last));
	if (!w->how->quiet)
		xvt_note("%s: %s, at %" PRIu64 ".%09" PRIu64
			 "%s; what %zu machines held at %" PRIu64 ".%09" PRIu64,
			 path, w->first[0] ? w->first : "an event", w->first_ns / SECOND_NS,
			 w->first_ns % SECOND_NS, last, taken->machines,
			 taken->moment_ns / SECOND_NS, taken->moment_ns % SECOND_NS);
	return 0;
}

/* ------------------------------------------------------------------ looks */

/* The earliest time of an event for which the next snapshot may be kept. */
static uint64_t since_ns(const struct watch *w)
{
	const uint64_t ns = w->pending ? w->first_ns : w->seen_ns;

	return ns > DOUBT_NS ? ns - DOUBT_NS : 0;
}

/* Take a snapshot into memory. Returns an exit status, after an error message. */
static int take(struct watch *w, struct xvt_taken *taken)
{
	char path[32];

	if (w->fd >= 0)
		close(w->fd);
	w->fd = memfd_create("xvtrace-snapshot", MFD_CLOEXEC);
	if (w->fd < 0) {
		xvt_error("snapshot", "no memory for it: %s", strerror(errno));
		return XVT_EXIT_FAIL;
	}
	path_of(w, path, sizeof(path));
	return w->how->take(w->how->arg, path, since_ns(w), taken);
}

/* A condition holds. While a file is due already, it is in there. */
static void holds(struct watch *w, const char *what, const char *crashed, uint64_t ns)
{
	if (w->pending || !may_write(w))
		return;
	snprintf(w->crashed, sizeof(w->crashed), "%s", crashed);
	w->pending = true;
	w->first_ns = ns;
	w->due_ns = ns + w->how->after_ns;
	snprintf(w->first, sizeof(w->first), "%s", what);
}

static void look_at_changes(struct watch *w, const char *machine, const struct xvt_vm_changes *c,
			    uint64_t now)
{
	char what[sizeof(w->first)];
	uint64_t ago_ns;
	size_t i;

	for (i = 0; i < w->nr_conditions; i++) {
		if (!xvt_condition_holds(&w->conditions[i], machine, c, what, sizeof(what),
					 &ago_ns))
			continue;
		w->held++;
		holds(w, what,
		      c->crashed && w->conditions[i].kind == XVT_CONDITION_CRASH ? machine : "",
		      now - ago_ns);
	}
}

/* The conditions that are not about events. */
static void look_at_machines(struct watch *w)
{
	const struct xvt_armed_vmm_how how = { .loop = w->loop,
					       .libvirt_uri = w->how->libvirt_uri,
					       .qmp = w->how->qmp };
	const uint64_t now = xvt_monotonic_ns();
	struct xvt_vm_changes c;
	size_t i;

	if (!w->machines)
		return;
	if (w->loop)
		xvt_armed_listen(w->machines, &how, now);
	xvt_armed_pass(w->machines, now);
	for (i = 0; i < xvt_armed_count(w->machines); i++) {
		xvt_armed_changes(w->machines, i, now, &c);
		look_at_changes(w, xvt_armed_at(w->machines, i)->name, &c, now);
	}
}

/* Without a condition on events a snapshot is taken at first, as a test, and when one is due. */
static bool needs_snapshot(const struct watch *w)
{
	return w->for_events || !w->begun || (w->pending && xvt_monotonic_ns() >= w->due_ns);
}

/* Take a snapshot, and keep it if a condition holds. Returns an exit status, after an error
 * message. */
static int look(struct watch *w, struct xvt_taken *taken)
{
	struct xvt_trigger_look found;
	char path[32];
	struct xvt_error why;
	int status;

	look_at_machines(w);
	*taken = (struct xvt_taken){ .watched = w->machines };
	if (!needs_snapshot(w))
		return XVT_EXIT_OK;
	xvt_warnings(!w->begun); /* each snapshot has the same ones */
	status = take(w, taken);
	xvt_warnings(true);
	if (status != XVT_EXIT_OK || taken->stopped)
		return status;
	path_of(w, path, sizeof(path));
	if (xvt_trigger_look(w->trigger, path, 0, &found, &why)) {
		xvt_error("--when", "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	if (found.note[0])
		xvt_warn("--when", "%s", found.note);
	w->seen_ns = taken->moment_ns;
	w->held += found.events;
	if (found.events)
		holds(w, found.first, "", found.first_ns);
	if (w->pending && taken->moment_ns >= w->due_ns && keep(w, taken))
		return XVT_EXIT_FAIL;
	return XVT_EXIT_OK;
}

/* Wait for the next look, which is to follow one that took so much CPU time. Returns true if a
 * signal came that ends the command. */
static bool wait_or_stop(struct watch *w, uint64_t took_ns, bool failed)
{
	const uint64_t least = failed ? RETRY_NS : LOOK_NS;
	const uint64_t ns = took_ns * LOOK_PART > least ? took_ns * LOOK_PART : least;
	const struct timespec t = xvt_timespec(ns);
	const uint64_t until = xvt_monotonic_ns() + ns;

	if (!w->loop)
		return sigtimedwait(&w->signals, NULL, &t) > 0;
	while (!w->stop && xvt_monotonic_ns() < until &&
	       xvt_loop_run(w->loop, until - xvt_monotonic_ns()) >= 0)
		;
	return w->stop;
}

/* The first snapshot must succeed; a later one that fails is tried again. After a signal, a last
 * one counts the events up to then. */
static int watch(struct watch *w)
{
	struct xvt_taken taken;
	bool stop = false;

	while (w->files < w->how->files && !stop) {
		const uint64_t begin_ns = cpu_ns();
		int status = look(w, &taken);

		if (status != XVT_EXIT_OK && !w->begun)
			return status;
		if (!w->begun)
			look_at_machines(w); /* changes count from here on */
		if (!w->begun && !w->how->quiet)
			xvt_note("snapshot: waits for %s",
				 w->for_events && !w->machines ? "an event" : "a condition");
		w->begun = true;
		if (w->files < w->how->files)
			stop = taken.stopped ||
			       wait_or_stop(w, cpu_ns() - begin_ns, status != XVT_EXIT_OK);
	}
	if (stop)
		look(w, &taken);
	if (!w->how->quiet && w->for_events)
		xvt_note("snapshot: the conditions held for %" PRIu64 " events; %" PRIu64 " files",
			 w->held, w->files);
	else if (!w->how->quiet)
		xvt_note("snapshot: the conditions held %" PRIu64 " times; %" PRIu64 " files",
			 w->held, w->files);
	return XVT_EXIT_OK;
}

/* Returns 0, or -errno after an error message. */
static int begin_machines(struct watch *w)
{
	const struct xvt_opt_list all = { .v = { "*" }, .n = 1 };
	int err = xvt_armed_new(&w->machines, &all, false);

	if (err) {
		xvt_error("--when", "out of memory");
		return err;
	}
	xvt_armed_look_only(w->machines);
	xvt_armed_look_each(w->machines, LOOK_NS / 2);
	return 0;
}

static void on_signal(struct xvt_op *op, int res)
{
	struct watch *w = container_of(op, struct watch, on_signal);
	struct signalfd_siginfo si;

	(void)res;
	w->stop |= read(w->signal_fd, &si, sizeof(si)) == sizeof(si);
	xvt_loop_poll(w->loop, &w->on_signal, w->signal_fd, POLLIN);
}

/* Returns 0, or -errno after an error message. */
static int begin_loop(struct watch *w)
{
	int err = xvt_loop_new(&w->loop);

	if (!err) {
		w->signal_fd = signalfd(-1, &w->signals, SFD_CLOEXEC | SFD_NONBLOCK);
		w->on_signal.done = on_signal;
		err = w->signal_fd < 0
			      ? -errno
			      : xvt_loop_poll(w->loop, &w->on_signal, w->signal_fd, POLLIN);
	}
	if (err)
		xvt_error("--when", "cannot listen for crashes: %s", strerror(-err));
	return err;
}

/* Returns an exit status, after an error message. */
static int parse(struct watch *w, const struct xvt_opt_list *list)
{
	bool crash = false, other = false;
	size_t i;
	int err;

	for (i = 0; i < list->n; i++) {
		const struct xvt_opt_value value = { "when", i, list->v[i], NULL };

		if (i == XVT_TRIGGER_CONDITIONS) {
			xvt_opt_error_of(&value, "there are more than %u conditions",
					 XVT_TRIGGER_CONDITIONS);
			return XVT_EXIT_USAGE;
		}
		err = xvt_condition_parse(&w->conditions[i], &value);
		if (err)
			return err == -EINVAL ? XVT_EXIT_USAGE : XVT_EXIT_FAIL;
		w->nr_conditions++;
		w->for_events |= w->conditions[i].kind == XVT_CONDITION_EVENT;
		crash |= w->conditions[i].kind == XVT_CONDITION_CRASH;
		other |= w->conditions[i].kind != XVT_CONDITION_EVENT;
	}
	if ((other && begin_machines(w)) || (crash && begin_loop(w)))
		return XVT_EXIT_FAIL;
	if (!xvt_trigger_new(&w->trigger, w->conditions, w->nr_conditions, xvt_monotonic_ns()))
		return XVT_EXIT_OK;
	xvt_error("--when", "out of memory");
	return XVT_EXIT_FAIL;
}

static void end(struct watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	xvt_armed_free(w->machines);
	if (w->loop)
		xvt_loop_free(w->loop);
	if (w->signal_fd >= 0)
		close(w->signal_fd);
	xvt_trigger_free(w->trigger);
	while (w->nr_conditions)
		xvt_condition_free(&w->conditions[--w->nr_conditions]);
}

int xvt_snapshot_when(const struct xvt_snapshot_when *when)
{
	struct watch w = { .how = when, .fd = -1, .signal_fd = -1 };
	int status;

	if (!can_write(when->output))
		return XVT_EXIT_FAIL;
	sigemptyset(&w.signals);
	sigaddset(&w.signals, SIGINT);
	sigaddset(&w.signals, SIGTERM);
	sigaddset(&w.signals, SIGHUP);
	status = parse(&w, when->conditions);
	if (status == XVT_EXIT_OK) {
		sigprocmask(SIG_BLOCK, &w.signals, NULL);
		status = watch(&w);
	}
	end(&w);
	return status;
}
