// SPDX-License-Identifier: GPL-2.0
/*
 * passive.c - a guest with nothing of xvtrace in it as a machine of a recording: its kernel has
 * ftrace's ring buffer in memory that its VMM shares (vmm/ftrace_map.h). As for the host (host.c),
 * the machine's rings lie in a region that only this process has, and the recorder is their writer.
 * The guest's memory is only read.
 *
 * The guest cannot be asked for anything. It decides what it traces, and its kernel overwrites what
 * was not read in time. How much that was is not in the memory: a LOST record has what is missing
 * at least. The clock is what is known of when events were seen (clock/seen.h), or KVM's (exact.c).
 *
 * Before a ring has a clock, it is looked at from its newest events on, for the clock alone. Then
 * it is read from its oldest event on.
 */
#define _GNU_SOURCE
#include "session/passive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/u64.h"
#include "clock/seen.h"
#include "vmm/ftrace_map.h"

#define PAGES_AT_ONCE 512u	    /* of one CPU in a pass */
#define SEARCH_BYTES  (64ull << 20) /* of a machine's memory, in one attempt */
#define LOCAL_HZ      1000000000u   /* of the kernel's other clocks */
#define TRIAL_NS      100000000u
#define JUMP_NS	      10000000u	       /* beyond all that a clock's line may be wrong by */
#define GONE_NS	      (2 * SECOND_NS)  /* a ring buffer of another size is no moment of a boot */
#define TELL_NS	      (10 * SECOND_NS) /* between two notes of the same that goes on */
#define GOES_ON	      (XVT_FTRACE_READ | XVT_FTRACE_OVERTAKEN | XVT_FTRACE_INVALID)
#define MISSING	      XVT_FTRACE_MISSING
#define TEXT_MAX      256

/* --- the machine --- */

/*
 * Look through a part of the memory, without what was never written: a read of that would take
 * memory. Returns 0 or -ENODATA.
 */
static int search(struct xvt_passive *p)
{
	const struct xvt_host_region *f = &p->file;
	uint64_t left = SEARCH_BYTES;

	while (left && p->searched < f->size) {
		const off_t data = lseek(f->fd, (off_t)p->searched, SEEK_DATA);
		const off_t hole = data < 0 ? -1 : lseek(f->fd, data, SEEK_HOLE);
		uint64_t from = data < 0 ? p->searched : (uint64_t)data;
		uint64_t to = hole < 0 ? f->size : (uint64_t)hole;

		if (data < 0 && errno == ENXIO)
			break; /* nothing but a hole */
		from -= from % XVT_FTRACE_SUBBUF;
		if (to - from > left)
			to = from + left;
		left -= to - from < left ? to - from : left;
		if (!xvt_ftrace_map_search(&p->map, f->map, f->size, from, to)) {
			p->searched = p->map.base;
			return 0;
		}
		p->searched = to;
	}
	if (p->searched >= f->size || left)
		p->searched = 0;
	return -ENODATA;
}

/* The CPUs whose parts the kernel has made. */
static uint32_t count_parts(const struct xvt_ftrace_map *map)
{
	static struct xvt_ftrace_ring ring;
	uint32_t cpu, n = 0;

	for (cpu = 0; cpu < map->nr_cpus; cpu++)
		n += xvt_ftrace_ring_init(&ring, map, cpu);
	return n;
}

/* Make the machine's region, and a ring in it for each CPU. */
static int make_rings(struct xvt_session *s, struct xvt_vm *vm, uint32_t n)
{
	static const uint8_t no_boot[16];
	struct xvt_passive *p = vm->passive;
	const bool tsc = p->clock == XVT_FTRACE_CLOCK_TSC;
	struct xvt_layout layout = {
		.ring_count = n,
		.clock_id = tsc ? XVT_CLOCK_TSC : XVT_CLOCK_CALLER,
		.clock_hz = tsc ? s->clock.hz : LOCAL_HZ,
		.vm_name = vm->name,
	};
	uint32_t i, cpu = 0;
	int err;

	p->cpus = calloc(n, sizeof(*p->cpus));
	err = p->cpus ? xvt_own_region(vm, &layout, XVT_FTRACE_SUBBUF, no_boot) : -ENOMEM;
	if (!err)
		err = xvt_vm_make_rings(s, vm);
	if (err)
		return err;
	xvt_vm_announce(s, vm);
	for (i = 0; i < n; i++, cpu++) {
		/* They may be gone by now. */
		while (!xvt_ftrace_ring_init(&p->cpus[i].scout, &p->map, cpu) &&
		       p->map.nr_cpus - cpu > n - i)
			cpu++;
		memset(&p->cpus[i].scout, 0, sizeof(p->cpus[i].scout));
		p->cpus[i].part = cpu;
		p->cpus[i].trial = true;
		xvt_own_ring_attach(s, vm, i, cpu, &p->cpus[i].own);
	}
	return 0;
}

