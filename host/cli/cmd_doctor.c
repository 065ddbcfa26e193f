// SPDX-License-Identifier: GPL-2.0
/* cmd_doctor.c - `xvtrace doctor`: problems of this host, and the cost of an event on it; or with
 * --guest what a guest is started with. */
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/doctor_guest.h"
#include "doctor/doctor.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct doctor_options {
	bool json;
	/* of --guest */
	const char *kernel;
	unsigned int vmm; /* 1: libvirt */
	unsigned int device;
	const char *events;
	const char *name;
	const char *file;
	uint64_t ram_bytes;
	uint64_t ring_bytes;
	uint64_t cpus;
};

static const struct xvt_opt options[] = {
	XVT_OPT(struct doctor_options, json, "json", 0, XVT_OPT_BOOL, NULL, "as JSON"),
	XVT_OPT(struct doctor_options, kernel, "guest", 0, XVT_OPT_STRING, "VERSION",
		"print what a guest with this kernel is started with, so that it is recorded with "
		"nothing installed in it"),
	XVT_OPT(struct doctor_options, vmm, "vmm", 0, XVT_OPT_CHOICE, "qemu|libvirt",
		"its VMM, by QEMU's arguments or by the domain's XML", .usual = "qemu"),
	XVT_OPT(struct doctor_options, events, "events", 'e', XVT_OPT_STRING, "SYS[:EVENT],...",
		"its events", .usual = "sched,irq"),
	XVT_OPT(struct doctor_options, name, "name", 0, XVT_OPT_STRING, "NAME",
		"its name; that of the libvirt domain", .usual = "g1"),
	XVT_OPT(struct doctor_options, ram_bytes, "memory", 'm', XVT_OPT_SIZE, "SIZE", "its RAM",
		.usual = "2G"),
	XVT_OPT(struct doctor_options, cpus, "cpus", 0, XVT_OPT_COUNT, "N", "its vCPUs",
		.usual = "2", .least = 1, .most = 256),
	XVT_OPT(struct doctor_options, ring_bytes, "ring", 0, XVT_OPT_SIZE, "SIZE",
		"the ring of all vCPUs (default: 8M for each)"),
	XVT_OPT(struct doctor_options, device, "device", 0, XVT_OPT_CHOICE, XVT_STOCK_DEVICES,
		"the ring's memory; auto: by the kernel's version", .usual = "auto"),
	XVT_OPT(struct doctor_options, file, "file", 0, XVT_OPT_STRING, "FILE",
		"that the memory is (default: /dev/shm/NAME-ring)"),
	XVT_OPT_END,
};

/* Say that an option has no effect. Returns false if one has none. */
static bool check_options(const struct doctor_options *opt)
{
	const struct xvt_opt *o;
	struct doctor_options usual = { 0 };

	if (opt->kernel)
		return true;
	xvt_opt_set_defaults(options, &usual, false);
	for (o = options; o->name; o++) {
		if (o->offset != offsetof(struct doctor_options, json) &&
		    !xvt_opt_same(o, opt, &usual)) {
			xvt_error("doctor", "--%s belongs to --guest VERSION", o->name);
			return false;
		}
	}
	return true;
}

static int plan_guest(const struct doctor_options *opt)
{
	const struct xvt_stock_request request = {
		.kernel = opt->kernel,
		.events = opt->events,
		.name = opt->name,
		.file = opt->file,
		.ram_bytes = opt->ram_bytes,
		.ring_bytes = opt->ring_bytes,
		.cpus = opt->cpus,
		.libvirt = opt->vmm,
		.device = (enum xvt_stock_device)opt->device,
	};

	return xvt_doctor_guest(&request, opt->json);
}

static void add_text_or_null(struct xvt_json *to, const char *key, const char *text)
{
	if (text[0])
		xvt_json_add_text(to, key, text);
	else
		xvt_json_add_null(to, key);
}

static void add_ns_or_null(struct xvt_json *to, const char *key, bool known, double ns)
{
	if (known)
		xvt_json_add_real(to, key, ns);
	else
		xvt_json_add_null(to, key);
}

static bool true_error_known(const struct xvt_cost *c)
{
	return c->has_bound && c->offset_known && !c->offset_refuted;
}

static void add_clock(struct xvt_json *doc, const struct xvt_cost *c)
{
	struct xvt_json *clock = xvt_json_add_object(doc, "clock");

	xvt_json_add_text(clock, "source", c->has_bound ? "handshake" : "none");
	if (c->has_bound)
		xvt_json_add_u64(clock, "bound_ns", c->bound_ns);
	else
		xvt_json_add_null(clock, "bound_ns");
	if (true_error_known(c))
		xvt_json_add_u64(clock, "true_error_ns", c->true_error_ns);
	else
		xvt_json_add_null(clock, "true_error_ns");
}

