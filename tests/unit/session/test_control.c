// SPDX-License-Identifier: GPL-2.0
/*
 * test_control.c - the control socket: clients of every kind at a server whose answers the test
 * makes up. Whatever they do, the next one is answered and no descriptor is left.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/control.h"
#include "base/loop.h"
#include "trace/file_sink.h"
#include "base/socket.h"

#define PIECES	    12u
#define PIECE_BYTES (300u << 10) /* more than a socket takes at once */
#define CLIENTS	    16		 /* at a time */
#define FEW	    64		 /* descriptors */
#define ANSWER_MS   60000

static struct xvt_loop *loop;
static struct xvt_server *control;
static const char *path;
static int open_before;

static unsigned int acts, refused, pieces;
static bool act_takes_time;

/* "change" is for act(). "many": PIECES lines of PIECE_BYTES; else the line itself. */
static char *answer(void *arg, const char *line, struct xvt_server_at *at, size_t *len)
{
	const bool many = !strcmp(line, "many");
	char *text;

	if (!strcmp(line, "change") && !at->cursor) {
		*len = XVT_SERVER_LATER;
		return NULL;
	}
	pieces++;
	text = malloc(PIECE_BYTES);
	ck_assert_ptr_eq(arg, &loop);
	ck_assert_ptr_nonnull(text);
	if (at->cursor >= (many ? PIECES : 1)) {
		free(text);
		return NULL;
	}
	*len = many ? PIECE_BYTES : (size_t)sprintf(text, "%s\n", line);
	if (many) {
		memset(text, 'a' + (int)at->cursor, PIECE_BYTES);
		text[PIECE_BYTES - 1] = '\n';
	}
	++at->cursor;
	return text;
}

static char *act(void *arg, const char *line, const struct xvt_server_peer *peer,
		 struct xvt_server_at *at, size_t *len)
{
	const bool first = !at->cursor;

	ck_assert_ptr_eq(arg, &loop);
	ck_assert_str_eq(line, "change");
	at->cursor = 1;
	acts += first && peer->permitted;
	refused += !peer->permitted;
	if (first && act_takes_time)
		return NULL;
	*len = strlen("change\n");
	return strdup("change\n");
}

static const struct xvt_server_ops ops = { .answer = answer, .act = act };

static void setup(void)
{
	struct xvt_error why;

	acts = refused = pieces = 0;
	act_takes_time = false;

	open_before = open_descriptors();
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	path = scratch_path("control");
	ck_assert_int_eq(xvt_control_open(&control, loop, path, &ops, &loop, &why), 0);
	ck_assert_str_eq(xvt_server_listener(control)->path, path);
}

static void teardown(void)
{
	struct stat st;

	xvt_server_close(control);
	xvt_loop_free(loop);
	ck_assert_int_eq(stat(path, &st), -1);
	ck_assert_int_eq(open_descriptors(), open_before);
}

/* --- a client of its own thread, while this one is the recorder --- */

struct asker {
	pthread_t thread;
	const char *line;
	int result;
	bool done;
	size_t lines;
	size_t bytes;
	bool wrong;
	struct xvt_error why;
};

static int on_line(void *arg, const char *line, size_t len)
{
	struct asker *a = arg;

	if (!strcmp(a->line, "many"))
		a->wrong |= len != PIECE_BYTES - 1 || line[0] != 'a' + (int)a->lines ||
			    line[len - 1] != line[0];
	else
		a->wrong |= strcmp(line, a->line) != 0;
	a->lines++;
	a->bytes += len;
	return 0;
}

