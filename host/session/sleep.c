// SPDX-License-Identifier: GPL-2.0
/*
 * sleep.c - lets a recorder without work sleep until the next second, if the guests can wake it: a
 * writer rings its machine's doorbell when it fills a sub-buffer and finds need_wake set. The base
 * is polling, which goes on unless all of this holds:
 *
 *   - Every machine has a doorbell (vmm/doorbell.h) that is proven: its guest has rung it once
 *     after the host page's word changed. So the guest reads the word, its device has the
 *     recorder's doorbell, and the recorder receives it.
 *   - No sub-buffer was filled for a while, no record waits, no guest owes an answer.
 *
 * A sub-buffer that was filled during a sleep without a doorbell ends the proof, and the guest is
 * asked for a new one. A writer that fills a sub-buffer just when the recorder wakes up by itself
 * need not ring; MISSES times in a row are no chance. A guest that falsely proves its doorbell
 * loses only its own events.
 *
 * A guest that rings without cause, over and over, is polled for the rest of the second.
 *
 * A guest with an open clock request is polled without sleep, because it answers the next request
 * at once while it stays. The first request waits for the guest's next timer tick; the guest rings
 * there as well, so the recorder dozes until then. If it woke up too late for the requests that
 * follow, it dozes until the next tick, on another CPU: a guest wakes it up on its own CPU where
 * there are few, and stays there.
 *
 * Setting need_wake and then loading commit is Dekker's pattern with the writer's store of commit
 * and its load of need_wake: tests/proof/model/wake.pml. Doorbells that have rung are taken before
 * need_wake is set, and the wait for a doorbell begins only after the last load of commit.
 */
#include "session/parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/u64.h"

#define QUIET_NS    200000000ull  /* no sub-buffer filled for this long: the guests are idle */
#define SHORTEST_NS 20000000ull	  /* a shorter sleep is not worth scanning every ring twice */
#define DOZE_NS	    12000000ull	  /* a guest's period is 10 ms */
#define DOZES	    64		  /* most dozes in a row that bring no answer to its end */
#define ASK_NS	    SECOND_NS	  /* between two requests to ring */
#define EARLY_MAX   16		  /* most sleeps that doorbells may end in a second; usually <= 5 */
#define MISSES	    3		  /* consecutive sub-buffers filled without a doorbell: failed */
#define PATIENCE_NS 5000000000ull /* unanswered for this long: reported, once */
#define MARK_NS	    100000000ull  /* a writer with a new mark request may be about to write it */

static void on_note(void *arg, const char *text)
{
	struct xvt_vm *vm = arg;

	xvt_session_note(vm->session, 1, vm, UINT32_MAX, "%s", text);
}

int xvt_session_wake_add(struct xvt_vm *vm, const char *path, struct xvt_error *why)
{
	struct xvt_vm_bell *b = &vm->bell;
	int err = xvt_doorbell_open(&b->doorbell, vm->session->loop, path, vm->region.fd, on_note,
				    vm, why);

	b->sought = true;
	if (!err)
		vm->session->wake.bells++;
	return err;
}

void xvt_session_wake_set_server(struct xvt_vm *vm, const char *path)
{
	snprintf(vm->bell.server, sizeof(vm->bell.server), "%s", path);
}

const char *xvt_session_wake_server(const struct xvt_vm *vm)
{
	return vm->bell.server;
}

bool xvt_session_wake_seek(struct xvt_vm *vm)
{
	const bool seek = !vm->own && !vm->bell.sought && vm->phase != XVT_VM_GONE;

	if (vm->phase != XVT_VM_WAITING)
		vm->bell.sought = true;
	return seek;
}

void xvt_session_wake_sought(struct xvt_vm *vm)
{
	vm->bell.sought = true;
}

static void need_wake(const struct xvt_vm *vm, uint32_t value)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++)
		xvt_store(&xvt_host_ring_host(&vm->region, i)->need_wake, value);
}

/* The generation of the guest, by its first ring. */
static uint32_t generation_of(const struct xvt_vm *vm)
{
	return vm->rings[0] ? vm->rings[0]->drain.generation : vm->parked[0].generation;
}

void xvt_session_wake_attach(const struct xvt_vm *vm)
{
	xvt_store(&xvt_host_region_page(&vm->region)->doorbell, (uint64_t)0);
	need_wake(vm, 0);
}

