// SPDX-License-Identifier: GPL-2.0
/* serve.c - see serve.h. */
#define _GNU_SOURCE
#include "control/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/json.h"
#include "base/log.h"
#include "base/time.h"
#include "control/http.h"
#include "control/serve_machines.h"
#include "control/serve_metrics.h"
#include "control/serve_status.h"

static const char *const names[] = {
	[XVT_REQUEST_STATUS] = "status",     [XVT_REQUEST_METRICS] = "metrics",
	[XVT_REQUEST_ROTATE] = "rotate",     [XVT_REQUEST_RELOAD] = "reload",
	[XVT_REQUEST_SNAPSHOT] = "snapshot", [XVT_REQUEST_STOP] = "stop",
	[XVT_REQUEST_START] = "start",	     [XVT_REQUEST_EVENTS] = "events",
};

#define NAMES (sizeof(names) / sizeof(names[0]))

/* ------------------------------------------------------------------ what is asked */

static enum xvt_request named(const char *what, struct xvt_error *why)
{
	size_t i, used;

	for (i = 1; what && i < NAMES; i++) {
		if (!strcmp(what, names[i]))
			return (enum xvt_request)i;
	}
	xvt_fail(why, 0,
		 what ? "this recorder does not know that request; it knows"
		      : "a request is an object whose \"do\" is one of");
	used = strlen(why->text);
	for (i = 1; i < NAMES && used < sizeof(why->text); i++)
		used += (size_t)snprintf(why->text + used, sizeof(why->text) - used, " %s",
					 names[i]);
	return XVT_REQUEST_NONE;
}

/* Returns whether the request has what it needs besides its name. */
static bool is_whole(enum xvt_request what, const struct xvt_json_value *request,
		     struct xvt_error *why)
{
	if (what == XVT_REQUEST_EVENTS && !xvt_machine_names_ok(xvt_json_get(request, "events"))) {
		xvt_fail(why, 0, "events needs \"events\":[\"SYSTEM:EVENT\",...]");
		return false;
	}
	if ((what != XVT_REQUEST_STOP && what != XVT_REQUEST_START && what != XVT_REQUEST_EVENTS) ||
	    xvt_machine_names_ok(xvt_json_get(request, "machines")))
		return true;
	xvt_fail(why, 0, "%s needs \"machines\":[NAME,...], with names or patterns", names[what]);
	return false;
}

enum xvt_request xvt_request_parse(const char *line, struct xvt_error *why)
{
	struct xvt_json_value *request = xvt_json_parse(line, strlen(line), why);
	const struct xvt_json_value *version = xvt_json_get(request, "version");
	enum xvt_request what = XVT_REQUEST_NONE;
	uint64_t number = 0;

	if (version && (!xvt_json_u64(version, &number) || number != XVT_CONTROL_VERSION))
		xvt_fail(why, 0,
			 "this recorder knows version %u of the protocol; give \"version\":%u, or "
			 "ask by the xvtrace that is installed with it",
			 XVT_CONTROL_VERSION, XVT_CONTROL_VERSION);
	else if (request)
		what = named(xvt_json_text(xvt_json_get(request, "do")), why);
	if (!is_whole(what, request, why))
		what = XVT_REQUEST_NONE;
	xvt_json_forget(request);
	return what;
}

/* ------------------------------------------------------------------ answers that change nothing */

/* The answer to a request that is refused, or has failed: the last line. */
static char *refusal(const char *why, struct xvt_server_at *at, size_t *len)
{
	struct xvt_json *doc = xvt_json_new();

	at->cursor = XVT_SERVE_COMPLETE;
	xvt_json_add_text(doc, "format", XVT_CONTROL_FORMAT);
	xvt_json_add_text(doc, "error", why);
	return xvt_json_line(doc, len);
}

static char *begin_metrics(struct xvt_server_at *at, size_t *len)
{
	if (!xvt_serve_metrics_begin(at))
		return refusal("out of memory", at, len);
	*len = 0;
	return calloc(1, 1);
}

