// SPDX-License-Identifier: GPL-2.0
/*
 * session.c - life of a recording. Ties the parts together in the order in which data flows:
 * look and copy (ring/drain.c), decode and place (ring/), clock (clock/), merge (merge/merge.c),
 * file (trace/write.c).
 */
#define _GNU_SOURCE
#include "trace/payload.h"
#include "merge/put.h"
#include "session/parts.h"

#include "clock/sound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASS_MIN_NS	  1000000ull /* between two drains: XVT_PROOF_DELTA_NS or more */
#define PASS_MAX_NS	  10000000ull
#define PASS_PART	  10
#define PASS_IDLE_PART	  500
#define PASS_RING_NS	  10000ull /* nor longer than this for each ring */
#define PASS_IDLE_RING_NS 100000ull
#define HURRY_PART	  8	      /* of a ring in one pass: it may soon be full */
#define HOLD_BYTES	  (64u << 10) /* put into the trace between two looks at the disk */
#define BUSY_NS		  100000ull   /* while a clock measurement waits for its guest */
#define SOUND_SECONDS	  16	      /* between two looks at what the kernel says of the counter */
#define OWE_NS		  20000000ull /* between two looks at how much of the trace is in the file */
#define OWE_RING_NS	  10000ull
#define COMMON_PART	  2	  /* of the memory is there for whoever has much to do */
#define END_PATIENCE	  3u	  /* at the end: waits of one after the other, whatever comes out */
#define MUCH_RECORDS	  100000u /* at the end: what witnesses place, one in a pass, is less */
#define AWAY_NS		  500000000ull /* between two passes: nobody answered because we did not ask */

/* ------------------------------------------------------------------ into the trace */

/* From the merge, before what the node places. */
static void witness(void *arg, struct xvt_ring *r)
{
	xvt_session_ring_witness_first(arg, r);
}

/* Its bytes go into the file before the order of its records does; or they are dropped, where the
 * machine has had its part of the space. */
static int locate(void *arg, struct xvt_run *run)
{
	struct xvt_session *s = arg;

	s->put_bytes += run->len;
	if (s->put_bytes >= HOLD_BYTES) {
		if (!s->opt.cut && xvt_session_hold(s))
			return 1;
		s->put_bytes = 0;
		s->limited = xvt_session_space_limited(s);
		xvt_session_meet(s);
	}
	if (s->limited && !xvt_session_may_write(s, s->vms[run->ring->vm], xvt_run_cost(run))) {
		xvt_run_drop(run);
		return 0;
	}
	return xvt_run_put(run, s->trace);
}

/* Where writing goes on, what was dropped is told. */
static int put_drops(void *arg, const struct xvt_window *w, uint32_t i)
{
	struct xvt_session *s = arg;

	if (!(w->flags & XVT_EVENT_F_LATE))
		s->emitted_ns = xvt_window_ns(w, i);
	return xvt_session_put_drops(s, xvt_window_run(w, i)->ring);
}

/* A LOST, which is the host's own; or what is dropped. */
static int put_other(void *arg, const struct xvt_window *w, uint32_t i)
{
	struct xvt_session *s = arg;
	const struct xvt_run *run = xvt_window_run(w, i);
	const struct xvt_lost *lost;
	const struct xvt_event_hdr h = xvt_window_event(w, i, &lost);

	if (run->dropped)
		return 0; /* counted with its run */
	if (s->limited &&
	    !xvt_session_may_write(s, s->vms[run->ring->vm], sizeof(h) + sizeof(*lost))) {
		xvt_session_drop_lost(s, run->ring, lost, h.guest_clock);
		return 0;
	}
	put_drops(s, w, i);
	xvt_ring_told(run->ring, lost);
	return xvt_trace_event(s->trace, &h, lost);
}

