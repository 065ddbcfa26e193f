// SPDX-License-Identifier: GPL-2.0
/*
 * flight.c - see flight.h. The machines and the folder lie in memory that recorder and process
 * share, which the recorder changes only while nothing is under way.
 */
#define _GNU_SOURCE
#include "flight/flight.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/child.h"
#include "base/log.h"
#include "flight/flight_job.h"
#include "rights/confine.h"
#include "rights/helper.h"
#include "trace/file_snapshot.h"

#define END_MS 10000 /* time for a trace under way when the recording ends */

struct xvt_flight {
	struct xvt_helper helper;
	struct xvt_flight_options opt;
	struct xvt_flight_job *job;
};

/* ------------------------------------------------------------------ the process */

static void answer_all(int fd, void *arg)
{
	const struct xvt_flight *f = arg;
	char ask;

	while (recv(fd, &ask, sizeof(ask), 0) == sizeof(ask)) {
		const int status = xvt_flight_job_run(f->job, &f->opt, fd);

		if (send(fd, &status, sizeof(status), 0) != sizeof(status))
			return;
	}
}

/* ------------------------------------------------------------------ the recorder */

int xvt_flight_new(struct xvt_flight **out, const struct xvt_flight_options *opt)
{
	static const struct xvt_helper_name name = {
		"reads flight recorders",
		"no other snapshot begins, and machines that come are not kept armed"
	};
	struct xvt_flight *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->opt = *opt;
	f->job = xvt_flight_job_new();
	if (!f->job) {
		free(f);
		return -ENOMEM;
	}
	err = xvt_helper_start(&f->helper, &name, xvt_confine_kept(), answer_all, f);
	if (err) {
		xvt_flight_job_free(f->job);
		free(f);
	} else {
		*out = f;
	}
	return err;
}

struct xvt_helper *xvt_flight_helper(struct xvt_flight *f)
{
	return &f->helper;
}

/* Returns whether the trace that is under way is whole, or there is none. */
static bool ends_whole(struct xvt_flight *f)
{
	int status;

	if (!f->helper.asked || f->helper.pid <= 0)
		return true;
	if (!xvt_child_wait(f->helper.fd, POLLIN, END_MS)) {
		xvt_flight_under_way(f, &status);
		return !status; /* that it failed was said by the process */
	}
	xvt_error("--flight-recorder",
		  "the recorder's process that reads flight recorders does not answer: it was "
		  "stopped, or a disk does not answer. It is killed, and %s is not whole",
		  f->job->output);
	return false;
}

bool xvt_flight_free(struct xvt_flight *f)
{
	bool whole;

	if (!f)
		return true;
	whole = ends_whole(f);
	xvt_helper_end(&f->helper);
	xvt_flight_job_free(f->job);
	free(f);
	return whole;
}

int xvt_flight_take(struct xvt_flight *f, const struct xvt_armed *machines, const char *folder,
		    uint64_t at_ns, uint64_t before_ns, uint64_t most_bytes, size_t *left_out)
{
	struct xvt_flight_job *job = f->job;

	*left_out = 0;
	if (f->helper.asked)
		return -EBUSY;
	if ((size_t)snprintf(job->output, sizeof(job->output), "%s/" XVT_SNAPSHOT_FLIGHT, folder) >=
	    sizeof(job->output))
		return -ENAMETOOLONG;
	job->at_ns = at_ns;
	job->before_ns = before_ns;
	job->timeout_ns = f->opt.stall_timeout_ns;
	*left_out = xvt_flight_job_list(job, machines, NULL, NULL);
	xvt_flight_job_bound(job, machines, most_bytes);
	if (!job->n)
		return -ENODATA;
	return xvt_helper_ask(&f->helper, "", 1);
}

size_t xvt_flight_under_way(struct xvt_flight *f, int *status)
{
	int err;

	*status = 0;
	if (!f->helper.asked)
		return 0;
	err = xvt_helper_answer(&f->helper, status, sizeof(*status));
	if (err == -EAGAIN)
		return f->job->n;
	if (err)
		*status = err;
	return 0;
}

bool xvt_flight_is_busy(const struct xvt_flight *f)
{
	return f->helper.asked;
}
