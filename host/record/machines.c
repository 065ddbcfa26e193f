// SPDX-License-Identifier: GPL-2.0
/* machines.c - see machines.h. */
#define _GNU_SOURCE
#include "record/machines.h"

#include "base/log.h"
#include "base/machine_name.h"
#include "base/out.h"
#include "base/region.h"
#include "record/find.h"
#include "record/regions.h"
#include "vmm/libvirt.h"
#include "vmm/processes.h"
#include "xvt_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RINGS	   ",rings="
#define NAMED_PART 4u /* of the descriptors */
#define FOUND_MOST                                                                    \
	1024u /* machines, if patterns add some: all users may make files in /dev/shm \
	       */

#define TWO_OF_A_NAME                                                         \
	"two machines have this name; give each region one of its own by -r " \
	"NAME=REGION, and each domain once"

/* Refuse a second machine of a name: readers distinguish machines by their names. */
static bool name_taken(const struct xvt_session *s, const char *name)
{
	if (!xvt_session_find(s, name))
		return false;
	xvt_error(name, TWO_OF_A_NAME);
	return true;
}

/*
 * Parse "ARG,rings=N". *rings: N, unchanged without ",rings=". *len: the length of ARG. Returns
 * false, after an error message, if N is invalid.
 */
static bool split_rings(const struct xvt_opt_value *value, size_t *len, uint32_t *rings)
{
	const char *arg = value->text, *at = strrchr(arg, ',');
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
		xvt_opt_error_of(value, "rings=N is the number of rings to record: 1 to %u",
				 XVT_RING_COUNT_MAX);
		return false;
	}
	*rings = (uint32_t)n;
	return true;
}

/* Parse "[NAME=]REGION" of `len` bytes. A path that has a '/' before its '=' has no name: *named is
 * false, and `name` is made from the path. Returns false, after an error message, if it is neither.
 */
static bool split_region(const struct xvt_opt_value *value, size_t len, char name[XVT_NAME_LEN],
			 char path[PATH_MAX], bool *named)
{
	const char *arg = value->text;
	const char *eq = memchr(arg, '=', len), *slash = memchr(arg, '/', len);
	const char *from = eq && (!slash || eq < slash) ? eq + 1 : arg;
	const size_t path_len = len - (size_t)(from - arg);

	if ((from == arg && !slash) || !path_len || path_len >= PATH_MAX ||
	    (from > arg && (eq == arg || (size_t)(eq - arg) >= XVT_NAME_LEN))) {
		xvt_opt_error_of(
			value, "a region is given as NAME=PATH, like g1=/dev/shm/g1, or as a path "
			       "or a pattern that has a '/'");
		return false;
	}
	snprintf(path, PATH_MAX, "%.*s", (int)path_len, from);
	*named = from > arg;
	if (!*named && !strncmp(path, XVT_FTRACE_PATH, strlen(XVT_FTRACE_PATH))) {
		xvt_error(arg, "give the machine a name: NAME=" XVT_FTRACE_PATH "FILE[@OFFSET]");
		return false;
	}
	if (*named)
		snprintf(name, XVT_NAME_LEN, "%.*s", (int)(eq - arg), arg);
	else
		xvt_region_machine(path, name);
	return true;
}

void xvt_machine_say_shown(const char *name)
{
	char shown[XVT_NAME_LEN];

	xvt_machine_shown(shown, sizeof(shown), name);
	if (strcmp(shown, name) != 0)
		xvt_note("machine '%s' is called %s in the trace; --vm takes both", name, shown);
}

static int keeper_takes(const struct xvt_keeper *k, const char *name, const char *path,
			const uint8_t *uuid, uint32_t rings, struct xvt_error *why)
{
	return k ? k->takes(k->arg, name, path, uuid, rings, why) : 0;
}

static void say_no_file(const char *path, const char *why)
{
	const char *claim;
	size_t len;

	if (!xvt_session_path_is_ftrace(path, &len)) {
		xvt_error(path,
			  "%s; QEMU makes it when it starts, or `truncate -s 4M %s` does before "
			  "the guest starts",
			  why, path);
		return;
	}
	path += strlen(XVT_FTRACE_PATH);
	claim = memchr(path, ',', len);
	if (claim)
		xvt_error("record",
			  "%.*s: %s; after the file and its offset, '%.*s' is none of its options, "
			  "which is kernel=BUILDID alone",
			  (int)len, path, why, (int)(len - (size_t)(claim - path)), claim);
	else
		xvt_error("record",
			  "%.*s: %s; QEMU makes it when it starts, or the command that `xvtrace "
			  "doctor --guest` prints does before the guest starts",
			  (int)len, path, why);
}

