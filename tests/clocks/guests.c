// SPDX-License-Identifier: GPL-2.0
/*
 * guests.c - many simulated machines in one process and one thread. Each has a clock of some kind
 * (clock_kinds.c) that is computed from the host's counter, so the true time of every event is
 * known: it is in the event's payload.
 *
 *	guests --list	the kinds of clocks, and the class of each
 *	guests FOLDER SEED RINGS SECONDS [--kinds A,B] [--each N] [--overwrite] [--rate N]
 *
 * makes FOLDER/m0, FOLDER/m1, ..., prints a line for each of them and "ready", and simulates.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock_kinds.h"
#include "payload.h"
#include "xvt_region.h"

#define NEVER	 UINT64_MAX
#define LINGER_S 10 /* that guests live on, if nobody ends them */

struct machine {
	struct plan plan;
	const struct kind *kind;
	uint8_t *base;
	struct xvt_geometry g;
	uint32_t number;
	uint32_t rings;
	int stops; /* of plan.stop_s, that were made */
};

/* Times are ticks of the host's counter since the simulation began. */
struct ring {
	struct xvt_writer w;
	struct machine *m;
	struct clock *clock;
	uint32_t index;
	double rate;	/* events a second */
	uint64_t stamp; /* when the clock was read last */
	uint64_t seq;
	uint64_t next_event;
	uint64_t next_look; /* into the mailbox */
	uint64_t next_state;
	uint64_t stay_until;
	uint64_t burst_began; /* of exchanges */
	uint64_t burst_ends;  /* of events */
	uint64_t pending;     /* an answer that is not given yet; 0: none */
	uint64_t pending_clock;
	uint64_t publish_at;
	uint64_t lost;
	bool online;
};

static struct {
	const char *folder;
	const char *kinds;
	uint64_t seed;
	uint32_t rings;
	int each;
	double seconds;
	double rate_max;
	uint32_t mode;
} opt = { .rate_max = 200, .mode = XVT_ENABLE_STOP };

static struct random dice;
static struct machine *machines;
static uint32_t nr_machines;
static struct ring *rings;
static uint64_t *due; /* of each ring, beside them: the loop looks at nothing else */
static uint32_t nr_rings;
static double host_hz;
static uint64_t begin;
static volatile sig_atomic_t stopped;

static void *need(void *p)
{
	if (p && p != MAP_FAILED)
		return p;
	perror("guests");
	exit(1);
}

static uint64_t now_ticks(void)
{
	return xvt_clock_read_ordered() - begin;
}

