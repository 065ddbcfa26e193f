// SPDX-License-Identifier: GPL-2.0
/*
 * host_kernel.c - what of the host's kernel a recording traces: an ftrace instance with the events
 * asked for, and the threads of the machines' VMMs, which are found by the regions that they map.
 * Formats and names go into the trace as a guest's metadata do. host.c makes records of the pages.
 *
 * A thread of a VMM is called after its machine (META_THREAD): "g1:vcpu0", or "g1:" and its own
 * name.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/vec.h"
#include "vmm/enums.h"
#include "vmm/processes.h"
#include "vmm/tracing.h"

#define BUFFER_KIB     1024u /* of each CPU: 10,000 to 20,000 events */
#define NAMES_MAX      65536u
#define SCAN_MOST_SECS 64u	/* between two searches for VMMs */
#define SEARCH_NS      1000000u /* in one pass */
#define NAME_SECS      4u	/* between two looks at the name of a thread */
#define NAME_LEN       (XVT_NAME_LEN + XVT_TASK_NAME_LEN + 16)
#define HASH_BEGIN     0xcbf29ce484222325ull

/* A thread whose name is in the trace. */
struct task {
	int32_t tid;
	bool of_vmm;	 /* named as its machine */
	bool named;	 /* of_vmm: its name was read */
	uint32_t second; /* of_vmm: when it was seen last; UINT32_MAX: it has ended */
	uint32_t vcpu;	 /* what it runs, by the VMM of machine vcpu_vm; or: */
#define NO_VCPU	   UINT32_MAX
#define MANY_VCPUS (UINT32_MAX - 1)
	uint32_t vcpu_vm;
	int32_t vhost_of;		 /* the kernel's thread for that process; 0: none */
	uint64_t hash;			 /* of the name in the trace */
	struct xvt_meta_process process; /* of_vmm: in the trace, all but tgid and flags */
};

struct process {
	int32_t pid;
	uint32_t vm;
};

struct xvt_session_kernel {
	struct xvt_session *session;
	struct xvt_tracing *tracing;
	uint32_t *cpus;
	bool all_threads;
	bool any_thread;		/* a thread of a VMM was found */
	struct xvt_host_choice *choice; /* NULL: the kernel chooses the threads */
	struct task *tasks;		/* by tid */
	size_t nr_tasks, task_room;
	struct process *processes;
	size_t nr_processes, process_room;
	uint32_t second;
	uint32_t next_scan, scan_gap;	   /* seconds */
	struct xvt_process_search *search; /* NULL: none is under way */
	char *pids;			   /* to be added to the instance's threads */
	size_t pids_len, pids_room;
	bool pids_refused;
};

/* --- metadata --- */

static void put_meta(struct xvt_session *s, uint32_t type, uint32_t id, const void *text,
		     size_t len)
{
	const struct xvt_vm *vm = xvt_session_host_vm(s);
	const struct xvt_meta_info info = { vm->id, type, id, vm->region.hdr.generation };

	xvt_session_put_meta(s, &info, text, len);
}

/* Whether the print fmt of a format shows addresses as the names of functions. */
static bool prints_functions(const char *text)
{
	return strstr(text, "%ps") || strstr(text, "%pS") || strstr(text, "%pf") ||
	       strstr(text, "%pF");
}

/* The text of a format, with numbers for constants. */
static char *read_format(struct xvt_enums *enums, const char *system, const char *event,
			 size_t *size)
{
	char *text = xvt_tracing_format(system, event, size);
	size_t resolved_size;
	char *resolved = text && enums ? xvt_enums_resolve(enums, text, &resolved_size) : NULL;

	if (!resolved)
		return text;
	free(text);
	*size = resolved_size;
	return resolved;
}

/* META_FORMAT of an event: system, event and the kernel's text. */
static int put_format(struct xvt_session_kernel *k, struct xvt_enums *enums, const char *system,
		      const char *event)
{
	struct xvt_session *s = k->session;
	size_t size, head = strlen(system) + strlen(event) + 2;
	char *text = read_format(enums, system, event, &size), *all;
	const char *id = text ? strstr(text, "\nID:") : NULL;
	const unsigned long type = id ? strtoul(id + 4, NULL, 10) : 0;

	if (!id) {
		free(text);
		return -EIO;
	}
	all = malloc(head + size);
	if (all) {
		memcpy(all, system, strlen(system) + 1);
		memcpy(all + strlen(system) + 1, event, strlen(event) + 1);
		memcpy(all + head, text, size);
		put_meta(s, XVT_META_FORMAT, (uint32_t)type, all, head + size);
		if (prints_functions(text))
			xvt_session_symbols_want(s, (uint16_t)type);
		if (k->choice)
			xvt_host_choice_format(k->choice, (uint16_t)type, system, event, text);
	}
	free(all);
	free(text);
	return all ? 0 : -ENOMEM;
}

