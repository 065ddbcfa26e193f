/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page.h - maintains a ring's clock pages: the one in its region, for the guest's programs, and
 * those in a file, for the host's. shared/xvt_clock_page.h explains what a page promises and why it
 * holds; this module computes the map.
 *
 * The map of a page ends in the line through the newest sample, with the rate of the guest's clock
 * as measured over the samples of the last seconds. From the knee on it is bent towards that line,
 * by at most half the rate, and meets it after SLEW_NS or more. bound_ns is the sample's bound plus
 * the most that the page is off that line until then. drift is the possible error of the rate, or
 * the error of the last samples beyond their bounds, whichever is larger.
 *
 * From a region only the first seq is read back, as a hint.
 */
#ifndef XVT_CLOCK_PAGE_HOST_H
#define XVT_CLOCK_PAGE_HOST_H

#include "clock/map.h"
#include "xvt_clock_page.h"

/* A page that is written, and the private copy of its sequence count. */
struct xvt_clock_target_page {
	struct xvt_clock_page *page; /* or NULL */
	uint64_t seq;
};

struct xvt_clock_anchor {
	uint64_t clock;
	uint64_t ns;
	uint64_t bound_ns;
};

/* The clock pages of one ring. */
struct xvt_clock_pages {
	struct xvt_clock_page guest; /* contents of the pages: private copies */
	struct xvt_clock_page host;
	struct xvt_clock_target_page region;
	struct xvt_clock_target_page file_guest;
	struct xvt_clock_target_page file_host;
	struct xvt_clock_file *file;
	char *path;
	const struct xvt_host_clock *host_clock;
	uint64_t (*clock)(void *arg); /* reads the host's clock, ordered; tests set their own */
	void *clock_arg;
	uint64_t lead_ns; /* XVT_CLOCK_LEAD_NS */
	bool active;
	/* true active time, ns, up to true_since_ns; pages may have shown more */
	uint64_t true_active_ns;
	uint64_t true_since_ns; /* host time of the last resume or pause */
	struct xvt_clock_anchor anchor[2];
	uint64_t drift_seen;
	uint64_t last_bound_ns; /* bound of the sample in `guest` */
	uint64_t last_rate;	/* slope of that sample's line */
};

/*
 * Begins. `region` is the page in the ring's host block, or NULL; contents left by an earlier
 * recorder end here. `session` is a random number of this recording. `clock` reads the host's
 * clock, ordered; NULL: the CPU's counter. Active time starts at 0 now; for a VM that is already
 * paused the caller calls xvt_clock_pages_pause() next.
 */
void xvt_clock_pages_init(struct xvt_clock_pages *c, struct xvt_clock_page *region,
			  const struct xvt_host_clock *host_clock, uint64_t session,
			  uint64_t (*clock)(void *arg), void *clock_arg);

/*
 * Makes DIR/NAME.RING for the host's programs. A file left by a dead recorder is used again, so
 * that programs that have it mapped go on. Slashes in `name` become underscores. Returns 0, -EBUSY
 * (another recorder writes it), -EPERM (a file of another user), -ENOMEM, or -errno of open(),
 * ftruncate(), mmap(). After an error there is no file, and the other pages work.
 */
int xvt_clock_pages_share(struct xvt_clock_pages *c, const char *dir, const char *name,
			  uint32_t ring, uint32_t hw_id);

/*
 * Takes a node of the ring's map, with its epoch set; hz is the nominal rate of the guest's clock.
 * Also follows the host clock. Returns 0; -EAGAIN while earlier corrections are still under way
 * (the node is left out, a later one counts); -EINVAL for a rate or clock value that gives no map,
 * or a node that is not after the last one.
 */
int xvt_clock_pages_node(struct xvt_clock_pages *c, const struct xvt_clock_node *node, uint64_t hz);

/*
 * The VM was paused, or ran again, at host_ns as far as known, at the latest now. From a pause
 * until the next node the guest's map counts as unconfirmed, because its clock may have stood still
 * or been set. A repeated call has no effect.
 */
void xvt_clock_pages_pause(struct xvt_clock_pages *c, uint64_t host_ns);
void xvt_clock_pages_resume(struct xvt_clock_pages *c, uint64_t host_ns);

/*
 * The host clock has new lines (xvt_host_clock_follow()). Must be called before they begin, so
 * within XVT_TIMEBASE_LEAD_NS. After a later call the host's page was off meanwhile, by more than
 * its bound.
 */
void xvt_clock_pages_host_clock(struct xvt_clock_pages *c);

/* The guest's clock may have been moved (reset, wake-up): its map is unconfirmed until the next
 * node. */
void xvt_clock_pages_doubt(struct xvt_clock_pages *c);

/* Ends the pages: they show CLOSED, and the file is removed. Must be called while the region is
 * still mapped. Later calls have no effect. Valid for pages that were never begun (all 0). */
void xvt_clock_pages_fini(struct xvt_clock_pages *c);

#endif /* XVT_CLOCK_PAGE_HOST_H */
