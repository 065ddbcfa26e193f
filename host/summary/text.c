// SPDX-License-Identifier: GPL-2.0
/* text.c - a summary on one screen. */
#include "summary/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"

#define MACHINES_SHOWN 8u /* those with the most events */
#define NAME_MOST      13u
#define NAME_LEAST     8u
#define RATE_WIDTH     11u /* beside a strip */

struct text {
	const struct xvt_summary *s;
	const struct xvt_summary_look *look;
	struct xvt_out *o;
	const struct xvt_summary_machine *shown[MACHINES_SHOWN];
	size_t count, machines;
	unsigned int name_width;
	unsigned int column; /* of a list of items */
};

/* Letters of clean text, in cells of a terminal. */
static unsigned int letters_of(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += ((uint8_t)*text & 0xc0) != 0x80;
	return n;
}

static void blanks(struct xvt_out *o, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		xvt_out_char(o, ' ');
}

static unsigned int name_width(struct xvtrace *trace)
{
	const unsigned int machines = xvtrace_info(trace)->machines;
	unsigned int width = NAME_LEAST;

	for (unsigned int i = 0; i < machines && width < NAME_MOST; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(trace, i);
		const unsigned int letters = m ? letters_of(m->name) : 0;

		width = letters > width ? letters : width;
	}
	return width < NAME_MOST ? width : NAME_MOST;
}

unsigned int xvt_summary_cells(struct xvtrace *trace, unsigned int width)
{
	return width - RATE_WIDTH - 2 - name_width(trace);
}

/* Names are cut, so that columns stay columns. */
static void put_name(struct text *t, const struct xvt_summary_machine *m)
{
	unsigned int n = 0;

	if (t->look->colour)
		xvt_out_printf(t->o, "\x1b[%sm", xvt_machine_colour(m->of));
	for (const char *c = m->of->name; *c; c++) {
		n += ((uint8_t)*c & 0xc0) != 0x80;
		if (n > t->name_width)
			break;
		xvt_out_char(t->o, *c);
	}
	if (t->look->colour)
		xvt_out_str(t->o, "\x1b[0m");
	blanks(t->o, n, t->name_width + 2);
}

static void begin_list(struct text *t, const struct xvt_summary_machine *m)
{
	put_name(t, m);
	t->column = t->name_width + 2;
}

/* One more item of a list, on the next line where it does not fit. */
static void put_item(struct text *t, const char *item, bool last)
{
	const unsigned int letters = letters_of(item) + !last;

	if (t->column > t->name_width + 2) {
		if (t->column + 1 + letters > t->look->width) {
			xvt_out_char(t->o, '\n');
			t->column = 0;
			blanks(t->o, 0, t->name_width + 2);
			t->column = t->name_width + 2;
		} else {
			xvt_out_char(t->o, ' ');
			t->column++;
		}
	}
	xvt_out_str(t->o, item);
	xvt_out_str(t->o, last ? "\n" : ",");
	t->column += letters;
}

/* Begins a figure or an item, which is made apart: its width is not known before. */
static struct xvt_out *begin_made(void)
{
	static struct xvt_out made;

	made.used = 0;
	made.fd = -1;
	return &made;
}

/* Puts what was made into a column of this width, at its right. */
static void right(struct xvt_out *o, unsigned int width, const struct xvt_out *made)
{
	if (made->used >= width)
		xvt_out_char(o, ' ');
	blanks(o, (unsigned int)made->used, width);
	xvt_out_bytes(o, made->buf, made->used);
}

static void put_count(struct xvt_out *o, unsigned int width, uint64_t n)
{
	struct xvt_out *made = begin_made();

	xvt_out_count(made, n);
	right(o, width, made);
}

/* -- choice ------------------------------------------------------------------------- */

static int by_events(const void *a, const void *b)
{
	const struct xvt_summary_machine *const *l = a, *const *r = b;
	const uint64_t x = (*l)->counts.events, y = (*r)->counts.events;

	return x != y ? (x > y ? -1 : 1) : (*l < *r ? -1 : *l > *r);
}

static int by_number(const void *a, const void *b)
{
	const struct xvt_summary_machine *const *l = a, *const *r = b;

	return *l < *r ? -1 : *l > *r;
}

