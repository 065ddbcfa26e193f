// SPDX-License-Identifier: GPL-2.0
/*
 * follow.c - see follow.h. inotify tells of files in the folder of regions, libvirt of domains. A
 * file that cannot be recorded yet (its VMM has not opened it, its size is not set) is tried again
 * once a second, and so is a file of another folder.
 */
#define _GNU_SOURCE
#include "record/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/container.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/region.h"
#include "base/time.h"
#include "base/timer.h"
#include "base/vec.h"
#include "record/find.h"
#include "record/regions.h"
#include "vmm/processes.h"

/* Between two attempts to reach libvirt. A daemon that systemd starts on demand is not kept awake
 * by that: a connection that succeeds stays. */
#define CONNECT_NS	(5 * SECOND_NS)
#define ANSWER_NS	(SECOND_NS / 4)
/* A file that appears while libvirt is watched may belong to a domain that starts: libvirt says so
 * a little later. */
#define DOMAIN_NS	(2 * SECOND_NS)
#define REFUSED_MOST	1024u
/* All users may make files in the folder: looking at them takes this much of a pass, and passes
 * follow this soon. Between two scans there is this many times as long as one took. */
#define STEP_NS		1000000ull
#define STEP_SOON_NS	20000000ull
#define SCAN_PART	20u
#define CHANGED_SOON_NS 100000000ull

/* A file that is not recorded. */
struct refused {
	char *path;
	char *why;	   /* reported; NULL: nothing was */
	uint64_t since_ns; /* when it was seen first */
	bool seen;	   /* by the newest scan */
};

struct xvt_follow {
	struct xvt_loop *loop;
	struct xvt_session *s;
	const struct xvt_machine_options *opt;
	void (*joined)(void *arg, struct xvt_vm *vm);
	void *arg;
	bool logs;
	struct xvt_timer timer; /* due before each pass */
	uint64_t now_ns;

	struct xvt_op on_file;
	int inotify; /* -1: not available, so that each second has a scan */
	bool changed;
	bool scanning;		 /* the folder */
	uint64_t scan_took_ns;	 /* so far */
	uint64_t least_ns;	 /* no scan begins before */
	uint64_t next_scan_ns;	 /* 0: none but after a change */
	uint64_t next_search_ns; /* of VMMs */

	struct xvt_libvirt_watch *watch; /* NULL: no connection */
	bool no_libvirt;		 /* libvirt is not installed */
	bool no_libvirt_told;
	char libvirt_why[512]; /* of no connection; "": there is one, or none is wanted */
	uint64_t next_connect_ns;

	struct refused *refused;
	size_t nr_refused, room;
};

/* ------------------------------------------------------------------ files that are left out */

/* Returns the entry of a path; NULL: there is no room for it. */
static struct refused *refused_of(struct xvt_follow *f, const char *path)
{
	struct refused *r;
	size_t i;

	for (i = 0; i < f->nr_refused; i++) {
		if (!strcmp(f->refused[i].path, path))
			return &f->refused[i];
	}
	if (f->nr_refused >= REFUSED_MOST ||
	    xvt_grow(&f->refused, &f->room, f->nr_refused + 1, sizeof(*f->refused)))
		return NULL;
	r = &f->refused[f->nr_refused];
	*r = (struct refused){ .path = strdup(path), .since_ns = f->now_ns };
	if (!r->path)
		return NULL;
	f->nr_refused++;
	return r;
}

/* Warn of a file that is left out, unless that was said with this reason. */
static void refuse(struct refused *r, const char *why)
{
	if (r->why && !strcmp(r->why, why))
		return;
	free(r->why);
	r->why = strdup(why);
	xvt_warn(r->path, "left out: %s", why);
}

static void forget(struct refused *r)
{
	free(r->path);
	free(r->why);
}

/* Forget the files that the newest scan has not seen. */
static void forget_unseen(struct xvt_follow *f)
{
	size_t i, kept = 0;

	for (i = 0; i < f->nr_refused; i++) {
		if (f->refused[i].seen)
			f->refused[kept++] = f->refused[i];
		else
			forget(&f->refused[i]);
	}
	f->nr_refused = kept;
}

/* ------------------------------------------------------------------ machines that join */

static void added(struct xvt_follow *f, const struct xvt_candidate *c)
{
	xvt_machine_trust(f->s, f->opt, c->name);
	f->joined(f->arg, xvt_session_find(f->s, c->name));
}

