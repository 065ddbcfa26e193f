// SPDX-License-Identifier: GPL-2.0
/*
 * test_verify.c - a good trace passes; each lie in it, told with right checksums, is found and
 * named. Runs the command itself.
 */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "trace/crc32c.h"
#include "synth.h"
#include "xvt_ring.h"

static struct synth_sink sink;
static struct synth made;

static void setup(void)
{
	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, 240,
		   SYNTH_SAME_UUID | SYNTH_MARKS | SYNTH_RUNS | SYNTH_PAIRS);
}

static void teardown(void)
{
	synth_fini(&made);
	synth_sink_fini(&sink);
}

/* Run it on the bytes in the sink; its output is in `text` afterwards. */
static int verify(const char *option, char *text, size_t size)
{
	char path[256], out_path[256];
	char *argv[] = { "verify", path, (char *)option, NULL };
	int status, keep;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s", scratch_path("verify.xvt"));
	snprintf(out_path, sizeof(out_path), "%s", scratch_path("verify.out"));
	synth_sink_save(&sink, path);
	fflush(stdout);
	keep = dup(STDOUT_FILENO);
	ck_assert_ptr_nonnull(freopen(out_path, "w", stdout));
	status = xvt_cmd_verify.run(&xvt_cmd_verify, option ? 3 : 2, argv);
	fflush(stdout);
	dup2(keep, STDOUT_FILENO);
	close(keep);
	f = fopen(out_path, "r");
	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, size - 1, f);
	text[n] = '\0';
	fclose(f);
	return status;
}

/* The nth chunk of a type. */
static struct xvt_chunk_hdr *chunk(uint16_t type, unsigned int nth)
{
	for (size_t at = 0; at < sink.len;) {
		struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)(sink.bytes + at);

		if (h->type == type && nth-- == 0)
			return h;
		at += sizeof(*h) + ((h->len + 7) & ~7u);
	}
	ck_abort_msg("no such chunk");
}

static void sign(struct xvt_chunk_hdr *h)
{
	h->crc = 0;
	h->crc = xvt_crc32c(0, h, sizeof(*h) + h->len);
}

/* The nth event of a lane that is one; its chunk in *h. */
static struct xvt_event_hdr *event(uint16_t type, unsigned int nth, struct xvt_chunk_hdr **h)
{
	for (unsigned int c = 0;; c++) {
		uint8_t *p, *end;

		*h = chunk(type, c);
		p = (uint8_t *)(*h + 1) + sizeof(struct xvt_order_hdr);
		end = (uint8_t *)(*h + 1) + (*h)->len;
		while (p < end) {
			struct xvt_event_hdr *e = (struct xvt_event_hdr *)p;

			if (e->id >= XVT_ID_FIRST_EVENT && nth-- == 0)
				return e;
			p += sizeof(*e) + ((e->len + 7) & ~7u);
		}
	}
}

/* Flags an event's time as one that contradicts its clock, which its ring counts. */
static void flag(struct xvt_event_hdr *e)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_STATS, e->ring_flags & XVT_EVENT_RING_MASK);

	e->ring_flags |= XVT_EVENT_F_CLOCK;
	((struct xvt_ring_stats *)(h + 1))->clock_violations++;
	sign(h);
}

static void time_of_an_event(void)
{
	struct xvt_chunk_hdr *h;

	event(XVT_CHUNK_ORDER, 30, &h)->host_ns++;
	sign(h);
}

static void clock_of_an_event(void)
{
	struct xvt_chunk_hdr *h;

	event(XVT_CHUNK_ORDER, 30, &h)->guest_clock += 100;
	sign(h);
}

static void time_of_a_late_event(void)
{
	struct xvt_chunk_hdr *h;

	event(XVT_CHUNK_LATE, 1, &h)->host_ns--;
	sign(h);
}

static void order(void)
{
	struct xvt_chunk_hdr *h;

	event(XVT_CHUNK_ORDER, 40, &h)->host_ns -= 1000000;
	sign(h);
}

/* Two events of a ring so close that a tick less is the same nanosecond. */
static void clock_goes_back(uint32_t ring)
{
	struct xvt_chunk_hdr *h, *last = NULL;
	struct xvt_event_hdr *a = NULL, *b;

	for (unsigned int i = 0;; i++) {
		b = event(XVT_CHUNK_ORDER, i, &h);
		if ((b->ring_flags & XVT_EVENT_RING_MASK) != ring ||
		    b->ring_flags & XVT_EVENT_F_UNCONFIRMED)
			continue;
		/* 0.4 ns a tick, from a node at a whole ns: ticks 1 and 2 are the same ns. */
		if (a && h == last && a->guest_clock % 5 == 2)
			break;
		a = b;
		last = h;
	}
	/* Everything between them is in the way of their order. */
	for (uint8_t *p = (uint8_t *)a + sizeof(*a) + ((a->len + 7) & ~7u); p < (uint8_t *)b;) {
		struct xvt_event_hdr *e = (struct xvt_event_hdr *)p;

		e->ring_flags |= XVT_EVENT_F_CLOCK;
		e->host_ns = a->host_ns;
		p += sizeof(*e) + ((e->len + 7) & ~7u);
	}
	b->guest_clock = a->guest_clock - 1;
	b->host_ns = a->host_ns;
	sign(h);
}

static void clock_goes_back_in_the_last_epoch(void)
{
	clock_goes_back(0);
}

static void clock_goes_back_before_another_epoch(void)
{
	clock_goes_back(1);
}

static void equal_times_in_the_wrong_order(void)
{
	struct xvt_chunk_hdr *h;
	struct xvt_event_hdr *a = event(XVT_CHUNK_ORDER, 8, &h), *b;

	for (unsigned int i = 9;; i++) {
		b = event(XVT_CHUNK_ORDER, i, &h);
		if ((b->ring_flags & 3) < (a->ring_flags & 3))
			break;
		a = b;
	}
	b->host_ns = a->host_ns;
	b->ring_flags |= XVT_EVENT_F_CLOCK; /* so that only the order is wrong */
	sign(h);
}

static void a_node(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_NODE, 1);

	((struct xvt_clock_node *)(h + 1))->host_ns += 50;
	sign(h);
}

static void a_node_that_goes_back(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_NODE, 2);

	((struct xvt_clock_node *)(h + 1))->guest -= 40000000;
	sign(h);
}

