// SPDX-License-Identifier: GPL-2.0
/*
 * types.c - which types of ftrace events have a format in the trace. The rings count the events of
 * each type (ring/run.c).
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <string.h>

uint32_t xvt_format_number(const uint8_t *bytes, size_t len, uint32_t id)
{
	const uint8_t *at = memmem(bytes, len, "\nID: ", 5);
	uint32_t number = 0;

	if (!at)
		return id;
	for (at += 5; at < bytes + len && *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uint32_t)(*at - '0');
	return number;
}

void xvt_session_note_format(struct xvt_session *s, const struct xvt_meta_info *info,
			     const void *bytes, size_t len)
{
	const struct xvt_vm *vm =
		info->type == XVT_META_FORMAT ? xvt_session_vm_by_id(s, info->vm) : NULL;
	uint32_t number;

	if (!vm || !vm->metadata.types)
		return;
	number = xvt_format_number(bytes, len, info->id);
	if (number < XVT_TYPES)
		vm->metadata.types->known[number] = 1;
}

uint64_t xvt_vm_nameless(const struct xvt_vm *vm)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; vm->metadata.types && i < XVT_TYPES; i++)
		sum += vm->metadata.types->known[i] ? 0 : vm->metadata.types->count[i];
	return sum;
}
