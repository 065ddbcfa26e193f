// SPDX-License-Identifier: GPL-2.0
/* add.c - a machine by its path: a region's, or that of the ring of its guest's kernel. */
#include "session/parts.h"

int xvt_session_add_rings(struct xvt_session *s, const char *name, const char *path,
			  const uint8_t uuid[16], bool named, uint32_t rings_max, char *why,
			  size_t why_size)
{
	size_t len;

	if (xvt_session_path_is_ftrace(path, &len))
		return xvt_passive_add(s, name, path, named, rings_max, why, why_size);
	return xvt_vm_add_region(s, name, path, uuid, named, rings_max, why, why_size);
}

int xvt_session_add(struct xvt_session *s, const char *name, const char *path,
		    const uint8_t uuid[16], bool named, char *why, size_t why_size)
{
	return xvt_session_add_rings(s, name, path, uuid, named, XVT_RINGS_USUAL, why, why_size);
}
