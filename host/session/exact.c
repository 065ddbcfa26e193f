// SPDX-License-Identifier: GPL-2.0
/*
 * exact.c - checks what KVM knows of a vCPU's clock, or its region says of it, against the
 * handshake's measurements. A source that agrees makes the handshake's node exact. A source that
 * contradicts it is refused for that ring: an interval between two readings of the host's own clock
 * is a proof, as long as the guest answers truly, and a number in a file is not.
 *
 * The region's numbers can be written by the guest. They are used only where the user trusts the
 * machine (vm->exact.trusts_guest), only if KVM's numbers are missing, and never against KVM's: a
 * guest could lie in its answers and in these numbers alike.
 */
#include "session/parts.h"

#include "clock/kvm.h"
#include "clock/vmm.h"

#include <inttypes.h>

/* Finding a machine's VMM reads the maps of all processes, so failed attempts become ever more
 * seldom. */
#define LOOK_FIRST_NS SECOND_NS
#define LOOK_LAST_NS  (64 * SECOND_NS)
#define MISSING_MAX   64 /* consecutive missing vCPUs */

/* Best first: the host's knowledge outranks what the guest can write. */
#define KVM	      0
#define GUEST	      1
static const struct xvt_clock_exact_ops *const sources[XVT_EXACT_SOURCES] = {
	[KVM] = &xvt_clock_kvm,
	[GUEST] = &xvt_clock_vmm,
};
#define APART_NS 1000 /* formulas that differ by less are equal but for rounding */

/* Returns true if source i may be used. The region's numbers need a user who trusts the guest. A
 * note says once that they exist, because a VMM that writes them expects their use. */
static bool may_use(struct xvt_session *s, struct xvt_vm *vm, unsigned int i)
{
	struct xvt_exact_use *use = &vm->exact.use[i];
	struct xvt_clock_exact *source;

	if (i != GUEST || vm->exact.trusts_guest)
		return i != GUEST || !vm->passive;
	if (vm->passive)
		return false;
	if (!use->reported && !sources[i]->open(&source, vm->region.fd, &vm->region)) {
		sources[i]->close(source);
		use->reported = true;
		xvt_session_note(s, 0, vm, UINT32_MAX,
				 "its region says what its clocks are made of; the guest can write "
				 "that, so it is used only with --trust-guest-clock %s",
				 vm->chain.first_name);
	}
	return false;
}

static void look_for(struct xvt_session *s, struct xvt_vm *vm, unsigned int i)
{
	struct xvt_exact_use *use = &vm->exact.use[i];
	struct xvt_error why = { "" };
	struct xvt_kvm_paths paths = { .why = &why };
	uint64_t now = xvt_clock_read();
	int err;

	if (earlier(now, use->next_look_clock))
		return;
	use->gap_ns = use->gap_ns ? use->gap_ns * 2 : LOOK_FIRST_NS;
	if (use->gap_ns > LOOK_LAST_NS)
		use->gap_ns = LOOK_LAST_NS;
	use->next_look_clock = now + ticks(s, use->gap_ns);
	if (!may_use(s, vm, i))
		return;
	err = sources[i]->open(&use->source, xvt_vm_file(vm)->fd,
			       i == GUEST ? (const void *)&vm->region : &paths);
	if (err && err != -ENODEV && !use->reported)
		xvt_session_note(s, 0, vm, UINT32_MAX,
				 "what %s knows of its clocks cannot be read: %s", sources[i]->name,
				 why.text);
	use->reported |= err && err != -ENODEV;
}

void xvt_session_exact_close(struct xvt_vm *vm)
{
	unsigned int i;

	for (i = 0; i < XVT_EXACT_SOURCES; i++) {
		if (vm->exact.use[i].source)
			sources[i]->close(vm->exact.use[i].source);
		vm->exact.use[i].source = NULL;
	}
}

/* The KVM source, refused or not: it identifies the machine's VMM. */
static const struct xvt_clock_exact *kvm_of(const struct xvt_vm *vm)
{
	return vm->exact.use[KVM].source;
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
	return r->account.stats.rejected & 1u << sources[i]->id;
}

/*
 * Close a source that has none of the vCPUs that the rings name: another VMM may use the region by
 * now. If the guest names its vCPUs wrongly, the next attempt comes no sooner than without this.
 */
static void look_again(struct xvt_vm *vm, unsigned int i)
{
	struct xvt_exact_use *use = &vm->exact.use[i];

	sources[i]->close(use->source);
	use->source = NULL;
	use->missing = 0;
	use->next_look_clock = xvt_clock_read() + ticks(vm->session, use->gap_ns);
}

