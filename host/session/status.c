// SPDX-License-Identifier: GPL-2.0
/*
 * status.c - reports the state of a recording (xvtrace status). Counters and rates are those of the
 * last whole second, as they stand in the file, because requests may come in the middle of a pass.
 * Also writes notes about what slows the recording down.
 */
#include "session/parts.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/u64.h"
#include "trace/names.h"

/* Limits of one piece of an answer: a ring takes ten microseconds */
#define PIECE_RINGS   64u
#define PIECE_LOOKS   4096u

#define QUIET_SECONDS 60u
#define AWAY_SECONDS  60u /* a machine that is away is shown for that long */
/* The disk is slower than the guests if waiting for it takes more than this part of a second. */
#define DISK_PART     4

static uint64_t lost_of(const struct xvt_ring_stats *st)
{
	uint64_t sum = st->overwritten + st->dropped;
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		sum += st->lost[i];
	return sum;
}

void xvt_session_status_count(const struct xvt_session *s, struct xvt_ring *r, bool second_over)
{
	const uint64_t second = s->passes.seconds + !second_over;

	if (r->status.rate.second != second) {
		r->status.rate_before = r->status.rate;
		r->status.rate = (struct xvt_ring_rate){ .second = second };
	}
	r->status.rate.events += since(r->account.stats.events, r->session.reported_stats.events);
	r->status.rate.lost +=
		since(lost_of(&r->account.stats), lost_of(&r->session.reported_stats));
}

/* Note by how much each active ring's bound holds the others back, as the newest pass left it. */
static void note_lags(struct xvt_session *s, uint64_t now)
{
	const uint64_t now_ns = xvt_host_clock_ns(&s->clock, now);
	size_t i;

	/* Before all machines have joined, all wait for those that have not. */
	for (i = 0; s->passes.joined && i < s->scan.nr_active; i++) {
		struct xvt_ring *r = s->scan.active[i];
		uint64_t bound_ns;

		r->status.lag_second = s->passes.seconds;
		bound_ns = xvt_ring_ready(r) ? UINT64_MAX : xvt_ring_bound(r);
		if (bound_ns < r->session.live_ns)
			bound_ns = r->session.live_ns;
		r->status.lag_ns = bound_ns < now_ns ? now_ns - bound_ns : 0;
	}
}

uint64_t xvt_session_waited_ns(const struct xvt_session *s)
{
	return s->sink->waited_ns ? s->sink->waited_ns(s->sink) : 0;
}

static void tell_disk(struct xvt_session *s)
{
	const uint64_t waited_ns = xvt_session_waited_ns(s),
		       disk_ns = since(waited_ns, s->second.waited_ns);

	s->second.waited_ns = waited_ns;
	if (disk_ns <= s->second.ns / DISK_PART) {
		s->second.disk_told = false;
		return;
	}
	if (!s->second.disk_told)
		xvt_session_note(s, 0, NULL, UINT32_MAX,
				 "the disk is slower than the guests: waited for it for %" PRIu64
				 " of %" PRIu64 " ms; their rings may run full",
				 disk_ns / 1000000, s->second.ns / 1000000);
	s->second.disk_told = true;
}

static void tell_memory(struct xvt_session *s, struct xvt_vm *vm)
{
	vm->status.memory_full = xvt_pool_was_full(&vm->pool);
	if (!vm->status.memory_full)
		return;
	/* A note covers a state that comes and goes. */
	if (!vm->status.full_second || s->passes.seconds - vm->status.full_second > QUIET_SECONDS)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "what it may have of --memory is used up (up to %" PRIu64
				 " KiB); its rings wait, and may run full",
				 xvt_pool_most(&vm->pool) >> 10);
	vm->status.full_second = s->passes.seconds;
}

/* A machine whose VMM has ended writes nothing. If one does, another VMM has its region, of which
 * nothing is known. Events that were written before the end may be read within two seconds. */
static void watch_departed(struct xvt_vm *vm)
{
	uint64_t attempted = 0;
	uint32_t i;

	if (!vm->vmm.departed || vm->phase != XVT_VM_ATTACHED || vm->panic.dead)
		return;
	for (i = 0; i < vm->region.g.ring_count; i++)
		attempted += vm->rings[i] ? vm->rings[i]->drain.last.attempted : 0;
	if (++vm->vmm.departed_seconds > 2 && attempted != vm->status.departed_attempted)
		xvt_vm_is_here(vm);
	vm->status.departed_attempted = attempted;
}