/* As a guest's module tells it: `uname -srvm`. */
static void put_kernel(struct xvt_session *s)
{
	struct utsname u;
	char text[sizeof(u)];

	if (uname(&u))
		return;
	snprintf(text, sizeof(text), "%s %s %s %s", u.sysname, u.release, u.version, u.machine);
	put_meta(s, XVT_META_TEXT, 0, text, strlen(text));
}

static void put_printk_formats(struct xvt_session *s)
{
	size_t size;
	char *text = xvt_tracing_read(NULL, "printk_formats", &size);

	if (size)
		put_meta(s, XVT_META_PRINTK_FORMATS, 0, text, size);
	free(text);
}

/* --- events --- */

struct switching {
	struct xvt_session_kernel *k;
	bool put;		 /* put the formats into the trace; else switch the events on */
	struct xvt_enums *enums; /* of the formats; NULL: none */
};

static int switch_on(void *arg, const char *system, const char *event)
{
	struct switching *w = arg;

	return w->put ? put_format(w->k, w->enums, system, event)
		      : xvt_tracing_enable(w->k->tracing, system, event);
}

/* Do that for all events of the options. Returns 0 or -errno with `why`. */
static int each_event(struct switching *w, const struct xvt_host_options *o, struct xvt_error *why)
{
	size_t i;

	for (i = 0; i < o->nr_events + o->nr_wanted; i++) {
		const bool must = i < o->nr_events;
		const char *pattern = must ? o->events[i] : o->wanted[i - o->nr_events];
		int n = xvt_tracing_match(pattern, switch_on, w);

		if (n > 0 || (!n && !must))
			continue;
		xvt_fail(why, 0,
			 n ? "%s: cannot switch it on: %s"
			   : "%s: this host's kernel has no such event; its events are the folders "
			     "in %s/events",
			 pattern, n ? strerror(-n) : xvt_tracing_dir());
		return n ? n : -ENOENT;
	}
	return 0;
}

static int no_event(void *arg, const char *system, const char *event)
{
	(void)arg, (void)system, (void)event;
	return 0;
}

/* The events of a preset that this kernel does not have, in one note. A pattern may have none. */
static void report_missing(struct xvt_session *s, const struct xvt_host_options *o)
{
	char text[256] = "";
	size_t i, len = 0;

	for (i = 0; i < o->nr_wanted && len < sizeof(text); i++) {
		if (strchr(o->wanted[i], '*') || xvt_tracing_match(o->wanted[i], no_event, NULL))
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
					o->wanted[i]);
	}
	if (len)
		xvt_session_note(s, 1, xvt_session_host_vm(s), UINT32_MAX,
				 "this kernel does not have %s; they are not recorded", text);
}

/* --- threads and names --- */

static uint64_t hash_of(const char *text)
{
	uint64_t h = HASH_BEGIN;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ull;
	return h;
}

/* The task of a thread, made if it is new. NULL: no memory, or too many. */
static struct task *task_of(struct xvt_session_kernel *k, int32_t tid)
{
	size_t at = 0, end = k->nr_tasks;

	while (at < end) {
		const size_t mid = at + (end - at) / 2;

		if (k->tasks[mid].tid < tid)
			at = mid + 1;
		else
			end = mid;
	}
	if (at < k->nr_tasks && k->tasks[at].tid == tid)
		return &k->tasks[at];
	if (k->nr_tasks == NAMES_MAX ||
	    xvt_grow(&k->tasks, &k->task_room, k->nr_tasks + 1, sizeof(*k->tasks)))
		return NULL;
	memmove(k->tasks + at + 1, k->tasks + at, (k->nr_tasks - at) * sizeof(*k->tasks));
	k->tasks[at] = (struct task){ .tid = tid, .second = UINT32_MAX, .vcpu = NO_VCPU };
	k->nr_tasks++;
	return &k->tasks[at];
}

