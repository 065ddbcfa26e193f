// SPDX-License-Identifier: GPL-2.0
/* threads.c - what the host's threads are: of which machine's VMM, of which vCPU, and their names.
 */
#include "path/parts.h"

#include <stdio.h>
#include <string.h>

/* By the name that recorders before 0.4 gave it alone: "g1:qemu". */
static const struct xvtrace_machine *machine_by_name(struct xvt_path *p, int tid)
{
	const struct xvtrace_task *t = xvtrace_reader_task_of(p->reader, p->host->number, tid);

	for (unsigned int i = 0; t && i < p->info->machines; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(p->trace, i);
		const size_t len = m ? strlen(m->recorded_name) : 0;

		if (m && !strncmp(t->comm, m->recorded_name, len) && t->comm[len] == ':')
			return m;
	}
	return NULL;
}

static struct path_thread of_role(const struct xvtrace_thread *role)
{
	return (struct path_thread){
		.machine = role->role == XVTRACE_ROLE_NONE ? NULL : role->machine,
		.vcpu = role->role == XVTRACE_ROLE_VCPU || role->role == XVTRACE_ROLE_ALL_VCPUS,
		.hw_id = role->role == XVTRACE_ROLE_ALL_VCPUS ? XVTRACE_ALL_VCPUS : role->vcpu,
	};
}

struct path_thread thread_at(struct xvt_path *p, int tid, uint64_t ns)
{
	struct path_thread t = { 0 };
	struct xvtrace_thread role;
	struct xvtrace_vcpu vcpu;

	if (!p->host || tid <= 0)
		return t;
	if (xvtrace_reader_role(p->reader, p->host->number, tid, ns, &role) > 0)
		return of_role(&role);
	if (xvtrace_reader_thread(p->reader, p->host->number, tid, &vcpu) > 0)
		return (struct path_thread){ vcpu.machine, true, vcpu.vcpu };
	t.machine = machine_by_name(p, tid);
	return t;
}

static bool runs(const struct path_thread *t, const struct xvtrace_ring *ring)
{
	return t->vcpu && t->machine == ring->machine &&
	       (t->hw_id == XVTRACE_ALL_VCPUS || t->hw_id == ring->hw_id);
}

/* By the roles that the recorder stated; the newest before `ns` counts. */
static int by_role(struct xvt_path *p, const struct xvtrace_ring *ring, uint64_t ns, bool *shares)
{
	struct xvtrace_thread role;
	uint64_t from_ns = 0;
	size_t at = 0;
	int tid = 0;

	while (xvtrace_reader_role_next(p->reader, p->host->number, &at, &role) > 0) {
		const struct path_thread t = of_role(&role);

		if (!runs(&t, ring) || role.from_ns > ns || (tid && role.from_ns < from_ns))
			continue;
		tid = role.tid;
		from_ns = role.from_ns;
		*shares = t.hw_id == XVTRACE_ALL_VCPUS;
	}
	return tid;
}

int thread_of_vcpu(struct xvt_path *p, const struct xvtrace_ring *ring, uint64_t ns, bool *shares)
{
	struct xvtrace_vcpu vcpu;
	size_t at = 0;
	int tid = p->host ? by_role(p, ring, ns, shares) : 0;

	while (p->host && !tid && xvtrace_reader_vcpu(p->reader, p->host->number, &at, &vcpu) > 0) {
		const struct path_thread t = { vcpu.machine, true, vcpu.vcpu };

		if (!runs(&t, ring))
			continue;
		tid = vcpu.tid;
		*shares = vcpu.vcpu == XVTRACE_ALL_VCPUS;
	}
	return tid;
}

void task_name(struct xvt_path *p, const struct xvtrace_machine *m, int pid, const struct rec *r,
	       char *to, size_t size)
{
	const struct xvtrace_task *t = xvtrace_reader_task_of(p->reader, m->number, pid);
	const char *name = t ? t->comm : "<...>";
	char comm[40];

	/* A task may have had another name then. The recorder's names of threads say more. */
	if (r && r->kind == REC_SWITCH && r->b == pid && r->text != NONE &&
	    !(m->host && machine_by_name(p, pid)))
		name = rec_text(p, r);
	xvt_text_clean(comm, sizeof(comm), name, strlen(name));
	snprintf(to, size, "%s-%d", comm, pid);
}
