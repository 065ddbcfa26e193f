// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_status.c - `xvtrace status`: the state of this host's recorders, from their control sockets.
 * The JSON has the members of an answer unchanged; the table is made from them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "session/control.h"
#include "base/json.h"

#define TIMEOUT_MS  10000
#define NAME_WIDTH  16
#define PHASE_WIDTH 6

struct status_options {
	const char *control;
	bool json;
};

static const struct xvt_opt options[] = {
	XVT_OPT(struct status_options, control, "control", 0, XVT_OPT_STRING, "SOCKET",
		"ask the recorder that listens there (default: all of this user; see "
		"xvtrace-status(1))"),
	XVT_OPT(struct status_options, json, "json", 0, XVT_OPT_BOOL, NULL,
		"as JSON, format xvtrace-status/1"),
	XVT_OPT_END,
};

/*
 * One recorder's answer: a line for the recorder, then the machines, then the end. The first line
 * of a machine has its name and some rings; the following lines have more of its rings.
 */
struct answer {
	struct xvt_json_value **lines;
	size_t n;
	bool ended;
	char why[256];
};

struct answers {
	struct answer *v;
	size_t n;
};

/* Sums over a recorder's rings. */
struct sums {
	uint64_t attempted;
	uint64_t events;
	uint64_t lost;
	uint64_t late;
	uint64_t in_flight;
	uint64_t events_s;
	uint64_t lost_s;
	uint64_t rings;
};

static uint64_t number(const struct xvt_json_value *of, const char *key)
{
	uint64_t v = 0;

	xvt_json_u64(xvt_json_get(of, key), &v);
	return v;
}

static bool is_true(const struct xvt_json_value *of, const char *key)
{
	bool v = false;

	xvt_json_bool(xvt_json_get(of, key), &v);
	return v;
}

static const char *text(const struct xvt_json_value *of, const char *key)
{
	const char *v = xvt_json_text(xvt_json_get(of, key));

	return v ? v : "?";
}

/* The line after those of the machine that begins in line i. */
static size_t vm_end(const struct answer *a, size_t i)
{
	for (i++; i < a->n && !xvt_json_get(a->lines[i], "name"); i++)
		;
	return i;
}

/* ------------------------------------------------------------------ asking */

