// SPDX-License-Identifier: GPL-2.0
/* machines.c - see machines.h. */
#include "cli/machines.h"

#include "vmm/libvirt.h"
#include "xvt_abi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RINGS ",rings="

/* Refuse a second machine of a name: readers distinguish machines by their names. */
static bool name_taken(const struct xvt_session *s, const char *name)
{
	if (!xvt_session_find(s, name))
		return false;
	xvt_error(name, "two machines have this name; give each region one of its own by -r "
			"NAME=REGION, and each domain once");
	return true;
}

/*
 * Parse "ARG,rings=N". *rings: N, unchanged without ",rings=". *len: the length of ARG. Returns
 * false, after an error message, if N is invalid.
 */
static bool split_rings(const char *arg, size_t *len, uint32_t *rings)
{
	const char *at = strrchr(arg, ',');
	unsigned long n;
	char *end;

	*len = strlen(arg);
	if (!at || strncmp(at, RINGS, strlen(RINGS)) != 0)
		return true;
	*len = (size_t)(at - arg);
	at += strlen(RINGS);
	errno = 0;
	n = strtoul(at, &end, 10);
	if (*at < '0' || *at > '9' || *end || errno || !n || n > XVT_RING_COUNT_MAX) {
		xvt_error(arg, "rings=N is the number of rings to record: 1 to %u",
			  XVT_RING_COUNT_MAX);
		return false;
	}
	*rings = (uint32_t)n;
	return true;
}

static int add_region(struct xvt_session *s, const char *arg)
{
	const char *eq = strchr(arg, '=');
	char name[XVT_NAME_LEN], path[PATH_MAX], why[512];
	uint32_t rings = XVT_RINGS_USUAL;
	size_t len;
	int err;

	if (!split_rings(arg, &len, &rings))
		return XVT_EXIT_USAGE;
	if (!eq || eq == arg || (size_t)(eq - arg) >= sizeof(name) || eq + 1 >= arg + len ||
	    len - (size_t)(eq + 1 - arg) >= sizeof(path)) {
		xvt_error(arg, "a region is given as NAME=PATH, like g1=/dev/shm/g1");
		return XVT_EXIT_USAGE;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(eq - arg), arg);
	if (name_taken(s, name))
		return XVT_EXIT_USAGE;
	snprintf(path, sizeof(path), "%.*s", (int)(arg + len - eq - 1), eq + 1);
	err = xvt_session_add_rings(s, name, path, NULL, true, rings, why, sizeof(why));
	if (!err)
		return XVT_EXIT_OK;
	if (err == -ENOENT)
		xvt_error(path,
			  "%s; QEMU makes it when it starts, or `truncate -s 4M %s` does before "
			  "the guest starts",
			  why, path);
	else
		xvt_error(path, "%s", why);
	return XVT_EXIT_FAIL;
}

/* Rings to record of a domain: one for each vCPU and as many for threads, but at least the usual.
 */
static uint32_t rings_of(const struct xvt_domain *domain)
{
	const uint64_t rings = 2ull * domain->vcpus;

	return rings > XVT_RINGS_USUAL && rings <= XVT_RING_COUNT_MAX ? (uint32_t)rings
								      : XVT_RINGS_USUAL;
}

static int add_domain(struct xvt_session *s, const char *libvirt_uri, const char *arg)
{
	struct xvt_domain domain;
	char name[sizeof(domain.name)], why[512];
	uint32_t rings = 0;
	size_t len;

	if (!split_rings(arg, &len, &rings))
		return XVT_EXIT_USAGE;
	/* Check the name before the call to libvirt, which may be absent. */
	snprintf(name, sizeof(name), "%.*s", (int)len, arg);
	if (name_taken(s, name))
		return XVT_EXIT_USAGE;
	if (!xvt_libvirt_find(libvirt_uri, name, &domain, why, sizeof(why)) &&
	    !xvt_session_add_rings(s, domain.name, domain.region, domain.uuid, true,
				   rings ? rings : rings_of(&domain), why, sizeof(why)))
		return XVT_EXIT_OK;
	xvt_error(name, "%s", why);
	return XVT_EXIT_FAIL;
}

/* --trust-guest-clock */
static int trust(struct xvt_session *s, const struct xvt_opt_list *names)
{
	size_t i;

	for (i = 0; i < names->n; i++) {
		struct xvt_vm *vm = xvt_session_find(s, names->v[i]);

		if (!vm) {
			xvt_error(names->v[i],
				  "--trust-guest-clock belongs to a machine of -r or -d, and none "
				  "has that name");
			return XVT_EXIT_USAGE;
		}
		xvt_session_vm_trust_clock(vm);
	}
	return XVT_EXIT_OK;
}

const char *xvt_region_hint(int err)
{
	return err == -EAGAIN ? "; is the module loaded in the guest?" : "";
}

int xvt_machines_add(struct xvt_session *s, const struct xvt_machine_options *opt)
{
	int status = XVT_EXIT_OK;
	size_t i;

	for (i = 0; status == XVT_EXIT_OK && i < opt->regions.n; i++)
		status = add_region(s, opt->regions.v[i]);
	for (i = 0; status == XVT_EXIT_OK && i < opt->domains.n; i++)
		status = add_domain(s, opt->libvirt_uri, opt->domains.v[i]);
	return status == XVT_EXIT_OK ? trust(s, &opt->trusted) : status;
}
