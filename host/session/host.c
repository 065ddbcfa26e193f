// SPDX-License-Identifier: GPL-2.0
/*
 * host.c - the host as one more machine of a recording. The host's rings lie in a region that only
 * this process has. The recorder is their writer: before the rings are looked at, it copies what
 * the host's kernel has traced, CPU by CPU, out of ftrace's pages into records. Everything behind
 * it (drain, clock, order, file, readers) is therefore as for a guest.
 *
 * What proves that a ring has everything up to a moment: the pages of its CPU were read to their
 * end at least XVT_PROOF_DELTA_NS after that moment. An event of the kernel is visible a little
 * after its stamp; one that takes longer is late. A ring has room for a whole page before a page is
 * read, so nothing is lost on this side: what is not read stays with the kernel, which counts what
 * it overwrites.
 */
#define _GNU_SOURCE
#include "session/own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/u64.h"
#include "vmm/ftrace_page.h"

#define HOST_NAME     "host"
#define PAGES_AT_ONCE 512u /* of one CPU in a pass */
#define TID_BITS      16u
/* Common fields of all events: u16 type, u8 flags, u8 preempt_count, s32 pid. */
#define TID_AT	      4u

struct cpu {
	struct xvt_own_ring ring;
	uint64_t lost; /* reported, of all that the kernel counted */
	bool settled;  /* nothing follows: it was read to its end after the stop */
};

struct xvt_session_host {
	struct xvt_host_source source;
	struct xvt_vm *vm;
	struct cpu *cpus;
	uint64_t *page; /* aligned */
	bool on;
	bool ended;
	bool bad_reported;
	int err; /* a read failed: nothing more is read */
	uint8_t seen[1u << (TID_BITS -
			    3)]; /* threads of events, by the low bits of their numbers */
};

/* --- the machine --- */

static void read_boot_id(uint8_t id[16])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	unsigned int i = 0, byte;

	memset(id, 0, 16);
	/* As text: groups of bytes between dashes. */
	while (f && i < 16) {
		if (fscanf(f, "%2x", &byte) == 1)
			id[i++] = (uint8_t)byte;
		else if (fgetc(f) != '-')
			break;
	}
	if (f)
		fclose(f);
}

static struct xvt_session_host *new_host(const struct xvt_host_source *source)
{
	struct xvt_session_host *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->source = *source;
	h->cpus = calloc(source->nr_cpus, sizeof(*h->cpus));
	h->page = calloc(1, source->page_size);
	if (h->cpus && h->page)
		return h;
	free(h->cpus);
	free(h->page);
	free(h);
	return NULL;
}

/* Make the machine and its rings. On an error the session is unchanged. */
static int attach(struct xvt_session *s, struct xvt_session_host *h)
{
	const struct xvt_layout layout = {
		.ring_count = (uint32_t)h->source.nr_cpus,
		.clock_id = s->clock.clock_id,
		.clock_hz = s->clock.hz,
		.vm_name = HOST_NAME,
	};
	struct xvt_vm *vm = xvt_vm_new(s, HOST_NAME, "");
	int err;
	uint8_t boot[16];
	uint32_t i;

	if (!vm)
		return -ENOMEM;
	vm->named = true;
	read_boot_id(boot);
	err = xvt_own_region(vm, &layout, h->source.page_size, boot);
	if (!err) {
		xvt_vm_add(s, vm);
		err = xvt_vm_make_rings(s, vm);
		s->nr_vms -= err != 0;
		s->table.next_vm -= err != 0;
	}
	if (err) {
		xvt_session_share_memory(s);
		xvt_vm_free(vm);
		return err;
	}
	h->vm = vm;
	xvt_vm_announce(s, vm);
	for (i = 0; i < vm->region.g.ring_count; i++)
		xvt_own_ring_attach(s, vm, i, h->source.cpus[i], &h->cpus[i].ring);
	xvt_vm_set_state(vm, XVT_STATE_RECORDED);
	xvt_session_stall_attach(s, vm);
	return 0;
}

int xvt_session_host_attach(struct xvt_session *s, const struct xvt_host_source *source,
			    struct xvt_error *why)
{
	struct xvt_session_host *h;
	int err = -ENOMEM;

	if (xvt_session_find(s, HOST_NAME))
		return xvt_fail(why, -EEXIST,
				"the host is recorded as machine \"" HOST_NAME
				"\"; give the other machine of that name another one");
	h = new_host(source);
	if (h)
		err = attach(s, h);
	if (!err) {
		s->sources.host = h;
		return 0;
	}
	xvt_fail(why, 0, "%s", strerror(-err));
	if (h) {
		free(h->cpus);
		free(h->page);
		free(h);
	}
	return err;
}

struct xvt_vm *xvt_session_host_vm(const struct xvt_session *s)
{
	return s->sources.host ? s->sources.host->vm : NULL;
}

void xvt_session_host_free(struct xvt_session *s)
{
	if (!s->sources.host)
		return;
	free(s->sources.host->cpus);
	free(s->sources.host->page);
	free(s->sources.host);
	s->sources.host = NULL;
}

/* --- records --- */

