// SPDX-License-Identifier: GPL-2.0
/* verify.c - see verify.h. */
#include "view/verify_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "trace/names.h"
#include "trace/note.h"
#include "trace/raws.h"

static void check_watermark(struct xvt_verify_state *v, const struct xvt_round *round)
{
	if (round->watermark_ns < v->watermark_ns)
		xvt_verify_violation(v, XVT_VERIFY_ORDER, XVT_VM_NONE,
				     "watermark of round %" PRIu64 " goes back: %" PRIu64
				     " after %" PRIu64 " ns",
				     round->round, round->watermark_ns, v->watermark_ns);
	else
		v->watermark_ns = round->watermark_ns;
}

static void check_round(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_round round = { 0 };

	if (b->len < offsetof(struct xvt_round, written_ns))
		return;
	memcpy(&round, b->payload, b->len < sizeof(round) ? b->len : sizeof(round));
	check_watermark(v, &round);
	if (v->round_any && round.round <= v->round.round)
		xvt_verify_violation(v, XVT_VERIFY_ORDER, XVT_VM_NONE,
				     "round %" PRIu64 " comes after round %" PRIu64, round.round,
				     v->round.round);
	/* An older recorder did not write when it was. */
	if (b->len >= sizeof(round) && round.written_ns < v->round.written_ns)
		xvt_verify_violation(v, XVT_VERIFY_ORDER, XVT_VM_NONE,
				     "round %" PRIu64 " was reached at %" PRIu64
				     " ns, the one before it at %" PRIu64 " ns",
				     round.round, round.written_ns, v->round.written_ns);
	v->round = round;
	v->round_any = true;
}

/* "note: warning: 4132.644670570 g1: text" */
static void show_note(const struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	static const char *const levels[] = { "info", "warning", "error" };
	char clean[4096], more[64] = ""; /* a recorder's notes are shorter than 512 bytes */
	struct xvt_note_parts p;
	uint64_t ns;
	size_t shown;

	if (!xvt_note_get(b, &p))
		return;
	ns = p.note.kind == XVT_NOTE_TEXT ? p.note.host_ns : p.state.at_ns;
	shown = xvt_text_clean(clean, sizeof(clean), p.text, p.len);
	if (shown < p.len)
		snprintf(more, sizeof(more), "... [%zu bytes more]", p.len - shown);
	xvt_verify_line(v, "note: %s: %" PRIu64 ".%09" PRIu64 "%s%s: %s%s",
			levels[p.note.level < 3 ? p.note.level : 2], ns / 1000000000,
			ns % 1000000000, p.note.vm == UINT32_MAX ? "" : " ",
			p.note.vm == UINT32_MAX ? "" : xvt_vm_name(v->t, p.note.vm), clean, more);
}

static bool entry_fits(const struct xvt_index_entry *e, const struct xvt_chunk_ref *ref)
{
	return e->offset == ref->offset && e->type == ref->type && e->count == ref->count &&
	       e->first_ns == ref->first_ns && e->last_ns == ref->last_ns;
}

/* Check chunk i, an INDEX of the chunks from number *from on, which is the INDEX before it or 0. */
static void check_index(struct xvt_verify_state *v, const struct xvt_chunk_buf *b, size_t i,
			size_t *from)
{
	const struct xvt_trace *t = v->t;
	size_t n = b->len / sizeof(struct xvt_index_entry);

	/* A damaged file has fewer chunks than its index. */
	if (t->damage_count)
		return;
	if (n != i - *from)
		xvt_verify_violation(
			v, XVT_VERIFY_INDEX, XVT_VM_NONE,
			"the index at byte %" PRIu64
			" has %zu entries, there are %zu chunks since the one before it",
			t->chunks[i].offset, n, i - *from);
	for (size_t k = 0; k < n && *from + k < i; k++) {
		struct xvt_index_entry e;

		memcpy(&e, b->payload + k * sizeof(e), sizeof(e));
		if (entry_fits(&e, &t->chunks[*from + k]))
			continue;
		xvt_verify_violation(v, XVT_VERIFY_INDEX, XVT_VM_NONE,
				     "entry %zu of the index at byte %" PRIu64
				     " does not fit the chunk at byte %" PRIu64,
				     k, t->chunks[i].offset, t->chunks[*from + k].offset);
		break;
	}
	*from = i;
}

static void check_end(struct xvt_verify_state *v)
{
	const struct xvt_end *e = &v->t->end;

	/* Damage changes the counts, and is reported by itself. */
	if (!v->t->ended || v->t->damage_count)
		return;
	if (e->events != v->events[0] || e->late != v->events[1])
		xvt_verify_violation(v, XVT_VERIFY_INDEX, XVT_VM_NONE,
				     "the end says %" PRIu64 " events and %" PRIu64
				     " late ones, there are %" PRIu64 " and %" PRIu64,
				     e->events, e->late, v->events[0], v->events[1]);
	if (e->index_offset != v->t->chunks[v->index_from].offset)
		xvt_verify_violation(v, XVT_VERIFY_INDEX, XVT_VM_NONE,
				     "the end says that the last index is at byte %" PRIu64
				     ", it is at byte %" PRIu64,
				     e->index_offset, v->t->chunks[v->index_from].offset);
	if (e->chunks + 1 != v->t->chunk_count)
		xvt_verify_violation(v, XVT_VERIFY_INDEX, XVT_VM_NONE,
				     "the end says %" PRIu64 " chunks before it, there are %zu",
				     e->chunks, v->t->chunk_count - 1);
}

