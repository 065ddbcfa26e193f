// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-say.c - a program that records what it is told to: each line of its input is "N TEXT", and
 * TEXT becomes N events, one after the other. It answers each line with "N" when they are recorded.
 * It ends with its input.
 *
 *   xvt-say REGION
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xvt.h"

int main(int argc, char **argv)
{
	char line[1024], *text;

	if (argc != 2 || xvt_open(argv[1], 0)) {
		fprintf(stderr, "usage: xvt-say REGION: %s\n", xvt_error());
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		const uint64_t times = strtoull(line, &text, 10);
		uint64_t i;

		text += *text == ' ';
		text[strcspn(text, "\n")] = '\0';
		for (i = 0; i < times; i++) {
			if (xvt_printf("%s", text)) {
				fprintf(stderr, "xvt-say: an event was refused\n");
				return 1;
			}
		}
		printf("%" PRIu64 "\n", times);
		fflush(stdout);
	}
	xvt_close();
	return 0;
}
