// SPDX-License-Identifier: GPL-2.0
/* found.c - what a reader found besides the events; see xvtrace.h. */
#include <errno.h>

#include "lib/parts.h"

int xvtrace_reader_unmatched(const struct xvtrace_reader *r, size_t number,
			     struct xvtrace_unmatched *unmatched)
{
	return r->read_all && xvt_globs_unmatched(r->choice.globs, number, unmatched) ? 0 : -ENOENT;
}

int xvtrace_reader_unmatched_comm(const struct xvtrace_reader *r, size_t number,
				  struct xvtrace_unmatched *unmatched)
{
	return r->read_all && r->choice.comms &&
			       xvt_globs_unmatched(r->choice.comms->globs, number, unmatched)
		       ? 0
		       : -ENOENT;
}

int xvtrace_reader_unmatched_filter(const struct xvtrace_reader *r, size_t number,
				    struct xvtrace_error *error)
{
	return r->read_all && r->choice.filter &&
			       xvt_filter_unmatched(r->choice.filter, number, error)
		       ? 0
		       : -ENOENT;
}

const struct xvtrace_counts *xvtrace_reader_counts(struct xvtrace_reader *r, unsigned int ring)
{
	struct xvt_trace *t = r->trace->t;
	const struct xvt_counted *c;

	if (!r->count.rings || !r->read_all || r->trace->part || !xvtrace_ring(r->trace, ring) ||
	    (!r->count.bounds && xvt_bounds_new(&r->count.bounds, t)))
		return NULL;
	c = r->count.rings + ring;
	r->count.shown = c->counts;
	xvt_conclude_counts(t, &r->count.shown, &c->recorded, &r->count.bounds->rings[ring]);
	return &r->count.shown;
}

uint64_t xvtrace_reader_lost_hidden(const struct xvtrace_reader *r)
{
	uint64_t sum = r->count.lost_hidden;

	for (size_t i = 0; i < r->several.count; i++)
		sum += r->several.members[i]->count.lost_hidden;
	return sum;
}

uint64_t xvtrace_reader_nameless(const struct xvtrace_reader *r, unsigned int machine,
				 uint64_t *events)
{
	uint64_t nameless = 0;

	*events = 0;
	if (machine >= r->trace->machine_count)
		return 0;
	if (r->count.tally) {
		*events = r->count.tally[machine].events;
		nameless = r->count.tally[machine].nameless;
	}
	for (size_t i = 0; i < r->several.count; i++) {
		if (!r->several.members[i]->count.tally)
			continue;
		*events += r->several.members[i]->count.tally[machine].events;
		nameless += r->several.members[i]->count.tally[machine].nameless;
	}
	return nameless;
}

uint64_t xvtrace_reader_left_out(const struct xvtrace_reader *r)
{
	uint64_t sum = r->ds.left_out;

	for (size_t i = 0; i < r->several.count; i++)
		sum += r->several.members[i]->ds.left_out;
	return sum;
}

int xvtrace_reader_left_format(const struct xvtrace_reader *r, unsigned int number,
			       struct xvtrace_left_format *to)
{
	const struct xvt_left_format *f;

	for (size_t i = 0; i < r->several.count; i++) {
		const uint32_t count = r->several.members[i]->ds.left_format_count;

		if (number < count)
			return xvtrace_reader_left_format(r->several.members[i], number, to);
		number -= count;
	}
	if (r->several.members || number >= r->ds.left_format_count)
		return -ENOENT;
	f = &r->ds.left_formats[number % XVT_LEFT_FORMATS];
	*to = (struct xvtrace_left_format){ .machine = xvt_lib_machine(r->trace, f->vm)->number,
					    .system = f->system,
					    .event = f->event,
					    .why = f->why };
	return 0;
}
