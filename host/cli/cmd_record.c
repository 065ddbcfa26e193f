// SPDX-License-Identifier: GPL-2.0
/* cmd_record.c - `xvtrace record`: the recorder in the foreground. */
#include <string.h>

#include "base/log.h"
#include "cli/cmd.h"
#include "recorder/recorder.h"

static int cmd_record(const struct xvt_command *cmd, int argc, char **argv)
{
	struct xvt_recorder recorder = { .command = "record" };
	int rest, first = xvt_opt_parse(cmd, argc, argv, &recorder.opt, &rest);

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (first < rest) {
		xvt_error(argv[first], "not an option; a command to run comes after --");
		return XVT_EXIT_USAGE;
	}
	if (rest == argc && argc > 1 && strcmp(argv[argc - 1], "--") == 0) {
		xvt_error("--", "no command follows; give one to run, or leave -- out");
		return XVT_EXIT_USAGE;
	}
	recorder.child = rest < argc ? argv + rest : NULL;
	return xvt_recorder_run(&recorder);
}

const struct xvt_command xvt_cmd_record = {
	.name = "record",
	.args = "[-o FILE.xvt|DIR/] [-r [NAME=]REGION]... [-d DOMAIN]... [-- CMD ARG...]",
	.brief = "drain, merge and write what guests record, while they run",
	.opts = xvt_recorder_opts,
	.run = cmd_record,
};
