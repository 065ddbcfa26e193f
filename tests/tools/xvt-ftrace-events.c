// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-ftrace-events.c - a writer of events as ftrace's: COUNT of each TYPE, one every millisecond.
 *   xvt-ftrace-events REGION COUNT TYPE[:NAME]...
 * It sends the format of those that have a NAME, and waits until a host records.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "join.h"

static struct xvt_writer w;

/* The host's questions, and a millisecond's rest. */
static void attend(void)
{
	while (xvt_writer_answer(&w) > 0)
		;
	xvt_writer_mark(&w);
	usleep(1000);
}

/* Returns false without room. */
static bool send_format(void *base, const struct xvt_geometry *g, const char *arg)
{
	const char *name = strchr(arg, ':');
	char text[512];
	int len;

	if (!name++)
		return true;
	len = snprintf(text, sizeof(text),
		       "test%c%s%cname: %s\nID: %lu\nformat:\n"
		       "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		       "print fmt: \"x\"\n",
		       0, name, 0, name, strtoul(arg, NULL, 10));
	return !xvt_meta_append(base, g, XVT_META_FORMAT, 0, text, (uint32_t)len, NULL, 0);
}

int main(int argc, char **argv)
{
	const struct xvt_layout layout = { .kind = XVT_KIND_USER, .clock_id = XVT_CLOCK_NATIVE };
	struct xvt_geometry g;
	uint64_t i, count;
	uint8_t *base;

	base = argc < 4 ? NULL : join_region(&w, &g, open(argv[1], O_RDWR), &layout, NULL);
	if (!base) {
		fprintf(stderr, "usage: xvt-ftrace-events REGION COUNT TYPE[:NAME]...\n");
		return 2;
	}
	for (int k = 3; k < argc; k++) {
		if (!send_format(base, &g, argv[k]))
			return 1;
	}
	count = strtoull(argv[2], NULL, 0);
	for (i = 0; i < count; i++) {
		for (int k = 3; k < argc; k++) {
			uint64_t entry =
				strtoull(argv[k], NULL, 10); /* u16 type, flags, count, pid */

			while (xvt_write(&w, XVT_ID_FTRACE, &entry, sizeof(entry)))
				attend();
		}
		attend();
	}
	return 0;
}
