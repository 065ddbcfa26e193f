// SPDX-License-Identifier: GPL-2.0
/* recording.c - see recording.h. */
#define _GNU_SOURCE
#include "record/recording.h"
#include "base/container.h"
#include "base/log.h"
#include "base/time.h"
#include "rights/confine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

int xvt_recording_options(const char *command, const char *output,
			  const struct xvt_machine_options *machines)
{
	if (!output)
		xvt_error(command, "no output given; use -o FILE.xvt");
	else if (!machines->regions.n && !machines->domains.n && !machines->all)
		xvt_error(command, "no machine given; use -r NAME=REGION or -d DOMAIN");
	else
		return XVT_EXIT_OK;
	return XVT_EXIT_USAGE;
}

void xvt_recording_end_line(struct xvt_recording *rec)
{
	if (rec->line_open)
		xvt_log_raw("\n");
	rec->line_open = false;
}

static void on_note(void *arg, uint32_t level, const char *vm, const char *text)
{
	struct xvt_recording *rec = arg;

	rec->failed |= level == 2;
	if (rec->own_words)
		return;
	if (!rec->logs && (level == 0 || (level == 1 && rec->quiet)))
		return;
	xvt_recording_end_line(rec);
	if (vm)
		xvt_say_of_machine(level, vm, "%s", text);
	else if (level == 2)
		xvt_error(rec->command, "%s", text);
	else if (level == 1)
		xvt_warn(rec->command, "%s", text);
	else
		xvt_note("%s", text);
}

/* The log of a service has it as a note. */
static void on_state(void *arg, const char *vm, const char *text)
{
	struct xvt_recording *rec = arg;

	if (rec->logs || rec->quiet)
		return;
	xvt_recording_end_line(rec);
	xvt_say_of_machine(0, vm, "%s", text);
}

static void look_for_helpers(struct xvt_recording *rec);
static void watch_helpers(struct xvt_timer *timer, uint64_t now_ns);

static void need(struct xvt_recording *rec, const struct xvt_recording_helper *helper)
{
	if (rec->helper_count < XVT_RECORDING_HELPERS)
		rec->helpers[rec->helper_count++] = *helper;
	/* Its SIGCHLD may have come before. */
	if (rec->on_signal.done)
		look_for_helpers(rec);
}

void xvt_recording_needs(struct xvt_recording *rec, pid_t *pid, const char *does)
{
	need(rec, &(struct xvt_recording_helper){ .pid = pid, .does = does });
}

void xvt_recording_needs_helper(struct xvt_recording *rec, struct xvt_helper *h)
{
	need(rec,
	     &(struct xvt_recording_helper){ .pid = &h->pid, .does = h->name.does, .watched = h });
	if (!rec->watch.list) {
		xvt_timer_add(&rec->after_pass, &rec->watch, watch_helpers);
		xvt_timer_arm(&rec->watch, 0, XVT_TIMER_NEVER);
	}
}

/* A warning, or that it is over, in the trace and to the user. */
static void say_news(struct xvt_recording *rec, const struct xvt_helper *h,
		     enum xvt_helper_news news, unsigned int still_s)
{
	char text[320];

	if (news == XVT_HELPER_STILL)
		snprintf(text, sizeof(text),
			 "the recorder's process that %s (process %d) has not answered for %u s: "
			 "it was stopped, or a disk does not answer. Until it answers, %s",
			 h->name.does, (int)h->pid, still_s, h->name.until);
	else
		snprintf(text, sizeof(text),
			 "the recorder's process that %s (process %d) answers again", h->name.does,
			 (int)h->pid);
	/* The log has it also if it is quiet. */
	rec->own_words = true;
	xvt_session_say(rec->session, news == XVT_HELPER_STILL, NULL, text);
	rec->own_words = false;
	xvt_recording_end_line(rec);
	if (news == XVT_HELPER_STILL)
		xvt_warn(rec->command, "%s", text);
	else
		xvt_note("%s", text);
}

static void watch_helpers(struct xvt_timer *timer, uint64_t now_ns)
{
	struct xvt_recording *rec = container_of(timer, struct xvt_recording, watch);
	enum xvt_helper_news news;
	unsigned int still_s;
	size_t i;

	/* So no death depends on one signal alone, which may fail to be read. */
	look_for_helpers(rec);
	for (i = 0; i < rec->helper_count; i++) {
		struct xvt_helper *h = rec->helpers[i].watched;

		news = h ? xvt_helper_watch(h, now_ns, &still_s) : XVT_HELPER_NO_NEWS;
		if (news != XVT_HELPER_NO_NEWS)
			say_news(rec, h, news, still_s);
	}
	xvt_timer_arm(timer, now_ns + SECOND_NS, XVT_TIMER_NEVER);
}

/* An error, in the trace and to the user. */
static void say_helper(struct xvt_recording *rec, const char *does, int status)
{
	char how[64], text[256];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(how, sizeof(how), "ended with exit status %d", WEXITSTATUS(status));
	snprintf(text, sizeof(text),
		 "the recorder's process that %s %s: nothing can begin it again, so the recording "
		 "ends here, in order; record again",
		 does, how);
	xvt_session_say(rec->session, 2, NULL, text);
}

/* A child of the recorder's has ended, and perhaps more than one. */
static void look_for_helpers(struct xvt_recording *rec)
{
	size_t i;
	int status;

	for (i = 0; i < rec->helper_count; i++) {
		pid_t *pid = rec->helpers[i].pid;

		if (*pid <= 0 || waitpid(*pid, &status, WNOHANG) != *pid)
			continue;
		*pid = 0;
		rec->stop = true;
		say_helper(rec, rec->helpers[i].does, status);
	}
}

