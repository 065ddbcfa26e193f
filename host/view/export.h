/* SPDX-License-Identifier: GPL-2.0 */
/* export.h - write a view in another format. Each export returns 0 or -errno. */
#ifndef XVT_EXPORT_H
#define XVT_EXPORT_H

#include "view/view.h"

#define XVT_EVENT_LETTERS   5
#define XVT_CONTEXT_LETTERS 4

/* Flags of an event ("L..U.") and of its context ("d.h1"), each with a final zero byte. */
void xvt_event_letters(uint32_t ring_flags, char letters[XVT_EVENT_LETTERS + 1]);
void xvt_context_letters(const struct xvt_common *common, char letters[XVT_CONTEXT_LETTERS + 1]);

/* One line for each event: TIME VM:CPU FLAGS EVENT: fields */
int xvt_export_text(struct xvt_view *v, struct xvt_out *o);

/* One JSON object on a line for each event. */
int xvt_export_jsonl(struct xvt_view *v, struct xvt_out *o);

/* A CTF 1.8 trace dir/VM/ for each machine. Prints its own error messages. */
int xvt_export_ctf(struct xvt_view *v, const char *dir);

#endif /* XVT_EXPORT_H */
