/* SPDX-License-Identifier: GPL-2.0 */
/*
 * query.h - SQL over a trace, by virtual tables of SQLite: nothing is imported. SQLite is loaded by
 * the first use; sqlite.c alone knows it.
 *
 *	xvt_query_load(&why);
 *	xvt_query_new(&q, trace, &options, &error);
 *	xvt_query_run(q, sql, &rows, &error);
 *	xvt_query_free(q);
 */
#ifndef XVT_QUERY_H
#define XVT_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/xvtrace.h"

struct xvt_query_options {
	unsigned int flags;	  /* of readers: XVTRACE_RECLOCK or 0 */
	uint64_t memory_bytes;	  /* SQLite and the tables take this at most; 0: no limit */
	const volatile int *stop; /* not 0: a statement that runs ends; NULL: none does */
	const char *save; /* a new database, in which tables are made and rows are kept; or NULL */
	struct xvtrace_background background; /* fetches events; no slots: there is none */
	bool scan;  /* push no condition down into the reader: tests compare */
	bool whole; /* the trace was opened without XVTRACE_PART: rings' counters are known */
};

enum xvt_query_kind {
	XVT_QUERY_NULL,
	XVT_QUERY_INTEGER,
	XVT_QUERY_REAL,
	XVT_QUERY_TEXT, /* any bytes: a query can make some that are not UTF-8 */
	XVT_QUERY_BLOB,
};

struct xvt_query_value {
	enum xvt_query_kind kind;
	int64_t i;
	double real;
	const char *bytes; /* TEXT, BLOB */
	size_t len;
};

/* Functions that take the rows of a statement. Each returns 0, or -errno, which ends the statement.
 */
struct xvt_query_rows {
	int (*begin)(void *arg, const char *const *names, size_t count);
	int (*row)(void *arg, const struct xvt_query_value *values, size_t count);
	int (*end)(void *arg); /* after the last row */
	void *arg;
};

struct xvt_query;

/* Load SQLite: before a sandbox is entered. Returns 0, or -ENOPKG or -ENOSYS with `why`. */
int xvt_query_load(struct xvt_error *why);
/* The trace and *options->stop must live as long. Returns 0 or -errno with a text. */
int xvt_query_new(struct xvt_query **q, struct xvtrace *trace,
		  const struct xvt_query_options *options, struct xvtrace_error *error);
/*
 * Run statements one after the other. Returns 0; -EINVAL: an error in the SQL; -EPERM: it does what
 * is not allowed; -ETIMEDOUT: *options->stop; -ENOMEM: beyond the memory; or another -errno, also
 * of `rows`, without a text.
 */
int xvt_query_run(struct xvt_query *q, const char *sql, const struct xvt_query_rows *rows,
		  struct xvtrace_error *error);
/* Tables kept by `save` so far. */
unsigned int xvt_query_saved(const struct xvt_query *q);
/* Events that came after one of a later time, in spite of which ORDER BY ts kept their order. */
uint64_t xvt_query_unsorted(const struct xvt_query *q);
/* Fields without a column: a table has so many columns at most. */
uint64_t xvt_query_left_out(const struct xvt_query *q);
/* NULL is allowed. */
void xvt_query_free(struct xvt_query *q);

#endif /* XVT_QUERY_H */