static int emit(void *arg, const struct xvt_window *w)
{
	static const struct xvt_window_ops ops = { put_other, put_drops };
	struct xvt_session *s = arg;
	uint32_t i;
	int err;

	xvt_session_meet(s);
	s->limited = xvt_session_space_limited(s);
	err = xvt_window_put(w, s->trace, &ops, s);
	for (i = 0; i < w->nr_runs; i++) {
		const struct xvt_run *run = w->runs[i];

		if (run->taken == run->at)
			continue;
		if (run->dropped)
			xvt_session_drop_run(s, run);
		else
			xvt_run_count(run, run->taken, run->ring_flags | w->flags);
		/* At the end its last counters may be in the file already. */
		s->stirred[run->ring->id] |= XVT_STIRRED;
	}
	if (!(w->flags & XVT_EVENT_F_LATE))
		s->emitted_ns = xvt_window_ns(w, w->count - 1);
	return err;
}

static int64_t merge(struct xvt_session *s, struct xvt_ring *const *rings, size_t count)
{
	s->limited = xvt_session_space_limited(s);
	return xvt_merge_pass(&s->merge, rings, count);
}

static void init_merge(struct xvt_session *s)
{
	static const struct xvt_merge_ops ops = { emit, locate, xvt_session_hold, witness };
	/* A snapshot waits for the disk. */
	static const struct xvt_merge_ops cut_ops = { emit, locate, NULL, witness };

	xvt_merge_init(&s->merge, s->opt.cut ? &cut_ops : &ops, s);
}

/* Times are made of the host's counter: a reader must know if it is not sound. */
static void say_unsound(struct xvt_session *s)
{
	struct xvt_clock_soundness sound;

	if (s->clock_unsound)
		return;
	xvt_clock_soundness(&sound, s->opt.host_root);
	s->clock_unsound = sound.fault;
	if (sound.fault)
		xvt_session_note(s, 1, NULL, UINT32_MAX, "%s (xvtrace doctor says more)",
				 sound.what);
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
	gethostname(info.host_name, sizeof(info.host_name) - 1);
	err = xvt_trace_writer_new(&s->trace, sink, &info);
	if (err)
		goto err_free;
	err = s->opt.compress ? xvt_trace_compress(s->trace, s->opt.compress) : 0;
	if (err)
		goto err_trace;
	xvt_pool_init(&s->pool, s->opt.memory_bytes / COMMON_PART);
	init_merge(s);
	s->start_clock = xvt_clock_read();
	s->next_second_clock = s->start_clock;
	s->pass_gap_ns = PASS_MIN_NS;
	say_unsound(s);
	*out = s;
	return 0;

err_trace:
	xvt_trace_writer_finish(s->trace);
err_free:
	free(s);
	return err;
}

/* Nothing is emitted until every machine named at start has a clock, or the time is up. */
static void join(struct xvt_session *s, uint64_t now)
{
	size_t i;

	if (s->joined)
		return;
	s->joined = true;
	for (i = 0; i < s->nr_rings; i++) /* nothing was decoded before, so nobody held back */
		s->rings[i]->live_ns = xvt_host_clock_ns(&s->clock, now);
}

static void try_join(struct xvt_session *s, uint64_t now)
{
	bool timeout = since(now, s->start_clock) > ticks(s, s->opt.join_timeout_ns);
	size_t i;

	if (s->joined)
		return;
	for (i = 0; i < s->nr_vms && !s->ending; i++) {
		struct xvt_vm *vm = s->vms[i];
		bool live = false, waits = vm->phase == XVT_VM_WAITING;
		uint32_t k;

		for (k = 0; vm->phase == XVT_VM_ATTACHED && k < vm->region.g.ring_count; k++) {
			const struct xvt_ring *r = vm->rings[k];

			live |= r->phase != XVT_PHASE_NEW;
			waits |= r->phase == XVT_PHASE_NEW && r->last.state == XVT_RING_ONLINE;
		}
		if (!vm->named || vm->phase == XVT_VM_GONE || xvt_vm_stopped(vm) ||
		    (live && !waits))
			continue;
		if (!timeout)
			return;
		xvt_session_note(s, 1, vm, UINT32_MAX, "not there in time; going on without it%s",
				 xvt_vm_absent_hint(vm));
	}
	join(s, now);
}