static void on_signal(struct xvt_op *op, int res)
{
	struct xvt_recording *rec = container_of(op, struct xvt_recording, on_signal);
	struct signalfd_siginfo si;
	int status;

	(void)res;
	while (read(rec->signal_fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGUSR2) {
			xvt_session_rotate(rec->session);
			continue;
		}
		if (si.ssi_signo == SIGHUP && rec->reloads) {
			rec->reload = true;
			continue;
		}
		if (si.ssi_signo != SIGCHLD) {
			rec->stop = true;
			continue;
		}
		if (rec->child > 0 && waitpid(rec->child, &status, WNOHANG) == rec->child) {
			rec->child_status =
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			rec->child = 0;
			rec->stop = true;
		}
		look_for_helpers(rec);
	}
	xvt_loop_poll(rec->loop, &rec->on_signal, rec->signal_fd, POLLIN);
}

int xvt_recording_watch_signals(struct xvt_recording *rec)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (xvt_file_set_at(rec->sink)) /* else it ends the recorder, as any program */
		sigaddset(&set, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	rec->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (rec->signal_fd < 0)
		return -errno;
	rec->on_signal.done = on_signal;
	look_for_helpers(rec); /* a SIGCHLD from before was not kept */
	return xvt_loop_poll(rec->loop, &rec->on_signal, rec->signal_fd, POLLIN);
}

/* Make loop and file. Returns 0 or -errno, after an error message. */
static int open_output(struct xvt_recording *rec)
{
	int err = xvt_loop_new(&rec->loop);

	if (err) {
		xvt_error_io_uring("event loop", err);
		return err;
	}
	rec->kept = rec->keep_old ? xvt_keep_old(rec->output) : 0;
	err = rec->kept < 0 ? rec->kept : xvt_file_set_new(&rec->sink, rec->loop, rec->output);
	if (err) {
		xvt_error(rec->output, "cannot write it: %s", xvt_file_set_why(err));
		xvt_keep_old_undo(rec->output, rec->kept);
		xvt_loop_free(rec->loop);
		return err;
	}
	if (rec->isolates)
		xvt_confine_capabilities_to_isolate();
	else
		xvt_confine_capabilities();
	if (rec->patient)
		xvt_file_set_patient(rec->sink);
	xvt_file_set_keep(rec->sink, &rec->keep);
	return 0;
}

int xvt_recording_begin(struct xvt_recording *rec, struct xvt_session_options *so,
			const struct xvt_machine_options *machines)
{
	int err, refused, status;

	if (open_output(rec))
		return XVT_EXIT_FAIL;
	refused = xvt_loop_uring_err(rec->loop);
	if (so->drain_reads && refused) {
		xvt_error_io_uring("--drain io_uring", refused);
		goto close;
	}
	so->note = on_note;
	so->state = on_state;
	so->note_arg = rec;
	so->set_number = xvt_file_set_at(rec->sink);
	so->folder = so->set_number ? rec->output : NULL;
	err = xvt_session_new(&rec->session, rec->loop, xvt_file_set_base(rec->sink), so);
	if (err == -ENOTSUP && so->compress)
		xvt_error("--compress", XVT_NO_ZSTD_HELP);
	else if (err)
		xvt_error(rec->command, "cannot start: %s", strerror(-err));
	if (err)
		goto close;
	if (machines && !rec->quiet)
		xvt_note_loop(rec->loop);
	status = machines ? xvt_machines_add(rec->session, machines) : XVT_EXIT_OK;
	return status == XVT_EXIT_OK ? status : xvt_recording_end(rec, status, 0);
close:
	xvt_file_set_discard(rec->sink);
	xvt_file_set_close(rec->sink);
	xvt_keep_old_undo(rec->output, rec->kept);
	xvt_loop_free(rec->loop);
	return XVT_EXIT_FAIL;
}

int xvt_recording_take_snapshot(struct xvt_recording *rec)
{
	uint64_t sleep_ns, moment_ns;
	int err = 0;

	while (!err && !rec->stop && xvt_session_alive(rec->session)) {
		err = xvt_session_pass(rec->session, &sleep_ns);
		if (err || xvt_session_snapshot_done(rec->session, &moment_ns))
			break;
		err = xvt_loop_run(rec->loop, sleep_ns);
		err = err < 0 ? err : 0;
	}
	return err;
}

int xvt_recording_end(struct xvt_recording *rec, int status, int err)
{
	int end_err;

	if (status != XVT_EXIT_OK) {
		xvt_file_set_discard(rec->sink);
		xvt_session_call_off(rec->session);
	}
	end_err = xvt_session_end(rec->session);
	err = err ? err : end_err;
	if (rec->outcome && status == XVT_EXIT_OK && !err)
		rec->failed |= xvt_outcome_take(rec->outcome, rec->session, rec->sink, rec->strict,
						rec->quiet);
	xvt_server_close(rec->control);
	xvt_server_close(rec->http);
	xvt_session_free(rec->session);
	end_err = xvt_file_set_close(rec->sink);
	err = err ? err : end_err;
	xvt_loop_free(rec->loop);
	if (status != XVT_EXIT_OK) {
		xvt_keep_old_undo(rec->output, rec->kept);
		return status;
	}
	if (err)
		xvt_error(rec->output, "writing the trace failed: %s; it is good up to there%s",
			  strerror(-err),
			  err == -ENOSPC ? ". Free space on its disk, or write elsewhere by -o"
					 : "");
	return err || rec->failed ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}
