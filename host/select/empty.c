// SPDX-License-Identifier: GPL-2.0
/* empty.c - see empty.h. */
#include "select/empty.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/out.h"
#include "lib/xvtrace.h"
#include "options/opt.h"
#include "trace/names.h"
#include "trace/note.h"
#include "trace/read.h"

#define WHY_LEN 64

/* For each machine, what it lacked last. */
struct last {
	unsigned int count;
	char (*why)[WHY_LEN]; /* by the machine's number; "": nothing was said of it */
};

static bool last_init(struct last *l, unsigned int machines)
{
	l->count = machines;
	l->why = calloc((size_t)machines + 1, sizeof(*l->why));
	return l->why != NULL;
}

static void add(struct xvt_empty *e, const char *name, const char *why)
{
	if (why[0] && e->used < sizeof(e->text))
		e->used += (size_t)snprintf(e->text + e->used, sizeof(e->text) - e->used,
					    "%s%s waited (%s)", e->used ? ", " : "", name, why);
}

static void read_states(struct xvt_empty *e, struct last *l, struct xvtrace_reader *r)
{
	const struct xvtrace_event *ev;

	if (xvtrace_reader_flags(r, XVTRACE_STATES))
		return;
	while (xvtrace_next(r, &ev) > 0) {
		size_t len;
		const char *text;

		if (ev->kind == XVTRACE_LOST)
			e->lost += ev->lost;
		if (ev->kind != XVTRACE_STATE || ev->state != XVTRACE_WAITS)
			continue;
		text = xvtrace_event_text(ev, 0, &len);
		snprintf(l->why[ev->machine->number], WHY_LEN, "%s", text);
	}
}

static void read_notes_of(struct xvt_empty *e, struct xvtrace *trace)
{
	struct xvtrace_reader *r = NULL;
	struct last l;
	unsigned int i;

	*e = (struct xvt_empty){ .used = 0 };
	if (last_init(&l, xvtrace_info(trace)->machines) && !xvtrace_reader_new(&r, trace))
		read_states(e, &l, r);
	for (i = 0; l.why && i < l.count; i++)
		add(e, xvtrace_machine(trace, i) ? xvtrace_machine(trace, i)->name : "", l.why[i]);
	xvtrace_reader_free(r);
	free(l.why);
}

void xvt_empty_read_notes(struct xvt_empty *e, struct xvt_trace *t)
{
	struct xvt_chunk_buf b = { 0 };
	struct xvt_note_parts p;
	struct last l;
	unsigned int k;

	*e = (struct xvt_empty){ .used = 0 };
	if (!last_init(&l, t->vm_count))
		return;
	for (size_t i = 0; xvt_trace_next(t, 1u << XVT_CHUNK_NOTE, &i, &b) > 0; i++) {
		if (xvt_note_get(&b, &p) && p.note.kind == XVT_NOTE_WAITS && p.note.vm < l.count)
			xvt_text_clean(l.why[p.note.vm], WHY_LEN, p.why, p.why_len);
	}
	for (k = 0; k < l.count; k++)
		add(e, xvt_vm_name(t, k), l.why[k]);
	xvt_chunk_buf_free(&b);
	free(l.why);
}

void xvt_empty_say(const struct xvt_empty *e, const char *path, bool is_error)
{
	char lost[64] = "";
	const char *text = e->used ? e->text : "xvtrace verify --notes has what was noted";

	if (e->lost)
		snprintf(lost, sizeof(lost), "%" PRIu64 " were lost; ", e->lost);
	if (is_error)
		xvt_error(path, "no event in it: %s%s", lost, text);
	else
		xvt_warn(path, "no event in it: %s%s", lost, text);
}

bool xvt_empty_refuse(struct xvtrace *trace)
{
	const struct xvtrace_info *info = xvtrace_info(trace);
	struct xvt_empty empty;

	if (info->last_ns)
		return false;
	read_notes_of(&empty, trace);
	xvt_empty_say(&empty, info->path, true);
	return true;
}
