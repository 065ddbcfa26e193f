// SPDX-License-Identifier: GPL-2.0
/*
 * armed.c - see armed.h. `enable` of a ring is the host's word, so a recorder may arm a ring that
 * its guest did not, or that another command switched off. A look loads one word of each ring; the
 * region is claimed only to change one, so that other commands are refused for a moment at most.
 */
#define _GNU_SOURCE
#include "flight/armed.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/machine_name.h"
#include "base/region.h"
#include "base/time.h"

#define LOOK_NS SECOND_NS	 /* between two looks at a machine, unless asked for more */
#define LOOKS	64u		 /* in one pass, at most: a recorder at rest makes few */
#define TOLD_NS (60 * SECOND_NS) /* between two messages about one: its guest writes the words */

struct xvt_armed {
	char **patterns;
	size_t nr_patterns;
	bool look_only;
	bool follow; /* a machine whose file is gone is forgotten */
	bool has_new;
	struct xvt_armed_machine v[XVT_ARMED_MOST];
	size_t n;
	size_t at;	   /* the machine to look at next; n: this round is over */
	uint64_t round_ns; /* when it began */
	uint64_t look_ns;  /* between two rounds */
	struct xvt_keeper keeper;
};

/* ------------------------------------------------------------------ the list */

static void free_patterns(char **patterns, size_t n)
{
	while (n)
		free(patterns[--n]);
	free(patterns);
}

static int set_patterns(struct xvt_armed *a, const struct xvt_opt_list *list)
{
	char **patterns = calloc(list->n + 1, sizeof(*patterns));
	size_t i;

	for (i = 0; patterns && i < list->n; i++) {
		patterns[i] = strdup(list->v[i]);
		if (patterns[i])
			continue;
		free_patterns(patterns, i);
		patterns = NULL;
	}
	if (!patterns)
		return -ENOMEM;
	free_patterns(a->patterns, a->nr_patterns);
	a->patterns = patterns;
	a->nr_patterns = list->n;
	return 0;
}

int xvt_armed_new(struct xvt_armed **out, const struct xvt_opt_list *patterns, bool follow)
{
	struct xvt_armed *a = calloc(1, sizeof(*a));

	if (!a || set_patterns(a, patterns)) {
		free(a);
		return -ENOMEM;
	}
	a->follow = follow;
	a->look_ns = LOOK_NS;
	*out = a;
	return 0;
}

void xvt_armed_free(struct xvt_armed *a)
{
	if (!a)
		return;
	xvt_armed_unlisten(a);
	while (a->n)
		free(a->v[--a->n].path);
	free_patterns(a->patterns, a->nr_patterns);
	free(a);
}

static bool matches(const struct xvt_armed *a, const char *name)
{
	size_t i;

	for (i = 0; i < a->nr_patterns; i++) {
		if (xvt_machine_matches(a->patterns[i], name))
			return true;
	}
	return false;
}

/* The place of the machine that has this path; a->n: none. */
static size_t place_of(const struct xvt_armed *a, const char *path)
{
	size_t i = 0;

	while (i < a->n && strcmp(a->v[i].path, path) != 0)
		i++;
	return i;
}

bool xvt_armed_has(const struct xvt_armed *a, const char *path)
{
	return a && place_of(a, path) < a->n;
}

bool xvt_armed_has_name(const struct xvt_armed *a, const char *name)
{
	size_t i;

	for (i = 0; a && i < a->n; i++) {
		if (xvt_machine_same(a->v[i].name, name))
			return true;
	}
	return false;
}

