// SPDX-License-Identifier: GPL-2.0
/*
 * message.c - messages between machines, whose sender and receiver are known by their keys. What a
 * message met on its way is told by the other edges. Where these end, the path goes on at the
 * sender. And where one of them may be wrong and the path went past the sending elsewhere, it went
 * astray: such a path covers all of the time, too.
 */
#include "path/parts.h"

/* The sending of a message: the only one of that key in another machine since this machine's last
 * receipt of that key. NONE: none, or several. */
static uint32_t sending_of(const struct xvt_path *p, uint32_t received)
{
	const struct rec *r = &p->recs[received];
	uint32_t found = NONE;

	for (size_t n = p->mark_count; n-- > 0;) {
		const struct rec *m = &p->recs[p->marks[n]];
		const bool here = rec_machine(p, m) == rec_machine(p, r);

		if (p->marks[n] >= received || m->key != r->key ||
		    here != (m->kind == REC_RECEIVED))
			continue;
		if (m->kind == REC_RECEIVED)
			break;
		if (found != NONE)
			return NONE;
		found = p->marks[n];
	}
	return found;
}

/* Another one of that key may have been sent or received in between. */
static bool is_lost(const struct xvt_path *p, const struct rec *s, const struct rec *r)
{
	return recs_lost(p, rec_machine(p, s), rec_earliest(s), rec_latest(r)) ||
	       recs_lost(p, rec_machine(p, r), rec_earliest(s), rec_latest(r));
}

void message_received(struct xvt_path *p, uint32_t received)
{
	const uint32_t sent = sending_of(p, received);
	const struct rec *r = &p->recs[received], *s;

	if (sent == NONE)
		return;
	s = &p->recs[sent];
	if (s->doubt || r->doubt || rec_latest(s) >= rec_earliest(r) || is_lost(p, s, r))
		return;
	p->message = (struct pending){ .open = true, .sent = sent, .key = r->key };
}
