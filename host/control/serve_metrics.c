// SPDX-License-Identifier: GPL-2.0
/* serve_metrics.c - see serve_metrics.h. */
#include "control/serve_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "control/metrics.h"
#include "control/serve_status.h"

#define GATHERED (UINT64_MAX - 1) /* a cursor: the status of all machines was taken */

/* A client's metrics: sums over the status of all machines. */
struct metrics_answer {
	struct xvt_metrics *metrics;
	struct xvt_metrics_at at;
	struct xvt_out text; /* of one piece */
};

static void forget(void *more)
{
	struct metrics_answer *a = more;

	xvt_metrics_free(a->metrics);
	free(a);
}

bool xvt_serve_metrics_begin(struct xvt_server_at *at)
{
	struct metrics_answer *a = calloc(1, sizeof(*a));

	if (!a)
		return false;
	a->text.fd = -1;
	a->metrics = xvt_metrics_new();
	at->more = a;
	at->forget = forget;
	return true;
}

/* Take one line of the status. Returns false without memory. */
static bool gather(const struct xvt_serve *s, struct metrics_answer *a, struct xvt_server_at *at)
{
	size_t len;
	struct xvt_error why;
	char *line = xvt_json_line(xvt_serve_status(s, at), &len);
	struct xvt_json_value *v = line ? xvt_json_parse(line, len, &why) : NULL;
	const bool good = a->metrics && v && !xvt_metrics_add(a->metrics, v);

	if (at->cursor == XVT_SERVE_COMPLETE)
		at->cursor = GATHERED;
	xvt_json_forget(v);
	free(line);
	return good;
}

enum xvt_metrics_step xvt_serve_metrics(const struct xvt_serve *s, struct xvt_server_at *at,
					const char **text)
{
	struct metrics_answer *a = at->more;

	if (at->cursor != GATHERED)
		return gather(s, a, at) ? XVT_METRICS_NOT_YET : XVT_METRICS_FAILED;
	a->text.used = 0;
	if (!xvt_metrics_piece(a->metrics, &a->at, &a->text))
		return XVT_METRICS_END;
	a->text.buf[a->text.used] = '\0';
	*text = a->text.buf;
	return XVT_METRICS_PIECE;
}
