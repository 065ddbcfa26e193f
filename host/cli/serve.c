// SPDX-License-Identifier: GPL-2.0
/* serve.c - see serve.h. */
#define _GNU_SOURCE
#include "cli/serve.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/metrics.h"

#define COMPLETE UINT64_MAX	  /* a cursor: nothing follows */
#define GATHERED (UINT64_MAX - 1) /* of metrics: the status of all machines was taken */

static const char *const names[] = {
	[XVT_REQUEST_STATUS] = "status",
	[XVT_REQUEST_METRICS] = "metrics",
	[XVT_REQUEST_ROTATE] = "rotate",
	[XVT_REQUEST_RELOAD] = "reload",
};

#define NAMES (sizeof(names) / sizeof(names[0]))

/* ------------------------------------------------------------------ what is asked */

static enum xvt_request named(const char *what, char *why, size_t why_size)
{
	size_t i, used = 0;

	for (i = 1; what && i < NAMES; i++) {
		if (!strcmp(what, names[i]))
			return (enum xvt_request)i;
	}
	used += (size_t)snprintf(why, why_size,
				 what ? "this recorder does not know that request; it knows"
				      : "a request is an object whose \"do\" is one of");
	for (i = 1; i < NAMES && used < why_size; i++)
		used += (size_t)snprintf(why + used, why_size - used, " %s", names[i]);
	return XVT_REQUEST_NONE;
}

enum xvt_request xvt_request_parse(const char *line, char *why, size_t why_size)
{
	struct xvt_json_value *request = xvt_json_parse(line, strlen(line), why, why_size);
	const struct xvt_json_value *version = xvt_json_get(request, "version");
	enum xvt_request what = XVT_REQUEST_NONE;
	uint64_t number = 0;

	if (version && (!xvt_json_u64(version, &number) || number != XVT_CONTROL_VERSION))
		snprintf(why, why_size,
			 "this recorder knows version %u of the protocol; give \"version\":%u, or "
			 "ask by the xvtrace that is installed with it",
			 XVT_CONTROL_VERSION, XVT_CONTROL_VERSION);
	else if (request)
		what = named(xvt_json_text(xvt_json_get(request, "do")), why, why_size);
	xvt_json_forget(request);
	return what;
}

/* ------------------------------------------------------------------ answers that change nothing */

static struct xvt_json *whole_status(const struct xvt_serve *s)
{
	struct xvt_json *doc = xvt_json_new();
	char cwd[PATH_MAX];

	xvt_json_add_text(doc, "format", "xvtrace-status/1");
	xvt_json_add_u64(doc, "pid", (uint64_t)getpid());
	xvt_json_add_text(doc, "cwd", getcwd(cwd, sizeof(cwd)) ? cwd : "");
	xvt_json_add_text(doc, "output", s->output);
	xvt_json_add_text(doc, "file", xvt_file_set_path(s->rec->sink));
	xvt_json_add_u64(doc, "files_removed", xvt_file_set_removed(s->rec->sink));
	xvt_session_status(s->rec->session, doc);
	return doc;
}

/* The answer to a request that is refused, or has failed: the last line. */
static char *refusal(const char *why, struct xvt_control_at *at, size_t *len)
{
	struct xvt_json *doc = xvt_json_new();

	at->cursor = COMPLETE;
	xvt_json_add_text(doc, "format", XVT_CONTROL_FORMAT);
	xvt_json_add_text(doc, "error", why);
	return xvt_json_line(doc, len);
}

/* The part of an answer at at->cursor, which has the next machine + 1 in its high half and that
 * machine's next ring in its low half. */
static struct xvt_json *next_part(const struct xvt_serve *s, struct xvt_control_at *at)
{
	uint32_t vm = (uint32_t)(at->cursor >> 32) - 1, ring = (uint32_t)at->cursor;
	struct xvt_json *doc = xvt_json_new();

	if (xvt_session_status_vm(s->rec->session, &vm, &ring, doc)) {
		at->cursor = (uint64_t)(vm + 1) << 32 | ring;
	} else {
		xvt_json_add_bool(doc, "end", true);
		at->cursor = COMPLETE;
	}
	return doc;
}

/* A client's metrics: sums over the status of all machines, which takes many pieces. */
struct metrics_answer {
	struct xvt_metrics *metrics;
	struct xvt_metrics_at at;
	struct xvt_out text; /* of one piece */
};

static void forget_metrics(void *more)
{
	struct metrics_answer *a = more;

	xvt_metrics_free(a->metrics);
	free(a);
}

static char *begin_metrics(struct xvt_control_at *at, size_t *len)
{
	struct metrics_answer *a = calloc(1, sizeof(*a));

	if (!a)
		return refusal("out of memory", at, len);
	a->text.fd = -1;
	a->metrics = xvt_metrics_new();
	at->more = a;
	at->forget = forget_metrics;
	*len = 0;
	return calloc(1, 1);
}

