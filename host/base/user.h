/* SPDX-License-Identifier: GPL-2.0 */
/*
 * user.h - the user for whom this process works: whose files count as its own. A recorder of root
 * gets user IDs of its own (rights/own_user.h) and works for root, as before.
 */
#ifndef XVT_USER_H
#define XVT_USER_H

#include <sys/types.h>

/* The effective IDs of this process, or those that it had at the first xvt_user_keep(). */
uid_t xvt_user(void);
gid_t xvt_user_group(void);

/* To be called before the IDs change, and before there are threads. */
void xvt_user_keep(void);

#endif /* XVT_USER_H */