/* Take the machines with the most events, and show them in the order of their numbers. */
static void choose(struct text *t)
{
	for (unsigned int i = 0; i < t->s->info->machines; i++) {
		const struct xvt_summary_machine *m = &t->s->machines[i];

		if (!m->of)
			continue;
		t->machines++;
		if (t->count < MACHINES_SHOWN) {
			t->shown[t->count++] = m;
		} else {
			qsort(t->shown, t->count, sizeof(t->shown[0]), by_events);
			if (m->counts.events > t->shown[t->count - 1]->counts.events)
				t->shown[t->count - 1] = m;
		}
	}
	qsort(t->shown, t->count, sizeof(t->shown[0]), by_number);
	t->name_width = name_width(t->s->trace);
}

/* -- blocks ------------------------------------------------------------------------- */

/* "510,012 events of 2 machines and the host in 7.36 s, lost 0" */
static void put_sums(struct xvt_out *o, const struct text *t)
{
	const struct xvtrace_counts *all = &t->s->counts;
	const size_t guests = t->machines - t->s->has_host;

	xvt_out_count(o, all->events);
	xvt_out_printf(o, " event%s of %zu machine%s%s", all->events == 1 ? "" : "s", guests,
		       guests == 1 ? "" : "s", t->s->has_host ? " and the host" : "");
	if (all->events) {
		xvt_out_str(o, " in ");
		xvt_out_duration(o, all->last_ns - all->first_ns);
	}
	xvt_out_str(o, ", lost ");
	if (all->lost && xvt_summary_lost_at_least(t->s))
		xvt_out_str(o, "at least ");
	xvt_out_count(o, all->lost);
}

static void put_head(struct text *t)
{
	const struct xvt_summary *s = t->s;
	const struct xvtrace_counts *all = &s->counts;
	struct xvt_out *o = t->o, *made = begin_made();
	unsigned int letters;

	put_sums(made, t);
	made->buf[made->used] = '\0';
	letters = letters_of(made->buf) + letters_of(s->info->path) + 2;
	xvt_out_text(o, s->info->path, strlen(s->info->path));
	xvt_out_str(o, letters > t->look->width ? ":\n" : ": ");
	xvt_out_bytes(o, made->buf, made->used);
	if (all->events) {
		xvt_out_str(o, "\n");
		xvt_out_date(o, xvtrace_wall_ns(s->trace, all->first_ns), ' ', 3);
		xvt_out_str(o, " to ");
		xvt_out_date(o, xvtrace_wall_ns(s->trace, all->last_ns), ' ', 3);
		xvt_out_printf(o, " (%.3f to %.3f)", (double)all->first_ns / 1e9,
			       (double)all->last_ns / 1e9);
	}
	if (!s->info->ended)
		xvt_out_str(o, "\nnot cleanly ended: losses are at least this");
	xvt_out_char(o, '\n');
}

static void put_strip(struct text *t, const struct xvt_summary_machine *m)
{
	static char strip[XVT_STRIP_TEXT];
	const size_t len = xvt_strip_text(&m->strip, t->look->utf8, strip);
	const double seconds = (double)m->strip.cell_ns / 1e9;

	put_name(t, m);
	xvt_out_bytes(t->o, strip, len);
	put_count(t->o, RATE_WIDTH, (uint64_t)((double)xvt_strip_most(&m->strip) / seconds + 0.5));
	xvt_out_char(t->o, '\n');
}

static void put_strips(struct text *t)
{
	const bool utf8 = t->look->utf8;
	struct xvt_out *o = t->o, *made = begin_made();

	xvt_out_str(made, "EVENTS OVER TIME, ");
	xvt_out_duration(made, t->s->cell_ns);
	xvt_out_printf(made, " a cell (%s none, blank paused, %s ended)", utf8 ? "·" : ".",
		       utf8 ? "×" : "x");
	made->buf[made->used] = '\0';
	xvt_out_char(o, '\n');
	xvt_out_bytes(o, made->buf, made->used);
	blanks(o, letters_of(made->buf), t->name_width + 2 + t->s->cells + RATE_WIDTH - 6);
	xvt_out_str(o, "MOST/S\n");
	for (size_t i = 0; i < t->count; i++)
		put_strip(t, t->shown[i]);
}

