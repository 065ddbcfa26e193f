// SPDX-License-Identifier: GPL-2.0
/* view.c - see view.h. */
#include "view/view.h"
#include "trace/cursor.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether --event selects a class; cached in the class. */
enum wanted {
	WANTED_UNKNOWN,
	WANTED_YES,
	WANTED_NO,
};

#define NEAR_MAX    3  /* nearest names that are kept for a glob without a match */
#define NEAR_LEN    96 /* bytes of such a name */
#define MISSES_SAID 8  /* lines about globs without a match */

struct xvt_glob {
	const char *text;
	bool matched;
	unsigned int near_count;
	struct {
		unsigned int apart;
		char name[NEAR_LEN];
	} near[NEAR_MAX];
};

/* One end of the time range. */
struct when {
	bool given;
	bool wall;
	uint64_t ns;
};

static int parse_time(const struct xvt_view *v, const char *text, struct when *when)
{
	bool relative = text && text[0] == '+';
	int err;

	if (!text)
		return 0;
	when->given = true;
	when->wall = v->opts.wall && !relative;
	err = xvt_parse_seconds(text + relative, &when->ns);
	if (!err && relative && __builtin_add_overflow(when->ns, v->t->first_ns, &when->ns))
		err = -ERANGE;
	if (!err)
		return 0;
	xvt_error(text,
		  "not a time; give seconds such as 12.5, or +0.5 from the start of the trace");
	return -EINVAL;
}

/*
 * Get the range of host times that holds all events of a range of wall-clock times. The wall clock
 * may have been set while recording, so the range may hold other events, too.
 */
static void host_range(const struct xvt_trace *t, uint64_t wall_from, uint64_t wall_to,
		       uint64_t *from_ns, uint64_t *to_ns)
{
	uint64_t lo = UINT64_MAX, hi = 0;

	for (size_t i = 0; i < t->timebase_count; i++) {
		const struct xvt_timebase *l = &t->timebase[i];
		uint64_t begin = i ? l->base_ns : 0;
		uint64_t end = i + 1 < t->timebase_count ? l[1].base_ns : UINT64_MAX;
		/* 128 bits: a hostile line may have any times. */
		__int128 ahead = (__int128)l->realtime_ns - l->base_ns;
		__int128 from = wall_from - ahead, to = wall_to - ahead;

		if (to < begin || from > end)
			continue;
		if (from < begin)
			from = begin;
		if (to > end)
			to = end;
		lo = from < lo ? (uint64_t)from : lo;
		hi = to > hi ? (uint64_t)to : hi;
	}
	*from_ns = lo > *from_ns ? lo : *from_ns;
	*to_ns = hi < *to_ns ? hi : *to_ns;
}

/* Parse the range: host times to *from_ns and *to_ns, wall-clock times to the view. */
static int parse_range(struct xvt_view *v, uint64_t *from_ns, uint64_t *to_ns)
{
	struct when from = { 0 }, to = { 0 };

	if (parse_time(v, v->opts.from, &from) || parse_time(v, v->opts.to, &to))
		return -EINVAL;
	if (from.given && to.given && from.wall == to.wall && from.ns > to.ns) {
		xvt_error(v->opts.from, "the range of time ends at %s, before it begins",
			  v->opts.to);
		return -EINVAL;
	}
	*from_ns = from.given && !from.wall ? from.ns : 0;
	*to_ns = to.given && !to.wall ? to.ns : UINT64_MAX;
	v->from_ns = from.wall ? from.ns : 0;
	v->to_ns = to.wall ? to.ns : UINT64_MAX;
	if (from.wall || to.wall)
		host_range(v->t, v->from_ns, v->to_ns, from_ns, to_ns);
	return 0;
}

/* Select all machines of that name: earlier boots of one may be machines of their own. */
static int want_vm(struct xvt_view *v, const char *name)
{
	const struct xvt_trace *t = v->t;
	char names[256] = "none";
	bool found = false;
	size_t used = 0;

	for (uint32_t i = 0; i < t->vm_count; i++) {
		if (!t->vms[i].known)
			continue;
		if (strcmp(t->vms[i].name, name) == 0)
			found = v->vms[i] = true;
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", t->vms[i].name);
	}
	if (found)
		return 0;
	xvt_error(t->path, "no machine '%s' in this trace; it has: %s%s%s", name, names,
		  t->damage_count ? "; it is damaged, too: " : "",
		  t->damage_count ? t->damage[0].why : "");
	return -ENOENT;
}

/* Returns 0, -ENOMEM, or -ENOENT after the message that there is no such machine. */
static int make_filters(struct xvt_view *v)
{
	const struct xvt_view_opts *o = &v->opts;

	if (o->vm.n) {
		v->vms = calloc((size_t)v->t->vm_count + 1, sizeof(*v->vms));
		if (!v->vms)
			return -ENOMEM;
	}
	for (size_t i = 0; i < o->vm.n; i++)
		if (want_vm(v, o->vm.v[i]))
			return -ENOENT;
	if (o->event.n) {
		v->globs = calloc(o->event.n, sizeof(*v->globs));
		if (!v->globs)
			return -ENOMEM;
	}
	for (size_t i = 0; i < o->event.n; i++)
		v->globs[i].text = o->event.v[i];
	return 0;
}

