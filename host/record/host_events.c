// SPDX-License-Identifier: GPL-2.0
/* host_events.c - see host_events.h. */
#include "record/host_events.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

#define PATTERNS_MAX 13 /* of a preset */

#define SCHED_EVENTS                                                          \
	"sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup_new", \
		"sched:sched_migrate_task"

static const struct preset {
	const char *name;
	bool all_switches;
	const char *patterns[PATTERNS_MAX];
} presets[] = {
	/* Where the time of the VMMs' threads went, and to which threads. */
	{ "sched", true, { SCHED_EVENTS } },
	/* And what KVM did in it. */
	{ "vcpu",
	  true,
	  { SCHED_EVENTS, "kvm:kvm_entry", "kvm:kvm_exit", "kvm:kvm_vcpu_wakeup",
	    "kvm:kvm_userspace_exit", "kvm:kvm_apic_accept_irq", "kvm:kvm_apicv_accept_irq",
	    "kvm:kvm_inj_virq", "kvm:kvm_set_irq", "kvm:kvm_msi_set_irq" } },
	{ "irq", false, { "irq:*", "irq_vectors:*" } },
	{ "kvm", false, { "kvm:*" } },
	{ "block", false, { "block:*" } },
	/* Events that decide when each vCPU runs. */
	{ "all-vcpus",
	  false,
	  { "sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup",
	    "sched:sched_wakeup_new", "sched:sched_migrate_task", "kvm:kvm_entry",
	    "kvm:kvm_exit" } },
};
#define NR_PRESETS (sizeof(presets) / sizeof(presets[0]))

static const struct preset *preset_of(const char *name)
{
	size_t i;

	for (i = 0; i < NR_PRESETS; i++) {
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	}
	return NULL;
}

bool xvt_host_events_ok(const struct xvt_host_event_options *o)
{
	size_t i;

	for (i = 0; i < o->events.n; i++) {
		const char *event = o->events.v[i], *colon = strchr(event, ':');

		if (!*event || colon == event || (colon && !colon[1])) {
			xvt_opt_error_of(
				&(struct xvt_opt_value){ "host-event", i, event, NULL },
				"an event is given as SYSTEM:EVENT, like sched:sched_switch "
				"or 'irq:*', or SYSTEM for all of its events");
			return false;
		}
	}
	for (i = 0; i < o->presets.n; i++) {
		if (!preset_of(o->presets.v[i])) {
			xvt_opt_error_of(
				&(struct xvt_opt_value){ "host", i, o->presets.v[i], NULL },
				"--host is one of " XVT_HOST_PRESETS);
			return false;
		}
	}
	if ((o->all_threads || o->buffer_bytes != XVT_HOST_BUFFER_USUAL) && !o->events.n &&
	    !o->presets.n) {
		xvt_opt_error(o->all_threads ? "host-all" : "host-buffer",
			      "no event of the host is given; use -H SYS:EVENT or --host PRESET");
		return false;
	}
	return true;
}

int xvt_host_events_add(struct xvt_session *s, const struct xvt_host_event_options *o)
{
	const char *wanted[NR_PRESETS * PATTERNS_MAX];
	struct xvt_host_options options = {
		.events = o->events.v,
		.nr_events = o->events.n,
		.wanted = wanted,
		.all_threads = o->all_threads,
		.buffer_kib = (uint32_t)((o->buffer_bytes + 1023) >> 10),
	};
	struct xvt_error why;
	size_t i, k;
	int err;

	if (!o->events.n && !o->presets.n)
		return XVT_EXIT_OK;
	for (i = 0; i < NR_PRESETS; i++) {
		bool given = false;

		for (k = 0; k < o->presets.n; k++)
			given |= preset_of(o->presets.v[k]) == &presets[i];
		options.all_switches |= given && presets[i].all_switches;
		for (k = 0; given && k < PATTERNS_MAX && presets[i].patterns[k]; k++)
			wanted[options.nr_wanted++] = presets[i].patterns[k];
	}
	err = xvt_session_host_add(s, &options, &why);
	if (err == -ENOENT || err == -EINVAL || err == -EEXIST) {
		xvt_error("record", "%s", why.text);
		return XVT_EXIT_USAGE;
	}
	if (err)
		xvt_warn("host", "%s; the other machines are recorded without it", why.text);
	return XVT_EXIT_OK;
}
