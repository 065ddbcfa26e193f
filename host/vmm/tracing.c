// SPDX-License-Identifier: GPL-2.0
/* tracing.c - see tracing.h. The only file that includes <tracefs.h>. */
#define _GNU_SOURCE
#include "vmm/tracing.h"
#include "vmm/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <tracefs.h>
#include <unistd.h>

#define PREFIX	    "xvtrace-"
#define HOST_PREFIX PREFIX "host-"
#define CLOCK	    "x86-tsc"

struct cpu {
	uint32_t id;
	int fd;
};

struct xvt_tracing {
	struct tracefs_instance *instance;
	struct cpu *cpus;
	size_t nr_cpus;
};

/* --- where tracefs is --- */

/* Kept: libtracefs, and the rules of what this process may open, have to mean the same place. */
static char mounted_at[PATH_MAX];

/* A place where instances can be made. A mount that is read-only, or is a part of tracefs, is not.
 */
static bool makes_instances(const char *path)
{
	char instances[PATH_MAX];

	return snprintf(instances, sizeof(instances), "%s/instances", path) <
		       (int)sizeof(instances) &&
	       !euidaccess(instances, R_OK | W_OK | X_OK);
}

/* Also for a user who may not look into it. */
static bool is_tracefs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && (unsigned long)fs.f_type == TRACEFS_MAGIC;
}

/* The usual places first: other programs look there, too. */
static bool find_usual(bool (*good)(const char *path))
{
	static const char *const usual[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	size_t i;

	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		if (!good(usual[i]))
			continue;
		snprintf(mounted_at, sizeof(mounted_at), "%s", usual[i]);
		return true;
	}
	return false;
}

static bool find_mounted(bool (*good)(const char *path))
{
	char line[2 * PATH_MAX], path[PATH_MAX];
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent entry, *e;
	bool found = false;

	while (f && !found && (e = getmntent_r(f, &entry, line, sizeof(line)))) {
		const bool debugfs = !strcmp(e->mnt_type, "debugfs");

		if ((debugfs || !strcmp(e->mnt_type, "tracefs")) &&
		    snprintf(path, sizeof(path), "%s%s", e->mnt_dir, debugfs ? "/tracing" : "") <
			    (int)sizeof(path) &&
		    good(path)) {
			memcpy(mounted_at, path, sizeof(mounted_at));
			found = true;
		}
	}
	if (f)
		endmntent(f);
	return found;
}

const char *xvt_tracing_dir(void)
{
	static bool searched;

	if (mounted_at[0])
		return mounted_at;
	/* A recorder is confined after its first search. */
	if (!find_usual(makes_instances) &&
	    (searched || (!find_mounted(makes_instances) && !find_usual(is_tracefs) &&
			  !find_mounted(is_tracefs)))) {
		searched = true;
		return NULL;
	}
	searched = true;
	if (tracefs_set_tracing_dir(mounted_at))
		mounted_at[0] = '\0';
	return mounted_at[0] ? mounted_at : NULL;
}

/* --- the instance --- */

/* Start time of a process, in clock ticks since the host's boot; 0: no such process. */
static unsigned long long start_of(int pid)
{
	unsigned long long start;

	return xvt_process_start(pid, &start) ? start : 0;
}

static int remove_instance(const char *name)
{
	struct tracefs_instance *i = tracefs_instance_alloc(NULL, name);
	int err = 0;

	if (!i)
		return -ENOMEM;
	/* Fails while a process has the instance's files open. */
	if (tracefs_instance_destroy(i))
		err = errno ? -errno : -EBUSY;
	tracefs_instance_free(i);
	return err;
}

/* Remove the instance of an earlier xvtrace that was killed: its events are still on. */
static int remove_if_stale(const char *name, void *arg)
{
	const char *self = arg;
	unsigned long long start = 0;
	char rest;
	int pid;

	if (sscanf(name, HOST_PREFIX "%d-%llu%c", &pid, &start, &rest) == 2) {
		if (pid > 0 && start_of(pid) != start)
			remove_instance(name);
	} else if (sscanf(name, PREFIX "%d%c", &pid, &rest) == 1 && pid > 0) {
		/* One of this process's own number, which it did not make, is an earlier one's. */
		if (!strcmp(name, self) || (kill(pid, 0) && errno == ESRCH))
			remove_instance(name);
	}
	return 0;
}

