// SPDX-License-Identifier: GPL-2.0
/*
 * kvm.c - reads the host kernel's events about the machines' vCPUs (vmm/kvm_events.h). A changed
 * TSC offset starts a clock measurement at once. On request, the spans in which each vCPU was in
 * its guest go into the trace, where xvtrace verify checks every event against them: they do not
 * depend on the clock map.
 *
 * The kernel's rings are read CPU after CPU, so events are sorted by time up to a moment before the
 * reading began. A missing entry or exit makes a span longer, never shorter: a claim that a vCPU
 * did not run rests on two events that were seen.
 */
#include "session/parts.h"

#include "vmm/kvm_events.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/vec.h"

#define LOOK_NS	  20000000u /* the kernel's rings hold some 26,000 events of each CPU */
#define OPEN_NS	  SECOND_NS /* between two checks for a KVM machine */
#define KNOWN_NS  SECOND_NS /* a thread id may be reused */
#define SETTLE_NS 1000000u  /* longest delay of an event between its stamp and its ring */
#define SPANS	  4096	    /* in one chunk */

struct thread {
	int32_t tid;
	uint32_t vm; /* UINT32_MAX: no recorded machine */
	uint64_t looked_clock;
	size_t vcpu; /* the one that it ran last */
};

struct vcpu {
	uint32_t vm;
	uint32_t id;
	bool inside;
	bool seen; /* left_clock holds */
	uint64_t entered_clock;
	uint64_t left_clock;
	uint64_t last_clock; /* older events come too late */
};

struct cpu {
	uint64_t last_clock; /* newest event read; 0: none yet */
};

struct xvt_session_kvm {
	struct xvt_ftrace *ftrace; /* NULL: not yet, or never */
	bool failed;
	uint64_t begin_clock;
	uint64_t next_clock;
	uint64_t put_clock;
	struct thread *threads; /* by tid */
	size_t nr_threads;
	struct vcpu *vcpus;
	size_t nr_vcpus;
	struct cpu *cpus;
	size_t nr_cpus;
	struct xvt_ftrace_event *queue; /* events not sorted yet */
	size_t nr_queued;
	size_t queue_room;
	struct xvt_run_span *spans;
	size_t nr_spans;
	bool short_of_memory;
};

static struct xvt_session_kvm *state(struct xvt_session *s)
{
	if (s->sources.kvm)
		return s->sources.kvm;
	s->sources.kvm = calloc(1, sizeof(*s->sources.kvm));
	if (!s->sources.kvm)
		return NULL;
	s->sources.kvm->begin_clock = xvt_clock_read();
	s->sources.kvm->put_clock = s->sources.kvm->begin_clock;
	return s->sources.kvm;
}

/* Insert a zeroed element at `at`. Returns the array; NULL without memory, and the array is
 * unchanged. */
static void *grow(void *array, size_t *count, size_t size, size_t at)
{
	char *grown = realloc(array, (*count + 1) * size);

	if (!grown)
		return NULL;
	memmove(grown + (at + 1) * size, grown + at * size, (*count - at) * size);
	memset(grown + at * size, 0, size);
	++*count;
	return grown;
}

/* --- threads and vCPUs --- */

static uint32_t vm_of(const struct xvt_session *s, int32_t tid)
{
	bool (*runs)(const struct xvt_vm *vm, int32_t tid) = s->opt.kvm_thread;
	size_t i;

	if (!runs)
		runs = xvt_session_exact_thread;
	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->phase == XVT_VM_ATTACHED && runs(s->vms[i], tid))
			return s->vms[i]->id;
	}
	return UINT32_MAX;
}

static struct thread *thread_of(struct xvt_session *s, int32_t tid, uint64_t now)
{
	struct xvt_session_kvm *k = s->sources.kvm;
	size_t at = 0, step = 1;
	struct thread *t;
	void *grown;

