// SPDX-License-Identifier: GPL-2.0
/*
 * sqlite.c - the only file that includes SQLite, which the first use loads: the tables of a trace
 * as virtual tables, functions, and what a statement may do. The header of extensions is used, in
 * which all functions are in one struct, so that the same code is in a program and in an extension
 * that SQLite loads.
 */
#include "query/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(XVT_SQLITE_SONAME)

int xvt_query_load(struct xvt_error *why)
{
	return xvt_fail(why, -ENOPKG,
			"this xvtrace was built without SQLite; install libsqlite3-dev and "
			"build it again");
}

int xvt_query_new(struct xvt_query **q, struct xvtrace *trace,
		  const struct xvt_query_options *options, struct xvtrace_error *error)
{
	struct xvt_error why;
	int err;

	(void)trace;
	(void)options;
	*q = NULL;
	err = xvt_query_load(&why);
	snprintf(error->text, sizeof(error->text), "%s", why.text);
	return err;
}

int xvt_query_run(struct xvt_query *q, const char *sql, const struct xvt_query_rows *rows,
		  struct xvtrace_error *error)
{
	(void)q;
	(void)sql;
	(void)rows;
	(void)error;
	return -ENOPKG;
}

unsigned int xvt_query_saved(const struct xvt_query *q)
{
	(void)q;
	return 0;
}

uint64_t xvt_query_unsorted(const struct xvt_query *q)
{
	(void)q;
	return 0;
}

uint64_t xvt_query_left_out(const struct xvt_query *q)
{
	(void)q;
	return 0;
}

void xvt_query_free(struct xvt_query *q)
{
	(void)q;
}

#else

#include <dlfcn.h>
#include <sqlite3ext.h>

#include "base/library.h"
#include "base/out.h"
#include "base/vec.h"

SQLITE_EXTENSION_INIT1

#define VERSION_LEAST	3038000 /* which added sqlite3_vtab_rhs_value() */
#define CONDITIONS_MAX	64
#define STEPS		10000 /* of SQLite's machine between two looks at options.stop */
#define VALUE_BYTES_MAX (16 << 20)
#define SQL_BYTES_MAX	(1 << 20)
#define PATTERN_MAX	1000 /* bytes of a LIKE or GLOB, whose cost is that times the text's */

struct xvt_query {
	sqlite3 *db;
	struct catalog *catalog;
	char denied[160]; /* what the last statement may not do; empty: nothing of it */
	unsigned int saved;
};

/* -- virtual tables ------------------------------------------------------------------- */

struct vtab {
	sqlite3_vtab base;
	struct table *table;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct scan *scan;
	sqlite3_int64 row;
	bool eof;
};

static struct table *table_of(sqlite3_vtab_cursor *b)
{
	return ((struct vtab *)b->pVtab)->table;
}

static int fail(sqlite3_vtab *v, int err)
{
	if (err == -ENOMEM)
		return SQLITE_NOMEM;
	if (err == -ETIMEDOUT)
		return SQLITE_INTERRUPT;
	sqlite3_free(v->zErrMsg);
	v->zErrMsg = sqlite3_mprintf("the trace cannot be read: %s", strerror(-err));
	return SQLITE_ERROR;
}

static int declare(sqlite3 *db, const struct table *t)
{
	static const char *const types[] = {
		[COLUMN_ANY] = "", [COLUMN_INTEGER] = " INTEGER", [COLUMN_TEXT] = " TEXT"
	};
	sqlite3_str *s = sqlite3_str_new(db);
	char *sql;
	int rc;

	for (size_t i = 0; i < t->column_count; i++)
		sqlite3_str_appendf(s, "%s\"%w\"%s", i ? ", " : "CREATE TABLE x(",
				    t->columns[i].name, types[t->columns[i].type]);
	sqlite3_str_appendall(s, ")");
	sql = sqlite3_str_finish(s);
	rc = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

static int vtab_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
			sqlite3_vtab **out, char **error)
{
	struct table *t = arg;
	struct vtab *v;
	int rc;

	(void)argc;
	(void)argv;
	(void)error;
	if (table_describe(t))
		return SQLITE_NOMEM;
	rc = declare(db, t);
	if (rc != SQLITE_OK)
		return rc;
	v = sqlite3_malloc64(sizeof(*v));
	if (!v)
		return SQLITE_NOMEM;
	*v = (struct vtab){ .table = t };
	*out = &v->base;
	return SQLITE_OK;
}

