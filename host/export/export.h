/* SPDX-License-Identifier: GPL-2.0 */
/*
 * export.h - write the events of a reader in another format. Exports see a trace through
 * lib/xvtrace.h alone, so another program can do all that they can.
 */
#ifndef XVT_EXPORT_H
#define XVT_EXPORT_H

#include <sys/types.h>

#include "base/out.h"
#include "export/once.h"
#include "lib/xvtrace.h"

/* An event, or a time, whose neighbours are exported. */
struct xvt_around {
	enum xvtrace_clock clock;
	uint64_t ns;
	uint64_t bound_ns;		 /* 0 of a time */
	const struct xvtrace_ring *ring; /* NULL: a time, a state, or an event of an unknown ring */
	const struct xvtrace_machine *state_of; /* a state of that machine; NULL: it is none */
	uint64_t guest_clock;
	uint64_t number; /* xvtrace_event.number and .pid; 0 and -1 of a time */
	int pid;
};

/* Options of an export. */
struct xvt_export {
	struct xvtrace *trace;
	struct xvtrace_reader *reader;
	bool all;    /* the reader gives records with XVTRACE_ALL */
	bool states; /* the reader gives states of machines: XVTRACE_STATES */
	bool counts; /* the reader counts all records: XVTRACE_COUNTS */
	bool gaps;   /* and switches of tasks that it makes there: XVTRACE_GAPS */
	struct xvtrace_threads threads;	      /* text, jsonl: make lines; count 0: there are none */
	struct xvtrace_background background; /* fetches events; no slots: there is none */
	struct xvt_once *once; /* gives no event twice; NULL: both records of it are given */
	bool bound;    /* the reader gives bounds: XVTRACE_BOUND; text: a column with them; CTF:
			* a context field */
	bool wall;     /* text: times of the wall clock */
	bool system;   /* text: events as SYSTEM:EVENT */
	bool task;     /* text: COMM-PID before the event */
	bool raw;      /* text: fields as NAME=VALUE */
	bool align;    /* text: columns of the same width in all lines */
	bool colour;   /* text: escape sequences for a terminal, a colour for each machine */
	bool people;   /* text: a legend first, and times of one width */
	bool relative; /* text: times since first_ns */
	bool delta;    /* text: and since the line before */
	struct xvt_dat_thread *dat_thread; /* dat: NULL: the calling thread compresses */
	unsigned int dat_version;	   /* dat: 6, 7; 0: 7, or 6 if this program has no zstd */
	bool marks; /* text: mark `around`, and events whose order to it is not known */
	struct xvt_around around;
	uint64_t lead_ns;  /* wanted: also the events so long before a range of time */
	uint64_t range_ns; /* with it: the begin of that range, in host time; 0: of the trace */
	uint64_t first_ns;
	uint64_t before_ns; /* with delta: of the line before */
	uint64_t unordered; /* events that were marked so far */
	uint64_t skip;	    /* events that are left out at the begin, with what is before them */
	uint64_t given;	    /* events, losses and states so far */
	uint64_t events;    /* of them, events */
	uint64_t moved; /* CTF, dat: events that were out of order and got the time before them */
	pid_t writer;	/* the process that writes the trace now; 0: none, or unknown */
	uint64_t cut;	/* dat: events that were longer than a page, and were cut */
	struct xvtrace_error error; /* after a failure: what and why; empty: by the number */
	char failed[512];	    /* the file that could not be written; empty: none */
};

/* As xvtrace_next(), by x->once, and counts what it gives. */
int xvt_export_next(struct xvt_export *x, const struct xvtrace_event **event);

/* Each export returns 0 or -errno. */

/* A line for each event: TIME VM:CPU FLAGS EVENT: fields. Closing `o` reports its errors. */
int xvt_export_text(struct xvt_export *x, struct xvt_out *o);

/* The machine's colour on a terminal, as the number of an escape sequence. */
const char *xvt_machine_colour(const struct xvtrace_machine *machine);

/* A JSON object on a line for each event. */
int xvt_export_jsonl(struct xvt_export *x, struct xvt_out *o);

/* Packets of Perfetto's protobuf, by perfetto.proto. */
int xvt_export_perfetto(struct xvt_export *x, struct xvt_out *o);

/* A number, or a text, of a slice. */
struct xvt_slice_arg {
	const char *name;
	const char *text; /* NULL: a number */
	uint64_t number;
};

/* A slice that a program made of events, on a track of its own. Slices with the same flow, not 0,
 * are joined by an arrow. */
struct xvt_slice {
	unsigned int track;
	const char *name;
	uint64_t begin_ns, end_ns;
	uint32_t flows[2];
	const struct xvt_slice_arg *args;
	size_t arg_count;
};

/* Slices by time, on tracks with these names (NULL: it has none) below the track `name`, as a trace
 * for Perfetto alone, or one that is put behind that of xvt_export_perfetto(). */
int xvt_export_perfetto_slices(struct xvt_export *x, const char *name, const char *const *tracks,
			       size_t track_count, const struct xvt_slice *slices, size_t count,
			       struct xvt_out *o);

/* CTF: combinations of empty texts that get a class of their own; in other events an empty text
 * becomes one blank. */
#define XVT_CTF_VARIANTS_MAX 32u

/* A CTF 1.8 trace dir/VM/kernel/ for each machine, as LTTng's kernel tracer writes it. */
int xvt_export_ctf(struct xvt_export *x, const char *dir);

/* A thread that compresses trace.dat of version 7 beside the export, to be started while this
 * process may make threads. -ENOTSUP: there is one CPU; another -errno. */
struct xvt_dat_thread;
int xvt_dat_thread_start(struct xvt_dat_thread **t);
/* NULL is allowed. */
void xvt_dat_thread_end(struct xvt_dat_thread *t);

/* A trace.dat of trace-cmd, dir/VM.dat, for each machine. -ENOTSUP: version 7 takes zstd. */
int xvt_export_dat(struct xvt_export *x, const char *dir);

#endif /* XVT_EXPORT_H */
