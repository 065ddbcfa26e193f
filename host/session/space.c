// SPDX-License-Identifier: GPL-2.0
/*
 * space.c - handles a file that cannot take all that guests write: the disk is slow or full, or the
 * file has a largest size.
 *
 * Slow or full disk: no event is emitted until there is room again. Meanwhile rings are drained
 * into their machine's share of the memory. When the share is used up, the rings fill, and their
 * guest drops and counts events. A machine that writes less than its share of the disk's rate
 * loses nothing because of others.
 *
 * A largest size (max_bytes), and the rest of a nearly full disk, are divided equally between the
 * users with machines that write, and then between these machines. Machines that have given no
 * event yet lend their shares, but for an eighth of all. Of a nearly full disk, machines that write
 * little lend, too: a machine keeps as much as LENDER_TIMES what it has used. So one that writes at
 * a sixteenth of another's rate, or faster, has its whole share. Space that comes back, as of a
 * removed file, is taken off what each has used. Events of a machine whose share is used up are
 * dropped here and counted (`dropped`). A LOST record reports them before the next written event of
 * their ring, or once a second.
 */
#include "session/parts.h"

#include <inttypes.h>

#include "base/u64.h"

/* Space for the end of a trace: counters, losses and last clock nodes of each ring, the index. */
#define END_BYTES      (128u << 10)
#define END_RING_BYTES 1024u
/* A disk is nearly full if no more than this part of it is left, and no more than this many bytes;
 * until twice as much is left again. */
#define NEARLY_PART    8u
#define NEARLY_BYTES   (4ull << 30)
#define LOOK_BYTES     (256u << 10) /* written to the file between two checks of the disk */
#define REST_PART      8u	    /* of the rest: for clocks, counters and notes */
#define IDLE_PART      8u	    /* for machines that have given no event yet */
#define LENDER_PART    4u  /* of its share of the disk, which another machine keeps at least */
#define LENDER_TIMES   16u /* of what it has used: the same */
#define NOTE_SECONDS   10u

bool xvt_session_disk_full(const struct xvt_session *s)
{
	return s->sink->full && s->sink->full(s->sink);
}

/* ------------------------------------------------------------------ parts of the space */

static uint64_t end_bytes(const struct xvt_session *s)
{
	uint64_t end = END_BYTES + s->nr_rings * (uint64_t)END_RING_BYTES;

	return end < s->opt.max_bytes / 2 ? end : s->opt.max_bytes / 2;
}

/* Returns the space account of the machine: a restarted machine shares that of its predecessor. */
static struct xvt_vm_space *space_of(struct xvt_session *s, const struct xvt_vm *vm)
{
	return &xvt_session_vm_by_id(s, vm->chain.space_of)->space;
}

static bool has_account(const struct xvt_vm *vm)
{
	return vm->chain.space_of == vm->id;
}

/* Count who shares. */
static void count_writing(struct xvt_session *s)
{
	size_t i;

	s->disk.any_idle = false;
	s->disk.writing = 0;
	for (i = 0; i < s->share.nr_owners; i++)
		s->share.owners[i]->writing = 0;
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (!has_account(vm) && vm->space.writes)
			space_of(s, vm)->writes = true;
	}
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (!has_account(vm))
			continue;
		s->disk.any_idle |= !vm->space.writes;
		s->disk.writing += vm->space.writes && !vm->owner->writing++;
	}
}

/* The machine's share of `space`, of a file. */
static uint64_t part_of(const struct xvt_session *s, const struct xvt_vm *vm, uint64_t space)
{
	if (s->disk.any_idle)
		space -= space / IDLE_PART;
	space /= s->disk.writing ? s->disk.writing : 1;
	return space / (vm->owner->writing ? vm->owner->writing : 1);
}

/* ------------------------------------------------------------------ the rest of the disk */

/*
 * Returns the part of each of `n` users or machines. Number i wants wants(arg, i) of `space`; one
 * that wants less than an equal part lends the rest of it. The part is the same for all, so that a
 * lender can want more from check to check. Where all have what they want, what is left is added to
 * the largest.
 */
static uint64_t equal_part(uint64_t space, size_t n, uint64_t (*wants)(const void *arg, size_t i),
			   const void *arg)
{
	uint64_t part = n ? space / n : space, before, rest, most;
	size_t more, i;

	do { /* it rises, and what wants less than it becomes more: at most n times */
		before = part;
		rest = space;
		most = more = 0;
		for (i = 0; i < n; i++) {
			const uint64_t want = wants(arg, i);

			if (want > part)
				more++;
			else
				rest -= want < rest ? want : rest;
			most = xvt_u64_larger(most, want);
		}
		part = xvt_u64_larger(part, more ? rest / more : most + rest);
	} while (more && part > before);
	return part;
}