static int vtab_disconnect(sqlite3_vtab *v)
{
	sqlite3_free(v);
	return SQLITE_OK;
}

/* Returns false where a scan cannot use the constraint as SQLite means it. */
static bool read_ask(const struct table *t, sqlite3_index_info *ix, int i, struct ask *a)
{
	static const struct {
		unsigned char theirs;
		enum condition_op ours;
	} ops[] = {
		{ SQLITE_INDEX_CONSTRAINT_EQ, CONDITION_EQ },
		{ SQLITE_INDEX_CONSTRAINT_GT, CONDITION_GT },
		{ SQLITE_INDEX_CONSTRAINT_GE, CONDITION_GE },
		{ SQLITE_INDEX_CONSTRAINT_LT, CONDITION_LT },
		{ SQLITE_INDEX_CONSTRAINT_LE, CONDITION_LE },
	};
	const int column = ix->aConstraint[i].iColumn;
	sqlite3_value *value;
	size_t op = 0;

	while (op < sizeof(ops) / sizeof(ops[0]) && ops[op].theirs != ix->aConstraint[i].op)
		op++;
	if (op == sizeof(ops) / sizeof(ops[0]) || !ix->aConstraint[i].usable || column < 0 ||
	    (size_t)column >= t->column_count)
		return false;
	*a = (struct ask){ .column = (unsigned int)column, .op = ops[op].ours };
	a->constant = sqlite3_vtab_rhs_value(ix, i, &value) == SQLITE_OK;
	if (t->columns[column].type == COLUMN_INTEGER)
		return true;
	return a->op == CONDITION_EQ && strcmp(sqlite3_vtab_collation(ix, i), "BINARY") == 0;
}

