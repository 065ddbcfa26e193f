// SPDX-License-Identifier: GPL-2.0
/*
 * flight.c - see flight.h. The machines and the folder lie in memory that recorder and process
 * share, which the recorder changes only while nothing is under way.
 */
#define _GNU_SOURCE
#include "cli/flight.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/business.h"
#include "cli/confine.h"
#include "cli/helper.h"
#include "cli/recording.h"
#include "trace/file_snapshot.h"

/* The smallest event has 16 bytes in a ring, and up to 56 in a trace: its own, and its place. */
#define GROWTH	 4u
#define OVERHEAD (256u << 10) /* clocks, names, counters, the index */

#define END_MS	 10000 /* time for a trace under way when the recording ends */

struct machine {
	char name[XVT_NAME_LEN];
	char path[PATH_MAX];
	uint32_t rings;
};

/* What is to be read. */
struct job {
	char output[PATH_MAX];
	uint64_t at_ns;
	uint64_t most_bytes;
	uint64_t ring_bytes; /* 0: all of each ring */
	size_t n;
	struct machine v[XVT_ARMED_MOST];
};

struct xvt_flight {
	struct xvt_helper helper;
	const struct xvt_recorder_options *opt;
	struct job *job;
	bool under_way;
};

/* ------------------------------------------------------------------ the child: one trace */

/* A machine that cannot be read is left out. Returns how many are there. */
static size_t add_machines(const struct xvt_recording *rec, const struct job *job)
{
	char why[512], text[600];
	size_t i, n = 0;

	for (i = 0; i < job->n; i++) {
		const struct machine *m = &job->v[i];

		if (!xvt_session_add_rings(rec->session, m->name, m->path, NULL, true, m->rings,
					   why, sizeof(why))) {
			n++;
			continue;
		}
		snprintf(text, sizeof(text), "%s is left out: %s", m->name, why);
		xvt_session_say(rec->session, NULL, text);
		xvt_warn(job->output, "%s", text);
	}
	return n;
}

/* The rules are the recorder's own: so are the regions, and the folder. */
static void confine(struct xvt_opener **opener, const struct xvt_recorder_options *opt,
		    const struct xvt_session *s)
{
	struct xvt_rules rules = { 0 };

	if (*opener && xvt_business_tell(*opener, opt, s, NULL, NULL, &rules)) {
		xvt_opener_end(*opener);
		*opener = NULL;
	}
	xvt_rules_free(&rules);
	xvt_confine_recorder(opt->machines.libvirt_uri, *opener, opt->memory_bytes);
}

static int read_all(const struct xvt_recorder_options *opt, const struct job *job,
		    struct xvt_opener **opener)
{
	struct xvt_session_options so = {
		.mode = XVT_ENABLE_OVERWRITE,
		.kind = XVT_SESSION_SNAPSHOT,
		.snapshot_before_ns = opt->snapshots.before_ns,
		.snapshot_since_ns = job->at_ns,
		.join_timeout_ns = opt->stall_timeout_ns,
		.stall_timeout_ns = opt->stall_timeout_ns,
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
	confine(opener, opt, rec.session);
	if (!add_machines(&rec, job))
		return xvt_recording_end(&rec, XVT_EXIT_FAIL, 0);
	err = xvt_recording_take_snapshot(&rec);
	if (!xvt_session_snapshot_done(rec.session, &moment_ns))
		rec.failed = true;
	return xvt_recording_end(&rec, XVT_EXIT_OK, err);
}

static int read_all_with_opener(const struct xvt_recorder_options *opt, const struct job *job)
{
	struct xvt_opener *opener = xvt_business_begin("flight recorder", opt);
	const int status = read_all(opt, job, &opener);

	xvt_opener_end(opener);
	return status;
}

/* ------------------------------------------------------------------ the process */

/* Returns the exit status of a child that reads all machines. */
static int read_apart(const struct xvt_flight *f, int sock)
{
	const pid_t parent = getpid(), child = fork();
	int status = 0;

	if (child < 0)
		return XVT_EXIT_FAIL;
	if (!child) {
		close(sock);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(XVT_EXIT_FAIL);
		prctl(PR_SET_NAME, "xvtrace-flight");
		_exit(read_all_with_opener(f->opt, f->job));
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : XVT_EXIT_FAIL;
}

static void answer_all(int fd, void *arg)
{
	char ask;

	while (recv(fd, &ask, sizeof(ask), 0) == sizeof(ask)) {
		const int status = read_apart(arg, fd);

		if (send(fd, &status, sizeof(status), 0) != sizeof(status))
			return;
	}
}

/* ------------------------------------------------------------------ the recorder */

int xvt_flight_new(struct xvt_flight **out, const struct xvt_recorder_options *opt)
{
	struct xvt_flight *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->opt = opt;
	f->job = mmap(NULL, sizeof(*f->job), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (f->job == MAP_FAILED) {
		free(f);
		return -ENOMEM;
	}
	err = xvt_helper_start(&f->helper, xvt_confine_kept(), answer_all, f);
	if (err) {
		munmap(f->job, sizeof(*f->job));
		free(f);
	} else {
		*out = f;
	}
	return err;
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
	munmap(f->job, sizeof(*f->job));
	free(f);
}

/* Fills in the machines that are armed. Returns the number of the others. */
static size_t list(struct job *job, const struct xvt_armed *machines)
{
	size_t i;

	job->n = 0;
	for (i = 0; i < xvt_armed_count(machines); i++) {
		const struct xvt_armed_machine *m = xvt_armed_at(machines, i);
		struct machine *to = &job->v[job->n];

		if (m->why[0] || strlen(m->path) >= sizeof(to->path))
			continue;
		memcpy(to->name, m->name, sizeof(to->name));
		memcpy(to->path, m->path, strlen(m->path) + 1);
		to->rings = m->rings_most;
		job->n++;
	}
	return i - job->n;
}

/* Each ring's share of a trace of most_bytes, so that it has the newest events of all of them. */
static uint64_t ring_bytes(const struct xvt_armed *machines, uint64_t most_bytes)
{
	uint64_t rings;
	const uint64_t held = xvt_armed_held(machines, &rings);
	const uint64_t fits = most_bytes > OVERHEAD ? (most_bytes - OVERHEAD) / GROWTH : 1;

	return most_bytes && held > fits && rings ? fits / rings : 0;
}

int xvt_flight_take(struct xvt_flight *f, const struct xvt_armed *machines, const char *folder,
		    uint64_t at_ns, uint64_t most_bytes, size_t *left_out)
{
	struct job *job = f->job;
	int err;

	*left_out = 0;
	if (f->under_way)
		return -EBUSY;
	if ((size_t)snprintf(job->output, sizeof(job->output), "%s/" XVT_SNAPSHOT_FLIGHT, folder) >=
	    sizeof(job->output))
		return -ENAMETOOLONG;
	job->at_ns = at_ns;
	job->most_bytes = most_bytes;
	*left_out = list(job, machines);
	job->ring_bytes = ring_bytes(machines, most_bytes);
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
