// SPDX-License-Identifier: GPL-2.0
/* capabilities.c - see capabilities.h. */
#define _GNU_SOURCE
#include "rights/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORDS _LINUX_CAPABILITY_U32S_3

bool xvt_capabilities_have(uint64_t wanted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[WORDS] = { 0 };
	uint64_t effective = 0;
	unsigned int i;

	if (syscall(SYS_capget, &header, data))
		return false;
	for (i = 0; i < WORDS; i++)
		effective |= (uint64_t)data[i].effective << 32 * i;
	return (effective & wanted) == wanted;
}

int xvt_capabilities_raise(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[WORDS] = { 0 };
	unsigned int i;

	if (syscall(SYS_capget, &header, data))
		return -errno;
	for (i = 0; i < WORDS; i++)
		data[i].effective = data[i].permitted;
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

int xvt_capabilities_keep(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[WORDS] = { 0 };
	bool changed = false;
	unsigned int i;

	if (syscall(SYS_capget, &header, data))
		return -errno;
	for (i = 0; i < WORDS; i++) {
		const uint32_t mask = (uint32_t)(keep >> 32 * i);

		changed |= (data[i].permitted & ~mask) != 0;
		data[i].permitted &= mask;
		data[i].effective &= mask;
	}
	/* A service's own filter may forbid the call; then there is nothing left to give up. */
	return changed && syscall(SYS_capset, &header, data) ? -errno : 0;
}
