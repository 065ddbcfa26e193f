/* SPDX-License-Identifier: GPL-2.0 */
/* must_hold.h - as ck_assert(), for what is asked a million times: Check writes a line for each
 * that holds. */
#ifndef XVT_TEST_MUST_HOLD_H
#define XVT_TEST_MUST_HOLD_H

#include <check.h>

#define must_hold(what)                            \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

#endif /* XVT_TEST_MUST_HOLD_H */
