/* SPDX-License-Identifier: GPL-2.0 */
/* select.h - the options that choose events of a trace, for all commands that show events. */
#ifndef XVT_SELECT_H
#define XVT_SELECT_H

#include <sys/types.h>

#include "export/export.h"
#include "options/opt.h"

/* Lists and texts as given on the command line. */
struct xvt_select {
	struct xvt_opt_list vm;	   /* names, or !NAME; none: all machines */
	struct xvt_opt_list event; /* globs on EVENT or SYSTEM:EVENT, or !GLOB; none: all events */
	struct xvt_opt_list cpu;   /* "0-3,7" */
	struct xvt_opt_list pid;   /* numbers */
	struct xvt_opt_list comm;  /* globs */
	struct xvt_opt_list formats; /* VM=KERNEL */
	const char *filter;
	const char *from;   /* see when.h */
	const char *to;	    /* the same */
	const char *around; /* the same, or @N: line N of the report without choices */
	uint64_t span_ns;   /* before and after it; 0: the default */
	uint64_t last_ns;   /* 0: it was not given */
	int64_t limit;	    /* below 0: the last events; 0: none was given */
	bool all;
	bool reclock;
	bool no_reclock;
	bool quiet;
	bool follow; /* machines and CPUs that are chosen may still come */
};

/* Rows of an option table that several commands have, with the same words. */
#define XVT_TIME_OPTS(struct_, field_, from_, to_)                                           \
	XVT_OPT(struct_, field_.from, from_, 0, XVT_OPT_STRING, "T",                         \
		"begin at T: a time as printed, +SEC, -SEC from the end, or a time of day"), \
		XVT_OPT(struct_, field_.to, to_, 0, XVT_OPT_STRING, "T", "end at T"),        \
		XVT_OPT(struct_, field_.last_ns, "last", 0, XVT_OPT_TIME, "D",               \
			"only the last D of the trace, such as 50ms"),                       \
		XVT_OPT(struct_, field_.around, "around", 0, XVT_OPT_STRING, "T",            \
			"only events around T, or around the event @N of the trace"),        \
		XVT_OPT(struct_, field_.span_ns, "span", 0, XVT_OPT_TIME, "D",               \
			"with --around: this long before and after it (5ms)")
#define XVT_RECLOCK_OPTS(struct_, reclock_, no_reclock_)                           \
	XVT_OPT(struct_, reclock_, "reclock", 0, XVT_OPT_BOOL, NULL,               \
		"the new times also for a trace without an end"),                  \
		XVT_OPT(struct_, no_reclock_, "no-reclock", 0, XVT_OPT_BOOL, NULL, \
			"the times of the recording, not by all clock samples of the trace")
#define XVT_FORMATS_OPT(struct_, formats_)                                  \
	XVT_OPT(struct_, formats_, "formats", 0, XVT_OPT_LIST, "VM=KERNEL", \
		"the kernel of a machine whose events have no names, as you know it")
#define XVT_QUIET_OPT(struct_, quiet_)                             \
	XVT_OPT(struct_, quiet_, "quiet", 'q', XVT_OPT_BOOL, NULL, \
		"no warnings about an incomplete trace")

