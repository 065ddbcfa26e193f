// SPDX-License-Identifier: GPL-2.0
/* cmd_export.c - `xvtrace export`: a trace in a format of other programs. */
#include <string.h>

#include "cli/cmd.h"
#include "view/export.h"

struct export_opts {
	const char *to;
	struct xvt_view_opts view;
};

/* --to is the format here, so the range of a view is --begin and --end. */
static const struct xvt_opt export_opts[] = {
	XVT_OPT(struct export_opts, to, "to", 0, XVT_OPT_STRING, "FORMAT", "text, jsonl or ctf"),
	XVT_OPT(struct export_opts, view.vm, "vm", 0, XVT_OPT_LIST, "VM",
		"only this machine's events; again for each"),
	XVT_OPT(struct export_opts, view.event, "event", 'e', XVT_OPT_LIST, "GLOB",
		"only events like this, as EVENT or SYSTEM:EVENT; again for each"),
	XVT_OPT(struct export_opts, view.from, "begin", 0, XVT_OPT_STRING, "T",
		"begin at T: seconds, or +seconds from the start of the trace"),
	XVT_OPT(struct export_opts, view.to, "end", 0, XVT_OPT_STRING, "T", "end at T"),
	XVT_OPT(struct export_opts, view.limit, "limit", 'n', XVT_OPT_COUNT, "N",
		"no more than N events"),
	XVT_OPT(struct export_opts, view.all, "all", 0, XVT_OPT_BOOL, NULL,
		"also what the rings say about themselves"),
	XVT_OPT(struct export_opts, view.reclock, "reclock", 0, XVT_OPT_BOOL, NULL,
		"place all events again, by all clock samples of the trace together"),
	XVT_OPT(struct export_opts, view.quiet, "quiet", 'q', XVT_OPT_BOOL, NULL,
		"no warnings about an incomplete trace"),
	XVT_OPT_END,
};

/* Write an export to one file, or to standard output. Returns 0 or -errno, after a message. */
static int to_file(struct xvt_view *v, const char *path,
		   int (*export_to)(struct xvt_view *v, struct xvt_out *o))
{
	static struct xvt_out out;
	int err = xvt_out_open(&out, path);

	if (err) {
		xvt_error(path, "cannot write: %s", strerror(-err));
		return err;
	}
	err = export_to(v, &out);
	if (err)
		xvt_error(v->t->path, "%s", strerror(-err));
	if (xvt_out_close(&out) && !err) {
		err = out.err;
		xvt_error(strcmp(path, "-") == 0 ? "standard output" : path,
			  "cannot write: %s; what is there is incomplete", strerror(-err));
	}
	return err;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	struct export_opts o = { 0 };
	struct xvt_view v;
	int at = xvt_opt_parse(cmd, argc, argv, &o, NULL);
	int status, err;

	if (at < 0)
		return at == -2 ? XVT_EXIT_OK : XVT_EXIT_USAGE;
	if (!o.to || argc - at != 2) {
		xvt_error("export", "give --to FORMAT, a trace, and where to write; "
				    "'xvtrace export --help' shows how");
		return XVT_EXIT_USAGE;
	}
	if (strcmp(o.to, "text") != 0 && strcmp(o.to, "jsonl") != 0 && strcmp(o.to, "ctf") != 0) {
		xvt_error("export", "--to %s: no such format; there are text, jsonl and ctf", o.to);
		return XVT_EXIT_USAGE;
	}
	if (strcmp(o.to, "ctf") == 0 && strcmp(argv[at + 1], "-") == 0) {
		xvt_error("export", "a CTF trace is a directory and cannot go to standard output; "
				    "name one");
		return XVT_EXIT_USAGE;
	}
	status = xvt_view_open(&v, argv[at], &o.view);
	if (status)
		return status;
	if (strcmp(o.to, "text") == 0)
		err = to_file(&v, argv[at + 1], xvt_export_text);
	else if (strcmp(o.to, "jsonl") == 0)
		err = to_file(&v, argv[at + 1], xvt_export_jsonl);
	else
		err = xvt_export_ctf(&v, argv[at + 1]);
	if (err)
		v.opts.quiet = true;
	status = xvt_view_close(&v);
	return err ? XVT_EXIT_FAIL : status;
}

const struct xvt_command xvt_cmd_export = {
	.name = "export",
	.args = "--to FORMAT FILE.xvt OUT",
	.brief = "write a trace as text, JSON lines or CTF (OUT: a file, - , or a directory for "
		 "ctf)",
	.opts = export_opts,
	.run = run,
};
