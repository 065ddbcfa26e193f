// SPDX-License-Identifier: GPL-2.0
/*
 * session.c - life of a recording. Ties the parts together in the order in which data flows:
 * look and copy (ring/drain.c), decode and place (ring/), clock (clock/), merge (merge/merge.c),
 * file (trace/write.c).
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/u64.h"
#include "clock/sound.h"

#define PASS_MIN_NS	  1000000ull /* between two drains: XVT_PROOF_DELTA_NS or more */
#define PASS_MAX_NS	  10000000ull
#define PASS_PART	  10
#define PASS_IDLE_PART	  500
#define PASS_RING_NS	  10000ull /* nor longer than this for each ring */
#define PASS_IDLE_RING_NS 100000ull
#define HURRY_PART	  8	      /* of a ring in one pass: it may soon be full */
#define FULL_PART	  2	      /* of a ring in one pass: the recorder is too slow */
#define BUSY_NS		  100000ull   /* while a clock measurement waits for its guest */
#define SOUND_SECONDS	  16	      /* between two checks of the kernel's clocksource */
#define COMMON_PART	  2	      /* of the memory is common to all machines */
#define ARENA_BYTES	  (16u << 20) /* registered memory of a drain by reads; at most: */
#define ARENA_PART	  8	      /* of the memory */
#define ARENA_LEAST	  (1u << 20)
#define AWAY_NS		  500000000ull /* between two passes: clock requests were not sent either */

/* Notes that the host's counter is not reliable: all times are computed from it. */
static void note_unsound(struct xvt_session *s)
{
	struct xvt_clock_soundness sound;

	if (s->passes.clock_unsound)
		return;
	xvt_clock_soundness(&sound, s->opt.host_root);
	s->passes.clock_unsound = sound.fault;
	if (sound.fault)
		xvt_session_note(s, 1, NULL, UINT32_MAX, "%s (xvtrace doctor says more)",
				 sound.what);
}

/* Memory into which the loop reads. Where less may be locked, or none, reads take longer. */
static void make_arena(struct xvt_session *s)
{
	size_t size = ARENA_BYTES;

	while (size > ARENA_LEAST && size > s->opt.memory_bytes / ARENA_PART)
		size /= 2;
	for (; size >= ARENA_LEAST; size /= 2) {
		struct iovec area;

		if (xvt_arena_init(&s->arena, size))
			return;
		area = (struct iovec){ s->arena.base, size };
		if (!xvt_loop_register(s->loop, &area)) {
			s->pool.arena = &s->arena;
			return;
		}
		xvt_arena_fini(&s->arena);
	}
}

int xvt_session_new(struct xvt_session **out, struct xvt_loop *loop, struct xvt_sink *sink,
		    const struct xvt_session_options *opt)
{
	struct xvt_session *s = calloc(1, sizeof(*s));
	struct xvt_file_info info;
	int err;

	if (!s)
		return -ENOMEM;
	s->opt = *opt;
	s->loop = loop;
	s->sink = sink;
	err = xvt_host_clock_init(&s->clock);
	if (err)
		goto err_free;
	memset(&info, 0, sizeof(info));
	if (getrandom(info.uuid, sizeof(info.uuid), 0) != sizeof(info.uuid)) {
		err = -EIO;
		goto err_free;
	}
	memcpy(&s->attach_id, info.uuid, sizeof(s->attach_id));
	info.host_clock_id = s->clock.clock_id;
	info.mult = s->clock.mult;
	info.shift = s->clock.shift;
	info.base_clock = s->clock.base_clock;
	info.base_ns = s->clock.base_ns;
	info.realtime_ns = s->clock.realtime_ns;
	info.boottime_ns = s->clock.boottime_ns;
	info.wall_error_ns = s->clock.wall_error_ns;
	if (!is_salvage(s)) /* the region may be of another host */
		gethostname(info.host_name, sizeof(info.host_name) - 1);
	if (sink->prepare) {
		info.set_number = s->opt.set_number;
		memcpy(info.set, info.uuid, sizeof(info.set));
	}
	err = xvt_trace_writer_new(&s->trace, sink, &info);
	if (err)
		goto err_free;
	xvt_session_init_rotation(s, &info);
	err = s->opt.compress ? xvt_trace_compress(s->trace, s->opt.compress) : 0;
	if (err)
		goto err_trace;
	xvt_pool_init(&s->pool, s->opt.memory_bytes / COMMON_PART);
	if (s->opt.drain_reads)
		make_arena(s);
	xvt_session_init_merge(s);
	xvt_session_way_begin(s);
	s->start_clock = xvt_clock_read();
	s->passes.next_second_clock = s->start_clock;
	s->passes.gap_ns = PASS_MIN_NS;
	if (!is_salvage(s))
		note_unsound(s);
	sink->before = xvt_session_release;
	sink->before_arg = s;
	*out = s;
	return 0;

err_trace:
	xvt_trace_writer_finish(s->trace);
err_free:
	free(s);
	return err;
}