static uint64_t ticks(double seconds)
{
	return (uint64_t)(seconds * host_hz);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* -- answers ------------------------------------------------------------------------ */

static uint64_t guest_clock(void *arg)
{
	struct ring *r = arg;

	r->stamp = now_ticks();
	return clock_value(r->clock, r->stamp);
}

static void publish(struct ring *r, uint64_t seq, uint64_t clock)
{
	xvt_store(&r->w.ctl->answer_clock, clock);
	xvt_store_release(&r->w.ctl->answer_seq, seq);
}

/* Whether the machine stops now, with the request open. */
static bool stops_now(struct ring *r, uint64_t now)
{
	struct machine *m = r->m;
	const double at = m->stops < 3 ? m->plan.stop_s[m->stops] : 0;

	if (!at || now < ticks(at))
		return false;
	m->stops++;
	clock_stop_now(r->clock, now, ticks(m->plan.stop_for_s));
	return true;
}

static void answer_later(struct ring *r, uint64_t seq, double delay_s)
{
	r->pending = seq;
	r->pending_clock = guest_clock(r);
	r->publish_at = r->stamp + ticks(delay_s);
}

/* Answer the open request `seq`, by the machine's kind. */
static void answer(struct ring *r, uint64_t seq, uint64_t now)
{
	const struct plan *p = &r->m->plan;

	switch (p->answer) {
	case ANSWER_STALE:
		publish(r, seq, clock_value(r->clock, now_ticks() - ticks(p->answer_delay_s)));
		return;
	case ANSWER_LATE:
		answer_later(r, seq, p->answer_delay_s);
		return;
	case ANSWER_STOP_BEFORE:
		if (stops_now(r, now))
			return;
		break;
	case ANSWER_STOP_AFTER:
		if (now >= ticks(1) && !r->pending) {
			answer_later(r, seq, 0);
			if (stops_now(r, r->stamp))
				return;
			r->pending = 0;
		}
		break;
	case ANSWER_NORMAL:
		break;
	}
	xvt_writer_answer(&r->w);
}

/* The host's next request comes at once: stay for it, but for two milliseconds at most. */
static void stay(struct ring *r)
{
	const uint64_t now = now_ticks();

	if (!r->m->plan.stay_s || !xvt_load(&r->w.host->request_more))
		return;
	if (now >= r->stay_until)
		r->burst_began = now;
	if (now - r->burst_began < ticks(2e-3))
		r->stay_until = now + ticks(r->m->plan.stay_s);
}

static bool is_deaf(const struct ring *r, uint64_t now)
{
	return now >= ticks(r->m->plan.deaf_from) && now < ticks(r->m->plan.deaf_to);
}

static uint64_t next_look(const struct ring *r, uint64_t now)
{
	const uint64_t each = ticks(r->m->plan.answer_s);

	if (r->m->plan.in_step)
		return (now / each + 1) * each;
	return now + ticks(r->m->plan.answer_s * random_between(&dice, 0.7, 1.3));
}

/* Into the mailbox. */
static void look(struct ring *r, uint64_t now)
{
	const uint64_t seq = xvt_load_acquire(&r->w.host->request_seq);

	if (r->pending) {
		if (now < r->publish_at)
			return;
		publish(r, r->pending, r->pending_clock);
		r->pending = 0;
		stay(r);
	} else if (seq != xvt_load(&r->w.ctl->answer_seq)) {
		answer(r, seq, now);
		stay(r);
	}
	xvt_writer_mark(&r->w);
	if (now >= r->next_look)
		r->next_look = next_look(r, now);
}

/* -- events ------------------------------------------------------------------------- */

static void write_event(struct ring *r)
{
	struct xvt_slot slot;
	struct payload *p;

	if (xvt_reserve(&r->w, XVT_ID_U64, sizeof(*p), &slot)) {
		r->lost++;
		return;
	}
	p = (struct payload *)slot.payload;
	p->seq = ++r->seq;
	p->host_clock = begin + r->stamp;
	p->machine = r->m->number;
	p->ring = r->index;
	p->guest_clock = clock_value(r->clock, r->stamp);
	xvt_commit(&r->w, &slot);
}

static uint64_t pause_to_next(struct ring *r)
{
	uint64_t pause = ticks(-log(random_between(&dice, 1e-9, 1)) / r->rate);

	/* And gaps now and then, as of a guest that has nothing to do. */
	if (random_count(&dice, 0, 63) == 0)
		pause += ticks(random_size(&dice, 1e-3, 0.5));
	return pause;
}

static void event(struct ring *r, uint64_t now)
{
	const struct plan *p = &r->m->plan;

	if (now >= ticks(p->quiet_from) && now < ticks(p->quiet_to)) {
		r->next_event = ticks(p->quiet_to);
		return;
	}
	write_event(r);
	r->next_event = now + pause_to_next(r);
	if (p->burst_s && r->next_event >= r->burst_ends) {
		r->next_event = now + ticks(p->silence_s * random_between(&dice, 0.5, 1.5));
		r->burst_ends = r->next_event + ticks(p->burst_s);
	}
}

/* -- the loop ----------------------------------------------------------------------- */

static void set_online(struct ring *r, bool online)
{
	r->online = online;
	xvt_store_release(&r->w.ctl->state, online ? XVT_RING_ONLINE : XVT_RING_OFFLINE);
}

/* Online, offline and online again, as planned. */
static void follow_states(struct ring *r, uint64_t now)
{
	const struct plan *p = &r->m->plan;
	const bool gone = p->offline && now >= ticks(p->offline) && now < ticks(p->again);
	const bool online = now >= ticks(p->online) && !gone;

	if (online != r->online)
		set_online(r, online);
	r->next_state = NEVER;
	if (now < ticks(p->online))
		r->next_state = ticks(p->online);
	else if (p->offline && now < ticks(p->offline))
		r->next_state = ticks(p->offline);
	else if (gone)
		r->next_state = ticks(p->again);
}

/* The machine stands until `end`: nothing is due before, and the rings then begin one by one. */
static uint64_t halt(struct ring *r, uint64_t end)
{
	r->stay_until = 0;
	if (r->next_event < end)
		r->next_event = end + ticks(random_size(&dice, 1e-6, 1e-2));
	if (r->next_look < end)
		r->next_look = r->m->plan.in_step
				       ? end
				       : end + ticks(random_between(&dice, 0, r->m->plan.answer_s));
	return end;
}

/* All that is due; returns when the ring is due again. */
static uint64_t serve(struct ring *r, uint64_t now)
{
	uint64_t end;

	if (clock_is_halted(r->clock, now, &end))
		return halt(r, end);
	if (now >= r->next_state)
		follow_states(r, now);
	if (!r->online)
		return r->next_state;
	if (is_deaf(r, now))
		r->next_look = ticks(r->m->plan.deaf_to), r->stay_until = 0;
	if (now >= r->next_look || now < r->stay_until || (r->pending && now >= r->publish_at))
		look(r, now);
	/* An answer may have stopped the machine. */
	if (now >= r->next_event && !clock_is_halted(r->clock, now_ticks(), &end))
		event(r, now);
	if (now < r->stay_until && !r->pending)
		return 0;
	return min_u64(min_u64(r->next_event, r->next_state),
		       r->pending ? r->publish_at : r->next_look);
}

static void rest_until(uint64_t next)
{
	const uint64_t now = now_ticks();
	struct timespec pause = { 0 };

	/* The kernel's timer is late by some 60 us. */
	if (next <= now + ticks(150e-6))
		return;
	pause.tv_nsec = (long)((double)min_u64(next - now, ticks(0.5)) / host_hz * 1e9) - 80000;
	nanosleep(&pause, NULL);
}

static void simulate(void)
{
	const uint64_t end = ticks(opt.seconds + LINGER_S);
	uint64_t now = 0;

	while (!stopped && now < end) {
		uint64_t next = NEVER;

		now = now_ticks();
		for (uint32_t i = 0; i < nr_rings; i++) {
			if (due[i] <= now) {
				due[i] = serve(&rings[i], now);
				now = now_ticks();
			}
			next = min_u64(next, due[i]);
		}
		rest_until(next);
	}
}

/* -- setting up --------------------------------------------------------------------- */

/* Both clocks at one moment: the closest of some pairs, since the process may lose its CPU. */
static uint64_t read_both(struct timespec *ts)
{
	uint64_t best = UINT64_MAX, clock = 0;

	for (int i = 0; i < 32; i++) {
		const uint64_t before = xvt_clock_read_ordered();
		struct timespec now;
		uint64_t took;

		clock_gettime(CLOCK_MONOTONIC, &now);
		took = xvt_clock_read_ordered() - before;
		if (took >= best)
			continue;
		best = took;
		clock = before + took / 2;
		*ts = now;
	}
	return clock;
}

/* By the clock of the recorder's times: a claim is true by that one. */
static void measure_host(void)
{
	const struct timespec pause = { 0, 200000000 };
	struct timespec a, b;
	const uint64_t from = read_both(&a);

	nanosleep(&pause, NULL);
	host_hz = (double)(read_both(&b) - from) /
		  ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9);
}