/* A user's machines, for equal_part(). */
struct owned {
	struct xvt_session *s;
	const struct xvt_owner *owner;
	uint64_t share; /* of each, if none lent */
};

static uint64_t machine_wants(const void *arg, size_t i)
{
	const struct owned *o = arg;
	const struct xvt_vm *vm = o->s->vms[i];
	const struct xvt_vm_space *sp = &vm->space;

	if (vm->owner != o->owner || !has_account(vm))
		return 0;
	return xvt_u64_larger(o->share / (sp->writes ? LENDER_PART : IDLE_PART),
			      xvt_u64_scale(sp->disk_used, LENDER_TIMES, 1));
}

static uint64_t owner_wants(const void *arg, size_t i)
{
	return ((const struct xvt_session *)arg)->share.owners[i]->disk_wanted;
}

/* Divides disk_space: sets the part of each machine of each user. */
static void share_disk(struct xvt_session *s)
{
	uint64_t part;
	size_t i, j, owners = 0;

	for (i = 0; i < s->share.nr_owners; i++)
		s->share.owners[i]->accounts = 0;
	for (i = 0; i < s->nr_vms; i++)
		owners += has_account(s->vms[i]) && !s->vms[i]->owner->accounts++;
	for (i = 0; i < s->share.nr_owners; i++) {
		struct xvt_owner *o = s->share.owners[i];
		struct owned owned = { s, o, 0 };

		o->disk_wanted = 0;
		if (!o->accounts)
			continue;
		owned.share = s->disk.space / owners / o->accounts;
		for (j = 0; j < s->nr_vms; j++)
			o->disk_wanted += machine_wants(&owned, j);
	}
	part = equal_part(s->disk.space, s->share.nr_owners, owner_wants, s);
	for (i = 0; i < s->share.nr_owners; i++) {
		struct xvt_owner *o = s->share.owners[i];
		struct owned owned = { s, o, 0 };

		if (!o->accounts)
			continue;
		owned.share = s->disk.space / owners / o->accounts;
		o->disk_part = equal_part(part, s->nr_vms, machine_wants, &owned);
	}
}

/* Bytes of events that compress to `bytes` of the file. */
static uint64_t before_compression(const struct xvt_session *s, uint64_t bytes)
{
	uint64_t raw, stored;

	xvt_trace_event_bytes(s->trace, &raw, &stored);
	return stored ? xvt_u64_scale(bytes, raw, stored) : bytes;
}

/* Size of the file, bytes still gathered included. */
static uint64_t file_bytes(const struct xvt_session *s)
{
	return xvt_trace_bytes(s->trace) + xvt_trace_gathered(s->trace);
}

/* Bytes of the file that `used` of events take. */
static uint64_t after_compression(const struct xvt_session *s, uint64_t used)
{
	uint64_t raw, stored;

	xvt_trace_event_bytes(s->trace, &raw, &stored);
	return raw ? xvt_u64_scale(used, stored, raw) : used;
}

/* The space for events and metadata in a file of max_bytes. */
static uint64_t space_of_file(const struct xvt_session *s)
{
	const uint64_t most = s->opt.max_bytes - end_bytes(s);
	const uint64_t other = since(file_bytes(s), after_compression(s, s->disk.space_used));

	return other < most ? before_compression(s, most - other) : 0;
}

static void use_disk(struct xvt_session *s, uint64_t bytes)
{
	s->disk.bytes = bytes;
	s->disk.space = before_compression(s, bytes - bytes / REST_PART);
}

/* The disk is nearly full: divide the rest from here on. */
static void split_disk(struct xvt_session *s, uint64_t left)
{
	size_t i;

	s->disk.split = true;
	for (i = 0; i < s->nr_vms; i++)
		s->vms[i]->space.disk_used = 0;
	use_disk(s, left);
	xvt_session_note(s, 1, NULL, UINT32_MAX,
			 "the disk is nearly full: the %" PRIu64 " KiB that are left of it are "
			 "split between the machines that write",
			 left >> 10);
}

/* Some of what was divided may be free again: it is taken off what each has used. */
static void follow_disk(struct xvt_session *s, uint64_t left)
{
	uint64_t used = 0, all, back;
	size_t i;

	for (i = 0; i < s->nr_vms; i++)
		used += s->vms[i]->space.disk_used;
	all = left + after_compression(s, used);
	back = all > s->disk.bytes ? before_compression(s, all - s->disk.bytes) : 0;
	for (i = 0; back && used && i < s->nr_vms; i++) {
		struct xvt_vm_space *sp = &s->vms[i]->space;

		sp->disk_used = back < used ? xvt_u64_scale(sp->disk_used, used - back, used) : 0;
	}
	if (back >= used)
		use_disk(s, left);
	else
		use_disk(s, back ? s->disk.bytes : all);
}