/* A file that has just been made is no region yet. */
static bool comes_soon(int err)
{
	return err == -ENOENT || err == -ENODATA;
}

static bool is_kept(const struct xvt_keeper *k, const char *path)
{
	return k && k->has(k->arg, path);
}

static void on_file_found(void *arg, const struct xvt_candidate *c)
{
	struct xvt_follow *f = arg;
	struct refused *r;
	struct xvt_error why;
	int err;

	if (xvt_session_has_region(f->s, c->path) || is_kept(f->opt->keeper, c->path))
		return;
	r = refused_of(f, c->path);
	if (!r)
		return;
	r->seen = true;
	f->next_scan_ns = f->now_ns + SECOND_NS;
	if (!c->asked &&
	    (!xvt_file_has_writer(c->path) || (f->watch && f->now_ns - r->since_ns < DOMAIN_NS)))
		return;
	err = xvt_machine_add_found(f->s, f->opt->keeper, c, &why);
	if (err < 0 && !comes_soon(err))
		refuse(r, why.text);
	if (err >= 0)
		r->seen = false;
	if (!err)
		added(f, c);
}

static void scan(struct xvt_follow *f)
{
	size_t i;

	/* Files of -r may lie in other folders. */
	f->next_scan_ns = f->inotify < 0 || f->opt->regions.n ? f->now_ns + SECOND_NS : 0;
	for (i = 0; i < f->nr_refused; i++)
		f->refused[i].seen = false;
	xvt_machines_each_file(f->opt, on_file_found, f);
	forget_unseen(f);
}

static void take_domains(struct xvt_follow *f)
{
	struct xvt_domain domain;
	struct xvt_candidate c;
	struct xvt_error why;
	int err;

	while ((err = xvt_libvirt_watch_next(f->watch, &domain)) > 0) {
		if (!xvt_machines_selects(f->opt, &domain, &c))
			continue;
		err = xvt_machine_add_found(f->s, f->opt->keeper, &c, &why);
		if (err < 0)
			xvt_warn(domain.name, "left out: %s", why.text);
		else if (!err)
			added(f, &c);
	}
	if (!err)
		return;
	snprintf(f->libvirt_why, sizeof(f->libvirt_why), "%s",
		 err == -ETIMEDOUT ? "its daemon does not answer" : "the connection is lost");
	xvt_warn("libvirt", "%s; it is tried again every %" PRIu64 " s", f->libvirt_why,
		 CONNECT_NS / SECOND_NS);
	xvt_libvirt_unwatch(f->watch);
	f->watch = NULL;
	f->next_connect_ns = f->now_ns + CONNECT_NS;
}

/* A line for the log of a service. */
static void say(const struct xvt_follow *f, const char *text)
{
	if (f->logs)
		xvt_note("%s", text);
}

/* A libvirt that is not asked for may be absent: that is no warning. */
static void no_libvirt(const struct xvt_follow *f, int err)
{
	const char *again = f->no_libvirt ? "" : "; it is tried again";
	char text[sizeof(f->libvirt_why) + 128];

	if (f->opt->domains.n || f->opt->libvirt_uri || err == -ETIMEDOUT) {
		xvt_warn("libvirt", "%s%s", f->libvirt_why, again);
		return;
	}
	snprintf(text, sizeof(text), "no domains of libvirt are recorded: %s%s", f->libvirt_why,
		 again);
	say(f, text);
}

static void connect_libvirt(struct xvt_follow *f)
{
	const struct xvt_machine_options *opt = f->opt;
	struct xvt_error why;
	int err;

	if (f->no_libvirt || f->now_ns < f->next_connect_ns || !(opt->all || opt->domains.n))
		return;
	/* The first attempt waits, as nothing is recorded yet. */
	err = f->next_connect_ns ? xvt_libvirt_answers(opt->libvirt_uri) : 1;
	f->next_connect_ns = f->now_ns + (err ? CONNECT_NS : ANSWER_NS);
	if (err <= 0)
		return;
	err = xvt_libvirt_watch(&f->watch, f->loop, opt->libvirt_uri, &why);
	f->no_libvirt = err == -ENOPKG;
	if (!err && f->libvirt_why[0])
		say(f, "connected to libvirt; its domains are recorded from here on");
	snprintf(f->libvirt_why, sizeof(f->libvirt_why), "%s", err ? why.text : "");
	if (err && !f->no_libvirt_told)
		no_libvirt(f, err);
	f->no_libvirt_told = err != 0;
}

const char *xvt_follow_libvirt(const struct xvt_follow *f)
{
	return f ? f->libvirt_why : "";
}

