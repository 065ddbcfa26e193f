// SPDX-License-Identifier: GPL-2.0
/* copy.c - an open trace again, for another thread; see parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/parts.h"
#include "trace/copy.h"

static int copy_members(struct xvtrace *to, const struct xvtrace *of)
{
	int err = 0;

	to->members = calloc(of->member_count, sizeof(struct xvtrace *));
	if (!to->members)
		return -ENOMEM;
	while (to->member_count < of->member_count && !err) {
		err = xvt_lib_copy(&to->members[to->member_count], of->members[to->member_count]);
		to->member_count += !err;
	}
	return err ? err : xvt_several_number(to);
}

int xvt_lib_copy(struct xvtrace **out, const struct xvtrace *of)
{
	struct xvtrace *to = calloc(1, sizeof(*to));
	int err;

	*out = NULL;
	if (!to)
		return -ENOMEM;
	to->part = of->part;
	to->named = of->named;
	to->named_is_lent = true;
	memcpy(to->path, of->path, sizeof(to->path));
	if (of->members) {
		err = copy_members(to, of);
	} else {
		err = xvt_trace_copy(&to->t, of->t);
		if (!err)
			err = xvt_lib_tables(to);
	}
	if (err) {
		xvtrace_close(to);
		return err;
	}
	*out = to;
	return 0;
}

void xvt_lib_join(struct xvtrace *of, struct xvtrace *copy)
{
	for (size_t i = 0; i < of->member_count; i++)
		xvt_trace_join(of->members[i]->t, copy->members[i]->t);
	if (!of->members)
		xvt_trace_join(of->t, copy->t);
	xvtrace_close(copy);
}
