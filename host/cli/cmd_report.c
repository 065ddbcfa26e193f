// SPDX-License-Identifier: GPL-2.0
/* cmd_report.c - `xvtrace report`: the events as text, one a line. */
#include <inttypes.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/select.h"

struct report_opts {
	struct xvt_select select;
	bool system;
	bool task;
	bool raw;
	bool wall;
	bool bound;
	bool relative;
	bool delta;
};

static const struct xvt_opt report_opts[] = {
	XVT_SELECT_OPTS(struct report_opts, select, "from", "to"),
	XVT_OPT(struct report_opts, system, "system", 's', XVT_OPT_BOOL, NULL,
		"events as SYSTEM:EVENT"),
	XVT_OPT(struct report_opts, task, "task", 't', XVT_OPT_BOOL, NULL,
		"COMM-PID before the event"),
	XVT_OPT(struct report_opts, raw, "raw", 'R', XVT_OPT_BOOL, NULL,
		"fields as NAME=VALUE, not by the guest's print format"),
	XVT_OPT(struct report_opts, wall, "wall", 'w', XVT_OPT_BOOL, NULL,
		"times of the wall clock (CLOCK_REALTIME), not CLOCK_MONOTONIC"),
	XVT_OPT(struct report_opts, bound, "bound", 0, XVT_OPT_BOOL, NULL,
		"how far each time may be off, behind it"),
	XVT_OPT(struct report_opts, relative, "relative", 0, XVT_OPT_BOOL, NULL,
		"times since the first event of the trace"),
	XVT_OPT(struct report_opts, delta, "delta", 0, XVT_OPT_BOOL, NULL,
		"also the time since the line before"),
	XVT_OPT_END,
};

static void say_unordered(const struct xvt_export *x)
{
	xvt_note("~ marks %" PRIu64 " of %" PRIu64 " events: whether they were before or after %s "
		 "is not known, their times are within the bounds (--bound shows them, --reclock "
		 "makes them smaller)",
		 x->unordered, x->given, x->around.ring ? "the one marked >" : "that time");
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct xvt_out out;
	static struct report_opts opts;
	struct xvt_export x = { 0 };
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL);
	int status, err;

	if (at < 0)
		return at == -2 ? XVT_EXIT_OK : XVT_EXIT_USAGE;
	if (argc - at != 1) {
		xvt_error("report", "give one trace; 'xvtrace report --help' shows how");
		return XVT_EXIT_USAGE;
	}
	if (opts.relative && opts.wall) {
		xvt_error("--relative", "its times are of no clock; leave --wall out");
		return XVT_EXIT_USAGE;
	}
	x.system = opts.system;
	x.task = opts.task;
	x.raw = opts.raw;
	x.wall = opts.wall;
	x.bound = opts.bound;
	x.relative = opts.relative;
	x.delta = opts.delta;
	x.marks = true;
	status = xvt_select_open(&opts.select, argv[at], &x);
	if (status)
		return status;
	x.first_ns = xvtrace_info(x.trace)->first_ns;
	err = xvt_out_open(&out, "-");
	if (!err)
		err = xvt_export_text(&x, &out);
	if (err)
		xvt_error(argv[at], "%s", strerror(-err));
	if (xvt_out_close(&out)) {
		xvt_error("standard output", "%s", strerror(-out.err));
		err = out.err;
	}
	if (x.unordered && !err && !opts.select.quiet)
		say_unordered(&x);
	return xvt_select_close(&opts.select, &x, err);
}

const struct xvt_command xvt_cmd_report = {
	.name = "report",
	.args = "FILE.xvt",
	.brief = "show the events of a trace, one a line: TIME VM:CPU FLAGS EVENT: fields",
	.opts = report_opts,
	.run = run,
};
