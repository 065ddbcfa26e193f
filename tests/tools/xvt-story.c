// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-story.c - writes the trace that a text on standard input tells (tests/unit/story.h).
 *   xvt-story FILE.xvt
 */
#include <stdio.h>
#include <stdlib.h>

#include "story.h"

int main(int argc, char **argv)
{
	static char text[1 << 20];

	if (argc != 2) {
		fprintf(stderr, "usage: xvt-story FILE.xvt\n");
		return 2;
	}
	text[fread(text, 1, sizeof(text) - 1, stdin)] = '\0';
	story_make(text, argv[1]);
	return 0;
}
