// SPDX-License-Identifier: GPL-2.0
/* top.c - see top.h: the rates and their history, kept from answer to answer. */
#define _GNU_SOURCE
#include "top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/u64.h"
#include "base/vec.h"

/* ------------------------------------------------------------------ machines */

static void add_sample(struct xvt_top_machine *m, uint64_t to_ns, uint64_t events)
{
	m->samples[m->nr_samples++ % XVT_TOP_SAMPLES] = (struct xvt_top_sample){
		.from_ns = m->counted_ns, .to_ns = to_ns, .events = events
	};
}

/* The rates of the time since the answer before. Where there is none, or the machine began anew:
 * those of the last second, which the recorder knows. */
static void set_rates(struct xvt_top_machine *m, const struct xvt_answer_sums *now,
		      uint64_t counted_ns)
{
	const uint64_t ns = counted_ns - m->counted_ns;

	if (m->counted_ns && counted_ns == m->counted_ns)
		return;
	if (m->counted_ns && counted_ns > m->counted_ns && now->events >= m->sums.events &&
	    now->lost >= m->sums.lost) {
		const uint64_t events = now->events - m->sums.events;

		m->v[XVT_TOP_EVENTS_S] = xvt_u64_scale(events, SECOND_NS, ns);
		m->v[XVT_TOP_LOST_S] = xvt_u64_scale(now->lost - m->sums.lost, SECOND_NS, ns);
		add_sample(m, counted_ns, events);
	} else {
		m->nr_samples = 0;
		m->v[XVT_TOP_EVENTS_S] = now->events_s;
		m->v[XVT_TOP_LOST_S] = now->lost_s;
		if (counted_ns > SECOND_NS) {
			m->counted_ns = counted_ns - SECOND_NS;
			add_sample(m, counted_ns, now->events_s);
		}
	}
	m->counted_ns = counted_ns;
}

static void update_machine(struct xvt_top_machine *m, const struct xvt_answer *a, size_t first,
			   uint64_t counted_ns)
{
	const struct xvt_answer_sums now = xvt_answer_sum(a, first, xvt_answer_vm_end(a, first));

	set_rates(m, &now, counted_ns);
	m->line = a->lines[first];
	m->order = first;
	m->sums = now;
	m->v[XVT_TOP_EVENTS] = now.events;
	m->v[XVT_TOP_LOST] = now.lost;
	m->v[XVT_TOP_DISCARDED] = now.discarded;
	m->v[XVT_TOP_LAG] = now.lag_ns;
	m->v[XVT_TOP_BOUND] = now.bound_ns;
	m->v[XVT_TOP_FULL] = now.full_percent;
	m->v[XVT_TOP_RINGS] = now.live;
}

/* The machine of that name that this answer has not had yet: one that is gone and one that came
 * back may have the same name. NULL: no memory. */
static struct xvt_top_machine *machine_of(struct xvt_top_recorder *r, const char *name)
{
	static uint64_t last_id;
	struct xvt_top_machine *m;
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (!r->machines[i].line && strcmp(r->machines[i].name, name) == 0)
			return &r->machines[i];
	}
	if (xvt_grow(&r->machines, &r->room, r->n + 1, sizeof(*r->machines)))
		return NULL;
	m = &r->machines[r->n];
	*m = (struct xvt_top_machine){ .id = ++last_id, .name = strdup(name) };
	if (!m->name)
		return NULL;
	r->n++;
	return m;
}

static void drop_machines_that_left(struct xvt_top_recorder *r)
{
	size_t i, kept = 0;

	for (i = 0; i < r->n; i++) {
		if (r->machines[i].line)
			r->machines[kept++] = r->machines[i];
		else
			free(r->machines[i].name);
	}
	r->n = kept;
}