static bool formula_of(struct xvt_vm *vm, const struct xvt_ring *r, unsigned int i,
		       struct xvt_clock_formula *f)
{
	struct xvt_exact_use *use = &vm->exact.use[i];
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
	struct xvt_exact_reading *reading = &r->measure.formula[i];
	struct xvt_clock_formula f = { 0 };
	const bool read = formula_of(vm, r, i, &f);

	/* An unchanged formula keeps its older reading, which proves as much, for longer. */
	if (read && reading->read && xvt_formula_equal(&f, &reading->formula))
		return;
	reading->read = read;
	reading->formula = f;
	reading->clock = xvt_clock_read_ordered();
}

/*
 * A measurement begins. The reading taken after the last measurement also serves as the one before
 * this one: a reading costs an access to debugfs, during which the other vCPUs wait. It is taken
 * anew only if a measurement is wanted at once, because then the formula may have changed, and
 * without a new reading this measurement could not give an exact node.
 */
void xvt_session_exact_begin(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_vm *vm = xvt_vm_of_ring(r);
	const bool at_once = !r->clock.next_burst_clock;
	unsigned int i;

	if (xvt_vm_is_host(vm) || (vm->passive && !xvt_passive_may_be_tsc(vm)))
		return;
	for (i = 0; i < XVT_EXACT_SOURCES; i++) {
		if (!vm->exact.use[i].source)
			look_for(s, vm, i);
		if (at_once || !r->measure.formula[i].read)
			read_formula(vm, r, i);
	}
}

/* Returns true if the formula's host time of each sample lies within the handshake's interval. */
static bool agrees(const struct xvt_clock_measure *m, const struct xvt_clock_formula *f)
{
	unsigned int i;

	for (i = 0; i < m->nr_samples; i++) {
		const struct xvt_clock_sample *sample = &m->samples[i];
		uint64_t host;

		if (xvt_formula_host(f, sample->guest, &host) ||
		    earlier(host, sample->host_clock_lo) || earlier(sample->host_clock_hi, host))
			return false;
	}
	return true;
}

static void refuse(struct xvt_session *s, struct xvt_ring *r, const struct xvt_clock_measure *m,
		   unsigned int i)
{
	const struct xvt_clock_formula *f = &r->measure.formula[i].formula;
	const struct xvt_clock_sample *sample = &m->samples[0];
	uint64_t host = 0;

	(void)xvt_formula_host(f, sample->guest, &host);
	r->account.stats.rejected |= 1u << sources[i]->id;
	xvt_session_note(s, 1, xvt_vm_of_ring(r), r->id,
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
	r->account.stats.rejected |= 1u << sources[GUEST]->id;
	if (r->clock.exact_used == sources[GUEST]->id)
		r->measure.exact_doubt = true;
	xvt_session_note(s, 1, xvt_vm_of_ring(r), r->id,
			 "cpu %u: %s is refused: its offset %" PRId64
			 " contradicts what KVM says, %" PRId64,
			 xvt_load(&r->ctl->cpu), sources[GUEST]->name,
			 r->measure.formula[GUEST].formula.offset,
			 refused(r, KVM) ? r->measure.formula[KVM].contradicting.offset
					 : r->measure.formula[KVM].formula.offset);
}

/* Returns true if this formula has been contradicted before. */
static bool second_time(struct xvt_ring *r, unsigned int i)
{
	struct xvt_exact_reading *reading = &r->measure.formula[i];

	if (reading->contradicted && xvt_formula_equal(&reading->contradicting, &reading->formula))
		return true;
	/* Measure again at once, but not for every new number that a guest writes into a VMM's
	 * words. */
	if (!reading->contradicted)
		r->clock.next_burst_clock = 0;
	reading->contradicted = true;
	reading->contradicting = reading->formula;
	return false;
}

/*
 * The samples contradict a formula that was the same before the first and after the last of them. A
 * vCPU's clock changes only while the vCPU is out of its guest, so reading formula and samples one
 * after the other is no race. A single race is left: a clock that was moved and moved back within
 * the measurement (a guest that writes TSC_ADJUST twice) while the formula was right. A second
 * contradiction of the same formula excludes that. Until then the source gives no exact node.
 */
static void contradicted(struct xvt_session *s, struct xvt_ring *r,
			 const struct xvt_clock_measure *m, unsigned int i)
{
	if (r->clock.exact_used == sources[i]->id)
		r->measure.exact_doubt = true;
	if (!second_time(r, i))
		return;
	refuse(s, r, m, i);
}

/* Returns true if the formula was the same from before the first request until now. */
static bool held(struct xvt_vm *vm, struct xvt_ring *r, const struct xvt_clock_measure *m,
		 unsigned int i)
{
	const struct xvt_exact_reading before = r->measure.formula[i];

	read_formula(vm, r, i);
	/* The measurement may have begun before the reading: a request that was unanswered for long
	 * is not sent again if its answer is there. */
	return before.read && r->measure.formula[i].read &&
	       r->measure.formula[i].clock == before.clock &&
	       !earlier(m->host_clock_lo, before.clock);
}

static bool in_epoch_of_exact(const struct xvt_ring *r)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->clock.map);

	return last && last->epoch == r->measure.exact_epoch;
}

