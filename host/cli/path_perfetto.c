// SPDX-License-Identifier: GPL-2.0
/* path_perfetto.c - the parts of a path as slices for Perfetto: a track for each machine, and an
 * arrow wherever the path goes from one task or handler to another. */
#include "cli/path_perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS 14u

struct part {
	char name[160];
	struct xvt_slice_arg args[ARGS];
};

static void add_number(struct xvt_slice *s, struct part *part, const char *name, uint64_t v)
{
	part->args[s->arg_count++] = (struct xvt_slice_arg){ .name = name, .number = v };
}

static void add_text(struct xvt_slice *s, struct part *part, const char *name, const char *text)
{
	if (text[0])
		part->args[s->arg_count++] = (struct xvt_slice_arg){ name, text, 0 };
}

static void describe(struct xvt_slice *s, struct part *part, const struct xvt_path_step *step,
		     uint64_t total_ns)
{
	const uint64_t ns = step->end_ns - step->begin_ns;

	snprintf(part->name, sizeof(part->name), "%s %s", step->task, xvt_path_words(step));
	s->name = part->name;
	s->args = part->args;
	s->begin_ns = step->begin_ns;
	s->end_ns = step->end_ns;
	add_text(s, part, "grade", xvt_path_grade_name(step->grade));
	add_text(s, part, "edge", xvt_path_edge_name(step->edge));
	add_text(s, part, "by", step->by);
	add_number(s, part, "share_permille", total_ns ? 1000 * ns / total_ns : 0);
	add_text(s, part, "kind", xvt_path_kind_name(step->kind));
	add_text(s, part, "task", step->task);
	add_number(s, part, "cpu", step->ring->cpu);
	if (step->bound_ns < XVTRACE_NO_BOUND)
		add_number(s, part, "bound_ns", step->bound_ns);
	add_text(s, part, "not_told", step->aside);
	if (!step->taken_known)
		return;
	add_number(s, part, "taken_least_ns", step->taken_least_ns);
	add_number(s, part, "taken_most_ns", step->taken_most_ns);
	add_number(s, part, "own_least_ns", ns - step->taken_most_ns);
	add_number(s, part, "own_most_ns", ns - step->taken_least_ns);
}

static bool same_place(const struct xvt_path_step *a, const struct xvt_path_step *b)
{
	return a->ring->machine == b->ring->machine && strcmp(a->task, b->task) == 0;
}

/* Slices by time: the steps are from the path's end to its begin. */
static void make_slices(const struct xvt_path_step *steps, size_t count, struct xvt_slice *slices,
			struct part *parts)
{
	const uint64_t total_ns = steps[0].end_ns - steps[count - 1].begin_ns;

	for (size_t i = 0; i < count; i++) {
		const struct xvt_path_step *step = &steps[count - 1 - i];

		slices[i].track = step->ring->machine->number;
		describe(&slices[i], &parts[i], step, total_ns);
		if (!i || same_place(step, step + 1))
			continue;
		slices[i - 1].flows[1] = (uint32_t)i;
		slices[i].flows[0] = (uint32_t)i;
	}
}

int xvt_path_perfetto(struct xvt_path *p, struct xvt_export *x, struct xvt_out *o)
{
	const unsigned int machines = xvtrace_info(x->trace)->machines;
	const struct xvt_path_step *steps;
	const size_t count = xvt_path_steps(p, &steps);
	struct xvt_slice *slices = calloc(count + 1, sizeof(*slices));
	struct part *parts = calloc(count + 1, sizeof(*parts));
	const char **tracks = calloc((size_t)machines + 1, sizeof(*tracks));
	int err = slices && parts && tracks ? 0 : -ENOMEM;

	if (!err && count)
		make_slices(steps, count, slices, parts);
	for (size_t i = 0; i < count && !err; i++)
		tracks[steps[i].ring->machine->number] = steps[i].ring->machine->name;
	if (!err)
		err = xvt_export_perfetto_slices(x, "critical path", tracks, machines, slices,
						 count, o);
	free(slices);
	free(parts);
	free(tracks);
	return err;
}
