// SPDX-License-Identifier: GPL-2.0
/*
 * catalog.c - which tables a trace has: those of facts, "events", and one for each name of an
 * event. Names of tables are one if they differ in the case of letters alone; so a table can have
 * events of several systems and machines. An event whose name is that of another table has "event_"
 * before it.
 */
#include "query/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/vec.h"

#define EVENT_BYTES 24.0 /* of a usual event in a file */

/* Records that programs and the module write without a format. */
static const struct builtin builtins[] = {
	{ "panic", "text" },
	{ "text", "text" },
	{ "u64", "values" },
};

#define BUILTINS (sizeof(builtins) / sizeof(builtins[0]))

static int compare_types(const void *a, const void *b)
{
	const struct xvtrace_type *l = *(const struct xvtrace_type *const *)a;
	const struct xvtrace_type *r = *(const struct xvtrace_type *const *)b;
	int by = strcasecmp(l->name, r->name);

	if (!by)
		by = strcmp(l->name, r->name);
	return by ? by : l->number < r->number ? -1 : l->number > r->number;
}

static int find_types(struct catalog *c)
{
	int got = 0;

	for (unsigned int i = 0; i < c->info->machines && got >= 0; i++) {
		const struct xvtrace_type *type;
		size_t at = 0;

		while ((got = xvtrace_reader_type(c->reader, i, &at, &type)) > 0) {
			if (events_stopped(c))
				return -ETIMEDOUT;
			if (xvt_grow(&c->types, &c->type_room, c->type_count + 1, sizeof(type)))
				return -ENOMEM;
			c->types[c->type_count++] = type;
		}
	}
	if (c->type_count)
		qsort(c->types, c->type_count, sizeof(*c->types), compare_types);
	return got < 0 ? got : 0;
}

static struct table *add_table(struct catalog *c, const char *name, const struct table_kind *kind)
{
	struct table *t = &c->tables[c->table_count++];

	t->catalog = c;
	t->name = name;
	t->kind = kind;
	return t;
}

static void add_facts(struct catalog *c, const struct facts *facts)
{
	for (; facts->name; facts++)
		add_table(c, facts->name, &table_of_facts)->facts = facts;
}

/* Tables that are there whatever the trace has. */
static bool is_fixed(const struct catalog *c, size_t fixed, const char *name)
{
	for (size_t i = 0; i < fixed; i++)
		if (strcasecmp(c->tables[i].name, name) == 0)
			return true;
	/* Tables that SQLite has itself. */
	return strncasecmp(name, "sqlite_", 7) == 0 || strncasecmp(name, "pragma_", 7) == 0 ||
	       strcasecmp(name, "json_each") == 0 || strcasecmp(name, "json_tree") == 0;
}

static int name_table(struct catalog *c, struct table *t, size_t fixed, const char *name)
{
	char own[256];

	t->name = name;
	if (!is_fixed(c, fixed, name))
		return 0;
	snprintf(own, sizeof(own), "event_%s", name);
	t->own_name = strdup(own);
	t->name = t->own_name;
	return t->own_name ? 0 : -ENOMEM;
}

/* Whether some events of it can be there twice: by ftrace, and by the guest's module itself. */
static bool is_twice(const struct table *t)
{
	bool probed = false, traced = false;

	for (size_t i = 0; i < t->type_count; i++) {
		probed |= strcmp(t->types[i]->system, t->types[i]->kernel_system) != 0;
		traced |= strcmp(t->types[i]->system, "xvt") != 0;
	}
	return probed && traced;
}

static int add_events(struct catalog *c, struct table *all, size_t fixed)
{
	int err = 0;

	for (size_t i = 0; i < c->type_count && !err;) {
		struct table *t = add_table(c, NULL, &table_of_events);

		t->named = true;
		t->types = &c->types[i];
		while (i < c->type_count && strcasecmp(t->types[0]->name, c->types[i]->name) == 0)
			i++;
		t->type_count = (size_t)(&c->types[i] - t->types);
		t->twice = is_twice(t);
		all->twice |= t->twice;
		err = name_table(c, t, fixed, t->types[0]->name);
	}
	return err;
}

static void add_builtin(struct catalog *c, size_t fixed, const struct builtin *b)
{
	struct table *t = NULL;

	for (size_t i = fixed; i < c->table_count && !t; i++)
		if (strcasecmp(c->tables[i].name, b->name) == 0)
			t = &c->tables[i];
	if (!t)
		t = add_table(c, b->name, &table_of_events);
	t->builtin = b;
	t->named = true;
}

static size_t count_facts(const struct facts *facts)
{
	size_t n = 0;

	while (facts[n].name)
		n++;
	return n;
}

static int add_tables(struct catalog *c)
{
	const size_t most = 1 + count_facts(facts_of_trace) + count_facts(facts_of_guests) +
			    count_facts(facts_of_figures) + c->type_count + BUILTINS;
	struct table *all;
	size_t fixed;
	int err;

	c->tables = calloc(most, sizeof(*c->tables));
	if (!c->tables)
		return -ENOMEM;
	all = add_table(c, "events", &table_of_events);
	add_facts(c, facts_of_trace);
	add_facts(c, facts_of_guests);
	add_facts(c, facts_of_figures);
	fixed = c->table_count;
	err = add_events(c, all, fixed);
	for (size_t i = 0; i < BUILTINS && !err; i++)
		add_builtin(c, fixed, &builtins[i]);
	return err;
}

int catalog_new(struct catalog **out, struct xvtrace *trace, const struct xvt_query_options *o)
{
	struct catalog *c = calloc(1, sizeof(*c));
	int err;

	*out = c;
	if (!c)
		return -ENOMEM;
	c->trace = trace;
	c->info = xvtrace_info(trace);
	c->options = *o;
	c->events = 1000 + (double)c->info->size / EVENT_BYTES;
	err = xvtrace_reader_new(&c->reader, trace);
	if (!err)
		err = find_types(c);
	return err ? err : add_tables(c);
}

void catalog_free(struct catalog *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->table_count; i++) {
		if (c->tables[i].facts)
			facts_free(&c->tables[i]);
		else
			events_free(&c->tables[i]);
		free(c->tables[i].own_name);
	}
	free(c->tables);
	free(c->types);
	xvtrace_reader_free(c->reader);
	free(c);
}
