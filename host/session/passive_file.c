// SPDX-License-Identifier: GPL-2.0
/* passive_file.c - the file of a machine of which the ring of its guest's kernel is read: its path,
 * its mapping. */
#define _GNU_SOURCE
#include "session/passive.h"

#include <errno.h>
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

/* Returns false if it is too long, or empty. */
static bool take_claim(struct xvt_passive *p, const char *spec)
{
	const char *claim = claim_of(spec);

	if (!claim)
		return true;
	claim += strlen(CLAIM);
	if (!*claim || strlen(claim) >= sizeof(p->kernel.claim))
		return false;
	snprintf(p->kernel.claim, sizeof(p->kernel.claim), "%s", claim);
	return true;
}

static int parse(struct xvt_passive *p, struct xvt_vm *vm, const char *spec)
{
	const char *file = spec + strlen(XVT_FTRACE_PATH), *at = offset_of(spec);
	size_t len;
	char *end;

	snprintf(p->spec, sizeof(p->spec), "%s", spec);
	if (!take_claim(p, spec))
		return -EINVAL;
	p->anywhere = !at;
	errno = 0;
	if (at)
		p->offset = strtoull(at + 1, &end, 0);
	if (!xvt_session_path_is_ftrace(spec, &len) || !len || len >= sizeof(vm->path) ||
	    (at && (errno || (*end && end != claim_of(spec)))) || p->offset % XVT_FTRACE_SUBBUF)
		return -EINVAL;
	snprintf(vm->path, sizeof(vm->path), "%.*s", (int)len, file);
	return 0;
}

const char *xvt_passive_spec(const struct xvt_vm *vm)
{
	return vm->passive->spec;
}

int xvt_passive_open(struct xvt_session *s, struct xvt_vm *vm, const char *spec, char *why,
		     size_t why_size)
{
	struct xvt_passive *p = calloc(1, sizeof(*p));
	int err = p ? parse(p, vm, spec) : -ENOMEM;

	vm->passive = p;
	vm->own = true;
	vm->region.fd = -1;
	if (!err && !is_recording(s)) {
		snprintf(why, why_size,
			 "the ring of a guest's kernel is read by record and daemon alone");
		return -EINVAL;
	}
	if (err == -EINVAL) {
		snprintf(why, why_size,
			 "the ring of a guest's kernel is given as ftrace:FILE, or as "
			 "ftrace:FILE@OFFSET with a multiple of %u; ,kernel=BUILDID or "
			 ",kernel=RELEASE may follow",
			 XVT_FTRACE_SUBBUF);
		return err;
	}
	if (!err) {
		err = xvt_passive_kernel_begin(s, p, why, why_size);
		if (err)
			return err;
	}
	if (!err)
		err = xvt_host_region_watch(&p->file, vm->path);
	return xvt_vm_opened(s, vm, p ? p->file.fd : -1, err, why, why_size);
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
