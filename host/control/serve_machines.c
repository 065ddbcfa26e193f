// SPDX-License-Identifier: GPL-2.0
/* serve_machines.c - see serve_machines.h. */
#define _GNU_SOURCE
#include "control/serve_machines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/machine_name.h"
#include "base/vec.h"
#include "flight/armed.h"
#include "record/event_lines.h"
#include "record/regions.h"
#include "vmm/processes.h"

/* A machine of a request. The machine's object may be freed while the request is carried out. */
struct subject {
	char name[XVT_NAME_LEN];
	bool absent; /* the machine was started, and its file is not there */
};

struct subjects {
	struct subject *v;
	size_t n, room;
};

static void forget(void *more)
{
	struct subjects *list = more;

	free(list->v);
	free(list);
}

/* The list of a request, which is made for it. NULL: no memory. */
static struct subjects *list_of(struct xvt_server_at *at)
{
	if (!at->more) {
		at->more = calloc(1, sizeof(struct subjects));
		at->forget = at->more ? forget : NULL;
	}
	at->cursor = 1;
	return at->more;
}

static int add(struct subjects *list, const char *name, bool absent)
{
	if (xvt_grow(&list->v, &list->room, list->n + 1, sizeof(*list->v)))
		return -ENOMEM;
	snprintf(list->v[list->n].name, sizeof(list->v[list->n].name), "%s", name);
	list->v[list->n++].absent = absent;
	return 0;
}

static bool has(const struct subjects *list, const char *name)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (xvt_machine_same(list->v[i].name, name))
			return true;
	}
	return false;
}

bool xvt_machine_names_ok(const struct xvt_json_value *machines)
{
	const size_t n = xvt_json_count(machines);
	size_t i;

	for (i = 0; i < n; i++) {
		const char *name = xvt_json_text(xvt_json_at(machines, i));

		if (!name || !*name)
			return false;
	}
	return n > 0;
}

static int is_armed(const char *name, struct xvt_error *why)
{
	return xvt_fail(why, -EINVAL,
			"%s: it is a flight recorder, which is kept armed and not recorded "
			"(flight-recorder)",
			name);
}

static int no_machine(const struct xvt_serve *s, const char *pattern, struct xvt_error *why)
{
	struct xvt_vm *host = xvt_session_find(s->rec->session, pattern);

	if (host && xvt_session_vm_is_host(host))
		return xvt_fail(why, -EINVAL,
				"%s: the host's own events are recorded as long as the recorder "
				"runs",
				pattern);
	if (xvt_armed_has_name(s->armed, pattern))
		return is_armed(pattern, why);
	return xvt_fail(why, -ENOENT,
			"%s: no machine of this recorder has that name (xvtrace status shows them)",
			pattern);
}

/* Carries a request out for the machines of one pattern. Returns 0, or -errno with the reason in
 * `why`. */
typedef int (*pattern_fn)(struct xvt_serve *s, const char *pattern, uid_t uid,
			  struct subjects *list, struct xvt_error *why);

/* Call fn for each pattern of the request, until it fails. */
static int each_pattern(struct xvt_serve *s, const char *line, uid_t uid, struct subjects *list,
			pattern_fn fn, struct xvt_error *why)
{
	struct xvt_json_value *request = xvt_json_parse(line, strlen(line), why);
	const struct xvt_json_value *machines = xvt_json_get(request, "machines");
	int err = request && list ? 0 : xvt_fail(why, -ENOMEM, "%s", strerror(ENOMEM));
	size_t i;

	for (i = 0; !err && i < xvt_json_count(machines); i++)
		err = fn(s, xvt_json_text(xvt_json_at(machines, i)), uid, list, why);
	xvt_json_forget(request);
	return err;
}

/* ------------------------------------------------------------------ stop */

/* List the machines of a pattern that are not stopped. */
static int list_recorded(struct xvt_serve *s, const char *pattern, uid_t uid, struct subjects *list,
			 struct xvt_error *why)
{
	const size_t before = list->n;
	bool any = false, again = false;
	struct xvt_vm *vm;
	size_t at = 0;
	int err = 0;

