/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parts.h - what the files of query/ share: tables, of which SQLite's virtual tables are a thin
 * skin (sqlite.c). A table is one of events, which a scan reads from the trace each time, or one of
 * facts, whose rows are made once, by the first use, and kept.
 */
#ifndef XVT_QUERY_PARTS_H
#define XVT_QUERY_PARTS_H

#include "query/query.h"

#define COLUMNS_MAX 1900u /* SQLite's own limit is 2,000 */

/* A value in a table: NULL, INTEGER or TEXT. */
struct cell {
	enum xvt_query_kind kind;
	int64_t i;
	const char *text; /* UTF-8, without a zero byte; it holds until the scan goes on */
	size_t len;
};

enum column_type {
	COLUMN_ANY,
	COLUMN_INTEGER,
	COLUMN_TEXT,
};

struct column {
	const char *name;
	enum column_type type;
	const char *field; /* of events: the field; NULL: a fixed column */
};

enum condition_op {
	CONDITION_EQ,
	CONDITION_GT,
	CONDITION_GE,
	CONDITION_LT,
	CONDITION_LE,
};

/* A scan may use a condition to give fewer rows. SQLite checks it again, so that a scan may also
 * ignore it. */
struct condition {
	unsigned int column;
	enum condition_op op;
	struct cell value; /* INTEGER, TEXT of bytes that are compared as such, or NULL */
};

/* A condition that SQLite could give, at the time of planning. */
struct ask {
	unsigned int column;
	enum condition_op op;
	bool constant; /* its value is one for the whole statement */
	bool taken;
};

struct plan {
	struct ask *asks;
	size_t count;
	bool by_time; /* wanted: rows by ascending time; given: they are */
	double rows, cost;
};

struct catalog;
struct table;

/* The first member of each scan. */
struct scan {
	const struct table *table;
};

struct table_kind {
	/* Set the table's columns. Returns 0 or -ENOMEM. */
	int (*describe)(struct catalog *c, struct table *t);
	void (*plan)(struct catalog *c, const struct table *t, struct plan *p);
	int (*open)(struct catalog *c, struct table *t, struct scan **scan);
	/* From the first row on, by the conditions that were taken. used: a bit for each column
	 * that is read, the highest one for all from 63 on. Returns 0 or -errno. */
	int (*begin)(struct scan *scan, const struct condition *conditions, size_t count,
		     uint64_t used);
	/* Returns 1; 0: there are no more rows; -ETIMEDOUT: it was stopped; or -errno. */
	int (*next)(struct scan *scan);
	void (*cell)(struct scan *scan, unsigned int column, struct cell *cell);
	void (*close)(struct scan *scan);
};

struct memory;
struct xvt_analyze_options;

/* Events that need no format in the trace: their name and only field. */
struct builtin {
	const char *name;
	const char *field;
};

struct table {
	const struct table_kind *kind;
	const char *name;
	char *own_name; /* `name`, where it was made */
	struct catalog *catalog;
	struct column *columns; /* NULL: not described yet */
	size_t column_count;
	bool named;		       /* of events of one name, whose fields are columns */
	const struct builtin *builtin; /* such events may be there; or NULL */
	/* A part of catalog.types. */
	const struct xvtrace_type *const *types;
	size_t type_count;
	bool twice; /* some may be recorded by ftrace and by the module's probe */
	/* Of facts. */
	const struct facts *facts;
	struct memory *memory; /* NULL: not made yet */
};

struct catalog {
	struct xvtrace *trace;
	const struct xvtrace_info *info;
	struct xvt_query_options options;
	struct xvtrace_reader *reader;	   /* for descriptions: it gives no events */
	const struct xvtrace_type **types; /* by name */
	size_t type_count, type_room;
	struct table *tables;
	size_t table_count;
	double events;	       /* about so many */
	const void *ahead;     /* the scan or pass whose reader has options.background, or NULL */
	uint64_t memory_bytes; /* of the tables so far */
	uint64_t unsorted, left_out;
};