static void put_bound(struct xvt_out *o, const struct xvt_spread *bounds, uint64_t ns)
{
	struct xvt_out *made = begin_made();

	if (bounds->count)
		xvt_out_bound(made, ns, " ");
	else
		xvt_out_char(made, '-');
	right(o, 9, made);
}

static void put_paused(struct xvt_out *o, uint64_t ns)
{
	struct xvt_out *made = begin_made();

	if (ns)
		xvt_out_duration(made, ns);
	else
		xvt_out_char(made, '-');
	right(o, 8, made);
}

static void put_figures(struct text *t, const struct xvt_summary_machine *m)
{
	const double events = (double)m->counts.events;
	/* What a guest's kernel overwrote was not counted: at least so many. */
	const bool least = m->counts.lost && m->of && m->of->ftrace;
	struct xvt_out *o = t->o;

	put_name(t, m);
	put_count(o, 12, m->counts.events);
	if (t->look->colour && m->counts.lost)
		xvt_out_str(o, "\x1b[1;31m");
	put_count(o, least ? 9 : 10, m->counts.lost);
	if (least)
		xvt_out_char(o, '+');
	if (t->look->colour && m->counts.lost)
		xvt_out_str(o, "\x1b[0m");
	put_paused(o, m->paused_ns);
	put_count(o, 10, m->nameless);
	put_bound(o, &m->bounds, xvt_spread_median(&m->bounds));
	put_bound(o, &m->bounds, m->bounds.largest);
	if (m->counts.events)
		xvt_out_printf(o, "%6.1f%%\n", 100 * (double)m->flagged / events);
	else
		xvt_out_str(o, "      -\n");
}

static void put_table(struct text *t)
{
	struct xvt_out *o = t->o;

	xvt_out_str(o, "\nMACHINE");
	blanks(o, 7, t->name_width + 2);
	xvt_out_printf(o, "%12s%10s%8s%10s%9s%9s%7s\n", "EVENTS", "LOST", "PAUSED", "NAMELESS",
		       "CLOCK", "WORST", "FLAGS");
	for (size_t i = 0; i < t->count; i++)
		put_figures(t, t->shown[i]);
	if (t->machines > t->count)
		xvt_out_printf(o, "and %zu more with fewer events; --json has all\n",
			       t->machines - t->count);
}

/* Whether an event of that name is there twice, of two systems. */
static bool is_twofold(const struct xvt_summary_machine *m, const struct xvtrace_type *type)
{
	unsigned int n = 0;

	for (size_t i = 0; i < m->type_count; i++)
		n += strcmp(m->types[i]->type->name, type->name) == 0;
	return n > 1;
}

static void put_events(struct text *t, const struct xvt_summary_machine *m)
{
	char item[256], name[160];

	begin_list(t, m);
	for (size_t i = 0; i < m->type_count; i++) {
		const struct xvtrace_type *type = m->types[i]->type;
		struct xvt_out *made = begin_made();

		snprintf(name, sizeof(name), "%s%s%s", is_twofold(m, type) ? type->system : "",
			 is_twofold(m, type) ? ":" : "", type->name);
		xvt_out_text(made, name, strlen(name));
		xvt_out_char(made, ' ');
		xvt_out_count(made, m->types[i]->count);
		snprintf(item, sizeof(item), "%.*s", (int)made->used, made->buf);
		put_item(t, item, i + 1 == m->type_count);
	}
}

static void put_tasks(struct text *t, const struct xvt_summary_machine *m)
{
	char item[256];

	begin_list(t, m);
	for (size_t i = 0; i < m->task_count; i++) {
		const struct xvt_summary_task *task = &m->tasks[i];
		struct xvt_out *made = begin_made();

		xvt_out_str(made, task->comm[0] ? task->comm : "<...>");
		xvt_out_printf(made, "-%d ", task->pid);
		if (m->by_switch)
			xvt_out_duration(made, task->value);
		else
			xvt_out_count(made, task->value);
		snprintf(item, sizeof(item), "%.*s", (int)made->used, made->buf);
		put_item(t, item, i + 1 == m->task_count && m->by_switch);
	}
	if (!m->by_switch)
		put_item(t, "by events: it has no sched_switch", true);
}

