// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_guests.c - `xvtrace guests`: the machines of this host, and what can be recorded of each: the
 * running domains of libvirt, and the regions of other machines. With --events also their events.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/region.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/guest_events.h"
#include "control/answers.h"
#include "record/bell_server.h"
#include "record/find.h"
#include "rights/rules.h"
#include "vmm/libvirt.h"

#define NAME_WIDTH     20
#define WAY_WIDTH      8
#define RECORDER_WIDTH 13 /* a pid, and "armed" */

struct guests_options {
	const char *libvirt_uri;
	bool json;
	bool events;
};

static const struct xvt_opt options[] = {
	XVT_OPT(struct guests_options, libvirt_uri, "connect", 'c', XVT_OPT_STRING, "URI",
		"libvirt to ask (default: its own)"),
	XVT_OPT(struct guests_options, json, "json", 0, XVT_OPT_BOOL, NULL,
		"as JSON, format xvtrace-guests/1"),
	XVT_OPT(struct guests_options, events, "events", 0, XVT_OPT_BOOL, NULL,
		"the events of each machine, or of NAME, as far as its region names them"),
	XVT_OPT_END,
};

struct guest {
	struct xvt_domain domain; /* of a machine that is none: name and region only */
	bool is_domain;
	struct xvt_region_look look;	   /* of a machine with a region */
	char server[XVT_BELL_SERVER_PATH]; /* socket of its doorbell's server; "": it is polled */
	uint64_t armed_by;		   /* pid of the recorder that keeps it armed; 0: none */
	uint64_t ftrace_by; /* that of the recorder that reads its kernel's ring; 0: none */
	char *ring_file;    /* with ftrace_by: what has that ring */
	char *names_of; /* with ftrace_by: the kernel whose formats name its events; NULL: none */
	/* with --events, of a formatted region: */
	struct xvt_guest_events events;
	int events_err; /* of reading them */
};

struct guests {
	struct guest *v;
	size_t n, room;
	int err; /* -ENOMEM */
};

static struct guest *new_guest(struct guests *all)
{
	all->err = all->err ? all->err : xvt_grow(&all->v, &all->room, all->n + 1, sizeof(*all->v));
	if (all->err)
		return NULL;
	memset(&all->v[all->n], 0, sizeof(*all->v));
	return &all->v[all->n++];
}

static void look_at(struct guest *g)
{
	const struct xvt_domain *d = &g->domain;

	xvt_region_look(d->region, &g->look);
	if (!xvt_bell_server_find(d->server, d->region, g->is_domain, g->server))
		g->server[0] = 0;
}

static void on_domain(void *arg, const struct xvt_domain *domain)
{
	struct guest *g = new_guest(arg);

	if (!g)
		return;
	g->domain = *domain;
	g->is_domain = true;
	if (domain->region[0])
		look_at(g);
}

static void on_region(void *arg, const char *path)
{
	struct guests *all = arg;
	struct guest *g;
	size_t i;

	for (i = 0; i < all->n; i++) {
		if (all->v[i].domain.region[0] && xvt_same_file(all->v[i].domain.region, path))
			return; /* a domain's */
	}
	g = new_guest(all);
	if (!g)
		return;
	xvt_region_machine(path, g->domain.name);
	snprintf(g->domain.region, sizeof(g->domain.region), "%s", path);
	look_at(g);
}

/* ------------------------------------------------------------------ what recorders know of them */

/* of: one of the "flight_recorders" of the recorder `rec`, whose paths may begin in its folder. */
static void add_armed(struct guests *all, const struct xvt_json_value *rec,
		      const struct xvt_json_value *of)
{
	char path[PATH_MAX];
	size_t i;

	if (!xvt_answer_number(of, "armed") ||
	    xvt_path_join(xvt_answer_text(rec, "cwd"), xvt_answer_text(of, "region"), path))
		return;
	for (i = 0; i < all->n; i++) {
		struct guest *g = &all->v[i];

		if (g->domain.region[0] && !g->look.recorder &&
		    xvt_same_file(g->domain.region, path))
			g->armed_by = xvt_answer_number(rec, "pid");
	}
}

