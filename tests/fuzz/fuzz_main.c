// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_main.c - main() where no fuzzer is: runs a target over files, or over all files of
 * directories, and says how many. A finding ends the process, as it does under a fuzzer.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long ran;

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t len = 0, room = 0, got;

	if (!f) {
		perror(path);
		return 1;
	}
	do {
		if (len == room) {
			room = room ? 2 * room : 4096;
			bytes = realloc(bytes, room);
			if (!bytes)
				abort();
		}
		got = fread(bytes + len, 1, room - len, f);
		len += got;
	} while (got);
	fclose(f);
	/* A copy of exactly this size: a read behind its end then shows. */
	bytes = realloc(bytes, len ? len : 1);
	if (!bytes)
		abort();
	LLVMFuzzerTestOneInput(bytes, len);
	free(bytes);
	ran++;
	return 0;
}

static int run_path(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort), i, bad = 0;
	char name[4096];

	if (n < 0)
		return run_file(path);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			bad |= run_file(name);
		free(names[i]);
	}
	free(names);
	return bad;
}

int main(int argc, char **argv)
{
	FILE *err = stderr; /* a target may silence the other one */
	int i, bad = 0;

	for (i = 1; i < argc; i++)
		bad |= run_path(argv[i]);
	fprintf(err, "%lu inputs\n", ran);
	return bad;
}
