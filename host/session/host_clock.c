// SPDX-License-Identifier: GPL-2.0
/* host_clock.c - the host's clock follows CLOCK_MONOTONIC while a session records. */
#include "session/parts.h"

#include <errno.h>
#include <inttypes.h>

void xvt_session_put_lines(struct xvt_session *s, int n)
{
	if (n > 0)
		xvt_trace_put(s->trace, XVT_CHUNK_TIMEBASE, s->clock.lines + s->clock.count - n,
			      (size_t)n * sizeof(*s->clock.lines), NULL, 0);
}

/* Notes that the difference between host times and CLOCK_MONOTONIC changed. */
static void note_apart(struct xvt_session *s, int64_t before_ns)
{
	const struct xvt_host_clock *c = &s->clock;

	if (c->slewing && !s->told.slewing)
		xvt_session_note(
			s, 1, NULL, UINT32_MAX,
			"CLOCK_MONOTONIC is slewed by more than %u ppm (by chrony?); times "
			"go on with the host's counter, so that durations stay right",
			XVT_TIMEBASE_SLEW_PPM);
	else if (!c->slewing && s->told.slewing)
		xvt_session_note(s, 1, NULL, UINT32_MAX,
				 "CLOCK_MONOTONIC is slewed fast no more; times are ahead of it by "
				 "%.3f ms",
				 (double)c->apart_ns / 1e6);
	else if (!c->slewing && c->apart_ns != before_ns)
		xvt_session_note(s, 1, NULL, UINT32_MAX,
				 "the host's counter and CLOCK_MONOTONIC came apart by %" PRId64
				 " ms (did the host sleep?); times go on with the counter",
				 (c->apart_ns - before_ns) / 1000000);
	s->told.slewing = c->slewing;
}

void xvt_session_follow_clock(struct xvt_session *s, uint64_t now)
{
	int64_t apart_ns = s->clock.apart_ns;
	int n = xvt_host_clock_follow(&s->clock, now);

	xvt_session_put_lines(s, n);
	for (size_t i = 0; n > 0 && i < s->nr_rings; i++)
		xvt_clock_pages_host_clock(&s->rings[i]->measure.pages);
	note_apart(s, apart_ns);
	if (n == -ESTALE && !s->told.went_back)
		xvt_session_note(s, 2, NULL, UINT32_MAX,
				 "the host's counter went back (it slept?): times from here on "
				 "do not fit those before; stop and record anew");
	s->told.went_back |= n == -ESTALE;
}
