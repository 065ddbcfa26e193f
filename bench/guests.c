// SPDX-License-Identifier: GPL-2.0
/* guests.c - see guests.h. */
#define _GNU_SOURCE
#include "guests.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "xvt_region.h"

#define META_BYTES   4096u
#define BURST_MAX    63u
#define ANSWER_TURNS 50u  /* without another question: a microsecond or two */
#define STAY_US	     200u /* as the kernel module does */
#define TICK_US	     10000u
#define STAY_MAX     256u
#define PAYLOAD_MAX  256u
#define AHEAD	     16u /* mailboxes */

struct order {
	enum guests_order order;
	uint32_t active;
	uint32_t payload;
	uint64_t events;
	uint64_t lost;
};

struct staying {
	uint32_t ring;
	uint64_t until;
};

struct guests {
	struct guests_layout layout;
	int *fds;
	void **maps;
	uint64_t region_size;
	struct xvt_writer *writers;
	uint32_t nr_rings;
	pthread_t thread;
	bool running;
	uint32_t stop;
	struct order todo;
	uint32_t asked; /* orders given, and carried out: each pairs with the other's acquire */
	uint32_t done;
	uint64_t random;
	uint64_t stay; /* both in the clock's ticks */
	uint64_t tick;
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

static void carry_out(struct guests *g)
{
	struct order *o = &g->todo;
	uint8_t payload[PAYLOAD_MAX] = { 0 };
	uint64_t i = 0;

	o->lost = 0;
	while (i < o->events) {
		uint64_t run = o->order == GUESTS_BURSTS ? 1 + draw(g) % BURST_MAX : 1;
		struct xvt_writer *w = &g->writers[draw(g) % o->active];

		for (; run && i < o->events; run--, i++) {
			memcpy(payload, &i, sizeof(i));
			o->lost += xvt_write(w, XVT_ID_U64, payload, o->payload) != 0;
		}
	}
}

/* Many vCPUs stay for questions at once; this thread is all of them. */
static void stay(struct guests *g, uint32_t ring)
{
	if (g->nr_staying == STAY_MAX)
		return; /* it comes again */
	g->staying[g->nr_staying++] =
		(struct staying){ ring, xvt_clock_read() + xvt_load(&g->stay) };
}

/* Returns false when the host has no more questions for now, or does not come. */
static bool answer(struct guests *g, struct staying *at)
{
	struct xvt_writer *w = &g->writers[at->ring];
	int64_t more = xvt_writer_answer(w);
	uint32_t turns = 0;

	xvt_writer_mark(w);
	if (more == -EAGAIN)
		return (int64_t)(at->until - xvt_clock_read()) > 0;
	/* The host is here: it is this one's turn as long as that is so. */
	while (more && turns++ < ANSWER_TURNS) {
		if (more > 0)
			turns = 0;
		xvt_relax();
		more = xvt_writer_answer(w);
		xvt_writer_mark(w);
	}
	at->until = xvt_clock_read() + xvt_load(&g->stay);
	return more != 0;
}

static void serve_staying(struct guests *g)
{
	for (uint32_t k = 0; k < g->nr_staying; k++) {
		if (!answer(g, &g->staying[k]))
			g->staying[k--] = g->staying[--g->nr_staying];
	}
}

static void look_at_mailbox(struct guests *g, uint32_t i)
{
	/* A vCPU of its own would find its mailbox in its cache. */
	if (i + AHEAD < g->nr_rings)
		__builtin_prefetch(&g->writers[i + AHEAD].host->request_seq);
	xvt_writer_mark(&g->writers[i]);
	if (xvt_writer_answer(&g->writers[i]) > 0)
		stay(g, i);
}

/* Each vCPU has a timer of its own: they look one after the other, all of them once a tick. */
static void tick(struct guests *g)
{
	uint64_t begin = xvt_clock_read(), whole = xvt_load(&g->tick);
	uint32_t i = 0;

	while (i < g->nr_rings) {
		uint64_t passed = xvt_clock_read() - begin;
		uint32_t to =
			passed < whole ? (uint32_t)(g->nr_rings * passed / whole) : g->nr_rings;

		for (; i < to; i++) {
			look_at_mailbox(g, i);
			if (i % AHEAD == 0)
				serve_staying(g);
		}
		serve_staying(g);
	}
}

static void *live(void *arg)
{
	struct guests *g = arg;

	while (!xvt_load(&g->stop)) {
		uint32_t asked = xvt_load_acquire(&g->asked);

		if (asked != g->done) {
			carry_out(g);
			xvt_store_release(&g->done, asked); /* pairs with guests_write() */
		}
		tick(g);
	}
	return NULL;
}

void guests_write(struct guests *g, enum guests_order order, uint32_t active, uint64_t events,
		  uint32_t payload, uint64_t *lost)
{
	struct timespec nap = { .tv_nsec = 1000000 };

	g->todo = (struct order){ order, active, payload, events, 0 };
	xvt_store_release(&g->asked, g->asked + 1); /* pairs with live() */
	while (xvt_load_acquire(&g->done) != g->asked)
		nanosleep(&nap, NULL);
	*lost = g->todo.lost;
}

uint64_t guests_cpu_ns(const struct guests *g)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(g->thread, &clock) == 0)
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A region of one machine; its rings come online. */
static int make_region(struct guests *g, uint32_t vm)
{
	struct xvt_layout layout = { .region_size = g->region_size,
				     .ring_count = g->layout.rings,
				     .subbuf_size = g->layout.subbuf_size,
				     .meta_size = META_BYTES,
				     .clock_id = XVT_CLOCK_TSC };
	struct xvt_geometry geometry;
	uint32_t i;
	int err;

	g->fds[vm] = memfd_create("xvt-guest", MFD_CLOEXEC);
	if (g->fds[vm] < 0 || ftruncate(g->fds[vm], (off_t)g->region_size))
		return -errno;
	g->maps[vm] = mmap(NULL, g->region_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			   g->fds[vm], 0);
	if (g->maps[vm] == MAP_FAILED) {
		g->maps[vm] = NULL;
		return -errno;
	}
	err = xvt_region_format(g->maps[vm], &layout, &geometry);
	for (i = 0; !err && i < g->layout.rings; i++) {
		struct xvt_writer *w = &g->writers[vm * g->layout.rings + i];

		xvt_writer_init(w, g->maps[vm], &geometry, i);
		xvt_store(&w->ctl->type, XVT_RING_VCPU);
		xvt_store(&w->ctl->cpu, i);
		xvt_store(&w->ctl->hw_id, i);
		xvt_store_release(&w->ctl->state, XVT_RING_ONLINE);
	}
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
	g->region_size = xvt_region_min_size(layout->rings, 4096) + META_BYTES +
			 layout->rings * layout->ring_bytes;
	g->region_size = (g->region_size + 4095) & ~4095ull;
	g->fds = malloc(layout->vms * sizeof(*g->fds));
	g->maps = calloc(layout->vms, sizeof(*g->maps));
	g->writers = calloc(g->nr_rings, sizeof(*g->writers));
	if (!g->fds || !g->maps || !g->writers)
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
			munmap(g->maps[i], g->region_size);
		if (g->fds[i] >= 0)
			close(g->fds[i]);
	}
	free(g->fds);
	free(g->maps);
	free(g->writers);
	free(g);
}

int guests_join(struct guests *g, struct xvt_session *s)
{
	/* Before the first question. */
	xvt_store(&g->stay, xvt_host_clock_ticks(&s->clock, STAY_US * 1000ull));
	xvt_store(&g->tick, xvt_host_clock_ticks(&s->clock, TICK_US * 1000ull));
	for (uint32_t i = 0; i < g->layout.vms; i++) {
		char name[32], path[64], why[256] = "";
		int err;

		snprintf(name, sizeof(name), "g%u", i);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", g->fds[i]);
		err = xvt_session_add(s, name, path, NULL, true, why, sizeof(why));
		if (err) {
			fprintf(stderr, "%s: %s\n", name, why);
			return err;
		}
	}
	return 0;
}
