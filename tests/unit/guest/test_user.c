// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * test_user.c - the user-space library on a real file, with real threads, signals and
 * processes. The test is the host: it switches recording on, drains, asks for the clock.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ut.h"
#include "xvt.h"

#define RINGS 4u

static char path[256];
static uint8_t *base;
static struct xvt_geometry g;
static struct ut_recs recs;
static const struct ut_rec *e[UT_RECS_MAX];

static struct xvt_ring_ctl *ctl(uint32_t ring)
{
	return (void *)(base + xvt_ctl_off(&g, ring));
}

static struct xvt_ring_host *host(uint32_t ring)
{
	return (void *)(base + xvt_ring_host_off(&g, ring));
}

static struct xvt_region_hdr *header(void)
{
	return (void *)base;
}

static void setup(void)
{
	struct xvt_layout l = { .region_size = 1 << 20,
				.ring_count = RINGS,
				.enable = XVT_ENABLE_STOP };
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%s/xvt-unit-XXXXXX", dir ? dir : P_tmpdir);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)l.region_size), 0);
	base = mmap(NULL, l.region_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(base, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(xvt_region_format(base, &l, &g), 0);
}

static void teardown(void)
{
	xvt_close();
	munmap(base, 1 << 20);
	unlink(path);
}

/* Everything below commit in one ring; the host's position is kept in `reader`. */
static uint32_t drain(uint32_t ring, struct xvt_reader *reader)
{
	static struct ut_ring u;

	u.base = base;
	u.g = g;
	xvt_writer_init(&u.w, base, &g, ring);
	u.reader = *reader;
	u.reader.g = &u.g;
	recs.count = 0;
	ut_drain(&u, &recs);
	*reader = u.reader;
	return ut_events(&recs, e, UT_RECS_MAX);
}

static void attach_reader(struct xvt_reader *reader, uint32_t ring)
{
	xvt_reader_init(reader, &g, host(ring)->cons);
}

static void open_region(unsigned int flags)
{
	int err = xvt_open(path, flags);

	ck_assert_msg(!err, "%s", xvt_error());
}

START_TEST(first_opener_begins_a_generation_and_others_join)
{
	uint8_t uuid[16];
	int status;
	pid_t pid;

	open_region(0);
	ck_assert_uint_eq(header()->kind, XVT_KIND_USER);
	ck_assert_uint_eq(header()->clock_id, XVT_CLOCK_NATIVE);
	ck_assert_uint_eq(header()->generation, 1);
	memcpy(uuid, header()->boot_uuid, 16);
	ck_assert(memcmp(uuid, (uint8_t[16]){ 0 }, 16));
	ck_assert_int_eq(xvt_open(path, 0), -EALREADY);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), 0);
	pid = fork();
	if (!pid)
		_exit(xvt_open(path, 0) || xvt_event(XVT_USER_ID, "b", 1));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(header()->generation, 1);
	ck_assert_uint_eq(ctl(0)->state, XVT_RING_ONLINE);
	ck_assert_uint_eq(ctl(0)->pid, (uint32_t)getpid());
	ck_assert_uint_eq(ctl(0)->type, XVT_RING_THREAD);
	ck_assert_uint_eq(ctl(1)->attempted, 1); /* another ring, though we had one */
	ck_assert_uint_eq(ctl(1)->pid, (uint32_t)pid);
}
END_TEST

START_TEST(region_that_is_none_is_refused_with_a_reason)
{
	static const struct {
		uint64_t magic;
		uint32_t kind;
		int err;
		const char *says;
	} row[] = {
		{ 0, 0, -EAGAIN, "magic" },
		{ 5, 0, -EBADMSG, "magic" },
		{ XVT_MAGIC, XVT_KIND_LINUX, -EBUSY, "kernel" },
		{ XVT_MAGIC, XVT_KIND_BARE, -EBUSY, "kernel" },
	};

	header()->magic = row[_i].magic;
	header()->kind = row[_i].kind;
	ck_assert_int_eq(xvt_open(path, 0), row[_i].err);
	ck_assert_ptr_nonnull(strstr(xvt_error(), row[_i].says));
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), -ENOTCONN);
	/* Nothing stuck: it opens once it is right. */
	header()->magic = XVT_MAGIC;
	header()->kind = XVT_KIND_BLANK;
	open_region(0);
}
END_TEST

