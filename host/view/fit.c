// SPDX-License-Identifier: GPL-2.0
/* fit.c - see fit.h. Pure arithmetic; all products in 128 bits. */
#include "view/fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef __int128 s128;

static int by_x(const void *pa, const void *pb)
{
	const struct xvt_fit_sample *a = pa, *b = pb;

	return a->x < b->x ? -1 : a->x > b->x;
}

static bool sane(const struct xvt_fit_sample *s)
{
	return s->lo <= s->hi && s->x > -XVT_FIT_MAX && s->x < XVT_FIT_MAX &&
	       s->lo > -XVT_FIT_MAX && s->hi < XVT_FIT_MAX;
}

/* Sort by x and merge samples of one x. Returns false if a sample is invalid or two of one x
 * contradict each other. */
static bool tidy(struct xvt_clock_fit *f)
{
	struct xvt_fit_sample *s = f->samples;
	size_t n = 0;

	qsort(s, f->count, sizeof(*s), by_x);
	for (size_t i = 0; i < f->count; i++) {
		if (!sane(&s[i]))
			return false;
		if (!n || s[n - 1].x != s[i].x) {
			s[n++] = s[i];
			continue;
		}
		if (s[i].lo > s[n - 1].lo)
			s[n - 1].lo = s[i].lo;
		if (s[i].hi < s[n - 1].hi)
			s[n - 1].hi = s[i].hi;
		if (!sane(&s[n - 1]))
			return false;
	}
	f->count = n;
	return true;
}

/* -- the line ----------------------------------------------------------------------- */

/* > 0: c lies above the line from a through b. */
static int side(struct xvt_fit_point a, struct xvt_fit_point b, struct xvt_fit_point c)
{
	s128 up = (s128)(c.y - a.y) * (b.x - a.x) - (s128)(b.y - a.y) * (c.x - a.x);

	return up > 0 ? 1 : up < 0 ? -1 : 0;
}

/* Append a point to a hull. `inner`: the side of its edges on which the inner points lie. */
static void push(struct xvt_fit_point *hull, size_t *count, struct xvt_fit_point p, int inner)
{
	while (*count >= 2 && side(hull[*count - 2], hull[*count - 1], p) != inner)
		--*count;
	hull[(*count)++] = p;
}

static void make_hulls(struct xvt_clock_fit *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct xvt_fit_sample *s = &f->samples[i];

		push(f->above, &f->above_count, (struct xvt_fit_point){ s->x, s->hi }, 1);
		push(f->below, &f->below_count, (struct xvt_fit_point){ s->x, s->lo }, -1);
	}
}

/* Compare the slopes from a to b and from c to d. up: returns whether the first is steeper; else
 * whether it is flatter. */
static bool better(struct xvt_fit_point a, struct xvt_fit_point b, struct xvt_fit_point c,
		   struct xvt_fit_point d, bool up)
{
	s128 first = (s128)(b.y - a.y) * (d.x - c.x), second = (s128)(d.y - c.y) * (b.x - a.x);

	return up ? first > second : first < second;
}

/*
 * The line that touches both hulls, one at its left point and one at its right point. Its slope is
 * the limit of all slopes between points of both. The search moves inwards from the outer ends
 * while that improves the slope: since hulls are convex, a line that no neighbour crosses is
 * crossed by no point.
 */
static struct xvt_fit_line tangent(const struct xvt_fit_point *left, size_t left_count,
				   const struct xvt_fit_point *right, size_t right_count, bool up)
{
	size_t i = 0, j = right_count - 1;
	bool moved = true;

	while (moved) {
		moved = false;
		while (j && right[j - 1].x > left[i].x &&
		       better(left[i], right[j - 1], left[i], right[j], up)) {
			j--;
			moved = true;
		}
		while (i + 1 < left_count && left[i + 1].x < right[j].x &&
		       better(left[i + 1], right[j], left[i], right[j], up)) {
			i++;
			moved = true;
		}
	}
	return (struct xvt_fit_line){ left[i], right[j] };
}

static bool crosses_all(const struct xvt_clock_fit *f, const struct xvt_fit_line *l)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct xvt_fit_sample *s = &f->samples[i];

		if (side(l->a, l->b, (struct xvt_fit_point){ s->x, s->lo }) > 0 ||
		    side(l->a, l->b, (struct xvt_fit_point){ s->x, s->hi }) < 0)
			return false;
	}
	return true;
}

static bool fit_line(struct xvt_clock_fit *f)
{
	make_hulls(f);
	f->flattest = tangent(f->above, f->above_count, f->below, f->below_count, true);
	f->steepest = tangent(f->below, f->below_count, f->above, f->above_count, false);
	return crosses_all(f, &f->flattest) && crosses_all(f, &f->steepest);
}

