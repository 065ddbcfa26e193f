// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-parts.c - counts a trace, or several as one, in 2, 3 and 7 parts, each in a thread, beside
 * one reader.
 *   xvt-parts EVENTS FILE.xvt|DIR...
 * EVENTS: of a part, at least. Prints a line for each: "parts" if they gave the statistics, "again"
 * if one reader had to read after them, "alone" if there were none. Exits with 1 where two differ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counted.h"

static const unsigned int counts[] = { 2, 3, 7 };

static struct counted count(const char *const *paths, size_t nr, unsigned int flags,
			    unsigned int parts, uint64_t events)
{
	struct xvtrace_error error;
	struct xvtrace *trace;
	struct counted c;

	if (xvtrace_open_several(&trace, paths, nr, 0, &error)) {
		fprintf(stderr, "xvt-parts: %s: %s\n", paths[0], error.text);
		exit(2);
	}
	c = counted_by(trace, flags, parts, events);
	xvtrace_close(trace);
	return c;
}

static int compare(const char *const *paths, size_t nr, unsigned int flags, uint64_t events)
{
	struct counted one = count(paths, nr, flags, 1, events), by;
	int differ = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		by = count(paths, nr, flags, counts[i], events);
		printf("%u%s: %s\n", counts[i], flags ? " re-clocked" : "",
		       !by.calls  ? "alone"
		       : by.alone ? "again"
				  : "parts");
		if (strcmp(one.text, by.text) != 0) {
			fprintf(stderr, "one reader:\n%s%u parts:\n%s", one.text, counts[i],
				by.text);
			differ = 1;
		}
		free(by.text);
	}
	free(one.text);
	return differ;
}

int main(int argc, char **argv)
{
	const char *const *paths = (const char *const *)(argv + 2);
	uint64_t events;
	int differ;

	if (argc < 3) {
		fprintf(stderr, "usage: xvt-parts EVENTS FILE.xvt|DIR...\n");
		return 2;
	}
	events = strtoull(argv[1], NULL, 0);
	differ = compare(paths, (size_t)argc - 2, 0, events);
	return differ | compare(paths, (size_t)argc - 2, XVTRACE_RECLOCK, events);
}
