// SPDX-License-Identifier: GPL-2.0
/*
 * waits.c - what a machine lacks that has given no event so far. An enum has the states, a table
 * their texts: the progress line, status, the notes of the trace and the end of a recording say the
 * same.
 */
#include "session/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "xvt_region.h"

#define NO_GUEST                                                                                   \
	"is the module loaded in the guest (modprobe xvtrace), and what does the guest's log say " \
	"(dmesg | grep -i xvtrace)?"

static const struct {
	const char *name; /* as in JSON */
	const char *text;
	const char *help; /* what to do */
} waits[] = {
	[XVT_WAITS_NOT] = { "", "", "" },
	[XVT_WAITS_MODULE] = { "module", "no module yet", NO_GUEST },
	[XVT_WAITS_SIZE] = { "size", "too small", "give its device a memory of 1 MiB or more" },
	[XVT_WAITS_FORMAT] = { "format", "not formatted",
			       "a guest began to format its region and did not end: " NO_GUEST },
	[XVT_WAITS_PAUSED] = { "paused", "paused", "have it run (virsh resume, or cont)" },
	[XVT_WAITS_WRITER] = { "writer", "no ring in use yet",
			       "its region is formatted, and no CPU or thread writes to "
			       "it: " NO_GUEST },
	[XVT_WAITS_RING] = { "ring", "no ring of its kernel yet",
			     "is the kernel 6.12 or newer, and does its command line map a ring "
			     "into this memory (trace_instance=xvt@ADDRESS:SIZE,sched:*)? "
			     "docs/guest.md" },
	[XVT_WAITS_CLOCK] = { "clock", "no clock yet",
			      "its guest does not answer: does it run, and is its module loaded?" },
	[XVT_WAITS_EVENT] = { "event", "no event yet",
			      "switch events on in the guest (xvt-guest start), or by -e" },
};

/* Returns true if the header, as it was copied last, is zeros: no writer has begun to format it. */
static bool is_blank(const struct xvt_vm *vm)
{
	static const struct xvt_region_hdr zeros;

	return memcmp(&vm->region.hdr, &zeros, sizeof(zeros)) == 0;
}

static enum xvt_vm_waits of_region(const struct xvt_vm *vm)
{
	if (!vm->passive && vm->region.size < xvt_region_min_size(1, XVT_ALIGN_MIN))
		return XVT_WAITS_SIZE;
	if (xvt_vm_is_paused(vm))
		return XVT_WAITS_PAUSED;
	if (vm->passive)
		return XVT_WAITS_RING;
	return is_blank(vm) ? XVT_WAITS_MODULE : XVT_WAITS_FORMAT;
}

static enum xvt_vm_waits of_rings(const struct xvt_vm *vm)
{
	bool online = false, live = false, comes = false;
	struct xvt_sums sums = { 0 };
	uint32_t i;

	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		const struct xvt_ring *r = vm->rings[i];

		if (!r)
			continue;
		xvt_ring_add_sums(r, &sums);
		live |= r->phase != XVT_PHASE_NEW;
		online |= r->drain.last.state == XVT_RING_ONLINE;
		/* The machine's events may wait for other machines. At the end, all are in the
		 * trace. */
		comes |= !vm->session->off.ending && r->phase != XVT_PHASE_NEW &&
			 (r->drain.first || r->head.have ||
			  r->drain.last.attempted != r->session.live_attempted);
	}
	if (sums.events || sums.lost || comes)
		return XVT_WAITS_NOT;
	if (xvt_vm_is_paused(vm))
		return XVT_WAITS_PAUSED;
	return live || vm->passive ? XVT_WAITS_EVENT : online ? XVT_WAITS_CLOCK : XVT_WAITS_WRITER;
}

enum xvt_vm_waits xvt_session_vm_waits(const struct xvt_vm *vm)
{
	if (xvt_vm_is_host(vm) || xvt_vm_stop_wanted(vm) || vm->chain.next || vm->waits.failed)
		return XVT_WAITS_NOT;
	if (vm->phase == XVT_VM_ATTACHED)
		return of_rings(vm);
	/* Of a machine that is gone: what it lacked last. */
	return vm->phase == XVT_VM_WAITING ? of_region(vm) : vm->waits.last;
}

const char *xvt_session_vm_waits_name(enum xvt_vm_waits w)
{
	return waits[w].name;
}

const char *xvt_session_vm_waits_text(const struct xvt_vm *vm, enum xvt_vm_waits w,
				      char text[XVT_WAITS_TEXT])
{
	if (w != XVT_WAITS_SIZE)
		return waits[w].text;
	snprintf(text, XVT_WAITS_TEXT, "its region is %" PRIu64 " KiB, %s", vm->region.size >> 10,
		 waits[w].text);
	return text;
}

const char *xvt_session_vm_waits_help(const struct xvt_vm *vm, enum xvt_vm_waits w)
{
	if (w == XVT_WAITS_EVENT && vm->passive)
		return "does its kernel's command line switch events on "
		       "(trace_instance=xvt@ADDRESS:SIZE,sched:*), and does the guest run?";
	return waits[w].help;
}

void xvt_session_vm_expect(struct xvt_vm *vm)
{
	vm->waits.expected = true;
}

bool xvt_session_vm_is_expected(const struct xvt_vm *vm)
{
	return vm->waits.expected;
}

bool xvt_session_vm_is_gone(const struct xvt_vm *vm)
{
	return vm->phase == XVT_VM_GONE;
}

size_t xvt_session_ready(const struct xvt_session *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->nr_vms; i++) {
		const struct xvt_vm *vm = s->vms[i];
		const enum xvt_vm_waits w = xvt_session_vm_waits(vm);

		n += !xvt_vm_is_host(vm) && vm->phase != XVT_VM_GONE &&
		     (w == XVT_WAITS_NOT || w == XVT_WAITS_EVENT);
	}
	return n;
}

void xvt_vm_tell_joined(struct xvt_session *s, struct xvt_vm *vm)
{
	/* To the user alone: the trace has it in the machine's RING chunks. */
	static const char text[] = "joined: its clock is known";

	if (!vm->waits.joined && s->opt.note)
		s->opt.note(s->opt.note_arg, 0, vm->name, text);
	if (!vm->waits.joined && s->opt.state)
		s->opt.state(s->opt.note_arg, vm->name, text);
	vm->waits.joined = true;
}

static void tell(struct xvt_session *s, struct xvt_vm *vm)
{
	char text[XVT_WAITS_TEXT];
	const struct xvt_state_note n = {
		.kind = XVT_NOTE_WAITS,
		.at_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read()),
		.before = "no event has come",
		.why = xvt_session_vm_waits_text(vm, vm->waits.last, text),
		.after = "",
	};

	/* Else the trace would not know the machine. */
	if (!vm->files.announced)
		xvt_vm_announce(s, vm);
	vm->waits.told = vm->waits.last;
	xvt_session_note_state(s, vm, &n);
}

void xvt_session_look_for_waits(struct xvt_session *s, bool final)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		const enum xvt_vm_waits before = vm->waits.last;

		vm->waits.last = xvt_session_vm_waits(vm);
		/* What lasts for a second: a guest that has just begun is none. */
		if (vm->waits.last != XVT_WAITS_NOT && vm->waits.last != vm->waits.told &&
		    (final || vm->waits.last == before))
			tell(s, vm);
	}
}
