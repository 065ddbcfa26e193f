// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_salvage.c - `xvtrace salvage`: write everything readable in a region whose guest is gone,
 * except for what an earlier trace holds. The region is not changed. Records past commit are
 * included and flagged: their header and time were written before the payload, DONE after it.
 */
#define _GNU_SOURCE
#include "cli/cmd.h"
#include "cli/machines.h"
#include "merge/put.h"
#include "trace/file_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct salvage_options {
	const char *output;
	const char *name;
	bool quiet;
};

#define O(field, name, letter, type, metavar, help) \
	XVT_OPT(struct salvage_options, field, name, letter, type, metavar, help)

static const struct xvt_opt options[] = {
	O(output, "output", 'o', XVT_OPT_STRING, "FILE.xvt", "the trace to write"),
	O(name, "name", 'n', XVT_OPT_STRING, "NAME", "the machine's name (default: its own)"),
	O(quiet, "quiet", 'q', XVT_OPT_BOOL, NULL, "print no summary"),
	XVT_OPT_END,
};

struct salvage {
	struct xvt_host_region region;
	struct xvt_host_clock clock;
	struct xvt_loop *loop;
	struct xvt_pool pool;
	struct xvt_merge merge;
	struct xvt_trace_writer *trace;
	struct xvt_ring **rings;
	uint32_t nr_rings;
	bool unaccounted_before; /* its recorder did not end in order, either */
	uint64_t events;
	uint64_t recovered;
};

static int locate(void *arg, struct xvt_run *run)
{
	struct salvage *s = arg;

	return xvt_run_put(run, s->trace);
}

static int put_lost(void *arg, const struct xvt_window *w, uint32_t i)
{
	struct salvage *s = arg;
	const struct xvt_lost *lost;
	const struct xvt_event_hdr h = xvt_window_event(w, i, &lost);

	xvt_ring_reported(xvt_window_run(w, i)->ring, lost);
	return xvt_trace_event(s->trace, &h, lost);
}

static int emit(void *arg, const struct xvt_window *w)
{
	static const struct xvt_window_ops ops = { .other = put_lost };
	struct salvage *s = arg;
	uint32_t i;

	for (i = 0; i < w->nr_runs; i++) {
		const struct xvt_run *run = w->runs[i];
		const struct xvt_ring_stats *st = &run->ring->account.stats;
		const uint64_t events = st->events, recovered = st->recovered;

		xvt_run_count(run, run->taken, run->ring_flags | w->flags);
		s->events += st->events - events;
		s->recovered += st->recovered - recovered;
	}
	return xvt_window_put(w, s->trace, &ops, s);
}

/*
 * Get the last clock node that a recorder left in the region, if it is valid, and set the map's
 * rate. Without a node, the guest's own ticks are the only time.
 */
static void read_hint(struct salvage *s, struct xvt_ring *r, struct xvt_clock_node *node)
{
	uint64_t hz;

	if (!xvt_ring_hint(r, node, &hz)) {
		*node = (struct xvt_clock_node){ .ring = r->id, .source = XVT_SOURCE_NONE };
		hz = s->region.hdr.clock_hz;
		if (hz < 1000 || hz > 20000000000ull)
			hz = s->clock.hz;
	}
	r->clock.map.hz = hz;
}

/* Use this node as the ring's only one: all events are placed from it, unconfirmed. */
static void use_node(struct salvage *s, struct xvt_ring *r, struct xvt_clock_node *node)
{
	xvt_clock_map_add(&r->clock.map, node);
	r->clock.map.closed = true;
	r->account.stats.source = node->source;
	xvt_trace_put(s->trace, XVT_CHUNK_NODE, node, sizeof(*node), NULL, 0);
}

static int add_ring(struct salvage *s, uint32_t index)
{
	struct xvt_ring *r = calloc(1, sizeof(*r));
	struct xvt_clock_node node;
	struct xvt_ring_info info;

	if (!r)
		return -ENOMEM;
	r->id = s->nr_rings;
	r->index = index;
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
	r->region = &s->region;
	r->ctl = xvt_host_ring_ctl(&s->region, index);
	r->host = xvt_host_ring_host(&s->region, index);
	r->pool = &s->pool;
	r->host_clock = &s->clock;
	r->salvage = true;
	r->decode.unaccounted_before = s->unaccounted_before;
	r->mode = xvt_load(&r->host->enable) == XVT_ENABLE_OVERWRITE ? XVT_ENABLE_OVERWRITE
								     : XVT_ENABLE_STOP;
	xvt_ring_attach(r);
	if (r->drain.last.resv == 0) {
		free(r);
		return 0;
	}
	xvt_clock_map_init(&r->clock.map, s->clock.hz);
	read_hint(s, r, &node);
	info = (struct xvt_ring_info){
		.clock_hz = r->clock.map.hz,
		.ring = r->id,
		.index = index,
		.type = xvt_load(&r->ctl->type),
		.cpu = xvt_load(&r->ctl->cpu),
		.hw_id = xvt_load(&r->ctl->hw_id),
		.pid = xvt_load(&r->ctl->pid),
		.tid = xvt_load(&r->ctl->tid),
		.clock_id = xvt_load(&r->ctl->clock_id),
		.mode = r->mode,
		.subbuf_size = s->region.g.subbuf_size,
		.subbuf_count = s->region.g.subbuf_count,
		.before = r->account.base_delivered + r->account.base_overwritten,
	};
	xvt_trace_put(s->trace, XVT_CHUNK_RING, &info, sizeof(info), NULL, 0);
	use_node(s, r, &node);
	s->rings[s->nr_rings++] = r;
	return 0;
}

