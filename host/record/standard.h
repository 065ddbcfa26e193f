/* SPDX-License-Identifier: GPL-2.0 */
/* standard.h - what is wrong with a name of a trace: "-" is standard input, and no output. A file
 * of that name is given as "./-". */
#ifndef XVT_STANDARD_H
#define XVT_STANDARD_H

#include <stdbool.h>

/*
 * Turns "-" in *arg into a path of what standard input has. A trace that comes through a pipe is
 * copied first, into a file without a name. To be called before the sandbox. Returns false after an
 * error message.
 */
bool xvt_standard_input(char **arg);

/* The same of several traces, of which one can come from there. */
bool xvt_standard_inputs(int count, char **args);

/*
 * Whether `output` can be where a trace is written: not "-", and no folder that is given like a
 * file, unless it has files of a trace already. Returns false after an error message.
 */
bool xvt_output_ok(const char *output);

#endif /* XVT_STANDARD_H */
