// SPDX-License-Identifier: GPL-2.0
/*
 * exact.c - what KVM knows of a vCPU's clock, or its region says of it, held against what
 * the handshake measured. A source that agrees makes the handshake's node exact. One that
 * contradicts it is refused for that ring: an interval between two readings of the host's own
 * clock is a proof, as long as the guest answers truly, and a number in a file is not.
 *
 * The region's numbers are the guest's word. They are used only where the caller vouches for the
 * machine (vm->trust_guest_clock), only without KVM's, and never against KVM's: a guest could lie
 * in its answers and in these numbers alike.
 */
#include "session/parts.h"

#include "clock/kvm.h"
#include "clock/vmm.h"

#include <inttypes.h>

/* Looking for a machine's VMM reads the maps of all of them: ever more seldom. */
#define LOOK_FIRST_NS SECOND_NS
#define LOOK_LAST_NS  (64 * SECOND_NS)
#define MISSING_MAX   64 /* vCPUs in a row that are not there */

/* Best first: what the host knows outranks what the guest can write. */
#define KVM	      0
#define GUEST	      1
static const struct xvt_clock_exact_ops *const sources[XVT_EXACT_SOURCES] = {
	[KVM] = &xvt_clock_kvm,
	[GUEST] = &xvt_clock_vmm,
};
#define APART_NS 1000 /* two formulas that lie closer are one, but for their roundings */

/* The region's numbers need somebody who vouches for its guest. That they are there is said once:
 * a VMM that writes them counts on their use. */
static bool may_use(struct xvt_session *s, struct xvt_vm *vm, unsigned int i)
{
	struct xvt_exact_use *use = &vm->exact[i];
	struct xvt_clock_exact *source;

	if (i != GUEST || vm->trust_guest_clock)
		return true;
	if (!use->told && !sources[i]->open(&source, vm->region.fd, &vm->region)) {
		sources[i]->close(source);
		use->told = true;
		xvt_session_note(s, 0, vm, UINT32_MAX,
				 "its region says what its clocks are made of; the guest can write "
				 "that, so it is used only with --trust-guest-clock %s",
				 vm->base_name);
	}
	return false;
}

static void look_for(struct xvt_session *s, struct xvt_vm *vm, unsigned int i)
{
	struct xvt_exact_use *use = &vm->exact[i];
	char why[256] = "";
	struct xvt_kvm_paths paths = { .why = why, .why_size = sizeof(why) };
	uint64_t now = xvt_clock_read();
	int err;

	if ((int64_t)(now - use->next_look_clock) < 0)
		return;
	use->gap_ns = use->gap_ns ? use->gap_ns * 2 : LOOK_FIRST_NS;
	if (use->gap_ns > LOOK_LAST_NS)
		use->gap_ns = LOOK_LAST_NS;
	use->next_look_clock = now + ticks(s, use->gap_ns);
	if (!may_use(s, vm, i))
		return;
	err = sources[i]->open(&use->source, vm->region.fd,
			       i == GUEST ? (const void *)&vm->region : &paths);
	if (err && err != -ENODEV && !use->told)
		xvt_session_note(s, 0, vm, UINT32_MAX,
				 "what %s knows of its clocks cannot be read: %s", sources[i]->name,
				 why);
	use->told |= err && err != -ENODEV;
}

void xvt_session_exact_close(struct xvt_vm *vm)
{
	unsigned int i;

	for (i = 0; i < XVT_EXACT_SOURCES; i++) {
		if (vm->exact[i].source)
			sources[i]->close(vm->exact[i].source);
		vm->exact[i].source = NULL;
	}
}

/* Refused or not: whose VMM it is, it knows. */
static const struct xvt_clock_exact *kvm_of(const struct xvt_vm *vm)
{
	return vm->exact[KVM].source;
}

bool xvt_session_exact_kvm(const struct xvt_vm *vm)
{
	return kvm_of(vm);
}

bool xvt_session_exact_thread(const struct xvt_vm *vm, int32_t tid)
{
	const struct xvt_clock_exact *kvm = kvm_of(vm);

	return kvm && xvt_clock_kvm_thread(kvm, tid);
}

static bool refused(const struct xvt_ring *r, unsigned int i)
{
	return r->stats.rejected & 1u << sources[i]->id;
}

/*
 * None of the vCPUs that its rings name is there: another VMM may have the region by now. Or the
 * guest names them wrongly, so the next look comes as late as it would have otherwise.
 */
static void look_again(struct xvt_vm *vm, unsigned int i)
{
	struct xvt_exact_use *use = &vm->exact[i];

	sources[i]->close(use->source);
	use->source = NULL;
	use->missing = 0;
	use->next_look_clock = xvt_clock_read() + ticks(vm->session, use->gap_ns);
}

