/* SPDX-License-Identifier: GPL-2.0 */
/*
 * flight_job.h - one reading of machines that are kept armed (flight/armed.h): what they hold, as
 * one trace. A child with the recorder's rules of what may be opened does it, in a sandbox, so that
 * what guests wrote is read by no process that has rights.
 */
#ifndef XVT_FLIGHT_JOB_H
#define XVT_FLIGHT_JOB_H

#include <limits.h>
#include <stdbool.h>

#include "flight/armed.h"
#include "record/business.h"

/* Of the recorder. */
struct xvt_flight_options {
	struct xvt_business business;
	uint64_t stall_timeout_ns;
	uint64_t memory_bytes;
};

/* A reading. Processes share the struct, so there are no pointers in it. */
struct xvt_flight_job {
	char output[PATH_MAX];
	uint64_t at_ns;	     /* host ns of the moment */
	uint64_t before_ns;  /* events that are older than this before it may be left out */
	uint64_t timeout_ns; /* how long a machine may take to answer */
	uint64_t most_bytes; /* of the trace; 0: any number */
	uint64_t ring_bytes; /* of each ring; 0: all */
	bool quiet;	     /* no warning about machines that are left out */
	size_t n;
	struct xvt_flight_machine {
		char name[XVT_NAME_LEN];
		char path[PATH_MAX];
		uint32_t rings;
	} v[XVT_ARMED_MOST];
};

/* Returns memory for one that this process and its children share; NULL: there is none. */
struct xvt_flight_job *xvt_flight_job_new(void);
void xvt_flight_job_free(struct xvt_flight_job *job);

/* Fills in the machines that are armed, of those that `wanted` wants; NULL: all. Returns how many
 * are not armed. */
size_t xvt_flight_job_list(struct xvt_flight_job *job, const struct xvt_armed *machines,
			   bool (*wanted)(void *arg, size_t machine), void *arg);
/* Sets the size of the trace, and each ring's share of it, so that it has the newest events of all
 * of them. 0: any size. */
void xvt_flight_job_bound(struct xvt_flight_job *job, const struct xvt_armed *machines,
			  uint64_t most_bytes);

/* Have a child read all machines, and wait for it. leave_fd: a descriptor that is not the child's
 * business. Returns the child's exit status. */
int xvt_flight_job_run(const struct xvt_flight_job *job, const struct xvt_flight_options *opt,
		       int leave_fd);

#endif /* XVT_FLIGHT_JOB_H */