/* Starts to emit events. */
void xvt_session_join(struct xvt_session *s, uint64_t now)
{
	size_t i;

	if (s->passes.joined)
		return;
	s->passes.joined = true;
	for (i = 0; i < s->nr_rings; i++) /* no record was decoded before, so no ring was late */
		s->rings[i]->session.live_ns = xvt_host_clock_ns(&s->clock, now);
}

/* Events are emitted once each machine named at start has a clock, or join_timeout_ns is over. */
static void try_join(struct xvt_session *s, uint64_t now)
{
	bool timeout = since(now, s->start_clock) > ticks(s, s->opt.join_timeout_ns);
	size_t i;

	if (s->passes.joined)
		return;
	for (i = 0; i < s->nr_vms && !s->off.ending; i++) {
		struct xvt_vm *vm = s->vms[i];
		bool live = false, waits = vm->phase == XVT_VM_WAITING;
		uint32_t k;

		for (k = 0; vm->phase == XVT_VM_ATTACHED && k < vm->region.g.ring_count; k++) {
			const struct xvt_ring *r = vm->rings[k];

			if (!r)
				continue;
			live |= r->phase != XVT_PHASE_NEW;
			waits |=
				r->phase == XVT_PHASE_NEW && r->drain.last.state == XVT_RING_ONLINE;
		}
		if (!vm->named || vm->phase == XVT_VM_GONE || xvt_vm_is_paused(vm) ||
		    xvt_vm_stop_wanted(vm) || (live && !waits))
			continue;
		if (!timeout)
			return;
		xvt_session_note(s, 1, vm, UINT32_MAX, "not there in time; going on without it%s",
				 xvt_vm_absent_hint(vm));
	}
	xvt_session_join(s, now);
}

/* Note what is not recorded, and is seen from here by the header alone. */
static void note_unseen(struct xvt_session *s, struct xvt_vm *vm)
{
	const struct xvt_region_hdr *h = (const struct xvt_region_hdr *)vm->region.map;
	const bool here = vm->phase == XVT_VM_ATTACHED;
	const uint32_t displaced = here ? xvt_load(&h->displaced) : 0;
	const uint32_t ringless = here ? xvt_load(&h->ringless) : 0;
	const uint32_t claim = here ? xvt_load(&h->claim) : 0;

	if (displaced && displaced != vm->header.displaced)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "another machine wrote to this region until this one began, and "
				 "records nothing any more. Give each machine a memory of its own "
				 "(a cloned domain has the <shmem> of its origin)");
	if (claim & XVT_CLAIM_REFUSED && claim != vm->header.claim)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "another machine has this region's memory: it was refused, and is "
				 "not recorded. Give each machine a memory of its own (a cloned "
				 "domain has the <shmem> of its origin)");
	if (ringless && ringless != vm->header.ringless)
		xvt_session_note(
			s, 1, vm, UINT32_MAX,
			"%u CPUs that came up in the guest have no ring, and their events are "
			"not recorded; the guest's log says what to do (dmesg | grep xvtrace)",
			ringless);
	vm->header.displaced = displaced;
	vm->header.ringless = ringless;
	vm->header.claim = claim;
}

