// SPDX-License-Identifier: GPL-2.0
/* own_user.c - see own_user.h. */
#define _GNU_SOURCE
#include "rights/own_user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/user.h"
#include "rights/capabilities.h"

#define NAME   "xvtrace"
/* systemd leaves these IDs unused, and Debian's policy reserves them. */
#define FIRST  65520u
#define LAST   65533u
#define LOCKS  "/run/xvtrace.users"
#define SAME   ((uid_t)-1)
#define BIT(c) (1ull << (c))

static struct {
	uid_t uid; /* 0: none */
	gid_t gid;
	int err;
} own = { .err = -EPERM };

uint64_t xvt_own_user_needs(void)
{
	/* The opener reads the memory of a process of another user, and ends it. */
	return BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SYS_PTRACE) | BIT(CAP_KILL);
}

/* Whether a process has this real user. */
static bool has_process(uid_t uid)
{
	errno = 0;
	return getpriority(PRIO_USER, uid) != -1 || errno != ESRCH;
}

/* Takes an ID for as long as this process lives: a recorder that begins at the same time takes
 * another. Only root can open the file. */
static bool is_free(int locks, uid_t uid)
{
	struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = uid, .l_len = 1 };

	return !has_process(uid) && !fcntl(locks, F_OFD_SETLK, &byte);
}

/* Returns 0 or -errno. The descriptor stays open. */
static int take_free(const bool *taken, uid_t *uid)
{
	const int locks = open(LOCKS, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	uid_t id;

	if (locks < 0)
		return -errno;
	for (id = FIRST; id <= LAST; id++) {
		if (!taken[id - FIRST] && is_free(locks, id)) {
			*uid = id;
			return 0;
		}
	}
	close(locks);
	return -EUSERS;
}

/* Finds the user. getpwnam() would load the libraries of all name services. Returns 0 or -errno. */
static int find(uid_t *uid, gid_t *gid)
{
	bool taken[LAST + 1 - FIRST] = { false };
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *user;
	int err = 0;

	*uid = 0;
	while (users && !*uid && (user = fgetpwent(users))) {
		if (!strcmp(user->pw_name, NAME) && user->pw_gid) {
			*uid = user->pw_uid;
			*gid = user->pw_gid;
		} else if (user->pw_uid >= FIRST && user->pw_uid <= LAST) {
			taken[user->pw_uid - FIRST] = true;
		}
	}
	if (users)
		fclose(users);
	if (!*uid) {
		err = take_free(taken, uid);
		*gid = *uid;
	}
	return err;
}

int xvt_own_user_choose(void)
{
	uid_t uid;
	gid_t gid;

	if (own.uid)
		return 0;
	if (getuid() || geteuid() || !xvt_capabilities_have(xvt_own_user_needs()))
		return own.err = -EPERM;
	own.err = find(&uid, &gid);
	if (own.err)
		return own.err;
	xvt_user_keep();
	if (setresuid(SAME, SAME, uid))
		return own.err = -errno;
	if (setresgid(SAME, SAME, gid)) {
		own.err = -errno;
		(void)!setresuid(SAME, SAME, 0);
		return own.err;
	}
	own.uid = uid;
	own.gid = gid;
	return 0;
}

/* Sets the IDs, with the capabilities. Returns 0 or -errno. */
static int set_ids(uid_t uid, gid_t gid)
{
	int err;

	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	err = setresgid(gid, gid, own.gid) || setresuid(uid, uid, own.uid) ? -errno : 0;
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	return err ? err : xvt_capabilities_raise();
}

int xvt_own_user_become(void)
{
	const pid_t parent = getppid();
	int signal = 0, err;

	if (!own.uid)
		return own.err;
	if (getuid() == own.uid)
		return 0;
	prctl(PR_GET_PDEATHSIG, &signal);
	if (getgroups(0, NULL) > 0 && setgroups(0, NULL))
		return -errno;
	err = set_ids(own.uid, own.gid);
	if (err) {
		set_ids(0, 0);
		return err;
	}
	/* The kernel forgets one, and a sysctl may choose the other. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
	if (signal && getppid() != parent)
		raise(signal);
	return 0;
}

int xvt_own_user_undo(void)
{
	return own.uid && getuid() == own.uid ? set_ids(0, 0) : 0;
}

void xvt_own_user_leave_groups(void)
{
	/* Without the right, xvt_own_user_become() says it. */
	if (own.uid)
		(void)!setgroups(0, NULL);
}
