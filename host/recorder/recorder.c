// SPDX-License-Identifier: GPL-2.0
/* recorder.c - see recorder.h. */
#define _GNU_SOURCE
#include "recorder/recorder.h"
#include "base/child.h"
#include "base/container.h"
#include "base/journal.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/socket.h"
#include "base/time.h"
#include "control/serve.h"
#include "flight/armed.h"
#include "flight/flight.h"
#include "flight/keep_armed.h"
#include "flight/rearm.h"
#include "record/business.h"
#include "record/compress_idle.h"
#include "record/event_lines.h"
#include "record/follow.h"
#include "record/listen.h"
#include "record/printer.h"
#include "record/recording.h"
#include "record/regions.h"
#include "recorder/options.h"
#include "rights/confine.h"
#include "rights/helper.h"
#include "rights/isolate.h"
#include "rights/sandbox.h"
#include "trace/set_name.h"
#include "vmm/libvirt.h"
#include "vmm/qmp.h"
#include "xvt_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUSH_NS	     100000000u /* ns between flushes of the trace to the file */
#define CHILD_END_MS 5000	/* time for the command to end after SIGTERM */

struct recorder {
	const struct xvt_recorder *how;
	struct xvt_recorder_options opt;
	struct xvt_recording rec;
	struct xvt_follow *follow; /* NULL: without --follow */
	struct xvt_armed *armed;   /* NULL: the output is one file */
	struct xvt_flight *flight; /* the same */
	struct xvt_keep_armed keep_armed;
	struct xvt_serve serve;
	struct xvt_snapshots *snapshots;	 /* NULL: the output is one file */
	struct xvt_compress_idle *compress_idle; /* NULL: without --compress idle */
	struct xvt_helper libvirt;		 /* asks whether it answers; no pid: none does */
	struct xvt_opener *opener;		 /* NULL: the recorder opens files itself */
	struct xvt_rules rules;			 /* of the opener; none before confine() */
	struct xvt_listen listen;
	struct xvt_outcome outcome;
	struct xvt_printer printer; /* with --print */
	bool terminal;
	bool bad_config;      /* the newest reload was refused */
	int columns;	      /* of the terminal, for the line of progress; 0: unknown */
	uint32_t logged_file; /* the newest that the log has; 0: none yet */
	uint64_t logged_removed;
	int child_go; /* a byte lets the command begin; -1: it has, or there is none */
	uint64_t start_ns;
	uint64_t pushed_ns;
	uint64_t progress_events; /* that the newest line of progress has */
	/* before each pass */
	struct xvt_timer on_reload;
	/* after each pass */
	struct xvt_timer on_child;
	struct xvt_timer on_end;
	struct xvt_timer on_files;
	struct xvt_timer on_progress;
	struct xvt_timer on_over;
};

/* The command runs once the host's kernel traces: release_child(). The process is there before,
 * since a recorder in its sandbox starts none. */
static int start_child(struct recorder *r, char **argv)
{
	struct xvt_recording *rec = &r->rec;
	int go[2], err;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	rec->child = fork();
	err = errno;
	if (rec->child) {
		close(go[0]);
		r->child_go = go[1];
	}
	if (rec->child < 0)
		return -err;
	if (rec->child == 0) {
		sigset_t none;
		char byte;
		ssize_t n;

		close(go[1]);
		do
			n = read(go[0], &byte, 1);
		while (n < 0 && errno == EINTR);
		if (n != 1) /* the recorder has ended */
			_exit(XVT_EXIT_FAIL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL); /* exec() would keep them ignored */
		signal(SIGXFSZ, SIG_DFL);
		execvp(argv[0], argv);
		xvt_error(argv[0], "cannot run it: %s", strerror(errno));
		_exit(127);
	}
	rec->child_fd = xvt_child_open(rec->child);
	return 0;
}

static void release_child(struct recorder *r, bool begin)
{
	if (r->child_go < 0)
		return;
	if (begin)
		(void)!write(r->child_go, "", 1);
	close(r->child_go);
	r->child_go = -1;
}

