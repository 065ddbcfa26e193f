// SPDX-License-Identifier: GPL-2.0
/* cmd_path.c - `xvtrace path`: what a task waited for, back across tasks, machines and the host. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "cli/cmd.h"
#include "cli/pager.h"
#include "cli/path_perfetto.h"
#include "select/select.h"
#include "cli/unfinished.h"
#include "path/path.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "rights/confine.h"

#define SPAN_NS 1000000000u

struct path_opts {
	struct xvt_select select;
	const char *vm;
	const char *task;
	const char *at;
	struct xvt_opt_list between;
	const char *perfetto;
	uint64_t span_ns;
	bool guess;
	bool json;
	bool no_pager;
};

static const struct xvt_opt path_opts[] = {
	XVT_OPT(struct path_opts, vm, "vm", 0, XVT_OPT_STRING, "VM", "the machine of the task"),
	XVT_OPT(struct path_opts, task, "task", 0, XVT_OPT_STRING, "T",
		"the task at the path's end: its number or its name"),
	XVT_OPT(struct path_opts, at, "at", 0, XVT_OPT_STRING, "E",
		"the path's end: a time as printed, or the event @N, with its task and machine"),
	XVT_OPT(struct path_opts, between, "between", 0, XVT_OPT_WORDS, "E",
		"begin and end of the path: two of them, such as @600,@655"),
	XVT_OPT(struct path_opts, guess, "guess", 0, XVT_OPT_BOOL, NULL,
		"go on where the next step back is a guess"),
	XVT_OPT(struct path_opts, span_ns, "span", 0, XVT_OPT_TIME, "D",
		"how far back events are read, before the begin if there is one (1s)"),
	XVT_OPT(struct path_opts, json, "json", 0, XVT_OPT_BOOL, NULL,
		"as JSON, format xvtrace-path/1"),
	XVT_OPT(struct path_opts, perfetto, "perfetto", 0, XVT_OPT_STRING, "FILE",
		"as a trace for ui.perfetto.dev, into FILE; - is standard output"),
	XVT_RECLOCK_OPTS(struct path_opts, select.reclock, select.no_reclock),
	XVT_FORMATS_OPT(struct path_opts, select.formats),
	XVT_NO_PAGER_OPT(struct path_opts, no_pager),
	XVT_QUIET_OPT(struct path_opts, select.quiet),
	XVT_OPT_END,
};

/* -- begin and end -------------------------------------------------------------------- */

/* To the times of the trace: the wall clock of the host may have been set meanwhile. */
static uint64_t monotonic(const struct xvt_export *x, const struct xvt_around *at)
{
	uint64_t ns = xvtrace_info(x->trace)->first_ns;

	for (int i = 0; i < 4 && at->clock == XVTRACE_WALL; i++)
		ns += at->ns - xvtrace_wall_ns(x->trace, ns);
	return at->clock == XVTRACE_WALL ? ns : at->ns;
}

static int take_times(const struct path_opts *opts, struct xvt_export *x,
		      struct xvt_path_options *o)
{
	const bool both = opts->between.n == 2;
	struct xvt_around at;
	int err = 0;

	if (both) {
		err = xvt_select_point(&opts->select, opts->between.v[0], x, &at);
		o->from_ns = err ? 0 : monotonic(x, &at);
	}
	if (!err)
		err = xvt_select_point(&opts->select, both ? opts->between.v[1] : opts->at, x, &at);
	if (err)
		return err;
	o->at_ns = monotonic(x, &at);
	o->number = at.number;
	o->ring = at.ring;
	o->pid = at.pid;
	if (both && o->from_ns >= o->at_ns) {
		xvt_error(opts->between.v[1], "it is not behind %s", opts->between.v[0]);
		return -EINVAL;
	}
	if (o->ring || (opts->vm && opts->task))
		return 0;
	xvt_error(both ? "--between" : "--at",
		  "say whose path: --vm VM --task T, or give the event @N");
	return -EINVAL;
}

/* -- the pass ------------------------------------------------------------------------- */

static int read_events(struct xvt_export *x, struct xvt_path *p)
{
	const struct xvtrace_event *ev;
	int got, err = 0;

	while (!err && (got = xvt_export_next(x, &ev)) != 0) {
		if (got > 0 && !xvt_path_wants(p, ev))
			break;
		err = got < 0 ? got : xvt_path_feed(p, ev);
	}
	return err;
}

/* Where the path goes to. The output is open before the trace is read, because nothing is opened
 * then. */
static struct xvt_out out;

/* Returns 0 or -errno, after a message. */
static int open_out(const struct path_opts *opts)
{
	const int err = xvt_out_open(&out, opts->perfetto ? opts->perfetto : "-");

	if (err)
		xvt_error(opts->perfetto, "%s", xvt_output_why(err));
	else if (out.is_made)
		xvt_unfinished_begin(out.made.folder, out.made.name);
	return err;
}

static int show(const struct path_opts *opts, struct xvt_export *x, struct xvt_path *p)
{
	int err = 0;

	if (opts->perfetto)
		err = xvt_path_perfetto(p, x, &out);
	else if (opts->json)
		xvt_path_json(p, &out);
	else
		xvt_path_text(p, &out);
	if (err)
		xvt_error("path", "%s", strerror(-err));
	return err;
}