/* The next piece: none yet, or a line with a piece of the text. */
static char *next_metrics(const struct xvt_serve *s, struct xvt_server_at *at, size_t *len)
{
	const char *text = NULL;
	const enum xvt_metrics_step step = xvt_serve_metrics(s, at, &text);
	struct xvt_json *doc;

	if (step == XVT_METRICS_FAILED)
		return refusal("out of memory", at, len);
	if (step == XVT_METRICS_NOT_YET) {
		*len = 0;
		return calloc(1, 1);
	}
	doc = xvt_json_new();
	if (step == XVT_METRICS_PIECE) {
		xvt_json_add_text(doc, "metrics", text);
	} else {
		xvt_json_add_bool(doc, "end", true);
		at->cursor = XVT_SERVE_COMPLETE;
	}
	return xvt_json_line(doc, len);
}

static char *answer(void *arg, const char *line, struct xvt_server_at *at, size_t *len)
{
	const struct xvt_serve *s = arg;
	enum xvt_request request;
	struct xvt_error why;

	if (at->cursor == XVT_SERVE_COMPLETE)
		return NULL;
	if (at->more)
		return next_metrics(s, at, len);
	if (at->cursor)
		return xvt_json_line(xvt_serve_status(s, at), len);
	request = xvt_request_parse(line, &why);
	if (request == XVT_REQUEST_NONE)
		return refusal(why.text, at, len);
	if (request == XVT_REQUEST_METRICS)
		return begin_metrics(at, len);
	if (request != XVT_REQUEST_STATUS) {
		*len = XVT_SERVER_LATER;
		return NULL;
	}
	return xvt_json_line(xvt_serve_status(s, at), len);
}

/* ------------------------------------------------------------------ changes */

/* The answer to a change that is made. `key` with `value`, if not NULL, are part of it. */
static char *done(enum xvt_request what, const char *key, const char *value,
		  struct xvt_server_at *at, size_t *len)
{
	struct xvt_json *doc = xvt_json_new();

	at->cursor = XVT_SERVE_COMPLETE;
	xvt_json_add_text(doc, "format", XVT_CONTROL_FORMAT);
	xvt_json_add_text(doc, "done", names[what]);
	if (key)
		xvt_json_add_text(doc, key, value);
	xvt_json_add_bool(doc, "end", true);
	return xvt_json_line(doc, len);
}

/* The answer follows when the next file has begun. at->cursor: the number of the file before. */
static char *rotate(struct xvt_serve *s, struct xvt_server_at *at, size_t *len)
{
	const uint32_t now = xvt_file_set_at(s->rec->sink);
	struct xvt_error why;
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
	xvt_fail(&why, 0, "the next file cannot be made: %s; that is tried again", strerror(-err));
	return refusal(why.text, at, len);
}

/* The answer follows when the snapshot is whole. at->cursor: its number + 1; 1: not begun yet. */
static char *snapshot(struct xvt_serve *s, struct xvt_server_at *at, size_t *len)
{
	struct xvt_error why;
	int err;

	if (!s->snapshots)
		return refusal("this recorder writes one file, which has no snapshots; start it "
			       "with a folder, like -o trace.d/",
			       at, len);
	if (at->cursor <= 1)
		at->cursor =
			1 + xvt_snapshots_ask(s->snapshots, xvt_session_now_ns(s->rec->session));
	if (at->cursor == 1)
		return NULL;
	err = xvt_snapshots_made(s->snapshots, at->cursor - 1);
	if (err == -EAGAIN)
		return NULL;
	if (!err)
		return done(XVT_REQUEST_SNAPSHOT, "folder",
			    xvt_snapshots_path(s->snapshots, at->cursor - 1), at, len);
	xvt_fail(&why, 0, "the snapshot is not whole: %s; the recorder's log says more",
		 strerror(-err));
	return refusal(why.text, at, len);
}

static char *reload(struct xvt_serve *s, struct xvt_server_at *at, size_t *len)
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