/* A machine that was stopped by request is not away: it may be started. */
static void count_away(struct xvt_vm *vm)
{
	const bool away = !xvt_vm_stop_wanted(vm) && (vm->phase == XVT_VM_GONE || vm->vmm.departed);

	if (!away)
		vm->status.away_seconds = 0;
	else if (vm->status.away_seconds <= AWAY_SECONDS)
		vm->status.away_seconds++;
}

static bool is_shown(const struct xvt_vm *vm)
{
	return vm->status.away_seconds <= AWAY_SECONDS;
}

void xvt_session_status_second(struct xvt_session *s, uint64_t now)
{
	const uint64_t begin = s->second.clock ? s->second.clock : s->start_clock;
	size_t i;

	s->second.number = s->passes.seconds;
	s->second.ns = xvt_host_clock_ns(&s->clock, now) - xvt_host_clock_ns(&s->clock, begin);
	s->second.clock = now;
	note_lags(s, now);
	if (is_snapshot(s))
		return;
	tell_disk(s);
	for (i = 0; i < s->nr_vms; i++) {
		tell_memory(s, s->vms[i]);
		watch_departed(s->vms[i]);
		count_away(s->vms[i]);
	}
}

/* ------------------------------------------------------------------ JSON */

/* A ring whose machine is gone is "gone", whatever its phase; none lives whose VMM has ended. */
static const char *ring_phase(const struct xvt_ring *r)
{
	const struct xvt_vm *vm = xvt_vm_of_ring(r);

	if (vm->phase == XVT_VM_GONE)
		return "gone";
	return vm->vmm.departed && r->phase == XVT_PHASE_LIVE ? vm->vmm.departed
							      : xvt_ring_phase_name(r->phase);
}

/* Bytes written and not drained. The words are the guest's, so the value is limited to the ring's
 * size; in overwrite mode the writer may also be laps ahead. */
static uint64_t undrained_bytes(const struct xvt_ring *r)
{
	struct xvt_ring_words now;
	uint64_t bytes;

	if (xvt_vm_of_ring(r)->phase != XVT_VM_ATTACHED || r->phase == XVT_PHASE_BROKEN)
		return 0;
	xvt_ring_words(r->ctl, &r->region->g, &now);
	bytes = since(now.resv, r->drain.read_pos);
	return bytes < r->region->g.ring_size ? bytes : r->region->g.ring_size;
}

/* The first "second" ends when the recording has hardly begun. */
static uint64_t rate(const struct xvt_session *s, uint64_t n)
{
	const uint64_t ns = s->second.ns > SECOND_NS ? s->second.ns : SECOND_NS;

	return xvt_u64_scale(n, SECOND_NS, ns);
}

static void add_rates(struct xvt_json *j, const struct xvt_session *s, const struct xvt_ring *r)
{
	const struct xvt_ring_rate *of = r->status.rate.second == s->second.number ? &r->status.rate
					 : r->status.rate_before.second == s->second.number
						 ? &r->status.rate_before
						 : NULL;

	xvt_json_add_u64(j, "events_s", of ? rate(s, of->events) : 0);
	xvt_json_add_u64(j, "lost_s", of ? rate(s, of->lost) : 0);
}

static void add_counts(struct xvt_json *j, const struct xvt_ring_stats *st)
{
	struct xvt_json *by;

	xvt_json_add_u64(j, "attempted", st->attempted);
	xvt_json_add_u64(j, "events", st->events);
	xvt_json_add_u64(j, "lost", lost_of(st));
	by = xvt_lost_to_json(j, st->lost);
	xvt_json_add_u64(by, "overwritten", st->overwritten);
	xvt_json_add_u64(by, "dropped", st->dropped);
	xvt_json_add_u64(j, "discarded", st->discarded);
	xvt_json_add_u64(j, "late", st->late);
	xvt_json_add_u64(j, "backlog", st->backlog);
	xvt_json_add_u64(j, "unconfirmed", st->unconfirmed);
	xvt_json_add_u64(j, "in_flight", st->in_flight);
}