/* ------------------------------------------------------------------ one pass */

/* ------------------------------------------------------------------ what survives us */

/* As much of what the trace holds is in the file for good: a later recorder may rely on it. */
static void pay(struct xvt_session *s)
{
	size_t i;

	if (!s->owing || xvt_trace_written(s->trace) < s->owed_bytes)
		return;
	s->owing = false;
	for (i = 0; i < s->nr_rings; i++) {
		if (!(s->stirred[i] & XVT_STIRRED_DUE))
			continue;
		s->stirred[i] &= (uint8_t)~XVT_STIRRED_DUE;
		if (s->vms[s->rings[i]->vm]->phase == XVT_VM_ATTACHED)
			xvt_ring_remember(s->rings[i]);
	}
}

/* All that was emitted leaves for the file; when it is there, pay() tells the regions. */
static void owe_all(struct xvt_session *s, bool counters)
{
	size_t i;

	/* A snapshot leaves it to recorders to say what is in their files. */
	if (xvt_trace_flush(s->trace) || s->opt.cut)
		return;
	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		/* One that is not announced has no counters in the file yet. */
		if (!(s->stirred[i] & XVT_STIRRED_OWES) || !r->announced || r->drops_wait)
			continue;
		if (!counters)
			xvt_ring_account(r, false);
		else
			s->stirred[i] &= (uint8_t)~XVT_STIRRED_OWES;
		xvt_ring_owe(r, counters);
		s->stirred[i] |= XVT_STIRRED_DUE;
	}
	s->owing = true;
	s->owed_bytes = xvt_trace_bytes(s->trace);
	s->owed_events = s->merge.emitted;
	s->owe_clock = xvt_clock_read();
}

/* A debt that is on its way is paid first: where the disk is slower than the guests, ever newer
 * ones would never be. */
static void owe(struct xvt_session *s, bool counters)
{
	pay(s);
	s->counters_late = s->owing && counters;
	if (!s->owing && !s->disk_full)
		owe_all(s, counters);
}

/* While the disk is full they are shown, and not written. */
static void put_stats(struct xvt_session *s, bool second_over, bool final)
{
	const bool write = final || !xvt_session_disk_full(s);
	const bool all = final || (s->stats_wait && write);
	size_t i;

	s->stats_wait = !write;

	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		if (!final && !(s->stirred[i] & XVT_STIRRED_STATS))
			continue;
		if (!r->announced || !xvt_session_takes_part(s, r))
			continue;
		if (write)
			s->stirred[i] &= (uint8_t)~XVT_STIRRED_STATS;
		xvt_ring_account(r, final);
		r->stats.paused_ns = xvt_vm_paused_ns(s, s->vms[r->vm]);
		if (!all && !memcmp(&r->stats, &r->told_stats, sizeof(r->stats)))
			continue;
		if (write)
			xvt_trace_put(s->trace, XVT_CHUNK_STATS, &r->stats, sizeof(r->stats), NULL,
				      0);
		xvt_session_status_count(s, r, second_over);
		r->told_stats = r->stats;
	}
}

/* The more rings, the more seldom: it costs some ten nanoseconds for each. */
static void owe_when_due(struct xvt_session *s, uint64_t now)
{
	if (s->opt.cut || s->owing || s->disk_full ||
	    since(now, s->owe_clock) < ticks(s, OWE_NS + s->nr_rings * OWE_RING_NS))
		return;
	if (s->counters_late) {
		put_stats(s, false, false);
		owe(s, true);
	} else if (s->merge.emitted != s->owed_events) {
		owe(s, false);
	}
}

