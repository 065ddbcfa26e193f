// SPDX-License-Identifier: GPL-2.0
/* qmp_plug.c - see qmp_plug.h. A client that waits for each answer; qmp.c is the one that listens.
 */
#define _GNU_SOURCE
#include "vmm/qmp_plug.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/socket.h"
#include "base/time.h"
#include "vmm/vmm.h"

#define ANSWER_MS 10000
#define LINE_MOST (256u << 10)
#define MEMORY	  "xvtrace-memory" /* how its ids begin */
#define CHARDEV	  "xvtrace-doorbell"
#define DEVICE	  "xvtrace-device"

/* A connection. */
struct qmp {
	int fd;
	int64_t until_ms;
	size_t used, line; /* bytes in buf; of them, the line that was returned */
	char buf[LINE_MOST];
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns 0 or -ETIMEDOUT. */
static int wait_for(const struct qmp *q, short events)
{
	struct pollfd p = { .fd = q->fd, .events = events };
	const int64_t left = q->until_ms - now_ms();

	return left > 0 && poll(&p, 1, (int)left) > 0 ? 0 : -ETIMEDOUT;
}

/* Read the next line, and end it by a zero byte. Returns 0 or -errno. */
static int read_line(struct qmp *q)
{
	char *end;
	ssize_t n;

	memmove(q->buf, q->buf + q->line, q->used - q->line);
	q->used -= q->line;
	q->line = 0;
	while (!(end = memchr(q->buf, '\n', q->used))) {
		if (q->used == sizeof(q->buf))
			return -EBADMSG;
		if (wait_for(q, POLLIN))
			return -ETIMEDOUT;
		n = read(q->fd, q->buf + q->used, sizeof(q->buf) - q->used);
		if (n <= 0 && errno != EAGAIN)
			return n ? -errno : -EPIPE;
		q->used += n > 0 ? (size_t)n : 0;
	}
	*end = 0;
	q->line = (size_t)(end + 1 - q->buf);
	return 0;
}

/* Send a whole line. Returns 0 or -errno. */
static int send_all(const struct qmp *q, const char *line, size_t len)
{
	while (len) {
		ssize_t n = wait_for(q, POLLOUT) ? -1 : write(q->fd, line, len);

		if (n < 0)
			return errno == EPIPE ? -EPIPE : -ETIMEDOUT;
		line += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Read lines until one has `member`, or is an error. Returns 0; -EPROTO with QEMU's reason. */
static int await(struct qmp *q, const char *member, struct xvt_error *why)
{
	int err = 0;
	bool done = false;

	while (!err && !done) {
		struct xvt_json_value *v;
		const char *text;

		err = read_line(q);
		if (err)
			break;
		v = xvt_json_parse(q->buf, strlen(q->buf), why);
		text = xvt_json_text(xvt_json_get(xvt_json_get(v, "error"), "desc"));
		done = xvt_json_get(v, member) != NULL;
		if (text) {
			err = xvt_fail(why, -EPROTO, "QEMU: %s", text);
		} else if (!v) {
			err = -EBADMSG;
		}
		xvt_json_forget(v);
	}
	if (err == -ETIMEDOUT)
		xvt_fail(why, 0, "no answer: does the socket serve another client?");
	else if (err && err != -EPROTO)
		xvt_fail(why, 0, "it does not speak QMP: %s", strerror(-err));
	return err;
}

/* Send a command with its arguments, which are freed, and wait for the answer. */
static int command(struct qmp *q, const char *name, struct xvt_json *arguments,
		   struct xvt_error *why)
{
	size_t arguments_len = 0;
	char *text = arguments ? xvt_json_line(arguments, &arguments_len) : NULL, *line;
	int len, err;

	if (arguments && !text)
		return -ENOMEM;
	if (text)
		len = asprintf(&line, "{\"execute\": \"%s\", \"arguments\": %.*s}\n", name,
			       (int)arguments_len - 1, text);
	else
		len = asprintf(&line, "{\"execute\": \"%s\"}\n", name);
	free(text);
	if (len < 0)
		return -ENOMEM;
	q->until_ms = now_ms() + ANSWER_MS;
	err = send_all(q, line, (size_t)len);
	free(line);
	if (err)
		xvt_fail(why, 0, "%s", strerror(-err));
	return err ? err : await(q, "return", why);
}

static void hang_up(struct qmp *q)
{
	close(q->fd);
	free(q);
}

static int call(struct qmp **out, const char *path, struct xvt_error *why)
{
	struct qmp *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->fd = xvt_socket_connect(path, why);
	if (q->fd < 0) {
		err = q->fd;
		free(q);
		return err;
	}
	q->until_ms = now_ms() + ANSWER_MS;
	err = await(q, "QMP", why);
	if (!err)
		err = command(q, "qmp_capabilities", NULL, why);
	if (err)
		hang_up(q);
	else
		*out = q;
	return err;
}

/* An object of one member, or NULL. */
static struct xvt_json *by_id(const char *id)
{
	struct xvt_json *doc = xvt_json_new();

	if (doc)
		xvt_json_add_text(doc, "id", id);
	return doc;
}

/* Commands that plug a device in, and how each is undone. */
struct plugging {
	int (*add)(struct qmp *q, const struct plugging *p, struct xvt_error *why);
	const char *path; /* of the region, or of the server's socket */
	uint64_t size;	  /* of the region */
	bool doorbell;
	const char *id, *undo; /* of what is added, and the command that removes it */
};

static int add_memory(struct qmp *q, const struct plugging *p, struct xvt_error *why)
{
	struct xvt_json *doc = by_id(p->id);

	if (!doc)
		return -ENOMEM;
	xvt_json_add_text(doc, "qom-type", "memory-backend-file");
	xvt_json_add_u64(doc, "size", p->size);
	xvt_json_add_text(doc, "mem-path", p->path);
	xvt_json_add_bool(doc, "share", true);
	return command(q, "object-add", doc, why);
}

/* Connect QEMU to an ivshmem server. */
static int add_chardev(struct qmp *q, const struct plugging *p, struct xvt_error *why)
{
	struct xvt_json *doc = by_id(p->id), *backend, *data, *address;

	if (!doc)
		return -ENOMEM;
	backend = xvt_json_add_object(doc, "backend");
	xvt_json_add_text(backend, "type", "socket");
	data = xvt_json_add_object(backend, "data");
	xvt_json_add_bool(data, "server", false);
	address = xvt_json_add_object(data, "addr");
	xvt_json_add_text(address, "type", "unix");
	xvt_json_add_text(xvt_json_add_object(address, "data"), "path", p->path);
	return command(q, "chardev-add", doc, why);
}

static int add_device(struct qmp *q, const struct plugging *p, const char *bus,
		      struct xvt_error *why)
{
	struct xvt_json *doc = by_id(DEVICE);

	if (!doc)
		return -ENOMEM;
	xvt_json_add_text(doc, "driver", p->doorbell ? "ivshmem-doorbell" : "ivshmem-plain");
	xvt_json_add_text(doc, p->doorbell ? "chardev" : "memdev", p->id);
	if (p->doorbell)
		xvt_json_add_u64(doc, "vectors", 1);
	if (bus)
		xvt_json_add_text(doc, "bus", bus);
	return command(q, "device_add", doc, why);
}

/* Replace QEMU's message for an id that it has already. Returns the error. */
static int explain_duplicate(int err, struct xvt_error *why)
{
	if (err != -EPROTO ||
	    (!strcasestr(why->text, "duplicate") && !strstr(why->text, "already exists")))
		return err;
	return xvt_fail(why, -EEXIST, "this QEMU has a region by xvtrace attach already");
}

/* Add what the device needs, then the device. Nothing is left in QEMU after an error; *added: what
 * the device needs had been added. Returns 0 or -errno with `why`. */
static int plug(const char *socket, const struct plugging *p, const char *bus, bool *added,
		struct xvt_error *why)
{
	struct xvt_error unheard;
	struct qmp *q;
	int err = call(&q, socket, why);

	*added = false;
	if (err)
		return err;
	err = p->add(q, p, why);
	*added = !err;
	if (!err) {
		err = add_device(q, p, bus, why);
		if (err)
			command(q, p->undo, by_id(p->id), &unheard);
	}
	hang_up(q);
	return explain_duplicate(err, why);
}

/*
 * An id that this QEMU has not had: it aborts when memory comes by the name of one that it has not
 * quite freed, and it says that memory is gone some time before it has (seen with 7.2).
 */
static void new_memory_id(char *id, size_t size)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	snprintf(id, size, MEMORY "-%" PRIx64, xvt_timespec_ns(&t));
}

int xvt_qmp_plug(const char *socket, const char *region, uint64_t size, const char *bus,
		 struct xvt_error *why)
{
	char id[64];
	const struct plugging memory = {
		.add = add_memory, .path = region, .size = size, .id = id, .undo = "object-del"
	};
	const bool left = !access(region, F_OK); /* by an earlier machine of this name */
	bool added;
	int err;

	new_memory_id(id, sizeof(id));
	err = plug(socket, &memory, bus, &added, why);
	if (err && added && !left) /* QEMU made the file when it added the memory */
		unlink(region);
	return err;
}

int xvt_qmp_plug_doorbell(const char *socket, const char *server, const char *bus,
			  struct xvt_error *why)
{
	const struct plugging chardev = { .add = add_chardev,
					  .path = server,
					  .doorbell = true,
					  .id = CHARDEV,
					  .undo = "chardev-remove" };
	bool added;

	return plug(socket, &chardev, bus, &added, why);
}

int xvt_qmp_user(const char *socket, uid_t *user, struct xvt_error *why)
{
	int fd = xvt_socket_connect(socket, why);

	if (fd < 0)
		return fd;
	*user = xvt_socket_peer(fd);
	close(fd);
	return 0;
}

/* Of the two devices only ivshmem-doorbell has this property. */
static bool has_doorbell(struct qmp *q)
{
	struct xvt_json *doc = xvt_json_new();
	struct xvt_error unheard;

	if (!doc)
		return true;
	xvt_json_add_text(doc, "path", "/machine/peripheral/" DEVICE);
	xvt_json_add_text(doc, "property", "vectors");
	return !command(q, "qom-get", doc, &unheard);
}

int xvt_qmp_unplug(const char *socket, struct xvt_error *why)
{
	struct qmp *q;
	int err = call(&q, socket, why);

	if (err)
		return err;
	if (has_doorbell(q)) {
		xvt_fail(why, 0, XVT_DOORBELL_STAYS);
		hang_up(q);
		return -EBUSY;
	}
	err = command(q, "device_del", by_id(DEVICE), why);
	if (err == -EPROTO && strstr(why->text, "not found")) {
		err = xvt_fail(why, -ENODEV, "this QEMU has no region by xvtrace attach");
	}
	hang_up(q);
	return err;
}

/* QEMU refuses to remove memory that a device uses. Returns 0, or the first -errno with `why`. */
static int remove_memory(struct qmp *q, struct xvt_error *why)
{
	struct xvt_json *doc = xvt_json_new();
	const struct xvt_json_value *list;
	struct xvt_json_value *answer;
	size_t i;
	int err;

	if (!doc)
		return -ENOMEM;
	xvt_json_add_text(doc, "path", "/objects");
	err = command(q, "qom-list", doc, why);
	if (err)
		return err;
	answer = xvt_json_parse(q->buf, strlen(q->buf), why);
	list = xvt_json_get(answer, "return");
	for (i = 0; !err && i < xvt_json_count(list); i++) {
		const char *name = xvt_json_text(xvt_json_get(xvt_json_at(list, i), "name"));

		if (name && !strncmp(name, MEMORY, strlen(MEMORY)))
			err = command(q, "object-del", by_id(name), why);
	}
	xvt_json_forget(answer);
	return err;
}

int xvt_qmp_unplugged(const char *socket, struct xvt_error *why)
{
	struct qmp *q;
	int err = call(&q, socket, why);

	if (err)
		return err;
	err = remove_memory(q, why);
	hang_up(q);
	return !err ? 1 : err == -EPROTO ? 0 : err;
}
