// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_trim.c - `xvtrace trim`: a part of a trace as a trace. See view/trim.h. The output is written
 * beside its name, and takes that name when it is whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/machine_name.h"
#include "base/time.h"
#include "cli/cmd.h"
#include "select/empty.h"
#include "select/select.h"
#include "select/when.h"
#include "cli/whole_file.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "rights/confine.h"
#include "trace/set.h"
#include "view/trim.h"

struct trim_opts {
	const char *output;
	const char *from;
	const char *to;
	struct xvt_opt_list vm;
	bool reclock;
	bool no_reclock;
	bool quiet;
};

static const struct xvt_opt trim_opts[] = {
	XVT_OPT(struct trim_opts, output, "output", 'o', XVT_OPT_STRING, "PART.xvt",
		"the trace to write"),
	XVT_OPT(struct trim_opts, from, "from", 0, XVT_OPT_STRING, "T",
		"begin at T: seconds as printed, +0.5 from the first event, -0.5 from the last "
		"one, or a time of day"),
	XVT_OPT(struct trim_opts, to, "to", 0, XVT_OPT_STRING, "T", "end at T"),
	XVT_OPT(struct trim_opts, vm, "vm", 0, XVT_OPT_WORDS, "VM",
		"only these machines, such as g1,g2; given again, also those; !VM: not these"),
	XVT_OPT(struct trim_opts, reclock, "reclock", 0, XVT_OPT_BOOL, NULL,
		"the range is of re-clocked times also for a trace without an end"),
	XVT_OPT(struct trim_opts, no_reclock, "no-reclock", 0, XVT_OPT_BOOL, NULL,
		"the range is of the times of the recording"),
	XVT_OPT(struct trim_opts, quiet, "quiet", 'q', XVT_OPT_BOOL, NULL,
		"no line about what was written, no warnings"),
	XVT_OPT_END,
};

/* -- what to take -------------------------------------------------------------------- */

/* An end of the range. Returns false after a message. */
static bool take_time(struct xvtrace *trace, const char *text, uint64_t *ns, uint64_t *wall_ns)
{
	struct xvt_when when;

	if (!text)
		return true;
	if (xvt_take_when(text, trace, &when))
		return false;
	*(when.clock == XVTRACE_WALL ? wall_ns : ns) = when.ns;
	return true;
}

/* Returns false after a message. */
static bool take_range(const struct trim_opts *opts, const char *path, struct xvt_trim *how)
{
	struct xvtrace_error error;
	struct xvtrace *trace;
	bool good;

	*how = (struct xvt_trim){ .to_ns = UINT64_MAX, .wall_to_ns = UINT64_MAX };
	if (!opts->from && !opts->to)
		return true;
	if (xvtrace_open(&trace, path, XVTRACE_PART, &error)) {
		xvt_error(path, "%s", error.text);
		return false;
	}
	good = take_time(trace, opts->from, &how->from_ns, &how->wall_from_ns) &&
	       take_time(trace, opts->to, &how->to_ns, &how->wall_to_ns);
	if (good && (how->from_ns > how->to_ns || how->wall_from_ns > how->wall_to_ns)) {
		xvt_error(opts->from, "the range of time ends at %s, before it begins", opts->to);
		good = false;
	}
	xvtrace_close(trace);
	return good;
}

static void say_machines(const struct xvt_trace *t, const char *wanted)
{
	char names[256] = "none";
	size_t used = 0;

	for (uint32_t i = 0; i < t->vm_count && used < sizeof(names); i++)
		if (t->vms[i].known)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", t->vms[i].name);
	xvt_error(t->path, "no machine '%s' in this trace; it has: %s", wanted, names);
}

/* Set what a name says of its machines. Returns false if there are none. */
static bool take_name(const char *name, bool value, const struct xvt_trace *t, bool *wanted)
{
	bool found = false;

	for (uint32_t vm = 0; vm < t->vm_count; vm++) {
		if (!t->vms[vm].known || !xvt_machine_same(t->vms[vm].name, name))
			continue;
		wanted[vm] = value;
		found = true;
	}
	return found;
}

/* Names choose machines, then "!NAME" excludes some. Returns false after a message. */
static bool take_names(const struct xvt_opt_list *names, const struct xvt_trace *t, bool *wanted)
{
	bool any = false;

	for (size_t i = 0; i < names->n; i++)
		any |= names->v[i][0] != '!';
	memset(wanted, !any, t->vm_count);
	for (unsigned int excluded = 0; excluded < 2; excluded++) {
		for (size_t i = 0; i < names->n; i++) {
			const char *name = names->v[i];

			if ((name[0] == '!') != excluded)
				continue;
			if (!take_name(name + excluded, !excluded, t, wanted)) {
				say_machines(t, name + excluded);
				return false;
			}
		}
	}
	return true;
}