static void add_ring(struct xvt_json *j, const struct xvt_session *s, const struct xvt_ring *r)
{
	xvt_json_add_u64(j, "ring", r->index);
	xvt_json_add_u64(j, "cpu", r->session.reported_info.cpu);
	xvt_json_add_text(j, "kind", xvt_ring_kind(r->session.reported_info.type));
	xvt_json_add_text(j, "phase", ring_phase(r));
	add_counts(j, &r->session.reported_stats);
	add_rates(j, s, r);
	xvt_json_add_u64(j, "lag_ns",
			 r->status.lag_second == s->second.number ? r->status.lag_ns : 0);
	xvt_json_add_u64(j, "size_bytes", r->region->g.ring_size);
	xvt_json_add_u64(j, "undrained_bytes", undrained_bytes(r));
	xvt_clock_to_json(j, r->session.reported_stats.source,
			  r->session.reported_stats.bound_ns_max,
			  r->session.reported_stats.rejected);
}

/* Returns false for a ring that never had a clock or a RING chunk: it does not write either. */
static bool worth_a_line(const struct xvt_ring *r)
{
	return r->session.announced || r->phase != XVT_PHASE_NEW;
}

static const char *vm_phase(const struct xvt_vm *v)
{
	const enum xvt_vm_state state = xvt_vm_state(v);

	return state == XVT_STATE_RECORDED && v->vmm.departed ? v->vmm.departed
							      : xvt_vm_state_shown(state);
}

static void add_waits(struct xvt_json *j, const struct xvt_vm *v)
{
	const enum xvt_vm_waits w =
		v->phase == XVT_VM_GONE ? XVT_WAITS_NOT : xvt_session_vm_waits(v);
	char text[XVT_WAITS_TEXT];

	if (w == XVT_WAITS_NOT) {
		xvt_json_add_null(j, "waits");
		return;
	}
	xvt_json_add_text(j, "waits", xvt_session_vm_waits_name(w));
	xvt_json_add_text(j, "waits_text", xvt_session_vm_waits_text(v, w, text));
}

/* The word for what writes the events. */
static const char *vm_way(const struct xvt_vm *v)
{
	const char *way;

	if (xvt_vm_is_host(v))
		return "host";
	if (v->passive)
		return "ftrace";
	if (v->phase == XVT_VM_WAITING)
		return "region"; /* nothing has formatted it */
	if (v->relay.of)
		return "relay";
	way = xvt_host_region_way(v->region.hdr.kind);
	return way ? way : "region";
}

static void add_vm(struct xvt_json *j, const struct xvt_session *s, struct xvt_vm *v)
{
	char uuid[XVT_UUID_TEXT];

	xvt_uuid_text(v->uuid, uuid);
	xvt_json_add_text(j, "name", v->name);
	xvt_json_add_text(j, "kind", xvt_vm_is_host(v) ? "host" : "guest");
	xvt_json_add_text(j, "way", vm_way(v));
	if (v->passive)
		xvt_passive_names_to_json(j, v);
	xvt_json_add_text(j, "uuid", uuid);
	if (xvt_vm_is_host(v))
		xvt_json_add_null(j, "region");
	else
		xvt_json_add_text(j, "region", v->path);
	xvt_json_add_text(j, "phase", vm_phase(v));
	if (v->phase == XVT_VM_GONE)
		xvt_json_add_text(j, "why", v->why);
	add_waits(j, v);
	xvt_json_add_bool(j, "stopped", xvt_vm_is_paused(v));
	xvt_json_add_u64(j, "paused_ns", xvt_vm_paused_ns(s, v));
	xvt_json_add_u64(j, "memory_limit_bytes", xvt_pool_most(&v->pool));
	xvt_json_add_u64(j, "memory_bytes", xvt_pool_used(&v->pool));
	xvt_json_add_bool(j, "memory_full", v->status.memory_full);
	xvt_json_add_bool(j, "loose", v->loose.on);
	xvt_json_add_u64(j, "rings_not_recorded", v->table.rings_more);
	xvt_json_add_bool(j, "refused_other", v->header.claim & XVT_CLAIM_REFUSED);
	xvt_json_add_u64(j, "notes_left_out", v->notes.left_out);
	xvt_json_add_bool(j, "barred", v->stall.barred);
	xvt_json_add_u64(j, "bars", v->stall.total_bars);
}