/* With each name, since a number may be another thread's then. A thread that has ended has none. */
static void put_process(struct xvt_session *s, const struct task *t)
{
	struct xvt_meta_process p = t->process;
	int32_t tgid;
	bool kernel;

	if (!xvt_thread_process(t->tid, &tgid, &kernel))
		return;
	p.tgid = (uint32_t)tgid;
	p.flags = kernel ? XVT_PROCESS_F_KERNEL : 0;
	p.since_ns = xvt_thread_start_ns(t->tid);
	put_meta(s, XVT_META_PROCESS, (uint32_t)t->tid, &p, sizeof(p));
}

/* A thread of a VMM has ended: its number may be another one's from now on. */
static void put_end(struct xvt_session *s, struct task *t)
{
	const struct xvt_meta_process p = { .since_ns = xvt_host_clock_ns(&s->clock,
									  xvt_clock_read()) };

	t->second = UINT32_MAX;
	t->hash = 0;
	t->process.role = XVT_ROLE_NONE;
	put_meta(s, XVT_META_PROCESS, (uint32_t)t->tid, &p, sizeof(p));
}

static void name_task(struct xvt_session_kernel *k, struct task *t, const char *name)
{
	const uint32_t type = t->of_vmm ? XVT_META_THREAD : XVT_META_COMM;
	const uint64_t hash = hash_of(name);

	if (t->hash == hash)
		return;
	t->hash = hash;
	put_meta(k->session, type, (uint32_t)t->tid, name, strlen(name));
	put_process(k->session, t);
}

static void add_pid(struct xvt_session_kernel *k, int32_t tid)
{
	char text[16];
	const size_t len = (size_t)snprintf(text, sizeof(text), "%d\n", tid);

	if (k->choice) {
		xvt_host_choice_thread(k->choice, tid);
		k->any_thread = true;
	}
	if (k->all_threads || k->choice ||
	    xvt_grow(&k->pids, &k->pids_room, k->pids_len + len + 1, 1))
		return;
	memcpy(k->pids + k->pids_len, text, len + 1);
	k->pids_len += len;
}

static void name_of_vcpu(char *to, size_t size, const char *machine, uint32_t vcpu)
{
	if (vcpu == MANY_VCPUS)
		snprintf(to, size, "%s:vcpus", machine);
	else
		snprintf(to, size, "%s:vcpu%u", machine, vcpu);
}

/* "g1:vcpu0" of "CPU 0/KVM", as QEMU calls its threads with debug-threads=on, "g1:vcpus" of the one
 * thread that emulates all of them; else "g1:NAME". */
static void name_of(char *to, size_t size, const char *machine, const char *name)
{
	unsigned int cpu;
	char kind;

	if (sscanf(name, "CPU %u/%c", &cpu, &kind) == 2)
		name_of_vcpu(to, size, machine, cpu);
	else if (!strncmp(name, "ALL CPUs/", 9))
		name_of_vcpu(to, size, machine, MANY_VCPUS);
	else
		snprintf(to, size, "%s:%s", machine, name);
}

struct of_process {
	struct xvt_session_kernel *k;
	const struct process *p;
};

/* A thread is there. name: NULL if it is to be read, which is done for a new one at once, and for
 * others seldom. */
static void take_named(const struct of_process *of, int32_t tid, const char *name)
{
	struct xvt_session_kernel *k = of->k;
	struct task *t = task_of(k, tid);
	char text[NAME_LEN], read[XVT_TASK_NAME_LEN];
	const struct xvt_vm *vm;

	if (!t)
		return;
	if (!t->of_vmm || t->second == UINT32_MAX) {
		add_pid(k, tid);
		t->named = false;
	}
	t->of_vmm = true;
	t->second = k->second;
	if (!name && t->named && ((uint32_t)tid ^ k->second) % NAME_SECS)
		return;
	if (!name && !xvt_thread_name(of->p->pid, tid, read))
		return;
	t->named = true;
	name = name ? name : read;
	vm = xvt_session_vm_by_id(k->session, of->p->vm);
	if (!vm) /* the machine was freed: its process ends, too */
		return;
	name_of(text, sizeof(text), vm->name, name);
	t->process.vm = vm->id;
	t->process.role = xvt_host_role(name, tid == of->p->pid, &t->process.vcpu);
	if (t->vcpu != NO_VCPU && t->vcpu_vm == of->p->vm) {
		name_of_vcpu(text, sizeof(text), vm->name, t->vcpu);
		t->process.role = t->vcpu == MANY_VCPUS ? XVT_ROLE_ALL_VCPUS : XVT_ROLE_VCPU;
		t->process.vcpu = t->vcpu == MANY_VCPUS ? 0 : t->vcpu;
	}
	name_task(k, t, text);
}

