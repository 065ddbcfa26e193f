// SPDX-License-Identifier: GPL-2.0
/*
 * instance.c - the relay's instance of ftrace: see relay.h. It is the relay's alone, so that the
 * events, the clock and the buffers of others are left as they are.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTANCES "instances"
#define NAME	  "xvt-relay"
#define CLOCK	  "x86-tsc" /* the counter itself, which the region's stamps are of */

static int complain(const char *what, int err)
{
	fprintf(stderr, "xvt-guest: relay: %s: %s\n", what, strerror(err));
	return -1;
}

int relay_instance_write(const struct relay_instance *in, const char *file, const char *text)
{
	char path[1024];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", in->dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int must_write(const struct relay_instance *in, const char *file, const char *text)
{
	char what[600];
	int err = relay_instance_write(in, file, text);

	snprintf(what, sizeof(what), "%s/%s", in->dir, file);
	return err ? complain(what, -err) : 0;
}

static bool has_clock(const struct relay_instance *in)
{
	char path[1024], *text;
	bool has;

	snprintf(path, sizeof(path), "%s/trace_clock", in->dir);
	text = relay_read_file(path, NULL);
	has = text && strstr(text, "[" CLOCK "]");
	free(text);
	return has;
}

int relay_instance_open(struct relay_instance *in, const char *tracefs, unsigned int buffer_kib)
{
	char number[16];
	int lock;

	snprintf(in->dir, sizeof(in->dir), "%.400s/" INSTANCES, tracefs);
	/* Never closed: until the processes of this relay end. */
	lock = open(in->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0)
		return complain(in->dir, errno);
	if (flock(lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		fputs("xvt-guest: relay: another relay is at work in this system\n", stderr);
		return -1;
	}
	snprintf(in->dir, sizeof(in->dir), "%.400s/" INSTANCES "/" NAME, tracefs);
	in->found = mkdir(in->dir, 0700) != 0;
	if (in->found && errno != EEXIST)
		return complain(in->dir, errno);
	/* What a relay that was killed has left there is relayed: to set the clock empties it. */
	if (in->found && has_clock(in))
		return 0;
	in->found = false;
	snprintf(number, sizeof(number), "%u", buffer_kib);
	if (must_write(in, "tracing_on", "0") || must_write(in, "buffer_size_kb", number))
		return -1;
	if (must_write(in, "trace_clock", CLOCK)) {
		fprintf(stderr, "xvt-guest: relay: this kernel has no clock " CLOCK ": the relay "
				"is for x86\n");
		return -1;
	}
	return 0;
}

/* events/SYSTEM/EVENT/enable: `path` gets zeros in place of the slashes. */
static void split(char *path, const char **system, const char **event)
{
	char *at = strrchr(path, '/');

	*at = 0;
	at = strrchr(path, '/');
	*event = at + 1;
	*at = 0;
	*system = strrchr(path, '/') + 1;
}

static bool is_wanted(const char *events, const char *system, const char *event)
{
	char *copy = strdup(events), *rest = copy, *one;
	bool wanted = false;

	while (copy && (one = strsep(&rest, ","))) {
		char *colon = strchr(one, ':');

		if (colon)
			*colon = 0;
		wanted |= !fnmatch(one, system, 0) && (!colon || !fnmatch(colon + 1, event, 0));
	}
	free(copy);
	return wanted;
}

static bool is_on(const char *path)
{
	char *text = relay_read_file(path, NULL);
	const bool on = text && text[0] == '1';

	free(text);
	return on;
}

static int set_event(const char *path, bool on)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0 || write(fd, on ? "1" : "0", 1) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int relay_instance_events(struct relay_instance *in, const char *events)
{
	char pattern[600];
	glob_t found;
	int n = 0, err;

	snprintf(pattern, sizeof(pattern), "%s/events/*/*/enable", in->dir);
	if (glob(pattern, 0, NULL, &found))
		return complain(pattern, ENOENT);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *path = strdup(found.gl_pathv[i]);
		const char *system, *event;
		bool wanted;

		if (!path)
			break;
		split(path, &system, &event);
		wanted = is_wanted(events, system, event);
		n += wanted;
		err = wanted != is_on(found.gl_pathv[i]) ? set_event(found.gl_pathv[i], wanted) : 0;
		if (err && wanted)
			complain(found.gl_pathv[i], -err);
		free(path);
	}
	globfree(&found);
	if (n)
		return n;
	fprintf(stderr, "xvt-guest: relay: --events %s: this kernel has no such event\n", events);
	return -1;
}

void relay_instance_each(const struct relay_instance *in,
			 void (*take)(void *arg, const char *system, const char *event), void *arg)
{
	char pattern[600];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/events/*/*/enable", in->dir);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *system, *event;

		if (!is_on(found.gl_pathv[i]))
			continue;
		split(found.gl_pathv[i], &system, &event);
		take(arg, system, event);
	}
	globfree(&found);
}

static uint64_t figure(const char *text, const char *key)
{
	const char *at = text ? strstr(text, key) : NULL;

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

uint64_t relay_instance_lost(const struct relay_instance *in, unsigned int cpu)
{
	char path[600], *text;
	uint64_t lost;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/stats", in->dir, cpu);
	text = relay_read_file(path, NULL);
	lost = figure(text, "\noverrun: ") + figure(text, "\ncommit overrun: ") +
	       figure(text, "\ndropped events: ");
	free(text);
	return lost;
}

void relay_instance_remove(const struct relay_instance *in)
{
	if (rmdir(in->dir) && errno != ENOENT)
		complain(in->dir, errno);
}