static void a_sample(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_SAMPLES, 1);
	struct xvt_clock_sample *s = (struct xvt_clock_sample *)(h + 1);

	s->host_clock_lo += 1000;
	s->host_clock_hi += 1000;
	sign(h);
}

/* The nodes before and at the end of ring 0's last segment: what the drain saw, and what confirms
 * it, if it does. */
static struct xvt_clock_node *seen(bool confirmed)
{
	struct xvt_chunk_hdr *before = chunk(XVT_CHUNK_NODE, 1), *after = chunk(XVT_CHUNK_NODE, 2);
	struct xvt_chunk_hdr *stats = chunk(XVT_CHUNK_STATS, 0);
	struct xvt_clock_node *n = (struct xvt_clock_node *)(before + 1);

	n->source = XVT_SOURCE_DRAIN;
	n->segment_bound_ns = 5000000;
	if (confirmed)
		((struct xvt_clock_node *)(after + 1))->flags |= XVT_NODE_F_SINCE;
	((struct xvt_ring_stats *)(stats + 1))->bound_ns_max = 5000000;
	sign(stats);
	sign(before);
	sign(after);
	return n;
}

static void a_sample_beside_what_was_seen(void)
{
	seen(false);
	a_sample();
}

static void what_was_seen_is_confirmed(void)
{
	seen(true);
}

static void a_sample_beside_what_was_confirmed(void)
{
	seen(true);
	a_sample();
}

/* 50 ns off the line, but "within 40"; nothing is claimed of the events. */
static void what_was_confirmed_is_off_the_line(void)
{
	struct xvt_chunk_hdr *h;

	for (size_t at = 0; at < sink.len; at += sizeof(*h) + ((h->len + 7) & ~7u)) {
		h = (struct xvt_chunk_hdr *)(sink.bytes + at);
		if (h->type != XVT_CHUNK_ORDER && h->type != XVT_CHUNK_LATE)
			continue;
		for (uint32_t i = sizeof(struct xvt_order_hdr); i < h->len;) {
			struct xvt_event_hdr *e = (struct xvt_event_hdr *)((uint8_t *)(h + 1) + i);

			if (!(e->ring_flags & XVT_EVENT_RING_MASK))
				e->ring_flags |= XVT_EVENT_F_CLOCK;
			i += sizeof(*e) + ((e->len + 7) & ~7u);
		}
		sign(h);
	}
	seen(true)->host_ns += 50;
	sign(chunk(XVT_CHUNK_NODE, 1));
	h = chunk(XVT_CHUNK_NODE, 2);
	((struct xvt_clock_node *)(h + 1))->segment_bound_ns = 40;
	sign(h);
}

static void a_bound_that_is_too_small(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_SAMPLES, 1);
	struct xvt_clock_sample *s = (struct xvt_clock_sample *)(h + 1);

	/* 60 ns are 150 ticks; the sample is 90 wide on each side. */
	s->host_clock_lo += 260;
	s->host_clock_hi += 260;
	sign(h);
}

static void a_bound_that_just_holds(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_SAMPLES, 1);
	struct xvt_clock_sample *s = (struct xvt_clock_sample *)(h + 1);

	s->host_clock_lo += 238;
	s->host_clock_hi += 238;
	sign(h);
	/* A formula's node is not made of it alone. */
	h = chunk(XVT_CHUNK_NODE, 1);
	((struct xvt_clock_node *)(h + 1))->source = XVT_SOURCE_GUEST;
	((struct xvt_clock_node *)(h + 1))->bound_ns = 3;
	sign(h);
}

static void a_formula_that_is_not_exact(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_NODE, 1);

	((struct xvt_clock_node *)(h + 1))->source = XVT_SOURCE_KVM;
	sign(h);
}

static void a_sample_of_a_formula(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_SAMPLES, 1);

	((struct xvt_clock_sample *)(h + 1))->source = XVT_SOURCE_KVM;
	sign(h);
}

static struct xvt_timebase *timebase(struct xvt_chunk_hdr **h)
{
	*h = chunk(XVT_CHUNK_TIMEBASE, 0);
	return (struct xvt_timebase *)(*h + 1);
}

static void the_hosts_clock_steps(void)
{
	struct xvt_chunk_hdr *h;

	timebase(&h)[1].base_ns++;
	sign(h);
}

static void the_hosts_clock_has_another_slope(void)
{
	struct xvt_chunk_hdr *h;

	timebase(&h)[0].mult += 430;
	sign(h);
}

static void the_hosts_clock_is_not_in_order(void)
{
	struct xvt_chunk_hdr *h;

	timebase(&h)[1].base_clock = timebase(&h)[0].base_clock;
	sign(h);
}

static void the_hosts_clock_stands_still(void)
{
	struct xvt_chunk_hdr *h;

	timebase(&h)[1].mult = 0;
	sign(h);
}

/* Without its lines the samples after the knee lie beside the map. */
static void the_hosts_clock_is_missing(void)
{
	struct xvt_chunk_hdr *h;

	timebase(&h);
	h->type = 998;
	sign(h);
}

static void the_sum_of_counters(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_STATS, 1);

	((struct xvt_ring_stats *)(h + 1))->attempted++;
	sign(h);
}

static void a_counter(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_STATS, 1);
	struct xvt_ring_stats *s = (struct xvt_ring_stats *)(h + 1);

	s->events++;
	s->attempted++;
	sign(h);
}

/* Ring 0 lost 12 and 3 were overwritten, and a record says so where it was. */
static void a_lost_one_of_another_cause(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_STATS, 0);
	struct xvt_ring_stats *s = (struct xvt_ring_stats *)(h + 1);

	s->lost[XVT_LOST_FULL]--;
	s->lost[XVT_LOST_NEST]++;
	sign(h);
}

static void one_lost_less_than_told(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_STATS, 0);
	struct xvt_ring_stats *s = (struct xvt_ring_stats *)(h + 1);

	s->lost[XVT_LOST_FULL]--;
	s->attempted--;
	sign(h);
}

static void overwritten(int more)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_STATS, 0);
	struct xvt_ring_stats *s = (struct xvt_ring_stats *)(h + 1);

	s->overwritten += (uint64_t)more;
	s->attempted += (uint64_t)more;
	sign(h);
}

static void fewer_overwritten_than_told(void)
{
	overwritten(-1);
}

static void more_overwritten_than_told(void)
{
	overwritten(1);
}