static void copy_metadata(struct salvage *s)
{
	const struct xvt_geometry *g = &s->region.g;
	const struct xvt_meta_hdr *h = (const void *)(s->region.map + g->meta_off);
	uint64_t room = g->meta_size - sizeof(*h), committed = xvt_load(&h->committed), at = 0;
	const uint8_t *area = (const uint8_t *)(h + 1);
	bool warned = false;

	if (committed > room)
		return;
	while (committed - at >= sizeof(struct xvt_meta_tlv)) {
		struct xvt_meta_info info = { 0 };
		struct xvt_meta_tlv tlv;
		struct xvt_fault fault;
		int64_t whole;

		memcpy(&tlv, area + at, sizeof(tlv));
		whole = xvt_check_tlv(&tlv, committed - at, &fault);
		if (whole < 0)
			return;
		if (tlv.len > XVT_META_LEN_MAX) {
			if (!warned)
				xvt_warn("salvage",
					 "metadata of type %u is %u bytes long; what is longer "
					 "than %u is left out",
					 tlv.type, tlv.len, XVT_META_LEN_MAX);
			warned = true;
			at += (uint64_t)whole;
			continue;
		}
		info.type = tlv.type;
		info.id = tlv.id;
		info.generation = tlv.generation;
		xvt_trace_put(s->trace, XVT_CHUNK_META, &info, sizeof(info),
			      area + at + sizeof(tlv), tlv.len);
		at += (uint64_t)whole;
	}
}

static int read_rings(struct salvage *s)
{
	int64_t moved;
	uint32_t i;

	for (i = 0; i < s->nr_rings; i++)
		xvt_drain_look(s->rings[i], s->loop, 0);
	for (i = 0; i < s->nr_rings; i++) {
		while (s->rings[i]->drain.reads) {
			int err = xvt_loop_run(s->loop, 1000000000u);

			if (err < 0)
				return err;
		}
		xvt_drain_take(s->rings[i], false);
	}
	moved = xvt_merge_pass(&s->merge, s->rings, s->nr_rings);
	return moved < 0 ? (int)moved : 0;
}

static void finish_rings(struct salvage *s, bool quiet)
{
	uint64_t unfinished = 0;
	uint32_t i;

	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];
		struct xvt_lost lost;

		if (r->fault.is_new)
			xvt_warn("salvage", "ring %u: %s", r->index, r->fault.text);
		if (xvt_ring_tail_loss(r, &lost)) {
			struct xvt_event_hdr h = { .host_ns = s->merge.last_ns,
						   .guest_clock = r->head.last_guest,
						   .ring_flags = r->id,
						   .id = XVT_ID_LOST,
						   .len = sizeof(lost) };

			xvt_trace_event(s->trace, &h, &lost);
		}
		xvt_ring_account(r, true);
		/* Without a second node, the drift of the clock from its line is unknown. */
		r->account.stats.bound_ns_max = XVT_NO_BOUND;
		unfinished += r->decode.unfinished;
		xvt_trace_put(s->trace, XVT_CHUNK_STATS, &r->account.stats,
			      sizeof(r->account.stats), NULL, 0);
	}
	if (!quiet)
		fprintf(stderr,
			"xvtrace: salvaged %" PRIu64 " events from %u rings, %" PRIu64
			" of them past commit; %" PRIu64 " records were never finished\n",
			s->events, s->nr_rings, s->recovered, unfinished);
}

static int start_trace(struct salvage *s, struct xvt_sink *sink, const char *name)
{
	struct xvt_vm_info vm = { .region_kind = s->region.hdr.kind,
				  .generation = s->region.hdr.generation };
	struct xvt_file_info info;
	int err;

	memset(&info, 0, sizeof(info));
	if (getrandom(info.uuid, sizeof(info.uuid), 0) != sizeof(info.uuid))
		return -EIO;
	info.host_clock_id = s->clock.clock_id;
	info.mult = s->clock.mult;
	info.shift = s->clock.shift;
	info.base_clock = s->clock.base_clock;
	info.base_ns = s->clock.base_ns;
	info.realtime_ns = s->clock.realtime_ns;
	info.boottime_ns = s->clock.boottime_ns;
	info.wall_error_ns = s->clock.wall_error_ns;
	err = xvt_trace_writer_new(&s->trace, sink, &info);
	if (err)
		return err;
	memcpy(vm.boot_uuid, s->region.hdr.boot_uuid, sizeof(vm.boot_uuid));
	vm.clock_hz = s->region.hdr.clock_hz;
	snprintf(vm.name, sizeof(vm.name), "%.*s", XVT_NAME_LEN - 1,
		 name			    ? name
		 : s->region.hdr.vm_name[0] ? s->region.hdr.vm_name
					    : "guest");
	return xvt_trace_put(s->trace, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0);
}