static void unanswered(void *arg, const struct xvt_exchange *x)
{
	struct xvt_verify_state *v = arg;

	xvt_verify_violation(v, XVT_VERIFY_CAUSE, x->recv_vm,
			     "effect before cause: %s %" PRIu64 " was sent by %s at %" PRIu64
			     " ns and received by %s at %" PRIu64
			     " ns; the two clocks are within %" PRIu64 " ns",
			     x->pong ? "xvt-pong" : "xvt-ping", x->number,
			     xvt_vm_name(v->t, x->send_vm), x->send_ns,
			     xvt_vm_name(v->t, x->recv_vm), x->recv_ns, x->bound_ns);
}

static int check_chunks(struct xvt_verify_state *v, struct xvt_chunk_buf *b)
{
	struct xvt_clock_sample s;
	int err = 0, more;

	xvt_trace_raws_init(&v->raws, v->t);
	for (size_t i = 0; !err && (more = xvt_trace_next(v->t, XVT_CHUNKS_ALL, &i, b)); i++) {
		const struct xvt_chunk_ref *ref = &v->t->chunks[i];

		if (more < 0) {
			err = more;
			break;
		}
		/* A recorder that was killed did not write its last looks. */
		v->looks_whole = !v->t->damage_count && (v->t->ended || i < v->looks_from);
		xvt_verify_thing(v, ref->type, b);
		switch (ref->type) {
		case XVT_CHUNK_ORDER:
		case XVT_CHUNK_LATE:
		case XVT_CHUNK_LOOSE:
			err = xvt_verify_events(v, ref, b);
			break;
		case XVT_CHUNK_RAW:
			err = xvt_verify_raw(v, ref, b);
			break;
		case XVT_CHUNK_SAMPLES:
			for (uint32_t at = 0; !err && xvt_chunk_take(b, &at, &s, sizeof(s));)
				err = xvt_verify_sample(v, &s);
			break;
		case XVT_CHUNK_ROUND:
			check_round(v, b);
			break;
		case XVT_CHUNK_STATS:
			xvt_verify_take_stats(v, b);
			break;
		case XVT_CHUNK_NOTE:
			if (v->opts->notes)
				show_note(v, b);
			break;
		case XVT_CHUNK_INDEX:
			check_index(v, b, i, &v->index_from);
			break;
		}
	}
	xvt_events_end(&v->it);
	xvt_trace_raws_fini(&v->raws);
	return err;
}

static int check_all(struct xvt_verify_state *v)
{
	struct xvt_chunk_buf b = { 0 };
	int err;

	v->rings = calloc((size_t)v->t->ring_count + 1, sizeof(*v->rings));
	v->tally = calloc((size_t)v->t->vm_count + 1, sizeof(*v->tally));
	if (!v->rings || !v->tally)
		return -ENOMEM;
	err = xvt_decoders_new(&v->ds, v->t);
	/* The times that readers show of an ended trace. */
	if (!err && v->t->ended && !v->t->damage_count)
		err = xvt_reclock_new(&v->reclock, v->t);
	if (!err)
		err = xvt_verify_load_clocks(v, &b);
	if (!err)
		err = xvt_verify_load_away(v, &b);
	if (!err)
		err = xvt_verify_things(v);
	if (!err)
		err = check_chunks(v, &b);
	xvt_chunk_buf_free(&b);
	if (err)
		return err;
	for (uint32_t i = 0; i < v->t->ring_count; i++) {
		xvt_verify_counts(v, i);
		xvt_verify_raw_end(v, i);
		xvt_verify_heads(v, i);
		xvt_verify_proofs(v, i);
	}
	xvt_verify_steps(v);
	check_end(v);
	xvt_exchanges_check(&v->result->exchanges, unanswered, v);
	for (size_t i = 0; i < v->t->damage_count; i++) {
		/* Only XVT_DAMAGE_MAX are kept. Further ones are counted and not shown. */
		const struct xvt_damage *d = &v->t->damage[i < XVT_DAMAGE_MAX ? i : 0];

		xvt_verify_violation(v, XVT_VERIFY_DAMAGE, XVT_VM_NONE,
				     "byte %" PRIu64 ", %" PRIu64 " bytes: %s", d->offset, d->len,
				     d->why);
	}
	return 0;
}

static void fini(struct xvt_verify_state *v)
{
	xvt_verify_places_fini(v);
	xvt_reclock_free(v->reclock);
	for (uint32_t i = 0; v->rings && i < v->t->ring_count; i++) {
		free(v->rings[i].map.nodes);
		free(v->rings[i].map.epochs);
		free(v->rings[i].map.rates);
		free(v->rings[i].proofs);
		free(v->rings[i].heads.of);
		free(v->rings[i].raw.tail);
		free(v->rings[i].away.gaps);
		xvt_verify_looks_fini(&v->rings[i]);
	}
	free(v->lines);
	free(v->tally);
	free(v->rings);
	xvt_marks_fini(&v->marks);
	xvt_spans_fini(&v->spans);
	xvt_decoders_fini(&v->ds);
}

int xvt_verify(struct xvt_trace *t, const struct xvt_verify_opts *opts,
	       struct xvt_verify_result *result)
{
	struct xvt_verify_state v = { .t = t, .opts = opts, .result = result };
	int err;

	memset(result, 0, sizeof(*result));
	err = check_all(&v);
	if (!err && opts->complete && !t->ended)
		xvt_verify_violation(&v, XVT_VERIFY_END, XVT_VM_NONE,
				     "not cleanly ended: %" PRIu64
				     " bytes after the last whole chunk",
				     t->size - t->tail_offset);
	if (!err)
		xvt_verify_report_more(&v);
	fini(&v);
	return err;
}

void xvt_verify_result_fini(struct xvt_verify_result *result)
{
	xvt_exchanges_fini(&result->exchanges);
}
