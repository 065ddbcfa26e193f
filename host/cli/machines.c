// SPDX-License-Identifier: GPL-2.0
/* machines.c - see machines.h. */
#include "cli/machines.h"

#include "base/out.h"
#include "base/region.h"
#include "cli/find.h"
#include "vmm/libvirt.h"
#include "xvt_abi.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RINGS	   ",rings="
#define FOUND_MOST 1024u /* machines that patterns add: all users may make files in /dev/shm */

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

/* Parse "[NAME=]REGION" of `len` bytes. A path that has a '/' before its '=' has no name: *named is
 * false, and `name` is made from the path. Returns false, after an error message, if it is neither.
 */
static bool split_region(const char *arg, size_t len, char name[XVT_NAME_LEN], char path[PATH_MAX],
			 bool *named)
{
	const char *eq = memchr(arg, '=', len), *slash = memchr(arg, '/', len);
	const char *from = eq && (!slash || eq < slash) ? eq + 1 : arg;
	const size_t path_len = len - (size_t)(from - arg);

	if ((from == arg && !slash) || !path_len || path_len >= PATH_MAX ||
	    (from > arg && (eq == arg || (size_t)(eq - arg) >= XVT_NAME_LEN))) {
		xvt_error(arg, "a region is given as NAME=PATH, like g1=/dev/shm/g1, or as a path "
			       "or a pattern that has a '/'");
		return false;
	}
	snprintf(path, PATH_MAX, "%.*s", (int)path_len, from);
	*named = from > arg;
	if (*named)
		snprintf(name, XVT_NAME_LEN, "%.*s", (int)(eq - arg), arg);
	else
		xvt_region_machine(path, name);
	return true;
}