/* In idxStr: the columns that are used, then column and operator of each condition. */
static int finish_plan(sqlite3_index_info *ix, const struct plan *p, const int *constraints)
{
	sqlite3_str *s = sqlite3_str_new(NULL);
	int args = 0;

	sqlite3_str_appendf(s, "%llx", ix->colUsed);
	for (size_t i = 0; i < p->count; i++) {
		if (!p->asks[i].taken)
			continue;
		ix->aConstraintUsage[constraints[i]].argvIndex = ++args;
		sqlite3_str_appendf(s, ";%u,%d", p->asks[i].column, p->asks[i].op);
	}
	ix->idxStr = sqlite3_str_finish(s);
	ix->needToFreeIdxStr = 1;
	ix->estimatedRows = (sqlite3_int64)p->rows;
	ix->estimatedCost = p->cost;
	ix->orderByConsumed = p->by_time;
	return ix->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int vtab_best_index(sqlite3_vtab *v, sqlite3_index_info *ix)
{
	struct table *t = ((struct vtab *)v)->table;
	struct ask asks[CONDITIONS_MAX];
	int constraints[CONDITIONS_MAX];
	struct plan p = { .asks = asks };

	for (int i = 0; i < ix->nConstraint && p.count < CONDITIONS_MAX; i++) {
		if (t->catalog->options.scan || !read_ask(t, ix, i, &asks[p.count]))
			continue;
		constraints[p.count++] = i;
	}
	p.by_time = ix->nOrderBy == 1 && ix->aOrderBy[0].iColumn == 0 && !ix->aOrderBy[0].desc;
	t->kind->plan(t->catalog, t, &p);
	return finish_plan(ix, &p, constraints);
}

static int vtab_open(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	struct table *t = ((struct vtab *)v)->table;
	struct cursor *c = sqlite3_malloc64(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct cursor){ .eof = true };
	if (t->kind->open(t->catalog, t, &c->scan)) {
		sqlite3_free(c);
		return SQLITE_NOMEM;
	}
	*out = &c->base;
	return SQLITE_OK;
}

static int vtab_close(sqlite3_vtab_cursor *b)
{
	struct cursor *c = (struct cursor *)b;

	table_of(b)->kind->close(c->scan);
	sqlite3_free(c);
	return SQLITE_OK;
}

static int vtab_next(sqlite3_vtab_cursor *b)
{
	struct cursor *c = (struct cursor *)b;
	const int got = table_of(b)->kind->next(c->scan);

	c->eof = got != 1;
	c->row++;
	return got < 0 ? fail(b->pVtab, got) : SQLITE_OK;
}

/* A number with a fraction, as a whole one: rows between the two are SQLite's to leave out. */
static bool round_real(double real, struct condition *to)
{
	if (!(real > -9e18 && real < 9e18))
		return false;
	to->value.kind = XVT_QUERY_INTEGER;
	to->value.i = (int64_t)real;
	if (to->op == CONDITION_EQ)
		return (double)to->value.i == real;
	to->op = to->op == CONDITION_GT || to->op == CONDITION_GE ? CONDITION_GE : CONDITION_LE;
	return true;
}

/* Returns false for a value that SQLite compares in another way than a scan does. */
static bool read_value(const struct table *t, sqlite3_value *value, struct condition *to)
{
	const enum column_type type = t->columns[to->column].type;

	to->value = (struct cell){ .kind = XVT_QUERY_NULL };
	switch (sqlite3_value_type(value)) {
	case SQLITE_NULL:
		return true;
	case SQLITE_INTEGER:
		to->value.kind = XVT_QUERY_INTEGER;
		to->value.i = sqlite3_value_int64(value);
		return type != COLUMN_TEXT;
	case SQLITE_FLOAT:
		return type == COLUMN_INTEGER && round_real(sqlite3_value_double(value), to);
	case SQLITE_TEXT:
		to->value.kind = XVT_QUERY_TEXT;
		to->value.text = (const char *)sqlite3_value_text(value);
		to->value.len = (size_t)sqlite3_value_bytes(value);
		return type != COLUMN_INTEGER && to->value.text;
	default:
		return false;
	}
}

static int vtab_filter(sqlite3_vtab_cursor *b, int number, const char *plan, int argc,
		       sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)b;
	struct table *t = table_of(b);
	struct condition conditions[CONDITIONS_MAX];
	char *at;
	const uint64_t used = strtoull(plan, &at, 16);
	size_t count = 0;
	int err;

	(void)number;
	for (int i = 0; i < argc && *at == ';'; i++) {
		struct condition *to = &conditions[count];

		to->column = (unsigned int)strtoul(at + 1, &at, 10);
		to->op = (enum condition_op)strtoul(at + 1, &at, 10);
		count += read_value(t, argv[i], to);
	}
	c->row = 0;
	err = t->kind->begin(c->scan, conditions, count, used);
	return err ? fail(b->pVtab, err) : vtab_next(b);
}

static int vtab_eof(sqlite3_vtab_cursor *b)
{
	return ((struct cursor *)b)->eof;
}

static int vtab_column(sqlite3_vtab_cursor *b, sqlite3_context *x, int column)
{
	struct cell cell;

	table_of(b)->kind->cell(((struct cursor *)b)->scan, (unsigned int)column, &cell);
	if (cell.kind == XVT_QUERY_INTEGER)
		sqlite3_result_int64(x, cell.i);
	else if (cell.kind == XVT_QUERY_TEXT)
		sqlite3_result_text64(x, cell.text, cell.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	else
		sqlite3_result_null(x);
	return SQLITE_OK;
}

static int vtab_rowid(sqlite3_vtab_cursor *b, sqlite3_int64 *row)
{
	*row = ((struct cursor *)b)->row;
	return SQLITE_OK;
}

/* Without xCreate: the module is the table. */
static const sqlite3_module module = {
	.xConnect = vtab_connect,
	.xDisconnect = vtab_disconnect,
	.xBestIndex = vtab_best_index,
	.xOpen = vtab_open,
	.xClose = vtab_close,
	.xFilter = vtab_filter,
	.xNext = vtab_next,
	.xEof = vtab_eof,
	.xColumn = vtab_column,
	.xRowid = vtab_rowid,
};

static int make_tables(sqlite3 *db, struct catalog *c)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < c->table_count && rc == SQLITE_OK; i++)
		rc = sqlite3_create_module_v2(db, c->tables[i].name, &module, &c->tables[i], NULL);
	return rc;
}

