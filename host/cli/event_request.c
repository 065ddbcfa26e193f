// SPDX-License-Identifier: GPL-2.0
/*
 * event_request.c - see event_request.h. The guest can write all that is read here: each word is
 * loaded once, and the wait ends by the host's clock alone.
 */
#include "cli/event_request.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/region.h"
#include "cli/plug.h"
#include "control/answers.h"
#include "control/serve.h"
#include "record/find.h"
#include "session/control.h"
#include "vmm/processes.h"
#include "xvt_abi.h"

enum state {
	ASK,	 /* send the next line */
	ANSWER,	 /* the line is sent */
	CONSENT, /* it was refused, and the guest does not know yet whether its owner allows it */
	OVER,
};

struct asking {
	const char *name;
	const char *path;
	const char *line; /* the next one of the request */
	enum state state;
	int timeout_ms;
	struct xvt_host_region region; /* claimed while map is not NULL */
	uint32_t seq;
	bool allowed; /* the header said that it is allowed, when the line was sent */
	bool failed;
	char on[XVT_REQUEST_LEN]; /* the events that are on, with commas between */
};

static uint32_t consent_of(const struct xvt_host_region *r)
{
	return xvt_load(&((const struct xvt_region_hdr *)r->map)->host_events);
}

static void fail(struct asking *a)
{
	a->failed = true;
	a->state = OVER;
}

static void add_on(struct asking *a)
{
	const size_t used = strlen(a->on);

	snprintf(a->on + used, sizeof(a->on) - used, "%s%.*s", used ? ", " : "",
		 (int)strcspn(a->line, "\n") - 1, a->line + 1);
}

/* ------------------------------------------------------------------ by a recorder */

struct heard {
	struct xvt_error error;
	bool end;
};

static int on_line(void *arg, const char *line, size_t len)
{
	struct heard *h = arg;
	struct xvt_json_value *v = xvt_json_parse(line, len, &h->error);
	const char *error = xvt_json_text(xvt_json_get(v, "error"));

	if (error)
		xvt_fail(&h->error, 0, "%s", error);
	h->end |= xvt_answer_true(v, "end");
	xvt_json_forget(v);
	return v ? 0 : -EBADMSG;
}

/* The request to a recorder, for free(). NULL: out of memory. */
static char *control_line(const struct asking *a)
{
	struct xvt_json *doc = xvt_json_new(), *events;
	const char *at;
	char event[XVT_REQUEST_LEN], *line;
	size_t len;

	xvt_json_add_u64(doc, "version", XVT_CONTROL_VERSION);
	xvt_json_add_text(doc, "do", "events");
	xvt_json_add_text(xvt_json_add_array(doc, "machines"), NULL, a->name);
	events = xvt_json_add_array(doc, "events");
	for (at = a->line; *at; at += strcspn(at, "\n") + 1) {
		snprintf(event, sizeof(event), "%.*s", (int)strcspn(at, "\n") - 1, at + 1);
		xvt_json_add_text(events, NULL, event);
	}
	line = xvt_json_line(doc, &len);
	if (line)
		line[len - 1] = 0; /* the newline */
	return line;
}

/* Have the recorder that works on the region ask. Returns false if it has no socket here. */
static bool ask_recorder(struct asking *a, pid_t pid)
{
	const size_t name = strlen(a->name);
	struct heard heard = { .end = false };
	char dir[2048], path[4096], *line;
	struct xvt_error why = { "" };
	int err = -ENOMEM;

	if (pid <= 0 || !xvt_control_dir(dir, sizeof(dir)))
		return false;
	snprintf(path, sizeof(path), "%s/record-%d", dir, (int)pid);
	if (access(path, F_OK))
		return false;
	line = control_line(a);
	if (line)
		err = xvt_control_ask(path, line, a->timeout_ms, on_line, &heard, &why);
	free(line);
	if (heard.error.text[0])
		xvt_error(a->name, "%s",
			  heard.error.text +
				  (!strncmp(heard.error.text, a->name, name) &&
						   !strncmp(heard.error.text + name, ": ", 2)
					   ? name + 2
					   : 0));
	else if (err || !heard.end)
		xvt_error(a->name, "its recorder, process %d, does not answer: %s", (int)pid,
			  why.text[0] ? why.text
			  : err	      ? strerror(-err)
				      : "it has ended");
	a->failed = heard.error.text[0] || err || !heard.end;
	for (; !a->failed && *a->line; a->line += strcspn(a->line, "\n") + 1)
		add_on(a);
	a->state = OVER;
	return true;
}

