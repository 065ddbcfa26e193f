/* SPDX-License-Identifier: GPL-2.0 */
/* marks.h - the MARKS of a trace, with which verify compares the records. */
#ifndef XVT_MARKS_H
#define XVT_MARKS_H

#include <stddef.h>

#include "trace/format.h"

struct xvt_marks {
	struct xvt_mark_seen *v;
	size_t count;
	size_t room;
};

/* Add a chunk's payload. Returns 0 or -ENOMEM. */
int xvt_marks_add(struct xvt_marks *m, const uint8_t *payload, uint32_t len);

/* To be called after all chunks, before the first xvt_marks_take(). */
void xvt_marks_sort(struct xvt_marks *m);

/*
 * Returns the mark seen of the ring's record of that number, or NULL. Each mark is returned once: a
 * guest that was set back to a snapshot may write the record of a seen mark again.
 */
const struct xvt_mark_seen *xvt_marks_take(struct xvt_marks *m, uint32_t ring, uint64_t number);

void xvt_marks_fini(struct xvt_marks *m);

#endif /* XVT_MARKS_H */
