// SPDX-License-Identifier: GPL-2.0
/* serve_status.c - see serve_status.h. */
#define _GNU_SOURCE
#include "control/serve_status.h"

#include <unistd.h>

#include "base/json.h"
#include "flight/armed.h"
#include "record/follow.h"
#include "record/regions.h"
#include "rights/isolate.h"

static void add_compressed(const struct xvt_compress_idle *c, struct xvt_json *doc)
{
	const struct xvt_compress_idle_sums sums = xvt_compress_idle_sums(c);

	xvt_json_add_u64(doc, "files_compressed", sums.files);
	xvt_json_add_u64(doc, "compressed_from_bytes", sums.before);
	xvt_json_add_u64(doc, "compressed_to_bytes", sums.after);
}

static struct xvt_json *whole_status(const struct xvt_serve *s)
{
	struct xvt_json *doc = xvt_json_new();
	size_t i;

	xvt_json_add_text(doc, "format", "xvtrace-status/1");
	xvt_json_add_u64(doc, "pid", (uint64_t)getpid());
	xvt_json_add_text(doc, "cwd", s->cwd);
	xvt_json_add_text(doc, "output", s->output);
	xvt_json_add_text(doc, "file", xvt_file_set_path(s->rec->sink));
	if (s->metrics_http[0])
		xvt_json_add_text(doc, "metrics_http", s->metrics_http);
	if (xvt_follow_libvirt(s->follow)[0])
		xvt_json_add_text(doc, "no_libvirt", xvt_follow_libvirt(s->follow));
	if (s->no_sandbox)
		xvt_json_add_bool(doc, "no_sandbox", true);
	for (i = 0; i < XVT_WALLS; i++) {
		if (s->lacks & xvt_walls[i].lack)
			xvt_json_add_bool(doc, xvt_walls[i].field, true);
	}
	xvt_regions_status(doc);
	xvt_json_add_u64(doc, "files_removed", xvt_file_set_removed(s->rec->sink));
	if (s->compress_idle)
		add_compressed(s->compress_idle, doc);
	if (s->snapshots) {
		xvt_json_add_u64(doc, "conditions_held", xvt_snapshots_held(s->snapshots));
		xvt_json_add_u64(doc, "snapshots", xvt_snapshots_count(s->snapshots));
	}
	if (xvt_armed_count(s->armed))
		xvt_armed_status(s->armed, doc);
	xvt_session_status(s->rec->session, doc);
	return doc;
}

/* The part of an answer at at->cursor, which has the next machine + 1 in its high half and that
 * machine's next ring in its low half. */
static struct xvt_json *next_part(const struct xvt_serve *s, struct xvt_server_at *at)
{
	uint32_t vm = (uint32_t)(at->cursor >> 32) - 1, ring = (uint32_t)at->cursor;
	struct xvt_json *doc = xvt_json_new();

	if (xvt_session_status_vm(s->rec->session, &vm, &ring, doc)) {
		at->cursor = (uint64_t)(vm + 1) << 32 | ring;
	} else {
		xvt_json_add_bool(doc, "end", true);
		at->cursor = XVT_SERVE_COMPLETE;
	}
	return doc;
}

struct xvt_json *xvt_serve_status(const struct xvt_serve *s, struct xvt_server_at *at)
{
	if (at->cursor)
		return next_part(s, at);
	at->cursor = 1ull << 32;
	return whole_status(s);
}
