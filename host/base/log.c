// SPDX-License-Identifier: GPL-2.0
/* log.c - see log.h. */
#include "base/log.h"

#include "base/journal.h"
#include "base/letters.h"
#include "base/loop.h"
#include "base/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * A single write for the whole line, so that lines of several processes do not mix; or an entry of
 * the journal, where that is standard error. The text may contain names from a guest or a file, so
 * unsafe characters are escaped.
 */
static void say(enum xvt_journal_priority priority, const char *what, const char *machine,
		const char *format, va_list args)
{
	static const char program[] = "xvtrace: ";
	char text[2048], line[3072] = "";
	int len = snprintf(text, sizeof(text), "%s%s: %s", program, what,
			   priority == XVT_JOURNAL_WARNING ? "warning: " : "");

	if (len < 0 || (size_t)len >= sizeof(text))
		len = sizeof(text) - 1;
	vsnprintf(text + len, sizeof(text) - (size_t)len, format, args);
	xvt_text_clean(line, sizeof(line) - 1, text, strlen(text));
	/* An entry has the program's name in a field. */
	if (xvt_journal_send(priority, line + strlen(program), machine))
		return;
	strcat(line, "\n");
	fflush(stdout);
	fputs(line, stderr);
}

void xvt_error(const char *what, const char *why_format, ...)
{
	va_list args;

	va_start(args, why_format);
	say(XVT_JOURNAL_ERROR, what, NULL, why_format, args);
	va_end(args);
}

void xvt_error_io_uring(const char *what, int err)
{
	struct xvt_loop_why w = xvt_loop_why(err, xvt_loop_sysctl());

	xvt_error(what, "%s; %s", w.why, w.fix);
}

void xvt_note_loop(const struct xvt_loop *loop)
{
	int err = xvt_loop_uring_err(loop);

	if (err)
		xvt_note("%s; epoll does its work", xvt_loop_why(err, xvt_loop_sysctl()).why);
}

static bool warnings_off;

void xvt_warnings(bool on)
{
	warnings_off = !on;
}

void xvt_warn(const char *what, const char *why_format, ...)
{
	va_list args;

	if (warnings_off)
		return;
	va_start(args, why_format);
	say(XVT_JOURNAL_WARNING, what, NULL, why_format, args);
	va_end(args);
}

void xvt_say_of_machine(uint32_t level, const char *machine, const char *format, ...)
{
	static const enum xvt_journal_priority priorities[] = { XVT_JOURNAL_INFO,
								XVT_JOURNAL_WARNING,
								XVT_JOURNAL_ERROR };
	va_list args;

	if (level == 1 && warnings_off)
		return;
	va_start(args, format);
	say(priorities[level], machine, machine, format, args);
	va_end(args);
}

void xvt_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(XVT_JOURNAL_INFO, "note", NULL, format, args);
	va_end(args);
}

void xvt_log_raw(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
}
