/* SPDX-License-Identifier: GPL-2.0 */
/* summary.h - what is said of a whole trace: counted in one pass, shown as text or JSON. */
#ifndef XVT_SUMMARY_H
#define XVT_SUMMARY_H

#include "analyze/analyze.h"
#include "base/out.h"
#include "export/once.h"
#include "lib/xvtrace.h"
#include "view/busy.h"
#include "view/spread.h"
#include "view/strip.h"

#define XVT_SUMMARY_EVENTS   8u	      /* most frequent events that are shown of a machine */
#define XVT_SUMMARY_TASKS    5u	      /* busiest tasks */
#define XVT_SUMMARY_STALLS   3u	      /* longest stalls */
#define XVT_SUMMARY_TAKERS   4u	      /* threads that took the most from a machine */
#define XVT_SUMMARY_STALL_NS 1000000u /* a stall is at least so long */

/* Events of one type; as a result: of all types of one machine and name. */
struct xvt_summary_type {
	const struct xvtrace_type *type; /* NULL: unused */
	unsigned int machine;
	uint64_t count;
	/* Of a switch of tasks; NULL: it is none. */
	const struct xvtrace_field *prev, *next;
};

struct xvt_summary_task {
	int pid;
	uint64_t value; /* ns, or events */
	char comm[64];	/* any bytes; empty: not known */
};

struct xvt_summary_machine {
	const struct xvtrace_machine *of; /* NULL: there is none of that number */
	struct xvtrace_counts counts;
	uint64_t nameless; /* events without a format */
	uint64_t flagged;  /* events whose time is flagged U or C */
	uint64_t unbounded;
	uint64_t paused_ns, pauses;
	uint64_t ended_ns; /* 0: it did not end */
	struct xvt_pauses stops;
	struct xvt_strip strip;
	struct xvt_spread bounds;
	uint64_t run, run_ns; /* the last events of equal bounds, and the bound */
	struct xvt_busy busy;
	bool by_switch;	  /* `busy` has run times in ns; else numbers of events */
	bool has_kernel;  /* some events are of a kernel */
	unsigned int has; /* a bit for each of xvt_summary_kinds */
	/* Results, the largest first. */
	struct xvt_summary_type *types[XVT_SUMMARY_EVENTS];
	struct xvt_summary_task tasks[XVT_SUMMARY_TASKS];
	size_t type_count, task_count;
};

struct xvt_summary {
	struct xvtrace *trace;
	const struct xvtrace_info *info;
	struct xvtrace_reader *reader;
	struct xvt_summary_machine *machines; /* by number */
	struct xvt_summary_type *types;	      /* by number */
	size_t type_room;
	struct xvt_running *running; /* by ring */
	unsigned int cells;
	uint64_t from_ns, cell_ns; /* of all strips */
	bool has_host;
	uint64_t nameless;
	struct xvtrace_counts counts; /* of the trace */
	struct xvt_once *once;
	struct xvt_analyze *analyze; /* who took the guests' CPUs */
};

/* What can be recorded, and how. */
struct xvt_summary_kind {
	const char *what;
	bool host;	       /* of the host; else of a guest */
	const char *option;    /* that records it */
	const char *events[4]; /* one of them: it is recorded */
};
#define XVT_SUMMARY_KINDS 6u
extern const struct xvt_summary_kind xvt_summary_kinds[XVT_SUMMARY_KINDS];

/* Whether this kind could have been recorded of the machine and was not. */
bool xvt_summary_lacks(const struct xvt_summary_machine *m, unsigned int kind);

/* Reads the whole trace once. cells: of each machine's strip. Returns 0 or -errno. */
int xvt_summary_read(struct xvt_summary *s, struct xvtrace *trace, bool reclock, unsigned int cells,
		     const struct xvtrace_background *background);
void xvt_summary_fini(struct xvt_summary *s);

/* Whether the sum of what was lost is a lower bound: a guest's kernel does not count it. */
bool xvt_summary_lost_at_least(const struct xvt_summary *s);

#define XVT_SUMMARY_TAKERS_ROOM 256u

/* What the host took from the vCPUs of a machine, while the guest wanted to run. */
struct xvt_summary_taken {
	size_t vcpus; /* of which it is recorded; 0: nothing is known */
	size_t told;  /* of these, those of which some of it can be told */
	bool least;   /* more may have been taken, or by others than is known */
	uint64_t taken_ns, untold_ns;
	uint64_t asleep_ns, blocked_ns, stopped_ns; /* of taken_ns: their threads were */
	uint64_t vcpu_ns;			    /* all their time that the trace tells of */
	uint64_t recorder_ns;			    /* of taken_ns: by the recording itself */
	size_t count;
	struct xvt_summary_taker {
		const struct xvt_host_thread *thread;
		uint64_t ns;
	} takers[XVT_SUMMARY_TAKERS_ROOM]; /* `count` of them, the largest first */
};

/* Of more threads than there is room for, some of each vCPU's last ones are left out. */
void xvt_summary_taken(const struct xvt_summary *s, const struct xvt_summary_machine *m,
		       struct xvt_summary_taken *t);

struct xvt_summary_look {
	unsigned int width; /* of the screen, in letters */
	bool utf8;
	bool colour;
};

/* Cells of a strip for a screen of this width, at least 60. */
unsigned int xvt_summary_cells(struct xvtrace *trace, unsigned int width);

void xvt_summary_text(const struct xvt_summary *s, const struct xvt_summary_look *look,
		      struct xvt_out *o);
void xvt_summary_json(const struct xvt_summary *s, struct xvt_out *o);

#endif /* XVT_SUMMARY_H */
