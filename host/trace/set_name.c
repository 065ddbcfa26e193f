// SPDX-License-Identifier: GPL-2.0
/* set_name.c - see set_name.h. */
#include "trace/set_name.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool xvt_set_is_folder(const char *path)
{
	const size_t len = strlen(path);
	struct stat st;

	return (len && path[len - 1] == '/') || (!stat(path, &st) && S_ISDIR(st.st_mode));
}

uint32_t xvt_set_number(const char *name)
{
	uint64_t number = 0;
	size_t digits = 0;

	for (; name[digits] >= '0' && name[digits] <= '9'; digits++) {
		number = number * 10 + (uint64_t)(name[digits] - '0');
		if (number > UINT32_MAX)
			return 0;
	}
	/* Eight digits, or more that do not begin with 0: each number has one name. */
	if (digits < 8 || (digits > 8 && name[0] == '0') || strcmp(name + digits, ".xvt"))
		return 0;
	return (uint32_t)number;
}

bool xvt_set_path(const char *folder, uint32_t number, char *path, size_t size)
{
	const int n = snprintf(path, size, "%s/" XVT_SET_NAME, folder, number);

	return n > 0 && (size_t)n < size;
}
