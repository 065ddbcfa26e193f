/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page.h - keeps a ring's clock pages: the one in its region, for the guest's programs, and
 * those in a file, for the host's. What a page promises, and why it can, is in
 * shared/xvt_clock_page.h; here it is decided what the map shall be.
 *
 * The map of a page always ends in the line through the newest sample with the rate of the
 * guest's clock, as far as the samples of the last seconds tell it. From the knee on it is bent
 * towards that line, by no more than half the rate, and meets it after SLEW_NS or more. bound_ns
 * is the sample's bound and the most that the page is off that line until then; drift is what
 * the rate may be wrong by, or what the last samples were wrong by beyond their bounds.
 *
 * Nothing is ever read back from a region but the first seq, as a hint.
 */
#ifndef XVT_CLOCK_PAGE_HOST_H
#define XVT_CLOCK_PAGE_HOST_H

#include "clock/map.h"
#include "xvt_clock_page.h"

/* A page that is written, and the writer's own count. */
struct xvt_clock_target_page {
	struct xvt_clock_page *page; /* or NULL */
	uint64_t seq;
};

struct xvt_clock_anchor {
	uint64_t clock;
	uint64_t ns;
	uint64_t bound_ns;
};

/* Of one ring. */
struct xvt_clock_pages {
	struct xvt_clock_page guest; /* what stands in the pages: our private copies */
	struct xvt_clock_page host;
	struct xvt_clock_target_page region;
	struct xvt_clock_target_page file_guest;
	struct xvt_clock_target_page file_host;
	struct xvt_clock_file *file;
	char *path;
	const struct xvt_host_clock *host_clock;
	uint64_t (*clock)(void *arg); /* the host's, ordered; tests have their own */
	void *clock_arg;
	uint64_t lead_ns; /* XVT_CLOCK_LEAD_NS */
	bool active;
	uint64_t true_active_ns; /* until true_since_ns: without what was shown too much */
	uint64_t true_since_ns;	 /* of the last resume, or of the last pause */
	struct xvt_clock_anchor anchor[2];
	uint64_t drift_seen;
	uint64_t last_bound_ns; /* of the sample in `guest` */
	uint64_t last_rate;	/* and the slope of its line */
};

/*
 * Begin. `region` is the page in the ring's host block, or NULL; what an earlier recorder left
 * there ends. `session` is a random number of this recording. `clock` reads the host's clock,
 * ordered; NULL is the CPU's counter. Active time starts now at 0; for a VM that is paused
 * already, xvt_clock_pages_pause() follows.
 */
void xvt_clock_pages_init(struct xvt_clock_pages *c, struct xvt_clock_page *region,
			  const struct xvt_host_clock *host_clock, uint64_t session,
			  uint64_t (*clock)(void *arg), void *clock_arg);

/*
 * Make DIR/NAME.RING for the host's programs. A file that a dead recorder left is used again,
 * so that who has it mapped goes on. Slashes in `name` become underscores. Returns 0, -EBUSY
 * (another recorder writes it), -EPERM (somebody else's file), or -errno of open, ftruncate, mmap;
 * then there is no file, and all else works.
 */
int xvt_clock_pages_share(struct xvt_clock_pages *c, const char *dir, const char *name,
			  uint32_t ring, uint32_t hw_id);

/*
 * A node of the ring's map has come, its epoch is set; hz is the nominal rate of the guest's clock.
 * Also follows the host clock. Returns 0; -EAGAIN when the corrections before
 * are still under way (a node or two too soon: it is left out, the next one counts); -EINVAL for a
 * rate or a clock value of which no map can be made, or a node that is not after the last one.
 */
int xvt_clock_pages_node(struct xvt_clock_pages *c, const struct xvt_clock_node *node, uint64_t hz);

/*
 * The VM was paused, or ran again, at host_ns as well as we know: no later than now. From a pause
 * until the next node the guest's map counts as unconfirmed, because its clock may have stood still
 * or have been set. Calling either twice does nothing.
 */
void xvt_clock_pages_pause(struct xvt_clock_pages *c, uint64_t host_ns);
void xvt_clock_pages_resume(struct xvt_clock_pages *c, uint64_t host_ns);

/*
 * The host clock has new lines (xvt_host_clock_tend()). To be told before they begin, so within
 * XVT_TIMEBASE_LEAD_NS; later, the host's page is off until then by what its bound does not cover.
 */
void xvt_clock_pages_host_clock(struct xvt_clock_pages *c);

/* Something may have moved the guest's clock (reset, wake-up): unconfirmed until the next node. */
void xvt_clock_pages_doubt(struct xvt_clock_pages *c);

/*
 * The end, or the region goes away (call it while the region is still mapped): the pages say
 * CLOSED, the file is removed. All else is then without effect. Fine on one that was never begun
 * (all 0).
 */
void xvt_clock_pages_fini(struct xvt_clock_pages *c);

#endif /* XVT_CLOCK_PAGE_HOST_H */
