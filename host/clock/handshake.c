// SPDX-License-Identifier: GPL-2.0
/*
 * handshake.c - measures clock nodes by question and answer through the region: host clock, guest
 * clock, host clock, all three ordered by fences. An exchange proves that the guest's clock was g
 * at some moment between the two host readings. The handshake works under any hypervisor, and other
 * sources are checked against it.
 *
 * The guest looks into its mailbox every few milliseconds and then stays for the questions that
 * follow at once. A burst therefore costs the guest one timer tick. The first exchange is as wide
 * as the tick's period; the others take as long as a cache line needs to travel between two CPUs
 * and back. The bounds of all exchanges of a burst are intersected.
 *
 * The guest cannot answer while this thread spins on the CPU that the guest's vCPU runs on. The two
 * then take turns: each answer comes after the thread's spin and its next sleep. The thread naps
 * when the answer of a guest that stays does not come at once. If two answers in a row came during
 * naps, the thread moves to another CPU. The rest of the burst is as narrow as usual.
 */
#include "clock/source.h"

#include <stdlib.h>

#include "base/u64.h"

#define BURST	     32	      /* exchanges in one burst */
#define SPIN_NS	     100000   /* wait for the next answer of a running burst */
#define HELD_NS	     20000    /* no answer for this long: the guest may need this CPU */
#define AGAIN_NS     2000     /* the same if the answer before came during a nap */
#define STAY_NS	     150000   /* a guest that has answered stays at least this long */
#define POLL_NS	     1000000  /* longest stay in one poll() */
#define PATIENCE_NS  60000000 /* a burst with a narrow exchange may end after this */
#define WIDE_NS	     400000   /* wider is not narrow: continue up to ten times as long */
#define ENOUGH	     16	      /* exchanges that end a burst early */
#define RATE_PART    30	      /* the guest's rate is off by at most 1/30 */
#define NEAR_NS	     1000000  /* exchanges further apart do not limit each other */
#define STEP_ANSWERS 4	      /* a clock's step is known if so many differ */
#define BILLION	     1000000000u

struct exchange {
	uint64_t guest;
	uint64_t lo; /* host clock before asking */
	uint64_t hi; /* host clock after seeing the answer */
};

struct xvt_clock_source {
	struct xvt_clock_target t;
	uint64_t seq;
	uint64_t asked;	  /* host clock of the open question */
	uint64_t started; /* host clock of the burst's first answer */
	uint64_t patience;
	uint64_t wide;
	uint64_t near;
	bool open;	 /* a question is not answered yet */
	bool cut;	 /* the burst ends with the exchanges done so far */
	bool fresh;	 /* an answer came since the last poll() */
	uint64_t looked; /* host clock of the last look for an answer, used without t.looked */
	/* All answers differ by multiples of `step`, and `differ` of them from the one before. */
	uint64_t last_guest;
	uint64_t step;
	unsigned int differ;
	unsigned int most; /* exchanges of this burst */
	unsigned int count;
	struct exchange done[BURST];
};

static int handshake_open(struct xvt_clock_source **out, const struct xvt_clock_target *target)
{
	struct xvt_clock_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->t = *target;
	/* Never equal to a number that an earlier daemon used or that is left in the mailbox. */
	s->seq = xvt_load(&target->ctl->answer_seq) + (xvt_clock_read() | 1);
	s->wide = xvt_host_clock_ticks(target->host_clock, WIDE_NS);
	s->near = xvt_host_clock_ticks(target->host_clock, NEAR_NS);
	s->patience = xvt_host_clock_ticks(target->host_clock, PATIENCE_NS);
	*out = s;
	return 0;
}

static void ask(struct xvt_clock_source *s)
{
	struct xvt_ring_host *h = s->t.host;

	s->seq++;
	/* Before the clock: the cache line begins to move from the guest's CPU during the clock
	 * read. */
	xvt_store(&h->request_more, (uint64_t)(s->most - 1 - s->count));
	s->asked = xvt_clock_read_ordered();
	xvt_store_release(&h->request_seq, s->seq); /* pairs with xvt_writer_answer() */
	s->open = true;
}

static void begin_burst(struct xvt_clock_source *s)
{
	uint32_t wanted = s->t.exchanges ? *s->t.exchanges : 0;

	s->most = wanted > 1 && wanted < BURST ? wanted : BURST;
	s->count = 0;
	s->cut = s->fresh = false;
	ask(s);
}