static int make_instance(struct xvt_tracing *t, const struct xvt_tracing_options *o)
{
	const int pid = (int)getpid();
	char name[64];

	if (o->use == XVT_TRACING_HOST)
		snprintf(name, sizeof(name), HOST_PREFIX "%d-%llu", pid, start_of(pid));
	else
		snprintf(name, sizeof(name), PREFIX "%d", pid);
	tracefs_instances_walk(remove_if_stale, o->use == XVT_TRACING_KVM ? name : "");
	if (tracefs_instance_exists(name))
		return xvt_fail(o->why, -EBUSY, "this process traces the kernel already");
	t->instance = tracefs_instance_create(name);
	if (!t->instance) {
		int err = errno ? -errno : -EIO;

		return xvt_fail(o->why, err, "cannot make a tracing instance: %s", strerror(-err));
	}
	return 0;
}

static int set_up_instance(struct xvt_tracing *t, const struct xvt_tracing_options *o)
{
	if (xvt_tracing_write(t, "trace_clock", CLOCK, false))
		return xvt_fail(o->why, -EOPNOTSUPP,
				"this kernel cannot trace by the clock " CLOCK);
	if (tracefs_instance_set_buffer_size(t->instance, o->buffer_kib, -1) < 0)
		return xvt_fail(o->why, -ENOMEM, "no %u KiB for each CPU's trace", o->buffer_kib);
	return 0;
}

/* --- CPUs --- */

static int by_id(const void *pa, const void *pb)
{
	const struct cpu *a = pa, *b = pb;

	return a->id < b->id ? -1 : a->id > b->id;
}

