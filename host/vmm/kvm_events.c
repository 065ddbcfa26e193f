// SPDX-License-Identifier: GPL-2.0
/*
 * kvm_events.c - the only file that includes libtraceevent. The formats and pages come from the
 * host's kernel, which is trusted, so the library may parse them.
 */
#define _GNU_SOURCE
#include "vmm/kvm_events.h"
#include "vmm/tracing.h"

#include <errno.h>
#include <event-parse.h>
#include <kbuffer.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYSTEM	   "kvm"
#define OFFSET_KIB 64	/* an offset changes a few times in a VM's life */
#define SPANS_KIB  1024 /* 10,000 entries and exits */
#define PAGES_MAX  512	/* of one CPU in one call */

/* An event, and the places of its fields in a record. */
struct kind {
	const char *name;
	const char *fields[3]; /* vcpu_id first */
	struct tep_event *event;
	struct tep_format_field *at[3];
};

static const struct kind kinds[] = {
	[XVT_FTRACE_TSC_OFFSET] = { .name = "kvm_write_tsc_offset",
				    .fields = { "vcpu_id", "previous_tsc_offset",
						"next_tsc_offset" } },
	[XVT_FTRACE_ENTRY] = { .name = "kvm_entry", .fields = { "vcpu_id" } },
	[XVT_FTRACE_EXIT] = { .name = "kvm_exit", .fields = { "vcpu_id", "exit_reason" } },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct xvt_ftrace {
	struct xvt_tracing *tracing;
	struct tep_handle *tep;
	struct kbuffer *kbuffer;
	struct kind kinds[KINDS];
	unsigned int nr_kinds; /* 1, or KINDS with run_spans */
	void *page;
	size_t page_size;
};

/* --- the instance --- */

static int make_instance(struct xvt_ftrace *t, const struct xvt_ftrace_options *o)
{
	const struct xvt_tracing_options options = {
		.use = XVT_TRACING_KVM,
		.buffer_kib = o->buffer_kib  ? o->buffer_kib
			      : o->run_spans ? SPANS_KIB
					     : OFFSET_KIB,
		.why = o->why,
	};

	return xvt_tracing_open(&t->tracing, &options);
}

static int enable_events(struct xvt_ftrace *t, const struct xvt_ftrace_options *o)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < t->nr_kinds; i++) {
		err = xvt_tracing_enable(t->tracing, SYSTEM, t->kinds[i].name);
		if (err)
			xvt_fail(o->why, err, "cannot switch on " SYSTEM ":%s", t->kinds[i].name);
	}
	return err;
}

/* --- what records look like --- */

static int learn_event(struct xvt_ftrace *t, struct kind *k, const struct xvt_ftrace_options *o)
{
	size_t i, size;
	char *text;

	text = xvt_tracing_format(SYSTEM, k->name, &size);
	if (!text)
		return xvt_fail(o->why, -ENOENT,
				"this kernel has no event " SYSTEM ":%s: KVM is not loaded, or "
				"without tracing",
				k->name);
	/* Fields are read, nothing is printed: an error in the print format does not matter. */
	tep_parse_event(t->tep, text, size, SYSTEM);
	free(text);
	k->event = tep_find_event_by_name(t->tep, SYSTEM, k->name);
	for (i = 0; k->event && i < 3 && k->fields[i]; i++) {
		k->at[i] = tep_find_field(k->event, k->fields[i]);
		if (!k->at[i])
			return xvt_fail(o->why, -EOPNOTSUPP,
					"this kernel's " SYSTEM ":%s has no %s", k->name,
					k->fields[i]);
	}
	return k->event ? 0
			: xvt_fail(o->why, -EOPNOTSUPP, "cannot read the format of %s", k->name);
}

static int learn_page(struct xvt_ftrace *t, const struct xvt_ftrace_options *o)
{
	size_t size;
	char *text;
	int err;

	text = xvt_tracing_read(NULL, "events/header_page", &size);
	if (!text)
		return xvt_fail(o->why, -EOPNOTSUPP, "cannot read events/header_page");
	err = tep_parse_header_page(t->tep, text, size, sizeof(long));
	free(text);
	t->page_size = (size_t)tep_get_sub_buffer_size(t->tep);
	if (err || t->page_size < 4096 || t->page_size > 1u << 30)
		return xvt_fail(o->why, -EOPNOTSUPP, "events/header_page is not understood");
	t->page = malloc(t->page_size);
	t->kbuffer = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
	return t->page && t->kbuffer ? 0 : -ENOMEM;
}

