// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_snapshot.c - `xvtrace snapshot`: write the contents of flight recorders up to one moment of
 * host time, as one merged trace. The guests continue to record.
 */
#define _GNU_SOURCE
#include "base/log.h"
#include "base/time.h"
#include "cli/cmd.h"
#include "flight/armed.h"
#include "flight/snapshot_when.h"
#include "record/recording.h"
#include "record/standard.h"
#include "rights/limits.h"
#include "xvt_abi.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct snapshot_options {
	const char *output;
	struct xvt_machine_options machines;
	uint64_t stall_timeout_ns;
	uint64_t memory_bytes;
	struct xvt_opt_list when;
	struct xvt_opt_list qmp;
	uint64_t before_ns;
	uint64_t after_ns;
	uint64_t files;
	uint64_t per_minute;
	bool quiet;
	bool looked; /* with --when: warnings were given once */
};

#define O(field, name, letter, type, metavar, help) \
	XVT_OPT(struct snapshot_options, field, name, letter, type, metavar, help)

static const struct xvt_opt options[] = {
	O(output, "output", 'o', XVT_OPT_STRING, "FILE.xvt", "the trace to write"),
	O(machines.regions, "region", 'r', XVT_OPT_LIST, "[NAME=]REGION[,rings=N]",
	  XVT_REGION_HELP),
	O(machines.domains, "domain", 'd', XVT_OPT_LIST, "DOMAIN", XVT_DOMAIN_HELP),
	O(machines.trusted, "trust-guest-clock", 0, XVT_OPT_LIST, "NAME", XVT_TRUST_HELP),
	O(machines.libvirt_uri, "connect", 'c', XVT_OPT_STRING, "URI",
	  "libvirt to ask (default: its own)"),
	O(stall_timeout_ns, "stall-timeout", 0, XVT_OPT_TIME, "SEC",
	  "take a machine that is silent for this long as it is (default 2)"),
	O(memory_bytes, "memory", 'm', XVT_OPT_SIZE, "SIZE",
	  "most memory for copies of rings, half of it split between the machines (default: all "
	  "fit)"),
	O(when, "when", 0, XVT_OPT_LIST, "CONDITION",
	  "wait for 'event GLOB [FILTER]': an event like the glob, as of report -e and --filter; "
	  "'loss [MACHINE]'; 'crash [MACHINE]'; or 'still SECONDS [MACHINE]'; again for others"),
	O(qmp, "qmp", 0, XVT_OPT_LIST, "NAME=SOCKET",
	  "with --when crash: the QMP socket of the machine NAME (of -d: libvirt reports)"),
	O(before_ns, "before", 0, XVT_OPT_TIME, "SEC",
	  "leave out what is older than this before the moment, or before the event of --when "
	  "(default: all that the rings hold)"),
	O(after_ns, "after", 0, XVT_OPT_TIME, "SEC",
	  "with --when: go on for this long after the event (default 0)"),
	O(files, "files", 0, XVT_OPT_COUNT, "N",
	  "with --when: end after N files, FILE-1.xvt and so on (default 1: FILE.xvt)"),
	O(per_minute, "per-minute", 0, XVT_OPT_COUNT, "N",
	  "with --when: write at most N files a minute, 60 or less (default 2)"),
	O(quiet, "quiet", 'q', XVT_OPT_BOOL, NULL, "print no summary"),
	XVT_OPT_END,
};

/* Machines that have no event are watched, too. One that cannot be is recorded all the same. */
static void tell_machines(struct xvt_session *s, struct xvt_armed *watched)
{
	struct xvt_error why;
	struct xvt_vm *vm;
	size_t i;

	for (i = 0; watched && (vm = xvt_session_vm(s, i)); i++) {
		if (xvt_armed_takes(watched, xvt_session_vm_name(vm), xvt_session_vm_path(vm),
				    xvt_session_vm_uuid(vm), xvt_session_vm_rings_most(vm),
				    &why) < 0)
			xvt_warn("--when", "%s is not watched: %s", xvt_session_vm_name(vm),
				 why.text);
	}
}

/* Add the machines of the first snapshot: a domain that crashed is none of libvirt's any more, and
 * its region is there. A machine that cannot be read is left out. Returns an exit status. */
static int add_known(const struct snapshot_options *opt, struct xvt_session *s,
		     const struct xvt_armed *watched)
{
	struct xvt_error why;
	size_t i, n = 0;

	for (i = 0; i < xvt_armed_count(watched); i++) {
		const struct xvt_armed_machine *m = xvt_armed_at(watched, i);

		if (xvt_session_add_rings(s, m->name, m->path, NULL, true, m->rings_most, &why)) {
			xvt_error(m->name, "left out: %s", why.text);
			continue;
		}
		xvt_machine_trust(s, &opt->machines, m->name);
		n++;
	}
	return n ? XVT_EXIT_OK : XVT_EXIT_FAIL;
}