int xvt_armed_takes(struct xvt_armed *a, const char *name, const char *path, const uint8_t *uuid,
		    uint32_t rings, struct xvt_error *why)
{
	size_t i;
	struct xvt_armed_machine m = { .rings_most = rings ? rings : XVT_RINGS_USUAL,
				       .why = "it was not looked at yet" };

	if (!a)
		return 0;
	if (uuid)
		memcpy(m.uuid, uuid, sizeof(m.uuid));
	i = place_of(a, path);
	if (i < a->n) {
		struct xvt_armed_machine *there = &a->v[i];

		/* The file may have been found before its domain, or the domain is another one now.
		 */
		if (uuid && memcmp(there->uuid, uuid, sizeof(m.uuid)) != 0) {
			memcpy(there->uuid, uuid, sizeof(m.uuid));
			xvt_armed_vmm_renew(there->vmm);
			a->has_new = true;
		}
		return 1;
	}
	if (!matches(a, name))
		return 0;
	if (xvt_armed_has_name(a, name))
		return xvt_fail(why, -EEXIST, "another flight recorder is called %s, too", name);
	if (a->n == XVT_ARMED_MOST)
		return xvt_fail(why, -ENOSPC,
				"%u flight recorders are kept armed, which is the most",
				XVT_ARMED_MOST);
	snprintf(m.name, sizeof(m.name), "%s", name);
	m.path = strdup(path);
	if (!m.path)
		return xvt_fail(why, -ENOMEM, "%s", strerror(ENOMEM));
	a->v[a->n++] = m;
	a->has_new = true;
	return 1;
}

static int keeper_takes(void *arg, const char *name, const char *path, const uint8_t *uuid,
			uint32_t rings, struct xvt_error *why)
{
	return xvt_armed_takes(arg, name, path, uuid, rings, why);
}

static bool keeper_has(void *arg, const char *path)
{
	return xvt_armed_has(arg, path);
}

static bool keeper_has_name(void *arg, const char *name)
{
	return xvt_armed_has_name(arg, name);
}

const struct xvt_keeper *xvt_armed_keeper(struct xvt_armed *a)
{
	a->keeper = (struct xvt_keeper){ a, keeper_takes, keeper_has, keeper_has_name };
	return &a->keeper;
}

static void remove_at(struct xvt_armed *a, size_t i)
{
	memmove(&a->v[i], &a->v[i + 1], (a->n - i - 1) * sizeof(a->v[0]));
	a->n--;
	a->at -= a->at > i;
}

static void forget(struct xvt_armed *a, size_t i)
{
	xvt_armed_vmm_close(a->v[i].vmm);
	free(a->v[i].path);
	remove_at(a, i);
}

size_t xvt_armed_count(const struct xvt_armed *a)
{
	return a ? a->n : 0;
}

const struct xvt_armed_machine *xvt_armed_at(const struct xvt_armed *a, size_t i)
{
	return &a->v[i];
}

/* ------------------------------------------------------------------ looks */

