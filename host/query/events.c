// SPDX-License-Identifier: GPL-2.0
/*
 * events.c - tables of events: each scan reads the trace, with the choices of its conditions. The
 * table "events" has all of them; those of one name have their fields as columns.
 */
#include "query/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/out.h"
#include "base/vec.h"
#include "export/once.h"

enum {
	TS,
	BOUND,
	VM,
	RING,
	ON_CPU,
	TASK_PID,
	TASK,
	XFLAGS,
	SYSTEM,
	FIXED,
	NAME = FIXED, /* of "events" alone, as the next one */
	TEXT,
};

/* No format of Linux has fields of these names; one that has gets "arg_" before it. */
static const struct column fixed[] = {
	[TS] = { "ts", COLUMN_INTEGER, NULL },
	[BOUND] = { "bound_ns", COLUMN_INTEGER, NULL },
	[VM] = { "vm", COLUMN_TEXT, NULL },
	[RING] = { "ring", COLUMN_INTEGER, NULL },
	[ON_CPU] = { "on_cpu", COLUMN_INTEGER, NULL },
	[TASK_PID] = { "task_pid", COLUMN_INTEGER, NULL },
	[TASK] = { "task", COLUMN_TEXT, NULL },
	[XFLAGS] = { "xflags", COLUMN_INTEGER, NULL },
	[SYSTEM] = { "system", COLUMN_TEXT, NULL },
	[NAME] = { "name", COLUMN_TEXT, NULL },
	[TEXT] = { "text", COLUMN_TEXT, NULL },
};

/* Both records of one event are made right after each other, with interrupts off. */
#define TWICE_NS 1000000u

/* The fields of a type by the numbers of the columns behind the fixed ones. */
struct map {
	bool known;
	const struct xvtrace_field **fields;
};

struct event_scan {
	struct scan scan; /* first member */
	struct table *t;
	struct xvtrace_reader *reader;
	const struct xvtrace_event *ev;
	struct xvt_once *once; /* NULL: none is there twice */
	uint64_t from_ns, to_ns, last_ns;
	bool none; /* no event can be wanted */
	/* The choice that the reader was made for; another beginning with the same only seeks. */
	uint64_t used;
	struct condition *chosen; /* all but those of times */
	size_t chosen_count, chosen_room;
	struct map *maps; /* by number of the type */
	size_t map_room;
	const struct xvtrace_type *type; /* of the event before, and its map */
	const struct xvtrace_field **fields;
	struct text_room text;
	struct xvt_out *list; /* of the numbers of an array */
};

/* -- columns -------------------------------------------------------------------------- */

static bool is_number(const struct xvtrace_field *f)
{
	return f->kind == XVTRACE_UINT || f->kind == XVTRACE_INT;
}

static bool has_column(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->column_count; i++)
		if (strcasecmp(t->columns[i].name, name) == 0)
			return true;
	return false;
}

/* Names of columns are one if they differ in the case of letters alone. */
static char *new_name(const struct table *t, const char *field)
{
	char name[256];
	bool taken = false;

	for (size_t i = 0; i < FIXED; i++)
		taken |= strcasecmp(fixed[i].name, field) == 0;
	snprintf(name, sizeof(name), "%s%s", taken ? "arg_" : "", field);
	for (unsigned int n = 2; has_column(t, name); n++)
		snprintf(name, sizeof(name), "%s%s_%u", taken ? "arg_" : "", field, n);
	return strdup(name);
}

static int add_field(struct catalog *c, struct table *t, const char *field, enum column_type type)
{
	struct column *to;

	for (size_t i = FIXED; i < t->column_count; i++) {
		if (strcmp(t->columns[i].field, field) != 0)
			continue;
		if (t->columns[i].type != type)
			t->columns[i].type = COLUMN_ANY;
		return 0;
	}
	if (t->column_count == COLUMNS_MAX) {
		c->left_out++;
		return 0;
	}
	to = &t->columns[t->column_count];
	to->name = new_name(t, field);
	if (!to->name)
		return -ENOMEM;
	to->type = type;
	to->field = field;
	t->column_count++;
	return 0;
}

static int add_fields(struct catalog *c, struct table *t, const struct xvtrace_type *type)
{
	int err = 0;

	for (unsigned int i = 0; i < type->fields && !err; i++) {
		const struct xvtrace_field *f = xvtrace_field(type, i);

		err = add_field(c, t, f->name, is_number(f) ? COLUMN_INTEGER : COLUMN_TEXT);
	}
	return err;
}

