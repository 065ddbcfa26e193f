/* SPDX-License-Identifier: GPL-2.0 */
/*
 * own_user.h - processes of root's recorder that parse what guests write have a user that no other
 * process has: what the kernel grants by user, as signals, is out of their reach.
 *
 * The user is `xvtrace`, where /etc/passwd has it; else an ID that no user and no process has.
 * Never 65534, which other services have: they could end the recorder.
 */
#ifndef XVT_OWN_USER_H
#define XVT_OWN_USER_H

#include <stdint.h>

/* The capabilities that it needs, those of the opener (rights/opener.h) included: a bit for each.
 */
uint64_t xvt_own_user_needs(void);

/*
 * Choose the user, once, before there are threads and before what parses is started. It becomes the
 * saved user of this process and of those that it starts, until they run a program: so each may
 * become it without a capability, and a process that became it may end the others. Returns 0;
 * -EPERM where the caller is not root or has not the capabilities; -EINVAL in a user namespace
 * without such an ID; -EUSERS where all IDs are taken; another -errno of /run/xvtrace.users, which
 * keeps them apart.
 */
int xvt_own_user_choose(void);

/*
 * Become the chosen user, with all three IDs and no other group. The capabilities stay, for the
 * caller to give up. No other process of the user can trace this one. A signal that its parent's
 * death sends (PR_SET_PDEATHSIG) stays. Returns 0; -errno with nothing changed but the groups.
 * xvt_own_user_choose() failed or was not called: its error, -EPERM.
 */
int xvt_own_user_become(void);

/* Be root again, while the process has the capabilities. Returns 0 or -errno. */
int xvt_own_user_undo(void);

/* Give up other groups, in a process that will give up the capability for it. */
void xvt_own_user_leave_groups(void);

#endif /* XVT_OWN_USER_H */
