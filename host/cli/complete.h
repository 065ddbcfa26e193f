/* SPDX-License-Identifier: GPL-2.0 */
/* complete.h - the option tables as text, for the shell's completion. */
#ifndef XVT_COMPLETE_H
#define XVT_COMPLETE_H

#include "options/opt.h"

/*
 * `xvtrace --complete`: a line for each command, "NAME<TAB>BRIEF". packaging/completion.bash reads
 * this and the next; no person does.
 */
void xvt_complete_commands(const struct xvt_command *const *commands, size_t count);

/*
 * `xvtrace --complete COMMAND`: first "arguments<TAB>ARGS", then a line for each option,
 * "--NAME<TAB>-LETTER<TAB>METAVAR". LETTER is missing, with its minus, where there is none; METAVAR
 * is missing where the option takes no value.
 */
void xvt_complete_options(const struct xvt_command *cmd);

#endif /* XVT_COMPLETE_H */
