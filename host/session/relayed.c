// SPDX-License-Identifier: GPL-2.0
/*
 * relayed.c - a guest whose kernel may load no module: a program in it copies pages of its ftrace
 * into the rings of its region (XVT_INCOMPAT_RELAYED), and the recorder unpacks them. As for the
 * host (host.c), the events go into rings of a region that only this process has. Each of these
 * stands for the guest's ring of the same index, whose words answer for the clock.
 *
 * An event's stamp is older than its page's record. What is complete is said by the guest: all
 * events stamped before its word relayed_to are in pages below a commit that was stored before. The
 * merge waits on that word and not on the time of a look.
 *
 * Everything that is read here was written by a guest: words are loaded once, sub-buffers are
 * copied before they are parsed.
 */
#define _GNU_SOURCE
#include "session/own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/u64.h"
#include "vmm/ftrace_page.h"

struct relayed_ring {
	struct xvt_own_ring own;
	struct xvt_ring *ring;
	struct xvt_reader reader;
	uint64_t pos;	     /* of the guest's ring: read up to here */
	uint64_t cleared;    /* start of a sub-buffer: cleared up to here */
	uint64_t to;	     /* relayed_to, as of the newest look that came to its end */
	uint64_t proof;	     /* by `to` and the newest node; 0: none */
	uint64_t told;	     /* of relayed_lost */
	uint32_t generation; /* of pos */
	bool full;	     /* the newest losses: the ring had no room */
	bool behind;	     /* the newest look did not come to its end */
	uint64_t off_clock;  /* what is stamped from then on is not wanted; 0: all is */
	bool ended;	     /* all before that is here, and nothing more is read */
	bool bad_reported;
};

struct xvt_relayed {
	struct relayed_ring *rings;
	uint8_t *copy;	       /* a sub-buffer of the guest's */
	uint64_t wanted_clock; /* since then a ring is to be on, and not all had a clock; 0: none */
};

static struct relayed_ring *of_ring(const struct xvt_ring *r)
{
	return &xvt_vm_of_ring(r)->relay.of->rings[r->index];
}

/* --- the machine --- */

int xvt_relayed_refused(const struct xvt_host_region *region, struct xvt_error *why)
{
	if (!(region->hdr.incompat & XVT_INCOMPAT_RELAYED))
		return 0;
	return xvt_fail(
		why, -EPROTO,
		"its guest relays pages of ftrace, which record and daemon alone can unpack");
}

int xvt_relayed_attach(struct xvt_vm *vm)
{
	const struct xvt_region_hdr *hdr = &vm->region.hdr;
	const struct xvt_layout layout = {
		.ring_count = vm->region.g.ring_count,
		.clock_id = hdr->clock_id,
		.clock_hz = hdr->clock_hz,
		.vm_name = vm->name,
	};
	struct xvt_relayed *p;
	int err = -ENOMEM;

	if (!(hdr->incompat & XVT_INCOMPAT_RELAYED) || vm->relay.of)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	vm->relay.of = p;
	p->rings = calloc(layout.ring_count, sizeof(*p->rings));
	p->copy = malloc(vm->region.g.subbuf_size);
	if (p->rings && p->copy)
		err = xvt_own_region_make(&vm->relay.region, &layout, XVT_RELAYED_PAGE_MAX,
					  hdr->boot_uuid);
	if (err)
		xvt_relayed_free(vm);
	return err;
}

void xvt_relayed_close(struct xvt_vm *vm)
{
	if (!vm->relay.of)
		return;
	free(vm->relay.of->copy);
	vm->relay.of->copy = NULL;
}

void xvt_relayed_free(struct xvt_vm *vm)
{
	struct xvt_relayed *p = vm->relay.of;

	if (!p)
		return;
	xvt_host_region_close(&vm->relay.region);
	free(p->rings);
	free(p->copy);
	free(p);
	vm->relay.of = NULL;
}

/* What the guest says of the ring's CPU. */
static void copy_identity(struct xvt_ring *r)
{
	xvt_store(&r->ctl->cpu, xvt_load(&r->mail_ctl->cpu));
	xvt_store(&r->ctl->hw_id, xvt_load(&r->mail_ctl->hw_id));
	xvt_store(&r->ctl->clock_id, xvt_load(&r->mail_ctl->clock_id));
	xvt_store(&r->ctl->clock_traits, xvt_load(&r->mail_ctl->clock_traits));
	xvt_store(&r->ctl->clock_step, xvt_load(&r->mail_ctl->clock_step));
}

