// SPDX-License-Identifier: GPL-2.0
/* main.c - runs the suite "page" alone, over host/clock/page.c or a mutant of it. */
#include "suites.h"

#include <stdlib.h>

int main(void)
{
	SRunner *runner = srunner_create(page_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