static int describe(struct catalog *c, struct table *t)
{
	const size_t count = t->named ? FIXED : FIXED + 2;
	struct column *columns = calloc(COLUMNS_MAX, sizeof(*columns));
	int err = 0;

	if (!columns)
		return -ENOMEM;
	memcpy(columns, fixed, count * sizeof(*columns));
	t->columns = columns;
	t->column_count = count;
	if (t->builtin)
		err = add_field(c, t, t->builtin->field, COLUMN_TEXT);
	for (size_t i = 0; i < t->type_count && !err; i++)
		err = add_fields(c, t, t->types[i]);
	return err;
}

void events_free(struct table *t)
{
	for (size_t i = FIXED; t->named && i < t->column_count; i++)
		free((char *)t->columns[i].name);
	free(t->columns);
}

/* -- planning ------------------------------------------------------------------------- */

/* Whether a condition spares the reader, or SQLite, events. Values that are not constant would have
 * the trace read again for each of them, but for times, which are found by the index. */
static void take(const struct table *t, struct ask *a, struct plan *p)
{
	const bool same = a->op == CONDITION_EQ;
	const unsigned int c = a->column;

	if (c == TS) {
		a->taken = true;
		p->rows /= same ? 1e5 : 8;
		p->cost /= same ? 1e5 : 8;
	} else if (!a->constant) {
		return;
	} else if (same && (c == VM || c == RING || c == ON_CPU || c == TASK_PID)) {
		a->taken = true;
		p->rows /= 4;
		p->cost /= 2;
	} else if (c >= FIXED && (t->named || (same && c == NAME))) {
		a->taken = true;
		p->rows /= same ? 8 : 2;
		p->cost /= 1.2;
	}
}

static void plan(struct catalog *c, const struct table *t, struct plan *p)
{
	p->rows = c->events / (t->named ? 8 : 1);
	p->cost = c->events * (t->named ? 1.5 : 3);
	for (size_t i = 0; i < p->count; i++)
		take(t, &p->asks[i], p);
	p->rows = p->rows < 1 ? 1 : p->rows;
	p->cost += 5000;
}

/* -- the reader ----------------------------------------------------------------------- */

bool events_stopped(const struct catalog *c)
{
	return c->options.stop && *c->options.stop;
}

static bool watch(void *arg, uint64_t ns)
{
	(void)arg;
	(void)ns;
	return false;
}

int events_reader(const struct catalog *c, unsigned int flags, struct xvtrace_reader **reader)
{
	int err = xvtrace_reader_new(reader, c->trace);

	if (!err && c->options.stop)
		err = xvtrace_reader_watch(*reader, c->options.stop, watch, NULL);
	return err ? err : xvtrace_reader_flags(*reader, c->options.flags | flags);
}

int events_ahead(struct catalog *c, const void *of, struct xvtrace_reader *reader)
{
	if (!c->options.background.slots || c->ahead)
		return 0;
	c->ahead = of;
	return xvtrace_reader_ahead(reader, &c->options.background);
}

void events_alone(struct catalog *c, const void *of)
{
	if (c->ahead == of)
		c->ahead = NULL;
}

/* Choose events of the table: each spelling of its name. */
static int choose_names(struct event_scan *s)
{
	const struct table *t = s->t;
	char glob[512];
	int err = 0;

	if (t->builtin) {
		snprintf(glob, sizeof(glob), "xvt:%s", t->builtin->name);
		err = xvtrace_reader_event(s->reader, glob);
	}
	for (size_t i = 0; i < t->type_count && !err; i++) {
		if (i && strcmp(t->types[i]->name, t->types[i - 1]->name) == 0)
			continue;
		snprintf(glob, sizeof(glob), "*:%s", t->types[i]->name);
		err = xvtrace_reader_event(s->reader, glob);
	}
	return err;
}

/* The condition's text with a zero byte. Returns false for one that no name is. */
static bool take_name(const struct condition *by, char name[512])
{
	if (by->value.kind != XVT_QUERY_TEXT || by->value.len >= 512)
		return false;
	memcpy(name, by->value.text, by->value.len);
	name[by->value.len] = '\0';
	return true;
}

/* Of "events": one name, if no letter of it means something in a glob. */
static int choose_name(struct event_scan *s, const struct condition *by)
{
	char name[512], glob[520];

	if (s->t->named || !take_name(by, name) || !name[0] || strpbrk(name, "*?[]\\!:"))
		return 0;
	snprintf(glob, sizeof(glob), "*:%s", name);
	return xvtrace_reader_event(s->reader, glob);
}

