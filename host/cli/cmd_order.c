// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_order.c - `xvtrace order`: merge the rings of a trace whose recorder left that to the
 * readers. See view/reorder.h. The new trace is written beside its name, and takes that name when
 * it is whole.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/cmd.h"
#include "cli/whole_file.h"
#include "record/standard.h"
#include "rights/confine.h"
#include "view/reorder.h"

struct order_opts {
	const char *output;
};

static const struct xvt_opt order_opts[] = {
	XVT_OPT(struct order_opts, output, "output", 'o', XVT_OPT_STRING, "FILE.xvt",
		"the trace to write (default: the one that is read)"),
	XVT_OPT_END,
};

static int order(struct xvt_trace *t, const char *output)
{
	struct xvt_whole_file f;
	int err = xvt_whole_file_new(&f, output, t->fd);

	xvt_confine_opened_output();
	if (!err)
		err = xvt_reorder(t, &f.sink);
	err = xvt_whole_file_end(&f, err);
	if (t->damage_count) {
		xvt_error(t->path,
			  "a part of it is damaged, so it is not rewritten; 'xvtrace verify "
			  "%s' says which, and the other commands read the rest",
			  t->path);
		return XVT_EXIT_FAIL;
	}
	if (err)
		xvt_error(output, "cannot write it: %s; %s is as it was", xvt_output_why(err),
			  t->path);
	return err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	struct order_opts opts = { 0 };
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL), status = XVT_EXIT_OK;
	struct xvt_trace *t;
	struct xvt_error why;

	if (at < 0)
		return xvt_opt_exit_status(at);
	if (argc - at != 1) {
		xvt_error("order", "give one trace; 'xvtrace order --help' shows how");
		return XVT_EXIT_USAGE;
	}
	if (!xvt_output_ok(opts.output ? opts.output : argv[at]) || !xvt_standard_input(&argv[at]))
		return XVT_EXIT_USAGE;
	xvt_confine(true);
	if (xvt_trace_open(&t, argv[at], &why)) {
		xvt_error(argv[at], "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	if (opts.output || xvt_is_loose(t) || t->damage_count)
		status = order(t, opts.output ? opts.output : argv[at]);
	else
		fprintf(stderr, "xvtrace: %s: it is in order already\n", argv[at]);
	xvt_trace_close(t);
	return status;
}

const struct xvt_command xvt_cmd_order = {
	.name = "order",
	.args = "FILE.xvt",
	.brief = "put a trace in order whose recorder had no time for it",
	.opts = order_opts,
	.run = run,
};
