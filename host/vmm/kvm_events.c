// SPDX-License-Identifier: GPL-2.0
/*
 * kvm_events.c - the only file that includes <tracefs.h>. The formats and pages come from the
 * host's kernel, which is trusted, so libtraceevent may parse them.
 */
#define _GNU_SOURCE
#include "vmm/kvm_events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <kbuffer.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#define PREFIX	   "xvtrace-"
#define CLOCK	   "x86-tsc"
#define SYSTEM	   "kvm"
#define OFFSET_KIB 64	/* an offset changes a few times in a VM's life */
#define SPANS_KIB  1024 /* 10,000 entries and exits */
#define PAGES_MAX  512	/* of one CPU in one call */

/* An event, and the places of its fields in a record. */
struct kind {
	const char *name;
	const char *fields[3]; /* vcpu_id first */
	struct tep_event *event;
	struct tep_format_field *at[3];
};

static const struct kind kinds[] = {
	[XVT_FTRACE_TSC_OFFSET] = { .name = "kvm_write_tsc_offset",
				    .fields = { "vcpu_id", "previous_tsc_offset",
						"next_tsc_offset" } },
	[XVT_FTRACE_ENTRY] = { .name = "kvm_entry", .fields = { "vcpu_id" } },
	[XVT_FTRACE_EXIT] = { .name = "kvm_exit", .fields = { "vcpu_id", "exit_reason" } },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct cpu {
	uint32_t id;
	int fd;
};

struct xvt_ftrace {
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	struct kbuffer *kbuffer;
	struct kind kinds[KINDS];
	unsigned int nr_kinds; /* 1, or KINDS with run_spans */
	struct cpu *cpus;
	size_t nr_cpus;
	void *page;
	size_t page_size;
};

static int reason(const struct xvt_ftrace_options *o, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int reason(const struct xvt_ftrace_options *o, int err, const char *format, ...)
{
	va_list args;

	if (!o->why)
		return err;
	va_start(args, format);
	vsnprintf(o->why, o->why_size, format, args);
	va_end(args);
	return err;
}

/* --- the instance --- */

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
	char rest;
	int pid;

	(void)arg;
	if (sscanf(name, PREFIX "%d%c", &pid, &rest) != 1 || pid <= 0)
		return 0;
	if (pid == getpid() || (kill(pid, 0) && errno == ESRCH))
		remove_instance(name);
	return 0;
}

static int make_instance(struct xvt_ftrace *t, const struct xvt_ftrace_options *o)
{
	char name[32];

	tracefs_instances_walk(remove_if_stale, NULL);
	snprintf(name, sizeof(name), PREFIX "%d", (int)getpid());
	if (tracefs_instance_exists(name))
		return reason(o, -EBUSY, "this process traces the kernel already");
	t->instance = tracefs_instance_create(name);
	if (!t->instance) {
		int err = errno ? -errno : -EIO;

		return reason(o, err, "cannot make a tracing instance: %s", strerror(-err));
	}
	return 0;
}

static int set_up_instance(struct xvt_ftrace *t, const struct xvt_ftrace_options *o)
{
	uint32_t kib = o->buffer_kib;
	unsigned int i;

	if (!kib)
		kib = o->run_spans ? SPANS_KIB : OFFSET_KIB;
	if (tracefs_instance_file_write(t->instance, "trace_clock", CLOCK) < 0)
		return reason(o, -EOPNOTSUPP, "this kernel cannot trace by the clock " CLOCK);
	if (tracefs_instance_set_buffer_size(t->instance, kib, -1) < 0)
		return reason(o, -ENOMEM, "no %u KiB for each CPU's trace", kib);
	for (i = 0; i < t->nr_kinds; i++) {
		if (tracefs_event_enable(t->instance, SYSTEM, t->kinds[i].name))
			return reason(o, errno ? -errno : -EIO, "cannot switch on " SYSTEM ":%s",
				      t->kinds[i].name);
	}
	return 0;
}

/* --- what records look like --- */

static int learn_event(struct xvt_ftrace *t, struct kind *k, const struct xvt_ftrace_options *o)
{
	char *text;
	int size;
	size_t i;

	text = tracefs_event_file_read(NULL, SYSTEM, k->name, "format", &size);
	if (!text)
		return reason(o, -ENOENT,
			      "this kernel has no event " SYSTEM ":%s: KVM is not loaded, or "
			      "without tracing",
			      k->name);
	/* Fields are read, nothing is printed: an error in the print format does not matter. */
	tep_parse_event(t->tep, text, (unsigned long)size, SYSTEM);
	free(text);
	k->event = tep_find_event_by_name(t->tep, SYSTEM, k->name);
	for (i = 0; k->event && i < 3 && k->fields[i]; i++) {
		k->at[i] = tep_find_field(k->event, k->fields[i]);
		if (!k->at[i])
			return reason(o, -EOPNOTSUPP, "this kernel's " SYSTEM ":%s has no %s",
				      k->name, k->fields[i]);
	}
	return k->event ? 0 : reason(o, -EOPNOTSUPP, "cannot read the format of %s", k->name);
}

static int learn_page(struct xvt_ftrace *t, const struct xvt_ftrace_options *o)
{
	char *text;
	int size, err;

	text = tracefs_instance_file_read(NULL, "events/header_page", &size);
	if (!text)
		return reason(o, -EOPNOTSUPP, "cannot read events/header_page");
	err = tep_parse_header_page(t->tep, text, (unsigned long)size, sizeof(long));
	free(text);
	t->page_size = (size_t)tep_get_sub_buffer_size(t->tep);
	if (err || t->page_size < 4096 || t->page_size > 1u << 30)
		return reason(o, -EOPNOTSUPP, "events/header_page is not understood");
	t->page = malloc(t->page_size);
	t->kbuffer = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
	return t->page && t->kbuffer ? 0 : -ENOMEM;
}

static int learn(struct xvt_ftrace *t, const struct xvt_ftrace_options *o)
{
	unsigned int i;
	int err;

	t->tep = tep_alloc();
	if (!t->tep)
		return -ENOMEM;
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_local_bigendian(t->tep, TEP_LITTLE_ENDIAN);
	tep_set_file_bigendian(t->tep, TEP_LITTLE_ENDIAN);
	tep_set_long_size(t->tep, sizeof(long));
	err = learn_page(t, o);
	memcpy(t->kinds, kinds, sizeof(kinds));
	t->nr_kinds = o->run_spans ? KINDS : 1;
	for (i = 0; !err && i < t->nr_kinds; i++)
		err = learn_event(t, &t->kinds[i], o);
	return err;
}

/* --- reading --- */

static int add_cpu(struct xvt_ftrace *t, uint32_t id)
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

static int open_cpus(struct xvt_ftrace *t, const struct xvt_ftrace_options *o)
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
	return err ? reason(o, err, "cannot open the CPUs' traces: %s", strerror(-err)) : 0;
}