	(void)uid;
	while (!err && (vm = xvt_session_next_match(s->rec->session, &at, pattern))) {
		any = true;
		if (has(list, xvt_session_vm_name(vm)))
			again = true;
		else if (!xvt_session_vm_is_stopped(vm))
			err = add(list, xvt_session_vm_name(vm), false);
	}
	if (err)
		return xvt_fail(why, err, "%s", strerror(-err));
	if (!any)
		return no_machine(s, pattern, why);
	if (list->n == before && !again)
		return xvt_fail(why, -EALREADY, "%s: it is stopped already", pattern);
	return 0;
}

int xvt_serve_stop(struct xvt_serve *s, const char *line, uid_t uid, struct xvt_server_at *at,
		   struct xvt_error *why)
{
	const bool begins = !at->more;
	struct subjects *list = list_of(at);
	int err = begins ? each_pattern(s, line, uid, list, list_recorded, why) : 0;
	size_t i;

	for (i = 0; begins && !err && i < list->n; i++)
		xvt_session_vm_stop(xvt_session_find(s->rec->session, list->v[i].name), uid);
	for (i = 0; !err && i < list->n; i++) {
		const struct xvt_vm *vm = xvt_session_find(s->rec->session, list->v[i].name);

		err = vm ? xvt_session_vm_stopping(vm) : 0;
	}
	if (err == -ENOSPC)
		xvt_fail(why, err,
			 "recording is switched off; what was recorded before waits for space on "
			 "the disk, and the regions are free after that");
	return err;
}

/* ------------------------------------------------------------------ events */

/* Make the lines that guests are asked from a request. Returns 0 or -errno with `why`. */
static int event_lines(const char *line, char *lines, size_t size, struct xvt_error *why)
{
	struct xvt_json_value *request = xvt_json_parse(line, strlen(line), why);
	const struct xvt_json_value *events = xvt_json_get(request, "events");
	size_t i, used = 0;
	int err = request ? 0 : -EINVAL;

	lines[0] = 0;
	for (i = 0; !err && i < xvt_json_count(events); i++) {
		const char *event = xvt_json_text(xvt_json_at(events, i));
		const int n = snprintf(lines + used, size - used, "+%s%s\n", event,
				       strchr(event, ':') ? "" : ":*");

		if (!xvt_is_event_word(event) || (size_t)n >= size - used)
			err = xvt_fail(why, -EINVAL,
				       "an event is SYSTEM:EVENT or SYSTEM, and all have room for "
				       "%zu bytes",
				       size);
		used += (size_t)n;
	}
	xvt_json_forget(request);
	return err;
}

int xvt_serve_events(struct xvt_serve *s, const char *line, uid_t uid, struct xvt_server_at *at,
		     struct xvt_error *why)
{
	const bool begins = !at->more;
	struct subjects *list = list_of(at);
	char lines[XVT_REQUEST_LEN];
	struct xvt_error reason;
	int err = begins ? event_lines(line, lines, sizeof(lines), why) : 0;
	size_t i;

	if (begins && !err)
		err = each_pattern(s, line, uid, list, list_recorded, why);
	for (i = 0; begins && !err && i < list->n; i++) {
		err = xvt_session_vm_ask(xvt_session_find(s->rec->session, list->v[i].name), lines);
		if (err)
			xvt_fail(why, err, "%s: %s", list->v[i].name, strerror(-err));
	}
	for (i = 0; !err && i < list->n; i++) {
		const struct xvt_vm *vm = xvt_session_find(s->rec->session, list->v[i].name);

		err = vm ? xvt_session_vm_asked(vm, &reason) : -ENODEV;
		if (err && err != -EAGAIN)
			xvt_fail(why, err, "%s: %s", list->v[i].name,
				 vm ? reason.text : "it has gone");
	}
	return err;
}

/* ------------------------------------------------------------------ start */

/* A search for machines that the recorder's own options select. */
struct search {
	struct xvt_serve *s;
	const char *pattern;
	struct subjects *list;
	struct xvt_error *why;
	int err; /* of the first one that was found */
	bool found;
};

