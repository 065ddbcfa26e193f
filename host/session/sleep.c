// SPDX-License-Identifier: GPL-2.0
/*
 * sleep.c - a recorder with nothing to do sleeps until the next second, if the guests wake
 * it: a writer rings the doorbell of its machine when it fills a sub-buffer and finds need_wake.
 * Polling is the base, and goes on wherever this is not proven to work:
 *
 *   - Every machine has a bell (vmm/doorbell.h), and its guest has rung it once because the host
 * page's word had changed: so it knows the word, its device has our bell, and we hear it.
 *   - No sub-buffer was filled for a while, no record waits, nobody owes an answer.
 *   - A sub-buffer that was filled while we slept, without a ring, ends the proof: it is asked
 *     again. (Who fills one just when we wake up by ourselves need not ring; three times in a
 *     row that is no chance any more.) What a guest loses by lying here are its own events.
 *
 * A guest that rings for nothing, over and over, is polled for the rest of the second.
 *
 * While a guest is asked for its clock it is looked at all the time, for it answers the next
 * question at once as long as it stays; but it comes to the first one only at its next timer tick.
 * There it rings as well, so we doze until then; once in vain, and we look all the time again.
 *
 * Setting need_wake and looking at commit is Dekker's pattern with the writer's commit and its
 * look at need_wake: tests/model/wake.pml. We take from a ring what rang before we ask for rings,
 * and wait for the bell only after the last look.
 */
#include "session/parts.h"

#include <inttypes.h>

#define QUIET_NS    200000000ull /* no sub-buffer filled for so long: the guests are idle */
#define SHORTEST_NS 20000000ull	 /* less is not worth it: a look at every ring, twice */
#define DOZE_NS	    12000000ull	 /* a guest's period is 10 ms */
#define ASK_NS	    SECOND_NS	 /* between two requests to ring */
#define EARLY_MAX   16		 /* sleeps that rings may end within a second: honest ones are 5 */
#define MISSES	    3		 /* sub-buffers in a row, filled without a ring: it does not ring */
#define PATIENCE_NS 5000000000ull /* without an answer for so long: told, once */
#define MARK_NS	    100000000ull /* the writer that was asked for a mark may be about to write it */

static void on_note(void *arg, const char *text)
{
	struct xvt_vm *vm = arg;

	xvt_session_note(vm->session, 1, vm, UINT32_MAX, "%s", text);
}

int xvt_session_wake_add(struct xvt_vm *vm, const char *path, char *why, size_t why_size)
{
	struct xvt_vm_bell *b = &vm->bell;
	int err = xvt_doorbell_open(&b->doorbell, vm->session->loop, path, vm->region.fd, on_note,
				    vm, why, why_size);

	if (!err)
		vm->session->wake.bells++;
	return err;
}

static void need_wake(const struct xvt_vm *vm, uint32_t value)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++)
		xvt_store(&vm->rings[i]->host->need_wake, value);
}

void xvt_session_wake_attach(const struct xvt_vm *vm)
{
	xvt_store(&xvt_host_region_page(&vm->region)->doorbell, (uint64_t)0);
	need_wake(vm, 0);
}

/* ------------------------------------------------------------------ does the guest ring? */

static void ask_to_ring(struct xvt_vm *vm, uint32_t target, uint64_t now)
{
	struct xvt_vm_bell *b = &vm->bell;
	/* No word that another recorder, or the past of a restored machine, has used. */
	uint64_t seq = b->word ? (b->word >> XVT_DOORBELL_SEQ_SHIFT) + 1 : now;

	b->word = seq << XVT_DOORBELL_SEQ_SHIFT | XVT_DOORBELL_VALID | target;
	if (!b->asked)
		b->first_clock = now;
	b->asked = true;
	b->asked_clock = now;
	b->generation = vm->rings[0]->generation;
	xvt_store(&xvt_host_region_page(&vm->region)->doorbell, b->word);
}

static void tell_once(struct xvt_vm *vm, const char *text)
{
	if (!vm->bell.told)
		xvt_session_note(vm->session, 1, vm, UINT32_MAX, "%s; it is polled", text);
	vm->bell.told = true;
}

/* Another guest, or another life of it: all begins anew. */
static void new_generation(struct xvt_vm_bell *b)
{
	b->proven = b->asked = b->told = b->crossed = false;
	b->missed = 0;
}

/* It has been rung, or it should have been. */
static void heard(struct xvt_vm *vm, uint64_t rung)
{
	struct xvt_vm_bell *b = &vm->bell;

	b->rings += rung;
	if (rung && b->asked && !b->proven) {
		b->proven = true;
		xvt_session_note(vm->session, 0, vm, UINT32_MAX, "its doorbell works");
	} else if (!rung && b->crossed) {
		b->proven = b->asked = false;
		b->missed++;
	}
	b->crossed = false;
}