/* Begin to read at `pos`, in `generation`. */
static void begin_at(struct xvt_vm *vm, struct relayed_ring *c, uint64_t pos, uint32_t generation)
{
	c->pos = pos;
	c->generation = generation;
	c->to = 0;
	xvt_reader_init(&c->reader, &vm->region.g, pos);
}

void xvt_relayed_init_ring(struct xvt_vm *vm, struct xvt_ring *r)
{
	const struct xvt_geometry *g = &vm->region.g;
	struct relayed_ring *c = &vm->relay.of->rings[r->index];
	uint64_t cons = xvt_load(&r->mail_host->cons);
	const struct xvt_ring_gen *gen;
	struct xvt_ring_words w;
	uint32_t generation;

	r->relayed = true;
	r->region = &vm->relay.region;
	r->ctl = xvt_host_ring_ctl(r->region, r->index);
	r->host = xvt_host_ring_host(r->region, r->index);
	xvt_own_ring_init(r, 0, &c->own);
	copy_identity(r);
	c->ring = r;
	xvt_ring_words(r->mail_ctl, g, &w);
	xvt_store(&r->ctl->state, w.state == XVT_RING_ONLINE ? XVT_RING_ONLINE : XVT_RING_IDLE);
	/* cons is what an earlier recorder left, or what the guest made of it: only a hint. */
	if (cons & 7 || w.commit - xvt_pos_trunc(g, cons) > g->ring_size)
		cons = w.commit > g->ring_size
			       ? xvt_pos_trunc(g, w.commit) - g->ring_size + g->subbuf_size
			       : 0;
	generation = w.generation;
	gen = &r->mail_ctl->gen[generation % XVT_GEN_SLOTS];
	if (xvt_load_acquire(&gen->generation) == generation &&
	    xvt_pos_before(cons, xvt_load(&gen->start)))
		generation--;
	begin_at(vm, c, cons, generation);
	c->cleared = xvt_pos_trunc(g, cons);
	/* What was lost before is another recording's. */
	c->told = xvt_load(&r->mail_ctl->relayed_lost);
}

/* --- losses --- */

/* Tell of what ftrace lost before the next record: `all` so far. */
static void put_lost(struct relayed_ring *c, uint64_t all, bool full)
{
	struct xvt_ring_ctl *ctl = c->own.writer.ctl;
	struct xvt_lost lost = { .lost = { 0 } };
	const uint64_t n = all > c->told ? all - c->told : 0;

	if (!n)
		return;
	c->told = all;
	if (full)
		lost.lost[XVT_LOST_FULL] = n;
	else
		lost.overwritten = n;
	xvt_store(&ctl->attempted, xvt_load(&ctl->attempted) + n);
	xvt_own_put(&c->own, XVT_ID_LOST, &lost, sizeof(lost));
	/* Behind the record: a header that it opens must not tell of them before it does. */
	if (full)
		xvt_store(&ctl->lost[XVT_LOST_FULL], xvt_load(&ctl->lost[XVT_LOST_FULL]) + n);
}

/*
 * The page says that events are missing before it, and perhaps how many. The guest's word has at
 * least those that the page misses, and may have more. Where a page had no room for its number the
 * word stands for it, and a later page's number may have some of them again: so the word is the
 * most.
 */
static void put_missed(struct relayed_ring *c, const struct xvt_ftrace_page *page, bool full)
{
	const uint64_t most = xvt_load(&c->ring->mail_ctl->relayed_lost);
	uint64_t all = most;

	if (page->missed_known && most > c->told && page->missed_events < most - c->told)
		all = c->told + page->missed_events;
	c->full = full;
	put_lost(c, all, full);
}

static void put_bad(struct relayed_ring *c, uint64_t bytes, bool rolled_back)
{
	const struct xvt_lost lost = { .bad_bytes = bytes, .rolled_back = rolled_back };

	xvt_own_put(&c->own, XVT_ID_LOST, &lost, sizeof(lost));
	c->ring->account.stats.bad_bytes += bytes;
}

static void tell_bad(struct xvt_session *s, struct relayed_ring *c, const char *what)
{
	if (c->bad_reported)
		return;
	c->bad_reported = true;
	xvt_session_note(s, 2, xvt_vm_of_ring(c->ring), c->ring->id,
			 "cpu %u: what its guest relays is not valid: %s; it is left out",
			 xvt_load(&c->ring->ctl->cpu), what);
}

/* --- pages --- */