static void on_file(void *arg, const struct xvt_candidate *c)
{
	struct search *f = arg;
	struct xvt_session *session = f->s->rec->session;
	struct xvt_error why;
	int err;

	if (f->err || !xvt_machine_matches(f->pattern, c->name) ||
	    xvt_session_has_region(session, c->path) || xvt_armed_has(f->s->armed, c->path))
		return;
	f->found = true;
	if (!c->asked && !xvt_file_has_writer(c->path))
		err = xvt_fail(&why, -ENODEV, "no process has it open for writing");
	else
		err = xvt_machine_add_found(session, f->s->machines->keeper, c, &why);
	if (err > 0)
		return;
	if (err < 0) {
		f->err = xvt_fail(f->why, err, "%s: %s", c->path, why.text);
		return;
	}
	xvt_machine_trust(session, f->s->machines, c->name);
	f->s->joined(f->s->arg, xvt_session_find(session, c->name));
	f->err = add(f->list, c->name, false);
}

static int start_found(struct xvt_serve *s, const char *pattern, struct subjects *list,
		       struct xvt_error *why)
{
	struct search f = { .s = s, .pattern = pattern, .list = list, .why = why };

	if (s->machines->all)
		xvt_regions_scan(UINT64_MAX);
	xvt_machines_each_file(s->machines, on_file, &f);
	return f.err ? f.err : f.found ? 0 : no_machine(s, pattern, why);
}

static int start_again(struct xvt_vm *vm, uid_t uid, struct subjects *list, struct xvt_error *why)
{
	struct xvt_vm *as;
	struct xvt_error reason;
	int err;

	if (xvt_session_vm_stopping(vm))
		return xvt_fail(why, -EBUSY, "%s: it is being stopped; start it when that is done",
				xvt_session_vm_name(vm));
	err = xvt_session_vm_start(vm, uid, &as, &reason);
	if (err)
		return xvt_fail(why, err, "%s: %s; it stays stopped", xvt_session_vm_name(vm),
				reason.text);
	err = add(list, xvt_session_vm_name(as ? as : vm), !as);
	return err ? xvt_fail(why, err, "%s", strerror(-err)) : 0;
}

/* Start the stopped machines of a pattern; or, if no machine matches, those that are found. */
static int start_all(struct xvt_serve *s, const char *pattern, uid_t uid, struct subjects *list,
		     struct xvt_error *why)
{
	const size_t before = list->n;
	bool any = false;
	struct xvt_vm *vm;
	size_t at = 0;
	int err = 0;

	while (!err && (vm = xvt_session_next_match(s->rec->session, &at, pattern))) {
		any = true;
		if (xvt_armed_has(s->armed, xvt_session_vm_path(vm)))
			err = is_armed(xvt_session_vm_first_name(vm), why);
		else if (xvt_session_vm_is_stopped(vm))
			err = start_again(vm, uid, list, why);
	}
	if (err)
		return err;
	if (!any)
		return start_found(s, pattern, list, why);
	if (list->n == before)
		return xvt_fail(why, -EALREADY, "%s: it is not stopped", pattern);
	return 0;
}

int xvt_serve_start(struct xvt_serve *s, const char *line, uid_t uid, struct xvt_server_at *at,
		    struct xvt_error *why)
{
	struct subjects *list = list_of(at);
	const int err = each_pattern(s, line, uid, list, start_all, why);
	size_t i, used;

	for (i = 0; err && list && i < list->n; i++) {
		used = strlen(why->text);
		snprintf(why->text + used, sizeof(why->text) - used, "%s %s",
			 i ? "," : "; started before that:", list->v[i].name);
	}
	return err;
}

static void add_names(const struct subjects *list, bool absent, struct xvt_json *doc,
		      const char *key)
{
	struct xvt_json *to = xvt_json_add_array(doc, key);
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (list->v[i].absent == absent)
			xvt_json_add_text(to, NULL, list->v[i].name);
	}
}

void xvt_serve_machines(const struct xvt_server_at *at, struct xvt_json *doc)
{
	const struct subjects *list = at->more;
	size_t i;

	add_names(list, false, doc, "machines");
	for (i = 0; i < list->n; i++) {
		if (list->v[i].absent) {
			add_names(list, true, doc, "absent");
			return;
		}
	}
}