static void put_lists(struct text *t)
{
	bool any = false;

	if (t->s->counts.events)
		xvt_out_str(t->o, "\nMOST FREQUENT EVENTS\n");
	for (size_t i = 0; i < t->count; i++)
		if (t->shown[i]->type_count)
			put_events(t, t->shown[i]);
	for (size_t i = 0; i < t->count; i++) {
		if (!t->shown[i]->task_count)
			continue;
		if (!any)
			xvt_out_str(t->o, "\nBUSIEST TASKS, by their run time\n");
		any = true;
		put_tasks(t, t->shown[i]);
	}
}

/* -- what is not there -------------------------------------------------------------- */

static void put_time(struct text *t, struct xvt_out *made, uint64_t ns)
{
	xvt_out_duration(made, ns);
	xvt_out_char(made, '\0');
	put_item(t, made->buf, false);
}

static void put_rest(struct text *t, const char *what, uint64_t ns)
{
	struct xvt_out *made;

	if (!ns)
		return;
	made = begin_made();
	xvt_out_str(made, what);
	put_time(t, made, ns);
}

static void put_takers(struct text *t, const struct xvt_summary_machine *m,
		       const struct xvt_summary_taken *taken)
{
	struct xvt_out *made = begin_made();

	begin_list(t, m);
	if (!taken->told) {
		put_item(t, "cannot be told", true);
		return;
	}
	xvt_out_duration(made, taken->taken_ns);
	xvt_out_str(made, taken->least ? " at least" : "");
	xvt_out_char(made, '\0');
	put_item(t, made->buf, false);
	for (size_t i = 0; i < taken->count; i++) {
		const struct xvt_host_thread *thread = taken->takers[i].thread;

		made = begin_made();
		xvt_out_printf(made, "%s%s ", thread->name,
			       thread->recorder ? " (the recording)" : "");
		put_time(t, made, taken->takers[i].ns);
	}
	put_rest(t, "asleep in the VMM ", taken->asleep_ns);
	put_rest(t, "blocked in the host's kernel ", taken->blocked_ns);
	put_rest(t, "stopped by a signal or a debugger ", taken->stopped_ns);
	made = begin_made();
	xvt_out_printf(
		made, "by the recording %s%.2f%% of their time", taken->least ? "at least " : "",
		taken->vcpu_ns ? 100.0 * (double)taken->recorder_ns / (double)taken->vcpu_ns : 0.0);
	xvt_out_char(made, '\0');
	put_item(t, made->buf, true);
}

static void put_message(struct text *t)
{
	const struct xvt_line *l = xvt_analyze_slowest(t->s->analyze);
	char n[XVT_DIGITS_LEN];

	if (!l)
		return;
	xvt_out_str(t->o, "\nTHE SLOWEST MESSAGE (xvtrace analyze latency)\n");
	xvt_out_printf(t->o, "%s to %s ", l->machine->name, l->to->name);
	xvt_out_duration(t->o, l->wall.max_ns);
	xvt_out_str(t->o, " from ");
	xvt_out_time(t->o, l->wall.max_at_ns);
	xvt_out_printf(t->o, ", of %s\n", xvt_digits(n, l->wall.n));
}

static void put_stall(struct text *t, const struct xvt_stall *s)
{
	struct xvt_out *o = t->o;

	xvt_out_printf(o, "%s:%u%s ", s->ring->machine->name, s->ring->cpu, s->shares ? "*" : "");
	xvt_out_duration(o, s->end_ns - s->begin_ns);
	xvt_out_str(o, " from ");
	xvt_out_time(o, s->begin_ns);
	xvt_out_printf(o, ", %s: ", s->pid > 0 ? s->task : s->guest);
	if (s->cause == XVT_CAUSE_PAUSED)
		xvt_out_str(o, "paused by the VMM");
	else if (s->cause == XVT_CAUSE_SLEEPS)
		xvt_out_str(o, "slept in the VMM");
	else if (s->cause == XVT_CAUSE_BLOCKED)
		xvt_out_str(o, "blocked in the host's kernel");
	else if (s->cause == XVT_CAUSE_STOPPED)
		xvt_out_str(o, "stopped by a signal or a debugger");
	else
		xvt_out_printf(o, "%s %s%s",
			       s->cause == XVT_CAUSE_WAITS ? "waited behind" : "preempted by",
			       s->most ? s->most->name : "(not recorded)",
			       s->most && s->most->recorder ? " (the recording)" : "");
	if (s->verdict == XVT_UNTOLD)
		xvt_out_str(o, ", or by another thread");
	xvt_out_char(o, '\n');
}

