// SPDX-License-Identifier: GPL-2.0
/* cmd_report.c - `xvtrace report`: the events as text, one a line. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "select/beside.h"
#include "cli/cmd.h"
#include "cli/pager.h"
#include "cli/report_follow.h"
#include "select/select.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "rights/confine.h"

struct report_opts {
	struct xvt_select select;
	bool system;
	bool task; /* the default; older command lines have it */
	bool no_task;
	bool raw;
	bool wall;
	bool bound;
	bool relative;
	bool delta;
	bool legend;
	unsigned int colour; /* enum xvt_colour */
	bool no_pager;
	bool follow;
	bool any_length;
};

/* The text of a trace is some 10 times as long, or 100 times if that was compressed: a file of 4
 * MiB that is made for it gave 8 GiB. */
#define TEXT_TIMES 500u
#define TEXT_LEAST (256ull << 20)

static const struct xvt_opt report_opts[] = {
	XVT_SELECT_OPTS(struct report_opts, select, "from", "to"),
	XVT_OPT(struct report_opts, system, "system", 's', XVT_OPT_BOOL, NULL,
		"events as SYSTEM:EVENT"),
	XVT_OPT(struct report_opts, task, "task", 't', XVT_OPT_BOOL, NULL,
		"COMM-PID before the event, which is the default"),
	XVT_OPT(struct report_opts, no_task, "no-task", 0, XVT_OPT_BOOL, NULL, "without COMM-PID"),
	XVT_OPT(struct report_opts, raw, "raw", 'R', XVT_OPT_BOOL, NULL,
		"fields as NAME=VALUE, not by the guest's print format"),
	XVT_OPT(struct report_opts, wall, "wall", 'w', XVT_OPT_BOOL, NULL,
		"dates of the wall clock (CLOCK_REALTIME), not CLOCK_MONOTONIC"),
	XVT_OPT(struct report_opts, bound, "bound", 0, XVT_OPT_BOOL, NULL,
		"how far each time may be off, behind it"),
	XVT_OPT(struct report_opts, relative, "relative", 0, XVT_OPT_BOOL, NULL,
		"times since the first event of the trace"),
	XVT_OPT(struct report_opts, delta, "delta", 0, XVT_OPT_BOOL, NULL,
		"also the time since the line before"),
	XVT_OPT(struct report_opts, legend, "legend", 0, XVT_OPT_BOOL, NULL,
		"a line first that says what FLAGS are, as on a terminal"),
	XVT_COLOUR_OPT(struct report_opts, colour, "a colour for each machine"),
	XVT_OPT(struct report_opts, follow, "follow", 'f', XVT_OPT_BOOL, NULL,
		"go on with what is written to the trace, until it ends"),
	XVT_NO_PAGER_OPT(struct report_opts, no_pager),
	XVT_OPT(struct report_opts, any_length, "any-length", 0, XVT_OPT_BOOL, NULL,
		"go on also where the text is more than 500 times as long as the trace"),
	XVT_OPT_END,
};

static void limit_text(const struct xvt_export *x, const struct report_opts *opts,
		       struct xvt_out *out)
{
	const uint64_t size = xvtrace_info(x->trace)->size;

	if (opts->any_length || !size || size > UINT64_MAX / TEXT_TIMES)
		return;
	out->most = size * TEXT_TIMES > TEXT_LEAST ? size * TEXT_TIMES : TEXT_LEAST;
}

static void say_output_failed(const struct xvt_export *x, const struct xvt_out *out)
{
	if (out->err == -EFBIG && out->most)
		xvt_error(xvtrace_info(x->trace)->path,
			  "its text is more than %u times as long as the trace, as that of one "
			  "which is made to fill a disk; --any-length shows all",
			  TEXT_TIMES);
	else
		xvt_error("standard output", "%s", strerror(-out->err));
}

/* Returns false after a message. */
static bool can_follow(const struct report_opts *opts, size_t count)
{
	if (count > 1)
		xvt_error("--follow", "it follows one trace; give one");
	else if (opts->select.around || opts->select.reclock || opts->select.limit < 0)
		xvt_error("--follow", "leave %s out: it takes the whole trace",
			  opts->select.around	 ? "--around"
			  : opts->select.reclock ? "--reclock"
						 : "a --limit from the end");
	else
		return true;
	return false;
}