/* End the command after the recording: SIGTERM, and SIGKILL after CHILD_END_MS. */
static void end_child(struct xvt_recording *rec)
{
	if (rec->child <= 0)
		return;
	/* It has another user than this process, and the opener sends the signal: if that is gone,
	 * nothing does. */
	if (xvt_child_signal(rec->child_fd, rec->child, SIGTERM) == -EPERM) {
		xvt_warn("record",
			 "the command runs on as process %d: the helper that has the right to end "
			 "it was killed",
			 (int)rec->child);
		return;
	}
	/* The status counts for nothing: the recorder ended the command. */
	if (xvt_child_await(rec->child_fd, rec->child, NULL, CHILD_END_MS) != -ETIMEDOUT)
		return;
	xvt_warn("record", "the command does not end, killing it");
	xvt_child_kill(rec->child_fd, rec->child);
}

/* Says how a command ended that failed by itself. The reason of 127 is said by then: by
 * start_child(), or by the shell that did not find a program. */
static void say_child(const struct xvt_recording *rec, const char *command)
{
	const int status = rec->child_status;

	if (status > 128 && status <= 128 + SIGRTMAX)
		xvt_error(command, "the command ended by signal %d (%s)", status - 128,
			  strsignal(status - 128));
	else if (status && status != 127)
		xvt_error(command, "the command failed with exit status %d", status);
}

/* A condition `crash` that cannot hold would be silent. A QEMU that is asked by QMP may or may not
 * have the device for panics, and a module may be too old to tell of one. */
static void say_unseen_crash(struct recorder *r, struct xvt_vm *vm)
{
	const char *name = xvt_session_vm_name(vm);
	const struct xvt_opt_list *qmp = &r->opt.qmp;
	struct xvt_domain domain;
	char uuid[XVT_UUID_TEXT];
	struct xvt_error why;

	if (!xvt_snapshots_wants_crash(r->snapshots, name) ||
	    xvt_opt_named(qmp, qmp->n, name, strlen(name)))
		return;
	if (xvt_uuid_is_none(xvt_session_vm_uuid(vm))) {
		xvt_say_of_machine(1, name,
				   "the condition `crash` cannot see how it ends: no VMM "
				   "is asked; give its QMP socket by --qmp, or record it "
				   "as a domain; a panic is seen where its module tells it");
		return;
	}
	xvt_uuid_text(xvt_session_vm_uuid(vm), uuid);
	if (!xvt_libvirt_find(r->opt.machines.libvirt_uri, uuid, &domain, &why) && !domain.panics)
		xvt_say_of_machine(1, name,
				   "the condition `crash` sees its QEMU die, but a panic of "
				   "its kernel only where its module tells it: the domain has "
				   "no device that reports one, like <panic model='isa'/>");
}

/* A machine that came while others are recorded: what fails here does not end their recording. */
static void on_joined(void *arg, struct xvt_vm *vm)
{
	struct recorder *r = arg;

	if (r->rec.logs)
		xvt_say_of_machine(0, xvt_session_vm_name(vm), "joins; its region is %s",
				   xvt_session_vm_path(vm));
	xvt_listen_to_vmm(&r->listen, vm);
	xvt_listen_to_doorbell(&r->listen, vm);
	say_unseen_crash(r, vm);
}

static int listen_to_machines(struct recorder *r)
{
	struct xvt_vm *vm;
	size_t i;

	for (i = 0; (vm = xvt_session_vm(r->rec.session, i)); i++) {
		if (xvt_session_vm_is_host(vm))
			continue;
		if (xvt_listen_to_vmm(&r->listen, vm) || xvt_listen_to_doorbell(&r->listen, vm))
			return XVT_EXIT_FAIL;
		say_unseen_crash(r, vm);
	}
	if (r->armed)
		xvt_keep_armed_listen(&r->keep_armed);
	return XVT_EXIT_OK;
}

#define WAITS_SHOWN  4u /* machines */
#define TIME_COLUMNS 12 /* of the line of progress, before its text */

/* Append ", waits for g1 (no module yet), g2 (paused)". */
static void add_waits(const struct xvt_session *s, char *text, size_t size)
{
	size_t used = 0, n = 0, i;
	struct xvt_vm *vm;

	text[0] = 0;
	for (i = 0; (vm = xvt_session_vm(s, i)); i++) {
		const enum xvt_vm_waits w = xvt_session_vm_waits(vm);
		char why[XVT_WAITS_TEXT];

		if (w == XVT_WAITS_NOT || xvt_session_vm_is_gone(vm) || ++n > WAITS_SHOWN)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s (%s)",
					 n == 1 ? ", waits for " : ", ", xvt_session_vm_name(vm),
					 xvt_session_vm_waits_text(vm, w, why));
		if (used >= size)
			return;
	}
	if (n > WAITS_SHOWN)
		snprintf(text + used, size - used, " and %zu more", n - WAITS_SHOWN);
}