/* Take one into a file. Returns an exit status, after an error message. */
static int take_into(const struct snapshot_options *opt, const char *output, uint64_t since_ns,
		     struct xvt_taken *taken)
{
	struct xvt_session_options so = {
		.mode = XVT_ENABLE_OVERWRITE,
		.kind = XVT_SESSION_SNAPSHOT,
		.snapshot_before_ns = opt->before_ns,
		.snapshot_since_ns = since_ns,
		.join_timeout_ns = opt->stall_timeout_ns,
		.stall_timeout_ns = opt->stall_timeout_ns,
		.memory_bytes = opt->memory_bytes ? opt->memory_bytes : XVT_MEMORY_ALL,
	};
	struct xvt_recording rec = { .command = "snapshot",
				     .output = output,
				     .quiet = opt->quiet || opt->looked,
				     .signal_fd = -1 };
	const bool known = xvt_armed_count(taken->watched) > 0;
	int status, err;
	bool whole;

	xvt_limit_core();
	status = xvt_recording_begin(&rec, &so, known ? NULL : &opt->machines);
	if (status != XVT_EXIT_OK)
		return status;
	if (known)
		status = add_known(opt, rec.session, taken->watched);
	else
		tell_machines(rec.session, taken->watched);
	if (status != XVT_EXIT_OK)
		return xvt_recording_end(&rec, status, 0);
	err = xvt_recording_watch_signals(&rec);
	if (!err)
		err = xvt_recording_take_snapshot(&rec);
	taken->machines = xvt_session_machines(rec.session);
	whole = xvt_session_snapshot_done(rec.session, &taken->moment_ns);
	status = xvt_recording_end(&rec, XVT_EXIT_OK, err);
	/* A signal that came when the snapshot was whole is read by the end. */
	taken->stopped = rec.stop;
	if (rec.signal_fd >= 0)
		close(rec.signal_fd);
	if (status == XVT_EXIT_OK && !whole && !(opt->when.n && rec.stop)) {
		xvt_error("snapshot", "ended before it was whole");
		status = XVT_EXIT_FAIL;
	}
	return status;
}

static int snapshot(const struct snapshot_options *opt)
{
	struct xvt_taken taken = { .watched = NULL };
	int status = take_into(opt, opt->output, 0, &taken);

	if (status == XVT_EXIT_OK && !opt->quiet)
		fprintf(stderr,
			"xvtrace: %s: what %zu machines held at %" PRIu64 ".%09" PRIu64 "\n",
			opt->output, taken.machines, taken.moment_ns / SECOND_NS,
			taken.moment_ns % SECOND_NS);
	return status;
}

static int take_again(void *arg, const char *output, uint64_t since_ns, struct xvt_taken *taken)
{
	struct snapshot_options *opt = arg;
	int status = take_into(opt, output, since_ns, taken);

	opt->looked = true;
	return status;
}

/* --when */
static int wait_for(struct snapshot_options *opt)
{
	const struct xvt_snapshot_when when = {
		.output = opt->output,
		.conditions = &opt->when,
		.after_ns = opt->after_ns,
		.files = opt->files ? opt->files : 1,
		.per_minute = opt->per_minute ? opt->per_minute : 2,
		.qmp = &opt->qmp,
		.libvirt_uri = opt->machines.libvirt_uri,
		.quiet = opt->quiet,
		.take = take_again,
		.arg = opt,
	};

	if (when.per_minute <= XVT_SNAPSHOT_MINUTE_MOST && when.files <= XVT_SNAPSHOT_FILES_MOST)
		return xvt_snapshot_when(&when);
	xvt_error("snapshot", "--per-minute is at most %u, --files at most %u",
		  XVT_SNAPSHOT_MINUTE_MOST, XVT_SNAPSHOT_FILES_MOST);
	return XVT_EXIT_USAGE;
}

static int cmd_snapshot(const struct xvt_command *cmd, int argc, char **argv)
{
	struct snapshot_options opt = { .stall_timeout_ns = 2000000000ull,
					.before_ns = XVT_SNAPSHOT_ALL };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL), status;

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (first < argc) {
		xvt_error(argv[first], "not an option; a region is given as -r NAME=REGION");
		return XVT_EXIT_USAGE;
	}
	status = xvt_recording_options("snapshot", opt.output, &opt.machines);
	if (status == XVT_EXIT_OK && !opt.when.n &&
	    (opt.after_ns || opt.files || opt.per_minute || opt.qmp.n)) {
		xvt_error("snapshot", "--after, --files, --per-minute and --qmp belong to --when");
		status = XVT_EXIT_USAGE;
	}
	if (status == XVT_EXIT_OK && !xvt_output_ok(opt.output))
		status = XVT_EXIT_USAGE;
	if (status != XVT_EXIT_OK)
		return status;
	return opt.when.n ? wait_for(&opt) : snapshot(&opt);
}

const struct xvt_command xvt_cmd_snapshot = {
	.name = "snapshot",
	.args = "-o FILE.xvt [-r [NAME=]REGION]... [-d DOMAIN]... [--when CONDITION]...",
	.brief = "write what flight recorders hold now; they go on recording",
	.opts = options,
	.run = cmd_snapshot,
};
