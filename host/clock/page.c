// SPDX-License-Identifier: GPL-2.0
/* page.c - computes the map of a clock page, and keeps the file that the host's programs map. See
 * page.h, and shared/xvt_clock_page.h for why no reader sees time go back. */
#define _GNU_SOURCE
#include "clock/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/user.h"

typedef unsigned __int128 u128;
typedef __int128 s128;

#define ONE	    (1ull << XVT_CLOCK_SHIFT)
#define SLEW_NS	    50000000u	/* a correction takes at least this long */
#define RATE_MIN_NS 50000000u	/* shortest interval over which a rate is measured */
#define RATE_NS	    8000000000u /* half of the longest such interval */
#define DRIFT_MIN   (ONE >> 20) /* about 1 ppm: no rate is known better */
#define DRIFT_START (ONE >> 4)	/* one sample gives no rate: the most that an epoch allows */
#define HZ_MIN	    1000u
#define HZ_MAX	    1000000000000ull

static uint64_t native_clock(void *arg)
{
	(void)arg;
	return xvt_clock_read_ordered();
}

/* ------------------------------------------------------------------ publishing */

static void begin_page(struct xvt_clock_target_page *t)
{
	if (t->page)
		xvt_clock_page_begin(t->page, &t->seq);
}

static void end_page(struct xvt_clock_target_page *t, const struct xvt_clock_page *image)
{
	if (t->page)
		xvt_clock_page_end(t->page, &t->seq, image);
}

/* Makes the sequence counts of all pages odd. Returns the host's clock now; earlier readers have
 * seen no later one. */
static uint64_t begin(struct xvt_clock_pages *c)
{
	begin_page(&c->region);
	begin_page(&c->file_guest);
	begin_page(&c->file_host);
	return c->clock(c->clock_arg);
}

static void end(struct xvt_clock_pages *c)
{
	end_page(&c->region, &c->guest);
	end_page(&c->file_guest, &c->guest);
	end_page(&c->file_host, &c->host);
}

static void target(struct xvt_clock_target_page *t, struct xvt_clock_page *page)
{
	t->page = page;
	t->seq = page ? xvt_load(&page->seq) : 0;
}

/* ------------------------------------------------------------------ lines */

/* Ticks in `ns` at a rate, rounded up. */
static uint64_t ticks_up(uint64_t ns, uint64_t rate)
{
	u128 ticks = (((u128)ns << XVT_CLOCK_SHIFT) + rate - 1) / rate;

	return ticks > INT64_MAX ? INT64_MAX : (uint64_t)ticks;
}

static int64_t off_line(const struct xvt_clock_line *truth, const struct xvt_clock_line *line,
			uint64_t clock)
{
	return (int64_t)(xvt_clock_line_ns(truth, clock) - xvt_clock_line_ns(line, clock));
}

static uint64_t larger_off(uint64_t most, int64_t off)
{
	uint64_t size = off < 0 ? 0 - (uint64_t)off : (uint64_t)off;

	return size > most ? size : most;
}

/* Copies the lines of `v` that are in use anywhere in [from, knee). */
static uint64_t keep_lines(const struct xvt_clock_page *v, uint64_t from, uint64_t knee,
			   struct xvt_clock_line *kept)
{
	uint64_t i, n = 0;

	for (i = 0; i < v->nr_lines; i++) {
		bool last = i + 1 == v->nr_lines;

		if (!last && (int64_t)(v->line[i + 1].clock - from) <= 0)
			continue;
		if (n && (int64_t)(v->line[i].clock - knee) >= 0)
			break;
		kept[n++] = v->line[i];
	}
	return n;
}

/*
 * Bends the map at `knee` towards `truth`, which it then meets and follows. Readers are at `from`
 * or later. *off_ns: the most that the map is off `truth` from there on. Returns 0, -EAGAIN if the
 * page has no free line, or -EINVAL.
 */