/* As beside the module in a guest: the resource's file is there and cannot be mapped. */
START_TEST(device_that_a_driver_has_is_busy)
{
	static const char unmappable[] = "/sys/kernel/mm/transparent_hugepage/enabled";
	char dir[] = "/tmp/xvt-user-XXXXXX", resource[64], driver[64];

	if (access(unmappable, W_OK)) {
		printf("skip: %s is not for us\n", unmappable);
		return;
	}
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(resource, sizeof(resource), "%s/resource2", dir);
	snprintf(driver, sizeof(driver), "%s/driver", dir);
	ck_assert_int_eq(symlink(unmappable, resource), 0);
	ck_assert_int_eq(xvt_open(resource, 0), -ENODEV);
	ck_assert_int_eq(mkdir(driver, 0700), 0);
	ck_assert_int_eq(xvt_open(resource, 0), -EBUSY);
	ck_assert_ptr_nonnull(strstr(xvt_error(), "driver"));
	rmdir(driver);
	unlink(resource);
	rmdir(dir);
}
END_TEST

START_TEST(shortened_file_is_refused)
{
	ck_assert_int_eq(truncate(path, (1 << 20) - 4096), 0);
	ck_assert_int_eq(xvt_open(path, 0), -ENOSPC);
	ck_assert_int_eq(truncate(path, 100), 0);
	ck_assert_int_eq(xvt_open(path, 0), -ENOSPC);
	unlink(path);
	ck_assert_int_eq(xvt_open(path, 0), -ENOENT);
}
END_TEST

START_TEST(event_outside_the_rules_is_refused)
{
	open_region(0);
	ck_assert_int_eq(xvt_event(0, "a", 1), -EINVAL);
	ck_assert_int_eq(xvt_event(XVT_ID_CLOCK_SYNC, "a", 1), -EINVAL);
	ck_assert_int_eq(xvt_event(XVT_ID_FTRACE, "a", 1), -EINVAL);
	ck_assert_int_eq(xvt_event(XVT_USER_ID - 1, "a", 1), -EINVAL);
	ck_assert_int_eq(xvt_event(XVT_USER_ID_MAX + 1, "a", 1), -EINVAL);
	ck_assert_int_eq(xvt_event(XVT_USER_ID_MAX, "a", 1), 0);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, path, 1u << 30), -ENOSPC);
	host(0)->enable = XVT_ENABLE_OFF;
	ck_assert(!xvt_enabled());
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), -EAGAIN);
	xvt_close();
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), -ENOTCONN);
	xvt_close();
}
END_TEST

START_TEST(text_arrives_as_written)
{
	struct xvt_reader r;
	struct xvt_region_hdr *h = header();
	char *at;

	open_region(0);
	attach_reader(&r, 0);
	ck_assert_int_eq(xvt_printf("%s has %d", "this", 42), 0);
	ck_assert_uint_eq(drain(0, &r), 1);
	ck_assert_uint_eq(e[0]->id, XVT_ID_TEXT);
	ck_assert_uint_eq(e[0]->len, 16);
	ck_assert_int_eq(memcmp(&e[0]->number, "this has", 8), 0);
	ck_assert_int_eq(xvt_printf("%2000d", 1), 0); /* cut, not refused */
	ck_assert_uint_eq(drain(0, &r), 1);
	ck_assert_uint_eq(e[0]->len, 1000);
	/* The thread's name went into the metadata. */
	at = (char *)base + h->meta_off + sizeof(struct xvt_meta_hdr);
	ck_assert_uint_eq(((struct xvt_meta_tlv *)at)->type, XVT_META_COMM);
	ck_assert_uint_eq(((struct xvt_meta_tlv *)at)->id, (uint32_t)syscall(SYS_gettid));
}
END_TEST

