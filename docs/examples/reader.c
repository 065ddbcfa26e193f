// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * reader.c - each silence of a vCPU that is longer than so many ms, and the event that ended it;
 *see libxvtrace(3).
 *
 *	cc reader.c $(pkg-config --cflags --libs libxvtrace) -o reader && ./reader trace.xvt 10
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <xvtrace.h>

static void say(const struct xvtrace_event *ev, uint64_t silent_ns)
{
	const struct xvtrace_ring *ring = ev->ring;
	size_t len;

	printf("%" PRIu64 ".%09" PRIu64 " %s:%u silent for %" PRIu64 " ns, then %s: %s\n",
	       ev->ns / 1000000000, ev->ns % 1000000000, ring->machine->name, ring->cpu, silent_ns,
	       ev->type->name, xvtrace_event_text(ev, 0, &len));
}

int main(int argc, char **argv)
{
	struct xvtrace_error error = { "" };
	const struct xvtrace_event *ev;
	struct xvtrace_reader *reader;
	struct xvtrace *trace;
	uint64_t limit_ns, *last_ns;
	int got;

	if (argc != 3 || xvtrace_open(&trace, argv[1], 0, &error)) {
		fprintf(stderr, "usage: reader FILE.xvt MS\n%s\n", error.text);
		return 1;
	}
	limit_ns = strtoull(argv[2], NULL, 10) * 1000000;
	last_ns = calloc(xvtrace_info(trace)->rings, sizeof(*last_ns));
	if (!last_ns || xvtrace_reader_new(&reader, trace))
		return 1;
	while ((got = xvtrace_next(reader, &ev)) > 0) {
		if (!ev->ring)
			continue;
		if (last_ns[ev->ring->number] && ev->ns > last_ns[ev->ring->number] + limit_ns)
			say(ev, ev->ns - last_ns[ev->ring->number]);
		last_ns[ev->ring->number] = ev->ns;
	}
	if (got < 0 || xvtrace_damage_count(trace))
		fprintf(stderr, "not all of %s could be read\n", argv[1]);
	xvtrace_reader_free(reader);
	xvtrace_close(trace);
	free(last_ns);
	return got < 0;
}
