// SPDX-License-Identifier: GPL-2.0
/* guests.c - see guests.h. */
#define _GNU_SOURCE
#include "guests.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "xvt_region.h"

#define META_BYTES   4096u
#define BURST_MAX    63u
#define ANSWER_TURNS 50u  /* without another question: a microsecond or two */
#define STAY_US	     200u /* as the kernel module does */
#define TICK_US	     10000u
#define LATE_US	     100u /* a timer may come so much later */
#define STAY_MAX     256u
#define PAYLOAD_MAX  256u
#define AHEAD	     16u /* mailboxes */
#define RING_LEAST   8192u
#define SUBBUF_LEAST 1024u
#define SUBBUF_MOST  65536u
#define SUBBUFS	     8u	  /* or more make a ring */
#define FEW	     100u /* one ring of so many writes */

struct staying {
	uint32_t ring;
	uint64_t until;
};

/* What a vCPU last found in its mailbox: of very many rings no more than one line each is read. */
struct mailbox {
	const struct xvt_ring_host *host;
	uint64_t request;
	uint64_t mark;
};

struct guests {
	struct guests_layout layout;
	int *fds;
	void **maps;
	uint64_t *region_sizes;
	struct xvt_writer *writers;
	struct mailbox *mailboxes;
	uint32_t nr_rings;
	pthread_t thread;
	bool running;
	uint32_t stop;
	uint64_t lost;
	uint32_t asked; /* orders given, and carried out: each pairs with the other's acquire */
	uint32_t done;
	uint64_t random;
	uint64_t us; /* these are in the clock's ticks; 0: no host asks yet */
	uint64_t tick_begin;
	uint32_t next; /* whose look comes next in this tick */
	uint32_t nr_staying;
	struct staying staying[STAY_MAX];
};

static uint64_t draw(struct guests *g)
{
	g->random ^= g->random << 13;
	g->random ^= g->random >> 7;
	g->random ^= g->random << 17;
	return g->random;
}

/* ------------------------------------------------------------------ how much each ring writes */

static uint32_t nr_active(const struct guests_layout *l)
{
	uint32_t all = l->vms * l->rings;

	return l->order != GUESTS_FEW ? all : all > FEW ? all / FEW : 1;
}

/* Ranks 0, 1 to 2, 3 to 6 and so on: each such group has the same part. */
static uint32_t nr_groups(uint32_t rings)
{
	return 32 - (uint32_t)__builtin_clz(rings);
}

static uint32_t draw_ring(struct guests *g, uint32_t active)
{
	if (g->layout.order != GUESTS_SKEWED)
		return (uint32_t)(draw(g) % active);
	for (;;) {
		uint32_t width = 1u << draw(g) % nr_groups(active);
		uint32_t rank = width - 1 + (uint32_t)(draw(g) % width);

		if (rank < active)
			return rank;
	}
}

static uint64_t power_of_two(uint64_t least)
{
	uint64_t n = RING_LEAST;

	while (n < least)
		n *= 2;
	return n;
}

/* Twice what a ring of that rank has to hold, because chance decides; of bursts there are few. */
static uint64_t ring_bytes(const struct guests_layout *l, uint32_t rank)
{
	uint32_t active = nr_active(l);
	uint64_t parts = active, record = sizeof(uint64_t) + l->payload;

	if (rank >= active)
		return RING_LEAST;
	if (l->order == GUESTS_SKEWED)
		parts = (uint64_t)nr_groups(active) << (nr_groups(rank + 1) - 1);
	return power_of_two((l->order == GUESTS_BURSTS ? 4 : 2) * record * l->events / parts);
}

static void carry_out(struct guests *g)
{
	const struct guests_layout *l = &g->layout;
	uint32_t active = nr_active(l);
	uint8_t payload[PAYLOAD_MAX] = { 0 };
	uint64_t i = 0;

	g->lost = 0;
	while (i < l->events) {
		uint64_t run = l->order == GUESTS_BURSTS ? 1 + draw(g) % BURST_MAX : 1;
		struct xvt_writer *w = &g->writers[draw_ring(g, active)];

		for (; run && i < l->events; run--, i++) {
			memcpy(payload, &i, sizeof(i));
			g->lost += xvt_write(w, XVT_ID_U64, payload, l->payload) != 0;
		}
	}
}

/* ------------------------------------------------------------------ what vCPUs do */

/* Has the host asked for something since that mailbox was last looked into? */
static bool look_into(struct mailbox *box)
{
	uint64_t request = xvt_load(&box->host->request_seq), mark = xvt_load(&box->host->mark_seq);

	if (request == box->request && mark == box->mark)
		return false;
	box->request = request; /* a newer one is another look's */
	box->mark = mark;
	return true;
}