int xvt_passive_attach(struct xvt_session *s, struct xvt_vm *vm, struct xvt_error *why)
{
	struct xvt_passive *p = vm->passive;
	const struct xvt_host_region *f = &p->file;
	int err =
		p->anywhere ? search(p) : xvt_ftrace_map_find(&p->map, f->map, f->size, p->offset);
	uint32_t n = err ? 0 : count_parts(&p->map);

	if (xvt_host_region_gone(f))
		return xvt_fail(why, -ENODATA, "its file was truncated");
	if (err == -EPROTO)
		return xvt_fail(why, err,
				"the ring buffer at %" PRIu64 " of the file has a layout that this "
				"recorder does not know",
				p->offset);
	/* The kernel makes one after the other. */
	if (!n || n != p->parts) {
		p->parts = n;
		return 0;
	}
	if (n > vm->table.rings_max) {
		vm->table.rings_more = n - vm->table.rings_max;
		n = vm->table.rings_max;
	}
	if (n > XVT_EVENT_RING_MASK + 1 - s->table.next_ring)
		return xvt_fail(why, -EOVERFLOW,
				"its %u rings are too many beside those of this trace", n);
	if (!xvt_ftrace_map_clock(&p->map, &p->clock))
		p->clock = UINT32_MAX;
	err = make_rings(s, vm, n);
	if (err)
		return xvt_fail(why, err, "%s", strerror(-err));
	xvt_vm_set_state(vm, XVT_STATE_RECORDED);
	xvt_session_stall_attach(s, vm);
	xvt_session_note(s, 0, vm, UINT32_MAX,
			 "read from its kernel's own ring buffer, at %" PRIu64
			 " of %s: %u CPUs, %u KiB each; it is not asked for anything, and what it "
			 "overwrites is counted as \"at least\"",
			 p->map.base, vm->path, n, p->map.nr_subbufs * (XVT_FTRACE_SUBBUF / 1024));
	xvt_vm_cannot_be_asked(s, vm,
			       "its kernel's command line says which events are on, and "
			       "set_event of its instance in the guest");
	if (vm->table.rings_more)
		xvt_session_note(s, 1, vm, UINT32_MAX, "%u of its CPUs are not recorded",
				 vm->table.rings_more);
	return 0;
}

int xvt_passive_add(struct xvt_session *s, const char *name, const char *path, bool named,
		    uint32_t rings_max, struct xvt_error *why)
{
	struct xvt_vm *vm = xvt_vm_new(s, name, path);
	int err;

	if (!vm)
		return xvt_fail(why, -ENOMEM, "%s", strerror(ENOMEM));
	vm->table.rings_max = rings_max;
	vm->named = named;
	err = xvt_passive_open(s, vm, path, why);
	if (err)
		xvt_vm_free(vm);
	else
		xvt_vm_add(s, vm);
	return err;
}

/* --- records --- */

static const struct {
	uint32_t what;
	const char *text;
} happenings[] = {
	{ XVT_FTRACE_OVERTAKEN, "its kernel overwrote events before they were read" },
	{ XVT_FTRACE_CLEARED, "its ring was emptied (a write to \"trace\", or another clock)" },
	{ XVT_FTRACE_BOOTED, "another kernel has its ring: the guest booted" },
	{ XVT_FTRACE_READ, "a reader in the guest took events out of its ring (trace_pipe?)" },
	{ XVT_FTRACE_INVALID, "its ring had values that no kernel writes" },
	{ XVT_FTRACE_RESTARTED,
	  "its kernel began the ring's newest page anew: the last events before may be missing" },
};

