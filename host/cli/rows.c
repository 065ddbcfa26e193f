// SPDX-License-Identifier: GPL-2.0
/* rows.c - see rows.h. */
#include "cli/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"

/* A table's widths are those of so many rows or bytes, so that memory does not grow with rows. */
#define HELD_ROWS  1000u
#define HELD_BYTES (1u << 20)
#define WIDTH_MAX  60u

struct held {
	size_t from, len; /* in texts */
	bool right;
};

struct rows {
	struct xvt_out *out;
	enum xvt_rows_form form;
	size_t count; /* of columns */
	uint64_t rows, tables;
	/* TABLE: cells that wait for the widths, printable; the names first. */
	struct held *held;
	size_t held_count, held_room;
	char *texts;
	size_t text_len, text_room;
	size_t *widths;
	size_t width_room;
	bool flowing; /* the widths are known */
};

/* -- values ---------------------------------------------------------------------------- */

static void put_hex(struct xvt_out *o, const struct xvt_query_value *v)
{
	for (size_t i = 0; i < v->len; i++)
		xvt_out_hex(o, (uint8_t)v->bytes[i], 2);
}

static void put_real(struct xvt_out *o, double real)
{
	char text[40];

	snprintf(text, sizeof(text), "%.15g", real);
	xvt_out_str(o, text);
}

/* Texts are a guest's, so no form lets a terminal see what would act on it. */
static void put_json(struct xvt_out *o, const struct xvt_query_value *v)
{
	if (v->kind == XVT_QUERY_INTEGER) {
		xvt_out_i64(o, v->i);
	} else if (v->kind == XVT_QUERY_REAL && v->real - v->real == 0) {
		put_real(o, v->real);
	} else if (v->kind == XVT_QUERY_TEXT) {
		xvt_out_quoted(o, v->bytes, v->len);
	} else if (v->kind == XVT_QUERY_BLOB) {
		xvt_out_char(o, '"');
		put_hex(o, v);
		xvt_out_char(o, '"');
	} else {
		xvt_out_str(o, "null");
	}
}

static void put_csv_text(struct xvt_out *o, const char *text, size_t len)
{
	size_t plain = 0;

	xvt_out_char(o, '"');
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '"')
			continue;
		xvt_out_text(o, text + plain, i - plain + 1);
		plain = i;
	}
	xvt_out_text(o, text + plain, len - plain);
	xvt_out_char(o, '"');
}

static void put_csv(struct xvt_out *o, const struct xvt_query_value *v)
{
	if (v->kind == XVT_QUERY_INTEGER)
		xvt_out_i64(o, v->i);
	else if (v->kind == XVT_QUERY_REAL)
		put_real(o, v->real);
	else if (v->kind == XVT_QUERY_TEXT)
		put_csv_text(o, v->bytes, v->len);
	else if (v->kind == XVT_QUERY_BLOB)
		put_hex(o, v);
}

/* -- tables ---------------------------------------------------------------------------- */

/* Adds a cell's printable text to texts. */
static int hold_text(struct rows *r, const char *text, size_t len)
{
	size_t done = 0;

	while (done < len) {
		if (xvt_grow(&r->texts, &r->text_room, r->text_len + XVT_ESCAPE_MOST + 2 + len, 1))
			return -ENOMEM;
		done += xvt_text_clean(r->texts + r->text_len, r->text_room - r->text_len,
				       text + done, len - done);
		r->text_len += strlen(r->texts + r->text_len);
	}
	return 0;
}

static int hold(struct rows *r, const struct xvt_query_value *v)
{
	struct held *h;
	char number[40];
	int err = 0;

	if (xvt_grow(&r->held, &r->held_room, r->held_count + 1, sizeof(*h)))
		return -ENOMEM;
	h = &r->held[r->held_count++];
	h->from = r->text_len;
	h->right = v->kind == XVT_QUERY_INTEGER || v->kind == XVT_QUERY_REAL;
	if (v->kind == XVT_QUERY_INTEGER)
		snprintf(number, sizeof(number), "%" PRId64, v->i);
	else if (v->kind == XVT_QUERY_REAL)
		snprintf(number, sizeof(number), "%.15g", v->real);
	if (h->right)
		err = hold_text(r, number, strlen(number));
	else if (v->kind == XVT_QUERY_TEXT)
		err = hold_text(r, v->bytes, v->len);
	else if (v->kind == XVT_QUERY_NULL)
		err = hold_text(r, "-", 1);
	for (size_t i = 0; v->kind == XVT_QUERY_BLOB && i < v->len && !err; i++) {
		snprintf(number, sizeof(number), "%02x", (uint8_t)v->bytes[i]);
		err = hold_text(r, number, 2);
	}
	r->held[r->held_count - 1].len = r->text_len - h->from;
	return err;
}

/* Characters, of which each takes a column. */
static size_t width_of(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((uint8_t)text[i] & 0xc0) != 0x80;
	return n;
}

static void put_blanks(struct xvt_out *o, size_t n)
{
	for (; n; n--)
		xvt_out_char(o, ' ');
}