/* The recorder says that it is not sure of one. */
static void an_overwritten_one_in_doubt(void)
{
	overwritten(-1);
	((struct xvt_ring_stats *)(chunk(XVT_CHUNK_STATS, 0) + 1))->overwritten_doubt = 1;
	sign(chunk(XVT_CHUNK_STATS, 0));
}

static void tell_overwritten(int more)
{
	for (unsigned int c = 0;; c++) {
		struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_ORDER, c);
		uint8_t *p = (uint8_t *)(h + 1) + sizeof(struct xvt_order_hdr);
		uint8_t *end = (uint8_t *)(h + 1) + h->len;

		while (p < end) {
			struct xvt_event_hdr *e = (struct xvt_event_hdr *)p;

			if (e->id == XVT_ID_LOST) {
				((struct xvt_lost *)(e + 1))->overwritten += (uint64_t)more;
				sign(h);
				return;
			}
			p += sizeof(*e) + ((e->len + 7) & ~7u);
		}
	}
}

static void one_told_too_few(void)
{
	tell_overwritten(-1);
}

static void one_told_too_many(void)
{
	tell_overwritten(1);
}

static void dropped(int more)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_STATS, 0);
	struct xvt_ring_stats *s = (struct xvt_ring_stats *)(h + 1);

	s->dropped += (uint64_t)more;
	s->attempted += (uint64_t)more;
	sign(h);
}

static void more_dropped_than_told(void)
{
	dropped(1);
}

static void a_flag(void)
{
	struct xvt_chunk_hdr *h;

	event(XVT_CHUNK_ORDER, 30, &h)->ring_flags ^= XVT_EVENT_F_RECOVERED;
	sign(h);
}

static void a_late_event_in_the_main_lane(void)
{
	struct xvt_chunk_hdr *h;

	event(XVT_CHUNK_ORDER, 30, &h)->ring_flags |= XVT_EVENT_F_LATE;
	sign(h);
}

static void a_ring_that_is_not_there(void)
{
	struct xvt_chunk_hdr *h;

	event(XVT_CHUNK_ORDER, 30, &h)->ring_flags |= 77;
	sign(h);
}

static void a_watermark(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_ROUND, 0);

	((struct xvt_round *)(h + 1))->watermark_ns += 500000;
	sign(h);
}

static void the_end(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_END, 0);

	((struct xvt_end *)(h + 1))->events--;
	sign(h);
}

static void the_index(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_INDEX, 0);

	((struct xvt_index_entry *)(h + 1))[1].last_ns++;
	sign(h);
}

static void a_chunk_is_gone(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_NOTE, 0);
	size_t whole = sizeof(*h) + ((h->len + 7) & ~7u);
	uint8_t *at = (uint8_t *)h;

	memmove(at, at + whole, sink.len - (size_t)(at - sink.bytes) - whole);
	sink.len -= whole;
}

static void a_chunk_is_there_twice(void)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_NOTE, 0);
	size_t whole = sizeof(*h) + ((h->len + 7) & ~7u);
	size_t at = (size_t)((uint8_t *)h - sink.bytes);

	sink.bytes = realloc(sink.bytes, sink.room + whole);
	memmove(sink.bytes + at + whole, sink.bytes + at, sink.len - at);
	sink.len += whole;
}

static void a_checksum(void)
{
	struct xvt_chunk_hdr *h;

	event(XVT_CHUNK_ORDER, 30, &h)->guest_clock++;
}

static void an_event_that_is_too_long(void)
{
	struct xvt_chunk_hdr *h;

	event(XVT_CHUNK_ORDER, 30, &h)->len = 60000;
	sign(h);
}

/* What the host saw of one in ring 0. */
static struct xvt_mark_seen *a_mark(struct xvt_chunk_hdr **h)
{
	struct xvt_mark_seen *m;

	*h = chunk(XVT_CHUNK_MARKS, 0);
	m = (struct xvt_mark_seen *)(*h + 1);
	m += (*h)->len / sizeof(*m) / 2; /* well inside */
	while (m->ring)
		m++;
	return m;
}

static void a_mark_seen_too_early(void)
{
	struct xvt_chunk_hdr *h;

	/* 62 ns are 155 ticks, and it was 1000 after the stamp. */
	a_mark(&h)->host_clock_after -= 1160;
	a_mark(&h)->host_clock_before -= 1160;
	sign(h);
}

static void a_mark_asked_for_too_late(void)
{
	struct xvt_chunk_hdr *h;

	a_mark(&h)->host_clock_after += 1160;
	a_mark(&h)->host_clock_before += 1160;
	sign(h);
}

static void a_mark_that_is_just_right(void)
{
	struct xvt_chunk_hdr *h;

	a_mark(&h)->host_clock_after -= 1150;
	a_mark(&h)->host_clock_before -= 1150;
	sign(h);
}

static void a_mark_the_wrong_way_round(void)
{
	struct xvt_chunk_hdr *h;

	a_mark(&h)->host_clock_after -= 3000;
	sign(h);
}

static void a_ring_of_no_machine(void)
{
	uint8_t *at = sink.bytes + synth_find_chunk(&sink, XVT_CHUNK_RING, 0);

	((struct xvt_ring_info *)(at + sizeof(struct xvt_chunk_hdr)))->vm = 9;
	synth_sign_chunk(at);
}

static void a_mark_of_no_ring(void)
{
	struct xvt_chunk_hdr *h;

	a_mark(&h)->ring = 77;
	sign(h);
}

static void a_mark_that_was_lost(void)
{
	struct xvt_chunk_hdr *h;

	a_mark(&h)->number += 1000000;
	sign(h);
}

/* The record of that number; its chunk in *h. */
static struct xvt_event_hdr *mark_record(uint64_t number, struct xvt_chunk_hdr **h)
{
	for (unsigned int c = 0;; c++) {
		uint8_t *p, *end;

		*h = chunk(XVT_CHUNK_ORDER, c);
		p = (uint8_t *)(*h + 1) + sizeof(struct xvt_order_hdr);
		end = (uint8_t *)(*h + 1) + (*h)->len;
		while (p < end) {
			struct xvt_event_hdr *e = (struct xvt_event_hdr *)p;

			if (e->id == XVT_ID_MARK && *(uint64_t *)(e + 1) == number)
				return e;
			p += sizeof(*e) + ((e->len + 7) & ~7u);
		}
	}
}