/* Take one line of the status. Returns false without memory. */
static bool gather(const struct xvt_serve *s, struct metrics_answer *a, struct xvt_control_at *at)
{
	char why[64], *line;
	struct xvt_json_value *v;
	size_t len;
	bool good = a->metrics;

	if (at->cursor) {
		line = xvt_json_line(next_part(s, at), &len);
	} else {
		at->cursor = 1ull << 32;
		line = xvt_json_line(whole_status(s), &len);
	}
	v = line ? xvt_json_parse(line, len, why, sizeof(why)) : NULL;
	good = good && v && !xvt_metrics_add(a->metrics, v);
	if (at->cursor == COMPLETE)
		at->cursor = GATHERED;
	xvt_json_forget(v);
	free(line);
	return good;
}

/* The next piece: none yet, or a piece of the text. */
static char *next_metrics(const struct xvt_serve *s, struct xvt_control_at *at, size_t *len)
{
	struct metrics_answer *a = at->more;
	struct xvt_json *doc;

	if (at->cursor != GATHERED) {
		*len = 0;
		return gather(s, a, at) ? calloc(1, 1) : refusal("out of memory", at, len);
	}
	a->text.used = 0;
	doc = xvt_json_new();
	if (xvt_metrics_piece(a->metrics, &a->at, &a->text)) {
		a->text.buf[a->text.used] = '\0';
		xvt_json_add_text(doc, "metrics", a->text.buf);
	} else {
		xvt_json_add_bool(doc, "end", true);
		at->cursor = COMPLETE;
	}
	return xvt_json_line(doc, len);
}

static char *answer(void *arg, const char *line, struct xvt_control_at *at, size_t *len)
{
	const struct xvt_serve *s = arg;
	enum xvt_request request;
	char why[256];

	if (at->cursor == COMPLETE)
		return NULL;
	if (at->more)
		return next_metrics(s, at, len);
	if (at->cursor)
		return xvt_json_line(next_part(s, at), len);
	request = xvt_request_parse(line, why, sizeof(why));
	if (request == XVT_REQUEST_NONE)
		return refusal(why, at, len);
	if (request == XVT_REQUEST_METRICS)
		return begin_metrics(at, len);
	if (request != XVT_REQUEST_STATUS) {
		*len = XVT_CONTROL_LATER;
		return NULL;
	}
	at->cursor = 1ull << 32;
	return xvt_json_line(whole_status(s), len);
}

/* ------------------------------------------------------------------ changes */

/* The answer to a change that is made. `key` with `value`, if not NULL, are part of it. */
static char *done(enum xvt_request what, const char *key, const char *value,
		  struct xvt_control_at *at, size_t *len)
{
	struct xvt_json *doc = xvt_json_new();

	at->cursor = COMPLETE;
	xvt_json_add_text(doc, "format", XVT_CONTROL_FORMAT);
	xvt_json_add_text(doc, "done", names[what]);
	if (key)
		xvt_json_add_text(doc, key, value);
	xvt_json_add_bool(doc, "end", true);
	return xvt_json_line(doc, len);
}

/* The answer follows when the next file has begun. at->cursor: the number of the file before. */
static char *rotate(struct xvt_serve *s, struct xvt_control_at *at, size_t *len)
{
	const uint32_t now = xvt_file_set_at(s->rec->sink);
	char why[256];
	int err;

	if (!now)
		return refusal("this recorder writes one file, which has no next one; start it "
			       "with a folder, like -o trace.d/",
			       at, len);
	if (!at->cursor) {
		at->cursor = now;
		xvt_session_rotate(s->rec->session);
	}
	if (now != at->cursor)
		return done(XVT_REQUEST_ROTATE, "file", xvt_file_set_path(s->rec->sink), at, len);
	err = xvt_session_rotation(s->rec->session);
	if (err == -EAGAIN || !err)
		return NULL;
	snprintf(why, sizeof(why), "the next file cannot be made: %s; that is tried again",
		 strerror(-err));
	return refusal(why, at, len);
}

static char *reload(struct xvt_serve *s, struct xvt_control_at *at, size_t *len)
{
	if (!s->reload)
		return refusal("this recorder has no configuration to read again: it was started "
			       "by `xvtrace record`",
			       at, len);
	if (!s->reload(s->arg))
		return refusal("the configuration has errors, which the recorder's log names; the "
			       "recorder goes on with the options that it has",
			       at, len);
	return done(XVT_REQUEST_RELOAD, NULL, NULL, at, len);
}

static char *act(void *arg, const char *line, bool permitted, struct xvt_control_at *at,
		 size_t *len)
{
	enum xvt_request request;
	char why[256];

	if (!permitted)
		return refusal("only root and the recorder's user may change something", at, len);
	request = xvt_request_parse(line, why, sizeof(why));
	if (request == XVT_REQUEST_ROTATE)
		return rotate(arg, at, len);
	if (request == XVT_REQUEST_RELOAD)
		return reload(arg, at, len);
	return refusal(why, at, len);
}

const struct xvt_control_ops xvt_serve_ops = { answer, act };
