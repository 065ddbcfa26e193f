// SPDX-License-Identifier: GPL-2.0
/* watch.c - see watch.h. */
#include "cli/watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "base/time.h"

#define FIRST_SHOWN_S	1
#define SHOWN_EVERY_US	500000
#define PER_CENT_OF_ALL 100

/* Set by the handler. `attention` is set after the others. */
static volatile sig_atomic_t caught;
static volatile int attention;

static const int watched[] = { SIGINT, SIGTERM, SIGALRM };

#define WATCHED (sizeof(watched) / sizeof(watched[0]))

static struct sigaction before[WATCHED];

static void on_signal(int number)
{
	if (number != SIGALRM)
		caught = number;
	attention = 1;
}

static void show(struct xvt_watch *w, uint64_t at_ns)
{
	const struct xvtrace_info *info = xvtrace_info(w->x->trace);
	uint64_t now = xvt_monotonic_ns(), elapsed = now - w->begin_ns;
	double all = (double)info->last_ns - (double)info->first_ns;
	double done = (double)at_ns - (double)info->first_ns;
	double per_cent = all > 0 ? done / all * PER_CENT_OF_ALL : 0;
	double rate = (double)(w->x->given - w->shown_given) / ((double)(now - w->shown_ns) / 1e9);

	per_cent = per_cent < 0 ? 0 : per_cent > PER_CENT_OF_ALL ? PER_CENT_OF_ALL : per_cent;
	fprintf(stderr,
		"\r%5" PRIu64 ".%" PRIu64 " s  %" PRIu64
		" events  %.1f M/s  at %.0f%% of the trace's time\033[K",
		elapsed / SECOND_NS, elapsed / 100000000u % 10, w->x->given, rate / 1e6, per_cent);
	fflush(stderr);
	w->line_open = true;
	w->shown_ns = now;
	w->shown_given = w->x->given;
}

static bool watch(void *arg, uint64_t ns)
{
	struct xvt_watch *w = arg;

	attention = 0;
	if (caught) {
		w->ended_by = caught;
		w->ns = ns;
		return false;
	}
	show(w, ns);
	return true;
}

void xvt_watch_begin(struct xvt_watch *w, struct xvt_export *x, bool shows)
{
	const struct itimerval every = { .it_value.tv_sec = FIRST_SHOWN_S,
					 .it_interval.tv_usec = SHOWN_EVERY_US };

	*w = (struct xvt_watch){ .x = x, .shows = shows, .begin_ns = xvt_monotonic_ns() };
	w->shown_ns = w->begin_ns;
	caught = 0;
	attention = 0;
	xvtrace_reader_watch(x->reader, &attention, watch, w);
	for (size_t i = 0; i < WATCHED; i++) {
		struct sigaction a = { .sa_handler = on_signal };

		/* A write that waits for a reader goes on after either; the second ^C ends it. */
		a.sa_flags = watched[i] == SIGALRM ? SA_RESTART : SA_RESTART | SA_RESETHAND;
		sigaction(watched[i], NULL, &before[i]);
		/* A job in the background of a shell ignores SIGINT, and goes on doing so. */
		if (before[i].sa_handler != SIG_IGN)
			sigaction(watched[i], &a, NULL);
	}
	if (shows)
		setitimer(ITIMER_REAL, &every, NULL);
}

void xvt_watch_end(struct xvt_watch *w)
{
	if (w->shows)
		setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	for (size_t i = 0; i < WATCHED; i++)
		sigaction(watched[i], &before[i], NULL);
	if (w->line_open)
		fprintf(stderr, "\r\033[K");
	w->line_open = false;
}
