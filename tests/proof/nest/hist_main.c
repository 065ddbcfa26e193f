// SPDX-License-Identifier: GPL-2.0
/*
 * hist_main.c - xvt-nest-history: every schedule of each historic version. Exit status 0 when
 * each wrong version was caught and each right one was not.
 */
#include <stdio.h>
#include <string.h>

#include "hist.h"
#include "table.h"

static bool check(const struct hist_version *v)
{
	const struct ex_options all = { .parts = 1 };
	struct ex_result r;

	hist_version = v;
	ex_all(hist_run, &all, &r);
	table_row(v->name, &r, v->what);
	fflush(stdout);
	return v->wrong == !!r.wrong;
}

static int tell(const struct hist_version *v, const char *text)
{
	struct ex_deviation dev[EX_DEVIATIONS_MAX];
	int count = ex_parse(text, dev);
	uint32_t rule;

	if (count < 0) {
		fprintf(stderr, "xvt-nest-history: %s is no schedule\n", text);
		return 2;
	}
	hist_version = v;
	return ex_replay(hist_run, dev, (uint32_t)count, &rule) ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *schedule = argc == 4 && !strcmp(argv[1], "-s") ? argv[2] : NULL;
	const char *wanted = argc > 1 ? argv[argc - 1] : "short";
	bool good = true, found = false;
	int i;

	for (i = 0; i < hist_version_count; i++) {
		const struct hist_version *v = &hist_versions[i];

		if (strcmp(wanted, v->long_run ? "proof" : "short") && strcmp(wanted, v->name))
			continue;
		found = true;
		if (schedule)
			return tell(v, schedule);
		good &= check(v);
	}
	if (!found) {
		fprintf(stderr, "usage: xvt-nest-history [short|proof|VERSION]\n"
				"       xvt-nest-history -s SCHEDULE VERSION\n");
		return 2;
	}
	return good ? 0 : 1;
}