static int add_cpu(struct xvt_tracing *t, uint32_t id)
{
	struct cpu *grown = realloc(t->cpus, (t->nr_cpus + 1) * sizeof(*grown));
	char name[64];
	int fd;

	if (!grown)
		return -ENOMEM;
	t->cpus = grown;
	snprintf(name, sizeof(name), "per_cpu/cpu%u/trace_pipe_raw", id);
	fd = tracefs_instance_file_open(t->instance, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno ? -errno : -EIO;
	t->cpus[t->nr_cpus++] = (struct cpu){ id, fd };
	return 0;
}

static int open_cpus(struct xvt_tracing *t, const struct xvt_tracing_options *o)
{
	char *path = tracefs_instance_get_file(t->instance, "per_cpu"), rest;
	DIR *dir = path ? opendir(path) : NULL;
	struct dirent *e;
	unsigned int id;
	int err = dir ? 0 : -EIO;

	tracefs_put_tracing_file(path);
	while (!err && (e = readdir(dir))) {
		if (sscanf(e->d_name, "cpu%u%c", &id, &rest) == 1)
			err = add_cpu(t, id);
	}
	if (dir)
		closedir(dir);
	if (err)
		return xvt_fail(o->why, err, "cannot open the CPUs' traces: %s", strerror(-err));
	qsort(t->cpus, t->nr_cpus, sizeof(*t->cpus), by_id);
	return 0;
}

size_t xvt_tracing_cpus(const struct xvt_tracing *t)
{
	return t->nr_cpus;
}

uint32_t xvt_tracing_cpu(const struct xvt_tracing *t, size_t at)
{
	return t->cpus[at].id;
}

ssize_t xvt_tracing_page(struct xvt_tracing *t, size_t at, void *page, size_t size)
{
	ssize_t n = read(t->cpus[at].fd, page, size);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	/* A read returns one page, perhaps without its unused rest. */
	memset((char *)page + n, 0, size - (size_t)n);
	return n;
}

/* The number behind "\nNAME: " in text; 0 without it. */
static uint64_t number_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

int xvt_tracing_lost(struct xvt_tracing *t, size_t at, uint64_t *lost)
{
	char name[64], *text;
	size_t size;

	snprintf(name, sizeof(name), "per_cpu/cpu%u/stats", t->cpus[at].id);
	text = xvt_tracing_read(t, name, &size);
	if (!text)
		return -EIO;
	*lost = number_of(text, "\noverrun: ") + number_of(text, "\ncommit overrun: ") +
		number_of(text, "\ndropped events: ");
	free(text);
	return 0;
}

/* --- files and events --- */

int xvt_tracing_write(struct xvt_tracing *t, const char *file, const char *text, bool append)
{
	int n = append ? tracefs_instance_file_append(t->instance, file, text)
		       : tracefs_instance_file_write(t->instance, file, text);

	return n >= 0 ? 0 : errno ? -errno : -EIO;
}

char *xvt_tracing_read(struct xvt_tracing *t, const char *file, size_t *size)
{
	int n = 0;
	char *text = tracefs_instance_file_read(t ? t->instance : NULL, file, &n);

	*size = text && n > 0 ? (size_t)n : 0;
	return text;
}

char *xvt_tracing_format(const char *system, const char *event, size_t *size)
{
	int n = 0;
	char *text = tracefs_event_file_read(NULL, system, event, "format", &n);

	*size = text && n > 0 ? (size_t)n : 0;
	return text;
}

int xvt_tracing_enable(struct xvt_tracing *t, const char *system, const char *event)
{
	char *file;
	int err;

	/* tracefs_event_enable() reads the folder of the system for each event. */
	if (asprintf(&file, "events/%s/%s/enable", system, event) < 0)
		return -ENOMEM;
	errno = 0;
	err = xvt_tracing_write(t, file, "1", false);
	free(file);
	return err;
}

static int match_in(const char *system, const char *pattern,
		    int (*fn)(void *arg, const char *system, const char *event), void *arg)
{
	char **events = tracefs_system_events(NULL, system);
	int found = 0, err = 0;
	size_t i;

	for (i = 0; !err && events && events[i]; i++) {
		if (fnmatch(pattern, events[i], 0))
			continue;
		err = fn(arg, system, events[i]);
		found++;
	}
	tracefs_list_free(events);
	return err ? err : found;
}

int xvt_tracing_match(const char *pattern,
		      int (*fn)(void *arg, const char *system, const char *event), void *arg)
{
	const char *colon = strchr(pattern, ':');
	char *system = strndup(pattern, colon ? (size_t)(colon - pattern) : strlen(pattern));
	char **systems = system ? tracefs_event_systems(NULL) : NULL;
	int found = 0;
	size_t i;

	for (i = 0; found >= 0 && systems && systems[i]; i++) {
		int n = 0;

		if (!fnmatch(system, systems[i], 0))
			n = match_in(systems[i], colon ? colon + 1 : "*", fn, arg);

		found = n < 0 ? n : found + n;
	}
	tracefs_list_free(systems);
	free(system);
	return found;
}

/* --- beginning and end --- */

static int reach(const struct xvt_tracing_options *o)
{
	const char *path = xvt_tracing_dir();
	char instances[PATH_MAX + sizeof("/instances")];

	/* Do not mount tracefs: that is the administrator's decision. */
	if (!path)
		return xvt_fail(o->why, -ENODEV,
				"tracefs is not mounted; mount -t tracefs tracefs "
				"/sys/kernel/tracing");
	/* All else may be read-only, as it is for a service. */
	snprintf(instances, sizeof(instances), "%s/instances", path);
	if (!euidaccess(path, R_OK | X_OK) && !euidaccess(instances, R_OK | W_OK | X_OK))
		return 0;
	if (errno == EROFS)
		return xvt_fail(o->why, -EACCES,
				"%s is read-only here; a service needs it in its ReadWritePaths=",
				instances);
	if (errno == EACCES || errno == EPERM)
		return xvt_fail(o->why, -EACCES, "only root may trace the kernel (%s); run as root",
				path);
	return xvt_fail(o->why, -errno, "%s: %s", instances, strerror(errno));
}

int xvt_tracing_open(struct xvt_tracing **out, const struct xvt_tracing_options *options)
{
	struct xvt_tracing *t;
	int err = reach(options);

	if (err)
		return err;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	err = make_instance(t, options);
	if (!err)
		err = open_cpus(t, options);
	if (!err)
		err = set_up_instance(t, options);
	if (err) {
		xvt_tracing_close(t);
		return err;
	}
	*out = t;
	return 0;
}

void xvt_tracing_close(struct xvt_tracing *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->nr_cpus; i++)
		close(t->cpus[i].fd);
	if (t->instance) {
		tracefs_instance_destroy(t->instance);
		tracefs_instance_free(t->instance);
	}
	free(t->cpus);
	free(t);
}
