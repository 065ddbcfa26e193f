// SPDX-License-Identifier: GPL-2.0
/* keep_armed.c - see keep_armed.h. */
#include "flight/keep_armed.h"

#include "base/container.h"
#include "base/time.h"
#include "flight/flight.h"
#include "flight/rearm.h"
#include "flight/snapshots.h"

/* Returns false while the machines are being read: their regions are claimed for that. */
static bool may_claim(const struct xvt_keep_armed *k)
{
	return !xvt_flight_is_busy(k->flight) && !xvt_snapshots_look_at_armed(k->snapshots);
}

static void arm(struct xvt_timer *timer, uint64_t now_ns)
{
	const struct xvt_keep_armed *k = container_of(timer, struct xvt_keep_armed, arm);

	if (may_claim(k))
		xvt_armed_pass(k->armed, now_ns);
	xvt_timer_arm(timer, 0, XVT_TIMER_NEVER);
}

static void listen_all(const struct xvt_keep_armed *k, uint64_t now_ns)
{
	const struct xvt_armed_vmm_how how = { .loop = k->rec->loop,
					       .libvirt_uri = k->machines->libvirt_uri,
					       .qmp = k->qmp };

	xvt_armed_listen(k->armed, &how, now_ns);
}

/* Once a second, and as soon as there is a machine or a domain that was not there before. */
static void listen(struct xvt_timer *timer, uint64_t now_ns)
{
	struct xvt_keep_armed *k = container_of(timer, struct xvt_keep_armed, listen);

	if (xvt_armed_has_new(k->armed) || now_ns >= k->next_listen_ns) {
		k->next_listen_ns = now_ns + SECOND_NS;
		listen_all(k, now_ns);
	}
	xvt_timer_arm(timer, 0, XVT_TIMER_NEVER);
}

static void release(struct xvt_timer *timer, uint64_t now_ns)
{
	const struct xvt_keep_armed *k = container_of(timer, struct xvt_keep_armed, release);

	if (may_claim(k))
		xvt_rearm_pass(k->armed, k->machines, k->rec->session, k->joined, k->arg);
	xvt_timer_arm(timer, now_ns + SECOND_NS, XVT_TIMER_NEVER);
}

void xvt_keep_armed_begin(struct xvt_keep_armed *k)
{
	struct xvt_timers *list = &k->rec->after_pass;

	xvt_timer_add(list, &k->arm, arm);
	xvt_timer_add(list, &k->listen, listen);
	xvt_timer_add(list, &k->release, release);
	xvt_timer_arm(&k->arm, 0, XVT_TIMER_NEVER);
	xvt_timer_arm(&k->listen, 0, XVT_TIMER_NEVER);
	xvt_timer_arm(&k->release, 0, XVT_TIMER_NEVER);
}

void xvt_keep_armed_listen(const struct xvt_keep_armed *k)
{
	listen_all(k, xvt_session_now_ns(k->rec->session));
}