/* Tell the terminal and the service manager how the recording goes, each second. */
static void progress(struct recorder *r, uint64_t elapsed_ns)
{
	uint64_t events, lost, late;
	char text[768], armed[64] = "", waits[512];

	add_waits(r->rec.session, waits, sizeof(waits));
	xvt_session_sums(r->rec.session, &events, &lost, &late);
	if (xvt_armed_count(r->armed))
		snprintf(armed, sizeof(armed), ", %zu/%zu armed", xvt_armed_ready(r->armed),
			 xvt_armed_count(r->armed));
	snprintf(text, sizeof(text),
		 "%zu/%zu machines%s%s  %" PRIu64 " events  %" PRIu64 "/s  lost %" PRIu64
		 "  late %" PRIu64,
		 xvt_session_ready(r->rec.session), xvt_session_machines(r->rec.session), armed,
		 waits, events, events - r->progress_events, lost, late);
	r->progress_events = events;
	xvt_notify("WATCHDOG=1\nSTATUS=%s%s", text,
		   r->bad_config ? "; its configuration has an error, see the log" : "");
	if (r->rec.quiet || r->opt.print)
		return;
	/* A line that goes on in a next row would be left there by the return. */
	if (r->columns > TIME_COLUMNS && (size_t)(r->columns - TIME_COLUMNS) < sizeof(text))
		text[r->columns - TIME_COLUMNS] = '\0';
	xvt_log_raw("%s%5" PRIu64 ".%" PRIu64 " s  %s%s", r->terminal ? "\r" : "",
		    elapsed_ns / 1000000000u, elapsed_ns / 100000000u % 10, text,
		    r->terminal ? "\033[K" : "\n");
	r->rec.line_open = r->terminal;
}

/*
 * Hand the trace to the file every PUSH_NS and before a long sleep, so that after a crash the file
 * has all but the last moment. Not while the disk is slow, so that no ring waits for it. The next
 * write reports an error.
 */
static void push(struct recorder *r, uint64_t now_ns, uint64_t sleep_ns)
{
	struct xvt_file_set *sink = r->rec.sink;

	if ((now_ns - r->pushed_ns < PUSH_NS && sleep_ns <= PUSH_NS) ||
	    xvt_file_set_would_wait(sink))
		return;
	r->pushed_ns = now_ns;
	xvt_session_flush(r->rec.session);
	xvt_file_set_push(sink);
}

/* Returns true if no machine is left, each of which was reported, or the trace has its size. */
static bool is_over(struct recorder *r)
{
	struct xvt_recording *rec = &r->rec;

	/* A machine that is stopped by request may be started. */
	if (!r->follow && !xvt_session_alive(rec->session) && !xvt_session_stopped(rec->session) &&
	    !xvt_armed_count(r->armed))
		return true;
	if (!xvt_session_size_reached(rec->session))
		return false;
	xvt_recording_end_line(rec);
	if (!rec->quiet)
		xvt_log_raw("xvtrace: %s: --max-size is reached, recording ends\n", rec->output);
	return true;
}

static void set_rotation(struct recorder *r)
{
	r->rec.keep = r->opt.keep;
	r->rec.keep.next_bytes = r->opt.rotate_bytes;
	r->rec.keep.copies = xvt_recorder_idle_level(&r->opt);
}