/* The newest n lines. They begin in the future of all clock values read by now. */
static void put_lines(struct xvt_session *s, int n)
{
	if (n > 0)
		xvt_trace_put(s->trace, XVT_CHUNK_TIMEBASE, s->clock.lines + s->clock.count - n,
			      (size_t)n * sizeof(*s->clock.lines), NULL, 0);
}

/* Host times are no more, or no longer by the same, what CLOCK_MONOTONIC is. */
static void say_apart(struct xvt_session *s, int64_t before_ns)
{
	const struct xvt_host_clock *c = &s->clock;

	if (c->slewing && !s->clock_slewing)
		xvt_session_note(
			s, 1, NULL, UINT32_MAX,
			"CLOCK_MONOTONIC is slewed by more than %u ppm (by chrony?); times "
			"go on with the host's counter, so that durations stay right",
			XVT_TIMEBASE_SLEW_PPM);
	else if (!c->slewing && s->clock_slewing)
		xvt_session_note(s, 1, NULL, UINT32_MAX,
				 "CLOCK_MONOTONIC is slewed fast no more; times are ahead of it by "
				 "%.3f ms",
				 (double)c->apart_ns / 1e6);
	else if (!c->slewing && c->apart_ns != before_ns)
		xvt_session_note(s, 1, NULL, UINT32_MAX,
				 "the host's counter and CLOCK_MONOTONIC came apart by %" PRId64
				 " ms (did the host sleep?); times go on with the counter",
				 (c->apart_ns - before_ns) / 1000000);
	s->clock_slewing = c->slewing;
}

/* Follow CLOCK_MONOTONIC. A new line is written before anything is converted by it. */
static void tend_clock(struct xvt_session *s, uint64_t now)
{
	int64_t apart_ns = s->clock.apart_ns;
	int n = xvt_host_clock_tend(&s->clock, now);

	put_lines(s, n);
	for (size_t i = 0; n > 0 && i < s->nr_rings; i++)
		xvt_clock_pages_host_clock(&s->rings[i]->pages);
	say_apart(s, apart_ns);
	if (n == -ESTALE && !s->clock_went_back)
		xvt_session_note(s, 2, NULL, UINT32_MAX,
				 "the host's counter went back (it slept?): times from here on "
				 "do not fit those before; stop and record anew");
	s->clock_went_back |= n == -ESTALE;
}

/* Once a second: things that need no haste. */
static void every_second(struct xvt_session *s, uint64_t now)
{
	size_t i;

	s->seconds++;
	tend_clock(s, now);
	if (s->seconds % SOUND_SECONDS == 0)
		say_unsound(s);
	xvt_session_pace(s, since(now, s->pace_clock));
	s->pace_clock = now;
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		struct stat st;

		xvt_session_notes_left_out(s, vm, now, false);
		if (vm->phase != XVT_VM_GONE && xvt_session_files_turn(s, i) &&
		    !fstat(vm->region.fd, &st) && (uint64_t)st.st_size < vm->region.size)
			xvt_vm_gone(s, vm, "the region's file was truncated");
	}
	if (!s->opt.cut) { /* its machines are those of the cut, its counters those of the end */
		xvt_session_look_for_files(s, now);
		xvt_session_announce_late(s, false);
		xvt_session_space_second(s);
		put_stats(s, true, false);
	}
	xvt_session_status_second(s, now);
	xvt_session_put_marks(s);
	owe(s, true);
}

static void look_for_formats(struct xvt_session *s, uint64_t now)
{
	size_t i;

	if ((int64_t)(now - s->next_format_clock) < 0)
		return;
	s->next_format_clock = now + ticks(s, XVT_WAIT_FORMAT_NS) / 8;
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		char why[256];

		if (vm->phase != XVT_VM_WAITING || (int64_t)(now - vm->next_look_clock) < 0)
			continue;
		vm->next_look_clock = now + ticks(s, XVT_WAIT_FORMAT_NS);
		if (xvt_vm_try_attach(s, vm, why, sizeof(why)))
			xvt_vm_gone(s, vm, why);
	}
}

