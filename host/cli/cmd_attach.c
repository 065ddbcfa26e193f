// SPDX-License-Identifier: GPL-2.0
/* cmd_attach.c - `xvtrace attach`: plug a region into a running machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cmd.h"
#include "cli/event_request.h"
#include "cli/plug.h"
#include "record/bell_server.h"
#include "record/event_lines.h"
#include "record/find.h"
#include "vmm/libvirt.h"
#include "vmm/processes.h"
#include "vmm/qmp_plug.h"

#define MIB	   (1u << 20)
#define SIZE_USUAL (16u * MIB)
#define SIZE_MOST  (1ull << 40)

struct attach_options {
	uint64_t size_bytes;
	uint64_t timeout_ns;
	const char *libvirt_uri;
	const char *qmp;
	const char *bus;
	bool config;
	bool doorbell;
	struct xvt_opt_list events;
	char request[XVT_REQUEST_LEN]; /* of these; "": none */
};

#define O(field, name, letter, type, metavar, help) \
	XVT_OPT(struct attach_options, field, name, letter, type, metavar, help)

static const struct xvt_opt options[] = {
	O(size_bytes, "size", 0, XVT_OPT_SIZE, "SIZE",
	  "size of the region, a power of two from 1M on (default 16M)"),
	O(config, "config", 0, XVT_OPT_BOOL, NULL, "also for the next starts of the domain"),
	O(doorbell, "doorbell", 0, XVT_OPT_BOOL, NULL,
	  "an ivshmem-doorbell, which wakes recorders; it stays until the machine ends"),
	O(timeout_ns, "timeout", 0, XVT_OPT_TIME, "SEC",
	  "wait this long for the guest's module (default 30; 0: do not wait)"),
	O(events, "events", 'e', XVT_OPT_WORDS, "SYS:EVENT",
	  "then ask the guest to switch this event on; SYS: all of SYS (its owner must allow it: "
	  "host_events=yes)"),
	O(libvirt_uri, "connect", 'c', XVT_OPT_STRING, "URI", "libvirt to ask (default: its own)"),
	O(qmp, "qmp", 0, XVT_OPT_STRING, "SOCKET",
	  "a QEMU without libvirt, by its QMP socket; DOMAIN is the name that it gets"),
	O(bus, "bus", 0, XVT_OPT_STRING, "BUS", "with --qmp: the PCI bus, such as a root port"),
	XVT_OPT_END,
};

/* A region that is plugged in. */
struct plugged {
	const char *region;
	uint32_t left; /* generation of an earlier guest whose file is taken again; 0: none */
};

static bool formatted(void *arg)
{
	const struct plugged *p = arg;
	struct xvt_region_look look;

	xvt_region_look(p->region, &look);
	return !look.err && look.generation != p->left;
}

/* Before the device is plugged in. */
static uint32_t generation_left(const char *region)
{
	struct xvt_region_look look;

	xvt_region_look(region, &look);
	return look.err ? 0 : look.generation;
}

/*
 * QEMU makes the file for all users to read, by a usual umask, and it has all events of the guest.
 * The file's user and group keep it. To be called before a guest has written into it.
 */
static void close_to_others(const char *name, const char *region)
{
	const int fd = open(region, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_mode & 0007 && fchmod(fd, 0660))
		xvt_warn(name,
			 "every user of this host may read its region: %s; `chmod 660 %s` as "
			 "root or its user",
			 strerror(errno), region);
	if (fd >= 0)
		close(fd);
}

