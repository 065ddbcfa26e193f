// SPDX-License-Identifier: GPL-2.0 OR MIT
/* target.c - see target.h. Nothing but what a user of xvt_writer.h writes. */
#include "target.h"

int target_write16(struct xvt_writer *w, const void *payload, uint32_t len, bool *reserved)
{
	(void)len;
	(void)reserved;
	return xvt_write(w, XVT_ID_U64, payload, 16);
}

int target_commit(struct xvt_writer *w, const void *payload, uint32_t len, bool *reserved)
{
	struct xvt_slot slot;
	int err = xvt_reserve(w, XVT_ID_U64, len, &slot);

	if (err)
		return err;
	xvt_store(reserved, true);
	memcpy(slot.payload, payload, len);
	xvt_commit(w, &slot);
	return 0;
}

int target_discard(struct xvt_writer *w, const void *payload, uint32_t len, bool *reserved)
{
	struct xvt_slot slot;
	int err = xvt_reserve(w, XVT_ID_U64, len, &slot);

	if (err)
		return err;
	xvt_store(reserved, true);
	memcpy(slot.payload, payload, len);
	xvt_discard(w, &slot);
	return 0;
}

int target_open(struct xvt_writer *w, const void *payload, uint32_t len, struct xvt_slot *slot)
{
	int err = xvt_reserve(w, XVT_ID_U64, len, slot);

	if (!err)
		memcpy(slot->payload, payload, len);
	return err;
}

void target_close(struct xvt_writer *w, struct xvt_slot *slot)
{
	xvt_commit(w, slot);
}
