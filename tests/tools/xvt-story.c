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
	char *text = NULL;
	size_t room = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: xvt-story FILE.xvt\n");
		return 2;
	}
	if (getdelim(&text, &room, '\0', stdin) < 0)
		return 1;
	story_make(text, argv[1]);
	free(text);
	return 0;
}