/* Once a second: things that need no haste. */
static void every_second(struct xvt_session *s, uint64_t now)
{
	size_t i;

	s->passes.seconds++;
	xvt_session_follow_clock(s, now);
	if (s->passes.seconds % SOUND_SECONDS == 0)
		note_unsound(s);
	xvt_session_share(s);
	xvt_session_pace(s, since(now, s->passes.pace_clock));
	s->passes.pace_clock = now;
	xvt_session_look_for_waits(s, false);
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		struct stat st;

		note_unseen(s, vm);
		xvt_session_look_for_panic(s, vm);
		xvt_session_notes_left_out(s, vm, now, false);
		if (vm->phase != XVT_VM_GONE && xvt_session_files_turn(s, i) &&
		    !fstat(vm->region.fd, &st) && (uint64_t)st.st_size < vm->region.size)
			xvt_vm_gone(s, vm, "the region's file was truncated");
	}
	/* A snapshot has the machines of its moment, and its counters are written at the end. */
	if (!is_snapshot(s)) {
		xvt_session_look_for_files(s, now);
		xvt_session_announce_late(s, false);
		xvt_session_space_second(s);
		xvt_session_kernel_second(s);
		xvt_session_put_stats(s, true, false);
	}
	xvt_session_status_second(s, now);
	xvt_session_put_marks(s);
	xvt_session_put_looks(s);
	xvt_session_put_heads(s);
	xvt_session_checkpoint(s, true);
}

static void look_for_formats(struct xvt_session *s, uint64_t now)
{
	size_t i;

	if (earlier(now, s->passes.next_format_clock))
		return;
	s->passes.next_format_clock = now + ticks(s, XVT_WAIT_FORMAT_NS) / 8;
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		struct xvt_error why;

		/* The memory of a paused machine changes only while its VMM loads its state. */
		if (vm->phase != XVT_VM_WAITING || earlier(now, vm->header.next_look_clock) ||
		    xvt_vm_is_paused(vm))
			continue;
		vm->header.next_look_clock = now + ticks(s, XVT_WAIT_FORMAT_NS);
		if (vm->passive ? xvt_passive_attach(s, vm, &why) : xvt_vm_try_attach(s, vm, &why))
			xvt_vm_gone(s, vm, why.text);
	}
}

/*
 * Time until the next pass: PASS_MIN_NS while data flows, then twice as long each time. With many
 * rings a pass itself takes long: passes take at most a tenth of the time, or a five-hundredth
 * while no data flows. That does not hold in a hurry, when a ring may run full.
 */
static uint64_t gap_ns(const struct xvt_session *s, bool moved, bool hurry, uint64_t took)
{
	uint64_t took_ns = xvt_ticks_ns(took, s->clock.hz);
	uint64_t gap = moved ? PASS_MIN_NS : s->passes.gap_ns * 2;
	uint64_t many = took_ns * (moved ? PASS_PART : PASS_IDLE_PART);
	uint64_t most = s->table.nr_places * (moved ? PASS_RING_NS : PASS_IDLE_RING_NS);

	if (gap > PASS_MAX_NS)
		gap = PASS_MAX_NS;
	if (many > most)
		many = most;
	return hurry || gap > many ? gap : many;
}

/* A guest that has answered stays for 200 us. With many of them the exchanges take their time, too.
 */
static uint64_t busy_ns(const struct xvt_session *s)
{
	return s->clocks.nr_asked < XVT_ASKED_LEAST / 4 ? BUSY_NS : BUSY_NS / 2;
}