static void put_taken(struct text *t)
{
	struct xvt_summary_taken *taken = malloc(sizeof(*taken));
	const struct xvt_stall *stalls;
	const size_t n = xvt_analyze_stalls(t->s->analyze, &stalls);
	bool any = false;

	for (size_t i = 0; taken && i < t->count; i++) {
		const struct xvt_summary_machine *m = t->shown[i];

		xvt_summary_taken(t->s, m, taken);
		if (m->of->host || !taken->vcpus)
			continue;
		if (!any)
			xvt_out_str(t->o, "\nTAKEN from vCPUs that wanted to run, and by whom "
					  "(xvtrace analyze cpu)\n");
		any = true;
		put_takers(t, m, taken);
	}
	free(taken);
	if (n)
		xvt_out_str(t->o, "\nTHE LONGEST STALLS (xvtrace analyze stalls)\n");
	for (size_t i = 0; i < n && i < XVT_SUMMARY_STALLS; i++)
		put_stall(t, &stalls[i]);
	put_message(t);
}

static void begin_missing(struct text *t, bool *any)
{
	if (!*any)
		xvt_out_str(t->o, "\nNOT RECORDED\n");
	*any = true;
}

/* One line for kinds that follow each other and have one option. */
static unsigned int put_lacks(struct text *t, const struct xvt_summary_machine *m,
			      unsigned int kind)
{
	const char *option = xvt_summary_kinds[kind].option, *joint = "";
	unsigned int i;

	put_name(t, m);
	for (i = kind; i < XVT_SUMMARY_KINDS && !strcmp(xvt_summary_kinds[i].option, option); i++) {
		if (!xvt_summary_lacks(m, i))
			continue;
		xvt_out_printf(t->o, "%s%s", joint, xvt_summary_kinds[i].what);
		joint = ", ";
	}
	xvt_out_printf(t->o, ": %s%s\n", m->of->host ? "record " : "", option);
	return i - 1;
}

static void put_missing(struct text *t)
{
	bool any = false;

	for (size_t i = 0; i < t->count; i++) {
		const struct xvt_summary_machine *m = t->shown[i];

		for (unsigned int kind = 0; kind < XVT_SUMMARY_KINDS; kind++) {
			if (!xvt_summary_lacks(m, kind))
				continue;
			begin_missing(t, &any);
			kind = put_lacks(t, m, kind);
		}
		if (m->of->host && xvt_analyze_missing(t->s->analyze)) {
			begin_missing(t, &any);
			put_name(t, m);
			xvt_out_count(t->o, xvt_analyze_missing(t->s->analyze));
			xvt_out_str(t->o, " switches of its CPUs: its kernel left them out\n");
		}
		if (!m->nameless)
			continue;
		begin_missing(t, &any);
		put_name(t, m);
		xvt_out_str(t->o, "formats of ");
		xvt_out_count(t->o, m->nameless);
		xvt_out_str(t->o, m->of && m->of->ftrace
					  ? " events: its kernel's ring has none\n"
					  : " events: xvt-guest sync in the guest\n");
	}
	if (t->s->has_host || !t->machines)
		return;
	begin_missing(t, &any);
	xvt_out_str(t->o, "host");
	blanks(t->o, 4, t->name_width + 2);
	xvt_out_str(t->o, "what ran on it: record --host sched\n");
}

void xvt_summary_text(const struct xvt_summary *s, const struct xvt_summary_look *look,
		      struct xvt_out *o)
{
	struct text t = { .s = s, .look = look, .o = o };

	choose(&t);
	put_head(&t);
	if (s->counts.events)
		put_strips(&t);
	if (t.machines)
		put_table(&t);
	put_lists(&t);
	put_taken(&t);
	put_missing(&t);
}
