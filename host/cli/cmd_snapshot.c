// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_snapshot.c - `xvtrace snapshot`: write the contents of flight recorders up to one moment of
 * host time, as one merged trace. The guests continue to record.
 */
#define _GNU_SOURCE
#include "cli/cmd.h"
#include "cli/recording.h"
#include "xvt_abi.h"

#include <inttypes.h>
#include <stdio.h>

struct snapshot_options {
	const char *output;
	struct xvt_machine_options machines;
	uint64_t stall_timeout_ns;
	uint64_t memory_bytes;
	bool quiet;
};

#define O(field, name, letter, type, metavar, help) \
	XVT_OPT(struct snapshot_options, field, name, letter, type, metavar, help)

static const struct xvt_opt options[] = {
	O(output, "output", 'o', XVT_OPT_STRING, "FILE.xvt", "the trace to write"),
	O(machines.regions, "region", 'r', XVT_OPT_LIST, "[NAME=]REGION[,rings=N]",
	  XVT_REGION_HELP),
	O(machines.domains, "domain", 'd', XVT_OPT_LIST, "DOMAIN", XVT_DOMAIN_HELP),
	O(machines.trusted, "trust-guest-clock", 0, XVT_OPT_LIST, "NAME", XVT_TRUST_HELP),
	O(machines.libvirt_uri, "connect", 'c', XVT_OPT_STRING, "URI",
	  "libvirt to ask (default: its own)"),
	O(stall_timeout_ns, "stall-timeout", 0, XVT_OPT_SECONDS, "SEC",
	  "take a machine that is silent for this long as it is (default 2)"),
	O(memory_bytes, "memory", 'm', XVT_OPT_SIZE, "SIZE",
	  "most memory for copies of rings, half of it split between the machines (default: all "
	  "fit)"),
	O(quiet, "quiet", 'q', XVT_OPT_BOOL, NULL, "print no summary"),
	XVT_OPT_END,
};

static int take(struct xvt_recording *rec)
{
	uint64_t sleep_ns, moment_ns;
	int err = xvt_recording_watch_signals(rec);

	while (!err && !rec->stop && xvt_session_alive(rec->session)) {
		err = xvt_session_pass(rec->session, &sleep_ns);
		if (err || xvt_session_snapshot_done(rec->session, &moment_ns))
			break;
		err = xvt_loop_run(rec->loop, sleep_ns);
		err = err < 0 ? err : 0;
	}
	return err;
}

static int snapshot(const struct snapshot_options *opt)
{
	struct xvt_session_options so = {
		.mode = XVT_ENABLE_OVERWRITE,
		.kind = XVT_SESSION_SNAPSHOT,
		.join_timeout_ns = opt->stall_timeout_ns,
		.stall_timeout_ns = opt->stall_timeout_ns,
		.memory_bytes = opt->memory_bytes ? opt->memory_bytes : XVT_MEMORY_ALL,
	};
	struct xvt_recording rec = { .command = "snapshot",
				     .output = opt->output,
				     .quiet = opt->quiet };
	int status = xvt_recording_begin(&rec, &so, &opt->machines), err;
	uint64_t moment_ns;
	size_t machines;
	bool whole;

	if (status != XVT_EXIT_OK)
		return status;
	err = take(&rec);
	machines = xvt_session_machines(rec.session);
	whole = xvt_session_snapshot_done(rec.session, &moment_ns);
	status = xvt_recording_end(&rec, XVT_EXIT_OK, err);
	if (status == XVT_EXIT_OK && !whole) {
		xvt_error("snapshot", "ended before it was whole");
		status = XVT_EXIT_FAIL;
	} else if (status == XVT_EXIT_OK && !opt->quiet) {
		fprintf(stderr,
			"xvtrace: %s: what %zu machines held at %" PRIu64 ".%09" PRIu64 "\n",
			opt->output, machines, moment_ns / 1000000000u, moment_ns % 1000000000u);
	}
	return status;
}

static int cmd_snapshot(const struct xvt_command *cmd, int argc, char **argv)
{
	struct snapshot_options opt = { .stall_timeout_ns = 2000000000ull };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL), status;

	if (first < 0)
		return first == -2 ? XVT_EXIT_OK : XVT_EXIT_USAGE;
	if (first < argc) {
		xvt_error(argv[first], "not an option; a region is given as -r NAME=REGION");
		return XVT_EXIT_USAGE;
	}
	status = xvt_recording_options("snapshot", opt.output, &opt.machines);
	return status == XVT_EXIT_OK ? snapshot(&opt) : status;
}

const struct xvt_command xvt_cmd_snapshot = {
	.name = "snapshot",
	.args = "-o FILE.xvt [-r [NAME=]REGION]... [-d DOMAIN]...",
	.brief = "write what flight recorders hold now; they go on recording",
	.opts = options,
	.run = cmd_snapshot,
};
