// SPDX-License-Identifier: GPL-2.0
/* perfetto_tasks.c - names of tasks; see perfetto_parts.h. */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdlib.h>

#define NAMED_TASKS_MAX (1u << 16) /* of a machine */

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

static int put_process(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev,
		       const char *comm)
{
	struct xvt_proto *b = &p->packet;
	uint64_t pid = (uint64_t)(int64_t)ev->pid;
	size_t len = strlen(comm), at, item;

	if (xvt_pf_begin_ring_packet(p, r, 2 * xvt_proto_text_room(len) + 10 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ev->ns);
	at = xvt_proto_open(b, TRACE_PACKET_PROCESS_TREE);
	item = xvt_proto_open(b, PROCESS_TREE_PROCESSES);
	xvt_proto_u64(b, PROCESS_PID, pid);
	xvt_proto_string(b, PROCESS_CMDLINE, comm, len);
	xvt_proto_u64(b, PROCESS_CMDLINE_IS_COMM, 1);
	xvt_proto_close(b, item);
	item = xvt_proto_open(b, PROCESS_TREE_THREADS);
	xvt_proto_u64(b, THREAD_TID, pid);
	xvt_proto_string(b, THREAD_NAME, comm, len);
	xvt_proto_u64(b, THREAD_TGID, pid);
	xvt_proto_close(b, item);
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

/*
 * Tell the name of the event's task, when it is new. A guest does not say which tasks share a
 * process, so each is a process of its own.
 */
int xvt_pf_put_task(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev)
{
	struct xvt_pf_machine *m = &p->machines[r->machine];
	const char *comm = xvtrace_event_comm(ev);
	uint32_t hash = 2166136261u;
	struct xvt_pf_task *n;

	r->pid = ev->pid;
	if (!comm || !ev->pid)
		return 0;
	for (const char *c = comm; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	hash |= 1;
	if (2 * m->count >= m->room && m->count < NAMED_TASKS_MAX && more_tasks(m))
		return -ENOMEM;
	n = find_task(m, ev->pid);
	if (n->hash == hash || (!n->hash && m->count == NAMED_TASKS_MAX))
		return 0;
	m->count += !n->hash;
	*n = (struct xvt_pf_task){ .pid = ev->pid, .hash = hash };
	return put_process(p, r, ev, comm);
}
