// SPDX-License-Identifier: GPL-2.0
/* match.c - events by name: globs, and the nearest names of a glob that nothing matches. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/letters.h"
#include "lib/parts.h"

/* For an event that the module probes itself: the system of the kernel's event of that name. */
static const char *probed_system(const char *system, const char *name)
{
	static const struct {
		const char *name;
		const char *system;
	} probes[] = {
		{ "sched_switch", "sched" },
		{ "irq_handler_entry", "irq" },
		{ "irq_handler_exit", "irq" },
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
	const char *probed = probed_system(system, name);

	if (!strchr(glob, ':'))
		return fnmatch(glob, name, 0) == 0;
	return is_like(glob, system, name) || (probed && is_like(glob, probed, name));
}

/* Keep the name if it is nearer to the glob than one that is kept. */
static void keep_near(struct xvt_glob *g, const char *system, const char *name)
{
	char both[XVT_NEAR_LEN];
	unsigned int at = g->near_count, apart;

	snprintf(both, sizeof(both), "%s:%s", system, name);
	apart = xvt_letters_apart(g->text, strchr(g->text, ':') ? both : name);
	for (unsigned int i = 0; i < g->near_count; i++)
		if (strcmp(g->near[i].name, both) == 0)
			return;
	while (at && g->near[at - 1].apart > apart)
		at--;
	if (at == XVT_NEAR_MAX)
		return;
	if (g->near_count < XVT_NEAR_MAX)
		g->near_count++;
	memmove(&g->near[at + 1], &g->near[at], (g->near_count - 1 - at) * sizeof(g->near[0]));
	g->near[at].apart = apart;
	memcpy(g->near[at].name, both, sizeof(both));
}

bool xvt_globs_match(struct xvt_glob *globs, const char *system, const char *name, bool near)
{
	bool any = false;

	for (struct xvt_glob *g = globs; g; g = g->next) {
		if (xvtrace_matches(g->text, system, name))
			any = g->matched = true;
		else if (!g->matched && near)
			keep_near(g, system, name);
	}
	return any;
}