static int start_reading(struct xvt_view *v, uint64_t from_ns, uint64_t to_ns)
{
	int err;

	if (!v->opts.reclock)
		return xvt_cursor_init(&v->cursor, v->t, from_ns, to_ns);
	err = xvt_reclock_new(&v->reclock, v->t);
	if (err)
		return err;
	if (!v->opts.quiet)
		xvt_reclock_say(v->reclock);
	return xvt_reclock_begin(v->reclock, from_ns, to_ns);
}

static bool vm_wanted(void *arg, uint32_t vm)
{
	const struct xvt_view *v = arg;

	return !v->vms || (vm < v->t->vm_count && v->vms[vm]);
}

static int start(struct xvt_view *v)
{
	uint64_t from_ns = 0, to_ns = UINT64_MAX;
	int err;

	if (parse_range(v, &from_ns, &to_ns))
		return XVT_EXIT_USAGE;
	err = make_filters(v);
	if (err == -ENOENT)
		return XVT_EXIT_FAIL;
	if (!err)
		err = xvt_decoders_new_for(&v->ds, v->t, vm_wanted, v);
	if (!err)
		err = start_reading(v, from_ns, to_ns);
	if (!err)
		return XVT_EXIT_OK;
	xvt_error(v->t->path, "%s", strerror(-err));
	return XVT_EXIT_FAIL;
}

static void fini(struct xvt_view *v)
{
	xvt_reclock_free(v->reclock);
	xvt_cursor_fini(&v->cursor);
	xvt_decoders_fini(&v->ds);
	free(v->vms);
	free(v->globs);
	xvt_trace_close(v->t);
}

/* Returns whether the index is enough. --reclock needs the clock chunks of the whole file. */
static bool is_part(const struct xvt_view_opts *opts)
{
	return (opts->from || opts->to || opts->limit) && !opts->reclock;
}

int xvt_view_open(struct xvt_view *v, const char *path, const struct xvt_view_opts *opts)
{
	char why[256];
	int status, err;

	memset(v, 0, sizeof(*v));
	v->opts = *opts;
	err = is_part(opts) ? xvt_trace_open_indexed(&v->t, path, why, sizeof(why))
			    : xvt_trace_open(&v->t, path, why, sizeof(why));
	if (err) {
		xvt_error(path, "%s", why);
		return XVT_EXIT_FAIL;
	}
	status = start(v);
	if (status)
		fini(v);
	return status;
}

