// SPDX-License-Identifier: GPL-2.0
/*
 * panics.c - a guest's kernel that panicked, as its module tells: by a record in a ring, and by a
 * word of the region's header, which is all there is where no ring had room. A guest can write both
 * at will. The cost of that is the guest's own: one note a generation, and its machine's
 * conditions hold.
 */
#include "session/parts.h"

#include "base/out.h"

#include <inttypes.h>
#include <stdio.h>

/* The word comes with the record, which waits for the merge, and at first for a clock that is not
 * measured any more (phase.c). */
#define RECORD_SECONDS 5u

static void note(struct xvt_session *s, struct xvt_vm *vm, enum xvt_note_kind kind, uint64_t at_ns,
		 const char *before, const char *why)
{
	char after[48];
	const struct xvt_state_note n = {
		.level = kind == XVT_NOTE_CRASHED,
		.kind = vm->span.end_clock ? XVT_NOTE_TEXT : kind,
		.at_ns = at_ns,
		.since_ns = kind == XVT_NOTE_CRASHED ? xvt_session_vm_last_ns(vm) : 0,
		.before = before,
		.why = why,
		.after = after,
	};

	snprintf(after, sizeof(after), ", at %" PRIu64 ".%09" PRIu64, at_ns / (uint64_t)SECOND_NS,
		 at_ns % (uint64_t)SECOND_NS);
	xvt_session_note_state(s, vm, &n);
}

/* A single one in a generation: a kernel has one panic. `why`: printable. */
static void panicked(struct xvt_session *s, struct xvt_vm *vm, uint32_t generation, uint64_t at_ns,
		     const char *why)
{
	if (vm->panic.dead && vm->panic.generation == generation)
		return;
	vm->panic.dead = true;
	vm->panic.generation = generation;
	xvt_vm_depart(vm, "ended", "guest panicked");
	if (!xvt_panic_by_guest(&vm->panic.told, generation))
		return;
	vm->since.crashed = true;
	note(s, vm, XVT_NOTE_CRASHED, at_ns, "its kernel panicked", why);
}

void xvt_session_note_panic(struct xvt_session *s, const struct xvt_run *run)
{
	const struct xvt_ring_panic *p = &run->ring->panic;
	struct xvt_vm *vm = xvt_vm_of_ring(run->ring);
	char why[2 * XVT_PANIC_TEXT];

	/* The machine that is recorded is one that booted since. */
	if (run->id != XVT_ID_PANIC || run->at || !is_recording(s) ||
	    run->ring_flags & XVT_EVENT_F_BACKLOG)
		return;
	vm->panic.met++;
	xvt_text_clean(why, sizeof(why), p->text, strnlen(p->text, p->len));
	panicked(s, vm, p->generation, run->ns[0], why);
}

/* Has the header's word counted a panic whose record does not come? */
static bool has_lost_record(struct xvt_vm *vm)
{
	struct xvt_vm_panic *p = &vm->panic;
	const uint32_t count = xvt_load(&xvt_vm_header(vm)->panics);
	const int32_t missing = (int32_t)(count - p->base - p->met);

	if (missing <= 0) {
		p->base = count - p->met;
		p->waits = 0;
		return false;
	}
	if (++p->waits <= RECORD_SECONDS)
		return false;
	p->base = count - p->met;
	p->waits = 0;
	return true;
}

void xvt_session_look_for_panic(struct xvt_session *s, struct xvt_vm *vm)
{
	const uint64_t now_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	uint32_t generation;

	/* The header's words that the pass has read at the begin count for all of it. */
	if (vm->phase != XVT_VM_ATTACHED || vm->own || !is_recording(s) ||
	    vm->panic.begun_pass == s->passes.number)
		return;
	generation = xvt_vm_generation(s, vm);
	if (vm->panic.dead && generation != vm->panic.generation) {
		vm->panic.dead = false;
		xvt_vm_is_here(vm);
		note(s, vm, XVT_NOTE_RESET, now_ns, "was reset", "its kernel booted again");
	}
	if (has_lost_record(vm))
		panicked(s, vm, generation, now_ns, "");
}

void xvt_vm_revived(struct xvt_session *s, struct xvt_vm *vm)
{
	if (vm->panic.dead)
		xvt_vm_is_here(vm);
	xvt_vm_panics_begin(s, vm);
}
