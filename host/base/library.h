/* SPDX-License-Identifier: GPL-2.0 */
/*
 * library.h - a shared library that is loaded by its first use, not with the program.
 *
 * The functions that a file calls are a table of names and pointers. The types of the pointers come
 * from the library's own header, so the compiler checks each call.
 */
#ifndef XVT_BASE_LIBRARY_H
#define XVT_BASE_LIBRARY_H

#include <stddef.h>

struct xvt_symbol {
	const char *name;
	void *at; /* of the pointer to the function */
};

/* The text of a macro that a Makefile sets: a SONAME that it took from the library. */
#define XVT_TEXT_OF_NAME(name) #name
#define XVT_TEXT_OF(macro)     XVT_TEXT_OF_NAME(macro)

/*
 * Loads the library `soname` for the rest of the process and fills the pointers that `symbols`
 * names; an entry without a name ends it. Returns 0, -ENOPKG if the library cannot be loaded
 * (dlerror() says why), or -ENOSYS if it is too old: `*missing`, unless it is NULL, is then the
 * name of the first function that it lacks.
 */
int xvt_library_load(const char *soname, const struct xvt_symbol *symbols, const char **missing);

#endif