/* -- functions ------------------------------------------------------------------------ */

static uint64_t apart(sqlite3_int64 a, sqlite3_int64 b)
{
	return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

/* order(ts1, bound1, ts2, bound2): -1, 1: the first one is before, behind the second one. 0: the
 * bounds leave that open, or there are none. */
static void sql_order(sqlite3_context *x, int argc, sqlite3_value **argv)
{
	const sqlite3_int64 a = sqlite3_value_int64(argv[0]), b = sqlite3_value_int64(argv[2]);
	const sqlite3_int64 a_bound = sqlite3_value_int64(argv[1]);
	const sqlite3_int64 b_bound = sqlite3_value_int64(argv[3]);

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL ||
	    sqlite3_value_type(argv[2]) == SQLITE_NULL)
		return;
	if (sqlite3_value_type(argv[1]) == SQLITE_NULL ||
	    sqlite3_value_type(argv[3]) == SQLITE_NULL || a_bound < 0 || b_bound < 0 ||
	    apart(a, b) <= (uint64_t)a_bound + (uint64_t)b_bound)
		sqlite3_result_int(x, 0);
	else
		sqlite3_result_int(x, a < b ? -1 : 1);
}

struct number {
	bool real;
	int64_t i;
	double d;
};

/* Aggregates of numbers: NULL counts as no value, as in SQLite's own. */
static bool read_number(sqlite3_value *value, struct number *n)
{
	const int type = sqlite3_value_numeric_type(value);

	n->real = type == SQLITE_FLOAT;
	n->i = sqlite3_value_int64(value);
	n->d = sqlite3_value_double(value);
	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

struct values {
	struct number *v;
	sqlite3_uint64 count, room;
	double percent;
	bool failed;
};

static void pctl_step(sqlite3_context *x, int argc, sqlite3_value **argv)
{
	struct values *s = sqlite3_aggregate_context(x, sizeof(*s));
	struct number n;

	(void)argc;
	if (!s || s->failed)
		return;
	s->percent = sqlite3_value_double(argv[1]);
	if (sqlite3_value_numeric_type(argv[1]) == SQLITE_TEXT ||
	    !(s->percent >= 0 && s->percent <= 100)) {
		s->failed = true;
		sqlite3_result_error(x, "pctl(X, P): P is a percentage, from 0 to 100", -1);
		return;
	}
	if (!read_number(argv[0], &n))
		return;
	if (s->count == s->room) {
		const sqlite3_uint64 room = s->room ? 2 * s->room : 64;
		struct number *v = sqlite3_realloc64(s->v, room * sizeof(*v));

		if (!v) {
			s->failed = true;
			sqlite3_result_error_nomem(x);
			return;
		}
		s->v = v;
		s->room = room;
	}
	s->v[s->count++] = n;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct number *l = a, *r = b;

	if (l->real || r->real)
		return l->d < r->d ? -1 : l->d > r->d;
	return l->i < r->i ? -1 : l->i > r->i;
}

/* The value at or below which are so many percent of them, the nearest one that there is. */
static void pctl_end(sqlite3_context *x)
{
	struct values *s = sqlite3_aggregate_context(x, 0);
	sqlite3_uint64 at;
	double rank;

	if (!s)
		return;
	if (s->count && !s->failed) {
		qsort(s->v, s->count, sizeof(*s->v), compare_numbers);
		rank = s->percent / 100 * (double)s->count;
		at = (sqlite3_uint64)rank;
		at -= (double)at == rank && at;
		at = at < s->count ? at : s->count - 1;
		if (s->v[at].real)
			sqlite3_result_double(x, s->v[at].d);
		else
			sqlite3_result_int64(x, s->v[at].i);
	}
	sqlite3_free(s->v);
	s->v = NULL;
}

struct buckets {
	uint64_t negative;
	uint64_t n[65]; /* of 0, and of 2^k up to 2^(k + 1) */
};

static void hist_step(sqlite3_context *x, int argc, sqlite3_value **argv)
{
	struct buckets *s = sqlite3_aggregate_context(x, sizeof(*s));
	struct number n;

	(void)argc;
	if (!s || !read_number(argv[0], &n))
		return;
	if (n.real)
		n.i = n.d >= 9e18 ? INT64_MAX : n.d < 0 ? -1 : (int64_t)n.d;
	if (n.i < 0)
		s->negative++;
	else
		s->n[n.i ? 64 - __builtin_clzll((unsigned long long)n.i) : 0]++;
}

/* As JSON: [{"from":1024,"n":3}, ...], without those that are empty. */
static void hist_end(sqlite3_context *x)
{
	struct buckets *s = sqlite3_aggregate_context(x, 0);
	sqlite3_str *text;
	const char *comma = "";

	if (!s)
		return;
	text = sqlite3_str_new(sqlite3_context_db_handle(x));
	sqlite3_str_appendall(text, "[");
	if (s->negative) {
		sqlite3_str_appendf(text, "{\"below\":0,\"n\":%llu}", s->negative);
		comma = ",";
	}
	for (int i = 0; i < 65; i++) {
		if (!s->n[i])
			continue;
		sqlite3_str_appendf(text, "%s{\"from\":%llu,\"n\":%llu}", comma,
				    i ? 1ull << (i - 1) : 0ull, s->n[i]);
		comma = ",";
	}
	sqlite3_str_appendall(text, "]");
	sqlite3_result_text(x, sqlite3_str_finish(text), -1, sqlite3_free);
}

static int make_functions(sqlite3 *db)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int rc = sqlite3_create_function_v2(db, "order", 4, flags, NULL, sql_order, NULL, NULL,
					    NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(db, "pctl", 2, flags, NULL, NULL, pctl_step,
						pctl_end, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(db, "hist", 1, flags, NULL, NULL, hist_step,
						hist_end, NULL);
	return rc;
}

/* -- an extension that SQLite loads ----------------------------------------------------- */

struct extension {
	struct xvtrace *trace; /* NULL: none is open yet */
	struct catalog *catalog;
};

static void close_extension(void *arg)
{
	struct extension *e = arg;

	catalog_free(e->catalog);
	xvtrace_close(e->trace);
	sqlite3_free(e);
}

/* Opens the traces and makes their tables. Returns 0 or -errno; *text: why. */
static int open_traces(struct extension *e, sqlite3 *db, const char *const *paths, size_t count,
		       struct xvtrace_error *error)
{
	struct xvt_query_options o = { .flags = 0 };
	int err = xvtrace_open_several(&e->trace, paths, count, XVTRACE_PART, error);

	if (err)
		return err;
	o.flags = xvtrace_info(e->trace)->ended ? XVTRACE_RECLOCK : 0;
	err = catalog_new(&e->catalog, e->trace, &o);
	if (err) {
		catalog_free(e->catalog);
		xvtrace_close(e->trace);
		*e = (struct extension){ .trace = NULL };
	} else if (make_tables(db, e->catalog) != SQLITE_OK) {
		err = -ENOMEM;
	}
	snprintf(error->text, sizeof(error->text), "%s", strerror(-err));
	return err;
}

static void fail_open(sqlite3_context *x, const char *what, const char *why)
{
	char *text = sqlite3_mprintf("xvtrace_open: %s: %s", what, why);

	sqlite3_result_error(x, text ? text : "out of memory", -1);
	sqlite3_free(text);
}

/* xvtrace_open(PATH, ...): the tables of these traces are there from then on. */
static void sql_open(sqlite3_context *x, int argc, sqlite3_value **argv)
{
	struct extension *e = sqlite3_user_data(x);
	const char **paths = calloc((size_t)argc + 1, sizeof(*paths));
	struct xvtrace_error error = { "" };
	bool named = paths && argc;

	for (int i = 0; paths && i < argc; i++) {
		paths[i] = (const char *)sqlite3_value_text(argv[i]);
		named &= paths[i] != NULL;
	}
	if (e->trace)
		sqlite3_result_error(x, "xvtrace_open: this connection has a trace already", -1);
	else if (!named)
		sqlite3_result_error(x, "xvtrace_open: give the paths of traces", -1);
	else if (open_traces(e, sqlite3_context_db_handle(x), paths, (size_t)argc, &error))
		fail_open(x, argc == 1 ? paths[0] : "the traces", error.text);
	else
		sqlite3_result_int64(x, (sqlite3_int64)e->catalog->table_count);
	free(paths);
}

int sqlite3_xvtracesqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *functions);

int sqlite3_xvtracesqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *functions)
{
	struct extension *e;
	int rc;

	SQLITE_EXTENSION_INIT2(functions);
	if (sqlite3_libversion_number() < VERSION_LEAST) {
		*error = sqlite3_mprintf("SQLite is older than 3.38");
		return SQLITE_ERROR;
	}
	e = sqlite3_malloc64(sizeof(*e));
	if (!e)
		return SQLITE_NOMEM;
	*e = (struct extension){ .trace = NULL };
	/* The argument is freed by SQLite, also when this fails. No view or trigger of a database
	 * can call it. */
	rc = sqlite3_create_function_v2(db, "xvtrace_open", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, e,
					sql_open, NULL, NULL, close_extension);
	return rc == SQLITE_OK ? make_functions(db) : rc;
}

