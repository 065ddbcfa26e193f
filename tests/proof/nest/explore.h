/* SPDX-License-Identifier: GPL-2.0 */
/*
 * explore.h - every schedule of a bounded program, depth first.
 *
 * A run of the subject asks ex_choose() wherever something may happen: an interrupt, a step
 * of the host, a jump of the clock. The answer 0 means "go on", so a schedule is the short
 * list of the places where something did happen: its deviations. Each run replays the
 * deviations it was given, goes on without any, and notes what it could have done instead.
 * The next run takes the last of these untried ways. So each schedule runs exactly once, and
 * what two neighbours have in common is the same for both: the subject need not check it
 * again, see ex_fresh().
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdbool.h>
#include <stdint.h>

enum action {
	ACT_NONE = 0,
	ACT_NEST,    /* an interrupt writes an event */
	ACT_DISCARD, /* the event is given back instead of finished */
	ACT_EPOCH,   /* the host opens a new epoch and the clock jumps back */
	ACT_BACK,    /* the clock jumps back unannounced */
	ACT_DELAY,   /* a long time passes */
	ACT_CONSUME, /* the host takes what is committed, or moves cons: next step of the two */
	ACT_COPY,    /* the overwrite reader makes its next step */
	ACT_SWITCH,  /* the host switches recording off, or on again */
	ACT_WRECK,   /* who may write the region leaves a position that no ring has */
	ACT_KINDS,
};
/* How a schedule is written: "12n,30n,31d" is an interrupt at choice 12 and so on. */
#define ACT_LETTERS	  "-ndebtchsw"

#define ACT_BIT(a)	  (1u << (a))

#define EX_CHOICES_MAX	  4096u
#define EX_DEVIATIONS_MAX 48u
#define EX_TEXT		  240u
#define EX_RULES_MAX	  32u

struct ex_deviation {
	uint32_t at;
	uint32_t action;
};

struct explorer {
	uint32_t choice;   /* number of the next choice */
	uint32_t next_at;  /* of the next deviation; UINT32_MAX when all are done */
	uint32_t dev_next; /* the deviation after the last one taken */
	uint32_t dev_count;
	struct ex_deviation dev[EX_DEVIATIONS_MAX];
	bool telling; /* print the story of this run */
	uint16_t untried[EX_CHOICES_MAX];
};

extern struct explorer ex;

/* What a whole enumeration found. */
struct ex_result {
	uint64_t schedules;
	uint64_t wrong;
	uint64_t by_rule[EX_RULES_MAX]; /* the first rule that each wrong one broke */
	uint32_t best_rule;		/* of the shortest wrong schedule */
	uint32_t best_count;
	struct ex_deviation best[EX_DEVIATIONS_MAX];
	char best_text[EX_TEXT];
};

struct ex_options {
	uint32_t part;	    /* of parts: a share of the schedules, for several cores */
	uint32_t parts;	    /* 1 = all */
	uint64_t wrong_max; /* stop after so many wrong ones; 0 = never */
	uint64_t limit;	    /* stop after so many schedules; 0 = never */
};

/* Everything new from here on: the part before is what an earlier schedule was, too. */
static inline bool ex_fresh(void)
{
	return ex.next_at == UINT32_MAX;
}

enum action ex_choose_deviation(uint32_t possible);

/* What happens here? `possible` is a set of ACT_BIT()s and not empty. */
static inline enum action ex_choose(uint32_t possible)
{
	uint32_t n = ex.choice++;

	if (__builtin_expect(n == ex.next_at, 0))
		return ex_choose_deviation(possible);
	if (ex_fresh())
		ex.untried[n % EX_CHOICES_MAX] = (uint16_t)possible;
	return ACT_NONE;
}

/*
 * A place in a run from which other schedules may go on, when the subject can put itself back
 * there: ex_mark() takes it, ex_go_on_from() goes there and says whether this schedule begins
 * like the one in which the mark was taken. Marks are to be asked from the newest to the oldest,
 * and those that do not fit any more, forgotten.
 */
struct ex_mark {
	uint32_t choice;
	uint32_t dev_next;
};
void ex_mark(struct ex_mark *mark);
bool ex_go_on_from(const struct ex_mark *mark);

/* The run broke `rule`. Does not return: the run ends here. */
void ex_fail(uint32_t rule, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* A line of the story, when it is told. */
void ex_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Run all schedules of run(). */
void ex_all(void (*run)(void), const struct ex_options *options, struct ex_result *result);

/* Run one schedule and tell it. Returns whether it was right; *rule is what it broke. */
bool ex_replay(void (*run)(void), const struct ex_deviation *dev, uint32_t count, uint32_t *rule);

/* Schedules to text and back. ex_parse() returns the number of deviations or -1. */
void ex_print(const struct ex_deviation *dev, uint32_t count, char *text, uint32_t size);
int ex_parse(const char *text, struct ex_deviation *dev);

#endif /* EXPLORE_H */