/* Is anybody there who could ring? */
static bool answers(const struct xvt_session *s, const struct xvt_vm *vm, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (vm->rings[i]->phase == XVT_PHASE_LIVE &&
		    xvt_session_silence(s, vm->rings[i], now) < ticks(s, SECOND_NS))
			return true;
	}
	return false;
}

/* Between two sleeps. */
static void look_at_bell(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	struct xvt_vm_bell *b = &vm->bell;
	uint32_t target;

	heard(vm, xvt_doorbell_take(b->doorbell));
	if (b->word && b->generation != vm->rings[0]->generation)
		new_generation(b);
	if (!xvt_doorbell_ready(b->doorbell, &target)) {
		b->proven = b->asked = false; /* why, is told */
		return;
	}
	if (b->missed >= MISSES) {
		b->proven = false;
		tell_once(vm, "its doorbell does not ring when sub-buffers are full");
	} else if (!b->proven) {
		if (!b->asked || since(now, b->asked_clock) > ticks(s, ASK_NS))
			ask_to_ring(vm, target, now);
		if (!answers(s, vm, now))
			b->first_clock = now;
		if (since(now, b->first_clock) > ticks(s, PATIENCE_NS))
			tell_once(vm, "its doorbell does not ring (no ivshmem-doorbell device, "
				      "another server, or an older module?)");
	}
}

/* ------------------------------------------------------------------ may we sleep? */

static bool ring_rests(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	switch (r->phase) {
	case XVT_PHASE_BROKEN:
	case XVT_PHASE_DONE:
		return true;
	case XVT_PHASE_NEW:
		return r->last.state != XVT_RING_ONLINE;
	case XVT_PHASE_LIVE:
		return r->idle && r->answered && !r->first && !r->have && !xvt_ring_ready(r) &&
		       (!r->mark_open || since(now, r->mark.host_clock_before) > ticks(s, MARK_NS));
	default: /* set aside: it may return */
		return false;
	}
}

static bool vm_rests(const struct xvt_session *s, const struct xvt_vm *vm, uint64_t now)
{
	uint32_t i;

	if (vm->phase == XVT_VM_GONE)
		return true;
	if (vm->phase != XVT_VM_ATTACHED || vm->request_seq)
		return false;
	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (!ring_rests(s, vm->rings[i], now))
			return false;
	}
	return true;
}

/* A trickle of events may wait for a second, as far as a sub-buffer; who fills some is busy. */
static bool quiet(struct xvt_session *s, uint64_t now)
{
	uint64_t filled = 0;
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		const struct xvt_ring *r = s->rings[i];

		filled += r->last.commit >> r->region->g.subbuf_shift;
	}
	if (filled != s->wake.filled)
		s->wake.quiet_clock = now;
	s->wake.filled = filled;
	return since(now, s->wake.quiet_clock) > ticks(s, QUIET_NS);
}

static bool all_rest(const struct xvt_session *s, uint64_t now)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (!vm_rests(s, s->vms[i], now))
			return false;
	}
	return true;
}

static bool all_ring(const struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->phase != XVT_VM_GONE && !s->vms[i]->bell.proven)
			return false;
	}
	return true;
}

static bool may_sleep(struct xvt_session *s, uint64_t now)
{
	return quiet(s, now) && s->joined && !s->ending && !s->off_clock && !s->opt.cut &&
	       !s->opt.run_spans && all_ring(s);
}

/* Rings that have not answered. */
static size_t unanswered(const struct xvt_session *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->nr_rings; i++)
		n += s->rings[i]->phase == XVT_PHASE_LIVE && !s->rings[i]->answered;
	return n;
}

/* ------------------------------------------------------------------ sleep, and wake up */

static bool there(const struct xvt_vm *vm)
{
	return vm->phase == XVT_VM_ATTACHED;
}

/* It has written, or answered, since it was looked at. */
static bool ring_stirred(const struct xvt_session *s, const struct xvt_ring *r)
{
	return xvt_load_acquire(&r->ctl->commit) != r->last.commit ||
	       (s->wake.dozing && !r->answered &&
		xvt_load_acquire(&r->ctl->answer_seq) == xvt_load(&r->host->request_seq));
}

/* The last look, after the fence. */
static bool stirred(const struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		const struct xvt_ring *r = s->rings[i];

		if (r->phase != XVT_PHASE_BROKEN && there(s->vms[r->vm]) && ring_stirred(s, r))
			return true;
	}
	return false;
}

