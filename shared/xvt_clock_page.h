/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_clock_page.h - host time and guest-active time without a lock or a system call: how a
 * struct xvt_clock_page is read and written. Freestanding; the same for a program in a guest
 * (page in the region, clock = the guest's counter) and on the host (page in a file of the
 * recorder, struct xvt_clock_file, which no guest can write).
 *
 * Sources: the user page of perf_event_open(2) (a sequence lock around mult, shift and offset);
 * P. Zijlstra, "perf: Fix perf_event_read_local() time" (2021): time' = time + (now - timestamp)
 * while active, frozen while not, and never back.
 *
 * The page is a sequence lock around a piecewise linear map from clock to host time. It keeps
 * three promises.
 *
 * 1. A value is never torn: it comes from one version of the page.
 *
 * 2. Within one (session, epoch) no reader goes back: if one read ended before another began, in
 *    any thread or process, its host time and its active time are not greater. That is more than
 *    a sequence lock gives, because the samples by which the map is corrected are noisy. It holds
 *    because two versions agree wherever both can be used:
 *
 *	version k    ----------------*............
 *	version k+1  ----------------*------------    same line up to the knee *, then another
 *	                   ^read k   ^ knee      ^ read k+1
 *
 *    a) A reader's clock value is read between its two loads of seq. So a read of version k
 *       happened before seq became odd for k+1, and one of version k+1 after the page was stored.
 *    b) The writer makes seq odd, lets that become visible (a full fence), reads its own clock,
 *       and only then places the knee: beyond any value that the reader's clock can have by then.
 *       So every clock value that was used with version k lies before the knee of k+1.
 *    c) Before the knee, k+1 holds the very lines of k (the same words, so the same rounding), as
 *       far back as a reader of k+1 can be: to the newest sample, which is older than the page.
 *    d) A line begins with the value of the one before it, and none falls. So from any value of
 *version k to any later one of k+1 the map does not fall; and so on from version to version.
 *
 *    In (b) the host knows a guest's clock only by its samples. If the guest's clock gains more on
 *    it than XVT_CLOCK_LEAD_NS and the sample's bound (or 1/16 of the time since), it breaks what
 *    an epoch is, and the next sample begins another one. Two epochs do not compare; still, a new
 *    one begins no earlier than the last one is likely to have come.
 *
 *    Active time is active_ns, plus what host time is beyond active_since_ns while ACTIVE. When
 *    the VM pauses, active_ns is set to the most that any reader can have seen; when it resumes,
 *    active_since_ns is put where the sum is right again: in the past, then active time steps
 *    forward to what it is, or in the future, then it stands until then. So the time between a
 *    real resume and the host's hearing of it counts, once.
 *
 * 3. A reader never hangs. A writer that died in mid-write costs XVT_CLOCK_TRIES tries, then
 *    -EAGAIN. A host that is gone shows in age_ns, and bound_ns grows with it.
 *
 * Order that (a) needs of the reader: seq (acquire), the words (after it), the clock (after the
 * first load of seq, and after the branch on it, which arm64's isb needs to order the counter
 * behind the load), seq again after both. xvt_clock_read_ordered() is ordered on both sides
 * (lfence; rdtsc; lfence); a clock of the caller's must be too. Order that (b) needs of the
 * writer: seq odd, full fence, its clock. On x86 xvt_mb() and then the ordered read are the
 * mfence; lfence; rdtsc that Intel's manual gives for this. On arm64 dmb does not hold back the
 * counter; the lead covers what a store may take to be seen.
 */
#ifndef XVT_CLOCK_PAGE_H
#define XVT_CLOCK_PAGE_H

#include "xvt_abi.h"

#define XVT_CLOCK_TRIES	     256u
#define XVT_CLOCK_WORDS	     (offsetof(struct xvt_clock_page, reserved) / 8)
/* An epoch's guest clock gains no more than this on the host's, or 1/16, between samples. */
#define XVT_CLOCK_LEAD_NS    20000000u
#define XVT_CLOCK_UNBOUNDED  UINT64_MAX

#define XVT_CLOCK_FILE_MAGIC 0x4b4c43545658ull /* "XVTCLK" */
#define XVT_CLOCK_FILE_MAJOR 1u

/*
 * The page that the recorder shares with the host's own programs, a file for each ring: map it
 * read-only. `host` is read with the host's counter (its host time is the trace's, to the
 * nanosecond); `guest` maps values of the guest's clock: xvt_clock_page_at().
 */
