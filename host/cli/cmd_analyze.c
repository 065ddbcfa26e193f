// SPDX-License-Identifier: GPL-2.0
/* cmd_analyze.c - `xvtrace analyze`: where the guests' time went. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/pager.h"
#include "select/select.h"
#include "select/threads.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "rights/confine.h"

#define STALL_NS 1000000u /* --min of stalls */
#define TOP	 10u
#define LEAD_NS	 1000000000u /* before a range: tells which thread runs where */

struct analyze_opts {
	struct xvt_select select;
	uint64_t min_ns;
	uint64_t top;
	const char *first, *then, *key;
	const char *then_key; /* the second of `key`; NULL: it has one */
	bool json;
	bool hist;
	bool no_pager;
	uint64_t threads;
};

static const struct xvt_opt analyze_opts[] = {
	XVT_OPT(struct analyze_opts, select.vm, "vm", 0, XVT_OPT_WORDS, "VM",
		"only vCPUs of this machine, such as g1,g2; !VM: not these"),
	XVT_OPT(struct analyze_opts, select.cpu, "cpu", 0, XVT_OPT_LIST, "N",
		"only these vCPUs, such as 0-3,7; again for more"),
	XVT_OPT(struct analyze_opts, select.pid, "pid", 0, XVT_OPT_WORDS, "P",
		"only what these tasks of guests did, such as 7,8"),
	XVT_OPT(struct analyze_opts, select.comm, "comm", 0, XVT_OPT_LIST, "GLOB",
		"only what tasks with a name like this did; again for each"),
	XVT_OPT(struct analyze_opts, select.event, "event", 'e', XVT_OPT_WORDS, "GLOB",
		"only what begins with events like this, as -e of report; !GLOB: not these"),
	XVT_OPT(struct analyze_opts, min_ns, "min", 0, XVT_OPT_TIME, "D",
		"only what took at least D, such as 50us; of stalls 1ms if not given"),
	XVT_OPT(struct analyze_opts, top, "top", 0, XVT_OPT_COUNT, "N",
		"the N longest stalls, and the first N lines of each kind (10)"),
	XVT_OPT(struct analyze_opts, hist, "hist", 0, XVT_OPT_BOOL, NULL,
		"a histogram of each line, by powers of two"),
	XVT_OPT(struct analyze_opts, first, "first", 0, XVT_OPT_STRING, "GLOB",
		"latency: from this event, EVENT or SYSTEM:EVENT, to that of --then"),
	XVT_OPT(struct analyze_opts, then, "then", 0, XVT_OPT_STRING, "GLOB",
		"latency: to this event, of any machine, with the same --key"),
	XVT_OPT(struct analyze_opts, key, "key", 0, XVT_OPT_STRING, "FIELD[,FIELD]",
		"latency: the number that both have; two fields: of the first, and of the other"),
	XVT_OPT(struct analyze_opts, json, "json", 0, XVT_OPT_BOOL, NULL,
		"as JSON, format xvtrace-analyze/1; all lines"),
	XVT_TIME_OPTS(struct analyze_opts, select, "from", "to"),
	XVT_RECLOCK_OPTS(struct analyze_opts, select.reclock, select.no_reclock),
	XVT_FORMATS_OPT(struct analyze_opts, select.formats),
	XVT_THREADS_OPT(struct analyze_opts, threads),
	XVT_NO_PAGER_OPT(struct analyze_opts, no_pager),
	XVT_QUIET_OPT(struct analyze_opts, select.quiet),
	XVT_OPT_END,
};

static const struct {
	const char *name;
	enum xvt_analysis bit;
} analyses[] = {
	{ "cpu", XVT_ANALYZE_CPU },	  { "stalls", XVT_ANALYZE_STALLS },
	{ "sched", XVT_ANALYZE_SCHED },	  { "irq", XVT_ANALYZE_IRQ },
	{ "timer", XVT_ANALYZE_TIMER },	  { "latency", XVT_ANALYZE_LATENCY },
	{ "losses", XVT_ANALYZE_LOSSES },
};

#define NAMES	 "cpu, stalls, sched, irq, timer, latency, losses"
#define ANALYSES (sizeof(analyses) / sizeof(analyses[0]))