/* Report what the kernel has overwritten or dropped since the report before. */
static void put_lost(struct xvt_session_host *h, size_t i)
{
	struct cpu *c = &h->cpus[i];
	struct xvt_ring_ctl *ctl = c->ring.writer.ctl;
	struct xvt_lost lost = { 0 };
	uint64_t all;

	if (h->source.lost(h->source.arg, i, &all) || all <= c->lost)
		return;
	lost.overwritten = all - c->lost;
	c->lost = all;
	xvt_store(&ctl->attempted, xvt_load(&ctl->attempted) + lost.overwritten);
	xvt_own_put(&c->ring, XVT_ID_LOST, &lost, sizeof(lost));
}

static void note_thread(struct xvt_session_host *h, const struct xvt_ftrace_entry *e)
{
	uint16_t tid;

	if (e->len < TID_AT + sizeof(uint32_t))
		return;
	memcpy(&tid, e->data + TID_AT, sizeof(tid)); /* the low bits of a little-endian number */
	h->seen[tid >> 3] |= (uint8_t)(1u << (tid & 7));
}

bool xvt_session_host_saw(const struct xvt_session *s, int32_t tid)
{
	return s->sources.host->seen[(uint16_t)tid >> 3] >> (tid & 7) & 1;
}

static void put_page(struct xvt_session *s, struct xvt_session_host *h, size_t i, size_t len)
{
	struct cpu *c = &h->cpus[i];
	struct xvt_ftrace_page page;
	struct xvt_ftrace_entry e;
	bool missed;

	xvt_ftrace_page_init(&page, h->page, len);
	missed = page.missed;
	while (xvt_ftrace_page_next(&page, &e)) {
		c->ring.clock = xvt_u64_larger(e.clock, 1);
		if (missed)
			put_lost(h, i);
		missed = false;
		if (h->source.keep && !h->source.keep(h->source.arg, e.data, e.len))
			continue;
		note_thread(h, &e);
		xvt_session_symbols_event(s, e.data, e.len);
		xvt_own_put(&c->ring, XVT_ID_FTRACE, e.data, e.len);
	}
	if (!page.bad || h->bad_reported)
		return;
	h->bad_reported = true;
	xvt_session_note(s, 2, h->vm, h->vm->rings[i]->id,
			 "cpu %u: a page of the kernel's trace is not valid; its rest is left out",
			 h->source.cpus[i]);
}

static void read_failed(struct xvt_session *s, struct xvt_session_host *h, int err)
{
	h->err = err;
	h->source.record(h->source.arg, false);
	xvt_session_note(s, 2, h->vm, UINT32_MAX,
			 "the kernel's trace cannot be read any more: %s; nothing more of the host "
			 "is recorded",
			 strerror(-err));
}

/*
 * Read a CPU's events up to clock value `until`, or as far as its ring has room. Returns whether
 * all of them were read: the buffer is empty, or has given a later one, since a CPU's events are in
 * order. To read on to its end would find what has come meanwhile, which may be what the recorder's
 * own calls have caused, a few bytes of a page with each call.
 */
static bool feed_cpu(struct xvt_session *s, struct xvt_session_host *h, size_t i, uint64_t until)
{
	struct cpu *c = &h->cpus[i];
	const struct xvt_ring *r = h->vm->rings[i];
	unsigned int pages;

	for (pages = 0; pages < PAGES_AT_ONCE && !h->err; pages++) {
		ssize_t n;

		if (!xvt_own_has_room(r))
			return false;
		n = h->source.page(h->source.arg, i, h->page, h->source.page_size);
		if (n < 0)
			read_failed(s, h, (int)n);
		if (n <= 0)
			break;
		put_page(s, h, i, (size_t)n);
		if (!h->ended && c->ring.clock > until)
			return true;
	}
	if (pages == PAGES_AT_ONCE)
		return false;
	if (h->ended && !c->settled) {
		c->settled = true;
		c->ring.clock = xvt_u64_larger(c->ring.clock, xvt_clock_read());
		put_lost(h, i);
	}
	return true;
}

/* --- a recording --- */

/* The kernel traces from when all rings have a clock, so that none refuses a record. */
static void begin(struct xvt_session *s, struct xvt_session_host *h)
{
	uint32_t i;
	int err;

	for (i = 0; i < h->vm->region.g.ring_count; i++) {
		if (h->vm->rings[i]->phase != XVT_PHASE_LIVE)
			return;
	}
	err = h->source.record(h->source.arg, true);
	h->on = !err;
	if (err && err != -EAGAIN)
		read_failed(s, h, err);
}

bool xvt_session_host_begins(const struct xvt_session *s)
{
	const struct xvt_session_host *h = s->sources.host;

	return h && !h->on && !h->ended && !h->err && h->vm->phase != XVT_VM_GONE;
}

void xvt_session_host_feed(struct xvt_session *s)
{
	struct xvt_session_host *h = s->sources.host;
	const uint64_t now = xvt_clock_read();
	size_t i;

	if (!h || h->vm->phase != XVT_VM_ATTACHED)
		return;
	if (!h->on && !h->ended && !h->err)
		begin(s, h);
	if (!h->on)
		return;
	for (i = 0; i < h->source.nr_cpus; i++) {
		struct xvt_ring *r = h->vm->rings[i];

		r->guest.behind = !feed_cpu(s, h, i, now);
		if (r->guest.behind)
			xvt_session_unpark(s, r);
	}
}

void xvt_session_host_stop(struct xvt_session *s)
{
	struct xvt_session_host *h = s->sources.host;

	if (!h || h->ended)
		return;
	h->ended = true;
	h->source.record(h->source.arg, false);
}
