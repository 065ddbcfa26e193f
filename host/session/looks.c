// SPDX-License-Identifier: GPL-2.0
/*
 * looks.c - what the drain proves of the times of events goes into the trace: struct
 * xvt_clock_look. An event that no segment of its clock's map bounds is bounded by that alone. Of
 * all others a few looks are written, so that a reader can hold the map against them.
 */
#include "session/parts.h"

#include "base/u64.h"

#define EVERY_BYTES 4096u /* of a ring, for each look that only checks the map: 1 % of them */
#define NEAR	    16u	  /* entries that are compared with a new one */

void xvt_session_put_looks(struct xvt_session *s)
{
	struct xvt_looks *l = &s->looks;

	if (l->count)
		xvt_trace_put(s->trace, XVT_CHUNK_LOOKS, l->of, l->count * sizeof(l->of[0]), NULL,
			      0);
	l->count = 0;
}

static uint64_t width(const struct xvt_clock_look *k)
{
	return k->hi_ns - k->lo_ns;
}

/* Extends a look by another one of its ring, if none becomes much wider by that. */
static bool joined(struct xvt_clock_look *to, const struct xvt_clock_look *k)
{
	struct xvt_clock_look all = *to;

	if (to->ring != k->ring || to->flags != k->flags)
		return false;
	all.first_ns = all.first_ns < k->first_ns ? all.first_ns : k->first_ns;
	all.last_ns = xvt_u64_larger(all.last_ns, k->last_ns);
	all.lo_ns = all.lo_ns < k->lo_ns ? all.lo_ns : k->lo_ns;
	all.hi_ns = xvt_u64_larger(all.hi_ns, k->hi_ns);
	if (width(&all) / 9 > width(to) / 8 || width(&all) / 9 > width(k) / 8)
		return false;
	*to = all;
	return true;
}

static void add(struct xvt_session *s, const struct xvt_clock_look *k)
{
	struct xvt_looks *l = &s->looks;
	size_t i, n = l->count < NEAR ? l->count : NEAR;

	for (i = 1; i <= n; i++) {
		if (joined(&l->of[l->count - i], k))
			return;
	}
	if (l->count == XVT_LOOKS_MAX)
		xvt_session_put_looks(s);
	l->of[l->count++] = *k;
}

void xvt_session_note_look(struct xvt_session *s, const struct xvt_run *run)
{
	struct xvt_ring *r = run->ring;
	const struct xvt_clock_look k = { .ring = r->id,
					  .flags = run->written.beside ? XVT_LOOK_F_BESIDE : 0,
					  .first_ns = run->ns[run->at],
					  .last_ns = run->ns[run->taken - 1],
					  .lo_ns = run->written.lo_ns,
					  .hi_ns = run->written.hi_ns };

	/* Nothing is claimed of a time that contradicts its clock. */
	if (run->id == XVT_ID_LOST || run->ring_flags & XVT_EVENT_F_CLOCK || !k.lo_ns ||
	    k.hi_ns == UINT64_MAX || k.hi_ns < k.lo_ns || r->own)
		return;
	if (!run->written.beside) {
		if (run->pos - r->session.look_pos < EVERY_BYTES)
			return;
		r->session.look_pos = run->pos + run->len;
	}
	add(s, &k);
}
