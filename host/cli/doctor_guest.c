// SPDX-License-Identifier: GPL-2.0
/* doctor_guest.c - see doctor_guest.h. */
#include "cli/doctor_guest.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/out.h"
#include "cli/cmd.h"

static const char *device_text(enum xvt_stock_device device)
{
	static const char *const texts[] = {
		[XVT_STOCK_AUTO] = "no memory",
		[XVT_STOCK_RAM] = "a part of its RAM, a file of its own",
		[XVT_STOCK_RESERVE] = "a part of its RAM that its kernel chooses",
		[XVT_STOCK_VIRTIO_PMEM] = "the memory of a virtio-pmem device",
		[XVT_STOCK_IVSHMEM] = "the memory of an ivshmem device",
	};

	return texts[device];
}

/* ------------------------------------------------------------------ as text */

static void put_step(struct xvt_out *o, unsigned int *n, const char *text)
{
	xvt_out_printf(o, "\n%u. %s\n", ++*n, text);
}

/* A word of QEMU's as a shell takes it: none has a quote. */
static void put_word(struct xvt_out *o, const char *word)
{
	xvt_out_printf(o, strpbrk(word, "$*") ? "'%s'" : "%s", word);
}

/* An option and its value are on one line, and the lines are one command. */
static void put_vmm(struct xvt_out *o, const struct xvt_stock_request *r,
		    const struct xvt_stock_plan *p)
{
	size_t i;

	for (i = 0; i < p->nr_vmm; i++) {
		const char *text = p->vmm[i].text;
		const bool goes_on = !r->libvirt && i + 1 < p->nr_vmm;

		xvt_out_str(o, !r->libvirt && text[0] != '-' ? " " : "    ");
		if (r->libvirt)
			xvt_out_str(o, text);
		else
			put_word(o, text);
		if (goes_on && p->vmm[i + 1].text[0] != '-')
			continue;
		xvt_out_str(o, goes_on ? " \\\n" : "\n");
	}
}

static void put_plan(struct xvt_out *o, const struct xvt_stock_request *r,
		     const struct xvt_stock_plan *p)
{
	unsigned int step = 0;
	size_t i;

	xvt_out_printf(o, "%s: Linux %u.%u, nothing installed; a ring of %" PRIu64 " MiB in %s\n",
		       r->name, p->major, p->minor, p->ring_bytes >> 20, device_text(p->device));
	if (p->prepare[0]) {
		put_step(o, &step, "On the host, before each start of the VMM:");
		xvt_out_printf(o, "    %s\n", p->prepare);
	}
	if (r->libvirt)
		put_step(o, &step, "In the domain's XML, by virsh edit, in place of what it has:");
	else
		xvt_out_printf(
			o, "\n%u. QEMU's arguments, in place of its -m, with -smp %" PRIu64 ":\n",
			++step, r->cpus);
	put_vmm(o, r, p);
	put_step(o, &step, "Behind the words of the guest kernel's command line:");
	xvt_out_printf(o, "    %s\n", p->kernel_words);
	put_step(o, &step,
		 "On the host, once for this kernel, whose file is in the guest's /boot: names of "
		 "its events:");
	xvt_out_printf(o, "    %s\n", p->formats);
	put_step(o, &step,
		 p->prepare[0] ? "On the host, before the VMM runs, or then; ^C ends it:"
			       : "On the host, once the domain runs; ^C ends it:");
	xvt_out_printf(o, "    %s\n", p->record);
	put_step(o, &step, "What it has:");
	xvt_out_printf(o, "    xvtrace report %s.xvt\n", r->name);
	for (i = 0; i < p->nr_notes; i++)
		xvt_out_printf(o, "%snote: %s\n", i ? "" : "\n", p->notes[i].text);
}

/* ------------------------------------------------------------------ as JSON */

static void add_texts(struct xvt_json *to, const char *key, const struct xvt_stock_text *texts,
		      size_t n)
{
	struct xvt_json *list = xvt_json_add_array(to, key);
	size_t i;

	for (i = 0; i < n; i++)
		xvt_json_add_text(list, NULL, texts[i].text);
}

static void add_plan(struct xvt_json *doc, const struct xvt_stock_request *r,
		     const struct xvt_stock_plan *p)
{
	xvt_json_add_null(doc, "why");
	xvt_json_add_text(doc, "name", r->name);
	xvt_json_add_u64(doc, "ring_bytes", p->ring_bytes);
	xvt_json_add_text(doc, "file", p->file);
	if (p->prepare[0])
		xvt_json_add_text(doc, "prepare", p->prepare);
	else
		xvt_json_add_null(doc, "prepare");
	add_texts(doc, r->libvirt ? "domain" : "qemu", p->vmm, p->nr_vmm);
	xvt_json_add_text(doc, "kernel_words", p->kernel_words);
	xvt_json_add_text(doc, "formats", p->formats);
	xvt_json_add_text(doc, "record", p->record);
	add_texts(doc, "notes", p->notes, p->nr_notes);
}

static int write_json(struct xvt_out *o, const struct xvt_stock_request *r,
		      const struct xvt_stock_plan *p, const char *why)
{
	struct xvt_json *doc = xvt_json_new();

	xvt_json_add_text(doc, "format", "xvtrace-doctor-guest/1");
	xvt_json_add_text(doc, "kernel", r->kernel);
	xvt_json_add_text(doc, "vmm", r->libvirt ? "libvirt" : "qemu");
	xvt_json_add_text(doc, "device", xvt_stock_device_name(p->device));
	xvt_json_add_bool(doc, "possible", !why);
	if (why)
		xvt_json_add_text(doc, "why", why);
	else
		add_plan(doc, r, p);
	return xvt_json_write(doc, o);
}

int xvt_doctor_guest(const struct xvt_stock_request *request, bool json)
{
	static struct xvt_stock_plan plan;
	static struct xvt_out out;
	const char *what;
	struct xvt_error why;
	const int refused = xvt_stock_plan(request, &plan, &what, &why);
	int err = 0, end_err;

	if (refused == -EINVAL) {
		xvt_error(what, "%s", why.text);
		return XVT_EXIT_USAGE;
	}
	if (refused && !json) {
		xvt_error("doctor", "Linux %u.%u%s%s: %s", plan.major, plan.minor,
			  request->device ? ", --device " : "",
			  request->device ? xvt_stock_device_name(request->device) : "", why.text);
		return XVT_EXIT_FAIL;
	}
	err = xvt_out_open(&out, "-");
	if (!err && json)
		err = write_json(&out, request, &plan, refused ? why.text : NULL);
	else if (!err)
		put_plan(&out, request, &plan);
	end_err = xvt_out_close(&out);
	err = err ? err : end_err;
	if (err)
		xvt_error("stdout", "cannot write: %s", strerror(-err));
	return err || refused ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}
