// SPDX-License-Identifier: GPL-2.0
/*
 * test_doorbell.c - the doorbell against a server that says what the test wants it to say, and our
 * own server against peers that do what the test wants. Whatever they do, no descriptor is left.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vmm/doorbell.h"
#include "vmm/doorbell_server.h"
#include "vmm/doorbell_wire.h"
#include "base/loop.h"
#include "base/socket.h"

#define OURS 7

static struct xvt_loop *loop;
static struct xvt_doorbell *bell;
static struct xvt_listener listener;
static int region, server = -1, open_before;
static char told[256];
static unsigned int nr_told;

static void on_note(void *arg, const char *text)
{
	ck_assert_ptr_eq(arg, told);
	snprintf(told, sizeof(told), "%s", text);
	nr_told++;
}

static int new_region(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	return fd;
}

static void begin(void)
{
	nr_told = 0;
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	region = new_region("region");
}

static void setup(void)
{
	struct xvt_error why;

	begin();
	unlink(scratch_path("bell"));
	ck_assert_int_eq(xvt_socket_listen(&listener, scratch_path("bell"), 0, &why), 0);
	open_before = open_descriptors();
	ck_assert_int_eq(
		xvt_doorbell_open(&bell, loop, scratch_path("bell"), region, on_note, told, &why),
		0);
	server = accept(listener.fd, NULL, NULL);
	ck_assert_int_ge(server, 0);
}

static void hang_up(void)
{
	if (server >= 0)
		close(server);
	server = -1;
}

static void teardown(void)
{
	xvt_doorbell_close(bell);
	hang_up();
	ck_assert_int_eq(open_descriptors(), open_before);
	xvt_socket_unlisten(&listener);
	close(region);
	xvt_loop_free(loop);
}

/* The descriptor is the other side's from then on. */
static void say(int64_t number, int fd)
{
	ck_assert_int_eq(xvt_wire_send(server, number, fd), 0);
	if (fd >= 0)
		close(fd);
}

/* Until all that was said has been read: by then it has been acted upon, or is about to be. */
static void settle(void)
{
	ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 0);
	while (xvt_loop_run(loop, 0) > 0)
		;
}

static void greet(void)
{
	say(XVT_WIRE_VERSION, -1);
	say(OURS, -1);
	say(XVT_WIRE_MEMORY, dup(region));
}

static bool ready(void)
{
	uint32_t target;

	return xvt_doorbell_ready(bell, &target);
}

START_TEST(a_ring_wakes_its_waiter)
{
	int ours = eventfd(0, EFD_CLOEXEC);
	uint32_t target;

	greet();
	say(3, eventfd(0, EFD_CLOEXEC)); /* of another peer */
	settle();
	ck_assert(!ready());
	say(OURS, dup(ours));
	say(OURS, eventfd(0, EFD_CLOEXEC)); /* a second vector */
	settle();
	ck_assert(xvt_doorbell_ready(bell, &target));
	ck_assert_uint_eq(target, OURS << 16);
	/* It was a bell that blocks: it must not block us. */
	ck_assert_uint_eq(xvt_doorbell_take(bell), 0);
	xvt_doorbell_arm(bell);
	eventfd_write(ours, 1);
	eventfd_write(ours, 1);
	ck_assert_int_ge(xvt_loop_run(loop, 3600000000000u), 1);
	ck_assert_uint_eq(xvt_doorbell_take(bell), 2);
	ck_assert_uint_eq(xvt_doorbell_take(bell), 0);
	/* It is not waited for now, and then it is. */
	eventfd_write(ours, 1);
	ck_assert_int_eq(xvt_loop_run(loop, 0), 0);
	xvt_doorbell_arm(bell);
	ck_assert_int_ge(xvt_loop_run(loop, 3600000000000u), 1);
	ck_assert_uint_eq(nr_told, 0);
	close(ours);
}
END_TEST

START_TEST(a_bell_outlives_its_server)
{
	int ours = eventfd(0, EFD_CLOEXEC);

	greet();
	say(OURS, dup(ours));
	hang_up();
	settle();
	ck_assert_uint_eq(nr_told, 1);
	ck_assert_ptr_nonnull(strstr(told, "has ended"));
	ck_assert(ready());
	eventfd_write(ours, 1);
	ck_assert_uint_eq(xvt_doorbell_take(bell), 1);
	close(ours);
}
END_TEST