/*
 * Threads. They all hold their rings until each has recorded.
 */
#define EVENTS 2000u

static pthread_barrier_t all_in;

static void *record(void *arg)
{
	uint64_t payload[2] = { (uintptr_t)arg, 0 };
	uint64_t refused = 0;

	for (payload[1] = 0; payload[1] < EVENTS; payload[1]++)
		refused += xvt_event(XVT_USER_ID_U64, payload, sizeof(payload)) != 0;
	pthread_barrier_wait(&all_in);
	return (void *)(uintptr_t)refused;
}

START_TEST(each_thread_writes_its_own_ring)
{
	struct xvt_reader r[RINGS];
	pthread_t t[RINGS];
	uint32_t i, k, n;

	open_region(0);
	pthread_barrier_init(&all_in, NULL, RINGS);
	for (i = 0; i < RINGS; i++) {
		attach_reader(&r[i], i);
		ck_assert_int_eq(pthread_create(&t[i], NULL, record, (void *)(uintptr_t)i), 0);
	}
	for (i = 0; i < RINGS; i++) {
		void *refused;

		pthread_join(t[i], &refused);
		ck_assert_ptr_null(refused);
	}
	for (i = 0; i < RINGS; i++) {
		n = drain(i, &r[i]);
		ck_assert_uint_eq(n, EVENTS);
		for (k = 0; k < n; k++) {
			ut_assert(e[k]->number == e[0]->number);
			ut_assert(!k || e[k]->ts >= e[k - 1]->ts);
		}
		ck_assert_uint_eq(ctl(i)->state, XVT_RING_OFFLINE);
		ck_assert_uint_eq(ctl(i)->claims, 1);
	}
}
END_TEST

static void *take_part(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)xvt_event(XVT_USER_ID, "a", 1);
}

static intptr_t in_new_thread(void *(*f)(void *))
{
	pthread_t t;
	void *ret;

	ck_assert_int_eq(pthread_create(&t, NULL, f, NULL), 0);
	pthread_join(t, &ret);
	return (intptr_t)ret;
}

START_TEST(ring_of_an_ended_thread_is_used_again_without_a_gap)
{
	struct xvt_reader r;
	uint32_t i;

	open_region(0);
	for (i = 0; i < 3 * RINGS; i++)
		ck_assert_int_eq(in_new_thread(take_part), 0);
	ck_assert_uint_eq(ctl(0)->claims, 3 * RINGS);
	ck_assert_uint_eq(ctl(0)->generation, 1); /* no thread died in it */
	attach_reader(&r, 0);
	ck_assert_uint_eq(drain(0, &r), 3 * RINGS);
	ck_assert_uint_eq(xvt_ringless(), 0);
}
END_TEST

static void *wait_for_the_end(void *arg)
{
	(void)arg;
	xvt_thread_attach();
	pthread_barrier_wait(&all_in); /* attached */
	pthread_barrier_wait(&all_in); /* the test is over */
	return NULL;
}

static void *no_ring(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)(xvt_event(XVT_USER_ID, "a", 1) == -EUSERS &&
				  xvt_event(XVT_USER_ID, "a", 1) == -EUSERS &&
				  xvt_thread_attach() == -EUSERS);
}

START_TEST(thread_without_a_ring_is_counted)
{
	pthread_t t[RINGS];
	uint32_t i;

	open_region(0);
	pthread_barrier_init(&all_in, NULL, RINGS + 1);
	for (i = 0; i < RINGS; i++)
		pthread_create(&t[i], NULL, wait_for_the_end, NULL);
	pthread_barrier_wait(&all_in);
	ck_assert_int_eq(in_new_thread(no_ring), 1);
	ck_assert_uint_eq(xvt_ringless(), 2);
	pthread_barrier_wait(&all_in);
	for (i = 0; i < RINGS; i++)
		pthread_join(t[i], NULL);
	ck_assert_int_eq(in_new_thread(take_part), 0);
}
END_TEST

