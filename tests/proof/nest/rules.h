/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rules.h - what must hold, and its names. The numbers are those of the ring's invariants N1 to
 * N14; docs/xvt-proof.md says what each means.
 */
#ifndef NEST_RULES_H
#define NEST_RULES_H

enum nest_rule {
	RULE_COMMIT_ORDER, /* N1: commit never goes back and is never ahead of resv */
	RULE_IDLE,	   /* N1: with no event open, nest == 0 and commit == resv */
	RULE_DECODE,	   /* N2: what is committed decodes, to its last byte */
	RULE_UNFINISHED,   /* N2: nothing unfinished below commit, nothing discarded */
	RULE_STAMP,	   /* N3: equal stamps are the time of the last record */
	RULE_TIME,	   /* N4: the decoded time is the clock value that the event was given */
	RULE_ORDER,	   /* N4: times never decrease in buffer order */
	RULE_PAYLOAD,	   /* N4: and the payload is the event's */
	RULE_COUNTS,	   /* N5: attempted == delivered + discarded + lost, each exact */
	RULE_MISSING,	   /* N5: what was neither lost nor discarded arrives */
	RULE_TWICE,	   /* N5: once */
	RULE_OVERLAP,	   /* N6: no two records share a byte */
	RULE_OVERRUN,	   /* N7: never over what the host or a writer still needs */
	RULE_DROPPED,	   /* N7: nothing is dropped while there is room */
	RULE_SUBBUF,	   /* N8: sub-buffer headers: time, counters */
	RULE_SALVAGE,	   /* N9: a crash here leaves all finished records, exact */
	RULE_RETRIES,	   /* N11: no more retries than disturbances */
	RULE_LATE,	   /* N13: no record below a bound that the host could prove */
	RULE_OFF,	   /* N13: a ring that is off and idle stays as it is */
	RULE_WAKE,	   /* N14: no event under way, so need_wake was read after each crossing */
	RULE_MEMORY,	   /* N15: a wrong position costs events and not memory */
	RULE_ENDLESS,	   /* every run ends */
	/* Of the historic algorithms, which have no exact times: */
	RULE_INTERVAL, /* the decoded time lies between entry and exit of reserve */
	RULES,
};

extern const char *const rule_names[RULES];

#endif /* NEST_RULES_H */