/* Take what a running recorder can of new options, and warn of the rest. */
static void take_options(struct recorder *r, const struct xvt_recorder_options *fresh)
{
	const struct xvt_opt *o;
	char taken[256] = "";
	size_t used = 0;

	for (o = xvt_recorder_opts; o->name; o++) {
		if (xvt_opt_same(o, &r->opt, fresh))
			continue;
		if (!(o->flags & XVT_OPT_LIVE))
			xvt_warn(o->name, "changed; it takes effect after a restart");
		else if (used < sizeof(taken))
			used += (size_t)snprintf(taken + used, sizeof(taken) - used, "%s%s",
						 used ? ", " : "", o->name);
	}
	xvt_note("the configuration %s was read again; new from here on: %s", r->how->config,
		 used ? taken : "nothing");
	xvt_opt_take_live(xvt_recorder_opts, &r->opt, fresh);
	set_rotation(r);
	xvt_session_rotate_at(r->rec.session, r->opt.rotate_bytes, r->opt.rotate_ns);
	xvt_file_set_keep(r->rec.sink, &r->rec.keep);
	if (r->armed && xvt_rearm(r->armed, &fresh->machines.flight, r->rec.session))
		xvt_warn("--flight-recorder", "out of memory; it is as before");
}

/* Read the options anew into `fresh`, which then points into *file. Returns whether all are good.
 */
static bool read_options(const struct recorder *r, struct xvt_recorder_options *fresh,
			 struct xvt_opt_file *file)
{
	struct xvt_session_options so;
	char request[XVT_REQUEST_LEN];

	if (r->how->reload(r->how->reload_arg, fresh, file))
		return false;
	xvt_recorder_complete(fresh);
	return xvt_recorder_check_options(r->how, fresh, file, &so, request) == XVT_EXIT_OK;
}

/* SIGHUP came, or a client asks for it. Returns false after an error message. */
static bool reload(void *arg)
{
	struct recorder *r = arg;
	struct xvt_recorder_options *fresh = calloc(1, sizeof(*fresh));
	struct xvt_opt_file file = { .path = NULL };
	bool good;

	r->rec.reload = false;
	good = fresh && read_options(r, fresh, &file);
	if (good)
		take_options(r, fresh);
	else
		xvt_warn(r->how->command, "goes on with the options that it has");
	r->bad_config = !good;
	free(fresh);
	xvt_opt_file_free(&file);
	return good;
}

static void begin_to_serve(struct recorder *r)
{
	r->serve = (struct xvt_serve){ .rec = &r->rec,
				       .output = r->opt.output,
				       .snapshots = r->snapshots,
				       .compress_idle = r->compress_idle,
				       .machines = &r->opt.machines,
				       .armed = r->armed,
				       .joined = on_joined,
				       .reload = r->how->reload ? reload : NULL,
				       .arg = r };
	xvt_serve_begin(&r->serve);
}

/* Tell the log of a service that there is a next file, and that old ones were removed. */
static void log_files(struct recorder *r)
{
	const uint32_t file = xvt_file_set_at(r->rec.sink);
	const uint64_t removed = xvt_file_set_removed(r->rec.sink);

	if (!r->rec.logs)
		return;
	if (r->logged_file && file != r->logged_file)
		xvt_note("goes on in the next file, %s", xvt_file_set_path(r->rec.sink));
	if (removed != r->logged_removed)
		xvt_note("%" PRIu64
			 " of the oldest files were removed, by the limits of keep-size, "
			 "keep-time and keep-free",
			 removed - r->logged_removed);
	r->logged_file = file;
	r->logged_removed = removed;
}

/* ------------------------------------------------------------------ beside the passes */

static void on_reload(struct xvt_timer *timer, uint64_t now_ns)
{
	struct recorder *r = container_of(timer, struct recorder, on_reload);

	(void)now_ns;
	if (r->rec.reload)
		reload(r);
	xvt_timer_arm(timer, 0, XVT_TIMER_NEVER);
}

/* The command waits for the host's kernel, but not longer than the machines. */
static void on_child(struct xvt_timer *timer, uint64_t now_ns)
{
	struct recorder *r = container_of(timer, struct recorder, on_child);

	if (!xvt_session_host_begins(r->rec.session) ||
	    now_ns - r->start_ns >= r->opt.join_timeout_ns)
		release_child(r, true);
	else
		xvt_timer_arm(timer, 0, XVT_TIMER_NEVER);
}

/* --duration */
static void on_end(struct xvt_timer *timer, uint64_t now_ns)
{
	(void)now_ns;
	container_of(timer, struct recorder, on_end)->rec.stop = true;
}

static void on_files(struct xvt_timer *timer, uint64_t now_ns)
{
	(void)now_ns;
	log_files(container_of(timer, struct recorder, on_files));
	xvt_timer_arm(timer, 0, XVT_TIMER_NEVER);
}