/* Until the next drain, or until a clock wants to be looked after. */
static uint64_t sleep_ns_of(const struct xvt_session *s)
{
	uint64_t now = xvt_clock_read(), due = xvt_session_clocks_due(s), clocks_ns;

	if (!earlier(now, due))
		return BUSY_NS;
	clocks_ns = xvt_ticks_ns(due - now, s->clock.hz);
	return clocks_ns < BUSY_NS	      ? BUSY_NS
	       : clocks_ns < s->passes.gap_ns ? clocks_ns
					      : s->passes.gap_ns;
}

/* Notes a long gap between passes. A snapshot may copy for long, and no ring runs full meanwhile.
 */
static void note_away(struct xvt_session *s, uint64_t now)
{
	if (!is_snapshot(s))
		xvt_session_note(
			s, 1, NULL, UINT32_MAX,
			"the recorder was held up for %" PRIu64
			" ms (by a slow disk, or for want of a CPU); the guests' rings may have "
			"run full",
			xvt_host_clock_ns(&s->clock, now) / 1000000 -
				xvt_host_clock_ns(&s->clock, s->passes.last_clock) / 1000000);
}

/* Read what a machine has besides its rings. A machine without active rings has nothing new, except
 * names at the end: a guest sends these after the events. */
static void service_machine(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	uint64_t before = vm->metadata.pos;

	if (vm->own || !xvt_vm_is_read(vm) ||
	    (!vm->scan.nr_active && !vm->request.seq && !vm->request.refused &&
	     !vm->metadata.more && !s->off.clock && !xvt_vm_stop_wanted(vm)))
		return;
	if (s->disk.full) {
		vm->metadata.more = true; /* the metadata stays where it is */
		return;
	}
	xvt_vm_read_metadata(s, vm);
	vm->metadata.more = vm->metadata.pos != before;
	xvt_vm_look_for_answer(s, vm, now);
}

static void begin_pass(struct xvt_session *s, uint64_t now)
{
	xvt_session_got_up(s, now);
	look_for_formats(s, now);
	xvt_session_commit_checkpoint(s);
	if (s->passes.last_clock && since(now, s->passes.last_clock) > ticks(s, AWAY_NS)) {
		s->passes.grace_clock = now;
		note_away(s, now);
	}
	s->passes.last_clock = now;
}

/* Copy what is new from all machines. Sets *hurry if a ring may soon be full, *waits if copies
 * wait. Returns 0 or -errno of the reads. */
static int drain(struct xvt_session *s, uint64_t now, bool *hurry, bool *waits)
{
	size_t i;

	do {
		xvt_session_drain(s, now);
		if (s->scan.err)
			return s->scan.err;
	} while (is_snapshot(s) && xvt_session_snapshot_copying(s));
	for (i = 0; i < s->nr_vms; i++) {
		service_machine(s, s->vms[i], now);
		*waits |= xvt_passive_is_measured(s->vms[i]);
	}
	for (i = 0; i < s->scan.nr_active; i++) {
		struct xvt_ring *r = s->scan.active[i];

		if (!xvt_session_takes_part(s, r))
			continue;
		xvt_session_ring_phase(s, r, now);
		xvt_session_clock_soon(s, r, now);
		*hurry |= r->drain.taken > r->region->g.ring_size / HURRY_PART;
		*waits |= r->drain.first != NULL;
		xvt_vm_of_ring(r)->loose.ring_full |=
			r->drain.taken > r->region->g.ring_size / FULL_PART;
	}
	return 0;
}

/* Write what can be put in order now. Returns the number of records, or -errno. */
static int64_t merge(struct xvt_session *s, uint64_t now)
{
	bool held;
	int64_t moved = 0;

	try_join(s, now);
	s->merge.limit_ns = is_snapshot(s) ? s->snapshot.ns : xvt_host_clock_ns(&s->clock, now);
	s->merge.rest_ns = s->scan.parked_ns;
	held = xvt_session_hold(s);
	xvt_session_loosen(s);
	if (s->passes.joined && !held)
		moved = xvt_session_merge(s, s->scan.active, s->scan.nr_active);
	if (moved < 0)
		return moved;
	held |= s->merge.held;
	if (held)
		s->passes.grace_clock = now;
	xvt_session_stall(s, now, held);
	return moved;
}