static int bend(struct xvt_clock_page *v, const struct xvt_clock_line *truth, uint64_t from,
		uint64_t knee, uint64_t *off_ns)
{
	/* Zeroed: all of it goes into the pages, and no stale stack memory may. */
	struct xvt_clock_line kept[XVT_CLOCK_LINES] = { { 0 } }, *slew, *after;
	uint64_t i, n = keep_lines(v, from, knee, kept), slew_ns, slew_ticks;
	int64_t off;

	if (n + 2 > XVT_CLOCK_LINES)
		return -EAGAIN;
	*off_ns = 0;
	for (i = 0; i < n; i++)
		*off_ns = larger_off(*off_ns, off_line(truth, &kept[i], i ? kept[i].clock : from));
	off = off_line(truth, &kept[n - 1], knee);
	*off_ns = larger_off(*off_ns, off);
	if (*off_ns > INT64_MAX / 4)
		return -EINVAL;
	slew_ns = 2 * larger_off(0, off);
	if (slew_ns < SLEW_NS)
		slew_ns = SLEW_NS;
	slew_ticks = ticks_up(slew_ns, truth->mult);
	slew = &kept[n];
	after = &kept[n + 1];
	*slew = xvt_clock_line_bend(&kept[n - 1], knee, 0);
	slew->mult = truth->mult + (uint64_t)(int64_t)(((s128)off * (s128)ONE) / (s128)slew_ticks);
	*after = xvt_clock_line_bend(slew, knee + slew_ticks, truth->mult);
	memcpy(v->line, kept, sizeof(kept));
	v->nr_lines = n + 2;
	return 0;
}

/* ------------------------------------------------------------------ the host's page */

/* A line with bit-identical results to xvt_host_clock_ns(): the host's shift is never larger. */
static struct xvt_clock_line line_of_host(const struct xvt_timebase *l)
{
	return (struct xvt_clock_line){ l->base_clock, l->base_ns,
					(uint64_t)l->mult << (XVT_CLOCK_SHIFT - l->shift) };
}

/* Copies the host clock's lines from now on, with those yet to begin; leaves one place free. */
static uint64_t lines_of_host(const struct xvt_host_clock *hc, uint64_t now,
			      struct xvt_clock_line *to)
{
	struct xvt_timebase first = xvt_host_clock_line(hc, now);
	size_t i = hc->count;
	uint64_t n = 0;

	while (i && (int64_t)(hc->lines[i - 1].base_clock - now) > 0)
		i--;
	to[n++] = line_of_host(&first);
	while (i < hc->count && n + 1 < XVT_CLOCK_LINES)
		to[n++] = line_of_host(&hc->lines[i++]);
	return n;
}

/*
 * Follows the host clock. The host's readers use the same counter, so none has seen a later value
 * than `now`. Lines known before they begin make the page equal to the host clock. Lines known late
 * leave the page off by its progress on the old line: a page that is behind is set right; a page
 * that is ahead stands until the host clock has caught up.
 */
static void follow_host_clock(struct xvt_clock_pages *c, uint64_t now)
{
	struct xvt_clock_line lines[XVT_CLOCK_LINES] = { { 0 } };
	uint64_t n = lines_of_host(c->host_clock, now, lines), shown, catch_up;
	struct xvt_clock_page *v = &c->host;
	int64_t ahead = 0;

	shown = v->nr_lines ? xvt_clock_lines_ns(v, now) : 0;
	if (v->nr_lines)
		ahead = (int64_t)(shown - xvt_clock_line_ns(&lines[0], now));
	if (ahead > 0) {
		catch_up = now + ticks_up((uint64_t)ahead + 1, lines[0].mult);
		/* The hold replaces the lines that begin before its end. */
		while (n > 1 && (int64_t)(lines[1].clock - catch_up) <= 0)
			memmove(lines, lines + 1, --n * sizeof(*lines));
		memmove(lines + 1, lines, n++ * sizeof(*lines));
		lines[0] = (struct xvt_clock_line){ now, shown, 0 };
		lines[1] = xvt_clock_line_bend(&lines[1], catch_up, lines[1].mult);
		if (lines[1].ns < shown)
			lines[1].ns = shown;
	}
	for (uint64_t i = n; i < XVT_CLOCK_LINES; i++)
		lines[i] = (struct xvt_clock_line){ 0 };
	memcpy(v->line, lines, sizeof(lines));
	v->nr_lines = n;
	v->bound_ns = ahead > 0 ? (uint64_t)ahead : 0;
	v->drift = DRIFT_MIN;
	v->node_clock = now;
	v->node_ns = xvt_clock_lines_ns(v, now);
}

/* ------------------------------------------------------------------ the guest's page */

static void move_anchors(struct xvt_clock_pages *c, const struct xvt_clock_node *node)
{
	struct xvt_clock_anchor a = { node->guest, node->host_ns, node->bound_ns };

	if (node->host_ns - c->anchor[1].ns < RATE_NS)
		return;
	c->anchor[0] = c->anchor[1];
	c->anchor[1] = a;
}

static uint64_t share(uint64_t part_ns, uint64_t whole_ns)
{
	u128 q = whole_ns ? ((u128)part_ns << XVT_CLOCK_SHIFT) / whole_ns : ONE;

	return q > ONE ? ONE : (uint64_t)q;
}

