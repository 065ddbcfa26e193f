// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - xvt-hostile: one hostile guest of one kind, until SIGTERM.
 *
 *   xvt-hostile REGION KIND SEED    a region file that does not exist is made
 *   xvt-hostile --list              name, flags (text, bell, file or -), region MiB, what it does
 *
 * Prints "joined" once the region can be recorded, and "enabled N of M" when it becomes hostile:
 * when its rings are switched on, or after five seconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

#define REGION_BYTES (4ull << 20)
#define PATIENCE_NS  (5000 * MS)

static const struct kind *const tables[] = { ring_kinds, clock_kinds, meta_kinds,    size_kinds,
					     file_kinds, bell_kinds,  relayed_kinds, mixed_kinds };

static struct hostile h = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The file may shrink under the mapping: the act ends, the next one begins. */
static __thread sigjmp_buf *recover;

static void bus(int signal)
{
	if (!recover)
		_exit(128 + signal);
	siglongjmp(*recover, 1);
}

static void end(int signal)
{
	(void)signal;
	xvt_store(&h.stop, 1);
}

static const struct kind *find_kind(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct kind *k;

		for (k = tables[i]; k->name; k++) {
			if (!strcmp(k->name, name))
				return k;
		}
	}
	return NULL;
}

static int list(void)
{
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct kind *k;

		for (k = tables[i]; k->name; k++)
			printf("%s\t%s\t%llu\t%s\n", k->name,
			       k->flags & KIND_TEXT   ? "text"
			       : k->flags & KIND_BELL ? "bell"
			       : k->flags & KIND_FILE ? "file"
						      : "-",
			       (unsigned long long)((k->size ? k->size : REGION_BYTES) >> 20),
			       k->text);
	}
	return 0;
}

static bool is_hostile(void)
{
	return h.kind->flags & KIND_EARLY || xvt_load(&h.hostile);
}

/* Returns true while the host says that more questions follow. */
static bool answer_ring(struct ring *r)
{
	struct xvt_ring_ctl *c = r->w.ctl;
	uint64_t seq = xvt_load_acquire(&r->w.host->request_seq), clock;

	if (seq == xvt_load(&c->answer_seq))
		return false;
	clock = r->w.clock ? r->w.clock(r->w.clock_arg) : xvt_clock_read_ordered();
	if (r->asked_seq != seq) {
		r->asked_seq = seq;
		r->asked_ns = now_ns();
		r->asked_clock = clock;
	}
	if (h.kind->answer && is_hostile() && !h.kind->answer(&h, r, &seq, &clock))
		return false;
	xvt_store(&c->answer_clock, clock);
	xvt_store_release(&c->answer_seq, seq); /* pairs with the host's poll */
	return xvt_load(&r->w.host->request_more) != 0;
}

/* All rings, as far as the file goes. */
static bool answer_all(void)
{
	volatile bool stay = false;
	sigjmp_buf back;
	uint32_t i;

	recover = &back;
	if (!sigsetjmp(back, 1)) {
		for (i = 0; i < h.g.ring_count; i++)
			stay |= answer_ring(&h.ring[i]);
	}
	recover = NULL;
	return stay;
}

/* A thread of its own, which writes mailbox words only. */
static void *answer(void *unused)
{
	(void)unused;
	while (!xvt_load(&h.stop)) {
		bool stay;

		pthread_mutex_lock(&h.lock);
		stay = answer_all();
		pthread_mutex_unlock(&h.lock);
		if (!stay)
			usleep(500);
	}
	return NULL;
}

static void act(uint64_t *s)
{
	const struct kind *k = h.kind;
	uint32_t i, n = k->batch ? k->batch : 64;

	for (i = 0; k->ring && i < n; i++)
		k->ring(&h, &h.ring[next(s) % h.g.ring_count], s);
	if (k->region)
		k->region(&h, s);
	h.turns++;
}

static uint32_t enabled(void)
{
	uint32_t i, on = 0;

	for (i = 0; i < h.g.ring_count; i++)
		on += xvt_load(&h.ring[i].w.host->enable) != 0;
	return on;
}

static void wait_for_host(uint64_t *s)
{
	uint64_t end_ns = now_ns() + PATIENCE_NS;

	h.begin_ns = now_ns();
	while (!xvt_load(&h.stop) && enabled() < h.g.ring_count && now_ns() < end_ns) {
		if (h.kind->flags & KIND_EARLY)
			act(s);
		usleep(1000);
	}
	printf("enabled %u of %u\n", enabled(), h.g.ring_count);
	fflush(stdout);
}

static void be_hostile(uint64_t *s)
{
	sigjmp_buf back;

	recover = &back;
	h.begin_ns = now_ns();
	xvt_store(&h.hostile, 1);
	sigsetjmp(back, 1);
	while (!xvt_load(&h.stop)) {
		act(s);
		usleep(h.kind->rest_us ? h.kind->rest_us : 200);
	}
	recover = NULL;
}

static int open_region(const char *path)
{
	const uint64_t size = h.kind->size ? h.kind->size : REGION_BYTES;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool made = fd >= 0;

	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || (made && ftruncate(fd, (off_t)size)) || join(&h, fd, made))
		return -1;
	close(fd);
	return 0;
}

static void measure_clock(void)
{
	uint64_t from_ns = now_ns(), from = xvt_clock_read();

	usleep(20000);
	h.hz = (uint64_t)((__uint128_t)(xvt_clock_read() - from) * 1000000000 /
			  (now_ns() - from_ns));
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = end };
	pthread_t thread;
	uint64_t s;

	if (argc == 2 && !strcmp(argv[1], "--list"))
		return list();
	if (argc != 4 || !(h.kind = find_kind(argv[2]))) {
		fprintf(stderr, "usage: xvt-hostile REGION KIND SEED | --list\n");
		return 2;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sa.sa_handler = bus;
	sa.sa_flags = SA_NODEFER;
	sigaction(SIGBUS, &sa, NULL);
	h.path = argv[1];
	h.kinds = ring_kinds;
	h.seed = s = strtoull(argv[3], NULL, 0) * 0x9e3779b97f4a7c15ull + 1;
	measure_clock();
	if (open_region(argv[1]) || pthread_create(&thread, NULL, answer, NULL)) {
		perror(argv[1]);
		return 1;
	}
	printf("joined\n");
	fflush(stdout);
	wait_for_host(&s);
	be_hostile(&s);
	pthread_join(thread, NULL);
	if (!(h.kind->flags & KIND_FILE))
		mend_header(&h);
	return 0;
}
