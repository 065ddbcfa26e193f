// SPDX-License-Identifier: GPL-2.0
/* armed_vmm.c - see armed_vmm.h. */
#include "flight/armed_vmm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "record/listen.h"
#include "vmm/libvirt.h"

#define RETRY_NS ((uint64_t)10000000000)

struct xvt_armed_vmm {
	struct xvt_vmm *listener; /* NULL: none */
	bool is_domain;
	bool lost;	  /* the listener reports nothing more */
	bool tried;	  /* a listener was opened once, or could not be */
	bool failed;	  /* the newest attempt did, which was reported */
	uint64_t next_ns; /* when to try again */
	bool crashed;
	bool rests;
};

/* A listener of a domain reports also after its QEMU has ended; one by QMP does not. */
static void on_report(void *arg, const struct xvt_vmm_report *r)
{
	struct xvt_armed_vmm *v = arg;

	v->crashed |=
		r->event == XVT_VMM_PANICKED || (r->event == XVT_VMM_GONE && r->err == -EPIPE);
	v->rests = xvt_vmm_rests(r, v->rests);
	v->lost |= r->event == XVT_VMM_GONE && (!v->is_domain || r->err == -ENOTCONN);
}

static void close_listener(struct xvt_armed_vmm *v)
{
	if (v->listener)
		v->listener->ops->close(v->listener);
	v->listener = NULL;
	v->lost = false;
}

/* A connection waited for libvirt's daemon in vain: the next ones ask first whether it answers. */
static bool libvirt_hangs;

static int listen_to_domain(struct xvt_armed_vmm *v, const struct xvt_armed_vmm_how *how,
			    const uint8_t uuid[16], struct xvt_error *why)
{
	const int err = xvt_libvirt_listen(&v->listener, how->loop, how->libvirt_uri, uuid,
					   on_report, v, why);

	libvirt_hangs = err == -ETIMEDOUT;
	return err;
}

/* The first connection waits for libvirt's daemon, as that of a recorded machine does. */
static int connect_to(struct xvt_armed_vmm *v, const struct xvt_armed_vmm_how *how,
		      const char *name, const uint8_t uuid[16], uint64_t now_ns,
		      struct xvt_error *why)
{
	const char *path;
	const int answers = v->is_domain && (v->tried || libvirt_hangs)
				    ? xvt_libvirt_answers(how->libvirt_uri)
				    : 1;

	if (!answers)
		return 0; /* the next call asks again */
	v->next_ns = now_ns + RETRY_NS;
	v->tried = true;
	if (answers < 0) {
		xvt_fail(why, 0, "libvirt does not answer");
		return answers;
	}
	close_listener(v);
	if (v->is_domain)
		return listen_to_domain(v, how, uuid, why);
	return xvt_listen_by_qmp(&v->listener, how->loop, how->qmp, name, on_report, v, &path, why);
}

int xvt_armed_vmm_listen(struct xvt_armed_vmm **out, const struct xvt_armed_vmm_how *how,
			 const char *name, const uint8_t uuid[16], uint64_t now_ns,
			 struct xvt_error *why)
{
	struct xvt_armed_vmm *v = *out;
	bool told;
	int err;

	if (!v)
		v = *out = calloc(1, sizeof(*v));
	if (!v)
		return xvt_fail(why, -ENOMEM, "%s", strerror(ENOMEM));
	if ((v->listener && !v->lost) || now_ns < v->next_ns)
		return 0;
	v->is_domain = !xvt_uuid_is_none(uuid);
	told = v->failed;
	err = connect_to(v, how, name, uuid, now_ns, why);
	v->failed = err;
	return told ? 0 : err;
}

void xvt_armed_vmm_renew(struct xvt_armed_vmm *v)
{
	if (!v)
		return;
	v->lost = true;
	v->next_ns = 0;
}

bool xvt_armed_vmm_crashed(struct xvt_armed_vmm *v)
{
	const bool crashed = v && v->crashed;

	if (v)
		v->crashed = false;
	return crashed;
}

bool xvt_armed_vmm_rests(const struct xvt_armed_vmm *v)
{
	return v && v->rests;
}

void xvt_armed_vmm_close(struct xvt_armed_vmm *v)
{
	if (v)
		close_listener(v);
	free(v);
}
