// SPDX-License-Identifier: GPL-2.0
/* show.c - the lines of `xvtrace top`: see top.h. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "base/out.h"
#include "top/top.h"

#define NAME_LEAST 8u
#define NAME_MOST  40u
#define STATE	   12u /* the width of its column */
#define BARS	   20u /* of the sparkline, over the last minute */
#define BAR_NS	   3000000000u
#define LEVELS	   9u

enum unit {
	NUMBER,
	DURATION,
	PERCENT,
	RINGS, /* live ones, of all */
};

static const struct {
	const char *key;
	const char *head;
	unsigned int width;
	enum unit unit;
} columns[XVT_TOP_COLUMNS] = {
	[XVT_TOP_EVENTS_S] = { "rate", "EVENTS/S", 9, NUMBER },
	[XVT_TOP_LOST_S] = { "lost-rate", "LOST/S", 7, NUMBER },
	[XVT_TOP_LAG] = { "lag", "LAG", 8, DURATION },
	[XVT_TOP_BOUND] = { "clock", "CLOCK", 8, DURATION },
	[XVT_TOP_EVENTS] = { "events", "EVENTS", 13, NUMBER },
	[XVT_TOP_LOST] = { "lost", "LOST", 10, NUMBER },
	[XVT_TOP_DISCARDED] = { "discarded", "DISCARDED", 9, NUMBER },
	[XVT_TOP_FULL] = { "full", "FULL", 4, PERCENT },
	[XVT_TOP_RINGS] = { "rings", "RINGS", 9, RINGS },
};

/* A line is put together here, and cut where it is full. */
static struct xvt_out line_out;

int xvt_top_column(const char *name)
{
	int i;

	for (i = 0; i < XVT_TOP_COLUMNS; i++) {
		if (strcmp(name, columns[i].key) == 0)
			return i;
	}
	return strcmp(name, "name") == 0 ? XVT_TOP_COLUMNS : -1;
}

const char *xvt_top_column_name(size_t column)
{
	return column < XVT_TOP_COLUMNS ? columns[column].key : "name";
}

/* ------------------------------------------------------------------ pieces of a line */

static struct xvt_out *begin_line(void)
{
	line_out.fd = -1;
	line_out.used = 0;
	line_out.err = 0;
	return &line_out;
}

static void put_text(struct xvt_out *o, const char *text)
{
	xvt_out_text(o, text, strlen(text));
}

/* Characters, for the width of a column. */
static size_t letters_from(const struct xvt_out *o, size_t from)
{
	size_t n = 0;

	for (; from < o->used; from++)
		n += ((unsigned char)o->buf[from] & 0xc0) != 0x80;
	return n;
}

static void pad(struct xvt_out *o, size_t from, size_t width)
{
	size_t n = letters_from(o, from);

	for (; n < width; n++)
		xvt_out_char(o, ' ');
}

/* Move what was put since `from` to the right end of a column. */
static void align_right(struct xvt_out *o, size_t from, size_t width)
{
	const size_t len = o->used - from;
	size_t spaces;

	pad(o, from, width);
	spaces = o->used - from - len;
	memmove(o->buf + from + spaces, o->buf + from, len);
	memset(o->buf + from, ' ', spaces);
}

static void put_value(struct xvt_out *o, const struct xvt_top_machine *m, size_t column)
{
	const uint64_t v = m->v[column];
	size_t from;

	xvt_out_char(o, ' ');
	from = o->used;
	switch (columns[column].unit) {
	case NUMBER:
		xvt_out_u64(o, v);
		break;
	case DURATION:
		if (column == XVT_TOP_BOUND && !m->sums.clocks)
			xvt_out_char(o, '-');
		else
			xvt_out_duration(o, v);
		break;
	case PERCENT:
		xvt_out_printf(o, "%" PRIu64 "%%", v);
		break;
	case RINGS:
		xvt_out_printf(o, "%" PRIu64 "/%" PRIu64, v, m->sums.rings);
		break;
	}
	align_right(o, from, columns[column].width);
}

/* The part of a sample's events that lies in a bar's time. */
static double events_in(const struct xvt_top_sample *s, uint64_t from_ns, uint64_t to_ns)
{
	const uint64_t from = s->from_ns > from_ns ? s->from_ns : from_ns,
		       to = s->to_ns < to_ns ? s->to_ns : to_ns;

	if (to <= from)
		return 0;
	return (double)s->events * (double)(to - from) / (double)(s->to_ns - s->from_ns);
}

/* The rates of the last minute, the newest at the right; the highest bar is the greatest of them.
 */