/* -- what a statement may do ---------------------------------------------------------- */

static int deny(struct xvt_query *q, const char *what, const char *name)
{
	char clean[100];

	xvt_text_clean(clean, sizeof(clean), name ? name : "", name ? strlen(name) : 0);
	snprintf(q->denied, sizeof(q->denied), "%s%s", what, clean);
	return SQLITE_DENY;
}

/* Pragmas that only tell. */
static bool is_harmless(const char *pragma, const char *value)
{
	static const char *const tells[] = { "table_info",    "table_xinfo",	"table_list",
					     "function_list", "pragma_list",	"module_list",
					     "index_list",    "index_info",	"collation_list",
					     "database_list", "compile_options" };

	(void)value;
	for (size_t i = 0; i < sizeof(tells) / sizeof(tells[0]); i++)
		if (sqlite3_stricmp(pragma, tells[i]) == 0)
			return true;
	return false;
}

static int authorize(void *arg, int action, const char *first, const char *second,
		     const char *database, const char *trigger)
{
	struct xvt_query *q = arg;

	(void)database;
	(void)trigger;
	switch (action) {
	case SQLITE_ATTACH:
		return deny(q, "ATTACH, or VACUUM", "");
	case SQLITE_DETACH:
		return deny(q, "DETACH", "");
	case SQLITE_PRAGMA:
		return is_harmless(first, second) ? SQLITE_OK : deny(q, "PRAGMA ", first);
	case SQLITE_CREATE_VTABLE:
		return deny(q, "a virtual table of the module ", second);
	case SQLITE_FUNCTION:
		if (sqlite3_stricmp(second, "load_extension") == 0)
			return deny(q, "load_extension()", "");
		return SQLITE_OK;
	default:
		return SQLITE_OK;
	}
}

