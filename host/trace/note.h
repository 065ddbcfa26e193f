/* SPDX-License-Identifier: GPL-2.0 */
/* note.h - the parts of a NOTE chunk. */
#ifndef XVT_NOTE_H
#define XVT_NOTE_H

#include <stdbool.h>

#include "trace/read.h"

/* `state` is zero in a note of the kind TEXT. Texts lie in the chunk and may hold any bytes. */
struct xvt_note_parts {
	struct xvt_note note;
	struct xvt_note_state state;
	const uint8_t *text;
	size_t len;
	const uint8_t *why; /* a part of the text */
	size_t why_len;
};

/* The text of a note on a machine whose memory was rolled back. Its rings have LOST records, which
 * may tell no losses beside that, and no counter tells of it. */
#define XVT_NOTE_WENT_BACK "its memory went back to an earlier state"

/* Returns false for a chunk that is too short for its kind. */
bool xvt_note_get(const struct xvt_chunk_buf *b, struct xvt_note_parts *p);

/* Returns whether the machine's events are over at a note of this kind, or may be: what else it
 * does is not known. A pause ends there. */
static inline bool xvt_note_is_end(uint32_t kind)
{
	return kind == XVT_NOTE_MOVED || kind == XVT_NOTE_ENDED || kind == XVT_NOTE_UNKNOWN;
}

#endif /* XVT_NOTE_H */