static void ask_busy(struct asking *a)
{
	struct xvt_region_look look;
	char process[512] = "another xvtrace";

	xvt_region_look(a->path, &look);
	if (ask_recorder(a, look.recorder))
		return;
	if (look.recorder > 0)
		xvt_process_describe(look.recorder, process, sizeof(process));
	xvt_error(a->name,
		  "its guest is not asked for events: %s is at work on its region, and it alone "
		  "may ask, by -e or event=",
		  process);
	fail(a);
}

/* ------------------------------------------------------------------ by this process */

/* Claims the region, for the exchange. Returns false after an error message. */
static bool claim(struct asking *a)
{
	struct xvt_error why;
	int err;

	if (a->region.map)
		return true;
	err = xvt_host_region_open(&a->region, a->path, true);
	xvt_fail(&why, 0, "%s", err ? xvt_host_region_open_why(err) : "");
	if (!err) {
		err = xvt_host_region_check(&a->region);
		if (err)
			xvt_fault_text(&a->region.fault, why.text, sizeof(why.text));
	}
	if (!err && a->region.hdr.kind != XVT_KIND_LINUX) {
		err = xvt_fail(&why, -EOPNOTSUPP,
			       "its writer is no kernel: it chooses its events itself");
	}
	if (err) {
		xvt_error(a->name, "its guest is not asked for events: %s", why.text);
		fail(a);
	} else if (xvt_host_region_claim(&a->region, XVT_LOCK_START_MS)) {
		err = -EBUSY;
		ask_busy(a);
	}
	return !err;
}

static void send_line(struct asking *a)
{
	if (!*a->line) {
		a->state = OVER;
		return;
	}
	if (!claim(a))
		return;
	a->allowed = consent_of(&a->region) == XVT_HOST_EVENTS_ALLOWED;
	a->seq = xvt_host_region_ask(&a->region, a->line, strcspn(a->line, "\n") + 1);
	a->state = ANSWER;
}

static void fail_refused(struct asking *a)
{
	xvt_error(a->name, "%s", xvt_host_region_refusal(-EPERM));
	fail(a);
}

/* The guest refused. It did not have to know what its owner says. */
static void await_consent(struct asking *a)
{
	struct xvt_region_look look;

	/* A recorder may have it meanwhile. */
	xvt_host_region_close(&a->region);
	xvt_region_look(a->path, &look);
	if (look.host_events == XVT_HOST_EVENTS_ALLOWED && !a->allowed)
		a->state = ASK;
	else if (look.host_events != XVT_HOST_EVENTS_UNKNOWN)
		fail_refused(a);
}

static void take_answer(struct asking *a)
{
	const struct xvt_region_hdr *h = (const struct xvt_region_hdr *)a->region.map;
	const int len = (int)strcspn(a->line, "\n");
	int32_t result;

	if (xvt_load_acquire(&h->request_ack) != a->seq) /* pairs with the guest's release */
		return;
	result = xvt_load(&h->request_result);
	if (result == -EPERM) {
		a->state = CONSENT;
		return;
	}
	if (result) {
		xvt_error(a->name, "cannot switch on %.*s: %s", len - 1, a->line + 1,
			  xvt_host_region_refusal(result));
		a->failed = true;
	} else {
		add_on(a);
	}
	a->line += len + 1;
	a->state = ASK;
}

/* Returns whether the exchange is over. */
static bool step(void *arg)
{
	struct asking *a = arg;

	if (a->state == ANSWER)
		take_answer(a);
	if (a->state == CONSENT)
		await_consent(a);
	if (a->state == ASK)
		send_line(a);
	return a->state == OVER;
}

static void fail_late(struct asking *a)
{
	if (a->state == CONSENT) {
		fail_refused(a);
		return;
	}
	xvt_error(a->name,
		  "its guest has not answered the request for events, from %.*s on; is it paused? "
		  "--timeout is how long to wait",
		  (int)strcspn(a->line, "\n") - 1, a->line + 1);
	fail(a);
}

int xvt_event_request_send(const char *name, const char *region, const char *request,
			   uint64_t timeout_ns)
{
	struct asking a = { .name = name, .path = region, .line = request, .state = ASK };

	a.timeout_ms = timeout_ns / 1000000 < INT_MAX ? (int)(timeout_ns / 1000000) : INT_MAX;

	if (!xvt_plug_wait(step, &a, timeout_ns))
		fail_late(&a);
	if (a.on[0])
		printf("%s: switched on in the guest: %s\n", name, a.on);
	xvt_host_region_close(&a.region);
	return fflush(stdout) || a.failed ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}
