// SPDX-License-Identifier: GPL-2.0
/* interactive.c - see interactive.h: the keys, the selected machine, and when to ask again. */
#define _GNU_SOURCE
#include "top/interactive.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "top/screen.h"
#include "top/tint.h"

struct view {
	struct xvt_top *t;
	uint64_t id; /* of the selected machine; 0: none */
	bool rings;  /* those of the selected machine are shown */
	bool help;
	bool paused;
	bool quit;
	size_t scroll;	 /* lines above the screen */
	size_t row;	 /* of the next line, in the whole text */
	size_t selected; /* the line of the selected machine */
	bool draws;	 /* else the lines are only counted */
	bool colour;	 /* is wanted */
	struct xvt_top_heads heads;
};

static const char *const help[] = {
	"Keys",
	"",
	"  q            end",
	"  < >          sort by the column before, or behind",
	"  R            sort the other way round",
	"  arrows, j k  select a machine; page up and down by pages",
	"  r, Enter     show the rings of the selected machine, and go back",
	"  p, space     pause: nothing is asked, and go on",
	"  ? h          this page, and go back",
	"",
	"xvtrace-top(1) has the meaning of the columns.",
};

/* ------------------------------------------------------------------ signals */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))
static struct sigaction actions_before[SIGNALS];
static volatile sig_atomic_t ended_by;

static void on_end(int signal)
{
	ended_by = signal;
}

/* Handlers for the signals that end the program, which are blocked except while it waits. The
 * library handles SIGWINCH and SIGTSTP. */
static void take_signals(sigset_t *before, sigset_t *blocked)
{
	const struct sigaction end = { .sa_handler = on_end };
	size_t i;

	sigemptyset(blocked);
	sigaddset(blocked, SIGWINCH);
	sigaddset(blocked, SIGTSTP);
	for (i = 0; i < SIGNALS; i++) {
		sigaddset(blocked, signals[i]);
		sigaction(signals[i], NULL, &actions_before[i]);
		if (actions_before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &end, NULL);
	}
	sigprocmask(SIG_BLOCK, blocked, before);
}

/* Where a signal has come, the program ends by it. */
static void give_signals_back(const sigset_t *before)
{
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &actions_before[i], NULL);
	sigprocmask(SIG_SETMASK, before, NULL);
	if (ended_by)
		raise(ended_by);
}

/* ------------------------------------------------------------------ the selected machine */

/* The machine at that place over all recorders, and its recorder; NULL: behind the last one. */
static const struct xvt_top_machine *machine_at(const struct view *v, size_t at,
						const struct xvt_top_recorder **r)
{
	size_t i;

	for (i = 0; i < v->t->n; i++) {
		*r = &v->t->recorders[i];
		if (at < (*r)->n)
			return &(*r)->machines[at];
		at -= (*r)->n;
	}
	return NULL;
}

/* Returns the selected machine, or NULL. *at: its place, else 0. */
static const struct xvt_top_machine *selected(const struct view *v, size_t *at,
					      const struct xvt_top_recorder **r)
{
	const struct xvt_top_machine *m;

	for (*at = 0; (m = machine_at(v, *at, r)); ++*at) {
		if (m->id == v->id)
			return m;
	}
	*at = 0;
	return NULL;
}

/* Select the machine `by` places further down, or the first one where none is selected. */
static void move(struct view *v, long by)
{
	const struct xvt_top_recorder *r;
	const struct xvt_top_machine *m;
	size_t at, all = 0, i;

	for (i = 0; i < v->t->n; i++)
		all += v->t->recorders[i].n;
	if (!selected(v, &at, &r))
		by = 0;
	if (by < 0)
		at -= (size_t)-by < at ? (size_t)-by : at;
	else
		at += (size_t)by;
	m = machine_at(v, at < all || !all ? at : all - 1, &r);
	if (m)
		v->id = m->id;
}

/* ------------------------------------------------------------------ the screen */

static void put_line(struct view *v, enum xvt_screen_style style, const char *text, size_t len)
{
	const size_t rows = xvt_screen_rows() - 1;

	if (v->draws && v->row >= v->scroll && v->row - v->scroll < rows)
		xvt_screen_line(v->row - v->scroll, style, text, len);
	v->row++;
}

/* State and loss of the machine in the line that was just put. */
static void tint(const struct view *v, const struct xvt_top_machine *m, const char *text,
		 size_t len)
{
	const size_t rows = xvt_screen_rows() - 1, row = v->row - 1;
	struct xvt_top_tint tints[XVT_TOP_TINTS];
	size_t n, i;

	if (!v->colour || !v->draws || row < v->scroll || row - v->scroll >= rows)
		return;
	n = xvt_top_tints(tints, &v->heads, m, text, len);
	for (i = 0; i < n; i++)
		xvt_screen_tint(row - v->scroll, tints[i].at, tints[i].letters, tints[i].colour);
}

static void on_line(void *arg, enum xvt_top_kind kind, const struct xvt_top_machine *machine,
		    const char *text, size_t len)
{
	struct view *v = arg;

	if (machine && machine->id == v->id) {
		v->selected = v->row;
		put_line(v, XVT_SCREEN_REVERSE, text, len);
	} else {
		put_line(v, kind == XVT_TOP_LINE_HEAD ? XVT_SCREEN_BOLD : XVT_SCREEN_PLAIN, text,
			 len);
		if (kind == XVT_TOP_LINE_HEAD)
			xvt_top_heads(&v->heads, text, len);
		if (machine)
			tint(v, machine, text, len);
	}
}

