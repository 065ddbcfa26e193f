/* SPDX-License-Identifier: GPL-2.0 */
/*
 * json.h - a JSON document as a tree that is built and then written, and one that was read.
 * The only part that uses libjansson. For figures, not for events: see view/export_jsonl.c.
 */
#ifndef XVT_OUT_JSON_H
#define XVT_OUT_JSON_H

#include "base/out.h"

/*
 * Building. No function fails where it is called: lack of memory is remembered and told when
 * writing.
 */
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

/*
 * The same for a document whose last member is an array of any length, `key`: the array is begun,
 * and each item is a document of its own, written as one line, before it is ended. A document that
 * is an item may be begun in the same way. NULL for `doc`: no memory, remembered in o->err.
 */
void xvt_json_begin(struct xvt_json *doc, struct xvt_out *o, const char *key, bool is_item);
void xvt_json_item(struct xvt_json *doc, struct xvt_out *o);
/* Between two items. */
void xvt_json_next(struct xvt_out *o);
void xvt_json_end(struct xvt_out *o);

/* The same as one line in memory, ended by a newline: malloc()ed, and no zero byte behind it. NULL:
 * no memory. */
char *xvt_json_line(struct xvt_json *doc, size_t *len);

/*
 * Reading. Every getter takes NULL, or a value of another type than asked for, as "not there",
 * so that a chain of them needs one check at its end.
 */
struct xvt_json_value; /* borrowed from its document, which xvt_json_forget() frees */

/* One value from exactly `len` bytes, nothing behind it. NULL: `why` says what is wrong. */
struct xvt_json_value *xvt_json_parse(const char *text, size_t len, char *why, size_t why_size);
void xvt_json_forget(struct xvt_json_value *document);
/* A member of an object. */
const struct xvt_json_value *xvt_json_get(const struct xvt_json_value *of, const char *key);
/* NULL: not a string. */
const char *xvt_json_text(const struct xvt_json_value *v);
/* Return false, and leave *out alone, when it is something else or negative. */
bool xvt_json_u64(const struct xvt_json_value *v, uint64_t *out);
bool xvt_json_bool(const struct xvt_json_value *v, bool *out);
/* Members of an array; of anything else there are none. */
size_t xvt_json_count(const struct xvt_json_value *array);
const struct xvt_json_value *xvt_json_at(const struct xvt_json_value *array, size_t i);
/* What was read becomes part of what is built; it stays its own document's, too. */
void xvt_json_add_value(struct xvt_json *to, const char *key, const struct xvt_json_value *v);
/* All members of an object, each under its own name. */
void xvt_json_add_members(struct xvt_json *to, const struct xvt_json_value *object);

#endif /* XVT_OUT_JSON_H */
