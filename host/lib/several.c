// SPDX-License-Identifier: GPL-2.0
/*
 * several.c - several traces as one: may they be, and which machines they have. Each trace keeps
 * its own clocks, so its events get the times that they have where it is read alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "lib/parts.h"
#include "trace/lines.h"

/* Two recorders of one boot measure the host's clock apart from each other, and NTP steers it. */
#define CLOCKS_APART_NS	   1000000u
#define STEERED_PPM	   500u /* the most that NTP does */
#define WALL_SET_PPM	   20u	/* where the wall clock was set between the two */
#define WALL_SAME_APART_NS 1000000000u

/* ------------------------------------------------------------------ one host, one boot */

/* The line of the host's clock that a trace has at a value of the host's counter. */
static const struct xvt_timebase *line_at(const struct xvt_trace *t, uint64_t clock)
{
	return xvt_timebase_at(t->timebase, t->timebase_count, clock);
}

static uint64_t apart(__int128 a, __int128 b)
{
	const __int128 d = a > b ? a - b : b - a;

	return d > UINT64_MAX ? UINT64_MAX : (uint64_t)d;
}

/* CLOCK_REALTIME at CLOCK_MONOTONIC 0, which another boot of the host has later. */
static __int128 boot_of(const struct xvt_timebase *l)
{
	return (__int128)l->realtime_ns - l->base_ns + l->apart_ns;
}

/*
 * Whether b's clock begins where a's has it then. After another boot of the host, counter and
 * CLOCK_MONOTONIC begin at another distance. That may be small, so where the wall clock says that
 * the host booted in between, only a closer agreement shows that it was set.
 */
static bool is_one_clock(const struct xvt_trace *a, const struct xvt_trace *b)
{
	const struct xvt_timebase *to, *line;
	__int128 way, off;
	uint64_t ppm;

	if (!a->timebase_count || !b->timebase_count ||
	    a->info.host_clock_id != b->info.host_clock_id)
		return false;
	to = &b->timebase[0];
	line = line_at(a, to->base_clock);
	way = (((__int128)to->base_clock - line->base_clock) * line->mult) >> (line->shift & 63);
	off = (__int128)apart(line->base_ns + way, to->base_ns);
	ppm = apart(boot_of(line), boot_of(to)) <= WALL_SAME_APART_NS ? STEERED_PPM : WALL_SET_PPM;
	return off <= CLOCKS_APART_NS + (__int128)apart(way, 0) * ppm / 1000000;
}

/* Returns whether both are files of one recording. */
static bool is_same_set(const struct xvt_trace *a, const struct xvt_trace *b)
{
	return a->info.set_number && b->info.set_number &&
	       !memcmp(a->info.set, b->info.set, sizeof(a->info.set));
}

bool xvt_several_fit(const struct xvt_trace *a, const struct xvt_trace *b, struct xvt_error *why)
{
	const size_t len = sizeof(a->info.host_name);

	if (!memcmp(a->info.uuid, b->info.uuid, sizeof(a->info.uuid)))
		xvt_fail(why, 0, "it is the same trace as %s, or begins with the same file",
			 a->path);
	else if (strncmp(a->info.host_name, b->info.host_name, len) != 0)
		xvt_fail(why, 0,
			 "it is of host '%.*s', %s is of host '%.*s'; traces are read as one "
			 "where they are of one host, because their times are of its clock",
			 (int)len, b->info.host_name, a->path, (int)len, a->info.host_name);
	else if (!is_same_set(a, b) && !is_one_clock(a, b))
		xvt_fail(why, 0,
			 "its times are of another clock than those of %s: the host was booted "
			 "between the two, or slept during one of them",
			 a->path);
	else
		return true;
	return false;
}

/* ------------------------------------------------------------------ machines */

/* Returns whether the same machine in both is one that goes on. */
static bool goes_on(const struct xvt_trace *a, const struct xvt_trace *b)
{
	return is_same_set(a, b) || !a->last_ns || !b->last_ns || a->last_ns <= b->first_ns ||
	       b->last_ns <= a->first_ns;
}

static bool is_in(const struct xvtrace *member, uint32_t number)
{
	for (uint32_t i = 0; i < member->machine_count; i++)
		if (member->machines[i].known && member->in_whole[i] == number)
			return true;
	return false;
}

/* Whether machine `number` of the whole is that of member m: of its name, and in no member of the
 * same time. */
static bool is_machine(const struct xvtrace *whole, uint32_t number, size_t m,
		       const struct xvt_lib_machine *of)
{
	const struct xvt_lib_machine *have = &whole->machines[number];

	if (have->pub.host != of->pub.host || strcmp(have->name, of->name) != 0 ||
	    memcmp(have->pub.uuid, of->pub.uuid, sizeof(of->pub.uuid)) != 0)
		return false;
	for (size_t i = 0; i < m; i++)
		if (is_in(whole->members[i], number) &&
		    !goes_on(whole->members[i]->t, whole->members[m]->t))
			return false;
	/* A trace may have two machines of one name. */
	return have->member != m;
}