/* Machines of that name, or nearly: SQLite compares again. */
static int choose_machine(struct event_scan *s, const struct condition *by)
{
	char name[512];
	int err = take_name(by, name) ? xvtrace_reader_machine(s->reader, name) : -ENOENT;

	s->none |= err == -ENOENT;
	return err == -ENOENT ? 0 : err;
}

static int choose_ring(struct event_scan *s, uint64_t number)
{
	const struct xvtrace_ring *ring = NULL;
	int err;

	if (number < UINT32_MAX)
		ring = xvtrace_ring(s->t->catalog->trace, (unsigned int)number);
	if (!ring) {
		s->none = true;
		return 0;
	}
	err = xvtrace_reader_machine(s->reader, ring->machine->name);
	return err ? err : xvtrace_reader_cpu(s->reader, ring->cpu);
}

/* Two choices of one sort would widen each other, so only the first one of each is made. */
static int choose(struct event_scan *s)
{
	bool machine = false, cpu = false, pid = false, name = false;
	int err = choose_names(s);

	for (size_t i = 0; i < s->chosen_count && !err; i++) {
		const struct condition *by = &s->chosen[i];
		const bool number = by->value.kind == XVT_QUERY_INTEGER && by->value.i >= 0;
		const uint64_t n = (uint64_t)by->value.i;

		if (by->op != CONDITION_EQ)
			continue;
		if (by->column == RING && number && !machine && !cpu) {
			machine = cpu = true;
			err = choose_ring(s, n);
		} else if (by->column == VM && !machine) {
			machine = true;
			err = choose_machine(s, by);
		} else if (by->column == ON_CPU && number && n <= UINT32_MAX && !cpu) {
			cpu = true;
			err = xvtrace_reader_cpu(s->reader, (unsigned int)n);
		} else if (by->column == TASK_PID && number && n <= INT32_MAX && !pid) {
			pid = true;
			err = xvtrace_reader_pid(s->reader, (int)n);
		} else if (by->column == NAME && !name) {
			name = true;
			err = choose_name(s, by);
		}
	}
	return err;
}

static void reset(struct event_scan *s)
{
	xvtrace_reader_free(s->reader);
	events_alone(s->t->catalog, s);
	s->reader = NULL;
	s->type = NULL;
	for (size_t i = 0; i < s->map_room; i++)
		free(s->maps[i].fields);
	free(s->maps);
	s->maps = NULL;
	s->map_room = 0;
	for (size_t i = 0; i < s->chosen_count; i++)
		free((char *)s->chosen[i].value.text);
	s->chosen_count = 0;
}

static int new_reader(struct event_scan *s)
{
	struct catalog *c = s->t->catalog;
	int err = events_reader(c, s->used >> BOUND & 1 ? XVTRACE_BOUND : 0, &s->reader);

	if (!err && !s->from_ns && s->to_ns == UINT64_MAX)
		err = events_ahead(c, s, s->reader);
	return err ? err : choose(s);
}

/* -- the conditions ------------------------------------------------------------------- */

static void take_time(struct event_scan *s, const struct condition *by)
{
	const uint64_t ns = by->value.i < 0 ? 0 : (uint64_t)by->value.i;

	if (by->value.kind != XVT_QUERY_INTEGER)
		return;
	if (by->op != CONDITION_LE && by->op != CONDITION_LT)
		s->from_ns = s->from_ns > ns ? s->from_ns : ns;
	if (by->op == CONDITION_GE || by->op == CONDITION_GT)
		return;
	s->none |= by->value.i < 0;
	s->to_ns = s->to_ns < ns ? s->to_ns : ns;
}

/* A copy that outlives the statement's values. */
static int add_chosen(struct event_scan *s, const struct condition *by)
{
	struct condition *to;

	if (xvt_grow(&s->chosen, &s->chosen_room, s->chosen_count + 1, sizeof(*to)))
		return -ENOMEM;
	to = &s->chosen[s->chosen_count];
	*to = *by;
	to->value.text = NULL;
	if (by->value.kind == XVT_QUERY_TEXT) {
		to->value.text = strndup(by->value.text, by->value.len);
		if (!to->value.text)
			return -ENOMEM;
	}
	s->chosen_count++;
	return 0;
}

static bool is_same(const struct condition *a, const struct condition *b)
{
	return a->column == b->column && a->op == b->op && a->value.kind == b->value.kind &&
	       a->value.i == b->value.i && a->value.len == b->value.len &&
	       !memcmp(a->value.text ? a->value.text : "", b->value.text ? b->value.text : "",
		       a->value.len);
}