/* A guest that was set back writes an old one again: that says nothing. */
static void a_mark_that_comes_again(void)
{
	struct xvt_chunk_hdr *h;
	struct xvt_mark_seen *m = a_mark(&h), *next = m + 1;
	struct xvt_event_hdr *e;

	while (next->ring)
		next++;
	e = mark_record(next->number, &h);
	*(uint64_t *)(e + 1) = m->number;
	sign(h);
}

/* Its time is flagged, so nothing is claimed. */
static void a_mark_without_a_map(void)
{
	struct xvt_chunk_hdr *h;
	uint64_t number = a_mark(&h)->number;

	a_mark_seen_too_early();
	mark_record(number, &h)->ring_flags |= XVT_EVENT_F_UNCONFIRMED;
	sign(h);
}

/* One with a single event in it, 500 ns from either end. */
static struct xvt_run_span *a_span(struct xvt_chunk_hdr **h)
{
	struct xvt_run_span *span;

	*h = chunk(XVT_CHUNK_RUNS, 0);
	span = (struct xvt_run_span *)(*h + 1) + (*h)->len / sizeof(*span) / 2;
	while (span->exit_clock - span->enter_clock > 2510)
		span++;
	return span;
}

static void a_span_is_gone(void)
{
	struct xvt_chunk_hdr *h;

	a_span(&h)->vcpu = 77;
	sign(h);
}

static void a_span_of_another_machine(void)
{
	struct xvt_chunk_hdr *h;

	a_span(&h)->vm = 1;
	sign(h);
}

static void a_span_that_was_lost(void)
{
	struct xvt_chunk_hdr *h;

	a_span(&h)->flags = XVT_RUN_F_LOST;
	sign(h);
}

/* The bound is 62 ns, 155 ticks. */
static void a_span_that_is_too_late(void)
{
	struct xvt_chunk_hdr *h;

	a_span(&h)->enter_clock += 1250 + 165;
	sign(h);
}

static void a_span_that_is_just_in_time(void)
{
	struct xvt_chunk_hdr *h;

	a_span(&h)->enter_clock += 1250 + 145;
	sign(h);
}

static void a_span_that_is_too_early(void)
{
	struct xvt_chunk_hdr *h;

	a_span(&h)->exit_clock -= 1250 + 165;
	sign(h);
}

static void a_span_that_just_lasts(void)
{
	struct xvt_chunk_hdr *h;

	a_span(&h)->exit_clock -= 1250 + 145;
	sign(h);
}

static void a_span_backwards(void)
{
	struct xvt_chunk_hdr *h;

	a_span(&h)->exit_clock -= 3000;
	sign(h);
}

static void two_spans_at_once(void)
{
	struct xvt_chunk_hdr *h;
	struct xvt_run_span *span = a_span(&h);

	span->exit_clock = span[1].enter_clock + 10;
	sign(h);
}

/* Of that ring's vCPU three are left, with an event each. */
static void few_spans_of(uint32_t ring)
{
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_RUNS, ring);
	struct xvt_run_span *span = (struct xvt_run_span *)(h + 1);
	uint32_t n = h->len / sizeof(*span);

	for (uint32_t i = 0; i < n; i++)
		span[i].vcpu = i >= n / 3 && i < n / 3 + 3 ? span[i].vcpu : 77 + ring;
	sign(h);
}

/* Nothing is said before the first and after the last, whatever comes before and after. */
static void few_spans(void)
{
	few_spans_of(0);
	few_spans_of(1);
	few_spans_of(2);
}

/* The nth clock pair of the main lane; its record and chunk in *e and *h. */
static struct xvt_clock_sync *a_pair(unsigned int nth, struct xvt_event_hdr **e,
				     struct xvt_chunk_hdr **h)
{
	for (unsigned int c = 0;; c++) {
		uint8_t *p, *end;

		*h = chunk(XVT_CHUNK_ORDER, c);
		p = (uint8_t *)(*h + 1) + sizeof(struct xvt_order_hdr);
		end = (uint8_t *)(*h + 1) + (*h)->len;
		for (; p < end; p += sizeof(**e) + (((*e)->len + 7) & ~7u)) {
			struct xvt_clock_sync *sync = (struct xvt_clock_sync *)(p + sizeof(**e));

			*e = (struct xvt_event_hdr *)p;
			if ((*e)->id == XVT_ID_CLOCK_SYNC && sync->reason == XVT_SYNC_PAIR &&
			    !nth--)
				return sync;
		}
	}
}

#define AMONG	12 /* between the nodes, and on the first of the host's lines */
/* 62 of the map there, 0 and 123 of the lines, 1000 that no line tells, 40 of the wall clock. */
#define PAIR_NS 1225

static void move_pair(int64_t ns)
{
	struct xvt_chunk_hdr *h;
	struct xvt_event_hdr *e;

	a_pair(AMONG, &e, &h)->realtime_ns += (uint64_t)ns;
	sign(h);
}

static void a_pair_ahead(void)
{
	move_pair(PAIR_NS + 2);
}

static void a_pair_behind(void)
{
	move_pair(-PAIR_NS - 2);
}

static void a_pair_that_just_fits(void)
{
	move_pair(PAIR_NS);
}

static void another_that_just_fits(void)
{
	move_pair(-PAIR_NS);
}

/* The wall clock is set a second forward on this line, at an unknown time. */
static void a_pair_after_it_was_set(void)
{
	move_pair(1000000000);
}

static void a_pair_of_another_day(void)
{
	move_pair(86400000000000);
}

static void a_pair_of_no_day(void)
{
	move_pair(INT64_MAX);
}

static void a_pair_from_the_future(void)
{
	struct xvt_chunk_hdr *h;
	struct xvt_event_hdr *e;

	a_pair(AMONG, &e, &h)->clock += 10000;
	sign(h);
}

static void a_pair_from_another_moment(void)
{
	struct xvt_chunk_hdr *h;
	struct xvt_event_hdr *e;

	a_pair(AMONG, &e, &h)->clock -= 10000;
	sign(h);
}

static void a_pair_without_a_map(void)
{
	struct xvt_chunk_hdr *h;
	struct xvt_event_hdr *e;

	a_pair(AMONG, &e, &h)->realtime_ns = 5;
	flag(e);
	sign(h);
}

static void a_pair_in_an_old_trace(void)
{
	struct xvt_chunk_hdr *h;

	timebase(&h)[0].wall_error_ns = 0;
	sign(h);
	a_pair_ahead();
}