static struct guest *without_region(struct guests *all, const char *name)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		if (!all->v[i].domain.region[0] && !strcmp(all->v[i].domain.name, name))
			return &all->v[i];
	}
	return NULL;
}

/* A machine of the recorder `rec`: one of which the ring of its kernel is read has no region, and
 * no recorder can be found by its file. */
static void add_ftrace(struct guests *all, const struct xvt_json_value *rec,
		       const struct xvt_json_value *of)
{
	const char *name = xvt_answer_text(of, "name"),
		   *names = xvt_json_text(xvt_json_get(of, "names_of")); /* or NULL */
	char path[PATH_MAX];
	struct guest *g;

	if (strcmp(xvt_answer_text(of, "way"), "ftrace") != 0 ||
	    !strcmp(xvt_answer_text(of, "phase"), "gone") ||
	    xvt_path_join(xvt_answer_text(rec, "cwd"), xvt_answer_text(of, "region"), path))
		return;
	g = without_region(all, name);
	if (!g)
		g = new_guest(all);
	if (!g)
		return;
	snprintf(g->domain.name, sizeof(g->domain.name), "%s", name);
	free(g->ring_file);
	free(g->names_of);
	g->ring_file = strdup(path);
	g->names_of = names ? strdup(names) : NULL;
	if (!g->ring_file || (names && !g->names_of))
		all->err = -ENOMEM;
	g->ftrace_by = xvt_answer_number(rec, "pid");
}

/* A region that is kept armed is not locked, nor is the file of a kernel's ring: only the recorders
 * know of them. */
static void ask_recorders(struct guests *all)
{
	struct xvt_answers answers = { .quiet = true };
	size_t i, k;

	xvt_answers_gather(&answers, NULL);
	for (i = 0; i < answers.n; i++) {
		const struct xvt_answer *a = &answers.v[i];
		const struct xvt_json_value *rec = a->lines[0];
		const struct xvt_json_value *list = xvt_json_get(rec, "flight_recorders");

		for (k = 0; k < xvt_json_count(list); k++)
			add_armed(all, rec, xvt_json_at(list, k));
		for (k = 1; k < a->n; k = xvt_answer_vm_end(a, k))
			add_ftrace(all, rec, a->lines[k]);
	}
	xvt_answers_forget(&answers);
}

/* ------------------------------------------------------------------ what is shown */

/* The program that has formatted the region: "linux" is the kernel module; "none": none. */
static const char *module_of(const struct guest *g)
{
	if (!g->domain.region[0])
		return "-";
	if (g->look.err)
		return g->look.err == -EAGAIN ? "none" : "?";
	return xvt_region_kind_text(g->look.kind);
}

/* The word for what writes its events; NULL: nothing does, or that is not known. */
static const char *way_of(const struct guest *g)
{
	if (g->ftrace_by)
		return "ftrace";
	if (!g->domain.region[0] || g->look.err)
		return NULL;
	return g->look.relayed ? "relay" : xvt_host_region_way(g->look.kind);
}

/* Why the machine cannot be recorded now, and what to do; NULL: it can. */
static const char *problem_of(const struct guest *g)
{
	if (g->ftrace_by)
		return NULL;
	if (!g->domain.region[0])
		return "no region: `xvtrace attach` gives it one";
	if (g->look.err && g->look.err != -EAGAIN)
		return g->look.why.text;
	if (!g->look.has_writer)
		return "no machine has it open; `xvtrace salvage` reads what was left in it";
	if (g->look.err == -EAGAIN)
		return "no guest has formatted the region: load the module in the guest";
	return NULL;
}

