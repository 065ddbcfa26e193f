// SPDX-License-Identifier: GPL-2.0
/*
 * verify_kinds.c - see verify_parts.h. Checks machines, rings, formats and notes of the file:
 * kinds, flags and numbers that the format does not have, and things that belong to nothing. The
 * kinds of a ring, of its clock and of a region are the guest's own words, and not judged.
 */
#define _GNU_SOURCE
#include "view/verify_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "base/u64.h"

#define SAMPLE_FLAGS 0u
#define NODE_FLAGS                                                                    \
	(XVT_NODE_F_FIRST | XVT_NODE_F_SINCE | XVT_NODE_F_CHANGED | XVT_NODE_F_BACK | \
	 XVT_NODE_F_TAKEN | XVT_NODE_F_OPEN)
#define LOOK_FLAGS (XVT_LOOK_F_BESIDE | XVT_LOOK_F_GUESS)
#define RUN_FLAGS  XVT_RUN_F_LOST
#define HEAD_FLAGS XVT_HEAD_F_FIRST
#define EVENT_FLAGS                                                                               \
	(XVT_EVENT_RING_MASK | XVT_EVENT_F_LATE | XVT_EVENT_F_BACKLOG | XVT_EVENT_F_UNCONFIRMED | \
	 XVT_EVENT_F_RECOVERED | XVT_EVENT_F_CLOCK)
#define SOURCE_LAST XVT_SOURCE_SEEN
#define NOTE_LAST   2u	     /* error */
#define SLEEP_NS    1000000u /* error of what a line says of CLOCK_BOOTTIME */
#define RATE_PART   8u	     /* the host's clock is never steered by as much */

static void unknown(struct xvt_verify_state *v, enum xvt_verify_kind kind, uint32_t ring,
		    const char *what, uint64_t number)
{
	char text[XVT_VERIFY_RING_TEXT];

	xvt_verify_violation(v, kind, xvt_ring_vm(v->t, ring),
			     "%s: %s %" PRIu64 " is unknown to this format",
			     xvt_verify_ring_text(v, ring, text), what, number);
}

/* Reports flags that the format does not have. */
static void check_flags(struct xvt_verify_state *v, enum xvt_verify_kind kind, uint32_t ring,
			const char *what, uint32_t flags, uint32_t known)
{
	if (xvt_unlikely(flags & ~known))
		unknown(v, kind, ring, what, flags & ~known);
}

void xvt_verify_node_kind(struct xvt_verify_state *v, const struct xvt_clock_node *n)
{
	check_flags(v, XVT_VERIFY_CLOCK, n->ring, "flag of a clock node", n->flags, NODE_FLAGS);
	if (n->source > SOURCE_LAST)
		unknown(v, XVT_VERIFY_CLOCK, n->ring, "source of a clock node", n->source);
}

void xvt_verify_sample_kind(struct xvt_verify_state *v, const struct xvt_clock_sample *s)
{
	check_flags(v, XVT_VERIFY_SAMPLE, s->ring, "flag of a clock sample", s->flags,
		    SAMPLE_FLAGS);
	if (!s->source || s->source > SOURCE_LAST)
		unknown(v, XVT_VERIFY_SAMPLE, s->ring, "source of a clock sample", s->source);
}

void xvt_verify_look_kind(struct xvt_verify_state *v, const struct xvt_clock_look *k)
{
	check_flags(v, XVT_VERIFY_CLOCK, k->ring, "flag of a look", k->flags, LOOK_FLAGS);
}

bool xvt_verify_head_kind(struct xvt_verify_state *v, const struct xvt_subbuf_head *h)
{
	char text[XVT_VERIFY_RING_TEXT];
	uint32_t size;

	if (h->ring >= v->t->ring_count || !v->t->rings[h->ring].known) {
		if (!v->t->damage_count)
			xvt_verify_violation(v, XVT_VERIFY_RING, XVT_VM_NONE,
					     "a sub-buffer of ring %" PRIu32
					     ", which the trace does not have",
					     h->ring);
		return false;
	}
	check_flags(v, XVT_VERIFY_RING, h->ring, "flag of a sub-buffer", h->flags, HEAD_FLAGS);
	size = v->t->rings[h->ring].info.subbuf_size;
	if (size && h->pos % size)
		xvt_verify_violation(v, XVT_VERIFY_RING, xvt_ring_vm(v->t, h->ring),
				     "%s: no sub-buffer begins at position %" PRIu64,
				     xvt_verify_ring_text(v, h->ring, text), h->pos);
	return true;
}

