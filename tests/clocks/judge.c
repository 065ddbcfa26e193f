// SPDX-License-Identifier: GPL-2.0
/*
 * judge.c - times and bounds of traces of simulated guests against the truth in their payloads, as
 * recorded and re-clocked, and against what is known of each event's time (reference.c).
 *
 *	judge MODE GUESTS.log TRACE...
 *
 * prints lines that table.awk adds up:
 *	histories MODE COUNT
 *	count MODE KIND CLASS NAME COUNT
 *	value MODE KIND CLASS NAME BUCKET COUNT       of a histogram, 8 buckets an octave
 *	wrong MODE KIND CLASS NAME TEXT...            the first ones of a kind and trace
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_kinds.h"
#include "lib/xvtrace.h"
#include "payload.h"
#include "reference.h"

#define BUCKETS	     400
#define SLACK_NS     2000 /* of each stated bound, for a writer that reads its clock unordered */
#define ROUNDING_NS  1
#define REFERENCE_NS 10 /* that a bound may be rounded by, against the reference */
#define SHOWN	     3
#define SELDOM_NS    300000000 /* measurements that are further apart; usual are 100 ms */
#define KINDS_MAX    256

/* What is counted of a kind. The second half is of events as re-clocked. */
enum tally {
	T_EVENTS,
	T_FLAGGED,
	T_NO_BOUND,    /* unflagged, without a bound */
	T_OUTSIDE,     /* unflagged, the truth is outside its bound */
	T_UNCONFIRMED, /* U, and a bound is stated */
	T_UNCONFIRMED_FALSE,
	T_DISORDER,  /* after an event of its ring that was written later */
	T_BAD_VALUE, /* not the clock value that was written */
	T_KNOWN,     /* unflagged, with a reference */
	T_NARROW,    /* whose bound does not hold the reference */
	T_REFERENCE_FALSE,
	T_ASTRAY, /* outside, and its clock left its class between two measurements far apart */
	T_COUNT,
};

static const char *const tally_names[2][T_COUNT] = {
	{ "events", "flagged", "nobound", "outside", "stated", "false", "disorder", "badvalue",
	  "known", "narrow", "reffalse", "astray" },
	{ "re-events", "re-flagged", "re-nobound", "re-outside", "re-stated", "re-false",
	  "re-disorder", "re-badvalue", "re-known", "re-narrow", "re-reffalse", "re-astray" },
};

enum histogram {
	H_BOUND, /* ns */
	H_ERROR,
	H_RATIO, /* 1024 times the stated width over the reference's */
	H_COUNT,
};

static const char *const histogram_names[2][H_COUNT] = {
	{ "bound", "error", "ratio" },
	{ "re-bound", "re-error", "re-ratio" },
};

struct kind_tally {
	uint64_t count[2][T_COUNT];
	uint64_t value[2][H_COUNT][BUCKETS];
};

/* A ring of a trace. References are made from recorded times, and used for both. */
struct history {
	struct reference *known; /* by sequence number */
	uint64_t room;
	uint64_t last_seq;
	bool seen;
};

static const char *mode;
static struct kind_tally *tallies;		  /* by kind, of all traces */
static unsigned int shown[2][T_COUNT][KINDS_MAX]; /* by kind, of this trace */
static const struct kind **machine_kinds;
static double *machine_hz; /* that their clocks count at, or the first one of them */
static uint32_t nr_machines;
static uint64_t nr_histories;

/* The trace at work. */
static const char *trace_path;
static struct facts *facts;
static struct history *histories;
static unsigned int nr_rings;
static int pass; /* 1: re-clocked */

static void die(const char *what, const char *why)
{
	fprintf(stderr, "judge: %s: %s\n", what, why);
	exit(2);
}

static void *need(void *p)
{
	if (!p)
		die("memory", "none");
	return p;
}

/* -- what is counted ---------------------------------------------------------------- */

struct judged {
	const struct xvtrace_event *event;
	const struct payload *payload;
	struct history *history;
	struct reference reference;
	int kind;
	int64_t truth;
	uint64_t error;
};

static void count(const struct judged *j, enum tally what)
{
	tallies[j->kind].count[pass][what]++;
}

static int bucket_of(double value)
{
	const int b = value < 1 ? 0 : (int)(log2(value) * 8) + 1;

	return b < BUCKETS ? b : BUCKETS - 1;
}

static void sort_in(const struct judged *j, enum histogram what, double value)
{
	tallies[j->kind].value[pass][what][bucket_of(value)]++;
}