static void tell(struct xvt_armed_machine *m, uint64_t now_ns, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void tell(struct xvt_armed_machine *m, uint64_t now_ns, const char *format, ...)
{
	char text[256];
	va_list args;

	if (m->told_ns && now_ns - m->told_ns < TOLD_NS)
		return;
	m->told_ns = now_ns;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	xvt_say_of_machine(1, m->name, "%s", text);
}

static bool is_armed(const struct xvt_host_region *r, uint32_t ring)
{
	return xvt_load(&xvt_host_ring_host(r, ring)->enable) == XVT_ENABLE_OVERWRITE;
}

/* Arm the rings that are not. */
static void arm(struct xvt_armed_machine *m, struct xvt_host_region *r, uint64_t now_ns)
{
	uint32_t i, off = 0;

	m->rings = r->g.ring_count < m->rings_most ? r->g.ring_count : m->rings_most;
	for (i = 0; i < m->rings; i++)
		off += !is_armed(r, i);
	m->armed = m->rings - off;
	m->why[0] = '\0';
	if (off && xvt_host_region_claim(r, 0)) {
		snprintf(m->why, sizeof(m->why),
			 "another xvtrace is at work on its region; it is armed when that ends");
		return;
	}
	for (i = 0; off && i < m->rings; i++) {
		if (!is_armed(r, i))
			xvt_store_release(&xvt_host_ring_host(r, i)->enable,
					  (uint32_t)XVT_ENABLE_OVERWRITE);
	}
	m->armed = m->rings;
	if (off)
		tell(m, now_ns, "%u of its %u rings were not in overwrite mode; they are armed now",
		     off, m->rings);
}

/* Another number of attempted events, not a larger one: a guest that boots again begins with 0. */
static void count(struct xvt_armed_machine *m, const struct xvt_host_region *r, uint64_t now_ns)
{
	const struct xvt_region_hdr *h = (const struct xvt_region_hdr *)r->map;
	const struct xvt_armed_counts before = m->counts;
	struct xvt_armed_counts *c = &m->counts;
	uint32_t i, k;

	m->used = 0;
	c->begun = true;
	c->attempted = c->lost = 0;
	c->generation = xvt_load(&h->generation);
	c->panics = xvt_load(&h->panics);
	/* 0: it was formatted anew. */
	if (before.begun && c->panics && c->panics != before.panics)
		c->panicked |= xvt_panic_by_guest(&c->told, c->generation);
	for (i = 0; i < m->rings; i++) {
		const struct xvt_ring_ctl *ctl = xvt_host_ring_ctl(r, i);
		const uint64_t attempted = xvt_load(&ctl->attempted);

		m->used += attempted != 0;
		c->attempted += attempted;
		for (k = 0; k < XVT_LOST_CAUSES; k++)
			c->lost += xvt_load(&ctl->lost[k]);
	}
	m->bytes = m->used * r->g.ring_size;
	if (before.begun && c->lost > before.lost)
		c->more_lost += c->lost - before.lost;
	if (before.begun && c->attempted != before.attempted)
		c->moved_ns = now_ns;
}

static void see(struct xvt_armed *a, struct xvt_armed_machine *m, struct xvt_host_region *r,
		uint64_t now_ns)
{
	if (a->look_only)
		m->rings = r->g.ring_count < m->rings_most ? r->g.ring_count : m->rings_most;
	else
		arm(m, r, now_ns);
	count(m, r, now_ns);
}

/* Returns false if its file is gone. */
static bool look(struct xvt_armed *a, struct xvt_armed_machine *m, uint64_t now_ns)
{
	struct xvt_host_region r;
	int err = xvt_host_region_open(&r, m->path, true);

	if (!err) {
		err = xvt_host_region_check(&r);
		if (!err) {
			see(a, m, &r, now_ns);
		} else if (err == -EAGAIN) {
			snprintf(m->why, sizeof(m->why), "its guest has not formatted its region");
		} else {
			xvt_fault_text(&r.fault, m->why, sizeof(m->why));
		}
		xvt_host_region_close(&r);
	} else {
		snprintf(m->why, sizeof(m->why), "%s", xvt_host_region_open_why(err));
	}
	if (err)
		m->rings = m->armed = 0;
	if (m->why[0] && !a->look_only)
		tell(m, now_ns, "not armed: %s", m->why);
	return err != -ENOENT;
}

/* Look at the next machine, or begin a round. Returns false if none is to be looked at yet. */
static bool look_at_next(struct xvt_armed *a, uint64_t now_ns)
{
	if (a->at == a->n) {
		if (now_ns - a->round_ns < a->look_ns)
			return false;
		a->round_ns = now_ns;
		a->at = 0;
	} else if (!look(a, &a->v[a->at], now_ns) && a->follow) {
		forget(a, a->at);
	} else {
		a->at++;
	}
	return true;
}

void xvt_armed_pass(struct xvt_armed *a, uint64_t now_ns)
{
	unsigned int i;

	for (i = 0; a && i < LOOKS && look_at_next(a, now_ns); i++)
		;
}

/* ------------------------------------------------------------------ changes */

bool xvt_armed_has_new(const struct xvt_armed *a)
{
	return a && a->has_new;
}

void xvt_armed_listen(struct xvt_armed *a, const struct xvt_armed_vmm_how *how, uint64_t now_ns)
{
	struct xvt_error why;
	size_t i;

	if (a)
		a->has_new = false;
	for (i = 0; a && i < a->n; i++) {
		struct xvt_armed_machine *m = &a->v[i];

		if (xvt_armed_vmm_listen(&m->vmm, how, m->name, m->uuid, now_ns, &why))
			tell(m, now_ns, "%s; its crashes will not be known", why.text);
	}
}

void xvt_armed_unlisten(struct xvt_armed *a)
{
	size_t i;

	for (i = 0; a && i < a->n; i++) {
		xvt_armed_vmm_close(a->v[i].vmm);
		a->v[i].vmm = NULL;
	}
}

void xvt_armed_look_only(struct xvt_armed *a)
{
	a->look_only = true;
}

void xvt_armed_look_each(struct xvt_armed *a, uint64_t ns)
{
	a->look_ns = ns;
}

/* A writer counts an event before it is in the ring: so a second is added. */
bool xvt_armed_is_fresh(struct xvt_armed *a, size_t i, uint64_t now_ns)
{
	struct xvt_armed_counts *c = &a->v[i].counts;

	if (c->attempted != c->read) {
		c->read = c->attempted;
		c->fresh_ns = now_ns;
	}
	return c->fresh_ns && now_ns - c->fresh_ns < SECOND_NS;
}

void xvt_armed_changes(struct xvt_armed *a, size_t i, uint64_t now_ns, struct xvt_vm_changes *c)
{
	struct xvt_armed_machine *m = &a->v[i];
	struct xvt_armed_counts *n = &m->counts;
	const bool by_vmm =
		xvt_armed_vmm_crashed(m->vmm) && xvt_panic_by_vmm(&n->told, n->generation);

	*c = (struct xvt_vm_changes){ .crashed = n->panicked || by_vmm,
				      .lost = n->more_lost,
				      .was_still_ns = n->still_ns };
	n->more_lost = 0;
	n->panicked = false;
	/* A standstill begins when the machine runs again. */
	if (n->moved_ns && xvt_armed_vmm_rests(m->vmm))
		n->moved_ns = now_ns;
	n->still_ns = n->moved_ns && m->rings && now_ns > n->moved_ns ? now_ns - n->moved_ns : 0;
	c->still_ns = n->still_ns;
}

/* ------------------------------------------------------------------ other patterns */

int xvt_armed_use(struct xvt_armed *a, const struct xvt_opt_list *patterns)
{
	return set_patterns(a, patterns);
}

bool xvt_armed_release(struct xvt_armed *a, bool (*may)(void *arg, const char *path), void *arg,
		       struct xvt_armed_machine *m)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		if (matches(a, a->v[i].name) || !may(arg, a->v[i].path))
			continue;
		xvt_armed_vmm_close(a->v[i].vmm);
		*m = a->v[i];
		m->vmm = NULL;
		remove_at(a, i);
		return true;
	}
	return false;
}

