// SPDX-License-Identifier: GPL-2.0
/*
 * looks.c - what the drain proves of the times of events goes into the trace: struct
 * xvt_clock_look. An event that no segment of its clock's map bounds is bounded by that alone, and
 * so is a guess. Of all others a few looks are written, so that a reader can hold the map against
 * them.
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

/* How far off a time within the look can be, at most. */
static uint64_t bound_ns(const struct xvt_clock_look *k)
{
	return xvt_u64_sum(xvt_u64_larger(k->last_ns > k->lo_ns ? k->last_ns - k->lo_ns : 0,
					  k->hi_ns > k->first_ns ? k->hi_ns - k->first_ns : 0),
			   XVT_STAMP_SLACK_NS);
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
	/* An event beyond that has another flag, and its look has. */
	if (all.flags == XVT_LOOK_F_BESIDE && bound_ns(&all) > XVT_SURE_NS)
		return false;
	*to = all;
	return true;
}

/*
 * The one that k was joined with; NULL: none. Among the newest ones, and the newest of its ring:
 * where many rings have guesses of which nothing is known, that is one look for each ring.
 */
static struct xvt_clock_look *join(struct xvt_session *s, const struct xvt_clock_look *k,
				   uint32_t newest_of_ring)
{
	struct xvt_looks *l = &s->looks;
	size_t i, n = l->count < NEAR ? l->count : NEAR;

	if (newest_of_ring < l->count && joined(&l->of[newest_of_ring], k))
		return &l->of[newest_of_ring];
	for (i = 1; i <= n; i++) {
		if (joined(&l->of[l->count - i], k))
			return &l->of[l->count - i];
	}
	return NULL;
}

static const struct xvt_clock_look *add(struct xvt_session *s, struct xvt_ring *r,
					const struct xvt_clock_look *k)
{
	struct xvt_looks *l = &s->looks;
	struct xvt_clock_look *with = join(s, k, r->session.look_at);

	if (with)
		return with;
	if (l->count == XVT_LOOKS_MAX)
		xvt_session_put_looks(s);
	r->session.look_at = (uint32_t)l->count;
	l->of[l->count++] = *k;
	return &l->of[l->count - 1];
}

static uint32_t kind_of(const struct xvt_run *run)
{
	return (run->ring_flags & XVT_EVENT_F_UNCONFIRMED ? XVT_LOOK_F_GUESS : 0) |
	       (run->written.beside ? XVT_LOOK_F_BESIDE : 0);
}

static bool is_known(const struct xvt_clock_look *k)
{
	return k->lo_ns && k->hi_ns != UINT64_MAX && k->hi_ns >= k->lo_ns;
}

/* Not inlined: few parts of runs need it, and a call for each of the others has to be cheap. */
static __attribute__((noinline)) void note(struct xvt_session *s, const struct xvt_run *run)
{
	struct xvt_ring *r = run->ring;
	struct xvt_clock_look k = { .ring = r->id,
				    .flags = kind_of(run),
				    .first_ns = run->ns[run->at],
				    .last_ns = run->ns[run->taken - 1],
				    .lo_ns = run->written.lo_ns,
				    .hi_ns = run->written.hi_ns };
	const struct xvt_clock_look *in_file;

	/* Nothing is claimed of a time that contradicts its clock. */
	if (run->id == XVT_ID_LOST || run->ring_flags & XVT_EVENT_F_CLOCK)
		return;
	/* The host's clock needs no proof. Of a ring that the recorder fills for a guest the drain
	 * says when it was filled, and only what is beside the line has that as its bound. */
	if (r->own && (!k.flags || xvt_vm_is_host(xvt_vm_of_ring(r))))
		return;
	if (!is_known(&k)) {
		if (!(k.flags & XVT_LOOK_F_GUESS))
			return;
		/* It has to be said: what is known of its neighbours is not known of this one. */
		k.lo_ns = 0;
		k.hi_ns = UINT64_MAX;
	}
	if (!k.flags) {
		if (run->pos - r->session.look_pos < EVERY_BYTES)
			return;
		r->session.look_pos = run->pos + run->len;
		k.last_ns = run->ns[run->count - 1];
	}
	in_file = add(s, r, &k);
	/* A reader has the look alone, which may be wider than what was known of each event. */
	if (k.flags == XVT_LOOK_F_BESIDE)
		r->clock.map.bound_ns_max =
			xvt_u64_larger(r->clock.map.bound_ns_max, bound_ns(in_file));
}

void xvt_session_note_look(struct xvt_session *s, const struct xvt_run *run)
{
	/* Of a run that is put out in parts the first one says it for all, unless its times have no
	 * bound but that of the look. */
	if (run->at && !run->in_parts)
		return;
	note(s, run);
}