static void ask_to_be_woken(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (!there(vm))
			continue;
		/* Again: a restored machine may have taken it back. */
		xvt_store(&xvt_host_region_page(&vm->region)->doorbell, vm->bell.word);
		need_wake(vm, 1);
	}
	/* Pairs with the writer's fence between publishing and its look at need_wake. */
	xvt_mb();
}

static void get_up(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (there(s->vms[i]))
			need_wake(s->vms[i], 0);
	}
}

static uint64_t left_ns(const struct xvt_session *s, uint64_t now)
{
	uint64_t left = since(s->next_second_clock, now);

	return (uint64_t)((unsigned __int128)left * SECOND_NS / s->clock.hz);
}

/* Returns gap_ns if somebody has just been there. */
static uint64_t lie_down(struct xvt_session *s, uint64_t now, uint64_t ns, uint64_t gap_ns)
{
	size_t i;

	ask_to_be_woken(s);
	if (stirred(s)) {
		get_up(s);
		return gap_ns;
	}
	s->wake.asleep = true;
	s->wake.until_clock = now + ticks(s, ns);
	for (i = 0; i < s->nr_vms; i++) {
		if (there(s->vms[i]))
			xvt_doorbell_arm(s->vms[i]->bell.doorbell);
	}
	return ns;
}

/* Until the next one rings who has not answered. In vain: then nothing but looking helps it. */
static uint64_t doze(struct xvt_session *s, uint64_t now, uint64_t gap_ns)
{
	size_t open = unanswered(s);
	bool fewer = open && open < s->wake.open;

	s->wake.open = open;
	s->wake.dozing = true;
	return fewer && may_sleep(s, now) ? lie_down(s, now, DOZE_NS, gap_ns) : gap_ns;
}

uint64_t xvt_session_sleep(struct xvt_session *s, uint64_t gap_ns, bool asking)
{
	uint64_t now, ns;
	size_t i;

	if (!s->wake.bells)
		return gap_ns;
	now = xvt_clock_read();
	for (i = 0; i < s->nr_vms; i++) {
		if (there(s->vms[i]) && s->vms[i]->bell.doorbell)
			look_at_bell(s, s->vms[i], now);
	}
	if (asking)
		return doze(s, now, gap_ns);
	s->wake.dozing = false;
	s->wake.open = SIZE_MAX;
	if (s->wake.second != s->seconds)
		s->wake.early = 0;
	s->wake.second = s->seconds;
	ns = left_ns(s, now);
	if (!may_sleep(s, now) || s->wake.early > EARLY_MAX || ns < SHORTEST_NS || ns < gap_ns ||
	    s->merge.emitted != s->owed_events || !all_rest(s, now))
		return gap_ns;
	ns = lie_down(s, now, ns, gap_ns);
	s->wake.sleeps += s->wake.asleep;
	return ns;
}

/* Has it filled a sub-buffer since we last looked? */
static bool has_crossed(const struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		const struct xvt_ring *r = vm->rings[i];
		uint64_t commit = xvt_load(&r->ctl->commit);

		if (r->phase != XVT_PHASE_BROKEN &&
		    (commit ^ r->last.commit) >> vm->region.g.subbuf_shift)
			return true;
	}
	return false;
}

void xvt_session_got_up(struct xvt_session *s, uint64_t now)
{
	const bool early = (int64_t)(now - s->wake.until_clock) < 0;
	size_t i;

	if (!s->wake.asleep)
		return;
	s->wake.asleep = false;
	s->wake.early += early && !s->wake.dozing;
	/* We were away because we wanted to be; what came on top of that is told. */
	s->last_pass_clock = sooner(now, s->wake.until_clock);
	s->next_pass_clock = now;
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		uint64_t rung;

		if (!there(vm))
			continue;
		/* Before need_wake goes: who fills one after that need not ring. */
		vm->bell.crossed = has_crossed(vm);
		rung = xvt_doorbell_take(vm->bell.doorbell);
		vm->bell.rings += rung;
		vm->bell.wakes += rung && early && vm->bell.crossed && !s->wake.dozing;
		if (!rung)
			continue;
		vm->bell.crossed = false;
		vm->bell.missed = 0;
	}
	get_up(s);
}

void xvt_session_wake_end(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (!vm->bell.doorbell)
			continue;
		if (there(vm))
			xvt_session_wake_attach(vm);
		xvt_doorbell_close(vm->bell.doorbell);
		vm->bell.doorbell = NULL;
		xvt_session_note(s, 0, vm, UINT32_MAX,
				 "its doorbell rang %" PRIu64 " times and woke us from %" PRIu64
				 " of %" PRIu64 " sleeps",
				 vm->bell.rings, vm->bell.wakes, s->wake.sleeps);
	}
	s->wake.bells = 0;
}
