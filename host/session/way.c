// SPDX-License-Identifier: GPL-2.0
/*
 * way.c - makes way for a guest whose vCPU needs the recorder's CPU to answer (clock/handshake.c):
 * naps there, and moves the recorder to another CPU of those on which it may run. The move lasts
 * until the pass ends. After that the kernel's scheduler is free again, because the guest's vCPU
 * may be anywhere by then.
 *
 * Two answers in a row that came during naps do not prove it: the guest's vCPU may share another
 * CPU with another program. Moves that do not help become rarer.
 */
#include "session/parts.h"

#include <sys/prctl.h>
#include <time.h>

#define NAP_NS	 20000	    /* the guest answers 10 us after the recorder has left its CPU */
#define SLACK_NS 10000	    /* later than that by this at most; the kernel's default is 50 us */
#define LEAST_NS 2000000ull /* between two moves: a move takes 20 to 300 us */
#define MOST_NS	 SECOND_NS  /* the same if moves do not help */

static void nap(void *arg)
{
	const struct timespec ts = { .tv_nsec = NAP_NS };

	(void)arg;
	nanosleep(&ts, NULL);
}

static bool leave(void *arg)
{
	struct xvt_session *s = arg;
	const uint64_t now = xvt_clock_read();

	if (earlier(now, s->way.next_clock))
		return false;
	s->way.next_clock = now + ticks(s, s->way.gap_ns);
	return xvt_cpu_leave(&s->wake.cpu);
}

static void left(void *arg, bool helped)
{
	struct xvt_session *s = arg;

	if (helped) {
		s->way.gap_ns = LEAST_NS;
		return;
	}
	s->way.gap_ns *= 2;
	if (s->way.gap_ns > MOST_NS)
		s->way.gap_ns = MOST_NS;
	s->way.next_clock = xvt_clock_read() + ticks(s, s->way.gap_ns);
}

void xvt_session_way_begin(struct xvt_session *s)
{
	s->way.ops = (struct xvt_clock_way){ .nap = nap, .leave = leave, .left = left, .arg = s };
	s->way.gap_ns = LEAST_NS;
	/* Where it is not allowed, naps are longer. */
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
}

void xvt_session_way_end_pass(struct xvt_session *s)
{
	/* In a doze, sleep.c decides. */
	if (!s->wake.bells || !s->wake.dozing)
		xvt_cpu_back(&s->wake.cpu);
}
