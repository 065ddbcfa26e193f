// SPDX-License-Identifier: GPL-2.0
/* cmd_export.c - `xvtrace export`: a trace in a format of other programs. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output.h"
#include "base/time.h"
#include "select/beside.h"
#include "cli/cmd.h"
#include "select/select.h"
#include "select/threads.h"
#include "cli/watch.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "rights/confine.h"

#define CPUS_LISTED 16u
/* Lines about events that were recorded twice. */
#define ONCE_LINES  64u

struct export_opts {
	const char *format;
	const char *begin; /* older names of --from and --to */
	const char *end;
	uint64_t dat_version;
	uint64_t threads;
	struct xvt_select select;
};

static const struct xvt_opt export_opts[] = {
	XVT_OPT(struct export_opts, format, "format", 0, XVT_OPT_STRING, "FORMAT",
		"what to write; see below"),
	XVT_OPT(struct export_opts, dat_version, "dat-version", 0, XVT_OPT_COUNT, "6|7",
		"dat: 6 for trace-cmd before 3.1"),
	XVT_THREADS_OPT(struct export_opts, threads),
	XVT_SELECT_OPTS(struct export_opts, select, "from", "to"),
	XVT_OPT(struct export_opts, begin, "begin", 0, XVT_OPT_STRING, "T", "the same as --from"),
	XVT_OPT(struct export_opts, end, "end", 0, XVT_OPT_STRING, "T", "the same as --to"),
	XVT_OPT_END,
};

/* One of to_file and to_dir is set: what OUT is. */
struct format {
	const char *name;
	const char *brief;
	int (*to_file)(struct xvt_export *x, struct xvt_out *o);
	int (*to_dir)(struct xvt_export *x, const char *dir);
	bool bounds; /* the text has the bounds of times */
	bool states; /* and the states of machines, as events */
	bool gaps;   /* tasks do not seem to run while a machine stands still */
	bool once;   /* programs that read it count and add up: no event is there twice */
};

static const struct format formats[] = {
	{ .name = "text",
	  .brief = "the lines of report",
	  .to_file = xvt_export_text,
	  .states = true },
	{ .name = "jsonl",
	  .brief = "JSON, one object a line",
	  .to_file = xvt_export_jsonl,
	  .bounds = true,
	  .states = true },
	{ .name = "ctf",
	  .brief = "Common Trace Format 1.8 as LTTng's, for babeltrace2 and Trace Compass",
	  .to_dir = xvt_export_ctf,
	  .bounds = true,
	  .states = true,
	  .gaps = true,
	  .once = true },
	{ .name = "dat",
	  .brief = "trace.dat, for trace-cmd report (3.1 and later) and KernelShark",
	  .to_dir = xvt_export_dat,
	  .states = true,
	  .gaps = true,
	  .once = true },
	{ .name = "perfetto",
	  .brief = "a protobuf trace for ui.perfetto.dev",
	  .to_file = xvt_export_perfetto,
	  .bounds = true,
	  .states = true,
	  .gaps = true,
	  .once = true },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

static void list_formats(void)
{
	printf("\nFORMAT:\n");
	for (size_t i = 0; i < FORMATS; i++)
		printf("  %-10s%s (OUT: %s)\n", formats[i].name, formats[i].brief,
		       formats[i].to_dir ? "a directory" : "a file, or -");
}

static void say_no_format(const char *option, const char *name)
{
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < FORMATS && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 formats[i].name);
	xvt_error("export", "%s %s: no such format; there are: %s", option, name, names);
}

/* --to is the range's end, and was the format before: a format's name is no time. */
static const struct format *choose_format(struct export_opts *o)
{
	const char *name = o->format, *option = "--format";
	const struct format *format;

	if (!name && o->select.to && !(o->select.to[0] >= '0' && o->select.to[0] <= '9') &&
	    o->select.to[0] != '+' && o->select.to[0] != '-') {
		option = "--to";
		name = o->select.to;
		o->select.to = NULL;
	}
	if (!name) {
		xvt_error("export", "give --format FORMAT; 'xvtrace export --help' lists them");
		return NULL;
	}
	format = find_format(name);
	if (!format)
		say_no_format(option, name);
	return format;
}

/* Returns false after a message. */
static bool check_dat_version(const struct export_opts *o, const struct format *format)
{
	if (!o->dat_version)
		return true;
	if (strcmp(format->name, "dat") != 0)
		xvt_error("export", "--dat-version is for --format dat");
	else if (o->dat_version != 6 && o->dat_version != 7)
		xvt_error("export", "--dat-version %" PRIu64 ": there are 6 and 7", o->dat_version);
	else
		return true;
	return false;
}

/* Returns false after the message that an end of the range was given twice. */
static bool take_old_name(const char **now, const char *old, const char *names)
{
	if (*now && old) {
		xvt_error("export", "%s are the same; give one", names);
		return false;
	}
	if (old)
		*now = old;
	return true;
}

/* An export of one file. It is open until it is known whether anything was to be exported. */
static struct xvt_out out = { .fd = -1 };