/* For an event that the module probes itself: the system of the kernel's event of that name. */
static const char *probed_system(const char *system, const char *name)
{
	static const struct {
		const char *name;
		const char *system;
	} probes[] = {
		{ "sched_switch", "sched" },
		{ "irq_handler_entry", "irq" },
		{ "irq_handler_exit", "irq" },
	};

	if (strcmp(system, "xvt") != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (strcmp(name, probes[i].name) == 0)
			return probes[i].system;
	return NULL;
}

static bool is_like(const char *glob, const char *system, const char *name)
{
	char both[256];

	snprintf(both, sizeof(both), "%s:%s", system, name);
	return fnmatch(glob, both, 0) == 0;
}

bool xvt_event_is_like(const char *glob, const char *system, const char *name)
{
	const char *probed = probed_system(system, name);

	if (!strchr(glob, ':'))
		return fnmatch(glob, name, 0) == 0;
	return is_like(glob, system, name) || (probed && is_like(glob, probed, name));
}

/* Keep the name if it is nearer to the glob than one that is kept. */
static void keep_near(struct xvt_glob *g, const char *system, const char *name)
{
	char both[NEAR_LEN];
	unsigned int at = g->near_count, apart;

	snprintf(both, sizeof(both), "%s:%s", system, name);
	apart = xvt_letters_apart(g->text, strchr(g->text, ':') ? both : name);
	for (unsigned int i = 0; i < g->near_count; i++)
		if (strcmp(g->near[i].name, both) == 0)
			return;
	while (at && g->near[at - 1].apart > apart)
		at--;
	if (at == NEAR_MAX)
		return;
	if (g->near_count < NEAR_MAX)
		g->near_count++;
	memmove(&g->near[at + 1], &g->near[at], (g->near_count - 1 - at) * sizeof(g->near[0]));
	g->near[at].apart = apart;
	memcpy(g->near[at].name, both, sizeof(both));
}

/* Match a class against all globs, at its first event. */
static void match_class(struct xvt_view *v, struct xvt_event_class *c, bool is_event)
{
	c->user_u32 = WANTED_NO;
	for (size_t i = 0; i < v->opts.event.n; i++) {
		struct xvt_glob *g = &v->globs[i];

		if (xvt_event_is_like(g->text, c->system, c->name)) {
			c->user_u32 = WANTED_YES;
			g->matched = true;
		} else if (!g->matched && is_event) {
			keep_near(g, c->system, c->name);
		}
	}
}

static bool wanted(struct xvt_view *v, const struct xvt_event *ev, struct xvt_event_class *c)
{
	const struct xvt_view_opts *o = &v->opts;

	if (!o->all && !xvt_is_event(ev->hdr) && ev->hdr->id != XVT_ID_LOST)
		return false;
	if (v->vms) {
		uint32_t vm = xvt_ring_vm(v->t, xvt_event_ring(ev));

		if (vm >= v->t->vm_count || !v->vms[vm])
			return false;
	}
	if (o->wall && (v->from_ns || v->to_ns != UINT64_MAX)) {
		uint64_t ns = xvt_trace_wall_ns(v->t, ev->hdr->host_ns);

		if (ns < v->from_ns || ns > v->to_ns)
			return false;
	}
	if (!o->event.n)
		return true;
	if (c->user_u32 == WANTED_UNKNOWN)
		match_class(v, c, xvt_is_event(ev->hdr));
	return c->user_u32 == WANTED_YES;
}

int xvt_view_next(struct xvt_view *v, struct xvt_event *ev, struct xvt_event_class **c,
		  struct xvt_decoder **d)
{
	const struct xvt_view_opts *o = &v->opts;

	for (;;) {
		int got = v->reclock ? xvt_reclock_next(v->reclock, ev)
				     : xvt_cursor_next(&v->cursor, ev);

		v->read_all = got == 0;
		if (got <= 0 || (o->limit && v->shown == o->limit))
			return got < 0 ? got : 0;
		*d = xvt_decoder_of(&v->ds, ev);
		*c = xvt_classify(*d, ev);
		if (!*c)
			return -ENOMEM;
		if (!wanted(v, ev, *c))
			continue;
		v->given++;
		v->shown += xvt_is_event(ev->hdr);
		return 1;
	}
}

static void say_miss(const struct xvt_view *v, const struct xvt_glob *g)
{
	char near[NEAR_MAX * (NEAR_LEN + 2) + 64] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < g->near_count; i++)
		used += (size_t)snprintf(
			near + used, sizeof(near) - used, "%s%s",
			i ? ", " : "; the nearest that there are: ", g->near[i].name);
	xvt_error(v->t->path, "no event is like '%s'%s", g->text, near);
}

/* Print the trace's range: no event matches. */
static void say_outside(const struct xvt_view *v)
{
	const struct xvt_trace *t = v->t;
	uint64_t first = t->first_ns, last = t->last_ns, ns;
	const char *hint = "";

	if (!v->opts.wall && v->opts.from && !xvt_parse_seconds(v->opts.from, &ns) && ns > last &&
	    ns <= xvt_trace_wall_ns(t, last))
		hint = "; times of the wall clock are for report --wall";
	if (v->opts.wall) {
		first = xvt_trace_wall_ns(t, first);
		last = xvt_trace_wall_ns(t, last);
	}
	xvt_error(t->path,
		  "no event matches; the trace is from %" PRIu64 ".%09" PRIu64 " to %" PRIu64
		  ".%09" PRIu64 "%s",
		  first / 1000000000, first % 1000000000, last / 1000000000, last % 1000000000,
		  hint);
}

/* Print the globs without a match; only after reading to the end. Returns false if the filters left
 * nothing. */
static bool say_misses(const struct xvt_view *v)
{
	const struct xvt_view_opts *o = &v->opts;
	size_t missing = 0;

	for (size_t i = 0; i < o->event.n; i++) {
		if (v->globs[i].matched)
			continue;
		if (missing++ < MISSES_SAID)
			say_miss(v, &v->globs[i]);
	}
	if (missing > MISSES_SAID)
		xvt_error(v->t->path, "and none is like %zu more", missing - MISSES_SAID);
	if (v->given || !(o->vm.n || o->event.n || o->from || o->to))
		return true;
	if (!missing)
		say_outside(v);
	return false;
}

int xvt_view_close(struct xvt_view *v)
{
	/* For a part of a trace, the rest is not checked. */
	int err = v->read_all && !is_part(&v->opts) ? xvt_trace_check_rest(v->t) : 0;
	bool found = !v->read_all || say_misses(v);
	int bad = xvt_trace_complain(v->t, v->opts.quiet);

	if (err)
		xvt_error(v->t->path, "%s", strerror(-err));
	if (v->ds.left_out && !v->opts.quiet)
		xvt_warn(v->t->path,
			 "%llu formats, symbols or names are more than is decoded of a machine and "
			 "were left out; their events are shown as bytes, see xvtrace-report(1)",
			 (unsigned long long)v->ds.left_out);
	fini(v);
	return err || bad || !found ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}