/* catalog.c */
int catalog_new(struct catalog **c, struct xvtrace *trace, const struct xvt_query_options *o);
void catalog_free(struct catalog *c);
/* Set the columns of a table that has none. */
static inline int table_describe(struct table *t)
{
	return t->columns ? 0 : t->kind->describe(t->catalog, t);
}

/* events.c */
void events_free(struct table *t);
extern const struct table_kind table_of_events;
/* A reader with the catalog's flags and these. */
int events_reader(const struct catalog *c, unsigned int flags, struct xvtrace_reader **reader);
/* For a reader of all of the trace: have events fetched ahead, if no other reader of the catalog
 * has that. `of` must call events_alone() when the reader was freed. */
int events_ahead(struct catalog *c, const void *of, struct xvtrace_reader *reader);
void events_alone(struct catalog *c, const void *of);
/* Whether the statement shall end: what a reader gives 0 for, too. */
bool events_stopped(const struct catalog *c);

/* -- rows that are kept --------------------------------------------------------------- */

/* The function that makes the rows of a table of facts. */
struct facts {
	const char *name;
	const struct column *columns;
	size_t column_count;
	double rows; /* about so many; below 0: that part of the events */
	int (*make)(struct catalog *c, struct memory *m);
};

#define INTEGER_COLUMN(name_)                           \
	{                                               \
		.name = (name_), .type = COLUMN_INTEGER \
	}
#define TEXT_COLUMN(name_)                           \
	{                                            \
		.name = (name_), .type = COLUMN_TEXT \
	}
#define FACTS(name_, columns_, rows_, make_)                                             \
	{                                                                                \
		.name = (name_), .columns = (columns_),                                  \
		.column_count = sizeof(columns_) / sizeof((columns_)[0]), .rows = rows_, \
		.make = make_                                                            \
	}

extern const struct table_kind table_of_facts;
/* The last one has no name. */
extern const struct facts facts_of_trace[], facts_of_guests[], facts_of_figures[];

/* derived.c: one pass of analyze/ over all events. xvt_analyze_options.arg is the pass. */
struct pass {
	struct catalog *catalog;
	struct memory *memory;
	struct xvtrace_reader *reader;
	struct xvt_once *once;
	struct xvt_analyze *analyze;
	bool counts; /* the rings' counters are wanted, and all of the trace is checked for them */
	bool waits;  /* of spans: these are wanted; else the others */
};

/* Returns 0 or -errno; pass_end() in both cases. */
int pass_run(struct pass *p, const struct xvt_analyze_options *o);
void pass_end(struct pass *p);
/* Columns that several tables have. */
void pass_add_ring(struct memory *m, const struct xvtrace_ring *ring); /* vm, ring, on_cpu */
void pass_add_bound(struct memory *m, uint64_t ns);		       /* NULL: XVTRACE_NO_BOUND */

void facts_free(struct table *t);
/* memory.c: rows, column after column. A failure is kept: memory_end() returns it. */
void memory_int(struct memory *m, int64_t value);
void memory_uint(struct memory *m, uint64_t value); /* NULL, where it is beyond 63 bits */
void memory_text(struct memory *m, const char *text, size_t len); /* any bytes */
void memory_str(struct memory *m, const char *text);		  /* NULL is NULL */
void memory_null(struct memory *m);
/* Returns 0, -ENOMEM, or -ETIMEDOUT. */
int memory_error(const struct memory *m);

/* text.c: make UTF-8 of any bytes: each one that is none, and each zero byte, becomes U+FFFD. The
 * result is `text` itself, or in *room, which grows. Returns 0 or -ENOMEM. */
struct text_room {
	char *v;
	size_t room;
};
int text_clean(const char **text, size_t *len, struct text_room *to);

#endif /* XVT_QUERY_PARTS_H */
