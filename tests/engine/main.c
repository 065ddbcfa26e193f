// SPDX-License-Identifier: GPL-2.0
/* main.c - runs the engine's suites. CK_FORK=no CK_RUN_SUITE=merge gdb build/tests/engine */
#include "suites.h"

#include <stdlib.h>

int main(void)
{
	SRunner *runner;
	int failed;

	/* For a hang, not for a slow machine. Before the first suite is made. */
	setenv("CK_DEFAULT_TIMEOUT", "120", 0);
	runner = srunner_create(merge_suite());
	srunner_add_suite(runner, clock_suite());
	srunner_add_suite(runner, abi_suite());
	srunner_add_suite(runner, order_suite());
	srunner_add_suite(runner, rounds_suite());
	srunner_add_suite(runner, cut_suite());
	srunner_add_suite(runner, bounds_suite());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