/*
 * Signals: a timer interrupts the recording at arbitrary instructions, and its handler
 * records too.
 */
static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
	uint64_t payload[2] = { 1, (uint64_t)handled };

	(void)sig;
	if (!xvt_event(XVT_USER_ID_U64, payload, sizeof(payload)))
		handled++;
}

START_TEST(handlers_record_inside_interrupted_events)
{
	struct itimerval every = { .it_interval.tv_usec = 50, .it_value.tv_usec = 50 }, off = { 0 };
	struct sigaction sa = { .sa_handler = on_signal };
	uint64_t payload[2] = { 0, 0 }, next[2] = { 0, 0 }, last = 0, n, k;
	struct xvt_reader r;

	open_region(0);
	ck_assert_int_eq(xvt_thread_attach(), 0);
	attach_reader(&r, 0);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (handled < 1000) {
		for (k = 0; k < 500; k++)
			payload[1] += !xvt_event(XVT_USER_ID_U64, payload, sizeof(payload));
		if (handled >= 1000)
			setitimer(ITIMER_REAL, &off, NULL);
		n = drain(0, &r);
		for (k = 0; k < n; k++) {
			ut_assert(e[k]->number < 2);
			ut_assert(e[k]->ts >= last);
			last = e[k]->ts;
			next[e[k]->number]++;
		}
	}
	setitimer(ITIMER_REAL, &off, NULL);
	n = drain(0, &r);
	for (k = 0; k < n; k++)
		next[e[k]->number]++;
	ck_assert_uint_eq(next[0], payload[1]);
	ck_assert_uint_eq(next[1], (uint64_t)handled);
	ck_assert_uint_eq(ctl(0)->attempted,
			  payload[1] + (uint64_t)handled + ctl(0)->lost[XVT_LOST_FULL]);
	ck_assert_uint_eq(ctl(0)->nest, 0);
}
END_TEST

/*
 * Death. The child dies inside an event, in a handler that never returns; the ring is then
 * taken over, and what the dead one finished is still there.
 */
static void die(int sig)
{
	(void)sig;
	xvt_event(XVT_USER_ID_U64, &(uint64_t){ 3 }, 8);
	kill(getpid(), SIGKILL);
}

static void die_in_an_event(void)
{
	struct sigaction sa = { .sa_handler = die };
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *edge;

	if (xvt_open(path, 0))
		_exit(1);
	xvt_event(XVT_USER_ID_U64, &(uint64_t){ 1 }, 8);
	/* The payload of this one cannot be read: the writer stops between [E] and [F]. */
	edge = mmap(NULL, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &sa, NULL);
	xvt_event(XVT_USER_ID_U64, edge, 64);
	_exit(2);
}