/* Whether the reader of the scan before reads what this one wants, but for the time. */
static bool reads_the_same(const struct event_scan *s, const struct condition *conditions,
			   size_t count, uint64_t used)
{
	size_t n = 0;

	if (!s->reader || s->used != used)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (conditions[i].column == TS)
			continue;
		if (n == s->chosen_count || !is_same(&s->chosen[n], &conditions[i]))
			return false;
		n++;
	}
	return n == s->chosen_count;
}

static int begin_once(struct event_scan *s)
{
	xvt_once_free(s->once);
	s->once = NULL;
	return s->t->twice ? xvt_once_new(&s->once, s->t->catalog->trace) : 0;
}

static int begin(struct scan *scan, const struct condition *conditions, size_t count, uint64_t used)
{
	struct event_scan *s = (struct event_scan *)scan;
	const bool again = reads_the_same(s, conditions, count, used);
	uint64_t from_ns;
	int err = begin_once(s);

	s->none = false;
	s->from_ns = s->last_ns = 0;
	s->to_ns = UINT64_MAX;
	s->used = used;
	if (!again)
		reset(s);
	for (size_t i = 0; i < count && !err; i++) {
		s->none |= conditions[i].value.kind == XVT_QUERY_NULL;
		if (conditions[i].column == TS)
			take_time(s, &conditions[i]);
		else if (!again)
			err = add_chosen(s, &conditions[i]);
	}
	s->none |= s->from_ns > s->to_ns;
	if (!err && !s->none && !again)
		err = new_reader(s);
	if (err || s->none)
		return err;
	/* The first record of an event that is there twice tells that the second one is that. */
	from_ns = !s->once ? s->from_ns : s->from_ns > TWICE_NS ? s->from_ns - TWICE_NS : 0;
	return from_ns || again ? xvtrace_reader_seek(s->reader, from_ns) : 0;
}

/* -- events --------------------------------------------------------------------------- */

/* Find the fields of a type that has not been seen. */
static int learn(struct event_scan *s, const struct xvtrace_type *type)
{
	const struct table *t = s->t;
	struct map *m;

	if (type->number >= s->map_room &&
	    xvt_grow_zeroed(&s->maps, &s->map_room, type->number + 1u, sizeof(*s->maps)))
		return -ENOMEM;
	m = &s->maps[type->number];
	if (!m->known) {
		m->fields = calloc(t->column_count, sizeof(struct xvtrace_field *));
		if (!m->fields)
			return -ENOMEM;
		for (size_t i = FIXED; t->named && i < t->column_count; i++)
			m->fields[i] = xvtrace_field_named(type, t->columns[i].field);
		m->known = true;
	}
	s->type = type;
	s->fields = m->fields;
	return 0;
}

static void set_text(struct event_scan *s, struct cell *cell, const char *text, size_t len)
{
	if (!text || text_clean(&text, &len, &s->text))
		return;
	cell->kind = XVT_QUERY_TEXT;
	cell->text = text;
	cell->len = len;
}

static void set_uint(struct cell *cell, uint64_t value)
{
	cell->kind = XVT_QUERY_INTEGER;
	cell->i = (int64_t)value;
}

/* An array as JSON has it. One beyond the room of an event's text ends in "...". */
static void set_list(struct event_scan *s, struct cell *cell, const struct xvtrace_value *v)
{
	struct xvt_out *o = s->list;

	if (!o) {
		o = s->list = calloc(1, sizeof(*o));
		if (!o)
			return;
		o->fd = -1;
	}
	o->used = 0;
	xvt_out_char(o, '[');
	for (size_t i = 0; i < v->count && o->used < XVT_OUT_ROOM / 2; i++) {
		if (i)
			xvt_out_char(o, ',');
		if (v->field->kind == XVTRACE_INTS)
			xvt_out_i64(o, (int64_t)xvtrace_element(v, i));
		else
			xvt_out_u64(o, xvtrace_element(v, i));
	}
	xvt_out_str(o, o->used < XVT_OUT_ROOM / 2 ? "]" : "...");
	set_text(s, cell, o->buf, o->used);
}

static void field_cell(struct event_scan *s, unsigned int column, struct cell *cell)
{
	const struct xvtrace_field *f = s->fields[column];
	struct xvtrace_value v;

	if (!f)
		return;
	xvtrace_value(s->ev, f, &v);
	if (is_number(f))
		set_uint(cell, v.u);
	else if (f->kind == XVTRACE_STRING)
		set_text(s, cell, (const char *)v.data, v.count);
	else
		set_list(s, cell, &v);
}

