// SPDX-License-Identifier: GPL-2.0
/* fit.c - see fit.h. */
#define _GNU_SOURCE
#include "formats/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ftrace rounds a record up to 4 bytes after the compiler has rounded the struct up to 8, and adds
 * 4 bytes to one whose length would be that of a time extension. */
#define ROUNDED_BY 11u

struct lengths {
	uint16_t least; /* 0: none was seen */
	uint16_t most;
	bool taken; /* by xvt_fit_take(), as it is */
};

struct xvt_fit {
	uint64_t changes;
	struct lengths of[XVT_FIT_IDS];
};

struct xvt_fit *xvt_fit_new(void)
{
	return calloc(1, sizeof(struct xvt_fit));
}

void xvt_fit_free(struct xvt_fit *fit)
{
	free(fit);
}

void xvt_fit_add(struct xvt_fit *fit, const struct xvt_fit_lengths *lengths)
{
	struct lengths *l = &fit->of[lengths->id];

	if (lengths->least < sizeof(lengths->id) || lengths->most < lengths->least)
		return;
	if (l->least && lengths->least >= l->least && lengths->most <= l->most)
		return;
	if (!l->least || lengths->least < l->least)
		l->least = lengths->least;
	if (lengths->most > l->most)
		l->most = lengths->most;
	l->taken = false;
	fit->changes++;
}

void xvt_fit_record(struct xvt_fit *fit, const uint8_t *record, uint32_t len)
{
	struct xvt_fit_lengths l = { .least = (uint16_t)len, .most = (uint16_t)len };

	if (len < sizeof(l.id) || len > UINT16_MAX)
		return;
	memcpy(&l.id, record, sizeof(l.id));
	xvt_fit_add(fit, &l);
}

bool xvt_fit_take(struct xvt_fit *fit, uint32_t *at, struct xvt_fit_lengths *lengths)
{
	for (; *at < XVT_FIT_IDS; ++*at) {
		struct lengths *l = &fit->of[*at];

		if (!l->least || l->taken)
			continue;
		l->taken = true;
		*lengths = (struct xvt_fit_lengths){ (uint16_t)*at, l->least, l->most };
		return true;
	}
	return false;
}

void xvt_fit_take_again(struct xvt_fit *fit)
{
	for (uint32_t id = 0; id < XVT_FIT_IDS; id++)
		fit->of[id].taken = false;
}

uint64_t xvt_fit_changes(const struct xvt_fit *fit)
{
	return fit->changes;
}

bool xvt_fit_has(const struct xvt_fit *fit, uint16_t id)
{
	return fit->of[id].least;
}

/* The number behind a word of a line that ends at `end`; UINT32_MAX: none. */
static uint32_t number_of(const char *line, const char *end, const char *word)
{
	const char *at = strstr(line, word);
	unsigned long n;

	if (!at || at >= end)
		return UINT32_MAX;
	n = strtoul(at + strlen(word), NULL, 10);
	return n < UINT16_MAX ? (uint32_t)n : UINT32_MAX;
}

static bool has(const char *line, const char *end, const char *word)
{
	const char *at = strstr(line, word);

	return at && at < end;
}

/* Bytes of a record up to the end of its last field, and whether more may follow. */
static uint32_t bytes_of(const char *text, bool *open)
{
	const char *line = strstr(text, "\tfield:"), *end;
	uint32_t most = 0;

	*open = false;
	for (; line; line = strstr(end, "\tfield:")) {
		uint32_t offset, size;

		end = strchrnul(line, '\n');
		offset = number_of(line, end, "offset:");
		size = number_of(line, end, "size:");
		if (offset == UINT32_MAX || size == UINT32_MAX) {
			*open = true; /* nothing that is known to contradict */
			continue;
		}
		if (!size || has(line, end, "__data_loc") || has(line, end, "__rel_loc") ||
		    has(line, end, "[];"))
			*open = true;
		if (offset + size > most)
			most = offset + size;
	}
	return most;
}

bool xvt_fit_check(const struct xvt_fit *fit, const struct xvt_formats *f, uint32_t *unknown,
		   struct xvt_error *why)
{
	struct xvt_formats_event e;
	uint32_t seen = 0, known = 0, id;
	size_t at = 0;

	while (xvt_formats_next(f, &at, &e)) {
		const struct lengths l = fit->of[e.id];
		uint32_t bytes;
		bool open;

		if (!l.least)
			continue;
		known++;
		bytes = bytes_of(e.text, &open);
		if (l.least >= bytes && (open || l.most <= bytes + ROUNDED_BY))
			continue;
		xvt_fail(why, 0,
			 "event %u is %s:%s there, which has %s%u bytes, and records of it have %u",
			 e.id, e.system, e.event, open ? "at least " : "", bytes,
			 l.least < bytes ? l.least : l.most);
		return false;
	}
	for (id = 0; id < XVT_FIT_IDS; id++)
		seen += fit->of[id].least != 0;
	*unknown = seen - known;
	return true;
}
