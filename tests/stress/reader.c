// SPDX-License-Identifier: GPL-2.0
/*
 * reader.c - the reading process: drains with the host's own code (ring/, io_uring)
 * what a writing process puts into the ring on another CPU, kills that process without warning,
 * starts it again as a new generation, and accounts for every event.
 *
 *	reader --writer PROGRAM --dir DIR --mode stop|overwrite --events N --kills K
 */
#define _GNU_SOURCE
#include "load.h"
#include "ring/ring.h"
#include "tally.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SUBBUF_SIZE	4096
#define HOLD_BACK_EVERY 8
/* Small, so that it is often full; in overwrite mode so large that some copies are in time. */
#define SUBBUF_COUNT	(opt.mode == XVT_ENABLE_OVERWRITE ? 64u : 16u)

static struct {
	const char *writer;
	const char *dir;
	uint32_t mode;
	uint64_t events;
	uint64_t kills;
} opt = { .mode = XVT_ENABLE_STOP, .events = 100000 };

struct run {
	struct xvt_host_region region;
	struct xvt_host_clock clock;
	struct xvt_loop *loop;
	struct xvt_pool pool;
	struct xvt_ring ring;
	struct stress_truth *truth;
	struct tally tally;
	char region_path[512];
	char truth_path[512];
	uint64_t passes;
	uint64_t held_back; /* passes in which the writer was let to overtake */
	uint64_t gaps;	    /* LOST pseudo-events */
	uint64_t killed;
	pid_t pid;
};

static void fail(const struct run *r, const char *why, uint64_t pos)
{
	printf("wrong: after %llu events of %llu passes and %llu kills, at %llu: %s\n",
	       (unsigned long long)tally_seen(&r->tally), (unsigned long long)r->passes,
	       (unsigned long long)r->killed, (unsigned long long)pos, why);
	if (r->pid > 0)
		kill(r->pid, SIGKILL);
	exit(1);
}

static void *make_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, (off_t)size)) {
		perror(path);
		exit(1);
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	return p;
}

static void make_region(struct run *r)
{
	struct xvt_layout layout = { .ring_count = 1,
				     .align = XVT_ALIGN_MIN,
				     .meta_size = XVT_ALIGN_MIN,
				     .subbuf_size = SUBBUF_SIZE,
				     .kind = XVT_KIND_USER,
				     .clock_id = XVT_CLOCK_NATIVE,
				     .enable = opt.mode };
	struct xvt_geometry g;
	void *map;

	layout.region_size = 5 * XVT_ALIGN_MIN + SUBBUF_SIZE * SUBBUF_COUNT;
	snprintf(r->region_path, sizeof(r->region_path), "%s/region", opt.dir);
	snprintf(r->truth_path, sizeof(r->truth_path), "%s/truth", opt.dir);
	map = make_file(r->region_path, layout.region_size);
	r->truth = make_file(r->truth_path, sizeof(*r->truth));
	if (xvt_region_format(map, &layout, &g)) {
		fprintf(stderr, "reader: no region\n");
		exit(1);
	}
	munmap(map, layout.region_size);
}

static void start_host(struct run *r)
{
	struct xvt_ring *ring = &r->ring;

	if (xvt_host_region_open(&r->region, r->region_path, true) ||
	    xvt_host_region_check(&r->region) || xvt_host_clock_init(&r->clock) ||
	    xvt_loop_new(&r->loop)) {
		fprintf(stderr, "reader: cannot start\n");
		exit(1);
	}
	xvt_pool_init(&r->pool, 64u << 20);
	xvt_ring_set_phase(ring, XVT_PHASE_LIVE);
	ring->region = &r->region;
	ring->ctl = xvt_host_ring_ctl(&r->region, 0);
	ring->host = xvt_host_ring_host(&r->region, 0);
	ring->pool = &r->pool;
	ring->host_clock = &r->clock;
	ring->mode = opt.mode;
	xvt_clock_map_init(&ring->clock.map, r->clock.hz);
	xvt_ring_attach(ring);
}

static void start_writer(struct run *r)
{
	char last[32];

	snprintf(last, sizeof(last), "%llu", (unsigned long long)opt.events);
	r->pid = fork();
	if (r->pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!r->pid) {
		load_pin(1);
		execl(opt.writer, opt.writer, r->region_path, r->truth_path, last, (char *)NULL);
		perror(opt.writer);
		_exit(127);
	}
}

/*
 * Overwrite mode: between the look at the control words and the copies, let the writer come round
 * so far that some of the copies are good, some are torn, and some are of the next lap.
 */
static void let_it_overtake(struct run *r)
{
	const struct xvt_geometry *g = &r->region.g;
	struct xvt_ring_words s;

	do {
		xvt_ring_words(r->ring.ctl, g, &s);
	} while (s.resv - r->ring.drain.last.resv < g->ring_size * 3 / 4 &&
		 xvt_load(&r->truth->begun[STRESS_TASK]) < opt.events);
	r->held_back++;
}

