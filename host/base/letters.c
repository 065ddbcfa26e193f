// SPDX-License-Identifier: GPL-2.0
/* letters.c - see letters.h. */
#include "base/letters.h"

#include <string.h>

unsigned int xvt_letters_apart(const char *a, const char *b)
{
	unsigned int row[33], diagonal, above;
	size_t la = strlen(a), lb = strlen(b), i, j;

	if (la > 32 || lb > 32)
		return 32;
	for (j = 0; j <= lb; j++)
		row[j] = (unsigned int)j;
	for (i = 1; i <= la; i++) {
		diagonal = row[0];
		row[0] = (unsigned int)i;
		for (j = 1; j <= lb; j++) {
			unsigned int best = diagonal + (a[i - 1] != b[j - 1]);

			above = row[j];
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[lb];
}
