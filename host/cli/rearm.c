// SPDX-License-Identifier: GPL-2.0
/* rearm.c - see rearm.h. */
#define _GNU_SOURCE
#include "cli/rearm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A machine is to be recorded, which is kept armed no more. */
static void record(struct xvt_session *s, const struct xvt_machine_options *opt,
		   const struct xvt_armed_machine *m, void (*joined)(void *arg, struct xvt_vm *vm),
		   void *arg)
{
	struct xvt_candidate c = { .path = m->path, .rings = m->rings_most, .asked = true };
	struct xvt_vm *vm = stopped(s, m->path), *as;
	char why[512];
	int err;

	memcpy(c.name, m->name, sizeof(c.name));
	if (vm) {
		err = xvt_session_vm_start(vm, getuid(), &as, why, sizeof(why));
	} else {
		err = xvt_machine_add_found(s, NULL, &c, why, sizeof(why));
		if (!err) {
			xvt_machine_trust(s, opt, c.name);
			joined(arg, xvt_session_find(s, c.name));
		}
	}
	if (err < 0)
		xvt_say_of_machine(1, m->name, "not recorded: %s", why);
}

/* End the recording of machines that are to be kept armed. */
static void stop_matching(struct xvt_armed *a, struct xvt_session *s)
{
	struct xvt_vm *vm;
	size_t at = 0;
	char why[512];

	while ((vm = xvt_session_next_match(s, &at, "*"))) {
		const int takes =
			xvt_session_vm_is_stopped(vm)
				? 0
				: xvt_armed_takes(a, xvt_session_vm_first_name(vm),
						  xvt_session_vm_path(vm), xvt_session_vm_uuid(vm),
						  0, why, sizeof(why));

		if (takes > 0)
			xvt_session_vm_stop(vm, getuid());
		else if (takes)
			xvt_say_of_machine(1, xvt_session_vm_name(vm), "goes on being recorded: %s",
					   why);
	}
}

int xvt_rearm(const struct xvt_machine_options *opt, const struct xvt_opt_list *patterns,
	      struct xvt_session *s, void (*joined)(void *arg, struct xvt_vm *vm), void *arg)
{
	struct xvt_armed_machine m;
	int err = xvt_armed_use(opt->armed, patterns);

	if (err)
		return err;
	while (xvt_armed_release(opt->armed, &m)) {
		record(s, opt, &m, joined, arg);
		free(m.path);
	}
	stop_matching(opt->armed, s);
	return 0;
}