/* Stop or start machines, or have them ask their guests. */
static char *switch_machines(struct xvt_serve *s, enum xvt_request what, const char *line,
			     uid_t uid, struct xvt_server_at *at, size_t *len)
{
	struct xvt_json *doc;
	struct xvt_error why;
	int err;

	if (what == XVT_REQUEST_STOP)
		err = xvt_serve_stop(s, line, uid, at, &why);
	else if (what == XVT_REQUEST_EVENTS)
		err = xvt_serve_events(s, line, uid, at, &why);
	else
		err = xvt_serve_start(s, line, uid, at, &why);
	if (err == -EAGAIN)
		return NULL;
	if (err)
		return refusal(why.text, at, len);
	doc = xvt_json_new();
	xvt_json_add_text(doc, "format", XVT_CONTROL_FORMAT);
	xvt_json_add_text(doc, "done", names[what]);
	xvt_serve_machines(at, doc);
	xvt_json_add_bool(doc, "end", true);
	at->cursor = XVT_SERVE_COMPLETE;
	return xvt_json_line(doc, len);
}

static char *act(void *arg, const char *line, const struct xvt_server_peer *peer,
		 struct xvt_server_at *at, size_t *len)
{
	enum xvt_request request;
	struct xvt_error why;

	if (!peer->permitted)
		return refusal("only root and the recorder's user may change something", at, len);
	request = xvt_request_parse(line, &why);
	if (request == XVT_REQUEST_ROTATE)
		return rotate(arg, at, len);
	if (request == XVT_REQUEST_RELOAD)
		return reload(arg, at, len);
	if (request == XVT_REQUEST_SNAPSHOT)
		return snapshot(arg, at, len);
	if (request == XVT_REQUEST_STOP || request == XVT_REQUEST_START ||
	    request == XVT_REQUEST_EVENTS)
		return switch_machines(arg, request, line, peer->uid, at, len);
	return refusal(why.text, at, len);
}

/* ------------------------------------------------------------------ beside the passes */

static void serve(struct xvt_timer *timer, uint64_t now_ns)
{
	const struct xvt_serve *s = container_of(timer, struct xvt_serve, before_pass);

	(void)now_ns;
	xvt_server_serve(s->rec->control);
	xvt_timer_arm(timer, 0, XVT_TIMER_NEVER);
}

static void tend(struct xvt_timer *timer, uint64_t now_ns)
{
	const struct xvt_serve *s = container_of(timer, struct xvt_serve, tend);

	xvt_server_tend(s->rec->control);
	xvt_server_tend(s->rec->http);
	xvt_timer_arm(timer, now_ns + SECOND_NS, XVT_TIMER_NEVER);
}

void xvt_serve_begin(struct xvt_serve *s)
{
	xvt_timer_add(&s->rec->before_pass, &s->before_pass, serve);
	xvt_timer_arm(&s->before_pass, 0, XVT_TIMER_NEVER);
	xvt_timer_add(&s->rec->after_pass, &s->tend, tend);
	xvt_timer_arm(&s->tend, 0, XVT_TIMER_NEVER);
}

const struct xvt_server_ops xvt_serve_ops = { .answer = answer, .act = act };

int xvt_serve_clients(struct xvt_serve *s, const char *path)
{
	struct xvt_recording *rec = s->rec;
	struct xvt_error why;
	const int err = xvt_control_open(&rec->control, rec->loop, path, &xvt_serve_ops, s, &why);

	if (err && path)
		xvt_error(path, "%s", why.text);
	else if (err && err != -ENOENT)
		xvt_warn(rec->command, "xvtrace status cannot ask this one: %s", why.text);
	return path ? err : 0;
}

int xvt_serve_collectors(struct xvt_serve *s, const char *text)
{
	union xvt_http_address address;
	struct xvt_error why;
	int err;

	if (!text || xvt_http_parse(text, &address))
		return 0;
	err = xvt_http_open(&s->rec->http, s->rec->loop, &address, s, &why);
	if (err)
		xvt_error("--metrics-http", "%s: %s%s", text, why.text,
			  err == -EAFNOSUPPORT || err == -EPERM
				  ? "; as a service it needs a drop-in, see xvtrace-daemon(8)"
				  : "");
	else
		xvt_http_where(s->rec->http, s->metrics_http);
	return err;
}