/* The rate and its possible error: the nominal rate, unless the samples since the anchor exclude
 * it. */
static void measure_rate(struct xvt_clock_pages *c, const struct xvt_clock_node *node,
			 uint64_t nominal, uint64_t *rate, uint64_t *drift)
{
	const struct xvt_clock_anchor *a = &c->anchor[0];
	uint64_t interval = node->host_ns - a->ns, measured, apart;
	u128 q;

	*rate = nominal;
	*drift = DRIFT_START;
	if (node->host_ns <= a->ns || interval < RATE_MIN_NS || node->guest <= a->clock)
		return;
	q = ((u128)interval << XVT_CLOCK_SHIFT) / (node->guest - a->clock);
	measured = q > nominal * (u128)2 ? nominal * 2 : (uint64_t)q;
	apart = measured > nominal ? measured - nominal : nominal - measured;
	*drift = share(node->bound_ns + a->bound_ns, interval);
	if (apart > (u128)nominal * *drift >> XVT_CLOCK_SHIFT && apart < nominal / 8)
		*rate = measured;
	else
		*drift += share(apart, nominal);
}

/* Notes how far the last line is off this sample, beyond both samples' bounds. */
static void watch_drift(struct xvt_clock_pages *c, const struct xvt_clock_node *node)
{
	struct xvt_clock_line last = { c->guest.node_clock, c->guest.node_ns, c->last_rate };
	uint64_t off =
		larger_off(0, (int64_t)(xvt_clock_line_ns(&last, node->guest) - node->host_ns));
	uint64_t excuse = node->bound_ns + c->last_bound_ns, seen = 0;

	if (off > excuse)
		seen = 2 * share(off - excuse, node->host_ns - c->guest.node_ns);
	c->drift_seen -= c->drift_seen / 8;
	if (seen > c->drift_seen)
		c->drift_seen = seen;
}

/* The most, in ns, that a reader's host time can be ahead of ours while its epoch holds. */
static uint64_t ahead_ns(const struct xvt_clock_pages *c, uint64_t bound_ns, uint64_t age_ns)
{
	uint64_t gain = age_ns / 16;

	return bound_ns + (gain > c->lead_ns ? gain : c->lead_ns);
}