static uint64_t number(struct tep_format_field *field, const void *record)
{
	unsigned long long value = 0;

	if (field)
		tep_read_number_field(field, record, &value);
	return value;
}

/* Fill *e from a record. Returns false for an event of another kind. */
static bool decode(const struct xvt_ftrace *t, const void *record, struct xvt_ftrace_event *e)
{
	struct tep_event *any = t->kinds[0].event; /* the common fields are the same in all */
	int type = (int)number(tep_find_common_field(any, "common_type"), record);
	unsigned int i;

	for (i = 0; i < t->nr_kinds; i++) {
		const struct kind *k = &t->kinds[i];

		if (k->event->id != type)
			continue;
		e->kind = (enum xvt_ftrace_kind)i;
		e->pid = (int32_t)number(tep_find_common_field(any, "common_pid"), record);
		e->vcpu_id = (uint32_t)number(k->at[0], record);
		if (i == XVT_FTRACE_TSC_OFFSET) {
			e->previous = (int64_t)number(k->at[1], record);
			e->next = (int64_t)number(k->at[2], record);
		} else if (i == XVT_FTRACE_EXIT) {
			e->exit_reason = (uint32_t)number(k->at[1], record);
		}
		return true;
	}
	return false;
}

/* Pass the events of one page of one CPU to take(). Returns their number. */
static int64_t take_page(struct xvt_ftrace *t, uint32_t cpu,
			 void (*take)(void *arg, const struct xvt_ftrace_event *e), void *arg)
{
	unsigned long long clock;
	int64_t events = 0;
	void *record;
	int missed;

	if (kbuffer_load_subbuffer(t->kbuffer, t->page))
		return 0;
	missed = kbuffer_missed_events(t->kbuffer);
	record = kbuffer_read_event(t->kbuffer, &clock);
	if (missed) {
		struct xvt_ftrace_event e = {
			.kind = XVT_FTRACE_LOST,
			.host_cpu = cpu,
			.host_clock = record ? clock : kbuffer_timestamp(t->kbuffer),
			.lost = missed > 0 ? (uint64_t)missed : 0,
		};

		take(arg, &e);
	}
	for (; record; record = kbuffer_next_event(t->kbuffer, &clock)) {
		struct xvt_ftrace_event e = { .host_cpu = cpu, .host_clock = clock };

		if (!decode(t, record, &e))
			continue;
		take(arg, &e);
		events++;
	}
	return events;
}

