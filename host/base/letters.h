/* SPDX-License-Identifier: GPL-2.0 */
/* letters.h - how similar two names are, to suggest one. */
#ifndef XVT_LETTERS_H
#define XVT_LETTERS_H

#include <stdbool.h>

/* Edit distance of two names: letters to change, insert or drop, and neighbours to swap. 32 where a
 * name has more than 32 letters. */
unsigned int xvt_letters_apart(const char *a, const char *b);

/* Returns whether one name may be meant by the other: a third of the longer one differs, and three
 * letters, at most. */
bool xvt_letters_near(const char *a, const char *b);

#endif /* XVT_LETTERS_H */