START_TEST(ring_of_a_process_that_died_inside_an_event_is_taken_over)
{
	struct xvt_ring_gen *gen;
	struct xvt_reader r;
	struct ut_ring u = { 0 };
	uint64_t resv, commit;
	uint32_t i, claims;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		die_in_an_event();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert_uint_eq(ctl(0)->state, XVT_RING_ONLINE);
	ck_assert_uint_eq(ctl(0)->nest, 1); /* the handler's event came and went */
	resv = xvt_resv_pos(XVT_RING_BACKEND, g.subbuf_shift, ctl(0)->resv);
	commit = ctl(0)->commit;
	ck_assert_uint_ne(resv, commit);
	claims = ctl(0)->claims;

	/* Rings that never had an owner go first. */
	open_region(0);
	pthread_barrier_init(&all_in, NULL, RINGS);
	{
		pthread_t t[RINGS - 1];

		for (i = 0; i < RINGS - 1; i++)
			pthread_create(&t[i], NULL, wait_for_the_end, NULL);
		pthread_barrier_wait(&all_in);
		ck_assert_uint_eq(ctl(0)->claims, claims);
		ck_assert_int_eq(xvt_event(XVT_USER_ID_U64, &(uint64_t){ 9 }, 8), 0);
		pthread_barrier_wait(&all_in);
		for (i = 0; i < RINGS - 1; i++)
			pthread_join(t[i], NULL);
	}
	ck_assert_uint_eq(ctl(0)->claims, claims + 1);
	ck_assert_uint_eq(ctl(0)->pid, (uint32_t)getpid());
	ck_assert_uint_eq(ctl(0)->generation, 2);
	ck_assert_uint_eq(ctl(1)->generation, 1);
	gen = &ctl(0)->gen[2 % XVT_GEN_SLOTS];
	ck_assert_uint_eq(gen->generation, 2);
	ck_assert_uint_eq(gen->prev_commit, commit);
	ck_assert_uint_eq(gen->prev_resv, resv);
	ck_assert_uint_eq(gen->prev_nest, 1);
	ck_assert_uint_eq(gen->start, xvt_pos_roundup(&g, resv));

	/* The host: up to prev_commit, salvage to prev_resv, then on from start. */
	u.base = base;
	u.g = g;
	xvt_writer_init(&u.w, base, &g, 0);
	attach_reader(&r, 0);
	recs.count = 0;
	ut_peek(&u, &r, gen->prev_commit, &recs);
	ck_assert_uint_eq(ut_salvage(&u, r, gen->prev_resv, &recs), resv);
	ck_assert_uint_eq(ut_events(&recs, e, UT_RECS_MAX), 2);
	ck_assert(e[0]->number == 1 && e[1]->number == 3);
	for (i = 0; recs.rec[i].kind != XVT_REC_INFLIGHT; i++)
		ck_assert_uint_lt(i, recs.count);
	xvt_reader_init(&r, &g, gen->start);
	recs.count = 0;
	ut_peek(&u, &r, ctl(0)->commit, &recs);
	ck_assert_uint_eq(ut_events(&recs, e, UT_RECS_MAX), 1);
	ck_assert_uint_eq(e[0]->number, 9);
}
END_TEST

START_TEST(ring_of_a_living_process_is_never_taken)
{
	int up[2], down[2], status;
	uint32_t claims[RINGS], i;
	char c = 0;
	pid_t pid;

	ck_assert_int_eq(pipe(up) | pipe(down), 0);
	pid = fork();
	if (!pid) {
		pthread_t t;

		close(up[0]);
		close(down[1]);
		if (xvt_open(path, 0))
			_exit(1);
		pthread_barrier_init(&all_in, NULL, RINGS);
		for (i = 0; i < RINGS - 1; i++)
			pthread_create(&t, NULL, wait_for_the_end, NULL);
		pthread_barrier_wait(&all_in);
		if (xvt_thread_attach() || write(up[1], "x", 1) != 1)
			_exit(2);
		_exit(read(down[0], &c, 1) != 0); /* until the test closes or dies */
	}
	close(up[1]);
	close(down[0]);
	ck_assert_int_eq(read(up[0], &c, 1), 1);
	for (i = 0; i < RINGS; i++)
		claims[i] = ctl(i)->claims;
	open_region(0);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), -EUSERS);
	/* Neither does a PID that lies make it dead: the lock decides too. */
	ctl(1)->pid = 0x3ffffff;
	ck_assert_int_eq(xvt_thread_attach(), -EUSERS);
	for (i = 0; i < RINGS; i++)
		ck_assert_uint_eq(ctl(i)->claims, claims[i]);
	close(down[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	/* It ended in good order as far as the rings know: at rest, so nothing is skipped. */
	ck_assert_int_eq(xvt_thread_attach(), 0);
	ck_assert_uint_eq(ctl(0)->claims, claims[0] + 1);
	ck_assert_uint_eq(ctl(0)->generation, 1);
}
END_TEST

START_TEST(child_of_a_fork_does_not_write_its_parents_ring)
{
	int status;
	pid_t pid;

	open_region(0);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), 0);
	pid = fork();
	if (!pid) {
		int err = xvt_event(XVT_USER_ID, "b", 1);

		xvt_close();
		_exit(err == -ENOTCONN ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(ctl(0)->attempted, 1);
	ck_assert_uint_eq(ctl(0)->state, XVT_RING_ONLINE);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "c", 1), 0);
	ck_assert_uint_eq(ctl(0)->attempted, 2);
}
END_TEST

