// SPDX-License-Identifier: GPL-2.0
/*
 * notes.c - notes of a recording: shown to the user, and written into the trace. Notes that a guest
 * can cause at will are limited for each machine and level, and for all machines together. Notes
 * left out are counted, and the count is reported.
 */
#include "session/parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Size of each token bucket, and the time that refills one token. */
#define NOTES_VM     32u
#define NOTES_VM_NS  (4 * SECOND_NS)
#define NOTES_ALL    512u
#define NOTES_ALL_NS (SECOND_NS / 4)
#define NOTES_OWN    8u		      /* of each machine, not usable by others */
#define LEFT_OUT_NS  (60 * SECOND_NS) /* between two reports of notes left out */

static void refill(const struct xvt_session *s, struct xvt_note_limit *l, uint32_t most,
		   uint64_t ns, uint64_t now)
{
	uint64_t more;

	if (!l->begun) {
		*l = (struct xvt_note_limit){ .begun = true, .left = most, .clock = now };
		return;
	}
	more = since(now, l->clock) / ticks(s, ns);
	l->clock += more * ticks(s, ns);
	l->left = more < most - l->left ? l->left + (uint32_t)more : most;
}

static bool note_allowed(struct xvt_session *s, struct xvt_vm *vm, uint32_t level)
{
	const uint64_t now = xvt_clock_read();
	struct xvt_note_limit *own;

	if (!vm)
		return true;
	own = &vm->notes.limits[level % 3];
	refill(s, own, NOTES_VM, NOTES_VM_NS, now);
	refill(s, &s->notes, NOTES_ALL, NOTES_ALL_NS, now);
	if (!own->left || (!s->notes.left && own->left <= NOTES_VM - NOTES_OWN)) {
		vm->notes.left_out++;
		return false;
	}
	own->left--;
	s->notes.left -= s->notes.left != 0;
	return true;
}

/* A note as the file has it; `state` only of a kind other than TEXT. */
struct head {
	struct xvt_note note;
	struct xvt_note_state state;
};

static void put_head(struct xvt_session *s, struct xvt_vm *vm, struct head *h, const char *text)
{
	const size_t len = h->note.kind == XVT_NOTE_TEXT ? sizeof(h->note) : sizeof(*h);

	h->note.vm = vm ? vm->id : UINT32_MAX;
	h->note.host_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	if (!is_salvage(s)) /* its trace has what the region holds, and nothing of today */
		xvt_trace_put(s->trace, XVT_CHUNK_NOTE, h, len, text, strlen(text));
	if (s->opt.note)
		s->opt.note(s->opt.note_arg, h->note.level, vm && !is_salvage(s) ? vm->name : NULL,
			    text);
	/* What a machine lacks is on the line of progress. */
	if (s->opt.state && vm && !h->note.level && h->note.kind != XVT_NOTE_TEXT &&
	    h->note.kind != XVT_NOTE_WAITS)
		s->opt.state(s->opt.note_arg, vm->name, text);
}

static void put_note(struct xvt_session *s, uint32_t level, struct xvt_vm *vm, uint32_t ring,
		     const char *text)
{
	struct head h = { .note = { .ring = ring, .level = level } };

	put_head(s, vm, &h, text);
}

void xvt_session_note(struct xvt_session *s, uint32_t level, struct xvt_vm *vm, uint32_t ring,
		      const char *format, ...)
{
	char text[512];
	va_list ap;

	if (!note_allowed(s, vm, level))
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	put_note(s, level, vm, ring, text);
}

void xvt_session_note_of_file(struct xvt_session *s, uint32_t level, struct xvt_vm *vm,
			      const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	put_note(s, level, vm, UINT32_MAX, text);
}

void xvt_session_note_state(struct xvt_session *s, struct xvt_vm *vm,
			    const struct xvt_state_note *n)
{
	struct head h = { .note = { .ring = UINT32_MAX, .level = n->level, .kind = n->kind },
			  .state = { .at_ns = n->at_ns, .since_ns = n->since_ns } };
	char text[512];
	int at;

	if (!note_allowed(s, vm, n->level))
		return;
	at = snprintf(text, sizeof(text), "%s%s", n->before, n->before[0] && n->why[0] ? ": " : "");
	snprintf(text + at, sizeof(text) - (size_t)at, "%s%s", n->why, n->after);
	h.state.why_at = (uint32_t)at;
	h.state.why_len = (uint32_t)strlen(n->why);
	put_head(s, vm, &h, text);
}

void xvt_session_notes_left_out(struct xvt_session *s, struct xvt_vm *vm, uint64_t now, bool final)
{
	char text[128];

	if (vm->notes.left_out == vm->notes.told ||
	    (!final && vm->notes.told_clock &&
	     since(now, vm->notes.told_clock) < ticks(s, LEFT_OUT_NS)))
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " further notes about it are left out",
		 vm->notes.left_out - vm->notes.told);
	vm->notes.told = vm->notes.left_out;
	vm->notes.told_clock = now;
	put_note(s, 1, vm, UINT32_MAX, text);
}
