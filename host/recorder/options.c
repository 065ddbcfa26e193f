// SPDX-License-Identifier: GPL-2.0
/* options.c - see options.h. */
#include "recorder/options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/digits.h"
#include "base/number.h"
#include "control/http.h"
#include "record/event_lines.h"
#include "record/recording.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "trace/set_name.h"

#define O(field, name, letter, type, metavar, ...) \
	XVT_OPT(struct xvt_recorder_options, field, name, letter, type, metavar, __VA_ARGS__)

/* Why one file cannot have it. */
#define NO_ROTATION  .one_file = "one file cannot be rotated"
#define NO_SNAPSHOTS .one_file = "one file has no snapshots"

const struct xvt_opt xvt_recorder_opts[] = {
	O(output, "output", 'o', XVT_OPT_STRING, "FILE.xvt|DIR/",
	  "the trace to write (default xvtrace.xvt; an older one moves to xvtrace.xvt.old); into a "
	  "folder: numbered files, DIR/00000001.xvt and so on",
	  .in_file = "/var/lib/xvtrace/", .group = "The trace"),
	O(compress, "compress", 'z', XVT_OPT_STRING, "LEVEL|idle[:LEVEL]",
	  "compress the trace by zstd: 1 (quick) to 19 (small); idle: with -o DIR/, the files that "
	  "are "
	  "finished, when the host has time",
	  .usual = "0"),
	O(order, "order", 0, XVT_OPT_CHOICE, "auto|now|later",
	  "when rings are merged: while recording, but by the readers of the trace for what comes "
	  "too fast; always while recording; always by the readers",
	  .usual = "auto"),
	O(max_bytes, "max-size", 0, XVT_OPT_SIZE, "SIZE",
	  "end when the trace has this size; each machine may have an equal part of it",
	  .least = XVT_MAX_BYTES_LEAST),
	O(duration_ns, "duration", 0, XVT_OPT_TIME, "SEC", "stop after this long"),
	O(print, "print", 0, XVT_OPT_BOOL, NULL,
	  "print the events while they are recorded, as report does; no progress"),
	O(quiet, "quiet", 'q', XVT_OPT_BOOL, NULL, "no progress", .in_file = "yes"),
	O(machines.regions, "region", 'r', XVT_OPT_LIST, "[NAME=]REGION[,rings=N]",
	  XVT_REGION_HELP " (default: all of this host)", .group = "Machines"),
	O(machines.domains, "domain", 'd', XVT_OPT_LIST, "DOMAIN", XVT_DOMAIN_HELP),
	O(machines.follow, "follow", 0, XVT_OPT_BOOL, NULL,
	  "also record machines that come later; wait where there are none yet", .in_file = "yes"),
	O(machines.libvirt_uri, "connect", 'c', XVT_OPT_STRING, "URI",
	  "libvirt to ask (default: its own)"),
	O(qmp, "qmp", 0, XVT_OPT_LIST, "NAME=SOCKET",
	  "learn of pauses and resets of the machine of -r NAME= from this QMP socket; again for "
	  "each QEMU that it may migrate to"),
	O(doorbells, "doorbell", 0, XVT_OPT_LIST, "NAME=SOCKET",
	  "the machine of -r NAME= or -d NAME has a doorbell at this ivshmem server (region "
	  "serve): "
	  "where all have, an idle recorder sleeps (default: what its domain names)"),
	O(machines.trusted, "trust-guest-clock", 0, XVT_OPT_LIST, "NAME", XVT_TRUST_HELP),
	O(join_timeout_ns, "join-timeout", 0, XVT_OPT_TIME, "SEC",
	  "wait this long for all machines before the first event is written", .usual = "60",
	  .in_file = "5"),
	O(stall_timeout_ns, "stall-timeout", 0, XVT_OPT_TIME, "SEC",
	  "go on without a machine that is silent for this long", .usual = "2"),
	O(mode, "mode", 0, XVT_OPT_CHOICE, "stop|overwrite",
	  "what a full ring drops: what is new or what is old", .usual = "stop"),
	O(drain, "drain", 0, XVT_OPT_CHOICE, "mapped|io_uring",
	  "how data leaves a ring: copied from the mapping, or read by io_uring",
	  .usual = "mapped"),
	O(events, "event", 'e', XVT_OPT_WORDS, "SYS:EVENT",
	  "ask the guests to switch this event on (their owner must allow it: host_events=yes)",
	  .group = "Events"),
	O(host.events, "host-event", 'H', XVT_OPT_WORDS, "SYS:EVENT",
	  "record this event of the host's kernel, too (wildcards; root only); again for each"),
	O(host.presets, "host", 0, XVT_OPT_WORDS, XVT_HOST_PRESETS,
	  "the same for a group of events; again for each"),
	O(host.all_threads, "host-all", 0, XVT_OPT_BOOL, NULL,
	  "events of all threads of the host, not only of the machines' VMMs"),
	O(host.buffer_bytes, "host-buffer", 0, XVT_OPT_SIZE, "SIZE",
	  "the kernel's memory for the host's events, for each CPU", .usual = "1M",
	  .most = XVT_HOST_BUFFER_MOST),
	O(run_spans, "run-spans", 0, XVT_OPT_BOOL, NULL,
	  "also record when the host's kernel had each vCPU run (KVM only, root only, costs)"),
	O(rotate_bytes, "rotate-size", 0, XVT_OPT_SIZE, "SIZE",
	  "with -o DIR/: go on in a next file when this one has about this size", .in_file = "256M",
	  .least = XVT_MAX_BYTES_LEAST, NO_ROTATION, .flags = XVT_OPT_LIVE, .group = "Files"),
	O(rotate_ns, "rotate-time", 0, XVT_OPT_TIME, "SEC", "the same after this long",
	  .in_file = "3600", NO_ROTATION, .flags = XVT_OPT_LIVE),
	O(keep.bytes, "keep-size", 0, XVT_OPT_SIZE, "SIZE",
	  "remove the oldest files of DIR/ so that all have at most this size", .in_file = "8G",
	  NO_ROTATION, .flags = XVT_OPT_LIVE),
	O(keep.ns, "keep-time", 0, XVT_OPT_TIME, "SEC",
	  "remove files of DIR/ that were written longer ago", .in_file = "604800", NO_ROTATION,
	  .flags = XVT_OPT_LIVE),
	O(keep.free_bytes, "keep-free", 0, XVT_OPT_SIZE, "SIZE",
	  "remove the oldest files of DIR/ so that this much of the disk stays free",
	  .in_file = "1G", NO_ROTATION, .flags = XVT_OPT_LIVE),
	O(snapshots.when, "snapshot-when", 0, XVT_OPT_LIST, "CONDITION",
	  "with -o DIR/: keep the files around the moment when it holds, in DIR/snapshots/: crash "
	  "[MACHINE], loss [MACHINE], still SEC [MACHINE], event GLOB [FILTER]; again for each",
	  NO_SNAPSHOTS, .group = "Snapshots"),
	O(snapshots.before_ns, "snapshot-before", 0, XVT_OPT_TIME, "SEC",
	  "what a snapshot has from before its moment, at least", .usual = "2"),
	O(snapshots.after_ns, "snapshot-after", 0, XVT_OPT_TIME, "SEC", "and from after it",
	  .usual = "2"),
	O(snapshots.per_minute, "snapshot-per-minute", 0, XVT_OPT_COUNT, "N",
	  "make at most N snapshots in a minute", .usual = "2", .most = XVT_SNAPSHOTS_MINUTE_MOST),
	O(snapshots.most, "snapshot-most", 0, XVT_OPT_COUNT, "N", "keep the newest N snapshots",
	  .usual = "20"),
	O(machines.flight, "flight-recorder", 0, XVT_OPT_LIST, "PATTERN",
	  "with -o DIR/: do not record machines of this name but keep them armed, in overwrite "
	  "mode; "
	  "a snapshot has what they hold; again for each",
	  NO_SNAPSHOTS, .flags = XVT_OPT_LIVE),
	O(memory_bytes, "memory", 'm', XVT_OPT_SIZE, "SIZE",
	  "most memory for events that wait, half of it split between the machines",
	  .usual = "256M", .group = "The recorder"),
	O(control, "control", 0, XVT_OPT_STRING, "SOCKET",
	  "where `xvtrace status` asks (default: one of its own; see xvtrace-status(1))"),
	O(metrics_http, "metrics-http", 0, XVT_OPT_STRING, "[ADDRESS:]PORT",
	  "serve metrics to programs of this host: http://127.0.0.1:PORT/metrics (default: no)"),
	O(clock_page, "clock-page", 0, XVT_OPT_STRING, "DIR",
	  "make DIR/NAME.RING, from which this host's programs read each vCPU's time"),
	XVT_OPT_END,
};