/*
 * Data flows: look soon again. Quiet: ever more seldom. With very many rings a pass takes as long
 * as they are many: then it may take a tenth of our time, a two-hundredth while nothing happens;
 * but not when a ring might fill up meanwhile.
 */
static uint64_t gap_ns(const struct xvt_session *s, bool moved, bool hurry, uint64_t took)
{
	uint64_t took_ns = (uint64_t)((unsigned __int128)took * SECOND_NS / s->clock.hz);
	uint64_t gap = moved ? PASS_MIN_NS : s->pass_gap_ns * 2;
	uint64_t many = took_ns * (moved ? PASS_PART : PASS_IDLE_PART);
	uint64_t most = s->nr_rings * (moved ? PASS_RING_NS : PASS_IDLE_RING_NS);

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
	return s->nr_asked < XVT_ASKED_LEAST / 4 ? BUSY_NS : BUSY_NS / 2;
}

/* Until the next drain, or until a clock wants to be looked after. */
static uint64_t sleep_ns_of(const struct xvt_session *s)
{
	uint64_t now = xvt_clock_read(), due = xvt_session_clocks_due(s), clocks_ns;

	if ((int64_t)(due - now) <= 0)
		return BUSY_NS;
	clocks_ns = (uint64_t)((unsigned __int128)(due - now) * SECOND_NS / s->clock.hz);
	return clocks_ns < BUSY_NS	    ? BUSY_NS
	       : clocks_ns < s->pass_gap_ns ? clocks_ns
					    : s->pass_gap_ns;
}

/* A snapshot may be away for long while it copies, and nobody waits for it. */
static void tell_away(struct xvt_session *s, uint64_t now)
{
	if (!s->opt.cut)
		xvt_session_note(
			s, 1, NULL, UINT32_MAX,
			"the recorder was held up for %" PRIu64
			" ms (by a slow disk, or for want of a CPU); the guests' rings may have "
			"run full",
			xvt_host_clock_ns(&s->clock, now) / 1000000 -
				xvt_host_clock_ns(&s->clock, s->last_pass_clock) / 1000000);
}

/* What a machine tells apart from its rings; of one that is at rest nothing new. */
static void tend_machine(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	uint64_t before = vm->meta_pos;

	if (vm->phase != XVT_VM_ATTACHED || (!vm->nr_awake && !vm->request_seq && !vm->meta_more))
		return;
	if (s->disk_full) {
		vm->meta_more = true; /* it stays where it is */
		return;
	}
	xvt_vm_read_metadata(s, vm);
	vm->meta_more = vm->meta_pos != before;
	xvt_vm_look_for_answer(s, vm, now);
}

