// SPDX-License-Identifier: GPL-2.0
/*
 * stress.c - a clock page that is written as fast as possible while others read it, with the
 * machine's own clock and memory order.
 *
 *	stress torn READS
 *	    every word of a version is a function of its number: a value of two versions shows
 *
 *	stress map READS
 *	    the recorder's own code writes samples that are as wrong as they may be, pauses and
 *	    resumes; no reader goes back behind what any reader has seen
 *
 *	stress kill READS
 *	    as torn; the writer is killed, and begun again, 200 times, once in mid-write for sure
 *
 *	stress threads-torn READS
 *	stress threads-map READS
 *	    threads of one process instead
 */
#define _GNU_SOURCE
#include "clock/page.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define READERS	     2
#define KILLS	     200
#define GUEST_OFFSET 0x123456789abull /* the guest's clock is the host's and this */
#define BOUND_NS     20000u
#define VERSIONS     200 /* that each reader has to see */
#define NEXT_SEEN    64	 /* reads between two looks at what the others have seen */

static struct shared {
	struct xvt_clock_page page __attribute__((aligned(4096)));
	struct xvt_clock_page host_page;
	uint64_t stop __attribute__((aligned(64)));
	uint64_t written;
	uint64_t deferred;
	uint64_t pauses;
	uint64_t ready;
	/* The most that any reader has read: a read that begins later reads no less. */
	uint64_t most_host __attribute__((aligned(64)));
	uint64_t most_active;
	struct count {
		uint64_t good __attribute__((aligned(64)));
		uint64_t again;
		uint64_t versions; /* that it saw */
		uint64_t wrong;
	} count[READERS];
} * sh;

static bool torn, threads;
static uint64_t reads;
static struct xvt_host_clock host_clock;