/* Returns whether a clock of that rate can go from the newest stamp, read at `newest_clock`, to
 * `guest` by now: it is no older, nor later than that clock is by now. */
static bool may_follow(const struct xvt_session *s, uint64_t newest, uint64_t newest_clock,
		       uint64_t guest, uint64_t hz)
{
	const uint64_t later = xvt_ticks_ns(since(xvt_clock_read(), newest_clock), s->clock.hz);

	return guest >= newest && xvt_ticks_ns(guest - newest, hz) < later + SECOND_NS;
}

/*
 * Returns whether the next entry's stamp can be of the clock before. Where its line is known it
 * tells a change also soon after the boot, when ns and ticks of the TSC are near each other.
 */
static bool clock_goes_on(const struct xvt_session *s, const struct xvt_passive_cpu *c,
			  const struct xvt_ring *r)
{
	if (!c->end_clock || !c->newest_guest || c->trial)
		return true;
	return may_follow(s, c->newest_guest, c->newest_clock, c->own.clock, r->clock.map.hz) &&
	       !(r->measure.source && xvt_clock_seen_denies(r->measure.source, c->own.clock,
							    xvt_clock_read(), ticks(s, JUMP_NS)));
}

/* The kernel's clock is another one from here on. A ring that has a clock measures it from the
 * begin. Before that no time is by what was measured, and a guest that boots quickly may not have
 * the time to be measured twice. */
static void try_clock(struct xvt_session *s, struct xvt_passive_cpu *c, struct xvt_ring *r)
{
	xvt_session_clock_ends(s, r);
	c->trial = true;
	c->another = r->phase != XVT_PHASE_NEW;
	c->trial_guest = 0;
}

/*
 * The clock went back by `shown` ticks, and by all that passed since the stamp before: that one is
 * not older than the last node. The next node, made without what was seen before, may not
 * contradict the line; so the segment between the two has the whole step in its bound. hi: the look
 * that found it was over.
 */
static void clock_went_back(struct xvt_session *s, struct xvt_ring *r, uint64_t shown, uint64_t hi)
{
	const uint64_t hi_ns = xvt_host_clock_ns(&s->clock, hi);
	const struct xvt_clock_node *last;
	uint64_t passed_ns;

	xvt_session_clock_ends(s, r);
	if (r->measure.source && r->measure.source_ops == &xvt_clock_seen)
		xvt_clock_seen_anew(r->measure.source);
	last = xvt_clock_map_last(&r->clock.map);
	if (!last)
		return;
	passed_ns = xvt_u64_sum(hi_ns > last->host_ns ? hi_ns - last->host_ns : 0, last->bound_ns);
	xvt_clock_map_reported(
		&r->clock.map, hi_ns,
		xvt_u64_sum(shown, xvt_u64_scale(passed_ns, r->clock.map.hz, SECOND_NS)));
}

/*
 * The ring was emptied, as a change of the clock does, and what came then can be of the clock
 * before. So may be that of another clock which is ahead by less than what contradicts the line:
 * the line begins anew, and the segment between has that in its bound.
 */
static void clock_may_be_ahead(struct xvt_session *s, struct xvt_ring *r, uint64_t hi)
{
	const bool line = r->clock.map.count > 1;

	if (r->measure.source && r->measure.source_ops == &xvt_clock_seen)
		clock_went_back(
			s, r, xvt_u64_scale(line ? JUMP_NS : SECOND_NS, r->clock.map.hz, SECOND_NS),
			hi);
}

/* What is not told of a CPU yet. A machine's notes are limited, so what goes on is told once in a
 * while, and leaves room for the rest. */
static uint32_t news(const struct xvt_session *s, struct xvt_passive_cpu *c, uint32_t happened)
{
	const uint64_t now = xvt_clock_read();

	if (since(now, c->told_clock) >= ticks(s, TELL_NS))
		c->told = 0;
	happened &= ~c->told;
	if (!c->told && happened & GOES_ON)
		c->told_clock = now;
	c->told |= happened & GOES_ON;
	return happened;
}