static void on_progress(struct xvt_timer *timer, uint64_t now_ns)
{
	struct recorder *r = container_of(timer, struct recorder, on_progress);

	/* At the end the outcome follows at once. */
	if (!r->rec.stop)
		progress(r, now_ns - r->start_ns);
	xvt_timer_arm(timer, now_ns + SECOND_NS, XVT_TIMER_NEVER);
}

static void on_over(struct xvt_timer *timer, uint64_t now_ns)
{
	struct recorder *r = container_of(timer, struct recorder, on_over);

	(void)now_ns;
	r->rec.stop |= is_over(r);
	xvt_timer_arm(timer, 0, XVT_TIMER_NEVER);
}

/* The loop does not wake up for it. */
static void begin_timer(struct xvt_timers *list, struct xvt_timer *timer,
			void (*due)(struct xvt_timer *timer, uint64_t now_ns), uint64_t from_ns)
{
	xvt_timer_add(list, timer, due);
	xvt_timer_arm(timer, from_ns, XVT_TIMER_NEVER);
}

/* Behind those of the modules. */
static void begin_timers(struct recorder *r)
{
	struct xvt_timers *after = &r->rec.after_pass;
	const uint64_t start_ns = xvt_session_now_ns(r->rec.session);
	const uint64_t most_ns = XVT_TIMER_NEVER - start_ns, duration_ns = r->opt.duration_ns;
	const uint64_t end_ns = duration_ns < most_ns ? start_ns + duration_ns : XVT_TIMER_NEVER;

	r->start_ns = r->pushed_ns = start_ns;
	begin_timer(&r->rec.before_pass, &r->on_reload, on_reload, 0);
	begin_timer(after, &r->on_child, on_child, 0);
	xvt_timer_add(after, &r->on_end, on_end);
	if (duration_ns)
		xvt_timer_arm(&r->on_end, end_ns, end_ns);
	begin_timer(after, &r->on_files, on_files, 0);
	xvt_listen_begin(&r->listen, start_ns);
	begin_timer(after, &r->on_progress, on_progress, start_ns + SECOND_NS);
	begin_timer(after, &r->on_over, on_over, 0);
}

/* ------------------------------------------------------------------ the loop */

/* How long the loop may wait for the next pass; sleep_ns: for the session. */
static uint64_t sleep_of(const struct xvt_recording *rec, uint64_t now_ns, uint64_t sleep_ns)
{
	if (!xvt_session_alive(rec->session))
		sleep_ns = SECOND_NS / 4; /* a file, a domain or a request ends it */
	sleep_ns = xvt_timers_sleep_ns(&rec->before_pass, now_ns, sleep_ns);
	return xvt_timers_sleep_ns(&rec->after_pass, now_ns, sleep_ns);
}

/* Features of the recorder have timers beside the passes, and are not named here. */
static int make_passes(struct recorder *r)
{
	struct xvt_recording *rec = &r->rec;
	uint64_t now_ns, sleep_ns;
	int err = 0;

	while (err >= 0 && !rec->stop) {
		xvt_timers_run(&rec->before_pass, xvt_session_now_ns(rec->session));
		err = xvt_session_pass(rec->session, &sleep_ns);
		if (err)
			return err;
		now_ns = xvt_session_now_ns(rec->session);
		push(r, now_ns, sleep_ns);
		xvt_timers_run(&rec->after_pass, now_ns);
		if (!rec->stop)
			err = xvt_loop_run(rec->loop, sleep_of(rec, now_ns, sleep_ns));
	}
	return err < 0 ? err : 0;
}

static int run(struct recorder *r)
{
	struct xvt_file_set *sink = r->rec.sink;
	int err;

	/* From here on FILE is this recording, also for a reader that opens it at once. */
	xvt_file_set_push(sink);
	xvt_printer_go(&r->printer,
		       xvt_file_set_at(sink) ? xvt_file_set_path(sink) : r->opt.output);
	xvt_notify("READY=1");
	begin_timers(r);
	err = make_passes(r);
	xvt_recording_end_line(&r->rec);
	xvt_notify("STOPPING=1");
	return err;
}