/* Returns which machines are wanted, for free(); NULL after a message. */
static bool *take_machines(const struct xvt_opt_list *names, const struct xvt_trace *t)
{
	bool *wanted = calloc((size_t)t->vm_count + 1, sizeof(*wanted));

	if (!wanted)
		xvt_error(t->path, "%s", strerror(ENOMEM));
	else if (take_names(names, t, wanted))
		return wanted;
	free(wanted);
	return NULL;
}

/* -- the part ------------------------------------------------------------------------ */

static void say_no_events(struct xvt_trace *t)
{
	struct xvt_empty empty;

	xvt_empty_read_notes(&empty, t);
	xvt_empty_say(&empty, t->path, true);
}

static void say_nothing(struct xvt_trace *t, int err)
{
	if (err == -EXDEV)
		xvt_error(t->path, "the range has events of recordings of two recorders; trim the "
				   "one before and the one behind that by --from and --to");
	else if (err == -ENODATA && !t->last_ns)
		say_no_events(t);
	else if (err == -ENODATA)
		xvt_error(t->path,
			  "no event is in this part; the trace is from %" PRIu64 ".%09" PRIu64
			  " to %" PRIu64 ".%09" PRIu64,
			  t->first_ns / SECOND_NS, t->first_ns % SECOND_NS, t->last_ns / SECOND_NS,
			  t->last_ns % SECOND_NS);
	else
		xvt_error(t->path, "%s", strerror(-err));
}

static int write_part(struct xvt_trim_part *part, const struct xvt_trace *t, const char *output)
{
	struct xvt_whole_file f;
	int err = xvt_whole_file_new(&f, output, t->fd);

	xvt_confine_opened_output();
	if (!err)
		err = xvt_trim_write(part, &f.sink);
	err = xvt_whole_file_end(&f, err);
	if (err)
		xvt_error(output, "cannot write it: %s", xvt_output_why(err));
	return err;
}

static int trim(struct xvt_trace *t, const struct xvt_trim *how, const struct trim_opts *opts)
{
	struct xvt_trim_part *part;
	int err = xvt_trim_new(&part, how, t);

	if (err) {
		say_nothing(t, err);
		return XVT_EXIT_FAIL;
	}
	err = write_part(part, t, opts->output);
	if (!err && !opts->quiet) {
		fprintf(stderr, "xvtrace: %s: %" PRIu64 " events, lost %" PRIu64 "\n", opts->output,
			xvt_trim_events(part), xvt_trim_lost(part));
		if (!t->ended && !t->damage_count)
			xvt_warn(t->path, "not cleanly ended, and so is the part");
	}
	if (!err && t->damage_count)
		xvt_error(t->path,
			  "damaged in %zu place%s, the first: %s; the part has what could be read",
			  t->damage_count, t->damage_count == 1 ? "" : "s", t->damage[0].why);
	xvt_trim_free(part);
	return err || t->damage_count ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

/* The part would take the name of the trace, or of one of its files. */
static bool is_same(const char *path, const char *output)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(output, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Returns false after a message. */
static bool check_opts(const struct trim_opts *opts, const char *path)
{
	if (opts->reclock && opts->no_reclock)
		xvt_error("--no-reclock", "--reclock says the opposite; give one of them");
	else if (!opts->output)
		xvt_error("trim", "give the part a name: -o PART.xvt");
	else if (strcmp(opts->output, "-") == 0)
		xvt_error("--output", "the part needs a file, which gets its name at the end");
	else if (is_same(path, opts->output))
		xvt_error(opts->output, "it is the trace that is read; give the part another name");
	else
		return true;
	return false;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct trim_opts opts;
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL), status;
	struct xvt_trim how;
	struct xvt_trace *t;
	const char *path;
	bool *machines;
	struct xvt_error why;

	if (at < 0)
		return xvt_opt_exit_status(at);
	if (!xvt_standard_inputs(argc - at, argv + at))
		return XVT_EXIT_FAIL;
	path = xvt_trace_path(cmd->name, argc - at, argv + at);
	if (!path || !check_opts(&opts, path))
		return XVT_EXIT_USAGE;
	xvt_confine(true);
	if (xvt_set_open(&t, path, false, &why)) {
		xvt_error(path, "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	machines = take_machines(&opts.vm, t);
	status = machines ? XVT_EXIT_OK : XVT_EXIT_FAIL;
	if (!status && !take_range(&opts, path, &how))
		status = XVT_EXIT_USAGE;
	if (!status) {
		how.machines = opts.vm.n ? machines : NULL;
		how.reclock = opts.reclock || (t->ended && !opts.no_reclock);
		status = trim(t, &how, &opts);
	}
	free(machines);
	xvt_trace_close(t);
	return status;
}

const struct xvt_command xvt_cmd_trim = {
	.name = "trim",
	.args = "-o PART.xvt [FILE.xvt|DIR]",
	.brief = "write a part of a trace as a trace",
	.opts = trim_opts,
	.run = run,
};