static int print_json(const struct xvt_doctor *d)
{
	struct xvt_json *doc = xvt_json_new(), *o;
	const struct xvt_cost *c = &d->cost;
	struct xvt_out out;
	unsigned int i;
	int err, end_err;

	xvt_json_add_text(doc, "format", "xvtrace-doctor/1");
	o = xvt_json_add_object(doc, "kvm");
	xvt_json_add_bool(o, "present", d->kvm_present);
	xvt_json_add_bool(o, "hardware", d->kvm_hardware);
	xvt_json_add_bool(doc, "io_uring", d->io_uring);
	xvt_json_add_bool(doc, "sandbox", d->sandbox);
	xvt_json_add_bool(doc, "empty_root", d->empty_root);
	xvt_json_add_bool(doc, "namespaces", d->namespaces);
	xvt_json_add_bool(doc, "own_user", d->own_user);
	o = xvt_json_add_object(doc, "tsc");
	xvt_json_add_bool(o, "invariant", d->tsc_invariant);
	xvt_json_add_u64(o, "hz", c->tsc_hz);
	add_text_or_null(doc, "qemu", d->qemu);
	add_text_or_null(doc, "libvirt", d->libvirt);
	xvt_json_add_text(doc, "measured_in", c->in_vm ? "micro-vm" : "process");
	add_ns_or_null(doc, "rdtsc_ns", d->cost_known, c->clock_ns);
	add_ns_or_null(doc, "event_ns", d->cost_known, c->event_ns);
	add_ns_or_null(doc, "event_over_rdtsc", d->cost_known, c->event_ns / c->clock_ns);
	add_clock(doc, c);
	o = xvt_json_add_array(doc, "problems");
	for (i = 0; i < d->nr_problems; i++) {
		struct xvt_json *p = xvt_json_add_object(o, NULL);

		xvt_json_add_text(p, "what", d->problems[i].what);
		xvt_json_add_text(p, "fix", d->problems[i].fix);
		xvt_json_add_bool(p, "blocks", d->problems[i].blocks);
	}
	err = xvt_out_open(&out, "-");
	if (err)
		return err;
	err = xvt_json_write(doc, &out);
	end_err = xvt_out_close(&out);
	return err ? err : end_err;
}

static void print_cost(const struct xvt_doctor *d)
{
	const struct xvt_cost *c = &d->cost;

	if (!d->cost_known)
		return;
	printf("measured    %s\n", c->in_vm ? "in a micro-VM, at user level"
					    : "in this process: there is no micro-VM here");
	printf("clock read  %.1f ns, with a store of 16 bytes\n", c->clock_ns);
	printf("event       %.1f ns of 16 bytes: %.2f x the clock read\n", c->event_ns,
	       c->event_ns / c->clock_ns);
	if (!c->has_bound)
		return;
	printf("clock       by handshake, within %" PRIu64 " ns", c->bound_ns);
	if (true_error_known(c))
		printf(" (in truth off by %" PRIu64 " ns)", c->true_error_ns);
	printf("\n");
}

static int print_text(const struct xvt_doctor *d)
{
	unsigned int i;

	printf("KVM         %s\n", !d->kvm_present   ? "no"
				   : d->kvm_hardware ? "yes, by the hardware"
						     : "yes, but emulated by software");
	printf("io_uring    %s\n", d->io_uring ? "yes" : "no, epoll instead");
	printf("sandbox     %s\n", d->sandbox ? "yes, for traces of others" : "no");
	printf("recorder    %s, %s, %s\n",
	       d->empty_root ? "in an empty root directory" : "in the host's root directory",
	       d->namespaces ? "a network and an IPC of its own" : "the host's network and IPC",
	       d->own_user ? "a user of its own" : "its caller's user");
	printf("TSC         %s, %.3f MHz\n", d->tsc_invariant ? "invariant" : "not invariant",
	       (double)d->cost.tsc_hz / 1e6);
	printf("QEMU        %s\n", d->qemu[0] ? d->qemu : "no");
	printf("libvirt     %s\n", d->libvirt[0] ? d->libvirt : "no");
	print_cost(d);
	if (!d->nr_problems)
		printf("\nnothing is wrong\n");
	for (i = 0; i < d->nr_problems; i++)
		printf("\n%s: %s\n    fix: %s\n", d->problems[i].blocks ? "ERROR" : "warning",
		       d->problems[i].what, d->problems[i].fix);
	return fflush(stdout) ? -errno : 0;
}

static int cmd_doctor(const struct xvt_command *cmd, int argc, char **argv)
{
	struct doctor_options opt = { 0 };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL), err;
	static struct xvt_doctor doctor;
	unsigned int i;

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (first != argc) {
		xvt_error("doctor", "takes no arguments");
		return XVT_EXIT_USAGE;
	}
	if (!check_options(&opt))
		return XVT_EXIT_USAGE;
	if (opt.kernel)
		return plan_guest(&opt);
	xvt_doctor_examine(&doctor);
	err = opt.json ? print_json(&doctor) : print_text(&doctor);
	if (err) {
		xvt_error("stdout", "cannot write: %s", strerror(-err));
		return XVT_EXIT_FAIL;
	}
	for (i = 0; i < doctor.nr_problems; i++) {
		if (doctor.problems[i].blocks)
			return XVT_EXIT_FAIL;
	}
	return XVT_EXIT_OK;
}

const struct xvt_command xvt_cmd_doctor = {
	.name = "doctor",
	.args = "[--guest VERSION]",
	.brief = "is this host ready, and what does an event cost here",
	.opts = options,
	.run = cmd_doctor,
};