static int add_region(struct xvt_session *s, const char *name, const char *path, uint32_t rings)
{
	char why[512];
	int err;

	if (name_taken(s, name))
		return XVT_EXIT_USAGE;
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

static int add_domain(struct xvt_session *s, const char *libvirt_uri, const char *name,
		      uint32_t rings)
{
	struct xvt_domain domain;
	char why[512];

	/* Check the name before the call to libvirt, which may be absent. */
	if (name_taken(s, name))
		return XVT_EXIT_USAGE;
	if (xvt_libvirt_find(libvirt_uri, name, &domain, why, sizeof(why))) {
		xvt_error(name, "%s", why);
		return XVT_EXIT_FAIL;
	}
	if (name_taken(s, domain.name)) /* it was given by its UUID */
		return XVT_EXIT_USAGE;
	if (!xvt_session_add_rings(s, domain.name, domain.region, domain.uuid, true,
				   rings ? rings : rings_of(&domain), why, sizeof(why)))
		return XVT_EXIT_OK;
	xvt_error(name, "%s", why);
	return XVT_EXIT_FAIL;
}

/* ------------------------------------------------------------------ machines that are found */

/* Machines of a pattern, or all of this host. */
struct finding {
	struct xvt_session *s;
	const char *pattern; /* of domains; NULL: all */
	uint32_t rings;	     /* limit; 0: the usual */
	size_t matched;	     /* machines that the session has */
	size_t unused;	     /* regions without a writer, which are left out */
	char unused_path[PATH_MAX];
	bool full;
};

/* A name becomes that of a file (--clock-page), and a word of a command line. */
static bool is_name(const char *name)
{
	for (; *name; name++) {
		if ((unsigned char)*name < ' ' || *name == 0x7f || *name == '=' || *name == '/')
			return false;
	}
	return true;
}

/* Add a machine that was found. What prevents that is a warning. */
static void add_found(struct finding *f, const char *name, const char *path,
		      const struct xvt_domain *domain, bool named)
{
	uint32_t rings = f->rings ? f->rings : domain ? rings_of(domain) : XVT_RINGS_USUAL;
	char why[512];

	if (xvt_session_has_region(f->s, path)) {
		f->matched++; /* a domain's region is found in /dev/shm, too */
	} else if (f->matched >= FOUND_MOST) {
		if (!f->full)
			xvt_warn(path,
				 "left out with all that follow: one pattern adds %u "
				 "machines at most",
				 FOUND_MOST);
		f->full = true;
	} else if (!is_name(name)) {
		xvt_warn(path, "left out: its name is no name of a machine; give it one by -r "
			       "NAME=REGION");
	} else if (xvt_session_find(f->s, name)) {
		xvt_warn(path,
			 "left out: another machine is called %s, too; name this one by -r "
			 "NAME=REGION",
			 name);
	} else if (xvt_session_add_rings(f->s, name, path, domain ? domain->uuid : NULL, named,
					 rings, why, sizeof(why))) {
		xvt_warn(path, "left out: %s", why);
	} else {
		f->matched++;
	}
}

static void on_matching_file(void *arg, const char *path)
{
	char name[XVT_NAME_LEN];

	xvt_region_machine(path, name);
	add_found(arg, name, path, NULL, true);
}

/* A region without a writer has nothing to record, and what it holds would be taken from salvage.
 * One that no guest has formatted yet delays no other machine. */
static void on_any_file(void *arg, const char *path)
{
	struct finding *f = arg;
	struct xvt_region_look look;
	char name[XVT_NAME_LEN];

	if (xvt_session_has_region(f->s, path)) {
		f->matched++;
		return;
	}
	xvt_region_look(path, &look);
	if (!look.has_writer) {
		if (!f->unused++)
			snprintf(f->unused_path, sizeof(f->unused_path), "%s", path);
		return;
	}
	xvt_region_machine(path, name);
	add_found(f, name, path, NULL, !look.err);
}

static bool domain_matches(const struct xvt_domain *domain, const char *pattern)
{
	char uuid[XVT_UUID_TEXT];

	xvt_uuid_text(domain->uuid, uuid);
	return !fnmatch(pattern, domain->name, 0) || !fnmatch(pattern, uuid, 0);
}

static void on_domain(void *arg, const struct xvt_domain *domain)
{
	struct finding *f = arg;
	struct xvt_region_look look;

	if (f->pattern && !domain_matches(domain, f->pattern))
		return;
	if (!domain->region[0]) {
		if (f->pattern)
			xvt_warn(domain->name, "left out: it has no <shmem name='xvtrace-...'> "
					       "device");
		return;
	}
	xvt_region_look(domain->region, &look);
	add_found(f, domain->name, domain->region, domain, f->pattern || !look.err);
}

/* -r with a pattern */
static int add_files(struct xvt_session *s, const char *pattern, uint32_t rings)
{
	struct finding f = { .s = s, .rings = rings };
	const int err = xvt_find_files(pattern, on_matching_file, &f);

	if (err < 0)
		xvt_error(pattern, "cannot look for files: %s", strerror(-err));
	else if (!err)
		xvt_error(pattern, "no file matches this pattern");
	else if (!f.matched)
		xvt_error(pattern, "none of the files that match can be recorded");
	else
		return XVT_EXIT_OK;
	return XVT_EXIT_FAIL;
}

/* -d with a pattern */
static int add_domains(struct xvt_session *s, const char *uri, const char *pattern, uint32_t rings)
{
	struct finding f = { .s = s, .pattern = pattern, .rings = rings };
	char why[512];

	if (xvt_libvirt_domains(uri, on_domain, &f, why, sizeof(why)))
		xvt_error(pattern, "%s", why);
	else if (!f.matched)
		xvt_error(pattern, "no running domain that matches this pattern can be recorded "
				   "(see virsh list)");
	else
		return XVT_EXIT_OK;
	return XVT_EXIT_FAIL;
}

/* All machines of this host. A libvirt that was not asked for by --connect may be absent. */
static int add_all(struct xvt_session *s, const char *uri)
{
	struct finding f = { .s = s };
	char why[512] = "no running domain has a <shmem name='xvtrace-...'> device";
	const int err = xvt_libvirt_domains(uri, on_domain, &f, why, sizeof(why));

	if (err && uri) {
		xvt_error(uri, "%s", why);
		return XVT_EXIT_FAIL;
	}
	xvt_find_regions(on_any_file, &f);
	if (f.unused)
		xvt_warn(
			f.unused_path,
			"left out%s, because no process has it open for writing; `xvtrace salvage` "
			"reads what a machine that has ended left there",
			f.unused > 1 ? " with others like it" : "");
	if (f.matched)
		return XVT_EXIT_OK;
	xvt_error("record",
		  "no machine of this host can be recorded: no %s/" XVT_REGION_PREFIX
		  "* is in use, and of libvirt: %s. Give a guest a region (docs/guest.md), or name "
		  "one by -r NAME=REGION",
		  xvt_host_region_dir(), why);
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

static int add_region_arg(struct xvt_session *s, const char *arg)
{
	char name[XVT_NAME_LEN], path[PATH_MAX];
	uint32_t rings = XVT_RINGS_USUAL;
	size_t len;
	bool named;

	if (!split_rings(arg, &len, &rings) || !split_region(arg, len, name, path, &named))
		return XVT_EXIT_USAGE;
	return named || !xvt_is_glob(path) ? add_region(s, name, path, rings)
					   : add_files(s, path, rings);
}

static int add_domain_arg(struct xvt_session *s, const char *libvirt_uri, const char *arg)
{
	char name[256];
	uint32_t rings = 0;
	size_t len;

	if (!split_rings(arg, &len, &rings))
		return XVT_EXIT_USAGE;
	snprintf(name, sizeof(name), "%.*s", (int)len, arg);
	return xvt_is_glob(name) ? add_domains(s, libvirt_uri, name, rings)
				 : add_domain(s, libvirt_uri, name, rings);
}

int xvt_machines_add(struct xvt_session *s, const struct xvt_machine_options *opt)
{
	int status = XVT_EXIT_OK;
	size_t i;

	for (i = 0; status == XVT_EXIT_OK && i < opt->regions.n; i++)
		status = add_region_arg(s, opt->regions.v[i]);
	for (i = 0; status == XVT_EXIT_OK && i < opt->domains.n; i++)
		status = add_domain_arg(s, opt->libvirt_uri, opt->domains.v[i]);
	if (status == XVT_EXIT_OK && opt->all)
		status = add_all(s, opt->libvirt_uri);
	return status == XVT_EXIT_OK ? trust(s, &opt->trusted) : status;
}