void xvt_verify_run_kind(struct xvt_verify_state *v, const struct xvt_run_span *span)
{
	if (span->flags & ~RUN_FLAGS)
		xvt_verify_violation(v, XVT_VERIFY_RAN, XVT_VM_NONE,
				     "a run span has flags %" PRIu32 ", of which some are unknown",
				     span->flags);
	if (!(span->flags & XVT_RUN_F_LOST) &&
	    (span->vm >= v->t->vm_count || !v->t->vms[span->vm].known))
		xvt_verify_violation(v, XVT_VERIFY_RAN, XVT_VM_NONE,
				     "a run span of machine %" PRIu32
				     ", which the trace does not have",
				     span->vm);
}

void xvt_verify_source(struct xvt_verify_state *v, const struct xvt_events_source *s)
{
	const uint32_t ring = s->ring_flags & XVT_EVENT_RING_MASK;
	struct xvt_verify_ring *r;

	check_flags(v, XVT_VERIFY_RING, ring, "flag of an event", s->ring_flags, EVENT_FLAGS);
	if (ring >= v->t->ring_count)
		return;
	r = &v->rings[ring];
	if (r->kind.ts_bits && r->kind.ts_bits != s->ts_bits)
		xvt_verify_violation(v, XVT_VERIFY_RING, xvt_ring_vm(v->t, ring),
				     "ring %u: its stamps have %u bits, and had %u before", ring,
				     s->ts_bits, r->kind.ts_bits);
	r->kind.ts_bits = s->ts_bits;
	r->kind.named += s->left;
}

/* ------------------------------------------------------------------ the host's clock */

/* How long the host had slept when the line began; lines are judged by its changes. */
static int64_t slept_ns(const struct xvt_timebase *l)
{
	return (int64_t)(l->boottime_ns - l->base_ns + (uint64_t)l->apart_ns);
}

static uint64_t rate_of(const struct xvt_timebase *l)
{
	return (uint64_t)(((unsigned __int128)l->mult << 32) >> (l->shift & 63));
}

void xvt_verify_line_kind(struct xvt_verify_state *v, const struct xvt_timebase *l,
			  const struct xvt_timebase *last)
{
	const uint64_t slack = xvt_u64_sum(SLEEP_NS, l->error_ns);
	int64_t last_ns = last ? slept_ns(last) : 0;

	/* 0: the recorder did not ask. */
	if (last && !last->boottime_ns)
		last_ns = 0;
	if (l->boottime_ns && slept_ns(l) < (__int128)last_ns - (int64_t)(slack & INT64_MAX))
		xvt_verify_violation(v, XVT_VERIFY_HOST_CLOCK, XVT_VM_NONE,
				     "the host's clock: CLOCK_BOOTTIME was %" PRIu64
				     " ns at counter %" PRIu64 ", before what it can have been",
				     l->boottime_ns, l->base_clock);
	if (last && xvt_u64_apart(rate_of(l), rate_of(last)) > rate_of(last) / RATE_PART)
		xvt_verify_violation(v, XVT_VERIFY_HOST_CLOCK, XVT_VM_NONE,
				     "the host's clock has another rate from counter %" PRIu64
				     " on",
				     l->base_clock);
}

static void check_file(struct xvt_verify_state *v)
{
	const struct xvt_file_info *f = &v->t->info;

	if (f->host_clock_id > XVT_CLOCK_COUNTER)
		xvt_verify_violation(v, XVT_VERIFY_HOST_CLOCK, XVT_VM_NONE,
				     "the host's clock is of kind %" PRIu32 ", which is unknown",
				     f->host_clock_id);
	if (f->set_number && xvt_uuid_is_none(f->set))
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, XVT_VM_NONE,
				     "it is file %" PRIu32 " of a set without a name",
				     f->set_number);
}

/* ------------------------------------------------------------------ machines and rings */

static bool has_vm(const struct xvt_verify_state *v, uint32_t vm)
{
	return vm < v->t->vm_count && v->t->vms[vm].known;
}

