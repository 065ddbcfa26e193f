// SPDX-License-Identifier: GPL-2.0
/*
 * perfetto_sched.c - what Perfetto makes slices and states of tasks of; see perfetto_parts.h.
 *
 * A task counts as running from the switch to it to the next switch of that CPU. Where that one
 * comes from another task, some are missing: threads were chosen, or events were lost. Then a task
 * "not traced" stands from the last moment at which the first one was seen.
 *
 * Where the machine stands still, a task "paused" stands in its place, so that no time there counts
 * as run time.
 */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdio.h>

/* PID_MAX_LIMIT of Linux: the first number that no task has. */
#define NO_TASK	      0x400000
#define PRIO	      120
#define INTERRUPTIBLE 1 /* TASK_INTERRUPTIBLE: that a task waits for a CPU is not known */

enum {
	WAKING_COMM = 1,
	WAKING_PID = 2,
	WAKING_PRIO = 3,
	WAKING_CPU = 5,
	SWITCH_PREV_COMM = 1,
	SWITCH_PREV_PID = 2,
	SWITCH_PREV_PRIO = 3,
	SWITCH_PREV_STATE = 4,
	SWITCH_NEXT_COMM = 5,
	SWITCH_NEXT_PID = 6,
	SWITCH_NEXT_PRIO = 7,
};

/* A process for tasks that the export makes; that of CPU n has a number that is n + 1 higher. */
struct made {
	const char *name;
	int32_t pid;
};

static const struct made not_traced = { "not traced", NO_TASK };
static const struct made paused = { "paused", NO_TASK + 0x10000 };

static void set_task(struct xvt_pf_running *t, int32_t pid, const struct xvtrace_value *comm)
{
	t->pid = pid;
	t->len = comm->count < sizeof(t->comm) ? comm->count : sizeof(t->comm);
	memcpy(t->comm, comm->data, t->len);
}