static int64_t limited(s128 v)
{
	return v >= XVT_FIT_MAX ? INT64_MAX : v <= -XVT_FIT_MAX ? INT64_MIN : (int64_t)v;
}

/* The line's value at x, rounded down or up. */
static int64_t line_at(const struct xvt_fit_line *l, int64_t x, bool up)
{
	s128 dx = l->b.x - l->a.x, product = (s128)(l->b.y - l->a.y) * (x - l->a.x);
	s128 y = product / dx, rest = product % dx;

	if (rest > 0 && up)
		y++;
	if (rest < 0 && !up)
		y--;
	return limited(l->a.y + y);
}

static int64_t hull_at(const struct xvt_fit_point *hull, size_t count, int64_t x, bool up)
{
	size_t lo = 1, hi = count - 1;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (hull[mid].x < x)
			lo = mid + 1;
		else
			hi = mid;
	}
	return line_at(&(struct xvt_fit_line){ hull[lo - 1], hull[lo] }, x, up);
}

static struct xvt_fit_span line_span(const struct xvt_clock_fit *f, int64_t x)
{
	struct xvt_fit_span s;

	if (x <= f->flattest.a.x)
		s.hi = line_at(&f->flattest, x, true);
	else if (x >= f->steepest.b.x)
		s.hi = line_at(&f->steepest, x, true);
	else
		s.hi = hull_at(f->above, f->above_count, x, true);
	if (x <= f->steepest.a.x)
		s.lo = line_at(&f->steepest, x, false);
	else if (x >= f->flattest.b.x)
		s.lo = line_at(&f->flattest, x, false);
	else
		s.lo = hull_at(f->below, f->below_count, x, false);
	return s;
}

/* -- the gain ----------------------------------------------------------------------- */

static bool fit_gain(struct xvt_clock_fit *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct xvt_fit_sample *s = &f->samples[i];

		f->most[i] = s->hi - s->x;
		if (i && f->most[i - 1] < f->most[i])
			f->most[i] = f->most[i - 1];
		if (s->lo - s->x > f->most[i])
			return false; /* the guest's clock has lost since an earlier sample */
	}
	for (size_t i = f->count; i-- > 0;) {
		f->least[i] = f->samples[i].lo - f->samples[i].x;
		if (i + 1 < f->count && f->least[i + 1] > f->least[i])
			f->least[i] = f->least[i + 1];
	}
	return true;
}

/* -- one step ----------------------------------------------------------------------- */

static struct xvt_fit_span both(struct xvt_fit_span a, struct xvt_fit_span b)
{
	return (struct xvt_fit_span){ a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
}

static struct xvt_fit_span offset_of(const struct xvt_fit_sample *s)
{
	return (struct xvt_fit_span){ s->lo - s->x, s->hi - s->x };
}

static void fit_step(struct xvt_clock_fit *f)
{
	f->step_first = f->count;
	f->step_last = 0;
	for (size_t i = 0; i < f->count; i++) {
		f->until[i] = offset_of(&f->samples[i]);
		if (i)
			f->until[i] = both(f->until[i], f->until[i - 1]);
		if (f->until[i].lo <= f->until[i].hi && i + 1 < f->count)
			f->step_last = i;
	}
	for (size_t i = f->count; i-- > 0;) {
		f->from[i] = offset_of(&f->samples[i]);
		if (i + 1 < f->count)
			f->from[i] = both(f->from[i], f->from[i + 1]);
		if (f->from[i].lo <= f->from[i].hi && i)
			f->step_first = i - 1;
	}
}

/* Number of samples below x; `with`: also one at x. */
static size_t samples_until(const struct xvt_clock_fit *f, int64_t x, bool with)
{
	size_t lo = 0, hi = f->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->samples[mid].x < x || (with && f->samples[mid].x == x))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void gain_between(const struct xvt_clock_fit *f, int64_t x0, int64_t x1,
			 struct xvt_fit_span *at0, struct xvt_fit_span *at1)
{
	size_t before = samples_until(f, x0, true), after = samples_until(f, x1, false);

