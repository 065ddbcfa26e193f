// SPDX-License-Identifier: GPL-2.0
/* letters.c - see letters.h. */
#include "base/letters.h"

#include <string.h>

#define LETTERS_MOST 32

unsigned int xvt_letters_apart(const char *a, const char *b)
{
	unsigned int rows[3][LETTERS_MOST + 1];
	size_t la = strlen(a), lb = strlen(b), i, j;

	if (la > LETTERS_MOST || lb > LETTERS_MOST)
		return LETTERS_MOST;
	for (j = 0; j <= lb; j++)
		rows[0][j] = (unsigned int)j;
	for (i = 1; i <= la; i++) {
		unsigned int *row = rows[i % 3];
		const unsigned int *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

		row[0] = (unsigned int)i;
		for (j = 1; j <= lb; j++) {
			unsigned int best = above[j - 1] + (a[i - 1] != b[j - 1]);

			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    second[j - 2] + 1 < best)
				best = second[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[la % 3][lb];
}

bool xvt_letters_near(const char *a, const char *b)
{
	const size_t la = strlen(a), lb = strlen(b);
	const unsigned int apart = xvt_letters_apart(a, b);

	return apart <= 3 && 3 * apart <= (la > lb ? la : lb);
}
