// SPDX-License-Identifier: GPL-2.0
/*
 * rotate.c - the recording goes on in a next file, at the end of a pass. The file before ends
 * whole, and the next one begins with all that its events need: machines, rings, metadata, lines of
 * the host's clock, nodes of the rings' clocks.
 *
 * The bytes of a run are in a file before the first of its records goes out. So when a border is
 * due, the bytes of runs that are put from then on are kept, until no run waits of which they are
 * not; the runs that still wait then are put into the next file again. That takes a pass or two,
 * or as long as one ring holds the others back, and no pass is left out for it.
 */
#include "session/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "merge/put.h"

#define LINE_NS	      (60 * SECOND_NS) /* clock values that are not in the trace yet are younger */
#define RETRY_SECONDS 10u

static uint64_t file_bytes(const struct xvt_session *s)
{
	return xvt_trace_file_bytes(s->trace) + xvt_trace_gathered(s->trace);
}

/* A file whose begin is larger than the limit has at least half as much of events. */
static bool is_due(const struct xvt_session *s, uint64_t now)
{
	const uint64_t most = s->opt.rotate_bytes, bytes = file_bytes(s);

	if (s->rotate.pending || s->rotate.wanted)
		return true;
	if (most && bytes >= most && bytes - s->rotate.begin_bytes >= most / 2)
		return true;
	return s->opt.rotate_ns && s->passes.joined &&
	       since(now, s->rotate.begin_clock) >= ticks(s, s->opt.rotate_ns);
}

/* Returns true if each run that waits can go on in the next file. */
static bool all_kept(const struct xvt_session *s)
{
	const struct xvt_run *run;
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		for (run = s->rings[i]->runs.first; run; run = run->next) {
			if (!xvt_run_is_kept(run))
				return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------ the end of a file */

/* A machine of which nothing will come any more is not in the next files. */
static bool is_over(const struct xvt_vm *vm)
{
	uint32_t i;

	if (vm->phase != XVT_VM_GONE)
		return false;
	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		const struct xvt_ring *r = vm->rings[i];

		if (r &&
		    (xvt_ring_ready(r) || r->head.have || r->drain.first || r->session.drops_wait))
			return false;
	}
	return true;
}

static void end_file(struct xvt_session *s)
{
	struct xvt_ring_stats file;
	size_t i;

	xvt_session_put_measured(s);
	xvt_session_put_all_drops(s);
	xvt_session_put_marks(s);
	xvt_session_put_looks(s);
	xvt_session_put_last_heads(s);
	xvt_session_announce_late(s, true);
	xvt_session_kernel_names(s);
	xvt_session_passive_names(s, false);
	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		if (!r->session.announced)
			continue;
		r->account.stats.paused_ns = xvt_vm_paused_ns(s, xvt_vm_of_ring(r));
		xvt_ring_end_file(r, xvt_vm_of_ring(r)->phase == XVT_VM_ATTACHED, &file);
		xvt_trace_put(s->trace, XVT_CHUNK_STATS, &file, sizeof(file), NULL, 0);
		xvt_session_set_dirty(s, r);
	}
	s->checkpoint.stats_wait = true; /* the next file has no counters yet */
	for (i = 0; i < s->nr_vms; i++)
		s->vms[i]->files.left_out |= is_over(s->vms[i]);
}

void xvt_session_put_round(struct xvt_session *s)
{
	struct xvt_round round = { ++s->rotate.rounds, s->merge.watermark,
				   xvt_host_clock_ns(&s->clock, xvt_clock_read()) };

	s->rotate.reported_watermark = s->merge.watermark;
	xvt_trace_put(s->trace, XVT_CHUNK_ROUND, &round, sizeof(round), NULL, 0);
}

/* ------------------------------------------------------------------ the begin of the next */

/* The newest line of the host's clock that is older than all that the next file will hold, but
 * events from before the recording. Returns its number + 1; 0: the first line of all. */
static size_t line_of(const struct xvt_session *s)
{
	const uint64_t now_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	uint64_t from_ns = now_ns > LINE_NS ? now_ns - LINE_NS : 0;
	size_t n = s->clock.count;

	if (s->merge.watermark < from_ns)
		from_ns = s->merge.watermark;
	while (n && s->clock.lines[n - 1].base_ns > from_ns)
		n--;
	return n;
}