	while (step < k->nr_threads)
		step *= 2;
	for (; step; step /= 2) {
		if (at + step <= k->nr_threads && k->threads[at + step - 1].tid < tid)
			at += step;
	}
	t = at < k->nr_threads ? &k->threads[at] : NULL;
	if (!t || t->tid != tid) {
		grown = grow(k->threads, &k->nr_threads, sizeof(*t), at);
		if (!grown)
			return NULL;
		k->threads = grown;
		t = &k->threads[at];
		t->tid = tid;
	} else if (since(now, t->looked_clock) < ticks(s, KNOWN_NS)) {
		return t;
	}
	t->looked_clock = now;
	t->vm = vm_of(s, tid);
	return t;
}

static struct vcpu *vcpu_of(struct xvt_session_kvm *k, struct thread *t, uint32_t id)
{
	struct vcpu *v;
	void *grown;

	if (t->vcpu < k->nr_vcpus && k->vcpus[t->vcpu].vm == t->vm && k->vcpus[t->vcpu].id == id)
		return &k->vcpus[t->vcpu];
	for (t->vcpu = 0; t->vcpu < k->nr_vcpus; t->vcpu++) {
		v = &k->vcpus[t->vcpu];
		if (v->vm == t->vm && v->id == id)
			return v;
	}
	grown = grow(k->vcpus, &k->nr_vcpus, sizeof(*v), k->nr_vcpus);
	if (!grown)
		return NULL;
	k->vcpus = grown;
	v = &k->vcpus[t->vcpu];
	v->vm = t->vm;
	v->id = id;
	return v;
}

/* --- a TSC offset was changed --- */

static uint64_t distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static void offset_changed(struct xvt_session *s, uint32_t vm_id, const struct xvt_ftrace_event *e)
{
	struct xvt_vm *vm = xvt_session_vm_by_id(s, vm_id);
	uint32_t i;

	if (!vm || vm->phase != XVT_VM_ATTACHED || e->previous == e->next)
		return;
	for (i = 0; i < vm->region.g.ring_count; i++) {
		const struct xvt_ring_ctl *ctl = xvt_host_ring_ctl(&vm->region, i);
		struct xvt_ring *r = vm->rings[i];

		if (xvt_load(&ctl->hw_id) != e->vcpu_id || xvt_load(&ctl->type) != XVT_RING_VCPU)
			continue;
		if (!r) /* a writer may have begun since the newest scan */
			r = xvt_vm_wake_ring(s, vm, i);
		if (!r)
			continue;
		xvt_session_unpark(s, r);
		xvt_ring_bump_epoch(r);
		xvt_clock_map_reported(&r->clock.map, xvt_host_clock_ns(&s->clock, e->host_clock),
				       distance(e->previous, e->next));
		r->clock.next_burst_clock = 0;
		xvt_session_clock_soon(s, r, xvt_clock_read());
		xvt_session_note(s, 0, vm, r->id,
				 "cpu %u: its TSC offset was changed from %" PRId64 " to %" PRId64,
				 xvt_load(&r->ctl->cpu), e->previous, e->next);
	}
}

/* --- spans --- */

static void put_spans(struct xvt_session *s)
{
	struct xvt_session_kvm *k = s->sources.kvm;

	k->put_clock = xvt_clock_read();
	if (k->nr_spans)
		xvt_trace_put(s->trace, XVT_CHUNK_RUNS, k->spans, k->nr_spans * sizeof(*k->spans),
			      NULL, 0);
	k->nr_spans = 0;
}

static void add_span(struct xvt_session *s, const struct xvt_run_span *span)
{
	struct xvt_session_kvm *k = s->sources.kvm;

	if (!k->spans)
		k->spans = calloc(SPANS, sizeof(*k->spans));
	if (!k->spans) {
		k->short_of_memory = true;
		return;
	}
	k->spans[k->nr_spans++] = *span;
	if (k->nr_spans == SPANS)
		put_spans(s);
}