static int on_line(void *arg, const char *line, size_t len)
{
	struct answer *a = arg;
	struct xvt_json_value **grown, *v = xvt_json_parse(line, len, a->why, sizeof(a->why));
	const char *error = xvt_json_text(xvt_json_get(v, "error"));

	if (!v)
		return -EBADMSG;
	if (error || is_true(v, "end")) {
		a->ended = !error;
		if (error)
			snprintf(a->why, sizeof(a->why), "%s", error);
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

static void forget(struct answer *a)
{
	while (a->n)
		xvt_json_forget(a->lines[--a->n]);
	free(a->lines);
	a->lines = NULL;
}

/* Returns 0, or -errno with the reason in a->why. */
static int ask(struct answer *a, const char *path)
{
	char why[256] = "";
	int err;

	*a = (struct answer){ .n = 0 };
	err = xvt_control_ask(path, "{\"do\":\"status\"}", TIMEOUT_MS, on_line, a, why,
			      sizeof(why));
	if (!a->why[0])
		snprintf(a->why, sizeof(a->why), "%s", why);
	if (!err && (!a->ended || !a->n)) {
		err = a->n ? -EBADMSG : -EPIPE; /* no line: the recorder is ending */
		snprintf(a->why, sizeof(a->why), "it ended in the middle of its answer");
	}
	if (err)
		forget(a);
	return err;
}

static int add(struct answers *all, const struct answer *a)
{
	struct answer *grown = realloc(all->v, (all->n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	all->v = grown;
	all->v[all->n++] = *a;
	return 0;
}

/* Errors that are not reported for a socket in the default folder: a dead recorder's socket
 * refuses, an ending recorder's has gone, and another user's is not accessible. */
static bool not_ours(int err)
{
	return err == -ECONNREFUSED || err == -ENOENT || err == -EPIPE || err == -ECONNRESET ||
	       err == -EACCES || err == -EPERM;
}

/* Replace control characters of a recorder's text, for the terminal. */
static void clean(char *said)
{
	for (; *said; said++) {
		if ((unsigned char)*said < 0x20 || *said == 0x7f)
			*said = '?';
	}
}

static int ask_one(struct answers *all, const char *path, bool must)
{
	struct answer a;
	int err = ask(&a, path);

	if (!err)
		return add(all, &a);
	if (!must && not_ours(err))
		return 0;
	clean(a.why);
	xvt_error(path, "%s%s", a.why,
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
static int ask_all(struct answers *all, const char *dir)
{
	struct dirent **found;
	int n = scandir(dir, &found, is_recorder, by_name), err = 0, i;

	if (n < 0 && errno != ENOENT) {
		err = -errno;
		xvt_error(dir, "%s", strerror(-err));
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

/* ------------------------------------------------------------------ showing */

static struct sums sums_of(const struct answer *a)
{
	struct sums s = { 0 };
	size_t i, k;

	for (i = 1; i < a->n; i++) {
		const struct xvt_json_value *rings = xvt_json_get(a->lines[i], "rings");

		for (k = 0; k < xvt_json_count(rings); k++) {
			const struct xvt_json_value *r = xvt_json_at(rings, k);

			s.attempted += number(r, "attempted");
			s.events += number(r, "events");
			s.lost += number(r, "lost");
			s.late += number(r, "late");
			s.in_flight += number(r, "in_flight");
			s.events_s += number(r, "events_s");
			s.lost_s += number(r, "lost_s");
			s.rings++;
		}
	}
	return s;
}

static void json_vm(struct xvt_json *j, const struct answer *a, size_t first, size_t end)
{
	struct xvt_json *to;
	size_t i, k;

	xvt_json_add_members(j, a->lines[first]);
	to = xvt_json_add_array(j, "rings"); /* replaces the rings of the first line */
	for (i = first; i < end; i++) {
		const struct xvt_json_value *rings = xvt_json_get(a->lines[i], "rings");

		for (k = 0; k < xvt_json_count(rings); k++)
			xvt_json_add_value(to, NULL, xvt_json_at(rings, k));
	}
}

static void json_one(struct xvt_json *j, const struct answer *a)
{
	const struct sums s = sums_of(a);
	struct xvt_json *vms;
	size_t i;

	xvt_json_add_members(j, a->lines[0]);
	xvt_json_add_u64(j, "rings", s.rings);
	xvt_json_add_u64(j, "attempted", s.attempted);
	xvt_json_add_u64(j, "events", s.events);
	xvt_json_add_u64(j, "lost", s.lost);
	xvt_json_add_u64(j, "late", s.late);
	xvt_json_add_u64(j, "in_flight", s.in_flight);
	xvt_json_add_u64(j, "events_s", s.events_s);
	xvt_json_add_u64(j, "lost_s", s.lost_s);
	vms = xvt_json_add_array(j, "vms");
	for (i = 1; i < a->n; i = vm_end(a, i))
		json_vm(xvt_json_add_object(vms, NULL), a, i, vm_end(a, i));
}

static int print_json(const struct answers *all, struct xvt_out *o)
{
	struct xvt_json *doc = xvt_json_new(), *recorders;
	size_t i;

	xvt_json_add_text(doc, "format", "xvtrace-status/1");
	recorders = xvt_json_add_array(doc, "recorders");
	for (i = 0; i < all->n; i++)
		json_one(xvt_json_add_object(recorders, NULL), &all->v[i]);
	return xvt_json_write(doc, o);
}

static void put_text(struct xvt_out *o, const char *t)
{
	xvt_out_text(o, t, strlen(t));
}

/* Write a text, aligned left in a column of `width`. */
static void put_column(struct xvt_out *o, const char *t, size_t width)
{
	size_t len = strlen(t);

	put_text(o, t);
	for (; len < width; len++)
		xvt_out_char(o, ' ');
	xvt_out_char(o, ' ');
}

static void put_pressure(struct xvt_out *o, const struct answer *a)
{
	const struct xvt_json_value *rec = a->lines[0];
	const char *before = "  pressure: ";
	size_t i;

	if (is_true(rec, "disk_full")) {
		xvt_out_printf(o, "%sthe disk is full, nothing is written until there is space",
			       before);
		before = "; ";
	} else if (is_true(rec, "disk_slow")) {
		xvt_out_printf(o, "%sthe disk is slower than the guests, waited for it for ",
			       before);
		xvt_out_duration(o, number(rec, "disk_waited_ns"));
		xvt_out_printf(o, " so far, %" PRIu64 " KiB not written",
			       number(rec, "unwritten_bytes") >> 10);
		before = "; ";
	}
	for (i = 1; i < a->n; i++) {
		if (!is_true(a->lines[i], "memory_full"))
			continue;
		xvt_out_str(o, before);
		put_text(o, text(a->lines[i], "name"));
		xvt_out_printf(o, " has used up what it may have of --memory (%" PRIu64 " KiB)",
			       number(a->lines[i], "memory_limit_bytes") >> 10);
		before = "; ";
	}
	for (i = 1; i < a->n; i++) {
		if (!is_true(a->lines[i], "loose"))
			continue;
		xvt_out_str(o, before);
		xvt_out_str(o, "events of ");
		put_text(o, text(a->lines[i], "name"));
		xvt_out_str(o, " are put in order by what reads the trace");
		before = "; ";
	}
	if (before[0] == ';')
		xvt_out_char(o, '\n');
}

static void put_recorder(struct xvt_out *o, const struct answer *a)
{
	const struct xvt_json_value *rec = a->lines[0];
	const struct sums s = sums_of(a);

	xvt_out_printf(o, "recorder %" PRIu64 " of ", number(rec, "pid"));
	if (text(rec, "output")[0] != '/') {
		put_text(o, text(rec, "cwd"));
		xvt_out_char(o, '/');
	}
	put_text(o, text(rec, "output"));
	xvt_out_str(o, ", since ");
	xvt_out_duration(o, number(rec, "now_ns") - number(rec, "started_ns"));
	xvt_out_str(o, ", mode ");
	put_text(o, text(rec, "mode"));
	xvt_out_printf(o,
		       "%s\n  %" PRIu64 " machines, %" PRIu64 " rings: %" PRIu64 " events, %" PRIu64
		       "/s; lost %" PRIu64 ", %" PRIu64 "/s; late %" PRIu64 "\n  ",
		       is_true(rec, "ending") ? ", ending" : "", number(rec, "machines"), s.rings,
		       s.events, s.events_s, s.lost, s.lost_s, s.late);
	if (number(rec, "watermark_ns")) {
		xvt_out_str(o, "everything is in order up to ");
		xvt_out_duration(o, number(rec, "watermark_lag_ns"));
		xvt_out_str(o, " ago");
	} else if (is_true(rec, "joined")) {
		xvt_out_str(o, "nothing has come yet");
	} else {
		xvt_out_str(o, "waits for machines, nothing is written yet");
	}
	xvt_out_printf(o, "; %" PRIu64 " KiB in the file\n",
		       (number(rec, "bytes") - number(rec, "unwritten_bytes")) >> 10);
	put_pressure(o, a);
}

static void put_ring(struct xvt_out *o, const struct xvt_json_value *vm,
		     const struct xvt_json_value *r)
{
	const struct xvt_json_value *clock = xvt_json_get(r, "clock");
	const uint64_t size = number(r, "size_bytes");
	char cpu[24];

	snprintf(cpu, sizeof(cpu), "%s%" PRIu64, !strcmp(text(r, "kind"), "thread") ? "t" : "",
		 number(r, "cpu"));
	put_column(o, text(vm, "name"), NAME_WIDTH);
	xvt_out_printf(o, "%6s ", cpu);
	put_column(o, text(r, "phase"), PHASE_WIDTH);
	xvt_out_printf(o,
		       "%12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %8" PRIu64 " %6" PRIu64
		       " %4" PRIu64 "%%  ",
		       number(r, "events"), number(r, "events_s"), number(r, "lost"),
		       number(r, "lost_s"), number(r, "late"),
		       size ? number(r, "undrained_bytes") * 100 / size : 0);
	if (!strcmp(text(clock, "source"), "none")) {
		xvt_out_str(o, "no clock");
	} else {
		put_text(o, text(clock, "source"));
		xvt_out_str(o, ", within ");
		xvt_out_duration(o, number(clock, "bound_ns_max"));
	}
	if (number(r, "lag_ns") > 1000000000u) {
		xvt_out_str(o, "; holds the others back, ");
		xvt_out_duration(o, number(r, "lag_ns"));
	}
	xvt_out_char(o, '\n');
}

/* A machine's state to show in a line of its own; NULL: its rings say enough. */
static const char *vm_state(const struct xvt_json_value *vm, size_t shown)
{
	const char *phase = text(vm, "phase");

	if (strcmp(phase, "attached"))
		return phase;
	if (is_true(vm, "stopped"))
		return "stands still";
	return shown ? NULL : "no ring of it has a clock yet";
}

static void put_vm(struct xvt_out *o, const struct answer *a, size_t first, size_t end)
{
	const struct xvt_json_value *vm = a->lines[first];
	const char *why = xvt_json_text(xvt_json_get(vm, "why")), *state;
	size_t i, k, shown = 0;

	for (i = first; i < end; i++) {
		const struct xvt_json_value *rings = xvt_json_get(a->lines[i], "rings");

		for (k = 0; k < xvt_json_count(rings); k++, shown++)
			put_ring(o, vm, xvt_json_at(rings, k));
	}
	state = vm_state(vm, shown);
	if (!state)
		return;
	put_column(o, text(vm, "name"), NAME_WIDTH);
	xvt_out_str(o, "       ");
	put_text(o, state);
	if (why) {
		xvt_out_str(o, ": ");
		put_text(o, why);
	}
	xvt_out_char(o, '\n');
}

static int print_text(const struct answers *all, struct xvt_out *o)
{
	size_t i, k;

	for (i = 0; i < all->n; i++) {
		const struct answer *a = &all->v[i];

		if (i)
			xvt_out_char(o, '\n');
		put_recorder(o, a);
		xvt_out_printf(o, "\n%-16s %6s %-6s %12s %10s %10s %8s %6s %5s  %s\n", "VM", "CPU",
			       "ring", "events", "/s", "lost", "/s", "late", "full", "clock");
		for (k = 1; k < a->n; k = vm_end(a, k))
			put_vm(o, a, k, vm_end(a, k));
	}
	return o->err;
}

/* ------------------------------------------------------------------ the command */

static int show(const struct answers *all, bool json)
{
	static struct xvt_out out;
	int err = xvt_out_open(&out, "-");

	if (!err)
		err = json ? print_json(all, &out) : print_text(all, &out);
	if (xvt_out_close(&out) && !err)
		err = out.err;
	if (err)
		xvt_error("standard output", "%s", strerror(-err));
	return err;
}

static int gather(struct answers *all, const char *control)
{
	char dir[2048];
	int err;

	if (control)
		return ask_one(all, control, true);
	if (!xvt_control_dir(dir, sizeof(dir))) {
		xvt_error("status", "no XDG_RUNTIME_DIR to look in; use --control SOCKET");
		return -ENOENT;
	}
	err = ask_all(all, dir);
	if (err || all->n)
		return err;
	xvt_error("status", "no recorder of yours is at work (looked in %s)", dir);
	return -ENOENT;
}

static int cmd_status(const struct xvt_command *cmd, int argc, char **argv)
{
	struct status_options opt = { 0 };
	struct answers all = { 0 };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL), err;
	size_t i;

	if (first < 0)
		return first == -2 ? XVT_EXIT_OK : XVT_EXIT_USAGE;
	if (first < argc) {
		xvt_error(argv[first], "not an option; a socket is given as --control SOCKET");
		return XVT_EXIT_USAGE;
	}
	err = gather(&all, opt.control);
	if (all.n && show(&all, opt.json))
		err = -EIO;
	for (i = 0; i < all.n; i++)
		forget(&all.v[i]);
	free(all.v);
	return err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

const struct xvt_command xvt_cmd_status = {
	.name = "status",
	.args = "[--json]",
	.brief = "what the recorders at work do: machines, rings, rates, losses, clocks",
	.opts = options,
	.run = cmd_status,
};