/* May the host choose the guest's events? Returns one of the texts, or `none`: nothing says so. */
static const char *consent_text(const struct guest *g, const char *yes, const char *no,
				const char *none)
{
	if (!g->domain.region[0] || g->look.err || g->look.kind != XVT_KIND_LINUX)
		return none;
	if (g->look.host_events == XVT_HOST_EVENTS_ALLOWED)
		return yes;
	return g->look.host_events == XVT_HOST_EVENTS_REFUSED ? no : none;
}

static void put_padded(struct xvt_out *o, const char *text, size_t width)
{
	char clean[6 * XVT_NAME_LEN + 1];
	const size_t len = strlen(text) < XVT_NAME_LEN ? strlen(text) : XVT_NAME_LEN;

	xvt_text_clean(clean, sizeof(clean), text, len);
	xvt_out_printf(o, "%-*s ", (int)width, clean);
}

static void put_path(struct xvt_out *o, const char *path, const char *none)
{
	if (path[0])
		xvt_out_text(o, path, strlen(path));
	else
		xvt_out_str(o, none);
}

static void put_recorder(struct xvt_out *o, const struct guest *g)
{
	char text[32] = "-";

	if (g->look.recorder)
		snprintf(text, sizeof(text), "%d", (int)g->look.recorder);
	else if (g->ftrace_by)
		snprintf(text, sizeof(text), "%" PRIu64, g->ftrace_by);
	else if (g->armed_by)
		snprintf(text, sizeof(text), "%" PRIu64 " armed", g->armed_by);
	xvt_out_printf(o, "%*s  ", RECORDER_WIDTH, text);
}

static void put_guest(struct xvt_out *o, const struct guest *g)
{
	const char *problem = problem_of(g);

	put_padded(o, g->domain.name, NAME_WIDTH);
	put_padded(o, g->is_domain ? "domain" : "-", 6);
	put_padded(o, way_of(g) ? way_of(g) : module_of(g), WAY_WIDTH);
	if (g->domain.region[0] && !g->look.err)
		xvt_out_printf(o, "%5u %5" PRIu64 "K %-7s ", g->look.rings,
			       g->look.ring_bytes / 1024, xvt_clock_id_text(g->look.clock_id));
	else
		xvt_out_printf(o, "%5s %6s %-7s ", "-", "-", "-");
	xvt_out_printf(o, "%-6s ", consent_text(g, "yes", "no", "-"));
	put_recorder(o, g);
	put_path(o, g->ring_file ? g->ring_file : g->domain.region, "-");
	xvt_out_str(o, "  ");
	put_path(o, g->server, g->domain.region[0] ? "polled" : "-");
	if (problem) {
		xvt_out_str(o, "\n  ");
		xvt_out_text(o, problem, strlen(problem));
	}
	if (g->look.refused_other)
		xvt_out_str(o, "\n  another machine has this memory, and was refused: give each a "
			       "memory of its own (a cloned domain has the <shmem> of its origin)");
	xvt_out_char(o, '\n');
}

static void put_no_libvirt(struct xvt_out *o, const char *no_libvirt)
{
	if (no_libvirt) {
		xvt_out_str(o, "libvirt's domains are not listed: ");
		xvt_out_text(o, no_libvirt, strlen(no_libvirt));
		xvt_out_char(o, '\n');
	}
}

static void put_table(struct xvt_out *o, const struct guests *all, const char *no_libvirt)
{
	size_t i;

	if (all->n)
		xvt_out_printf(o, "%-*s %-6s %-*s %5s %6s %-7s %-6s %*s  %s\n", NAME_WIDTH,
			       "MACHINE", "KIND", WAY_WIDTH, "WAY", "RINGS", "OF", "CLOCK",
			       "EVENTS", RECORDER_WIDTH, "RECORDER", "REGION  DOORBELL");
	else
		xvt_out_str(o, "no running domain, and no region\n");
	for (i = 0; i < all->n; i++)
		put_guest(o, &all->v[i]);
	put_no_libvirt(o, no_libvirt);
}

