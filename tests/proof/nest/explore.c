// SPDX-License-Identifier: GPL-2.0
/*
 * explore.c - the depth-first enumeration. No memory grows with the number of schedules.
 */
#include "explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct explorer ex;

/* By action. */
static const char letters[] = ACT_LETTERS;

static jmp_buf run_ended;
static uint32_t broken_rule;
static char broken_text[EX_TEXT];

enum action ex_choose_deviation(uint32_t possible)
{
	const struct ex_deviation *d = &ex.dev[ex.dev_next++];

	if (!(possible & ACT_BIT(d->action))) {
		fprintf(stderr,
			"explore: %u%c is not possible there: another schedule, or other code\n",
			d->at, letters[d->action]);
		exit(2);
	}
	ex.next_at = ex.dev_next < ex.dev_count ? ex.dev[ex.dev_next].at : UINT32_MAX;
	return d->action;
}

void ex_fail(uint32_t rule, const char *format, ...)
{
	va_list args;

	broken_rule = rule;
	va_start(args, format);
	vsnprintf(broken_text, sizeof(broken_text), format, args);
	va_end(args);
	longjmp(run_ended, 1);
}

void ex_tell(const char *format, ...)
{
	va_list args;

	if (!ex.telling)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

void ex_mark(struct ex_mark *mark)
{
	mark->choice = ex.choice;
	mark->dev_next = ex.dev_next;
}

bool ex_go_on_from(const struct ex_mark *mark)
{
	/* Only the last deviation is new. If it comes after the mark, so did all that is gone. */
	if (ex.dev_count && ex.dev[ex.dev_count - 1].at < mark->choice)
		return false;
	ex.choice = mark->choice;
	ex.dev_next = mark->dev_next;
	ex.next_at = ex.dev_next < ex.dev_count ? ex.dev[ex.dev_next].at : UINT32_MAX;
	return true;
}

static bool run_once(void (*run)(void))
{
	ex.choice = 0;
	ex.dev_next = 0;
	ex.next_at = ex.dev_count ? ex.dev[0].at : UINT32_MAX;
	if (setjmp(run_ended))
		return false;
	run();
	return true;
}

/* Move to the schedule after this one. False when there is none. */
static bool next_schedule(const struct ex_options *o)
{
	uint32_t n = ex.choice, action;

	if (n > EX_CHOICES_MAX) {
		fprintf(stderr, "explore: more than %u choices in one run\n", EX_CHOICES_MAX);
		abort();
	}
	while (n--) {
		if (!ex.untried[n])
			continue;
		while (ex.dev_count && ex.dev[ex.dev_count - 1].at >= n)
			ex.dev_count--;
		/* Shares are cut at the first deviation. */
		if (!ex.dev_count && n % o->parts != o->part) {
			ex.untried[n] = 0;
			continue;
		}
		if (ex.dev_count == EX_DEVIATIONS_MAX) {
			fprintf(stderr, "explore: more than %u deviations\n", EX_DEVIATIONS_MAX);
			abort();
		}
		action = (uint32_t)__builtin_ctz(ex.untried[n]);
		ex.untried[n] &= (uint16_t)~ACT_BIT(action);
		ex.dev[ex.dev_count++] = (struct ex_deviation){ n, action };
		return true;
	}
	return false;
}

static void note_wrong(struct ex_result *r)
{
	r->wrong++;
	r->by_rule[broken_rule]++;
	if (r->wrong > 1 && ex.dev_next >= r->best_count)
		return;
	/* It may have broken before all its deviations were taken: those are not needed. */
	r->best_count = ex.dev_next;
	memcpy(r->best, ex.dev, sizeof(r->best));
	r->best_rule = broken_rule;
	memcpy(r->best_text, broken_text, sizeof(r->best_text));
}

void ex_all(void (*run)(void), const struct ex_options *o, struct ex_result *r)
{
	memset(r, 0, sizeof(*r));
	ex.telling = false;
	ex.dev_count = 0;
	do {
		bool right = run_once(run);

		/* Where nothing deviates is every share's beginning, and counted once. */
		if (!ex.dev_count && o->part)
			continue;
		r->schedules++;
		if (!right)
			note_wrong(r);
		if ((o->wrong_max && r->wrong >= o->wrong_max) ||
		    (o->limit && r->schedules >= o->limit))
			break;
	} while (next_schedule(o));
}

bool ex_replay(void (*run)(void), const struct ex_deviation *dev, uint32_t count, uint32_t *rule)
{
	bool right;

	memcpy(ex.dev, dev, count * sizeof(*dev));
	ex.dev_count = count;
	ex.telling = true;
	right = run_once(run);
	ex.telling = false;
	*rule = broken_rule;
	if (!right)
		printf("WRONG: %s\n", broken_text);
	else if (ex.dev_next < count)
		printf("(the run ended before choice %u)\n", dev[ex.dev_next].at);
	return right;
}

void ex_print(const struct ex_deviation *dev, uint32_t count, char *text, uint32_t size)
{
	uint32_t i, at = 0;

	snprintf(text, size, "-"); /* nothing happens */
	for (i = 0; i < count && at + 16 < size; i++)
		at += (uint32_t)snprintf(text + at, size - at, "%s%u%c", i ? "," : "", dev[i].at,
					 letters[dev[i].action]);
}

int ex_parse(const char *text, struct ex_deviation *dev)
{
	int count = 0;

	if (!strcmp(text, "-"))
		return 0;
	for (;;) {
		char *end;
		const char *letter;

		if (count == EX_DEVIATIONS_MAX)
			return -1;
		dev[count].at = (uint32_t)strtoul(text, &end, 10);
		letter = *end && end != text ? strchr(letters, *end) : NULL;
		if (!letter || letter == letters)
			return -1;
		dev[count].action = (uint32_t)(letter - letters);
		if (count && dev[count].at <= dev[count - 1].at)
			return -1;
		count++;
		if (!end[1])
			return count;
		if (end[1] != ',')
			return -1;
		text = end + 2;
	}
}