static const char *shown(const char *to)
{
	return strcmp(to, "-") == 0 ? "standard output" : to;
}

/* Write an export to one file, or to standard output. Returns 0 or -errno, after a message. */
static int to_file(struct xvt_export *x, const char *path, const struct format *format,
		   struct xvt_watch *watch, bool shows)
{
	const char *shown_path = shown(path);
	int err = xvt_out_open(&out, path), write_err = err;

	/* Not before: the open of a FIFO waits for its reader, and a signal is to end that. */
	xvt_watch_begin(watch, x, shows);
	if (strcmp(path, "-") == 0)
		xvt_confine_opened();
	else
		xvt_confine_opened_output();
	if (!err) {
		err = format->to_file(x, &out);
		write_err = x->given ? xvt_out_close(&out) : out.err;
	}
	xvt_watch_end(watch);
	if (err && !write_err && x->given)
		xvt_error(xvtrace_info(x->trace)->path,
			  "%s after %" PRIu64 " events; what is in %s is incomplete",
			  strerror(-err), x->given, shown_path);
	else if (err && !write_err)
		xvt_error(xvtrace_info(x->trace)->path, "%s", strerror(-err));
	if (write_err)
		xvt_error(shown_path, "cannot write: %s%s", xvt_output_why(write_err),
			  err && !x->given ? "" : "; what is there is incomplete");
	return write_err ? write_err : err;
}

static int to_dir(struct xvt_export *x, const char *dir, bool quiet, const struct format *format,
		  struct xvt_watch *watch, bool shows)
{
	const char *path = xvtrace_info(x->trace)->path;
	int err;

	xvt_watch_begin(watch, x, shows);
	err = format->to_dir(x, dir);
	xvt_watch_end(watch);
	if (err)
		xvt_error(x->failed[0] ? x->failed : path, "%s",
			  x->error.text[0] ? x->error.text : strerror(-err));
	else if (x->moved && !quiet && !xvtrace_damage_count(x->trace))
		xvt_warn(path, "%llu events were out of order and got the time before them",
			 (unsigned long long)x->moved);
	if (!err && x->cut && !quiet)
		xvt_warn(path, "%llu events were longer than a page of %s and were cut",
			 (unsigned long long)x->cut, format->name);
	return err;
}

/* Say of a machine's rings, from this one on, which record of its events was written. */
static void say_once_of(const struct xvt_export *x, unsigned int from, enum xvt_once_by by)
{
	static const char *const names[XVT_ONCE_BY] = { "ftrace", "the probe" };
	const struct xvtrace_machine *m = xvtrace_ring(x->trace, from)->machine;
	const unsigned int rings = xvtrace_info(x->trace)->rings;
	char cpus[CPUS_LISTED * 12 + 32] = "";
	unsigned int listed = 0;
	uint64_t sum = 0;
	size_t used = 0;

	for (unsigned int i = from; i < rings; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(x->trace, i);
		const uint64_t n = xvt_once_count(x->once, i, by);

		if (!n || !ring || ring->machine != m)
			continue;
		sum += n;
		if (++listed <= CPUS_LISTED)
			used += (size_t)snprintf(cpus + used, sizeof(cpus) - used, "%s%u",
						 used ? ", " : "", ring->cpu);
	}
	if (listed > CPUS_LISTED)
		snprintf(cpus + used, sizeof(cpus) - used, " and %u more", listed - CPUS_LISTED);
	xvt_warn(xvtrace_info(x->trace)->path,
		 "%s: %" PRIu64 " event%s recorded twice, by ftrace and by the module's probe; "
		 "written once, as by %s (CPU %s)",
		 m->name, sum, sum == 1 ? " was" : "s were", names[by], cpus);
}

/* Of events that were recorded twice, say which record was written: the choice is each ring's. */
static void say_once(const struct xvt_export *x)
{
	const struct xvtrace_info *info = xvtrace_info(x->trace);
	const unsigned int rings = info->rings;
	bool *said = calloc((size_t)info->machines + 1, XVT_ONCE_BY * sizeof(*said));
	unsigned int lines = 0;

	for (unsigned int i = 0; said && i < rings * XVT_ONCE_BY && lines < ONCE_LINES; i++) {
		const unsigned int by = i % XVT_ONCE_BY;
		const struct xvtrace_ring *ring = xvtrace_ring(x->trace, i / XVT_ONCE_BY);
		bool *of = ring ? &said[ring->machine->number * XVT_ONCE_BY + by] : NULL;

		if (!of || *of || !xvt_once_count(x->once, ring->number, by))
			continue;
		say_once_of(x, ring->number, by);
		*of = true;
		lines++;
	}
	if (lines == ONCE_LINES)
		xvt_warn(info->path, "there may be more machines with events recorded twice");
	free(said);
}

