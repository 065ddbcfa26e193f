/* SPDX-License-Identifier: GPL-2.0 */
/* marks.h - the MARKS of a trace, for who holds its records against them. */
#ifndef XVT_MARKS_H
#define XVT_MARKS_H

#include <stddef.h>

#include "trace/format.h"

struct xvt_marks {
	struct xvt_mark_seen *v;
	size_t count;
	size_t room;
};

/* A chunk's payload. Returns 0 or -ENOMEM. */
int xvt_marks_add(struct xvt_marks *m, const uint8_t *payload, uint32_t len);

/* After all chunks, before the first xvt_marks_take(). */
void xvt_marks_sort(struct xvt_marks *m);

/*
 * What was seen of that ring's record of that number, or NULL. Only once for each: a guest that
 * was set back to a snapshot may write a mark again that had been written and seen before.
 */
const struct xvt_mark_seen *xvt_marks_take(struct xvt_marks *m, uint32_t ring, uint64_t number);

void xvt_marks_fini(struct xvt_marks *m);

#endif /* XVT_MARKS_H */