static void pin(int index)
{
	cpu_set_t all, one;
	int cpu, n;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return;
	n = index % CPU_COUNT(&all);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || n--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool stopped(void)
{
	return __atomic_load_n(&sh->stop, __ATOMIC_ACQUIRE);
}

/* ------------------------------------------------------------------ torn */

/* Version n, whole. */
static void version(struct xvt_clock_page *v, uint64_t n)
{
	uint64_t z = n * 0x9e3779b97f4a7c15ull, *word = (uint64_t *)v;
	uint32_t i;

	for (i = 1; i < XVT_CLOCK_WORDS; i++)
		word[i] = mix(z + i);
	v->flags = XVT_CLOCK_F_VALID | (n & XVT_CLOCK_F_ACTIVE);
	v->epoch = n;
	v->node_clock &= 0xffff;
	v->bound_ns >>= 8;
	v->nr_lines = 1 + n % XVT_CLOCK_LINES;
}

static void write_versions(void)
{
	uint64_t n = xvt_load(&sh->page.epoch), seq = xvt_load(&sh->page.seq);
	struct xvt_clock_page v;

	while (!stopped()) {
		uint32_t rest = (uint32_t)mix(++n) & 31;

		version(&v, n);
		xvt_clock_page_write(&sh->page, &seq, &v);
		xvt_store(&sh->written, n);
		/* With nothing in between no reader would ever find it at rest. */
		while (rest--)
			xvt_relax();
	}
}

static bool read_version(uint64_t *last, struct count *c)
{
	struct xvt_clock_page v;
	struct xvt_clock_now now = { 0 }, want = { 0 };
	int err = xvt_clock_page_read(&sh->page, NULL, NULL, &now);

	if (err == -EAGAIN || err == -ENODATA) {
		c->again++;
		return true;
	}
	c->good++;
	if (now.epoch != *last)
		c->versions++;
	version(&v, now.epoch);
	if (err || now.epoch < *last || xvt_clock_page_value(&v, now.clock, &want) ||
	    memcmp(&now, &want, sizeof(now)) != 0) {
		printf("wrong: err %d, version %llu after %llu, %llu instead of %llu\n", err,
		       (unsigned long long)now.epoch, (unsigned long long)*last,
		       (unsigned long long)now.host_ns, (unsigned long long)want.host_ns);
		return false;
	}
	*last = now.epoch;
	return true;
}

/* ------------------------------------------------------------------ map */

/* The guest's clock; now and then something comes between the loads of seq and the clock. */
static uint64_t guest_clock(void *arg)
{
	uint64_t *turn = arg;
	uint32_t wait;

	if (++*turn % 16 == 0)
		for (wait = (uint32_t)mix(*turn) & 255; wait; wait--)
			xvt_relax();
	return xvt_clock_read_ordered() + GUEST_OFFSET;
}

static void write_map(void)
{
	static struct xvt_clock_pages pages;
	uint64_t hz = host_clock.hz + host_clock.hz / 20000, n = 0; /* 50 ppm off */

	xvt_clock_pages_init(&pages, &sh->page, &host_clock, 1, NULL, NULL);
	pages.file_host.page = &sh->host_page;
	pages.lead_ns = 0; /* the guest's clock is known: the knee is as near as it can be */
	while (!stopped()) {
		uint64_t clock = xvt_clock_read_ordered(), rest = mix(++n);
		struct xvt_clock_node node = { .guest = clock + GUEST_OFFSET,
					       .host_ns = xvt_host_clock_ns(&host_clock, clock),
					       .bound_ns = BOUND_NS };
		uint32_t wait = (uint32_t)rest & 255;

		node.host_ns += (rest >> 32) % (2 * BOUND_NS) - BOUND_NS;
		if (xvt_clock_pages_node(&pages, &node, hz) == -EAGAIN)
			xvt_store(&sh->deferred, sh->deferred + 1);
		xvt_store(&sh->written, n);
		while (wait--)
			xvt_relax();
		if (n % 256)
			continue;
		xvt_clock_pages_pause(&pages, xvt_host_clock_ns(&host_clock, clock));
		xvt_clock_pages_resume(&pages, xvt_host_clock_ns(&host_clock, xvt_clock_read()));
		xvt_store(&sh->pauses, sh->pauses + 1);
	}
}

static void raise_to(uint64_t *most, uint64_t value)
{
	uint64_t old = __atomic_load_n(most, __ATOMIC_RELAXED);

	while (old < value && !__atomic_compare_exchange_n(most, &old, value, false,
							   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

/* What this reader has read last, and what it has seen of the others. */
struct seen {
	uint64_t turn;
	uint64_t node;
	uint64_t host;
	uint64_t active;
	uint64_t active_on_host;
};

static bool read_map(struct seen *s, struct count *c)
{
	struct xvt_clock_now now = { 0 }, host;
	uint64_t truth;
	int err;

	if (s->turn % NEXT_SEEN == 0) {
		uint64_t most = __atomic_load_n(&sh->most_host, __ATOMIC_ACQUIRE);

		s->host = most > s->host ? most : s->host;
		most = __atomic_load_n(&sh->most_active, __ATOMIC_ACQUIRE);
		s->active = most > s->active ? most : s->active;
		err = xvt_clock_page_read(&sh->host_page, NULL, NULL, &host);
		if (!err && (host.active_ns < s->active_on_host ||
			     host.host_ns != xvt_host_clock_ns(&host_clock, host.clock))) {
			printf("wrong: the host's page: active %llu after %llu\n",
			       (unsigned long long)host.active_ns,
			       (unsigned long long)s->active_on_host);
			return false;
		}
		if (!err)
			s->active_on_host = host.active_ns;
	}
	err = xvt_clock_page_read(&sh->page, guest_clock, &s->turn, &now);
	if (err == -EAGAIN || err == -ENODATA) {
		c->again++;
		return true;
	}
	c->good++;
	c->versions += now.age_ns != s->node;
	s->node = now.age_ns;
	truth = err ? 0 : xvt_host_clock_ns(&host_clock, now.clock - GUEST_OFFSET);
	if (err || now.host_ns < s->host || now.active_ns < s->active ||
	    (now.bound_ns != XVT_CLOCK_UNBOUNDED &&
	     (now.host_ns > truth ? now.host_ns - truth : truth - now.host_ns) > now.bound_ns)) {
		printf("wrong: err %d, host %llu after %llu (true %llu, bound %llu), active %llu "
		       "after %llu\n",
		       err, (unsigned long long)now.host_ns, (unsigned long long)s->host,
		       (unsigned long long)truth, (unsigned long long)now.bound_ns,
		       (unsigned long long)now.active_ns, (unsigned long long)s->active);
		return false;
	}
	s->host = now.host_ns;
	s->active = now.active_ns;
	if (s->turn % NEXT_SEEN == 1) {
		raise_to(&sh->most_host, now.host_ns);
		raise_to(&sh->most_active, now.active_ns);
	}
	return true;
}

/* ------------------------------------------------------------------ processes and CPUs */

static void *write_all(void *arg)
{
	(void)arg;
	pin(0);
	if (torn)
		write_versions();
	else
		write_map();
	return NULL;
}

static void *read_all(void *arg)
{
	struct count *c = arg, mine = { 0 };
	struct seen seen = { 0 };
	uint64_t last = 0;

	pin(1 - (int)(c - sh->count)); /* the second one shares the writer's CPU */
	/* On a busy machine the writer may stand still for a while: then nothing is shown yet. */
	while ((mine.good < reads / READERS || mine.versions < VERSIONS) && !stopped())
		if (!(torn ? read_version(&last, &mine) : read_map(&seen, &mine))) {
			mine.wrong++;
			break;
		}
	*c = mine;
	return NULL;
}

static void begin(pthread_t *thread, pid_t *pid, void *(*run)(void *), void *arg)
{
	if (threads) {
		if (pthread_create(thread, NULL, run, arg))
			exit(2);
		return;
	}
	*pid = fork();
	if (*pid < 0)
		exit(2);
	if (*pid)
		return;
	run(arg);
	_exit(fflush(stdout) != 0);
}

static bool finish(pthread_t thread, pid_t pid)
{
	int status;

	if (threads)
		return !pthread_join(thread, NULL);
	return waitpid(pid, &status, 0) == pid && !status;
}

static int sum_up(void)
{
	struct count all = { 0 };
	int i;

	for (i = 0; i < READERS; i++) {
		all.good += sh->count[i].good;
		all.again += sh->count[i].again;
		all.versions += sh->count[i].versions;
		all.wrong += sh->count[i].wrong;
	}
	printf("%llu reads by %d readers, none %s; %llu times -EAGAIN; %llu versions written, %llu "
	       "seen, %llu pauses, %llu nodes left out\n",
	       (unsigned long long)all.good, READERS, torn ? "torn" : "back",
	       (unsigned long long)all.again, (unsigned long long)sh->written,
	       (unsigned long long)all.versions, (unsigned long long)sh->pauses,
	       (unsigned long long)sh->deferred);
	return all.wrong || all.good < reads;
}

static int run(void)
{
	pthread_t writer = 0, reader[READERS] = { 0 };
	pid_t writer_pid = 0, reader_pid[READERS] = { 0 };
	bool good = true;
	int i;

	begin(&writer, &writer_pid, write_all, NULL);
	for (i = 0; i < READERS; i++)
		begin(&reader[i], &reader_pid[i], read_all, &sh->count[i]);
	for (i = 0; i < READERS; i++)
		good &= finish(reader[i], reader_pid[i]);
	__atomic_store_n(&sh->stop, 1, __ATOMIC_RELEASE);
	good &= finish(writer, writer_pid);
	return sum_up() || !good;
}

/* ------------------------------------------------------------------ kill */

static pid_t start_writer(bool stay)
{
	pid_t pid = fork();
	uint64_t seq;

	if (pid)
		return pid;
	if (stay) {
		seq = xvt_load(&sh->page.seq);
		xvt_clock_page_begin(&sh->page, &seq);
		__atomic_store_n(&sh->ready, 1, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	write_all(NULL);
	_exit(0);
}

static void end_writer(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The dead leave the page odd or even: the first is -EAGAIN and no hang, the second is whole. */
static int run_kills(void)
{
	struct count c = { 0 };
	uint64_t last = 0, odd = 0, even = 0, i, k;
	pid_t pid;

	pin(1);
	for (k = 0; k < KILLS; k++) {
		pid = start_writer(k == 0);
		while (k ? c.good < reads / KILLS * k : !xvt_load_acquire(&sh->ready))
			if (!read_version(&last, &c))
				return 1;
		end_writer(pid);
		c.again = 0;
		for (i = 0; i < 1000; i++)
			if (!read_version(&last, &c))
				return 1;
		if (c.again != (xvt_load(&sh->page.seq) & 1 ? 1000 : 0)) {
			printf("wrong: %llu of 1000 reads -EAGAIN after a kill\n",
			       (unsigned long long)c.again);
			return 1;
		}
		odd += c.again != 0;
		even += c.again == 0;
	}
	printf("%llu reads; %d writers killed, %llu of them in mid-write: -EAGAIN, and the next "
	       "one "
	       "goes on\n",
	       (unsigned long long)c.good, KILLS, (unsigned long long)odd);
	return !odd || !even;
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "";

	threads = !strncmp(mode, "threads-", 8);
	mode += threads ? 8 : 0;
	torn = strcmp(mode, "map") != 0;
	if (argc != 3 || (strcmp(mode, "torn") && strcmp(mode, "map") && strcmp(mode, "kill"))) {
		fprintf(stderr, "usage: stress [threads-]torn|map|kill READS\n");
		return 2;
	}
	reads = strtoull(argv[2], NULL, 0) / READERS * READERS;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || xvt_host_clock_init(&host_clock))
		return 2;
	return strcmp(mode, "kill") ? run() : run_kills();
}
