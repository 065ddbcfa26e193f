// SPDX-License-Identifier: GPL-2.0
/* judged.c - see judged.h. */
#include "judged.h"

#include <check.h>
#include <string.h>

#include "suites.h"
#include "trace/read.h"

static void keep_line(void *arg, const char *text)
{
	struct judged *j = arg;

	strncat(j->lines, text, sizeof(j->lines) - strlen(j->lines) - 2);
	strcat(j->lines, "\n");
}

void judged_begin(struct judged *j)
{
	const struct xvt_file_info info = { .host_clock_id = XVT_CLOCK_TSC, .mult = 1 };

	memset(j, 0, sizeof(*j));
	synth_sink_init(&j->sink);
	ck_assert_int_eq(xvt_trace_writer_new(&j->w, &j->sink.sink, &info), 0);
}

void judged_end(struct judged *j)
{
	ck_assert_int_eq(xvt_trace_writer_finish(j->w), 0);
}

void judged_verify(struct judged *j, const char *name)
{
	const struct xvt_verify_opts opts = { .line = keep_line, .arg = j };
	const char *path = scratch_path(name);
	struct xvt_trace *t;
	struct xvt_error why;

	synth_sink_save(&j->sink, path);
	synth_sink_fini(&j->sink);
	ck_assert_int_eq(xvt_trace_open(&t, path, &why), 0);
	ck_assert_int_eq(xvt_verify(t, &opts, &j->result), 0);
	xvt_verify_result_fini(&j->result);
	xvt_trace_close(t);
}
