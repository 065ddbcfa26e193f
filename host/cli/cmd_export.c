// SPDX-License-Identifier: GPL-2.0
/* cmd_export.c - `xvtrace export`: a trace in a format of other programs. */
#include <string.h>

#include "cli/cmd.h"
#include "cli/select.h"

struct export_opts {
	const char *to;
	struct xvt_select select;
};

/* --to is the format here, so the range is --begin and --end. */
static const struct xvt_opt export_opts[] = {
	XVT_OPT(struct export_opts, to, "to", 0, XVT_OPT_STRING, "FORMAT", "text, jsonl or ctf"),
	XVT_SELECT_OPTS(struct export_opts, select, "begin", "end"),
	XVT_OPT_END,
};

/* Write an export to one file, or to standard output. Returns 0 or -errno, after a message. */
static int to_file(struct xvt_export *x, const char *path,
		   int (*export_to)(struct xvt_export *x, struct xvt_out *o))
{
	static struct xvt_out out;
	int err = xvt_out_open(&out, path);

	if (err) {
		xvt_error(path, "cannot write: %s", strerror(-err));
		return err;
	}
	err = export_to(x, &out);
	if (err)
		xvt_error(xvtrace_info(x->trace)->path, "%s", strerror(-err));
	if (xvt_out_close(&out) && !err) {
		err = out.err;
		xvt_error(strcmp(path, "-") == 0 ? "standard output" : path,
			  "cannot write: %s; what is there is incomplete", strerror(-err));
	}
	return err;
}

static int to_dir(struct xvt_export *x, const char *dir, bool quiet)
{
	const char *path = xvtrace_info(x->trace)->path;
	int err = xvt_export_ctf(x, dir);

	if (err)
		xvt_error(x->failed[0] ? x->failed : path, "%s",
			  x->error.text[0] ? x->error.text : strerror(-err));
	else if (x->moved && !quiet && !xvtrace_damage_count(x->trace))
		xvt_warn(path, "%llu events were out of order and got the time before them",
			 (unsigned long long)x->moved);
	return err;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct export_opts o;
	struct xvt_export x = { 0 };
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
	status = xvt_select_open(&o.select, argv[at], &x);
	if (status)
		return status;
	if (strcmp(o.to, "text") == 0)
		err = to_file(&x, argv[at + 1], xvt_export_text);
	else if (strcmp(o.to, "jsonl") == 0)
		err = to_file(&x, argv[at + 1], xvt_export_jsonl);
	else
		err = to_dir(&x, argv[at + 1], o.select.quiet);
	return xvt_select_close(&o.select, &x, err);
}

const struct xvt_command xvt_cmd_export = {
	.name = "export",
	.args = "--to FORMAT FILE.xvt OUT",
	.brief = "write a trace as text, JSON lines or CTF (OUT: a file, - , or a directory for "
		 "ctf)",
	.opts = export_opts,
	.run = run,
};
