// SPDX-License-Identifier: GPL-2.0
/* perfetto_tasks.c - names of tasks; see perfetto_parts.h. */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdlib.h>

#define NAMED_TASKS_MAX (1u << 16) /* of a machine */
#define NOT_TOLD	2u	   /* in xvt_pf_task.hash: there is no name yet */
#define CLONE_THREAD	0x10000u

static struct xvt_pf_task *find_task(struct xvt_pf_machine *m, int32_t pid)
{
	uint32_t at = (uint32_t)pid * 0x9e3779b1u;

	for (;; at++) {
		struct xvt_pf_task *n = &m->tasks[(at >> 7) & (m->room - 1)];

		if (!n->hash || n->pid == pid)
			return n;
		at += 127;
	}
}

static int more_tasks(struct xvt_pf_machine *m)
{
	struct xvt_pf_machine old = *m;

	m->room = old.room ? 2 * old.room : 64;
	m->tasks = calloc(m->room, sizeof(*m->tasks));
	if (!m->tasks) {
		*m = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.room; i++)
		if (old.tasks[i].hash)
			*find_task(m, old.tasks[i].pid) = old.tasks[i];
	free(old.tasks);
	return 0;
}

/* The entry of a task. NULL: there are too many; *err: out of memory. */
static struct xvt_pf_task *task_of(struct xvt_pf_machine *m, int32_t pid, int *err)
{
	struct xvt_pf_task *t;

	*err = 2 * m->count >= m->room && m->count < NAMED_TASKS_MAX ? more_tasks(m) : 0;
	if (*err)
		return NULL;
	t = find_task(m, pid);
	if (t->hash)
		return t;
	if (m->count == NAMED_TASKS_MAX)
		return NULL;
	m->count++;
	*t = (struct xvt_pf_task){ .pid = pid, .hash = NOT_TOLD };
	return t;
}

int xvt_pf_new_task(struct xvt_pf_machine *m, int32_t parent, int32_t pid, uint64_t clone_flags)
{
	struct xvt_pf_task *t;
	int32_t tgid = pid;
	int err;

	if (clone_flags & CLONE_THREAD) {
		t = m->room ? find_task(m, parent) : NULL;
		tgid = t && t->tgid ? t->tgid : parent;
	}
	t = task_of(m, pid, &err);
	if (!t)
		return err;
	/* The number may have been another task's. */
	t->hash = NOT_TOLD;
	t->tgid = tgid;
	t->kernel = parent == XVT_PF_KTHREADD;
	return 0;
}

static void put_thread(struct xvt_proto *b, const struct xvt_pf_task *t, const char *comm)
{
	size_t at = xvt_proto_open(b, PROCESS_TREE_THREADS);

	xvt_proto_u64(b, THREAD_TID, (uint64_t)(int64_t)t->pid);
	xvt_proto_string(b, THREAD_NAME, comm, strlen(comm));
	xvt_proto_u64(b, THREAD_TGID, (uint64_t)(int64_t)(t->tgid ? t->tgid : t->pid));
	xvt_proto_close(b, at);
}

static void put_process(struct xvt_proto *b, const struct xvt_pf_task *t, const char *comm)
{
	size_t at = xvt_proto_open(b, PROCESS_TREE_PROCESSES);

	xvt_proto_u64(b, PROCESS_PID, (uint64_t)(int64_t)t->pid);
	if (t->kernel) /* Perfetto puts them into a group of their own */
		xvt_proto_u64(b, PROCESS_PPID, XVT_PF_KTHREADD);
	xvt_proto_string(b, PROCESS_CMDLINE, comm, strlen(comm));
	xvt_proto_u64(b, PROCESS_CMDLINE_IS_COMM, 1);
	xvt_proto_close(b, at);
}

static int put_tree(struct xvt_pf *p, struct xvt_pf_ring *r, uint64_t ns,
		    const struct xvt_pf_task *t, const char *comm)
{
	struct xvt_proto *b = &p->packet;
	size_t at;

	if (xvt_pf_begin_ring_packet(p, r,
				     2 * xvt_proto_text_room(strlen(comm)) + 10 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ns);
	at = xvt_proto_open(b, TRACE_PACKET_PROCESS_TREE);
	if (!t->tgid || t->tgid == t->pid)
		put_process(b, t, comm);
	put_thread(b, t, comm);
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

/*
 * Tell the name of the event's task, when it is new. Whose thread it is a guest says with
 * task_newtask alone; another task is a process of its own.
 */
int xvt_pf_put_task(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev)
{
	struct xvt_pf_machine *m = &p->machines[r->machine];
	const char *comm = xvtrace_event_comm(ev);
	uint32_t hash = 2166136261u;
	struct xvt_pf_task *t;
	int err;

	r->pid = ev->pid;
	if (!comm || !ev->pid)
		return 0;
	for (const char *c = comm; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	hash |= 1;
	t = task_of(m, ev->pid, &err);
	if (!t || t->hash == hash)
		return err;
	if (!t->tgid)
		t->tgid = xvtrace_reader_process(p->x->reader, r->machine, ev->pid, &t->kernel);
	t->hash = hash;
	return put_tree(p, r, ev->ns, t, comm);
}