START_TEST(helper_answers_the_hosts_clock_requests)
{
	uint64_t i, before, after;

	open_region(0);
	ck_assert_int_eq(xvt_thread_attach(), 0);
	for (i = 1; i <= 200; i++) {
		xvt_store(&host(0)->request_more, 200 - i);
		before = xvt_clock_read_ordered();
		xvt_store_release(&host(0)->request_seq, i);
		while (xvt_load_acquire(&ctl(0)->answer_seq) != i)
			xvt_relax(); /* the case's time limit ends this */
		after = xvt_clock_read_ordered();
		ut_assert(ctl(0)->answer_clock >= before && ctl(0)->answer_clock <= after);
	}
}
END_TEST

/* Programs of another boot had the region, and one of them a ring. */
static void leave_to_other_boot(void)
{
	static const uint8_t other[16] = { 1, 2, 3 };
	const struct xvt_layout l = { .kind = XVT_KIND_USER };

	xvt_region_new_generation(base, &g, &l, other);
	ctl(0)->type = XVT_RING_THREAD;
	ctl(0)->pid = 1;
	ctl(0)->state = XVT_RING_ONLINE;
}

static void *answer_claim(void *arg)
{
	while (!xvt_claim_answer(arg))
		xvt_relax(); /* the case's time limit ends this */
	return NULL;
}

START_TEST(region_that_another_machine_writes_is_refused)
{
	pthread_t other;

	leave_to_other_boot();
	ck_assert_int_eq(pthread_create(&other, NULL, answer_claim, base), 0);
	ck_assert_int_eq(xvt_open(path, 0), -EBUSY);
	ck_assert_ptr_nonnull(strstr(xvt_error(), "another machine"));
	pthread_join(other, NULL);
	ck_assert_uint_eq(header()->claim & 1, 1);
	ck_assert_uint_eq(header()->generation, 1);
}
END_TEST

START_TEST(region_that_another_boot_left_is_taken)
{
	leave_to_other_boot();
	open_region(0);
	ck_assert_uint_eq(header()->claim, 0);
	ck_assert_uint_eq(header()->generation, 2);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), 0);
	ck_assert_uint_eq(ctl(0)->pid, (uint32_t)getpid());
	xvt_close();
	open_region(0); /* of this boot now */
	ck_assert_uint_eq(header()->generation, 2);
}
END_TEST

/* The helper looks at all of its rings before it looks at a claim. */
static void wait_for_helper(uint64_t seq)
{
	xvt_store_release(&host(0)->request_seq, seq);
	while (xvt_load_acquire(&ctl(0)->answer_seq) != seq)
		xvt_relax();
}

START_TEST(helper_answers_a_claim_while_the_region_is_ours)
{
	uint32_t claim;

	open_region(0);
	ck_assert_int_eq(xvt_thread_attach(), 0);
	claim = xvt_claim_put(base, 0); /* also of a machine without luck */
	while (xvt_claim_stands(base, claim))
		xvt_relax();
	ck_assert_uint_eq(header()->claim, claim | 1);
	header()->boot_uuid[0] ^= 1; /* another machine has begun a generation */
	claim = xvt_claim_put(base, 77);
	wait_for_helper(1);
	wait_for_helper(2);
	ck_assert(xvt_claim_stands(base, claim));
}
END_TEST

