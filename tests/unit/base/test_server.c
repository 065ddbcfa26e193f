// SPDX-License-Identifier: GPL-2.0
/*
 * test_server.c - clients of base/server.h with limits other than those of the control socket
 * (test_control.c has these): requests with an end of their own, and clients that do nothing.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/server.h"
#include "base/socket.h"

#define PIECES	    16u
#define PIECE_BYTES (300u << 10) /* more than a socket takes at once */
#define CLIENTS	    8
#define IDLE	    3 /* tends */

static struct xvt_loop *loop;
static struct xvt_server *server;
static const char *path;
static int open_before;
static unsigned int pieces, forgotten;

static bool is_whole(const char *text)
{
	return strstr(text, "\n\n");
}

static void forget(void *more)
{
	ck_assert_ptr_eq(more, &forgotten);
	forgotten++;
}

static char *answer(void *arg, const char *request, struct xvt_server_at *at, size_t *len)
{
	ck_assert_ptr_eq(arg, &loop);
	ck_assert_str_eq(request, "one\ntwo\n\n");
	at->more = &forgotten;
	at->forget = forget;
	if (at->cursor == PIECES)
		return NULL;
	at->cursor++;
	pieces++;
	*len = PIECE_BYTES;
	return calloc(1, PIECE_BYTES);
}

static void setup(void)
{
	static const struct xvt_server_ops ops = { .whole = is_whole, .answer = answer };
	static const struct xvt_server_limits limits = { CLIENTS, CLIENTS, IDLE };
	struct xvt_listener listener;
	struct xvt_error why;

	pieces = forgotten = 0;
	open_before = open_descriptors();
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	path = scratch_path("server");
	ck_assert_int_eq(xvt_socket_listen(&listener, path, 0600, &why), 0);
	server = xvt_server_new(loop, &listener, &limits, &ops, &loop);
	ck_assert_ptr_nonnull(server);
}

static void teardown(void)
{
	xvt_server_close(server);
	xvt_loop_free(loop);
	ck_assert_int_eq(open_descriptors(), open_before);
}

/* Runs the loop until it has brought nothing for some turns. */
static void settle(void)
{
	unsigned int quiet = 0;

	while (quiet < 4) {
		const int n = xvt_loop_run(loop, 1000000);

		ck_assert_int_ge(n, 0);
		quiet = n ? 0 : quiet + 1;
	}
}

static int client(const char *request)
{
	struct xvt_error why;
	int sock = xvt_socket_connect(path, &why);

	ck_assert_msg(sock >= 0, "%s", why.text);
	ck_assert_int_eq(send(sock, request, strlen(request), 0), strlen(request));
	settle();
	return sock;
}

static bool is_closed(int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1 && p.revents & (POLLRDHUP | POLLHUP);
}

static void tend(unsigned int times)
{
	while (times--) {
		xvt_server_tend(server);
		settle();
	}
}

START_TEST(a_request_comes_in_time)
{
	int slow = client("one\n"), sock;

	tend(IDLE - 1);
	ck_assert(!is_closed(slow));
	/* Bytes of a request are no progress: one that never ends would keep its place. */
	ck_assert_int_eq(send(slow, "t", 1, 0), 1);
	settle();
	sock = client("one\ntwo\n\n");
	tend(1);
	ck_assert(is_closed(slow));
	ck_assert(!is_closed(sock));
	ck_assert_uint_ge(pieces, 1);
	close(slow);
	close(sock);
}
END_TEST

/* Reads some of an answer. */
static size_t read_some(int sock)
{
	static char some[PIECE_BYTES];
	ssize_t n = recv(sock, some, sizeof(some), MSG_DONTWAIT);

	ck_assert(n > 0 || (n < 0 && errno == EAGAIN));
	settle();
	return n > 0 ? (size_t)n : 0;
}

START_TEST(an_answer_that_goes_on_is_not_idle)
{
	int sock = client("one\ntwo\n\n"), i;

	for (i = 0; i < 4 * IDLE; i++) {
		ck_assert_uint_gt(read_some(sock), 0);
		tend(1);
		ck_assert(!is_closed(sock));
	}
	ck_assert_uint_lt(pieces, PIECES);
	tend(IDLE);
	ck_assert(is_closed(sock));
	ck_assert_uint_eq(forgotten, 1);
	close(sock);
}
END_TEST

START_TEST(the_oldest_makes_room)
{
	int sock[20], i;

	for (i = 0; i < 20; i++)
		sock[i] = client("one\n");
	for (i = 0; i < 20; i++) {
		ck_assert_int_eq(is_closed(sock[i]), i < 20 - CLIENTS);
		close(sock[i]);
	}
}
END_TEST

START_TEST(a_request_that_is_too_long_is_dropped)
{
	char text[2 * XVT_SERVER_REQUEST_MAX];
	int sock;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	sock = client(text);
	ck_assert(is_closed(sock));
	ck_assert_uint_eq(pieces, 0);
	close(sock);
}
END_TEST

Suite *server_suite(void)
{
	Suite *s = suite_create("server");
	TCase *tc = tcase_create("clients");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_request_comes_in_time);
	tcase_add_test(tc, an_answer_that_goes_on_is_not_idle);
	tcase_add_test(tc, the_oldest_makes_room);
	tcase_add_test(tc, a_request_that_is_too_long_is_dropped);
	suite_add_tcase(s, tc);
	return s;
}