static void put_sparkline(struct xvt_out *o, const struct xvt_top_machine *m, bool utf8)
{
	static const char *const blocks[LEVELS] = { "·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	const size_t n = m->nr_samples < XVT_TOP_SAMPLES ? m->nr_samples : XVT_TOP_SAMPLES;
	double bars[BARS] = { 0 }, most = 0;
	size_t i, k;

	for (i = 0; i < BARS; i++) {
		const uint64_t back = (BARS - 1 - i) * (uint64_t)BAR_NS;

		for (k = 0; k < n && back + BAR_NS <= m->counted_ns; k++)
			bars[i] += events_in(&m->samples[k], m->counted_ns - back - BAR_NS,
					     m->counted_ns - back);
		most = bars[i] > most ? bars[i] : most;
	}
	for (i = 0; i < BARS; i++) {
		/* Any event shows. */
		size_t level = bars[i] > 0 ? 1 + (size_t)(bars[i] / most * (LEVELS - 2) + 0.5) : 0;

		if (utf8)
			xvt_out_str(o, blocks[level]);
		else
			xvt_out_char(o, "_.:-=+*%#"[level]);
	}
}

/* At most STATE letters. */
static void put_state(struct xvt_out *o, const struct xvt_top_machine *m)
{
	const char *phase = xvt_answer_text(m->line, "phase");

	if (strcmp(phase, "attached") != 0)
		put_text(o, phase);
	else if (xvt_answer_true(m->line, "stopped"))
		xvt_out_str(o, "stands still");
	else
		xvt_out_str(o, m->sums.clocks ? "live" : "no clock yet");
}

/* Why it is in that state, and what slows it down; nothing of most machines. */
static void put_remarks(struct xvt_out *o, const struct xvt_top_machine *m, const char *before)
{
	static const struct {
		const char *key, *text;
	} remarks[] = { { "memory_full", "its memory is full" },
			{ "barred", "not waited for" },
			{ "refused_other", "refused another machine" },
			{ "loose", "order left to readers" } };
	const bool attached = strcmp(xvt_answer_text(m->line, "phase"), "attached") == 0;
	const char *why = xvt_json_text(xvt_json_get(m->line, "why"));

	if (!attached && why) {
		xvt_out_str(o, before);
		put_text(o, why);
	}
	for (size_t i = 0; attached && i < sizeof(remarks) / sizeof(remarks[0]); i++) {
		if (!xvt_answer_true(m->line, remarks[i].key))
			continue;
		xvt_out_str(o, before);
		xvt_out_str(o, remarks[i].text);
		before = ", ";
	}
}

/* ------------------------------------------------------------------ lines */

/* The width of the column of names. */
static size_t name_width(const struct xvt_top_recorder *r)
{
	size_t i, most = NAME_LEAST;

	for (i = 0; i < r->n; i++) {
		struct xvt_out *o = begin_line();
		size_t n;

		put_text(o, r->machines[i].name);
		n = letters_from(o, 0);
		most = n > most ? n : most;
	}
	return most < NAME_MOST ? most : NAME_MOST;
}

static void put_totals(struct xvt_out *o, const struct xvt_top_recorder *r)
{
	const struct xvt_json_value *line = r->answer->lines[0];
	const size_t host = xvt_answer_has_host(r->answer);

	xvt_out_printf(o,
		       "  %zu machines%s, %" PRIu64 " rings: %" PRIu64 " events/s, lost %" PRIu64
		       "/s; %" PRIu64 ".%" PRIu64 " MB/s, %" PRIu64 " MB; ",
		       r->n - host, host ? " and the host" : "", r->sums.rings, r->sums.events_s,
		       r->sums.lost_s, r->bytes_s / 1000000, r->bytes_s / 100000 % 10,
		       r->bytes / 1000000);
	if (xvt_answer_number(line, "watermark_ns")) {
		xvt_out_str(o, "in order up to ");
		xvt_out_duration(o, xvt_answer_number(line, "watermark_lag_ns"));
		xvt_out_str(o, " ago");
	} else {
		xvt_out_str(o, xvt_answer_true(line, "joined") ? "nothing has come yet"
							       : "waits for machines");
	}
	if (xvt_answer_true(line, "disk_full"))
		xvt_out_str(o, "; the disk is full");
	else if (xvt_answer_true(line, "disk_slow"))
		xvt_out_str(o, "; the disk is too slow");
}

static void put_head(struct xvt_out *o, size_t width)
{
	size_t i;

	xvt_out_str(o, "MACHINE");
	pad(o, 0, width);
	xvt_out_str(o, " STATE");
	pad(o, 0, width + 1 + STATE);
	for (i = 0; i < XVT_TOP_COLUMNS; i++) {
		size_t from;

		if (i == XVT_TOP_EVENTS)
			xvt_out_str(o, "  LAST MINUTE         ");
		xvt_out_char(o, ' ');
		from = o->used;
		xvt_out_str(o, columns[i].head);
		align_right(o, from, columns[i].width);
	}
	xvt_out_str(o, "  WAY");
}

static void put_machine(struct xvt_out *o, const struct xvt_top *t, const struct xvt_top_machine *m,
			size_t width)
{
	size_t i;

	put_text(o, m->name);
	pad(o, 0, width);
	xvt_out_char(o, ' ');
	put_state(o, m);
	pad(o, 0, width + 1 + STATE);
	for (i = 0; i < XVT_TOP_COLUMNS; i++) {
		if (i == XVT_TOP_EVENTS) {
			xvt_out_str(o, "  ");
			put_sparkline(o, m, t->utf8);
		}
		put_value(o, m, i);
	}
	xvt_out_str(o, "  ");
	put_text(o, xvt_answer_text(m->line, "way"));
	put_remarks(o, m, "  ");
}

static void show_flight_recorders(const struct xvt_top_recorder *r, size_t width,
				  xvt_top_line_fn line, void *arg)
{
	const struct xvt_json_value *list = xvt_json_get(r->answer->lines[0], "flight_recorders");
	struct xvt_out *o;
	size_t i;

	for (i = 0; i < xvt_json_count(list); i++) {
		o = begin_line();
		put_text(o, xvt_answer_text(xvt_json_at(list, i), "name"));
		pad(o, 0, width);
		xvt_out_char(o, ' ');
		xvt_answer_flight_recorder(xvt_json_at(list, i), o);
		line(arg, XVT_TOP_LINE_NOTE, NULL, o->buf, o->used);
	}
}

static void show_recorder(const struct xvt_top *t, const struct xvt_top_recorder *r,
			  xvt_top_line_fn line, void *arg)
{
	const size_t width = name_width(r);
	struct xvt_out *o = begin_line();
	size_t i;

	xvt_answer_recorder(r->answer->lines[0], o);
	line(arg, XVT_TOP_LINE_RECORDER, NULL, o->buf, o->used);
	o = begin_line();
	put_totals(o, r);
	line(arg, XVT_TOP_LINE_RECORDER, NULL, o->buf, o->used);
	o = begin_line();
	put_head(o, width);
	line(arg, XVT_TOP_LINE_HEAD, NULL, o->buf, o->used);
	for (i = 0; i < r->n; i++) {
		o = begin_line();
		put_machine(o, t, &r->machines[i], width);
		line(arg, XVT_TOP_LINE_MACHINE, &r->machines[i], o->buf, o->used);
	}
	show_flight_recorders(r, width, line, arg);
}

void xvt_top_show(const struct xvt_top *t, xvt_top_line_fn line, void *arg)
{
	struct xvt_out *o;
	size_t i;

	for (i = 0; i < t->n; i++)
		show_recorder(t, &t->recorders[i], line, arg);
	if (!t->answers.why[0])
		return;
	o = begin_line();
	xvt_out_str(o, "a recorder could not be asked: ");
	put_text(o, t->answers.why);
	line(arg, XVT_TOP_LINE_NOTE, NULL, o->buf, o->used);
}

/* ------------------------------------------------------------------ the rings of a machine */

static void put_ring(struct xvt_out *o, const struct xvt_json_value *ring)
{
	const struct xvt_json_value *clock = xvt_json_get(ring, "clock");
	const char *source = xvt_answer_text(clock, "source");
	size_t from;

	xvt_out_printf(o, "%5" PRIu64 " %5" PRIu64 " ", xvt_answer_number(ring, "ring"),
		       xvt_answer_number(ring, "cpu"));
	from = o->used;
	put_text(o, xvt_answer_text(ring, "kind"));
	pad(o, from, 7);
	put_text(o, xvt_answer_text(ring, "phase"));
	pad(o, from, 13);
	xvt_out_printf(o, " %10" PRIu64 " %8" PRIu64 " %13" PRIu64 " %10" PRIu64 " %9" PRIu64 " ",
		       xvt_answer_number(ring, "events_s"), xvt_answer_number(ring, "lost_s"),
		       xvt_answer_number(ring, "events"), xvt_answer_number(ring, "lost"),
		       xvt_answer_number(ring, "discarded"));
	from = o->used;
	xvt_out_duration(o, xvt_answer_number(ring, "lag_ns"));
	align_right(o, from, 9);
	xvt_out_printf(o, " %3" PRIu64 "%%  ", xvt_answer_full(ring));
	if (strcmp(source, "none") == 0) {
		xvt_out_str(o, "no clock");
		return;
	}
	put_text(o, source);
	xvt_out_str(o, ", ");
	xvt_out_within(o, xvt_answer_number(clock, "bound_ns_max"));
}

void xvt_top_show_rings(const struct xvt_top_recorder *r, const struct xvt_top_machine *m,
			xvt_top_line_fn line, void *arg)
{
	static const char head[] = " RING   CPU KIND   PHASE    EVENTS/S   LOST/S        EVENTS"
				   "       LOST DISCARDED       LAG FULL  CLOCK";
	const size_t end = xvt_answer_vm_end(r->answer, m->order);
	struct xvt_out *o = begin_line();
	size_t i, k;

	xvt_out_str(o, "rings of ");
	put_text(o, m->name);
	xvt_out_str(o, ": ");
	put_state(o, m);
	put_remarks(o, m, ": ");
	line(arg, XVT_TOP_LINE_NOTE, NULL, o->buf, o->used);
	line(arg, XVT_TOP_LINE_HEAD, NULL, head, sizeof(head) - 1);
	for (i = m->order; i < end; i++) {
		const struct xvt_json_value *rings = xvt_json_get(r->answer->lines[i], "rings");

		for (k = 0; k < xvt_json_count(rings); k++) {
			o = begin_line();
			put_ring(o, xvt_json_at(rings, k));
			line(arg, XVT_TOP_LINE_RING, NULL, o->buf, o->used);
		}
	}
}
