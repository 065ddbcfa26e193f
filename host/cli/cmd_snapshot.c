// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_snapshot.c - `xvtrace snapshot`: write the contents of flight recorders up to one moment of
 * host time, as one merged trace. The guests continue to record.
 */
#define _GNU_SOURCE
#include "cli/cmd.h"
#include "cli/machines.h"
#include "trace/file_sink.h"
#include "xvt_abi.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct snapshot_options {
	const char *output;
	struct xvt_opt_list regions;
	struct xvt_opt_list domains;
	struct xvt_opt_list trusted;
	const char *connect;
	uint64_t stall_timeout_ns;
	uint64_t memory_bytes;
	bool quiet;
};

#define O(field, name, letter, type, metavar, help) \
	XVT_OPT(struct snapshot_options, field, name, letter, type, metavar, help)

static const struct xvt_opt options[] = {
	O(output, "output", 'o', XVT_OPT_STRING, "FILE.xvt", "the trace to write"),
	O(regions, "region", 'r', XVT_OPT_LIST, "NAME=REGION",
	  "a machine by the path of its region; again for each"),
	O(domains, "domain", 'd', XVT_OPT_LIST, "DOMAIN",
	  "a running libvirt domain with a shmem device named xvtrace-*"),
	O(trusted, "trust-guest-clock", 0, XVT_OPT_LIST, "NAME", XVT_TRUST_HELP),
	O(connect, "connect", 'c', XVT_OPT_STRING, "URI", "libvirt to ask (default: its own)"),
	O(stall_timeout_ns, "stall-timeout", 0, XVT_OPT_SECONDS, "SEC",
	  "take a machine that is silent for this long as it is (default 2)"),
	O(memory_bytes, "memory", 'm', XVT_OPT_SIZE, "SIZE",
	  "most memory for copies of rings, half of it split between the machines (default: all "
	  "fit)"),
	O(quiet, "quiet", 'q', XVT_OPT_BOOL, NULL, "print no summary"),
	XVT_OPT_END,
};

/* No limit but the size of the regions, which are files of this host. */
#define MEMORY_ALL (UINT64_MAX / 4)

static volatile sig_atomic_t stop;

struct snapshot {
	const struct snapshot_options *opt;
	struct xvt_loop *loop;
	struct xvt_file_sink *sink;
	struct xvt_session *session;
	bool failed; /* an error was noted, as of a machine that dropped out */
};

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void on_note(void *arg, uint32_t level, const char *vm, const char *text)
{
	struct snapshot *snap = arg;

	if (level == 2) {
		snap->failed = true;
		xvt_error(vm ? vm : "snapshot", "%s", text);
	} else if (level == 1 && !snap->opt->quiet) {
		xvt_warn(vm ? vm : "snapshot", "%s", text);
	}
}

/* An interrupted command must clear its id in the regions, which marks them as in use. */
static void watch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int take(struct snapshot *snap)
{
	struct xvt_session *s = snap->session;
	uint64_t sleep_ns, moment_ns;
	int err = 0;

	while (!err && !stop && xvt_session_alive(s)) {
		err = xvt_session_pass(s, &sleep_ns);
		if (err || xvt_session_snapshot_done(s, &moment_ns))
			break;
		err = xvt_loop_run(snap->loop, sleep_ns);
		err = err < 0 && err != -EINTR ? err : 0;
	}
	return err;
}

static void say_what(const struct snapshot *snap, uint64_t moment_ns)
{
	if (!snap->opt->quiet)
		fprintf(stderr,
			"xvtrace: %s: what %zu machines held at %" PRIu64 ".%09" PRIu64 "\n",
			snap->opt->output, snap->opt->regions.n + snap->opt->domains.n,
			moment_ns / 1000000000u, moment_ns % 1000000000u);
}

static int start(struct snapshot *snap)
{
	struct xvt_session_options so = {
		.mode = XVT_ENABLE_OVERWRITE,
		.cut = true,
		.join_timeout_ns = snap->opt->stall_timeout_ns,
		.stall_timeout_ns = snap->opt->stall_timeout_ns,
		.memory_bytes = snap->opt->memory_bytes ? snap->opt->memory_bytes : MEMORY_ALL,
		.note = on_note,
		.note_arg = snap,
	};
	int err = xvt_loop_new(&snap->loop);

	if (err) {
		xvt_error_io_uring(err);
		return err;
	}
	err = xvt_file_sink_new(&snap->sink, snap->loop, snap->opt->output);
	if (err) {
		xvt_error(snap->opt->output, "cannot write it: %s", xvt_file_sink_why(err));
		xvt_loop_free(snap->loop);
		return err;
	}
	err = xvt_session_new(&snap->session, snap->loop, xvt_file_sink_base(snap->sink), &so);
	if (err) {
		xvt_error("snapshot", "cannot start: %s", strerror(-err));
		xvt_file_sink_discard(snap->sink);
		xvt_file_sink_close(snap->sink);
		xvt_loop_free(snap->loop);
	}
	return err;
}

static int snapshot(struct snapshot *snap)
{
	uint64_t moment_ns;
	int err = 0, end_err, status;
	bool whole;

	if (start(snap))
		return XVT_EXIT_FAIL;
	status = xvt_machines_add(snap->session, &snap->opt->regions, &snap->opt->domains,
				  snap->opt->connect);
	if (status == XVT_EXIT_OK)
		status = xvt_machines_trust(snap->session, &snap->opt->trusted);
	if (status == XVT_EXIT_OK) {
		watch_signals();
		err = take(snap);
	} else {
		xvt_file_sink_discard(snap->sink);
	}
	whole = xvt_session_snapshot_done(snap->session, &moment_ns);
	end_err = xvt_session_finish(snap->session);
	err = err ? err : end_err;
	end_err = xvt_file_sink_close(snap->sink);
	err = err ? err : end_err;
	xvt_loop_free(snap->loop);
	if (status != XVT_EXIT_OK)
		return status;
	if (err) {
		xvt_error(snap->opt->output, "writing the trace failed: %s; it is good up to there",
			  strerror(-err));
		return XVT_EXIT_FAIL;
	}
	if (!whole) {
		xvt_error("snapshot", "ended before it was whole");
		return XVT_EXIT_FAIL;
	}
	say_what(snap, moment_ns);
	return snap->failed ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

static int cmd_snapshot(const struct xvt_command *cmd, int argc, char **argv)
{
	struct snapshot_options opt = { .stall_timeout_ns = 2000000000ull };
	struct snapshot snap = { .opt = &opt };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL);

	if (first < 0)
		return first == -2 ? XVT_EXIT_OK : XVT_EXIT_USAGE;
	if (first < argc) {
		xvt_error(argv[first], "not an option; a region is given as -r NAME=REGION");
		return XVT_EXIT_USAGE;
	}
	if (!opt.output) {
		xvt_error("snapshot", "no output given; use -o FILE.xvt");
		return XVT_EXIT_USAGE;
	}
	if (!opt.regions.n && !opt.domains.n) {
		xvt_error("snapshot", "no machine given; use -r NAME=REGION or -d DOMAIN");
		return XVT_EXIT_USAGE;
	}
	return snapshot(&snap);
}

const struct xvt_command xvt_cmd_snapshot = {
	.name = "snapshot",
	.args = "-o FILE.xvt [-r NAME=REGION]... [-d DOMAIN]...",
	.brief = "write what flight recorders hold now; they go on recording",
	.opts = options,
	.run = cmd_snapshot,
};