/* Wait for the guest. Returns an exit status. */
static int await_guest(const struct attach_options *opt, const char *name, const char *region,
		       uint32_t left)
{
	struct plugged plugged = { region, left };
	struct xvt_region_look look;
	char undo[128];

	close_to_others(name, region);
	snprintf(undo, sizeof(undo), "`xvtrace detach %s` undoes this%s", name,
		 opt->doorbell ? ", once the machine has ended" : "");
	if (!opt->timeout_ns)
		return XVT_EXIT_OK;
	if (!xvt_plug_wait(formatted, &plugged, opt->timeout_ns)) {
		xvt_error(name,
			  "the region %s is plugged in, but its guest has not formatted it: load "
			  "the module there (modprobe xvtrace); `dmesg | grep -i -e xvtrace -e "
			  "'BAR 2'` says what it finds. A q35 machine needs a pcie-root-port with "
			  "room for it (docs/guest.md). %s",
			  region, undo);
		return XVT_EXIT_FAIL;
	}
	xvt_region_look(region, &look);
	printf("%s: %s, %u rings of its %s writer\n", name, region, look.rings,
	       xvt_region_kind_text(look.kind));
	if (fflush(stdout))
		return XVT_EXIT_FAIL;
	return xvt_event_request_send(name, region, opt->request, opt->timeout_ns);
}

/* Returns an exit status, after an error message. */
static int check(struct attach_options *opt)
{
	const uint64_t size = opt->size_bytes;

	if (size < MIB || size > SIZE_MOST || size & (size - 1))
		xvt_error("--size", "it is a power of two from 1M on, as the PCI device needs it");
	else if (opt->qmp && (opt->config || opt->libvirt_uri))
		xvt_error("--qmp", "a QEMU without libvirt has no definition: leave out --config "
				   "and --connect");
	else if (opt->bus && !opt->qmp)
		xvt_error("--bus", "libvirt chooses the bus; this option belongs to --qmp");
	else if (opt->events.n && !opt->timeout_ns)
		xvt_error("--events", "the guest is asked once its module is there: leave out "
				      "--timeout 0");
	else if (!xvt_event_lines(&opt->events, "events", opt->request, sizeof(opt->request)))
		return XVT_EXIT_OK;
	return XVT_EXIT_USAGE;
}

static bool is_there(const struct attach_options *opt, const char *name, const char *region)
{
	if (access(region, F_OK) || (!opt->doorbell && xvt_file_is_left(region, opt->size_bytes)))
		return false;
	xvt_error(name,
		  "%s is there already: the region of another machine, or of one "
		  "that has ended (xvtrace guests, xvtrace salvage); remove it first",
		  region);
	return true;
}

/* After a device was refused. */
static void undo_server(const char *region)
{
	struct xvt_error why;

	if (xvt_bell_server_stop(region, &why))
		xvt_error(region, "%s", why.text);
	else
		unlink(region);
}

/* Start the server of a region and plug its device in. Returns 0, or -errno with `why`. */
static int plug_doorbell(const struct attach_options *opt, const char *region,
			 struct xvt_error *why)
{
	char server[XVT_PLUG_PATH];
	uid_t user;
	int err = xvt_qmp_user(opt->qmp, &user, why);

	if (!err)
		err = xvt_bell_server_start(region, opt->size_bytes, user, why);
	if (err)
		return err;
	xvt_bell_server_socket(region, server);
	err = xvt_qmp_plug_doorbell(opt->qmp, server, opt->bus, why);
	if (err)
		undo_server(region);
	return err;
}

