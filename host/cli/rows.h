/* SPDX-License-Identifier: GPL-2.0 */
/* rows.h - prints the rows of a query. */
#ifndef XVT_ROWS_H
#define XVT_ROWS_H

#include "base/out.h"
#include "query/query.h"

enum xvt_rows_form {
	XVT_ROWS_TABLE, /* columns as wide as the first rows need */
	XVT_ROWS_CSV,
	XVT_ROWS_JSON, /* a document for each statement */
};

/* `out` must live as long. Returns 0 or -ENOMEM; also then rows can be freed. */
int xvt_rows_new(struct xvt_query_rows *rows, enum xvt_rows_form form, struct xvt_out *out);
void xvt_rows_free(struct xvt_query_rows *rows);

#endif /* XVT_ROWS_H */
