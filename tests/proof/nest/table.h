/* SPDX-License-Identifier: GPL-2.0 */
/*
 * table.h - one line of the table in docs/xvt-proof.md.
 */
#ifndef NEST_TABLE_H
#define NEST_TABLE_H

#include "explore.h"

/* name | schedules | wrong | length of the shortest wrong one | itself | what | rules broken */
void table_row(const char *name, const struct ex_result *r, const char *what);

#endif /* NEST_TABLE_H */
