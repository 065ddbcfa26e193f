// SPDX-License-Identifier: GPL-2.0
/* cmd_control.c - `xvtrace control`: have a recorder at work do something, by its control socket.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "control/answers.h"
#include "control/serve.h"

#define TIMEOUT_MS 150000 /* a next file waits for the slowest ring, a snapshot for its end too */

struct control_options {
	const char *control;
	bool json;
};

static const struct xvt_opt options[] = {
	XVT_OPT(struct control_options, control, "control", 0, XVT_OPT_STRING, "SOCKET",
		"the recorder that listens there (default: the one of this user; see "
		"xvtrace-status(1))"),
	XVT_OPT(struct control_options, json, "json", 0, XVT_OPT_BOOL, NULL,
		"print the lines of the answer, format " XVT_CONTROL_FORMAT),
	XVT_OPT_END,
};

struct asking {
	const struct control_options *opt;
	struct xvt_out *out;
	struct xvt_error error; /* the recorder's refusal, and why */
	bool ended, said;	/* said: something was printed */
};

static void put_names(struct xvt_out *o, const struct xvt_json_value *array, const char *before)
{
	size_t i;

	for (i = 0; i < xvt_json_count(array); i++) {
		const char *name = xvt_json_text(xvt_json_at(array, i));

		xvt_out_str(o, i ? ", " : before);
		xvt_out_text(o, name ? name : "?", name ? strlen(name) : 1);
	}
}

/* Returns whether the line says something to a person. */
static bool put_line(struct xvt_out *o, const struct xvt_json_value *v)
{
	const char *file = xvt_json_text(xvt_json_get(v, "file"));
	const char *folder = xvt_json_text(xvt_json_get(v, "folder"));
	const char *what = xvt_json_text(xvt_json_get(v, "done"));
	const char *metrics = xvt_json_text(xvt_json_get(v, "metrics"));

	if (metrics) /* lines, whose labels the recorder has made safe */
		xvt_out_str(o, metrics);
	if (!what)
		return metrics;
	xvt_out_text(o, what, strlen(what));
	put_names(o, xvt_json_get(v, "machines"), ": ");
	put_names(o, xvt_json_get(v, "absent"), "; to be recorded when it comes: ");
	if (file) {
		xvt_out_str(o, ": the recording goes on in ");
		xvt_out_text(o, file, strlen(file));
	}
	if (folder) {
		xvt_out_str(o, ": ");
		xvt_out_text(o, folder, strlen(folder));
	}
	xvt_out_char(o, '\n');
	return true;
}

static int on_line(void *arg, const char *line, size_t len)
{
	struct asking *a = arg;
	struct xvt_json_value *v = xvt_json_parse(line, len, &a->error);
	const char *error = xvt_json_text(xvt_json_get(v, "error"));

	if (!v)
		return -EBADMSG;
	if (error)
		xvt_text_clean(a->error.text, sizeof(a->error.text), error, strlen(error));
	else if (!a->opt->json)
		a->said |= put_line(a->out, v);
	a->ended |= error || xvt_answer_true(v, "end");
	xvt_json_forget(v);
	if (a->opt->json) {
		xvt_out_json(a->out, line, len);
		xvt_out_char(a->out, '\n');
	}
	return 0;
}

/* Make the line of a request for n machines, for free(). NULL: out of memory. */
static char *request_line(const char *what, char **machines, int n)
{
	struct xvt_json *doc = xvt_json_new(), *names;
	size_t len;
	char *line;
	int i;

	xvt_json_add_u64(doc, "version", XVT_CONTROL_VERSION);
	xvt_json_add_text(doc, "do", what);
	names = n ? xvt_json_add_array(doc, "machines") : NULL;
	for (i = 0; i < n; i++)
		xvt_json_add_text(names, NULL, machines[i]);
	line = xvt_json_line(doc, &len);
	if (line)
		line[len - 1] = '\0'; /* the newline */
	return line;
}

/* words: the request, and n machines */
static int ask(const struct control_options *opt, const char *path, char **words, int n)
{
	const char *what = words[0];
	static struct xvt_out out;
	struct asking a = { .opt = opt, .out = &out };
	char *line = request_line(what, words + 1, n);
	struct xvt_error why = { "" };
	int err = xvt_out_open(&out, "-"), more;

	if (!err && line && strlen(line) >= XVT_SERVER_REQUEST_MAX) {
		xvt_error(what, "too many machines for one request; use patterns, or ask twice");
		free(line);
		xvt_out_close(&out);
		return XVT_EXIT_USAGE;
	}
	if (!err)
		err = line ? xvt_control_ask(path, line, TIMEOUT_MS, on_line, &a, &why) : -ENOMEM;
	free(line);
	more = xvt_out_close(&out);
	err = err ? err : more;
	if (!err && !a.ended)
		xvt_error(path, "the recorder ended before it answered");
	else if (a.error.text[0])
		xvt_error(what, "%s", a.error.text);
	else if (!err && !a.said && !opt->json)
		xvt_error(what, "the recorder's answer is one for programs: --json prints it; "
				"`xvtrace status` and `xvtrace top` show its state");
	else if (err)
		xvt_error(path, "%s%s", why.text[0] ? why.text : strerror(-err),
			  err == -ECONNREFUSED ? "; the recorder that listened there has died"
					       : "");
	else
		return XVT_EXIT_OK;
	return XVT_EXIT_FAIL;
}

/* Find the only recorder of this user. Returns false after an error message. */
static bool find_recorder(char *path, size_t size)
{
	struct xvt_answers all = { 0 };
	char dir[2048];
	const bool found =
		!xvt_answers_gather(&all, NULL) && all.n == 1 && xvt_control_dir(dir, sizeof(dir));

	if (found)
		snprintf(path, size, "%s/record-%" PRIu64, dir,
			 xvt_answer_number(all.v[0].lines[0], "pid"));
	else if (all.n > 1)
		xvt_error("control",
			  "%zu recorders are at work (xvtrace status); name one by "
			  "--control SOCKET",
			  all.n);
	xvt_answers_forget(&all);
	return found;
}

/* Returns whether the words are a request and its machines. */
static bool are_valid(char **words, int n)
{
	const bool switches =
		n > 0 && (strcmp(words[0], "stop") == 0 || strcmp(words[0], "start") == 0);

	if (!n || (n > 1 && !switches))
		xvt_error(n ? words[1] : "control",
			  "give one of: metrics, reload, rotate, snapshot, start MACHINE..., stop "
			  "MACHINE...");
	else if (n == 1 && switches)
		xvt_error(words[0], "give the machines, by name or pattern");
	else
		return true;
	return false;
}

static int cmd_control(const struct xvt_command *cmd, int argc, char **argv)
{
	struct control_options opt = { 0 };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL);
	char path[4096];

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (!are_valid(argv + first, argc - first))
		return XVT_EXIT_USAGE;
	if (!opt.control && !find_recorder(path, sizeof(path)))
		return XVT_EXIT_FAIL;
	return ask(&opt, opt.control ? opt.control : path, argv + first, argc - first - 1);
}

const struct xvt_command xvt_cmd_control = {
	.name = "control",
	.args = "metrics|reload|rotate|snapshot|start|stop [MACHINE...] [--control SOCKET] "
		"[--json]",
	.brief = "have a recorder at work begin its next file, keep a snapshot, stop or start a "
		 "machine, or read its configuration",
	.opts = options,
	.run = cmd_control,
};