/* Find out about the region's recorder. A recorder that ends in order clears its id. */
static void look_for_recorder(struct salvage *s, bool quiet)
{
	const uint64_t id = xvt_load(&xvt_host_region_page(&s->region)->attach_id);
	const bool at_work = xvt_host_region_claim(&s->region) != 0;

	if (at_work && !quiet)
		xvt_warn("salvage", "another xvtrace is at work on this region; what it has taken "
				    "is in its file");
	s->unaccounted_before = id && id != XVT_ATTACH_LOOKS && !at_work;
	if (s->unaccounted_before && !quiet)
		xvt_warn("salvage",
			 "its recorder did not end in order, either (trace %016" PRIx64
			 "); events that it had taken and not written are counted as overwritten",
			 __builtin_bswap64(id));
}

static int salvage(struct salvage *s, const struct salvage_options *opt)
{
	struct xvt_file_sink *sink;
	uint32_t i;
	int err, end_err;

	err = xvt_file_sink_new(&sink, s->loop, opt->output);
	if (err)
		return err;
	err = start_trace(s, xvt_file_sink_base(sink), opt->name);
	if (err) {
		xvt_file_sink_discard(sink);
		goto out;
	}
	copy_metadata(s);
	look_for_recorder(s, opt->quiet);
	for (i = 0; !err && i < s->region.g.ring_count; i++)
		err = add_ring(s, i);
	if (!err)
		err = read_rings(s);
	if (!err)
		finish_rings(s, opt->quiet);
	end_err = xvt_trace_writer_finish(s->trace);
	err = err ? err : end_err;
out:
	end_err = xvt_file_sink_close(sink);
	return err ? err : end_err;
}

static int cmd_salvage(const struct xvt_command *cmd, int argc, char **argv)
{
	static const struct xvt_merge_ops ops = { .emit = emit, .locate = locate };
	struct salvage_options opt = { 0 };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL), err, loop_err;
	struct salvage s;
	char why[256];
	uint32_t i;

	if (first < 0)
		return first == -2 ? XVT_EXIT_OK : XVT_EXIT_USAGE;
	if (argc - first != 1 || !opt.output) {
		xvt_error("salvage", "usage: xvtrace salvage REGION -o FILE.xvt");
		return XVT_EXIT_USAGE;
	}
	memset(&s, 0, sizeof(s));
	err = xvt_host_region_open(&s.region, argv[first], false);
	if (err) {
		xvt_error(argv[first], "%s", xvt_host_region_open_why(err));
		return XVT_EXIT_FAIL;
	}
	err = xvt_host_region_check(&s.region);
	if (err) {
		xvt_fault_text(&s.region.fault, why, sizeof(why));
		xvt_error(argv[first], "%s%s", why, xvt_region_hint(err));
		xvt_host_region_close(&s.region);
		return XVT_EXIT_FAIL;
	}
	s.rings = calloc(s.region.g.ring_count, sizeof(*s.rings));
	xvt_pool_init(&s.pool, UINT64_MAX / 4);
	xvt_merge_init(&s.merge, &ops, &s);
	err = s.rings ? 0 : -ENOMEM;
	loop_err = err ? 0 : xvt_loop_new(&s.loop);
	if (!err && !loop_err)
		err = xvt_host_clock_init(&s.clock);
	if (!err && !loop_err)
		err = salvage(&s, &opt);
	for (i = 0; i < s.nr_rings; i++) {
		xvt_ring_fini(s.rings[i]);
		free(s.rings[i]);
	}
	free(s.rings);
	xvt_loop_free(s.loop);
	xvt_merge_fini(&s.merge);
	xvt_pool_fini(&s.pool);
	xvt_host_region_close(&s.region);
	if (loop_err)
		xvt_error_io_uring(loop_err);
	else if (err)
		xvt_error(opt.output, "%s", xvt_file_sink_why(err));
	if (err || loop_err)
		return XVT_EXIT_FAIL;
	return XVT_EXIT_OK;
}

const struct xvt_command xvt_cmd_salvage = {
	.name = "salvage",
	.args = "REGION -o FILE.xvt",
	.brief = "save what a region holds whose guest is gone",
	.opts = options,
	.run = cmd_salvage,
};
