// SPDX-License-Identifier: GPL-2.0
/* note.c - see note.h. */
#include "trace/note.h"

#include <string.h>

bool xvt_note_get(const struct xvt_chunk_buf *b, struct xvt_note_parts *p)
{
	size_t at = sizeof(p->note);

	memset(p, 0, sizeof(*p));
	if (b->len < at)
		return false;
	memcpy(&p->note, b->payload, at);
	if (p->note.kind != XVT_NOTE_TEXT) {
		if (b->len - at < sizeof(p->state))
			return false;
		memcpy(&p->state, b->payload + at, sizeof(p->state));
		at += sizeof(p->state);
	}
	p->text = b->payload + at;
	p->len = b->len - at;
	if (p->state.why_at <= p->len && p->state.why_len <= p->len - p->state.why_at) {
		p->why = p->text + p->state.why_at;
		p->why_len = p->state.why_len;
	}
	return true;
}