/* Rows that choose events. The range is --from and --to, where --to is not a format. */
#define XVT_SELECT_OPTS(struct_, field_, from_, to_)                                             \
	XVT_OPT(struct_, field_.vm, "vm", 0, XVT_OPT_WORDS, "VM",                                \
		"only this machine's events, such as g1,g2; !VM: not these"),                    \
		XVT_OPT(struct_, field_.event, "event", 'e', XVT_OPT_WORDS, "GLOB",              \
			"only events like this: EVENT, SYSTEM:EVENT, SYSTEM; !GLOB: not these"), \
		XVT_OPT(struct_, field_.cpu, "cpu", 0, XVT_OPT_LIST, "N",                        \
			"only events of these CPUs, such as 0-3,7; again for more"),             \
		XVT_OPT(struct_, field_.pid, "pid", 0, XVT_OPT_WORDS, "P",                       \
			"only events of this task, such as 7,8"),                                \
		XVT_OPT(struct_, field_.comm, "comm", 0, XVT_OPT_LIST, "GLOB",                   \
			"only events of tasks with a name like this; again for each"),           \
		XVT_OPT(struct_, field_.filter, "filter", 0, XVT_OPT_STRING, "FILTER",           \
			"only events with such fields: 'prev_pid == 7 && next_comm ~ \"k*\"'"),  \
		XVT_TIME_OPTS(struct_, field_, from_, to_),                                      \
		XVT_OPT(struct_, field_.limit, "limit", 'n', XVT_OPT_ENDS, "N",                  \
			"no more than N events; -N: the last N"),                                \
		XVT_OPT(struct_, field_.all, "all", 0, XVT_OPT_BOOL, NULL,                       \
			"also what the rings say about themselves"),                             \
		XVT_OPT(struct_, field_.reclock, "reclock", 0, XVT_OPT_BOOL, NULL,               \
			"say how bounds change; also the times of a trace without an end"),      \
		XVT_OPT(struct_, field_.no_reclock, "no-reclock", 0, XVT_OPT_BOOL, NULL,         \
			"the times of the recording, not by all clock samples of the trace"),    \
		XVT_FORMATS_OPT(struct_, field_.formats), XVT_QUIET_OPT(struct_, field_.quiet)

/* Open the trace and make a reader of the chosen events in x->trace and x->reader; x->wall says
 * which clock the times are of. Returns XVT_EXIT_OK, or another exit status after a message. */
int xvt_select_open(const struct xvt_select *s, const char *path, struct xvt_export *x);
/* The same of several traces as one. */
int xvt_select_open_several(const struct xvt_select *s, const char *const *paths, size_t count,
			    struct xvt_export *x);

/* For a trace that is open and grows: make a reader of the chosen events in x->reader, which the
 * caller frees. Returns XVT_EXIT_OK; another exit status after a message; or -EAGAIN: what is
 * chosen is not there yet. */
int xvt_select_begin(const struct xvt_select *s, struct xvt_export *x);

/* A time as --around takes it, or the event @N. Returns 0; -EINVAL or -ENOENT after a message; or
 * another -errno. */
int xvt_select_point(const struct xvt_select *s, const char *text, struct xvt_export *x,
		     struct xvt_around *to);

/* Open traces as one. Prints why it fails, and unless `quiet` which machines two of them have.
 * formats: VM=KERNEL, of which is printed that it is stated; or NULL. Returns 0 or -errno. */
int xvt_open_several(struct xvtrace **trace, const char *const *paths, size_t count,
		     unsigned int flags, const struct xvt_opt_list *formats, bool quiet);

/* Why events of a machine have no format. NULL: its guest did not send them. */
const char *xvt_nameless_why(const struct xvtrace *trace, const struct xvtrace_machine *machine);

/* Whether the machine and the CPU of the ring are chosen, by lists that xvt_select_begin() took. */
bool xvt_select_has_ring(const struct xvt_select *s, const struct xvtrace_ring *ring);

/* Whether a part of the trace was chosen, for which its index is enough. */
bool xvt_select_is_part(const struct xvt_select *s);

/* Whether the times are those by all clock samples of the trace: of a trace that was ended, unless
 * --no-reclock says otherwise; of any trace with --reclock. */
bool xvt_select_reclocks(const struct xvt_select *s, const struct xvt_export *x);

/*
 * Close both. Prints warnings about damage, missing parts and choices without a match. failed:
 * reading or writing failed, which was reported. Returns the exit status: XVT_EXIT_FAIL after
 * damage, or when nothing was chosen.
 */
int xvt_select_close(const struct xvt_select *s, struct xvt_export *x, bool failed);

/* Print one line if data of the trace is damaged or missing. writer: of xvt_beside_writer().
 * Returns true if data is damaged. A file without an END is legal, but it is reported. */
bool xvt_say_damage(struct xvtrace *trace, pid_t writer, bool quiet);

/* Print that a trace was not cleanly ended, or that `writer` (0: none) still writes it. tail: bytes
 * at its end that are no whole chunk; unordered: bytes of records without an order. */
void xvt_say_not_ended(const char *path, pid_t writer, uint64_t tail, uint64_t unordered);

#endif /* XVT_SELECT_H */