static void take_page(struct xvt_session *s, struct relayed_ring *c, const uint8_t *payload,
		      uint32_t len)
{
	struct xvt_relayed_page head = { 0 };
	struct xvt_ftrace_page page;
	struct xvt_ftrace_entry e;
	bool missed;

	if (len >= sizeof(head))
		memcpy(&head, payload, sizeof(head));
	if (head.len < XVT_FTRACE_PAGE_HEAD || head.len > XVT_RELAYED_PAGE_MAX ||
	    head.len > len - sizeof(head)) {
		tell_bad(s, c, "the length of a page");
		put_bad(c, len, false);
		return;
	}
	xvt_ftrace_page_init(&page, payload + sizeof(head), head.len);
	missed = page.missed;
	while (xvt_ftrace_page_next(&page, &e)) {
		c->own.clock = xvt_u64_larger(e.clock, 1);
		if (missed)
			put_missed(c, &page, head.flags & XVT_RELAYED_F_FULL);
		missed = false;
		xvt_own_put(&c->own, XVT_ID_FTRACE, e.data, e.len);
	}
	if (!page.bad)
		return;
	tell_bad(s, c, "a page's events");
	put_bad(c, (uint64_t)(payload + sizeof(head) + head.len - page.at), false);
}

/* Records of the piece that the reader has, as far as there is room for their events. Returns
 * false if there was none. */
static bool take_records(struct xvt_session *s, struct relayed_ring *c)
{
	struct xvt_record rec;
	char text[160];
	int got;

	for (;;) {
		if (!xvt_own_has_room(c->ring))
			return false;
		got = xvt_reader_next(&c->reader, &rec);
		if (got <= 0)
			break;
		if (rec.kind != XVT_REC_RECORD)
			continue;
		if (rec.id == XVT_ID_FTRACE_PAGE) {
			take_page(s, c, rec.payload, rec.len);
		} else {
			tell_bad(s, c, "a record that is no page");
			put_bad(c, rec.len, false);
		}
	}
	if (!got)
		return true;
	xvt_fault_text(&c->reader.fault, text, sizeof(text));
	tell_bad(s, c, text);
	put_bad(c, c->reader.end - c->reader.pos, false);
	c->reader.pos = c->reader.end;
	return true;
}

/* Give the guest the room of what was read. Whole sub-buffers are cleared first, as a drain does:
 * what is found there later was written later. */
static void give_back(const struct xvt_vm *vm, struct relayed_ring *c)
{
	const struct xvt_geometry *g = &vm->region.g;
	uint8_t *data = vm->region.map + xvt_data_off(g, c->ring->index);
	const uint64_t end = xvt_pos_trunc(g, c->pos);

	if (end - c->cleared > g->ring_size)
		c->cleared = end;
	for (; c->cleared != end; c->cleared += g->subbuf_size)
		memset(data + xvt_pos_off(g, c->cleared), 0, g->subbuf_size);
	xvt_store_release(&c->ring->mail_host->cons, c->pos); /* pairs with the writer's acquire */
}

/* Read up to `commit`, which is checked, a sub-buffer at a time. Returns true if all was read. */
static bool take_until(struct xvt_session *s, const struct xvt_vm *vm, struct relayed_ring *c,
		       uint64_t commit)
{
	const struct xvt_geometry *g = &vm->region.g;
	const uint8_t *data = vm->region.map + xvt_data_off(g, c->ring->index);

	while (xvt_pos_before(c->pos, commit)) {
		const uint64_t next = xvt_pos_next_subbuf(g, c->pos);
		const uint64_t end = xvt_pos_before(next, commit) ? next : commit;
		bool all;

		memcpy(vm->relay.of->copy, data + xvt_pos_off(g, c->pos), end - c->pos);
		xvt_reader_feed(&c->reader, vm->relay.of->copy, end - c->pos);
		all = take_records(s, c);
		/* A record whose end is beyond commit is none yet. */
		c->pos = all ? end : c->reader.pos;
		c->reader.pos = c->pos;
		if (!all)
			return false;
	}
	return true;
}

/*
 * Another program relays: what the one before had written is read first, and the next one's begins
 * at a border. Returns false while the reading has to go on there, or `w` are of a generation whose
 * begin is not known yet.
 */