static void note_happened(struct xvt_session *s, struct xvt_vm *vm, uint32_t i, uint32_t happened)
{
	char text[TEXT_MAX] = "";
	size_t k, len = 0;

	happened = news(s, &vm->passive->cpus[i], happened);
	if (!happened)
		return;
	for (k = 0; k < sizeof(happenings) / sizeof(happenings[0]); k++) {
		if (happened & happenings[k].what && len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? "; " : "", happenings[k].text);
	}
	xvt_session_note(s, 1, vm, vm->rings[i]->id, "cpu %u: %s", vm->passive->cpus[i].part, text);
}

/* Say what lies before the entries that a look gave. back: the first one's stamp is lower than the
 * one before. */
static void put_happened(struct xvt_session *s, struct xvt_vm *vm, uint32_t i, bool back)
{
	struct xvt_passive_cpu *c = &vm->passive->cpus[i];
	struct xvt_ring_ctl *ctl = c->own.writer.ctl;
	const uint32_t happened = c->ring.happened;
	struct xvt_own_lost lost = { .lost.overwritten = c->ring.missed };

	c->ring.happened = 0;
	c->ring.missed = 0;
	/* Where nothing may be missing it is still the same clock. */
	lost.another_clock =
		(!back || happened & ~XVT_FTRACE_READ) && !clock_goes_on(s, c, vm->rings[i]);
	if (!happened && !lost.another_clock)
		return;
	if (happened & (XVT_FTRACE_BOOTED | XVT_FTRACE_RESTARTED))
		xvt_passive_kernel_boots(vm, c);
	if (happened)
		note_happened(s, vm, i, happened);
	if (lost.another_clock)
		try_clock(s, c, vm->rings[i]);
	else if (!(happened & MISSING))
		return;
	/* A page that its kernel has left has an event. */
	xvt_store(&ctl->attempted, xvt_load(&ctl->attempted) + lost.lost.overwritten);
	xvt_own_put(&c->own, XVT_ID_LOST, &lost, sizeof(lost));
}

/*
 * Which clock the kernel stamps with: its own, in ns, or the TSC. The memory may not tell, and a
 * guest may change it. The rate over a while does: of two that are so far apart, by the nearer one.
 * Returns false until it is known.
 */
static bool clock_known(struct xvt_session *s, struct xvt_passive_cpu *c, struct xvt_ring *r,
			uint64_t guest, uint64_t hi)
{
	const uint64_t took = c->trial_guest ? hi - c->trial_clock : 0;
	uint32_t id = XVT_CLOCK_CALLER;
	uint64_t hz = LOCAL_HZ;
	unsigned __int128 shown;

	if (!c->trial_guest || guest <= c->trial_guest) {
		c->trial_guest = guest;
		c->trial_clock = hi;
		return false;
	}
	if (took < ticks(s, TRIAL_NS))
		return false;
	shown = (unsigned __int128)(guest - c->trial_guest) * s->clock.hz / took;
	if (s->clock.clock_id == XVT_CLOCK_TSC &&
	    shown * shown > (unsigned __int128)s->clock.hz * LOCAL_HZ) {
		id = XVT_CLOCK_TSC;
		hz = s->clock.hz;
	}
	c->trial = false;
	if (c->another || xvt_load(&r->ctl->clock_id) != id)
		xvt_session_clock_is(s, r, id, hz);
	c->another = false;
	return r->measure.source;
}

/* The newest event of a look, which was over at `hi`. */
static void saw(struct xvt_session *s, struct xvt_passive_cpu *c, struct xvt_ring *r,
		uint64_t guest, uint64_t lo, uint64_t hi)
{
	if (guest && r->measure.source && (!c->trial || clock_known(s, c, r, guest, hi)))
		xvt_clock_seen_event(r->measure.source, guest, lo, hi);
}

