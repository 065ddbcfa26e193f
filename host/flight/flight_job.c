// SPDX-License-Identifier: GPL-2.0
/* flight_job.c - see flight_job.h. */
#define _GNU_SOURCE
#include "flight/flight_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "record/business.h"
#include "record/recording.h"
#include "rights/confine.h"

/* The smallest event has 16 bytes in a ring, and up to 56 in a trace: its own, and its place. */
#define GROWTH	 4u
#define OVERHEAD (256u << 10) /* clocks, names, counters, the index */

struct xvt_flight_job *xvt_flight_job_new(void)
{
	struct xvt_flight_job *job =
		mmap(NULL, sizeof(*job), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return job == MAP_FAILED ? NULL : job;
}

void xvt_flight_job_free(struct xvt_flight_job *job)
{
	if (job)
		munmap(job, sizeof(*job));
}

size_t xvt_flight_job_list(struct xvt_flight_job *job, const struct xvt_armed *machines,
			   bool (*wanted)(void *arg, size_t machine), void *arg)
{
	size_t i, not_armed = 0;

	job->n = 0;
	for (i = 0; i < xvt_armed_count(machines); i++) {
		const struct xvt_armed_machine *m = xvt_armed_at(machines, i);
		struct xvt_flight_machine *to = &job->v[job->n];

		if (wanted && !wanted(arg, i))
			continue;
		if (m->why[0] || strlen(m->path) >= sizeof(to->path)) {
			not_armed++;
			continue;
		}
		memcpy(to->name, m->name, sizeof(to->name));
		memcpy(to->path, m->path, strlen(m->path) + 1);
		to->rings = m->rings_most;
		job->n++;
	}
	return not_armed;
}

void xvt_flight_job_bound(struct xvt_flight_job *job, const struct xvt_armed *machines,
			  uint64_t most_bytes)
{
	uint64_t rings;
	const uint64_t held = xvt_armed_held(machines, &rings);
	const uint64_t fits = most_bytes > OVERHEAD ? (most_bytes - OVERHEAD) / GROWTH : 1;
	const uint64_t share = rings && fits > rings ? fits / rings : 1;

	job->most_bytes = most_bytes;
	job->ring_bytes = most_bytes && held > fits && rings ? share : 0;
}

/* ------------------------------------------------------------------ the child */

/* A machine that cannot be read is left out. Returns how many are there. */
static size_t add_machines(const struct xvt_recording *rec, const struct xvt_flight_job *job)
{
	char text[600];
	struct xvt_error why;
	size_t i, n = 0;

	for (i = 0; i < job->n; i++) {
		const struct xvt_flight_machine *m = &job->v[i];

		if (!xvt_session_add_rings(rec->session, m->name, m->path, NULL, true, m->rings,
					   &why)) {
			n++;
			continue;
		}
		snprintf(text, sizeof(text), "%s is left out: %s", m->name, why.text);
		xvt_session_say(rec->session, 0, NULL, text);
		if (!job->quiet)
			xvt_warn(job->output, "%s", text);
	}
	return n;
}

/* The rules are the recorder's own: so are the regions, and the folder. */
static int confine(struct xvt_opener **opener, const struct xvt_flight_options *opt,
		   const struct xvt_session *s)
{
	struct xvt_rules rules = { 0 };
	int err = 0;

	if (*opener)
		err = xvt_business_tell(*opener, &opt->business, s, NULL, NULL, &rules);
	xvt_rules_free(&rules);
	if (err && err != -ETIMEDOUT) /* that was told */
		xvt_error("sandbox", "the process that opens files cannot be told which: %s",
			  strerror(-err));
	return err ? err
		   : xvt_confine_recorder(opt->business.machines->libvirt_uri, *opener,
					  opt->memory_bytes, NULL);
}

static int read_all(const struct xvt_flight_options *opt, const struct xvt_flight_job *job,
		    struct xvt_opener **opener)
{
	struct xvt_session_options so = {
		.mode = XVT_ENABLE_OVERWRITE,
		.kind = XVT_SESSION_SNAPSHOT,
		.snapshot_before_ns = job->before_ns,
		.snapshot_since_ns = job->at_ns,
		.join_timeout_ns = job->timeout_ns,
		.stall_timeout_ns = job->timeout_ns,
		.memory_bytes = opt->memory_bytes,
		.max_bytes = job->most_bytes,
		.snapshot_ring_bytes = job->ring_bytes,
	};
	struct xvt_recording rec = {
		.command = "flight recorder", .output = job->output, .quiet = true, .signal_fd = -1
	};
	uint64_t moment_ns;
	int status = xvt_recording_begin(&rec, &so, NULL), err;

	if (status != XVT_EXIT_OK)
		return status;
	if (confine(opener, opt, rec.session) || !add_machines(&rec, job))
		return xvt_recording_end(&rec, XVT_EXIT_FAIL, 0);
	err = xvt_recording_take_snapshot(&rec);
	if (!xvt_session_snapshot_done(rec.session, &moment_ns))
		rec.failed = true;
	return xvt_recording_end(&rec, XVT_EXIT_OK, err);
}

static int read_all_with_opener(const struct xvt_flight_options *opt,
				const struct xvt_flight_job *job)
{
	struct xvt_opener *opener = NULL;
	int status;

	if (xvt_business_begin("flight recorder", &opt->business, &opener))
		return XVT_EXIT_FAIL;
	status = read_all(opt, job, &opener);
	xvt_opener_end(opener);
	return status;
}

int xvt_flight_job_run(const struct xvt_flight_job *job, const struct xvt_flight_options *opt,
		       int leave_fd)
{
	const pid_t parent = getpid(), child = fork();
	int status = 0, pidfd, err;

	if (child < 0)
		return XVT_EXIT_FAIL;
	if (!child) {
		close(leave_fd);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(XVT_EXIT_FAIL);
		prctl(PR_SET_NAME, "xvtrace-flight");
		_exit(read_all_with_opener(opt, job));
	}
	pidfd = xvt_child_open(child);
	err = xvt_child_await_work(pidfd, child, &status, XVT_CHILD_STILL_MS);
	if (err) {
		xvt_error("flight recorder",
			  "the process that reads them did nothing for %u s, since it was stopped "
			  "or a disk does not answer; it is killed",
			  XVT_CHILD_STILL_MS / 1000);
		xvt_child_kill(pidfd, child);
	}
	if (pidfd >= 0)
		close(pidfd);
	return !err && WIFEXITED(status) ? WEXITSTATUS(status) : XVT_EXIT_FAIL;
}
