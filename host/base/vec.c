// SPDX-License-Identifier: GPL-2.0
/* vec.c - see vec.h. */
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int xvt_grow(void *array, size_t *room, size_t need, size_t size)
{
	size_t more = *room > SIZE_MAX / 2 ? SIZE_MAX : 2 * *room;
	void *old, *grown;

	if (need <= *room)
		return 0;
	if (more < need)
		more = need;
	if (more > SIZE_MAX / size)
		return -ENOMEM;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, more * size);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return 0;
}

int xvt_grow_zeroed(void *array, size_t *room, size_t need, size_t size)
{
	const size_t had = *room;
	char *bytes;
	int err = xvt_grow(array, room, need, size);

	if (!err && *room > had) {
		memcpy(&bytes, array, sizeof(bytes));
		memset(bytes + had * size, 0, (*room - had) * size);
	}
	return err;
}

size_t xvt_count_to(const void *array, size_t count, size_t size, size_t offset, uint64_t limit)
{
	size_t lo = 0, hi = count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		uint64_t key;

		memcpy(&key, (const char *)array + mid * size + offset, sizeof(key));
		if (key <= limit)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
