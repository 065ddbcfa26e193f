// SPDX-License-Identifier: GPL-2.0
/* cmd_summary.c - `xvtrace summary`: what is in a trace, on one screen. */
#define _GNU_SOURCE /* strcasestr() */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "select/beside.h"
#include "cli/cmd.h"
#include "select/empty.h"
#include "select/threads.h"
#include "cli/pager.h"
#include "select/select.h"
#include "summary/summary.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "rights/confine.h"

#define WIDTH_USUAL 80u
#define WIDTH_LEAST 60u
#define WIDTH_MOST  240u
#define JSON_CELLS  60u

struct summary_opts {
	bool json;
	unsigned int colour; /* enum xvt_colour */
	bool quiet;
	bool reclock;
	bool no_reclock;
	struct xvt_opt_list formats;
	uint64_t threads;
};

static const struct xvt_opt summary_opts[] = {
	XVT_OPT(struct summary_opts, json, "json", 0, XVT_OPT_BOOL, NULL,
		"as JSON, format xvtrace-summary/1"),
	XVT_COLOUR_OPT(struct summary_opts, colour, "a colour for each machine"),
	XVT_RECLOCK_OPTS(struct summary_opts, reclock, no_reclock),
	XVT_FORMATS_OPT(struct summary_opts, formats),
	XVT_THREADS_OPT(struct summary_opts, threads),
	XVT_QUIET_OPT(struct summary_opts, quiet),
	XVT_OPT_END,
};

/* $COLUMNS, or the terminal's width. */
static unsigned int width_of_screen(void)
{
	const char *text = getenv("COLUMNS"), *end;
	struct winsize size;
	uint64_t width;

	if (!text || xvt_parse_u64(text, &end, &width) || *end || !width) {
		width = WIDTH_USUAL;
		if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
			width = size.ws_col;
	}
	if (width < WIDTH_LEAST)
		return WIDTH_LEAST;
	return width < WIDTH_MOST ? (unsigned int)width : WIDTH_MOST;
}

/* Whether texts are UTF-8 in the user's locale, also where that is not installed. */
static bool is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

static int show(struct xvtrace *trace, const struct summary_opts *opts,
		const struct xvt_summary_look *look, const struct xvtrace_background *background)
{
	const bool reclock = opts->reclock || (xvtrace_info(trace)->ended && !opts->no_reclock);
	static struct xvt_out out;
	struct xvt_summary s;
	int err = xvt_summary_read(&s, trace, reclock,
				   opts->json ? JSON_CELLS : xvt_summary_cells(trace, look->width),
				   background);

	if (err) {
		xvt_error(xvtrace_info(trace)->path, "%s", strerror(-err));
	} else {
		err = xvt_out_open(&out, "-");
		if (!err && opts->json)
			xvt_summary_json(&s, &out);
		else if (!err)
			xvt_summary_text(&s, look, &out);
		if (xvt_out_close(&out)) {
			err = out.err;
			xvt_error("standard output", "%s", strerror(-err));
		}
	}
	xvt_summary_fini(&s);
	return err;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	struct xvt_summary_look look = { .utf8 = is_utf8() };
	static struct xvt_beside beside;
	struct xvtrace_background background;
	struct xvtrace_threads threads;
	struct xvt_workers *workers;
	struct summary_opts opts = { 0 };
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL), err;
	const char *const *paths;
	struct xvtrace *trace;
	bool damaged, empty;
	size_t count;
	pid_t writer;

	if (at < 0)
		return xvt_opt_exit_status(at);
	if (!xvt_standard_inputs(argc - at, argv + at))
		return XVT_EXIT_FAIL;
	count = xvt_trace_paths(cmd->name, argc - at, argv + at, &paths);
	if (!count)
		return XVT_EXIT_USAGE;
	look.colour = xvt_pager_chosen_colour(opts.colour);
	if (opts.reclock && opts.no_reclock) {
		xvt_error("--no-reclock", "--reclock says the opposite; give one of them");
		return XVT_EXIT_USAGE;
	}
	look.width = width_of_screen();
	workers = xvt_threads_start(&threads, opts.threads, paths, count);
	xvt_threads_background(&background, workers);
	xvt_confine(false);
	xvt_beside_look(paths, count, &beside);
	writer = xvt_beside_writer_of(paths, count);
	if (xvt_open_several(&trace, paths, count, 0, &opts.formats, opts.quiet))
		return XVT_EXIT_FAIL;
	xvt_confine_opened();
	err = show(trace, &opts, &look, &background);
	xvt_workers_end(workers);
	damaged = xvt_say_damage(trace, writer, opts.quiet || err);
	if (!opts.quiet && !err)
		xvt_beside_say(&beside, cmd->name);
	empty = !err && xvt_empty_refuse(trace);
	xvtrace_close(trace);
	return err || damaged || empty ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

const struct xvt_command xvt_cmd_summary = {
	.name = "summary",
	.args = "[FILE.xvt|DIR]...",
	.brief = "say on one screen what is in a trace: rates, losses, clocks, busiest tasks",
	.opts = summary_opts,
	.run = run,
};
