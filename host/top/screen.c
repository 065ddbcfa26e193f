// SPDX-License-Identifier: GPL-2.0
/* screen.c - the only file that includes ncurses, which the first use loads. */
#define _GNU_SOURCE
#include "top/screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#if !defined(XVT_NCURSES_SONAME)

int xvt_screen_open(struct xvt_error *why)
{
	return xvt_fail(why, -ENOPKG, "this xvtrace was built without ncurses");
}

void xvt_screen_close(void)
{
}

size_t xvt_screen_rows(void)
{
	return 1;
}

void xvt_screen_clear(void)
{
}

void xvt_screen_line(size_t row, enum xvt_screen_style style, const char *text, size_t len)
{
	(void)row;
	(void)style;
	(void)text;
	(void)len;
}

void xvt_screen_tint(size_t row, size_t column, size_t letters, enum xvt_screen_colour colour)
{
	(void)row;
	(void)column;
	(void)letters;
	(void)colour;
}

void xvt_screen_show(void)
{
}

int xvt_screen_key(void)
{
	return XVT_KEY_NONE;
}

#else

/* Functions only: the macros name variables of the library. */
#define NCURSES_NOMACROS 1
#define NCURSES_OPAQUE	 1
#include <curses.h>
#include <dlfcn.h>
#include <stdbool.h>

#include "base/library.h"
#include "base/out.h"

#define CURSES_FUNCTIONS(F)   \
	F(newterm)            \
	F(delscreen)          \
	F(endwin)             \
	F(newwin)             \
	F(delwin)             \
	F(cbreak)             \
	F(noecho)             \
	F(keypad)             \
	F(nodelay)            \
	F(curs_set)           \
	F(wgetch)             \
	F(werase)             \
	F(wmove)              \
	F(wclrtoeol)          \
	F(waddnstr)           \
	F(wattrset)           \
	F(wrefresh)           \
	F(has_colors)         \
	F(start_color)        \
	F(use_default_colors) \
	F(init_pair)          \
	F(wchgat)             \
	F(getmaxx)            \
	F(getmaxy)
#define POINTER(name) __typeof__(&name) name;
static struct {
	CURSES_FUNCTIONS(POINTER)
} lib;

static const struct xvt_symbol symbols[] = {
#define SYMBOL(name)  { #name, &lib.name },
	CURSES_FUNCTIONS(SYMBOL){ NULL, NULL }
};

static struct {
	SCREEN *terminal;
	WINDOW *window; /* the whole screen */
	bool colours;
} screen;

static int load(struct xvt_error *why)
{
	const char *missing = "";
	int err = xvt_library_load(XVT_TEXT_OF(XVT_NCURSES_SONAME), symbols, &missing);

	if (err == -ENOPKG)
		xvt_fail(why, 0, "ncurses cannot be loaded: %s; install libncursesw6", dlerror());
	else if (err)
		xvt_fail(why, 0, "%s has no %s() and is too old", XVT_TEXT_OF(XVT_NCURSES_SONAME),
			 missing);
	return err;
}

/* The window has the size of the screen when it is made. Returns false without memory. */
static bool new_window(void)
{
	WINDOW *window = lib.newwin(0, 0, 0, 0);

	if (!window)
		return false;
	if (screen.window)
		lib.delwin(screen.window);
	screen.window = window;
	lib.keypad(window, TRUE);
	lib.nodelay(window, TRUE);
	return true;
}

/* A pair for each colour, of its own number, on the terminal's own background. */
static void prepare_colours(void)
{
	const short background = lib.use_default_colors() == OK ? -1 : COLOR_BLACK;

	for (short colour = XVT_SCREEN_RED; colour <= XVT_SCREEN_YELLOW; colour++)
		lib.init_pair(colour, colour, background);
}

int xvt_screen_open(struct xvt_error *why)
{
	const char *type = getenv("TERM");
	int err = load(why);

	if (err)
		return err;
	screen.terminal = lib.newterm(NULL, stdout, stdin);
	if (!screen.terminal)
		return xvt_fail(why, -ENOTSUP, "the terminal's type (TERM) is %s",
				type && *type ? "unknown" : "not set");
	if (!new_window()) {
		xvt_screen_close();
		return xvt_fail(why, -ENOMEM, "no memory");
	}
	screen.colours = lib.has_colors() && lib.start_color() == OK;
	if (screen.colours)
		prepare_colours();
	lib.cbreak();
	lib.noecho();
	lib.curs_set(0);
	return 0;
}

void xvt_screen_close(void)
{
	if (!screen.terminal)
		return;
	lib.endwin();
	if (screen.window)
		lib.delwin(screen.window);
	lib.delscreen(screen.terminal);
	screen.window = NULL;
	screen.terminal = NULL;
}

size_t xvt_screen_rows(void)
{
	const int rows = lib.getmaxy(screen.window);

	return rows > 0 ? (size_t)rows : 1;
}

void xvt_screen_clear(void)
{
	lib.werase(screen.window);
}

/* The bytes of as many characters as the screen is wide. A wide one may go over the end; the next
 * line replaces that. */
static size_t cut(const char *text, size_t len)
{
	const int columns = lib.getmaxx(screen.window);
	size_t at = 0;
	uint32_t code;
	int n;

	for (n = 0; n < columns && at < len; n++)
		at += xvt_utf8_next((const uint8_t *)text + at, len - at, &code);
	return at;
}

void xvt_screen_line(size_t row, enum xvt_screen_style style, const char *text, size_t len)
{
	static const int of_style[] = { [XVT_SCREEN_PLAIN] = A_NORMAL,
					[XVT_SCREEN_BOLD] = A_BOLD,
					[XVT_SCREEN_REVERSE] = A_REVERSE };

	if (lib.wmove(screen.window, (int)row, 0) == ERR)
		return;
	lib.wattrset(screen.window, of_style[style]);
	lib.wclrtoeol(screen.window);
	lib.waddnstr(screen.window, text, (int)cut(text, len));
	lib.wattrset(screen.window, A_NORMAL);
}

void xvt_screen_tint(size_t row, size_t column, size_t letters, enum xvt_screen_colour colour)
{
	if (screen.colours && lib.wmove(screen.window, (int)row, (int)column) != ERR)
		lib.wchgat(screen.window, (int)letters, A_BOLD, (short)colour, NULL);
}

void xvt_screen_show(void)
{
	lib.wrefresh(screen.window);
}

int xvt_screen_key(void)
{
	const int key = lib.wgetch(screen.window);

	switch (key) {
	case ERR:
		return XVT_KEY_NONE;
	case KEY_UP:
		return XVT_KEY_UP;
	case KEY_DOWN:
		return XVT_KEY_DOWN;
	case KEY_PPAGE:
		return XVT_KEY_PAGE_UP;
	case KEY_NPAGE:
		return XVT_KEY_PAGE_DOWN;
	case KEY_RESIZE:
		new_window();
		return XVT_KEY_RESIZE;
	}
	return key > 0 && key < 0x100 ? key : XVT_KEY_OTHER;
}

#endif
