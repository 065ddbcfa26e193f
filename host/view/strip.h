/* SPDX-License-Identifier: GPL-2.0 */
/* strip.h - events of a machine over time, in a row of cells. */
#ifndef XVT_STRIP_H
#define XVT_STRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XVT_STRIP_CELLS_MAX 1000u
#define XVT_STRIP_LEVELS    8u

/* A row of cells of one length. Zeros are a strip without cells. */
struct xvt_strip {
	uint64_t first_ns; /* begin of the first cell */
	uint64_t cell_ns;
	unsigned int cells;
	uint64_t *events;    /* by cell */
	uint64_t *paused_ns; /* by cell */
	uint64_t ended_ns;   /* when the machine ended; 0: it did not */
	/* The cell of the last event. */
	uint64_t *at;
	uint64_t from_ns, until_ns;
};

/* Makes cells that cover both times. Returns 0 or -ENOMEM. */
int xvt_strip_init(struct xvt_strip *s, uint64_t first_ns, uint64_t last_ns, unsigned int cells);
void xvt_strip_fini(struct xvt_strip *s);

/* Takes the cell of a time; one outside of all cells has the nearest. */
void xvt_strip_find(struct xvt_strip *s, uint64_t ns);

static inline void xvt_strip_add(struct xvt_strip *s, uint64_t ns)
{
	if (ns < s->from_ns || ns >= s->until_ns)
		xvt_strip_find(s, ns);
	++*s->at;
}

/* The machine stood still between two times. */
void xvt_strip_pause(struct xvt_strip *s, uint64_t begin_ns, uint64_t end_ns);

/* Events in the fullest cell. */
uint64_t xvt_strip_most(const struct xvt_strip *s);

/*
 * Writes a letter for each cell: one of eight levels, by the fullest cell; a blank in a pause; `·`
 * where nothing was recorded; `×` where the machine ended, and blanks behind that. Without utf8 the
 * levels are digits, and the others `.` and `x`. Returns the number of bytes, without the zero
 * byte.
 */
#define XVT_STRIP_TEXT (XVT_STRIP_CELLS_MAX * 3 + 1)
size_t xvt_strip_text(const struct xvt_strip *s, bool utf8, char to[XVT_STRIP_TEXT]);

#endif /* XVT_STRIP_H */