static int add_region(struct xvt_session *s, const struct xvt_keeper *keeper, const char *name,
		      const char *path, uint32_t rings)
{
	struct xvt_error why;
	int err;

	if (name_taken(s, name))
		return XVT_EXIT_USAGE;
	err = keeper_takes(keeper, name, path, NULL, rings, &why);
	if (!err)
		err = xvt_session_add_rings(s, name, path, NULL, true, rings, &why);
	if (!err) {
		xvt_session_vm_expect(xvt_session_find(s, name));
		xvt_machine_say_shown(name);
	}
	if (err >= 0)
		return XVT_EXIT_OK;
	if (err == -ENOENT)
		say_no_file(path, why.text);
	else
		xvt_error(path, "%s", why.text);
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

static int add_rings_of(struct xvt_session *s, const struct xvt_domain *domain, bool named,
			uint32_t rings, struct xvt_error *why)
{
	const int err = xvt_session_add_rings(s, domain->name, domain->region, domain->uuid, named,
					      rings ? rings : rings_of(domain), why);

	if (!err)
		xvt_session_wake_set_server(xvt_session_find(s, domain->name), domain->server);
	return err;
}

static int add_domain(struct xvt_session *s, const struct xvt_machine_options *opt,
		      const char *name, uint32_t rings)
{
	struct xvt_domain domain;
	struct xvt_error why;
	int err;

	/* Check the name before the call to libvirt, which may be absent. */
	if (name_taken(s, name))
		return XVT_EXIT_USAGE;
	if (xvt_libvirt_find(opt->libvirt_uri, name, &domain, &why)) {
		xvt_error(name, "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	if (name_taken(s, domain.name)) /* the domain was given by its UUID */
		return XVT_EXIT_USAGE;
	rings = rings ? rings : rings_of(&domain);
	err = keeper_takes(opt->keeper, domain.name, domain.region, domain.uuid, rings, &why);
	if (!err)
		err = add_rings_of(s, &domain, true, rings, &why);
	if (!err) {
		xvt_session_vm_expect(xvt_session_find(s, domain.name));
		xvt_machine_say_shown(domain.name);
	}
	if (err >= 0)
		return XVT_EXIT_OK;
	xvt_error(name, "%s", why.text);
	return XVT_EXIT_FAIL;
}

/* ------------------------------------------------------------------ machines that are found */

/* Machines of a pattern, or all of this host. */
struct finding {
	struct xvt_session *s;
	const struct xvt_keeper *keeper; /* NULL: none */
	const char *pattern;		 /* of domains; NULL: all */
	uint32_t rings;			 /* limit; 0: the usual */
	size_t matched;			 /* machines that the session has */
	size_t unused;			 /* regions without a writer, which are left out */
	char unused_path[PATH_MAX];
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

/* A part of them is kept for machines that are named. */
static bool descriptors_are_short(void)
{
	const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0); /* the lowest that is free */
	struct rlimit limit;

	if (fd < 0)
		return errno == EMFILE;
	close(fd);
	return !getrlimit(RLIMIT_NOFILE, &limit) &&
	       (rlim_t)fd > limit.rlim_cur - limit.rlim_cur / NAMED_PART;
}

int xvt_machine_add_found(struct xvt_session *s, const struct xvt_keeper *keeper,
			  const struct xvt_candidate *c, struct xvt_error *why)
{
	struct xvt_region_look look = { 0 };
	int takes, err;

	if (xvt_session_has_region(s, c->path))
		return 1; /* a domain's region is found in /dev/shm, too */
	if (xvt_session_alive(s) >= FOUND_MOST)
		return xvt_fail(why, -ENOSPC, "%u machines are recorded, which is the most",
				FOUND_MOST);
	if (!c->named && descriptors_are_short())
		return xvt_fail(
			why, -EMFILE,
			"too few descriptors are left for it beside those that are kept for "
			"machines that are named; raise them by ulimit -n, or LimitNOFILE= of a "
			"unit");
	if (!is_name(c->name))
		return xvt_fail(why, -EINVAL,
				"its name is no name of a machine; give it one by -r NAME=REGION");
	if (xvt_session_find(s, c->name))
		return xvt_fail(
			why, -EEXIST,
			"another machine is called %s, too; name this one by -r NAME=REGION",
			c->name);
	takes = keeper_takes(keeper, c->name, c->path, c->domain ? c->domain->uuid : NULL,
			     c->rings	 ? c->rings
			     : c->domain ? rings_of(c->domain)
					 : XVT_RINGS_USUAL,
			     why);
	if (takes)
		return takes;
	/* A guest that has not formatted its region yet delays no other machine. */
	if (!c->asked)
		xvt_region_look(c->path, &look);
	if (c->domain)
		err = add_rings_of(s, c->domain, c->asked || !look.err, c->rings, why);
	else
		err = xvt_session_add_rings(s, c->name, c->path, NULL, c->asked || !look.err,
					    c->rings ? c->rings : XVT_RINGS_USUAL, why);
	if (!err)
		xvt_machine_say_shown(c->name);
	return err;
}

/* Add a machine that was found. A reason against that is a warning. */
static void add_found(struct finding *f, const struct xvt_candidate *c)
{
	struct xvt_error why;

	if (xvt_machine_add_found(f->s, f->keeper, c, &why) < 0)
		xvt_warn(c->path, "left out: %s", why.text);
	else
		f->matched++;
}

static void on_matching_file(void *arg, const char *path)
{
	struct finding *f = arg;
	struct xvt_candidate c = { .path = path, .rings = f->rings, .asked = true };

	xvt_region_machine(path, c.name);
	add_found(f, &c);
}

/* A region without a writer has nothing to record, and what it holds would be taken from salvage.
 */
static void on_any_file(void *arg, const char *path, const char name[XVT_NAME_LEN])
{
	struct xvt_candidate c = { .path = path };
	struct finding *f = arg;

	if (!xvt_session_has_region(f->s, path) && !xvt_file_has_writer(path)) {
		if (!f->unused++)
			snprintf(f->unused_path, sizeof(f->unused_path), "%s", path);
		return;
	}
	memcpy(c.name, name, sizeof(c.name));
	add_found(f, &c);
}

static bool domain_matches(const struct xvt_domain *domain, const char *pattern)
{
	char uuid[XVT_UUID_TEXT];

	xvt_uuid_text(domain->uuid, uuid);
	return xvt_machine_matches(pattern, domain->name) || !fnmatch(pattern, uuid, FNM_CASEFOLD);
}

static void on_domain(void *arg, const struct xvt_domain *domain)
{
	struct finding *f = arg;
	struct xvt_candidate c = {
		.path = domain->region, .domain = domain, .rings = f->rings, .asked = f->pattern
	};

	if (f->pattern && !domain_matches(domain, f->pattern))
		return;
	snprintf(c.name, sizeof(c.name), "%s", domain->name);
	if (domain->region[0])
		add_found(f, &c);
	else if (f->pattern)
		xvt_warn(domain->name, "left out: it has no <shmem name='xvtrace-...'> device");
}

/* -r with a pattern */
static int add_files(struct xvt_session *s, const struct xvt_keeper *keeper, const char *pattern,
		     uint32_t rings)
{
	struct finding f = { .s = s, .keeper = keeper, .rings = rings };
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
static int add_domains(struct xvt_session *s, const struct xvt_machine_options *opt,
		       const char *pattern, uint32_t rings)
{
	struct finding f = { .s = s, .keeper = opt->keeper, .pattern = pattern, .rings = rings };
	struct xvt_error why;

	if (xvt_libvirt_domains(opt->libvirt_uri, on_domain, &f, &why))
		xvt_error(pattern, "%s", why.text);
	else if (!f.matched)
		xvt_error(pattern, "no running domain that matches this pattern can be recorded "
				   "(see virsh list)");
	else
		return XVT_EXIT_OK;
	return XVT_EXIT_FAIL;
}

/* The regions of this host; VMMs of other users are searched for a moment. */
static void find_regions(void)
{
	const uint64_t most_ns = 500000000;

	xvt_regions_scan(UINT64_MAX);
	if (xvt_regions_search(most_ns, most_ns))
		xvt_regions_scan(UINT64_MAX);
	xvt_regions_tell();
}

/* All machines of this host. A libvirt that was not asked for by --connect may be absent. */
static int add_all(struct xvt_session *s, const struct xvt_machine_options *opt)
{
	struct finding f = { .s = s, .keeper = opt->keeper };
	const char *uri = opt->libvirt_uri;
	struct xvt_error why = { "no running domain has a <shmem name='xvtrace-...'> device" };
	const int err = xvt_libvirt_domains(uri, on_domain, &f, &why);

	if (err && uri) {
		xvt_error(uri, "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	find_regions();
	xvt_regions_each(on_any_file, &f);
	if (err == -ETIMEDOUT && f.matched)
		xvt_warn("libvirt", "%s; machines have the names of their files", why.text);
	if (f.unused)
		xvt_warn(
			f.unused_path,
			"left out%s, because no process has it open for writing; `xvtrace salvage` "
			"reads what a machine that has ended left there",
			f.unused > 1 ? " with others like it" : "");
	if (f.matched)
		return XVT_EXIT_OK;
	if (access(xvt_host_region_dir(), R_OK | X_OK))
		xvt_error(xvt_host_region_dir(), "cannot look for regions: %s; of libvirt: %s",
			  strerror(errno), why.text);
	else
		xvt_error("record",
			  "no machine of this host can be recorded: no %s/" XVT_REGION_PREFIX
			  "* is in use, and of libvirt: %s. Give a running domain one by `xvtrace "
			  "attach` (docs/guest.md), or name one by -r NAME=REGION",
			  xvt_host_region_dir(), why.text);
	return XVT_EXIT_FAIL;
}

/* --trust-guest-clock */
static int trust(struct xvt_session *s, const struct xvt_machine_options *opt)
{
	const struct xvt_opt_list *names = &opt->trusted;
	size_t i;

	for (i = 0; i < names->n; i++) {
		struct xvt_vm *vm = xvt_session_find(s, names->v[i]);

		if (opt->keeper && opt->keeper->has_name(opt->keeper->arg, names->v[i]))
			continue;
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
	return err == -EAGAIN ? "; is the module loaded in the guest, and does QEMU share the "
				"memory (share=on)?"
			      : "";
}

/* An argument of -r. */
struct region_arg {
	char name[XVT_NAME_LEN], path[PATH_MAX];
	uint32_t rings;
	bool pattern;
};

/* Element `i` of -r. Returns false after an error message. */
static bool parse_region(const struct xvt_machine_options *opt, size_t i, struct region_arg *r)
{
	const struct xvt_opt_value value = { "region", i, opt->regions.v[i], NULL };
	size_t len;
	bool named;

	r->rings = XVT_RINGS_USUAL;
	if (!split_rings(&value, &len, &r->rings) ||
	    !split_region(&value, len, r->name, r->path, &named))
		return false;
	r->pattern = !named && xvt_is_glob(r->path);
	return true;
}

/* An argument of -d. */
struct domain_arg {
	char name[256]; /* or pattern */
	uint32_t rings; /* 0: the usual */
};

/* Element `i` of -d. Returns false after an error message. */
static bool parse_domain(const struct xvt_machine_options *opt, size_t i, struct domain_arg *d)
{
	const struct xvt_opt_value value = { "domain", i, opt->domains.v[i], NULL };
	size_t len;

	d->rings = 0;
	if (!split_rings(&value, &len, &d->rings))
		return false;
	snprintf(d->name, sizeof(d->name), "%.*s", (int)len, value.text);
	return true;
}

/* Names that -r and -d give; a pattern gives none. */
struct names {
	char (*v)[sizeof(((struct domain_arg *)NULL)->name)];
	size_t n;
};

/* value: what gives the name. Returns false after an error message. */
static bool add_name(struct names *names, const struct xvt_opt_value *value, const char *name)
{
	size_t i;

	for (i = 0; i < names->n; i++) {
		if (xvt_machine_same(names->v[i], name)) {
			xvt_opt_error_of(value, TWO_OF_A_NAME);
			return false;
		}
	}
	snprintf(names->v[names->n++], sizeof(*names->v), "%s", name);
	return true;
}

static bool words_ok(const struct xvt_machine_options *opt, struct names *names)
{
	struct region_arg r;
	struct domain_arg d;
	size_t i;

	for (i = 0; i < opt->regions.n; i++) {
		if (!parse_region(opt, i, &r))
			return false;
		/* Of machines that come later, the second one gets a warning. */
		if (!r.pattern && !opt->follow &&
		    !add_name(names,
			      &(struct xvt_opt_value){ "region", i, opt->regions.v[i], r.name },
			      r.name))
			return false;
	}
	for (i = 0; i < opt->domains.n; i++) {
		if (!parse_domain(opt, i, &d))
			return false;
		if (!xvt_is_glob(d.name) && !opt->follow &&
		    !add_name(names,
			      &(struct xvt_opt_value){ "domain", i, opt->domains.v[i], d.name },
			      d.name))
			return false;
	}
	return true;
}

int xvt_machines_check(const struct xvt_machine_options *opt)
{
	struct names names = { .v = calloc(opt->regions.n + opt->domains.n + 1, sizeof(*names.v)) };
	const bool ok = names.v && words_ok(opt, &names);
	const int err = ok ? 0 : names.v ? -EINVAL : -ENOMEM;

	if (!names.v)
		xvt_error("record", "out of memory for the names of machines");
	free(names.v);
	return err;
}

static int add_region_arg(struct xvt_session *s, const struct xvt_machine_options *opt, size_t i)
{
	struct region_arg r;

	if (!parse_region(opt, i, &r))
		return XVT_EXIT_USAGE;
	if (opt->follow)
		return XVT_EXIT_OK;
	return r.pattern ? add_files(s, opt->keeper, r.path, r.rings)
			 : add_region(s, opt->keeper, r.name, r.path, r.rings);
}

static int add_domain_arg(struct xvt_session *s, const struct xvt_machine_options *opt, size_t i)
{
	struct domain_arg d;

	if (!parse_domain(opt, i, &d))
		return XVT_EXIT_USAGE;
	if (opt->follow)
		return XVT_EXIT_OK;
	return xvt_is_glob(d.name) ? add_domains(s, opt, d.name, d.rings)
				   : add_domain(s, opt, d.name, d.rings);
}

int xvt_machines_add(struct xvt_session *s, const struct xvt_machine_options *opt)
{
	int status = XVT_EXIT_OK;
	size_t i;

	for (i = 0; status == XVT_EXIT_OK && i < opt->regions.n; i++)
		status = add_region_arg(s, opt, i);
	for (i = 0; status == XVT_EXIT_OK && i < opt->domains.n; i++)
		status = add_domain_arg(s, opt, i);
	if (status == XVT_EXIT_OK && opt->all && !opt->follow)
		status = add_all(s, opt);
	return status == XVT_EXIT_OK && !opt->follow ? trust(s, opt) : status;
}

/* ------------------------------------------------------------------ machines that come later */

void xvt_machine_trust(struct xvt_session *s, const struct xvt_machine_options *opt,
		       const char *name)
{
	size_t i;

	for (i = 0; i < opt->trusted.n; i++) {
		if (xvt_machine_same(opt->trusted.v[i], name))
			xvt_session_vm_trust_clock(xvt_session_find(s, name));
	}
}

struct each_file {
	void (*fn)(void *arg, const struct xvt_candidate *c);
	void *arg;
	uint32_t rings;
};

static void on_each_file(void *arg, const char *path)
{
	const struct each_file *each = arg;
	struct xvt_candidate c = { .path = path, .rings = each->rings, .asked = true };

	xvt_region_machine(path, c.name);
	each->fn(each->arg, &c);
}

static void on_each_region(void *arg, const char *path, const char name[XVT_NAME_LEN])
{
	const struct each_file *each = arg;
	struct xvt_candidate c = { .path = path };

	memcpy(c.name, name, sizeof(c.name));
	each->fn(each->arg, &c);
}

void xvt_machines_each_file(const struct xvt_machine_options *opt,
			    void (*fn)(void *arg, const struct xvt_candidate *c), void *arg)
{
	struct each_file each = { .fn = fn, .arg = arg };
	struct xvt_candidate c = { .asked = true, .named = true };
	struct region_arg r;
	size_t i;

	for (i = 0; i < opt->regions.n; i++) {
		if (!parse_region(opt, i, &r))
			continue;
		each.rings = c.rings = r.rings;
		if (r.pattern) {
			xvt_find_files(r.path, on_each_file, &each);
			continue;
		}
		memcpy(c.name, r.name, sizeof(c.name));
		c.path = r.path;
		fn(arg, &c);
	}
	if (opt->all)
		xvt_regions_each(on_each_region, &each);
}

void xvt_machines_each_region(const struct xvt_machine_options *opt,
			      void (*fn)(void *arg, const char *path, bool pattern), void *arg)
{
	struct region_arg r;
	size_t i;

	for (i = 0; i < opt->regions.n; i++) {
		if (parse_region(opt, i, &r))
			fn(arg, r.path, r.pattern);
	}
}

bool xvt_machines_selects(const struct xvt_machine_options *opt, const struct xvt_domain *domain,
			  struct xvt_candidate *c)
{
	bool selected = opt->all;
	struct domain_arg d;
	size_t i;

	*c = (struct xvt_candidate){ .path = domain->region, .domain = domain };
	snprintf(c->name, sizeof(c->name), "%s", domain->name);
	for (i = 0; !c->asked && i < opt->domains.n; i++) {
		if (!parse_domain(opt, i, &d) || !domain_matches(domain, d.name))
			continue;
		c->rings = d.rings;
		c->asked = selected = true;
		c->named = !xvt_is_glob(d.name);
	}
	return selected && domain->region[0];
}
