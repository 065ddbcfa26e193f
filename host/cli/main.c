// SPDX-License-Identifier: GPL-2.0
/* main.c - the command table: names only; each command parses its own options. */
#include "base/file.h"
#include "base/letters.h"
#include "base/library.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/complete.h"
#include "options/version.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const struct xvt_command *const commands[] = {
	&xvt_cmd_record,  &xvt_cmd_daemon,   &xvt_cmd_report,  &xvt_cmd_summary, &xvt_cmd_analyze,
	&xvt_cmd_query,	  &xvt_cmd_path,     &xvt_cmd_stat,    &xvt_cmd_verify,	 &xvt_cmd_export,
	&xvt_cmd_guests,  &xvt_cmd_attach,   &xvt_cmd_detach,  &xvt_cmd_status,	 &xvt_cmd_top,
	&xvt_cmd_control, &xvt_cmd_snapshot, &xvt_cmd_salvage, &xvt_cmd_order,	 &xvt_cmd_trim,
	&xvt_cmd_region,  &xvt_cmd_formats,  &xvt_cmd_doctor,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *to)
{
	fprintf(to, "usage: xvtrace COMMAND [OPTION]... [ARG]...\n"
		    "Cross-VM trace buffer: records, merges and shows the events of many "
		    "machines.\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->brief);
	fprintf(to, "\n'xvtrace COMMAND --help' lists a command's options.\n");
}

/* Commands by the names of trace-cmd, perf, LTTng and babeltrace2. */
static const struct {
	const char *theirs, *ours;
} foreign[] = {
	{ "stream", "record --print, or report -f" },
	{ "live", "record --print, or report -f" },
	{ "trace", "record --print, or report -f" },
	{ "view", "report" },
	{ "show", "report" },
	{ "script", "report" },
	{ "dump", "report" },
	{ "convert", "export" },
	{ "split", "trim" },
	{ "list", "guests --events" },
	{ "hist", "summary" },
	{ "profile", "summary" },
	{ "start", "record, or daemon" },
	{ "stop", "control stop" },
};

static const char *ours_of(const char *name)
{
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (strcmp(foreign[i].theirs, name) == 0)
			return foreign[i].ours;
	return NULL;
}

static int unknown(const char *name)
{
	const char *near = NULL, *ours = ours_of(name);
	unsigned int best = UINT_MAX;

	if (ours) {
		xvt_error(name, "no such command; see 'xvtrace %s'", ours);
		return XVT_EXIT_USAGE;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		const bool begins = strncmp(name, commands[i]->name, strlen(name)) == 0;
		const unsigned int apart = begins ? 1 : xvt_letters_apart(name, commands[i]->name);

		if (apart < best && (begins || xvt_letters_near(name, commands[i]->name))) {
			best = apart;
			near = commands[i]->name;
		}
	}
	if (near)
		xvt_error(name, "no such command; did you mean 'xvtrace %s'?", near);
	else
		xvt_error(name, "no such command; 'xvtrace --help' lists them");
	return XVT_EXIT_USAGE;
}

static const struct xvt_command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i];
	return NULL;
}

/* Not in --help: what the shell's completion asks. An unknown command has no options. */
static int complete(const char *name)
{
	const struct xvt_command *cmd = name ? find(name) : NULL;

	if (!name)
		xvt_complete_commands(commands, COMMANDS);
	else if (cmd)
		xvt_complete_options(cmd);
	return fflush(stdout) || (name && !cmd) ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

int main(int argc, char **argv)
{
	const struct xvt_command *cmd;
	const int err = xvt_open_standard();

	if (err) {
		xvt_error("standard descriptors",
			  "0, 1 or 2 is closed, and /dev/null cannot stand in for it: %s",
			  strerror(-err));
		return XVT_EXIT_FAIL;
	}
	if (argc < 2) {
		help(stderr);
		return XVT_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
	    strcmp(argv[1], "version") == 0) {
		xvt_version_print();
		return fflush(stdout) ? XVT_EXIT_FAIL : XVT_EXIT_OK;
	}
	if (strcmp(argv[1], "--complete") == 0)
		return complete(argv[2]);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    (strcmp(argv[1], "help") == 0 && argc == 2)) {
		help(stdout);
		return fflush(stdout) ? XVT_EXIT_FAIL : XVT_EXIT_OK;
	}
	if (strcmp(argv[1], "help") == 0) {
		cmd = find(argv[2]);
		if (!cmd)
			return unknown(argv[2]);
		xvt_opt_help(cmd);
		return fflush(stdout) ? XVT_EXIT_FAIL : XVT_EXIT_OK;
	}
	cmd = find(argv[1]);
	if (!cmd)
		return unknown(argv[1]);
	return cmd->run(cmd, argc - 1, argv + 1);
}
