/* SPDX-License-Identifier: GPL-2.0 */
/* trace_path.h - which trace a command reads. */
#ifndef XVT_TRACE_PATH_H
#define XVT_TRACE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The trace that record writes without --output. */
#define XVT_TRACE_DEFAULT "xvtrace.xvt"

/*
 * Returns the trace among a command's `count` arguments. Without an argument it is
 * XVT_TRACE_DEFAULT in the current folder, if that exists. Returns NULL after an error message.
 */
const char *xvt_trace_path(const char *command, int count, char **args);

/* The same of a command that reads several as one. *paths: the traces. Returns how many there are;
 * 0 after an error message. */
size_t xvt_trace_paths(const char *command, int count, char **args, const char *const **paths);

/* Whether a path names a trace or a folder of one, or ends like one: it is no place for output. */
bool xvt_is_trace_path(const char *path);

#endif /* XVT_TRACE_PATH_H */
