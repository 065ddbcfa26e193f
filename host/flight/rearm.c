// SPDX-License-Identifier: GPL-2.0
/* rearm.c - see rearm.h. */
#define _GNU_SOURCE
#include "flight/rearm.h"

#include "base/log.h"
#include "base/out.h"
#include "base/user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOLD_NS ((uint64_t)60000000000) /* between two messages about a machine */

/* The machine with that path whose recording was stopped; NULL: none. */
static struct xvt_vm *stopped(struct xvt_session *s, const char *path)
{
	struct xvt_vm *vm;
	size_t at = 0;

	while ((vm = xvt_session_next_match(s, &at, "*"))) {
		if (!strcmp(xvt_session_vm_path(vm), path) && xvt_session_vm_is_stopped(vm))
			return vm;
	}
	return NULL;
}

/* The recording of that machine is not still being stopped. */
static bool may_begin(void *arg, const char *path)
{
	const struct xvt_vm *vm = stopped(arg, path);

	return !vm || !xvt_session_vm_stopping(vm);
}

/* The domain of a machine; its server, if not at REGION.doorbell, is not known any more. */
static bool domain_of(const struct xvt_armed_machine *m, struct xvt_domain *d)
{
	*d = (struct xvt_domain){ .user = (uid_t)-1 };
	snprintf(d->name, sizeof(d->name), "%s", m->name);
	snprintf(d->region, sizeof(d->region), "%s", m->path);
	memcpy(d->uuid, m->uuid, sizeof(d->uuid));
	return !xvt_uuid_is_none(m->uuid);
}

/* A machine is to be recorded, which is kept armed no more. Returns 0 or -errno with the reason in
 * `why`. */
static int record(struct xvt_session *s, const struct xvt_machine_options *opt,
		  const struct xvt_armed_machine *m, void (*joined)(void *arg, struct xvt_vm *vm),
		  void *arg, struct xvt_error *why)
{
	struct xvt_candidate c = {
		.path = m->path, .rings = m->rings_most, .asked = true, .named = true
	};
	struct xvt_vm *vm = stopped(s, m->path), *as;
	struct xvt_domain domain;
	int err;

	if (vm)
		return xvt_session_vm_start(vm, xvt_user(), &as, why);
	memcpy(c.name, m->name, sizeof(c.name));
	c.domain = domain_of(m, &domain) ? &domain : NULL;
	err = xvt_machine_add_found(s, NULL, &c, why);
	if (!err) {
		xvt_machine_trust(s, opt, c.name);
		joined(arg, xvt_session_find(s, c.name));
	}
	return err < 0 ? err : 0;
}

void xvt_rearm_pass(struct xvt_armed *a, const struct xvt_machine_options *opt,
		    struct xvt_session *s, void (*joined)(void *arg, struct xvt_vm *vm), void *arg)
{
	const uint64_t now_ns = xvt_session_now_ns(s);
	struct xvt_armed_machine m;
	struct xvt_error why;
	size_t n = xvt_armed_count(a);

	for (; n && xvt_armed_release(a, may_begin, s, &m); n--) {
		const int err = record(s, opt, &m, joined, arg, &why);

		if (err && (!m.told_ns || now_ns - m.told_ns >= TOLD_NS)) {
			xvt_say_of_machine(1, m.name, "not recorded%s: %s",
					   err == -EBUSY ? " yet" : "", why.text);
			m.told_ns = now_ns;
		}
		if (err == -EBUSY)
			xvt_armed_take_back(a, &m);
		else
			free(m.path);
	}
}

/* End the recording of machines that are to be kept armed. */
static void stop_matching(struct xvt_armed *a, struct xvt_session *s)
{
	struct xvt_vm *vm;
	size_t at = 0;
	struct xvt_error why;

	while ((vm = xvt_session_next_match(s, &at, "*"))) {
		const int takes =
			xvt_session_vm_is_stopped(vm)
				? 0
				: xvt_armed_takes(a, xvt_session_vm_first_name(vm),
						  xvt_session_vm_path(vm), xvt_session_vm_uuid(vm),
						  xvt_session_vm_rings_most(vm), &why);

		if (takes > 0)
			xvt_session_vm_stop(vm, xvt_user());
		else if (takes)
			xvt_say_of_machine(1, xvt_session_vm_name(vm), "goes on being recorded: %s",
					   why.text);
	}
}

int xvt_rearm(struct xvt_armed *a, const struct xvt_opt_list *patterns, struct xvt_session *s)
{
	int err = xvt_armed_use(a, patterns);

	if (!err)
		stop_matching(a, s);
	return err;
}
