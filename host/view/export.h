/* SPDX-License-Identifier: GPL-2.0 */
/* export.h - a view in a foreign format. Each takes a view and returns 0 or -errno. */
#ifndef XVT_EXPORT_H
#define XVT_EXPORT_H

#include "view/view.h"

#define XVT_EVENT_LETTERS   5
#define XVT_CONTEXT_LETTERS 4

/* "L..U." and "d.h1", each with a final zero. */
void xvt_event_letters(uint32_t ring_flags, char letters[XVT_EVENT_LETTERS + 1]);
void xvt_context_letters(const struct xvt_common *common, char letters[XVT_CONTEXT_LETTERS + 1]);

/* TIME VM:CPU FLAGS EVENT: fields */
int xvt_export_text(struct xvt_view *v, struct xvt_out *o);

/* One JSON object a line. */
int xvt_export_jsonl(struct xvt_view *v, struct xvt_out *o);

/* dir/VM/: a CTF 1.8 trace for each machine. Says itself what failed. */
int xvt_export_ctf(struct xvt_view *v, const char *dir);

#endif /* XVT_EXPORT_H */