struct xvt_clock_file {
	uint64_t magic; /* last, with release */
	uint32_t major; /* a reader refuses what it does not know */
	uint32_t size;	/* sizeof(struct xvt_clock_file) of the writer */
	uint32_t ring;	/* index in the region */
	uint32_t hw_id; /* as struct xvt_ring_ctl */
	uint64_t reserved[5];
	char vm_name[XVT_NAME_LEN];
	uint64_t reserved1[16];
	struct xvt_clock_page host;
	struct xvt_clock_page guest;
};
XVT_ASSERT(sizeof(struct xvt_clock_file) == 768, "clock file layout");
XVT_ASSERT(offsetof(struct xvt_clock_file, host) == 256, "clock file layout");

/* The result of a read. Compare host_ns and active_ns only if session and epoch are the same. */
struct xvt_clock_now {
	uint64_t clock;	    /* as it was read */
	uint64_t host_ns;   /* the host's CLOCK_MONOTONIC, */
	uint64_t bound_ns;  /* off by at most this; XVT_CLOCK_UNBOUNDED = may be off by anything */
	uint64_t age_ns;    /* since the newest sample of the clock */
	uint64_t active_ns; /* how long the VM ran since the recorder came; stands while paused */
	uint64_t session;
	uint64_t epoch;
	uint64_t flags; /* XVT_CLOCK_F_* */
};

/* Host time of `clock` on one line. */
xvt_inline uint64_t xvt_clock_line_ns(const struct xvt_clock_line *l, uint64_t clock)
{
	__int128 ns = (__int128)(int64_t)(clock - l->clock) * (__int128)(int64_t)l->mult;

	return l->ns + (uint64_t)(ns >> XVT_CLOCK_SHIFT);
}

/* A line that goes on from `l` with another slope: its value at `clock` is the same. */
xvt_inline struct xvt_clock_line xvt_clock_line_bend(const struct xvt_clock_line *l, uint64_t clock,
						     uint64_t mult)
{
	return (struct xvt_clock_line){ clock, xvt_clock_line_ns(l, clock), mult };
}

/* Host time by a private copy of a page. */
xvt_inline uint64_t xvt_clock_lines_ns(const struct xvt_clock_page *v, uint64_t clock)
{
	uint64_t i = 0;

	while (i + 1 < v->nr_lines && (int64_t)(clock - v->line[i + 1].clock) >= 0)
		i++;
	return xvt_clock_line_ns(&v->line[i], clock);
}

xvt_inline uint64_t xvt_clock_bound_at(const struct xvt_clock_page *v, uint64_t host_ns)
{
	uint64_t far = host_ns > v->node_ns ? host_ns - v->node_ns : v->node_ns - host_ns;
	unsigned __int128 bound = (unsigned __int128)far * v->drift >> XVT_CLOCK_SHIFT;

	if (v->flags & XVT_CLOCK_F_UNCONFIRMED)
		return XVT_CLOCK_UNBOUNDED;
	bound += v->bound_ns;
	return bound >> 64 ? XVT_CLOCK_UNBOUNDED : (uint64_t)bound;
}

/* Active time at a host time. */
xvt_inline uint64_t xvt_clock_active_at(const struct xvt_clock_page *v, uint64_t host_ns)
{
	if (!(v->flags & XVT_CLOCK_F_ACTIVE) || (int64_t)(host_ns - v->active_since_ns) < 0)
		return v->active_ns;
	return v->active_ns + (host_ns - v->active_since_ns);
}

/* Private copy of a page, already consistent, and a clock value: the result. */
xvt_inline int xvt_clock_page_value(const struct xvt_clock_page *v, uint64_t clock,
				    struct xvt_clock_now *now)
{
	if (!(v->flags & XVT_CLOCK_F_VALID))
		return -ENODATA;
	if (!v->nr_lines || v->nr_lines > XVT_CLOCK_LINES)
		return -EBADMSG;
	now->clock = clock;
	now->host_ns = xvt_clock_lines_ns(v, clock);
	now->bound_ns = xvt_clock_bound_at(v, now->host_ns);
	now->age_ns = now->host_ns > v->node_ns ? now->host_ns - v->node_ns : 0;
	now->active_ns = xvt_clock_active_at(v, now->host_ns);
	now->session = v->session;
	now->epoch = v->epoch;
	now->flags = v->flags;
	return 0;
}

/*
 * Both reads: a consistent copy into *v and, between the loads of seq, the clock into *clock.
 * `read` NULL is the CPU's counter. Returns 0 or -EAGAIN.
 */
