// SPDX-License-Identifier: GPL-2.0
/* answers.c - see answers.h. */
#define _GNU_SOURCE
#include "control/answers.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "options/opt.h"
#include "session/control.h"

#define TIMEOUT_MS 10000

uint64_t xvt_answer_number(const struct xvt_json_value *of, const char *key)
{
	uint64_t v = 0;

	xvt_json_u64(xvt_json_get(of, key), &v);
	return v;
}

bool xvt_answer_true(const struct xvt_json_value *of, const char *key)
{
	bool v = false;

	xvt_json_bool(xvt_json_get(of, key), &v);
	return v;
}

const char *xvt_answer_text(const struct xvt_json_value *of, const char *key)
{
	const char *v = xvt_json_text(xvt_json_get(of, key));

	return v ? v : "?";
}

size_t xvt_answer_vm_end(const struct xvt_answer *a, size_t i)
{
	for (i++; i < a->n && !xvt_json_get(a->lines[i], "name"); i++)
		;
	return i;
}

uint64_t xvt_answer_full(const struct xvt_json_value *ring)
{
	const uint64_t size = xvt_answer_number(ring, "size_bytes");

	return size ? xvt_answer_number(ring, "undrained_bytes") * 100 / size : 0;
}

static void keep_most(uint64_t *most, uint64_t v)
{
	*most = v > *most ? v : *most;
}

static void add_ring(struct xvt_answer_sums *s, const struct xvt_json_value *r)
{
	const struct xvt_json_value *clock = xvt_json_get(r, "clock");
	const uint64_t bound_ns = xvt_answer_number(clock, "bound_ns_max");

	s->attempted += xvt_answer_number(r, "attempted");
	s->events += xvt_answer_number(r, "events");
	s->lost += xvt_answer_number(r, "lost");
	s->discarded += xvt_answer_number(r, "discarded");
	s->late += xvt_answer_number(r, "late");
	s->in_flight += xvt_answer_number(r, "in_flight");
	s->events_s += xvt_answer_number(r, "events_s");
	s->lost_s += xvt_answer_number(r, "lost_s");
	s->rings++;
	s->live += strcmp(xvt_answer_text(r, "phase"), "live") == 0;
	keep_most(&s->lag_ns, xvt_answer_number(r, "lag_ns"));
	keep_most(&s->full_percent, xvt_answer_full(r));
	if (strcmp(xvt_answer_text(clock, "source"), "none") == 0 || bound_ns >= INT64_MAX)
		return;
	s->clocks++;
	keep_most(&s->bound_ns, bound_ns);
}

bool xvt_answer_has_host(const struct xvt_answer *a)
{
	for (size_t i = 1; i < a->n; i++)
		if (strcmp(xvt_answer_text(a->lines[i], "kind"), "host") == 0)
			return true;
	return false;
}

struct xvt_answer_sums xvt_answer_sum(const struct xvt_answer *a, size_t first, size_t end)
{
	struct xvt_answer_sums s = { 0 };
	size_t i, k;

	for (i = first; i < end; i++) {
		const struct xvt_json_value *rings = xvt_json_get(a->lines[i], "rings");

		for (k = 0; k < xvt_json_count(rings); k++)
			add_ring(&s, xvt_json_at(rings, k));
	}
	return s;
}

static int on_line(void *arg, const char *line, size_t len)
{
	struct xvt_answer *a = arg;
	struct xvt_json_value **grown, *v = xvt_json_parse(line, len, &a->why);
	const char *error = xvt_json_text(xvt_json_get(v, "error"));

	if (!v)
		return -EBADMSG;
	if (error || xvt_answer_true(v, "end")) {
		a->ended = !error;
		if (error)
			xvt_fail(&a->why, 0, "%s", error);
		xvt_json_forget(v);
		return error ? -EPROTO : 0;
	}
	grown = realloc(a->lines, (a->n + 1) * sizeof(*grown));
	if (!grown) {
		xvt_json_forget(v);
		return -ENOMEM;
	}
	a->lines = grown;
	a->lines[a->n++] = v;
	return 0;
}

static void forget(struct xvt_answer *a)
{
	while (a->n)
		xvt_json_forget(a->lines[--a->n]);
	free(a->lines);
	a->lines = NULL;
}

/* Returns 0, or -errno with the reason in a->why. */
static int ask(struct xvt_answer *a, const char *path)
{
	struct xvt_error why = { "" };
	int err;

	*a = (struct xvt_answer){ .n = 0 };
	err = xvt_control_ask(path, "{\"do\":\"status\"}", TIMEOUT_MS, on_line, a, &why);
	if (!a->why.text[0])
		xvt_fail(&a->why, 0, "%s", why.text);
	if (!err && (!a->ended || !a->n)) {
		err = a->n ? -EBADMSG : -EPIPE; /* no line: the recorder is ending */
		xvt_fail(&a->why, 0, "it ended in the middle of its answer");
	}
	if (err)
		forget(a);
	return err;
}

