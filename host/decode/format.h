/* SPDX-License-Identifier: GPL-2.0 */
/*
 * format.h - make an event class from the text of a tracefs "format" file. The text comes from a
 * guest: it is refused unless it has exactly the shape that Linux writes.
 */
#ifndef XVT_DECODE_FORMAT_H
#define XVT_DECODE_FORMAT_H

#include "decode/decode.h"

/*
 * Make a class. `system` and `text` end with a zero byte. Returns 0, -EBADMSG (the text is no
 * format, or is inconsistent) or -ENOMEM.
 */
int xvt_format_class(const char *system, const char *text, struct xvt_event_class *c);

#endif /* XVT_DECODE_FORMAT_H */