/* ------------------------------------------------------------------ proof of a doorbell */

static void ask_to_ring(struct xvt_vm *vm, uint32_t target, uint64_t now)
{
	struct xvt_vm_bell *b = &vm->bell;
	/* Never a word that another recorder, or a rolled-back state of the machine, has used. */
	uint64_t seq = b->word ? (b->word >> XVT_DOORBELL_SEQ_SHIFT) + 1 : now;

	b->word = seq << XVT_DOORBELL_SEQ_SHIFT | XVT_DOORBELL_VALID | target;
	if (!b->asked)
		b->first_clock = now;
	b->asked = true;
	b->asked_clock = now;
	b->generation = generation_of(vm);
	xvt_store(&xvt_host_region_page(&vm->region)->doorbell, b->word);
}

static void report_once(struct xvt_vm *vm, const char *text)
{
	if (!vm->bell.reported)
		xvt_session_note(vm->session, 1, vm, UINT32_MAX, "%s; it is polled", text);
	vm->bell.reported = true;
}

/* A new guest generation has to prove its doorbell anew. */
static void new_generation(struct xvt_vm_bell *b)
{
	b->proven = b->asked = b->reported = b->crossed = false;
	b->missed = 0;
}

/* Process `rung` doorbells; 0 after a filled sub-buffer is a miss. */
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

/* Returns true if any ring of the machine is live and answers: a guest that could ring. */
static bool answers(const struct xvt_session *s, const struct xvt_vm *vm, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (vm->rings[i] && vm->rings[i]->phase == XVT_PHASE_LIVE &&
		    xvt_session_silence(s, vm->rings[i], now) < ticks(s, SECOND_NS))
			return true;
	}
	return false;
}

/* Update the proof of a machine's doorbell. Runs before each sleep. */
static void update_proof(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	struct xvt_vm_bell *b = &vm->bell;
	uint32_t target;

	heard(vm, xvt_doorbell_take(b->doorbell));
	if (b->word && b->generation != generation_of(vm))
		new_generation(b);
	if (!xvt_doorbell_ready(b->doorbell, &target)) {
		b->proven = b->asked = false; /* the doorbell reports the reason */
		return;
	}
	if (b->missed >= MISSES) {
		b->proven = false;
		report_once(vm, "its doorbell does not ring when sub-buffers are full");
	} else if (!b->proven) {
		if (!b->asked || since(now, b->asked_clock) > ticks(s, ASK_NS))
			ask_to_ring(vm, target, now);
		if (!answers(s, vm, now))
			b->first_clock = now;
		if (since(now, b->first_clock) > ticks(s, PATIENCE_NS))
			report_once(vm, "its doorbell does not ring (no ivshmem-doorbell device, "
					"another server, or an older module?)");
	}
}

/* ------------------------------------------------------------------ conditions for a sleep */

static bool ring_is_idle(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	switch (r->phase) {
	case XVT_PHASE_BROKEN:
	case XVT_PHASE_DONE:
		return true;
	case XVT_PHASE_NEW:
		return r->drain.last.state != XVT_RING_ONLINE;
	case XVT_PHASE_LIVE:
		return r->drain.idle && r->measure.answered && !r->drain.first && !r->head.have &&
		       !xvt_ring_ready(r) &&
		       (!r->mark.open ||
			since(now, r->mark.last.host_clock_before) > ticks(s, MARK_NS));
	default: /* set aside: may return */
		return false;
	}
}

static bool vm_is_idle(const struct xvt_session *s, const struct xvt_vm *vm, uint64_t now)
{
	uint32_t i;

	if (vm->phase == XVT_VM_GONE)
		return true;
	if (vm->phase != XVT_VM_ATTACHED || (vm->request.seq && !vm->request.silent))
		return false;
	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (vm->rings[i] && !ring_is_idle(s, vm->rings[i], now))
			return false;
	}
	return true;
}

/* Returns true if no sub-buffer was filled for QUIET_NS. A few events may wait for a second in an
 * unfilled sub-buffer; guests that fill sub-buffers are busy. */