static uint64_t since_ns(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

/*
 * Begins the first map, or that of a new epoch, with the host time that the last epoch has probably
 * shown by now; the map stands there until its line has caught up. Returns how far it is off, ns.
 */
static uint64_t start_map(struct xvt_clock_pages *c, const struct xvt_clock_line *truth,
			  const struct xvt_clock_node *node, uint64_t now_ns)
{
	struct xvt_clock_page *v = &c->guest;
	struct xvt_clock_line hold = *truth;
	uint64_t flags = v->flags, bound, shown;

	memset(v->line, 0, sizeof(v->line));
	v->nr_lines = 1;
	v->line[0] = *truth;
	if (!(flags & XVT_CLOCK_F_VALID))
		return 0;
	v->flags &= ~(uint64_t)XVT_CLOCK_F_UNCONFIRMED; /* the bound without the disturbance */
	bound = xvt_clock_bound_at(v, now_ns);
	v->flags = flags;
	shown = now_ns + (bound < c->lead_ns ? bound : c->lead_ns);
	if (shown <= node->host_ns)
		return 0;
	hold.ns = shown;
	hold.mult = 0;
	v->line[0] = hold;
	v->line[1] = xvt_clock_line_bend(
		&hold, truth->clock + ticks_up(shown - node->host_ns, truth->mult), truth->mult);
	v->nr_lines = 2;
	return shown - now_ns + node->bound_ns;
}

static bool is_new_epoch(const struct xvt_clock_pages *c, const struct xvt_clock_node *node)
{
	return !(c->guest.flags & XVT_CLOCK_F_VALID) || node->epoch != c->guest.epoch;
}

static bool is_after(const struct xvt_clock_node *node, const struct xvt_clock_page *v)
{
	return (int64_t)(node->guest - v->node_clock) > 0 && node->host_ns > v->node_ns;
}

static int bend_map(struct xvt_clock_pages *c, const struct xvt_clock_line *truth,
		    const struct xvt_clock_node *node, uint64_t now_ns, uint64_t *off_ns)
{
	uint64_t age = since_ns(now_ns, node->host_ns);
	uint64_t ahead = age + ahead_ns(c, node->bound_ns, age);

	return bend(&c->guest, truth, node->guest, node->guest + ticks_up(ahead, truth->mult) + 1,
		    off_ns);
}

/* Puts a node into the map; the pages' sequence counts are odd. */
static int take_node(struct xvt_clock_pages *c, const struct xvt_clock_node *node,
		     const struct xvt_clock_line *truth, uint64_t drift, bool new_epoch,
		     uint64_t now_ns)
{
	struct xvt_clock_page *v = &c->guest;
	uint64_t off_ns;
	int err;

	if (new_epoch) {
		off_ns = start_map(c, truth, node, now_ns);
	} else {
		err = bend_map(c, truth, node, now_ns, &off_ns);
		if (err)
			return err;
	}
	v->flags |= XVT_CLOCK_F_VALID;
	/* A node from before the pause does not show the effect of the pause. */
	if (c->active ? node->host_ns >= c->true_since_ns
		      : node->host_ns > c->true_since_ns + node->bound_ns)
		v->flags &= ~(uint64_t)XVT_CLOCK_F_UNCONFIRMED;
	v->epoch = node->epoch;
	v->node_clock = node->guest;
	v->node_ns = node->host_ns;
	v->bound_ns = node->bound_ns + off_ns + 2; /* plus rounding */
	v->drift = drift;
	return 0;
}

int xvt_clock_pages_node(struct xvt_clock_pages *c, const struct xvt_clock_node *node, uint64_t hz)
{
	struct xvt_clock_line truth = { node->guest, node->host_ns, 0 };
	bool new_epoch = is_new_epoch(c, node);
	uint64_t now, drift;
	int err;

	if (!c->host_clock)
		return 0;
	if (hz < HZ_MIN || hz > HZ_MAX || node->host_ns > INT64_MAX ||
	    (!new_epoch && !is_after(node, &c->guest)))
		return -EINVAL;
	if (new_epoch) {
		c->anchor[0] =
			(struct xvt_clock_anchor){ node->guest, node->host_ns, node->bound_ns };
		c->anchor[1] = c->anchor[0];
		c->drift_seen = 0;
	} else {
		watch_drift(c, node);
	}
	measure_rate(c, node, (uint64_t)(((u128)1000000000 << XVT_CLOCK_SHIFT) / hz), &truth.mult,
		     &drift);
	move_anchors(c, node);
	if (drift < c->drift_seen)
		drift = c->drift_seen;
	if (drift < DRIFT_MIN)
		drift = DRIFT_MIN;
	now = begin(c);
	follow_host_clock(c, now);
	err = take_node(c, node, &truth, drift, new_epoch, xvt_host_clock_ns(c->host_clock, now));
	end(c);
	if (err)
		return err;
	c->last_rate = truth.mult;
	c->last_bound_ns = node->bound_ns;
	return 0;
}

void xvt_clock_pages_doubt(struct xvt_clock_pages *c)
{
	if (!c->host_clock)
		return;
	begin(c);
	c->guest.flags |= XVT_CLOCK_F_UNCONFIRMED;
	end(c);
}

void xvt_clock_pages_host_clock(struct xvt_clock_pages *c)
{
	if (!c->host_clock)
		return;
	follow_host_clock(c, begin(c));
	end(c);
}

/* ------------------------------------------------------------------ active time */

/* Stops active time at its value at host time `most_ns`; no reader has seen a larger one. */
static void freeze(struct xvt_clock_page *v, uint64_t most_ns)
{
	v->active_ns = xvt_clock_active_at(v, most_ns);
	v->flags &= ~(uint64_t)XVT_CLOCK_F_ACTIVE;
}

/* Restarts active time. The clock stands until true_active_ns has reached the value already shown.
 */
static void thaw(const struct xvt_clock_pages *c, struct xvt_clock_page *v)
{
	v->active_since_ns = c->true_since_ns + (v->active_ns - c->true_active_ns);
	v->flags |= XVT_CLOCK_F_ACTIVE;
}

static uint64_t moment(const struct xvt_clock_pages *c, uint64_t host_ns, uint64_t now_ns)
{
	if (host_ns > now_ns)
		return now_ns;
	return host_ns < c->true_since_ns ? c->true_since_ns : host_ns;
}

void xvt_clock_pages_pause(struct xvt_clock_pages *c, uint64_t host_ns)
{
	uint64_t now, now_ns, at;

	if (!c->host_clock || !c->active)
		return;
	now = begin(c);
	now_ns = xvt_clock_lines_ns(&c->host, now);
	at = moment(c, host_ns, now_ns);
	c->true_active_ns += at - c->true_since_ns;
	c->true_since_ns = at;
	c->active = false;
	freeze(&c->host, now_ns);
	freeze(&c->guest,
	       now_ns + ahead_ns(c, c->guest.bound_ns, since_ns(now_ns, c->guest.node_ns)));
	c->guest.flags |= XVT_CLOCK_F_UNCONFIRMED;
	end(c);
}

void xvt_clock_pages_resume(struct xvt_clock_pages *c, uint64_t host_ns)
{
	uint64_t now;

	if (!c->host_clock || c->active)
		return;
	now = begin(c);
	c->true_since_ns = moment(c, host_ns, xvt_clock_lines_ns(&c->host, now));
	c->active = true;
	thaw(c, &c->host);
	thaw(c, &c->guest);
	end(c);
}

/* ------------------------------------------------------------------ begin and end */

void xvt_clock_pages_init(struct xvt_clock_pages *c, struct xvt_clock_page *region,
			  const struct xvt_host_clock *host_clock, uint64_t session,
			  uint64_t (*clock)(void *arg), void *clock_arg)
{
	uint64_t now;

	memset(c, 0, sizeof(*c));
	c->host_clock = host_clock;
	c->clock = clock ? clock : native_clock;
	c->clock_arg = clock_arg;
	c->lead_ns = XVT_CLOCK_LEAD_NS;
	target(&c->region, region);
	c->host.session = session;
	c->guest.session = session;
	c->active = true;
	now = begin(c);
	follow_host_clock(c, now);
	c->true_since_ns = c->host.node_ns;
	thaw(c, &c->host);
	thaw(c, &c->guest);
	c->host.flags |= XVT_CLOCK_F_VALID;
	end(c);
}

static char *file_name(const char *dir, const char *name, uint32_t ring)
{
	char *path, *p;

	if (asprintf(&path, "%s/%s.%u", dir, name, ring) < 0)
		return NULL;
	for (p = path + strlen(dir) + 1; *p; p++)
		if (*p == '/')
			*p = '_';
	return path;
}

/* Returns an open, locked file of at least one page's size, or -errno. */
static int open_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = xvt_lock_take(fd, 0);
	if (!err && fstat(fd, &st))
		err = -errno;
	/* The last recorder of it removed the file between this open() and its own close. */
	if (!err && !st.st_nlink)
		err = -EBUSY;
	/* The owner of the file could shorten it while it is mapped. */
	if (!err && (!S_ISREG(st.st_mode) || st.st_uid != xvt_user()))
		err = -EPERM;
	/* Only lengthened: another process may have it mapped. */
	if (!err && st.st_size < (off_t)XVT_ALIGN_MIN && ftruncate(fd, XVT_ALIGN_MIN))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static void describe_file(struct xvt_clock_file *f, const char *name, uint32_t ring, uint32_t hw_id)
{
	xvt_store(&f->magic, (uint64_t)0);
	f->major = XVT_CLOCK_FILE_MAJOR;
	f->size = sizeof(*f);
	f->ring = ring;
	f->hw_id = hw_id;
	snprintf(f->vm_name, sizeof(f->vm_name), "%s", name);
}

int xvt_clock_pages_share(struct xvt_clock_pages *c, const char *dir, const char *name,
			  uint32_t ring, uint32_t hw_id)
{
	int err, fd;

	c->path = file_name(dir, name, ring);
	if (!c->path)
		return -ENOMEM;
	fd = open_file(c->path);
	err = fd;
	if (err < 0)
		goto err_free;
	c->file = mmap(NULL, XVT_ALIGN_MIN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c->file == MAP_FAILED) {
		err = -errno;
		c->file = NULL;
		goto err_close;
	}
	describe_file(c->file, name, ring, hw_id);
	target(&c->file_host, &c->file->host);
	target(&c->file_guest, &c->file->guest);
	begin(c);
	end(c);
	/* the mapping keeps the file and its lock; descriptors are scarce, rings are many */
	close(fd);
	/* The pages are written before the magic; pairs with a reader's acquire. */
	xvt_store_release(&c->file->magic, XVT_CLOCK_FILE_MAGIC);
	return 0;

err_close:
	close(fd);
err_free:
	free(c->path);
	c->path = NULL;
	return err;
}

void xvt_clock_pages_fini(struct xvt_clock_pages *c)
{
	if (!c->host_clock)
		return;
	begin(c);
	c->guest.flags |= XVT_CLOCK_F_CLOSED;
	c->host.flags |= XVT_CLOCK_F_CLOSED;
	end(c);
	c->host_clock = NULL;
	target(&c->region, NULL);
	if (!c->file)
		return;
	/* Removed before the lock is released, so a later recorder makes a new file. */
	unlink(c->path);
	munmap(c->file, XVT_ALIGN_MIN);
	free(c->path);
	c->file = NULL;
	c->path = NULL;
}
