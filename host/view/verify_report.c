// SPDX-License-Identifier: GPL-2.0
/* verify_report.c - see verify_parts.h. */
#include "view/verify_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES	 8192u /* more than the longest note or violation */

/* Lines reported for each machine and kind of violation; further ones are only counted. Violations
 * of one machine and kind do not hide those of another. */
#define VIOLATIONS_SHOWN 5u

static const char *const kind_names[XVT_VERIFY_KINDS] = {
	[XVT_VERIFY_DAMAGE] = "damage",
	[XVT_VERIFY_CHUNK] = "chunk",
	[XVT_VERIFY_INDEX] = "index",
	[XVT_VERIFY_END] = "end",
	[XVT_VERIFY_HOST_CLOCK] = "host's clock",
	[XVT_VERIFY_RING] = "ring",
	[XVT_VERIFY_CLOCK] = "clock node",
	[XVT_VERIFY_TIME] = "time",
	[XVT_VERIFY_SAMPLE] = "clock sample",
	[XVT_VERIFY_ORDER] = "order",
	[XVT_VERIFY_LOOK] = "look",
	[XVT_VERIFY_MARK] = "mark",
	[XVT_VERIFY_PAIR] = "clock pair",
	[XVT_VERIFY_RAN] = "run span",
	[XVT_VERIFY_COUNT] = "count",
	[XVT_VERIFY_LOSS] = "loss",
	[XVT_VERIFY_CAUSE] = "cause",
};

/* Each damaged place gets a line: only that line reports its position. */
static uint64_t shown_of(int kind)
{
	return kind == XVT_VERIFY_DAMAGE ? XVT_DAMAGE_MAX : VIOLATIONS_SHOWN;
}

/* The machine's tally; vm may be any number. */
static struct xvt_verify_tally *tally_of(const struct xvt_verify_state *v, uint32_t vm)
{
	return &v->tally[vm < v->t->vm_count ? vm : v->t->vm_count];
}

void xvt_verify_violation(struct xvt_verify_state *v, enum xvt_verify_kind kind, uint32_t vm,
			  const char *format, ...)
{
	char text[1024], clean[2048];
	va_list args;

	v->result->violations++;
	if (tally_of(v, vm)->of[kind]++ >= shown_of(kind))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	xvt_text_clean(clean, sizeof(clean), text, strlen(text));
	xvt_verify_line(v, "violation: %s", clean);
}

void xvt_verify_line(const struct xvt_verify_state *v, const char *format, ...)
{
	char text[LINE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	v->opts->line(v->opts->arg, text);
}

/* List the violations that were not reported: "1080 cause, 12 time". Returns the text's length. */
static size_t left_out(const struct xvt_verify_tally *tally, char *text, size_t size)
{
	size_t len = 0;

	text[0] = 0;
	for (int kind = 0; kind < XVT_VERIFY_KINDS; kind++) {
		if (tally->of[kind] > shown_of(kind) && len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%" PRIu64 " %s",
						len ? ", " : "", tally->of[kind] - shown_of(kind),
						kind_names[kind]);
	}
	return len;
}

void xvt_verify_report_more(const struct xvt_verify_state *v)
{
	char text[1024];

	for (uint32_t vm = 0; vm <= v->t->vm_count; vm++) {
		if (left_out(tally_of(v, vm), text, sizeof(text)))
			xvt_verify_line(v, "more of %s: %s",
					vm < v->t->vm_count ? xvt_vm_name(v->t, vm) : "no machine",
					text);
	}
}

const char *xvt_verify_ring_text(const struct xvt_verify_state *v, uint32_t ring,
				 char text[XVT_VERIFY_RING_TEXT])
{
	uint32_t vm = xvt_ring_vm(v->t, ring);

	if (vm == XVT_VM_NONE)
		snprintf(text, XVT_VERIFY_RING_TEXT, "ring %u", ring);
	else
		snprintf(text, XVT_VERIFY_RING_TEXT, "%s:%u (ring %u)", xvt_vm_name(v->t, vm),
			 v->t->rings[ring].info.cpu, ring);
	return text;
}
