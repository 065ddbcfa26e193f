/* SPDX-License-Identifier: GPL-2.0 */
/* screen.h - the whole terminal as lines of text, and its keys. For one screen at a time. */
#ifndef XVT_SCREEN_H
#define XVT_SCREEN_H

#include "base/error.h"

#include <stddef.h>

enum xvt_screen_style {
	XVT_SCREEN_PLAIN,
	XVT_SCREEN_BOLD,
	XVT_SCREEN_REVERSE,
};

/* Colours of parts of a line; the numbers of curses. */
enum xvt_screen_colour {
	XVT_SCREEN_RED = 1,
	XVT_SCREEN_GREEN = 2,
	XVT_SCREEN_YELLOW = 3,
};

/* Keys that are no characters. */
enum xvt_screen_key {
	XVT_KEY_NONE = 0,
	XVT_KEY_UP = 0x1000,
	XVT_KEY_DOWN,
	XVT_KEY_PAGE_UP,
	XVT_KEY_PAGE_DOWN,
	XVT_KEY_RESIZE, /* the terminal has another size */
	XVT_KEY_OTHER,
};

/*
 * Takes the terminal of standard input and output. The caller has set its handlers of signals
 * before. Returns 0, -ENOPKG or -ENOSYS (no library, or one that is too old), or -ENOTSUP: the
 * terminal is of an unknown type. `why` is then a text for the user.
 */
int xvt_screen_open(struct xvt_error *why);
/* Gives the terminal back as it was. */
void xvt_screen_close(void);

/* Lines on the screen, at least 1. */
size_t xvt_screen_rows(void);

/* All lines are empty then; xvt_screen_show() shows the new ones. */
void xvt_screen_clear(void);
/* Text without control characters; what is too long is cut. */
void xvt_screen_line(size_t row, enum xvt_screen_style style, const char *text, size_t len);
/* Letters of that line get a colour, if the terminal has any. */
void xvt_screen_tint(size_t row, size_t column, size_t letters, enum xvt_screen_colour colour);
void xvt_screen_show(void);

/* The next key that was pressed, a character or enum xvt_screen_key. Does not wait. */
int xvt_screen_key(void);

#endif /* XVT_SCREEN_H */