static void take_thread(void *arg, int32_t tid)
{
	take_named(arg, tid, NULL);
}

void xvt_session_kernel_vcpu(struct xvt_session *s, const struct xvt_vm *vm, uint32_t vcpu,
			     int32_t tid)
{
	struct xvt_session_kernel *k = s->sources.kernel;
	struct task *t = k ? task_of(k, tid) : NULL;

	if (!t)
		return;
	/* A VMM may emulate all vCPUs in one thread. */
	if (t->vcpu != NO_VCPU && t->vcpu_vm == vm->id && t->vcpu != vcpu)
		vcpu = MANY_VCPUS;
	t->named &= t->vcpu == vcpu;
	t->vcpu = vcpu;
	t->vcpu_vm = vm->id; /* the thread counts only if it is one of that machine's VMM */
}

static void take_vhost(void *arg, int32_t tid, const char *name, int32_t pid)
{
	struct xvt_session_kernel *k = arg;
	struct task *t;
	size_t i;

	for (i = 0; i < k->nr_processes; i++) {
		if (k->processes[i].pid != pid)
			continue;
		take_named(&(struct of_process){ k, &k->processes[i] }, tid, name);
		t = task_of(k, tid);
		if (t)
			t->vhost_of = pid;
	}
}

static bool is_process(const struct xvt_session_kernel *k, int32_t pid)
{
	size_t i;

	for (i = 0; i < k->nr_processes; i++) {
		if (k->processes[i].pid == pid)
			return true;
	}
	return false;
}

static void take_process(void *arg, int32_t pid, size_t vm)
{
	struct xvt_session_kernel *k = arg;

	if (is_process(k, pid))
		return; /* a process that maps the regions of two machines */
	if (!xvt_grow(&k->processes, &k->process_room, k->nr_processes + 1, sizeof(*k->processes)))
		k->processes[k->nr_processes++] = (struct process){ pid, k->session->vms[vm]->id };
}

static bool has_process(const struct xvt_session_kernel *k, const struct xvt_vm *vm)
{
	size_t i;

	for (i = 0; i < k->nr_processes; i++) {
		if (k->processes[i].vm == vm->id)
			return true;
	}
	return vm->own || vm->phase == XVT_VM_GONE;
}

/* Begin a search for the VMMs of machines that have none, among all processes. The searches come
 * less often, the longer they are in vain. */
static void begin_search(struct xvt_session_kernel *k)
{
	const struct xvt_session *s = k->session;
	const struct xvt_process_finder finder = { take_process, take_vhost, k };
	struct xvt_mapped_file *files;
	bool all = true;
	size_t i;

	for (i = 0; i < s->nr_vms; i++)
		all &= has_process(k, s->vms[i]);
	if (all || k->search || k->second < k->next_scan)
		return;
	k->scan_gap = k->scan_gap ? k->scan_gap * 2 : 1;
	k->scan_gap = k->scan_gap < SCAN_MOST_SECS ? k->scan_gap : SCAN_MOST_SECS;
	k->next_scan = k->second + k->scan_gap;
	files = calloc(s->nr_vms, sizeof(*files));
	for (i = 0; files && i < s->nr_vms; i++) {
		if (!s->vms[i]->own)
			files[i] = (struct xvt_mapped_file){ s->vms[i]->file.dev,
							     s->vms[i]->file.ino };
	}
	if (files)
		xvt_process_search_begin(&k->search, &finder, files, s->nr_vms);
	k->session->sources.kernel_searches = k->search != NULL;
	free(files);
}

/* Returns true if the search has ended now. */
static bool go_on_searching(struct xvt_session_kernel *k, uint64_t most_ns)
{
	const bool over = k->search && xvt_process_search_step(k->search, most_ns);

	if (over) {
		xvt_process_search_end(k->search);
		k->search = NULL;
	}
	k->session->sources.kernel_searches = k->search != NULL;
	return over;
}

