/* SPDX-License-Identifier: GPL-2.0 */
/*
 * log.h - messages for people: each is one line on standard error, or an entry of the journal where
 * that is standard error and xvt_journal_prepare() was called. Nothing else of host/ writes there.
 */
#ifndef XVT_LOG_H
#define XVT_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Prints "xvtrace: WHAT: WHY". */
void xvt_error(const char *what, const char *why_format, ...) __attribute__((format(printf, 2, 3)));
/* Prints why io_uring does not do `what`; `err` is the -errno of xvt_loop_new() or
 * xvt_loop_uring_err(). */
void xvt_error_io_uring(const char *what, int err);
struct xvt_loop;
/* Says that the loop does without io_uring, and why; nothing where it uses it. */
void xvt_note_loop(const struct xvt_loop *loop);
/* Prints "xvtrace: note: TEXT": neither an error nor a warning. */
void xvt_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void xvt_warn(const char *what, const char *why_format, ...) __attribute__((format(printf, 2, 3)));
/* The same of a machine; in the journal, with its name in a field. level: that of a note in a
 * trace, 0: information, 1: a warning, 2: an error. */
void xvt_say_of_machine(uint32_t level, const char *machine, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Whether xvt_warn() prints. A command that does the same again and again has it off then. */
void xvt_warnings(bool on);

/* Prints on standard error as it is, after what standard output has: no name of the program, no
 * line's end, no journal. */
void xvt_log_raw(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* XVT_LOG_H */