static void look_at_disk(struct xvt_session *s)
{
	uint64_t left, whole, nearly;

	/* While the disk is full everything waits, and shares do not matter. */
	if (!s->sink->space || xvt_session_disk_full(s) || s->sink->space(s->sink, &left, &whole))
		return;
	left -= left < xvt_trace_gathered(s->trace) ? left : xvt_trace_gathered(s->trace);
	nearly = whole / NEARLY_PART < NEARLY_BYTES ? whole / NEARLY_PART : NEARLY_BYTES;
	s->disk.looked_bytes = file_bytes(s);
	if (s->disk.split && left > 2 * nearly)
		s->disk.split = false;
	else if (s->disk.split)
		follow_disk(s, left);
	else if (left < nearly && s->nr_vms > 1)
		split_disk(s, left);
}

/* Returns true if `bytes` more exceed the machine's share. */
static bool used_up(const struct xvt_session *s, const struct xvt_vm *vm, struct xvt_vm_space *sp,
		    uint64_t bytes)
{
	sp->file_over |= s->opt.max_bytes && sp->used + bytes > part_of(s, vm, s->disk.file_space);
	return sp->file_over || (s->disk.split && sp->disk_used + bytes > vm->owner->disk_part);
}

static void say_used_up(struct xvt_session *s, struct xvt_vm *vm, struct xvt_vm_space *sp)
{
	if (sp->told_second && s->passes.seconds - sp->told_second < NOTE_SECONDS)
		return;
	sp->told_second = s->passes.seconds ? s->passes.seconds : 1;
	xvt_session_note(s, 1, vm, UINT32_MAX,
			 "it has had its part of %s; what comes of it is dropped and counted",
			 sp->file_over ? "--max-size" : "the disk, which is nearly full");
}

bool xvt_session_may_write(struct xvt_session *s, struct xvt_vm *vm, uint64_t bytes)
{
	struct xvt_vm_space *sp = space_of(s, vm);

	if (s->disk.dropping)
		return false;
	if (used_up(s, vm, sp, bytes)) {
		sp->refused = true;
		return false;
	}
	sp->used += bytes;
	sp->disk_used += bytes;
	s->disk.space_used += bytes;
	return true;
}

void xvt_session_not_written(struct xvt_session *s, const struct xvt_vm *vm, uint64_t bytes)
{
	struct xvt_vm_space *sp = space_of(s, vm);

	sp->used -= bytes;
	sp->disk_used -= sp->disk_used < bytes ? sp->disk_used : bytes;
	s->disk.space_used -= bytes;
}

/* Returns true if any machine may still write events. */
static bool any_part_left(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (has_account(vm) && !vm->space.file_over)
			return true;
	}
	return false;
}

bool xvt_session_space_limited(struct xvt_session *s)
{
	/* A pass may write more than a nearly full disk has left. */
	if (since(file_bytes(s), s->disk.looked_bytes) >= LOOK_BYTES)
		look_at_disk(s);
	if (s->opt.max_bytes) {
		s->disk.file_space = space_of_file(s);
		if (file_bytes(s) + end_bytes(s) >= s->opt.max_bytes)
			s->disk.dropping = s->disk.size_reached = true;
	}
	if (s->opt.max_bytes || s->disk.split)
		count_writing(s);
	if (s->disk.split)
		share_disk(s);
	if (s->off.clock && xvt_session_disk_full(s))
		s->disk.dropping = true; /* the end of a recording does not wait for space */
	return s->opt.max_bytes || s->disk.split || s->disk.dropping || s->disk.drops_wait;
}

/* ------------------------------------------------------------------ what is dropped */

static void note_drops(struct xvt_session *s, struct xvt_ring *r, uint64_t guest_clock)
{
	r->session.drops_clock = guest_clock;
	r->session.drops_wait = true;
	s->disk.drops_wait = true;
}

void xvt_session_drop_lost(struct xvt_session *s, struct xvt_ring *r, const struct xvt_lost *lost,
			   uint64_t guest_clock)
{
	struct xvt_lost *d = &r->session.drops;
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		d->lost[i] += lost->lost[i];
	d->overwritten += lost->overwritten;
	d->bad_bytes += lost->bad_bytes;
	d->rolled_back |= lost->rolled_back;
	xvt_ring_reported(r, lost);
	note_drops(s, r, guest_clock);
}

