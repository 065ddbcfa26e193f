// SPDX-License-Identifier: GPL-2.0
/* condition.c - see condition.h. */
#include "flight/condition.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/machine_name.h"
#include "lib/xvtrace.h"
#include "options/opt.h"
#include "session/session.h"

static const struct {
	const char *word;
	enum xvt_condition_kind kind;
} kinds[] = {
	{ "event", XVT_CONDITION_EVENT },
	{ "loss", XVT_CONDITION_LOSS },
	{ "crash", XVT_CONDITION_CRASH },
	{ "still", XVT_CONDITION_STILL },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Ends the first word of *text, and sets *text to what follows. Returns the word; NULL: none. */
static char *next_word(char **text)
{
	char *word = *text + strspn(*text, " "), *end = word + strcspn(word, " ");

	*text = *end ? end + 1 + strspn(end + 1, " ") : end;
	if (*end)
		*end = '\0';
	return *word ? word : NULL;
}

/* [MACHINE:][SYSTEM:]EVENT [FILTER] */
static bool parse_event(struct xvt_condition *c, char *rest)
{
	char *glob = next_word(&rest), *colon = glob ? strchr(glob, ':') : NULL;

	c->event = glob;
	c->filter = *rest ? rest : NULL;
	if (colon && strchr(colon + 1, ':')) {
		*colon = '\0';
		c->machine = glob;
		c->event = colon + 1;
	}
	return glob;
}

static bool parse(struct xvt_condition *c)
{
	char *rest = c->text, *word = next_word(&rest);
	size_t i;

	for (i = 0; word && i < KINDS; i++) {
		if (strcmp(word, kinds[i].word) != 0)
			continue;
		c->kind = kinds[i].kind;
		if (c->kind == XVT_CONDITION_EVENT)
			return parse_event(c, rest);
		if (c->kind == XVT_CONDITION_STILL) {
			word = next_word(&rest);
			if (!word || xvt_parse_seconds(word, &c->ns) || !c->ns)
				return false;
		}
		c->machine = next_word(&rest);
		return !*rest;
	}
	return false;
}

/* Returns 0 or -errno, after an error message. */
static int check_filter(const struct xvt_opt_value *value, const char *filter)
{
	struct xvtrace_error error;
	int err = filter ? xvtrace_check_filter(filter, &error) : 0;

	if (err)
		xvt_opt_error_of(value, "filter: %s", error.text[0] ? error.text : strerror(-err));
	return err;
}

int xvt_condition_parse(struct xvt_condition *c, const struct xvt_opt_value *value)
{
	int err;

	*c = (struct xvt_condition){ .text = strdup(value->text) };
	if (!c->text) {
		xvt_error(value->text, "out of memory");
		return -ENOMEM;
	}
	if (parse(c)) {
		err = check_filter(value, c->filter);
		if (err)
			xvt_condition_free(c);
		return err;
	}
	xvt_opt_error_of(value,
			 "a condition is: event GLOB [FILTER], like event xvt:text 'text == "
			 "\"boom\"'; loss [MACHINE]; crash [MACHINE]; or still SECONDS [MACHINE]");
	xvt_condition_free(c);
	return -EINVAL;
}

void xvt_condition_free(struct xvt_condition *c)
{
	free(c->text);
	c->text = NULL;
}

const char *xvt_condition_word(const struct xvt_condition *c)
{
	size_t i = 0;

	while (kinds[i].kind != c->kind)
		i++;
	return kinds[i].word;
}

bool xvt_condition_holds(const struct xvt_condition *c, const char *machine,
			 const struct xvt_vm_changes *changes, char *what, size_t what_size,
			 uint64_t *ago_ns)
{
	const uint64_t still_ms = changes->still_ns / 1000000;

	*ago_ns = 0;
	if (!xvt_condition_is_for(c, machine))
		return false;
	switch (c->kind) {
	case XVT_CONDITION_CRASH:
		snprintf(what, what_size, "%s crashed", machine);
		return changes->crashed;
	case XVT_CONDITION_LOSS:
		snprintf(what, what_size, "%s lost %" PRIu64 " events", machine, changes->lost);
		return changes->lost;
	case XVT_CONDITION_STILL:
		snprintf(what, what_size, "%s had no event for %" PRIu64 ".%03" PRIu64 " s",
			 machine, still_ms / 1000, still_ms % 1000);
		*ago_ns = changes->still_ns;
		return changes->still_ns >= c->ns && changes->was_still_ns < c->ns;
	default:
		return false;
	}
}

bool xvt_condition_is_for(const struct xvt_condition *c, const char *machine)
{
	return !c->machine || xvt_machine_matches(c->machine, machine);
}
