// SPDX-License-Identifier: GPL-2.0
/* strip.c - see strip.h. */
#include "view/strip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int xvt_strip_init(struct xvt_strip *s, uint64_t first_ns, uint64_t last_ns, unsigned int cells)
{
	if (!cells || cells > XVT_STRIP_CELLS_MAX)
		cells = XVT_STRIP_CELLS_MAX;
	if (last_ns < first_ns)
		last_ns = first_ns;
	*s = (struct xvt_strip){ .first_ns = first_ns,
				 .cell_ns = (last_ns - first_ns) / cells + 1,
				 .cells = cells };
	s->events = calloc(cells, sizeof(*s->events));
	s->paused_ns = calloc(cells, sizeof(*s->paused_ns));
	if (s->events && s->paused_ns)
		return 0;
	xvt_strip_fini(s);
	return -ENOMEM;
}

void xvt_strip_fini(struct xvt_strip *s)
{
	free(s->events);
	free(s->paused_ns);
	*s = (struct xvt_strip){ .cells = 0 };
}

static unsigned int cell_of(const struct xvt_strip *s, uint64_t ns)
{
	uint64_t cell = ns > s->first_ns ? (ns - s->first_ns) / s->cell_ns : 0;

	return cell < s->cells ? (unsigned int)cell : s->cells - 1;
}

void xvt_strip_find(struct xvt_strip *s, uint64_t ns)
{
	const unsigned int cell = cell_of(s, ns);

	s->at = &s->events[cell];
	s->from_ns = s->first_ns + cell * s->cell_ns;
	/* The strip's end may be beyond the largest time. */
	if (__builtin_add_overflow(s->from_ns, s->cell_ns, &s->until_ns))
		s->until_ns = UINT64_MAX;
}

void xvt_strip_pause(struct xvt_strip *s, uint64_t begin_ns, uint64_t end_ns)
{
	for (unsigned int i = cell_of(s, begin_ns); i < s->cells; i++) {
		const uint64_t from_ns = s->first_ns + i * s->cell_ns;
		const uint64_t begin = begin_ns > from_ns ? begin_ns : from_ns;
		const uint64_t end = end_ns - from_ns < s->cell_ns ? end_ns : from_ns + s->cell_ns;

		if (end_ns <= from_ns)
			break;
		if (end > begin)
			s->paused_ns[i] += end - begin;
	}
}

uint64_t xvt_strip_most(const struct xvt_strip *s)
{
	uint64_t most = 0;

	for (unsigned int i = 0; i < s->cells; i++)
		most = s->events[i] > most ? s->events[i] : most;
	return most;
}

/* Which level a cell has, from 1 on: the last one is that of the fullest cell alone. */
static unsigned int level_of(uint64_t events, uint64_t most)
{
	return 1 + (unsigned int)((unsigned __int128)events * (XVT_STRIP_LEVELS - 1) / most);
}

static const char *letter_of(const struct xvt_strip *s, unsigned int cell, bool utf8, uint64_t most)
{
	static const char *const bars[] = { "·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const digits[] = { ".", "1", "2", "3", "4", "5", "6", "7", "8" };
	const unsigned int end = s->ended_ns ? cell_of(s, s->ended_ns) : s->cells;

	if (cell == end)
		return utf8 ? "×" : "x";
	if (s->events[cell])
		return (utf8 ? bars : digits)[level_of(s->events[cell], most)];
	if (cell > end || s->paused_ns[cell])
		return " ";
	return (utf8 ? bars : digits)[0];
}

size_t xvt_strip_text(const struct xvt_strip *s, bool utf8, char to[XVT_STRIP_TEXT])
{
	const uint64_t most = xvt_strip_most(s);
	size_t used = 0;

	for (unsigned int i = 0; i < s->cells; i++) {
		const char *letter = letter_of(s, i, utf8, most);
		const size_t len = strlen(letter);

		memcpy(to + used, letter, len);
		used += len;
	}
	to[used] = '\0';
	return used;
}
