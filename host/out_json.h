/* SPDX-License-Identifier: GPL-2.0 */
/*
 * out_json.h - a JSON document as a tree that is built and then written. The only part that
 * uses libjansson. For figures, not for events: see export_jsonl.c. No function fails where
 * it is called: lack of memory is remembered and told when writing.
 */
#ifndef XVT_OUT_JSON_H
#define XVT_OUT_JSON_H

#include "out.h"

struct xvt_json; /* an object or an array inside a document; the document owns it */

/* A new document: an object. */
struct xvt_json *xvt_json_new(void);

/* Key: ignored when `to` is an array. */
struct xvt_json *xvt_json_add_object(struct xvt_json *to, const char *key);
struct xvt_json *xvt_json_add_array(struct xvt_json *to, const char *key);
void xvt_json_add_u64(struct xvt_json *to, const char *key, uint64_t v);
void xvt_json_add_bool(struct xvt_json *to, const char *key, bool v);
void xvt_json_add_real(struct xvt_json *to, const char *key, double v);
void xvt_json_add_null(struct xvt_json *to, const char *key);
/* Any bytes; what is no UTF-8 becomes U+FFFD. */
void xvt_json_add_text(struct xvt_json *to, const char *key, const char *text);

/* Write in lines of one member each, and free the document. Returns 0, -ENOMEM or o->err. */
int xvt_json_write(struct xvt_json *doc, struct xvt_out *o);

#endif /* XVT_OUT_JSON_H */