static bool formula_of(struct xvt_vm *vm, const struct xvt_ring *r, unsigned int i,
		       struct xvt_clock_formula *f)
{
	struct xvt_exact_use *use = &vm->exact[i];
	int err;

	if (!use->source || refused(r, i))
		return false;
	err = sources[i]->read(use->source, xvt_load(&r->ctl->hw_id), f);
	use->missing = err == -ENODEV ? use->missing + 1 : 0;
	if (use->missing > MISSING_MAX)
		look_again(vm, i);
	return !err;
}

static void read_formula(struct xvt_vm *vm, struct xvt_ring *r, unsigned int i)
{
	struct xvt_exact_reading *reading = &r->formula[i];
	struct xvt_clock_formula f = { 0 };
	const bool read = formula_of(vm, r, i, &f);

	/* The same as before: it proves as much as that one, and for longer. */
	if (read && reading->read && xvt_formula_equal(&f, &reading->formula))
		return;
	reading->read = read;
	reading->formula = f;
	reading->clock = xvt_clock_read_ordered();
}

/*
 * What was read after the last burst is what is known before this one: a reading costs a visit to
 * debugfs, and the other vCPUs wait meanwhile. Only who wants a burst at once has a reason to think
 * that it changed; and then, were it not read again, this burst could not give an exact node.
 */
void xvt_session_exact_begin(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_vm *vm = s->vms[r->vm];
	const bool at_once = !r->next_burst_clock;
	unsigned int i;

	for (i = 0; i < XVT_EXACT_SOURCES; i++) {
		if (!vm->exact[i].source)
			look_for(s, vm, i);
		if (at_once || !r->formula[i].read)
			read_formula(vm, r, i);
	}
}

/* Does the formula's host time of each sample lie where the handshake saw it? */
static bool agrees(const struct xvt_clock_measure *m, const struct xvt_clock_formula *f)
{
	unsigned int i;

	for (i = 0; i < m->nr_samples; i++) {
		const struct xvt_clock_sample *sample = &m->samples[i];
		uint64_t host;

		if (xvt_formula_host(f, sample->guest, &host) ||
		    (int64_t)(host - sample->host_clock_lo) < 0 ||
		    (int64_t)(sample->host_clock_hi - host) < 0)
			return false;
	}
	return true;
}

static void refuse(struct xvt_session *s, struct xvt_ring *r, const struct xvt_clock_measure *m,
		   unsigned int i)
{
	const struct xvt_clock_formula *f = &r->formula[i].formula;
	const struct xvt_clock_sample *sample = &m->samples[0];
	uint64_t host = 0;

	(void)xvt_formula_host(f, sample->guest, &host);
	r->stats.rejected |= 1u << sources[i]->id;
	xvt_session_note(s, 1, s->vms[r->vm], r->id,
			 "cpu %u: %s is refused: by its offset %" PRId64
			 " the guest's clock read %" PRIu64 " at host tick %" PRIu64
			 ", but the guest answered it between %" PRIu64 " and %" PRIu64
			 "; its clock is what it answers%s",
			 xvt_load(&r->ctl->cpu), sources[i]->name, f->offset, sample->guest, host,
			 sample->host_clock_lo, sample->host_clock_hi,
			 i == KVM ? ": this KVM shows offsets that its guests do not get, or the "
				    "guest answers wrongly"
				  : "");
}

/* KVM contradicts the guest's word. */
static void refuse_by_kvm(struct xvt_session *s, struct xvt_ring *r)
{
	r->stats.rejected |= 1u << sources[GUEST]->id;
	if (r->exact_used == sources[GUEST]->id)
		r->exact_doubt = true;
	xvt_session_note(
		s, 1, s->vms[r->vm], r->id,
		"cpu %u: %s is refused: its offset %" PRId64 " contradicts what KVM says, %" PRId64,
		xvt_load(&r->ctl->cpu), sources[GUEST]->name, r->formula[GUEST].formula.offset,
		refused(r, KVM) ? r->formula[KVM].contradicting.offset
				: r->formula[KVM].formula.offset);
}

/* Has this formula been contradicted before? */
static bool second_time(struct xvt_ring *r, unsigned int i)
{
	struct xvt_exact_reading *reading = &r->formula[i];

	if (reading->contradicted && xvt_formula_equal(&reading->contradicting, &reading->formula))
		return true;
	/* At once, but not again for each of a VMM's words that the guest writes there. */
	if (!reading->contradicted)
		r->next_burst_clock = 0;
	reading->contradicted = true;
	reading->contradicting = reading->formula;
	return false;
}

/*
 * The samples are a proof, the formula was the same before the first and after the last of them,
 * and they contradict it. A vCPU's clock changes only while it is out of its guest, so that is no
 * race of reading the one and the other; but there is one left: a clock that was moved and moved
 * back within the burst (a guest that writes TSC_ADJUST twice), and its formula was never wrong.
 * The second contradiction of one formula is not that. Until then nothing exact comes of it.
 */
