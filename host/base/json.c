// SPDX-License-Identifier: GPL-2.0
/* json.c - see json.h. */
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* A node of the document tree. All nodes of a document are linked from the root's `next`. */
struct xvt_json {
	json_t *value; /* borrowed from the parent, owned by the root's handle */
	struct xvt_json *root;
	struct xvt_json *next;
	bool failed; /* root only */
};

/* Takes ownership of `value`. Every addition ends here, so that every failure sets root->failed. */
static bool attach(struct xvt_json *to, const char *key, json_t *value)
{
	int err;

	if (!to || !to->value || !value) {
		json_decref(value);
		err = -1;
	} else if (json_is_array(to->value)) {
		err = json_array_append_new(to->value, value);
	} else {
		err = json_object_set_new(to->value, key, value);
	}
	if (err && to)
		to->root->failed = true;
	return !err;
}

static struct xvt_json *add(struct xvt_json *to, const char *key, json_t *value)
{
	struct xvt_json *h = to ? calloc(1, sizeof(*h)) : NULL;

	if (!h) {
		json_decref(value);
		if (to)
			to->root->failed = true;
		return NULL;
	}
	h->root = to->root;
	h->next = to->root->next;
	to->root->next = h;
	if (attach(to, key, value))
		h->value = value;
	return h;
}

void xvt_json_prepare(void)
{
	json_object_seed(0);
}

struct xvt_json *xvt_json_new(void)
{
	struct xvt_json *doc = calloc(1, sizeof(*doc));

	if (!doc)
		return NULL;
	doc->root = doc;
	doc->value = json_object();
	doc->failed = !doc->value;
	return doc;
}

struct xvt_json *xvt_json_add_object(struct xvt_json *to, const char *key)
{
	return add(to, key, json_object());
}

struct xvt_json *xvt_json_add_array(struct xvt_json *to, const char *key)
{
	return add(to, key, json_array());
}

void xvt_json_add_u64(struct xvt_json *to, const char *key, uint64_t v)
{
	/* The library has signed integers only; no honest count is larger. */
	attach(to, key, json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v));
}

void xvt_json_add_bool(struct xvt_json *to, const char *key, bool v)
{
	attach(to, key, json_boolean(v));
}

void xvt_json_add_real(struct xvt_json *to, const char *key, double v)
{
	attach(to, key, json_real(v));
}

void xvt_json_add_null(struct xvt_json *to, const char *key)
{
	attach(to, key, json_null());
}

void xvt_json_add_text(struct xvt_json *to, const char *key, const char *text)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t len = strlen(text), i = 0, used = 0;
	char *clean = malloc(3 * len + 1);
	uint32_t code;

	while (clean && i < len) {
		size_t n = xvt_utf8_next(p + i, len - i, &code);
		bool bad = code == 0xfffd && n == 1;

		memcpy(clean + used, bad ? (const uint8_t *)"\xef\xbf\xbd" : p + i, bad ? 3 : n);
		used += bad ? 3 : n;
		i += n;
	}
	attach(to, key, clean ? json_stringn(clean, used) : NULL);
	free(clean);
}

static void forget(struct xvt_json *doc)
{
	json_decref(doc->value);
	while (doc) {
		struct xvt_json *next = doc->next;

		free(doc);
		doc = next;
	}
}

static int emit(const char *bytes, size_t len, void *arg)
{
	xvt_out_json(arg, bytes, len);
	return 0;
}

int xvt_json_write(struct xvt_json *doc, struct xvt_out *o)
{
	int err = -ENOMEM;

	if (!doc)
		return err;
	if (!doc->failed && !json_dump_callback(doc->value, emit, o, JSON_INDENT(1))) {
		xvt_out_char(o, '\n');
		err = o->err;
	}
	forget(doc);
	return err;
}

/* Writes the document without its last `less` bytes, and frees it. */
static void put_all(struct xvt_json *doc, struct xvt_out *o, size_t flags, size_t less)
{
	char *text = doc && !doc->failed ? json_dumps(doc->value, flags) : NULL;

	if (text)
		xvt_out_json(o, text, strlen(text) - less);
	else if (!o->err)
		o->err = -ENOMEM;
	free(text);
	if (doc)
		forget(doc);
}

void xvt_json_begin(struct xvt_json *doc, struct xvt_out *o, const char *key, bool is_item)
{
	put_all(doc, o, is_item ? 0 : JSON_INDENT(1), is_item ? 1 : 2);
	xvt_out_printf(o, "%s\"%s\": [\n", is_item ? ", " : ",\n ", key);
}

void xvt_json_item(struct xvt_json *doc, struct xvt_out *o)
{
	put_all(doc, o, 0, 0);
}

void xvt_json_next(struct xvt_out *o)
{
	xvt_out_str(o, ",\n");
}

void xvt_json_end(struct xvt_out *o)
{
	xvt_out_str(o, "\n]}");
}

char *xvt_json_line(struct xvt_json *doc, size_t *len)
{
	char *text = NULL;

	if (!doc)
		return NULL;
	if (!doc->failed)
		text = json_dumps(doc->value, JSON_COMPACT);
	if (text) {
		*len = strlen(text) + 1;
		text[*len - 1] = '\n';
	}
	forget(doc);
	return text;
}

/* ------------------------------------------------------------------ reading */

/* struct xvt_json_value is libjansson's json_t; only this file includes the library's header. */
static const json_t *of_value(const struct xvt_json_value *v)
{
	return (const json_t *)v;
}

struct xvt_json_value *xvt_json_parse(const char *text, size_t len, struct xvt_error *why)
{
	json_error_t err;
	json_t *v = json_loadb(text, len, JSON_REJECT_DUPLICATES, &err);

	if (!v)
		xvt_fail(why, 0, "%s at byte %d", err.text, err.position);
	return (struct xvt_json_value *)v;
}

void xvt_json_forget(struct xvt_json_value *document)
{
	json_decref((json_t *)document);
}

const struct xvt_json_value *xvt_json_get(const struct xvt_json_value *of, const char *key)
{
	return (const struct xvt_json_value *)json_object_get(of_value(of), key);
}

const char *xvt_json_text(const struct xvt_json_value *v)
{
	return json_string_value(of_value(v));
}

bool xvt_json_u64(const struct xvt_json_value *v, uint64_t *out)
{
	if (!json_is_integer(of_value(v)) || json_integer_value(of_value(v)) < 0)
		return false;
	*out = (uint64_t)json_integer_value(of_value(v));
	return true;
}

bool xvt_json_bool(const struct xvt_json_value *v, bool *out)
{
	if (!json_is_boolean(of_value(v)))
		return false;
	*out = json_is_true(of_value(v));
	return true;
}

size_t xvt_json_count(const struct xvt_json_value *array)
{
	return json_array_size(of_value(array));
}

const struct xvt_json_value *xvt_json_at(const struct xvt_json_value *array, size_t i)
{
	return (const struct xvt_json_value *)json_array_get(of_value(array), i);
}

/* Takes a reference. libjansson counts references also in values that are const to a reader. */
static json_t *shared(const struct xvt_json_value *v)
{
	return json_incref((json_t *)(uintptr_t)v);
}

void xvt_json_add_value(struct xvt_json *to, const char *key, const struct xvt_json_value *v)
{
	attach(to, key, shared(v));
}

void xvt_json_add_members(struct xvt_json *to, const struct xvt_json_value *object)
{
	json_t *from = (json_t *)(uintptr_t)object, *value;
	const char *key;

	json_object_foreach(from, key, value) attach(to, key, json_incref(value));
}
