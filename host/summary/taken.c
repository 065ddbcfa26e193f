// SPDX-License-Identifier: GPL-2.0
/* taken.c - who took the most from the guests, for a summary. */
#include <stdlib.h>
#include <string.h>

#include "summary/summary.h"

/* The vCPUs of a machine may have waited for the same thread. */
static void add_taker(struct xvt_summary_taken *t, const struct xvt_line *line)
{
	size_t at = 0;

	while (at < t->count && t->takers[at].thread != line->thread)
		at++;
	if (at == XVT_SUMMARY_TAKERS_ROOM)
		return;
	if (at == t->count)
		t->takers[t->count++] = (struct xvt_summary_taker){ line->thread, 0 };
	t->takers[at].ns += line->wall.sum_ns;
}

static int compare(const void *a, const void *b)
{
	const struct xvt_summary_taker *l = a, *r = b;

	if (l->ns != r->ns)
		return l->ns > r->ns ? -1 : 1;
	return strcmp(l->thread->name, r->thread->name);
}

void xvt_summary_taken(const struct xvt_summary *s, const struct xvt_summary_machine *m,
		       struct xvt_summary_taken *t)
{
	struct xvt_line *const *lines;
	const size_t n = xvt_analyze_lines(s->analyze, &lines);

	*t = (struct xvt_summary_taken){ 0 };
	for (size_t i = 0; i < n; i++) {
		const struct xvt_line *l = lines[i];

		if (l->machine != m->of || l->analysis != XVT_ANALYZE_CPU)
			continue;
		if (strcmp(l->kind, "taken_by") == 0) {
			add_taker(t, l);
			t->least |= l->thread->tid == -1;
			t->recorder_ns += l->thread->recorder ? l->wall.sum_ns : 0;
		} else if (strcmp(l->kind, "asleep") == 0) {
			t->asleep_ns += l->wall.sum_ns;
		} else if (strcmp(l->kind, "blocked") == 0) {
			t->blocked_ns += l->wall.sum_ns;
		} else if (strcmp(l->kind, "stopped") == 0) {
			t->stopped_ns += l->wall.sum_ns;
		} else {
			t->vcpu_ns += l->wall.sum_ns + l->untold_ns;
		}
		if (strcmp(l->kind, "taken") == 0) {
			t->taken_ns += l->wall.sum_ns;
			t->untold_ns += l->untold_ns;
			t->vcpus += l->verdict != XVT_NOT_RECORDED;
			t->told += l->verdict == XVT_PROVEN;
		}
		t->least |= l->untold || strcmp(l->kind, "unknown") == 0;
	}
	qsort(t->takers, t->count, sizeof(t->takers[0]), compare);
	if (t->count > XVT_SUMMARY_TAKERS)
		t->count = XVT_SUMMARY_TAKERS;
}