int xvt_session_pass(struct xvt_session *s, uint64_t *sleep_ns)
{
	uint64_t now = xvt_clock_read();
	int64_t moved = 0;
	bool busy, hurry, waits, held;
	size_t i;

	xvt_session_got_up(s, now);
	look_for_formats(s, now);
	pay(s);
	if (s->last_pass_clock && since(now, s->last_pass_clock) > ticks(s, AWAY_NS)) {
		s->grace_clock = now;
		tell_away(s, now);
	}
	s->last_pass_clock = now;
	busy = xvt_session_clocks(s, now);
	xvt_session_kvm_look(s, now);
	if (s->opt.cut && !s->cut_ns && !xvt_session_cut(s, now)) {
		*sleep_ns = busy ? busy_ns(s) : PASS_MIN_NS;
		return xvt_trace_error(s->trace);
	}
	if ((int64_t)(now - s->next_pass_clock) >= 0) {
		do {
			xvt_session_drain(s, now);
		} while (s->opt.cut && xvt_session_cut_copying(s));
		for (i = 0; i < s->nr_vms; i++) {
			tend_machine(s, s->vms[i], now);
		}
		hurry = waits = false;
		for (i = 0; i < s->nr_awake; i++) {
			struct xvt_ring *r = s->awake[i];

			if (!xvt_session_takes_part(s, r))
				continue;
			xvt_session_ring_phase(s, r, now);
			xvt_session_clock_soon(s, r, now);
			hurry |= r->taken > r->region->g.ring_size / HURRY_PART;
			waits |= r->first != NULL;
		}
		try_join(s, now);
		s->merge.limit_ns = s->opt.cut ? s->cut_ns : xvt_host_clock_ns(&s->clock, now);
		s->merge.rest_ns = s->rest_ns;
		held = xvt_session_hold(s);
		if (s->joined && !held)
			moved = merge(s, s->awake, s->nr_awake);
		if (moved < 0)
			return (int)moved;
		held |= s->merge.held;
		if (held)
			s->grace_clock = now;
		xvt_session_stall(s, now, held);
		for (i = 0; i < s->nr_awake; i++)
			xvt_session_ring_witness(s, s->awake[i]);
		xvt_session_rest(s);
		if (s->merge.watermark > s->told_watermark && moved) {
			struct xvt_round round = { ++s->rounds, s->merge.watermark,
						   xvt_host_clock_ns(&s->clock, xvt_clock_read()) };

			s->told_watermark = s->merge.watermark;
			xvt_trace_put(s->trace, XVT_CHUNK_ROUND, &round, sizeof(round), NULL, 0);
		}
		s->pass_gap_ns =
			s->opt.cut ? PASS_MIN_NS
				   : gap_ns(s, moved || waits, hurry, since(xvt_clock_read(), now));
		s->next_pass_clock = now + ticks(s, s->pass_gap_ns);
		owe_when_due(s, now);
		xvt_session_look_at_space(s);
	}
	if ((int64_t)(now - s->next_second_clock) >= 0) {
		s->next_second_clock = now + ticks(s, SECOND_NS);
		every_second(s, now);
	}
	if (s->opt.cut)
		s->cut_done = xvt_session_cut_over(s, now);
	*sleep_ns = xvt_session_sleep(s, busy ? busy_ns(s) : sleep_ns_of(s), busy);
	return xvt_trace_error(s->trace);
}

int xvt_session_flush(struct xvt_session *s)
{
	return xvt_trace_flush(s->trace);
}

size_t xvt_session_alive(const struct xvt_session *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->nr_vms; i++)
		n += s->vms[i]->phase != XVT_VM_GONE;
	return n;
}

void xvt_session_sums(const struct xvt_session *s, uint64_t *events, uint64_t *lost, uint64_t *late)
{
	size_t i, k;

	*events = *lost = *late = 0;
	for (i = 0; i < s->nr_rings; i++) {
		const struct xvt_ring *r = s->rings[i];

		*events += r->stats.events;
		*late += r->stats.late;
		for (k = 0; k < XVT_LOST_CAUSES; k++)
			*lost += r->last.lost[k] - r->base_lost[k];
		*lost += r->stats.overwritten + r->stats.dropped;
	}
}

/* ------------------------------------------------------------------ the end */

/*
 * Proven idle after the moment when recording was switched off, and all of it placed? One that was
 * set aside may never be: of that, what is there must have been taken.
 */
static bool ring_finished(const struct xvt_session *s, struct xvt_ring *r)
{
	if (r->phase == XVT_PHASE_ASIDE && s->vms[r->vm]->phase == XVT_VM_ATTACHED)
		return (int64_t)(r->look_clock - s->off_clock) >= 0 &&
		       !xvt_pos_before(r->read_pos, r->last.commit);
	if (r->phase != XVT_PHASE_LIVE)
		return true;
	if (!r->idle || (int64_t)(r->idle_clock - s->off_clock) < 0 || r->first)
		return false;
	return r->proven_node_ns && !xvt_ring_ready(r) && !xvt_ring_peek(r);
}

/* Who is not yet is asked first the next time: with many rings nobody has time to ask all of them
 * whenever something happens. */