static void pass(struct run *r)
{
	struct xvt_ring *ring = &r->ring;

	xvt_drain_look(ring, r->loop, 0);
	if (opt.mode == XVT_ENABLE_OVERWRITE && r->pid && r->passes % HOLD_BACK_EVERY == 0)
		let_it_overtake(r);
	while (ring->drain.reads)
		if (xvt_loop_run(r->loop, 1000000000u) < 0)
			fail(r, "the event loop", 0);
	xvt_drain_take(ring, false);
	while (xvt_ring_peek(ring)) {
		const bool salvaged = ring->drain.first && ring->drain.first->salvage;
		const char *why;

		if (ring->decode.is_lost) {
			r->gaps++;
		} else {
			why = tally_take(&r->tally, &ring->decode.rec,
					 salvaged && opt.mode == XVT_ENABLE_OVERWRITE);
			if (why)
				fail(r, why, ring->decode.rec.pos);
			ring->account.stats.events++;
			r->tally.recovered += salvaged;
		}
		xvt_ring_pop(ring);
	}
	if (ring->fault.is_new || ring->phase == XVT_PHASE_BROKEN)
		fail(r, ring->fault.text, ring->drain.read_pos);
	r->passes++;
}

/* Has the writer ended? Fails when it ended in another way than we meant. */
static bool ended(struct run *r)
{
	int status;
	pid_t pid = waitpid(r->pid, &status, WNOHANG);

	if (!pid)
		return false;
	r->pid = 0;
	if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		fail(r, "the writer did not end well", 0);
	return true;
}

static void kill_writer(struct run *r)
{
	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
	r->killed++;
	start_writer(r);
}

static void check(struct run *r)
{
	struct xvt_ring_stats *s = &r->ring.account.stats;
	uint64_t missing = tally_missing(&r->tally, r->truth), lost = 0, known, slack;
	uint64_t refused = tally_refused(r->truth);
	uint32_t i;

	xvt_ring_account(&r->ring, true);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		lost += s->lost[i];
	printf("%llu events in %llu passes, %llu recovered past commit; %llu lost, %llu "
	       "overwritten, "
	       "%llu discarded, %llu in flight; %llu attempted; %llu kills, %llu gaps told, "
	       "%llu stale, %llu missing, %llu of them refused, %llu from signals, "
	       "%llu passes held back\n",
	       (unsigned long long)s->events, (unsigned long long)r->passes,
	       (unsigned long long)r->tally.recovered, (unsigned long long)lost,
	       (unsigned long long)s->overwritten, (unsigned long long)s->discarded,
	       (unsigned long long)s->in_flight, (unsigned long long)s->attempted,
	       (unsigned long long)r->killed, (unsigned long long)r->gaps,
	       (unsigned long long)r->tally.stale, (unsigned long long)missing,
	       (unsigned long long)refused, (unsigned long long)r->tally.seen[STRESS_SIGNAL],
	       (unsigned long long)r->held_back);
	if (!r->tally.seen[STRESS_TASK] || !r->tally.seen[STRESS_INNER])
		fail(r, "nothing was delivered, so nothing was shown", 0);
	if (s->attempted != s->events + s->discarded + lost + s->overwritten + s->in_flight)
		fail(r, "the counters do not add up", 0);
	if (s->in_flight > r->ring.drain.left_behind)
		fail(r, "more in flight than writers that died inside an event", 0);
	/*
	 * Independent of the ring's counters: what never came was refused, overwritten, or in the
	 * hands of a writer when it was killed, one event in each stream. A record that was
	 * salvaged and is stale was counted as one of the ring's.
	 */
	known = refused + s->overwritten;
	slack = STRESS_STREAMS * r->killed;
	if (missing + slack + r->tally.stale < known || missing > known + slack + s->in_flight)
		fail(r, "events are missing and are not counted", 0);
}

static int parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "writer", 1, NULL, 'w' }, { "dir", 1, NULL, 'd' },   { "mode", 1, NULL, 'm' },
		{ "events", 1, NULL, 'e' }, { "kills", 1, NULL, 'k' }, { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'w':
			opt.writer = optarg;
			break;
		case 'd':
			opt.dir = optarg;
			break;
		case 'm':
			opt.mode = strcmp(optarg, "overwrite") ? XVT_ENABLE_STOP
							       : XVT_ENABLE_OVERWRITE;
			break;
		case 'e':
			opt.events = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			opt.kills = strtoull(optarg, NULL, 0);
			break;
		default:
			return -1;
		}
	}
	return optind == argc && opt.writer && opt.dir ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct run r;
	uint64_t kill_at;

	if (parse(argc, argv)) {
		fprintf(stderr, "usage: reader --writer PROGRAM --dir DIR [--mode stop|overwrite] "
				"[--events N] [--kills K]\n");
		return 2;
	}
	load_pin(0);
	make_region(&r);
	start_host(&r);
	start_writer(&r);
	kill_at = opt.events / (opt.kills + 1);
	while (!ended(&r)) {
		pass(&r);
		/* Only after the new generation was seen: the region remembers four. */
		if (r.killed < opt.kills && xvt_load(&r.truth->begun[STRESS_TASK]) >= kill_at &&
		    xvt_load_acquire(&r.truth->generation) == r.killed + 1 &&
		    r.ring.drain.entered == r.killed + 1) {
			kill_writer(&r);
			kill_at += opt.events / (opt.kills + 1);
		}
	}
	pass(&r);
	pass(&r);
	if (r.ring.drain.read_pos != r.ring.drain.last.commit ||
	    r.ring.drain.last.commit != r.ring.drain.last.resv)
		fail(&r, "the writer has ended and something is left", r.ring.drain.read_pos);
	check(&r);
	return 0;
}