static uint64_t since_ns(const struct xvt_follow *f, uint64_t begin)
{
	return xvt_session_now_ns(f->s) - begin;
}

/* Go on with the scan, and look at what it found when it is over. */
static void scan_on(struct xvt_follow *f)
{
	const uint64_t begin = xvt_session_now_ns(f->s);
	const bool over = !f->opt->all || xvt_regions_scan(STEP_NS);

	f->scan_took_ns += since_ns(f, begin);
	if (!over)
		return;
	xvt_regions_tell();
	scan(f);
	f->scanning = false;
	f->least_ns = begin + SCAN_PART * (f->scan_took_ns + since_ns(f, begin));
	f->scan_took_ns = 0;
}

static void search_vmms(struct xvt_follow *f)
{
	if (!f->opt->all || f->now_ns < f->next_search_ns)
		return;
	f->changed |= xvt_regions_search(STEP_NS, f->now_ns);
	xvt_regions_tell();
	f->next_search_ns = f->now_ns + STEP_SOON_NS;
}

/* The next call that is in time for what goes on. */
static uint64_t next_ns(const struct xvt_follow *f)
{
	if (f->scanning)
		return f->now_ns + STEP_SOON_NS;
	return f->changed ? f->now_ns + CHANGED_SOON_NS : XVT_TIMER_NEVER;
}

static void on_time(struct xvt_timer *timer, uint64_t now_ns)
{
	struct xvt_follow *f = container_of(timer, struct xvt_follow, timer);

	f->now_ns = now_ns;
	if (!f->watch)
		connect_libvirt(f);
	if (f->watch)
		take_domains(f);
	if (!f->scanning && now_ns >= f->least_ns &&
	    (f->changed || (f->next_scan_ns && now_ns >= f->next_scan_ns))) {
		f->scanning = true;
		f->changed = false;
		if (f->inotify < 0)
			xvt_regions_changed(NULL);
	}
	if (f->scanning)
		scan_on(f);
	else
		search_vmms(f);
	xvt_timer_arm(&f->timer, 0, next_ns(f));
}

/* ------------------------------------------------------------------ begin and end */

static void on_inotify(struct xvt_op *op, int res)
{
	struct xvt_follow *f = container_of(op, struct xvt_follow, on_file);
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len, at;

	if (res < 0)
		return;
	while ((len = read(f->inotify, events, sizeof(events))) > 0) {
		f->changed = true;
		for (at = 0; at < len;) {
			const struct inotify_event *e = (const void *)(events + at);

			/* Without a name, more has happened than there are events. */
			xvt_regions_changed(e->len ? e->name : NULL);
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	}
	if (f->changed)
		xvt_timer_arm(&f->timer, 0, 0);
	xvt_loop_poll(f->loop, op, f->inotify, POLLIN);
}

static void watch_folder(struct xvt_follow *f)
{
	f->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->inotify >= 0 &&
	    inotify_add_watch(f->inotify, xvt_host_region_dir(),
			      IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR) < 0) {
		close(f->inotify);
		f->inotify = -1;
	}
	f->on_file.done = on_inotify;
	if (f->inotify >= 0)
		xvt_loop_poll(f->loop, &f->on_file, f->inotify, POLLIN);
}

int xvt_follow_begin(struct xvt_follow **out, struct xvt_loop *loop, struct xvt_timers *timers,
		     struct xvt_session *s, const struct xvt_machine_options *opt, bool logs,
		     void (*joined)(void *arg, struct xvt_vm *vm), void *arg)
{
	struct xvt_follow *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	*f = (struct xvt_follow){ .loop = loop,
				  .s = s,
				  .opt = opt,
				  .logs = logs,
				  .joined = joined,
				  .arg = arg,
				  .changed = true };
	xvt_timer_add(timers, &f->timer, on_time);
	xvt_timer_arm(&f->timer, 0, 0);
	watch_folder(f);
	*out = f;
	return 0;
}

void xvt_follow_end(struct xvt_follow *f)
{
	size_t i;

	if (!f)
		return;
	xvt_timer_remove(&f->timer);
	xvt_libvirt_unwatch(f->watch);
	if (f->inotify >= 0) {
		if (!xvt_loop_release(f->loop, &f->on_file))
			return; /* the kernel may still use it */
		close(f->inotify);
	}
	for (i = 0; i < f->nr_refused; i++)
		forget(&f->refused[i]);
	free(f->refused);
	free(f);
}