START_TEST(peers_that_come_and_go_leave_nothing)
{
	int i, before;

	greet();
	say(OURS, eventfd(0, EFD_CLOEXEC));
	settle();
	before = open_descriptors();
	for (i = 0; i < 5000; i++) {
		say(i % 50 + 100, i % 3 ? eventfd(0, EFD_CLOEXEC) : -1);
		while (xvt_loop_run(loop, 0) > 0)
			;
	}
	ck_assert_int_eq(open_descriptors(), before);
	ck_assert(ready());
	ck_assert_uint_eq(nr_told, 0);
}
END_TEST

/* A server that sends without end would keep the recorder from all else. */
START_TEST(a_flood_ends_the_connection)
{
	int i;

	greet();
	say(OURS, eventfd(0, EFD_CLOEXEC));
	settle();
	ck_assert(ready());
	for (i = 0; i < 1000000 && ready(); i++) {
		if (xvt_wire_send(server, 100, -1))
			break; /* it has hung up */
		while (xvt_loop_run(loop, 0) > 0)
			;
	}
	settle();
	ck_assert(!ready());
	ck_assert_uint_eq(nr_told, 1);
}
END_TEST

/* The server has the same open file, and may have a read of it wait. */
START_TEST(a_bell_that_would_wait_is_not_waited_for)
{
	const int fd = eventfd(0, EFD_CLOEXEC), theirs = dup(fd);

	greet();
	say(OURS, fd);
	settle();
	ck_assert(ready());
	ck_assert_int_eq(fcntl(theirs, F_SETFL, fcntl(theirs, F_GETFL) & ~O_NONBLOCK), 0);
	ck_assert_uint_eq(xvt_doorbell_take(bell), 0);
	ck_assert_int_eq(eventfd_write(theirs, 3), 0);
	ck_assert_uint_eq(xvt_doorbell_take(bell), 3);
	close(theirs);
}
END_TEST

static void two_descriptors(void)
{
	int fds[2] = { eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC) };
	int64_t number = OURS;
	struct iovec iov = { &number, sizeof(number) };
	union {
		struct cmsghdr first;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control = { .bytes = { 0 } };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };

	control.first.cmsg_level = SOL_SOCKET;
	control.first.cmsg_type = SCM_RIGHTS;
	control.first.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.first), fds, sizeof(fds));
	ck_assert_int_eq(sendmsg(server, &m, MSG_NOSIGNAL), sizeof(number));
	close(fds[0]);
	close(fds[1]);
}

static int half_a_message(void)
{
	return send(server, "\007\0\0", 3, MSG_NOSIGNAL) == 3 ? 0 : -1;
}

/* What a server could say that is none, or none of this region; and what we say of it. */
static const struct bad {
	unsigned int honest; /* messages before it */
	int64_t number;
	enum { NOTHING, BELL, PIPE, OTHER_FILE, TWO, HALF, END } with;
	const char *words;
} bad[] = {
	{ 0, 1, NOTHING, "another protocol" },
	{ 0, -1, NOTHING, "another protocol" },
	{ 0, 0, BELL, "another protocol" },
	{ 0, 0, HALF, "closed before" },
	{ 0, 0, END, "closed before" },
	{ 1, -1, NOTHING, "number that no peer has" },
	{ 1, 65536, NOTHING, "number that no peer has" },
	{ 1, INT64_MIN, NOTHING, "number that no peer has" },
	{ 1, 5, BELL, "number that no peer has" },
	{ 1, 0, END, "closed before" },
	{ 2, -1, NOTHING, "no memory" },
	{ 2, OURS, BELL, "no memory" },
	{ 2, -1, OTHER_FILE, "another file" },
	{ 2, -1, PIPE, "another file" },
	{ 2, 0, END, "closed before" },
	{ 3, -1, BELL, "cannot be" },
	{ 3, INT64_MAX, BELL, "cannot be" },
	{ 3, OURS, NOTHING, "cannot be" },
	{ 3, OURS, PIPE, "none" },
	{ 3, OURS, OTHER_FILE, "none" },
	{ 3, OURS, TWO, "rotocol" },
	{ 3, 0, HALF, "closed before" },
	{ 3, 0, END, "closed before" },
	{ 4, 65536, BELL, "cannot be" }, /* it was a bell until then */
	{ 4, OURS, NOTHING, "cannot be" },
};

