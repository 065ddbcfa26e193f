// SPDX-License-Identifier: GPL-2.0
/* tint.c - see tint.h. */
#define _GNU_SOURCE
#include "top/tint.h"

#include <stdio.h>
#include <string.h>

#define STATE_WIDTH 12u
#define LOST_WIDTH  7u

/* The head is ASCII. */
void xvt_top_heads(struct xvt_top_heads *h, const char *text, size_t len)
{
	const char *state = memmem(text, len, " STATE", 6), *lost = memmem(text, len, " LOST/S", 7);

	h->state_at = state ? (size_t)(state - text) + 1 : 0;
	h->lost_at = lost ? (size_t)(lost - text) : 0;
}

const char *xvt_top_letters_behind(const char *text, size_t len, size_t letters)
{
	const char *end = text + len;

	for (; text < end && letters; letters--)
		do {
			text++;
		} while (text < end && ((uint8_t)*text & 0xc0) == 0x80);
	return text;
}

static enum xvt_screen_colour colour_of(const char *state)
{
	static const char *const over[] = { "ended", "moved", "gone", "stopped" };

	for (size_t i = 0; i < sizeof(over) / sizeof(over[0]); i++)
		if (strncmp(state, over[i], strlen(over[i])) == 0)
			return XVT_SCREEN_RED;
	return strncmp(state, "live", 4) == 0 ? XVT_SCREEN_GREEN : XVT_SCREEN_YELLOW;
}

size_t xvt_top_tints(struct xvt_top_tint tints[XVT_TOP_TINTS], const struct xvt_top_heads *h,
		     const struct xvt_top_machine *m, const char *text, size_t len)
{
	char state[STATE_WIDTH + 1] = "";
	const char *at;
	size_t n = 0;

	if (!h->state_at)
		return 0;
	at = xvt_top_letters_behind(text, len, h->state_at);
	snprintf(state, sizeof(state), "%.*s", (int)(text + len - at), at);
	tints[n++] = (struct xvt_top_tint){ .at = h->state_at,
					    .letters = STATE_WIDTH,
					    .colour = colour_of(state) };
	if (m->v[XVT_TOP_LOST_S])
		tints[n++] = (struct xvt_top_tint){ .at = h->lost_at,
						    .letters = LOST_WIDTH,
						    .colour = XVT_SCREEN_RED };
	return n;
}
