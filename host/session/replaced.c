// SPDX-License-Identifier: GPL-2.0
/*
 * replaced.c - handles the deletion and replacement of a region's file, as happens to
 * /dev/shm/xvtrace-NAME when a machine is started anew. The old file is read while a writer uses
 * it. The new file is recorded as another machine, NAME.2, because its clock and its counters begin
 * anew. A file that cannot be used now (another recorder has it, no permission yet) is tried again.
 * A file that is no region is ignored until it changes.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* Compares the file at the machine's path with the one in use. Returns 0: the same (or unknown),
 * -ENOENT: none, -ESTALE: another. */
static int same_file(const struct xvt_vm *vm, struct stat *named)
{
	if (stat(vm->path, named))
		return errno == ENOENT ? -ENOENT : 0;
	return named->st_ino == vm->file.ino && named->st_dev == vm->file.dev ? 0 : -ESTALE;
}

/* NAME.2, NAME.3: machines in a trace have different names. */
static void name_of_next(const struct xvt_vm *vm, char name[XVT_NAME_LEN])
{
	char number[16];
	int len = snprintf(number, sizeof(number), ".%u", vm->chain.earlier + 2);

	snprintf(name, XVT_NAME_LEN, "%.*s%s", XVT_NAME_LEN - 1 - len, vm->chain.first_name,
		 number);
}

/* Any change of the file changes its ctime. The inode number alone may belong to a later file. */
static bool was_refused(const struct xvt_vm *vm, const struct stat *named)
{
	const struct xvt_vm_refusal *f = &vm->chain.refused;

	return f->final && f->file.ino == named->st_ino && f->file.dev == named->st_dev &&
	       f->ctime.tv_sec == named->st_ctim.tv_sec &&
	       f->ctime.tv_nsec == named->st_ctim.tv_nsec;
}

static bool never(int err)
{
	return err == -EBADMSG || err == -EPROTO || err == -ENOSPC || err == -EOVERFLOW;
}

/* Remember the refusal. A note is written once for each file and reason. */
static void refuse(struct xvt_session *s, struct xvt_vm *vm, const struct stat *named, int err,
		   const char *why)
{
	const struct xvt_vm_refusal before = vm->chain.refused;

	vm->chain.refused = (struct xvt_vm_refusal){ .file = { named->st_dev, named->st_ino },
						     .ctime = named->st_ctim,
						     .final = never(err),
						     .err = err };
	if (before.err == err && before.file.ino == named->st_ino &&
	    before.file.dev == named->st_dev)
		return;
	if (never(err))
		xvt_session_note(s, 2, vm, UINT32_MAX,
				 "another file came under the name %s, and cannot be recorded: %s",
				 vm->path, why);
	else
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "another file came under the name %s, and cannot be recorded yet: "
				 "%s; it is tried again each second",
				 vm->path, why);
}

int xvt_vm_add_next(struct xvt_session *s, struct xvt_vm *vm, struct xvt_error *why)
{
	char name[XVT_NAME_LEN];
	struct xvt_vm *next;
	size_t before = s->nr_vms;
	int err;

	name_of_next(vm, name);
	err = xvt_session_add_rings(s, name, vm->passive ? xvt_passive_spec(vm) : vm->path,
				    vm->uuid, false, vm->table.rings_max, why);
	if (err)
		return err;
	next = s->vms[before];
	next->chain.earlier = vm->chain.earlier + 1;
	next->chain.space_of = vm->chain.space_of;
	next->exact.trusts_guest = vm->exact.trusts_guest;
	memcpy(next->chain.first_name, vm->chain.first_name, sizeof(next->chain.first_name));
	xvt_session_wake_set_server(next, vm->bell.server);
	xvt_vm_hand_over(s, vm, next);
	vm->chain.next = next;
	return 0;
}

/* All users may make a file where one was removed. */
static bool may_follow(const struct xvt_session *s, const struct xvt_vm *vm,
		       const struct stat *named)
{
	return named->st_uid == vm->owner->uid || !s->opt.trusts || s->opt.trusts(named->st_uid);
}

/* Record the new file as another machine. If that fails, a later call tries again, unless refuse()
 * found that it can never succeed. */
static void take_up(struct xvt_session *s, struct xvt_vm *vm, const struct stat *named)
{
	struct xvt_error why;
	int err;

	if (was_refused(vm, named))
		return;
	if (!may_follow(s, vm, named)) {
		xvt_fail(&why, 0, "it is of another user, uid %u", (unsigned int)named->st_uid);
		refuse(s, vm, named, -EPROTO, why.text);
		return;
	}
	err = xvt_vm_add_next(s, vm, &why);
	if (err == -ENODATA || err == -ENOENT)
		return; /* the creator has not set its size yet */
	if (err)
		refuse(s, vm, named, err, why.text);
	else
		xvt_session_note(
			s, 1, vm, UINT32_MAX,
			"another file came under the name %s (a new QEMU?): it is recorded as %s",
			vm->path, vm->chain.next->name);
}

