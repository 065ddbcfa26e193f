// SPDX-License-Identifier: GPL-2.0
/* cmd_verify.c - xvtrace verify: does a trace keep what it promises? See view/verify.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "select/beside.h"
#include "cli/cmd.h"
#include "select/empty.h"
#include "select/select.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "rights/confine.h"
#include "trace/set.h"
#include "trace/set_name.h"
#include "view/verify.h"
#include "view/verify_set.h"

static void say_result(const struct xvt_trace *t, const struct xvt_verify_result *r,
		       const char *path)
{
	uint32_t known = 0;

	if (r->violations) {
		printf("%s: %" PRIu64 " violation%s\n", path, r->violations,
		       r->violations == 1 ? "" : "s");
		return;
	}
	for (uint32_t i = 0; i < t->ring_count; i++)
		known += t->rings[i].known;
	printf("%s: ok: %zu chunks, %" PRIu64 " events of %u rings in order, %" PRIu64
	       " clock nodes, %" PRIu64 " samples, %" PRIu64 " marks; %zu exchanges",
	       path, t->chunk_count, r->events, known, r->nodes, r->samples, r->marks_checked,
	       xvt_exchanges_pairs(&r->exchanges));
	for (size_t i = 0; i < r->exchanges.way_count; i++) {
		const struct xvt_transit *w = &r->exchanges.ways[i];

		printf("%s%s to %s median %.1f us (%zu)", i ? ", " : ": ",
		       xvt_vm_name(t, w->send_vm), xvt_vm_name(t, w->recv_vm),
		       (double)xvt_transit_median_ns(w) / 1e3, w->count);
	}
	if (r->exchanges.undecided)
		printf("; %zu of them seem to go back in time, by %.1f us at most, which is within "
		       "the bounds of the two clocks",
		       r->exchanges.undecided, (double)r->exchanges.undecided_ns_most / 1e3);
	if (r->exchanges.guesses)
		printf("; %zu more exchanges have a time that is flagged as a guess",
		       r->exchanges.guesses);
	if (r->ran)
		printf("; %" PRIu64 " events inside run spans", r->ran);
	if (r->away_checked)
		printf("; %" PRIu64 " events while their threads were on a CPU of the host",
		       r->away_checked);
	if (r->pairs_checked)
		printf("; %" PRIu64 " clock pairs within %" PRIu64 " ns", r->pairs_checked,
		       r->pair_off_ns_max);
	if (r->exempt)
		printf("; %" PRIu64 " events contradict their clock and are flagged so", r->exempt);
	if (r->unplaced)
		printf("; %" PRIu64 " events of rings without a clock", r->unplaced);
	if (!t->ended)
		printf("; not cleanly ended, so final counts were not checked");
	printf("\n");
}

struct verify_opts {
	bool notes;
	bool complete;
	bool quiet;
	bool several; /* no option: further traces are opened */
};

static const struct xvt_opt verify_opts[] = {
	XVT_OPT(struct verify_opts, notes, "notes", 0, XVT_OPT_BOOL, NULL,
		"also show what the recorder noted: time, machine, text"),
	XVT_OPT(struct verify_opts, complete, "complete", 0, XVT_OPT_BOOL, NULL,
		"a trace that was not cleanly ended is a violation"),
	XVT_QUIET_OPT(struct verify_opts, quiet),
	XVT_OPT_END,
};

static void print_line(void *arg, const char *text)
{
	(void)arg;
	printf("%s\n", text);
}

/* A trace without events keeps what it promises, but was hardly meant. */
static void say_no_events(struct xvt_trace *t, const char *path)
{
	struct xvt_empty empty;

	xvt_empty_read_notes(&empty, t);
	xvt_empty_say(&empty, path, false);
}