/* Its record is what counts; a guest's word for its own times is no pair. */
static void a_pair_that_is_none(void)
{
	struct xvt_chunk_hdr *h;
	struct xvt_event_hdr *e;
	struct xvt_clock_sync *sync = a_pair(AMONG, &e, &h);

	sync->reason = XVT_SYNC_PERIODIC;
	sync->realtime_ns = 5;
	sign(h);
}

static void nothing(void)
{
}

static void a_flagged_time(void)
{
	struct xvt_chunk_hdr *h;
	struct xvt_event_hdr *e = event(XVT_CHUNK_ORDER, 30, &h);

	flag(e);
	e->host_ns++;
	sign(h);
}

static const struct {
	const char *name;
	void (*lie)(void);
	const char *said; /* NULL: no violation */
} lies[] = {
	{ "nothing", nothing, NULL },
	{ "a time with the flag for it", a_flagged_time, NULL },
	{ "a bound that just holds", a_bound_that_just_holds, NULL },
	{ "a formula that is not exact", a_formula_that_is_not_exact,
	  "is of source 2, a formula, and its bound is 40 ns" },
	{ "a sample of a formula", a_sample_of_a_formula, "and its sample of source 2" },
	{ "time of an event", time_of_an_event, "by the clock nodes, but the event says" },
	{ "clock of an event", clock_of_an_event, "by the clock nodes, but the event says" },
	{ "time of a late event", time_of_a_late_event, "by the clock nodes, but the event says" },
	{ "order", order, "the main lane is out of order" },
	{ "equal times", equal_times_in_the_wrong_order, "not in order of machine and ring" },
	{ "clock back", clock_goes_back_in_the_last_epoch, "goes back inside an epoch" },
	{ "clock back too", clock_goes_back_before_another_epoch,
	  "by the clock nodes, but the event" },
	{ "a node", a_node, "by the clock nodes, but the event says" },
	{ "a node that goes back", a_node_that_goes_back, "clock of epoch 0 goes back" },
	{ "a sample", a_sample, "but the map says" },
	{ "what was seen", a_sample_beside_what_was_seen, NULL },
	{ "what was confirmed", what_was_seen_is_confirmed, NULL },
	{ "a sample there", a_sample_beside_what_was_confirmed, "but the map says" },
	{ "what is off the line", what_was_confirmed_is_off_the_line,
	  "ns off the line that confirms it within 40 ns" },
	{ "a bound", a_bound_that_is_too_small, "but the map says" },
	{ "the host's clock steps", the_hosts_clock_steps, "the host's clock steps at counter" },
	{ "its slope", the_hosts_clock_has_another_slope, "the host's clock steps at counter" },
	{ "its order", the_hosts_clock_is_not_in_order, "TIMEBASE chunk makes no sense" },
	{ "its order too", the_hosts_clock_is_not_in_order, "on after one from" },
	{ "it stands", the_hosts_clock_stands_still, "stands still" },
	{ "it is missing", the_hosts_clock_is_missing, "but the map says" },
	{ "the sum", the_sum_of_counters, "is not the sum" },
	{ "a counter", a_counter, "the counters say" },
	{ "a flag", a_flag, "the counters say" },
	{ "a lane", a_late_event_in_the_main_lane, "a late event in the main lane" },
	{ "a ring", a_ring_that_is_not_there, "which the trace does not have" },
	{ "a watermark", a_watermark, "is below the watermark" },
	{ "the end", the_end, "the end says" },
	{ "the index", the_index, "entry 1 of the index" },
	{ "a chunk is gone", a_chunk_is_gone, "chunks are missing" },
	{ "a chunk twice", a_chunk_is_there_twice, "there before" },
	{ "a checksum", a_checksum, "checksum does not match" },
	{ "a length", an_event_that_is_too_long, "reaches past its chunk" },
	{ "a mark", a_mark_seen_too_early, "ns by the host's clock, but its stamp says" },
	{ "a mark too", a_mark_asked_for_too_late, "ns by the host's clock, but its stamp says" },
	{ "a mark just right", a_mark_that_is_just_right, NULL },
	{ "a mark lost", a_mark_that_was_lost, NULL },
	{ "a mark without a map", a_mark_without_a_map, NULL },
	{ "a mark again", a_mark_that_comes_again, NULL },
	{ "a mark's times", a_mark_the_wrong_way_round, "was written before it was asked for" },
	{ "a span gone", a_span_is_gone, "but its vCPU was out of its guest from" },
	{ "a span elsewhere", a_span_of_another_machine, "but its vCPU was out of its guest" },
	{ "a span lost", a_span_that_was_lost, NULL },
	{ "a span late", a_span_that_is_too_late, "but its vCPU was out of its guest from" },
	{ "a span in time", a_span_that_is_just_in_time, NULL },
	{ "a span early", a_span_that_is_too_early, "but its vCPU was out of its guest from" },
	{ "a span long enough", a_span_that_just_lasts, NULL },
	{ "a span backwards", a_span_backwards, "backwards, or twice at once" },
	{ "two spans", two_spans_at_once, "backwards, or twice at once" },
	{ "few spans", few_spans, NULL },
	{ "a pair ahead", a_pair_ahead, "ns, says its hypervisor, but map and host's clock say" },
	{ "a pair behind", a_pair_behind, "ns, says its hypervisor, but map and host's clock say" },
	{ "a pair that fits", a_pair_that_just_fits, NULL },
	{ "another pair that fits", another_that_just_fits, NULL },
	{ "a pair of a set clock", a_pair_after_it_was_set, NULL },
	{ "a pair of another day", a_pair_of_another_day, "says its hypervisor" },
	{ "a pair of no day", a_pair_of_no_day, "says its hypervisor" },
	{ "a pair of another moment", a_pair_from_another_moment, "says its hypervisor" },
	{ "a pair from the future", a_pair_from_the_future, NULL },
	{ "a pair without a map", a_pair_without_a_map, NULL },
	{ "a pair of old", a_pair_in_an_old_trace, NULL },
	{ "a pair that is none", a_pair_that_is_none, NULL },
	{ "a lost one's cause", a_lost_one_of_another_cause,
	  "tell of 12 lost (full), the counters say 11" },
	{ "a lost one", one_lost_less_than_told, "tell of 12 lost (full), the counters say 11" },
	{ "an overwritten one", fewer_overwritten_than_told,
	  "tell of 3 overwritten, the counters say 2" },
	{ "another overwritten one", more_overwritten_than_told,
	  "tell of 3 overwritten, the counters say 4" },
	{ "one that may be counted twice", an_overwritten_one_in_doubt, NULL },
	{ "one told too few", one_told_too_few, "tell of 2 overwritten, the counters say 3" },
	{ "one told too many", one_told_too_many, "tell of 4 overwritten, the counters say 3" },
	{ "a dropped one", more_dropped_than_told, "tell of 0 dropped, the counters say 1" },
	{ "a mark's ring", a_mark_of_no_ring, "a mark of ring 77" },
	{ "a ring's machine", a_ring_of_no_machine,
	  "ring 0 is of machine 9, which the trace does not have" },
};