/* Drop processes that have ended, and remember of which tasks the numbers are free again. */
static void take_threads(struct xvt_session_kernel *k)
{
	size_t i, kept = 0;

	for (i = 0; i < k->nr_processes; i++) {
		const struct process p = k->processes[i];

		if (!xvt_process_threads(p.pid, take_thread, &(struct of_process){ k, &p }))
			k->processes[kept++] = p;
		else
			k->scan_gap = k->next_scan = 0;
	}
	k->nr_processes = kept;
	if (k->choice)
		xvt_host_choice_none(k->choice);
	for (i = 0; i < k->nr_tasks; i++) {
		struct task *t = &k->tasks[i];

		if (t->second == UINT32_MAX)
			continue;
		if (t->vhost_of && is_process(k, t->vhost_of))
			t->second = k->second;
		if (t->second != k->second)
			put_end(k->session, t);
		else if (k->choice)
			xvt_host_choice_thread(k->choice, t->tid);
	}
}

static void tell_pids(struct xvt_session_kernel *k)
{
	int err;

	if (!k->pids_len)
		return;
	err = xvt_tracing_write(k->tracing, "set_event_pid", k->pids, true);
	k->pids_len = 0;
	k->any_thread |= !err;
	if (err && !k->pids_refused)
		xvt_session_note(k->session, 1, xvt_session_host_vm(k->session), UINT32_MAX,
				 "the kernel does not take all threads of the machines: %s",
				 strerror(-err));
	k->pids_refused |= err != 0;
}

/* Names of other tasks with events, of the latest ones that the kernel keeps: lines "PID NAME". */
static void take_names(struct xvt_session_kernel *k)
{
	size_t size;
	char *text = xvt_tracing_read(NULL, "saved_cmdlines", &size), *line, *rest = text;

	while (text && (line = strsep(&rest, "\n"))) {
		char *name = strchr(line, ' ');
		const long tid = name ? strtol(line, NULL, 10) : 0;
		struct task *t = NULL;

		if (tid > 0 && tid <= INT32_MAX && xvt_session_host_saw(k->session, (int32_t)tid))
			t = task_of(k, (int32_t)tid);
		if (t && !t->of_vmm)
			name_task(k, t, name + 1);
	}
	free(text);
}

void xvt_session_kernel_second(struct xvt_session *s)
{
	struct xvt_session_kernel *k = s->sources.kernel;

	if (!k)
		return;
	k->second++;
	begin_search(k);
	take_threads(k);
	tell_pids(k);
	take_names(k);
}

void xvt_session_kernel_pass(struct xvt_session *s)
{
	struct xvt_session_kernel *k = s->sources.kernel;

	if (!k || !go_on_searching(k, SEARCH_NS))
		return;
	take_threads(k);
	tell_pids(k);
}

/* Nothing is recorded yet that a long search could hold up. */
static void begin(struct xvt_session_kernel *k)
{
	k->second++;
	begin_search(k);
	go_on_searching(k, UINT64_MAX);
	take_threads(k);
	tell_pids(k);
	take_names(k);
}

void xvt_session_kernel_names(struct xvt_session *s)
{
	struct xvt_session_kernel *k = s->sources.kernel;
	struct xvt_meta_info info = { .type = XVT_META_KSYMS };
	size_t size;
	char *text;

	if (!k || !is_recording(s))
		return;
	take_threads(k);
	take_names(k);
	text = xvt_session_symbols_text(s, &size);
	info.vm = xvt_session_host_vm(s)->id;
	info.generation = xvt_session_host_vm(s)->region.hdr.generation;
	if (text) /* each file has its own */
		xvt_trace_put(s->trace, XVT_CHUNK_META, &info, sizeof(info), text, size);
	free(text);
}

void xvt_session_kernel_end(struct xvt_session *s)
{
	struct xvt_session_kernel *k = s->sources.kernel;

	if (!k || !is_recording(s))
		return;
	xvt_session_kernel_names(s);
	if (!k->all_threads && !k->any_thread)
		xvt_session_note(
			s, 1, xvt_session_host_vm(s), UINT32_MAX,
			"no process of this host maps the region of a machine, so the host "
			"has no events%s; --host-all records all threads",
			k->choice ? " but task switches" : "");
}

/* --- beginning and end --- */

static ssize_t page(void *arg, size_t cpu, void *to, size_t size)
{
	const struct xvt_session_kernel *k = arg;

	return xvt_tracing_page(k->tracing, cpu, to, size);
}

