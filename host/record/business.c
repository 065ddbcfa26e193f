// SPDX-License-Identifier: GPL-2.0
/* business.c - see business.h. */
#define _GNU_SOURCE
#include "record/business.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/region.h"
#include "clock/kvm.h"
#include "formats/cache.h"
#include "record/bell_server.h"
#include "record/find.h"
#include "rights/confine.h"
#include "rights/own_user.h"
#include "rights/sandbox.h"
#include "trace/set_name.h"
#include "vmm/libvirt_uri.h"
#include "vmm/tracing.h"

/* Where libvirt looks for the server of a device whose XML names none. */
#define LIBVIRT_SERVERS "/var/lib/libvirt/shmem-" XVT_REGION_PREFIX "*-sock"

/* --- messages of the opener --- */

struct about {
	const char *command, *output;
};

static void clean(const char *path, char text[PATH_MAX])
{
	size_t i;

	for (i = 0; path[i]; i++)
		text[i] = (unsigned char)path[i] < ' ' || path[i] == 0x7f ? '?' : path[i];
	text[i] = '\0';
}

static void denied(void *arg, const char *what, const char *path, bool last)
{
	const struct about *about = arg;
	char text[PATH_MAX];

	clean(path, text);
	xvt_warn(about->command,
		 "the recorder, or a library that it uses, tried to %s %s, which was refused: it "
		 "is at no place where it has business (docs/security.md). It goes on without%s",
		 what, text, last ? "; further paths are refused without a line" : "");
}

static void refused(void *arg, const char *what, const char *path)
{
	const struct about *about = arg;
	char text[PATH_MAX];

	clean(path, text);
	xvt_error(about->command,
		  "the recorder was ended, since it tried to %s %s, with which it has no business: "
		  "something that a guest wrote may have taken it over. %s is good up to its last "
		  "chunk",
		  what, text, about->output);
}

static void died(void *arg)
{
	const struct about *about = arg;

	xvt_error(about->command,
		  "the recorder died without ending its trace: it was killed, it crashed, or it "
		  "made a system call that it may not make. %s is good up to its last chunk",
		  about->output);
}

static void stopped(void *arg, unsigned int seconds)
{
	(void)arg;
	xvt_error("sandbox",
		  "the recorder's process that opens files has not answered for %u s: it was "
		  "stopped, or a disk does not answer. It is killed, which ends the recording",
		  seconds);
}

int xvt_business_begin(const char *command, const struct xvt_business *b,
		       struct xvt_opener **opener)
{
	static const struct xvt_opener_ops ops = { .begin = xvt_confine_opener,
						   .refused = refused,
						   .denied = denied,
						   .died = died,
						   .stopped = stopped };
	static struct about about;
	int err;

	/* libvirt over ssh runs programs and reads keys that no list can name. */
	if (xvt_sandbox_check() ||
	    xvt_libvirt_way(b->machines->libvirt_uri) != XVT_LIBVIRT_BY_SOCKET)
		return 0;
	about = (struct about){ command, b->output };
	/* Its error is told as a wall that lacks. The library of libvirt looks for a daemon of the
	 * user's own where that is not root, and would start one. */
	if (!b->machines->all && !b->machines->domains.n)
		xvt_own_user_choose();
	err = xvt_opener_start(opener, &ops, &about);
	if (err == -ENOTSUP) {
		xvt_warn("sandbox",
			 "the recorder opens files itself, as no other process can do it here: %s",
			 strerror(-err));
		return 0;
	}
	if (err && err != -ETIMEDOUT) /* that was told */
		xvt_error("sandbox", "cannot start the process that opens files: %s",
			  strerror(-err));
	return err;
}

/* --- rules --- */

/* Rules, and the first error. */
struct making {
	struct xvt_rules rules;
	int err;
};

static void may(struct making *m, enum xvt_rule_kind kind, unsigned int rights, const char *format,
		...) __attribute__((format(printf, 4, 5)));

static void may(struct making *m, enum xvt_rule_kind kind, unsigned int rights, const char *format,
		...)
{
	char path[PATH_MAX];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (m->err)
		return;
	m->err = len < (int)sizeof(path) ? xvt_rules_add(&m->rules, kind, rights, path)
					 : -ENAMETOOLONG;
}

/* The folder of a file, which is locked while a socket there is removed. */
static void may_list_folder(struct making *m, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		may(m, XVT_RULE_FILE, XVT_MAY_READ, ".");
	else
		may(m, XVT_RULE_FILE, XVT_MAY_READ, "%.*s", slash == path ? 1 : (int)(slash - path),
		    path);
}