static void say_unordered(const struct xvt_export *x, bool reclocked)
{
	xvt_note("~ marks %" PRIu64 " of %" PRIu64 " events: whether they were before or after %s "
		 "is not known, their times are within the bounds (--bound shows them%s)",
		 x->unordered, x->given, x->around.ring ? "the one marked >" : "that time",
		 reclocked ? "" : ", --reclock makes them smaller");
}

/* Whether `arg`, the first behind the options, is meant as the name of a task, as --task has it in
 * other tools. Says so. */
static bool is_name_of_task(const struct report_opts *opts, const char *arg)
{
	if (!opts->task || !arg || !strcmp(arg, "-") || !access(arg, F_OK))
		return false;
	xvt_error("report",
		  "%s: no such file; --task takes no name: events of a task are chosen by --comm "
		  "or --pid",
		  arg);
	return true;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct xvt_out out;
	static struct report_opts opts;
	static struct xvt_beside beside;
	struct xvt_export x = { 0 };
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL);
	const char *const *paths;
	size_t count;
	int status, err;

	if (at < 0)
		return xvt_opt_exit_status(at);
	if (is_name_of_task(&opts, argv[at]))
		return XVT_EXIT_USAGE;
	if (!xvt_standard_inputs(argc - at, argv + at))
		return XVT_EXIT_FAIL;
	count = xvt_trace_paths(cmd->name, argc - at, argv + at, &paths);
	if (!count)
		return XVT_EXIT_USAGE;
	if (opts.relative && opts.wall) {
		xvt_error("--relative", "its times are of no clock; leave --wall out");
		return XVT_EXIT_USAGE;
	}
	x.system = opts.system;
	x.task = !opts.no_task;
	x.align = true;
	x.raw = opts.raw;
	x.wall = opts.wall;
	x.bound = opts.bound;
	x.relative = opts.relative;
	x.delta = opts.delta;
	x.people = opts.legend || isatty(STDOUT_FILENO);
	x.marks = true;
	x.states = true;
	x.colour = xvt_pager_chosen_colour(opts.colour);
	if (opts.follow && !can_follow(&opts, count))
		return XVT_EXIT_USAGE;
	if (!opts.no_pager && !opts.follow)
		xvt_pager_prepare();
	xvt_confine(false);
	if (opts.follow) {
		x.marks = false;
		x.all = opts.select.all;
		return xvt_report_follow(&opts.select, paths[0], &x);
	}
	xvt_beside_look(paths, count, &beside);
	status = xvt_select_open_several(&opts.select, paths, count, &x);
	if (status) {
		xvt_pager_end();
		return status;
	}
	xvt_confine_opened();
	xvt_pager_begin();
	if (opts.bound && !opts.select.no_reclock && !opts.select.quiet &&
	    !xvt_select_reclocks(&opts.select, &x))
		xvt_note("the trace has no end, so bounds are those of the recording; --reclock "
			 "makes them smaller");
	x.first_ns = xvtrace_info(x.trace)->first_ns;
	err = xvt_out_open(&out, "-");
	if (!err) {
		limit_text(&x, &opts, &out);
		err = xvt_export_text(&x, &out);
	}
	if (err)
		xvt_error(xvtrace_info(x.trace)->path, "%s", strerror(-err));
	if (xvt_out_close(&out)) {
		say_output_failed(&x, &out);
		err = out.err;
	}
	if (x.unordered && !err && !opts.select.quiet)
		say_unordered(&x, xvt_select_reclocks(&opts.select, &x));
	status = xvt_select_close(&opts.select, &x, err);
	if (!opts.select.quiet && !err)
		xvt_beside_say(&beside, cmd->name);
	xvt_pager_end();
	return status;
}

const struct xvt_command xvt_cmd_report = {
	.name = "report",
	.args = "[FILE.xvt|DIR]...",
	.brief = "show the events of a trace, one a line: TIME VM:CPU FLAGS TASK EVENT: fields",
	.opts = report_opts,
	.run = run,
};
