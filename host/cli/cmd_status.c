// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_status.c - `xvtrace status`: the state of this host's recorders, from their control sockets.
 * The JSON has the members of an answer unchanged; the table is made from them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/time.h"
#include "cli/cmd.h"
#include "cli/pager.h"
#include "control/answers.h"
#include "control/metrics.h"
#include "rights/isolate.h"

#define NAME_WIDTH  16
#define PHASE_WIDTH 6
#define WAY_WIDTH   7
#define STATE_LEN   128

struct status_options {
	const char *control;
	bool json;
	bool metrics;
};

static const struct xvt_opt options[] = {
	XVT_OPT(struct status_options, control, "control", 0, XVT_OPT_STRING, "SOCKET",
		"ask the recorder that listens there (default: all of this user; see "
		"xvtrace-status(1))"),
	XVT_OPT(struct status_options, json, "json", 0, XVT_OPT_BOOL, NULL,
		"as JSON, format xvtrace-status/1"),
	XVT_OPT(struct status_options, metrics, "metrics", 0, XVT_OPT_BOOL, NULL,
		"as metrics for Prometheus; see xvtrace-status(1)"),
	XVT_OPT_END,
};

/* ------------------------------------------------------------------ showing */

static void json_vm(struct xvt_json *j, const struct xvt_answer *a, size_t first, size_t end)
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

static void json_one(struct xvt_json *j, const struct xvt_answer *a)
{
	const struct xvt_answer_sums s = xvt_answer_sum(a, 1, a->n);
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
	for (i = 1; i < a->n; i = xvt_answer_vm_end(a, i))
		json_vm(xvt_json_add_object(vms, NULL), a, i, xvt_answer_vm_end(a, i));
}

static int print_json(const struct xvt_answers *all, struct xvt_out *o)
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

static void put_pressure(struct xvt_out *o, const struct xvt_answer *a)
{
	const struct xvt_json_value *rec = a->lines[0];
	const char *before = "  pressure: ";
	size_t i;

	if (xvt_answer_true(rec, "disk_full")) {
		xvt_out_printf(o, "%sthe disk is full, nothing is written until there is space",
			       before);
		before = "; ";
	} else if (xvt_answer_true(rec, "disk_slow")) {
		xvt_out_printf(o, "%sthe disk is slower than the guests, waited for it for ",
			       before);
		xvt_out_duration(o, xvt_answer_number(rec, "disk_waited_ns"));
		xvt_out_printf(o, " so far, %" PRIu64 " KiB not written",
			       xvt_answer_number(rec, "unwritten_bytes") >> 10);
		before = "; ";
	}
	for (i = 1; i < a->n; i++) {
		if (!xvt_answer_true(a->lines[i], "memory_full"))
			continue;
		xvt_out_str(o, before);
		put_text(o, xvt_answer_text(a->lines[i], "name"));
		xvt_out_printf(o, " has used up what it may have of --memory (%" PRIu64 " KiB)",
			       xvt_answer_number(a->lines[i], "memory_limit_bytes") >> 10);
		before = "; ";
	}
	for (i = 1; i < a->n; i++) {
		if (!xvt_answer_true(a->lines[i], "loose"))
			continue;
		xvt_out_str(o, before);
		xvt_out_str(o, "events of ");
		put_text(o, xvt_answer_text(a->lines[i], "name"));
		xvt_out_str(o, " are put in order by what reads the trace");
		before = "; ";
	}
	if (before[0] == ';')
		xvt_out_char(o, '\n');
}

/* The walls that a recorder lacks. */
static void put_walls(struct xvt_out *o, const struct xvt_json_value *rec)
{
	char keeps[XVT_WALLS_TEXT];
	unsigned int lacks = 0;
	size_t i;

	for (i = 0; i < XVT_WALLS; i++)
		lacks |= xvt_answer_true(rec, xvt_walls[i].field) ? xvt_walls[i].lack : 0;
	if (lacks)
		xvt_out_printf(o, "  it keeps %s (docs/security.md)\n",
			       xvt_walls_keeps(lacks, keeps));
}

/* Files of other users in the folder of regions. */
static void put_left_out(struct xvt_out *o, const struct xvt_json_value *rec)
{
	const struct xvt_json_value *users = xvt_json_get(rec, "left_out_of");
	size_t i;

	for (i = 0; i < xvt_json_count(users); i++) {
		const struct xvt_json_value *user = xvt_json_at(users, i);

		xvt_out_printf(o, "%s%" PRIu64 " files of uid %" PRIu64,
			       i ? ", " : "  not recorded: ", xvt_answer_number(user, "files"),
			       xvt_answer_number(user, "uid"));
	}
	if (i)
		xvt_out_char(o, '\n');
}