int64_t xvt_ftrace_read(struct xvt_ftrace *t,
			void (*take)(void *arg, const struct xvt_ftrace_event *e), void *arg)
{
	int64_t events = 0;
	size_t i;
	int page;

	for (i = 0; i < t->nr_cpus; i++) {
		for (page = 0; page < PAGES_MAX; page++) {
			ssize_t n = read(t->cpus[i].fd, t->page, t->page_size);

			if (n < 0 && errno != EAGAIN && errno != EINTR)
				return -errno;
			if (n <= 0)
				break;
			/* A read returns one page, perhaps without its unused rest: clear that. */
			memset((char *)t->page + n, 0, t->page_size - (size_t)n);
			events += take_page(t, t->cpus[i].id, take, arg);
		}
	}
	return events;
}

/* --- beginning and end --- */

static int reach(const struct xvt_ftrace_options *o)
{
	const char *path = NULL;

	/* Do not mount tracefs: that is the administrator's decision. */
	if (tracefs_tracing_dir_is_mounted(false, &path) <= 0)
		return reason(o, -ENODEV,
			      "tracefs is not mounted; mount -t tracefs tracefs "
			      "/sys/kernel/tracing");
	if (!euidaccess(path, R_OK | W_OK | X_OK))
		return 0;
	if (errno == EACCES || errno == EPERM || errno == EROFS)
		return reason(o, -EACCES, "only root may trace the kernel (%s); run as root", path);
	return reason(o, -errno, "%s: %s", path, strerror(errno));
}

int xvt_ftrace_open(struct xvt_ftrace **out, const struct xvt_ftrace_options *options)
{
	struct xvt_ftrace *t;
	int err = reach(options);

	if (err)
		return err;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	err = learn(t, options);
	if (!err)
		err = make_instance(t, options);
	if (!err)
		err = open_cpus(t, options);
	if (!err)
		err = set_up_instance(t, options);
	if (err) {
		xvt_ftrace_close(t);
		return err;
	}
	*out = t;
	return 0;
}

void xvt_ftrace_close(struct xvt_ftrace *t)
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
	if (t->kbuffer)
		kbuffer_free(t->kbuffer);
	if (t->tep)
		tep_free(t->tep);
	free(t->cpus);
	free(t->page);
	free(t);
}