static void put_lines(struct view *v, bool draws)
{
	const struct xvt_top_recorder *r;
	const struct xvt_top_machine *m;
	size_t at, i;

	v->row = 0;
	v->draws = draws;
	m = v->rings ? selected(v, &at, &r) : NULL;
	for (i = 0; v->help && i < sizeof(help) / sizeof(help[0]); i++)
		put_line(v, i ? XVT_SCREEN_PLAIN : XVT_SCREEN_BOLD, help[i], strlen(help[i]));
	if (v->help)
		return;
	if (m)
		xvt_top_show_rings(r, m, on_line, v);
	else
		xvt_top_show(v->t, on_line, v);
}

/* The selected machine is on the screen, and no line of it is empty that need not be. */
static void set_scroll(struct view *v)
{
	const size_t rows = xvt_screen_rows() - 1;

	if (!v->rings && !v->help && v->id) {
		if (v->selected < v->scroll)
			v->scroll = v->selected;
		if (v->selected >= v->scroll + rows)
			v->scroll = v->selected - rows + 1;
	}
	if (v->scroll + rows > v->row)
		v->scroll = v->row > rows ? v->row - rows : 0;
}

static void draw(struct view *v)
{
	char text[128];
	int len;

	put_lines(v, false);
	set_scroll(v);
	xvt_screen_clear();
	put_lines(v, true);
	len = snprintf(text, sizeof(text), "q quit  ? help  sorted by %s%s%s",
		       xvt_top_column_name(v->t->sort), v->t->reverse ? ", reversed" : "",
		       v->paused ? "  PAUSED" : "");
	xvt_screen_line(xvt_screen_rows() - 1, XVT_SCREEN_BOLD, text, (size_t)len);
	xvt_screen_show();
}

/* ------------------------------------------------------------------ keys */

static void sort_by(struct view *v, size_t columns_on)
{
	v->t->sort = (v->t->sort + columns_on) % (XVT_TOP_COLUMNS + 1);
	xvt_top_sort(v->t);
}

static void toggle_rings(struct view *v)
{
	if (!v->id)
		move(v, 0);
	v->rings = !v->rings;
	v->scroll = 0;
}

/* Up and down: the rings of a machine scroll, machines are selected. */
static void go(struct view *v, long by)
{
	if (!v->rings && !v->help)
		move(v, by);
	else if (by < 0)
		v->scroll -= (size_t)-by < v->scroll ? (size_t)-by : v->scroll;
	else
		v->scroll += (size_t)by;
}

static void on_key(struct view *v, int key)
{
	const long page = (long)xvt_screen_rows() - 2 > 1 ? (long)xvt_screen_rows() - 2 : 1;

	switch (key) {
	case 'q':
		v->quit = true;
		break;
	case '<':
		sort_by(v, XVT_TOP_COLUMNS);
		break;
	case '>':
		sort_by(v, 1);
		break;
	case 'R':
		v->t->reverse = !v->t->reverse;
		xvt_top_sort(v->t);
		break;
	case 'r':
	case '\n':
	case '\r':
		toggle_rings(v);
		break;
	case 'p':
	case ' ':
		v->paused = !v->paused;
		break;
	case '?':
	case 'h':
		v->help = !v->help;
		v->scroll = 0;
		break;
	case 'k':
	case XVT_KEY_UP:
		go(v, -1);
		break;
	case 'j':
	case XVT_KEY_DOWN:
		go(v, 1);
		break;
	case XVT_KEY_PAGE_UP:
		go(v, -page);
		break;
	case XVT_KEY_PAGE_DOWN:
		go(v, page);
		break;
	}
}

/* ------------------------------------------------------------------ again and again */

/* Shows, and serves keys, until that time or the end. */
static void serve_until(struct view *v, uint64_t end_ns, const sigset_t *before)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t now;

	for (;;) {
		int key;

		while ((key = xvt_screen_key()) != XVT_KEY_NONE)
			on_key(v, key);
		/* The terminal has gone. */
		if (input.revents & (POLLHUP | POLLERR | POLLNVAL))
			v->quit = true;
		now = xvt_monotonic_ns();
		if (v->quit || ended_by || (now >= end_ns && !v->paused))
			return;
		draw(v);
		end_ns = now >= end_ns ? now + SECOND_NS : end_ns;
		input.revents = 0;
		ppoll(&input, 1,
		      &(struct timespec){ .tv_sec = (time_t)((end_ns - now) / SECOND_NS),
					  .tv_nsec = (long)((end_ns - now) % SECOND_NS) },
		      before);
	}
}

/* A signal that ends the program also ends the wait for an answer. */
static int refresh(struct view *v, const char *control, const sigset_t *before,
		   const sigset_t *blocked)
{
	sigset_t waiting = *before;
	int err;

	sigaddset(&waiting, SIGWINCH);
	sigaddset(&waiting, SIGTSTP);
	sigprocmask(SIG_SETMASK, &waiting, NULL);
	err = xvt_top_refresh(v->t, control);
	sigprocmask(SIG_BLOCK, blocked, NULL);
	return v->t->n ? 0 : err;
}

int xvt_top_screen(struct xvt_top *t, const char *control, uint64_t delay_ns, uint64_t count,
		   bool colour, struct xvt_error *why)
{
	struct view v = { .t = t, .colour = colour };
	sigset_t before, blocked;
	uint64_t n;
	int err;

	take_signals(&before, &blocked);
	err = xvt_screen_open(why);
	if (err) {
		give_signals_back(&before);
		return err;
	}
	for (n = 1; !err; n++) {
		serve_until(&v, xvt_monotonic_ns() + delay_ns, &before);
		if (v.quit || ended_by || n == count)
			break;
		err = refresh(&v, control, &before, &blocked);
	}
	xvt_screen_close();
	give_signals_back(&before);
	return err;
}