/* writer: of xvt_beside_writer(). of_set: other files may have events. Returns an exit status. */
static int verify(struct xvt_trace *t, const char *path, pid_t writer, bool of_set,
		  const struct verify_opts *opts)
{
	const struct xvt_verify_opts how = {
		.notes = opts->notes,
		.complete = opts->complete,
		.line = print_line,
	};
	struct xvt_verify_result result;
	int err = xvt_verify(t, &how, &result);

	if (err) {
		xvt_error(path, "%s", strerror(-err));
	} else {
		say_result(t, &result, path);
		if (!t->ended && !t->damage_count && !opts->complete && !opts->quiet)
			xvt_say_not_ended(path, writer, t->size - t->tail_offset,
					  xvt_trace_unordered(t));
		if (!result.events && !of_set && !opts->quiet)
			say_no_events(t, path);
	}
	if (fflush(stdout) || ferror(stdout)) {
		xvt_error("standard output", "cannot write");
		err = -EIO;
	}
	err = err || result.violations;
	xvt_verify_result_fini(&result);
	return err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

/* The files of a set, as far as they were checked. */
struct set {
	struct xvt_set_end end; /* of the newest one */
	uint32_t number;	/* and its number */
	uint64_t files;
	uint64_t borders;
	uint64_t violations;
};

/* Checks one file; of a set, also its border to the file before. Returns an exit status. */
static int verify_file(const char *path, const struct verify_opts *opts, struct set *set)
{
	struct xvt_trace *t;
	uint64_t violations;
	pid_t writer;
	struct xvt_error why;
	bool checked;
	int status, err;

	if (xvt_trace_open(&t, path, &why)) {
		xvt_error(path, "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	writer = t->ended ? 0 : xvt_beside_writer(path);
	if (!set && !opts->several) /* the last one; else further files are opened */
		xvt_confine_opened();
	status = verify(t, path, writer, set != NULL, opts);
	if (set) {
		err = xvt_verify_border(&set->end, t, &checked, &violations, print_line, NULL);
		set->violations += violations;
		set->borders += checked && !violations;
		set->files++;
		if (err || xvt_set_end_take(&set->end, t)) {
			xvt_error(path, "cannot be compared with the next file");
			status = XVT_EXIT_FAIL;
		}
		if (violations)
			printf("%s: the border to the file before is wrong\n", path);
	}
	xvt_trace_close(t);
	return status;
}

/* A recorder that is killed when it begins a file leaves it without a byte. */
static bool is_empty(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !st.st_size;
}

static void say_empty(const char *path)
{
	printf("%s: empty; its recorder was killed when it began it, or begins it now\n", path);
}

/* Checks file `number` of the folder. Returns an exit status. */
static int verify_number(const char *folder, uint32_t number, const struct verify_opts *opts,
			 struct set *set)
{
	char path[4096];

	if (set->number && number - 1 != set->number) {
		printf("violation: before " XVT_SET_NAME " %u files are missing\n", number,
		       number - set->number - 1);
		set->violations++;
	}
	set->number = number;
	if (!xvt_set_path(folder, number, path, sizeof(path))) {
		xvt_error(folder, "the path is too long");
		return XVT_EXIT_FAIL;
	}
	if (is_empty(path)) {
		say_empty(path);
		return XVT_EXIT_OK;
	}
	return verify_file(path, opts, set);
}

/* A snapshot's folder has the trace of its flight recorders, too. To be called after all files of
 * the set. Returns an exit status. */
static int verify_flight(const char *folder, const struct verify_opts *opts)
{
	struct xvt_beside beside;

	xvt_beside_look(&folder, 1, &beside);
	if (!beside.flight[0])
		return XVT_EXIT_OK;
	if (is_empty(beside.flight)) {
		say_empty(beside.flight);
		return XVT_EXIT_OK;
	}
	return verify_file(beside.flight, opts, NULL);
}

static int verify_set(const char *folder, const struct verify_opts *opts)
{
	struct set set = { 0 };
	struct xvt_set_list list;
	struct xvt_error why;
	int status = XVT_EXIT_OK, err = xvt_set_list(folder, &list);

	if (err) {
		if (err == -ENOENT)
			xvt_set_why_none(folder, &why);
		xvt_error(folder, "%s", err == -ENOENT ? why.text : strerror(-err));
		return XVT_EXIT_FAIL;
	}
	for (size_t i = 0; i < list.count; i++) {
		if (verify_number(folder, list.numbers[i], opts, &set) != XVT_EXIT_OK)
			status = XVT_EXIT_FAIL;
	}
	if (set.violations)
		status = XVT_EXIT_FAIL;
	if (verify_flight(folder, opts) != XVT_EXIT_OK)
		status = XVT_EXIT_FAIL;
	printf("%s: %s: %" PRIu64 " files, %" PRIu64
	       " borders between two of them with no event missing or twice\n",
	       folder, status == XVT_EXIT_OK ? "ok" : "not ok", set.files, set.borders);
	xvt_set_end_fini(&set.end);
	xvt_set_list_free(&list);
	return status;
}

/* Each trace by itself, then whether they can be read as one. */
static int verify_each(const char *const *paths, size_t count, const struct verify_opts *opts)
{
	int status = XVT_EXIT_OK;
	struct xvtrace *trace;
	size_t ok = 0;

	for (size_t i = 0; i < count; i++) {
		const int of = xvt_set_is_folder(paths[i]) ? verify_set(paths[i], opts)
							   : verify_file(paths[i], opts, NULL);

		ok += of == XVT_EXIT_OK;
		status = of == XVT_EXIT_OK ? status : of;
	}
	if (count == 1)
		return status;
	if (xvt_open_several(&trace, paths, count, XVTRACE_PART, NULL, opts->quiet))
		status = XVT_EXIT_FAIL;
	else
		xvtrace_close(trace);
	printf("%zu traces: %s: %zu of them keep what they promise%s\n", count,
	       status == XVT_EXIT_OK ? "ok" : "not ok", ok,
	       trace ? ", and they are of one host and one boot" : "");
	return status;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	struct verify_opts opts = { 0 };
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL);
	const char *const *paths;
	size_t count;

	if (at < 0)
		return xvt_opt_exit_status(at);
	if (!xvt_standard_inputs(argc - at, argv + at))
		return XVT_EXIT_FAIL;
	count = xvt_trace_paths(cmd->name, argc - at, argv + at, &paths);
	if (!count)
		return XVT_EXIT_USAGE;
	opts.several = count > 1;
	xvt_confine(false);
	return verify_each(paths, count, &opts);
}

const struct xvt_command xvt_cmd_verify = {
	.name = "verify",
	.args = "[FILE.xvt|DIR]...",
	.brief = "check a trace: checksums, order, counts, clocks, cause before effect",
	.opts = verify_opts,
	.run = run,
};