/* Of "cpu,stalls". Returns 0 after a message. */
static unsigned int parse_analyses(const char *text)
{
	unsigned int bits = 0;

	for (const char *at = text;; at++) {
		const size_t len = strcspn(at, ",");
		size_t i = 0;

		while (i < ANALYSES &&
		       (strlen(analyses[i].name) != len || strncmp(analyses[i].name, at, len) != 0))
			i++;
		if (i == ANALYSES) {
			xvt_error(text, access(text, F_OK)
						? "no such analysis; there are " NAMES
						: "give an analysis before the trace; there "
						  "are " NAMES);
			return 0;
		}
		bits |= analyses[i].bit;
		at += len;
		if (!*at)
			return bits;
	}
}

/* --first, --then and --key belong together. Returns whether they do; else after a message. */
static bool take_pair(struct analyze_opts *opts, unsigned int bits)
{
	static char key[128];
	char *comma;

	if (!opts->first && !opts->then && !opts->key)
		return true;
	if (!(bits & XVT_ANALYZE_LATENCY)) {
		xvt_error("--first", "it is for the analysis `latency`, as --then and --key are");
		return false;
	}
	if (!opts->first || !opts->then || !opts->key || strlen(opts->key) >= sizeof(key)) {
		xvt_error("--first", "a pair takes --first EVENT --then EVENT --key FIELD");
		return false;
	}
	comma = strchr(strcpy(key, opts->key), ',');
	if (comma) {
		*comma = '\0';
		opts->then_key = comma + 1;
		opts->key = key;
	}
	return true;
}

/* -- which lines are wanted ------------------------------------------------------------ */

/* The library's reader must have the events of all machines: the host tells what it took. */
static bool wants(void *arg, const struct xvtrace_ring *ring)
{
	return xvt_select_has_ring(arg, ring);
}

static bool wants_task(void *arg, int pid, const char *comm)
{
	const struct xvt_select *s = arg;
	bool by_pid = !s->pid.n, by_name = !s->comm.n;

	for (size_t i = 0; i < s->pid.n; i++)
		by_pid |= strtol(s->pid.v[i], NULL, 10) == pid;
	for (size_t i = 0; i < s->comm.n; i++)
		by_name |= fnmatch(s->comm.v[i], comm, 0) == 0;
	return by_pid && by_name;
}

static bool wants_event(void *arg, const char *system, const char *name)
{
	const struct xvt_select *s = arg;
	bool any = false, named = false;

	for (size_t i = 0; i < s->event.n; i++) {
		const char *glob = s->event.v[i];
		const bool out = glob[0] == '!';

		if (out && xvtrace_matches(glob + 1, system, name))
			return false;
		any |= !out;
		named |= !out && xvtrace_matches(glob, system, name);
	}
	return named || !any;
}

/* Machines and CPUs that the trace does not have are errors, as in report, and numbers that are no
 * tasks'. */
static int check_rings(const struct xvt_select *select, const struct xvt_export *x)
{
	static struct xvt_select rings;
	struct xvt_export y = { .trace = x->trace };
	int status;

	rings.vm = select->vm;
	rings.cpu = select->cpu;
	rings.pid = select->pid;
	status = xvt_select_begin(&rings, &y);
	xvtrace_reader_free(y.reader);
	return status;
}

/* -- the pass -------------------------------------------------------------------------- */

static int read_all(struct xvt_export *x, struct xvt_analyze *a)
{
	const struct xvtrace_event *ev;
	uint64_t before = 0;
	int got, err = 0;

	while (!err && (got = xvt_export_next(x, &ev)) != 0) {
		err = got < 0 ? got : xvt_analyze_feed(a, ev);
		before += got > 0 && ev->ns < x->range_ns;
	}
	x->given -= before;
	/* The counters are those of all that can be read. */
	if (!err && x->counts)
		err = xvtrace_check(x->trace);
	return err ? err : xvt_analyze_end(a);
}

static int show(const struct analyze_opts *opts, struct xvt_analyze *a)
{
	const struct xvt_analyze_look look = { .top = opts->top, .hist = opts->hist };
	static struct xvt_out out;
	int err = xvt_out_open(&out, "-");

	if (!err && opts->json)
		xvt_analyze_json(a, &look, &out);
	else if (!err)
		xvt_analyze_text(a, &look, &out);
	if (xvt_out_close(&out)) {
		err = out.err;
		xvt_error("standard output", "%s", strerror(-err));
	}
	return err;
}