static bool all_finished(const struct xvt_session *s, size_t *first)
{
	size_t n;

	for (n = 0; n < s->nr_rings; n++) {
		if (*first >= s->nr_rings)
			*first = 0;
		if (!ring_finished(s, s->rings[*first]))
			return false;
		++*first;
	}
	return true;
}

/* What the counters lost after the last sub-buffer was opened has no place but the end. */
static void tell_tail_losses(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];
		struct xvt_event_hdr h = { .id = XVT_ID_LOST, .len = sizeof(struct xvt_lost) };
		struct xvt_lost lost;

		if (!xvt_session_takes_part(s, r) || !xvt_ring_tail_loss(r, &lost))
			continue;
		h.host_ns = s->merge.last_ns;
		h.guest_clock = r->last_guest;
		h.ring_flags = r->id;
		xvt_trace_event(s->trace, &h, &lost);
	}
}

void xvt_session_free(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		xvt_ring_fini(s->rings[i]);
		free(s->rings[i]);
	}
	for (i = 0; i < s->nr_vms; i++) {
		xvt_vm_free(s->vms[i]);
	}
	xvt_pool_fini(&s->pool);
	xvt_trace_writer_free(s->trace);
	free(s->rings);
	free(s->clock_due);
	free(s->awake);
	free(s->stirred);
	free(s->vms);
	xvt_merge_fini(&s->merge);
	xvt_host_clock_fini(&s->clock);
	free(s);
}

static uint64_t attach_id_after(const struct xvt_session *s, const struct xvt_vm *vm)
{
	return s->opt.cut && vm->found_attach_id != XVT_ATTACH_LOOKS ? vm->found_attach_id : 0;
}

/* All of it is in the file: whoever comes next finds nothing missing. Else the regions say, as
 * after a death, how far their records got. A snapshot leaves them as it found them. */
static void leave(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_rings && !s->opt.cut; i++) {
		if (s->vms[s->rings[i]->vm]->phase == XVT_VM_ATTACHED)
			xvt_ring_remember(s->rings[i]);
	}
	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->phase == XVT_VM_ATTACHED)
			xvt_store_release(&xvt_host_region_page(&s->vms[i]->region)->attach_id,
					  attach_id_after(s, s->vms[i]));
	}
}

/* So many records may wait, at most: in memory, and in the rings by the last look at each. */
static uint64_t most_waiting(const struct xvt_session *s)
{
	uint64_t bytes = 0, left;
	size_t i;

	for (i = 0; i < s->nr_vms; i++)
		bytes += xvt_pool_used(&s->vms[i]->pool);
	for (i = 0; i < s->nr_rings; i++) {
		const struct xvt_ring *r = s->rings[i];

		left = since(r->last.resv, r->read_pos);
		bytes += left < r->region->g.ring_size ? left : r->region->g.ring_size;
	}
	return bytes / sizeof(uint64_t);
}

/* It stays where it is: the next recording takes it. */
static void tell_undrained(struct xvt_session *s)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		uint64_t bytes = 0;

		for (k = 0; vm->phase == XVT_VM_ATTACHED && k < vm->region.g.ring_count; k++) {
			const struct xvt_ring *r = vm->rings[k];

			if (r->phase != XVT_PHASE_BROKEN &&
			    xvt_pos_before(r->read_pos, r->last.commit))
				bytes += r->last.commit - r->read_pos;
		}
		if (bytes)
			xvt_session_note(s, 1, vm, UINT32_MAX,
					 "%" PRIu64 " bytes of records were not taken in time and "
					 "count as in flight; the next recording begins with them",
					 bytes);
	}
}

/*
 * Until all of it is out, or nothing much has come out for as long as a silent ring is waited for,
 * and a second. The disk may take its time; a guest that goes on all the same gets none.
 */