/* A fault: counted, and the first ones of each kind printed. */
static void fault(const struct judged *j, enum tally what)
{
	const struct xvtrace_event *e = j->event;
	const struct kind *kind = &clock_kinds[j->kind];
	char letters[XVTRACE_FLAG_LETTERS + 1];

	count(j, what);
	if (shown[pass][what][j->kind]++ >= SHOWN)
		return;
	xvtrace_flag_letters(e->flags, letters);
	printf("wrong %s %s %s %s m%u:%u seq=%llu %s ns=%llu error=%lld bound=%lld ", mode,
	       kind->name, kind->promised ? "promised" : "excluded", tally_names[pass][what],
	       j->payload->machine, j->payload->ring, (unsigned long long)j->payload->seq, letters,
	       (unsigned long long)e->ns, (long long)((int64_t)e->ns - j->truth),
	       e->bound_ns == XVTRACE_NO_BOUND ? -1LL : (long long)e->bound_ns);
	if (j->reference.by)
		printf("reference=%+lld..%+lld ", (long long)(j->reference.lo - (int64_t)e->ns),
		       (long long)(j->reference.hi - (int64_t)e->ns));
	printf("%s\n", trace_path);
}

/* -- one event ---------------------------------------------------------------------- */

static void judge_reference(const struct judged *j)
{
	const int64_t lo = j->reference.lo, hi = j->reference.hi, ns = (int64_t)j->event->ns;
	const int64_t bound = (int64_t)j->event->bound_ns;
	double width = 2.0 * (double)(bound > SLACK_NS ? bound - SLACK_NS : 0);

	if (!j->reference.by)
		return;
	count(j, T_KNOWN);
	sort_in(j, H_RATIO, 1024 * (width + 1) / (double)(hi - lo + 1));
	if (lo < ns - bound - REFERENCE_NS || hi > ns + bound + REFERENCE_NS)
		fault(j, T_NARROW);
	if (j->truth < lo - SLACK_NS || j->truth > hi + SLACK_NS)
		fault(j, T_REFERENCE_FALSE);
}

/*
 * What is promised of a kind, it does from one measurement to the next one: its rate does not come
 * and go, it does not gain and stand still. A recorder that does not get the CPU measures once in
 * seconds, and in that time it may have done both. Then the samples are true, as is the nominal
 * rate, and what they say together is not: the reference does not hold the truth, either.
 */
static bool is_astray(const struct judged *j)
{
	const struct reference *r = &j->reference;
	const double hz = machine_hz[j->payload->machine];

	return r->by == REFERENCE_SAMPLES && r->gap_ns > SELDOM_NS && fabs(r->hz - hz) < hz / 100 &&
	       (j->truth < r->lo - SLACK_NS || j->truth > r->hi + SLACK_NS);
}

static void judge_unflagged(const struct judged *j)
{
	sort_in(j, H_ERROR, (double)j->error);
	if (j->event->bound_ns == XVTRACE_NO_BOUND) {
		count(j, T_NO_BOUND);
		return;
	}
	sort_in(j, H_BOUND, (double)j->event->bound_ns);
	if (j->error > j->event->bound_ns + ROUNDING_NS)
		fault(j, is_astray(j) ? T_ASTRAY : T_OUTSIDE);
	judge_reference(j);
}

static void judge_flagged(const struct judged *j)
{
	count(j, T_FLAGGED);
	if (j->event->flags & XVTRACE_CLOCK || j->event->bound_ns == XVTRACE_NO_BOUND)
		return;
	count(j, T_UNCONFIRMED);
	if (j->error > j->event->bound_ns + ROUNDING_NS)
		fault(j, T_UNCONFIRMED_FALSE);
}

/* Late events are in no order. */
static void judge_order(const struct judged *j)
{
	if (j->event->flags & XVTRACE_LATE)
		return;
	if (j->payload->seq <= j->history->last_seq)
		fault(j, T_DISORDER);
	else
		j->history->last_seq = j->payload->seq;
}

static void judge_event(const struct judged *j)
{
	count(j, T_EVENTS);
	if (j->payload->guest_clock != j->event->guest_clock)
		fault(j, T_BAD_VALUE);
	judge_order(j);
	if (j->event->flags & (XVTRACE_CLOCK | XVTRACE_UNCONFIRMED))
		judge_flagged(j);
	else
		judge_unflagged(j);
}

/* -- a trace ------------------------------------------------------------------------ */

static void make_room(struct history *h, uint64_t seq)
{
	const uint64_t room = (seq + 1) * 2;

	if (seq < h->room)
		return;
	h->known = need(realloc(h->known, room * sizeof(*h->known)));
	memset(&h->known[h->room], 0, (room - h->room) * sizeof(*h->known));
	h->room = room;
}

/* Made in the first pass. */
static struct reference known_of(const struct xvtrace_event *e, const struct payload *p,
				 struct history *h)
{
	if (p->seq > 1u << 24)
		die(trace_path, "an event has no number");
	make_room(h, p->seq);
	if (!pass)
		h->known[p->seq] = reference_of(facts, e->ring->number, e->guest_clock, e->ns,
						e->flags & XVTRACE_UNCONFIRMED);
	return h->known[p->seq];
}

