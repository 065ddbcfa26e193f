// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-read.c - a bare reader: reads a trace by libxvtrace, in one thread or in several.
 *
 *	xvt-read [-t THREADS] [-f FLAGS] [-l | -n] FILE...
 *
 * Prints the number of events and a sum of all that they have, which depends on their order; with
 * -l a line for each event instead, with -n no sum, so that it costs what the library does. -f:
 *XVTRACE_RECLOCK and others, as a number.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/xvtrace.h"

#define THREADS_MAX 64
#define FACTOR	    0x9e3779b97f4a7c15ull

struct part {
	struct xvtrace_reader *reader;
	pthread_t thread;
	bool list;
	bool count;
	uint64_t events;
	uint64_t sum;
	uint64_t scale; /* FACTOR to the power of the number of events: sums can be joined */
	int err;
	FILE *out;
	char *text;
	size_t len;
};

static uint64_t sum_of(const struct xvtrace_event *e)
{
	const uint64_t of[] = { e->ns,
				e->bound_ns,
				e->number,
				e->guest_clock,
				e->flags,
				(uint64_t)e->pid,
				e->lost,
				e->ring ? e->ring->number : UINT64_MAX,
				e->machine ? e->machine->number : UINT64_MAX };
	uint64_t sum = e->data_len;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		sum = sum * 31 + of[i];
	for (size_t i = 0; i < e->data_len; i++)
		sum = sum * 31 + e->data[i];
	return sum;
}

static void *read_part(void *arg)
{
	struct part *p = arg;
	const struct xvtrace_event *e;
	int got;

	p->scale = 1;
	while ((got = xvtrace_next(p->reader, &e)) > 0) {
		p->events++;
		if (p->count)
			continue;
		p->sum = p->sum * FACTOR + sum_of(e);
		p->scale *= FACTOR;
		if (p->list)
			fprintf(p->out,
				"%" PRIu64 " %d %" PRIx64 " %s:%s %" PRIu64 " %" PRIx64 "\n", e->ns,
				e->ring ? (int)e->ring->number : -1, e->number, e->type->system,
				e->type->name, e->bound_ns, sum_of(e));
	}
	p->err = got;
	return NULL;
}

/* Reads all parts, each in a thread. */
static void read_parts(struct part *parts, unsigned int count, bool list, bool no_sum)
{
	for (unsigned int i = 0; i < count; i++) {
		struct part *p = &parts[i];

		p->list = list;
		p->count = no_sum;
		p->out = list ? open_memstream(&p->text, &p->len) : NULL;
		if ((list && !p->out) || pthread_create(&p->thread, NULL, read_part, p)) {
			perror("xvt-read");
			exit(1);
		}
	}
	for (unsigned int i = 0; i < count; i++)
		pthread_join(parts[i].thread, NULL);
}

static int print(struct part *parts, unsigned int count)
{
	uint64_t sum = 0, events = 0;
	int err = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct part *p = &parts[i];

		if (p->out) {
			fclose(p->out);
			fwrite(p->text, 1, p->len, stdout);
			free(p->text);
		}
		sum = sum * p->scale + p->sum;
		events += p->events;
		err = err ? err : p->err;
	}
	if (!parts[0].list)
		printf("%" PRIu64 " events, sum %016" PRIx64 "\n", events, sum);
	if (err)
		fprintf(stderr, "xvt-read: %s\n", strerror(-err));
	return err ? 1 : 0;
}

static int read_trace(struct xvtrace *trace, unsigned int threads, unsigned int flags, bool list,
		      bool no_sum)
{
	struct xvtrace_reader *reader, *readers[THREADS_MAX];
	struct part parts[THREADS_MAX] = { 0 };
	int err = xvtrace_reader_new(&reader, trace), rc;

	if (!err)
		err = xvtrace_reader_flags(reader, flags);
	if (!err && threads)
		err = xvtrace_reader_split(reader, threads, readers);
	if (err) {
		fprintf(stderr, "xvt-read: %s\n", strerror(-err));
		return 1;
	}
	for (unsigned int i = 0; i < threads; i++)
		parts[i].reader = readers[i];
	if (!threads)
		parts[0].reader = reader;
	read_parts(parts, threads ? threads : 1, list, no_sum);
	rc = print(parts, threads ? threads : 1);
	for (unsigned int i = 0; i < threads; i++)
		xvtrace_reader_free(readers[i]);
	xvtrace_reader_free(reader);
	return rc;
}

int main(int argc, char **argv)
{
	unsigned int threads = 0, flags = XVTRACE_RECLOCK | XVTRACE_BOUND;
	struct xvtrace_error error;
	struct xvtrace *trace;
	bool list = false, no_sum = false;
	int opt, rc;

	while ((opt = getopt(argc, argv, "t:f:ln")) >= 0) {
		if (opt == 't')
			threads = (unsigned int)strtoul(optarg, NULL, 10) % (THREADS_MAX + 1);
		else if (opt == 'f')
			flags = (unsigned int)strtoul(optarg, NULL, 0);
		else if (opt == 'l')
			list = true;
		else
			no_sum = true;
	}
	if (optind == argc)
		return 2;
	if (xvtrace_open_several(&trace, (const char *const *)argv + optind,
				 (size_t)(argc - optind), 0, &error)) {
		fprintf(stderr, "xvt-read: %s\n", error.text);
		return 1;
	}
	rc = read_trace(trace, threads, flags, list, no_sum);
	for (size_t i = 0; i < xvtrace_damage_count(trace); i++) {
		struct xvtrace_damage d;

		if (!xvtrace_damage(trace, i, &d))
			fprintf(stderr, "damage %s %" PRIu64 " %" PRIu64 " %s\n",
				d.file ? d.file : "-", d.offset, d.len, d.why);
	}
	xvtrace_close(trace);
	return rc;
}
