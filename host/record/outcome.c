// SPDX-License-Identifier: GPL-2.0
/* outcome.c - see outcome.h. */
#include "record/outcome.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/digits.h"
#include "base/log.h"
#include "options/opt.h"
#include "session/session.h"
#include "trace/file_set.h"
#include "trace/set_name.h"

#define BOUND_WRONG_NS 1000000u /* a clock that is known worse than this is worth a line */

/* ------------------------------------------------------------------ machines without events */

/* The recorder said already why it reads nothing more of a machine that is gone. */
static bool say_none(const struct xvt_vm *vm, bool strict)
{
	const enum xvt_vm_waits w = xvt_session_vm_waits(vm);
	const bool is_error = strict && xvt_session_vm_is_expected(vm);
	char text[XVT_WAITS_TEXT];

	if (w == XVT_WAITS_NOT)
		return false;
	xvt_say_of_machine(is_error ? 2 : 1, xvt_session_vm_name(vm), "no event of it came: %s; %s",
			   xvt_session_vm_waits_text(vm, w, text),
			   xvt_session_vm_waits_help(vm, w));
	return is_error;
}

/* ------------------------------------------------------------------ what is wrong */

static void add_wrong(struct xvt_outcome *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_wrong(struct xvt_outcome *o, const char *format, ...)
{
	va_list args;

	if (o->nr_wrong >= XVT_OUTCOME_WRONG)
		return;
	va_start(args, format);
	vsnprintf(o->wrong[o->nr_wrong++], sizeof(o->wrong[0]), format, args);
	va_end(args);
}

/* The cause of most of a machine's losses, and what helps. */
static const char *loss_help(const struct xvt_vm *vm, const struct xvt_vm_outcome *m)
{
	unsigned int cause = XVTRACE_CAUSES_MAX;
	uint64_t most = 0;

	for (unsigned int i = 0; i < XVT_LOST_CAUSES; i++) {
		if (m->lost_by[i] > most) {
			most = m->lost_by[i];
			cause = i;
		}
	}
	if (m->overwritten > most) {
		most = m->overwritten;
		cause = XVTRACE_LOST_OVERWRITTEN;
	}
	if (xvt_session_vm_is_ftrace(vm) && cause == XVTRACE_LOST_OVERWRITTEN)
		return "its kernel overwrote them; give its ring more memory (SIZE of "
		       "trace_instance=), or trace fewer events";
	return xvt_loss_help(m->dropped > most ? XVTRACE_LOST_DROPPED : cause,
			     xvt_session_vm_is_host(vm));
}

/* Sums and extremes over all machines, of which lines are made. */
struct worst {
	const struct xvt_vm *loser, *clock, *nameless;
	struct xvt_vm_outcome unnamed; /* of the one that has most events without a format */
	struct xvt_vm_outcome lost;    /* of the one that lost most */
	uint64_t bound_ns;
	uint64_t clockless;
	size_t losers, clocks, unnamed_machines;
};

static void compare(struct worst *w, const struct xvt_vm *vm, const struct xvt_vm_outcome *m)
{
	if (m->lost && (!w->loser || m->lost > w->lost.lost)) {
		w->loser = vm;
		w->lost = *m;
	}
	w->losers += m->lost != 0;
	if (m->nameless && (!w->nameless || m->nameless > w->unnamed.nameless)) {
		w->nameless = vm;
		w->unnamed = *m;
	}
	w->unnamed_machines += m->nameless != 0;
	if (m->bound_ns_max > BOUND_WRONG_NS && m->bound_ns_max > w->bound_ns) {
		w->clock = vm;
		w->bound_ns = m->bound_ns_max;
	}
	w->clocks += m->bound_ns_max > BOUND_WRONG_NS;
}

/* " (and 2 more machines that lost some)" */
static const char *more_text(char text[64], size_t n, const char *what)
{
	text[0] = '\0';
	if (n > 1)
		snprintf(text, 64, " (and %zu more machine%s %s)", n - 1, n > 2 ? "s" : "", what);
	return text;
}

static void find_wrong(struct xvt_outcome *o, const struct worst *w)
{
	char lost[XVT_DIGITS_LEN], more[64], text[XVT_NAMELESS_TEXT];

	if (w->nameless)
		add_wrong(o, "%s: %s%s", xvt_session_vm_name(w->nameless),
			  xvt_nameless_text(text, w->unnamed.nameless, w->unnamed.events,
					    xvt_session_vm_is_ftrace(w->nameless)
						    ? "`xvtrace formats --kernel VMLINUZ` stores "
						      "its kernel's, also later; see "
						      "xvtrace-formats(1)"
						    : NULL),
			  more_text(more, w->unnamed_machines, "with such events"));
	if (w->loser)
		add_wrong(o, "%s lost %s%s events: %s%s", xvt_session_vm_name(w->loser),
			  xvt_session_vm_is_ftrace(w->loser) ? "at least " : "",
			  xvt_digits(lost, w->lost.lost), loss_help(w->loser, &w->lost),
			  more_text(more, w->losers, "that lost some"));
	if (w->clock)
		add_wrong(o,
			  "recorded times of %s are within %.1f ms%s: readers compute better ones "
			  "(xvtrace stat), xvtrace doctor says what helps",
			  xvt_session_vm_name(w->clock), (double)w->bound_ns / 1e6,
			  more_text(more, w->clocks, "within more than 1 ms"));
}

/* ------------------------------------------------------------------ machines */

static void add_state(struct xvt_outcome *o, const char *name, const struct xvt_vm_outcome *m)
{
	size_t used = strlen(o->states);

	if (m->paused_ns >= 1000000 && used < sizeof(o->states))
		used += (size_t)snprintf(o->states + used, sizeof(o->states) - used,
					 "; %s paused %.3f s", name, (double)m->paused_ns / 1e9);
	if (m->departed && used < sizeof(o->states))
		snprintf(o->states + used, sizeof(o->states) - used, "; %s %s%s%s%s", name,
			 m->departed, m->why[0] ? " (" : "", m->why, m->why[0] ? ")" : "");
}

bool xvt_outcome_take(struct xvt_outcome *o, const struct xvt_session *s,
		      const struct xvt_file_set *sink, bool strict, bool quiet)
{
	struct worst worst = { 0 };
	bool failed = false;
	struct xvt_vm *vm;
	uint64_t late;
	size_t i;

	xvt_session_sums(s, &o->events, &o->lost, &late);
	o->bytes = xvt_session_bytes(s);
	o->ran_ns = xvt_session_ran_ns(s);
	o->last_file = xvt_file_set_at(sink);
	o->removed = xvt_file_set_removed(sink);
	for (i = 0; (vm = xvt_session_vm(s, i)); i++) {
		struct xvt_vm_outcome m;

		xvt_session_vm_outcome(vm, &m);
		if (xvt_session_vm_is_host(vm))
			o->host = m.events != 0;
		else
			o->machines += m.events != 0;
		o->least |= m.lost && xvt_session_vm_is_ftrace(vm);
		add_state(o, xvt_session_vm_name(vm), &m);
		compare(&worst, vm, &m);
		if (!quiet || (strict && xvt_session_vm_is_expected(vm)))
			failed |= say_none(vm, strict);
	}
	find_wrong(o, &worst);
	return failed;
}

/* ------------------------------------------------------------------ the lines */

/* The path as a word of a shell. */
static const char *word_of(const char *path, char *text, size_t size)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "/._-+,:@%=";
	size_t to = 0;

	if (path[0] != '-' && path[strspn(path, plain)] == '\0')
		return path;
	text[to++] = '\'';
	for (; *path && to + 6 < size; path++) {
		if (*path == '\'')
			to += (size_t)snprintf(text + to, size - to, "'\\''");
		else
			text[to++] = *path;
	}
	text[to++] = '\'';
	text[to] = '\0';
	return text;
}

