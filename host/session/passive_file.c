// SPDX-License-Identifier: GPL-2.0
/* passive_file.c - the file of a machine of which the ring of its guest's kernel is read: its path,
 * its mapping. */
#define _GNU_SOURCE
#include "base/number.h"
#include "session/passive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CLAIM ",kernel="

/* An '@' that no number follows is one of the file's name. */
static const char *offset_of(const char *path)
{
	const char *at = strrchr(path, '@'), *claim = strstr(path, CLAIM);

	if (at && claim && at > claim) /* none of a release is one */
		return NULL;
	return at && at[1] >= '0' && at[1] <= '9' ? at : NULL;
}

/* What follows FILE[@OFFSET]. */
static const char *claim_of(const char *path)
{
	return strstr(path, CLAIM);
}

bool xvt_session_path_is_ftrace(const char *path, size_t *len)
{
	const size_t prefix = strlen(XVT_FTRACE_PATH);
	const char *end = offset_of(path);

	if (!end)
		end = claim_of(path);
	if (strncmp(path, XVT_FTRACE_PATH, prefix) != 0)
		return false;
	*len = end ? (size_t)(end - path) - prefix : strlen(path) - prefix;
	return true;
}

static int take_claim(struct xvt_passive *p, const char *spec, struct xvt_error *why)
{
	const char *claim = claim_of(spec);

	if (!claim)
		return 0;
	claim += strlen(CLAIM);
	if (!*claim || strlen(claim) >= sizeof(p->kernel.claim))
		return xvt_fail(why, -EINVAL,
				"after " CLAIM
				" is the build id or the release of the guest's kernel, as "
				"`xvtrace formats` prints them");
	snprintf(p->kernel.claim, sizeof(p->kernel.claim), "%s", claim);
	return 0;
}

/* A number of bytes, as a kernel's command line has it: decimal or 0x..., with K, M or G. */
static bool read_offset(const char *text, const char *end, uint64_t *offset)
{
	const char *stop;

	return !xvt_parse_bytes(text, &stop, offset) && stop == end &&
	       !(*offset % XVT_FTRACE_SUBBUF);
}

static int take_offset(struct xvt_passive *p, const char *spec, struct xvt_error *why)
{
	const char *at = offset_of(spec), *end = claim_of(spec);

	p->anywhere = !at;
	if (!end)
		end = spec + strlen(spec);
	if (!at || read_offset(at + 1, end, &p->offset))
		return 0;
	return xvt_fail(
		why, -EINVAL,
		"'%.*s' is no offset: it is a number of bytes, a multiple of %u, like 0x8000000 or "
		"128M",
		(int)(end - at), at, XVT_FTRACE_SUBBUF);
}

static int parse(struct xvt_passive *p, struct xvt_vm *vm, const char *spec, struct xvt_error *why)
{
	size_t len;
	int err;

	snprintf(p->spec, sizeof(p->spec), "%s", spec);
	err = take_claim(p, spec, why);
	if (!err)
		err = take_offset(p, spec, why);
	if (err)
		return err;
	if (!xvt_session_path_is_ftrace(spec, &len) || !len || len >= sizeof(vm->path))
		return xvt_fail(
			why, -EINVAL,
			"the ring of a guest's kernel is given as ftrace:FILE, or as "
			"ftrace:FILE@OFFSET; ,kernel=BUILDID or ,kernel=RELEASE may follow");
	snprintf(vm->path, sizeof(vm->path), "%.*s", (int)len, spec + strlen(XVT_FTRACE_PATH));
	return 0;
}

/* Of a file with that many bytes. */
static int check_offset(const struct xvt_passive *p, struct xvt_error *why)
{
	if (p->anywhere || p->offset < p->file.size)
		return 0;
	return xvt_fail(why, -EINVAL,
			"the file ends at %" PRIu64 " KiB, before the offset 0x%" PRIx64,
			p->file.size >> 10, p->offset);
}

/* The events of one ring are those of one machine. */
static int check_others(const struct xvt_session *s, const struct xvt_vm *vm, struct xvt_error *why)
{
	const struct xvt_passive *p = vm->passive;
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		const struct xvt_vm *other = s->vms[i];
		const struct xvt_passive *o = other->passive;

		if (!o || other->phase == XVT_VM_GONE || other->file.ino != vm->file.ino ||
		    other->file.dev != vm->file.dev)
			continue;
		if (!p->anywhere && !o->anywhere && p->offset != o->offset)
			continue;
		return xvt_fail(
			why, -EBUSY,
			p->anywhere == o->anywhere
				? "its ring is that of %s, which is recorded already; each "
				  "machine needs a ring of its own"
				: "its ring may be that of %s, which is recorded already; give "
				  "each its offset, FILE@OFFSET",
			other->name);
	}
	return 0;
}

const char *xvt_passive_spec(const struct xvt_vm *vm)
{
	return vm->passive->spec;
}

int xvt_passive_open(struct xvt_session *s, struct xvt_vm *vm, const char *spec,
		     struct xvt_error *why)
{
	struct xvt_passive *p = calloc(1, sizeof(*p));
	int err = p ? parse(p, vm, spec, why) : -ENOMEM;

	vm->passive = p;
	vm->own = true;
	vm->region.fd = -1;
	if (!err && !is_recording(s))
		return xvt_fail(why, -EINVAL,
				"the ring of a guest's kernel is read by record and daemon alone");
	if (err == -EINVAL)
		return err;
	if (!err) {
		err = xvt_passive_kernel_begin(s, p, why);
		if (err)
			return err;
	}
	if (!err)
		err = xvt_host_region_watch(&p->file, vm->path);
	if (!err && check_offset(p, why))
		return -EINVAL;
	err = xvt_vm_opened(s, vm, p ? p->file.fd : -1, err, why);
	return err ? err : check_others(s, vm, why);
}

void xvt_passive_close(struct xvt_vm *vm)
{
	if (vm->passive)
		xvt_host_region_close(&vm->passive->file);
}

void xvt_passive_free(struct xvt_vm *vm)
{
	if (!vm->passive)
		return;
	xvt_passive_close(vm);
	xvt_passive_kernel_end(vm->passive);
	free(vm->passive->cpus);
	free(vm->passive);
}

const struct xvt_host_region *xvt_vm_file(const struct xvt_vm *vm)
{
	return vm->passive ? &vm->passive->file : &vm->region;
}

bool xvt_passive_may_be_tsc(const struct xvt_vm *vm)
{
	return vm->passive->clock == XVT_FTRACE_CLOCK_TSC || vm->passive->clock == UINT32_MAX;
}