/* Returns whether one of the first `n` elements of `list` equals `arg`. */
static bool given(const struct xvt_opt_list *list, size_t n, const char *arg)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!strcmp(list->v[i], arg))
			return true;
	}
	return false;
}

/* Returns whether -d has that name. */
static bool is_domain_named(const struct xvt_opt_list *domains, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < domains->n; i++) {
		const char *arg = domains->v[i];

		if (!strncmp(arg, name, len) && (!arg[len] || arg[len] == ','))
			return true;
	}
	return false;
}

/* Check that each element of `list` is NAME=SOCKET of a machine of -r, and none is given twice.
 * bells: it may be one of -d, too, and has at most one. Returns false after an error message. */
static bool sockets_ok(const struct xvt_recorder_options *opt, const struct xvt_opt_list *list,
		       const char *option, const char *what, bool bells)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		const struct xvt_opt_value value = { option, i, list->v[i], NULL };
		const char *arg = list->v[i], *eq = strchr(arg, '=');
		size_t len = eq ? (size_t)(eq - arg) : 0;

		if (!len || !eq[1])
			xvt_opt_error_of(&value, "%s is given as NAME=SOCKET, like g1=/run/g1.%s",
					 what, option);
		else if (!xvt_opt_named(&opt->machines.regions, opt->machines.regions.n, arg,
					len) &&
			 !(bells && is_domain_named(&opt->machines.domains, arg, len)))
			xvt_opt_error_of(
				&value, "--%s belongs to a machine of -r%s, and none has that name",
				option, bells ? " or -d" : "");
		else if (given(list, i, arg))
			xvt_opt_error_of(&value, "%s is given twice", what);
		else if (bells && xvt_opt_named(list, i, arg, len))
			xvt_opt_error_of(&value, "a machine has one %s", option);
		else
			continue;
		return false;
	}
	return true;
}