/* Many vCPUs stay for questions at once; this thread is all of them. */
static void stay(struct guests *g, uint32_t ring)
{
	if (g->nr_staying == STAY_MAX)
		return; /* it comes again */
	g->staying[g->nr_staying++] =
		(struct staying){ ring, xvt_clock_read() + STAY_US * xvt_load(&g->us) };
}

/* The host is here: it is this one's turn as long as that is so. Returns false when the host has no
 * more questions for now. */
static bool answer(struct guests *g, struct staying *at)
{
	struct xvt_writer *w = &g->writers[at->ring];
	int64_t more;
	uint32_t turns = 0;

	do {
		more = xvt_writer_answer(w);
		xvt_writer_mark(w);
		if (more > 0)
			turns = 0;
		xvt_relax();
	} while (more && turns++ < ANSWER_TURNS);
	at->until = xvt_clock_read() + STAY_US * xvt_load(&g->us);
	return more != 0;
}

/* A vCPU of its own would answer within a fraction of a microsecond: so should the last of them. */
static void serve_staying(struct guests *g)
{
	uint64_t now = xvt_clock_read();

	for (uint32_t k = 0; k < g->nr_staying; k++) {
		struct staying *at = &g->staying[k];

		if (look_into(&g->mailboxes[at->ring]) ? !answer(g, at)
						       : (int64_t)(at->until - now) <= 0)
			g->staying[k--] = g->staying[--g->nr_staying];
	}
}

static void look_at_mailbox(struct guests *g, uint32_t i)
{
	/* A vCPU of its own would find its mailbox in its cache. */
	if (i + AHEAD < g->nr_rings)
		__builtin_prefetch(&g->mailboxes[i + AHEAD].host->request_seq);
	if (!look_into(&g->mailboxes[i]))
		return;
	xvt_writer_mark(&g->writers[i]);
	if (xvt_writer_answer(&g->writers[i]) > 0)
		stay(g, i);
}

/*
 * Each vCPU has a timer of its own: they look one after the other, all of them once a tick. Those
 * whose time has come look; returns the microseconds until the next one's does.
 */
static uint64_t look(struct guests *g)
{
	uint64_t us = xvt_load(&g->us), whole = TICK_US * us;
	uint64_t passed = xvt_clock_read() - g->tick_begin;
	uint32_t to = passed < whole ? (uint32_t)(g->nr_rings * passed / whole) : g->nr_rings;

	while (g->next < to) {
		look_at_mailbox(g, g->next++);
		if (g->next % AHEAD == 0)
			serve_staying(g);
	}
	if (passed >= whole) { /* a look that was missed is missed */
		g->tick_begin += passed < 2 * whole ? whole : passed;
		g->next = 0;
		return 0;
	}
	return (whole * (g->next + 1) / g->nr_rings - passed) / us;
}

/* Until a timer fires, or an order comes. */
static void rest(struct guests *g, uint64_t us)
{
	struct timespec t = { .tv_nsec = (long)(us > LATE_US ? us : LATE_US) * 1000 };

	syscall(SYS_futex, &g->asked, FUTEX_WAIT_PRIVATE, g->done, &t, NULL, 0);
}

static void *live(void *arg)
{
	struct guests *g = arg;

	prctl(PR_SET_TIMERSLACK, 1ul);
	while (!xvt_load(&g->stop)) {
		uint32_t asked = xvt_load_acquire(&g->asked);
		uint64_t us = TICK_US;

		if (asked != g->done) {
			carry_out(g);
			xvt_store_release(&g->done, asked); /* pairs with guests_write() */
		}
		if (xvt_load(&g->us)) {
			us = look(g);
			serve_staying(g);
		}
		if (!g->nr_staying)
			rest(g, us);
	}
	return NULL;
}

void guests_write(struct guests *g, uint64_t *lost)
{
	struct timespec nap = { .tv_nsec = 1000000 };

	xvt_store_release(&g->asked, g->asked + 1); /* pairs with live() */
	syscall(SYS_futex, &g->asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (xvt_load_acquire(&g->done) != g->asked)
		nanosleep(&nap, NULL);
	*lost = g->lost;
}

uint64_t guests_cpu_ns(const struct guests *g)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(g->thread, &clock) == 0)
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void bring_online(struct guests *g, uint32_t vm, const struct xvt_geometry *geometry)
{
	uint32_t i;

	for (i = 0; i < g->layout.rings; i++) {
		uint32_t ring = vm * g->layout.rings + i;
		struct xvt_writer *w = &g->writers[ring];

		xvt_writer_init(w, g->maps[vm], geometry, i);
		g->mailboxes[ring] = (struct mailbox){ .host = w->host };
		xvt_store(&w->ctl->type, XVT_RING_VCPU);
		xvt_store(&w->ctl->cpu, i);
		xvt_store(&w->ctl->hw_id, i);
		xvt_store_release(&w->ctl->state, XVT_RING_ONLINE);
	}
}

