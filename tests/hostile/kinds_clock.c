// SPDX-License-Identifier: GPL-2.0
/* kinds_clock.c - guests that lie about their clocks, or answer as it hurts most. */
#include "guest.h"
#include "xvt_vmm_clock.h"

static void write_one(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
}

static uint64_t own_clock(void *arg)
{
	const struct hostile *h = arg;

	return xvt_clock_read_ordered() + (uint64_t)xvt_load(&h->offset);
}

static bool lies(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	uint64_t s = h->seed ^ *clock ^ r->number;

	(void)seq;
	*clock = wild(&s, *clock);
	return true;
}

/* About as far as a handshake's bound reaches: some answers inside, some outside. */
static bool near_bound(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	uint64_t s = h->seed ^ *clock ^ r->number;

	(void)seq;
	*clock += ticks_of(h, next(&s) % 40000) - ticks_of(h, 20000);
	return true;
}

static void creep(struct hostile *h, uint64_t *s)
{
	(void)s;
	/* 500 ppm, and half a second back when it is far. */
	xvt_store(&h->offset, (int64_t)ticks_of(h, age_ns(h) / 2000 % (500 * MS)));
}

static void steps(struct hostile *h, uint64_t *s)
{
	(void)s;
	xvt_store(&h->offset, age_ns(h) / (500 * MS) % 2 ? (int64_t)ticks_of(h, MS) : 0);
}

static void wobble(struct hostile *h, uint64_t *s)
{
	xvt_store(&h->offset, (int64_t)ticks_of(h, next(s) % (30 * MS)));
}

/* Events are stamped by another clock than the one that answers. */
static bool answers_apart(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)r, (void)seq;
	*clock -= ticks_of(h, 50 * MS);
	return true;
}

static bool late_answer(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)h, (void)seq, (void)clock;
	return now_ns() - r->asked_ns >= 59 * MS;
}

static bool old_answer(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)h, (void)seq;
	*clock = r->asked_clock;
	return now_ns() - r->asked_ns >= 59 * MS;
}

static bool never(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)h, (void)r, (void)seq, (void)clock;
	return false;
}

static bool seldom(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)r, (void)seq, (void)clock;
	return age_ns(h) / (300 * MS) % 6 == 0;
}

static bool wrong_number(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	uint64_t s = h->seed ^ *clock;

	(void)r;
	if (next(&s) % 4)
		*seq += next(&s) % 5 - 2;
	return true;
}

static void answers_unasked(struct hostile *h, struct ring *r, uint64_t *s)
{
	honest(r, s);
	xvt_store(&r->w.ctl->answer_clock, wild(s, xvt_clock_read()));
	xvt_store_release(&r->w.ctl->answer_seq, xvt_load(&r->w.host->request_seq) + next(s) % 3);
	(void)h;
}

/* In the VMM's words it certifies itself 870 us off, and answers so. */
static void certifies(struct hostile *h, struct ring *r, uint64_t *s)
{
	int64_t off = (int64_t)ticks_of(h, 870000);

	xvt_store(&h->offset, off);
	xvt_vmm_clock_put(&r->w.host->vmm_clock, off, 1, 0);
	honest(r, s);
}

static void certifies_wildly(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
	if (next(s) % 4)
		any_word(s, &r->w.host->vmm_clock, 5, 1);
	else
		xvt_vmm_clock_put(&r->w.host->vmm_clock, (int64_t)wild(s, 0), wild(s, 1),
				  (uint32_t)next(s) % 64);
}

/* Silent, and another vCPU each time: what is kept against it must not go with the name. */
static void other_names(struct hostile *h, struct ring *r, uint64_t *s)
{
	bool is_silent = age_ns(h) % (2600 * MS) < 2500 * MS;

	xvt_store(&r->w.ctl->hw_id, (uint32_t)next(s));
	xvt_store(&r->w.ctl->nest, is_silent ? 1 + (uint32_t)(next(s) % 2) : 0);
	if (!is_silent)
		honest(r, s);
}

static bool seldom_there(struct hostile *h, struct ring *r, uint64_t *seq, uint64_t *clock)
{
	(void)r, (void)seq, (void)clock;
	return age_ns(h) % (2600 * MS) >= 2500 * MS;
}

static void marks(struct hostile *h, struct ring *r, uint64_t *s)
{
	struct xvt_mark mark = { .number = xvt_load(&r->w.host->mark_seq) + next(s) % 3 - 1,
				 .clock = wild(s, xvt_clock_read()) };

	if (spend(h, 40))
		xvt_write(&r->w, XVT_ID_MARK, &mark, sizeof(mark));
	xvt_store_release(&r->w.ctl->mark_ack, next(s) % 2 ? mark.number : next(s));
}

const struct kind clock_kinds[] = {
	{ .name = "clock-lies", .text = "wild answers", .ring = write_one, .answer = lies },
	{ .name = "clock-near",
	  .text = "answers up to 20 us off, inside and outside the bound",
	  .ring = write_one,
	  .answer = near_bound },
	{ .name = "clock-creeps",
	  .text = "a clock that creeps by 500 ppm, then jumps back",
	  .clock = own_clock,
	  .ring = write_one,
	  .region = creep },
	{ .name = "clock-steps",
	  .text = "a clock that steps by 1 ms twice a second",
	  .clock = own_clock,
	  .ring = write_one,
	  .region = steps },
	{ .name = "clock-wobbles",
	  .text = "a clock that is 0 to 30 ms off, another each time",
	  .clock = own_clock,
	  .ring = write_one,
	  .region = wobble },
	{ .name = "clock-apart",
	  .text = "answers by another clock, 50 ms behind its events'",
	  .ring = write_one,
	  .answer = answers_apart },
	{ .name = "answers-late",
	  .text = "each answer after 59 ms",
	  .ring = write_one,
	  .answer = late_answer },
	{ .name = "answers-old",
	  .text = "each answer after 59 ms, with the clock of before",
	  .ring = write_one,
	  .answer = old_answer },
	{ .name = "answers-seldom",
	  .text = "answers for 0.3 s of each 1.8 s",
	  .ring = write_one,
	  .answer = seldom },
	{ .name = "answers-others",
	  .text = "answers with other questions' numbers",
	  .ring = write_one,
	  .answer = wrong_number },
	{ .name = "answers-unasked",
	  .text = "answers to questions that come next",
	  .ring = answers_unasked },
	{ .name = "answers-never",
	  .text = "no answer, from the start on",
	  .flags = KIND_EARLY,
	  .ring = write_one,
	  .answer = never },
	{ .name = "vmm-clock",
	  .text = "certifies its own clock, 870 us off",
	  .clock = own_clock,
	  .ring = certifies },
	{ .name = "vmm-clock-wild", .text = "wild words of a VMM", .ring = certifies_wildly },
	{ .name = "hw-id",
	  .text = "silent, and a vCPU of another name each time",
	  .rings = 16,
	  .ring = other_names,
	  .answer = seldom_there },
	{ .name = "marks", .text = "marks that are wrong, or acknowledged without", .ring = marks },
	{ 0 },
};