static bool follow_generation(struct xvt_session *s, struct xvt_vm *vm, struct relayed_ring *c,
			      const struct xvt_ring_words *w)
{
	const struct xvt_geometry *g = &vm->region.g;
	const struct xvt_ring_ctl *ctl = c->ring->mail_ctl;
	const struct xvt_ring_gen *gen = &ctl->gen[w->generation % XVT_GEN_SLOTS];
	const bool known = xvt_load_acquire(&gen->generation) == w->generation;
	const uint64_t start = known ? xvt_load(&gen->start) : xvt_pos_trunc(g, w->commit);
	const uint64_t before = known ? xvt_load(&gen->prev_commit) : start;

	if (xvt_pos_before(w->commit, start))
		return false;
	if (w->generation == c->generation + 1 && !(before & 7) && xvt_pos_before(c->pos, before) &&
	    before - xvt_pos_trunc(g, c->pos) <= g->ring_size && !take_until(s, vm, c, before))
		return false;
	copy_identity(c->ring);
	begin_at(vm, c, start & ~7ull, w->generation);
	return true;
}

static void stop_ring(struct relayed_ring *c, const struct xvt_fault *fault)
{
	xvt_fault_text(fault, c->ring->fault.text, sizeof(c->ring->fault.text));
	c->ring->fault.is_new = true;
	xvt_ring_set_phase(c->ring, XVT_PHASE_BROKEN);
}

/*
 * A relay has its kernel trace all CPUs when one ring is on. A ring that has no clock by then gets
 * one while others go on, and its first events are too late. So all rings that are in use wait for
 * each other, for the stall time-out at most.
 */
static bool joins(const struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	bool wanted = false, waits = false;

	for (uint32_t k = 0; k < vm->region.g.ring_count; k++) {
		const struct xvt_ring *r = vm->rings[k];

		if (!r || r->phase == XVT_PHASE_BROKEN)
			continue;
		wanted |= r->words.enable != XVT_ENABLE_OFF;
		waits |= r->phase == XVT_PHASE_NEW && xvt_load(&r->ctl->state) == XVT_RING_ONLINE;
	}
	if (!wanted || !waits) {
		vm->relay.of->wanted_clock = 0;
		return false;
	}
	if (!vm->relay.of->wanted_clock)
		vm->relay.of->wanted_clock = now;
	return since(now, vm->relay.of->wanted_clock) <= ticks(s, s->opt.stall_timeout_ns);
}

/* Without a clock, or a relay that answers, no proof comes. */
static bool says_more(const struct xvt_ring *r)
{
	return r->phase == XVT_PHASE_LIVE && xvt_load(&r->ctl->state) == XVT_RING_ONLINE;
}

/*
 * The guest's word, as the ring's own tells. A relay that finds it off writes nothing, also of what
 * came before. So it stays on until what is stamped before the end of the recording is here.
 */
static void switch_writer(struct relayed_ring *c, bool joins)
{
	uint32_t enable = joins ? (uint32_t)XVT_ENABLE_OFF : c->ring->words.enable;

	c->ended |= c->off_clock &&
		    (!says_more(c->ring) || (c->proof && !earlier(c->proof, c->off_clock)));
	if (c->ended)
		enable = XVT_ENABLE_OFF;
	/* Until the ring has a clock, what an earlier recorder wanted goes on. */
	if ((enable != XVT_ENABLE_OFF || c->ended) &&
	    xvt_load(&c->ring->mail_host->enable) != enable)
		xvt_store_release(&c->ring->mail_host->enable, enable);
}

static void feed(struct xvt_session *s, struct xvt_vm *vm, struct relayed_ring *c, bool joins)
{
	const struct xvt_geometry *g = &vm->region.g;
	/* Before the look at commit; pairs with the guest's release. */
	const uint64_t to = xvt_load_acquire(&c->ring->mail_ctl->relayed_to);
	struct xvt_ring_words w;
	struct xvt_fault fault;

	switch_writer(c, joins);
	c->behind = false;
	if (c->ended)
		return;
	xvt_ring_words(c->ring->mail_ctl, g, &w);
	c->behind = w.generation != c->generation && !follow_generation(s, vm, c, &w);
	if (!c->behind) {
		if (xvt_check_words(g, &w, c->pos, false, &fault)) {
			stop_ring(c, &fault);
			return;
		}
		c->behind = !take_until(s, vm, c, w.commit);
	}
	give_back(vm, c);
	if (c->behind)
		return;
	c->to = to;
	/* Its program has ended, and has said what ftrace lost behind the last page. */
	if (w.state == XVT_RING_OFFLINE && xvt_load(&c->ring->ctl->state) == XVT_RING_ONLINE)
		put_lost(c, xvt_load(&c->ring->mail_ctl->relayed_lost), c->full);
	xvt_store(&c->ring->ctl->state, w.state);
}

