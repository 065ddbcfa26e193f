// SPDX-License-Identifier: GPL-2.0
/* gaps.c - see gaps.h. */
#include "lib/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PRIO_USUAL 120u /* of a task without a nice value */

int xvt_gaps_init(struct xvt_gaps *g, uint32_t rings)
{
	g->rings = calloc((size_t)rings + 1, sizeof(*g->rings));
	g->count = rings;
	return g->rings ? 0 : -ENOMEM;
}

void xvt_gaps_fini(struct xvt_gaps *g)
{
	for (uint32_t i = 0; g->rings && i < g->count; i++)
		free(g->rings[i]);
	free(g->rings);
}

static const struct xvt_field *named(const struct xvt_event_class *c, const char *name)
{
	for (uint32_t i = 0; i < c->field_count; i++)
		if (strcmp(c->fields[i].name, name) == 0)
			return &c->fields[i];
	return NULL;
}

/* Whether the class has the tasks' names and numbers at fixed places. */
static bool is_switch(const struct xvt_event_class *c)
{
	for (int i = 0; i < 2; i++) {
		if (c->comm_field[i] < 0 || c->pid_field[i] < 0 ||
		    c->fields[c->comm_field[i]].place != XVT_PLACE_FIXED ||
		    c->fields[c->comm_field[i]].size < sizeof(XVT_GAP_COMM) ||
		    c->fields[c->pid_field[i]].size != 4)
			return false;
	}
	return c->fields[c->comm_field[0]].size == c->fields[c->comm_field[1]].size;
}

int xvt_gaps_learn(struct xvt_gaps *g, uint32_t ring, struct xvt_event_class *c,
		   const struct xvt_event *ev)
{
	struct xvt_gap_ring *r;

	if (xvt_likely(c->comm_field[0] < 0) || ring >= g->count || !is_switch(c) ||
	    ev->hdr->len > XVT_GAP_RECORD)
		return 0;
	r = g->rings[ring];
	if (!r)
		r = g->rings[ring] = malloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->hdr = *ev->hdr;
	r->class = c;
	r->out = false;
	memcpy(r->record, ev->payload, ev->hdr->len);
	return 0;
}

void xvt_gaps_state(struct xvt_gaps *g, const struct xvt_state *state)
{
	const bool out = state->kind == XVT_NOTE_PAUSED || xvt_note_is_end(state->kind);

	if (!g->rings || (!out && state->kind != XVT_NOTE_RUNS))
		return;
	g->active = true;
	g->out = out;
	g->at = 0;
	g->machine = state->machine;
	g->ns = state->ns;
}

static void put_number(uint8_t *record, const struct xvt_field *f, uint64_t v)
{
	if (f && f->place == XVT_PLACE_FIXED && f->size <= sizeof(v) &&
	    (f->kind == XVT_FIELD_UINT || f->kind == XVT_FIELD_INT))
		memcpy(record + f->offset, &v, f->size);
}

static uint64_t number_of(const struct xvt_field *f, const uint8_t *record)
{
	const bool is_number = f && f->place == XVT_PLACE_FIXED &&
			       (f->kind == XVT_FIELD_UINT || f->kind == XVT_FIELD_INT) &&
			       f->size <= 8;

	return is_number ? xvt_number(record + f->offset, f->size, f->kind == XVT_FIELD_INT) : 0;
}

/* Name, number and priority of one side of a switch: 0 the task that leaves, 1 the one that comes.
 * task: the record that has it on the side 1; NULL: nothing runs. */
static void put_side(const struct xvt_event_class *c, uint8_t *to, int side, const uint8_t *task)
{
	const struct xvt_field *comm = &c->fields[c->comm_field[side]];
	const struct xvt_field *prio = named(c, side ? "next_prio" : "prev_prio");
	const struct xvt_field *from = &c->fields[c->comm_field[1]];

	if (task) {
		memcpy(to + comm->offset, task + from->offset, comm->size);
		put_number(to, &c->fields[c->pid_field[side]],
			   number_of(&c->fields[c->pid_field[1]], task));
		put_number(to, prio, number_of(named(c, "next_prio"), task));
		return;
	}
	memset(to + comm->offset, 0, comm->size);
	memcpy(to + comm->offset, XVT_GAP_COMM, sizeof(XVT_GAP_COMM) - 1);
	put_number(to, &c->fields[c->pid_field[side]], 0);
	put_number(to, prio, PRIO_USUAL);
}

static void make(struct xvt_gaps *g, const struct xvt_gap_ring *r)
{
	const struct xvt_event_class *c = r->class;
	const uint32_t pid =
		g->out ? (uint32_t)number_of(&c->fields[c->pid_field[1]], r->record) : 0;

	memcpy(g->record, r->record, r->hdr.len);
	put_side(c, g->record, 0, g->out ? r->record : NULL);
	put_side(c, g->record, 1, g->out ? NULL : r->record);
	put_number(g->record, named(c, "prev_state"), 0);
	if (c->ftrace && r->hdr.len >= 8)
		memcpy(g->record + 4, &pid, sizeof(pid));
	g->hdr = r->hdr;
	g->hdr.host_ns = g->ns;
	g->hdr.ring_flags &= XVT_EVENT_RING_MASK;
}

struct xvt_event_class *xvt_gaps_next(struct xvt_gaps *g, struct xvt_trace *t, struct xvt_event *ev)
{
	while (g->at < g->count) {
		const uint32_t ring = g->at++;
		struct xvt_gap_ring *r = g->rings[ring];

		/* Where nothing runs, nothing has to leave. */
		if (!r || r->out == g->out || xvt_ring_vm(t, ring) != g->machine ||
		    !number_of(&r->class->fields[r->class->pid_field[1]], r->record))
			continue;
		make(g, r);
		r->out = g->out;
		*ev = (struct xvt_event){ .hdr = &g->hdr, .payload = g->record };
		return r->class;
	}
	g->active = false;
	return NULL;
}