/* Take records from the rings to the trace. Returns 0 or -errno. */
static int move_records(struct xvt_session *s, uint64_t now)
{
	bool hurry = false, waits = false;
	int64_t moved = drain(s, now, &hurry, &waits);
	size_t i;

	if (!moved)
		moved = merge(s, now);
	if (moved < 0)
		return (int)moved;
	for (i = 0; i < s->scan.nr_active; i++)
		xvt_session_put_inferred(s, s->scan.active[i]);
	xvt_session_park(s);
	if (s->merge.watermark > s->rotate.reported_watermark && moved)
		xvt_session_put_round(s);
	s->passes.gap_ns = is_snapshot(s)
				   ? PASS_MIN_NS
				   : gap_ns(s, moved || waits, hurry, since(xvt_clock_read(), now));
	s->passes.next_clock = now + ticks(s, s->passes.gap_ns);
	xvt_session_checkpoint_when_due(s, now, s->wake.bells && !moved && !waits);
	xvt_session_look_at_space(s);
	return xvt_session_look_at_rotation(s, now);
}

static int pass(struct xvt_session *s, uint64_t *sleep_ns)
{
	uint64_t now = xvt_clock_read();
	bool busy;
	int err = 0;

	begin_pass(s, now);
	busy = xvt_session_clocks(s, now);
	xvt_session_kvm_look(s, now);
	xvt_session_kernel_pass(s);
	if (is_snapshot(s) && !s->snapshot.ns && !xvt_session_snapshot_make(s, now)) {
		*sleep_ns = busy ? busy_ns(s) : PASS_MIN_NS;
		return xvt_trace_error(s->trace);
	}
	if (!earlier(now, s->passes.next_clock)) {
		err = move_records(s, now);
		if (err)
			return err;
		if (s->nr_halting)
			xvt_session_halt_pass(s, now);
	}
	if (!earlier(now, s->passes.next_second_clock)) {
		s->passes.next_second_clock = now + ticks(s, SECOND_NS);
		every_second(s, now);
	}
	if (is_snapshot(s))
		s->snapshot.done = xvt_session_snapshot_over(s, now);
	/* Also a guest that is not hurried for may ring when it answers. */
	*sleep_ns = xvt_session_sleep(s, busy ? busy_ns(s) : sleep_ns_of(s),
				      busy || s->clocks.nr_asked);
	return xvt_trace_error(s->trace);
}

int xvt_session_pass(struct xvt_session *s, uint64_t *sleep_ns)
{
	int err = pass(s, sleep_ns);

	s->passes.number++; /* an attach between two passes belongs to the next one */
	xvt_session_way_end_pass(s);
	return err;
}

uint64_t xvt_session_now_ns(const struct xvt_session *s)
{
	return xvt_host_clock_ns(&s->clock, xvt_clock_read());
}

uint64_t xvt_session_watermark(const struct xvt_session *s)
{
	return s->merge.watermark;
}

void xvt_session_say(struct xvt_session *s, uint32_t level, struct xvt_vm *vm, const char *text)
{
	xvt_session_note(s, level, vm, UINT32_MAX, "%s", text);
}

bool xvt_session_size_reached(const struct xvt_session *s)
{
	return s->disk.size_reached;
}

int xvt_session_flush(struct xvt_session *s)
{
	return xvt_trace_flush(s->trace);
}

void xvt_session_sums(const struct xvt_session *s, uint64_t *events, uint64_t *lost, uint64_t *late)
{
	struct xvt_sums sums = s->left;
	size_t i;

	for (i = 0; i < s->nr_rings; i++)
		xvt_ring_add_sums(s->rings[i], &sums);
	*events = sums.events;
	*lost = sums.lost;
	*late = sums.late;
}