static int learn(struct xvt_ftrace *t, const struct xvt_ftrace_options *o)
{
	unsigned int i;
	int err;

	t->tep = tep_alloc();
	if (!t->tep)
		return -ENOMEM;
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_local_bigendian(t->tep, TEP_LITTLE_ENDIAN);
	tep_set_file_bigendian(t->tep, TEP_LITTLE_ENDIAN);
	tep_set_long_size(t->tep, sizeof(long));
	err = learn_page(t, o);
	memcpy(t->kinds, kinds, sizeof(kinds));
	t->nr_kinds = o->run_spans ? KINDS : 1;
	for (i = 0; !err && i < t->nr_kinds; i++)
		err = learn_event(t, &t->kinds[i], o);
	return err;
}

/* --- reading --- */

static uint64_t number(struct tep_format_field *field, const void *record)
{
	unsigned long long value = 0;

	if (field)
		tep_read_number_field(field, record, &value);
	return value;
}

/* Fill *e from a record. Returns false for an event of another kind. */
static bool decode(const struct xvt_ftrace *t, const void *record, struct xvt_ftrace_event *e)
{
	struct tep_event *any = t->kinds[0].event; /* the common fields are the same in all */
	int type = (int)number(tep_find_common_field(any, "common_type"), record);
	unsigned int i;

	for (i = 0; i < t->nr_kinds; i++) {
		const struct kind *k = &t->kinds[i];

		if (k->event->id != type)
			continue;
		e->kind = (enum xvt_ftrace_kind)i;
		e->pid = (int32_t)number(tep_find_common_field(any, "common_pid"), record);
		e->vcpu_id = (uint32_t)number(k->at[0], record);
		if (i == XVT_FTRACE_TSC_OFFSET) {
			e->previous = (int64_t)number(k->at[1], record);
			e->next = (int64_t)number(k->at[2], record);
		} else if (i == XVT_FTRACE_EXIT) {
			e->exit_reason = (uint32_t)number(k->at[1], record);
		}
		return true;
	}
	return false;
}

/* Pass the events of one page of one CPU to take(). Returns their number. */
static int64_t take_page(struct xvt_ftrace *t, uint32_t cpu,
			 void (*take)(void *arg, const struct xvt_ftrace_event *e), void *arg)
{
	unsigned long long clock;
	int64_t events = 0;
	void *record;
	int missed;

	if (kbuffer_load_subbuffer(t->kbuffer, t->page))
		return 0;
	missed = kbuffer_missed_events(t->kbuffer);
	record = kbuffer_read_event(t->kbuffer, &clock);
	if (missed) {
		struct xvt_ftrace_event e = {
			.kind = XVT_FTRACE_LOST,
			.host_cpu = cpu,
			.host_clock = record ? clock : kbuffer_timestamp(t->kbuffer),
			.lost = missed > 0 ? (uint64_t)missed : 0,
		};

		take(arg, &e);
	}
	for (; record; record = kbuffer_next_event(t->kbuffer, &clock)) {
		struct xvt_ftrace_event e = { .host_cpu = cpu, .host_clock = clock };

		if (!decode(t, record, &e))
			continue;
		take(arg, &e);
		events++;
	}
	return events;
}

int64_t xvt_ftrace_read(struct xvt_ftrace *t,
			void (*take)(void *arg, const struct xvt_ftrace_event *e), void *arg)
{
	int64_t events = 0;
	size_t i;
	int page;

	for (i = 0; i < xvt_tracing_cpus(t->tracing); i++) {
		for (page = 0; page < PAGES_MAX; page++) {
			ssize_t n = xvt_tracing_page(t->tracing, i, t->page, t->page_size);

			if (n < 0)
				return n;
			if (!n)
				break;
			events += take_page(t, xvt_tracing_cpu(t->tracing, i), take, arg);
		}
	}
	return events;
}

/* --- beginning and end --- */

int xvt_ftrace_open(struct xvt_ftrace **out, const struct xvt_ftrace_options *options)
{
	struct xvt_ftrace *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	err = make_instance(t, options);
	if (!err)
		err = learn(t, options);
	if (!err)
		err = enable_events(t, options);
	if (err) {
		xvt_ftrace_close(t);
		return err;
	}
	*out = t;
	return 0;
}

void xvt_ftrace_close(struct xvt_ftrace *t)
{
	if (!t)
		return;
	xvt_tracing_close(t->tracing);
	if (t->kbuffer)
		kbuffer_free(t->kbuffer);
	if (t->tep)
		tep_free(t->tep);
	free(t->page);
	free(t);
}