/* ------------------------------------------------------------------ events */

static bool has_events(const struct guest *g)
{
	return g->domain.region[0] && !g->look.err;
}

/* Leave the machine `name` alone. Returns 0, or -ENOENT: there is none. */
static int keep_named(struct guests *all, const char *name)
{
	size_t i, kept = 0;

	for (i = 0; i < all->n; i++) {
		if (!strcmp(all->v[i].domain.name, name))
			all->v[kept++] = all->v[i];
		else
			free(all->v[i].ring_file);
		free(all->v[i].names_of);
	}
	all->n = kept;
	return kept ? 0 : -ENOENT;
}

static void read_events(struct guests *all)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		struct guest *g = &all->v[i];

		if (has_events(g))
			g->events_err = xvt_guest_events_read(g->domain.region, &g->events);
	}
}

static void put_clean(struct xvt_out *o, const char *text)
{
	char clean[6 * sizeof(((struct xvt_guest_events *)0)->kernel)];

	xvt_text_clean(clean, sizeof(clean), text, strlen(text));
	xvt_out_str(o, clean);
}

/* Facts that the region lacks, and how to get them. */
static void put_unknown(struct xvt_out *o, const struct guest *g)
{
	if (g->events_err)
		xvt_out_printf(o, "  not all: its metadata cannot be read: %s\n",
			       strerror(-g->events_err));
	if (g->events.left_out)
		xvt_out_printf(o, "  left out: %" PRIu64 " that have no name, or are too many\n",
			       g->events.left_out);
	if (g->look.kind != XVT_KIND_LINUX) {
		xvt_out_str(o,
			    g->look.kind == XVT_KIND_BLANK
				    ? "  no guest has used the region yet\n"
				    : "  its writer is no kernel: it chooses its events itself\n");
		return;
	}
	xvt_out_str(
		o,
		consent_text(g, "  its owner allows the host to choose events: xvtrace record -e\n",
			     "  its owner does not allow the host to choose events: "
			     "host_events=yes in its /etc/xvtrace/guest.conf\n",
			     "  not known: whether the host may choose events\n"));
	xvt_out_str(o, "  not known: events that were not recorded since its module was loaded; "
		       "`xvt-guest formats --all` in the guest names all\n"
		       "  not known: which are on now; the guest has them in "
		       "/sys/kernel/tracing/set_event, and in instances/xvtrace/set_event\n"
		       "  not known: its module's probes, by default sched:sched_switch, "
		       "sched:sched_waking, irq:irq_handler_entry and irq:irq_handler_exit; "
		       "`xvt-guest status` in the guest\n");
}

static void put_events(struct xvt_out *o, const struct guest *g)
{
	const struct xvt_guest_events *e = &g->events;
	size_t i;

	put_clean(o, g->domain.name);
	if (g->names_of) {
		xvt_out_str(o, ": recorded by its kernel's own ring; its events have the names of "
			       "kernel ");
		put_clean(o, g->names_of);
		xvt_out_char(o, '\n');
		return;
	}
	if (!has_events(g)) {
		const char *problem = problem_of(g);

		xvt_out_str(o, ": its events are not known: ");
		put_clean(o, g->ftrace_by ? "the ring of its kernel has no formats, and it is not "
					    "known which kernel it is; see xvtrace-formats(1)"
			     : problem	  ? problem
					  : "?");
		xvt_out_char(o, '\n');
		return;
	}
	xvt_out_printf(o, ": %zu events have a format in its region", e->n);
	if (e->kernel[0]) {
		xvt_out_str(o, "; ");
		put_clean(o, e->kernel);
	}
	xvt_out_char(o, '\n');
	for (i = 0; i < e->n; i++) {
		xvt_out_str(o, "  ");
		put_clean(o, e->v[i].system);
		xvt_out_char(o, ':');
		put_clean(o, e->v[i].event);
		xvt_out_char(o, '\n');
	}
	put_unknown(o, g);
}

