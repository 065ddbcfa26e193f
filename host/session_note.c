// SPDX-License-Identifier: GPL-2.0
/* session_note.c - what a recording tells: to the person who watches, and into the file. */
#include "session_parts.h"

#include <stdarg.h>
#include <stdio.h>

#define NOTES_A_SECOND 16 /* about one machine, of each level */

/* What a guest can cause at will is not told more often than this; an error still counts. */
static bool note_allowed(const struct xvt_session *s, struct xvt_vm *vm, uint32_t level)
{
	uint64_t now = xvt_clock_read();

	if (!vm)
		return true;
	if (since(now, vm->note_clock) > ticks(s, SECOND_NS)) {
		vm->note_clock = now;
		memset(vm->notes, 0, sizeof(vm->notes));
	}
	return vm->notes[level % 3]++ < NOTES_A_SECOND;
}

void xvt_session_note(struct xvt_session *s, uint32_t level, struct xvt_vm *vm, uint32_t ring,
		      const char *format, ...)
{
	struct xvt_note n = { .vm = vm ? vm->id : UINT32_MAX, .ring = ring, .level = level };
	char text[512];
	va_list ap;

	if (!note_allowed(s, vm, level))
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	n.host_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	xvt_trace_put(s->trace, XVT_CHUNK_NOTE, &n, sizeof(n), text, strlen(text));
	if (s->opt.note)
		s->opt.note(s->opt.note_arg, level, vm ? vm->name : NULL, text);
}