/* Of a pair that was asked for, each event must be there. */
static int check_pair(const struct analyze_opts *opts, const struct xvt_export *x,
		      const struct xvt_analyze *a)
{
	int err = 0;

	for (int i = 0; i < 2 && opts->first; i++) {
		if (xvt_analyze_saw(a, i))
			continue;
		xvt_error(xvtrace_info(x->trace)->path,
			  "no event like '%s' with a field '%s' that is a number",
			  i ? opts->then : opts->first,
			  i && opts->then_key ? opts->then_key : opts->key);
		err = -ENODATA;
	}
	return err;
}

static int analyze(struct analyze_opts *opts, unsigned int bits, struct xvt_export *x)
{
	const struct xvt_analyze_options o = {
		.analyses = bits,
		.min_ns = opts->min_ns,
		.stall_min_ns = opts->min_ns ? opts->min_ns : STALL_NS,
		.whole = x->counts,
		.is_range = xvt_select_is_part(&opts->select),
		.range_ns = x->range_ns,
		.first = { opts->first, opts->key },
		.then = { opts->then, opts->then_key ? opts->then_key : opts->key },
		.wants = wants,
		.wants_task = opts->select.pid.n || opts->select.comm.n ? wants_task : NULL,
		.wants_event = opts->select.event.n ? wants_event : NULL,
		.arg = &opts->select,
	};
	struct xvt_analyze *a = NULL;
	int err = xvt_once_new(&x->once, x->trace);

	if (!err)
		err = xvt_analyze_new(&a, &o, x->trace, x->reader);
	if (!err)
		err = read_all(x, a);
	if (err)
		xvt_error(xvtrace_info(x->trace)->path, "%s", strerror(-err));
	else
		err = show(opts, a);
	if (!err)
		err = check_pair(opts, x, a);
	if (!err && !xvt_analyze_vcpus(a) && bits != XVT_ANALYZE_LOSSES) {
		xvt_error(xvtrace_info(x->trace)->path,
			  "nothing to analyze: none of its rings is a vCPU's; those of programs, "
			  "and of the host, have no guest's time");
		err = -ENODATA;
	}
	xvt_analyze_free(a);
	xvt_once_free(x->once);
	x->once = NULL;
	return err;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct analyze_opts opts;
	struct xvt_export x = { .bound = true, .states = true, .lead_ns = LEAD_NS };
	static struct xvt_select all;
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL), status, err;
	struct xvtrace_threads threads;
	struct xvt_workers *workers;
	const char *const *paths;
	unsigned int bits;
	size_t count;

	if (at < 0)
		return xvt_opt_exit_status(at);
	if (at == argc) {
		xvt_error("analyze", "say which analysis: " NAMES);
		return XVT_EXIT_USAGE;
	}
	bits = parse_analyses(argv[at++]);
	if (!bits || !take_pair(&opts, bits))
		return XVT_EXIT_USAGE;
	x.counts = bits & XVT_ANALYZE_LOSSES && !xvt_select_is_part(&opts.select);
	if (!xvt_standard_inputs(argc - at, argv + at))
		return XVT_EXIT_FAIL;
	count = xvt_trace_paths(cmd->name, argc - at, argv + at, &paths);
	if (!count)
		return XVT_EXIT_USAGE;
	opts.top = opts.top ? opts.top : opts.json ? 0 : TOP;
	if (!opts.no_pager && !opts.json)
		xvt_pager_prepare();
	workers = xvt_threads_start(&threads, opts.threads, paths, count);
	xvt_threads_background(&x.background, workers);
	xvt_confine(false);
	all = opts.select;
	all.vm.n = all.cpu.n = all.pid.n = all.comm.n = all.event.n = 0;
	status = xvt_select_open_several(&all, paths, count, &x);
	if (!status) {
		status = check_rings(&opts.select, &x);
		if (status)
			xvt_select_close(&all, &x, true);
	}
	if (status) {
		xvt_workers_end(workers);
		xvt_pager_end();
		return status;
	}
	xvt_confine_opened();
	xvt_pager_begin();
	err = analyze(&opts, bits, &x);
	status = xvt_select_close(&all, &x, err);
	xvt_workers_end(workers);
	xvt_pager_end();
	return status;
}

const struct xvt_command xvt_cmd_analyze = {
	.name = "analyze",
	.args = "cpu|stalls|sched|irq|timer|latency|losses [FILE.xvt|DIR]...",
	.brief = "say where the guests' time went: who took their CPUs, stalls, waits, handlers",
	.opts = analyze_opts,
	.run = run,
};