void xvt_session_drop_run(struct xvt_session *s, const struct xvt_run *run)
{
	/* A record about the ring itself is not counted. */
	const bool self = !run->at && run->id < XVT_ID_FIRST_EVENT;
	const uint32_t n = run->taken - run->at - self;

	if (!n)
		return;
	run->ring->session.drops.dropped += n;
	note_drops(s, run->ring, run->guest);
}

int xvt_session_put_loss(struct xvt_session *s, struct xvt_ring *r, uint64_t host_ns,
			 uint64_t guest_clock, const struct xvt_lost *lost)
{
	const uint64_t any_ns = s->emit.emitted_ns ? s->emit.emitted_ns : r->start_ns;
	struct xvt_event_hdr h = { .host_ns = host_ns ? host_ns : any_ns,
				   .guest_clock = guest_clock,
				   .ring_flags = r->id,
				   .id = XVT_ID_LOST,
				   .len = sizeof(*lost) };

	/* The main lane may go on with earlier events than other lanes have; not at the end. */
	if (r->guest.loose || (h.host_ns > s->emit.emitted_ns && !s->off.ending))
		return xvt_trace_lane_event(s->trace, XVT_LANE_LOOSE, &h, lost);
	s->emit.emitted_ns = h.host_ns = xvt_u64_larger(h.host_ns, s->emit.emitted_ns);
	return xvt_trace_event(s->trace, &h, lost);
}

int xvt_session_put_drops(struct xvt_session *s, struct xvt_ring *r)
{
	int err;

	if (!r->session.drops_wait)
		return 0;
	err = xvt_session_put_loss(s, r, r->session.newest_ns, r->session.drops_clock,
				   &r->session.drops);
	r->account.stats.dropped += r->session.drops.dropped;
	memset(&r->session.drops, 0, sizeof(r->session.drops));
	r->session.drops_wait = false;
	xvt_session_set_dirty(s, r);
	return err;
}

void xvt_session_put_all_drops(struct xvt_session *s)
{
	size_t i;

	if (!s->disk.drops_wait)
		return;
	s->disk.drops_wait = false;
	for (i = 0; i < s->nr_rings; i++)
		xvt_session_put_drops(s, s->rings[i]);
}

/* ------------------------------------------------------------------ room now */

bool xvt_session_hold(void *session)
{
	struct xvt_session *s = session;

	if (!s->sink->hold || s->off.ending)
		return false;
	/* At the end events are dropped instead of waiting for space. */
	return s->sink->hold(s->sink) && !s->disk.dropping &&
	       !(s->off.clock && xvt_session_disk_full(s));
}

/* Measure all clocks at once: while the disk was full they were measured seldom, and the waiting
 * records need confirmation. */
static void measure_clocks(struct xvt_session *s)
{
	const uint64_t now = xvt_clock_read();
	size_t i;

	for (i = 0; i < s->nr_vms; i++) /* as at the beginning */
		s->vms[i]->clocks.pace = s->vms[i]->clocks.idle_pace = 0;
	for (i = 0; i < s->nr_rings; i++) {
		s->rings[i]->clock.next_burst_clock = now;
		xvt_session_clock_soon(s, s->rings[i], now);
	}
}

static void say_full(struct xvt_session *s)
{
	const bool full = xvt_session_disk_full(s);

	if (full == s->disk.full)
		return;
	s->disk.full = full;
	if (!full)
		measure_clocks(s);
	if (full && s->disk.full_second && s->passes.seconds - s->disk.full_second < NOTE_SECONDS)
		return; /* limit the notes about a state that comes and goes */
	if (full)
		xvt_session_note(s, 1, NULL, UINT32_MAX,
				 "the disk is full: events wait in memory, then in the guests' "
				 "rings, which drop and count when they are full; writing goes on "
				 "when there is space again");
	else if (s->disk.full_told)
		xvt_session_note(s, 1, NULL, UINT32_MAX,
				 "there is space on the disk again: writing goes on");
	s->disk.full_told = full;
	s->disk.full_second = s->passes.seconds ? s->passes.seconds : 1;
}

void xvt_session_look_at_space(struct xvt_session *s)
{
	size_t i;

	say_full(s);
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (!vm->space.refused)
			continue;
		vm->space.refused = false;
		say_used_up(s, vm, &vm->space);
	}
	if (s->opt.max_bytes && !any_part_left(s))
		s->disk.size_reached = true;
}

void xvt_session_space_second(struct xvt_session *s)
{
	look_at_disk(s);
	if (!s->disk.dropping && !xvt_session_disk_full(s))
		xvt_session_put_all_drops(s);
}