/* Name the CPU's task of that process, and the process. */
static int name_made(struct xvt_pf *p, struct xvt_pf_ring *r, const struct made *m)
{
	struct xvt_proto *b = &p->packet;
	const size_t len = strlen(m->name);
	size_t at, item;

	if (xvt_pf_begin_ring_packet(p, r, 2 * xvt_proto_text_room(len) + 10 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	at = xvt_proto_open(b, TRACE_PACKET_PROCESS_TREE);
	item = xvt_proto_open(b, PROCESS_TREE_PROCESSES);
	xvt_proto_u64(b, PROCESS_PID, (uint64_t)m->pid);
	xvt_proto_string(b, PROCESS_CMDLINE, m->name, len);
	xvt_proto_u64(b, PROCESS_CMDLINE_IS_COMM, 1);
	xvt_proto_close(b, item);
	item = xvt_proto_open(b, PROCESS_TREE_THREADS);
	xvt_proto_u64(b, THREAD_TID, (uint64_t)m->pid + 1 + r->cpu);
	xvt_proto_string(b, THREAD_NAME, m->name, len);
	xvt_proto_u64(b, THREAD_TGID, (uint64_t)m->pid);
	xvt_proto_close(b, item);
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

/* The CPU's task of that process. */
static struct xvt_pf_running made_task(const struct xvt_pf_ring *r, const struct made *m)
{
	struct xvt_pf_running t = { .pid = m->pid + 1 + (int32_t)r->cpu,
				    .len = (uint32_t)strlen(m->name) };

	memcpy(t.comm, m->name, t.len);
	return t;
}

/* A switch that was not recorded. */
static int put_switch(struct xvt_pf_ring *r, uint64_t ns, const struct xvt_pf_running *prev,
		      const struct xvt_pf_running *next)
{
	struct xvt_proto *b = &r->events;
	size_t at, inner;

	if (xvt_proto_room(b, xvt_proto_text_room(prev->len + next->len) + 16 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	at = xvt_proto_open(b, FTRACE_EVENT_BUNDLE_EVENT);
	xvt_proto_u64(b, FTRACE_EVENT_TIMESTAMP, ns);
	xvt_proto_u64(b, FTRACE_EVENT_PID, (uint32_t)prev->pid);
	inner = xvt_proto_open(b, XVT_PERFETTO_SWITCH);
	xvt_proto_string(b, SWITCH_PREV_COMM, prev->comm, prev->len);
	xvt_proto_u64(b, SWITCH_PREV_PID, (uint64_t)(int64_t)prev->pid);
	xvt_proto_u64(b, SWITCH_PREV_PRIO, PRIO);
	xvt_proto_u64(b, SWITCH_PREV_STATE, INTERRUPTIBLE);
	xvt_proto_string(b, SWITCH_NEXT_COMM, next->comm, next->len);
	xvt_proto_u64(b, SWITCH_NEXT_PID, (uint64_t)(int64_t)next->pid);
	xvt_proto_u64(b, SWITCH_NEXT_PRIO, PRIO);
	xvt_proto_close(b, inner);
	xvt_proto_close(b, at);
	return 0;
}

static int put_gap(struct xvt_pf *p, struct xvt_pf_ring *r, uint64_t ns,
		   const struct xvt_pf_running *prev)
{
	const struct xvt_pf_running none = made_task(r, &not_traced);
	int err = r->gaps ? 0 : name_made(p, r, &not_traced);

	r->gaps = true;
	if (!err)
		err = put_switch(r, r->seen_ns, &r->running, &none);
	return err ? err : put_switch(r, ns, &none, prev);
}

int xvt_pf_stand(struct xvt_pf *p, struct xvt_pf_ring *r, uint64_t ns)
{
	const struct xvt_pf_running none = made_task(r, &paused);
	int err;

	if (!r->runs)
		return 0;
	err = r->pauses ? 0 : name_made(p, r, &paused);
	r->pauses = true;
	if (!err)
		err = put_switch(r, ns, &r->running, &none);
	r->stood = r->running;
	r->running = none;
	r->switch_prev = none.pid;
	r->seen_ns = ns;
	return err;
}

int xvt_pf_go_on(struct xvt_pf_ring *r, uint64_t ns)
{
	const struct xvt_pf_running none = r->running;

	if (!r->runs || none.pid != made_task(r, &paused).pid)
		return 0;
	r->running = r->stood;
	r->seen_ns = ns;
	return put_switch(r, ns, &none, &r->running);
}

int xvt_pf_switch(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev,
		  const struct xvtrace_field *const of[XVT_PERFETTO_FIELDS])
{
	struct xvtrace_value prev_comm, prev_pid, next_comm, next_pid;
	struct xvt_pf_running prev;
	int err = 0;

	if (!of[SWITCH_PREV_COMM] || !of[SWITCH_PREV_PID] || !of[SWITCH_NEXT_COMM] ||
	    !of[SWITCH_NEXT_PID])
		return 0;
	xvtrace_value(ev, of[SWITCH_PREV_COMM], &prev_comm);
	xvtrace_value(ev, of[SWITCH_PREV_PID], &prev_pid);
	xvtrace_value(ev, of[SWITCH_NEXT_COMM], &next_comm);
	xvtrace_value(ev, of[SWITCH_NEXT_PID], &next_pid);
	set_task(&prev, (int32_t)prev_pid.u, &prev_comm);
	if (r->runs && r->running.pid != prev.pid)
		err = put_gap(p, r, ev->ns, &prev);
	set_task(&r->running, (int32_t)next_pid.u, &next_comm);
	r->switch_system = ev->type->system;
	r->switch_prev = prev.pid;
	r->runs = true;
	r->seen_ns = ev->ns;
	return err;
}

/* The place of a name in the table of the next bundle; -1: no memory. */
static int64_t name_index(struct xvt_pf_ring *r, const struct xvtrace_value *comm)
{
	struct xvt_pf_running *known;
	uint32_t hash = 0;

	for (size_t i = 0; i < comm->count; i++)
		hash = hash * 31 + comm->data[i];
	known = &r->names_of[hash % XVT_PF_NAMES];
	if (known->pid && known->len == comm->count && !memcmp(known->comm, comm->data, known->len))
		return known->pid - 1;
	if (xvt_proto_room(&r->names, xvt_proto_text_room(comm->count)))
		return -1;
	xvt_proto_string(&r->names, COMPACT_SCHED_INTERN_TABLE, comm->data, comm->count);
	set_task(known, ++r->name_count, comm);
	return r->name_count - 1;
}

int xvt_pf_waking(struct xvt_pf_ring *r, const struct xvtrace_event *ev,
		  const struct xvtrace_field *const of[XVT_PERFETTO_FIELDS])
{
	struct xvtrace_value comm, pid, prio, cpu;
	int64_t name;

	/* Perfetto takes the task that runs for the waker. */
	if (!r->runs || r->running.pid != ev->pid || !of[WAKING_COMM] || !of[WAKING_PID] ||
	    !of[WAKING_PRIO] || !of[WAKING_CPU])
		return 0;
	xvtrace_value(ev, of[WAKING_COMM], &comm);
	if (comm.count > sizeof(r->running.comm))
		return 0;
	xvtrace_value(ev, of[WAKING_PID], &pid);
	xvtrace_value(ev, of[WAKING_PRIO], &prio);
	xvtrace_value(ev, of[WAKING_CPU], &cpu);
	if (xvt_grow(&r->wakings, &r->waking_room, r->waking_count + 1, sizeof(*r->wakings)))
		return -ENOMEM;
	name = name_index(r, &comm);
	if (name < 0)
		return -ENOMEM;
	r->wakings[r->waking_count++] = (struct xvt_pf_waking){
		.ns = ev->ns,
		.pid = (int32_t)pid.u,
		.prio = (int32_t)prio.u,
		.cpu = (int32_t)cpu.u,
		.name = (uint32_t)name,
		.flags = ev->irq_flags,
	};
	return 1;
}