static int bad_descriptor(const struct bad *b)
{
	int fds[2];

	switch (b->with) {
	case BELL:
		return eventfd(0, EFD_CLOEXEC);
	case PIPE:
		ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
		close(fds[1]);
		return fds[0];
	case OTHER_FILE:
		return new_region("another");
	default:
		return -1;
	}
}

START_TEST(nonsense_is_told_and_leaves_no_bell)
{
	const struct bad *b = &bad[_i];

	if (b->honest > 0)
		say(XVT_WIRE_VERSION, -1);
	if (b->honest > 1)
		say(OURS, -1);
	if (b->honest > 2)
		say(XVT_WIRE_MEMORY, dup(region));
	if (b->honest > 3) {
		say(OURS, eventfd(0, EFD_CLOEXEC));
		settle();
		ck_assert(ready());
		xvt_doorbell_arm(bell);
	}
	if (b->with == TWO)
		two_descriptors();
	else if (b->with == HALF)
		ck_assert_int_eq(half_a_message(), 0);
	else if (b->with != END)
		say(b->number, bad_descriptor(b));
	if (b->with == HALF || b->with == END)
		hang_up();
	settle();
	ck_assert_uint_eq(nr_told, 1);
	ck_assert_msg(strstr(told, b->words), "\"%s\" is not \"%s\"", told, b->words);
	ck_assert(!ready());
	ck_assert_uint_eq(xvt_doorbell_take(bell), 0);
	xvt_doorbell_arm(bell); /* nothing */
	/* Nothing more is read from it: nothing more is told, nothing more is left. */
	if (server >= 0 && !xvt_wire_send(server, 0, region))
		while (xvt_loop_run(loop, 0) > 0)
			;
	ck_assert_uint_eq(nr_told, 1);
}
END_TEST

START_TEST(a_socket_that_is_missing_is_an_error)
{
	struct xvt_doorbell *none = NULL;
	char longer[200];
	struct xvt_error why;

	begin();
	ck_assert_int_eq(
		xvt_doorbell_open(&none, loop, scratch_path("nobody"), region, on_note, told, &why),
		-ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "region serve"));
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	ck_assert_int_eq(xvt_doorbell_open(&none, loop, longer, region, on_note, told, &why),
			 -ENAMETOOLONG);
	ck_assert_ptr_null(none);
	close(region);
	xvt_loop_free(loop);
}
END_TEST

/* ------------------------------------------------------------------ our own server */

#define VECTORS 2

static struct xvt_doorbell_server *own;

/* A peer by hand. */
struct hand {
	int sock;
	struct xvt_wire wire;
	int64_t number;
	int memory;
};

static void serve(void)
{
	struct xvt_error why;

	begin();
	unlink(scratch_path("own"));
	open_before = open_descriptors();
	ck_assert_int_eq(
		xvt_doorbell_server_open(&own, loop, scratch_path("own"), region, VECTORS, &why),
		0);
}

static void unserve(void)
{
	xvt_doorbell_server_close(own);
	ck_assert_int_eq(access(scratch_path("own"), F_OK), -1);
	ck_assert_int_eq(open_descriptors(), open_before);
	close(region);
	xvt_loop_free(loop);
}

static int hand_receive(struct hand *h, int64_t *number, int *fd)
{
	int got;

	while (!(got = xvt_wire_receive(h->sock, &h->wire, number, fd)))
		ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 0);
	return got;
}

/* The next message must be that one. Returns its descriptor. */
static int expect(struct hand *h, int64_t want, bool with)
{
	int64_t number;
	int fd = -1;

	ck_assert_int_eq(hand_receive(h, &number, &fd), 1);
	ck_assert_int_eq(number, want);
	ck_assert_int_eq(fd >= 0, with);
	return fd;
}

static void join(struct hand *h)
{
	struct xvt_error why;

	*h = (struct hand){ .wire.fd = -1 };
	h->sock = xvt_socket_connect(scratch_path("own"), &why);
	ck_assert_int_ge(h->sock, 0);
}

static void join_and_greet(struct hand *h, int64_t number)
{
	join(h);
	expect(h, XVT_WIRE_VERSION, false);
	expect(h, number, false);
	h->number = number;
	h->memory = expect(h, XVT_WIRE_MEMORY, true);
}

static void expect_bells(struct hand *h, int64_t of, int bells[VECTORS])
{
	unsigned int i;

	for (i = 0; i < VECTORS; i++)
		bells[i] = expect(h, of, true);
}

static void close_bells(int bells[VECTORS])
{
	unsigned int i;

	for (i = 0; i < VECTORS; i++)
		close(bells[i]);
}

