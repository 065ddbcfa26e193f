/* SPDX-License-Identifier: GPL-2.0 */
/*
 * format.h - from the text of a tracefs "format" file to an event class. The only part
 * that uses libtraceevent. That library trusts its input, ours comes from a guest: so it is
 * used for the fields only, on lines that were looked over first, and what it made is copied
 * into our own checked form. No record and no print fmt ever reaches it.
 */
#ifndef XVT_DECODE_TEP_H
#define XVT_DECODE_TEP_H

#include "decode/decode.h"

struct xvt_tep;

struct xvt_tep *xvt_tep_new(void);
void xvt_tep_free(struct xvt_tep *tep);

/*
 * Make a class. `system` and `text` end with a zero byte. Returns 0, -EBADMSG (text that is
 * no format, or that says impossible things) or -ENOMEM.
 */
int xvt_tep_class(struct xvt_tep *tep, const char *system, const char *text, size_t len,
		  struct xvt_event_class *c);

void xvt_tep_class_fini(struct xvt_event_class *c);

#endif /* XVT_DECODE_TEP_H */