static int make_page_folder(const char *path)
{
	if (!path || !mkdir(path, 0755) || errno == EEXIST)
		return XVT_EXIT_OK;
	xvt_error(path, "cannot make this folder for clock pages: %s", strerror(errno));
	return XVT_EXIT_FAIL;
}

/* What the recorder and its flight recorders have to open. */
static struct xvt_business business_of(const struct recorder *r)
{
	const struct xvt_recorder_options *opt = &r->opt;

	return (struct xvt_business){ .output = opt->output,
				      .clock_page = opt->clock_page,
				      .machines = &opt->machines,
				      .qmp = &opt->qmp,
				      .doorbells = &opt->doorbells };
}

static struct xvt_flight_options flight_options(const struct recorder *r)
{
	return (struct xvt_flight_options){ .business = business_of(r),
					    .stall_timeout_ns = r->opt.stall_timeout_ns,
					    .memory_bytes = r->opt.memory_bytes };
}

/* Flight recorders are looked at before the snapshots look at the result. */
static void begin_to_keep_armed(struct recorder *r)
{
	r->keep_armed = (struct xvt_keep_armed){ .rec = &r->rec,
						 .armed = r->armed,
						 .flight = r->flight,
						 .machines = &r->opt.machines,
						 .qmp = &r->opt.qmp,
						 .joined = on_joined,
						 .arg = r };
	xvt_keep_armed_begin(&r->keep_armed);
}