static void leave(struct hand *h)
{
	close(h->sock);
	if (h->memory >= 0)
		close(h->memory);
}

START_TEST(peers_can_ring_each_other)
{
	int own_a[VECTORS], own_b[VECTORS], a_of_b[VECTORS], b_of_a[VECTORS];
	struct hand a, b, c;
	eventfd_t n;
	char byte = 'x';

	join_and_greet(&a, 0);
	expect_bells(&a, 0, own_a);
	ck_assert_int_eq(pwrite(region, "hello", 5, 0), 5);
	ck_assert_int_eq(pread(a.memory, &byte, 1, 4), 1);
	ck_assert_int_eq(byte, 'o');
	join_and_greet(&b, 1);
	expect_bells(&a, 1, b_of_a);
	expect_bells(&b, 0, a_of_b);
	expect_bells(&b, 1, own_b);
	eventfd_write(b_of_a[1], 1);
	ck_assert_int_eq(eventfd_read(own_b[1], &n), 0);
	ck_assert_int_eq(eventfd_read(own_b[0], &n), -1);
	eventfd_write(a_of_b[0], 1);
	ck_assert_int_eq(eventfd_read(own_a[0], &n), 0);
	/* One that goes is told, and so is one that talks; no number comes again soon. */
	leave(&a);
	expect(&b, 0, false);
	join(&c);
	ck_assert_int_eq(write(c.sock, "hello", 5), 5);
	expect(&c, XVT_WIRE_VERSION, false);
	expect(&c, 2, false);
	c.memory = expect(&c, XVT_WIRE_MEMORY, true);
	close_bells(own_a);
	expect_bells(&b, 2, own_a);
	expect(&b, 2, false);
	leave(&c);
	leave(&b);
	close_bells(own_a);
	close_bells(own_b);
	close_bells(a_of_b);
	close_bells(b_of_a);
}
END_TEST

/*
 * Reads what there is, until `last` has come with all its bells. Returns how many messages; counts
 * those of a peer that is already there, or that is said to have gone and was never there.
 */
static unsigned int read_until(struct hand *h, int64_t last, unsigned int *wrong)
{
	static unsigned int bells[XVT_WIRE_PEER_MAX + 1];
	unsigned int n = 0;
	int64_t number;
	int fd = -1;

	memset(bells, 0, sizeof(bells));
	*wrong = 0;
	while (bells[last] < VECTORS) {
		ck_assert_int_eq(hand_receive(h, &number, &fd), 1);
		ck_assert(number >= 0 && number <= XVT_WIRE_PEER_MAX);
		n++;
		if (fd < 0) {
			*wrong += !bells[number];
			bells[number] = 0;
			continue;
		}
		close(fd);
		*wrong += ++bells[number] > VECTORS;
	}
	return n;
}

/* A peer that does not read (a QEMU that is stopped) stays, whatever the others do. */
START_TEST(peer_is_not_dropped_for_what_others_do)
{
	struct hand slow, h;
	unsigned int wrong, n;
	int bells[VECTORS], i;

	join_and_greet(&slow, 0);
	expect_bells(&slow, 0, bells);
	close_bells(bells);
	/* Each one that comes and goes is something to be said. */
	for (i = 1; i < 5000; i++) {
		join_and_greet(&h, i);
		expect_bells(&h, 0, bells);
		close_bells(bells);
		leave(&h);
	}
	join_and_greet(&h, i);
	expect_bells(&h, 0, bells);
	close_bells(bells);
	n = read_until(&slow, i, &wrong);
	ck_assert_uint_lt(n, 5000);
	ck_assert_uint_eq(wrong, 0);
	leave(&slow);
	expect_bells(&h, i, bells);
	close_bells(bells);
	expect(&h, 0, false);
	leave(&h);
}
END_TEST

#define FIRST 64

/* Numbers have 16 bits. A peer keeps its number, and one that another peer still believes to be
 * there is not given to a third. */
