/* SPDX-License-Identifier: GPL-2.0 */
/*
 * format.h - make an event class from the text of a tracefs "format" file. Only format.c uses
 * libtraceevent. That library trusts its input, but the text comes from a guest. So the library
 * parses only the lines of fields, each of which was checked before, and the result is checked and
 * copied. No record and no print fmt reaches the library.
 */
#ifndef XVT_DECODE_TEP_H
#define XVT_DECODE_TEP_H

#include "decode/decode.h"

struct xvt_tep;

struct xvt_tep *xvt_tep_new(void);
void xvt_tep_free(struct xvt_tep *tep);

/*
 * Make a class. `system` and `text` end with a zero byte. Returns 0, -EBADMSG (the text is no
 * format, or is inconsistent) or -ENOMEM.
 */
int xvt_tep_class(struct xvt_tep *tep, const char *system, const char *text, size_t len,
		  struct xvt_event_class *c);

void xvt_tep_class_fini(struct xvt_event_class *c);

#endif /* XVT_DECODE_TEP_H */