static int attach_by_qmp(const struct attach_options *opt, const char *name)
{
	char region[XVT_PLUG_PATH];
	struct xvt_error why;
	uint32_t left;
	int err;

	if (!xvt_plug_region(name, region))
		return XVT_EXIT_USAGE;
	if (is_there(opt, name, region))
		return XVT_EXIT_FAIL;
	left = generation_left(region);
	err = opt->doorbell ? plug_doorbell(opt, region, &why)
			    : xvt_qmp_plug(opt->qmp, region, opt->size_bytes, opt->bus, &why);
	if (err) {
		xvt_error(opt->qmp, "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	return await_guest(opt, name, region, left);
}

/* Start the server of a running domain's region and plug its device in. Returns an exit status. */
static int attach_doorbell(const struct attach_options *opt, const char *name,
			   struct xvt_domain *domain)
{
	char region[XVT_PLUG_PATH], server[XVT_PLUG_PATH];
	struct xvt_error why;
	int err = xvt_libvirt_find(opt->libvirt_uri, name, domain, &why);

	if (!err) {
		xvt_error(name, "it has a region already: %s", domain->region);
		return XVT_EXIT_FAIL;
	}
	if (err == -ENODEV) {
		if (!xvt_plug_region(domain->name, region) || is_there(opt, name, region))
			return XVT_EXIT_FAIL;
		err = xvt_bell_server_start(region, opt->size_bytes, domain->user, &why);
	}
	if (err) {
		xvt_error(name, "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	xvt_bell_server_socket(region, server);
	err = xvt_libvirt_attach(opt->libvirt_uri, name, 0, server, opt->config, domain, &why);
	if (!err)
		return XVT_EXIT_OK;
	undo_server(region);
	xvt_error(name, "%s", why.text);
	return XVT_EXIT_FAIL;
}

static int attach_plain(const struct attach_options *opt, const char *name,
			struct xvt_domain *domain, uint32_t *left)
{
	char region[XVT_PLUG_PATH];
	struct xvt_error why;

	if (xvt_libvirt_find(opt->libvirt_uri, name, domain, &why) == -ENODEV &&
	    xvt_plug_region(domain->name, region))
		*left = generation_left(region);
	if (!xvt_libvirt_attach(opt->libvirt_uri, name, opt->size_bytes / MIB, NULL, opt->config,
				domain, &why))
		return XVT_EXIT_OK;
	xvt_error(name, "%s", why.text);
	return XVT_EXIT_FAIL;
}

/* With --events: returns whether there is a guest that can be asked; else after an error message.
 */
static bool may_ask(const struct attach_options *opt, const char *name, struct xvt_domain *domain)
{
	struct xvt_error why;

	if (!opt->request[0] || xvt_libvirt_find(opt->libvirt_uri, name, domain, &why) != -ESRCH)
		return true;
	xvt_error(name,
		  "it does not run, so its guest cannot be asked for events, and nothing is "
		  "changed: start it first, or leave out --events; /etc/xvtrace/guest.conf of the "
		  "guest has events for each start");
	return false;
}

static int attach(const struct attach_options *opt, const char *name)
{
	struct xvt_domain domain;
	struct xvt_error why;
	uint32_t left = 0;
	int status = XVT_EXIT_FAIL;

	if (may_ask(opt, name, &domain))
		status = opt->doorbell ? attach_doorbell(opt, name, &domain)
				       : attach_plain(opt, name, &domain, &left);
	if (status != XVT_EXIT_OK)
		return status;
	if (xvt_libvirt_has_region(opt->libvirt_uri, name, &why) != 1) {
		printf("%s: defined; the domain has %s from its next start on\n", name,
		       domain.region);
		return fflush(stdout) ? XVT_EXIT_FAIL : XVT_EXIT_OK;
	}
	return await_guest(opt, name, domain.region, left);
}

static int cmd_attach(const struct xvt_command *cmd, int argc, char **argv)
{
	struct attach_options opt = { .size_bytes = SIZE_USUAL, .timeout_ns = 30000000000ull };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL);

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (argc - first != 1) {
		xvt_error("attach", "name one domain: xvtrace attach DOMAIN");
		return XVT_EXIT_USAGE;
	}
	if (check(&opt) != XVT_EXIT_OK)
		return XVT_EXIT_USAGE;
	return opt.qmp ? attach_by_qmp(&opt, argv[first]) : attach(&opt, argv[first]);
}

const struct xvt_command xvt_cmd_attach = {
	.name = "attach",
	.args = "DOMAIN",
	.brief = "plug a region into a running machine",
	.opts = options,
	.run = cmd_attach,
};