/* A region of one machine, as large as its busiest ring, the first one, makes it. */
static int make_region(struct guests *g, uint32_t vm)
{
	const struct guests_layout *l = &g->layout;
	uint64_t each = ring_bytes(l, vm * l->rings), size;
	struct xvt_layout layout = { .ring_count = l->rings,
				     .subbuf_size = SUBBUF_MOST,
				     .meta_size = META_BYTES,
				     .clock_id = XVT_CLOCK_TSC };
	struct xvt_geometry geometry;
	void *map;
	int err;

	size = xvt_region_min_size(l->rings, 4096) + META_BYTES + l->rings * each;
	size = (size + 4095) & ~4095ull;
	while (layout.subbuf_size > SUBBUF_LEAST && each < SUBBUFS * layout.subbuf_size)
		layout.subbuf_size /= 2;
	layout.region_size = g->region_sizes[vm] = size;
	g->fds[vm] = memfd_create("xvt-guest", MFD_CLOEXEC);
	if (g->fds[vm] < 0 || ftruncate(g->fds[vm], (off_t)size))
		return -errno;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, g->fds[vm], 0);
	if (map == MAP_FAILED)
		return -errno;
	g->maps[vm] = map;
	err = xvt_region_format(map, &layout, &geometry);
	if (!err)
		bring_online(g, vm, &geometry);
	return err;
}

/* Two descriptors a machine: ours and the recorder's. */
static void allow_descriptors(uint32_t vms)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= 2 * vms + 64)
		return;
	limit.rlim_cur = 2 * vms + 64;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	setrlimit(RLIMIT_NOFILE, &limit); /* refused: opening says so */
}

int guests_new(struct guests **out, const struct guests_layout *layout)
{
	struct guests *g = calloc(1, sizeof(*g));
	int err = -ENOMEM;

	*out = NULL;
	if (!g)
		return -ENOMEM;
	g->layout = *layout;
	g->random = 88172645463325252ull;
	g->nr_rings = layout->vms * layout->rings;
	g->fds = malloc(layout->vms * sizeof(*g->fds));
	g->maps = calloc(layout->vms, sizeof(*g->maps));
	g->region_sizes = calloc(layout->vms, sizeof(*g->region_sizes));
	g->writers = calloc(g->nr_rings, sizeof(*g->writers));
	g->mailboxes = calloc(g->nr_rings, sizeof(*g->mailboxes));
	if (!g->fds || !g->maps || !g->region_sizes || !g->writers || !g->mailboxes)
		goto err_free;
	memset(g->fds, 0xff, layout->vms * sizeof(*g->fds));
	allow_descriptors(layout->vms);
	for (uint32_t i = 0; i < layout->vms; i++) {
		err = make_region(g, i);
		if (err)
			goto err_free;
	}
	err = -pthread_create(&g->thread, NULL, live, g);
	if (err)
		goto err_free;
	g->running = true;
	*out = g;
	return 0;

err_free:
	guests_free(g);
	return err;
}

void guests_free(struct guests *g)
{
	xvt_store(&g->stop, 1u);
	if (g->running)
		pthread_join(g->thread, NULL);
	for (uint32_t i = 0; g->maps && g->fds && i < g->layout.vms; i++) {
		if (g->maps[i])
			munmap(g->maps[i], g->region_sizes[i]);
		if (g->fds[i] >= 0)
			close(g->fds[i]);
	}
	free(g->fds);
	free(g->maps);
	free(g->region_sizes);
	free(g->writers);
	free(g->mailboxes);
	free(g);
}

int guests_join(struct guests *g, struct xvt_session *s)
{
	/* Before the first question. */
	xvt_store(&g->us, xvt_host_clock_ticks(&s->clock, 1000));
	for (uint32_t i = 0; i < g->layout.vms; i++) {
		char name[32], path[64];
		struct xvt_error why = { "" };
		int err;

		snprintf(name, sizeof(name), "g%u", i);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", g->fds[i]);
		err = xvt_session_add_rings(s, name, path, NULL, true, XVT_RING_COUNT_MAX, &why);
		if (err) {
			fprintf(stderr, "%s: %s\n", name, why.text);
			return err;
		}
	}
	return 0;
}