/* Without a path there is nothing to write. */
static int close_out(const struct path_opts *opts, int err)
{
	const bool to_file = opts->perfetto && strcmp(opts->perfetto, "-") != 0;

	if (err) {
		xvt_out_drop(&out);
	} else if (xvt_out_close(&out)) {
		err = out.err;
		xvt_error(to_file ? opts->perfetto : "standard output", "%s", strerror(-err));
	}
	xvt_unfinished_end();
	return err;
}

static int find_path(const struct path_opts *opts, const struct xvt_path_options *o,
		     struct xvt_export *x)
{
	const uint64_t span = opts->span_ns ? opts->span_ns : SPAN_NS;
	const uint64_t begin_ns = o->from_ns ? o->from_ns : o->at_ns;
	struct xvt_path *p = NULL;
	int err = xvt_once_new(&x->once, x->trace);

	xvtrace_reader_from(x->reader, begin_ns > span ? begin_ns - span : 0, XVTRACE_MONOTONIC);
	if (!err)
		err = xvt_path_new(&p, o, x->trace, x->reader);
	if (!err)
		err = read_events(x, p);
	if (!err)
		err = xvt_path_find(p);
	if (err == -ESRCH)
		xvt_error(opts->task ? opts->task : "--at", "%s", xvt_path_error(p));
	else if (err == -E2BIG)
		xvt_error(xvtrace_info(x->trace)->path,
			  "there are too many events in this time; give a shorter --span");
	else if (err)
		xvt_error(xvtrace_info(x->trace)->path, "%s", strerror(-err));
	else
		err = show(opts, x, p);
	xvt_path_free(p);
	xvt_once_free(x->once);
	x->once = NULL;
	return err;
}

static int check(const struct path_opts *opts)
{
	if (!opts->at == !opts->between.n)
		xvt_error("path", "say where it ends: --at E, or --between E,E");
	else if (opts->between.n && opts->between.n != 2)
		xvt_error("--between", "give two, its begin and its end, such as @600,@655");
	else if (opts->json && opts->perfetto)
		xvt_error("--perfetto", "it writes no JSON; give one of the two");
	else if (opts->perfetto && xvt_is_trace_path(opts->perfetto))
		xvt_error(opts->perfetto, "it is a trace; give the path another file");
	else
		return 0;
	return -EINVAL;
}

/* `--between E E`: the second one is the argument that is no trace. */
static void take_second(struct path_opts *opts, int argc, char **argv, int *at)
{
	if (opts->between.n != 1 || *at == argc || xvt_is_trace_path(argv[*at]))
		return;
	opts->between.v[opts->between.n++] = argv[(*at)++];
}

/* Machines that the trace does not have are errors, as in report. */
static int open_trace(struct path_opts *opts, const char *const *paths, size_t count,
		      struct xvt_export *x)
{
	struct xvt_export y = { 0 };
	static struct xvt_select one;
	int status = xvt_select_open_several(&opts->select, paths, count, x);

	if (status || !opts->vm)
		return status;
	one.vm.v[one.vm.n++] = opts->vm;
	y.trace = x->trace;
	status = xvt_select_begin(&one, &y);
	xvtrace_reader_free(y.reader);
	if (status)
		xvt_select_close(&opts->select, x, true);
	return status;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct path_opts opts;
	struct xvt_path_options o = { 0 };
	struct xvt_export x = { .bound = true };
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL), status;
	const char *const *paths;
	size_t count;

	if (at < 0)
		return xvt_opt_exit_status(at);
	take_second(&opts, argc, argv, &at);
	if (check(&opts))
		return XVT_EXIT_USAGE;
	if (!xvt_standard_inputs(argc - at, argv + at))
		return XVT_EXIT_FAIL;
	count = xvt_trace_paths(cmd->name, argc - at, argv + at, &paths);
	if (!count)
		return XVT_EXIT_USAGE;
	if (!opts.no_pager && !opts.json && !opts.perfetto)
		xvt_pager_prepare();
	xvt_json_prepare();
	xvt_confine(opts.perfetto);
	status = open_trace(&opts, paths, count, &x);
	if (status) {
		xvt_pager_end();
		return status;
	}
	xvt_pager_begin();
	status = open_out(&opts);
	/* A file without a path in it is removed. */
	if (opts.perfetto)
		xvt_confine_opened_output();
	else
		xvt_confine_opened();
	o.vm = opts.vm;
	o.task = opts.task;
	o.guess = opts.guess;
	if (!status)
		status = take_times(&opts, &x, &o);
	if (!status)
		status = find_path(&opts, &o, &x);
	status = close_out(&opts, status);
	status = xvt_select_close(&opts.select, &x, status);
	xvt_pager_end();
	return status;
}

const struct xvt_command xvt_cmd_path = {
	.name = "path",
	.args = "--at E | --between E,E [FILE.xvt|DIR]...",
	.brief = "say what a task waited for, back across tasks, machines and the host",
	.opts = path_opts,
	.run = run,
};