static void *ask(void *arg)
{
	struct asker *a = arg;

	a->result = xvt_control_ask(path, a->line, ANSWER_MS, on_line, a, &a->why);
	__atomic_store_n(&a->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void begin(struct asker *a, const char *line)
{
	*a = (struct asker){ .line = line };
	ck_assert_int_eq(pthread_create(&a->thread, NULL, ask, a), 0);
}

static void serve(const struct asker *a)
{
	while (!__atomic_load_n(&a->done, __ATOMIC_ACQUIRE)) {
		ck_assert_int_ge(xvt_loop_run(loop, 1000000), 0);
		xvt_server_serve(control);
	}
	ck_assert_int_eq(pthread_join(a->thread, NULL), 0);
}

static void ask_and_serve(const char *line, size_t lines)
{
	struct asker a;

	begin(&a, line);
	serve(&a);
	ck_assert_msg(!a.result, "%s", a.why.text);
	ck_assert_uint_eq(a.lines, lines);
	ck_assert(!a.wrong);
}

START_TEST(an_answer_has_any_length)
{
	ask_and_serve("hello", 1);
	ask_and_serve("many", PIECES);
	ask_and_serve("hello", 1);
}
END_TEST

static int connect_raw(void)
{
	struct xvt_error why;
	int sock = xvt_socket_connect(path, &why);

	ck_assert_msg(sock >= 0, "%s", why.text);
	return sock;
}

/* Runs the loop until the server has closed the socket; what it says before is thrown away. */
static void until_closed(int sock)
{
	char some[4096];
	ssize_t n;

	do {
		ck_assert_int_ge(xvt_loop_run(loop, 1000000), 0);
		n = recv(sock, some, sizeof(some), MSG_DONTWAIT);
	} while (n > 0 || (n < 0 && errno == EAGAIN));
	close(sock);
}

START_TEST(a_client_that_reads_nothing_makes_room)
{
	int sock[CLIENTS], i;

	for (i = 0; i < CLIENTS; i++) {
		sock[i] = connect_raw();
		ck_assert_int_eq(send(sock[i], "many\n", 5, 0), 5);
		ck_assert_int_ge(xvt_loop_run(loop, 1000000), 0);
		ck_assert_int_ge(xvt_loop_run(loop, 1000000), 0);
	}
	/* They stand still for two seconds of the recorder's. */
	xvt_server_tend(control);
	xvt_server_tend(control);
	ask_and_serve("many", PIECES);
	ask_and_serve("hello", 1);
	/* The eldest made room; the others still wait for a reader. */
	until_closed(sock[0]);
	for (i = 1; i < CLIENTS; i++) {
		struct pollfd p = { .fd = sock[i], .events = POLLIN | POLLRDHUP };

		ck_assert_int_eq(poll(&p, 1, 0), 1);
		ck_assert(!(p.revents & (POLLRDHUP | POLLHUP)));
		close(sock[i]);
	}
	ask_and_serve("hello", 1);
}
END_TEST

START_TEST(a_client_that_sends_too_much_is_dropped)
{
	char text[2 * XVT_SERVER_REQUEST_MAX];
	int sock = connect_raw();

	memset(text, 'x', sizeof(text));
	ck_assert_int_eq(send(sock, text, sizeof(text), 0), sizeof(text));
	until_closed(sock);
	ask_and_serve("hello", 1);
}
END_TEST

/* A client comes for which there is no descriptor: that must not wake the recorder for ever. */
START_TEST(a_client_without_a_descriptor_is_refused)
{
	struct rlimit limit, few;
	int sock = connect_raw(), taken[FEW], i, n = 0;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = FEW;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (n < FEW && (taken[n] = dup(sock)) >= 0)
		n++;
	for (i = 0; i < 4; i++)
		ck_assert_int_ge(xvt_loop_run(loop, 0), 0);
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(xvt_loop_run(loop, 0), 0);
	while (n)
		close(taken[--n]);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	until_closed(sock);
	ask_and_serve("hello", 1);
}
END_TEST

START_TEST(a_client_gone_in_the_middle_leaves_nothing)
{
	int sock = connect_raw(), i;

	ck_assert_int_eq(send(sock, "hel", 3, 0), 3);
	ck_assert_int_ge(xvt_loop_run(loop, 1000000), 0);
	close(sock);
	for (i = 0; i < 2 * CLIENTS; i++) {
		sock = connect_raw();
		ck_assert_int_eq(send(sock, "many\n", 5, 0), 5);
		ck_assert_int_ge(xvt_loop_run(loop, 1000000), 0);
		close(sock);
	}
	ask_and_serve("many", PIECES);
}
END_TEST

/* What a line is cut into is the network's business. */
START_TEST(a_line_comes_in_parts)
{
	const char *line = "hello\n";
	int sock = connect_raw();
	char got[16] = "";
	size_t len = 0;

	for (; *line; line++) {
		ck_assert_int_eq(send(sock, line, 1, 0), 1);
		ck_assert_int_ge(xvt_loop_run(loop, 1000000), 0);
	}
	while (len < 6) {
		ssize_t n = recv(sock, got + len, sizeof(got) - len, MSG_DONTWAIT);

		ck_assert(n != 0);
		len += n > 0 ? (size_t)n : 0;
		ck_assert_int_ge(xvt_loop_run(loop, 1000000), 0);
	}
	ck_assert_str_eq(got, "hello\n");
	until_closed(sock);
}
END_TEST

/* Runs the loop until clients have brought it nothing for some turns. Returns the most pieces that
 * were answered in one turn. */
static unsigned int settle(void)
{
	unsigned int most = 0, quiet = 0;

	while (quiet < 8) {
		const unsigned int before = pieces;
		const int n = xvt_loop_run(loop, 1000000);

		ck_assert_int_ge(n, 0);
		quiet = n ? 0 : quiet + 1;
		most = pieces - before > most ? pieces - before : most;
	}
	return most;
}

START_TEST(a_change_waits_for_the_pass)
{
	struct asker a;

	act_takes_time = true;
	begin(&a, "change");
	settle();
	ck_assert_uint_eq(acts, 0);
	ask_and_serve("hello", 1); /* which serves the change as well */
	serve(&a);
	ck_assert_msg(!a.result, "%s", a.why.text);
	ck_assert_uint_eq(a.lines, 1);
	ck_assert(!a.wrong);
	ck_assert_uint_eq(acts, 1);
}
END_TEST

/* A pass follows each turn of the loop, so what clients can cost in one turn delays it. */
START_TEST(clients_cost_a_bounded_part_of_a_pass)
{
	int sock[CLIENTS + 3], i; /* some wait for a place */
	unsigned int pass;

	for (i = 0; i < CLIENTS + 3; i++) {
		sock[i] = connect_raw();
		ck_assert_int_ge(send(sock[i], i % 3 ? "change\n" : "many\n", i % 3 ? 7 : 5, 0), 5);
		settle();
	}
	ck_assert_uint_le(settle(), CLIENTS);
	ck_assert_uint_eq(acts, 0);
	for (pass = 1; pass <= CLIENTS; pass++) {
		unsigned int before = acts;

		xvt_server_serve(control);
		ck_assert_uint_le(acts - before, 1);
		before = pieces;
		ck_assert_int_ge(xvt_loop_run(loop, 0), 0);
		ck_assert_uint_le(pieces - before, CLIENTS);
	}
	ck_assert_uint_gt(acts, CLIENTS / 2);
	ck_assert_uint_le(acts, CLIENTS);
	for (i = 0; i < CLIENTS + 3; i++)
		close(sock[i]);
	ask_and_serve("hello", 1);
}
END_TEST

/* Runs `work` as another user, while the loop serves. Returns its exit status; -1: not root. */
static int as_another_user(int (*work)(void))
{
	int status;
	pid_t child;

	if (geteuid()) {
		printf("skip: not root, so no other user can be\n");
		return -1;
	}
	ck_assert_int_eq(chmod(path, 0666), 0);
	ck_assert_int_eq(chmod(scratch(), 0755), 0);
	child = fork();
	if (!child)
		_exit(setgid(65534) || setuid(65534) ? 3 : work());
	while (waitpid(child, &status, WNOHANG) == 0) {
		ck_assert_int_ge(xvt_loop_run(loop, 1000000), 0);
		xvt_server_serve(control);
	}
	ck_assert_int_eq(chmod(scratch(), 0700), 0);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int look_and_change(void)
{
	struct asker look = { .line = "hello" }, change = { .line = "change" };

	ask(&look);
	ask(&change);
	return look.result || look.lines != 1 || change.result || change.lines != 1;
}

/* The socket's mode says who may look; root and the recorder's user may change something. */
START_TEST(others_may_look_and_change_nothing)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	if (as_another_user(look_and_change) < 0)
		return;
	ck_assert_uint_eq(acts, 0);
	ck_assert_uint_eq(refused, 1);
	ask_and_serve("change", 1);
	ck_assert_uint_eq(acts, 1);
}
END_TEST

/* Fills all places it can get, and holds them. */
static int crowd(void)
{
	char byte;
	struct xvt_error why;
	int first = -1, i;

	for (i = 0; i < CLIENTS; i++) {
		int sock = xvt_socket_connect(path, &why);

		while (sock == -EAGAIN) /* the backlog is full until the loop has run */
			sock = xvt_socket_connect(path, &why);
		if (sock < 0 || send(sock, "x", 1, 0) != 1)
			return 1;
		first = first < 0 ? sock : first;
	}
	/* The first one had to go: the last one's request is read. */
	while (recv(first, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		;
	return 0;
}

START_TEST(others_do_not_push_out_those_who_may)
{
	int sock[CLIENTS / 2], i;

	for (i = 0; i < CLIENTS / 2; i++) {
		sock[i] = connect_raw();
		settle();
	}
	if (as_another_user(crowd) > 0)
		ck_abort_msg("the other user's clients failed");
	settle();
	for (i = 0; i < CLIENTS / 2; i++) {
		struct pollfd p = { .fd = sock[i], .events = POLLIN | POLLRDHUP };

		ck_assert_int_eq(poll(&p, 1, 0), 0);
		close(sock[i]);
	}
}
END_TEST

/* --- while the recorder waits for the disk --- */

struct drainer {
	struct asker a;
	int pipe;
	size_t drained;
};

/* Asks first, and only then reads what the sink waits to get rid of. */
static void *ask_then_drain(void *arg)
{
	struct drainer *d = arg;
	char some[65536];
	ssize_t n;

	ask(&d->a);
	while ((n = read(d->pipe, some, sizeof(some))) > 0)
		d->drained += (size_t)n;
	return NULL;
}

START_TEST(it_answers_while_the_sink_waits)
{
	const size_t all = 16u << 20; /* more than its buffers and the pipe hold */
	struct drainer d = { .a.line = "hello" };
	struct xvt_file_sink *sink;
	pthread_t thread;
	size_t at;
	char *block = calloc(1, 1u << 20);
	const char *fifo = scratch_path("fifo");

	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	d.pipe = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(d.pipe, 0);
	ck_assert_int_eq(fcntl(d.pipe, F_SETFL, 0), 0);
	ck_assert_int_eq(xvt_file_sink_new(&sink, loop, fifo, false), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, ask_then_drain, &d), 0);
	for (at = 0; at < all; at += 1u << 20)
		ck_assert_int_eq(
			xvt_file_sink_base(sink)->write(xvt_file_sink_base(sink), block, 1u << 20),
			0);
	ck_assert_uint_gt(xvt_file_sink_base(sink)->waited_ns(xvt_file_sink_base(sink)), 0);
	ck_assert_int_eq(xvt_file_sink_close(sink), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_msg(!d.a.result, "%s", d.a.why.text);
	ck_assert_uint_eq(d.a.lines, 1);
	ck_assert_uint_eq(d.drained, all);
	close(d.pipe);
	unlink(fifo);
	free(block);
}
END_TEST

/* --- where it listens --- */

static bool is_there(const char *name)
{
	struct stat st;

	return !lstat(name, &st);
}

/* As a killed program leaves it. */
static void leave_stale(const char *name)
{
	struct xvt_listener l;
	struct xvt_error why;

	ck_assert_int_eq(xvt_socket_listen(&l, name, 0, &why), 0);
	close(l.fd);
	close(l.spare);
	free(l.path);
}

static const char *in_run(const char *name)
{
	char path_there[64];

	snprintf(path_there, sizeof(path_there), "run/%s", name);
	return scratch_path(path_there);
}

START_TEST(what_killed_recorders_left_is_removed)
{
	static const char *const others[] = { "record-2", "record-3", "record-4.4", "somebody" };
	char own[32];
	struct xvt_error why;
	struct xvt_server *ours;
	struct xvt_listener live;
	unsigned int i;
	int fd;

	ck_assert_int_eq(setenv("XVTRACE_RUN_DIR", scratch_path("run"), 1), 0);
	ck_assert_int_eq(mkdir(scratch_path("run"), 0755), 0);
	leave_stale(in_run("record-1"));
	ck_assert_int_eq(xvt_socket_listen(&live, in_run("record-2"), 0, &why), 0);
	fd = open(in_run("record-3"), O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	leave_stale(in_run("record-4.4"));
	leave_stale(in_run("somebody"));
	ck_assert_int_eq(xvt_control_open(&ours, loop, NULL, &ops, &loop, &why), 0);
	ck_assert(!is_there(in_run("record-1")));
	snprintf(own, sizeof(own), "record-%d", (int)getpid());
	ck_assert_str_eq(xvt_server_listener(ours)->path, in_run(own));
	ck_assert(is_there(in_run(own)));
	xvt_server_close(ours);
	ck_assert(!is_there(in_run(own)));
	xvt_socket_unlisten(&live);
	ck_assert_int_eq(close(open(in_run("record-2"), O_CREAT | O_WRONLY, 0600)), 0);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_int_eq(unlink(in_run(others[i])), 0);
	ck_assert_int_eq(rmdir(scratch_path("run")), 0); /* nothing else was left in it */
	unsetenv("XVTRACE_RUN_DIR");
}
END_TEST

/* Another program has put its own there meanwhile. */
START_TEST(only_what_is_ours_is_removed)
{
	const char *name = scratch_path("mine");
	struct xvt_listener l, other;
	struct xvt_error why;
	int fd;

	ck_assert_int_eq(xvt_socket_listen(&l, name, 0, &why), 0);
	ck_assert_int_eq(unlink(name), 0);
	fd = open(name, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(xvt_socket_listen(&other, name, 0, &why), -EEXIST);
	ck_assert(is_there(name));
	ck_assert_int_eq(unlink(name), 0);
	leave_stale(name);
	xvt_socket_unlisten(&l);
	ck_assert(is_there(name));
	ck_assert_int_eq(unlink(name), 0);
}
END_TEST

START_TEST(a_place_is_taken_once)
{
	char long_path[256];
	struct xvt_error why;
	struct xvt_server *other;

	ck_assert_int_eq(xvt_control_open(&other, loop, path, &ops, &loop, &why), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(why.text, "already"));
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = 0;
	ck_assert_int_eq(xvt_control_open(&other, loop, long_path, &ops, &loop, &why),
			 -ENAMETOOLONG);
	ck_assert_ptr_nonnull(strstr(why.text, "bytes"));
	ask_and_serve("hello", 1);
}
END_TEST

Suite *control_suite(void)
{
	Suite *s = suite_create("control");
	TCase *tc = tcase_create("clients");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_answer_has_any_length);
	tcase_add_test(tc, a_client_that_reads_nothing_makes_room);
	tcase_add_test(tc, a_client_that_sends_too_much_is_dropped);
	tcase_add_test(tc, a_client_without_a_descriptor_is_refused);
	tcase_add_test(tc, a_client_gone_in_the_middle_leaves_nothing);
	tcase_add_test(tc, a_line_comes_in_parts);
	tcase_add_test(tc, a_change_waits_for_the_pass);
	tcase_add_test(tc, clients_cost_a_bounded_part_of_a_pass);
	tcase_add_test(tc, others_may_look_and_change_nothing);
	tcase_add_test(tc, others_do_not_push_out_those_who_may);
	tcase_add_test(tc, it_answers_while_the_sink_waits);
	tcase_add_test(tc, what_killed_recorders_left_is_removed);
	tcase_add_test(tc, only_what_is_ours_is_removed);
	tcase_add_test(tc, a_place_is_taken_once);
	suite_add_tcase(s, tc);
	return s;
}