static bool quiet(struct xvt_session *s, uint64_t now)
{
	uint64_t filled = 0;
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		const struct xvt_ring *r = s->rings[i];

		filled += r->drain.last.commit >> r->region->g.subbuf_shift;
	}
	if (filled != s->wake.filled)
		s->wake.quiet_clock = now;
	s->wake.filled = filled;
	return since(now, s->wake.quiet_clock) > ticks(s, QUIET_NS);
}

static bool all_idle(const struct xvt_session *s, uint64_t now)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (!vm_is_idle(s, s->vms[i], now))
			return false;
	}
	return true;
}

static bool all_proven(const struct xvt_session *s)
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
	return quiet(s, now) && s->passes.joined && !s->off.ending && !s->off.clock &&
	       !is_snapshot(s) && !s->opt.run_spans && !s->sources.kernel_searches && all_proven(s);
}

/* Number of rings with an unanswered clock request. */
static size_t unanswered(const struct xvt_session *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->nr_rings; i++)
		n += s->rings[i]->phase == XVT_PHASE_LIVE && !s->rings[i]->measure.answered;
	return n;
}

/* ------------------------------------------------------------------ sleep, and wake up */

static bool attached(const struct xvt_vm *vm)
{
	return vm->phase == XVT_VM_ATTACHED;
}

/* Returns true if the ring was written, or answered, since the newest look. */
static bool ring_changed(const struct xvt_session *s, const struct xvt_ring *r)
{
	return (r->relayed ? xvt_relayed_moved(r)
			   : xvt_load_acquire(&r->ctl->commit) != r->drain.last.commit) ||
	       (s->wake.dozing && !r->measure.answered &&
		xvt_load_acquire(&r->mail_ctl->answer_seq) == xvt_load(&r->mail_host->request_seq));
}

/* Returns true if a ring that no writer had used was written since the newest look. */
static bool unused_changed(const struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (!vm->rings[i] && xvt_load_acquire(&vm->parked[i].ctl->commit))
			return true;
	}
	return false;
}

/* Check all rings a last time, after the fence in ask_for_wake(). */
static bool any_changed(const struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		const struct xvt_ring *r = s->rings[i];

		if (r->phase != XVT_PHASE_BROKEN && attached(xvt_vm_of_ring(r)) &&
		    ring_changed(s, r))
			return true;
	}
	for (i = 0; i < s->nr_vms; i++) {
		if (attached(s->vms[i]) && unused_changed(s->vms[i]))
			return true;
	}
	return false;
}

static void ask_for_wake(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (!attached(vm))
			continue;
		/* Write it again: a rollback of the machine may have undone it. */
		xvt_store(&xvt_host_region_page(&vm->region)->doorbell, vm->bell.word);
		need_wake(vm, 1);
	}
	/* Pairs with the writer's fence between its store of commit and its load of need_wake. */
	xvt_mb();
}

static void clear_need_wake(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (attached(s->vms[i]))
			need_wake(s->vms[i], 0);
	}
}

static uint64_t left_ns(const struct xvt_session *s, uint64_t now)
{
	return xvt_ticks_ns(since(s->passes.next_second_clock, now), s->clock.hz);
}

/* Begin a sleep of ns. Returns ns, or gap_ns if a ring has just changed. */
static uint64_t begin_sleep(struct xvt_session *s, uint64_t now, uint64_t ns, uint64_t gap_ns)
{
	size_t i;

	ask_for_wake(s);
	if (any_changed(s)) {
		clear_need_wake(s);
		return gap_ns;
	}
	s->wake.asleep = true;
	s->wake.until_clock = now + ticks(s, ns);
	for (i = 0; i < s->nr_vms; i++) {
		if (attached(s->vms[i]))
			xvt_doorbell_arm(s->vms[i]->bell.doorbell);
	}
	return ns;
}

/*
 * Sleep until a guest with an open request rings. A doze that nothing ended was in vain: that guest
 * may answer without ringing, so poll until it has. Poll as well after some dozes that
 * doorbells ended and that brought nothing.
 */
static uint64_t doze(struct xvt_session *s, uint64_t now, uint64_t gap_ns)
{
	size_t open = unanswered(s);

	if (open != s->wake.open)
		s->wake.dozes = 0;
	s->wake.open = open;
	s->wake.dozing = true;
	if (!open || s->wake.dozes >= DOZES || !may_sleep(s, now))
		return gap_ns;
	/* Of two guests on two CPUs each may wake it up on its own: it keeps off one of them for
	 * about two ticks. */
	if (s->wake.dozes % (2 * open) == 1)
		xvt_cpu_leave(&s->wake.cpu);
	return begin_sleep(s, now, DOZE_NS, gap_ns);
}

