// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_daemon.c - `xvtrace daemon`: the recorder as a service. The configuration has the options of
 * `xvtrace record`, with defaults for months: all machines that come and go, numbered files, a
 * limit of their size.
 */
#include "base/log.h"
#include "cli/cmd.h"
#include "recorder/recorder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_DEFAULT "/etc/xvtrace/xvtrace.conf"

struct daemon_options {
	const char *config;
	bool show;
	bool check;
};

#define O(field, name, letter, type, metavar, help) \
	XVT_OPT(struct daemon_options, field, name, letter, type, metavar, help)

static const struct xvt_opt options[] = {
	O(config, "config", 'c', XVT_OPT_STRING, "FILE",
	  "the configuration (default " CONFIG_DEFAULT ", which may be absent)"),
	O(show, "show-config", 0, XVT_OPT_BOOL, NULL,
	  "check the configuration as the start does, print all keys with their values, and end"),
	O(check, "check", 0, XVT_OPT_BOOL, NULL,
	  "check the configuration as the start and a reload do, and end"),
	XVT_OPT_END,
};

/* Read the configuration over defaults. The options point into *file. Returns an exit status, after
 * an error message. */
static int read_config(const char *path, struct xvt_recorder_options *opt,
		       struct xvt_opt_file *file)
{
	const char *from = path ? path : CONFIG_DEFAULT;
	int err;

	xvt_opt_set_defaults(xvt_recorder_opts, opt, true);
	*file = (struct xvt_opt_file){ .path = from };
	if (!path && access(from, F_OK) && errno == ENOENT)
		return XVT_EXIT_OK;
	err = xvt_opt_read(xvt_recorder_opts, from, opt, file);
	return err ? xvt_opt_exit_status(err) : XVT_EXIT_OK;
}

static int reload(void *arg, struct xvt_recorder_options *opt, struct xvt_opt_file *file)
{
	const struct daemon_options *daemon = arg;

	return read_config(daemon->config, opt, file);
}

static int make_folder(const char *path)
{
	if (!mkdir(path, 0700) || errno == EEXIST)
		return XVT_EXIT_OK;
	xvt_error(path, "cannot make this folder for traces: %s; be root, or set `output`",
		  strerror(errno));
	return XVT_EXIT_FAIL;
}

static int cmd_daemon(const struct xvt_command *cmd, int argc, char **argv)
{
	struct daemon_options opt = { 0 };
	struct xvt_recorder recorder = { .command = "daemon",
					 .makes_folder = true,
					 .reload = reload };
	int status, first = xvt_opt_parse(cmd, argc, argv, &opt, NULL);
	struct xvt_opt_file file;

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (first < argc) {
		xvt_error(argv[first], "not an option; what to record is in the configuration");
		return XVT_EXIT_USAGE;
	}
	recorder.reload_arg = &opt;
	recorder.config = opt.config ? opt.config : CONFIG_DEFAULT;
	recorder.file = &file;
	status = read_config(opt.config, &recorder.opt, &file);
	if (status == XVT_EXIT_OK)
		status = xvt_recorder_check(&recorder);
	if (status == XVT_EXIT_OK && opt.show)
		xvt_opt_print(xvt_recorder_opts, &recorder.opt);
	else if (status == XVT_EXIT_OK && !opt.check)
		status = make_folder(recorder.opt.output);
	if (status == XVT_EXIT_OK && !opt.show && !opt.check)
		status = xvt_recorder_run(&recorder);
	xvt_opt_file_free(&file);
	return status;
}

const struct xvt_command xvt_cmd_daemon = {
	.name = "daemon",
	.args = "[-c FILE] [--check | --show-config]",
	.brief = "record all machines of this host as a service, in files of bounded size",
	.opts = options,
	.run = cmd_daemon,
};
