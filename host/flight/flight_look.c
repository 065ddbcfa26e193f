// SPDX-License-Identifier: GPL-2.0
/* flight_look.c - see flight_look.h. */
#define _GNU_SOURCE
#include "flight/flight_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "flight/flight_job.h"
#include "rights/confine.h"

#define BYTES_MOST (64ull << 20)	 /* of what is searched */
#define TIMEOUT_NS ((uint64_t)500000000) /* a machine that stands still is taken as it is */

struct xvt_flight_look {
	struct xvt_flight_options opt;
	struct xvt_flight_job *job;
	int fd; /* in the lookout's process: what was read, in memory */
};

/* ------------------------------------------------------------------ in the lookout's process */

static int begin(void *arg, int sock, char path[PATH_MAX], struct xvt_error *why)
{
	struct xvt_flight_look *f = arg;
	struct xvt_flight_job *job = f->job;
	int err;

	f->fd = memfd_create("xvtrace-look", MFD_CLOEXEC);
	if (f->fd < 0) {
		err = -errno;
		return xvt_fail(why, err, "no memory: %s", strerror(-err));
	}
	snprintf(job->output, sizeof(job->output), "/proc/self/fd/%d", f->fd);
	memcpy(path, job->output, sizeof(job->output));
	if (!xvt_flight_job_run(job, &f->opt, sock))
		return 0;
	xvt_fail(why, 0, "flight recorders cannot be read");
	close(f->fd);
	return -EIO;
}

static void end(void *arg)
{
	const struct xvt_flight_look *f = arg;

	close(f->fd);
}

/* ------------------------------------------------------------------ in the recorder */

int xvt_flight_look_new(struct xvt_flight_look **out, const struct xvt_flight_options *opt)
{
	struct xvt_flight_look *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->opt = *opt;
	f->job = xvt_flight_job_new();
	if (!f->job) {
		free(f);
		return -ENOMEM;
	}
	*out = f;
	return 0;
}

void xvt_flight_look_free(struct xvt_flight_look *f)
{
	if (!f)
		return;
	xvt_flight_job_free(f->job);
	free(f);
}

struct xvt_lookout_source xvt_flight_look_source(struct xvt_flight_look *f)
{
	return (struct xvt_lookout_source){
		.capabilities = xvt_confine_kept(), .begin = begin, .end = end, .arg = f
	};
}

int xvt_flight_look_ask(struct xvt_flight_look *f, struct xvt_lookout *lookout,
			struct xvt_armed *machines, bool (*wanted)(void *arg, size_t machine),
			void *arg, uint64_t since_ns)
{
	struct xvt_flight_job *job = f->job;
	const uint64_t memory_bytes = f->opt.memory_bytes;

	if (xvt_lookout_is_busy(lookout))
		return -EBUSY;
	job->at_ns = since_ns;
	job->before_ns = 0;
	job->timeout_ns =
		f->opt.stall_timeout_ns < TIMEOUT_NS ? f->opt.stall_timeout_ns : TIMEOUT_NS;
	job->quiet = true;
	xvt_flight_job_list(job, machines, wanted, arg);
	xvt_flight_job_bound(job, machines,
			     memory_bytes && memory_bytes < BYTES_MOST ? memory_bytes : BYTES_MOST);
	return job->n ? xvt_lookout_ask(lookout, "", 0) : -ENODATA;
}
