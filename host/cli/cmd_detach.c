// SPDX-License-Identifier: GPL-2.0
/* cmd_detach.c - `xvtrace detach`: take a region out of a machine, and remove it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/region.h"
#include "cli/cmd.h"
#include "cli/plug.h"
#include "record/bell_server.h"
#include "record/find.h"
#include "vmm/libvirt.h"
#include "vmm/processes.h"
#include "vmm/qmp_plug.h"

struct detach_options {
	uint64_t timeout_ns;
	const char *libvirt_uri;
	const char *qmp;
};

static const struct xvt_opt options[] = {
	XVT_OPT(struct detach_options, timeout_ns, "timeout", 0, XVT_OPT_TIME, "SEC",
		"wait this long for the guest to give the device back (default 30)"),
	XVT_OPT(struct detach_options, libvirt_uri, "connect", 'c', XVT_OPT_STRING, "URI",
		"libvirt to ask (default: its own)"),
	XVT_OPT(struct detach_options, qmp, "qmp", 0, XVT_OPT_STRING, "SOCKET",
		"a QEMU without libvirt, by its QMP socket; DOMAIN is the name that it got"),
	XVT_OPT_END,
};

struct waiting {
	const struct detach_options *opt;
	const char *name;
	int has; /* the machine has the device; or -errno */
	struct xvt_error why;
};

static bool is_out(void *arg)
{
	struct waiting *w = arg;

	if (w->opt->qmp) {
		w->has = xvt_qmp_unplugged(w->opt->qmp, &w->why);
		w->has = w->has < 0 ? w->has : !w->has;
	} else {
		w->has = xvt_libvirt_has_region(w->opt->libvirt_uri, w->name, &w->why);
	}
	return w->has <= 0;
}

/* Ask for the device. Returns 0 or -errno with w->why; *region: the path, or "". */
static int take_out(struct waiting *w, char region[XVT_PLUG_PATH])
{
	struct xvt_domain domain;
	int err;

	if (w->opt->qmp)
		return xvt_qmp_unplug(w->opt->qmp, &w->why);
	err = xvt_libvirt_detach(w->opt->libvirt_uri, w->name, &domain, &w->why);
	snprintf(region, XVT_PLUG_PATH, "%s", domain.region);
	return err;
}

struct users {
	struct xvt_mapped_file file;
	bool other; /* a process maps it that does not record it */
};

static void on_mapping(void *arg, int32_t pid, size_t file)
{
	struct users *u = arg;

	(void)file;
	if (pid != xvt_file_locker(&u->file))
		u->other = true;
}

static void on_vhost(void *arg, int32_t tid, const char *name, int32_t pid)
{
	(void)arg;
	(void)tid;
	(void)name;
	(void)pid;
}

/* Whether a process maps the file, as QEMU does. A recorder does not count. */
static bool is_mapped(const struct xvt_mapped_file *file)
{
	struct users users = { .file = *file };
	const struct xvt_process_finder finder = { on_mapping, on_vhost, &users };
	struct xvt_process_search *search;

	if (xvt_process_search_begin(&search, &finder, file, 1))
		return true;
	while (!xvt_process_search_step(search, UINT64_MAX))
		;
	xvt_process_search_end(search);
	return users.other;
}

/* The server of a doorbell has the file open, too, but does not map it. */
static bool is_used(const char *region, const struct xvt_mapped_file *file)
{
	if (xvt_bell_server_runs(region))
		return is_mapped(file);
	return xvt_file_has_writer(region) == 1 && !xvt_file_locker(file);
}

/* A domain that ended with a device plugged in has no device any more, but its file is still there.
 * Returns 0 with its path in `region`, -ENODEV: there is none, or -EBUSY with w->why. */
static int find_left_file(struct waiting *w, char region[XVT_PLUG_PATH])
{
	struct stat st;

	snprintf(region, XVT_PLUG_PATH, "%s/" XVT_REGION_PREFIX "%s", xvt_host_region_dir(),
		 w->name);
	if (strchr(w->name, '/') || lstat(region, &st) || !S_ISREG(st.st_mode))
		return -ENODEV;
	if (is_used(region, &(struct xvt_mapped_file){ st.st_dev, st.st_ino }))
		return xvt_fail(&w->why, -EBUSY,
				"it has no region, and %.300s is in use by another process",
				region);
	return 0;
}

/* Whether the machine may have ended and left its file: it is there without a device; or there is
 * no such machine any more. A libvirt that cannot be asked proves that by the doorbell's server. */
static bool may_have_left(const struct waiting *w, int err)
{
	char region[XVT_PLUG_PATH];

	if (err == -ENODEV)
		return !w->opt->qmp;
	if (err != -ENOENT && err != -ESRCH && err != -ECONNREFUSED)
		return false;
	if (strchr(w->name, '/') || !xvt_plug_region(w->name, region))
		return false;
	return w->opt->qmp || err != -ECONNREFUSED || xvt_bell_server_runs(region);
}

/* Remove what is left of a region without a device. Returns an exit status. */
static int remove_region(const char *region)
{
	struct xvt_error why;

	if (!region[0])
		return XVT_EXIT_OK;
	if (xvt_bell_server_stop(region, &why)) {
		xvt_error(region, "the device is out, but %s", why.text);
		return XVT_EXIT_FAIL;
	}
	/* QEMU leaves the file. A recorder that has it open reads what is left in it. */
	if (unlink(region) && errno != ENOENT) {
		xvt_error(region, "the device is out, but its file cannot be removed: %s",
			  strerror(errno));
		return XVT_EXIT_FAIL;
	}
	return XVT_EXIT_OK;
}

static int detach(const struct detach_options *opt, const char *name)
{
	struct waiting w = { .opt = opt, .name = name };
	char region[XVT_PLUG_PATH] = "";
	bool left;
	int err;

	if (opt->qmp && !xvt_plug_region(name, region))
		return XVT_EXIT_USAGE;
	err = take_out(&w, region);
	left = may_have_left(&w, err);
	if (left)
		err = find_left_file(&w, region);
	if (err) {
		xvt_error(name, "%s", w.why.text);
		return XVT_EXIT_FAIL;
	}
	if (!left && !xvt_plug_wait(is_out, &w, opt->timeout_ns)) {
		xvt_error(name, "its guest has not given the device back; unload the module there "
				"(rmmod xvtrace) and try again, or shut the machine down");
		return XVT_EXIT_FAIL;
	}
	if (w.has < 0) {
		xvt_error(name, "%s", w.why.text);
		return XVT_EXIT_FAIL;
	}
	return remove_region(region);
}

static int cmd_detach(const struct xvt_command *cmd, int argc, char **argv)
{
	struct detach_options opt = { .timeout_ns = 30000000000ull };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL);

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (argc - first != 1) {
		xvt_error("detach", "name one domain: xvtrace detach DOMAIN");
		return XVT_EXIT_USAGE;
	}
	return detach(&opt, argv[first]);
}

const struct xvt_command xvt_cmd_detach = {
	.name = "detach",
	.args = "DOMAIN",
	.brief = "take the region out of a machine, and remove it",
	.opts = options,
	.run = cmd_detach,
};