START_TEST(number_in_use_is_not_given_again)
{
	unsigned int i, given[FIRST] = { 0 };
	bool believed[FIRST] = { false };
	struct hand slow, h;
	int64_t number;
	int fd = -1;

	join_and_greet(&slow, 0);
	for (i = 0; i < XVT_WIRE_PEER_MAX + FIRST; i++) {
		join(&h);
		expect(&h, XVT_WIRE_VERSION, false);
		ck_assert_int_eq(hand_receive(&h, &number, &fd), 1);
		if (number < FIRST)
			given[number]++;
		close(h.sock);
	}
	/* What was sent to the slow one, before there was no room. */
	while (xvt_wire_receive(slow.sock, &slow.wire, &number, &fd) == 1) {
		ck_assert_int_lt(number, FIRST - 1);
		believed[number] = fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	ck_assert_uint_eq(given[0], 0);
	for (i = 1; i < FIRST - 1; i++)
		ck_assert_uint_eq(given[i], believed[i] ? 1 : 2);
	leave(&slow);
}
END_TEST

START_TEST(there_are_only_so_many_places)
{
	struct hand h[XVT_SERVER_PEERS], one_more;
	int64_t number;
	unsigned int i;
	int fd = -1;

	for (i = 0; i < XVT_SERVER_PEERS; i++)
		join_and_greet(&h[i], i);
	join(&one_more);
	ck_assert_int_eq(hand_receive(&one_more, &number, &fd), -EPIPE);
	close(one_more.sock);
	/* What was not read yet goes with the socket. */
	for (i = 0; i < XVT_SERVER_PEERS; i++)
		leave(&h[i]);
	while (xvt_loop_run(loop, 0) > 0)
		;
	join_and_greet(&one_more, XVT_SERVER_PEERS);
	leave(&one_more);
}
END_TEST

START_TEST(a_place_is_taken_once)
{
	struct xvt_doorbell_server *second;
	struct xvt_error why;
	FILE *f;

	ck_assert_int_eq(
		xvt_doorbell_server_open(&second, loop, scratch_path("own"), region, 1, &why),
		-EADDRINUSE);
	f = fopen(scratch_path("a-file"), "w");
	ck_assert_ptr_nonnull(f);
	fclose(f);
	ck_assert_int_eq(
		xvt_doorbell_server_open(&second, loop, scratch_path("a-file"), region, 1, &why),
		-EEXIST);
}
END_TEST

START_TEST(our_client_and_our_server)
{
	int bells[VECTORS], ours[VECTORS];
	struct xvt_doorbell *d;
	uint32_t target;
	struct hand guest;
	struct xvt_error why;

	join_and_greet(&guest, 0);
	expect_bells(&guest, 0, bells);
	ck_assert_int_eq(
		xvt_doorbell_open(&d, loop, scratch_path("own"), region, on_note, told, &why), 0);
	while (!xvt_doorbell_ready(d, &target))
		ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 0);
	ck_assert_uint_eq(target, 1u << 16);
	expect_bells(&guest, 1, ours);
	xvt_doorbell_arm(d);
	eventfd_write(ours[0], 1);
	ck_assert_int_ge(xvt_loop_run(loop, 3600000000000u), 1);
	ck_assert_uint_eq(xvt_doorbell_take(d), 1);
	xvt_doorbell_close(d);
	expect(&guest, 1, false);
	ck_assert_uint_eq(nr_told, 0);
	close_bells(bells);
	close_bells(ours);
	leave(&guest);
}
END_TEST

Suite *doorbell_suite(void)
{
	Suite *s = suite_create("doorbell");
	TCase *tc = tcase_create("client");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_ring_wakes_its_waiter);
	tcase_add_test(tc, a_bell_outlives_its_server);
	tcase_add_test(tc, peers_that_come_and_go_leave_nothing);
	tcase_add_test(tc, a_flood_ends_the_connection);
	tcase_add_test(tc, a_bell_that_would_wait_is_not_waited_for);
	tcase_add_loop_test(tc, nonsense_is_told_and_leaves_no_bell, 0,
			    sizeof(bad) / sizeof(bad[0]));
	suite_add_tcase(s, tc);
	tc = tcase_create("nobody");
	tcase_add_test(tc, a_socket_that_is_missing_is_an_error);
	suite_add_tcase(s, tc);
	tc = tcase_create("server");
	tcase_add_checked_fixture(tc, serve, unserve);
	tcase_add_test(tc, peers_can_ring_each_other);
	tcase_add_test(tc, peer_is_not_dropped_for_what_others_do);
	tcase_add_test(tc, number_in_use_is_not_given_again);
	tcase_add_test(tc, there_are_only_so_many_places);
	tcase_add_test(tc, a_place_is_taken_once);
	tcase_add_test(tc, our_client_and_our_server);
	suite_add_tcase(s, tc);
	return s;
}