static void take_event(const struct xvtrace_event *e)
{
	struct judged j = { .event = e };
	struct payload p;

	if (e->kind != XVTRACE_EVENT || !e->ring || e->data_len < sizeof(p) ||
	    strcmp(e->type->name, "u64"))
		return;
	memcpy(&p, e->data, sizeof(p));
	if (p.machine >= nr_machines || e->ring->number >= nr_rings)
		die(trace_path, "an event is of no machine");
	j.payload = &p;
	j.kind = (int)(machine_kinds[p.machine] - clock_kinds);
	j.history = &histories[e->ring->number];
	nr_histories += !pass && !j.history->seen;
	j.history->seen = true;
	j.truth = facts_host_ns(facts, p.host_clock);
	j.error = (uint64_t)llabs((int64_t)e->ns - j.truth);
	j.reference = known_of(e, &p, j.history);
	judge_event(&j);
}

static void read_trace(struct xvtrace *trace)
{
	const struct xvtrace_event *event;
	struct xvtrace_reader *reader;
	int got;

	for (unsigned int i = 0; i < nr_rings; i++)
		histories[i].last_seq = 0;
	if (xvtrace_reader_new(&reader, trace) ||
	    xvtrace_reader_flags(reader, XVTRACE_BOUND | (pass ? XVTRACE_RECLOCK : 0)))
		die(trace_path, "has no reader");
	while ((got = xvtrace_next(reader, &event)) > 0)
		take_event(event);
	if (got < 0)
		die(trace_path, strerror(-got));
	xvtrace_reader_free(reader);
}

static void judge_trace(const char *path)
{
	struct xvtrace_error error;
	struct xvtrace *trace;

	trace_path = path;
	memset(shown, 0, sizeof(shown));
	if (xvtrace_open(&trace, path, 0, &error))
		die(path, error.text);
	facts = facts_load(path);
	nr_rings = xvtrace_info(trace)->rings;
	histories = need(calloc(nr_rings + 1, sizeof(*histories)));
	for (pass = 0; pass < 2; pass++)
		read_trace(trace);
	for (unsigned int i = 0; i < nr_rings; i++)
		free(histories[i].known);
	free(histories);
	facts_free(facts);
	xvtrace_close(trace);
}

/* -- the report --------------------------------------------------------------------- */

static void print_kind(int number)
{
	const struct kind *k = &clock_kinds[number];
	const struct kind_tally *t = &tallies[number];
	const char *class = k->promised ? "promised" : "excluded";

	for (int p = 0; p < 2; p++) {
		for (int i = 0; i < T_COUNT; i++)
			if (t->count[p][i])
				printf("count %s %s %s %s %llu\n", mode, k->name, class,
				       tally_names[p][i], (unsigned long long)t->count[p][i]);
		for (int i = 0; i < H_COUNT; i++)
			for (int b = 0; b < BUCKETS; b++)
				if (t->value[p][i][b])
					printf("value %s %s %s %s %d %llu\n", mode, k->name, class,
					       histogram_names[p][i], b,
					       (unsigned long long)t->value[p][i][b]);
	}
}

/* Lines "machine NUMBER KIND ..." of the log. */
static void read_guests(const char *path)
{
	FILE *log = fopen(path, "r");
	char line[1000], name[32];
	unsigned int number;

	if (!log)
		die(path, strerror(errno));
	while (fgets(line, sizeof(line), log)) {
		const char *hz = strstr(line, " hz=");

		if (sscanf(line, "machine %u %31s", &number, name) != 2)
			continue;
		if (number != nr_machines || !clock_kind_named(name))
			die(path, line);
		machine_kinds =
			need(realloc(machine_kinds, (nr_machines + 1) * sizeof(*machine_kinds)));
		machine_hz = need(realloc(machine_hz, (nr_machines + 1) * sizeof(*machine_hz)));
		machine_hz[nr_machines] = hz ? strtod(hz + 4, NULL) : 0;
		machine_kinds[nr_machines++] = clock_kind_named(name);
	}
	fclose(log);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: judge MODE GUESTS.log TRACE...\n");
		return 2;
	}
	mode = argv[1];
	tallies = need(calloc((size_t)clock_kinds_count, sizeof(*tallies)));
	read_guests(argv[2]);
	for (int i = 3; i < argc; i++)
		judge_trace(argv[i]);
	printf("histories %s %llu\n", mode, (unsigned long long)nr_histories);
	for (int i = 0; i < clock_kinds_count; i++)
		print_kind(i);
	free(tallies);
	free(machine_kinds);
	free(machine_hz);
	return 0;
}