START_TEST(statistics_count_from_the_claim)
{
	struct xvt_thread_stat stat;

	open_region(0);
	ck_assert_int_eq(xvt_thread_stat(&stat), -ENOTCONN);
	ck_assert_int_eq(in_new_thread(take_part), 0);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), 0);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, path, 1u << 30), -ENOSPC);
	ck_assert_int_eq(xvt_thread_stat(&stat), 0);
	ck_assert(stat.ring == 0 && stat.attempted == 2 && stat.lost == 1);
	ck_assert_uint_eq(ctl(0)->attempted, 3);
}
END_TEST

START_TEST(region_can_be_closed_and_opened_again)
{
	open_region(0);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), 0);
	xvt_close();
	ck_assert_uint_eq(ctl(0)->state, XVT_RING_OFFLINE);
	open_region(XVT_NO_HELPER);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), 0);
	ck_assert_int_eq(in_new_thread(take_part), 0);
	ck_assert_uint_eq(ctl(1)->attempted + ctl(0)->attempted, 3);
	ck_assert_uint_eq(header()->generation, 1);
}
END_TEST

/*
 * A file that is shortened, and locks that another process keeps.
 */

static volatile sig_atomic_t seen_bus;

static void count_bus(int sig)
{
	(void)sig;
	seen_bus++;
}

/* In a child: what a signal ends is the child. Returns its status. */
static int status_of(void (*f)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		f();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void write_to_cut_file(unsigned int flags, off_t size)
{
	struct xvt_thread_stat stat;
	uint32_t i;

	if (xvt_open(path, flags) || xvt_event(XVT_USER_ID, "a", 1))
		_exit(1);
	if (truncate(path, size))
		_exit(2);
	for (i = 1; i <= 1000; i++)
		if (xvt_event(XVT_USER_ID, "a", 1) != -EIO || xvt_ringless() != i)
			_exit(3);
	if (xvt_enabled() || xvt_thread_attach() != -EIO || xvt_printf("b") != -EIO ||
	    in_new_thread(take_part) != -EIO || xvt_thread_stat(&stat) != -ENOTCONN)
		_exit(4);
	xvt_close();
}

static void event_to_cut_file(void)
{
	write_to_cut_file(XVT_NO_HELPER, 0);
}

static void event_beside_helper(void)
{
	write_to_cut_file(0, 0);
}

static void event_to_file_without_data(void)
{
	/* Control blocks are there: the access that fails is in the middle of an event. */
	write_to_cut_file(XVT_NO_HELPER, (off_t)g.data_off);
}

static void claim_in_cut_file(void)
{
	if (xvt_open(path, XVT_NO_HELPER) || truncate(path, 0))
		_exit(1);
	/* With signals blocked. */
	if (xvt_thread_attach() != -EIO || xvt_event(XVT_USER_ID, "a", 1) != -EIO)
		_exit(3);
	xvt_close();
	/* A region of another file is as good as the first. */
	if (xvt_open(path, XVT_NO_HELPER) != -ENOSPC)
		_exit(4);
}

static void event_without_handler(void)
{
	write_to_cut_file(XVT_NO_HELPER | XVT_NO_SIGBUS, 0);
}

START_TEST(shortened_file_does_not_end_the_program)
{
	static void (*const program[])(void) = { event_to_cut_file, event_beside_helper,
						 event_to_file_without_data, claim_in_cut_file };
	int status = status_of(program[_i]);

	ck_assert_msg(!status, "status %#x", (unsigned int)status);
}
END_TEST

START_TEST(program_without_the_handler_gets_sigbus)
{
	int status = status_of(event_without_handler);

	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}
END_TEST

static void touch_other_mapping(void)
{
	volatile uint8_t *other;

	if (xvt_open(path, XVT_NO_HELPER))
		_exit(1);
	other = mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, open(path, O_RDONLY), 0);
	if (other == MAP_FAILED || truncate(path, 0))
		_exit(2);
	_exit(3 + other[0]);
}

