// SPDX-License-Identifier: GPL-2.0
/* made_trace.c - see made_trace.h. */
#include "lib/made_trace.h"

#include "suites.h"

struct synth_sink sink;
struct synth made;
struct xvtrace *trace;

const char *made_path(void)
{
	return scratch_path("made.xvt");
}

void open_trace(unsigned int flags)
{
	struct xvtrace_error error;

	xvtrace_close(trace);
	ck_assert_msg(!xvtrace_open(&trace, made_path(), flags, &error), "%s", error.text);
}

void made_setup(void)
{
	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, EVENTS, 0);
	synth_sink_save(&sink, made_path());
	open_trace(0);
}

void made_teardown(void)
{
	xvtrace_close(trace);
	trace = NULL;
	synth_fini(&made);
	synth_sink_fini(&sink);
}

struct xvtrace_reader *reader_of(unsigned int flags)
{
	struct xvtrace_reader *r;

	ck_assert_int_eq(xvtrace_reader_new(&r, trace), 0);
	ck_assert_int_eq(xvtrace_reader_flags(r, flags), 0);
	return r;
}