static int by_order(const void *a, const void *b)
{
	const struct xvt_top_machine *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

/* ------------------------------------------------------------------ recorders */

static void forget_recorder(struct xvt_top_recorder *r)
{
	while (r->n)
		free(r->machines[--r->n].name);
	free(r->machines);
}

static void update_bytes(struct xvt_top_recorder *r, const struct xvt_json_value *line)
{
	const uint64_t bytes = xvt_answer_number(line, "bytes"),
		       now_ns = xvt_answer_number(line, "now_ns"),
		       before = r->now_ns ? r->now_ns : r->started_ns;

	r->bytes_s = now_ns > before && bytes >= r->bytes
			     ? xvt_u64_scale(bytes - r->bytes, SECOND_NS, now_ns - before)
			     : 0;
	r->bytes = bytes;
	r->now_ns = now_ns;
}

static int update_recorder(struct xvt_top_recorder *r, const struct xvt_answer *a)
{
	const uint64_t counted_ns = xvt_answer_number(a->lines[0], "counted_ns");
	size_t i;

	r->answer = a;
	r->sums = xvt_answer_sum(a, 1, a->n);
	r->sums.events_s = r->sums.lost_s = 0;
	update_bytes(r, a->lines[0]);
	if (r->n)
		qsort(r->machines, r->n, sizeof(*r->machines), by_order);
	for (i = 0; i < r->n; i++)
		r->machines[i].line = NULL;
	for (i = 1; i < a->n; i = xvt_answer_vm_end(a, i)) {
		struct xvt_top_machine *m = machine_of(r, xvt_answer_text(a->lines[i], "name"));

		if (!m)
			return -ENOMEM;
		update_machine(m, a, i, counted_ns);
		r->sums.events_s += m->v[XVT_TOP_EVENTS_S];
		r->sums.lost_s += m->v[XVT_TOP_LOST_S];
	}
	drop_machines_that_left(r);
	return 0;
}

/* NULL: no memory. */
static struct xvt_top_recorder *recorder_of(struct xvt_top *t, const struct xvt_json_value *line)
{
	const uint64_t pid = xvt_answer_number(line, "pid"),
		       started_ns = xvt_answer_number(line, "started_ns");
	size_t i;

	for (i = 0; i < t->n; i++) {
		if (t->recorders[i].pid == pid && t->recorders[i].started_ns == started_ns)
			return &t->recorders[i];
	}
	if (xvt_grow(&t->recorders, &t->room, t->n + 1, sizeof(*t->recorders)))
		return NULL;
	t->recorders[t->n] = (struct xvt_top_recorder){ .pid = pid, .started_ns = started_ns };
	return &t->recorders[t->n++];
}

static void drop_recorders_that_ended(struct xvt_top *t)
{
	size_t i, kept = 0;

	for (i = 0; i < t->n; i++) {
		if (t->recorders[i].answer)
			t->recorders[kept++] = t->recorders[i];
		else
			forget_recorder(&t->recorders[i]);
	}
	t->n = kept;
}

int xvt_top_refresh(struct xvt_top *t, const char *control)
{
	int err, failed = 0;
	size_t i;

	xvt_answers_forget(&t->answers);
	t->answers.why[0] = 0;
	err = xvt_answers_gather(&t->answers, control);
	for (i = 0; i < t->n; i++)
		t->recorders[i].answer = NULL;
	for (i = 0; i < t->answers.n && !failed; i++) {
		struct xvt_top_recorder *r = recorder_of(t, t->answers.v[i].lines[0]);

		failed = r ? update_recorder(r, &t->answers.v[i]) : -ENOMEM;
	}
	drop_recorders_that_ended(t);
	xvt_top_sort(t);
	return failed ? failed : err;
}

void xvt_top_forget(struct xvt_top *t)
{
	while (t->n)
		forget_recorder(&t->recorders[--t->n]);
	free(t->recorders);
	t->recorders = NULL;
	xvt_answers_forget(&t->answers);
}

/* ------------------------------------------------------------------ sorting */

/* The greatest first; names from a to z, also of machines with the same number. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct xvt_top_machine *x = a, *y = b;
	const struct xvt_top *t = arg;
	int order = 0;

	if (t->sort < XVT_TOP_COLUMNS)
		order = (x->v[t->sort] < y->v[t->sort]) - (x->v[t->sort] > y->v[t->sort]);
	if (!order)
		order = strverscmp(x->name, y->name);
	if (!order)
		order = by_order(x, y);
	return t->reverse ? -order : order;
}

void xvt_top_sort(struct xvt_top *t)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		struct xvt_top_recorder *r = &t->recorders[i];

		if (r->n)
			qsort_r(r->machines, r->n, sizeof(*r->machines), compare, t);
	}
}
