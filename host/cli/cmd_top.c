// SPDX-License-Identifier: GPL-2.0
/* cmd_top.c - `xvtrace top`: the machines of this host's recorders with their rates, again and
 * again. */
#define _GNU_SOURCE
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/out.h"
#include "base/time.h"
#include "cli/cmd.h"
#include "cli/pager.h"
#include "top/top.h"
#include "top/interactive.h"
#include "top/tint.h"

#define LEAST_DELAY_NS 100000000u

struct top_options {
	const char *control;
	uint64_t delay_ns;
	uint64_t count; /* 0: no limit */
	const char *sort;
	bool batch;
	unsigned int colours; /* enum xvt_colour */
	bool colour;	      /* by `colours` and the terminal */
};

static const struct xvt_opt options[] = {
	XVT_OPT(struct top_options, delay_ns, "delay", 'd', XVT_OPT_TIME, "SECONDS",
		"time between two tables, at least 0.1 (default: 1)"),
	XVT_OPT(struct top_options, count, "count", 'n', XVT_OPT_COUNT, "N",
		"end after N tables (default: when the last recorder ends)"),
	XVT_OPT(struct top_options, sort, "sort", 's', XVT_OPT_STRING, "KEY",
		"name, rate (default), lost-rate, events, lost, discarded, lag, clock, full or "
		"rings"),
	XVT_OPT(struct top_options, batch, "batch", 'b', XVT_OPT_BOOL, NULL,
		"one table below the other, without keys (default where input or output is no "
		"terminal)"),
	XVT_COLOUR_OPT(struct top_options, colours, "states and losses in colour"),
	XVT_OPT(struct top_options, control, "control", 0, XVT_OPT_STRING, "SOCKET",
		"ask the recorder that listens there (default: all of this user; see "
		"xvtrace-status(1))"),
	XVT_OPT_END,
};

/* ------------------------------------------------------------------ one table after the other */

struct tables {
	struct xvt_out out;
	bool begun; /* a line of this table is written */
	bool colour;
	struct xvt_top_heads heads;
};

/* A machine's line, with its coloured parts. */
static void put_tinted(struct tables *to, const struct xvt_top_machine *machine, const char *text,
		       size_t len)
{
	struct xvt_top_tint tints[XVT_TOP_TINTS];
	const size_t n = xvt_top_tints(tints, &to->heads, machine, text, len);
	const char *at = text, *from, *end;
	size_t i;

	for (i = 0; i < n; i++) {
		from = xvt_top_letters_behind(text, len, tints[i].at);
		end = xvt_top_letters_behind(text, len, tints[i].at + tints[i].letters);
		xvt_out_bytes(&to->out, at, (size_t)(from - at));
		xvt_out_printf(&to->out, "\x1b[%dm", 30 + (int)tints[i].colour);
		xvt_out_bytes(&to->out, from, (size_t)(end - from));
		xvt_out_str(&to->out, "\x1b[0m");
		at = end;
	}
	xvt_out_bytes(&to->out, at, (size_t)(text + len - at));
}

static void put_line(void *arg, enum xvt_top_kind kind, const struct xvt_top_machine *machine,
		     const char *text, size_t len)
{
	struct tables *to = arg;

	if (kind == XVT_TOP_LINE_HEAD) {
		xvt_out_char(&to->out, '\n');
		xvt_top_heads(&to->heads, text, len);
	}
	while (len && text[len - 1] == ' ')
		len--;
	if (machine && to->colour)
		put_tinted(to, machine, text, len);
	else
		xvt_out_bytes(&to->out, text, len);
	xvt_out_char(&to->out, '\n');
}

static void sleep_until(struct timespec *at, uint64_t delay_ns)
{
	at->tv_sec += (time_t)(delay_ns / SECOND_NS);
	at->tv_nsec += (long)(delay_ns % SECOND_NS);
	if (at->tv_nsec >= (long)SECOND_NS) {
		at->tv_nsec -= (long)SECOND_NS;
		at->tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, at, NULL) == EINTR)
		;
}

/* Returns 0, or -errno after an error message. */
static int print_table(struct tables *to, const struct xvt_top *t)
{
	int err;

	if (to->begun)
		xvt_out_char(&to->out, '\n');
	to->begun = true;
	xvt_top_show(t, put_line, to);
	err = xvt_out_flush(&to->out);
	if (err)
		xvt_error("standard output", "%s", strerror(-err));
	return err;
}

/* Returns 0, or -errno of xvt_top_refresh(), or after an error message. */
static int print_tables(struct xvt_top *t, const struct top_options *opt)
{
	static struct tables to;
	struct timespec at;
	uint64_t n;
	int err = xvt_out_open(&to.out, "-");

	to.colour = opt->colour;
	clock_gettime(CLOCK_MONOTONIC, &at);
	for (n = 1; !err; n++) {
		err = print_table(&to, t);
		if (err || n == opt->count)
			break;
		sleep_until(&at, opt->delay_ns);
		err = xvt_top_refresh(t, opt->control);
		if (t->n)
			err = 0;
	}
	if (xvt_out_close(&to.out) && !err)
		err = to.out.err;
	return err;
}

/* ------------------------------------------------------------------ the command */

static bool takes_utf8(void)
{
	return setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Returns 0, or -errno. */
static int watch(struct xvt_top *t, const struct top_options *opt)
{
	struct xvt_error why = { "" };
	int err;

	if (opt->batch || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return print_tables(t, opt);
	err = xvt_top_screen(t, opt->control, opt->delay_ns, opt->count, opt->colour, &why);
	if (err && why.text[0]) {
		xvt_note("%s; the tables follow one below the other (-b)", why.text);
		err = print_tables(t, opt);
	}
	return err;
}

static int check_options(const struct top_options *opt, int argc, char **argv, int first)
{
	if (first < argc)
		xvt_error(argv[first], "not an option; a socket is given as --control SOCKET");
	else if (xvt_top_column(opt->sort) < 0)
		xvt_error(opt->sort, "no column to sort by; 'xvtrace top --help' lists them");
	else if (opt->delay_ns < LEAST_DELAY_NS)
		xvt_error("--delay", "at least 0.1 seconds");
	else
		return 0;
	return -EINVAL;
}

static int cmd_top(const struct xvt_command *cmd, int argc, char **argv)
{
	struct top_options opt = { .delay_ns = SECOND_NS, .sort = "rate" };
	struct xvt_top top = { .n = 0 };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL), err;

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (check_options(&opt, argc, argv, first))
		return XVT_EXIT_USAGE;
	opt.colour = xvt_pager_chosen_colour(opt.colours);
	top.sort = (size_t)xvt_top_column(opt.sort);
	top.utf8 = takes_utf8();
	err = xvt_top_refresh(&top, opt.control);
	top.answers.quiet = true;
	if (top.n) {
		err = watch(&top, &opt);
		if (err && !top.n)
			xvt_error("top", "%s",
				  xvt_answers_ended(err) ? "the recorder has ended"
							 : top.answers.why);
	}
	xvt_top_forget(&top);
	return err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

const struct xvt_command xvt_cmd_top = {
	.name = "top",
	.args = "[-d SECONDS] [-n N] [-s KEY] [-b]",
	.brief = "the machines of the recorders at work with their rates, again and again",
	.opts = options,
	.run = cmd_top,
};