#define COMPRESS_IDLE_LEVEL 3u

/* --compress: the level while recording, and the one of finished files; 0: none. */
static int compress_when(const char *text, unsigned int *now, unsigned int *idle)
{
	uint64_t level = 0;
	const char *end;
	bool later;

	*now = *idle = 0;
	if (!text)
		return 0;
	if (!strcmp(text, "idle")) {
		*idle = COMPRESS_IDLE_LEVEL;
		return 0;
	}
	later = !strncmp(text, "idle:", 5);
	if (xvt_parse_u64(later ? text + 5 : text, &end, &level) || *end ||
	    level > XVT_COMPRESS_LEVEL_MAX || (later && !level))
		return -EINVAL;
	*(later ? idle : now) = (unsigned int)level;
	return 0;
}

unsigned int xvt_recorder_idle_level(const struct xvt_recorder_options *opt)
{
	unsigned int now, idle;

	return compress_when(opt->compress, &now, &idle) ? 0 : idle;
}

/* The present file and the next are never removed, and each may have a reserve of half its size. */
static bool is_unbounded(const struct xvt_recorder_options *opt)
{
	const unsigned int files = xvt_recorder_idle_level(opt) ? 4 : 3; /* with a copy */

	return opt->keep.bytes &&
	       (!opt->rotate_bytes || opt->rotate_bytes > opt->keep.bytes / files);
}

void xvt_recorder_complete(struct xvt_recorder_options *opt)
{
	opt->machines.all = !opt->machines.regions.n && !opt->machines.domains.n;
	if (!opt->output)
		opt->output = XVT_TRACE_DEFAULT;
	if (!opt->host.buffer_bytes)
		opt->host.buffer_bytes = XVT_HOST_BUFFER_USUAL;
}

/* Returns false after an error message. */
static bool metrics_ok(const char *address)
{
	union xvt_http_address unused;
	const char *wrong = address ? xvt_http_parse(address, &unused) : NULL;

	if (wrong)
		xvt_opt_error("metrics-http", "%s: %s", address, wrong);
	return !wrong;
}

/* Returns whether the trace is to be numbered files. */
static bool is_set(const struct xvt_recorder *how, const char *output)
{
	return xvt_set_is_folder(output) || (how->makes_folder && access(output, F_OK));
}

