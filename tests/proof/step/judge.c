// SPDX-License-Identifier: GPL-2.0
/*
 * judge.c - is the trace that `xvtrace salvage` made of many dead rings what crash_file_add()
 * said that it must be? Each finished record once, with its time, flagged if it lay past commit;
 * and nothing else. In overwrite mode (best effort) what else there is must be flagged at least.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read.h"
#include "trace/cursor.h"

struct expected {
	uint32_t ring;
	uint32_t number;
	uint64_t ts_min;
	uint64_t ts_max;
	bool past;
	bool must;
	bool seen;
};

static struct expected *list;
static size_t count;
static unsigned int wrong;
static unsigned long long below, past, unknown, missing;

static void complain(const char *what, uint32_t ring, uint64_t number, uint64_t ts)
{
	if (wrong++ < 10)
		printf("ring %u event %llu time %llu: %s\n", ring, (unsigned long long)number,
		       (unsigned long long)ts, what);
}

static int read_expected(const char *path)
{
	unsigned long long ts_min, ts_max;
	char where[8], how[8];
	size_t room = 0;
	unsigned int ring, number;
	FILE *f = fopen(path, "r");

	if (!f)
		return -1;
	while (fscanf(f, "%u %u %llu %llu %7s %7s", &ring, &number, &ts_min, &ts_max, where, how) ==
	       6) {
		if (count == room) {
			room = room ? 2 * room : 4096;
			list = realloc(list, room * sizeof(*list));
			if (!list)
				return -1;
		}
		list[count++] = (struct expected){ ring,
						   number,
						   ts_min,
						   ts_max,
						   strcmp(where, "past") == 0,
						   strcmp(how, "must") == 0,
						   false };
	}
	fclose(f);
	return 0;
}

static struct expected *find(uint32_t ring, uint64_t number)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (list[i].ring == ring && list[i].number == number)
			return &list[i];
	return NULL;
}

static void check_event(const struct xvt_trace *t, const struct xvt_event *ev)
{
	const struct xvt_ring_info *info = &t->rings[xvt_event_ring(ev)].info;
	const bool recovered = ev->hdr->ring_flags & XVT_EVENT_F_RECOVERED;
	uint64_t number = 0, ts = ev->hdr->guest_clock;
	struct expected *e;

	if (ev->hdr->len >= 8)
		memcpy(&number, ev->payload, sizeof(number));
	e = find(info->index, number);
	if (!e || ts < e->ts_min || ts > e->ts_max || e->seen) {
		if (info->mode == XVT_ENABLE_OVERWRITE && recovered)
			unknown++;
		else
			complain(!e	   ? "was not finished"
				 : e->seen ? "is there twice"
					   : "has another time",
				 info->index, number, ts);
		return;
	}
	e->seen = true;
	if (e->past != recovered)
		complain(recovered ? "is flagged and lay below commit" : "is not flagged",
			 info->index, number, ts);
	below += !recovered;
	past += recovered;
}

int main(int argc, char **argv)
{
	struct xvt_trace *t;
	struct xvt_cursor c;
	struct xvt_event ev;
	struct xvt_error why;
	size_t i;
	int err;

	if (argc != 3 || read_expected(argv[2])) {
		fprintf(stderr, "usage: judge TRACE EXPECTED\n");
		return 2;
	}
	if (xvt_trace_open(&t, argv[1], &why) || xvt_cursor_init(&c, t, 0, UINT64_MAX)) {
		printf("%s: %s\n", argv[1], why.text);
		return 1;
	}
	while ((err = xvt_cursor_next(&c, &ev)) == 1)
		if (xvt_is_event(ev.hdr))
			check_event(t, &ev);
	if (err || t->damage_count)
		complain("the trace is damaged", 0, 0, 0);
	for (i = 0; i < count; i++) {
		if (list[i].must && !list[i].seen)
			complain("was finished and is missing", list[i].ring, list[i].number,
				 list[i].ts_min);
		missing += !list[i].must && !list[i].seen;
	}
	printf("%u rings, %llu events below commit, %llu past it, %llu behind holes, %llu of "
	       "no event\n",
	       t->ring_count, below, past, missing, unknown);
	return wrong != 0;
}