static uint8_t *map_region(uint32_t number, uint64_t size)
{
	char path[4096];
	uint8_t *base;
	int fd;

	snprintf(path, sizeof(path), "%s/m%u", opt.folder, number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size)) {
		perror(path);
		exit(1);
	}
	base = need(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	close(fd);
	return base;
}

/* A name of the list, by dice; of all kinds in turn without a list. */
static const struct kind *choose_kind(uint32_t number, uint32_t turn)
{
	const struct kind *kind;
	char list[1000], *word, *rest = list;
	int count = 1;

	if (!opt.kinds)
		return &clock_kinds[(number + turn) % (uint32_t)clock_kinds_count];
	snprintf(list, sizeof(list), "%s", opt.kinds);
	for (const char *c = list; *c; c++)
		count += *c == ',';
	count = random_count(&dice, 0, count - 1);
	do {
		word = strsep(&rest, ",");
	} while (count--);
	kind = clock_kind_named(word);
	if (kind)
		return kind;
	fprintf(stderr, "guests: there is no kind '%s'\n", word);
	exit(2);
}

static void format_region(struct machine *m)
{
	const uint64_t size = (1u << 20) + (uint64_t)m->rings * (128u << 10);
	const struct xvt_layout layout = {
		.region_size = size,
		.ring_count = m->rings,
		.subbuf_size = 4096,
		.kind = XVT_KIND_BARE,
		.clock_id = (uint32_t)m->plan.clock_id[0],
		.clock_hz = (uint64_t)(m->plan.claim * m->plan.clock[0].hz),
		.enable = opt.mode,
		.vm_name = "simulated",
	};
	uint64_t uuid[2] = { xvt_clock_read_ordered(), m->number };
	int err;

	m->base = map_region(m->number, size);
	err = xvt_region_format(m->base, &layout, &m->g);
	if (err) {
		fprintf(stderr, "guests: m%u: %s\n", m->number, strerror(-err));
		exit(1);
	}
	xvt_region_new_generation(m->base, &m->g, &layout, (uint8_t *)uuid);
}