static void handshake_start(struct xvt_clock_source *s)
{
	/*
	 * A question is asked again if it was asked before a pause, or if a restored snapshot took
	 * it back: its answer would span the pause, or never come. An answer that came since the
	 * last look is taken, because the guest is in its mailbox now. Exchanges done before it are
	 * kept: otherwise a guest that answers this seldom would never be measured.
	 */
	if (s->open && (xvt_clock_read() - s->asked < s->patience ||
			xvt_load(&s->t.ctl->answer_seq) == s->seq))
		return;
	s->cut = s->open && s->count;
	if (s->cut)
		return;
	begin_burst(s);
}

/* Takes the answer, if it has come. Returns false if not. */
static bool answered(struct xvt_clock_source *s)
{
	struct exchange *e = &s->done[s->count];

	if (xvt_load_acquire(&s->t.ctl->answer_seq) != s->seq)
		return false;
	/* Read at once: answer_seq proves that the guest has read its clock. */
	e->hi = xvt_clock_read_ordered();
	e->guest = xvt_load(&s->t.ctl->answer_clock);
	e->lo = s->asked;
	s->open = false;
	if (!s->count++)
		s->started = e->hi;
	return true;
}

/* Host ticks for guest ticks, at nominal rates. */
static int64_t to_host_ticks(const struct xvt_clock_source *s, uint64_t guest, uint64_t from)
{
	__int128 ticks = (__int128)guest - (__int128)from;

	return (int64_t)(ticks * (__int128)s->t.host_clock->hz / (__int128)*s->t.guest_hz);
}

/* By how much, in ppb, a time by the nominal rate may be off within one burst. */
static uint64_t rate_doubt_ppb(const struct xvt_clock_source *s)
{
	const uint64_t doubt_ppb = s->t.rate_doubt_ppb ? *s->t.rate_doubt_ppb : 0;
	uint64_t off_ppb;

	if (doubt_ppb >= BILLION)
		return UINT64_MAX;
	/* That is how far the rate may be off; a time is off by more, if the rate is lower. */
	off_ppb = xvt_u64_scale(doubt_ppb, BILLION, BILLION - doubt_ppb);
	if (!s->t.rate)
		return off_ppb;
	return xvt_u64_larger(off_ppb, xvt_clock_rate_off_claim_ppb(s->t.rate, *s->t.guest_hz));
}

/*
 * The nominal rate stands for the guest's rate while that is within 1/32 of it (session/clocks.c),
 * and it may be off by its doubt. An exchange bounds a moment the less tightly the further the
 * moment is away. Returns that slack in host ticks; it is negligible for near moments.
 */
