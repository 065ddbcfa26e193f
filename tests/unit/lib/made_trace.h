/* SPDX-License-Identifier: GPL-2.0 */
/* made_trace.h - the synthetic trace that the tests of libxvtrace read: a file, opened. */
#ifndef MADE_TRACE_H
#define MADE_TRACE_H

#include "lib/xvtrace.h"
#include "synth.h"

#define EVENTS 1500

extern struct synth_sink sink; /* the bytes of the file */
extern struct synth made;      /* what it has to hold */
extern struct xvtrace *trace;  /* the file, as open_trace() opened it last */

/* The path of the file, which a test may write again. */
const char *made_path(void);

/* Open the file again, with these flags. */
void open_trace(unsigned int flags);

/* Make, write and open it; before each test. */
void made_setup(void);
void made_teardown(void);

/* A new reader of the trace, with these flags. */
struct xvtrace_reader *reader_of(unsigned int flags);

#endif /* MADE_TRACE_H */
