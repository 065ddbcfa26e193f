// SPDX-License-Identifier: GPL-2.0
/* match.c - events and tasks by name: globs, and the nearest names of one that nothing matches. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/letters.h"
#include "lib/parts.h"

const char *xvt_probed_system(const char *system, const char *name)
{
	static const struct {
		const char *name;
		const char *system;
	} probes[] = {
		{ "sched_switch", "sched" },
		{ "irq_handler_entry", "irq" },
		{ "irq_handler_exit", "irq" },
		{ "sched_waking", "sched" },
	};

	if (strcmp(system, "xvt") != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (strcmp(name, probes[i].name) == 0)
			return probes[i].system;
	return NULL;
}

static bool is_like(const char *glob, const char *system, const char *name)
{
	char both[256];

	snprintf(both, sizeof(both), "%s:%s", system, name);
	return fnmatch(glob, both, 0) == 0;
}

bool xvtrace_matches(const char *glob, const char *system, const char *name)
{
	const char *probed = xvt_probed_system(system, name);

	if (!strchr(glob, ':'))
		return fnmatch(glob, name, 0) == 0 || strcmp(glob, system) == 0 ||
		       (probed && strcmp(glob, probed) == 0);
	return is_like(glob, system, name) || (probed && is_like(glob, probed, name));
}

void xvt_near_add(struct xvt_near *near, const char *wanted, const char *name, const char *shown)
{
	unsigned int at = near->count, apart;

	for (unsigned int i = 0; i < near->count; i++)
		if (strcmp(near->name[i].shown, shown) == 0)
			return;
	apart = xvt_letters_apart(wanted, name);
	while (at && near->name[at - 1].apart > apart)
		at--;
	if (at == XVT_NEAR_MAX)
		return;
	if (near->count < XVT_NEAR_MAX)
		near->count++;
	memmove(&near->name[at + 1], &near->name[at],
		(near->count - 1 - at) * sizeof(near->name[0]));
	near->name[at].apart = apart;
	snprintf(near->name[at].shown, sizeof(near->name[at].shown), "%s", shown);
}

static void add_near_event(struct xvt_glob *g, const char *system, const char *name)
{
	char both[XVT_NEAR_LEN];

	snprintf(both, sizeof(both), "%s:%s", system, name);
	xvt_near_add(&g->near, g->text, strchr(g->text, ':') ? both : name, both);
}

bool xvt_globs_match(struct xvt_glob *globs, const char *system, const char *name, bool near)
{
	bool any = false, wants = false;

	for (struct xvt_glob *g = globs; g; g = g->next) {
		const bool matches = xvtrace_matches(g->text, system, name);

		if (g->leaves_out && matches)
			return false;
		if (g->leaves_out)
			continue;
		wants = true;
		if (matches)
			any = g->matched = true;
		else if (!g->matched && near)
			add_near_event(g, system, name);
	}
	return any || !wants;
}

int xvt_glob_add(struct xvt_glob **end, const char *text, bool leaves_out)
{
	const size_t len = strlen(text) + 1;
	struct xvt_glob *g = calloc(1, sizeof(*g) + len);

	if (!g)
		return -ENOMEM;
	memcpy(g->text, text, len);
	g->leaves_out = leaves_out;
	while (*end)
		end = &(*end)->next;
	*end = g;
	return 0;
}

void xvt_globs_free(struct xvt_glob *globs)
{
	while (globs) {
		struct xvt_glob *g = globs;

		globs = g->next;
		free(g);
	}
}

bool xvt_globs_unmatched(const struct xvt_glob *globs, size_t number,
			 struct xvtrace_unmatched *unmatched)
{
	for (const struct xvt_glob *g = globs; g; g = g->next) {
		if (g->matched || g->leaves_out || number--)
			continue;
		memset(unmatched, 0, sizeof(*unmatched));
		unmatched->glob = g->text;
		for (unsigned int i = 0; i < g->near.count; i++)
			unmatched->near[i] = g->near.name[i].shown;
		return true;
	}
	return false;
}

/* -- names of tasks ----------------------------------------------------------------- */

/* Names that are no match are compared once, as far as the table of the last ones shows. */
static void add_near_tasks(struct xvt_comms *comms, const char *name)
{
	uint32_t hash = 2166136261u;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	if (comms->seen[hash % XVT_COMMS_SEEN] == hash)
		return;
	comms->seen[hash % XVT_COMMS_SEEN] = hash;
	for (struct xvt_glob *g = comms->globs; g; g = g->next)
		if (!g->matched)
			xvt_near_add(&g->near, g->text, name, name);
}

bool xvt_comms_match(struct xvt_comms *comms, const char *name)
{
	const size_t len = strlen(name);
	bool any = false, all = true;

	for (struct xvt_glob *g = comms->globs; g; g = g->next) {
		if (xvt_like(g->text, (const uint8_t *)name, len))
			any = g->matched = true;
		all = all && g->matched;
	}
	if (!any && !all)
		add_near_tasks(comms, name);
	return any;
}

/* -- globs on bytes ----------------------------------------------------------------- */

/* Whether c is in the set that begins at *set, behind its "["; moves *set behind the set. A "["
 * without a "]" is that letter. */
static bool in_set(const char **set, uint8_t c)
{
	const char *p = *set, *end;
	bool not = *p == '!' || *p == '^', in = false;

	p += not ;
	end = *p ? strchr(p + 1, ']') : NULL;
	if (!end)
		return c == '[';
	*set = end + 1;
	while (p < end) {
		uint8_t from = (uint8_t)*p++, to = from;

		if (*p == '-' && p + 1 < end) {
			to = (uint8_t)p[1];
			p += 2;
		}
		in = in || (c >= from && c <= to);
	}
	return in != not ;
}

bool xvt_like(const char *glob, const uint8_t *text, size_t len)
{
	const uint8_t *end = text + len, *star_text = NULL;
	const char *star = NULL;

	for (;;) {
		const char *rest = glob + 1;
		bool same = false;

		if (*glob == '*') {
			star = ++glob;
			star_text = text;
			continue;
		}
		if (text == end)
			return !*glob;
		if (*glob == '\\' && glob[1])
			same = (uint8_t)*rest++ == *text;
		else if (*glob == '[')
			same = in_set(&rest, *text);
		else if (*glob)
			same = *glob == '?' || (uint8_t)*glob == *text;
		if (same) {
			glob = rest;
			text++;
		} else if (star) { /* let the last * take one letter more */
			glob = star;
			text = ++star_text;
		} else {
			return false;
		}
	}
}