/* Take the entries that a look gave, which was over at `hi`. */
static void put_entries(struct xvt_session *s, struct xvt_vm *vm, uint32_t i, uint64_t hi)
{
	struct xvt_passive_cpu *c = &vm->passive->cpus[i];
	struct xvt_ring *r = vm->rings[i];
	struct xvt_ftrace_entry e;
	uint64_t newest = 0;

	while (xvt_ftrace_page_next(&c->ring.page, &e)) {
		const uint64_t before = c->newest_guest;
		bool back;

		c->own.clock = xvt_u64_larger(e.clock, 1);
		back = c->own.clock < before;
		/* What the ring had before it was read was seen by the scout. */
		if ((back || e.back) && (c->end_clock || before >= c->scout_guest))
			clock_went_back(s, r, back ? before - c->own.clock : 0, hi);
		if (!newest) {
			const bool cleared = c->ring.happened & XVT_FTRACE_CLEARED && c->end_clock;

			put_happened(s, vm, i, back);
			if (cleared && !c->trial)
				clock_may_be_ahead(s, r, hi);
		}
		newest = c->newest_guest = c->own.clock;
		xvt_passive_kernel_record(vm, e.data, e.len);
		xvt_own_put(&c->own, XVT_ID_FTRACE, e.data, e.len);
	}
	if (newest)
		c->newest_clock = hi;
	saw(s, c, r, newest, c->end_clock, hi);
	if (!c->ring.page.bad || c->bad_reported)
		return;
	c->bad_reported = true;
	xvt_session_note(s, 2, vm, r->id,
			 "cpu %u: a page of its kernel's ring is not valid; its rest is left out",
			 c->part);
}

/* The entries of a look of the scout, which was over at `hi`. A stamp may show that what was seen
 * before says nothing of its clock. Returns the newest one; 0: none. */
static uint64_t scout_entries(struct xvt_session *s, struct xvt_passive_cpu *c, struct xvt_ring *r,
			      uint64_t hi)
{
	const uint64_t before = c->scout_guest;
	struct xvt_ftrace_entry e;
	bool any = false, other = false;

	while (xvt_ftrace_page_next(&c->scout.page, &e)) {
		const bool back = e.clock < c->scout_guest;

		if (back || e.back)
			clock_went_back(s, r, back ? c->scout_guest - e.clock : 0, hi);
		other |= back && !any && c->scout_gap & ~XVT_FTRACE_READ;
		if (!any && c->scout_guest && c->scout_gap & XVT_FTRACE_CLEARED)
			clock_may_be_ahead(s, r, hi);
		any = true;
		c->scout_guest = e.clock;
	}
	if (!any)
		return 0;
	other |= before && c->scout_guest >= before &&
		 !may_follow(s, before, c->scout_seen, c->scout_guest, r->clock.map.hz);
	if (other && !c->trial) {
		c->scout_clock = 0;
		try_clock(s, c, r);
	}
	c->scout_gap = 0;
	c->scout_seen = hi;
	return c->scout_guest;
}

/* Before a ring has a clock: pass by what it holds, for the times at which new events are seen. */
static void look_for_clock(struct xvt_session *s, const struct xvt_passive *p,
			   struct xvt_passive_cpu *c, struct xvt_ring *r)
{
	unsigned int pages;

	c->scouted = false;
	if (!c->scout.map && !xvt_ftrace_ring_init(&c->scout, &p->map, c->part)) {
		c->scout.map = NULL;
		return;
	}
	for (pages = 0; pages < PAGES_AT_ONCE; pages++) {
		const uint64_t begun = xvt_clock_read_ordered();
		const bool got = xvt_ftrace_ring_look(&c->scout);
		const uint64_t hi = xvt_clock_read_ordered();

		c->scout_happened |= c->scout.happened;
		c->scout_gap |= c->scout.happened;
		if (!got) {
			c->scout_clock = c->scout.happened ? 0 : begun;
			c->scout.happened = 0;
			return;
		}
		c->scout.happened = 0;
		c->scouted = true;
		saw(s, c, r, scout_entries(s, c, r, hi), c->scout_clock, hi);
	}
}