static void text_cell(struct event_scan *s, struct cell *cell)
{
	size_t len;
	const char *text = xvtrace_event_text(s->ev, 0, &len);

	set_text(s, cell, text, len);
}

static void set_str(struct event_scan *s, struct cell *cell, const char *text)
{
	set_text(s, cell, text, text ? strlen(text) : 0);
}

static void get_cell(struct scan *scan, unsigned int column, struct cell *cell)
{
	struct event_scan *s = (struct event_scan *)scan;
	const struct xvtrace_event *ev = s->ev;

	cell->kind = XVT_QUERY_NULL;
	if (column >= FIXED && s->t->named)
		field_cell(s, column, cell);
	else if (column == TS)
		set_uint(cell, ev->ns);
	else if (column == BOUND && ev->bound_ns != XVTRACE_NO_BOUND)
		set_uint(cell, ev->bound_ns);
	else if (column == VM)
		set_str(s, cell, ev->machine ? ev->machine->name : NULL);
	else if (column == RING && ev->ring)
		set_uint(cell, ev->ring->number);
	else if (column == ON_CPU && ev->ring)
		set_uint(cell, ev->ring->cpu);
	else if (column == TASK_PID && ev->pid >= 0)
		set_uint(cell, (uint64_t)ev->pid);
	else if (column == TASK)
		set_str(s, cell, ev->pid >= 0 ? xvtrace_event_comm(ev) : NULL);
	else if (column == XFLAGS)
		set_uint(cell, ev->flags);
	else if (column == SYSTEM)
		set_str(s, cell, ev->type->kernel_system);
	else if (column == NAME)
		set_str(s, cell, ev->type->name);
	else if (column == TEXT)
		text_cell(s, cell);
}

/* False only where it surely does not hold. */
static bool may_hold(const struct condition *by, const struct cell *cell)
{
	const int64_t l = cell->i, r = by->value.i;

	if (cell->kind == XVT_QUERY_NULL)
		return false;
	if (cell->kind != by->value.kind)
		return true;
	if (cell->kind == XVT_QUERY_TEXT)
		return by->op != CONDITION_EQ || (cell->len == by->value.len &&
						  !memcmp(cell->text, by->value.text, cell->len));
	return by->op == CONDITION_EQ	? l == r
	       : by->op == CONDITION_GT ? l > r
	       : by->op == CONDITION_GE ? l >= r
	       : by->op == CONDITION_LT ? l < r
					: l <= r;
}

/* Returns 1, 0 or -errno. */
static inline int is_wanted(struct event_scan *s)
{
	const struct xvtrace_event *ev = s->ev;
	struct cell cell;
	int got;

	if (s->once) {
		got = xvt_once_again(s->once, ev);
		if (got)
			return got < 0 ? got : 0;
	}
	if (ev->kind != XVTRACE_EVENT || ev->ns < s->from_ns)
		return 0;
	if (ev->type != s->type) {
		got = learn(s, ev->type);
		if (got)
			return got;
	}
	for (size_t i = 0; i < s->chosen_count; i++) {
		if (s->chosen[i].column < FIXED)
			continue;
		get_cell(&s->scan, s->chosen[i].column, &cell);
		if (!may_hold(&s->chosen[i], &cell))
			return 0;
	}
	return 1;
}

static int next(struct scan *scan)
{
	struct event_scan *s = (struct event_scan *)scan;
	int got = 0;

	if (s->none)
		return 0;
	while (!got) {
		got = xvtrace_next(s->reader, &s->ev);
		if (got <= 0)
			return got || !events_stopped(s->t->catalog) ? got : -ETIMEDOUT;
		if (s->ev->ns > s->to_ns)
			return 0;
		got = is_wanted(s);
	}
	if (got > 0) {
		s->t->catalog->unsorted += s->ev->ns < s->last_ns;
		s->last_ns = s->ev->ns;
	}
	return got;
}

static int open_scan(struct catalog *c, struct table *t, struct scan **scan)
{
	struct event_scan *s = calloc(1, sizeof(*s));

	(void)c;
	if (!s)
		return -ENOMEM;
	s->t = t;
	*scan = &s->scan;
	return 0;
}

static void close_scan(struct scan *scan)
{
	struct event_scan *s = (struct event_scan *)scan;

	reset(s);
	xvt_once_free(s->once);
	free(s->chosen);
	free(s->text.v);
	free(s->list);
	free(s);
}

const struct table_kind table_of_events = {
	.describe = describe,
	.plan = plan,
	.open = open_scan,
	.begin = begin,
	.next = next,
	.cell = get_cell,
	.close = close_scan,
};