static int begin_snapshots(struct recorder *r)
{
	const struct xvt_flight_options of_flight = flight_options(r);
	int err;

	if (!xvt_file_set_at(r->rec.sink))
		return XVT_EXIT_OK;
	if (r->armed)
		begin_to_keep_armed(r);
	err = xvt_snapshots_new(&r->snapshots, &r->rec, r->opt.output, &r->opt.snapshots);
	if (!err)
		err = xvt_snapshots_read(r->snapshots, r->flight, r->armed, &of_flight);
	r->keep_armed.snapshots = r->snapshots;
	if (err == -ENOMEM)
		xvt_error("--snapshot-when", "out of memory");
	return err == -EINVAL ? XVT_EXIT_USAGE : err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

/* Before the machines are found. */
static int begin_armed(struct recorder *r)
{
	const struct xvt_machine_options *machines = &r->opt.machines;
	const struct xvt_flight_options of_flight = flight_options(r);
	int err;

	if (!xvt_set_is_folder(r->opt.output))
		return XVT_EXIT_OK;
	if (xvt_armed_new(&r->armed, &machines->flight, machines->follow)) {
		xvt_error("--flight-recorder", "out of memory");
		return XVT_EXIT_FAIL;
	}
	r->opt.machines.keeper = xvt_armed_keeper(r->armed);
	err = xvt_flight_new(&r->flight, &of_flight);
	if (err)
		xvt_error("--flight-recorder", "cannot start the process that reads: %s",
			  strerror(-err));
	else
		xvt_recording_needs_helper(&r->rec, xvt_flight_helper(r->flight));
	return err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

/* The recorder itself will start no process and load no library. */
static int begin_libvirt(struct recorder *r)
{
	static const struct xvt_helper_name name = { "asks libvirt",
						     "no machine of libvirt joins" };
	const struct xvt_machine_options *machines = &r->opt.machines;
	int err;

	if ((!machines->all && !machines->domains.n) || xvt_libvirt_prepare())
		return XVT_EXIT_OK;
	err = xvt_helper_start(&r->libvirt, &name, xvt_confine_kept(), xvt_libvirt_serve,
			       (void *)machines->libvirt_uri);
	if (err) {
		xvt_error("libvirt", "cannot start the process that asks it: %s", strerror(-err));
		return XVT_EXIT_FAIL;
	}
	xvt_recording_needs_helper(&r->rec, &r->libvirt);
	return XVT_EXIT_OK;
}

static int begin_compress_idle(struct recorder *r)
{
	const unsigned int level = xvt_recorder_idle_level(&r->opt);
	int err =
		level ? xvt_compress_idle_new(&r->compress_idle, &r->rec, r->opt.output, level) : 0;

	if (err)
		xvt_error("--compress", "cannot start the process that compresses: %s",
			  strerror(-err));
	return err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

/* The recording goes on without its sandbox: log, status and trace say so. */
static void tell_open(struct recorder *r)
{
	static const char text[] =
		"it records without, since there is no libseccomp (libseccomp2): a guest that "
		"takes the recorder over has the rights of its user";

	r->serve.no_sandbox = xvt_sandbox_check() == -ENOPKG;
	if (!r->serve.no_sandbox)
		return;
	r->rec.own_words = true;
	xvt_session_say(r->rec.session, 1, NULL, text);
	r->rec.own_words = false;
	xvt_recording_end_line(&r->rec);
	xvt_warn("sandbox", "%s", text);
}

/* The kernel has refused a wall, although the recorder may make it: log and trace say so. One
 * without the capability, as of a user, is as it has to be: status says it. */
static void tell_lacks(struct recorder *r, unsigned int lacks)
{
	char keeps[XVT_WALLS_TEXT], text[XVT_WALLS_TEXT + 100];

	r->serve.lacks = lacks;
	if (!lacks || lacks & XVT_NO_CAPABILITY)
		return;
	snprintf(text, sizeof(text),
		 "the recorder keeps %s, as it could get no other: its filter alone keeps it from "
		 "what these give",
		 xvt_walls_keeps(lacks, keeps));
	r->rec.own_words = true;
	xvt_session_say(r->rec.session, 1, NULL, text);
	r->rec.own_words = false;
	xvt_recording_end_line(&r->rec);
	xvt_warn("sandbox", "%s", text);
}

/* Take the rights away that the passes do not need. Returns 0, or -errno after an error message. */
static int confine(struct recorder *r)
{
	const char *control = r->rec.control ? xvt_server_listener(r->rec.control)->path : NULL;
	const struct xvt_business business = business_of(r);
	unsigned int lacks = 0;
	int err = 0;

	if (r->opener)
		err = xvt_business_tell(r->opener, &business, r->rec.session, r->how->config,
					control, &r->rules);
	if (err) {
		xvt_rules_free(&r->rules);
		if (err != -ETIMEDOUT) /* that was told */
			xvt_error("sandbox",
				  "the process that opens files cannot be told which: %s",
				  strerror(-err));
		return err;
	}
	if (r->libvirt.pid)
		xvt_libvirt_ask_by(r->libvirt.fd, &r->libvirt.asked);
	if (!getcwd(r->serve.cwd, sizeof(r->serve.cwd)))
		r->serve.cwd[0] = '\0';
	/* Threads would stay in the network that they began in. */
	xvt_loop_end_threads(r->rec.loop);
	err = xvt_confine_recorder(r->opt.machines.libvirt_uri, r->opener, r->opt.memory_bytes,
				   &lacks);
	if (!err) {
		tell_open(r);
		tell_lacks(r, lacks);
	}
	if (!err && r->opener)
		xvt_recording_needs(&r->rec, xvt_opener_pid(r->opener), "opens files");
	return err;
}

static int record(struct recorder *r)
{
	const struct xvt_recorder_options *opt = &r->opt;
	const struct xvt_business business = business_of(r);
	struct xvt_recording *rec = &r->rec;
	char request[XVT_REQUEST_LEN];
	struct xvt_session_options so = {
		.join_timeout_ns = opt->join_timeout_ns,
		.stall_timeout_ns = opt->stall_timeout_ns,
		.memory_bytes = opt->memory_bytes,
		.max_bytes = opt->max_bytes,
		.rotate_bytes = opt->rotate_bytes,
		.rotate_ns = opt->rotate_ns,
		.clock_page_dir = opt->clock_page,
		.run_spans = opt->run_spans,
		.follow = opt->machines.follow,
		.trusts = xvt_regions_trusts,
		.request = request,
	};
	int err = 0, status = xvt_recorder_check_options(r->how, opt, r->how->file, &so, request);

	if (status == XVT_EXIT_OK)
		status = make_page_folder(opt->clock_page);
	xvt_regions_begin();
	if (status == XVT_EXIT_OK && xvt_business_begin(r->how->command, &business, &r->opener))
		status = XVT_EXIT_FAIL;
	if (status == XVT_EXIT_OK)
		status = begin_armed(r);
	rec->isolates = r->opener != NULL;
	if (status == XVT_EXIT_OK)
		status = xvt_recording_begin(rec, &so, &opt->machines);
	if (status != XVT_EXIT_OK)
		return status;
	r->outcome.first_file = xvt_file_set_at(rec->sink);
	/* Before the kernel traces: a signal ends the tracing with the recorder. */
	err = xvt_recording_watch_signals(rec);
	/* Before the listeners: they tell which threads run the vCPUs. */
	if (!err)
		status = xvt_host_events_add(rec->session, &opt->host);
	if (status == XVT_EXIT_OK)
		status = begin_snapshots(r);
	if (status == XVT_EXIT_OK)
		status = begin_compress_idle(r);
	if (status == XVT_EXIT_OK)
		status = begin_libvirt(r);
	xvt_qmp_asks_vcpus = opt->host.events.n || opt->host.presets.n;
	if (status == XVT_EXIT_OK)
		status = listen_to_machines(r);
	begin_to_serve(r);
	if (status == XVT_EXIT_OK && (xvt_serve_clients(&r->serve, opt->control) ||
				      xvt_serve_collectors(&r->serve, opt->metrics_http)))
		status = XVT_EXIT_FAIL;
	if (status == XVT_EXIT_OK && !err && r->how->child)
		err = start_child(r, r->how->child);
	if (status == XVT_EXIT_OK && !err && opt->print)
		err = xvt_printer_start(&r->printer);
	if (status == XVT_EXIT_OK && !err && opt->machines.follow)
		err = xvt_follow_begin(&r->follow, rec->loop, &rec->before_pass, rec->session,
				       &opt->machines, rec->logs, on_joined, r);
	r->serve.follow = r->follow;
	if (status == XVT_EXIT_OK && !err && confine(r))
		status = XVT_EXIT_FAIL;
	if (status == XVT_EXIT_OK && !err) {
		err = run(r);
		/* They end now, one after the other. */
		rec->helper_count = 0;
		/* After an error of the trace, that alone is said. */
		rec->outcome = err ? NULL : &r->outcome;
	}
	xvt_libvirt_leave();
	xvt_follow_end(r->follow);
	xvt_armed_unlisten(r->armed);
	xvt_compress_idle_free(r->compress_idle);
	r->outcome.snapshots = r->snapshots ? xvt_snapshots_count(r->snapshots) : 0;
	status = xvt_recording_end(rec, status, err);
	xvt_snapshots_free(r->snapshots);
	xvt_printer_end(&r->printer, opt->output);
	release_child(r, false);
	end_child(rec);
	if (rec->outcome && !rec->quiet)
		xvt_outcome_say(&r->outcome, r->opt.output, rec->logs);
	if (rec->child_status)
		say_child(rec, r->how->child[0]);
	return status == XVT_EXIT_OK && rec->child_status ? XVT_EXIT_FAIL : status;
}

int xvt_recorder_run(const struct xvt_recorder *recorder)
{
	struct recorder r = {
		.how = recorder,
		.opt = recorder->opt,
		.terminal = isatty(STDERR_FILENO),
		.child_go = -1,
	};
	struct winsize window;
	int status;

	if (r.terminal && !ioctl(STDERR_FILENO, TIOCGWINSZ, &window))
		r.columns = window.ws_col;
	xvt_journal_prepare();
	xvt_recorder_complete(&r.opt);
	r.rec = (struct xvt_recording){ .command = recorder->command,
					.output = r.opt.output,
					.keep_old = !recorder->opt.output,
					.quiet = r.opt.quiet,
					.logs = recorder->reload,
					.strict = !recorder->reload && !r.opt.machines.follow,
					.patient = true,
					.reloads = recorder->reload };
	r.listen = (struct xvt_listen){ .rec = &r.rec,
					.qmp = &r.opt.qmp,
					.doorbells = &r.opt.doorbells,
					.libvirt_uri = r.opt.machines.libvirt_uri,
					.rules = &r.rules };
	set_rotation(&r);
	status = record(&r);
	if (r.libvirt.pid) {
		xvt_libvirt_ask_by(-1, NULL);
		xvt_helper_end(&r.libvirt);
	}
	if (!xvt_flight_free(r.flight))
		status = XVT_EXIT_FAIL;
	xvt_armed_free(r.armed);
	if (!xvt_opener_end(r.opener))
		status = XVT_EXIT_FAIL;
	xvt_rules_free(&r.rules);
	return status;
}