START_TEST(other_sigbus_goes_where_it_went)
{
	struct sigaction sa = { .sa_handler = count_bus }, now;
	int status = status_of(touch_other_mapping);

	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	ck_assert_int_eq(truncate(path, 1 << 20), 0);
	ck_assert_int_eq(xvt_region_format(base,
					   &(struct xvt_layout){ .region_size = 1 << 20,
								 .ring_count = RINGS,
								 .enable = XVT_ENABLE_STOP },
					   &g),
			 0);
	ck_assert_int_eq(sigaction(SIGBUS, &sa, NULL), 0);
	open_region(0);
	seen_bus = 0;
	raise(SIGBUS);
	ck_assert_int_eq(seen_bus, 1);
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), 0);
	xvt_close();
	ck_assert_int_eq(sigaction(SIGBUS, NULL, &now), 0);
	ck_assert(now.sa_handler == count_bus);
	signal(SIGBUS, SIG_DFL);
}
END_TEST

/* Of this process, by a description of its own: OFD locks of two descriptions exclude each other.
 */
static int keep_lock(uint64_t off)
{
	struct flock f = { .l_type = F_WRLCK, .l_start = (off_t)off, .l_len = 1 };
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &f), 0);
	return fd;
}

START_TEST(lock_that_another_keeps_stops_nothing)
{
	const struct xvt_meta_hdr *m = (const void *)(base + g.meta_off);
	uint64_t before;
	int fd = keep_lock(0);

	ck_assert_int_eq(xvt_open(path, 0), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(xvt_error(), "lock"));
	close(fd);
	fd = keep_lock(g.meta_off);
	open_region(0);
	before = m->committed;
	ck_assert_int_eq(xvt_event(XVT_USER_ID, "a", 1), 0);
	ck_assert_uint_eq(m->committed, before);
	ck_assert_uint_eq(m->refused, 1);
	close(fd);
	ck_assert_int_eq(in_new_thread(take_part), 0);
	ck_assert_uint_gt(m->committed, before);
	ck_assert_uint_eq(m->refused, 1);
}
END_TEST

Suite *suite_user(void)
{
	Suite *s = suite_create("user");
	TCase *tc = tcase_create("library");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, first_opener_begins_a_generation_and_others_join);
	tcase_add_loop_test(tc, region_that_is_none_is_refused_with_a_reason, 0, 4);
	tcase_add_test(tc, device_that_a_driver_has_is_busy);
	tcase_add_test(tc, shortened_file_is_refused);
	tcase_add_test(tc, event_outside_the_rules_is_refused);
	tcase_add_test(tc, text_arrives_as_written);
	tcase_add_test(tc, each_thread_writes_its_own_ring);
	tcase_add_test(tc, ring_of_an_ended_thread_is_used_again_without_a_gap);
	tcase_add_test(tc, thread_without_a_ring_is_counted);
	tcase_add_test(tc, handlers_record_inside_interrupted_events);
	tcase_add_test(tc, ring_of_a_process_that_died_inside_an_event_is_taken_over);
	tcase_add_test(tc, ring_of_a_living_process_is_never_taken);
	tcase_add_test(tc, child_of_a_fork_does_not_write_its_parents_ring);
	tcase_add_test(tc, helper_answers_the_hosts_clock_requests);
	tcase_add_test(tc, region_that_another_machine_writes_is_refused);
	tcase_add_test(tc, region_that_another_boot_left_is_taken);
	tcase_add_test(tc, helper_answers_a_claim_while_the_region_is_ours);
	tcase_add_test(tc, statistics_count_from_the_claim);
	tcase_add_test(tc, region_can_be_closed_and_opened_again);
	tcase_add_loop_test(tc, shortened_file_does_not_end_the_program, 0, 4);
	tcase_add_test(tc, program_without_the_handler_gets_sigbus);
	tcase_add_test(tc, other_sigbus_goes_where_it_went);
	tcase_add_test(tc, lock_that_another_keeps_stops_nothing);
	suite_add_tcase(s, tc);
	return s;
}