static int lost(void *arg, size_t cpu, uint64_t *n)
{
	const struct xvt_session_kernel *k = arg;

	return xvt_tracing_lost(k->tracing, cpu, n);
}

/* Without the number of a thread the kernel would trace all of them. */
static int record(void *arg, bool on)
{
	struct xvt_session_kernel *k = arg;

	if (on && !k->all_threads && !k->choice && !k->any_thread)
		return -EAGAIN;
	return xvt_tracing_write(k->tracing, "tracing_on", on ? "1" : "0", false);
}

static bool keep(void *arg, const uint8_t *data, uint32_t len)
{
	const struct xvt_session_kernel *k = arg;

	return xvt_host_choice_keeps(k->choice, data, len);
}

static int set_up(struct xvt_session_kernel *k, const struct xvt_host_options *o,
		  struct xvt_error *why)
{
	struct switching w = { .k = k };
	int err = xvt_tracing_write(k->tracing, "tracing_on", "0", false);

	/* The threads that a thread makes are traced as well, and its number is free at its end. */
	if (!err)
		err = xvt_tracing_write(k->tracing, "options/event-fork", "1", false);
	if (err)
		xvt_fail(why, 0, "cannot set up a tracing instance: %s", strerror(-err));
	return err ? err : each_event(&w, o, why);
}

static int attach(struct xvt_session_kernel *k, const struct xvt_host_options *o,
		  struct xvt_error *why)
{
	struct xvt_session *s = k->session;
	struct switching w = { .k = k, .put = true };
	struct xvt_host_source source = {
		.nr_cpus = xvt_tracing_cpus(k->tracing),
		.page_size = (size_t)sysconf(_SC_PAGESIZE),
		.page = page,
		.lost = lost,
		.record = record,
		.keep = k->choice ? keep : NULL,
		.arg = k,
	};
	size_t i;
	int err;

	k->cpus = calloc(source.nr_cpus, sizeof(*k->cpus));
	if (!k->cpus)
		return -ENOMEM;
	for (i = 0; i < source.nr_cpus; i++)
		k->cpus[i] = xvt_tracing_cpu(k->tracing, i);
	source.cpus = k->cpus;
	err = xvt_session_host_attach(s, &source, why);
	if (err)
		return err;
	put_kernel(s);
	put_printk_formats(s);
	/* A format that cannot be read leaves its events without names. */
	w.enums = xvt_enums_new(NULL);
	each_event(&w, o, why);
	xvt_enums_free(w.enums);
	report_missing(s, o);
	return 0;
}

int xvt_session_host_add(struct xvt_session *s, const struct xvt_host_options *o,
			 struct xvt_error *why)
{
	const struct xvt_tracing_options options = {
		.use = XVT_TRACING_HOST,
		.buffer_kib = o->buffer_kib ? o->buffer_kib : BUFFER_KIB,
		.why = why,
	};
	struct xvt_session_kernel *k = calloc(1, sizeof(*k));
	int err = -ENOMEM;

	xvt_fail(why, 0, "%s", strerror(ENOMEM));
	if (!k)
		return err;
	k->session = s;
	k->all_threads = o->all_threads;
	k->choice = o->all_switches && !o->all_threads ? xvt_host_choice_new() : NULL;
	if (o->all_switches && !o->all_threads && !k->choice) {
		free(k);
		return err;
	}
	if (s->clock.clock_id == XVT_CLOCK_TSC) {
		err = xvt_tracing_open(&k->tracing, &options);
	} else {
		err = -EOPNOTSUPP;
		xvt_fail(why, 0,
			 "this host's kernel cannot trace by the recorder's clock, "
			 "which is not a TSC");
	}
	if (!err)
		err = set_up(k, o, why);
	if (!err)
		err = attach(k, o, why);
	s->sources.kernel = k;
	if (err)
		xvt_session_kernel_free(s);
	else
		begin(k);
	return err;
}

void xvt_session_kernel_free(struct xvt_session *s)
{
	struct xvt_session_kernel *k = s->sources.kernel;

	xvt_session_symbols_free(s);
	if (!k)
		return;
	xvt_tracing_close(k->tracing);
	xvt_process_search_end(k->search);
	s->sources.kernel_searches = false;
	free(k->cpus);
	free(k->tasks);
	free(k->processes);
	free(k->pids);
	free(k->choice);
	free(k);
	s->sources.kernel = NULL;
}