/* Begin with the ring's oldest event. Returns false if the guest's memory has no such ring now. */
static bool begin(const struct xvt_passive *p, struct xvt_passive_cpu *c, struct xvt_ring *r)
{
	if (!xvt_ftrace_ring_init(&c->ring, &p->map, c->part))
		return false;
	c->begun = true;
	/* What the ring had before was not read. */
	c->ring.happened = c->scout_happened & XVT_FTRACE_CLEARED;
	/* Without a clock, too: nothing may follow what the ring holds. */
	r->words.enable = r->mode;
	xvt_store_release(&r->host->enable, r->words.enable);
	return true;
}

/* Read a CPU to its end, or as far as its ring has room. Returns whether the end was reached. */
static bool feed_cpu(struct xvt_session *s, struct xvt_vm *vm, uint32_t i, uint64_t off_clock)
{
	struct xvt_passive_cpu *c = &vm->passive->cpus[i];
	struct xvt_ring *r = vm->rings[i];
	unsigned int pages;

	if (r->phase == XVT_PHASE_NEW)
		look_for_clock(s, vm->passive, c, r);
	if (c->settled || (r->phase == XVT_PHASE_NEW && !s->passes.joined))
		return true;
	if (!c->begun && !begin(vm->passive, c, r))
		return true;
	for (pages = 0; pages < PAGES_AT_ONCE; pages++) {
		const uint64_t begun = xvt_clock_read_ordered();
		const uint32_t happened = c->ring.happened;

		if (!xvt_own_has_room(r))
			return false;
		if (xvt_ftrace_ring_look(&c->ring)) {
			put_entries(s, vm, i, xvt_clock_read_ordered());
		} else if (c->ring.happened == happened) {
			c->end_clock = begun;
			c->settled = off_clock && !earlier(begun, off_clock);
			if (c->settled) /* else it is said with the next entries */
				put_happened(s, vm, i, false);
			return true;
		}
	}
	return false;
}

/* Returns whether the guest's memory has the ring buffer. It has none for a moment while another
 * kernel boots. */
static bool is_there(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive *p = vm->passive;
	const uint64_t now = xvt_clock_read();
	struct xvt_ftrace_map other;

	if (xvt_host_region_gone(&p->file)) {
		xvt_vm_gone(s, vm, "its file was truncated");
		return false;
	}
	if (xvt_ftrace_map_holds(&p->map)) {
		p->lacks_clock = 0;
		return true;
	}
	if (!p->lacks_clock)
		p->lacks_clock = now;
	if (since(now, p->lacks_clock) > ticks(s, GONE_NS) &&
	    !xvt_ftrace_map_find(&other, p->file.map, p->file.size, p->map.base))
		xvt_vm_gone(s, vm,
			    "its kernel has a ring buffer of another size now; record it anew");
	return false;
}

static void feed(struct xvt_session *s, struct xvt_vm *vm)
{
	const uint64_t off_clock = s->off.clock	   ? s->off.clock
				   : vm->halt.step ? vm->halt.off_clock
						   : 0;
	uint32_t i;

	if (!is_there(s, vm))
		return;
	xvt_passive_kernel_pass(s, vm);
	xvt_passive_names_pass(s, vm);
	for (i = 0; i < vm->region.g.ring_count; i++) {
		struct xvt_ring *r = vm->rings[i];

		r->guest.behind = !feed_cpu(s, vm, i, off_clock);
		if (r->guest.behind)
			xvt_session_unpark(s, r);
	}
}

bool xvt_passive_is_measured(const struct xvt_vm *vm)
{
	uint32_t i;

	if (!vm->passive || vm->phase != XVT_VM_ATTACHED || vm->passive->lacks_clock)
		return false;
	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (vm->rings[i]->phase == XVT_PHASE_NEW && vm->passive->cpus[i].scouted)
			return true;
	}
	return false;
}

bool xvt_passive_is_read(const struct xvt_ring *r)
{
	const struct xvt_vm *vm = xvt_vm_of_ring(r);

	return vm->phase != XVT_VM_ATTACHED || vm->passive->lacks_clock ||
	       vm->passive->cpus[r->index].settled;
}

void xvt_session_passive_feed(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->passive && s->vms[i]->phase == XVT_VM_ATTACHED)
			feed(s, s->vms[i]);
	}
}