static void put_held(struct rows *r)
{
	struct xvt_out *o = r->out;

	for (size_t i = 0; i < r->held_count; i++) {
		const struct held *h = &r->held[i];
		const size_t column = i % r->count, width = width_of(r->texts + h->from, h->len);
		const size_t blanks = r->widths[column] > width ? r->widths[column] - width : 0;

		put_blanks(o, h->right ? blanks : 0);
		xvt_out_bytes(o, r->texts + h->from, h->len);
		if (column + 1 < r->count)
			put_blanks(o, (h->right ? 0 : blanks) + 2);
		else
			xvt_out_char(o, '\n');
	}
	r->held_count = r->text_len = 0;
}

/* Sets the widths by what is held. A column of numbers has its name on the right, too. */
static void flow(struct rows *r)
{
	for (size_t i = 0; i < r->held_count; i++) {
		const struct held *h = &r->held[i];
		size_t width = width_of(r->texts + h->from, h->len);

		if (i >= r->count && h->right)
			r->held[i % r->count].right = true;
		width = width < WIDTH_MAX ? width : WIDTH_MAX;
		if (r->widths[i % r->count] < width)
			r->widths[i % r->count] = width;
	}
	put_held(r);
	r->flowing = true;
}

static int begin_table(struct rows *r, const char *const *names)
{
	int err = 0;

	if (xvt_grow(&r->widths, &r->width_room, r->count, sizeof(*r->widths)))
		return -ENOMEM;
	memset(r->widths, 0, r->count * sizeof(*r->widths));
	r->flowing = false;
	r->held_count = r->text_len = 0;
	if (r->tables)
		xvt_out_char(r->out, '\n');
	for (size_t i = 0; i < r->count && !err; i++) {
		const struct xvt_query_value name = { .kind = XVT_QUERY_TEXT,
						      .bytes = names[i],
						      .len = strlen(names[i]) };

		err = hold(r, &name);
	}
	return err;
}

/* -- what a query calls ---------------------------------------------------------------- */

static int begin(void *arg, const char *const *names, size_t count)
{
	struct rows *r = arg;
	struct xvt_out *o = r->out;
	int err = 0;

	r->count = count;
	r->rows = 0;
	if (r->form == XVT_ROWS_TABLE)
		err = begin_table(r, names);
	if (r->form == XVT_ROWS_JSON)
		xvt_out_str(o, "{\"format\":\"xvtrace-query/1\",\"columns\":[");
	for (size_t i = 0; i < count && r->form != XVT_ROWS_TABLE; i++) {
		if (i)
			xvt_out_char(o, ',');
		if (r->form == XVT_ROWS_CSV)
			put_csv_text(o, names[i], strlen(names[i]));
		else
			xvt_out_quoted(o, names[i], strlen(names[i]));
	}
	if (r->form != XVT_ROWS_TABLE)
		xvt_out_str(o, r->form == XVT_ROWS_JSON ? "],\"rows\":[\n" : "\n");
	r->tables++;
	return err ? err : o->err;
}

static int row(void *arg, const struct xvt_query_value *values, size_t count)
{
	struct rows *r = arg;
	struct xvt_out *o = r->out;
	int err = 0;

	if (r->form == XVT_ROWS_JSON)
		xvt_out_str(o, r->rows ? ",\n[" : "[");
	for (size_t i = 0; i < count && !err; i++) {
		if (r->form != XVT_ROWS_TABLE && i)
			xvt_out_char(o, ',');
		if (r->form == XVT_ROWS_TABLE)
			err = hold(r, &values[i]);
		else if (r->form == XVT_ROWS_CSV)
			put_csv(o, &values[i]);
		else
			put_json(o, &values[i]);
	}
	if (r->form != XVT_ROWS_TABLE)
		xvt_out_str(o, r->form == XVT_ROWS_JSON ? "]" : "\n");
	r->rows++;
	if (err || r->form != XVT_ROWS_TABLE)
		return err ? err : o->err;
	if (r->flowing)
		put_held(r);
	else if (r->rows == HELD_ROWS || r->text_len > HELD_BYTES)
		flow(r);
	return o->err;
}

static int end(void *arg)
{
	struct rows *r = arg;

	if (r->form == XVT_ROWS_TABLE && !r->flowing)
		flow(r);
	if (r->form == XVT_ROWS_JSON)
		xvt_out_str(r->out, "\n]}\n");
	return r->out->err;
}

int xvt_rows_new(struct xvt_query_rows *rows, enum xvt_rows_form form, struct xvt_out *out)
{
	struct rows *r = calloc(1, sizeof(*r));

	*rows = (struct xvt_query_rows){ .begin = begin, .row = row, .end = end, .arg = r };
	if (!r)
		return -ENOMEM;
	r->form = form;
	r->out = out;
	return 0;
}

void xvt_rows_free(struct xvt_query_rows *rows)
{
	struct rows *r = rows->arg;

	if (!r)
		return;
	free(r->held);
	free(r->texts);
	free(r->widths);
	free(r);
	rows->arg = NULL;
}