static void init_ring(struct ring *r, struct machine *m, uint32_t index)
{
	const int which = m->plan.two && (index & 1);

	r->m = m;
	r->index = index;
	r->clock = &m->plan.clock[which];
	r->rate = m->plan.rate ? m->plan.rate : random_size(&dice, 3, opt.rate_max);
	r->next_event = ticks(random_between(&dice, 0, 1 / r->rate));
	xvt_writer_init(&r->w, m->base, &m->g, index);
	r->w.clock = guest_clock;
	r->w.clock_arg = r;
	xvt_store(&r->w.ctl->type, XVT_RING_BARE);
	xvt_store(&r->w.ctl->cpu, index);
	xvt_store(&r->w.ctl->hw_id, index);
	xvt_store(&r->w.ctl->clock_id, (uint32_t)m->plan.clock_id[which]);
	/* Its stamps are what an ordered read gave; half of the rings say so, for a smaller bound.
	 */
	xvt_store(&r->w.ctl->clock_traits, index & 1 ? XVT_CLOCK_T_ORDERED : 0u);
}

static void make_machine(struct machine *m, uint32_t number, uint32_t turn)
{
	m->number = number;
	m->kind = choose_kind(number, turn);
	plan_make(&m->plan, m->kind, &dice, host_hz, opt.seconds);
	m->rings = (uint32_t)(m->plan.rings ? m->plan.rings
			      : opt.each    ? opt.each
					    : random_count(&dice, 1, 6));
	if (m->rings > opt.rings - nr_rings)
		m->rings = opt.rings - nr_rings;
	format_region(m);
	for (uint32_t i = 0; i < m->rings; i++)
		init_ring(&rings[nr_rings++], m, i);
	printf("machine %u %s %s rings=%u clock=%d hz=%.0f claim=%.0f look=%.1fms %s\n", number,
	       m->kind->name, m->kind->promised ? "promised" : "excluded", m->rings,
	       m->plan.clock_id[0], m->plan.clock[0].hz, m->plan.claim * m->plan.clock[0].hz,
	       m->plan.answer_s * 1e3, m->plan.note);
}

/* A ring that comes late stays offline. */
static void make_machines(void)
{
	const uint32_t turn = (uint32_t)(opt.seed * 37);

	machines = need(calloc(opt.rings, sizeof(*machines)));
	rings = need(calloc(opt.rings, sizeof(*rings)));
	due = need(calloc(opt.rings, sizeof(*due)));
	while (nr_rings < opt.rings) {
		make_machine(&machines[nr_machines], nr_machines, turn);
		nr_machines++;
	}
	for (uint32_t i = 0; i < nr_rings; i++)
		if (!rings[i].m->plan.online)
			set_online(&rings[i], true);
}

static void finish(void)
{
	uint64_t written = 0, lost = 0;

	for (uint32_t i = 0; i < nr_rings; i++) {
		written += rings[i].seq;
		lost += rings[i].lost;
		xvt_store_release(&rings[i].w.ctl->state, XVT_RING_OFFLINE);
	}
	printf("written %llu lost %llu\n", (unsigned long long)written, (unsigned long long)lost);
}

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static int usage(void)
{
	fprintf(stderr, "usage: guests --list\n"
			"       guests FOLDER SEED RINGS SECONDS [--kinds A,B] [--each N] "
			"[--overwrite] [--rate N]\n");
	return 2;
}

static int take_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "kinds", required_argument, NULL, 'k' },
		{ "each", required_argument, NULL, 'e' },
		{ "rate", required_argument, NULL, 'r' },
		{ "overwrite", no_argument, NULL, 'o' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'k')
			opt.kinds = optarg;
		else if (c == 'e')
			opt.each = atoi(optarg);
		else if (c == 'r')
			opt.rate_max = atof(optarg);
		else if (c == 'o')
			opt.mode = XVT_ENABLE_OVERWRITE;
		else
			return -EINVAL;
	}
	return argc - optind == 4 ? 0 : -EINVAL;
}

static int list(void)
{
	for (int i = 0; i < clock_kinds_count; i++)
		printf("%s %s\n", clock_kinds[i].promised ? "promised" : "excluded",
		       clock_kinds[i].name);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--list"))
		return list();
	if (take_options(argc, argv))
		return usage();
	opt.folder = argv[optind];
	opt.seed = strtoull(argv[optind + 1], NULL, 0);
	opt.rings = (uint32_t)atoi(argv[optind + 2]);
	opt.seconds = atof(argv[optind + 3]);
	random_seed(&dice, opt.seed);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	measure_host();
	make_machines();
	begin = xvt_clock_read_ordered();
	printf("ready\n");
	fflush(stdout);
	simulate();
	finish();
	return 0;
}