/* Add a gap: from from_clock to to_clock the spans say nothing of any vCPU. */
static void lost(struct xvt_session *s, const struct xvt_ftrace_event *e, uint64_t from_clock,
		 uint64_t to_clock)
{
	struct xvt_run_span gap = {
		.vm = UINT32_MAX,
		.vcpu = e->lost > UINT32_MAX ? UINT32_MAX : (uint32_t)e->lost,
		.host_cpu = e->host_cpu,
		.flags = XVT_RUN_F_LOST,
		.enter_clock = from_clock,
		.exit_clock = to_clock,
	};

	/* Without run spans a gap does not matter: a changed clock is also found by measurements,
	 * later. */
	if (s->opt.run_spans)
		add_span(s, &gap);
}

static void left(struct xvt_session *s, struct vcpu *v, const struct xvt_ftrace_event *e)
{
	struct xvt_run_span span = {
		v->vm,	      v->id, e->host_cpu, 0, v->inside ? v->entered_clock : v->left_clock,
		e->host_clock
	};

	/* Some kernels re-enter the guest without an event: count the time since the last exit as
	 * run. */
	if (v->inside || v->seen)
		add_span(s, &span);
	v->inside = false;
	v->seen = true;
	v->left_clock = e->host_clock;
}

static void entered(struct vcpu *v, const struct xvt_ftrace_event *e)
{
	/* An exit event is missing: the vCPU may have been inside ever since. */
	if (v->inside)
		return;
	v->inside = true;
	v->entered_clock = e->host_clock;
}

static void place(struct xvt_session *s, const struct xvt_ftrace_event *e)
{
	struct thread *t = thread_of(s, e->pid, xvt_clock_read());
	struct vcpu *v;

	if (t && t->vm == UINT32_MAX)
		return;
	v = t ? vcpu_of(s->sources.kvm, t, e->vcpu_id) : NULL;
	if (!v) {
		s->sources.kvm->short_of_memory = true;
		return;
	}
	if (e->host_clock < v->last_clock) {
		/* The CPU's ring was too full to be read to its end before. */
		lost(s, e, e->host_clock, v->last_clock);
		return;
	}
	v->last_clock = e->host_clock;
	if (e->kind == XVT_FTRACE_ENTRY)
		entered(v, e);
	else
		left(s, v, e);
}

static int by_clock(const void *pa, const void *pb)
{
	const struct xvt_ftrace_event *a = pa, *b = pb;

	return a->host_clock < b->host_clock ? -1 : a->host_clock > b->host_clock;
}

void xvt_session_kvm_settle(struct xvt_session *s, uint64_t until_clock)
{
	struct xvt_session_kvm *k = s->sources.kvm;
	size_t i;

	if (!k || !k->nr_queued)
		return;
	qsort(k->queue, k->nr_queued, sizeof(*k->queue), by_clock);
	for (i = 0; i < k->nr_queued && k->queue[i].host_clock < until_clock; i++)
		place(s, &k->queue[i]);
	k->nr_queued -= i;
	memmove(k->queue, k->queue + i, k->nr_queued * sizeof(*k->queue));
}

/* --- events --- */

static void keep(struct xvt_session_kvm *k, const struct xvt_ftrace_event *e)
{
	if (xvt_grow(&k->queue, &k->queue_room, k->nr_queued + 1, sizeof(*k->queue)))
		k->short_of_memory = true;
	else
		k->queue[k->nr_queued++] = *e;
}

void xvt_session_kvm_take(struct xvt_session *s, const struct xvt_ftrace_event *e)
{
	struct xvt_session_kvm *k = state(s);
	struct thread *t;
	struct cpu *c;

	while (k && k->nr_cpus <= e->host_cpu) {
		void *grown = grow(k->cpus, &k->nr_cpus, sizeof(*k->cpus), k->nr_cpus);

		k->short_of_memory |= !grown;
		if (!grown)
			return;
		k->cpus = grown;
	}
	if (!k)
		return;
	c = &k->cpus[e->host_cpu];
	switch (e->kind) {
	case XVT_FTRACE_TSC_OFFSET:
		t = thread_of(s, e->pid, xvt_clock_read());
		if (t && t->vm != UINT32_MAX)
			offset_changed(s, t->vm, e);
		break;
	case XVT_FTRACE_LOST:
		lost(s, e, c->last_clock ? c->last_clock : k->begin_clock, e->host_clock);
		break;
	case XVT_FTRACE_ENTRY:
	case XVT_FTRACE_EXIT:
		keep(k, e);
		break;
	}
	if (e->host_clock > c->last_clock)
		c->last_clock = e->host_clock;
}