static int progress(void *arg)
{
	struct xvt_query *q = arg;

	return events_stopped(q->catalog);
}

static void set_limits(struct xvt_query *q)
{
	sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
	sqlite3_limit(q->db, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES_MAX);
	sqlite3_limit(q->db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_MAX);
	sqlite3_limit(q->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(q->db, SQLITE_LIMIT_WORKER_THREADS, 0);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, (int *)NULL);
	sqlite3_progress_handler(q->db, STEPS, progress, q);
	sqlite3_set_authorizer(q->db, authorize, q);
}

/* -- a connection --------------------------------------------------------------------- */

#define POINTER(name)	__typeof__(((sqlite3_api_routines *)NULL)->name) name
static struct {
	POINTER(open_v2);
	POINTER(close);
	POINTER(auto_extension);
	POINTER(cancel_auto_extension);
} lib;

static const struct xvt_symbol symbols[] = {
	{ "sqlite3_open_v2", &lib.open_v2 },
	{ "sqlite3_close", &lib.close },
	{ "sqlite3_auto_extension", &lib.auto_extension },
	{ "sqlite3_cancel_auto_extension", &lib.cancel_auto_extension },
	{ NULL, NULL },
};

static int take_functions(sqlite3 *db, char **error, const sqlite3_api_routines *functions)
{
	(void)db;
	(void)error;
	SQLITE_EXTENSION_INIT2(functions);
	return SQLITE_OK;
}