static void check_vm(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_vm_info info;

	if (b->len < sizeof(info))
		return;
	memcpy(&info, b->payload, sizeof(info));
	if (info.kind > XVT_VM_HOST)
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, info.vm,
				     "machine %" PRIu32 " is of kind %" PRIu32 ", which is unknown",
				     info.vm, info.kind);
}

static bool is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Rings of old recorders, and of tests, do not say what they are made of. */
static bool shape_fits(const struct xvt_ring_info *i)
{
	if (!i->subbuf_size && !i->subbuf_count)
		return true;
	return is_power(i->subbuf_size) && is_power(i->subbuf_count) &&
	       i->subbuf_size >= XVT_SUBBUF_SIZE_MIN && i->subbuf_size <= XVT_SUBBUF_SIZE_MAX &&
	       i->subbuf_count >= XVT_SUBBUF_COUNT_MIN && i->subbuf_count <= XVT_SUBBUF_COUNT_MAX;
}

/* A ring is announced again when it has changed; of what it is made of cannot. */
static bool is_same(const struct xvt_ring_info *a, const struct xvt_ring_info *b)
{
	return a->vm == b->vm && a->index == b->index && a->subbuf_size == b->subbuf_size &&
	       a->subbuf_count == b->subbuf_count;
}

static void check_ring(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_ring_info info;

	if (b->len < sizeof(info))
		return;
	memcpy(&info, b->payload, sizeof(info));
	/* In a damaged file the machine may be missing, which is reported by itself. */
	if (!has_vm(v, info.vm) && !v->t->damage_count)
		xvt_verify_violation(v, XVT_VERIFY_RING, XVT_VM_NONE,
				     "ring %u is of machine %" PRIu32
				     ", which the trace does not have",
				     info.ring, info.vm);
	if (info.mode > XVT_ENABLE_OVERWRITE)
		unknown(v, XVT_VERIFY_RING, info.ring, "mode of a ring", info.mode);
	check_flags(v, XVT_VERIFY_RING, info.ring, "trait of a clock", info.clock_traits,
		    XVT_CLOCK_T_ORDERED);
	if (!shape_fits(&info))
		xvt_verify_violation(v, XVT_VERIFY_RING, info.vm,
				     "ring %u: %" PRIu32 " sub-buffers of %" PRIu32
				     " bytes are no ring",
				     info.ring, info.subbuf_count, info.subbuf_size);
	if (info.ring < v->t->ring_count && !is_same(&info, &v->t->rings[info.ring].info))
		xvt_verify_violation(v, XVT_VERIFY_RING, info.vm,
				     "ring %u is announced as two rings", info.ring);
}

static int by_machine(const void *pa, const void *pb)
{
	const struct xvt_ring_info *a = pa, *b = pb;

	if (a->vm != b->vm)
		return a->vm < b->vm ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* No two rings are the same one of their machine. Returns 0 or -ENOMEM. */
static int check_indices(struct xvt_verify_state *v)
{
	struct xvt_ring_info *all = calloc((size_t)v->t->ring_count + 1, sizeof(*all));
	size_t n = 0;

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->t->ring_count; i++) {
		if (v->t->rings[i].known)
			all[n++] = v->t->rings[i].info;
	}
	qsort(all, n, sizeof(*all), by_machine);
	for (size_t i = 1; i < n; i++) {
		if (!by_machine(&all[i - 1], &all[i]))
			xvt_verify_violation(v, XVT_VERIFY_RING, all[i].vm,
					     "rings %u and %u are both ring %" PRIu32
					     " of one machine",
					     all[i - 1].ring, all[i].ring, all[i].index);
	}
	free(all);
	return 0;
}

/* ------------------------------------------------------------------ formats and notes */

/* The number that a format's text says; false: it says none. */
static bool number_of_format(const uint8_t *p, size_t len, uint32_t *id)
{
	static const char before[] = "\nID: ";
	const uint8_t *at = memmem(p, len, before, sizeof(before) - 1);
	uint64_t n = 0;

	if (!at)
		return false;
	for (at += sizeof(before) - 1; at < p + len && *at >= '0' && *at <= '9'; at++)
		n = n < UINT32_MAX ? n * 10 + (uint64_t)(*at - '0') : n;
	*id = (uint32_t)n;
	return at < p + len && *at == '\n';
}

