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

#include "flight/flight_job.h"
#include "rights/confine.h"
#include "rights/helper.h"
#include "trace/file_snapshot.h"

#define END_MS 10000 /* time for a trace under way when the recording ends */

struct xvt_flight {
	struct xvt_helper helper;
	struct xvt_flight_options opt;
	struct xvt_flight_job *job;
	bool under_way;
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
	err = xvt_helper_start(&f->helper, xvt_confine_kept(), answer_all, f);
	if (err) {
		xvt_flight_job_free(f->job);
		free(f);
	} else {
		*out = f;
	}
	return err;
}

pid_t *xvt_flight_pid(struct xvt_flight *f)
{
	return &f->helper.pid;
}

void xvt_flight_free(struct xvt_flight *f)
{
	struct pollfd answer = { .events = POLLIN };

	if (!f)
		return;
	answer.fd = f->helper.fd;
	if (f->under_way)
		poll(&answer, 1, END_MS);
	xvt_helper_end(&f->helper);
	xvt_flight_job_free(f->job);
	free(f);
}

int xvt_flight_take(struct xvt_flight *f, const struct xvt_armed *machines, const char *folder,
		    uint64_t at_ns, uint64_t before_ns, uint64_t most_bytes, size_t *left_out)
{
	struct xvt_flight_job *job = f->job;
	int err;

	*left_out = 0;
	if (f->under_way)
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
	err = xvt_helper_ask(&f->helper, "", 1);
	f->under_way = !err;
	return err;
}

size_t xvt_flight_under_way(struct xvt_flight *f, int *status)
{
	int err;

	*status = 0;
	if (!f->under_way)
		return 0;
	err = xvt_helper_answer(&f->helper, status, sizeof(*status));
	if (err == -EAGAIN)
		return f->job->n;
	if (err)
		*status = err;
	f->under_way = false;
	return 0;
}

bool xvt_flight_is_busy(const struct xvt_flight *f)
{
	return f->under_way;
}