	*at0 = *at1 = (struct xvt_fit_span){ INT64_MIN, INT64_MAX };
	if (before) {
		at0->hi = limited((s128)x0 + f->most[before - 1]);
		at1->hi = limited((s128)x1 + f->most[before - 1]);
	}
	if (after < f->count) {
		at0->lo = limited((s128)x0 + f->least[after]);
		at1->lo = limited((s128)x1 + f->least[after]);
	}
}

static void widen(struct xvt_fit_span *s, struct xvt_fit_span by)
{
	s->lo = by.lo < s->lo ? by.lo : s->lo;
	s->hi = by.hi > s->hi ? by.hi : s->hi;
}

/*
 * The step is between samples[i] and samples[i + 1], for some i from step_first to step_last. Among
 * the steps before the piece the nearest one allows the most, and likewise after the piece.
 */
static void widen_by_step(const struct xvt_clock_fit *f, int64_t x0, int64_t x1,
			  struct xvt_fit_span *at0, struct xvt_fit_span *at1)
{
	size_t before = samples_until(f, x0, true), after = samples_until(f, x1, false);
	struct xvt_fit_span offset = { INT64_MAX, INT64_MIN };
	size_t i;

	if (!before || after == f->count || f->step_first > f->step_last)
		return;
	if (before - 1 >= f->step_first && before - 1 <= f->step_last) {
		offset = f->until[before - 1];
		widen(&offset, f->from[before]);
	}
	i = after > f->step_first ? after : f->step_first;
	if (i <= f->step_last)
		widen(&offset, f->until[i]);
	i = before < f->step_last + 2 ? before
				      : f->step_last + 2; /* the step after samples[i - 2] */
	if (i >= f->step_first + 2)
		widen(&offset, f->from[i - 1]);
	if (offset.lo > offset.hi)
		return;
	widen(at0, (struct xvt_fit_span){ limited((s128)x0 + offset.lo),
					  limited((s128)x0 + offset.hi) });
	widen(at1, (struct xvt_fit_span){ limited((s128)x1 + offset.lo),
					  limited((s128)x1 + offset.hi) });
}

/* Beyond the samples the offset of the outermost sample continues. */
static int64_t gain_middle(const struct xvt_clock_fit *f, int64_t x)
{
	const struct xvt_fit_sample *first = &f->samples[0], *last = &f->samples[f->count - 1];
	int64_t at = x < first->x ? first->x : x > last->x ? last->x : x;
	int64_t most = f->most[samples_until(f, at, true) - 1];
	int64_t least = f->least[samples_until(f, at, false)];

	return limited((s128)x + least + (most - least) / 2);
}

/* -- together ----------------------------------------------------------------------- */

int xvt_clock_fit_init(struct xvt_clock_fit *f, struct xvt_fit_sample *samples, size_t count,
		       bool host_rate)
{
	memset(f, 0, sizeof(*f));
	f->samples = samples;
	f->count = count;
	if (!tidy(f) || f->count < 2)
		return 0; /* through a single moment every rate is possible */
	f->above = malloc(f->count * sizeof(*f->above));
	f->below = malloc(f->count * sizeof(*f->below));
	f->most = malloc(f->count * sizeof(*f->most));
	f->least = malloc(f->count * sizeof(*f->least));
	f->until = malloc(f->count * sizeof(*f->until));
	f->from = malloc(f->count * sizeof(*f->from));
	if (!f->above || !f->below || !f->most || !f->least || !f->until || !f->from) {
		xvt_clock_fit_fini(f);
		return -ENOMEM;
	}
	f->line = fit_line(f);
	f->gain = host_rate && fit_gain(f);
	f->step = host_rate;
	fit_step(f);
	return 0;
}

void xvt_clock_fit_fini(struct xvt_clock_fit *f)
{
	free(f->above);
	free(f->below);
	free(f->most);
	free(f->least);
	free(f->until);
	free(f->from);
	memset(f, 0, sizeof(*f));
}

void xvt_clock_fit_between(const struct xvt_clock_fit *f, int64_t x0, int64_t x1,
			   struct xvt_fit_span *at0, struct xvt_fit_span *at1)
{
	if (f->gain)
		gain_between(f, x0, x1, at0, at1);
	else if (f->line)
		*at0 = *at1 = (struct xvt_fit_span){ INT64_MAX, INT64_MIN };
	else
		*at0 = *at1 = (struct xvt_fit_span){ INT64_MIN, INT64_MAX };
	if (f->line) {
		widen(at0, line_span(f, x0));
		widen(at1, line_span(f, x1));
	}
	if (f->step)
		widen_by_step(f, x0, x1, at0, at1);
}

int64_t xvt_clock_fit_middle(const struct xvt_clock_fit *f, int64_t x)
{
	int64_t a, b;

	if (!f->line)
		return gain_middle(f, x);
	a = line_at(&f->flattest, x, false);
	b = line_at(&f->steepest, x, false);
	return limited(((s128)a + b) >> 1);
}