static int drain_rest(struct xvt_session *s, uint64_t most_records)
{
	uint64_t moved = s->merge.emitted, moved_clock = s->off_clock, sleep_ns;
	uint64_t waited_ns = xvt_session_waited_ns(s);
	const uint64_t patience_ns = s->opt.stall_timeout_ns + SECOND_NS, begin_ns = waited_ns;
	size_t i = 0;

	for (;;) {
		int err = xvt_session_pass(s, &sleep_ns);
		uint64_t now = xvt_clock_read(), disk_ns = xvt_session_waited_ns(s) - waited_ns;
		uint64_t most_ns = END_PATIENCE * patience_ns + xvt_session_waited_ns(s) - begin_ns;

		if (err || all_finished(s, &i))
			return err;
		if (s->merge.emitted - moved >= MUCH_RECORDS && s->merge.emitted <= most_records &&
		    since(now, s->off_clock) < ticks(s, most_ns)) {
			moved = s->merge.emitted;
			moved_clock = now;
			waited_ns += disk_ns;
		} else if (since(now, moved_clock) >= ticks(s, patience_ns + disk_ns)) {
			return 0;
		}
		err = xvt_loop_run(s->loop, sleep_ns);
		if (err < 0)
			return err;
	}
}

/* Off first, then wait until every writer that was inside has come out: a writer tests enable
 * again after it made itself visible in nest. */
static int wind_down(struct xvt_session *s)
{
	const uint64_t most = s->merge.emitted + most_waiting(s);
	uint64_t off;
	size_t i;
	int err;

	join(s, xvt_clock_read());
	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		r->enable = XVT_ENABLE_OFF;
		/* Also one that never got a clock: it is drained like all others. */
		if (r->phase != XVT_PHASE_BROKEN)
			xvt_store_release(&r->host->enable, r->enable);
	}
	xvt_mb();
	off = xvt_clock_read_ordered();
	s->off_clock = off;
	for (i = 0; i < s->nr_rings; i++)
		s->rings[i]->next_burst_clock = off; /* one more node behind the last record */
	for (i = 0; i < s->nr_vms; i++)
		xvt_session_wake_vm(s, s->vms[i]);
	for (i = 0; i < s->nr_rings; i++)
		xvt_session_clock_soon(s, s->rings[i], off);
	err = drain_rest(s, most);
	tell_undrained(s);
	return err;
}

int xvt_session_end(struct xvt_session *s)
{
	int err = s->opt.cut ? 0 : wind_down(s);
	size_t i;

	s->ending = true;
	for (i = 0; i < s->nr_rings; i++) {
		if (!s->opt.cut)
			xvt_session_ring_clockless(s, s->rings[i]);
		s->rings[i]->map.closed = true;
	}
	s->merge.limit_ns = s->opt.cut ? s->cut_ns : UINT64_MAX;
	s->merge.rest_ns = UINT64_MAX;
	if (!err) {
		int64_t moved = merge(s, s->rings, s->nr_rings);

		if (moved < 0)
			err = (int)moved;
	}
	xvt_session_stop_listening(s);
	for (i = 0; i < s->nr_vms; i++)
		xvt_vm_tell_unrecorded(s, s->vms[i]);
	for (i = 0; i < s->nr_vms; i++)
		xvt_vm_end_request(s, s->vms[i]);
	for (i = 0; i < s->nr_vms; i++)
		xvt_session_notes_left_out(s, s->vms[i], xvt_clock_read(), true);
	xvt_session_put_all_drops(s);
	tell_tail_losses(s);
	put_lines(s, xvt_host_clock_end(&s->clock));
	xvt_session_put_marks(s);
	xvt_session_announce_late(s, true);
	xvt_session_kvm_end(s);
	put_stats(s, false, true);
	owe_all(s, true);
	i = (size_t)xvt_trace_writer_end(s->trace);
	if (!err)
		err = (int)i;
	if (!err && s->sink->settle)
		err = s->sink->settle(s->sink);
	if (!err || s->opt.cut)
		leave(s);
	return err;
}

int xvt_session_finish(struct xvt_session *s)
{
	int err = xvt_session_end(s);

	xvt_session_free(s);
	return err;
}