static void describe_file(struct xvt_session *s, struct xvt_file_info *info, size_t line)
{
	*info = s->rotate.file_info;
	memset(info->uuid, 0, sizeof(info->uuid)); /* a file of its own */
	info->set_number = ++s->rotate.number;
	if (line) {
		const struct xvt_timebase *l = &s->clock.lines[line - 1];

		info->mult = l->mult;
		info->shift = l->shift;
		info->base_clock = l->base_clock;
		info->base_ns = l->base_ns;
		info->realtime_ns = l->realtime_ns;
		info->boottime_ns = l->boottime_ns;
		info->wall_error_ns = l->wall_error_ns;
		info->apart_ns = l->apart_ns;
	}
}

static void put_nodes(struct xvt_session *s, const struct xvt_ring *r)
{
	const struct xvt_clock_map *m = &r->clock.map;
	struct xvt_clock_node first;

	if (!m->count)
		return;
	first = m->nodes[0];
	first.flags |= XVT_NODE_F_FIRST;
	xvt_trace_put(s->trace, XVT_CHUNK_NODE, &first, sizeof(first), m->nodes + 1,
		      (m->count - 1) * sizeof(*m->nodes));
}

static void begin_file(struct xvt_session *s)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->files.announced && !s->vms[i]->files.left_out)
			xvt_vm_announce(s, s->vms[i]);
	}
	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		r->session.announced &= !xvt_vm_of_ring(r)->files.left_out;
		if (!r->session.announced)
			continue;
		xvt_ring_announce_again(s, r);
		put_nodes(s, r);
	}
	xvt_session_put_carried(s);
	xvt_session_passive_carry(s);
}

/* Writes again what waits, so that its place in the file is known. Returns 0 or -errno. */
static int put_waiting(struct xvt_session *s)
{
	struct xvt_run *run;
	int err = 0;
	size_t i;

	for (i = 0; i < s->nr_rings; i++) {
		for (run = s->rings[i]->runs.first; run && !err; run = run->next)
			err = xvt_run_put_again(run, s->trace);
	}
	return err;
}

/* Returns 0 or -errno of the trace. */
static int go_on(struct xvt_session *s, uint64_t now)
{
	struct xvt_file_info info;
	size_t line;
	int err;

	end_file(s);
	line = line_of(s);
	describe_file(s, &info, line);
	err = xvt_trace_writer_next(s->trace, &info);
	if (err)
		return err;
	xvt_session_put_lines(s, (int)(s->clock.count - line));
	begin_file(s);
	xvt_session_put_round(s);
	s->rotate.begin_bytes = xvt_trace_file_bytes(s->trace);
	s->rotate.begin_clock = now;
	s->rotate.pending = s->rotate.wanted = false;
	err = put_waiting(s);
	if (!err)
		xvt_session_free_left(s);
	return err;
}

static void say_not_now(struct xvt_session *s, int err)
{
	if (!s->rotate.failed_second)
		xvt_session_note(s, 1, NULL, UINT32_MAX,
				 "the next file cannot be made: %s; this one goes on",
				 strerror(-err));
	s->rotate.failed_second = s->passes.seconds ? s->passes.seconds : 1;
	s->rotate.err = err;
	s->rotate.pending = false;
}

int xvt_session_look_at_rotation(struct xvt_session *s, uint64_t now)
{
	int err;

	if (!s->sink->prepare || !is_recording(s) || s->off.clock || s->disk.full ||
	    !is_due(s, now) ||
	    (s->rotate.failed_second &&
	     s->passes.seconds - s->rotate.failed_second < RETRY_SECONDS))
		return 0;
	s->rotate.pending = true;
	if (!all_kept(s))
		return 0;
	err = s->sink->prepare(s->sink);
	if (err == -EAGAIN)
		return 0;
	if (err) {
		say_not_now(s, err);
		return 0;
	}
	s->rotate.failed_second = 0;
	s->rotate.err = 0;
	return go_on(s, now);
}

void xvt_session_rotate(struct xvt_session *s)
{
	s->rotate.wanted = s->sink->prepare != NULL;
	s->rotate.err = 0;
}

int xvt_session_rotation(const struct xvt_session *s)
{
	if (!s->rotate.wanted && !s->rotate.pending)
		return 0;
	return s->disk.full ? -ENOSPC : s->rotate.err ? s->rotate.err : -EAGAIN;
}

void xvt_session_rotate_at(struct xvt_session *s, uint64_t bytes, uint64_t ns)
{
	s->opt.rotate_bytes = bytes;
	s->opt.rotate_ns = ns;
}

void xvt_session_init_rotation(struct xvt_session *s, const struct xvt_file_info *info)
{
	s->rotate.file_info = *info;
	s->rotate.number = info->set_number;
	s->rotate.begin_clock = xvt_clock_read();
	s->rotate.begin_bytes = xvt_trace_file_bytes(s->trace);
}