/* Write all of it, with progress. Returns 0 or -errno, after a message. */
static int write_out(struct xvt_export *x, const struct format *format, const char *to, bool quiet)
{
	bool to_stdout = strcmp(to, "-") == 0;
	const bool shows = !quiet && isatty(STDERR_FILENO) && !(to_stdout && isatty(STDOUT_FILENO));
	struct xvt_watch w;
	int err;

	if (format->to_file)
		err = to_file(x, to, format, &w, shows);
	else
		err = to_dir(x, to, quiet, format, &w, shows);
	if (err || !w.ended_by)
		return err;
	if (!x->given) {
		xvt_error(shown(to), "stopped by %s before the first event",
			  w.ended_by == SIGINT ? "^C" : "SIGTERM");
		return -EINTR;
	}
	xvt_error(shown(to),
		  "stopped by %s after %" PRIu64 " events; it is complete up to %" PRIu64
		  ".%09" PRIu64 ", and readable",
		  w.ended_by == SIGINT ? "^C" : "SIGTERM", x->given, w.ns / SECOND_NS,
		  w.ns % SECOND_NS);
	return -EINTR;
}

/* As write_out(), without the second record of an event. */
static int write_once(struct xvt_export *x, const struct format *format, const char *to, bool quiet)
{
	int err = xvt_once_new(&x->once, x->trace);

	if (err)
		xvt_error(xvtrace_info(x->trace)->path, "%s", strerror(-err));
	else
		err = write_out(x, format, to, quiet);
	if (!err && !quiet)
		say_once(x);
	xvt_once_free(x->once);
	x->once = NULL;
	return err;
}

/* Ends a file into which no event went. One that is missing, because it could not be exported or
 * nothing was to be, is not there afterwards, either. */
static int end_empty(const char *to, int status)
{
	if (out.fd < 0)
		return status;
	if (status) {
		xvt_out_drop(&out);
		return status;
	}
	if (!xvt_out_close(&out))
		return XVT_EXIT_OK;
	xvt_error(shown(to), "cannot write: %s", strerror(-out.err));
	return XVT_EXIT_FAIL;
}

/* "TRACE... OUT", or "OUT" alone, for the trace that is read by default. Returns the number of
 * traces; 0 after a message. */
static size_t choose_paths(int count, char **args, const char *const **paths, const char **to)
{
	if (!count || xvt_is_trace_path(args[count - 1])) {
		xvt_error("export", "%s",
			  count > 1 ? "give a trace, and behind all traces where "
				      "to write, which is no trace"
				    : "give a trace, and where to write; "
				      "'xvtrace export --help' shows how");
		return 0;
	}
	*to = args[count - 1];
	return xvt_trace_paths("export", count - 1, args, paths);
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct export_opts o;
	static struct xvt_beside beside;
	struct xvt_export x = { 0 };
	struct xvt_workers *workers;
	int at = xvt_opt_parse(cmd, argc, argv, &o, NULL);
	const struct format *format;
	const char *const *paths;
	const char *to;
	size_t count;
	int status, err;

	if (at < 0)
		return xvt_opt_exit_status(at);
	format = choose_format(&o);
	if (!format)
		return XVT_EXIT_USAGE;
	if (!xvt_standard_inputs(argc - at - 1, argv + at)) /* the last one is OUT */
		return XVT_EXIT_FAIL;
	count = choose_paths(argc - at, argv + at, &paths, &to);
	if (!count)
		return XVT_EXIT_USAGE;
	if (format->to_dir && strcmp(to, "-") == 0) {
		xvt_error("export", "%s is a directory and cannot go to standard output; name one",
			  format->name);
		return XVT_EXIT_USAGE;
	}
	if (!take_old_name(&o.select.from, o.begin, "--from and --begin") ||
	    !take_old_name(&o.select.to, o.end, "--to and --end") || !check_dat_version(&o, format))
		return XVT_EXIT_USAGE;
	x.dat_version = (unsigned int)o.dat_version;
	x.bound = format->bounds;
	x.states = format->states;
	x.gaps = format->gaps;
	x.task = x.align = true; /* text: as report has it */
	/* Without the thread the export takes longer, and does the same. */
	if (format->to_dir == xvt_export_dat && o.dat_version != 6)
		xvt_dat_thread_start(&x.dat_thread);
	workers = xvt_threads_start(&x.threads, o.threads, paths, count);
	xvt_threads_background(&x.background, workers);
	xvt_confine(true);
	xvt_beside_look(paths, count, &beside);
	status = xvt_select_open_several(&o.select, paths, count, &x);
	if (status) {
		xvt_dat_thread_end(x.dat_thread);
		xvt_workers_end(workers);
		return status;
	}
	err = format->once ? write_once(&x, format, to, o.select.quiet)
			   : write_out(&x, format, to, o.select.quiet);
	xvt_dat_thread_end(x.dat_thread);
	status = end_empty(to, xvt_select_close(&o.select, &x, err));
	xvt_workers_end(workers);
	if (!o.select.quiet && !err)
		xvt_beside_say(&beside, cmd->name);
	return status;
}

const struct xvt_command xvt_cmd_export = {
	.name = "export",
	.args = "--format FORMAT [FILE.xvt|DIR]... OUT",
	.brief = "write a trace in a format that other programs read",
	.opts = export_opts,
	.more_help = list_formats,
	.run = run,
};