/* Options that a trace of one file cannot have. Returns false after an error message. */
static bool one_file_ok(const struct xvt_recorder_options *opt)
{
	const struct xvt_opt_value output = { "output", 0, opt->output, NULL };
	const struct xvt_opt *row = NULL;

	/* A row with a line of its own tells more than the default of one. */
	for (const struct xvt_opt *o = xvt_recorder_opts; o->name; o++) {
		if (o->one_file && xvt_opt_is_set(o, opt) && (!row || xvt_opt_has_line(o->name)))
			row = o;
	}
	if (!row)
		return true;
	if (xvt_opt_has_line(row->name) || !xvt_opt_has_line("output"))
		xvt_opt_error(row->name, "%s; give a folder, like -o %s.d/", row->one_file,
			      opt->output);
	else
		xvt_opt_error_of(&output, "%s; give a folder, like -o %s.d/", row->one_file,
				 opt->output);
	return false;
}

/* --compress. set: the trace is numbered files. Returns false after an error message. */
static bool compress_ok(const struct xvt_recorder_options *opt, bool set, unsigned int *now)
{
	unsigned int idle;

	if (compress_when(opt->compress, now, &idle))
		xvt_opt_error("compress", "give a level, 1 (quick) to %u (small), or idle[:LEVEL]",
			      XVT_COMPRESS_LEVEL_MAX);
	else if (idle && !set)
		xvt_opt_error("compress",
			      "idle is for the finished files of a folder; give one, like -o %s.d/",
			      opt->output);
	else if ((*now || idle) && !xvt_pack_bound(1))
		xvt_opt_error("compress", XVT_NO_ZSTD_HELP);
	else
		return true;
	return false;
}

/* Returns false after an error message. */
static bool bounded(const struct xvt_recorder_options *opt)
{
	if (!is_unbounded(opt))
		return true;
	if (!xvt_opt_has_line("keep-size") && xvt_opt_has_line("rotate-size"))
		xvt_opt_error(
			"rotate-size",
			"it is at most a third of --keep-size (with --compress idle: a quarter)");
	else
		xvt_opt_error("keep-size",
			      "it needs --rotate-size, of at most a third of it (with --compress "
			      "idle: a quarter)");
	return false;
}

/* Check what the rows of the options do not say. Returns an exit status, after an error message. */
static int check_options(const struct xvt_recorder *how, const struct xvt_recorder_options *opt,
			 struct xvt_session_options *so)
{
	int status = xvt_recording_options(how->command, opt->output, &opt->machines);
	const bool set = status == XVT_EXIT_OK && is_set(how, opt->output);

	if (status != XVT_EXIT_OK)
		return status;
	so->mode = opt->mode ? XVT_ENABLE_OVERWRITE : XVT_ENABLE_STOP;
	so->drain_reads = opt->drain;
	so->order = (enum xvt_order_when)opt->order;
	if (compress_ok(opt, set, &so->compress) && bounded(opt) && (set || one_file_ok(opt)) &&
	    (how->makes_folder || xvt_output_ok(opt->output)) && xvt_host_events_ok(&opt->host) &&
	    sockets_ok(opt, &opt->qmp, "qmp", "a QMP socket", false) &&
	    sockets_ok(opt, &opt->doorbells, "doorbell", "a doorbell", true) &&
	    metrics_ok(opt->metrics_http))
		return XVT_EXIT_OK;
	return XVT_EXIT_USAGE;
}

static int check_all(const struct xvt_recorder *how, const struct xvt_recorder_options *opt,
		     struct xvt_session_options *so, char *request)
{
	int err, status = check_options(how, opt, so);

	if (status != XVT_EXIT_OK)
		return status;
	err = xvt_machines_check(&opt->machines);
	if (!err)
		err = xvt_snapshots_check(&opt->snapshots);
	if (!err)
		err = xvt_event_lines(&opt->events, "event", request, XVT_REQUEST_LEN);
	return err == -ENOMEM ? XVT_EXIT_FAIL : err ? XVT_EXIT_USAGE : XVT_EXIT_OK;
}

int xvt_recorder_check_options(const struct xvt_recorder *how,
			       const struct xvt_recorder_options *opt,
			       const struct xvt_opt_file *file, struct xvt_session_options *so,
			       char *request)
{
	int status;

	xvt_opt_errors_of(file);
	status = check_all(how, opt, so, request);
	xvt_opt_errors_of(NULL);
	return status;
}

int xvt_recorder_check(struct xvt_recorder *recorder)
{
	struct xvt_session_options so;
	char request[XVT_REQUEST_LEN];

	xvt_recorder_complete(&recorder->opt);
	return xvt_recorder_check_options(recorder, &recorder->opt, recorder->file, &so, request);
}
