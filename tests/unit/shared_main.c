// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * shared_main.c - runs the suites of shared/ and guest/user. Under a debugger it does not fork, so
 * that breakpoints are hit; CK_FORK, CK_RUN_SUITE and CK_RUN_CASE select as usual: tests/README.md.
 */
#include <stdio.h>

#include "ut.h"

/* Only a tracer that is there now counts: TracerPid is 0 without one. */
static bool debugged(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	int tracer = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (f)
		fclose(f);
	return tracer != 0;
}

int main(void)
{
	SRunner *sr;
	int failed;

	/* For a hang, not for a slow machine. Before the first suite is made. */
	setenv("CK_DEFAULT_TIMEOUT", "120", 0);
	sr = srunner_create(suite_ring());
	srunner_add_suite(sr, suite_region());
	srunner_add_suite(sr, suite_check());
	srunner_add_suite(sr, suite_reader());
	srunner_add_suite(sr, suite_writer());
	srunner_add_suite(sr, suite_nesting());
	srunner_add_suite(sr, suite_crash());
	srunner_add_suite(sr, suite_user());
	if (debugged())
		srunner_set_fork_status(sr, CK_NOFORK);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