void xvt_session_relayed_feed(struct xvt_session *s)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		bool waits;

		if (!vm->relay.of || vm->phase != XVT_VM_ATTACHED || !vm->scan.looked)
			continue;
		waits = joins(s, vm, xvt_clock_read());
		for (k = 0; k < vm->region.g.ring_count; k++) {
			struct xvt_ring *r = vm->rings[k];

			if (!r || r->phase == XVT_PHASE_BROKEN)
				continue;
			feed(s, vm, of_ring(r), waits);
			r->guest.behind = of_ring(r)->behind;
		}
	}
}

/* --- what is complete --- */

/* The greatest host time that is surely not after `guest`, by the node's line: less the node's
 * bound, the creep of the clock from there, and the bound of the node that is measured next. At
 * most as much less as other proofs, see ring.h. */
static uint64_t not_after_ns(const struct xvt_ring *r, const struct xvt_clock_node *node,
			     uint64_t guest)
{
	const uint64_t apart_ns = xvt_ticks_ns(xvt_u64_apart(guest, node->guest), r->clock.map.hz);
	const uint64_t doubt_ns =
		xvt_u64_sum(node->bound_ns, apart_ns / 1024 * XVT_CREEP_PER_1024 + XVT_WIDE_NS + 1);
	uint64_t less_ns = doubt_ns < r->margin_most_ns ? doubt_ns : r->margin_most_ns;
	uint64_t ns = node->host_ns;

	if (guest >= node->guest)
		ns = xvt_u64_sum(ns, apart_ns);
	else
		less_ns = xvt_u64_sum(less_ns, apart_ns);
	return ns > less_ns ? ns - less_ns : 0;
}

uint64_t xvt_relayed_proof(const struct xvt_session *s, const struct xvt_ring *r)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->clock.map);
	struct relayed_ring *c = of_ring(r);
	uint64_t ns, now_ns, ago;

	if (c->ended)
		return s->scan.proof;
	if (!last || !c->to || !s->scan.proof)
		return 0;
	now_ns = xvt_host_clock_ns(&s->clock, s->scan.proof);
	if (c->to == XVT_RELAYED_ALL)
		return c->proof = s->scan.proof;
	/*
	 * By the newest node. A time by an older line may be after that of the newest node,
	 * although relayed_to is before it: events between the two would come too late. A value
	 * that the clock does not have yet says nothing: the clock went back, or no relay stored
	 * it.
	 */
	ns = not_after_ns(r, last, c->to);
	ago = ns < now_ns ? ticks(s, now_ns - ns) : 0;
	c->proof = ns <= now_ns && ago < s->scan.proof ? s->scan.proof - ago : 0;
	return c->proof;
}

bool xvt_relayed_is_complete(const struct xvt_ring *r)
{
	const struct relayed_ring *c = of_ring(r);

	return c->ended || c->to == XVT_RELAYED_ALL;
}

bool xvt_relayed_moved(const struct xvt_ring *r)
{
	return xvt_load_acquire(&r->mail_ctl->commit) != of_ring(r)->pos;
}

static void end_ring(struct relayed_ring *c)
{
	c->ended = true;
	if (c->ring->phase != XVT_PHASE_BROKEN)
		xvt_store_release(&c->ring->mail_host->enable, (uint32_t)XVT_ENABLE_OFF);
}

void xvt_relayed_switch_off(struct xvt_ring *r)
{
	struct relayed_ring *c = of_ring(r);

	if (!c->off_clock)
		c->off_clock = xvt_clock_read();
	if (!says_more(r))
		end_ring(c);
}

void xvt_relayed_leave(struct xvt_vm *vm)
{
	for (uint32_t k = 0;
	     vm->relay.of && vm->phase == XVT_VM_ATTACHED && k < vm->region.g.ring_count; k++) {
		if (vm->rings[k])
			end_ring(of_ring(vm->rings[k]));
	}
}

void xvt_relayed_went_back(struct xvt_ring *r)
{
	struct xvt_vm *vm = xvt_vm_of_ring(r);
	struct relayed_ring *c = of_ring(r);
	struct xvt_ring_words w;

	/* What was in the rings then may have been delivered, and is not taken again. */
	xvt_ring_words(r->mail_ctl, &vm->region.g, &w);
	put_bad(c, 0, true);
	begin_at(vm, c, w.commit & ~7ull, w.generation);
	c->told = xvt_load(&r->mail_ctl->relayed_lost);
	c->cleared = xvt_pos_trunc(&vm->region.g, c->pos);
}
