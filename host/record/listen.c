// SPDX-License-Identifier: GPL-2.0
/* listen.c - see listen.h. */
#include "record/listen.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/log.h"
#include "base/out.h"
#include "base/time.h"
#include "record/bell_server.h"
#include "rights/rules.h"
#include "vmm/libvirt.h"
#include "vmm/qmp.h"

int xvt_listen_by_qmp(struct xvt_vmm **out, struct xvt_loop *loop, const struct xvt_opt_list *qmp,
		      const char *name, xvt_vmm_fn fn, void *arg, const char **path,
		      struct xvt_error *why)
{
	const char *paths[XVT_OPT_LIST_MAX];
	const size_t len = strlen(name);
	size_t i, n = 0;

	*out = NULL;
	for (i = 0; i < qmp->n; i++) {
		if (!strncmp(qmp->v[i], name, len) && qmp->v[i][len] == '=')
			paths[n++] = qmp->v[i] + len + 1;
	}
	*path = n ? paths[0] : NULL;
	if (n < 2)
		return n ? xvt_qmp_listen(out, loop, *path, fn, arg, why) : 0;
	return xvt_qmp_listen_all(out, loop, paths, n, fn, arg, why);
}

static bool is_domain(const struct xvt_vm *vm)
{
	return !xvt_uuid_is_none(xvt_session_vm_uuid(vm));
}

static int listen_to_qmp(struct xvt_listen *l, struct xvt_vm *vm)
{
	struct xvt_vmm *listener;
	const char *path;
	struct xvt_error why;
	const int err = xvt_listen_by_qmp(&listener, l->rec->loop, l->qmp, xvt_session_vm_name(vm),
					  xvt_session_vmm_report, vm, &path, &why);

	if (err)
		xvt_error(path, "%s", why.text);
	else
		xvt_session_vm_listens(vm, listener);
	return err;
}

/* Returns 0 or -errno with the reason in `why`. */
static int listen_by_libvirt(struct xvt_listen *l, struct xvt_vm *vm, struct xvt_error *why)
{
	struct xvt_vmm *listener;
	int err = xvt_libvirt_listen(&listener, l->rec->loop, l->libvirt_uri,
				     xvt_session_vm_uuid(vm), xvt_session_vmm_report, vm, why);

	if (!err)
		xvt_session_vm_listens(vm, listener);
	return err;
}

static void listen_to_domain(struct xvt_listen *l, struct xvt_vm *vm)
{
	struct xvt_error why;

	if (listen_by_libvirt(l, vm, &why))
		xvt_say_of_machine(1, xvt_session_vm_name(vm), "%s; its pauses will not be known",
				   why.text);
}

int xvt_listen_to_vmm(struct xvt_listen *l, struct xvt_vm *vm)
{
	if (!is_domain(vm))
		return listen_to_qmp(l, vm);
	listen_to_domain(l, vm);
	return 0;
}

/* Listen again to the domains whose libvirt was restarted. */
static void listen_again(struct xvt_listen *l)
{
	struct xvt_vm *vm;
	struct xvt_error why;
	int answers = 0;
	size_t i;

	for (i = 0; (vm = xvt_session_vm(l->rec->session, i)); i++) {
		if (!is_domain(vm) || !xvt_session_vm_unheard(vm))
			continue;
		if (!answers)
			answers = xvt_libvirt_answers(l->libvirt_uri);
		if (answers <= 0 || listen_by_libvirt(l, vm, &why))
			return;
	}
}

/* A server at a path that the opener does not know would end the recorder. */
static bool may_connect(const struct xvt_listen *l, const char *path)
{
	struct xvt_place place;
	char joined[PATH_MAX];

	return !l->rules->count || *path != '/' ||
	       (!xvt_path_join("/", path, joined) &&
		xvt_rules_find(l->rules, joined, XVT_MAY_CONNECT, &place));
}

/* Use the doorbell of a machine that no --doorbell names, if there is one. */
static void seek_doorbell(struct xvt_listen *l, struct xvt_vm *vm)
{
	const char *name = xvt_session_vm_name(vm);
	char path[XVT_BELL_SERVER_PATH];
	struct xvt_error why;

	if (!xvt_session_wake_seek(vm) ||
	    !xvt_bell_server_find(xvt_session_wake_server(vm), xvt_session_vm_path(vm),
				  is_domain(vm), path))
		return;
	xvt_session_wake_sought(vm);
	if (!may_connect(l, path))
		xvt_fail(&why, 0,
			 "it came later, and its server is at another place than "
			 "xvtrace-record(1) names");
	else if (!xvt_session_wake_add(vm, path, &why))
		return;
	xvt_recording_end_line(l->rec);
	xvt_say_of_machine(1, name, "its doorbell at %s is not used: %s; it is polled", path,
			   why.text);
}

int xvt_listen_to_doorbell(struct xvt_listen *l, struct xvt_vm *vm)
{
	const struct xvt_opt_list *list = l->doorbells;
	const char *name = xvt_session_vm_name(vm),
		   *arg = xvt_opt_named(list, list->n, name, strlen(name));
	const char *path = arg ? strchr(arg, '=') + 1 : NULL;
	struct xvt_error why;
	int err = path ? xvt_session_wake_add(vm, path, &why) : 0;

	if (err)
		xvt_error(path, "%s", why.text);
	if (!path)
		seek_doorbell(l, vm);
	return err;
}

/* Look for the doorbells of machines whose guests had not formatted their regions yet, and of those
 * that the session took up itself. */
static void seek_doorbells(struct xvt_listen *l)
{
	struct xvt_vm *vm;
	size_t i;

	for (i = 0; (vm = xvt_session_vm(l->rec->session, i)); i++)
		seek_doorbell(l, vm);
}

static void on_listen(struct xvt_timer *timer, uint64_t now_ns)
{
	struct xvt_listen *l = container_of(timer, struct xvt_listen, timer);

	listen_again(l);
	seek_doorbells(l);
	xvt_timer_arm(timer, now_ns + SECOND_NS, XVT_TIMER_NEVER);
}

void xvt_listen_begin(struct xvt_listen *l, uint64_t now_ns)
{
	xvt_timer_add(&l->rec->after_pass, &l->timer, on_listen);
	xvt_timer_arm(&l->timer, now_ns + SECOND_NS, XVT_TIMER_NEVER);
}