/* The functions come as they come to an extension: when a connection is made. */
static void find_functions(void)
{
	sqlite3 *db = NULL;

	(lib.auto_extension)((void (*)(void))take_functions);
	(lib.open_v2)(":memory:", &db, SQLITE_OPEN_READWRITE, NULL);
	(lib.cancel_auto_extension)((void (*)(void))take_functions);
	(lib.close)(db);
}

int xvt_query_load(struct xvt_error *why)
{
	const char *missing = "";
	unsigned char random;
	int err = sqlite3_api ? 0
			      : xvt_library_load(XVT_TEXT_OF(XVT_SQLITE_SONAME), symbols, &missing);

	if (err == -ENOPKG)
		xvt_fail(why, 0, "SQLite cannot be loaded: %s; install libsqlite3-0", dlerror());
	else if (err)
		xvt_fail(why, 0, "%s has no %s() and is too old", XVT_TEXT_OF(XVT_SQLITE_SONAME),
			 missing);
	if (err)
		return err;
	if (!sqlite3_api)
		find_functions();
	if (!sqlite3_api || sqlite3_libversion_number() < VERSION_LEAST)
		return xvt_fail(why, -ENOSYS, "SQLite is too old; 3.38 and newer are not");
	/* The first use opens a file, which a sandbox would not allow. */
	sqlite3_randomness(1, &random);
	return 0;
}

