// SPDX-License-Identifier: GPL-2.0
/* add.c - a machine by its path: a region's, or that of the ring of its guest's kernel. */
#include "session/parts.h"

int xvt_session_add_rings(struct xvt_session *s, const char *name, const char *path,
			  const uint8_t uuid[16], bool named, uint32_t rings_max,
			  struct xvt_error *why)
{
	size_t len;

	if (xvt_session_path_is_ftrace(path, &len))
		return xvt_passive_add(s, name, path, named, rings_max, why);
	return xvt_vm_add_region(s, name, path, uuid, named, rings_max, why);
}

int xvt_session_add(struct xvt_session *s, const char *name, const char *path,
		    const uint8_t uuid[16], bool named, struct xvt_error *why)
{
	return xvt_session_add_rings(s, name, path, uuid, named, XVT_RINGS_USUAL, why);
}
