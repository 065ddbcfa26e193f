// SPDX-License-Identifier: GPL-2.0
/* machines.c - see machines.h. */
#include "machines.h"

#include "vm_libvirt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Readers tell machines by their names. */
static bool name_taken(const struct xvt_session *s, const char *name)
{
	if (!xvt_session_find(s, name))
		return false;
	xvt_error(name, "two machines have this name; give each region one of its own by -r "
			"NAME=REGION, and each domain once");
	return true;
}

static int add_region(struct xvt_session *s, const char *arg)
{
	const char *eq = strchr(arg, '=');
	char name[XVT_NAME_LEN], why[512];
	int err;

	if (!eq || eq == arg || (size_t)(eq - arg) >= sizeof(name) || !eq[1]) {
		xvt_error(arg, "a region is given as NAME=PATH, like g1=/dev/shm/g1");
		return XVT_EXIT_USAGE;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(eq - arg), arg);
	if (name_taken(s, name))
		return XVT_EXIT_USAGE;
	err = xvt_session_add(s, name, eq + 1, NULL, true, why, sizeof(why));
	if (!err)
		return XVT_EXIT_OK;
	if (err == -ENOENT)
		xvt_error(eq + 1,
			  "%s; QEMU makes it when it starts, or `truncate -s 4M %s` does before "
			  "the guest starts",
			  why, eq + 1);
	else
		xvt_error(eq + 1, "%s", why);
	return XVT_EXIT_FAIL;
}

static int add_domain(struct xvt_session *s, const char *libvirt_uri, const char *arg)
{
	struct xvt_domain domain;
	char why[512];

	/* By its name as the session has it; before libvirt is asked, which may not be there. */
	snprintf(domain.name, sizeof(domain.name), "%s", arg);
	if (name_taken(s, domain.name))
		return XVT_EXIT_USAGE;
	if (!xvt_libvirt_find(libvirt_uri, arg, &domain, why, sizeof(why)) &&
	    !xvt_session_add(s, domain.name, domain.region, domain.uuid, true, why, sizeof(why)))
		return XVT_EXIT_OK;
	xvt_error(arg, "%s", why);
	return XVT_EXIT_FAIL;
}

const char *xvt_region_hint(int err)
{
	return err == -EAGAIN ? "; is the module loaded in the guest?" : "";
}

int xvt_machines_add(struct xvt_session *s, const struct xvt_opt_list *regions,
		     const struct xvt_opt_list *domains, const char *libvirt_uri)
{
	int status = XVT_EXIT_OK;
	size_t i;

	for (i = 0; status == XVT_EXIT_OK && i < regions->n; i++)
		status = add_region(s, regions->v[i]);
	for (i = 0; status == XVT_EXIT_OK && i < domains->n; i++)
		status = add_domain(s, libvirt_uri, domains->v[i]);
	return status;
}