static uint64_t rate_slack(int64_t shift, uint64_t doubt_ppb)
{
	const uint64_t apart = shift < 0 ? -(uint64_t)shift : (uint64_t)shift;

	return apart / RATE_PART + 1 + xvt_u64_scale(apart, doubt_ppb, BILLION);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Of a clock that does not show each tick, the greatest step that all answers agree with. */
static uint32_t step_most(struct xvt_clock_source *s)
{
	unsigned int i;

	for (i = 0; i < s->count; i++) {
		const uint64_t guest = s->done[i].guest, last = s->last_guest;

		s->last_guest = guest;
		if (!last || guest == last)
			continue;
		s->step = common_divisor(s->step, xvt_u64_apart(guest, last));
		s->differ++;
	}
	return s->step < UINT32_MAX ? (uint32_t)s->step : UINT32_MAX;
}

/* True if both exchanges were done within one short time, from the first question on. */
static bool is_near(const struct xvt_clock_source *s, const struct exchange *a,
		    const struct exchange *b)
{
	const struct exchange *first = a <= b ? a : b, *last = a <= b ? b : a;

	return last->hi - first->lo <= s->near;
}

/* The gap from the first to the last exchange that was done near the tightest one. A clock that
 * steps may have been read a step late. */
static struct xvt_rate_gap gap_within(const struct xvt_clock_source *s, const struct exchange *best)
{
	const struct exchange *a = best, *b = best, *end = s->done + s->count;
	uint64_t hz = s->t.host_clock->hz;

	while (a > s->done && is_near(s, a - 1, best))
		a--;
	while (b + 1 < end && is_near(s, a, b + 1))
		b++;
	if (b->guest <= a->guest)
		return (struct xvt_rate_gap){ 0 };
	return (struct xvt_rate_gap){ .ticks = b->guest - a->guest,
				      .host_ns = xvt_ticks_ns(b->lo - a->lo, hz),
				      .doubt_ns = xvt_u64_sum(
					      xvt_ticks_ns(b->hi - b->lo + a->hi - a->lo, hz),
					      xvt_ticks_ns(s->step, *s->t.guest_hz)) };
}

/*
 * Intersects the exchanges: each bounds the host time of the tightest one's guest clock. If they
 * contradict each other (the guest's clock crept within the burst), only the tightest counts. So do
 * those that are not near it: a machine that stops for a moment between two wide exchanges shows
 * that in neither.
 */
static void measure(struct xvt_clock_source *s, struct xvt_clock_measure *m)
{
	const uint64_t doubt_ppb = rate_doubt_ppb(s);
	const bool rate_open = (s->t.rate_open && *s->t.rate_open) || doubt_ppb == UINT64_MAX;
	unsigned int i, best = 0, lo_by, hi_by;
	const struct exchange *b;
	uint64_t lo, hi, lo_ns, hi_ns;
	bool contradicted = false;

	for (i = 1; i < s->count; i++) {
		if (s->done[i].hi - s->done[i].lo < s->done[best].hi - s->done[best].lo)
			best = i;
	}
	b = &s->done[best];
	lo = b->lo;
	hi = b->hi;
	lo_by = hi_by = best;
	for (i = 0; i < s->count; i++) {
		int64_t shift = to_host_ticks(s, s->done[i].guest, b->guest);
		uint64_t slack = rate_slack(shift, doubt_ppb);
		uint64_t lo_i = s->done[i].lo - (uint64_t)shift - slack;
		uint64_t hi_i = s->done[i].hi - (uint64_t)shift + slack;

		/* Without a rate, one exchange says nothing of the moment of another one. */
		if (!is_near(s, b, &s->done[i]) || (i != best && rate_open))
			continue;
		/* An interval wholly outside the tightest exchange contradicts it. Sums of a
		 * hostile guest's answers may not carry the node out of real time. */
		if ((int64_t)(lo_i - b->hi) > 0 || (int64_t)(hi_i - b->lo) < 0) {
			contradicted = true;
			break;
		}
		if ((int64_t)(lo_i - lo) > 0) {
			lo = lo_i;
			lo_by = i;
		}
		if ((int64_t)(hi_i - hi) < 0) {
			hi = hi_i;
			hi_by = i;
		}
	}
	if (contradicted || (int64_t)(hi - lo) < 0) {
		lo = b->lo;
		hi = b->hi;
		lo_by = hi_by = best;
	}
	memset(m, 0, sizeof(*m));
	lo_ns = xvt_host_clock_ns(s->t.host_clock, lo);
	hi_ns = xvt_host_clock_ns(s->t.host_clock, hi);
	m->node.ring = s->t.ring;
	m->node.source = XVT_SOURCE_HANDSHAKE;
	m->node.guest = b->guest;
	m->node.host_ns = lo_ns + (hi_ns - lo_ns) / 2;
	m->node.bound_ns = (hi_ns - lo_ns + 1) / 2 + 1; /* plus rounding */
	m->nr_samples = lo_by == hi_by ? 1 : 2;
	for (i = 0; i < m->nr_samples; i++) {
		const struct exchange *e = &s->done[i ? hi_by : lo_by];

		m->samples[i].ring = s->t.ring;
		m->samples[i].source = XVT_SOURCE_HANDSHAKE;
		m->samples[i].guest = e->guest;
		m->samples[i].host_clock_lo = e->lo;
		m->samples[i].host_clock_hi = e->hi;
	}
	m->host_clock_lo = s->done[0].lo;
	m->host_clock_hi = b->hi;
	m->clock_step_most = step_most(s);
	m->clock_step_known = s->differ >= STEP_ANSWERS;
	m->within = gap_within(s, b);
}

/* True if the burst may end. On a busy machine guest and host rarely meet; then it lasts longer. */
static bool enough(const struct xvt_clock_source *s)
{
	uint64_t lasted = xvt_clock_read() - s->started, narrowest = UINT64_MAX;
	unsigned int i;

	if (s->count == s->most || lasted > 10 * s->patience)
		return true;
	for (i = 0; i < s->count; i++) {
		if (s->done[i].hi - s->done[i].lo < narrowest)
			narrowest = s->done[i].hi - s->done[i].lo;
	}
	return narrowest < s->wide && (s->count >= ENOUGH || lasted > s->patience);
}

enum answer { NO_ANSWER, AT_ONCE, IN_NAP };

/* Waits for the answer of a guest that stays, and naps once if it has not come after held_ns. */
static enum answer wait_for_answer(struct xvt_clock_source *s, uint64_t held_ns)
{
	const uint64_t spin = xvt_host_clock_ticks(s->t.host_clock, SPIN_NS);
	const uint64_t held = xvt_host_clock_ticks(s->t.host_clock, held_ns);
	const struct xvt_clock_way *way = s->t.way;
	uint64_t waited;

	while (!answered(s)) {
		waited = xvt_clock_read() - s->asked;
		if (way && waited > held) {
			way->nap(way->arg);
			way = NULL;
			if (answered(s))
				return IN_NAP;
		} else if (waited > spin) {
			return NO_ANSWER;
		}
		xvt_relax();
	}
	return AT_ONCE;
}

/* How the guest answered during one poll(). */
struct answers {
	unsigned int naps; /* consecutive answers that came during a nap */
	bool left;	   /* the thread has just left its CPU */
};

/*
 * Does one exchange with a guest that stays. Returns false if the guest did not answer.
 *
 * An answer during a nap does not prove that the guest needs this CPU: on another CPU it may have
 * been interrupted for as long. Then it answers the next request at once. A move can take as long
 * as the guest stays, so it begins when the guest has another request to answer, and the request
 * after that shows whether the move helped.
 */
static bool exchange_again(struct xvt_clock_source *s, struct answers *a)
{
	const struct xvt_clock_way *way = s->t.way;
	const bool moved = a->left;
	enum answer how;

	ask(s);
	a->left = a->naps > 1 && way->leave(way->arg);
	if (a->left)
		a->naps = 0;
	how = wait_for_answer(s, a->naps ? AGAIN_NS : HELD_NS);
	if (moved && how != NO_ANSWER)
		way->left(way->arg, how == AT_ONCE);
	a->naps = how == IN_NAP ? a->naps + 1 : 0;
	return how != NO_ANSWER;
}

/*
 * Takes an answer, and does more exchanges while the guest stays in its mailbox. The guest is there
 * if the question was asked, or looked for, less than STAY_NS ago. Otherwise the guest may have
 * left: the next question is asked without waiting for the answer, because waiting would make other
 * guests' answers late, too. The next look takes it.
 */
static void handshake_exchange(struct xvt_clock_source *s)
{
	uint64_t begin = xvt_clock_read(), looked = s->t.looked ? *s->t.looked : s->looked;
	uint64_t stay = xvt_host_clock_ticks(s->t.host_clock, STAY_NS), most;
	struct answers answers = { 0 };
	bool met = false, late;

	late = begin - looked > stay && begin - s->asked > stay;
	s->looked = begin;
	if (s->cut || !s->open || !answered(s))
		return;
	s->fresh = true;
	if (late && s->count < s->most) {
		ask(s);
		return;
	}
	most = xvt_host_clock_ticks(s->t.host_clock, POLL_NS);
	while (s->count < s->most && xvt_clock_read() - begin < most) {
		if (!exchange_again(s, &answers))
			return;
		/* The guest answered at once, and knows that more questions follow. */
		if (s->t.met && !met && s->count < s->most)
			s->t.met(s->t.met_arg);
		met = true;
	}
	s->looked = xvt_clock_read();
}

static int handshake_poll(struct xvt_clock_source *s, struct xvt_clock_measure *m)
{
	if (s->cut) {
		measure(s, m);
		begin_burst(s); /* a new burst at once: the guest may be about to look */
		return 1;
	}
	handshake_exchange(s);
	if (!s->fresh)
		return 0;
	s->fresh = false;
	if (!enough(s)) {
		if (!s->open)
			ask(s);
		return 0;
	}
	measure(s, m);
	s->open = false; /* a late answer has a number that is not expected any more */
	return 1;
}

/* A guest that is paused or dead is not polled ten thousand times a second. */
static bool handshake_busy(const struct xvt_clock_source *s)
{
	return s->open && xvt_clock_read() - s->asked < s->patience;
}

static bool handshake_waits(const struct xvt_clock_source *s, struct xvt_clock_wait *wait)
{
	*wait = (struct xvt_clock_wait){ &s->t.ctl->answer_seq, s->seq, s->asked + s->patience };
	return s->open && !s->cut && !(s->fresh && enough(s));
}

static void handshake_close(struct xvt_clock_source *s)
{
	free(s);
}

const struct xvt_clock_source_ops xvt_clock_handshake = {
	.name = "handshake",
	.id = XVT_SOURCE_HANDSHAKE,
	.open = handshake_open,
	.start = handshake_start,
	.poll = handshake_poll,
	.busy = handshake_busy,
	.waits = handshake_waits,
	.exchange = handshake_exchange,
	.close = handshake_close,
};
