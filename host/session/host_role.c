// SPDX-License-Identifier: GPL-2.0
/*
 * host_role.c - what a thread of a VMM is, by the name that the VMM or the kernel gave it: QEMU
 * calls its threads so with debug-threads=on, and KVM and vhost name theirs always.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <stdio.h>

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

uint32_t xvt_host_role(const char *name, bool first, uint32_t *vcpu)
{
	char kind;

	*vcpu = 0;
	if (sscanf(name, "CPU %u/%c", vcpu, &kind) == 2)
		return XVT_ROLE_VCPU;
	if (begins(name, "ALL CPUs/"))
		return XVT_ROLE_ALL_VCPUS;
	if (begins(name, "vhost-"))
		return XVT_ROLE_VHOST;
	if (begins(name, "IO "))
		return XVT_ROLE_IO;
	if (begins(name, "worker") || begins(name, "kvm-"))
		return XVT_ROLE_WORKER;
	return first ? XVT_ROLE_MAIN : XVT_ROLE_OTHER;
}