void xvt_armed_take_back(struct xvt_armed *a, const struct xvt_armed_machine *m)
{
	a->v[a->n++] = *m; /* where it was: there is room */
	a->has_new = true;
}

/* ------------------------------------------------------------------ status */

size_t xvt_armed_ready(const struct xvt_armed *a)
{
	size_t n = 0, i;

	for (i = 0; i < xvt_armed_count(a); i++)
		n += !a->v[i].why[0];
	return n;
}

uint64_t xvt_armed_held(const struct xvt_armed *a, uint64_t *rings)
{
	uint64_t bytes = 0;
	size_t i;

	*rings = 0;
	for (i = 0; i < a->n; i++) {
		if (a->v[i].why[0])
			continue;
		*rings += a->v[i].used;
		bytes += a->v[i].bytes;
	}
	return bytes;
}

void xvt_armed_status(const struct xvt_armed *a, struct xvt_json *to)
{
	struct xvt_json *list = xvt_json_add_array(to, "flight_recorders"), *one;
	size_t i;

	for (i = 0; i < xvt_armed_count(a); i++) {
		const struct xvt_armed_machine *m = &a->v[i];

		one = xvt_json_add_object(list, NULL);
		xvt_json_add_text(one, "name", m->name);
		xvt_json_add_text(one, "region", m->path);
		xvt_json_add_u64(one, "rings", m->rings);
		xvt_json_add_u64(one, "armed", m->armed);
		if (m->why[0])
			xvt_json_add_text(one, "why", m->why);
	}
	xvt_json_add_u64(to, "flight_kept", i);
	xvt_json_add_u64(to, "flight_armed", xvt_armed_ready(a));
}
