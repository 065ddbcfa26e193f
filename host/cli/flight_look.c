// SPDX-License-Identifier: GPL-2.0
/* flight_look.c - see flight_look.h. */
#define _GNU_SOURCE
#include "cli/flight_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/confine.h"
#include "cli/flight_job.h"
#include "cli/helper.h"

#define NICE	   5			 /* events that are recorded come first */
#define BYTES_MOST (64ull << 20)	       /* of what is searched */
#define TIMEOUT_NS ((uint64_t)500000000) /* a machine that stands still is taken as it is */

struct xvt_flight_look {
	struct xvt_helper helper;
	const struct xvt_recorder_options *opt;
	struct xvt_trigger *trigger;
	struct xvt_flight_job *job;
	bool asked; /* no answer has come yet */
};

/* ------------------------------------------------------------------ the process */

static void look(struct xvt_flight_look *l, int sock, struct xvt_lookout_answer *answer)
{
	struct xvt_flight_job *job = l->job;
	int fd = memfd_create("xvtrace-look", MFD_CLOEXEC);

	if (fd < 0) {
		answer->err = -errno;
		snprintf(answer->why, sizeof(answer->why), "no memory: %s", strerror(errno));
		return;
	}
	snprintf(job->output, sizeof(job->output), "/proc/self/fd/%d", fd);
	if (xvt_flight_job_run(job, l->opt, sock)) {
		answer->err = -EIO;
		snprintf(answer->why, sizeof(answer->why), "flight recorders cannot be read");
	} else {
		answer->err = xvt_trigger_look(l->trigger, job->output, 0, &answer->look,
					       answer->why, sizeof(answer->why));
	}
	close(fd);
}

static void answer_all(int fd, void *arg)
{
	struct xvt_lookout_answer answer;
	uint64_t before_ns;
	char ask;

	setpriority(PRIO_PROCESS, 0, NICE);
	while (recv(fd, &ask, sizeof(ask), 0) == sizeof(ask)) {
		memset(&answer, 0, sizeof(answer));
		before_ns = xvt_lookout_cpu_ns();
		look(arg, fd, &answer);
		answer.cpu_ns = xvt_lookout_cpu_ns() - before_ns;
		if (send(fd, &answer, sizeof(answer), 0) != sizeof(answer))
			return;
	}
}

/* ------------------------------------------------------------------ the recorder */

int xvt_flight_look_new(struct xvt_flight_look **out, const struct xvt_recorder_options *opt,
			struct xvt_trigger *trigger)
{
	struct xvt_flight_look *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	*l = (struct xvt_flight_look){ .opt = opt,
				       .trigger = trigger,
				       .job = xvt_flight_job_new() };
	err = l->job ? xvt_helper_start(&l->helper, xvt_confine_kept(), answer_all, l) : -ENOMEM;
	if (err) {
		xvt_flight_job_free(l->job);
		free(l);
	} else {
		*out = l;
	}
	return err;
}

void xvt_flight_look_free(struct xvt_flight_look *l)
{
	if (!l)
		return;
	xvt_helper_end(&l->helper);
	xvt_flight_job_free(l->job);
	free(l);
}

int xvt_flight_look_ask(struct xvt_flight_look *l, struct xvt_armed *machines,
			bool (*wanted)(void *arg, size_t machine), void *arg, uint64_t since_ns)
{
	struct xvt_flight_job *job = l->job;
	const uint64_t memory_bytes = l->opt->memory_bytes;

	if (l->asked)
		return -EBUSY;
	job->at_ns = since_ns;
	job->before_ns = 0;
	job->timeout_ns =
		l->opt->stall_timeout_ns < TIMEOUT_NS ? l->opt->stall_timeout_ns : TIMEOUT_NS;
	job->quiet = true;
	xvt_flight_job_list(job, machines, wanted, arg);
	xvt_flight_job_bound(job, machines,
			     memory_bytes && memory_bytes < BYTES_MOST ? memory_bytes : BYTES_MOST);
	if (!job->n)
		return -ENODATA;
	if (xvt_helper_ask(&l->helper, "", 1))
		return -EPIPE;
	l->asked = true;
	return 0;
}

int xvt_flight_look_answer(struct xvt_flight_look *l, struct xvt_lookout_answer *answer)
{
	int err = l->asked ? xvt_helper_answer(&l->helper, answer, sizeof(*answer)) : -EAGAIN;

	if (err)
		return err;
	l->asked = false;
	xvt_lookout_answer_end(answer);
	return 0;
}

bool xvt_flight_look_is_busy(const struct xvt_flight_look *l)
{
	return l && l->asked;
}