static void put_all_events(struct xvt_out *o, const struct guests *all, const char *no_libvirt)
{
	size_t i;

	if (!all->n)
		xvt_out_str(o, "no running domain, and no region\n");
	for (i = 0; i < all->n; i++)
		put_events(o, &all->v[i]);
	put_no_libvirt(o, no_libvirt);
}

/* null where nothing is known. */
static void add_events(struct xvt_json *to, const struct guest *g)
{
	const struct xvt_guest_events *e = &g->events;
	char name[2 * XVT_EVENT_NAME_LEN];
	struct xvt_json *list;
	size_t i;

	if (!has_events(g) || g->events_err) {
		xvt_json_add_null(to, "events");
		return;
	}
	xvt_json_add_text(to, "kernel", e->kernel);
	list = xvt_json_add_array(to, "events");
	for (i = 0; i < e->n; i++) {
		snprintf(name, sizeof(name), "%s:%s", e->v[i].system, e->v[i].event);
		xvt_json_add_text(list, NULL, name);
	}
}

/* ------------------------------------------------------------------ as JSON */

static void add_guest(struct xvt_json *to, const struct guest *g, bool events)
{
	const struct xvt_region_look *look = &g->look;
	const char *consent = consent_text(g, "allowed", "refused", NULL);
	const char *problem = problem_of(g);
	char uuid[XVT_UUID_TEXT];

	xvt_json_add_text(to, "name", g->domain.name);
	xvt_json_add_bool(to, "domain", g->is_domain);
	if (g->is_domain) {
		xvt_uuid_text(g->domain.uuid, uuid);
		xvt_json_add_text(to, "uuid", uuid);
	}
	if (g->domain.region[0]) {
		xvt_json_add_text(to, "region", g->domain.region);
		xvt_json_add_u64(to, "size", look->size);
		xvt_json_add_text(to, "module", module_of(g));
		if (look->has_writer < 0)
			xvt_json_add_null(to, "in_use");
		else
			xvt_json_add_bool(to, "in_use", look->has_writer);
	} else {
		xvt_json_add_null(to, "region");
	}
	if (g->server[0])
		xvt_json_add_text(to, "doorbell", g->server);
	else
		xvt_json_add_null(to, "doorbell");
	if (g->domain.region[0] && !look->err) {
		xvt_json_add_u64(to, "rings", look->rings);
		xvt_json_add_u64(to, "ring_bytes", look->ring_bytes);
		xvt_json_add_text(to, "clock", xvt_clock_id_text(look->clock_id));
		xvt_json_add_u64(to, "clock_hz", look->clock_hz);
		xvt_json_add_bool(to, "refused_other", look->refused_other);
	}
	if (way_of(g))
		xvt_json_add_text(to, "way", way_of(g));
	else
		xvt_json_add_null(to, "way");
	if (g->ring_file)
		xvt_json_add_text(to, "ring_file", g->ring_file);
	if (g->ring_file && g->names_of)
		xvt_json_add_text(to, "names_of", g->names_of);
	else if (g->ring_file)
		xvt_json_add_null(to, "names_of");
	if (consent)
		xvt_json_add_text(to, "host_events", consent);
	else
		xvt_json_add_null(to, "host_events");
	if (look->recorder || g->ftrace_by)
		xvt_json_add_u64(to, "recorder",
				 look->recorder ? (uint64_t)look->recorder : g->ftrace_by);
	else
		xvt_json_add_null(to, "recorder");
	if (g->armed_by)
		xvt_json_add_u64(to, "armed_by", g->armed_by);
	else
		xvt_json_add_null(to, "armed_by");
	if (problem)
		xvt_json_add_text(to, "problem", problem);
	else
		xvt_json_add_null(to, "problem");
	if (events)
		add_events(to, g);
}