/* The machine with that number in the trace, or with the next one that is shown: machines between
 * them may have been freed since the last piece of the answer. NULL: none. */
static struct xvt_vm *vm_from(const struct xvt_session *s, uint32_t id)
{
	size_t i;

	for (i = 0; i < s->nr_vms && (s->vms[i]->id < id || !is_shown(s->vms[i])); i++)
		;
	return i < s->nr_vms ? s->vms[i] : NULL;
}

bool xvt_session_status_vm(const struct xvt_session *s, uint32_t *vm, uint32_t *ring,
			   struct xvt_json *j)
{
	struct xvt_vm *v = vm_from(s, *vm);
	uint32_t count = v && v->rings ? v->region.g.ring_count : 0, shown = 0, looked = 0;
	struct xvt_json *rings;

	if (!v)
		return false;
	if (v->id != *vm)
		*ring = 0;
	*vm = v->id;
	if (!*ring)
		add_vm(j, s, v);
	rings = xvt_json_add_array(j, "rings");
	for (; *ring < count && shown < PIECE_RINGS && looked < PIECE_LOOKS; ++*ring, looked++) {
		const struct xvt_ring *r = v->rings[*ring];

		if (r && worth_a_line(r)) {
			add_ring(xvt_json_add_object(rings, NULL), s, r);
			shown++;
		}
	}
	if (*ring < count)
		return true;
	++*vm;
	*ring = 0;
	return true;
}

/* Sums of machines that have left, and are in no list any more, with what is not shown any more. */
static void add_left(struct xvt_json *j, const struct xvt_session *s)
{
	struct xvt_json *o = xvt_json_add_object(j, "left");
	struct xvt_sums left = s->left;
	uint64_t shown = 0;
	uint32_t i, k;

	for (i = 0; i < s->nr_vms; i++) {
		const struct xvt_vm *vm = s->vms[i];

		shown += is_shown(vm);
		left.machines += !is_shown(vm);
		for (k = 0; !is_shown(vm) && vm->rings && k < vm->region.g.ring_count; k++) {
			if (vm->rings[k])
				xvt_ring_add_sums(vm->rings[k], &left);
		}
	}
	xvt_json_add_u64(o, "machines", left.machines);
	xvt_json_add_u64(o, "events", left.events);
	xvt_json_add_u64(o, "lost", left.lost);
	xvt_json_add_u64(o, "late", left.late);
	xvt_json_add_u64(j, "machines", shown);
}

void xvt_session_status(const struct xvt_session *s, struct xvt_json *j)
{
	const uint64_t now_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	const uint64_t waited_ns = xvt_session_waited_ns(s);

	xvt_json_add_text(j, "mode", s->opt.mode == XVT_ENABLE_OVERWRITE ? "overwrite" : "stop");
	xvt_json_add_bool(j, "joined", s->passes.joined);
	xvt_json_add_bool(j, "ending", s->off.clock != 0);
	xvt_json_add_u64(j, "now_ns", now_ns);
	xvt_json_add_u64(j, "started_ns", xvt_host_clock_ns(&s->clock, s->start_clock));
	xvt_json_add_u64(j, "counted_ns",
			 s->second.clock ? xvt_host_clock_ns(&s->clock, s->second.clock) : 0);
	xvt_json_add_u64(j, "watermark_ns", s->merge.watermark);
	xvt_json_add_u64(j, "watermark_lag_ns",
			 s->merge.watermark ? since(now_ns, s->merge.watermark) : 0);
	xvt_json_add_u64(j, "loose_events", s->merge.loose);
	xvt_json_add_u64(j, "bytes", xvt_trace_bytes(s->trace));
	xvt_json_add_u64(j, "unwritten_bytes",
			 since(xvt_trace_bytes(s->trace), xvt_trace_written(s->trace)));
	xvt_json_add_u64(j, "disk_waited_ns", waited_ns);
	/* Of the last whole second, or of the current one, which a slow disk prolongs. */
	xvt_json_add_bool(j, "disk_slow",
			  s->second.disk_told ||
				  since(waited_ns, s->second.waited_ns) > SECOND_NS / DISK_PART);
	xvt_json_add_bool(j, "disk_full", xvt_session_disk_full(s));
	xvt_json_add_u64(j, "memory_limit_bytes", s->opt.memory_bytes);
	add_left(j, s);
}
