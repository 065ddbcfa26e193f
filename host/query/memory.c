// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c - tables of facts: rows that are made by the first use and kept. A column is sorted when
 * a scan first compares it, so that a join looks its rows up, and does not read them all.
 */
#define _GNU_SOURCE
#include "query/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define TEXT_BLOCK (64u << 10)

struct block {
	struct block *next;
	char bytes[];
};

struct memory {
	struct catalog *catalog;
	size_t columns;
	struct cell *cells; /* row after row */
	size_t count, room;
	uint32_t **orders; /* of a column: row numbers by its values; NULL: not sorted yet */
	struct block *blocks;
	size_t block_left;
	char *block_at;
	struct text_room text;
	int err;
};

/* -- making rows ---------------------------------------------------------------------- */

/* Counts memory that the tables take. */
static bool is_too_much(struct memory *m, uint64_t bytes)
{
	struct catalog *c = m->catalog;

	c->memory_bytes += bytes;
	if (!m->err && c->options.memory_bytes && c->memory_bytes > c->options.memory_bytes)
		m->err = -ENOMEM;
	if (!m->err && events_stopped(c))
		m->err = -ETIMEDOUT;
	return m->err;
}

static struct cell *add(struct memory *m, enum xvt_query_kind kind)
{
	const size_t room = m->room;

	if (m->err)
		return NULL;
	if (m->count == room) {
		if (xvt_grow(&m->cells, &m->room, m->count + 1, sizeof(*m->cells)))
			m->err = -ENOMEM;
		if (is_too_much(m, (m->room - room) * sizeof(*m->cells)))
			return NULL;
	}
	m->cells[m->count] = (struct cell){ .kind = kind };
	return &m->cells[m->count++];
}

void memory_int(struct memory *m, int64_t value)
{
	struct cell *c = add(m, XVT_QUERY_INTEGER);

	if (c)
		c->i = value;
}

void memory_uint(struct memory *m, uint64_t value)
{
	if (value > INT64_MAX)
		memory_null(m);
	else
		memory_int(m, (int64_t)value);
}

void memory_null(struct memory *m)
{
	add(m, XVT_QUERY_NULL);
}

static char *take_block(struct memory *m, size_t len)
{
	const size_t size = len > TEXT_BLOCK ? len : TEXT_BLOCK;
	struct block *b;
	char *at;

	if (len > m->block_left) {
		b = malloc(sizeof(*b) + size);
		if (!b)
			m->err = -ENOMEM;
		if (is_too_much(m, size)) {
			free(b);
			return NULL;
		}
		b->next = m->blocks;
		m->blocks = b;
		m->block_at = b->bytes;
		m->block_left = size;
	}
	at = m->block_at;
	m->block_at += len;
	m->block_left -= len;
	return at;
}

void memory_text(struct memory *m, const char *text, size_t len)
{
	struct cell *c = add(m, XVT_QUERY_TEXT);
	char *at;

	if (!c)
		return;
	if (text_clean(&text, &len, &m->text)) {
		m->err = -ENOMEM;
		return;
	}
	at = take_block(m, len + 1);
	if (!at)
		return;
	memcpy(at, text, len);
	c->text = at;
	c->len = len;
}

void memory_str(struct memory *m, const char *text)
{
	if (text)
		memory_text(m, text, strlen(text));
	else
		memory_null(m);
}

int memory_error(const struct memory *m)
{
	return m->err;
}

static void memory_free(struct memory *m)
{
	struct block *b;

	for (size_t i = 0; m->orders && i < m->columns; i++)
		free(m->orders[i]);
	while ((b = m->blocks)) {
		m->blocks = b->next;
		free(b);
	}
	free(m->orders);
	free(m->cells);
	free(m->text.v);
	free(m);
}

void facts_free(struct table *t)
{
	if (t->memory)
		memory_free(t->memory);
	t->memory = NULL;
}

static int make(struct catalog *c, struct table *t)
{
	struct memory *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->catalog = c;
	m->columns = t->facts->column_count;
	m->orders = calloc(m->columns, sizeof(*m->orders));
	err = m->orders ? t->facts->make(c, m) : -ENOMEM;
	if (!err)
		err = m->err;
	/* A reader that was stopped gives no error. */
	if (!err && events_stopped(c))
		err = -ETIMEDOUT;
	if (err)
		memory_free(m);
	else
		t->memory = m;
	return err;
}

/* -- looking rows up ------------------------------------------------------------------ */

/* As SQLite orders values: NULL, numbers, texts by their bytes. */
static int compare(const struct cell *a, const struct cell *b)
{
	int by;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == XVT_QUERY_INTEGER)
		return a->i < b->i ? -1 : a->i > b->i;
	if (a->kind == XVT_QUERY_NULL)
		return 0;
	by = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
	return by ? by : a->len < b->len ? -1 : a->len > b->len;
}