/* The files of a pattern, and the folders that glob() lists on the way. */
static void may_match(struct making *m, const char *pattern)
{
	const char *slash = strpbrk(pattern, "*?["), *first;
	const size_t wild = (size_t)(slash - pattern);

	may(m, XVT_RULE_PATTERN, XVT_MAY_READ | XVT_MAY_WRITE, "%s", pattern);
	for (first = pattern + wild; first > pattern && *first != '/';)
		first--;
	may(m, XVT_RULE_FILE, XVT_MAY_READ, "%.*s", first > pattern ? (int)(first - pattern) : 1,
	    *pattern == '/' || first > pattern ? pattern : ".");
	while ((slash = strchr(slash, '/'))) {
		may(m, XVT_RULE_PATTERN, XVT_MAY_READ, "%.*s", (int)(slash - pattern), pattern);
		slash++;
	}
}

static void on_region(void *arg, const char *path, bool pattern)
{
	struct making *m = arg;
	size_t len;

	if (xvt_session_path_is_ftrace(path, &len))
		may(m, XVT_RULE_FILE, XVT_MAY_READ, "%.*s", (int)len,
		    path + strlen(XVT_FTRACE_PATH));
	else if (pattern)
		may_match(m, path);
	else
		may(m, XVT_RULE_FILE, XVT_MAY_READ | XVT_MAY_WRITE, "%s", path);
}

/* NAME=SOCKET */
static void may_connect_all(struct making *m, const struct xvt_opt_list *list)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		may(m, XVT_RULE_FILE, XVT_MAY_CONNECT, "%s", strchr(list->v[i], '=') + 1);
}

static void add_machines(struct making *m, const struct xvt_business *b)
{
	const struct xvt_machine_options *machines = b->machines;
	char formats[PATH_MAX];

	/* They are read when the first guest comes of which the kernel's ring is read. */
	if (xvt_formats_cache_folder(formats, sizeof(formats)))
		may(m, XVT_RULE_TREE, XVT_MAY_READ, "%s", formats);
	xvt_machines_each_region(machines, on_region, m);
	may_connect_all(m, b->qmp);
	if (machines->all || machines->domains.n) {
		may(m, XVT_RULE_FILE, XVT_MAY_READ, "%s", xvt_host_region_dir());
		may(m, XVT_RULE_PATTERN, XVT_MAY_READ | XVT_MAY_WRITE, "%s/" XVT_REGION_PREFIX "*",
		    xvt_host_region_dir());
	}
}

/* The sockets of libvirt's daemons, and what its library keeps beside those of the user. */
static void add_libvirt(struct making *m, const char *uri)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *cache = getenv("XDG_CACHE_HOME"),
		   *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char room[XVT_LIBVIRT_URI_LEN];
	const char *socket = strstr(xvt_libvirt_uri(uri, room), "socket=");

	may(m, XVT_RULE_TREE, XVT_MAY_CONNECT, "/run/libvirt");
	may(m, XVT_RULE_TREE, XVT_MAY_CONNECT, "/var/run/libvirt");
	if (runtime)
		may(m, XVT_RULE_TREE, XVT_MAY_CHANGE | XVT_MAY_CONNECT, "%s/libvirt", runtime);
	if (cache || home)
		may(m, XVT_RULE_TREE, XVT_MAY_CHANGE | XVT_MAY_CONNECT, "%s%s/libvirt",
		    cache ? cache : home, cache ? "" : "/.cache");
	if (config || home)
		may(m, XVT_RULE_TREE, XVT_MAY_READ, "%s%s/libvirt", config ? config : home,
		    config ? "" : "/.config");
	if (socket) {
		socket += strlen("socket=");
		may(m, XVT_RULE_FILE, XVT_MAY_CONNECT, "%.*s", (int)strcspn(socket, "&#"), socket);
	}
}

static void on_bell(void *arg, const char *region, bool pattern)
{
	may(arg, pattern ? XVT_RULE_PATTERN : XVT_RULE_FILE, XVT_MAY_CONNECT,
	    "%s" XVT_BELL_SERVER_SUFFIX, region);
}

/* The servers of machines that are recorded already; and those of machines that come later, as far
 * as their paths are known before. */