static void contradicted(struct xvt_session *s, struct xvt_ring *r,
			 const struct xvt_clock_measure *m, unsigned int i)
{
	if (r->exact_used == sources[i]->id)
		r->exact_doubt = true;
	if (!second_time(r, i))
		return;
	refuse(s, r, m, i);
}

/* Was the formula the same from before the first question until now? */
static bool held(struct xvt_vm *vm, struct xvt_ring *r, const struct xvt_clock_measure *m,
		 unsigned int i)
{
	const struct xvt_exact_reading before = r->formula[i];

	read_formula(vm, r, i);
	/* A burst may have been under way when it was read: a question that nobody had answered for
	 * long is not asked again if its answer is there. */
	return before.read && r->formula[i].read && r->formula[i].clock == before.clock &&
	       (int64_t)(m->host_clock_lo - before.clock) >= 0;
}

static bool in_epoch_of_exact(const struct xvt_ring *r)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->map);

	return last && last->epoch == r->exact_epoch;
}

/* The measurement's node, as the formula has it: off by a tick and the roundings. */
static void make_exact(struct xvt_session *s, struct xvt_ring *r, struct xvt_clock_measure *m,
		       unsigned int i, uint64_t host)
{
	m->node.source = sources[i]->id;
	m->node.host_ns = xvt_host_clock_ns(&s->clock, host);
	m->node.bound_ns = xvt_exact_bound_ns(&s->clock);
	/* Another formula is another epoch, however small the change. But if a node that was
	 * measured meanwhile has begun one, that is the same jump. */
	r->map.moved = r->exact_used == sources[i]->id && in_epoch_of_exact(r) &&
		       !xvt_formula_equal(&r->exact, &r->formula[i].formula);
}

/* Does what the region says differ from what KVM says? Both held for this burst. */
static bool differs(const struct xvt_session *s, const struct xvt_ring *r,
		    const struct xvt_clock_measure *m)
{
	uint64_t by_kvm, by_guest;

	if (xvt_formula_host(&r->formula[KVM].formula, m->node.guest, &by_kvm) ||
	    xvt_formula_host(&r->formula[GUEST].formula, m->node.guest, &by_guest))
		return false;
	return (by_kvm > by_guest ? by_kvm - by_guest : by_guest - by_kvm) > ticks(s, APART_NS);
}

/*
 * The guest's word is of use only where KVM knows nothing of the machine. Where it does, the word
 * is checked all the same. It is refused if it differs twice, and where KVM was refused: then the
 * guest's answers are all that speaks for it.
 */
static bool kvm_allows(struct xvt_session *s, struct xvt_ring *r, const struct xvt_clock_measure *m,
		       bool kvm_held)
{
	if (refused(r, KVM) || (kvm_held && differs(s, r, m) && second_time(r, GUEST)))
		refuse_by_kvm(s, r);
	return !refused(r, KVM) && !kvm_of(s->vms[r->vm]);
}

void xvt_session_exact_refine(struct xvt_session *s, struct xvt_ring *r,
			      struct xvt_clock_measure *m)
{
	struct xvt_vm *vm = s->vms[r->vm];
	bool kvm_held = false, done = false;
	unsigned int i;

	r->map.moved = false; /* what a node told that was dropped is found again */
	/* A source that is not used is checked as well, so that a wrong one is reported. */
	for (i = 0; i < XVT_EXACT_SOURCES; i++) {
		const struct xvt_clock_formula *f = &r->formula[i].formula;
		uint64_t host;

		if (!held(vm, r, m, i))
			continue;
		kvm_held |= i == KVM;
		if (!agrees(m, f)) {
			contradicted(s, r, m, i);
			continue;
		}
		if (i == GUEST && !kvm_allows(s, r, m, kvm_held))
			continue;
		if (!done && !xvt_formula_host(f, m->node.guest, &host)) {
			make_exact(s, r, m, i, host);
			done = true;
		}
	}
}

void xvt_session_exact_added(struct xvt_ring *r, const struct xvt_clock_node *node)
{
	unsigned int i;

	for (i = 0; i < XVT_EXACT_SOURCES; i++) {
		if (node->source != sources[i]->id)
			continue;
		r->exact_used = node->source;
		r->exact = r->formula[i].formula;
		r->exact_epoch = node->epoch;
		r->exact_doubt = false;
	}
}

bool xvt_session_exact_holds(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_clock_formula now;
	unsigned int i;

	for (i = 0; i < XVT_EXACT_SOURCES && in_epoch_of_exact(r) && !r->exact_doubt; i++) {
		if (r->exact_used == sources[i]->id)
			return formula_of(s->vms[r->vm], r, i, &now) &&
			       xvt_formula_equal(&now, &r->exact);
	}
	return false;
}
