// SPDX-License-Identifier: GPL-2.0
/* host_threads.c - the threads of the host that had its CPUs, each by its number and its name. */
#include "analyze/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static int add(struct host_threads *w, const struct xvt_host_thread *thread)
{
	struct xvt_host_thread *copy;

	if (xvt_grow(&w->v, &w->room, w->count + 1, sizeof(struct xvt_host_thread *)))
		return -1;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -1;
	*copy = *thread;
	w->v[w->count++] = copy;
	return 0;
}

int host_threads_init(struct host_threads *w)
{
	static const struct xvt_host_thread fixed[] = {
		[HOST_THREAD_NONE] = { 0, false, "an idle host CPU" },
		[HOST_THREAD_MISSING] = { -1, false, "(not recorded)" },
		[HOST_THREAD_OTHERS] = { -2, false, "(several others)" },
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (add(w, &fixed[i]))
			return -1;
	return 0;
}

void host_threads_fini(struct host_threads *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->v[i]);
	free(w->v);
	free(w->slots);
}

static size_t slot_of(const struct host_threads *w, int tid, const char *name)
{
	size_t at = (uint32_t)tid * 2654435769u & (w->slot_count - 1);

	for (; w->slots[at]; at = (at + 1) & (w->slot_count - 1)) {
		const struct xvt_host_thread *thread = w->v[w->slots[at] - 1];

		if (thread->tid == tid && strcmp(thread->name, name) == 0)
			break;
	}
	return at;
}

static int grow_slots(struct host_threads *w)
{
	struct host_threads more = *w;

	if (w->slot_count > 2 * w->count)
		return 0;
	more.slot_count = w->slot_count ? 2 * w->slot_count : 256;
	more.slots = calloc(more.slot_count, sizeof(*more.slots));
	if (!more.slots)
		return -1;
	for (uint32_t i = HOST_THREAD_OTHERS + 1; i < w->count; i++)
		more.slots[slot_of(&more, w->v[i]->tid, w->v[i]->name)] = i + 1;
	free(w->slots);
	*w = more;
	return 0;
}

/* A thread of a process that is called xvtrace, a worker of io_uring among them. */
static bool is_recorder(struct xvt_analyze *a, int tid)
{
	const unsigned int host = a->host.machine->number;
	const struct xvtrace_task *t = xvtrace_reader_task_of(a->reader, host, tid);
	bool kernel;
	int process;

	if (t && strcmp(t->comm, "xvtrace") == 0)
		return true;
	process = xvtrace_reader_process(a->reader, host, tid, &kernel);
	if (process <= 0 || process == tid)
		return false;
	t = xvtrace_reader_task_of(a->reader, host, process);
	return t && strcmp(t->comm, "xvtrace") == 0;
}

/* comm: any bytes. */
static uint32_t find(struct xvt_analyze *a, int tid, const char *comm)
{
	struct host_threads *w = &a->host_threads;
	struct xvt_host_thread thread = { .tid = tid };
	char clean[40];
	size_t at;

	if (grow_slots(w))
		return HOST_THREAD_OTHERS;
	xvt_text_clean(clean, sizeof(clean), comm, strlen(comm));
	snprintf(thread.name, sizeof(thread.name), "%s-%d", clean, tid);
	at = slot_of(w, tid, thread.name);
	if (w->slots[at])
		return w->slots[at] - 1;
	thread.recorder = is_recorder(a, tid);
	if (add(w, &thread))
		return HOST_THREAD_OTHERS;
	w->slots[at] = (uint32_t)w->count;
	return (uint32_t)w->count - 1;
}

uint32_t host_threads_of(struct xvt_analyze *a, int tid)
{
	const struct xvtrace_task *t;
	struct host_thread_found *f = &a->host_threads.found[(unsigned int)tid % 256];
	const char *comm;
	uint32_t thread;

	if (!tid)
		return HOST_THREAD_NONE;
	t = xvtrace_reader_task_of(a->reader, a->host.machine->number, tid);
	comm = t ? t->comm : "<...>";
	if (f->tid == tid && strcmp(f->comm, comm) == 0)
		return f->thread;
	thread = find(a, tid, comm);
	if (strlen(comm) < sizeof(f->comm)) {
		f->tid = tid;
		f->thread = thread;
		memcpy(f->comm, comm, strlen(comm) + 1);
	}
	return thread;
}