static void add_doorbells(struct making *m, const struct xvt_business *b,
			  const struct xvt_session *s)
{
	const struct xvt_vm *vm;
	size_t i;

	may_connect_all(m, b->doorbells);
	xvt_machines_each_region(b->machines, on_bell, m);
	for (i = 0; (vm = xvt_session_vm(s, i)); i++) {
		if (xvt_session_wake_server(vm)[0])
			may(m, XVT_RULE_FILE, XVT_MAY_CONNECT, "%s", xvt_session_wake_server(vm));
	}
	if (!b->machines->all && !b->machines->domains.n)
		return;
	may(m, XVT_RULE_PATTERN, XVT_MAY_CONNECT,
	    "%s/" XVT_REGION_PREFIX "*" XVT_BELL_SERVER_SUFFIX, xvt_host_region_dir());
	may(m, XVT_RULE_PATTERN, XVT_MAY_CONNECT, LIBVIRT_SERVERS);
}

static void add_output(struct making *m, const struct xvt_business *b)
{
	if (xvt_set_is_folder(b->output))
		may(m, XVT_RULE_TREE, XVT_MAY_CHANGE, "%s", b->output);
	else
		may(m, XVT_RULE_FILE, XVT_MAY_CHANGE, "%s", b->output);
	if (b->clock_page)
		may(m, XVT_RULE_TREE, XVT_MAY_CHANGE, "%s", b->clock_page);
}

static void add_sockets(struct making *m, const char *control)
{
	const char *notify = getenv("NOTIFY_SOCKET");

	if (control) {
		may(m, XVT_RULE_FILE, XVT_MAY_REMOVE, "%s", control);
		may_list_folder(m, control);
	}
	if (notify && (*notify == '/' || *notify == '@'))
		may(m, XVT_RULE_FILE, XVT_MAY_CONNECT, "%s", notify);
}

/* The instances of recorders in a tracefs, whose own path is no pattern. */
static void may_change_instances(struct making *m, const char *tracing)
{
	char literal[2 * PATH_MAX], *to = literal;

	for (; *tracing; *to++ = *tracing++) {
		if (strchr("*?[\\", *tracing))
			*to++ = '\\';
	}
	*to = '\0';
	may(m, XVT_RULE_PATTERN_TREE, XVT_MAY_CHANGE, "%s/instances/xvtrace-*", literal);
}

/* Files of the kernel about VMMs, clocks and itself. */
static void add_kernel(struct making *m)
{
	static const char *const files[] = { "/proc", "/proc/kallsyms", "/proc/locks",
					     "/dev/random", "/dev/urandom" };
	static const char *const processes[] = { "maps", "stat", "status",	    "cmdline",
						 "comm", "task", "task/[0-9]*/comm" };
	/* A VMM's descriptor of its VM, and the region that it has mapped. */
	static const char *const links[] = { "fd/[0-9]*", "map_files/*-*" };
	const char *const tracing[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing",
					xvt_tracing_dir() };
	char kvm[PATH_MAX];
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		may(m, XVT_RULE_FILE, XVT_MAY_READ, "%s", files[i]);
	for (i = 0; i < sizeof(processes) / sizeof(processes[0]); i++)
		may(m, XVT_RULE_PATTERN, XVT_MAY_READ, "/proc/[0-9]*/%s", processes[i]);
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		may(m, XVT_RULE_PATTERN, XVT_MAY_LOOK, "/proc/[0-9]*/%s", links[i]);
	for (i = 0; i < sizeof(tracing) / sizeof(tracing[0]) && tracing[i]; i++) {
		may(m, XVT_RULE_TREE, XVT_MAY_READ, "%s", tracing[i]);
		may_change_instances(m, tracing[i]);
	}
	may(m, XVT_RULE_TREE, XVT_MAY_READ, "/sys/kernel/debug/kvm");
	if (!xvt_kvm_find(NULL, kvm, sizeof(kvm)))
		may(m, XVT_RULE_TREE, XVT_MAY_READ, "%s", kvm);
	may(m, XVT_RULE_FILE, XVT_MAY_READ | XVT_MAY_WRITE, "/dev/null");
}

int xvt_business_tell(struct xvt_opener *opener, const struct xvt_business *b,
		      const struct xvt_session *s, const char *config, const char *control,
		      struct xvt_rules *rules)
{
	struct making m = { 0 };

	add_kernel(&m);
	add_output(&m, b);
	add_machines(&m, b);
	if (b->machines->all || b->machines->domains.n)
		add_libvirt(&m, b->machines->libvirt_uri);
	add_doorbells(&m, b, s);
	add_sockets(&m, control);
	if (config)
		may(&m, XVT_RULE_FILE, XVT_MAY_READ, "%s", config);
	*rules = m.rules;
	return m.err ? m.err : xvt_opener_rules(opener, rules);
}
