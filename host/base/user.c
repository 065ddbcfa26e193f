// SPDX-License-Identifier: GPL-2.0
/* user.c - see user.h. */
#define _GNU_SOURCE
#include "base/user.h"

#include <stdbool.h>
#include <unistd.h>

static struct {
	bool kept;
	uid_t uid;
	gid_t gid;
} user;

uid_t xvt_user(void)
{
	return user.kept ? user.uid : geteuid();
}

gid_t xvt_user_group(void)
{
	return user.kept ? user.gid : getegid();
}

void xvt_user_keep(void)
{
	if (user.kept)
		return;
	user.uid = geteuid();
	user.gid = getegid();
	user.kept = true;
}