START_TEST(each_lie_is_found)
{
	char text[16384];
	int status;

	lies[_i].lie();
	status = verify("-q", text, sizeof(text));
	if (!lies[_i].said) {
		ck_assert_msg(status == 0 && strstr(text, ": ok: "), "%s: %s", lies[_i].name, text);
		ck_assert_ptr_null(strstr(text, "violation"));
		return;
	}
	ck_assert_msg(status == 1, "%s: %s", lies[_i].name, text);
	ck_assert_msg(strstr(text, lies[_i].said), "%s: %s", lies[_i].name, text);
}
END_TEST

START_TEST(marks_are_counted)
{
	char text[16384];

	/* 30 were made, two of them where the clocks are not known. */
	ck_assert_int_eq(verify("-q", text, sizeof(text)), 0);
	ck_assert_msg(strstr(text, " samples, 28 marks; "), "%s", text);
	a_mark_that_was_lost();
	ck_assert_int_eq(verify("-q", text, sizeof(text)), 0);
	ck_assert_msg(strstr(text, " samples, 27 marks; "), "%s", text);
}
END_TEST

START_TEST(clock_pairs_are_counted)
{
	char text[16384];

	/* 30 were made: some where a clock is not known, some after the last line. */
	ck_assert_int_eq(verify("-q", text, sizeof(text)), 0);
	ck_assert_msg(strstr(text, "; 26 clock pairs within 0 ns"), "%s", text);
	move_pair(777);
	ck_assert_int_eq(verify("-q", text, sizeof(text)), 0);
	ck_assert_msg(strstr(text, "; 26 clock pairs within 777 ns"), "%s", text);
	a_pair_in_an_old_trace();
	ck_assert_int_eq(verify("-q", text, sizeof(text)), 0);
	ck_assert_ptr_null(strstr(text, "clock pairs"));
}
END_TEST

START_TEST(events_inside_spans_are_counted)
{
	char text[16384];

	ck_assert_int_eq(verify("-q", text, sizeof(text)), 0);
	/* All records, but those where the clocks are not known. */
	ck_assert_msg(strstr(text, "; 306 events inside run spans"), "%s", text);
	/* Three spans of each vCPU, and its records before and after count for nothing. */
	few_spans();
	ck_assert_int_eq(verify("-q", text, sizeof(text)), 0);
	ck_assert_msg(strstr(text, "; 10 events inside run spans"), "%s", text);
}
END_TEST

static unsigned int times_in(const char *text, const char *what)
{
	unsigned int n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* What is wrong with one machine hides neither another machine nor another fault of its own. */
START_TEST(of_each_machine_and_kind_some_are_shown_and_all_counted)
{
	const char *wrong = "by the clock nodes, but the event says";
	unsigned int g1 = 0, g2 = 0;
	char text[16384], more[64];
	struct xvt_chunk_hdr *h;

	for (unsigned int i = 0; i < 90; i++) {
		struct xvt_event_hdr *e = event(XVT_CHUNK_ORDER, i, &h);
		bool of_g2 = (e->ring_flags & XVT_EVENT_RING_MASK) == 2;

		if ((of_g2 && (i < 60 || g2)) || e->ring_flags & ~XVT_EVENT_RING_MASK)
			continue;
		g1 += !of_g2;
		g2 += of_g2;
		e->guest_clock += 100;
		sign(h);
	}
	a_counter();
	ck_assert_int_eq(verify("-q", text, sizeof(text)), 1);
	ck_assert(g1 > 20 && g2 == 1);
	ck_assert_msg(times_in(text, wrong) == 6, "%s", text);
	ck_assert_msg(strstr(text, "violation: g2:1 (ring 2): guest clock"), "%s", text);
	ck_assert_msg(strstr(text, "; the counters say"), "%s", text);
	snprintf(more, sizeof(more), "\nmore of g1: %u time", g1 - 5);
	ck_assert_msg(strstr(text, more), "no '%s' in %s", more, text);
	ck_assert_ptr_null(strstr(text, "more of g2"));
}
END_TEST

START_TEST(a_trace_without_an_end_passes_unless_it_must_be_complete)
{
	char text[16384];

	synth_fini(&made);
	synth_sink_fini(&sink);
	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, 100, SYNTH_NO_END);
	ck_assert_msg(verify("-q", text, sizeof(text)) == 0, "%s", text);
	ck_assert_ptr_nonnull(strstr(text, "not cleanly ended"));
	ck_assert_int_eq(verify("--complete", text, sizeof(text)), 1);
}
END_TEST

START_TEST(notes_are_shown_when_asked_for)
{
	char text[16384];

	ck_assert_int_eq(verify("--notes", text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "note: warning: 0.000000001 g1: a note\n"));
}
END_TEST

/* ------------------------------------------------------------ places in the ring */

#define PLACE_WORDS 3u /* of a record: header, upper half of its stamp, payload */
#define PLACE_NS    5000000u

static struct xvt_trace_writer *writer;

/* Two rings of one machine. A clock that is set back may give all events of a ring one time: so
 * only the places tell in which order they were written. */
