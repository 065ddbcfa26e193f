/* SPDX-License-Identifier: GPL-2.0 */
/*
 * json.h - build a JSON document as a tree and write it; parse a JSON document and read it. The
 * implementation is the only file that uses libjansson. This is for figures; events are written by
 * view/export_jsonl.c.
 */
#ifndef XVT_OUT_JSON_H
#define XVT_OUT_JSON_H

#include "base/error.h"
#include "base/out.h"

/* Building. The functions that add return no error: a lack of memory is kept in the document and
 * returned when it is written. */
struct xvt_json; /* an object or an array inside a document; the document owns it */

/* Opens /dev/urandom, as the first document does otherwise: for a process that opens no files
 * later. */
void xvt_json_prepare(void);

/* A new document: an object. */
struct xvt_json *xvt_json_new(void);

/* Key: ignored when `to` is an array. */
struct xvt_json *xvt_json_add_object(struct xvt_json *to, const char *key);
struct xvt_json *xvt_json_add_array(struct xvt_json *to, const char *key);
void xvt_json_add_u64(struct xvt_json *to, const char *key, uint64_t v);
void xvt_json_add_bool(struct xvt_json *to, const char *key, bool v);
void xvt_json_add_real(struct xvt_json *to, const char *key, double v);
void xvt_json_add_null(struct xvt_json *to, const char *key);
/* Any bytes; a byte that is not part of valid UTF-8 becomes U+FFFD. */
void xvt_json_add_text(struct xvt_json *to, const char *key, const char *text);

/* Writes one member a line, and frees the document. Returns 0, -ENOMEM or o->err. */
int xvt_json_write(struct xvt_json *doc, struct xvt_out *o);

/*
 * A document whose last member, `key`, is an array of any length, written piece by piece.
 * xvt_json_begin() writes the members of `doc` and opens the array. Each item is a document of its
 * own, written as one line by xvt_json_item(). xvt_json_end() closes the array and the document. An
 * item may itself be begun with xvt_json_begin() (`is_item`). Each of these frees `doc`. A NULL
 * `doc` means no memory and sets o->err to -ENOMEM.
 */
void xvt_json_begin(struct xvt_json *doc, struct xvt_out *o, const char *key, bool is_item);
void xvt_json_item(struct xvt_json *doc, struct xvt_out *o);
/* Between two items. */
void xvt_json_next(struct xvt_out *o);
void xvt_json_end(struct xvt_out *o);

/* Returns the document as one line in malloc()ed memory, `*len` bytes with a newline at the end and
 * no zero byte behind it, or NULL without memory. Frees the document. */
char *xvt_json_line(struct xvt_json *doc, size_t *len);

/* Reading. A getter treats NULL, and a value of another type, as absent; a chain of getters needs
 * only one check at its end. */
struct xvt_json_value; /* borrowed from its document, which xvt_json_forget() frees */

/* Parses one value from exactly `len` bytes; bytes behind the value are an error. Returns NULL on
 * error, with the reason in `why`. */
struct xvt_json_value *xvt_json_parse(const char *text, size_t len, struct xvt_error *why);
void xvt_json_forget(struct xvt_json_value *document);
/* A member of an object. */
const struct xvt_json_value *xvt_json_get(const struct xvt_json_value *of, const char *key);
/* NULL: not a string. */
const char *xvt_json_text(const struct xvt_json_value *v);
/* Return false and leave *out unchanged when the value has another type or is negative. */
bool xvt_json_u64(const struct xvt_json_value *v, uint64_t *out);
bool xvt_json_bool(const struct xvt_json_value *v, bool *out);
/* Number of an array's items; 0 for a value that is not an array. */
size_t xvt_json_count(const struct xvt_json_value *array);
const struct xvt_json_value *xvt_json_at(const struct xvt_json_value *array, size_t i);
/* Adds a parsed value to a document that is being built; its own document keeps it, too. */
void xvt_json_add_value(struct xvt_json *to, const char *key, const struct xvt_json_value *v);
/* Adds all members of an object, each under its own name. */
void xvt_json_add_members(struct xvt_json *to, const struct xvt_json_value *object);

#endif /* XVT_OUT_JSON_H */