static void put_recorder(struct xvt_out *o, const struct xvt_answer *a)
{
	const struct xvt_json_value *rec = a->lines[0];
	const struct xvt_answer_sums s = xvt_answer_sum(a, 1, a->n);
	const bool host = xvt_answer_has_host(a);

	xvt_answer_recorder(rec, o);
	xvt_out_printf(o,
		       "\n  %" PRIu64 " machines%s, %" PRIu64 " rings: %" PRIu64 " events, %" PRIu64
		       "/s; lost %" PRIu64 ", %" PRIu64 "/s; late %" PRIu64 "\n  ",
		       xvt_answer_number(rec, "machines") - host, host ? " and the host" : "",
		       s.rings, s.events, s.events_s, s.lost, s.lost_s, s.late);
	if (xvt_answer_number(rec, "watermark_ns")) {
		xvt_out_str(o, "everything is in order up to ");
		xvt_out_duration(o, xvt_answer_number(rec, "watermark_lag_ns"));
		xvt_out_str(o, " ago");
	} else if (xvt_answer_true(rec, "joined")) {
		xvt_out_str(o, "nothing has come yet");
	} else {
		xvt_out_str(o, "waits for machines, nothing is written yet");
	}
	xvt_out_printf(
		o, "; %" PRIu64 " KiB in the file\n",
		(xvt_answer_number(rec, "bytes") - xvt_answer_number(rec, "unwritten_bytes")) >>
			10);
	put_pressure(o, a);
	put_left_out(o, rec);
	if (xvt_answer_true(rec, "no_sandbox"))
		xvt_out_str(o, "  it has no sandbox, since there is no libseccomp\n");
	put_walls(o, rec);
	if (xvt_json_text(xvt_json_get(rec, "no_libvirt"))) {
		xvt_out_str(o, "  no domains of libvirt are recorded: ");
		put_text(o, xvt_answer_text(rec, "no_libvirt"));
		xvt_out_char(o, '\n');
	}
}

/* A bound or a time in a column of this width, at its right. */
static void put_time(struct xvt_out *o, size_t width, uint64_t ns, bool bound)
{
	static struct xvt_out made;

	made.fd = -1;
	made.used = 0;
	if (bound)
		xvt_out_bound(&made, ns, " ");
	else
		xvt_out_duration(&made, ns);
	for (size_t n = made.used; n < width; n++)
		xvt_out_char(o, ' ');
	xvt_out_bytes(o, made.buf, made.used);
}

static bool colour; /* standard output takes it */

static void put_colour(struct xvt_out *o, const char *code)
{
	if (colour)
		xvt_out_printf(o, "\x1b[%sm", code);
}

/* A state that needs attention is yellow, a final one is red. */
static void put_phase(struct xvt_out *o, const char *phase)
{
	const bool over = !strcmp(phase, "broken") || !strcmp(phase, "gone") ||
			  !strcmp(phase, "ended") || !strcmp(phase, "moved");

	put_colour(o, !strcmp(phase, "live") ? "32" : over ? "1;31" : "1;33");
	put_column(o, phase, PHASE_WIDTH);
	put_colour(o, "0");
}

static void put_loss(struct xvt_out *o, int width, uint64_t n)
{
	if (n)
		put_colour(o, "1;31");
	xvt_out_printf(o, " %*" PRIu64, width, n);
	if (n)
		put_colour(o, "0");
}

static void put_ring(struct xvt_out *o, const struct xvt_json_value *vm,
		     const struct xvt_json_value *r)
{
	const struct xvt_json_value *clock = xvt_json_get(r, "clock");
	const char *source = xvt_answer_text(clock, "source");
	const uint64_t bound_ns = xvt_answer_number(clock, "bound_ns_max");
	const bool bounded = strcmp(source, "none") && bound_ns < INT64_MAX;
	char cpu[24];

	snprintf(cpu, sizeof(cpu), "%s%" PRIu64,
		 !strcmp(xvt_answer_text(r, "kind"), "thread") ? "t" : "",
		 xvt_answer_number(r, "cpu"));
	put_column(o, xvt_answer_text(vm, "name"), NAME_WIDTH);
	xvt_out_printf(o, "%5s ", cpu);
	put_phase(o, xvt_answer_text(r, "phase"));
	xvt_out_printf(o, "%9" PRIu64, xvt_answer_number(r, "events_s"));
	put_loss(o, 7, xvt_answer_number(r, "lost_s"));
	put_time(o, 9, xvt_answer_number(r, "lag_ns"), false);
	if (bounded)
		put_time(o, 9, bound_ns, true);
	else
		xvt_out_str(o, "        -");
	xvt_out_printf(o, " %12" PRIu64, xvt_answer_number(r, "events"));
	put_loss(o, 10, xvt_answer_number(r, "lost"));
	xvt_out_printf(o, " %6" PRIu64 " %4" PRIu64 "%%  ", xvt_answer_number(r, "late"),
		       xvt_answer_full(r));
	put_column(o, xvt_answer_text(vm, "way"), WAY_WIDTH);
	if (!strcmp(source, "none"))
		xvt_out_str(o, "no clock");
	else
		put_text(o, source);
	if (xvt_answer_number(r, "lag_ns") > SECOND_NS) {
		xvt_out_str(o, "; holds the others back, ");
		xvt_out_duration(o, xvt_answer_number(r, "lag_ns"));
	}
	xvt_out_char(o, '\n');
}

