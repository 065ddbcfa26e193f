// SPDX-License-Identifier: GPL-2.0
/* complete.c - see complete.h. Knows the tables, and no shell. */
#include "cli/complete.h"

#include <stdio.h>

void xvt_complete_commands(const struct xvt_command *const *commands, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s\t%s\n", commands[i]->name, commands[i]->brief);
}

void xvt_complete_options(const struct xvt_command *cmd)
{
	printf("arguments\t%s\n", cmd->args);
	for (const struct xvt_opt *o = cmd->opts; o->name; o++) {
		const char letter[] = { o->letter ? '-' : '\0', o->letter, '\0' };
		const char *value = o->metavar ? o->metavar : "VALUE";

		printf("--%s\t%s\t%s\n", o->name, letter, o->type == XVT_OPT_BOOL ? "" : value);
	}
	printf("--help\t-h\t\n");
	printf("--version\t-V\t\n");
}