static void begin_places(void)
{
	static const struct xvt_file_info info = { .uuid = { 8, 8 }, .mult = 1 };
	const struct xvt_vm_info vm = { .name = "g1" };

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&writer, &sink.sink, &info), 0);
	ck_assert_int_eq(xvt_trace_put(writer, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_ring_info ring = { .ring = i, .index = i, .cpu = i };

		ck_assert_int_eq(
			xvt_trace_put(writer, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	}
}

static void fini_places(void)
{
	synth_sink_fini(&sink);
}

/* n records of a ring's piece at this position. */
static struct xvt_raw_place a_piece(uint32_t ring, uint64_t pos, uint32_t n)
{
	const struct xvt_raw_piece piece = { ring, n * PLACE_WORDS * 8, pos };
	struct xvt_raw_place place = { .ts_bits = 32, .ts = 1000 };
	uint64_t words[32 * PLACE_WORDS];

	for (uint32_t i = 0; i < n; i++) {
		words[i * PLACE_WORDS] = 1000 | (uint64_t)PLACE_WORDS << XVT_H_LEN8_SHIFT |
					 (uint64_t)XVT_ID_U64 << XVT_H_ID_SHIFT | XVT_H_DONE |
					 XVT_H_FULL;
		words[i * PLACE_WORDS + 1] = 0;
		words[i * PLACE_WORDS + 2] = i;
	}
	ck_assert_int_eq(xvt_trace_piece(writer, &piece, words, &place.chunk, &place.at), 0);
	return place;
}

/* Puts n of these records, from number `skip` on, into a lane. */
static void put_source(enum xvt_lane lane, uint32_t ring, uint64_t ns, struct xvt_raw_place place,
		       uint16_t skip, uint32_t n)
{
	struct xvt_order *o = xvt_trace_lane(writer, lane);
	const uint32_t flags = XVT_EVENT_F_CLOCK | (lane == XVT_LANE_LATE ? XVT_EVENT_F_LATE : 0);
	uint32_t source;

	place.skip = skip;
	ck_assert_int_eq(xvt_order_reserve(o, n), 0);
	xvt_order_time(o, ns);
	ck_assert_int_eq(xvt_order_source(o, ring | flags, &place, NULL, ns, &source), 0);
	for (uint32_t i = 0; i < n; i++)
		xvt_order_next(o, source);
	o->sources[source].count = n;
}

static void put_rollback(enum xvt_lane lane, uint64_t ns)
{
	const struct xvt_lost lost = { .rolled_back = 1 };
	const struct xvt_event_hdr h = { .host_ns = ns,
					 .ring_flags = lane == XVT_LANE_LATE ? XVT_EVENT_F_LATE : 0,
					 .id = XVT_ID_LOST,
					 .len = sizeof(lost) };

	ck_assert_int_eq(xvt_trace_lane_event(writer, lane, &h, &lost), 0);
}

static void in_ring_order(void)
{
	const struct xvt_raw_place a = a_piece(0, 4096, 8), b = a_piece(1, 64, 4),
				   c = a_piece(0, 4096 + 8 * PLACE_WORDS * 8, 2);

	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 3);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 3, 2);
	put_source(XVT_LANE_MAIN, 1, PLACE_NS, b, 0, 4);
	put_source(XVT_LANE_LOOSE, 0, PLACE_NS, a, 5, 2);
	put_source(XVT_LANE_LATE, 0, PLACE_NS, a, 7, 1);
	put_source(XVT_LANE_LATE, 0, PLACE_NS, c, 0, 2);
}

static void back_in_a_piece(void)
{
	const struct xvt_raw_place a = a_piece(0, 4096, 8);

	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 3, 2);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 3);
}

static void back_to_a_piece_before(void)
{
	const struct xvt_raw_place a = a_piece(0, 4096, 2), b = a_piece(0, 8192, 2);

	put_source(XVT_LANE_LOOSE, 0, PLACE_NS, b, 0, 2);
	ck_assert_int_eq(xvt_trace_flush(writer), 0);
	put_source(XVT_LANE_LOOSE, 0, PLACE_NS, a, 0, 2);
}

static void back_from_loose_to_main(void)
{
	const struct xvt_raw_place a = a_piece(0, 4096, 8);

	put_source(XVT_LANE_LOOSE, 0, PLACE_NS, a, 3, 2);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 3);
}

static void earlier_from_loose_to_main(void)
{
	const struct xvt_raw_place a = a_piece(0, 4096, 8);

	put_source(XVT_LANE_LOOSE, 0, PLACE_NS, a, 0, 3);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS - 1, a, 3, 2);
}

static void back_in_the_late_lane(void)
{
	const struct xvt_raw_place a = a_piece(0, 4096, 8);

	put_source(XVT_LANE_LATE, 0, PLACE_NS, a, 3, 2);
	put_source(XVT_LANE_LATE, 0, PLACE_NS, a, 0, 3);
}

static void earlier_in_the_late_lane(void)
{
	const struct xvt_raw_place a = a_piece(0, 4096, 8);

	put_source(XVT_LANE_LATE, 0, PLACE_NS, a, 0, 3);
	put_source(XVT_LANE_LATE, 0, PLACE_NS - 1, a, 3, 2);
}

static void a_record_twice(void)
{
	const struct xvt_raw_place a = a_piece(0, 4096, 8);

	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 3);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 2, 1);
}

/* Positions begin again, and a record tells why. */
static void rolled_back(void)
{
	const struct xvt_raw_place a = a_piece(0, 8192, 2), b = a_piece(0, 4096, 2);

	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 2);
	put_rollback(XVT_LANE_MAIN, PLACE_NS + 5);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS + 5, b, 0, 2);
}

/* The record that tells is in another lane, which the file has later. */
static void rolled_back_beside(void)
{
	const struct xvt_raw_place a = a_piece(0, 8192, 2), b = a_piece(0, 4096, 2);

	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 2);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS + 5, b, 0, 2);
	put_rollback(XVT_LANE_LATE, PLACE_NS + 3);
}

/* As older recorders told it, at the next sub-buffer. */
static void rolled_back_later(void)
{
	const struct xvt_raw_place a = a_piece(0, 8192, 2), b = a_piece(0, 4096, 2);

	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 2);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS + 5, b, 0, 2);
	put_rollback(XVT_LANE_MAIN, PLACE_NS + 6);
}

static void rolled_back_before(void)
{
	const struct xvt_raw_place a = a_piece(0, 8192, 2), b = a_piece(0, 4096, 2);

	put_rollback(XVT_LANE_MAIN, PLACE_NS - 1);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 2);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS + 5, b, 0, 2);
}

static void rolled_back_once(void)
{
	const struct xvt_raw_place a = a_piece(0, 8192, 2), b = a_piece(0, 4096, 2);

	rolled_back();
	put_source(XVT_LANE_MAIN, 0, PLACE_NS + 5, a, 0, 2);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS + 5, b, 0, 2);
}

/* As a recorder once told of it that left the order to the readers. */
static void a_loss_before_all(void)
{
	put_source(XVT_LANE_LOOSE, 0, PLACE_NS, a_piece(0, 4096, 2), 0, 2);
	ck_assert_int_eq(xvt_trace_flush(writer), 0);
	put_rollback(XVT_LANE_MAIN, 0);
}