/* Returns true if a checkpoint is needed. The end of the write of one that is under way ends the
 * sleep. */
static bool unsettled(const struct xvt_session *s)
{
	return s->merge.emitted != s->checkpoint.events && !s->checkpoint.in_flight;
}

uint64_t xvt_session_sleep(struct xvt_session *s, uint64_t gap_ns, bool asking)
{
	uint64_t now, ns;
	size_t i;

	if (!s->wake.bells)
		return gap_ns;
	now = xvt_clock_read();
	for (i = 0; i < s->nr_vms; i++) {
		if (attached(s->vms[i]) && s->vms[i]->bell.doorbell)
			update_proof(s, s->vms[i], now);
	}
	if (asking)
		return doze(s, now, gap_ns);
	xvt_cpu_back(&s->wake.cpu);
	s->wake.dozing = false;
	s->wake.open = SIZE_MAX;
	if (s->wake.second != s->passes.seconds)
		s->wake.early = 0;
	s->wake.second = s->passes.seconds;
	ns = left_ns(s, now);
	if (!may_sleep(s, now) || s->wake.early > EARLY_MAX || ns < SHORTEST_NS || ns < gap_ns ||
	    unsettled(s) || !all_idle(s, now))
		return gap_ns;
	ns = begin_sleep(s, now, ns, gap_ns);
	s->wake.sleeps += s->wake.asleep;
	return ns;
}

/* Returns true if the machine filled a sub-buffer since the newest look. */
static bool has_crossed(const struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		const struct xvt_ring *r = vm->rings[i];
		const struct xvt_ring_ctl *ctl = xvt_host_ring_ctl(&vm->region, i);
		const uint64_t before = r ? r->drain.last.commit : 0;

		if ((!r || r->phase != XVT_PHASE_BROKEN) &&
		    (xvt_load(&ctl->commit) ^ before) >> vm->region.g.subbuf_shift)
			return true;
	}
	return false;
}

void xvt_session_got_up(struct xvt_session *s, uint64_t now)
{
	const bool early = earlier(now, s->wake.until_clock);
	bool any = false;
	size_t i;

	if (!s->wake.asleep)
		return;
	s->wake.asleep = false;
	s->wake.early += early && !s->wake.dozing;
	/* The sleep was intended: only the time beyond it counts as the recorder's absence. */
	s->passes.last_clock = sooner(now, s->wake.until_clock);
	xvt_session_pass_at(s, now);
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		uint64_t rung;

		if (!attached(vm))
			continue;
		/* Before need_wake is cleared: a writer that fills a sub-buffer after that need not
		 * ring. */
		vm->bell.crossed = has_crossed(vm);
		rung = xvt_doorbell_take(vm->bell.doorbell);
		vm->bell.rings += rung;
		any |= rung;
		/* The guest rings when it answers, and then stays for the requests that follow. */
		if (rung && s->wake.dozing)
			s->clocks.looked_clock = xvt_clock_read();
		vm->bell.wakes += rung && early && vm->bell.crossed && !s->wake.dozing;
		if (!rung)
			continue;
		vm->bell.crossed = false;
		vm->bell.missed = 0;
	}
	if (any)
		s->wake.dozes++;
	else if (!early) /* something else than a guest may end it */
		s->wake.dozes = DOZES;
	clear_need_wake(s);
}

void xvt_session_wake_leave(struct xvt_session *s, struct xvt_vm *vm)
{
	if (!vm->bell.doorbell)
		return;
	if (attached(vm))
		xvt_session_wake_attach(vm);
	xvt_doorbell_close(vm->bell.doorbell);
	vm->bell.doorbell = NULL;
	s->wake.bells--;
	xvt_cpu_back(&s->wake.cpu);
	xvt_session_note(s, 0, vm, UINT32_MAX,
			 "its doorbell rang %" PRIu64 " times and woke us from %" PRIu64
			 " of %" PRIu64 " sleeps",
			 vm->bell.rings, vm->bell.wakes, s->wake.sleeps);
}

void xvt_session_wake_end(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++)
		xvt_session_wake_leave(s, s->vms[i]);
}