static void take(void *arg, const struct xvt_ftrace_event *e)
{
	xvt_session_kvm_take(arg, e);
}

/* --- the kernel's rings --- */

static bool any_kvm(const struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->phase == XVT_VM_ATTACHED && xvt_session_exact_kvm(s->vms[i]))
			return true;
	}
	return false;
}

/* Open the kernel's rings, which take memory of each CPU, only if a recorded machine runs under
 * KVM. */
static void begin(struct xvt_session *s)
{
	struct xvt_error why = { "" };
	struct xvt_ftrace_options o = { .run_spans = s->opt.run_spans, .why = &why };
	int err;

	if (!any_kvm(s) || !state(s))
		return;
	err = xvt_ftrace_open(&s->sources.kvm->ftrace, &o);
	s->sources.kvm->failed = err;
	if (!err) {
		s->sources.kvm->begin_clock = xvt_clock_read();
		return;
	}
	/* Offset events are optional: measurements find a change as well, a little later. */
	xvt_session_note(s, s->opt.run_spans ? 2 : 0, NULL, UINT32_MAX,
			 "what the kernel tells of KVM cannot be had: %s",
			 why.text[0] ? why.text : strerror(-err));
}

static void read_all(struct xvt_session *s)
{
	uint64_t begun = xvt_clock_read_ordered();
	int64_t n = xvt_ftrace_read(s->sources.kvm->ftrace, take, s);

	if (n < 0) {
		xvt_session_note(s, s->opt.run_spans ? 2 : 0, NULL, UINT32_MAX,
				 "what the kernel tells of KVM cannot be read any more: %s",
				 strerror((int)-n));
		xvt_ftrace_close(s->sources.kvm->ftrace);
		s->sources.kvm->ftrace = NULL;
		s->sources.kvm->failed = true;
	}
	xvt_session_kvm_settle(s, begun - ticks(s, SETTLE_NS));
}

/* KVM traces a change before the vCPU enters its guest again, so what came before the guest's
 * answer is in the kernel's rings by now. */
void xvt_session_kvm_hear(struct xvt_session *s, const struct xvt_ring *r)
{
	if (s->sources.kvm && s->sources.kvm->ftrace && xvt_session_exact_kvm(xvt_vm_of_ring(r)))
		read_all(s);
}

void xvt_session_kvm_look(struct xvt_session *s, uint64_t now)
{
	struct xvt_session_kvm *k = s->sources.kvm;

	if (k && (k->failed || earlier(now, k->next_clock)))
		return;
	if (!k || !k->ftrace)
		begin(s);
	k = s->sources.kvm;
	if (!k)
		return;
	if (k->ftrace)
		read_all(s);
	k->next_clock = now + ticks(s, k->ftrace ? LOOK_NS : OPEN_NS);
	if (since(now, k->put_clock) > ticks(s, SECOND_NS))
		put_spans(s);
}

void xvt_session_kvm_end(struct xvt_session *s)
{
	struct xvt_session_kvm *k = s->sources.kvm;

	if (s->opt.run_spans && (!k || (!k->nr_vcpus && !k->failed)))
		xvt_session_note(s, 1, NULL, UINT32_MAX,
				 "no run spans: no vCPU of a machine in this trace was seen to run "
				 "under KVM");
	if (!k)
		return;
	if (k->ftrace)
		read_all(s);
	xvt_session_kvm_settle(s, UINT64_MAX);
	put_spans(s);
	if (k->short_of_memory)
		xvt_session_note(s, 2, NULL, UINT32_MAX, "no memory: run spans are missing");
	xvt_ftrace_close(k->ftrace);
	free(k->threads);
	free(k->vcpus);
	free(k->cpus);
	free(k->queue);
	free(k->spans);
	free(k);
	s->sources.kvm = NULL;
}
