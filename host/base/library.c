// SPDX-License-Identifier: GPL-2.0
/* library.c - loads a shared library and finds its functions. */
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int xvt_library_load(const char *soname, const struct xvt_symbol *symbols, const char **missing)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
	void *address;

	if (!library)
		return -ENOPKG;
	for (; symbols->name; symbols++) {
		address = dlsym(library, symbols->name);
		if (!address) {
			if (missing)
				*missing = symbols->name;
			dlclose(library);
			return -ENOSYS;
		}
		/* ISO C knows no conversion from an object's address to a function's. */
		memcpy(symbols->at, &address, sizeof(address));
	}
	return 0;
}