static void files_text(const struct xvt_outcome *o, char *text, size_t size)
{
	const uint32_t n = o->last_file - o->first_file + 1;

	text[0] = '\0';
	if (!o->last_file)
		return;
	if (n == 1)
		snprintf(text, size, XVT_SET_NAME ", ", o->last_file);
	else
		snprintf(text, size, "%u files, " XVT_SET_NAME " to " XVT_SET_NAME ", ", n,
			 o->first_file, o->last_file);
}

static void say(bool logs, const char *text)
{
	if (logs)
		xvt_note("%s", text);
	else
		xvt_log_raw("%s\n", text);
}

void xvt_outcome_say(const struct xvt_outcome *o, const char *output, bool logs)
{
	char size[XVT_DIGITS_LEN], events[XVT_DIGITS_LEN], lost[XVT_DIGITS_LEN];
	char files[128], more[96] = "", line[2048], word[1024];
	size_t i;

	files_text(o, files, sizeof(files));
	if (o->snapshots)
		snprintf(more, sizeof(more), "; %zu snapshot%s in snapshots/", o->snapshots,
			 o->snapshots == 1 ? "" : "s");
	snprintf(line, sizeof(line),
		 "%s: %s%s, %s events of %zu machine%s%s in %.1f s, lost %s%s%s%s", output, files,
		 xvt_size_text(size, o->bytes), xvt_digits(events, o->events), o->machines,
		 o->machines == 1 ? "" : "s", o->host ? " and the host" : "",
		 (double)o->ran_ns / 1e9, o->least ? "at least " : "", xvt_digits(lost, o->lost),
		 o->states, more);
	say(logs, line);
	for (i = 0; i < o->nr_wrong; i++)
		say(logs, o->wrong[i]);
	if (logs)
		return;
	snprintf(line, sizeof(line),
		 o->events ? "next: xvtrace summary %s" : "next: xvtrace verify --notes %s",
		 word_of(output, word, sizeof(word)));
	say(logs, line);
}