static int open_database(struct xvt_query *q, const struct xvt_query_options *o)
{
	const char *path = o->save ? o->save : ":memory:";
	int rc = sqlite3_open_v2(path, &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(q->db,
				  "PRAGMA temp_store = MEMORY; PRAGMA locking_mode = EXCLUSIVE;"
				  "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;",
				  NULL, NULL, NULL);
	return rc;
}

/* An error of SQLite as -errno, with its text, in one printable line. */
static int explain(struct xvt_query *q, int rc, struct xvtrace_error *error)
{
	const char *text = q->db ? sqlite3_errmsg(q->db) : "out of memory";

	if (events_stopped(q->catalog) && (rc & 0xff) == SQLITE_INTERRUPT)
		return -ETIMEDOUT;
	if ((rc & 0xff) == SQLITE_NOMEM)
		return -ENOMEM;
	if (q->denied[0]) {
		snprintf(error->text, sizeof(error->text), "it may not use %s", q->denied);
		return -EPERM;
	}
	xvt_text_clean(error->text, sizeof(error->text), text, strlen(text));
	return (rc & 0xff) == SQLITE_ERROR || rc == SQLITE_TOOBIG ||
			       (rc & 0xff) == SQLITE_CONSTRAINT || rc == SQLITE_MISMATCH ||
			       rc == SQLITE_RANGE
		       ? -EINVAL
		       : -EIO;
}

int xvt_query_new(struct xvt_query **out, struct xvtrace *trace,
		  const struct xvt_query_options *options, struct xvtrace_error *error)
{
	struct xvt_query *q = calloc(1, sizeof(*q));
	int err, rc;

	*out = q;
	error->text[0] = '\0';
	if (!q)
		return -ENOMEM;
	err = catalog_new(&q->catalog, trace, options);
	if (err)
		return err;
	sqlite3_hard_heap_limit64((sqlite3_int64)options->memory_bytes);
	rc = open_database(q, options);
	if (rc == SQLITE_OK)
		rc = make_tables(q->db, q->catalog);
	if (rc == SQLITE_OK)
		rc = make_functions(q->db);
	if (rc != SQLITE_OK)
		return explain(q, rc, error);
	set_limits(q);
	return 0;
}

void xvt_query_free(struct xvt_query *q)
{
	if (!q)
		return;
	if (q->db)
		sqlite3_close(q->db);
	catalog_free(q->catalog);
	free(q);
}

unsigned int xvt_query_saved(const struct xvt_query *q)
{
	return q->saved;
}

uint64_t xvt_query_unsorted(const struct xvt_query *q)
{
	return q->catalog->unsorted;
}

uint64_t xvt_query_left_out(const struct xvt_query *q)
{
	return q->catalog->left_out;
}

/* -- statements ----------------------------------------------------------------------- */

static void read_row(sqlite3_stmt *stmt, struct xvt_query_value *values, int count)
{
	static const enum xvt_query_kind kinds[] = { [SQLITE_INTEGER] = XVT_QUERY_INTEGER,
						     [SQLITE_FLOAT] = XVT_QUERY_REAL,
						     [SQLITE_TEXT] = XVT_QUERY_TEXT,
						     [SQLITE_BLOB] = XVT_QUERY_BLOB,
						     [SQLITE_NULL] = XVT_QUERY_NULL };

	for (int i = 0; i < count; i++) {
		struct xvt_query_value *v = &values[i];

		*v = (struct xvt_query_value){ .kind = kinds[sqlite3_column_type(stmt, i)] };
		if (v->kind == XVT_QUERY_INTEGER)
			v->i = sqlite3_column_int64(stmt, i);
		else if (v->kind == XVT_QUERY_REAL)
			v->real = sqlite3_column_double(stmt, i);
		else if (v->kind != XVT_QUERY_NULL)
			v->bytes = v->kind == XVT_QUERY_TEXT
					   ? (const char *)sqlite3_column_text(stmt, i)
					   : sqlite3_column_blob(stmt, i);
		v->len = v->bytes ? (size_t)sqlite3_column_bytes(stmt, i) : 0;
	}
}

static int begin_rows(sqlite3_stmt *stmt, int count, const struct xvt_query_rows *rows)
{
	const char **names = calloc((size_t)count, sizeof(*names));
	int err = 0;

	for (int i = 0; names && i < count && !err; i++) {
		names[i] = sqlite3_column_name(stmt, i);
		err = names[i] ? 0 : -ENOMEM;
	}
	if (!err)
		err = names ? rows->begin(rows->arg, names, (size_t)count) : -ENOMEM;
	free(names);
	return err;
}

/* Returns 0, -errno of `rows`, or a positive error of SQLite. */
static int give_rows(sqlite3_stmt *stmt, const struct xvt_query_rows *rows)
{
	const int count = sqlite3_column_count(stmt);
	struct xvt_query_value *values = calloc((size_t)count + 1, sizeof(*values));
	int err = values ? 0 : -ENOMEM, rc = SQLITE_OK;

	if (!err && count)
		err = begin_rows(stmt, count, rows);
	while (!err && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		read_row(stmt, values, count);
		err = rows->row(rows->arg, values, (size_t)count);
	}
	free(values);
	if (err || rc != SQLITE_DONE)
		return err ? err : rc;
	return count ? rows->end(rows->arg) : 0;
}

/* Keep the rows of a statement as a table of the database: result, result2, ... */
static int keep_rows(struct xvt_query *q, sqlite3_stmt *stmt)
{
	char name[32] = "result", *sql;
	int rc;

	if (q->saved)
		snprintf(name, sizeof(name), "result%u", q->saved + 1);
	sql = sqlite3_mprintf("CREATE TABLE main.%s AS %s", name, sqlite3_sql(stmt));
	rc = sql ? sqlite3_exec(q->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	q->saved += rc == SQLITE_OK;
	return rc;
}

int xvt_query_run(struct xvt_query *q, const char *sql, const struct xvt_query_rows *rows,
		  struct xvtrace_error *error)
{
	const bool keeps = q->catalog->options.save != NULL;
	sqlite3_stmt *stmt;
	int got = 0;

	error->text[0] = '\0';
	while (*sql && got == 0) {
		q->denied[0] = '\0';
		got = sqlite3_prepare_v2(q->db, sql, -1, &stmt, &sql);
		if (!stmt)
			continue;
		if (keeps && sqlite3_column_count(stmt) && sqlite3_stmt_readonly(stmt) &&
		    !sqlite3_stmt_isexplain(stmt))
			got = keep_rows(q, stmt);
		else
			got = give_rows(stmt, rows);
		if (got > 0)
			got = explain(q, got, error);
		sqlite3_finalize(stmt);
	}
	return got > 0 ? explain(q, got, error) : got;
}

#endif