static void a_loss_behind(void)
{
	put_source(XVT_LANE_LOOSE, 0, PLACE_NS, a_piece(0, 4096, 2), 0, 2);
	ck_assert_int_eq(xvt_trace_flush(writer), 0);
	put_rollback(XVT_LANE_MAIN, PLACE_NS);
}

static void anothers_piece(void)
{
	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a_piece(1, 4096, 2), 0, 2);
}

static void no_piece(void)
{
	struct xvt_raw_place a = a_piece(0, 4096, 2);

	a.at -= 8; /* in its header */
	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 1);
}

static void behind_a_piece(void)
{
	const struct xvt_raw_place a = a_piece(0, 4096, 2);

	/* The next piece's header reads as two words without a record, which are passed over. */
	a_piece(0, PLACE_WORDS * 8, 2);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 0, 2);
	put_source(XVT_LANE_MAIN, 0, PLACE_NS, a, 2, 1);
}

static const struct {
	const char *name;
	void (*write)(void);
	const char *said; /* NULL: no violation */
} places[] = {
	{ "in order", in_ring_order, NULL },
	{ "back in a piece", back_in_a_piece,
	  "g1:0 (ring 0): position 4096 at 5000000 ns after position 4192 at 5000000 ns: its "
	  "events "
	  "are not in the order in which they were written" },
	{ "back to a piece before", back_to_a_piece_before, "position 4096 at 5000000 ns after" },
	{ "back from loose to main", back_from_loose_to_main, "position 4096 at 5000000 ns after" },
	{ "earlier from loose to main", earlier_from_loose_to_main,
	  "the main lane is out of the ring's order" },
	{ "back in the late lane", back_in_the_late_lane,
	  "its late events are not in the order in which they were written" },
	{ "earlier in the late lane", earlier_in_the_late_lane,
	  "the late lane is out of the ring's order" },
	{ "a record twice", a_record_twice, "position 4144 at 5000000 ns after position 4144" },
	{ "rolled back", rolled_back, NULL },
	{ "rolled back, in another lane", rolled_back_beside, NULL },
	{ "rolled back, told later", rolled_back_later, NULL },
	{ "rolled back before", rolled_back_before, "position 4096 at 5000005 ns after" },
	{ "rolled back once", rolled_back_once, "position 4096 at 5000005 ns after" },
	{ "a loss before all", a_loss_before_all,
	  "a loss at 0 ns comes behind its event at 5000000 ns" },
	{ "a loss behind", a_loss_behind, NULL },
	{ "a piece of another ring", anothers_piece, "is in a piece of ring 1" },
	{ "no piece", no_piece, "is in no piece" },
	{ "behind a piece", behind_a_piece, "lies behind its piece" },
};

START_TEST(events_are_in_the_order_of_their_ring)
{
	char text[16384];
	int status;

	places[_i].write();
	ck_assert_int_eq(xvt_trace_flush(writer), 0);
	xvt_trace_writer_free(writer);
	status = verify("-q", text, sizeof(text));
	if (!places[_i].said) {
		ck_assert_msg(status == 0 && !strstr(text, "violation"), "%s: %s", places[_i].name,
			      text);
		return;
	}
	ck_assert_msg(status == 1, "%s: %s", places[_i].name, text);
	ck_assert_msg(strstr(text, places[_i].said), "%s: %s", places[_i].name, text);
	ck_assert_msg(times_in(text, "violation: ") == 1, "%s: %s", places[_i].name, text);
}
END_TEST

/*
 * In a further file of a set an event may lie before the first node of its ring: on a segment that
 * begins in the file before, so by the nominal rate it is a little off.
 */
START_TEST(an_event_before_the_nodes_of_a_further_file)
{
	static const struct {
		uint64_t later_ns;
		uint32_t number; /* of the file in its set */
		bool wrong;
	} cases[] = { { 0, 0, false }, { 5, 2, false }, { 60, 2, false },
		      { 61, 2, true }, { 5, 1, true },	{ 5, 0, true } };
	const struct xvt_file_info info = { .mult = 1,
					    .set_number = cases[_i].number,
					    .set = { 1 } };
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = 1000000000 };
	const struct xvt_ring_info ring = { .cpu = 0 };
	const struct xvt_clock_node nodes[] = {
		{ 0, 0, XVT_SOURCE_GUEST, 1, 1000000, 1000000, 60, 60 },
		{ 0, 0, XVT_SOURCE_GUEST, 0, 2000000, 2000000, 60, 60 },
	};
	const struct xvt_event_hdr h = { 900000 + cases[_i].later_ns, 900000, 0, XVT_ID_U64, 0 };
	char text[16384];

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&writer, &sink.sink, &info), 0);
	ck_assert_int_eq(xvt_trace_put(writer, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(writer, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(writer, XVT_CHUNK_NODE, nodes, sizeof(nodes), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_event(writer, &h, NULL), 0);
	ck_assert_int_eq(xvt_trace_writer_finish(writer), 0);
	verify("-q", text, sizeof(text));
	ck_assert_msg(!!strstr(text, "by the clock nodes, but the event says") == cases[_i].wrong,
		      "%s", text);
	synth_sink_fini(&sink);
}
END_TEST

Suite *verify_suite(void)
{
	Suite *s = suite_create("verify");
	TCase *t = tcase_create("verify");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, each_lie_is_found, 0, sizeof(lies) / sizeof(lies[0]));
	tcase_add_test(t, marks_are_counted);
	tcase_add_test(t, clock_pairs_are_counted);
	tcase_add_test(t, events_inside_spans_are_counted);
	tcase_add_test(t, of_each_machine_and_kind_some_are_shown_and_all_counted);
	tcase_add_test(t, a_trace_without_an_end_passes_unless_it_must_be_complete);
	tcase_add_test(t, notes_are_shown_when_asked_for);
	suite_add_tcase(s, t);
	t = tcase_create("places");
	tcase_add_checked_fixture(t, begin_places, fini_places);
	tcase_add_loop_test(t, events_are_in_the_order_of_their_ring, 0,
			    sizeof(places) / sizeof(places[0]));
	suite_add_tcase(s, t);
	t = tcase_create("set");
	tcase_add_loop_test(t, an_event_before_the_nodes_of_a_further_file, 0, 6);
	suite_add_tcase(s, t);
	return s;
}
