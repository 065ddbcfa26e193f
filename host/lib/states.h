/* SPDX-License-Identifier: GPL-2.0 */
/* states.h - private to lib/: changes of machines' states, from the recorder's notes, as events. */
#ifndef XVT_LIB_STATES_H
#define XVT_LIB_STATES_H

#include "decode/decode.h"
#include "trace/note.h"

/* Bytes of a reason that are kept. */
#define XVT_STATE_WHY 256u

struct xvt_state {
	uint64_t ns;
	uint64_t since_ns;
	uint64_t number; /* in the file, for those of one time */
	uint32_t machine;
	uint32_t kind; /* enum xvt_note_kind, not TEXT */
	size_t why;    /* in `texts` */
	uint32_t why_len;
};

/* The states of a trace, in order of time. Zeros: there are none. */
struct xvt_states {
	struct xvt_state *v;
	size_t count;
	size_t room;
	size_t at; /* of the next one */
	uint8_t *texts;
	size_t text_used;
	size_t text_room;
	uint32_t machines;
	uint64_t *last_ns; /* by machine: of the last event that the reader has passed */
	/* By machine: XVT_NOTE_LAST + 1 of them; NULL: no state of it was given. As other types,
	 * they belong to one machine. */
	struct xvt_event_class **classes;
	struct xvt_event_hdr hdr; /* of the one that is given */
	uint8_t payload[8 + XVT_STATE_WHY];
};

/* Read the notes of `t`. Returns 0, -ENOMEM or a read error. */
int xvt_states_read(struct xvt_states *s, struct xvt_trace *t, uint32_t machines);
void xvt_states_fini(struct xvt_states *s);

/* Make an event of the next state, and of its class. NULL: out of memory. */
struct xvt_event_class *xvt_states_next(struct xvt_states *s, struct xvt_event *ev,
					const struct xvt_state **state);

/* Text of a state, as xvtrace_event_text() has it. */
void xvt_state_text(struct xvt_out *o, const struct xvt_state *state, const uint8_t *why);

#endif /* XVT_LIB_STATES_H */
