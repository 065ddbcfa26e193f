// SPDX-License-Identifier: GPL-2.0
/*
 * share.c - how that is divided of which a recorder has only so much: memory, time for clocks,
 * questions to clocks, space, and time of a pass. First equally between the users whose files the
 * machines are, then between the machines of each user: who makes many machines takes from his own
 * alone.
 */
#include "session/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int xvt_session_own(struct xvt_session *s, struct xvt_vm *vm, uint32_t uid)
{
	struct xvt_owner **grown, *o;
	size_t i;

	for (i = 0; i < s->share.nr_owners; i++) {
		if (s->share.owners[i]->uid == uid) {
			vm->owner = s->share.owners[i];
			return 0;
		}
	}
	grown = realloc(s->share.owners, (s->share.nr_owners + 1) * sizeof(*grown));
	s->share.owners = grown ? grown : s->share.owners;
	o = grown ? calloc(1, sizeof(*o)) : NULL;
	if (!o)
		return -ENOMEM;
	o->uid = uid;
	s->share.owners[s->share.nr_owners++] = vm->owner = o;
	return 0;
}

int xvt_vm_opened(struct xvt_session *s, struct xvt_vm *vm, int fd, int err, struct xvt_error *why)
{
	struct stat st;

	if (!err && fstat(fd, &st))
		err = -errno;
	if (err)
		return xvt_fail(why, err, "%s", xvt_host_region_open_why(err));
	vm->file = (struct xvt_file_id){ st.st_dev, st.st_ino };
	err = xvt_session_own(s, vm, st.st_uid);
	if (err)
		xvt_fail(why, 0, "%s", strerror(-err));
	else
		vm->pool.lent = &vm->owner->lent;
	return err;
}

void xvt_session_share(struct xvt_session *s)
{
	size_t i;

	s->share.nr_sharing = 0;
	for (i = 0; i < s->share.nr_owners; i++)
		s->share.owners[i]->machines = 0;
	for (i = 0; i < s->nr_vms; i++)
		s->vms[i]->owner->machines += s->vms[i]->phase != XVT_VM_GONE;
	for (i = 0; i < s->share.nr_owners; i++)
		s->share.nr_sharing += s->share.owners[i]->machines != 0;
	for (i = 0; i < s->share.nr_owners; i++)
		s->share.owners[i]->lent.shared = s->share.nr_sharing > 1;
}

size_t xvt_session_sharing(const struct xvt_session *s, const struct xvt_vm *vm)
{
	const size_t machines = vm->owner->machines;

	return (s->share.nr_sharing ? s->share.nr_sharing : 1) * (machines ? machines : 1);
}

void xvt_session_share_pass(struct xvt_session *s)
{
	size_t i;

	s->share.nr_reading = 0;
	for (i = 0; i < s->share.nr_owners; i++)
		s->share.owners[i]->reading = 0;
	for (i = 0; i < s->nr_vms; i++)
		s->vms[i]->owner->reading +=
			s->vms[i]->phase == XVT_VM_ATTACHED && xvt_pool_turned(&s->vms[i]->pool);
	for (i = 0; i < s->share.nr_owners; i++)
		s->share.nr_reading += s->share.owners[i]->reading != 0;
}

/*
 * While machines of several users are read, all that are one user's are read in a pass of as many
 * bytes as a single machine is. That user lengthens a pass by no more, whatever the number. None
 * is lost by that alone: the next pass follows at once, and goes on.
 */
uint64_t xvt_session_turn(const struct xvt_session *s, const struct xvt_vm *vm, uint64_t most,
			  uint64_t least)
{
	const size_t reading = vm->owner->reading;
	const uint64_t part = s->share.nr_reading > 1 && reading > 1 ? most / reading : most;
	const uint64_t turn = part > least ? part : least;

	return turn < most ? turn : most;
}

void xvt_session_share_free(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->share.nr_owners; i++)
		free(s->share.owners[i]);
	free(s->share.owners);
}