static int add(struct xvt_answers *all, const struct xvt_answer *a)
{
	struct xvt_answer *grown = realloc(all->v, (all->n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	all->v = grown;
	all->v[all->n++] = *a;
	return 0;
}

bool xvt_answers_ended(int err)
{
	return err == -ECONNREFUSED || err == -ENOENT || err == -EPIPE || err == -ECONNRESET;
}

/* Errors that are not reported for a socket in the default folder: a dead recorder's socket
 * refuses, an ending recorder's has gone, and another user's is not accessible. */
static bool not_ours(int err)
{
	return xvt_answers_ended(err) || err == -EACCES || err == -EPERM;
}

/* Replace control characters of a recorder's text, for the terminal. */
static void clean(char *said)
{
	for (; *said; said++) {
		if ((unsigned char)*said < 0x20 || *said == 0x7f)
			*said = '?';
	}
}

__attribute__((format(printf, 3, 4))) static void say(struct xvt_answers *all, const char *what,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(all->why, sizeof(all->why), format, args);
	va_end(args);
	clean(all->why);
	if (!all->quiet)
		xvt_error(what, "%s", all->why);
}

static int ask_one(struct xvt_answers *all, const char *path, bool must)
{
	struct xvt_answer a;
	int err = ask(&a, path);

	if (!err)
		return add(all, &a);
	if (!must && not_ours(err))
		return 0;
	say(all, path, "%s%s", a.why.text,
	    err == -ECONNREFUSED ? "; the recorder that listened there has died" : "");
	return err;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_recorder(const struct dirent *e)
{
	return xvt_control_is_name(e->d_name);
}

/* Returns 0, or the last -errno of a recorder that could not be asked. */
static int ask_all(struct xvt_answers *all, const char *dir)
{
	struct dirent **found;
	int n = scandir(dir, &found, is_recorder, by_name), err = 0, i;

	if (n < 0 && errno != ENOENT) {
		err = -errno;
		say(all, dir, "%s", strerror(-err));
	}
	for (i = 0; i < n; i++) {
		char path[4096];
		int failed;

		snprintf(path, sizeof(path), "%s/%s", dir, found[i]->d_name);
		failed = ask_one(all, path, false);
		err = failed ? failed : err;
		free(found[i]);
	}
	if (n >= 0)
		free(found);
	return err;
}

int xvt_answers_gather(struct xvt_answers *all, const char *control)
{
	char dir[2048];
	int err;

	if (control)
		return ask_one(all, control, true);
	if (!xvt_control_dir(dir, sizeof(dir))) {
		say(all, "control socket", "no XDG_RUNTIME_DIR to look in; use --control SOCKET");
		return -ENOENT;
	}
	err = ask_all(all, dir);
	if (err || all->n)
		return err;
	say(all, "control socket",
	    "no recorder of yours is at work (looked in %s; --control SOCKET finds one that was "
	    "started with it)",
	    dir);
	return -ENOENT;
}

void xvt_answers_forget(struct xvt_answers *all)
{
	while (all->n)
		forget(&all->v[--all->n]);
	free(all->v);
	all->v = NULL;
}

void xvt_answer_recorder(const struct xvt_json_value *recorder, struct xvt_out *o)
{
	const char *output = xvt_answer_text(recorder, "output"),
		   *cwd = xvt_answer_text(recorder, "cwd"),
		   *mode = xvt_answer_text(recorder, "mode");

	xvt_out_printf(o, "recorder %" PRIu64 " of ", xvt_answer_number(recorder, "pid"));
	if (output[0] != '/') {
		xvt_out_text(o, cwd, strlen(cwd));
		xvt_out_char(o, '/');
	}
	xvt_out_text(o, output, strlen(output));
	xvt_out_str(o, ", since ");
	xvt_out_duration(o, xvt_answer_number(recorder, "now_ns") -
				    xvt_answer_number(recorder, "started_ns"));
	xvt_out_str(o, ", mode ");
	xvt_out_text(o, mode, strlen(mode));
	xvt_out_str(o, xvt_answer_true(recorder, "ending") ? ", ending" : "");
}

void xvt_answer_flight_recorder(const struct xvt_json_value *of, struct xvt_out *o)
{
	const char *why = xvt_json_text(xvt_json_get(of, "why"));

	xvt_out_printf(o, "flight recorder, %" PRIu64 " of %" PRIu64 " rings armed",
		       xvt_answer_number(of, "armed"), xvt_answer_number(of, "rings"));
	if (!why)
		return;
	xvt_out_str(o, ": ");
	xvt_out_text(o, why, strlen(why));
}