static uint32_t add_machine(struct xvtrace *whole, size_t m, const struct xvt_lib_machine *of)
{
	struct xvt_lib_machine *to;
	uint32_t i;

	for (i = 0; i < whole->machine_count; i++)
		if (is_machine(whole, i, m, of))
			return i;
	to = &whole->machines[whole->machine_count++];
	*to = *of;
	to->member = m;
	to->pub.number = i;
	return i;
}

/* ------------------------------------------------------------------ names */

/* "a" of "dir/a.xvt", or with its folders. */
static void label_of(const struct xvt_trace *t, bool folders, char *to, size_t size)
{
	size_t len = strlen(t->path), from;

	while (len > 1 && t->path[len - 1] == '/')
		len--;
	from = len;
	while (from && (folders || t->path[from - 1] != '/'))
		from--;
	if (len - from > 4 && !memcmp(t->path + len - 4, ".xvt", 4))
		len -= 4;
	xvt_text_clean(to, size, t->path + from, len - from);
}

/* Whether another member has that label. */
static bool has_label(const struct xvtrace *whole, size_t m, const char *label)
{
	char other[XVT_LABEL_LEN];

	for (size_t i = 0; i < whole->member_count; i++) {
		label_of(whole->members[i]->t, false, other, sizeof(other));
		if (i != m && strcmp(other, label) == 0)
			return true;
	}
	return false;
}

static void show_name(struct xvtrace *whole, struct xvt_lib_machine *machine)
{
	const struct xvt_trace *t = whole->members[machine->member]->t;
	char label[XVT_LABEL_LEN];

	label_of(t, false, label, sizeof(label));
	if (has_label(whole, machine->member, label))
		label_of(t, true, label, sizeof(label));
	snprintf(machine->shown, sizeof(machine->shown), "%s:%s", label, machine->name);
	machine->pub.name = machine->shown;
}

static void name_machines(struct xvtrace *whole)
{
	for (uint32_t i = 0; i <= whole->machine_count; i++) {
		struct xvt_lib_machine *a = &whole->machines[i];
		bool twice = false;

		a->pub.name = a->pub.recorded_name = a->name;
		for (uint32_t k = 0; k < whole->machine_count && i < whole->machine_count; k++) {
			const struct xvt_lib_machine *b = &whole->machines[k];

			twice |= b->member != a->member && strcmp(a->name, b->name) == 0;
		}
		if (twice)
			show_name(whole, a);
	}
}

/* ------------------------------------------------------------------ numbers */

static int number_machines(struct xvtrace *whole)
{
	uint32_t most = 1;

	for (size_t m = 0; m < whole->member_count; m++)
		most += whole->members[m]->machine_count;
	whole->machines = calloc(most, sizeof(*whole->machines));
	if (!whole->machines)
		return -ENOMEM;
	for (size_t m = 0; m < whole->member_count; m++) {
		struct xvtrace *of = whole->members[m];

		of->in_whole = calloc((size_t)of->machine_count + 1, sizeof(*of->in_whole));
		if (!of->in_whole)
			return -ENOMEM;
		for (uint32_t i = 0; i < of->machine_count; i++)
			of->in_whole[i] = UINT32_MAX;
		for (uint32_t i = 0; i < of->machine_count; i++)
			if (of->machines[i].known)
				of->in_whole[i] = add_machine(whole, m, &of->machines[i]);
	}
	return 0;
}

/* The machine of rings whose own is not known. */
static void number_unknown(struct xvtrace *whole)
{
	const uint32_t number = whole->machine_count;

	whole->machines[number] = whole->members[0]->machines[whole->members[0]->machine_count];
	whole->machines[number].pub.number = number;
	for (size_t m = 0; m < whole->member_count; m++) {
		struct xvtrace *of = whole->members[m];

		for (uint32_t i = 0; i <= of->machine_count; i++)
			if (i == of->machine_count || !of->machines[i].known)
				of->in_whole[i] = number;
	}
}

static void number_rings(struct xvtrace *whole)
{
	for (size_t m = 0; m < whole->member_count; m++) {
		struct xvtrace *of = whole->members[m];

		of->whole = whole;
		of->first_ring = whole->ring_count;
		for (uint32_t i = 0; i < of->ring_count; i++) {
			of->rings[i].pub.number = of->first_ring + i;
			of->rings[i].pub.machine = xvt_lib_machine(of, xvt_ring_vm(of->t, i));
		}
		whole->ring_count += of->ring_count;
	}
}

int xvt_several_number(struct xvtrace *whole)
{
	int err = number_machines(whole);

	if (err)
		return err;
	number_unknown(whole);
	name_machines(whole);
	number_rings(whole);
	return 0;
}

struct xvtrace *xvt_several_of_ring(const struct xvtrace *whole, uint32_t ring)
{
	for (size_t m = 0; m < whole->member_count; m++) {
		struct xvtrace *of = whole->members[m];

		if (ring >= of->first_ring && ring - of->first_ring < of->ring_count)
			return of;
	}
	return NULL;
}
