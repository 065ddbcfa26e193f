// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_salvage.c - `xvtrace salvage`: write everything readable in a region whose guest is gone,
 * except for what an earlier trace holds. The region is not changed.
 */
#include "base/log.h"
#include "cli/cmd.h"
#include "record/machines.h"
#include "record/recording.h"
#include "record/standard.h"
#include "rights/confine.h"

#include <inttypes.h>
#include <stdio.h>

struct salvage_options {
	const char *output;
	const char *name;
	bool quiet;
};

#define O(field, name, letter, type, metavar, help) \
	XVT_OPT(struct salvage_options, field, name, letter, type, metavar, help)

static const struct xvt_opt options[] = {
	O(output, "output", 'o', XVT_OPT_STRING, "FILE.xvt", "the trace to write"),
	O(name, "name", 'n', XVT_OPT_STRING, "NAME", "the machine's name (default: its own)"),
	O(quiet, "quiet", 'q', XVT_OPT_BOOL, NULL, "print no summary"),
	XVT_OPT_END,
};

static void report(const struct xvt_salvaged *sum)
{
	if (sum->at_work)
		xvt_warn("salvage", "another xvtrace is at work on this region; what it has taken "
				    "is in its file");
	if (sum->died)
		xvt_warn("salvage",
			 "its recorder did not end in order, either (trace %016" PRIx64
			 "); events that it had taken and not written are counted as overwritten",
			 __builtin_bswap64(sum->died));
	fprintf(stderr,
		"xvtrace: salvaged %" PRIu64 " events from %zu rings, %" PRIu64
		" of them past commit; %" PRIu64 " records were never finished\n",
		sum->events, sum->rings, sum->recovered, sum->unfinished);
}

static int cmd_salvage(const struct xvt_command *cmd, int argc, char **argv)
{
	struct salvage_options opt = { 0 };
	struct xvt_session_options so = { .kind = XVT_SESSION_SALVAGE,
					  .memory_bytes = XVT_MEMORY_ALL };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL), status, err;
	struct xvt_recording rec = { .command = "salvage", .output = opt.output };
	struct xvt_salvaged sum;
	struct xvt_error why;

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (argc - first != 1 || !opt.output) {
		xvt_error("salvage", "usage: xvtrace salvage REGION -o FILE.xvt");
		return XVT_EXIT_USAGE;
	}
	if (!xvt_output_ok(opt.output))
		return XVT_EXIT_USAGE;
	status = xvt_recording_begin(&rec, &so, NULL);
	if (status != XVT_EXIT_OK)
		return status;
	xvt_confine_loop();
	err = xvt_session_salvage(rec.session, argv[first], opt.name, xvt_confine_opened_output,
				  &sum, &why);
	if (err)
		xvt_error(argv[first], "%s%s", why.text, xvt_region_hint(err));
	else if (!opt.quiet)
		report(&sum);
	if (!err && opt.name)
		xvt_machine_say_shown(opt.name);
	return xvt_recording_end(&rec, err ? XVT_EXIT_FAIL : XVT_EXIT_OK, 0);
}

const struct xvt_command xvt_cmd_salvage = {
	.name = "salvage",
	.args = "REGION -o FILE.xvt",
	.brief = "save what a region holds whose guest is gone",
	.opts = options,
	.run = cmd_salvage,
};
