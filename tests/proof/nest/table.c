// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - results as the lines of a table.
 */
#include "table.h"

#include <stdio.h>
#include <string.h>

#include "rules.h"

const char *const rule_names[RULES] = {
	[RULE_COMMIT_ORDER] = "N1-commit",
	[RULE_IDLE] = "N1-idle",
	[RULE_DECODE] = "N2-decode",
	[RULE_UNFINISHED] = "N2-unfinished",
	[RULE_STAMP] = "N3-stamp",
	[RULE_TIME] = "N4-time",
	[RULE_ORDER] = "N4-order",
	[RULE_PAYLOAD] = "N4-payload",
	[RULE_COUNTS] = "N5-counts",
	[RULE_MISSING] = "N5-missing",
	[RULE_TWICE] = "N5-twice",
	[RULE_OVERLAP] = "N6-overlap",
	[RULE_OVERRUN] = "N7-overrun",
	[RULE_DROPPED] = "N7-dropped",
	[RULE_SUBBUF] = "N8-subbuf",
	[RULE_SALVAGE] = "N9-salvage",
	[RULE_RETRIES] = "N11-retries",
	[RULE_LATE] = "N13-late",
	[RULE_OFF] = "N13-off",
	[RULE_WAKE] = "N14-wake",
	[RULE_MEMORY] = "N15-memory",
	[RULE_ENDLESS] = "endless",
	[RULE_INTERVAL] = "time-interval",
};

void table_row(const char *name, const struct ex_result *r, const char *what)
{
	char schedule[EX_DEVIATIONS_MAX * 8], rules[200] = "";
	uint32_t i;

	snprintf(schedule, sizeof(schedule), "none");
	if (r->wrong)
		ex_print(r->best, r->best_count, schedule, sizeof(schedule));
	for (i = 0; i < RULES; i++)
		if (r->by_rule[i])
			snprintf(rules + strlen(rules), sizeof(rules) - strlen(rules), " %s",
				 rule_names[i]);
	printf("| %-28s | %9llu | %8llu | %u | %-18s | %s |%s |\n", name,
	       (unsigned long long)r->schedules, (unsigned long long)r->wrong,
	       r->wrong ? r->best_count : 0, schedule, what, rules);
}
