/* SPDX-License-Identifier: GPL-2.0 */
/* said.h - what the code under test writes to standard error. */
#ifndef XVT_TEST_SAID_H
#define XVT_TEST_SAID_H

/* Fixture of a test case: standard error goes to a file from here on. */
void said_setup(void);
/* All that was written since said_setup() or the newest said(). */
const char *said(void);
/* Fails unless that has these words. */
void said_has(const char *words);

#endif /* XVT_TEST_SAID_H */