static void put_json(struct xvt_out *o, const struct guests *all, bool events,
		     const char *no_libvirt)
{
	struct xvt_json *doc = xvt_json_new(), *machines;
	size_t i;

	xvt_json_add_text(doc, "format", "xvtrace-guests/1");
	if (no_libvirt)
		xvt_json_add_text(doc, "libvirt_problem", no_libvirt);
	else
		xvt_json_add_null(doc, "libvirt_problem");
	machines = xvt_json_add_array(doc, "machines");
	for (i = 0; i < all->n; i++)
		add_guest(xvt_json_add_object(machines, NULL), &all->v[i], events);
	xvt_json_write(doc, o);
}

static int show(const struct guests *all, const struct guests_options *opt, const char *no_libvirt)
{
	struct xvt_out out;
	int err = all->err ? all->err : xvt_out_open(&out, "-");

	if (!err) {
		if (opt->json)
			put_json(&out, all, opt->events, no_libvirt);
		else if (opt->events)
			put_all_events(&out, all, no_libvirt);
		else
			put_table(&out, all, no_libvirt);
		err = xvt_out_close(&out);
	}
	if (!err)
		return XVT_EXIT_OK;
	xvt_error("guests", "%s", strerror(-err));
	return XVT_EXIT_FAIL;
}

/* With --events: a machine that is named has events that are known, or that is a failure. */
static int show_events(struct guests *all, const struct guests_options *opt, const char *name,
		       const char *no_libvirt)
{
	size_t i;
	int status;

	if (name && keep_named(all, name)) {
		xvt_error(name,
			  "no running domain and no region has this name; see `xvtrace "
			  "guests`%s%s",
			  no_libvirt ? "; libvirt's domains are not known: " : "",
			  no_libvirt ? no_libvirt : "");
		return XVT_EXIT_FAIL;
	}
	read_events(all);
	status = show(all, opt, name ? NULL : no_libvirt);
	for (i = 0; name && i < all->n; i++) {
		if (!has_events(&all->v[i]) || all->v[i].events_err)
			status = XVT_EXIT_FAIL;
	}
	return status;
}

static void forget(struct guests *all)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		free(all->v[i].events.v);
		free(all->v[i].ring_file);
		free(all->v[i].names_of);
	}
	free(all->v);
}

/* Returns whether the arguments are right; else after an error message. */
static bool check(const struct guests_options *opt, int n, char **args)
{
	if (opt->events && n > 1)
		xvt_error("--events", "name one machine, or none for all");
	else if (!opt->events && n)
		xvt_error(args[0], "not an option; guests takes a name with --events only");
	else
		return true;
	return false;
}

static int cmd_guests(const struct xvt_command *cmd, int argc, char **argv)
{
	struct guests_options opt = { 0 };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL), status, no_libvirt;
	struct guests all = { 0 };
	struct xvt_error why;

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (!check(&opt, argc - first, argv + first))
		return XVT_EXIT_USAGE;
	no_libvirt = xvt_libvirt_domains(opt.libvirt_uri, on_domain, &all, &why);
	if (no_libvirt && opt.libvirt_uri) {
		xvt_error(opt.libvirt_uri, "%s", why.text);
		forget(&all);
		return XVT_EXIT_FAIL;
	}
	xvt_find_regions(on_region, &all);
	ask_recorders(&all);
	if (opt.events)
		status = show_events(&all, &opt, first < argc ? argv[first] : NULL,
				     no_libvirt ? why.text : NULL);
	else
		status = show(&all, &opt, no_libvirt ? why.text : NULL);
	forget(&all);
	return status;
}

const struct xvt_command xvt_cmd_guests = {
	.name = "guests",
	.args = "[--events [NAME]]",
	.brief = "list the machines of this host, and what can be recorded of each",
	.opts = options,
	.run = cmd_guests,
};