/* Returns true if the ring still holds records, or may have a writer. */
static bool in_use(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	if (r->phase == XVT_PHASE_BROKEN || r->phase == XVT_PHASE_NEW)
		return false;
	if (r->drain.first || r->head.have || xvt_ring_ready(r))
		return true;
	if (!xvt_ring_is_asked(r)) /* so no writer is silent */
		return since(now, r->drain.changed_clock) <= ticks(s, s->opt.stall_timeout_ns);
	return r->phase != XVT_PHASE_DONE &&
	       xvt_session_silence(s, r, now) <= ticks(s, s->opt.stall_timeout_ns);
}

void xvt_vm_close(struct xvt_session *s, struct xvt_vm *vm, enum xvt_vm_state to)
{
	uint32_t i, n = vm->phase == XVT_VM_ATTACHED ? vm->region.g.ring_count : 0;

	if (!vm->span.end_clock)
		vm->span.end_clock = xvt_clock_read();
	xvt_session_clock_forget(s, vm);
	for (i = 0; i < n; i++) {
		struct xvt_ring *r = vm->rings[i];

		if (!r)
			continue;
		xvt_drain_release(r, true);
		xvt_ring_set_phase(r, XVT_PHASE_BROKEN);
		r->clock.map.closed = true;
		r->mark.open = false; /* no word of the region is read from here on */
		xvt_clock_pages_fini(&r->measure.pages);
		if (r->measure.source)
			r->measure.source_ops->close(r->measure.source);
		r->measure.source = NULL;
		xvt_ring_retire(r);
	}
	xvt_vm_set_state(vm, to);
	xvt_session_exact_close(vm); /* the source reads the region */
	xvt_host_region_close(&vm->region);
	xvt_relayed_close(vm);
	xvt_passive_close(vm);
	xvt_pool_trim(&vm->pool); /* return cached memory to the other machines */
	xvt_session_share_memory(s);
}

static void retire(struct xvt_session *s, struct xvt_vm *vm, uint64_t now, const char *why)
{
	uint32_t i, n = vm->phase == XVT_VM_ATTACHED ? vm->region.g.ring_count : 0;

	for (i = 0; i < n; i++) {
		if (vm->rings[i] && in_use(s, vm->rings[i], now))
			return;
	}
	snprintf(vm->why, sizeof(vm->why), "%s", why);
	xvt_session_note(s, 0, vm, UINT32_MAX, "%s", vm->why);
	xvt_vm_close(s, vm, XVT_STATE_GONE);
}

/* Look for a replacement of the newest machine of a path, also when that machine is gone. */
static void look_for_next(struct xvt_session *s, struct xvt_vm *vm)
{
	const bool was_deleted = vm->chain.deleted;
	struct stat named;
	int err = same_file(vm, &named);

	/* Nothing holds the old file of a machine that is gone, so another may have its number. */
	if (!err && was_deleted && vm->phase == XVT_VM_GONE)
		err = -ESTALE;
	if (err == -ENOENT && !vm->chain.deleted && vm->phase != XVT_VM_GONE)
		xvt_session_note(
			s, 1, vm, UINT32_MAX,
			"%s was deleted; a VMM that has it open may go on, and a new file of "
			"that name will be recorded, too",
			vm->path);
	vm->chain.deleted = err == -ENOENT;
	if (err == -ESTALE)
		take_up(s, vm, &named);
}

void xvt_session_look_for_files(struct xvt_session *s, uint64_t now)
{
	size_t i, n = s->nr_vms; /* machines added meanwhile are checked the next time */

	for (i = 0; i < n; i++) {
		struct xvt_vm *vm = s->vms[i];

		/* A machine that is stopped by request stays so, whatever comes under its path. */
		if (xvt_vm_is_host(vm) || xvt_vm_stop_wanted(vm) || !xvt_session_files_turn(s, i))
			continue;
		if (!vm->chain.next)
			look_for_next(s, vm);
		if (vm->phase == XVT_VM_GONE)
			continue;
		if (vm->chain.next)
			retire(s, vm, now, "its old file has no writer any more");
		else if (vm->chain.deleted && s->opt.follow && !xvt_vm_is_paused(vm))
			retire(s, vm, now, "it has left: its file was deleted, and it is silent");
	}
}