/* A machine's state to show in a line of its own; NULL: its rings say enough. */
static const char *vm_state(const struct xvt_json_value *vm, size_t shown, char text[STATE_LEN])
{
	const char *waits = xvt_json_text(xvt_json_get(vm, "waits_text"));
	const char *phase = xvt_answer_text(vm, "phase");

	if (strcmp(phase, "attached") && strcmp(phase, "waiting"))
		return phase;
	if (waits) {
		snprintf(text, STATE_LEN, "waits for it: %s", waits);
		return text;
	}
	if (strcmp(phase, "attached"))
		return phase;
	if (xvt_answer_true(vm, "stopped"))
		return "stands still";
	return shown ? NULL : "no ring of it has a clock yet";
}

static void put_vm_line(struct xvt_out *o, const struct xvt_json_value *vm, const char *state,
			const char *why)
{
	put_column(o, xvt_answer_text(vm, "name"), NAME_WIDTH);
	xvt_out_str(o, "      ");
	put_colour(o, "1;33");
	put_text(o, state);
	put_colour(o, "0");
	if (why) {
		xvt_out_str(o, ": ");
		put_text(o, why);
	}
	xvt_out_char(o, '\n');
}

static void put_vm(struct xvt_out *o, const struct xvt_answer *a, size_t first, size_t end)
{
	const struct xvt_json_value *vm = a->lines[first];
	const char *why = xvt_json_text(xvt_json_get(vm, "why")), *state;
	char text[STATE_LEN];
	size_t i, k, shown = 0;

	for (i = first; i < end; i++) {
		const struct xvt_json_value *rings = xvt_json_get(a->lines[i], "rings");

		for (k = 0; k < xvt_json_count(rings); k++, shown++)
			put_ring(o, vm, xvt_json_at(rings, k));
	}
	state = vm_state(vm, shown, text);
	if (state)
		put_vm_line(o, vm, state, why);
	if (xvt_answer_true(vm, "refused_other"))
		put_vm_line(o, vm, "another machine has its memory, and was refused", NULL);
}

static void put_flight_recorders(struct xvt_out *o, const struct xvt_json_value *rec)
{
	const struct xvt_json_value *list = xvt_json_get(rec, "flight_recorders");
	size_t i;

	for (i = 0; i < xvt_json_count(list); i++) {
		put_column(o, xvt_answer_text(xvt_json_at(list, i), "name"), NAME_WIDTH);
		xvt_out_str(o, "      ");
		xvt_answer_flight_recorder(xvt_json_at(list, i), o);
		xvt_out_char(o, '\n');
	}
}

static int print_text(const struct xvt_answers *all, struct xvt_out *o)
{
	size_t i, k;

	for (i = 0; i < all->n; i++) {
		const struct xvt_answer *a = &all->v[i];

		if (i)
			xvt_out_char(o, '\n');
		put_recorder(o, a);
		xvt_out_printf(o, "\n%-16s %5s %-6s %9s %7s %8s %8s %12s %10s %6s %5s  %-7s %s\n",
			       "MACHINE", "CPU", "STATE", "EVENTS/S", "LOST/S", "LAG", "CLOCK",
			       "EVENTS", "LOST", "LATE", "FULL", "WAY", "SOURCE");
		for (k = 1; k < a->n; k = xvt_answer_vm_end(a, k))
			put_vm(o, a, k, xvt_answer_vm_end(a, k));
		put_flight_recorders(o, a->lines[0]);
	}
	return o->err;
}

/* ------------------------------------------------------------------ the command */

static int show(const struct xvt_answers *all, const struct status_options *opt)
{
	static struct xvt_out out;
	int err = xvt_out_open(&out, "-");

	if (!err)
		err = opt->metrics ? xvt_metrics_write(all, &out)
		      : opt->json  ? print_json(all, &out)
				   : print_text(all, &out);
	if (xvt_out_close(&out) && !err)
		err = out.err;
	if (err)
		xvt_error("standard output", "%s", strerror(-err));
	return err;
}

static int cmd_status(const struct xvt_command *cmd, int argc, char **argv)
{
	struct status_options opt = { 0 };
	struct xvt_answers all = { 0 };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL), err;

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (first < argc) {
		xvt_error(argv[first], "not an option; a socket is given as --control SOCKET");
		return XVT_EXIT_USAGE;
	}
	if (opt.json && opt.metrics) {
		xvt_error("status", "give --json or --metrics, not both");
		return XVT_EXIT_USAGE;
	}
	colour = xvt_pager_colour();
	err = xvt_answers_gather(&all, opt.control);
	if (all.n && show(&all, &opt))
		err = -EIO;
	xvt_answers_forget(&all);
	return err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

const struct xvt_command xvt_cmd_status = {
	.name = "status",
	.args = "[--json|--metrics]",
	.brief = "what the recorders at work do: machines, rings, rates, losses, clocks",
	.opts = options,
	.run = cmd_status,
};