xvt_inline int xvt_clock_page_copy_(const struct xvt_clock_page *p, uint64_t (*read)(void *arg),
				    void *arg, struct xvt_clock_page *v, uint64_t *clock)
{
	const uint64_t *from = (const uint64_t *)p;
	uint64_t *to = (uint64_t *)v;
	uint32_t tries, i;

	for (tries = 0; tries < XVT_CLOCK_TRIES; tries++) {
		uint64_t seq = xvt_load_acquire(&p->seq); /* pairs with xvt_clock_page_end() */

		if (seq & 1) {
			xvt_relax();
			continue;
		}
		v->seq = seq;
		for (i = 1; i < XVT_CLOCK_WORDS; i++)
			to[i] = xvt_load(&from[i]);
		/* Inside: see (a) above. Outside, it could be any later moment. */
		*clock = read ? read(arg) : xvt_clock_read_ordered();
		xvt_rmb(); /* words before seq; pairs with xvt_clock_page_begin() */
		if (xvt_load(&p->seq) == seq)
			return 0;
	}
	return -EAGAIN;
}

/*
 * What time is it? `p` may be written at any moment. `read` is a clock of the caller's, ordered
 * on both sides; NULL is the CPU's own counter, for a ring whose clock_id is XVT_CLOCK_NATIVE
 * and for the `host` page of a file. Never waits, makes no system call, may run in a signal
 * handler. A struct xvt_clock_now is filled only on success. Returns 0, or -EAGAIN   the page was
 * written at every try: ask again; for long, its writer died -ENODATA  nothing is known yet (no
 * recorder, no sample, a region before version 1.1) -ESTALE   the clock stands before the newest
 * sample: it jumped back, and the host, which will begin a new epoch, does not know yet (or `p`
 * belongs to another CPU) -EBADMSG  this is no clock page
 */
xvt_inline int xvt_clock_page_read(const struct xvt_clock_page *p, uint64_t (*read)(void *arg),
				   void *arg, struct xvt_clock_now *now)
{
	struct xvt_clock_page v;
	uint64_t clock;
	int err = xvt_clock_page_copy_(p, read, arg, &v, &clock);

	if (err)
		return err;
	if (v.flags & XVT_CLOCK_F_VALID && (int64_t)(clock - v.node_clock) < 0)
		return -ESTALE;
	return xvt_clock_page_value(&v, clock, now);
}

xvt_inline uint64_t xvt_clock_given_(void *arg)
{
	return *(uint64_t *)arg;
}

/*
 * Host time of a clock value that was read before, such as a record's stamp of this epoch. A
 * newer version of the page may place it otherwise, within the bounds; and its active time is
 * right only if the VM was not paused since. Returns as xvt_clock_page_read(), but never -ESTALE.
 */
xvt_inline int xvt_clock_page_at(const struct xvt_clock_page *p, uint64_t clock,
				 struct xvt_clock_now *now)
{
	struct xvt_clock_page v;
	int err = xvt_clock_page_copy_(p, xvt_clock_given_, &clock, &v, &clock);

	return err ? err : xvt_clock_page_value(&v, clock, now);
}

/*
 * The writer's side: one writer a page. begin, read the clock, decide, end. `seq` is the
 * writer's own count, because what stands in a region is the guest's to scribble on; a new
 * writer starts with what it finds there.
 */
xvt_inline void xvt_clock_page_begin(struct xvt_clock_page *p, uint64_t *seq)
{
	*seq |= 1; /* odd already: the last writer died here */
	xvt_store(&p->seq, *seq);
	/* Before the words (pairs with the reader's xvt_rmb()), and seen before the caller reads
	 * its clock: see (b) above. */
	xvt_mb();
}

/* `image` replaces the page; its seq does not count. */
xvt_inline void xvt_clock_page_end(struct xvt_clock_page *p, uint64_t *seq,
				   const struct xvt_clock_page *image)
{
	const uint64_t *from = (const uint64_t *)image;
	uint64_t *to = (uint64_t *)p;
	uint32_t i;

	for (i = 1; i < XVT_CLOCK_WORDS; i++)
		xvt_store(&to[i], from[i]);
	*seq += 1;
	xvt_store_release(&p->seq, *seq); /* pairs with xvt_clock_page_copy_() */
}

/* Begin, write and end in one call, where nothing is decided in between. */
xvt_inline void xvt_clock_page_write(struct xvt_clock_page *p, uint64_t *seq,
				     const struct xvt_clock_page *image)
{
	xvt_clock_page_begin(p, seq);
	xvt_clock_page_end(p, seq, image);
}

#endif /* XVT_CLOCK_PAGE_H */
