// SPDX-License-Identifier: GPL-2.0
/* recs.c - the events of the range as short records, in order of time, with links from each task
 * that comes to a CPU to its wake-up and to the time at which it had left one. */
#include "path/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define RECS_MOST 3000000u

/* -- texts ---------------------------------------------------------------------------- */

static size_t slot_of(const struct xvt_path *p, const char *text)
{
	uint32_t hash = 2166136261u;
	size_t at;

	for (const char *c = text; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	at = hash & (p->text_slot_count - 1);
	while (p->text_slots[at] && strcmp(p->texts[p->text_slots[at] - 1], text) != 0)
		at = (at + 1) & (p->text_slot_count - 1);
	return at;
}

static int grow_slots(struct xvt_path *p)
{
	if (p->text_slot_count > 2 * p->text_count)
		return 0;
	free(p->text_slots);
	p->text_slot_count = p->text_slot_count ? 2 * p->text_slot_count : 256;
	p->text_slots = calloc(p->text_slot_count, sizeof(*p->text_slots));
	if (!p->text_slots)
		return -ENOMEM;
	for (size_t i = 0; i < p->text_count; i++)
		p->text_slots[slot_of(p, p->texts[i])] = (uint32_t)i + 1;
	return 0;
}

/* Number of the text, or NONE without memory. */
static uint32_t text_number(struct xvt_path *p, const char *text)
{
	size_t at;

	if (grow_slots(p))
		return NONE;
	at = slot_of(p, text);
	if (p->text_slots[at])
		return p->text_slots[at] - 1;
	if (xvt_grow(&p->texts, &p->text_room, p->text_count + 1, sizeof(*p->texts)))
		return NONE;
	strcpy(p->texts[p->text_count], text);
	p->text_slots[at] = (uint32_t)++p->text_count;
	return (uint32_t)p->text_count - 1;
}

static uint32_t take_text(struct xvt_path *p, const struct xvtrace_event *ev,
			  const struct xvtrace_field *f)
{
	struct xvtrace_value v;
	char text[32];

	if (!f || f->kind != XVTRACE_STRING)
		return NONE;
	xvtrace_value(ev, f, &v);
	if (v.count >= sizeof(text))
		v.count = sizeof(text) - 1;
	memcpy(text, v.data, v.count);
	text[v.count] = '\0';
	return text_number(p, text);
}

/* -- one event ------------------------------------------------------------------------ */

static int32_t number(const struct xvtrace_event *ev, const struct xvtrace_field *f)
{
	struct xvtrace_value v;

	if (!f || (f->kind != XVTRACE_UINT && f->kind != XVTRACE_INT))
		return 0;
	xvtrace_value(ev, f, &v);
	return (int32_t)v.u;
}

static int take_event(struct xvt_path *p, const struct xvtrace_event *ev, struct rec *r)
{
	const struct path_type *t = path_type_of(p, ev->type);
	struct xvtrace_message message;

	if (!t)
		return -ENOMEM;
	r->kind = (uint8_t)t->kind;
	r->a = number(ev, t->field[0]);
	r->b = number(ev, t->field[1]);
	r->c = number(ev, t->field[2]) & 0xff;
	r->text = take_text(p, ev, t->field[3]);
	if (!xvtrace_event_message(ev, &message))
		return 0;
	r->kind = message.sent ? REC_SENT : REC_RECEIVED;
	r->key = message.number;
	return 0;
}

int recs_add(struct xvt_path *p, const struct xvtrace_event *ev)
{
	struct rec r = { .ns = ev->ns,
			 .bound_ns = ev->bound_ns,
			 .number = ev->number,
			 .ring = ev->ring->number,
			 .before = NONE,
			 .text = NONE,
			 .out = NONE,
			 .woken = NONE,
			 .pid = ev->pid,
			 .context = ev->irq_flags,
			 .doubt = ev->bound_ns >= XVTRACE_NO_BOUND ||
				  ev->flags & (XVTRACE_UNCONFIRMED | XVTRACE_CLOCK) };
	int err = 0;

	if (p->rec_count == RECS_MOST)
		return -E2BIG;
	if (ev->kind == XVTRACE_LOST)
		r.kind = REC_LOST;
	else
		err = take_event(p, ev, &r);
	/* Of the host's, only what the path is made of. */
	if (err || (r.kind == REC_OTHER && ev->machine->host))
		return err;
	if (xvt_grow(&p->recs, &p->rec_room, p->rec_count + 1, sizeof(r)))
		return -ENOMEM;
	p->recs[p->rec_count++] = r;
	return 0;
}

/* -- order and links ------------------------------------------------------------------ */

/* Late events come behind later ones. Records of one time stay in the order of the reader, in which
 * `before` numbers them here. */
static int compare(const void *pa, const void *pb)
{
	const struct rec *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return a->before < b->before ? -1 : 1;
}

static void sort(struct xvt_path *p)
{
	bool sorted = true;

	for (size_t i = 1; i < p->rec_count && sorted; i++)
		sorted = p->recs[i - 1].ns <= p->recs[i].ns;
	if (sorted)
		return;
	for (size_t i = 0; i < p->rec_count; i++)
		p->recs[i].before = (uint32_t)i;
	qsort(p->recs, p->rec_count, sizeof(*p->recs), compare);
}

struct task {
	uint32_t machine;
	int pid;
	bool used;
	uint32_t out, woken; /* record + 1; 0: none */
};

struct tasks {
	struct task *v;
	size_t count, room;
};

static struct task *find_task(const struct tasks *t, uint32_t machine, int pid)
{
	size_t at = ((uint32_t)pid * 2654435769u ^ machine * 40503u) & (t->room - 1);

	while (t->v[at].used && (t->v[at].machine != machine || t->v[at].pid != pid))
		at = (at + 1) & (t->room - 1);
	return &t->v[at];
}

static struct task *task_of(struct tasks *t, uint32_t machine, int pid)
{
	struct task *task;

	if (t->room <= 2 * t->count) {
		struct tasks more = { .count = t->count, .room = t->room ? 2 * t->room : 1024 };

		more.v = calloc(more.room, sizeof(*more.v));
		if (!more.v)
			return NULL;
		for (size_t i = 0; i < t->room; i++)
			if (t->v[i].used)
				*find_task(&more, t->v[i].machine, t->v[i].pid) = t->v[i];
		free(t->v);
		*t = more;
	}
	task = find_task(t, machine, pid);
	t->count += !task->used;
	task->used = true;
	task->machine = machine;
	task->pid = pid;
	return task;
}

static int link_switch(struct tasks *t, struct rec *r, uint32_t i, uint32_t machine)
{
	struct task *next = task_of(t, machine, r->b), *prev;

	if (!next)
		return -ENOMEM;
	r->out = next->out - 1;
	r->woken = next->woken - 1;
	prev = task_of(t, machine, r->a);
	if (!prev)
		return -ENOMEM;
	prev->out = i + 1;
	return 0;
}

static int link_waking(struct tasks *t, struct rec *r, uint32_t i, uint32_t machine)
{
	struct task *task = task_of(t, machine, r->a);

	if (!task)
		return -ENOMEM;
	r->woken = task->woken - 1;
	task->woken = i + 1;
	return 0;
}

static int add_to(uint32_t **list, size_t *count, size_t *room, uint32_t i)
{
	if (xvt_grow(list, room, *count + 1, sizeof(**list)))
		return -ENOMEM;
	(*list)[(*count)++] = i;
	return 0;
}

static int link_ring(struct xvt_path *p, struct rec *r, uint32_t i)
{
	struct path_ring *ring = &p->rings[r->ring];

	r->before = ring->last;
	ring->last = i;
	if (r->kind == REC_SENT || r->kind == REC_RECEIVED)
		return add_to(&p->marks, &p->mark_count, &p->mark_room, i);
	return 0;
}

static void note_kinds(struct xvt_path *p)
{
	for (size_t i = 0; i < p->rec_count; i++) {
		struct seen *s = &p->seen[rec_machine(p, &p->recs[i])->number];

		s->switches |= p->recs[i].kind == REC_SWITCH;
		s->wakings |= p->recs[i].kind == REC_WAKING;
		s->raises |= p->recs[i].kind == REC_SOFTIRQ_RAISE;
		s->injections |= p->recs[i].kind == REC_INJECT;
		if (p->recs[i].bound_ns < XVTRACE_NO_BOUND &&
		    p->recs[i].bound_ns > s->bound_most_ns)
			s->bound_most_ns = p->recs[i].bound_ns;
	}
}

int recs_link(struct xvt_path *p)
{
	struct tasks tasks = { 0 };
	int err = 0;

	sort(p);
	note_kinds(p);
	for (unsigned int i = 0; i < p->info->rings; i++)
		p->rings[i].last = NONE;
	for (size_t i = 0; i < p->rec_count && !err; i++) {
		struct rec *r = &p->recs[i];
		const struct xvtrace_machine *m = rec_machine(p, r);

		err = link_ring(p, r, (uint32_t)i);
		if (err)
			break;
		if (r->kind == REC_SWITCH)
			err = link_switch(&tasks, r, (uint32_t)i, m->number);
		/* sched_wakeup is the waker's only where sched_waking is not recorded. */
		else if (r->kind == REC_WAKING || r->kind == REC_WAKEUP_NEW ||
			 (r->kind == REC_WAKEUP && !p->seen[m->number].wakings))
			err = link_waking(&tasks, r, (uint32_t)i, m->number);
	}
	free(tasks.v);
	return err;
}

/* -- what others ask ------------------------------------------------------------------ */

size_t recs_before(const struct xvt_path *p, uint64_t ns)
{
	return ns ? XVT_COUNT_TO(p->recs, p->rec_count, ns, ns - 1) : 0;
}

bool recs_lost(const struct xvt_path *p, const struct xvtrace_machine *m, uint64_t from_ns,
	       uint64_t to_ns)
{
	const struct xvtrace_point from = { .ns = from_ns }, to = { .ns = to_ns };

	return xvtrace_hole_between(p->holes, m, NULL, &from, &to);
}

bool recs_lost_since(const struct xvt_path *p, uint32_t at, uint64_t to_ns)
{
	const struct rec *r = &p->recs[at];
	const struct xvtrace_ring *ring = p->rings[r->ring].ring;
	const struct xvtrace_point from = { ring, r->ns, r->bound_ns }, to = { .ns = to_ns };

	return xvtrace_hole_between(p->holes, NULL, ring, &from, &to);
}

const struct xvtrace_machine *rec_machine(const struct xvt_path *p, const struct rec *r)
{
	return p->rings[r->ring].ring->machine;
}

const char *rec_text(const struct xvt_path *p, const struct rec *r)
{
	return r->text == NONE ? "" : p->texts[r->text];
}

uint64_t rec_earliest(const struct rec *r)
{
	return r->ns > r->bound_ns ? r->ns - r->bound_ns : 0;
}

uint64_t rec_latest(const struct rec *r)
{
	return r->bound_ns < UINT64_MAX - r->ns ? r->ns + r->bound_ns : UINT64_MAX;
}
