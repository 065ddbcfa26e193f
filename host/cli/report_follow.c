// SPDX-License-Identifier: GPL-2.0
/*
 * report_follow.c - see report_follow.h. The file is looked at again and again. The new chunks are
 * a batch: their events are sorted, with a reader of their own. A late event is printed where it
 * came, with its flag.
 */
#define _GNU_SOURCE
#include "cli/report_follow.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "base/time.h"
#include "select/beside.h"
#include "trace/set.h"
#include "trace/set_name.h"

#define LOOK_MS	 200u
#define NOBODY	 10u /* looks at a file alone that is empty and not locked: it may be so new */
#define WORK_MAX 4u  /* the wait is at least so many times what a batch took */

struct follow {
	const struct xvt_select *s;
	struct xvt_export *x;
	struct xvt_out *out;
	uint64_t took_ns;   /* by the last batch */
	const char *folder; /* of the set; NULL: a file alone */
	uint32_t number;    /* of its file that is read */
};

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

static void catch_signals(void)
{
	const struct sigaction act = { .sa_handler = stop };

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static void wait_a_moment(const struct follow *f)
{
	const uint64_t least = LOOK_MS * UINT64_C(1000000), work = WORK_MAX * f->took_ns;
	const uint64_t ns = work > least ? work : least;
	const struct timespec t = xvt_timespec(ns);

	if (!stopped)
		nanosleep(&t, NULL);
}

static bool is_enough(const struct follow *f)
{
	return stopped || (f->s->limit > 0 && f->x->events >= (uint64_t)f->s->limit);
}

/* Prints what came. Returns an exit status. */
static int print_batch(struct follow *f)
{
	struct xvt_select s = *f->s;
	struct xvt_export *x = f->x;
	const uint64_t begin = xvt_monotonic_ns();
	int status, err;

	if (s.limit)
		s.limit -= (int64_t)x->events;
	if (!x->first_ns)
		x->first_ns = xvtrace_info(x->trace)->first_ns;
	status = xvt_select_begin(&s, x);
	if (status == -EAGAIN || (!status && x->relative && !x->first_ns))
		goto out;
	if (status)
		return status;
	err = xvt_export_text(x, f->out);
	if (!err)
		err = xvt_out_flush(f->out);
	if (err) {
		xvt_error(f->out->err ? "standard output" : xvtrace_info(x->trace)->path, "%s",
			  strerror(-err));
		status = XVT_EXIT_FAIL;
	}
	f->took_ns = xvt_monotonic_ns() - begin;
out:
	xvtrace_reader_free(x->reader);
	x->reader = NULL;
	return status == -EAGAIN ? XVT_EXIT_OK : status;
}

/* The number of the set's first file behind `number`; 0: there is none. */
static uint32_t next_of(const char *folder, uint32_t number)
{
	struct xvt_set_list files;
	uint32_t next = 0;

	if (xvt_set_list(folder, &files))
		return 0;
	for (size_t i = files.count; i-- > 0 && files.numbers[i] > number;)
		next = files.numbers[i];
	xvt_set_list_free(&files);
	return next;
}

/* A recorder locks a file of a set after it has made it. The recorder has locked the folder before.
 */
static bool is_written(const struct follow *f, const char *path)
{
	return xvt_beside_writer(path) ||
	       (f->folder && xvt_beside_recorder(f->folder) && !next_of(f->folder, f->number));
}

/* A recorder that has just begun a file has not written its first chunk. Returns false if no
 * recorder will. */
static bool wait_for_begin(const struct follow *f, const char *path)
{
	unsigned int looks = 0;
	struct stat st;

	while (!stopped && !stat(path, &st) && S_ISREG(st.st_mode) && !st.st_size) {
		if (!is_written(f, path) && (f->folder || looks++ == NOBODY))
			return false;
		wait_a_moment(f);
	}
	return true;
}

/* Prints the events of the open trace up to its end. Returns an exit status. */
static int follow_trace(struct follow *f, const char *path)
{
	const struct xvtrace_info *info;
	bool written = true;
	int status = XVT_EXIT_OK, got = 0;

	while (!status && !is_enough(f)) {
		got = xvtrace_grow(f->x->trace);
		info = xvtrace_info(f->x->trace);
		if (got > 0)
			status = print_batch(f);
		if (got < 0 || info->ended || (!got && !written))
			break;
		/* The last chunks of a recorder are there once it is gone. */
		written = is_written(f, path);
		if (written)
			wait_a_moment(f);
	}
	if (got < 0) {
		xvt_error(path, "%s", strerror(-got));
		return XVT_EXIT_FAIL;
	}
	if (!status && !is_enough(f) && (xvt_say_damage(f->x->trace, 0, f->s->quiet)))
		status = XVT_EXIT_FAIL;
	return status;
}

static int follow_file(struct follow *f, const char *path)
{
	struct xvtrace_error error;
	int status;

	if (!wait_for_begin(f, path))
		return XVT_EXIT_OK;
	if (stopped)
		return XVT_EXIT_OK;
	if (xvtrace_open(&f->x->trace, path, XVTRACE_GROWING, &error)) {
		xvt_error(path, "%s", error.text);
		return XVT_EXIT_FAIL;
	}
	status = follow_trace(f, path);
	xvtrace_close(f->x->trace);
	f->x->trace = NULL;
	return status;
}

/* The files of a set from that number on, one after the other. A recorder makes the next one before
 * it ends one. */
static int follow_set(struct follow *f, const char *folder, uint32_t number)
{
	uint32_t next;
	int status = XVT_EXIT_OK;
	char path[4096];
	struct xvt_error why;

	if (!number) {
		xvt_set_why_none(folder, &why);
		xvt_error(folder, "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	for (; number && !status && !is_enough(f); number = next) {
		if (!xvt_set_path(folder, number, path, sizeof(path)))
			return XVT_EXIT_FAIL;
		f->folder = folder;
		f->number = number;
		status = follow_file(f, path);
		next = next_of(folder, number);
		if (next && next - 1 != number && !f->s->quiet)
			xvt_warn(folder,
				 "%u files before " XVT_SET_NAME
				 " were removed before they were read",
				 next - number - 1, next);
	}
	return status;
}

/* A folder, or a file of a set, whose next ones follow. */
static int follow_path(struct follow *f, const char *path)
{
	const char *name = strrchr(path, '/');
	char folder[4096] = ".";

	if (xvt_set_is_folder(path))
		return follow_set(f, path, next_of(path, 0));
	if (!xvt_set_number(name ? name + 1 : path))
		return follow_file(f, path);
	if (name)
		snprintf(folder, sizeof(folder), "%.*s", (int)(name - path + 1), path);
	return follow_set(f, folder, xvt_set_number(name ? name + 1 : path));
}

int xvt_report_follow(const struct xvt_select *select, const char *path, struct xvt_export *x)
{
	static struct xvt_select s;
	static struct xvt_out out;
	struct follow f = { .s = &s, .x = x, .out = &out };
	int status, err;

	s = *select;
	s.follow = true;
	s.no_reclock = true; /* the trace has no end */
	err = xvt_out_open(&out, "-");
	if (err) {
		xvt_error("standard output", "%s", strerror(-err));
		return XVT_EXIT_FAIL;
	}
	catch_signals();
	status = follow_path(&f, path);
	if (xvt_out_close(&out) && !status) {
		xvt_error("standard output", "%s", strerror(-out.err));
		status = XVT_EXIT_FAIL;
	}
	return status;
}