/* Hex digits, an even number, then zeros. */
static bool is_build_id(const char id[XVT_KERNEL_BUILD_ID])
{
	const size_t len = strnlen(id, XVT_KERNEL_BUILD_ID);

	for (size_t i = 0; i < XVT_KERNEL_BUILD_ID; i++) {
		const bool digit = (id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f');

		if (i < len ? !digit : id[i])
			return false;
	}
	return len && len % 2 == 0;
}

static void wrong_kernel(struct xvt_verify_state *v, uint32_t vm, const char *what)
{
	xvt_verify_violation(v, XVT_VERIFY_CHUNK, vm, "what it says of its kernel: %s", what);
}

static void check_lengths(struct xvt_verify_state *v, uint32_t vm, const uint8_t *p, size_t len)
{
	struct xvt_kernel_event e;

	if (len % sizeof(e))
		wrong_kernel(v, vm, "its array of events is no multiple of one");
	for (; len >= sizeof(e); p += sizeof(e), len -= sizeof(e)) {
		memcpy(&e, p, sizeof(e));
		if (e.least >= sizeof(e.id) && e.least <= e.most)
			continue;
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, vm,
				     "records of event %u are said to have from %u to %u bytes",
				     e.id, e.least, e.most);
		return;
	}
}

static void check_kernel(struct xvt_verify_state *v, uint32_t vm, const uint8_t *p, size_t len)
{
	struct xvt_meta_kernel k;
	bool has_build;

	if (v->t->vms[vm].info.region_kind != XVT_REGION_FTRACE)
		wrong_kernel(v, vm, "its guest sends its formats");
	if (len < sizeof(k)) {
		wrong_kernel(v, vm, "the chunk is too short");
		return;
	}
	memcpy(&k, p, sizeof(k));
	if (k.state > XVT_KERNEL_MIXED || k.flags & ~XVT_KERNEL_F_NAMED)
		wrong_kernel(v, vm, "a state or a flag that is unknown to this format");
	has_build = k.state == XVT_KERNEL_PROVEN || k.state == XVT_KERNEL_UNPROVEN;
	if (has_build && !is_build_id(k.build_id))
		wrong_kernel(v, vm, "its build id is none");
	check_lengths(v, vm, p + sizeof(k), len - sizeof(k));
}

static void check_meta(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_meta_info info;
	uint32_t id;

	if (b->len < sizeof(info))
		return;
	memcpy(&info, b->payload, sizeof(info));
	if (!has_vm(v, info.vm) && !v->t->damage_count)
		xvt_verify_violation(
			v, XVT_VERIFY_CHUNK, XVT_VM_NONE,
			"metadata of machine %" PRIu32 ", which the trace does not have", info.vm);
	if (info.type == XVT_META_FORMAT &&
	    number_of_format(b->payload + sizeof(info), b->len - sizeof(info), &id) && info.id &&
	    id != info.id) /* 0: its sender did not read the text */
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, info.vm,
				     "a format of event %" PRIu32 " describes event %" PRIu32,
				     info.id, id);
	if (info.type == XVT_META_KERNEL && has_vm(v, info.vm))
		check_kernel(v, info.vm, b->payload + sizeof(info), b->len - sizeof(info));
}

static void check_note(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_note n;

	if (b->len < sizeof(n))
		return;
	memcpy(&n, b->payload, sizeof(n));
	if (n.level > NOTE_LAST)
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, XVT_VM_NONE,
				     "a note of level %" PRIu32 ", which is unknown", n.level);
	/* A machine that never joined may have notes, but no rings. */
	if (!v->t->damage_count && n.ring != UINT32_MAX &&
	    (n.ring >= v->t->ring_count || !v->t->rings[n.ring].known))
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, XVT_VM_NONE,
				     "a note on ring %u, which the trace does not have", n.ring);
}

int xvt_verify_things(struct xvt_verify_state *v)
{
	check_file(v);
	return check_indices(v);
}

void xvt_verify_thing(struct xvt_verify_state *v, uint16_t type, const struct xvt_chunk_buf *b)
{
	switch (type) {
	case XVT_CHUNK_VM:
		check_vm(v, b);
		break;
	case XVT_CHUNK_RING:
		check_ring(v, b);
		break;
	case XVT_CHUNK_META:
		check_meta(v, b);
		break;
	case XVT_CHUNK_NOTE:
		check_note(v, b);
		break;
	}
}