struct sorted {
	const struct memory *m;
	unsigned int column;
};

static const struct cell *cell_at(const struct memory *m, size_t row, unsigned int column)
{
	return &m->cells[row * m->columns + column];
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct sorted *s = arg;
	const uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;
	const int by = compare(cell_at(s->m, l, s->column), cell_at(s->m, r, s->column));

	return by ? by : l < r ? -1 : l > r;
}

static size_t rows_of(const struct memory *m)
{
	return m->count / m->columns;
}

static const uint32_t *order_of(struct memory *m, unsigned int column)
{
	struct sorted s = { .m = m, .column = column };
	const size_t rows = rows_of(m);
	uint32_t *order = m->orders[column];

	if (order || rows >= UINT32_MAX)
		return order;
	if (is_too_much(m, rows * sizeof(*order)))
		return NULL;
	order = malloc((rows + 1) * sizeof(*order));
	if (!order)
		return NULL;
	for (size_t i = 0; i < rows; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, rows, sizeof(*order), compare_rows, &s);
	m->orders[column] = order;
	return order;
}

/* The number of rows, in the column's order, that are before the value; with `behind`, and that
 * have it. */
static size_t count_before(const struct memory *m, const uint32_t *order, unsigned int column,
			   const struct cell *value, bool behind)
{
	size_t low = 0, high = rows_of(m);

	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		const int by = compare(cell_at(m, order[mid], column), value);

		if (by < 0 || (behind && by == 0))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct facts_scan {
	struct scan scan; /* first member */
	struct table *table;
	const uint32_t *order; /* NULL: all rows as they are */
	size_t at, end;
};

static int describe(struct catalog *c, struct table *t)
{
	(void)c;
	t->columns = (struct column *)t->facts->columns;
	t->column_count = t->facts->column_count;
	return 0;
}

/* Rows that have one value of a column are looked up, or those in a range of the first one. */
static void plan(struct catalog *c, const struct table *t, struct plan *p)
{
	double rows = t->memory		   ? (double)rows_of(t->memory)
		      : t->facts->rows < 0 ? -t->facts->rows * c->events
					   : t->facts->rows;
	bool narrowed = false;

	p->by_time = false;
	for (size_t i = 0; i < p->count && !narrowed; i++) {
		if (p->asks[i].op != CONDITION_EQ)
			continue;
		p->asks[i].taken = narrowed = true;
		rows /= rows > 16 ? 16 : 1;
	}
	for (size_t i = 0; i < p->count && !narrowed; i++) {
		if (p->asks[i].op == CONDITION_EQ || p->asks[i].column != 0)
			continue;
		p->asks[i].taken = true;
		rows /= 4;
	}
	p->rows = rows < 1 ? 1 : rows;
	p->cost = p->rows + 10;
}

static int open_scan(struct catalog *c, struct table *t, struct scan **scan)
{
	struct facts_scan *s = calloc(1, sizeof(*s));

	(void)c;
	if (!s)
		return -ENOMEM;
	s->table = t;
	*scan = &s->scan;
	return 0;
}

static void narrow(struct facts_scan *s, const struct condition *by)
{
	const struct memory *m = s->table->memory;
	const size_t before = count_before(m, s->order, by->column, &by->value, false);
	const size_t to = count_before(m, s->order, by->column, &by->value, true);

	if (by->op == CONDITION_EQ || by->op == CONDITION_GE || by->op == CONDITION_GT)
		s->at = s->at > before ? s->at : before;
	if (by->op == CONDITION_EQ || by->op == CONDITION_LE || by->op == CONDITION_LT)
		s->end = s->end < to ? s->end : to;
}

static int begin(struct scan *scan, const struct condition *conditions, size_t count, uint64_t used)
{
	struct facts_scan *s = (struct facts_scan *)scan;
	struct table *t = s->table;
	int err = t->memory ? 0 : make(t->catalog, t);

	(void)used;
	if (err)
		return err;
	s->at = 0;
	s->end = rows_of(t->memory);
	s->order = count ? order_of(t->memory, conditions[0].column) : NULL;
	for (size_t i = 0; i < count && s->order; i++)
		narrow(s, &conditions[i]);
	/* Before the first one, as next() begins. */
	s->at--;
	return 0;
}

static int next(struct scan *scan)
{
	struct facts_scan *s = (struct facts_scan *)scan;

	s->at++;
	return s->at < s->end;
}

static void get_cell(struct scan *scan, unsigned int column, struct cell *cell)
{
	const struct facts_scan *s = (struct facts_scan *)scan;

	*cell = *cell_at(s->table->memory, s->order ? s->order[s->at] : s->at, column);
}

static void close_scan(struct scan *scan)
{
	free(scan);
}

const struct table_kind table_of_facts = {
	.describe = describe,
	.plan = plan,
	.open = open_scan,
	.begin = begin,
	.next = next,
	.cell = get_cell,
	.close = close_scan,
};