/* Make the measurement's node exact, by the formula: off by a tick and rounding. */
static void make_exact(struct xvt_session *s, struct xvt_ring *r, struct xvt_clock_measure *m,
		       unsigned int i, uint64_t host)
{
	m->node.source = sources[i]->id;
	m->node.host_ns = xvt_host_clock_ns(&s->clock, host);
	m->node.bound_ns = xvt_exact_bound_ns(&s->clock);
	/* A changed formula begins an epoch, however small the change; unless a measured node has
	 * begun one meanwhile, which is the same jump. */
	r->clock.map.moved = r->clock.exact_used == sources[i]->id && in_epoch_of_exact(r) &&
			     !xvt_formula_equal(&r->clock.exact, &r->measure.formula[i].formula);
}

/* Returns true if the region's formula differs from KVM's. Both held for this measurement. */
static bool differs(const struct xvt_session *s, const struct xvt_ring *r,
		    const struct xvt_clock_measure *m)
{
	uint64_t by_kvm, by_guest;

	if (xvt_formula_host(&r->measure.formula[KVM].formula, m->node.guest, &by_kvm) ||
	    xvt_formula_host(&r->measure.formula[GUEST].formula, m->node.guest, &by_guest))
		return false;
	return (by_kvm > by_guest ? by_kvm - by_guest : by_guest - by_kvm) > ticks(s, APART_NS);
}

/*
 * Returns true if the region's formula may be used: only if KVM knows nothing of the machine. If
 * KVM knows it, the region's formula is still checked. It is refused if it differs twice, and if
 * KVM was refused, because then only the guest's answers support it.
 */
static bool kvm_allows(struct xvt_session *s, struct xvt_ring *r, const struct xvt_clock_measure *m,
		       bool kvm_held)
{
	if (refused(r, KVM) || (kvm_held && differs(s, r, m) && second_time(r, GUEST)))
		refuse_by_kvm(s, r);
	return !refused(r, KVM) && !kvm_of(xvt_vm_of_ring(r));
}

void xvt_session_exact_refine(struct xvt_session *s, struct xvt_ring *r,
			      struct xvt_clock_measure *m)
{
	struct xvt_vm *vm = xvt_vm_of_ring(r);
	bool kvm_held = false, done = false;
	unsigned int i;

	r->clock.map.moved = false; /* a jump reported by a dropped node is found again */
	/* A source that is not used is checked as well, so that a wrong one is reported. */
	for (i = 0; i < XVT_EXACT_SOURCES; i++) {
		const struct xvt_clock_formula *f = &r->measure.formula[i].formula;
		uint64_t host;

		if (!held(vm, r, m, i))
			continue;
		kvm_held |= i == KVM;
		if (!agrees(m, f)) {
			/* An event may have been held, and its stamp may be of another clock. */
			if (!vm->passive)
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
		r->clock.exact_used = node->source;
		r->clock.exact = r->measure.formula[i].formula;
		r->measure.exact_epoch = node->epoch;
		r->measure.exact_doubt = false;
	}
}

bool xvt_session_exact_holds(struct xvt_ring *r)
{
	struct xvt_clock_formula now;
	unsigned int i;

	for (i = 0; i < XVT_EXACT_SOURCES && in_epoch_of_exact(r) && !r->measure.exact_doubt; i++) {
		if (r->clock.exact_used == sources[i]->id)
			return formula_of(xvt_vm_of_ring(r), r, i, &now) &&
			       xvt_formula_equal(&now, &r->clock.exact);
	}
	return false;
}
