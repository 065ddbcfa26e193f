// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-mktrace.c - writes a made-up trace (tests/unit/synth.h) for tests of the command line.
 *   xvt-mktrace EVENTS FLAGS FILE.xvt
 */
#include <stdio.h>
#include <stdlib.h>

#include "synth.h"

int main(int argc, char **argv)
{
	struct synth_sink sink;
	struct synth s;

	if (argc != 4) {
		fprintf(stderr, "usage: xvt-mktrace EVENTS FLAGS FILE.xvt\n");
		return 2;
	}
	synth_sink_init(&sink);
	synth_make(&s, &sink.sink, strtoul(argv[1], NULL, 0),
		   (unsigned int)strtoul(argv[2], NULL, 0));
	synth_sink_save(&sink, argv[3]);
	printf("%zu\n", s.count);
	synth_fini(&s);
	synth_sink_fini(&sink);
	return 0;
}
