/* SPDX-License-Identifier: GPL-2.0 */
/*
 * machine_name.h - names of machines. A user and libvirt may use any characters. What a trace shows
 * has a name as one word before ':' (g1:0), so readers show the others as '_'. All that takes a
 * name takes both spellings.
 */
#ifndef XVT_MACHINE_NAME_H
#define XVT_MACHINE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The name as readers of a trace show it: '_' for blanks, ':' and bytes that are not ASCII. */
void xvt_machine_shown(char *to, size_t size, const char *name);

/* Whether two names are one to a reader. */
bool xvt_machine_same(const char *a, const char *b);

/* Whether a glob matches a name, in one of the spellings of both. */
bool xvt_machine_matches(const char *glob, const char *name);

#endif /* XVT_MACHINE_NAME_H */
